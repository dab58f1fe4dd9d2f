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
#define BLOCKS  4
#define SEEDS   10
#define LARGE   (9 << 17) /* numbers: 9 MB */

static const char *const faulty_names[] = {
#define FAULTY_NAME(name) "faulty_" #name,
    FAULTY_LIST(FAULTY_NAME)};

/* Numbers of the allocation of the sums that come before them: large ones are mapped, others from the heap. */
static size_t before;

enum { STREAMS = 4, ORDERS = 8 }; /* see seed.h */

static ks_gpu *gpu;
static ks_gpu_stream *streams[STREAMS];

/* A fresh device with the first of the streams. */
static ks_gpu_stream *open_device(uint64_t seed)
{
    const ks_emulator fresh = KS_EMULATOR_INIT;
    ks_emulated = fresh;
    ks_emulated.seed = seed;
    assert_int_equal(ks_gpu_open(&gpu, NULL, 0), KS_OK);
    assert_int_equal(ks_gpu_stream_create(gpu, &streams[0]), KS_OK);
    return streams[0];
}

/* Nothing else may be left on it. */
static void close_device(void)
{
    ks_gpu_stream_destroy(gpu, streams[0]);
    ks_gpu_close(gpu);
    assert_int_equal(ks_emulated.live, 0);
}

/* Runs one of the faulty kernels; `right` says whether each thread has the sum. */
static ks_status run_faulty(enum faulty which, uint64_t seed, bool *right)
{
    ks_gpu_stream *const stream = open_device(seed);
    const ks_gpu_kernel *kernel;
    void *x, *sums_of_all, *come;
    double values[THREADS], sums[THREADS];
    const int of_grid = which >= FAULTY_GRID && which < FAULTY_BULK;
    for (int i = 0; i < THREADS; ++i) values[i] = 1 + i * i;
    assert_int_equal(ks_gpu_find(gpu, &kernel, "faulty", faulty_names[which]), KS_OK);
    assert_int_equal(ks_gpu_alloc(gpu, &x, sizeof values), KS_OK);
    assert_int_equal(ks_gpu_alloc(gpu, &sums_of_all, before * sizeof *sums + sizeof sums), KS_OK);
    assert_int_equal(ks_gpu_alloc(gpu, &come, sizeof(unsigned)), KS_OK);
    double *const y = (double *)sums_of_all + before;
    const faulty_args args = {x, y, come};
    const ks_gpu_shape shape = {{of_grid ? BLOCKS : 1}, {of_grid ? THREADS / BLOCKS : THREADS}, 0, of_grid};
    ks_status status = ks_gpu_copy_in(gpu, x, values, sizeof values, stream);
    if (!status) status = ks_gpu_fill(gpu, come, 0, sizeof(unsigned), stream);
    if (!status) status = ks_gpu_launch(gpu, kernel, &shape, &args, sizeof args, stream);
    if (!status) status = ks_gpu_copy_out(gpu, sums, y, sizeof sums, stream);
    if (!status) status = ks_gpu_stream_sync(gpu, stream);
    double sum = 0;
    for (int i = 0; i < THREADS; ++i) sum += values[i];
    *right = status == KS_OK;
    for (int i = 0; i < THREADS && *right; ++i) *right = sums[i] == sum;
    ks_gpu_free(gpu, x);
    ks_gpu_free(gpu, sums_of_all);
    ks_gpu_free(gpu, come);
    close_device();
    return status;
}

static void a_right_kernel_passes(void **state)
{
    (void)state;
    static const enum faulty right_ones[] = {FAULTY_NONE, FAULTY_BULK, FAULTY_GRID, FAULTY_GRID_OWN};
    for (uint64_t seed = 0; seed < 4 * SEEDS; ++seed) {
        bool right;
        assert_int_equal(run_faulty(right_ones[seed % 4], seed / 4, &right), KS_OK);
        assert_true(right);
        assert_string_equal(ks_emulated.report, "");
    }
}

