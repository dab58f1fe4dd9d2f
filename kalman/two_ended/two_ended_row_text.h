/* two_ended_row_text.h -- the steps of two_ended_tiled_text.h for five to eight states, a literal; see num_f64.h and
 * row_step_text.h. Rows are eight numbers apart. For plain C on the CPU. */
#include "literal.h"

/** As ks_pivots(), for nx = 5 .. 8 rows, a literal, of the upper triangle of S, rows eight apart. l is the unit Lᵀ,
 *  pivot is D. */
KS_HD KS_MASK KS_T(ks_row_pivots)(int nx, double ratio, const KS_NUM *S, KS_NUM l[8][8],
                                  KS_NUM inverse[8], KS_NUM pivot[8])
{
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
    KS_NUM u[8][8];
#pragma GCC unroll 8
    for (int r = 0; r < nx; ++r) {
#pragma GCC unroll 8
        for (int c = r; c < nx; ++c) {
            KS_NUM x = S[8 * r + c];
#pragma GCC unroll 8
            for (int j = 0; j + 1 < r; ++j) x = x - l[j][r] * u[j][c];
            if (r > 0 && !(c == r && KS_PAIRS_WITH(r))) x = x - l[r - 1][r] * u[r - 1][c];
            u[r][c] = x;
        }
        if (KS_PAIRS_WITH(r))
            good = good & KS_T(ks_second_pivot)(u[r - 1][r - 1], u[r - 1][r], inverse[r - 1], &u[r][r], &inverse[r]);
        else
            inverse[r] = KS_LIT(1) / u[r][r];
        good = good & KS_GT(u[r][r], KS_LIT(ratio) * S[9 * r]) & KS_GT(u[r][r], KS_LIT(0));
        pivot[r] = u[r][r];
#pragma GCC unroll 8
        for (int c = r + 1; c < nx; ++c) l[r][c] = u[r][c] * inverse[r];
    }
    return good;
}

/** Copy the unit Lᵀ and 1 / D of a step to memory and back. Rows of LT are eight apart. */
KS_HD void KS_T(ks_row_load_factors)(int nx, const KS_NUM *LT, const KS_NUM *inverse_d,
                                     KS_NUM l[8][8], KS_NUM inverse[8])
{
#pragma GCC unroll 8
    for (int i = 0; i < nx; ++i) {
        inverse[i] = inverse_d[i];
#pragma GCC unroll 8
        for (int j = i + 1; j < nx; ++j) l[i][j] = LT[8 * i + j];
    }
}

/** B (nx, 8) <- L⁻¹ from, Z <- D⁻¹ B. l is the unit Lᵀ. B may be `from`. */
KS_HD void KS_T(ks_row_forward)(int nx, KS_NUM l[8][8], const KS_NUM inverse[8], const KS_NUM *from,
                                KS_NUM *B, KS_NUM *Z)
{
#pragma GCC unroll 2
    for (int v = 0; v < KS_ROW_VECTORS(8) * KS_LANES; v += KS_LANES) {
        KS_T(ks_lanes) row[8];
#pragma GCC unroll 8
        for (int i = 0; i < nx; ++i) {
            row[i] = KS_LOADV(from + 8 * i + v);
#pragma GCC unroll 8
            for (int j = 0; j < i; ++j) row[i] = row[i] - l[j][i] * row[j];
            KS_STOREV(B + 8 * i + v, row[i]);
            KS_STOREV(Z + 8 * i + v, row[i] * inverse[i]);
        }
    }
}

/** ks_tiled_whiten() of m = 0 .. 4 entries, a literal. Rows of LT are four apart. */
KS_HD KS_MASK KS_T(ks_row_whiten)(int nx, int m, const KS_NUM *H, const KS_NUM *R,
                                  KS_T(ks_ends_channels) *o)
{
    KS_NUM l[4][4], inverse[4];
    const KS_MASK good = KS_T(ks_few_factors)(m, H, R, l, inverse, o);
    KS_T(ks_rows_pad)(m, nx, H, o->N);
#pragma GCC unroll 2
    for (int v = 0; v < KS_ROW_VECTORS(8) * KS_LANES; v += KS_LANES) {
        KS_T(ks_lanes) N[4];
#pragma GCC unroll 4
        for (int a = 0; a < m; ++a) {
            N[a] = KS_LOADV(o->N + 8 * a + v);
#pragma GCC unroll 4
            for (int c = 0; c < a; ++c) N[a] = N[a] - l[c][a] * N[c];
            KS_STOREV(o->N + 8 * a + v, N[a]);
            KS_STOREV(o->Z + 8 * a + v, N[a] * inverse[a]);
        }
    }
    if (m > 0) {
        KS_T(ks_row_product)(8, 1, 0, nx, m, o->N, 1, 8, o->Z, o->information, o->information);
        KS_T(ks_mirror_upper)(nx, 1, o->information, 8);
    }
    return good;
}

