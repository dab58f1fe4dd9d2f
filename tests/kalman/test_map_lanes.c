/* test_map_lanes.c -- the MAP route in one pass each way: the operations shaped for registers against
 * those in plain loops, for every specialised size and those around it, both tiers, lanes that meet
 * anywhere, constant and time-varying models, missing entries; and both against the slow reference. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "hd.h"
#include "map.h"
#include "models.h"
#include "run_case.h"
#include "textbook.h"

#include "num_f64.h"
#include "gemm_text.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "memo_text.h"
#include "range_text.h"
#include "map_factor_text.h"
#include "map_ops_text.h"
#include "map_blocks_text.h"
#include "map_memory_text.h"
#include "map_terms_text.h"
#include "map_text.h"
#include "map_links_text.h"
#include "map_rows_text.h"
#include "map_memo_text.h"
#include "map_wide_text.h"
#include "map_chain_text.h"
#define KS_MAP_TABLE plain_map
#define KS_WITH_STATES(nx, CALL) CALL(nx);
extern const ks_map_kernels plain_map;
#include "map_table_text.h"
#include "num_end.h"

enum { STEPS = 23, MOST = 49 };

/** Up to 8 states all is unrolled; from 9 on blocks are factored, from 33 on by bands of rows. */
static const int sizes[][2] = {
    { 1, 1 }, { 1, 5 }, { 2, 1 }, { 3, 2 }, { 4, 1 }, { 4, 2 },  { 4, 4 },   { 4, 7 },  { 5, 2 },
    { 6, 3 }, { 6, 8 }, { 7, 4 }, { 8, 1 }, { 8, 4 }, { 9, 13 }, { 12, 6 }, { 13, 5 }, { 17, 3 },
    { 10, 4 }, { 11, 5 }, { 16, 8 }, { 24, 12 }, { 33, 2 }, { 49, 20 },
};

/** Those that are the same as the one before are not tried again. */
static const ks_tier tiers[] = { KS_TIER_BASELINE, KS_TIER_AVX2, KS_TIER_AVX512 };

typedef struct results {
    double x[STEPS * MOST], S[STEPS * MOST * MOST], lag[STEPS * MOST * MOST];
    ks_map_review review;
    double loglik;
} results;

static ks_rows rows_of(const golden_input *in, int64_t block, const double *zeros)
{
    const ks_rows rows = { (const char *)(in->f64 ? in->f64 : zeros),
                           in->f64 ? in->step_stride * (int64_t)sizeof(double) : 0 };
    (void)block;
    return rows;
}

static ks_series series_of(const golden *g)
{
    static const double zeros[64];
    ks_series s = { 0 };
    s.nx = g->nx;
    s.ny = g->ny;
    s.prior_x1 = g->prior == KS_PRIOR_X1;
    s.steps = STEPS;
    s.F = rows_of(&g->F, 0, zeros);
    s.Q = rows_of(&g->Q, 0, zeros);
    s.u = rows_of(&g->u, 0, zeros);
    s.H = rows_of(&g->H, 0, zeros);
    s.R = rows_of(&g->R, 0, zeros);
    s.d = rows_of(&g->d, 0, zeros);
    s.y = rows_of(&g->y, 0, zeros);
    s.m0 = g->m0.f64;
    s.P0 = g->P0.f64;
    return s;
}

