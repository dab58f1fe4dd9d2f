/* hbisa_shape.h -- how the kernels of block iterations are launched, and a model of what that costs. */
#ifndef KS_GENERAL_HBISA_SHAPE_H
#define KS_GENERAL_HBISA_SHAPE_H

#include "gpu/gpu.h"
#include "hbisa.h"

/** What a launch is for. */
typedef struct ks_hbisa_problem {
    int64_t N;
    int n;
    int levels;           /**< of parallel cyclic reduction                                        */
    int colours;          /**< 1: block Jacobi, 2: red-black                                       */
    const int32_t *start; /**< N n + 1: rows of L + U                                              */
    int longest;          /**< the most entries that one of them has                               */
} ks_hbisa_problem;

/** A launch. Whoever wants a particular one sets the first three. */
typedef struct ks_hbisa_shape {
    ks_hbisa_form form;
    int grid;             /**< thread blocks, 1 .. N                                               */
    int sweeps;           /**< of a group, from one barrier of the grid to the next; streamed: 1   */
    int width, beyond;    /**< see ks_hbisa_args                                                   */
    int threads;          /**< of a block                                                          */
    size_t shared;        /**< bytes of dynamic shared memory of a block                           */
    double cycles;        /**< expected of a sweep, its share of the barrier included              */
} ks_hbisa_shape;

/** The most sweeps of a group. */
enum { KS_HBISA_MOST_SWEEPS = 64 };

/** Fills in the rest of a shape whose form, grid and sweeps are set. Returns 0 where the form is not for
 *  such blocks, or does not fit the device. */
int ks_hbisa_complete(ks_hbisa_shape *shape, const ks_hbisa_problem *problem,
                      const ks_gpu_attributes *device);

/** Of all shapes the one that is expected to be the fastest. Returns 0 where none fits. */
int ks_hbisa_choose(ks_hbisa_shape *shape, const ks_hbisa_problem *problem,
                    const ks_gpu_attributes *device);

#endif
