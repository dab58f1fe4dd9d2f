/* program.cpp -- see program.h: registers and names of a function, its branches and calls, and how it runs. */
#include "program.h"

#include <ctype.h>
#include <set>
#include <stdlib.h>

#include "driver.h"
#include "traffic.h"

/* ---- registers and names ---- */

uint32_t ptx_decoder::slot(const std::string &name, uint64_t value)
{
    const auto made = registers_.emplace(name, (uint32_t)initial_.size());
    if (made.second) initial_.push_back(value);
    return made.first->second;
}

/* What a register holds that nothing was written to. */
static const uint64_t UNWRITTEN = ~(uint64_t)0;

uint32_t ptx_decoder::reg(const std::string &operand)
{
    const char c = operand.empty() ? 0 : operand[0];
    if (operand == "_") return slot("_", UNWRITTEN);
    if (!operand.compare(0, 2, "0d") || !operand.compare(0, 2, "0f") || !operand.compare(0, 2, "0D") || !operand.compare(0, 2, "0F"))
        return slot(operand, strtoull(operand.c_str() + 2, nullptr, 16));
    if (c == '-' || (c >= '0' && c <= '9')) return slot(operand, strtoull(operand.c_str(), nullptr, 0));
    const auto named = symbols_.find(operand);
    if (named != symbols_.end()) {
        if (named->second.base == PTX_FIXED) return slot(operand, named->second.at);
        if (!named->second.at) return named->second.base;
        throw "the address " + operand + " where a register is expected";
    }
    return slot(operand, UNWRITTEN);
}

uint32_t ptx_decoder::address(const std::string &operand, int64_t *offset)
{
    const size_t plus = operand.find('+');
    const size_t end = operand.size() - 1;
    const std::string base = operand.substr(1, (plus == std::string::npos ? end : plus) - 1);
    *offset = plus == std::string::npos ? 0 : strtoll(operand.substr(plus + 1, end - plus - 1).c_str(), nullptr, 10);
    const auto named = symbols_.find(base);
    if (named == symbols_.end() || named->second.base == PTX_FIXED) return reg(base);
    *offset += (int64_t)named->second.at;
    return named->second.base;
}

std::vector<uint32_t> ptx_decoder::vector(const std::string &operand)
{
    std::vector<uint32_t> registers;
    if (operand[0] != '{') return {reg(operand)};
    for (const std::string &one : ptx_list(operand.substr(1, operand.size() - 2))) registers.push_back(reg(one));
    return registers;
}

bool ptx_only(const ptx_statement &s, size_t of, const char *list)
{
    for (size_t i = 1; i + of < s.words.size(); ++i)
        if ((std::string(" ") + list + " ").find(" " + s.words[i] + " ") == std::string::npos) return false;
    return true;
}

/* ---- how it runs ---- */

