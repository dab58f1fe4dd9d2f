/* rows_window.h -- device code: which bytes of a window of rows are copied into shared memory, see chunk_ring.h. */
#ifndef KS_ROWS_WINDOW_H
#define KS_ROWS_WINDOW_H

#include "chunk_kernels.h"
#include "gpu/kernel.h"

/** The bytes of a window of rows that are copied: those in memory, in whole pieces except at the array's end. */
struct ks_window {
    const char *first;              /* where its first piece would begin                          */
    const char *low, *high;         /* bounds of its bytes that are in memory; `low` is aligned   */
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

/** Copy a window by the copy engine; its first piece goes to `to`. Return the bytes that the barrier is to wait for. */
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

/** Copy rows that do not vary to their place in a block's shared memory. */
KS_DEVICE void ks_ring_constants(const ks_ring &ring, char *shared, int thread, int threads)
{
    for (int a = 0; a < KS_RING_ARRAYS; ++a) {
        const ks_ring_rows &r = ring.rows[a];
        if (r.stride || !r.base) continue; /* first rows that are not read may be NULL */
        for (int i = thread * 4; i < r.bytes; i += threads * 4)
            memcpy(ks_aligned(shared + r.at + i, 4), ks_aligned(r.base + i, 4), 4);
    }
}

/** Offset from a multiple of 16 bytes of the window that begins with `step`, of which the low bits are enough. */
KS_DEVICE unsigned ks_window_ahead(const ks_ring_rows &r, int step)
{
    return ((unsigned)(uintptr_t)r.base + (unsigned)step * (unsigned)(int)r.stride) % 16;
}

/** Members that return the rows of a step by name, for a class with row(). */
#define KS_ROWS_BY_NAME                                                                             \
    KS_DEVICE_MEMBER const void *F(int64_t) const { return row(KS_RING_F); }                        \
    KS_DEVICE_MEMBER const void *Q(int64_t) const { return row(KS_RING_Q); }                        \
    KS_DEVICE_MEMBER const void *u(int64_t) const { return row(KS_RING_U); }                        \
    KS_DEVICE_MEMBER const void *H(int64_t) const { return row(KS_RING_H); }                        \
    KS_DEVICE_MEMBER const void *R(int64_t) const { return row(KS_RING_R); }                        \
    KS_DEVICE_MEMBER const void *d(int64_t) const { return row(KS_RING_D); }                        \
    KS_DEVICE_MEMBER const void *y(int64_t) const { return row(KS_RING_Y); }                        \
    KS_DEVICE_MEMBER const void *mean(int64_t) const { return row(KS_RING_MEAN); }                  \
    KS_DEVICE_MEMBER const void *cov(int64_t) const { return row(KS_RING_COV); }

#endif
