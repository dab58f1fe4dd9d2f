/* diffuse_run.c -- a run whose prior is infinite in some directions: its memory, the starts of its series with as many
 * first steps as all of them take, and the model of the steps behind them. */
#include "diffuse_run.h"
#include "dense.h"

size_t ks_diffuse_numbers(size_t n) { return 3 * n * (n + 1) + n * n + ks_whiten_scratch((int)n); }

static void carve(ks_carver *carver, ks_diffuse *r)
{
    const size_t B = (size_t)r->plan->B, n = (size_t)r->plan->nx, m = (size_t)r->plan->ny;
    const size_t wide = r->plan->mean_bytes, narrow = r->plan->kernels->number_bytes;
    r->starts = ks_carve(carver, B, sizeof *r->starts);
    r->loglik = ks_carve(carver, B, sizeof *r->loglik);
    r->mean = ks_carve(carver, B * n, wide);
    r->cov = ks_carve(carver, B * n * n, wide);
    r->smoothed_mean = ks_carve(carver, B * n, wide);
    r->smoothed_cov = ks_carve(carver, B * n * n, narrow);
    r->wide_cov = ks_carve(carver, B * n * n, wide);
    r->wide_smoothed_mean = ks_carve(carver, B * n, wide);
    r->wide_smoothed_cov = ks_carve(carver, B * n * n, narrow);
    r->settled = ks_carve(carver, B, sizeof *r->settled);
    r->numbers = ks_carve(carver, ks_diffuse_numbers(n), sizeof *r->numbers);
    r->zeros = ks_carve(carver, n * n > m ? n * n : m, sizeof(double));
}

int ks_diffuse_smooths(const ks_diffuse *r)
{
    return ks_makes_any(r->plan, KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_SMOOTHED_VAR | KS_OUT_LAG_ONE_COV |
                                     KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV);
}

static int filters(const ks_diffuse *r)
{
    return ks_makes_any(r->plan, KS_OUT_LOGLIK_TERMS | KS_OUT_PREDICTED_MEAN | KS_OUT_PREDICTED_COV |
                                     KS_OUT_PREDICTED_VAR | KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV |
                                     KS_OUT_FILTERED_VAR | KS_OUT_INNOVATION | KS_OUT_INNOVATION_COV |
                                     KS_OUT_INNOVATION_STD);
}

static ks_status fail(ks_diffuse *r, ks_status status, ks_array array, ks_fault fault, int64_t series, int row)
{
    r->info->array = array;
    r->info->fault = fault;
    r->info->series = series;
    r->info->row = row;
    return r->info->status = status;
}

/* The state in which most of what is not told is left, at last or, if no state is, at first. */
static int state_not_told(ks_unknown *unknown, const ks_start *start)
{
    int most = 0;
    double largest = 0;
    if (!ks_unknown_left(unknown))
        for (int c = 0; c < unknown->q; ++c)
            for (int i = 0; i < unknown->n; ++i)
                unknown->X[c * unknown->n + i] =
                    ks_dot(unknown->d, start->A + i * unknown->d, unknown->U + c * unknown->d);
    for (int i = 0; i < unknown->n; ++i) {
        double left = 0;
        for (int c = 0; c < unknown->q; ++c) left = hypot(left, unknown->X[c * unknown->n + i]);
        if (left <= largest) continue;
        largest = left;
        most = i;
    }
    return most;
}

/* Find how many first steps tell the state of series b, or as much of it as ever is told (*all: 0). */
static ks_status find_told(ks_diffuse *r, int64_t b, int64_t *told, int *all)
{
    const ks_start *start = &r->starts[b];
    ks_unknown unknown;
    ks_carver memory;
    if (!ks_unknown_make(&unknown, start, &memory)) return r->info->status = KS_ENOMEM;
    *told = ks_unknown_steps(&unknown, start, all);
    ks_status status = KS_OK;
    /* A smoother's estimates of all steps are to be finite, also of directions that a transition has ended. */
    if (ks_diffuse_smooths(r) && unknown.q > 0)
        status = fail(r, KS_EREFUSED, KS_ARRAY_P0, KS_FAULT_NOT_FINITE, b, state_not_told(&unknown, start));
    ks_start_release(r->plan->context, &memory);
    return status;
}

