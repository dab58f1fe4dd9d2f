/* test_hbisa.c -- block iterations on a device: the solutions and iterations of the host's, the same
 * bits whatever the order of threads, and what is refused. On the emulated device under many seeds,
 * and on the first of the machine. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "hbisa_problem.h"

/* A device whose blocks have so much shared memory, where it is emulated. */
static void use(int seed, size_t shared)
{
    use_seed(seed);
#ifdef EMULATED
    ks_emulated.block_shared = shared;
#else
    (void)shared;
#endif
}

static ks_status on_device(problem *p, ks_general_report *report)
{
    return on_device_as(p, NULL, NULL, report);
}

/* One case under four seeds, and once without room for more in shared memory than it takes. The device ends with
 * the group of sweeps in which the residual has come below the tolerance, the host where it looks: within 32 sweeps. */
static void check(int64_t N, int n, ks_general_method method, ks_general_stop stop)
{
    ks_general_options options = options_of(method);
    options.stop = stop;
    problem p = make(general_system_make(GS_TRIDIAGONAL, N, n, 1, 0.8, (unsigned)(N + n)), &options);
    ks_general_report host, first = KS_GENERAL_REPORT_INIT;
    const int64_t rows = N * n, bytes = rows * (int64_t)sizeof(double);
    double *expected = general_system_memory((size_t)bytes), *bits = general_system_memory((size_t)bytes);
    host.size = sizeof host;
    OK(ks_general_solve(p.plan, p.matrix, p.factor, 1, (ks_const_blocks){ p.system.b, n },
                        (ks_blocks){ expected, n }, p.work, &host));
    for (int seed = 1; seed <= 5; ++seed) {
        ks_general_report report = KS_GENERAL_REPORT_INIT;
        ks_hbisa_shape shape = { .sweeps = 0 };
        use(seed, seed == 5 ? 2 * 1024 : 227 * 1024);
        for (int64_t i = 0; i < rows; ++i) p.system.x[i] = nan("");
        OK(on_device_as(&p, NULL, &shape, &report));
        assert_int_equal(report.end, KS_END_CONVERGED);
        assert_true(general_system_error(&p.system) < 1e-7);
        if (stop == KS_STOP_RESIDUAL) assert_true(report.relative_residual <= options.tolerance);
        else assert_true(report.change <= options.tolerance);
        assert_true(report.iterations <= host.iterations + 1 + shape.sweeps);
        assert_true(report.iterations >= host.iterations - 32);
        assert_int_equal(report.iterations % shape.sweeps, 0);
        if (seed == 1) {
            first = report;
            memcpy(bits, p.system.x, (size_t)bytes);
        }
        if (seed == 5) continue;
        assert_memory_equal(bits, p.system.x, (size_t)bytes);
        assert_int_equal(report.iterations, first.iterations);
        assert_true(report.change == first.change);
    }
    free(expected);
    free(bits);
    release(&p);
}

static void solutions_are_those_of_the_host(void **state)
{
    (void)state;
    const int sizes[][2] = { { 1, 1 }, { 1, 7 }, { 2, 5 }, { 3, 33 }, { 9, 4 }, { 23, 1 }, { 30, 6 } };
    for (size_t z = 0; z < sizeof sizes / sizeof *sizes; ++z)
        for (int m = 0; m < 2; ++m)
            for (int stop = 0; stop < 2; ++stop)
                check(sizes[z][0], sizes[z][1], methods[m], (ks_general_stop)stop);
}

/* More rows in a block than a thread block has threads. */
static void long_blocks(void **state)
{
    (void)state;
    general_system s = general_system_empty(2, 700, 1);
    for (int64_t i = 0; i < 2 * 700; ++i) {
        double *row = s.D + i * 700;
        row[i % 700] = 4;
        if (i % 700 > 0) row[i % 700 - 1] = -1;
        if (i % 700 < 699) row[i % 700 + 1] = -1;
    }
    for (int64_t i = 0; i < 700; ++i) s.L[i * 700 + i] = s.U[i * 700 + i] = -1;
    general_system_truth(&s, 3);
    ks_general_options options = options_of(KS_BLOCK_JACOBI);
    ks_general_report report = KS_GENERAL_REPORT_INIT;
    options.tolerance = 1e-4;
    problem p = make(s, &options);
    use(5, 222 * 1024);
    OK(on_device(&p, &report));
    assert_true(general_system_error(&p.system) < 1e-3);
    release(&p);
}

/* More diagonal blocks than are copied at once. The kernel judges by them: with the small ones of the first rows in place
 * of the last ones, whose rows alone are coupled, it would end too early and be launched again and again. */
