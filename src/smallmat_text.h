/* smallmat_text.h -- dense kernels for small matrices; one text for every number, see num_f64.h.
 *
 * Matrices are row-major and contiguous. Outputs do not overlap inputs. Inner loops run along rows with unit stride, so
 * that they vectorize. Where the number defines KS_GEMM, literal sizes up to it are unrolled in the caller. Larger
 * sizes and those known only at run time share one copy of each function, and their products use gemm_text.h. */

#ifdef KS_GEMM
#  define KS_IN_PLACE(n) (__builtin_constant_p(n) && (n) <= KS_GEMM)
#  define KS_CALLED KS_HD_COLD
#  define KS_BY_GEMM(n, call)                                                               \
      if (!KS_IN_PLACE(n)) {                                                                \
          call;                                                                             \
          return;                                                                           \
      }
#else
#  define KS_IN_PLACE(n) 1
#  define KS_CALLED KS_HD
#  define KS_BY_GEMM(n, call)
#endif

#include "vector_text.h"

/** C (m, n) += A (m, k) B (k, n). */
KS_HD void KS_T(ks_mm_add)(int m, int k, int n, const KS_NUM *KS_RESTRICT A,
                           const KS_NUM *KS_RESTRICT B, KS_NUM *KS_RESTRICT C)
{
    KS_BY_GEMM(n, KS_T(ks_gemm_add)(m, k, n, A, k, 1, B, C))
    for (int i = 0; i < m; ++i) {
        KS_NUM *KS_RESTRICT c = C + i * n;
        int l = 0;
        /* Four rows of B for one pass over the row of C: a quarter of its loads and stores. */
        for (; l + 4 <= k; l += 4) {
            const KS_NUM *KS_RESTRICT b = B + l * n;
            const KS_NUM a0 = A[i * k + l], a1 = A[i * k + l + 1];
            const KS_NUM a2 = A[i * k + l + 2], a3 = A[i * k + l + 3];
            for (int j = 0; j < n; ++j)
                c[j] = ((c[j] + a0 * b[j]) + a1 * b[n + j]) +
                       (a2 * b[2 * n + j] + a3 * b[3 * n + j]);
        }
        for (; l < k; ++l) {
            const KS_NUM a = A[i * k + l];
            for (int j = 0; j < n; ++j) c[j] = c[j] + a * B[l * n + j];
        }
    }
}

/** C (m, n) = A (m, k) B (k, n). */
KS_HD void KS_T(ks_mm)(int m, int k, int n, const KS_NUM *KS_RESTRICT A,
                       const KS_NUM *KS_RESTRICT B, KS_NUM *KS_RESTRICT C)
{
    for (int i = 0; i < m * n; ++i) C[i] = KS_LIT(0);
    KS_T(ks_mm_add)(m, k, n, A, B, C);
}

/** C (m, n) += Aᵀ B with A (k, m), B (k, n). */
KS_HD void KS_T(ks_mtm_add)(int m, int k, int n, const KS_NUM *KS_RESTRICT A,
                            const KS_NUM *KS_RESTRICT B, KS_NUM *KS_RESTRICT C)
{
    KS_BY_GEMM(n, KS_T(ks_gemm_add)(m, k, n, A, 1, m, B, C))
    for (int i = 0; i < m; ++i) {
        KS_NUM *KS_RESTRICT c = C + i * n;
        int l = 0;
        for (; l + 4 <= k; l += 4) {
            const KS_NUM *KS_RESTRICT b = B + l * n;
            const KS_NUM a0 = A[l * m + i], a1 = A[(l + 1) * m + i];
            const KS_NUM a2 = A[(l + 2) * m + i], a3 = A[(l + 3) * m + i];
            for (int j = 0; j < n; ++j)
                c[j] = ((c[j] + a0 * b[j]) + a1 * b[n + j]) +
                       (a2 * b[2 * n + j] + a3 * b[3 * n + j]);
        }
        for (; l < k; ++l) {
            const KS_NUM a = A[l * m + i];
            for (int j = 0; j < n; ++j) c[j] = c[j] + a * B[l * n + j];
        }
    }
}

