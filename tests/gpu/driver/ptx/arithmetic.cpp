/* arithmetic.cpp -- operations of PTX on registers alone (PTX ISA, "Instructions"). Where it leaves a function's
 * accuracy open, the result is off as far as it may be, one way or the other. */
#include <cmath>
#include <limits>
#include <set>
#include <type_traits>

#include "program.h"

namespace
{
/* ---- types ---- */

template <template <class> class F> ptx_run of_integer(const std::string &t)
{
    if (t == "u16") return F<uint16_t>::run;
    if (t == "s16") return F<int16_t>::run;
    if (t == "u32") return F<uint32_t>::run;
    if (t == "s32") return F<int32_t>::run;
    if (t == "u64") return F<uint64_t>::run;
    if (t == "s64") return F<int64_t>::run;
    return nullptr;
}
template <template <class> class F> ptx_run of_real(const std::string &t)
{
    return t == "f32" ? F<float>::run : t == "f64" ? F<double>::run : nullptr;
}
template <template <class> class F> ptx_run of_number(const std::string &t)
{
    const ptx_run run = of_integer<F>(t);
    return run ? run : of_real<F>(t);
}
/* By its width, where a sign does not matter; predicates are bytes of 0 and 1. */
template <template <class> class F> ptx_run of_bits(const std::string &t)
{
    if (t == "pred") return F<uint8_t>::run;
    if (t.size() < 3 || (t[0] != 'b' && t[0] != 'u' && t[0] != 's')) return nullptr;
    return of_integer<F>("u" + t.substr(1));
}

#define PTX_RUN static const ptx_op *run(const ptx_op *o, ptx_frame &f)
#define PTX_ONE(name, expression)                 \
    template <class T> struct name {              \
        PTX_RUN                                   \
        {                                         \
            const T a = ptx_get<T>(f, o->s[0]);   \
            ptx_set<T>(f, o->d, (T)(expression)); \
            return ptx_next(o + 1, f);                         \
        }                                         \
    };
#define PTX_TWO(name, expression)                                                 \
    template <class T> struct name {                                              \
        PTX_RUN                                                                   \
        {                                                                         \
            const T a = ptx_get<T>(f, o->s[0]), b = ptx_get<T>(f, o->s[1]);       \
            ptx_set<T>(f, o->d, (T)(expression));                                 \
            return ptx_next(o + 1, f);                                                         \
        }                                                                         \
    };

/* Sums and products of integers wrap. */
template <class T, bool = std::is_integral<T>::value> struct wrapping {
    typedef typename std::make_unsigned<T>::type type;
};
template <class T> struct wrapping<T, false> {
    typedef T type;
};
template <class T> T plus(T a, T b) { return (T)((typename wrapping<T>::type)a + (typename wrapping<T>::type)b); }
template <class T> T less(T a, T b) { return (T)((typename wrapping<T>::type)a - (typename wrapping<T>::type)b); }
template <class T> T times(T a, T b)
{
    if (std::is_integral<T>::value) return (T)((uint64_t)a * (uint64_t)b);
    return a * b;
}
/* What a quotient by zero is stays open; here it is all ones. */
template <class T> T quotient(T a, T b)
{
    if (!b) return (T)~(T)0;
    return std::is_signed<T>::value && b == (T)-1 ? less((T)0, a) : (T)(a / b);
}
template <class T> T remainder_of(T a, T b)
{
    if (!b) return a;
    return std::is_signed<T>::value && b == (T)-1 ? (T)0 : (T)(a % b);
}
template <class T> T least(T a, T b) { return std::is_integral<T>::value ? (b < a ? b : a) : (T)std::fmin(a, b); }
template <class T> T most(T a, T b) { return std::is_integral<T>::value ? (b > a ? b : a) : (T)std::fmax(a, b); }

PTX_TWO(add, plus(a, b))
PTX_TWO(sub, less(a, b))
PTX_TWO(mul, times(a, b))
PTX_TWO(divide, quotient(a, b))
PTX_TWO(rem, remainder_of(a, b))
PTX_TWO(divide_real, a / b)
PTX_TWO(minimum, least(a, b))
PTX_TWO(maximum, most(a, b))
PTX_TWO(both, a &b)
PTX_TWO(either, a | b)
PTX_TWO(differ, a ^ b)
/* Of predicates; a literal -1 is true. */
PTX_TWO(either_alone, !a != !b)
PTX_ONE(none, !a)
PTX_ONE(negate, less((T)0, a))
PTX_ONE(negate_real, -a)
PTX_ONE(absolute, a < 0 ? less((T)0, a) : a)
PTX_ONE(absolute_real, std::abs(a))
PTX_ONE(invert, ~a)
PTX_ONE(root, std::sqrt(a))
PTX_ONE(reciprocal, 1 / a)
PTX_ONE(move, a)

template <class T> struct mad {
    PTX_RUN
    {
        const T product = times(ptx_get<T>(f, o->s[0]), ptx_get<T>(f, o->s[1]));
        ptx_set<T>(f, o->d, plus(product, ptx_get<T>(f, o->s[2])));
        return ptx_next(o + 1, f);
    }
};
template <class T> struct fused {
    PTX_RUN
    {
        const T a = ptx_get<T>(f, o->s[0]), b = ptx_get<T>(f, o->s[1]), c = ptx_get<T>(f, o->s[2]);
        ptx_set<T>(f, o->d, std::fma(a, b, c));
        return ptx_next(o + 1, f);
    }
};
/* c - a b and a b - c, which ptxas makes of two operations. */
template <class T> struct fused_from {
    PTX_RUN
    {
        const T a = -ptx_get<T>(f, o->s[0]), b = ptx_get<T>(f, o->s[1]), c = ptx_get<T>(f, o->s[2]);
        ptx_set<T>(f, o->d, std::fma(a, b, c));
        return ptx_next(o + 1, f);
    }
};
template <class T> struct fused_less {
    PTX_RUN
    {
        const T a = ptx_get<T>(f, o->s[0]), b = ptx_get<T>(f, o->s[1]), c = -ptx_get<T>(f, o->s[2]);
        ptx_set<T>(f, o->d, std::fma(a, b, c));
        return ptx_next(o + 1, f);
    }
};

/* Twice the width: of 16 and 32 bits. */
template <class T> struct wide {
    typedef typename std::conditional<sizeof(T) == 2, typename std::conditional<std::is_signed<T>::value, int32_t, uint32_t>::type,
                                      typename std::conditional<std::is_signed<T>::value, int64_t, uint64_t>::type>::type W;
    PTX_RUN
    {
        ptx_set<W>(f, o->d, (W)ptx_get<T>(f, o->s[0]) * (W)ptx_get<T>(f, o->s[1]));
        return ptx_next(o + 1, f);
    }
};
template <class T> struct high {
    PTX_RUN
    {
        __extension__ typedef typename std::conditional<std::is_signed<T>::value, __int128, unsigned __int128>::type W;
        const W product = (W)ptx_get<T>(f, o->s[0]) * (W)ptx_get<T>(f, o->s[1]);
        ptx_set<T>(f, o->d, (T)(product >> (8 * sizeof(T))));
        return ptx_next(o + 1, f);
    }
};

/* A shift is by 32 bits of it, and past the width all bits are gone, or the sign. */
template <class T> struct left {
    PTX_RUN
    {
        const uint32_t by = ptx_get<uint32_t>(f, o->s[1]);
        ptx_set<T>(f, o->d, by < 8 * sizeof(T) ? (T)((uint64_t)ptx_get<T>(f, o->s[0]) << by) : (T)0);
        return ptx_next(o + 1, f);
    }
};
template <class T> struct right {
    PTX_RUN
    {
        const uint32_t by = ptx_get<uint32_t>(f, o->s[1]), last = 8 * sizeof(T) - 1;
        const T a = ptx_get<T>(f, o->s[0]);
        ptx_set<T>(f, o->d, by <= last ? (T)(a >> by) : a < 0 ? (T)-1 : (T)0);
        return ptx_next(o + 1, f);
    }
};
template <class T> struct insert {
    PTX_RUN
    {
        const uint32_t from = ptx_get<uint32_t>(f, o->s[2]) & 0xff, bits = ptx_get<uint32_t>(f, o->s[3]) & 0xff;
        const uint64_t ones = bits < 64 ? ((uint64_t)1 << bits) - 1 : ~(uint64_t)0;
        const uint64_t a = ptx_get<T>(f, o->s[0]), b = ptx_get<T>(f, o->s[1]);
        ptx_set<T>(f, o->d, from < 64 ? (T)((b & ~(ones << from)) | (a & ones) << from) : (T)b);
        return ptx_next(o + 1, f);
    }
};
template <class T> struct chosen {
    PTX_RUN
    {
        ptx_set<T>(f, o->d, ptx_get<T>(f, o->s[ptx_get<uint8_t>(f, o->s[2]) ? 0 : 1]));
        return ptx_next(o + 1, f);
    }
};
const ptx_op *reversed(const ptx_op *o, ptx_frame &f)
{
    const uint32_t a = ptx_get<uint32_t>(f, o->s[0]);
    uint32_t b = 0;
    for (int i = 0; i < 32; ++i) b |= (a >> i & 1) << (31 - i);
    ptx_set(f, o->d, b);
    return ptx_next(o + 1, f);
}
/* By how much it would have to go left for its first one to come first. */
const ptx_op *leading(const ptx_op *o, ptx_frame &f)
{
    const uint32_t a = ptx_get<uint32_t>(f, o->s[0]);
    ptx_set<uint32_t>(f, o->d, a ? (uint32_t)__builtin_clz(a) : UINT32_MAX);
    return ptx_next(o + 1, f);
}
const ptx_op *ones(const ptx_op *o, ptx_frame &f)
{
    ptx_set<uint32_t>(f, o->d, (uint32_t)__builtin_popcount(ptx_get<uint32_t>(f, o->s[0])));
    return ptx_next(o + 1, f);
}
/* The upper one of two words, the lower one first, after both have gone left together. */
const ptx_op *funnel_left(const ptx_op *o, ptx_frame &f)
{
    const uint64_t both = (uint64_t)ptx_get<uint32_t>(f, o->s[1]) << 32 | ptx_get<uint32_t>(f, o->s[0]);
    ptx_set<uint32_t>(f, o->d, (uint32_t)(both << (ptx_get<uint32_t>(f, o->s[2]) & 31) >> 32));
    return ptx_next(o + 1, f);
}

/* ---- what is only approximate ---- */

/* The next number up or down, as a bit of what came in says. */
template <class T> T off(T exact, bool up)
{
    return std::isfinite(exact) && exact != 0 ? std::nextafter(exact, up ? std::numeric_limits<T>::infinity() : (T)0) : exact;
}
template <class T> struct reciprocal_root {
    PTX_RUN
    {
        const T a = ptx_get<T>(f, o->s[0]);
        const bool up = f.r[o->s[0]] * 0x9e3779b97f4a7c15u >> 63;
        ptx_set<T>(f, o->d, off((T)(1 / std::sqrt((double)a)), up));
        return ptx_next(o + 1, f);
    }
};
/* Of the first 20 bits alone, subnormal numbers are none. */
const ptx_op *rough_reciprocal(const ptx_op *o, ptx_frame &f)
{
    const double a = ptx_get<double>(f, o->s[0]);
    const double y = 1 / (std::abs(a) < 0x1p-1022 ? std::copysign(0.0, a) : a);
    uint64_t bits;
    memcpy(&bits, &y, sizeof bits);
    f.r[o->d] = bits >> 32 << 32;
    return ptx_next(o + 1, f);
}

/* ---- comparisons ---- */

struct eq { template <class T> static bool is(T a, T b) { return a == b; } };
struct ne { template <class T> static bool is(T a, T b) { return a < b || a > b; } };
struct lt { template <class T> static bool is(T a, T b) { return a < b; } };
struct le { template <class T> static bool is(T a, T b) { return a <= b; } };
struct gt { template <class T> static bool is(T a, T b) { return a > b; } };
struct ge { template <class T> static bool is(T a, T b) { return a >= b; } };
struct equ { template <class T> static bool is(T a, T b) { return !(a < b || a > b); } };
struct neu { template <class T> static bool is(T a, T b) { return !(a == b); } };
struct ltu { template <class T> static bool is(T a, T b) { return !(a >= b); } };
struct leu { template <class T> static bool is(T a, T b) { return !(a > b); } };
struct gtu { template <class T> static bool is(T a, T b) { return !(a <= b); } };
struct geu { template <class T> static bool is(T a, T b) { return !(a < b); } };
struct num { template <class T> static bool is(T a, T b) { return a == a && b == b; } };
struct nan_ { template <class T> static bool is(T a, T b) { return a != a || b != b; } };

template <class C> struct compared {
    template <class T> struct with {
        PTX_RUN
        {
            ptx_set<uint8_t>(f, o->d, C::is(ptx_get<T>(f, o->s[0]), ptx_get<T>(f, o->s[1])));
            return ptx_next(o + 1, f);
        }
    };
};
template <class C> ptx_run compare(const std::string &t)
{
    return t[0] == 'b' ? of_bits<compared<C>::template with>(t) : of_number<compared<C>::template with>(t);
}
ptx_run comparison(const std::string &how, const std::string &t)
{
    static const std::map<std::string, ptx_run (*)(const std::string &)> all = {
        {"eq", compare<eq>}, {"ne", compare<ne>}, {"lt", compare<lt>}, {"le", compare<le>}, {"gt", compare<gt>},
        {"ge", compare<ge>}, {"equ", compare<equ>}, {"neu", compare<neu>}, {"ltu", compare<ltu>}, {"leu", compare<leu>},
        {"gtu", compare<gtu>}, {"geu", compare<geu>}, {"num", compare<num>}, {"nan", compare<nan_>}};
    const auto found = all.find(how);
    return found == all.end() ? nullptr : found->second(t);
}

/* ---- conversions ---- */

/* Of a real number to an integer: towards zero, NaN to 0, and the nearest there is. */
template <class To, class From> To converted(From a)
{
    if constexpr (std::is_integral<To>::value && !std::is_integral<From>::value) {
        typedef std::numeric_limits<To> limits;
        if (a != a) return 0;
        if ((double)a >= (double)limits::max()) return limits::max();
        if ((double)a <= (double)limits::min()) return limits::min();
    }
    return (To)a;
}
template <class To> struct conversion {
    template <class From> struct from {
        PTX_RUN
        {
            ptx_set<To>(f, o->d, converted<To>(ptx_get<From>(f, o->s[0])));
            return ptx_next(o + 1, f);
        }
    };
};
ptx_run convert(const std::string &to, const std::string &from)
{
    if (to == "u8") return of_number<conversion<uint8_t>::from>(from);
    if (to == "u16") return of_number<conversion<uint16_t>::from>(from);
    if (to == "s16") return of_number<conversion<int16_t>::from>(from);
    if (to == "u32") return of_number<conversion<uint32_t>::from>(from);
    if (to == "s32") return of_number<conversion<int32_t>::from>(from);
    if (to == "u64") return of_number<conversion<uint64_t>::from>(from);
    if (to == "s64") return of_number<conversion<int64_t>::from>(from);
    if (to == "f32") return of_number<conversion<float>::from>(from);
    if (to == "f64") return of_number<conversion<double>::from>(from);
    return nullptr;
}

/* Words of two halves. */
const ptx_op *pack(const ptx_op *o, ptx_frame &f)
{
    f.r[o->d] = (uint64_t)ptx_get<uint32_t>(f, o->s[0]) | (uint64_t)ptx_get<uint32_t>(f, o->s[1]) << 32;
    return ptx_next(o + 1, f);
}
const ptx_op *unpack(const ptx_op *o, ptx_frame &f)
{
    const uint64_t word = f.r[o->s[0]];
    ptx_set(f, o->d, (uint32_t)word);
    ptx_set(f, o->s[1], (uint32_t)(word >> 32));
    return ptx_next(o + 1, f);
}

/* ---- registers that are there ---- */

const ptx_op *where(const ptx_op *o, ptx_frame &f)
{
    const ks_emu_dim *const all[] = {&ks_emu_here->thread, &ks_emu_here->block, &ks_emu_here->threads,
                                     &ks_emu_here->blocks};
    const ks_emu_dim &d = *all[o->offset / 3];
    ptx_set<uint32_t>(f, o->d, o->offset % 3 == 0 ? d.x : o->offset % 3 == 1 ? d.y : d.z);
    return ptx_next(o + 1, f);
}
/* The memory of a cooperative launch's barrier, which is zero as it begins: upper and lower half of its address. */
const ptx_op *environment(const ptx_op *o, ptx_frame &f)
{
    static thread_local uint32_t of;
    alignas(16) static thread_local uint32_t words[16];
    if (of != running->number) memset(words, 0, sizeof words);
    of = running->number;
    const uint64_t at = running->shape.cooperative ? (uint64_t) reinterpret_cast<uintptr_t>(words) : 0;
    ptx_set<uint32_t>(f, o->d, (uint32_t)(o->offset == 1 ? at >> 32 : at));
    return ptx_next(o + 1, f);
}
bool special(const std::string &name, ptx_op *o)
{
    static const std::map<std::string, int> places = {
        {"%tid.x", 0}, {"%tid.y", 1}, {"%tid.z", 2}, {"%ctaid.x", 3}, {"%ctaid.y", 4}, {"%ctaid.z", 5},
        {"%ntid.x", 6}, {"%ntid.y", 7}, {"%ntid.z", 8}, {"%nctaid.x", 9}, {"%nctaid.y", 10}, {"%nctaid.z", 11}};
    const auto found = places.find(name);
    const bool envreg = name == "%envreg1" || name == "%envreg2";
    if (found == places.end() && !envreg) return false;
    o->run = envreg ? environment : where;
    o->offset = envreg ? name.back() - '0' : found->second;
    return true;
}

/* What a word after the operation's own says of how the result is rounded: nothing, or to the nearest. */
bool nearest(const ptx_statement &s) { return ptx_only(s, 1, "rn"); }
bool bare(const ptx_statement &s) { return s.words.size() == 2; }

bool moved(ptx_decoder &d, const ptx_statement &s, ptx_op *o)
{
    const std::string &to = s.operands[0], &from = s.operands[1];
    if (to[0] == '{') {
        const std::vector<uint32_t> halves = d.vector(to);
        o->d = halves[0];
        o->s[0] = d.reg(from);
        o->s[1] = halves[1];
        o->run = s.name == "mov.b64" ? unpack : nullptr;
        return o->run;
    }
    o->d = d.reg(to);
    if (special(from, o)) return true;
    if (from[0] == '{') {
        const std::vector<uint32_t> halves = d.vector(from);
        o->s[0] = halves[0];
        o->s[1] = halves[1];
        o->run = s.name == "mov.b64" ? pack : nullptr;
        return o->run;
    }
    int64_t offset = 0;
    o->s[0] = d.address("[" + from + "]", &offset);
    o->s[1] = d.reg(std::to_string(offset));
    if (!bare(s)) return false;
    const std::string t = s.words[1] == "f32" ? "b32" : s.words[1] == "f64" ? "b64" : s.words[1];
    o->run = offset ? of_bits<add>(t) : of_bits<move>(t);
    return o->run;
}
ptx_run multiplication(const ptx_statement &s, bool real)
{
    const std::string &t = s.words.back(), &mode = s.words[1];
    if (real) return nearest(s) ? of_real<mul>(t) : nullptr;
    if (s.words.size() != 3) return nullptr;
    return mode == "wide" ? of_integer<wide>(t) : mode == "hi" ? of_integer<high>(t) : mode == "lo" ? of_integer<mul>(t) : nullptr;
}

ptx_run conversion_of(const ptx_statement &s)
{
    if (s.words.size() < 3) return nullptr;
    const std::string &from = s.words.back(), &to = s.words[s.words.size() - 2];
    const bool of_real_number = from[0] == 'f', to_real = to[0] == 'f', widens = from == "f32" && to == "f64";
    const char *const rounding = of_real_number && !to_real ? "rzi" : to_real && !widens ? "rn" : "";
    if (s.words.size() != (*rounding ? 4u : 3u) || !ptx_only(s, 2, rounding)) return nullptr;
    return convert(to, from);
}

ptx_run of_numbers(const ptx_statement &s, bool real)
{
    const std::string &op = s.words[0], &t = s.words.back();
    if (op == "add" && (real ? nearest(s) : bare(s))) return of_number<add>(t);
    if (op == "sub" && (real ? nearest(s) : bare(s))) return of_number<sub>(t);
    if (op == "mul") return multiplication(s, real);
    if (op == "mad" && s.words.size() == 3 && s.words[1] == "lo") return of_integer<mad>(t);
    if (op == "fma" && s.words.size() == 3 && nearest(s)) return of_real<fused>(t);
    if (op == "div" && !real && bare(s)) return of_integer<divide>(t);
    if (op == "div" && real && s.words.size() == 3 && nearest(s)) return of_real<divide_real>(t);
    if (op == "sqrt" && s.words.size() == 3 && nearest(s)) return of_real<root>(t);
    if (op == "rcp" && s.words.size() == 3 && nearest(s)) return of_real<reciprocal>(t);
    if (s.name == "rcp.approx.ftz.f64") return rough_reciprocal;
    if (op == "rsqrt" && s.words.size() == 3 && ptx_only(s, 1, "approx")) return of_real<reciprocal_root>(t);
    if (op == "cvt") return conversion_of(s);
    if (op == "setp" && s.words.size() == 3) return comparison(s.words[1], t);
    if (!bare(s)) return nullptr;
    if (op == "rem") return of_integer<rem>(t);
    if (op == "min") return of_number<minimum>(t);
    if (op == "max") return of_number<maximum>(t);
    if (op == "neg") return real ? of_real<negate_real>(t) : of_integer<negate>(t);
    if (op == "abs") return real ? of_real<absolute_real>(t) : of_integer<absolute>(t);
    if (op == "selp") return real ? of_real<chosen>(t) : of_bits<chosen>(t);
    return nullptr;
}

ptx_run of_words(const ptx_statement &s)
{
    const std::string &op = s.words[0], &t = s.words.back();
    if (s.name == "bfind.shiftamt.u32") return leading;
    if (s.name == "brev.b32") return reversed;
    if (s.name == "shf.l.wrap.b32") return funnel_left;
    if (s.name == "popc.b32") return ones;
    if (s.name == "not.pred") return none<uint8_t>::run;
    if (s.name == "xor.pred") return either_alone<uint8_t>::run;
    if (!bare(s)) return nullptr;
    if (op == "and") return of_bits<both>(t);
    if (op == "or") return of_bits<either>(t);
    if (op == "xor") return of_bits<differ>(t);
    if (op == "not") return of_bits<invert>(t);
    if (op == "shl") return of_bits<left>(t);
    if (op == "shr") return t[0] == 'b' ? of_bits<right>(t) : of_integer<right>(t);
    if (op == "bfi") return of_bits<insert>(t);
    return nullptr;
}
} // namespace

