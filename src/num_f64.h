/* num_f64.h -- the number of the shared arithmetic: double. No include guard: num_end.h undefines the macros.
 *
 * A text (a header named *_text.h) is arithmetic that is written once and included once for each number. It uses the
 * operators + - * / and these macros:
 *
 *     KS_NUM             the number
 *     KS_T(name)         name with the number's suffix
 *     KS_LIT(x)          a literal
 *     KS_SQRT(x)         square root
 *     KS_MASK            result of a comparison
 *     KS_GT(a, b)        a > b, false for NaN
 *     KS_SELECT(m, a, b) m ? a : b, lane by lane
 *     KS_ALL(m)          whether m is true in every lane
 *     KS_EPS             unit round-off, as a double
 *     KS_ONE             the number of one lane
 *     KS_WIDE            the number of sums whose terms are much larger than their result
 *     KS_GAIN            the number of covariances and gains, in texts whose means are of a wider one (gain_text.h)
 *     KS_G(name)         name with KS_GAIN's suffix
 *
 * The language is the common subset of C11 and C++17: no VLA, no compound literal, no designated initializer, no
 * implicit conversion from void *. */
#define KS_NUM double
#define KS_T(name) name##_f64
#define KS_LIT(x) ((double)(x))
#define KS_ONE KS_NUM
#define KS_WIDE KS_NUM
#define KS_GAIN KS_NUM
#define KS_G(name) KS_T(name)
#define KS_SQRT(x) sqrt(x)
#define KS_MASK int
#define KS_GT(a, b) ((a) > (b))
#define KS_SELECT(m, a, b) ((m) ? (a) : (b))
#define KS_ALL(m) (m)
#define KS_EPS 1.1102230246251565e-16
/* The largest factor by which an ordinary (difference) form may amplify round-off. Beyond it the square-root array form
 * takes the step: 1e5 * 1.1e-16 leaves 1e-11 of a standard deviation. */
#define KS_GROWTH 1e5
/* Plain C on the CPU: products with more columns than this use gemm_text.h. */
#ifndef __cplusplus
#  define KS_GEMM 6
#endif
/* As KS_GROWTH, for combining two elements, whose pivots show the loss less directly. */
#define KS_MERGE 1e4
/* The largest finite number, as a double. */
#define KS_LARGEST 1.7976931348623157e308
