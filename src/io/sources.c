/* realpath() belongs to the X/Open part of POSIX. */
#define _XOPEN_SOURCE 700

#include "sources.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "file_name.h"
#include "h5.h"

/* The file that holds the dataset itself. */
static bool home_of(const ks_dataset *dataset, char home[PATH_MAX])
{
    return H5Fget_name(dataset->id, home, PATH_MAX) > 0;
}

/* Where HDF5 looks for the source file of a virtual dataset: as it is named, beside the file, and where
 * that is a link beside what it leads to. */
static bool find_file(const char *home, const char *name, char found[PATH_MAX])
{
    char folder[PATH_MAX];
    char *real = realpath(home, NULL);
    const char *const beside[] = {home, real};
    bool there = false;
    for (int i = 0; i < 2 && !there && name[0] != '/'; ++i) {
        if (!beside[i]) continue;
        ks_folder_of(beside[i], folder);
        there = snprintf(found, PATH_MAX, "%s/%s", folder, name) < PATH_MAX && access(found, R_OK) == 0;
    }
    free(real);
    if (there) return true;
    return snprintf(found, PATH_MAX, "%s", name) < PATH_MAX && access(found, R_OK) == 0;
}

/* Source number i of a virtual dataset, in buffers of PATH_MAX. False where its name is a pattern that
 * stands for many. */
static bool source_of(hid_t list, size_t i, char *file, char *path)
{
    return H5Pget_virtual_filename(list, i, file, PATH_MAX) >= 0 &&
           H5Pget_virtual_dsetname(list, i, path, PATH_MAX) >= 0 && !strchr(file, '%') &&
           !strchr(path, '%');
}

static bool has_source(const ks_dataset *dataset, const char *file, const char *path)
{
    char home[PATH_MAX], found[PATH_MAX];
    if (!home_of(dataset, home)) return true;
    const bool own = strcmp(file, ".") == 0;
    if (!own && !find_file(home, file, found)) return false;
    const hid_t id = H5Fopen(own ? home : found, H5F_ACC_RDONLY, H5P_DEFAULT);
    const bool there = id >= 0 && ks_h5_exists(id, path);
    ks_h5_release(id);
    H5Eclear2(H5E_DEFAULT);
    return there;
}

/* How many sources a dataset has, with its creation list, which the caller gives back. */
static size_t count_sources(const ks_dataset *dataset, hid_t *list)
{
    size_t count = 0;
    *list = H5Dget_create_plist(dataset->id);
    if (*list < 0 || H5Pget_layout(*list) != H5D_VIRTUAL || H5Pget_virtual_count(*list, &count) < 0)
        return 0;
    return count;
}

void ks_sources_check(const ks_dataset *dataset, ks_problems *problems)
{
    char file[PATH_MAX], path[PATH_MAX];
    double fill = 0.0;
    hid_t list;
    const size_t count = count_sources(dataset, &list);
    /* With a list of folders in the environment HDF5 looks in more places than are known here. */
    const bool elsewhere = getenv("HDF5_VDS_PREFIX") != NULL;
    if (count > 0 && !elsewhere && H5Pget_fill_value(list, H5T_NATIVE_DOUBLE, &fill) >= 0 && !isnan(fill))
        for (size_t i = 0; i < count; ++i) {
            if (!source_of(list, i, file, path) || has_source(dataset, file, path)) continue;
            ks_problem_add(problems, "%s: %s is a virtual dataset, and its source %.200s of file %.300s is "
                           "not there: its values would be read as %g", dataset->file, dataset->path, path,
                           file, fill);
            break;
        }
    ks_h5_release(list);
    H5Eclear2(H5E_DEFAULT);
}

ks_exit ks_sources_spare(const ks_dataset *dataset, const char *output, ks_failure *failure)
{
    char home[PATH_MAX], file[PATH_MAX], path[PATH_MAX], found[PATH_MAX];
    hid_t list;
    if (dataset->id < 0 || !output || !home_of(dataset, home)) return KS_EXIT_DONE;
    bool same = ks_same_file(home, output);
    const size_t count = count_sources(dataset, &list);
    for (size_t i = 0; i < count && !same; ++i)
        same = source_of(list, i, file, path) && find_file(home, file, found) &&
               ks_same_file(found, output);
    ks_h5_release(list);
    H5Eclear2(H5E_DEFAULT);
    if (!same) return KS_EXIT_DONE;
    return ks_fail(failure, KS_EXIT_USAGE, "%s: the output holds values of %s of the input %s; choose another "
                   "name", output, dataset->path, dataset->file);
}
