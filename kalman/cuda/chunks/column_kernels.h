/* column_kernels.h -- device code: the kernels for chunks of models that a team of threads holds by columns. The
 * includer defines KS_COLUMNS, the threads of a team and most states; KS_ENTRIES, most entries; and how many blocks
 * registers are to leave room for on a multiprocessor, KS_BESIDE_DOUBLE and KS_BESIDE_SINGLE. */
#include "columns.h"
#include "hd.h"
#include "rows_there.h"
#include "scan_report.h"
#include "team.h"

#include "num_column_f64.h"
#include "column_smallmat_text.h"
#include "step_text.h"
#include "column_gain_text.h"
#include "mean_step_text.h"
#include "chunk_step_text.h"
#include "sensitivity_text.h"
#include "sensitive_step_text.h"
#include "column_chunk_text.h"
#include "num_column_end.h"

#include "num_column_f32.h"
#include "column_smallmat_text.h"
#include "step_text.h"
#include "column_gain_text.h"
#include "mean_step_text.h"
#include "chunk_step_text.h"
#include "sensitivity_text.h"
#include "sensitive_step_text.h"
#include "column_chunk_text.h"
#include "num_column_end.h"

#include "num_column_mixed.h"
#include "column_smallmat_text.h"
#include "column_gain_text.h"
#include "mean_step_text.h"
#include "chunk_step_text.h"
#include "sensitivity_text.h"
#include "sensitive_step_text.h"
#include "column_chunk_text.h"
#include "num_column_end.h"

/* The chunks of a team, c one after the other: all teams of a warp take part while one of them has one. */
#define EACH_CHUNK(c)                                                                               \
    for (int64_t c = args.chunks.begin + ks_team_number(); ks_columns_any(c < args.chunks.chunks); c += ks_team_count())

KS_DEVICE void report(const ks_tally &tally, const ks_team_args &args)
{
    if (ks_column() == 0) ks_report(tally, args.status, args.phase);
}

#define ABSORB_OF(suffix, text, number, N, M, beside)                                               \
    KS_KERNEL_BOUNDS(ks_column_absorb_##suffix##_##N##_##M, ks_team_args, KS_COLUMN_THREADS, beside) \
    {                                                                                               \
        ks_tally tally = ks_tally_start();                                                          \
        const ks_rows_there rows(args, NULL, 0);                                                    \
        EACH_CHUNK(c) {                                                                             \
            const bool done = column_absorb_column_##text<N, M, number>(args.chunks, rows, c);      \
            if (ks_column() == 0 && c < args.chunks.chunks) args.chunks.hard_absorb[c] = done ? 0 : KS_HARD; \
            if (done) tally.elements += ks_chunk_steps(&args.chunks, c);                            \
        }                                                                                           \
        report(tally, args);                                                                        \
    }
#define FILTER_OF(suffix, N, M, beside)                                                             \
    KS_KERNEL_BOUNDS(ks_column_filter_##suffix##_##N##_##M, ks_team_args, KS_COLUMN_THREADS, beside) \
    {                                                                                               \
        if (ks_columns_any(ks_failed_before(args.status, args.phase))) return;                      \
        ks_tally tally = ks_tally_start();                                                          \
        const ks_rows_there rows(args, NULL, 0);                                                    \
        EACH_CHUNK(c) {                                                                             \
            const bool done = column_rerun_column_##suffix<N, M>(args.chunks, rows, c, &tally);     \
            if (ks_column() == 0 && c < args.chunks.chunks) args.chunks.hard_rerun[c] = done ? 0 : KS_HARD; \
        }                                                                                           \
        report(tally, args);                                                                        \
    }
#define SMOOTH_OF(suffix, N, beside)                                                                \
    KS_KERNEL_BOUNDS(ks_column_smooth_##suffix##_##N, ks_team_args, KS_COLUMN_THREADS, beside)      \
    {                                                                                               \
        if (ks_columns_any(ks_failed_before(args.status, args.phase))) return;                      \
        ks_tally tally = ks_tally_start();                                                          \
        const ks_rows_there rows(args, NULL, 0);                                                    \
        EACH_CHUNK(c) {                                                                             \
            const bool wanted = c < args.chunks.chunks && !args.chunks.hard_rerun[c];               \
            const bool done = column_smooth_column_##suffix<N>(args.chunks, rows, c, wanted);       \
            if (done) tally.ordinary += ks_chunk_steps(&args.chunks, c) - 1;                        \
            if (wanted && !done && ks_column() == 0) args.chunks.hard_rerun[c] = KS_HARD_SMOOTH;    \
        }                                                                                           \
        report(tally, args);                                                                        \
    }
/* Sizes are macros, which are replaced before names are made of them. */
#define ABSORB(suffix, text, number, N, M, beside) ABSORB_OF(suffix, text, number, N, M, beside)
#define FILTER(suffix, N, M, beside)               FILTER_OF(suffix, N, M, beside)
#define SMOOTH(suffix, N, beside)                  SMOOTH_OF(suffix, N, beside)

ABSORB(f64, f64, double, KS_COLUMNS, KS_ENTRIES, KS_BESIDE_DOUBLE)
ABSORB(f32, mixed, float, KS_COLUMNS, KS_ENTRIES, KS_BESIDE_SINGLE) /* for the reason given in fast_kernels.h */
ABSORB(mixed, mixed, double, KS_COLUMNS, KS_ENTRIES, KS_BESIDE_SINGLE)
FILTER(f64, KS_COLUMNS, KS_ENTRIES, KS_BESIDE_DOUBLE)
FILTER(f32, KS_COLUMNS, KS_ENTRIES, KS_BESIDE_SINGLE)
FILTER(mixed, KS_COLUMNS, KS_ENTRIES, KS_BESIDE_SINGLE)
SMOOTH(f64, KS_COLUMNS, KS_BESIDE_DOUBLE)
SMOOTH(f32, KS_COLUMNS, KS_BESIDE_SINGLE)
SMOOTH(mixed, KS_COLUMNS, KS_BESIDE_SINGLE)
