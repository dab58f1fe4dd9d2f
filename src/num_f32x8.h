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
