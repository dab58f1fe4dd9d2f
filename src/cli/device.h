/* device.h -- what to say of a device that is not there, or is of no use. */
#ifndef KS_CLI_DEVICE_H
#define KS_CLI_DEVICE_H

#include <stddef.h>
#include "kalscan/status.h"
#include "failure.h"

/** Device `number` gave `status`; bytes: what was to go there, of which nothing is there any more. */
ks_exit ks_fail_device(ks_status status, int number, size_t bytes, ks_failure *failure);
/** The same of two devices, `second` -1: of one; what goes to each is at most `bytes`. */
ks_exit ks_fail_devices(ks_status status, int number, int second, size_t bytes, ks_failure *failure);

#endif
