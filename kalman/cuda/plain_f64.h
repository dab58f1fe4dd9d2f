/* plain_f64.h -- the arithmetic in double and the steps of the scan methods, for device code and for host code that
 * measures its workspace. */
#ifndef KS_PLAIN_F64_H
#define KS_PLAIN_F64_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include "hd.h"
#include "kernels.h"

#include "num_f64.h"
#include "plain_text.h"
#include "num_end.h"

#define KS_IN_DOUBLE(w, name) table_##name##_f64
#include "scan_steps_text.h"
#include "scan_rounding_text.h"
#include "filter_rounding_text.h"

#endif
