/* checkpoints.h -- what a filter in double keeps of itself before each segment of a series, to filter it again from
 * there. As many segments as steps in one take the least memory. */
#ifndef KS_CHECKPOINTS_H
#define KS_CHECKPOINTS_H

#include <math.h>
#include <string.h>
#include "carve.h"
#include "series.h"

typedef struct ks_checkpoints {
    int64_t length;     /* steps of a segment, of which the last one may be shorter */
    ks_estimates state; /* before each segment, as are the others */
    unsigned char *form;
    ks_steady *steady;
} ks_checkpoints;

/** Carve `count` estimates of nx states in double. */
static inline ks_estimates ks_carve_doubles(ks_carver *carver, size_t nx, int64_t count)
{
    ks_estimates e;
    e.mean = ks_carve(carver, (size_t)count, nx * sizeof(double));
    e.cov = ks_carve(carver, (size_t)count, nx * nx * sizeof(double));
    return e;
}

/** For a series of T steps. */
static inline void ks_checkpoints_carve(ks_carver *carver, size_t nx, int64_t T, ks_checkpoints *c)
{
    c->length = (int64_t)ceil(sqrt((double)T));
    const int64_t segments = (T + c->length - 1) / c->length;
    c->state = ks_carve_doubles(carver, nx, segments);
    c->form = ks_carve(carver, (size_t)segments, 1);
    c->steady = ks_carve(carver, (size_t)segments, sizeof(ks_steady));
}

/** The first step behind segment i of `steps` steps. */
static inline int64_t ks_segment_end(const ks_checkpoints *c, int64_t i, int64_t steps)
{
    return steps - i * c->length < c->length ? steps : (i + 1) * c->length;
}

/** Save the state before segment i, or bring it back. */
static inline void ks_checkpoint_keep(const ks_checkpoints *c, size_t nx, int64_t i, const ks_state *state)
{
    memcpy((double *)c->state.mean + (size_t)i * nx, state->x, nx * sizeof(double));
    memcpy((double *)c->state.cov + (size_t)i * nx * nx, state->C, nx * nx * sizeof(double));
    c->form[i] = (unsigned char)state->form;
    c->steady[i] = state->steady;
}
static inline void ks_checkpoint_restore(const ks_checkpoints *c, size_t nx, int64_t i, ks_state *state)
{
    memcpy(state->x, (double *)c->state.mean + (size_t)i * nx, nx * sizeof(double));
    memcpy(state->C, (double *)c->state.cov + (size_t)i * nx * nx, nx * nx * sizeof(double));
    state->form = (ks_form)c->form[i];
    state->steady = c->steady[i];
}

#endif
