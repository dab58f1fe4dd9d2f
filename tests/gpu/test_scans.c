/* test_scans.c -- the device's scan machine against plain loops and against the serial machine: the
 * cases of tests/scan/, on the emulated device and, where there is one, on the machine's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cases.h"
#include "gpu/gpu.h"
#include "machine_cuda.h"
#include "plan.h"
#include "scan_probe.h"
#include "session.h"

enum { SEEDS = SEEDS_OF(10, 2) };

static const ks_gpu_kernel *kernel_named(const char *name)
{
    const ks_gpu_kernel *kernel;
    OK(ks_gpu_find(gpu, &kernel, "scan_probe", name));
    return kernel;
}

static void *room(size_t bytes)
{
    void *device;
    OK(ks_gpu_alloc(gpu, &device, bytes));
    return device;
}

/* Runs a schedule over a copy of `elements`, captured as a graph or not, and brings it back. */
static void run(const ks_schedule *schedule, const ks_cuda_operator *op, size_t element_bytes,
                void *elements, int captured)
{
    const size_t bytes = (size_t)schedule->length[KS_ELEMENTS] * element_bytes;
    void *x = room(bytes), *spare = room((size_t)schedule->length[KS_WORK] * element_bytes);
    ks_gpu_graph *graph = NULL;
    OK(ks_gpu_copy_in(gpu, x, elements, bytes, stream));
    if (captured) OK(ks_gpu_capture_begin(gpu, stream));
    OK(ks_cuda_scan(gpu, schedule, op, x, spare, stream));
    if (captured) {
        OK(ks_gpu_capture_end(gpu, &graph, stream));
        OK(ks_gpu_graph_launch(gpu, graph, stream));
    }
    OK(ks_gpu_copy_out(gpu, elements, x, bytes, stream));
    OK(ks_gpu_stream_sync(gpu, stream));
    ks_gpu_graph_destroy(gpu, graph);
    ks_gpu_free(gpu, x);
    ks_gpu_free(gpu, spare);
}

/* ---- all cases ---- */

typedef void (*check_function)(const ks_scan_options *options, int64_t length, int seed);

static void for_lengths(const int64_t *lengths, int count, int seed, check_function check)
{
    begin(seed);
    for (int i = 0; i < case_count; ++i)
        for (int j = 0; j < 2 * count; ++j) {
            ks_scan_options options = cases[i];
            options.direction = j & 1 ? KS_REVERSE : KS_FORWARD;
            check(&options, lengths[j / 2], seed);
        }
    end();
}

static void for_all(check_function check, int seeds)
{
    static const int64_t few[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33};
    static const int64_t more[] = {100, 257, 1025};
    for (int seed = 0; seed < seeds; ++seed) {
        for_lengths(few, sizeof few / sizeof few[0], seed, check);
        if (seed == 1) for_lengths(more, sizeof more / sizeof more[0], seed, check);
    }
}

static ks_cuda_operator operator_of(const char *combine, void *args, size_t args_bytes)
{
    const ks_cuda_operator op = {kernel_named(combine), NULL, NULL, 32, 0, 0, 0, args, args_bytes, NULL};
    return op;
}

/* The same in one cooperative launch: the bits of many. */
static void check_together(const ks_schedule *schedule, const ks_cuda_operator *op, size_t element_bytes,
                           void *elements, const void *expected, int captured)
{
    const size_t bytes = (size_t)schedule->rounds * sizeof *schedule->round;
    ks_cuda_operator together = *op;
    void *const rounds = room(bytes);
    together.rounds = rounds;
    OK(ks_gpu_copy_in(gpu, rounds, schedule->round, bytes, stream));
    OK(ks_gpu_stream_sync(gpu, stream));
#ifdef EMULATED
    const long launches = ks_emulated.launches;
#endif
    run(schedule, &together, element_bytes, elements, captured);
#ifdef EMULATED
    assert_int_equal(ks_emulated.launches - launches, schedule->rounds > 0);
#endif
    assert_memory_equal(elements, expected, (size_t)schedule->length[KS_ELEMENTS] * element_bytes);
    ks_gpu_free(gpu, rounds);
}