static void run_lanes(const ks_map_kernels *kernels, const ks_series *s, int64_t middle, results *r)
{
    const int64_t n = s->nx, number = sizeof(double);
    ks_map_system a;
    memset(&a, 0, sizeof a);
    memset(r, 0, sizeof *r);
    a.x = (ks_sink){ (char *)r->x, n * number, 0 };
    a.S = (ks_sink){ (char *)r->S, n * n * number, 0 };
    a.lag = (ks_sink){ (char *)r->lag, n * n * number, 0 };
    a.constant = (s->Q.stride ? 0u : KS_MAP_CONSTANT_Q) | (s->u.stride ? 0u : KS_MAP_CONSTANT_INPUT) |
                 (s->Q.stride || s->F.stride ? 0u : KS_MAP_CONSTANT_TRANSITION) |
                 (s->R.stride || s->H.stride ? 0u : KS_MAP_CONSTANT_OBSERVATION);
    a.pivot = 1e-15;
    a.largest = 1e300;
    a.middle = middle;
    const size_t bytes = (kernels->memory_bytes(s->nx, s->ny) + 63) / 64 * 64;
    void *up = aligned_alloc(64, bytes), *down = aligned_alloc(64, bytes);
    assert_true(up && down);
    void *below = middle + 1 < STEPS ? down : NULL;
    ks_tally tally = ks_tally_start();
    kernels->open(s->nx, s->ny, up);
    kernels->open(s->nx, s->ny, down);
    r->review.evidence = ks_evidence_start();
    r->review.lost_step = r->review.bad_step = -1;
    /* In ranges that nobody expects. */
    for (int64_t k = 0; k <= middle; k += 5)
        assert_int_equal(kernels->ascend(s, k, k + 5 <= middle ? k + 5 : middle + 1, &a, up,
                                         &r->review, &tally), 0);
    for (int64_t k = STEPS; k > middle + 1; k -= 3)
        assert_int_equal(kernels->descend(s, k - 3 > middle ? k - 3 : middle + 1, k, &a, down,
                                          &r->review, &tally), 0);
    kernels->meet(s->nx, middle, &a, up, below, &r->review);
    assert_int_equal(kernels->back_down(s, 0, middle + 1, &a, up, &r->review, &tally), 0);
    assert_int_equal(kernels->back_up(s, middle + 1, STEPS, &a, down, &r->review, &tally), 0);
    kernels->join(s->nx, middle, &a, up, below, &r->review);
    r->review.evidence.entries = STEPS * s->ny - tally.missing;
    r->loglik = ks_evidence_loglik(&r->review.evidence);
    free(up);
    free(down);
}

/** Entries of b differ from those of a by little, beside a scale. */
static void near(const char *what, int n, int64_t count, const double *a, const double *b)
{
    double largest = 0;
    for (int64_t i = 0; i < count; ++i) largest = fmax(largest, fabs(b[i]));
    for (int64_t i = 0; i < count; ++i)
        if (!(fabs(a[i] - b[i]) <= 1e-10 * largest))
            fail_msg("n = %d, %s[%lld]: %.17g, not %.17g", n, what, (long long)i, a[i], b[i]);
}

static void operations_agree(void **state)
{
    (void)state;
    static const unsigned flags[] = { 0, MISSING, VARIES_ALL | HAS_OFFSETS,
                                      VARIES_ALL | HAS_OFFSETS | MISSING, VARIES_F | MISSING,
                                      VARIES_H | VARIES_Q };
    results *plain = malloc(sizeof *plain), *fast = malloc(sizeof *fast);
    assert_true(plain && fast);
    for (size_t c = 0; c < sizeof sizes / sizeof sizes[0]; ++c)
        for (size_t f = 0; f < sizeof flags / sizeof flags[0]; ++f) {
            golden *g = model_random((model_spec){ 370 + c, STEPS, 1, sizes[c][0], sizes[c][1],
                                                   f % 2 ? KS_PRIOR_X1 : KS_PRIOR_X0, flags[f] });
            const ks_series s = series_of(g);
            const int64_t n = s.nx, middle[] = { 0, 1, STEPS / 2, STEPS - 2, STEPS - 1 };
            run_lanes(&plain_map, &s, STEPS - 1, plain);
            for (int tier = 0; tier < 3; ++tier)
                for (int i = 0; i < 5; ++i) {
                    /* Large blocks take their time: each meets in one place. */
                    if (n > 16 && i != (int)(c + f) % 5) continue;
                    const ks_map_kernels *kernels = ks_map_kernels_of(tiers[tier], s.nx);
                    if (!kernels || (tier > 0 && kernels == ks_map_kernels_of(tiers[tier - 1], s.nx))) continue;
                    run_lanes(kernels, &s, middle[i], fast);
                    near("mean", s.nx, STEPS * n, fast->x, plain->x);
                    near("cov", s.nx, STEPS * n * n, fast->S, plain->S);
                    near("lag", s.nx, STEPS * n * n, fast->lag, plain->lag);
                    near("loglik", s.nx, 1, &fast->loglik, &plain->loglik);
                    near("trace", s.nx, 1, &fast->review.loss, &plain->review.loss);
                    near("inflation", s.nx, 1, &fast->review.inflation, &plain->review.inflation);
                    assert_true(fast->review.gradient < 1e-18);
                    assert_int_equal(fast->review.lost_step, -1);
                    assert_int_equal(fast->review.bad_step, -1);
                }
            golden_free(g);
        }
    free(plain);
    free(fast);
}

