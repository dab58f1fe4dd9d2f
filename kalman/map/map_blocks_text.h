/* map_blocks_text.h -- the operations of map_wide_text.h in plain loops over any number type; see num_f64.h. They are
 * the reference for map_panels_text.h, which has the same functions for vector registers, and what `kalscan count`
 * counts.
 *
 * A panel is an (n, n) block, here stored row by row. Of symmetric panels and of factors R, with Rᵀ R, only the upper
 * triangle is used. Behind a factor in memory are its couplings and room for its inverse. */

/** Return the numbers of a panel. */
KS_HD int KS_T(ks_map_panel)(int n) { return n * n; }

/** Panel <- rows. unit: 1 if the panel, or a sum with it, is to be factored, else 0. */
KS_HD void KS_T(ks_map_to_panel)(int n, int ld, int unit, const KS_NUM *from, KS_NUM *P)
{
    (void)ld, (void)unit;
    KS_T(ks_copy)(n * n, from, P);
}

/** Rows <- panel. */
KS_HD void KS_T(ks_map_from_panel)(int n, int ld, const KS_NUM *P, KS_NUM *to)
{
    (void)ld;
    KS_T(ks_copy)(n * n, P, to);
}

/** C = A + B, upper triangles. */
KS_HD void KS_T(ks_map_panel_sum)(int n, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
    for (int i = 0; i < n; ++i)
        for (int j = i; j < n; ++j) C[i * n + j] = A[i * n + j] + B[i * n + j];
}

/** P <- its factor R; the couplings behind it (none or one) <- R⁻ᵀ times them. The squares of R's diagonal go to the
 *  evidence, unless it is NULL. soon: n * n numbers to prefetch, or NULL. Return -1, or the row that is not
 *  positive. */
KS_HD int KS_T(ks_map_cholesky)(int n, int couplings, KS_NUM *P, const KS_NUM *soon, ks_evidence *e)
{
    (void)soon;
    KS_NUM *W = P + n * n;
    for (int i = 0; i < n; ++i) {
        const KS_NUM pivot = P[i * n + i];
        if (!KS_GT(pivot, KS_LIT(0))) return i;
        if (e) ks_gather_determinant(e, (double)pivot);
        const KS_NUM root = KS_SQRT(pivot), inverse = KS_LIT(1) / root;
        P[i * n + i] = root;
        for (int j = i + 1; j < n; ++j) P[i * n + j] = P[i * n + j] * inverse;
        for (int j = 0; couplings && j < n; ++j) W[i * n + j] = W[i * n + j] * inverse;
        for (int l = i + 1; l < n; ++l) {
            for (int j = l; j < n; ++j) P[l * n + j] = P[l * n + j] - P[i * n + l] * P[i * n + j];
            for (int j = 0; couplings && j < n; ++j)
                W[l * n + j] = W[l * n + j] - P[i * n + l] * W[i * n + j];
        }
    }
    return -1;
}

/** C <- C - Wᵀ W. */
KS_HD void KS_T(ks_map_less_gram)(int n, const KS_NUM *W, KS_NUM *C)
{
    for (int l = 0; l < n; ++l)
        for (int i = 0; i < n; ++i)
            for (int j = i; j < n; ++j)
                C[i * n + j] = C[i * n + j] - W[l * n + i] * W[l * n + j];
}

/** Store a factor in n * n numbers. */
KS_HD void KS_T(ks_map_store_root)(int n, const KS_NUM *R, KS_NUM *to)
{
    KS_T(ks_copy)(n * n, R, to);
}

/** Load it again, and minus it. */
KS_HD void KS_T(ks_map_load_root)(int n, const KS_NUM *from, KS_NUM *R, KS_NUM *minus)
{
    KS_T(ks_copy)(n * n, from, R);
    (void)minus;
}

/** C <- C + Rᵀ R. */
KS_HD void KS_T(ks_map_plus_square)(int n, const KS_NUM *R, const KS_NUM *minus, KS_NUM *C)
{
    (void)minus;
    for (int l = 0; l < n; ++l)
        for (int i = l; i < n; ++i)
            for (int j = i; j < n; ++j)
                C[i * n + j] = C[i * n + j] + R[l * n + i] * R[l * n + j];
}

