/* kalscan/scan.h -- prefix "sums" of any associative operator, by the schedule of your choice.
 *
 * Given elements a[0] .. a[T-1] and an associative, not necessarily commutative operator (+),
 * a forward scan replaces a[k] by a[0] (+) ... (+) a[k], a reverse scan by a[k] (+) ... (+) a[T-1].
 * The left operand is always the earlier one, in both directions.
 *
 * A scan algorithm is a pure function from (algorithm, length) to rounds of independent lanes, see
 * Sec. II of "SF": Sarkka & Garcia-Fernandez, "On the performance of prefix-sum parallel Kalman
 * filters and smoothers on GPUs", arXiv:2511.10363. A plan holds these rounds; running it allocates
 * nothing. The rounds do not depend on the number of threads, so the results are the same bits for any
 * number. */
#ifndef KALSCAN_SCAN_H
#define KALSCAN_SCAN_H

#include <stddef.h>
#include <stdint.h>
#include "kalscan/context.h"
#include "kalscan/export.h"
#include "kalscan/status.h"

KS_BEGIN_DECLS

/** The algorithms. Any length, no padding. */
typedef enum ks_scan_algorithm {
    KS_SCAN_HILLIS_STEELE = 0,  /**< SF Alg. 1: fewest rounds, T log T combines, two buffers     */
    KS_SCAN_BLELLOCH = 1,       /**< SF Alg. 2: exclusive tree, then one pass; needs a copy      */
    KS_SCAN_LADNER_FISCHER = 2, /**< SF Alg. 3: in place, 2T combines                            */
    KS_SCAN_SENGUPTA = 3,       /**< SF Alg. 4: tree down to `threshold`, Hillis-Steele there    */
    KS_SCAN_CHUNKED = 4         /**< reduce chunks, scan the aggregates, run the chunks again    */
} ks_scan_algorithm;
#define KS_SCAN_ALGORITHMS 5

/** The name as the command line spells it, "ladner-fischer"; NULL for an unknown value. */
KS_API const char *ks_scan_name(ks_scan_algorithm algorithm);

typedef enum ks_direction { KS_FORWARD = 0, KS_REVERSE = 1 } ks_direction;

/** A rectangle of combines handed to an operator in one call: `lanes` independent lanes, each a
 *  chain of `chain` dependent combines. With l = 0..lanes-1 and c = 0..chain-1 in this order,
 *
 *      dst[l, c] = lhs[l, c] (+) rhs[l, c],    x[l, c] = x + l * x_lane + c * x_chain (bytes),
 *
 *  lhs earlier in time. dst may equal either operand of the same combine; lanes never touch each
 *  other's elements. */
typedef struct ks_combine_job {
    int64_t lanes, chain;
    char *dst;
    const char *lhs, *rhs;
    ptrdiff_t dst_lane, lhs_lane, rhs_lane;
    ptrdiff_t dst_chain, lhs_chain, rhs_chain;
} ks_combine_job;

/** An element type and its operator. All functions return 0, or non-zero to report that they
 *  could not compute; the scan then ends with KS_ENOTPD. They are called from several threads at
 *  once, each with scratch of its own: `scratch_bytes` bytes, aligned to 64.
 *
 *  neutral serves KS_SCAN_BLELLOCH alone and may be NULL elsewhere. The last two, both or neither, are optional and
 *  serve KS_SCAN_CHUNKED alone: with them the array of ks_scan_run() holds one aggregate for each chunk only,
 *  ks_scan_plan_stats().chunks of them. */
typedef struct ks_operator {
    size_t size;           /**< sizeof(ks_operator)                                        */
    size_t element_bytes;  /**< bytes from one element to the next                         */
    size_t scratch_bytes;  /**< per thread, may be 0                                       */
    void *user;            /**< handed to each function                                    */
    /** dst = lhs (+) rhs over a rectangle of combines. */
    int (*combine)(void *user, void *scratch, const ks_combine_job *job);
    /** dst = the neutral element e, with e (+) a = a = a (+) e. */
    int (*neutral)(void *user, void *dst);
    /** dst = a[first] (+) ... (+) a[first + count - 1], from wherever the elements come from. */
    int (*absorb)(void *user, void *scratch, void *dst, int64_t first, int64_t count);
    /** Make the results of steps first .. first + count - 1. Forward: `carry` is
     *  a[0] (+) ... (+) a[first - 1]; reverse: a[first + count] (+) ... (+) a[T-1]; NULL where
     *  that product is empty. */
    int (*rerun)(void *user, void *scratch, const void *carry, int64_t first, int64_t count);
} ks_operator;

