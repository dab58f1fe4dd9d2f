/* two_ended_quad_text.h -- the steps of two_ended_text.h for four states, a row to a register; see
 * num_f64.h. For plain C on the CPU; the plain text is the reference that tests compare it with.
 *
 * Covariances and information are made from their upper triangles, which are mirrored. */

/** Whether steps of nx states, a literal, are these: a row of four fits a register. */
#define KS_QUAD(nx) (__builtin_constant_p(nx) && (nx) == 4 && 4 * sizeof(KS_NUM) <= KS_VECTOR_BYTES)

typedef KS_NUM KS_T(ks_row4) __attribute__((vector_size(4 * sizeof(KS_NUM))));
typedef KS_NUM KS_T(ks_row4_at) __attribute__((vector_size(4 * sizeof(KS_NUM)),
                                               aligned(sizeof(KS_NUM)), may_alias));
#define KS_LOAD4(p) ((KS_T(ks_row4)) * (const KS_T(ks_row4_at) *)(const void *)(p))
#define KS_STORE4(p, v) (*(KS_T(ks_row4_at) *)(void *)(p) = (KS_T(ks_row4_at))(v))
#define KS_MIX4(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
/** Entry (i, j) of a symmetric 4 x 4 of which the upper triangle counts. */
#define KS_UPPER4(A, i, j) (A)[(i) < (j) ? 4 * (i) + (j) : 4 * (j) + (i)]
/** a0 B[0] + .. + a3 B[3], in two chains. */
#define KS_SUM4(a0, a1, a2, a3, B)                                                          \
    (((a0) * B[0] + (a1) * B[1]) + ((a2) * B[2] + (a3) * B[3]))
#define KS_SUM4_OF(a, B) KS_SUM4((a)[0], (a)[1], (a)[2], (a)[3], B)

KS_HD void KS_T(ks_load_rows)(const KS_NUM *A, KS_T(ks_row4) rows[4])
{
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) rows[i] = KS_LOAD4(A + 4 * i);
}

/** t <- the transpose of a. */
KS_HD void KS_T(ks_turn_rows)(const KS_T(ks_row4) a[4], KS_T(ks_row4) t[4])
{
    const KS_T(ks_row4) p = KS_MIX4(a[0], a[1], 0, 4, 2, 6), q = KS_MIX4(a[0], a[1], 1, 5, 3, 7);
    const KS_T(ks_row4) r = KS_MIX4(a[2], a[3], 0, 4, 2, 6), s = KS_MIX4(a[2], a[3], 1, 5, 3, 7);
    t[0] = KS_MIX4(p, r, 0, 1, 4, 5);
    t[1] = KS_MIX4(q, s, 0, 1, 4, 5);
    t[2] = KS_MIX4(p, r, 2, 3, 6, 7);
    t[3] = KS_MIX4(q, s, 2, 3, 6, 7);
}

/** The strict lower triangle of rows <- their upper. */
KS_HD void KS_T(ks_mirror_rows)(KS_T(ks_row4) a[4])
{
    KS_T(ks_row4) t[4];
    KS_T(ks_turn_rows)(a, t);
    a[1] = KS_MIX4(a[1], t[1], 4, 1, 2, 3);
    a[2] = KS_MIX4(a[2], t[2], 4, 5, 2, 3);
    a[3] = KS_MIX4(a[3], t[3], 4, 5, 6, 3);
}

/** The pivots of the symmetric S (4, 4), upper triangle: l the unit Lᵀ, d = D and inverse = 1 / D. */
KS_HD void KS_T(ks_quad_ldl)(const KS_NUM *S, KS_NUM l[4][4], KS_NUM d[4], KS_NUM inverse[4])
{
    KS_NUM u[4][4];
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
#pragma GCC unroll 4
        for (int c = r; c < 4; ++c) {
            KS_NUM x = S[4 * r + c];
#pragma GCC unroll 4
            for (int j = 0; j < r; ++j) x = x - l[j][r] * u[j][c];
            u[r][c] = x;
        }
        d[r] = u[r][r];
        inverse[r] = KS_LIT(1) / d[r];
#pragma GCC unroll 4
        for (int c = r + 1; c < 4; ++c) l[r][c] = u[r][c] * inverse[r];
    }
}

