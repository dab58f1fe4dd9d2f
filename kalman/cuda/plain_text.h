/* plain_text.h -- all arithmetic of one number type as functions of the including source, with sizes at run time,
 * without tables and without the memo of earlier steps; see num_f64.h. */
#ifndef KS_WITHOUT_MEMO
#  define KS_WITHOUT_MEMO
#endif
#define KS_WITH_LITERAL(nx, CALL) CALL(nx);
#undef KS_GEMM
/* One copy of each function in a source, not one in each call: sizes are not literal here, and nvcc would take minutes
 * to compile the copies. */
#pragma push_macro("KS_HD")
#undef KS_HD
#define KS_HD KS_HD_COLD
#include "smallmat_text.h"
#pragma pop_macro("KS_HD")
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "element_text.h"
#include "information_text.h"
#include "memo_text.h"
#include "range_text.h"
#include "filter_range_text.h"
#include "smooth_range_text.h"
#include "kernels_text.h"
