/* element_ordinary_text.h -- elements in the ordinary form: the element of a step, and the operators. element_text.h
 * has the array form for where this one is not accurate enough; see also num_f64.h.
 *
 * Runs on one thread or on a team of them (kalman/cuda/team.h): all writes go through functions of smallmat_text.h. */

#include "element_size.h"

/** Store the parts of a filtering element; of C and J the lower triangles. */
KS_HD void KS_T(ks_filter_store)(int nx, const KS_NUM *A, const KS_NUM *b, const KS_NUM *C,
                                 const KS_NUM *eta, const KS_NUM *J, KS_NUM *e)
{
    const int half = nx * (nx + 1) / 2;
    KS_T(ks_copy)(nx * nx, A, e);
    KS_T(ks_copy)(nx, b, e + nx * nx);
    KS_T(ks_pack)(nx, C, e + nx * nx + nx);
    KS_T(ks_copy)(nx, eta, e + nx * nx + nx + half);
    KS_T(ks_pack)(nx, J, e + nx * nx + 2 * nx + half);
}

/** The element of a step with m observed entries, SF eq. 43 and 45, in the ordinary form. Return true where that form
 *  is accurate enough (see ks_innovation()). */
KS_HD KS_MASK KS_T(ks_filter_element)(int nx, int m, const KS_NUM *F, const KS_NUM *Q,
                                      const KS_NUM *u, const KS_NUM *H, const KS_NUM *R,
                                      const KS_NUM *d, const KS_NUM *y, KS_NUM *e, KS_NUM *W)
{
    KS_NUM *A = W, *b = A + nx * nx, *C = b + nx, *eta = C + nx * nx, *J = eta + nx;
    KS_NUM *G = J + nx * nx, *HF = G + m * nx, *Z = HF + m * nx, *S = Z + m * nx;
    KS_NUM *inverse_d = S + m * m, *v = inverse_d + m, *scratch = v + m;
    const KS_NUM times = KS_T(ks_noise_times_in)(m, R, m, S, inverse_d);
    const KS_MASK good = KS_T(ks_innovation)(nx, m, H, R, times, d, y, u, Q, G, S, inverse_d, v, scratch);
    KS_T(ks_mm)(m, nx, nx, H, F, HF);
    KS_T(ks_ldl_forward)(m, nx, S, HF);
    KS_T(ks_posterior)(nx, m, G, inverse_d, v, u, Q, b, C, Z);
    KS_T(ks_copy)(nx * nx, F, A);
    KS_T(ks_mtm_sub)(nx, m, nx, Z, HF, A);
    KS_T(ks_scale_rows)(m, nx, HF, inverse_d, Z);
    KS_T(ks_zero)(nx, eta);
    KS_T(ks_zero)(nx * nx, J);
    KS_T(ks_mtv_add)(m, nx, Z, v, eta);
    KS_T(ks_mtm_add)(nx, m, nx, Z, HF, J);
    KS_T(ks_filter_store)(nx, A, b, C, eta, J, e);
    return good;
}

/** Y = (I + C J)⁻¹ C = U (I + Uᵀ J U)⁻¹ Uᵀ with C = U Uᵀ. Y is symmetric and positive semidefinite; C may be singular.
 *  Return true where no pivot of I + Uᵀ J U is lost in round-off.
 *
 *  U is given and is scratch afterwards, like JU and K (nx, nx). J is given with both triangles. */
KS_HD KS_MASK KS_T(ks_merge_root)(int nx, const KS_NUM *J, KS_NUM *Y, KS_NUM *U, KS_NUM *JU, KS_NUM *K,
                                  KS_NUM *inverse_d)
{
    KS_T(ks_mm)(nx, nx, nx, J, U, JU);
    KS_T(ks_identity)(nx, K);
    KS_T(ks_mtm_add)(nx, nx, nx, U, JU, K);
    const KS_MASK good = KS_T(ks_ldl)(nx, 1 / KS_MERGE, K, inverse_d);
    KS_T(ks_transpose)(nx, nx, U, JU); /* V = L⁻¹ Uᵀ, Y = Vᵀ D⁻¹ V */
    KS_T(ks_ldl_forward)(nx, nx, K, JU);
    KS_T(ks_scale_rows)(nx, nx, JU, inverse_d, U);
    KS_T(ks_zero)(nx * nx, Y);
    KS_T(ks_mtm_add)(nx, nx, nx, JU, U, Y);
    KS_T(ks_mirror)(nx, Y);
    return good;
}

/** The information part of the combination of two filtering elements, SF eq. 46: eta and the lower triangle of J
 *  (nx, nx). lhs is the earlier element; eta_j and J_j (packed) come from the later one.
 *
 *  With N = (I + C J_j)⁻¹ = I - Y J_j one factorization serves both sides, since (I + J_j C)⁻¹ = Nᵀ. Also returned: Y,
 *  X = N A_i and shift = N (b_i + C eta_j) - b_i, for ks_joined(). Return true where the ordinary form is accurate
 *  enough; see ks_merge_root(). W: 4 nx² + nx numbers. */
