/* run_case.c -- see run_case.h. */
#include "run_case.h"
#include "models.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#ifdef ON_DEVICE
#    include "seed.h"
#endif

#define BY_EACH_SCAN(job, method)                                                           \
    { job, method, KS_SCAN_HILLIS_STEELE, 1, 0 }, { job, method, KS_SCAN_BLELLOCH, 1, 0 },  \
    { job, method, KS_SCAN_LADNER_FISCHER, 1, 0 }, { job, method, KS_SCAN_SENGUPTA, 1, 0 }, \
    { job, method, KS_SCAN_SENGUPTA, 16, 0 }, { job, method, KS_SCAN_CHUNKED, 1, 0 }

const method_case all_methods[] = {
#ifndef ON_DEVICE
    { KS_JOB_FILTER, KS_METHOD_SEQUENTIAL, KS_SCAN_HILLIS_STEELE, 1, 0 },
#endif
    BY_EACH_SCAN(KS_JOB_FILTER, KS_METHOD_SCAN),
#ifndef ON_DEVICE
    { KS_JOB_SMOOTH, KS_METHOD_SEQUENTIAL, KS_SCAN_HILLIS_STEELE, 1, 0 },
    { KS_JOB_SMOOTH, KS_METHOD_AUTO, KS_SCAN_HILLIS_STEELE, 1, 0 },
    { KS_JOB_SMOOTH, KS_METHOD_TWO_ENDED, KS_SCAN_HILLIS_STEELE, 1, 0 },
#endif
    BY_EACH_SCAN(KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS),
    BY_EACH_SCAN(KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER),
#ifndef ON_DEVICE
    { KS_JOB_SMOOTH, KS_METHOD_BLOCKTRI, KS_SCAN_HILLIS_STEELE, 1, KS_BLOCKTRI_SEQUENTIAL },
    { KS_JOB_SMOOTH, KS_METHOD_BLOCKTRI, KS_SCAN_HILLIS_STEELE, 1, KS_BLOCKTRI_TWISTED },
    { KS_JOB_SMOOTH, KS_METHOD_BLOCKTRI, KS_SCAN_HILLIS_STEELE, 1, KS_BLOCKTRI_PARTITION },
    { KS_JOB_SMOOTH, KS_METHOD_BLOCKTRI, KS_SCAN_HILLIS_STEELE, 1, KS_BLOCKTRI_NESTED_DISSECTION },
    { KS_JOB_SMOOTH, KS_METHOD_BLOCKTRI, KS_SCAN_HILLIS_STEELE, 1, KS_BLOCKTRI_RECURSIVE_SCHUR },
#else
    { KS_JOB_SMOOTH, KS_METHOD_BLOCKTRI, KS_SCAN_HILLIS_STEELE, 1, KS_BLOCKTRI_AUTO },
#endif
};
const int all_methods_count = (int)(sizeof all_methods / sizeof all_methods[0]);

method_case map_by(ks_blocktri_order order)
{
    return (method_case){ KS_JOB_SMOOTH, KS_METHOD_BLOCKTRI, KS_SCAN_HILLIS_STEELE, 1, order };
}

const char *method_case_name(const method_case *m)
{
    static char name[96];
    const char *job = m->job == KS_JOB_FILTER ? "filter" : "smooth";
    if (is_map(m))
        snprintf(name, sizeof name, "%s %s %s", job, ks_method_name(m->method),
                 ks_blocktri_order_name(m->order));
    else if (!is_scan(m))
        snprintf(name, sizeof name, "%s %s", job, ks_method_name(m->method));
    else if (m->scan == KS_SCAN_SENGUPTA)
        snprintf(name, sizeof name, "%s %s %s:%lld", job, ks_method_name(m->method),
                 ks_scan_name(m->scan), (long long)m->threshold);
    else
        snprintf(name, sizeof name, "%s %s %s", job, ks_method_name(m->method),
                 ks_scan_name(m->scan));
    return name;
}

unsigned outputs_of(ks_job job)
{
    const unsigned all = (1u << GOLDEN_OUTPUTS) - 1;
    const unsigned smoothed = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_SMOOTHED_VAR |
                              KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV;
    return job == KS_JOB_FILTER ? all & ~smoothed : all;
}

unsigned outputs_made(const method_case *m)
{
    const unsigned smoothed = outputs_of(KS_JOB_SMOOTH) & ~outputs_of(KS_JOB_FILTER);
    return is_two_ended(m) || is_map(m) ? smoothed | KS_OUT_LOGLIK : outputs_of(m->job);
}

