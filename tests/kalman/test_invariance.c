/* test_invariance.c -- what must not change the results: the basis of the state, channels that say
 * nothing, cutting a series in two, how the same model is laid out, trailing gaps. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "models.h"
#include "run_case.h"
#include "sanitizers.h"

#define ARRAY(r, output) ((r)->array[__builtin_ctz(output)])

static double bound_of(const method_case *m, int precision)
{
    return golden_ordinary_bound(route_of(m), (ks_precision)precision);
}

static void near(const golden_results *got, const golden_results *expected, unsigned outputs,
                 int precision, const method_case *m)
{
    const golden_norm strict = { 0, false };
    const golden_difference d = golden_compare(got, expected, outputs, strict);
    if (!(d.error <= bound_of(m, precision)))
        fail_msg("%s in %s: %s at step %lld changes by %.3g", method_case_name(m),
                 precision == KS_F64 ? "f64" : "f32", golden_output_name(d.output),
                 (long long)d.step, d.error);
}

/** x (n) <- M x for `count` vectors, then M P M' for `count` matrices. */
static void map_vectors(int n, const double *M, int64_t count, double *x)
{
    double y[16];
    for (int64_t k = 0; k < count; ++k, x += n) {
        for (int i = 0; i < n; ++i) {
            y[i] = 0;
            for (int j = 0; j < n; ++j) y[i] += M[i * n + j] * x[j];
        }
        memcpy(x, y, (size_t)n * sizeof *x);
    }
}

static void map_matrices(int n, const double *M, int64_t count, double *P)
{
    double T[256];
    for (int64_t k = 0; k < count; ++k, P += n * n) {
        for (int i = 0; i < n * n; ++i) { /* T = M P */
            T[i] = 0;
            for (int l = 0; l < n; ++l) T[i] += M[i / n * n + l] * P[l * n + i % n];
        }
        for (int i = 0; i < n * n; ++i) { /* P = T M' */
            P[i] = 0;
            for (int l = 0; l < n; ++l) P[i] += T[i / n * n + l] * M[i % n * n + l];
        }
    }
}

/** Map all state outputs of a run into the new basis. */
static void map_results(const golden_results *r, const double *M, unsigned outputs)
{
    static const ks_output means[] = { KS_OUT_PREDICTED_MEAN, KS_OUT_FILTERED_MEAN,
                                       KS_OUT_SMOOTHED_MEAN, KS_OUT_PRIOR_MEAN };
    static const ks_output covs[] = { KS_OUT_PREDICTED_COV, KS_OUT_FILTERED_COV,
                                      KS_OUT_SMOOTHED_COV, KS_OUT_PRIOR_COV, KS_OUT_LAG_ONE_COV };
    for (int i = 0; i < 4; ++i)
        if (outputs & means[i])
            map_vectors(r->nx, M, means[i] == KS_OUT_PRIOR_MEAN ? 1 : r->T, ARRAY(r, means[i]));
    for (int i = 0; i < 5; ++i)
        if (outputs & covs[i])
            map_matrices(r->nx, M, covs[i] == KS_OUT_PRIOR_COV ? 1 : r->T, ARRAY(r, covs[i]));
}

static void state_basis(void **state)
{
    (void)state;
    /* Entries and inverses are small integers and dyadic, so nothing is rounded in f64. */
    static const double M[9] = { 2, 1, 0, 0, 1, -1, 0, 0, 4 };
    static const double M_inverse[9] = { 0.5, -0.5, -0.125, 0, 1, 0.25, 0, 0, 0.25 };
    golden *g = model_random((model_spec){ 21, 37, 1, 3, 2, KS_PRIOR_X0,
                                           HAS_OFFSETS | VARIES_F | MISSING });
    golden *other = model_slice(g, 0, 0, g->T);
    model_change_basis(other, M, M_inverse);
    for (int i = 0; i < all_methods_count; ++i) {
        const method_case *m = &all_methods[i];
        const unsigned variances =
            KS_OUT_PREDICTED_VAR | KS_OUT_FILTERED_VAR | KS_OUT_SMOOTHED_VAR;
        const unsigned outputs = outputs_made(m) & ~variances;
        golden_buffers *a = run_well(g, m, KS_F64, 1, outputs_of(KS_JOB_SMOOTH) & outputs, NULL);
        golden_buffers *b = run_well(other, m, KS_F64, 1, outputs, NULL);
        const golden_results *mapped = golden_widen(a);
        map_results(mapped, M, outputs);
        /* The filter has no smoothed covariance for lag one and log-likelihood is its own judge. */
        near(golden_widen(b), mapped, outputs, KS_F64, m);
        golden_buffers_free(a);
        golden_buffers_free(b);
    }
    golden_free(other);
    golden_free(g);
}

