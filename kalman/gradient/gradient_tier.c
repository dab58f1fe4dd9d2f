/* gradient_tier.c -- the arithmetic of the gradient for one instruction-set tier. It is compiled once for each tier, with
 * the tier's flags and with KS_GRADIENT set to the name of the table. */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "hd.h"
#include "gradient_rows.h"
#include "literal.h"
#include "num_f64.h"
#include "gemm_text.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "memo_text.h"
#include "range_text.h"
#include "gradient_text.h"

#ifndef KS_WITH_LITERAL
#define KS_WITH_LITERAL(nx, CALL) switch (nx) { KS_CASES(CALL, 1, 2, 3, 4) default: CALL(nx); break; }
#endif

static int back(const ks_gradient_rows *rows, int64_t k0, int64_t k1, ks_gradient_state *state, double *work,
                ks_tally *tally)
{
    const unsigned mode = ks_flush_begin();
    int rc = 0;
#define CALL(nx) rc = ks_gradient_back_f64(nx, rows, k0, k1, state, work, tally)
    KS_WITH_LITERAL(rows->series->nx, CALL)
#undef CALL
    ks_flush_end(mode);
    return rc;
}

static int forward(const ks_gradient_rows *rows, int64_t k0, int64_t k1, double *X, ks_gradient_told *told, double *work,
                   ks_tally *tally)
{
    const unsigned mode = ks_flush_begin();
    const int rc = ks_gradient_forward_f64(rows->series->nx, rows, k0, k1, X, told, work, tally);
    ks_flush_end(mode);
    return rc;
}

const ks_gradient_kernels KS_GRADIENT = { back, forward };

#include "num_end.h"
