/* Off-diagonal blocks as triples: groups /L and /U with the lists block, row, col, value. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "h5.h"
#include "memory.h"
#include "system_file.h"

enum { BLOCK, ROW, COL, VALUE, LISTS };
static const char *const lists[LISTS] = {"block", "row", "col", "value"};
static const char *const groups[2] = {"/L", "/U"};

ks_exit ks_system_open_triples(ks_system *system, int side, ks_failure *failure)
{
    ks_system_triples *triples = &system->triples[side];
    if (!ks_h5_exists(system->file, groups[side]) ||
        ks_h5_object_type(system->file, groups[side]) != H5O_TYPE_GROUP)
        return KS_EXIT_DONE;
    triples->found = true;
    for (int i = 0; i < LISTS; ++i) {
        ks_dataset *dataset = &triples->datasets[i];
        char path[32];
        snprintf(path, sizeof path, "%s/%s", groups[side], lists[i]);
        if (ks_dataset_open(dataset, system->file, system->name, path, &system->problems, failure))
            return failure->code;
        if (!dataset->found) {
            char letters[64];
            ks_h5_other_letters(system->file, path, letters, sizeof letters);
            ks_problem_add(&system->problems, "%s: dataset %s is missing; the group %s holds "
                           "entries as lists block, row, col, value%s", system->name, path,
                           groups[side], letters);
        }
        if (dataset->id < 0) continue;
        const ks_dataset *first = &triples->datasets[BLOCK];
        if (dataset->rank != 1 || (first->id >= 0 && dataset->dims[0] != first->dims[0])) {
            char shape[256], expected[64] = "(entries,)";
            ks_shape_text(dataset->dims, dataset->rank, shape, sizeof shape);
            if (dataset->rank == 1 && i > BLOCK)
                snprintf(expected, sizeof expected, "(%lld,) as that of %.24s",
                         (long long)first->dims[0], first->path);
            ks_problem_add(&system->problems, "%s: %s has shape %s, expected %s", system->name,
                           path, shape, expected);
        } else {
            triples->count = dataset->dims[0];
        }
    }
    return KS_EXIT_DONE;
}

size_t ks_system_triples_bytes(const ks_system_triples *triples)
{
    return ks_size_product((size_t)triples->count, LISTS * sizeof(double));
}

/* Convert the doubles that were read to integers, in place, and check that they are whole and in 0 .. limit - 1. */
static void check_indices(ks_system *system, const ks_dataset *dataset, int64_t limit,
                          const double *values, int64_t count, int64_t *indices)
{
    for (int64_t e = 0; e < count; ++e) {
        if (!(values[e] >= 0.0 && values[e] < (double)limit && values[e] == floor(values[e]))) {
            ks_problem_add(&system->problems, "%s: %s[%lld] is %.17g, expected a whole number of "
                           "0 .. %lld", system->name, dataset->path, (long long)e, values[e],
                           (long long)(limit - 1));
            return;
        }
        indices[e] = (int64_t)values[e];
    }
}

static ks_exit read_list(const ks_dataset *dataset, int64_t count, double *values,
                         ks_failure *failure)
{
    const ks_fit fit = {.series_axis = -1, .step_axis = 0};
    const ks_slab slab = {0, 1, 0, count};
    return ks_dataset_read(dataset, &fit, &slab, H5T_NATIVE_DOUBLE, values, failure);
}

ks_exit ks_system_load_triples(ks_system *system, int side, ks_failure *failure)
{
    ks_system_triples *triples = &system->triples[side];
    const size_t bytes = (size_t)triples->count * sizeof(double);
    int64_t **const indices[VALUE] = {&triples->block, &triples->row, &triples->col};
    const int64_t limits[VALUE] = {system->N - 1, system->n, system->n};
    if (!triples->found || triples->count == 0) return KS_EXIT_DONE;
    triples->value = ks_memory_raw(bytes, "the system", failure);
    for (int i = 0; i < LISTS && !failure->code; ++i) {
        if (read_list(&triples->datasets[i], triples->count, triples->value, failure))
            return failure->code;
        if (i == VALUE) break;
        *indices[i] = ks_memory_raw(bytes, "the system", failure);
        if (!failure->code)
            check_indices(system, &triples->datasets[i], limits[i], triples->value,
                          triples->count, *indices[i]);
    }
    for (int64_t e = 0; e < triples->count && !failure->code; ++e)
        if (!isfinite(triples->value[e])) {
            ks_problem_add(&system->problems, "%s: %s[%lld] is %s, expected a finite number",
                           system->name, triples->datasets[VALUE].path, (long long)e,
                           isnan(triples->value[e]) ? "NaN" : "infinite");
            break;
        }
    return failure->code;
}

void ks_system_free_triples(ks_system_triples *triples)
{
    for (int i = 0; i < LISTS; ++i) ks_dataset_close(&triples->datasets[i]);
    free(triples->block);
    free(triples->row);
    free(triples->col);
    free(triples->value);
}