static void many_blocks(void **state)
{
    (void)state;
    enum { N = 44000, COUPLED = 43700 };
    const ks_hbisa_shape asked = { .form = KS_HBISA_STREAMED, .grid = 2, .sweeps = 1 };
    const ks_general_options options = options_of(KS_RED_BLACK);
    ks_general_report report = KS_GENERAL_REPORT_INIT;
    general_system s = general_system_empty(N, 1, 1);
    for (int64_t i = 0; i < N; ++i) {
        s.D[i] = i < 400 ? 1e-9 : 8;
        if (i >= COUPLED && i + 1 < N) s.L[i] = -1, s.U[i] = 0.5;
        s.truth[i] = 1 + (double)(i % 7);
    }
    for (int64_t i = 0; i < N; ++i)
        s.b[i] = s.D[i] * s.truth[i] + (i > 0 ? s.L[i - 1] * s.truth[i - 1] : 0) +
                 (i + 1 < N ? s.U[i] * s.truth[i + 1] : 0);
    problem p = make(s, &options);
    use(2, 222 * 1024);
    OK(on_device_as(&p, &asked, NULL, &report));
    assert_true(general_system_error(&p.system) < 1e-7);
    assert_true(report.iterations > 4);
#ifdef EMULATED
    assert_int_equal(ks_emulated.launches, 1);
#endif
    release(&p);
}

static void divergence_and_limits_are_reported(void **state)
{
    (void)state;
    for (int m = 0; m < 2; ++m) {
        ks_general_options options = options_of(methods[m]);
        ks_general_report report = KS_GENERAL_REPORT_INIT;
        problem p = make(general_system_make(GS_TRIDIAGONAL, 6, 4, 1, 1.5, 8), &options);
        use(1, 222 * 1024);
        assert_int_equal(on_device(&p, &report), KS_ENOTCONVERGED);
        assert_int_equal(report.end, KS_END_DIVERGED);
        release(&p);
        options.max_iterations = 3;
        p = make(general_system_make(GS_TRIDIAGONAL, 6, 4, 1, 0.9, 8), &options);
        use(1, 222 * 1024);
        assert_int_equal(on_device(&p, &report), KS_ENOTCONVERGED);
        assert_int_equal(report.end, KS_END_MAX_ITERATIONS);
        assert_int_equal(report.iterations, 3);
        for (int i = 0; i < 24; ++i) p.system.b[i] = 0;
        OK(on_device(&p, &report));
        assert_int_equal(report.iterations, 0);
        for (int i = 0; i < 24; ++i) assert_true(p.system.x[i] == 0);
        release(&p);
    }
}

static void what_it_cannot_do_is_refused(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; ++kind) {
        ks_general_options options = options_of(kind == 1 ? KS_BLOCK_GAUSS_SEIDEL : KS_RED_BLACK);
        ks_general_report report = KS_GENERAL_REPORT_INIT;
        if (kind == 2) options.relaxation = 1.2;
        if (kind == 3) options.block_solver = KS_BLOCK_SOLVER_THOMAS;
        problem p = make(general_system_make(kind == 0 ? GS_DENSE : GS_TRIDIAGONAL, 4, 5, 1, 0.5, 2),
                         &options);
        use(1, 222 * 1024);
        assert_int_equal(on_device(&p, &report), KS_EREFUSED);
        release(&p);
    }
}

/* Where a plan with these options would run. */
static ks_backend backend_of(const general_system *s, const ks_general_options *options)
{
    ks_general_packed *packed = general_system_pack(s, NULL);
    ks_general_plan *plan;
    OK(ks_general_plan_create(&plan, NULL, s->N, s->n, ks_general_packed_matrix(packed), options));
    const ks_backend backend = ks_general_plan_backend(plan);
    ks_general_plan_destroy(plan);
    ks_general_packed_destroy(packed);
    return backend;
}

/* What is asked for, and where it ends. */
typedef struct choice {
    ks_backend asked;
    ks_general_method method;
    int kind;           /* of the system                        */
    double relaxation;
    ks_block_solver solver;
    int device;
    ks_status status;
    ks_backend backend;
} choice;

