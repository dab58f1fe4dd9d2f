/* array_text.h -- orthogonal triangularisation for square-root (array) forms; see num_f64.h.
 *
 * A covariance P is carried as any S with P = S Sᵀ, and sums of covariances are made by putting
 * square roots side by side and rotating from the right: [A B] Theta = [L 0] gives L Lᵀ = A Aᵀ +
 * B Bᵀ without ever forming it. A reflection from the right touches each row on its own, so every
 * row keeps an error relative to its own norm: rows of very different scale do no harm.
 * For numbers that compare to a truth value; packs of series take this form one by one. */

#include "lq_rows.h"

/** Square root S (n, n) with S Sᵀ = A for a positive semidefinite A, by pivoting on the largest
 *  remaining share of a diagonal entry; what is left when only round-off remains is dropped. The
 *  rank is returned; columns beyond it are zero. W holds n * n + n numbers, the last n of them, on return, from 1 on at
 *  which column a row was the pivot, 0 where it never was; its entries of later columns are zero. */
KS_HD_SAME int KS_T(ks_pivoted_factor)(int n, const KS_NUM *A, KS_NUM *S, KS_NUM *W)
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
            const KS_NUM share = R[i * n + i] / A[i * n + i];
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
    for (int i = 0; i < m; ++i)
        for (int c = 0; c < n; ++c) to[c * apart + i] = A[i * n + c];
}

/** A (m, n) with rows ld apart <- rows of a matrix that has been reflected. */
KS_HD void KS_T(ks_lq_take)(int m, int n, int apart, const KS_NUM *from, KS_NUM *A, int ld)
{
    for (int i = 0; i < m; ++i)
        for (int c = 0; c < n; ++c) A[i * ld + c] = from[c * apart + i];
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

/** The sum over l of |A[i, l]| times the norm of row l of S (n, n): a bound for row i of A S that
 *  does not shrink by cancellation, against which a pivot is judged. */
KS_HD KS_NUM KS_T(ks_row_bound)(int n, const KS_NUM *A_row, const KS_NUM *S)
{
    KS_NUM bound = KS_LIT(0);
    for (int l = 0; l < n; ++l) {
        KS_NUM norm = KS_LIT(0);
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
