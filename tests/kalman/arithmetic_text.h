/* arithmetic_text.h -- tests of the small-matrix texts in one precision; see num_f64.h. Included by
 * test_arithmetic.c after the texts themselves. Matrices are filled from a source of its own and
 * everything is compared with plain sums in double. */

#define ROUND (2 * KS_EPS)

static void KS_T(fill)(source *s, int count, KS_NUM *a)
{
    for (int i = 0; i < count; ++i) a[i] = (KS_NUM)(2 * uniform(s) - 1);
}

/** A positive definite (n, n), or one of lower rank. */
static void KS_T(fill_covariance)(source *s, int n, int rank, KS_NUM *A)
{
    double G[LARGEST * LARGEST];
    for (int i = 0; i < n * rank; ++i) G[i] = 2 * uniform(s) - 1;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) {
            double sum = rank == n && i == j ? 0.5 : 0;
            for (int l = 0; l < rank; ++l) sum += G[i * rank + l] * G[j * rank + l];
            A[i * n + j] = A[j * n + i] = (KS_NUM)sum;
        }
}

/** |got - expected| <= bound, each of k terms being at most 1. */
static void KS_T(close_to)(KS_NUM got, double expected, double bound, const char *what, int m,
                           int k, int n)
{
    if (!(fabs((double)got - expected) <= bound))
        fail_msg("%s (%d, %d, %d): %.17g, not %.17g", what, m, k, n, (double)got, expected);
}

static void KS_T(check_product)(source *s, int m, int k, int n)
{
    KS_NUM A[MOST], B[MOST], C[MOST], sum[MOST], transposed[MOST];
    const double bound = (k + 2) * (k + 2) * ROUND;
    KS_T(fill)(s, m * k, A);
    if (m * n % 3 == 1) /* few entries, below some diagonal */
        for (int i = 0; i < m; ++i)
            for (int l = 0; l < k; ++l)
                if (l > i + n % 4 || uniform(s) < 0.7) A[i * k + l] = 0;
    KS_T(fill)(s, k * n, B);
    KS_T(fill)(s, m * n, C);
    for (int i = 0; i < m; ++i)
        for (int l = 0; l < k; ++l) transposed[l * m + i] = A[i * k + l];
    /* What stands behind the last row must not be touched. */
    for (int i = 0; i < 8; ++i) C[m * n + i] = (KS_NUM)77;
    for (int way = 0; way < 11; ++way) {
        const int subtract = way >= 5 && way < 9;
        for (int i = 0; i < m * n + 8; ++i) sum[i] = C[i];
        switch (way) {
        case 0: KS_T(ks_mm)(m, k, n, A, B, sum); break;
        case 1: KS_T(ks_mm_add)(m, k, n, A, B, sum); break;
        case 2: KS_T(ks_mtm_add)(m, k, n, transposed, B, sum); break;
        case 3: KS_T(ks_gemm_add)(m, k, n, A, k, 1, B, sum); break;
        case 4: KS_T(ks_gemm_add)(m, k, n, transposed, 1, m, B, sum); break;
        case 5: KS_T(ks_mtm_sub)(m, k, n, transposed, B, sum); break;
        case 6: KS_T(ks_gemm_sub)(m, k, n, A, k, 1, B, sum); break;
        case 7: KS_T(ks_gemm_sub)(m, k, n, transposed, 1, m, B, sum); break;
        case 8: KS_T(ks_panel_sub)(m, k, n, A, k, 1, B, sum); break;
        case 9: KS_T(ks_mm_few)(m, k, n, A, B, sum); break;
        default: KS_T(ks_mm_root)(m, k, n, A, B, sum); break;
        }
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < n; ++j) {
                double plain = way == 0 || way > 8 ? 0 : (double)C[i * n + j];
                for (int l = 0; l < k; ++l) {
                    const double term = (double)A[i * k + l] * (double)B[l * n + j];
                    plain += subtract ? -term : term;
                }
                KS_T(close_to)(sum[i * n + j], plain, bound, "product", m, k, n);
            }
        for (int i = 0; i < 8; ++i) assert_true(sum[m * n + i] == (KS_NUM)77);
    }
}

