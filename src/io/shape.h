/* shape.h -- whether the shape of a dataset fits what the model expects. Only the rank decides whether an array is
 * constant, per step, or per series and step; sizes that happen to agree never do. */
#ifndef KS_IO_SHAPE_H
#define KS_IO_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_RANK_MAX 32

/** The shape expected of an array. */
typedef struct ks_want {
    const char *names[2];  /**< of the block's axes: "ny", "nx"; a vector has one */
    int64_t block[2];      /**< their lengths                                     */
    int block_rank;        /**< 1 or 2                                            */
    int64_t T, B;
    bool steps;            /**< may vary with the step; otherwise only with the series */
    bool short_rows;       /**< T - 1 rows are accepted, too (transition out-of)       */
} ks_want;

/** How the axes of a dataset are interpreted. A leading axis of length 1 broadcasts. */
typedef struct ks_fit {
    int series_axis, step_axis;  /**< -1: none                               */
    int64_t series;              /**< 1, or B                                */
    int64_t steps;               /**< 1, or the rows in the file: T or T - 1 */
    bool per_series, per_step;   /**< does not broadcast along this axis     */
} ks_fit;

/** Fit a shape; returns false if it does not fit. */
bool ks_shape_fit(const int64_t *dims, int rank, const ks_want *want, ks_fit *fit);

/** Print a shape: "(100, 2, 4)". */
void ks_shape_text(const int64_t *dims, int rank, char *text, size_t size);

/** Print what is expected: "(ny, nx) = (2, 4), or with a leading T = 100, or B, T = 3, 100". */
void ks_want_text(const ks_want *want, char *text, size_t size);

#endif
