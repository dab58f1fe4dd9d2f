#include "values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void ks_load_advance(ks_load_progress *progress, double bytes)
{
    progress->done += bytes;
    if (progress->function && progress->total > 0.0)
        progress->function(progress->user, progress->done / progress->total);
}

size_t ks_precision_bytes(ks_precision precision)
{
    return precision == KS_F32 ? sizeof(float) : sizeof(double);
}

void ks_slab_index_text(const ks_dataset *dataset, const ks_fit *fit, const ks_slab *slab,
                        int64_t element, char *text, size_t size)
{
    int64_t index[KS_RANK_MAX];
    for (int axis = dataset->rank - 1; axis >= 0; --axis) {
        int64_t length = dataset->dims[axis], first = 0;
        if (axis == fit->series_axis) {
            length = slab->series_count;
            first = slab->series;
        } else if (axis == fit->step_axis) {
            length = slab->step_count;
            first = slab->step;
        }
        index[axis] = first + element % length;
        element /= length;
    }
    size_t used = 0;
    text[0] = '\0';
    for (int axis = 0; axis < dataset->rank && used < size; ++axis)
        used += (size_t)snprintf(text + used, size - used, "%s%lld%s", axis ? ", " : "[",
                                 (long long)index[axis], axis + 1 == dataset->rank ? "]" : "");
}

int64_t ks_find_not_finite(ks_precision precision, const void *data, int64_t count)
{
    if (precision == KS_F32) {
        const float *values = data;
        for (int64_t i = 0; i < count; ++i)
            if (!isfinite(values[i])) return i;
    } else {
        const double *values = data;
        for (int64_t i = 0; i < count; ++i)
            if (!isfinite(values[i])) return i;
    }
    return -1;
}

const char *ks_not_finite_text(ks_precision precision, const void *data, int64_t element)
{
    const bool nan = precision == KS_F32 ? isnan(((const float *)data)[element]) != 0
                                         : isnan(((const double *)data)[element]) != 0;
    return nan ? "NaN" : precision == KS_F32 ? "infinite (in f32)" : "infinite";
}

void ks_transpose_blocks(size_t number, int rows, int columns, int64_t blocks, const char *from,
                         char *to)
{
    const size_t r = (size_t)rows, c = (size_t)columns;
    for (int64_t b = 0; b < blocks; ++b, from += r * c * number, to += r * c * number)
        for (size_t i = 0; i < r; ++i)
            for (size_t j = 0; j < c; ++j)
                memcpy(to + (i * c + j) * number, from + (j * r + i) * number, number);
}
