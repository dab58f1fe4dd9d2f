/* kernel_async.h -- asynchronous copies from global to shared memory.
 *
 * Each thread issues copies of 4, 8 or 16 bytes, closes the group of them, and waits until at most a given number of
 * its groups is unfinished. A barrier then makes the data visible to other threads. ks_shared_place is an address in
 * shared memory; on a device it is an integer, so that offsets are plain additions. */
#ifndef KS_GPU_KERNEL_ASYNC_H
#define KS_GPU_KERNEL_ASYNC_H

#ifdef __CUDACC__
#  include <cuda_pipeline_primitives.h>

/** Copy `bytes` bytes (4, 8 or 16, to which both addresses are aligned) to shared memory. */
KS_DEVICE void ks_async_copy(void *shared, const void *global, int bytes)
{
    if (bytes == 16) __pipeline_memcpy_async(shared, global, 16);
    else if (bytes == 8) __pipeline_memcpy_async(shared, global, 8);
    else __pipeline_memcpy_async(shared, global, 4);
}

typedef unsigned ks_shared_place;

KS_DEVICE ks_shared_place ks_shared_place_of(const void *shared) { return (unsigned)__cvta_generic_to_shared(shared); }

/** Copy BYTES bytes (4, 8 or 16, to which both addresses are aligned). Copies of 16 bytes bypass the L1 cache. */
template <int BYTES>
KS_DEVICE void ks_async_piece(ks_shared_place shared, const void *global)
{
    if (BYTES == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(shared), "l"(global) : "memory");
    else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" : : "r"(shared), "l"(global), "n"(BYTES) : "memory");
}

/** Close the group of copies issued since the last call. */
KS_DEVICE void ks_async_commit(void) { __pipeline_commit(); }

/** Wait until at most `groups` (a literal) of this thread's groups are unfinished. */
#  define ks_async_wait(groups) __pipeline_wait_prior(groups)
#else
#  define ks_async_copy ks_emu_async_copy
typedef char *ks_shared_place;
KS_DEVICE ks_shared_place ks_shared_place_of(void *shared) { return static_cast<char *>(shared); }
template <int BYTES>
KS_DEVICE void ks_async_piece(ks_shared_place shared, const void *global)
{
    ks_emu_async_copy(shared, global, BYTES);
}
#  define ks_async_commit ks_emu_async_commit
#  define ks_async_wait ks_emu_async_wait
#endif

#endif
