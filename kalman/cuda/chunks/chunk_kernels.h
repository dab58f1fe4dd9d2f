/* chunk_kernels.h -- reduce, scan, re-run on a device: arguments of the kernels of module ks_chunks.
 *
 * Each chunk of steps is reduced to one filtering element, its aggregate, in double. Aggregates are
 * scanned both ways, in tiles and then the tiles' totals. At each border between two chunks that gives
 * the filtered estimate of the step before it and, with the information of all later observations, the
 * smoothed one, both in double. From them each chunk runs ordinary steps in the plan's precision,
 * forward and back, by one thread and at once. The two-filter smoother takes the information itself: each chunk
 * runs the information filter back from there, in double, beside the filtered estimates that are kept. */
#ifndef KS_CHUNK_KERNELS_H
#define KS_CHUNK_KERNELS_H

#include "chunk_ring.h"
#include "element_size.h"
#include "scan_phases.h"
#include "team_memory.h"

/** Threads of a block where each has a chunk, or a border: one warp, so that few of them are spread over all
 *  multiprocessors, each of which loads rows of other chunks one after another. */
enum { KS_CHUNK_THREADS = 32 };

enum { KS_MOST_TILE = 256 };

/** Numbers that a thread sums up of what its chunk tells of the n states before it: a vector and half of a matrix. */
#define KS_FAST_TOLD(n) ((n) + (n) * ((n) + 1) / 2)

/** What the kernels for small models have left of a chunk: all of it, or its smoothing. */
enum { KS_HARD = 1, KS_HARD_SMOOTH = 2 };

/** In hard_absorb, once the reduction is over: of the first chunk, that its way back is to be asked; of another one,
 *  what kernels for borders alone have left of that before it: to judge it, its lag-one covariance, and the chunk
 *  itself, which begins from a covariance that has lost digits. */
enum { KS_SUSPECT = 4, KS_UNJUDGED = 8, KS_NO_LAG = 16, KS_LOST = 32 };

typedef struct ks_chunk_arrays {
    ks_scan_arrays a;               /* elements: an aggregate for each chunk; loglik_terms: a sum */
    int64_t size;                   /* steps of a chunk but the last                              */
    int64_t begin, chunks;          /* the first one to be done, and the end of them              */
    int smooths, two_filter;
    double *before;                 /* mean and covariance, filtered, of the step before a chunk  */
    double *last;                   /* and smoothed, of its last step; two_filter: eta and J of   */
                                    /* what is behind that                                        */
    double *first;                  /* and of its first step                                      */
    double *end;                    /* and filtered, of its last step, as its own steps come to it: where the  */
                                    /* aggregates were, which nothing needs any more              */
    ks_sink kept_mean, kept_C;      /* filtered estimates, in the numbers of means and covariances */
    unsigned char *form;            /* of each                                                    */
    unsigned char *hard_absorb;     /* of each chunk: what is left to the kernels for any model   */
    unsigned char *hard_rerun;
    int met;                        /* kernels for borders alone have been at them                */
} ks_chunk_arrays;

/** Kernels ks_chunk_absorb, ks_chunk_rerun, ks_chunk_judge and ks_chunk_border. */
typedef struct ks_chunk_args {
    ks_chunk_arrays chunks;
    long long phase;
    ks_scan_status *status;
    char *memory;                   /* `slice` bytes for each thread                              */
    int64_t slice;
    size_t scratch, own_scratch;    /* bytes for the arithmetic in double, in own precision       */
} ks_chunk_args;

/** Kernels ks_fast_absorb_P_N_M, ks_fast_filter_P_N_M, ks_fast_keep_P_N_M, ks_fast_smooth_P_N and ks_fast_meet_P_N_M of
 *  module ks_chunks_fast, for precision P, up to N states and M entries: the sizes that fast_kernels.h closes with; and
 *  ks_ring_... of module ks_chunks_ring, with `ring` and that much dynamic shared memory. And ks_thread_border_P_N of
 *  module ks_chunks_border, and ks_wide_absorb_f32_N_M, ks_wide_filter_f32_N_M and
 *  ks_wide_keep_f32_N_M of module ks_chunks_wide. */
typedef struct ks_fast_args {
    ks_chunk_arrays chunks;
    long long phase;
    ks_scan_status *status;
    ks_ring ring;
} ks_fast_args;

/** Kernels ks_team_absorb_P, ks_team_filter_P, ks_team_smooth_P and ks_team_meet_P of module ks_chunks_team, for
 *  precision P, and ks_border_near for all: a row of the block, blockDim.x threads, is a team (team.h) with ks_team_bytes(),
 *  ks_team_meet_bytes() or ks_team_border_bytes() of shared memory, or ks_team_far_... and ks_border_far of module
 *  ks_chunks_team_far of the device's. And ks_team_ring_... of module ks_chunks_team_ring, with either, `ring` and that
 *  much dynamic shared memory behind it. */
typedef struct ks_team_args {
    ks_chunk_arrays chunks;
    long long phase;
    ks_scan_status *status;
    ks_team_memory team;
    ks_ring ring;
} ks_team_args;

/** What a team does of a chunk; its memory is cut for each anew. */
typedef enum ks_team_part { KS_TEAM_ABSORB, KS_TEAM_FILTER, KS_TEAM_SMOOTH, KS_TEAM_PARTS } ks_team_part;

