#include "full_chunks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "machine_count.h"
#include "plan.h"

static void *block(size_t bytes)
{
    void *memory = NULL;
    assert_int_equal(posix_memalign(&memory, 64, bytes + 64), 0);
    memset(memory, 0, bytes + 64);
    return memory;
}

/* Entries of a model row in memory, in this order. */
enum { ROW_F, ROW_Q, ROW_U, ROW_H, ROW_R, ROW_D, ROW_Y, ROWS };

static int64_t row_numbers(const full *f, int row)
{
    const int64_t n = f->series.nx, m = f->series.ny;
    const int64_t numbers[ROWS] = {n * n, n * n, n, m * n, m * m, m, m};
    return numbers[row];
}

static double *rows_at(const full *f, int row)
{
    double *at = f->model;
    for (int r = 0; r < row; ++r) at += f->longest * row_numbers(f, r);
    return at;
}

static void fill(const full *f, int row, int columns, double diagonal, double beside)
{
    double *at = rows_at(f, row);
    const int64_t numbers = row_numbers(f, row);
    for (int64_t k = 0; k < f->longest; ++k)
        for (int64_t i = 0; i < numbers; ++i)
            at[k * numbers + i] = i / columns == i % columns ? diagonal + 0.001 * (double)(k % 7)
                                                             : beside;
}

static ks_rows series_rows(const full *f, int row)
{
    const ks_rows rows = {(const char *)rows_at(f, row),
                          row_numbers(f, row) * (int64_t)sizeof(double)};
    return rows;
}

void full_open(full *f, int64_t longest, int nx, int ny)
{
    memset(f, 0, sizeof *f);
    ks_counting_kernels(&f->kernels);
    f->longest = longest;
    f->series.nx = nx;
    f->series.ny = ny;
    int64_t numbers = 0;
    for (int r = 0; r < ROWS; ++r) numbers += longest * row_numbers(f, r);
    const size_t T = (size_t)longest, n = (size_t)nx, number = sizeof(double);
    f->model = block((size_t)numbers * number);
    fill(f, ROW_F, nx, 0.6, 0.1 / nx);
    fill(f, ROW_Q, nx, 1.0, 0.3 / nx);
    fill(f, ROW_U, nx, 0.2, 0.1);
    fill(f, ROW_H, nx, 1.0, 0.2);
    fill(f, ROW_R, ny, 1.0, 0.1 / ny);
    fill(f, ROW_D, ny, 0.2, 0.1);
    fill(f, ROW_Y, ny, 0.5, -0.5);
    f->series.F = series_rows(f, ROW_F);
    f->series.Q = series_rows(f, ROW_Q);
    f->series.u = series_rows(f, ROW_U);
    f->series.H = series_rows(f, ROW_H);
    f->series.R = series_rows(f, ROW_R);
    f->series.d = series_rows(f, ROW_D);
    f->series.y = series_rows(f, ROW_Y);
    f->series.m0 = rows_at(f, ROW_U);
    f->series.P0 = rows_at(f, ROW_Q);
    f->elements = block(T * f->kernels.filter_element_bytes(nx));
    f->suffixes = block(T * f->kernels.filter_element_bytes(nx));
    f->mean = block(T * n * number);
    f->cov = block(T * n * n * number);
    f->smoothed_mean = block(T * n * number);
    f->smoothed_cov = block(T * n * n * number);
    f->carry = block((n + n * n) * number + f->kernels.filter_element_bytes(nx));
    f->form = block(T);
    f->scratch = block(f->kernels.scratch_bytes(nx, ny));
    f->absorb = block(f->kernels.absorb_bytes(nx, ny, f->kernels.scratch_bytes(nx, ny)));
}

void full_close(full *f)
{
    void *const all[] = {f->model, f->elements, f->suffixes, f->mean, f->cov, f->smoothed_mean,
                         f->smoothed_cov, f->carry, f->form, f->scratch, f->absorb};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) free(all[i]);
}

static ks_view view_of(const full *f, int row)
{
    const ks_view view = {rows_at(f, row), row_numbers(f, row), 0};
    return view;
}

void full_model(const full *f, ks_model *model, ks_view *y)
{
    const ks_model empty = KS_MODEL_INIT;
    *model = empty;
    model->F = view_of(f, ROW_F);
    model->Q = view_of(f, ROW_Q);
    model->u = view_of(f, ROW_U);
    model->H = view_of(f, ROW_H);
    model->R = view_of(f, ROW_R);
    model->d = view_of(f, ROW_D);
    model->m0 = view_of(f, ROW_U);
    model->P0 = view_of(f, ROW_Q);
    *y = view_of(f, ROW_Y);
}

