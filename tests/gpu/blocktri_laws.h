/* blocktri_laws.h -- what must hold for systems with large blocks in any order of elimination. */
#ifndef BLOCKTRI_LAWS_H
#define BLOCKTRI_LAWS_H

#include <stdlib.h>
#include "blocktri_job.h"

static inline ks_blocktri_cuda_options options_of(ks_precision precision, int systems, int inverse)
{
    ks_blocktri_cuda_options options = KS_BLOCKTRI_CUDA_OPTIONS_INIT;
    options.precision = precision;
    options.systems = systems;
    options.inverse = inverse;
    return options;
}

/* Factor, solve with the factor that is kept, then both at once in the place of b, all judged. */
static inline void run_with(ks_blocktri_cuda_options options, int64_t N, int n, int nrhs, unsigned seed)
{
    double logdet[MOST_SYSTEMS];
    job j = begin_with(options, N, n, nrhs, seed);
    OK(ks_blocktri_cuda_factorize(j.plan, j.D, j.L, NULL));
    OK(ks_blocktri_cuda_solve(j.plan, nrhs, j.b, j.x, NULL));
    wait(&j);
    OK(ks_blocktri_cuda_logdet(j.plan, logdet, NULL));
    fetch(&j, j.x.data);
    judge(&j, logdet);
    const ks_cuda_blocks over = { (void *)(uintptr_t)j.b.data, j.b.stride, j.b.system_stride };
    for (int s = 0; s < j.count; ++s) logdet[s] = (double)NAN;
    OK(ks_blocktri_cuda_factor_solve(j.plan, j.D, j.L, nrhs, j.b, over, NULL));
    wait(&j);
    OK(ks_blocktri_cuda_logdet(j.plan, logdet, NULL));
    fetch(&j, j.b.data);
    judge(&j, logdet);
    end(&j);
}

/* Compare blocks of the inverse with those of the CPU. Diagonal blocks must be symmetric to the bit. */
static inline void judge_inverse(const job *j, int s, const void *diagonal, const void *lag)
{
    const bt_system *system = &j->system[s];
    const int64_t N = system->N, n = system->n, block = n * n;
    const ks_blocktri_options options = bt_options(KS_BLOCKTRI_SEQUENTIAL, system->precision);
    bt_solver solver = bt_solver_make(system, &options, 1, 0);
    char *expected[2];
    for (int i = 0; i < 2; ++i) {
        expected[i] = malloc((size_t)(N * block) * j->number);
        assert_non_null(expected[i]);
    }
    const ks_blocks to[2] = { { expected[0], block }, { expected[1], block } };
    OK(bt_factorize(&solver, system, NULL));
    OK(ks_blocktri_inverse_blocks(solver.plan, &solver.factor, to[0], to[1], solver.inverse_work));
    double largest = 0;
    for (int64_t i = 0; i < N * block; ++i) largest = fmax(largest, fabs(bt_get(system, to[0].data, i)));
    for (int i = 0; i < 2; ++i)
        for (int64_t e = 0; e < (N - i) * block; ++e) {
            const double got = bt_get(system, i ? lag : diagonal, e);
            if (!(fabs(got - bt_get(system, to[i].data, e)) <= 30 * tolerance(j) * largest))
                fail_msg("%s block %d of %d, row %d, column %d of order %d: %g instead of %g",
                         i ? "lag" : "diagonal", (int)(e / block), (int)N, (int)(e / n % n),
                         (int)(e % n), (int)n, got, bt_get(system, to[i].data, e));
            if (i == 0) assert_true(got == bt_get(system, diagonal, e / block * block + e % n * n + e / n % n));
        }
    free(expected[0]);
    free(expected[1]);
    bt_solver_free(&solver);
}

static inline void invert_with(ks_blocktri_cuda_options options, int64_t N, int n, unsigned seed, int with_lag)
{
    const int systems = options.systems;
    job j = begin_with(options, N, n, 1, seed);
    const int64_t block = (int64_t)n * n, each = N * block;
    const size_t bytes = (size_t)(each * systems) * j.number;
    void *S, *lag = NULL, *work;
    char *host[2] = { malloc(bytes), calloc(1, bytes) };
    assert_true(host[0] && host[1]);
    OK(ks_blocktri_cuda_alloc(j.plan, &S, bytes));
    OK(ks_blocktri_cuda_alloc(j.plan, &lag, bytes));
    OK(ks_blocktri_cuda_alloc(j.plan, &work, ks_blocktri_cuda_inverse_bytes(j.plan)));
    OK(ks_blocktri_cuda_upload(j.plan, lag, host[1], bytes)); /* the place of the last block is not written */
    const ks_cuda_blocks diagonal = { S, block, each }, off = { with_lag ? lag : NULL, block, each };
    OK(ks_blocktri_cuda_factorize(j.plan, j.D, j.L, NULL));
    OK(ks_blocktri_cuda_inverse_blocks(j.plan, diagonal, off, work, NULL));
    wait(&j);
    OK(ks_blocktri_cuda_download(j.plan, host[0], S, bytes));
    if (with_lag) OK(ks_blocktri_cuda_download(j.plan, host[1], lag, bytes));
    for (int s = 0; s < systems && with_lag; ++s)
        judge_inverse(&j, s, host[0] + (size_t)(s * each) * j.number,
                      host[1] + (size_t)(s * each) * j.number);
    void *const taken[] = { S, lag, work };
    for (int i = 0; i < 3; ++i) ks_blocktri_cuda_free(j.plan, taken[i]);
    free(host[0]);
    free(host[1]);
    end(&j);
}

#endif
