/* test_threads.c -- the same bits for any number of threads, and one plan run by many threads. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "models.h"
#include "run_case.h"
#include "sanitizers.h"

/* What threads share does not depend on how many there are. */
enum { APART = SANITIZED ? 3 : 1 };

static void same_bits_on_threads(golden *g)
{
    for (int i = 0; i < all_methods_count; ++i)
        for (int p = 0; p < 2 + takes_mixed(&all_methods[i]); ++p) {
            const method_case *m = &all_methods[i];
            const unsigned outputs = outputs_made(m);
            ks_info alone = KS_INFO_INIT;
            if (WATCHES_THREADS && p == KS_F32) continue; /* whose arithmetic is not watched, and the rest is one text */
            golden_buffers *one = run_well(g, m, (ks_precision)p, 1, outputs, &alone);
            /* One series in double goes with all numbers of threads. Of several, and where each takes long, one precision
             * goes with two and eight, the other with five. */
            const int few = SANITIZED || p || g->B > 1, odd = (i + p) % 2;
            for (int threads = few && odd ? 5 : 2; threads <= 8; threads += few ? 6 : 1) {
                ks_info info = KS_INFO_INIT;
                golden_buffers *many = run_well(g, m, (ks_precision)p, threads, outputs, &info);
                const unsigned different = first_different(one, many, outputs);
                if (different)
                    fail_msg("%s on %d threads: %s has other bits", method_case_name(m), threads,
                             golden_output_name((ks_output)different));
                assert_true(info.threads >= 1 && info.threads <= threads);
                assert_int_equal(info.rounds, alone.rounds);
                assert_int_equal(info.combines, alone.combines);
                assert_int_equal(info.elements, alone.elements);
                assert_int_equal(info.ordinary_steps, alone.ordinary_steps);
                assert_int_equal(info.array_steps, alone.array_steps);
                assert_int_equal(info.missing, alone.missing);
                golden_buffers_free(many);
            }
            golden_buffers_free(one);
        }
}

static void one_series(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 41, 307, 1, 3, 2, KS_PRIOR_X0, HAS_OFFSETS | MISSING });
    same_bits_on_threads(g);
    golden_free(g);
}

static void many_series(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 42, 23, 11, 2, 2, KS_PRIOR_X1,
                                           OWN_MODELS | VARIES_ALL | MISSING });
    same_bits_on_threads(g);
    golden_free(g);
}

static void fewer_steps_than_threads(void **state)
{
    (void)state;
    for (int64_t T = 1; T <= 3; ++T) {
        golden *g = model_random((model_spec){ 43, T, 2, 5, 2, KS_PRIOR_X0, HAS_OFFSETS });
        same_bits_on_threads(g);
        golden_free(g);
    }
}

/** Of several faults the first is told, whoever meets it. */
static void first_fault_on_threads(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 44, 200, 4, 2, 2, KS_PRIOR_X0, 0 });
    static const int64_t where[][2] = { { 3, 20 }, { 2, 150 }, { 2, 90 }, { 1, 199 } };
    for (size_t i = 0; i < sizeof where / sizeof where[0]; ++i)
        model_block(&g->y, where[i][0], where[i][1])[1] = (double)INFINITY;
    model_round(g);
    for (int i = 0; i < all_methods_count; ++i)
        for (int threads = 1; threads <= 8; threads += APART) {
            const method_case *m = &all_methods[i];
            golden_buffers *b = NULL;
            ks_info info = KS_INFO_INIT;
            const ks_status status = run_case(g, m, KS_F64, threads, outputs_made(m), &b, &info);
            golden_buffers_free(b);
            if (status != KS_EMODEL || info.array != KS_ARRAY_Y || info.series != 1 ||
                info.step != 199 || info.row != 1 || info.fault != KS_FAULT_NOT_FINITE)
                fail_msg("%s on %d threads: %s, %s, series %lld, step %lld, row %d",
                         method_case_name(m), threads, ks_status_name(status),
                         ks_array_name(info.array), (long long)info.series, (long long)info.step,
                         info.row);
        }
    golden_free(g);
}

