/* chunk_kernels.h -- reduce, scan, re-run on a device: arguments of the kernels of module ks_chunks.
 *
 * Each chunk of steps is reduced to one filtering element, its aggregate, in double. Aggregates are scanned
 * both ways, first in tiles, then the totals of the tiles. At each border between two chunks this gives the
 * filtered estimate of the step before it and, with the information of all later observations, the smoothed
 * one, both in double. From these all chunks run at once, each through ordinary filter steps forward and
 * smoother steps back, in the plan's precision. The two-filter smoother uses the information instead: each chunk
 * runs the information filter back from its border, in double, and combines it with the kept filtered estimates. */
#ifndef KS_CHUNK_KERNELS_H
#define KS_CHUNK_KERNELS_H

#include "chunk_ring.h"
#include "element_size.h"
#include "scan_phases.h"
#include "team_memory.h"

/** Threads of a block where each thread has a chunk or a border: one warp. So few chunks are spread over all
 *  multiprocessors, each of which has to load the rows of its threads one after another. */
enum { KS_CHUNK_THREADS = 32 };

/** Threads of a block whose teams hold matrices by columns (columns.h). */
enum { KS_COLUMN_THREADS = 64 };

enum { KS_MOST_TILE = 256 };

/** Numbers of eta (n) and the lower triangle of J (n, n): the information that a chunk has of the n states before
 *  it. */
#define KS_FAST_TOLD(n) ((n) + (n) * ((n) + 1) / 2)

/** What is left of a chunk to the kernels for any model: all of it, or only its smoothing. */
enum { KS_HARD = 1, KS_HARD_SMOOTH = 2 };

/** Flags in hard_absorb after the reduction. KS_SUSPECT, of the first chunk: its smoothing pass is to be checked. The
 *  others are what the kernels for borders have left of the border before a chunk. KS_UNJUDGED: it is to be checked.
 *  KS_NO_LAG: its lag-one covariance is to be made. KS_LOST: the chunk begins from a covariance that has lost
 *  digits. */
enum { KS_SUSPECT = 4, KS_UNJUDGED = 8, KS_NO_LAG = 16, KS_LOST = 32 };

typedef struct ks_chunk_arrays {
    ks_scan_arrays a;               /* elements: an aggregate for each chunk; loglik_terms: a sum */
    int64_t size;                   /* steps of a chunk; the last one may have fewer              */
    int64_t begin, chunks;          /* chunks begin .. chunks - 1 are to be done                  */
    int smooths, two_filter;
    double *before;                 /* mean and covariance, filtered, of the step before a chunk  */
    double *last;                   /* the same, smoothed, of its last step; two_filter: eta and J of the */
                                    /* information behind that step                               */
    double *first;                  /* the same, smoothed, of its first step, by its own steps    */
    double *end;                    /* the same, filtered, of its last step, by its own steps; in the memory of */
                                    /* the aggregates, which are not needed after the scan        */
    ks_sink kept_mean, kept_C;      /* filtered estimates, in the numbers of means and covariances */
    unsigned char *form;            /* ks_form of each                                            */
    unsigned char *hard_absorb;     /* of each chunk: what is left to the kernels for any model   */
    unsigned char *hard_rerun;
    int met;                        /* the kernels for borders have run                           */
} ks_chunk_arrays;

/** The steps of a chunk. */
KS_HD int64_t ks_chunk_steps(const ks_chunk_arrays *c, int64_t chunk)
{
    const int64_t left = c->a.series.steps - chunk * c->size;
    return left < c->size ? left : c->size;
}

/** Kernels ks_chunk_absorb, ks_chunk_rerun, ks_chunk_judge and ks_chunk_border. */
typedef struct ks_chunk_args {
    ks_chunk_arrays chunks;
    long long phase;
    ks_scan_status *status;
    char *memory;                   /* `slice` bytes for each thread                              */
    int64_t slice;
    size_t scratch, own_scratch;    /* bytes for arithmetic in double, and in the plan's precision */
} ks_chunk_args;

/** Arguments of the kernels that give a chunk or border to each thread, for precision P, up to N states and M entries
 *  (the sizes are at the end of fast_kernels.h):
 *  - ks_fast_absorb_P_N_M, ks_fast_filter_P_N_M, ks_fast_keep_P_N_M, ks_fast_smooth_P_N and ks_fast_meet_P_N_M of
 *    module ks_chunks_fast;
 *  - the same with ks_ring_ of module ks_chunks_ring, with `ring` and its ring.bytes of dynamic shared memory;
 *  - ks_thread_border_P_N of module ks_chunks_border;
 *  - ks_wide_absorb_f32_N_M, ks_wide_filter_f32_N_M and ks_wide_keep_f32_N_M of module ks_chunks_wide. */
typedef struct ks_fast_args {
    ks_chunk_arrays chunks;
    long long phase;
    ks_scan_status *status;
    ks_ring ring;
} ks_fast_args;

/** Arguments of the kernels that give a chunk or border to a team (team.h), for precision P. A row of the block,
 *  blockDim.x threads, is a team with ks_team_bytes(), ks_team_meet_bytes() or ks_team_border_bytes() of memory.
 *  - ks_team_absorb_P, ks_team_filter_P, ks_team_smooth_P, ks_team_meet_P, and ks_border_near for all precisions, of
 *    module ks_chunks_team: the memory is shared memory.
 *  - the same with ks_team_far_, and ks_border_far, of module ks_chunks_team_far: it is the device's memory.
 *  - the same but the border with ks_team_ring_ of module ks_chunks_team_ring: it is either, and the ring has
 *    ring.bytes of dynamic shared memory behind it. */
