/* signal.c -- the signal of filtered estimates in the first steps. What is infinite of it is not what is infinite of the
 * states: the sum of a level and a season is told by the first observation, which tells neither. */
#include "kalscan/diffuse.h"
#include "diffuse_run.h"
#include "dense.h"
#include "signal_rows.h"

typedef struct signal_writer {
    ks_sink mean, cov, var, observed_var;
    size_t wide, narrow;  /* bytes of a number of means, and of covariances */
    double *numbers;      /* (m, m), (m), and scratch: (m, n), (m, d) */
} signal_writer;

/* Whether numbers of so many bytes hold these, of which some may be infinite. */
static int hold(int64_t count, const double *a, size_t bytes)
{
    for (int64_t i = 0; i < count; ++i)
        if (!isinf(a[i]) && !ks_start_holds(1, a + i, bytes)) return 0;
    return 1;
}

static ks_status visit(void *user, ks_start_filter *f, const ks_start_step *step)
{
    const signal_writer *w = user;
    const ks_start *start = f->start;
    const int n = start->n, m = start->m, N = start->N;
    double *cov = w->numbers, *row = cov + m * m, *scratch = row + m;
    if (!step->observed) return KS_OK;
    if (ks_limit_find(&f->limit, start, &f->unknown, step->mean, step->cov) != 0) return KS_EREFUSED;
    for (int i = 0; i < m; ++i) row[i] = step->d[i] + ks_dot(n, step->H + i * N, f->limit.mean);
    if (w->mean.base && !ks_start_holds(m, row, w->wide)) return KS_ENONFINITE;
    ks_start_put(w->mean, step->k, w->wide, m, row);
    if (!w->cov.base && !w->var.base && !w->observed_var.base) return KS_OK;
    if (!ks_limit_look(&f->limit, &f->unknown, m, step->H, N, scratch, cov)) return KS_ENONFINITE;
    for (int i = 0; i < m; ++i) row[i] = cov[i * (m + 1)] = fmax(cov[i * (m + 1)], 0);
    if (!hold((int64_t)m * m, cov, w->narrow)) return KS_ENONFINITE;
    ks_start_put(w->cov, step->k, w->narrow, (int64_t)m * m, cov);
    ks_start_put(w->var, step->k, w->narrow, m, row);
    for (int i = 0; i < m; ++i) row[i] = fmax(row[i] + step->R[i * (m + 1)], 0);
    if (w->observed_var.base && !hold(m, row, w->narrow)) return KS_ENONFINITE;
    ks_start_put(w->observed_var, step->k, w->narrow, m, row);
    return KS_OK;
}

/* Filter steps 0 .. steps - 1 and write the signal of their estimates. */
static ks_status write_signal(ks_start_filter *filter, const ks_signal_outputs *o, int64_t steps, ks_info *info)
{
    const ks_start *start = filter->start;
    const ks_smooth_plan *plan = start->plan;
    const size_t n = (size_t)start->n, m = (size_t)start->m, d = (size_t)start->d;
    const size_t wide = plan->mean_bytes, narrow = plan->kernels->number_bytes;
    const int64_t b = start->number;
    double unused;
    signal_writer w = { .wide = wide, .narrow = narrow };
    w.mean = ks_sink_at(o->mean, b, wide);
    w.cov = ks_sink_at(o->cov, b, narrow);
    w.var = ks_sink_at(o->var, b, narrow);
    w.observed_var = ks_sink_at(o->observed_var, b, narrow);
    w.numbers = ks_allocate(plan->context, (m * m + m + m * n + m * d) * sizeof *w.numbers);
    ks_status status = info->status = KS_ENOMEM;
    if (w.numbers) status = ks_start_sweep(filter, steps, visit, &w, &unused, info);
    if (status == KS_ENONFINITE && info->array == KS_ARRAY_NONE) info->array = KS_ARRAY_SIGNAL;
    if (status == KS_ENONFINITE && info->fault == KS_FAULT_NONE) info->fault = KS_FAULT_NOT_FINITE;
    if (status == KS_EREFUSED) {
        info->array = KS_ARRAY_P0;
        info->fault = KS_FAULT_ILL_CONDITIONED;
    }
    ks_release(plan->context, w.numbers);
    return status;
}