namespace
{
enum { ALIGNED = 16 };
size_t aligned(size_t at, size_t to = ALIGNED) { return (at + to - 1) / to * to; }

void run_function(const ptx_function &fn, ptx_frame &f)
{
    const ptx_op *o = fn.ops.data();
    while (o) {
        if (ptx_traffic) ++f.t->executed[o];
        o = o->run(o, f);
    }
}

struct part {
    size_t from, to, bytes;
};
struct call {
    const ptx_function *callee;
    std::vector<part> in, out;
};

const ptx_op *called(const ptx_op *o, ptx_frame &f)
{
    const call &c = *static_cast<const call *>(o->more);
    const ptx_function &fn = *c.callee;
    const size_t registers = aligned(fn.initial.size() * sizeof(uint64_t)), incoming = aligned(fn.incoming);
    const size_t outgoing = aligned(fn.outgoing);
    char *const memory = static_cast<char *>(__builtin_alloca_with_align(registers + incoming + outgoing + fn.local + ALIGNED, 8 * ALIGNED));
    ptx_frame inner = {reinterpret_cast<uint64_t *>(memory), f.t};
    memcpy(inner.r, fn.initial.data(), fn.initial.size() * sizeof(uint64_t));
    char *const in = memory + registers, *const out = in + incoming, *const local = out + outgoing;
    memset(local, 0xff, fn.local);
    inner.r[PTX_LOCAL] = reinterpret_cast<uintptr_t>(local);
    inner.r[PTX_INCOMING] = reinterpret_cast<uintptr_t>(in);
    inner.r[PTX_OUTGOING] = reinterpret_cast<uintptr_t>(out);
    char *const mine = reinterpret_cast<char *>((uintptr_t)f.r[PTX_OUTGOING]);
    for (const part &p : c.in) memcpy(in + p.to, mine + p.from, p.bytes);
    run_function(fn, inner);
    for (const part &p : c.out) memcpy(mine + p.to, in + p.from, p.bytes);
    return o + 1;
}

const ptx_op *branch(const ptx_op *o, ptx_frame &f) { return ptx_next(o->to, f); }
const ptx_op *branch_if(const ptx_op *o, ptx_frame &f) { return ptx_next(f.r[o->s[0]] & 1 ? o->to : o + 1, f); }
const ptx_op *branch_unless(const ptx_op *o, ptx_frame &f) { return ptx_next(f.r[o->s[0]] & 1 ? o + 1 : o->to, f); }
const ptx_op *leave(const ptx_op *, ptx_frame &) { return nullptr; }

const char kernel_shared = 0; /* names a kernel's own shared memory among its block's arrays */

void run_kernel(const void *args)
{
    const ptx_program &p = static_cast<const ptx_program &>(running->kernel);
    const ptx_function &fn = p.functions.at(p.name);
    ptx_thread t = {nullptr, nullptr, p.shared, running->shape.shared, nullptr, nullptr, nullptr, 0, {}};
    if (p.shared) t.shared = static_cast<char *>(ks_emu_shared(&kernel_shared, p.shared));
    if (t.dynamic_bytes) t.dynamic = static_cast<char *>(ks_emu_dynamic_shared());
    const size_t registers = aligned(fn.initial.size() * sizeof(uint64_t)), outgoing = aligned(fn.outgoing);
    char *const memory = static_cast<char *>(__builtin_alloca_with_align(registers + outgoing + fn.local + ALIGNED, 8 * ALIGNED));
    ptx_frame f = {reinterpret_cast<uint64_t *>(memory), &t};
    memcpy(f.r, fn.initial.data(), fn.initial.size() * sizeof(uint64_t));
    memset(memory + registers + outgoing, 0xff, fn.local);
    f.r[PTX_INCOMING] = reinterpret_cast<uintptr_t>(args);
    f.r[PTX_OUTGOING] = reinterpret_cast<uintptr_t>(memory + registers);
    f.r[PTX_LOCAL] = reinterpret_cast<uintptr_t>(memory + registers + outgoing);
    run_function(fn, f);
    if (ptx_traffic) ptx_traffic_ends(t);
}
} // namespace

bool ptx_look_for(ptx_thread &t, const char *at, size_t bytes)
{
    for (const CUctx_st &context : all.contexts) {
        if (!context.gpu) continue;
        for (const auto &m : of(context.gpu).memory)
            if (m->holds(at, bytes)) {
                t.known = m->data();
                t.known_end = t.known + m->bytes();
                return true;
            }
    }
    return false;
}

/* ---- functions of a module ---- */

class function_decoder : public ptx_decoder
{
  public:
    function_decoder(ptx_program &program, ptx_text &text, ptx_function &out) : program_(program), text_(text), out_(out) {}

    void decode(const ptx_function_text &t)
    {
        for (const char *name : {"of local memory", "of what comes in", "of what goes out", "nothing"}) slot(name, UNWRITTEN);
        uint32_t places;
        spans_ = ptx_live(t.body, &places);
        const uint32_t first = (uint32_t)initial_.size();
        initial_.resize(first + places, UNWRITTEN);
        for (const auto &one : spans_)
            if (one.second.local) registers_[one.first] = first + one.second.place;
        incoming(t.parameters, out_.parameters, out_.parameter_bytes);
        incoming(t.results, out_.results, out_.result_bytes);
        for (const ptx_statement &s : t.body) one(s);
        add({leave, 0, {}, false, 0, nullptr, nullptr, "the end"});
        fuse();
        for (const auto &jump : jumps_) {
            const auto found = labels_.find(jump.second);
            if (found == labels_.end()) throw "there is no label " + jump.second;
            out_.ops[jump.first].to = &out_.ops[found->second];
        }
        out_.initial = initial_;
        for (auto &k : kept_) program_.kept_.push_back(k);
    }

