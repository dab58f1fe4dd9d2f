/* map_panels_text.h -- the operations of map_blocks_text.h on panels, made of the products and the elimination of
 * blocktri/panel_text.h; see num_f64.h. For plain C on the CPU.
 *
 * Blocks that are used together are adjacent, as one wide panel. */

KS_HD int KS_T(ks_map_panel_rows)(int n) { return (n + 3) / 4 * 4; }

KS_HD int KS_T(ks_map_slab)(int n) { return KS_T(ks_bt_slab)(KS_T(ks_map_panel_rows)(n)); }

KS_HD int KS_T(ks_map_panel)(int n)
{
    return KS_T(ks_bt_columns)(n) / KS_BT_WIDTH * KS_T(ks_map_slab)(n);
}

KS_HD void KS_T(ks_map_to_panel)(int n, int ld, int unit, const KS_NUM *from, KS_NUM *P)
{
    const int slab = KS_T(ks_map_slab)(n), np = KS_T(ks_map_panel_rows)(n);
    const KS_T(ks_quad) zero = { 0 };
    for (int j = 0; j < ld; j += 4) {
        KS_NUM *to = P + KS_T(ks_bt_at)(slab, 0, j);
        for (int i = 0; i < n; ++i) KS_STORE4(to + i * KS_BT_WIDTH, KS_LOAD4(from + i * ld + j));
        for (int i = n; i < np; ++i) KS_STORE4(to + i * KS_BT_WIDTH, zero);
    }
    for (int i = n; i < np; ++i) P[KS_T(ks_bt_at)(slab, i, i)] = KS_LIT(unit);
}

KS_HD void KS_T(ks_map_from_panel)(int n, int ld, const KS_NUM *P, KS_NUM *to)
{
    const int slab = KS_T(ks_map_slab)(n);
    for (int j = 0; j < ld; j += 4) {
        const KS_NUM *from = P + KS_T(ks_bt_at)(slab, 0, j);
        for (int i = 0; i < n; ++i) KS_STORE4(to + i * ld + j, KS_LOAD4(from + i * KS_BT_WIDTH));
    }
}

/** Return the numbers of the upper triangle in the slab of a panel that begins with column j. They are contiguous. */
KS_HD int KS_T(ks_map_upper)(int n, int j)
{
    const int np = KS_T(ks_map_panel_rows)(n), end = j + KS_BT_WIDTH;
    return (end < np ? end : np) * KS_BT_WIDTH;
}

KS_HD void KS_T(ks_map_panel_sum)(int n, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
    const int slab = KS_T(ks_map_slab)(n), columns = KS_T(ks_bt_columns)(n);
    for (int j = 0; j < columns; j += KS_BT_WIDTH, A += slab, B += slab, C += slab)
        for (int i = 0; i < KS_T(ks_map_upper)(n, j); i += KS_BT_WIDTH)
            KS_BT_STORE(C + i, KS_BT_LOAD(A + i) + KS_BT_LOAD(B + i));
}

KS_HD void KS_T(ks_map_panel_copy)(int n, const KS_NUM *P, KS_NUM *to)
{
    const int numbers = KS_T(ks_map_panel)(n);
    int i = 0;
    for (; i + 4 * KS_BT_WIDTH <= numbers; i += 4 * KS_BT_WIDTH)
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r)
            KS_BT_STORE(to + i + r * KS_BT_WIDTH, KS_BT_LOAD(P + i + r * KS_BT_WIDTH));
    for (; i < numbers; i += KS_BT_WIDTH) KS_BT_STORE(to + i, KS_BT_LOAD(P + i));
}

KS_HD void KS_T(ks_map_clear_upper)(int n, KS_NUM *P)
{
    const int slab = KS_T(ks_map_slab)(n), columns = KS_T(ks_bt_columns)(n);
    const KS_T(ks_bt_wide) zero = { 0 };
    for (int j = 0; j < columns; j += KS_BT_WIDTH, P += slab)
        for (int i = 0; i < KS_T(ks_map_upper)(n, j); i += KS_BT_WIDTH) KS_BT_STORE(P + i, zero);
}

