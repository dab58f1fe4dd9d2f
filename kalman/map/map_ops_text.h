/* map_ops_text.h -- the matrix operations of map_chain_text.h in plain loops over any number; see
 * num_f64.h. They are the reference of map_tiles_text.h, which has the same functions shaped for vector
 * registers, and what `kalscan count` counts.
 *
 * Matrices have n rows that are `ld` numbers apart, here n; what stands behind a row's end is zero. */

/** A pivot alone to the evidence. */
KS_HD void KS_T(ks_map_gather)(ks_evidence *e, KS_NUM pivot)
{
    ks_gather_determinant(e, (double)pivot);
}

/** Numbers from row to row, and rows of memory that a matrix takes. */
KS_HD int KS_T(ks_map_ld)(int n) { return n; }

/** Rows ld apart <- m rows of n numbers, one after the other. */
KS_HD void KS_T(ks_map_load)(int m, int n, int ld, const KS_NUM *from, KS_NUM *to)
{
    (void)ld;
    KS_T(ks_copy)(m * n, from, to);
}

/** m rows of n numbers <- rows ld apart. */
KS_HD void KS_T(ks_map_store)(int m, int n, int ld, const KS_NUM *from, KS_NUM *to)
{
    (void)ld;
    KS_T(ks_copy)(m * n, from, to);
}

/** The same, each row of it a column. */
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

/** C = C0 + Aᵀ B with A, B of k rows; symmetric, to the bit. */
KS_HD void KS_T(ks_map_symmetric)(int n, int k, int ld, const KS_NUM *A, const KS_NUM *B,
                                  const KS_NUM *C0, KS_NUM *C)
{
    KS_T(ks_copy)(n * ld, C0, C);
    KS_T(ks_mtm_add)(n, k, n, A, B, C);
    KS_T(ks_mirror)(n, C);
}

/** Symmetric to the bit. */
KS_HD void KS_T(ks_map_mirror)(int n, int ld, KS_NUM *A)
{
    (void)ld;
    KS_T(ks_mirror)(n, A);
}

/** y = y0 + x[0] A[0] + .. + x[k-1] A[k-1], rows of ld numbers. */
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

/** a · b of `numbers` numbers, a multiple of ld: of vectors, and trace(Aᵀ B). */
KS_HD KS_NUM KS_T(ks_map_dot)(int numbers, const KS_NUM *a, const KS_NUM *b)
{
    KS_NUM sum = KS_LIT(0);
    for (int i = 0; i < numbers; ++i) sum = sum + a[i] * b[i];
    return sum;
}

/** B <- L⁻¹ A of n rows with LD of ks_ldl(), whose rows are n numbers apart. */
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

/** Row i of B <- w[i] times row i of A, m rows. */
KS_HD void KS_T(ks_map_weighted)(int m, int ld, const KS_NUM *w, const KS_NUM *A, KS_NUM *B)
{
    for (int i = 0; i < m; ++i)
        for (int c = 0; c < ld; ++c) B[i * ld + c] = w[i] * A[i * ld + c];
}

/** L D Lᵀ of the covariance C, its rows n numbers apart, and the rows of L⁻¹; see ks_map_factor().
 *  Pivots go to the evidence, NULL: not wanted; W holds a matrix. Returns -1, or the row that is not positive. */
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

/** P <- the inverse of the symmetric positive definite A + B, B NULL: of A; by sweeping one row after
 *  the other. Pivots go to the evidence. Returns -1, or the row whose pivot is not positive. */
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
