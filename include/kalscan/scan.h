/* kalscan/scan.h -- prefix sums (scans) over any associative operator, by a choice of parallel algorithms.
 *
 * Given elements a[0] .. a[T-1] and an associative operator (+), which need not commute, a forward scan replaces a[k]
 * by a[0] (+) ... (+) a[k], and a reverse scan by a[k] (+) ... (+) a[T-1]. In both directions the left operand is the
 * earlier one.
 *
 * Calls, in this order:
 *
 *     ks_scan_plan_create()       plans a length and an algorithm
 *     ks_scan_workspace_bytes()   size of the workspace for an operator, which the caller allocates
 *     ks_scan_run()               scans; any number of times
 *     ks_scan_plan_destroy()      frees the plan
 *
 * Example: products of 2 x 2 matrices.
 *
 *     int multiply(void *user, void *scratch, const ks_combine_job *job)
 *     {
 *         (void)user, (void)scratch;
 *         for (int64_t l = 0; l < job->lanes; ++l)
 *             for (int64_t c = 0; c < job->chain; ++c) {
 *                 const double *a = (const double *)(const void *)(job->lhs + l * job->lhs_lane + c * job->lhs_chain);
 *                 const double *b = (const double *)(const void *)(job->rhs + l * job->rhs_lane + c * job->rhs_chain);
 *                 double *dst = (double *)(void *)(job->dst + l * job->dst_lane + c * job->dst_chain);
 *                 const double p = a[0] * b[0] + a[1] * b[2], q = a[0] * b[1] + a[1] * b[3];
 *                 const double r = a[2] * b[0] + a[3] * b[2], s = a[2] * b[1] + a[3] * b[3];
 *                 dst[0] = p, dst[1] = q, dst[2] = r, dst[3] = s;
 *             }
 *         return 0;
 *     }
 *
 *     ks_status scan(ks_context *context, int64_t T, double *matrices)
 *     {
 *         const ks_operator op = { sizeof op, 4 * sizeof(double), 0, NULL, multiply, NULL, NULL, NULL };
 *         ks_scan_plan *plan;
 *         ks_status status = ks_scan_plan_create(&plan, context, T, NULL);
 *         if (status != KS_OK) return status;
 *         const size_t bytes = ks_scan_workspace_bytes(plan, &op);
 *         void *work = bytes ? aligned_alloc(64, bytes) : NULL;
 *         status = bytes && !work ? KS_ENOMEM : ks_scan_run(plan, &op, matrices, work);
 *         free(work);
 *         ks_scan_plan_destroy(plan);
 *         return status;
 *     }
 *
 * Algorithms: an algorithm is a function from a length to rounds of independent lanes, which a plan holds
 * (<kalscan/scan_rounds.h>). The rounds do not depend on the number of threads, so that results are the same bits for
 * any number. Source: SF Sec. II. "SF" is Sarkka & Garcia-Fernandez, "On the performance of prefix-sum parallel Kalman
 * filters and smoothers on GPUs", arXiv:2511.10363.
 *
 * Threads: a plan is immutable. Any number of threads may run one plan, each with its own elements and workspace. A run
 * allocates nothing. */
#ifndef KALSCAN_SCAN_H
#define KALSCAN_SCAN_H

#include <stddef.h>
#include <stdint.h>
#include "kalscan/context.h"
#include "kalscan/export.h"
#include "kalscan/status.h"

KS_BEGIN_DECLS

/** Algorithms. All of them take any length without padding. */
typedef enum ks_scan_algorithm {
    KS_SCAN_HILLIS_STEELE = 0,  /**< SF Alg. 1: fewest rounds, about T log2(T) combines, a second buffer */
    KS_SCAN_BLELLOCH = 1,       /**< SF Alg. 2: exclusive scan on a tree, then one pass with a copy of the input */
    KS_SCAN_LADNER_FISCHER = 2, /**< SF Alg. 3: in place, about 2 T combines */
    KS_SCAN_SENGUPTA = 3,       /**< SF Alg. 4: tree down to `threshold` elements, Hillis-Steele for these */
    KS_SCAN_CHUNKED = 4         /**< reduce chunks, scan their aggregates, go through the chunks again */
} ks_scan_algorithm;
#define KS_SCAN_ALGORITHMS 5