/** Add the squares of a factor's diagonal to the evidence. */
KS_HD void KS_T(ks_map_gather_squares)(int n, const KS_NUM *P, ks_evidence *e)
{
    const int slab = KS_T(ks_map_slab)(n);
    for (int i = 0; i < n; i += 4) {
        KS_NUM d[4] = { 1, 1, 1, 1 };
        for (int r = 0; r < 4 && i + r < n; ++r) d[r] = P[KS_T(ks_bt_at)(slab, i + r, i + r)];
        const KS_NUM product = (d[0] * d[1]) * (d[2] * d[3]);
        if (product > 1e-60 && product < 1e60)
            ks_gather_determinant(e, (double)(product * product));
        else
            for (int r = 0; r < 4; ++r) e->logs += 2 * log((double)d[r]);
    }
}

KS_HD int KS_T(ks_map_cholesky)(int n, int couplings, KS_NUM *P, const KS_NUM *soon, ks_evidence *e)
{
    const int np = KS_T(ks_map_panel_rows)(n);
    KS_T(ks_bt_ahead_of) ahead = { soon, soon, soon, soon, n, 0, 0 };
    const int bad = KS_T(ks_bt_eliminate)(n, np, couplings, KS_T(ks_map_slab)(n), P,
                                          soon ? &ahead : (KS_T(ks_bt_ahead_of) *)0);
    if (bad < 0 && e) KS_T(ks_map_gather_squares)(n, P, e);
    return bad;
}

KS_HD void KS_T(ks_map_less_gram)(int n, const KS_NUM *W, KS_NUM *C)
{
    KS_T(ks_bt_downdate)(n, KS_T(ks_map_panel_rows)(n), KS_T(ks_map_slab)(n), W, C,
                         (KS_T(ks_bt_ahead_of) *)0);
}

KS_HD void KS_T(ks_map_store_root)(int n, const KS_NUM *R, KS_NUM *to)
{
    KS_T(ks_bt_store_upper)(n, KS_T(ks_map_slab)(n), R, to);
}

/** Load a tile of a factor into both panels: `columns` columns from j on of `rows` rows, up to four, from i on. */
KS_HD void KS_T(ks_map_load_tile)(int rows, int columns, int i, int j, int n, int slab,
                                  const KS_NUM *from, KS_NUM *R, KS_NUM *minus)
{
    const int to = KS_T(ks_bt_at)(slab, i, j);
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < columns; ++c) {
            const KS_NUM entry = i + r <= j + c ? from[(i + r) * n + j + c] : KS_LIT(0);
            R[to + r * KS_BT_WIDTH + c] = entry;
            minus[to + r * KS_BT_WIDTH + c] = -entry;
        }
}

KS_HD_COLD void KS_T(ks_map_load_root)(int n, const KS_NUM *from, KS_NUM *R, KS_NUM *minus)
{
    const int slab = KS_T(ks_map_slab)(n), np = KS_T(ks_map_panel_rows)(n), whole = n / 4 * 4;
    const KS_T(ks_quad) zero = { 0 };
    for (int i = 0; i < whole; i += 4) {
        KS_T(ks_quad) t[4];
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) t[r] = KS_LOAD4(from + (i + r) * n + i);
        t[1] = KS_MIX(t[1], zero, 4, 1, 2, 3);
        t[2] = KS_MIX(t[2], zero, 4, 5, 2, 3);
        t[3] = KS_MIX(t[3], zero, 4, 5, 6, 3);
        for (int j = i;;) {
            const int to = KS_T(ks_bt_at)(slab, i, j);
#pragma GCC unroll 4
            for (int r = 0; r < 4; ++r) {
                KS_STORE4(R + to + r * KS_BT_WIDTH, t[r]);
                KS_STORE4(minus + to + r * KS_BT_WIDTH, -t[r]);
            }
            j += 4;
            if (j >= whole) break;
#pragma GCC unroll 4
            for (int r = 0; r < 4; ++r) t[r] = KS_LOAD4(from + (i + r) * n + j);
        }
        if (whole < n)
            KS_T(ks_map_load_tile)(4, n - whole, i, whole, n, slab, from, R, minus);
    }
    if (whole < n)
        KS_T(ks_map_load_tile)(n - whole, n - whole, whole, whole, n, slab, from, R, minus);
    for (int i = n; i < np; ++i) {
        R[KS_T(ks_bt_at)(slab, i, i)] = KS_LIT(1);
        minus[KS_T(ks_bt_at)(slab, i, i)] = KS_LIT(-1);
    }
}

