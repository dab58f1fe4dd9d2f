/* column_smallmat_text.h -- device code: the functions of smallmat_text.h that steps need, by a team of threads that
 * hold matrices by columns, in registers. See num_f64.h and columns.h.
 *
 * Thread j has column j of a matrix (m, n), m numbers from where its pointer points to; threads beyond column n - 1
 * have nothing of it. Thread j has entry j of a vector, at its pointer. Sizes are literals, so that all of it is in
 * registers. An operand that others need goes through shared memory. */

/** C (m, n) += A B with A (m, k) that is shown. */
template <class Number> KS_DEVICE void KS_T(ks_column_times)(int m, int k, const KS_NUM *B, KS_NUM *C)
{
    KS_UNROLL
    for (int l = 0; l < k; ++l) {
        Number a[KS_COLUMNS];
        ks_column_get(m, l, a);
        KS_UNROLL
        for (int i = 0; i < m; ++i) C[i] = C[i] + (KS_NUM)a[i] * B[l];
    }
}

KS_DEVICE void KS_T(ks_mm_add)(int m, int k, int, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
    ks_columns_show(m, A);
    KS_T(ks_column_times)<KS_NUM>(m, k, B, C);
}

KS_DEVICE void KS_T(ks_mm)(int m, int k, int n, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
    KS_UNROLL
    for (int i = 0; i < m; ++i) C[i] = KS_LIT(0);
    KS_T(ks_mm_add)(m, k, n, A, B, C);
}

/** C (m, n) plus or minus Aᵀ B with A (k, m), B (k, n). A thread converts its own column, once for all of them. */
template <class Number>
KS_DEVICE void KS_T(ks_column_across)(int m, int k, const Number *A, const KS_NUM *B, KS_NUM *C, bool subtracts)
{
    KS_NUM own[KS_COLUMNS];
    KS_UNROLL
    for (int l = 0; l < k; ++l) own[l] = (KS_NUM)A[l];
    ks_columns_show(k, own);
    KS_UNROLL
    for (int i = 0; i < m; ++i) {
        KS_NUM a[KS_COLUMNS], sum = C[i];
        ks_column_get(k, i, a);
        KS_UNROLL
        for (int l = 0; l < k; ++l) sum = subtracts ? sum - a[l] * B[l] : sum + a[l] * B[l];
        C[i] = sum;
    }
}

KS_DEVICE void KS_T(ks_mtm_add)(int m, int k, int, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
    KS_T(ks_column_across)(m, k, A, B, C, false);
}

KS_DEVICE void KS_T(ks_mtm_sub)(int m, int k, int, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
    KS_T(ks_column_across)(m, k, A, B, C, true);
}

/** y (m) plus or minus A x with A (m, n). */
KS_DEVICE void KS_T(ks_column_vector)(int m, int n, const KS_NUM *A, const KS_NUM *x, KS_NUM *y, bool subtracts)
{
    const int column = ks_column(), own = column < m ? column : 0;
    KS_NUM s = *y;
    __syncwarp();
    ks_column_put(m, A);
    ks_column_singles<KS_NUM>()[column] = *x;
    __syncwarp();
    KS_UNROLL
    for (int l = 0; l < n; ++l) {
        const KS_NUM a = ks_column_at<KS_NUM>(m, own, l), b = ks_column_singles<KS_NUM>()[l];
        s = subtracts ? s - a * b : s + a * b;
    }
    if (column < m) *y = s;
}

KS_DEVICE void KS_T(ks_mv_sub)(int m, int n, const KS_NUM *A, const KS_NUM *x, KS_NUM *y)
{
    KS_T(ks_column_vector)(m, n, A, x, y, true);
}

/** y (n) += or -= Aᵀ x with A (k, n). */
template <class Number>
KS_DEVICE void KS_T(ks_column_turned)(int k, const Number *A, const KS_NUM *x, KS_NUM *y, bool subtracts)
{
    KS_UNROLL
    for (int l = 0; l < k; ++l) {
        const KS_NUM a = (KS_NUM)A[l] * ks_column_from(*x, l);
        *y = subtracts ? *y - a : *y + a;
    }
}

KS_DEVICE void KS_T(ks_mtv_add)(int k, int, const KS_NUM *A, const KS_NUM *x, KS_NUM *y)
{
    KS_T(ks_column_turned)(k, A, x, y, false);
}

KS_DEVICE void KS_T(ks_mtv_sub)(int k, int, const KS_NUM *A, const KS_NUM *x, KS_NUM *y)
{
    KS_T(ks_column_turned)(k, A, x, y, true);
}

KS_DEVICE void KS_T(ks_copy)(int, const KS_NUM *a, KS_NUM *b) { *b = *a; }

KS_DEVICE void KS_T(ks_difference)(int, const KS_NUM *a, const KS_NUM *b, KS_NUM *c) { *c = *a - *b; }

KS_DEVICE void KS_T(ks_copy_matrix)(int m, int, const KS_NUM *A, KS_NUM *B)
{
    KS_UNROLL
    for (int i = 0; i < m; ++i) B[i] = A[i];
}

