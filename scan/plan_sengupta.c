/* plan_sengupta.c -- paper Alg. 4: pairs are reduced into compact levels until at most `threshold` elements are left.
 * These are scanned by Hillis-Steele, and the way down distributes the results.
 *
 * Level d has length / 2^d slots, rounded down. An odd last slot has no partner on the way up. It first takes part on
 * the way down, together with the other odd slots. */
#include "planners.h"

#define MOST_LEVELS 64

static void add_reduction(ks_schedule *schedule, const ks_array *lower, const ks_array *upper)
{
    ks_round round = {0};
    ks_round_add(&round, KS_PART_COMBINE, upper->length, 1, ks_array_slots(upper, 0, 1, 0),
                 ks_array_slots(lower, 0, 2, 0), ks_array_slots(lower, 1, 2, 0));
    ks_schedule_add(schedule, &round);
}

static void add_spreading(ks_schedule *schedule, const ks_array *lower, const ks_array *upper)
{
    const int64_t n = lower->length;
    ks_round round = {0};
    ks_round_add(&round, KS_PART_COMBINE, (n - 1) / 2, 1, ks_array_slots(lower, 2, 2, 0),
                 ks_array_slots(upper, 0, 1, 0), ks_array_slots(lower, 2, 2, 0));
    ks_round_add(&round, KS_PART_COPY, n / 2, 1, ks_array_slots(lower, 1, 2, 0),
                 ks_array_slots(upper, 0, 1, 0), ks_no_slots());
    ks_schedule_add(schedule, &round);
}

void ks_plan_sengupta(ks_schedule *schedule, const ks_array *a, int64_t threshold)
{
    ks_array level[MOST_LEVELS];
    int top = 0;
    level[0] = *a;
    while (level[top].length > threshold) {
        level[top + 1] = ks_work_array(schedule, level[top].length / 2);
        add_reduction(schedule, &level[top], &level[top + 1]);
        ++top;
    }
    ks_plan_hillis_steele(schedule, &level[top]);
    for (int d = top - 1; d >= 0; --d) add_spreading(schedule, &level[d], &level[d + 1]);
}