/** Which rows of X count in a product with its column i: rows up to i if X is upper triangular, rows from i on if X is
 *  lower triangular. */
enum { KS_MAP_UPPER, KS_MAP_LOWER };

/** Compute the rows of one strip of C - Xᵀ Y, from column j on, with X triangular. symmetric: the result is symmetric,
 *  so its upper triangle is enough. */
KS_HD void KS_T(ks_map_triangle_strip)(int vectors, int shape, int symmetric, int j, int np, int slab,
                                       const KS_NUM *X, const KS_NUM *Y, KS_NUM *C)
{
    const int at = KS_T(ks_bt_at)(slab, 0, j), end = symmetric ? j + vectors * KS_BT_WIDTH : np;
    for (int i = 0; i < np && i < end; i += 4) {
        const int upper = shape == KS_MAP_UPPER, first = symmetric && i < j ? j : i;
        const int from = upper ? 0 : first, to = upper ? i + 4 : np;
        KS_T(ks_bt_product_tile)(4, vectors, i, to - from, slab, X + from * KS_BT_WIDTH,
                                 Y + at + from * KS_BT_WIDTH, C + at, (KS_T(ks_bt_ahead_of) *)0);
    }
}

KS_HD_COLD void KS_T(ks_map_triangle_product)(int n, int shape, int symmetric, const KS_NUM *X,
                                              const KS_NUM *Y, KS_NUM *C)
{
    const int slab = KS_T(ks_map_slab)(n), np = KS_T(ks_map_panel_rows)(n);
    const int columns = KS_T(ks_bt_columns)(n);
    int vectors;
#define KS_STRIP(vectors)                                                                   \
    KS_T(ks_map_triangle_strip)(vectors, shape, symmetric, j, np, slab, X, Y, C)
    for (int j = 0; j < columns; j += vectors * KS_BT_WIDTH) {
        vectors = KS_T(ks_bt_next_strip)(columns - j);
        switch (vectors) {
        case 3: KS_STRIP(3); break;
        case 2: KS_STRIP(2); break;
        default: KS_STRIP(1); break;
        }
    }
#undef KS_STRIP
}

KS_HD void KS_T(ks_map_plus_square)(int n, const KS_NUM *R, const KS_NUM *minus, KS_NUM *C)
{
    KS_T(ks_map_triangle_product)(n, KS_MAP_UPPER, 1, minus, R, C);
}

KS_HD void KS_T(ks_map_less_square)(int n, const KS_NUM *Z, KS_NUM *C)
{
    KS_T(ks_map_triangle_product)(n, KS_MAP_LOWER, 1, Z, Z, C);
}

KS_HD void KS_T(ks_map_less_upper_times)(int n, const KS_NUM *X, const KS_NUM *Y, KS_NUM *C)
{
    KS_T(ks_map_triangle_product)(n, KS_MAP_UPPER, 0, X, Y, C);
}

KS_HD void KS_T(ks_map_less_lower_times)(int n, const KS_NUM *X, const KS_NUM *Y, KS_NUM *C)
{
    KS_T(ks_map_triangle_product)(n, KS_MAP_LOWER, 0, X, Y, C);
}

KS_HD void KS_T(ks_map_clear)(int n, KS_NUM *P)
{
    const int numbers = KS_T(ks_map_panel)(n);
    const KS_T(ks_quad) zero = { 0 };
    for (int i = 0; i < numbers; i += 4) KS_STORE4(P + i, zero);
}

