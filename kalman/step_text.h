/* step_text.h -- one filter or smoother step in the ordinary (difference) form; see num_f64.h.
 *
 * The ordinary form subtracts: P - K S Kᵀ forward, P - E (Pp - Ps) Eᵀ backward. It is the cheapest form. It loses
 * digits in the ratio of the minuend to the result. Each step reports whether this ratio stayed within
 * KS_GROWTH. If not, its result is discarded and the step is taken in the array form (array_step_text.h).
 *
 * Sizes: nx states, m observed entries. Paper: Sarkka & Garcia-Fernandez, eq. 6-10 and 12-14. */

#include "lq_rows.h"

/** Numbers of scratch for any function here and in array_step_text.h. */
KS_HD int64_t KS_T(ks_step_scratch)(int nx, int ny)
{
    const int64_t n = nx, m = ny;
    /* Backward steps in the array form are in double, which takes twice the space of a float. */
    const int64_t squares = sizeof(KS_NUM) < sizeof(double) ? 14 : 11;
    const int64_t behind = (sizeof(KS_NUM) < sizeof(double) ? 6 : 3) * (KS_LQ_ROWS - 1);
    return squares * n * n + 3 * m * n + 2 * m * m + 2 * (n + m) * (n + m) + (8 + behind) * (n + m);
}

/** Pp = F P Fᵀ + Q. Only its lower triangle is to be used. W holds 2 nx² numbers; on return it begins with Fᵀ. */
KS_HD void KS_T(ks_predict_cov)(int nx, const KS_NUM *KS_RESTRICT F, const KS_NUM *KS_RESTRICT Q,
                                const KS_NUM *KS_RESTRICT P, KS_NUM *KS_RESTRICT Pp,
                                KS_NUM *KS_RESTRICT W)
{
    KS_NUM *KS_RESTRICT FT = W;
    KS_NUM *KS_RESTRICT PFT = W + KS_EXTENT(nx, nx);
    KS_T(ks_transpose)(nx, nx, F, FT);
    KS_T(ks_mm)(nx, nx, nx, P, FT, PFT);
    KS_T(ks_copy_matrix)(nx, nx, Q, Pp);
    KS_T(ks_mm_add)(nx, nx, nx, F, PFT, Pp);
}

/** As ks_predict_cov(), and xp = F x + u. */
KS_HD void KS_T(ks_predict)(int nx, const KS_NUM *KS_RESTRICT F, const KS_NUM *KS_RESTRICT Q,
                            const KS_NUM *KS_RESTRICT u, const KS_NUM *KS_RESTRICT x,
                            const KS_NUM *KS_RESTRICT P, KS_NUM *KS_RESTRICT xp,
                            KS_NUM *KS_RESTRICT Pp, KS_NUM *KS_RESTRICT W)
{
    KS_T(ks_predict_cov)(nx, F, Q, P, Pp, W);
    KS_T(ks_copy)(nx, u, xp);
    KS_T(ks_mtv_add)(nx, nx, W, x, xp);
}

/** G (m, nx) <- H Pp, S (m, m) <- H Pp Hᵀ + R and HT (nx, m) <- Hᵀ, of m entries. */
KS_HD void KS_T(ks_innovation_cov)(int nx, int m, const KS_NUM *KS_RESTRICT H,
                                   const KS_NUM *KS_RESTRICT R, const KS_NUM *KS_RESTRICT Pp,
                                   KS_NUM *KS_RESTRICT G, KS_NUM *KS_RESTRICT S,
                                   KS_NUM *KS_RESTRICT HT)
{
    KS_T(ks_transpose)(m, nx, H, HT);
    KS_T(ks_mm)(m, nx, nx, H, Pp, G);
    KS_T(ks_copy_matrix)(m, m, R, S);
    KS_T(ks_mm_add)(m, nx, m, G, HT, S);
}

/** The ratio that each variance of an innovation to that of R (m, m) must stay below in the ordinary form:
 *  1 + share * KS_GROWTH. `share` is the least part of a variance of R that the entries before it leave. R is sharper
 *  by so much in some direction than its diagonal tells. It is 0 if R is singular. D: pivots of R, `apart` numbers from
 *  one another; `good`: none of them is lost in round-off. */
