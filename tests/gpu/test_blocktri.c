/* test_blocktri.c -- block-tridiagonal systems on a device: against dense LAPACK and the solver of the
 * CPU, on the emulated device with many seeds, and on the first device of the machine. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <lapacke.h>

#include "kalscan/blocktri_cuda.h"
#include "blocktri_laws.h"
#include "cuda/cuda_plan.h"
#include "sanitizers.h"

enum { SEEDS = SANITIZED ? 2 : SEEDS_OF(10, 3), EVERY = SANITIZED ? 3 : 1 };

static void run_all(ks_precision precision, int64_t N, int n, int nrhs, int count, unsigned seed)
{
    run_with(options_of(precision, count, 0), N, n, nrhs, seed);
}

static void every_order_of_blocks(void **state)
{
    (void)state;
    static const int lengths[] = { 1, 2, 3, 5, 7, 12, 13 };
    for (int n = 1; n <= 32; n += n < 5 ? 1 : EVERY) {
        use_seed(n);
        run_all(KS_F64, lengths[n % 7], n, n % 5 == 0 ? 5 : 1, 1, (unsigned)n);
        run_all(KS_F32, lengths[(n + 3) % 7], n, n % 7 == 0 ? 6 : 1, 1, (unsigned)n);
    }
}

static void every_length(void **state)
{
    (void)state;
    for (int N = 1; N <= 40; N += N < 17 ? 1 : 6) {
        use_seed(N);
        run_all(KS_F64, N, 1 + N % 4, 1 + N % 3, 1, (unsigned)N);
    }
    use_seed(3);
    run_all(KS_F64, 101, 3, 1, 1, 1); /* longer than the tail */
    run_all(KS_F64, 37, 8, 2, 1, 2);
    run_all(KS_F32, 39, 6, 1, 1, 2);
    run_all(KS_F64, 21, 16, 1, 1, 3);
    run_all(KS_F32, 19, 13, 3, 1, 4);
    run_all(KS_F64, 11, 32, 1, 1, 5);
}

static void many_systems_at_once(void **state)
{
    (void)state;
    for (int seed = 0; seed < SEEDS; ++seed) {
        use_seed(seed);
        run_all(KS_F64, 1 + seed, 3, 1, 5, (unsigned)seed);
        run_all(KS_F64, 20 - seed, 7, 5, 2, (unsigned)seed);
        run_all(KS_F32, 9, 9 + seed, 1 + seed % 2, 2, (unsigned)seed);
    }
}

/* The same bits under every order of threads and blocks, and whenever it is run. */
static void same_bits_each_time(void **state)
{
    (void)state;
    static const struct { int N, n, nrhs; } sizes[] = { { 37, 4, 1 }, { 19, 8, 5 }, { 9, 15, 1 },
                                                        { 5, 32, 1 }, { 1, 2, 1 } };
    for (int i = 0; i < 5; ++i) {
        void *first = NULL;
        double logdet, first_logdet = 0;
        for (int seed = 0; seed < SEEDS; ++seed) {
            use_seed(seed);
            job j = begin(KS_F64, sizes[i].N, sizes[i].n, sizes[i].nrhs, 1, 7);
            const size_t bytes = (size_t)j.columns * j.number;
            for (int repeat = 0; repeat < 2; ++repeat)
                OK(ks_blocktri_cuda_factor_solve(j.plan, j.D, j.L, sizes[i].nrhs, j.b, j.x, NULL));
            wait(&j);
            OK(ks_blocktri_cuda_logdet(j.plan, &logdet, NULL));
            fetch(&j, j.x.data);
            if (!first) {
                first = malloc(bytes);
                assert_non_null(first);
                memcpy(first, j.system[0].x, bytes);
                first_logdet = logdet;
            }
            assert_memory_equal(first, j.system[0].x, bytes);
            assert_true(logdet == first_logdet);
            end(&j);
        }
        free(first);
    }
}

