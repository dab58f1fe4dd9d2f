/* lq_rows.h -- how matrices that are reflected (array_text.h) are stored: column by column, so that several rows, none
 * of which needs to wait for another's sums, fill a vector register. */
#ifndef KS_LQ_ROWS_H
#define KS_LQ_ROWS_H

#include "hd.h"

/* Rows taken at a time; one where numbers are counted and where a thread of a device works alone. */
#ifdef __cplusplus
enum { KS_LQ_ROWS = 1 };
#else
enum { KS_LQ_ROWS = 8 };
#endif

/** How far a matrix of so many rows has its columns apart. The rows behind are there to be zero. */
KS_HD int ks_lq_apart(int rows) { return (rows + KS_LQ_ROWS - 1) / KS_LQ_ROWS * KS_LQ_ROWS; }

#endif
