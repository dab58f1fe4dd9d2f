/* test_gaps.c -- what a filter knows least and what it knows best, after many steps that told it nothing of either: a gap in
 * which one combination of states grows beside others, and states that nothing disturbs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "models.h"
#include "run_case.h"
#include "textbook.h"

static const method_case smooth_once = { KS_JOB_SMOOTH, KS_METHOD_SEQUENTIAL, 0, 1, 0 };
static const method_case smooth_from_both = { KS_JOB_SMOOTH, KS_METHOD_TWO_ENDED, 0, 1, 0 };
static const method_case filter_once = { KS_JOB_FILTER, KS_METHOD_SEQUENTIAL, 0, 1, 0 };

static void clear(const golden_input *in, int numbers)
{
    for (int i = 0; i < numbers; ++i) model_block(in, 0, 0)[i] = 0;
}

/* Why nothing is known in a gap: entries are missing, do not see the state, or have too much noise. */
enum { ABSENT, BLIND, NOISY, WAYS };

/** Pairs of states of which the sum doubles and the difference halves with every step, each observed by its first state, and
 *  a last state by itself where nx is odd, which is always observed. Nothing is known of the pairs for `gap` steps. */
static golden *pairs(int nx, int64_t B, int64_t gap, int way)
{
    const int ny = (nx + 1) / 2;
    const unsigned varies = way == BLIND ? VARIES_H : way == NOISY ? VARIES_R : 0;
    golden *g = model_random((model_spec){ 40 + (uint64_t)nx, gap + 2, B, nx, ny, KS_PRIOR_X0, varies });
    clear(&g->F, nx * nx);
    clear(&g->Q, nx * nx);
    memset(g->m0.f64, 0, (size_t)nx * sizeof(double));
    memset(g->P0.f64, 0, (size_t)(nx * nx) * sizeof(double));
    for (int i = 0; i < nx; ++i) {
        const int other = i ^ 1;
        g->F.f64[i * nx + i] = other < nx ? 1.25 : 0.5;
        if (other < nx) g->F.f64[i * nx + other] = 0.75;
        g->Q.f64[i * nx + i] = g->P0.f64[i * nx + i] = 1;
    }
    for (int64_t k = 0; k < gap + 2; ++k) {
        double *H = model_block(&g->H, 0, k), *R = model_block(&g->R, 0, k);
        memset(H, 0, (size_t)(ny * nx) * sizeof(double));
        memset(R, 0, (size_t)(ny * ny) * sizeof(double));
        for (int c = 0; c < ny; ++c) {
            const int unknown = k < gap && c < nx / 2;
            H[c * nx + 2 * c] = unknown && way == BLIND ? 0 : 1;
            R[c * ny + c] = unknown && way == NOISY ? 1e30 : 1;
            for (int64_t b = 0; unknown && way == ABSENT && b < B; ++b) model_block(&g->y, b, k)[c] = (double)NAN;
        }
    }
    model_round(g);
    return g;
}

/** The first step behind the gap beside its closed form: with sum and difference of variances p and q before it, what the
 *  first state's observation leaves is made without a difference. */
static void check_pairs(const golden *g, int64_t gap, golden_buffers *b, double bound, const char *what)
{
    const int nx = g->nx, ny = g->ny;
    const double *x = golden_widen(b)->array[__builtin_ctz(KS_OUT_FILTERED_MEAN)];
    const double *P = golden_widen(b)->array[__builtin_ctz(KS_OUT_FILTERED_COV)];
    double p = 1, q = 1;
    for (int64_t k = 0; k <= gap; ++k) {
        p = 4 * p + 1;
        q = q / 4 + 1;
    }
    const double own = (p + q) / 2, cross = (p - q) / 2, S = own + 1;
    for (int64_t series = 0; series < g->B; ++series)
        for (int i = 0; i + 1 < nx; i += 2) {
            const int64_t row = series * g->T + gap;
            const double y = model_block(&g->y, series, gap)[i / 2];
            const double *at = P + row * nx * nx + i * nx + i, *mean = x + row * nx + i;
            const double var = (p * q + own) / S, sd = sqrt(var);
            const double off[] = { at[0] - own / S, at[1] - cross / S, (at[nx + 1] - var) / var, mean[0] - own / S * y,
                                   (mean[1] - cross / S * y) / sd };
            for (int j = 0; j < 5; ++j)
                if (!(fabs(off[j]) <= bound))
                    fail_msg("%s: %d states, %d entries, series %lld, a gap of %lld: number %d off by %.3g", what, nx, ny,
                             (long long)series, (long long)gap, j, off[j]);
        }
}