static void KS_T(products)(void **state)
{
    (void)state;
    source s = { 121 };
    for (int m = 1; m <= LARGEST; ++m)
        for (int k = 1; k <= LARGEST; ++k)
            for (int n = 1; n <= LARGEST; ++n) KS_T(check_product)(&s, m, k, n);
}

static void KS_T(vectors)(void **state)
{
    (void)state;
    source s = { 122 };
    KS_NUM A[MOST], x[LARGEST], y[LARGEST], z[LARGEST];
    for (int m = 1; m <= LARGEST; ++m)
        for (int n = 1; n <= LARGEST; ++n)
            for (int way = 0; way < 3; ++way) {
                /* A (m, n); way 0: y (m) += A x, 1 and 2: y (n) +-= A' x. */
                const int rows = way ? n : m, terms = way ? m : n;
                KS_T(fill)(&s, m * n, A);
                KS_T(fill)(&s, terms, x);
                KS_T(fill)(&s, rows, y);
                for (int i = 0; i < rows; ++i) z[i] = y[i];
                if (way == 0) KS_T(ks_mv_add)(m, n, A, x, z);
                if (way == 1) KS_T(ks_mtv_add)(m, n, A, x, z);
                if (way == 2) KS_T(ks_mtv_sub)(m, n, A, x, z);
                for (int i = 0; i < rows; ++i) {
                    double sum = (double)y[i];
                    for (int l = 0; l < terms; ++l)
                        sum += (way == 2 ? -1 : 1) *
                               (double)(way ? A[l * n + i] : A[i * n + l]) * (double)x[l];
                    KS_T(close_to)(z[i], sum, terms * terms * 2 * ROUND, "vector", m, terms, n);
                }
            }
}

/** L D L' = A, L^-1 and L^-T D^-1 undo it, and a pivot below the ratio is told. */
static void KS_T(ldl)(void **state)
{
    (void)state;
    source s = { 123 };
    KS_NUM A[MOST], F[MOST], d[LARGEST], B[MOST], X[MOST];
    for (int n = 1; n <= LARGEST; ++n)
        for (int repeat = 0; repeat < 5; ++repeat) {
            const int m = 1 + (n * 7 + repeat) % LARGEST;
            KS_T(fill_covariance)(&s, n, n, A);
            KS_T(fill)(&s, n * m, B);
            for (int i = 0; i < n * n; ++i) F[i] = A[i];
            assert_true(KS_ALL(KS_T(ks_ldl)(n, 1e-6, F, d)));
            for (int i = 0; i < n; ++i)
                for (int j = 0; j <= i; ++j) {
                    double sum = 0;
                    for (int l = 0; l <= j; ++l)
                        sum += (l == i ? 1 : (double)F[i * n + l]) * (double)F[l * n + l] *
                               (l == j ? 1 : (double)F[j * n + l]);
                    KS_T(close_to)((KS_NUM)sum, (double)A[i * n + j], 50 * n * ROUND, "L D L'", n,
                                   i, j);
                    if (i == j)
                        KS_T(close_to)(d[i] * F[i * n + i], 1, 4 * ROUND, "1 / d", n, i, j);
                }
            for (int i = 0; i < n * m; ++i) X[i] = B[i];
            KS_T(ks_ldl_forward)(n, m, F, X);
            KS_T(ks_ldl_backward)(n, m, F, d, X);
            for (int i = 0; i < n; ++i)
                for (int c = 0; c < m; ++c) {
                    double sum = 0, size = 1;
                    for (int l = 0; l < n; ++l) {
                        sum += (double)A[i * n + l] * (double)X[l * m + c];
                        size += fabs((double)A[i * n + l] * (double)X[l * m + c]);
                    }
                    KS_T(close_to)((KS_NUM)sum, (double)B[i * m + c], 50 * n * ROUND * size,
                                   "A X", n, m, c);
                }
        }
    /* The second pivot is 1/1000 of the entry that it came from. */
    const KS_NUM near_singular[4] = { 1, 1, 1, (KS_NUM)1.001001 };
    for (int above = 0; above < 2; ++above) {
        for (int i = 0; i < 4; ++i) F[i] = near_singular[i];
        assert_int_equal(!!KS_T(ks_ldl)(2, above ? 2e-3 : 5e-4, F, d), !above);
    }
    F[0] = -1;
    assert_false(KS_T(ks_ldl)(1, 0, F, d));
    F[0] = 0;
    assert_false(KS_T(ks_ldl)(1, 0, F, d));
    F[0] = (KS_NUM)NAN;
    assert_false(KS_T(ks_ldl)(1, 0, F, d));
}

