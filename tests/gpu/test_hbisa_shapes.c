/* test_hbisa_shapes.c -- the shapes in which block iterations are launched: whatever the form, the number of
 * thread blocks and the sweeps between two barriers, the iterates are the same numbers, those of the host's sweeps;
 * groups of sweeps end where they should; and the model chooses what fits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "hbisa_problem.h"
#include "sanitizers.h"

enum { FULL = 227 * 1024 };

/* Every form, with so many thread blocks and sweeps of a group. */
static const ks_hbisa_shape shapes[] = {
    { .form = KS_HBISA_STREAMED, .grid = 1, .sweeps = 1 }, { .form = KS_HBISA_STREAMED, .grid = 4, .sweeps = 1 },
    { .form = KS_HBISA_RESIDENT, .grid = 1, .sweeps = 3 }, { .form = KS_HBISA_RESIDENT, .grid = 2, .sweeps = 1 },
    { .form = KS_HBISA_RESIDENT, .grid = 3, .sweeps = 2 }, { .form = KS_HBISA_RESIDENT, .grid = 4, .sweeps = 5 },
    { .form = KS_HBISA_LANES, .grid = 1, .sweeps = 4 },    { .form = KS_HBISA_LANES, .grid = 2, .sweeps = 1 },
    { .form = KS_HBISA_LANES, .grid = 4, .sweeps = 2 },    { .form = KS_HBISA_LANES, .grid = 3, .sweeps = 3 },
    { .form = KS_HBISA_LANES, .grid = 4, .sweeps = 6 },    { .form = KS_HBISA_ROWS, .grid = 1, .sweeps = 2 },
    { .form = KS_HBISA_ROWS, .grid = 2, .sweeps = 1 },     { .form = KS_HBISA_ROWS, .grid = 4, .sweeps = 3 },
    { .form = KS_HBISA_ROWS, .grid = 3, .sweeps = 5 },
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* From one number of sweeps to the next that is tried: every run waits for a device, which takes longer than to sweep. */
#ifdef EMULATED
enum { SWEEPS_APART = SANITIZED ? 6 : 3 };
#else
enum { SWEEPS_APART = 6 };
#endif

static void use(int seed)
{
    use_seed(seed);
#ifdef EMULATED
    ks_emulated.block_shared = FULL;
#endif
}

/* A device as the emulated one, with so many multiprocessors. */
static ks_gpu_attributes device_of(int multiprocessors)
{
    ks_gpu_attributes device = { .multiprocessors = multiprocessors };
    device.block_threads = 1024;
    device.threads = 2048;
    device.block_shared = FULL;
    return device;
}

/* Tridiagonal diagonal blocks and full ones beside them: more entries in a row than registers hold. */
static general_system full_couplings(int64_t N, int n)
{
    general_system s = general_system_empty(N, n, 1);
    for (int64_t j = 0; j < N; ++j)
        for (int r = 0; r < n; ++r)
            for (int c = 0; c < n; ++c) {
                const int64_t at = (j * n + r) * n + c;
                if (abs(r - c) <= 1) s.D[at] = r == c ? 4 : -1;
                if (j + 1 < N) s.L[at] = 0.5 / n * cos((double)at);
                if (j + 1 < N) s.U[at] = 0.5 / n * sin((double)(2 * at));
            }
    general_system_truth(&s, 5);
    return s;
}

/* So many sweeps of the host's kernels from zero, into x. */
static void sweep_on_host(const problem *p, int64_t sweeps, double *x)
{
    const int64_t N = p->system.N, rows = N * p->system.n;
    const void *kind = (const double *)p->factor + p->plan->numbers;
    const ks_gb_system system = { N, p->system.n, p->matrix->D, p->matrix->L, p->matrix->U, p->factor,
                                  p->plan->offset, kind };
    double *other = general_system_memory((size_t)rows * sizeof *other);
    double *scratch = general_system_memory(5 * (size_t)p->system.n * sizeof *scratch);
    memset(x, 0, (size_t)rows * sizeof *x);
    for (int64_t i = 0; i < sweeps; ++i) {
        if (p->plan->options.method == KS_RED_BLACK) {
            for (int colour = 0; colour < 2; ++colour) {
                const ks_gb_sweep one = { &system, p->system.b, x, x, 1, 2 };
                p->plan->kernels->sweep(&one, colour, N, scratch);
            }
        } else {
            const ks_gb_sweep one = { &system, p->system.b, x, other, 1, 1 };
            p->plan->kernels->sweep(&one, 0, N, scratch);
            memcpy(x, other, (size_t)rows * sizeof *x);
        }
    }
    free(other);
    free(scratch);
}

/* Sizes for which a form is none. */
static int is_for(const ks_hbisa_shape *shape, const general_system *s)
{
    if (shape->grid > s->N) return 0;
    if (shape->form == KS_HBISA_LANES) return s->n <= 32;
    if (shape->form == KS_HBISA_ROWS) return s->n <= 64;
    return 1;
}

/* After so many sweeps x is what streamed ones without groups leave, number by number, and the host's but for
 * round-off: with radius 0.8 errors of a sweep add up to at most five times that, and one is a few units in the last
 * place for each level of the reduction. */
static void check_iterates(general_system system, ks_general_method method, int64_t sweeps)
{
    ks_general_options options = options_of(method);
    options.max_iterations = sweeps;
    options.tolerance = 1e-300;
    problem p = make(system, &options);
    const int64_t rows = system.N * system.n;
    const size_t bytes = (size_t)rows * sizeof(double);
    double *host = general_system_memory(bytes), *first = general_system_memory(bytes), largest = 0, change = 0;
    sweep_on_host(&p, sweeps, host);
    for (int64_t i = 0; i < rows; ++i) largest = fmax(largest, fabs(host[i]));
    for (int s = 0; s < SHAPES; ++s) {
        ks_general_report report = KS_GENERAL_REPORT_INIT;
        ks_hbisa_shape taken = { .sweeps = 0 };
        if (!is_for(&shapes[s], &system)) continue;
        use(s + (int)sweeps);
        assert_int_equal(on_device_as(&p, &shapes[s], &taken, &report), KS_ENOTCONVERGED);
        assert_int_equal(report.end, KS_END_MAX_ITERATIONS);
        assert_int_equal(report.iterations, sweeps);
        assert_int_equal(taken.form, shapes[s].form);
        assert_int_equal(taken.grid, shapes[s].grid);
        assert_int_equal(taken.sweeps, shapes[s].sweeps);
        if (s == 0) memcpy(first, p.system.x, bytes), change = report.change;
        for (int64_t i = 0; i < rows; ++i) {
            if (p.system.x[i] != first[i])
                fail_msg("form %d, grid %d, groups of %d: row %lld of %lld by %d after %lld sweeps is %.17g, not %.17g",
                         (int)taken.form, taken.grid, taken.sweeps, (long long)i, (long long)system.N, system.n,
                         (long long)sweeps, p.system.x[i], first[i]);
            assert_true(fabs(p.system.x[i] - host[i]) <= 1e-14 * largest);
        }
        /* A change is a difference of two such numbers, whose product may be fused with it. */
        assert_true(fabs(report.change - change) <= 4e-16 * largest);
    }
    free(host);
    free(first);
    release(&p);
}

static void iterates_do_not_depend_on_the_shape(void **state)
{
    (void)state;
    static const struct { int N, n; } sizes[] = { { 1, 3 }, { 2, 1 }, { 5, 4 }, { 17, 2 }, { 13, 5 }, { 9, 16 },
                                                  { 6, 32 }, { 7, 33 }, { 4, 64 } };
    for (size_t z = 0; z < sizeof sizes / sizeof *sizes; ++z)
        for (int m = 0; m < 2; ++m)
            for (int sweeps = 1; sweeps <= 13; sweeps += SWEEPS_APART)
                check_iterates(general_system_make(GS_TRIDIAGONAL, sizes[z].N, sizes[z].n, 1, 0.8, (unsigned)z),
                               methods[m], sweeps);
}

static void rows_may_have_any_number_of_entries(void **state)
{
    (void)state;
    for (int m = 0; m < 2; ++m) {
        check_iterates(full_couplings(11, 6), methods[m], 7);
        check_iterates(full_couplings(5, 35), methods[m], 4);
    }
}

/* Whether it converges within so many sweeps. */
static int within(problem *p, const ks_hbisa_shape *shape, int64_t sweeps, ks_general_report *report)
{
    const ks_general_report none = KS_GENERAL_REPORT_INIT;
    *report = none;
    p->plan->options.max_iterations = sweeps;
    use((int)sweeps);
    const ks_status status = on_device_as(p, shape, NULL, report);
    assert_true(status == KS_OK || status == KS_ENOTCONVERGED);
    assert_true(report->iterations <= sweeps);
    return status == KS_OK;
}

/* It ends with the first group that is found to have converged: at the end of the one before, the change of its last
 * sweep was too large, or the residual before that. */
static void groups_end_when_they_have_converged(void **state)
{
    (void)state;
    for (int m = 0; m < 2; ++m)
        for (int stop = 0; stop < 2; ++stop) {
            ks_general_options options = options_of(methods[m]);
            options.stop = (ks_general_stop)stop;
            options.tolerance = 1e-6;
            problem p = make(general_system_make(GS_TRIDIAGONAL, 11, 4, 1, 0.8, 3), &options);
            for (int s = 0; s < SHAPES; ++s) {
                ks_general_report report, before;
                const int64_t group = shapes[s].sweeps;
                assert_true(within(&p, &shapes[s], 1000, &report));
                assert_int_equal(report.end, KS_END_CONVERGED);
                assert_int_equal(report.iterations % group, 0);
                assert_true(stop ? report.change <= options.tolerance : report.relative_residual <= options.tolerance);
                const int64_t left = report.iterations - group - (stop ? 0 : 1);
                assert_true(left > 0 && !within(&p, &shapes[s], left, &before));
                assert_int_equal(before.iterations, left);
                assert_int_equal(before.end, KS_END_MAX_ITERATIONS);
            }
            release(&p);
        }
}

/* Numbers that overflow within a group end it as diverged. */
static void overflow_is_divergence(void **state)
{
    (void)state;
    for (int m = 0; m < 2; ++m) {
        const ks_general_options options = options_of(methods[m]);
        problem p = make(general_system_make(GS_TRIDIAGONAL, 8, 4, 1, 1e100, 4), &options);
        for (int s = 0; s < SHAPES; ++s) {
            ks_general_report report = KS_GENERAL_REPORT_INIT;
            use(s);
            assert_int_equal(on_device_as(&p, &shapes[s], NULL, &report), KS_ENOTCONVERGED);
            assert_int_equal(report.end, KS_END_DIVERGED);
            assert_true(report.iterations <= 8 + 2 * shapes[s].sweeps);
        }
        release(&p);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    const ks_general_options options = options_of(KS_BLOCK_JACOBI);
    const ks_hbisa_shape bad[] = {
        { .form = KS_HBISA_LANES, .grid = 0, .sweeps = 1 },    { .form = KS_HBISA_LANES, .grid = 4, .sweeps = 1 },
        { .form = KS_HBISA_RESIDENT, .grid = 1, .sweeps = 0 }, { .form = KS_HBISA_RESIDENT, .grid = 1, .sweeps = 65 },
        { .form = KS_HBISA_STREAMED, .grid = 1, .sweeps = 2 }, { .form = KS_HBISA_LANES, .grid = 1, .sweeps = 1 },
    };
    problem p = make(general_system_make(GS_TRIDIAGONAL, 3, 33, 1, 0.8, 4), &options);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        ks_general_report report = KS_GENERAL_REPORT_INIT;
        use((int)i);
        assert_int_equal(on_device_as(&p, &bad[i], NULL, &report), KS_EREFUSED);
    }
    release(&p);
}

/* Rows with two entries each, as many as are asked for. */
static int32_t *starts_of(int64_t rows)
{
    int32_t *start = general_system_memory(((size_t)rows + 1) * sizeof *start);
    for (int64_t i = 0; i <= rows; ++i) start[i] = (int32_t)(2 * i);
    return start;
}

/* What is chosen fits, and every shape that fits is expected to take as long at least, as a whole solution. */
static void the_model_chooses_what_fits(void **state)
{
    (void)state;
    static const struct { int64_t N; int n; ks_hbisa_form form; } sizes[] = {
        { 2000, 16, KS_HBISA_LANES },     { 9, 4, KS_HBISA_LANES },         { 1000, 32, KS_HBISA_LANES },
        { 20000, 16, KS_HBISA_STREAMED }, { 11000, 16, KS_HBISA_RESIDENT }, { 500, 129, KS_HBISA_RESIDENT },
        { 500, 64, KS_HBISA_ROWS },
    };
    const ks_gpu_attributes device = device_of(132);
    for (size_t z = 0; z < sizeof sizes / sizeof *sizes; ++z)
        for (int colours = 1; colours <= 2; ++colours) {
            int32_t *start = starts_of(sizes[z].N * sizes[z].n);
            ks_hbisa_problem p = { sizes[z].N, sizes[z].n, 0, colours, start, 2 };
            ks_hbisa_shape best, other;
            while (1 << p.levels < p.n) ++p.levels;
            assert_true(ks_hbisa_choose(&best, &p, &device));
            assert_int_equal(best.form, sizes[z].form);
            other = best;
            assert_true(ks_hbisa_complete(&other, &p, &device));
            assert_memory_equal(&other, &best, sizeof best);
            assert_true(best.shared <= FULL && best.threads % 32 == 0);
            for (int form = 0; form < KS_HBISA_FORMS; ++form)
                for (int grid = 1; grid <= 132; grid += 11) {
                    ks_hbisa_shape s = { .form = (ks_hbisa_form)form, .grid = grid, .sweeps = 1 };
                    if (ks_hbisa_complete(&s, &p, &device))
                        assert_true(s.cycles * 100.5 >= best.cycles * (100 + 0.5 * best.sweeps));
                }
            free(start);
        }
}

/* Where the barrier is most of a sweep there are groups; with one thread block there is none. */
static void groups_are_for_the_barrier(void **state)
{
    (void)state;
    const ks_gpu_attributes device = device_of(132);
    int32_t *start = starts_of(2000 * 16);
    const ks_hbisa_problem large = { 2000, 16, 4, 1, start, 2 }, small = { 20, 16, 4, 1, start, 2 };
    ks_hbisa_shape chosen, one = { .form = KS_HBISA_LANES, .grid = 132, .sweeps = 1 };
    assert_true(ks_hbisa_choose(&chosen, &large, &device) && ks_hbisa_complete(&one, &large, &device));
    assert_true(chosen.grid > 100 && chosen.sweeps >= 8);
    assert_true(chosen.cycles < 0.4 * one.cycles);
    assert_true(ks_hbisa_choose(&chosen, &small, &device));
    assert_int_equal(chosen.grid, 1);
    free(start);
}

#ifdef EMULATED
/* A barrier of the grid that does less than it should is noticed: some order of the threads shows other numbers. */
static void barriers_are_needed(void **state)
{
    (void)state;
    ks_general_options options = options_of(KS_BLOCK_JACOBI);
    options.max_iterations = 9;
    options.tolerance = 1e-300;
    problem p = make(general_system_make(GS_TRIDIAGONAL, 13, 4, 1, 0.8, 6), &options);
    const size_t bytes = 13 * 4 * sizeof(double);
    double *right = general_system_memory(bytes);
    for (int s = 0; s < SHAPES; ++s) {
        if (shapes[s].grid == 1) continue;
        for (int barrier = 0; barrier < KS_BARRIERS; ++barrier) {
            int wrong = 0;
            for (int seed = 0; seed < 8; ++seed) {
                ks_general_report report = KS_GENERAL_REPORT_INIT;
                use(seed);
                ks_emulated.grid_barrier = (ks_emulated_barrier)barrier;
                const ks_status status = run_on_device(&p, &shapes[s], NULL, &report);
                if (barrier == KS_BARRIER_RIGHT && seed == 0) memcpy(right, p.system.x, bytes);
                wrong += status != KS_ENOTCONVERGED || memcmp(right, p.system.x, bytes) != 0;
            }
            assert_true(barrier == KS_BARRIER_RIGHT ? wrong == 0 : wrong > 0);
        }
    }
    free(right);
    release(&p);
}
#endif

int main(int argc, char **argv)
{
    if (no_device()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iterates_do_not_depend_on_the_shape),
        cmocka_unit_test(rows_may_have_any_number_of_entries),
        cmocka_unit_test(groups_end_when_they_have_converged),
        cmocka_unit_test(overflow_is_divergence),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(the_model_chooses_what_fits),
        cmocka_unit_test(groups_are_for_the_barrier),
#ifdef EMULATED
        cmocka_unit_test(barriers_are_needed),
#endif
    };
    only_tests(argc, argv, tests);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
