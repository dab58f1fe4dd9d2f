/* unit_costs.c -- the cost of each operation, found by executing it once with counting arithmetic. */
#include <string.h>
#include "count.h"
#include "count_kernels.h"
#include "room.h"
#include "sample_model.h"

enum { STEPS = 3 };

typedef struct bench {
    ks_kernels kernels;
    ks_series series;
    ks_sample_model model;
    double *mean, *cov;                     /* a filtered estimate of each step */
    double *smoothed_mean, *smoothed_cov;   /* and a smoothed one               */
    double *filter_element, *smooth_element; /* an element of each step         */
    double *x, *C;
    unsigned char form[STEPS];
    void *scratch, *absorb;
    size_t filter_bytes, smooth_bytes;
} bench;

static void carve(ks_carver *carver, void *of)
{
    bench *b = of;
    const size_t n = (size_t)b->series.nx, number = sizeof(double);
    ks_sample_model_carve(carver, b->series.nx, b->series.ny, &b->model);
    b->mean = ks_carve(carver, STEPS * n, number);
    b->cov = ks_carve(carver, STEPS * n * n, number);
    b->smoothed_mean = ks_carve(carver, STEPS * n, number);
    b->smoothed_cov = ks_carve(carver, STEPS * n * n, number);
    b->filter_element = ks_carve(carver, STEPS, b->filter_bytes);
    b->smooth_element = ks_carve(carver, STEPS, b->smooth_bytes);
    b->x = ks_carve(carver, n, number);
    b->C = ks_carve(carver, n * n, number);
    const size_t scratch = b->kernels.scratch_bytes(b->series.nx, b->series.ny);
    b->scratch = ks_carve(carver, 1, scratch);
    b->absorb = ks_carve(carver, 1, b->kernels.absorb_bytes(b->series.nx, b->series.ny, scratch));
}

/** The job element 0 = element 1 (+) element 2. */
static ks_combine_job job_of(double *elements, size_t bytes)
{
    char *first = (char *)elements;
    const ks_combine_job job = {1, 1, first, first + bytes, first + 2 * bytes, 0, 0, 0, 0, 0, 0};
    return job;
}

/** Find the costs of the filter's operations. This also computes filtered estimates and filtering elements. */
static int find_filter(bench *b, ks_unit_costs *costs)
{
    const ks_kernels *k = &b->kernels;
    const ks_series *s = &b->series;
    const int nx = s->nx;
    const size_t n = (size_t)nx, number = sizeof(double);
    const ks_sink elements = ks_sample_rows(b->filter_element, b->filter_bytes);
    const ks_sink mean = ks_sample_rows(b->mean, n * number), cov = ks_sample_rows(b->cov, n * n * number);
    const ks_forward_sinks nowhere = {0};
    ks_state state = {b->x, b->C, KS_FORM_ORDINARY, KS_NOT_STEADY};
    ks_tally tally = {0};

    k->start(s, &state, b->scratch);
    int rc = k->filter(s, 0, 1, &state, &nowhere, b->scratch, &tally);
    k->square(nx, &state, b->scratch);
    k->filter_element_first(nx, state.x, state.C, b->filter_element);
    costs->first_element = ks_take_flops();
    rc |= k->filter_elements(s, 1, 2, elements, b->scratch, &tally);
    costs->filter_element = ks_take_flops();
    rc |= k->filter_elements(s, 2, 3, elements, b->scratch, &tally);
    (void)ks_take_flops();
    for (int64_t step = 0; step < STEPS; ++step) {
        k->filter_extract(nx, step, step + 1, elements, mean, cov);
        (void)k->not_finite(nx, step, step + 1, mean, cov);
        costs->filter_extract = ks_take_flops();
    }
    rc |= k->filter(s, 1, 2, &state, &nowhere, b->scratch, &tally);
    costs->filter_step = ks_take_flops();
    const ks_combine_job job = job_of(b->filter_element, b->filter_bytes);
    k->filter_combine(nx, &job, b->scratch);
    costs->filter_combine = ks_take_flops();
    k->filter_neutral(nx, b->filter_element);
    costs->filter_neutral = ks_take_flops();
    return rc;
}

/** Find the costs of both parallel smoothers. */
static void find_smoothers(bench *b, ks_unit_costs *costs)
{
    const ks_kernels *k = &b->kernels;
    const ks_series *s = &b->series;
    const int nx = s->nx;
    const size_t n = (size_t)nx, number = sizeof(double);
    const ks_sink elements = ks_sample_rows(b->smooth_element, b->smooth_bytes);
    const ks_sink suffix = ks_sample_rows(b->filter_element, b->filter_bytes);
    const ks_sink mean = ks_sample_rows(b->mean, n * number), cov = ks_sample_rows(b->cov, n * n * number);
    const ks_sink xs = ks_sample_rows(b->smoothed_mean, n * number);
    const ks_sink Ps = ks_sample_rows(b->smoothed_cov, n * n * number);
    ks_tally tally = {0};

    k->smooth_elements(s, 1, 2, mean, cov, elements, b->scratch, &tally);
    costs->smooth_element = ks_take_flops();
    k->smooth_elements(s, STEPS - 1, STEPS, mean, cov, elements, b->scratch, &tally);
    costs->smooth_element_last = ks_take_flops();
    const ks_combine_job job = job_of(b->smooth_element, b->smooth_bytes);
    k->smooth_combine(nx, &job, b->scratch);
    costs->smooth_combine = ks_take_flops();
    k->smooth_extract(nx, 1, 2, elements, xs, Ps);
    (void)k->not_finite(nx, 1, 2, xs, Ps);
    costs->smooth_extract = ks_take_flops();
    k->smooth_neutral(nx, b->smooth_element);
    costs->smooth_neutral = ks_take_flops();
    k->two_filter(s, 1, 2, mean, cov, suffix, xs, Ps, b->scratch);
    (void)k->not_finite(nx, 1, 2, xs, Ps);
    costs->two_filter = ks_take_flops();
    k->two_filter(s, STEPS - 1, STEPS, mean, cov, suffix, xs, Ps, b->scratch);
    (void)k->not_finite(nx, STEPS - 1, STEPS, xs, Ps);
    costs->two_filter_last = ks_take_flops();
}

