/* map_terms_text.h -- what the MAP problem has of one step, from factors of Q and R; see map_text.h and
 * num_f64.h. For scalar numbers, and for teams of threads (team.h), which share each loop of KS_EACH():
 * the functions of smallmat_text.h wait for the team before they begin and when they are done. */
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

/** L⁻¹ to root and the inverse of the covariance that LD factors to precision. W: n * n. */
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

/** scaled (m, n) <- D⁻¹ L⁻¹ H with the factors of R, and information += Hᵀ R⁻¹ H. G: m * n. */
KS_HD void KS_T(ks_map_inform)(int m, int n, const KS_NUM *LD, const KS_NUM *inverse_d,
                               const KS_NUM *H, KS_NUM *G, KS_NUM *scaled, KS_NUM *information)
{
    KS_T(ks_copy)(m * n, H, G);
    KS_T(ks_ldl_forward)(m, n, LD, G);
    KS_T(ks_scale_rows)(m, n, G, inverse_d, scaled);
    KS_T(ks_mtm_add)(n, m, n, G, scaled, information);
}

/** L D Lᵀ of S Sᵀ, S lower triangular. Returns -1, or the row of which less than `pivot` times its
 *  variance is left. */
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

/** Deterministic signs: the top bit of Steele, Lea & Flood's mix of the index. */
KS_HD KS_NUM KS_T(ks_map_sign)(int64_t index)
{
    uint64_t x = (uint64_t)(index + 1) * 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return (x >> 63) ? KS_LIT(-1) : KS_LIT(1);
}

/** *largest becomes value where that is larger; what is not a number is infinite. */
KS_HD void KS_T(ks_map_largest)(double value, double *largest)
{
    if (!(value <= *largest)) *largest = value == value ? value : (double)INFINITY;
}

/** A step's trace(A[k, k] S[k, k]) is at least n, since S[k, k]⁻¹ <= A[k, k]; one that has come out smaller, or is no
 *  number, is made of a covariance whose digits have canceled, and says nothing. */
KS_HD double KS_T(ks_map_trace_known)(int n, double trace)
{
    return trace >= 0.99 * n ? trace : (double)INFINITY;
}
