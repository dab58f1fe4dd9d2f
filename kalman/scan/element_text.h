/* element_text.h -- elements and operators of the parallel filter and smoothers; see num_f64.h.
 *
 * SF is Sarkka & Garcia-Fernandez, see kalscan/smooth.h. A filtering element (A, b, C, eta, J) stands for
 * p(x[k] | y[k], x[k-1]) = N(A x + b, C) and p(y[k] | x[k-1]) = N_I(eta, J), SF eq. 42-45. A smoothing element
 * (E, g, L) stands for p(x[k] | y[0..k], x[k+1]) = N(E x + g, L), SF eq. 48-50. Storage is flat:
 *
 *     A | b | C packed | eta | J packed    and    E | g | L packed */

#include "element_ordinary_text.h"

/** Return the numbers of scratch of any function of this text. */
KS_HD int64_t KS_T(ks_element_scratch)(int nx, int ny)
{
    return KS_T(ks_step_scratch)(nx, ny) + 12 * (int64_t)nx * nx + 8 * nx +
           3 * (int64_t)nx * ny + (int64_t)ny * ny + 2 * ny;
}

/** The neutral filtering element: A = I, the rest zero. */
KS_HD void KS_T(ks_filter_neutral)(int nx, KS_NUM *e)
{
    const int size = (int)ks_filter_element_size(nx);
    for (int i = 0; i < size; ++i) e[i] = KS_LIT(0);
    for (int i = 0; i < nx; ++i) e[i * nx + i] = KS_LIT(1);
}

/** The neutral smoothing element: E = I, the rest zero. */
KS_HD void KS_T(ks_smooth_neutral)(int nx, KS_NUM *e)
{
    const int size = (int)ks_smooth_element_size(nx);
    for (int i = 0; i < size; ++i) e[i] = KS_LIT(0);
    for (int i = 0; i < nx; ++i) e[i * nx + i] = KS_LIT(1);
}

/** The element of a step in the array form, as roots: A, b and S (nx, nx) with C = S Sᵀ, and N (m, nx) and v (m) with
 *  eta = Nᵀ v and J = Nᵀ N. That is, the m entries say v = N x + noise of unit covariance about the state x before the
 *  step.
 *
 *  Return -1, or the entry at which H Q Hᵀ + R is singular. W: nx² + m (nx + m) numbers and the scratch of a step. */
KS_HD_COLD int KS_T(ks_filter_element_roots)(int nx, int m, const KS_NUM *F, const KS_NUM *Q, const KS_NUM *u,
                                             const KS_NUM *H, const KS_NUM *R, const KS_NUM *d, const KS_NUM *y,
                                             KS_NUM *A, KS_NUM *b, KS_NUM *S, KS_NUM *N, KS_NUM *v, KS_NUM *W)
{
    KS_NUM *root = W, *K = root + nx * nx, *Se = K + nx * m, *scratch = Se + m * m;
    KS_T(ks_covariance_factor)(nx, Q, root, scratch);
    const int bad = KS_T(ks_array_update)(nx, m, H, R, d, y, u, root, b, S, Se, v, K, NULL, scratch);
    if (bad >= 0) return bad;
    KS_T(ks_mm)(m, nx, nx, H, F, N); /* N <- Se⁻¹ H F */
    for (int i = 0; i < m; ++i)
        for (int c = 0; c < nx; ++c) {
            KS_NUM s = N[i * nx + c];
            for (int j = 0; j < i; ++j) s = s - Se[i * m + j] * N[j * nx + c];
            N[i * nx + c] = s / Se[i * m + i];
        }
    for (int i = 0; i < nx; ++i)
        for (int c = 0; c < nx; ++c) {
            KS_NUM a = F[i * nx + c];
            for (int l = 0; l < m; ++l) a = a - K[i * m + l] * N[l * nx + c];
            A[i * nx + c] = a;
        }
    return -1;
}

