/* test_device.c -- the device and the words of kernels: on the emulated device with many seeds,
 * and, linked with the library's own, on the first device of the machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "assert_within.h"

#include "gpu/gpu.h"
#include "probe.h"
#include "session.h"

enum { SEEDS = SEEDS_OF(10, 3) };

static const ks_gpu_kernel *probe(const char *name)
{
    const ks_gpu_kernel *kernel;
    OK(ks_gpu_find(gpu, &kernel, "probe", name));
    return kernel;
}

/* Device memory with a copy of the host's. */
static void *uploaded(const void *host, size_t bytes)
{
    void *device;
    OK(ks_gpu_alloc(gpu, &device, bytes));
    OK(ks_gpu_copy_in(gpu, device, host, bytes, stream));
    return device;
}

static void download(void *host, const void *device, size_t bytes)
{
    OK(ks_gpu_copy_out(gpu, host, device, bytes, stream));
    OK(ks_gpu_stream_sync(gpu, stream));
}

static void attributes_are_sane(void **state)
{
    (void)state;
    begin(1);
    const ks_gpu_attributes *a = &gpu->attributes;
    printf("%s, %d.%d, %d multiprocessors, %zu bytes shared\n", a->name, a->major, a->minor,
           a->multiprocessors, a->block_shared);
    assert_true(a->multiprocessors >= 1 && a->block_threads >= 1024 &&
                a->block_shared >= 48 * 1024);
    assert_true(a->memory > 0 && a->name[0] && a->cooperative);
    ks_gpu *none;
    assert_int_equal(ks_gpu_open(&none, NULL, 1000), KS_ENODEV);
    assert_null(none);
    const ks_gpu_kernel *kernel;
    assert_int_equal(ks_gpu_find(gpu, &kernel, "probe", "no_such_kernel"), KS_EUNAVAILABLE);
    assert_int_equal(ks_gpu_find(gpu, &kernel, "no_such_module", "probe_sum"), KS_EUNAVAILABLE);
    end();
}

static void sums(void **state)
{
    (void)state;
    enum { N = 1001, BLOCKS = 3, THREADS = 128 };
    double x[N], part[BLOCKS], expected = 0;
    for (int i = 0; i < N; ++i) expected += x[i] = i % 17;
    for (int seed = 0; seed < SEEDS; ++seed) {
        begin(seed);
        void *sums_of;
        OK(ks_gpu_alloc(gpu, &sums_of, sizeof part));
        const probe_sum_args args = {N, uploaded(x, sizeof x), sums_of};
        const ks_gpu_shape shape = {{BLOCKS}, {THREADS}, THREADS * sizeof(double), 0};
        OK(ks_gpu_launch(gpu, probe("probe_sum"), &shape, &args, sizeof args, stream));
        download(part, sums_of, sizeof part);
        assert_true(part[0] + part[1] + part[2] == expected);
        ks_gpu_free(gpu, (void *)(uintptr_t)args.x);
        ks_gpu_free(gpu, sums_of);
        end();
    }
}

static void block_scans(void **state)
{
    (void)state;
    enum { BLOCKS = 2, THREADS = 256, N = BLOCKS * THREADS };
    int64_t x[N], y[N];
    for (int i = 0; i < N; ++i) x[i] = i * 7 % 31;
    for (int seed = 0; seed < SEEDS; ++seed) {
        begin(seed);
        void *from = uploaded(x, sizeof x), *to;
        OK(ks_gpu_alloc(gpu, &to, sizeof y));
        const probe_scan_args args = {from, to};
        const ks_gpu_shape shape = {{BLOCKS}, {THREADS}, 0, 0};
        OK(ks_gpu_launch(gpu, probe("probe_scan"), &shape, &args, sizeof args, stream));
        download(y, to, sizeof y);
        int64_t sum = 0;
        for (int i = 0; i < N; ++i) {
            if (i % THREADS == 0) sum = 0;
            sum += x[i];
            assert_int_equal(y[i], sum);
        }
        ks_gpu_free(gpu, from);
        ks_gpu_free(gpu, to);
        end();
    }
}

static void grids_wait_for_each_other(void **state)
{
    (void)state;
    enum { N = 97, ROUNDS = 9, THREADS = 32 };
    double x[N], y[N], z[N];
    for (int i = 0; i < N; ++i) x[i] = i % 5;
    memcpy(y, x, sizeof x);
    for (int r = 0; r < ROUNDS; ++r) {
        for (int i = 0; i < N; ++i) z[i] = y[(i + N - 1) % N] + y[(i + 1) % N];
        memcpy(y, z, sizeof y);
    }
    for (int seed = 0; seed < SEEDS; ++seed) {
        begin(seed);
        int blocks;
        const ks_gpu_kernel *kernel = probe("probe_spread");
        OK(ks_gpu_resident(gpu, &blocks, kernel, THREADS, 0));
        assert_true(blocks >= 1);
        void *to;
        OK(ks_gpu_alloc(gpu, &to, sizeof y));
        const probe_spread_args args = {N, ROUNDS, uploaded(x, sizeof x), to};
        const ks_gpu_shape shape = {{3}, {THREADS}, 0, 1};
        OK(ks_gpu_launch(gpu, kernel, &shape, &args, sizeof args, stream));
        download(z, to, sizeof z);
        assert_memory_equal(z, y, sizeof z);
        ks_gpu_free(gpu, args.x);
        ks_gpu_free(gpu, to);
        end();
    }
}

