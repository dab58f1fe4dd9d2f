/* transpose_text.h -- transposes in registers, in blocks of 4 x 4; see num_f64.h. For plain C on the CPU. */

/** Four numbers, independent of the width of a vector register. */
typedef KS_NUM KS_T(ks_quad) __attribute__((vector_size(4 * sizeof(KS_NUM))));
typedef KS_NUM KS_T(ks_quad_at) __attribute__((vector_size(4 * sizeof(KS_NUM)),
                                               aligned(sizeof(KS_NUM)), may_alias));
#define KS_LOAD4(p) ((KS_T(ks_quad)) * (const KS_T(ks_quad_at) *)(const void *)(p))
#define KS_STORE4(p, v) (*(KS_T(ks_quad_at) *)(void *)(p) = (KS_T(ks_quad_at))(v))
#define KS_MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

/** Transpose t (4, 4) in place. */
#define KS_TRANSPOSE4(t)                                                                    \
    do {                                                                                    \
        const KS_T(ks_quad) t0_ = KS_MIX(t[0], t[1], 0, 4, 2, 6);                           \
        const KS_T(ks_quad) t1_ = KS_MIX(t[0], t[1], 1, 5, 3, 7);                           \
        const KS_T(ks_quad) t2_ = KS_MIX(t[2], t[3], 0, 4, 2, 6);                           \
        const KS_T(ks_quad) t3_ = KS_MIX(t[2], t[3], 1, 5, 3, 7);                           \
        t[0] = KS_MIX(t0_, t2_, 0, 1, 4, 5);                                                \
        t[1] = KS_MIX(t1_, t3_, 0, 1, 4, 5);                                                \
        t[2] = KS_MIX(t0_, t2_, 2, 3, 6, 7);                                                \
        t[3] = KS_MIX(t1_, t3_, 2, 3, 6, 7);                                                \
    } while (0)

/** B (n, m) <- Aᵀ with A (m, n). Rows of A are lda apart, rows of B ldb. */
KS_HD void KS_T(ks_transpose_rows)(int m, int n, const KS_NUM *A, int lda, KS_NUM *B, int ldb)
{
    if (m < 4 || n < 4) {
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < n; ++j) B[j * ldb + i] = A[i * lda + j];
        return;
    }
    /* If 4 does not divide the size, the last block of a row or column overlaps the one before it. */
    for (int i = 0; i < m; i += 4) {
        const int r = i + 4 <= m ? i : m - 4;
        for (int j = 0; j < n; j += 4) {
            const int c = j + 4 <= n ? j : n - 4;
            KS_T(ks_quad) t[4];
#pragma GCC unroll 4
            for (int a = 0; a < 4; ++a) t[a] = KS_LOAD4(A + (r + a) * lda + c);
            KS_TRANSPOSE4(t);
#pragma GCC unroll 4
            for (int a = 0; a < 4; ++a) KS_STORE4(B + (c + a) * ldb + r, t[a]);
        }
    }
}

/** Copy the lower triangle of A (n, n) to the strict upper one. */
KS_HD void KS_T(ks_mirror_rows)(int n, KS_NUM *A)
{
    for (int i = 0; i < n; i += 4) {
        const int behind = i + 4 < n ? i + 4 : n;
        for (int r = i + 1; r < behind; ++r)
            for (int c = i; c < r; ++c) A[c * n + r] = A[r * n + c];
        KS_T(ks_transpose_rows)(n - behind, behind - i, A + behind * n + i, n, A + i * n + behind, n);
    }
}
