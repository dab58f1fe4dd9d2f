/* num_column_mixed.h -- num_mixed.h for texts that a team of threads runs on matrices by columns, see
 * column_smallmat_text.h. */
#include "num_mixed.h"
#undef KS_T
#undef KS_G
#define KS_G(name) name##_column_f32
#define KS_T(name) name##_column_mixed
#include "num_columns.h"
