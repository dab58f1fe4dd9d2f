// count_kernels.cpp -- the counting instance of the shared arithmetic.
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "hd.h"
#include "count_kernels.h"
#include "num_count.hpp"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "two_ended_array_text.h"
#include "element_text.h"
#include "information_text.h"
#include "memo_text.h"
#include "range_text.h"
/* No periodic checks of conditioning: they choose the form of a step, which is fixed here. */
#undef KS_LOOK
#define KS_LOOK INT64_MAX
#include "filter_range_text.h"
#include "smooth_range_text.h"
#include "gain_words_text.h"
#include "sensitivity_text.h"
#define KS_TABLE counting_table
#define KS_TIER_NAME "counting"
#define KS_WITH_LITERAL(nx, CALL) CALL(nx);
#include "kernels_text.h"
#include "map_factor_text.h"
#include "map_ops_text.h"
#include "map_blocks_text.h"
#include "map_memory_text.h"
#include "map_terms_text.h"
#include "map_text.h"
#include "map_links_text.h"
#include "map_rows_text.h"
#include "map_memo_text.h"
#include "map_wide_text.h"
#include "map_chain_text.h"
#define KS_MAP_TABLE counting_map_table
#define KS_WITH_STATES(nx, CALL) CALL(nx);
#include "map_table_text.h"

static_assert(sizeof(ks_counted) == sizeof(double), "arrays of doubles are arrays of ks_counted");

/* The texts start in the array form, for the sake of vague priors. What is counted here is the ordinary form
 * throughout. */
static void start_ordinary(const ks_series *s, ks_state *state, void *)
{
    ks_copy_count(s->nx, static_cast<const ks_counted *>(s->m0),
                  static_cast<ks_counted *>(state->x));
    ks_copy_count(s->nx * s->nx, static_cast<const ks_counted *>(s->P0),
                  static_cast<ks_counted *>(state->C));
    state->form = KS_FORM_ORDINARY;
}

void ks_counting_kernels(ks_kernels *kernels)
{
    *kernels = counting_table;
    kernels->start = start_ordinary;
}

void ks_counting_map_kernels(ks_map_kernels *kernels) { *kernels = counting_map_table; }

ks_flops ks_take_flops(void)
{
    const ks_flops taken = ks_counter;
    ks_counter = ks_flops();
    return taken;
}