KS_HD_COLD void KS_T(ks_map_transpose_panel)(int n, const KS_NUM *P, KS_NUM *to)
{
    const int slab = KS_T(ks_map_slab)(n), np = KS_T(ks_map_panel_rows)(n);
    for (int i = 0; i < np; i += 4)
        for (int j = 0; j < np; j += 4) {
            const KS_NUM *from = P + KS_T(ks_bt_at)(slab, i, j);
            KS_NUM *transposed = to + KS_T(ks_bt_at)(slab, j, i);
            KS_T(ks_quad) t[4];
#pragma GCC unroll 4
            for (int r = 0; r < 4; ++r) t[r] = KS_LOAD4(from + r * KS_BT_WIDTH);
            KS_TRANSPOSE4(t);
#pragma GCC unroll 4
            for (int r = 0; r < 4; ++r) KS_STORE4(transposed + r * KS_BT_WIDTH, t[r]);
        }
}

KS_HD_COLD void KS_T(ks_map_invert_root)(int n, int place, KS_NUM *P)
{
    const int slab = KS_T(ks_map_slab)(n), np = KS_T(ks_map_panel_rows)(n);
    const int columns = KS_T(ks_bt_columns)(n), first = place * columns;
    const KS_T(ks_quad) zero = { 0 };
    for (int p = 0; p < np; p += 4) {
        const KS_NUM *u = P + KS_T(ks_bt_at)(slab, p, p);
        KS_NUM inverse[4];
        for (int r = 0; r < 4; ++r) {
            for (int j = 0; j <= p; j += 4)
                KS_STORE4(P + KS_T(ks_bt_at)(slab, p + r, first + j), zero);
            P[KS_T(ks_bt_at)(slab, p + r, first + p + r)] = KS_LIT(1);
            inverse[r] = KS_LIT(1) / u[r * KS_BT_WIDTH + r];
        }
        const int end = p / KS_BT_WIDTH * KS_BT_WIDTH + KS_BT_WIDTH;
        int vectors;
        for (int j = 0; j < end; j += vectors * KS_BT_WIDTH) {
            vectors = KS_T(ks_bt_next_strip)(end - j);
#define KS_STRIP(vectors)                                                                   \
    KS_T(ks_bt_row_strip)(vectors, j, p, first + j, slab, P, u, KS_BT_WIDTH, inverse,       \
                          (KS_T(ks_bt_ahead_of) *)0)
            switch (vectors) {
            case 3: KS_STRIP(3); break;
            case 2: KS_STRIP(2); break;
            default: KS_STRIP(1); break;
            }
#undef KS_STRIP
        }
    }
}

KS_HD_COLD void KS_T(ks_map_minus_rows)(int n, int ld, const KS_NUM *P, KS_NUM *to)
{
    const int slab = KS_T(ks_map_slab)(n);
    for (int i = 0; i < ld; i += 4)
        for (int j = i; j < ld; j += 4) {
            const KS_NUM *from = P + KS_T(ks_bt_at)(slab, i, j);
            KS_T(ks_quad) t[4];
#pragma GCC unroll 4
            for (int r = 0; r < 4; ++r) t[r] = -KS_LOAD4(from + r * KS_BT_WIDTH);
            if (i == j) KS_MIRROR4(t);
#pragma GCC unroll 4
            for (int r = 0; r < 4; ++r)
                if (i + r < n) KS_STORE4(to + (i + r) * ld + j, t[r]);
            if (i == j) continue;
            KS_TRANSPOSE4(t);
#pragma GCC unroll 4
            for (int r = 0; r < 4; ++r)
                if (j + r < n) KS_STORE4(to + (j + r) * ld + i, t[r]);
        }
}

KS_HD void KS_T(ks_map_panel_product)(int n, const KS_NUM *X, const KS_NUM *Y, KS_NUM *C)
{
    KS_T(ks_bt_fill_in)(n, KS_T(ks_map_panel_rows)(n), KS_T(ks_map_slab)(n), X, Y, C,
                        (KS_T(ks_bt_ahead_of) *)0);
}

