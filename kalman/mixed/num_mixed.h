/* num_mixed.h -- means in double; covariances and gains in float, with the functions of num_f32.h. See num_f64.h and
 * gain_text.h. */
#include "num_f64.h"
#undef KS_T
#undef KS_GAIN
#undef KS_G
#define KS_T(name) name##_mixed
#define KS_GAIN float
#define KS_G(name) name##_f32