static ks_sink sink_of(void *memory, size_t bytes)
{
    const ks_sink sink = {(char *)memory, (int64_t)bytes, 0};
    return sink;
}

static ks_sink mean_of(const full *f, double *mean)
{
    return sink_of(mean, (size_t)f->series.nx * sizeof(double));
}

static ks_sink cov_of(const full *f, double *cov)
{
    return sink_of(cov, (size_t)(f->series.nx * f->series.nx) * sizeof(double));
}

static ks_sink filter_sink(const full *f)
{
    return sink_of(f->elements, f->kernels.filter_element_bytes(f->series.nx));
}

static ks_sink smooth_sink(const full *f)
{
    return sink_of(f->elements, f->kernels.smooth_element_bytes(f->series.nx));
}

/* The lanes of each phase: one time step. */

static void make_filter_element(full *f, int64_t k, void *element)
{
    const ks_kernels *ks = &f->kernels;
    const ks_forward_sinks nowhere = {0};
    const ks_sink to = {element, 0, k};
    ks_tally tally = {0};
    if (k > 0) {
        assert_int_equal(ks->filter_elements(&f->series, k, k + 1, to, f->scratch, &tally), 0);
        return;
    }
    double *x = f->carry, *C = x + f->series.nx;
    ks_state state = {x, C, KS_FORM_ORDINARY, KS_NOT_STEADY};
    ks->start(&f->series, &state, f->scratch);
    assert_int_equal(ks->filter(&f->series, 0, 1, &state, &nowhere, f->scratch, &tally), 0);
    assert_int_equal(state.form, KS_FORM_ORDINARY);
    ks->filter_element_first(f->series.nx, x, C, element);
}

static void lane_filter_element(full *f, int64_t k)
{
    make_filter_element(f, k, ks_slot_of(filter_sink(f), k));
}

static void lane_filter_extract(full *f, int64_t k)
{
    const ks_sink mean = mean_of(f, f->mean), cov = cov_of(f, f->cov);
    f->kernels.filter_extract(f->series.nx, k, k + 1, filter_sink(f), mean, cov);
    assert_int_equal(f->kernels.not_finite(f->series.nx, k, k + 1, mean, cov), -1);
}

static void lane_evidence(full *f, int64_t k)
{
    const ks_forward_sinks nowhere = {0};
    const size_t n = (size_t)f->series.nx;
    double *x = f->carry, *C = x + n;
    ks_state state = {x, C, KS_FORM_ORDINARY, KS_NOT_STEADY};
    ks_tally tally = {0};
    f->kernels.start(&f->series, &state, f->scratch);
    if (k > 0) {
        memcpy(x, ks_slot_of(mean_of(f, f->mean), k - 1), n * sizeof(double));
        memcpy(C, ks_slot_of(cov_of(f, f->cov), k - 1), n * n * sizeof(double));
    }
    assert_int_equal(f->kernels.filter(&f->series, k, k + 1, &state, &nowhere, f->scratch, &tally),
                     0);
}

static void lane_smooth_element(full *f, int64_t k)
{
    ks_tally tally = {0};
    f->kernels.smooth_elements(&f->series, k, k + 1, mean_of(f, f->mean), cov_of(f, f->cov),
                               smooth_sink(f), f->scratch, &tally);
}

static void lane_smooth_extract(full *f, int64_t k)
{
    const ks_sink mean = mean_of(f, f->smoothed_mean), cov = cov_of(f, f->smoothed_cov);
    f->kernels.smooth_extract(f->series.nx, k, k + 1, smooth_sink(f), mean, cov);
    assert_int_equal(f->kernels.not_finite(f->series.nx, k, k + 1, mean, cov), -1);
}

static void lane_reverse_element(full *f, int64_t k)
{
    if (k == 0) f->kernels.filter_neutral(f->series.nx, f->elements);
    else lane_filter_element(f, k);
}

static void lane_two_filter(full *f, int64_t k)
{
    const ks_sink mean = mean_of(f, f->smoothed_mean), cov = cov_of(f, f->smoothed_cov);
    f->kernels.two_filter(&f->series, k, k + 1, mean_of(f, f->mean), cov_of(f, f->cov),
                          filter_sink(f), mean, cov, f->scratch);
    assert_int_equal(f->kernels.not_finite(f->series.nx, k, k + 1, mean, cov), -1);
}