/* Mistakes that the emulated device cannot know for mistakes make the result wrong. */
static void mistakes_change_the_result(void **state)
{
    (void)state;
    const enum faulty silent[] = {FAULTY_MISSING_BARRIER, FAULTY_WRONG_INDEX, FAULTY_NOT_WRITTEN,
                                  FAULTY_NO_ASYNC_WAIT, FAULTY_BULK_EARLY, FAULTY_BULK_TWICE,
                                  FAULTY_GRID_MISSING, FAULTY_GRID_BLOCK, FAULTY_GRID_EARLY};
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
        {FAULTY_NOT_ALIGNED, "a word that is not aligned to its size at "},
        {FAULTY_GRID_SOME, "threads of a grid wait at different barriers at "},
        {FAULTY_GRID_THREAD, "threads of a grid wait at different barriers at "},
        {FAULTY_GRID_TWO_PLACES, "threads of a grid wait at different barriers at "},
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
    const struct {
        enum faulty which;
        int before;
    } past[] = {{FAULTY_NONE, 0}, {FAULTY_PAST_SHARED, 0}, {FAULTY_PAST_GLOBAL, 0},
                {FAULTY_NONE, LARGE}, {FAULTY_PAST_GLOBAL, LARGE}};
    for (size_t i = 0; i < sizeof past / sizeof *past; ++i) {
        char program[] = "test_emulator", which[8], numbers[12];
        char *const arguments[] = {program, which, numbers, NULL};
        char *const environment[] = {NULL};
        posix_spawn_file_actions_t quiet;
        pid_t child;
        int ended;
        snprintf(which, sizeof which, "%d", (int)past[i].which);
        snprintf(numbers, sizeof numbers, "%d", past[i].before);
        assert_int_equal(posix_spawn_file_actions_init(&quiet), 0);
        assert_int_equal(posix_spawn_file_actions_addclose(&quiet, STDERR_FILENO), 0);
        assert_int_equal(
            posix_spawn(&child, "/proc/self/exe", &quiet, NULL, arguments, environment), 0);
        posix_spawn_file_actions_destroy(&quiet);
        assert_int_equal(waitpid(child, &ended, 0), child);
        const bool found = !WIFEXITED(ended) || WEXITSTATUS(ended) != 0;
        assert_int_equal(found, past[i].which != FAULTY_NONE);
    }
}

/* What driver code may do wrong. */
static void wrong_calls_are_refused(void **state)
{
    (void)state;
    ks_gpu_stream *const stream = open_device(0), *other;
    ks_gpu *none;
    ks_gpu_graph *graph;
    ks_gpu_event *event;
    const ks_gpu_kernel *kernel;
    void *x;
    double host[4] = {0};
    assert_int_equal(ks_gpu_open(&none, NULL, ks_emulated.devices), KS_ENODEV);
    assert_int_equal(ks_gpu_open(&none, NULL, -1), KS_EINVAL);
    assert_int_equal(ks_gpu_find(gpu, &kernel, "faulty", "none of these"), KS_EUNAVAILABLE);
    assert_int_equal(ks_gpu_find(gpu, &kernel, "faulty", faulty_names[0]), KS_OK);
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

    const faulty_args args = {x, x, x};
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

    /* Memory that comes or goes inside of a capture, and a stream that joins one and is not waited for again. */
    void *more = NULL;
    assert_int_equal(ks_gpu_capture_begin(gpu, stream), KS_OK);
    assert_int_equal(ks_gpu_alloc(gpu, &more, 8), KS_EDEVICE);
    assert_int_equal(ks_gpu_host_alloc(gpu, &more, 8), KS_EDEVICE);
    assert_null(more);
    assert_int_equal(ks_gpu_stream_sync(gpu, stream), KS_EDEVICE);
    assert_int_equal(ks_gpu_event_record(gpu, event, stream), KS_OK);
    assert_int_equal(ks_gpu_event_wait(gpu, event, other), KS_OK);
    assert_int_equal(ks_gpu_fill(gpu, x, 0, 8, other), KS_OK);
    assert_int_equal(ks_gpu_capture_end(gpu, &graph, stream), KS_EDEVICE);

    ks_gpu_free(gpu, x);
    ks_gpu_event_destroy(gpu, event);
    ks_gpu_stream_destroy(gpu, other);
    close_device();
}

