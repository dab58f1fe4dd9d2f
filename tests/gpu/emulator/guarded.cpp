/* guarded.cpp -- memory with strips around it, and a stock of stacks. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "launch.h"
#include "races.h"

#ifdef KS_EMU_WITH_ASAN /* those who run on it are sanitized */
#    include <sanitizer/asan_interface.h>
#    define POISON(p, n)   __asan_poison_memory_region(p, n)
#    define UNPOISON(p, n) __asan_unpoison_memory_region(p, n)
#else
#    define POISON(p, n)   ((void)(p), (void)(n))
#    define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

namespace
{
const size_t strip = 256; /* device memory is aligned to it */
const unsigned char mark = 0xa5;

size_t rounded(size_t bytes, size_t to = strip) { return (bytes + to - 1) / to * to; }

/* Of a large allocation kernels touch little, scratch for threads that are not there above all: it is mapped from
 * one piece of 0xff over and over, and only pages that are written become memory. */
const size_t piece = (size_t)4 << 20, large = (size_t)1 << 20;

/* The file of one piece, made once; -1 where there is none. */
int file_of_ones()
{
    static const int file = [] {
        const int made = memfd_create("kalscan-emulated", MFD_CLOEXEC);
        if (made < 0) return -1;
        void *ones = ftruncate(made, (off_t)piece)
                         ? MAP_FAILED
                         : mmap(nullptr, piece, PROT_WRITE, MAP_SHARED, made, 0);
        if (ones == MAP_FAILED) {
            close(made);
            return -1;
        }
        UNPOISON(ones, piece);
        memset(ones, 0xff, piece);
        munmap(ones, piece);
        return made;
    }();
    return file;
}

/* `bytes` of 0xff, NULL where there is no memory. */
char *map_ones(size_t bytes)
{
    const int file = file_of_ones(), access = PROT_READ | PROT_WRITE;
    if (file < 0) return nullptr;
    void *const all = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) return nullptr;
    char *const base = static_cast<char *>(all);
    UNPOISON(base, bytes); /* a stack that was here may have left marks */
    for (size_t at = 0; at < bytes; at += piece) {
        const size_t n = bytes - at < piece ? bytes - at : piece;
        if (mmap(base + at, n, access, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file, 0) == MAP_FAILED) {
            munmap(all, bytes);
            return nullptr;
        }
    }
    return base;
}
} // namespace

guarded::guarded(size_t bytes) : base_(nullptr), data_(nullptr), bytes_(bytes), mapped_(0)
{
    const size_t all = rounded(bytes) + 2 * strip;
    const size_t pages = rounded(all, (size_t)sysconf(_SC_PAGESIZE));
    if (bytes >= large) base_ = map_ones(pages);
    if (base_) mapped_ = pages;
    else base_ = static_cast<char *>(aligned_alloc(strip, all));
    if (!base_) return;
    data_ = base_ + strip;
    if (!mapped_) memset(data_, 0xff, bytes);
    memset(base_, mark, strip);
    memset(data_ + bytes, mark, all - strip - bytes);
    races_memory(data_, bytes);
    POISON(base_, strip);
    POISON(data_ + bytes_, rounded(bytes_) - bytes_ + strip);
}

guarded::~guarded()
{
    if (!base_) return;
    races_no_memory(data_);
    if (mapped_) {
        UNPOISON(base_, strip);
        UNPOISON(data_ + bytes_, rounded(bytes_) - bytes_ + strip);
        munmap(base_, mapped_);
        return;
    }
    UNPOISON(base_, rounded(bytes_) + 2 * strip);
    free(base_);
}

void guarded::open(bool yes) const
{
    if (mapped_) {
#ifdef KS_EMU_WITH_ASAN /* which would take an eighth of the bytes to poison them all */
        (void)mprotect(base_, mapped_, yes ? PROT_READ | PROT_WRITE : PROT_NONE);
#endif
        return;
    }
    if (yes)
        UNPOISON(data_, bytes_);
    else
        POISON(data_, bytes_);
}

bool guarded::holds(const void *p, size_t n) const
{
    const uintptr_t at = reinterpret_cast<uintptr_t>(p), from = reinterpret_cast<uintptr_t>(data_);
    return at >= from && at - from <= bytes_ && n <= bytes_ - (at - from);
}

bool guarded::intact() const
{
#ifndef KS_EMU_WITH_ASAN /* which watches over the strips itself */
    static const struct marks {
        unsigned char all[2 * strip];
        marks() { memset(all, mark, sizeof all); }
    } right;
    const size_t after = rounded(bytes_) - bytes_ + strip;
    if (memcmp(base_, right.all, strip) || memcmp(data_ + bytes_, right.all, after)) return false;
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
