#include "device.h"

#include <stdio.h>
#include "kalscan/blocktri_cuda.h"
#include "memory.h"

/* Print the free memory of the device, or of the one of two devices that has less. Prints nothing if it is not
 * known. */
static void room_text(int number, int second, size_t length, char *text)
{
    size_t bytes = 0, other = 0;
    char size[32];
    text[0] = 0;
    if (ks_blocktri_cuda_room(&bytes, number) != KS_OK) return;
    if (second >= 0 && ks_blocktri_cuda_room(&other, second) == KS_OK && other < bytes) bytes = other;
    ks_size_text(bytes, size);
    snprintf(text, length, ", where %s (%zu bytes) are free", size, bytes);
}

ks_exit ks_fail_devices(ks_status status, int number, int second, size_t bytes, ks_failure *failure)
{
    char need[32], which[32], room[80];
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
                       "CUDA device %s takes none of the code in this kalscan: it, or its driver, is older than "
                       "what kalscan was built for; --backend cpu needs none", which);
    case KS_ENOMEM:
        room_text(number, second, sizeof room, room);
        return ks_fail(failure, KS_EXIT_RESOURCES,
                       "out of memory: this input needs %s (%zu bytes)%s on CUDA device %s%s", need,
                       bytes, each, which, room);
    default:
        return ks_fail(failure, KS_EXIT_RESOURCES, "CUDA device %s: %s", which, ks_strerror(status));
    }
}

ks_exit ks_fail_device(ks_status status, int number, size_t bytes, ks_failure *failure)
{
    return ks_fail_devices(status, number, -1, bytes, failure);
}
