/* plan_blelloch.c -- paper Alg. 2: an exclusive scan over a binary tree, then one pass that combines it with the stored
 * input.
 *
 * A node of level h spans the slots i .. min(i + 2h, length) - 1 and keeps its value in the last of them. Only the
 * right-most node may be incomplete. A node without a right child is its left child. */
#include "planners.h"

/* One level of the tree: the complete nodes, and the incomplete one if it has a right child. */
static void add_level(ks_schedule *schedule, const ks_array *a, ks_part_kind kind, int64_t h)
{
    const int64_t n = a->length, whole = n / 2 / h, rest = n - whole * 2 * h;
    const int64_t last_left = whole * 2 * h + h - 1;
    const int down = kind == KS_PART_DOWN_SWEEP;
    ks_round round = {0};
    const ks_slots left = ks_array_slots(a, h - 1, 2 * h, 0);
    const ks_slots right = ks_array_slots(a, 2 * h - 1, 2 * h, 0);
    ks_round_add(&round, kind, whole, 1, right, down ? right : left, down ? left : right);
    if (rest > h) {
        const ks_slots ragged_left = ks_array_slots(a, last_left, 0, 0);
        const ks_slots ragged_right = ks_array_slots(a, n - 1, 0, 0);
        ks_round_add(&round, kind, 1, 1, ragged_right, down ? ragged_right : ragged_left,
                     down ? ragged_left : ragged_right);
    }
    ks_schedule_add(schedule, &round);
}

void ks_plan_blelloch(ks_schedule *schedule, const ks_array *a)
{
    const int64_t n = a->length;
    const ks_array input = ks_work_array(schedule, n);

    ks_round store = {0};
    ks_round_add(&store, KS_PART_COPY, n, 1, ks_array_slots(&input, 0, 1, 0),
                 ks_array_slots(a, 0, 1, 0), ks_no_slots());
    ks_schedule_add(schedule, &store);

    int64_t h = 1;
    for (; h < n; h *= 2) add_level(schedule, a, KS_PART_COMBINE, h);

    ks_round root = {0};
    ks_round_add(&root, KS_PART_NEUTRAL, 1, 1, ks_array_slots(a, n - 1, 0, 0), ks_no_slots(),
                 ks_no_slots());
    ks_schedule_add(schedule, &root);

    for (h /= 2; h >= 1; h /= 2) add_level(schedule, a, KS_PART_DOWN_SWEEP, h);

    ks_round inclusive = {0};
    ks_round_add(&inclusive, KS_PART_COMBINE, n, 1, ks_array_slots(a, 0, 1, 0),
                 ks_array_slots(a, 0, 1, 0), ks_array_slots(&input, 0, 1, 0));
    ks_schedule_add(schedule, &inclusive);
}
