/* sensitivity_text.h -- how a filter step changes the sensitivity of its estimate, and of the likelihood so far, to the
 * estimate with which the steps began.
 *
 * With A = I, eta = 0 and J = 0, and mean and covariance zero at the beginning, A, eta, J, mean and covariance are the
 * filtering element of all steps so far (element_text.h). That takes less than two thirds of the operations of making
 * and combining elements. */

/** A <- (I - K H) F A of a step with m entries. L⁻¹ H F A is left behind a matrix (nx, nx) in V. See
 *  ks_carry_sensitivity(). */
KS_HD void KS_T(ks_carry_estimate)(int nx, int m, const KS_NUM *F, const KS_NUM *H, const KS_GAIN *S, const KS_GAIN *Z,
                                   KS_NUM *A, KS_NUM *V)
{
    KS_NUM *FA = V, *HA = FA + KS_EXTENT(nx, nx);
    KS_T(ks_mm)(nx, nx, nx, F, A, FA);
    KS_T(ks_copy_matrix)(nx, nx, FA, A);
    KS_T(ks_mm)(m, nx, nx, H, A, HA);
    KS_T(ks_gain_forward)(m, nx, S, HA);
    KS_T(ks_gain_sub)(nx, m, nx, Z, HA, A); /* Zᵀ L⁻¹ H F A = K H F A */
}

/** A <- (I - K H) F A, and eta and J, of a step with m entries. S (m, m) and inverse_d (m) are its factors, as in
 *  ks_innovation(), and v (m) its whitened innovation; Z is (m, nx). V: nx² + 2 m nx numbers. */
KS_HD void KS_T(ks_carry_sensitivity)(int nx, int m, const KS_NUM *F, const KS_NUM *H, const KS_GAIN *S,
                                      const KS_GAIN *inverse_d, const KS_GAIN *Z, const KS_NUM *v, KS_NUM *A,
                                      KS_NUM *eta, KS_NUM *J, KS_NUM *V)
{
    KS_NUM *HA = V + KS_EXTENT(nx, nx), *DHA = HA + KS_EXTENT(m, nx);
    KS_T(ks_carry_estimate)(nx, m, F, H, S, Z, A, V);
    KS_T(ks_gain_scale)(m, nx, HA, inverse_d, DHA);
    KS_T(ks_mtv_add)(m, nx, DHA, v, eta);
    KS_T(ks_mtm_add)(nx, m, nx, DHA, HA, J);
}
