/* kalscan/status.h -- the status that every function which can fail returns.
 *
 * The library never prints, exits or aborts, never reads the environment, and keeps no hidden error state. A structure
 * beside the status says where a call failed: ks_info in <kalscan/smooth.h>, and its like in the other headers.
 *
 * Example: print why a call failed.
 *
 *     int check(ks_status status)
 *     {
 *         if (status != KS_OK) fprintf(stderr, "%s: %s\n", ks_status_name(status), ks_strerror(status));
 *         return status == KS_OK;
 *     }
 *
 * Versions of structures: where the first member of a structure is `size`, an initializer such as KS_INFO_INIT sets it
 * to sizeof the structure. A call returns KS_EINVAL if it finds another size, and leaves that structure as it is. */
#ifndef KALSCAN_STATUS_H
#define KALSCAN_STATUS_H

#include "kalscan/export.h"

KS_BEGIN_DECLS

/* The values, names and texts of all statuses; ks_status, ks_strerror() and ks_status_name() are expanded from it.
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

/** Statuses: KS_OK is 0, errors are negative. */
typedef enum ks_status {
#define KS_STATUS_ENUM(name, value, text) name = value,
    KS_STATUS_LIST(KS_STATUS_ENUM)
#undef KS_STATUS_ENUM
} ks_status;

/** Return the text of a status, in English; "unknown status" for other values. Static storage, never NULL. */
KS_API const char *ks_strerror(ks_status status);

/** Return the name of a status, such as "KS_ENOMEM"; "KS_UNKNOWN" for other values. Static storage, never NULL. */
KS_API const char *ks_status_name(ks_status status);

/** Version of these headers. */
#define KS_VERSION_MAJOR 0
#define KS_VERSION_MINOR 1
#define KS_VERSION_PATCH 0

/** Return the version of the library that is running, "MAJOR.MINOR.PATCH". Static storage, never NULL. */
KS_API const char *ks_version(void);

KS_END_DECLS
#endif
