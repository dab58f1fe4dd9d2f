/* memory.cpp -- operations of PTX on memory: loads, stores, atomics, copies beside the thread.
 *
 * Addresses are the host's, but for those of shared memory, which have 32 bits: the kernel's own arrays from 0 on,
 * those of the launch from PTX_DYNAMIC. As on a device a word has to be aligned to its size. */
#include <type_traits>

#include "traffic.h"

namespace
{
char *shared_place(ptx_frame &f, uint32_t at, size_t bytes, const char *what)
{
    const bool of_launch = at >= PTX_DYNAMIC;
    const size_t from = of_launch ? at - PTX_DYNAMIC : at;
    const size_t all = of_launch ? f.t->dynamic_bytes : f.t->shared_bytes;
    if (from > all || bytes > all - from) abandon("a place outside of shared memory", what);
    return (of_launch ? f.t->dynamic : f.t->shared) + from;
}

typedef ptx_space space;
const space GENERIC = PTX_GENERIC, GLOBAL = PTX_GLOBAL, SHARED = PTX_SHARED;

/* Where an address is, once it is looked at. */
template <space S> inline __attribute__((always_inline)) char *place(const ptx_op *o, ptx_frame &f, size_t bytes)
{
    const uint64_t at = f.r[o->s[0]] + (uint64_t)o->offset;
    char *const p = S == SHARED ? shared_place(f, (uint32_t)at, bytes, o->what) : reinterpret_cast<char *>((uintptr_t)at);
    if ((S == SHARED ? (uint32_t)at : at) % bytes) abandon("a word that is not aligned to its size", o->what);
    if (S == GLOBAL && !ptx_on_device(*f.t, p, bytes)) abandon("a place outside of the device's memory", o->what);
    if (ptx_traffic && !o->of_arguments) ptx_touched(o, f, S == SHARED ? (uint32_t)at : at, bytes, S);
    return p;
}

/* How many words at once: one in d, more in a list. */
template <space S> struct in {
    template <class T> struct load {
        static const ptx_op *run(const ptx_op *o, ptx_frame &f)
        {
            T value;
            memcpy(&value, place<S>(o, f, sizeof value), sizeof value);
            if (std::is_signed<T>::value) ptx_set(f, o->d, (int64_t)value);
            else ptx_set(f, o->d, value);
            return ptx_next(o + 1, f);
        }
    };
    template <class T> struct store {
        static const ptx_op *run(const ptx_op *o, ptx_frame &f)
        {
            const T value = ptx_get<T>(f, o->s[1]);
            memcpy(place<S>(o, f, sizeof value), &value, sizeof value);
            return ptx_next(o + 1, f);
        }
    };
    template <class T> struct load_many {
        static const ptx_op *run(const ptx_op *o, ptx_frame &f)
        {
            const std::vector<uint32_t> &to = *static_cast<const std::vector<uint32_t> *>(o->more);
            T values[4];
            memcpy(values, place<S>(o, f, to.size() * sizeof(T)), to.size() * sizeof(T));
            for (size_t i = 0; i < to.size(); ++i) ptx_set(f, to[i], values[i]);
            return ptx_next(o + 1, f);
        }
    };
    template <class T> struct store_many {
        static const ptx_op *run(const ptx_op *o, ptx_frame &f)
        {
            const std::vector<uint32_t> &from = *static_cast<const std::vector<uint32_t> *>(o->more);
            T values[4];
            for (size_t i = 0; i < from.size(); ++i) values[i] = ptx_get<T>(f, from[i]);
            memcpy(place<S>(o, f, from.size() * sizeof(T)), values, from.size() * sizeof(T));
            return ptx_next(o + 1, f);
        }
    };
};

template <template <class> class F> ptx_run by_width(const std::string &t)
{
    const std::string bits = t.substr(1);
    if (bits == "8") return F<uint8_t>::run;
    if (bits == "16") return F<uint16_t>::run;
    if (bits == "32") return F<uint32_t>::run;
    if (bits == "64") return F<uint64_t>::run;
    return nullptr;
}
/* A signed word keeps its sign in a register that is wider. */
template <template <class> class F> ptx_run by_sign(const std::string &t)
{
    return t == "s8" ? F<int8_t>::run : t == "s16" ? F<int16_t>::run : t == "s32" ? F<int32_t>::run : by_width<F>(t);
}
template <space S> ptx_run access(const std::string &t, bool stores, bool many)
{
    if (many) return stores ? by_width<in<S>::template store_many>(t) : by_width<in<S>::template load_many>(t);
    return stores ? by_width<in<S>::template store>(t) : by_sign<in<S>::template load>(t);
}

/* Before a load that may wait for another thread, which gets its turn. */
const ptx_op *yielding(const ptx_op *o, ptx_frame &)
{
    ks_emu_yield();
    return o + 1;
}

/* Threads of a launch that have read twice what has not changed, as they do in the barrier of the grid: they wait until
 * one releases something. */
std::vector<thread *> waiting;
uint32_t waiting_in;

void forget_others()
{
    if (waiting_in != running->number) waiting.clear();
    waiting_in = running->number;
}

const ptx_op *acquire(const ptx_op *o, ptx_frame &f)
{
    uint32_t value;
    const char *const p = place<GENERIC>(o, f, sizeof value);
    memcpy(&value, p, sizeof value);
    if (f.t->acquired == p && f.t->value == value) {
        forget_others();
        waiting.push_back(self);
        wait_in(AT_GRID, o->what);
        memcpy(&value, p, sizeof value);
    } else ks_emu_yield();
    f.t->acquired = p;
    f.t->value = value;
    ptx_set(f, o->d, value);
    return o + 1;
}
const ptx_op *release(const ptx_op *o, ptx_frame &f)
{
    f.t->acquired = nullptr;
    forget_others();
    for (thread *t : waiting) wake(*t);
    waiting.clear();
    return o + 1;
}

/* ---- atomics ---- */

template <class T> T summed(T a, T b) { return (T)(a + b); }
template <class T> T lesser(T a, T b) { return b < a ? b : a; }
template <class T> T greater(T a, T b) { return b > a ? b : a; }
template <class T> T last(T, T b) { return b; }
template <class T> T joined(T a, T b) { return (T)(a | b); }
template <class T> T common(T a, T b) { return (T)(a & b); }

template <space S, class T, T (*F)(T, T)> const ptx_op *exchange(const ptx_op *o, ptx_frame &f)
{
    char *const p = place<S>(o, f, sizeof(T));
    T old;
    memcpy(&old, p, sizeof old);
    const T now = F(old, ptx_get<T>(f, o->s[1]));
    memcpy(p, &now, sizeof now);
    ptx_set(f, o->d, old);
    return o + 1;
}
template <space S, class T> const ptx_op *exchange_if(const ptx_op *o, ptx_frame &f)
{
    char *const p = place<S>(o, f, sizeof(T));
    T old;
    memcpy(&old, p, sizeof old);
    const T now = old == ptx_get<T>(f, o->s[1]) ? ptx_get<T>(f, o->s[2]) : old;
    memcpy(p, &now, sizeof now);
    ptx_set(f, o->d, old);
    return o + 1;
}
template <space S, class T> ptx_run integer_atomic(const std::string &how)
{
    if (how == "add") return exchange<S, T, summed<T>>;
    if (how == "min") return exchange<S, T, lesser<T>>;
    if (how == "max") return exchange<S, T, greater<T>>;
    if (how == "exch") return exchange<S, T, last<T>>;
    if (how == "or") return exchange<S, T, joined<T>>;
    if (how == "and") return exchange<S, T, common<T>>;
    if (how == "cas") return exchange_if<S, T>;
    return nullptr;
}
template <space S> ptx_run atomic(const std::string &how, const std::string &t)
{
    if (t == "u32" || t == "b32") return integer_atomic<S, uint32_t>(how);
    if (t == "s32") return how == "add" ? integer_atomic<S, uint32_t>(how) : integer_atomic<S, int32_t>(how);
    if (t == "u64" || t == "b64") return integer_atomic<S, uint64_t>(how);
    if (t == "s64") return how == "add" ? integer_atomic<S, uint64_t>(how) : integer_atomic<S, int64_t>(how);
    if (t == "f32" && how == "add") return exchange<S, float, summed<float>>;
    if (t == "f64" && how == "add") return exchange<S, double, summed<double>>;
    return nullptr;
}

/* ---- from one space to another ---- */

const ptx_op *same(const ptx_op *o, ptx_frame &f)
{
    f.r[o->d] = f.r[o->s[0]];
    return ptx_next(o + 1, f);
}
const ptx_op *from_shared(const ptx_op *o, ptx_frame &f)
{
    f.r[o->d] = reinterpret_cast<uintptr_t>(shared_place(f, (uint32_t)f.r[o->s[0]], 0, o->what));
    return ptx_next(o + 1, f);
}
const ptx_op *to_shared(const ptx_op *o, ptx_frame &f)
{
    const char *const p = reinterpret_cast<const char *>((uintptr_t)f.r[o->s[0]]);
    const ptx_thread &t = *f.t;
    if (p >= t.shared && p < t.shared + t.shared_bytes) f.r[o->d] = (uint64_t)(p - t.shared);
    else if (p >= t.dynamic && p < t.dynamic + t.dynamic_bytes) f.r[o->d] = PTX_DYNAMIC + (uint64_t)(p - t.dynamic);
    else abandon("an address that is none of shared memory", o->what);
    return o + 1;
}

/* ---- copies beside the thread ---- */

/* Two addresses with their offsets, and a number. */
struct ends {
    uint32_t to, from, bytes, barrier;
    int64_t to_offset, from_offset, barrier_offset;
};
const char *source_of(ptx_frame &f, const ptx_op *o, const ends &e, size_t bytes)
{
    const char *const p = reinterpret_cast<const char *>((uintptr_t)(f.r[e.from] + (uint64_t)e.from_offset));
    if (!ptx_on_device(*f.t, p, bytes)) abandon("a copy from outside of the device's memory", o->what);
    return p;
}
const ptx_op *async_copy(const ptx_op *o, ptx_frame &f)
{
    const ends &e = *static_cast<const ends *>(o->more);
    const uint32_t bytes = (uint32_t)f.r[e.bytes];
    char *const to = shared_place(f, (uint32_t)(f.r[e.to] + (uint64_t)e.to_offset), bytes, o->what);
    ks_emu_async_copy(to, source_of(f, o, e, bytes), (int)bytes);
    return o + 1;
}
const ptx_op *async_commit(const ptx_op *o, ptx_frame &)
{
    ks_emu_async_commit();
    return o + 1;
}
const ptx_op *async_wait(const ptx_op *o, ptx_frame &f)
{
    ks_emu_async_wait((int)f.r[o->s[0]]);
    return o + 1;
}
char *barrier_of(const ptx_op *o, ptx_frame &f)
{
    return shared_place(f, (uint32_t)(f.r[o->s[0]] + (uint64_t)o->offset), 8, o->what);
}
const ptx_op *bulk_init(const ptx_op *o, ptx_frame &f)
{
    ks_emu_bulk_init(o->what, barrier_of(o, f), ptx_get<uint32_t>(f, o->s[1]));
    return o + 1;
}
const ptx_op *bulk_arrive(const ptx_op *o, ptx_frame &f)
{
    ks_emu_bulk_arrive(o->what, barrier_of(o, f), ptx_get<uint32_t>(f, o->s[1]));
    return o + 1;
}
const ptx_op *bulk_wait(const ptx_op *o, ptx_frame &f)
{
    ks_emu_bulk_wait(o->what, barrier_of(o, f), ptx_get<uint32_t>(f, o->s[1]));
    ptx_set<uint8_t>(f, o->d, 1);
    return o + 1;
}
const ptx_op *bulk_copy(const ptx_op *o, ptx_frame &f)
{
    const ends &e = *static_cast<const ends *>(o->more);
    const uint32_t bytes = (uint32_t)f.r[e.bytes];
    char *const to = shared_place(f, (uint32_t)(f.r[e.to] + (uint64_t)e.to_offset), bytes, o->what);
    const char *const barrier = shared_place(f, (uint32_t)(f.r[e.barrier] + (uint64_t)e.barrier_offset), 8, o->what);
    ks_emu_bulk_copy(o->what, to, source_of(f, o, e, bytes), bytes, barrier);
    return o + 1;
}
const ptx_op *nothing(const ptx_op *o, ptx_frame &) { return o + 1; }

bool has(const ptx_statement &s, const char *word)
{
    for (const std::string &w : s.words)
        if (w == word) return true;
    return false;
}
space space_of(const ptx_statement &s) { return has(s, "shared") ? SHARED : has(s, "global") ? GLOBAL : GENERIC; }

bool loads_or_stores(ptx_decoder &d, const ptx_statement &s, ptx_op *o)
{
    if (!ptx_only(s, 1, "volatile global shared local param acquire gpu nc v2 v4")) return false;
    const bool stores = s.words[0] == "st";
    const std::string &t = s.words.back(), &value = s.operands[stores ? 1 : 0];
    const bool many = value[0] == '{';
    const space where = space_of(s);
    o->run = where == SHARED ? access<SHARED>(t, stores, many)
             : where == GLOBAL ? access<GLOBAL>(t, stores, many) : access<GENERIC>(t, stores, many);
    o->of_arguments = has(s, "param");
    if (s.name == "ld.acquire.gpu.u32") o->run = acquire;
    else if (has(s, "acquire") || has(s, "release")) return false;
    o->s[0] = d.address(s.operands[stores ? 0 : 1], &o->offset);
    if (many) o->more = d.keep(d.vector(value));
    else if (stores) o->s[1] = d.reg(value);
    else o->d = d.reg(value);
    return true;
}

bool copies(ptx_decoder &d, const ptx_statement &s, ptx_op *o)
{
    if (s.name == "cp.async.commit_group") o->run = async_commit;
    else if (s.name == "cp.async.wait_group") {
        o->run = async_wait;
        o->s[0] = d.reg(s.operands[0]);
    } else if (has(s, "bulk") || s.name == "cp.async.cg.shared.global" || s.name == "cp.async.ca.shared.global") {
        ends e = {};
        e.to = d.address(s.operands[0], &e.to_offset);
        e.from = d.address(s.operands[1], &e.from_offset);
        e.bytes = d.reg(s.operands[2]);
        const bool bulk = s.name == "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
        if (bulk) e.barrier = d.address(s.operands[3], &e.barrier_offset);
        else if (has(s, "bulk") || (s.operands.size() > 3 && s.operands[3] != s.operands[2])) return false;
        o->run = bulk ? bulk_copy : async_copy;
        o->more = d.keep(e);
    }
    return o->run;
}

bool barriers(ptx_decoder &d, const ptx_statement &s, ptx_op *o)
{
    const bool waits = s.name == "mbarrier.try_wait.parity.shared::cta.b64";
    const bool arrives = s.name == "mbarrier.arrive.expect_tx.shared::cta.b64";
    const bool begins = s.name == "mbarrier.init.shared::cta.b64";
    if (!waits && !arrives && !begins) return false;
    const size_t at = begins ? 0 : 1;
    o->run = waits ? bulk_wait : arrives ? bulk_arrive : bulk_init;
    if (waits) o->d = d.reg(s.operands[0]);
    o->s[0] = d.address(s.operands[at], &o->offset);
    o->s[1] = d.reg(s.operands[at + 1]);
    return true;
}
} // namespace

