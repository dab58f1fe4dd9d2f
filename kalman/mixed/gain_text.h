/* gain_text.h -- products of means with rows of the model, and with covariances and gains of KS_GAIN, a number type
 * that may be narrower; see num_f64.h. */

/** x (n) = a row of the model. */
KS_HD void KS_T(ks_mean_row)(int n, const KS_ONE *KS_RESTRICT row, KS_NUM *KS_RESTRICT x)
{
    for (int i = 0; i < n; ++i) x[i] = KS_LIT(row[i]);
}

KS_HD void KS_T(ks_mean_copy)(int n, const KS_NUM *KS_RESTRICT x, KS_NUM *KS_RESTRICT y)
{
    for (int i = 0; i < n; ++i) y[i] = x[i];
}

/** y (n) = x - a row of the model. */
KS_HD void KS_T(ks_mean_less)(int n, const KS_NUM *KS_RESTRICT x, const KS_ONE *KS_RESTRICT row,
                              KS_NUM *KS_RESTRICT y)
{
    for (int i = 0; i < n; ++i) y[i] = x[i] - row[i];
}

/** y (m) += sign A x with A (m, n), sign a literal. */
KS_HD void KS_T(ks_mean_times)(int m, int n, int sign, const KS_ONE *KS_RESTRICT A,
                               const KS_NUM *KS_RESTRICT x, KS_NUM *KS_RESTRICT y)
{
    for (int i = 0; i < m; ++i) {
        KS_NUM s = y[i];
        for (int j = 0; j < n; ++j) s = sign > 0 ? s + A[i * n + j] * x[j] : s - A[i * n + j] * x[j];
        y[i] = s;
    }
}

/** y (n) += Aᵀ x with the gains A (m, n). */
KS_HD void KS_T(ks_gain_add)(int m, int n, const KS_GAIN *KS_RESTRICT A, const KS_NUM *KS_RESTRICT x,
                             KS_NUM *KS_RESTRICT y)
{
    for (int l = 0; l < m; ++l) {
        const KS_NUM s = x[l];
        for (int c = 0; c < n; ++c) y[c] = y[c] + (KS_ONE)A[l * n + c] * s;
    }
}

/** C (n, c) -= Aᵀ B with the gains A (m, n), and B (m, c). */
KS_HD void KS_T(ks_gain_sub)(int n, int m, int c, const KS_GAIN *KS_RESTRICT A,
                             const KS_NUM *KS_RESTRICT B, KS_NUM *KS_RESTRICT C)
{
    for (int i = 0; i < n; ++i)
        for (int l = 0; l < m; ++l) {
            const KS_ONE a = (KS_ONE)A[l * n + i];
            for (int j = 0; j < c; ++j) C[i * c + j] = C[i * c + j] - a * B[l * c + j];
        }
}

/** B (m, c) <- L⁻¹ B with the factors L (m, m) of ks_ldl(). */
KS_HD void KS_T(ks_gain_forward)(int m, int c, const KS_GAIN *KS_RESTRICT L, KS_NUM *KS_RESTRICT B)
{
    for (int i = 1; i < m; ++i)
        for (int j = 0; j < c; ++j) {
            KS_NUM s = B[i * c + j];
            for (int l = 0; l < i; ++l) s = s - (KS_ONE)L[i * m + l] * B[l * c + j];
            B[i * c + j] = s;
        }
}

/** Row i of B (m, c) <- row i of A times scale[i]. */
KS_HD void KS_T(ks_gain_scale)(int m, int c, const KS_NUM *KS_RESTRICT A,
                               const KS_GAIN *KS_RESTRICT scale, KS_NUM *KS_RESTRICT B)
{
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < c; ++j) B[i * c + j] = A[i * c + j] * (KS_ONE)scale[i];
}
