/* plan_chunked.c -- reduce each chunk, scan the aggregates, re-run the chunks. */
#include "planners.h"

#define MOST_CHUNKS 256

static int64_t ceiling(int64_t a, int64_t b) { return a / b + (a % b != 0); }

ks_chunks ks_cut_chunks(int64_t length, int64_t wanted)
{
    ks_chunks chunks;
    if (wanted == 0) {
        int64_t root = 1;
        while (root < MOST_CHUNKS && root * root < length) ++root;
        wanted = root;
    }
    chunks.size = ceiling(length, wanted < length ? wanted : length);
    chunks.count = ceiling(length, chunks.size);
    chunks.last = length - (chunks.count - 1) * chunks.size;
    return chunks;
}

/* First, each slot receives the product from the first slot of its chunk up to itself. The last slots of all chunks but
 * the last one are then the aggregates. They are scanned in place. Finally each other slot is combined with the prefix
 * that ends before its chunk. */
void ks_plan_chunked(ks_schedule *schedule, const ks_array *a, ks_chunks chunks)
{
    const int64_t size = chunks.size, before = chunks.count - 1, tail = before * size;

    ks_round absorb = {0};
    ks_round_add(&absorb, KS_PART_COMBINE, before, size - 1, ks_array_slots(a, 1, size, 1),
                 ks_array_slots(a, 0, size, 1), ks_array_slots(a, 1, size, 1));
    ks_round_add(&absorb, KS_PART_COMBINE, 1, chunks.last - 1,
                 ks_array_slots(a, tail + 1, 0, 1), ks_array_slots(a, tail, 0, 1),
                 ks_array_slots(a, tail + 1, 0, 1));
    ks_schedule_add(schedule, &absorb);
    if (before == 0) return;

    const ks_array aggregates = {a->buffer, a->base + a->stride * (size - 1), a->stride * size,
                                 before};
    ks_plan_ladner_fischer(schedule, &aggregates);

    ks_round rerun = {0};
    ks_round_add(&rerun, KS_PART_COMBINE, before - 1, size - 1, ks_array_slots(a, size, size, 1),
                 ks_array_slots(a, size - 1, size, 0), ks_array_slots(a, size, size, 1));
    ks_round_add(&rerun, KS_PART_COMBINE, 1, chunks.last, ks_array_slots(a, tail, 0, 1),
                 ks_array_slots(a, tail - 1, 0, 0), ks_array_slots(a, tail, 0, 1));
    ks_schedule_add(schedule, &rerun);
}

void ks_plan_chunked_outside(ks_schedule *schedule, const ks_array *a, ks_chunks chunks)
{
    const int64_t size = chunks.size, before = chunks.count - 1;
    const ks_array steps = {KS_STEPS, 0, 1, before * size + chunks.last};
    const ks_slots last_steps = ks_array_slots(&steps, before * size, 0, 1);

    ks_round absorb = {0};
    ks_round_add(&absorb, KS_PART_ABSORB, before, size, ks_array_slots(a, 0, 1, 0),
                 ks_array_slots(&steps, 0, size, 1), ks_no_slots());
    ks_round_add(&absorb, KS_PART_ABSORB, 1, chunks.last, ks_array_slots(a, before, 0, 0),
                 last_steps, ks_no_slots());
    ks_schedule_add(schedule, &absorb);

    ks_plan_ladner_fischer(schedule, a);

    ks_round rerun = {0};
    if (before > 0) {
        ks_round_add(&rerun, KS_PART_RERUN, 1, size, ks_no_slots(), ks_no_slots(),
                     ks_array_slots(&steps, 0, 0, 1));
        ks_round_add(&rerun, KS_PART_RERUN, before - 1, size, ks_no_slots(),
                     ks_array_slots(a, 0, 1, 0), ks_array_slots(&steps, size, size, 1));
    }
    ks_round_add(&rerun, KS_PART_RERUN, 1, chunks.last, ks_no_slots(),
                 before > 0 ? ks_array_slots(a, before - 1, 0, 0) : ks_no_slots(), last_steps);
    ks_schedule_add(schedule, &rerun);
}