static void check_exact(const ks_scan_options *options, int64_t length, int seed)
{
    ks_scan_plan *plan;
    OK(ks_scan_plan_create(&plan, NULL, length, options));
    const size_t bytes = (size_t)length * sizeof(matrix);
    matrix *expected = aligned_block(bytes), *x = aligned_block(bytes), *again = aligned_block(bytes);
    matrix_reference(expected, length, options->direction);
    for (int64_t k = 0; k < length; ++k) x[k] = again[k] = matrix_at(k);
    scan_probe_args args;
    memset(&args, 0, sizeof args);
    const ks_cuda_operator op = operator_of("scan_matrix", &args, sizeof args);
    run(&plan->inside, &op, sizeof *x, x, seed % 4 > 1);
    assert_memory_equal(x, expected, bytes);
    check_together(&plan->inside, &op, sizeof *again, again, expected, seed % 3 == 1);
    assert_int_equal(ks_scan_plan_spare(plan), plan->inside.length[KS_WORK]);
    free(again);
    free(x);
    free(expected);
    ks_scan_plan_destroy(plan);
}

static void exact_products_equal_the_plain_loop(void **state)
{
    (void)state;
    for_all(check_exact, SEEDS);
}

/* The bracketing is the serial machine's. A device fuses products that the host does not, so there
 * the results are near, and the same bits when they are computed again. */
static void check_bracketing(const ks_scan_options *options, int64_t length, int seed)
{
    ks_scan_plan *plan;
    const ks_operator serial = affine_operator();
    OK(ks_scan_plan_create(&plan, NULL, length, options));
    const size_t bytes = (size_t)length * sizeof(affine);
    affine *expected = aligned_block(bytes), *x = aligned_block(bytes), *again = aligned_block(bytes);
    affine *third = aligned_block(bytes);
    void *work = aligned_block(ks_scan_workspace_bytes(plan, &serial));
    for (int64_t k = 0; k < length; ++k) expected[k] = x[k] = again[k] = third[k] = affine_at(k);
    OK(ks_scan_run_on(&ks_machine_serial, plan, &serial, expected, work));
    scan_probe_args args;
    memset(&args, 0, sizeof args);
    ks_cuda_operator op = operator_of("scan_affine", &args, sizeof args);
    run(&plan->inside, &op, sizeof *x, x, seed % 4 > 1);
    op.lanes = 64;
    op.most_blocks = 2;
    run(&plan->inside, &op, sizeof *x, again, 0);
    assert_memory_equal(x, again, bytes);
    check_together(&plan->inside, &op, sizeof *x, third, x, seed % 2);
    free(third);
#ifdef EMULATED
    assert_memory_equal(x, expected, bytes);
#endif
    for (int64_t k = 0; k < length; ++k)
        assert_true(x[k].b - expected[k].b < 1e-10 && expected[k].b - x[k].b < 1e-10);
    free(work);
    free(again);
    free(x);
    free(expected);
    ks_scan_plan_destroy(plan);
}

static void bracketing_is_that_of_the_serial_machine(void **state)
{
    (void)state;
    for_all(check_bracketing, SEEDS < 4 ? SEEDS : 4);
}

/* Steps that are not stored: absorb and rerun take them from elsewhere. */
static void check_stepwise(const ks_scan_options *options, int64_t length, int seed)
{
    if (options->algorithm != KS_SCAN_CHUNKED) return;
    ks_scan_plan *plan;
    OK(ks_scan_plan_create(&plan, NULL, length, options));
    const size_t bytes = (size_t)length * sizeof(matrix), ints = (size_t)length * sizeof(int);
    const size_t aggregates = (size_t)plan->outside.length[KS_ELEMENTS] * sizeof(matrix);
    matrix *expected = aligned_block(bytes), *x = aligned_block(bytes), *sums = aligned_block(aggregates);
    int *absorbed = aligned_block(ints), mistakes;
    matrix_reference(expected, length, options->direction);
    for (int64_t k = 0; k < length; ++k) x[k] = matrix_at(k);
    memset(sums, 0, aggregates);

    scan_probe_args args;
    memset(&args, 0, sizeof args);
    void *const step = room(bytes);
    args.step = step;
    args.result = room(bytes);
    args.absorbed = room(ints);
    args.mistakes = room(sizeof mistakes);
    args.reverse = options->direction == KS_REVERSE;
    args.length = length;
    OK(ks_gpu_copy_in(gpu, step, x, bytes, stream));
    OK(ks_gpu_fill(gpu, args.absorbed, 0, ints, stream));
    OK(ks_gpu_fill(gpu, args.mistakes, 0, sizeof mistakes, stream));
    ks_cuda_operator op = operator_of("scan_matrix", &args, sizeof args);
    op.absorb = kernel_named("scan_matrix_absorb");
    op.rerun = kernel_named("scan_matrix_rerun");
    run(&plan->outside, &op, sizeof *sums, sums, seed % 4 > 1);
    OK(ks_gpu_copy_out(gpu, x, args.result, bytes, stream));
    OK(ks_gpu_copy_out(gpu, absorbed, args.absorbed, ints, stream));
    OK(ks_gpu_copy_out(gpu, &mistakes, args.mistakes, sizeof mistakes, stream));
    OK(ks_gpu_stream_sync(gpu, stream));
    assert_memory_equal(x, expected, bytes);
    assert_int_equal(mistakes, 0);
    for (int64_t k = 0; k < length; ++k) assert_int_equal(absorbed[k], 1);

    ks_gpu_free(gpu, step);
    ks_gpu_free(gpu, args.result);
    ks_gpu_free(gpu, args.absorbed);
    ks_gpu_free(gpu, args.mistakes);
    free(absorbed);
    free(sums);
    free(x);
    free(expected);
    ks_scan_plan_destroy(plan);
}

