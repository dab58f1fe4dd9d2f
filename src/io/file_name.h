/* file_name.h -- functions on the names of files. */
#ifndef KS_IO_FILE_NAME_H
#define KS_IO_FILE_NAME_H

#include <limits.h>
#include <stdbool.h>

/** Store the folder of a path in `folder`. */
void ks_folder_of(const char *path, char folder[PATH_MAX]);

/** Whether two names are of the same file, or are the same path of a file that does not exist yet. */
bool ks_same_file(const char *a, const char *b);

#endif
