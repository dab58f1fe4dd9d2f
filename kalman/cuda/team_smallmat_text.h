/* team_smallmat_text.h -- device code: the functions of smallmat_text.h that steps need, by a team of threads on memory
 * that all of them see. See num_f64.h and team.h.
 *
 * Every thread calls a function with the same arguments. Every function ends with a barrier of the team. ks_ldl() and
 * ks_semidefinite_factor() also begin with one; the others do so only if KS_TEAM_BEFORE() is defined as ks_team_sync().
 * Otherwise the caller must synchronise before it passes memory that other threads have written, or memory to write
 * that they still read. Results do not depend on the number of threads. */
#ifndef KS_TEAM_BEFORE
#define KS_TEAM_BEFORE() ((void)0)
#endif

/** C (m, n) = A B; with `adds` C + A B, with `subtracts` too C - A B. B is (k, n). A's entry (i, l) is at A[i * ai + l
 *  * al]; its type may be narrower. A thread does two by two entries. At an odd edge it does the last row or column
 *  twice. */
template <class Number>
KS_DEVICE void KS_T(ks_team_product)(int m, int k, int n, const Number *A, int ai, int al,
                                     const KS_NUM *B, KS_NUM *C, bool adds, bool subtracts)
{
    const int across = (n + 1) / 2, tiles = (m + 1) / 2 * across;
    KS_TEAM_BEFORE();
    KS_TEAM_EACH(t, tiles) {
        const int i0 = t / across * 2, j0 = t % across * 2;
        const int i1 = i0 + 1 < m ? i0 + 1 : i0, j1 = j0 + 1 < n ? j0 + 1 : j0;
        KS_NUM s[4] = { KS_LIT(0), KS_LIT(0), KS_LIT(0), KS_LIT(0) };
        for (int l = 0; l < k; ++l) {
            const KS_NUM a0 = (KS_NUM)A[i0 * ai + l * al], a1 = (KS_NUM)A[i1 * ai + l * al];
            const KS_NUM b0 = B[l * n + j0], b1 = B[l * n + j1];
            s[0] = s[0] + a0 * b0;
            s[1] = s[1] + a0 * b1;
            s[2] = s[2] + a1 * b0;
            s[3] = s[3] + a1 * b1;
        }
        const int at[4] = { i0 * n + j0, i0 * n + j1, i1 * n + j0, i1 * n + j1 };
        KS_NUM before[4];
        for (int e = 0; e < 4; ++e) before[e] = adds ? C[at[e]] : KS_LIT(0);
        for (int e = 0; e < 4; ++e) C[at[e]] = subtracts ? before[e] - s[e] : before[e] + s[e];
    }
    ks_team_sync();
}

KS_DEVICE void KS_T(ks_mm_add)(int m, int k, int n, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
    KS_T(ks_team_product)(m, k, n, A, k, 1, B, C, true, false);
}

KS_DEVICE void KS_T(ks_mm)(int m, int k, int n, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
    KS_T(ks_team_product)(m, k, n, A, k, 1, B, C, false, false);
}

KS_DEVICE void KS_T(ks_mtm_add)(int m, int k, int n, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
    KS_T(ks_team_product)(m, k, n, A, 1, m, B, C, true, false);
}

KS_DEVICE void KS_T(ks_mtm_sub)(int m, int k, int n, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
    KS_T(ks_team_product)(m, k, n, A, 1, m, B, C, true, true);
}

/** Return s plus or minus the terms l0 .. l1 - 1 of the product of x and a row whose entries are al apart. */
template <class Number>
KS_DEVICE KS_NUM KS_T(ks_team_terms)(int l0, int l1, const Number *row, int al, const KS_NUM *x, KS_NUM s, bool subtracts)
{
    for (int l = l0; l < l1; ++l) {
        const KS_NUM term = (KS_NUM)row[l * al] * x[l];
        s = subtracts ? s - term : s + term;
    }
    return s;
}

/** y (m) += or -= A x. A's entry (i, l) is at A[i * ai + l * al]. Threads whose rows begin in the same bank of shared
 *  memory begin with different columns. */
template <class Number>
KS_DEVICE void KS_T(ks_team_vector)(int m, int k, const Number *A, int ai, int al, const KS_NUM *x,
                                    KS_NUM *y, bool subtracts)
{
    KS_TEAM_BEFORE();
    KS_TEAM_EACH(i, m) {
        const Number *const row = A + i * ai;
        const int first = k > 0 && ai % 8 == 0 ? i % k : 0;
        const KS_NUM s = KS_T(ks_team_terms)(first, k, row, al, x, y[i], subtracts);
        y[i] = KS_T(ks_team_terms)(0, first, row, al, x, s, subtracts);
    }
    ks_team_sync();
}

KS_DEVICE void KS_T(ks_mtv_add)(int k, int n, const KS_NUM *A, const KS_NUM *x, KS_NUM *y)
{
    KS_T(ks_team_vector)(n, k, A, 1, n, x, y, false);
}

