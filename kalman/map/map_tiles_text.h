/* map_tiles_text.h -- the operations of map_ops_text.h written for vector registers; see num_f64.h and tile_text.h. For
 * plain C on the CPU.
 *
 * Rows are padded to whole vectors. n is a literal where that pays; loops are then unrolled. */

/** Add a single pivot to the evidence, at once if it would leave the range of a product. */
KS_HD void KS_T(ks_map_gather)(ks_evidence *e, KS_NUM pivot)
{
    if (pivot > 1e-150 && pivot < 1e150)
        ks_gather_determinant(e, (double)pivot);
    else
        e->logs += log((double)pivot);
}

/** Add n pivots, a literal count: by one product, if that stays in range. */
KS_HD void KS_T(ks_map_gather_pivots)(int n, const KS_NUM *d, ks_evidence *e)
{
    KS_NUM product = d[0];
#pragma GCC unroll 8
    for (int i = 1; i < n; ++i) product = product * d[i];
    if (product > 1e-120 && product < 1e120) {
        ks_gather_determinant(e, (double)product);
        return;
    }
    for (int i = 0; i < n; ++i) KS_T(ks_map_gather)(e, d[i]);
}

KS_HD int KS_T(ks_map_ld)(int n) { return KS_T(ks_padded)(n); }

KS_HD void KS_T(ks_map_load)(int m, int n, int ld, const KS_NUM *from, KS_NUM *to)
{
    for (int i = 0; i < m; ++i) {
        int j = 0;
        for (; j + 4 <= n; j += 4) KS_STORE4(to + i * ld + j, KS_LOAD4(from + i * n + j));
        for (; j < n; ++j) to[i * ld + j] = from[i * n + j];
    }
}

KS_HD void KS_T(ks_map_store)(int m, int n, int ld, const KS_NUM *from, KS_NUM *to)
{
    for (int i = 0; i < m; ++i) {
        int j = 0;
        for (; j + 4 <= n; j += 4) KS_STORE4(to + i * n + j, KS_LOAD4(from + i * ld + j));
        for (; j < n; ++j) to[i * n + j] = from[i * ld + j];
    }
}

KS_HD void KS_T(ks_map_transpose)(int m, int n, int ld, int ldb, const KS_NUM *A, KS_NUM *B)
{
    KS_T(ks_transpose_rows)(m, n, A, ld, B, ldb);
}

KS_HD void KS_T(ks_map_store_transposed)(int n, int ld, const KS_NUM *from, KS_NUM *to)
{
    KS_T(ks_transpose_rows)(n, n, from, ld, to, n);
}

KS_HD void KS_T(ks_map_sum)(int n, int ld, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
    for (int i = 0; i < n * ld; i += 4) KS_STORE4(C + i, KS_LOAD4(A + i) + KS_LOAD4(B + i));
}

KS_HD void KS_T(ks_map_minus)(int numbers, const KS_NUM *a, const KS_NUM *b, KS_NUM *c)
{
    for (int i = 0; i < numbers; i += 4) KS_STORE4(c + i, KS_LOAD4(a + i) - KS_LOAD4(b + i));
}

KS_HD void KS_T(ks_map_times)(int n, int ld, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
    KS_T(ks_tiles)(0, 0, n, n, ld, A, ld, 1, B, ld, C, ld, C, ld);
}

KS_HD void KS_T(ks_map_transposed_times)(int n, int ld, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
    KS_T(ks_tiles)(0, 0, n, n, ld, A, 1, ld, B, ld, C, ld, C, ld);
}

KS_HD void KS_T(ks_map_less_transposed)(int n, int ld, const KS_NUM *A, const KS_NUM *B,
                                        const KS_NUM *C0, KS_NUM *C)
{
    KS_T(ks_tiles)(0, -1, n, n, ld, A, 1, ld, B, ld, C0, ld, C, ld);
}

KS_HD void KS_T(ks_map_symmetric)(int n, int k, int ld, const KS_NUM *A, const KS_NUM *B,
                                  const KS_NUM *C0, KS_NUM *C)
{
    KS_T(ks_tiles)(1, 1, n, k, ld, A, 1, ld, B, ld, C0, ld, C, ld);
    KS_T(ks_mirror_upper)(n, 1, C, ld);
}

