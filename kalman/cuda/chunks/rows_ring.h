/* rows_ring.h -- device code: rows of threads through a ring in shared memory, see chunk_ring.h.
 *
 * A block is one warp. All of its threads go from step to step together, including those that have no chunk, or whose
 * chunk has ended or failed. */
#ifndef KS_ROWS_RING_H
#define KS_ROWS_RING_H

#include "rows_window.h"

/** Rows of a step, by KS_ROWS_BY_NAME, if the windows of all arrays that vary consist of whole pieces. */
struct ks_plain_rows {
    const ks_ring &ring;
    const char *shared, *own;       /* the block's memory; the stage that this thread reads       */
    int inside;                     /* index of the step in the window                            */

    KS_DEVICE_MEMBER const void *row(int a) const
    {
        const ks_ring_rows &r = ring.rows[a];
        return (ring.varies >> a & 1 ? own + inside * r.bytes : shared) + r.at;
    }
    KS_ROWS_BY_NAME
};

/** Rows of a thread's chunk, for the step that turn() has gone to. */
struct ks_rows_ring {
    enum { TOGETHER = 1, STAGES = 2 };
    const ks_ring &ring;
    char *shared;                   /* the block's memory                                         */
    char *own;                      /* the stage that this thread reads                           */
    int64_t lead;                   /* the first step of the first thread's chunk                 */
    int size, back, stage;          /* steps of a chunk; whether the last comes first; the stage that is read */
    int step, inside;               /* index of the step in the chunk; in the window              */
    bool waits;                     /* a result of this thread waits to be stored                 */

    KS_DEVICE_MEMBER ks_rows_ring(const ks_fast_args &args, int backward)
        : ring(args.ring), own(nullptr), lead(0), size((int)args.chunks.size), back(backward), stage(0), step(0), inside(0),
          waits(false)
    {
        KS_DYNAMIC_SHARED(char, dynamic);
        shared = dynamic;
        ks_ring_constants(ring, shared, (int)threadIdx.x, KS_CHUNK_THREADS);
        __syncthreads();
    }

    /* Read anew each time: kernels (4, 4) and (6, 4) have no register left for it where sm_80 copies piece by piece. */
    KS_DEVICE_MEMBER static int lane() { return ks_thread_anew(); }
    /** Always true: no block is launched without a chunk. */
    KS_DEVICE_MEMBER static bool any(int64_t, int64_t) { return true; }

    KS_DEVICE_MEMBER char *stage_of(int thread, int s) const
    {
        return shared + ring.slots + thread * ring.slot + s * ring.stage;
    }

    /** Copy the window of `thread` by all threads of the warp, wherever it begins and ends. `leads` is the first step
     *  of the first thread's window. */
    KS_DEVICE_MEMBER void bring_any(const ks_ring_rows &r, int thread, int64_t leads, int steps, int s) const
    {
        const ks_window w = ks_window_of(r, leads + thread * size, steps);
        char *const to = stage_of(thread, s) + r.at;
        for (const char *p = w.first + (lane() << 4 & r.piece); p < w.high; p += r.piece + 16) {
            if (p < w.low) continue;
            if (p < w.pieces) ks_async_copy(to + (p - w.first), p, 16);
            else
                for (const char *q = p; q < w.high; q += 4) ks_async_copy(to + (q - w.first), q, 4);
        }
    }

    /** Copy the windows of all threads. `whole`: windows consist of pieces; those of threads after `most` are beyond
     *  the array. */
    KS_DEVICE_MEMBER void bring_some(const ks_ring_rows &r, bool whole, int most, int64_t leads, int steps, int s) const
    {
        const int piece = lane() * r.unit & r.piece;
        for (int thread = lane() >> r.lanes; thread < 32; thread += 32 >> r.lanes) {
            if (!whole) {
                bring_any(r, thread, leads, steps, s);
                continue;
            }
            if (thread > most) return;
            const char *const p = r.base + (leads + thread * size) * r.bytes + piece;
            char *const to = stage_of(thread, s) + (r.at + piece);
            if (piece >= steps * r.bytes || p < r.low) continue;
            if (p + r.unit <= r.high) ks_async_copy(to, p, r.unit);
            else
                for (const char *q = p; q < r.high; q += 4) ks_async_copy(to + (q - p), q, 4);
        }
    }

