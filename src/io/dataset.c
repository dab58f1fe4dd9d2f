#include "dataset.h"

#include <stdio.h>
#include <string.h>
#include "h5.h"
#include "memory.h"
#include "sources.h"

enum { SLAB_BYTES = 8 << 20 };

/* A shape larger than this, with so few bytes in the file, is a mistake or an attack: no filter compresses numbers that
 * well. */
static const int64_t plausible_elements = (int64_t)1 << 27;
static const int64_t plausible_ratio = 65536;

static const char *class_name(H5T_class_t class)
{
    switch (class) {
    case H5T_STRING: return "strings";
    case H5T_COMPOUND: return "a compound type";
    case H5T_ENUM: return "an enumeration (booleans, for example)";
    case H5T_REFERENCE: return "references";
    case H5T_VLEN: return "variable-length lists";
    case H5T_ARRAY: return "an array type";
    case H5T_OPAQUE: return "opaque bytes";
    case H5T_BITFIELD: return "bit fields";
    case H5T_TIME: return "a time type";
    default: return "an unknown type";
    }
}

static bool check_type(ks_dataset *dataset, hid_t type, ks_problems *problems)
{
    const H5T_class_t class = H5Tget_class(type);
    const size_t size = H5Tget_size(type);
    if (class == H5T_INTEGER)
        snprintf(dataset->type, sizeof dataset->type, "%sint%zu",
                 H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "", 8 * size);
    else if (class == H5T_FLOAT)
        snprintf(dataset->type, sizeof dataset->type, "float%zu", 8 * size);
    else {
        ks_problem_add(problems, "%s: %s holds %s, expected integers or floats", dataset->file,
                       dataset->path, class_name(class));
        return false;
    }
    dataset->narrow = class == H5T_FLOAT && size <= 4;
    return true;
}

static bool check_space(ks_dataset *dataset, hid_t space, ks_problems *problems)
{
    hsize_t dims[KS_RANK_MAX];
    if (H5Sget_simple_extent_type(space) == H5S_NULL) {
        ks_problem_add(problems, "%s: %s holds no values (its dataspace is null)", dataset->file,
                       dataset->path);
        return false;
    }
    dataset->rank = H5Sget_simple_extent_ndims(space);
    if (dataset->rank < 0 || dataset->rank > KS_RANK_MAX ||
        H5Sget_simple_extent_dims(space, dims, NULL) < 0) {
        ks_problem_add(problems, "%s: %s has no simple shape", dataset->file, dataset->path);
        return false;
    }
    for (int i = 0; i < dataset->rank; ++i)
        dataset->dims[i] = dims[i] > (hsize_t)INT64_MAX ? INT64_MAX : (int64_t)dims[i];
    const int64_t elements = ks_dataset_elements(dataset);
    char shape[256];
    ks_shape_text(dataset->dims, dataset->rank, shape, sizeof shape);
    if (elements < 0) {
        ks_problem_add(problems, "%s: %s has shape %s: its size overflows", dataset->file,
                       dataset->path, shape);
        return false;
    }
    const int64_t stored = (int64_t)H5Dget_storage_size(dataset->id);
    if (elements > plausible_elements && elements / plausible_ratio > stored) {
        ks_problem_add(problems,
                       "%s: %s has shape %s but only %lld bytes behind it: the values were never "
                       "written", dataset->file, dataset->path, shape, (long long)stored);
        return false;
    }
    return true;
}

/* The names of a group's first members. */
typedef struct member_names {
    char text[160];
    size_t used;
} member_names;

static herr_t add_member(hid_t group, const char *name, const H5L_info_t *info, void *user)
{
    member_names *names = user;
    const size_t room = sizeof names->text - names->used;
    const char *comma = names->used > 0 ? ", " : "";
    (void)group;
    (void)info;
    if (strlen(comma) + strlen(name) + sizeof ", ..." > room) {
        snprintf(names->text + names->used, room, "%s...", comma);
        return 1;
    }
    names->used += (size_t)snprintf(names->text + names->used, room, "%s%s", comma, name);
    return 0;
}

/* Tables of pandas and sparse matrices of MATLAB are groups. The dataset that was meant is often inside. */
static void refuse_other_object(hid_t file_id, const ks_dataset *dataset, ks_problems *problems)
{
    member_names names = {.text = ""};
    if (ks_h5_object_type(file_id, dataset->path) != H5O_TYPE_GROUP) {
        ks_problem_add(problems, "%s: %s is not a dataset", dataset->file, dataset->path);
        return;
    }
    H5Literate_by_name(file_id, dataset->path, H5_INDEX_NAME, H5_ITER_INC, NULL, add_member, &names,
                       H5P_DEFAULT);
    H5Eclear2(H5E_DEFAULT);
    ks_problem_add(problems, "%s: %s is a group, expected a dataset%s; it holds %s", dataset->file, dataset->path,
                   H5Aexists_by_name(file_id, dataset->path, "MATLAB_sparse", H5P_DEFAULT) > 0
                       ? " (a full matrix, not a sparse one)" : "", names.used > 0 ? names.text : "nothing");
}

