/* test_steady.c -- covariances of constant models that are held once they move by round-off alone (kalman/tiled/steady_text.h):
 * all of them come to rest, a gap wakes them, results are those of the same model given step by step, to the bit if nothing
 * is to be held, and do not depend on what is asked for; the bound that decides, against the sum that it stands for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "assert_within.h"
#include "hd.h"
#include "models.h"
#include "run_case.h"
#include "sanitizers.h"
#include "series.h"
#include "tiled/tiled.h"

#include "num_f64.h"
#include "gemm_text.h"
#include "tile_text.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "memo_text.h"
#include "range_text.h"
#include "filter_range_text.h"
#include "tiled/tiled_step_text.h"
#include "tiled/tiled_range_text.h"
#include "tiled/tiled_observe_text.h"
#include "tiled/steady_text.h"
#include "num_end.h"

static const int sizes[][2] = { { 2, 1 }, { 3, 2 }, { 4, 1 }, { 4, 2 }, { 5, 2 },  { 6, 3 },  { 7, 3 },
                                { 8, 4 }, { 8, 6 }, { 9, 2 }, { 12, 6 }, { 17, 5 }, { 24, 12 } };
enum { SIZES = sizeof sizes / sizeof sizes[0], T = 700, GAP = 260 };

static const method_case filter = { .job = KS_JOB_FILTER, .method = KS_METHOD_SEQUENTIAL };
static const method_case smooth = { .job = KS_JOB_SMOOTH, .method = KS_METHOD_SEQUENTIAL };

/** A constant model of one series of which all is observed but for one entry. */
static golden *whole_but_one(int size, uint64_t seed)
{
    golden *g = model_random((model_spec){ seed, T, 1, sizes[size][0], sizes[size][1], KS_PRIOR_X0, VARIES_U });
    model_block(&g->y, 0, GAP)[0] = (double)NAN;
    model_round(g);
    return g;
}

/** Whether the covariances of steps from .. to - 1 are each to the bit one of the `most` before it. */
static int rest(const golden_results *r, ks_output output, int most, int from, int to)
{
    const int64_t block = (int64_t)r->nx * r->nx;
    const double *P = r->array[__builtin_ctz(output)];
    for (int k = from; k < to; ++k) {
        int same = 0;
        for (int back = 1; back <= most && !same; ++back)
            same = memcmp(P + k * block, P + (k - back) * block, (size_t)block * sizeof *P) == 0;
        if (!same) return 0;
    }
    return 1;
}

/** Means and covariances of two results differ by less than bound standard deviations. */
static void close_to(const golden_results *a, const golden_results *b, ks_output mean, ks_output cov, double bound)
{
    const int n = a->nx;
    for (int64_t k = 0; k < a->T; ++k) {
        const double *P = a->array[__builtin_ctz(cov)] + k * n * n, *Q = b->array[__builtin_ctz(cov)] + k * n * n;
        const double *x = a->array[__builtin_ctz(mean)] + k * n, *z = b->array[__builtin_ctz(mean)] + k * n;
        for (int i = 0; i < n; ++i) {
            const double sd = sqrt(P[i * n + i]);
            assert_true(fabs(x[i] - z[i]) <= bound * sd);
            for (int j = 0; j < n; ++j)
                assert_true(fabs(P[i * n + j] - Q[i * n + j]) <= bound * sd * sqrt(P[j * n + j]));
        }
    }
}

