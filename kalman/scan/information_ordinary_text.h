/* information_ordinary_text.h -- the steps of the information of later observations in the ordinary form; see
 * information_text.h, which goes on where this form will not do, and element_ordinary_text.h. */

/** Smoothed x, P of a step from its filtered xf and a root U of its covariance, which is scratch afterwards, and the
 *  information v, J (packed) of all later observations about what the state is more than xf, eq. 25-26. Returns true
 *  where that will do, as ks_merge_root() has it. W: 3 nx² + nx numbers. */
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

/** Information v, J (packed) behind step k about what x[k] is more than the filtered x becomes that behind step k - 1
 *  about what x[k-1] is more than its filtered mean. e is the element of step k with F times that mean, plus u, in the
 *  place of u; afterwards x is taken from its mean. Returns true where that will do, as ks_merge_root() has it; v and J
 *  are as they were where it will not. W: 7 nx² + 3 nx numbers. */
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

/** Whether round-off of the information J (packed), of a share KS_EPS sqrt(J_ii J_jj) of each entry, could move the
 *  smoothed xs, Ps of a step to which it has led from the filtered x by more than 2^-33 standard deviations or so
 *  large a share: ks_information_could_do(), of what the state is more than x. */
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
