/* scan_device.c -- memory and kernels of the scan methods on a device. */
#include <stdio.h>
#include <string.h>
#include "plain_f32.h"
#include "plain_f64.h"
#include "plan.h"
#include "scan_device.h"
#include "scan_elements.h"

/* Threads bring memory for their scratch; beyond this much of it there are fewer threads. */
static const int64_t most_scratch = INT64_C(1) << 29, most_threads = INT64_C(1) << 16;
/* Steps of a chunk at least, and the chunks of a long series: as many as a device keeps threads. */
enum { LEAST_CHUNK = 8, MOST_CHUNKS = 1 << 16, MOST_CHUNKS_LARGE = 1 << 14 };
/* Bytes of a half of the stage, workers who fill it at most (more find no more bandwidth), and sizes that have kernels
 * with literal states. */
enum { STAGE = 1 << 22, COPIERS = 8, MOST_LITERAL = 4 };
/* Parts that a series which fits travels in beside what is computed, and chunks of them at least: where a step's
 * arithmetic takes long enough beside its rows' way, beyond so many states, see docs/gpu.md. */
enum { BESIDE_PARTS = 8, BESIDE_CHUNKS = 1024, BESIDE_STATES = 8 };

typedef ks_device_layout layout;

static void *take(layout *l, int64_t count, size_t bytes)
{
    ks_scan_device *d = l->d;
    void *memory = NULL;
    if (bytes > 0 && (uint64_t)count > (SIZE_MAX - d->bytes) / bytes) {
        l->status = KS_ENOMEM;
        d->bytes = SIZE_MAX;
        return NULL;
    }
    d->bytes += (size_t)count * bytes;
    if (l->status == KS_OK) l->status = ks_gpu_alloc(d->gpu, &memory, (size_t)count * bytes);
    if (memory) d->block[d->blocks++] = memory;
    return memory;
}

void *ks_device_take(ks_device_layout *l, int64_t count, size_t bytes) { return take(l, count, bytes); }

/** Rows of the numbers of means and innovations, and of those of covariances. */
static ks_sink take_rows_of(layout *l, const ks_smooth_plan *plan, unsigned outputs, size_t number,
                            int64_t numbers, int64_t steps)
{
    ks_sink sink = { NULL, 0, 0 };
    if (!ks_makes_any(plan, outputs)) return sink;
    sink.stride = numbers * (int64_t)number;
    sink.base = take(l, steps, (size_t)sink.stride);
    return sink;
}

static ks_sink take_means(layout *l, const ks_smooth_plan *plan, unsigned outputs, int64_t numbers,
                          int64_t steps)
{
    return take_rows_of(l, plan, outputs, plan->mean_bytes, numbers, steps);
}

static ks_sink take_covs(layout *l, const ks_smooth_plan *plan, unsigned outputs, int64_t numbers,
                         int64_t steps)
{
    return take_rows_of(l, plan, outputs, plan->kernels->number_bytes, numbers, steps);
}

/** Memory for the model, each row of it at each of so many steps if need be. */
static void take_inputs(layout *l, const ks_smooth_plan *plan, int64_t steps)
{
    ks_series *s = &l->d->a.series;
    ks_rows *const rows[] = { &s->F, &s->Q, &s->u, &s->H, &s->R, &s->d, &s->y };
    const size_t bytes = plan->mean_bytes;
    for (int i = 0; i < 7; ++i)
        rows[i]->base = take(l, steps, (size_t)ks_row_numbers(plan->nx, plan->ny, i) * bytes);
    s->m0 = take(l, ks_row_numbers(plan->nx, plan->ny, KS_ROW_M0), bytes);
    s->P0 = take(l, ks_row_numbers(plan->nx, plan->ny, KS_ROW_P0), bytes);
}

