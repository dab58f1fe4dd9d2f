/* solve_text.h -- substitution along a lane, log-determinant, residual; see chains.h. Blocks of
 * right-hand sides are (n, m), contiguous; factors have row stride n. */

/** Columns of right-hand sides from which BLAS does the products of large blocks. */
#define KS_BT_COLUMNS 4

/** sum of a[i] b[i], in an order that vectors can follow. */
KS_HD KS_NUM KS_T(ks_bt_dot)(int n, const KS_NUM *a, const KS_NUM *b)
{
    int i = 0;
    KS_NUM sum = KS_LIT(0);
    if (n >= KS_BT_WIDTH) {
        KS_T(ks_bt_wide) s = KS_BT_LOAD(a) * KS_BT_LOAD(b);
        for (i = KS_BT_WIDTH; i + KS_BT_WIDTH <= n; i += KS_BT_WIDTH)
            s = s + KS_BT_LOAD(a + i) * KS_BT_LOAD(b + i);
#pragma GCC unroll 8
        for (int w = 0; w < KS_BT_WIDTH; ++w) sum = sum + s[w];
    }
    for (; i < n; ++i) sum = sum + a[i] * b[i];
    return sum;
}

/** y (n, m) -= X' x. */
KS_HD void KS_T(ks_bt_subtract_transposed)(int n, int m, const KS_NUM *X, const KS_NUM *x,
                                           KS_NUM *y)
{
    if (m == 1)
        KS_T(ks_mtv_sub)(n, n, X, x, y);
    else if (n > KS_BT_BLAS && m >= KS_BT_COLUMNS)
        KS_T(ks_lapack_gemm)(1, n, m, n, KS_LIT(-1), X, n, x, m, KS_LIT(1), y, m);
    else
        KS_T(ks_gemm_sub)(n, n, m, X, 1, n, x, y);
}

/** y (n, m) -= X x. */
KS_HD void KS_T(ks_bt_subtract)(int n, int m, const KS_NUM *X, const KS_NUM *x, KS_NUM *y)
{
    if (m == 1)
        for (int i = 0; i < n; ++i) y[i] = y[i] - KS_T(ks_bt_dot)(n, X + i * n, x);
    else if (n > KS_BT_BLAS && m >= KS_BT_COLUMNS)
        KS_T(ks_lapack_gemm)(0, n, m, n, KS_LIT(-1), X, n, x, m, KS_LIT(1), y, m);
    else
        KS_T(ks_gemm_sub)(n, n, m, X, n, 1, x, y);
}

/** x (n, m) <- R'^-1 x. */
KS_HD void KS_T(ks_bt_lower_solve)(int n, int m, const KS_NUM *R, KS_NUM *x)
{
    if (n > KS_BT_BLAS && m >= KS_BT_COLUMNS) {
        KS_T(ks_lapack_trsm)(1, n, m, R, n, x, m);
        return;
    }
    for (int k = 0; k < n; ++k) {
        const KS_NUM inverse = KS_LIT(1) / R[k * n + k];
        if (m == 1) {
            const KS_NUM v = x[k] = x[k] * inverse;
            for (int i = k + 1; i < n; ++i) x[i] = x[i] - R[k * n + i] * v;
            continue;
        }
        for (int j = 0; j < m; ++j) x[k * m + j] = x[k * m + j] * inverse;
        for (int i = k + 1; i < n; ++i) {
            const KS_NUM r = R[k * n + i];
            for (int j = 0; j < m; ++j) x[i * m + j] = x[i * m + j] - r * x[k * m + j];
        }
    }
}

/** x (n, m) <- R^-1 x. */
KS_HD void KS_T(ks_bt_upper_solve)(int n, int m, const KS_NUM *R, KS_NUM *x)
{
    if (n > KS_BT_BLAS && m >= KS_BT_COLUMNS) {
        KS_T(ks_lapack_trsm)(0, n, m, R, n, x, m);
        return;
    }
    for (int k = n - 1; k >= 0; --k) {
        const KS_NUM inverse = KS_LIT(1) / R[k * n + k];
        const KS_NUM *row = R + k * n + k + 1;
        if (m == 1) {
            x[k] = (x[k] - KS_T(ks_bt_dot)(n - 1 - k, row, x + k + 1)) * inverse;
            continue;
        }
        for (int i = 0; i < n - 1 - k; ++i)
            for (int j = 0; j < m; ++j)
                x[k * m + j] = x[k * m + j] - row[i] * x[(k + 1 + i) * m + j];
        for (int j = 0; j < m; ++j) x[k * m + j] = x[k * m + j] * inverse;
    }
}

KS_HD void KS_T(ks_bt_forward_body)(int n, int m, const ks_bt_chain *c)
{
    const KS_NUM *D = (const KS_NUM *)c->D, *edge = (const KS_NUM *)c->edge;
    KS_NUM *x = (KS_NUM *)c->x;
    for (int64_t k = 0; k < c->count; ++k) {
        const int64_t block = KS_T(ks_bt_block_at)(c, k);
        KS_NUM *own = x + block * c->x_stride;
        KS_T(ks_bt_lower_solve)(n, m, D + block * c->D_stride, own);
        if (k + 1 < c->count)
            KS_T(ks_bt_subtract_transposed)(n, m, edge + KS_T(ks_bt_ahead)(c, k) * c->edge_stride,
                                            own, x + KS_T(ks_bt_block_at)(c, k + 1) * c->x_stride);
        if (c->anchor >= 0)
            KS_T(ks_bt_subtract_transposed)(n, m, KS_T(ks_bt_behind)(c, k), own,
                                            x + c->anchor * c->x_stride);
    }
}

