#include "h5.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

ks_exit ks_h5_start(ks_failure *failure)
{
    if (H5dont_atexit() < 0 || H5open() < 0 || H5Eset_auto2(H5E_DEFAULT, NULL, NULL) < 0)
        return ks_fail(failure, KS_EXIT_RESOURCES, "the HDF5 library does not start");
    return KS_EXIT_DONE;
}

/* When a system call fails, keep only the system's words from HDF5's message: the rest does not help the user. */
static void keep_system_message(char *reason)
{
    static const char mark[] = "error message = '";
    const char *begin = strstr(reason, mark);
    const bool lock = strstr(reason, "lock file") != NULL;
    if (!begin || lock) {
        reason[strcspn(reason, "\n")] = '\0';
        return;
    }
    begin += sizeof mark - 1;
    const size_t length = strcspn(begin, "'");
    memmove(reason, begin, length);
    reason[length] = '\0';
}

/* Keep the first entry of an upward walk: the place where the error occurred. */
static herr_t deepest_reason(unsigned n, const H5E_error2_t *error, void *text)
{
    if (n == 0 && error->desc) snprintf(text, KS_FAILURE_TEXT, "%s", error->desc);
    return 0;
}

ks_exit ks_fail_h5(ks_failure *failure, ks_exit code, const char *format, ...)
{
    char reason[KS_FAILURE_TEXT] = "", message[KS_FAILURE_TEXT / 2];
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, deepest_reason, reason);
    H5Eclear2(H5E_DEFAULT);
    keep_system_message(reason);
    va_list arguments;
    va_start(arguments, format);
    ks_text_fit(message, sizeof message, format, arguments);
    va_end(arguments);
    const bool locked = strstr(reason, "lock file") != NULL;
    return ks_fail(failure, code, "%s%s%.300s%s", message, reason[0] ? ": " : "", reason,
                   locked ? "; if no other program writes this file, set "
                            "HDF5_USE_FILE_LOCKING=FALSE in the environment" : "");
}

void ks_h5_release(hid_t id)
{
    if (id >= 0) H5Idec_ref(id);
}

/* Older file formats of programs that also write HDF5, and how to convert them. */
static const char *older_format(int descriptor)
{
    static const struct { const char *begins, *words; } formats[] = {
        {"CDF\001", "; it is a netCDF classic file, of which nccopy -k netCDF-4 makes one"},
        {"CDF\002", "; it is a netCDF classic file, of which nccopy -k netCDF-4 makes one"},
        {"CDF\005", "; it is a netCDF classic file, of which nccopy -k netCDF-4 makes one"},
        {"MATLAB 5.0 MAT-file", "; it is a MAT-file of version 7 or before, and version 7.3 is HDF5: save "
                                "with -v7.3"}};
    char start[32];
    const ssize_t got = pread(descriptor, start, sizeof start, 0);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; ++i)
        if (got >= (ssize_t)strlen(formats[i].begins) &&
            memcmp(start, formats[i].begins, strlen(formats[i].begins)) == 0)
            return formats[i].words;
    return "";
}

/* HDF5's own messages for these cases are long and say little. */
static ks_exit check_plain_file(const char *name, const char **format, ks_failure *failure)
{
    const int descriptor = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat status;
    if (descriptor < 0 || fstat(descriptor, &status) != 0) {
        ks_fail(failure, KS_EXIT_FILE, "%s: cannot open: %s", name, strerror(errno));
    } else if (S_ISDIR(status.st_mode)) {
        ks_fail(failure, KS_EXIT_FILE, "%s: is a directory, expected an HDF5 file", name);
    } else if (!S_ISREG(status.st_mode)) {
        ks_fail(failure, KS_EXIT_FILE, "%s: not a regular file, expected an HDF5 file", name);
    } else if (status.st_size == 0) {
        ks_fail(failure, KS_EXIT_FILE, "%s: is empty, expected an HDF5 file", name);
    } else {
        *format = older_format(descriptor);
    }
    if (descriptor >= 0) close(descriptor);
    return failure->code;
}

hid_t ks_h5_open(const char *name, ks_failure *failure)
{
    const char *format = "";
    if (check_plain_file(name, &format, failure)) return -1;
    const htri_t hdf5 = H5Fis_hdf5(name);
    if (hdf5 == 0) {
        ks_fail(failure, KS_EXIT_FILE, "%s: not an HDF5 file%s", name, format);
        return -1;
    }
    const hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) ks_fail_h5(failure, KS_EXIT_FILE, "%s: cannot open as HDF5", name);
    return file;
}

