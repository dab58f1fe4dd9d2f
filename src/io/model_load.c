/* Reading the arrays of the model, in the precision of the computation. */
#include "model_parts.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "h5.h"
#include "memory.h"

static void refuse_value(ks_input *input, const ks_input_array *array, const ks_slab *slab,
                         const void *data, int64_t element)
{
    char index[256];
    ks_slab_index_text(&array->dataset, &array->fit, slab, element, index, sizeof index);
    ks_problem_add(&input->problems, "%s: %s%s is %s, expected a finite number",
                   array->dataset.file, array->dataset.path, index,
                   ks_not_finite_text(input->precision, data, element));
}

/* Find a variance below the normal numbers of single precision. It would have few digits or become 0, which is another
 * model. Entries off the diagonal need no check: none exceeds the geometric mean of its two variances, so what it loses
 * is round-off of that. */
static int64_t find_vanishing(const ks_input_array *array, int64_t blocks, const double *values)
{
    const int64_t n = array->rows, stride = array->diagonal ? 1 : n + 1, block = array->diagonal ? n : n * n;
    for (int64_t b = 0; b < blocks; ++b)
        for (int64_t i = 0; i < n; ++i) {
            const double value = fabs(values[b * block + i * stride]);
            if (value > 0 && value < (double)FLT_MIN) return b * block + i * stride;
        }
    return -1;
}

static void refuse_vanishing(ks_input *input, const ks_input_array *array, const ks_slab *slab, const double *values,
                             int64_t element)
{
    char index[256];
    ks_slab_index_text(&array->dataset, &array->fit, slab, element, index, sizeof index);
    ks_problem_add(&input->problems, "%s: %s%s is %g, too small for single precision, expected 0 or at least %.3g "
                   "(--precision f64 takes it)", array->dataset.file, array->dataset.path, index, values[element],
                   (double)FLT_MIN);
}

/* Spread diagonals over zeroed matrices, from the last to the first: `from` and `to` may share memory. */
static void expand_diagonals(size_t number, int n, int64_t blocks, const char *from, char *to)
{
    for (int64_t b = 0; b < blocks; ++b) {
        char *matrix = to + (size_t)b * (size_t)n * (size_t)n * number;
        memset(matrix, 0, (size_t)n * (size_t)n * number);
        for (int i = 0; i < n; ++i)
            memcpy(matrix + ((size_t)i * (size_t)n + (size_t)i) * number,
                   from + ((size_t)b * (size_t)n + (size_t)i) * number, number);
    }
}

/* Return the place of the first block of a slab in memory. */
static char *slab_target(const ks_input_array *array, const ks_slab *slab, size_t number)
{
    const size_t block = (size_t)array->rows * (size_t)array->columns;
    const int64_t first = slab->series * array->steps + slab->step + array->shift;
    return (char *)array->data + (size_t)first * block * number;
}

/* buffer: where blocks are read before they are transposed or expanded, or NULL. wide: where doubles are read before
 * they are rounded to single, or NULL. */
static ks_exit load_slab(ks_input *input, ks_input_array *array, const ks_slab *slab, char *buffer,
                         double *wide, ks_failure *failure)
{
    const size_t number = ks_precision_bytes(input->precision);
    const int64_t blocks = slab->series_count * slab->step_count;
    const int columns = array->diagonal ? 1 : array->columns;
    char *target = slab_target(array, slab, number);
    char *read = buffer ? buffer : target;
    void *first = wide ? (void *)wide : read;
    const int64_t count = blocks * array->rows * columns;
    if (ks_dataset_read(&array->dataset, &array->fit, slab,
                        input->precision == KS_F32 && !wide ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE, first, failure))
        return failure->code;
    const bool narrowed = input->narrowed && ks_input_is_covariance((ks_input_name)(array - input->arrays));
    const int64_t small = narrowed ? find_vanishing(array, blocks, first) : -1;
    if (wide)
        for (int64_t i = 0; i < count; ++i) ((float *)(void *)read)[i] = (float)wide[i];
    const int64_t bad = ks_find_not_finite(input->precision, read, count);
    if (bad >= 0) refuse_value(input, array, slab, read, bad);
    else if (small >= 0)
        refuse_vanishing(input, array, slab, first, small);
    else if (array->diagonal)
        expand_diagonals(number, array->rows, blocks, read, target);
    else if (buffer)
        ks_transpose_blocks(number, array->rows, array->columns, blocks, read, target);
    return KS_EXIT_DONE;
}