static void take_outputs(layout *l, const ks_smooth_plan *plan, int64_t T)
{
    ks_scan_arrays *a = &l->d->a;
    const int64_t n = plan->nx, ny = plan->ny;
    a->to.predicted_mean = take_means(l, plan, KS_OUT_PREDICTED_MEAN, n, T);
    a->to.predicted_cov = take_covs(l, plan, KS_OUT_PREDICTED_COV, n * n, T);
    a->to.predicted_var = take_covs(l, plan, KS_OUT_PREDICTED_VAR, n, T);
    a->to.filtered_mean = take_means(l, plan, KS_OUT_FILTERED_MEAN, n, T);
    a->to.filtered_cov = take_covs(l, plan, KS_OUT_FILTERED_COV, n * n, T);
    a->to.filtered_var = take_covs(l, plan, KS_OUT_FILTERED_VAR, n, T);
    a->to.innovation = take_means(l, plan, KS_OUT_INNOVATION, ny, T);
    a->to.innovation_cov = take_covs(l, plan, KS_OUT_INNOVATION_COV, ny * ny, T);
    a->to.innovation_std = take_means(l, plan, KS_OUT_INNOVATION_STD, ny, T);
    a->back.smoothed_mean = take_means(l, plan, KS_OUT_SMOOTHED_MEAN, n, T);
    a->back.smoothed_cov = take_covs(l, plan, KS_OUT_SMOOTHED_COV, n * n, T);
    a->back.smoothed_var = take_covs(l, plan, KS_OUT_SMOOTHED_VAR, n, T);
    a->back.lag_one_cov = take_covs(l, plan, KS_OUT_LAG_ONE_COV, n * n, T);
    a->prior_mean = take_means(l, plan, KS_OUT_PRIOR_MEAN, n, 1);
    a->prior_cov = take_covs(l, plan, KS_OUT_PRIOR_COV, n * n, 1);
    if (l->d->reruns && ks_makes_any(plan, KS_OUT_LOGLIK_TERMS)) {
        const ks_sink terms = { take(l, T, sizeof(double)), sizeof(double), 0 };
        a->to.loglik_terms = terms;
    }
}

/** What a device has of the host's: all steps, or of two parts those of each. */
static void take_both(layout *l, const ks_smooth_plan *plan, int second)
{
    ks_scan_device *d = l->d;
    const int64_t steps = d->part_chunks ? d->part_chunks * d->chunks.size : plan->T;
    for (int i = 0; i < (d->part_chunks ? 2 : 1); ++i) {
        take_inputs(l, plan, steps);
        if (!second) take_outputs(l, plan, steps);
        d->half[i] = d->a;
    }
}

static ks_estimates take_estimates(layout *l, const ks_smooth_plan *plan)
{
    const int64_t n = plan->nx;
    ks_estimates e;
    e.mean = take(l, plan->T * n, sizeof(double));
    e.cov = take(l, plan->T * n * n, sizeof(double));
    return e;
}

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/** Scratch: none where the threads have enough of their own. */
static void take_scratch(layout *l, const ks_smooth_plan *plan)
{
    ks_scan_device *d = l->d;
    ks_carver carver = ks_carver_at(NULL);
    ks_scan_worker unused;
    d->arithmetic = table_scratch_bytes_f64(plan->nx, plan->ny);
    ks_carve_scan_worker(&carver, plan->nx, plan->ny, d->a.single, d->arithmetic, &unused);
    d->slice = (int64_t)ks_carved_bytes(&carver);
    if (d->reruns) {
        ks_chunk_worker chunk;
        d->own_arithmetic = d->a.single ? table_scratch_bytes_f32(plan->nx, plan->ny)
                                        : table_scratch_bytes_f64(plan->nx, plan->ny);
        ks_carve_chunk_worker(&carver, plan->nx, d->element, d->own_arithmetic, plan->mean_bytes, &chunk);
        d->slice = (int64_t)ks_carved_bytes(&carver);
    }
    const int small = !d->reruns && d->slice <= KS_SCAN_SMALL;
    const int64_t combine = ks_scan_elements_scratch(plan->nx) * (int64_t)sizeof(double);
    const int64_t each = most(small ? 0 : d->slice, plan->nx <= MOST_LITERAL ? 0 : combine);
    d->threads = each ? most_scratch / each : most_threads;
    if (d->threads > most_threads) d->threads = most_threads;
    if (plan->method == KS_METHOD_BLOCKTRI) {
        /* One thread alone, for row 0. */
        d->scratch = take(l, 1, small ? 0 : (size_t)d->slice);
        if (small) d->slice = 0;
        return;
    }
    const int64_t work = d->reruns ? 2 * most(d->tiles.count, KS_MOST_TILE) : plan->T;
    if (d->threads > work) d->threads = work;
    if (d->threads < KS_MOST_TILE && d->reruns) d->threads = KS_MOST_TILE;
    d->threads = (d->threads + KS_SCAN_THREADS - 1) / KS_SCAN_THREADS * KS_SCAN_THREADS;
    d->scratch = take(l, d->threads, (size_t)each);
    if (small) d->slice = 0;
}