static void dense_lapack(void **state)
{
    (void)state;
    enum { N = 9, N_RHS = 3 };
    for (int seed = 0; seed < SEEDS; ++seed) {
        const int n = 1 + seed * 2;
        use_seed(seed);
        job j = begin(KS_F64, N, n, N_RHS, 1, (unsigned)seed);
        const bt_system *s = &j.system[0];
        const int rows = N * n;
        double *A = bt_dense(s), *x = malloc((size_t)rows * N_RHS * sizeof *x);
        double expected = 0, logdet, largest = 0;
        assert_non_null(x);
        for (int i = 0; i < rows * N_RHS; ++i)
            x[i] = bt_get(s, s->b, i / (n * N_RHS) * s->rhs_stride + i % (n * N_RHS));
        assert_int_equal(LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', rows, N_RHS, A, rows, x, N_RHS), 0);
        for (int i = 0; i < rows; ++i) expected += 2 * log(A[i * rows + i]);
        for (int i = 0; i < rows * N_RHS; ++i) largest = fmax(largest, fabs(x[i]));
        OK(ks_blocktri_cuda_factor_solve(j.plan, j.D, j.L, N_RHS, j.b, j.x, NULL));
        OK(ks_blocktri_cuda_logdet(j.plan, &logdet, NULL));
        wait(&j);
        fetch(&j, j.x.data);
        assert_true(fabs(logdet - expected) <= 1e-13 * rows);
        for (int i = 0; i < rows * N_RHS; ++i)
            assert_true(fabs(bt_get(s, s->x, i / (n * N_RHS) * s->rhs_stride + i % (n * N_RHS)) -
                             x[i]) <= 1e-12 * largest);
        free(A);
        free(x);
        end(&j);
    }
}

/* A time-invariant matrix without copies: one block for all, and for all systems. */
static void strides_of_zero(void **state)
{
    (void)state;
    use_seed(4);
    job j = begin(KS_F64, 21, 5, 1, 2, 3);
    const ks_cuda_const_blocks D = { j.D.data, 0, 0 }, L = { j.L.data, 0, 0 };
    double logdet[2];
    for (int s = 0; s < 2; ++s)
        for (int64_t k = 0; k < 21; ++k) {
            const bt_system *to = &j.system[s], *from = &j.system[0];
            memmove((double *)to->D + k * to->stride, from->D, 25 * sizeof(double));
            memmove((double *)to->L + k * to->stride, from->L, 25 * sizeof(double));
        }
    OK(ks_blocktri_cuda_factor_solve(j.plan, D, L, 1, j.b, j.x, NULL));
    wait(&j);
    OK(ks_blocktri_cuda_logdet(j.plan, logdet, NULL));
    assert_true(logdet[0] == logdet[1]);
    fetch(&j, j.x.data);
    judge(&j, logdet);
    end(&j);
}

/* The log-determinant of each of so many systems that no launch has thread blocks for all of them at once. */
static void logdets_of_many_systems(void **state)
{
    (void)state;
    enum { SYSTEMS = 75, N = 3, BLOCKS = SYSTEMS * N };
    ks_blocktri_cuda_options options = KS_BLOCKTRI_CUDA_OPTIONS_INIT;
    ks_blocktri_cuda_plan *plan;
    double D[BLOCKS], L[BLOCKS] = { 0 }, expected[SYSTEMS] = { 0 }, logdet[SYSTEMS];
    void *device_D, *device_L;
    use_seed(3);
    options.systems = SYSTEMS;
    for (int i = 0; i < BLOCKS; ++i) {
        D[i] = 1 + i;
        expected[i / N] += log(D[i]);
    }
    OK(ks_blocktri_cuda_plan_create(&plan, NULL, N, 1, &options));
    OK(ks_blocktri_cuda_alloc(plan, &device_D, sizeof D));
    OK(ks_blocktri_cuda_alloc(plan, &device_L, sizeof L));
    OK(ks_blocktri_cuda_upload(plan, device_D, D, sizeof D));
    OK(ks_blocktri_cuda_upload(plan, device_L, L, sizeof L));
    const ks_cuda_const_blocks of_D = { device_D, 1, N }, of_L = { device_L, 1, N };
    OK(ks_blocktri_cuda_factorize(plan, of_D, of_L, NULL));
    OK(ks_blocktri_cuda_wait(plan, NULL, NULL));
    OK(ks_blocktri_cuda_logdet(plan, logdet, NULL));
    for (int s = 0; s < SYSTEMS; ++s) assert_true(fabs(logdet[s] - expected[s]) < 1e-13);
    ks_blocktri_cuda_free(plan, device_D);
    ks_blocktri_cuda_free(plan, device_L);
    ks_blocktri_cuda_plan_destroy(plan);
    check_clean();
}

/* A graph that was made for other arrays is not used again. */
static void other_arrays_next_time(void **state)
{
    (void)state;
    use_seed(5);
    job j = begin(KS_F64, 9, 5, 1, 1, 2);
    const size_t bytes = (size_t)j.columns * j.number;
    ks_cuda_blocks other = j.x;
    double logdet;
    OK(ks_blocktri_cuda_alloc(j.plan, &other.data, bytes));
    OK(ks_blocktri_cuda_upload(j.plan, other.data, j.system[0].x, bytes));
    OK(ks_blocktri_cuda_factorize(j.plan, j.D, j.L, NULL));
    OK(ks_blocktri_cuda_solve(j.plan, 1, j.b, j.x, NULL));
    OK(ks_blocktri_cuda_solve(j.plan, 1, j.b, other, NULL));
    wait(&j);
    OK(ks_blocktri_cuda_logdet(j.plan, &logdet, NULL));
    fetch(&j, other.data);
    judge(&j, &logdet);
    ks_blocktri_cuda_free(j.plan, other.data);
    end(&j);
}

/* Two places for the solution in turns keep their graphs, and a third one takes the place of that not used for longest. */
static void arrays_in_turns(void **state)
{
    (void)state;
    static const int turns[] = { 0, 1, 0, 1, 2, 0, 2, 1 };
    use_seed(6);
    job j = begin(KS_F64, 9, 5, 1, 1, 2);
    const size_t bytes = (size_t)j.columns * j.number;
    const ks_bt_recorded *const kept = j.plan->recorded[KS_BT_SOLVE];
    const ks_gpu_graph *graph[3] = { NULL, NULL, NULL };
    ks_cuda_blocks places[3] = { j.x, j.x, j.x };
    double logdet;
    for (int i = 1; i < 3; ++i) OK(ks_blocktri_cuda_alloc(j.plan, &places[i].data, bytes));
    OK(ks_blocktri_cuda_factorize(j.plan, j.D, j.L, NULL));
    OK(ks_blocktri_cuda_logdet(j.plan, &logdet, NULL));
    for (size_t t = 0; t < sizeof turns / sizeof *turns; ++t) {
        const int i = turns[t];
        const int is_kept = graph[i] && (graph[i] == kept[0].graph || graph[i] == kept[1].graph);
        OK(ks_blocktri_cuda_upload(j.plan, places[i].data, j.system[0].b, bytes));
        OK(ks_blocktri_cuda_solve(j.plan, 1, j.b, places[i], NULL));
        wait(&j);
        fetch(&j, places[i].data);
        judge(&j, &logdet);
        assert_true(kept[0].graph && kept[0].call.x.data == places[i].data);
        if (is_kept) assert_ptr_equal(kept[0].graph, graph[i]);
        assert_int_equal(is_kept, (t >= 2 && t <= 3) || t == 6);
        graph[i] = kept[0].graph;
        /* What has been dropped may have had the address of what comes. */
        for (int other = 0; other < 3; ++other)
            if (other != i && !(kept[1].graph && kept[1].call.x.data == places[other].data)) graph[other] = NULL;
    }
    for (int i = 1; i < 3; ++i) ks_blocktri_cuda_free(j.plan, places[i].data);
    end(&j);
}

static void spoil(job *j, int system, int64_t k, int pivot, double value)
{
    bt_system *s = &j->system[system];
    bt_put(s, s->D, k * s->stride + pivot * (s->n + 1), value);
    OK(ks_blocktri_cuda_upload(j->plan,
                               (char *)(uintptr_t)j->D.data +
                                   (size_t)(system * j->blocks) * j->number,
                               s->D, (size_t)j->blocks * j->number));
}

static void expect_failure(job *j, int system, int64_t block, int pivot)
{
    ks_blocktri_cuda_info info = KS_BLOCKTRI_CUDA_INFO_INIT;
    OK(ks_blocktri_cuda_factor_solve(j->plan, j->D, j->L, 1, j->b, j->x, NULL));
    assert_int_equal(ks_blocktri_cuda_wait(j->plan, &info, NULL), KS_ENOTPD);
    assert_int_equal(info.status, KS_ENOTPD);
    assert_int_equal(info.system, system);
    assert_int_equal(info.block, block);
    assert_int_equal(info.pivot, pivot);
}

/* Blocks 0, 2, 4, ... are eliminated first, then 1, 5, 9, ...: of those at once the lowest counts. */
static void failures_are_named(void **state)
{
    (void)state;
    for (int seed = 0; seed < SEEDS; ++seed) {
        use_seed(seed);
        for (int n = 3 + seed % 2; n <= 17; n += 13) {
            const double nan = (double)NAN, inf = (double)INFINITY;
            job j = begin(KS_F64, 15, n, 1, 3, 1);
            spoil(&j, 2, 7, 1, -1), expect_failure(&j, 2, 7, 1);
            spoil(&j, 2, 9, 2, -1), expect_failure(&j, 2, 9, 2);
            spoil(&j, 2, 5, 0, nan), expect_failure(&j, 2, 5, 0);
            spoil(&j, 2, 6, n - 2, inf), expect_failure(&j, 2, 6, n - 2);
            spoil(&j, 2, 14, n - 1, 0), expect_failure(&j, 2, 6, n - 2);
            spoil(&j, 1, 3, 0, -2), expect_failure(&j, 1, 3, 0);
            spoil(&j, 0, 8, 1, -1), expect_failure(&j, 0, 8, 1);
            for (int s = 0; s < 3; ++s) { /* and nothing is left of it */
                bt_system_free(&j.system[s]);
                j.system[s] = bt_system_make(KS_F64, 15, n, 1, 2, 1 + 100 * (unsigned)s);
                spoil(&j, s, 0, 0, bt_get(&j.system[s], j.system[s].D, 0));
            }
            OK(ks_blocktri_cuda_factorize(j.plan, j.D, j.L, NULL));
            wait(&j);
            end(&j);
        }
    }
}

static void arguments(void **state)
{
    (void)state;
    use_seed(1);
    ks_blocktri_cuda_options o = KS_BLOCKTRI_CUDA_OPTIONS_INIT;
    const ks_blocktri_cuda_options good = o;
    ks_blocktri_cuda_plan *plan = (ks_blocktri_cuda_plan *)&plan;
#define REFUSED(N, n, wanted)                                                              \
    assert_int_equal(ks_blocktri_cuda_plan_create(&plan, NULL, N, n, &o), wanted), assert_null(plan), \
        o = good
#define INVALID(N, n, name)                                                                \
    assert_string_equal(ks_blocktri_cuda_plan_invalid(N, n, &o), name);                    \
    REFUSED(N, n, KS_EINVAL)
    INVALID(0, 4, "N");
    INVALID(4, 0, "n");
    REFUSED(4, 32769, KS_ENOMEM);
    REFUSED(INT64_MAX, 1, KS_ENOMEM);
    REFUSED(INT64_C(1) << 40, 1, KS_ENOMEM);
    o.size = 1;
    INVALID(4, 4, "size");
    o.systems = 0;
    INVALID(4, 4, "systems");
    o.device = -1;
    INVALID(4, 4, "device");
    o.device = 1000, REFUSED(4, 4, KS_ENODEV);
    o.precision = (ks_precision)9;
    INVALID(4, 4, "precision");
    assert_int_equal(ks_blocktri_cuda_plan_create(NULL, NULL, 4, 4, NULL), KS_EINVAL);
    assert_true(ks_blocktri_cuda_bytes(10, 5, NULL) >= (size_t)10 * 3 * 64 * 8);
    assert_true(ks_blocktri_cuda_bytes(10, 33, NULL) >= (size_t)10 * 3 * 48 * 48 * 8);
    assert_true(ks_blocktri_cuda_bytes(10, 32769, NULL) == SIZE_MAX);
    o.inverse = 2;
    INVALID(4, 4, "inverse");
    ks_blocktri_cuda_plan_destroy(NULL);

    job j = begin(KS_F64, 4, 3, 1, 2, 1);
    const ks_cuda_const_blocks none = { NULL, 9, 36 }, near = { j.D.data, 8, 36 },
                               odd = { (const char *)j.D.data + 4, 9, 36 };
    const ks_cuda_blocks odd_x = { (char *)j.x.data + 4, 3, 12 };
    const ks_cuda_blocks narrow = { j.x.data, 2, 12 }, mixed = { j.x.data, 3, 11 },
                         other = { (void *)(uintptr_t)j.b.data, j.b.stride + 1, 24 };
    double logdet[2];
    assert_int_equal(ks_blocktri_cuda_solve(j.plan, 1, j.b, j.x, NULL), KS_EINVAL);
    assert_int_equal(ks_blocktri_cuda_logdet(j.plan, logdet, NULL), KS_EINVAL);
    OK(ks_blocktri_cuda_wait(j.plan, NULL, NULL));
    assert_int_equal(ks_blocktri_cuda_factorize(j.plan, none, j.L, NULL), KS_EINVAL);
    assert_int_equal(ks_blocktri_cuda_factorize(j.plan, j.D, none, NULL), KS_EINVAL);
    assert_int_equal(ks_blocktri_cuda_factorize(j.plan, near, j.L, NULL), KS_EINVAL);
    assert_int_equal(ks_blocktri_cuda_factorize(j.plan, odd, j.L, NULL), KS_EINVAL);
    assert_int_equal(ks_blocktri_cuda_factorize(NULL, j.D, j.L, NULL), KS_EINVAL);
    OK(ks_blocktri_cuda_factorize(j.plan, j.D, j.L, NULL));
    assert_int_equal(ks_blocktri_cuda_solve(j.plan, 0, j.b, j.x, NULL), KS_EINVAL);
    assert_int_equal(ks_blocktri_cuda_solve(j.plan, 1, none, j.x, NULL), KS_EINVAL);
    assert_int_equal(ks_blocktri_cuda_solve(j.plan, 1, j.b, narrow, NULL), KS_EINVAL);
    assert_int_equal(ks_blocktri_cuda_solve(j.plan, 1, j.b, odd_x, NULL), KS_EINVAL);
    assert_int_equal(ks_blocktri_cuda_solve(j.plan, 1, j.b, mixed, NULL), KS_EINVAL);
    assert_int_equal(ks_blocktri_cuda_solve(j.plan, 1, j.b, other, NULL), KS_EINVAL);
    assert_int_equal(ks_blocktri_cuda_logdet(j.plan, NULL, NULL), KS_EINVAL);
    ks_blocktri_cuda_info info = { 1, KS_OK, 0, 0, 0 };
    assert_int_equal(ks_blocktri_cuda_wait(j.plan, &info, NULL), KS_EINVAL);
    wait(&j);
    end(&j);
}

/* That of a single block is not looked at. */
static void strides_of_one_block(void **state)
{
    (void)state;
    for (int n = 3; n <= 40; n += 37)
        for (int64_t stride = -1; stride <= 1; ++stride) {
            use_seed(1);
            job j = begin(KS_F64, 1, n, 1, 2, 1);
            double logdet[2];
            j.D.stride = j.L.stride = j.b.stride = j.x.stride = stride;
            OK(ks_blocktri_cuda_factorize(j.plan, j.D, j.L, NULL));
            OK(ks_blocktri_cuda_solve(j.plan, 1, j.b, j.x, NULL));
            wait(&j);
            OK(ks_blocktri_cuda_logdet(j.plan, logdet, NULL));
            fetch(&j, j.x.data);
            judge(&j, logdet);
            end(&j);
        }
}

#ifdef EMULATED
/* Each allocation on the device fails once: memory, streams, graphs. */
static void allocations_fail(void **state)
{
    (void)state;
    for (long fail_at = 1;; ++fail_at) {
        ks_blocktri_cuda_plan *plan;
        void *memory[4] = { NULL };
        use_seed(2);
        ks_emulated.fail_at = fail_at;
        ks_status status = ks_blocktri_cuda_plan_create(&plan, NULL, 6, 2, NULL);
        assert_true(status == KS_OK ? plan != NULL : plan == NULL);
        for (int i = 0; i < 4 && !status; ++i)
            status = ks_blocktri_cuda_alloc(plan, &memory[i], 24 * sizeof(double));
        double ones[24];
        for (int i = 0; i < 24; ++i) ones[i] = i % 4 % 3 == 0;
        for (int i = 0; i < 3 && !status; ++i)
            status = ks_blocktri_cuda_upload(plan, memory[i], ones, sizeof ones);
        const ks_cuda_const_blocks D = { memory[0], 4, 0 }, L = { memory[1], 0, 0 },
                                   b = { memory[2], 2, 0 };
        const ks_cuda_blocks x = { memory[3], 2, 0 };
        if (!status) status = ks_blocktri_cuda_factorize(plan, D, D, NULL);
        if (!status) status = ks_blocktri_cuda_solve(plan, 1, b, x, NULL);
        if (!status) status = ks_blocktri_cuda_factor_solve(plan, D, L, 2, b, x, NULL);
        if (plan)
            for (int i = 0; i < 4; ++i) ks_blocktri_cuda_free(plan, memory[i]);
        ks_blocktri_cuda_plan_destroy(plan);
        check_clean();
        if (ks_emulated.calls < fail_at) {
            assert_true(fail_at > 10);
            break;
        }
        assert_int_equal(status, KS_ENOMEM);
    }
}
#endif

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_of_blocks), cmocka_unit_test(every_length),
        cmocka_unit_test(logdets_of_many_systems),
        cmocka_unit_test(many_systems_at_once),  cmocka_unit_test(same_bits_each_time),
        cmocka_unit_test(dense_lapack),          cmocka_unit_test(strides_of_zero),
        cmocka_unit_test(failures_are_named),    cmocka_unit_test(arguments),
        cmocka_unit_test(other_arrays_next_time), cmocka_unit_test(arrays_in_turns),
        cmocka_unit_test(strides_of_one_block),
#ifdef EMULATED
        cmocka_unit_test(allocations_fail),
#endif
    };
    only_tests(argc, argv, tests);
    if (no_device()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
