/* values.h -- functions on arrays of numbers: size, order, values that are not finite. */
#ifndef KS_IO_VALUES_H
#define KS_IO_VALUES_H

#include <float.h>
#include <stddef.h>
#include <stdint.h>
#include "kalscan/number.h"
#include "dataset.h"

/** Progress of loading. */
typedef struct ks_load_progress {
    ks_io_progress function;  /**< NULL: not reported */
    void *user;
    double done, total;       /**< bytes                                                         */
} ks_load_progress;

void ks_load_advance(ks_load_progress *progress, double bytes);

/** Return the bytes of one number. */
size_t ks_precision_bytes(ks_precision precision);

/** Print the index in the dataset of element `element` of a slab as it was read: "[17, 0, 3]". */
void ks_slab_index_text(const ks_dataset *dataset, const ks_fit *fit, const ks_slab *slab,
                        int64_t element, char *text, size_t size);

/** Return the index of the first value that is NaN or infinite, or -1. */
int64_t ks_find_not_finite(ks_precision precision, const void *data, int64_t count);

/** Return "NaN", "infinite" or "infinite (in f32)" for such a value. */
const char *ks_not_finite_text(ks_precision precision, const void *data, int64_t element);

/** Transpose blocks of (columns, rows) to (rows, columns). */
void ks_transpose_blocks(size_t number, int rows, int columns, int64_t blocks, const char *from,
                         char *to);

/** Least magnitude of the largest of numbers in single precision that belong together, as those of a right-hand side:
 *  numbers of 2^-12 of it are normal. */
#define KS_LEAST_OF_SIDE (0x1p12F * FLT_MIN)

#endif