/** The element of ks_filter_element() in the array form. Returns what ks_filter_element_roots() returns. */
KS_HD_COLD int KS_T(ks_filter_element_array)(int nx, int m, const KS_NUM *F, const KS_NUM *Q,
                                             const KS_NUM *u, const KS_NUM *H, const KS_NUM *R,
                                             const KS_NUM *d, const KS_NUM *y, KS_NUM *e,
                                             KS_NUM *W)
{
    KS_NUM *A = W, *b = A + nx * nx, *C = b + nx, *eta = C + nx * nx, *J = eta + nx;
    KS_NUM *S = J + nx * nx, *N = S + nx * nx, *v = N + m * nx, *scratch = v + m;
    const int bad = KS_T(ks_filter_element_roots)(nx, m, F, Q, u, H, R, d, y, A, b, S, N, v, scratch);
    if (bad >= 0) return bad;
    KS_T(ks_square)(nx, nx, nx, S, C);
    for (int i = 0; i < nx; ++i) eta[i] = KS_LIT(0);
    for (int i = 0; i < nx * nx; ++i) J[i] = KS_LIT(0);
    KS_T(ks_mtv_add)(m, nx, N, v, eta);
    KS_T(ks_mtm_add)(nx, m, nx, N, N, J);
    KS_T(ks_filter_store)(nx, A, b, C, eta, J, e);
    return -1;
}

/** The element of step 0: A = 0; b and C are the filtered mean and covariance; no information. */
KS_HD void KS_T(ks_filter_element_first)(int nx, const KS_NUM *x, const KS_NUM *P, KS_NUM *e)
{
    const int size = (int)ks_filter_element_size(nx);
    for (int i = 0; i < size; ++i) e[i] = KS_LIT(0);
    KS_T(ks_copy)(nx, x, e + nx * nx);
    KS_T(ks_pack)(nx, P, e + nx * nx + nx);
}

/** Factor J = G Gᵀ (nx, nx) and replace v in z by g with v = G g. rest (nx) <- v - G g.
 *
 *  Where round-off has left no pivot in J, v may still tell something about the mean: v is of the size of the root of
 *  J, so it has twice as many digits. `rest` keeps that part; below the round-off of v it is set to 0. */
KS_HD_COLD void KS_T(ks_data_of)(int nx, const KS_NUM *J, KS_NUM *G, KS_NUM *z, KS_NUM *rest)
{
    KS_T(ks_semidefinite_factor)(nx, J, G);
    for (int i = 0; i < nx; ++i) {
        KS_NUM s = z[i], size = s * s;
        for (int j = 0; j < i; ++j) {
            const KS_NUM term = G[i * nx + j] * z[j];
            s = s - term;
            size = size + term * term;
        }
        const int lost = !KS_GT(G[i * nx + i], KS_LIT(0));
        z[i] = lost ? KS_LIT(0) : s / G[i * nx + i];
        rest[i] = lost && KS_GT(s * s, KS_LIT(16. * KS_EPS * KS_EPS) * KS_LIT(nx * nx) * size) ? s : KS_LIT(0);
    }
}

/** Do what ks_merge_root() does, without forming I + Uᵀ J U: its small eigenvalues would be lost where C and J are both
 *  large. With C = U Uᵀ, J = G Gᵀ and M = Uᵀ G,
 *
 *      Y = U (I + M Mᵀ)⁻¹ Uᵀ,    J (I + C J)⁻¹ = G (I + Mᵀ M)⁻¹ Gᵀ,
 *
 *  and the factors of both come from rotating [I M] and [I Mᵀ].
 *
 *  U is given. W <- L⁻¹ Gᵀ (nx, nx) with L Lᵀ = I + Mᵀ M, so that J (I + C J)⁻¹ = Wᵀ W. z (nx) holds some v = G g + r
 *  and becomes L⁻¹ g; rest (nx) <- (I + J C)⁻¹ r, so that (I + J C)⁻¹ v = Wᵀ z + rest. shift (nx) <- Y v; it is
 *  computed with the factor of [I M], so that its terms do not exceed the standard deviations of Y. scratch: 3 nx² +
 *  (ks_lq_apart(nx + 1) + 1) 2 nx + 2 numbers. */