static void plans_choose_where_they_run(void **state)
{
    (void)state;
    const ks_block_solver any = KS_BLOCK_SOLVER_AUTO, thomas = KS_BLOCK_SOLVER_THOMAS;
    const choice choices[] = {
        { KS_BACKEND_CUDA, KS_GENERAL_AUTO, GS_TRIDIAGONAL, 1, any, 0, KS_OK, KS_BACKEND_CUDA },
        { KS_BACKEND_CUDA, KS_BLOCK_JACOBI, GS_TRIDIAGONAL, 1, any, 0, KS_OK, KS_BACKEND_CUDA },
        { KS_BACKEND_AUTO, KS_RED_BLACK, GS_TRIDIAGONAL, 1, any, 0, KS_OK, KS_BACKEND_CUDA },
        { KS_BACKEND_AUTO, KS_GENERAL_AUTO, GS_TRIDIAGONAL, 1, any, 0, KS_OK, KS_BACKEND_CPU },
        { KS_BACKEND_AUTO, KS_RED_BLACK, GS_DENSE, 1, any, 0, KS_OK, KS_BACKEND_CPU },
        { KS_BACKEND_AUTO, KS_RED_BLACK, GS_TRIDIAGONAL, 1, any, 99, KS_OK, KS_BACKEND_CPU },
        { KS_BACKEND_AUTO, KS_BICGSTAB, GS_TRIDIAGONAL, 1, any, 0, KS_OK, KS_BACKEND_CPU },
        { KS_BACKEND_CUDA, KS_RED_BLACK, GS_TRIDIAGONAL, 1, any, 99, KS_ENODEV, 0 },
        { KS_BACKEND_CUDA, KS_RED_BLACK, GS_DENSE, 1, any, 0, KS_EREFUSED, 0 },
        { KS_BACKEND_CUDA, KS_RED_BLACK, GS_TRIDIAGONAL, 1.1, any, 0, KS_EREFUSED, 0 },
        { KS_BACKEND_CUDA, KS_RED_BLACK, GS_TRIDIAGONAL, 1, thomas, 0, KS_EREFUSED, 0 },
        { KS_BACKEND_CUDA, KS_BICGSTAB, GS_TRIDIAGONAL, 1, any, 0, KS_EREFUSED, 0 },
        { KS_BACKEND_CUDA, KS_RED_BLACK, GS_TRIDIAGONAL, 1, any, -1, KS_EINVAL, 0 },
        { (ks_backend)3, KS_RED_BLACK, GS_TRIDIAGONAL, 1, any, 0, KS_EINVAL, 0 },
    };
    for (size_t i = 0; i < sizeof choices / sizeof *choices; ++i) {
        const choice *c = &choices[i];
        ks_general_options options = KS_GENERAL_OPTIONS_INIT;
        ks_general_report report = KS_GENERAL_REPORT_INIT;
        general_system s = general_system_make((gs_kind)c->kind, 7, 5, 2, 0.5, 3);
        options.backend = c->asked;
        options.method = c->method;
        options.relaxation = c->relaxation;
        options.block_solver = c->solver;
        options.device = c->device;
        use((int)i + 1, 227 * 1024);
        assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), c->status);
        if (c->status == KS_OK) {
            assert_int_equal(backend_of(&s, &options), c->backend);
            assert_true(report.backward_error >= 0 && report.backward_error < 1e-9);
            assert_true(general_system_error(&s) < 1e-7);
        }
        general_system_free(&s);
        check_clean();
    }
}

static void nothing_is_written_without_convergence(void **state)
{
    (void)state;
    ks_general_options options = KS_GENERAL_OPTIONS_INIT;
    ks_general_report report = KS_GENERAL_REPORT_INIT;
    general_system s = general_system_make(GS_TRIDIAGONAL, 6, 4, 1, 1.5, 8);
    options.backend = KS_BACKEND_CUDA;
    use(3, 227 * 1024);
    assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_ENOTCONVERGED);
    assert_int_equal(report.end, KS_END_DIVERGED);
    assert_true(report.spectral_radius > 1);
    assert_true(isnan(s.x[0]));
    general_system_free(&s);
    check_clean();
}

#ifdef EMULATED
static void every_allocation_may_fail(void **state)
{
    (void)state;
    ks_general_options options = options_of(KS_RED_BLACK);
    ks_general_report report = KS_GENERAL_REPORT_INIT;
    problem p = make(general_system_make(GS_TRIDIAGONAL, 4, 5, 1, 0.5, 2), &options);
    ks_status status = KS_ENOMEM;
    int failed = 0;
    for (long at = 1; status != KS_OK; ++at) {
        use(2, 222 * 1024);
        ks_emulated.fail_at = at;
        status = on_device(&p, &report);
        if (status != KS_OK) {
            assert_int_equal(status, KS_ENOMEM);
            ++failed;
        }
    }
    assert_true(failed >= 3);
    release(&p);
}
#endif

int main(int argc, char **argv)
{
    if (no_device()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solutions_are_those_of_the_host),
        cmocka_unit_test(long_blocks),
        cmocka_unit_test(many_blocks),
        cmocka_unit_test(divergence_and_limits_are_reported),
        cmocka_unit_test(what_it_cannot_do_is_refused),
        cmocka_unit_test(plans_choose_where_they_run),
        cmocka_unit_test(nothing_is_written_without_convergence),
#ifdef EMULATED
        cmocka_unit_test(every_allocation_may_fail),
#endif
    };
    only_tests(argc, argv, tests);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
