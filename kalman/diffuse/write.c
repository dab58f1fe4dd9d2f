/* write.c -- filtered outputs of the first steps. Where something is not told yet, covariances are infinite. */
#include "start.h"
#include "dense.h"

typedef struct writer {
    const ks_start *start;
    ks_sink predicted_mean, predicted_cov, predicted_var, filtered_mean, filtered_cov, filtered_var;
    ks_sink innovation, innovation_cov, innovation_std;
    double *terms;       /* NULL: not made */
    int64_t terms_stride;
    double total;        /* log-likelihood up to the step before */
    double *whole;       /* (n, n): a covariance with its infinite entries */
    double *entries;     /* (m, m) x 2, (m) x 4, and scratch: (m, n), (m, d) */
    int *present;        /* (m): numbers of the entries of a row that are present */
} writer;

static void put_estimate(const writer *w, const ks_start_filter *f, int64_t k, ks_sink mean, ks_sink cov, ks_sink var)
{
    const ks_smooth_plan *plan = w->start->plan;
    const int n = w->start->n;
    const size_t narrow = plan->kernels->number_bytes;
    ks_start_put(mean, k, plan->mean_bytes, n, f->limit.mean);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            const double part = ks_unknown_entry(&f->unknown, f->unknown.X + i, f->unknown.X + j, n);
            w->whole[i * n + j] = part != 0 ? part : f->limit.cov[i * n + j];
        }
    ks_start_put(cov, k, narrow, (int64_t)n * n, w->whole);
    for (int i = 0; i < n; ++i) w->whole[i] = w->whole[i * n + i];
    ks_start_put(var, k, narrow, n, w->whole);
}

/* L^-1 e over the entries that are present; `at` (count) are their numbers. */
static void standardize(int m, int count, const int *at, const double *S, const double *e, double *LD, double *inverse,
                        double *to)
{
    for (int i = 0; i < count; ++i)
        for (int j = 0; j < count; ++j) LD[i * count + j] = S[at[i] * m + at[j]];
    double *white = inverse + count;
    for (int i = 0; i < count; ++i) white[i] = e[at[i]];
    if (!ks_ldl_f64(count, 0, LD, inverse)) return;
    ks_ldl_forward_f64(count, 1, LD, white);
    for (int i = 0; i < count; ++i) to[at[i]] = white[i] * sqrt(inverse[i]);
}

static void put_innovation(const writer *w, const ks_start_filter *f, const ks_start_step *step)
{
    const ks_start *start = w->start;
    const ks_smooth_plan *plan = start->plan;
    const int n = start->n, m = start->m, N = start->N;
    double *S = w->entries, *LD = S + m * m, *e = LD + m * m, *white = e + m, *inverse = white + m;
    double *scratch = inverse + 2 * m;
    int count = 0, open = 0;
    ks_limit_look(&f->limit, &f->unknown, m, step->H, N, scratch, S);
    for (int i = 0; i < m; ++i) {
        e[i] = step->y[i] - step->d[i] - ks_dot(n, step->H + i * N, f->limit.mean);
        white[i] = (double)NAN;
        if (isnan(step->y[i])) continue;
        w->present[count++] = i;
        open |= isinf(S[i * m + i]) != 0;
    }
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < m; ++j) {
            const int missing = isnan(step->y[i]) || isnan(step->y[j]);
            S[i * m + j] = missing ? (double)NAN : S[i * m + j] + step->R[i > j ? i * m + j : j * m + i];
        }
    if (!open) standardize(m, count, w->present, S, e, LD, inverse, white);
    ks_start_put(w->innovation, step->k, plan->mean_bytes, m, e);
    ks_start_put(w->innovation_cov, step->k, plan->kernels->number_bytes, (int64_t)m * m, S);
    ks_start_put(w->innovation_std, step->k, plan->mean_bytes, m, white);
}

