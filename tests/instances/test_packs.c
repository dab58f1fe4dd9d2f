/* test_packs.c -- packs of four to sixteen series take the same steps as the series alone. */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "hd.h"

#include "num_f64.h"
#include "gemm_text.h"
#include "smallmat_text.h"
#include "step_text.h"
#include "num_end.h"

#include "num_f32.h"
#include "gemm_text.h"
#include "smallmat_text.h"
#include "step_text.h"
#include "num_end.h"

#include "num_f64x4.h"
#include "smallmat_text.h"
#include "step_text.h"
#include "num_pack_end.h"

#include "num_f32x8.h"
#include "smallmat_text.h"
#include "step_text.h"
#include "num_pack_end.h"

#include "num_f64x8.h"
#include "smallmat_text.h"
#include "step_text.h"
#include "num_pack_end.h"

#include "num_f32x16.h"
#include "smallmat_text.h"
#include "step_text.h"
#include "num_pack_end.h"

enum { NX = 5, NY = 3, STEPS = 40, SCRATCH = 1200 };

static uint64_t generator;

static double uniform(void)
{
    generator = generator * 6364136223846793005u + 1442695040888963407u;
    return (double)(generator >> 11) / 9007199254740992.0 - 0.5;
}

static void random_covariance(int n, double *A)
{
    double G[NX * NX];
    for (int i = 0; i < n * n; ++i) G[i] = uniform();
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            A[i * n + j] = i == j ? 0.5 : 0;
            for (int l = 0; l < n; ++l) A[i * n + j] += G[i * n + l] * G[j * n + l];
        }
}

/** A step's arrays for one series, all one after the other: F Q u H R d y. */
enum { F_AT = 0, Q_AT = F_AT + NX * NX, U_AT = Q_AT + NX * NX, H_AT = U_AT + NX,
       R_AT = H_AT + NY * NX, D_AT = R_AT + NY * NY, Y_AT = D_AT + NY, ALL = Y_AT + NY };

static void random_step(double *a)
{
    for (int i = 0; i < ALL; ++i) a[i] = uniform();
    random_covariance(NX, a + Q_AT);
    random_covariance(NY, a + R_AT);
}

/* One test for each number: `lanes` series in a pack against the scalar text, filter forward and
 * smoother back, every number of every series within `bound` of round-off. */
#define PACK_TEST(name, number, suffix, pack, pack_suffix, lanes, bound)                         \
    static void name(void **state)                                                               \
    {                                                                                            \
        (void)state;                                                                             \
        static double model[STEPS][lanes][ALL];                                                  \
        static pack kept_x[STEPS][NX], kept_P[STEPS][NX * NX];                                   \
        static pack X[NX], P[NX * NX], xp[NX], Pp[NX * NX], W[SCRATCH], G[NY * NX], S[NY * NY];  \
        static pack di[NY], v[NY], Z[NY * NX], a[ALL], xn[NX], Pn[NX * NX], ET[NX * NX];         \
        generator = lanes;                                                                       \
        for (int k = 0; k < STEPS; ++k)                                                          \
            for (int l = 0; l < lanes; ++l) random_step(model[k][l]);                            \
        for (int i = 0; i < NX; ++i) X[i] = (pack){ 0 };                                         \
        for (int i = 0; i < NX * NX; ++i) P[i] = (pack){ 0 } + (number)(i % (NX + 1) == 0);      \
        for (int k = 0; k < STEPS; ++k) {                                                        \
            for (int i = 0; i < ALL; ++i)                                                        \
                for (int l = 0; l < lanes; ++l) a[i][l] = (number)model[k][l][i];                \
            ks_predict_##pack_suffix(NX, a + F_AT, a + Q_AT, a + U_AT, X, P, xp, Pp, W);         \
            const pack times = ks_noise_times_in_##pack_suffix(NY, a + R_AT, NY, S, di);         \
            (void)ks_innovation_##pack_suffix(NX, NY, a + H_AT, a + R_AT, times, a + D_AT,       \
                                              a + Y_AT, xp, Pp, G, S, di, v, W);                 \
            ks_posterior_##pack_suffix(NX, NY, G, di, v, xp, Pp, X, P, Z);                       \
            for (int i = 0; i < NX; ++i) kept_x[k][i] = X[i];                                    \
            for (int i = 0; i < NX * NX; ++i) kept_P[k][i] = P[i];                               \
        }                                                                                        \
        for (int k = STEPS - 2; k >= 0; --k) {                                                   \
            for (int i = 0; i < ALL; ++i)                                                        \
                for (int l = 0; l < lanes; ++l) a[i][l] = (number)model[k + 1][l][i];            \
            (void)ks_smooth_back_##pack_suffix(NX, a + F_AT, a + Q_AT, a + U_AT, kept_x[k],      \
                                               kept_P[k], X, P, xn, Pn, ET, W);                  \
            for (int i = 0; i < NX; ++i) X[i] = xn[i];                                           \
            for (int i = 0; i < NX * NX; ++i) P[i] = Pn[i];                                      \
        }                                                                                        \
        for (int l = 0; l < lanes; ++l) {                                                        \
            static number sx[STEPS][NX], sP[STEPS][NX * NX], x[NX], p[NX * NX], q[ALL];          \
            static number yp[NX], Yp[NX * NX], w[SCRATCH], g[NY * NX], s[NY * NY], d[NY], e[NY]; \
            static number z[NY * NX], yn[NX], Yn[NX * NX], et[NX * NX];                          \
            for (int i = 0; i < NX; ++i) x[i] = 0;                                               \
            for (int i = 0; i < NX * NX; ++i) p[i] = (number)(i % (NX + 1) == 0);                \
            for (int k = 0; k < STEPS; ++k) {                                                    \
                for (int i = 0; i < ALL; ++i) q[i] = (number)model[k][l][i];                     \
                ks_predict_##suffix(NX, q + F_AT, q + Q_AT, q + U_AT, x, p, yp, Yp, w);          \
                const number times = ks_noise_times_in_##suffix(NY, q + R_AT, NY, s, d);         \
                assert_true(ks_innovation_##suffix(NX, NY, q + H_AT, q + R_AT, times, q + D_AT,  \
                                                   q + Y_AT, yp, Yp, g, s, d, e, w));            \
                ks_posterior_##suffix(NX, NY, g, d, e, yp, Yp, x, p, z);                         \
                for (int i = 0; i < NX; ++i) sx[k][i] = x[i];                                    \
                for (int i = 0; i < NX * NX; ++i) sP[k][i] = p[i];                               \
                for (int i = 0; i < NX; ++i)                                                     \
                    assert_true(fabs((double)(x[i] - kept_x[k][i][l])) < (bound));               \
                for (int i = 0; i < NX * NX; ++i)                                                \
                    assert_true(fabs((double)(p[i] - kept_P[k][i][l])) < (bound));               \
            }                                                                                    \
            for (int k = STEPS - 2; k >= 0; --k) {                                               \
                for (int i = 0; i < ALL; ++i) q[i] = (number)model[k + 1][l][i];                 \
                assert_true(ks_smooth_back_##suffix(NX, q + F_AT, q + Q_AT, q + U_AT, sx[k],     \
                                                    sP[k], x, p, yn, Yn, et, w));                \
                for (int i = 0; i < NX; ++i) x[i] = yn[i];                                       \
                for (int i = 0; i < NX * NX; ++i) p[i] = Yn[i];                                  \
            }                                                                                    \
            for (int i = 0; i < NX; ++i) assert_true(fabs((double)(x[i] - X[i][l])) < (bound));  \
            for (int i = 0; i < NX * NX; ++i)                                                    \
                assert_true(fabs((double)(p[i] - P[i][l])) < (bound));                           \
        }                                                                                        \
    }

