/* num_columns.h -- the macros that num_column_f64.h, num_column_f32.h and num_column_mixed.h change, of matrices of which a
 * thread has a column. num_column_end.h restores them. */
#include "num_team.h"
#pragma push_macro("KS_EXTENT")
#undef KS_EXTENT
#define KS_EXTENT(m, n) (m)
