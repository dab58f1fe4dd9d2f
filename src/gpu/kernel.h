/* kernel.h -- the macros and functions that device code is written with.
 *
 *     typedef struct ks_axpy_args { int64_t n; double a; const double *x; double *y; } ks_axpy_args;
 *     KS_KERNEL(ks_axpy, ks_axpy_args)
 *     {
 *         for (int64_t i = ks_grid_thread(); i < args.n; i += ks_grid_threads())
 *             args.y[i] += args.a * args.x[i];
 *     }
 *
 * A source NAME.cu is compiled by nvcc for the device and by the host's C++ compiler for the emulated device of the
 * tests. It may use what this header declares, threadIdx, blockIdx, blockDim, gridDim, __syncthreads(), __syncwarp(),
 * __shfl_*_sync(), __ballot_sync() and its like, and the atomics. A kernel has one argument, the structure `args`, and
 * extern "C" linkage: its name is what ks_gpu_find() takes. All threads of a block run to its end; none may return
 * before a barrier. */
#ifndef KS_GPU_KERNEL_H
#define KS_GPU_KERNEL_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#  include <cooperative_groups.h>

/** A function that only device code calls. */
#  define KS_DEVICE static __device__ __forceinline__

/** As KS_DEVICE, with one copy for all callers, where inlining would only take time to compile. */
#  define KS_DEVICE_COLD static __device__ __noinline__

/** As KS_DEVICE, for a member function. */
#  define KS_DEVICE_MEMBER __device__ __forceinline__

/** A kernel with one argument `args` of type `args_type`. */
#  define KS_KERNEL(name, args_type) \
      extern "C" __global__ void name(const __grid_constant__ args_type args)

/** As KS_KERNEL, for blocks of at most `threads` threads, `blocks` of which are resident on a multiprocessor. */
#  define KS_KERNEL_BOUNDS(name, args_type, threads, blocks) \
      extern "C" __global__ void __launch_bounds__(threads, blocks) \
          name(const __grid_constant__ args_type args)

/** An array of `count` items in shared memory, in a kernel or in a function that it calls. */
#  define KS_SHARED(type, name, count) __shared__ type name[count]

/** The dynamic shared memory of the launch, aligned to 128 bytes. */
#  define KS_DYNAMIC_SHARED(type, name)                         \
      extern __shared__ __align__(128) unsigned char ks_dynamic[]; \
      type *name = reinterpret_cast<type *>(ks_dynamic)

/** Return the same pointer, which must be a multiple of `bytes`, a literal. The compiler may then move what it points
 *  to in words of that size. */
#  define ks_aligned(pointer, bytes) __builtin_assume_aligned(pointer, bytes)

/** Wait for all blocks of a cooperative launch. Writes before the barrier are visible after it. */
KS_DEVICE void ks_grid_sync(void) { cooperative_groups::this_grid().sync(); }

/** Relaxed access to a word of up to eight bytes that other threads write at the same time. A load returns any of the
 *  values that the word has had; the last store remains. */
template <class T> KS_DEVICE T ks_relaxed_load(const T *p) { return *static_cast<const volatile T *>(p); }
template <class T> KS_DEVICE void ks_relaxed_store(T *p, T value) { *static_cast<volatile T *>(p) = value; }

/** Whether all lanes of the warp are here, which takes one instruction to find out. Collectives of some lanes, named by
 *  a mask that is known only at run time, may be those of the whole warp then; for such a mask the compiler compares
 *  the masks of all lanes each time. Before compute capability 9.0, where the kernels of block-tridiagonal systems have
 *  no register left to find out, and on an emulated device the answer is false, known to the compiler. */
KS_DEVICE bool ks_whole_warp(void)
{
#  if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    return false;
#  else
    return __activemask() == ~0u;
#  endif
}

/** __syncwarp() of the lanes in `mask`, which is known only at run time. */
KS_DEVICE void ks_lanes_sync(unsigned mask)
{
    if (ks_whole_warp()) __syncwarp();
    else __syncwarp(mask);
}

/** Return threadIdx.x, read at this place. In a kernel that does several pieces of work in turn, the compiler would
 *  otherwise compute all values that depend on threadIdx.x once at the start and keep them, which takes more registers
 *  than there are. */
KS_DEVICE int ks_thread_anew(void)
{
    int thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    __builtin_assume(thread >= 0 && thread < 1024);
    return thread;
}
#else
#  include "emulated_kernel.h"
KS_DEVICE bool ks_whole_warp(void) { return false; }
KS_DEVICE void ks_lanes_sync(unsigned mask) { __syncwarp(mask); }
KS_DEVICE int ks_thread_anew(void) { return (int)threadIdx.x; }
#endif

/** Return the number of this thread in a one-dimensional grid, and the number of threads in the grid. */
KS_DEVICE int64_t ks_grid_thread(void)
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}
KS_DEVICE int64_t ks_grid_threads(void) { return (int64_t)gridDim.x * blockDim.x; }

#include "kernel_async.h"
#include "kernel_bulk.h"
#include "kernel_mma.h"

#endif
