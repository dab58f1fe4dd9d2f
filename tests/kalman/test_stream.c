/* test_stream.c -- what goes past the caches (src/stream.h) is what goes through them: rows in either direction, blocks
 * of them, and the covariances of series long enough for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "models.h"
#include "run_case.h"
#include "sanitizers.h"
#include "stream.h"

enum { ROWS = 24, ROOM = 1 << 15 };

/** `count` bytes that differ from place to place. */
static void fill(source *s, char *to, int count)
{
    for (int i = 0; i < count; ++i) to[i] = (char)(int)(256 * uniform(s) - 128);
}

/** Rows of every length of numbers, from every place in a line, upward and downward, one of them out of its turn. */
static void rows_arrive(void **state)
{
    (void)state;
    if (WATCHES_THREADS) skip(); /* there is one */
    char *made = zeroed(ROOM, 1), *expected = zeroed(ROOM, 1), row[1024];
    source s = { 77 };
    for (int bytes = 2 * KS_STREAM_LINE; bytes <= 1024; bytes += bytes < 300 ? 4 : 36)
        for (int offset = 0; offset < 2 * KS_STREAM_LINE; offset += 4)
            for (int down = 0; down < 2; ++down) {
                ks_stream stream;
                ks_stream_start(&stream);
                memset(made, 5, ROOM);
                memset(expected, 5, ROOM);
                for (int i = 0; i < ROWS; ++i) {
                    const int turn = i == 9 ? ROWS + 1 : i, at = offset + (down ? ROWS + 1 - turn : turn) * bytes;
                    fill(&s, row, bytes);
                    memcpy(expected + at, row, (size_t)bytes);
                    ks_stream_row(&stream, down, bytes, row, made + at);
                }
                ks_stream_end(&stream);
                if (memcmp(made, expected, ROOM) != 0)
                    fail_msg("rows of %d bytes from %d on, %s", bytes, offset, down ? "downward" : "upward");
            }
    free(made);
    free(expected);
}

static void blocks_arrive(void **state)
{
    (void)state;
    if (WATCHES_THREADS) skip(); /* there is one */
    char made[1024], expected[1024], block[700];
    source s = { 78 };
    for (int bytes = 0; bytes <= 700; bytes += 4)
        for (int offset = 0; offset < 2 * KS_STREAM_LINE; offset += 4) {
            memset(made, 5, sizeof made);
            memset(expected, 5, sizeof expected);
            fill(&s, block, bytes);
            memcpy(expected + offset, block, (size_t)bytes);
            ks_stream_block(bytes, block, made + offset);
            KS_FENCE_PAST();
            if (memcmp(made, expected, sizeof made) != 0) fail_msg("a block of %d bytes from %d on", bytes, offset);
        }
}

static const method_case jobs[] = {
    { .job = KS_JOB_FILTER, .method = KS_METHOD_SEQUENTIAL },
    { .job = KS_JOB_SMOOTH, .method = KS_METHOD_SEQUENTIAL },
    { .job = KS_JOB_SMOOTH, .method = KS_METHOD_TWO_ENDED },
};

static unsigned made(const method_case *m)
{
    return m->job == KS_JOB_FILTER ? KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV
                                   : KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV;
}

/** Steps of (nx, nx) covariances whose bytes go past the caches, all series together, and some more. */
static int64_t enough(int nx, size_t number, int64_t series)
{
    return (int64_t)KS_STREAM_PAYS / (nx * nx * (int64_t)number * series) + 70;
}

/** With variances besides, covariances go through the caches. */
static void long_series(void **state)
{
    (void)state;
    if (WATCHES_THREADS) skip(); /* there is one */
    const int sizes[][2] = { { 8, 4 }, { 9, 3 }, { 10, 2 }, { 12, 6 }, { 16, 3 }, { 23, 2 } };
    for (size_t c = 0; c < sizeof sizes / sizeof sizes[0]; ++c)
        for (int p = 0; p < 2; ++p) {
            if (SANITIZED && (c + (size_t)p) % 3) continue;
            const int nx = sizes[c][0];
            const int64_t T = enough(nx, p ? sizeof(float) : sizeof(double), 1);
            golden *g = model_random((model_spec){ 40 + c, T, 1, nx, sizes[c][1], KS_PRIOR_X0, VARIES_U });
            for (size_t m = 0; m < sizeof jobs / sizeof jobs[0]; ++m) {
                const unsigned var = m ? KS_OUT_SMOOTHED_VAR : KS_OUT_FILTERED_VAR;
                golden_buffers *past = run_well(g, &jobs[m], (ks_precision)p, 1, made(&jobs[m]), NULL);
                golden_buffers *through = run_well(g, &jobs[m], (ks_precision)p, 1, made(&jobs[m]) | var, NULL);
                if (first_different(past, through, made(&jobs[m])))
                    fail_msg("(%d, %d) in %s, %s: other bits with variances besides", nx, g->ny, p ? "f32" : "f64",
                             method_case_name(&jobs[m]));
                golden_buffers_free(past);
                golden_buffers_free(through);
            }
            golden_free(g);
        }
}

/** Series that follow another one's covariances, beside each of them alone. */
static void many_series(void **state)
{
    (void)state;
    const int sizes[][2] = { { 4, 1 }, { 4, 2 }, { 5, 2 }, { 6, 3 }, { 12, 2 } };
    enum { B = 9 };
    for (size_t c = 0; c < sizeof sizes / sizeof sizes[0]; ++c)
        for (int p = 0; p < 2; ++p) {
            const int nx = sizes[c][0];
            if (WATCHES_THREADS && (c + (size_t)p) % 2) continue;
            const int64_t T = enough(nx, p ? sizeof(float) : sizeof(double), B);
            golden *g = model_random((model_spec){ 60 + c, T, B, nx, sizes[c][1], KS_PRIOR_X0, 0 });
            for (size_t m = 0; m < 2; ++m) {
                golden_buffers *all = run_well(g, &jobs[m], (ks_precision)p, 2, made(&jobs[m]), NULL);
                for (int64_t b = 0; b < B && !WATCHES_THREADS; b += 4) {
                    golden *alone = model_series(g, b);
                    golden_buffers *one = run_well(alone, &jobs[m], (ks_precision)p, 1, made(&jobs[m]), NULL);
                    for (unsigned bit = 1; bit <= made(&jobs[m]); bit <<= 1) {
                        size_t bytes = 0, whole = 0;
                        if (!(made(&jobs[m]) & bit)) continue;
                        const char *there = golden_bytes(one, (ks_output)bit, &bytes);
                        const char *here = golden_bytes(all, (ks_output)bit, &whole);
                        if (memcmp(here + (size_t)b * bytes, there, bytes) != 0)
                            fail_msg("(%d, %d) in %s, %s: series %lld has other bits than alone", nx, g->ny,
                                     p ? "f32" : "f64", method_case_name(&jobs[m]), (long long)b);
                    }
                    golden_buffers_free(one);
                    golden_free(alone);
                }
                golden_buffers_free(all);
            }
            golden_free(g);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_arrive),
        cmocka_unit_test(blocks_arrive),
        cmocka_unit_test(long_series),
        cmocka_unit_test(many_series),
    };
    return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
