/* The status table: values and names are what programs have been compiled with, every status has its
 * words, and so has a value that is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <kalscan/status.h>

/* Written out, not expanded from KS_STATUS_LIST: a value or a name that changes there is another ABI. */
static const struct {
    ks_status status;
    int value;
    const char *name;
} table[] = {
    { KS_OK, 0, "KS_OK" },
    { KS_EINVAL, -1, "KS_EINVAL" },
    { KS_ENOMEM, -2, "KS_ENOMEM" },
    { KS_EMODEL, -3, "KS_EMODEL" },
    { KS_ENOTPD, -4, "KS_ENOTPD" },
    { KS_EREFUSED, -5, "KS_EREFUSED" },
    { KS_EUNAVAILABLE, -6, "KS_EUNAVAILABLE" },
    { KS_ENODEV, -7, "KS_ENODEV" },
    { KS_EDEVICE, -8, "KS_EDEVICE" },
    { KS_ECANCELED, -9, "KS_ECANCELED" },
    { KS_ENONFINITE, -10, "KS_ENONFINITE" },
    { KS_ESINGULAR, -11, "KS_ESINGULAR" },
    { KS_ENOTCONVERGED, -12, "KS_ENOTCONVERGED" },
};
enum { rows = sizeof table / sizeof table[0] };

#define ONE(name, value, text) +1
enum { listed = 0 KS_STATUS_LIST(ONE) };
#undef ONE

static void every_status_is_named(void **state)
{
    (void)state;
    assert_int_equal(rows, listed);
    for (int i = 0; i < rows; ++i) {
        assert_int_equal((int)table[i].status, table[i].value);
        assert_string_equal(ks_status_name(table[i].status), table[i].name);
        assert_true(strlen(ks_strerror(table[i].status)) > 0);
        assert_string_not_equal(ks_strerror(table[i].status), ks_strerror((ks_status)1));
    }
}

static void all_are_different(void **state)
{
    (void)state;
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < i; ++j) {
            assert_int_not_equal(table[i].value, table[j].value);
            assert_string_not_equal(ks_strerror(table[i].status), ks_strerror(table[j].status));
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

static void headers_and_library_are_of_one_version(void **state)
{
    (void)state;
    char text[64];
    snprintf(text, sizeof text, "%d.%d.%d", KS_VERSION_MAJOR, KS_VERSION_MINOR, KS_VERSION_PATCH);
    assert_string_equal(text, ks_version());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_is_named),
        cmocka_unit_test(all_are_different),
        cmocka_unit_test(success_is_zero_and_failure_negative),
        cmocka_unit_test(an_unknown_value_has_words_too),
        cmocka_unit_test(headers_and_library_are_of_one_version),
        cmocka_unit_test(version_is_the_build_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
