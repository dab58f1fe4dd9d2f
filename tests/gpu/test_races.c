/* test_races.c -- kernels whose every access is watched (emulator/races.h): none of those of block-tridiagonal
 * systems may touch what another thread touches with nothing between them, also where no result shows it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "blocktri_laws.h"
#include "racy.h"

/* What is a race is told, and nothing else, under every seed. */
static void races_are_told(void **state)
{
    (void)state;
#define RACY_NAME(name, races) { "racy_" #name, races },
    static const struct { const char *name; int races; } all[] = { RACY_LIST(RACY_NAME) };
    for (int what = 0; what < RACY_COUNT; ++what)
        for (int seed = 0; seed < 4; ++seed) {
            ks_gpu *gpu;
            ks_gpu_stream *stream;
            const ks_gpu_kernel *kernel;
            void *x, *y;
            use_seed(seed);
            OK(ks_gpu_open(&gpu, NULL, 0));
            OK(ks_gpu_stream_create(gpu, &stream));
            OK(ks_gpu_find(gpu, &kernel, "racy", all[what].name));
            OK(ks_gpu_alloc(gpu, &x, 64 * 8));
            OK(ks_gpu_alloc(gpu, &y, 192 * 8));
            const racy_args args = { x, y };
            const ks_gpu_shape shape = { { what < RACY_ATOMIC ? 1 : 2 }, { 64 }, 64 * sizeof(double), what == RACY_GRID };
            /* A stream that runs at once says it at once. */
            const ks_status launched = ks_gpu_launch(gpu, kernel, &shape, &args, sizeof args, stream);
            const ks_status waited = ks_gpu_stream_sync(gpu, stream);
            const int told = strstr(ks_emulated.report, "a race") != NULL, good = !launched && !waited;
            if (told != all[what].races || good == all[what].races)
                fail_msg("%s, seed %d: %s", all[what].name, seed, ks_emulated.report);
            ks_gpu_free(gpu, x);
            ks_gpu_free(gpu, y);
            ks_gpu_stream_destroy(gpu, stream);
            ks_gpu_close(gpu);
        }
}

static void small_blocks(void **state)
{
    (void)state;
    static const struct { int N, n, nrhs, systems; } sizes[] = {
        { 35, 3, 1, 1 }, { 20, 7, 5, 2 }, { 11, 13, 1, 1 }, { 6, 30, 4, 1 },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        use_seed(3 + (int)i);
        run_with(options_of(i % 2 ? KS_F32 : KS_F64, sizes[i].systems, 0), sizes[i].N, sizes[i].n, sizes[i].nrhs,
                 (unsigned)i);
    }
}

/* By launches, in one launch, as a partition, and by atomic sums. */
static void large_blocks(void **state)
{
    (void)state;
    for (int way = 0; way < 4; ++way)
        for (int large = 0; large < 2; ++large) {
            ks_blocktri_cuda_options options = options_of(large ? KS_F32 : KS_F64, 1, 0);
            options.together = way == 1 ? 1 << 20 : 0;
            options.atomic = way == 3;
            if (way == 2) options.order = KS_BLOCKTRI_PARTITION, options.segments = 3;
            use_seed(2 + way);
            run_with(options, large ? 3 : 7, large ? 70 : 34, large ? 1 : 9, (unsigned)way);
        }
    use_seed(9);
    run_with(options_of(KS_F64, 1, 0), 3, 66, 20, 4);
}

static void inverses(void **state)
{
    (void)state;
    use_seed(5);
    invert_with(options_of(KS_F64, 1, 1), 5, 20, 3, 1);
    use_seed(6);
    invert_with(options_of(KS_F32, 1, 1), 3, 68, 4, 1);
}

static void refinement(void **state)
{
    (void)state;
    use_seed(4);
    ks_blocktri_cuda_options options = options_of(KS_F32, 1, 0);
    options.refine = 1;
    job j = begin_with(options, 5, 20, 2, 3);
    void *work;
    OK(ks_blocktri_cuda_alloc(j.plan, &work, ks_blocktri_cuda_refine_bytes(j.plan, 2)));
    OK(ks_blocktri_cuda_factorize(j.plan, j.D, j.L, NULL));
    wait(&j);
    OK(ks_blocktri_cuda_refine_solve(j.plan, j.D, j.L, 2, j.b, j.x, work, NULL, NULL, NULL));
    ks_blocktri_cuda_free(j.plan, work);
    end(&j);
}

/* A call that failed says what of. */
static int say(void **state)
{
    (void)state;
    if (ks_emulated.report[0]) puts(ks_emulated.report);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(races_are_told),
        cmocka_unit_test_teardown(small_blocks, say),
        cmocka_unit_test_teardown(large_blocks, say),
        cmocka_unit_test_teardown(inverses, say),
        cmocka_unit_test_teardown(refinement, say),
    };
    only_tests(argc, argv, tests);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
