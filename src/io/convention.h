/* convention.h -- attributes that choose one of two words, for every kind of input. */
#ifndef KS_IO_CONVENTION_H
#define KS_IO_CONVENTION_H

#include <stdbool.h>
#include <hdf5.h>
#include "problems.h"

/** Storage order of matrices. */
typedef enum ks_layout {
    KS_LAYOUT_C = 0,
    KS_LAYOUT_FORTRAN = 1  /**< written by MATLAB or Julia: each matrix is stored transposed */
} ks_layout;

/** Return "c" or "fortran", as in files and on the command line; NULL for an unknown value. */
const char *ks_layout_name(int layout);

/** What to read. */
typedef struct ks_convention {
    const char *file, *path;         /**< of the object that has the attribute, for messages */
    const char *attribute;
    const char *(*name)(int value);  /**< the words for 0 and 1, NULL for other values */
    int override;                    /**< from the command line; -1: none              */
} ks_convention;

/** Return 0 or 1: from the override, else from the attribute, else 0. *stated: whether it came from one of these. An
 *  attribute that is neither of the words is added to problems. */
int ks_convention_read(const ks_convention *convention, hid_t object, bool *stated,
                       ks_problems *problems);

#endif