KS_HD_COLD void KS_T(ks_merge_array)(int nx, const KS_NUM *U, const KS_NUM *J, KS_NUM *Y,
                                     KS_NUM *W, KS_NUM *z, KS_NUM *rest, KS_NUM *shift, KS_NUM *scratch)
{
    const int nn = nx * nx, columns = 2 * nx, apart = ks_lq_apart(nx + 1);
    KS_NUM *G = scratch, *M = G + nn, *T = M + nn, *data = T + nx, *V = T + columns * apart;
    KS_NUM *reflection = V + nn, *p = shift;
    KS_T(ks_data_of)(nx, J, G, z, rest);
    for (int i = 0; i < nn; ++i) M[i] = KS_LIT(0);
    KS_T(ks_mtm_add)(nx, nx, nx, U, G, M);
    /* The data z are one more row of the rotation. That loses fewer digits of them than a product with M would. */
    for (int side = 0; side < 2; ++side) {
        const KS_NUM *root = side ? G : U;
        KS_NUM *X = side ? W : V;
        KS_T(ks_lq_clear)(nx + 1, columns, T);
        for (int c = 0; c < nx; ++c) {
            T[c * apart + c] = KS_LIT(1);
            for (int i = 0; i < nx; ++i) T[(nx + c) * apart + i] = side ? M[c * nx + i] : M[i * nx + c];
            data[(side ? c : nx + c) * apart] = z[c];
        }
        (void)KS_T(ks_lq_first)(nx, nx + 1, columns, (const KS_NUM *)0, T, reflection, 0);
        for (int i = 0; i < nx; ++i) /* X = L⁻¹ rootᵀ */
            for (int c = 0; c < nx; ++c) {
                KS_NUM s = root[c * nx + i];
                for (int j = 0; j < i; ++j) s = s - T[j * apart + i] * X[j * nx + c];
                X[i * nx + c] = s / T[i * apart + i];
            }
        for (int c = 0; c < nx; ++c) (side ? z : p)[c] = data[c * apart];
    }
    for (int i = 0; i < nn; ++i) Y[i] = KS_LIT(0);
    KS_T(ks_mtm_add)(nx, nx, nx, V, V, Y);
    KS_T(ks_mirror)(nx, Y);
    KS_NUM *moved = reflection, *left = reflection + nx;
    for (int i = 0; i < nx; ++i) moved[i] = left[i] = KS_LIT(0);
    KS_T(ks_mtv_add)(nx, nx, V, p, moved);
    KS_T(ks_mv_add)(nx, nx, Y, rest, left);
    for (int i = 0; i < nx; ++i) shift[i] = moved[i] + left[i];
    KS_T(ks_mtv_sub)(nx, nx, J, left, rest);
}

/** Do what ks_join_ordinary() does by ks_merge_array(). W: 4 nx² + 2 nx numbers and those of ks_merge_array(). */
KS_HD_COLD void KS_T(ks_join_array)(int nx, const KS_NUM *lhs, const KS_NUM *eta_j, const KS_NUM *J_j, KS_NUM *Y,
                                    KS_NUM *X, KS_NUM *shift, KS_NUM *eta, KS_NUM *J, KS_NUM *W)
{
    const int nn = nx * nx, half = nx * (nx + 1) / 2;
    const KS_NUM *Ai = lhs, *bi = lhs + nn, *eta_i = bi + nx + half;
    KS_NUM *C = W, *JA = C + nn, *U = JA + nn, *V = U + nn, *v = V + nn, *t = v + nx, *more = t + nx;
    KS_T(ks_unpack)(nx, bi + nx, C);
    KS_T(ks_unpack)(nx, J_j, J);
    KS_T(ks_copy)(nx, eta_j, v);
    KS_T(ks_mtv_sub)(nx, nx, J, bi, v);
    (void)KS_T(ks_pivoted_factor)(nx, C, U, more);
    KS_T(ks_merge_array)(nx, U, J, Y, V, v, t, shift, more);
    KS_T(ks_mm)(nx, nx, nx, J, Ai, JA);
    KS_T(ks_copy)(nn, Ai, X);
    KS_T(ks_mtm_sub)(nx, nx, nx, Y, JA, X);
    KS_T(ks_mtv_add)(nx, nx, V, v, t);
    KS_T(ks_mm)(nx, nx, nx, V, Ai, JA);
    KS_T(ks_unpack)(nx, eta_i + nx, J);
    KS_T(ks_mtm_add)(nx, nx, nx, JA, JA, J);
    KS_T(ks_copy)(nx, eta_i, eta);
    KS_T(ks_mtv_add)(nx, nx, Ai, t, eta);
}

