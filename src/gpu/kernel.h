/* kernel.h -- the words that device code is written in.
 *
 *     typedef struct ks_axpy_args { int64_t n; double a; const double *x; double *y; } ks_axpy_args;
 *     KS_KERNEL(ks_axpy, ks_axpy_args)
 *     {
 *         for (int64_t i = ks_grid_thread(); i < args.n; i += ks_grid_threads())
 *             args.y[i] += args.a * args.x[i];
 *     }
 *
 * A source NAME.cu of kernels is compiled by nvcc for the device and by the host's C++ compiler for
 * the emulated device of the tests, so it uses what stands here, threadIdx, blockIdx, blockDim,
 * gridDim, __syncthreads(), __syncwarp(), __shfl_*_sync(), __ballot_sync() and its like, and the
 * atomics. A kernel has one argument, the structure `args`, and extern "C" linkage: its name is
 * what ks_gpu_find() takes. Threads of a block stay to its end: none returns before a barrier. */
#ifndef KS_GPU_KERNEL_H
#define KS_GPU_KERNEL_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#  include <cooperative_groups.h>

/** Functions that only device code calls. */
#  define KS_DEVICE static __device__ __forceinline__

/** The same, one copy for all who call it: where copies would only take time to compile. */
#  define KS_DEVICE_COLD static __device__ __noinline__

/** As KS_DEVICE inside of a structure. */
#  define KS_DEVICE_MEMBER __device__ __forceinline__

/** A kernel with one argument `args` of type `args_type`. */
#  define KS_KERNEL(name, args_type) \
      extern "C" __global__ void name(const __grid_constant__ args_type args)

/** The same for blocks of at most `threads`, `blocks` of which share a multiprocessor. */
#  define KS_KERNEL_BOUNDS(name, args_type, threads, blocks) \
      extern "C" __global__ void __launch_bounds__(threads, blocks) \
          name(const __grid_constant__ args_type args)

/** An array of `count` in shared memory, in the kernel or in a function that it calls. */
#  define KS_SHARED(type, name, count) __shared__ type name[count]

/** The dynamic shared memory of the launch, aligned to 128 bytes. */
#  define KS_DYNAMIC_SHARED(type, name)                         \
      extern __shared__ __align__(128) unsigned char ks_dynamic[]; \
      type *name = reinterpret_cast<type *>(ks_dynamic)

/** The same pointer, which is a multiple of `bytes`, a literal: what it points to may be moved as one word of them. */
#  define ks_aligned(pointer, bytes) __builtin_assume_aligned(pointer, bytes)

/** A barrier of all blocks of a cooperative launch; writes before it are seen after it. */
KS_DEVICE void ks_grid_sync(void) { cooperative_groups::this_grid().sync(); }

/** A word of up to eight bytes that other threads write meanwhile, with nothing that orders them: which of the values it
 *  has had a reader gets is open, and of writers the last one stays. */
template <class T> KS_DEVICE T ks_relaxed_load(const T *p) { return *static_cast<const volatile T *>(p); }
template <class T> KS_DEVICE void ks_relaxed_store(T *p, T value) { *static_cast<volatile T *>(p) = value; }

/** __syncwarp() of some lanes of a warp, which a mask names that is not known before it runs. For such a mask the compiler writes
 *  a comparison of all lanes' masks each time; where all lanes of the warp are here, which is asked by one instruction,
 *  they wait together. Before compute capability 9.0 kernels of block-tridiagonal systems have no register left to ask. */
KS_DEVICE void ks_lanes_sync(unsigned mask)
{
#  if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    __syncwarp(mask);
#  else
    if (__activemask() == ~0u) __syncwarp();
    else __syncwarp(mask);
#  endif
}

/** threadIdx.x, read at this place. Of a kernel that does one piece of work after another the compiler
 *  otherwise computes what depends on threadIdx.x once before all of them, and keeps more than there are
 *  registers. */
KS_DEVICE int ks_thread_anew(void)
{
    int thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    __builtin_assume(thread >= 0 && thread < 1024);
    return thread;
}
#else
#  include "emulated_kernel.h"
KS_DEVICE void ks_lanes_sync(unsigned mask) { __syncwarp(mask); }
KS_DEVICE int ks_thread_anew(void) { return (int)threadIdx.x; }
#endif

/** The number of this thread in a grid of one dimension, and how many there are. */
KS_DEVICE int64_t ks_grid_thread(void)
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}
KS_DEVICE int64_t ks_grid_threads(void) { return (int64_t)gridDim.x * blockDim.x; }

#include "kernel_async.h"
#include "kernel_bulk.h"
#include "kernel_mma.h"

#endif