KS_HD void KS_T(ks_map_mirror)(int n, int ld, KS_NUM *A)
{
    KS_T(ks_mirror_upper)(n, 1, A, ld);
}

KS_HD void KS_T(ks_map_rows)(int k, int ld, const KS_NUM *A, const KS_NUM *x, const KS_NUM *y0,
                             KS_NUM *y)
{
    KS_T(ks_combine_rows)(1, k, ld, A, x, y0, y);
}

KS_HD void KS_T(ks_map_less_rows)(int k, int ld, const KS_NUM *A, const KS_NUM *x, const KS_NUM *y0,
                                  KS_NUM *y)
{
    KS_T(ks_combine_rows)(-1, k, ld, A, x, y0, y);
}

/** ks_map_dot() of whole matrices, with enough partial sums that none has to be awaited. */
KS_HD KS_NUM KS_T(ks_map_long_dot)(int numbers, const KS_NUM *a, const KS_NUM *b)
{
    KS_T(ks_lanes) sum[4] = { { 0 } };
    int i = 0;
    for (; i + 4 * KS_LANES <= numbers; i += 4 * KS_LANES)
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v)
            sum[v] = sum[v] + KS_LOADV(a + i + v * KS_LANES) * KS_LOADV(b + i + v * KS_LANES);
    for (; i < numbers; i += KS_LANES) sum[0] = sum[0] + KS_LOADV(a + i) * KS_LOADV(b + i);
    sum[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    KS_NUM total = KS_LIT(0);
#pragma GCC unroll 8
    for (int r = 0; r < KS_LANES; ++r) total = total + sum[0][r];
    return total;
}

KS_HD KS_NUM KS_T(ks_map_dot)(int numbers, const KS_NUM *a, const KS_NUM *b)
{
    if (numbers >= 256) return KS_T(ks_map_long_dot)(numbers, a, b);
    KS_T(ks_quad) even = { 0 }, odd = { 0 };
    int i = 0;
    for (; i + 8 <= numbers; i += 8) {
        even = even + KS_LOAD4(a + i) * KS_LOAD4(b + i);
        odd = odd + KS_LOAD4(a + i + 4) * KS_LOAD4(b + i + 4);
    }
    if (i < numbers) even = even + KS_LOAD4(a + i) * KS_LOAD4(b + i);
    even = even + odd;
    return (even[0] + even[2]) + (even[1] + even[3]);
}

/** ks_map_whiten() for `vectors` vectors of columns, a literal: their sums do not wait for each other. */
KS_HD void KS_T(ks_map_whiten_strip)(int vectors, int n, int ld, const KS_NUM *LD, const KS_NUM *A,
                                     KS_NUM *B)
{
    for (int i = 0; i < n; ++i) {
        KS_T(ks_quad) row[3];
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) row[v] = KS_LOAD4(A + i * ld + 4 * v);
        for (int j = 0; j < i; ++j)
#pragma GCC unroll 3
            for (int v = 0; v < vectors; ++v)
                row[v] = row[v] - LD[i * n + j] * KS_LOAD4(B + j * ld + 4 * v);
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) KS_STORE4(B + i * ld + 4 * v, row[v]);
    }
}

KS_HD void KS_T(ks_map_whiten)(int n, int ld, const KS_NUM *LD, const KS_NUM *A, KS_NUM *B)
{
    int c = 0;
    for (; c + 12 <= ld; c += 12) KS_T(ks_map_whiten_strip)(3, n, ld, LD, A + c, B + c);
    for (; c < ld; c += 4) KS_T(ks_map_whiten_strip)(1, n, ld, LD, A + c, B + c);
}

/** The same for ks_map_unwhiten(). */
KS_HD void KS_T(ks_map_unwhiten_strip)(int vectors, int n, int ld, const KS_NUM *LD, KS_NUM *B)
{
    for (int i = n - 2; i >= 0; --i) {
        KS_T(ks_quad) row[3];
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) row[v] = KS_LOAD4(B + i * ld + 4 * v);
        for (int j = n - 1; j > i; --j)
#pragma GCC unroll 3
            for (int v = 0; v < vectors; ++v)
                row[v] = row[v] - LD[j * n + i] * KS_LOAD4(B + j * ld + 4 * v);
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) KS_STORE4(B + i * ld + 4 * v, row[v]);
    }
}

