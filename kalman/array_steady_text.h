/* array_steady_text.h -- the steady state of a constant model in the array form; see num_f64.h. steady_text.h is its
 * counterpart for the ordinary form. For scalar numbers.
 *
 * If a step changes every row of the root by no more than round-off of the predicted root's row, the root may be held.
 * It is, if the closed loop, applied to such a change for ever, does no harm. With D the change in standard deviations
 * of the prediction, B the closed loop in the same units and f the Frobenius norm of D:
 *
 *     D + B D Bᵀ + B² D B²ᵀ + ... <= f (I + B Bᵀ + B² B²ᵀ + ...)
 *
 * This is checked every KS_LOOK steps. A root is held as long as steps from it change it by no more. The decision
 * depends only on the step, its root and whether that root is held. */

/** sd (nx) <- the standard deviations of a root S. */
KS_HD void KS_T(ks_deviations_of_root)(int nx, const KS_NUM *S, KS_NUM *sd)
{
    for (int i = 0; i < nx; ++i) sd[i] = KS_SQRT(KS_T(ks_sum_of_squares)(nx, S + i * nx));
}

/** A bound of f above for a step from the root `from` to the root `to`, in units of sd (nx); -1 if an entry has changed
 *  by more than round-off. */
KS_HD double KS_T(ks_root_moved)(int nx, const KS_NUM *from, const KS_NUM *to, const KS_NUM *sd)
{
    const double most = KS_STEADY_MOVES * KS_EPS * KS_STEADY_MOVES * KS_EPS;
    double moved = 0, all = 0;
    for (int i = 0; i < nx; ++i)
        for (int c = 0; c < nx; ++c) {
            const double change = (double)(to[i * nx + c] - from[i * nx + c]);
            if (!(change == 0)) {
                const double share = change / (double)sd[i] * (change / (double)sd[i]);
                if (!(share <= most)) return -1;
                moved += share;
            }
            if (KS_GT(sd[i], KS_LIT(0))) {
                const double part = (double)(to[i * nx + c] / sd[i]);
                all += part * part;
            }
        }
    return 2 * sqrt(moved * all);
}

/** Whether a root S may be held that a step changes by `moved`. Sums the powers of the closed loop B. B is in units in
 *  which the states are L (nx, nx) times the numbers. B and W, 2 nx² + nx numbers, are scratch. */
KS_HD_COLD int KS_T(ks_root_holds)(int nx, double moved, const KS_NUM *L, const KS_NUM *S, KS_NUM *B, KS_NUM *W)
{
    KS_NUM *X = W, *T = X + nx * nx, *old = T + nx * nx;
    KS_T(ks_identity)(nx, X);
    for (int t = 0; t < KS_STEADY_DOUBLINGS; ++t) {
        int grows = 0;
        for (int i = 0; i < nx; ++i) old[i] = X[i * nx + i];
        KS_T(ks_mm)(nx, nx, nx, B, X, T);
        for (int i = 0; i < nx; ++i)
            for (int j = 0; j <= i; ++j) {
                KS_NUM sum = X[i * nx + j];
                for (int c = 0; c < nx; ++c) sum = sum + T[i * nx + c] * B[j * nx + c];
                X[i * nx + j] = sum;
            }
        KS_T(ks_mirror)(nx, X);
        KS_T(ks_mm)(nx, nx, nx, L, X, T);
        for (int i = 0; i < nx; ++i) {
            const double variance = (double)KS_T(ks_sum_of_squares)(nx, S + i * nx);
            double off = 0;
            for (int c = 0; c < nx; ++c) off += (double)(T[i * nx + c] * L[i * nx + c]);
            /* A quarter more for the terms left out of the sum. States that are known exactly do not change. */
            if (variance > 0 && !(1.25 * moved * off <= KS_STEADY_MOST * variance)) return 0;
            grows |= KS_GT(X[i * nx + i], KS_LIT(1.125) * old[i]);
        }
        if (!grows) return 1;
        KS_T(ks_mm)(nx, nx, nx, B, B, T);
        KS_T(ks_copy)(nx * nx, T, B);
    }
    return 0;
}

/** Replace the root S after step k, which observes all entries, by the root before it, `from`, if that is held.
 *  G = Pp Hᵀ Se⁻ᵀ. W: 4 nx² + m nx + 2 nx numbers. */
KS_HD void KS_T(ks_hold_root)(int nx, const ks_series *s, int64_t k, const KS_NUM *from, const KS_NUM *G, const KS_NUM *Se,
                              const KS_NUM *Sp, KS_NUM *S, ks_steady *steady, KS_NUM *W)
{
    KS_NUM *sd = W, *L = sd + nx, *B = L + nx * nx, *work = B + nx * nx;
    if (steady->stage != KS_STEADY_HELD && k % KS_LOOK != KS_LOOK - 1) return;
    KS_T(ks_deviations_of_root)(nx, Sp, sd);
    const double moved = KS_T(ks_root_moved)(nx, from, S, sd);
    if (moved >= 0 && steady->stage != KS_STEADY_HELD) {
        KS_T(ks_closed_loop)(nx, s->ny, (const KS_NUM *)ks_row(s->F, k - s->shift), (const KS_NUM *)ks_row(s->H, k), G, Se,
                             sd, B, work);
        KS_T(ks_zero)(nx * nx, L);
        for (int i = 0; i < nx; ++i) L[i * nx + i] = sd[i];
        steady->stage = KS_T(ks_root_holds)(nx, moved, L, from, B, work) ? KS_STEADY_HELD : KS_STEADY_UNKNOWN;
    } else if (moved < 0) {
        steady->stage = KS_STEADY_UNKNOWN;
    }
    if (steady->stage == KS_STEADY_HELD) KS_T(ks_copy)(nx * nx, from, S);
}
