/* test_filter_rounding.c -- scans of filtering elements lose digits where the numbers of an aggregate are large beside
 * what remains of them: they are right or they refuse, and refuse no model that is well conditioned. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "assert_within.h"
#include "models.h"
#include "run_case.h"
#include "sanitizers.h"

/** Step by step, no standard deviation taken for larger than it is. */
static const golden_norm strict = { 0, false };

/** Whether `m` is a scan of filtering elements that is judged; on a device chunks are, for either smoother. */
static int is_watched(const method_case *m)
{
    if (m->method == KS_METHOD_SCAN_RTS) return ALL_ON_DEVICE && m->scan == KS_SCAN_CHUNKED;
    return m->method == KS_METHOD_SCAN || m->method == KS_METHOD_SCAN_TWO_FILTER;
}

/** g by the sequential method, in double on the CPU. */
static golden_buffers *sequential(const golden *g)
{
    ks_smooth_options o = KS_SMOOTH_OPTIONS_INIT;
    golden_buffers *b = NULL;
    const ks_model model = golden_model(g, KS_F64);
    o.method = KS_METHOD_SEQUENTIAL;
    o.backend = KS_BACKEND_CPU;
    o.outputs = outputs_of(KS_JOB_SMOOTH);
    assert_int_equal(run_model(g, &model, golden_y(g, KS_F64), &o, 1, &b, NULL), KS_OK);
    return b;
}

/** Run g by m: true where that refuses, as it says it does; else results are right. */
static int refuses(const golden *g, golden_buffers *right, const method_case *m, ks_precision precision, int threads)
{
    const unsigned outputs = outputs_made(m);
    golden_buffers *b = NULL;
    ks_info info = KS_INFO_INIT;
    const int refused = run_case(g, m, precision, threads, outputs, &b, &info) != KS_OK;
    if (refused) {
        assert_int_equal(info.status, KS_EREFUSED);
        assert_int_equal(info.array, KS_ARRAY_ESTIMATE);
        assert_int_equal(info.fault, KS_FAULT_ILL_CONDITIONED);
        assert_int_equal(info.suggestion, KS_METHOD_SEQUENTIAL);
        assert_within(info.step, 0, g->T - 1);
        assert_true(info.value > 1e-8);
    } else {
        const golden_difference d = golden_compare(golden_widen(b), golden_widen(right), outputs, strict);
        if (!(d.error <= (precision == KS_F64 ? 1e-6 : 5e-2)))
            fail_msg("T = %lld, nx = %d, %s, %s: %s of step %lld off by %.3g", (long long)g->T, g->nx,
                     method_case_name(m), precision == KS_F64 ? "f64" : "f32", golden_output_name(d.output),
                     (long long)d.step, d.error);
    }
    golden_buffers_free(b);
    return refused;
}

/** What makes a model hard: a prior variance, how transitions grow, a share of the process noise, and how far from zero
 *  states are. */
typedef struct hardness { double vague, growth, noise, far; } hardness;

/** A random model, harder, with data drawn from it. */
static golden *hard(uint64_t seed, int nx, int64_t T, hardness h)
{
    const int ny = nx > 3 ? 2 : 1;
    golden *g = model_random((model_spec){ seed, T, 1, nx, ny, (ks_prior)(seed % 2), 0 });
    double *F = model_block(&g->F, 0, 0), *Q = model_block(&g->Q, 0, 0), *P0 = model_block(&g->P0, 0, 0);
    const double *H = model_block(&g->H, 0, 0), *R = model_block(&g->R, 0, 0);
    double *x = model_block(&g->m0, 0, 0), at[24], next[24];
    source s = { seed };
    for (int i = 0; i < nx * nx; ++i) {
        F[i] *= h.growth;
        Q[i] *= h.noise;
        P0[i] *= h.vague;
    }
    for (int i = 0; i < nx; ++i) at[i] = x[i] += h.far * normal(&s);
    for (int64_t k = 0; k < T; ++k) {
        for (int i = 0; i < nx; ++i) {
            next[i] = sqrt(Q[i * (nx + 1)]) * normal(&s);
            for (int j = 0; j < nx; ++j) next[i] += F[i * nx + j] * at[j];
        }
        for (int i = 0; i < nx && (k > 0 || g->prior == KS_PRIOR_X0); ++i) at[i] = next[i];
        for (int i = 0; i < ny; ++i) {
            double *y = model_block(&g->y, 0, k) + i;
            *y = sqrt(R[i * (ny + 1)]) * normal(&s);
            for (int j = 0; j < nx; ++j) *y += H[i * nx + j] * at[j];
        }
    }
    model_round(g);
    return g;
}