KS_HD void KS_T(ks_map_unwhiten)(int n, int ld, const KS_NUM *LD, KS_NUM *B)
{
    int c = 0;
    for (; c + 12 <= ld; c += 12) KS_T(ks_map_unwhiten_strip)(3, n, ld, LD, B + c);
    for (; c < ld; c += 4) KS_T(ks_map_unwhiten_strip)(1, n, ld, LD, B + c);
}

KS_HD void KS_T(ks_map_weighted)(int m, int ld, const KS_NUM *w, const KS_NUM *A, KS_NUM *B)
{
    for (int i = 0; i < m; ++i)
        for (int c = 0; c < ld; c += 4) KS_STORE4(B + i * ld + c, w[i] * KS_LOAD4(A + i * ld + c));
}

KS_HD void KS_T(ks_map_scaled)(int numbers, const KS_NUM *w, const KS_NUM *x, KS_NUM *y)
{
    for (int i = 0; i < numbers; i += 4) KS_STORE4(y + i, KS_LOAD4(w + i) * KS_LOAD4(x + i));
}

/** A vector of lane `lane`, a literal, four times. */
#define KS_MAP_SPLAT(v, lane)                                                               \
    ((lane) == 0   ? KS_MIX(v, v, 0, 0, 0, 0)                                               \
     : (lane) == 1 ? KS_MIX(v, v, 1, 1, 1, 1)                                               \
     : (lane) == 2 ? KS_MIX(v, v, 2, 2, 2, 2)                                               \
                   : KS_MIX(v, v, 3, 3, 3, 3))

/** ks_map_root() for a literal n up to 8: rows of [C | I] are reduced side by side. */
KS_HD int KS_T(ks_map_root_in_registers)(int n, double pivot, const KS_NUM *C, KS_NUM *LD,
                                         KS_NUM *inverse_d, KS_NUM *root, KS_NUM *W, ks_evidence *e)
{
    const int ld = KS_T(ks_map_ld)(n), vectors = ld / 4;
    KS_T(ks_quad) row[8][2], unit[8][2];
    KS_NUM d[8];
    const KS_NUM *rows = C;
    if (n != ld) {
        KS_T(ks_map_load)(n, n, ld, C, W);
        rows = W;
    }
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) {
            row[i][v] = KS_LOAD4(rows + i * ld + 4 * v);
            unit[i][v] = (KS_T(ks_quad)){ i == 4 * v, i == 4 * v + 1, i == 4 * v + 2, i == 4 * v + 3 };
        }
#pragma GCC unroll 8
    for (int k = 0; k < n; ++k) {
        const KS_T(ks_quad) p = KS_MAP_SPLAT(row[k][k / 4], k % 4);
        const KS_T(ks_quad) inverse = ((KS_T(ks_quad)){ 0 } + KS_LIT(1)) / p;
        d[k] = p[0];
        inverse_d[k] = inverse[0];
#pragma GCC unroll 8
        for (int i = k + 1; i < n; ++i) {
            const KS_T(ks_quad) l = KS_MAP_SPLAT(row[i][k / 4], k % 4) * inverse;
            LD[i * n + k] = l[0];
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v) {
                if (v >= k / 4) row[i][v] = row[i][v] - l * row[k][v];
                if (v <= k / 4) unit[i][v] = unit[i][v] - l * unit[k][v];
            }
        }
    }
    int bad = -1;
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i) {
        const KS_NUM least = KS_LIT(pivot) * rows[i * ld + i];
        if (!((d[i] > least) & (d[i] > KS_LIT(0)) & (d[i] < KS_LIT(KS_LARGEST))) && bad < 0) bad = i;
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) KS_STORE4(root + i * ld + 4 * v, unit[i][v]);
    }
    if (e) KS_T(ks_map_gather_pivots)(n, d, e);
    return bad;
}

/** The same for any n. */
KS_HD int KS_T(ks_map_root_by_rows)(int n, int ld, double pivot, const KS_NUM *C, KS_NUM *LD,
                                    KS_NUM *inverse_d, KS_NUM *root, ks_evidence *e)
{
    const int bad = KS_T(ks_map_factor)(n, pivot, C, LD, inverse_d);
    if (bad >= 0) return bad;
    for (int i = 0; e && i < n; ++i) KS_T(ks_map_gather)(e, LD[i * n + i]);
    for (int c = 0; c < ld; c += 4)
        for (int i = 0; i < n; ++i) {
            KS_T(ks_quad) row = { i == c, i == c + 1, i == c + 2, i == c + 3 };
            for (int j = c; j < i; ++j) row = row - LD[i * n + j] * KS_LOAD4(root + j * ld + c);
            KS_STORE4(root + i * ld + c, row);
        }
    return -1;
}

