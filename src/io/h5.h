/* h5.h -- the few HDF5 idioms that reader and writer share. All HDF5 calls of the program are made
 * on one thread. */
#ifndef KS_IO_H5_H
#define KS_IO_H5_H

#include <stdbool.h>
#include <stddef.h>
#include <hdf5.h>
#include "failure.h"

/** Once, before any other call: no error stacks on stderr, no clean-up by HDF5 at exit (after a
 *  full disk it would try to write again). */
ks_exit ks_h5_start(ks_failure *failure);

/** Record a failure with HDF5's own reason behind the message. Call it right after the HDF5 call
 *  that failed. */
ks_exit ks_fail_h5(ks_failure *failure, ks_exit code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Give back any HDF5 identifier; negative ones are allowed. */
void ks_h5_release(hid_t id);

/** Open a file for reading. A missing, unreadable, empty, truncated or non-HDF5 file is
 *  KS_EXIT_FILE; -1 with the failure recorded. */
hid_t ks_h5_open(const char *name, ks_failure *failure);

/** Does an object stand at this path? Links that lead nowhere count as absent. */
bool ks_h5_exists(hid_t file, const char *path);

/** The first link on the way to `path` that leads nowhere, as "a link to /other/y" or "a link to
 *  /other/y of file other.h5". False where there is none. */
bool ks_h5_broken_link(hid_t file, const char *path, char *text, size_t size);

/** For a message that nothing stands at this path: "; there is /model/f", where a name on it stands in the file in
 *  letters of another case. "" where none does. */
void ks_h5_other_letters(hid_t file, const char *path, char *text, size_t size);

/** What stands at this path, among existing objects: a group, a dataset, or something else. */
H5O_type_t ks_h5_object_type(hid_t file, const char *path);

typedef enum ks_attribute_state {
    KS_ATTRIBUTE_ABSENT,
    KS_ATTRIBUTE_READ,
    KS_ATTRIBUTE_WRONG  /**< there, but not of the type asked for, or too long */
} ks_attribute_state;

/** A string attribute, fixed or variable length, of one element. */
ks_attribute_state ks_h5_read_string(hid_t object, const char *name, char *text, size_t size);

/** A numeric attribute of one element. */
ks_attribute_state ks_h5_read_number(hid_t object, const char *name, double *value);

/** Copy an attribute from one object to another as it is stored. Returns false where it cannot be
 *  copied (references to other objects, for example). */
bool ks_h5_copy_attribute(hid_t from, hid_t to, const char *name);

#endif
