/* scan_device.c -- a plan's device for the scan methods and the MAP route: kernels, streams and events. */
#include <stdio.h>
#include <string.h>
#include "plan.h"
#include "scan_device.h"

/* Bytes of a half of the stage, and most workers that fill it: more do not add bandwidth. */
enum { STAGE = 1 << 22, COPIERS = 8 };
/* Most parts in which a series that fits travels beside the computation, and least chunks of a part. Only beyond
 * BESIDE_STATES states does a step's arithmetic take long enough beside the transfer of its rows; see
 * docs/gpu-chunks.md. */
enum { BESIDE_PARTS = 8, BESIDE_CHUNKS = 1024, BESIDE_STATES = 8 };

#define PHASE_NAME(name) #name,
/** Find the kernels of chunks. */
static ks_status find_chunks(ks_scan_device *d, const char *size)
{
    static const char *const names[] = { "absorb", "rerun", "judge", "border" };
    const ks_gpu_kernel **const kernels[] = { &d->absorb, &d->rerun, &d->judge, &d->border };
    char name[48];
    ks_status status = KS_OK;
    for (int i = 0; i < 4 && status == KS_OK; ++i) {
        snprintf(name, sizeof name, "ks_chunk_%s", names[i]);
        status = ks_gpu_find(d->gpu, kernels[i], "ks_chunks", name);
    }
    if (status == KS_OK && d->join.lanes) {
        status = ks_gpu_find(d->gpu, &d->fold, "ks_scan_team", "ks_filter_fold_team");
        return status == KS_OK ? ks_gpu_find(d->gpu, &d->filter_scan, "ks_scan_team", "ks_filter_scan_team") : status;
    }
    for (int i = 0; i < 2 && status == KS_OK; ++i) {
        snprintf(name, sizeof name, "ks_filter_%s_%s", i ? "fold" : "tiles", size);
        status = ks_gpu_find(d->gpu, i ? &d->fold : &d->tiles_scan, "ks_scan_elements", name);
    }
    return status;
}

int ks_scan_device_has_ordinary(const ks_smooth_plan *plan)
{
    return plan->nx <= KS_ORDINARY_STATES && plan->ny <= KS_ORDINARY_ENTRIES;
}

/** Find the kernels that do ordinary steps first. */
static ks_status find_ordinary(ks_scan_device *d, const ks_smooth_plan *plan)
{
    static const struct { ks_scan_phase_number phase; const char *name; int observes; } all[] = {
        { KS_PHASE_elements, "element", 1 },     { KS_PHASE_suffixes, "element", 1 },
        { KS_PHASE_evidence, "evidence", 1 },    { KS_PHASE_filtered, "filtered", 0 },
        { KS_PHASE_smoothing, "smoothing", 0 },  { KS_PHASE_smoothed, "smoothed", 0 },
        { KS_PHASE_two_filter, "two_filter", 0 }, { KS_PHASE_lag_one, "lag_one", 0 },
    };
    const int entries = plan->ny > 2 ? 4 : 2, states = plan->nx > 2 || entries > 2 ? 4 : 2;
    char name[48], of[8];
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        snprintf(of, sizeof of, "_%d", entries);
        snprintf(name, sizeof name, "ks_ordinary_%s_%d%s", all[i].name, states, all[i].observes ? of : "");
        KS_TRY(ks_gpu_find(d->gpu, &d->ordinary[all[i].phase], "ks_scan_ordinary", name));
        d->ordinary_shared[all[i].phase] = (size_t)ks_ordinary_shared(all[i].phase, states, entries);
    }
    return KS_OK;
}