/** In the ordinary form a covariance holds what it knows best as a difference of what grows; in roots it has rows of its own. */
static void one_combination_grows(void **state)
{
    (void)state;
    static const int sizes[] = { 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 18 };
    static const int64_t gaps[] = { 1, 8, 16, 24, 31 };
    static const struct { ks_precision precision; int gaps; double bound; const char *name; } kinds[] = {
        { KS_F64, 5, 1e-5, "double" }, { KS_F32, 3, 3e-2, "single" }, { KS_MIXED, 3, 3e-2, "mixed" } };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
        for (int kind = 0; kind < 3; ++kind)
            for (int c = 0; c < kinds[kind].gaps * WAYS; ++c)
                for (int64_t B = 1; B <= 17; B += 8) {
                    const int64_t gap = gaps[c / WAYS];
                    golden *g = pairs(sizes[i], B, gap, c % WAYS);
                    golden_buffers *b = run_well(g, &filter_once, kinds[kind].precision, 1,
                                                 KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV | KS_OUT_LOGLIK, NULL);
                    check_pairs(g, gap, b, kinds[kind].bound, kinds[kind].name);
                    golden_buffers_free(b);
                    golden_free(g);
                }
}

/** States that stay as they are but for disturbances of less rank, which the prior has none beside: what is known exactly of
 *  them at the beginning is known exactly at the end, and is round-off in every root. */
static golden *undisturbed(int nx, int rank, int64_t T, int known, int gaps, double noise)
{
    golden *g = model_random((model_spec){ 60 + (uint64_t)(nx + rank), T, 1, nx, nx, KS_PRIOR_X0, gaps ? MISSING : 0 });
    clear(&g->R, nx * nx);
    for (int i = 0; i < nx; ++i)
        for (int j = 0; j < nx; ++j) {
            double q = 0;
            for (int c = 0; c < rank; ++c) q += (1 + (i + 2 * c) % 3) * (1 + (j + 2 * c) % 3) * ((i + j) % 2 ? -1 : 1);
            g->F.f64[i * nx + j] = g->H.f64[i * nx + j] = i == j;
            g->Q.f64[i * nx + j] = q / 64;
            g->P0.f64[i * nx + j] = known ? 0 : q / 16;
            g->R.f64[i * nx + j] = i == j ? noise : 0;
        }
    model_round(g);
    textbook_smooth(g);
    return g;
}

static void nothing_disturbs(void **state)
{
    (void)state;
    static const struct { const method_case *method; ks_precision precision; double bound; } kinds[] = {
        { &smooth_once, KS_F64, 1e-9 }, { &smooth_from_both, KS_F64, 1e-9 }, { &smooth_once, KS_F32, 5e-3 },
        { &smooth_once, KS_MIXED, 5e-3 } };
    for (int c = 0; c < 6 * 2 * 2 * 2 * 2; ++c) {
        const int nx = 2 + c / 16, noisy = c / 8 % 2;
        golden *g = undisturbed(nx, 1 + c % 2 * (nx - 2), c / 2 % 2 ? 400 : 60, c / 4 % 2, c % 3, noisy ? 16 : 0x1p-6);
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
            /* What is all but seen leaves smoothed variances too small beside what single precision rounds of the others. */
            if (kinds[i].precision == KS_MIXED && !noisy) continue;
            const unsigned outputs = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_LOGLIK;
            golden_buffers *b = run_well(g, kinds[i].method, kinds[i].precision, 1, outputs, NULL);
            const golden_difference d = golden_compare(golden_widen(b), &g->expected, outputs,
                                                       golden_norm_of(g, kinds[i].precision));
            if (!(d.error <= kinds[i].bound))
                fail_msg("%d states, case %d, kind %d, T = %lld: %s at step %lld off by %.3g", nx, c, (int)i, (long long)g->T,
                         golden_output_name(d.output), (long long)d.step, d.error);
            golden_buffers_free(b);
        }
        golden_free(g);
    }
}

