/* num_count.hpp -- the number of the shared arithmetic: a double that counts the operations on it. See num_f64.h for
 * the vocabulary; num_end.h undefines the macros.
 *
 * It has the size and the bits of a double, so an array of doubles is an array of it. Each thread has its own counts.
 * KS_ALL() always holds, so an ordinary (difference) form never gives way to the array form. KS_SELECT() evaluates both
 * sides. The counts therefore depend on the sizes only. */
#ifndef KS_NUM_COUNT_HPP
#define KS_NUM_COUNT_HPP

#include <math.h>
#include "flops.h"

static thread_local ks_flops ks_counter;

struct ks_counted {
    double value;
    ks_counted() = default;
    explicit ks_counted(double x) : value(x) {}
    explicit operator double() const { return value; }
    ks_counted operator-() const { return ks_counted(-value); }
};

static inline ks_counted operator+(ks_counted a, ks_counted b)
{
    ++ks_counter.adds;
    return ks_counted(a.value + b.value);
}
static inline ks_counted operator-(ks_counted a, ks_counted b)
{
    ++ks_counter.adds;
    return ks_counted(a.value - b.value);
}
static inline ks_counted operator*(ks_counted a, ks_counted b)
{
    ++ks_counter.multiplies;
    return ks_counted(a.value * b.value);
}
static inline ks_counted operator/(ks_counted a, ks_counted b)
{
    ++ks_counter.divisions;
    return ks_counted(a.value / b.value);
}
static inline ks_counted ks_counted_sqrt(ks_counted a)
{
    ++ks_counter.square_roots;
    return ks_counted(sqrt(a.value));
}
static inline bool operator>(ks_counted a, ks_counted b) { return a.value > b.value; }
static inline bool operator==(ks_counted a, ks_counted b) { return a.value == b.value; }
static inline ks_counted ks_counted_select(bool which, ks_counted a, ks_counted b)
{
    return which ? a : b;
}

#endif
#define KS_NUM ks_counted
#define KS_GAIN ks_counted
#define KS_WIDE ks_counted
#define KS_T(name) name##_count
#define KS_LIT(x) ks_counted((double)(x))
#define KS_SQRT(x) ks_counted_sqrt(x)
#define KS_MASK int
#define KS_GT(a, b) ((int)((a) > (b)))
#define KS_SELECT(m, a, b) ks_counted_select((m) != 0, (a), (b))
#define KS_ALL(m) ((void)(m), 1)
#define KS_EPS 1.1102230246251565e-16
#define KS_GROWTH 1e5
#define KS_LARGEST 1.7976931348623157e308
#define KS_MERGE 1e4
