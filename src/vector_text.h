/* vector_text.h -- functions that smallmat_text.h and packmat_text.h share: loops that need no other shape for packs of
 * series than for scalars; see num_f64.h. Both include this file. Matrices are row-major and contiguous. Outputs do not
 * overlap inputs. */

/** y (m) += A x with A (m, n), x (n). */
KS_HD void KS_T(ks_mv_add)(int m, int n, const KS_NUM *KS_RESTRICT A,
                           const KS_NUM *KS_RESTRICT x, KS_NUM *KS_RESTRICT y)
{
    for (int i = 0; i < m; ++i) {
        KS_NUM s = y[i];
        for (int j = 0; j < n; ++j) s = s + A[i * n + j] * x[j];
        y[i] = s;
    }
}

/** y (m) -= A x with A (m, n), x (n). */
KS_HD void KS_T(ks_mv_sub)(int m, int n, const KS_NUM *KS_RESTRICT A,
                           const KS_NUM *KS_RESTRICT x, KS_NUM *KS_RESTRICT y)
{
    for (int i = 0; i < m; ++i) {
        KS_NUM s = y[i];
        for (int j = 0; j < n; ++j) s = s - A[i * n + j] * x[j];
        y[i] = s;
    }
}

/** b (n) = a - b. */
KS_HD void KS_T(ks_from)(int n, const KS_NUM *KS_RESTRICT a, KS_NUM *KS_RESTRICT b)
{
    for (int i = 0; i < n; ++i) b[i] = a[i] - b[i];
}

/** c (n) = a - b. */
KS_HD void KS_T(ks_difference)(int n, const KS_NUM *KS_RESTRICT a, const KS_NUM *KS_RESTRICT b,
                               KS_NUM *KS_RESTRICT c)
{
    for (int i = 0; i < n; ++i) c[i] = a[i] - b[i];
}

/** B (m, n): row i of A (m, n) times scale[i]. */
KS_HD void KS_T(ks_scale_rows)(int m, int n, const KS_NUM *KS_RESTRICT A,
                               const KS_NUM *KS_RESTRICT scale, KS_NUM *KS_RESTRICT B)
{
    for (int i = 0; i < m; ++i)
        for (int c = 0; c < n; ++c) B[i * n + c] = A[i * n + c] * scale[i];
}

KS_HD void KS_T(ks_copy)(int n, const KS_NUM *KS_RESTRICT a, KS_NUM *KS_RESTRICT b)
{
    for (int i = 0; i < n; ++i) b[i] = a[i];
}

/** B (m, n) = A. */
KS_HD void KS_T(ks_copy_matrix)(int m, int n, const KS_NUM *KS_RESTRICT A, KS_NUM *KS_RESTRICT B)
{
    KS_T(ks_copy)(m * n, A, B);
}

/** B (m, n) = A - B. */
KS_HD void KS_T(ks_matrix_from)(int m, int n, const KS_NUM *KS_RESTRICT A, KS_NUM *KS_RESTRICT B)
{
    KS_T(ks_from)(m * n, A, B);
}

/** Whether each diagonal entry of B (n, n) is less than `times` that of A (n, n). */
KS_HD KS_MASK KS_T(ks_diagonal_below)(int n, KS_NUM times, const KS_NUM *KS_RESTRICT A, const KS_NUM *KS_RESTRICT B)
{
    KS_MASK below = KS_GT(KS_LIT(1), KS_LIT(0));
    for (int i = 0; i < n; ++i) below = below & KS_GT(times * A[i * n + i], B[i * n + i]);
    return below;
}

/** b (n) += a. */
KS_HD void KS_T(ks_add)(int n, const KS_NUM *KS_RESTRICT a, KS_NUM *KS_RESTRICT b)
{
    for (int i = 0; i < n; ++i) b[i] = a[i] + b[i];
}

/** a (n) = 0. */
KS_HD void KS_T(ks_zero)(int n, KS_NUM *a)
{
    for (int i = 0; i < n; ++i) a[i] = KS_LIT(0);
}

/** A (n, n) = I. */
KS_HD void KS_T(ks_identity)(int n, KS_NUM *A)
{
    KS_T(ks_zero)(n * n, A);
    for (int i = 0; i < n; ++i) A[i * n + i] = KS_LIT(1);
}

/** Compute the lower U (n, n) with U Uᵀ = A for a positive semidefinite A. Reads the lower triangle of A. Where the
 *  pivot is only round-off of its diagonal entry, the column of U is zero. */
KS_HD void KS_T(ks_semidefinite_factor)(int n, const KS_NUM *KS_RESTRICT A,
                                        KS_NUM *KS_RESTRICT U)
{
    for (int j = 0; j < n; ++j) {
        for (int i = 0; i < j; ++i) U[i * n + j] = KS_LIT(0);
        for (int i = j; i < n; ++i) {
            KS_NUM s = A[i * n + j];
            for (int k = 0; k < j; ++k) s = s - U[i * n + k] * U[j * n + k];
            U[i * n + j] = s;
        }
        const KS_MASK positive =
            KS_GT(U[j * n + j], KS_LIT(2 * n * KS_EPS) * A[j * n + j]) &
            KS_GT(U[j * n + j], KS_LIT(0));
        const KS_NUM pivot = KS_SELECT(positive, U[j * n + j], KS_LIT(1));
        const KS_NUM scale = KS_SELECT(positive, KS_LIT(1) / KS_SQRT(pivot), KS_LIT(0));
        for (int i = j; i < n; ++i) U[i * n + j] = U[i * n + j] * scale;
    }
}

/** Copy the lower triangle of A (n, n) to `packed`, n (n + 1) / 2 numbers, row by row. */
KS_HD void KS_T(ks_pack)(int n, const KS_NUM *KS_RESTRICT A, KS_NUM *KS_RESTRICT packed)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) packed[i * (i + 1) / 2 + j] = A[i * n + j];
}

/** Expand a packed lower triangle to the full symmetric A (n, n). */
KS_HD void KS_T(ks_unpack)(int n, const KS_NUM *KS_RESTRICT packed, KS_NUM *KS_RESTRICT A)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) {
            A[i * n + j] = packed[i * (i + 1) / 2 + j];
            A[j * n + i] = packed[i * (i + 1) / 2 + j];
        }
}