/* Small integers, so that every order of summation gives the same. */
static void tensor_cores_multiply(void **state)
{
    (void)state;
    const int shapes[][2] = {{8, 4}, {16, 4}, {16, 8}, {16, 16}};
    begin(1);
    for (int s = 0; s < 4; ++s) {
        const int m = shapes[s][0], k = shapes[s][1];
        double a[256], b[128], c[128], expected[128];
        for (int i = 0; i < m * k; ++i) a[i] = i * 5 % 13 - 6;
        for (int i = 0; i < k * 8; ++i) b[i] = i * 3 % 11 - 5;
        for (int i = 0; i < m * 8; ++i) {
            expected[i] = c[i] = i % 7;
            for (int j = 0; j < k; ++j) expected[i] += a[i / 8 * k + j] * b[j * 8 + i % 8];
        }
        const size_t bytes = (size_t)m * 8 * sizeof *c;
        void *A = uploaded(a, sizeof a), *B = uploaded(b, sizeof b), *C = uploaded(c, bytes);
        const probe_product_args args = {m, k, A, B, C};
        const ks_gpu_shape shape = {{1}, {32}, 0, 0};
        OK(ks_gpu_launch(gpu, probe("probe_product"), &shape, &args, sizeof args, stream));
        download(c, C, bytes);
        for (int i = 0; i < m * 8; ++i) assert_true(c[i] == expected[i]);
        ks_gpu_free(gpu, A);
        ks_gpu_free(gpu, B);
        ks_gpu_free(gpu, C);
    }
    end();
}

static void copies_run_beside_the_threads(void **state)
{
    (void)state;
    enum { BLOCKS = 2, TILES = 5, THREADS = 64, N = BLOCKS * TILES * THREADS };
    double x[N], y[N];
    for (int i = 0; i < N; ++i) x[i] = i;
    for (int seed = 0; seed < SEEDS; ++seed) {
        begin(seed);
        void *from = uploaded(x, sizeof x), *to;
        OK(ks_gpu_alloc(gpu, &to, sizeof y));
        const probe_stage_args args = {TILES, from, to};
        const ks_gpu_shape shape = {{BLOCKS}, {THREADS}, 2 * THREADS * sizeof(double), 0};
        OK(ks_gpu_launch(gpu, probe("probe_stage"), &shape, &args, sizeof args, stream));
        download(y, to, sizeof y);
        for (int i = 0; i < N; ++i)
            assert_true(y[i] == x[i / THREADS * THREADS + THREADS - 1 - i % THREADS]);
        ks_gpu_free(gpu, from);
        ks_gpu_free(gpu, to);
        end();
    }
}

/* One to four stages, and fewer rows than stages. */
static void bulk_copies_run_beside_the_threads(void **state)
{
    (void)state;
    enum { BLOCKS = 2, THREADS = 64, ROWS = 9, NUMBERS = 6, ALL = BLOCKS * THREADS * ROWS * NUMBERS };
    static double x[ALL];
    double y[BLOCKS * THREADS * NUMBERS];
    for (int i = 0; i < ALL; ++i) x[i] = i % 1009;
    for (int seed = 0; seed < SEEDS; ++seed)
        for (int stages = 1; stages <= 4; ++stages) {
            begin(seed);
            const int64_t rows = seed % 2 ? ROWS : 2;
            void *from = uploaded(x, sizeof x), *to;
            OK(ks_gpu_alloc(gpu, &to, sizeof y));
            const probe_bulk_args args = {rows, stages, from, to};
            const ks_gpu_shape shape = {{BLOCKS}, {THREADS}, (size_t)(THREADS * stages * 64), 0};
            OK(ks_gpu_launch(gpu, probe("probe_bulk"), &shape, &args, sizeof args, stream));
            download(y, to, sizeof y);
            for (int i = 0; i < BLOCKS * THREADS * NUMBERS; ++i) {
                double sum = 0;
                for (int64_t row = 0; row < rows; ++row)
                    sum += x[(i / NUMBERS * rows + row) * NUMBERS + i % NUMBERS];
                assert_true(y[i] == sum);
            }
            ks_gpu_free(gpu, from);
            ks_gpu_free(gpu, to);
            end();
        }
}

