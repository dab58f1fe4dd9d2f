/* row_step_text.h -- one filter or smoother step of two, three or five to eight states in the ordinary form; see
 * num_f64.h and tiled_step_text.h. For plain C on the CPU.
 *
 * The number of states is a literal, and so is that of entries in the filter, up to four. Rows are ks_padded(nx)
 * numbers apart: four or eight, one or two vectors. The innovation covariance is factored in registers. */

/** Whether rows of eight numbers fit two vectors that are wider than those of the x86-64 baseline. The baseline goes
 *  without: its code would double for few processors. */
#define KS_ROWS_FIT                                                                         \
    (KS_VECTOR_BYTES >= 32 && 8 * sizeof(KS_NUM) <= 2 * KS_VECTOR_BYTES &&                  \
     8 * sizeof(KS_NUM) >= KS_VECTOR_BYTES)
#define KS_ROW_VECTORS(n) (KS_ROWS_FIT ? (n) / KS_LANES : 1)

/* Make the compiler load what p points to, even if it is in registers. Broadcasting a number from memory is one load;
 * from a register it is a shuffle. It also frees registers that whole matrices would take. */
#define KS_FROM_MEMORY(p) __asm__("" : "+r"(p))

/** Terms of a product that are known to be zero and are left out. */
typedef enum KS_T(ks_zeros) {
    KS_T(KS_NO_ZEROS),
    KS_T(KS_LEFT_UPPER), /* A is upper triangular: terms l < i of row i */
    KS_T(KS_RIGHT_LOWER) /* B is lower triangular: terms before a vector's own first row */
} KS_T(ks_zeros);

/** Rows at .. at + rows - 1 of C = C0 + sign A B, from vector `from` on. sign 0: C = A B. All these and k and zeros are
 *  literals. Entry (i, l) of A is at i * ai + l * al; rows of B and C are n apart. C may be C0. */
KS_HD void KS_T(ks_row_tile)(int n, int at, int rows, int from, int sign, int k, KS_T(ks_zeros) zeros,
                             const KS_NUM *A, int ai, int al, const KS_NUM *B, const KS_NUM *C0,
                             KS_NUM *C)
{
    KS_T(ks_lanes) c[8][2];
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
        for (int v = from; v < KS_ROW_VECTORS(n); ++v)
            c[r][v] = sign ? KS_LOADV(C0 + n * (at + r) + v * KS_LANES) : (KS_T(ks_lanes)){ 0 };
#define KS_TERM                                                                             \
    {                                                                                       \
        KS_T(ks_lanes) b[2];                                                                \
        _Pragma("GCC unroll 2") for (int v = from; v < KS_ROW_VECTORS(n); ++v)                 \
            b[v] = KS_LOADV(B + n * l + v * KS_LANES);                                      \
        _Pragma("GCC unroll 8") for (int r = 0; r < rows; ++r)                              \
        {                                                                                   \
            if (zeros == KS_T(KS_LEFT_UPPER) && l < at + r) continue;                       \
            const KS_NUM a = A[(at + r) * ai + l * al];                                     \
            _Pragma("GCC unroll 2") for (int v = from; v < KS_ROW_VECTORS(n); ++v)             \
            {                                                                               \
                if (zeros == KS_T(KS_RIGHT_LOWER) && l < v * KS_LANES) continue;            \
                c[r][v] = sign < 0 ? c[r][v] - a * b[v] : c[r][v] + a * b[v];               \
            }                                                                               \
        }                                                                                   \
    }
    /* Fully unrolled, a step of eight states exceeds the cache of decoded instructions. */
    if (k < 8) {
#pragma GCC unroll 8
        for (int l = 0; l < k; ++l) KS_TERM
    } else {
#pragma GCC unroll 1
        for (int l = 0; l < k; ++l) KS_TERM
    }
#undef KS_TERM
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
        for (int v = from; v < KS_ROW_VECTORS(n); ++v)
            KS_STOREV(C + n * (at + r) + v * KS_LANES, c[r][v]);
}

