/* rows_team.h -- device code: rows of a team's chunk through a ring in shared memory, see chunk_ring.h, team.h.
 *
 * One thread of a team requests windows, with one copy for each array. All threads wait for a window and read it. */
#ifndef KS_ROWS_TEAM_H
#define KS_ROWS_TEAM_H

#include "rows_window.h"
#include "team.h"

/** Rows of a team's chunk, for the step that turn() has gone to. */
struct ks_rows_team {
    const ks_ring &ring;
    char *shared;                   /* the block's memory behind the teams' own                   */
    int64_t first;                  /* first step of the chunk                                    */
    int steps, windows;             /* of the chunk, that turn() goes to                          */
    int asked, turned;              /* windows of the chunk that are requested; that are received */
    int ask, stage, parity;         /* stage of the next request; of the next window to receive, and its parity */
    int own;                        /* offset of this team's window that is read                  */
    int step, inside;               /* low bits of the window's first step; index of the step in it */
    int back;                       /* whether the last step comes first                          */

    /** `block` is the block's dynamic shared memory. */
    KS_DEVICE_MEMBER ks_rows_team(const ks_team_args &args, char *block, int backward)
        : ring(args.ring), shared(block + (args.team.memory ? 0 : (int64_t)blockDim.y * args.team.slice)), first(0), steps(0), windows(0), asked(0), turned(0), ask(0),
          stage(0), parity(0), own(0), step(0), inside(0), back(backward)
    {
        ks_ring_constants(ring, shared, (int)(threadIdx.y * blockDim.x + threadIdx.x),
                          (int)(blockDim.x * blockDim.y));
        if (ks_team_lane() == 0)
            for (int s = 0; s < ring.stages; ++s) ks_bulk_init(barrier(s), 1);
        __syncthreads();
    }

    KS_DEVICE_MEMBER ks_bulk_barrier *barrier(int s) const
    {
        return reinterpret_cast<ks_bulk_barrier *>(shared) + (int)threadIdx.y * ring.stages + s;
    }
    KS_DEVICE_MEMBER int stage_at(int s) const
    {
        return ring.slots + (int)threadIdx.y * ring.slot + s * ring.stage;
    }
    KS_DEVICE_MEMBER int next(int s) const { return s + 1 == ring.stages ? 0 : s + 1; }
    /** Index in the chunk of the window that is visited as number `visit`. */
    KS_DEVICE_MEMBER int window_of(int visit) const { return back ? windows - 1 - visit : visit; }

    /** Request the next window. The whole team must have read the window in its place. */
    KS_DEVICE_MEMBER void bring()
    {
        const int behind = window_of(asked) * ring.window, left = steps - behind;
        if (ks_team_lane() == 0) {
            /* Order the team's reads before the writes of the copy engine. */
            ks_bulk_fence();
            unsigned bytes = 0;
            for (int a = 0; a < KS_RING_ARRAYS; ++a) {
                const ks_ring_rows &r = ring.rows[a];
                if (!r.stride) continue;
                const ks_window w = ks_window_of(r, first + behind, left < ring.window ? left : ring.window);
                bytes += ks_window_bring(w, shared + stage_at(ask) + r.at, barrier(ask));
            }
            ks_bulk_arrive(barrier(ask), bytes);
        }
        ask = next(ask);
        ++asked;
    }

    /** Wait for the next window. */
    KS_DEVICE_MEMBER void take()
    {
        ks_bulk_wait(barrier(stage), (unsigned)parity);
        own = stage_at(stage);
        stage = next(stage);
        parity ^= stage == 0;
        ++turned;
    }

    /** Begin a chunk whose first step is `of_chunk`, of which turn() will go to `count` steps. The team must have
     *  finished the chunk before. */
    KS_DEVICE_MEMBER void begin(int64_t of_chunk, int64_t count)
    {
        first = of_chunk;
        steps = (int)count;
        windows = (steps + ring.window - 1) / ring.window;
        asked = turned = 0;
        while (asked < windows && asked < ring.stages) bring();
    }

    /** Go to step i of the chunk: the next one, or the one before if `back`. The team must have synchronized since it
     *  last read rows, as it does after every load. */
    KS_DEVICE_MEMBER void turn(int64_t i)
    {
        inside = (int)i & (ring.window - 1);
        const int behind = (int)i - inside;
        if (turned > 0) {
            if (window_of(turned - 1) * ring.window == behind) return;
            if (asked < windows) bring();
        }
        take();
        step = (int)(first + behind);
    }

    /** Wait for all requested windows, even those that are not read: a block must not end before its copies. */
    KS_DEVICE_MEMBER void end()
    {
        while (turned < asked) take();
    }

    KS_DEVICE_MEMBER const void *row(int a) const
    {
        const ks_ring_rows &r = ring.rows[a];
        const int stride = (int)r.stride;
        const unsigned ahead = ks_window_ahead(r, step);
        return shared + (stride ? own + r.at + (int)ahead + inside * stride : r.at);
    }
    KS_ROWS_BY_NAME
};

#endif
