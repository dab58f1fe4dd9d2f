/* settle.c -- how long the start is. A state that is only just told may have a covariance that is singular but for its
 * last digits, as of a slow cycle after as many steps as it has states. It would be the later steps' prior, in their
 * precision, and what they tell of it would have no digits. */
#include "start.h"
#include "dense.h"
#include "lapack.h"

/* Smallest eigenvalue of correlations to start from. Models that are singular by themselves do not get there: for them
 * so many steps for each that tells. */
#define SETTLED 0x1p-7
enum { MOST = 4, MORE = 8 };

typedef struct settling {
    int64_t told, settled;
    double *W, *scratch;
} settling;

size_t ks_whiten_scratch(int n) { return 2 * (size_t)n + ks_lapack_syev_scratch(n); }

int ks_whiten(int n, const double *P, double *W, double *least, double *scratch)
{
    double *scale = scratch, *values = scale + n;
    for (int i = 0; i < n; ++i) scale[i] = P[i * n + i] > 0 ? 1 / sqrt(P[i * n + i]) : 0;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) W[i * n + j] = scale[i] * P[i * n + j] * scale[j];
    if (ks_lapack_syev_f64(n, W, values, values + n) != 0) return -1;
    *least = values[0];
    for (int c = 0; c < n; ++c) {
        const double root = values[c] > 8 * n * 0x1p-53 * values[n - 1] ? 1 / sqrt(values[c]) : 0;
        for (int i = 0; i < n; ++i) W[c * n + i] *= root * scale[i];
    }
    return 0;
}

int ks_start_settled(int n, const double *P, double *W, double *scratch)
{
    double least;
    return ks_whiten(n, P, W, &least, scratch) == 0 && least > SETTLED;
}

static int is_settled(const settling *s, const ks_start_filter *f)
{
    return ks_start_settled(f->start->n, f->limit.cov, s->W, s->scratch);
}

static ks_status visit(void *user, ks_start_filter *f, const ks_start_step *step)
{
    settling *s = user;
    if (!step->observed || step->k + 1 < s->told) return KS_OK;
    if (ks_limit_find(&f->limit, f->start, &f->unknown, step->mean, step->cov) != 0) return KS_OK;
    if (!is_settled(s, f)) return KS_OK;
    s->settled = step->k + 1;
    return KS_ECANCELED;
}

ks_status ks_start_settle(ks_start_filter *filter, int64_t told, int64_t *steps, ks_info *info)
{
    const ks_start *start = filter->start;
    const int64_t T = start->plan->T, most = told > (T - MORE) / (MOST + 1) ? T : told + MOST * told + MORE;
    const size_t n = (size_t)start->n;
    double loglik, *W = ks_allocate(start->plan->context, (n * n + ks_whiten_scratch(start->n)) * sizeof *W);
    if (!W) return info->status = KS_ENOMEM;
    settling s = { told, most, W, W + n * n };
    const ks_info before = *info;
    ks_status status = KS_OK;
    /* The filter may just have been there. */
    if (filter->found == told && is_settled(&s, filter)) s.settled = told;
    else status = ks_start_sweep(filter, most, visit, &s, &loglik, info);
    if (status == KS_ECANCELED || status == KS_EREFUSED) {
        *info = before;
        status = KS_OK;
    }
    *steps = s.settled;
    ks_release(start->plan->context, W);
    return status;
}
