/* scan_device_parts.c -- reduce, scan, re-run of a series that a device has no room for at once.
 *
 * Chunks need each other's aggregates alone, so parts of a few chunks each go to the device twice: once to
 * be reduced, and after the scan of all aggregates to be run again. While one part is computed, the results
 * of the last one and the rows of the next one travel in another stream, through two halves of memory. */
#include <string.h>
#include "scan_device.h"

typedef struct part {
    int64_t first, end; /* chunks */
    int64_t k0, k1;     /* steps  */
    int half;
} part;

static part part_of(const ks_scan_device *d, int64_t i, int64_t T)
{
    const int64_t size = d->chunks.size, first = i * d->part_chunks, end = first + d->part_chunks;
    part p = { first, end < d->tiles.count ? end : d->tiles.count, first * size, end * size, (int)(i % 2) };
    if (p.k1 > T) p.k1 = T;
    return p;
}

/** As if row 0 were that of step 0. */
static void shift_rows(ks_rows *rows, int64_t first) { rows->base -= first * rows->stride; }

static void shift_sink(ks_sink *sink, int64_t first) { sink->first = first; }

/** The device's arrays as those of a part, whose rows are in one half. */
static void look_at(ks_scan_device *d, const part *p)
{
    ks_scan_arrays *const a = &d->a;
    ks_series *const s = &a->series;
    const int64_t into = p->k0 > s->shift ? p->k0 - s->shift : 0;
    ks_rows *const leading[] = { &s->F, &s->Q, &s->u }, *const others[] = { &s->H, &s->R, &s->d, &s->y };
    ks_sink *const sinks[] = {
        &a->to.predicted_mean, &a->to.predicted_cov, &a->to.predicted_var, &a->to.filtered_mean,
        &a->to.filtered_cov, &a->to.filtered_var, &a->to.innovation, &a->to.innovation_cov,
        &a->to.innovation_std, &a->to.loglik_terms, &a->back.smoothed_mean, &a->back.smoothed_cov,
        &a->back.smoothed_var, &a->back.lag_one_cov, &d->chunks.kept_mean, &d->chunks.kept_C,
    };
    for (int i = 0; i < 3; ++i) shift_rows(leading[i], into);
    for (int i = 0; i < 4; ++i) shift_rows(others[i], p->k0);
    for (size_t i = 0; i < sizeof sinks / sizeof sinks[0]; ++i) shift_sink(sinks[i], p->k0);
    d->chunks.begin = p->first;
    d->chunks.chunks = p->end;
}

/** Rows of a part into its half, once that is free, for the stream to wait for. */
static ks_status bring(ks_scan_device *d, const ks_run *run, int64_t b, const part *p)
{
    d->a = d->half[p->half];
    KS_TRY(ks_gpu_event_wait(d->gpu, d->free[p->half], d->beside));
    KS_TRY(ks_scan_device_upload(d, run, b, p->k0, p->k1, 1));
    KS_TRY(ks_gpu_event_record(d->gpu, d->there[p->half], d->beside));
    return ks_gpu_event_wait(d->gpu, d->there[p->half], d->stream);
}

/** Results of a part out of its half, once they are there. */
static ks_status take_away(ks_scan_device *d, const ks_run *run, int64_t b, const part *p)
{
    KS_TRY(ks_gpu_event_wait(d->gpu, d->free[p->half], d->beside));
    return ks_scan_device_download(d, &d->half[p->half], run, b, p->k0, p->k1);
}

/** All parts through the device, to be reduced, or run again. */
static ks_status pass(ks_scan_device *d, const ks_run *run, int64_t b, int again)
{
    const int64_t T = run->plan->T, parts = (d->tiles.count + d->part_chunks - 1) / d->part_chunks;
    unsigned char *const form = d->chunks.form;
    ks_status status = KS_OK;
    for (int64_t i = 0; i <= parts && status == KS_OK; ++i) {
        if (i < parts) {
            const part p = part_of(d, i, T);
            status = bring(d, run, b, &p);
            if (status != KS_OK) break;
            look_at(d, &p);
            d->chunks.form = form ? form - p.k0 : NULL;
            status = again ? ks_chunks_rerun(d) : ks_chunks_reduce(d);
            d->chunks.form = form;
            if (status == KS_OK) status = ks_gpu_event_record(d->gpu, d->free[p.half], d->stream);
        }
        if (again && i > 0 && status == KS_OK) {
            const part before = part_of(d, i - 1, T);
            status = take_away(d, run, b, &before);
        }
    }
    d->chunks.begin = 0;
    d->chunks.chunks = d->tiles.count;
    return status;
}

ks_status ks_parts_run(ks_scan_device *d, ks_run *run, int64_t b)
{
    KS_TRY(ks_scan_device_begin(d));
    ks_status status = pass(d, run, b, 0);
    if (status == KS_OK) status = ks_chunks_scan(d);
    if (status == KS_OK) status = pass(d, run, b, 1);
    if (status == KS_OK) status = ks_scan_device_sum(d, d->tiles.count);
    /* Whatever went wrong, nothing of it is under way afterwards. */
    const ks_status ended = ks_gpu_stream_sync(d->gpu, d->beside);
    const ks_status reported = ks_scan_device_report(d, d->stream);
    return status != KS_OK ? status : ended != KS_OK ? ended : reported;
}
