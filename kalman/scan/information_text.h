/* information_text.h -- the information of later observations about a state: from step to step, and combined with the
 * filter's estimate; see element_text.h and num_f64.h.
 *
 * SF Alg. 7. The information behind step k is p(y[k+1..] | x[k]) = N_I(eta, J). From step to step it is kept about the
 * filter's mean x, as v = eta - J x. Then v is made of innovations and of differences between the filter and the
 * element of a step only, and these do not grow with the state. */

#include "information_ordinary_text.h"

/** Return the numbers of scratch of the functions below and of two_filter_range_text.h, beyond that of elements. */
KS_HD int64_t KS_T(ks_two_filter_scratch)(int nx)
{
    const int64_t n = nx;
    return ks_filter_element_size(nx) + 3 * n * n + 2 * n;
}

/** ks_meet_ordinary(), or the array form where that is not accurate enough. `root` says that Pf is a root. x and P must
 *  not overlap xf and Pf. W: 8 nx² + 7 nx numbers. */
KS_HD void KS_T(ks_meet)(int nx, const KS_NUM *xf, const KS_NUM *Pf, int root, const KS_NUM *v,
                         const KS_NUM *J_packed, KS_NUM *x, KS_NUM *P, KS_NUM *W)
{
    const int nn = nx * nx;
    KS_NUM *U = W, *J = U + nn, *V = J + nn, *z = V + nn, *rest = z + nx, *shift = rest + nx, *more = shift + nx;
    if (root)
        KS_T(ks_copy)(nn, Pf, U);
    else
        KS_T(ks_semidefinite_factor)(nx, Pf, U);
    if (KS_ALL(KS_T(ks_meet_ordinary)(nx, xf, U, v, J_packed, x, P, J))) return;
    if (root)
        KS_T(ks_copy)(nn, Pf, U);
    else
        (void)KS_T(ks_pivoted_factor)(nx, Pf, U, more);
    KS_T(ks_unpack)(nx, J_packed, J);
    KS_T(ks_copy)(nx, v, z);
    KS_T(ks_merge_array)(nx, U, J, P, V, z, rest, shift, more);
    for (int i = 0; i < nx; ++i) x[i] = xf[i] + shift[i];
}

/** v <- v - J x: information about a state becomes information about the state minus x. */
KS_HD void KS_T(ks_centre)(int nx, const KS_NUM *x, const KS_NUM *J_packed, KS_NUM *v)
{
    for (int i = 0; i < nx; ++i)
        for (int c = 0; c < nx; ++c)
            v[i] = v[i] - J_packed[i > c ? i * (i + 1) / 2 + c : c * (c + 1) / 2 + i] * x[c];
}

/** Smoothed x, P of a step from its filtered xf, Pf and the information eta, J (packed) of all later observations. W: 8
 *  nx² + 8 nx numbers. */
KS_HD void KS_T(ks_two_filter)(int nx, const KS_NUM *xf, const KS_NUM *Pf, const KS_NUM *eta,
                               const KS_NUM *J_packed, KS_NUM *x, KS_NUM *P, KS_NUM *W)
{
    KS_T(ks_copy)(nx, eta, W);
    KS_T(ks_centre)(nx, xf, J_packed, W);
    KS_T(ks_meet)(nx, xf, Pf, 0, W, J_packed, x, P, W + nx);
}

/** ks_pull_ordinary(), or the array form where that is not accurate enough. W: 12 nx² + 8 nx numbers. */
KS_HD void KS_T(ks_pull)(int nx, KS_NUM *e, const KS_NUM *x, KS_NUM *v, KS_NUM *J_packed, KS_NUM *W)
{
    const int nn = nx * nx;
    KS_NUM *Y = W, *X = Y + nn, *J = X + nn, *shift = J + nn, *eta = shift + nx;
    if (KS_ALL(KS_T(ks_pull_ordinary)(nx, e, x, v, J_packed, W))) return;
    KS_T(ks_join_array)(nx, e, v, J_packed, Y, X, shift, eta, J, eta + nx);
    KS_T(ks_copy)(nx, eta, v);
    KS_T(ks_pack)(nx, J, J_packed);
}
