/* kernels_tier.c -- the kernel table of one precision and instruction-set tier. Compiled once for
 * each, with the tier's flags and
 *   KS_NUMBER     the header of the number, "num_f64.h"
 *   KS_TABLE      the name of the table, ks_kernels_avx2_f64
 *   KS_TIER_NAME  "avx2"
 *   KS_WHITENED   the table of whitened steps back, ks_whitened_avx2_f64
 *   KS_TILED      the table of hand-shaped kernels, ks_tiled_avx2_f64
 *   KS_COMBINE    where lanes of scans go together: the table of that, ks_combine_avx2
 *   KS_WIDE_TABLE, KS_WIDE_TILED  where there is a wider tier of those: the same of it */
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