static void KS_T(check_root)(int n, const KS_NUM *A, const KS_NUM *S, double bound)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            double sum = 0;
            for (int c = 0; c < n; ++c) sum += (double)S[i * n + c] * (double)S[j * n + c];
            KS_T(close_to)((KS_NUM)sum, (double)A[i * n + j], bound, "S S'", n, i, j);
        }
}

/** Square roots of covariances of every rank. The pivoted one finds the rank. */
static void KS_T(semidefinite_roots)(void **state)
{
    (void)state;
    source s = { 124 };
    KS_NUM A[MOST], S[MOST], W[MOST + LARGEST];
    for (int n = 1; n <= LARGEST; ++n)
        for (int rank = 0; rank <= n; ++rank) {
            KS_T(fill_covariance)(&s, n, rank, A);
            assert_int_equal(KS_T(ks_pivoted_factor)(n, A, S, W), rank);
            KS_T(check_root)(n, A, S, 100 * n * ROUND);
            for (int i = 0; i < n; ++i)
                for (int c = rank; c < n; ++c) assert_true(S[i * n + c] == 0);
            if (rank < n && n > 6) continue; /* not pivoted: the last pivots are round-off */
            KS_T(ks_semidefinite_factor)(n, A, S);
            KS_T(check_root)(n, A, S, 1000 * n * ROUND);
            for (int i = 0; i < n; ++i)
                for (int c = i + 1; c < n; ++c) assert_true(S[i * n + c] == 0);
        }
    /* Scales do not matter: each diagonal entry is judged by itself. */
    const KS_NUM graded[9] = { (KS_NUM)1e10, 0, 0, 0, 1, 0, 0, 0, (KS_NUM)1e-10 };
    assert_int_equal(KS_T(ks_pivoted_factor)(3, graded, S, W), 3);
}

/** M Mᵀ = L Lᵀ, row by row. */
static void KS_T(same_square)(int rows, int columns, const KS_NUM *M, const KS_NUM *L)
{
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j <= i; ++j) {
            double got = 0, expected = 0, si = 0, sj = 0;
            for (int c = 0; c < columns; ++c) {
                const double a = (double)M[i * columns + c], b = (double)M[j * columns + c];
                got += (double)L[i * columns + c] * (double)L[j * columns + c];
                expected += a * b;
                si += a * a;
                sj += b * b;
            }
            if (!(fabs(got - expected) <= 20 * columns * ROUND * sqrt(si) * sqrt(sj)))
                fail_msg("L L' (%d, %d): %.17g, not %.17g", rows, columns, got, expected);
        }
}

