/* warp_rows.h -- device code: rows between device memory and a warp's slots in shared memory, one slot for each lane.
 *
 * If each thread loaded or stored a row of its own, every access of a warp would touch as many distant places as the
 * warp has threads. Instead the threads move the rows of all of them together: neighbouring threads move neighbouring
 * numbers. They must synchronise between moving rows and using them with __syncwarp(), and before that wait for
 * asynchronous copies with ks_async_wait(). */
#ifndef KS_WARP_ROWS_H
#define KS_WARP_ROWS_H

#include "gpu/kernel.h"
#include "scan_elements.h"

/* KS_TOGETHER: most threads that move one row together. */
enum { KS_WARP = 32, KS_TOGETHER = 8, KS_EVERY_LANE = -1 };

/** The slots of a warp, `apart` numbers from one lane's to the next, and the number of this thread in the warp. */
struct warp_slots {
    double *first;
    int apart, thread;

    KS_DEVICE_MEMBER double *own() const { return first + thread * apart; }
};

/** Return the slots of this thread's warp: `lanes` slots of `size` numbers for each warp of the block. */
KS_DEVICE warp_slots warp_slots_in(double *shared, int size, int lanes)
{
    const int apart = (int)ks_scan_slot(size);
    const warp_slots slots = {shared + (int)threadIdx.x / KS_WARP * lanes * apart, apart, (int)threadIdx.x % KS_WARP};
    return slots;
}

/** A row of `size` numbers for each lane, `apart` numbers from one lane's row to the next. */
template <class Number> struct warp_rows {
    Number *first;
    int64_t apart;
    int size;
};

/** Return the first `count` lanes of a warp, as bits. */
KS_DEVICE unsigned first_lanes(int64_t count)
{
    return count >= KS_WARP ? (unsigned)KS_EVERY_LANE : count > 0 ? (1u << count) - 1 : 0u;
}

/** Call move(slot, row) for each number of the rows of these lanes: slots from their number `at` on. Rows have at most
 *  `most` numbers, a literal.
 *
 *  Long rows: eight threads take the rows of eight lanes one after the other. The lanes that half a warp works on are
 *  eight apart and slots an odd number of doubles apart, so there are no bank conflicts. Short rows are close together,
 *  so the warp's threads take neighbouring rows. */
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

/** Copy rows to these slots, asynchronously. */
KS_DEVICE void bring_rows(const warp_slots &slots, int at, const warp_rows<const double> &rows, int most, unsigned lanes)
{
    move_rows(slots, at, rows, most, lanes, [](double *to, const double *from) { ks_async_copy(to, from, sizeof *to); });
}

/** Copy rows out of these slots, to numbers that may be narrower. */
template <class Number>
KS_DEVICE void take_rows(const warp_slots &slots, int at, const warp_rows<Number> &rows, int most, unsigned lanes)
{
    move_rows(slots, at, rows, most, lanes, [](const double *from, Number *to) { *to = (Number)*from; });
}

#endif
