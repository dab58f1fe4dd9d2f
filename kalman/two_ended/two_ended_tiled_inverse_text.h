/* two_ended_tiled_inverse_text.h -- the steps of two_ended_inverse_text.h, with the inverse of Q, shaped by hand for
 * vector registers; see num_f64.h and two_ended_tiled_text.h. For plain C on the CPU.
 *
 * The way out is that of two_ended_tiled_text.h with the identity for the root of Q, whose zeros are left out in tiles,
 * and after a step by the precision with 0 for F. */

/** tr(J Q): the sum of the products of entries. Rows are n and nx apart. */
KS_HD KS_NUM KS_T(ks_tiled_trace)(int nx, int n, const KS_NUM *J, const KS_NUM *Q)
{
    KS_T(ks_lanes) sum[2] = { { 0 } };
    KS_NUM rest = KS_LIT(0);
    for (int i = 0; i < nx; ++i) {
        int c = 0;
        for (; c + KS_LANES <= nx; c += KS_LANES)
            sum[i % 2] = sum[i % 2] + KS_LOADV(J + i * n + c) * KS_LOADV(Q + i * nx + c);
        for (; c < nx; ++c) rest = rest + J[i * n + c] * Q[i * nx + c];
    }
    sum[0] = sum[0] + sum[1];
#pragma GCC unroll 16
    for (int c = 0; c < KS_LANES; ++c) rest = rest + sum[0][c];
    return rest;
}

/** Whether Q is well positive definite, given its inverse; see KS_WELL_POSITIVE. */
KS_HD KS_MASK KS_T(ks_tiled_well_positive)(int nx, int n, const KS_NUM *Q, const KS_NUM *inverse)
{
    KS_NUM sum = KS_LIT(0);
    for (int i = 0; i < nx; ++i) sum = sum + Q[i * nx + i] * inverse[i * n + i];
    return KS_GT(KS_LIT(KS_WELL_POSITIVE), sum);
}

/** The factors of Q: w->noise_LT, noise_d and noise_pivot. Returns true if its pivots allow an inverse. */
KS_HD_COLD KS_MASK KS_T(ks_tiled_factor)(int nx, int n, const KS_NUM *Q, const KS_T(ks_ends_blocks) *w)
{
    KS_T(ks_pad)(nx, nx, Q, nx, w->X, n);
    return KS_T(ks_tiled_ldl)(NULL, nx, 1 / KS_GROWTH, n, w->X, w->noise_LT, 0, w->V, w->V, w->Z, w->noise_pivot, w->noise_d);
}

/** ks_invert_noise(): the factors, and w->inverse. */
KS_HD_COLD KS_MASK KS_T(ks_tiled_invert)(int nx, int n, const KS_NUM *Q, const KS_T(ks_ends_blocks) *w)
{
    if (!KS_ALL(KS_T(ks_tiled_factor)(nx, n, Q, w))) return KS_GT(KS_LIT(0), KS_LIT(1));
    KS_T(ks_tiled_forward)(1, nx, n, w->noise_LT, w->noise_d, w->unit, w->lower, w->scaled);
    KS_T(ks_tiles_of_root)(NULL, 1, nx, n, w->lower, w->scaled, w->zero, w->inverse);
    KS_T(ks_mirror_upper)(nx, 1, w->inverse, n);
    return KS_T(ks_tiled_well_positive)(nx, n, Q, w->inverse);
}

/** ks_noise_through() to w->through and w->C. */
KS_HD void KS_T(ks_tiled_through)(int nx, int n, const KS_T(ks_ends_blocks) *w)
{
    KS_T(ks_tiles_meanwhile)(w->prefetch, 0, -1, nx, nx, n, w->inverse, n, 1, w->F, n, w->zero, n, w->through, n);
    KS_T(ks_tiles_meanwhile)(w->prefetch, 1, -1, nx, nx, n, w->F, 1, n, w->through, n, w->zero, n, w->C, n);
    KS_T(ks_mirror_upper)(nx, 1, w->C, n);
}

/** ks_retreat_inverse() without the means: from J, by the precision only its upper triangle, to the upper triangle of
 *  Jn. by_precision is a literal. */
