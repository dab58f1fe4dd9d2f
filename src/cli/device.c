#include "device.h"
#include "memory.h"

ks_exit ks_fail_device(ks_status status, int number, size_t bytes, ks_failure *failure)
{
    char need[32];
    ks_size_text(bytes, need);
    switch (status) {
    case KS_ENODEV:
        return ks_fail(failure, KS_EXIT_RESOURCES,
                       "no CUDA device %d: none is there, its driver is not, or kalscan was built "
                       "without CUDA; --backend cpu needs none", number);
    case KS_EUNAVAILABLE:
        return ks_fail(failure, KS_EXIT_RESOURCES,
                       "CUDA device %d is older than any that kalscan was built for; --backend cpu "
                       "needs none", number);
    case KS_ENOMEM:
        return ks_fail(failure, KS_EXIT_RESOURCES,
                       "out of memory: this input needs %s (%zu bytes) on CUDA device %d", need,
                       bytes, number);
    default:
        return ks_fail(failure, KS_EXIT_RESOURCES, "CUDA device %d: %s", number,
                       ks_strerror(status));
    }
}
