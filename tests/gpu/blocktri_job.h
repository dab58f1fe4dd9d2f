/* blocktri_job.h -- common to tests of block-tridiagonal systems on a device. */
#ifndef BLOCKTRI_JOB_H
#define BLOCKTRI_JOB_H

#include "kalscan/blocktri_cuda.h"
#include "system.h"
#include "seed.h"

enum { MOST_SYSTEMS = 5 };

/* Systems of one size on the device. */
typedef struct job {
    ks_blocktri_cuda_plan *plan;
    int count;
    bt_system system[MOST_SYSTEMS];
    size_t number;
    int64_t blocks, columns;   /* elements of a system's D or L, and of its b or x */
    ks_cuda_const_blocks D, L, b;
    ks_cuda_blocks x;
} job;

static inline void *uploaded(const job *j, int64_t elements, size_t which)
{
    void *device;
    OK(ks_blocktri_cuda_alloc(j->plan, &device, (size_t)(elements * j->count) * j->number));
    for (int s = 0; s < j->count; ++s) {
        void *const *host = (void *const *)(const void *)((const char *)&j->system[s] + which);
        OK(ks_blocktri_cuda_upload(j->plan, (char *)device + (size_t)(s * elements) * j->number,
                                   *host, (size_t)elements * j->number));
    }
    return device;
}

static inline job begin_with(ks_blocktri_cuda_options options, int64_t N, int n, int nrhs,
                             unsigned seed)
{
    const ks_precision precision = options.refine ? KS_F64 : options.precision;
    const int count = options.systems;
    job j = { .count = count, .number = precision == KS_F64 ? 8 : 4 };
    OK(ks_blocktri_cuda_plan_create(&j.plan, NULL, N, n, &options));
    const int64_t gap = (int64_t)(seed % 3) * 2;
    for (int s = 0; s < count; ++s)
        j.system[s] = bt_system_make(precision, N, n, nrhs, gap, seed + 100 * (unsigned)s);
    const bt_system *first = &j.system[0];
    j.blocks = N * first->stride;
    j.columns = N * first->rhs_stride;
    const ks_cuda_const_blocks D = { uploaded(&j, j.blocks, offsetof(bt_system, D)), first->stride,
                                     j.blocks };
    const ks_cuda_const_blocks L = { uploaded(&j, j.blocks, offsetof(bt_system, L)), first->stride,
                                     j.blocks };
    const ks_cuda_const_blocks b = { uploaded(&j, j.columns, offsetof(bt_system, b)),
                                     first->rhs_stride, j.columns };
    const ks_cuda_blocks x = { uploaded(&j, j.columns, offsetof(bt_system, x)), first->rhs_stride,
                               j.columns };
    j.D = D, j.L = L, j.b = b, j.x = x;
    return j;
}

static inline job begin(ks_precision precision, int64_t N, int n, int nrhs, int count, unsigned seed)
{
    ks_blocktri_cuda_options options = KS_BLOCKTRI_CUDA_OPTIONS_INIT;
    options.precision = precision;
    options.systems = count;
    return begin_with(options, N, n, nrhs, seed);
}

static inline void end(job *j)
{
    ks_blocktri_cuda_free(j->plan, (void *)(uintptr_t)j->D.data);
    ks_blocktri_cuda_free(j->plan, (void *)(uintptr_t)j->L.data);
    ks_blocktri_cuda_free(j->plan, (void *)(uintptr_t)j->b.data);
    ks_blocktri_cuda_free(j->plan, j->x.data);
    ks_blocktri_cuda_plan_destroy(j->plan);
    for (int s = 0; s < j->count; ++s) bt_system_free(&j->system[s]);
    check_clean();
}

static inline void fetch(job *j, const void *from)
{
    const size_t bytes = (size_t)j->columns * j->number;
    for (int s = 0; s < j->count; ++s)
        OK(ks_blocktri_cuda_download(j->plan, j->system[s].x,
                                     (const char *)from + (size_t)s * bytes, bytes));
}

static inline void wait(job *j)
{
    ks_blocktri_cuda_info info = KS_BLOCKTRI_CUDA_INFO_INIT;
    const ks_status status = ks_blocktri_cuda_wait(j->plan, &info, NULL);
    if (status)
        fail_msg("%s: system %d, block %d, pivot %d, N = %d, n = %d", ks_status_name(status),
                 info.system, (int)info.block, info.pivot, (int)j->system[0].N, j->system[0].n);
    assert_int_equal(info.status, KS_OK);
    assert_int_equal(info.system, -1);
}

/* Round-off, with room for the growth with the order and the levels. */
static inline double tolerance(const job *j) { return j->number == 8 ? 1e-14 : 5e-6; }

/* Check the systems' x and logdet by the residual and by the CPU's solver. */
static inline void judge(job *j, const double *logdet)
{
    for (int s = 0; s < j->count; ++s) {
        bt_system *system = &j->system[s];
        const ks_blocktri_options options = bt_options(KS_BLOCKTRI_SEQUENTIAL, system->precision);
        bt_solver solver = bt_solver_make(system, &options, 1, 0);
        const ks_blocktri_matrix matrix = bt_matrix(system);
        const double error = bt_backward_error(&solver, system);
        if (!(error <= tolerance(j)))
            fail_msg("backward error %g, N = %d, n = %d, %d right-hand sides, system %d", error,
                     (int)system->N, system->n, system->nrhs, s);
        double expected;
        OK(ks_blocktri_factorize(solver.plan, &matrix, &solver.factor, solver.work, NULL));
        OK(ks_blocktri_logdet(solver.plan, &solver.factor, &expected));
        assert_true(fabs(logdet[s] - expected) <=
                    tolerance(j) * (double)(system->N * system->n) * 10);
        for (int64_t k = 0; k < system->N; ++k) /* the gaps between the blocks were not written */
            for (int64_t i = (int64_t)system->n * system->nrhs; i < system->rhs_stride; ++i)
                assert_true(isnan(bt_get(system, system->x, k * system->rhs_stride + i)));
        bt_solver_free(&solver);
    }
}

#endif
