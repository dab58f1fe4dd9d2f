/* map_kernels.h -- the MAP route on a device: arguments of the kernels of module ks_map.
 *
 * A team of threads (team.h) does a piece of work, in double in every precision of a plan. Nested: the blocks of the
 * system are assembled for a solver. Otherwise it is solved by segments:
 *
 * 1. Each segment is eliminated except for its last state (map_segment_text.h).
 * 2. The ranges that remain are combined in groups, level by level.
 * 3. On the way back down every range receives the information of all steps before it and of all steps after it.
 * 4. With these, each segment is eliminated again, step by step, and solved. */
#ifndef KS_MAP_KERNELS_H
#define KS_MAP_KERNELS_H

#include "scan_phases.h"

/** Ranges of a level that are combined to one of the level above; most levels; threads of blocks without teams; most
 *  threads of a team. */
enum { KS_MAP_GROUP = 8, KS_MAP_LEVELS = 12, KS_MAP_THREADS = 128,
       KS_MAP_MOST_TEAM = 256 };
/** Threads of the one block that joins what all pieces found, of which there may be 2^16: with 2^9 of them each thread
 *  reads 2^7 records, one after another, and the block's records take 32 KB of shared memory. */
enum { KS_MAP_TOTAL_THREADS = 512 };

/** The kernels in the order of `phase`. Module ks_map_alone also has reduce, rerun and review with a thread for each
 *  piece: ks_map_reduce_N_M, ... for N <= 4 states and M <= 2 entries, M <= N. */
enum ks_map_kernel {
    KS_MAP_PRIOR, KS_MAP_ASSEMBLE, KS_MAP_REDUCE, KS_MAP_COMBINE, KS_MAP_SPREAD, KS_MAP_RERUN,
    KS_MAP_REVIEW, KS_MAP_PROBE, KS_MAP_CORRECT, KS_MAP_TOTAL, KS_MAP_KERNELS
};

/** The result of reviewing some steps, or all. */
typedef struct ks_map_found {
    double quadratic, logs; /* quadratic form of the residuals; log-determinants of Q, R, prior */
    double loss, inflation, gradient; /* as in ks_map_review; loss without probes: the largest trace */
    int64_t lost_step, bad_step;
} ks_map_found;

/** Arrays of a run. Rows of x, S and lag may be the caller's. */
typedef struct ks_map_arrays {
    ks_scan_arrays a;               /* model, data, outputs */
    ks_sink x, S, lag;              /* (nx), (nx, nx), (nx, nx) of each step, double */
    ks_sink D, L;                   /* nested: the blocks of the system */
    double *links;                  /* segments: A[k, k - 1] of each step */
    double *prior;                  /* ks_map_prior_numbers() numbers */
    double *shared;                 /* ks_map_shared_numbers() numbers: terms common to all steps */
    double *diagonal, *gradient;    /* (T, nx): the diagonal of A, the gradient at x */
    double *z;                      /* probes of all entries */
    int64_t z_step, z_entry, z_probe; /* distances in z from step to step, entry to entry, probe to probe */
    int probes;
    double pivot, largest;          /* as in ks_map_system */
} ks_map_arrays;

/** Ranges of one level: contiguous elements, and the information before and after each. */
typedef struct ks_map_level {
    int64_t count;
    double *ranges, *before, *after; /* (3 nx² + 2 nx), (nx² + nx), (nx² + nx) for each */
} ks_map_level;

typedef struct ks_map_args {
    ks_map_arrays m;
    long long phase;
    ks_scan_status *status;
    char *memory;                   /* of teams, as in ks_team_memory */
    int64_t slice;
    int64_t size, count;            /* steps of a piece of work except the last, and pieces */
    ks_map_level here, above;
    const double *side;             /* (T, nx): right-hand sides instead of the model's, or NULL */
    int probing;                    /* whether m.z is S applied to probes */
    ks_map_found *found;            /* of each piece of work; of all in found[count] */
    double *logs;                   /* of each segment: log det of what was eliminated */
    const double *logdet;           /* log det of all, computed elsewhere; NULL: the sum of logs */
    int64_t segments;
    unsigned long long *lost;       /* the lowest step whose block is not positive definite */
    double *loglik;
} ks_map_args;

/** Return the numbers of the prior of x[0]: LD, precision, inverse diagonal, mean. */
KS_HD int64_t ks_map_prior_numbers(int nx)
{
    const int64_t n = nx;
    return 2 * n * n + 2 * n;
}

/** Return the numbers of the terms common to all steps of a constant model: three flags; of the transition L D Lᵀ of Q,
 *  its inverse diagonal, and its terms of b, a and c; of the observation L D Lᵀ of R, its inverse diagonal, D⁻¹ L⁻¹ H,
 *  and b of the whole step. */
KS_HD int64_t ks_map_shared_numbers(int nx, int ny)
{
    const int64_t n = nx, m = ny;
    return 3 + 5 * n * n + n + m * m + m + m * n;
}

/** Return the numbers of a range. */
KS_HD int64_t ks_map_range_numbers(int nx)
{
    const int64_t n = nx;
    return 3 * n * n + 2 * n;
}

/** Return the numbers that a single thread keeps in shared memory: two ranges, and one number to make it odd. */
KS_HD int ks_map_far_numbers(int nx) { return nx > 3 ? (int)(2 * ks_map_range_numbers(nx) + 1) : 0; }

/** Return the most numbers that a team needs: a step, and an elimination or a review. */
KS_HD int64_t ks_map_team_numbers(int nx, int ny, int lanes)
{
    const int64_t n = nx, m = ny;
    const int64_t step = 8 * n * n + 4 * n + 3 * m * n + 2 * m * m + 4 * m;
    const int64_t segment = 10 * n * n + 7 * n + lanes, review = n * n + 5 * n + lanes;
    return step + (segment > review ? segment : review);
}

#endif