typedef struct ks_team_args {
    ks_chunk_arrays chunks;
    long long phase;
    ks_scan_status *status;
    ks_team_memory team;
    ks_ring ring;
} ks_team_args;

/** Arguments of the kernels that give a chunk to a team that holds matrices by columns are ks_team_args, too, without
 *  memory or a ring: ks_column_absorb_P_N_M, ks_column_filter_P_N_M and ks_column_smooth_P_N of module
 *  ks_chunks_column_N, N also being the threads of a team. */

/** The passes of a team over a chunk. Each lays out the team's memory anew. */
typedef enum ks_team_part { KS_TEAM_ABSORB, KS_TEAM_FILTER, KS_TEAM_SMOOTH, KS_TEAM_PARTS } ks_team_part;

/** Count the numbers in the means' type in the rows of a step: F, u, H, d, y, and a flag for each entry that is
 *  present. */
KS_HD int64_t ks_team_row_means(int nx, int ny)
{
    const int64_t n = nx, m = ny;
    return n * n + n + m * n + 3 * m;
}

/** Count the numbers in the means' type for a pass: rows of a step, and an aggregate or estimates with scratch. */
KS_HD int64_t ks_team_means(ks_team_part part, int nx, int ny)
{
    const int64_t n = nx, m = ny, rows = ks_team_row_means(nx, ny);
    if (part == KS_TEAM_SMOOTH) return rows + 3 * n;
    return rows + n + m + (part == KS_TEAM_ABSORB ? 3 * n * n + 2 * n + 2 * m * n : n);
}

/** Count the numbers in the covariances' type for a pass: rows of a step, and scratch of the step. `narrowed`: means
 *  have another type, so that F and H are kept in this type, too. */
KS_HD int64_t ks_team_covs(ks_team_part part, int nx, int ny, int narrowed)
{
    const int64_t n = nx, m = ny, rows = n * n + m * m + (narrowed ? n * n + m * n : 0);
    const int64_t scratch = 2 * n * n > m * n ? 2 * n * n : m * n;
    if (part == KS_TEAM_SMOOTH) return rows + 7 * n * n + n;
    return rows + 2 * n * n + m * m + m + 2 * m * n + scratch;
}

/** Bytes of a team's memory, if a number of the means has `mean` bytes and one of the covariances `cov`. In aggregates
 *  the means are in double. */
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

/** Bytes of a team's memory for the backward pass of the two-filter smoother, in double: information and means; an
 *  element or two covariances; and rows of a step with scratch to make an element or a lag-one covariance. Elements are
 *  joined in the place of these rows and scratch. */
KS_HD int64_t ks_team_meet_bytes(int nx, int ny)
{
    const int64_t n = nx, m = ny, kept = n * (n + 1) / 2 + 5 * n + 2 * n * n + 3 * n;
    const int64_t rows = ks_team_row_means(nx, ny) + n * n + m * m;
    const int64_t element = 3 * n * n + 2 * n + 4 * m * n + m * m + 2 * m, lag = 4 * n * n + n;
    const int64_t made = rows + (element > lag ? element : lag), joined = 7 * n * n + 3 * n;
    return ((kept + (made > joined ? made : joined)) * (int64_t)sizeof(double) + 15) / 16 * 16;
}

/** Bytes of a team's memory at a border between chunks, in double: the transition there, two estimates, four numbers
 *  for each state, and scratch. */
KS_HD int64_t ks_team_border_bytes(int nx)
{
    const int64_t n = nx;
    return ((9 * n * n + 11 * n) * (int64_t)sizeof(double) + 15) / 16 * 16;
}

/** Numbers from one element of a tile to the next in shared memory. */
KS_HD int64_t ks_tile_apart(int nx) { return ks_scan_slot(ks_filter_element_size(nx)); }

/** Arguments of kernels ks_filter_tiles_N of module ks_scan_elements, N = 1, 2, 3, 4, any. A block of tile / each
 *  threads, rounded up to whole warps, scans a tile of elements: forward, and also in reverse if `reverse` is not NULL.
 *  It does so in shared memory of `tile` times ks_tile_apart() numbers; `any`, for which `each` is 1, does so in place.
 *  The totals, if not NULL, receive the product of each tile. */
typedef struct ks_tiles_args {
    int nx;
    double *scratch;                /* of `any`: ks_scan_elements_scratch() for each thread       */
    int64_t count, tile;
    int64_t each;                   /* elements of a thread: 1, or 2, which takes half as many threads */
    const double *from;             /* the elements, or NULL: `forward` and `reverse` have them   */
    double *forward, *reverse, *forward_totals, *reverse_totals;
} ks_tiles_args;

/** Arguments of kernels ks_filter_fold_N, which turn scanned tiles and totals into the estimates at each border, or the
 *  `information` there; and of ks_filter_fold_team of module ks_scan_team, which does so for elements that are scanned
 *  from end to end. Its teams have ks_scan_team_bytes() each, and scratch as a thread has for `any`. */
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
    ks_estimates own;               /* an estimate in the plan's precision                        */
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