KS_HD KS_MASK KS_T(ks_tiled_retreat_inverse)(int by_precision, int nx, int n, const KS_T(ks_ends_blocks) *w,
                                             const KS_NUM *J, KS_NUM *Jn, KS_NUM *A)
{
    KS_NUM *K = Jn;
    for (int i = 0; i < nx; ++i)
        for (int c = KS_T(ks_upper_from)(i); c < n; c += KS_LANES)
            KS_STOREV(K + i * n + c, KS_LOADV(w->inverse + i * n + c) + KS_LOADV(J + i * n + c));
    if (!by_precision)
        KS_T(ks_tiles_meanwhile)(w->prefetch, 0, 0, nx, nx, n, J, n, 1, w->F, n, w->X, n, w->X, n);
    const KS_NUM *right = by_precision ? w->through : w->X;
    const KS_MASK good = KS_T(ks_tiled_ldl)(w->prefetch, nx, 0, n, K, w->LT, n, right, w->S, A, w->pivot, w->inverse_d);
    if (!by_precision) KS_T(ks_tiles_meanwhile)(w->prefetch, 1, 1, nx, nx, n, w->F, 1, n, w->X, n, w->zero, n, Jn, n);
    const KS_NUM *from = by_precision ? w->C : Jn;
    for (int i = 0; i < nx; ++i) {
        w->shown[i] = from[i * n + i];
        w->pivot[i] = w->pivot[i] * w->noise_pivot[i];
    }
    KS_T(ks_tiles_meanwhile)(w->prefetch, 1, -1, nx, nx, n, w->S, 1, n, A, n, from, n, Jn, n);
    return good;
}

/** ks_tiled_factor() or, with_inverse, ks_tiled_invert() of four states. with_inverse is a literal. */
KS_HD KS_MASK KS_T(ks_quad_invert)(int with_inverse, const KS_NUM *Q, const KS_T(ks_ends_blocks) *w)
{
    KS_NUM top[4], u[4][4], l[4][4], d[4];
    KS_T(ks_quad) V[4], Z[4];
    KS_NUM *v = w->V;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) top[i] = Q[5 * i];
    const KS_MASK good = KS_T(ks_pivots)(4, 1 / KS_GROWTH, Q, 4, top, u, l, d);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        w->noise_d[i] = d[i];
        w->noise_pivot[i] = u[i][i];
#pragma GCC unroll 4
        for (int j = i + 1; j < 4; ++j) w->noise_LT[4 * i + j] = l[i][j];
    }
    if (!with_inverse) return good;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        V[i] = KS_LOAD4(w->unit + 4 * i);
#pragma GCC unroll 4
        for (int j = 0; j < i; ++j) V[i] = V[i] - l[j][i] * V[j];
        Z[i] = V[i] * d[i];
        KS_STORE4(v + 4 * i, V[i]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) { /* sums from the last row up, for the same bits on both sides of the diagonal */
        KS_T(ks_quad) sum = v[12 + i] * Z[3];
#pragma GCC unroll 4
        for (int j = 2; j >= i; --j) sum = sum + v[4 * j + i] * Z[j];
        Z[i] = sum;
    }
    KS_MIRROR4(Z);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) KS_STORE4(w->inverse + 4 * i, Z[i]);
    return good & KS_T(ks_tiled_well_positive)(4, 4, Q, w->inverse);
}

/** ks_tiled_through() of four states. */
KS_HD void KS_T(ks_quad_through)(const KS_T(ks_ends_blocks) *w)
{
    KS_T(ks_quad) f[4], B[4], row[4];
    const KS_NUM *inverse = w->inverse, *F = w->F;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) f[i] = KS_LOAD4(F + 4 * i);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        B[i] = KS_SUM4(inverse[4 * i], inverse[4 * i + 1], inverse[4 * i + 2], inverse[4 * i + 3], f);
        KS_STORE4(w->through + 4 * i, -B[i]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) row[i] = KS_SUM4(F[i], F[4 + i], F[8 + i], F[12 + i], B);
    KS_MIRROR4(row);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) KS_STORE4(w->C + 4 * i, row[i]);
}

