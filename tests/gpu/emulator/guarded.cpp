/* guarded.cpp -- memory with strips around it, and a stock of stacks. */
#include <stdlib.h>
#include <string.h>

#include "launch.h"
#include "races.h"

#if defined(__SANITIZE_ADDRESS__)
#    define WITH_ASAN 1
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define WITH_ASAN 1
#    endif
#endif
#ifdef WITH_ASAN
#    include <sanitizer/asan_interface.h>
#else
#    define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
#    define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

namespace
{
const size_t strip = 256; /* device memory is aligned to it */
const unsigned char mark = 0xa5;

size_t rounded(size_t bytes) { return (bytes + strip - 1) / strip * strip; }
} // namespace

guarded::guarded(size_t bytes) : base_(nullptr), data_(nullptr), bytes_(bytes)
{
    const size_t all = rounded(bytes) + 2 * strip;
    base_ = static_cast<char *>(aligned_alloc(strip, all));
    if (!base_) return;
    data_ = base_ + strip;
    memset(base_, mark, all);
    memset(data_, 0xff, bytes);
    races_memory(data_, bytes);
    ASAN_POISON_MEMORY_REGION(base_, strip);
    ASAN_POISON_MEMORY_REGION(data_ + bytes_, rounded(bytes_) - bytes_ + strip);
}

guarded::~guarded()
{
    if (base_) races_no_memory(data_);
    if (base_) ASAN_UNPOISON_MEMORY_REGION(base_, rounded(bytes_) + 2 * strip);
    free(base_);
}

void guarded::open(bool yes) const
{
    if (yes)
        ASAN_UNPOISON_MEMORY_REGION(data_, bytes_);
    else
        ASAN_POISON_MEMORY_REGION(data_, bytes_);
}

bool guarded::holds(const void *p, size_t n) const
{
    const uintptr_t at = reinterpret_cast<uintptr_t>(p), from = reinterpret_cast<uintptr_t>(data_);
    return at >= from && at - from <= bytes_ && n <= bytes_ - (at - from);
}

bool guarded::intact() const
{
#ifndef WITH_ASAN /* which watches over the strips itself */
    for (size_t i = 0; i < strip; ++i)
        if (static_cast<unsigned char>(base_[i]) != mark) return false;
    for (const char *p = data_ + bytes_; p < base_ + rounded(bytes_) + 2 * strip; ++p)
        if (static_cast<unsigned char>(*p) != mark) return false;
#endif
    return true;
}

fibre_stock::~fibre_stock()
{
    for (fibre *f : free_) {
        fibre_release(f);
        delete f;
    }
}

fibre *fibre_stock::take()
{
    if (!free_.empty()) {
        fibre *f = free_.back();
        free_.pop_back();
        return f;
    }
    fibre *f = new fibre;
    if (fibre_allocate(f)) return f;
    delete f;
    return nullptr;
}
