/* chains_tier.c -- the kernel table of one precision and instruction-set tier. Compiled once for
 * each, with the tier's flags and
 *   KS_NUMBER     the header of the number, "num_f64.h"
 *   KS_TABLE      the name of the table, ks_bt_avx2_f64
 *   KS_TIER_NAME  "avx2" */
#include <math.h>
#include <stdint.h>
#include "hd.h"
#include "chains.h"
#include "lapack.h"
#include KS_NUMBER
#include "gemm_text.h"
#include "smallmat_text.h"
#include "panel_text.h"
#include "eliminate_text.h"
#include "factor_text.h"
#include "columns_text.h"
#include "solve_text.h"
#include "inverse_text.h"

const ks_bt_kernels KS_TABLE = {
    KS_TIER_NAME,         sizeof(KS_NUM),        KS_BT_WIDTH,
    KS_T(ks_bt_factor),   KS_T(ks_bt_gather),    KS_T(ks_bt_forward), KS_T(ks_bt_gather_x),
    KS_T(ks_bt_backward), KS_T(ks_bt_inverse),   KS_T(ks_bt_logdet),  KS_T(ks_bt_residual),
};
#include "num_end.h"
