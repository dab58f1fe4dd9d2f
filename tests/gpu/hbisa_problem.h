/* hbisa_problem.h -- factored systems for tests of block iterations, and their solution on a device. */
#ifndef HBISA_PROBLEM_H
#define HBISA_PROBLEM_H

#include <stdlib.h>
#include "general/device.h"
#include "general_system.h"
#include "session.h"

/* A system with what the host and the device need to solve it. */
typedef struct problem {
    general_system system;
    ks_general_packed *packed;
    const ks_general_matrix *matrix;
    ks_general_plan *plan;
    void *factor, *work;
} problem;

static inline problem make(general_system system, const ks_general_options *options)
{
    problem p = { system, general_system_pack(&system, NULL), NULL, NULL, NULL, NULL };
    p.matrix = ks_general_packed_matrix(p.packed);
    OK(ks_general_plan_create(&p.plan, NULL, system.N, system.n, p.matrix, options));
    p.factor = general_system_memory(ks_general_factor_bytes(p.plan));
    p.work = general_system_memory(ks_general_workspace_bytes(p.plan));
    OK(ks_general_factorize(p.plan, p.matrix, p.factor, p.work, NULL));
    return p;
}

static inline void release(problem *p)
{
    free(p->factor);
    free(p->work);
    ks_general_plan_destroy(p->plan);
    ks_general_packed_destroy(p->packed);
    general_system_free(&p->system);
}

static inline ks_general_options options_of(ks_general_method method)
{
    ks_general_options options = KS_GENERAL_OPTIONS_INIT;
    options.method = method;
    options.block_solver = KS_BLOCK_SOLVER_PARALLEL_CYCLIC_REDUCTION;
    return options;
}

/** Solve on a device to system.x and return the status. asked: the shape, or NULL. *taken, unless NULL, receives the
 *  shape. */
static inline ks_status run_on_device(problem *p, const ks_hbisa_shape *asked, ks_hbisa_shape *taken,
                                     ks_general_report *report)
{
    ks_gb_device *device;
    ks_status status = ks_gpu_open(&gpu, NULL, 0);
    if (status != KS_OK) return status;
    status = ks_gb_device_create(&device, gpu, p->plan, p->matrix, p->factor, asked);
    if (status == KS_OK && taken) *taken = *ks_gb_device_shape(device);
    if (status == KS_OK) status = ks_gb_device_solve(device, p->system.b, 0, p->system.x, report);
    ks_gb_device_destroy(device);
    ks_gpu_close(gpu);
    return status;
}

/** run_on_device(), and check that nothing is left on the device. */
static inline ks_status on_device_as(problem *p, const ks_hbisa_shape *asked, ks_hbisa_shape *taken,
                                     ks_general_report *report)
{
    const ks_status status = run_on_device(p, asked, taken, report);
    check_clean();
    return status;
}

static const ks_general_method methods[] = { KS_BLOCK_JACOBI, KS_RED_BLACK };

#endif
