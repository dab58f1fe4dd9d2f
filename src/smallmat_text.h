/* smallmat_text.h -- dense kernels for small matrices; one text for every number, see num_f64.h.
 *
 * Matrices are row-major and contiguous. Outputs do not overlap inputs. Inner loops run along rows
 * with unit stride, so that they vectorise for literal and for run-time sizes alike. */

/** C (m, n) += A (m, k) B (k, n). */
KS_HD void KS_T(ks_mm_add)(int m, int k, int n, const KS_NUM *KS_RESTRICT A,
                           const KS_NUM *KS_RESTRICT B, KS_NUM *KS_RESTRICT C)
{
    for (int i = 0; i < m; ++i) {
        KS_NUM *KS_RESTRICT c = C + i * n;
        int l = 0;
        /* Four rows of B to one pass over the row of C: a quarter of its loads and stores. */
        for (; l + 4 <= k; l += 4) {
            const KS_NUM *KS_RESTRICT b = B + l * n;
            const KS_NUM a0 = A[i * k + l], a1 = A[i * k + l + 1];
            const KS_NUM a2 = A[i * k + l + 2], a3 = A[i * k + l + 3];
            for (int j = 0; j < n; ++j)
                c[j] = ((c[j] + a0 * b[j]) + a1 * b[n + j]) +
                       (a2 * b[2 * n + j] + a3 * b[3 * n + j]);
        }
        for (; l < k; ++l) {
            const KS_NUM a = A[i * k + l];
            for (int j = 0; j < n; ++j) c[j] = c[j] + a * B[l * n + j];
        }
    }
}

/** C (m, n) = A (m, k) B (k, n). */
KS_HD void KS_T(ks_mm)(int m, int k, int n, const KS_NUM *KS_RESTRICT A,
                       const KS_NUM *KS_RESTRICT B, KS_NUM *KS_RESTRICT C)
{
    for (int i = 0; i < m * n; ++i) C[i] = KS_LIT(0);
    KS_T(ks_mm_add)(m, k, n, A, B, C);
}

/** C (m, n) += Aᵀ B with A (k, m), B (k, n). */
KS_HD void KS_T(ks_mtm_add)(int m, int k, int n, const KS_NUM *KS_RESTRICT A,
                            const KS_NUM *KS_RESTRICT B, KS_NUM *KS_RESTRICT C)
{
    for (int i = 0; i < m; ++i) {
        KS_NUM *KS_RESTRICT c = C + i * n;
        int l = 0;
        for (; l + 4 <= k; l += 4) {
            const KS_NUM *KS_RESTRICT b = B + l * n;
            const KS_NUM a0 = A[l * m + i], a1 = A[(l + 1) * m + i];
            const KS_NUM a2 = A[(l + 2) * m + i], a3 = A[(l + 3) * m + i];
            for (int j = 0; j < n; ++j)
                c[j] = ((c[j] + a0 * b[j]) + a1 * b[n + j]) +
                       (a2 * b[2 * n + j] + a3 * b[3 * n + j]);
        }
        for (; l < k; ++l) {
            const KS_NUM a = A[l * m + i];
            for (int j = 0; j < n; ++j) c[j] = c[j] + a * B[l * n + j];
        }
    }
}

/** C (m, n) -= Aᵀ B with A (k, m), B (k, n). */
KS_HD void KS_T(ks_mtm_sub)(int m, int k, int n, const KS_NUM *KS_RESTRICT A,
                            const KS_NUM *KS_RESTRICT B, KS_NUM *KS_RESTRICT C)
{
    for (int i = 0; i < m; ++i) {
        KS_NUM *KS_RESTRICT c = C + i * n;
        for (int l = 0; l < k; ++l) {
            const KS_NUM a = A[l * m + i];
            for (int j = 0; j < n; ++j) c[j] = c[j] - a * B[l * n + j];
        }
    }
}

/** y (n) += Aᵀ x with A (k, n), x (k). */
KS_HD void KS_T(ks_mtv_add)(int k, int n, const KS_NUM *KS_RESTRICT A,
                            const KS_NUM *KS_RESTRICT x, KS_NUM *KS_RESTRICT y)
{
    for (int l = 0; l < k; ++l) {
        const KS_NUM a = x[l];
        for (int j = 0; j < n; ++j) y[j] = y[j] + a * A[l * n + j];
    }
}

