/* test_blocktri_refine.c -- when refinement on a device stops: by the rule of <kalscan/blocktri_refine.h>, as
 * a host finds that looks at every step, with the bits that stood there when it was time to stop, whatever the
 * units of the rows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "blocktri_job.h"
#include "sanitizers.h"

enum { SEEDS = SANITIZED ? 1 : SEEDS_OF(3, 2), STEPS = 3, MOST = 40 };

/* The square of tridiag(-1, 2, -1), a clamped beam of N n points: its condition is about (N n)^4 / 6, so that a
 * factor in single precision gains less with each step the longer the beam is. */
static double beam(int64_t points, int64_t i, int64_t j)
{
    const int64_t apart = i < j ? j - i : i - j;
    return apart > 2 ? 0 : apart == 2 ? 1 : apart == 1 ? -4 : i == 0 || i + 1 == points ? 5 : 6;
}

typedef struct refined {
    ks_blocktri_refine_report report;
    ks_status status;
    long judged;         /* launches that judge a step                                          */
    size_t bytes;
    char *x;
} refined;

/* Beams, of which system s is s steps of a factor apart; a factor, and room to refine in. */
typedef struct trial {
    job j;
    void *work;
} trial;

static trial trial_of(int64_t N, int n, int nrhs, int systems, ks_blocktri_order order)
{
    ks_blocktri_cuda_options options = KS_BLOCKTRI_CUDA_OPTIONS_INIT;
    options.precision = KS_F32;
    options.refine = 1;
    options.systems = systems;
    options.order = order;
    trial t = { .j = begin_with(options, N, n, nrhs, 5) };
    for (int s = 0; s < systems; ++s) {
        const bt_system *system = &t.j.system[s];
        for (int64_t k = 0; k < N; ++k)
            for (int64_t e = 0; e < n * n; ++e) {
                const int64_t row = k * n + e / n, column = k * n + e % n, at = k * system->stride + e;
                bt_put(system, system->D, at, (1 + s) * beam(N * n, row, column));
                bt_put(system, system->L, at, (1 + s) * beam(N * n, row + n, column));
            }
        const size_t bytes = (size_t)t.j.blocks * 8, from = (size_t)s * bytes;
        OK(ks_blocktri_cuda_upload(t.j.plan, (char *)(uintptr_t)t.j.D.data + from, system->D, bytes));
        OK(ks_blocktri_cuda_upload(t.j.plan, (char *)(uintptr_t)t.j.L.data + from, system->L, bytes));
    }
    OK(ks_blocktri_cuda_alloc(t.j.plan, &t.work, ks_blocktri_cuda_refine_bytes(t.j.plan, nrhs)));
    OK(ks_blocktri_cuda_factorize(t.j.plan, t.j.D, t.j.L, NULL));
    wait(&t.j);
    return t;
}

static void finish(trial *t)
{
    ks_blocktri_cuda_free(t->j.plan, t->work);
    end(&t->j);
}

static long judged_so_far(void)
{
#ifdef EMULATED
    ks_emulated.watch = "ks_bt_refine_judge";
    return ks_emulated.watched;
#else
    return 0;
#endif
}

static refined refine(trial *t, double tolerance, int steps)
{
    const ks_blocktri_refine_limits limits = { sizeof limits, tolerance, steps };
    job *const j = &t->j;
    const size_t each = (size_t)j->columns * j->number;
    refined r = { .report = { -1, -1 }, .bytes = each * (size_t)j->count };
    const long begun = judged_so_far();
    r.status = ks_blocktri_cuda_refine_solve(j->plan, j->D, j->L, j->system[0].nrhs, j->b, j->x, t->work,
                                             &limits, &r.report, NULL);
    wait(j);
    r.judged = judged_so_far() - begun;
    r.x = malloc(r.bytes);
    assert_non_null(r.x);
    fetch(j, j->x.data);
    for (int s = 0; s < j->count; ++s) memcpy(r.x + (size_t)s * each, j->system[s].x, each);
    return r;
}

static void same(const refined *a, const refined *b)
{
    assert_int_equal(a->status, KS_OK);
    assert_int_equal(a->report.steps, b->report.steps);
    assert_memory_equal(&a->report.residual, &b->report.residual, sizeof(double));
    assert_memory_equal(a->x, b->x, a->bytes);
}