bool ptx_memory(ptx_decoder &d, const ptx_statement &s, ptx_op *o)
{
    const std::string &op = s.words[0], &t = s.words.back();
    bool known = true;
    if (op == "ld" || op == "st") known = loads_or_stores(d, s, o);
    else if (op == "atom") {
        const space where = space_of(s);
        known = ptx_only(s, 1, "global shared release gpu add min max exch or and cas");
        const std::string &how = s.words[where == GENERIC ? 1 : 2];
        o->run = where == GLOBAL ? atomic<GLOBAL>(how, t) : where == SHARED ? atomic<SHARED>(how, t) : atomic<GENERIC>(how, t);
        o->d = d.reg(s.operands[0]);
        o->s[0] = d.address(s.operands[1], &o->offset);
        for (size_t i = 2; i < s.operands.size(); ++i) o->s[i - 1] = d.reg(s.operands[i]);
    } else if (op == "cvta") {
        o->run = s.words[1] == "shared" ? from_shared : s.words[1] == "to" && s.words[2] == "shared" ? to_shared : same;
        o->d = d.reg(s.operands[0]);
        o->s[0] = d.reg(s.operands[1]);
    } else if (op == "cp") known = copies(d, s, o);
    else if (op == "mbarrier") known = barriers(d, s, o);
    else if (op == "fence" || op == "membar") o->run = nothing;
    else return false;
    if (!known || !o->run) throw "line " + std::to_string(s.line) + ": " + s.name + " is not known";
    return true;
}

bool ptx_before(const ptx_statement &s, ptx_op *o)
{
    o->run = s.words[0] == "ld" && has(s, "volatile") ? yielding : nullptr;
    return o->run;
}

bool ptx_behind(const ptx_statement &s, ptx_op *o)
{
    o->run = s.words[0] == "atom" && has(s, "release") ? release : nullptr;
    return o->run;
}