/** C (m, n) -= Aᵀ B with A (k, m), B (k, n). */
KS_HD void KS_T(ks_mtm_sub)(int m, int k, int n, const KS_NUM *KS_RESTRICT A,
                            const KS_NUM *KS_RESTRICT B, KS_NUM *KS_RESTRICT C)
{
    KS_BY_GEMM(n, KS_T(ks_gemm_sub)(m, k, n, A, 1, m, B, C))
    for (int i = 0; i < m; ++i) {
        KS_NUM *KS_RESTRICT c = C + i * n;
        for (int l = 0; l < k; ++l) {
            const KS_NUM a = A[l * m + i];
            for (int j = 0; j < n; ++j) c[j] = c[j] - a * B[l * n + j];
        }
    }
}

/** y (n) += Aᵀ x with A (k, n), x (k). */
KS_HD void KS_T(ks_mtv_add)(int k, int n, const KS_NUM *KS_RESTRICT A,
                            const KS_NUM *KS_RESTRICT x, KS_NUM *KS_RESTRICT y)
{
    for (int l = 0; l < k; ++l) {
        const KS_NUM a = x[l];
        for (int j = 0; j < n; ++j) y[j] = y[j] + a * A[l * n + j];
    }
}

/** y (n) -= Aᵀ x with A (k, n), x (k). */
KS_HD void KS_T(ks_mtv_sub)(int k, int n, const KS_NUM *KS_RESTRICT A,
                            const KS_NUM *KS_RESTRICT x, KS_NUM *KS_RESTRICT y)
{
    for (int l = 0; l < k; ++l) {
        const KS_NUM a = x[l];
        for (int j = 0; j < n; ++j) y[j] = y[j] - a * A[l * n + j];
    }
}

/** B (n, m) = Aᵀ with A (m, n). */
KS_HD void KS_T(ks_transpose)(int m, int n, const KS_NUM *KS_RESTRICT A,
                              KS_NUM *KS_RESTRICT B)
{
    KS_BY_GEMM(n, KS_T(ks_transpose_rows)(m, n, A, n, B, m))
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) B[j * m + i] = A[i * n + j];
}

/** Copy the strict lower triangle of A (n, n) to the upper one: A is then symmetric to the bit. */
KS_HD void KS_T(ks_mirror)(int n, KS_NUM *A)
{
    KS_BY_GEMM(n, KS_T(ks_mirror_rows)(n, A))
    for (int i = 1; i < n; ++i)
        for (int j = 0; j < i; ++j) A[j * n + i] = A[i * n + j];
}

/** C (m, n) -= A B with B (k, n) and A's entry (i, l) at A[i * ai + l * al]. No pointer may be KS_RESTRICT, see there. */
KS_HD void KS_T(ks_panel_sub)(int m, int k, int n, const KS_NUM *A, int ai, int al, const KS_NUM *B, KS_NUM *C)
{
    KS_BY_GEMM(n, KS_T(ks_gemm_sub)(m, k, n, A, ai, al, B, C))
    for (int i = 0; i < m; ++i)
        for (int l = 0; l < k; ++l) {
            const KS_NUM a = A[i * ai + l * al];
            for (int j = 0; j < n; ++j) C[i * n + j] = C[i * n + j] - a * B[l * n + j];
        }
}

KS_HD KS_MASK KS_T(ks_ldl_body)(int n, double ratio, KS_NUM *KS_RESTRICT A,
                                KS_NUM *KS_RESTRICT inverse_d)
{
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
    for (int j = 0; j < n; ++j) inverse_d[j] = A[j * n + j];
    for (int j = 0; j < n; ++j) {
        const KS_NUM pivot = A[j * n + j];
        good = good & KS_GT(pivot, KS_LIT(ratio) * inverse_d[j]) & KS_GT(pivot, KS_LIT(KS_LEAST_PIVOT));
        inverse_d[j] = KS_LIT(1) / pivot;
        for (int i = j + 1; i < n; ++i) {
            const KS_NUM l = A[j * n + i] * inverse_d[j];
            for (int c = i; c < n; ++c) A[i * n + c] = A[i * n + c] - l * A[j * n + c];
            A[i * n + j] = l;
        }
    }
    return good;
}

