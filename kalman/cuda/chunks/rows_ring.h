/* rows_ring.h -- device code: rows through a ring in shared memory, see chunk_ring.h.
 *
 * All 32 threads of a warp turn from step to step together, also those that have no chunk, or whose chunk has
 * ended or failed. */
#ifndef KS_ROWS_RING_H
#define KS_ROWS_RING_H

#include "rows_window.h"

/** Rows of a thread's chunk. The step that they are of has been turned to. */
struct ks_rows_ring {
    enum { TOGETHER = 1 };
    const ks_ring &ring;
    char *shared;                   /* the block's                                                */
    char *own;                      /* the stage that is read, of this thread                     */
    int64_t size, first, count;     /* steps of a chunk, the first one's step, windows            */
    int visited;                    /* windows                                                    */
    int back, stage, parity;        /* whether the last step comes first; of what is read         */
    int step, inside;               /* low digits of the window's first step; steps behind it     */
    bool waits;                     /* a result of this thread waits to be stored                 */

    KS_DEVICE_MEMBER ks_rows_ring(const ks_fast_args &args, int backward)
        : ring(args.ring), own(nullptr), size(args.chunks.size), first(0), visited(0), back(backward),
          stage(0), parity(0), step(0), inside(0), waits(false)
    {
        KS_DYNAMIC_SHARED(char, dynamic);
        shared = dynamic;
        count = (size + ring.window - 1) / ring.window;
        ks_ring_constants(ring, shared, (int)threadIdx.x, (int)blockDim.x);
        if (ring.fill == KS_FILL_BULK && lane() == 0)
            for (int s = 0; s < ring.stages; ++s) ks_bulk_init(barrier(s), 32);
        __syncthreads();
    }

    /* Anew, since (4, 4) and (6, 4) have no register left for it where sm_80 copies piece by piece. */
    KS_DEVICE_MEMBER static int lane() { return ks_thread_anew() % 32; }
    KS_DEVICE_MEMBER static bool any(int64_t chunk, int64_t chunks) { return chunk - lane() < chunks; }

    KS_DEVICE_MEMBER ks_bulk_barrier *barrier(int s) const
    {
        return reinterpret_cast<ks_bulk_barrier *>(shared) + (int)threadIdx.x / 32 * ring.stages + s;
    }
    KS_DEVICE_MEMBER char *stage_of(int thread, int s) const
    {
        return shared + ring.slots + thread * ring.slot + s * ring.stage;
    }

    /** Threads of the warp bring pieces of each other's windows, wherever these begin and end. */
    KS_DEVICE_MEMBER void bring_any(const ks_ring_rows &r, int64_t behind, int64_t steps, int s) const
    {
        const int mine = lane(), warp = (int)threadIdx.x - mine, together = 1 << r.lanes;
        for (int thread = mine >> r.lanes; thread < 32; thread += 32 >> r.lanes) {
            const ks_window w = ks_window_of(r, first + (thread - mine) * size + behind, steps);
            char *const to = stage_of(warp + thread, s) + r.at;
            for (const char *p = w.first + 16 * (mine & (together - 1)); p < w.high; p += 16 * together) {
                if (p < w.low) continue;
                if (p < w.pieces) ks_async_copy(to + (p - w.first), p, 16);
                else
                    for (const char *q = p; q < w.high; q += 4) ks_async_copy(to + (q - w.first), q, 4);
            }
        }
    }

    /** The same of windows that are there, in whole pieces; `leads` is the first step of the first thread's. */
    KS_DEVICE_MEMBER void bring_whole(const ks_ring_rows &r, int64_t leads, int steps, int s) const
    {
        const int mine = lane(), warp = (int)threadIdx.x - mine, lanes = r.lanes, thread = mine >> lanes;
        const int piece = 16 * (mine - (thread << lanes)), by = 32 >> lanes, next = by * r.apart, slots = by * ring.slot;
        const char *from = r.base + leads * r.stride + (thread * r.apart + piece);
        char *to = stage_of(warp + thread, s) + (r.at + piece);
        if (piece >= steps * (int)r.stride) return;
#pragma unroll 4
        for (int left = 1 << lanes; left > 0; --left, from += next, to += slots) ks_async_copy(to, from, 16);
    }

    KS_DEVICE_MEMBER void bring_pieces(int64_t behind, int64_t steps, int s) const
    {
        const int64_t leads = first - lane() * size + behind;
        const bool there = leads >= ring.from && leads + 31 * size + steps <= ring.to;
        unsigned rest = 0;
#pragma unroll
        for (int a = 0; a < KS_RING_ARRAYS; ++a) {
            const ks_ring_rows &r = ring.rows[a];
            if (!r.stride) continue;
            if (there && r.whole) bring_whole(r, leads, (int)steps, s);
            else rest |= 1u << a;
        }
#pragma unroll 1
        for (int a = 0; rest; ++a, rest >>= 1)
            if (rest & 1) bring_any(ring.rows[a], behind, steps, s);
    }

