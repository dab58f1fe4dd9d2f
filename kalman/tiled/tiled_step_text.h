/* tiled_step_text.h -- one filter or smoother step in the ordinary form, shaped by hand for vector registers; see
 * num_f64.h and tile_text.h. step_text.h is its reference, with the same equations and the same tests of whether the
 * ordinary form has enough digits. For plain C on the CPU.
 *
 * Matrices are padded (tile_text.h). Covariances are made from their upper triangles, which are mirrored by transposing
 * 4 x 4 tiles. L D Lᵀ takes no square roots and one reciprocal for each pivot. It proceeds by panels of four rows, and
 * right-hand sides are solved along with it.
 *
 * In double, pivots are made in pairs. Of the rows a b and b c the second pivot is det / a with det = a c - b². Then
 * 1 / a and a / det need not wait for each other. A small step is one chain of operations, from which this removes one
 * division and one product for every two pivots. det loses as many digits as c - b² / a does. In single precision
 * products of variances would leave the range, so pivots are made one by one. */

/** The blocks of one step; padded if they have a leading dimension (ldq, ldr). */
typedef struct KS_T(ks_blocks) {
    const KS_NUM *F, *H;   /* rows nx apart                                  */
    const KS_NUM *FT, *HT; /* padded: nx rows, n apart and m_padded apart    */
    const KS_NUM *Q, *R;   /* rows ldq and ldr apart, readable in whole vectors */
    int ldq, ldr;
    const KS_NUM *limit;   /* of the variances of an innovation, see ks_noise_limit() */
    const KS_NUM *u;       /* padded */
    const KS_NUM *d, *y;
} KS_T(ks_blocks);

/** Padded memory of one step. n = ks_padded(nx), and likewise of m. */
typedef struct KS_T(ks_tiled) {
    KS_NUM *xp, *Pp;       /* prediction (n), (n, n)                               */
    KS_NUM *W;             /* (n, n)                                               */
    KS_NUM *G, *Z;         /* L⁻¹ H Pp and D⁻¹ of it, (m, n)                        */
    KS_NUM *S, *LT;        /* innovation covariance and its unit Lᵀ, (m, m_padded) */
    KS_NUM *inverse_d, *pivot, *v;
    ks_prefetch *prefetch;     /* or NULL                                              */
} KS_T(ks_tiled);

/** Whether rows are n = 12 apart, a literal: nine to twelve states, in two tiles of four rows and a third one or part
 *  of it. Loops over tiles are unrolled by n, so that nx need not be a literal. */
#define KS_THREE_TILES(n) (KS_LANES <= 4 && KS_KNOWN(n) && (n) == 12)
/** The same of three or four tiles: nine to sixteen states. */
#define KS_WHOLE_TILES(n) (KS_THREE_TILES(n) || (KS_LANES <= 4 && KS_KNOWN(n) && (n) == 16))

/** The rows of all tiles of four that nx rows begin. A literal if n, the distance of rows, is one. */
KS_HD int KS_T(ks_tile_rows)(int nx, int n) { return KS_LANES <= 4 ? n : (nx + 3) / 4 * 4; }

/** Whether pivot r, a literal, forms a pair with the one before. */
#define KS_PAIRS_WITH(r) (sizeof(KS_NUM) > sizeof(float) && (r) % 2 == 1)

/** Least determinant of a pair. A smaller one may have terms that have underflowed. */
#define KS_LEAST_DETERMINANT 0x1p-960

/** The second pivot of a pair a b, b c and its reciprocal. *pivot is c on entry. Returns true if it is positive and
 *  nothing was out of range. */
KS_HD KS_MASK KS_T(ks_second_pivot)(KS_NUM a, KS_NUM b, KS_NUM inverse_a, KS_NUM *pivot, KS_NUM *inverse)
{
    const KS_NUM det = KS_T(ks_less)(a * *pivot, b, b);
    *pivot = det * inverse_a;
    *inverse = a / det;
    return KS_GT(det, KS_LIT(KS_LEAST_DETERMINANT)) & KS_GT(*inverse, KS_LIT(0));
}

/** L D Lᵀ of `rows` rows (1 to 4, a literal) of the upper triangle of s, rows lds apart: u is D Lᵀ, l the unit Lᵀ.
 *  Returns true if each pivot exceeds `ratio` times the number in `pivot`. */
