/* file_kind.h -- the kind of a file, from the names of its objects. */
#ifndef KS_IO_FILE_KIND_H
#define KS_IO_FILE_KIND_H

#include <hdf5.h>

typedef enum ks_file_kind {
    KS_FILE_OTHER,
    KS_FILE_MODEL,   /**< a model, observations, or both    */
    KS_FILE_SYSTEM,  /**< a block-tridiagonal system        */
    KS_FILE_OUTPUT   /**< estimates, or a system's solution */
} ks_file_kind;

ks_file_kind ks_file_kind_of(hid_t file);

/** For a message about a missing dataset: say what the file is instead and which command takes it. Returns "" if the
 *  file is of the expected kind or of no known kind. */
const char *ks_file_kind_hint(hid_t file, ks_file_kind looked_for);

#endif