KS_HD KS_NUM KS_T(ks_times_of_pivots)(int m, const KS_NUM *R, int ldr, const KS_NUM *D, int apart, KS_MASK good)
{
    KS_NUM share = KS_LIT(1);
    for (int i = 1; i < m; ++i) {
        const KS_NUM left = D[i * apart] / R[i * ldr + i];
        share = KS_SELECT(KS_GT(share, left), left, share);
    }
    return KS_LIT(1) + KS_LIT(KS_GROWTH) * KS_SELECT(good, share, KS_LIT(0));
}

/** The same from R itself, with rows ldr apart. LD (m, m) and inverse_d (m) are scratch. */
KS_HD KS_NUM KS_T(ks_noise_times_in)(int m, const KS_NUM *R, int ldr, KS_NUM *LD, KS_NUM *inverse_d)
{
    KS_MASK correlated = KS_GT(KS_LIT(0), KS_LIT(1)); /* false */
    for (int i = 1; i < m; ++i)
        for (int j = 0; j < i; ++j)
            correlated = correlated | KS_GT(R[i * ldr + j], KS_LIT(0)) | KS_GT(KS_LIT(0), R[i * ldr + j]);
    if (KS_ALL(KS_GT(KS_LIT(1), KS_SELECT(correlated, KS_LIT(2), KS_LIT(0))))) return KS_LIT(1 + KS_GROWTH);
    if (ldr == m)
        KS_T(ks_copy)(m * m, R, LD);
    else
        for (int i = 0; i < m; ++i) KS_T(ks_copy)(m, R + i * ldr, LD + i * m);
    const KS_MASK good = KS_T(ks_ldl)(m, 1 / KS_GROWTH, LD, inverse_d);
    return KS_T(ks_times_of_pivots)(m, R, ldr, LD, m + 1, good);
}

KS_HD_COLD KS_NUM KS_T(ks_noise_times_of_many)(int m, const KS_NUM *R, int ldr, KS_NUM *W)
{
    return KS_T(ks_noise_times_in)(m, R, ldr, W, W + m * m);
}

/** The same, with literal loop bounds for few entries. W holds m² + m numbers. */
KS_HD KS_NUM KS_T(ks_noise_times)(int m, const KS_NUM *R, int ldr, KS_NUM *W)
{
    switch (m) {
    case 1: return KS_LIT(1 + KS_GROWTH);
    case 2: return KS_T(ks_noise_times_in)(2, R, ldr, W, W + 4);
    case 3: return KS_T(ks_noise_times_in)(3, R, ldr, W, W + 9);
    case 4: return KS_T(ks_noise_times_in)(4, R, ldr, W, W + 16);
    case 6: return KS_T(ks_noise_times_in)(6, R, ldr, W, W + 36);
    default: return KS_T(ks_noise_times_of_many)(m, R, ldr, W);
    }
}

/** limit (m) <- `times` the diagonal of R: the bounds of an innovation's variances. */
KS_HD void KS_T(ks_noise_limit)(int m, const KS_NUM *R, int ldr, KS_NUM times, KS_NUM *limit)
{
    for (int i = 0; i < m; ++i) limit[i] = times * R[i * ldr + i];
}

/** Whiten G and S of ks_innovation_cov(): G <- L⁻¹ G; S and inverse_d (m) <- the factors L D Lᵀ of S, as ks_ldl()
 *  leaves them. Returns true if the ordinary form is good enough: the diagonal of H Pp Hᵀ + R is below `times` that of
 *  R, see ks_noise_times(), and no pivot is lost in round-off. */
KS_HD KS_MASK KS_T(ks_whiten_gain)(int nx, int m, const KS_NUM *KS_RESTRICT R, KS_NUM times, KS_NUM *KS_RESTRICT G,
                                   KS_NUM *KS_RESTRICT S, KS_NUM *KS_RESTRICT inverse_d)
{
    const KS_MASK below = KS_T(ks_diagonal_below)(m, times, R, S);
    const KS_MASK good = below & KS_T(ks_ldl)(m, 1 / KS_GROWTH, S, inverse_d);
    KS_T(ks_ldl_forward)(m, nx, S, G);
    return good;
}

/** Innovation covariance, whitened gain, and whitened innovation v (m) <- L⁻¹ (y - d - H xp). HT holds nx * m numbers.
 *  Returns as ks_whiten_gain(). */
