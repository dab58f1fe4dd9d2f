/* What `auto` takes is never much slower than the best: by the work of the iterations that each
 * method really needs, counted, on every family of systems there is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "general/general_plan.h"
#include "general_system.h"
#include "sanitizers.h"
#include "queue_model.h"

/* Worst ratio allowed: the first steps of an iteration foretell its end no better than that. */
static const double allowed = 1.5;

typedef struct problem {
    const char *name;
    int64_t N;
    int n;
    const ks_general_matrix *matrix;
    const double *b;
    ks_context *context;
} problem;

/* Work that a method needs, HUGE_VAL where it does not converge; the plan's own method for auto. */
static double work_of(const problem *p, ks_general_method method, int blind, double tolerance,
                      ks_general_method *taken)
{
    const size_t rows = (size_t)p->N * (size_t)p->n;
    ks_general_options options = KS_GENERAL_OPTIONS_INIT;
    ks_general_report report = KS_GENERAL_REPORT_INIT;
    ks_general_plan *plan;
    options.method = method;
    options.tolerance = tolerance;
    options.max_iterations = 1000; /* what needs more is far from the best here */
    if (!blind) options.sample = (ks_const_blocks){ p->b, p->n };
    assert_int_equal(ks_general_plan_create(&plan, p->context, p->N, p->n, p->matrix, &options),
                     KS_OK);
    options.method = *taken = ks_general_plan_method(plan);
    const int workers = plan->workers;
    void *factor = general_system_memory(ks_general_factor_bytes(plan));
    void *work = general_system_memory(ks_general_workspace_bytes(plan));
    double *x = general_system_memory(rows * sizeof *x);
    ks_status status = ks_general_factorize(plan, p->matrix, factor, work, &report);
    if (status == KS_OK)
        status = ks_general_solve(plan, p->matrix, factor, 1, (ks_const_blocks){ p->b, p->n },
                                  (ks_blocks){ x, p->n }, work, &report);
    free(x);
    free(work);
    free(factor);
    ks_general_plan_destroy(plan);
    if (status != KS_OK) return HUGE_VAL;
    return ks_gb_predicted(p->N, p->n, p->matrix, &options, workers, report.iterations, 1);
}

static void check(const problem *p, int blind, double tolerance)
{
    ks_general_method best = KS_GENERAL_AUTO, taken, unused;
    double least = HUGE_VAL;
    for (int m = 1; m < KS_GENERAL_METHODS; ++m) {
        const double work = work_of(p, (ks_general_method)m, 0, tolerance, &unused);
        if (work < least) {
            least = work;
            best = (ks_general_method)m;
        }
    }
    const double work = work_of(p, KS_GENERAL_AUTO, blind, tolerance, &taken);
    if (!(work <= allowed * least))
        fail_msg("%s at %g%s: auto takes %s, %.2f times the work of %s", p->name, tolerance,
                 blind ? ", no sample" : "", ks_general_method_name(taken), work / least,
                 ks_general_method_name(best));
}

static const double tolerances[] = { 1e-4, 1e-7, 1e-10 };
enum { TOLERANCES = 3 };

static void check_all(const char *name, general_system *s, int blind)
{
    ks_general_packed *packed = general_system_pack(s, NULL);
    const problem p = { name, s->N, s->n, ks_general_packed_matrix(packed), s->b, NULL };
    for (int t = 0; t < TOLERANCES; ++t)
        for (int b = 0; b <= blind; ++b) check(&p, b, tolerances[t]);
    ks_general_packed_destroy(packed);
}

static void random_systems(void **state)
{
    (void)state;
    const double radii[] = { 0.05, 0.3, 0.9, 0.99, 1.5 };
    const int sizes[][2] = { { 20, 8 }, { 8, 20 }, { 40, 3 } };
    for (int kind = 0; kind < GS_KINDS; ++kind)
        for (int r = 0; r < 5; ++r)
            for (int z = 0; z < 3; ++z) {
                if (SANITIZED && (kind + r + z) % 5) continue;
                general_system s = general_system_make((gs_kind)kind, sizes[z][0], sizes[z][1], 1,
                                                       radii[r], (unsigned)(7 * r + z));
                char name[64];
                snprintf(name, sizeof name, "kind %d, radius %g, N = %d, n = %d", kind, radii[r],
                         sizes[z][0], sizes[z][1]);
                /* The right-hand side looks as random as what stands in for it. */
                check_all(name, &s, 1);
                general_system_free(&s);
            }
}

/* -u_xx - u_yy + c u_x on an n by N grid, by lines: symmetric without the stream c. */
static general_system grid(int64_t N, int n, double stream)
{
    general_system s = general_system_empty(N, n, 1);
    const int64_t block = (int64_t)n * n;
    for (int64_t j = 0; j < N; ++j)
        for (int r = 0; r < n; ++r) {
            double *D = s.D + j * block + r * n;
            D[r] = 4;
            if (r > 0) D[r - 1] = -1;
            if (r + 1 < n) D[r + 1] = -1;
            if (j + 1 == N) continue;
            s.L[j * block + r * n + r] = -1 - stream;
            s.U[j * block + r * n + r] = -1 + stream;
        }
    for (int64_t i = 0; i < N * n; ++i) s.b[i] = 1 + sin(0.1 * (double)(i % 97));
    return s;
}