/** g with one more channel: H = 0 there, R = 1 and independent of the rest, y as given. */
static golden *with_channel(const golden *g, double y)
{
    const int nx = g->nx, ny = g->ny;
    golden *wide = model_random((model_spec){ 1, g->T, 1, nx, ny + 1, g->prior,
                                              VARIES_ALL });
    golden *flat = model_slice(g, 0, 0, g->T);
    memcpy(wide->m0.f64, flat->m0.f64, (size_t)nx * sizeof(double));
    memcpy(wide->P0.f64, flat->P0.f64, (size_t)(nx * nx) * sizeof(double));
    for (int64_t k = 0; k < g->T; ++k) {
        double *H = model_block(&wide->H, 0, k), *R = model_block(&wide->R, 0, k);
        memcpy(model_block(&wide->F, 0, k), model_block(&flat->F, 0, k),
               (size_t)(nx * nx) * sizeof(double));
        memcpy(model_block(&wide->Q, 0, k), model_block(&flat->Q, 0, k),
               (size_t)(nx * nx) * sizeof(double));
        memcpy(model_block(&wide->u, 0, k), model_block(&flat->u, 0, k),
               (size_t)nx * sizeof(double));
        for (int i = 0; i <= ny; ++i) {
            const int added = i == ny;
            model_block(&wide->y, 0, k)[i] = added ? y : model_block(&flat->y, 0, k)[i];
            model_block(&wide->d, 0, k)[i] = added ? 0 : model_block(&flat->d, 0, k)[i];
            for (int c = 0; c < nx; ++c)
                H[i * nx + c] = added ? 0 : model_block(&flat->H, 0, k)[i * nx + c];
            for (int j = 0; j <= ny; ++j)
                R[i * (ny + 1) + j] = i == j && added ? 1
                                      : added || j == ny
                                          ? 0
                                          : model_block(&flat->R, 0, k)[i * ny + j];
        }
    }
    golden_free(flat);
    model_round(wide);
    return wide;
}

static void uninformative_channel(void **state)
{
    (void)state;
    const unsigned innovations = KS_OUT_INNOVATION | KS_OUT_INNOVATION_COV | KS_OUT_INNOVATION_STD;
    golden *g = model_random((model_spec){ 22, 41, 1, 3, 2, KS_PRIOR_X0, HAS_OFFSETS | MISSING });
    for (int kind = 0; kind < 2; ++kind) { /* observed, or always missing */
        golden *wide = with_channel(g, kind ? (double)NAN : 0.5);
        for (int i = 0; i < all_methods_count; ++i)
            for (int p = SANITIZED ? i % 2 : 0; p < 2; p += 1 + SANITIZED) {
                const method_case *m = &all_methods[i];
                const unsigned outputs = outputs_made(m) & ~innovations;
                golden_buffers *a = run_well(g, m, (ks_precision)p, 1, outputs, NULL);
                golden_buffers *b = run_well(wide, m, (ks_precision)p, 1, outputs, NULL);
                const golden_results *ra = golden_widen(a);
                if (!kind) /* what the channel itself adds to the log-likelihood */
                    for (int64_t k = 0; k < g->T; ++k) {
                        const double term = -log(2 * acos(-1)) / 2 - 0.125;
                        ARRAY(ra, KS_OUT_LOGLIK)[0] += term;
                        if (outputs & KS_OUT_LOGLIK_TERMS)
                            ARRAY(ra, KS_OUT_LOGLIK_TERMS)[k] += term;
                    }
                near(golden_widen(b), ra, outputs, p, m);
                golden_buffers_free(a);
                golden_buffers_free(b);
            }
        golden_free(wide);
    }
    golden_free(g);
}