/* What is asked for of the state before a prior that is on the first step. */
static unsigned not_there(ks_prior prior)
{
    return prior == KS_PRIOR_X1 ? KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV : 0u;
}

unsigned outputs_there(const golden *g, const method_case *m) { return outputs_made(m) & ~not_there(g->prior); }

bool is_scan(const method_case *m)
{
    return m->method == KS_METHOD_SCAN || m->method == KS_METHOD_SCAN_RTS ||
           m->method == KS_METHOD_SCAN_TWO_FILTER;
}

bool takes_mixed(const method_case *m)
{
    if (ALL_ON_DEVICE) return is_scan(m) && !stores_elements(m) && m->method != KS_METHOD_SCAN_TWO_FILTER;
    return m->method == KS_METHOD_SEQUENTIAL || m->method == KS_METHOD_AUTO;
}

const method_case *first_method(ks_job job)
{
    int i = 0;
    while (all_methods[i].job != job) ++i;
    return &all_methods[i];
}

golden_route route_of(const method_case *m)
{
    return is_scan(m) ? GOLDEN_ELEMENTS : is_two_ended(m) ? GOLDEN_TWO_ENDED : is_map(m) ? GOLDEN_MAP : GOLDEN_STEPS;
}

bool is_two_ended(const method_case *m) { return m->method == KS_METHOD_TWO_ENDED; }

/** The row of the first pivot of R over the entries of y present that is lost, or -1. */
static int lost_pivot(int ny, const double *R, const double *y, double share)
{
    double A[16][16];
    int present[16], m = 0;
    assert_true(ny <= 16);
    for (int i = 0; i < ny; ++i)
        if (!isnan(y[i])) present[m++] = i;
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < m; ++j) A[i][j] = R[present[i] * ny + present[j]];
    for (int p = 0; p < m; ++p) {
        if (!(A[p][p] > share * R[present[p] * ny + present[p]])) return p;
        for (int i = p + 1; i < m; ++i)
            for (int j = p + 1; j < m; ++j) A[i][j] -= A[i][p] * A[p][j] / A[p][p];
    }
    return -1;
}

/** Where the right half of two-ended smoothing begins (docs/numerics.md, "Two-ended smoothing"). */
static int64_t right_half(const golden *g, ks_precision precision, int64_t series)
{
    const golden_input *matrices[] = { &g->F, &g->H, &g->R };
    const int64_t root = g->T - (g->nx > 12 ? g->T * 3 / 8 : g->T / 3);
    if (g->Q.step_stride) return root;
    const int slow = g->nx == 3 || g->nx == 5 || g->nx == 7 || g->nx == 8;
    const int64_t inverse = g->T - (slow ? g->T * 4 / 11 : g->nx <= 12 ? g->T * 2 / 5 : g->T / 2);
    const int64_t most = precision == KS_F64 && g->nx > 1 ? inverse : root;
    if (g->nx < 2 || g->nx > 8) return most;
    for (int i = 0; i < 3; ++i)
        if (matrices[i]->step_stride) return most;
    for (int64_t i = 1; i < 32; i += 2) {
        const double *y = g->y.f64 + series * g->y.series_stride + i * g->T / 32 * g->y.step_stride;
        for (int j = 0; j < g->ny; ++j)
            if (isnan(y[j])) return most;
    }
    return g->T - g->T / (g->nx <= 4 ? 5 : 4);
}

bool two_ended_refuses(const golden *g, ks_precision precision, int64_t *series, int64_t *step,
                       int *row)
{
    const double share = precision == KS_F64 ? 0x1p-26 : 0x1p-12; /* half of the digits */
    for (*series = 0; *series < g->B; ++*series)
        for (*step = right_half(g, precision, *series); *step < g->T; ++*step) {
            const golden_input *R = &g->R, *y = &g->y;
            *row = lost_pivot(g->ny, R->f64 + *series * R->series_stride + *step * R->step_stride,
                              y->f64 + *series * y->series_stride + *step * y->step_stride, share);
            if (*row >= 0) return true;
        }
    return false;
}

bool is_map(const method_case *m) { return m->method == KS_METHOD_BLOCKTRI; }

bool stores_elements(const method_case *m)
{
    return is_scan(m) && m->scan != KS_SCAN_CHUNKED;
}