KS_HD KS_MASK KS_T(ks_pivots)(int rows, double ratio, const KS_NUM *s, int lds, const KS_NUM *pivot,
                              KS_NUM u[4][4], KS_NUM l[4][4], KS_NUM *inverse)
{
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
        for (int c = r; c < rows; ++c) {
            KS_NUM x = s[r * lds + c];
#pragma GCC unroll 4
            for (int j = 0; j + 1 < r; ++j) x = x - l[j][r] * u[j][c];
            if (r > 0 && !(c == r && KS_PAIRS_WITH(r))) x = x - l[r - 1][r] * u[r - 1][c];
            u[r][c] = x;
        }
        if (KS_PAIRS_WITH(r))
            good = good & KS_T(ks_second_pivot)(u[r - 1][r - 1], u[r - 1][r], inverse[r - 1], &u[r][r], &inverse[r]);
        else
            inverse[r] = KS_LIT(1) / u[r][r];
        good = good & KS_GT(u[r][r], KS_LIT(ratio) * pivot[r]) & KS_GT(u[r][r], KS_LIT(0));
#pragma GCC unroll 4
        for (int c = r + 1; c < rows; ++c) l[r][c] = u[r][c] * inverse[r];
    }
    return good;
}

/** L D Lᵀ of rows at .. at + rows - 1 (1 to 4, a literal) of the upper triangle of S, rows `columns` apart; see
 *  ks_tiled_ldl(). */
KS_HD KS_MASK KS_T(ks_panel)(ks_prefetch *prefetch, int rows, int at, double ratio, int columns, KS_NUM *S, KS_NUM *LT,
                             KS_NUM *pivot, KS_NUM *inverse_d)
{
    KS_NUM u[4][4], l[4][4], inverse[4] = { 0 };
    const int from = at / KS_LANES * KS_LANES;
    if (at > 0)
        KS_T(ks_tiles_meanwhile)(prefetch, 0, -1, rows, at, columns - from, LT + at, 1, columns, S + from, columns,
                                 S + at * columns + from, columns, S + at * columns + from, columns);
    const KS_MASK good = KS_T(ks_pivots)(rows, ratio, S + at * columns + at, columns, pivot + at, u,
                                         l, inverse);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
        pivot[at + r] = u[r][r];
        inverse_d[at + r] = inverse[r];
    }
    KS_T(ks_lanes) row[4];
    for (int c = from; c < columns; c += KS_LANES) {
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
            row[r] = KS_LOADV(S + (at + r) * columns + c);
#pragma GCC unroll 4
            for (int j = 0; j < r; ++j) row[r] = row[r] - l[j][r] * row[j];
            KS_STOREV(S + (at + r) * columns + c, row[r]);
            KS_STOREV(LT + (at + r) * columns + c, row[r] * inverse[r]);
        }
    }
    return good;
}

/** Rows at .. at + rows - 1 of G (g columns) <- L⁻¹ G0, and the same rows of Z <- D⁻¹ G. */
KS_HD void KS_T(ks_panel_solve)(ks_prefetch *prefetch, int rows, int at, int columns, const KS_NUM *S, const KS_NUM *LT,
                                const KS_NUM *inverse_d, int g, const KS_NUM *G0, KS_NUM *G, KS_NUM *Z)
{
    if (at > 0)
        KS_T(ks_tiles_meanwhile)(prefetch, 0, -1, rows, at, g, S + at, 1, columns, Z, g, G0 + at * g, g, G + at * g, g);
    const KS_NUM *from = at > 0 ? G : G0;
    KS_T(ks_lanes) row[4];
    for (int c = 0; c < g; c += KS_LANES) {
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
            row[r] = KS_LOADV(from + (at + r) * g + c);
#pragma GCC unroll 4
            for (int j = 0; j < r; ++j)
                row[r] = row[r] - LT[(at + j) * columns + at + r] * row[j];
            KS_STOREV(G + (at + r) * g + c, row[r]);
            KS_STOREV(Z + (at + r) * g + c, row[r] * inverse_d[at + r]);
        }
    }
}

/** L D Lᵀ of the symmetric S (n, n), rows `columns` = ks_padded(n) apart, whose upper triangle is read. S becomes D Lᵀ
 *  and LT the unit Lᵀ; only strict upper triangles are valid. pivot (n) receives D and inverse_d (n) 1 / D.
 *
 *  G (n, g) <- L⁻¹ G0 and Z <- D⁻¹ G. G0 and Z may be G. Returns true if every pivot exceeds `ratio` times its diagonal
 *  entry. Lines of the queue are prefetched meanwhile. */
