/* scan_device_parts.c -- reduce, scan, re-run of a series that goes to a device in parts.
 *
 * Chunks need only the aggregates of other chunks. A series that does not fit the device at once is sent twice, in
 * parts of a few chunks: first to be reduced, and after the scan of all aggregates to be run again. While one part is
 * computed, another stream copies the results of the part before and the rows of the next one. The parts alternate
 * between two halves of memory. A series that does fit may be sent once in parts, each to its own place. Then a part is
 * reduced while the next one is uploaded, and its results are downloaded while the next one is run again. */
#include <string.h>
#include "scan_device.h"

typedef struct part {
    int64_t first, end; /* chunks */
    int64_t k0, k1;     /* steps  */
    int half;
} part;

ks_status ks_parts_open(ks_scan_device *d)
{
    ks_status status = d->beside ? KS_OK : ks_gpu_stream_create(d->gpu, &d->beside);
    for (int i = 0; i < 2 && status == KS_OK; ++i) {
        if (!d->there[i]) status = ks_gpu_event_create(d->gpu, &d->there[i]);
        if (status == KS_OK && !d->free[i]) status = ks_gpu_event_create(d->gpu, &d->free[i]);
    }
    return status;
}

ks_status ks_scan_device_travel(ks_scan_device *d, int parts)
{
    const int64_t all = d->tiles.count, share = parts > 1 ? (all + parts - 1) / parts : all;
    const int64_t each = share > KS_LEAST_PART ? share : KS_LEAST_PART;
    if (!d->reruns || d->part_chunks) return KS_OK;
    d->beside_chunks = 0;
    d->stage.stream = d->stream;
    if (each >= all) return KS_OK;
    KS_TRY(ks_parts_open(d));
    d->stage.stream = d->beside;
    d->beside_chunks = each;
    return KS_OK;
}

static int64_t chunks_of_part(const ks_scan_device *d) { return d->part_chunks ? d->part_chunks : d->beside_chunks; }

int64_t ks_scan_device_parts(const ks_scan_device *d)
{
    const int64_t chunks = chunks_of_part(d);
    return chunks ? (d->tiles.count + chunks - 1) / chunks : 1;
}

static part part_of(const ks_scan_device *d, int64_t i, int64_t T)
{
    const int64_t size = d->chunks.size, first = i * chunks_of_part(d), end = first + chunks_of_part(d);
    part p = { first, end < d->tiles.count ? end : d->tiles.count, first * size, end * size, (int)(i % 2) };
    if (p.k1 > T) p.k1 = T;
    return p;
}

/** Shift the base of rows whose first one in memory is `first`, so that they are indexed as if row 0 were there. */
static void shift_rows(ks_rows *rows, int64_t first) { rows->base -= first * rows->stride; }

/** The outputs that have a row for every step. */
enum { SINKS = 14 };
static void sinks_of(ks_scan_arrays *a, ks_sink *sinks[SINKS])
{
    ks_sink *const all[SINKS] = {
        &a->to.predicted_mean, &a->to.predicted_cov, &a->to.predicted_var, &a->to.filtered_mean,
        &a->to.filtered_cov, &a->to.filtered_var, &a->to.innovation, &a->to.innovation_cov,
        &a->to.innovation_std, &a->to.loglik_terms, &a->back.smoothed_mean, &a->back.smoothed_cov,
        &a->back.smoothed_var, &a->back.lag_one_cov,
    };
    memcpy(sinks, all, sizeof all);
}

/** Make the device's arrays those of a part, whose rows are in one half of memory. */
static void look_at(ks_scan_device *d, const part *p)
{
    ks_scan_arrays *const a = &d->a;
    ks_series *const s = &a->series;
    const int64_t into = p->k0 > s->shift ? p->k0 - s->shift : 0;
    ks_rows *const leading[] = { &s->F, &s->Q, &s->u }, *const others[] = { &s->H, &s->R, &s->d, &s->y };
    ks_sink *sinks[SINKS];
    sinks_of(a, sinks);
    for (int i = 0; i < 3; ++i) shift_rows(leading[i], into);
    for (int i = 0; i < 4; ++i) shift_rows(others[i], p->k0);
    for (int i = 0; i < SINKS; ++i) sinks[i]->first = p->k0;
    d->chunks.kept_mean.first = d->chunks.kept_C.first = p->k0;
    d->chunks.begin = p->first;
    d->chunks.chunks = p->end;
}

/** Upload the rows of a part to its half once that is free, and let the stream wait for them. */
static ks_status bring(ks_scan_device *d, const ks_plan_run *run, int64_t b, const part *p)
{
    d->a = d->half[p->half];
    KS_TRY(ks_gpu_event_wait(d->gpu, d->free[p->half], d->beside));
    KS_TRY(ks_scan_device_upload(d, run, b, p->k0, p->k1, KS_ROWS_SHARED | KS_ROWS_STEADY));
    KS_TRY(ks_gpu_event_record(d->gpu, d->there[p->half], d->beside));
    return ks_gpu_event_wait(d->gpu, d->there[p->half], d->stream);
}

