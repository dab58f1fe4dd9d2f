/* realpath() belongs to the X/Open part of POSIX. */
#define _XOPEN_SOURCE 700

#include "sources.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "file_name.h"
#include "h5.h"

/* Largest depth and number of sources: HDF5 itself would follow a cycle of sources for ever. */
enum { DEPTH_MOST = 16, SOURCES_MOST = 1 << 17 };

/* A search through all files that a dataset takes values from. */
typedef struct walk {
    const ks_dataset *dataset;
    const char *output;     /* whether it is among them; NULL: not looked for */
    ks_problems *problems;  /* receives missing sources; NULL: not looked for */
    int seen;
    bool done;              /* the answer is known: output found, or a problem */
} walk;

/* Find the source file of a virtual dataset where HDF5 looks for it: under its name, in the folder of the file, and, if
 * the file is a link, in the folder of its target. */
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

/* Where HDF5 looks for raw data outside of the file: relative to the working folder, or as the environment says. */
static bool external_path(const char *home, const char *name, char found[PATH_MAX])
{
    static const char origin[] = "${ORIGIN}";
    const char *prefix = getenv("HDF5_EXTFILE_PREFIX");
    char folder[PATH_MAX] = "";
    const bool plain = name[0] == '/' || !prefix || !*prefix || strcmp(prefix, ".") == 0;
    const bool beside = !plain && strncmp(prefix, origin, sizeof origin - 1) == 0;
    if (beside) ks_folder_of(home, folder);
    return snprintf(found, PATH_MAX, "%s%s%s%s", folder, plain ? "" : beside ? prefix + sizeof origin - 1 : prefix,
                    plain ? "" : "/", name) < PATH_MAX;
}

static hsize_t bytes_of(hid_t dataset)
{
    const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    const hssize_t count = space < 0 ? 0 : H5Sget_simple_extent_npoints(space);
    const size_t bytes = type < 0 ? 0 : H5Tget_size(type);
    ks_h5_release(type);
    ks_h5_release(space);
    return count > 0 ? (hsize_t)count * bytes : 0;
}

/* Examine raw data outside of the file. If a file is missing, HDF5 reports it. If it is too short, HDF5 reads zeros. */
static void look_at_external(walk *w, hid_t dataset, hid_t list, const char *home)
{
    char name[PATH_MAX], found[PATH_MAX];
    struct stat status;
    hsize_t left = bytes_of(dataset), size;
    off_t offset;
    const int count = H5Pget_external_count(list);
    for (int i = 0; i < count && !w->done; ++i) {
        if (H5Pget_external(list, (unsigned)i, PATH_MAX, name, &offset, &size) < 0) continue;
        name[PATH_MAX - 1] = '\0';
        if (!external_path(home, name, found)) continue;
        const hsize_t part = size < left ? size : left;
        left -= part;
        if (w->output && ks_same_file(found, w->output)) w->done = true;
        if (!w->problems || stat(found, &status) != 0 || !S_ISREG(status.st_mode) ||
            (status.st_size >= offset && (hsize_t)(status.st_size - offset) >= part))
            continue;
        ks_problem_add(w->problems, "%s: %s has its values in the file %.300s from byte %lld on, %llu bytes, but the "
                       "file ends at byte %lld: the rest would be read as zeros", w->dataset->file, w->dataset->path,
                       name, (long long)offset, (unsigned long long)part, (long long)status.st_size);
        w->done = true;
    }
}

static void look_at(walk *w, hid_t dataset, int depth);