/** What a plan says of its threads is what a run of it takes. */
static void plans_tell_their_threads(void **state)
{
    (void)state;
    for (int64_t B = 1; B <= 40; B += 39) {
        golden *g = model_random((model_spec){ 46, 7, B, 3, 2, KS_PRIOR_X0, 0 });
        for (int i = 0; i < all_methods_count; ++i)
            for (int threads = WATCHES_THREADS ? 8 : 1; threads <= 8; threads += 7) {
                const method_case *m = &all_methods[i];
                const ks_smooth_options options = options_of(m, KS_F64, outputs_made(m));
                ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
                ks_context *context = NULL;
                ks_smooth_plan *plan = NULL;
                ks_info info = KS_INFO_INIT;
                resources.threads = threads;
                assert_int_equal(ks_context_create(&context, &resources), KS_OK);
                assert_int_equal(
                    ks_smooth_plan_create(&plan, context, g->T, g->B, g->nx, g->ny, &options), KS_OK);
                golden_buffers_free(run_well(g, m, KS_F64, threads, options.outputs, &info));
                if (ks_smooth_plan_threads(plan) != info.threads)
                    fail_msg("%s on %d threads: the plan has %d, the run %d", method_case_name(m),
                             threads, ks_smooth_plan_threads(plan), info.threads);
                ks_smooth_plan_destroy(plan);
                ks_context_destroy(context);
            }
        golden_free(g);
    }
}

enum { CALLERS = 4, REPEATS = SANITIZED ? 2 : 5 };

typedef struct caller {
    const ks_smooth_plan *plan;
    const golden *g;
    golden_buffers *to;
    int failures;
} caller;

static void *call(void *arg)
{
    caller *c = arg;
    const size_t bytes = (ks_smooth_workspace_bytes(c->plan) + 63) / 64 * 64;
    void *work = aligned_alloc(64, bytes);
    const ks_model model = golden_model(c->g, KS_F64);
    for (int i = 0; i < REPEATS; ++i)
        c->failures += !work || ks_smooth_run(c->plan, &model, golden_y(c->g, KS_F64),
                                              golden_outputs(c->to), work, NULL) != KS_OK;
    free(work);
    return NULL;
}

/** The pool serves one caller at a time; the others run alone, with the same bits. */
static void many_callers_of_one_plan(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 45, 257, 3, 3, 2, KS_PRIOR_X0, MISSING });
    ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
    ks_context *context = NULL;
    resources.threads = 3;
    assert_int_equal(ks_context_create(&context, &resources), KS_OK);
    for (int i = 0; i < all_methods_count; ++i) {
        const method_case *m = &all_methods[i];
        const ks_smooth_options options = options_of(m, KS_F64, outputs_made(m));
        ks_smooth_plan *plan = NULL;
        assert_int_equal(
            ks_smooth_plan_create(&plan, context, g->T, g->B, g->nx, g->ny, &options), KS_OK);
        golden_buffers *one = run_well(g, m, KS_F64, 1, options.outputs, NULL);
        caller callers[CALLERS];
        pthread_t threads[CALLERS];
        for (int c = 0; c < CALLERS; ++c) {
            callers[c] = (caller){ plan, g, NULL, 0 };
            callers[c].to =
                golden_buffers_new(g->T, g->B, g->nx, g->ny, KS_F64, options.outputs);
            assert_non_null(callers[c].to);
            assert_int_equal(pthread_create(&threads[c], NULL, call, &callers[c]), 0);
        }
        for (int c = 0; c < CALLERS; ++c) {
            assert_int_equal(pthread_join(threads[c], NULL), 0);
            assert_int_equal(callers[c].failures, 0);
            assert_int_equal(first_different(one, callers[c].to, options.outputs), 0);
            golden_buffers_free(callers[c].to);
        }
        golden_buffers_free(one);
        ks_smooth_plan_destroy(plan);
    }
    ks_context_destroy(context);
    golden_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_series),
        cmocka_unit_test(many_series),
        cmocka_unit_test(fewer_steps_than_threads),
        cmocka_unit_test(first_fault_on_threads),
        cmocka_unit_test(plans_tell_their_threads),
        cmocka_unit_test(many_callers_of_one_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