    template <int COUNT>
    KS_DEVICE_MEMBER static void bring_next(const ks_ring_rows &r, const char *&from, ks_shared_place &to)
    {
#pragma unroll
        for (int i = 0; i < COUNT; ++i, from += r.next, to += r.slots) ks_async_piece<16>(to, from);
    }

    /** Copy the windows of all threads in whole pieces of 16 bytes; all are in memory. `to` is the stage of the first
     *  thread. */
    KS_DEVICE_MEMBER void bring_whole(const ks_ring_rows &r, int mine, int64_t leads, int steps, ks_shared_place to) const
    {
        const int thread = mine >> r.lanes, piece = mine << 4 & r.piece;
        if (piece >= steps * r.bytes) return;
        const char *from = r.base + leads * r.bytes + (unsigned)(thread * r.apart + piece);
        to += thread * ring.slot + piece + r.at;
        if (r.lanes == 0) bring_next<1>(r, from, to);
        else if (r.lanes == 1) bring_next<2>(r, from, to);
        else if (r.lanes == 2) bring_next<4>(r, from, to);
        else
#pragma unroll 1
            for (int left = 1 << r.lanes; left > 0; left -= 8) bring_next<8>(r, from, to);
    }

    /** The same with pieces of 8 or 4 bytes. */
    KS_DEVICE_MEMBER void bring_fine(const ks_ring_rows &r, int mine, int64_t leads, int steps, ks_shared_place to) const
    {
        const int thread = mine >> r.lanes, piece = mine * r.unit & r.piece;
        if (piece >= steps * r.bytes) return;
        const char *from = r.base + leads * r.bytes + (unsigned)(thread * r.apart + piece);
        to += thread * ring.slot + piece + r.at;
#pragma unroll 1
        for (int left = 1 << r.lanes; left > 0; --left, from += r.next, to += r.slots)
            if (r.unit == 8) ks_async_piece<8>(to, from);
            else ks_async_piece<4>(to, from);
    }

    /** Copy the window that begins `behind` steps after the first one of the chunk to stage s. */
    KS_DEVICE_MEMBER void bring(int behind, int s) const
    {
        const int steps = size - behind < ring.window ? size - behind : ring.window, mine = lane();
        const int64_t leads = lead + behind;
        const int64_t left = ring.to - steps - leads; /* steps after the first thread's window */
        const bool there = leads >= ring.from && left >= 31 * size;
        const unsigned whole = there ? ring.whole : 0;
        const ks_shared_place to = ks_shared_place_of(stage_of(0, s));
#pragma unroll
        for (int a = 0; a < KS_RING_ARRAYS; ++a)
            if ((whole & ~ring.fine) >> a & 1) bring_whole(ring.rows[a], mine, leads, steps, to);
        unsigned fine = whole & ring.fine;
#pragma unroll 1
        for (int a = 0; fine; ++a, fine >>= 1)
            if (fine & 1) bring_fine(ring.rows[a], mine, leads, steps, to);
        unsigned rest = ring.varies & ~whole;
        if (!rest) return;
        const int most = left >= 31 * size ? 32 : left < 0 ? 0 : (int)left / size + 1;
#pragma unroll 1
        for (int a = 0; rest; ++a, rest >>= 1)
            if (rest & 1) bring_some(ring.rows[a], ring.whole >> a & 1, most, leads, steps, s);
    }

    /** Begin the thread's only chunk, whose first step is `of_chunk`. */
    KS_DEVICE_MEMBER void begin(int64_t of_chunk) { lead = of_chunk - lane() * size; }

