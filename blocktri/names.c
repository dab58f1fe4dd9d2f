/* names.c -- the names of the orders on the command line. */
#include "kalscan/blocktri.h"

const char *ks_blocktri_order_name(ks_blocktri_order order)
{
    switch (order) {
    case KS_BLOCKTRI_AUTO: return "auto";
    case KS_BLOCKTRI_SEQUENTIAL: return "sequential";
    case KS_BLOCKTRI_TWISTED: return "twisted";
    case KS_BLOCKTRI_PARTITION: return "partition";
    case KS_BLOCKTRI_NESTED_DISSECTION: return "nested-dissection";
    case KS_BLOCKTRI_RECURSIVE_SCHUR: return "recursive-schur";
    }
    return NULL;
}