/** How many of the scans refuse it. */
static int count(golden *g, ks_precision precision, int threads)
{
    golden_buffers *right = sequential(g);
    int refused = 0;
    for (int i = 0; i < all_methods_count; ++i)
        refused += is_watched(&all_methods[i]) && refuses(g, right, &all_methods[i], precision, threads);
    golden_buffers_free(right);
    golden_free(g);
    return refused;
}

static int scans(void)
{
    int n = 0;
    for (int i = 0; i < all_methods_count; ++i) n += is_watched(&all_methods[i]);
    return n;
}

/* A real device takes few models, and how its compiler joins products and sums decides whether any of one kind is refused. */
#if defined(ON_DEVICE) && !defined(EMULATED)
enum { EACH_KIND = 0 };
#else
enum { EACH_KIND = 1 };
#endif

/* Of all kinds of models. */
static int all_refused, all_asked;

/** Models of one kind: some are refused, others not. */
static void some(hardness h, int64_t longest)
{
    const int all = ALL_ON_DEVICE ? 12 : SANITIZED ? 20 : 60, asked = all * scans();
    int refused = 0;
    for (int seed = 1; seed <= all; ++seed) {
        const int nx = 2 + seed % 5;
        const ks_precision precision = seed % 4 == 3 ? KS_F32 : KS_F64;
        hardness own = h;
        if (precision == KS_F32 && own.far > 10) own.far = 10;
        refused += count(hard((uint64_t)seed, nx, 3 + seed * longest / all, own), precision, 1 + seed % 2);
    }
    all_refused += refused;
    all_asked += asked;
    assert_true(!EACH_KIND || refused > asked / 50);
    assert_true(refused < asked * 49 / 50);
}

static void means_far_from_zero(void **state)
{
    (void)state;
    some((hardness){ 1e6, 0.8, 1e-9, 1e6 }, 40);
}

static void vague_priors(void **state)
{
    (void)state;
    some((hardness){ 1e9, 1, 1e-4, 1 }, 40);
}

static void transitions_that_grow(void **state)
{
    (void)state;
    some((hardness){ 1e4, 2.2, 1e-4, 1 }, 24);
}

static void some_of_all_kinds(void **state)
{
    (void)state;
    assert_true(all_refused > all_asked / 50);
}

/** Where chunks are judged by filters of their own: many of them, that begin from covariances that have lost digits. */
static void chunks(void **state)
{
    static const method_case chunked = { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_CHUNKED, 1, 0 };
    (void)state;
    int refused = 0;
    for (int seed = 1; seed <= 80 && is_watched(&chunked); ++seed) {
        golden *g = hard((uint64_t)seed, 3 + seed % 4, 8 + seed % 30, (hardness){ 1e10, 2.5, 1e-3, 1 });
        golden_buffers *right = sequential(g);
        refused += refuses(g, right, &chunked, KS_F64, 1 + seed % 2);
        golden_buffers_free(right);
        golden_free(g);
    }
    assert_true(!is_watched(&chunked) || (refused > 2 && refused < 78));
}

/** Information that a sum of squares does not hold: many states, of most of which nothing is known at first, and of each
 *  of which the few entries tell in the course of time. */
static void many_states(void **state)
{
    static const method_case chunked = { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_CHUNKED, 1, 0 };
    (void)state;
    int refused = 0;
    for (int seed = 1; seed <= (SANITIZED ? 20 : 80) && !ALL_ON_DEVICE; ++seed) {
        golden *g = hard((uint64_t)seed, 9 + seed % 12, 10 + seed % 50,
                         (hardness){ seed % 2 ? 1e7 : 1e9, seed % 3 ? 0.8 : 1, seed % 5 ? 1e-4 : 1e-9, 1 });
        golden_buffers *right = sequential(g);
        refused += refuses(g, right, &chunked, KS_F64, 1 + seed % 2);
        golden_buffers_free(right);
        golden_free(g);
    }
    assert_true(refused < 20);
}

