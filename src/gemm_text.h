/* gemm_text.h -- the matrix product for sizes known at run time, shaped by hand for vector registers; see num_f64.h.
 * The plain loops of smallmat_text.h are its reference.
 *
 * A tile of C, 4 rows by two vectors, stays in registers while k runs. The vectors are GCC's vector types, so the same
 * text serves every instruction set. */

#include "transpose_text.h"

typedef KS_NUM KS_T(ks_vector) __attribute__((vector_size(KS_VECTOR_BYTES)));
typedef KS_NUM KS_T(ks_vector_at) __attribute__((vector_size(KS_VECTOR_BYTES),
                                                 aligned(sizeof(KS_NUM)), may_alias));
#define KS_WIDTH ((int)(KS_VECTOR_BYTES / sizeof(KS_NUM)))
#define KS_LOAD(p) ((KS_T(ks_vector)) * (const KS_T(ks_vector_at) *)(const void *)(p))
#define KS_STORE(p, v) (*(KS_T(ks_vector_at) *)(void *)(p) = (KS_T(ks_vector_at))(v))

/** `rows` rows by `vectors` vectors of C += or -= A B; both are literals. A's entry (i, l) is A[i * ai + l * al]. */
KS_HD void KS_T(ks_gemm_tile)(int rows, int vectors, int subtract, int k, const KS_NUM *A, int ai,
                              int al, const KS_NUM *B, int n, KS_NUM *C)
{
    KS_T(ks_vector) c[4][2];
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) c[r][v] = KS_LOAD(C + r * n + v * KS_WIDTH);
    for (int l = 0; l < k; ++l) {
        KS_T(ks_vector) b[2];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) b[v] = KS_LOAD(B + l * n + v * KS_WIDTH);
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
            const KS_NUM a = A[r * ai + l * al];
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v)
                c[r][v] = subtract ? c[r][v] - a * b[v] : c[r][v] + a * b[v];
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) KS_STORE(C + r * n + v * KS_WIDTH, c[r][v]);
}

/** All rows of one strip of `vectors` vectors. */
KS_HD void KS_T(ks_gemm_strip)(int vectors, int subtract, int m, int k, const KS_NUM *A, int ai,
                               int al, const KS_NUM *B, int n, KS_NUM *C)
{
    int i = 0;
    for (; i + 4 <= m; i += 4)
        KS_T(ks_gemm_tile)(4, vectors, subtract, k, A + i * ai, ai, al, B, n, C + i * n);
    switch (m % 4) {
    case 3: KS_T(ks_gemm_tile)(3, vectors, subtract, k, A + i * ai, ai, al, B, n, C + i * n); break;
    case 2: KS_T(ks_gemm_tile)(2, vectors, subtract, k, A + i * ai, ai, al, B, n, C + i * n); break;
    case 1: KS_T(ks_gemm_tile)(1, vectors, subtract, k, A + i * ai, ai, al, B, n, C + i * n); break;
    default: break;
    }
}

/** `rows` rows of `columns` columns that do not fill a vector; both are literals. The sums of several rows are
 *  independent, which hides their latency. */
KS_HD void KS_T(ks_gemm_edge)(int rows, int columns, int subtract, int k, const KS_NUM *A, int ai, int al,
                              const KS_NUM *B, int n, KS_NUM *C)
{
    KS_NUM c[4][4];
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < columns; ++v) c[r][v] = C[r * n + v];
    for (int l = 0; l < k; ++l)
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
            const KS_NUM a = A[r * ai + l * al];
#pragma GCC unroll 4
            for (int v = 0; v < columns; ++v)
                c[r][v] = subtract ? c[r][v] - a * B[l * n + v] : c[r][v] + a * B[l * n + v];
        }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < columns; ++v) C[r * n + v] = c[r][v];
}

/** All rows of up to four such columns. */
KS_HD void KS_T(ks_gemm_edges)(int columns, int subtract, int m, int k, const KS_NUM *A, int ai, int al,
                               const KS_NUM *B, int n, KS_NUM *C)
{
    int i = 0;
    for (; i + 4 <= m; i += 4)
        KS_T(ks_gemm_edge)(4, columns, subtract, k, A + i * ai, ai, al, B, n, C + i * n);
    for (; i < m; ++i) KS_T(ks_gemm_edge)(1, columns, subtract, k, A + i * ai, ai, al, B, n, C + i * n);
}

/** C (m, n) += or -= A B with B (k, n). A's entry (i, l) is A[i * ai + l * al]. */
KS_HD void KS_T(ks_gemm_signed)(int subtract, int m, int k, int n, const KS_NUM *A, int ai, int al,
                                const KS_NUM *B, KS_NUM *C)
{
    int j = 0;
    for (; j + 2 * KS_WIDTH <= n; j += 2 * KS_WIDTH)
        KS_T(ks_gemm_strip)(2, subtract, m, k, A, ai, al, B + j, n, C + j);
    if (j + KS_WIDTH <= n) {
        KS_T(ks_gemm_strip)(1, subtract, m, k, A, ai, al, B + j, n, C + j);
        j += KS_WIDTH;
    }
    for (; j + 4 <= n; j += 4) KS_T(ks_gemm_edges)(4, subtract, m, k, A, ai, al, B + j, n, C + j);
    switch (n % (KS_WIDTH < 4 ? KS_WIDTH : 4)) {
    case 3: KS_T(ks_gemm_edges)(3, subtract, m, k, A, ai, al, B + j, n, C + j); break;
    case 2: KS_T(ks_gemm_edges)(2, subtract, m, k, A, ai, al, B + j, n, C + j); break;
    case 1: KS_T(ks_gemm_edges)(1, subtract, m, k, A, ai, al, B + j, n, C + j); break;
    default: break;
    }
}

KS_HD_COLD void KS_T(ks_gemm_add)(int m, int k, int n, const KS_NUM *A, int ai, int al,
                                  const KS_NUM *B, KS_NUM *C)
{
    KS_T(ks_gemm_signed)(0, m, k, n, A, ai, al, B, C);
}

KS_HD_COLD void KS_T(ks_gemm_sub)(int m, int k, int n, const KS_NUM *A, int ai, int al,
                                  const KS_NUM *B, KS_NUM *C)
{
    KS_T(ks_gemm_signed)(1, m, k, n, A, ai, al, B, C);
}

#undef KS_WIDTH
#undef KS_LOAD
#undef KS_STORE
