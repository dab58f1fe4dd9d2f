/* packmat_text.h -- the kernels of smallmat_text.h that one step needs, shaped by hand for packs.
 *
 * A pack fills a register with one number of each series. Products therefore keep blocks of up to 2 x 4 results in
 * registers and run over the inner dimension. Each sum is added up in the same order as in the plain loops of
 * smallmat_text.h. Functions of literal sizes are unrolled in their caller; other sizes share one copy of each
 * function. */

#include "vector_text.h"

#define KS_IN_PLACE(n) __builtin_constant_p(n)

/** C (r, c) = [C] + sign A B for literal r <= 2 and c <= 4. A's entry (i, l) is A[i * ai + l * al]; rows of B and C are
 *  ldb and ldc apart. from_zero: C is not read. No pointer may be KS_RESTRICT, see there. */
KS_HD void KS_T(ks_pack_block)(int r, int c, int k, int sign, int from_zero, const KS_NUM *A, int ai, int al,
                               const KS_NUM *B, int ldb, KS_NUM *C, int ldc)
{
    const KS_NUM zero = KS_LIT(0);
    const KS_NUM *b = B;
    /* Single variables: the compiler would keep an array in memory. */
    KS_NUM p0 = zero, p1 = zero, p2 = zero, p3 = zero, q0 = zero, q1 = zero, q2 = zero, q3 = zero;
#define EACH(DO)                                                                            \
    DO(0, 0, p0) DO(0, 1, p1) DO(0, 2, p2) DO(0, 3, p3)                                     \
    DO(1, 0, q0) DO(1, 1, q1) DO(1, 2, q2) DO(1, 3, q3)
#define LOAD(i, j, s)  if (!from_zero && (i) < r && (j) < c) s = C[(i) * ldc + (j)];
#define ADD(i, j, s)   if ((i) < r && (j) < c) s = s + a##i * b[j];
#define SUB(i, j, s)   if ((i) < r && (j) < c) s = s - a##i * b[j];
#define STORE(i, j, s) if ((i) < r && (j) < c) C[(i) * ldc + (j)] = s;
    EACH(LOAD)
    for (int l = 0; l < k; ++l, b += ldb) {
        const KS_NUM a0 = A[l * al], a1 = r > 1 ? A[ai + l * al] : zero;
        if (sign > 0) {
            EACH(ADD)
        } else {
            EACH(SUB)
        }
    }
    EACH(STORE)
#undef EACH
#undef LOAD
#undef ADD
#undef SUB
#undef STORE
}

/** ks_pack_block() for any m and n, in blocks. */
KS_HD void KS_T(ks_pack_gemm)(int m, int k, int n, int sign, int from_zero, const KS_NUM *A, int ai,
                              int al, const KS_NUM *B, int ldb, KS_NUM *C, int ldc)
{
#define ROWS(c)                                                                             \
    for (; i + 2 <= m; i += 2)                                                              \
        KS_T(ks_pack_block)(2, c, k, sign, from_zero, A + i * ai, ai, al, B + j, ldb,       \
                            C + i * ldc + j, ldc);                                          \
    if (i < m)                                                                              \
        KS_T(ks_pack_block)(1, c, k, sign, from_zero, A + i * ai, ai, al, B + j, ldb,       \
                            C + i * ldc + j, ldc)
    for (int j = 0; j < n;) {
        const int left = n - j;
        /* Five, six and nine columns divide more evenly into threes. */
        const int c = left == 5 || left == 6 || left == 9 ? 3 : left < 4 ? left : 4;
        int i = 0;
        if (c == 4) {
            ROWS(4);
        } else if (c == 3) {
            ROWS(3);
        } else if (c == 2) {
            ROWS(2);
        } else {
            ROWS(1);
        }
        j += c;
    }
#undef ROWS
}

KS_HD_COLD void KS_T(ks_pack_set_shared)(int m, int k, int n, const KS_NUM *A, int ai, int al,
                                  const KS_NUM *B, KS_NUM *C)
{
    KS_T(ks_pack_gemm)(m, k, n, 1, 1, A, ai, al, B, n, C, n);
}

KS_HD void KS_T(ks_pack_set)(int m, int k, int n, const KS_NUM *A, int ai, int al,
                                  const KS_NUM *B, KS_NUM *C)
{
    if (KS_IN_PLACE(n)) {
        KS_T(ks_pack_gemm)(m, k, n, 1, 1, A, ai, al, B, n, C, n);
        return;
    }
    KS_T(ks_pack_set_shared)(m, k, n, A, ai, al, B, C);
}

KS_HD_COLD void KS_T(ks_pack_add_shared)(int m, int k, int n, const KS_NUM *A, int ai, int al,
                                  const KS_NUM *B, KS_NUM *C)
{
    KS_T(ks_pack_gemm)(m, k, n, 1, 0, A, ai, al, B, n, C, n);
}