/** Return the algorithm's name on the command line, such as "ladner-fischer". Static storage; NULL for an unknown
 *  value. */
KS_API const char *ks_scan_name(ks_scan_algorithm algorithm);

/** Direction of a scan. */
typedef enum ks_direction { KS_FORWARD = 0, KS_REVERSE = 1 } ks_direction;

/** Combines for one call of an operator: `lanes` independent lanes, each a chain of `chain` dependent combines. For
 *  each lane l = 0 .. lanes - 1 the operator computes, in the order c = 0 .. chain - 1,
 *
 *      dst[l, c] = lhs[l, c] (+) rhs[l, c],    x[l, c] = x + l * x_lane + c * x_chain (bytes),
 *
 *  where lhs is earlier in time. dst[l, c] may be the same element as lhs[l, c] or rhs[l, c]. No lane writes an element
 *  that another lane reads or writes. */
typedef struct ks_combine_job {
    int64_t lanes, chain;
    char *dst;
    const char *lhs, *rhs;
    ptrdiff_t dst_lane, lhs_lane, rhs_lane;    /**< bytes from lane to lane; may be negative */
    ptrdiff_t dst_chain, lhs_chain, rhs_chain; /**< bytes along a chain; may be 0 or negative */
} ks_combine_job;

/** An element type and its operator. Elements are copied byte by byte.
 *
 *  The functions return 0, or non-zero if they cannot compute; the scan then ends with KS_ENOTPD. Several threads call
 *  them at once, each with its own `scratch` of scratch_bytes bytes, aligned to 64.
 *
 *  absorb and rerun are optional: both or neither. They serve KS_SCAN_CHUNKED. With them elements are not stored:
 *  absorb makes the aggregate of a chunk, and rerun makes the results of a chunk from what lies before it. The array of
 *  ks_scan_run() holds ks_scan_plan_stats().chunks aggregates then. */
typedef struct ks_operator {
    size_t size;           /**< sizeof(ks_operator) */
    size_t element_bytes;  /**< bytes from one element to the next, at least 1 */
    size_t scratch_bytes;  /**< bytes of scratch per thread, may be 0 */
    void *user;            /**< first argument of each function */
    /** Compute dst = lhs (+) rhs for all combines of a job. */
    int (*combine)(void *user, void *scratch, const ks_combine_job *job);
    /** Set dst to the neutral element e: e (+) a = a = a (+) e. KS_SCAN_BLELLOCH needs it; else it may be NULL. */
    int (*neutral)(void *user, void *dst);
    /** Set dst to a[first] (+) ... (+) a[first + count - 1]. */
    int (*absorb)(void *user, void *scratch, void *dst, int64_t first, int64_t count);
    /** Make the results of steps first .. first + count - 1. `carry` is a[0] (+) ... (+) a[first - 1] or, in a reverse
     *  scan, a[first + count] (+) ... (+) a[T-1]; NULL if that is empty. */
    int (*rerun)(void *user, void *scratch, const void *carry, int64_t first, int64_t count);
} ks_operator;

/** Options of a scan plan. Start from KS_SCAN_OPTIONS_INIT: a forward scan by KS_SCAN_LADNER_FISCHER on all workers of
 *  the context.
 *
 *  Chunks are of equal length, but for the one that the scan reaches last, which may be shorter. By default there are
 *  about sqrt(T) of them and at most 256, for any number of threads. */