/** [L 0] = M Theta: L lower triangular, non-negative diagonal, L L' = M M'. */
static void KS_T(lq)(void **state)
{
    (void)state;
    source s = { 125 };
    KS_NUM M[2 * MOST], L[2 * MOST], stored[2 * LARGEST * (LARGEST + KS_LQ_ROWS)], V[3 * LARGEST];
    for (int rows = 1; rows <= LARGEST; ++rows)
        for (int columns = 1; columns <= 2 * LARGEST; columns += 3) {
            KS_T(fill)(&s, rows * columns, M);
            if (rows > 2) /* a row of another scale does the others no harm */
                for (int c = 0; c < columns; ++c) M[columns + c] *= (KS_NUM)1e-6;
            const int apart = ks_lq_apart(rows);
            KS_T(ks_lq_clear)(rows, columns, stored);
            KS_T(ks_lq_put)(rows, columns, M, apart, stored);
            KS_T(ks_lq)(rows, columns, stored, V);
            KS_T(ks_lq_take)(rows, columns, apart, stored, L, columns);
            for (int c = 0; c < columns; ++c)
                for (int r = rows; r < apart; ++r) assert_true(stored[c * apart + r] == 0);
            for (int i = 0; i < rows; ++i) {
                for (int c = i + 1; c < columns; ++c) assert_true(L[i * columns + c] == 0);
                if (i < columns) assert_true(L[i * columns + i] >= 0);
            }
            KS_T(same_square)(rows, columns, M, L);
        }
}

/** Rows whose squares have no place among the numbers are reflected as others are. */
static void KS_T(lq_of_extremes)(void **state)
{
    (void)state;
    source s = { 127 };
    enum { ROWS = 5, COLUMNS = 7 };
    const KS_NUM units[] = { (KS_NUM)(4 * sqrt(KS_LARGEST)), (KS_NUM)(1 / sqrt(KS_LARGEST) / 16) };
    for (int u = 0; u < 2; ++u)
        for (int p = 0; p < ROWS; ++p) {
            KS_NUM M[ROWS * COLUMNS], stored[2][COLUMNS * KS_LQ_ROWS], L[2][ROWS * COLUMNS], V[COLUMNS + 2];
            KS_T(fill)(&s, ROWS * COLUMNS, M);
            for (int scaled = 0; scaled < 2; ++scaled) {
                for (int c = 0; c < COLUMNS && scaled; ++c) M[p * COLUMNS + c] *= units[u];
                KS_T(ks_lq_clear)(ROWS, COLUMNS, stored[scaled]);
                KS_T(ks_lq_put)(ROWS, COLUMNS, M, KS_LQ_ROWS, stored[scaled]);
                KS_T(ks_lq)(ROWS, COLUMNS, stored[scaled], V);
                KS_T(ks_lq_take)(ROWS, COLUMNS, KS_LQ_ROWS, stored[scaled], L[scaled], COLUMNS);
            }
            for (int i = 0; i < ROWS; ++i)
                for (int c = 0; c <= i; ++c) {
                    const double of = i == p ? (double)units[u] : 1;
                    KS_T(close_to)((KS_NUM)((double)L[1][i * COLUMNS + c] / of), (double)L[0][i * COLUMNS + c], 100 * ROUND,
                                   "a row in other units", p, i, c);
                }
        }
}