/** ks_tiled_retreat(). */
KS_HD KS_MASK KS_T(ks_row_retreat)(int nx, const KS_T(ks_ends_blocks) *w, const KS_NUM *J, KS_NUM *Jn,
                                   KS_NUM *A)
{
    KS_NUM *K = Jn, l[8][8], inverse[8], pivot[8];
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
    KS_T(ks_row_product_of)(8, 0, 0, nx, nx, KS_T(KS_RIGHT_LOWER), J, 8, 1, w->G, w->E, w->E);
    KS_T(ks_row_product_of)(8, 1, 0, nx, nx, KS_T(KS_LEFT_UPPER), w->G, 1, 8, w->E, K, K);
#pragma GCC unroll 8
    for (int i = 0; i < nx; ++i) {
        K[9 * i] = K[9 * i] + KS_LIT(1);
        good = good & KS_GT(KS_LIT(1 + KS_GROWTH), K[9 * i]);
    }
    KS_T(ks_row_product)(8, 0, 0, nx, nx, J, 8, 1, w->F, w->X, w->X);
    KS_T(ks_row_product_of)(8, 0, 0, nx, nx, KS_T(KS_LEFT_UPPER), w->G, 1, 8, w->X, w->S, w->S);
    good = good & KS_T(ks_row_pivots)(nx, 0, K, l, inverse, pivot);
    KS_T(ks_row_product)(8, 1, 0, nx, nx, w->F, 1, 8, w->X, Jn, Jn);
#pragma GCC unroll 8
    for (int i = 0; i < nx; ++i) {
        w->shown[i] = Jn[9 * i];
        w->pivot[i] = pivot[i];
        w->inverse_d[i] = inverse[i];
#pragma GCC unroll 8
        for (int j = i + 1; j < nx; ++j) w->LT[8 * i + j] = l[i][j];
    }
    KS_T(ks_row_forward)(nx, l, inverse, w->S, w->S, A);
    KS_T(ks_row_product)(8, 1, -1, nx, nx, w->S, 1, 8, A, Jn, Jn);
    KS_T(ks_mirror_upper)(nx, 1, Jn, 8);
    return good;
}

/** ks_tiled_advance(); rows of A are nx apart. */
KS_HD KS_MASK KS_T(ks_row_advance)(int nx, const KS_T(ks_ends_blocks) *w, const KS_NUM *A,
                                   const KS_NUM *LT, const KS_NUM *inverse_d, const KS_NUM *P,
                                   KS_NUM *Pn, KS_NUM *lag)
{
    KS_NUM l[8][8], inverse[8], sum[8];
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
    KS_T(ks_row_load_factors)(nx, LT, inverse_d, l, inverse);
    KS_T(ks_row_forward)(nx, l, inverse, w->passage == KS_BY_ROOT ? w->GT : w->unit, w->V, w->W);
    KS_T(ks_row_product)(8, 0, -1, nx, nx, A, 1, nx, w->V, w->passage == KS_BY_PRECISION ? w->zero : w->FT, w->PhiT);
    KS_T(ks_row_product)(8, 1, 0, nx, nx, w->V, 1, 8, w->W, Pn, Pn);
    KS_T(ks_row_product)(8, 0, 0, nx, nx, w->PhiT, 1, 8, P, lag, lag);
    KS_T(ks_row_product)(8, 1, 1, nx, nx, lag, 8, 1, w->PhiT, Pn, Pn);
    KS_T(ks_mirror_upper)(nx, 1, Pn, 8);
#pragma GCC unroll 2
    for (int v = 0; v < KS_ROW_VECTORS(8) * KS_LANES; v += KS_LANES) {
        KS_T(ks_lanes) squares = { 0 };
#pragma GCC unroll 8
        for (int j = 0; j < nx; ++j) {
            const KS_T(ks_lanes) phi = KS_LOADV(w->PhiT + 8 * j + v);
            squares = squares + phi * phi * P[9 * j];
        }
        KS_STOREV(sum + v, squares);
    }
#pragma GCC unroll 8
    for (int i = 0; i < nx; ++i) {
        const KS_MASK lost = KS_GT(sum[i], KS_LIT(KS_GROWTH) * Pn[9 * i]);
        good = good & !lost;
    }
    return good;
}

