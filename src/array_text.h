/* array_text.h -- orthogonal triangularization for square-root (array) forms; see num_f64.h.
 *
 * A covariance P is represented by any S with P = S Sᵀ. To add covariances, place their square roots side by side and
 * multiply by an orthogonal Theta from the right: [A B] Theta = [L 0] gives L Lᵀ = A Aᵀ + B Bᵀ without forming the sum.
 * A reflection from the right acts on each row separately, so the error of each row is relative to its own norm. Rows
 * may therefore differ widely in scale.
 *
 * These functions need numbers whose comparison is a truth value. Packs of series go through the array form one series
 * at a time. */

#include "lq_rows.h"

/** Compute a square root S (n, n) of a positive semidefinite A: S Sᵀ = A.
 *
 *  The pivot is the diagonal entry with the largest share left: what remains of it, divided by the entry of A. If
 *  `bound` (n) is given and larger than the entry, it is the divisor: the size of the numbers that cancelled when the
 *  entry was computed. The factorization stops when every share left is round-off (4 n KS_EPS). Returns the rank;
 *  columns of S beyond it are zero.
 *
 *  W: n * n + n numbers. On return, the last n say for each row the column, counted from 1, at which the row was the
 *  pivot, or 0 if it never was. A pivot row has zeros in all later columns. */
KS_HD_SAME int KS_T(ks_pivoted_factor_of)(int n, const KS_NUM *A, const KS_NUM *bound, KS_NUM *S, KS_NUM *W)
{
    KS_NUM *R = W;
    KS_NUM *used = W + n * n; /* above 0: the row has been a pivot */
    int rank = 0;
    for (int i = 0; i < n * n; ++i) {
        R[i] = A[i];
        S[i] = KS_LIT(0);
    }
    for (int i = 0; i < n; ++i) used[i] = KS_LIT(0);
    for (int c = 0; c < n; ++c) {
        int p = -1;
        KS_NUM best = KS_LIT(4 * n * KS_EPS);
        for (int i = 0; i < n; ++i) {
            if (KS_GT(used[i], KS_LIT(0)) || !KS_GT(A[i * n + i], KS_LIT(0))) continue;
            const KS_NUM whole = bound && KS_GT(bound[i], A[i * n + i]) ? bound[i] : A[i * n + i];
            const KS_NUM share = R[i * n + i] / whole;
            if (KS_GT(share, best)) {
                best = share;
                p = i;
            }
        }
        if (p < 0) break;
        used[p] = KS_LIT(c + 1);
        const KS_NUM root = KS_SQRT(R[p * n + p]);
        KS_NUM *column = R + p * n; /* row p of R is free: rows that have been pivots are not read again */
        for (int i = 0; i < n; ++i) {
            const KS_NUM entry = (i > p ? R[i * n + p] : R[p * n + i]) / root;
            column[i] = KS_GT(used[i], KS_LIT(0)) ? KS_LIT(0) : entry;
            S[i * n + c] = i == p ? root : column[i];
        }
        for (int i = 0; i < n; ++i) {
            const KS_NUM entry = column[i];
            if (KS_GT(used[i], KS_LIT(0))) continue;
            for (int j = 0; j <= i; ++j) R[i * n + j] = R[i * n + j] - entry * column[j];
        }
        rank = c + 1;
    }
    return rank;
}

/** ks_pivoted_factor_of() with shares of the diagonal of A itself. */
KS_HD_SAME int KS_T(ks_pivoted_factor)(int n, const KS_NUM *A, KS_NUM *S, KS_NUM *W)
{
    return KS_T(ks_pivoted_factor_of)(n, A, NULL, S, W);
}

/** Mark a square root S of an A that may not be a covariance. If a diagonal entry of A is not finite or is clearly
 *  negative, below -1e-4 of the trace, the diagonal of S becomes NaN, and so does every result computed from S. Returns
 *  whether that is so. */
KS_HD int KS_T(ks_doubt_covariance)(int n, const KS_NUM *A, KS_NUM *S)
{
    KS_NUM trace = KS_LIT(0);
    int doubt = 0;
    for (int i = 0; i < n; ++i) trace = trace + A[i * n + i];
    for (int i = 0; i < n; ++i) {
        const KS_NUM a = A[i * n + i];
        const int finite = KS_GT(KS_LIT(1), a - a);
        if (finite && !KS_GT(KS_LIT(-1e-4) * trace, a)) continue;
        for (int c = 0; c < n; ++c) S[c * n + c] = KS_LIT(NAN);
        doubt = 1;
    }
    return doubt;
}

