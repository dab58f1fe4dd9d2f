/* Dimension scales. netCDF and xarray name a dimension after the dataset of its scale, so there is one dataset for each
 * name. The time stamps are a second scale of the time axis; h5py shows only the first one. */
#include "output_file.h"

#include <hdf5_hl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "h5.h"
#include "memory.h"
#include "output_parts.h"

static const char *const axis_names[KS_AXES] = {"series", "time", "state", "state_2", "obs",
                                                "obs_2", "block", "coupling", "row", "row_2",
                                                "rhs"};

/* Whether an attribute belongs to the way a dataset is stored, not to its meaning. */
static bool is_storage_attribute(const char *name)
{
    static const char *const names[] = {"CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST",
                                        "DIMENSION_LABELS", "_FillValue", "_Netcdf4Dimid",
                                        "_Netcdf4Coordinates", "_nc3_strict"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

static herr_t copy_one(hid_t from, const char *name, const H5A_info_t *info, void *to)
{
    (void)info;
    if (!is_storage_attribute(name) && H5Aexists(*(hid_t *)to, name) == 0)
        ks_h5_copy_attribute(from, *(hid_t *)to, name);
    return 0;
}

static void copy_attributes(const ks_dataset *origin, hid_t to)
{
    hsize_t position = 0;
    if (!origin || origin->id < 0) return;
    H5Aiterate2(origin->id, H5_INDEX_NAME, H5_ITER_INC, &position, copy_one, &to);
    H5Eclear2(H5E_DEFAULT);
}

/* Make a dataset of one axis and turn it into the dimension scale of this name. */
static ks_exit make_scale(ks_output_file *out, const char *name, int64_t length,
                          const double *values, hid_t *id, ks_failure *failure)
{
    const ks_output_array array = {.path = name, .precision = KS_F64, .rank = 1,
                                   .dims = {length}, .step_axis = 0};
    const ks_slab all = {0, 1, 0, length};
    if (ks_output_begin(out, &array, id, failure) ||
        ks_output_slab(out, &array, *id, &all, values, failure))
        return failure->code;
    if (H5DSset_scale(*id, name) < 0) ks_output_fail(out, name, failure);
    return failure->code;
}

ks_exit ks_output_axis(ks_output_file *out, ks_axis axis, int64_t length, ks_failure *failure)
{
    double *index = ks_memory_raw(ks_size_product((size_t)length, sizeof *index), "an axis",
                                  failure);
    if (!index) return failure->code;
    for (int64_t i = 0; i < length; ++i) index[i] = (double)i;
    out->lengths[axis] = length;
    make_scale(out, axis_names[axis], length, index, &out->scales[axis], failure);
    free(index);
    return failure->code;
}

ks_exit ks_output_time(ks_output_file *out, int64_t length, const double *t,
                       const ks_dataset *origin, ks_failure *failure)
{
    out->lengths[KS_AXIS_TIME] = length;
    if (make_scale(out, "t", length, t, &out->t, failure) ||
        make_scale(out, axis_names[KS_AXIS_TIME], length, t, &out->scales[KS_AXIS_TIME], failure))
        return failure->code;
    copy_attributes(origin, out->t);
    copy_attributes(origin, out->scales[KS_AXIS_TIME]);
    return KS_EXIT_DONE;
}

ks_exit ks_output_name_axes(ks_output_file *out, const ks_output_array *array, hid_t id,
                            ks_failure *failure)
{
    for (int i = 0; i < array->rank; ++i) {
        const ks_axis axis = array->axes[i];
        const unsigned place = (unsigned)i;
        if (H5DSset_label(id, place, axis_names[axis]) < 0 ||
            (axis == KS_AXIS_TIME && out->t >= 0 && H5DSattach_scale(id, out->t, place) < 0) ||
            H5DSattach_scale(id, out->scales[axis], place) < 0)
            return ks_output_fail(out, array->path, failure);
    }
    return KS_EXIT_DONE;
}
