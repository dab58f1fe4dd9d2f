/* rows_there.h -- device code: rows of a chunk in the device's memory. rows_ring.h and rows_team.h have the same
 * interface for rows that come through shared memory. */
#ifndef KS_ROWS_THERE_H
#define KS_ROWS_THERE_H

#include "chunk_kernels.h"
#include "gpu/kernel.h"
#include "series_rows.h"

struct ks_rows_there : ks_series_rows {
    /** Whether the threads of a warp take steps together, as many as a full chunk has. */
    enum { TOGETHER = 0 };
    const ks_chunk_arrays &c;

    KS_DEVICE_MEMBER ks_rows_there(const ks_fast_args &args, int) : ks_series_rows(args.chunks.a.series), c(args.chunks) {}
    KS_DEVICE_MEMBER ks_rows_there(const ks_team_args &args, char *, int)
        : ks_series_rows(args.chunks.a.series), c(args.chunks)
    {
    }

    /** Whether this thread, or one that takes steps together with it, has one of `chunks` chunks. */
    KS_DEVICE_MEMBER static bool any(int64_t chunk, int64_t chunks) { return chunk < chunks; }
    /** Begin a chunk with its first step, and for a team the number of its steps; go to step number i of it. */
    KS_DEVICE_MEMBER void begin(int64_t) const {}
    KS_DEVICE_MEMBER void begin(int64_t, int64_t) const {}
    KS_DEVICE_MEMBER void turn(int64_t) const {}
    /** End a chunk; of a team, also one that failed. */
    KS_DEVICE_MEMBER void end() const {}
    /** Threads store results themselves. */
    KS_DEVICE_MEMBER static bool takes_results() { return false; }
    KS_DEVICE_MEMBER static char *result(int) { return nullptr; }
    KS_DEVICE_MEMBER static void take_results() {}

    KS_DEVICE_MEMBER const ks_rows_there &plainly() const { return *this; }
    KS_DEVICE_MEMBER const void *mean(int64_t k) const { return ks_slot_of(c.kept_mean, k); }
    KS_DEVICE_MEMBER const void *cov(int64_t k) const { return ks_slot_of(c.kept_C, k); }
};

#endif
