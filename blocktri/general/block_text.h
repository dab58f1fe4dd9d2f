/* block_text.h -- products with one block, solves of factored blocks, vectors; see
 * src/num_f64.h. Rows of a product are independent, and so are columns of a solve. */

/** x <- A^-1 x, for the column-major LU of a dense block A with LAPACK's pivots. */
KS_HD void KS_T(ks_dense_solve)(int n, const KS_NUM *KS_RESTRICT lu,
                                const int *KS_RESTRICT pivots, KS_NUM *KS_RESTRICT x)
{
    for (int i = 0; i < n; ++i) {
        const int p = pivots[i] - 1;
        const KS_NUM kept = x[i];
        x[i] = x[p];
        x[p] = kept;
    }
    for (int k = 0; k < n; ++k) {
        const KS_NUM *column = lu + (int64_t)k * n, value = x[k];
        for (int i = k + 1; i < n; ++i) x[i] -= column[i] * value;
    }
    for (int k = n - 1; k >= 0; --k) {
        const KS_NUM *column = lu + (int64_t)k * n, value = x[k] / column[k];
        x[k] = value;
        for (int i = 0; i < k; ++i) x[i] -= column[i] * value;
    }
}

/** y -= A x, A column-major. */
KS_HD void KS_T(ks_columns_subtract)(int n, const KS_NUM *KS_RESTRICT A,
                                     const KS_NUM *KS_RESTRICT x, KS_NUM *KS_RESTRICT y)
{
    for (int k = 0; k < n; ++k) {
        const KS_NUM *column = A + (int64_t)k * n, value = x[k];
        for (int i = 0; i < n; ++i) y[i] -= column[i] * value;
    }
}

/** x . y in sixteen partial sums for any vector length. So every tier gives the same bits, except for
 *  contraction. */
KS_HD KS_NUM KS_T(ks_long_dot)(int64_t count, const KS_NUM *KS_RESTRICT x,
                               const KS_NUM *KS_RESTRICT y)
{
    KS_NUM sum[16];
    for (int l = 0; l < 16; ++l) sum[l] = KS_LIT(0);
    int64_t i = 0;
    for (; i + 16 <= count; i += 16)
        for (int l = 0; l < 16; ++l) sum[l] += x[i + l] * y[i + l];
    for (int l = 0; i < count; ++i, ++l) sum[l] += x[i] * y[i];
    for (int half = 8; half >= 1; half /= 2)
        for (int l = 0; l < half; ++l) sum[l] += sum[l + half];
    return sum[0];
}

/** y = alpha x + beta y. y is not read if beta is 0. */
KS_HD void KS_T(ks_long_axpby)(int64_t count, KS_NUM alpha, const KS_NUM *KS_RESTRICT x,
                               KS_NUM beta, KS_NUM *KS_RESTRICT y)
{
    if (beta == KS_LIT(0))
        for (int64_t i = 0; i < count; ++i) y[i] = alpha * x[i];
    else if (beta == KS_LIT(1))
        for (int64_t i = 0; i < count; ++i) y[i] += alpha * x[i];
    else
        for (int64_t i = 0; i < count; ++i) y[i] = alpha * x[i] + beta * y[i];
}

/** y -= A x, A dense and row-major. */
KS_HD void KS_T(ks_rows_subtract)(int n, const KS_NUM *KS_RESTRICT A, const KS_NUM *KS_RESTRICT x,
                                  KS_NUM *KS_RESTRICT y)
{
    for (int i = 0; i < n; ++i) y[i] -= KS_T(ks_long_dot)(n, A + (int64_t)i * n, x);
}

/** y -= A x, A tridiagonal. */
KS_HD void KS_T(ks_dia_subtract)(int n, const KS_NUM *KS_RESTRICT dia,
                                 const KS_NUM *KS_RESTRICT x, KS_NUM *KS_RESTRICT y)
{
    const KS_NUM *a = dia, *b = dia + n, *c = dia + 2 * (int64_t)n;
    if (n == 1) {
        y[0] -= b[0] * x[0];
        return;
    }
    y[0] -= b[0] * x[0] + c[0] * x[1];
    for (int r = 1; r + 1 < n; ++r) y[r] -= a[r] * x[r - 1] + b[r] * x[r] + c[r] * x[r + 1];
    y[n - 1] -= a[n - 1] * x[n - 2] + b[n - 1] * x[n - 1];
}

/** y -= A x, A as triples (COO). */
KS_HD void KS_T(ks_coo_subtract)(int count, const KS_NUM *KS_RESTRICT values,
                                 const int32_t *KS_RESTRICT rows, const int32_t *KS_RESTRICT cols,
                                 const KS_NUM *KS_RESTRICT x, KS_NUM *KS_RESTRICT y)
{
    for (int e = 0; e < count; ++e) y[rows[e]] -= values[e] * x[cols[e]];
}

/** y -= A x, A as compressed rows (CSR). */
KS_HD void KS_T(ks_csr_subtract)(int n, const KS_NUM *KS_RESTRICT values,
                                 const int32_t *KS_RESTRICT starts,
                                 const int32_t *KS_RESTRICT cols, const KS_NUM *KS_RESTRICT x,
                                 KS_NUM *KS_RESTRICT y)
{
    for (int i = 0; i < n; ++i) {
        KS_NUM sum = KS_LIT(0);
        for (int e = starts[i]; e < starts[i + 1]; ++e) sum += values[e] * x[cols[e]];
        y[i] -= sum;
    }
}
