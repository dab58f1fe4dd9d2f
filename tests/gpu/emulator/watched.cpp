/* watched.cpp -- what a compiler's -fsanitize=thread calls, in the place of its own run time: see races.h. */
#include <string.h>

#include "races.h"

namespace
{
struct watch {
    watch() { races_watched = true; }
} watching;
} // namespace

extern "C" {
void __tsan_init();
void __tsan_func_entry(void *);
void __tsan_func_exit();
void __tsan_read_range(void *, unsigned long);
void __tsan_write_range(void *, unsigned long);
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_read_range(void *p, unsigned long bytes)
{
    if (bytes) races_touch(p, bytes, RACE_READ);
}
void __tsan_write_range(void *p, unsigned long bytes)
{
    if (bytes) races_touch(p, bytes, RACE_WRITE);
}

/* What clang makes of copies and fills. */
void *__tsan_memcpy(void *, const void *, unsigned long);
void *__tsan_memmove(void *, const void *, unsigned long);
void *__tsan_memset(void *, int, unsigned long);
void *__tsan_memmove(void *to, const void *from, unsigned long bytes)
{
    if (bytes) races_touch(from, bytes, RACE_READ);
    if (bytes) races_touch(to, bytes, RACE_WRITE);
    return memmove(to, from, bytes);
}
void *__tsan_memcpy(void *to, const void *from, unsigned long bytes) { return __tsan_memmove(to, from, bytes); }
void *__tsan_memset(void *to, int byte, unsigned long bytes)
{
    if (bytes) races_touch(to, bytes, RACE_WRITE);
    return memset(to, byte, bytes);
}

#define ACCESS(name, bytes, kind) \
    void __tsan_##name##bytes(void *); \
    void __tsan_##name##bytes(void *p) { races_touch(p, bytes, kind); }
#define SIZES(name, kind) \
    ACCESS(name, 1, kind) ACCESS(name, 2, kind) ACCESS(name, 4, kind) ACCESS(name, 8, kind) ACCESS(name, 16, kind)
SIZES(read, RACE_READ)
SIZES(write, RACE_WRITE)
SIZES(unaligned_read, RACE_READ)
SIZES(unaligned_write, RACE_WRITE)
}