/** The same for all m rows. upper: vectors below the diagonal are not computed. With k = 8, zeros are not left out. */
KS_HD void KS_T(ks_row_product_of)(int n, int upper, int sign, int m, int k, KS_T(ks_zeros) zeros,
                                   const KS_NUM *A, int ai, int al, const KS_NUM *B,
                                   const KS_NUM *C0, KS_NUM *C)
{
    const KS_T(ks_zeros) left_out = k < 8 ? zeros : KS_T(KS_NO_ZEROS);
    /* Twelve sums and their operands fill sixteen registers. */
    const int most = KS_ROW_VECTORS(n) == 1 ? 8 : upper || m > 6 ? 4 : 6, first = m < most ? m : most;
    KS_T(ks_row_tile)(n, 0, first, 0, sign, k, left_out, A, ai, al, B, C0, C);
    if (m > first)
        KS_T(ks_row_tile)(n, first, m - first, upper ? 1 : 0, sign, k, left_out, A, ai, al, B, C0, C);
}

KS_HD void KS_T(ks_row_product)(int n, int upper, int sign, int m, int k, const KS_NUM *A, int ai, int al,
                                const KS_NUM *B, const KS_NUM *C0, KS_NUM *C)
{
    KS_T(ks_row_product_of)(n, upper, sign, m, k, KS_T(KS_NO_ZEROS), A, ai, al, B, C0, C);
}

/** Dot product of rows of n numbers, four or eight. */
KS_HD KS_NUM KS_T(ks_row_dot)(int n, const KS_NUM *a, const KS_NUM *b)
{
    /* Always the same one of the two products is rounded before the sum, as for followers. */
    KS_T(ks_quad) p = { 0 };
    if (n > 4) {
        p = KS_LOAD4(a + 4) * KS_LOAD4(b + 4);
        KS_APART(p);
    }
    p = KS_LOAD4(a) * KS_LOAD4(b) + p;
    return (p[0] + p[2]) + (p[1] + p[3]);
}

/** Prediction and innovation of the mean: xp = F x + u to w->xp, v = y - d - H xp to w->v. */
KS_HD void KS_T(ks_row_predict_mean)(int nx, int m, const KS_T(ks_blocks) *b, const KS_NUM *x,
                                     const KS_T(ks_tiled) *w)
{
    const int n = KS_T(ks_padded)(nx);
    KS_T(ks_combine_rows)(1, nx, n, b->FT, x, b->u, w->xp);
#pragma GCC unroll 4
    for (int a = 0; a < m; ++a)
        w->v[a] = (b->y[a] - b->d[a]) - KS_T(ks_row_dot)(n, b->HT + n * a, w->xp);
}

/** v <- L⁻¹ v, x = xp + Zᵀ v, with LT (m, 4) and Z (m, n) of this step. */
KS_HD void KS_T(ks_row_posterior_mean)(int n, int m, const KS_NUM *LT, const KS_NUM *Z,
                                       const KS_T(ks_tiled) *w, KS_NUM *x)
{
    KS_NUM v[4] = { 0 };
    KS_T(ks_lanes) sum[2];
#pragma GCC unroll 2
    for (int c = 0; c < KS_ROW_VECTORS(n); ++c) sum[c] = KS_LOADV(w->xp + c * KS_LANES);
#pragma GCC unroll 4
    for (int a = 0; a < m; ++a) {
        v[a] = w->v[a];
#pragma GCC unroll 4
        for (int c = 0; c < a; ++c) v[a] = KS_T(ks_less)(v[a], LT[4 * c + a], v[c]);
        w->v[a] = v[a];
#pragma GCC unroll 2
        for (int c = 0; c < KS_ROW_VECTORS(n); ++c)
            sum[c] = sum[c] + v[a] * KS_LOADV(Z + n * a + c * KS_LANES);
    }
#pragma GCC unroll 2
    for (int c = 0; c < KS_ROW_VECTORS(n); ++c) KS_STOREV(x + c * KS_LANES, sum[c]);
}

/** One filter step with nx = 2, 3, 5 .. 8 states and m = 0 .. 4 entries, literals: x <- the posterior's mean,
 *  out <- its covariance. w receives what ks_tiled_innovation() leaves there, except S; rows of LT are four apart.
 *  b->HT is H itself, rows n apart; b->R is the caller's. Returns false if the ordinary form is not good enough; x and
 *  P are unchanged then. */
