/* num_f64.h -- the number of the shared arithmetic: double. No include guard: num_end.h undoes it.
 *
 * A text (a header named *_text.h) is arithmetic written once and included once for each number.
 * It uses infix + - * /, and for the rest this vocabulary:
 *   KS_NUM         the number              KS_T(name)       name with the number's suffix
 *   KS_LIT(x)      a literal               KS_SQRT(x)       square root
 *   KS_MASK        result of comparisons   KS_GT(a, b)      a > b, false for NaN
 *   KS_SELECT(m, a, b)  m ? a : b          KS_ALL(m)        true where every lane of m is
 *   KS_EPS         unit round-off, as a double
 *   KS_ONE         the number of one lane  KS_GAIN          of covariances and gains, where a text has means
 *   KS_WIDE        of single sums whose terms are much larger than what matters
 *   KS_G(name)     name with KS_GAIN's suffix               of a wider one (gain_text.h)
 * The language is the common subset of C11 and C++17: no VLA, no compound literal, no designated
 * initialiser, no implicit conversion from void *. */
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
/* The most that an ordinary (difference) form may amplify round-off before the square-root array
 * form takes the step: 1e5 * 1.1e-16 leaves 1e-11 of a standard deviation. */
#define KS_GROWTH 1e5
/* Plain C on the CPU: matrix products of more columns than this go to gemm_text.h. */
#ifndef __cplusplus
#  define KS_GEMM 6
#endif
/* The same for merging two elements, whose pivots show the loss less directly. */
#define KS_MERGE 1e4
/* The largest finite number, as a double. */
#define KS_LARGEST 1.7976931348623157e308
