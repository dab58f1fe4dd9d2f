/* Reading y. Missing entries are recognized in the numbers of the file, before conversion and scaling. */
#include "model_parts.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "h5.h"
#include "memory.h"
#include "unwritten.h"

/* How stored numbers become observations. */
typedef struct packing {
    hid_t native;             /* the file's type in this machine's byte order */
    size_t bytes;             /* of one stored number                         */
    bool has_fill, scaled;
    unsigned char fill[64];   /* in the native type */
    double factor, offset;
} packing;

/* Convert the fill value to the type of the data. Returns false if no stored number can equal it. An integer cannot if
 * the conversion and its reverse do not give the same number; a float cannot if it overflows. NaN is missing in any
 * case. */
static bool convert_fill(hid_t own, size_t own_bytes, hid_t native, size_t native_bytes,
                         const unsigned char *value, unsigned char *fill)
{
    unsigned char work[64] = {0}, back[64] = {0};
    memcpy(work, value, own_bytes);
    if (H5Tconvert(own, native, 1, work, NULL, H5P_DEFAULT) < 0) return false;
    memcpy(fill, work, native_bytes);
    if (H5Tget_class(native) == H5T_INTEGER) {
        memcpy(back, work, native_bytes);
        if (H5Tconvert(native, own, 1, back, NULL, H5P_DEFAULT) < 0) return false;
        return memcmp(back, value, own_bytes) == 0;
    }
    double before, after;
    memcpy(back, value, own_bytes);
    if (H5Tconvert(own, H5T_NATIVE_DOUBLE, 1, back, NULL, H5P_DEFAULT) < 0 ||
        H5Tconvert(native, H5T_NATIVE_DOUBLE, 1, work, NULL, H5P_DEFAULT) < 0)
        return false;
    memcpy(&before, back, sizeof before);
    memcpy(&after, work, sizeof after);
    return !isnan(after) && (isfinite(after) || !isfinite(before));
}

static void read_fill(ks_input *input, packing *pack)
{
    const ks_dataset *y = &input->y_dataset;
    unsigned char value[64] = {0};
    if (H5Aexists(y->id, "_FillValue") <= 0) return;
    const hid_t attribute = H5Aopen(y->id, "_FillValue", H5P_DEFAULT);
    const hid_t type = attribute < 0 ? -1 : H5Aget_type(attribute);
    const hid_t space = attribute < 0 ? -1 : H5Aget_space(attribute);
    const hid_t own = type < 0 ? -1 : H5Tget_native_type(type, H5T_DIR_DEFAULT);
    const H5T_class_t class = own < 0 ? H5T_NO_CLASS : H5Tget_class(own);
    const size_t bytes = own < 0 ? 0 : H5Tget_size(own);
    const bool single = space >= 0 && H5Sget_simple_extent_npoints(space) == 1;
    if ((class == H5T_INTEGER || class == H5T_FLOAT) && bytes <= 16 && single &&
        H5Aread(attribute, own, value) >= 0)
        pack->has_fill = convert_fill(own, bytes, pack->native, pack->bytes, value, pack->fill);
    else
        ks_problem_add(&input->problems, "%s: attribute _FillValue of %s is not one number",
                       y->file, y->path);
    ks_h5_release(own);
    ks_h5_release(space);
    ks_h5_release(type);
    ks_h5_release(attribute);
    H5Eclear2(H5E_DEFAULT);
}

/* A scale factor of 0 would make all observations equal. */
static void read_scale(ks_input *input, const char *name, bool factor, double *value, bool *scaled)
{
    const ks_attribute_state state = ks_h5_read_number(input->y_dataset.id, name, value);
    if (state == KS_ATTRIBUTE_READ && factor && *value == 0.0)
        ks_problem_add(&input->problems, "%s: attribute %s of %s is 0, expected a finite number other than 0",
                       input->y_dataset.file, name, input->y_dataset.path);
    else if (state == KS_ATTRIBUTE_READ && isfinite(*value))
        *scaled = true;
    else if (state != KS_ATTRIBUTE_ABSENT)
        ks_problem_add(&input->problems, "%s: attribute %s of %s is not one finite number",
                       input->y_dataset.file, name, input->y_dataset.path);
}

static ks_exit packing_of(ks_input *input, packing *pack, ks_failure *failure)
{
    const ks_dataset *y = &input->y_dataset;
    memset(pack, 0, sizeof *pack);
    pack->factor = 1.0;
    const hid_t type = H5Dget_type(y->id);
    pack->native = type < 0 ? -1 : H5Tget_native_type(type, H5T_DIR_DEFAULT);
    pack->bytes = pack->native < 0 ? 0 : H5Tget_size(pack->native);
    ks_h5_release(type);
    if (pack->native < 0 || pack->bytes > 16)
        return ks_fail_h5(failure, KS_EXIT_FILE, "%s: cannot convert the numbers of %s", y->file,
                          y->path);
    read_fill(input, pack);
    read_scale(input, "scale_factor", true, &pack->factor, &pack->scaled);
    read_scale(input, "add_offset", false, &pack->offset, &pack->scaled);
    return KS_EXIT_DONE;
}

