/* kalscan/backend.h -- where a plan runs. */
#ifndef KALSCAN_BACKEND_H
#define KALSCAN_BACKEND_H

#include "kalscan/export.h"

KS_BEGIN_DECLS

/** Where a plan runs. */
typedef enum ks_backend {
    KS_BACKEND_CPU = 0,
    KS_BACKEND_CUDA = 1, /**< a CUDA device                                                      */
    KS_BACKEND_AUTO = 2  /**< a device where there is one that has the method, and room for it,  */
                         /**< else the CPU; of smoothers and filters whose method is left to the */
                         /**< library see ks_smooth_plan_backend()                               */
} ks_backend;

/** The name as the command line spells it, "cuda"; NULL for an unknown value. */
KS_API const char *ks_backend_name(ks_backend backend);

KS_END_DECLS
#endif
