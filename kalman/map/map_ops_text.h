/* map_ops_text.h -- the matrix operations of map_chain_text.h in plain loops over any number type; see num_f64.h. They
 * are the reference for map_tiles_text.h, which has the same functions for vector registers, and what `kalscan count`
 * counts.
 *
 * Matrices have n rows that are `ld` numbers apart, here n. Padding behind the end of a row is zero. */

/** Add a single pivot to the evidence. */
KS_HD void KS_T(ks_map_gather)(ks_evidence *e, KS_NUM pivot)
{
    ks_gather_determinant(e, (double)pivot);
}

/** Return the distance of rows, which is also the number of rows in memory of a square matrix. */
KS_HD int KS_T(ks_map_ld)(int n) { return n; }

/** Rows ld apart <- m contiguous rows of n numbers. */
KS_HD void KS_T(ks_map_load)(int m, int n, int ld, const KS_NUM *from, KS_NUM *to)
{
    (void)ld;
    KS_T(ks_copy)(m * n, from, to);
}

/** m contiguous rows of n numbers <- rows ld apart. */
KS_HD void KS_T(ks_map_store)(int m, int n, int ld, const KS_NUM *from, KS_NUM *to)
{
    (void)ld;
    KS_T(ks_copy)(m * n, from, to);
}

/** The same, transposed. */
KS_HD void KS_T(ks_map_store_transposed)(int n, int ld, const KS_NUM *from, KS_NUM *to)
{
    (void)ld;
    KS_T(ks_transpose)(n, n, from, to);
}

/** B (columns ldb apart) <- Aᵀ with A (m, n). */
KS_HD void KS_T(ks_map_transpose)(int m, int n, int ld, int ldb, const KS_NUM *A, KS_NUM *B)
{
    (void)ld, (void)ldb;
    KS_T(ks_transpose)(m, n, A, B);
}

/** C = A + B. */
KS_HD void KS_T(ks_map_sum)(int n, int ld, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
    for (int i = 0; i < n * ld; ++i) C[i] = A[i] + B[i];
}

/** c = a - b of `numbers` numbers, a multiple of ld. */
KS_HD void KS_T(ks_map_minus)(int numbers, const KS_NUM *a, const KS_NUM *b, KS_NUM *c)
{
    for (int i = 0; i < numbers; ++i) c[i] = a[i] - b[i];
}

/** C = A B. */
KS_HD void KS_T(ks_map_times)(int n, int ld, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
    (void)ld;
    KS_T(ks_mm)(n, n, n, A, B, C);
}

/** C = Aᵀ B. */
KS_HD void KS_T(ks_map_transposed_times)(int n, int ld, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
    (void)ld;
    for (int i = 0; i < n * n; ++i) C[i] = KS_LIT(0);
    KS_T(ks_mtm_add)(n, n, n, A, B, C);
}

/** C = C0 - Aᵀ B. */
KS_HD void KS_T(ks_map_less_transposed)(int n, int ld, const KS_NUM *A, const KS_NUM *B,
                                        const KS_NUM *C0, KS_NUM *C)
{
    KS_T(ks_copy)(n * ld, C0, C);
    KS_T(ks_mtm_sub)(n, n, n, A, B, C);
}

/** C = C0 + Aᵀ B with k rows in A and B. The result must be symmetric, and is so to the bit. */
KS_HD void KS_T(ks_map_symmetric)(int n, int k, int ld, const KS_NUM *A, const KS_NUM *B,
                                  const KS_NUM *C0, KS_NUM *C)
{
    KS_T(ks_copy)(n * ld, C0, C);
    KS_T(ks_mtm_add)(n, k, n, A, B, C);
    KS_T(ks_mirror)(n, C);
}

/** Make A symmetric to the bit. */
KS_HD void KS_T(ks_map_mirror)(int n, int ld, KS_NUM *A)
{
    (void)ld;
    KS_T(ks_mirror)(n, A);
}

/** y = y0 + x[0] A[0] + .. + x[k-1] A[k-1], for rows of ld numbers. */
KS_HD void KS_T(ks_map_rows)(int k, int ld, const KS_NUM *A, const KS_NUM *x, const KS_NUM *y0,
                             KS_NUM *y)
{
    if (y != y0)
        for (int j = 0; j < ld; ++j) y[j] = y0[j];
    KS_T(ks_mtv_add)(k, ld, A, x, y);
}

