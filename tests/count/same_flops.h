/* same_flops.h -- operations as a test writes them down, as they are counted, and that these are the same. */
#ifndef SAME_FLOPS_H
#define SAME_FLOPS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "count.h"

static inline ks_flops flops(int64_t adds, int64_t multiplies, int64_t divisions, int64_t square_roots)
{
    const ks_flops f = {adds, multiplies, divisions, square_roots};
    return f;
}

/** The same operations kind by kind; `what` and two numbers, sizes or a place, tell where they are not. */
static inline void assert_same(const char *what, int64_t a, int64_t b, ks_flops counted, ks_flops expected)
{
    if (memcmp(&counted, &expected, sizeof counted) == 0) return;
    fail_msg("%s, %lld, %lld: counted %lld %lld %lld %lld, expected %lld %lld %lld %lld", what, (long long)a,
             (long long)b, (long long)counted.adds, (long long)counted.multiplies, (long long)counted.divisions,
             (long long)counted.square_roots, (long long)expected.adds, (long long)expected.multiplies,
             (long long)expected.divisions, (long long)expected.square_roots);
}

/** What is counted of a method, in an order of elimination, for N blocks on P threads. */
static inline ks_count_result counted(const ks_unit_costs *costs, ks_counted_method method, int order, int64_t N,
                                      int64_t P)
{
    const ks_count_case what = {.method = method, .T = N, .threads = P,
                                .blocks = {(ks_blocktri_order)order, 0, 0, 0}};
    ks_count_result result;
    assert_int_equal(ks_count_method(&result, costs, &what), KS_OK);
    return result;
}

#endif
