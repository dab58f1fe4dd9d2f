/* num_end.h -- undoes a num_*.h. */
#undef KS_NUM
#undef KS_T
#undef KS_ONE
#undef KS_GAIN
#undef KS_G
#undef KS_LIT
#undef KS_SQRT
#undef KS_MASK
#undef KS_GT
#undef KS_SELECT
#undef KS_ALL
#undef KS_EPS
#undef KS_WIDE
#undef KS_GROWTH
#undef KS_GEMM
#undef KS_MERGE
#undef KS_LARGEST
