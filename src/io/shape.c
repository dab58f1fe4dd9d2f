#include "shape.h"

#include <stdio.h>
#include <string.h>

static bool fit_leading(const int64_t *dims, int lead, const ks_want *want, ks_fit *fit)
{
    if (lead > (want->steps ? 2 : 1)) return false;
    if (lead > 0 && want->steps) {
        const int64_t rows = dims[lead - 1];
        fit->step_axis = lead - 1;
        fit->steps = rows;
        fit->per_step = rows != 1;
        if (rows != 1 && rows != want->T && !(want->short_rows && rows == want->T - 1))
            return false;
    }
    if (lead > 0 && (!want->steps || lead == 2)) {
        fit->series_axis = 0;
        fit->series = dims[0];
        fit->per_series = dims[0] != 1;
        if (dims[0] != 1 && dims[0] != want->B) return false;
    }
    return true;
}

bool ks_shape_fit(const int64_t *dims, int rank, const ks_want *want, ks_fit *fit)
{
    const int64_t first = want->block[0], second = want->block_rank == 2 ? want->block[1] : 1;
    fit->series_axis = fit->step_axis = -1;
    fit->series = fit->steps = 1;
    fit->per_series = fit->per_step = false;
    if (rank < want->block_rank)
        return first == 1 && second == 1 && (rank == 0 || dims[0] == 1);
    /* Accept a column (n, 1) for a vector of length n; (1, n) broadcasts in any case. */
    if (want->block_rank == 1 && rank == 2 && dims[0] == first && dims[1] == 1)
        return true;
    const int lead = rank - want->block_rank;
    if (dims[lead] != first || (want->block_rank == 2 && dims[lead + 1] != second)) return false;
    return fit_leading(dims, lead, want, fit);
}

void ks_shape_text(const int64_t *dims, int rank, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "(");
    for (int i = 0; i < rank && used < size; ++i)
        used += (size_t)snprintf(text + used, size - used, i ? ", %lld" : "%lld",
                                 (long long)dims[i]);
    if (used < size) snprintf(text + used, size - used, rank == 1 ? ",)" : ")");
}

void ks_want_text(const ks_want *want, char *text, size_t size)
{
    char block[64], names[32], steps[64] = "";
    ks_shape_text(want->block, want->block_rank, block, sizeof block);
    snprintf(names, sizeof names, want->block_rank == 2 ? "(%s, %s)" : "(%s,)", want->names[0],
             want->names[1]);
    if (want->short_rows && want->T > 1)
        snprintf(steps, sizeof steps, "T = %lld or T-1 = %lld", (long long)want->T,
                 (long long)want->T - 1);
    else
        snprintf(steps, sizeof steps, "T = %lld", (long long)want->T);
    if (want->steps && want->B > 1)
        snprintf(text, size, "%s = %s, with a leading %s, or B and T (B = %lld) before it", names,
                 block, steps, (long long)want->B);
    else if (want->steps)
        snprintf(text, size, "%s = %s, or with a leading %s", names, block, steps);
    else if (want->B > 1)
        snprintf(text, size, "%s = %s, or with a leading B = %lld", names, block,
                 (long long)want->B);
    else
        snprintf(text, size, "%s = %s", names, block);
}