static ks_exit load_slabs(ks_input *input, ks_input_array *array, ks_load_progress *progress,
                          ks_failure *failure)
{
    const size_t number = ks_precision_bytes(input->precision);
    const size_t block = (size_t)array->rows * (size_t)array->columns;
    const bool transposed = input->layout == KS_LAYOUT_FORTRAN && array->columns > 1 &&
                            array->rows > 1;
    const int problems = input->problems.count;
    const bool covariance = ks_input_is_covariance((ks_input_name)(array - input->arrays));
    char *buffer = NULL;
    double *wide = NULL;
    ks_slab_walk walk;
    ks_slab slab;
    ks_slab_walk_start(&walk, array->series, array->first_row, array->first_row + array->row_count,
                       block * number, ks_dataset_chunk_steps(&array->dataset, &array->fit),
                       array->row_count == array->steps);
    const size_t rows = (size_t)ks_slab_walk_rows(&walk);
    if ((array->diagonal || transposed) && array->row_count > 0)
        buffer = ks_memory_raw(ks_size_product(rows, block * number), "reading the model", failure);
    if (input->precision == KS_F32 && covariance && array->row_count > 0 && !failure->code)
        wide = ks_memory_raw(ks_size_product(rows, block * sizeof *wide), "reading the model", failure);
    while (!failure->code && input->problems.count == problems && ks_slab_walk_next(&walk, &slab)) {
        load_slab(input, array, &slab, buffer, wide, failure);
        ks_load_advance(progress, (double)(slab.series_count * slab.step_count) *
                                      (double)(block * number));
    }
    free(buffer);
    free(wide);
    return failure->code;
}

/* Print the index of a block in memory as the file counts it: "/model/Q[17]". */
static void block_index_text(const ks_input_array *array, int64_t block, char *text, size_t size)
{
    const int64_t series = block / array->steps, row = block % array->steps - array->shift;
    if (array->fit.per_series && array->fit.step_axis >= 0)
        snprintf(text, size, "%s[%lld, %lld]", array->dataset.path, (long long)series,
                 (long long)(array->fit.per_step ? row : 0));
    else if (array->fit.per_series)
        snprintf(text, size, "%s[%lld]", array->dataset.path, (long long)series);
    else if (array->fit.per_step)
        snprintf(text, size, array->fit.series_axis >= 0 ? "%s[0, %lld]" : "%s[%lld]",
                 array->dataset.path, (long long)row);
    else
        snprintf(text, size, "%s", array->dataset.path);
}

/* The smallest eigenvalue of a diagonal matrix is an entry: name its place in the dataset. */
static void refuse_variance(ks_input *input, const ks_input_array *array, const ks_info *info, double indefinite)
{
    const int64_t n = array->rows, series = info->step / array->steps;
    const ks_slab row = {series, 1, info->step % array->steps - array->shift, 1};
    int64_t least = 0;
    double smallest = 0;
    char index[256];
    for (int64_t i = 0; i < n; ++i) {
        const int64_t at = (info->step * n + i) * n + i;
        const double value = input->precision == KS_F32 ? (double)((const float *)array->data)[at]
                                                        : ((const double *)array->data)[at];
        if (!(value < smallest)) continue;
        smallest = value;
        least = i;
    }
    ks_slab_index_text(&array->dataset, &array->fit, &row, least, index, sizeof index);
    ks_problem_add(&input->problems, "%s: %s%s is %.3g, expected no variance below %g of the trace",
                   array->dataset.file, array->dataset.path, index, smallest, -indefinite);
}

static ks_exit check_covariances(ks_input *input, ks_input_array *array, ks_failure *failure)
{
    const bool narrow = array->dataset.narrow || input->precision == KS_F32;
    const double asymmetry = narrow ? 1e-4 : 1e-8, indefinite = narrow ? 1e-5 : 1e-10;
    ks_info info = KS_INFO_INIT;
    char where[sizeof array->dataset.path + 64];
    const ks_status status =
        ks_covariance_symmetrize(input->precision, array->rows, array->series * array->steps,
                                 array->data, asymmetry, indefinite, &info);
    if (status == KS_OK) return KS_EXIT_DONE;
    if (status == KS_ENOMEM)
        return ks_fail(failure, KS_EXIT_RESOURCES, "out of memory while checking %s",
                       array->dataset.path);
    if (status != KS_EMODEL)
        return ks_fail(failure, KS_EXIT_NUMERICAL, "%s: cannot check %s: %s", array->dataset.file,
                       array->dataset.path, ks_strerror(status));
    block_index_text(array, info.step, where, sizeof where);
    if (info.fault == KS_FAULT_ASYMMETRIC)
        ks_problem_add(&input->problems,
                       "%s: %s is not symmetric: entries (%d, %d) and (%d, %d) differ by %.3g, "
                       "expected at most %g of the largest entry", array->dataset.file, where,
                       info.row, info.column, info.column, info.row, info.value, asymmetry);
    else if (array->diagonal)
        refuse_variance(input, array, &info, indefinite);
    else
        ks_problem_add(&input->problems,
                       "%s: %s is indefinite: it has the eigenvalue %.3g, expected none below %g "
                       "of the trace", array->dataset.file, where, info.value, -indefinite);
    return KS_EXIT_DONE;
}