/** Rows from step `cut` on, as results of their own. */
static golden_results tail_of(const golden_results *r, int64_t cut, int nx)
{
    golden_results t = *r;
    t.T = r->T - cut;
    for (int i = 0; i < GOLDEN_OUTPUTS; ++i) {
        const ks_output output = (ks_output)(1 << i);
        int64_t block = 0;
        switch (output) {
        case KS_OUT_LOGLIK_TERMS: block = 1; break;
        case KS_OUT_PREDICTED_MEAN: case KS_OUT_FILTERED_MEAN: case KS_OUT_SMOOTHED_MEAN:
        case KS_OUT_PREDICTED_VAR: case KS_OUT_FILTERED_VAR: case KS_OUT_SMOOTHED_VAR:
            block = nx;
            break;
        case KS_OUT_PREDICTED_COV: case KS_OUT_FILTERED_COV: case KS_OUT_SMOOTHED_COV:
        case KS_OUT_LAG_ONE_COV: block = (int64_t)nx * nx; break;
        default: t.array[i] = NULL; continue;
        }
        if (r->array[i]) t.array[i] = r->array[i] + cut * block;
    }
    return t;
}

/** Continue from the filtered state of step cut - 1 as the prior x[-1] of a second series. */
static void cut_in_two(void **state)
{
    (void)state;
    static const int64_t cuts[] = { 1, 2, 17, 42 };
    golden *g = model_random((model_spec){ 23, 43, 1, 3, 2, KS_PRIOR_X0, VARIES_ALL | MISSING });
    for (int i = 0; i < all_methods_count; ++i)
        for (int p = SANITIZED ? i % 2 : 0; p < 2; p += 1 + SANITIZED)
            for (size_t c = 0; c < sizeof cuts / sizeof cuts[0]; ++c) {
                const method_case *m = &all_methods[i];
                const unsigned outputs = outputs_made(m);
                const int64_t cut = cuts[c];
                golden *head = model_slice(g, 0, 0, cut);
                golden *tail = model_slice(g, 0, cut, g->T - cut);
                golden_buffers *whole = run_well(g, m, (ks_precision)p, 1, outputs, NULL);
                golden_buffers *first = run_well(head, m, (ks_precision)p, 1, outputs, NULL);
                const golden_results *w = golden_widen(whole), *f = golden_widen(first);
                /* Of its last step a smoother knows what a filter does. */
                const ks_output mean =
                    outputs & KS_OUT_FILTERED_MEAN ? KS_OUT_FILTERED_MEAN : KS_OUT_SMOOTHED_MEAN;
                const ks_output cov =
                    outputs & KS_OUT_FILTERED_COV ? KS_OUT_FILTERED_COV : KS_OUT_SMOOTHED_COV;
                for (int j = 0; j < 3; ++j) {
                    tail->m0.f64[j] = ARRAY(f, mean)[(cut - 1) * 3 + j];
                    tail->m0.f32[j] = (float)tail->m0.f64[j];
                }
                for (int j = 0; j < 9; ++j) {
                    tail->P0.f64[j] = ARRAY(f, cov)[(cut - 1) * 9 + j];
                    tail->P0.f32[j] = (float)tail->P0.f64[j];
                }
                golden_buffers *second = run_well(tail, m, (ks_precision)p, 1, outputs, NULL);
                const golden_results *s = golden_widen(second);
                golden_results expected = tail_of(w, cut, 3), got = *s;
                const unsigned compared =
                    outputs & ~(unsigned)(KS_OUT_LAG_ONE_COV | KS_OUT_INNOVATION |
                                          KS_OUT_INNOVATION_COV | KS_OUT_INNOVATION_STD);
                near(&got, &expected, compared, p, m);
                const double sum = f->array[0][0] + s->array[0][0];
                assert_true(fabs(sum - w->array[0][0]) <= bound_of(m, p) * (1 + fabs(sum)));
                if (m->job == KS_JOB_SMOOTH) {
                    /* The smoothed prior of the second half is the smoothed state before it. */
                    for (int j = 0; j < 3; ++j) {
                        const double sd =
                            sqrt(ARRAY(w, KS_OUT_SMOOTHED_COV)[(cut - 1) * 9 + j * 4]);
                        assert_true(fabs(ARRAY(s, KS_OUT_PRIOR_MEAN)[j] -
                                         ARRAY(w, KS_OUT_SMOOTHED_MEAN)[(cut - 1) * 3 + j]) <=
                                    bound_of(m, p) * sd);
                    }
                    for (int j = 0; j < 9; ++j)
                        assert_true(fabs(ARRAY(s, KS_OUT_LAG_ONE_COV)[j] -
                                         ARRAY(w, KS_OUT_LAG_ONE_COV)[cut * 9 + j]) <=
                                    bound_of(m, p));
                }
                golden_buffers_free(second);
                golden_buffers_free(first);
                golden_buffers_free(whole);
                golden_free(head);
                golden_free(tail);
            }
    golden_free(g);
}

