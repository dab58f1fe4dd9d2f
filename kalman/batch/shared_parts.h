/* shared_parts.h -- shared by shared.c and shared_mixed.c. */
#ifndef KS_SHARED_PARTS_H
#define KS_SHARED_PARTS_H

#include <string.h>
#include "blocks.h"
#include "shared.h"

static inline int ks_party_smooths(const ks_smooth_plan *plan)
{
    return plan->options.job == KS_JOB_SMOOTH;
}

static inline size_t ks_party_cov_bytes(const ks_smooth_plan *plan)
{
    return (size_t)plan->nx * (size_t)plan->nx * plan->kernels->number_bytes;
}

static inline size_t ks_party_mean_bytes(const ks_smooth_plan *plan)
{
    return (size_t)plan->nx * plan->mean_bytes;
}

/** Copy covariances of steps k0 .. k1 - 1 to an output. `from` begins with that of step k0. */
static inline void ks_party_put_covs(const ks_smooth_plan *plan, const void *from, ks_sink to,
                                     int64_t k0, int64_t k1)
{
    const size_t bytes = ks_party_cov_bytes(plan);
    if (!to.base) return;
    if (to.stride == (int64_t)bytes) {
        memcpy(ks_slot_of(to, k0), from, (size_t)(k1 - k0) * bytes);
        return;
    }
    for (int64_t k = k0; k < k1; ++k)
        memcpy(ks_slot_of(to, k), (const char *)from + (size_t)(k - k0) * bytes, bytes);
}

/** Report that the mean of step k is not finite. */
static inline void ks_party_fail(ks_member *m, int64_t k)
{
    m->tally.bad_step = k;
    m->tally.bad_row = 0;
    m->tally.bad_array = KS_ARRAY_ESTIMATE;
    m->tally.fault = KS_FAULT_NOT_FINITE;
}

/* KS_MIXED, see mixed.h: leader and members are in single precision, except the members' means. */

/** Make the leader, as the twin of series b without observations yet. */
void ks_party_twin(ks_plan_run *run, ks_party *p, int64_t b);

/** Give the leader the transitions into steps t0 .. t1 - 1 and the observations of steps k0 .. k1 - 1. Does nothing in
 *  other precisions. */
void ks_party_bring(const ks_smooth_plan *plan, ks_party *p, int64_t t0, int64_t t1, int64_t k0,
                    int64_t k1);

/** Return the bytes of a row of `gain` in ks_forward_sinks and in ks_backward_sinks. */
size_t ks_party_filter_gain(const ks_smooth_plan *plan);
size_t ks_party_smooth_gain(const ks_smooth_plan *plan);

/** Take steps k0 .. k1 - 1, or k1 - 1 .. k0, of a member alone. Return non-zero if it fails. */
int ks_party_filter_alone(const ks_smooth_plan *plan, ks_party *p, ks_member *m, int64_t k0,
                          int64_t k1);
int ks_party_smooth_alone(const ks_smooth_plan *plan, ks_party *p, ks_member *m, int64_t k0,
                          int64_t k1);

/** The same for `count` members that follow. Return the first that fails, or NULL. */
ks_member *ks_party_follow_filter(const ks_smooth_plan *plan, ks_party *p, int64_t k0, int64_t k1,
                                  ks_member *const *members, int count);
ks_member *ks_party_follow_smooth(const ks_smooth_plan *plan, ks_party *p, int64_t k0, int64_t k1,
                                  ks_member *const *members, int count);

#endif
