/* test_emulator.c -- the emulated device finds the mistakes that it is there for. */
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "emulator.h"
#include "faulty.h"
#include "gpu/gpu.h"

#define THREADS 64
#define SEEDS   10

static const char *const faulty_names[] = {
#define FAULTY_NAME(name) "faulty_" #name,
    FAULTY_LIST(FAULTY_NAME)};

/* Runs one of the faulty kernels; `right` says whether each thread has the sum. */
static ks_status run_faulty(enum faulty which, uint64_t seed, bool *right)
{
    const ks_emulator fresh = KS_EMULATOR_INIT;
    ks_emulated = fresh;
    ks_emulated.seed = seed;
    ks_gpu *gpu;
    ks_gpu_stream *stream;
    const ks_gpu_kernel *kernel;
    void *x, *y;
    double values[THREADS], sums[THREADS];
    for (int i = 0; i < THREADS; ++i) values[i] = 1 + i * i;
    assert_int_equal(ks_gpu_open(&gpu, NULL, 0), KS_OK);
    assert_int_equal(ks_gpu_stream_create(gpu, &stream), KS_OK);
    assert_int_equal(ks_gpu_find(gpu, &kernel, "faulty", faulty_names[which]), KS_OK);
    assert_int_equal(ks_gpu_alloc(gpu, &x, sizeof values), KS_OK);
    assert_int_equal(ks_gpu_alloc(gpu, &y, sizeof sums), KS_OK);
    const faulty_args args = {x, y};
    const ks_gpu_shape shape = {{1}, {THREADS}, 0, 0};
    ks_status status = ks_gpu_copy_in(gpu, x, values, sizeof values, stream);
    if (!status) status = ks_gpu_launch(gpu, kernel, &shape, &args, sizeof args, stream);
    if (!status) status = ks_gpu_copy_out(gpu, sums, y, sizeof sums, stream);
    if (!status) status = ks_gpu_stream_sync(gpu, stream);
    double sum = 0;
    for (int i = 0; i < THREADS; ++i) sum += values[i];
    *right = status == KS_OK;
    for (int i = 0; i < THREADS && *right; ++i) *right = sums[i] == sum;
    ks_gpu_free(gpu, x);
    ks_gpu_free(gpu, y);
    ks_gpu_stream_destroy(gpu, stream);
    ks_gpu_close(gpu);
    assert_int_equal(ks_emulated.live, 0);
    return status;
}

static void a_right_kernel_passes(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2 * SEEDS; ++seed) {
        bool right;
        assert_int_equal(run_faulty(seed % 2 ? FAULTY_BULK : FAULTY_NONE, seed / 2, &right), KS_OK);
        assert_true(right);
        assert_string_equal(ks_emulated.report, "");
    }
}

/* Mistakes that the emulated device cannot know for mistakes make the result wrong. */
static void mistakes_change_the_result(void **state)
{
    (void)state;
    const enum faulty silent[] = {FAULTY_MISSING_BARRIER, FAULTY_WRONG_INDEX, FAULTY_NOT_WRITTEN,
                                  FAULTY_NO_ASYNC_WAIT, FAULTY_BULK_EARLY, FAULTY_BULK_TWICE};
    for (size_t i = 0; i < sizeof silent / sizeof *silent; ++i) {
        int wrong = 0;
        for (uint64_t seed = 0; seed < SEEDS; ++seed) {
            bool right;
            assert_int_equal(run_faulty(silent[i], seed, &right), KS_OK);
            wrong += !right;
        }
        /* One that depends on the order may be missed by some seeds, not by most. */
        if (wrong <= SEEDS / 2) fail_msg("%s: found by %d seeds", faulty_names[silent[i]], wrong);
    }
}

static void mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        enum faulty which;
        const char *words;
    } loud[] = {
        {FAULTY_EARLY_END, "never come to the barrier at "},
        {FAULTY_SKIPPED_BARRIER, "wait at different barriers at "},
        {FAULTY_TWO_BARRIERS, "wait at different barriers at "},
        {FAULTY_LANE_MISSING, "never come to the warp's operation at "},
        {FAULTY_TOO_MUCH_SHARED, "more shared memory than a block has"},
        {FAULTY_GRID_BARRIER, "a launch that is not cooperative"},
        {FAULTY_BULK_NO_WAIT, "bulk copies that nobody has waited for"},
        {FAULTY_BULK_BYTES, "other bytes expected than bulk copies bring at "},
        {FAULTY_BULK_FROM, "not aligned to 16 bytes at "},
        {FAULTY_BULK_TO, "not aligned to 16 bytes at "},
        {FAULTY_BULK_LENGTH, "not aligned to 16 bytes at "},
        {FAULTY_BULK_PAST, "a bulk copy that leaves shared memory at "},
        {FAULTY_BULK_PHASE, "a wait for the wrong phase of a bulk barrier at "},
        {FAULTY_BULK_NEXT_PHASE, "a phase of a bulk barrier that never ends at "},
        {FAULTY_BULK_THREADS, "more threads than a bulk barrier is for at "},
        {FAULTY_BULK_NO_BARRIER, "a bulk barrier that nobody has made at "},
    };
    for (size_t i = 0; i < sizeof loud / sizeof *loud; ++i)
        for (uint64_t seed = 0; seed < SEEDS; ++seed) {
            bool right;
            assert_int_equal(run_faulty(loud[i].which, seed, &right), KS_EDEVICE);
            if (!strstr(ks_emulated.report, loud[i].words) ||
                !strstr(ks_emulated.report, faulty_names[loud[i].which]))
                fail_msg("%s: '%s'", faulty_names[loud[i].which], ks_emulated.report);
        }
}

