/* Reading the blocks of a system, in the precision of the computation. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "h5.h"
#include "memory.h"
#include "system_file.h"
#include "values.h"

static size_t block_elements(const ks_system_array *array)
{
    return (size_t)array->rows * (size_t)array->columns;
}

static size_t array_bytes(const ks_system_array *array, ks_precision precision)
{
    return ks_size_product((size_t)array->blocks,
                           ks_size_product(block_elements(array), ks_precision_bytes(precision)));
}

size_t ks_system_bytes(const ks_system *system, ks_precision precision)
{
    size_t bytes = 0;
    for (int i = 0; i < KS_SYSTEM_ARRAYS; ++i)
        bytes = ks_size_sum(bytes, array_bytes(&system->arrays[i], precision));
    for (int side = 0; side < 2; ++side)
        bytes = ks_size_sum(bytes, ks_system_triples_bytes(&system->triples[side]));
    return bytes;
}

/* Return the first value of a triangle that is not finite, in the order of the file. transposed: the blocks of the file
 * are transposed. */
static int64_t find_in_triangles(ks_precision precision, const char *data, int n, int64_t blocks,
                                 bool transposed)
{
    const size_t number = ks_precision_bytes(precision);
    for (int64_t row = 0; row < blocks * n; ++row) {
        const int64_t i = row % n, first = transposed ? i : 0, count = transposed ? n - i : i + 1;
        const int64_t bad = ks_find_not_finite(
            precision, data + (size_t)(row * n + first) * number, count);
        if (bad >= 0) return row * n + first + bad;
    }
    return -1;
}

typedef struct reading {
    ks_system *system;
    ks_system_array *array;
    bool triangles;   /* only the lower triangles are checked */
    bool corners;     /* the first and last number of a block lie outside the matrix; they are set to 0 */
    bool transposed;
    char *buffer;     /* for slabs that are transposed, else NULL */
} reading;

static ks_exit load_slab(const reading *r, const ks_slab *slab, ks_failure *failure)
{
    ks_system_array *array = r->array;
    const ks_precision precision = r->system->precision;
    const size_t number = ks_precision_bytes(precision), block = block_elements(array);
    char *target = (char *)array->data + (size_t)slab->step * block * number;
    char *read = r->buffer ? r->buffer : target;
    if (ks_dataset_read(&array->dataset, &array->fit, slab,
                        precision == KS_F32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE, read, failure))
        return failure->code;
    for (int64_t k = 0; r->corners && k < slab->step_count; ++k) {
        memset(read + (size_t)k * block * number, 0, number);
        memset(read + ((size_t)(k + 1) * block - 1) * number, 0, number);
    }
    const int64_t bad =
        r->triangles
            ? find_in_triangles(precision, read, array->rows, slab->step_count, r->transposed)
            : ks_find_not_finite(precision, read, slab->step_count * (int64_t)block);
    if (bad >= 0) {
        char index[256];
        ks_slab_index_text(&array->dataset, &array->fit, slab, bad, index, sizeof index);
        ks_problem_add(&r->system->problems, "%s: %s%s is %s, expected a finite number",
                       array->dataset.file, array->dataset.path, index,
                       ks_not_finite_text(precision, read, bad));
    } else if (r->buffer) {
        ks_transpose_blocks(number, array->rows, array->columns, slab->step_count, read, target);
    }
    return KS_EXIT_DONE;
}

static ks_exit load_array(ks_system *system, ks_system_name name, bool lower,
                          ks_load_progress *progress, ks_failure *failure)
{
    ks_system_array *array = &system->arrays[name];
    const size_t block_bytes = block_elements(array) * ks_precision_bytes(system->precision);
    const int problems = system->problems.count;
    reading r = {system, array, name == KS_SYSTEM_D && lower, name == KS_SYSTEM_D_DIA, false, NULL};
    ks_slab_walk walk;
    ks_slab slab;
    array->data = ks_memory_raw(array_bytes(array, system->precision), array->dataset.path,
                                failure);
    if (!array->data) return failure->code;
    r.transposed = system->layout == KS_LAYOUT_FORTRAN && array->rows > 1 && array->columns > 1;
    ks_slab_walk_start(&walk, 1, 0, array->blocks, block_bytes,
                       ks_dataset_chunk_steps(&array->dataset, &array->fit), true);
    if (r.transposed) {
        r.buffer = ks_memory_raw(ks_size_product((size_t)ks_slab_walk_rows(&walk), block_bytes),
                                 "reading the system", failure);
        if (!r.buffer) return failure->code;
    }
    while (!failure->code && system->problems.count == problems &&
           ks_slab_walk_next(&walk, &slab)) {
        load_slab(&r, &slab, failure);
        ks_load_advance(progress, (double)slab.step_count * (double)block_bytes);
    }
    free(r.buffer);
    return failure->code;
}

