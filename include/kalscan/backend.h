/* kalscan/backend.h -- back ends: where a plan runs. */
#ifndef KALSCAN_BACKEND_H
#define KALSCAN_BACKEND_H

#include "kalscan/export.h"

KS_BEGIN_DECLS

/** Back ends. For KS_BACKEND_AUTO of plans that also leave the method to the library see ks_smooth_plan_backend() and
 *  ks_general_options. */
typedef enum ks_backend {
    KS_BACKEND_CPU = 0,
    KS_BACKEND_CUDA = 1, /**< a CUDA device */
    KS_BACKEND_AUTO = 2  /**< a device, if there is one with the method and with room, else the CPU */
} ks_backend;

/** Return the back end's name on the command line, such as "cuda". Static storage; NULL for an unknown value. */
KS_API const char *ks_backend_name(ks_backend backend);

KS_END_DECLS
#endif