/** What held covariances leave of a series, beside the same model given step by step, of which nothing is held. */
static void comes_to_rest(void **state)
{
    (void)state;
    int fixed = 0;
    for (int c = 0; c < SIZES; ++c)
        for (int p = 0; p < 2; ++p) {
            const ks_precision precision = (ks_precision)p;
            const double bound = precision == KS_F64 ? 1e-11 : 2e-3;
            golden *g = whole_but_one(c, 900 + (uint64_t)c), *each = model_slice(g, 0, 0, T);
            golden_buffers *f = run_well(g, &filter, precision, 1, outputs_of(KS_JOB_FILTER), NULL);
            golden_buffers *s = run_well(g, &smooth, precision, 1, outputs_of(KS_JOB_SMOOTH), NULL);
            golden_buffers *f_each = run_well(each, &filter, precision, 1, outputs_of(KS_JOB_FILTER), NULL);
            golden_buffers *s_each = run_well(each, &smooth, precision, 1, outputs_of(KS_JOB_SMOOTH), NULL);
            const golden_results *filtered = golden_widen(f), *smoothed = golden_widen(s);
            const ks_output P = KS_OUT_FILTERED_COV;
            const char *fault = NULL;
            if (!rest(filtered, P, 8, GAP - 20, GAP)) fault = "not at rest before the gap";
            if (rest(filtered, P, 8, GAP, GAP + 3)) fault = "not woken by the gap";
            if (!rest(filtered, P, 8, T - 20, T)) fault = "not at rest after the gap";
            /* With a filter that goes round in a circle the way back may be longer than it remembers. */
            if (rest(filtered, P, 1, T - 250, T) && !rest(smoothed, KS_OUT_SMOOTHED_COV, 8, T - 240, T - 220))
                fault = "not at rest on the way back";
            if (fault) fail_msg("(%d, %d) in %s: %s", g->nx, g->ny, p ? "f32" : "f64", fault);
            fixed += rest(filtered, P, 1, T - 250, T);
            close_to(filtered, golden_widen(f_each), KS_OUT_FILTERED_MEAN, KS_OUT_FILTERED_COV, bound);
            close_to(smoothed, golden_widen(s_each), KS_OUT_SMOOTHED_MEAN, KS_OUT_SMOOTHED_COV, bound);
            golden_buffers_free(f);
            golden_buffers_free(s);
            golden_buffers_free(f_each);
            golden_buffers_free(s_each);
            golden_free(each);
            golden_free(g);
        }
    assert_true(fixed > SIZES);
}

/** Steps that are looked up are those that are computed and those of the model given step by step, to the bit; held
 *  ones mostly are not. */
static void held_if_asked(void **state)
{
    (void)state;
    static const method_case cases[] = {
        { .job = KS_JOB_FILTER, .method = KS_METHOD_SEQUENTIAL },
        { .job = KS_JOB_SMOOTH, .method = KS_METHOD_SEQUENTIAL },
        { .job = KS_JOB_SMOOTH, .method = KS_METHOD_BLOCKTRI, .order = KS_BLOCKTRI_SEQUENTIAL },
    };
    int others = 0, all = 0;
    for (int c = 0; c < SIZES; ++c)
        for (int i = 0; i < 3; ++i)
            for (int p = 0; p < (is_map(&cases[i]) ? 2 : 3); ++p) {
                if (SANITIZED && (c + i + p) % 3) continue;
                const method_case *m = &cases[i];
                golden *g = whole_but_one(c, 960 + (uint64_t)c), *each = model_slice(g, 0, 0, T);
                const unsigned made = outputs_made(m);
                golden_buffers *b[4];
                for (int word = 0; word < 3; ++word)
                    b[word] = run_steady(g, m, (ks_precision)p, 1, made, (ks_steady_state)word);
                b[3] = run_well(each, m, (ks_precision)p, 1, made, NULL);
                const unsigned other = first_different(b[1], b[2], made) |
                                       (is_map(m) ? 0 : first_different(b[1], b[3], made));
                if (other)
                    fail_msg("%s, (%d, %d), precision %d: %s has other bits from memory", method_case_name(m), g->nx,
                             g->ny, p, golden_output_name((ks_output)(other & -other)));
                if (is_map(m)) assert_int_equal(first_different(b[0], b[2], made), 0);
                else others += first_different(b[0], b[2], made) != 0, all += 1;
                for (int word = 0; word < 4; ++word) golden_buffers_free(b[word]);
                golden_free(each);
                golden_free(g);
            }
    assert_within(others, all / 2, all);
}

/** By checkpoints a series is cut into ranges of 27 steps, in which little is remembered. */
static void bits_of_any_outputs(void **state)
{
    (void)state;
    const unsigned few = KS_OUT_SMOOTHED_MEAN | KS_OUT_LOGLIK;
    const unsigned sets[] = { few | KS_OUT_SMOOTHED_VAR, few | KS_OUT_SMOOTHED_COV, outputs_of(KS_JOB_SMOOTH) };
    for (int c = 0; c < SIZES; ++c)
        for (int p = 0; p < 3; ++p) {
            if (SANITIZED && (c + p) % 3) continue;
            golden *g = whole_but_one(c, 930 + (uint64_t)c);
            golden_buffers *made[3];
            for (int i = 0; i < 3; ++i) made[i] = run_well(g, &smooth, (ks_precision)p, 1, sets[i], NULL);
            for (int i = 1; i < 3; ++i)
                if (first_different(made[0], made[i], few))
                    fail_msg("(%d, %d), precision %d: other bits with set %d", g->nx, g->ny, p, i);
            if (first_different(made[1], made[2], KS_OUT_SMOOTHED_COV))
                fail_msg("(%d, %d), precision %d: other covariances with all outputs", g->nx, g->ny, p);
            for (int i = 0; i < 3; ++i) golden_buffers_free(made[i]);
            golden_free(g);
        }
}