static int is_finite(const ks_start_filter *f)
{
    const int n = f->start->n;
    return ks_start_holds(n, f->limit.mean, f->start->plan->mean_bytes) &&
           ks_start_holds((int64_t)n * n, f->limit.cov, f->start->plan->kernels->number_bytes);
}

static ks_status visit(void *user, ks_start_filter *f, const ks_start_step *step)
{
    writer *w = user;
    const int before = w->predicted_mean.base || w->predicted_cov.base || w->predicted_var.base ||
                       w->innovation.base || w->innovation_cov.base || w->innovation_std.base;
    const int after = w->terms || w->filtered_mean.base || w->filtered_cov.base || w->filtered_var.base;
    if (!(step->observed ? after : before)) return KS_OK;
    if (ks_limit_find(&f->limit, w->start, &f->unknown, step->mean, step->cov) != 0) return KS_EREFUSED;
    if (!is_finite(f)) return KS_ENONFINITE;
    if (!step->observed) {
        put_estimate(w, f, step->k, w->predicted_mean, w->predicted_cov, w->predicted_var);
        if (w->innovation.base || w->innovation_cov.base || w->innovation_std.base) put_innovation(w, f, step);
        return KS_OK;
    }
    put_estimate(w, f, step->k, w->filtered_mean, w->filtered_cov, w->filtered_var);
    const double total = step->loglik + f->limit.evidence;
    if (w->terms) w->terms[step->k * w->terms_stride] = total - w->total;
    w->total = total;
    return KS_OK;
}

ks_status ks_start_write(ks_start_filter *filter, const ks_outputs *o, int64_t steps, double *loglik, ks_info *info)
{
    const ks_start *start = filter->start;
    const ks_smooth_plan *plan = start->plan;
    const size_t n = (size_t)start->n, m = (size_t)start->m, d = (size_t)start->d;
    const size_t wide = plan->mean_bytes, narrow = plan->kernels->number_bytes;
    const int64_t b = start->number;
    writer w = { .start = start };
    w.predicted_mean = ks_sink_at(o->predicted_mean, b, wide);
    w.predicted_cov = ks_sink_at(o->predicted_cov, b, narrow);
    w.predicted_var = ks_sink_at(o->predicted_var, b, narrow);
    w.filtered_mean = ks_sink_at(o->filtered_mean, b, wide);
    w.filtered_cov = ks_sink_at(o->filtered_cov, b, narrow);
    w.filtered_var = ks_sink_at(o->filtered_var, b, narrow);
    w.innovation = ks_sink_at(o->innovation, b, wide);
    w.innovation_cov = ks_sink_at(o->innovation_cov, b, narrow);
    w.innovation_std = ks_sink_at(o->innovation_std, b, wide);
    if (o->loglik_terms.data) {
        w.terms = (double *)o->loglik_terms.data + b * o->loglik_terms.series_stride;
        w.terms_stride = o->loglik_terms.step_stride;
    }
    w.whole = ks_allocate(plan->context, (n * n + m * n + 2 * m * m + 4 * m + m * d) * sizeof *w.whole);
    w.present = ks_allocate(plan->context, m * sizeof *w.present);
    ks_status status = info->status = KS_ENOMEM;
    if (w.whole && w.present) {
        w.entries = w.whole + n * n;
        status = ks_start_sweep(filter, steps, visit, &w, loglik, info);
    }
    if (status == KS_ENONFINITE && info->array == KS_ARRAY_NONE) info->array = KS_ARRAY_ESTIMATE;
    if (status == KS_ENONFINITE && info->fault == KS_FAULT_NONE) info->fault = KS_FAULT_NOT_FINITE;
    if (status == KS_EREFUSED) {
        info->array = KS_ARRAY_P0;
        info->fault = KS_FAULT_ILL_CONDITIONED;
    }
    ks_release(plan->context, w.present);
    ks_release(plan->context, w.whole);
    return status;
}
