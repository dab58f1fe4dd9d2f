/* plan_hillis_steele.c -- paper Alg. 1, double-buffered.
 *
 * Before the round of distance h, the slots below h hold their result. The paper copies the whole series in each round.
 * Here a round reads one buffer and writes the other, and a slot is copied only once, in the round after the one that
 * finished it. Then both buffers hold it. The last round can run in place where it would otherwise write the wrong
 * buffer: it does not write the slots that it reads as left operands, since these are below length - h <= h. */
#include "planners.h"

void ks_plan_hillis_steele(ks_schedule *schedule, const ks_array *a)
{
    const int64_t n = a->length;
    ks_array spare = *a;
    if (n > 2) spare = ks_work_array(schedule, n);
    const ks_array *from = a, *to = &spare;
    for (int64_t h = 1; h < n; h *= 2) {
        const int in_place = h >= n - h && from == a;
        if (in_place) to = a;
        ks_round round = {0};
        ks_round_add(&round, KS_PART_COMBINE, n - h, 1, ks_array_slots(to, h, 1, 0),
                     ks_array_slots(from, 0, 1, 0), ks_array_slots(from, h, 1, 0));
        if (!in_place) {
            /* Copy to the spare buffer only the slots that a later round reads as left operands. */
            const int64_t first = h / 2, end = to == a || h < n - 2 * h ? h : n - 2 * h;
            ks_round_add(&round, KS_PART_COPY, end - first, 1, ks_array_slots(to, first, 1, 0),
                         ks_array_slots(from, first, 1, 0), ks_no_slots());
        }
        ks_schedule_add(schedule, &round);
        const ks_array *written = to;
        to = from;
        from = written;
    }
}
