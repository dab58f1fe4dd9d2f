/* staged_round.h -- rounds of a scan whose elements pass through shared memory, with a thread for each lane.
 *
 * If each thread accessed the elements of its own lane, every load and store of a warp would touch as many distant
 * places as the warp has threads. Instead a warp does 32 lanes at a time. Its threads load the operands of all lanes
 * together, eight neighbouring threads eight neighbouring numbers. Each thread combines those of its own lane, and
 * together they store the results. A warp synchronises with its own threads only. Each part of a round starts with a
 * new warp, so that all lanes of a warp do the same. */
#ifndef KS_STAGED_ROUND_H
#define KS_STAGED_ROUND_H

#include "gpu/kernel.h"
#include "kalscan/scan.cuh"
#include "warp_rows.h"

/** Slots for two elements of each lane of a warp. All left ones lie before all right ones. */
struct staged_slots {
    warp_slots left, right;
    int size; /* numbers of an element */
};

KS_DEVICE staged_slots staged_slots_in(double *shared, int size)
{
    const warp_slots left = warp_slots_in(shared, size, 2 * KS_WARP);
    const staged_slots slots = {left, {left.first + KS_WARP * left.apart, left.apart, left.thread}, size};
    return slots;
}

/** Lanes of a part from `first` on, at one position of their chains. */
template <class Op> struct staged_lanes {
    const Op &op;
    const staged_slots &slots;
    void *const *buffer;
    int64_t first, position;
    int count;

    KS_DEVICE_MEMBER double *place(const ks_slots &of) const
    {
        return ks_scan_at(op, buffer, of, first) + position * of.chain * slots.size;
    }
    KS_DEVICE_MEMBER void bring(const warp_slots &to, const ks_slots &from) const
    {
        const warp_rows<const double> rows = {place(from), from.lane * slots.size, slots.size};
        bring_rows(to, 0, rows, slots.size, first_lanes(count));
    }
    KS_DEVICE_MEMBER void take(const warp_slots &from, const ks_slots &to) const
    {
        const warp_rows<double> rows = {place(to), to.lane * slots.size, slots.size};
        take_rows(from, 0, rows, slots.size, first_lanes(count));
    }
};

/** Do a part for some lanes at one position of their chains. The warp synchronises after the loads and after the
 *  products. It need not synchronise a third time: a thread stores the numbers that lie where it loads the next ones,
 *  and along a chain it loads what it has stored itself. */
template <class Op> KS_DEVICE void do_staged(Op &op, const staged_lanes<Op> &lanes, const ks_part &part)
{
    const staged_slots &s = lanes.slots;
    const bool sweeps = part.kind == KS_PART_DOWN_SWEEP, joins = sweeps || part.kind == KS_PART_COMBINE;
    /* In a down-sweep the product overwrites the operand that is not its destination. The stores below then swap the
     * two slots. */
    const bool on_right = sweeps && lanes.place(part.dst) == lanes.place(part.lhs);
    double *const left = s.left.own(), *const right = s.right.own();
    if (part.kind != KS_PART_NEUTRAL) lanes.bring(s.left, part.lhs);
    if (joins) lanes.bring(s.right, part.rhs);
    ks_async_commit();
    ks_async_wait(0);
    __syncwarp();
    if (s.left.thread < lanes.count) {
        if (joins) op.combine(on_right ? right : left, left, right);
        else if (part.kind == KS_PART_NEUTRAL) op.neutral(left);
    }
    __syncwarp();
    lanes.take(s.left, sweeps ? part.rhs : part.dst);
    if (sweeps) lanes.take(s.right, part.lhs);
}

/** The share of a warp in a round: 32 lanes in each stride of the grid. */
template <class Op>
KS_DEVICE void share_staged(Op &op, const staged_slots &slots, const ks_round &round, void *const *buffer)
{
    int64_t first = ks_grid_thread() - slots.left.thread;
    for (int p = 0; p < round.parts; ++p) {
        const ks_part &part = round.part[p];
        const int64_t chain = part.kind == KS_PART_COMBINE ? part.chain : 1;
        for (; first < part.lanes; first += ks_grid_threads()) {
            const int count = part.lanes - first < KS_WARP ? (int)(part.lanes - first) : (int)KS_WARP;
            for (int64_t c = 0; c < chain; ++c) {
                const staged_lanes<Op> lanes = {op, slots, buffer, first, c, count};
                do_staged(op, lanes, part);
            }
        }
        first -= (part.lanes + KS_WARP - 1) / KS_WARP * KS_WARP;
    }
}

/** The share of a warp in a task: its one round, or all rounds with a barrier of the grid between any two. Blocks have
 *  whole warps and ks_scan_elements_shared() bytes of shared memory. */
template <class Op> KS_DEVICE void share_staged(Op &op, const ks_scan_task &task, double *shared)
{
    const staged_slots slots = staged_slots_in(shared, (int)op.size());
    const ks_round *const round = task.rounds ? task.rounds : &task.round;
    for (int64_t r = 0; r == 0 || r < task.count; ++r) {
        if (r > 0) ks_grid_sync();
        share_staged(op, slots, round[r], task.buffer);
    }
}

#endif
