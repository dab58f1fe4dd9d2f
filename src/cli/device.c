#include "device.h"

#include <stdio.h>
#include "memory.h"

ks_exit ks_fail_devices(ks_status status, int number, int second, size_t bytes, ks_failure *failure)
{
    char need[32], which[32];
    const char *each = second >= 0 && second != number ? " each" : "";
    ks_size_text(bytes, need);
    snprintf(which, sizeof which, *each ? "%d or %d" : "%d", number, second);
    switch (status) {
    case KS_ENODEV:
        return ks_fail(failure, KS_EXIT_RESOURCES,
                       "no CUDA device %s: none is there, its driver is not, or kalscan was built "
                       "without CUDA; --backend cpu needs none", which);
    case KS_EUNAVAILABLE:
        return ks_fail(failure, KS_EXIT_RESOURCES,
                       "CUDA device %s is older than any that kalscan was built for; --backend cpu "
                       "needs none", which);
    case KS_ENOMEM:
        return ks_fail(failure, KS_EXIT_RESOURCES,
                       "out of memory: this input needs %s (%zu bytes)%s on CUDA device %s", need,
                       bytes, each, which);
    default:
        return ks_fail(failure, KS_EXIT_RESOURCES, "CUDA device %s: %s", which, ks_strerror(status));
    }
}

ks_exit ks_fail_device(ks_status status, int number, size_t bytes, ks_failure *failure)
{
    return ks_fail_devices(status, number, -1, bytes, failure);
}
