/* kernel_async.h -- copies from device into shared memory that run beside the thread.
 *
 * Each thread puts copies of 4, 8 or 16 bytes into a group, closes the group, and waits until at
 * most some of its groups are still under way; a barrier then makes them visible to the others. ks_shared_place is an address
 * in shared memory, an integer on a device: what is near it is an addition away. */
#ifndef KS_GPU_KERNEL_ASYNC_H
#define KS_GPU_KERNEL_ASYNC_H

#ifdef __CUDACC__
#  include <cuda_pipeline_primitives.h>

/** Copy `bytes` (4, 8 or 16, both ends aligned to it) into shared memory. */
KS_DEVICE void ks_async_copy(void *shared, const void *global, int bytes)
{
    if (bytes == 16) __pipeline_memcpy_async(shared, global, 16);
    else if (bytes == 8) __pipeline_memcpy_async(shared, global, 8);
    else __pipeline_memcpy_async(shared, global, 4);
}

typedef unsigned ks_shared_place;

KS_DEVICE ks_shared_place ks_shared_place_of(const void *shared) { return (unsigned)__cvta_generic_to_shared(shared); }

/** Copy so many bytes (4, 8 or 16, both ends aligned to it), 16 of them past the first cache. */
template <int BYTES>
KS_DEVICE void ks_async_piece(ks_shared_place shared, const void *global)
{
    if (BYTES == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(shared), "l"(global) : "memory");
    else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" : : "r"(shared), "l"(global), "n"(BYTES) : "memory");
}

/** Close the group of the copies since the last. */
KS_DEVICE void ks_async_commit(void) { __pipeline_commit(); }

/** Wait until at most `groups` (a literal) of this thread's groups are not finished. */
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