/** Elements and estimates of all steps. */
static void take_steps(layout *l, const ks_smooth_plan *plan)
{
    ks_scan_device *d = l->d;
    const int64_t forward = ks_scan_plan_spare(plan->forward);
    const int64_t reverse = ks_scan_plan_spare(plan->reverse);
    d->a.elements = take(l, plan->T, d->element);
    d->spare = take(l, most(forward, reverse), d->element);
    d->a.filtered = take_estimates(l, plan);
    if (plan->options.job == KS_JOB_SMOOTH) d->a.smoothed = take_estimates(l, plan);
    d->a.loglik_terms = take(l, plan->T, sizeof(double));
    if (ks_makes_any(plan, KS_OUT_LOGLIK_TERMS)) {
        const ks_sink terms = { (char *)d->a.loglik_terms, sizeof(double), 0 };
        d->a.to.loglik_terms = terms;
    }
}

/** How a series is cut: a function of its length and states alone. */
static void cut(ks_scan_device *d, const ks_smooth_plan *plan)
{
    const int64_t most_chunks = plan->nx <= 8 ? MOST_CHUNKS : MOST_CHUNKS_LARGE;
    const int64_t least = most((plan->T + most_chunks - 1) / most_chunks, LEAST_CHUNK);
    /* Four numbers of any width are whole pieces of 16 bytes: see chunk_ring.h. */
    const int64_t size = (least + 3) / 4 * 4;
    d->chunks.size = size;
    d->chunks.chunks = d->tiles.count = (plan->T + size - 1) / size;
    d->tiles.tile = 4;
    while (d->tiles.tile < KS_MOST_TILE && d->tiles.tile * d->tiles.tile < d->tiles.count)
        d->tiles.tile *= 2;
}

/** Aggregates of all chunks, and what they come to. */
static void take_chunks(layout *l, const ks_smooth_plan *plan)
{
    ks_scan_device *d = l->d;
    ks_chunk_arrays *c = &d->chunks;
    const int64_t n = plan->nx, nn = n * n, N = c->chunks;
    const int64_t steps = d->part_chunks ? d->part_chunks * c->size : plan->T;
    const int64_t tiles = (N + d->tiles.tile - 1) / d->tiles.tile;
    c->smooths = plan->options.job == KS_JOB_SMOOTH;
    d->tiles.nx = plan->nx;
    d->a.elements = d->tiles.forward = take(l, N, d->element);
    d->tiles.forward_totals = take(l, tiles, d->element);
    c->before = take(l, N * (n + nn), sizeof(double));
    d->a.loglik_terms = take(l, N, sizeof(double));
    ks_chunks_teams(d, plan);
    if (d->team_blocks) d->team_memory = take(l, d->team_blocks * d->teams, (size_t)d->team_slice);
    for (int i = 0; i < 2; ++i) {
        d->half[i].elements = d->a.elements;
        d->half[i].loglik_terms = d->a.loglik_terms;
    }
    c->hard_absorb = take(l, N, 1);
    c->hard_rerun = take(l, N, 1);
    if (!c->smooths) return;
    d->tiles.reverse = take(l, N, d->element);
    d->tiles.reverse_totals = take(l, tiles, d->element);
    c->last = take(l, N * (n + nn), sizeof(double));
    c->first = take(l, N * (n + nn), sizeof(double));
    c->kept_mean.stride = n * (int64_t)plan->mean_bytes;
    c->kept_C.stride = nn * (int64_t)plan->kernels->number_bytes;
    c->kept_mean.base = take(l, steps, (size_t)c->kept_mean.stride);
    c->kept_C.base = take(l, steps, (size_t)c->kept_C.stride);
    c->form = take(l, steps, 1);
}

