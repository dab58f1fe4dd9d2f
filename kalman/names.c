/* names.c -- names of methods, steady-state options and arrays. */
#include "kalscan/smooth.h"

const char *ks_method_name(ks_method method)
{
    switch (method) {
    case KS_METHOD_AUTO: return "auto";
    case KS_METHOD_SEQUENTIAL: return "sequential";
    case KS_METHOD_TWO_ENDED: return "two-ended";
    case KS_METHOD_SCAN: return "scan";
    case KS_METHOD_SCAN_RTS: return "scan-rts";
    case KS_METHOD_SCAN_TWO_FILTER: return "scan-two-filter";
    case KS_METHOD_BLOCKTRI: return "blocktri";
    }
    return NULL;
}

const char *ks_steady_state_name(ks_steady_state steady_state)
{
    switch (steady_state) {
    case KS_STEADY_STATE_HOLD: return "hold";
    case KS_STEADY_STATE_REPEAT: return "repeat";
    case KS_STEADY_STATE_COMPUTE: return "compute";
    }
    return NULL;
}

const char *ks_array_name(ks_array array)
{
    switch (array) {
    case KS_ARRAY_NONE: return "";
    case KS_ARRAY_Y: return "y";
    case KS_ARRAY_F: return "F";
    case KS_ARRAY_Q: return "Q";
    case KS_ARRAY_U: return "u";
    case KS_ARRAY_H: return "H";
    case KS_ARRAY_R: return "R";
    case KS_ARRAY_D: return "d";
    case KS_ARRAY_M0: return "m0";
    case KS_ARRAY_P0: return "P0";
    case KS_ARRAY_INNOVATION_COV: return "H P H' + R";
    case KS_ARRAY_ELEMENT_COV: return "H Q H' + R";
    case KS_ARRAY_ESTIMATE: return "the estimate";
    case KS_ARRAY_PRIOR_COV: return "F P0 F' + Q";
    case KS_ARRAY_HESSIAN: return "the Hessian of the MAP problem";
    case KS_ARRAY_SIGNAL: return "the signal H x + d or its covariance";
    case KS_ARRAY_LOGLIK: return "the log-likelihood";
    }
    return "an unknown array";
}
