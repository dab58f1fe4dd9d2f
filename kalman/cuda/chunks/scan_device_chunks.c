/* scan_device_chunks.c -- reduce, scan, re-run on a device, see chunk_kernels.h. */
#include <string.h>
#include "plan.h"
#include "scan_device.h"

static int64_t tiles_of(const ks_tiles_args *t) { return (t->count + t->tile - 1) / t->tile; }

static ks_status launch(ks_scan_device *d, const ks_gpu_kernel *kernel, int64_t blocks,
                        int64_t threads, const void *args, size_t bytes)
{
    const ks_gpu_shape shape = { { (unsigned)blocks }, { (unsigned)threads }, 0, 0 };
    return ks_gpu_launch(d->gpu, kernel, &shape, args, bytes, d->stream);
}

/** The number of blocks of `threads` for `work` threads, at most as many as there is scratch for. */
static int64_t blocks_for(const ks_scan_device *d, int64_t work, int64_t threads)
{
    const int64_t wanted = (work + threads - 1) / threads, most = d->threads / threads;
    return wanted < most ? wanted : most;
}

/** The number of chunks to be done: all of the series, or of a part. */
static int64_t chunks_of(const ks_scan_device *d) { return d->chunks.chunks - d->chunks.begin; }

static ks_status run_chunks(ks_scan_device *d, const ks_gpu_kernel *kernel, long long phase)
{
    ks_chunk_args args;
    memset(&args, 0, sizeof args);
    args.chunks = d->chunks;
    args.chunks.a = d->a;
    args.phase = phase;
    args.status = d->status;
    args.memory = d->scratch;
    args.slice = d->slice;
    args.scratch = d->arithmetic;
    args.own_scratch = d->own_arithmetic;
    return launch(d, kernel, blocks_for(d, chunks_of(d), KS_SCAN_THREADS), KS_SCAN_THREADS, &args,
                  sizeof args);
}

static ks_status scan_tiles(ks_scan_device *d, const ks_tiles_args *t)
{
    /* Whole warps, as warps copy elements. */
    const int64_t ways = t->reverse ? 2 : 1, threads = (t->tile / t->each + 31) / 32 * 32;
    const int64_t blocks = blocks_for(d, ways * tiles_of(t) * threads, threads);
    const int64_t numbers = t->nx <= KS_SCAN_LITERAL ? t->tile * ks_tile_apart(t->nx) : 0;
    const ks_gpu_shape shape = { { (unsigned)blocks }, { (unsigned)threads }, (size_t)numbers * sizeof(double), 0 };
    return ks_gpu_launch(d->gpu, d->tiles_scan, &shape, t, sizeof *t, d->stream);
}

/** Scan the aggregates to the estimates before and behind each chunk, by teams of threads. */
static ks_status scan_by_teams(ks_scan_device *d)
{
    const ks_team_shape *const team = &d->join;
    const ks_tiles_args *const t = &d->tiles;
    const ks_fold_args fold = { *t, d->chunks.before, d->chunks.last, d->chunks.two_filter, ks_team_memory_of(d, team) };
    KS_TRY(ks_scan_device_scan(d, &d->borders->inside, d->filter_scan, d->forward_rounds, t->forward, t->reverse));
    const int64_t wanted = (t->count + team->teams - 1) / team->teams, most = ks_team_most_blocks(d, team);
    const ks_gpu_shape shape = { { (unsigned)(wanted < most ? wanted : most) },
                                 { (unsigned)team->lanes, (unsigned)team->teams }, ks_team_shared(team), 0 };
    return ks_gpu_launch(d->gpu, d->fold, &shape, &fold, sizeof fold, d->stream);
}

/** The same by threads. */
static ks_status scan_by_threads(ks_scan_device *d)
{
    ks_tiles_args t = d->tiles;
    const int64_t tiles = tiles_of(&t);
    ks_tiles_args totals = t;
    totals.count = totals.tile = tiles;
    totals.each = 1;
    totals.from = NULL;
    totals.forward = t.forward_totals;
    totals.reverse = t.reverse_totals;
    totals.forward_totals = totals.reverse_totals = NULL;
    KS_TRY(scan_tiles(d, &t));
    if (tiles > 1) KS_TRY(scan_tiles(d, &totals));
    const ks_fold_args fold = { t, d->chunks.before, d->chunks.last, d->chunks.two_filter, { NULL, 0 } };
    const int64_t blocks = blocks_for(d, t.count, KS_CHUNK_THREADS), ways = t.reverse ? 2 : 1;
    const int64_t numbers = t.nx <= KS_SCAN_LITERAL ? ways * KS_CHUNK_THREADS * ks_tile_apart(t.nx) : 0;
    const ks_gpu_shape shape = { { (unsigned)blocks }, { KS_CHUNK_THREADS }, (size_t)numbers * sizeof(double), 0 };
    return ks_gpu_launch(d->gpu, d->fold, &shape, &fold, sizeof fold, d->stream);
}

