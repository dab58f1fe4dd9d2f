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
#include "scan_elements.h"

/* KS_TOGETHER: threads that move an element, which do so for as many lanes. */
enum { KS_WARP = 32, KS_TOGETHER = 8 };

/** Where a warp has room for two elements of each lane: those of the left ones lie before those of the right ones. */
struct staged_slots {
    double *left, *right;
    int size, apart; /* numbers of an element, and from one lane's to the next one's */
    int thread;      /* of the warp */
};

KS_DEVICE staged_slots staged_slots_in(double *shared, int size)
{
    const int apart = (int)ks_scan_slot(size), of_warp = KS_WARP * apart;
    double *const left = shared + (int)threadIdx.x / KS_WARP * 2 * of_warp;
    const staged_slots slots = {left, left + of_warp, size, apart, (int)threadIdx.x % KS_WARP};
    return slots;
}

/** move(number in its slot, number in its place) of elements of `count` lanes, whose places are `stride` numbers apart: a
 *  quarter of the warp has eight lanes, one after the other. The lanes of two quarters are eight apart and slots an odd number
 *  of doubles, so that half a warp meets in no bank. */
template <class Move>
KS_DEVICE void move_staged(const staged_slots &s, double *slot, double *place, int64_t stride, int count, Move move)
{
    const int first = s.thread / KS_TOGETHER * KS_TOGETHER, number = s.thread % KS_TOGETHER;
    slot += first * s.apart + number;
    place += first * stride + number;
#pragma unroll
    for (int e = 0; e < KS_TOGETHER; ++e, slot += s.apart, place += stride) {
        if (first + e >= count) break;
#pragma unroll
        for (int i = 0; i < s.size; i += KS_TOGETHER)
            if (number + i < s.size) move(slot + i, place + i);
    }
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
    KS_DEVICE_MEMBER void bring(double *slot, const ks_slots &from) const
    {
        move_staged(slots, slot, place(from), from.lane * slots.size, count,
                    [](double *to, const double *at) { ks_async_copy(to, at, sizeof *to); });
    }
    KS_DEVICE_MEMBER void take(double *slot, const ks_slots &to) const
    {
        move_staged(slots, slot, place(to), to.lane * slots.size, count, [](const double *from, double *at) { *at = *from; });
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
    double *const left = s.left + s.thread * s.apart, *const right = s.right + s.thread * s.apart;
    if (part.kind != KS_PART_NEUTRAL) lanes.bring(s.left, part.lhs);
    if (joins) lanes.bring(s.right, part.rhs);
    ks_async_commit();
    ks_async_wait(0);
    __syncwarp();
    if (s.thread < lanes.count) {
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
    int64_t first = ks_grid_thread() - slots.thread;
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