KS_HD int KS_T(ks_map_root)(int n, int ld, double pivot, const KS_NUM *C, KS_NUM *LD,
                            KS_NUM *inverse_d, KS_NUM *root, KS_NUM *W, ks_evidence *e)
{
    return __builtin_constant_p(n) && n <= 8
               ? KS_T(ks_map_root_in_registers)(n, pivot, C, LD, inverse_d, root, W, e)
               : KS_T(ks_map_root_by_rows)(n, ld, pivot, C, LD, inverse_d, root, e);
}

/** Return whether the diagonal of n rows, a literal count, allows ks_map_sweep_pair() to multiply three entries before
 *  it divides.
 *
 *  With m the diagonal, a sweep is that of the block scaled to unit diagonal, with entries √(m_i m_j), √(m_i / m_j) or
 *  1 / √(m_i m_j) times as large. What rows k and k + 1 add to another row is first multiplied by their determinant,
 *  m_k m_k+1 times one of these factors. If all m are within e .. 1 / e it is within e³ .. 1 / e³. e = 1e-80 leaves 68
 *  digits to both ends of the range of double. Cancellation takes fewer in any block that ks_map_bounds_do() accepts,
 *  where S_ii is at most 1e13 / m_i: at most 13 digits of a pivot, 26 of a determinant. */
KS_HD int KS_T(ks_map_sweeps)(int n, KS_T(ks_quad) row[12][3])
{
    KS_NUM least = KS_LIT(1), most = KS_LIT(1);
#pragma GCC unroll 12
    for (int i = 0; i < n; ++i) {
        const KS_NUM m = row[i][i / 4][i % 4];
        least = m < least ? m : least;
        most = m > most ? m : most;
    }
    return (least > KS_LIT(1e-80)) & (most < KS_LIT(1e80));
}

/** Sweep rows k and k + 1, k even, of n rows of `vectors` vectors; all three are literals. One division by the
 *  determinant of the two rows serves both; what it multiplies is ready before it. Return the determinant if both
 *  pivots are positive, else 0. */
KS_HD KS_NUM KS_T(ks_map_sweep_pair)(int n, int vectors, int k, KS_T(ks_quad) row[12][3])
{
    const int v0 = k / 4, lane = k % 4;
    const KS_T(ks_quad) zero = { 0 }, one = zero + KS_LIT(1);
    const KS_T(ks_quad) a = KS_MAP_SPLAT(row[k][v0], lane);
    const KS_T(ks_quad) b = KS_MAP_SPLAT(row[k][v0], lane + 1);
    const KS_T(ks_quad) d = KS_MAP_SPLAT(row[k + 1][v0], lane + 1);
    const KS_T(ks_quad) determinant = a * d - b * b, inverse = one / determinant;
    KS_T(ks_quad) top[3], next[3];
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) {
        KS_T(ks_quad) t = row[k][v], u = row[k + 1][v];
        if (v == v0) {
            t = lane == 0 ? KS_MIX(t, one, 4, 3, 2, 3) : KS_MIX(t, one, 0, 1, 4, 3);
            u = lane == 0 ? KS_MIX(u, one, 0, 4, 2, 3) : KS_MIX(u, one, 0, 1, 2, 4);
            t = lane == 0 ? KS_MIX(t, zero, 0, 4, 2, 3) : KS_MIX(t, zero, 0, 1, 2, 4);
            u = lane == 0 ? KS_MIX(u, zero, 4, 1, 2, 3) : KS_MIX(u, zero, 0, 1, 4, 3);
        }
        top[v] = d * t - b * u;
        next[v] = a * u - b * t;
    }
