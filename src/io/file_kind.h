/* file_kind.h -- what a file looks like by the names in it. */
#ifndef KS_IO_FILE_KIND_H
#define KS_IO_FILE_KIND_H

#include <hdf5.h>

typedef enum ks_file_kind {
    KS_FILE_OTHER,
    KS_FILE_MODEL,   /**< a model, observations, or both     */
    KS_FILE_SYSTEM,  /**< a block-tridiagonal system         */
    KS_FILE_OUTPUT   /**< estimates, or a system's solution  */
} ks_file_kind;

ks_file_kind ks_file_kind_of(hid_t file);

/** For a message that a dataset is missing: what the file is instead, and what takes it. "" where
 *  it is of the kind that was looked for, or of none. */
const char *ks_file_kind_hint(hid_t file, ks_file_kind looked_for);

#endif