/** Find the cost of one step of the two-filter smoother in chunks. */
static int find_meeting(bench *b, int64_t steps, int64_t k, ks_flops *cost)
{
    const size_t n = (size_t)b->series.nx, number = sizeof(double);
    const ks_backward_sinks nowhere = {0};
    ks_series s = b->series;
    ks_state state = {b->x, b->C, KS_FORM_ORDINARY, KS_NOT_STEADY};
    ks_state before = {b->mean, b->cov, KS_FORM_ORDINARY, KS_NOT_STEADY};
    ks_forward_sinks kept = {0};
    ks_tally tally = {0};
    s.steps = steps;
    kept.kept_mean = ks_sample_rows(b->mean, n * number);
    kept.kept_C = ks_sample_rows(b->cov, n * n * number);
    kept.form = b->form;
    memset(b->form, KS_FORM_ORDINARY, sizeof b->form);
    memset(b->filter_element, 0, b->filter_bytes); /* there is no information behind the step */
    const int rc = b->kernels.two_filter_back(&s, k, k + 1, k > 0 ? &before : NULL, b->filter_element, &state,
                                              &kept, &nowhere, b->scratch, &tally);
    *cost = ks_take_flops();
    return rc;
}

/** Find the costs of the two-filter smoother in chunks. */
static int find_meetings(bench *b, ks_unit_costs *costs)
{
    int rc = find_meeting(b, STEPS, 1, &costs->two_filter_back);
    rc |= find_meeting(b, STEPS, STEPS - 1, &costs->two_filter_back_last);
    rc |= find_meeting(b, STEPS, 0, &costs->two_filter_back_first);
    rc |= find_meeting(b, 1, 0, &costs->two_filter_back_only);
    b->kernels.information_about(b->series.nx, b->mean, b->filter_element);
    costs->information_about = ks_take_flops();
    return rc;
}

/** Find the costs of the sequential smoother, from the filtered estimates. */
static int find_back(bench *b, ks_unit_costs *costs)
{
    const ks_kernels *k = &b->kernels;
    const size_t n = (size_t)b->series.nx, number = sizeof(double);
    const ks_backward_sinks nowhere = {0};
    ks_forward_sinks kept = {0};
    ks_state state = {b->x, b->C, KS_FORM_ORDINARY, KS_NOT_STEADY};
    ks_tally tally = {0};
    kept.kept_mean = ks_sample_rows(b->mean, n * number);
    kept.kept_C = ks_sample_rows(b->cov, n * n * number);
    kept.form = b->form;
    memset(b->form, KS_FORM_ORDINARY, sizeof b->form);
    int rc = k->smooth(&b->series, STEPS - 1, STEPS, &state, &kept, &nowhere, b->scratch, &tally);
    costs->smooth_step_last = ks_take_flops();
    rc |= k->smooth(&b->series, STEPS - 2, STEPS - 1, &state, &kept, &nowhere, b->scratch, &tally);
    costs->smooth_step = ks_take_flops();
    return rc;
}

/** Find the cost of a step that is joined to the aggregate of its chunk. */
static int find_aggregates(bench *b, ks_unit_costs *costs)
{
    ks_tally tally = {0};
    const int rc = b->kernels.filter_absorb(&b->series, 1, 2, 1, b->filter_element, b->absorb, &tally);
    costs->filter_absorb = ks_take_flops();
    return rc;
}

ks_status ks_unit_costs_find(ks_unit_costs *costs, int nx, int ny)
{
    bench b;
    if (nx < 1 || ny < 1) return KS_EINVAL;
    memset(costs, 0, sizeof *costs);
    memset(&b, 0, sizeof b);
    costs->nx = b.series.nx = nx;
    costs->ny = b.series.ny = ny;
    ks_counting_kernels(&b.kernels);
    b.filter_bytes = b.kernels.filter_element_bytes(nx);
    b.smooth_bytes = b.kernels.smooth_element_bytes(nx);
    costs->filter_element_bytes = (int64_t)b.filter_bytes;
    costs->smooth_element_bytes = (int64_t)b.smooth_bytes;
    ks_carver room = ks_room_open(carve, &b);
    if (!room.base) return KS_ENOMEM;
    ks_sample_model_fill(&b.model, &b.series);
    b.series.steps = STEPS;
    (void)ks_take_flops();
    int rc = find_filter(&b, costs);
    find_smoothers(&b, costs);
    rc |= find_meetings(&b, costs);
    rc |= find_back(&b, costs);
    rc |= find_aggregates(&b, costs);
    ks_room_close(&room);
    return rc ? KS_ENONFINITE : KS_OK;
}