static void grids(void **state)
{
    (void)state;
    const double streams[] = { 0, 0.1, 0.9 };
    const int sizes[][2] = { { 60, 30 }, { 20, 64 } };
    for (int c = 0; c < 3; ++c)
        for (int z = 0; z < 2; ++z) {
            general_system s = grid(sizes[z][0], sizes[z][1], streams[c]);
            char name[64];
            snprintf(name, sizeof name, "grid %d by %d, stream %g", sizes[z][0], sizes[z][1],
                     streams[c]);
            check_all(name, &s, 0);
            general_system_free(&s);
        }
}

static void queues(void **state)
{
    (void)state;
    const struct { int servers, capacity; double load; } cases[] = {
        { 100, 4, 0.5 }, { 200, 16, 0.5 }, { 60, 32, 0.5 }, { 20, 64, 0.1 }, { 50, 8, 1.5 } };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const ks_queue queue = { cases[c].servers, cases[c].capacity,
                                 cases[c].load * cases[c].servers, 1, 1, 1 };
        ks_queue_system system;
        ks_queue_solution solution;
        ks_failure failure = { 0 };
        ks_general_source source = KS_GENERAL_SOURCE_INIT;
        ks_general_packed *packed;
        char name[64];
        assert_int_equal(ks_queue_solve(&queue, 1, &system, &solution, &failure), KS_EXIT_DONE);
        source.D_dia = system.D_dia;
        source.L_triples = system.L;
        source.U_triples = system.U;
        const int n = ks_queue_order(&queue);
        assert_int_equal(ks_general_pack(&packed, NULL, queue.servers, n, &source), KS_OK);
        snprintf(name, sizeof name, "Cloud%d-%d at load %g", cases[c].capacity, cases[c].servers,
                 cases[c].load);
        problem p = { name, queue.servers, n, ks_general_packed_matrix(packed), system.b, NULL };
        for (int t = 0; t < TOLERANCES; ++t) check(&p, 0, tolerances[t]);
        /* On two threads other methods are the best. */
        ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
        resources.threads = 2;
        assert_int_equal(ks_context_create(&p.context, &resources), KS_OK);
        for (int t = 0; t < TOLERANCES; t += 1 + SANITIZED) check(&p, 0, tolerances[t]);
        ks_context_destroy(p.context);
        ks_general_packed_destroy(packed);
        ks_queue_free(&system);
        free(solution.pi);
    }
}

/* On many right-hand sides a factor is worth its price. */
static void many_right_hand_sides(void **state)
{
    (void)state;
    general_system s = grid(60, 30, 0.1);
    ks_general_packed *packed = general_system_pack(&s, NULL);
    for (int columns = 1; columns <= 1000; columns *= 1000) {
        ks_general_options options = KS_GENERAL_OPTIONS_INIT;
        ks_general_plan *plan;
        options.columns = columns;
        options.tolerance = 1e-4;
        assert_int_equal(ks_general_plan_create(&plan, NULL, 60, 30,
                                                ks_general_packed_matrix(packed), &options), KS_OK);
        assert_int_equal(ks_general_plan_method(plan) == KS_BLOCK_LU, columns > 1);
        ks_general_plan_destroy(plan);
        options.columns = 0;
        assert_int_equal(ks_general_plan_create(&plan, NULL, 60, 30,
                                                ks_general_packed_matrix(packed), &options),
                         KS_EINVAL);
    }
    ks_general_packed_destroy(packed);
    general_system_free(&s);
}

/* A sample whose first column is zero, or no number, tells nothing, the next one does; and of iterations only those are
 * chosen for which max_iterations are enough. */
static void samples_and_limits(void **state)
{
    (void)state;
    enum { N = 40, n = 6, COLUMNS = 3 };
    static const double firsts[] = { 0, (double)NAN, (double)INFINITY };
    for (unsigned seed = 1; seed <= 12; ++seed) {
        general_system s = general_system_make(GS_DENSE, N, n, COLUMNS, seed % 3 ? 3 : 0.98, seed);
        double *sample = calloc(N * n * COLUMNS, sizeof *sample);
        assert_non_null(sample);
        for (int first = 0; first < 3; ++first) {
            for (int i = 0; i < N * n; ++i) {
                sample[i * COLUMNS] = firsts[first];
                for (int c = 1; c < COLUMNS; ++c) sample[i * COLUMNS + c] = s.b[i * COLUMNS + c];
            }
            ks_general_options options = KS_GENERAL_OPTIONS_INIT;
            ks_general_report report = KS_GENERAL_REPORT_INIT;
            options.sample = (ks_const_blocks){ sample, n * COLUMNS };
            options.columns = COLUMNS;
            options.max_iterations = first == 1 ? 2 : 10000;
            assert_int_equal(general_system_solve(&s, NULL, &options, &report, NULL), KS_OK);
        }
        free(sample);
        general_system_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_and_limits),
        cmocka_unit_test(random_systems),
        cmocka_unit_test(grids),
        cmocka_unit_test(queues),
        cmocka_unit_test(many_right_hand_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
