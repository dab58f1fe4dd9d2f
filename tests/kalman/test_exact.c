/* test_exact.c -- several entries at once that are observed without noise, some of them missing: autoregressions of
 * vectors, sums of states that come back as lagged values, factors whose entries have disturbances of their own. What an
 * update then knows exactly is round-off in its root, no zero, and no step back may divide by it. Scans, on the CPU or a
 * device, are right or they refuse. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "models.h"
#include "run_case.h"
#include "sanitizers.h"
#include "textbook.h"

/** VECTORS: entries with their lags, disturbances that are correlated. SUMS: sums of states, and the same a step later.
 *  FACTORS: a factor, its lag, and for each entry an autoregression of its own. */
typedef enum { VECTORS, SUMS, FACTORS, KINDS } kind;
static const char *const kind_names[KINDS] = { "vectors", "sums", "factors" };

/** More are lags of VECTORS and states that SUMS are of; FACTORS have none. */
static int states_of(kind of, int ny, int more)
{
    return of == VECTORS ? ny * (1 + more) : of == SUMS ? 2 * ny + more : 2 + ny;
}

static void fill(kind of, int nx, int ny, double *F, double *Q, double *H, source *s)
{
    const int own = of == VECTORS ? ny : of == SUMS ? nx - ny : nx;
    for (int i = 0; i < nx * nx; ++i) F[i] = Q[i] = 0;
    for (int i = 0; i < ny * nx; ++i) H[i] = 0;
    for (int l = 0; l < ny; ++l) {
        if (of == VECTORS) H[l * nx + l] = 1;
        for (int j = 0; of == SUMS && j < own; ++j) H[l * nx + j] = normal(s);
        if (of == FACTORS) H[l * nx] = normal(s);
        if (of == FACTORS) H[l * nx + 2 + l] = 1;
    }
    for (int i = 0; i < own; ++i)
        for (int j = 0; j < (of == VECTORS ? nx : own); ++j) {
            F[i * nx + j] = (uniform(s) - 0.5) / (of == VECTORS ? nx : own);
            if (j < own) Q[i * nx + j] = 0.5 + (i == j);
        }
    for (int i = own; i < nx; ++i)
        for (int j = 0; j < nx; ++j) F[i * nx + j] = of == VECTORS ? i == j + ny : H[(i - own) * nx + j];
    for (int i = 0; of == FACTORS && i < nx; ++i)
        for (int j = 0; j < nx; ++j) {
            F[i * nx + j] = i == 1 ? j == 0 : i == j ? 0.25 + 0.5 * uniform(s) : 0;
            Q[i * nx + j] = i == j && i != 1;
        }
}

/** An eighth of the entries is missing, or none; per_step: F is given for each step, and no step is remembered; noise: of
 *  the last entry. */
static golden *model(kind of, int ny, int more, int64_t T, ks_prior prior, int gaps, int per_step, double noise,
                     uint64_t seed)
{
    const int nx = states_of(of, ny, more);
    golden *g = model_random((model_spec){ 170 + seed + (uint64_t)nx, T, 1, nx, ny, prior, per_step ? VARIES_F : 0 });
    source s = { 90 + seed + (uint64_t)(8 * nx + ny) };
    fill(of, nx, ny, g->F.f64, g->Q.f64, g->H.f64, &s);
    for (int64_t k = 1; per_step && k < T; ++k)
        for (int i = 0; i < nx * nx; ++i) model_block(&g->F, 0, k)[i] = g->F.f64[i];
    for (int i = 0; i < nx * nx; ++i) g->P0.f64[i] = i / nx == i % nx;
    for (int i = 0; i < ny * ny; ++i) g->R.f64[i] = i == ny * ny - 1 ? noise : 0;
    for (int64_t i = 0; gaps && i < T * ny; ++i)
        if (uniform(&s) < 0.125) g->y.f64[i] = (double)NAN;
    model_round(g);
    textbook_smooth(g);
    return g;
}

