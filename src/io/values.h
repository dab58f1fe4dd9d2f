/* values.h -- numbers of any input and result: their size, their order, whether they are finite. */
#ifndef KS_IO_VALUES_H
#define KS_IO_VALUES_H

#include <stddef.h>
#include <stdint.h>
#include "kalscan/number.h"
#include "dataset.h"

/** How far loading has come. */
typedef struct ks_load_progress {
    ks_io_progress function;  /**< NULL: nobody asks                                             */
    void *user;
    double done, total;       /**< bytes                                                         */
} ks_load_progress;

void ks_load_advance(ks_load_progress *progress, double bytes);

/** Bytes of one number. */
size_t ks_precision_bytes(ks_precision precision);

/** Index of element `element` (of the slab as it was read) in the dataset: "[17, 0, 3]". */
void ks_slab_index_text(const ks_dataset *dataset, const ks_fit *fit, const ks_slab *slab,
                        int64_t element, char *text, size_t size);

/** The first value that is NaN or infinite, or -1. */
int64_t ks_find_not_finite(ks_precision precision, const void *data, int64_t count);

/** "NaN", "infinite", or "infinite (in f32)" of such a value. */
const char *ks_not_finite_text(ks_precision precision, const void *data, int64_t element);

/** (columns, rows) blocks to (rows, columns) ones. */
void ks_transpose_blocks(size_t number, int rows, int columns, int64_t blocks, const char *from,
                         char *to);

#endif