/** ks_join_ordinary(), or ks_join_array() where that is not accurate enough. */
KS_HD void KS_T(ks_join_information)(int nx, const KS_NUM *lhs, const KS_NUM *eta_j, const KS_NUM *J_j, KS_NUM *Y,
                                     KS_NUM *X, KS_NUM *shift, KS_NUM *eta, KS_NUM *J, KS_NUM *W)
{
    if (!KS_ALL(KS_T(ks_join_ordinary)(nx, lhs, eta_j, J_j, Y, X, shift, eta, J, W)))
        KS_T(ks_join_array)(nx, lhs, eta_j, J_j, Y, X, shift, eta, J, W);
}

/** dst = lhs (+) rhs for filtering elements, SF eq. 46; lhs is the earlier one. dst may be lhs or rhs. */
KS_HD void KS_T(ks_filter_combine)(int nx, KS_NUM *dst, const KS_NUM *lhs, const KS_NUM *rhs,
                                   KS_NUM *W)
{
    const int nn = nx * nx, half = nx * (nx + 1) / 2;
    const KS_NUM *eta_j = rhs + nn + nx + half;
    KS_NUM *J = W, *Y = J + nn, *X = Y + nn, *shift = X + nn, *eta = shift + nx, *more = eta + nx;
    KS_T(ks_join_information)(nx, lhs, eta_j, eta_j + nx, Y, X, shift, eta, J, more);
    KS_T(ks_joined)(nx, dst, lhs, rhs, Y, X, shift, eta, J, more);
}

/** Compute the squares of the numbers that round a predicted mean xp and covariance Pp, to `squares`, which may be xp.
 *  Each is the larger of two: the square of xp; and the variance of Pp, times the largest share that the gain E brings
 *  into a variance of P, times 2^23 (2^8 in single precision), since a covariance loses more digits than its standard
 *  deviations. */
KS_HD void KS_T(ks_rounding_squares)(int nx, const KS_NUM *E, const KS_NUM *P, const KS_NUM *xp, const KS_NUM *Pp,
                                     KS_NUM *squares)
{
    KS_NUM gain = KS_LIT(0);
    for (int i = 0; i < nx; ++i) {
        KS_NUM sum = KS_LIT(0);
        for (int c = 0; c < nx; ++c) sum = sum + E[i * nx + c] * E[i * nx + c] * Pp[c * nx + c];
        const KS_NUM share = sum / P[i * nx + i]; /* NaN where a state is known exactly: ignored */
        gain = KS_GT(share, gain) ? share : gain;
    }
    gain = gain * KS_LIT(sizeof(KS_NUM) == 8 ? 0x1p23 : 0x1p8);
    for (int i = 0; i < nx; ++i) {
        const KS_NUM of_mean = xp[i] * xp[i], of_cov = gain * Pp[i * nx + i];
        squares[i] = KS_GT(of_cov, of_mean) ? of_cov : of_mean;
    }
}

/** Return whether round-off of numbers with the squares `of` exceeds 2^-30 (single precision: 2^-16) standard
 *  deviations of a covariance, in any combination of states. LD and inverse_d are the covariance's ks_ldl(). W: nx². */
KS_HD KS_MASK KS_T(ks_rounds_much)(int nx, const KS_NUM *of, const KS_NUM *LD, const KS_NUM *inverse_d, KS_NUM *W)
{
    KS_NUM sum = KS_LIT(0);
    for (int i = 0; i < nx; ++i) {
        KS_NUM *row = W + i * nx; /* row of L⁻¹; its unit diagonal holds the squares */
        KS_NUM squares = of[i];
        row[i] = squares;
        for (int c = 0; c < i; ++c) {
            row[c] = -LD[i * nx + c];
            for (int l = c + 1; l < i; ++l) row[c] = row[c] - LD[i * nx + l] * W[l * nx + c];
            squares = squares + row[c] * row[c] * W[c * nx + c];
        }
        sum = sum + inverse_d[i] * squares;
    }
    return KS_GT(sum, KS_LIT(1 / (128 * KS_EPS)));
}