/* Whether a stored number is the fill value. Floats are compared by value, so that -0.0 equals 0.0; NaN is missing
 * anyway. 16-byte floats have padding, so they are compared as numbers, too. */
static bool is_fill(const packing *pack, bool floating, const unsigned char *number)
{
    if (!floating) return memcmp(number, pack->fill, pack->bytes) == 0;
    if (pack->bytes == sizeof(float)) {
        float a, b;
        memcpy(&a, number, sizeof a);
        memcpy(&b, pack->fill, sizeof b);
        return !(a < b) && !(a > b);
    }
    if (pack->bytes == sizeof(double)) {
        double a, b;
        memcpy(&a, number, sizeof a);
        memcpy(&b, pack->fill, sizeof b);
        return !(a < b) && !(a > b);
    }
    long double a, b;
    memcpy(&a, number, sizeof a);
    memcpy(&b, pack->fill, sizeof b);
    return !(a < b) && !(a > b);
}

static void store(ks_precision precision, void *data, int64_t index, double value)
{
    if (precision == KS_F32)
        ((float *)data)[index] = (float)value;
    else
        ((double *)data)[index] = value;
}

static double load(ks_precision precision, const void *data, int64_t index)
{
    return precision == KS_F32 ? (double)((const float *)data)[index]
                               : ((const double *)data)[index];
}

/* Read a slab through a buffer: find missing entries, convert, scale. */
static ks_exit read_packed(ks_input *input, const packing *pack, const ks_slab *slab,
                           unsigned char *buffer, void *target, ks_failure *failure)
{
    const ks_dataset *y = &input->y_dataset;
    const int64_t count = slab->series_count * slab->step_count * input->ny;
    const bool floating = H5Tget_class(pack->native) == H5T_FLOAT;
    if (ks_dataset_read(y, &input->y_fit, slab, pack->native, buffer, failure))
        return failure->code;
    if (pack->has_fill)
        for (int64_t i = 0; i < count; ++i) {
            const unsigned char *number = buffer + (size_t)i * pack->bytes;
            store(input->precision, target, i, is_fill(pack, floating, number) ? (double)NAN : 0.0);
        }
    if (H5Tconvert(pack->native, H5T_NATIVE_DOUBLE, (size_t)count, buffer, NULL, H5P_DEFAULT) < 0)
        return ks_fail_h5(failure, KS_EXIT_FILE, "%s: cannot convert the numbers of %s", y->file,
                          y->path);
    for (int64_t i = 0; i < count; ++i) {
        double value;
        memcpy(&value, buffer + (size_t)i * sizeof value, sizeof value);
        if (pack->has_fill && isnan(load(input->precision, target, i))) continue;
        store(input->precision, target, i, value * pack->factor + pack->offset);
    }
    return KS_EXIT_DONE;
}

/* Return the index of the first infinity of a slab, or -1. */
static int64_t find_infinity(ks_precision precision, const void *data, int64_t count)
{
    if (precision == KS_F32) {
        const float *values = data;
        for (int64_t i = 0; i < count; ++i)
            if (isinf(values[i])) return i;
    } else {
        const double *values = data;
        for (int64_t i = 0; i < count; ++i)
            if (isinf(values[i])) return i;
    }
    return -1;
}

static void refuse_infinity(ks_input *input, const ks_slab *slab, int64_t element)
{
    char index[256];
    ks_slab_index_text(&input->y_dataset, &input->y_fit, slab, element, index, sizeof index);
    ks_problem_add(&input->problems,
                   "%s: %s%s is infinite%s, expected a finite number, or NaN for a missing entry",
                   input->y_dataset.file, input->y_dataset.path, index,
                   input->precision == KS_F32 ? " (in f32)" : "");
}

/* A program that leaves entries unwritten, or masks them without an attribute _FillValue, leaves the fill value of the
 * dataset in them: 9.97e36 by default in netCDF. It would be taken for an observation. Returns whether that was
 * noted. */
static bool note_fill(ks_input *input, const packing *pack)
{
    const ks_dataset *y = &input->y_dataset;
    const int64_t count = input->B * input->T * input->ny;
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    double fill = 0.0;
    int64_t found = 0;
    const hid_t list = H5Dget_create_plist(y->id);
    if (list >= 0 && H5Pfill_value_defined(list, &defined) >= 0 && defined == H5D_FILL_VALUE_USER_DEFINED &&
        H5Pget_fill_value(list, H5T_NATIVE_DOUBLE, &fill) >= 0 && fill != 0.0 && !isnan(fill)) {
        fill = fill * pack->factor + pack->offset;
        if (input->precision == KS_F32) fill = (double)(float)fill;
        for (int64_t i = 0; i < count; ++i) {
            const double value = load(input->precision, input->y, i);
            found += !(value < fill) && !(value > fill) && !isnan(value);
        }
    }
    if (found > 0)
        ks_note_add(&input->notes, "%.200s has %lld entries of %g, the fill value of the dataset, taken as they "
                    "are: an attribute _FillValue makes them missing", y->path, (long long)found, fill);
    ks_h5_release(list);
    H5Eclear2(H5E_DEFAULT);
    return found > 0;
}