KS_HD KS_MASK KS_T(ks_tiled_ldl)(ks_prefetch *prefetch, int n, double ratio, int columns, KS_NUM *S, KS_NUM *LT, int g,
                                 const KS_NUM *G0, KS_NUM *G, KS_NUM *Z, KS_NUM *pivot, KS_NUM *inverse_d)
{
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
    for (int i = 0; i < n; ++i) pivot[i] = S[i * columns + i];
    /* G is one panel behind, so that its work hides the latency of the next pivots. */
    int at = 0;
#define KS_FOUR                                                                             \
    good = good & KS_T(ks_panel)(prefetch, 4, at, ratio, columns, S, LT, pivot, inverse_d);           \
    if (at > 0) KS_T(ks_panel_solve)(prefetch, 4, at - 4, columns, S, LT, inverse_d, g, G0, G, Z)
    if (KS_WHOLE_TILES(columns)) {
#pragma GCC unroll 2
        for (; at < 8; at += 4) {
            KS_FOUR;
        }
        if (columns > 12) {
            KS_FOUR;
            at = 12;
        }
    } else if (__builtin_constant_p(n) && n <= 12) {
#pragma GCC unroll 3
        for (; at + 4 <= n; at += 4) {
            KS_FOUR;
        }
    } else {
        for (; at + 4 <= n; at += 4) {
            KS_FOUR;
        }
    }
#undef KS_FOUR
#define KS_REST(rows)                                                                       \
    good = good & KS_T(ks_panel)(prefetch, rows, at, ratio, columns, S, LT, pivot, inverse_d);        \
    if (at > 0) KS_T(ks_panel_solve)(prefetch, 4, at - 4, columns, S, LT, inverse_d, g, G0, G, Z);        \
    KS_T(ks_panel_solve)(prefetch, rows, at, columns, S, LT, inverse_d, g, G0, G, Z)
    switch (n % 4) {
    case 3: KS_REST(3); break;
    case 2: KS_REST(2); break;
    case 1: KS_REST(1); break;
    default:
        if (KS_WHOLE_TILES(columns) && at < n) { /* the loop leaves the last tile */
            KS_REST(4);
        } else {
            KS_T(ks_panel_solve)(prefetch, 4, at - 4, columns, S, LT, inverse_d, g, G0, G, Z);
        }
        break;
    }
#undef KS_REST
    return good;
}

/** The same without right-hand sides, in a function of its own: for what is looked at now and then. */
KS_HD_SAME KS_MASK KS_T(ks_tiled_pivots)(int n, double ratio, int columns, KS_NUM *S, KS_NUM *LT, KS_NUM *pivot,
                                         KS_NUM *inverse_d)
{
    return KS_T(ks_tiled_ldl)(NULL, n, ratio, columns, S, LT, 0, S, S, S, pivot, inverse_d);
}

/** Rows at .. at + rows - 1 (2 to 4, a literal) of B <- L⁻ᵀ B, after the rows below have been subtracted. LT has n
 *  columns, B has g. */
KS_HD void KS_T(ks_panel_back)(int rows, int at, int n, const KS_NUM *LT, int g, KS_NUM *B)
{
    KS_T(ks_lanes) row[4];
    for (int c = 0; c < g; c += KS_LANES) {
        row[rows - 1] = KS_LOADV(B + (at + rows - 1) * g + c);
#pragma GCC unroll 4
        for (int r = rows - 2; r >= 0; --r) {
            row[r] = KS_LOADV(B + (at + r) * g + c);
#pragma GCC unroll 4
            for (int j = rows - 1; j > r; --j)
                row[r] = row[r] - LT[(at + r) * n + at + j] * row[j];
            KS_STOREV(B + (at + r) * g + c, row[r]);
        }
    }
}

/** B (nx, n) <- L⁻ᵀ B with LT as ks_tiled_ldl() leaves it, both with rows n apart. */
KS_HD void KS_T(ks_tiled_back)(int nx, int n, const KS_NUM *LT, KS_NUM *B)
{
    int at = KS_T(ks_tile_rows)(nx, n) - 4;
    switch (nx - at) {
    case 4: KS_T(ks_panel_back)(4, at, n, LT, n, B); break;
    case 3: KS_T(ks_panel_back)(3, at, n, LT, n, B); break;
    case 2: KS_T(ks_panel_back)(2, at, n, LT, n, B); break;
    default: break;
    }
    for (at -= 4; at >= 0; at -= 4) {
        KS_T(ks_tiles)(0, -1, 4, nx - at - 4, n, LT + at * n + at + 4, n, 1, B + (at + 4) * n, n,
                       B + at * n, n, B + at * n, n);
        KS_T(ks_panel_back)(4, at, n, LT, n, B);
    }
}