static void chunks_of_steps_that_are_not_stored(void **state)
{
    (void)state;
    for_all(check_stepwise, SEEDS < 4 ? SEEDS : 4);
}

/* Elements whose size the run time says, and scratch for each thread of a bounded launch. */
static void check_sums(const ks_scan_options *options, int64_t length, int seed)
{
    enum { SIZE = 5, THREADS = 32, BLOCKS = 2 };
    ks_scan_plan *plan;
    OK(ks_scan_plan_create(&plan, NULL, length, options));
    const size_t bytes = (size_t)length * SIZE * sizeof(double);
    double *x = aligned_block(bytes), *again = aligned_block(bytes);
    for (int64_t i = 0; i < SIZE * length; ++i) x[i] = again[i] = (double)(i % 11);
    scan_sums_args args;
    memset(&args, 0, sizeof args);
    args.size = SIZE;
    args.spare = room(SIZE * THREADS * BLOCKS * sizeof(double));
    ks_cuda_operator op = operator_of("scan_sums", &args, sizeof args);
    op.most_blocks = BLOCKS;
    run(&plan->inside, &op, SIZE * sizeof *x, x, seed % 4 > 1);
    check_together(&plan->inside, &op, SIZE * sizeof *x, again, x, 0);
    free(again);
    double sum[SIZE] = {0};
    for (int64_t i = 0; i < length; ++i) {
        const int64_t k = options->direction == KS_FORWARD ? i : length - 1 - i;
        for (int j = 0; j < SIZE; ++j) {
            sum[j] += (double)((k * SIZE + j) % 11);
            assert_true(x[k * SIZE + j] == sum[j]);
        }
    }
    ks_gpu_free(gpu, args.spare);
    free(x);
    ks_scan_plan_destroy(plan);
}

static void elements_of_a_size_that_the_run_time_says(void **state)
{
    (void)state;
    for_all(check_sums, SEEDS < 4 ? SEEDS : 4);
}

/* Arguments without a task, and an operator that a schedule asks too much of. */
static void mistakes_are_refused(void **state)
{
    (void)state;
    begin(1);
    ks_scan_options options = KS_SCAN_OPTIONS_INIT;
    options.algorithm = KS_SCAN_CHUNKED;
    ks_scan_plan *plan;
    OK(ks_scan_plan_create(&plan, NULL, 100, &options));
    scan_probe_args args;
    memset(&args, 0, sizeof args);
    ks_cuda_operator op = operator_of("scan_matrix", &args, 8);
    assert_int_equal(ks_cuda_scan(gpu, &plan->inside, &op, NULL, NULL, stream), KS_EINVAL);
    op.args_bytes = sizeof args;
    assert_int_equal(ks_cuda_scan(gpu, &plan->outside, &op, NULL, NULL, stream), KS_EINVAL);
    /* Absorbing and re-running are other kernels than that of a cooperative launch. */
    op.rounds = plan->outside.round;
    op.absorb = op.rerun = kernel_named("scan_matrix_absorb");
    assert_int_equal(ks_cuda_scan(gpu, &plan->outside, &op, NULL, NULL, stream), KS_EINVAL);
    ks_scan_plan_destroy(plan);
    end();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_products_equal_the_plain_loop),
        cmocka_unit_test(bracketing_is_that_of_the_serial_machine),
        cmocka_unit_test(chunks_of_steps_that_are_not_stored),
        cmocka_unit_test(elements_of_a_size_that_the_run_time_says),
        cmocka_unit_test(mistakes_are_refused),
    };
    only_tests(argc, argv, tests);
    if (no_device()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
