/* map_kernels.h -- the MAP route on a device: arguments of the kernels of module ks_map.
 *
 * A team of threads (team.h) takes a piece of work, in double whatever the plan's precision. Either the
 * blocks of the system are put together for a solver (nested), or it is solved by segments: each is
 * eliminated but for its last state (map_segment_text.h), what is left of them is combined group by
 * group, level after level, and on the way back down every segment receives what all steps before it and
 * all steps after it have to say. From that it is eliminated again, step by step, and solved. */
#ifndef KS_MAP_KERNELS_H
#define KS_MAP_KERNELS_H

#include "scan_phases.h"

/** Ranges of a level that make one of the level above; levels at most; threads of kernels without teams. */
enum { KS_MAP_GROUP = 8, KS_MAP_LEVELS = 12, KS_MAP_THREADS = 128,
       KS_MAP_MOST_TEAM = 256 };

/** The kernels in their order, which is that of `phase`. Those of reduce, rerun and review also stand in module
 *  ks_map_alone for a thread alone, ks_map_reduce_N_M for N states and M entries: one or two of them, no more than states,
 *  of which there are at most four. */
enum ks_map_kernel {
    KS_MAP_PRIOR, KS_MAP_ASSEMBLE, KS_MAP_REDUCE, KS_MAP_COMBINE, KS_MAP_SPREAD, KS_MAP_RERUN,
    KS_MAP_REVIEW, KS_MAP_PROBE, KS_MAP_CORRECT, KS_MAP_TOTAL, KS_MAP_KERNELS
};

/** What the review of some steps finds, or that of all. */
typedef struct ks_map_found {
    double quadratic, logs; /* of the residuals, and log-determinants of Q, R and the prior  */
    double loss, inflation, gradient; /* as in ks_map_review; loss without probes: the largest trace */
    int64_t lost_step, bad_step;
} ks_map_found;

/** What stands where; rows of x, S and lag may be the caller's. */
typedef struct ks_map_arrays {
    ks_scan_arrays a;               /* model, data, outputs                                       */
    ks_sink x, S, lag;              /* (nx), (nx, nx), (nx, nx) of each step, double              */
    ks_sink D, L;                   /* nested: the blocks of the system                           */
    double *links;                  /* segments: A[k, k - 1] of each step                         */
    double *prior;                  /* ks_map_prior_numbers()                                     */
    double *shared;                 /* ks_map_shared_numbers(): terms that all steps have in common */
    double *diagonal, *gradient;    /* (T, nx): the diagonal of A, the gradient at x              */
    double *z;                      /* probes of all entries: those of one step behind one another */
    int64_t z_step, z_entry, z_probe; /* with these distances from step to step, entry to entry, ... */
    int probes;
    double pivot, largest;          /* as in ks_map_system                                        */
} ks_map_arrays;

/** Ranges of one level: elements behind one another, and what comes before and after each. */
typedef struct ks_map_level {
    int64_t count;
    double *ranges, *before, *after; /* (3 nx² + 2 nx), (nx² + nx) twice                           */
} ks_map_level;

typedef struct ks_map_args {
    ks_map_arrays m;
    long long phase;
    ks_scan_status *status;
    char *memory;                   /* for teams: as in ks_team_args                              */
    int64_t slice;
    int64_t size, count;            /* steps of a piece of work but the last, and pieces          */
    ks_map_level here, above;
    const double *side;             /* (T, nx): right-hand sides in the place of the model's; NULL */
    int probing;                    /* whether m.z stands for S applied to probes                 */
    ks_map_found *found;            /* of each piece of work; of all in found[count]              */
    double *logs;                   /* of each segment: log det of what was eliminated            */
    const double *logdet;           /* or of all, made elsewhere; NULL: the sum of logs           */
    int64_t segments;
    unsigned long long *lost;       /* the lowest step whose block is not positive definite       */
    double *loglik;
} ks_map_args;

/** Numbers of the prior of x[0]: LD, its inverse diagonal, the precision, the mean. */
KS_HD int64_t ks_map_prior_numbers(int nx)
{
    const int64_t n = nx;
    return 2 * n * n + 2 * n;
}

/** Numbers of what steps of a constant model have in common: three flags; of the transition L D Lᵀ of
 *  Q, its inverse diagonal, and what it adds to b, a and c; of the observation L D Lᵀ of R, its inverse diagonal,
 *  D⁻¹ L⁻¹ H, and b with what both add. */
KS_HD int64_t ks_map_shared_numbers(int nx, int ny)
{
    const int64_t n = nx, m = ny;
    return 3 + 5 * n * n + n + m * m + m + m * n;
}

/** Numbers of a range. */
KS_HD int64_t ks_map_range_numbers(int nx)
{
    const int64_t n = nx;
    return 3 * n * n + 2 * n;
}

/** Numbers of a thread alone that do not stand in its registers, an odd number of them: two ranges. */
KS_HD int ks_map_far_numbers(int nx) { return nx > 3 ? (int)(2 * ks_map_range_numbers(nx) + 1) : 0; }

/** Numbers that a team needs at most: those of a step, and what is eliminated or reviewed. */
KS_HD int64_t ks_map_team_numbers(int nx, int ny, int lanes)
{
    const int64_t n = nx, m = ny;
    const int64_t step = 8 * n * n + 4 * n + 3 * m * n + 2 * m * m + 4 * m;
    const int64_t segment = 10 * n * n + 7 * n + lanes, review = n * n + 5 * n + lanes;
    return step + (segment > review ? segment : review);
}

#endif