static ks_status signal_start(ks_diffuse *r, int64_t b)
{
    ks_start_filter filter = { 0 };
    ks_status status = ks_start_filter_make(&filter, &r->starts[b], r->steps);
    if (status == KS_OK) status = write_signal(&filter, r->signal, r->steps, r->info);
    ks_start_filter_free(&filter);
    return r->info->status = status;
}

/* The signal of the other steps, whose estimates are finite. */
static ks_status signal_later(ks_diffuse *r, ks_view mean, ks_view cov)
{
    const ks_smooth_plan *plan = r->plan;
    const size_t wide = plan->mean_bytes, narrow = plan->kernels->number_bytes;
    const int64_t k = r->steps;
    ks_smooth_plan *later = NULL;
    ks_status status = ks_later_plan(r, KS_OUT_LOGLIK, &later);
    void *work = status == KS_OK ? ks_allocate(plan->context, ks_signal_workspace_bytes(later)) : NULL;
    if (work) {
        const ks_model model = ks_later_model(r);
        ks_signal_outputs o = *r->signal;
        o.mean = ks_later_out(o.mean, k, wide);
        o.cov = ks_later_out(o.cov, k, narrow);
        o.var = ks_later_out(o.var, k, narrow);
        o.observed_var = ks_later_out(o.observed_var, k, narrow);
        status = ks_signal(later, &model, ks_later_view(mean, k, wide), ks_later_view(cov, k, narrow), &o, work, r->info);
        if (r->info->step >= 0) r->info->step += k;
    } else if (status == KS_OK) status = KS_ENOMEM;
    ks_release(plan->context, work);
    ks_smooth_plan_destroy(later);
    return r->info->status = status;
}

/* Whether all arguments are valid; else info tells. */
static int valid(const ks_diffuse *r, ks_view P0_inf, ks_view mean, ks_view cov)
{
    const ks_smooth_plan *plan = r->plan;
    ks_array *array = &r->info->array;
    if (!ks_valid_signal(plan, &r->model, mean, cov, r->signal, array) || !ks_valid_model(plan, &r->model, array))
        return 0;
    if (ks_readable(r->y, plan->mean_bytes, plan->ny, plan->T, plan->B, 0)) return ks_diffuse_directed(r, P0_inf);
    *array = KS_ARRAY_Y;
    return 0;
}

ks_status ks_diffuse_signal(const ks_smooth_plan *plan, const ks_model *model, ks_view P0_inf, ks_view y, ks_view mean,
                            ks_view cov, const ks_signal_outputs *outputs, ks_info *info)
{
    ks_info mine = KS_INFO_INIT;
    if (info && info->size != sizeof *info) return KS_EINVAL;
    if (info) *info = mine;
    ks_info *told = info ? info : &mine;
    if (!plan || !model || model->size != sizeof *model) return told->status = KS_EINVAL;
    ks_diffuse r = { .plan = plan, .signal = outputs, .model = *model, .y = y, .info = told };
    ks_status status = ks_diffuse_open(&r);
    if (status == KS_OK) {
        status = KS_EINVAL;
        if (valid(&r, P0_inf, mean, cov)) {
            r.model = ks_plain_model(plan, &r.model);
            status = ks_diffuse_prepare(&r, P0_inf);
            if (status == KS_OK && r.steps > 0) status = ks_diffuse_each(&r, signal_start);
            if (status == KS_OK && r.steps < plan->T) status = signal_later(&r, mean, cov);
        }
    }
    ks_diffuse_close(&r);
    return told->status = status;
}
