/* Arrays and attributes of an output file; its axes are in output_axes.c. */
#include "output_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "h5.h"
#include "memory.h"
#include "output_parts.h"

/* RIPE_BYTES: after this many bytes the disk begins to write them, while the rest is still copied. */
enum { CHUNK_BYTES = 512 << 10, RIPE_BYTES = 16 << 20 };

ks_exit ks_output_fail(const ks_output_file *out, const char *path, ks_failure *failure)
{
    return ks_fail_h5(failure, KS_EXIT_FILE, "%s: cannot write %s", out->temp.name, path);
}

ks_exit ks_output_create(ks_output_file **out, const char *path, bool replace, int compress,
                         ks_failure *failure)
{
    *out = NULL;
    ks_output_file *output = ks_memory_zeroed(sizeof *output, "the output file", failure);
    if (!output) return failure->code;
    output->compress = compress;
    output->file = -1;
    for (int axis = 0; axis < KS_AXES; ++axis) output->scales[axis] = -1;
    output->t = -1;
    if (ks_temp_create(&output->temp, path, replace, failure)) {
        free(output);
        return failure->code;
    }
    output->file = H5Fcreate(output->temp.path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (output->file < 0) {
        ks_fail_h5(failure, KS_EXIT_FILE, "%s: cannot begin the HDF5 file", path);
        ks_output_discard(output);
        return failure->code;
    }
    *out = output;
    return KS_EXIT_DONE;
}

size_t ks_output_array_bytes(const ks_output_array *array)
{
    size_t bytes = array->whole ? sizeof(int64_t) : ks_precision_bytes_of(array->precision);
    for (int axis = 0; axis < array->rank; ++axis)
        bytes = ks_size_product(bytes, (size_t)array->dims[axis]);
    return bytes;
}

/* Choose chunks of whole blocks: several steps, or several short series. Returns false if the array is not chunked. */
static bool chunk_of(const ks_output_array *array, bool compressed, hsize_t chunk[KS_AXES_MAX])
{
    size_t bytes = ks_precision_bytes_of(array->precision);
    if (array->rank == 0 || (array->step_axis < 0 && !compressed)) return false;
    for (int axis = 0; axis < array->rank; ++axis)
        if (array->dims[axis] == 0) return false;
    for (int axis = array->rank - 1; axis >= 0; --axis) {
        const size_t length = (size_t)array->dims[axis];
        size_t fitting = bytes < (size_t)CHUNK_BYTES ? (size_t)CHUNK_BYTES / bytes : 1;
        if (axis > array->step_axis) fitting = length;
        if (fitting > length) fitting = length;
        chunk[axis] = fitting ? fitting : 1;
        bytes = ks_size_product(bytes, chunk[axis]);
    }
    /* HDF5 stores the size of a chunk in 32 bits: larger blocks are not chunked. */
    return bytes < (size_t)1 << 31;
}

size_t ks_output_disk_bytes(const ks_output_array *array)
{
    hsize_t chunk[KS_AXES_MAX];
    if (!chunk_of(array, false, chunk)) return ks_output_array_bytes(array);
    /* The last chunk along each axis is stored in full. */
    size_t bytes = ks_precision_bytes_of(array->precision);
    for (int axis = 0; axis < array->rank; ++axis) {
        const size_t length = (size_t)chunk[axis];
        const size_t chunks = ((size_t)array->dims[axis] + length - 1) / length;
        bytes = ks_size_product(bytes, ks_size_product(chunks, length));
    }
    return bytes;
}

static bool set_chunks(const ks_output_file *out, const ks_output_array *array, hid_t list)
{
    hsize_t chunk[KS_AXES_MAX];
    if (!chunk_of(array, out->compress > 0, chunk)) return true;
    if (H5Pset_chunk(list, array->rank, chunk) < 0) return false;
    if (out->compress == 0) return true;
    return H5Pset_shuffle(list) >= 0 && H5Pset_deflate(list, (unsigned)out->compress) >= 0;
}

static hid_t create_list(const ks_output_file *out, const ks_output_array *array)
{
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    /* No time stamps, so that the same results give the same bytes. */
    if (list >= 0 && H5Pset_obj_track_times(list, false) >= 0 &&
        H5Pset_fill_time(list, H5D_FILL_TIME_NEVER) >= 0 && set_chunks(out, array, list))
        return list;
    ks_h5_release(list);
    return -1;
}

/* Slabs are whole chunks; a chunk cache would only copy them once more. */
static hid_t access_list(const ks_output_file *out)
{
    const hid_t list = H5Pcreate(H5P_DATASET_ACCESS);
    if (list >= 0 && out->compress == 0) H5Pset_chunk_cache(list, 0, 0, 0.0);
    return list;
}

ks_exit ks_output_begin(ks_output_file *out, const ks_output_array *array, hid_t *id,
                        ks_failure *failure)
{
    hsize_t dims[KS_AXES_MAX];
    for (int axis = 0; axis < array->rank; ++axis) dims[axis] = (hsize_t)array->dims[axis];
    const hid_t type = array->whole                 ? H5T_STD_I64LE
                     : array->precision == KS_F32 ? H5T_IEEE_F32LE
                                                  : H5T_IEEE_F64LE;
    const hid_t space = array->rank == 0 ? H5Screate(H5S_SCALAR)
                                         : H5Screate_simple(array->rank, dims, NULL);
    const hid_t create = create_list(out, array), access = access_list(out);
    const hid_t links = H5Pcreate(H5P_LINK_CREATE);
    *id = -1;
    if (space >= 0 && create >= 0 && access >= 0 && links >= 0 &&
        H5Pset_create_intermediate_group(links, 1) >= 0)
        *id = H5Dcreate2(out->file, array->path, type, space, links, create, access);
    if (*id < 0) ks_output_fail(out, array->path, failure);
    ks_h5_release(links);
    ks_h5_release(access);
    ks_h5_release(create);
    ks_h5_release(space);
    if (!failure->code && array->long_name)
        ks_output_text(out, array->path, "long_name", array->long_name, failure);
    if (!failure->code && array->named) ks_output_name_axes(out, array, *id, failure);
    return failure->code;
}

ks_exit ks_output_slab(ks_output_file *out, const ks_output_array *array, hid_t id,
                       const ks_slab *slab, const void *values, ks_failure *failure)
{
    hsize_t start[KS_AXES_MAX], count[KS_AXES_MAX];
    for (int axis = 0; axis < array->rank; ++axis) {
        start[axis] = 0;
        count[axis] = (hsize_t)array->dims[axis];
        if (axis == array->step_axis) {
            start[axis] = (hsize_t)slab->step;
            count[axis] = (hsize_t)slab->step_count;
        } else if (axis == array->step_axis - 1) {
            start[axis] = (hsize_t)slab->series;
            count[axis] = (hsize_t)slab->series_count;
        }
    }
    const hid_t type = array->whole                 ? H5T_NATIVE_INT64
                     : array->precision == KS_F32 ? H5T_NATIVE_FLOAT
                                                  : H5T_NATIVE_DOUBLE;
    const hid_t space = H5Dget_space(id);
    /* If both sides have the same shape, HDF5 copies whole rows; otherwise it copies number by number. */
    const hid_t memory = array->rank == 0 ? H5Screate(H5S_SCALAR)
                                         : H5Screate_simple(array->rank, count, NULL);
    if (space < 0 || memory < 0 ||
        (array->rank > 0 &&
         H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) < 0) ||
        H5Dwrite(id, type, memory, space, H5P_DEFAULT, values) < 0)
        ks_output_fail(out, array->path, failure);
    ks_h5_release(memory);
    ks_h5_release(space);
    size_t bytes = H5Tget_size(type);
    for (int axis = 0; axis < array->rank; ++axis) bytes *= (size_t)count[axis];
    out->fresh += bytes;
    if (out->fresh >= RIPE_BYTES) {
        ks_temp_ripen(&out->temp);
        out->fresh = 0;
    }
    return failure->code;
}

