/* num_f32x8.h -- the number of the shared arithmetic: a pack of eight series in single precision.
 * See num_f64x4.h. */
#ifndef KS_NUM_F32X8_TYPES
#define KS_NUM_F32X8_TYPES
typedef float ks_f32x8 __attribute__((vector_size(32)));
typedef int32_t ks_mask32x8 __attribute__((vector_size(32)));
static inline ks_f32x8 ks_splat_f32x8(float x) { return (ks_f32x8){ x, x, x, x, x, x, x, x }; }
static inline ks_f32x8 ks_sqrt_f32x8(ks_f32x8 x)
{
    for (int i = 0; i < 8; ++i) x[i] = sqrtf(x[i]);
    return x;
}
static inline int ks_all_f32x8(ks_mask32x8 m)
{
    int all = -1;
    for (int i = 0; i < 8; ++i) all &= m[i];
    return all != 0;
}
typedef double ks_f64x8 __attribute__((vector_size(64)));
static inline __attribute__((always_inline, unused)) unsigned ks_bits_f32x8(ks_mask32x8 m)
{
#if KS_VECTOR_BYTES == 32
    return (unsigned)__builtin_ia32_movmskps256((ks_f32x8)m);
#else
    unsigned bits = 0;
    for (int l = 0; l < 8; ++l) bits |= (unsigned)(m[l] & 1) << l;
    return bits;
#endif
}
/* Passed by pointer: the ABI for vector arguments this wide has changed between compilers. */
typedef double ks_half64x8 __attribute__((vector_size(32), may_alias));
typedef int64_t ks_half_mask64x8 __attribute__((vector_size(32)));
static inline __attribute__((always_inline, unused)) unsigned
ks_within_f64x8(const ks_f64x8 *x, double low, double high)
{
    unsigned bits = 0;
    for (int h = 0; h < 2; ++h) {
        const ks_half64x8 half = ((const ks_half64x8 *)(const void *)x)[h];
        const ks_half_mask64x8 m = (ks_half_mask64x8)(half > low) & (ks_half_mask64x8)(half < high);
#if KS_VECTOR_BYTES == 32
        bits |= (unsigned)__builtin_ia32_movmskpd256((ks_half64x8)m) << 4 * h;
#else
        for (int l = 0; l < 4; ++l) bits |= (unsigned)(m[l] & 1) << (4 * h + l);
#endif
    }
    return bits;
}
/* Loading joins four numbers of row i and of row i + 4, so that only 4 x 4 blocks remain to be transposed. */
typedef float ks_quarter32x8 __attribute__((vector_size(16), aligned(4), may_alias));
static inline __attribute__((always_inline, unused)) void ks_transpose_lanes_f32x8(const float *const *rows,
                                                                                   ks_f32x8 *v)
{
    for (int h = 0; h < 8; h += 4) {
        ks_f32x8 a[4], b[4];
        for (int i = 0; i < 4; ++i) {
            const ks_quarter32x8 low = *(const ks_quarter32x8 *)(const void *)(rows[i] + h);
            const ks_quarter32x8 high = *(const ks_quarter32x8 *)(const void *)(rows[i + 4] + h);
            a[i] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
        }
        for (int i = 0; i < 4; i += 2) {
            b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
            b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
        }
        for (int i = 0; i < 2; ++i) {
            v[h + 2 * i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            v[h + 2 * i + 1] = __builtin_shufflevector(b[i], b[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    }
}
#endif
#define KS_NUM ks_f32x8
#define KS_T(name) name##_f32x8
#define KS_LIT(x) ks_splat_f32x8((float)(x))
#define KS_SQRT(x) ks_sqrt_f32x8(x)
#define KS_MASK ks_mask32x8
#define KS_GT(a, b) ((ks_mask32x8)((a) > (b)))
#define KS_SELECT(m, a, b) ((ks_f32x8)(((m) & (ks_mask32x8)(a)) | (~(m) & (ks_mask32x8)(b))))
#define KS_ALL(m) ks_all_f32x8(m)
#define KS_EPS 5.9604644775390625e-8
#define KS_GROWTH 5e2
#define KS_MERGE 1e2
#define KS_ONE float
#define KS_LANES 8
#define KS_DOUBLES ks_f64x8
#define KS_TO_DOUBLES(x) __builtin_convertvector(x, ks_f64x8)
#define KS_BITS(m) ks_bits_f32x8(m)
#define KS_DOUBLES_WITHIN(x, low, high) ks_within_f64x8(&(x), low, high)
#define KS_TRANSPOSE(rows, v) ks_transpose_lanes_f32x8(rows, v)
