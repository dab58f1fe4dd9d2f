// count_chains.cpp -- the counting instance of the chains.
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "hd.h"
#include "count_chains.h"
#include "num_count.hpp"
#include "plain_text.h"

static_assert(sizeof(ks_counted) == sizeof(double), "arrays of doubles are arrays of ks_counted");

void ks_bt_counting_kernels(ks_bt_kernels *kernels)
{
    memset(kernels, 0, sizeof *kernels);
    kernels->name = "counting";
    kernels->number = sizeof(double);
    kernels->width = 1;
    kernels->factor = KS_T(ks_bt_plain_factor);
    kernels->gather = KS_T(ks_bt_plain_gather);
    kernels->forward = KS_T(ks_bt_plain_forward);
    kernels->gather_x = KS_T(ks_bt_plain_gather_x);
    kernels->backward = KS_T(ks_bt_plain_backward);
    kernels->inverse = KS_T(ks_bt_plain_inverse);
}

ks_flops ks_bt_take_flops(void)
{
    const ks_flops taken = ks_counter;
    ks_counter = ks_flops();
    return taken;
}
