/* map.h -- the MAP route: the interface between its driver (map.c) and its arithmetic (map_text.h).
 *
 * The smoothed means minimise a quadratic function of all states together. Its Hessian A is block tridiagonal, and the
 * smoothed covariances are blocks of its inverse S. The log-likelihood follows from the residuals at the minimum and
 * from log-determinants. Source: "GPU-accelerated Cholesky factorization of block tridiagonal matrices", eq. 4.3 and
 * 4.4.
 *
 * All of it is in double in every precision: what A tells about a state is a difference of its entries, which does not
 * fit 24 bits. */
#ifndef KS_MAP_H
#define KS_MAP_H

#include "kernels.h"
#include "series.h"

/** Steps of a chunk. Sums are formed chunk by chunk, so that they do not depend on the threads. */
enum { KS_MAP_CHUNK = 256 };

/** Blocks up to this many states are inverted row by row; larger ones are factored. */
enum { KS_MAP_FEW = 8 };

/** Right-hand sides that probe a system of at most KS_MAP_SHORT steps. A longer system has one. See
 *  ks_map_review.loss. */
enum { KS_MAP_PROBES = 8, KS_MAP_SHORT = 256 };

/** Which arrays of a series never change. */
enum {
    KS_MAP_CONSTANT_Q = 1,
    KS_MAP_CONSTANT_TRANSITION = 2,
    KS_MAP_CONSTANT_OBSERVATION = 4,
    KS_MAP_CONSTANT_INPUT = 8
};

/** The system of one series, in double. Row k of each array is that of step k. */
typedef struct ks_map_system {
    ks_sink D, L;          /* blocks (nx, nx): A[k, k] and A[k + 1, k]                         */
    ks_sink x;             /* (nx): right-hand side, then solution                            */
    ks_sink z;             /* (nx, probes): probes, then (nx) the gradient at the solution    */
    ks_sink S;             /* (nx, nx): S[k, k]                                               */
    ks_sink lag;           /* (nx, nx): S[k, k - 1], k >= 1; base NULL: not wanted            */
    int probes;
    unsigned constant;
    int64_t middle;        /* the step at which the lanes of map_chain_text.h meet             */
    double pivot;          /* least share of a variance that must remain as a pivot           */
    double largest;        /* largest finite number of the plan's precision                   */
} ks_map_system;

/** Traces of a step with block A[k, k] and covariance S[k, k], or the part of one lane. */
typedef struct ks_map_share {
    double trace;          /* trace(A[k, k] S[k, k])                                          */
    double inflation;      /* sum of A_ii S_ii: variances over those if all else were known   */
} ks_map_share;

/** The review of a range of steps. */
typedef struct ks_map_review {
    ks_evidence evidence;  /* residuals and log-determinants of Q, R and the prior            */
    double loss;           /* how much S amplifies round-off of A, see map_text.h             */
    double inflation;      /* lanes: the largest of a step                                    */
    double gradient;       /* largest gᵀ S g of a step with gradient g, or a bound of it      */
    int64_t lost_step;     /* the step of the largest loss                                    */
    int64_t bad_step;      /* the first with an estimate that is not finite, or -1            */
} ks_map_review;

/** The arithmetic. A worker's memory of memory_bytes() keeps what is constant in the model. Only rows k of s are read,
 *  so a series may be given step by step. Steps are taken in order, from the first of a range to the one after its
 *  last: `own` says that k is in the range, `before` that k - 1 is. Functions that can fail return 0, or -1 with the
 *  fault in the tally. */
typedef struct ks_map_kernels {
    size_t (*memory_bytes)(int nx, int ny);
    void (*open)(int nx, int ny, void *memory);
    /** Make blocks and right-hand side of k (own), and add the part of transition k to those of k - 1 (before). */
    int (*assemble)(const ks_series *s, int64_t k, int own, int before, const ks_map_system *a,
                    void *memory, ks_tally *tally);
    /** Add the residuals of k at the solution (own); complete the gradient of k - 1 and judge it (before). */
    int (*review)(const ks_series *s, int64_t k, int own, int before, const ks_map_system *a,
                  void *memory, ks_map_review *r, ks_tally *tally);
    /** x -= z at steps k0 .. k1 - 1. */
    void (*correct)(int nx, int64_t k0, int64_t k1, const ks_map_system *a);
    /** The whole system in one pass inwards and one outwards, see map_chain_text.h. Each lane has its own memory.
     *  ascend() takes steps 0 .. middle in order, descend() steps T - 1 .. middle + 1. Then meet() makes the results of
     *  the middle; `down` is NULL if no steps are above it. back_down() takes steps middle .. 0, back_up() steps middle
     *  + 1 .. T - 1, and join() ends the pass. Each takes a range k0 .. k1 - 1. r->loss is the largest trace.
     *  r->lost_step is a step whose block is not positive definite, or has units too large or too small for the fast
     *  inversion. */
    int (*ascend)(const ks_series *s, int64_t k0, int64_t k1, const ks_map_system *a, void *memory,
                  ks_map_review *r, ks_tally *tally);
    int (*descend)(const ks_series *s, int64_t k0, int64_t k1, const ks_map_system *a, void *memory,
                   ks_map_review *r, ks_tally *tally);
    void (*meet)(int nx, int64_t middle, const ks_map_system *a, void *up, void *down,
                 ks_map_review *r);
    int (*back_down)(const ks_series *s, int64_t k0, int64_t k1, const ks_map_system *a,
                     void *memory, ks_map_review *r, ks_tally *tally);
    int (*back_up)(const ks_series *s, int64_t k0, int64_t k1, const ks_map_system *a, void *memory,
                   ks_map_review *r, ks_tally *tally);
    void (*join)(int nx, int64_t middle, const ks_map_system *a, void *up, const void *down,
                 ks_map_review *r);
} ks_map_kernels;

/** Return the table of a tier for nx states; NULL if the processor or this build lacks it. */
const ks_map_kernels *ks_map_kernels_of(ks_tier tier, int nx);

extern const ks_map_kernels ks_map_baseline_f64, ks_map_avx2_f64;
extern const ks_map_kernels ks_map_avx512_f64; /* only for more than KS_MAP_FEW states */

#endif