/* What this program does as a child of itself: 0 where the fault went unseen. */
static int write_past(enum faulty which)
{
    bool right;
    return run_faulty(which, 1, &right) == KS_EDEVICE &&
           strstr(ks_emulated.report, "written outside of");
}

/* Writing past an array is a fault of the launch, or ends a program under the address sanitizer: so
 * it is another program, spawned, since a fork would double the sanitizer's memory. */
static void writes_past_the_end_are_found(void **state)
{
    (void)state;
    const enum faulty past[] = {FAULTY_NONE, FAULTY_PAST_SHARED, FAULTY_PAST_GLOBAL};
    for (int i = 0; i < 3; ++i) {
        char program[] = "test_emulator", which[8];
        char *const arguments[] = {program, which, NULL};
        char *const environment[] = {NULL};
        posix_spawn_file_actions_t quiet;
        pid_t child;
        int ended;
        snprintf(which, sizeof which, "%d", (int)past[i]);
        assert_int_equal(posix_spawn_file_actions_init(&quiet), 0);
        assert_int_equal(posix_spawn_file_actions_addclose(&quiet, STDERR_FILENO), 0);
        assert_int_equal(
            posix_spawn(&child, "/proc/self/exe", &quiet, NULL, arguments, environment), 0);
        posix_spawn_file_actions_destroy(&quiet);
        assert_int_equal(waitpid(child, &ended, 0), child);
        const bool found = !WIFEXITED(ended) || WEXITSTATUS(ended) != 0;
        assert_int_equal(found, past[i] != FAULTY_NONE);
    }
}

/* What driver code may do wrong. */
static void wrong_calls_are_refused(void **state)
{
    (void)state;
    const ks_emulator fresh = KS_EMULATOR_INIT;
    ks_emulated = fresh;
    ks_gpu *gpu;
    ks_gpu_stream *stream, *other;
    ks_gpu_graph *graph;
    ks_gpu_event *event;
    const ks_gpu_kernel *kernel;
    void *x;
    double host[4] = {0};
    assert_int_equal(ks_gpu_open(&gpu, NULL, ks_emulated.devices), KS_ENODEV);
    assert_int_equal(ks_gpu_open(&gpu, NULL, -1), KS_EINVAL);
    assert_int_equal(ks_gpu_open(&gpu, NULL, 0), KS_OK);
    assert_int_equal(ks_gpu_find(gpu, &kernel, "faulty", "none of these"), KS_EUNAVAILABLE);
    assert_int_equal(ks_gpu_find(gpu, &kernel, "faulty", faulty_names[0]), KS_OK);
    assert_int_equal(ks_gpu_stream_create(gpu, &stream), KS_OK);
    assert_int_equal(ks_gpu_stream_create(gpu, &other), KS_OK);
    assert_int_equal(ks_gpu_event_create(gpu, &event), KS_OK);
    assert_int_equal(ks_gpu_alloc(gpu, &x, ks_emulated.memory + 1), KS_ENOMEM);
    assert_int_equal(ks_gpu_alloc(gpu, &x, sizeof host), KS_OK);
    char *const past = (char *)x + 8;
    assert_int_equal(ks_gpu_copy_in(gpu, past, host, sizeof host, stream), KS_EINVAL);
    assert_int_equal(ks_gpu_copy_out(gpu, host, past, sizeof host, stream), KS_EINVAL);
    assert_int_equal(ks_gpu_copy_in(gpu, x, x, 8, stream), KS_EINVAL);
    assert_int_equal(ks_gpu_copy(gpu, x, host, 8, stream), KS_EINVAL);
    assert_int_equal(ks_gpu_fill(gpu, past, 0, sizeof host, stream), KS_EINVAL);

    const faulty_args args = {x, x};
    ks_gpu_shape shape = {{1}, {1025}, 0, 0};
    assert_int_equal(ks_gpu_launch(gpu, kernel, &shape, &args, sizeof args, stream), KS_EINVAL);
    shape.block[0] = 32;
    assert_int_equal(ks_gpu_launch(gpu, kernel, &shape, &args, sizeof args - 1, stream), KS_EINVAL);
    shape.shared = ks_emulated.block_shared + 1;
    assert_int_equal(ks_gpu_launch(gpu, kernel, &shape, &args, sizeof args, stream), KS_EINVAL);
    shape.shared = ks_emulated.block_shared;
    shape.cooperative = 1;
    shape.grid[0] = (unsigned)ks_emulated.multiprocessors + 1;
    assert_int_equal(ks_gpu_launch(gpu, kernel, &shape, &args, sizeof args, stream), KS_EINVAL);

    /* A stream that joins a capture and is not waited for again. */
    assert_int_equal(ks_gpu_capture_begin(gpu, stream), KS_OK);
    assert_int_equal(ks_gpu_stream_sync(gpu, stream), KS_EDEVICE);
    assert_int_equal(ks_gpu_event_record(gpu, event, stream), KS_OK);
    assert_int_equal(ks_gpu_event_wait(gpu, event, other), KS_OK);
    assert_int_equal(ks_gpu_fill(gpu, x, 0, 8, other), KS_OK);
    assert_int_equal(ks_gpu_capture_end(gpu, &graph, stream), KS_EDEVICE);

    ks_gpu_free(gpu, x);
    ks_gpu_event_destroy(gpu, event);
    ks_gpu_stream_destroy(gpu, other);
    ks_gpu_stream_destroy(gpu, stream);
    ks_gpu_close(gpu);
    assert_int_equal(ks_emulated.live, 0);
}