ks_status ks_chunks_scan(ks_scan_device *d)
{
    const ks_tiles_args *const t = &d->tiles;
    if (t->reverse && !t->from)
        KS_TRY(ks_gpu_copy(d->gpu, t->reverse, t->forward, (size_t)t->count * d->element, d->stream));
    return d->borders ? scan_by_teams(d) : scan_by_threads(d);
}

static ks_pass pass_of(const ks_scan_device *d, const ks_gpu_kernel *kernel)
{
    return kernel == d->fast_absorb ? KS_PASS_ABSORB : kernel == d->fast_filter ? KS_PASS_FILTER : KS_PASS_BACK;
}

/** Launch a kernel that gives each chunk to a team of threads: with_ring if that is not NULL and ks_chunks_ring() finds
 *  room in shared memory for a ring of rows, else `kernel`. */
static ks_status run_teams(ks_scan_device *d, const ks_team_shape *team, const ks_gpu_kernel *kernel,
                           const ks_gpu_kernel *with_ring, int resident, long long phase)
{
    ks_team_args args;
    memset(&args, 0, sizeof args);
    args.chunks = d->chunks;
    args.chunks.a = d->a;
    args.phase = phase;
    args.status = d->status;
    args.team = ks_team_memory_of(d, team);
    if (with_ring) ks_chunks_ring(d, pass_of(d, kernel), resident, &args.ring);
    const int64_t blocks = (chunks_of(d) + team->teams - 1) / team->teams;
    const ks_gpu_shape shape = { { (unsigned)(team->blocks ? team->blocks : blocks) },
                                 { (unsigned)team->lanes, (unsigned)team->teams },
                                 ks_team_shared(team) + (size_t)args.ring.bytes, 0 };
    return ks_gpu_launch(d->gpu, args.ring.fill ? with_ring : kernel, &shape, &args, sizeof args, d->stream);
}

/** The same for a kernel that gives each chunk to one thread with its state in registers. */
static ks_status run_threads(ks_scan_device *d, const ks_gpu_kernel *kernel, const ks_gpu_kernel *with_ring,
                             int resident, long long phase)
{
    ks_fast_args args;
    memset(&args, 0, sizeof args);
    args.chunks = d->chunks;
    args.chunks.a = d->a;
    args.phase = phase;
    args.status = d->status;
    if (with_ring) ks_chunks_ring(d, pass_of(d, kernel), resident, &args.ring);
    const int64_t blocks = (chunks_of(d) + KS_CHUNK_THREADS - 1) / KS_CHUNK_THREADS;
    const ks_gpu_shape shape = { { (unsigned)blocks }, { KS_CHUNK_THREADS }, (size_t)args.ring.bytes, 0 };
    return ks_gpu_launch(d->gpu, args.ring.fill ? with_ring : kernel, &shape, &args, sizeof args, d->stream);
}

/** Launch one of the kernels that do most chunks, for all chunks; with_ring if `resident` blocks with a ring fit beside
 *  each other. */
static ks_status run_fast(ks_scan_device *d, const ks_gpu_kernel *kernel, const ks_gpu_kernel *with_ring,
                          int resident, long long phase)
{
    const ks_team_shape *const team = kernel == d->fast_smooth ? &d->team_back : &d->team;
    return team->lanes ? run_teams(d, team, kernel, with_ring, resident, phase)
                       : run_threads(d, kernel, with_ring, resident, phase);
}

/** Leave all chunks to the kernels for any model. */
static ks_status leave_all(ks_scan_device *d, unsigned char *hard)
{
    return ks_gpu_fill(d->gpu, hard + d->chunks.begin, KS_HARD, (size_t)chunks_of(d), d->stream);
}

