/* quad_step_text.h -- one filter or smoother step of four states in the ordinary form, one row in each register; see
 * num_f64.h and tiled_step_text.h. For plain C on the CPU.
 *
 * Rows are four numbers apart, whatever the length of a vector. At most four entries are observed. Of the covariance
 * carried from step to step only the upper triangle is valid, so that the next step need not wait for the mirrored one,
 * which goes to the caller. */

/** Whether a row of four numbers fits a register. */
#define KS_QUADS (4 * sizeof(KS_NUM) <= KS_VECTOR_BYTES)
/** Entry (i, j) of a symmetric 4 x 4 matrix whose upper triangle is valid. */
#define KS_UPPER4(A, i, j) (A)[(i) < (j) ? 4 * (i) + (j) : 4 * (j) + (i)]

KS_HD KS_NUM KS_T(ks_quad_dot)(const KS_T(ks_quad) *a, const KS_T(ks_quad) *b)
{
    const KS_T(ks_quad) p = *a * *b;
    return (p[0] + p[2]) + (p[1] + p[3]);
}

/** a0 B[0] + .. + a3 B[3], as two independent sums. */
#define KS_SUM4(a0, a1, a2, a3, B)                                                          \
    (((a0) * B[0] + (a1) * B[1]) + ((a2) * B[2] + (a3) * B[3]))

/** Prediction and innovation of the mean: xp = F x + u to w->xp, v = y - d - H xp to w->v. */
KS_HD void KS_T(ks_quad_predict_mean)(int m, const KS_T(ks_blocks) *b, const KS_NUM *x,
                                      const KS_T(ks_tiled) *w)
{
    KS_T(ks_quad) FT[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) FT[i] = KS_LOAD4(b->FT + 4 * i);
    const KS_T(ks_quad) xp =
        (KS_LOAD4(b->u) + x[0] * FT[0] + x[1] * FT[1]) + (x[2] * FT[2] + x[3] * FT[3]);
    KS_STORE4(w->xp, xp);
#pragma GCC unroll 4
    for (int a = 0; a < m; ++a) {
        const KS_T(ks_quad) h = KS_LOAD4(b->H + 4 * a);
        w->v[a] = (b->y[a] - b->d[a]) - KS_T(ks_quad_dot)(&h, &xp);
    }
}

/** v <- L⁻¹ v, x = xp + Zᵀ v, with LT (m, 4) and Z of this step. */
KS_HD void KS_T(ks_quad_posterior_mean)(int m, const KS_NUM *LT, const KS_NUM *Z,
                                        const KS_T(ks_tiled) *w, KS_NUM *x)
{
    KS_NUM v[4] = { 0 };
    KS_T(ks_quad) sum = KS_LOAD4(w->xp);
#pragma GCC unroll 4
    for (int a = 0; a < m; ++a) {
        v[a] = w->v[a];
#pragma GCC unroll 4
        for (int c = 0; c < a; ++c) v[a] = KS_T(ks_less)(v[a], LT[4 * c + a], v[c]);
        w->v[a] = v[a];
        sum = sum + v[a] * KS_LOAD4(Z + 4 * a);
    }
    KS_STORE4(x, sum);
}

/** One filter step with m = 0 .. 4 entries, a literal. x and P (upper triangle) <- the posterior; its full covariance
 *  goes to `out`. w receives what ks_tiled_innovation() leaves there, except S. Returns false if the ordinary form is
 *  not good enough; x and P are unchanged then. */