/** ks_tiled_retreat_inverse() of four states. */
KS_HD KS_MASK KS_T(ks_quad_retreat_by)(int by_precision, const KS_T(ks_ends_blocks) *w, const KS_NUM *J,
                                            KS_NUM *Jn, KS_NUM *A)
{
    KS_T(ks_quad) f[4], S[4], Z[4], whole[4], row[4];
    KS_NUM *K = w->E, top[4] = { 0 }, u[4][4], l[4][4], inverse[4];
    const KS_NUM *F = w->F;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        KS_STORE4(K + 4 * i, KS_LOAD4(w->inverse + 4 * i) + KS_LOAD4(J + 4 * i));
        f[i] = KS_LOAD4(F + 4 * i);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
        S[i] = by_precision ? KS_LOAD4(w->through + 4 * i)
                            : KS_SUM4(J[4 * i], J[4 * i + 1], J[4 * i + 2], J[4 * i + 3], f);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
        whole[i] = by_precision ? KS_LOAD4(w->C + 4 * i) : KS_SUM4(F[i], F[4 + i], F[8 + i], F[12 + i], S);
    const KS_MASK good = KS_T(ks_pivots)(4, 0, K, 4, top, u, l, inverse);
    KS_T(ks_quad_forward)(l, inverse, w, S, Z, A);
    const KS_NUM *s = w->S;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        w->shown[i] = whole[i][i];
        row[i] = whole[i] - KS_SUM4(s[i], s[4 + i], s[8 + i], s[12 + i], Z);
    }
    KS_MIRROR4(row);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        KS_STORE4(Jn + 4 * i, row[i]);
#pragma GCC unroll 4
        for (int j = i + 1; j < 4; ++j) w->LT[4 * i + j] = l[i][j];
        w->pivot[i] = u[i][i] * w->noise_pivot[i];
        w->inverse_d[i] = inverse[i];
    }
    return good;
}

/* In functions of their own. A step by a root, which is taken if Q varies, has no registers to spare. */
KS_HD_COLD KS_MASK KS_T(ks_quad_retreat_precision)(const KS_T(ks_ends_blocks) *w, const KS_NUM *J, KS_NUM *Jn, KS_NUM *A)
{
    return KS_T(ks_quad_retreat_by)(1, w, J, Jn, A);
}

KS_HD_COLD KS_MASK KS_T(ks_quad_retreat_inverse)(const KS_T(ks_ends_blocks) *w, const KS_NUM *J, KS_NUM *Jn, KS_NUM *A)
{
    return KS_T(ks_quad_retreat_by)(0, w, J, Jn, A);
}

KS_HD_COLD KS_MASK KS_T(ks_quad_inverse)(const KS_NUM *Q, const KS_T(ks_ends_blocks) *w)
{
    return KS_T(ks_quad_invert)(1, Q, w);
}

KS_HD_COLD void KS_T(ks_quad_factor)(const KS_NUM *Q, const KS_T(ks_ends_blocks) *w)
{
    (void)KS_T(ks_quad_invert)(0, Q, w);
}

/** The same for five to eight states, a literal, too. Rows are eight apart. */
KS_HD KS_MASK KS_T(ks_row_invert)(int with_inverse, int nx, const KS_NUM *Q, const KS_T(ks_ends_blocks) *w)
{
    KS_NUM l[8][8], d[8], pivot[8];
    KS_T(ks_rows_pad)(nx, nx, Q, w->X);
    const KS_MASK good = KS_T(ks_row_pivots)(nx, 1 / KS_GROWTH, w->X, l, d, pivot);
#pragma GCC unroll 8
    for (int i = 0; i < nx; ++i) {
        w->noise_d[i] = d[i];
        w->noise_pivot[i] = pivot[i];
#pragma GCC unroll 8
        for (int j = i + 1; j < nx; ++j) w->noise_LT[8 * i + j] = l[i][j];
    }
    if (!with_inverse) return good;
    KS_T(ks_row_forward)(nx, l, d, w->unit, w->V, w->Z);
    KS_T(ks_row_product_of)(8, 1, 0, nx, nx, KS_T(KS_LEFT_UPPER), w->V, 1, 8, w->Z, w->inverse, w->inverse);
    KS_T(ks_mirror_upper)(nx, 1, w->inverse, 8);
    return good & KS_T(ks_tiled_well_positive)(nx, 8, Q, w->inverse);
}