#pragma GCC unroll 12
    for (int i = 0; i < n; ++i) {
        if (i == k || i == k + 1) continue;
        const KS_T(ks_quad) x = KS_MAP_SPLAT(row[i][v0], lane);
        const KS_T(ks_quad) y = KS_MAP_SPLAT(row[i][v0], lane + 1);
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) {
            KS_T(ks_quad) r = row[i][v];
            if (v == v0)
                r = lane == 0 ? KS_MIX(r, zero, 4, 5, 2, 3) : KS_MIX(r, zero, 0, 1, 4, 5);
            row[i][v] = r - (x * top[v] + y * next[v]) * inverse;
        }
    }
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) {
        row[k][v] = top[v] * inverse;
        row[k + 1][v] = next[v] * inverse;
    }
    return a[0] > KS_LIT(0) && determinant[0] > KS_LIT(0) ? determinant[0] : KS_LIT(0);
}

/** ks_map_inverse() for a literal n up to 12. An odd n is swept with an additional row of the identity, whose column is
 *  the first one of the padding. A block in units too large or too small is reported as bad. */
KS_HD int KS_T(ks_map_inverse_in_registers)(int n, const KS_NUM *A, const KS_NUM *B, KS_NUM *P,
                                            ks_evidence *e)
{
    KS_T(ks_quad) row[12][3];
    KS_NUM determinant[6];
    const int ld = KS_T(ks_map_ld)(n), vectors = ld / 4, even = n + n % 2;
#pragma GCC unroll 12
    for (int i = 0; i < n; ++i)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) row[i][v] = KS_LOAD4(A + i * ld + 4 * v);
    if (B)
#pragma GCC unroll 12
        for (int i = 0; i < n; ++i)
#pragma GCC unroll 3
            for (int v = 0; v < vectors; ++v)
                row[i][v] = row[i][v] + KS_LOAD4(B + i * ld + 4 * v);
    int bad = KS_T(ks_map_sweeps)(n, row) ? -1 : 0;
    if (even > n)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v)
            row[n][v] = (KS_T(ks_quad)){ n == 4 * v, n == 4 * v + 1, n == 4 * v + 2, n == 4 * v + 3 };
#pragma GCC unroll 6
    for (int k = 0; k < even; k += 2)
        determinant[k / 2] = KS_T(ks_map_sweep_pair)(even, vectors, k, row);
#pragma GCC unroll 12
    for (int i = 0; i < n; ++i)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) KS_STORE4(P + i * ld + 4 * v, row[i][v]);
#pragma GCC unroll 6
    for (int k = 0; k < even; k += 2)
        if (!(determinant[k / 2] > KS_LIT(0)) && bad < 0) bad = k;
    KS_T(ks_map_gather_pivots)(even / 2, determinant, e);
    return bad;
}

/** The same for any n, row after row. */
KS_HD int KS_T(ks_map_inverse_by_rows)(int n, int ld, const KS_NUM *A, const KS_NUM *B, KS_NUM *P,
                                       ks_evidence *e)
{
    int bad = -1;
    for (int i = 0; i < n * ld; i += 4)
        KS_STORE4(P + i, B ? KS_LOAD4(A + i) + KS_LOAD4(B + i) : KS_LOAD4(A + i));
    for (int k = 0; k < n; ++k) {
        KS_NUM *own = P + k * ld;
        const KS_NUM pivot = own[k], inverse = KS_LIT(1) / pivot;
        if (!(pivot > KS_LIT(0)) && bad < 0) bad = k;
        KS_T(ks_map_gather)(e, pivot);
        own[k] = KS_LIT(1);
        for (int c = 0; c < ld; c += 4) KS_STORE4(own + c, KS_LOAD4(own + c) * inverse);
        for (int i = 0; i < n; ++i) {
            if (i == k) continue;
            KS_NUM *row = P + i * ld;
            const KS_NUM a = row[k];
            row[k] = KS_LIT(0);
            for (int c = 0; c < ld; c += 4)
                KS_STORE4(row + c, KS_LOAD4(row + c) - a * KS_LOAD4(own + c));
        }
    }
    return bad;
}

KS_HD int KS_T(ks_map_inverse)(int n, int ld, const KS_NUM *A, const KS_NUM *B, KS_NUM *P,
                               ks_evidence *e)
{
    return __builtin_constant_p(n) && n <= 8
               ? KS_T(ks_map_inverse_in_registers)(n, A, B, P, e)
               : KS_T(ks_map_inverse_by_rows)(n, ld, A, B, P, e);
}
#undef KS_MAP_SPLAT
