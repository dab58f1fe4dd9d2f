/* map_factor_text.h -- L D Lᵀ of a covariance that must be positive definite; see num_f64.h. For scalar numbers. */

/** Factor the covariance C. What is left of each variance, given the components before it, must exceed `pivot` times
 *  the variance. Return -1, or the row where it does not. */
KS_HD int KS_T(ks_map_factor)(int n, double pivot, const KS_NUM *C, KS_NUM *LD, KS_NUM *inverse_d)
{
    KS_T(ks_copy)(n * n, C, LD);
    if (KS_T(ks_ldl)(n, pivot, LD, inverse_d)) {
        for (int i = 0; i < n; ++i)
            if (!KS_GT(KS_LIT(KS_LARGEST), LD[i * n + i])) return i;
        return -1;
    }
    for (int i = 0; i < n; ++i)
        if (!KS_GT(LD[i * n + i], KS_LIT(pivot) * C[i * n + i]) || !KS_GT(LD[i * n + i], KS_LIT(0)))
            return i;
    return 0;
}