    void shared_name(const ptx_variable &v)
    {
        if (v.space == "shared") symbols_[v.name] = {PTX_FIXED, program_.shared_place(v)};
    }

  private:
    ptx_program &program_;
    ptx_text &text_;
    ptx_function &out_;
    ptx_spans spans_;
    std::map<std::string, size_t> labels_;
    std::vector<std::pair<size_t, std::string>> jumps_;
    std::vector<const ptx_statement *> from_; /* of each operation */

    void add(const ptx_op &o, const ptx_statement *s = nullptr)
    {
        out_.ops.push_back(o);
        from_.push_back(s);
    }

    void incoming(const std::vector<ptx_variable> &variables, std::vector<size_t> &places, std::vector<size_t> &bytes)
    {
        for (const ptx_variable &v : variables) {
            out_.incoming = aligned(out_.incoming, v.align);
            symbols_[v.name] = {PTX_INCOMING, out_.incoming};
            places.push_back(out_.incoming);
            bytes.push_back(v.bytes);
            out_.incoming += v.bytes;
        }
    }

    void variable(const ptx_variable &v)
    {
        if (v.space == "shared") {
            symbols_[v.name] = {PTX_FIXED, program_.shared_place(v)};
            return;
        }
        size_t &bytes = v.space == "local" ? out_.local : out_.outgoing;
        bytes = aligned(bytes, v.align);
        symbols_[v.name] = {v.space == "local" ? PTX_LOCAL : PTX_OUTGOING, bytes};
        bytes += v.bytes;
    }

    void calls(const ptx_statement &s, ptx_op *o)
    {
        call c = {};
        size_t at = 0;
        std::vector<std::string> to, with;
        if (s.operands[0][0] == '(') to = ptx_list(s.operands[at++].substr(1, s.operands[0].size() - 2));
        const std::string name = s.operands.at(at++);
        if (at < s.operands.size()) with = ptx_list(s.operands[at].substr(1, s.operands[at].size() - 2));
        const ptx_function *const callee = program_.decode(text_, name);
        if (with.size() != callee->parameters.size() || to.size() != callee->results.size()) throw name + ": called with other arguments";
        c.callee = callee;
        for (size_t i = 0; i < with.size(); ++i)
            c.in.push_back({symbols_.at(with[i]).at, callee->parameters[i], callee->parameter_bytes[i]});
        for (size_t i = 0; i < to.size(); ++i)
            c.out.push_back({callee->results[i], symbols_.at(to[i]).at, callee->result_bytes[i]});
        o->run = called;
        o->more = keep(c);
    }

    void one(const ptx_statement &s)
    {
        if (s.kind == ptx_statement::LABEL) labels_[s.name] = out_.ops.size();
        else if (s.kind == ptx_statement::VARIABLE) variable(s.variable);
        else operation(s);
    }

    void operation(const ptx_statement &s)
    {
        ptx_op o = {nullptr, 0, {}, false, 0, nullptr, nullptr, program_.remember(s.name + ", line " + std::to_string(s.line))};
        const std::string &op = s.words[0];
        if (op == "bra") {
            o.run = s.guard.empty() ? branch : s.unless ? branch_unless : branch_if;
            if (!s.guard.empty()) o.s[0] = reg(s.guard);
            jumps_.push_back({out_.ops.size(), s.operands[0]});
            add(o, &s);
            return;
        }
        if (!s.guard.empty()) {
            const std::string behind = "behind line " + std::to_string(s.line);
            ptx_op skip = o;
            skip.run = s.unless ? branch_if : branch_unless;
            skip.s[0] = reg(s.guard);
            jumps_.push_back({out_.ops.size(), behind});
            add(skip, &s);
        }
        if (ptx_before(s, &o)) add(o);
        if (op == "ret" || op == "exit") o.run = leave;
        else if (op == "call") calls(s, &o);
        else if (!ptx_arithmetic(*this, s, &o) && !ptx_memory(*this, s, &o) && !ptx_together(*this, s, &o))
            throw "line " + std::to_string(s.line) + ": " + s.name + " is not known";
        add(o, &s);
        if (ptx_behind(s, &o)) add(o);
        if (!s.guard.empty()) labels_["behind line " + std::to_string(s.line)] = out_.ops.size();
    }