KS_CALLED KS_MASK KS_T(ks_ldl_shared)(int n, double ratio, KS_NUM *A, KS_NUM *inverse_d)
{
    return KS_T(ks_ldl_body)(n, ratio, A, inverse_d);
}

/** Factor the symmetric A (n, n) into L D Lᵀ, without square roots; reads the upper triangle. On return the diagonal
 *  holds D, the strict lower triangle holds the unit lower L, and inverse_d (n) holds 1 / D. Returns true where every
 *  pivot exceeds `ratio` times the diagonal entry of A that it came from. */
KS_HD KS_MASK KS_T(ks_ldl)(int n, double ratio, KS_NUM *A, KS_NUM *inverse_d)
{
    return KS_IN_PLACE(n) ? KS_T(ks_ldl_body)(n, ratio, A, inverse_d)
                          : KS_T(ks_ldl_shared)(n, ratio, A, inverse_d);
}

/** Rows of B that ks_ldl_forward() and ks_ldl_backward() solve before they update the rest by a product. */
#define KS_PANEL 8

KS_HD void KS_T(ks_ldl_forward_body)(int n, int m, const KS_NUM *KS_RESTRICT LD, KS_NUM *B)
{
    for (int from = 0; from < n; from += KS_PANEL) {
        const int to = from + KS_PANEL < n ? from + KS_PANEL : n;
        for (int i = from + 1; i < to; ++i)
            for (int j = from; j < i; ++j) {
                const KS_NUM l = LD[i * n + j];
                for (int c = 0; c < m; ++c) B[i * m + c] = B[i * m + c] - l * B[j * m + c];
            }
        if (to < n)
            KS_T(ks_panel_sub)(n - to, to - from, m, LD + to * n + from, n, 1, B + from * m,
                               B + to * m);
    }
}

KS_CALLED void KS_T(ks_ldl_forward_shared)(int n, int m, const KS_NUM *LD, KS_NUM *B)
{
    KS_T(ks_ldl_forward_body)(n, m, LD, B);
}

/** B (n, m) <- L⁻¹ B with the factors of ks_ldl(). */
KS_HD void KS_T(ks_ldl_forward)(int n, int m, const KS_NUM *LD, KS_NUM *B)
{
    if (KS_IN_PLACE(m))
        KS_T(ks_ldl_forward_body)(n, m, LD, B);
    else
        KS_T(ks_ldl_forward_shared)(n, m, LD, B);
}

KS_HD void KS_T(ks_ldl_backward_body)(int n, int m, const KS_NUM *KS_RESTRICT LD,
                                      const KS_NUM *KS_RESTRICT inverse_d, KS_NUM *B)
{
    for (int i = 0; i < n; ++i)
        for (int c = 0; c < m; ++c) B[i * m + c] = B[i * m + c] * inverse_d[i];
    for (int to = n; to > 0; to -= KS_PANEL) {
        const int from = to > KS_PANEL ? to - KS_PANEL : 0;
        for (int i = to - 2; i >= from; --i)
            for (int j = i + 1; j < to; ++j) {
                const KS_NUM l = LD[j * n + i];
                for (int c = 0; c < m; ++c) B[i * m + c] = B[i * m + c] - l * B[j * m + c];
            }
        if (from > 0)
            KS_T(ks_panel_sub)(from, to - from, m, LD + from * n, 1, n, B + from * m, B);
    }
}

KS_CALLED void KS_T(ks_ldl_backward_shared)(int n, int m, const KS_NUM *LD,
                                            const KS_NUM *inverse_d, KS_NUM *B)
{
    KS_T(ks_ldl_backward_body)(n, m, LD, inverse_d, B);
}

/** B (n, m) <- L⁻ᵀ D⁻¹ B with the factors of ks_ldl(). */
KS_HD void KS_T(ks_ldl_backward)(int n, int m, const KS_NUM *LD, const KS_NUM *inverse_d,
                                 KS_NUM *B)
{
    if (KS_IN_PLACE(m))
        KS_T(ks_ldl_backward_body)(n, m, LD, inverse_d, B);
    else
        KS_T(ks_ldl_backward_shared)(n, m, LD, inverse_d, B);
}

#undef KS_BY_GEMM
#undef KS_PANEL
#undef KS_IN_PLACE
#undef KS_CALLED
