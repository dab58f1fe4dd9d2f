/* double_back.h -- the way back in double of a series in single precision with predictions that are too sharp for steps
 * of the RTS smoother in single precision (ks_sharp()), such as those of a state far from zero. The series is filtered
 * again and smoothed by the kernels of double precision, block by block, and the results are rounded. It is not the way
 * for predictions that are sharp in double, too, and seldom for steps in the array form: whitened_back.h. */
#ifndef KS_DOUBLE_BACK_H
#define KS_DOUBLE_BACK_H

#include "checkpoints.h"
#include "smooth_plan.h"
#include "two_ended.h"

/** The arrays of which a step has a row. */
enum { KS_DOUBLE_F, KS_DOUBLE_Q, KS_DOUBLE_U, KS_DOUBLE_H, KS_DOUBLE_R, KS_DOUBLE_D, KS_DOUBLE_Y, KS_DOUBLE_ARRAYS };

typedef struct ks_double_back {
    int64_t block;                   /* most steps of a block                           */
    int64_t last;                    /* of the steps                                    */
    int64_t numbers;                 /* of the pool                                     */
    double *pool;                    /* rows of a block, those that vary, and results   */
    double *once[KS_DOUBLE_ARRAYS];  /* rows of arrays that do not vary                 */
    double *rows[KS_DOUBLE_ARRAYS];  /* of a block; NULL: the array does not vary       */
    double *mean, *cov, *var, *lag;  /* results of a block                              */
    double *m0, *P0;
    ks_series series;
    ks_estimates state, smoothed;
    ks_estimates information;        /* eta, J: of what lies behind the last step   */
    ks_checkpoints checkpoints;
    ks_estimates kept;               /* of a segment                                    */
    unsigned char *form;
    void *scratch;
} ks_double_back;

/** Carve the memory. It is none for plans that are not in single precision. */
void ks_double_back_carve(ks_carver *carver, const ks_smooth_plan *plan, ks_double_back *w);

/** Smooth steps 0 .. steps - 1 of series b, s. information: about the last of them from later observations, in the array
 *  form; its smoothed estimate has been written already. NULL: it is the last of the series. arrays: go on where most
 *  steps are in the array form. Returns 0 with the steps counted in the tally; 1 if this is not the way, with nothing in
 *  the tally; -1 if the run is canceled. *written is set once results may have been written. */
int ks_double_back_run(ks_plan_run *run, ks_double_back *w, int64_t b, const ks_series *s, int64_t steps,
                       const ks_information *information, int arrays, const ks_backward_sinks *to, ks_tally *tally,
                       int *written);

#endif