ks_exit ks_output_end(ks_output_file *out, const ks_output_array *array, hid_t id,
                      ks_failure *failure)
{
    if (id >= 0 && H5Dclose(id) < 0) ks_output_fail(out, array->path, failure);
    return failure->code;
}

ks_exit ks_output_write(ks_output_file *out, const ks_output_array *array, const void *values,
                        ks_output_progress progress, void *user, ks_failure *failure)
{
    const int step_axis = array->step_axis;
    size_t row = ks_precision_bytes_of(array->precision);
    for (int axis = step_axis + 1; axis < array->rank; ++axis) row *= (size_t)array->dims[axis];
    const int64_t steps = step_axis >= 0 ? array->dims[step_axis] : 1;
    const int64_t series = step_axis > 0 ? array->dims[step_axis - 1] : 1;
    const int64_t chunk = row < (size_t)CHUNK_BYTES ? (int64_t)((size_t)CHUNK_BYTES / row) : 1;
    ks_slab_walk walk;
    ks_slab slab;
    hid_t id;
    if (ks_output_begin(out, array, &id, failure)) return failure->code;
    ks_slab_walk_start(&walk, series, 0, steps, row, chunk, true);
    while (!failure->code && ks_slab_walk_next(&walk, &slab)) {
        const char *from = (const char *)values + (size_t)(slab.series * steps + slab.step) * row;
        ks_output_slab(out, array, id, &slab, from, failure);
        if (progress)
            progress(user, (double)(slab.series_count * slab.step_count) * (double)row);
    }
    return ks_output_end(out, array, id, failure);
}