static void same_bits(const golden_buffers *a, const golden_buffers *b, unsigned outputs,
                      const method_case *m)
{
    const unsigned different = first_different(a, b, outputs);
    if (different)
        fail_msg("%s: %s has other bits", method_case_name(m),
                 golden_output_name((ks_output)different));
}

/** From both ends a Q that varies goes another way than one for all steps. */
static void noise_of_all_steps(golden *each, const golden *g, const method_case *m)
{
    if (is_two_ended(m) && !g->Q.step_stride) each->Q.step_stride = 0;
}

static void constant_or_step_by_step(void **state)
{
    (void)state;
    for (int prior = 0; prior < 2; ++prior) {
        golden *g = model_random((model_spec){ 24, 47, 1, 4, 2, (ks_prior)prior,
                                               HAS_OFFSETS | MISSING });
        golden *rows = model_slice(g, 0, 0, g->T);
        const int64_t stride = rows->Q.step_stride;
        for (int i = 0; i < all_methods_count; ++i)
            for (int p = SANITIZED ? i % 2 : 0; p < 2; p += 1 + SANITIZED) {
                const method_case *m = &all_methods[i];
                const unsigned outputs = outputs_made(m);
                rows->Q.step_stride = stride;
                noise_of_all_steps(rows, g, m);
                golden_buffers *a = run_well(g, m, (ks_precision)p, 1, outputs, NULL);
                golden_buffers *b = run_well(rows, m, (ks_precision)p, 1, outputs, NULL);
                same_bits(a, b, outputs, m);
                golden_buffers_free(a);
                golden_buffers_free(b);
            }
        golden_free(rows);
        golden_free(g);
    }
}

/** Rows 1 .. T - 1 of n numbers to memory of their own, where they vary: nothing is before them, nor behind. */
static void *one_row_on(ks_view *view, int64_t n, int64_t T, ks_precision precision)
{
    const size_t bytes = (size_t)n * (precision == KS_F64 ? sizeof(double) : sizeof(float));
    if (!view->step_stride) return NULL;
    assert_int_equal(view->step_stride, n);
    char *rows = malloc((size_t)(T - 1) * bytes);
    assert_non_null(rows);
    memcpy(rows, (const char *)view->data + bytes, (size_t)(T - 1) * bytes);
    view->data = rows;
    return rows;
}

/** Rows given out of a step instead of into the next: the same arrays, one row on. */
static void transition_convention(void **state)
{
    (void)state;
    for (unsigned flags = VARIES_F; flags <= VARIES_ALL; flags = flags * 2 + 1) {
        golden *g = model_random((model_spec){ 25, 31, 1, 3, 2, KS_PRIOR_X1,
                                               flags | HAS_OFFSETS | MISSING });
        for (int i = 0; i < all_methods_count; ++i)
            for (int p = SANITIZED ? i % 2 : 0; p < 2; p += 1 + SANITIZED) {
                const method_case *m = &all_methods[i];
                const ks_precision precision = (ks_precision)p;
                const ks_smooth_options o = options_of(m, precision, outputs_made(m));
                golden_buffers *a = run_well(g, m, precision, 1, o.outputs, NULL), *b = NULL;
                ks_model model = golden_model(g, precision);
                void *F = one_row_on(&model.F, 9, g->T, precision);
                void *Q = one_row_on(&model.Q, 9, g->T, precision);
                void *u = one_row_on(&model.u, 3, g->T, precision);
                model.transition = KS_OUT_OF;
                assert_int_equal(run_model(g, &model, golden_y(g, precision), &o, 1, &b, NULL),
                                 KS_OK);
                same_bits(a, b, o.outputs, m);
                golden_buffers_free(a);
                golden_buffers_free(b);
                free(F);
                free(Q);
                free(u);
            }
        golden_free(g);
    }
}

