/* rows_window.h -- device code: what of a window of rows there is to bring into shared memory, see chunk_ring.h. */
#ifndef KS_ROWS_WINDOW_H
#define KS_ROWS_WINDOW_H

#include "chunk_kernels.h"
#include "gpu/kernel.h"

/** The bytes of a window of rows that travel: what is there of it, in whole pieces but for the array's end. */
struct ks_window {
    const char *first;              /* where its first piece would begin                          */
    const char *low, *high;         /* the bytes of it that are there, `low` aligned              */
    const char *pieces;             /* end of the whole pieces                                    */
};

KS_DEVICE const char *ks_piece_of(const char *p) { return p - (uintptr_t)p % 16; }

KS_DEVICE ks_window ks_window_of(const ks_ring_rows &r, int64_t step, int64_t steps)
{
    const char *const from = r.base + step * r.stride, *const to = from + steps * r.stride;
    const char *const end = ks_piece_of(r.high);
    ks_window w;
    w.first = ks_piece_of(from);
    w.low = from < r.low ? r.low : w.first;
    w.high = to < r.high ? to : r.high;
    w.pieces = ks_piece_of(w.high + 15);
    if (w.pieces > end) w.pieces = end;
    return w;
}

/** Let the copy engine bring a window; its first piece goes to `to`. The bytes that the barrier is to wait for. */
KS_DEVICE unsigned ks_window_bring(const ks_window &w, char *to, ks_bulk_barrier *barrier)
{
    unsigned bytes = 0;
    if (w.low < w.pieces) {
        bytes = (unsigned)(w.pieces - w.low);
        ks_bulk_copy(to + (w.low - w.first), w.low, bytes, barrier);
    }
    /* The last piece of an array may not be whole. */
    if (w.pieces >= w.high) return bytes;
    for (const char *q = w.pieces < w.low ? w.low : w.pieces; q < w.high; q += 4)
        memcpy(to + (q - w.first), q, 4);
    ks_bulk_fence();
    return bytes;
}

#endif
