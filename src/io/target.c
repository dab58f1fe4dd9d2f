/* S_ISVTX belongs to the X/Open part of POSIX. */
#define _XOPEN_SOURCE 700

#include "target.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "file_name.h"
#include "memory.h"
#include "temp_file.h"

/* In a sticky folder such as /tmp only the owner of a file or of the folder may replace the file. */
static bool is_guarded(const char *folder, const struct stat *file)
{
    struct stat status;
    const uid_t user = geteuid();
    return stat(folder, &status) == 0 && (status.st_mode & S_ISVTX) && user != 0 &&
           file->st_uid != user && status.st_uid != user;
}

static ks_exit check_existing(const char *target, const char *resolved, const struct stat *status,
                              bool replace, ks_failure *failure)
{
    char folder[PATH_MAX];
    if (S_ISDIR(status->st_mode))
        return ks_fail(failure, KS_EXIT_FILE, "%s: cannot write: is a directory", target);
    /* First what --force would not help with. */
    if (!S_ISREG(status->st_mode))
        return ks_fail(failure, KS_EXIT_FILE, "%s: cannot write: not a regular file", target);
    if (!replace)
        return ks_fail(failure, KS_EXIT_USAGE, "%s: exists; use --force to replace it", target);
    ks_folder_of(resolved, folder);
    if (is_guarded(folder, status))
        return ks_fail(failure, KS_EXIT_FILE, "%s: cannot write: in folder %s only its owner may "
                       "replace it", target, folder);
    return KS_EXIT_DONE;
}

ks_exit ks_target_check(const char *target, bool replace, const char *const *inputs,
                        ks_failure *failure)
{
    char resolved[PATH_MAX];
    struct stat status;
    ks_temp_file trial;
    if (strcmp(target, "-") == 0)
        return ks_fail(failure, KS_EXIT_USAGE,
                       "-: the output must be a file, not standard output; ./- is one of this name");
    if (ks_target_resolve(target, resolved, failure)) return failure->code;
    for (; *inputs; ++inputs)
        if (ks_same_file(resolved, *inputs))
            return ks_fail(failure, KS_EXIT_USAGE,
                           "%s: the output is the input %s; choose another name", target, *inputs);
    if (stat(resolved, &status) == 0) {
        if (check_existing(target, resolved, &status, replace, failure)) return failure->code;
    } else if (errno != ENOENT) {
        return ks_fail(failure, KS_EXIT_FILE, "%s: cannot write: %s", target, strerror(errno));
    } else if (lstat(resolved, &status) == 0) {
        return ks_fail(failure, KS_EXIT_FILE, "%s: cannot write: a link that leads nowhere",
                       target);
    } else if (target[strlen(target) - 1] == '/') {
        return ks_fail(failure, KS_EXIT_FILE, "%s: cannot write: the name of a folder", target);
    }
    if (ks_temp_create(&trial, target, replace, failure) == KS_EXIT_DONE) ks_temp_discard(&trial);
    return failure->code;
}

ks_exit ks_target_room(const char *target, size_t bytes, ks_failure *failure)
{
    char resolved[PATH_MAX], folder[PATH_MAX], need[32], have[32];
    struct statvfs disk;
    struct rlimit limit;
    if (ks_target_resolve(target, resolved, failure)) return failure->code;
    ks_folder_of(resolved, folder);
    ks_size_text(bytes, need);
    /* File systems that do not know their size, such as some network ones, report 0 blocks. */
    if (statvfs(folder, &disk) == 0 && disk.f_blocks > 0) {
        const size_t blocks = geteuid() == 0 ? disk.f_bfree : disk.f_bavail;
        const size_t room = ks_size_product(blocks, disk.f_frsize);
        ks_size_text(room, have);
        if (bytes > room || bytes == SIZE_MAX)
            return ks_fail(failure, KS_EXIT_FILE, "%s: cannot write: it needs %s, and in folder %s there "
                           "is room for %s", target, need, folder, have);
    }
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        bytes > limit.rlim_cur) {
        ks_size_text((size_t)limit.rlim_cur, have);
        return ks_fail(failure, KS_EXIT_FILE, "%s: cannot write: it needs %s, and no file may be "
                       "larger than %s here (ulimit -f)", target, need, have);
    }
    return KS_EXIT_DONE;
}
