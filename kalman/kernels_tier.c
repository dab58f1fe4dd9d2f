/* kernels_tier.c -- the kernel table of one precision and instruction-set tier. Compiled once for
 * each, with the tier's flags and
 *   KS_NUMBER     the header of the number, "num_f64.h"
 *   KS_TABLE      the name of the table, ks_kernels_avx2_f64
 *   KS_TIER_NAME  "avx2"
 *   KS_TILED      the table of hand-shaped kernels, ks_tiled_avx2_f64
 *   KS_WIDE_TABLE, KS_WIDE_TILED  where there is a wider tier of those: the same of it */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "hd.h"
#include "kernels.h"
#include "tiled.h"
#include KS_NUMBER
#include "gemm_text.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "two_ended_array_text.h"
#include "element_text.h"
#include "information_text.h"
#include "memo_text.h"
#include "range_text.h"
#include "filter_range_text.h"
#include "smooth_range_text.h"
#include "gain_words_text.h"
#include "sensitivity_text.h"
#include "kernels_text.h"
#include "num_end.h"
