/* sensitivity_text.h -- a filter step that carries its sensitivity to the estimate that it started from;
 * see num_f64.h. Begun with A = I and the rest zero, A, b, C, eta, J are the filtering element of all
 * steps so far (element_text.h), at less than two thirds of the operations of making and combining
 * elements. */

/** The step with F, Q, u, which lead into it, and m observed entries. True where the ordinary form will
 *  do. W: 4 nx² + 4 m nx + m² + 2 m + nx numbers. */
KS_HD KS_MASK KS_T(ks_sensitive_step)(int nx, int m, const KS_NUM *F, const KS_NUM *Q,
                                      const KS_NUM *u, const KS_NUM *H, const KS_NUM *R,
                                      const KS_NUM *d, const KS_NUM *y, KS_NUM *A, KS_NUM *b,
                                      KS_NUM *C, KS_NUM *eta, KS_NUM *J, KS_NUM *W)
{
    KS_NUM *xp = W, *Pp = xp + nx, *G = Pp + nx * nx, *Z = G + m * nx, *HA = Z + m * nx;
    KS_NUM *S = HA + m * nx, *inverse_d = S + m * m, *v = inverse_d + m, *scratch = v + m;
    KS_T(ks_predict)(nx, F, Q, u, b, C, xp, Pp, scratch);
    const KS_MASK good =
        KS_T(ks_innovation)(nx, m, H, R, d, y, xp, Pp, G, S, inverse_d, v, scratch);
    KS_T(ks_posterior)(nx, m, G, inverse_d, v, xp, Pp, b, C, Z);
    KS_T(ks_mm)(nx, nx, nx, F, A, scratch);
    KS_T(ks_copy)(nx * nx, scratch, A);
    KS_T(ks_mm)(m, nx, nx, H, A, HA);
    KS_T(ks_ldl_forward)(m, nx, S, HA);
    KS_T(ks_mtm_sub)(nx, m, nx, Z, HA, A); /* Zᵀ L⁻¹ H F A = K H F A */
    KS_T(ks_scale_rows)(m, nx, HA, inverse_d, Z);
    KS_T(ks_mtv_add)(m, nx, Z, v, eta);
    KS_T(ks_mtm_add)(nx, m, nx, Z, HA, J);
    return good;
}
