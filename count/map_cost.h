/* map_cost.h -- the MAP smoother on simulated parallel hardware, phase by phase as kalman/map/map.c runs
 * it: assembly, factor, solution, probes, diagonal blocks of the inverse, review. In the sequential and the
 * twisted order it is one pass each way, which is all that a well-conditioned model needs. */
#ifndef KS_COUNT_MAP_COST_H
#define KS_COUNT_MAP_COST_H

#include "count.h"
#include "machine_count.h"

/** Fill in costs->assemble and costs->review for costs->nx and ny. Errors: KS_ENOMEM, KS_ENONFINITE. */
KS_MUST_CHECK ks_status ks_map_unit_costs_find(ks_unit_costs *costs);

/** Add the assembly, or the review that also computes the log-likelihood: a parallel step of chunks.
 *  Errors: KS_EINVAL; KS_ENOMEM if a count overflows 64 bits. */
KS_MUST_CHECK ks_status ks_map_count_assembly(ks_count *count, const ks_unit_costs *costs, int64_t T,
                                              int64_t threads);
KS_MUST_CHECK ks_status ks_map_count_review(ks_count *count, const ks_unit_costs *costs, int64_t T,
                                            int64_t threads);

/** Add the whole smoother. Errors: those above. */
KS_MUST_CHECK ks_status ks_map_count(ks_count *count, const ks_unit_costs *costs,
                                     const ks_blocktri_plan *plan, int64_t T, int64_t threads);

/** The number of right-hand sides that probe a series of T steps. */
int ks_map_count_probes(int64_t T);

#endif
