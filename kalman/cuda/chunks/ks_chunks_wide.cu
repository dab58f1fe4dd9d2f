// ks_chunks_wide.cu -- chunks of small models in single precision with a filter step that has no ordinary form there.
// The steps are taken in double, by one thread and its registers for each chunk, with rows and results in single
// precision. Chunks that have no ordinary form in double either are left to the kernels for any model.
#include <string.h>
#include "rows_there.h"
#include "hd.h"
#include "scan_report.h"

#define KS_WITHOUT_MEMO
#include "num_f64.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "element_text.h"
#include "memo_text.h"
#include "range_text.h"
#include "gain_text.h"
#include "mean_step_text.h"
#include "chunk_step_text.h"
#include "sensitivity_text.h"
#include "fast_chunk_text.h"
#include "num_end.h"

// What is left to do of a chunk, by its flag; 0 if there is no such chunk.
KS_DEVICE int left_of(const ks_chunk_arrays &c, const unsigned char *flags, int64_t chunk)
{
    return chunk < c.chunks ? flags[chunk] : 0;
}

#define THE_CHUNK const int64_t chunk = args.chunks.begin + ks_grid_thread()

#define ABSORB(N, M)                                                                                \
    KS_KERNEL_BOUNDS(ks_wide_absorb_f32_##N##_##M, ks_fast_args, KS_SCAN_THREADS, 1)                \
    {                                                                                               \
        const ks_chunk_arrays &c = args.chunks;                                                     \
        ks_tally tally = ks_tally_start();                                                          \
        ks_rows_there rows(args, 0);                                                                \
        double told[KS_FAST_TOLD(N)];                                                               \
        THE_CHUNK;                                                                                  \
        if (left_of(c, c.hard_absorb, chunk) && fast_absorb_f64<N, M, float, 1>(c, rows, chunk, told)) { \
            const int64_t left = c.a.series.steps - chunk * c.size;                                 \
            c.hard_absorb[chunk] = 0;                                                               \
            tally.elements += left < c.size ? left : c.size;                                        \
        }                                                                                           \
        ks_report(tally, args.status, args.phase);                                                  \
    }
#define RERUN(N, M, name, smooth)                                                                   \
    KS_KERNEL_BOUNDS(ks_wide_##name##_f32_##N##_##M, ks_fast_args, KS_SCAN_THREADS, 1)              \
    {                                                                                               \
        const ks_chunk_arrays &c = args.chunks;                                                     \
        if (ks_failed_before(args.status, args.phase)) return;                                      \
        ks_tally tally = ks_tally_start(), of_chunk = ks_tally_start();                             \
        ks_rows_there rows(args, 0);                                                                \
        THE_CHUNK;                                                                                  \
        if (left_of(c, c.hard_rerun, chunk) &&                                                      \
            fast_rerun_f64<N, M, smooth, float, float>(c, rows, chunk, &of_chunk)) {                \
            c.hard_rerun[chunk] = 0;                                                                \
            tally.ordinary += of_chunk.ordinary;                                                    \
            tally.missing += of_chunk.missing;                                                      \
        }                                                                                           \
        ks_report(tally, args.status, args.phase);                                                  \
    }
ABSORB(2, 2)
ABSORB(4, 2)
RERUN(2, 2, filter, false)
RERUN(4, 2, filter, false)
RERUN(2, 2, keep, true)
RERUN(4, 2, keep, true)
