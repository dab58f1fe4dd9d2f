/* gain_words_text.h -- the functions of gain_text.h that sensitivities need, for gains in the same number type as
 * means: those of smallmat_text.h; see num_f64.h. */

KS_HD void KS_T(ks_gain_forward)(int m, int c, const KS_NUM *L, KS_NUM *B)
{
    KS_T(ks_ldl_forward)(m, c, L, B);
}

KS_HD void KS_T(ks_gain_sub)(int n, int m, int c, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
    KS_T(ks_mtm_sub)(n, m, c, A, B, C);
}

KS_HD void KS_T(ks_gain_scale)(int m, int c, const KS_NUM *A, const KS_NUM *scale, KS_NUM *B)
{
    KS_T(ks_scale_rows)(m, c, A, scale, B);
}