/* How far a path leads: to its end, to a broken link, or to a name that does not exist. */
typedef enum way { WAY_WHOLE, WAY_BROKEN, WAY_ENDS } way;

/* H5Lexists() fails if a parent is missing, so test one part of the path at a time. `prefix` is the last path
 * tested. */
static way follow(hid_t file, const char *path, char prefix[1024])
{
    const size_t length = strlen(path);
    if (length >= 1024) return WAY_ENDS;
    for (size_t end = 1; end <= length; ++end) {
        if (end < length && path[end] != '/') continue;
        memcpy(prefix, path, end);
        prefix[end] = '\0';
        if (strspn(prefix, "/") == end) continue;
        const bool link = H5Lexists(file, prefix, H5P_DEFAULT) > 0;
        if (link && H5Oexists_by_name(file, prefix, H5P_DEFAULT) > 0) continue;
        H5Eclear2(H5E_DEFAULT);
        return link ? WAY_BROKEN : WAY_ENDS;
    }
    return WAY_WHOLE;
}

bool ks_h5_exists(hid_t file, const char *path)
{
    char prefix[1024];
    return follow(file, path, prefix) == WAY_WHOLE;
}

bool ks_h5_broken_link(hid_t file, const char *path, char *text, size_t size)
{
    char prefix[1024], value[1024] = "";
    const char *name = NULL, *object = NULL;
    unsigned flags;
    H5L_info_t info;
    if (follow(file, path, prefix) != WAY_BROKEN) return false;
    if (H5Lget_info(file, prefix, &info, H5P_DEFAULT) < 0 || info.u.val_size >= sizeof value ||
        H5Lget_val(file, prefix, value, sizeof value, H5P_DEFAULT) < 0)
        snprintf(text, size, "a link that leads nowhere");
    else if (info.type == H5L_TYPE_EXTERNAL &&
             H5Lunpack_elink_val(value, info.u.val_size, &flags, &name, &object) >= 0)
        snprintf(text, size, "a link to %.200s of file %.200s", object, name);
    else
        snprintf(text, size, "a link to %.200s", value);
    H5Eclear2(H5E_DEFAULT);
    return true;
}

/* A member whose name differs from `name` only in case. */
typedef struct other_letters {
    const char *name;
    char found[1024];
} other_letters;

static herr_t same_but_for_case(hid_t group, const char *name, const H5L_info_t *info, void *user)
{
    other_letters *other = user;
    (void)group;
    (void)info;
    if (strcasecmp(name, other->name) != 0) return 0;
    snprintf(other->found, sizeof other->found, "%s", name);
    return 1;
}

void ks_h5_other_letters(hid_t file, const char *path, char *text, size_t size)
{
    char prefix[1024], folder[1024];
    other_letters other = {.found = ""};
    text[0] = '\0';
    if (strlen(path) >= sizeof prefix || follow(file, path, prefix) != WAY_ENDS) return;
    const char *slash = strrchr(prefix, '/');
    const size_t length = slash ? (size_t)(slash - prefix) + 1 : 0;
    snprintf(folder, sizeof folder, "%.*s", (int)length, prefix);
    other.name = prefix + length;
    H5Literate_by_name(file, length > 0 ? folder : ".", H5_INDEX_NAME, H5_ITER_INC, NULL, same_but_for_case, &other,
                       H5P_DEFAULT);
    H5Eclear2(H5E_DEFAULT);
    if (other.found[0]) snprintf(text, size, "; there is %s%s", folder, other.found);
}

