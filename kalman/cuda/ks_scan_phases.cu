// ks_scan_phases.cu -- the phases of the scan methods on a device: a thread does what a worker does on the CPU, by the
// same text.
#include "gpu/kernel.h"
#include "plain_f64.h"
#include "scan_report.h"

typedef void (*step_function)(const ks_scan_arrays *, ks_scan_worker *, int64_t);

// Return the first of a thread's steps, from k on, that is left to do.
KS_DEVICE int64_t next_step(const ks_scan_phase_args &args, int64_t k)
{
    while (k < args.end && args.hard && !args.hard[k]) k += ks_grid_threads();
    return k;
}

template <step_function Step> KS_DEVICE void run_steps(const ks_scan_phase_args &args, void *memory)
{
    // After a phase has failed, later ones have no input.
    if (ks_failed_before(args.status, args.phase)) return;
    const ks_scan_arrays *a = &args.arrays;
    int64_t k = next_step(args, args.first + ks_grid_thread());
    if (k >= args.end) return;
    ks_scan_worker w;
    ks_carver carver = ks_carver_at(memory);
    ks_carve_scan_worker(&carver, a->series.nx, a->series.ny, a->single, args.scratch, &w);
    for (; k < args.end && w.tally.bad_step < 0; k = next_step(args, k + ks_grid_threads())) Step(a, &w, k);
    ks_carve_end(&carver);
    ks_report(w.tally, args.status, args.phase);
    if (w.doubts) atomicAdd(&args.status->doubts, 1ull);
    ks_report_moves(w.moves, args.status);
}

// One kernel for both kinds of memory: nvcc compiles everything that a kernel calls anew for each kernel.
#define PHASE(name)                                                                                 \
    KS_KERNEL_BOUNDS(ks_phase_##name, ks_scan_phase_args, KS_SCAN_THREADS, 1)                       \
    {                                                                                               \
        double own[KS_SCAN_SMALL / sizeof(double)];                                                 \
        run_steps<ks_##name##_step>(args, args.slice ? (void *)(args.memory + ks_grid_thread() * args.slice) : own); \
    }
KS_SCAN_PHASES(PHASE)

// The order of additions depends on the count alone.
KS_KERNEL_BOUNDS(ks_scan_sum, ks_scan_sum_args, KS_SCAN_THREADS, 1)
{
    KS_SHARED(double, partial, KS_SCAN_THREADS);
    double sum = 0;
    for (int64_t i = ks_grid_thread(); i < args.count; i += ks_grid_threads()) sum += args.from[i];
    partial[threadIdx.x] = sum;
    for (unsigned half = KS_SCAN_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    }
    if (threadIdx.x == 0) args.to[blockIdx.x] = partial[0];
}

KS_KERNEL_BOUNDS(ks_scan_pack, ks_scan_pack_args, KS_SCAN_THREADS, 1)
{
    unsigned *const to = reinterpret_cast<unsigned *>(args.to);
    for (int64_t i = ks_grid_thread(); i < args.count * args.words; i += ks_grid_threads()) {
        const int64_t row = i / args.words;
        to[i] = reinterpret_cast<const unsigned *>(args.from + row * args.stride)[i - row * args.words];
    }
}