/* Make the start of series b with its reference, and lengthen the run's first steps by what it takes. */
static ks_status prepare(ks_diffuse *r, const ks_plan_run *run, ks_view P0_inf, int64_t b)
{
    ks_start *start = &r->starts[b];
    ks_start_filter filter = { 0 };
    int all = 1;
    int64_t told = 0, steps = r->plan->T;
    ks_status status = ks_start_make(start, run, P0_inf, b);
    if (status != KS_OK || start->d == 0) return r->info->status = status;
    status = find_told(r, b, &told, &all);
    if (status == KS_OK && told > 0) {
        status = ks_start_filter_make(&filter, start, told);
        if (status == KS_OK) status = ks_start_refer(start, &filter, told, r->info);
        /* What the filter itself puts out is to keep its digits from the first steps on. */
        if (status == KS_OK && filters(r)) status = ks_start_keeps_later(start, told, r->info);
        else if (status == KS_OK) status = ks_start_refer_later(start, &filter, told, r->info);
        if (status == KS_EREFUSED) fail(r, status, KS_ARRAY_P0, KS_FAULT_ILL_CONDITIONED, b, -1);
        if (status == KS_OK && all) status = ks_start_settle(&filter, told, &steps, r->info);
        ks_start_filter_free(&filter);
    }
    if (steps > r->steps) r->steps = steps;
    return r->info->status = status;
}

ks_status ks_diffuse_prepare(ks_diffuse *r, ks_view P0_inf)
{
    const ks_plan_run run = { .plan = r->plan, .model = &r->model, .y = r->y, .zeros = r->zeros };
    const ks_info told = *r->info;
    for (int64_t b = 0; b < r->plan->B; ++b)
        if (prepare(r, &run, P0_inf, b) != KS_OK) {
            r->info->series = b;
            return r->info->status;
        }
    *r->info = told;
    return KS_OK;
}

ks_status ks_diffuse_open(ks_diffuse *r)
{
    const ks_smooth_plan *plan = r->plan;
    const int64_t square = (int64_t)plan->nx * plan->nx;
    ks_carver measure = ks_carver_at(NULL);
    carve(&measure, r);
    r->starts = NULL;
    if (!ks_start_allocate(plan->context, &measure, &r->memory)) return r->info->status = KS_ENOMEM;
    carve(&r->memory, r);
    memset(r->starts, 0, (size_t)plan->B * sizeof *r->starts);
    memset(r->zeros, 0, (size_t)(square > plan->ny ? square : plan->ny) * sizeof(double));
    if (!r->model.m0.data) r->model.m0 = (ks_view){ r->zeros, 0, 0 };
    if (!r->model.P0.data) r->model.P0 = (ks_view){ r->zeros, 0, 0 };
    return KS_OK;
}

void ks_diffuse_close(ks_diffuse *r)
{
    for (int64_t b = 0; r->starts && b < r->plan->B; ++b) ks_start_free(&r->starts[b]);
    ks_start_release(r->plan->context, &r->memory);
}

int ks_diffuse_directed(const ks_diffuse *r, ks_view P0_inf)
{
    const ks_smooth_plan *plan = r->plan;
    if (ks_readable(P0_inf, plan->mean_bytes, (int64_t)plan->nx * plan->nx, 1, plan->B, 0)) return 1;
    r->info->array = KS_ARRAY_P0;
    return 0;
}

ks_status ks_diffuse_each(ks_diffuse *r, ks_status (*part)(ks_diffuse *, int64_t))
{
    for (int64_t b = 0; b < r->plan->B; ++b)
        if (part(r, b) != KS_OK) {
            r->info->series = b;
            return r->info->status;
        }
    return KS_OK;
}

ks_view ks_later_view(ks_view view, int64_t k, size_t bytes)
{
    if (view.data && view.step_stride)
        view.data = (const char *)view.data + (uint64_t)k * (uint64_t)view.step_stride * bytes;
    return view;
}

ks_out ks_later_out(ks_out out, int64_t k, size_t bytes)
{
    if (out.data) out.data = (char *)out.data + (uint64_t)k * (uint64_t)out.step_stride * bytes;
    return out;
}

ks_model ks_later_model(const ks_diffuse *r)
{
    const size_t wide = r->plan->mean_bytes, n = (size_t)r->plan->nx;
    const int64_t k = r->steps, into = r->model.transition == KS_OUT_OF ? k - 1 : k;
    ks_model model = r->model;
    if (k == 0) return model;
    model.F = ks_later_view(model.F, into, wide);
    model.Q = ks_later_view(model.Q, into, wide);
    model.u = ks_later_view(model.u, into, wide);
    model.H = ks_later_view(model.H, k, wide);
    model.R = ks_later_view(model.R, k, wide);
    model.d = ks_later_view(model.d, k, wide);
    model.transition = KS_INTO;
    model.prior = KS_PRIOR_X0;
    model.m0 = ks_blocks_in(r->mean, n);
    model.P0 = ks_blocks_in(r->cov, n * n);
    return model;
}

ks_status ks_later_plan(const ks_diffuse *r, unsigned outputs, ks_smooth_plan **later)
{
    const ks_smooth_plan *plan = r->plan;
    ks_smooth_options options = KS_SMOOTH_OPTIONS_INIT;
    options.method = KS_METHOD_SEQUENTIAL;
    options.outputs = outputs;
    options.precision = plan->options.precision;
    options.threads = plan->options.threads;
    options.tier = plan->options.tier;
    return ks_smooth_plan_create(later, plan->context, plan->T - r->steps, plan->B, plan->nx, plan->ny, &options);
}