static void as_the_textbook(void **state)
{
    (void)state;
    if (ALL_ON_DEVICE) skip(); /* methods of the CPU */
    static const int64_t lengths[] = { 1, 2, 5, 60, 300 };
    static const method_case methods[] = { { KS_JOB_SMOOTH, KS_METHOD_SEQUENTIAL, 0, 1, 0 },
                                           { KS_JOB_SMOOTH, KS_METHOD_AUTO, 0, 1, 0 } };
    enum { LENGTHS = sizeof lengths / sizeof lengths[0], WAYS = 16, SIZES = 4 };
    for (int c = 0; c < KINDS * SIZES * LENGTHS * WAYS; ++c) {
        const int way = c % WAYS, size = c / WAYS / LENGTHS % SIZES, ny = 2 + size / 2, more = 1 + size % 2;
        const int64_t T = lengths[c / WAYS % LENGTHS];
        const kind of = (kind)(c / WAYS / LENGTHS / SIZES);
        const method_case *m = &methods[way / 8];
        if ((of == FACTORS && more > 1) || (SANITIZED && (way + c / WAYS) % 4)) continue;
        golden *g = model(of, ny, more, T, way & 1 ? KS_PRIOR_X1 : KS_PRIOR_X0, way & 2, way & 4, 0, 0);
        for (int p = 0; p < 3; ++p) {
            const unsigned outputs = outputs_made(m);
            golden_buffers *b = run_well(g, m, (ks_precision)p, 1 + way / 8, outputs, NULL);
            const golden_difference d =
                golden_compare(golden_widen(b), &g->expected, outputs, golden_norm_of(g, (ks_precision)p));
            /* 6.2e-11 and 3.7e-4 are reached: what is seen exactly leaves small variances to judge by. */
            if (!(d.error <= (p == KS_F64 ? 6e-10 : 2e-3)))
                fail_msg("%s, %d entries, %d states, T = %lld, way %d, precision %d: %s at step %lld off by %.3g",
                         kind_names[of], ny, states_of(of, ny, more), (long long)T, way, p, golden_output_name(d.output),
                         (long long)d.step, d.error);
            golden_buffers_free(b);
        }
        golden_free(g);
    }
}

/** Smooth by a scan: true where that refuses, as it says it does; else results are right. */
static int refuses(golden *g, const char *what, const method_case *m, ks_precision precision)
{
    const unsigned outputs = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV;
    const double most = precision == KS_F64 ? 1e-9 : 1e-2; /* 5.5e-11 and 3.3e-3 are reached */
    golden_buffers *b = NULL;
    ks_info info = KS_INFO_INIT;
    const ks_status status = run_case(g, m, precision, 1, outputs, &b, &info);
    if (status == KS_OK) {
        const golden_difference d =
            golden_compare(golden_widen(b), &g->expected, outputs, golden_norm_of(g, precision));
        if (!(d.error <= most))
            fail_msg("%s, %d states, T = %lld, %s, precision %d: %s at step %lld off by %.3g", what, g->nx,
                     (long long)g->T, method_case_name(m), (int)precision, golden_output_name(d.output),
                     (long long)d.step, d.error);
    } else {
        assert_int_equal(status, KS_EREFUSED);
        assert_int_equal(info.suggestion, KS_METHOD_SEQUENTIAL);
    }
    golden_buffers_free(b);
    return status != KS_OK;
}

