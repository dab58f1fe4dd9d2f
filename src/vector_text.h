/* vector_text.h -- what scalars and packs of series do alike of smallmat_text.h and packmat_text.h, which include this:
 * loops along vectors; see num_f64.h. Matrices are row-major and contiguous. Outputs do not overlap inputs. */

/** y (m) -= A x with A (m, n), x (n). */
KS_HD void KS_T(ks_mv_sub)(int m, int n, const KS_NUM *KS_RESTRICT A,
                           const KS_NUM *KS_RESTRICT x, KS_NUM *KS_RESTRICT y)
{
    for (int i = 0; i < m; ++i) {
        KS_NUM s = y[i];
        for (int j = 0; j < n; ++j) s = s - A[i * n + j] * x[j];
        y[i] = s;
    }
}

/** b (n) = a - b. */
KS_HD void KS_T(ks_from)(int n, const KS_NUM *KS_RESTRICT a, KS_NUM *KS_RESTRICT b)
{
    for (int i = 0; i < n; ++i) b[i] = a[i] - b[i];
}

/** c (n) = a - b. */
KS_HD void KS_T(ks_difference)(int n, const KS_NUM *KS_RESTRICT a, const KS_NUM *KS_RESTRICT b,
                               KS_NUM *KS_RESTRICT c)
{
    for (int i = 0; i < n; ++i) c[i] = a[i] - b[i];
}

/** B (m, n): row i of A times scale[i]. */
KS_HD void KS_T(ks_scale_rows)(int m, int n, const KS_NUM *KS_RESTRICT A,
                               const KS_NUM *KS_RESTRICT scale, KS_NUM *KS_RESTRICT B)
{
    for (int i = 0; i < m; ++i)
        for (int c = 0; c < n; ++c) B[i * n + c] = A[i * n + c] * scale[i];
}

KS_HD void KS_T(ks_copy)(int n, const KS_NUM *KS_RESTRICT a, KS_NUM *KS_RESTRICT b)
{
    for (int i = 0; i < n; ++i) b[i] = a[i];
}
