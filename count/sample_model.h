/* sample_model.h -- a constant model on which operations are counted. Any model that keeps all numbers finite
 * will do, since the cost of an operation depends only on the sizes. */
#ifndef KS_COUNT_SAMPLE_MODEL_H
#define KS_COUNT_SAMPLE_MODEL_H

#include "carve.h"
#include "series.h"

typedef struct ks_sample_model {
    double *F, *Q, *u, *H, *R, *d, *y;
} ks_sample_model;

void ks_sample_model_carve(ks_carver *carver, int nx, int ny, ks_sample_model *model);

/** Fill the model, and let the series, whose sizes are set, read it at every step. */
void ks_sample_model_fill(const ks_sample_model *model, ks_series *series);

/** A (rows, columns) <- `diagonal` on the diagonal, `beside` elsewhere. */
void ks_sample_fill(double *A, int rows, int columns, double diagonal, double beside);

/** Rows of `bytes` bytes each, contiguous in `memory`. */
ks_sink ks_sample_rows(void *memory, size_t bytes);

#endif