/* For an empty array MATLAB writes its shape in place of the values, which would be read as numbers. */
static bool check_empty(const ks_dataset *dataset, ks_problems *problems)
{
    double empty;
    if (ks_h5_read_number(dataset->id, "MATLAB_empty", &empty) != KS_ATTRIBUTE_READ || empty == 0.0)
        return true;
    ks_problem_add(problems, "%s: %s is an empty array of MATLAB (attribute MATLAB_empty); leave it out or give "
                   "it values", dataset->file, dataset->path);
    return false;
}

ks_exit ks_dataset_open(ks_dataset *dataset, hid_t file_id, const char *file, const char *path,
                        ks_problems *problems, ks_failure *failure)
{
    memset(dataset, 0, sizeof *dataset);
    dataset->id = -1;
    dataset->file = file;
    snprintf(dataset->path, sizeof dataset->path, "%s", path);
    char link[KS_FAILURE_TEXT / 2];
    if (ks_h5_broken_link(file_id, path, link, sizeof link)) {
        dataset->found = true;
        ks_problem_add(problems, "%s: %s is not there: on its path is %s, which cannot be opened", file,
                       path, link);
        return KS_EXIT_DONE;
    }
    if (!ks_h5_exists(file_id, path)) return KS_EXIT_DONE;
    dataset->found = true;
    if (ks_h5_object_type(file_id, path) != H5O_TYPE_DATASET) {
        refuse_other_object(file_id, dataset, problems);
        return KS_EXIT_DONE;
    }
    dataset->id = H5Dopen2(file_id, path, H5P_DEFAULT);
    if (dataset->id < 0)
        return ks_fail_h5(failure, KS_EXIT_FILE, "%s: cannot open dataset %s", file, path);
    const hid_t type = H5Dget_type(dataset->id), space = H5Dget_space(dataset->id);
    const bool readable = type >= 0 && space >= 0;
    const bool good = readable && check_type(dataset, type, problems) &&
                      check_space(dataset, space, problems) && check_empty(dataset, problems);
    if (!readable)
        ks_fail_h5(failure, KS_EXIT_FILE, "%s: cannot read the type and shape of %s", file, path);
    ks_h5_release(type);
    ks_h5_release(space);
    if (good) ks_sources_check(dataset, problems);
    if (good) dataset->matlab = H5Aexists(dataset->id, "MATLAB_class") > 0;
    if (!good) ks_dataset_close(dataset);
    return failure->code;
}

void ks_dataset_close(ks_dataset *dataset)
{
    ks_h5_release(dataset->id);
    dataset->id = -1;
}

int64_t ks_dataset_elements(const ks_dataset *dataset)
{
    int64_t elements = 1;
    for (int i = 0; i < dataset->rank; ++i)
        if (dataset->dims[i] == 0) return 0;
    /* Allow 16-byte numbers, so that sizes in bytes never overflow later. */
    for (int i = 0; i < dataset->rank; ++i)
        if (__builtin_mul_overflow(elements, dataset->dims[i], &elements) ||
            elements > INT64_MAX / 16)
            return -1;
    return elements;
}

void ks_slab_walk_start(ks_slab_walk *walk, int64_t series, int64_t step_begin, int64_t step_end,
                        size_t row_bytes, int64_t alignment, bool whole)
{
    const int64_t steps = step_end - step_begin;
    int64_t rows = (int64_t)((size_t)SLAB_BYTES / (row_bytes ? row_bytes : 1));
    if (rows < 1) rows = 1;
    walk->series = series;
    walk->step_begin = step_begin;
    walk->step_end = step_end;
    walk->series_slab = 1;
    walk->step_slab = rows;
    if (whole && steps > 0 && rows / steps > 1) {
        walk->series_slab = rows / steps;
    } else if (alignment > 1) {
        /* If a chunk were read in pieces, it would be decompressed once for each piece. */
        walk->step_slab = rows < alignment ? alignment : rows - rows % alignment;
    }
    walk->next_series = steps > 0 ? 0 : series;
    walk->next_step = step_begin;
}