    /** takes_results(): whether the warp stores the results of a step. If so, each thread writes them to result() and
     *  then calls take_results(). */
    KS_DEVICE_MEMBER bool takes_results() const { return ring.results[0].base != nullptr; }
    KS_DEVICE_MEMBER char *result(int which) const
    {
        const ks_ring_rows &r = ring.rows[which == KS_RING_TO_MEAN ? KS_RING_U : KS_RING_F];
        return ring.reuses ? own + r.at + inside * r.bytes : stage_of((int)threadIdx.x, 0) + ring.results[which].at;
    }
    KS_DEVICE_MEMBER void take_results() { waits = true; }

    template <int COUNT>
    KS_DEVICE_MEMBER static void store_next(const ks_ring_results &r, const char *&from, char *&to)
    {
#pragma unroll
        for (int i = 0; i < COUNT; ++i, from += r.slots, to += r.next) memcpy(ks_aligned(to, 16), ks_aligned(from, 16), 16);
    }

    /** Store the results of the current step by all threads of the warp, for those threads that have results. */
    KS_DEVICE_MEMBER void store_results()
    {
        if (!takes_results()) return;
        const unsigned of = __ballot_sync(~0u, waits);
        if (!of) return;
        waits = false;
        __syncwarp();
        const int mine = lane();
        const int64_t at = lead + step;
#pragma unroll
        for (int which = 0; which < KS_RING_RESULTS; ++which) {
            const ks_ring_results &r = ring.results[which];
            const int thread = mine >> r.lanes, piece = mine << 4 & r.piece;
            const char *from = result(which) + ((thread - mine) * ring.slot + piece);
            char *to = r.base + at * r.bytes + (unsigned)(thread * r.apart + piece);
            if (piece >= r.bytes) continue;
            if (of != ~0u) {
                for (int i = thread; i < 32; i += 32 >> r.lanes, from += r.slots, to += r.next)
                    if (of >> i & 1) memcpy(ks_aligned(to, 16), ks_aligned(from, 16), 16);
            } else if (r.lanes == 0) {
                store_next<1>(r, from, to);
            } else if (r.lanes == 1) {
                store_next<2>(r, from, to);
            } else {
#pragma unroll 1
                for (int left = 1 << r.lanes; left > 0; left -= 4) store_next<4>(r, from, to);
            }
        }
        __syncwarp();
    }

    /** End the chunk. */
    KS_DEVICE_MEMBER void end() { store_results(); }

    /** Go to step i of the chunk: the next one, or the one before if `back`. */
    KS_DEVICE_MEMBER void turn(int64_t i)
    {
        store_results();
        step = (int)i;
        inside = step & (ring.window - 1);
        if (back ? inside != ring.window - 1 && step != size - 1 : inside != 0) return;
        /* At first both stages are filled, later the one that all threads have read. One place does both, so that the
         * code of bring() is there once. */
        const bool begins = own == nullptr;
        const int first = step - inside, by = back ? -ring.window : ring.window;
        if (!begins) {
            __syncwarp();
            stage ^= 1;
        }
#pragma unroll 1
        for (int s = begins ? 0 : 1; s < STAGES; ++s) {
            const int behind = first + s * by;
            if (behind >= 0 && behind < size) bring(behind, stage ^ s);
            ks_async_commit();
        }
        ks_async_wait(STAGES - 1);
        __syncwarp();
        own = stage_of((int)threadIdx.x, stage);
    }

    /** Whether the windows of all arrays that vary consist of pieces; then plainly() has the rows with less
     *  arithmetic. */
    KS_DEVICE_MEMBER bool plain() const { return (ring.varies & ~ring.whole) == 0; }
    KS_DEVICE_MEMBER ks_plain_rows plainly() const
    {
        const ks_plain_rows rows = {ring, shared, own, inside};
        return rows;
    }

    KS_DEVICE_MEMBER const void *row(int a) const
    {
        const ks_ring_rows &r = ring.rows[a];
        if (!(ring.varies >> a & 1)) return shared + r.at;
        const char *const place = own + r.at + inside * r.bytes;
        if (ring.whole >> a & 1) return place;
        const int first = (int)lead + (int)threadIdx.x * size + (step - inside);
        return place + ks_window_ahead(r, first);
    }
    KS_ROWS_BY_NAME
};

#endif