KS_HD KS_MASK KS_T(ks_innovation)(int nx, int m, const KS_NUM *KS_RESTRICT H,
                                  const KS_NUM *KS_RESTRICT R, KS_NUM times,
                                  const KS_NUM *KS_RESTRICT d, const KS_NUM *KS_RESTRICT y,
                                  const KS_NUM *KS_RESTRICT xp, const KS_NUM *KS_RESTRICT Pp, KS_NUM *KS_RESTRICT G,
                                  KS_NUM *KS_RESTRICT S, KS_NUM *KS_RESTRICT inverse_d,
                                  KS_NUM *KS_RESTRICT v, KS_NUM *KS_RESTRICT HT)
{
    KS_T(ks_innovation_cov)(nx, m, H, R, Pp, G, S, HT);
    KS_T(ks_difference)(m, y, d, v);
    KS_T(ks_mtv_sub)(nx, m, HT, xp, v);
    const KS_MASK good = KS_T(ks_whiten_gain)(nx, m, R, times, G, S, inverse_d);
    KS_T(ks_ldl_forward)(m, 1, S, v);
    return good;
}

/** x += Zᵀ v with Z (m, nx). A compiler may fuse multiplication and addition in one copy of these sums and not in
 *  another. So if m is not a literal there is one copy only, for a step and for the same step from the memo. */
KS_HD_SAME void KS_T(ks_move_mean_shared)(int m, int nx, const KS_NUM *Z, const KS_NUM *v, KS_NUM *x)
{
    KS_T(ks_mtv_add)(m, nx, Z, v, x);
}
KS_HD void KS_T(ks_move_mean)(int m, int nx, const KS_NUM *Z, const KS_NUM *v, KS_NUM *x)
{
    if (KS_OWN_COPY(m))
        KS_T(ks_mtv_add)(m, nx, Z, v, x);
    else
        KS_T(ks_move_mean_shared)(m, nx, Z, v, x);
}

/** P = Pp - Gᵀ D⁻¹ G, symmetric to the bit, with Z (m, nx) = D⁻¹ G. */
KS_HD void KS_T(ks_posterior_cov)(int nx, int m, const KS_NUM *KS_RESTRICT G,
                                  const KS_NUM *KS_RESTRICT Z, const KS_NUM *KS_RESTRICT Pp,
                                  KS_NUM *KS_RESTRICT P)
{
    KS_T(ks_copy_matrix)(nx, nx, Pp, P);
    KS_T(ks_mtm_sub)(nx, m, nx, Z, G, P);
    KS_T(ks_mirror)(nx, P);
}

/** As ks_posterior_cov(), and x = xp + Gᵀ D⁻¹ v. Z holds m * nx numbers. */
KS_HD void KS_T(ks_posterior)(int nx, int m, const KS_NUM *KS_RESTRICT G,
                              const KS_NUM *KS_RESTRICT inverse_d, const KS_NUM *KS_RESTRICT v,
                              const KS_NUM *KS_RESTRICT xp, const KS_NUM *KS_RESTRICT Pp,
                              KS_NUM *KS_RESTRICT x, KS_NUM *KS_RESTRICT P,
                              KS_NUM *KS_RESTRICT Z)
{
    KS_T(ks_scale_rows)(m, nx, G, inverse_d, Z);
    KS_T(ks_copy)(nx, xp, x);
    KS_T(ks_move_mean)(m, nx, Z, v, x);
    KS_T(ks_posterior_cov)(nx, m, G, Z, Pp, P);
}

/** The smoothing gain from the filtered covariance P of a step and the transition F, Q out of it, paper eq. 12:
 *  ET (nx, nx) = Eᵀ = Pp⁻¹ F P with Pp = F P Fᵀ + Q. Pp is returned in full, but only its lower triangle is to be used.
 *  Returns true if no pivot of Pp is lost in round-off. W holds 2 nx² + nx numbers. */