KS_HD void KS_T(ks_map_panel_times)(int n, const KS_NUM *P, const KS_NUM *x, const KS_NUM *y0,
                                    KS_NUM *y)
{
    const int slab = KS_T(ks_map_slab)(n), np = KS_T(ks_map_panel_rows)(n);
    for (int j = 0; j < np; j += 4) {
        const KS_NUM *column = P + KS_T(ks_bt_at)(slab, 0, j);
        KS_T(ks_quad) sum[4] = { KS_LOAD4(y0 + j), { 0 }, { 0 }, { 0 } };
        for (int l = 0; l < np; l += 4)
#pragma GCC unroll 4
            for (int r = 0; r < 4; ++r)
                sum[r] = sum[r] + x[l + r] * KS_LOAD4(column + (l + r) * KS_BT_WIDTH);
        KS_STORE4(y + j, (sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
}

KS_HD_COLD void KS_T(ks_map_root_forward)(int n, const KS_NUM *R, KS_NUM *x)
{
    const int slab = KS_T(ks_map_slab)(n), np = KS_T(ks_map_panel_rows)(n);
    for (int p = 0; p < np; p += 4) {
        const KS_NUM *column = R + KS_T(ks_bt_at)(slab, 0, p), *u = column + p * KS_BT_WIDTH;
        KS_T(ks_quad) sum[4] = { KS_LOAD4(x + p), { 0 }, { 0 }, { 0 } };
        KS_NUM inverse[4], own[4];
        for (int r = 0; r < 4; ++r) inverse[r] = KS_LIT(1) / u[r * KS_BT_WIDTH + r];
        for (int l = 0; l < p; l += 4)
#pragma GCC unroll 4
            for (int r = 0; r < 4; ++r)
                sum[r] = sum[r] - x[l + r] * KS_LOAD4(column + (l + r) * KS_BT_WIDTH);
        KS_STORE4(own, (sum[0] + sum[1]) + (sum[2] + sum[3]));
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) {
            own[r] = own[r] * inverse[r];
#pragma GCC unroll 4
            for (int q = r + 1; q < 4; ++q) own[q] = own[q] - u[r * KS_BT_WIDTH + q] * own[r];
        }
        KS_STORE4(x + p, KS_LOAD4(own));
    }
}

KS_HD_COLD void KS_T(ks_map_root_backward)(int n, const KS_NUM *R, KS_NUM *x)
{
    const int slab = KS_T(ks_map_slab)(n), np = KS_T(ks_map_panel_rows)(n);
    for (int p = np - 4; p >= 0; p -= 4) {
        const KS_NUM *u = R + KS_T(ks_bt_at)(slab, p, p);
        KS_T(ks_quad) sum[4] = { { 0 }, { 0 }, { 0 }, { 0 } };
        KS_NUM inverse[4], own[4];
        for (int r = 0; r < 4; ++r) inverse[r] = KS_LIT(1) / u[r * KS_BT_WIDTH + r];
        for (int j = p + 4; j < np; j += 4) {
            const KS_NUM *rows = R + KS_T(ks_bt_at)(slab, p, j);
            const KS_T(ks_quad) known = KS_LOAD4(x + j);
#pragma GCC unroll 4
            for (int r = 0; r < 4; ++r)
                sum[r] = sum[r] + known * KS_LOAD4(rows + r * KS_BT_WIDTH);
        }
        KS_TRANSPOSE4(sum);
        KS_STORE4(own, KS_LOAD4(x + p) - ((sum[0] + sum[1]) + (sum[2] + sum[3])));
#pragma GCC unroll 4
        for (int r = 3; r >= 0; --r) {
#pragma GCC unroll 4
            for (int q = r + 1; q < 4; ++q) own[r] = own[r] - u[r * KS_BT_WIDTH + q] * own[q];
            own[r] = own[r] * inverse[r];
        }
        KS_STORE4(x + p, KS_LOAD4(own));
    }
}
