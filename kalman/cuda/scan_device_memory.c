/* scan_device_memory.c -- the device memory of a plan of the scan methods, and how a series is cut into chunks and
 * parts. */
#include <string.h>
#include "plain_f32.h"
#include "plain_f64.h"
#include "plan.h"
#include "scan_device.h"
#include "scan_elements.h"

/* Most scratch of all threads, in bytes: if each needs more, there are fewer threads. Most threads. */
static const int64_t most_scratch = INT64_C(1) << 29, most_threads = INT64_C(1) << 16;
/* Least steps of a chunk. Joining an aggregate takes as long as some ten steps. So a long series has no more chunks
 * than threads run at once on 132 multiprocessors, given the registers for so many states, or than small teams do in
 * four or eight turns. */
enum { LEAST_CHUNK = 8 };
static const struct { int nx; int64_t chunks; } most_chunks[] = {
    { 2, 1 << 16 }, { 6, 132 * 7 * 32 }, { 8, 1 << 14 }, { 16, 1 << 13 },
};
/* Beyond BLOCK_STATES states a team is a block or half of one. There are no more chunks than blocks that run at once,
 * unless chunks would be longer than BLOCK_CHUNK steps. Where threads join aggregates, one block scans the totals of all
 * tiles, so there are no more of them than it has threads. */
enum { BLOCK_STATES = 16, BLOCK_CHUNK = 128 };

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

/** Allocate rows of an output. take_means() is for means and innovations, take_covs() for covariances; their number
 *  types may differ. */
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

/** Allocate memory for the model and data, with each row at each of `steps` steps in case it varies. */
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

/** Allocate inputs and outputs: of all steps, or of each of two parts. */
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

/** Allocate scratch, or none if the local memory of threads is enough. */
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
    const int64_t each = most(small ? 0 : d->slice, plan->nx <= KS_SCAN_LITERAL ? 0 : combine);
    d->threads = each ? most_scratch / each : most_threads;
    if (d->threads > most_threads) d->threads = most_threads;
    if (plan->method == KS_METHOD_BLOCKTRI) {
        /* A single thread, for row 0. */
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

/** Allocate the marks of steps that kernels for ordinary steps leave, if there are such kernels. */
static void take_hard(layout *l, const ks_smooth_plan *plan)
{
    if (ks_scan_device_has_ordinary(plan)) l->d->hard = take(l, plan->T, 1);
}

/** Allocate elements and estimates of all steps. */
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
    take_hard(l, plan);
    if (ks_makes_any(plan, KS_OUT_LOGLIK_TERMS)) {
        const ks_sink terms = { (char *)d->a.loglik_terms, sizeof(double), 0 };
        d->a.to.loglik_terms = terms;
    }
}

/** Allocate the memory of teams that do not have it in shared memory. */
static void take_teams(layout *l)
{
    ks_scan_device *d = l->d;
    const ks_team_shape *const shapes[] = { &d->team, &d->team_back, &d->join, &d->team_border };
    int64_t bytes = 0;
    for (int i = 0; i < 4; ++i) bytes = most(bytes, shapes[i]->blocks * shapes[i]->teams * shapes[i]->slice);
    if (bytes) d->team_memory = take(l, 1, (size_t)bytes);
}

ks_chunk_cut ks_cut_into_chunks(int64_t T, int nx)
{
    const int64_t most_tiled = (int64_t)KS_MOST_TILE * KS_MOST_TILE;
    int64_t chunks = KS_TEAM_BLOCKS;
    for (size_t i = sizeof most_chunks / sizeof *most_chunks; i > 0 && nx <= most_chunks[i - 1].nx; --i)
        chunks = most_chunks[i - 1].chunks;
    int64_t least = most((T + chunks - 1) / chunks, LEAST_CHUNK);
    if (nx > BLOCK_STATES && least > BLOCK_CHUNK) least = BLOCK_CHUNK;
    if (nx > KS_MOST_TEAM_STATES) least = most(least, (T + most_tiled - 1) / most_tiled);
    /* Four numbers of any width are whole pieces of 16 bytes; see chunk_ring.h. */
    ks_chunk_cut cut = { (least + 3) / 4 * 4, 0, 4 };
    cut.chunks = (T + cut.size - 1) / cut.size;
    while (cut.tile < KS_MOST_TILE && cut.tile * cut.tile < cut.chunks) cut.tile *= 2;
    return cut;
}

/** Return a bound of the rounds of Ladner and Fischer's scan of `count` elements. */
static int64_t most_border_rounds(int64_t count)
{
    int64_t rounds = 1;
    for (int64_t length = 1; length < count; length *= 2) rounds += 2;
    return rounds;
}

