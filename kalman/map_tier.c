/* map_tier.c -- the arithmetic of the MAP route for one instruction-set tier. Compiled once for each,
 * with the tier's flags and
 *   KS_MAP_TABLE  the name of the table, ks_map_avx2_f64 */
#include <math.h>
#include <stdint.h>
#include "hd.h"
#include "map.h"
#include "num_f64.h"
#include "gemm_text.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "memo_text.h"
#include "range_text.h"
#include "map_text.h"

const ks_map_kernels KS_MAP_TABLE = {
    KS_T(map_memory_bytes), KS_T(map_open), KS_T(map_assemble), KS_T(map_review),
    KS_T(map_correct),
};
#include "num_end.h"
