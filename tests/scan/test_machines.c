/* test_machines.c -- one conformance text for every machine, against plain loops. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "assert_within.h"

#include "cases.h"
#include "plan.h"

#define MOST_WORKERS 8

/* Row 0 is the serial machine, row w the threads machine with w workers. */
static ks_context *contexts[MOST_WORKERS + 1];

static int make_contexts(void **state)
{
    (void)state;
    for (int w = 1; w <= MOST_WORKERS; ++w) {
        ks_context_options options = KS_CONTEXT_OPTIONS_INIT;
        options.threads = w;
        if (ks_context_create(&contexts[w], &options)) return -1;
    }
    return 0;
}

static int drop_contexts(void **state)
{
    (void)state;
    for (int w = 1; w <= MOST_WORKERS; ++w) ks_context_destroy(contexts[w]);
    return 0;
}

static ks_status run_row(int row, const ks_scan_options *options, int64_t length,
                         const ks_operator *op, void *elements)
{
    ks_scan_plan *plan = NULL;
    assert_int_equal(ks_scan_plan_create(&plan, contexts[row], length, options), KS_OK);
    const size_t bytes = ks_scan_workspace_bytes(plan, op);
    assert_true(bytes != SIZE_MAX);
    void *work = aligned_block(bytes);
    memset(work, 0xee, bytes);
    const ks_status status = ks_scan_run_on(row ? &ks_machine_threads : &ks_machine_serial, plan,
                                            op, elements, work);
    free(work);
    ks_scan_plan_destroy(plan);
    return status;
}

static const int64_t lengths[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 33, 100, 257, 1000,
                                  2049};
#define LENGTHS (int)(sizeof lengths / sizeof lengths[0])

/* Calls check for every case, both directions and some lengths. */
static void for_all(void (*check)(const ks_scan_options *options, int64_t length))
{
    for (int i = 0; i < case_count; ++i)
        for (int j = 0; j < 2 * LENGTHS; ++j) {
            ks_scan_options options = cases[i];
            options.direction = j & 1 ? KS_REVERSE : KS_FORWARD;
            check(&options, lengths[j / 2]);
        }
}

static void check_exact(const ks_scan_options *options, int64_t length)
{
    const size_t bytes = (size_t)length * sizeof(matrix);
    matrix *expected = aligned_block(bytes), *x = aligned_block(bytes);
    const ks_operator op = matrix_operator();
    matrix_reference(expected, length, options->direction);
    for (int row = 0; row <= MOST_WORKERS; ++row) {
        for (int64_t k = 0; k < length; ++k) x[k] = matrix_at(k);
        assert_int_equal(run_row(row, options, length, &op, x), KS_OK);
        assert_memory_equal(x, expected, bytes);
    }
    free(x);
    free(expected);
}

static void exact_products_equal_the_plain_loop(void **state)
{
    (void)state;
    for_all(check_exact);
}

static void check_bits(const ks_scan_options *options, int64_t length)
{
    const size_t bytes = (size_t)length * sizeof(affine);
    affine *first = aligned_block(bytes), *x = aligned_block(bytes);
    const ks_operator op = affine_operator();
    for (int row = 0; row <= MOST_WORKERS; ++row) {
        affine *to = row ? x : first;
        for (int64_t k = 0; k < length; ++k) to[k] = affine_at(k);
        assert_int_equal(run_row(row, options, length, &op, to), KS_OK);
        if (row) assert_memory_equal(x, first, bytes);
    }
    free(x);
    free(first);
}

static void rounding_is_the_same_on_all_machines(void **state)
{
    (void)state;
    for_all(check_bits);
}

/* The serial machine calls the operator once for a part of a round, whatever the length; only
 * down-sweeps go in batches. */
