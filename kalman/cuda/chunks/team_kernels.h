/* team_kernels.h -- device code: the kernels for chunks of larger models, a team of threads for each, see team.h.
 *
 * The includer defines KS_TEAM(name), the name of a kernel; KS_ROWS, the class that supplies rows (rows_there.h,
 * rows_team.h); and KS_TEAM_ROOM, the function that finds a team's memory: ks_team_room() of team.h, or one for shared
 * or the device's memory only. For team_border.h it defines KS_BORDER, the name of the kernel. */
#include <math.h>
#include "chunk_kernels.h"
#include "hd.h"
#include "scan_report.h"
#include "team.h"

#include "num_team_f64.h"
#include "team_smallmat_text.h"
#include "step_text.h"
#include "team_gain_text.h"
#include "mean_step_text.h"
#include "chunk_step_text.h"
#include "sensitivity_text.h"
#include "sensitive_step_text.h"
#include "team_chunk_text.h"
#include "num_team_end.h"

#include "num_team_f32.h"
#include "team_smallmat_text.h"
#include "step_text.h"
#include "team_gain_text.h"
#include "mean_step_text.h"
#include "chunk_step_text.h"
#include "sensitivity_text.h"
#include "sensitive_step_text.h"
#include "team_chunk_text.h"
#include "num_team_end.h"

#include "num_team_mixed.h"
#include "team_smallmat_text.h"
#include "team_gain_text.h"
#include "mean_step_text.h"
#include "chunk_step_text.h"
#include "sensitivity_text.h"
#include "sensitive_step_text.h"
#include "team_chunk_text.h"
#include "num_team_end.h"

/* Report a tally by one thread of each team. */
KS_DEVICE void report(const ks_tally &tally, const ks_team_args &args)
{
    if (ks_team_lane() == 0) ks_report(tally, args.status, args.phase);
}

#define FIRST_CHUNK (args.chunks.begin + ks_team_number())
#define ABSORB(suffix, text, number)                                                                \
    KS_KERNEL_BOUNDS(KS_TEAM(absorb_##suffix), ks_team_args, KS_MOST_TEAM, 1)                       \
    {                                                                                               \
        KS_DYNAMIC_SHARED(char, shared);                                                            \
        char *const room = KS_TEAM_ROOM(args.team, shared);                                         \
        ks_tally tally = ks_tally_start();                                                          \
        KS_ROWS rows(args, shared, 0);                                                              \
        for (int64_t c = FIRST_CHUNK; c < args.chunks.chunks; c += ks_team_count()) {               \
            const bool done = team_absorb_team_##text<number>(args.chunks, rows, c, room);          \
            rows.end();                                                                             \
            if (ks_team_lane() == 0) args.chunks.hard_absorb[c] = done ? 0 : KS_HARD;               \
            if (done) tally.elements += ks_chunk_steps(&args.chunks, c);                            \
        }                                                                                           \
        report(tally, args);                                                                        \
    }
#define FILTER(suffix)                                                                              \
    KS_KERNEL_BOUNDS(KS_TEAM(filter_##suffix), ks_team_args, KS_MOST_TEAM, 1)                       \
    {                                                                                               \
        KS_DYNAMIC_SHARED(char, shared);                                                            \
        char *const room = KS_TEAM_ROOM(args.team, shared);                                         \
        if (ks_failed_before(args.status, args.phase)) return;                                      \
        ks_tally tally = ks_tally_start();                                                          \
        KS_ROWS rows(args, shared, 0);                                                              \
        for (int64_t c = FIRST_CHUNK; c < args.chunks.chunks; c += ks_team_count()) {               \
            ks_tally of_chunk = ks_tally_start();                                                   \
            const bool done = team_rerun_team_##suffix(args.chunks, rows, c, room, &of_chunk);      \
            rows.end();                                                                             \
            if (ks_team_lane() == 0) args.chunks.hard_rerun[c] = done ? 0 : KS_HARD;                \
            if (!done) continue;                                                                    \
            tally.ordinary += of_chunk.ordinary;                                                    \
            tally.missing += of_chunk.missing;                                                      \
        }                                                                                           \
        report(tally, args);                                                                        \
    }
// A backward pass over chunks: `run` does one chunk. All of its steps but the last are counted in tally.counted.
#define BACK(kernel, run, counted)                                                                  \
    KS_KERNEL_BOUNDS(KS_TEAM(kernel), ks_team_args, KS_MOST_TEAM, 1)                                \
    {                                                                                               \
        KS_DYNAMIC_SHARED(char, shared);                                                            \
        char *const room = KS_TEAM_ROOM(args.team, shared);                                         \
        if (ks_failed_before(args.status, args.phase)) return;                                      \
        ks_tally tally = ks_tally_start();                                                          \
        KS_ROWS rows(args, shared, 1);                                                              \
        for (int64_t c = FIRST_CHUNK; c < args.chunks.chunks; c += ks_team_count()) {               \
            if (args.chunks.hard_rerun[c]) continue;                                                \
            const bool done = run(args.chunks, rows, c, room);                                      \
            rows.end();                                                                             \
            if (done) tally.counted += ks_chunk_steps(&args.chunks, c) - 1;                         \
            ks_team_sync();                                                                         \
            if (!done && ks_team_lane() == 0) args.chunks.hard_rerun[c] = KS_HARD_SMOOTH;           \
        }                                                                                           \
        report(tally, args);                                                                        \
    }
#define SMOOTH(suffix) BACK(smooth_##suffix, team_smooth_team_##suffix, ordinary)
#define RERUNS(suffix)                                                                              \
    FILTER(suffix)                                                                                  \
    SMOOTH(suffix)
ABSORB(f64, f64, double)
ABSORB(f32, mixed, float) /* in mixed precision for the reason given in fast_kernels.h */
ABSORB(mixed, mixed, double)
RERUNS(f64)
RERUNS(f32)
RERUNS(mixed)
