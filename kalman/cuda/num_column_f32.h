/* num_column_f32.h -- num_f32.h for texts that a team of threads runs on matrices by columns, see
 * column_smallmat_text.h. */
#include "num_f32.h"
#undef KS_T
#define KS_T(name) name##_column_f32
#include "num_columns.h"