/** v (m) <- L⁻¹ v with LT as ks_tiled_ldl() leaves it. */
KS_HD void KS_T(ks_whiten)(int m, const KS_NUM *LT, int ld, KS_NUM *v)
{
    for (int i = 1; i < m; ++i) {
        KS_NUM s = v[i];
        for (int j = 0; j < i; ++j) s = KS_T(ks_less)(s, LT[j * ld + i], v[j]);
        v[i] = s;
    }
}

/** The same to the bit, by columns and in vectors. Rows of LT are mp apart, m padded; t has room for mp numbers.
 *  Entries of a vector at or before column j are wrong afterwards, but are not read again. */
KS_HD void KS_T(ks_whiten_columns)(int m, int mp, const KS_NUM *LT, KS_NUM *t, KS_NUM *v)
{
    KS_T(ks_copy)(m, v, t);
    for (int j = 0; j < m; ++j) {
        const KS_NUM s = t[j];
        v[j] = s;
        for (int c = (j + 1) / KS_LANES * KS_LANES; c < mp; c += KS_LANES)
            KS_STOREV(t + c, KS_LOADV(t + c) - s * KS_LOADV(LT + j * mp + c));
    }
}

/** The innovation v (m) = y - d - H xp. */
KS_HD void KS_T(ks_innovate)(int nx, int m, int mp, const KS_T(ks_blocks) *b, const KS_NUM *xp,
                             KS_NUM *v)
{
    KS_T(ks_combine_rows)(1, nx, mp, b->HT, xp, (const KS_NUM *)0, v);
    for (int i = 0; i < m; ++i) v[i] = b->y[i] - b->d[i] - v[i];
}

/** Prediction and innovation of the mean: xp = F x + u to w->xp, v = y - d - H xp to w->v. */
KS_HD void KS_T(ks_tiled_predict_mean)(int nx, int n, int m, const KS_T(ks_blocks) *b,
                                       const KS_NUM *x, const KS_T(ks_tiled) *w)
{
    KS_T(ks_combine_rows)(1, nx, n, b->FT, x, b->u, w->xp);
    if (m > 0) KS_T(ks_innovate)(nx, m, KS_T(ks_padded)(m), b, w->xp, w->v);
}

/** v <- L⁻¹ v, x = xp + Zᵀ v with LT and Z of this step. w->S is scratch. */
KS_HD void KS_T(ks_tiled_posterior_mean)(int n, int m, const KS_NUM *LT, const KS_NUM *Z,
                                         const KS_T(ks_tiled) *w, KS_NUM *x)
{
    const int mp = KS_T(ks_padded)(m);
    if (m > 8) KS_T(ks_whiten_columns)(m, mp, LT, w->S, w->v);
    else KS_T(ks_whiten)(m, LT, mp, w->v);
    KS_T(ks_combine_rows)(1, m, n, Z, w->v, w->xp, x);
}

/** Pp = F P Fᵀ + Q, symmetric up to rounding. P is symmetric to the bit with rows n apart. */
KS_HD void KS_T(ks_tiled_predict)(int nx, int n, const KS_T(ks_blocks) *b, const KS_NUM *P,
                                  const KS_T(ks_tiled) *w)
{
    KS_T(ks_tiles_meanwhile)(w->prefetch, 0, 0, nx, nx, n, P, n, 1, b->FT, n, w->W, n, w->W, n);
    KS_T(ks_tiles_meanwhile)(w->prefetch, 1, 1, nx, nx, n, b->F, nx, 1, w->W, n, b->Q, b->ldq, w->Pp, n);
    KS_T(ks_mirror_upper)(KS_T(ks_tile_rows)(nx, n), 0, w->Pp, n);
}

/** G, S, L D Lᵀ and Z of m observed entries. False if the ordinary form is not good enough. */
KS_HD KS_MASK KS_T(ks_tiled_innovation)(int nx, int n, int m, const KS_T(ks_blocks) *b,
                                        const KS_T(ks_tiled) *w)
{
    const int mp = KS_T(ks_padded)(m);
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
    KS_T(ks_tiles_meanwhile)(w->prefetch, 0, 0, m, nx, n, b->H, nx, 1, w->Pp, n, w->G, n, w->G, n);
    KS_T(ks_tiles)(1, 1, m, nx, mp, w->G, n, 1, b->HT, mp, b->R, b->ldr, w->S, mp);
    for (int i = 0; i < m; ++i)
        good = good & KS_GT(b->limit[i], w->S[i * mp + i]);
    good = good & KS_T(ks_tiled_ldl)(NULL, m, 1 / KS_GROWTH, mp, w->S, w->LT, n, w->G, w->G, w->Z, w->pivot,
                                     w->inverse_d);
    return good;
}

