/* diffuse.c -- a run whose prior is infinite in some directions: the first steps apart, the others as the plan says. */
#include <string.h>
#include "kalscan/diffuse.h"
#include "diffuse_run.h"

static void put_numbers(void *to, size_t bytes, int64_t at, int64_t count, const double *from)
{
    const ks_sink sink = { (char *)to + (size_t)at * bytes, 0, 0 };
    ks_start_put(sink, 0, bytes, count, from);
}

static void take_numbers(const ks_start *start, const void *from, size_t bytes, int64_t at, int count, double *to)
{
    ks_start reader = *start;
    const ks_rows rows = { (const char *)from + (size_t)at * bytes, 0 };
    reader.bytes = bytes;
    ks_start_read(&reader, rows, 0, 1, count, to, count);
}

/* Whether the later steps of series b can start from P without losing digits, and what they start from if not:
 * n diag(P) or more. Variances that contracting states leave may be too small for numbers of the covariances. */
static void widen(ks_diffuse *r, int64_t b, const double *P)
{
    const int n = r->plan->nx, size = n * n;
    const double least = r->plan->kernels->number_bytes == sizeof(double) ? 0x1p-900 : 0x1p-100;
    double *W = r->numbers, *scratch = W + size;
    r->settled[b] = (unsigned char)ks_start_settled(n, P, W, scratch);
    memset(W, 0, (size_t)size * sizeof *W);
    for (int i = 0; i < n; ++i)
        if (P[i * n + i] > 0) W[i * n + i] = fmax(n * P[i * n + i], least);
    put_numbers(r->wide_cov, r->plan->mean_bytes, b * size, size, W);
}

/* Filter the first steps of series b, and keep the state at the last of them. */
static ks_status filter_start(ks_diffuse *r, int64_t b)
{
    const ks_start *start = &r->starts[b];
    const int64_t n = r->plan->nx;
    const size_t wide = r->plan->mean_bytes;
    ks_start_filter filter = { 0 };
    ks_status status = ks_start_filter_make(&filter, start, r->steps);
    if (status == KS_OK) status = ks_start_write(&filter, r->outputs, r->steps, &r->loglik[b], r->info);
    if (status == KS_OK) {
        put_numbers(r->mean, wide, b * n, n, filter.limit.mean);
        put_numbers(r->cov, wide, b * n * n, n * n, filter.limit.cov);
        widen(r, b, filter.limit.cov);
    }
    r->missing += filter.missing;
    ks_start_filter_free(&filter);
    return r->info->status = status;
}

static ks_outputs later_outputs(const ks_diffuse *r)
{
    const size_t wide = r->plan->mean_bytes, narrow = r->plan->kernels->number_bytes, n = (size_t)r->plan->nx;
    const int64_t k = r->steps;
    ks_outputs o = *r->outputs;
    if (k == 0) return o;
    ks_out *const means[] = { &o.predicted_mean, &o.filtered_mean, &o.smoothed_mean, &o.innovation, &o.innovation_std };
    ks_out *const covs[] = { &o.predicted_cov, &o.predicted_var, &o.filtered_cov, &o.filtered_var, &o.smoothed_cov,
                             &o.smoothed_var, &o.lag_one_cov, &o.innovation_cov };
    for (size_t i = 0; i < sizeof means / sizeof *means; ++i) *means[i] = ks_later_out(*means[i], k, wide);
    for (size_t i = 0; i < sizeof covs / sizeof *covs; ++i) *covs[i] = ks_later_out(*covs[i], k, narrow);
    o.loglik_terms = ks_later_out(o.loglik_terms, k, sizeof(double));
    o.prior_mean = ks_diffuse_smooths(r) ? ks_blocks_out(r->smoothed_mean, n) : (ks_out){ NULL, 0, 0 };
    o.prior_cov = ks_diffuse_smooths(r) ? ks_blocks_out(r->smoothed_cov, n * n) : (ks_out){ NULL, 0, 0 };
    return o;
}

/* Run the steps that follow by the plan's method. */
static ks_status run_later(ks_diffuse *r)
{
    const ks_smooth_plan *plan = r->plan;
    ks_smooth_options options = plan->options;
    ks_smooth_plan *later = NULL;
    if (r->steps > 0 && ks_diffuse_smooths(r)) options.outputs |= KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV;
    ks_status status =
        ks_smooth_plan_create(&later, plan->context, plan->T - r->steps, plan->B, plan->nx, plan->ny, &options);
    if (status != KS_OK) return r->info->status = status;
    void *work = ks_allocate(plan->context, ks_smooth_workspace_bytes(later));
    if (work) {
        const ks_model model = ks_later_model(r);
        const ks_outputs outputs = later_outputs(r);
        status = ks_smooth_run(later, &model, ks_later_view(r->y, r->steps, plan->mean_bytes), &outputs, work, r->info);
        if (r->info->step >= 0) r->info->step += r->steps;
        r->info->missing += r->missing;
    } else status = r->info->status = KS_ENOMEM;
    ks_release(plan->context, work);
    ks_smooth_plan_destroy(later);
    return status;
}

/* Run the later steps once more, from n diag(P), for what they tell of the state before them. A model that the
 * sequential method fails for has no such run. */
