/* seed.h -- common to all tests of driver code. Compiled with EMULATED they run on the emulated device in the order of
 * a seed, otherwise on the first device of the machine. */
#ifndef GPU_SEED_H
#define GPU_SEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gpu/gpu.h"
#ifdef EMULATED
#    include "emulator.h"
#    define SEEDS_OF(emulated, device) (emulated)
#else
#    define SEEDS_OF(emulated, device) (device)
#endif

/* Seeds 0, 1, ... under which any two of four streams run in either order; see emulator/schedule.cpp. */
enum { ORDERS = SEEDS_OF(8, 3) };

#define OK(call) assert_int_equal((call), KS_OK)

/** Reset the emulated device; its threads run in the order of a seed. A real device is kept open from the first call
 *  on, so that plans share its context. Creating a context takes tenths of a second, longer under compute-sanitizer,
 *  and tests create thousands of plans. */
static inline void use_seed(int seed)
{
#ifdef EMULATED
    const ks_emulator fresh = KS_EMULATOR_INIT;
    ks_emulated = fresh;
    ks_emulated.seed = (uint64_t)seed;
#else
    static ks_gpu *kept;
    static int tried;
    if (!tried++ && ks_gpu_open(&kept, NULL, 0)) kept = NULL;
    (void)seed;
#endif
}

/** True where the machine has no device, which is said: the test is skipped with exit code 77. */
static inline bool no_device(void)
{
    use_seed(0);
    ks_gpu *gpu;
    const ks_status status = ks_gpu_open(&gpu, NULL, 0);
    if (status == KS_OK) ks_gpu_close(gpu);
    if (status == KS_ENODEV) puts("no device");
    return status == KS_ENODEV;
}

/** Run only the tests whose names match the program's argument, a pattern. `--list`: print their names and exit. */
#define only_tests(argc, argv, tests) only_tests_of(argc, argv, tests, sizeof(tests) / sizeof *(tests))
static inline void only_tests_of(int argc, char **argv, const struct CMUnitTest *tests, size_t count)
{
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < count; ++i) puts(tests[i].name);
        exit(0);
    }
    if (argc > 1) cmocka_set_test_filter(argv[1]);
}

/** Check that no work is pending on the emulated device. */
static inline void check_idle(void)
{
#ifdef EMULATED
    assert_int_equal(ks_emulated.pending, 0);
#endif
}

/** Check that the emulated device has found no mistake, and that nothing is left on it. */
static inline void check_clean(void)
{
#ifdef EMULATED
    assert_string_equal(ks_emulated.report, "");
    assert_int_equal(ks_emulated.live, 0);
#endif
}

#endif
