/* staged_round.h -- rounds of a scan whose elements come and go through shared memory, a thread for each lane.
 *
 * Where each thread reads and writes the elements of its own lane, every load and store of a warp goes to as many places
 * far apart as the warp has threads. So a warp takes 32 lanes at a time: its threads bring the operands of all of them, eight
 * threads beside one another eight numbers, each joins those of its own lane, and together they take away what has become of
 * them. Warps wait for none but their own threads. A part of a round begins with a warp of its own, so that all lanes of a
 * warp do the same. */
#ifndef KS_STAGED_ROUND_H
#define KS_STAGED_ROUND_H

#include "gpu/kernel.h"
#include "kalscan/scan.cuh"
#include "warp_rows.h"

/** Where a warp has room for two elements of each lane: those of the left ones lie before those of the right ones. */
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

/** Lanes of a part from `first` on, at one position along their chains. */
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

/** A part at one position along the chains of some lanes. What the threads bring is there for all of them once they have met,
 *  and so are products. They need not meet a third time: a thread takes away the numbers that lie where it brings the next
 *  ones, and along a chain it brings those that it took away itself. */
template <class Op> KS_DEVICE void do_staged(Op &op, const staged_lanes<Op> &lanes, const ks_part &part)
{
    const staged_slots &s = lanes.slots;
    const bool sweeps = part.kind == KS_PART_DOWN_SWEEP, joins = sweeps || part.kind == KS_PART_COMBINE;
    /* Of a sweep the product takes the slot of the operand that is not its destination: then the place of each is to have
     * what lies in the slot of the other. */
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

/** What a warp does of a round: 32 lanes of every grid's worth. */
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

/** The same of a task, by blocks of whole warps that share ks_scan_elements_shared() bytes: its round, or all of them with a
 *  barrier of the grid between any two. */
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
