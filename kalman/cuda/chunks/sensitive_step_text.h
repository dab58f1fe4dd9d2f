/* sensitive_step_text.h -- a filter step that carries its sensitivity to the estimate that it started from; see
 * chunk_step_text.h and sensitivity_text.h. Begun with A = I and the rest zero, A, b, C, eta, J are the filtering
 * element of all steps so far.
 *
 * Only C is a covariance. A and J are in the number of the means. Let x be the estimate that the chunk really began
 * from. If x is far from zero, b + A x and eta - J x are small differences of large numbers. They lose nothing as long
 * as A, b, eta and J belong to the same gains. */

/** Take the step. Return whether the ordinary form is accurate enough. times: ks_noise_times_in() of R. V: nx² + 2 m nx
 *  numbers. */
KS_HD KS_MASK KS_T(ks_sensitive_step)(int nx, int m, const KS_T(ks_chunk_rows) *r, KS_GAIN times, KS_NUM *A, KS_NUM *b,
                                      KS_GAIN *C, KS_NUM *eta, KS_NUM *J,
                                      const KS_T(ks_chunk_work) *w, KS_NUM *V)
{
    const KS_MASK good = KS_T(ks_chunk_filter)(nx, m, r, times, b, C, w);
    KS_T(ks_carry_sensitivity)(nx, m, r->F, r->H, w->S, w->inverse_d, w->Z, w->v, A, eta, J, V);
    return good;
}
