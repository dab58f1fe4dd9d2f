/* hd.h -- macros that depend on the compiler and the processor that the shared arithmetic is compiled for. */
#ifndef KS_HD_H
#define KS_HD_H

/* KS_KNOWN(n): whether n is a constant to the compiler. On a device this is 0, since it is evaluated before inlining.
 * KS_OWN_COPY(n): whether each caller of a step that is done n times gets a copy of its own. On a device this is 1. */
#if defined(__CUDACC__)
#  define KS_HD static __host__ __device__ __forceinline__
#  define KS_HD_COLD static __host__ __device__ __noinline__
#  define KS_HD_SAME KS_HD_COLD
#  define KS_KNOWN(n) 0
#  define KS_OWN_COPY(n) 1
#else
#  ifdef KS_ONE_COPY /* one copy of each function, none per caller: compiles in a tenth of the time */
#    define KS_HD static inline __attribute__((unused))
#  else
#    define KS_HD static inline __attribute__((always_inline, unused))
#  endif
#  define KS_HD_COLD static __attribute__((noinline, unused))
/* KS_HD_SAME: the same bits for every caller. The compiler must not specialize the function for a caller's
 * constants. */
#  ifdef __clang__
#    define KS_HD_SAME KS_HD_COLD
#  else
#    define KS_HD_SAME static __attribute__((noinline, noclone, unused))
#  endif
#  define KS_KNOWN(n) __builtin_constant_p(n)
#  define KS_OWN_COPY(n) KS_KNOWN(n)
#endif
/* KS_RESTRICT, of a pointer through which alone a function reaches what it writes. Not for a function whose results the
 * next call in the same loop reads: gcc 14 (as those before 9, its bug 87609) takes the promise of one inlined call for
 * that of the loop when it splits and unrolls it, and reads too early. */
#define KS_RESTRICT __restrict__

/* KS_EXTENT(m, n): numbers from a matrix (m, n) to what lies behind it, of what one thread has. */
#define KS_EXTENT(m, n) ((m) * (n))

/* KS_UNROLL, before a loop of literal size: nvcc unrolls it whatever that is. */
#ifdef __CUDACC__
#  define KS_UNROLL _Pragma("unroll")
#else
#  define KS_UNROLL
#endif

/** Return sum + term, with term rounded before it is added: no product is fused into the sum. */
KS_HD double ks_add_rounded(double sum, double term)
{
#ifdef __CUDA_ARCH__
    return __dadd_rn(sum, term);
#else
    const volatile double rounded = term;
    return sum + rounded;
#endif
}

/** Return a b, and sum + a b. On a device each is one correctly rounded operation, in every kernel. ptxas may contract
 *  products and sums written with operators differently from kernel to kernel. */
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

/* Bytes of one vector register of the compiler's target. */
#if defined(__AVX512F__)
#  define KS_VECTOR_BYTES 64
#elif defined(__AVX__)
#  define KS_VECTOR_BYTES 32
#else
#  define KS_VECTOR_BYTES 16
#endif

/* KS_WRITE_PAST(at, v): `*at = v`, past the caches if the target can. v is a vector of long long, `at` a multiple of
 * its size. KS_FENCE_PAST(): other threads see these writes before any later write. */
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

/* Covariances that decay towards zero would become denormal numbers, on which each operation is a hundred times slower.
 * Between these two calls denormals are zero; ks_flush_end() restores the caller's mode. A device has no such mode in
 * double precision, nor do kernels that are compiled for the emulated device. */
#if defined(__SSE2__) && !defined(__CUDACC__) && !defined(KS_EMU_MODULE)
#  include <xmmintrin.h>
static inline unsigned ks_flush_begin(void)
{
    const unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | 0x8040u); /* flush results to zero, read denormals as zero */
    return mode;
}
static inline void ks_flush_end(unsigned mode) { _mm_setcsr(mode); }
static inline unsigned ks_flush_mode(void) { return _mm_getcsr(); }
#  define KS_LEAST_PIVOT 0
#else
/* What a pivot must exceed where denormals are computed with: the reciprocal of a denormal number is infinite. */
#  define KS_LEAST_PIVOT (4 / KS_LARGEST)
KS_HD unsigned ks_flush_begin(void) { return 0; }
KS_HD void ks_flush_end(unsigned mode) { (void)mode; }
KS_HD unsigned ks_flush_mode(void) { return 0; }
#endif

#endif
