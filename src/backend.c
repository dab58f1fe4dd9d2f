/* backend.c -- names of the back ends. */
#include <stddef.h>
#include "kalscan/backend.h"

const char *ks_backend_name(ks_backend backend)
{
    switch (backend) {
    case KS_BACKEND_CPU: return "cpu";
    case KS_BACKEND_CUDA: return "cuda";
    case KS_BACKEND_AUTO: return "auto";
    }
    return NULL;
}
