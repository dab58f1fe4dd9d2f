/* count.h -- floating-point operations of whole methods on simulated parallel hardware.
 *
 * Counted are additions, multiplications, divisions and square roots of the arithmetic that the library
 * runs, in the ordinary form of each step, with every entry observed. docs/counting.md has the
 * definitions. */
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

/** Return the name on the command line; NULL for an unknown value. */
const char *ks_counted_method_name(ks_counted_method method);

/** Whether the method has a scan. */
int ks_counted_method_scans(ks_counted_method method);

/** Whether the method eliminates blocks, of order nx, in one of the block-tridiagonal orders. */
int ks_counted_method_orders(ks_counted_method method);

/** An order and its options. */
typedef struct ks_bt_choice {
    ks_blocktri_order order; /**< not auto                                                       */
    int64_t segments;        /**< partition: at least 2. 0: as many as threads                   */
    int64_t spacing;         /**< recursive Schur: blocks from separator to separator, at least 2. */
                             /**< 0: the library's default                                       */
    int64_t crossover;       /**< most blocks, at least 2, that are eliminated in order; 0: default */
} ks_bt_choice;

/** A case to be counted. */
typedef struct ks_count_case {
    ks_counted_method method;
    ks_scan_algorithm scan;
    int64_t threshold; /**< KS_SCAN_SENGUPTA: N >= 1                                             */
    int64_t T;         /**< steps, at least 1                                                    */
    int64_t threads;   /**< simulated, at least 1; of each device                                */
    int two_devices;   /**< two-filter: forward and reverse scans at the same time on two devices */
    int loglik;        /**< with the log-likelihood: one more filter step for each estimate      */
    ks_bt_choice blocks; /**< for methods with orders                                            */
} ks_count_case;

/** The counts of a case. Copies are not operations. A parallel step ends with a barrier. */
typedef struct ks_count_result {
    ks_flops work;            /**< of all threads                                                */
    int64_t work_flops;       /**< their total                                                   */
    int64_t time_flops;       /**< sum over parallel steps of the busiest thread's operations    */
    int64_t span_flops;       /**< time_flops on as many threads as there are lanes              */
    int64_t span_steps;       /**< parallel steps                                                */
    int64_t combines;         /**< applications of scan operators; 0 without a scan              */
    int64_t combine_flops;    /**< their part of the work                                        */
    int64_t model_flops;      /**< KS_COUNT_FACTOR: time by the papers' formulas, see            */
                              /**< blocktri_model.h; 0 otherwise, or if it overflows 64 bits     */
    int64_t storage_elements; /**< most scan elements, or blocks, stored at once                 */
    int64_t storage_bytes;    /**< most bytes of these and of estimates, in double               */
} ks_count_result;

/** Costs of a lane's blocks, indexed by whether it has an anchor; for the last block also by whether it has a
 *  target. */
typedef struct ks_bt_lane_cost {
    ks_flops inner[2];
    ks_flops end[2][2];
} ks_bt_lane_cost;

/** The cost of each operation for blocks of order n and a number of right-hand sides. */
typedef struct ks_bt_unit_costs {
    int n;
    ks_bt_lane_cost factor, forward, backward, inverse;
    ks_flops gather, gather_x; /**< the update of a target by one lane */
} ks_bt_unit_costs;

/** The cost of a step in the MAP smoother's passes over the model. These process chunks, each up to one step
 *  beyond its end, because the next step adds to the chunk's last one. */
typedef struct ks_map_step_cost {
    ks_flops prior, prior_only; /**< step 0 of a longer series; of a series of one step          */
    ks_flops opens, opens_last; /**< first step of another chunk; if it is the last of the series */
    ks_flops inner, inner_last;
    ks_flops beyond;            /**< the step after a chunk                                      */
} ks_map_step_cost;

/** The cost of a step in the smoother's one pass each way, in the sequential and the twisted order: inwards
 *  from the first and from the last step, where the lanes meet, and back. */
typedef struct ks_map_lane_cost {
    ks_flops ascend_first, ascend, descend_last, descend;
    ks_flops meet, meet_both, join;
    ks_flops down_alone, down_middle, down, down_first; /**< T = 1; the middle; between; step 0     */
    ks_flops up_alone, up_first, up, up_last;           /**< from the one above the middle on       */
} ks_map_lane_cost;

/** The cost of each operation for given sizes, found by executing it once. */
typedef struct ks_unit_costs {
    int nx, ny;
    int64_t filter_element_bytes, smooth_element_bytes;
    ks_flops first_element, filter_element, filter_combine, filter_neutral, filter_extract;
    ks_flops smooth_element, smooth_element_last, smooth_combine, smooth_neutral, smooth_extract;
    ks_flops two_filter, two_filter_last; /**< combining both filters' estimates of a step       */
    /** A step of the two-filter smoother in chunks, with its information about the step before: the last one; one
     *  between; one without a step before it that is needed; T = 1. And the information of an element about the
     *  filter's mean. */
    ks_flops two_filter_back_last, two_filter_back, two_filter_back_first, two_filter_back_only, information_about;
    ks_flops filter_step;                 /**< predict and update                                */
    ks_flops smooth_step, smooth_step_last;
    ks_flops filter_absorb;               /**< joining a step to the aggregate of its chunk      */
    ks_bt_unit_costs blocks; /**< with one right-hand side; `probed`: with those that probe short series */
    ks_bt_unit_costs probed;
    ks_map_step_cost assemble[2], review[2]; /**< of long and of short series                     */
    ks_map_lane_cost lanes;
} ks_unit_costs;

/** Find the costs for the methods before KS_COUNT_BLOCKTRI. nx, ny >= 1. Errors: KS_EINVAL, KS_ENOMEM. */
KS_MUST_CHECK ks_status ks_unit_costs_find(ks_unit_costs *costs, int nx, int ny);

/** Find the costs for the other methods, for the same sizes. Errors: KS_ENOMEM. */
KS_MUST_CHECK ks_status ks_block_costs_find(ks_unit_costs *costs);

/** Count one case. Errors: KS_EINVAL, also if the costs of its method have not been found; KS_ENOMEM, also if a count
 *  overflows 64 bits. */
KS_MUST_CHECK ks_status ks_count_method(ks_count_result *result, const ks_unit_costs *costs,
                                        const ks_count_case *what);

#endif