/** What a reverse scan needs, and then those who combine it with the forward one. */
static void take_suffixes(layout *l, const ks_smooth_plan *plan)
{
    l->d->a.elements = take(l, plan->T, l->d->element);
    l->d->spare = take(l, ks_scan_plan_spare(plan->reverse), l->d->element);
}

static void lay_out(layout *l, const ks_smooth_plan *plan, int second)
{
    ks_scan_device *d = l->d;
    d->element = plan->aggregates->filter_element_bytes(plan->nx);
    d->reruns = ks_scan_reruns(plan);
    d->a.single = plan->options.precision == KS_F32;
    d->a.single_cov = plan->options.precision != KS_F64;
    d->a.series.nx = plan->nx;
    d->a.series.ny = plan->ny;
    d->a.series.steps = plan->T;
    if (d->reruns) cut(d, plan);
    take_both(l, plan, second);
    if (plan->method == KS_METHOD_BLOCKTRI) ks_map_device_lay_out(l, plan);
    else if (second) take_suffixes(l, plan);
    else if (d->reruns) take_chunks(l, plan);
    else take_steps(l, plan);
    d->sums = take(l, KS_SCAN_SUM_BLOCKS + 1, sizeof(double));
    d->status = take(l, 1, sizeof(ks_scan_status));
    take_scratch(l, plan);
    d->tiles.scratch = (double *)(void *)d->scratch;
}

#define PHASE_NAME(name) #name,
/** The kernels of chunks. */
static ks_status find_chunks(ks_scan_device *d, const char *size)
{
    static const char *const names[] = { "ks_chunk_absorb", "ks_chunk_rerun", "ks_chunk_border" };
    const ks_gpu_kernel **const kernels[] = { &d->absorb, &d->rerun, &d->border };
    char name[48];
    ks_status status = KS_OK;
    for (int i = 0; i < 3 && status == KS_OK; ++i)
        status = ks_gpu_find(d->gpu, kernels[i], "ks_chunks", names[i]);
    for (int i = 0; i < 2 && status == KS_OK; ++i) {
        snprintf(name, sizeof name, "ks_filter_%s_%s", i ? "fold" : "tiles", size);
        status = ks_gpu_find(d->gpu, i ? &d->fold : &d->tiles_scan, "ks_scan_elements", name);
    }
    return status;
}

static ks_status find_kernels(ks_scan_device *d, int nx)
{
    static const char *const names[] = { KS_SCAN_PHASES(PHASE_NAME) };
    char name[48];
    ks_status status = ks_gpu_find(d->gpu, &d->sum, "ks_scan_phases", "ks_scan_sum");
    char size[16] = "any";
    if (nx <= MOST_LITERAL) snprintf(size, sizeof size, "%d", nx);
    if (status == KS_OK && d->reruns) status = find_chunks(d, size);
    if (status != KS_OK || d->reruns) return status;
    for (int i = 0; i < KS_PHASES && status == KS_OK; ++i) {
        snprintf(name, sizeof name, "ks_phase_%s%s", names[i], d->slice ? "" : "_small");
        status = ks_gpu_find(d->gpu, &d->phase[i], "ks_scan_phases", name);
    }
    for (int i = 0; i < 2 && status == KS_OK; ++i) {
        snprintf(name, sizeof name, "ks_%s_scan_%s", i ? "smooth" : "filter", size);
        status = ks_gpu_find(d->gpu, i ? &d->smooth_scan : &d->filter_scan, "ks_scan_elements", name);
    }
    return status;
}

/** The longest row that travels, and room for many of them where there are many, more for several workers. */
static size_t stage_bytes(const ks_smooth_plan *plan, int copiers)
{
    const int64_t stage = (int64_t)STAGE * (copiers < 4 ? copiers : 4);
    const int64_t n = most(plan->nx, plan->ny);
    const int64_t row = most(n * n * (int64_t)plan->mean_bytes, sizeof(double));
    const int64_t all = row * plan->T;
    return (size_t)most(row, all < stage ? all : stage);
}