/** Compute the square root S of a covariance that the caller supplied; see ks_doubt_covariance(). W as for
 *  ks_pivoted_factor_of(). Returns the number of columns that are not zero. */
KS_HD_SAME int KS_T(ks_covariance_factor)(int n, const KS_NUM *A, KS_NUM *S, KS_NUM *W)
{
    const int rank = KS_T(ks_pivoted_factor)(n, A, S, W);
    return KS_T(ks_doubt_covariance)(n, A, S) ? n : rank;
}

/** Copy A (m, n) into rows of a matrix to be reflected (lq_rows.h): entry (i, c) to to[c * apart + i]. */
KS_HD void KS_T(ks_lq_put)(int m, int n, const KS_NUM *A, int apart, KS_NUM *to)
{
#ifdef KS_GEMM
    KS_T(ks_transpose_rows)(m, n, A, n, to, apart);
#else
    for (int i = 0; i < m; ++i)
        for (int c = 0; c < n; ++c) to[c * apart + i] = A[i * n + c];
#endif
}

/** Copy rows of a reflected matrix to A (m, n), whose rows are ld apart. */
KS_HD void KS_T(ks_lq_take)(int m, int n, int apart, const KS_NUM *from, KS_NUM *A, int ld)
{
#ifdef KS_GEMM
    KS_T(ks_transpose_rows)(n, m, from, apart, A, ld);
#else
    for (int i = 0; i < m; ++i)
        for (int c = 0; c < n; ++c) A[i * ld + c] = from[c * apart + i];
#endif
}

#define KS_REFLECTED         KS_NUM
#define KS_REFLECTED_SQRT(x) KS_SQRT(x)
#define KS_R(name)           KS_T(name)
#include "reflect_text.h"
#undef KS_REFLECTED
#undef KS_REFLECTED_SQRT
#undef KS_R

/* Decisions that round-off could reverse in single precision are made in double. Where KS_WIDE is not defined, it is the
 * number itself. */
#ifndef KS_WIDE
#    define KS_WIDE KS_NUM
#endif
#ifndef KS_WIDE_EPS
#    define KS_WIDE_EPS     KS_EPS
#    define KS_WIDE_SQRT(x) KS_SQRT(x)
#endif
#define KS_REFLECTED         KS_WIDE
#define KS_REFLECTED_SQRT(x) KS_WIDE_SQRT(x)
#define KS_R(name)           KS_T(name##_wide)
#include "reflect_text.h"
#undef KS_REFLECTED
#undef KS_REFLECTED_SQRT
#undef KS_R

/** Return scratch W as wide numbers. Aligning it for them skips up to sizeof(KS_WIDE) - 1 bytes. */
KS_HD KS_WIDE *KS_T(ks_wide_scratch)(KS_NUM *W)
{
    if (sizeof(KS_WIDE) == sizeof(KS_NUM)) return (KS_WIDE *)(void *)W;
    const uintptr_t over = (uintptr_t)W % sizeof(KS_WIDE);
    return (KS_WIDE *)(void *)((char *)W + (over ? sizeof(KS_WIDE) - over : 0));
}

/** Copy one column of a matrix to be reflected. Columns are short, so the loops are faster than a call of memcpy(). */
KS_HD void KS_T(ks_lq_move)(int apart, const KS_NUM *from, KS_NUM *to)
{
    for (int r = 0; r < apart; r += KS_LQ_ROWS)
        for (int i = r; i < r + KS_LQ_ROWS; ++i) to[i] = from[i];
}

/** Sort the columns of T (rows, columns) by the first row in which they have an entry, before the first `first` rows
 *  are reflected. T is stored as lq_rows.h says. Zeros then come last in each row, and reflections are short. Such
 *  zeros come from sparse F and H, from triangles and from states that are known exactly.
 *
 *  Returns T if no column moves, else M, the sorted copy. place (columns): the new position of each column. ends
 *  (first): as for ks_lq_first(). W: first + 1 numbers. */