/** The largest trace and the largest inflation of a step, by the blocks of a system that is put together. */
static void judge_traces(const ks_series *s, const results *r)
{
    const int64_t n = s->nx, number = sizeof(double);
    double *D = zeroed(STEPS * MOST * MOST, sizeof *D), *L = zeroed(STEPS * MOST * MOST, sizeof *L);
    double *x = zeroed(STEPS * MOST, sizeof *x), trace = 0, inflation = 0;
    void *memory = zeroed_work(plain_map.memory_bytes(s->nx, s->ny));
    ks_tally tally = ks_tally_start();
    ks_map_system a;
    memset(&a, 0, sizeof a);
    a.D = (ks_sink){ (char *)D, n * n * number, 0 };
    a.L = (ks_sink){ (char *)L, n * n * number, 0 };
    a.x = a.z = (ks_sink){ (char *)x, n * number, 0 };
    a.pivot = 1e-15;
    plain_map.open(s->nx, s->ny, memory);
    for (int64_t k = 0; k < STEPS; ++k)
        assert_int_equal(plain_map.assemble(s, k, 1, k > 0, &a, memory, &tally), 0);
    for (int64_t k = 0; k < STEPS; ++k) {
        double whole = 0, diagonal = 0;
        for (int64_t i = 0; i < n * n; ++i) {
            const double product = D[k * n * n + i] * r->S[k * n * n + i];
            whole += product;
            if (i / n == i % n) diagonal += product;
        }
        trace = fmax(trace, whole);
        inflation = fmax(inflation, diagonal);
    }
    near("trace of the system", s->nx, 1, &r->review.loss, &trace);
    near("inflation of the system", s->nx, 1, &r->review.inflation, &inflation);
    free(memory);
    free(x);
    free(L);
    free(D);
}

/** The plain text with the lanes meeting anywhere, by the slow reference. */
static void plain_lanes(void **state)
{
    (void)state;
    results *r = malloc(sizeof *r), *one = malloc(sizeof *one);
    assert_true(r && one);
    for (int64_t i = 0; i < 2 * STEPS; ++i) {
        const int64_t middle = i % STEPS;
        const int n = i < STEPS ? 3 : 10;
        golden *g = model_random((model_spec){ 390, STEPS, 1, n, 2, KS_PRIOR_X0,
                                               VARIES_ALL | HAS_OFFSETS | MISSING });
        textbook_smooth(g);
        const ks_series s = series_of(g);
        run_lanes(&plain_map, &s, middle, r);
        if (middle == 0) *one = *r;
        near("mean", n, STEPS * n, r->x,
             g->expected.array[__builtin_ctz(KS_OUT_SMOOTHED_MEAN)]);
        near("cov", n, STEPS * n * n, r->S,
             g->expected.array[__builtin_ctz(KS_OUT_SMOOTHED_COV)]);
        near("loglik", n, 1, &r->loglik, g->expected.array[__builtin_ctz(KS_OUT_LOGLIK)]);
        near("trace", n, 1, &r->review.loss, &one->review.loss);
        near("inflation", n, 1, &r->review.inflation, &one->review.inflation);
        if (middle == 0) judge_traces(&s, r);
        golden_free(g);
    }
    free(r);
    free(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_agree),
        cmocka_unit_test(plain_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
