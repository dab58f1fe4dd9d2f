#include "file_name.h"

#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void ks_folder_of(const char *path, char folder[PATH_MAX])
{
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    snprintf(folder, PATH_MAX, "%s", dirname(copy));
}

bool ks_same_file(const char *a, const char *b)
{
    struct stat one, other;
    const bool first = stat(a, &one) == 0, second = stat(b, &other) == 0;
    if (first || second)
        return first && second && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
    char folder_a[PATH_MAX], folder_b[PATH_MAX];
    ks_folder_of(a, folder_a);
    ks_folder_of(b, folder_b);
    const char *slash_a = strrchr(a, '/'), *slash_b = strrchr(b, '/');
    return strcmp(slash_a ? slash_a + 1 : a, slash_b ? slash_b + 1 : b) == 0 &&
           stat(folder_a, &one) == 0 && stat(folder_b, &other) == 0 &&
           one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}
