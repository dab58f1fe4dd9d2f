/* kernel_bulk.h -- bulk copies from global to shared memory, and the barriers that signal their completion.
 *
 * A barrier in shared memory goes through phases 0, 1, 2, ... A phase ends when the number of threads that the barrier
 * was made for have arrived and all bytes that they announced have been copied:
 *
 *     if (threadIdx.x == 0) ks_bulk_init(barrier, threads);
 *     __syncthreads();
 *     ks_bulk_copy(to, from, bytes, barrier);      // any number of them, or none, in each thread
 *     ks_bulk_arrive(barrier, bytes);              // then this, once in each thread and phase
 *     ks_bulk_wait(barrier, phase % 2);            // in each thread that reads the data, before it does
 *
 * Both addresses of a copy and its length are multiples of 16 bytes. Old data at the destination must have been read
 * before the copy is issued. If ordinary stores wrote the destination, call ks_bulk_fence() between them and the copy.
 * A block must not end before the phase of its last copy has been waited for.
 *
 * From compute capability 9.0 on, the copy engine does the copies (PTX ISA, cp.async.bulk, "mbarrier"). Before, the
 * thread itself issues them by cp.async, 16 bytes at a time. */
#ifndef KS_GPU_KERNEL_BULK_H
#define KS_GPU_KERNEL_BULK_H

typedef struct ks_bulk_barrier { unsigned long long state; } ks_bulk_barrier;

#ifdef __CUDACC__
KS_DEVICE unsigned ks_bulk_address(const void *shared)
{
    return (unsigned)__cvta_generic_to_shared(shared);
}

/** Order this thread's earlier stores to shared memory before the copies that it issues from now on. */
KS_DEVICE void ks_bulk_fence(void)
{
#  if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#  endif
}

/** Initialize a barrier for `threads` threads. Call it in one thread; a block barrier then makes it visible to the
 *  others. */
KS_DEVICE void ks_bulk_init(ks_bulk_barrier *barrier, unsigned threads)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :: "r"(ks_bulk_address(barrier)), "r"(threads) : "memory");
    ks_bulk_fence();
}

/** Issue a copy in the current phase of the barrier. */
KS_DEVICE void ks_bulk_copy(void *shared, const void *global, unsigned bytes, ks_bulk_barrier *barrier)
{
#  if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(ks_bulk_address(shared)), "l"(__cvta_generic_to_global(global)), "r"(bytes),
                    "r"(ks_bulk_address(barrier)) : "memory");
#  else
    (void)barrier;
    for (unsigned i = 0; i < bytes; i += 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     :: "r"(ks_bulk_address(shared) + i),
                        "l"(__cvta_generic_to_global(static_cast<const char *>(global) + i)) : "memory");
#  endif
}

/** Arrive at the barrier: this thread has issued copies of `bytes` bytes in the current phase. */
KS_DEVICE void ks_bulk_arrive(ks_bulk_barrier *barrier, unsigned bytes)
{
#  if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(ks_bulk_address(barrier)), "r"(bytes) : "memory");
#  else
    (void)bytes;
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];"
                 :: "r"(ks_bulk_address(barrier)) : "memory");
#  endif
}

/** Wait for the end of the phase of this parity, which must be the current phase or the one before. */
KS_DEVICE void ks_bulk_wait(ks_bulk_barrier *barrier, unsigned parity)
{
    unsigned ended;
    do {
        asm volatile("{\n\t"
                     ".reg .pred p;\n\t"
#  if __CUDA_ARCH__ >= 900
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
#  else
                     "mbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n\t"
#  endif
                     "selp.u32 %0, 1, 0, p;\n\t"
                     "}"
                     : "=r"(ended) : "r"(ks_bulk_address(barrier)), "r"(parity) : "memory");
    } while (!ended);
}
#else
#  define ks_bulk_fence() ((void)0)
#  define ks_bulk_init(barrier, threads) ks_emu_bulk_init(KS_EMU_SITE, barrier, threads)
#  define ks_bulk_copy(shared, global, bytes, barrier) \
      ks_emu_bulk_copy(KS_EMU_SITE, shared, global, bytes, barrier)
#  define ks_bulk_arrive(barrier, bytes) ks_emu_bulk_arrive(KS_EMU_SITE, barrier, bytes)
#  define ks_bulk_wait(barrier, parity) ks_emu_bulk_wait(KS_EMU_SITE, barrier, parity)
#endif

#endif
