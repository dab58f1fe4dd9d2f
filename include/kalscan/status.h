/* kalscan/status.h -- every fallible call returns a ks_status.
 *
 * Errors are values: the library never prints, exits, aborts, reads the environment or keeps
 * a hidden last error. What a status cannot say (which step, which matrix) is in ks_info, see
 * <kalscan/smooth.h>.
 *
 * Structs whose first member is `size` have an initializer that sets it to their sizeof, KS_INFO_INIT and so on: a
 * call that is given any other size is KS_EINVAL, and leaves that struct as it is. */
#ifndef KALSCAN_STATUS_H
#define KALSCAN_STATUS_H

#include "kalscan/export.h"

KS_BEGIN_DECLS

/* One table: the enum, ks_strerror() and ks_status_name() are expanded from it.
 * Values are ABI: append, never renumber. */
#define KS_STATUS_LIST(E)                                                                   \
    E(KS_OK, 0, "success")                                                                  \
    E(KS_EINVAL, -1, "an argument is NULL, out of range or inconsistent")                   \
    E(KS_ENOMEM, -2, "memory allocation failed, or a size overflows")                       \
    E(KS_EMODEL, -3, "a model array holds what it must not (see ks_info)")                  \
    E(KS_ENOTPD, -4, "a matrix that must be positive definite is not (see ks_info)")        \
    E(KS_EREFUSED, -5, "the method cannot take this model (see ks_info)")                   \
    E(KS_EUNAVAILABLE, -6, "the method or option is not available in this build")           \
    E(KS_ENODEV, -7, "no such device, or the back end is not built in")                     \
    E(KS_EDEVICE, -8, "the device run time reported a failure")                             \
    E(KS_ECANCELED, -9, "the progress function asked to stop")                              \
    E(KS_ENONFINITE, -10, "an estimate is not finite (see ks_info)")                        \
    E(KS_ESINGULAR, -11, "a block that is eliminated is singular (see the report)")         \
    E(KS_ENOTCONVERGED, -12, "an iteration did not converge (see the report)")

typedef enum ks_status {
#define KS_STATUS_ENUM(name, value, text) name = value,
    KS_STATUS_LIST(KS_STATUS_ENUM)
#undef KS_STATUS_ENUM
} ks_status;

/** One sentence about a status, in English. Static storage, never NULL. */
KS_API const char *ks_strerror(ks_status status);

/** The status as it is spelt in the source, "KS_ENOMEM". Static storage, never NULL. */
KS_API const char *ks_status_name(ks_status status);

/** The version that these headers belong to. */
#define KS_VERSION_MAJOR 0
#define KS_VERSION_MINOR 1
#define KS_VERSION_PATCH 0

/** The version of the library that is running, "MAJOR.MINOR.PATCH". Static storage. */
KS_API const char *ks_version(void);

KS_END_DECLS
#endif