static void serial_machine_makes_few_calls(void **state)
{
    (void)state;
    for (int i = 0; i < case_count; ++i) {
        interval_user user;
        const ks_operator op = interval_operator(&user);
        const int64_t length = 50000;
        interval *x = aligned_block((size_t)length * sizeof *x);
        for (int64_t k = 0; k < length; ++k) {
            x[k].lo = k;
            x[k].hi = k + 1;
        }
        assert_int_equal(run_row(0, &cases[i], length, &op, x), KS_OK);
        const long long most = cases[i].algorithm == KS_SCAN_BLELLOCH ? 16 + 4 * 50000 / 16 : 64;
        assert_true(atomic_load(&user.calls) <= most);
        free(x);
    }
}

/* Steps that exist only as numbers: absorb multiplies matrices made on the spot, rerun stores the
 * scan of its chunk. */
typedef struct stepwise {
    ks_direction direction;
    int64_t length;
    matrix *result;
    atomic_int *absorbed;
    atomic_llong mistakes;
} stepwise;

static int stepwise_absorb(void *user, void *scratch, void *dst, int64_t first, int64_t count)
{
    stepwise *s = user;
    matrix *product = scratch;
    *product = matrix_at(first);
    for (int64_t k = first + 1; k < first + count; ++k) {
        const matrix a = matrix_at(k);
        *product = matrix_product(product, &a);
    }
    for (int64_t k = first; k < first + count; ++k) atomic_fetch_add(&s->absorbed[k], 1);
    memcpy(dst, product, sizeof *product);
    return 0;
}

static int stepwise_rerun(void *user, void *scratch, const void *carry, int64_t first,
                          int64_t count)
{
    stepwise *s = user;
    const int forward = s->direction == KS_FORWARD;
    const int at_start = forward ? first == 0 : first + count == s->length;
    (void)scratch;
    if (at_start != !carry) atomic_fetch_add(&s->mistakes, 1);
    matrix running = {{1, 0, 0, 1}};
    if (carry) memcpy(&running, carry, sizeof running);
    for (int64_t i = 0; i < count; ++i) {
        const int64_t k = forward ? first + i : first + count - 1 - i;
        const matrix a = matrix_at(k);
        running = forward ? matrix_product(&running, &a) : matrix_product(&a, &running);
        s->result[k] = running;
    }
    return 0;
}

static void check_stepwise(const ks_scan_options *options, int64_t length)
{
    if (options->algorithm != KS_SCAN_CHUNKED) return;
    const size_t bytes = (size_t)length * sizeof(matrix);
    matrix *expected = aligned_block(bytes), *result = aligned_block(bytes);
    atomic_int *absorbed = aligned_block((size_t)length * sizeof *absorbed);
    matrix_reference(expected, length, options->direction);
    for (int row = 0; row <= MOST_WORKERS; ++row) {
        stepwise s = {options->direction, length, result, absorbed, 0};
        ks_operator op = matrix_operator();
        op.user = &s;
        op.absorb = stepwise_absorb;
        op.rerun = stepwise_rerun;
        for (int64_t k = 0; k < length; ++k) atomic_init(&absorbed[k], 0);
        memset(result, 0xff, bytes);

        ks_scan_plan *plan = NULL;
        assert_int_equal(ks_scan_plan_create(&plan, contexts[row], length, options), KS_OK);
        const int64_t chunks = ks_scan_plan_stats(plan).chunks;
        const int64_t size = (length + chunks - 1) / chunks;
        matrix *aggregates = aligned_block((size_t)chunks * sizeof *aggregates);
        void *work = aligned_block(ks_scan_workspace_bytes(plan, &op));
        assert_int_equal(ks_scan_run_on(row ? &ks_machine_threads : &ks_machine_serial, plan, &op,
                                        aggregates, work), KS_OK);
        assert_int_equal(atomic_load(&s.mistakes), 0);
        assert_memory_equal(result, expected, bytes);
        for (int64_t k = 0; k < length; ++k) assert_int_equal(atomic_load(&absorbed[k]), 1);
        for (int64_t c = 0; c < chunks; ++c) { /* what ends, or starts, with chunk c */
            int64_t k = (c + 1) * size - 1;
            if (k >= length) k = length - 1;
            if (options->direction == KS_REVERSE) {
                k = length - (chunks - c) * size;
                if (k < 0) k = 0;
            }
            assert_memory_equal(&aggregates[c], &expected[k], sizeof(matrix));
        }
        free(work);
        free(aggregates);
        ks_scan_plan_destroy(plan);
    }
    free(absorbed);
    free(result);
    free(expected);
}