KS_HD KS_NUM *KS_T(ks_lq_sort)(int first, int rows, int columns, KS_NUM *T, KS_NUM *M, KS_NUM *place, KS_NUM *ends,
                               KS_NUM *W)
{
    const int apart = ks_lq_apart(rows);
    KS_NUM *next = W; /* per row: first the number of columns that begin there, then the next free position */
    int at = 0, moved = 0;
    for (int i = 0; i <= first; ++i) next[i] = KS_LIT(0);
    for (int c = 0; c < columns; ++c) {
        int i = 0;
        while (i < first && T[c * apart + i] == KS_LIT(0)) ++i;
        place[c] = (KS_NUM)i;
        next[i] = (KS_NUM)((int)(double)next[i] + 1);
    }
    for (int i = 0; i <= first; ++i) {
        const int count = (int)(double)next[i];
        next[i] = (KS_NUM)at;
        at += count;
        if (i < first) ends[i] = (KS_NUM)at;
    }
    for (int c = 0; c < columns; ++c) {
        KS_NUM *row = next + (int)(double)place[c];
        const int to = (int)(double)*row;
        moved |= to != c;
        place[c] = (KS_NUM)to;
        *row = (KS_NUM)(to + 1);
    }
    if (!moved) return T;
    for (int c = 0; c < columns; ++c) KS_T(ks_lq_move)(apart, T + c * apart, M + (int)(double)place[c] * apart);
    return M;
}

/** C (m, n) = A (m, k) B (k, n). Loops over the entries of A that are not zero if at most a quarter of them are not, as
 *  is common for transitions. */
KS_HD void KS_T(ks_mm_few)(int m, int k, int n, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
    int some = 0;
    for (int i = 0; i < m * k; ++i) some += !(A[i] == KS_LIT(0));
    if (4 * some > m * k) {
        KS_T(ks_mm)(m, k, n, A, B, C);
        return;
    }
    KS_T(ks_zero)(m * n, C);
    for (int i = 0; i < m; ++i)
        for (int l = 0; l < k; ++l) {
            const KS_NUM a = A[i * k + l];
            if (a == KS_LIT(0)) continue;
            for (int j = 0; j < n; ++j) C[i * n + j] = C[i * n + j] + a * B[l * n + j];
        }
}

/** C (m, n) = A (m, k) B (k, n) for a square root A. Reflections have left A a triangle or nearly so; trailing zeros of
 *  each group of four rows are skipped. */
KS_HD void KS_T(ks_mm_root)(int m, int k, int n, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
#ifdef KS_GEMM
    KS_T(ks_zero)(m * n, C);
    for (int i = 0; i < m; i += 4) {
        const int some = m - i < 4 ? m - i : 4;
        int end = k, zero = 1;
        for (; end > 0 && zero; end -= zero)
            for (int r = i; r < i + some; ++r) zero &= A[r * k + end - 1] == KS_LIT(0);
        KS_T(ks_gemm_add)(some, end, n, A + i * k, k, 1, B, C + i * n);
    }
#else
    KS_T(ks_mm)(m, k, n, A, B, C);
#endif
}

/** Return the sum over l of |A[i, l]| times the norm of row l of S (n, n), given row i of A. This bounds row i of A S,
 *  and unlike that row it does not shrink by cancellation. Pivots are compared with it. */
KS_HD KS_NUM KS_T(ks_row_bound)(int n, const KS_NUM *A_row, const KS_NUM *S)
{
    KS_NUM bound = KS_LIT(0);
    for (int l = 0; l < n; ++l) {
        KS_NUM norm = KS_LIT(0);
        if (A_row[l] == KS_LIT(0)) continue;
        for (int c = 0; c < n; ++c) norm = norm + S[l * n + c] * S[l * n + c];
        bound = bound + (KS_GT(A_row[l], KS_LIT(0)) ? A_row[l] : -A_row[l]) * KS_SQRT(norm);
    }
    return bound;
}

/** P (n, n) = S Sᵀ, symmetric to the bit. S (n, columns) has rows `stride` apart. */
KS_HD void KS_T(ks_square)(int n, int columns, int stride, const KS_NUM *S, KS_NUM *P)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) {
            KS_NUM s = KS_LIT(0);
            for (int c = 0; c < columns; ++c) s = s + S[i * stride + c] * S[j * stride + c];
            P[i * n + j] = s;
            P[j * n + i] = s;
        }
}