/* What CUDA does not let the thread do that captures spoils the graph, and is named. */
static void what_a_capture_forbids(void **state)
{
    (void)state;
    static const char *const named[] = { "allocated", "pinned memory is allocated", "freed",
                                         "pinned memory is freed", "destroyed", "launched", "looked up" };
    for (int what = 0; what < 7; ++what) {
        ks_gpu_stream *const stream = open_device(0);
        ks_gpu_graph *empty, *graph;
        const ks_gpu_kernel *kernel;
        void *device = NULL, *host = NULL, *unused;
        assert_int_equal(ks_gpu_alloc(gpu, &device, 8), KS_OK);
        assert_int_equal(ks_gpu_host_alloc(gpu, &host, 8), KS_OK);
        assert_int_equal(ks_gpu_capture_begin(gpu, stream), KS_OK);
        assert_int_equal(ks_gpu_capture_end(gpu, &empty, stream), KS_OK);
        assert_int_equal(ks_gpu_capture_begin(gpu, stream), KS_OK);
        if (what == 0) assert_int_equal(ks_gpu_alloc(gpu, &unused, 8), KS_EDEVICE);
        if (what == 1) assert_int_equal(ks_gpu_host_alloc(gpu, &unused, 8), KS_EDEVICE);
        if (what == 2) ks_gpu_free(gpu, device), device = NULL;
        if (what == 3) ks_gpu_host_free(gpu, host), host = NULL;
        if (what == 4) ks_gpu_graph_destroy(gpu, empty), empty = NULL;
        if (what == 5) assert_int_equal(ks_gpu_graph_launch(gpu, empty, stream), KS_EDEVICE);
        if (what == 6) assert_int_equal(ks_gpu_find(gpu, &kernel, "faulty", "ks_faulty"), KS_EDEVICE);
        assert_non_null(strstr(ks_emulated.report, named[what]));
        assert_int_equal(ks_gpu_capture_end(gpu, &graph, stream), KS_EDEVICE);
        ks_gpu_graph_destroy(gpu, empty);
        ks_gpu_free(gpu, device);
        ks_gpu_host_free(gpu, host);
        close_device();
    }
}

/* A result that is read before the stream was waited for is not there. */
static void forgetting_to_wait_shows(void **state)
{
    (void)state;
    ks_gpu_stream *const stream = open_device(0);
    void *x;
    int host = 1;
    assert_int_equal(ks_gpu_alloc(gpu, &x, sizeof host), KS_OK);
    assert_int_equal(ks_gpu_fill(gpu, x, 0, sizeof host, stream), KS_OK);
    assert_int_equal(ks_gpu_copy_out(gpu, &host, x, sizeof host, stream), KS_OK);
    assert_int_equal(host, 1);
    assert_int_equal(ks_gpu_stream_sync(gpu, stream), KS_OK);
    assert_int_equal(host, 0);
    ks_gpu_free(gpu, x);
    close_device();
}

/* Nor may what is copied from change before. */
static void changing_what_is_copied_shows(void **state)
{
    (void)state;
    ks_gpu_stream *const stream = open_device(0);
    void *x;
    char host[13] = "as it is now";
    assert_int_equal(ks_gpu_alloc(gpu, &x, sizeof host), KS_OK);
    assert_int_equal(ks_gpu_copy_in(gpu, x, host, sizeof host, stream), KS_OK);
    assert_int_equal(ks_gpu_stream_sync(gpu, stream), KS_OK);
    assert_int_equal(ks_gpu_copy_in(gpu, x, host, sizeof host, stream), KS_OK);
    host[12] = '!';
    assert_int_equal(ks_gpu_stream_sync(gpu, stream), KS_EDEVICE);
    assert_non_null(strstr(ks_emulated.report, "changes before the copy"));
    ks_gpu_free(gpu, x);
    close_device();
}

static void *words[2];

/* A device with all streams and two words. */
static void begin(uint64_t seed)
{
    open_device(seed);
    for (int i = 1; i < STREAMS; ++i)
        assert_int_equal(ks_gpu_stream_create(gpu, &streams[i]), KS_OK);
    for (int i = 0; i < 2; ++i) assert_int_equal(ks_gpu_alloc(gpu, &words[i], 1), KS_OK);
}

static void put(int word, int value, ks_gpu_stream *stream)
{
    assert_int_equal(ks_gpu_fill(gpu, words[word], value, 1, stream), KS_OK);
}

/* What is in a word when all streams have been waited for, and the end of the device. */
static int end(int word)
{
    unsigned char value = 0xff;
    for (int i = 0; i < STREAMS; ++i)
        assert_int_equal(ks_gpu_stream_sync(gpu, streams[i]), KS_OK);
    assert_int_equal(ks_gpu_copy_out(gpu, &value, words[word], 1, streams[0]), KS_OK);
    assert_int_equal(ks_gpu_stream_sync(gpu, streams[0]), KS_OK);
    assert_int_equal(ks_emulated.waits, STREAMS + 1);
    for (int i = 0; i < 2; ++i) ks_gpu_free(gpu, words[i]);
    for (int i = 1; i < STREAMS; ++i) ks_gpu_stream_destroy(gpu, streams[i]);
    close_device();
    assert_string_equal(ks_emulated.report, "");
    return value;
}