/** Seasons of five with a vague prior, some of which are observed before others: each step puts the sum of all into the place
 *  of the last, so that what is known and what is not stand in one row, and takes more of what is known than is left. */
static void vague_seasons(void **state)
{
    (void)state;
    static const struct { const method_case *method; ks_precision precision; int vague; double bound; } kinds[] = {
        { &filter_once, KS_F64, 30, 1e-8 },      { &smooth_once, KS_F64, 30, 1e-7 }, { &smooth_from_both, KS_F64, 30, 1e-7 },
        { &filter_once, KS_F32, 20, 2e-2 },      { &smooth_once, KS_F32, 20, 5e-2 }, { &smooth_from_both, KS_F32, 20, 5e-2 },
        { &filter_once, KS_MIXED, 20, 2e-2 },    { &smooth_once, KS_MIXED, 20, 5e-2 } };
    static const char *const present[] = { "010", "011", "101", "000" };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i)
        for (int64_t B = 1; B <= 9; B += 8) {
            golden *g = model_random((model_spec){ 70, 20, B, 5, 3, KS_PRIOR_X0, 0 });
            clear(&g->F, 25);
            clear(&g->Q, 25);
            clear(&g->H, 15);
            clear(&g->R, 9);
            memset(g->m0.f64, 0, 5 * sizeof(double));
            memset(g->P0.f64, 0, 25 * sizeof(double));
            for (int j = 0; j < 5; ++j) {
                g->F.f64[j] = -1;
                if (j > 0) g->F.f64[j * 5 + j - 1] = 1;
                g->Q.f64[j * 6] = j == 1 ? 0.125 : 0x1p-12;
                g->P0.f64[j * 6] = j < 3 ? pow(2, kinds[i].vague) : 32;
            }
            g->H.f64[4] = g->H.f64[7] = g->H.f64[13] = 1;
            g->R.f64[0] = g->R.f64[8] = 0.25;
            g->R.f64[4] = 4;
            for (int64_t b = 0; b < B; ++b)
                for (int64_t k = 0; k < 4; ++k)
                    for (int c = 0; c < 3; ++c)
                        if (present[k][c] == '0') model_block(&g->y, b, k)[c] = (double)NAN;
            model_round(g);
            textbook_smooth(g);
            /* The textbook's own way back does not bear such priors. */
            const unsigned filtered = KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV | KS_OUT_LOGLIK;
            const unsigned outputs = kinds[i].method == &smooth_from_both ? KS_OUT_LOGLIK : filtered;
            golden_buffers *b = run_well(g, kinds[i].method, kinds[i].precision, 1, outputs, NULL);
            const golden_difference d =
                golden_compare(golden_widen(b), &g->expected, outputs, (golden_norm){ 0, false });
            if (!(d.error <= kinds[i].bound))
                fail_msg("case %d, %lld series: %s at step %lld off by %.3g", (int)i, (long long)B,
                         golden_output_name(d.output), (long long)d.step, d.error);
            golden_buffers_free(b);
            golden_free(g);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(one_combination_grows), cmocka_unit_test(nothing_disturbs),
                                        cmocka_unit_test(vague_seasons) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