/** A range of P's whose steps move it back and forth. */
static ks_steady after(const double *cycle, int period, int steps, double *moved)
{
    ks_steady s = KS_NOT_STEADY;
    const double S[16] = { 4, 0, 0, 0, 0, 4, 0, 0, 0, 0, 4, 0, 0, 0, 0, 4 };
    for (int k = 0; k < steps; ++k) {
        const double *from = cycle + k % period * 16, *to = cycle + (k + 1) % period * 16;
        const int asks = ks_steady_asks_f64(0, 1, &s), watched = ks_steady_watches_f64(&s, k);
        assert_true(asks);
        if (ks_steady_after_f64(4, 4, k, watched, from, to, S, &s, moved) < 0) s.stage = KS_STEADY_HELD;
    }
    return s;
}

/** Cycles of up to eight steps are left alone, longer ones are judged at the ninth; what moves further is not asked. */
static void cycles_are_left(void **state)
{
    (void)state;
    for (int period = 1; period <= 12; ++period) {
        double cycle[12][16], moved = 0;
        for (int i = 0; i < 12; ++i)
            for (int j = 0; j < 16; ++j) cycle[i][j] = (j % 5 ? 0 : 3) + (double)((i * 7 + j) % 12) * 0x1p-52;
        ks_steady s = after(&cycle[0][0], period, 9, &moved);
        assert_int_equal(s.stage == KS_STEADY_HELD, period > 8);
        if (period > 8) assert_true(moved > 0 && moved < 12 * 0x1p-52);
        for (int j = 0; j < 16; ++j) cycle[1][j] += 0x1p-40;
        if (period == 1) continue;
        s = after(&cycle[0][0], period, 9, &moved);
        assert_int_equal(s.stage, KS_STEADY_UNKNOWN);
    }
}

/** Closed loops that forget ever more slowly: what is summed by doubling is the sum over steps, and held is what it
 *  bounds. */
static void bound_is_the_sum(void **state)
{
    (void)state;
    enum { N = 5, NP = 6, MOST = 60000 };
    const int np = ks_padded_f64(N);
    int held = 0, refused = 0;
    for (int c = 0; c < 60; ++c) {
        const double rate = 1 - pow(10, -4.5 * (c % 20) / 20.0 - .2), moved = pow(10, -15 + c / 20);
        double A[N][N] = { { 0 } }, B[8 * 8] = { 0 }, next[64], X[64], W[64], old[8], S[64] = { 0 }, P[64] = { 0 };
        for (int i = 0; i < N; ++i) {
            A[i][i] = rate * (1 - .1 * i);
            if (i + 1 < N) A[i][i + 1] = .2;
            S[i * N + i] = 2 + i;
            P[i * N + i] = 1;
            for (int j = 0; j < N; ++j) B[j * np + i] = i <= j ? (j == i ? A[i][i] : j == i + 1 ? .2 : 0) : 0;
        }
        /* The sum of A^j S A^jT, a column of each root at a time. */
        double most = 0, sum[N] = { 0 };
        for (int column = 0; column < N; ++column) {
            double v[N] = { 0 };
            v[column] = sqrt(S[column * N + column]);
            for (int j = 0; j < MOST; ++j) {
                double u[N] = { 0 };
                for (int i = 0; i < N; ++i) sum[i] += v[i] * v[i];
                for (int i = 0; i < N; ++i)
                    for (int l = 0; l < N; ++l) u[i] += A[i][l] * v[l];
                memcpy(v, u, sizeof v);
            }
        }
        for (int i = 0; i < N; ++i) most = fmax(most, sum[i] * moved);
        const int holds = ks_steady_holds_f64(N, N, moved, S, P, B, next, X, W, old);
        if (most > 0x1p-36) assert_false(holds);
        if (most < 0x1p-36 / 1.4 && rate < .999) assert_true(holds);
        held += holds;
        refused += !holds;
    }
    assert_true(held > 10);
    assert_true(refused > 10);
}

