/* num_f64x4.h -- the number of the shared arithmetic: a pack of four series in double, with GCC's
 * vector types. See num_f64.h for the vocabulary; the array form is for scalars only. Packs add
 *   KS_ONE         the number of one lane  KS_LANES         how many lanes
 *   KS_DOUBLES        the pack in double      KS_TO_DOUBLES(x)      x in double
 *   KS_BITS(m)     a mask as bits, lane 0 lowest
 *   KS_DOUBLES_WITHIN(x, low, high)  the lanes with low < x < high, as bits
 *   KS_TURN(v)     transpose v[0 .. KS_LANES - 1] in place */
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
static inline __attribute__((always_inline, unused)) void ks_turn_f64x4(ks_f64x4 *v)
{
    const ks_f64x4 even01 = __builtin_shufflevector(v[0], v[1], 0, 4, 2, 6);
    const ks_f64x4 odd01 = __builtin_shufflevector(v[0], v[1], 1, 5, 3, 7);
    const ks_f64x4 even23 = __builtin_shufflevector(v[2], v[3], 0, 4, 2, 6);
    const ks_f64x4 odd23 = __builtin_shufflevector(v[2], v[3], 1, 5, 3, 7);
    v[0] = __builtin_shufflevector(even01, even23, 0, 1, 4, 5);
    v[1] = __builtin_shufflevector(odd01, odd23, 0, 1, 4, 5);
    v[2] = __builtin_shufflevector(even01, even23, 2, 3, 6, 7);
    v[3] = __builtin_shufflevector(odd01, odd23, 2, 3, 6, 7);
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
#define KS_TURN(v) ks_turn_f64x4(v)
