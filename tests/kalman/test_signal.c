/* test_signal.c -- the signal H x + d beside its definition, the states and what a filter makes of predictions;
 * variances are not negative. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "assert_within.h"
#include "models.h"
#include "signal_case.h"

/** Number i of a block of a view of the model's, the means' or the covariances' numbers. */
static long double input_of(const made *m, int part, ks_view view, int64_t b, int64_t k, int64_t i)
{
    return (long double)read_view(view, m->number[part], b, k, i);
}

/** Entry (i, j) of H P H' at a series and step; *size: the same of absolute values. */
static double defined_cov(const given *from, const made *m, int64_t b, int64_t k, int i, int j, double *size)
{
    const int nx = from->g->nx;
    long double sum = 0, sizes = 0;
    for (int a = 0; a < nx; ++a)
        for (int c = 0; c < nx; ++c) {
            const long double term = input_of(m, MEAN, from->model.H, b, k, i * nx + a) *
                                     input_of(m, COV, from->cov, b, k, a * nx + c) *
                                     input_of(m, MEAN, from->model.H, b, k, j * nx + c);
            sum += term;
            sizes += fabsl(term);
        }
    *size = (double)sizes;
    return (double)sum;
}

/** An entry beside its definition: sums of n terms in KS_NUM are off by n round-offs of the sum of their sizes, and
 *  with KS_MIXED a covariance is rounded once more. */
static void check_number(const given *from, const made *m, int part, int64_t at, int terms, double expected,
                         double size)
{
    const double eps = m->number[MEAN] == sizeof(float) ? 0x1p-24 : 0x1p-53;
    const double last = m->number[part] == m->number[MEAN] ? 0 : 0x1p-24 * fabs(expected);
    const double off = fabs(number_of(m, part, at) - expected);
    if (!(off <= terms * eps * size + last))
        fail_msg("(%d, %d), T = %d, precision %d: %s [%d] is %g, not %g, of terms of %g", from->g->nx, from->g->ny,
                 (int)from->g->T, (int)from->precision, part_name(part), (int)at, number_of(m, part, at), expected,
                 size);
}

static void check_defined(const given *from, const made *m)
{
    const golden *g = from->g;
    const int nx = g->nx, ny = g->ny, terms = 2 * nx + 3;
    for (int64_t b = 0; b < g->B; ++b)
        for (int64_t k = 0; k < g->T; ++k)
            for (int i = 0; i < ny; ++i) {
                const int64_t row = (b * g->T + k) * ny + i;
                long double sum = from->model.d.data ? input_of(m, MEAN, from->model.d, b, k, i) : 0;
                long double sizes = fabsl(sum);
                double size = 0;
                for (int a = 0; a < nx; ++a) {
                    const long double term = input_of(m, MEAN, from->model.H, b, k, i * nx + a) *
                                             input_of(m, MEAN, from->mean, b, k, a);
                    sum += term;
                    sizes += fabsl(term);
                }
                check_number(from, m, MEAN, row, terms, (double)sum, (double)sizes);
                for (int j = 0; j < ny; ++j) {
                    const double expected = defined_cov(from, m, b, k, i, j, &size);
                    check_number(from, m, COV, row * ny + j, terms, expected, size);
                    const int64_t across = ((b * g->T + k) * ny + j) * ny + i;
                    assert_true(number_of(m, COV, row * ny + j) == number_of(m, COV, across));
                }
                const double R = (double)input_of(m, MEAN, from->model.R, b, k, i * ny + i);
                const double expected = defined_cov(from, m, b, k, i, i, &size) + R;
                check_number(from, m, OBSERVED, row, terms, expected, size + R);
                assert_true(number_of(m, VAR, row) == number_of(m, COV, row * ny + i));
            }
}

/** All sizes that kernels treat each in its way, a single step, entries missing, what varies and what does not. */
static void as_it_is_defined(void **state)
{
    (void)state;
    const int sizes[][3] = { { 1, 1, 1 }, { 1, 1, 9 }, { 2, 1, 7 }, { 1, 3, 5 }, { 3, 2, 9 },
                             { 5, 3, 4 }, { 7, 5, 3 }, { 6, 12, 3 }, { 23, 9, 2 } };
    const unsigned flags[] = { VARIES_ALL | OWN_MODELS | MISSING, HAS_OFFSETS | MISSING, VARIES_H, VARIES_R | MISSING };
    for (size_t c = 0; c < sizeof sizes / sizeof sizes[0]; ++c)
        for (size_t f = 0; f < sizeof flags / sizeof flags[0]; ++f)
            for (int p = 0; p < 3; ++p) {
                golden *g = model_random((model_spec){ 10 + c, sizes[c][2], 2, sizes[c][0], sizes[c][1], KS_PRIOR_X0,
                                                       flags[f] });
                golden_buffers *states = smooth(g, (ks_precision)p);
                const given from = smoothed_of(g, (ks_precision)p, states);
                made m = make(&from, 1, ALL);
                check_defined(&from, &m);
                drop(&m);
                golden_buffers_free(states);
                golden_free(g);
            }
}