static void wait_for(ks_gpu_stream *first, ks_gpu_stream *second)
{
    ks_gpu_event *event;
    assert_int_equal(ks_gpu_event_create(gpu, &event), KS_OK);
    assert_int_equal(ks_gpu_event_record(gpu, event, first), KS_OK);
    assert_int_equal(ks_gpu_event_wait(gpu, event, second), KS_OK);
    ks_gpu_event_destroy(gpu, event); /* the wait stays */
}

/* Which of two streams' pieces comes last, under each seed: bit 0 where the one that was put there first
 * does, bit 1 where the other one does. */
static int orders_of(int i, int j, bool waits)
{
    int seen = 0;
    for (uint64_t seed = 0; seed < ORDERS; ++seed) {
        begin(seed);
        put(0, 1, streams[i]);
        if (waits) wait_for(streams[i], streams[j]);
        put(0, 2, streams[j]);
        seen |= end(0);
    }
    return seen;
}

/* Every two streams run in either order, but for those that wait. */
static void streams_that_forget_to_wait_show(void **state)
{
    (void)state;
    for (int i = 0; i < STREAMS; ++i)
        for (int j = 0; j < STREAMS; ++j) {
            assert_int_equal(orders_of(i, j, false), i == j ? 2 : 3);
            assert_int_equal(orders_of(i, j, true), 2);
        }
}

/* So do branches of a graph. */
static void branches_that_forget_to_wait_show(void **state)
{
    (void)state;
    for (int waits = 0; waits < 2; ++waits) {
        int seen = 0;
        for (uint64_t seed = 0; seed < ORDERS; ++seed) {
            ks_gpu_graph *graph;
            begin(seed);
            assert_int_equal(ks_gpu_capture_begin(gpu, streams[0]), KS_OK);
            wait_for(streams[0], streams[1]);
            put(0, 1, streams[0]);
            if (waits) wait_for(streams[0], streams[1]);
            put(0, 2, streams[1]);
            wait_for(streams[1], streams[0]);
            assert_int_equal(ks_gpu_capture_end(gpu, &graph, streams[0]), KS_OK);
            assert_int_equal(ks_gpu_graph_launch(gpu, graph, streams[2]), KS_OK);
            ks_gpu_graph_destroy(gpu, graph); /* the launch stays */
            seen |= end(0);
        }
        assert_int_equal(seen, waits ? 2 : 3);
    }
}

/* A graph does not run beside itself, other graphs do. */
static void launches_of_one_graph_do_not_mix(void **state)
{
    (void)state;
    for (int same = 0; same < 2; ++same) {
        int seen = 0;
        for (uint64_t seed = 0; seed < 4 * ORDERS; ++seed) {
            ks_gpu_graph *graph[2];
            begin(seed);
            for (int i = 0; i < 2; ++i) {
                assert_int_equal(ks_gpu_capture_begin(gpu, streams[0]), KS_OK);
                put(0, 1, streams[0]);
                assert_int_equal(ks_gpu_copy(gpu, words[1], words[0], 1, streams[0]), KS_OK);
                put(0, 2, streams[0]);
                assert_int_equal(ks_gpu_capture_end(gpu, &graph[i], streams[0]), KS_OK);
            }
            for (int i = 0; i < 2; ++i)
                assert_int_equal(ks_gpu_graph_launch(gpu, graph[same ? 0 : i], streams[i]), KS_OK);
            for (int i = 0; i < 2; ++i) ks_gpu_graph_destroy(gpu, graph[i]);
            seen |= end(1);
        }
        assert_int_equal(seen, same ? 1 : 3);
    }
}

int main(int argc, char **argv)
{
    if (argc == 3) {
        before = (size_t)atol(argv[2]);
        return write_past((enum faulty)atoi(argv[1]));
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_kernel_passes),   cmocka_unit_test(mistakes_change_the_result),
        cmocka_unit_test(mistakes_are_named),      cmocka_unit_test(writes_past_the_end_are_found),
        cmocka_unit_test(wrong_calls_are_refused), cmocka_unit_test(what_a_capture_forbids),
        cmocka_unit_test(forgetting_to_wait_shows),
        cmocka_unit_test(changing_what_is_copied_shows),
        cmocka_unit_test(streams_that_forget_to_wait_show),
        cmocka_unit_test(branches_that_forget_to_wait_show),
        cmocka_unit_test(launches_of_one_graph_do_not_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
