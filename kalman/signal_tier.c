/* signal_tier.c -- the signal of a series for one instruction-set tier. It is compiled once for each tier, with the
 * tier's flags and with KS_TABLE set to the name of the table. */
#include <math.h>
#include <stdint.h>
#include "hd.h"
#include "signal_rows.h"

#include "num_f64.h"
#include "gemm_text.h"
#include "smallmat_text.h"
#include "signal_text.h"
#include "num_end.h"

#include "num_f32.h"
#include "gemm_text.h"
#include "smallmat_text.h"
#include "signal_text.h"
#include "num_end.h"

#include "num_mixed.h"
#include "gemm_text.h"
#include "smallmat_text.h"
#include "signal_text.h"
#include "num_end.h"

const ks_signal_kernels KS_TABLE = { signal_steps_f64, signal_steps_f32, signal_steps_mixed };
