/* two_ended_text.h -- steps of the information filter from the right and of the way back out, in the ordinary form; see
 * num_f64.h.
 *
 * The likelihood of x[k] given the observations after step k is exp(-x' J x / 2 + eta' x), up to a factor. It is
 * carried backward without an inverse of Q. Let Q = G Gᵀ, let J and eta be those of x[k] with y[k] included, and let
 * K = I + Gᵀ J G = L D Lᵀ. In the transition x[k] = F x[k-1] + u + G eps, given x[k-1] and y[k..], the disturbance is
 * Lᵀ eps ~ N(b - A x[k-1], D⁻¹) with
 *
 *     A = D⁻¹ L⁻¹ Gᵀ J F,   b = D⁻¹ L⁻¹ Gᵀ (eta - J u).
 *
 * For x[k-1] this leaves Fᵀ J F - Aᵀ D A, and eta likewise. The way out needs nothing else. With V = L⁻¹ Gᵀ it is
 * x[k] = Phi x[k-1] + u + Vᵀ b + noise with Phi = F - Vᵀ A = (I + Q J)⁻¹ F. The noise has the covariance
 * Vᵀ D⁻¹ V = Q (I + J Q)⁻¹, which is a sum of positive semidefinite terms.
 *
 * Q may be singular; if it is not, there are shorter steps (two_ended_inverse_text.h). R must not be singular: its
 * inverse is what an observation adds to J. Sources: Fraser & Potter, "The optimum linear smoother as a combination of
 * two optimum linear filters", 1969; Kailath, Sayed & Hassibi, "Linear Estimation", ch. 10, for the forms without
 * inverses.
 *
 * The log-likelihood needs no constant carried backward, which would cancel. Its quadratic part is computed at the
 * smoothed estimate: the sum of residual' R⁻¹ residual and eps' eps. */

/** R (m, m) is refused if a pivot is below this share of its diagonal entry: half of the digits of the entry's
 *  information would be lost. */
#define KS_R_PIVOT sqrt(KS_EPS)

/** Round-off of a pivot as a share of its diagonal entry. With a pivot below it, R counts as singular. */
#define KS_R_ROUNDING(m) (4 * (m) * KS_EPS)

/** Make the observed entries independent: S (m, m) <- the factors L D Lᵀ of R, inverse_d (m) <- 1 / D, and
 *  N (m, nx) <- L⁻¹ H unless N is NULL. Returns true if R is well positive definite. */
KS_HD KS_MASK KS_T(ks_whiten_observation)(int nx, int m, const KS_NUM *KS_RESTRICT H,
                              const KS_NUM *KS_RESTRICT R, KS_NUM *KS_RESTRICT S,
                              KS_NUM *KS_RESTRICT inverse_d, KS_NUM *KS_RESTRICT N)
{
    KS_T(ks_copy)(m * m, R, S);
    const KS_MASK good = KS_T(ks_ldl)(m, KS_R_PIVOT, S, inverse_d);
    if (N) {
        KS_T(ks_copy)(m * nx, H, N);
        KS_T(ks_ldl_forward)(m, nx, S, N);
    }
    return good;
}

/** Add an observation to the information: J += Nᵀ D⁻¹ N, eta += Nᵀ D⁻¹ v with v = L⁻¹ (y - d). Z holds
 *  m * nx numbers. */
KS_HD void KS_T(ks_inform)(int nx, int m, const KS_NUM *KS_RESTRICT N,
                           const KS_NUM *KS_RESTRICT inverse_d, const KS_NUM *KS_RESTRICT v,
                           KS_NUM *KS_RESTRICT J, KS_NUM *KS_RESTRICT eta, KS_NUM *KS_RESTRICT Z)
{
    for (int i = 0; i < m; ++i)
        for (int c = 0; c < nx; ++c) Z[i * nx + c] = N[i * nx + c] * inverse_d[i];
    KS_T(ks_mtm_add)(nx, m, nx, Z, N, J);
    KS_T(ks_mirror)(nx, J);
    KS_T(ks_mtv_add)(m, nx, Z, v, eta);
}