H5O_type_t ks_h5_object_type(hid_t file, const char *path)
{
    H5O_info_t info;
    if (H5Oget_info_by_name2(file, path, &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0) {
        H5Eclear2(H5E_DEFAULT);
        return H5O_TYPE_UNKNOWN;
    }
    return info.type;
}

/* Return the attribute if it exists and has one element, otherwise -1. */
static hid_t open_single(hid_t object, const char *name, ks_attribute_state *state)
{
    *state = KS_ATTRIBUTE_ABSENT;
    if (H5Aexists(object, name) <= 0) return -1;
    *state = KS_ATTRIBUTE_WRONG;
    const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    const hid_t space = attribute < 0 ? -1 : H5Aget_space(attribute);
    const bool single = space >= 0 && H5Sget_simple_extent_npoints(space) == 1;
    ks_h5_release(space);
    if (single) return attribute;
    ks_h5_release(attribute);
    return -1;
}

static bool read_variable_string(hid_t attribute, hid_t type, char *text, size_t size)
{
    char *value = NULL;
    const hid_t memory = H5Tcopy(H5T_C_S1);
    bool good = memory >= 0 && H5Tset_size(memory, H5T_VARIABLE) >= 0 &&
                H5Tset_cset(memory, H5Tget_cset(type)) >= 0 &&
                H5Aread(attribute, memory, &value) >= 0;
    if (good) good = snprintf(text, size, "%s", value ? value : "") < (int)size;
    H5free_memory(value);
    ks_h5_release(memory);
    return good;
}

static bool read_fixed_string(hid_t attribute, hid_t type, char *text, size_t size)
{
    const size_t length = H5Tget_size(type);
    if (length == 0 || length >= size) return false;
    if (H5Aread(attribute, type, text) < 0) return false;
    text[length] = '\0';
    if (H5Tget_strpad(type) == H5T_STR_SPACEPAD)
        for (size_t n = strlen(text); n > 0 && text[n - 1] == ' '; --n) text[n - 1] = '\0';
    return true;
}

ks_attribute_state ks_h5_read_string(hid_t object, const char *name, char *text, size_t size)
{
    ks_attribute_state state;
    text[0] = '\0';
    const hid_t attribute = open_single(object, name, &state);
    if (attribute >= 0) {
        const hid_t type = H5Aget_type(attribute);
        if (type >= 0 && H5Tget_class(type) == H5T_STRING) {
            const bool good = H5Tis_variable_str(type) > 0
                                  ? read_variable_string(attribute, type, text, size)
                                  : read_fixed_string(attribute, type, text, size);
            if (good) state = KS_ATTRIBUTE_READ;
        }
        ks_h5_release(type);
        ks_h5_release(attribute);
    }
    H5Eclear2(H5E_DEFAULT);
    return state;
}

ks_attribute_state ks_h5_read_number(hid_t object, const char *name, double *value)
{
    ks_attribute_state state;
    const hid_t attribute = open_single(object, name, &state);
    if (attribute >= 0) {
        const hid_t type = H5Aget_type(attribute);
        const H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
        if ((class == H5T_INTEGER || class == H5T_FLOAT) &&
            H5Aread(attribute, H5T_NATIVE_DOUBLE, value) >= 0)
            state = KS_ATTRIBUTE_READ;
        ks_h5_release(type);
        ks_h5_release(attribute);
    }
    H5Eclear2(H5E_DEFAULT);
    return state;
}

bool ks_h5_copy_attribute(hid_t from, hid_t to, const char *name)
{
    bool copied = false;
    void *value = NULL;
    const hid_t source = H5Aopen(from, name, H5P_DEFAULT);
    const hid_t type = source < 0 ? -1 : H5Aget_type(source);
    const hid_t space = source < 0 ? -1 : H5Aget_space(source);
    if (type < 0 || space < 0 || H5Tdetect_class(type, H5T_REFERENCE) != 0) goto done;
    const hssize_t points = H5Sget_simple_extent_npoints(space);
    if (points < 0 || points > 65536 || H5Tget_size(type) > 65536) goto done;
    value = calloc((size_t)points + 1, H5Tget_size(type));
    if (!value || H5Aread(source, type, value) < 0) goto done;
    /* A committed type of the input file cannot be used in the output: copy it. */
    const hid_t own_type = H5Tcopy(type);
    const hid_t target = own_type < 0 ? -1 : H5Acreate2(to, name, own_type, space, H5P_DEFAULT,
                                                        H5P_DEFAULT);
    copied = target >= 0 && H5Awrite(target, own_type, value) >= 0;
    ks_h5_release(target);
    ks_h5_release(own_type);
    if (H5Tdetect_class(type, H5T_VLEN) > 0 || H5Tis_variable_str(type) > 0)
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, value);
done:
    free(value);
    ks_h5_release(space);
    ks_h5_release(type);
    ks_h5_release(source);
    H5Eclear2(H5E_DEFAULT);
    return copied;
}