KS_DEVICE void KS_T(ks_mtv_sub)(int k, int n, const KS_NUM *A, const KS_NUM *x, KS_NUM *y)
{
    KS_T(ks_team_vector)(n, k, A, 1, n, x, y, true);
}

KS_DEVICE void KS_T(ks_mv_add)(int m, int n, const KS_NUM *A, const KS_NUM *x, KS_NUM *y)
{
    KS_T(ks_team_vector)(m, n, A, n, 1, x, y, false);
}

KS_DEVICE void KS_T(ks_mv_sub)(int m, int n, const KS_NUM *A, const KS_NUM *x, KS_NUM *y)
{
    KS_T(ks_team_vector)(m, n, A, n, 1, x, y, true);
}

KS_DEVICE void KS_T(ks_copy)(int n, const KS_NUM *a, KS_NUM *b)
{
    KS_TEAM_BEFORE();
    KS_TEAM_EACH(i, n) b[i] = a[i];
    ks_team_sync();
}

KS_DEVICE void KS_T(ks_copy_matrix)(int m, int n, const KS_NUM *A, KS_NUM *B) { KS_T(ks_copy)(m * n, A, B); }

KS_DEVICE void KS_T(ks_add)(int n, const KS_NUM *a, KS_NUM *b)
{
    KS_TEAM_BEFORE();
    KS_TEAM_EACH(i, n) b[i] = a[i] + b[i];
    ks_team_sync();
}

KS_DEVICE void KS_T(ks_from)(int n, const KS_NUM *a, KS_NUM *b)
{
    KS_TEAM_BEFORE();
    KS_TEAM_EACH(i, n) b[i] = a[i] - b[i];
    ks_team_sync();
}

KS_DEVICE void KS_T(ks_matrix_from)(int m, int n, const KS_NUM *A, KS_NUM *B) { KS_T(ks_from)(m * n, A, B); }

/** Every thread looks at the whole diagonal. */
KS_DEVICE KS_MASK KS_T(ks_diagonal_below)(int n, KS_NUM times, const KS_NUM *A, const KS_NUM *B)
{
    KS_MASK below = 1;
    for (int i = 0; i < n; ++i) below = below & KS_GT(times * A[i * n + i], B[i * n + i]);
    return below;
}

KS_DEVICE void KS_T(ks_difference)(int n, const KS_NUM *a, const KS_NUM *b, KS_NUM *c)
{
    KS_TEAM_BEFORE();
    KS_TEAM_EACH(i, n) c[i] = a[i] - b[i];
    ks_team_sync();
}

template <class Number>
KS_DEVICE void KS_T(ks_scale_rows)(int m, int n, const KS_NUM *A, const Number *scale, KS_NUM *B)
{
    KS_TEAM_BEFORE();
    KS_TEAM_EACH(i, m * n) B[i] = A[i] * (KS_NUM)scale[i / n];
    ks_team_sync();
}

KS_DEVICE void KS_T(ks_zero)(int n, KS_NUM *a)
{
    KS_TEAM_BEFORE();
    KS_TEAM_EACH(i, n) a[i] = KS_LIT(0);
    ks_team_sync();
}

KS_DEVICE void KS_T(ks_identity)(int n, KS_NUM *A)
{
    KS_TEAM_BEFORE();
    KS_TEAM_EACH(i, n * n) A[i] = KS_LIT(i % (n + 1) == 0);
    ks_team_sync();
}

/** Return the row that thread-item i of (m, n) works on; its column is i % n. If m and n are even, items run along
 *  diagonals: then neighbouring threads reach different banks of shared memory by columns as well as by rows. */
KS_DEVICE int KS_T(ks_row_of)(int m, int n, int i)
{
    if ((m | n) % 2) return i / n;
    const int row = i / n + i % n;
    return n > m ? row % m : row < m ? row : row - m;
}

KS_DEVICE void KS_T(ks_transpose)(int m, int n, const KS_NUM *A, KS_NUM *B)
{
    KS_TEAM_BEFORE();
    KS_TEAM_EACH(i, m * n) {
        const int column = i % n, row = KS_T(ks_row_of)(m, n, i);
        B[column * m + row] = A[row * n + column];
    }
    ks_team_sync();
}

KS_DEVICE void KS_T(ks_mirror)(int n, KS_NUM *A)
{
    KS_TEAM_BEFORE();
    KS_TEAM_EACH(i, n * n) {
        const int column = i % n, row = KS_T(ks_row_of)(n, n, i);
        if (column < row) A[column * n + row] = A[row * n + column];
    }
    ks_team_sync();
}

KS_DEVICE void KS_T(ks_pack)(int n, const KS_NUM *A, KS_NUM *packed)
{
    KS_TEAM_BEFORE();
    KS_TEAM_EACH(i, n * n)
        if (i % n <= i / n) packed[i / n * (i / n + 1) / 2 + i % n] = A[i];
    ks_team_sync();
}