/** From the information J, eta on x[k], its observation included, through the transition into step k to Jn, etan on
 *  x[k-1]. Also returns, for the way out, A, b and the factors LD, inverse_d of K. shown (nx) <- the diagonal of
 *  Fᵀ J F, from which Aᵀ D A is subtracted. Returns true if no variance of the disturbance shrinks by more than
 *  KS_GROWTH. W holds 2 nx² + nx numbers. */
KS_HD KS_MASK KS_T(ks_retreat)(int nx, const KS_NUM *KS_RESTRICT F, const KS_NUM *KS_RESTRICT G,
                               const KS_NUM *KS_RESTRICT u, const KS_NUM *KS_RESTRICT J,
                               const KS_NUM *KS_RESTRICT eta, KS_NUM *KS_RESTRICT Jn,
                               KS_NUM *KS_RESTRICT etan, KS_NUM *KS_RESTRICT A,
                               KS_NUM *KS_RESTRICT b, KS_NUM *KS_RESTRICT LD,
                               KS_NUM *KS_RESTRICT inverse_d, KS_NUM *KS_RESTRICT shown,
                               KS_NUM *KS_RESTRICT W)
{
    const int nn = nx * nx;
    KS_NUM *KS_RESTRICT X = W;
    KS_NUM *KS_RESTRICT E = W + nn;
    KS_NUM *KS_RESTRICT t = W + 2 * nn;
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
    KS_T(ks_mm)(nx, nx, nx, J, F, X);
    KS_T(ks_mm)(nx, nx, nx, J, G, E);
    for (int i = 0; i < nn; ++i) LD[i] = KS_LIT(0);
    for (int i = 0; i < nx; ++i) LD[i * nx + i] = KS_LIT(1);
    KS_T(ks_mtm_add)(nx, nx, nx, G, E, LD);
    for (int i = 0; i < nx; ++i)
        good = good & KS_GT(KS_LIT(1 + KS_GROWTH), LD[i * nx + i]);
    good = good & KS_T(ks_ldl)(nx, 0, LD, inverse_d);
    for (int i = 0; i < nn; ++i) E[i] = Jn[i] = KS_LIT(0);
    for (int i = 0; i < nx; ++i) b[i] = etan[i] = KS_LIT(0);
    KS_T(ks_copy)(nx, eta, t);
    KS_T(ks_mtv_sub)(nx, nx, J, u, t);
    KS_T(ks_mtm_add)(nx, nx, nx, G, X, E);
    KS_T(ks_mtv_add)(nx, nx, G, t, b);
    KS_T(ks_ldl_forward)(nx, nx, LD, E);
    KS_T(ks_ldl_forward)(nx, 1, LD, b);
    for (int i = 0; i < nx; ++i)
        for (int c = 0; c < nx; ++c) A[i * nx + c] = E[i * nx + c] * inverse_d[i];
    KS_T(ks_mtm_add)(nx, nx, nx, F, X, Jn);
    for (int i = 0; i < nx; ++i) shown[i] = Jn[i * nx + i];
    KS_T(ks_mtm_sub)(nx, nx, nx, A, E, Jn);
    KS_T(ks_mirror)(nx, Jn);
    KS_T(ks_mtv_add)(nx, nx, F, t, etan);
    KS_T(ks_mtv_sub)(nx, nx, A, b, etan);
    for (int i = 0; i < nx; ++i) b[i] = b[i] * inverse_d[i];
    return good;
}

/** The mean on its way out: Lᵀ eps = b - A x, xn = F x + u + Vᵀ Lᵀ eps. L, unit lower triangular, is in LD. Returns
 *  eps. */