bool ptx_arithmetic(ptx_decoder &d, const ptx_statement &s, ptx_op *o)
{
    static const std::set<std::string> own = {
        "mov", "add", "sub", "mul", "mad", "fma", "div", "rem", "min", "max", "neg", "abs", "sqrt", "rcp", "rsqrt", "cvt",
        "setp", "selp", "and", "or", "xor", "not", "shl", "shr", "shf", "bfi", "bfind", "brev", "popc"};
    if (!own.count(s.words[0])) return false;
    if (s.words[0] == "mov" && moved(d, s, o)) return true;
    o->run = of_numbers(s, s.words.back()[0] == 'f');
    if (!o->run) o->run = of_words(s);
    if (!o->run || s.operands.size() > 5) throw "line " + std::to_string(s.line) + ": " + s.name + " is not known";
    o->d = d.reg(s.operands[0]);
    for (size_t i = 1; i < s.operands.size(); ++i) o->s[i - 1] = d.reg(s.operands[i]);
    return true;
}

void ptx_fuse(ptx_op *sum, const ptx_op &product, const std::string &type, bool subtracts, int factor)
{
    const uint32_t rest = sum->s[1 - factor];
    sum->run = !subtracts ? of_real<fused>(type) : factor ? of_real<fused_from>(type) : of_real<fused_less>(type);
    sum->s[0] = product.s[0];
    sum->s[1] = product.s[1];
    sum->s[2] = rest;
}