/* Solutions after 0, 1, ... steps, each of a run that was allowed no more, as far as a run goes that no residual
 * is small enough for: until a step does not halve it. Returns their number. */
static int follow(trial *t, refined found[MOST])
{
    for (int count = 0; count < MOST;) {
        found[count] = refine(t, 0, count);
        assert_int_equal(found[count].status, KS_OK);
        if (found[count].report.steps < count) { /* it was worse, and is taken back */
            free(found[count].x);
            return count;
        }
        ++count;
        if (count > 1 && found[count - 1].report.residual > 0.5 * found[count - 2].report.residual)
            return count;
    }
    fail_msg("no end after %d steps", MOST);
    return 0;
}

/* With a tolerance just met after k steps these are taken, though graphs hold more. */
static void stop_at_each(trial *t, const refined *found, int count)
{
    for (int k = 0; k < count; ++k) {
        refined r = refine(t, found[k].report.residual, MOST);
        same(&r, &found[k]);
#ifdef EMULATED
        /* Each graph has so many steps, and what takes the last one back. */
        assert_int_equal(r.judged, (k / STEPS + 1) * (STEPS + 1));
#endif
        free(r.x);
    }
}

static void stops(int64_t N, int n, int nrhs, int systems, ks_blocktri_order order, int least)
{
    refined found[MOST], first[MOST];
    int steps = 0;
    for (int seed = 0; seed < SEEDS; ++seed) {
        use_seed(seed);
        trial t = trial_of(N, n, nrhs, systems, order);
        memset(found, 0, sizeof found);
        const int count = follow(&t, found);
        assert_true(count > least && found[0].report.residual > 1e-9 &&
                    found[count - 1].report.residual < 1e-16);
        stop_at_each(&t, found, count);
        if (seed == 0) steps = count, memcpy(first, found, sizeof first);
        assert_int_equal(count, steps);
        for (int k = 0; k < count; ++k) {
            same(&found[k], &first[k]);
            if (seed > 0) free(found[k].x);
        }
        finish(&t);
    }
    for (int k = 0; k < steps; ++k) free(first[k].x);
}

static void it_stops_when_it_should(void **state)
{
    (void)state;
    stops(3, 6, 2, 1, KS_BLOCKTRI_AUTO, 2);
    stops(5, 9, 1, 2, KS_BLOCKTRI_PARTITION, 3);
    stops(7, 16, 1, 1, KS_BLOCKTRI_AUTO, 6);
}

/* The matrix times c instead of the one that was factored: with c = 3 each step doubles the residual, and
 * the first is taken back; with c = 1.38 it takes away four tenths, and the first is the last. */
static void multiply(trial *t, double by)
{
    for (int which = 0; which < 2; ++which) {
        const bt_system *system = &t->j.system[0];
        double *const array = which ? system->L : system->D;
        for (int64_t e = 0; e < t->j.blocks; ++e) array[e] *= by;
        OK(ks_blocktri_cuda_upload(t->j.plan, (void *)(uintptr_t)(which ? t->j.L.data : t->j.D.data), array,
                                   (size_t)t->j.blocks * 8));
    }
}

static double distance(const refined *a, const refined *b, const bt_system *s)
{
    double most = 0, largest = 0;
    for (int64_t k = 0; k < s->N; ++k)
        for (int64_t i = 0; i < (int64_t)s->n * s->nrhs; ++i) {
            const int64_t at = k * s->rhs_stride + i;
            most = fmax(most, fabs(bt_get(s, a->x, at) - bt_get(s, b->x, at)));
            largest = fmax(largest, fabs(bt_get(s, b->x, at)));
        }
    return most / largest;
}

static void a_worse_step_is_taken_back(void **state)
{
    (void)state;
    for (int seed = 0; seed < SEEDS; ++seed) {
        use_seed(seed);
        trial t = trial_of(2, 5, 1, 1, KS_BLOCKTRI_AUTO);
        multiply(&t, 3);
        refined first = refine(&t, 0, 0), back = refine(&t, 0, MOST);
        assert_true(first.status == KS_OK && back.status == KS_OK && back.report.steps == 0);
        assert_true(distance(&back, &first, &t.j.system[0]) < 1e-14);
        assert_true(fabs(back.report.residual / first.report.residual - 1) < 1e-12);
        free(first.x);
        free(back.x);
        multiply(&t, 1.38 / 3);
        first = refine(&t, 0, 1), back = refine(&t, 0, MOST);
        assert_int_equal(back.report.steps, 1);
        same(&back, &first);
        free(first.x);
        free(back.x);
        finish(&t);
    }
}

