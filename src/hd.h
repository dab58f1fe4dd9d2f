/* hd.h -- the only file that knows which compiler and processor read the shared arithmetic. */
#ifndef KS_HD_H
#define KS_HD_H

/* KS_KNOWN(n): whether the compiler knows the number n; device code asks before anything is inlined. KS_OWN_COPY(n):
 * whether each caller of what is done n times has a copy of its own, on a device always. */
#if defined(__CUDACC__)
#  define KS_HD static __host__ __device__ __forceinline__
#  define KS_HD_COLD static __host__ __device__ __noinline__
#  define KS_HD_SAME KS_HD_COLD
#  define KS_KNOWN(n) 0
#  define KS_OWN_COPY(n) 1
#else
#  ifdef KS_ONE_COPY /* of each function, and none for each of its callers: a tenth of the time to compile */
#    define KS_HD static inline __attribute__((unused))
#  else
#    define KS_HD static inline __attribute__((always_inline, unused))
#  endif
#  define KS_HD_COLD static __attribute__((noinline, unused))
/* The same bits whoever calls it: no copy is made for what a caller knows. */
#  ifdef __clang__
#    define KS_HD_SAME KS_HD_COLD
#  else
#    define KS_HD_SAME static __attribute__((noinline, noclone, unused))
#  endif
#  define KS_KNOWN(n) __builtin_constant_p(n)
#  define KS_OWN_COPY(n) KS_KNOWN(n)
#endif
#define KS_RESTRICT __restrict__

/** sum + term, where term is rounded before it is added: no product is fused into the sum. */
KS_HD double ks_add_rounded(double sum, double term)
{
#ifdef __CUDA_ARCH__
    return __dadd_rn(sum, term);
#else
    const volatile double rounded = term;
    return sum + rounded;
#endif
}

/** a b, and sum + a b: on a device rounded once each, in every kernel that has it. Of products and sums written with
 *  operators ptxas joins other ones in one kernel than in the next. */
KS_HD double ks_product(double a, double b)
{
#ifdef __CUDA_ARCH__
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
}
KS_HD double ks_add_product(double sum, double a, double b)
{
#ifdef __CUDA_ARCH__
    return __fma_rn(a, b, sum);
#else
    return sum + a * b;
#endif
}

/* Bytes that one vector register of the compiler's target holds. */
#if defined(__AVX512F__)
#  define KS_VECTOR_BYTES 64
#elif defined(__AVX__)
#  define KS_VECTOR_BYTES 32
#else
#  define KS_VECTOR_BYTES 16
#endif

/* KS_WRITE_PAST(at, v): `*at = v`, a vector of long long at a multiple of its length, past the caches where the
 * target can. KS_FENCE_PAST(): other threads see these before what is written from now on. */
#if defined(__clang__)
#  define KS_WRITE_PAST(at, v) __builtin_nontemporal_store(v, at)
#elif defined(__AVX512F__)
#  define KS_WRITE_PAST(at, v) __builtin_ia32_movntdq512(at, v)
#elif defined(__AVX__)
#  define KS_WRITE_PAST(at, v) __builtin_ia32_movntdq256(at, v)
#elif defined(__SSE2__)
#  define KS_WRITE_PAST(at, v) __builtin_ia32_movntdq(at, v)
#else
#  define KS_WRITE_PAST(at, v) (*(at) = (v))
#endif
#if defined(__SSE2__)
#  define KS_FENCE_PAST() __builtin_ia32_sfence()
#else
#  define KS_FENCE_PAST() ((void)0)
#endif

/* Covariances that decay towards zero would end as denormal numbers, on which every operation is a
 * hundred times slower; between these two calls they are zero. The caller's mode is restored. A device
 * has no such mode in double precision, and neither has what is compiled in its place. */
#if defined(__SSE2__) && !defined(__CUDACC__) && !defined(KS_EMU_MODULE)
#  include <xmmintrin.h>
static inline unsigned ks_flush_begin(void)
{
    const unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | 0x8040u); /* flush results, read denormals as zero */
    return mode;
}
static inline void ks_flush_end(unsigned mode) { _mm_setcsr(mode); }
static inline unsigned ks_flush_mode(void) { return _mm_getcsr(); } /* the one in force */
#  define KS_LEAST_PIVOT 0
#else
/* What a pivot has to exceed: reciprocals of denormal numbers, where there are any, are infinite. */
#  define KS_LEAST_PIVOT (4 / KS_LARGEST)
KS_HD unsigned ks_flush_begin(void) { return 0; }
KS_HD void ks_flush_end(unsigned mode) { (void)mode; }
KS_HD unsigned ks_flush_mode(void) { return 0; }
#endif

#endif
