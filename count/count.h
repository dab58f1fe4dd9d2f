/* count.h -- whole methods on simulated parallel hardware, in floating-point operations.
 *
 * What is counted: additions, multiplications, divisions and square roots of the arithmetic that
 * the library runs, in the ordinary form of each step, with every entry observed. docs/counting.md
 * has the definitions. */
#ifndef KS_COUNT_H
#define KS_COUNT_H

#include <stddef.h>
#include <stdint.h>
#include "flops.h"
#include "kalscan/blocktri.h"
#include "kalscan/scan.h"

typedef enum ks_counted_method {
    KS_COUNT_FILTER = 0,            /**< parallel filter                                         */
    KS_COUNT_SCAN_RTS = 1,          /**< parallel filter, then the parallel RTS smoother         */
    KS_COUNT_SCAN_TWO_FILTER = 2,   /**< parallel filter, and the parallel two-filter smoother   */
    KS_COUNT_SEQUENTIAL_FILTER = 3, /**< one step after the other on one thread                  */
    KS_COUNT_SEQUENTIAL = 4,        /**< the same, and the smoother back                         */
    KS_COUNT_BLOCKTRI = 5,          /**< the MAP smoother                                        */
    /* Parts of it, on a block-tridiagonal system of T blocks of order nx. */
    KS_COUNT_ASSEMBLE = 6,          /**< Hessian and right-hand side from the model              */
    KS_COUNT_FACTOR = 7,            /**< its Cholesky factor                                     */
    KS_COUNT_SOLVE = 8,             /**< substitution, forward and back, of one right-hand side  */
    KS_COUNT_INVERSE = 9            /**< diagonal blocks of the inverse                          */
} ks_counted_method;
#define KS_COUNTED_METHODS 10
#define KS_COUNTED_WHOLE 6 /* methods, which come before the parts */

/** The name as the command line spells it; NULL for an unknown value. */
const char *ks_counted_method_name(ks_counted_method method);

/** Whether the method has a scan. */
int ks_counted_method_scans(ks_counted_method method);

/** Whether the method eliminates blocks, of order nx, in one of the block-tridiagonal orders. */
int ks_counted_method_orders(ks_counted_method method);

/** An order and its options. */
typedef struct ks_bt_choice {
    ks_blocktri_order order; /**< not auto                                                       */
    int64_t segments;        /**< partition: at least 2. 0: as many as threads                   */
    int64_t spacing;         /**< recursive Schur: every so many blocks a separator, at least 2. */
                             /**< 0: the library's default                                       */
    int64_t crossover;       /**< and so few, at least 2, one after the other. 0: the same       */
} ks_bt_choice;

/** What is to be counted. */
typedef struct ks_count_case {
    ks_counted_method method;
    ks_scan_algorithm scan;
    int64_t threshold; /**< KS_SCAN_SENGUPTA: N >= 1                                             */
    int64_t T;         /**< steps, at least 1                                                    */
    int64_t threads;   /**< simulated, at least 1; of each device                                */
    int two_devices;   /**< two-filter: forward and reverse scans at the same time on two        */
    int loglik;        /**< with the log-likelihood: a filter step beside each estimate          */
    ks_bt_choice blocks; /**< methods with orders                                                */
} ks_count_case;

/** Copies are no operations; a parallel step ends with a barrier. */
typedef struct ks_count_result {
    ks_flops work;            /**< of all threads                                                */
    int64_t work_flops;       /**< their total                                                   */
    int64_t time_flops;       /**< sum over parallel steps of the busiest thread's operations    */
    int64_t span_flops;       /**< time_flops on as many threads as there are lanes              */
    int64_t span_steps;       /**< parallel steps                                                */
    int64_t combines;         /**< applications of scan operators; 0 without a scan              */
    int64_t combine_flops;    /**< the part of the work that they are                            */
    int64_t model_flops;      /**< KS_COUNT_FACTOR: time by the papers' formulas, see            */
                              /**< blocktri_model.h; else, or where it leaves 64 bits, 0         */
    int64_t storage_elements; /**< most scan elements, or blocks, stored at once                 */
    int64_t storage_bytes;    /**< most bytes of these and of estimates, in double               */
} ks_count_result;

/** A lane's blocks, by whether it has an anchor, and the last one by whether it has a target. */
typedef struct ks_bt_lane_cost {
    ks_flops inner[2];
    ks_flops end[2][2];
} ks_bt_lane_cost;

/** What each operation costs for blocks of order n and one right-hand side. */
typedef struct ks_bt_unit_costs {
    int n;
    ks_bt_lane_cost factor, forward, backward, inverse;
    ks_flops gather, gather_x; /**< what a lane leaves for its target, one lane */
} ks_bt_unit_costs;

/** A step of the MAP smoother's passes over the model, which go chunk by chunk, each one step beyond
 *  its end for what the next step adds to its last. */
typedef struct ks_map_step_cost {
    ks_flops prior, prior_only; /**< step 0, of a longer series and alone                        */
    ks_flops opens, opens_last; /**< first step of another chunk, and where it ends the series   */
    ks_flops inner, inner_last;
    ks_flops beyond;            /**< the step after a chunk                                      */
} ks_map_step_cost;

/** A step of its one pass each way in the sequential and the twisted order: inwards from the first and
 *  from the last step, where the lanes meet, and back. */
typedef struct ks_map_lane_cost {
    ks_flops ascend_first, ascend, descend_last, descend;
    ks_flops meet, meet_both, join;
    ks_flops down_alone, down_middle, down, down_first; /**< T = 1; the middle; between; step 0     */
    ks_flops up_alone, up_first, up, up_last;           /**< from the one above the middle on       */
} ks_map_lane_cost;

/** What each operation costs for given sizes, found by executing it once. */
typedef struct ks_unit_costs {
    int nx, ny;
    int64_t filter_element_bytes, smooth_element_bytes;
    ks_flops first_element, filter_element, filter_combine, filter_neutral, filter_extract;
    ks_flops smooth_element, smooth_element_last, smooth_combine, smooth_neutral, smooth_extract;
    ks_flops two_filter, two_filter_last; /**< combining both filters' estimates of a step       */
    /** A step of the two-filter smoother in chunks, with what it says about the step before: the last one, one
     *  between, one before which there is none or none is asked for, and T = 1; information of an element about the
     *  filter's mean. */
    ks_flops two_filter_back_last, two_filter_back, two_filter_back_first, two_filter_back_only, information_about;
    ks_flops filter_step;                 /**< predict and update                                */
    ks_flops smooth_step, smooth_step_last;
    ks_flops filter_absorb;               /**< a step into the aggregate of its chunk            */
    ks_bt_unit_costs blocks; /**< with one right-hand side, and with as many as probe short series */
    ks_bt_unit_costs probed;
    ks_map_step_cost assemble[2], review[2]; /**< of long and of short series                     */
    ks_map_lane_cost lanes;
} ks_unit_costs;

/** For the methods before KS_COUNT_BLOCKTRI. nx, ny >= 1. Errors: KS_EINVAL, KS_ENOMEM. */
KS_MUST_CHECK ks_status ks_unit_costs_find(ks_unit_costs *costs, int nx, int ny);

/** Add what the others need, for the same sizes. Errors: KS_ENOMEM. */
KS_MUST_CHECK ks_status ks_block_costs_find(ks_unit_costs *costs);

/** Count one case. Errors: KS_EINVAL, also where the costs of its method have not been found; KS_ENOMEM, also where a count leaves 64 bits. */
KS_MUST_CHECK ks_status ks_count_method(ks_count_result *result, const ks_unit_costs *costs,
                                        const ks_count_case *what);

#endif