/** ks_tiled_through() of five to eight states. */
KS_HD void KS_T(ks_row_through)(int nx, const KS_T(ks_ends_blocks) *w)
{
    KS_T(ks_row_product)(8, 0, -1, nx, nx, w->inverse, 8, 1, w->F, w->zero, w->through);
    KS_T(ks_row_product)(8, 1, -1, nx, nx, w->F, 1, 8, w->through, w->zero, w->C);
    KS_T(ks_mirror_upper)(nx, 1, w->C, 8);
}

/** ks_tiled_retreat_inverse() of five to eight states. */
KS_HD KS_MASK KS_T(ks_row_retreat_inverse)(int by_precision, int nx, const KS_T(ks_ends_blocks) *w, const KS_NUM *J,
                                           KS_NUM *Jn, KS_NUM *A)
{
    KS_NUM *K = w->E, l[8][8], inverse[8], pivot[8];
#pragma GCC unroll 8
    for (int i = 0; i < nx; ++i)
#pragma GCC unroll 2
        for (int v = 0; v < KS_ROW_VECTORS(8) * KS_LANES; v += KS_LANES)
            KS_STOREV(K + 8 * i + v, KS_LOADV(w->inverse + 8 * i + v) + KS_LOADV(J + 8 * i + v));
    if (!by_precision) {
        KS_T(ks_row_product)(8, 0, 0, nx, nx, J, 8, 1, w->F, w->X, w->X);
        KS_T(ks_row_product)(8, 1, 0, nx, nx, w->F, 1, 8, w->X, Jn, Jn);
    }
    const KS_MASK good = KS_T(ks_row_pivots)(nx, 0, K, l, inverse, pivot);
    const KS_NUM *from = by_precision ? w->C : Jn;
#pragma GCC unroll 8
    for (int i = 0; i < nx; ++i) {
        w->shown[i] = from[9 * i];
        w->pivot[i] = pivot[i] * w->noise_pivot[i];
        w->inverse_d[i] = inverse[i];
#pragma GCC unroll 8
        for (int j = i + 1; j < nx; ++j) w->LT[8 * i + j] = l[i][j];
    }
    KS_T(ks_row_forward)(nx, l, inverse, by_precision ? w->through : w->X, w->S, A);
    KS_T(ks_row_product)(8, 1, -1, nx, nx, w->S, 1, 8, A, from, Jn);
    KS_T(ks_mirror_upper)(nx, 1, Jn, 8);
    return good;
}