KS_HD KS_MASK KS_T(ks_smoothing_gain)(int nx, const KS_NUM *KS_RESTRICT F,
                                      const KS_NUM *KS_RESTRICT Q, const KS_NUM *KS_RESTRICT P,
                                      KS_NUM *KS_RESTRICT ET, KS_NUM *KS_RESTRICT Pp,
                                      KS_NUM *KS_RESTRICT W)
{
    KS_NUM *KS_RESTRICT LD = W;
    KS_NUM *KS_RESTRICT FT = W + KS_EXTENT(nx, nx);
    KS_NUM *KS_RESTRICT inverse_d = W + 2 * KS_EXTENT(nx, nx);
    KS_T(ks_transpose)(nx, nx, F, FT);
    KS_T(ks_mm)(nx, nx, nx, F, P, ET);
    KS_T(ks_copy_matrix)(nx, nx, Q, Pp);
    KS_T(ks_mm_add)(nx, nx, nx, ET, FT, Pp);
    KS_T(ks_copy_matrix)(nx, nx, Pp, LD);
    const KS_MASK good = KS_T(ks_ldl)(nx, 1 / KS_GROWTH, LD, inverse_d);
    KS_T(ks_ldl_forward)(nx, nx, LD, ET);
    KS_T(ks_ldl_backward)(nx, nx, LD, inverse_d, ET);
    return good;
}

/** xn = x + E (xs - F x - u), paper eq. 13. t holds nx numbers. */
KS_HD void KS_T(ks_smooth_mean)(int nx, const KS_NUM *KS_RESTRICT F, const KS_NUM *KS_RESTRICT u,
                                const KS_NUM *KS_RESTRICT x, const KS_NUM *KS_RESTRICT xs,
                                const KS_NUM *KS_RESTRICT ET, KS_NUM *KS_RESTRICT xn,
                                KS_NUM *KS_RESTRICT t)
{
    KS_T(ks_difference)(nx, xs, u, t);
    KS_T(ks_mv_sub)(nx, nx, F, x, t);
    KS_T(ks_copy)(nx, x, xn);
    KS_T(ks_mtv_add)(nx, nx, ET, t, xn);
}

/** Pn = P + E (Ps - Pp) Eᵀ, paper eq. 14, with E and D = Pp of ks_smoothing_gain(). D is overwritten, M holds nx²
 *  numbers. Returns true if no variance falls by a factor of KS_GROWTH or more. */
KS_HD KS_MASK KS_T(ks_smooth_cov)(int nx, const KS_NUM *KS_RESTRICT P, const KS_NUM *KS_RESTRICT Ps,
                                  const KS_NUM *KS_RESTRICT ET, KS_NUM *KS_RESTRICT D,
                                  KS_NUM *KS_RESTRICT Pn, KS_NUM *KS_RESTRICT M)
{
    KS_T(ks_matrix_from)(nx, nx, Ps, D);
    KS_T(ks_mm)(nx, nx, nx, D, ET, M);
    KS_T(ks_copy_matrix)(nx, nx, P, Pn);
    KS_T(ks_mtm_add)(nx, nx, nx, ET, M, Pn);
    KS_T(ks_mirror)(nx, Pn);
    return KS_T(ks_diagonal_below)(nx, KS_LIT(KS_GROWTH), Pn, P);
}

/** One backward step, paper eq. 13-14: from filtered x, P of step k and smoothed xs, Ps of step k + 1 to smoothed xn,
 *  Pn of step k. ET is returned for the lag-one covariance. Returns true if the ordinary form is good enough.
 *  W holds 4 nx² + 2 nx numbers. */
KS_HD KS_MASK KS_T(ks_smooth_back)(int nx, const KS_NUM *KS_RESTRICT F,
                                   const KS_NUM *KS_RESTRICT Q, const KS_NUM *KS_RESTRICT u,
                                   const KS_NUM *KS_RESTRICT x, const KS_NUM *KS_RESTRICT P,
                                   const KS_NUM *KS_RESTRICT xs, const KS_NUM *KS_RESTRICT Ps,
                                   KS_NUM *KS_RESTRICT xn, KS_NUM *KS_RESTRICT Pn,
                                   KS_NUM *KS_RESTRICT ET, KS_NUM *KS_RESTRICT W)
{
    KS_NUM *KS_RESTRICT D = W;
    KS_NUM *KS_RESTRICT M = W + nx * nx;
    KS_NUM *KS_RESTRICT t = W + 4 * nx * nx;
    const KS_MASK gains = KS_T(ks_smoothing_gain)(nx, F, Q, P, ET, D, W + nx * nx);
    KS_T(ks_smooth_mean)(nx, F, u, x, xs, ET, xn, t);
    return gains & KS_T(ks_smooth_cov)(nx, P, Ps, ET, D, Pn, M);
}