/* A result that is read before the stream was waited for is not there. */
static void forgetting_to_wait_shows(void **state)
{
    (void)state;
    const ks_emulator fresh = KS_EMULATOR_INIT;
    ks_emulated = fresh;
    ks_emulated.seed = 4;
    ks_gpu *gpu;
    ks_gpu_stream *stream;
    void *x;
    int host = 1;
    assert_int_equal(ks_gpu_open(&gpu, NULL, 0), KS_OK);
    assert_int_equal(ks_gpu_stream_create(gpu, &stream), KS_OK);
    assert_int_equal(ks_gpu_alloc(gpu, &x, sizeof host), KS_OK);
    assert_int_equal(ks_gpu_fill(gpu, x, 0, sizeof host, stream), KS_OK);
    assert_int_equal(ks_gpu_copy_out(gpu, &host, x, sizeof host, stream), KS_OK);
    assert_int_equal(host, 1);
    assert_int_equal(ks_gpu_stream_sync(gpu, stream), KS_OK);
    assert_int_equal(host, 0);
    ks_gpu_free(gpu, x);
    ks_gpu_stream_destroy(gpu, stream);
    ks_gpu_close(gpu);
}

/* Seeds under which one of two streams runs late, the second or the first. */
static void streams_that_forget_to_wait_show(void **state)
{
    (void)state;
    for (int first = 0; first < 2; ++first) {
        const ks_emulator fresh = KS_EMULATOR_INIT;
        ks_emulated = fresh;
        ks_emulated.seed = first ? 6 : 2;
        ks_gpu *gpu;
        ks_gpu_stream *stream[2], *late, *early;
        void *x;
        int host = 1;
        assert_int_equal(ks_gpu_open(&gpu, NULL, 0), KS_OK);
        for (int i = 0; i < 2; ++i)
            assert_int_equal(ks_gpu_stream_create(gpu, &stream[i]), KS_OK);
        late = stream[1 - first];
        early = stream[first];
        assert_int_equal(ks_gpu_alloc(gpu, &x, sizeof host), KS_OK);
        assert_int_equal(ks_gpu_fill(gpu, x, 0, sizeof host, late), KS_OK);
        assert_int_equal(ks_gpu_copy_out(gpu, &host, x, sizeof host, early), KS_OK);
        assert_int_not_equal(host, 0);
        assert_int_equal(ks_gpu_stream_sync(gpu, late), KS_OK);
        assert_int_equal(ks_gpu_copy_out(gpu, &host, x, sizeof host, early), KS_OK);
        assert_int_equal(host, 0);
        ks_gpu_free(gpu, x);
        for (int i = 0; i < 2; ++i) ks_gpu_stream_destroy(gpu, stream[i]);
        ks_gpu_close(gpu);
    }
}

int main(int argc, char **argv)
{
    if (argc == 2) return write_past((enum faulty)atoi(argv[1]));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_kernel_passes),   cmocka_unit_test(mistakes_change_the_result),
        cmocka_unit_test(mistakes_are_named),      cmocka_unit_test(writes_past_the_end_are_found),
        cmocka_unit_test(wrong_calls_are_refused), cmocka_unit_test(forgetting_to_wait_shows),
        cmocka_unit_test(streams_that_forget_to_wait_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