/* In functions of their own, which are dispatched by size. */
#define KS_ROW_INVERSES(nx)                                                                 \
    KS_HD_COLD KS_MASK KS_T(ks_row_factor_##nx)(const KS_NUM *Q, const KS_T(ks_ends_blocks) *w) \
    {                                                                                       \
        return KS_T(ks_row_invert)(0, nx, Q, w);                                            \
    }                                                                                       \
    KS_HD_COLD KS_MASK KS_T(ks_row_invert_##nx)(const KS_NUM *Q, const KS_T(ks_ends_blocks) *w) \
    {                                                                                       \
        return KS_T(ks_row_invert)(1, nx, Q, w);                                            \
    }                                                                                       \
    KS_HD_COLD void KS_T(ks_row_through_##nx)(const KS_T(ks_ends_blocks) *w)                \
    {                                                                                       \
        KS_T(ks_row_through)(nx, w);                                                        \
    }                                                                                       \
    KS_HD_COLD KS_MASK KS_T(ks_row_retreat_precision_##nx)(const KS_T(ks_ends_blocks) *w, const KS_NUM *J, \
                                                           KS_NUM *Jn, KS_NUM *A)           \
    {                                                                                       \
        return KS_T(ks_row_retreat_inverse)(1, nx, w, J, Jn, A);                            \
    }                                                                                       \
    KS_HD_COLD KS_MASK KS_T(ks_row_retreat_inverse_##nx)(const KS_T(ks_ends_blocks) *w, const KS_NUM *J, \
                                                         KS_NUM *Jn, KS_NUM *A)             \
    {                                                                                       \
        return KS_T(ks_row_retreat_inverse)(0, nx, w, J, Jn, A);                            \
    }
KS_ROW_INVERSES(5)
KS_ROW_INVERSES(6)
KS_ROW_INVERSES(7)
KS_ROW_INVERSES(8)
#undef KS_ROW_INVERSES

/* For any shape. */
KS_HD void KS_T(ks_ends_factor)(ks_shape shape, int nx, int n, const KS_NUM *Q, const KS_T(ks_ends_blocks) *w)
{
    if (shape == KS_SHAPE_QUAD) {
        KS_T(ks_quad_factor)(Q, w);
    } else if (shape == KS_SHAPE_TILES) {
        (void)KS_T(ks_tiled_factor)(nx, n, Q, w);
    } else {
#define CALL(nx) (void)KS_T(ks_row_factor_##nx)(Q, w)
        KS_ROW_SIZE(nx, CALL)
#undef CALL
    }
}

KS_HD KS_MASK KS_T(ks_ends_invert)(ks_shape shape, int nx, int n, const KS_NUM *Q, const KS_T(ks_ends_blocks) *w)
{
    if (shape == KS_SHAPE_QUAD) return KS_T(ks_quad_inverse)(Q, w);
    if (shape == KS_SHAPE_TILES) return KS_T(ks_tiled_invert)(nx, n, Q, w);
#define CALL(nx) return KS_T(ks_row_invert_##nx)(Q, w)
    KS_ROW_SIZE(nx, CALL)
#undef CALL
}

KS_HD void KS_T(ks_ends_through)(ks_shape shape, int nx, int n, const KS_T(ks_ends_blocks) *w)
{
    if (shape == KS_SHAPE_QUAD) {
        KS_T(ks_quad_through)(w);
    } else if (shape == KS_SHAPE_TILES) {
        KS_T(ks_tiled_through)(nx, n, w);
    } else {
#define CALL(nx) KS_T(ks_row_through_##nx)(w)
        KS_ROW_SIZE(nx, CALL)
#undef CALL
    }
}

/** A step back by the root, the inverse or the precision. */
KS_HD KS_MASK KS_T(ks_ends_retreat_by)(ks_shape shape, ks_passage passage, int nx, int n,
                                       const KS_T(ks_ends_blocks) *w, const KS_NUM *J, KS_NUM *Jn, KS_NUM *A)
{
    const int by_precision = passage == KS_BY_PRECISION;
    if (shape == KS_SHAPE_QUAD)
        return passage == KS_BY_ROOT ? KS_T(ks_quad_retreat)(w, J, Jn, A)
               : by_precision        ? KS_T(ks_quad_retreat_precision)(w, J, Jn, A)
                                     : KS_T(ks_quad_retreat_inverse)(w, J, Jn, A);
    if (shape == KS_SHAPE_TILES)
        return passage == KS_BY_ROOT ? KS_T(ks_tiled_retreat)(nx, n, w, J, Jn, A)
               : by_precision        ? KS_T(ks_tiled_retreat_inverse)(1, nx, n, w, J, Jn, A)
                                     : KS_T(ks_tiled_retreat_inverse)(0, nx, n, w, J, Jn, A);
    if (passage == KS_BY_ROOT) return KS_T(ks_row_retreat_any)(nx, w, J, Jn, A);
    if (by_precision) {
#define CALL(nx) return KS_T(ks_row_retreat_precision_##nx)(w, J, Jn, A)
        KS_ROW_SIZE(nx, CALL)
#undef CALL
    }
#define CALL(nx) return KS_T(ks_row_retreat_inverse_##nx)(w, J, Jn, A)
    KS_ROW_SIZE(nx, CALL)
#undef CALL
}
#undef KS_ROW_SIZE