/** Download the results of a part from its half once they are computed. */
static ks_status take_away(ks_scan_device *d, const ks_plan_run *run, int64_t b, const part *p)
{
    KS_TRY(ks_gpu_event_wait(d->gpu, d->free[p->half], d->beside));
    return ks_scan_device_download(d, &d->half[p->half], run, b, p->k0, p->k1);
}

/** Send all parts through the device, to be reduced or, if `again`, to be run again. */
static ks_status pass(ks_scan_device *d, const ks_plan_run *run, int64_t b, int again)
{
    const int64_t T = run->plan->T, parts = ks_scan_device_parts(d);
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

/** Finish a run. Both streams are waited for, also after an error, so that no work is in progress afterwards. */
static ks_status finish(ks_scan_device *d, ks_status status)
{
    const ks_status ended = ks_gpu_stream_sync(d->gpu, d->beside);
    const ks_status reported = ks_scan_device_report(d, d->stream);
    d->chunks.begin = 0;
    d->chunks.chunks = d->tiles.count;
    return status != KS_OK ? status : ended != KS_OK ? ended : reported;
}

ks_status ks_parts_run(ks_scan_device *d, ks_plan_run *run, int64_t b)
{
    KS_TRY(ks_scan_device_begin(d));
    ks_status status = pass(d, run, b, 0);
    if (status == KS_OK) status = ks_chunks_scan(d);
    if (status == KS_OK) status = pass(d, run, b, 1);
    if (status == KS_OK) status = ks_scan_device_sum(d, d->tiles.count);
    return finish(d, status);
}

static void choose_chunks(ks_scan_device *d, const part *p)
{
    d->chunks.begin = p->first;
    d->chunks.chunks = p->end;
}

/** Upload the rows of a part to their place, then reduce it. Rows that do not vary come with the first part. */
static ks_status come(ks_scan_device *d, const ks_plan_run *run, int64_t b, const part *p)
{
    const unsigned steady = p->first == 0 ? KS_ROWS_STEADY : 0, shared = b == 0 ? KS_ROWS_SHARED : 0;
    KS_TRY(ks_scan_device_upload(d, run, b, p->k0, p->k1, KS_ROWS_IN_PLACE | steady | shared));
    KS_TRY(ks_gpu_event_record(d->gpu, d->there[p->half], d->beside));
    KS_TRY(ks_gpu_event_wait(d->gpu, d->there[p->half], d->stream));
    choose_chunks(d, p);
    return ks_chunks_reduce(d);
}

/** Download the results of a part that has been run again. */
static ks_status go(ks_scan_device *d, const ks_plan_run *run, int64_t b, const part *p)
{
    ks_scan_arrays from = d->a;
    ks_sink *sinks[SINKS];
    sinks_of(&from, sinks);
    for (int i = 0; i < SINKS; ++i)
        if (sinks[i]->base) sinks[i]->base += p->k0 * sinks[i]->stride;
    KS_TRY(ks_gpu_event_wait(d->gpu, d->free[p->half], d->beside));
    return ks_scan_device_download(d, &from, run, b, p->k0, p->k1);
}

/** Upload and reduce all parts. */
static ks_status come_all(ks_scan_device *d, const ks_plan_run *run, int64_t b)
{
    const int64_t parts = ks_scan_device_parts(d);
    for (int64_t i = 0; i < parts; ++i) {
        const part p = part_of(d, i, run->plan->T);
        KS_TRY(come(d, run, b, &p));
    }
    d->chunks.begin = 0;
    d->chunks.chunks = d->tiles.count;
    return KS_OK;
}

/** Run all parts again and download their results. The device is one part ahead, as the host waits for downloads. */
static ks_status go_all(ks_scan_device *d, const ks_plan_run *run, int64_t b)
{
    const int64_t parts = ks_scan_device_parts(d), T = run->plan->T;
    for (int64_t i = 0; i <= parts; ++i) {
        if (i < parts) {
            const part p = part_of(d, i, T);
            choose_chunks(d, &p);
            KS_TRY(ks_chunks_rerun(d));
            KS_TRY(ks_gpu_event_record(d->gpu, d->free[p.half], d->stream));
        }
        if (i > 0) {
            const part before = part_of(d, i - 1, T);
            KS_TRY(go(d, run, b, &before));
        }
    }
    return KS_OK;
}

ks_status ks_parts_run_beside(ks_scan_device *d, ks_plan_run *run, int64_t b)
{
    KS_TRY(ks_scan_device_begin(d));
    ks_status status = come_all(d, run, b);
    if (status == KS_OK) status = ks_chunks_scan(d);
    if (status == KS_OK) status = go_all(d, run, b);
    if (status == KS_OK) status = ks_scan_device_sum(d, d->tiles.count);
    return finish(d, status);
}