KS_HD KS_MASK KS_T(ks_row_filter)(int nx, int m, const KS_T(ks_blocks) *b, KS_NUM *x,
                                  const KS_NUM *P, KS_NUM *out, const KS_T(ks_tiled) *w)
{
    const int n = KS_T(ks_padded)(nx);
    KS_T(ks_row_product)(n, 0, 0, nx, nx, P, n, 1, b->FT, w->W, w->W);
    KS_T(ks_row_product)(n, 1, 1, nx, nx, b->F, nx, 1, w->W, b->Q, w->Pp);
    KS_T(ks_mirror_upper)(nx, 0, w->Pp, n);
    KS_NUM *G = w->G, *Z = w->Z;
    if (m > 0) KS_T(ks_row_product)(n, 0, 0, m, nx, b->H, nx, 1, w->Pp, G, G);
    KS_T(ks_row_predict_mean)(nx, m, b, x, w);
    KS_NUM S[16] = { 0 }, top[4], u[4][4], l[4][4], inverse[4];
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
#pragma GCC unroll 4
    for (int a = 0; a < m; ++a) {
#pragma GCC unroll 4
        for (int c = a; c < m; ++c)
            S[4 * a + c] = b->R[a * b->ldr + c] + KS_T(ks_row_dot)(n, G + n * a, b->HT + n * c);
        top[a] = S[5 * a];
        good = good & KS_GT(b->limit[a], S[5 * a]);
    }
    good = good & KS_T(ks_pivots)(m, 1 / KS_GROWTH, S, 4, top, u, l, inverse);
    if (!KS_ALL(good)) return good;
#pragma GCC unroll 2
    for (int v = 0; v < KS_ROW_VECTORS(n) * KS_LANES; v += KS_LANES) {
        KS_T(ks_lanes) row[4];
#pragma GCC unroll 4
        for (int a = 0; a < m; ++a) {
            row[a] = KS_LOADV(G + n * a + v);
#pragma GCC unroll 4
            for (int c = 0; c < a; ++c) row[a] = row[a] - l[c][a] * row[c];
            KS_STOREV(G + n * a + v, row[a]);
            KS_STOREV(Z + n * a + v, row[a] * inverse[a]);
        }
    }
#pragma GCC unroll 4
    for (int a = 0; a < m; ++a) {
        w->pivot[a] = u[a][a];
        w->inverse_d[a] = inverse[a];
#pragma GCC unroll 4
        for (int c = a + 1; c < m; ++c) w->LT[4 * a + c] = l[a][c];
    }
    KS_T(ks_row_posterior_mean)(n, m, w->LT, Z, w, x);
    KS_T(ks_row_product)(n, 1, -1, nx, m, Z, 1, n, G, w->Pp, out);
    KS_T(ks_mirror_upper)(nx, 1, out, n);
    return good;
}

/* The same in functions of their own, which dispatch the number of entries. */
#define KS_ROW_FILTER(nx)                                                                   \
    KS_HD_COLD KS_MASK KS_T(ks_row_filter_##nx)(int m, const KS_T(ks_blocks) *b, KS_NUM *x, \
                                                const KS_NUM *P, KS_NUM *out,               \
                                                const KS_T(ks_tiled) *w)                    \
    {                                                                                       \
        switch (m) {                                                                        \
        case 0: return KS_T(ks_row_filter)(nx, 0, b, x, P, out, w);                         \
        case 1: return KS_T(ks_row_filter)(nx, 1, b, x, P, out, w);                         \
        case 2: return KS_T(ks_row_filter)(nx, 2, b, x, P, out, w);                         \
        case 3: return KS_T(ks_row_filter)(nx, 3, b, x, P, out, w);                         \
        default: return KS_T(ks_row_filter)(nx, 4, b, x, P, out, w);                        \
        }                                                                                   \
    }
KS_ROW_FILTER(2)
KS_ROW_FILTER(3)
KS_ROW_FILTER(5)
KS_ROW_FILTER(6)
KS_ROW_FILTER(7)
KS_ROW_FILTER(8)
#undef KS_ROW_FILTER

KS_HD KS_MASK KS_T(ks_row_filter_any)(int nx, int m, const KS_T(ks_blocks) *b, KS_NUM *x,
                                      const KS_NUM *P, KS_NUM *out, const KS_T(ks_tiled) *w)
{
    switch (nx) {
    case 2: return KS_T(ks_row_filter_2)(m, b, x, P, out, w);
    case 3: return KS_T(ks_row_filter_3)(m, b, x, P, out, w);
    case 5: return KS_T(ks_row_filter_5)(m, b, x, P, out, w);
    case 6: return KS_T(ks_row_filter_6)(m, b, x, P, out, w);
    case 7: return KS_T(ks_row_filter_7)(m, b, x, P, out, w);
    default: return KS_T(ks_row_filter_8)(m, b, x, P, out, w);
    }
}