static void warps_vote_and_shuffle(void **state)
{
    (void)state;
    for (int seed = 0; seed < SEEDS; ++seed) {
        unsigned bits[8];
        double values[128];
        int counters[4] = {0};
        begin(seed);
        void *b, *v, *c = uploaded(counters, sizeof counters);
        OK(ks_gpu_alloc(gpu, &b, sizeof bits));
        OK(ks_gpu_alloc(gpu, &v, sizeof values));
        const probe_warp_args args = {b, v, c};
        const ks_gpu_shape shape = {{1}, {32}, 0, 0};
        OK(ks_gpu_launch(gpu, probe("probe_warp"), &shape, &args, sizeof args, stream));
        download(bits, b, sizeof bits);
        download(values, v, sizeof values);
        download(counters, c, sizeof counters);
        const unsigned expected[8] = {0xaaaaaaaau, 1, 0, 0xfff0u, 11, 1, 0, 16 + 3 + 31};
        for (int i = 0; i < 8; ++i) assert_int_equal(bits[i], expected[i]);
        for (int i = 0; i < 32; ++i) {
            assert_true(values[i] == 105);
            assert_true(values[32 + i] == 100 + (i % 8 < 3 ? i : i - 3));
            assert_true(values[64 + i] == 100 + (i % 8 > 4 ? i : i + 3));
            assert_true(values[96 + i] == 100 + (i ^ 9));
        }
        assert_int_equal(counters[0], 496);
        assert_int_equal(counters[1], -31);
        assert_int_equal(counters[2], 31);
        assert_within(counters[3], 1, 32);
        ks_gpu_free(gpu, b);
        ks_gpu_free(gpu, v);
        ks_gpu_free(gpu, c);
        end();
    }
}

/* Two streams that exchange by events, direct and as a graph that is launched twice. */
static void streams_events_and_graphs(void **state)
{
    (void)state;
    enum { N = 64 };
    for (int seed = 0; seed < SEEDS; ++seed) {
        begin(seed);
        ks_gpu_stream *other;
        ks_gpu_event *fork, *join;
        ks_gpu_graph *graph;
        void *a, *b, *host;
        double milliseconds = -1;
        OK(ks_gpu_stream_create(gpu, &other));
        OK(ks_gpu_event_create(gpu, &fork));
        OK(ks_gpu_event_create(gpu, &join));
        OK(ks_gpu_alloc(gpu, &a, 2 * N));
        OK(ks_gpu_alloc(gpu, &b, N));
        OK(ks_gpu_host_alloc(gpu, &host, 2 * N));
        unsigned char *const bytes = host;
        for (int captured = 0; captured < 2; ++captured) {
            memset(host, 0, 2 * N);
            if (captured) OK(ks_gpu_capture_begin(gpu, stream));
            OK(ks_gpu_fill(gpu, b, 7 + captured, N, stream));
            OK(ks_gpu_event_record(gpu, fork, stream));
            OK(ks_gpu_event_wait(gpu, fork, other));
            OK(ks_gpu_copy(gpu, (char *)a + N, b, N, other));
            OK(ks_gpu_event_record(gpu, join, other));
            OK(ks_gpu_fill(gpu, a, 3, N, stream));
            OK(ks_gpu_event_wait(gpu, join, stream));
            OK(ks_gpu_copy_out(gpu, host, a, 2 * N, stream));
            if (captured) {
                OK(ks_gpu_capture_end(gpu, &graph, stream));
                for (int i = 0; i < 2 * N; ++i) assert_int_equal(bytes[i], 0);
                OK(ks_gpu_graph_launch(gpu, graph, stream));
                OK(ks_gpu_graph_launch(gpu, graph, stream));
            }
            OK(ks_gpu_stream_sync(gpu, stream));
            for (int i = 0; i < 2 * N; ++i) assert_int_equal(bytes[i], i < N ? 3 : 7 + captured);
            if (captured)
                ks_gpu_graph_destroy(gpu, graph);
            else {
                OK(ks_gpu_event_sync(gpu, join));
                OK(ks_gpu_event_elapsed(gpu, &milliseconds, fork, join));
                assert_true(milliseconds >= 0);
            }
        }
        ks_gpu_host_free(gpu, host);
        ks_gpu_free(gpu, a);
        ks_gpu_free(gpu, b);
        ks_gpu_event_destroy(gpu, fork);
        ks_gpu_event_destroy(gpu, join);
        ks_gpu_stream_destroy(gpu, other);
        end();
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attributes_are_sane),
        cmocka_unit_test(sums),
        cmocka_unit_test(block_scans),
        cmocka_unit_test(grids_wait_for_each_other),
        cmocka_unit_test(tensor_cores_multiply),
        cmocka_unit_test(copies_run_beside_the_threads),
        cmocka_unit_test(bulk_copies_run_beside_the_threads),
        cmocka_unit_test(warps_vote_and_shuffle),
        cmocka_unit_test(streams_events_and_graphs),
    };
    only_tests(argc, argv, tests);
    if (no_device()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