KS_HD void KS_T(ks_advance_mean)(int nx, const KS_NUM *KS_RESTRICT F, const KS_NUM *KS_RESTRICT V,
                                 const KS_NUM *KS_RESTRICT LD, const KS_NUM *KS_RESTRICT u,
                                 const KS_NUM *KS_RESTRICT A, const KS_NUM *KS_RESTRICT b,
                                 const KS_NUM *KS_RESTRICT x, KS_NUM *KS_RESTRICT xn,
                                 KS_NUM *KS_RESTRICT eps)
{
    for (int i = 0; i < nx; ++i) {
        KS_WIDE s = (KS_WIDE)b[i];
        for (int j = 0; j < nx; ++j) s = s - (KS_WIDE)A[i * nx + j] * (KS_WIDE)x[j];
        eps[i] = (KS_NUM)s;
    }
    for (int i = 0; i < nx; ++i) {
        KS_WIDE s = (KS_WIDE)u[i];
        for (int j = 0; j < nx; ++j) s = s + (KS_WIDE)F[i * nx + j] * (KS_WIDE)x[j];
        for (int j = 0; j < nx; ++j) s = s + (KS_WIDE)V[j * nx + i] * (KS_WIDE)eps[j];
        xn[i] = (KS_NUM)s;
    }
    for (int i = nx - 1; i >= 0; --i)
        for (int j = i + 1; j < nx; ++j) eps[i] = eps[i] - LD[j * nx + i] * eps[j];
}

/** The gains of the way out, for both forms: V = L⁻¹ Gᵀ, Phi = F - Vᵀ A. */
KS_HD void KS_T(ks_advance_gain)(int nx, const KS_NUM *KS_RESTRICT F, const KS_NUM *KS_RESTRICT G,
                                 const KS_NUM *KS_RESTRICT A, const KS_NUM *KS_RESTRICT LD,
                                 KS_NUM *KS_RESTRICT Phi, KS_NUM *KS_RESTRICT V)
{
    KS_T(ks_transpose)(nx, nx, G, V);
    KS_T(ks_ldl_forward)(nx, nx, LD, V);
    KS_T(ks_copy)(nx * nx, F, Phi);
    KS_T(ks_mtm_sub)(nx, nx, nx, V, A, Phi);
}

/** The covariance on its way out: Pn = Phi P Phiᵀ + Vᵀ D⁻¹ V, symmetric to the bit, and
 *  lag = Phi P = Cov(x[k], x[k-1] | y). Returns true if no variance has shrunk by more than KS_GROWTH on the way. W
 *  holds nx² numbers. */
KS_HD KS_MASK KS_T(ks_advance_cov)(int nx, const KS_NUM *KS_RESTRICT Phi,
                                   const KS_NUM *KS_RESTRICT V,
                                   const KS_NUM *KS_RESTRICT inverse_d,
                                   const KS_NUM *KS_RESTRICT P, KS_NUM *KS_RESTRICT Pn,
                                   KS_NUM *KS_RESTRICT lag, KS_NUM *KS_RESTRICT W)
{
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
    KS_T(ks_mm)(nx, nx, nx, Phi, P, lag);
    for (int i = 0; i < nx; ++i)
        for (int c = 0; c < nx; ++c) W[i * nx + c] = V[i * nx + c] * inverse_d[i];
    for (int i = 0; i < nx * nx; ++i) Pn[i] = KS_LIT(0);
    KS_T(ks_mtm_add)(nx, nx, nx, V, W, Pn);
    KS_T(ks_transpose)(nx, nx, Phi, W);
    KS_T(ks_mm_add)(nx, nx, nx, lag, W, Pn);
    KS_T(ks_mirror)(nx, Pn);
    for (int i = 0; i < nx; ++i) {
        KS_NUM sum = KS_LIT(0);
        for (int j = 0; j < nx; ++j)
            sum = sum + Phi[i * nx + j] * Phi[i * nx + j] * P[j * nx + j];
        const KS_MASK lost = KS_GT(sum, KS_LIT(KS_GROWTH) * Pn[i * nx + i]);
        good = good & KS_GT(KS_LIT(1), KS_SELECT(lost, KS_LIT(1), KS_LIT(0)));
    }
    return good;
}
