/* map.h -- the MAP route: what its driver (map.c) and its arithmetic (map_text.h) share.
 *
 * The smoothed means minimise a quadratic function of all states together; its Hessian A is block
 * tridiagonal, the smoothed covariances are blocks of its inverse S, and the log-likelihood follows
 * from the residuals at the minimum and from log-determinants. Source: "GPU-accelerated Cholesky
 * factorization of block tridiagonal matrices", eq. 4.3 and 4.4.
 *
 * All of it is in double whatever the plan's precision: what A knows of a state is a difference of
 * its entries, which do not fit 24 bits. */
#ifndef KS_MAP_H
#define KS_MAP_H

#include "kernels.h"
#include "series.h"

/** Steps that are assembled and reviewed as one: what they add up to is added chunk by chunk, so
 *  it does not depend on the threads. */
enum { KS_MAP_CHUNK = 256 };

/** Numbers of states up to which blocks are inverted row by row; larger ones are factored. */
enum { KS_MAP_FEW = 8 };

/** Right-hand sides that probe a short and a long system, see ks_map_review.loss. */
enum { KS_MAP_PROBES = 8, KS_MAP_SHORT = 256 };

/** Which arrays of a series never change. */
enum {
    KS_MAP_CONSTANT_Q = 1,
    KS_MAP_CONSTANT_TRANSITION = 2,
    KS_MAP_CONSTANT_OBSERVATION = 4,
    KS_MAP_CONSTANT_INPUT = 8
};

/** The system of one series, in double; row k of each is that of step k. */
typedef struct ks_map_system {
    ks_sink D, L;          /* blocks (nx, nx): A[k, k] and A[k + 1, k]                         */
    ks_sink x;             /* (nx): right-hand side, then solution                            */
    ks_sink z;             /* (nx, probes): probes, then (nx) the gradient at the solution    */
    ks_sink S;             /* (nx, nx): S[k, k]                                               */
    ks_sink lag;           /* (nx, nx): S[k, k - 1], k >= 1; base NULL: not wanted            */
    int probes;
    unsigned constant;
    int64_t middle;        /* the step that the lanes of map_chain_text.h meet at              */
    double pivot;          /* least share of a variance that must remain as a pivot           */
    double largest;        /* finite number of the plan's precision                           */
} ks_map_system;

/** Of a step with block A[k, k] and covariance S[k, k], or what one lane knows of it. */
typedef struct ks_map_share {
    double trace;          /* trace(A[k, k] S[k, k])                                          */
    double inflation;      /* the sum of A_ii S_ii, variances against those if all else were known */
} ks_map_share;

/** What the review of a range of steps finds. */
typedef struct ks_map_review {
    ks_evidence evidence;  /* residuals and log-determinants of Q, R and the prior            */
    double loss;           /* by how much A's round-off is amplified in S, see map_text.h     */
    double inflation;      /* of lanes: the largest of a step                                 */
    double gradient;       /* the largest gᵀ S g of a step with gradient g, or more           */
    int64_t lost_step;     /* where that is                                                   */
    int64_t bad_step;      /* the first with an estimate that is not finite, or -1            */
} ks_map_review;

/** The arithmetic. A worker's memory of memory_bytes() keeps what is constant in the model; rows of
 *  s are read at k alone, so a series may be given step by step. Steps are taken in order, from the
 *  first one of a range to one beyond it: `own` says that k is of the range, `before` that k - 1
 *  is. Functions that can fail return 0, or -1 with the fault in the tally. */
typedef struct ks_map_kernels {
    size_t (*memory_bytes)(int nx, int ny);
    void (*open)(int nx, int ny, void *memory);
    /** Blocks and right-hand sides of k (own) and what transition k adds to k - 1 (before). */
    int (*assemble)(const ks_series *s, int64_t k, int own, int before, const ks_map_system *a,
                    void *memory, ks_tally *tally);
    /** Residuals at the solution (own), gradient and judgement of k - 1 (before). */
    int (*review)(const ks_series *s, int64_t k, int own, int before, const ks_map_system *a,
                  void *memory, ks_map_review *r, ks_tally *tally);
    /** x -= z at steps k0 .. k1 - 1. */
    void (*correct)(int nx, int64_t k0, int64_t k1, const ks_map_system *a);
    /** The whole in one pass inwards and one outwards, see map_chain_text.h, each lane with memory of
     *  its own. ascend() takes steps 0 .. middle in order, descend() steps T - 1 .. middle + 1, meet()
     *  then makes the results of the middle, `down` NULL where there are no steps above it; back_down()
     *  takes steps middle .. 0, back_up() steps middle + 1 .. T - 1, and join() is the end. Each
     *  takes a range k0 .. k1 - 1. r->loss is the largest trace, r->lost_step a step whose block is
     *  not positive definite or in units beyond what is inverted fast. */
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

/** The table of a tier for nx states; NULL where the processor or this build lacks it. */
const ks_map_kernels *ks_map_kernels_of(ks_tier tier, int nx);

extern const ks_map_kernels ks_map_baseline_f64, ks_map_avx2_f64;
extern const ks_map_kernels ks_map_avx512_f64; /* more than KS_MAP_FEW states alone */

#endif
