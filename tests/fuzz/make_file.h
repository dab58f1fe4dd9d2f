/* make_file.h -- HDF5 files that are nearly right. */
#ifndef KS_FUZZ_MAKE_FILE_H
#define KS_FUZZ_MAKE_FILE_H

#include "decisions.h"

/** Write an input file for kalscan: a small model whose shapes, types, values, attributes and
 *  storage the decisions change. No decisions make a file without fault. Returns 0, or -1 when
 *  HDF5 cannot write what was decided. */
int make_file(const char *name, decisions *d);

/** Write a block-tridiagonal system in the same way, with dense blocks or in the compact form: the
 *  identity, where nothing is decided. */
int make_system(const char *name, decisions *d);

#endif
