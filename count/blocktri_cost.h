/* blocktri_cost.h -- the block-tridiagonal orders on simulated parallel hardware.
 *
 * Levels are counted as the library's drivers run them (blocktri/factor.c, solve.c, inverse.c): all lanes
 * of a level are one parallel step, the updates of its separators another. A lane costs as much as its
 * last block, and for each other block as much as a block in the middle. Both are found by executing
 * lanes of one and of two blocks with counting arithmetic. */
#ifndef KS_COUNT_BLOCKTRI_COST_H
#define KS_COUNT_BLOCKTRI_COST_H

#include "count.h"
#include "machine_count.h"

/** Find the costs for blocks of order n >= 1 and nrhs >= 1 right-hand sides. Errors: KS_EINVAL, KS_ENOMEM. */
KS_MUST_CHECK ks_status ks_bt_unit_costs_find(ks_bt_unit_costs *costs, int n, int nrhs);

/** Make the library's plan for an order on simulated threads. The caller destroys it.
 *  Errors: KS_EINVAL, KS_ENOMEM. */
KS_MUST_CHECK ks_status ks_bt_count_plan(ks_blocktri_plan **plan, const ks_bt_choice *choice,
                                         int64_t N, int n, int64_t threads);

/** Add a factorization in place, a solution, or the diagonal blocks of the inverse, to a count.
 *  Errors: KS_EINVAL; KS_ENOMEM if a count overflows 64 bits. */
KS_MUST_CHECK ks_status ks_bt_count_factor(ks_count *count, const ks_bt_unit_costs *unit,
                                           const ks_blocktri_plan *plan, int64_t threads);
KS_MUST_CHECK ks_status ks_bt_count_solve(ks_count *count, const ks_bt_unit_costs *unit,
                                          const ks_blocktri_plan *plan, int64_t threads);
KS_MUST_CHECK ks_status ks_bt_count_inverse(ks_count *count, const ks_bt_unit_costs *unit,
                                            const ks_blocktri_plan *plan, int64_t threads);

/** Compute the number of blocks that are stored at once, and the bytes of these and the vectors, in double.
 *  This is the factor with fill; `vectors` right-hand sides, which solutions replace; and with `inverse`
 *  its diagonal blocks and those at the couplings of higher levels. The scratch of threads is not included.
 *  Errors: KS_ENOMEM if a number overflows 64 bits. */
KS_MUST_CHECK ks_status ks_bt_count_storage(const ks_blocktri_plan *plan, int vectors, int inverse,
                                            int64_t *blocks, int64_t *bytes);

/** Count the MAP smoother or a part of it. Of the result, storage and formula are filled in.
 *  Errors: KS_EINVAL; KS_ENOMEM, also if a count overflows 64 bits. */
KS_MUST_CHECK ks_status ks_count_blocks(ks_count *count, ks_count_result *result,
                                        const ks_unit_costs *costs, const ks_count_case *what);

#endif
