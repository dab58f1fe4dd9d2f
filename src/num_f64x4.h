/* num_f64x4.h -- the number of the shared arithmetic: a pack of four series in double, as a vector of GCC. See
 * num_f64.h for the vocabulary. Packs have no array form. They add these macros:
 *
 *     KS_ONE                          the number of one lane
 *     KS_LANES                        number of lanes
 *     KS_DOUBLES                      a pack in double
 *     KS_TO_DOUBLES(x)                x in double
 *     KS_BITS(m)                      a mask as bits, lane 0 lowest
 *     KS_DOUBLES_WITHIN(x, low, high) the lanes with low < x < high, as bits
 *     KS_TRANSPOSE(rows, v)           lane l of v[i] <- number i of rows[l], for i and l < KS_LANES */
#ifndef KS_NUM_F64X4_TYPES
#define KS_NUM_F64X4_TYPES
typedef double ks_f64x4 __attribute__((vector_size(32)));
typedef int64_t ks_mask64x4 __attribute__((vector_size(32)));
static inline ks_f64x4 ks_splat_f64x4(double x) { return (ks_f64x4){ x, x, x, x }; }
static inline ks_f64x4 ks_sqrt_f64x4(ks_f64x4 x)
{
    return (ks_f64x4){ sqrt(x[0]), sqrt(x[1]), sqrt(x[2]), sqrt(x[3]) };
}
static inline __attribute__((always_inline, unused)) unsigned ks_bits_f64x4(ks_mask64x4 m)
{
#if KS_VECTOR_BYTES == 32
    return (unsigned)__builtin_ia32_movmskpd256((ks_f64x4)m);
#else
    unsigned bits = 0;
    for (int l = 0; l < 4; ++l) bits |= (unsigned)(m[l] & 1) << l;
    return bits;
#endif
}
/* Loading joins two numbers of row i and of row i + 2, so that only 2 x 2 blocks remain to be transposed. */
typedef double ks_half64x4 __attribute__((vector_size(16), aligned(8), may_alias));
static inline __attribute__((always_inline, unused)) void ks_transpose_lanes_f64x4(const double *const *rows,
                                                                                   ks_f64x4 *v)
{
    for (int h = 0; h < 4; h += 2) {
        ks_f64x4 a[2];
        for (int i = 0; i < 2; ++i) {
            const ks_half64x4 low = *(const ks_half64x4 *)(const void *)(rows[i] + h);
            const ks_half64x4 high = *(const ks_half64x4 *)(const void *)(rows[i + 2] + h);
            a[i] = __builtin_shufflevector(low, high, 0, 1, 2, 3);
        }
        v[h] = __builtin_shufflevector(a[0], a[1], 0, 4, 2, 6);
        v[h + 1] = __builtin_shufflevector(a[0], a[1], 1, 5, 3, 7);
    }
}
#endif
#define KS_NUM ks_f64x4
#define KS_T(name) name##_f64x4
#define KS_LIT(x) ks_splat_f64x4((double)(x))
#define KS_SQRT(x) ks_sqrt_f64x4(x)
#define KS_MASK ks_mask64x4
#define KS_GT(a, b) ((ks_mask64x4)((a) > (b)))
#define KS_SELECT(m, a, b) ((ks_f64x4)(((m) & (ks_mask64x4)(a)) | (~(m) & (ks_mask64x4)(b))))
#define KS_ALL(m) (((m)[0] & (m)[1] & (m)[2] & (m)[3]) != 0)
#define KS_EPS 1.1102230246251565e-16
#define KS_GROWTH 1e5
#define KS_MERGE 1e4
#define KS_ONE double
#define KS_LANES 4
#define KS_DOUBLES ks_f64x4
#define KS_TO_DOUBLES(x) (x)
#define KS_BITS(m) ks_bits_f64x4(m)
#define KS_DOUBLES_WITHIN(x, low, high)                                                     \
    ks_bits_f64x4((ks_mask64x4)((x) > (low)) & (ks_mask64x4)((x) < (high)))
#define KS_TRANSPOSE(rows, v) ks_transpose_lanes_f64x4(rows, v)
