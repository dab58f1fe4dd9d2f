/* plain_f32.h -- the arithmetic in single precision; see plain_f64.h. */
#ifndef KS_PLAIN_F32_H
#define KS_PLAIN_F32_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include "hd.h"
#include "kernels.h"

#include "num_f32.h"
#include "plain_text.h"
#include "num_end.h"

#endif
