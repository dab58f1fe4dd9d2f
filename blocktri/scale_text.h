/* scale_text.h -- the scale of a row, which brings a positive diagonal entry to about one without rounding; its
 * inverse. */
#ifndef KS_BT_SCALE_TEXT_H
#define KS_BT_SCALE_TEXT_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#include "hd.h"

/* The power of two s near 1 / sqrt(d) with s^2 d in [1/2, 2). For a normal number d the exponents are read and
 * written as bits. */
KS_HD double ks_bt_scale_of(double d)
{
    uint64_t bits;
    int exponent;
    memcpy(&bits, &d, sizeof bits);
    exponent = (int)(bits >> 52) - 1022;
    if (bits >> 52 == 0) (void)frexp(d, &exponent);
    bits = (uint64_t)(1023 - (exponent - (exponent & 1)) / 2) << 52;
    memcpy(&d, &bits, sizeof bits);
    return d;
}

/* 1 / s of such a scale. It is a normal number, as s is. */
KS_HD double ks_bt_inverse_scale(double s)
{
    uint64_t bits;
    memcpy(&bits, &s, sizeof bits);
    bits = ((uint64_t)2046 << 52) - bits;
    memcpy(&s, &bits, sizeof bits);
    return s;
}

#endif