    /* ptxas makes one operation of a product and a sum, where neither says how it is rounded and nothing else uses the
     * product. Which of them it takes is its own affair: KS_DRIVER_FUSE says how many of a hundred, drawn anew for
     * each place. */
    void fuse()
    {
        const char *const given = getenv("KS_DRIVER_FUSE");
        const int share = given ? atoi(given) : 0;
        if (!share) return;
        std::map<uint32_t, size_t> products;
        std::set<size_t> begins; /* of what can be jumped to */
        for (const auto &l : labels_) begins.insert(l.second);
        for (size_t i = 0; i < out_.ops.size(); ++i) {
            const ptx_statement *const s = from_[i];
            if (!s || begins.count(i)) products.clear();
            if (!s) continue;
            const std::string &type = s->words.back();
            const bool real = s->words.size() == 2 && (type == "f64" || type == "f32");
            const bool sums = real && (s->words[0] == "add" || s->words[0] == "sub");
            ptx_op &o = out_.ops[i];
            for (int factor = 0; sums && factor < 2; ++factor) {
                const auto found = products.find(o.s[factor]);
                if (found == products.end() || spans_.at(from_[found->second]->operands[0]).times != 2) continue;
                const uint64_t draw = (uint64_t)(s->line + 1) * 0x9e3779b97f4a7c15u;
                if ((int)((draw >> 32) % 100) >= share) continue;
                ptx_fuse(&o, out_.ops[found->second], type, s->words[0] == "sub", factor);
                break;
            }
            /* What is written here is no factor of earlier products any more. */
            if (!s->operands.empty() && s->words[0] != "st") forget(s->operands[0], products);
            if (real && s->words[0] == "mul") products[o.d] = i;
        }
    }
    void forget(const std::string &operand, std::map<uint32_t, size_t> &products)
    {
        std::set<uint32_t> written;
        ptx_names(operand, [&](const std::string &name) {
            const auto found = registers_.find(name);
            if (found != registers_.end()) written.insert(found->second);
        });
        for (auto p = products.begin(); p != products.end();) {
            const ptx_op &o = out_.ops[p->second];
            if (written.count(o.d) || written.count(o.s[0]) || written.count(o.s[1])) p = products.erase(p);
            else ++p;
        }
    }
};

size_t ptx_program::shared_place(const ptx_variable &v)
{
    const auto known = shared_at_.find(v.name);
    if (known != shared_at_.end()) return known->second;
    if (!v.bytes) return shared_at_[v.name] = PTX_DYNAMIC;
    shared = aligned(shared, v.align);
    const size_t at = shared;
    shared += v.bytes;
    return shared_at_[v.name] = at;
}

const char *ptx_program::remember(const std::string &text)
{
    names_.push_back(text);
    return names_.back().c_str();
}

const ptx_function *ptx_program::decode(ptx_text &text, const std::string &function_name)
{
    const auto known = functions.find(function_name);
    if (known != functions.end()) return &known->second;
    const ptx_function_text *const t = text.function(function_name);
    if (!t) throw "there is no function " + function_name;
    ptx_function &made = functions[function_name];
    function_decoder decoder(*this, text, made);
    for (const ptx_variable &v : text.variables()) decoder.shared_name(v);
    decoder.decode(*t);
    return &made;
}

ptx_program::ptx_program(const ks_emu_kernel &host, ptx_text &text) : ks_emu_kernel(host), shared(0)
{
    (void)decode(text, host.name);
    run = run_kernel;
}
