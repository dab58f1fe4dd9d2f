/* two_ended_inverse_text.h -- a step of the information filter from the right with the inverse of Q instead of a root
 * of Q; see num_f64.h and two_ended_text.h.
 *
 * Given x[k-1] and y[k..], x[k] has the precision K = Q⁻¹ + J = L D Lᵀ. The equations are those of two_ended_text.h
 * with the identity for G. With t = eta - J u:
 *
 *     A = D⁻¹ L⁻¹ J F,   b = D⁻¹ L⁻¹ t,   Fᵀ J F - Aᵀ D A and Fᵀ t - Aᵀ D b for x[k-1]        (by the inverse)
 *
 * or, because of J = K - Q⁻¹, with 0 for F as well and
 *
 *     A = -D⁻¹ L⁻¹ Q⁻¹ F,   Fᵀ Q⁻¹ F - Aᵀ D A and -Aᵀ D b for x[k-1]                          (by the precision).
 *
 * The second is the block-tridiagonal Cholesky factorization of the smoothing problem (paper 000, eq. 4.3) from the
 * last block up. It is the shortest, and no product depends on J before its factors do. It loses digits in the ratio of
 * Fᵀ Q⁻¹ F to what remains: those of J if there is little noise, and those of the mean, the more the farther it is from
 * zero. */

/** Q is well positive definite if the sum of Q_ii (Q⁻¹)_ii is below this. The sum bounds the condition number of the
 *  correlations. */
#define KS_WELL_POSITIVE (3 * sqrt(KS_GROWTH))

/** How many times a step by the precision may seem to multiply round-off, estimated before it and after it. */
#define KS_PRECISION_BEFORE (KS_GROWTH / 64)
#define KS_PRECISION_AFTER (KS_GROWTH / 8)

/** Whether the inverse of Q pays. If Q varies with the step, its factors, its inverse and the products with F are made
 *  for each step; with few states this takes as long as a root and all that goes with it. On the way out, the round-off
 *  of the mean is larger by the condition number of Q, and adds up where nothing is observed. Single precision does not
 *  have these digits. */
#define KS_INVERSE_PAYS(nx, series) (sizeof(KS_NUM) > sizeof(float) && (!(series)->Q.stride || (nx) > 8))

/** What the transition into a step has besides F and u; a view. */
typedef struct KS_T(ks_noise) {
    const KS_NUM *inverse; /* Q⁻¹ */
    const KS_NUM *B, *C;   /* -Q⁻¹ F, Fᵀ Q⁻¹ F */
    const KS_NUM *pivot;   /* of Q */
} KS_T(ks_noise);

/** The factors LD, inverse_d of Q as ks_ldl() makes them, its inverse and its pivots. Returns true if Q is well
 *  positive definite. V and W hold nx² numbers. */
KS_HD KS_MASK KS_T(ks_invert_noise)(int nx, const KS_NUM *KS_RESTRICT Q, KS_NUM *KS_RESTRICT LD,
                                    KS_NUM *KS_RESTRICT inverse_d, KS_NUM *KS_RESTRICT pivot,
                                    KS_NUM *KS_RESTRICT inverse, KS_NUM *KS_RESTRICT V, KS_NUM *KS_RESTRICT W)
{
    KS_NUM sum = KS_LIT(0);
    KS_T(ks_copy)(nx * nx, Q, LD);
    const KS_MASK good = KS_T(ks_ldl)(nx, 1 / KS_GROWTH, LD, inverse_d);
    for (int i = 0; i < nx * nx; ++i) V[i] = inverse[i] = KS_LIT(0);
    for (int i = 0; i < nx; ++i) V[i * nx + i] = KS_LIT(1);
    KS_T(ks_ldl_forward)(nx, nx, LD, V);
    for (int i = 0; i < nx; ++i)
        for (int c = 0; c < nx; ++c) W[i * nx + c] = V[i * nx + c] * inverse_d[i];
    KS_T(ks_mtm_add)(nx, nx, nx, V, W, inverse);
    KS_T(ks_mirror)(nx, inverse);
    for (int i = 0; i < nx; ++i) {
        pivot[i] = LD[i * nx + i];
        sum = sum + Q[i * nx + i] * inverse[i * nx + i];
    }
    return good & KS_GT(KS_LIT(KS_WELL_POSITIVE), sum);
}

/** B = -Q⁻¹ F, C = Fᵀ Q⁻¹ F. */
KS_HD void KS_T(ks_noise_through)(int nx, const KS_NUM *KS_RESTRICT F, const KS_NUM *KS_RESTRICT inverse,
                                  KS_NUM *KS_RESTRICT B, KS_NUM *KS_RESTRICT C)
{
    KS_T(ks_mm)(nx, nx, nx, inverse, F, B);
    for (int i = 0; i < nx * nx; ++i) C[i] = KS_LIT(0);
    KS_T(ks_mtm_add)(nx, nx, nx, F, B, C);
    KS_T(ks_mirror)(nx, C);
    for (int i = 0; i < nx * nx; ++i) B[i] = -B[i];
}

/** The least ratio that a diagonal entry of what a step by the precision leaves may have to the entry that it starts
 *  from. limit: KS_PRECISION_BEFORE or KS_PRECISION_AFTER. size: see ks_right_rows; a mean so far from zero,
 *  sqrt(size), loses digits in that ratio once more. The way out finds the real loss of the estimate. */
