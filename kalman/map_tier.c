/* map_tier.c -- the arithmetic of the MAP route for one instruction-set tier. Compiled once for each,
 * with the tier's flags and
 *   KS_MAP_TABLE  the name of the table, ks_map_avx2_f64 */
#include <math.h>
#include <stdint.h>
#include "hd.h"
#include "map.h"
#include "num_f64.h"
#include "gemm_text.h"
#include "tile_text.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "memo_text.h"
#include "range_text.h"
#include "map_factor_text.h"
#include "map_tiles_text.h"
#include "map_memory_text.h"
#include "map_text.h"
#include "map_rows_text.h"
#include "map_chain_text.h"
#include "map_table_text.h"
#include "num_end.h"