static void scans_are_right_or_refuse(void **state)
{
    (void)state;
    static const int64_t lengths[] = { 2, 7, 60 };
    int runs[KINDS][KS_MIXED + 1] = { { 0 } }, refused[KINDS][KS_MIXED + 1] = { { 0 } };
    for (int c = 0; c < KINDS * 4 * 3 * 4; ++c) {
        const int way = c % 4, size = c / 12 % 4, ny = 2 + size / 2, more = 1 + size % 2;
        const int64_t T = lengths[c / 4 % 3];
        const kind of = (kind)(c / 48);
        if ((of == FACTORS && more > 1) || ((SANITIZED || ALL_ON_DEVICE) && c % 5)) continue;
        golden *g = model(of, ny, more, T, way & 1 ? KS_PRIOR_X1 : KS_PRIOR_X0, way & 2, 0, 0, 0);
        for (int i = 0; i < all_methods_count; ++i) {
            const method_case *m = &all_methods[i];
            if (m->job != KS_JOB_SMOOTH || !is_scan(m)) continue;
            for (int p = 0; p < (takes_mixed(m) ? 3 : 2); ++p) {
                runs[of][p] += 1;
                refused[of][p] += refuses(g, kind_names[of], m, (ks_precision)p);
            }
        }
        golden_free(g);
    }
    for (int p = 0; p < 2 + ALL_ON_DEVICE && !SANITIZED; ++p) {
        /* Compilers join products and sums as they like, and where zero was there is more round-off: a device's compiler
         * and gcc 16 refuse half of them, earlier ones two fifths. */
        const int most = runs[VECTORS][p] * 3 / 4;
        assert_true(refused[VECTORS][p] > 0 && refused[VECTORS][p] < most);
        assert_int_equal(refused[FACTORS][p], 0);
    }
}

/** Of what is known but for round-off the round-off is a variance, too, which filtered estimates tell of no more than
 *  that. */
static void some_entries_with_noise(void **state)
{
    (void)state;
    static const method_case m = { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_BLELLOCH, 1, 0 };
    enum { SEEDS = SANITIZED || ALL_ON_DEVICE ? 40 : 400 };
    int refused = 0;
    for (uint64_t seed = 1; seed <= SEEDS; ++seed) {
        golden *g = model(VECTORS, 3, 1, 7, KS_PRIOR_X1, 0, 0, 0.25, 1000 * seed);
        refused += refuses(g, "vectors", &m, KS_F64);
        golden_free(g);
    }
    /* Whether round-off is left is a matter of how sums are contracted. */
    assert_true(refused > 0);
}

/** Zeros of a root that has been kept in single precision are its round-off in double: what steps back in double make
 *  of such roots is what they make of the others. */
static void narrowed_roots(void **state)
{
    static const method_case meets = { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_CHUNKED, 1, 0 };
    static const method_case back = { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_CHUNKED, 1, 0 };
    static const double exact[4][4] = { { 0.25, 0, -0.5, -0.75 }, { 4, 4, 4, 4 }, { 2, 0, 0, 1 }, { -1, -1 } };
    static const double moved[4][4] = { { 1, 0.25, 0, 1 }, { 0x1p-4, 0x1p-4, 0x1p-4, 0x1p-4 }, { 2.25, 3, 3, 4 },
                                        { 1, 0 } };
    static const double y[2][7] = { { (double)NAN, (double)NAN, 0.1875, (double)NAN, 0.5625, -2.1875, 1.6875 },
                                    { 1.0625, -0.375, (double)NAN, 0.375, -2.1875, (double)NAN, 0.5 } };
    (void)state;
    for (int i = 0; i < 1 + ALL_ON_DEVICE; ++i) { /* on the CPU mixed precision has no scans */
        const double (*const from)[4] = i ? moved : exact;
        const unsigned wanted = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_LAG_ONE_COV;
        golden *g = model_random((model_spec){ 171, 7, 1, 2, 1, KS_PRIOR_X1, 0 });
        double *const to[4] = { g->F.f64, g->Q.f64, g->P0.f64, g->H.f64 };
        for (int k = 0; k < 4; ++k)
            for (int j = 0; j < (k < 3 ? 4 : 2); ++j) to[k][j] = from[k][j];
        for (int k = 0; k < 7; ++k) g->y.f64[k] = y[i][k];
        g->R.f64[0] = i ? 0x1p-4 : 0;
        model_round(g);
        golden_buffers *b[2] = { run_well(g, i ? &back : &meets, KS_F64, 1, wanted, NULL),
                                 run_well(g, i ? &back : &meets, i ? KS_MIXED : KS_F32, 1, wanted, NULL) };
        const golden_results *const right = golden_widen(b[0]), *const found = golden_widen(b[1]);
        for (int o = 0; o < GOLDEN_OUTPUTS; ++o)
            for (int j = 0; wanted >> o & 1 && j < (1u << o == KS_OUT_SMOOTHED_MEAN ? 14 : 28); ++j)
                assert_true(fabs(found->array[o][j] - right->array[o][j]) < 1e-4);
        golden_buffers_free(b[0]);
        golden_buffers_free(b[1]);
        golden_free(g);
    }
}