static void together_or_alone(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 26, 19, 3, 3, 2, KS_PRIOR_X0,
                                           OWN_MODELS | HAS_OFFSETS | MISSING });
    for (int i = 0; i < all_methods_count; ++i)
        for (int p = SANITIZED ? i % 2 : 0; p < 2; p += 1 + SANITIZED) {
            const method_case *m = &all_methods[i];
            const unsigned outputs = outputs_made(m);
            golden_buffers *all = run_well(g, m, (ks_precision)p, 1, outputs, NULL);
            for (int64_t b = 0; b < g->B; ++b) {
                golden *one = model_slice(g, b, 0, g->T);
                noise_of_all_steps(one, g, m);
                golden_buffers *alone = run_well(one, m, (ks_precision)p, 1, outputs, NULL);
                for (unsigned bit = 1; bit <= outputs; bit <<= 1) {
                    if (!(outputs & bit)) continue;
                    size_t bytes = 0, part = 0;
                    const char *whole = golden_bytes(all, (ks_output)bit, &bytes);
                    const void *own = golden_bytes(alone, (ks_output)bit, &part);
                    assert_int_equal(bytes, part * (size_t)g->B);
                    if (memcmp(whole + (size_t)b * part, own, part) != 0)
                        fail_msg("%s: %s of series %lld has other bits alone",
                                 method_case_name(m), golden_output_name((ks_output)bit),
                                 (long long)b);
                }
                golden_buffers_free(alone);
                golden_free(one);
            }
            golden_buffers_free(all);
        }
    golden_free(g);
}

static void trailing_gap(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 27, 40, 1, 3, 2, KS_PRIOR_X0, HAS_OFFSETS });
    for (int64_t k = 29; k < 40; ++k)
        for (int i = 0; i < 2; ++i)
            model_block(&g->y, 0, k)[i] = (double)NAN;
    model_round(g);
    golden *shorter = model_slice(g, 0, 0, 29);
    for (int i = 0; i < all_methods_count; ++i)
        for (int p = SANITIZED ? i % 2 : 0; p < 2; p += 1 + SANITIZED) {
            const method_case *m = &all_methods[i];
            const unsigned outputs =
                outputs_made(m) & (KS_OUT_LOGLIK | KS_OUT_FILTERED_MEAN | KS_OUT_SMOOTHED_MEAN);
            golden_buffers *a = run_well(g, m, (ks_precision)p, 1, outputs, NULL);
            golden_buffers *b = run_well(shorter, m, (ks_precision)p, 1, outputs, NULL);
            const golden_results *ra = golden_widen(a), *rb = golden_widen(b);
            const double loglik = rb->array[0][0];
            assert_true(fabs(ra->array[0][0] - loglik) <=
                        (p == KS_F64 ? 1e-12 : 1e-5) * (1 + fabs(loglik)));
            /* Without further data the filtered states are those before the gap. */
            for (int j = 0; j < 29 * 3 && (outputs & KS_OUT_FILTERED_MEAN); ++j)
                assert_true(fabs(ARRAY(ra, KS_OUT_FILTERED_MEAN)[j] -
                                 ARRAY(rb, KS_OUT_FILTERED_MEAN)[j]) <= bound_of(m, p));
            for (int j = 0; j < 29 * 3 && m->job == KS_JOB_SMOOTH; ++j)
                assert_true(fabs(ARRAY(ra, KS_OUT_SMOOTHED_MEAN)[j] -
                                 ARRAY(rb, KS_OUT_SMOOTHED_MEAN)[j]) <= bound_of(m, p));
            golden_buffers_free(a);
            golden_buffers_free(b);
        }
    golden_free(shorter);
    golden_free(g);
}

static void multiply(const golden_input *in, int64_t T, int64_t block, double by)
{
    const int64_t rows = in->step_stride ? T : 1;
    for (int64_t i = 0; in->f64 && i < rows * block; ++i) in->f64[i] *= by;
}

