/* information_ordinary_text.h -- steps of the information of later observations in the ordinary form.
 * information_text.h has the array form for where this one is not accurate enough; see element_ordinary_text.h. */

/** Smoothed x, P of a step, SF eq. 25-26, from its filtered mean xf, a root U of its covariance, and the information v,
 *  J (packed) of all later observations about the state minus xf. U is scratch afterwards. Return true where the
 *  ordinary form is accurate enough; see ks_merge_root(). W: 3 nx² + nx numbers. */
KS_HD KS_MASK KS_T(ks_meet_ordinary)(int nx, const KS_NUM *xf, KS_NUM *U, const KS_NUM *v, const KS_NUM *J_packed,
                                     KS_NUM *x, KS_NUM *P, KS_NUM *W)
{
    KS_NUM *J = W, *JU = J + nx * nx, *K = JU + nx * nx, *inverse_d = K + nx * nx;
    KS_T(ks_unpack)(nx, J_packed, J);
    const KS_MASK good = KS_T(ks_merge_root)(nx, J, P, U, JU, K, inverse_d);
    KS_T(ks_copy)(nx, xf, x);
    KS_T(ks_mtv_add)(nx, nx, P, v, x);
    return good;
}

/** Take the information v, J (packed) back from step k to step k - 1: from the steps after k about x[k] minus its
 *  filtered mean x, to the steps after k - 1 about x[k-1] minus its filtered mean.
 *
 *  e is the element of step k, made with F times the filtered mean of step k - 1, plus u, in place of u. Afterwards its
 *  mean has x subtracted. Return true where the ordinary form is accurate enough; see ks_merge_root(). Otherwise v and
 *  J are unchanged. W: 7 nx² + 3 nx numbers. */
KS_HD KS_MASK KS_T(ks_pull_ordinary)(int nx, KS_NUM *e, const KS_NUM *x, KS_NUM *v, KS_NUM *J_packed, KS_NUM *W)
{
    const int nn = nx * nx;
    KS_NUM *b = e + nn, *Y = W, *X = Y + nn, *J = X + nn, *shift = J + nn, *eta = shift + nx;
    KS_T(ks_copy)(nx, b, shift);
    KS_T(ks_difference)(nx, shift, x, b);
    const KS_MASK good = KS_T(ks_join_ordinary)(nx, e, v, J_packed, Y, X, shift, eta, J, eta + nx);
    if (!KS_ALL(good)) return good;
    KS_T(ks_copy)(nx, eta, v);
    KS_T(ks_pack)(nx, J, J_packed);
    return good;
}

/** Return whether round-off of the information J (packed), KS_EPS sqrt(J_ii J_jj) in each entry, could move the
 *  smoothed xs, Ps by more than 2^-33 standard deviations, or that share. x is the filtered mean. The same as
 *  ks_information_could_do(), for the state minus x. */
KS_HD int KS_T(ks_told_too_much)(int nx, const KS_NUM *x, const KS_NUM *J_packed, const KS_NUM *xs, const KS_NUM *Ps)
{
    const KS_NUM bound = KS_LIT(0x1p-33 / KS_EPS);
    KS_NUM told = KS_LIT(0), pull = KS_LIT(0);
    for (int i = 0; i < nx; ++i) {
        const KS_NUM own = J_packed[i * (i + 1) / 2 + i], moved = xs[i] - x[i];
        told = told + own * Ps[i * nx + i];
        pull = pull + own * (moved * moved);
    }
    return !KS_GT(bound, told) || !KS_GT(bound * bound, told * (KS_LIT(nx) * pull));
}
