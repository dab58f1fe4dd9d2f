/* map_terms_text.h -- the terms of one step in the MAP problem, from factors of Q and R; see map_text.h and num_f64.h.
 * For scalar numbers, and for teams of threads (team.h), which share each loop of KS_EACH(): the functions of
 * smallmat_text.h synchronize the team before and after their work. */
#ifndef KS_EACH
#  define KS_EACH(i, n) for (int i = 0; i < (n); ++i)
#endif

/** A <- 0. */
KS_HD void KS_T(ks_map_zero)(int n, KS_NUM *A)
{
    KS_EACH(i, n) A[i] = KS_LIT(0);
}

/** A (n, n) <- I. */
KS_HD void KS_T(ks_map_identity)(int n, KS_NUM *A)
{
    KS_EACH(i, n * n) A[i] = KS_LIT(i % (n + 1) == 0);
}

/** root <- L⁻¹ and precision <- the inverse of the covariance that LD factors. W: n * n numbers. */
KS_HD void KS_T(ks_map_unfactor)(int n, const KS_NUM *LD, const KS_NUM *inverse_d, KS_NUM *root,
                                 KS_NUM *precision, KS_NUM *W)
{
    KS_T(ks_map_identity)(n, root);
    KS_T(ks_ldl_forward)(n, n, LD, root);
    KS_T(ks_scale_rows)(n, n, root, inverse_d, W);
    KS_T(ks_map_zero)(n * n, precision);
    KS_T(ks_mtm_add)(n, n, n, root, W, precision);
}

/** carried <- Fᵀ Q⁻¹ F and coupling <- -Q⁻¹ F. G and scaled hold n * n numbers each. */
KS_HD void KS_T(ks_map_couple)(int n, const KS_NUM *LD, const KS_NUM *inverse_d, const KS_NUM *root,
                               const KS_NUM *F, KS_NUM *G, KS_NUM *scaled, KS_NUM *carried,
                               KS_NUM *coupling)
{
    KS_T(ks_copy)(n * n, F, G);
    KS_T(ks_ldl_forward)(n, n, LD, G);
    KS_T(ks_scale_rows)(n, n, G, inverse_d, scaled);
    KS_T(ks_map_zero)(n * n, carried);
    KS_T(ks_map_zero)(n * n, coupling);
    KS_T(ks_mtm_add)(n, n, n, G, scaled, carried);
    KS_T(ks_mtm_sub)(n, n, n, root, scaled, coupling);
}

/** scaled (m, n) <- D⁻¹ L⁻¹ H with the factors of R, and information += Hᵀ R⁻¹ H. G: m * n numbers. */
KS_HD void KS_T(ks_map_inform)(int m, int n, const KS_NUM *LD, const KS_NUM *inverse_d,
                               const KS_NUM *H, KS_NUM *G, KS_NUM *scaled, KS_NUM *information)
{
    KS_T(ks_copy)(m * n, H, G);
    KS_T(ks_ldl_forward)(m, n, LD, G);
    KS_T(ks_scale_rows)(m, n, G, inverse_d, scaled);
    KS_T(ks_mtm_add)(n, m, n, G, scaled, information);
}

/** Compute L D Lᵀ of S Sᵀ with S lower triangular. Return -1, or the row where less than `pivot` times the variance is
 *  left. */
KS_HD int KS_T(ks_map_factor_root)(int n, double pivot, const KS_NUM *S, KS_NUM *LD,
                                   KS_NUM *inverse_d)
{
    KS_EACH(i, n) {
        const KS_NUM d = S[i * n + i] * S[i * n + i];
        for (int c = 0; c < i; ++c) LD[i * n + c] = S[i * n + c] / S[c * n + c];
        LD[i * n + i] = d;
        inverse_d[i] = KS_LIT(1) / d;
    }
    for (int i = 0; i < n; ++i) {
        KS_NUM variance = KS_LIT(0);
        for (int c = 0; c <= i; ++c) variance = variance + S[i * n + c] * S[i * n + c];
        const KS_NUM d = S[i * n + i] * S[i * n + i];
        if (!KS_GT(d, KS_LIT(pivot) * variance) || !KS_GT(KS_LIT(KS_LARGEST), variance)) return i;
    }
    return -1;
}

/** Return a pseudo-random sign, the top bit of the index mixed by SplitMix64 (Steele, Lea & Flood). */
KS_HD KS_NUM KS_T(ks_map_sign)(int64_t index)
{
    uint64_t x = (uint64_t)(index + 1) * 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return (x >> 63) ? KS_LIT(-1) : KS_LIT(1);
}

/** *largest <- the larger of both. NaN counts as infinite. */
KS_HD void KS_T(ks_map_largest)(double value, double *largest)
{
    if (!(value <= *largest)) *largest = value == value ? value : (double)INFINITY;
}

/** Return a step's trace(A[k, k] S[k, k]), or infinity if it is unknown. It is at least n, since S[k, k]⁻¹ <= A[k, k].
 *  If it is smaller or NaN, the digits of the covariance have canceled, and it says nothing. */
KS_HD double KS_T(ks_map_trace_known)(int n, double trace)
{
    return trace >= 0.99 * n ? trace : (double)INFINITY;
}
