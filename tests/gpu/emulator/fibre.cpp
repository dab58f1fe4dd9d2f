/* fibre.cpp -- stacks and switches between them. Written out for x86-64, where the system's own
 * swapcontext() costs two system calls for each barrier of each thread. */
#include "fibre.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#ifndef __x86_64__
#    include <ucontext.h>
#endif

#ifdef KS_EMU_WITH_ASAN /* those who run on it are sanitized */
#    include <sanitizer/asan_interface.h>
#    include <sanitizer/common_interface_defs.h>
#endif

namespace
{
const size_t page = 4096, line = 64; /* of the cache */
const size_t guard_bytes = page, stack_bytes = (size_t)1 << 20;
#ifdef KS_EMU_WITH_ASAN
const size_t below_bytes = 1024; /* more than the frame of fibre_leave() */
#endif

/* The scheduler's own place, while a fibre runs. */
struct home {
    void *pointer;
    void *fake;
    const void *bottom;
    size_t bytes;
    bool left; /* for a fibre that has not arrived yet */
#ifndef __x86_64__
    ucontext_t context;
#endif
};
__thread home scheduler;

/* A fibre that is entered for the first time finds itself here. */
__thread fibre *starting;

void arrive(fibre *f)
{
#ifdef KS_EMU_WITH_ASAN
    const void *bottom;
    size_t bytes;
    __sanitizer_finish_switch_fiber(f->fake, &bottom, &bytes);
    if (scheduler.left) {
        scheduler.bottom = bottom;
        scheduler.bytes = bytes;
        scheduler.left = false;
    }
#endif
    (void)f;
}

void begin(fibre *f)
{
    arrive(f);
    f->body(f->argument);
    __builtin_trap();
}

void first() { begin(starting); }
} // namespace

#ifdef __x86_64__
/* Saves what a function must keep, stores the stack pointer, and goes on where `to` stopped. Fibres leave for each
 * other from one place, so that the processor, which expects a function to return to whoever called last, is right. */
extern "C" void ks_emu_switch(void **from, void *to);
asm(R"(
    .text
    .globl ks_emu_switch
    .hidden ks_emu_switch
    .type ks_emu_switch, @function
ks_emu_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size ks_emu_switch, .-ks_emu_switch
)");

/* The first entry pops zeros and returns into first(), with the fibre in no register yet. */
static void place(fibre *f)
{
    void **top = reinterpret_cast<void **>(f->memory + guard_bytes + stack_bytes - f->lower);
    *--top = nullptr;
    *--top = reinterpret_cast<void *>(first);
    for (int i = 0; i < 6; ++i) *--top = nullptr;
    f->pointer = top;
}
static void go_in(fibre *f) { ks_emu_switch(&scheduler.pointer, f->pointer); }
static void go_on(fibre *f, fibre *to) { ks_emu_switch(&f->pointer, to ? to->pointer : scheduler.pointer); }
#else
static void place(fibre *f)
{
    ucontext_t *c = static_cast<ucontext_t *>(f->pointer ? f->pointer : new ucontext_t);
    getcontext(c);
    c->uc_stack.ss_sp = f->memory + guard_bytes;
    c->uc_stack.ss_size = stack_bytes - f->lower;
    c->uc_link = nullptr;
    makecontext(c, first, 0);
    f->pointer = c;
}
static void go_in(fibre *f) { swapcontext(&scheduler.context, static_cast<ucontext_t *>(f->pointer)); }
static void go_on(fibre *f, fibre *to)
{
    swapcontext(static_cast<ucontext_t *>(f->pointer),
                to ? static_cast<ucontext_t *>(to->pointer) : &scheduler.context);
}
#endif

bool fibre_allocate(fibre *f)
{
    void *memory = mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    if (mprotect(memory, guard_bytes, PROT_NONE)) {
        munmap(memory, guard_bytes + stack_bytes);
        return false;
    }
    f->memory = static_cast<char *>(memory);
    /* What all fibres have at the ends of their stacks would have the same few places of the cache. */
    static thread_local size_t made;
    f->lower = made++ * 13 % (page / line) * line;
    return true;
}

void fibre_release(fibre *f)
{
    if (f->memory) munmap(f->memory, guard_bytes + stack_bytes);
#ifndef __x86_64__
    delete static_cast<ucontext_t *>(f->pointer);
#endif
    *f = fibre();
}

void fibre_prepare(fibre *f, void (*body)(void *), void *argument)
{
    f->body = body;
    f->argument = argument;
    f->fake = nullptr;
#ifdef KS_EMU_WITH_ASAN
    /* Functions that have returned left nothing poisoned, those that never will lie above where the owner
     * stopped. Of the whole stack this would take most of the time of all tests on this device. */
    char *const top = f->memory + guard_bytes + stack_bytes;
    char *const from = f->left ? f->left : f->memory + guard_bytes;
    __asan_unpoison_memory_region(from, (size_t)(top - from));
#endif
    place(f);
}

void fibre_enter(fibre *f)
{
    starting = f;
#ifdef KS_EMU_WITH_ASAN
    scheduler.left = true;
    __sanitizer_start_switch_fiber(&scheduler.fake, f->memory + guard_bytes, stack_bytes);
#endif
    go_in(f);
#ifdef KS_EMU_WITH_ASAN
    __sanitizer_finish_switch_fiber(scheduler.fake, nullptr, nullptr);
#endif
}

void fibre_leave(fibre *f, fibre *to, bool last)
{
    starting = to;
#ifdef KS_EMU_WITH_ASAN
    f->left = static_cast<char *>(__builtin_frame_address(0)) - below_bytes;
    void **const fake = last ? nullptr : &f->fake;
    if (to) __sanitizer_start_switch_fiber(fake, to->memory + guard_bytes, stack_bytes);
    else __sanitizer_start_switch_fiber(fake, scheduler.bottom, scheduler.bytes);
#endif
    (void)last;
    go_on(f, to);
    arrive(f);
}