/** A unit so large or so small that products of two variances leave the range, but not the variances. */
static void in_any_unit(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 2, 2 }, { 3, 1 }, { 4, 2 }, { 4, 4 }, { 6, 3 }, { 8, 4 }, { 12, 6 } };
    static const int powers[][8] = { { 150, -150, 250, -250, 253, -253, 262, -262 }, { 20, -20, 30, -30, 31, -31, 33, -33 } };
    static const ks_method methods[] = { KS_METHOD_SEQUENTIAL, KS_METHOD_AUTO, KS_METHOD_TWO_ENDED };
    const int64_t T = 300;
    const unsigned outputs = KS_OUT_LOGLIK | KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV;
    if (ALL_ON_DEVICE) skip(); /* its methods are others */
    for (size_t c = 0; c < sizeof sizes / sizeof sizes[0]; ++c)
        for (int way = 0; way < 12; ++way) {
            const int64_t nx = sizes[c][0], ny = sizes[c][1];
            const method_case m = { .job = KS_JOB_SMOOTH, .method = methods[way / 2 % 3] };
            const ks_precision precision = way < 6 ? KS_F64 : KS_F32;
            const double bound = precision == KS_F64 ? 1e-10 : 1e-3;
            const model_spec spec = { 70 + c, T, 1, (int)nx, (int)ny, KS_PRIOR_X0,
                                      HAS_OFFSETS | MISSING | (way % 2 ? VARIES_ALL : 0) };
            golden *g = model_random(spec);
            golden_buffers *a = run_well(g, &m, precision, 2, outputs, NULL);
            const golden_results *plain = golden_widen(a);
            for (size_t e = 0; e < sizeof powers[0] / sizeof powers[0][0]; ++e) {
                golden *h = model_random(spec);
                const int power = powers[precision][e];
                const double unit = ldexp(1, power);
                multiply(&h->y, T, ny, unit);
                multiply(&h->d, T, ny, unit);
                multiply(&h->u, T, nx, unit);
                multiply(&h->m0, 1, nx, unit);
                multiply(&h->Q, T, nx * nx, unit * unit);
                multiply(&h->R, T, ny * ny, unit * unit);
                multiply(&h->P0, 1, nx * nx, unit * unit);
                ks_info info = KS_INFO_INIT;
                if (precision == KS_F32) model_round(h);
                golden_buffers *b = run_well(h, &m, precision, 2, outputs, &info);
                const golden_results *r = golden_widen(b);
                for (int64_t k = 0; k < T; ++k) {
                    const double *P = ARRAY(plain, KS_OUT_SMOOTHED_COV) + k * nx * nx;
                    for (int64_t i = 0; i < nx; ++i) {
                        const double sd = sqrt(P[i * (nx + 1)]);
                        const double *x = ARRAY(plain, KS_OUT_SMOOTHED_MEAN), *X = ARRAY(r, KS_OUT_SMOOTHED_MEAN);
                        if (!(fabs(X[k * nx + i] / unit - x[k * nx + i]) <= bound * sd))
                            fail_msg("%s, (%d, %d), 2^%d: mean of step %d", method_case_name(&m), (int)nx, (int)ny,
                                     power, (int)k);
                        for (int64_t j = 0; j < nx; ++j) {
                            const double C = ARRAY(r, KS_OUT_SMOOTHED_COV)[(k * nx + i) * nx + j] / unit / unit;
                            if (!(fabs(C - P[i * nx + j]) <= bound * sd * sqrt(P[j * (nx + 1)])))
                                fail_msg("%s, (%d, %d), 2^%d: covariance of step %d", method_case_name(&m), (int)nx,
                                         (int)ny, power, (int)k);
                        }
                    }
                }
                const double entries = (double)(T * ny - info.missing), loglik = ARRAY(plain, KS_OUT_LOGLIK)[0];
                assert_true(fabs(ARRAY(r, KS_OUT_LOGLIK)[0] + entries * power * log(2) - loglik) <=
                            bound * entries * abs(power));
                golden_buffers_free(b);
                golden_free(h);
            }
            golden_buffers_free(a);
            golden_free(g);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_basis),           cmocka_unit_test(uninformative_channel),
        cmocka_unit_test(cut_in_two),            cmocka_unit_test(constant_or_step_by_step),
        cmocka_unit_test(transition_convention), cmocka_unit_test(together_or_alone),
        cmocka_unit_test(trailing_gap),          cmocka_unit_test(in_any_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
