/* sensitivity_text.h -- a filter step that carries its sensitivity to the estimate that it started from;
 * see chunk_step_text.h. Begun with A = I and the rest zero, A, b, C, eta, J are the filtering element of all
 * steps so far (element_text.h), at less than two thirds of the operations of making and combining
 * elements.
 *
 * Of these C alone is a covariance. A and J are in the number of the means: b + A x and eta - J x, where x
 * is what the chunk really began with, are small differences of large numbers where x is far from zero, and
 * lose nothing there as long as A, b, eta and J are those of the same gains. */

/** The step. True where the ordinary form will do. V: nx² + 2 m nx numbers. */
KS_HD KS_MASK KS_T(ks_sensitive_step)(int nx, int m, const KS_T(ks_chunk_rows) *r, KS_NUM *A, KS_NUM *b,
                                      KS_GAIN *C, KS_NUM *eta, KS_NUM *J,
                                      const KS_T(ks_chunk_work) *w, KS_NUM *V)
{
    KS_NUM *FA = V, *HA = FA + nx * nx, *DHA = HA + m * nx;
    const KS_MASK good = KS_T(ks_chunk_filter)(nx, m, r, b, C, w);
    KS_T(ks_mm)(nx, nx, nx, r->F, A, FA);
    KS_T(ks_copy)(nx * nx, FA, A);
    KS_T(ks_mm)(m, nx, nx, r->H, A, HA);
    KS_T(ks_gain_forward)(m, nx, w->S, HA);
    KS_T(ks_gain_sub)(nx, m, nx, w->Z, HA, A); /* Zᵀ L⁻¹ H F A = K H F A */
    KS_T(ks_gain_scale)(m, nx, HA, w->inverse_d, DHA);
    KS_T(ks_mtv_add)(m, nx, DHA, w->v, eta);
    KS_T(ks_mtm_add)(nx, m, nx, DHA, HA, J);
    return good;
}
