/* array_text.h -- orthogonal triangularisation for square-root (array) forms; see num_f64.h.
 *
 * A covariance P is carried as any S with P = S Sᵀ, and sums of covariances are made by putting
 * square roots side by side and rotating from the right: [A B] Theta = [L 0] gives L Lᵀ = A Aᵀ +
 * B Bᵀ without ever forming it. A reflection from the right touches each row on its own, so every
 * row keeps an error relative to its own norm: rows of very different scale do no harm.
 * For numbers that compare to a truth value; packs of series take this form one by one. */

#include "lq_rows.h"

/** Square root S (n, n) with S Sᵀ = A for a positive semidefinite A, by pivoting on the largest
 *  remaining share of a diagonal entry, or of `bound` (n) where that is given and larger: numbers that cancelled when
 *  the entry was made. What is left when only round-off remains is dropped. The
 *  rank is returned; columns beyond it are zero. W holds n * n + n numbers, the last n of them, on return, from 1 on at
 *  which column a row was the pivot, 0 where it never was; its entries of later columns are zero. */
KS_HD_SAME int KS_T(ks_pivoted_factor_of)(int n, const KS_NUM *A, const KS_NUM *bound, KS_NUM *S, KS_NUM *W)
{
    KS_NUM *R = W;            /* what remains of A */
    KS_NUM *used = W + n * n; /* above 0 for rows that have been pivots */
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
        KS_NUM *column = R + p * n; /* nothing that belongs to a row that has been a pivot is read again */
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

/** The same by shares of the diagonal itself. */
KS_HD_SAME int KS_T(ks_pivoted_factor)(int n, const KS_NUM *A, KS_NUM *S, KS_NUM *W)
{
    return KS_T(ks_pivoted_factor_of)(n, A, NULL, S, W);
}

/** S is a square root of A, which may be no covariance at all: where a diagonal entry of A is NaN or
 *  clearly negative, S becomes NaN, and so does everything that is made of it. Returns whether it did. */
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

/** The square root of a covariance of the caller's. W as for ks_pivoted_factor(). Returns the columns that are not
 *  zero. */
KS_HD_SAME int KS_T(ks_covariance_factor)(int n, const KS_NUM *A, KS_NUM *S, KS_NUM *W)
{
    const int rank = KS_T(ks_pivoted_factor)(n, A, S, W);
    return KS_T(ks_doubt_covariance)(n, A, S) ? n : rank;
}

/** Rows of a matrix that is to be reflected (lq_rows.h), entry (i, c) at c * apart + i of `to`, <- A (m, n). */
KS_HD void KS_T(ks_lq_put)(int m, int n, const KS_NUM *A, int apart, KS_NUM *to)
{
#ifdef KS_GEMM
    KS_T(ks_transpose_rows)(m, n, A, n, to, apart);
#else
    for (int i = 0; i < m; ++i)
        for (int c = 0; c < n; ++c) to[c * apart + i] = A[i * n + c];
#endif
}

/** A (m, n) with rows ld apart <- rows of a matrix that has been reflected. */
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

/* What single precision would decide by round-off is decided in double; where nothing is wider it
 * is the number itself. */
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

/** Scratch W for wide numbers: where it is aligned for them, up to sizeof(KS_WIDE) - 1 bytes
 * further. */
KS_HD KS_WIDE *KS_T(ks_wide_scratch)(KS_NUM *W)
{
    if (sizeof(KS_WIDE) == sizeof(KS_NUM)) return (KS_WIDE *)(void *)W;
    const uintptr_t over = (uintptr_t)W % sizeof(KS_WIDE);
    return (KS_WIDE *)(void *)((char *)W + (over ? sizeof(KS_WIDE) - over : 0));
}

/** A column of a matrix that is to be reflected goes to another, in pieces: it is short, and a call takes longer. */
KS_HD void KS_T(ks_lq_move)(int apart, const KS_NUM *from, KS_NUM *to)
{
    for (int r = 0; r < apart; r += KS_LQ_ROWS)
        for (int i = r; i < r + KS_LQ_ROWS; ++i) to[i] = from[i];
}

/** T (rows, columns), stored as lq_rows.h says, of which the first rows are to be reflected, with its columns in the order
 *  of the first row in which they have an entry: zeros of sparse F and H, of triangles and of what is known exactly then
 *  come last in a row, and reflections are short. Returns T, where nothing moves, or M, to which it is copied.
 *  place (columns): where a column goes. ends (first): ks_lq_first(). W: first + 1 numbers. */
KS_HD KS_NUM *KS_T(ks_lq_sort)(int first, int rows, int columns, KS_NUM *T, KS_NUM *M, KS_NUM *place, KS_NUM *ends,
                               KS_NUM *W)
{
    const int apart = ks_lq_apart(rows);
    KS_NUM *next = W; /* how many columns begin in a row, then the next place for one */
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

/** C (m, n) = A (m, k) B (k, n), by entries of A where these are few, as those of transitions often are. */
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

/** The same of a root A, whose rows end the sooner the earlier they are where reflections have left it a triangle or nearly
 *  so. */
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

/** The sum over l of |A[i, l]| times the norm of row l of S (n, n): a bound for row i of A S that
 *  does not shrink by cancellation, against which a pivot is judged. */
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

/** P (n, n) = S Sᵀ with S (n, columns) stored with row length `stride`; symmetric to the bit. */
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
