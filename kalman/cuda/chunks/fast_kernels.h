/* fast_kernels.h -- device code: the kernels for chunks of small models, one thread and its registers for each chunk.
 * The includer defines KS_FAST(name), the name of a kernel, and KS_ROWS, the class that supplies rows (rows_there.h,
 * rows_ring.h). */
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

/* The chunk of a thread: at least as many threads as chunks are launched. Where the threads of a warp take steps
 * together, those without a chunk take part, too. */
#define THE_CHUNK(c)                                                                                \
    const int64_t c = args.chunks.begin + ks_grid_thread();                                         \
    if (rows.any(c, args.chunks.chunks))

/* Add the tally of a completed chunk to that of its thread. */
KS_DEVICE void add(const ks_tally &of_chunk, ks_tally *tally)
{
    tally->ordinary += of_chunk.ordinary;
    tally->missing += of_chunk.missing;
}

/* Least number of blocks that a multiprocessor must have room for. Kernels of two states need few enough registers for
 * two blocks. */
#define BESIDE(N) ((N) == 2 ? 2 : 1)

/* `text` is the arithmetic, `number` the type of rows. The sums of fast_sensitive_step() are in registers, or in shared
 * memory where registers are too few. They are volatile there: otherwise nvcc keeps them in registers all the same. */
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
            if (done) tally.elements += ks_chunk_steps(&args.chunks, c);                            \
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
                tally.ordinary += ks_chunk_steps(&args.chunks, c) - 1;                              \
            else if (wanted)                                                                        \
                args.chunks.hard_rerun[c] = KS_HARD_SMOOTH;                                         \
        }                                                                                           \
        ks_report_warp(tally, args.status);                                                         \
    }
/* The backward pass of the two-filter smoother, in double with rows of `number`. */
#define MEET(suffix, number, N, M)                                                                  \
    KS_KERNEL_BOUNDS(KS_FAST(meet_##suffix##_##N##_##M), ks_fast_args, KS_SCAN_THREADS, 1)          \
    {                                                                                               \
        if (ks_failed_before(args.status, args.phase)) return;                                      \
        ks_tally tally = ks_tally_start();                                                          \
        KS_ROWS rows(args, 1);                                                                      \
        THE_CHUNK(c) {                                                                             \
            const bool wanted = c < args.chunks.chunks && !args.chunks.hard_rerun[c];               \
            if (fast_meet_f64<N, M, number>(args.chunks, rows, c, wanted))                          \
                tally.elements += ks_chunk_steps(&args.chunks, c) - 1;                              \
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
/* Let x be the estimate that a chunk really begins from. If x is far from zero, b + A x and eta - J x are small
 * differences of large numbers. So these are in double, as in mixed precision, as far as registers allow. */
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