KS_DEVICE void KS_T(ks_unpack)(int n, const KS_NUM *packed, KS_NUM *A)
{
    KS_TEAM_BEFORE();
    KS_TEAM_EACH(i, n * n) {
        const int row = i / n, column = i % n;
        A[i] = packed[row > column ? row * (row + 1) / 2 + column : column * (column + 1) / 2 + row];
    }
    ks_team_sync();
}

/** ks_semidefinite_factor(): in each column a thread does rows of its own, and every thread computes the pivot. */
KS_DEVICE void KS_T(ks_semidefinite_factor)(int n, const KS_NUM *A, KS_NUM *U)
{
    for (int j = 0; j < n; ++j) {
        ks_team_sync();
        KS_NUM pivot = A[j * n + j];
        for (int k = 0; k < j; ++k) pivot = pivot - U[j * n + k] * U[j * n + k];
        const KS_MASK positive =
            KS_GT(pivot, KS_LIT(2 * n * KS_EPS) * A[j * n + j]) & KS_GT(pivot, KS_LIT(0));
        const KS_NUM scale = positive ? KS_LIT(1) / KS_SQRT(pivot) : KS_LIT(0);
        KS_TEAM_EACH(i, n) {
            KS_NUM s = i < j ? KS_LIT(0) : A[i * n + j];
            for (int k = 0; k < j && i >= j; ++k) s = s - U[i * n + k] * U[j * n + k];
            U[i * n + j] = s * scale;
        }
    }
    ks_team_sync();
}

/** ks_ldl(): in each elimination a thread does rows of its own. The pivot's row is not written meanwhile. */
KS_DEVICE KS_MASK KS_T(ks_ldl)(int n, double ratio, KS_NUM *A, KS_NUM *inverse_d)
{
    KS_MASK good = 1;
    ks_team_sync();
    KS_TEAM_EACH(j, n) inverse_d[j] = A[j * n + j];
    for (int j = 0; j < n; ++j) {
        ks_team_sync();
        const KS_NUM pivot = A[j * n + j], inverse = KS_LIT(1) / pivot;
        good = good & KS_GT(pivot, KS_LIT(ratio) * inverse_d[j]) & KS_GT(pivot, KS_LIT(KS_LEAST_PIVOT));
        KS_TEAM_EACH(row, n - j - 1) {
            const int i = j + 1 + row;
            const KS_NUM l = A[j * n + i] * inverse;
            for (int c = i; c < n; ++c) A[i * n + c] = A[i * n + c] - l * A[j * n + c];
            A[i * n + j] = l;
        }
        ks_team_sync();
        if (ks_team_lane() == 0) inverse_d[j] = inverse;
    }
    ks_team_sync();
    return good;
}

/** Whether the threads of a team share a single column: if the team is a block. A thread then does rows of its own, and
 *  subtracts the terms in the order in which one thread would. */
KS_DEVICE bool KS_T(ks_team_shares)(int m) { return m == 1 && ks_team_lanes() > 32; }

/** A thread does columns of B of its own. */
template <class Number>
KS_DEVICE void KS_T(ks_ldl_forward)(int n, int m, const Number *LD, KS_NUM *B)
{
    KS_TEAM_BEFORE();
    if (KS_T(ks_team_shares)(m)) {
        for (int j = 0; j < n - 1; ++j) {
            const KS_NUM b = B[j];
            KS_TEAM_EACH(below, n - j - 1)
                B[j + 1 + below] = B[j + 1 + below] - (KS_NUM)LD[(j + 1 + below) * n + j] * b;
            ks_team_sync();
        }
        return;
    }
    KS_TEAM_EACH(c, m)
        for (int i = 1; i < n; ++i) {
            KS_NUM s = B[i * m + c];
            for (int j = 0; j < i; ++j) s = s - (KS_NUM)LD[i * n + j] * B[j * m + c];
            B[i * m + c] = s;
        }
    ks_team_sync();
}

KS_DEVICE void KS_T(ks_ldl_backward)(int n, int m, const KS_NUM *LD, const KS_NUM *inverse_d,
                                     KS_NUM *B)
{
    KS_TEAM_BEFORE();
    if (KS_T(ks_team_shares)(m)) {
        KS_TEAM_EACH(i, n) B[i] = B[i] * inverse_d[i];
        for (int j = n - 1; j > 0; --j) {
            ks_team_sync();
            const KS_NUM b = B[j];
            KS_TEAM_EACH(i, j) B[i] = B[i] - LD[j * n + i] * b;
        }
        ks_team_sync();
        return;
    }
    KS_TEAM_EACH(c, m)
        for (int i = n - 1; i >= 0; --i) {
            KS_NUM s = B[i * m + c] * inverse_d[i];
            for (int j = n - 1; j > i; --j) s = s - LD[j * n + i] * B[j * m + c];
            B[i * m + c] = s;
        }
    ks_team_sync();
}
