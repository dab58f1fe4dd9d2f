/* --gradient: from the library's sums over what steps and series share to arrays shaped as the datasets are. */
#include "gradient.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memory.h"

static int64_t block_of(const ks_input_array *a) { return (int64_t)a->rows * a->columns; }

void ks_derivatives_plan(ks_derivatives *derivatives, const ks_input *input)
{
    memset(derivatives, 0, sizeof *derivatives);
    for (int i = 0; i < KS_INPUT_P0_INF; ++i) {
        const ks_input_array *of = &input->arrays[i];
        if (of->dataset.id < 0) continue;
        ks_derivative *d = &derivatives->items[derivatives->count++];
        const char *name = strrchr(of->dataset.path, '/');
        d->of = of;
        snprintf(d->path, sizeof d->path, "gradient/%s", name ? name + 1 : of->dataset.path);
        d->array.long_name = of->series > 1 ? "derivatives of the log-likelihood of each series"
                                            : "derivatives of the log-likelihood, summed over all series";
        d->array.precision = KS_F64;
        d->array.rank = of->dataset.rank;
        for (int axis = 0; axis < of->dataset.rank && axis < KS_AXES_MAX; ++axis)
            d->array.dims[axis] = of->dataset.dims[axis];
        d->array.step_axis = of->fit.step_axis;
    }
}

size_t ks_derivatives_bytes(const ks_derivatives *derivatives)
{
    size_t bytes = 0;
    for (int i = 0; i < derivatives->count; ++i) {
        const ks_input_array *of = derivatives->items[i].of;
        const size_t blocks = ks_size_product((size_t)of->series, (size_t)of->steps);
        bytes = ks_size_sum(bytes, ks_size_product(blocks, (size_t)block_of(of) * sizeof(double)));
    }
    return bytes;
}

size_t ks_derivatives_disk_bytes(const ks_derivatives *derivatives)
{
    size_t bytes = 0;
    for (int i = 0; i < derivatives->count; ++i)
        bytes = ks_size_sum(bytes, ks_output_disk_bytes(&derivatives->items[i].array));
    return bytes;
}

static ks_out *output_of(ks_gradient *gradient, ks_input_name name)
{
    ks_out *const all[] = {&gradient->F, &gradient->Q, &gradient->u, &gradient->H, &gradient->R, &gradient->d,
                           &gradient->m0, &gradient->P0};
    return all[name];
}

ks_exit ks_derivatives_run(ks_derivatives *derivatives, const ks_smooth_plan *plan, const ks_input *input, void *work,
                           ks_status *status, ks_info *info, ks_failure *failure)
{
    ks_gradient gradient = KS_GRADIENT_INIT;
    ks_model model;
    ks_view y;
    for (int i = 0; i < derivatives->count; ++i) {
        ks_derivative *d = &derivatives->items[i];
        const ks_input_array *of = d->of;
        const int64_t block = block_of(of);
        d->values = ks_memory_raw((size_t)(of->series * of->steps * block) * sizeof(double), d->path, failure);
        if (!d->values) return failure->code;
        *output_of(&gradient, (ks_input_name)(of - input->arrays)) =
            (ks_out){d->values, of->steps > 1 ? block : 0, of->series > 1 ? of->steps * block : 0};
    }
    ks_input_views(input, &model, &y);
    *status = ks_gradient_run(plan, &model, ks_input_diffuse(input), y, &gradient, work, info);
    return KS_EXIT_DONE;
}

/* Put a block in the order of the dataset: its diagonal, or transposed where the layout is. */
static void put_block(const ks_input_array *of, bool transposed, const double *from, double *to)
{
    for (int r = 0; r < of->rows; ++r) {
        if (of->diagonal) to[r] = from[r * of->columns + r];
        for (int c = 0; c < of->columns && !of->diagonal; ++c)
            to[transposed ? c * of->rows + r : r * of->columns + c] = from[r * of->columns + c];
    }
}

/* Return the array as the file has it. Rows that belong to no step are zero. NULL: out of memory. */
static double *as_in_file(const ks_derivative *d, const ks_input *input, ks_failure *failure)
{
    const ks_input_array *of = d->of;
    const bool transposed = input->layout == KS_LAYOUT_FORTRAN && of->rows > 1 && of->columns > 1;
    const int64_t block = block_of(of), numbers = of->diagonal ? of->rows : block;
    const size_t bytes = ks_output_array_bytes(&d->array);
    double *file = ks_memory_raw(bytes, d->path, failure);
    if (!file) return NULL;
    memset(file, 0, bytes);
    for (int64_t series = 0; series < of->fit.series; ++series)
        for (int64_t row = 0; row < of->fit.steps; ++row) {
            const int64_t step = row + of->shift;
            if (step >= of->steps) continue;
            put_block(of, transposed, d->values + (series * of->steps + step) * block,
                      file + (series * of->fit.steps + row) * numbers);
        }
    return file;
}

ks_exit ks_derivatives_write(ks_derivatives *derivatives, const ks_input *input, ks_output_file *out,
                             ks_failure *failure)
{
    for (int i = 0; i < derivatives->count && !failure->code; ++i) {
        ks_derivative *d = &derivatives->items[i];
        double *file = as_in_file(d, input, failure);
        d->array.path = d->path;
        if (file) ks_output_write(out, &d->array, file, NULL, NULL, failure);
        free(file);
    }
    return failure->code;
}

void ks_derivatives_free(ks_derivatives *derivatives)
{
    for (int i = 0; i < derivatives->count; ++i) free(derivatives->items[i].values);
    derivatives->count = 0;
}