/* Note entries that were never written and do not count as missing: HDF5 fills them with its own fill value, which may
 * differ from the attribute _FillValue. */
static void note_unwritten(ks_input *input, const packing *pack)
{
    char text[400];
    unsigned char stored[64];
    double fill = 0.0;
    const bool floating = H5Tget_class(pack->native) == H5T_FLOAT;
    if (!ks_unwritten(&input->y_dataset, text, sizeof text)) return;
    const hid_t list = H5Dget_create_plist(input->y_dataset.id);
    if (list >= 0 && H5Pget_fill_value(list, pack->native, stored) >= 0 &&
        H5Pget_fill_value(list, H5T_NATIVE_DOUBLE, &fill) >= 0 && !isnan(fill) &&
        !(pack->has_fill && is_fill(pack, floating, stored)))
        ks_note_add(&input->notes, "%s: taken for observations of %g; the fill value NaN, or an attribute _FillValue of "
                    "%g, makes them missing", text, fill * pack->factor + pack->offset, fill);
    ks_h5_release(list);
    H5Eclear2(H5E_DEFAULT);
}

/* Count the missing entries. All of y is in memory. */
static void count_missing(ks_input *input)
{
    ks_missing *missing = &input->missing;
    for (int64_t s = 0; s < input->B; ++s) {
        int64_t gap = 0;
        for (int64_t k = 0; k < input->T - input->ahead; ++k) {
            int absent = 0;
            for (int i = 0; i < input->ny; ++i)
                absent += isnan(load(input->precision, input->y,
                                     (s * input->T + k) * input->ny + i)) != 0;
            missing->entries += absent;
            gap = absent == input->ny ? gap + 1 : 0;
            missing->empty_rows += gap > 0;
            if (gap > missing->longest_gap) {
                missing->longest_gap = gap;
                missing->gap_series = s;
                missing->gap_step = k - gap + 1;
            }
        }
    }
}

/* Mark the entries of the steps ahead as missing. */
static void clear_ahead(ks_input *input)
{
    for (int64_t s = 1; input->ahead > 0 && s <= input->B; ++s)
        for (int64_t i = (s * input->T - input->ahead) * input->ny; i < s * input->T * input->ny; ++i)
            store(input->precision, input->y, i, (double)NAN);
}

static ks_exit load_slabs(ks_input *input, const packing *pack, ks_load_progress *progress,
                          ks_failure *failure)
{
    const ks_dataset *y = &input->y_dataset;
    const bool direct = !pack->has_fill && !pack->scaled;
    const size_t number = ks_precision_bytes(input->precision);
    const size_t wide = pack->bytes > sizeof(double) ? pack->bytes : sizeof(double);
    const size_t row = (size_t)input->ny * wide;
    ks_slab_walk walk;
    ks_slab slab;
    /* In memory, the rows of a series may extend beyond those of the file. */
    ks_slab_walk_start(&walk, input->B, 0, input->T - input->ahead, row, ks_dataset_chunk_steps(y, &input->y_fit),
                       input->ahead == 0);
    unsigned char *buffer = NULL;
    if (!direct) {
        buffer = ks_memory_raw(ks_size_product((size_t)ks_slab_walk_rows(&walk), row),
                               "reading the observations", failure);
        if (!buffer) return failure->code;
    }
    while (!failure->code && ks_slab_walk_next(&walk, &slab)) {
        const int64_t count = slab.series_count * slab.step_count * input->ny;
        char *target = (char *)input->y +
                       (size_t)((slab.series * input->T + slab.step) * input->ny) * number;
        if (direct)
            ks_dataset_read(y, &input->y_fit, &slab,
                            input->precision == KS_F32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE,
                            target, failure);
        else
            read_packed(input, pack, &slab, buffer, target, failure);
        if (failure->code) break;
        const int64_t infinity = find_infinity(input->precision, target, count);
        if (infinity >= 0) {
            refuse_infinity(input, &slab, infinity);
            break;
        }
        ks_load_advance(progress, (double)count * (double)number);
    }
    free(buffer);
    return failure->code;
}

ks_exit ks_observations_load(ks_input *input, ks_load_progress *progress, ks_failure *failure)
{
    packing pack;
    const int problems = input->problems.count;
    input->y = ks_memory_raw(
        ks_size_product(ks_size_product((size_t)input->B, (size_t)input->T),
                        ks_size_product((size_t)input->ny, ks_precision_bytes(input->precision))),
        "the observations", failure);
    if (!input->y) return failure->code;
    if (packing_of(input, &pack, failure) == KS_EXIT_DONE && input->problems.count == problems)
        load_slabs(input, &pack, progress, failure);
    if (!failure->code && input->problems.count == problems) {
        clear_ahead(input);
        if (pack.has_fill || !note_fill(input, &pack)) note_unwritten(input, &pack);
        count_missing(input);
    }
    ks_h5_release(pack.native);
    return failure->code;
}