/** The first part of a smoothing gain, nx a literal: ET <- F P, the upper triangle of Pp, and xp, from
 *  filtered x, P. */
KS_HD void KS_T(ks_row_gain)(int nx, const KS_T(ks_blocks) *b, const KS_NUM *x, const KS_NUM *P, KS_NUM *ET,
                             KS_NUM *Pp, KS_NUM *xp)
{
    const int n = KS_T(ks_padded)(nx);
    KS_T(ks_row_product)(n, 0, 0, nx, nx, b->F, nx, 1, P, ET, ET);
    const KS_NUM *FP = ET;
    KS_FROM_MEMORY(FP);
    KS_T(ks_row_product)(n, 1, 1, nx, nx, FP, n, 1, b->FT, b->Q, Pp);
    KS_T(ks_combine_rows)(1, nx, n, b->FT, x, b->u, xp);
}

/** ET <- Pp⁻¹ ET, the gain. LT and inverse: unit Lᵀ and 1 / D of Pp, numbers four apart. */
KS_HD void KS_T(ks_row_gain_solve)(int nx, const KS_NUM *LT, const KS_NUM *inverse, KS_NUM *ET)
{
    const int n = KS_T(ks_padded)(nx);
    KS_T(ks_lanes) E[8][2];
#pragma GCC unroll 8
    for (int i = 0; i < nx; ++i)
#pragma GCC unroll 2
        for (int v = 0; v < KS_ROW_VECTORS(n); ++v) {
            E[i][v] = KS_LOADV(ET + n * i + v * KS_LANES);
#pragma GCC unroll 8
            for (int j = 0; j < i; ++j) E[i][v] = E[i][v] - LT[4 * (8 * j + i)] * E[j][v];
        }
#pragma GCC unroll 8
    for (int i = nx - 1; i >= 0; --i)
#pragma GCC unroll 2
        for (int v = 0; v < KS_ROW_VECTORS(n); ++v) {
            E[i][v] = E[i][v] * inverse[4 * i];
#pragma GCC unroll 8
            for (int j = nx - 1; j > i; --j) E[i][v] = E[i][v] - LT[4 * (8 * i + j)] * E[j][v];
            KS_STOREV(ET + n * i + v * KS_LANES, E[i][v]);
        }
}

/** The rest of a smoother step: from filtered x, P of step k, its gain, and smoothed xs, Ps of step k + 1 to xn, Pn of
 *  step k. Returns false if the ordinary form is not good enough; xs and Ps are unchanged. D: scratch (n, n). */
KS_HD KS_MASK KS_T(ks_row_smooth)(int nx, const KS_NUM *x, const KS_NUM *P, const KS_NUM *ET, const KS_NUM *Pp,
                                  const KS_NUM *xp, const KS_NUM *xs, const KS_NUM *Ps, KS_NUM *xn,
                                  KS_NUM *Pn, KS_NUM *D, const KS_T(ks_tiled) *w)
{
    const int n = KS_T(ks_padded)(nx);
    KS_NUM *W = w->W;
#pragma GCC unroll 8
    for (int i = 0; i < nx; ++i)
#pragma GCC unroll 2
        for (int v = i / KS_LANES * KS_LANES; v < KS_ROW_VECTORS(n) * KS_LANES; v += KS_LANES)
            KS_STOREV(D + n * i + v, KS_LOADV(Ps + n * i + v) - KS_LOADV(Pp + n * i + v));
    KS_T(ks_mirror_upper)(nx, 1, D, n);
    KS_FROM_MEMORY(D);
    KS_T(ks_row_product)(n, 0, 0, nx, nx, D, n, 1, ET, W, W);
    KS_T(ks_row_product)(n, 1, 1, nx, nx, ET, 1, n, W, P, Pn);
    KS_T(ks_mirror_upper)(nx, 1, Pn, n);
    KS_T(ks_tiled_correct_mean)(nx, n, x, xs, xp, ET, xn, w);
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
#pragma GCC unroll 8
    for (int i = 0; i < nx; ++i) good = good & KS_GT(KS_LIT(KS_GROWTH) * Pn[(n + 1) * i], P[(n + 1) * i]);
    return good;
}