static ks_status find_kernels(ks_scan_device *d, const ks_smooth_plan *plan)
{
    static const char *const names[] = { KS_SCAN_PHASES(PHASE_NAME) };
    char name[48];
    ks_status status = ks_gpu_find(d->gpu, &d->sum, "ks_scan_phases", "ks_scan_sum");
    char size[16] = "any";
    if (plan->nx <= KS_SCAN_LITERAL) snprintf(size, sizeof size, "%d", plan->nx);
    else if (d->join.lanes) snprintf(size, sizeof size, "team");
    const char *const module = d->join.lanes ? "ks_scan_team" : "ks_scan_elements";
    if (status == KS_OK && d->reruns) status = find_chunks(d, size);
    if (status != KS_OK || d->reruns) return status;
    for (int i = 0; i < KS_PHASES && status == KS_OK; ++i) {
        snprintf(name, sizeof name, "ks_phase_%s", names[i]);
        status = ks_gpu_find(d->gpu, &d->phase[i], "ks_scan_phases", name);
    }
    for (int i = 0; i < 2 && status == KS_OK; ++i) {
        snprintf(name, sizeof name, "ks_%s_scan_%s", i ? "smooth" : "filter", size);
        status = ks_gpu_find(d->gpu, i ? &d->smooth_scan : &d->filter_scan, module, name);
    }
    return status == KS_OK && ks_scan_device_has_ordinary(plan) ? find_ordinary(d, plan) : status;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/** Bytes of a half of the stage: at least the longest row that travels, and up to STAGE bytes of rows for each of at
 *  most four workers. */
static size_t stage_bytes(const ks_smooth_plan *plan, int copiers)
{
    const int64_t stage = (int64_t)STAGE * (copiers < 4 ? copiers : 4);
    const int64_t n = larger(plan->nx, plan->ny);
    const int64_t row = larger(n * n * (int64_t)plan->mean_bytes, sizeof(double));
    const int64_t all = row * plan->T;
    return (size_t)larger(row, all < stage ? all : stage);
}

/** Return KS_ENOMEM if the run time will not find room for the threads' local memory. It allocates that when kernels
 *  are first launched, which is too late for a plan to use smaller parts. */
static ks_status leave_room(ks_scan_device *d)
{
    size_t room = 0;
    KS_TRY(ks_gpu_room(d->gpu, &room));
    const size_t local = ks_gpu_local_bytes(d->gpu); /* the run time rounds this up by rules of its own */
    return local + local / 8 <= room ? KS_OK : KS_ENOMEM;
}

/** Store the status before a run. */
static ks_status fill_status(ks_scan_device *d)
{
    const size_t head = offsetof(ks_scan_status, ordinary);
    char *const good = (char *)(d->status + 1);
    KS_TRY(ks_gpu_fill(d->gpu, good, KS_SCAN_GOOD, head, d->stream));
    KS_TRY(ks_gpu_fill(d->gpu, good + head, 0, sizeof *d->status - head, d->stream));
    return ks_gpu_stream_sync(d->gpu, d->stream);
}

/* Most aggregates for which all rounds are one launch. With more, the widest rounds need more blocks than run at
 * once. */
enum { MOST_TOGETHER = 2048 };

/** Plan how teams scan the chunks' aggregates. */
static ks_status plan_borders(ks_scan_device *d, const ks_smooth_plan *plan)
{
    ks_scan_options options = KS_SCAN_OPTIONS_INIT;
    options.algorithm = KS_SCAN_LADNER_FISCHER;
    KS_TRY(ks_scan_plan_create(&d->borders, d->context, d->tiles.count, &options));
    if (d->tiles.reverse) ks_scan_plan_both_ways(d->borders);
    const ks_schedule *const s = &d->borders->inside;
    if (s->rounds == 0 || !d->gpu->attributes.cooperative) return KS_OK;
    KS_TRY(ks_gpu_copy_in(d->gpu, d->border_rounds, s->round, (size_t)s->rounds * sizeof *s->round, d->stream));
    KS_TRY(ks_gpu_stream_sync(d->gpu, d->stream));
    return d->tiles.count <= MOST_TOGETHER ? ks_scan_device_together(d, plan, 1) : KS_OK;
}

/** Create one device's share: the whole run, or with `second` the reverse scan of two devices. */
static ks_status create(ks_scan_device **out, const ks_smooth_plan *plan, ks_gpu *gpu, int number,
                        int second, int64_t *part_chunks)
{
    ks_scan_device *d = ks_allocate(plan->context, sizeof *d);
    *out = d;
    if (!d) return KS_ENOMEM;
    memset(d, 0, sizeof *d);
    d->context = plan->context;
    d->shared = gpu != NULL;
    d->part_chunks = *part_chunks;
    d->gpu = gpu;
    ks_lock_open(&d->lock);
    ks_device_layout l = { d, gpu ? KS_OK : ks_gpu_open(&d->gpu, plan->context, number) };
    if (l.status == KS_OK) l.status = ks_gpu_stream_create(d->gpu, &d->stream);
    if (l.status == KS_OK) l.status = ks_gpu_event_create(d->gpu, &d->done);
    if (l.status == KS_OK && d->part_chunks) l.status = ks_parts_open(d);
    if (l.status == KS_OK) ks_scan_device_lay_out(&l, plan, second);
    if (l.status == KS_OK) l.status = fill_status(d);
    *part_chunks = ks_scan_device_fewer_chunks(d, d->part_chunks);
    void *report = NULL;
    const int copiers = ks_workers(plan->context, plan->options.threads, COPIERS);
    if (l.status == KS_OK)
        l.status = plan->method == KS_METHOD_BLOCKTRI ? ks_map_device_find(d, plan)
                                                      : find_kernels(d, plan);
    if (l.status == KS_OK && d->reruns) l.status = ks_chunks_find_fast(d, plan);
    if (l.status == KS_OK && d->reruns && d->join.lanes) l.status = plan_borders(d, plan);
    if (l.status == KS_OK) l.status = leave_room(d);
    if (l.status == KS_OK) l.status = ks_gpu_host_alloc(d->gpu, &report, sizeof *d->report);
    d->report = report;
    if (l.status == KS_OK)
        l.status = ks_gpu_stage_open(&d->stage, d->gpu, d->beside ? d->beside : d->stream, plan->context,
                                     copiers, stage_bytes(plan, copiers));
    if (l.status != KS_OK) {
        ks_scan_device_destroy(d);
        *out = NULL;
    }
    return l.status;
}

/** Create the stream and events by which arrays go from this device to the other one. */
static ks_status open_way(ks_scan_device *d)
{
    ks_status status = ks_gpu_stream_create(d->gpu, &d->beside);
    if (status == KS_OK) status = ks_gpu_event_create(d->gpu, &d->begun);
    if (status == KS_OK) status = ks_gpu_event_create(d->gpu, &d->carried);
    return status == KS_OK ? ks_gpu_find(d->gpu, &d->pack, "ks_scan_phases", "ks_scan_pack") : status;
}

static ks_status travel_beside(ks_scan_device **out)
{
    const int64_t parts = (*out)->tiles.count / BESIDE_CHUNKS;
    const ks_status status = ks_scan_device_travel(*out, (int)(parts < BESIDE_PARTS ? parts : BESIDE_PARTS));
    if (status == KS_OK) return status;
    ks_scan_device_destroy(*out);
    *out = NULL;
    return status;
}

ks_status ks_scan_device_create(ks_scan_device **out, const ks_smooth_plan *plan)
{
    const ks_smooth_options *o = &plan->options;
    int64_t chunks = 0, before, all = 0;
    /* Creating the device's context takes tenths of a second, so it is kept from one try to the next. */
    ks_gpu *kept;
    *out = NULL;
    ks_status status = ks_gpu_open(&kept, plan->context, o->device);
    if (status != KS_OK) return status;
    /* If the whole series does not fit, use the largest parts that do. */
    do {
        before = chunks;
        status = create(out, plan, NULL, o->device, 0, &chunks);
    } while (status == KS_ENOMEM && chunks != before);
    ks_gpu_close(kept);
    if (status == KS_OK && plan->nx > BESIDE_STATES) status = travel_beside(out);
    if (status != KS_OK || o->second_device < 0) return status;
    status = create(&(*out)->other, plan, o->second_device == o->device ? (*out)->gpu : NULL,
                    o->second_device, 1, &all);
    if (status == KS_OK) ks_gpu_join((*out)->gpu, (*out)->other->gpu);
    if (status == KS_OK) status = open_way(*out);
    if (status != KS_OK) {
        ks_scan_device_destroy(*out);
        *out = NULL;
    }
    return status;
}

void ks_scan_device_destroy(ks_scan_device *d)
{
    if (!d) return;
    ks_scan_device_destroy(d->other);
    if (d->gpu) {
        for (int i = 0; i < KS_RUN_PARTS; ++i) ks_gpu_graph_destroy(d->gpu, d->part[i]);
        ks_gpu_stage_close(&d->stage);
        ks_map_device_destroy(d);
        ks_gpu_host_free(d->gpu, d->report);
        for (int i = 0; i < d->blocks; ++i) ks_gpu_free(d->gpu, d->block[i]);
        if (d->done) ks_gpu_event_destroy(d->gpu, d->done);
        if (d->begun) ks_gpu_event_destroy(d->gpu, d->begun);
        if (d->carried) ks_gpu_event_destroy(d->gpu, d->carried);
        for (int i = 0; i < 2; ++i) {
            if (d->there[i]) ks_gpu_event_destroy(d->gpu, d->there[i]);
            if (d->free[i]) ks_gpu_event_destroy(d->gpu, d->free[i]);
        }
        ks_gpu_stream_destroy(d->gpu, d->beside);
        ks_gpu_stream_destroy(d->gpu, d->stream);
    }
    ks_scan_plan_destroy(d->borders);
    if (!d->shared) ks_gpu_close(d->gpu);
    ks_lock_close(&d->lock);
    ks_release(d->context, d);
}
