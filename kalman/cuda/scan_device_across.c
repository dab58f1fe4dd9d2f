/* scan_device_across.c -- copies of model and data from one device's memory to another's. */
#include "scan_device.h"

/** Pack rows into contiguous rows at `to`, on the same device. */
static ks_status pack(ks_scan_device *d, ks_rows from, int64_t count, int64_t bytes, const char *to)
{
    const ks_scan_pack_args args = { from.base, from.stride, bytes / 4, count, (char *)(uintptr_t)to };
    const int64_t wanted = (count * args.words + KS_SCAN_THREADS - 1) / KS_SCAN_THREADS, most = 1 << 16;
    const ks_gpu_shape shape = { { (unsigned)(wanted < most ? wanted : most) }, { KS_SCAN_THREADS }, 0, 0 };
    return ks_gpu_launch(d->gpu, d->pack, &shape, &args, sizeof args, d->beside);
}

/** Copy `count` rows of d's memory to o's. Rows that are apart are packed at `own` first, the plan's own place on d. */
static ks_status carry(ks_scan_device *d, ks_scan_device *o, ks_rows from, int64_t count, int64_t bytes,
                       const char *own, ks_rows *to)
{
    to->stride = from.stride ? bytes : 0;
    /* A single step under prior x1 has no transition. */
    if (!from.base || count < 1) return KS_OK;
    const int64_t rows = from.stride ? count : 1;
    const int packs = rows > 1 && from.stride != bytes;
    if (packs) KS_TRY(pack(d, from, rows, bytes, own));
    return ks_gpu_copy_across(d->gpu, o->gpu, (char *)(uintptr_t)to->base, packs ? own : from.base,
                              (size_t)(rows * bytes), d->beside);
}

ks_status ks_scan_device_across(ks_scan_device *d, ks_scan_device *o, const ks_smooth_plan *plan)
{
    const ks_series *s = &d->a.series, *own = &plan->device->a.series;
    ks_series *to = &o->a.series;
    const int64_t number = (int64_t)plan->mean_bytes, T = plan->T, n = plan->nx, m = plan->ny;
    ks_rows m0 = { to->m0, 0 }, P0 = { to->P0, 0 };
    const struct { ks_rows from; const char *own; ks_rows *to; int64_t numbers, count; } all[] = {
        { s->F, own->F.base, &to->F, n * n, T - s->shift },
        { s->Q, own->Q.base, &to->Q, n * n, T - s->shift },
        { s->u, own->u.base, &to->u, n, T - s->shift },
        { s->H, own->H.base, &to->H, m * n, T },
        { s->R, own->R.base, &to->R, m * m, T },
        { s->d, own->d.base, &to->d, m, T },
        { s->y, own->y.base, &to->y, m, T },
        { { s->m0, 0 }, NULL, &m0, n, 1 },
        { { s->P0, 0 }, NULL, &P0, n * n, 1 },
    };
    to->prior_x1 = s->prior_x1;
    to->shift = s->shift;
    KS_TRY(ks_gpu_event_record(d->gpu, d->begun, d->stream));
    KS_TRY(ks_gpu_event_wait(d->gpu, d->begun, d->beside));
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
        KS_TRY(carry(d, o, all[i].from, all[i].count, all[i].numbers * number, all[i].own, all[i].to));
    KS_TRY(ks_gpu_event_record(d->gpu, d->carried, d->beside));
    return ks_gpu_event_wait(o->gpu, d->carried, o->stream);
}
