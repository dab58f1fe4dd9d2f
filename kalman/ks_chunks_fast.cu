// ks_chunks_fast.cu -- chunks of small models, a thread and its registers for each.
#include <string.h>
#include "chunk_kernels.h"
#include "gpu/kernel.h"
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
#include "sensitivity_text.h"
#include "fast_chunk_text.h"
#include "num_end.h"

#include "num_f32.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "element_text.h"
#include "memo_text.h"
#include "range_text.h"
#include "sensitivity_text.h"
#include "fast_chunk_text.h"
#include "num_end.h"

KS_DEVICE int64_t steps_of(const ks_chunk_arrays &c, int64_t chunk)
{
    const int64_t left = c.a.series.steps - chunk * c.size;
    return left < c.size ? left : c.size;
}

// What a chunk that is done adds to the tally of its thread.
KS_DEVICE void add(const ks_tally &of_chunk, ks_tally *tally)
{
    tally->ordinary += of_chunk.ordinary;
    tally->missing += of_chunk.missing;
}

#define ABSORB(suffix, N, M)                                                                        \
    KS_KERNEL_BOUNDS(ks_fast_absorb_##suffix##_##N##_##M, ks_fast_args, KS_SCAN_THREADS, 1)         \
    {                                                                                               \
        ks_tally tally = ks_tally_start();                                                          \
        for (int64_t c = args.chunks.begin + ks_grid_thread(); c < args.chunks.chunks; c += ks_grid_threads()) {        \
            const bool done = fast_absorb_##suffix<N, M>(args.chunks, c);                           \
            args.chunks.hard_absorb[c] = done ? 0 : KS_HARD;                                                     \
            if (done) tally.elements += steps_of(args.chunks, c);                                   \
        }                                                                                           \
        ks_report(tally, args.status, args.phase);                                                  \
    }
#define RERUN(suffix, N, M, name, smooth)                                                           \
    KS_KERNEL_BOUNDS(ks_fast_##name##_##suffix##_##N##_##M, ks_fast_args, KS_SCAN_THREADS, 1)       \
    {                                                                                               \
        if (args.status->phase < args.phase) return;                                                \
        ks_tally tally = ks_tally_start();                                                          \
        for (int64_t c = args.chunks.begin + ks_grid_thread(); c < args.chunks.chunks; c += ks_grid_threads()) {        \
            ks_tally of_chunk = ks_tally_start();                                                   \
            const bool done = fast_rerun_##suffix<N, M, smooth>(args.chunks, c, &of_chunk);         \
            args.chunks.hard_rerun[c] = done ? 0 : KS_HARD;                                                      \
            if (done) add(of_chunk, &tally);                                                        \
        }                                                                                           \
        ks_report(tally, args.status, args.phase);                                                  \
    }
#define SMOOTH(suffix, N)                                                                           \
    KS_KERNEL_BOUNDS(ks_fast_smooth_##suffix##_##N, ks_fast_args, KS_SCAN_THREADS, 1)               \
    {                                                                                               \
        if (args.status->phase < args.phase) return;                                                \
        ks_tally tally = ks_tally_start();                                                          \
        for (int64_t c = args.chunks.begin + ks_grid_thread(); c < args.chunks.chunks; c += ks_grid_threads()) {        \
            if (args.chunks.hard_rerun[c]) continue;                                                \
            if (fast_smooth_##suffix<N>(args.chunks, c))                                            \
                tally.ordinary += steps_of(args.chunks, c) - 1;                                     \
            else                                                                                    \
                args.chunks.hard_rerun[c] = KS_HARD_SMOOTH;                                         \
        }                                                                                           \
        ks_report(tally, args.status, args.phase);                                                  \
    }
#define KERNELS(suffix, N, M)                                                                       \
    ABSORB(suffix, N, M)                                                                            \
    RERUN(suffix, N, M, filter, false)                                                              \
    RERUN(suffix, N, M, keep, true)

KERNELS(f64, 2, 2)
KERNELS(f64, 4, 2)
KERNELS(f32, 2, 2)
KERNELS(f32, 4, 2)
KERNELS(f32, 4, 4)
KERNELS(f32, 6, 2)
KERNELS(f32, 6, 4)
SMOOTH(f64, 2)
SMOOTH(f64, 4)
SMOOTH(f32, 2)
SMOOTH(f32, 4)
SMOOTH(f32, 6)