/** GT = Gᵀ and G with G Gᵀ = Q, ks_semidefinite_factor() by rows. */
KS_HD void KS_T(ks_quad_root)(const KS_NUM *Q, KS_NUM *G, KS_NUM *GT)
{
    KS_NUM u[4][4], l[4][4] = { { 0 } }, d[4];
    KS_T(ks_row4) rows[4], turned[4];
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
#pragma GCC unroll 4
        for (int c = r; c < 4; ++c) {
            KS_NUM x = Q[4 * c + r];
#pragma GCC unroll 4
            for (int j = 0; j < r; ++j) x = x - l[j][r] * u[j][c];
            u[r][c] = x;
        }
        const KS_MASK positive = KS_GT(u[r][r], KS_LIT(8 * KS_EPS) * Q[5 * r]) &
                                 KS_GT(u[r][r], KS_LIT(0));
        const KS_NUM inverse = KS_LIT(1) / KS_SELECT(positive, u[r][r], KS_LIT(1));
        d[r] = KS_SELECT(positive, u[r][r], KS_LIT(0));
        l[r][r] = KS_LIT(1);
#pragma GCC unroll 4
        for (int c = r + 1; c < 4; ++c) l[r][c] = KS_SELECT(positive, u[r][c] * inverse, KS_LIT(0));
    }
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
        const KS_T(ks_row4) row = { l[r][0], l[r][1], l[r][2], l[r][3] };
        rows[r] = row * KS_SQRT(d[r]);
        KS_STORE4(GT + 4 * r, rows[r]);
    }
    KS_T(ks_turn_rows)(rows, turned);
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) KS_STORE4(G + 4 * r, turned[r]);
}

/** ks_inform() and ks_retreat(): J (upper triangle) and eta in place, before and after; shown (4) and
 *  the information with the observation, seen (4), on the diagonal; packed the factors of K with
 *  1 / D on the diagonal, d (4) = D. N, inverse_r and v are those of m = 0 .. 3 entries, a literal or
 *  not. W holds 48 numbers. */
KS_HD KS_MASK KS_T(ks_quad_retreat)(int m, const KS_NUM *N, const KS_NUM *inverse_r,
                                    const KS_NUM *v, const KS_NUM *F, const KS_NUM *G,
                                    const KS_NUM *GT, const KS_NUM *u, KS_NUM *J, KS_NUM *eta,
                                    KS_NUM *A, KS_NUM *b, KS_NUM *packed, KS_NUM *d, KS_NUM *seen,
                                    KS_NUM *shown, KS_NUM *W)
{
    KS_T(ks_row4) f[4], g[4], X[4], E[4], S[4], Z[4], t = KS_LOAD4(eta), row[4];
    KS_NUM l[4][4], inverse[4], *K = W, *T = W + 16, *B = W + 32;
    KS_T(ks_load_rows)(J, row);
    for (int a = 0; a < m; ++a) {
        const KS_T(ks_row4) z = KS_LOAD4(N + 4 * a) * inverse_r[a];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) row[i] = row[i] + N[4 * a + i] * z;
        t = t + v[a] * z;
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) KS_STORE4(J + 4 * i, row[i]);
    KS_T(ks_load_rows)(F, f);
    KS_T(ks_load_rows)(G, g);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        seen[i] = J[5 * i];
        E[i] = KS_SUM4(KS_UPPER4(J, i, 0), KS_UPPER4(J, i, 1), KS_UPPER4(J, i, 2),
                       KS_UPPER4(J, i, 3), g);
        X[i] = KS_SUM4(KS_UPPER4(J, i, 0), KS_UPPER4(J, i, 1), KS_UPPER4(J, i, 2),
                       KS_UPPER4(J, i, 3), f);
        t = t - u[i] * row[i];
    }
    KS_STORE4(T, t);
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        KS_STORE4(K + 4 * i, KS_SUM4_OF(GT + 4 * i, E));
        K[5 * i] = K[5 * i] + KS_LIT(1);
        good = good & KS_GT(KS_LIT(1 + KS_GROWTH), K[5 * i]);
        S[i] = KS_SUM4_OF(GT + 4 * i, X);
    }
    KS_STORE4(B, KS_SUM4_OF(T, g));
    KS_T(ks_quad_ldl)(K, l, d, inverse);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        good = good & KS_GT(d[i], KS_LIT(0));
