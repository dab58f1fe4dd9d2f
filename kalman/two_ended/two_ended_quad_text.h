/* two_ended_quad_text.h -- the steps of two_ended_tiled_text.h for four states, one row in each register; see num_f64.h
 * and quad_step_text.h. For plain C on the CPU. */

/** The factors of R (m, m) of m = 0 .. 4 entries, a literal, in *o, and as the unit Lᵀ l and 1 / D. Rows of o->LT are
 *  four apart. */
KS_HD KS_MASK KS_T(ks_few_factors)(int m, const KS_NUM *H, const KS_NUM *R, KS_NUM l[4][4], KS_NUM inverse[4],
                                   KS_T(ks_ends_channels) *o)
{
    KS_NUM top[4], u[4][4];
    o->H = H;
    o->m = m;
#pragma GCC unroll 4
    for (int a = 0; a < m; ++a) top[a] = R[a * m + a];
    const KS_MASK good = KS_T(ks_pivots)(m, KS_R_PIVOT, R, m, top, u, l, inverse);
#pragma GCC unroll 4
    for (int a = 0; a < m; ++a) {
        o->pivot[a] = u[a][a];
        o->inverse_r[a] = inverse[a];
#pragma GCC unroll 4
        for (int c = a + 1; c < m; ++c) o->LT[4 * a + c] = l[a][c];
    }
    return good;
}

/** The same if only the factors in *o are needed. */
KS_HD_COLD KS_MASK KS_T(ks_few_factors_any)(int m, const KS_NUM *H, const KS_NUM *R, KS_T(ks_ends_channels) *o)
{
    KS_NUM l[4][4], inverse[4];
    switch (m) {
    case 0: return KS_T(ks_few_factors)(0, H, R, l, inverse, o);
    case 1: return KS_T(ks_few_factors)(1, H, R, l, inverse, o);
    case 2: return KS_T(ks_few_factors)(2, H, R, l, inverse, o);
    case 3: return KS_T(ks_few_factors)(3, H, R, l, inverse, o);
    default: return KS_T(ks_few_factors)(4, H, R, l, inverse, o);
    }
}

/** ks_tiled_whiten() of m = 0 .. 4 entries, a literal. Rows of R are m apart. */
KS_HD KS_MASK KS_T(ks_quad_whiten)(int m, const KS_NUM *H, const KS_NUM *R,
                                   KS_T(ks_ends_channels) *o)
{
    KS_NUM l[4][4], inverse[4];
    KS_T(ks_quad) N[4], Z[4];
    const KS_MASK good = KS_T(ks_few_factors)(m, H, R, l, inverse, o);
#pragma GCC unroll 4
    for (int a = 0; a < m; ++a) {
        N[a] = KS_LOAD4(H + 4 * a);
#pragma GCC unroll 4
        for (int c = 0; c < a; ++c) N[a] = N[a] - l[c][a] * N[c];
        Z[a] = N[a] * inverse[a];
        KS_STORE4(o->N + 4 * a, N[a]);
        KS_STORE4(o->Z + 4 * a, Z[a]);
    }
    KS_T(ks_quad) row[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        row[i] = (KS_T(ks_quad)){ 0 };
#pragma GCC unroll 4
        for (int a = 0; a < m; ++a) row[i] = row[i] + o->N[4 * a + i] * Z[a];
    }
    KS_MIRROR4(row);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) KS_STORE4(o->information + 4 * i, row[i]);
    return good;
}

/** S <- L⁻¹ S, also to w->S, and Z <- D⁻¹ S, also to A. l is the unit Lᵀ. */
KS_HD void KS_T(ks_quad_forward)(KS_NUM l[4][4], const KS_NUM inverse[4], const KS_T(ks_ends_blocks) *w,
                                 KS_T(ks_quad) S[4], KS_T(ks_quad) Z[4], KS_NUM *A)
{
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < i; ++j) S[i] = S[i] - l[j][i] * S[j];
        Z[i] = S[i] * inverse[i];
        KS_STORE4(w->S + 4 * i, S[i]);
        KS_STORE4(A + 4 * i, Z[i]);
    }
}

/** ks_tiled_retreat(). G is lower triangular. */
KS_HD KS_MASK KS_T(ks_quad_retreat)(const KS_T(ks_ends_blocks) *w, const KS_NUM *J, KS_NUM *Jn,
                                    KS_NUM *A)
{
    KS_T(ks_quad) f[4], g[4], X[4], E[4], S[4], Z[4], row[4]; /* Z is A */
    KS_NUM *K = w->E, top[4] = { 0 }, u[4][4], l[4][4], inverse[4];
    const KS_NUM *G = w->G, *F = w->F;
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        f[i] = KS_LOAD4(F + 4 * i);
        g[i] = KS_LOAD4(G + 4 * i);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) E[i] = KS_SUM4(J[4 * i], J[4 * i + 1], J[4 * i + 2], J[4 * i + 3], g);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        KS_T(ks_quad) sum = G[12 + i] * E[3];
#pragma GCC unroll 4
        for (int j = 2; j >= i; --j) sum = sum + G[4 * j + i] * E[j];
        KS_STORE4(K + 4 * i, sum);
        K[5 * i] = K[5 * i] + KS_LIT(1);
        good = good & KS_GT(KS_LIT(1 + KS_GROWTH), K[5 * i]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) X[i] = KS_SUM4(J[4 * i], J[4 * i + 1], J[4 * i + 2], J[4 * i + 3], f);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        S[i] = G[12 + i] * X[3];
