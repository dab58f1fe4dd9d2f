/* map_alone.h -- device code: a thread for each segment of small models, with its data in registers. The texts are
 * those of teams (team.h) with literal sizes. With four states a thread has too few registers, so ranges and results
 * are in shared memory. Each thread's part of it is an odd number of doubles, so that threads have no bank conflicts.
 *
 * ks_map_alone.cu includes this once for each size, with KS_ALONE_STATES and KS_ALONE_ENTRIES. */
#include "num_f64.h"
#undef KS_T
#define KS_T(name) KS_ALONE_T(name, KS_ALONE_STATES, KS_ALONE_ENTRIES)
#include "smallmat_text.h"
#include "map_factor_text.h"
#include "map_terms_text.h"
#include "map_segment_text.h"
#include "map_team_text.h"
#include "map_review_team_text.h"
#include "map_segment_team_text.h"

#define KS_ALONE_KERNEL(name, what)                                                                 \
    KS_ALONE_BOUNDS(KS_ALONE_N(ks_map_##name, KS_ALONE_STATES, KS_ALONE_ENTRIES))                   \
    {                                                                                               \
        enum { n = KS_ALONE_STATES, m = KS_ALONE_ENTRIES };                                         \
        double room[18 * n * n + 11 * n + 3 * m * n + 2 * m * m + 4 * m + 1];                       \
        KS_DYNAMIC_SHARED(double, shared);                                                          \
        double *const far = n > 3 ? shared + (int)threadIdx.x * ks_map_far_numbers(n) : nullptr;    \
        ks_tally tally = ks_tally_start();                                                          \
        if (ks_failed_before(args.status, args.phase)) return;                                      \
        for (int64_t piece = ks_grid_thread(); piece < args.count && tally.bad_step < 0;            \
             piece += ks_grid_threads())                                                            \
            what;                                                                                   \
        if (args.side || args.phase != KS_MAP_REDUCE) tally.missing = 0;                            \
        ks_report(tally, args.status, args.phase);                                                  \
    }
KS_ALONE_KERNEL(reduce, KS_T(map_reduce)(args, piece, room, far, &tally))
KS_ALONE_KERNEL(rerun, KS_T(map_rerun)(args, piece, room, far))
KS_ALONE_KERNEL(review, KS_T(map_review)(args, piece, room, far, &tally))
#undef KS_ALONE_KERNEL
#undef KS_REST
#undef KS_STATES
#undef KS_ENTRIES
#include "num_end.h"
#undef KS_ALONE_STATES
#undef KS_ALONE_ENTRIES