KS_HD KS_MASK KS_T(ks_join_ordinary)(int nx, const KS_NUM *lhs, const KS_NUM *eta_j, const KS_NUM *J_j,
                                     KS_NUM *Y, KS_NUM *X, KS_NUM *shift, KS_NUM *eta, KS_NUM *J,
                                     KS_NUM *W)
{
    const int nn = nx * nx, half = nx * (nx + 1) / 2;
    const KS_NUM *Ai = lhs, *bi = lhs + nn, *eta_i = bi + nx + half;
    KS_NUM *C = W, *JA = C + nn, *T = JA + nn, *U = T + nn, *v = U + nn;
    KS_T(ks_unpack)(nx, bi + nx, C);
    KS_T(ks_unpack)(nx, J_j, J);
    KS_T(ks_semidefinite_factor)(nx, C, U);
    const KS_MASK good = KS_T(ks_merge_root)(nx, J, Y, U, JA, T, v);
    /* v = eta_j - J b_i */
    KS_T(ks_copy)(nx, eta_j, v);
    KS_T(ks_mtv_sub)(nx, nx, J, bi, v);
    KS_T(ks_zero)(nx, shift);
    KS_T(ks_mtv_add)(nx, nx, Y, v, shift);
    KS_T(ks_mm)(nx, nx, nx, J, Ai, JA);
    KS_T(ks_copy)(nn, Ai, X);
    KS_T(ks_mtm_sub)(nx, nx, nx, Y, JA, X);
    /* Nᵀ v = v - J Y v;  J (I + C J)⁻¹ between A_i is (J A_i)ᵀ X */
    KS_T(ks_mtv_sub)(nx, nx, J, shift, v);
    KS_T(ks_unpack)(nx, eta_i + nx, J);
    KS_T(ks_mtm_add)(nx, nx, nx, JA, X, J);
    KS_T(ks_copy)(nx, eta_i, eta);
    KS_T(ks_mtv_add)(nx, nx, Ai, v, eta);
    return good;
}

/** dst = lhs (+) rhs for filtering elements, SF eq. 46; lhs is the earlier one. ks_join_ordinary() or ks_join_array()
 *  has made Y, X, shift, eta and J. dst may be lhs or rhs. shift is scratch afterwards. W: 3 nx² + nx numbers. */
KS_HD void KS_T(ks_joined)(int nx, KS_NUM *dst, const KS_NUM *lhs, const KS_NUM *rhs, const KS_NUM *Y,
                           const KS_NUM *X, KS_NUM *shift, const KS_NUM *eta, const KS_NUM *J, KS_NUM *W)
{
    const int nn = nx * nx;
    const KS_NUM *bi = lhs + nn, *Aj = rhs, *bj = rhs + nn;
    KS_NUM *C = W, *YA = C + nn, *T = YA + nn, *b = T + nn;
    KS_T(ks_add)(nx, bi, shift);
    KS_T(ks_copy)(nx, bj, b);
    KS_T(ks_mv_add)(nx, nx, Aj, shift, b);
    /* C = A_j Y A_jᵀ + C_j */
    KS_T(ks_unpack)(nx, bj + nx, C);
    KS_T(ks_transpose)(nx, nx, Aj, T);
    KS_T(ks_mm)(nx, nx, nx, Y, T, YA);
    KS_T(ks_mm_add)(nx, nx, nx, Aj, YA, C);
    KS_T(ks_mm)(nx, nx, nx, Aj, X, T);
    KS_T(ks_filter_store)(nx, T, b, C, eta, J, dst);
}

/** dst = lhs (+) rhs for smoothing elements, SF eq. 51; lhs is the earlier one. dst may be lhs or rhs. */
KS_HD void KS_T(ks_smooth_combine)(int nx, KS_NUM *dst, const KS_NUM *lhs, const KS_NUM *rhs,
                                   KS_NUM *W)
{
    const int nn = nx * nx;
    const KS_NUM *Ei = lhs, *gi = lhs + nn, *Ej = rhs, *gj = rhs + nn;
    KS_NUM *L = W, *ET = L + nn, *M = ET + nn, *P = M + nn, *g = P + nn;
    KS_T(ks_copy)(nx, gi, g);
    KS_T(ks_mv_add)(nx, nx, Ei, gj, g);
    KS_T(ks_unpack)(nx, gj + nx, L);
    KS_T(ks_transpose)(nx, nx, Ei, ET);
    KS_T(ks_mm)(nx, nx, nx, L, ET, M);
    KS_T(ks_unpack)(nx, gi + nx, L);
    KS_T(ks_mm_add)(nx, nx, nx, Ei, M, L);
    KS_T(ks_mm)(nx, nx, nx, Ei, Ej, P);
    KS_T(ks_copy)(nn, P, dst);
    KS_T(ks_copy)(nx, g, dst + nn);
    KS_T(ks_pack)(nx, L, dst + nn + nx);
}
