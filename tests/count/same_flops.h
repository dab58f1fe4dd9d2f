/* same_flops.h -- operations as a test writes them down, and that as many were counted. */
#ifndef SAME_FLOPS_H
#define SAME_FLOPS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "flops.h"

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

#endif