/** Chunks of a part after so many of them, 0: all, did not fit; the same where there are no fewer. */
static int64_t fewer_chunks(const ks_scan_device *d, int64_t chunks)
{
    const int64_t now = chunks ? chunks : d->chunks.chunks, half = (now + 1) / 2;
    return !d->reruns || now <= KS_LEAST_PART ? chunks : half < KS_LEAST_PART ? KS_LEAST_PART : half;
}

static size_t bytes_of_parts(const ks_smooth_plan *plan, int second, int64_t *part_chunks)
{
    ks_scan_device nothing;
    memset(&nothing, 0, sizeof nothing);
    nothing.part_chunks = *part_chunks;
    layout l = { &nothing, KS_ENODEV };
    lay_out(&l, plan, second);
    *part_chunks = fewer_chunks(&nothing, *part_chunks);
    return nothing.bytes;
}

/** The least that will do. */
static size_t bytes_of(const ks_smooth_plan *plan, int second)
{
    int64_t chunks = 0, before;
    size_t least = SIZE_MAX;
    do {
        before = chunks;
        const size_t bytes = bytes_of_parts(plan, second, &chunks);
        if (bytes < least) least = bytes;
    } while (chunks != before);
    return least;
}

size_t ks_scan_device_bytes(const ks_smooth_plan *plan)
{
    const ks_smooth_options *o = &plan->options;
    const size_t first = bytes_of(plan, 0);
    if (o->second_device < 0) return first;
    const size_t second = bytes_of(plan, 1);
    if (o->second_device != o->device) return first > second ? first : second;
    return first > SIZE_MAX - second ? SIZE_MAX : first + second;
}

/** Whether the run time will find room for what threads have beside their registers, which it takes when kernels are
 *  first launched: too late for a series to go there in smaller parts. */
static ks_status leave_room(ks_scan_device *d)
{
    void *room = NULL;
    const ks_status status = ks_gpu_alloc(d->gpu, &room, ks_gpu_local_bytes(d->gpu));
    ks_gpu_free(d->gpu, room);
    return status;
}

/** One device's share: the whole run, or as the `second` one of two the reverse scan alone. */
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
    ks_turn_open(&d->turn);
    layout l = { d, gpu ? KS_OK : ks_gpu_open(&d->gpu, plan->context, number) };
    if (l.status == KS_OK) l.status = ks_gpu_stream_create(d->gpu, &d->stream);
    if (l.status == KS_OK) l.status = ks_gpu_event_create(d->gpu, &d->done);
    if (l.status == KS_OK && d->part_chunks) l.status = ks_parts_open(d);
    if (l.status == KS_OK) lay_out(&l, plan, second);
    *part_chunks = fewer_chunks(d, d->part_chunks);
    void *report = NULL;
    const int copiers = ks_workers(plan->context, plan->options.threads, COPIERS);
    if (l.status == KS_OK)
        l.status = plan->method == KS_METHOD_BLOCKTRI ? ks_map_device_find(d, plan)
                                                      : find_kernels(d, plan->nx);
    if (l.status == KS_OK && d->reruns) l.status = ks_chunks_find_fast(d, plan);
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

/** What arrays of this device go to the other one by. */
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
    ks_status status;
    /* Where the whole series has no room it goes there in parts, the largest that have. */
    do {
        before = chunks;
        status = create(out, plan, NULL, o->device, 0, &chunks);
    } while (status == KS_ENOMEM && chunks != before);
    if (status == KS_OK && plan->nx > BESIDE_STATES) status = travel_beside(out);
    if (status != KS_OK || o->second_device < 0) return status;
    status = create(&(*out)->other, plan, o->second_device == o->device ? (*out)->gpu : NULL,
                    o->second_device, 1, &all);
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
    if (!d->shared) ks_gpu_close(d->gpu);
    ks_turn_close(&d->turn);
    ks_release(d->context, d);
}