/** Numbers of the rows of a step that are those of means: F, u, H, d, y and whether an entry is there. */
KS_HD int64_t ks_team_row_means(int nx, int ny)
{
    const int64_t n = nx, m = ny;
    return n * n + n + m * n + 3 * m;
}

/** Numbers of the means of a part: rows of a step, and an aggregate with what a step adds or estimates. */
KS_HD int64_t ks_team_means(ks_team_part part, int nx, int ny)
{
    const int64_t n = nx, m = ny, rows = ks_team_row_means(nx, ny);
    if (part == KS_TEAM_SMOOTH) return rows + 3 * n;
    return rows + n + m + (part == KS_TEAM_ABSORB ? 3 * n * n + 2 * n + 2 * m * n : n);
}

/** Numbers of the covariances: rows of a step, `narrowed` where those of the means are of another number,
 *  and the step itself. */
KS_HD int64_t ks_team_covs(ks_team_part part, int nx, int ny, int narrowed)
{
    const int64_t n = nx, m = ny, rows = n * n + m * m + (narrowed ? n * n + m * n : 0);
    const int64_t scratch = 2 * n * n > m * n ? 2 * n * n : m * n;
    if (part == KS_TEAM_SMOOTH) return rows + 7 * n * n + n;
    return rows + 2 * n * n + m * m + m + 2 * m * n + scratch;
}

/** Bytes of a team's memory, where a number of the means has `mean` bytes and one of the covariances `cov`. Aggregates have
 *  means in double. */
KS_HD int64_t ks_team_bytes(int nx, int ny, int64_t mean, int64_t cov)
{
    int64_t most = 0;
    for (int i = 0; i < KS_TEAM_PARTS; ++i) {
        const ks_team_part part = (ks_team_part)i;
        const int64_t own = part == KS_TEAM_ABSORB ? (int64_t)sizeof(double) : mean;
        const int64_t bytes = ks_team_means(part, nx, ny) * own + ks_team_covs(part, nx, ny, own != cov) * cov;
        most = bytes > most ? bytes : most;
    }
    return (most + 15) / 16 * 16;
}

/** Bytes of a team's memory for the two-filter smoother's way back, in double: information and means, an element or
 *  two covariances, and rows of a step with what makes an element or a lag-one covariance of them, in whose place
 *  elements are joined. */
KS_HD int64_t ks_team_meet_bytes(int nx, int ny)
{
    const int64_t n = nx, m = ny, kept = n * (n + 1) / 2 + 5 * n + 2 * n * n + 3 * n;
    const int64_t rows = ks_team_row_means(nx, ny) + n * n + m * m;
    const int64_t element = 3 * n * n + 2 * n + 4 * m * n + m * m + 2 * m, lag = 4 * n * n + n;
    const int64_t made = rows + (element > lag ? element : lag), joined = 7 * n * n + 3 * n;
    return ((kept + (made > joined ? made : joined)) * (int64_t)sizeof(double) + 15) / 16 * 16;
}

/** Bytes of a team's memory at a border between chunks, in double: the transition there, two estimates, what is asked of
 *  each state, and scratch. */
KS_HD int64_t ks_team_border_bytes(int nx)
{
    const int64_t n = nx;
    return ((9 * n * n + 11 * n) * (int64_t)sizeof(double) + 15) / 16 * 16;
}

/** Numbers from one element of a tile to the next in shared memory. */
KS_HD int64_t ks_tile_apart(int nx) { return ks_scan_slot(ks_filter_element_size(nx)); }

/** Kernels ks_filter_tiles_N of module ks_scan_elements, N = 1, 2, 3, 4, any: tiles of elements, a block
 *  of tile / each threads, filled up to whole warps, for each, scanned in its shared memory, `tile` times ks_tile_apart()
 *  numbers, or for `any`, where `each` is 1, where they lie: forward, and where there is `reverse`, reverse. Totals, where
 *  there is room for them, receive the product of each tile. */
typedef struct ks_tiles_args {
    int nx;
    double *scratch;                /* ks_scan_elements_scratch() for each thread, for `any`      */
    int64_t count, tile;
    int64_t each;                   /* elements of a thread: 1, or 2, for half as many rounds of all */
    const double *from;             /* the elements, or NULL: `forward` and `reverse` have them   */
    double *forward, *reverse, *forward_totals, *reverse_totals;
} ks_tiles_args;

/** Kernels ks_filter_fold_N: tiles and totals to the estimates at each border, or the `information` there; and
 *  ks_filter_fold_team of module ks_scan_team, of elements that have been scanned all through, with teams of
 *  ks_scan_team_bytes(), each with scratch as a thread has it for `any`. */
typedef struct ks_fold_args {
    ks_tiles_args tiles;
    double *before, *last;
    int information;
    ks_team_memory team;
} ks_fold_args;

/** A thread's memory. */
typedef struct ks_chunk_worker {
    ks_scan_worker w;
    double *element;
    void *own_scratch;
    ks_estimates own;               /* one in the plan's precision                                */
} ks_chunk_worker;

KS_HD void ks_carve_chunk_worker(ks_carver *carver, int nx, size_t element, size_t own_scratch,
                                 size_t number, ks_chunk_worker *m)
{
    const size_t n = (size_t)nx;
    m->element = (double *)ks_carve(carver, 1, element);
    m->own_scratch = ks_carve(carver, 1, own_scratch);
    m->own.mean = ks_carve(carver, n, number);
    m->own.cov = ks_carve(carver, n * n, number);
}

#endif