/** y (n) -= Aᵀ x with A (k, n), x (k). */
KS_HD void KS_T(ks_mtv_sub)(int k, int n, const KS_NUM *KS_RESTRICT A,
                            const KS_NUM *KS_RESTRICT x, KS_NUM *KS_RESTRICT y)
{
    for (int l = 0; l < k; ++l) {
        const KS_NUM a = x[l];
        for (int j = 0; j < n; ++j) y[j] = y[j] - a * A[l * n + j];
    }
}

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

KS_HD void KS_T(ks_copy)(int n, const KS_NUM *KS_RESTRICT a, KS_NUM *KS_RESTRICT b)
{
    for (int i = 0; i < n; ++i) b[i] = a[i];
}

/** B (n, m) = Aᵀ with A (m, n). */
KS_HD void KS_T(ks_transpose)(int m, int n, const KS_NUM *KS_RESTRICT A,
                              KS_NUM *KS_RESTRICT B)
{
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) B[j * m + i] = A[i * n + j];
}

/** Copy the strict lower triangle of A (n, n) onto the upper: symmetric to the bit. */
KS_HD void KS_T(ks_mirror)(int n, KS_NUM *A)
{
    for (int i = 1; i < n; ++i)
        for (int j = 0; j < i; ++j) A[j * n + i] = A[i * n + j];
}

/** L D Lᵀ of the symmetric A (n, n), no square roots; reads the lower triangle. On return the
 *  strict lower triangle holds L D (unscaled), inverse_d (n) holds 1 / D, the diagonal D. Returns
 *  true where every pivot exceeds `ratio` times the diagonal entry that it came from. */
KS_HD KS_MASK KS_T(ks_ldl)(int n, double ratio, KS_NUM *KS_RESTRICT A,
                           KS_NUM *KS_RESTRICT inverse_d)
{
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
    for (int i = 0; i < n; ++i) {
        const KS_NUM diagonal = A[i * n + i];
        for (int j = 0; j < i; ++j) {
            const KS_NUM l = A[i * n + j] * inverse_d[j];
            for (int k = j + 1; k <= i; ++k) A[i * n + k] = A[i * n + k] - l * A[k * n + j];
        }
        good = good & KS_GT(A[i * n + i], KS_LIT(ratio) * diagonal) &
               KS_GT(A[i * n + i], KS_LIT(0));
        inverse_d[i] = KS_LIT(1) / A[i * n + i];
    }
    return good;
}

/** B (n, m) <- L⁻¹ B with the factors of ks_ldl(). */
KS_HD void KS_T(ks_ldl_forward)(int n, int m, const KS_NUM *KS_RESTRICT LD,
                                const KS_NUM *KS_RESTRICT inverse_d, KS_NUM *KS_RESTRICT B)
{
    for (int i = 1; i < n; ++i)
        for (int j = 0; j < i; ++j) {
            const KS_NUM l = LD[i * n + j] * inverse_d[j];
            for (int c = 0; c < m; ++c) B[i * m + c] = B[i * m + c] - l * B[j * m + c];
        }
}

/** B (n, m) <- L⁻ᵀ D⁻¹ B with the factors of ks_ldl(). */
KS_HD void KS_T(ks_ldl_backward)(int n, int m, const KS_NUM *KS_RESTRICT LD,
                                 const KS_NUM *KS_RESTRICT inverse_d, KS_NUM *KS_RESTRICT B)
{
    for (int i = n - 1; i >= 0; --i) {
        const KS_NUM d = inverse_d[i];
        for (int c = 0; c < m; ++c) B[i * m + c] = B[i * m + c] * d;
        for (int j = i + 1; j < n; ++j) {
            const KS_NUM l = LD[j * n + i] * d;
            for (int c = 0; c < m; ++c) B[i * m + c] = B[i * m + c] - l * B[j * m + c];
        }
    }
}

/** Lower U (n, n) with U Uᵀ = A for a positive semidefinite A, of which the lower triangle is
 *  read. A pivot that is round-off of its diagonal entry leaves a column of zeros. */
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

/** Packed lower triangle (n (n + 1) / 2, row by row) of A (n, n). */
KS_HD void KS_T(ks_pack)(int n, const KS_NUM *KS_RESTRICT A, KS_NUM *KS_RESTRICT packed)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) packed[i * (i + 1) / 2 + j] = A[i * n + j];
}

/** Full symmetric A (n, n) of its packed lower triangle. */
KS_HD void KS_T(ks_unpack)(int n, const KS_NUM *KS_RESTRICT packed, KS_NUM *KS_RESTRICT A)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) {
            A[i * n + j] = packed[i * (i + 1) / 2 + j];
            A[j * n + i] = packed[i * (i + 1) / 2 + j];
        }
}
