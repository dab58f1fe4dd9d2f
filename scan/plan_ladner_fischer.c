/* plan_ladner_fischer.c -- paper Alg. 3, in place.
 *
 * Up: slot 2hm - 1 receives the product of its 2h elements. Down: slot 2hm + h - 1 holds the product of its h elements
 * and is combined with the prefix that ends before them. */
#include "planners.h"

void ks_plan_ladner_fischer(ks_schedule *schedule, const ks_array *a)
{
    const int64_t n = a->length;
    int64_t h = 1;
    for (; h <= n / 2; h *= 2) {
        ks_round up = {0};
        const ks_slots right = ks_array_slots(a, 2 * h - 1, 2 * h, 0);
        ks_round_add(&up, KS_PART_COMBINE, n / 2 / h, 1, right,
                     ks_array_slots(a, h - 1, 2 * h, 0), right);
        ks_schedule_add(schedule, &up);
    }
    for (h /= 2; h >= 1; h /= 2) {
        ks_round down = {0};
        const ks_slots right = ks_array_slots(a, 3 * h - 1, 2 * h, 0);
        ks_round_add(&down, KS_PART_COMBINE, (n - h) / 2 / h, 1, right,
                     ks_array_slots(a, 2 * h - 1, 2 * h, 0), right);
        ks_schedule_add(schedule, &down);
    }
}
