/* kernels_tier.c -- the kernel table of one precision and instruction-set tier. It is compiled once for each, with the
 * tier's flags and these macros:
 *   KS_NUMBER     header of the number, such as "num_f64.h"
 *   KS_TABLE      name of the table, such as ks_kernels_avx2_f64
 *   KS_TIER_NAME  such as "avx2"
 *   KS_WHITENED   name of the table of whitened steps back, such as ks_whitened_avx2_f64
 *   KS_TILED      table of hand-shaped kernels, such as ks_tiled_avx2_f64
 *   KS_COMBINE    table that combines lanes of scans together, such as ks_combine_avx2, if the tier has one
 *   KS_WIDE_TABLE, KS_WIDE_TILED  KS_TABLE and KS_TILED of a wider tier, if there is one */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "hd.h"
#include "combine.h"
#include "kernels.h"
#include "tiled.h"
#include "whitened.h"
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
#include "whitened_text.h"
#include "kernels_text.h"

static size_t whitened_bytes(int nx, int ny)
{
    KS_T(ks_whitened_scratch) unused;
    return (size_t)KS_T(ks_whitened_lay_out)(nx, ny, NULL, &unused) * sizeof(KS_NUM);
}

static void whitened_meet(int nx, const ks_state *filtered, const ks_information *information,
                          ks_whitened *whitened, ks_state *state, void *work)
{
    const unsigned mode = ks_flush_begin();
    KS_T(ks_whitened_meet)(nx, filtered, information, whitened, state, work);
    ks_flush_end(mode);
}

static int64_t whitened_back(const ks_series *s, int64_t k0, int64_t k1, int64_t sharp, ks_whitened *whitened,
                             ks_state *state, const ks_forward_sinks *kept, const ks_backward_sinks *to,
                             void *work, ks_tally *tally)
{
    const unsigned mode = ks_flush_begin();
    const int64_t k = KS_T(ks_whitened_back)(s, k0, k1, sharp, whitened, state, kept, to, work, tally);
    ks_flush_end(mode);
    return k;
}

const ks_whitened_kernels KS_WHITENED = { whitened_bytes, whitened_meet, whitened_back };

#include "num_end.h"