/** With H = I and no d the signal is the state, to the bit, and its observations have variances P + R. */
static void of_the_identity(void **state)
{
    (void)state;
    enum { N = 4 };
    for (int p = 0; p < 3; ++p) {
        golden *g = model_random((model_spec){ 31, 8, 2, N, N, KS_PRIOR_X1, MISSING });
        for (int i = 0; i < N * N; ++i) g->H.f64[i] = i % (N + 1) == 0;
        model_round(g);
        golden_buffers *states = smooth(g, (ks_precision)p);
        const given from = smoothed_of(g, (ks_precision)p, states);
        made m = make(&from, 1, ALL);
        assert_memory_equal(m.part[MEAN], from.mean.data, m.bytes[MEAN]);
        assert_memory_equal(m.part[COV], from.cov.data, m.bytes[COV]);
        for (int64_t i = 0; i < g->T * g->B * N; ++i) {
            const double sum = number_of(&m, VAR, i) + g->R.f64[i % N * (N + 1)];
            assert_true(number_of(&m, OBSERVED, i) == (m.number[OBSERVED] == sizeof(float) ? (double)(float)sum : sum));
        }
        drop(&m);
        golden_buffers_free(states);
        golden_free(g);
    }
}

/** Of predictions the signal is what the filter takes y for: the rest is the innovation, whose variance is that of an
 *  observation. Both are sums of the same few terms of a size below 16, in another order. */
static void of_predictions(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 32, 30, 3, 4, 2, KS_PRIOR_X0, VARIES_ALL | OWN_MODELS });
    const unsigned outputs = KS_OUT_PREDICTED_MEAN | KS_OUT_PREDICTED_COV | KS_OUT_INNOVATION | KS_OUT_INNOVATION_COV;
    golden_buffers *b = run_well(g, &filter, KS_F64, 1, outputs, NULL);
    const ks_outputs *o = golden_outputs(b);
    const given from = { g, KS_F64, golden_model(g, KS_F64),
                         { o->predicted_mean.data, g->nx, g->T * g->nx },
                         { o->predicted_cov.data, g->nx * g->nx, g->T * g->nx * g->nx } };
    made m = make(&from, 1, ALL);
    const double *v = o->innovation.data, *S = o->innovation_cov.data;
    for (int64_t i = 0; i < g->B * g->T * g->ny; ++i) {
        assert_true(fabs(g->y.f64[i] - number_of(&m, MEAN, i) - v[i]) < 64 * 16 * 0x1p-53);
        assert_true(fabs(number_of(&m, OBSERVED, i) - S[i / g->ny * g->ny * g->ny + i % g->ny * (g->ny + 1)]) <
                    64 * 16 * 0x1p-53);
    }
    drop(&m);
    golden_buffers_free(b);
    golden_free(g);
}

/** P = v v', rounded, and H across v: what is left of H P H' is round-off, of either sign. R is a round-off below 0. */
static void never_negative(void **state)
{
    (void)state;
    enum { T = 200, N = 2 };
    for (int p = 0; p < 3; ++p) {
        source s = { 37 };
        golden *g = model_random((model_spec){ 37, T, 1, N, 1, KS_PRIOR_X0, VARIES_H });
        golden_buffers *states = smooth(g, (ks_precision)p);
        given from = smoothed_of(g, (ks_precision)p, states);
        int negative = 0;
        for (int64_t k = 0; k < T; ++k) {
            double *H = model_block(&g->H, 0, k), v[N];
            for (int i = 0; i < N; ++i) v[i] = (double)(float)(1 + uniform(&s));
            H[0] = v[1];
            H[1] = -v[0];
            for (int i = 0; i < N * N; ++i) {
                const double entry = v[i / N] * v[i % N];
                if (p == KS_F64) ((double *)golden_outputs(states)->smoothed_cov.data)[k * N * N + i] = entry / 3;
                else ((float *)golden_outputs(states)->smoothed_cov.data)[k * N * N + i] = (float)(entry / 3);
            }
        }
        g->R.f64[0] = -0x1p-60;
        model_round(g);
        from.model = golden_model(g, (ks_precision)p);
        made m = make(&from, 1, ALL);
        for (int64_t k = 0; k < T; ++k) {
            double size;
            negative += defined_cov(&from, &m, 0, k, 0, 0, &size) < 0;
            for (int i = 0; i < PARTS; ++i)
                if (i != MEAN) assert_true(number_of(&m, i, k) >= 0 && number_of(&m, i, k) < size * 0x1p-20);
        }
        assert_within(negative, T / 10, T);
        drop(&m);
        golden_buffers_free(states);
        golden_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_it_is_defined),
        cmocka_unit_test(of_the_identity),
        cmocka_unit_test(of_predictions),
        cmocka_unit_test(never_negative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