/* Each kernel does the chunks that the kernels before it have left. */
ks_status ks_chunks_reduce(ks_scan_device *d)
{
    ks_status status = d->fast_absorb ? run_fast(d, d->fast_absorb, d->ring_absorb,
                                                 d->beside_absorb, 0)
                                      : leave_all(d, d->chunks.hard_absorb);
    if (status == KS_OK && d->wide_absorb) status = run_threads(d, d->wide_absorb, NULL, 0, 0);
    return status == KS_OK ? run_chunks(d, d->absorb, 0) : status;
}

/** Check the borders between chunks, and for a smoother the first chunk, which has no border before it. */
static ks_status judge(ks_scan_device *d)
{
    const int asks = d->chunks.begin == 0 && d->chunks.smooths;
    const int64_t end = d->chunks.chunks;
    if (end < 2 && !asks) return KS_OK;
    d->chunks.met = d->fast_border != NULL;
    if (d->team_border.lanes) KS_TRY(run_teams(d, &d->team_border, d->fast_border, NULL, 0, 2));
    else if (d->chunks.met) KS_TRY(run_threads(d, d->fast_border, NULL, 0, 2));
    KS_TRY(run_chunks(d, d->judge, 2));
    if (!asks || d->chunks.met) return KS_OK;
    /* Only now is it known whether the first chunk is suspect. */
    d->chunks.met = 1;
    d->chunks.chunks = 1;
    const ks_status status = run_chunks(d, d->judge, 2);
    d->chunks.chunks = end;
    d->chunks.met = 0;
    return status;
}

ks_status ks_chunks_rerun(ks_scan_device *d)
{
    ks_status status = d->fast_filter ? run_fast(d, d->fast_filter, d->ring_filter,
                                                 d->beside_filter, 1)
                                      : leave_all(d, d->chunks.hard_rerun);
    if (status == KS_OK && d->wide_filter) status = run_threads(d, d->wide_filter, NULL, 0, 1);
    if (status == KS_OK && d->fast_smooth && d->chunks.smooths)
        status = run_fast(d, d->fast_smooth, d->ring_smooth, d->beside_smooth, 1);
    if (status == KS_OK) status = run_chunks(d, d->rerun, 1);
    if (status == KS_OK) status = judge(d);
    if (status == KS_OK && (d->a.back.lag_one_cov.base || d->a.prior_mean.base || d->a.prior_cov.base))
        status = run_chunks(d, d->border, 3);
    return status;
}

ks_status ks_chunks_enqueue(ks_scan_device *d)
{
    ks_status status = ks_chunks_reduce(d);
    if (status == KS_OK && d->chunks.chunks > 1) status = ks_chunks_scan(d);
    return status == KS_OK ? ks_chunks_rerun(d) : status;
}

/** Count the combines that scan a tile of n elements, `each` of a thread, in doubling steps. *rounds: the number of
 *  steps. */
static int64_t doubling(int64_t n, int64_t each, int64_t *rounds)
{
    const int64_t lanes = n / each;
    int64_t combines = each > 1 ? n - 1 : 0; /* before and after the doubling steps */
    *rounds = each > 1 ? 2 : 0;
    for (int64_t step = 1; step < lanes; step *= 2, ++*rounds) combines += lanes - step;
    return combines;
}

void ks_chunks_count(const ks_scan_device *d, int64_t T, ks_info *info)
{
    const ks_tiles_args *t = &d->tiles;
    if (d->borders) {
        const ks_scan_stats stats = ks_scan_plan_stats(d->borders);
        info->combines += T - t->count + stats.combines;
        /* Reduction and re-run; between them the scan and one more round for the estimates at borders. */
        info->rounds += 2 + stats.rounds + 1;
        return;
    }
    const int64_t tiles = tiles_of(t), ways = t->reverse ? 2 : 1;
    const int64_t last = t->count - (tiles - 1) * t->tile;
    int64_t inside, of_last, between;
    const int64_t combines = (tiles - 1) * doubling(t->tile, t->each, &inside) + doubling(last, t->each, &of_last) +
                             doubling(tiles, 1, &between) + (tiles - 1) * t->tile;
    info->combines += T - t->count + ways * combines;
    /* Reduction and re-run; between them tiles, their totals, and one more round for the estimates at borders. */
    info->rounds += 2 + (tiles > 1 ? inside : of_last) + between + 1;
}
