/* Memory of the emulated device: small pieces from the heap, large ones mapped page by page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "emulator/emulator.h"
#include "gpu/gpu.h"

#define LARGE ((9 << 20) + 3) /* bytes */

/* Fresh memory is NaN to its last byte, and what one allocation is written to no other has. */
static void fresh_memory_holds_nan(void **state)
{
    (void)state;
    const ks_emulator fresh = KS_EMULATOR_INIT;
    ks_emulated = fresh;
    static const size_t sizes[] = {1, 4097, LARGE, LARGE};
    unsigned char *const host = malloc(sizes[3]), *const first = malloc(sizes[3]);
    assert_true(host && first);
    memset(first, 0xff, sizes[3]);
    void *memory[4];
    ks_gpu *gpu;
    ks_gpu_stream *stream;
    assert_int_equal(ks_gpu_open(&gpu, NULL, 0), KS_OK);
    assert_int_equal(ks_gpu_stream_create(gpu, &stream), KS_OK);
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(ks_gpu_alloc(gpu, &memory[i], sizes[i]), KS_OK);
        assert_int_equal(ks_gpu_copy_out(gpu, host, memory[i], sizes[i], stream), KS_OK);
        assert_int_equal(ks_gpu_stream_sync(gpu, stream), KS_OK);
        assert_memory_equal(host, first, sizes[i]);
        assert_int_equal(ks_gpu_fill(gpu, memory[i], i, sizes[i], stream), KS_OK);
    }
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(ks_gpu_copy_out(gpu, host, memory[i], sizes[i], stream), KS_OK);
        assert_int_equal(ks_gpu_stream_sync(gpu, stream), KS_OK);
        memset(first, i, sizes[i]);
        assert_memory_equal(host, first, sizes[i]);
        ks_gpu_free(gpu, memory[i]);
    }
    ks_gpu_stream_destroy(gpu, stream);
    ks_gpu_close(gpu);
    free(host);
    free(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fresh_memory_holds_nan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