static ks_status run_wide(ks_diffuse *r)
{
    const ks_smooth_plan *plan = r->plan;
    const size_t n = (size_t)plan->nx;
    ks_smooth_plan *wide = NULL;
    ks_info info = KS_INFO_INIT;
    ks_status status = ks_later_plan(r, KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV, &wide);
    void *work = status == KS_OK ? ks_allocate(plan->context, ks_smooth_workspace_bytes(wide)) : NULL;
    if (work) {
        ks_model model = ks_later_model(r);
        ks_outputs outputs = KS_OUTPUTS_INIT;
        model.P0 = ks_blocks_in(r->wide_cov, n * n);
        outputs.prior_mean = ks_blocks_out(r->wide_smoothed_mean, n);
        outputs.prior_cov = ks_blocks_out(r->wide_smoothed_cov, n * n);
        status = ks_smooth_run(wide, &model, ks_later_view(r->y, r->steps, plan->mean_bytes), &outputs, work, &info);
        r->wide = status == KS_OK;
    } else status = KS_ENOMEM;
    ks_release(plan->context, work);
    ks_smooth_plan_destroy(wide);
    if (status != KS_ENOMEM && status != KS_ECANCELED) return KS_OK;
    return r->info->status = status;
}

static int all_settled(const ks_diffuse *r)
{
    int all = 1;
    for (int64_t b = 0; b < r->plan->B; ++b) all &= r->settled[b];
    return all;
}

/* An estimate of series b before the later steps, in double: a mean and, behind it, a covariance. */
static void take_estimate(const ks_diffuse *r, int64_t b, const void *mean, const void *cov, size_t bytes, double *to)
{
    const int n = r->plan->nx, size = n * n;
    take_numbers(&r->starts[b], mean, r->plan->mean_bytes, (int64_t)b * n, n, to);
    take_numbers(&r->starts[b], cov, bytes, (int64_t)b * size, size, to + n);
}

static ks_status smooth_start(ks_diffuse *r, int64_t b)
{
    const ks_smooth_plan *plan = r->plan;
    const int n = plan->nx, size = n * n;
    const size_t wide = plan->mean_bytes, narrow = plan->kernels->number_bytes;
    ks_start *start = &r->starts[b];
    double *before = r->numbers, *mean = before + n + size, *wide_mean = mean + n + size;
    double *wide_cov = wide_mean + n + size;
    if (r->steps == plan->T) return ks_start_smooth(start, r->outputs, r->steps, NULL, NULL, NULL, r->info);
    take_estimate(r, b, r->mean, r->cov, wide, before);
    take_estimate(r, b, r->smoothed_mean, r->smoothed_cov, narrow, mean);
    const ks_start_later later = { before + n, mean, mean + n };
    if (!r->wide || r->settled[b]) return ks_start_smooth(start, r->outputs, r->steps, before, &later, NULL, r->info);
    take_estimate(r, b, r->wide_smoothed_mean, r->wide_smoothed_cov, narrow, wide_mean);
    take_numbers(start, r->wide_cov, wide, (int64_t)b * size, size, wide_cov);
    const ks_start_later wider = { wide_cov, wide_mean, wide_mean + n };
    return ks_start_smooth(start, r->outputs, r->steps, before, &later, &wider, r->info);
}

/* Add what the first steps contribute, which is all there is where no steps follow. */
static void add_loglik(const ks_diffuse *r)
{
    const ks_out to = r->outputs->loglik;
    for (int64_t b = 0; to.data && r->steps > 0 && b < r->plan->B; ++b) {
        double *loglik = (double *)to.data + b * to.series_stride;
        *loglik = (r->steps < r->plan->T ? *loglik : 0) + r->loglik[b];
    }
}

/* A filter and smoother of the first steps tell method and form as they have it: those of the others count. */
static ks_status run_parts(ks_diffuse *r)
{
    const ks_info told = *r->info;
    if (r->steps > 0 && ks_diffuse_each(r, filter_start) != KS_OK) return r->info->status;
    *r->info = told;
    if (r->steps < r->plan->T) {
        if (run_later(r) != KS_OK) return r->info->status;
    } else {
        r->info->method = KS_METHOD_SEQUENTIAL;
        r->info->missing = r->missing;
        r->info->threads = 1;
    }
    const ks_info later = *r->info;
    add_loglik(r);
    if (r->steps == 0 || !ks_diffuse_smooths(r)) return KS_OK;
    if (r->steps < r->plan->T && !all_settled(r) && run_wide(r) != KS_OK) return r->info->status;
    if (ks_diffuse_each(r, smooth_start) != KS_OK) return r->info->status;
    *r->info = later;
    return KS_OK;
}

ks_status ks_diffuse_run(const ks_smooth_plan *plan, const ks_model *model, ks_view P0_inf, ks_view y,
                         const ks_outputs *outputs, int64_t *steps, ks_info *info)
{
    ks_info mine = KS_INFO_INIT;
    if (info && info->size != sizeof *info) return KS_EINVAL;
    if (info) *info = mine;
    if (steps) *steps = 0;
    ks_info *told = info ? info : &mine;
    if (!plan || !model || model->size != sizeof *model) return told->status = KS_EINVAL;
    ks_diffuse r = { .plan = plan, .outputs = outputs, .model = *model, .y = y, .info = told };
    ks_status status = ks_diffuse_open(&r);
    if (status == KS_OK) {
        told->method = plan->method;
        told->backend = ks_smooth_plan_backend(plan);
        status = KS_EINVAL;
        if (ks_valid_run(plan, &r.model, y, outputs, &told->array) && ks_diffuse_directed(&r, P0_inf)) {
            r.model = ks_plain_model(plan, &r.model);
            status = ks_diffuse_prepare(&r, P0_inf);
            if (status == KS_OK) status = run_parts(&r);
        }
    }
    if (steps && status == KS_OK) *steps = r.steps;
    ks_diffuse_close(&r);
    return told->status = status;
}