KS_HD KS_MASK KS_T(ks_quad_filter)(int m, const KS_T(ks_blocks) *b, KS_NUM *x, KS_NUM *P,
                                   KS_NUM *out, const KS_T(ks_tiled) *w)
{
    KS_T(ks_quad) FT[4], W[4], B[4], G[4], h[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) FT[i] = KS_LOAD4(b->FT + 4 * i);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
        W[i] = KS_SUM4(KS_UPPER4(P, i, 0), KS_UPPER4(P, i, 1), KS_UPPER4(P, i, 2),
                       KS_UPPER4(P, i, 3), FT);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        const KS_NUM *f = b->F + 4 * i;
        B[i] = KS_LOAD4(b->Q + 4 * i) + f[0] * W[0] + f[1] * W[1] + (f[2] * W[2] + f[3] * W[3]);
        KS_STORE4(w->Pp + 4 * i, B[i]);
    }
    KS_T(ks_quad_predict_mean)(m, b, x, w);
    /* G goes to memory so that loads broadcast its numbers while the reciprocals are computed. */
    KS_NUM *g = w->G;
    KS_NUM S[16] = { 0 }, top[4], u[4][4], l[4][4], inverse[4];
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
#pragma GCC unroll 4
    for (int a = 0; a < m; ++a) {
        h[a] = KS_LOAD4(b->H + 4 * a);
        G[a] = KS_SUM4(b->H[4 * a], b->H[4 * a + 1], b->H[4 * a + 2], b->H[4 * a + 3], B);
    }
#pragma GCC unroll 4
    for (int a = 0; a < m; ++a) {
#pragma GCC unroll 4
        for (int c = a; c < m; ++c)
            S[4 * a + c] = b->R[a * b->ldr + c] + KS_T(ks_quad_dot)(&G[a], &h[c]);
        top[a] = S[5 * a];
        good = good & KS_GT(b->limit[a], S[5 * a]);
    }
    good = good & KS_T(ks_pivots)(m, 1 / KS_GROWTH, S, 4, top, u, l, inverse);
    if (!KS_ALL(good)) return good;
#pragma GCC unroll 4
    for (int a = 0; a < m; ++a) {
#pragma GCC unroll 4
        for (int c = 0; c < a; ++c) G[a] = G[a] - l[c][a] * G[c];
        KS_STORE4(g + 4 * a, G[a]);
        KS_STORE4(w->Z + 4 * a, G[a] * inverse[a]);
        w->pivot[a] = u[a][a];
        w->inverse_d[a] = inverse[a];
#pragma GCC unroll 4
        for (int c = a + 1; c < m; ++c) w->LT[4 * a + c] = l[a][c];
    }
    KS_T(ks_quad_posterior_mean)(m, w->LT, w->Z, w, x);
#pragma GCC unroll 4
    for (int a = 0; a < m; ++a)
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) B[i] = B[i] - g[4 * a + i] * (G[a] * inverse[a]);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) KS_STORE4(P + 4 * i, B[i]);
    KS_MIRROR4(B);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) KS_STORE4(out + 4 * i, B[i]);
    return good;
}

/** xp = F x + u. */
KS_HD void KS_T(ks_quad_predicted)(const KS_T(ks_blocks) *b, const KS_NUM *x, KS_NUM *xp)
{
    KS_T(ks_quad) FT[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) FT[i] = KS_LOAD4(b->FT + 4 * i);
    KS_STORE4(xp, KS_LOAD4(b->u) + KS_SUM4(x[0], x[1], x[2], x[3], FT));
}

/** xs <- x + E (xs - xp). */
KS_HD void KS_T(ks_quad_correct_mean)(const KS_NUM *x, const KS_NUM *xp, const KS_NUM *ET, KS_NUM *xs,
                                      const KS_T(ks_tiled) *w)
{
    KS_T(ks_quad) E[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) E[i] = KS_LOAD4(ET + 4 * i);
    KS_STORE4(w->v, KS_LOAD4(xs) - KS_LOAD4(xp));
    KS_STORE4(xs, KS_LOAD4(x) + KS_SUM4(w->v[0], w->v[1], w->v[2], w->v[3], E));
}

/** xs <- x + E (xs - F x - u). */
KS_HD void KS_T(ks_quad_smooth_mean)(const KS_T(ks_blocks) *b, const KS_NUM *x, const KS_NUM *ET,
                                     KS_NUM *xs, const KS_T(ks_tiled) *w)
{
    KS_NUM xp[4];
    KS_T(ks_quad_predicted)(b, x, xp);
    KS_T(ks_quad_correct_mean)(x, xp, ET, xs, w);
}