    /** The copy engine brings each thread's window of each array. */
    KS_DEVICE_MEMBER void bring_bulk(int64_t behind, int64_t steps, int s) const
    {
        unsigned bytes = 0;
        for (int a = 0; a < KS_RING_ARRAYS; ++a) {
            const ks_ring_rows &r = ring.rows[a];
            if (!r.stride) continue;
            const ks_window w = ks_window_of(r, first + behind, steps);
            bytes += ks_window_bring(w, stage_of((int)threadIdx.x, s) + r.at, barrier(s));
        }
        ks_bulk_arrive(barrier(s), bytes);
    }

    /** Window number `visit` of those that are visited into stage s. */
    KS_DEVICE_MEMBER void bring(int64_t visit, int s) const
    {
        const int64_t behind = (back ? count - 1 - visit : visit) * ring.window, left = size - behind;
        const int64_t steps = left < ring.window ? left : ring.window;
        if (ring.fill == KS_FILL_BULK) {
            if (visit < count) bring_bulk(behind, steps, s);
            return;
        }
        if (visit < count) bring_pieces(behind, steps, s);
        ks_async_commit();
    }

    KS_DEVICE_MEMBER void wait() const
    {
        if (ring.fill == KS_FILL_BULK) {
            ks_bulk_wait(barrier(stage), (unsigned)parity);
            return;
        }
        if (ring.stages == 2) ks_async_wait(1);
        else if (ring.stages == 3) ks_async_wait(2);
        else ks_async_wait(3);
        __syncwarp();
    }

    /** Begin with the chunk whose first step this is, the thread's only one. */
    KS_DEVICE_MEMBER void begin(int64_t of_chunk) { first = of_chunk; }

    /** Whether results of a step are stored by the warp: where each of them is to stand, and that both do. */
    KS_DEVICE_MEMBER bool takes_results() const { return ring.results[0].base != nullptr; }
    KS_DEVICE_MEMBER char *result(int which) const
    {
        const ks_ring_rows &r = ring.rows[which == KS_RING_TO_MEAN ? KS_RING_U : KS_RING_F];
        return ring.reuses ? own + r.at + inside * (int)r.stride
                           : stage_of((int)threadIdx.x, 0) + ring.results[which].at;
    }
    KS_DEVICE_MEMBER void take_results() { waits = true; }

    /** Threads of the warp store pieces of each other's results of the step that is turned to. */
    KS_DEVICE_MEMBER void store_results()
    {
        if (!takes_results()) return;
        const unsigned of = __ballot_sync(~0u, waits);
        if (!of) return;
        waits = false;
        __syncwarp();
        const int mine = lane(), warp = (int)threadIdx.x - mine, i = step - (int)first + inside;
        const int64_t at = first - mine * size + i;
        for (int which = 0; which < KS_RING_RESULTS; ++which) {
            const ks_ring_results &r = ring.results[which];
            const int lanes = r.lanes, one = mine >> lanes, piece = 16 * (mine - (one << lanes));
            const int by = 32 >> lanes, next = by * r.apart, slots = by * ring.slot;
            const char *from = result(which) + (warp + one - (int)threadIdx.x) * ring.slot + piece;
            char *to = r.base + at * r.bytes + (one * r.apart + piece);
            if (piece >= r.bytes) continue;
#pragma unroll 4
            for (int thread = one; thread < 32; thread += by, from += slots, to += next)
                if (of >> thread & 1) memcpy(ks_aligned(to, 16), ks_aligned(from, 16), 16);
        }
        __syncwarp();
    }

    /** The chunk has ended. */
    KS_DEVICE_MEMBER void end() { store_results(); }

    /** Turn to step i of the chunk: the next one, or the one before where it goes back. */
    KS_DEVICE_MEMBER void turn(int64_t i)
    {
        store_results();
        inside = (int)(i & (ring.window - 1));
        if (back ? inside != ring.window - 1 && i != size - 1 : inside != 0) return;
        /* Windows for all stages first, and then for that which has been read: at one place, of which there is one copy. */
        const bool begins = visited == 0;
        if (!begins) __syncwarp();
#pragma unroll 1
        for (int s = 0; s < (begins ? ring.stages : 1); ++s)
            bring(begins ? s : visited - 1 + ring.stages, begins ? s : stage);
        if (!begins && ++stage == ring.stages) {
            stage = 0;
            parity ^= 1;
        }
        wait();
        step = (int)(first + i - inside);
        own = stage_of((int)threadIdx.x, stage);
        ++visited;
    }

    KS_DEVICE_MEMBER const void *row(int a) const
    {
        const ks_ring_rows &r = ring.rows[a];
        const int stride = (int)r.stride;
        const unsigned ahead = ks_window_ahead(r, step);
        return stride ? own + r.at + ahead + inside * stride : shared + r.at;
    }
    KS_ROWS_BY_NAME
};

#endif