/** What has moved is a norm of the whole of it, each entry by the scales of its row and column. */
static void moved_is_a_norm(void **state)
{
    (void)state;
    enum { N = 5, APART = 7 };
    source random = { 17 };
    for (int c = 0; c < 50; ++c) {
        double from[N * APART], to[N * APART], S[N * APART] = { 0 }, sum = 0;
        const int i_far = (int)(N * uniform(&random)), j_far = (int)(N * uniform(&random));
        /* Products of the smallest ones are out of range. */
        for (int i = 0; i < N; ++i) S[i * APART + i] = exp(10 * normal(&random)) * (c % 2 ? 0x1p-520 : 1);
        for (int i = 0; i < N; ++i)
            for (int j = 0; j < N; ++j) {
                const double root = sqrt(S[i * APART + i]) * sqrt(S[j * APART + j]);
                const double step = j < i ? 0 : floor(8 * uniform(&random)) * 0x1p-52 * root;
                from[i * APART + j] = 0;
                to[i * APART + j] = step;
                sum += (j > i ? 2 : 1) * (step / root) * (step / root);
            }
        assert_true(fabs(ks_steady_moved_f64(N, APART, from, to, S) - sqrt(sum)) <= 1e-14 * sqrt(sum));
        const int i = i_far < j_far ? i_far : j_far, j = i_far < j_far ? j_far : i_far;
        to[i * APART + j] = 33 * 0x1p-52 * sqrt(S[i * APART + i]) * sqrt(S[j * APART + j]);
        assert_true(ks_steady_moved_f64(N, APART, from, to, S) == -1);
    }
}

/** A covariance that was held and is moved by more than round-off is held no longer. */
static void held_until_moved(void **state)
{
    (void)state;
    const double S[4] = { 1, 0, 0, 1 }, from[4] = { 1, 0, 0, 1 }, near[4] = { 1 + 0x1p-50, 0, 0, 1 },
                 far[4] = { 1, 0x1p-30, 0x1p-30, 1 };
    ks_steady s = { KS_STEADY_HELD, 0, 0 };
    double moved;
    assert_int_equal(ks_steady_after_f64(2, 2, 3, 1, from, near, S, &s, &moved), 1);
    assert_int_equal(s.stage, KS_STEADY_HELD);
    assert_int_equal(ks_steady_after_f64(2, 2, 3, 1, from, far, S, &s, &moved), 0);
    assert_int_equal(s.stage, KS_STEADY_UNKNOWN);
}