/* A parallel step of so many lanes, charged to threads with plain bookkeeping. */
static void run_lanes(full *f, ks_count *count, void (*lane)(full *f, int64_t k), int64_t lanes)
{
    const int64_t P = f->what->threads;
    int64_t *own = calloc((size_t)P, sizeof *own), busiest = 0, critical = 0;
    assert_non_null(own);
    (void)ks_take_flops();
    for (int64_t k = 0; k < lanes; ++k) {
        lane(f, k);
        const ks_flops flops = ks_take_flops();
        assert_int_equal(ks_flops_add(&count->work, flops, 1), 0);
        own[k % P] += ks_flops_total(flops);
        if (ks_flops_total(flops) > critical) critical = ks_flops_total(flops);
    }
    for (int64_t p = 0; p < P; ++p)
        if (own[p] > busiest) busiest = own[p];
    free(own);
    count->time += busiest;
    count->critical += critical;
    count->span += 1;
}

static void phase(full *f, ks_count *count, void (*lane)(full *f, int64_t k))
{
    run_lanes(f, count, lane, f->what->T);
}

/* Operators on f->elements. */

static int combine_filter(void *user, void *scratch, const ks_combine_job *job)
{
    full *f = user;
    (void)scratch;
    f->kernels.filter_combine(f->series.nx, job, f->scratch);
    return 0;
}

static int combine_smooth(void *user, void *scratch, const ks_combine_job *job)
{
    full *f = user;
    (void)scratch;
    f->kernels.smooth_combine(f->series.nx, job, f->scratch);
    return 0;
}

static int neutral_filter(void *user, void *dst)
{
    full *f = user;
    f->kernels.filter_neutral(f->series.nx, dst);
    return 0;
}

static int neutral_smooth(void *user, void *dst)
{
    full *f = user;
    f->kernels.smooth_neutral(f->series.nx, dst);
    return 0;
}

double *full_spare_element(full *f)
{
    return f->carry + f->series.nx + f->series.nx * f->series.nx;
}

static int absorb_filter(void *user, void *scratch, void *dst, int64_t first, int64_t count)
{
    full *f = user;
    const ks_forward_sinks nowhere = {0};
    const size_t bytes = f->kernels.filter_element_bytes(f->series.nx);
    ks_tally tally = {0};
    double *x = f->carry, *C = x + f->series.nx;
    ks_state state = {x, C, KS_FORM_ORDINARY, KS_NOT_STEADY};
    (void)scratch;
    if (first > 0) {
        assert_int_equal(f->kernels.filter_absorb(&f->series, first, first + count, 1, dst, f->absorb, &tally), 0);
    } else {
        f->kernels.start(&f->series, &state, f->scratch);
        assert_int_equal(f->kernels.filter(&f->series, 0, count, &state, &nowhere, f->scratch, &tally), 0);
        f->kernels.filter_element_first(f->series.nx, x, C, dst);
    }
    memcpy((char *)f->suffixes + ((char *)dst - (char *)f->elements), dst, bytes);
    return 0;
}

/* The estimate that a carry holds. */
static ks_state carried(full *f, const void *carry)
{
    double *x = f->carry, *C = x + f->series.nx;
    const ks_state state = {x, C, KS_FORM_ORDINARY, KS_NOT_STEADY};
    const ks_sink from = {(char *)full_spare_element(f), 0, 0};
    const ks_sink mean = {(char *)x, 0, 0}, cov = {(char *)C, 0, 0};
    memcpy(full_spare_element(f), carry, f->kernels.filter_element_bytes(f->series.nx));
    f->kernels.filter_extract(f->series.nx, 0, 1, from, mean, cov);
    return state;
}

ks_forward_sinks full_kept(const full *f)
{
    ks_forward_sinks kept = {0};
    kept.kept_mean = mean_of(f, f->mean);
    kept.kept_C = cov_of(f, f->cov);
    kept.form = f->form;
    return kept;
}

static int rerun_filter(void *user, void *scratch, const void *carry, int64_t first, int64_t count)
{
    full *f = user;
    const ks_forward_sinks kept = full_kept(f);
    ks_tally tally = {0};
    ks_state state = {f->carry, f->carry + f->series.nx, KS_FORM_ORDINARY, KS_NOT_STEADY};
    (void)scratch;
    if (carry) state = carried(f, carry);
    else f->kernels.start(&f->series, &state, f->scratch);
    return f->kernels.filter(&f->series, first, first + count, &state, &kept, f->scratch, &tally);
}

static int reruns(const ks_count_case *what) { return what->scan == KS_SCAN_CHUNKED && !what->two_devices; }

static ks_scan_options scan_options(const full *f, ks_direction direction)
{
    ks_scan_options options = KS_SCAN_OPTIONS_INIT;
    options.algorithm = f->what->scan;
    options.threshold = f->what->threshold;
    options.direction = direction;
    return options;
}