ks_smooth_options options_of(const method_case *m, ks_precision precision, unsigned outputs)
{
    ks_smooth_options options = KS_SMOOTH_OPTIONS_INIT;
    options.job = m->job;
    options.method = m->method;
    options.scan = m->scan;
    options.scan_threshold = m->threshold;
    options.order = m->order;
    options.precision = precision;
    options.outputs = outputs;
    options.backend = ALL_ON_DEVICE ? KS_BACKEND_CUDA : KS_BACKEND_CPU;
    return options;
}

ks_status run_model(const golden *g, const ks_model *model, ks_view y,
                    const ks_smooth_options *options, int threads, golden_buffers **buffers,
                    ks_info *info)
{
    ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
    ks_smooth_options makes = *options;
    ks_context *context = NULL;
    ks_smooth_plan *plan = NULL;
    void *work = NULL;
    makes.outputs &= ~not_there(model->prior);
#ifdef ON_DEVICE
    static int runs;
    use_seed(++runs);
#endif
    resources.threads = threads;
    *buffers = golden_buffers_new(g->T, g->B, g->nx, g->ny, makes.precision, makes.outputs);
    ks_status status = *buffers ? ks_context_create(&context, &resources) : KS_ENOMEM;
    if (status == KS_OK)
        status = ks_smooth_plan_create(&plan, context, g->T, g->B, g->nx, g->ny, &makes);
    if (status == KS_OK) {
        const size_t bytes = (ks_smooth_workspace_bytes(plan) + 63) / 64 * 64;
        work = aligned_alloc(64, bytes);
        /* What a run reads of its workspace it has written; a NaN in both precisions shows it. */
        if (work) memset(work, 0xff, bytes);
        status = work ? ks_smooth_run(plan, model, y, golden_outputs(*buffers), work, info)
                      : KS_ENOMEM;
    }
    free(work);
    ks_smooth_plan_destroy(plan);
    ks_context_destroy(context);
#ifdef ON_DEVICE
    check_clean();
#endif
    return status;
}

ks_status run_case(const golden *g, const method_case *m, ks_precision precision, int threads,
                   unsigned outputs, golden_buffers **buffers, ks_info *info)
{
    const ks_smooth_options options = options_of(m, precision, outputs);
    const ks_model model = golden_model(g, precision);
    return run_model(g, &model, golden_y(g, precision), &options, threads, buffers, info);
}

golden_buffers *run_well(const golden *g, const method_case *m, ks_precision precision,
                         int threads, unsigned outputs, ks_info *info)
{
    golden_buffers *b = NULL;
    ks_info own = KS_INFO_INIT;
    ks_info *told = info ? info : &own;
    const ks_status status = run_case(g, m, precision, threads, outputs, &b, told);
    if (status != KS_OK) {
        print_error("T = %lld, nx = %d, ny = %d, %s %s: %s, %s at step %lld, row %d\n",
                    (long long)g->T, g->nx, g->ny, method_case_name(m),
                    (const char *[]){ "f64", "f32", "mixed" }[precision], ks_status_name(status),
                    ks_array_name(told->array), (long long)told->step, told->row);
        golden_buffers_free(b);
        fail();
    }
    return b;
}

unsigned first_different(const golden_buffers *a, const golden_buffers *b, unsigned outputs)
{
    for (unsigned bit = 1; bit <= outputs; bit <<= 1) {
        if (!(outputs & bit)) continue;
        size_t bytes_a = 0, bytes_b = 0;
        const void *at_a = golden_bytes(a, (ks_output)bit, &bytes_a);
        const void *at_b = golden_bytes(b, (ks_output)bit, &bytes_b);
        if (bytes_a != bytes_b || (bytes_a && memcmp(at_a, at_b, bytes_a) != 0)) return bit;
    }
    return 0;
}

/** No eigenvalue of the symmetric A (n, n) below -slack times its trace: A + slack trace I has
 *  positive pivots. Rows that are NaN (missing entries) are left out. */
static bool semidefinite(int n, const double *A, double slack)
{
    double L[64 * 64], trace = 0;
    int m = 0;
    int row[64];
    for (int i = 0; i < n && i < 64; ++i)
        if (!isnan(A[i * n + i])) row[m++] = i;
    for (int i = 0; i < m; ++i) trace += A[row[i] * n + row[i]];
    if (!(trace >= 0)) return false;
    for (int j = 0; j < m && trace > 0; ++j)
        for (int i = j; i < m; ++i) {
            double s = A[row[i] * n + row[j]] + (i == j ? slack * trace : 0);
            for (int l = 0; l < j; ++l) s -= L[i * m + l] * L[j * m + l];
            if (i == j && !(s > 0)) return false;
            L[i * m + j] = i == j ? sqrt(s) : s / L[j * m + j];
        }
    return true;
}