/** What is left of a sum that ends counts for a quarter; a sum that does not end holds nothing, however little moves. */
static void sums_that_end(void **state)
{
    (void)state;
    const double P[1] = { 1 }, S[1] = { 1 };
    double next[16], X[16], W[16], old[4];
    const struct { double rate, moved; int holds; } cases[] = {
        { 0, 0x1p-36 / 1.3, 1 }, { 0, 0x1p-36 / 1.2, 0 }, { 0.5, 0x1p-38, 1 }, { 0.999, 1e-30, 1 }, { 1 - 1e-7, 1e-30, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        double B[16] = { cases[i].rate };
        assert_int_equal(ks_steady_holds_f64(1, 1, cases[i].moved, S, P, B, next, X, W, old), cases[i].holds);
    }
}

/** The closed loop of a filter is (I - K H) F: seen where the sum over it is given up at once. */
static void loop_is_closed(void **state)
{
    (void)state;
    enum { N = 5, M = 4, NP = 8 };
    golden *g = model_random((model_spec){ 981, 1, 1, N, M, KS_PRIOR_X0, 0 });
    for (int i = 0; i < M * M; ++i) g->R.f64[i] *= 1e-3;
    ks_series s = { 0 };
    s.nx = N;
    s.ny = M;
    s.steps = 1;
    const double zeros[N] = { 0 };
    s.F.base = (const char *)g->F.f64;
    s.Q.base = (const char *)g->Q.f64;
    s.H.base = (const char *)g->H.f64;
    s.R.base = (const char *)g->R.f64;
    s.u.base = s.d.base = (const char *)zeros;
    s.y.base = (const char *)g->y.f64;
    ks_tiled_memory_f64 w, unused;
    double *memory = zeroed((size_t)ks_tiled_lay_out_f64(N, M, NULL, &unused), sizeof *memory);
    const int n = ks_padded_f64(N);
    double estimate[N] = { 0 }, covariance[N * N] = { 0 };
    const ks_state from = { .x = estimate, .C = covariance };
    w = ks_tiled_begin_f64(N, n, M, &from, memory);
    ks_blocks_f64 b = { 0 };
    ks_tiled_transition_f64(KS_SHAPE_TILES, N, n, &s, 0, 1, &w, &b);
    ks_tiled_channels_f64(KS_SHAPE_TILES, N, M, &s, 0, 1, &w, &b);
    b.y = (const double *)s.y.base;
    b.d = zeros;
    double x[NP] = { 0 }, P[NP * NP] = { 0 }, to[NP * NP] = { 0 };
    for (int i = 0; i < N; ++i) P[i * n + i] = 1 + i;
    ks_tiled_predict_f64(N, n, &b, P, &w.step);
    ks_tiled_predict_mean_f64(N, n, M, &b, x, &w.step);
    assert_true(ks_tiled_innovation_f64(N, n, M, &b, &w.step));
    ks_tiled_posterior_f64(N, n, M, &w.step, to);
    /* K = Pp H' S^-1, by P H' R^-1 of the posterior; R by elimination. */
    double R[M][M], HF[M][N], K[N][M], A[N][N], most = 0;
    memcpy(R, g->R.f64, sizeof R);
    for (int a = 0; a < M; ++a)
        for (int i = 0; i < N; ++i) {
            HF[a][i] = K[i][a] = 0;
            for (int j = 0; j < N; ++j) {
                HF[a][i] += g->H.f64[a * N + j] * g->F.f64[j * N + i];
                K[i][a] += to[i * n + j] * g->H.f64[a * N + j];
            }
        }
    for (int p = 0; p < M; ++p)
        for (int a = p + 1; a < M; ++a) {
            const double l = R[a][p] / R[p][p];
            for (int c = p; c < M; ++c) R[a][c] -= l * R[p][c];
            for (int i = 0; i < N; ++i) K[i][a] -= l * K[i][p];
        }
    for (int i = 0; i < N; ++i)
        for (int a = M - 1; a >= 0; --a) {
            for (int c = a + 1; c < M; ++c) K[i][a] -= R[a][c] * K[i][c];
            K[i][a] /= R[a][a];
        }
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) {
            A[i][j] = g->F.f64[i * N + j];
            for (int a = 0; a < M; ++a) A[i][j] -= K[i][a] * HF[a][j];
        }
    /* What the first states have moved of theirs would be far too much of the last one. */
    memcpy(w.kept, to, (size_t)(N * n) * sizeof *to);
    for (int i = 0; i < N; ++i) w.kept[i * n + i] = to[i * n + i] * (1 + 0x1p-51);
    double prediction[NP * NP] = { 0 };
    memcpy(prediction, w.step.Pp, (size_t)(N * n) * sizeof *prediction);
    prediction[(N - 1) * (n + 1)] *= 1e9;
    ks_steady steady = { KS_STEADY_ASKED, 1, 0 };
    assert_false(ks_filter_steady_f64(KS_SHAPE_TILES, N, n, M, &b, KS_STEADY_CYCLE, 1, to, prediction, w.step.Z, w.step.LT,
                                      &w, &steady));
    assert_int_equal(steady.stage, KS_STEADY_REFUSED);
    for (int i = 0; i < N * N; ++i) most = fmax(most, fabs((&A[0][0])[i]));
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) assert_true(fabs(w.ET[j * n + i] - A[i][j]) <= 1e-10 * most);
    free(memory);
    golden_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_to_rest),
        cmocka_unit_test(held_if_asked),
        cmocka_unit_test(bits_of_any_outputs),
        cmocka_unit_test(cycles_are_left),
        cmocka_unit_test(bound_is_the_sum),
        cmocka_unit_test(moved_is_a_norm),
        cmocka_unit_test(held_until_moved),
        cmocka_unit_test(sums_that_end),
        cmocka_unit_test(loop_is_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