/** The first part of a smoothing gain: ET <- F P, the upper triangle of Pp, and xp, from filtered x and the full P. */
KS_HD void KS_T(ks_quad_gain)(const KS_T(ks_blocks) *b, const KS_NUM *x, const KS_NUM *P, KS_NUM *ET, KS_NUM *Pp,
                              KS_NUM *xp)
{
    KS_T(ks_quad) FT[4], W[4], rows[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        FT[i] = KS_LOAD4(b->FT + 4 * i);
        rows[i] = KS_LOAD4(P + 4 * i);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
        W[i] = KS_SUM4(P[4 * i], P[4 * i + 1], P[4 * i + 2], P[4 * i + 3], FT);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        const KS_NUM *f = b->F + 4 * i;
        KS_STORE4(Pp + 4 * i, KS_LOAD4(b->Q + 4 * i) + f[0] * W[0] + f[1] * W[1] + (f[2] * W[2] + f[3] * W[3]));
        KS_STORE4(ET + 4 * i, KS_SUM4(f[0], f[1], f[2], f[3], rows));
    }
    KS_T(ks_quad_predicted)(b, x, xp);
}

/** ET <- Pp⁻¹ ET, the gain. LT and inverse: unit Lᵀ and 1 / D of Pp, numbers four apart. */
KS_HD void KS_T(ks_quad_gain_solve)(const KS_NUM *LT, const KS_NUM *inverse, KS_NUM *ET)
{
    KS_T(ks_quad) E[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        E[i] = KS_LOAD4(ET + 4 * i);
#pragma GCC unroll 4
        for (int j = 0; j < i; ++j) E[i] = E[i] - LT[4 * (8 * j + i)] * E[j];
    }
#pragma GCC unroll 4
    for (int i = 3; i >= 0; --i) {
        E[i] = E[i] * inverse[4 * i];
#pragma GCC unroll 4
        for (int j = 3; j > i; --j) E[i] = E[i] - LT[4 * (8 * i + j)] * E[j];
        KS_STORE4(ET + 4 * i, E[i]);
    }
}

/** The rest of a smoother step: from filtered x and full P of step k, its gain, and smoothed xs, Ps (upper triangle) of
 *  step k + 1 to those of step k, in place. The full Pn goes to `out`, which may be P. Returns false if the ordinary
 *  form is not good enough; only w has changed then. */
KS_HD KS_MASK KS_T(ks_quad_smooth)(const KS_NUM *x, const KS_NUM *P, const KS_NUM *ET, const KS_NUM *Pp,
                                   const KS_NUM *xp, KS_NUM *xs, KS_NUM *Ps, KS_NUM *out, const KS_T(ks_tiled) *w)
{
    KS_T(ks_quad) W[4], B[4], E[4];
    KS_NUM *D = w->W;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        KS_STORE4(D + 4 * i, KS_LOAD4(Ps + 4 * i) - KS_LOAD4(Pp + 4 * i));
        E[i] = KS_LOAD4(ET + 4 * i);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
        W[i] = KS_SUM4(KS_UPPER4(D, i, 0), KS_UPPER4(D, i, 1), KS_UPPER4(D, i, 2),
                       KS_UPPER4(D, i, 3), E);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
        B[i] = KS_LOAD4(P + 4 * i) + ET[i] * W[0] + ET[4 + i] * W[1] + (ET[8 + i] * W[2] + ET[12 + i] * W[3]);
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) good = good & KS_GT(KS_LIT(KS_GROWTH) * B[i][i], P[5 * i]);
    if (!KS_ALL(good)) return good;
    KS_T(ks_quad_correct_mean)(x, xp, ET, xs, w);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) KS_STORE4(Ps + 4 * i, B[i]);
    KS_MIRROR4(B);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) KS_STORE4(out + 4 * i, B[i]);
    return good;
}

/** Whether no pivot of the covariance P (upper triangle) is lost in round-off. */
KS_HD KS_MASK KS_T(ks_quad_conditioned)(const KS_NUM *P)
{
    KS_NUM top[4] = { P[0], P[5], P[10], P[15] }, u[4][4], l[4][4], inverse[4];
    return KS_T(ks_pivots)(4, 1 / KS_GROWTH, P, 4, top, u, l, inverse);
}
