/* num_f64x8.h -- the number of the shared arithmetic: a pack of eight series in double, one register of AVX-512.
 * See num_f64x4.h. */
#ifndef KS_NUM_F64X8_TYPES
#define KS_NUM_F64X8_TYPES
#if KS_VECTOR_BYTES == 64
#  include <immintrin.h>
#endif
typedef double ks_f64x8 __attribute__((vector_size(64)));
typedef int64_t ks_mask64x8 __attribute__((vector_size(64)));
static inline ks_f64x8 ks_splat_f64x8(double x) { return (ks_f64x8){ x, x, x, x, x, x, x, x }; }
static inline ks_f64x8 ks_sqrt_f64x8(ks_f64x8 x)
{
    for (int l = 0; l < 8; ++l) x[l] = sqrt(x[l]);
    return x;
}
static inline __attribute__((always_inline, unused)) unsigned ks_bits_f64x8(ks_mask64x8 m)
{
#if KS_VECTOR_BYTES == 64
    return _mm512_movepi64_mask((__m512i)m);
#else
    unsigned bits = 0;
    for (int l = 0; l < 8; ++l) bits |= (unsigned)(m[l] & 1) << l;
    return bits;
#endif
}
/* Loading joins pairs of rows i, i + 2, i + 4 and i + 6, so that only 2 x 2 blocks remain to be transposed. */
typedef double ks_pair64x8 __attribute__((vector_size(16), aligned(8), may_alias));
static inline __attribute__((always_inline, unused)) ks_f64x8 ks_join_f64x8(const double *const *rows, int at)
{
    ks_pair64x8 pair[4];
    for (int i = 0; i < 4; ++i) pair[i] = *(const ks_pair64x8 *)(const void *)(rows[2 * i] + at);
    return __builtin_shufflevector(__builtin_shufflevector(pair[0], pair[1], 0, 1, 2, 3),
                                   __builtin_shufflevector(pair[2], pair[3], 0, 1, 2, 3), 0, 1, 2, 3, 4, 5, 6, 7);
}
static inline __attribute__((always_inline, unused)) void ks_transpose_lanes_f64x8(const double *const *rows, ks_f64x8 *v)
{
    for (int h = 0; h < 8; h += 2) {
        const ks_f64x8 even = ks_join_f64x8(rows, h), odd = ks_join_f64x8(rows + 1, h);
        v[h] = __builtin_shufflevector(even, odd, 0, 8, 2, 10, 4, 12, 6, 14);
        v[h + 1] = __builtin_shufflevector(even, odd, 1, 9, 3, 11, 5, 13, 7, 15);
    }
}
#endif
#define KS_NUM ks_f64x8
#define KS_T(name) name##_f64x8
#define KS_LIT(x) ks_splat_f64x8((double)(x))
#define KS_SQRT(x) ks_sqrt_f64x8(x)
#define KS_MASK ks_mask64x8
#define KS_GT(a, b) ((ks_mask64x8)((a) > (b)))
#define KS_SELECT(m, a, b) ((ks_f64x8)(((m) & (ks_mask64x8)(a)) | (~(m) & (ks_mask64x8)(b))))
#define KS_ALL(m) (ks_bits_f64x8(m) == 0xffu)
#define KS_EPS 1.1102230246251565e-16
#define KS_GROWTH 1e5
#define KS_MERGE 1e4
#define KS_ONE double
#define KS_LANES 8
#define KS_DOUBLES ks_f64x8
#define KS_TO_DOUBLES(x) (x)
#define KS_BITS(m) ks_bits_f64x8(m)
#define KS_DOUBLES_WITHIN(x, low, high) ks_bits_f64x8((ks_mask64x8)((x) > (low)) & (ks_mask64x8)((x) < (high)))
#define KS_TRANSPOSE(rows, v) ks_transpose_lanes_f64x8(rows, v)