/* A scan of `elements`, or of steps that chunks absorb. */
static void run_scan(full *f, ks_count *count, const ks_scan_options *options, int64_t length, double *elements,
                     int smoothing, int chunks)
{
    ks_scan_plan *plan = NULL;
    assert_int_equal(ks_scan_plan_create(&plan, NULL, length, options), KS_OK);
    const size_t bytes = smoothing ? f->kernels.smooth_element_bytes(f->series.nx)
                                   : f->kernels.filter_element_bytes(f->series.nx);
    const ks_operator op = {sizeof op, bytes, 0, f, smoothing ? combine_smooth : combine_filter,
                            smoothing ? neutral_smooth : neutral_filter, chunks ? absorb_filter : NULL,
                            chunks ? rerun_filter : NULL};
    const ks_schedule *schedule = ks_scan_plan_schedule(plan, &op);
    char *work = block((size_t)schedule->length[KS_WORK] * bytes), *temporary = block(bytes);
    ks_binding binding = {0};
    binding.op = &op;
    binding.workers = 1;
    binding.buffer[KS_ELEMENTS] = (char *)elements;
    binding.buffer[KS_WORK] = work;
    binding.temporary = temporary;
    binding.temporaries = 1;
    assert_int_equal(ks_count_execute(count, schedule, &binding, ks_take_flops, f->what->threads),
                     KS_OK);
    free(work);
    free(temporary);
    ks_scan_plan_destroy(plan);
}

static void scan(full *f, ks_count *count, ks_direction direction, int smoothing)
{
    const ks_scan_options options = scan_options(f, direction);
    run_scan(f, count, &options, f->what->T, f->elements, smoothing, reruns(f->what));
}

static void filter(full *f, ks_count *count)
{
    if (!reruns(f->what)) phase(f, count, lane_filter_element);
    scan(f, count, KS_FORWARD, 0);
    if (reruns(f->what)) return;
    phase(f, count, lane_filter_extract);
    if (f->what->loglik) phase(f, count, lane_evidence);
}

/* How many chunks there are, whose aggregates are scanned from the end. */
static void scan_suffixes(full *f, ks_count *count)
{
    ks_scan_options options = scan_options(f, KS_FORWARD);
    ks_scan_plan *plan = NULL;
    assert_int_equal(ks_scan_plan_create(&plan, NULL, f->what->T, &options), KS_OK);
    f->chunks = ks_scan_plan_stats(plan).chunks;
    ks_scan_plan_destroy(plan);
    options.algorithm = KS_SCAN_LADNER_FISCHER;
    options.direction = KS_REVERSE;
    run_scan(f, count, &options, f->chunks, f->suffixes, 0, 0);
}

static void rts(full *f, ks_count *count)
{
    if (reruns(f->what)) {
        scan_suffixes(f, count);
        if (f->chunks > 1) run_lanes(f, count, full_chunk_end, f->chunks - 1);
        run_lanes(f, count, full_chunk_smoothed, f->chunks);
        return;
    }
    phase(f, count, lane_smooth_element);
    scan(f, count, KS_REVERSE, 1);
    phase(f, count, lane_smooth_extract);
}

static void two_filter_chunks(full *f, ks_count *count)
{
    scan_suffixes(f, count);
    run_lanes(f, count, full_chunk_back, f->chunks);
}

/* The other device in `other`, where there is one. */
static void two_filter(full *f, ks_count *count)
{
    ks_count other;
    memset(&other, 0, sizeof other);
    ks_count *reverse = f->what->two_devices ? &other : count;
    phase(f, reverse, lane_reverse_element);
    scan(f, reverse, KS_REVERSE, 0);
    if (f->what->two_devices) {
        assert_int_equal(ks_flops_add(&count->work, other.work, 1), 0);
        count->combines += other.combines;
        if (other.time > count->time) count->time = other.time;
        if (other.critical > count->critical) count->critical = other.critical;
        if (other.span > count->span) count->span = other.span;
    }
    phase(f, count, lane_two_filter);
}

void full_count(full *f, ks_count_result *result, const ks_count_case *what)
{
    ks_count count;
    memset(&count, 0, sizeof count);
    memset(result, 0, sizeof *result);
    assert_true(what->T <= f->longest);
    f->what = what;
    f->series.steps = what->T;
    filter(f, &count);
    if (what->method == KS_COUNT_SCAN_RTS) rts(f, &count);
    if (what->method == KS_COUNT_SCAN_TWO_FILTER) (reruns(what) ? two_filter_chunks : two_filter)(f, &count);
    result->work = count.work;
    result->work_flops = ks_flops_total(count.work);
    result->time_flops = count.time;
    result->span_flops = count.critical;
    result->span_steps = count.span;
    result->combines = count.combines;
}
