/* map_refusal.h -- which models the MAP route must refuse, worked out in the obvious way. */
#ifndef MAP_REFUSAL_H
#define MAP_REFUSAL_H

#include "golden.h"

/** The first matrix, by series and step, that must be positive definite and is not; `array` is
 *  KS_ARRAY_NONE where all are. */
typedef struct map_refusal {
    ks_array array;
    int64_t series, step;
    int row;
} map_refusal;

/** What a run over T steps of B series must be refused for. Ends the test where a pivot is so near
 *  the bound that rounding decides. At most 32 states and 32 entries, rows given into their step. */
map_refusal map_refusal_of(const ks_model *model, ks_view y, int64_t T, int64_t B, int nx, int ny,
                           ks_precision precision);

/** The same of a golden case. */
map_refusal golden_refusal(const golden *g, ks_precision precision);

/** Whether a run ended as the refusal says: status, array, fault, place and suggestion. */
bool is_refused(ks_status status, const ks_info *info, map_refusal expected);

#endif