/** Put R⁻ᵀ, lower triangular, in block number `place` behind the factor. */
KS_HD void KS_T(ks_map_invert_root)(int n, int place, KS_NUM *P)
{
    KS_NUM *Z = P + place * n * n;
    for (int i = 0; i < n; ++i) {
        const KS_NUM inverse = KS_LIT(1) / P[i * n + i];
        for (int j = 0; j < n; ++j) Z[i * n + j] = KS_LIT(0);
        for (int l = 0; l < i; ++l)
            for (int j = 0; j <= l; ++j)
                Z[i * n + j] = Z[i * n + j] - P[l * n + i] * Z[l * n + j];
        for (int j = 0; j < i; ++j) Z[i * n + j] = Z[i * n + j] * inverse;
        Z[i * n + i] = inverse;
    }
}

/** C <- C - Zᵀ Z with Z lower triangular, as the inverse of a factor is. */
KS_HD void KS_T(ks_map_less_square)(int n, const KS_NUM *Z, KS_NUM *C)
{
    for (int l = 0; l < n; ++l)
        for (int i = 0; i <= l; ++i)
            for (int j = i; j <= l; ++j)
                C[i * n + j] = C[i * n + j] - Z[l * n + i] * Z[l * n + j];
}

/** C <- C - Xᵀ Y with X upper triangular. */
KS_HD void KS_T(ks_map_less_upper_times)(int n, const KS_NUM *X, const KS_NUM *Y, KS_NUM *C)
{
    for (int i = 0; i < n; ++i)
        for (int l = 0; l <= i; ++l)
            for (int j = 0; j < n; ++j)
                C[i * n + j] = C[i * n + j] - X[l * n + i] * Y[l * n + j];
}

/** C <- C - Xᵀ Y with X lower triangular. */
KS_HD void KS_T(ks_map_less_lower_times)(int n, const KS_NUM *X, const KS_NUM *Y, KS_NUM *C)
{
    for (int i = 0; i < n; ++i)
        for (int l = i; l < n; ++l)
            for (int j = 0; j < n; ++j)
                C[i * n + j] = C[i * n + j] - X[l * n + i] * Y[l * n + j];
}

/** P = 0. */
KS_HD void KS_T(ks_map_clear)(int n, KS_NUM *P)
{
    for (int i = 0; i < n * n; ++i) P[i] = KS_LIT(0);
}

/** P = 0 in the upper triangle. */
KS_HD void KS_T(ks_map_clear_upper)(int n, KS_NUM *P)
{
    for (int i = 0; i < n; ++i)
        for (int j = i; j < n; ++j) P[i * n + j] = KS_LIT(0);
}

/** Copy a panel. */
KS_HD void KS_T(ks_map_panel_copy)(int n, const KS_NUM *P, KS_NUM *to)
{
    KS_T(ks_copy)(n * n, P, to);
}

/** Transpose a panel. */
KS_HD void KS_T(ks_map_transpose_panel)(int n, const KS_NUM *P, KS_NUM *to)
{
    KS_T(ks_transpose)(n, n, P, to);
}

/** Rows, symmetric to the bit, <- minus the upper triangle of a panel. */
KS_HD void KS_T(ks_map_minus_rows)(int n, int ld, const KS_NUM *P, KS_NUM *to)
{
    for (int i = 0; i < n; ++i)
        for (int j = i; j < n; ++j) to[i * ld + j] = to[j * ld + i] = -P[i * n + j];
}

/** C = -Xᵀ Y for full panels. */
KS_HD void KS_T(ks_map_panel_product)(int n, const KS_NUM *X, const KS_NUM *Y, KS_NUM *C)
{
    for (int i = 0; i < n * n; ++i) C[i] = KS_LIT(0);
    KS_T(ks_mtm_sub)(n, n, n, X, Y, C);
}

/** y = y0 + Pᵀ x. */
KS_HD void KS_T(ks_map_panel_times)(int n, const KS_NUM *P, const KS_NUM *x, const KS_NUM *y0,
                                    KS_NUM *y)
{
    KS_T(ks_map_rows)(n, n, P, x, y0, y);
}

/** x <- R⁻ᵀ x. */
KS_HD void KS_T(ks_map_root_forward)(int n, const KS_NUM *R, KS_NUM *x)
{
    for (int i = 0; i < n; ++i) {
        for (int l = 0; l < i; ++l) x[i] = x[i] - R[l * n + i] * x[l];
        x[i] = x[i] / R[i * n + i];
    }
}

/** x <- R⁻¹ x. */
KS_HD void KS_T(ks_map_root_backward)(int n, const KS_NUM *R, KS_NUM *x)
{
    for (int i = n - 1; i >= 0; --i) {
        for (int j = i + 1; j < n; ++j) x[i] = x[i] - R[i * n + j] * x[j];
        x[i] = x[i] / R[i * n + i];
    }
}