/* The largest magnitude of each right-hand side as it is in the file. */
static ks_exit find_largest(const ks_system *system, double *largest, ks_failure *failure)
{
    const ks_system_array *b = &system->arrays[KS_SYSTEM_B];
    const bool transposed = system->layout == KS_LAYOUT_FORTRAN;
    const int64_t block = (int64_t)block_elements(b);
    ks_slab_walk walk;
    ks_slab slab;
    ks_slab_walk_start(&walk, 1, 0, b->blocks, (size_t)block * sizeof(double),
                       ks_dataset_chunk_steps(&b->dataset, &b->fit), true);
    double *read = ks_memory_raw(ks_size_product((size_t)ks_slab_walk_rows(&walk), (size_t)block * sizeof *read),
                                 "reading the system", failure);
    if (!read) return failure->code;
    while (ks_slab_walk_next(&walk, &slab) &&
           !ks_dataset_read(&b->dataset, &b->fit, &slab, H5T_NATIVE_DOUBLE, read, failure))
        for (int64_t i = 0; i < slab.step_count * block; ++i) {
            const int64_t at = i % block, side = transposed ? at / b->rows : at % b->columns;
            if (fabs(read[i]) > largest[side]) largest[side] = fabs(read[i]);
        }
    free(read);
    return failure->code;
}

/* Refuse right-hand sides that single precision makes zero or leaves few digits. */
static ks_exit refuse_vanishing(ks_system *system, ks_failure *failure)
{
    const ks_system_array *b = &system->arrays[KS_SYSTEM_B];
    const float *values = b->data;
    double *largest = ks_memory_zeroed(ks_size_product((size_t)b->columns, sizeof *largest), b->dataset.path, failure);
    bool small = false;
    if (!largest) return failure->code;
    for (int64_t i = 0; i < b->blocks * (int64_t)block_elements(b); ++i) {
        const double value = fabs((double)values[i]);
        if (value > largest[i % b->columns]) largest[i % b->columns] = value;
    }
    for (int side = 0; side < b->columns; ++side) {
        small |= largest[side] < (double)KS_LEAST_OF_SIDE;
        largest[side] = 0;
    }
    if (small) find_largest(system, largest, failure);
    for (int side = 0; small && !failure->code && side < b->columns; ++side)
        if (largest[side] > 0 && largest[side] < (double)KS_LEAST_OF_SIDE)
            ks_problem_add(&system->problems, "%s: %s: the largest entry of right-hand side %d is %g, too small for "
                           "single precision, expected at least %.3g (--precision f64 takes it)", b->dataset.file,
                           b->dataset.path, side, largest[side], (double)KS_LEAST_OF_SIDE);
    free(largest);
    return failure->code;
}

ks_exit ks_system_load(ks_system *system, ks_precision precision, bool lower,
                       ks_io_progress progress, void *user, ks_failure *failure)
{
    const size_t bytes = ks_system_bytes(system, precision);
    ks_load_progress state = {progress, user, 0.0, (double)bytes};
    system->precision = precision;
    if (ks_memory_check(bytes, "the system", failure)) return failure->code;
    for (int i = 0; i < KS_SYSTEM_ARRAYS; ++i)
        if (system->arrays[i].dataset.id >= 0 && system->arrays[i].blocks > 0 &&
            load_array(system, (ks_system_name)i, lower, &state, failure))
            return failure->code;
    for (int side = 0; side < 2; ++side)
        if (ks_system_load_triples(system, side, failure)) return failure->code;
    const ks_system_array *b = &system->arrays[KS_SYSTEM_B];
    if (precision == KS_F32 && b->dataset.id >= 0 && b->blocks > 0 && system->problems.count == 0)
        return refuse_vanishing(system, failure);
    return KS_EXIT_DONE;
}