/** y = y0 - x[0] A[0] - .. - x[k-1] A[k-1]. */
KS_HD void KS_T(ks_map_less_rows)(int k, int ld, const KS_NUM *A, const KS_NUM *x, const KS_NUM *y0,
                                  KS_NUM *y)
{
    if (y != y0)
        for (int j = 0; j < ld; ++j) y[j] = y0[j];
    KS_T(ks_mtv_sub)(k, ld, A, x, y);
}

/** Return a · b of `numbers` numbers, a multiple of ld. For matrices that is trace(Aᵀ B). */
KS_HD KS_NUM KS_T(ks_map_dot)(int numbers, const KS_NUM *a, const KS_NUM *b)
{
    KS_NUM sum = KS_LIT(0);
    for (int i = 0; i < numbers; ++i) sum = sum + a[i] * b[i];
    return sum;
}

/** B <- L⁻¹ A for n rows. LD is that of ks_ldl(), its rows n numbers apart. */
KS_HD void KS_T(ks_map_whiten)(int n, int ld, const KS_NUM *LD, const KS_NUM *A, KS_NUM *B)
{
    KS_T(ks_copy)(n * ld, A, B);
    KS_T(ks_ldl_forward)(n, ld, LD, B);
}

/** B <- L⁻ᵀ B. */
KS_HD void KS_T(ks_map_unwhiten)(int n, int ld, const KS_NUM *LD, KS_NUM *B)
{
    for (int i = n - 2; i >= 0; --i)
        for (int j = i + 1; j < n; ++j)
            for (int c = 0; c < ld; ++c)
                B[i * ld + c] = B[i * ld + c] - LD[j * n + i] * B[j * ld + c];
}

/** Row i of B <- w[i] times row i of A, for m rows. */
KS_HD void KS_T(ks_map_weighted)(int m, int ld, const KS_NUM *w, const KS_NUM *A, KS_NUM *B)
{
    for (int i = 0; i < m; ++i)
        for (int c = 0; c < ld; ++c) B[i * ld + c] = w[i] * A[i * ld + c];
}

/** Factor the covariance C, whose rows are n numbers apart, to L D Lᵀ, and compute the rows of L⁻¹; see
 *  ks_map_factor(). Pivots go to the evidence, unless it is NULL. W holds a matrix. Return -1, or the row that is not
 *  positive. */
KS_HD int KS_T(ks_map_root)(int n, int ld, double pivot, const KS_NUM *C, KS_NUM *LD,
                            KS_NUM *inverse_d, KS_NUM *root, KS_NUM *W, ks_evidence *e)
{
    (void)W;
    const int bad = KS_T(ks_map_factor)(n, pivot, C, LD, inverse_d);
    if (bad >= 0) return bad;
    for (int i = 0; i < n; ++i) {
        if (e) KS_T(ks_map_gather)(e, LD[i * n + i]);
        for (int c = 0; c < ld; ++c) root[i * ld + c] = KS_LIT(c == i);
        for (int j = 0; j < i; ++j)
            for (int c = 0; c <= j; ++c)
                root[i * ld + c] = root[i * ld + c] - LD[i * n + j] * root[j * ld + c];
    }
    return -1;
}

/** y = w x, entry by entry. */
KS_HD void KS_T(ks_map_scaled)(int numbers, const KS_NUM *w, const KS_NUM *x, KS_NUM *y)
{
    for (int i = 0; i < numbers; ++i) y[i] = w[i] * x[i];
}

/** P <- the inverse of the symmetric positive definite A + B, or of A if B is NULL, by sweeping row after row. Pivots
 *  go to the evidence. Return -1, or the row whose pivot is not positive. */
KS_HD int KS_T(ks_map_inverse)(int n, int ld, const KS_NUM *A, const KS_NUM *B, KS_NUM *P,
                               ks_evidence *e)
{
    int bad = -1;
    for (int i = 0; i < n * ld; ++i) P[i] = B ? A[i] + B[i] : A[i];
    for (int k = 0; k < n; ++k) {
        const KS_NUM pivot = P[k * ld + k], inverse = KS_LIT(1) / pivot;
        if (!KS_GT(pivot, KS_LIT(0)) && bad < 0) bad = k;
        KS_T(ks_map_gather)(e, pivot);
        for (int j = 0; j < n; ++j) P[k * ld + j] = P[k * ld + j] * inverse;
        P[k * ld + k] = inverse;
        for (int i = 0; i < n; ++i) {
            if (i == k) continue;
            const KS_NUM a = P[i * ld + k];
            P[i * ld + k] = KS_LIT(0);
            for (int j = 0; j < n; ++j) P[i * ld + j] = P[i * ld + j] - a * P[k * ld + j];
        }
    }
    return bad;
}
