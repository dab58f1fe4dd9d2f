/* num_column_f64.h -- num_f64.h for texts that a team of threads runs on matrices by columns, see
 * column_smallmat_text.h. */
#include "num_f64.h"
#undef KS_T
#define KS_T(name) name##_column_f64
#include "num_columns.h"