typedef struct ks_scan_options {
    size_t size;                 /**< sizeof(ks_scan_options) */
    ks_scan_algorithm algorithm;
    ks_direction direction;
    int64_t threshold;           /**< KS_SCAN_SENGUPTA: N of SF Alg. 4, at least 1; else unused, at least 0 */
    int64_t chunks;              /**< KS_SCAN_CHUNKED: most chunks to make; 0: the default */
    int threads;                 /**< most workers of the context to use; 0: all of them */
} ks_scan_options;
#define KS_SCAN_OPTIONS_INIT \
    { sizeof(ks_scan_options), KS_SCAN_LADNER_FISCHER, KS_FORWARD, 1, 0, 0 }

/** Cost of a plan. For KS_SCAN_CHUNKED rounds, combines and span are those of stored elements; absorb and rerun replace
 *  the combines inside the chunks. */
typedef struct ks_scan_stats {
    int64_t rounds;    /**< parallel steps, with a barrier after each */
    int64_t combines;  /**< applications of the operator, INT64_MAX if there are more */
    int64_t span;      /**< sum over the rounds of the longest chain, in combines */
    int64_t chunks;    /**< KS_SCAN_CHUNKED: number of chunks, else 0 */
} ks_scan_stats;

/** A plan: opaque and immutable. */
typedef struct ks_scan_plan ks_scan_plan;

/** Make a plan for a scan of `length` elements, 1 to 2^61 - 1.
 *
 *  On success *out is the caller's; free it with ks_scan_plan_destroy(). On failure *out is NULL. The plan keeps
 *  `context`, which must outlive it; NULL means the C library's allocator and one thread. `options` is copied; NULL
 *  means KS_SCAN_OPTIONS_INIT.
 *
 *  Errors:
 *  - KS_EINVAL: out is NULL, or an argument or option is not valid: ks_scan_plan_invalid() names it. Options that the
 *    algorithm does not use must not be negative, either.
 *  - KS_ENOMEM: out of memory. */
KS_API KS_MUST_CHECK ks_status ks_scan_plan_create(ks_scan_plan **out, ks_context *context,
                                                   int64_t length,
                                                   const ks_scan_options *options);

/** Return the name of the first argument or option for which ks_scan_plan_create() returns KS_EINVAL, such as "length"
 *  or "threshold"; NULL if all are valid. Static storage. options NULL means KS_SCAN_OPTIONS_INIT. */
KS_API const char *ks_scan_plan_invalid(int64_t length, const ks_scan_options *options);

/** Free a plan. No run of it may be in progress. NULL is allowed. */
KS_API void ks_scan_plan_destroy(ks_scan_plan *plan);

/** Return the cost of the plan; all zero if plan is NULL. */
KS_API ks_scan_stats ks_scan_plan_stats(const ks_scan_plan *plan);

/** Return the bytes of workspace of a run with this operator: a multiple of 64, possibly 0. SIZE_MAX if the number
 *  overflows or an argument is not valid: plan or op is NULL, op->size is wrong, element_bytes is 0, combine is
 *  missing, neutral is missing for KS_SCAN_BLELLOCH, or one of absorb and rerun is missing. */
KS_API size_t ks_scan_workspace_bytes(const ks_scan_plan *plan, const ks_operator *op);

/** Scan `elements` in place.
 *
 *  `elements` has as many elements as were planned; with KS_SCAN_CHUNKED and an operator with absorb and rerun it has
 *  ks_scan_plan_stats().chunks elements, which the run sets. `work` holds ks_scan_workspace_bytes() bytes and is
 *  aligned to 64; NULL is allowed if that is 0. It is undefined afterwards. On failure the elements hold no meaningful
 *  values.
 *
 *  Errors:
 *  - KS_EINVAL: ks_scan_workspace_bytes() is SIZE_MAX, elements is NULL, or work is NULL or misaligned.
 *  - KS_ENOTPD: a function of the operator returned non-zero. */
KS_API KS_MUST_CHECK ks_status ks_scan_run(const ks_scan_plan *plan, const ks_operator *op,
                                           void *elements, void *work);

KS_END_DECLS
#endif
