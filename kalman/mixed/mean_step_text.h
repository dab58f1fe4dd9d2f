/* mean_step_text.h -- means of a filter or smoother step whose covariances and gains are given, in a number type that
 * may be narrower; see gain_text.h. */

/** xp = F x + u. */
KS_HD void KS_T(ks_mean_predict)(int nx, const KS_ONE *F, const KS_ONE *u, const KS_NUM *x, KS_NUM *xp)
{
    KS_T(ks_mean_row)(nx, u, xp);
    KS_T(ks_mean_times)(nx, nx, 1, F, x, xp);
}

/** x = xp + Zᵀ v with Z (m, nx) = D⁻¹ G and the whitened innovation v (m) of ks_innovation(). */
KS_HD void KS_T(ks_mean_update)(int nx, int m, const KS_GAIN *Z, const KS_NUM *v, const KS_NUM *xp,
                                KS_NUM *x)
{
    KS_T(ks_mean_copy)(nx, xp, x);
    KS_T(ks_gain_add)(m, nx, Z, v, x);
}

/** Replace x, the smoothed mean of the next step, by that of this step, whose filtered mean is `filtered`: filtered + E
 *  (x - F filtered - u), SF eq. 13 (see kalscan/smooth.h). t holds nx numbers. */
KS_HD void KS_T(ks_mean_back)(int nx, const KS_ONE *F, const KS_ONE *u, const KS_NUM *filtered,
                              const KS_GAIN *ET, KS_NUM *x, KS_NUM *t)
{
    KS_T(ks_mean_less)(nx, x, u, t);
    KS_T(ks_mean_times)(nx, nx, -1, F, filtered, t);
    KS_T(ks_mean_copy)(nx, filtered, x);
    KS_T(ks_gain_add)(nx, nx, ET, t, x);
}