static ks_exit write_attribute(ks_output_file *out, const char *path, const char *name, hid_t type,
                               const void *value, ks_failure *failure)
{
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t attribute = H5Acreate_by_name(out->file, path, name, type, space, H5P_DEFAULT,
                                              H5P_DEFAULT, H5P_DEFAULT);
    if (space < 0 || attribute < 0 || H5Awrite(attribute, type, value) < 0)
        ks_output_fail(out, name, failure);
    ks_h5_release(attribute);
    ks_h5_release(space);
    return failure->code;
}

ks_exit ks_output_text(ks_output_file *out, const char *path, const char *name, const char *value,
                       ks_failure *failure)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    if (type < 0 || H5Tset_size(type, H5T_VARIABLE) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0)
        ks_output_fail(out, name, failure);
    else
        write_attribute(out, path, name, type, &value, failure);
    ks_h5_release(type);
    return failure->code;
}

ks_exit ks_output_integer(ks_output_file *out, const char *path, const char *name, int64_t value,
                          ks_failure *failure)
{
    return write_attribute(out, path, name, H5T_NATIVE_INT64, &value, failure);
}

ks_exit ks_output_number(ks_output_file *out, const char *path, const char *name, double value,
                         ks_failure *failure)
{
    return write_attribute(out, path, name, H5T_NATIVE_DOUBLE, &value, failure);
}

ks_exit ks_output_commit(ks_output_file *out, ks_failure *failure)
{
    for (int axis = 0; axis < KS_AXES; ++axis) ks_h5_release(out->scales[axis]);
    ks_h5_release(out->t);
    if (H5Fflush(out->file, H5F_SCOPE_LOCAL) < 0 || H5Fclose(out->file) < 0) {
        ks_fail_h5(failure, KS_EXIT_FILE, "%s: cannot write the last part of the file",
                   out->temp.name);
        ks_temp_discard(&out->temp);
    } else {
        ks_temp_commit(&out->temp, failure);
    }
    free(out);
    return failure->code;
}

void ks_output_discard(ks_output_file *out)
{
    if (!out) return;
    /* Leave the HDF5 file open: closing it would try again to write what has just failed. */
    ks_temp_discard(&out->temp);
    free(out);
}