/** P = Pp - Zᵀ G, symmetric to the bit. */
KS_HD void KS_T(ks_tiled_posterior)(int nx, int n, int m, const KS_T(ks_tiled) *w, KS_NUM *P)
{
    KS_T(ks_tiles_meanwhile)(w->prefetch, 1, -1, nx, m, n, w->Z, 1, n, w->G, n, w->Pp, n, P, n);
    KS_T(ks_mirror_upper)(KS_T(ks_tile_rows)(nx, n), 1, P, n);
}

/** The smoothing gain ET = Eᵀ (nx, n) = Pp⁻¹ F P, paper eq. 12, and the upper triangle of D = Ps - Pp. P and Ps are
 *  symmetric, with rows ldp and n apart. */
KS_HD KS_MASK KS_T(ks_tiled_gain)(int nx, int n, const KS_T(ks_blocks) *b, const KS_NUM *P,
                                  int ldp, const KS_NUM *Ps, KS_NUM *ET, KS_NUM *D,
                                  const KS_T(ks_tiled) *w)
{
    KS_NUM *Pp = w->Pp, *LT = w->W;
    KS_T(ks_tiles_meanwhile)(w->prefetch, 0, 0, nx, nx, n, b->F, nx, 1, P, ldp, ET, n, ET, n);
    KS_T(ks_tiles_meanwhile)(w->prefetch, 1, 1, nx, nx, n, ET, n, 1, b->FT, n, b->Q, b->ldq, Pp, n);
    const int rows = KS_T(ks_tile_rows)(nx, n);
    for (int i = 0; i < rows; i += 4)
        for (int c = i / KS_LANES * KS_LANES; c < n; c += KS_LANES)
#pragma GCC unroll 4
            for (int r = i; r < i + 4; ++r)
                KS_STOREV(D + r * n + c, KS_LOADV(Ps + r * n + c) - KS_LOADV(Pp + r * n + c));
    const KS_MASK good =
        KS_T(ks_tiled_ldl)(NULL, nx, 1 / KS_GROWTH, n, Pp, LT, n, ET, ET, ET, w->pivot, w->inverse_d);
    KS_T(ks_tiled_back)(nx, n, LT, ET);
    return good;
}

/** xn = x + E (xs - xp), paper eq. 13. xs, xp and x are padded. */
KS_HD void KS_T(ks_tiled_correct_mean)(int nx, int n, const KS_NUM *x, const KS_NUM *xs, const KS_NUM *xp,
                                       const KS_NUM *ET, KS_NUM *xn, const KS_T(ks_tiled) *w)
{
    for (int c = 0; c < n; c += KS_LANES)
        KS_STOREV(w->v + c, KS_LOADV(xs + c) - KS_LOADV(xp + c));
    KS_T(ks_combine_rows)(1, nx, n, ET, w->v, x, xn);
}

/** The same with xp = F x + u. */
KS_HD void KS_T(ks_tiled_smooth_mean)(int nx, int n, const KS_T(ks_blocks) *b, const KS_NUM *x,
                                      const KS_NUM *xs, const KS_NUM *ET, KS_NUM *xn,
                                      const KS_T(ks_tiled) *w)
{
    KS_T(ks_combine_rows)(1, nx, n, b->FT, x, b->u, w->xp);
    KS_T(ks_tiled_correct_mean)(nx, n, x, xs, w->xp, ET, xn, w);
}

/** Pn = P + E (Ps - Pp) Eᵀ, paper eq. 14, symmetric to the bit. D is mirrored. False if a variance shrinks too much for
 *  the ordinary form. */
KS_HD KS_MASK KS_T(ks_tiled_smooth_cov)(int nx, int n, const KS_NUM *P, int ldp, const KS_NUM *ET,
                                        KS_NUM *D, KS_NUM *Pn, const KS_T(ks_tiled) *w)
{
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
    KS_T(ks_mirror_upper)(KS_T(ks_tile_rows)(nx, n), 1, D, n);
    KS_T(ks_tiles_meanwhile)(w->prefetch, 0, 0, nx, nx, n, D, n, 1, ET, n, w->W, n, w->W, n);
    KS_T(ks_tiles_meanwhile)(w->prefetch, 1, 1, nx, nx, n, ET, 1, n, w->W, n, P, ldp, Pn, n);
    KS_T(ks_mirror_upper)(KS_T(ks_tile_rows)(nx, n), 1, Pn, n);
    for (int i = 0; i < nx; ++i)
        good = good & KS_GT(KS_LIT(KS_GROWTH) * Pn[i * n + i], P[i * ldp + i]);
    return good;
}
