/* test_memo.c -- memory of covariance steps (kalman/memo_text.h) against steps that are whole numbers: whatever
 * recurs, is interrupted or given up, what comes from memory is what the step would have come to; and against
 * filters and smoothers whose steps are all computed. */
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
#include "series.h"

#include "num_f64.h"
#include "gemm_text.h"
#include "smallmat_text.h"
#include "memo_text.h"
#include "num_end.h"

/** A slot holds a key and one number, what the step comes to. */
enum { FEW = 2, MANY = 17, RESULTS = 1, STEPS = 4000 };

/** Steps of a recursion that runs round a circle of some length for a while, and then round another. */
typedef struct recursion {
    int64_t first, length, at, left;
    int outside; /* what comes from there, 0 where nothing does */
} recursion;

static void move(recursion *r, source *random)
{
    r->left = 1 + (int64_t)(60 * uniform(random));
    r->length = 1 + (int64_t)(12 * uniform(random));
    r->first = 100 * (int64_t)(6 * uniform(random));
    r->at = (int64_t)((double)r->length * uniform(random));
}

static void advance(recursion *r) { r->at = (r->at + 1) % r->length; }

/** Where the recursion is stands in one number of b, the others change every second step. */
static void key_of(const recursion *r, int nn, double *a, double *b)
{
    for (int i = 0; i < nn; ++i) {
        a[i] = (double)(1000 * r->outside + i);
        b[i] = (double)(i == 1 ? r->first + r->at + 1000 * r->length : r->at / 2);
    }
}

static double result_of(const recursion *r)
{
    return (double)(r->outside * 100000 + r->length * 1000 + r->first + r->at);
}

/** All slots look as if they held the second step of that circle, which none does yet. */
static void fill(const ks_memo_f64 *memo, int nn, recursion r, double *a, double *b)
{
    advance(&r);
    key_of(&r, nn, a, b);
    for (int at = 0; at < memo->slots; ++at) {
        double *slot = memo->base + at * memo->size;
        memcpy(slot, a, (size_t)memo->ka * sizeof *a);
        memcpy(slot + memo->ka, b, (size_t)nn * sizeof *b);
        slot[memo->ka + nn] = -1;
    }
}

typedef struct counts {
    int64_t found, recorded;
} counts;

static counts remembered(int nx, int ka, int interrupts, uint64_t seed)
{
    const int nn = nx * nx;
    const int64_t numbers = ks_memo_scratch_f64(nx, 1);
    double *memory = zeroed((size_t)numbers, sizeof *memory), a[MANY * MANY], b[MANY * MANY];
    int looked[KS_MEMO_SLOTS] = { 0 };
    source random = { seed };
    counts seen = { 0, 0 };
    recursion r = { 0, 5, 0, 60, ka };
    ks_memo_f64 memo = ks_memo_start_f64(nx, 1, 1, ka ? nn : 0, nn, RESULTS, memory);
    fill(&memo, nn, r, a, b);
    for (int64_t k = 0; k < STEPS; ++k, --r.left) {
        if (r.left == 0) {
            memo.last = -1;
            move(&r, &random);
        }
        if (ka && k > 60 && uniform(&random) < 0.1) r.outside = 1 + (int)(2 * uniform(&random));
        key_of(&r, nn, a, b);
        const double *outside = ka && ks_memo_looks_f64(&memo, b) ? a : NULL; /* what is not looked at need not be there */
        const int at = ks_memo_find_f64(&memo, outside, b);
        if (at >= 0) {
            const double *slot = memo.base + at * memo.size;
            if (ka) assert_memory_equal(slot, a, (size_t)nn * sizeof *a);
            assert_memory_equal(slot + memo.ka, b, (size_t)nn * sizeof *b);
            assert_true(slot[memo.ka + nn] == result_of(&r));
            assert_int_equal(memo.looked[at] != 0, looked[at]);
            memo.looked[at] = 1;
            looked[at] = 1;
            seen.found += 1;
        } else {
            double *slot = ks_memo_miss_f64(&memo, outside, b);
            /* A step may turn out to be none to remember. */
            if (slot && !(interrupts && uniform(&random) < 0.2)) {
                slot[memo.ka + nn] = result_of(&r);
                looked[(slot - memo.base) / memo.size] = 0;
                ks_memo_keep_f64(&memo);
                seen.recorded += 1;
            }
        }
        advance(&r);
    }
    free(memory);
    return seen;
}

static void what_recurs_is_what_was(void **state)
{
    (void)state;
    for (int ka = 0; ka < 2; ++ka)
        for (int interrupts = 0; interrupts < 2; ++interrupts)
            for (uint64_t seed = 1; seed <= 4; ++seed) {
                const counts few = remembered(FEW, ka, interrupts, seed);
                const counts many = remembered(MANY, ka, interrupts, seed);
                /* Of circles up to twelve long, those up to eight, and up to two. */
                assert_true(few.found > STEPS / 5 && few.recorded > 50);
                assert_true(many.found > STEPS / 30 && many.recorded > 10);
            }
}

/** A circle that the slots hold is recorded in its second round and comes from memory from the third on, and the one
 *  after it soon does; a longer one never is recorded, nor is a step after them. */