/** Columns in the order of their first entries: the same square, short reflections, and all of it taken back. */
static void KS_T(lq_sorted)(void **state)
{
    (void)state;
    source s = { 128 };
    enum { FIT = LARGEST * (LARGEST + KS_LQ_ROWS) };
    KS_NUM M[MOST], T[FIT], other[FIT], L[MOST], place[LARGEST], ends[LARGEST], V[LARGEST * (LARGEST + 2)];
    for (int rows = 1; rows <= LARGEST; ++rows)
        for (int columns = 1; columns <= LARGEST; columns += 2)
            for (int first = rows; first >= 0; first -= rows / 2 + 1) {
                const int apart = ks_lq_apart(rows), dense = rows % 4 == 3;
                KS_T(fill)(&s, rows * columns, M);
                for (int i = 0; i < rows && !dense; ++i) /* a band that begins at the last column */
                    for (int c = 0; c < columns; ++c)
                        if (columns - 1 - c > i + 1 || uniform(&s) < 0.2) M[i * columns + c] = 0;
                KS_T(ks_lq_clear)(rows, columns, T);
                KS_T(ks_lq_put)(rows, columns, M, apart, T);
                KS_NUM *sorted = KS_T(ks_lq_sort)(first, rows, columns, T, other, place, ends, V);
                int taken = 0;
                for (int c = 0; c < columns; ++c) {
                    const int to = (int)place[c];
                    assert_within(to, 0, columns - 1);
                    assert_false(taken >> to & 1);
                    taken |= 1 << to;
                    for (int i = 0; i < rows; ++i) assert_true(sorted[to * apart + i] == M[i * columns + c]);
                    for (int i = 0; i < first; ++i) assert_true(to < (int)ends[i] || M[i * columns + c] == 0);
                }
                for (int i = 0; i < first; ++i) {
                    const int end = (int)ends[i], before = i ? (int)ends[i - 1] : 0;
                    assert_within(end, before, columns);
                    if (!dense) assert_true(end <= i + 2);
                }
                const int count = KS_T(ks_lq_first)(first, rows, columns, ends, sorted, V, 1);
                assert_int_equal(count, first < columns ? first : columns);
                KS_T(ks_lq_take)(rows, columns, apart, sorted, L, columns);
                for (int i = 0; i < first; ++i)
                    for (int c = i + 1; c < columns; ++c) assert_true(L[i * columns + c] == 0);
                KS_T(same_square)(rows, columns, M, L);
                KS_T(ks_lq_back)(count, rows, columns, ends, V, sorted);
                for (int c = 0; c < columns; ++c)
                    for (int i = 0; i < rows; ++i)
                        KS_T(close_to)(sorted[(int)place[c] * apart + i], (double)M[i * columns + c], 20 * columns * ROUND,
                                       "taken back", rows, columns, first);
            }
}

/** A column that is larger than the others by more than all digits costs them none: [1 g; 0 1] leaves 1 / g. */
static void KS_T(lq_of_columns)(void **state)
{
    (void)state;
    for (double g = 1; g < 1e15; g *= 10) {
        KS_NUM M[4] = { 1, (KS_NUM)g, 0, 1 }, stored[2 * KS_LQ_ROWS + 2], V[4];
        const double root = sqrt(1 + (double)M[1] * (double)M[1]);
        KS_T(ks_lq_clear)(2, 2, stored);
        KS_T(ks_lq_put)(2, 2, M, ks_lq_apart(2), stored);
        KS_T(ks_lq)(2, 2, stored, V);
        KS_T(ks_lq_take)(2, 2, ks_lq_apart(2), stored, M, 2);
        if (!(fabs((double)M[0] / root - 1) <= 8 * ROUND && fabs(fabs((double)M[2]) * root / g - 1) <= 8 * ROUND &&
              fabs((double)M[3] * root - 1) <= 8 * ROUND))
            fail_msg("g = %g: %.17g, %.17g, %.17g", g, (double)M[0], (double)M[2], (double)M[3]);
    }
}

static void KS_T(packing)(void **state)
{
    (void)state;
    source s = { 126 };
    KS_NUM A[MOST], packed[MOST], B[MOST];
    for (int n = 1; n <= LARGEST; ++n) {
        KS_T(fill_covariance)(&s, n, n, A);
        KS_T(ks_pack)(n, A, packed);
        KS_T(ks_unpack)(n, packed, B);
        assert_memory_equal(A, B, (size_t)(n * n) * sizeof *A);
        KS_T(fill)(&s, n * n, A);
        KS_T(ks_transpose)(n, n, A, B);
        KS_T(ks_mirror)(n, A);
        for (int i = 0; i < n; ++i)
            for (int j = 0; j <= i; ++j) {
                assert_true(A[i * n + j] == A[j * n + i]);
                assert_true(A[i * n + j] == B[j * n + i]);
            }
    }
}

#undef ROUND
