/* hbisa_shape.c -- a model of the cost of a sweep, in cycles of a multiprocessor, and the launch shape that it prefers.
 *
 * A half-sweep is a chain of dependent operations, which more threads do not shorten, and work that the multiprocessor
 * does for each warp. A group of sweeps ends with a barrier; its halos are redundant work. Chains and work are counted
 * in the machine code (docs/gpu-blocktri.md). Assumed latencies: 30 cycles for shared memory and shuffles, 16 for a
 * fused multiply-add, 40 for a barrier of a thread block, 600 for memory in the second-level cache. */
#include "hbisa_shape.h"

#include <math.h>

/* Cycles of a barrier of the grid with the stores before and the loads after it, and the same for one thread block;
 * sweeps that a solution should take. Half a group more than needed is done on average. */
static const double barrier = 4000, alone = 700, solution = 100;

/* Chain and work of a half-sweep, and of each level of reduction in it. */
typedef struct cost {
    double chain, level_chain; /* cycles */
    double work, level_work;   /* cycles for each warp */
} cost;

static const cost costs[KS_HBISA_FORMS] = {
    [KS_HBISA_LANES] = { 190, 75, 14, 5 },
    [KS_HBISA_ROWS] = { 190, 125, 14, 8 },
    [KS_HBISA_RESIDENT] = { 420, 150, 30, 17 },
    [KS_HBISA_STREAMED] = { 2200, 800, 40, 24 },
};

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t ceiling(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Return the lanes of a warp for a block: a power of two. */
static int lanes_of(int n)
{
    int lanes = 1;
    while (lanes < n) lanes *= 2;
    return lanes;
}

/* Return the most entries in the rows that a thread block solves. */
static int64_t most_entries(const ks_hbisa_shape *s, const ks_hbisa_problem *p)
{
    const int64_t N = p->N, reach = ks_hbisa_reach((int)s->form, p->colours, s->sweeps);
    int64_t most = 0;
    for (int64_t g = 0; g < s->grid; ++g) {
        const int64_t from = N * g / s->grid - reach, to = N * (g + 1) / s->grid + reach;
        const int64_t count = p->start[least(to, N) * p->n] - p->start[(from > 0 ? from : 0) * p->n];
        if (count > most) most = count;
    }
    return most;
}

/* Set threads and width. Returns how many times in a row a thread block repeats a half-sweep to do all rows; 0: too
 * many rows. */
static int64_t spread(ks_hbisa_shape *s, const ks_hbisa_problem *p, int64_t solved, int64_t active,
                      const ks_gpu_attributes *device)
{
    const int by_row = s->form == KS_HBISA_LANES || s->form == KS_HBISA_ROWS;
    int64_t most = s->form == KS_HBISA_LANES  ? KS_HBISA_LANE_THREADS
                   : s->form == KS_HBISA_ROWS ? KS_HBISA_ROW_THREADS
                                              : KS_HBISA_TILE_THREADS;
    most = least(most, device->block_threads);
    if (by_row) {
        if (p->levels > (s->form == KS_HBISA_LANES ? KS_HBISA_LANE_LEVELS : KS_HBISA_ROW_LEVELS)) return 0;
        s->width = s->form == KS_HBISA_LANES ? lanes_of(p->n) : p->n;
        s->threads = (int)(ceiling(solved * s->width, 32) * 32);
        return s->threads <= most;
    }
    s->width = (int)(p->n >= most ? 1 : least(most / p->n, ceiling(solved, p->colours)));
    s->threads = (int)least(most, ceiling((int64_t)s->width * p->n, 32) * 32);
    return ceiling(active, s->width) * ceiling(p->n, s->threads < p->n ? s->threads : p->n);
}

int ks_hbisa_complete(ks_hbisa_shape *s, const ks_hbisa_problem *p, const ks_gpu_attributes *device)
{
    const int streamed = s->form == KS_HBISA_STREAMED;
    s->beyond = (s->form == KS_HBISA_LANES && p->longest > KS_HBISA_LANE_ENTRIES) ||
                (s->form == KS_HBISA_ROWS && p->longest > KS_HBISA_ROW_ENTRIES);
    if (s->grid < 1 || s->grid > least(p->N, device->multiprocessors)) return 0;
    if (s->sweeps < 1 || s->sweeps > KS_HBISA_MOST_SWEEPS || (streamed && s->sweeps > 1)) return 0;
    const int64_t own = ceiling(p->N, s->grid), reach = ks_hbisa_reach((int)s->form, p->colours, s->sweeps);
    const int64_t solved = least(p->N, own + 2 * reach);
    const int64_t of_x = least(p->N, own + 2 * ks_hbisa_halo((int)s->form, p->colours, s->sweeps));
    /* Each half-sweep does one block less on either side; this is the average. */
    const double active = (double)least(p->N, own + reach) / p->colours;
    const int64_t turns = spread(s, p, solved, (int64_t)ceil(active), device);
    if (turns == 0) return 0;
    const size_t n = (size_t)p->n, tile = s->form == KS_HBISA_ROWS ? (size_t)s->threads : (size_t)s->width * n;
    s->shared = ks_hbisa_lay((int)s->form, p->levels, s->beyond, tile, (size_t)of_x * n, (size_t)solved * n,
                             s->form == KS_HBISA_RESIDENT || s->beyond ? (size_t)most_entries(s, p) : 0).bytes;
    if (s->shared > device->block_shared) return 0;
    const cost *c = &costs[s->form];
    const double lanes = s->form == KS_HBISA_LANES ? s->width : p->n;
    const double chain = (double)turns * (c->chain + c->level_chain * p->levels);
    const double work = active * lanes / 32 * (c->work + c->level_work * p->levels);
    const double end = (s->grid > 1 ? barrier : alone) * (streamed ? p->colours : 1);
    s->cycles = p->colours * (chain + work) + end / s->sweeps;
    return 1;
}

int ks_hbisa_choose(ks_hbisa_shape *shape, const ks_hbisa_problem *p, const ks_gpu_attributes *device)
{
    double best = HUGE_VAL;
    for (int form = 0; form < KS_HBISA_FORMS; ++form)
        for (int grid = 1; grid <= least(p->N, device->multiprocessors); ++grid)
            for (int sweeps = 1; sweeps <= KS_HBISA_MOST_SWEEPS; ++sweeps) {
                ks_hbisa_shape s = { (ks_hbisa_form)form, grid, sweeps, 0, 0, 0, 0, 0 };
                if (!ks_hbisa_complete(&s, p, device)) break;
                const double all = (solution + 0.5 * sweeps) * s.cycles;
                if (all < best) {
                    best = all;
                    *shape = s;
                }
            }
    return best < HUGE_VAL;
}
