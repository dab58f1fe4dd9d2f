/* hd.h -- the only file that knows which compiler and processor read the shared arithmetic. */
#ifndef KS_HD_H
#define KS_HD_H

#if defined(__CUDACC__)
#  define KS_HD static __host__ __device__ __forceinline__
#  define KS_HD_COLD static __host__ __device__ __noinline__
#else
#  define KS_HD static inline __attribute__((always_inline, unused))
#  define KS_HD_COLD static __attribute__((noinline, unused))
#endif
#define KS_RESTRICT __restrict__

/* Bytes that one vector register of the compiler's target holds. */
#if defined(__AVX512F__)
#  define KS_VECTOR_BYTES 64
#elif defined(__AVX__)
#  define KS_VECTOR_BYTES 32
#else
#  define KS_VECTOR_BYTES 16
#endif

/* Covariances that decay towards zero would end as denormal numbers, on which every operation is a
 * hundred times slower; between these two calls they are zero. The caller's mode is restored. */
#if defined(__SSE2__) && !defined(__CUDACC__)
#  include <xmmintrin.h>
static inline unsigned ks_flush_begin(void)
{
    const unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | 0x8040u); /* flush results, read denormals as zero */
    return mode;
}
static inline void ks_flush_end(unsigned mode) { _mm_setcsr(mode); }
#else
static inline unsigned ks_flush_begin(void) { return 0; }
static inline void ks_flush_end(unsigned mode) { (void)mode; }
#endif

#endif