KS_HD KS_NUM KS_T(ks_precision_scale)(double limit, double size)
{
    const double mean = sqrt(size / (limit * KS_GROWTH));
    return KS_LIT(mean > 1 / limit ? mean : 1 / limit);
}

/** Whether that ratio is kept. Diagonal entries are `apart` and `rest_apart` numbers from one another. */
KS_HD int KS_T(ks_precision_keeps)(int nx, KS_NUM scale, const KS_NUM *from, int apart, const KS_NUM *rest,
                                   int rest_apart)
{
    int good = 1;
    for (int i = 0; i < nx; ++i) good &= KS_GT(rest[i * rest_apart], from[i * apart] * scale);
    return good;
}

/** Whether a step by the inverse keeps its digits: tr(J Q), which bounds how much the
 *  disturbance's variance shrinks. */
KS_HD KS_MASK KS_T(ks_inverse_keeps)(int nx, const KS_NUM *KS_RESTRICT J, const KS_NUM *KS_RESTRICT Q)
{
    KS_NUM sum = KS_LIT(0);
    for (int i = 0; i < nx * nx; ++i) sum = sum + J[i] * Q[i];
    return KS_GT(KS_LIT(KS_GROWTH), sum);
}

/** ks_retreat() by the inverse of Q, or by the precision. The diagonal of LD is D times the pivots of Q, whose product
 *  is the determinant of I + Q J. W holds nx² + nx numbers. */
KS_HD KS_MASK KS_T(ks_retreat_inverse)(int nx, ks_passage passage, const KS_NUM *KS_RESTRICT F,
                                       const KS_T(ks_noise) *noise, const KS_NUM *KS_RESTRICT u,
                                       const KS_NUM *KS_RESTRICT J, const KS_NUM *KS_RESTRICT eta,
                                       KS_NUM *KS_RESTRICT Jn, KS_NUM *KS_RESTRICT etan, KS_NUM *KS_RESTRICT A,
                                       KS_NUM *KS_RESTRICT b, KS_NUM *KS_RESTRICT LD, KS_NUM *KS_RESTRICT inverse_d,
                                       KS_NUM *KS_RESTRICT shown, KS_NUM *KS_RESTRICT W)
{
    const int nn = nx * nx;
    KS_NUM *KS_RESTRICT E = W;
    KS_NUM *KS_RESTRICT t = W + nn;
    for (int i = 0; i < nn; ++i) LD[i] = noise->inverse[i] + J[i];
    const KS_MASK good = KS_T(ks_ldl)(nx, 0, LD, inverse_d);
    for (int i = 0; i < nx; ++i) etan[i] = KS_LIT(0);
    KS_T(ks_copy)(nx, eta, t);
    KS_T(ks_mtv_sub)(nx, nx, J, u, t);
    if (passage == KS_BY_PRECISION) {
        KS_T(ks_copy)(nn, noise->B, E);
        KS_T(ks_copy)(nn, noise->C, Jn);
    } else {
        for (int i = 0; i < nn; ++i) Jn[i] = KS_LIT(0);
        KS_T(ks_mm)(nx, nx, nx, J, F, E);
        KS_T(ks_mtm_add)(nx, nx, nx, F, E, Jn);
        KS_T(ks_mtv_add)(nx, nx, F, t, etan);
    }
    for (int i = 0; i < nx; ++i) shown[i] = Jn[i * nx + i];
    KS_T(ks_ldl_forward)(nx, nx, LD, E);
    KS_T(ks_copy)(nx, t, b);
    KS_T(ks_ldl_forward)(nx, 1, LD, b);
    for (int i = 0; i < nx; ++i)
        for (int c = 0; c < nx; ++c) A[i * nx + c] = E[i * nx + c] * inverse_d[i];
    KS_T(ks_mtm_sub)(nx, nx, nx, A, E, Jn);
    KS_T(ks_mirror)(nx, Jn);
    KS_T(ks_mtv_sub)(nx, nx, A, b, etan);
    for (int i = 0; i < nx; ++i) {
        b[i] = b[i] * inverse_d[i];
        LD[i * nx + i] = LD[i * nx + i] * noise->pivot[i];
    }
    return good;
}

/** The disturbance by the factors of Q: eps <- D^-1/2 L⁻¹ eps. After a step by the precision, eps is x[k] - u on entry
 *  and F x[k-1] is subtracted first; else F is NULL. */
KS_HD void KS_T(ks_whiten_noise)(int nx, const KS_NUM *F, const KS_NUM *x, const KS_NUM *LD, const KS_NUM *inverse_d,
                                 KS_NUM *eps)
{
    for (int i = 0; F && i < nx; ++i) {
        KS_WIDE s = (KS_WIDE)eps[i];
        for (int j = 0; j < nx; ++j) s = s - (KS_WIDE)F[i * nx + j] * (KS_WIDE)x[j];
        eps[i] = (KS_NUM)s;
    }
    KS_T(ks_ldl_forward)(nx, 1, LD, eps);
    for (int i = 0; i < nx; ++i) eps[i] = eps[i] * KS_SQRT(inverse_d[i]);
}
