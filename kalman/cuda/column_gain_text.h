/* column_gain_text.h -- device code: the functions of gain_text.h by a team of threads that hold matrices by columns,
 * see column_smallmat_text.h. */

KS_DEVICE void KS_T(ks_mean_row)(int n, const KS_NUM *row, KS_NUM *x) { KS_T(ks_copy)(n, row, x); }

KS_DEVICE void KS_T(ks_mean_copy)(int n, const KS_NUM *x, KS_NUM *y) { KS_T(ks_copy)(n, x, y); }

KS_DEVICE void KS_T(ks_mean_less)(int n, const KS_NUM *x, const KS_NUM *row, KS_NUM *y)
{
    KS_T(ks_difference)(n, x, row, y);
}

KS_DEVICE void KS_T(ks_mean_times)(int m, int n, int sign, const KS_NUM *A, const KS_NUM *x, KS_NUM *y)
{
    KS_T(ks_column_vector)(m, n, A, x, y, sign < 0);
}

KS_DEVICE void KS_T(ks_gain_add)(int m, int, const KS_GAIN *A, const KS_NUM *x, KS_NUM *y)
{
    KS_T(ks_column_turned)(m, A, x, y, false);
}

KS_DEVICE void KS_T(ks_gain_sub)(int n, int m, int, const KS_GAIN *A, const KS_NUM *B, KS_NUM *C)
{
    KS_T(ks_column_across)(n, m, A, B, C, true);
}

KS_DEVICE void KS_T(ks_gain_forward)(int m, int c, const KS_GAIN *, KS_NUM *B)
{
    KS_T(ks_column_forward)<KS_GAIN>(m, c, B);
}

KS_DEVICE void KS_T(ks_gain_scale)(int m, int c, const KS_NUM *A, const KS_GAIN *scale, KS_NUM *B)
{
    KS_T(ks_scale_rows)(m, c, A, scale, B);
}