KS_HD void KS_T(ks_pack_add)(int m, int k, int n, const KS_NUM *A, int ai, int al,
                                  const KS_NUM *B, KS_NUM *C)
{
    if (KS_IN_PLACE(n)) {
        KS_T(ks_pack_gemm)(m, k, n, 1, 0, A, ai, al, B, n, C, n);
        return;
    }
    KS_T(ks_pack_add_shared)(m, k, n, A, ai, al, B, C);
}

KS_HD_COLD void KS_T(ks_pack_sub_shared)(int m, int k, int n, const KS_NUM *A, int ai, int al,
                                  const KS_NUM *B, int ldb, KS_NUM *C, int ldc)
{
    KS_T(ks_pack_gemm)(m, k, n, -1, 0, A, ai, al, B, ldb, C, ldc);
}

KS_HD void KS_T(ks_pack_sub)(int m, int k, int n, const KS_NUM *A, int ai, int al,
                                  const KS_NUM *B, int ldb, KS_NUM *C, int ldc)
{
    if (KS_IN_PLACE(n)) {
        KS_T(ks_pack_gemm)(m, k, n, -1, 0, A, ai, al, B, ldb, C, ldc);
        return;
    }
    KS_T(ks_pack_sub_shared)(m, k, n, A, ai, al, B, ldb, C, ldc);
}

KS_HD void KS_T(ks_mm)(int m, int k, int n, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
    KS_T(ks_pack_set)(m, k, n, A, k, 1, B, C);
}

KS_HD void KS_T(ks_mm_add)(int m, int k, int n, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
    KS_T(ks_pack_add)(m, k, n, A, k, 1, B, C);
}

KS_HD void KS_T(ks_mtm_add)(int m, int k, int n, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
    KS_T(ks_pack_add)(m, k, n, A, 1, m, B, C);
}

KS_HD void KS_T(ks_mtm_sub)(int m, int k, int n, const KS_NUM *A, const KS_NUM *B, KS_NUM *C)
{
    KS_T(ks_pack_sub)(m, k, n, A, 1, m, B, n, C, n);
}

KS_HD void KS_T(ks_mtv_add)(int k, int n, const KS_NUM *A, const KS_NUM *x, KS_NUM *y)
{
    KS_T(ks_pack_add)(1, k, n, x, 0, 1, A, y);
}

KS_HD void KS_T(ks_mtv_sub)(int k, int n, const KS_NUM *A, const KS_NUM *x, KS_NUM *y)
{
    KS_T(ks_pack_sub)(1, k, n, x, 0, 1, A, n, y, n);
}

KS_HD void KS_T(ks_transpose)(int m, int n, const KS_NUM *KS_RESTRICT A, KS_NUM *KS_RESTRICT B)
{
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) B[j * m + i] = A[i * n + j];
}

KS_HD void KS_T(ks_mirror)(int n, KS_NUM *A)
{
    for (int i = 1; i < n; ++i)
        for (int j = 0; j < i; ++j) A[j * n + i] = A[i * n + j];
}

/** See smallmat_text.h. Each row of the upper triangle is completed before the next one. */
KS_HD KS_MASK KS_T(ks_ldl)(int n, double ratio, KS_NUM *A, KS_NUM *inverse_d)
{
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
    for (int j = 0; j < n; ++j) {
        const KS_NUM whole = A[j * n + j];
        if (j > 0) KS_T(ks_pack_sub)(1, j, n - j, A + j * n, 0, 1, A + j, n, A + j * n + j, n);
        const KS_NUM pivot = A[j * n + j];
        good = good & KS_GT(pivot, KS_LIT(ratio) * whole) & KS_GT(pivot, KS_LIT(0));
        inverse_d[j] = KS_LIT(1) / pivot;
        for (int i = j + 1; i < n; ++i) A[i * n + j] = A[j * n + i] * inverse_d[j];
    }
    return good;
}

KS_HD void KS_T(ks_ldl_forward)(int n, int m, const KS_NUM *LD, KS_NUM *B)
{
    for (int i = 1; i < n; ++i)
        KS_T(ks_pack_sub)(1, i, m, LD + i * n, 0, 1, B, m, B + i * m, m);
}

KS_HD void KS_T(ks_ldl_backward)(int n, int m, const KS_NUM *LD, const KS_NUM *inverse_d,
                                      KS_NUM *B)
{
    for (int i = 0; i < n; ++i)
        for (int c = 0; c < m; ++c) B[i * m + c] = B[i * m + c] * inverse_d[i];
    for (int i = n - 2; i >= 0; --i)
        KS_T(ks_pack_sub)(1, n - 1 - i, m, LD + (i + 1) * n + i, 0, n, B + (i + 1) * m, m,
                          B + i * m, m);
}

#undef KS_IN_PLACE
