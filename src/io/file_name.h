/* file_name.h -- what can be said of files by their names. */
#ifndef KS_IO_FILE_NAME_H
#define KS_IO_FILE_NAME_H

#include <limits.h>
#include <stdbool.h>

/** The folder of a path. */
void ks_folder_of(const char *path, char folder[PATH_MAX]);

/** One file, by whatever names; or one name, of a file that is still to be made. */
bool ks_same_file(const char *a, const char *b);

#endif