#pragma GCC unroll 4
        for (int j = 0; j < i; ++j) {
            S[i] = S[i] - l[j][i] * S[j];
            B[i] = B[i] - l[j][i] * B[j];
        }
        Z[i] = S[i] * inverse[i];
    }
    t = KS_SUM4_OF(T, f);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        t = t - B[i] * Z[i];
        KS_STORE4(W + 4 * i, S[i]); /* K is done with */
    }
    KS_STORE4(eta, t);
    KS_NUM at[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        const KS_T(ks_row4) whole = KS_SUM4(F[i], F[4 + i], F[8 + i], F[12 + i], X);
        shown[i] = whole[i];
        row[i] = whole - KS_SUM4(W[i], W[4 + i], W[8 + i], W[12 + i], Z);
        at[i] = B[i] * inverse[i];
    }
    KS_T(ks_mirror_rows)(row);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) KS_STORE4(J + 4 * i, row[i]);
#pragma GCC unroll 4
    for (int i = 3; i >= 0; --i) {
#pragma GCC unroll 4
        for (int j = 3; j > i; --j) {
            Z[i] = Z[i] - l[i][j] * Z[j];
            at[i] = at[i] - l[i][j] * at[j];
        }
        KS_STORE4(A + 4 * i, Z[i]);
        b[i] = at[i];
#pragma GCC unroll 4
        for (int j = 0; j < i; ++j) packed[i * (i + 1) / 2 + j] = l[j][i];
        packed[i * (i + 1) / 2 + i] = inverse[i];
    }
    return good;
}

/** ks_advance_mean(), ks_advance_gain() and ks_advance_cov(): x and P (whole) in place, eps and lag.
 *  Where it returns false only eps, lag and W have changed. W holds 32 numbers. */
KS_HD KS_MASK KS_T(ks_quad_advance)(const KS_NUM *F, const KS_NUM *GT, const KS_NUM *u,
                                    const KS_NUM *A, const KS_NUM *b, const KS_NUM *packed,
                                    KS_NUM *x, KS_NUM *P, KS_NUM *lag, KS_NUM *eps, KS_NUM *W)
{
    KS_T(ks_row4) f[4], a[4], p[4], gt[4], V[4], Z[4], turned[4], full[4], sum = { 0 };
    KS_T(ks_load_rows)(F, f);
    KS_T(ks_load_rows)(A, a);
    KS_T(ks_load_rows)(P, p);
    KS_T(ks_load_rows)(GT, gt);
    KS_T(ks_turn_rows)(a, turned);
    KS_STORE4(eps, KS_LOAD4(b) - KS_SUM4_OF(x, turned));
    KS_T(ks_turn_rows)(f, turned);
    const KS_T(ks_row4) mean = (KS_LOAD4(u) + KS_SUM4_OF(x, turned)) + KS_SUM4_OF(eps, gt);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        f[i] = f[i] - KS_SUM4(GT[i], GT[4 + i], GT[8 + i], GT[12 + i], a);
        KS_STORE4(W + 4 * i, f[i]);
        V[i] = gt[i];
#pragma GCC unroll 4
        for (int j = 0; j < i; ++j) V[i] = V[i] - packed[i * (i + 1) / 2 + j] * V[j];
        Z[i] = V[i] * packed[i * (i + 1) / 2 + i];
        KS_STORE4(W + 16 + 4 * i, V[i]);
    }
    KS_T(ks_turn_rows)(f, turned);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        KS_STORE4(lag + 4 * i, KS_SUM4_OF(W + 4 * i, p));
        sum = sum + turned[i] * turned[i] * P[5 * i];
    }
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        full[i] = KS_SUM4_OF(lag + 4 * i, turned) +
                  KS_SUM4(W[16 + i], W[20 + i], W[24 + i], W[28 + i], Z);
        const KS_MASK lost = KS_GT(sum[i], KS_LIT(KS_GROWTH) * full[i][i]);
        good = good & !lost;
    }
    if (!KS_ALL(good)) return good;
    KS_T(ks_mirror_rows)(full);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) KS_STORE4(P + 4 * i, full[i]);
    KS_STORE4(x, mean);
    return good;
}
