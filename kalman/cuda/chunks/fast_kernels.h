/* fast_kernels.h -- device code: the kernels of chunks of small models, a thread and its registers for each. The
 * includer defines KS_FAST(name), the name of a kernel, and KS_ROWS, what brings it its rows: rows_there.h,
 * rows_ring.h. */
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
#include "gain_text.h"
#include "mean_step_text.h"
#include "chunk_step_text.h"
#include "sensitivity_text.h"
#include "fast_chunk_text.h"
#include "information_text.h"
#include "fast_meet_text.h"
#include "num_end.h"

#include "num_f32.h"
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

#include "num_mixed.h"
#include "smallmat_text.h"
#include "gain_text.h"
#include "mean_step_text.h"
#include "chunk_step_text.h"
#include "sensitivity_text.h"
#include "fast_chunk_text.h"
#include "num_end.h"

/* The chunk of a thread, or with threads of a warp that turn together perhaps none: as many are launched as there
 * are chunks. */
#define THE_CHUNK(c)                                                                                \
    const int64_t c = args.chunks.begin + ks_grid_thread();                                         \
    if (rows.any(c, args.chunks.chunks))

KS_DEVICE int64_t steps_of(const ks_chunk_arrays &c, int64_t chunk)
{
    const int64_t left = c.a.series.steps - chunk * c.size;
    return left < c.size ? left : c.size;
}

/* What a chunk that is done adds to the tally of its thread. */
KS_DEVICE void add(const ks_tally &of_chunk, ks_tally *tally)
{
    tally->ordinary += of_chunk.ordinary;
    tally->missing += of_chunk.missing;
}

/* Blocks that a multiprocessor has room for at least: registers of two states are few enough for two. */
#define BESIDE(N) ((N) == 2 ? 2 : 1)

/* By `text`, with rows of `number`. What fast_sensitive_step() sums up stands in registers, or where there are not enough in
 * shared memory; as volatile, or nvcc keeps it in registers all the same. */
#define IN_REGISTERS(N)                                                                             \
    double told[KS_FAST_TOLD(N)];                                                                   \
    enum { APART = 1 }
#define IN_SHARED(N)                                                                                \
    KS_SHARED(double, sums, KS_FAST_TOLD(N) * KS_CHUNK_THREADS);                                    \
    volatile double *const told = sums + threadIdx.x;                                               \
    enum { APART = KS_CHUNK_THREADS }
