/* team_meet_kernels.h -- device code: the two-filter smoother's way back over chunks of larger models, a team of
 * threads for each, in double with rows of either number. Included behind team_kernels.h. */
#include "num_team_f64.h"
#include "element_ordinary_text.h"
#include "information_ordinary_text.h"
#include "team_meet_text.h"
#include "num_team_end.h"

#define MEET(suffix, number)                                                                        \
    KS_KERNEL_BOUNDS(KS_TEAM(meet_##suffix), ks_team_args, KS_MOST_TEAM, 1)                         \
    {                                                                                               \
        KS_DYNAMIC_SHARED(char, shared);                                                            \
        char *const room = room_of(args, shared);                                                   \
        if (args.status->phase < args.phase) return;                                                \
        ks_tally tally = ks_tally_start();                                                          \
        KS_ROWS rows(args, shared, 1);                                                              \
        for (int64_t c = FIRST_CHUNK; c < args.chunks.chunks; c += ks_team_count()) {               \
            if (args.chunks.hard_rerun[c]) continue;                                                \
            const bool done = team_meet_team_f64<number>(args.chunks, rows, c, room);               \
            rows.end();                                                                             \
            if (done) tally.elements += steps_of(args.chunks, c) - 1;                               \
            ks_team_sync();                                                                         \
            if (!done && ks_team_lane() == 0) args.chunks.hard_rerun[c] = KS_HARD_SMOOTH;           \
        }                                                                                           \
        report(tally, args);                                                                        \
    }
MEET(f64, double)
MEET(f32, float)
