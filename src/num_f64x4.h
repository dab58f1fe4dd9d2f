/* num_f64x4.h -- the number of the shared arithmetic: a pack of four series in double, with GCC's
 * vector types. See num_f64.h for the vocabulary; the array form is for scalars only. */
#ifndef KS_NUM_F64X4_TYPES
#define KS_NUM_F64X4_TYPES
typedef double ks_f64x4 __attribute__((vector_size(32)));
typedef int64_t ks_mask64x4 __attribute__((vector_size(32)));
static inline ks_f64x4 ks_splat_f64x4(double x) { return (ks_f64x4){ x, x, x, x }; }
static inline ks_f64x4 ks_sqrt_f64x4(ks_f64x4 x)
{
    return (ks_f64x4){ sqrt(x[0]), sqrt(x[1]), sqrt(x[2]), sqrt(x[3]) };
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
