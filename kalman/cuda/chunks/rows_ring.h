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

    KS_DEVICE_MEMBER ks_rows_ring(const ks_fast_args &args, int backward)
        : ring(args.ring), own(nullptr), size(args.chunks.size), first(0), visited(0), back(backward),
          stage(0), parity(0), step(0), inside(0)
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

    /** Threads of the warp bring pieces of each other's windows. */
    KS_DEVICE_MEMBER void bring_pieces(int64_t behind, int64_t steps, int s) const
    {
        const int mine = lane(), warp = (int)threadIdx.x - mine;
        for (int a = 0; a < KS_RING_ARRAYS; ++a) {
            const ks_ring_rows &r = ring.rows[a];
            if (!r.stride) continue;
            const int together = 1 << r.lanes;
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
    KS_DEVICE_MEMBER void begin(int64_t of_chunk)
    {
        first = of_chunk;
        for (int s = 0; s < ring.stages; ++s) bring(s, s);
    }

    /** Turn to step i of the chunk: the next one, or the one before where it goes back. */
    KS_DEVICE_MEMBER void turn(int64_t i)
    {
        inside = (int)(i & (ring.window - 1));
        if (back ? inside != ring.window - 1 && i != size - 1 : inside != 0) return;
        if (visited > 0) {
            __syncwarp();
            bring(visited - 1 + ring.stages, stage);
            if (++stage == ring.stages) {
                stage = 0;
                parity ^= 1;
            }
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
