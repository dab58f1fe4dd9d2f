/* test_asan_vectors.c -- the quick checks of asan_vectors.c say no more than the sanitizer's own. */
#include <sanitizer/asan_interface.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "asan_vectors.h"

enum { BYTES = 256 };

/** Every place and size in memory of which the bytes from `from` to `to` are forbidden. */
static void check(char *memory, size_t from, size_t to)
{
    static const size_t sizes[] = { 1, 16, 24, 32, 48, 64 };
    __asan_poison_memory_region(memory + from, to - from);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s)
        for (size_t i = 0; i + sizes[s] <= BYTES; ++i) {
            const int clean = asan_surely_clean(memory + i, sizes[s]);
            const int vector = sizes[s] == 32 || sizes[s] == 64;
            if (clean) assert_null(__asan_region_is_poisoned(memory + i, sizes[s]));
            if (vector && (i + sizes[s] + 8 <= from || i >= to + 8)) assert_true(clean);
            if (!vector) assert_false(clean);
        }
    __asan_unpoison_memory_region(memory, BYTES);
}

static void no_more_than_is_so(void **state)
{
    (void)state;
    char *memory = aligned_alloc(64, BYTES);
    assert_non_null(memory);
    for (size_t from = 96; from <= 104; ++from)
        for (size_t to = from; to <= from + 72; to += 3) check(memory, from, to);
    free(memory);
}

/** Whether a program that is told of an access ends by it. */
static int ends(void (*access)(void *, long), void *p, size_t n)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        close(STDERR_FILENO);
        access(p, (long)n);
        _exit(0);
    }
    int status;
    assert_true(waitpid(child, &status, 0) == child);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static void ends_where_it_is_not_clean(void **state)
{
    (void)state;
    void (*const accesses[])(void *, long) = { __asan_loadN, __asan_storeN };
    for (size_t bytes = 96; bytes <= 104; bytes += 4) {
        char *memory = malloc(bytes);
        assert_non_null(memory);
        for (int a = 0; a < 2; ++a)
            for (size_t n = 32; n <= 64; n += 16) {
                assert_false(ends(accesses[a], memory, n));
                assert_false(ends(accesses[a], memory + bytes - n, n));
                assert_true(ends(accesses[a], memory + bytes - n + 1, n));
                assert_true(ends(accesses[a], memory + bytes - 4, n));
                assert_true(ends(accesses[a], memory - 4, n));
            }
        free(memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_more_than_is_so),
        cmocka_unit_test(ends_where_it_is_not_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