/** Options of a scan plan. Start from KS_SCAN_OPTIONS_INIT. */
typedef struct ks_scan_options {
    size_t size;                 /**< sizeof(ks_scan_options)                                   */
    ks_scan_algorithm algorithm;
    ks_direction direction;
    int64_t threshold;           /**< KS_SCAN_SENGUPTA: SF's N, at least 1; otherwise not used  */
    int64_t chunks;              /**< KS_SCAN_CHUNKED: at most so many chunks, all equally long */
                                 /**< but the one that the scan meets last; 0: chosen from T    */
                                 /**< alone, about sqrt(T) and at most 256                      */
    int threads;                 /**< at most so many workers of the context; 0: all of them    */
} ks_scan_options;
#define KS_SCAN_OPTIONS_INIT \
    { sizeof(ks_scan_options), KS_SCAN_LADNER_FISCHER, KS_FORWARD, 1, 0, 0 }

/** What a plan does, known before it runs. For KS_SCAN_CHUNKED rounds, combines and span are those
 *  of a scan whose elements are all stored; absorb and rerun take the place of the combines inside
 *  the chunks. */
typedef struct ks_scan_stats {
    int64_t rounds;    /**< parallel steps with a barrier after each                       */
    int64_t combines;  /**< applications of the operator                                   */
    int64_t span;      /**< sum over rounds of the longest lane, in combines               */
    int64_t chunks;    /**< KS_SCAN_CHUNKED: number of chunks, otherwise 0                 */
} ks_scan_stats;

typedef struct ks_scan_plan ks_scan_plan;

/** Plan a scan of `length` elements, from 1 to 2^61 - 1. On success *out is the caller's: free it with
 *  ks_scan_plan_destroy(); on failure it is NULL. context NULL: the C library's allocator, one
 *  thread. The context must outlive the plan. options NULL means KS_SCAN_OPTIONS_INIT.
 *  Errors: KS_EINVAL (a negative option, too, whatever the algorithm), KS_ENOMEM. */
KS_API KS_MUST_CHECK ks_status ks_scan_plan_create(ks_scan_plan **out, ks_context *context,
                                                   int64_t length,
                                                   const ks_scan_options *options);

/** Which of its arguments, or of the options, is KS_EINVAL to ks_scan_plan_create(): the name of the first of them,
 *  "length" or "threshold", in static storage; NULL if none is. */
KS_API const char *ks_scan_plan_invalid(int64_t length, const ks_scan_options *options);

/** Free a plan. NULL is allowed. */
KS_API void ks_scan_plan_destroy(ks_scan_plan *plan);

/** What running the plan does. All zero if plan is NULL. */
KS_API ks_scan_stats ks_scan_plan_stats(const ks_scan_plan *plan);

/** Bytes of workspace that a run with this operator needs, a multiple of 64, perhaps 0; SIZE_MAX where that
 *  overflows or an argument is not valid (KS_SCAN_BLELLOCH without neutral, for example). */
KS_API size_t ks_scan_workspace_bytes(const ks_scan_plan *plan, const ks_operator *op);

/** Run the plan in place on `elements` (length elements, or ks_scan_plan_stats().chunks where the
 *  operator has absorb and rerun and the algorithm is KS_SCAN_CHUNKED). `work` holds
 *  ks_scan_workspace_bytes() bytes, aligned to 64, and may be NULL where that is 0. A plan is immutable: many
 *  threads may run one plan, each with elements and workspace of its own.
 *  Errors: KS_EINVAL; KS_ENOTPD when the operator reported a failure. On error the elements hold
 *  no meaningful values. */
KS_API KS_MUST_CHECK ks_status ks_scan_run(const ks_scan_plan *plan, const ks_operator *op,
                                           void *elements, void *work);

KS_END_DECLS
#endif