/* Examine a source of a virtual dataset, and the sources of that. Returns false if it does not exist. */
static bool look_at_source(walk *w, const char *home, const char *file, const char *path, int depth)
{
    char found[PATH_MAX];
    const bool own = strcmp(file, ".") == 0;
    if (!own && !find_file(home, file, found)) return false;
    if (!own && w->output && ks_same_file(found, w->output)) w->done = true;
    const hid_t id = H5Fopen(own ? home : found, H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t source = id >= 0 && ks_h5_exists(id, path) ? H5Dopen2(id, path, H5P_DEFAULT) : -1;
    if (source >= 0 && !w->done) look_at(w, source, depth + 1);
    ks_h5_release(source);
    ks_h5_release(id);
    return source >= 0;
}

/* Expand a name in which %b stands for a number and %% for a percent sign. Returns false if it has no %b. */
static bool expand(const char *pattern, int64_t number, char name[PATH_MAX])
{
    size_t used = 0;
    bool numbered = false;
    for (; *pattern && used + 24 < PATH_MAX; ++pattern) {
        const bool here = *pattern == '%' && pattern[1] == 'b';
        if (here) used += (size_t)snprintf(name + used, PATH_MAX - used, "%lld", (long long)number);
        else name[used++] = *pattern;
        pattern += *pattern == '%' && pattern[1];
        numbered |= here;
    }
    name[used] = '\0';
    return numbered;
}

/* Examine the sources of a virtual dataset. A name with %b stands for as many files or datasets as exist. */
static void look_at_virtual(walk *w, hid_t list, const char *home, int depth)
{
    char file[PATH_MAX], path[PATH_MAX], names[2][PATH_MAX];
    size_t count = 0;
    double fill = 0.0;
    /* If the environment lists folders, HDF5 looks in more places than this code knows. */
    const bool tells = w->problems && !getenv("HDF5_VDS_PREFIX") &&
                       H5Pget_fill_value(list, H5T_NATIVE_DOUBLE, &fill) >= 0 && !isnan(fill);
    if (H5Pget_virtual_count(list, &count) < 0) return;
    for (size_t i = 0; i < count && !w->done; ++i) {
        if (H5Pget_virtual_filename(list, i, file, PATH_MAX) < 0 || H5Pget_virtual_dsetname(list, i, path, PATH_MAX) < 0)
            continue;
        for (int64_t number = 0; !w->done; ++number) {
            const bool numbered = expand(file, number, names[0]);
            const bool pattern = expand(path, number, names[1]) || numbered;
            const bool there = look_at_source(w, home, names[0], names[1], depth);
            if (pattern && there) continue;
            if (pattern || there || !tells) break;
            ks_problem_add(w->problems, "%s: %s is a virtual dataset, and its source %.200s of file %.300s is "
                           "not there: its values would be read as %g", w->dataset->file, w->dataset->path, names[1],
                           names[0], fill);
            w->done = true;
        }
    }
}

/* Examine the file of a dataset, and all files that it takes values from. */
static void look_at(walk *w, hid_t dataset, int depth)
{
    char home[PATH_MAX];
    if (depth > DEPTH_MOST || ++w->seen > SOURCES_MOST) {
        if (w->problems)
            ks_problem_add(w->problems, "%s: %s is a virtual dataset whose sources have sources of their own, and so on "
                           "beyond what can be followed", w->dataset->file, w->dataset->path);
        w->done = true;
        return;
    }
    if (H5Fget_name(dataset, home, PATH_MAX) <= 0) return;
    if (w->output && ks_same_file(home, w->output)) w->done = true;
    const hid_t list = H5Dget_create_plist(dataset);
    if (list >= 0 && !w->done && H5Pget_external_count(list) > 0) look_at_external(w, dataset, list, home);
    else if (list >= 0 && !w->done && H5Pget_layout(list) == H5D_VIRTUAL) look_at_virtual(w, list, home, depth);
    ks_h5_release(list);
}

void ks_sources_check(const ks_dataset *dataset, ks_problems *problems)
{
    walk w = {.dataset = dataset, .problems = problems};
    look_at(&w, dataset->id, 0);
    H5Eclear2(H5E_DEFAULT);
}

ks_exit ks_sources_spare(const ks_dataset *dataset, const char *output, ks_failure *failure)
{
    walk w = {.dataset = dataset, .output = output};
    if (dataset->id < 0 || !output) return KS_EXIT_DONE;
    look_at(&w, dataset->id, 0);
    H5Eclear2(H5E_DEFAULT);
    if (!w.done) return KS_EXIT_DONE;
    return ks_fail(failure, KS_EXIT_USAGE, "%s: the output holds values of %s of the input %s; choose another "
                   "name", output, dataset->path, dataset->file);
}
