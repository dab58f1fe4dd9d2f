/* The status table: values and names are unique, every status has its words, and so has a value
 * that is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <kalscan/status.h>

static const struct {
    ks_status status;
    int value;
    const char *name, *text;
} table[] = {
#define ROW(name, value, text) { name, value, #name, text },
    KS_STATUS_LIST(ROW)
#undef ROW
};
enum { rows = sizeof table / sizeof table[0] };

static void every_status_is_named(void **state)
{
    (void)state;
    for (int i = 0; i < rows; ++i) {
        assert_int_equal((int)table[i].status, table[i].value);
        assert_string_equal(ks_status_name(table[i].status), table[i].name);
        assert_string_equal(ks_strerror(table[i].status), table[i].text);
        assert_true(strlen(table[i].text) > 0);
    }
}

static void all_are_different(void **state)
{
    (void)state;
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < i; ++j) {
            assert_int_not_equal(table[i].value, table[j].value);
            assert_string_not_equal(table[i].text, table[j].text);
        }
}

static void success_is_zero_and_failure_negative(void **state)
{
    (void)state;
    assert_int_equal((int)KS_OK, 0);
    for (int i = 0; i < rows; ++i) assert_true(table[i].value <= 0);
}

static void an_unknown_value_has_words_too(void **state)
{
    (void)state;
    const int unknown[] = {1, -1000, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; ++i) {
        assert_non_null(ks_strerror((ks_status)unknown[i]));
        assert_non_null(ks_status_name((ks_status)unknown[i]));
    }
}

static void version_is_the_build_s(void **state)
{
    (void)state;
    assert_string_equal(ks_version(), KALSCAN_BUILD_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_is_named),
        cmocka_unit_test(all_are_different),
        cmocka_unit_test(success_is_zero_and_failure_negative),
        cmocka_unit_test(an_unknown_value_has_words_too),
        cmocka_unit_test(version_is_the_build_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