/** An exact observation tells the sum of two states, a later one the second: what steps back divide by is round-off of
 *  the sum, beside which what follows leaves no standard deviation at all. */
static void sums_told_apart_later(void **state)
{
    (void)state;
    if (ALL_ON_DEVICE) skip(); /* methods of the CPU */
    static const method_case methods[] = { { KS_JOB_SMOOTH, KS_METHOD_SEQUENTIAL, 0, 1, 0 },
                                           { KS_JOB_SMOOTH, KS_METHOD_AUTO, 0, 1, 0 } };
    static const double F[] = { 1, 1, 0, 0, 1, 0, 0, 0, 1 };
    for (int c = 0; c < (SANITIZED ? 20 : 120); ++c) {
        const int64_t T = 4 + c % 9;
        golden *g = model_random((model_spec){ 900 + (uint64_t)c, T, 1, 3, 1, KS_PRIOR_X1, VARIES_H | VARIES_R });
        const int64_t at = 1 + c % (T - 2);
        for (int i = 0; i < 9; ++i) {
            g->F.f64[i] = F[i];
            g->Q.f64[i] = i == 0 ? 0.125 : 0;
            g->P0.f64[i] = i % 4 == 0;
        }
        for (int64_t k = 0; k < T; ++k) {
            double *H = model_block(&g->H, 0, k);
            *model_block(&g->R, 0, k) = k == at || k == T - 1 ? 0 : 0.25;
            if (k == at) H[0] = 0, H[1] = H[2] = 0.25;
            if (k == T - 1) H[0] = H[1] = 0, H[2] = 0.75;
        }
        model_round(g);
        textbook_smooth(g);
        for (int m = 0; m < 2; ++m)
            for (int p = 0; p < 3; ++p) {
                const unsigned outputs = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV;
                golden_buffers *b = run_well(g, &methods[m], (ks_precision)p, 1 + m, outputs, NULL);
                const golden_results *made = golden_widen(b);
                /* The first state, whose variance stays. */
                for (int64_t k = 0; k < T; ++k) {
                    const double *want = g->expected.array[__builtin_ctz(KS_OUT_SMOOTHED_MEAN)] + 3 * k;
                    const double *cov = g->expected.array[__builtin_ctz(KS_OUT_SMOOTHED_COV)] + 9 * k;
                    const double *got = made->array[__builtin_ctz(KS_OUT_SMOOTHED_MEAN)] + 3 * k;
                    if (!(fabs(got[0] - want[0]) <= (p == KS_F64 ? 1e-9 : 2e-3) * sqrt(cov[0])))
                        fail_msg("model %d, precision %d, step %lld: %.9g, expected %.9g", c, p, (long long)k, got[0],
                                 want[0]);
                }
                golden_buffers_free(b);
            }
        golden_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(as_the_textbook), cmocka_unit_test(scans_are_right_or_refuse),
                                        cmocka_unit_test(some_entries_with_noise), cmocka_unit_test(narrowed_roots),
                                        cmocka_unit_test(sums_told_apart_later) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