/** Allocate the aggregates of all chunks and the estimates that the scan makes of them. */
static void take_chunks(layout *l, const ks_smooth_plan *plan)
{
    ks_scan_device *d = l->d;
    ks_chunk_arrays *c = &d->chunks;
    const int64_t n = plan->nx, nn = n * n, N = c->chunks;
    const int64_t steps = d->part_chunks ? d->part_chunks * c->size : plan->T;
    const int64_t tiles = (N + d->tiles.tile - 1) / d->tiles.tile;
    c->smooths = plan->options.job == KS_JOB_SMOOTH;
    c->two_filter = plan->method == KS_METHOD_SCAN_TWO_FILTER;
    d->tiles.nx = plan->nx;
    d->a.elements = d->tiles.forward = take(l, N, d->element);
    d->tiles.each = d->tiles.tile == KS_MOST_TILE && n <= KS_SCAN_LITERAL ? 2 : 1;
    if (!d->join.lanes) d->tiles.forward_totals = take(l, tiles, d->element);
    else d->border_rounds = take(l, most_border_rounds(N), sizeof *d->border_rounds);
    c->end = d->a.elements;
    c->before = take(l, N * (n + nn), sizeof(double));
    d->a.loglik_terms = take(l, N, sizeof(double));
    ks_chunks_teams(d, plan);
    for (int i = 0; i < 2; ++i) {
        d->half[i].elements = d->a.elements;
        d->half[i].loglik_terms = d->a.loglik_terms;
    }
    c->hard_absorb = take(l, N, 1);
    c->hard_rerun = take(l, N, 1);
    if (!c->smooths) return;
    d->tiles.reverse = take(l, N, d->element);
    if (!d->join.lanes) d->tiles.reverse_totals = take(l, tiles, d->element);
    c->last = take(l, N * (n + nn), sizeof(double));
    c->first = take(l, N * (n + nn), sizeof(double));
    if (n <= KS_SCAN_LITERAL) {
        d->tiles.from = d->a.elements;
        d->tiles.forward = take(l, N, d->element);
    }
    c->kept_mean.stride = n * (int64_t)plan->mean_bytes;
    c->kept_C.stride = nn * (int64_t)plan->kernels->number_bytes;
    c->kept_mean.base = take(l, steps, (size_t)c->kept_mean.stride);
    c->kept_C.base = take(l, steps, (size_t)c->kept_C.stride);
    c->form = take(l, steps, 1);
}

/** Allocate what a reverse scan on a second device needs. */
static void take_suffixes(layout *l, const ks_smooth_plan *plan)
{
    l->d->a.elements = take(l, plan->T, l->d->element);
    l->d->spare = take(l, ks_scan_plan_spare(plan->reverse), l->d->element);
    take_hard(l, plan);
}

void ks_scan_device_lay_out(layout *l, const ks_smooth_plan *plan, int second)
{
    ks_scan_device *d = l->d;
    d->element = plan->aggregates->filter_element_bytes(plan->nx);
    d->reruns = plan->method != KS_METHOD_BLOCKTRI && ks_scan_reruns(plan);
    d->a.single = plan->options.precision == KS_F32;
    d->a.single_cov = plan->options.precision != KS_F64;
    d->a.series.nx = plan->nx;
    d->a.series.ny = plan->ny;
    d->a.series.steps = plan->T;
    if (d->reruns) {
        const ks_chunk_cut cut = ks_cut_into_chunks(plan->T, plan->nx);
        d->chunks.size = cut.size;
        d->chunks.chunks = d->tiles.count = cut.chunks;
        d->tiles.tile = cut.tile;
    }
    if (plan->nx > KS_SCAN_LITERAL && plan->nx <= KS_MOST_TEAM_STATES && plan->method != KS_METHOD_BLOCKTRI)
        d->join = ks_team_shape_for(d, plan->nx, ks_scan_team_bytes(plan->nx), sizeof(double),
                                    d->reruns ? d->tiles.count : plan->T);
    take_both(l, plan, second);
    if (plan->method == KS_METHOD_BLOCKTRI) ks_map_device_lay_out(l, plan);
    else if (second) take_suffixes(l, plan);
    else if (d->reruns) take_chunks(l, plan);
    else take_steps(l, plan);
    take_teams(l);
    d->sums = take(l, KS_SCAN_SUM_BLOCKS + 1, sizeof(double));
    d->status = take(l, 2, sizeof(ks_scan_status));
    take_scratch(l, plan);
    d->tiles.scratch = (double *)(void *)d->scratch;
}

int64_t ks_scan_device_fewer_chunks(const ks_scan_device *d, int64_t chunks)
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
    ks_scan_device_lay_out(&l, plan, second);
    *part_chunks = ks_scan_device_fewer_chunks(&nothing, *part_chunks);
    return nothing.bytes;
}

/** Return the least bytes of a share, over all sizes of parts. */
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