KS_HD void KS_T(ks_bt_backward_body)(int n, int m, const ks_bt_chain *c)
{
    const KS_NUM *D = (const KS_NUM *)c->D, *edge = (const KS_NUM *)c->edge;
    KS_NUM *x = (KS_NUM *)c->x;
    for (int64_t k = c->count - 1; k >= 0; --k) {
        const int64_t block = KS_T(ks_bt_block_at)(c, k);
        const int64_t ahead = k + 1 < c->count ? KS_T(ks_bt_block_at)(c, k + 1) : c->target;
        KS_NUM *own = x + block * c->x_stride;
        if (ahead >= 0)
            KS_T(ks_bt_subtract)(n, m, edge + KS_T(ks_bt_ahead)(c, k) * c->edge_stride,
                                 x + ahead * c->x_stride, own);
        if (c->anchor >= 0)
            KS_T(ks_bt_subtract)(n, m, KS_T(ks_bt_behind)(c, k), x + c->anchor * c->x_stride, own);
        KS_T(ks_bt_upper_solve)(n, m, D + block * c->D_stride, own);
    }
}

static void KS_T(ks_bt_forward)(const ks_bt_chain *c)
{
    if (c->m == 1)
        switch (c->n) {
        case 4: KS_T(ks_bt_forward_body)(4, 1, c); return;
        case 8: KS_T(ks_bt_forward_body)(8, 1, c); return;
        default: KS_T(ks_bt_forward_body)(c->n, 1, c); return;
        }
    KS_T(ks_bt_forward_body)(c->n, c->m, c);
}

static void KS_T(ks_bt_backward)(const ks_bt_chain *c)
{
    if (c->m == 1)
        switch (c->n) {
        case 4: KS_T(ks_bt_backward_body)(4, 1, c); return;
        case 8: KS_T(ks_bt_backward_body)(8, 1, c); return;
        default: KS_T(ks_bt_backward_body)(c->n, 1, c); return;
        }
    KS_T(ks_bt_backward_body)(c->n, c->m, c);
}

static void KS_T(ks_bt_gather_x)(int n, int m, const void *X, const void *from, void *to)
{
    KS_T(ks_bt_subtract_transposed)(n, m, (const KS_NUM *)X, (const KS_NUM *)from, (KS_NUM *)to);
}

static double KS_T(ks_bt_logdet)(int n, int64_t count, const void *D, int64_t stride)
{
    /* The product of the diagonals as mantissa and exponent: a logarithm for each would cost more
     * than the factorization of small blocks. */
    double mantissa = 1;
    int64_t exponent = 0;
    for (int64_t k = 0; k < count; ++k)
        for (int i = 0; i < n; ++i) {
            int e;
            const KS_NUM pivot = ((const KS_NUM *)D)[k * stride + (int64_t)i * n + i];
            mantissa = frexp(mantissa * (double)pivot, &e);
            exponent += e;
        }
    return 2 * (log(mantissa) + (double)exponent * 0.69314718055994530942);
}

/** Square sums over the blocks of one row of A x - b, in double. */
KS_HD void KS_T(ks_bt_residual_row)(int n, int m, const KS_NUM *lower, const KS_NUM *D,
                                    const KS_NUM *upper, const KS_NUM *const x[3], const KS_NUM *b,
                                    int i, double *sums)
{
    for (int j = 0; j < m; ++j) {
        double r = -(double)b[i * m + j];
        sums[2] += (double)b[i * m + j] * (double)b[i * m + j];
        sums[1] += (double)x[1][i * m + j] * (double)x[1][i * m + j];
        for (int l = 0; l < n; ++l) {
            if (lower) r += (double)lower[i * n + l] * (double)x[0][l * m + j];
            r += (double)(l <= i ? D[i * n + l] : D[l * n + i]) * (double)x[1][l * m + j];
            if (upper) r += (double)upper[l * n + i] * (double)x[2][l * m + j];
        }
        sums[0] += r * r;
    }
    for (int l = 0; l < n; ++l) {
        const double d = (double)(l <= i ? D[i * n + l] : D[l * n + i]);
        sums[3] += d * d;
        if (lower) sums[3] += 2 * (double)lower[i * n + l] * (double)lower[i * n + l];
    }
}

static void KS_T(ks_bt_residual)(int n, int m, int64_t N, const ks_blocktri_matrix *A,
                                 ks_const_blocks x, ks_const_blocks b, double *sums)
{
    const KS_NUM *D = (const KS_NUM *)A->D.data, *L = (const KS_NUM *)A->L.data;
    const KS_NUM *X = (const KS_NUM *)x.data, *B = (const KS_NUM *)b.data;
    for (int64_t k = 0; k < N; ++k) {
        const KS_NUM *lower = k > 0 ? L + (k - 1) * A->L.stride : (const KS_NUM *)0;
        const KS_NUM *upper = k + 1 < N ? L + k * A->L.stride : (const KS_NUM *)0;
        const KS_NUM *const near[3] = { lower ? X + (k - 1) * x.stride : (const KS_NUM *)0,
                                        X + k * x.stride,
                                        upper ? X + (k + 1) * x.stride : (const KS_NUM *)0 };
        for (int i = 0; i < n; ++i)
            KS_T(ks_bt_residual_row)(n, m, lower, D + k * A->D.stride, upper, near,
                                     B + k * b.stride, i, sums);
    }
}