bool ks_slab_walk_next(ks_slab_walk *walk, ks_slab *slab)
{
    if (walk->next_series >= walk->series) return false;
    slab->series = walk->next_series;
    slab->step = walk->next_step;
    slab->series_count = walk->series - slab->series;
    if (slab->series_count > walk->series_slab) slab->series_count = walk->series_slab;
    /* Slabs end at multiples of the slab length, also if the walk starts between two of them. */
    const int64_t end = (slab->step / walk->step_slab + 1) * walk->step_slab;
    slab->step_count = (end < walk->step_end ? end : walk->step_end) - slab->step;
    walk->next_step += slab->step_count;
    if (walk->next_step >= walk->step_end) {
        walk->next_step = walk->step_begin;
        walk->next_series += slab->series_count;
    }
    return true;
}

int64_t ks_slab_walk_rows(const ks_slab_walk *walk)
{
    const int64_t steps = walk->step_end - walk->step_begin;
    const int64_t rows = steps < walk->step_slab ? steps : walk->step_slab;
    const int64_t series = walk->series < walk->series_slab ? walk->series : walk->series_slab;
    return rows * series;
}

int64_t ks_dataset_chunk_steps(const ks_dataset *dataset, const ks_fit *fit)
{
    hsize_t chunk[KS_RANK_MAX];
    int64_t steps = 1;
    const hid_t list = H5Dget_create_plist(dataset->id);
    if (list >= 0 && fit->step_axis >= 0 && H5Pget_layout(list) == H5D_CHUNKED &&
        H5Pget_chunk(list, dataset->rank, chunk) == dataset->rank)
        steps = (int64_t)chunk[fit->step_axis];
    ks_h5_release(list);
    return steps;
}

/* Find a filter of the dataset that this HDF5 cannot undo. */
static bool find_unknown_filter(hid_t id, char name[64], int *number)
{
    bool found = false;
    const hid_t list = H5Dget_create_plist(id);
    const int count = list < 0 ? 0 : H5Pget_nfilters(list);
    for (int i = 0; i < count && !found; ++i) {
        unsigned flags, able = 0;
        size_t values = 0;
        name[0] = '\0';
        *number = (int)H5Pget_filter2(list, (unsigned)i, &flags, &values, NULL, 64, name, NULL);
        found = *number >= 0 && (H5Zfilter_avail(*number) <= 0 || H5Zget_filter_info(*number, &able) < 0 ||
                                 !(able & H5Z_FILTER_CONFIG_DECODE_ENABLED));
    }
    name[63] = '\0';
    ks_h5_release(list);
    return found;
}

/* About a missing filter HDF5 itself reports only that it found no folder of plugins. */
static ks_exit fail_read(const ks_dataset *dataset, ks_failure *failure)
{
    char name[64];
    int number;
    ks_failure reason = {0};
    ks_fail_h5(&reason, KS_EXIT_FILE, "%s: cannot read dataset %s", dataset->file, dataset->path);
    if (!find_unknown_filter(dataset->id, name, &number))
        return ks_fail(failure, reason.code, "%s", reason.text);
    H5Eclear2(H5E_DEFAULT);
    return ks_fail(failure, KS_EXIT_FILE, "%s: cannot read dataset %s: it is stored with the filter %s "
                   "(number %d), which the HDF5 library here does not have; store it with gzip instead "
                   "(h5py: compression=\"gzip\"), or set HDF5_PLUGIN_PATH to the folder of the filter's "
                   "plugin", dataset->file, dataset->path, name[0] ? name : "without a name", number);
}

ks_exit ks_dataset_read(const ks_dataset *dataset, const ks_fit *fit, const ks_slab *slab,
                        hid_t type, void *values, ks_failure *failure)
{
    hsize_t start[KS_RANK_MAX], count[KS_RANK_MAX];
    for (int i = 0; i < dataset->rank; ++i) {
        start[i] = 0;
        count[i] = (hsize_t)dataset->dims[i];
        if (i == fit->series_axis) {
            start[i] = (hsize_t)slab->series;
            count[i] = (hsize_t)slab->series_count;
        } else if (i == fit->step_axis) {
            start[i] = (hsize_t)slab->step;
            count[i] = (hsize_t)slab->step_count;
        }
    }
    const hid_t space = H5Dget_space(dataset->id);
    /* If both sides have the same shape, HDF5 copies whole rows; otherwise it copies number by number. */
    const hid_t memory = dataset->rank == 0 ? H5Screate(H5S_SCALAR)
                                            : H5Screate_simple(dataset->rank, count, NULL);
    if (space < 0 || memory < 0 ||
        (dataset->rank > 0 &&
         H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) < 0) ||
        H5Dread(dataset->id, type, memory, space, H5P_DEFAULT, values) < 0)
        fail_read(dataset, failure);
    ks_h5_release(memory);
    ks_h5_release(space);
    return failure->code;
}