static void a_circle_is_recorded_once(void **state)
{
    (void)state;
    for (int nx = FEW; nx <= MANY; nx += MANY - FEW)
        for (int64_t length = 1; length <= KS_MEMO_SLOTS + 1; ++length) {
            const int nn = nx * nx;
            double *memory = zeroed((size_t)ks_memo_scratch_f64(nx, 1), sizeof *memory);
            double a[MANY * MANY], b[MANY * MANY];
            ks_memo_f64 memo = ks_memo_start_f64(nx, 1, 1, nn, nn, RESULTS, memory);
            for (recursion r = { 100, length, 0, 0, 1 }; r.first <= 200; r.first += 100) {
                int64_t kept = 0, last_miss = -1;
                memo.last = -1;
                for (int64_t k = 0; k < 101; ++k) {
                    if (k == 100) r.outside = 2;
                    key_of(&r, nn, a, b);
                    if (ks_memo_find_f64(&memo, a, b) < 0) {
                        const double *slot = ks_memo_miss_f64(&memo, a, b);
                        last_miss = k < 100 ? k : last_miss;
                        if (slot) ks_memo_keep_f64(&memo);
                        kept += slot != NULL;
                    }
                    advance(&r);
                }
                const int holds = length <= memo.slots;
                /* Where the second goes round the end of the slots, what it has recorded before is gone. */
                const int rounds = r.first == 100 ? 1 : 2;
                assert_within(kept, holds ? length : 0, holds ? rounds * length : 0);
                assert_within(last_miss, holds ? 2 * length - 1 : 99, holds ? 2 * rounds * length : 99);
                r.outside = 1;
                r.at = 0;
                memo.since = KS_MEMO_SLOTS; /* the next step is the mark */
            }
            free(memory);
        }
}

/** What comes from outside never twice is not recorded, though all else rests. */
static void no_key_twice(void **state)
{
    (void)state;
    double *memory = zeroed((size_t)ks_memo_scratch_f64(FEW, 1), sizeof *memory);
    double a[FEW * FEW], b[FEW * FEW];
    ks_memo_f64 memo = ks_memo_start_f64(FEW, 1, 1, FEW * FEW, FEW * FEW, RESULTS, memory);
    for (recursion r = { 0, 1, 0, 0, 0 }; r.outside < 40; ++r.outside) {
        key_of(&r, FEW * FEW, a, b);
        assert_int_equal(ks_memo_find_f64(&memo, a, b), -1);
        assert_null(ks_memo_miss_f64(&memo, a, b));
    }
    free(memory);
}

/** Filters and smoothers one pass each way, of which u and d vary alone: the bits of the same with u given one row
 *  earlier, and of checkpoints' ranges of 23 steps, in which hardly anything repeats. */
static void memory_changes_no_bit(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 1, 1 }, { 1, 5 }, { 2, 2 }, { 2, 6 }, { 3, 1 }, { 3, 6 }, { 3, 9 }, { 4, 2 }, { 4, 5 },
                                    { 5, 3 }, { 5, 7 }, { 6, 3 }, { 9, 2 }, { 17, 2 } };
    static const method_case m = { .job = KS_JOB_SMOOTH, .method = KS_METHOD_SEQUENTIAL };
    const unsigned sets[] = { outputs_of(KS_JOB_SMOOTH), KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV,
                              KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_VAR | KS_OUT_LOGLIK };
    for (size_t c = 0; c < sizeof sizes / sizeof sizes[0]; ++c)
        for (int i = 0; i < 6; ++i) {
            const ks_precision precision = (ks_precision)(i % 2);
            const int nx = sizes[c][0], ny = sizes[c][1];
            golden *g = model_random((model_spec){ 700 + c, 500, 1, nx, ny, KS_PRIOR_X1,
                                                   HAS_OFFSETS | VARIES_U | VARIES_D });
            /* Gaps that come again and again: the way back runs round a circle of four. */
            for (int64_t k = 100; k < g->T; k += k < 300 ? 4 : 97) model_block(&g->y, 0, k)[ny - 1] = (double)NAN;
            model_round(g);
            const ks_smooth_options o = options_of(&m, precision, sets[i / 2]);
            golden_buffers *here = run_well(g, &m, precision, 1, o.outputs, NULL), *late = NULL;
            golden_buffers *there = run_well(g, &m, precision, 1, sets[2], NULL);
            ks_model model = golden_model(g, precision);
            model.transition = KS_OUT_OF;
            model.u.data = (const char *)model.u.data + (precision == KS_F64 ? sizeof(double) : sizeof(float)) *
                                                            (size_t)nx;
            assert_int_equal(run_model(g, &model, golden_y(g, precision), &o, 1, &late, NULL), KS_OK);
            const unsigned other = first_different(here, there, o.outputs & sets[2]) |
                                   first_different(here, late, o.outputs);
            if (other)
                fail_msg("(%d, %d) in %s: %s has other bits from memory", nx, ny, i % 2 ? "f32" : "f64",
                         golden_output_name((ks_output)(other & -other)));
            golden_buffers_free(here);
            golden_buffers_free(there);
            golden_buffers_free(late);
            golden_free(g);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_recurs_is_what_was),
        cmocka_unit_test(a_circle_is_recorded_once),
        cmocka_unit_test(no_key_twice),
        cmocka_unit_test(memory_changes_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