/** What one observation behind a gap tells, in which one combination of states has grown beside others: aggregates that
 *  have lost those are robust against round-off. */
static golden *gap(uint64_t seed, int nx, int64_t steps)
{
    golden *g = model_random((model_spec){ seed, 5 + steps, 1, nx, 1 + (int)seed % nx, KS_PRIOR_X0, 0 });
    double *F = model_block(&g->F, 0, 0), grows[24], grown[24], product = 0;
    source s = { seed };
    for (int i = 0; i < nx; ++i) {
        grows[i] = normal(&s);
        grown[i] = 2 * grows[i] + normal(&s);
        product += grows[i] * grown[i];
    }
    for (int i = 0; i < nx; ++i)
        for (int j = 0; j < nx; ++j)
            F[i * nx + j] = (i == j ? 0.5 + 0.125 * i / nx : 0) + 0.8 * grown[i] * grows[j] / product;
    for (int64_t k = 1; k < 1 + steps; ++k)
        for (int i = 0; i < g->ny; ++i) model_block(&g->y, 0, k)[i] = (double)NAN;
    model_round(g);
    return g;
}

static void gaps(void **state)
{
    const int all = ALL_ON_DEVICE ? 12 : SANITIZED ? 20 : 100;
    (void)state;
    int asked = 0, refused = 0;
    for (int seed = 1; seed <= all; ++seed) {
        golden *g = gap((uint64_t)seed, 2 + seed % 5, 8 + 67 * seed / all);
        golden_buffers *right = sequential(g);
        for (int i = 0; i < all_methods_count; ++i) {
            const method_case *m = &all_methods[i];
            /* Borders of a device's chunks are asked for the same, but not within 1e-6. */
            if (!is_watched(m) || (ALL_ON_DEVICE && m->scan == KS_SCAN_CHUNKED)) continue;
            asked += 1;
            refused += refuses(g, right, m, KS_F64, 1 + seed % 2);
        }
        golden_buffers_free(right);
        golden_free(g);
    }
    assert_true(!EACH_KIND || refused > asked / 50);
    assert_true(refused < asked * 49 / 50);
}

/** What a refusal tells does not depend on the number of threads. */
static void threads(void **state)
{
    (void)state;
    int refused = 0;
    for (int seed = 1; seed <= 12; ++seed) {
        golden *g = hard((uint64_t)seed, 2 + seed % 5, 20 + seed, (hardness){ 1e9, 2, 1e-4, 1e3 });
        for (int i = 0; i < all_methods_count; ++i) {
            const method_case *m = &all_methods[i];
            ks_info one = KS_INFO_INIT;
            golden_buffers *b = NULL;
            if (m->method < KS_METHOD_SCAN || m->method > KS_METHOD_SCAN_TWO_FILTER) continue;
            const int refuses = run_case(g, m, KS_F64, 1, outputs_made(m), &b, &one) != KS_OK;
            golden_buffers_free(b);
            refused += refuses;
            for (int n = 2; refuses && n <= 7; n += SANITIZED ? 3 : 1) {
                ks_info more = KS_INFO_INIT;
                assert_int_equal(run_case(g, m, KS_F64, n, outputs_made(m), &b, &more), one.status);
                golden_buffers_free(b);
                assert_int_equal(more.step, one.step);
                assert_int_equal(more.array, one.array);
                assert_int_equal(more.fault, one.fault);
                assert_memory_equal(&more.value, &one.value, sizeof one.value);
            }
        }
        golden_free(g);
    }
    assert_true(refused > 12);
}

static void well_conditioned(void **state)
{
    const int all = ALL_ON_DEVICE ? 12 : SANITIZED ? 40 : 100;
    (void)state;
    for (int seed = 1; seed <= all; ++seed)
        assert_int_equal(count(hard((uint64_t)seed, 1 + seed % 6, 5 + 2 * seed, (hardness){ 1, 1, 1, 10 }),
                               (ks_precision)(seed % 2), 1 + seed % 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_far_from_zero), cmocka_unit_test(vague_priors),
        cmocka_unit_test(transitions_that_grow), cmocka_unit_test(some_of_all_kinds),
        cmocka_unit_test(chunks), cmocka_unit_test(many_states), cmocka_unit_test(threads),
        cmocka_unit_test(well_conditioned), cmocka_unit_test(gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
