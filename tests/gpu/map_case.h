/* map_case.h -- a random model for the MAP route on a device, and the order of its Hessian. */
#ifndef GPU_MAP_CASE_H
#define GPU_MAP_CASE_H

#include "kalscan/smooth.h"

typedef struct size_case {
    int64_t T, B;
    int nx, ny;
    ks_prior prior;
    unsigned flags; /* of model_spec */
    int order;
} size_case;

#endif
