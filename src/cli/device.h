/* device.h -- messages about a device that does not exist or cannot be used. */
#ifndef KS_CLI_DEVICE_H
#define KS_CLI_DEVICE_H

#include <stddef.h>
#include "kalscan/status.h"
#include "failure.h"

/** Fail because device `number` returned `status`. bytes: what was to be allocated there; none of it may still be
 *  allocated. */
ks_exit ks_fail_device(ks_status status, int number, size_t bytes, ks_failure *failure);
/** As ks_fail_device(), for two devices; second -1: for one. Each was to receive at most `bytes`. */
ks_exit ks_fail_devices(ks_status status, int number, int second, size_t bytes, ks_failure *failure);

#endif