/* In functions of their own, which are dispatched by size. */
#define KS_ROW_ENDS(nx)                                                                     \
    KS_HD_COLD KS_MASK KS_T(ks_row_whiten_##nx)(int m, const KS_NUM *H, const KS_NUM *R,    \
                                                KS_T(ks_ends_channels) *o)                  \
    {                                                                                       \
        switch (m) {                                                                        \
        case 0: return KS_T(ks_row_whiten)(nx, 0, H, R, o);                                 \
        case 1: return KS_T(ks_row_whiten)(nx, 1, H, R, o);                                 \
        case 2: return KS_T(ks_row_whiten)(nx, 2, H, R, o);                                 \
        case 3: return KS_T(ks_row_whiten)(nx, 3, H, R, o);                                 \
        default: return KS_T(ks_row_whiten)(nx, 4, H, R, o);                                \
        }                                                                                   \
    }                                                                                       \
    KS_HD_COLD KS_MASK KS_T(ks_row_retreat_##nx)(const KS_T(ks_ends_blocks) *w, const KS_NUM *J, \
                                                 KS_NUM *Jn, KS_NUM *A)                     \
    {                                                                                       \
        return KS_T(ks_row_retreat)(nx, w, J, Jn, A);                                       \
    }                                                                                       \
    KS_HD_COLD KS_MASK KS_T(ks_row_advance_##nx)(                                           \
        const KS_T(ks_ends_blocks) *w, const KS_NUM *A, const KS_NUM *LT,                   \
        const KS_NUM *inverse_d, const KS_NUM *P, KS_NUM *Pn, KS_NUM *lag)                  \
    {                                                                                       \
        return KS_T(ks_row_advance)(nx, w, A, LT, inverse_d, P, Pn, lag);                   \
    }                                                                                       \
    KS_HD_COLD void KS_T(ks_row_retreat_mean_##nx)(                                         \
        const KS_T(ks_ends_blocks) *w, const KS_NUM *J, const KS_NUM *A, const KS_NUM *LT,  \
        const KS_NUM *inverse_d, KS_NUM *eta, KS_NUM *b)                                    \
    {                                                                                       \
        KS_T(ks_tiled_retreat_mean)(nx, 8, w, J, A, LT, inverse_d, eta, b);                 \
    }                                                                                       \
    KS_HD_COLD void KS_T(ks_row_advance_mean_##nx)(const KS_T(ks_ends_blocks) *w, const KS_NUM *V, \
                                                   const KS_NUM *A, const KS_NUM *b, KS_NUM *x) \
    {                                                                                       \
        KS_T(ks_tiled_advance_mean)(nx, 8, w, V, A, nx, b, x);                              \
    }
KS_ROW_ENDS(5)
KS_ROW_ENDS(6)
KS_ROW_ENDS(7)
KS_ROW_ENDS(8)
#undef KS_ROW_ENDS

#define KS_ROW_SIZE(nx, CALL) switch (nx) { KS_CASES(CALL, 5, 6, 7) default: CALL(8); break; }
KS_HD KS_MASK KS_T(ks_row_whiten_any)(int nx, int m, const KS_NUM *H, const KS_NUM *R,
                                      KS_T(ks_ends_channels) *o)
{
#define CALL(nx) return KS_T(ks_row_whiten_##nx)(m, H, R, o)
    KS_ROW_SIZE(nx, CALL)
#undef CALL
}

KS_HD KS_MASK KS_T(ks_row_retreat_any)(int nx, const KS_T(ks_ends_blocks) *w, const KS_NUM *J,
                                       KS_NUM *Jn, KS_NUM *A)
{
#define CALL(nx) return KS_T(ks_row_retreat_##nx)(w, J, Jn, A)
    KS_ROW_SIZE(nx, CALL)
#undef CALL
}

KS_HD KS_MASK KS_T(ks_row_advance_any)(int nx, const KS_T(ks_ends_blocks) *w, const KS_NUM *A,
                                       const KS_NUM *LT, const KS_NUM *inverse_d, const KS_NUM *P,
                                       KS_NUM *Pn, KS_NUM *lag)
{
#define CALL(nx) return KS_T(ks_row_advance_##nx)(w, A, LT, inverse_d, P, Pn, lag)
    KS_ROW_SIZE(nx, CALL)
#undef CALL
}

KS_HD void KS_T(ks_row_retreat_mean_any)(int nx, const KS_T(ks_ends_blocks) *w, const KS_NUM *J,
                                         const KS_NUM *A, const KS_NUM *LT, const KS_NUM *inverse_d,
                                         KS_NUM *eta, KS_NUM *b)
{
#define CALL(nx) KS_T(ks_row_retreat_mean_##nx)(w, J, A, LT, inverse_d, eta, b)
    KS_ROW_SIZE(nx, CALL)
#undef CALL
}

KS_HD void KS_T(ks_row_advance_mean_any)(int nx, const KS_T(ks_ends_blocks) *w, const KS_NUM *V,
                                         const KS_NUM *A, const KS_NUM *b, KS_NUM *x)
{
#define CALL(nx) KS_T(ks_row_advance_mean_##nx)(w, V, A, b, x)
    KS_ROW_SIZE(nx, CALL)
#undef CALL
}
