/* scan_device_rows.c -- copies of rows of the model and of results between the host and a device. */
#include "plan.h"
#include "scan_device.h"

/** Copy rows of a model or of data to the plan's memory. */
static ks_status put_in(ks_scan_device *d, ks_rows from, int64_t first, int64_t count, int64_t numbers,
                        unsigned which, ks_rows *to)
{
    const size_t bytes = (size_t)numbers * (d->a.single ? sizeof(float) : sizeof(double));
    to->stride = from.stride ? (int64_t)bytes : 0;
    if (!from.base || count <= 0 || (!from.stride && !(which & KS_ROWS_STEADY))) return KS_OK;
    const int64_t at = which & KS_ROWS_IN_PLACE ? first * to->stride : 0;
    const ks_gpu_rows rows = { (char *)(uintptr_t)(from.base + first * from.stride), from.stride,
                               from.stride ? count : 1, bytes };
    return ks_gpu_stage_in(&d->stage, (void *)(uintptr_t)(to->base + at), &rows);
}

static int64_t numbers_of(const ks_smooth_plan *plan, int nx_powers, int ny_powers)
{
    int64_t numbers = 1;
    for (int i = 0; i < nx_powers; ++i) numbers *= plan->nx;
    for (int i = 0; i < ny_powers; ++i) numbers *= plan->ny;
    return numbers;
}

ks_status ks_scan_device_upload(ks_scan_device *d, const ks_plan_run *run, int64_t b, int64_t k0, int64_t k1,
                                unsigned which)
{
    const ks_smooth_plan *plan = run->plan;
    const ks_model *m = run->model;
    ks_series host, *s = &d->a.series;
    ks_series_of(run, b, &host);
    s->prior_x1 = host.prior_x1;
    s->shift = host.shift;
    /* With KS_OUT_OF row k - 1 of F, Q and u leads into step k. There is no row into step 0, and the last row may be
     * absent. */
    const int64_t into = k0 > host.shift ? k0 - host.shift : 0, T = k1 - k0;
    const int64_t of_into = k1 - host.shift - into;
    ks_rows m0 = { host.m0, 0 }, P0 = { host.P0, 0 }, to_m0 = { s->m0, 0 }, to_P0 = { s->P0, 0 };
    const struct {
        ks_rows from;
        const ks_view *view;
        int64_t first, count, numbers;
        ks_rows *to;
    } all[] = {
        { host.F, &m->F, into, of_into, numbers_of(plan, 2, 0), &s->F },
        { host.Q, &m->Q, into, of_into, numbers_of(plan, 2, 0), &s->Q },
        { host.u, &m->u, into, of_into, numbers_of(plan, 1, 0), &s->u },
        { host.H, &m->H, k0, T, numbers_of(plan, 1, 1), &s->H },
        { host.R, &m->R, k0, T, numbers_of(plan, 0, 2), &s->R },
        { host.d, &m->d, k0, T, numbers_of(plan, 0, 1), &s->d },
        { host.y, &run->y, k0, T, numbers_of(plan, 0, 1), &s->y },
        { m0, &m->m0, 0, 1, numbers_of(plan, 1, 0), &to_m0 },
        { P0, &m->P0, 0, 1, numbers_of(plan, 2, 0), &to_P0 },
    };
    ks_status status = KS_OK;
    for (size_t i = 0; i < sizeof all / sizeof all[0] && status == KS_OK; ++i)
        if (which & KS_ROWS_SHARED || all[i].view->series_stride)
            status = put_in(d, all[i].from, all[i].first, all[i].count, all[i].numbers, which, all[i].to);
    return status;
}

static ks_status put_out(ks_scan_device *d, ks_out to, size_t number, int64_t b, int64_t first,
                         int64_t count, ks_sink from)
{
    const int64_t at = b * to.series_stride + first * to.step_stride;
    if (!from.base || !to.data) return KS_OK;
    const int64_t stride = count > 1 ? to.step_stride * (int64_t)number : 0;
    const ks_gpu_rows rows = { (char *)to.data + at * (int64_t)number, stride, count, (size_t)from.stride };
    return ks_gpu_stage_out(&d->stage, &rows, from.base);
}

ks_status ks_scan_device_download(ks_scan_device *d, const ks_scan_arrays *a, const ks_plan_run *run, int64_t b,
                                  int64_t k0, int64_t k1)
{
    const ks_outputs *o = run->outputs;
    const int64_t T = k1 - k0, prior = k0 == 0 && run->model->prior == KS_PRIOR_X0;
    const size_t mean = run->plan->mean_bytes, cov = run->plan->kernels->number_bytes;
    const struct { ks_out to; ks_sink from; int64_t count; size_t number; } all[] = {
        { o->predicted_mean, a->to.predicted_mean, T, mean },
        { o->predicted_cov, a->to.predicted_cov, T, cov },
        { o->predicted_var, a->to.predicted_var, T, cov },
        { o->filtered_mean, a->to.filtered_mean, T, mean },
        { o->filtered_cov, a->to.filtered_cov, T, cov },
        { o->filtered_var, a->to.filtered_var, T, cov },
        { o->innovation, a->to.innovation, T, mean },
        { o->innovation_cov, a->to.innovation_cov, T, cov },
        { o->innovation_std, a->to.innovation_std, T, mean },
        { o->smoothed_mean, a->back.smoothed_mean, T, mean },
        { o->smoothed_cov, a->back.smoothed_cov, T, cov },
        { o->smoothed_var, a->back.smoothed_var, T, cov },
        { o->lag_one_cov, a->back.lag_one_cov, T, cov },
        { o->prior_mean, a->prior_mean, prior, mean },
        { o->prior_cov, a->prior_cov, prior, cov },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
        KS_TRY(put_out(d, all[i].to, all[i].number, b, k0, all[i].count, all[i].from));
    return put_out(d, o->loglik_terms, sizeof(double), b, k0, T, a->to.loglik_terms);
}