/* Random systems of which every entry of x is known, solved in units; back from them. */
static refined solved_in_units(int64_t N, int n, int nrhs, int systems, int units)
{
    ks_blocktri_cuda_options options = KS_BLOCKTRI_CUDA_OPTIONS_INIT;
    options.precision = KS_F32;
    options.refine = 1;
    options.systems = systems;
    trial t = { .j = begin_with(options, N, n, nrhs, 5) };
    double *z[MOST_SYSTEMS];
    for (int s = 0; s < systems; ++s) {
        const bt_system *system = &t.j.system[s];
        const size_t block = (size_t)t.j.blocks * 8, column = (size_t)t.j.columns * 8, number = (size_t)s;
        z[s] = bt_know(system);
        bt_change_units(system, units, 1);
        OK(ks_blocktri_cuda_upload(t.j.plan, (char *)(uintptr_t)t.j.D.data + number * block, system->D, block));
        OK(ks_blocktri_cuda_upload(t.j.plan, (char *)(uintptr_t)t.j.L.data + number * block, system->L, block));
        OK(ks_blocktri_cuda_upload(t.j.plan, (char *)(uintptr_t)t.j.b.data + number * column, system->b, column));
    }
    OK(ks_blocktri_cuda_alloc(t.j.plan, &t.work, ks_blocktri_cuda_refine_bytes(t.j.plan, nrhs)));
    OK(ks_blocktri_cuda_factorize(t.j.plan, t.j.D, t.j.L, NULL));
    wait(&t.j);
    refined r = refine(&t, 2.3e-16, MOST);
    for (int s = 0; s < systems; ++s) {
        const bt_system *system = &t.j.system[s];
        const int64_t size = (int64_t)n * nrhs;
        bt_change_units(system, units, -1);
        memcpy(r.x + (size_t)(s * t.j.columns) * 8, system->x, (size_t)t.j.columns * 8);
        /* A residual of 2.3e-16 and norms below 22 of S A S, 45 of S^-1 x, 35 of S b and 5 of the inverse. */
        for (int64_t e = 0; e < N * size; ++e) {
            const double found = ((const double *)system->x)[e / size * system->rhs_stride + e % size];
            if (!(fabs(found - z[s][e]) <= 5 * 2.3e-16 * (22 * 45 + 35)))
                fail_msg("N %d, n %d, units %d: entry %d is off by %g", (int)N, n, units, (int)e,
                         found / z[s][e] - 1);
        }
        free(z[s]);
    }
    finish(&t);
    return r;
}

static void units_of_rows_change_nothing(void **state)
{
    (void)state;
    static const int sizes[][4] = { { 1, 1, 1, 1 }, { 1, 2, 3, 2 }, { 3, 33, 1, 1 }, { 24, 2, 3, 1 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        const int *const size = sizes[i];
        use_seed((int)i);
        refined plain = solved_in_units(size[0], size[1], size[2], size[3], 0);
        for (int units = 2; units < BT_UNITS; units += 3) {
            refined r = solved_in_units(size[0], size[1], size[2], size[3], units);
            same(&r, &plain);
            free(r.x);
        }
        free(plain.x);
    }
}

static void what_is_not_finite_is_told(void **state)
{
    (void)state;
    use_seed(1);
    trial t = trial_of(2, 5, 1, 1, KS_BLOCKTRI_AUTO);
    const double huge = 1e300;
    OK(ks_blocktri_cuda_upload(t.j.plan, (void *)(uintptr_t)t.j.b.data, &huge, sizeof huge));
    refined r = refine(&t, 0, MOST);
    assert_int_equal(r.status, KS_ENONFINITE);
    assert_int_equal(r.report.steps, 0);
    free(r.x);
    finish(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_stops_when_it_should),
        cmocka_unit_test(a_worse_step_is_taken_back),
        cmocka_unit_test(units_of_rows_change_nothing),
        cmocka_unit_test(what_is_not_finite_is_told),
    };
    only_tests(argc, argv, tests);
    if (no_device()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
