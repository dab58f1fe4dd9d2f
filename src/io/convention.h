/* convention.h -- attributes that choose one of two words, for every kind of input. */
#ifndef KS_IO_CONVENTION_H
#define KS_IO_CONVENTION_H

#include <stdbool.h>
#include <hdf5.h>
#include "problems.h"

/** Storage order of matrices. */
typedef enum ks_layout {
    KS_LAYOUT_C = 0,
    KS_LAYOUT_FORTRAN = 1  /**< written by MATLAB or Julia: every matrix slice arrives transposed */
} ks_layout;

/** "c", "fortran" as files and command line spell them; NULL for an unknown value. */
const char *ks_layout_name(int layout);

/** What is asked for. */
typedef struct ks_convention {
    const char *file, *path;         /**< of the object that has the attribute, for messages     */
    const char *attribute;
    const char *(*name)(int value);  /**< the words of 0 and 1, NULL beyond                      */
    int override;                    /**< from the command line; -1: none                        */
} ks_convention;

/** 0 or 1: from the override, else from the attribute, else 0. *stated: was it either of them? An
 *  attribute that is neither word is added to problems. */
int ks_convention_read(const ks_convention *convention, hid_t object, bool *stated,
                       ks_problems *problems);

#endif
