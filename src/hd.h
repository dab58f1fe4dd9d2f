/* hd.h -- the only file that knows which compiler reads the shared arithmetic. */
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
#ifdef __AVX__
#  define KS_VECTOR_BYTES 32
#else
#  define KS_VECTOR_BYTES 16
#endif

#endif
