/* num_f32.h -- the number of the shared arithmetic: float. See num_f64.h for the vocabulary. */
#define KS_NUM float
#define KS_T(name) name##_f32
#define KS_LIT(x) ((float)(x))
#define KS_ONE KS_NUM
#define KS_GAIN KS_NUM
#define KS_G(name) KS_T(name)
#define KS_SQRT(x) sqrtf(x)
#define KS_MASK int
#define KS_GT(a, b) ((a) > (b))
#define KS_SELECT(m, a, b) ((m) ? (a) : (b))
#define KS_ALL(m) (m)
/* For sums that would lose significant digits in single precision. */
#define KS_WIDE double
#define KS_WIDE_EPS     1.1102230246251565e-16
#define KS_WIDE_SQRT(x) sqrt(x)
#define KS_EPS 5.9604644775390625e-8
#define KS_GROWTH 5e2
/* Plain C on the CPU: products with more columns than this use gemm_text.h. */
#ifndef __cplusplus
#  define KS_GEMM 6
#endif
/* As KS_GROWTH, for combining two elements, whose pivots show the loss less directly. */
#define KS_MERGE 1e2
/* The largest finite number, as a double. */
#define KS_LARGEST 3.4028234663852886e38