/** The smoothing element of a step, SF eq. 49, from its filtered x, P and the transition out of it. Return true where
 *  the ordinary form is accurate enough. Then *sharp is ks_rounds_much() of the prediction. */
KS_HD KS_MASK KS_T(ks_smooth_element)(int nx, const KS_NUM *F, const KS_NUM *Q, const KS_NUM *u,
                                      const KS_NUM *x, const KS_NUM *P, KS_NUM *e, KS_MASK *sharp,
                                      KS_NUM *W)
{
    KS_NUM *ET = W, *Pp = ET + nx * nx, *FP = Pp + nx * nx, *t = FP + nx * nx;
    KS_NUM *scratch = t + nx;
    KS_NUM *E = e, *g = e + nx * nx, *L = g + nx;
    KS_MASK good = KS_T(ks_smoothing_gain)(nx, F, Q, P, ET, Pp, scratch);
    KS_T(ks_transpose)(nx, nx, ET, E);
    KS_T(ks_copy)(nx, u, t);
    KS_T(ks_mv_add)(nx, nx, F, x, t);
    KS_T(ks_rounding_squares)(nx, E, P, t, Pp, FP);
    *sharp = KS_T(ks_rounds_much)(nx, FP, scratch, scratch + 2 * nx * nx, scratch + nx * nx);
    KS_T(ks_copy)(nx, x, g);
    KS_T(ks_mtv_sub)(nx, nx, ET, t, g);
    KS_T(ks_mm)(nx, nx, nx, F, P, FP);
    KS_T(ks_copy)(nx * nx, P, Pp);
    KS_T(ks_mtm_sub)(nx, nx, nx, ET, FP, Pp);
    KS_T(ks_pack)(nx, Pp, L);
    for (int i = 0; i < nx; ++i)
        good = good & KS_GT(KS_LIT(KS_GROWTH) * Pp[i * nx + i], P[i * nx + i]);
    return good;
}

/** The same in the array form. The predicted covariance may be singular. */
KS_HD_COLD void KS_T(ks_smooth_element_array)(int nx, const KS_NUM *F, const KS_NUM *Q,
                                              const KS_NUM *u, const KS_NUM *x, const KS_NUM *P,
                                              KS_NUM *e, KS_NUM *W)
{
    KS_NUM *ET = W, *S = ET + nx * nx, *L = S + nx * nx, *full = L + 2 * nx * nx;
    KS_NUM *t = full + nx * nx, *scratch = t + nx;
    (void)KS_T(ks_pivoted_factor)(nx, P, S, scratch);
    KS_T(ks_array_gain)(nx, F, Q, S, NULL, ET, L, scratch);
    KS_T(ks_square)(nx, 2 * nx, 2 * nx, L, full);
    KS_T(ks_transpose)(nx, nx, ET, e);
    KS_T(ks_copy)(nx, u, t);
    KS_T(ks_mv_add)(nx, nx, F, x, t);
    KS_T(ks_copy)(nx, x, e + nx * nx);
    KS_T(ks_mtv_sub)(nx, nx, ET, t, e + nx * nx);
    KS_T(ks_pack)(nx, full, e + nx * nx + nx);
}

/** The smoothing element of the last step, SF eq. 50: E = 0; g and L are the filtered estimate. */
KS_HD void KS_T(ks_smooth_element_last)(int nx, const KS_NUM *x, const KS_NUM *P, KS_NUM *e)
{
    for (int i = 0; i < nx * nx; ++i) e[i] = KS_LIT(0);
    KS_T(ks_copy)(nx, x, e + nx * nx);
    KS_T(ks_pack)(nx, P, e + nx * nx + nx);
}
