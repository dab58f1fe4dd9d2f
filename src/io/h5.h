/* h5.h -- HDF5 functions that reader and writer share. The program makes all HDF5 calls on one thread. */
#ifndef KS_IO_H5_H
#define KS_IO_H5_H

#include <stdbool.h>
#include <stddef.h>
#include <hdf5.h>
#include "failure.h"

/** Call once, before any other function: disables error stacks on stderr, and HDF5's clean-up at exit, which would try
 *  to write again to a full disk. */
ks_exit ks_h5_start(ks_failure *failure);

/** Record a failure with the message and HDF5's own reason. Call it directly after the HDF5 call that failed. */
ks_exit ks_fail_h5(ks_failure *failure, ks_exit code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Release any HDF5 identifier. Negative ones are allowed. */
void ks_h5_release(hid_t id);

/** Open a file for reading. If it is missing, unreadable, empty, truncated or not HDF5, returns -1 and records
 *  KS_EXIT_FILE. */
hid_t ks_h5_open(const char *name, ks_failure *failure);

/** Whether an object exists at this path. Broken links count as absent. */
bool ks_h5_exists(hid_t file, const char *path);

/** Describe the first broken link on the way to `path`, as "a link to /other/y" or "a link to /other/y of file
 *  other.h5". Returns false if there is none. */
bool ks_h5_broken_link(hid_t file, const char *path, char *text, size_t size);

/** For a message that nothing exists at this path: "; there is /model/f" if the file has a name on the path in another
 *  case, else "". */
void ks_h5_other_letters(hid_t file, const char *path, char *text, size_t size);

/** Return the type of an existing object: group, dataset, or other. */
H5O_type_t ks_h5_object_type(hid_t file, const char *path);

typedef enum ks_attribute_state {
    KS_ATTRIBUTE_ABSENT,
    KS_ATTRIBUTE_READ,
    KS_ATTRIBUTE_WRONG  /**< exists, but of another type or too long */
} ks_attribute_state;

/** Read a string attribute of one element, of fixed or variable length. */
ks_attribute_state ks_h5_read_string(hid_t object, const char *name, char *text, size_t size);

/** Read a numeric attribute of one element. */
ks_attribute_state ks_h5_read_number(hid_t object, const char *name, double *value);

/** Copy an attribute as it is stored. Returns false if it cannot be copied, such as a reference to an object. */
bool ks_h5_copy_attribute(hid_t from, hid_t to, const char *name);

#endif