/** Read one array of the model and check its values. */
static ks_exit load_array(ks_input *input, ks_input_array *array, ks_load_progress *progress, ks_failure *failure)
{
    const int problems = input->problems.count;
    const size_t blocks = ks_size_product((size_t)array->series, (size_t)array->steps);
    const size_t block = (size_t)array->rows * (size_t)array->columns;
    const ks_input_name name = (ks_input_name)(array - input->arrays);
    const size_t bytes = ks_size_product(blocks, block * ks_precision_bytes(input->precision));
    array->data = ks_memory_raw(bytes, array->dataset.path, failure);
    if (!array->data) return failure->code;
    /* The first rows, which are not read, are never used. Set them to zero, so that nothing is undefined. */
    const size_t row = block * ks_precision_bytes(input->precision);
    const size_t unread = (size_t)(array->steps - array->row_count) * row;
    for (int64_t series = 0; unread && series < array->series; ++series)
        memset((char *)array->data + (size_t)(series * array->steps) * row, 0, unread);
    if (load_slabs(input, array, progress, failure)) return failure->code;
    if (ks_input_is_covariance(name) && input->problems.count == problems)
        return check_covariances(input, array, failure);
    return KS_EXIT_DONE;
}

/* What the option stands for: the identity. */
static ks_exit make_diffuse(ks_input *input, ks_failure *failure)
{
    ks_input_array *array = &input->arrays[KS_INPUT_P0_INF];
    const size_t n = (size_t)input->nx, number = ks_precision_bytes(input->precision);
    array->rows = array->columns = input->nx;
    array->steps = array->series = 1;
    array->data = ks_memory_raw(ks_size_product(n * n, number), array->name, failure);
    if (!array->data) return failure->code;
    memset(array->data, 0, n * n * number);
    for (size_t i = 0; i < n; ++i) {
        if (input->precision == KS_F32) ((float *)array->data)[i * n + i] = 1;
        else ((double *)array->data)[i * n + i] = 1;
    }
    return KS_EXIT_DONE;
}

static ks_exit load_time_stamps(ks_input *input, ks_failure *failure)
{
    const ks_dataset *t = &input->t_dataset;
    const ks_fit whole = {.series_axis = -1, .step_axis = -1, .series = 1, .steps = 1};
    const ks_slab all = {0, 1, 0, 1};
    if (t->id < 0) return KS_EXIT_DONE;
    input->t = ks_memory_raw(ks_size_product((size_t)input->T, sizeof(double)), "/t", failure);
    if (!input->t) return failure->code;
    if (ks_dataset_read(t, &whole, &all, H5T_NATIVE_DOUBLE, input->t, failure)) return failure->code;
    const int64_t seen = input->T - input->ahead;
    const double last = input->t[seen - 1], step = seen > 1 ? last - input->t[seen - 2] : 1.0;
    for (int64_t k = seen; k < input->T; ++k) input->t[k] = last + (double)(k - seen + 1) * step;
    return KS_EXIT_DONE;
}

ks_exit ks_input_load(ks_input *input, ks_precision precision, ks_io_progress progress,
                      void *user, ks_failure *failure)
{
    const size_t bytes = ks_input_bytes(input, precision);
    ks_load_progress state = {progress, user, 0.0, (double)bytes};
    input->precision = precision == KS_F32 ? KS_F32 : KS_F64;
    input->narrowed = precision != KS_F64;
    if (ks_memory_check(bytes, "the input", failure)) return failure->code;
    if (ks_observations_load(input, &state, failure)) return failure->code;
    for (int i = 0; i < KS_INPUT_ARRAYS; ++i)
        if (input->arrays[i].dataset.id >= 0 &&
            load_array(input, &input->arrays[i], &state, failure))
            return failure->code;
    if (input->places.diffuse && make_diffuse(input, failure)) return failure->code;
    return load_time_stamps(input, failure);
}

static ks_view view_of(const ks_input_array *array)
{
    const int64_t block = (int64_t)array->rows * array->columns;
    ks_view view = {array->data, array->steps > 1 ? block : 0,
                    array->series > 1 ? block * array->steps : 0};
    return view;
}

ks_view ks_input_diffuse(const ks_input *input) { return view_of(&input->arrays[KS_INPUT_P0_INF]); }

void ks_input_views(const ks_input *input, ks_model *model, ks_view *y)
{
    const ks_input_array *arrays = input->arrays;
    const ks_model empty = KS_MODEL_INIT;
    *model = empty;
    model->F = view_of(&arrays[KS_INPUT_F]);
    model->Q = view_of(&arrays[KS_INPUT_Q]);
    model->u = view_of(&arrays[KS_INPUT_U]);
    model->H = view_of(&arrays[KS_INPUT_H]);
    model->R = view_of(&arrays[KS_INPUT_R]);
    model->d = view_of(&arrays[KS_INPUT_D]);
    model->m0 = view_of(&arrays[KS_INPUT_M0]);
    model->P0 = view_of(&arrays[KS_INPUT_P0]);
    model->prior = input->prior;
    /* The rows have been placed as for "into": place_rows() in model_resolve.c. */
    model->transition = KS_INTO;
    y->data = input->y;
    y->step_stride = input->ny;
    y->series_stride = (int64_t)input->ny * input->T;
}
