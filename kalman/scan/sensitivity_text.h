/* sensitivity_text.h -- how a filter step changes the sensitivity of its estimate, and of the likelihood so far,
 * to the estimate that the steps began with. Begun with A = I and eta, J zero, these three are, with the mean
 * and covariance of the filter begun at zero, the filtering element of all steps so far (element_text.h): at
 * less than two thirds of the operations of making and combining elements. */

/** A <- (I - K H) F A of a step with m entries, as below. V: L⁻¹ H F A comes back nx² numbers from its beginning. */
KS_HD void KS_T(ks_carry_estimate)(int nx, int m, const KS_NUM *F, const KS_NUM *H, const KS_GAIN *S, const KS_GAIN *Z,
                                   KS_NUM *A, KS_NUM *V)
{
    KS_NUM *FA = V, *HA = FA + nx * nx;
    KS_T(ks_mm)(nx, nx, nx, F, A, FA);
    KS_T(ks_copy)(nx * nx, FA, A);
    KS_T(ks_mm)(m, nx, nx, H, A, HA);
    KS_T(ks_gain_forward)(m, nx, S, HA);
    KS_T(ks_gain_sub)(nx, m, nx, Z, HA, A); /* Zᵀ L⁻¹ H F A = K H F A */
}

/** A <- (I - K H) F A, eta, J of a step with m entries: its factors S (m, m) and inverse_d (m) as ks_innovation()
 *  has them, Z (m, nx), and its whitened innovation v (m). V: nx² + 2 m nx numbers. */
KS_HD void KS_T(ks_carry_sensitivity)(int nx, int m, const KS_NUM *F, const KS_NUM *H, const KS_GAIN *S,
                                      const KS_GAIN *inverse_d, const KS_GAIN *Z, const KS_NUM *v, KS_NUM *A,
                                      KS_NUM *eta, KS_NUM *J, KS_NUM *V)
{
    KS_NUM *HA = V + nx * nx, *DHA = HA + m * nx;
    KS_T(ks_carry_estimate)(nx, m, F, H, S, Z, A, V);
    KS_T(ks_gain_scale)(m, nx, HA, inverse_d, DHA);
    KS_T(ks_mtv_add)(m, nx, DHA, v, eta);
    KS_T(ks_mtm_add)(nx, m, nx, DHA, HA, J);
}
