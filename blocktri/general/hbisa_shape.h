/* hbisa_shape.h -- launch shapes of the kernels of block iterations, and a model of their cost. */
#ifndef KS_GENERAL_HBISA_SHAPE_H
#define KS_GENERAL_HBISA_SHAPE_H

#include "gpu/gpu.h"
#include "hbisa.h"

/** The system of a launch. */
typedef struct ks_hbisa_problem {
    int64_t N;
    int n;
    int levels;           /**< of parallel cyclic reduction */
    int colours;          /**< 1: block Jacobi, 2: red-black */
    const int32_t *start; /**< N n + 1: rows of L + U */
    int longest;          /**< most entries of a row */
} ks_hbisa_problem;

/** A launch. The caller sets the first three members to ask for a particular one. */
typedef struct ks_hbisa_shape {
    ks_hbisa_form form;
    int grid;             /**< thread blocks, 1 .. N */
    int sweeps;           /**< of a group, from one barrier of the grid to the next; streamed: 1 */
    int width, beyond;    /**< see ks_hbisa_args */
    int threads;          /**< of a thread block */
    size_t shared;        /**< bytes of dynamic shared memory of a thread block */
    double cycles;        /**< expected for a sweep, with its share of the barrier */
} ks_hbisa_shape;

/** Most sweeps of a group. */
enum { KS_HBISA_MOST_SWEEPS = 64 };

/** Complete a shape whose form, grid and sweeps are set. Returns 0 if the form does not take such blocks or does not
 *  fit the device. */
int ks_hbisa_complete(ks_hbisa_shape *shape, const ks_hbisa_problem *problem,
                      const ks_gpu_attributes *device);

/** Choose the shape that should be fastest. Returns 0 if none fits. */
int ks_hbisa_choose(ks_hbisa_shape *shape, const ks_hbisa_problem *problem,
                    const ks_gpu_attributes *device);

#endif