PACK_TEST(four_series_in_double, double, f64, ks_f64x4, f64x4, 4, 1e-12)
PACK_TEST(eight_series_in_single, float, f32, ks_f32x8, f32x8, 8, 1e-3)
PACK_TEST(eight_series_in_double, double, f64, ks_f64x8, f64x8, 8, 1e-12)
PACK_TEST(sixteen_series_in_single, float, f32, ks_f32x16, f32x16, 16, 1e-3)

/** Numbers are transposed from rows of series to lanes, and masks to bits. */
static void turned_and_told(void **state)
{
    (void)state;
    double wide[8][9];
    float narrow[16][17];
    const double *from[8];
    const float *from_narrow[16];
    ks_f64x8 v[8];
    ks_f32x16 w[16];
    for (int l = 0; l < 16; ++l)
        for (int i = 0; i < 17; ++i) {
            narrow[l][i] = (float)(100 * l + i);
            if (l < 8 && i < 9) wide[l][i] = 100 * l + i;
        }
    for (int l = 0; l < 16; ++l) {
        from_narrow[l] = narrow[l] + 1;
        if (l < 8) from[l] = wide[l] + 1;
    }
    ks_transpose_lanes_f64x8(from, v);
    ks_transpose_lanes_f32x16(from_narrow, w);
    for (int i = 0; i < 16; ++i)
        for (int l = 0; l < 16; ++l) {
            assert_true(w[i][l] == (float)(100 * l + i + 1));
            if (i < 8 && l < 8) assert_true(v[i][l] == 100 * l + i + 1);
        }
    assert_int_equal(ks_bits_f64x8((ks_mask64x8)((v[0] > 150.0) & (v[0] < 550.0))), 0x3c);
    assert_int_equal(ks_bits_f32x16((ks_mask32x16)((w[0] > 150.0f) & (w[0] < 1250.0f))), 0x1ffc);
    const ks_f64x16 x = __builtin_convertvector(w[0], ks_f64x16);
    assert_int_equal(ks_within_f64x16(&x, 150.0, 1250.0), 0x1ffc);
}

/** One lane out of bounds shows in the mask of all. */
static void a_lane_that_will_not_do(void **state)
{
    (void)state;
    ks_f64x4 A[4] = { { 1, 1, 1, 1 }, { 1, 1, 1, 1 }, { 1, 1, 1, 1 }, { 2, 2, 1 + 1e-12, 2 } };
    ks_f64x4 d[2];
    const ks_mask64x4 good = ks_ldl_f64x4(2, 1e-6, A, d);
    assert_true(good[0] && good[1] && !good[2] && good[3]);
    assert_false((good[0] & good[1] & good[2] & good[3]) != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_series_in_double),
        cmocka_unit_test(eight_series_in_single),
        cmocka_unit_test(eight_series_in_double),
        cmocka_unit_test(sixteen_series_in_single),
        cmocka_unit_test(turned_and_told),
        cmocka_unit_test(a_lane_that_will_not_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
