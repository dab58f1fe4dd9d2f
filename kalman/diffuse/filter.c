/* filter.c -- the filter of the first steps, in windows of a plan's steps. */
#include "start.h"
#include "dense.h"

/* Numbers of a window stay below this many, so that it fits a cache. */
enum { WINDOW_MOST = 64, WINDOW_NUMBERS = 1 << 16 };

static void carve(ks_carver *carver, ks_start_filter *f)
{
    const size_t steps = (size_t)f->steps, N = (size_t)f->start->N, one = sizeof(double);
    ks_start_arrays_carve(carver, &f->in, f->steps, f->start->N, f->start->m);
    f->predicted_mean = ks_carve(carver, steps * N, one);
    f->predicted_cov = ks_carve(carver, steps * N * N, one);
    f->filtered_mean = ks_carve(carver, steps * N, one);
    f->filtered_cov = ks_carve(carver, steps * N * N, one);
    f->terms = ks_carve(carver, steps, one);
    f->loglik = ks_carve(carver, 1, one);
    ks_unknown_carve(carver, f->start, &f->unknown);
    ks_limit_carve(carver, f->start, &f->limit);
    f->work = ks_carve(carver, ks_smooth_workspace_bytes(f->plan), 1);
}

ks_status ks_start_filter_make(ks_start_filter *filter, const ks_start *start, int64_t steps)
{
    const int64_t room = 1 + WINDOW_NUMBERS / ((int64_t)start->N * start->N);
    ks_smooth_options o = KS_SMOOTH_OPTIONS_INIT;
    const ks_start_filter empty = { .start = start, .steps = steps < WINDOW_MOST ? steps : WINDOW_MOST };
    *filter = empty;
    if (filter->steps > room) filter->steps = room;
    o.job = KS_JOB_FILTER;
    o.method = KS_METHOD_SEQUENTIAL;
    o.outputs = KS_OUT_LOGLIK | KS_OUT_LOGLIK_TERMS | KS_OUT_PREDICTED_MEAN | KS_OUT_PREDICTED_COV |
                KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV;
    o.threads = 1;
    o.tier = start->plan->options.tier;
    ks_context *context = start->plan->context;
    const ks_status status = ks_smooth_plan_create(&filter->plan, context, filter->steps, 1, start->N, start->m, &o);
    if (status != KS_OK) return status;
    ks_carver measure = ks_carver_at(NULL);
    carve(&measure, filter);
    if (!ks_start_allocate(context, &measure, &filter->memory)) return KS_ENOMEM;
    carve(&filter->memory, filter);
    return KS_OK;
}

void ks_start_filter_free(ks_start_filter *filter)
{
    if (!filter->plan) return;
    ks_start_release(filter->start->plan->context, &filter->memory);
    ks_smooth_plan_destroy(filter->plan);
    filter->plan = NULL;
}

/* Put steps k .. k + count - 1 in the window; in those behind them nothing happens. */
static void fill(ks_start_filter *f, int64_t k, int64_t count)
{
    for (int64_t i = 0; i < count; ++i) ks_start_place(f->start, k + i, i, &f->in);
    for (int64_t i = count; i < f->steps; ++i) ks_start_stay(i, &f->in);
}

static ks_status run_window(ks_start_filter *f, ks_info *info)
{
    const size_t N = (size_t)f->start->N;
    const ks_model model = ks_start_model(&f->in);
    ks_outputs o = KS_OUTPUTS_INIT;
    o.loglik = ks_blocks_out(f->loglik, 1);
    o.loglik_terms = ks_blocks_out(f->terms, 1);
    o.predicted_mean = ks_blocks_out(f->predicted_mean, N);
    o.predicted_cov = ks_blocks_out(f->predicted_cov, N * N);
    o.filtered_mean = ks_blocks_out(f->filtered_mean, N);
    o.filtered_cov = ks_blocks_out(f->filtered_cov, N * N);
    return ks_smooth_run(f->plan, &model, ks_start_observations(&f->in), &o, f->work, info);
}

/* Tell the visitor of step k, number i of the window. */
static ks_status visit_step(ks_start_filter *f, int64_t k, int64_t i, double *loglik, ks_start_visitor *visit,
                            void *user)
{
    const ks_start *s = f->start;
    const size_t at = (size_t)i, N = (size_t)s->N, m = (size_t)s->m;
    ks_start_step step = { k, 0, f->predicted_mean + at * N, f->predicted_cov + at * N * N, f->in.H + at * m * N,
                           f->in.R + at * m * m, f->in.d + at * m, f->in.y + at * m, *loglik };
    ks_unknown_move(&f->unknown, s, k);
    ks_status status = visit ? visit(user, f, &step) : KS_OK;
    if (status != KS_OK) return status;
    for (size_t e = 0; e < m; ++e) f->missing += isnan(step.y[e]) != 0;
    ks_unknown_observe(&f->unknown, s, k);
    *loglik += f->terms[i];
    step.observed = 1;
    step.mean = f->filtered_mean + at * N;
    step.cov = f->filtered_cov + at * N * N;
    step.loglik = *loglik;
    return visit ? visit(user, f, &step) : KS_OK;
}

ks_status ks_start_sweep(ks_start_filter *f, int64_t end, ks_start_visitor *visit, void *user, double *loglik,
                         ks_info *info)
{
    const ks_start *s = f->start;
    const size_t N = (size_t)s->N;
    *loglik = 0;
    f->missing = f->found = 0;
    ks_start_prior(s, &f->in);
    ks_unknown_start(&f->unknown, s);
    for (int64_t k = 0; k < end; k += f->steps) {
        const int64_t count = end - k < f->steps ? end - k : f->steps;
        fill(f, k, count);
        ks_status status = run_window(f, info);
        for (int64_t i = 0; status == KS_OK && i < count; ++i) {
            status = visit_step(f, k + i, i, loglik, visit, user);
            if (status != KS_OK) info->step = i;
        }
        if (status != KS_OK) {
            info->step += info->step >= 0 ? k : 0;
            return info->status = status;
        }
        ks_copy_f64((int)N, f->filtered_mean + (size_t)(count - 1) * N, f->in.m0);
        memcpy(f->in.P0, f->filtered_cov + (size_t)(count - 1) * N * N, N * N * sizeof(double));
    }
    if (ks_limit_find(&f->limit, s, &f->unknown, f->in.m0, f->in.P0) != 0) {
        info->array = KS_ARRAY_P0;
        info->fault = KS_FAULT_ILL_CONDITIONED;
        info->step = end - 1;
        return info->status = KS_EREFUSED;
    }
    f->found = end;
    *loglik += f->limit.evidence;
    return KS_OK;
}