static bool symmetric(int n, const double *A)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < i; ++j)
            if (memcmp(&A[i * n + j], &A[j * n + i], sizeof *A) != 0 &&
                !(isnan(A[i * n + j]) && isnan(A[j * n + i])))
                return false;
    return true;
}

bool covariances_sound(golden_buffers *b, ks_precision precision, unsigned outputs)
{
    static const ks_output covariances[] = { KS_OUT_PREDICTED_COV, KS_OUT_FILTERED_COV,
                                             KS_OUT_SMOOTHED_COV, KS_OUT_PRIOR_COV,
                                             KS_OUT_INNOVATION_COV };
    const golden_results *r = golden_widen(b);
    const double epsilon = precision == KS_F64 ? 0x1p-52 : 0x1p-23;
    for (size_t i = 0; i < sizeof covariances / sizeof covariances[0]; ++i) {
        const ks_output c = covariances[i];
        const double *at = r->array[__builtin_ctz(c)];
        const int n = c == KS_OUT_INNOVATION_COV ? r->ny : r->nx;
        const int64_t blocks = c == KS_OUT_PRIOR_COV ? r->B : r->B * r->T;
        if (!(outputs & c) || !at) continue;
        for (int64_t k = 0; k < blocks; ++k) {
            const double *A = at + k * n * n;
            const bool equal = symmetric(n, A);
            if (equal && semidefinite(n, A, 16 * n * epsilon)) continue;
            print_error("%s, block %lld: %s\n", golden_output_name(c), (long long)k,
                        equal ? "not positive semidefinite" : "not symmetric");
            return false;
        }
    }
    return true;
}

golden_buffers *run_by_tier(const golden *g, const method_case *m, ks_precision precision, unsigned outputs, ks_tier tier)
{
    if (tier == KS_TIER_AUTO) return run_well(g, m, precision, 1, outputs, NULL);
    const ks_model model = golden_model(g, precision);
    ks_smooth_options o = options_of(m, precision, outputs);
    golden_buffers *buffers = NULL;
    o.tier = tier;
    const ks_status status = run_model(g, &model, golden_y(g, precision), &o, 1, &buffers, NULL);
    if (status == KS_OK) return buffers;
    golden_buffers_free(buffers);
    if (status != KS_EUNAVAILABLE) fail_msg("%s, tier %d: %s", method_case_name(m), (int)tier, ks_strerror(status));
    return NULL;
}

golden_buffers *run_steady(const golden *g, const method_case *m, ks_precision precision, int threads,
                           unsigned outputs, ks_steady_state word)
{
    const ks_model model = golden_model(g, precision);
    ks_smooth_options o = options_of(m, precision, outputs);
    golden_buffers *buffers = NULL;
    o.steady_state = word;
    const ks_status status = run_model(g, &model, golden_y(g, precision), &o, threads, &buffers, NULL);
    if (status != KS_OK) fail_msg("%s, %s: %s", method_case_name(m), ks_steady_state_name(word), ks_strerror(status));
    return buffers;
}

void same_with_and_without_memory(golden *g, const method_case *m, ks_precision precision,
                                  unsigned made)
{
    for (int64_t k = g->T * 11 / 15; k < g->T; k += g->T / 10)
        *model_block(&g->y, 0, k) = (double)NAN;
    /* One where right_half() looks, so that the halves meet at the same step in both. */
    *model_block(&g->y, 0, 31 * g->T / 32) = (double)NAN;
    model_round(g);
    golden *each = model_slice(g, 0, 0, g->T);
    each->Q.step_stride = 0; /* its inverse is for steps that share it */
    golden_buffers *a = run_steady(g, m, precision, 1, made, KS_STEADY_STATE_REPEAT);
    golden_buffers *b = run_well(each, m, precision, 1, made, NULL);
    golden_buffers *c = run_steady(g, m, precision, 1, made, KS_STEADY_STATE_COMPUTE);
    const unsigned other = first_different(a, b, made) | first_different(a, c, made);
    if (other)
        fail_msg("%s, (%d, %d): %s has other bits from memory", method_case_name(m), g->nx, g->ny,
                 golden_output_name((ks_output)(other & -other)));
    golden_buffers_free(a);
    golden_buffers_free(b);
    golden_buffers_free(c);
    golden_free(each);
}
