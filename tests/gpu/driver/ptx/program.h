/* program.h -- a kernel of a module of PTX as operations that a host's thread runs one after another. */
#ifndef PTX_PROGRAM_H
#define PTX_PROGRAM_H

#include <ctype.h>
#include <deque>
#include <memory>
#include <string.h>
#include <unordered_map>

#include "block.h"
#include "text.h"

struct ptx_function;
struct ptx_frame;
struct ptx_op;

/** Does what an operation says, and returns the next one; NULL: the function ends. */
typedef const ptx_op *(*ptx_run)(const ptx_op *o, ptx_frame &f);

struct alignas(64) ptx_op { /* a line of the cache */
    ptx_run run;
    uint32_t d, s[4]; /**< registers that it writes and reads */
    bool of_arguments; /**< an access to arguments, which is none to memory */
    int64_t offset;   /**< of an address, or another number */
    const ptx_op *to; /**< of a branch */
    const void *more; /**< what the fields above do not hold */
    const char *what; /**< for messages: the operation and its line */
};

/** What a thread has beside registers. */
struct ptx_thread {
    char *shared, *dynamic; /**< the block's shared memory: of the kernel, and of the launch */
    size_t shared_bytes, dynamic_bytes;
    const char *known, *known_end; /**< memory of the device that it has touched last */
    const char *acquired;          /**< what it has last waited for, and what stood there */
    uint32_t value;
    std::unordered_map<const ptx_op *, uint32_t> executed; /**< how often, where traffic is counted */
};

struct ptx_frame {
    uint64_t *r;
    ptx_thread *t;
};

/** Registers that every function has: addresses of what its operands name. */
enum { PTX_LOCAL, PTX_INCOMING, PTX_OUTGOING, PTX_FIXED };

/** Where dynamic shared memory begins, of the 32 bits of its addresses. */
enum : uint32_t { PTX_DYNAMIC = 1u << 24 };

/** Whether the environment asks for traffic.h, which counts each operation. */
extern const bool ptx_traffic;

/** What most operations end with: the next one at once, by a call that the compiler makes a jump of (optimization=2 in
 *  meson.build sees to it). One that keeps something on the stack returns the next one instead. */
inline const ptx_op *ptx_next(const ptx_op *o, ptx_frame &f) { return ptx_traffic ? o : o->run(o, f); }

struct ptx_function {
    std::vector<ptx_op> ops;
    std::vector<uint64_t> initial; /**< registers as it begins: constants, and what was never written */
    size_t local, incoming, outgoing; /**< bytes of each memory */
    std::vector<size_t> parameters, results; /**< places of each in the incoming memory */
    std::vector<size_t> parameter_bytes, result_bytes;
};

template <class T> T ptx_get(const ptx_frame &f, uint32_t i)
{
    T value;
    memcpy(&value, &f.r[i], sizeof value);
    return value;
}
template <class T> void ptx_set(ptx_frame &f, uint32_t i, T value)
{
    uint64_t word = 0;
    memcpy(&word, &value, sizeof value);
    f.r[i] = word;
}

/** What the statements of a function become, one after another. */
class ptx_decoder
{
  public:
    uint32_t reg(const std::string &operand); /**< a register, or one that holds a constant or an address */
    /** "[%rd1+8]": the register that it begins at, and the offset. */
    uint32_t address(const std::string &operand, int64_t *offset);
    std::vector<uint32_t> vector(const std::string &operand); /**< "{%f1,%f2}", or one alone */
    template <class T> const T *keep(T value)
    {
        auto held = std::make_shared<T>(value);
        kept_.push_back(held);
        return held.get();
    }

  protected:
    struct symbol {
        uint32_t base;
        uint64_t at;
    };
    std::unordered_map<std::string, symbol> symbols_;
    std::unordered_map<std::string, uint32_t> registers_;
    std::vector<uint64_t> initial_;
    std::vector<std::shared_ptr<const void>> kept_;
    uint32_t slot(const std::string &name, uint64_t value);
};

/** Where a function's text has a register. */
struct ptx_span {
    size_t first, last; /**< statements */
    size_t stretch;     /**< of statements between two labels, that they lie in */
    int times;
    bool local;     /**< written there before it is read, and in no other stretch */
    uint32_t place; /**< of one that is local: registers of one place are not needed at the same time */
};
typedef std::unordered_map<std::string, ptx_span> ptx_spans;

/** Of all registers whose names begin with %. What a product is made of is needed as long as the product: its sum may
 *  come to be made of that. `places`: how many there are. */
ptx_spans ptx_live(const std::vector<ptx_statement> &body, uint32_t *places);

/** Calls found(name) for each name in an operand that begins with %. */
template <class F> void ptx_names(const std::string &operand, F found)
{
    for (size_t at = 0; (at = operand.find('%', at)) != std::string::npos;) {
        size_t end = at + 1;
        while (end < operand.size() && (isalnum((unsigned char)operand[end]) || operand[end] == '_')) ++end;
        found(operand.substr(at, end - at));
        at = end;
    }
}

/** Whether all words between the first and the last `of` them are among those of the list. */
bool ptx_only(const ptx_statement &s, size_t of, const char *list);

/** Each fills an operation that is one of its own; false where it is not. Throws where it is not understood. */
bool ptx_arithmetic(ptx_decoder &d, const ptx_statement &s, ptx_op *o);
bool ptx_memory(ptx_decoder &d, const ptx_statement &s, ptx_op *o);
bool ptx_together(ptx_decoder &d, const ptx_statement &s, ptx_op *o);

/** What comes before an operation and behind it, where something does. */
bool ptx_before(const ptx_statement &s, ptx_op *o);
bool ptx_behind(const ptx_statement &s, ptx_op *o);

/** Make of a sum or a difference one operation with the product that its operand number `factor` is. */
void ptx_fuse(ptx_op *sum, const ptx_op &product, const std::string &type, bool subtracts, int factor);

/** A kernel and what it calls. */
struct ptx_program : ks_emu_kernel {
    ptx_program(const ks_emu_kernel &host, ptx_text &text);
    std::map<std::string, ptx_function> functions;
    size_t shared; /**< bytes of its own */

  private:
    const ptx_function *decode(ptx_text &text, const std::string &name);
    size_t shared_place(const ptx_variable &v);
    const char *remember(const std::string &text);
    std::map<std::string, size_t> shared_at_;
    std::vector<std::shared_ptr<const void>> kept_;
    std::deque<std::string> names_;
    friend class function_decoder;
};

/** Whether all of it is memory of a device. */
bool ptx_look_for(ptx_thread &t, const char *at, size_t bytes);
inline bool ptx_on_device(ptx_thread &t, const void *p, size_t bytes)
{
    const char *const at = static_cast<const char *>(p);
    if (t.known && at >= t.known && at <= t.known_end && bytes <= (size_t)(t.known_end - at)) return true;
    return ptx_look_for(t, at, bytes);
}

#endif