#pragma GCC unroll 4
        for (int j = 2; j >= i; --j) S[i] = S[i] + G[4 * j + i] * X[j];
    }
    good = good & KS_T(ks_pivots)(4, 0, K, 4, top, u, l, inverse);
    KS_T(ks_quad_forward)(l, inverse, w, S, Z, A);
    const KS_NUM *s = w->S;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        const KS_T(ks_quad) whole = KS_SUM4(F[i], F[4 + i], F[8 + i], F[12 + i], X);
        w->shown[i] = whole[i];
        row[i] = whole - KS_SUM4(s[i], s[4 + i], s[8 + i], s[12 + i], Z);
    }
    KS_MIRROR4(row);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) KS_STORE4(Jn + 4 * i, row[i]);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
#pragma GCC unroll 4
        for (int j = i + 1; j < 4; ++j) w->LT[4 * i + j] = l[i][j];
        w->pivot[i] = u[i][i];
        w->inverse_d[i] = inverse[i];
    }
    return good;
}

/** ks_tiled_retreat_mean(). */
KS_HD void KS_T(ks_quad_retreat_mean)(const KS_T(ks_ends_blocks) *w, const KS_NUM *J,
                                      const KS_NUM *A, const KS_NUM *LT, const KS_NUM *inverse_d,
                                      KS_NUM *eta, KS_NUM *b)
{
    KS_T(ks_quad) f[4], g[4], a[4], rows[4];
    KS_NUM *t = w->t, *B = w->B, at[4];
    const KS_NUM *u = w->u;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        rows[i] = KS_LOAD4(J + 4 * i);
        f[i] = KS_LOAD4(w->F + 4 * i);
        g[i] = KS_LOAD4(w->G + 4 * i);
        a[i] = KS_LOAD4(A + 4 * i);
    }
    KS_STORE4(t, KS_LOAD4(eta) - KS_SUM4(u[0], u[1], u[2], u[3], rows));
    if (w->passage == KS_BY_ROOT) KS_STORE4(B, KS_SUM4(t[0], t[1], t[2], t[3], g));
    else B = t;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        at[i] = B[i];
#pragma GCC unroll 4
        for (int j = 0; j < i; ++j) at[i] = at[i] - LT[4 * j + i] * at[j];
        b[i] = at[i] * inverse_d[i];
    }
    const KS_T(ks_quad) less = KS_SUM4(at[0], at[1], at[2], at[3], a);
    if (w->passage == KS_BY_PRECISION) KS_STORE4(eta, -less);
    else KS_STORE4(eta, KS_SUM4(t[0], t[1], t[2], t[3], f) - less);
}

/** ks_tiled_advance_mean(). */
KS_HD void KS_T(ks_quad_advance_mean)(const KS_T(ks_ends_blocks) *w, const KS_NUM *V,
                                      const KS_NUM *A, const KS_NUM *b, KS_NUM *x)
{
    KS_T(ks_quad) ft[4], v[4], at[4];
    KS_NUM *eps = w->eps;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        at[i] = KS_LOAD4(A + 4 * i);
        ft[i] = KS_LOAD4(w->FT + 4 * i);
        v[i] = KS_LOAD4(V + 4 * i);
    }
    KS_TRANSPOSE4(at);
    KS_STORE4(eps, KS_LOAD4(b) - KS_SUM4(x[0], x[1], x[2], x[3], at));
    const KS_T(ks_quad) u = KS_LOAD4(w->u), t = u + KS_SUM4(x[0], x[1], x[2], x[3], ft);
    const KS_T(ks_quad) by = KS_SUM4(eps[0], eps[1], eps[2], eps[3], v);
    if (w->passage == KS_BY_PRECISION) {
        KS_STORE4(x, u + by);
        KS_STORE4(w->noise, (u + by) - t);
    } else {
        KS_STORE4(x, t + by);
        KS_STORE4(w->noise, by);
    }
}

/** ks_tiled_advance() from the packed factors of K. P and Pn may be the same. */
KS_HD KS_MASK KS_T(ks_quad_advance)(const KS_T(ks_ends_blocks) *w, const KS_NUM *A, const KS_NUM *K, const KS_NUM *P,
                                    KS_NUM *Pn, KS_NUM *lag)
{
    static const int row[4] = { 0, 4, 7, 9 }; /* where 1 / D and the rest of a row of Lᵀ begin */
    KS_T(ks_quad) phit[4], p[4], V[4], Z[4], full[4], sum = { 0 };
    KS_NUM *v = w->V, *phi = w->PhiT;
    const KS_NUM *GT = w->passage == KS_BY_ROOT ? w->GT : w->unit, *FT = w->passage == KS_BY_PRECISION ? w->zero : w->FT;
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        p[i] = KS_LOAD4(P + 4 * i);
        V[i] = KS_LOAD4(GT + 4 * i);
#pragma GCC unroll 4
        for (int j = 0; j < i; ++j) V[i] = V[i] - K[row[j] + i - j] * V[j];
        Z[i] = V[i] * K[row[i]];
        KS_STORE4(v + 4 * i, V[i]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        phit[i] = KS_LOAD4(FT + 4 * i) - KS_SUM4(A[i], A[4 + i], A[8 + i], A[12 + i], V);
        KS_STORE4(phi + 4 * i, phit[i]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        KS_STORE4(lag + 4 * i, KS_SUM4(phi[i], phi[4 + i], phi[8 + i], phi[12 + i], p));
        sum = sum + phit[i] * phit[i] * P[5 * i];
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        full[i] = KS_SUM4(v[i], v[4 + i], v[8 + i], v[12 + i], Z) +
                  KS_SUM4(lag[4 * i], lag[4 * i + 1], lag[4 * i + 2], lag[4 * i + 3], phit);
        const KS_MASK lost = KS_GT(sum[i], KS_LIT(KS_GROWTH) * full[i][i]);
        good = good & !lost;
    }
    KS_MIRROR4(full);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) KS_STORE4(Pn + 4 * i, full[i]);
    return good;
}