#define ABSORB(suffix, text, number, N, M, place)                                                   \
    KS_KERNEL_BOUNDS(KS_FAST(absorb_##suffix##_##N##_##M), ks_fast_args, KS_SCAN_THREADS, BESIDE(N)) \
    {                                                                                               \
        place(N);                                                                                   \
        ks_tally tally = ks_tally_start();                                                          \
        KS_ROWS rows(args, 0);                                                                      \
        THE_CHUNK(c) {                                                                              \
            const bool done = fast_absorb_##text<N, M, number, APART>(args.chunks, rows, c, told);  \
            if (c < args.chunks.chunks) args.chunks.hard_absorb[c] = done ? 0 : KS_HARD;            \
            if (done) tally.elements += steps_of(args.chunks, c);                                   \
        }                                                                                           \
        ks_report_warp(tally, args.status);                                                         \
    }
#define RERUN(suffix, N, M, name, smooth)                                                           \
    KS_KERNEL_BOUNDS(KS_FAST(name##_##suffix##_##N##_##M), ks_fast_args, KS_SCAN_THREADS, BESIDE(N)) \
    {                                                                                               \
        if (ks_failed_before(args.status, args.phase)) return;                                      \
        ks_tally tally = ks_tally_start();                                                          \
        KS_ROWS rows(args, 0);                                                                      \
        THE_CHUNK(c) {                                                                             \
            ks_tally of_chunk = ks_tally_start();                                                   \
            const bool done = fast_rerun_##suffix<N, M, smooth>(args.chunks, rows, c, &of_chunk);   \
            if (c < args.chunks.chunks) args.chunks.hard_rerun[c] = done ? 0 : KS_HARD;             \
            if (done) add(of_chunk, &tally);                                                        \
        }                                                                                           \
        ks_report_warp(tally, args.status);                                                         \
    }
#define SMOOTH(suffix, N)                                                                           \
    KS_KERNEL_BOUNDS(KS_FAST(smooth_##suffix##_##N), ks_fast_args, KS_SCAN_THREADS, BESIDE(N))      \
    {                                                                                               \
        if (ks_failed_before(args.status, args.phase)) return;                                      \
        ks_tally tally = ks_tally_start();                                                          \
        KS_ROWS rows(args, 1);                                                                      \
        THE_CHUNK(c) {                                                                             \
            const bool wanted = c < args.chunks.chunks && !args.chunks.hard_rerun[c];               \
            if (fast_smooth_##suffix<N>(args.chunks, rows, c, wanted))                              \
                tally.ordinary += steps_of(args.chunks, c) - 1;                                     \
            else if (wanted)                                                                        \
                args.chunks.hard_rerun[c] = KS_HARD_SMOOTH;                                         \
        }                                                                                           \
        ks_report_warp(tally, args.status);                                                         \
    }
/* The two-filter smoother's way back, in double with rows of `number`. */
#define MEET(suffix, number, N, M)                                                                  \
    KS_KERNEL_BOUNDS(KS_FAST(meet_##suffix##_##N##_##M), ks_fast_args, KS_SCAN_THREADS, 1)          \
    {                                                                                               \
        if (ks_failed_before(args.status, args.phase)) return;                                      \
        ks_tally tally = ks_tally_start();                                                          \
        KS_ROWS rows(args, 1);                                                                      \
        THE_CHUNK(c) {                                                                             \
            const bool wanted = c < args.chunks.chunks && !args.chunks.hard_rerun[c];               \
            if (fast_meet_f64<N, M, number>(args.chunks, rows, c, wanted))                          \
                tally.elements += steps_of(args.chunks, c) - 1;                                     \
            else if (wanted)                                                                        \
                args.chunks.hard_rerun[c] = KS_HARD_SMOOTH;                                         \
        }                                                                                           \
        ks_report_warp(tally, args.status);                                                         \
    }
#define RERUNS(suffix, N, M)                                                                        \
    RERUN(suffix, N, M, filter, false)                                                              \
    RERUN(suffix, N, M, keep, true)
ABSORB(f64, f64, double, 2, 2, IN_REGISTERS)
ABSORB(f64, f64, double, 4, 2, IN_REGISTERS)
ABSORB(mixed, mixed, double, 2, 2, IN_REGISTERS)
ABSORB(mixed, mixed, double, 4, 2, IN_REGISTERS)
ABSORB(mixed, mixed, double, 4, 4, IN_SHARED)
/* b + A x and eta - J x, where x is what a chunk really began with, are small differences of large numbers where x is far
 * from zero: in double, as those of mixed precision, as far as there are registers for that. */
ABSORB(f32, mixed, float, 2, 2, IN_REGISTERS)
ABSORB(f32, mixed, float, 4, 2, IN_REGISTERS)
ABSORB(f32, mixed, float, 4, 4, IN_SHARED)
ABSORB(f32, f32, float, 6, 2, IN_REGISTERS)
ABSORB(f32, f32, float, 6, 4, IN_SHARED)
RERUNS(f64, 2, 2)
RERUNS(f64, 4, 2)
RERUNS(f32, 2, 2)
RERUNS(f32, 4, 2)
RERUNS(f32, 4, 4)
RERUNS(f32, 6, 2)
RERUNS(f32, 6, 4)
RERUNS(mixed, 2, 2)
RERUNS(mixed, 4, 2)
RERUNS(mixed, 4, 4)
SMOOTH(f64, 2)
SMOOTH(f64, 4)
SMOOTH(f32, 2)
SMOOTH(f32, 4)
SMOOTH(f32, 6)
SMOOTH(mixed, 2)
SMOOTH(mixed, 4)
MEET(f64, double, 2, 2)
MEET(f64, double, 4, 2)
MEET(f32, float, 2, 2)
MEET(f32, float, 4, 2)
MEET(f32, float, 4, 4)