static void chunks_of_steps_that_are_not_stored(void **state)
{
    (void)state;
    for_all(check_stepwise);
}

/* Many threads, one plan, one context: whoever finds the pool busy runs alone, to the same bits. */
typedef struct sharer {
    const ks_scan_plan *plan;
    const matrix *expected;
    int64_t length;
    int bad;
} sharer;

static void *share(void *arg)
{
    sharer *s = arg;
    const ks_operator op = matrix_operator();
    matrix *x = NULL;
    void *work = NULL;
    if (posix_memalign((void **)&x, 64, (size_t)s->length * sizeof *x) ||
        posix_memalign(&work, 64, ks_scan_workspace_bytes(s->plan, &op))) {
        s->bad = 1;
        return NULL;
    }
    for (int i = 0; i < 20; ++i) {
        for (int64_t k = 0; k < s->length; ++k) x[k] = matrix_at(k);
        if (ks_scan_run(s->plan, &op, x, work) ||
            memcmp(x, s->expected, (size_t)s->length * sizeof *x) != 0)
            s->bad = 1;
    }
    free(work);
    free(x);
    return NULL;
}

static void many_threads_run_one_plan(void **state)
{
    (void)state;
    const int64_t length = 1500;
    matrix *expected = aligned_block((size_t)length * sizeof *expected);
    matrix_reference(expected, length, KS_FORWARD);
    ks_scan_options options = KS_SCAN_OPTIONS_INIT;
    options.algorithm = KS_SCAN_BLELLOCH;
    ks_scan_plan *plan = NULL;
    assert_int_equal(ks_scan_plan_create(&plan, contexts[3], length, &options), KS_OK);
    pthread_t thread[6];
    sharer sharers[6];
    for (int i = 0; i < 6; ++i) {
        sharers[i] = (sharer){plan, expected, length, 0};
        assert_int_equal(pthread_create(&thread[i], NULL, share, &sharers[i]), 0);
    }
    for (int i = 0; i < 6; ++i) {
        pthread_join(thread[i], NULL);
        assert_int_equal(sharers[i].bad, 0);
    }
    ks_scan_plan_destroy(plan);
    free(expected);
}

/* The options' limit on threads, and its effect on the workspace. */
static void threads_are_limited_by_the_options(void **state)
{
    (void)state;
    const ks_operator op = matrix_operator();
    size_t bytes[3];
    const int threads[3] = {1, 3, 0};
    for (int i = 0; i < 3; ++i) {
        ks_scan_options options = KS_SCAN_OPTIONS_INIT;
        options.threads = threads[i];
        ks_scan_plan *plan = NULL;
        assert_int_equal(ks_scan_plan_create(&plan, contexts[8], 1000, &options), KS_OK);
        bytes[i] = ks_scan_workspace_bytes(plan, &op);
        ks_scan_plan_destroy(plan);
    }
    const size_t worker = (bytes[1] - bytes[0]) / 2; /* in place: scratch for each, no more */
    assert_within(worker, op.scratch_bytes, op.scratch_bytes + 191);
    assert_int_equal(bytes[1], bytes[0] + 2 * worker);
    assert_int_equal(bytes[2], bytes[0] + 7 * worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_products_equal_the_plain_loop),
        cmocka_unit_test(rounding_is_the_same_on_all_machines),
        cmocka_unit_test(serial_machine_makes_few_calls),
        cmocka_unit_test(chunks_of_steps_that_are_not_stored),
        cmocka_unit_test(many_threads_run_one_plan),
        cmocka_unit_test(threads_are_limited_by_the_options),
    };
    return cmocka_run_group_tests(tests, make_contexts, drop_contexts);
}