KS_DEVICE void KS_T(ks_matrix_from)(int m, int, const KS_NUM *A, KS_NUM *B)
{
    KS_UNROLL
    for (int i = 0; i < m; ++i) B[i] = A[i] - B[i];
}

/** Every thread has `scale` as a whole. */
template <class Number>
KS_DEVICE void KS_T(ks_scale_rows)(int m, int, const KS_NUM *A, const Number *scale, KS_NUM *B)
{
    KS_UNROLL
    for (int i = 0; i < m; ++i) B[i] = A[i] * (KS_NUM)scale[i];
}

KS_DEVICE void KS_T(ks_transpose)(int m, int n, const KS_NUM *A, KS_NUM *B)
{
    const int column = ks_column(), own = column < m ? column : 0;
    ks_columns_show(m, A);
    KS_UNROLL
    for (int j = 0; j < n; ++j) B[j] = ks_column_at<KS_NUM>(m, own, j);
}

KS_DEVICE void KS_T(ks_mirror)(int n, KS_NUM *A)
{
    const int own = ks_column();
    ks_columns_show(n, A);
    KS_UNROLL
    for (int i = 0; i < n; ++i) {
        const KS_NUM across = ks_column_at<KS_NUM>(n, own, i);
        A[i] = i < own ? across : A[i];
    }
}

KS_DEVICE KS_MASK KS_T(ks_diagonal_below)(int n, KS_NUM times, const KS_NUM *A, const KS_NUM *B)
{
    const int own = ks_column();
    bool below = true;
    KS_UNROLL
    for (int i = 0; i < n; ++i)
        if (i == own) below = KS_GT(times * A[i], B[i]);
    return ks_columns_all(below);
}

/** The factors are left in the team's shared memory, too, those of one matrix at a time: column j has 1 / D[j] and below
 *  it L. That is where ks_ldl_forward() and ks_ldl_backward() find them. A thread keeps the pivot of its column in A,
 *  all have inverse_d as a whole. */
KS_DEVICE KS_MASK KS_T(ks_ldl)(int n, double ratio, KS_NUM *A, KS_NUM *inverse_d)
{
    const int own = ks_column();
    const KS_NUM least = KS_LIT(ratio) * ks_column_entry(n, A, own);
    bool good = true;
    __syncwarp();
    KS_UNROLL
    for (int j = 0; j < n; ++j) {
        KS_NUM factor[KS_COLUMNS];
        if (own == j) {
            good = KS_GT(A[j], least) & KS_GT(A[j], KS_LIT(KS_LEAST_PIVOT));
            factor[j] = KS_LIT(1) / A[j];
            KS_UNROLL
            for (int i = j + 1; i < n; ++i) factor[i] = A[i] * factor[j];
            ks_factor_put(j, n, factor);
        }
        __syncwarp();
        ks_factor_get(j, n, factor);
        inverse_d[j] = factor[j];
        const KS_NUM times = own > j ? A[j] : KS_LIT(0);
        KS_UNROLL
        for (int i = j + 1; i < n; ++i) A[i] = A[i] - factor[i] * times;
    }
    return ks_columns_all(good);
}

/** B (n, m) <- L⁻¹ B with the factors of a matrix of type Number; with m = 1 B is a vector. Barriers keep the compiler
 *  from loading several columns of a large matrix at once, which takes more registers than there are. */
template <class Number> KS_DEVICE void KS_T(ks_column_forward)(int n, int m, KS_NUM *B)
{
    KS_NUM whole[KS_COLUMNS];
    KS_NUM *const x = m > 1 ? B : whole;
    if (m == 1) {
        KS_UNROLL
        for (int i = 0; i < n; ++i) whole[i] = ks_column_from(*B, i);
    }
    KS_UNROLL
    for (int j = 0; j + 1 < n; ++j) {
        Number factor[KS_COLUMNS];
        if (n > 8) __syncwarp();
        ks_factor_get(j, n, factor);
        KS_UNROLL
        for (int i = j + 1; i < n; ++i) x[i] = x[i] - (KS_NUM)factor[i] * x[j];
    }
    if (m == 1) *B = ks_column_entry(n, whole, ks_column());
}

KS_DEVICE void KS_T(ks_ldl_forward)(int n, int m, const KS_NUM *, KS_NUM *B)
{
    KS_T(ks_column_forward)<KS_NUM>(n, m, B);
}

KS_DEVICE void KS_T(ks_ldl_backward)(int n, int, const KS_NUM *, const KS_NUM *, KS_NUM *B)
{
    KS_UNROLL
    for (int j = n - 1; j >= 0; --j) {
        KS_NUM factor[KS_COLUMNS];
        if (n > 8) __syncwarp();
        ks_factor_get(j, n, factor);
        B[j] = B[j] * factor[j];
        KS_UNROLL
        for (int i = n - 1; i > j; --i) B[j] = B[j] - factor[i] * B[i];
    }
}
