/* num_f32x16.h -- the number of the shared arithmetic: a pack of sixteen series in single precision, one register of
 * AVX-512. See num_f64x4.h. */
#ifndef KS_NUM_F32X16_TYPES
#define KS_NUM_F32X16_TYPES
#if KS_VECTOR_BYTES == 64
#  include <immintrin.h>
#endif
typedef float ks_f32x16 __attribute__((vector_size(64)));
typedef int32_t ks_mask32x16 __attribute__((vector_size(64)));
typedef double ks_f64x16 __attribute__((vector_size(128)));
static inline ks_f32x16 ks_splat_f32x16(float x)
{
    return (ks_f32x16){ x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x };
}
static inline ks_f32x16 ks_sqrt_f32x16(ks_f32x16 x)
{
    for (int l = 0; l < 16; ++l) x[l] = sqrtf(x[l]);
    return x;
}
static inline __attribute__((always_inline, unused)) unsigned ks_bits_f32x16(ks_mask32x16 m)
{
#if KS_VECTOR_BYTES == 64
    return _mm512_movepi32_mask((__m512i)m);
#else
    unsigned bits = 0;
    for (int l = 0; l < 16; ++l) bits |= (unsigned)(m[l] & 1) << l;
    return bits;
#endif
}
/* Passed by pointer: the ABI for vector arguments wider than a register has changed between compilers. */
typedef double ks_half64x16 __attribute__((vector_size(64), may_alias));
typedef int64_t ks_half_mask64x16 __attribute__((vector_size(64)));
static inline __attribute__((always_inline, unused)) unsigned
ks_within_f64x16(const ks_f64x16 *x, double low, double high)
{
    unsigned bits = 0;
    for (int h = 0; h < 2; ++h) {
        const ks_half64x16 half = ((const ks_half64x16 *)(const void *)x)[h];
        const ks_half_mask64x16 m = (ks_half_mask64x16)(half > low) & (ks_half_mask64x16)(half < high);
#if KS_VECTOR_BYTES == 64
        bits |= (unsigned)_mm512_movepi64_mask((__m512i)m) << 8 * h;
#else
        for (int l = 0; l < 8; ++l) bits |= (unsigned)(m[l] & 1) << (8 * h + l);
#endif
    }
    return bits;
}
/* Loading joins four numbers of rows i, i + 4, i + 8 and i + 12, so that only 4 x 4 blocks remain to be transposed. */
typedef float ks_quarter32x16 __attribute__((vector_size(16), aligned(4), may_alias));
static inline __attribute__((always_inline, unused)) ks_f32x16 ks_join_f32x16(const float *const *rows, int at)
{
    ks_quarter32x16 q[4];
    for (int i = 0; i < 4; ++i) q[i] = *(const ks_quarter32x16 *)(const void *)(rows[4 * i] + at);
    return __builtin_shufflevector(__builtin_shufflevector(q[0], q[1], 0, 1, 2, 3, 4, 5, 6, 7),
                                   __builtin_shufflevector(q[2], q[3], 0, 1, 2, 3, 4, 5, 6, 7),
                                   0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
static inline __attribute__((always_inline, unused)) void ks_transpose_lanes_f32x16(const float *const *rows, ks_f32x16 *v)
{
    for (int h = 0; h < 16; h += 4) {
        ks_f32x16 a[4], b[4];
        for (int i = 0; i < 4; ++i) a[i] = ks_join_f32x16(rows + i, h);
        for (int i = 0; i < 4; i += 2) {
            b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
            b[i + 1] =
                __builtin_shufflevector(a[i], a[i + 1], 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
        }
        for (int i = 0; i < 2; ++i) {
            v[h + 2 * i] =
                __builtin_shufflevector(b[i], b[i + 2], 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
            v[h + 2 * i + 1] =
                __builtin_shufflevector(b[i], b[i + 2], 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
        }
    }
}
#endif
#define KS_NUM ks_f32x16
#define KS_T(name) name##_f32x16
#define KS_LIT(x) ks_splat_f32x16((float)(x))
#define KS_SQRT(x) ks_sqrt_f32x16(x)
#define KS_MASK ks_mask32x16
#define KS_GT(a, b) ((ks_mask32x16)((a) > (b)))
#define KS_SELECT(m, a, b) ((ks_f32x16)(((m) & (ks_mask32x16)(a)) | (~(m) & (ks_mask32x16)(b))))
#define KS_ALL(m) (ks_bits_f32x16(m) == 0xffffu)
#define KS_EPS 5.9604644775390625e-8
#define KS_GROWTH 5e2
#define KS_MERGE 1e2
#define KS_ONE float
#define KS_LANES 16
#define KS_DOUBLES ks_f64x16
#define KS_TO_DOUBLES(x) __builtin_convertvector(x, ks_f64x16)
#define KS_BITS(m) ks_bits_f32x16(m)
#define KS_DOUBLES_WITHIN(x, low, high) ks_within_f64x16(&(x), low, high)
#define KS_TRANSPOSE(rows, v) ks_transpose_lanes_f32x16(rows, v)
