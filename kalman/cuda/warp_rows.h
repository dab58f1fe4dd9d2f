/* warp_rows.h -- device code: rows between the device's memory and a warp's slots in shared memory, one for each lane.
 *
 * Where each thread loads or stores a row of its own, every access of a warp goes to as many places far apart as the warp has
 * threads. So its threads move the rows of all of them, neighbouring threads neighbouring numbers. What they have moved, or
 * are to move, is there for all once they have met: __syncwarp(), and before it for copies that are under way
 * ks_async_wait(). */
#ifndef KS_WARP_ROWS_H
#define KS_WARP_ROWS_H

#include "gpu/kernel.h"
#include "scan_elements.h"

/* KS_TOGETHER: most threads that move a row. */
enum { KS_WARP = 32, KS_TOGETHER = 8, KS_EVERY_LANE = -1 };

/** The slots of a warp, a lane's `apart` numbers behind the one's before it, and which of its threads this one is. */
struct warp_slots {
    double *first;
    int apart, thread;

    KS_DEVICE_MEMBER double *own() const { return first + thread * apart; }
};

/** Those of this thread's warp, `lanes` of them for each warp, of so many numbers. */
KS_DEVICE warp_slots warp_slots_in(double *shared, int size, int lanes)
{
    const int apart = (int)ks_scan_slot(size);
    const warp_slots slots = {shared + (int)threadIdx.x / KS_WARP * lanes * apart, apart, (int)threadIdx.x % KS_WARP};
    return slots;
}

/** A row of `size` numbers for each lane, the next one's `apart` numbers behind. */
template <class Number> struct warp_rows {
    Number *first;
    int64_t apart;
    int size;
};

/** The first ones of a warp's lanes, as bits. */
KS_DEVICE unsigned first_lanes(int64_t count)
{
    return count >= KS_WARP ? (unsigned)KS_EVERY_LANE : count > 0 ? (1u << count) - 1 : 0u;
}

/** move(number of a slot from its number `at` on, number of its row) of the rows of these lanes, which have `most` numbers, a
 *  literal, or fewer. Eight threads have eight lanes, one after the other, so that of long rows half a warp meets in no bank:
 *  its lanes are eight apart, and slots an odd number of doubles. Short ones are so close together that a warp's threads take
 *  those beside one another. */
template <class Number, class Move>
KS_DEVICE void move_rows(const warp_slots &slots, int at, const warp_rows<Number> &rows, int most, unsigned lanes, Move move)
{
    const int together = most > 4 ? (int)KS_TOGETHER : most > 2 ? 4 : 2, turns = together;
    const int group = slots.thread / together, number = slots.thread % together;
    const int first = together == KS_TOGETHER ? group * turns : group, by = together == KS_TOGETHER ? 1 : KS_WARP / together;
    double *slot = slots.first + first * slots.apart + at + number;
    Number *row = rows.first + first * rows.apart + number;
    lanes >>= first;
#pragma unroll
    for (int turn = 0; turn < turns; ++turn, slot += by * slots.apart, row += by * rows.apart) {
        if (!(lanes >> turn * by & 1)) continue;
#pragma unroll
        for (int i = 0; i < most; i += together)
            if (number + i < rows.size) move(slot + i, row + i);
    }
}

/** Rows to these slots, by copies of their own that are yet to be waited for. */
KS_DEVICE void bring_rows(const warp_slots &slots, int at, const warp_rows<const double> &rows, int most, unsigned lanes)
{
    move_rows(slots, at, rows, most, lanes, [](double *to, const double *from) { ks_async_copy(to, from, sizeof *to); });
}

/** Rows out of these slots, of numbers that may be narrower. */
template <class Number>
KS_DEVICE void take_rows(const warp_slots &slots, int at, const warp_rows<Number> &rows, int most, unsigned lanes)
{
    move_rows(slots, at, rows, most, lanes, [](const double *from, Number *to) { *to = (Number)*from; });
}

#endif
