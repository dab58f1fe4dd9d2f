/* panel_text.h -- products and elimination of panels; see src/num_f64.h.
 *
 * A panel is an (n, n) block in scratch, row-major, its rows a multiple of KS_BT_WIDTH long and a
 * multiple of four in number, so that no kernel has a remainder. Beyond n it is zero, a diagonal
 * block has ones on its diagonal. Cholesky factors are upper triangular, R' R: vectors run along
 * rows, and every product of the elimination is X' Y of two panels. Blocks of more than
 * KS_BT_OWN rows go to BLAS. */

#define KS_BT_WIDTH ((int)(32 / sizeof(KS_NUM)))
#define KS_BT_OWN 128
typedef KS_NUM KS_T(ks_bt_wide) __attribute__((vector_size(32)));
typedef KS_NUM KS_T(ks_bt_wide_at)
    __attribute__((vector_size(32), aligned(sizeof(KS_NUM)), may_alias));
typedef KS_NUM KS_T(ks_bt_quad) __attribute__((vector_size(4 * sizeof(KS_NUM))));
typedef KS_NUM KS_T(ks_bt_quad_at)
    __attribute__((vector_size(4 * sizeof(KS_NUM)), aligned(sizeof(KS_NUM)), may_alias));
#define KS_BT_LOAD(p) ((KS_T(ks_bt_wide)) * (const KS_T(ks_bt_wide_at) *)(const void *)(p))
#define KS_BT_STORE(p, v) (*(KS_T(ks_bt_wide_at) *)(void *)(p) = (KS_T(ks_bt_wide_at))(v))
/* Vectors of a tile: what fits the registers beside its operands. */
#define KS_BT_PAIR (KS_VECTOR_BYTES / 16)

#define KS_BT_QUAD(p) ((KS_T(ks_bt_quad)) * (const KS_T(ks_bt_quad_at) *)(const void *)(p))
#define KS_BT_PUT_QUAD(p, v) (*(KS_T(ks_bt_quad_at) *)(void *)(p) = (KS_T(ks_bt_quad_at))(v))

/** t = transposed a, four by four. */
KS_HD void KS_T(ks_bt_transpose_4)(const KS_T(ks_bt_quad) a[4], KS_T(ks_bt_quad) t[4])
{
    const KS_T(ks_bt_quad) even01 = __builtin_shufflevector(a[0], a[1], 0, 4, 2, 6);
    const KS_T(ks_bt_quad) odd01 = __builtin_shufflevector(a[0], a[1], 1, 5, 3, 7);
    const KS_T(ks_bt_quad) even23 = __builtin_shufflevector(a[2], a[3], 0, 4, 2, 6);
    const KS_T(ks_bt_quad) odd23 = __builtin_shufflevector(a[2], a[3], 1, 5, 3, 7);
    t[0] = __builtin_shufflevector(even01, even23, 0, 1, 4, 5);
    t[1] = __builtin_shufflevector(odd01, odd23, 0, 1, 4, 5);
    t[2] = __builtin_shufflevector(even01, even23, 2, 3, 6, 7);
    t[3] = __builtin_shufflevector(odd01, odd23, 2, 3, 6, 7);
}

/** Zeros around an (n, n) block in a panel, `diagonal` on the diagonal. */
KS_HD void KS_T(ks_bt_pad)(int n, int np, int ld, KS_NUM diagonal, KS_NUM *P)
{
    for (int i = 0; i < n; ++i)
        for (int j = n; j < ld; ++j) P[i * ld + j] = KS_LIT(0);
    for (int i = n; i < np; ++i)
        for (int j = 0; j < ld; ++j) P[i * ld + j] = i == j ? diagonal : KS_LIT(0);
}

/** Block (n, n) with row stride n to a panel; symmetric from its lower triangle. */
KS_HD void KS_T(ks_bt_load_symmetric)(int n, int np, int ld, const KS_NUM *KS_RESTRICT block,
                                      KS_NUM *KS_RESTRICT P)
{
    const int whole = n / 4 * 4;
    KS_T(ks_bt_quad) a[4], t[4];
    for (int i = 0; i < whole; i += 4) {
        for (int j = 0; j < i; j += 4) {
#pragma GCC unroll 4
            for (int r = 0; r < 4; ++r) a[r] = KS_BT_QUAD(block + (i + r) * n + j);
            KS_T(ks_bt_transpose_4)(a, t);
#pragma GCC unroll 4
            for (int r = 0; r < 4; ++r) {
                KS_BT_PUT_QUAD(P + (i + r) * ld + j, a[r]);
                KS_BT_PUT_QUAD(P + (j + r) * ld + i, t[r]);
            }
        }
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) a[r] = KS_BT_QUAD(block + (i + r) * n + i);
        KS_T(ks_bt_transpose_4)(a, t);
        KS_NUM *row = P + i * ld + i;
        KS_BT_PUT_QUAD(row, __builtin_shufflevector(a[0], t[0], 0, 5, 6, 7));
        KS_BT_PUT_QUAD(row + ld, __builtin_shufflevector(a[1], t[1], 0, 1, 6, 7));
        KS_BT_PUT_QUAD(row + 2 * ld, __builtin_shufflevector(a[2], t[2], 0, 1, 2, 7));
        KS_BT_PUT_QUAD(row + 3 * ld, a[3]);
    }
    for (int i = whole; i < n; ++i)
        for (int j = 0; j <= i; ++j) {
            P[i * ld + j] = block[i * n + j];
            P[j * ld + i] = block[i * n + j];
        }
    KS_T(ks_bt_pad)(n, np, ld, KS_LIT(1), P);
}

KS_HD void KS_T(ks_bt_load)(int n, int np, int ld, const KS_NUM *KS_RESTRICT block,
                            KS_NUM *KS_RESTRICT P)
{
    for (int i = 0; i < n; ++i) {
        int j = 0;
        for (; j + 4 <= n; j += 4) KS_BT_PUT_QUAD(P + i * ld + j, KS_BT_QUAD(block + i * n + j));
        for (; j < n; ++j) P[i * ld + j] = block[i * n + j];
    }
    KS_T(ks_bt_pad)(n, np, ld, KS_LIT(0), P);
}

KS_HD void KS_T(ks_bt_load_transposed)(int n, int np, int ld, const KS_NUM *KS_RESTRICT block,
                                       KS_NUM *KS_RESTRICT P)
{
    const int whole = n / 4 * 4;
    KS_T(ks_bt_quad) a[4], t[4];
    for (int i = 0; i < whole; i += 4)
        for (int j = 0; j < whole; j += 4) {
#pragma GCC unroll 4
            for (int r = 0; r < 4; ++r) a[r] = KS_BT_QUAD(block + (j + r) * n + i);
            KS_T(ks_bt_transpose_4)(a, t);
#pragma GCC unroll 4
            for (int r = 0; r < 4; ++r) KS_BT_PUT_QUAD(P + (i + r) * ld + j, t[r]);
        }
    for (int i = 0; i < n; ++i)
        for (int j = i < whole ? whole : 0; j < n; ++j) P[i * ld + j] = block[j * n + i];
    KS_T(ks_bt_pad)(n, np, ld, KS_LIT(0), P);
}

KS_HD void KS_T(ks_bt_store)(int n, int ld, const KS_NUM *KS_RESTRICT P, KS_NUM *KS_RESTRICT block)
{
    for (int i = 0; i < n; ++i) {
        int j = 0;
        for (; j + 4 <= n; j += 4) KS_BT_PUT_QUAD(block + i * n + j, KS_BT_QUAD(P + i * ld + j));
        for (; j < n; ++j) block[i * n + j] = P[i * ld + j];
    }
}

/** A block with the panel's upper triangle in its lower one; its own upper one is not touched. */
KS_HD void KS_T(ks_bt_store_lower)(int n, int ld, const KS_NUM *KS_RESTRICT P,
                                   KS_NUM *KS_RESTRICT block)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) block[i * n + j] = P[j * ld + i];
}

KS_HD void KS_T(ks_bt_zero)(int np, int ld, KS_NUM *P)
{
    for (int i = 0; i < np * ld; ++i) P[i] = KS_LIT(0);
}

KS_HD void KS_T(ks_bt_transpose)(int np, int ld, const KS_NUM *KS_RESTRICT P,
                                 KS_NUM *KS_RESTRICT Q)
{
    for (int i = 0; i < np; ++i) {
        for (int j = 0; j < np; ++j) Q[i * ld + j] = P[j * ld + i];
        for (int j = np; j < ld; ++j) Q[i * ld + j] = KS_LIT(0);
    }
}

/** c = four rows by `vectors` vectors of C - X' Y, k rows of X and Y; X at its first column. */
KS_HD void KS_T(ks_bt_tile)(int vectors, int k, int ld, const KS_NUM *X, const KS_NUM *Y,
                            const KS_NUM *C, KS_T(ks_bt_wide) c[4][2])
{
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) c[r][v] = KS_BT_LOAD(C + r * ld + v * KS_BT_WIDTH);
    for (int l = 0; l < k; ++l) {
        KS_T(ks_bt_wide) y[2];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) y[v] = KS_BT_LOAD(Y + l * ld + v * KS_BT_WIDTH);
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) {
            const KS_NUM x = X[l * ld + r];
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v) c[r][v] = c[r][v] - x * y[v];
        }
    }
}

KS_HD void KS_T(ks_bt_put)(int vectors, int ld, KS_T(ks_bt_wide) c[4][2], KS_NUM *C)
{
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) KS_BT_STORE(C + r * ld + v * KS_BT_WIDTH, c[r][v]);
}

/** Panel C -= X' Y; `upper`: only what its upper triangle needs. */
KS_HD void KS_T(ks_bt_product)(int upper, int np, int ld, const KS_NUM *X, const KS_NUM *Y,
                               KS_NUM *C)
{
    for (int i = 0; i < np; i += 4) {
        int j = upper ? i / KS_BT_WIDTH * KS_BT_WIDTH : 0;
        KS_T(ks_bt_wide) c[4][2];
        for (; j + KS_BT_PAIR * KS_BT_WIDTH <= ld; j += KS_BT_PAIR * KS_BT_WIDTH) {
            KS_T(ks_bt_tile)(KS_BT_PAIR, np, ld, X + i, Y + j, C + i * ld + j, c);
            KS_T(ks_bt_put)(KS_BT_PAIR, ld, c, C + i * ld + j);
        }
        for (; j < ld; j += KS_BT_WIDTH) {
            KS_T(ks_bt_tile)(1, np, ld, X + i, Y + j, C + i * ld + j, c);
            KS_T(ks_bt_put)(1, ld, c, C + i * ld + j);
        }
    }
}

/** Rows p .. p + 3 of a strip of Y: what the rows above leave of them, times U'^-1. */
KS_HD void KS_T(ks_bt_row_strip)(int vectors, int p, int ld, const KS_NUM *D, KS_NUM u[4][4],
                                 const KS_NUM *inverse, KS_NUM *Y)
{
    KS_T(ks_bt_wide) c[4][2];
    KS_T(ks_bt_tile)(vectors, p, ld, D + p, Y, Y + p * ld, c);
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) {
#pragma GCC unroll 4
            for (int s = 0; s < r; ++s) c[r][v] = c[r][v] - u[s][r] * c[s][v];
            c[r][v] = c[r][v] * inverse[r];
        }
    KS_T(ks_bt_put)(vectors, ld, c, Y + p * ld);
}

KS_HD void KS_T(ks_bt_row_strips)(int p, int from, int ld, const KS_NUM *D, KS_NUM u[4][4],
                                  const KS_NUM *inverse, KS_NUM *Y)
{
    int j = from;
    for (; j + KS_BT_PAIR * KS_BT_WIDTH <= ld; j += KS_BT_PAIR * KS_BT_WIDTH)
        KS_T(ks_bt_row_strip)(KS_BT_PAIR, p, ld, D, u, inverse, Y + j);
    for (; j < ld; j += KS_BT_WIDTH) KS_T(ks_bt_row_strip)(1, p, ld, D, u, inverse, Y + j);
}

/** The 4 x 4 Cholesky factor u of rows p .. p + 3, with the reciprocals of its diagonal. Returns
 *  -1, or the row of the pivot that is not positive and finite. */
KS_HD int KS_T(ks_bt_corner)(int p, int ld, const KS_NUM *D, KS_NUM u[4][4], KS_NUM *inverse)
{
    KS_T(ks_bt_quad) s[4];
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r)
        s[r] = KS_BT_QUAD(D + (p + r) * ld + p);
    for (int l = 0; l < p; ++l) {
        const KS_T(ks_bt_quad) d = KS_BT_QUAD(D + l * ld + p);
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) s[r] = s[r] - d[r] * d;
    }
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
#pragma GCC unroll 4
        for (int q = 0; q < r; ++q) s[r] = s[r] - u[q][r] * KS_BT_QUAD(u[q]);
        const KS_NUM pivot = s[r][r];
        if (!(pivot > KS_LIT(0) && pivot < KS_LIT(INFINITY))) return p + r;
        inverse[r] = KS_LIT(1) / KS_SQRT(pivot);
        KS_BT_PUT_QUAD(u[r], s[r] * inverse[r]);
    }
    return -1;
}

/** Cholesky factor of the panel D and, in the same pass over its rows, the couplings X <- R'^-1 X
 *  of up to two panels (NULL: none). Returns -1 or the failing row. */
KS_HD int KS_T(ks_bt_eliminate)(int np, int ld, KS_NUM *D, KS_NUM *X1, KS_NUM *X2)
{
    for (int p = 0; p < np; p += 4) {
        KS_NUM u[4][4], inverse[4];
        const int bad = KS_T(ks_bt_corner)(p, ld, D, u, inverse);
        if (bad >= 0) return bad;
        KS_T(ks_bt_row_strips)(p, p / KS_BT_WIDTH * KS_BT_WIDTH, ld, D, u, inverse, D);
        if (X1) KS_T(ks_bt_row_strips)(p, 0, ld, D, u, inverse, X1);
        if (X2) KS_T(ks_bt_row_strips)(p, 0, ld, D, u, inverse, X2);
    }
    return -1;
}

/** The same by LAPACK, for large n. */
KS_HD_COLD int KS_T(ks_bt_eliminate_large)(int n, int ld, KS_NUM *D, KS_NUM *X1, KS_NUM *X2)
{
    const int bad = KS_T(ks_lapack_potrf)(n, D, ld);
    if (bad != 0) return bad > 0 ? bad - 1 : 0;
    for (int i = 0; i < n; ++i)
        if (!(D[i * ld + i] < KS_LIT(INFINITY))) return i;
    if (X1) KS_T(ks_lapack_trsm)(1, n, n, D, ld, X1, ld);
    if (X2) KS_T(ks_lapack_trsm)(1, n, n, D, ld, X2, ld);
    return -1;
}

/** Eliminate, whatever n. */
KS_HD int KS_T(ks_bt_eliminate_any)(int n, int np, int ld, KS_NUM *D, KS_NUM *X1, KS_NUM *X2)
{
    return n > KS_BT_OWN ? KS_T(ks_bt_eliminate_large)(n, ld, D, X1, X2)
                         : KS_T(ks_bt_eliminate)(np, ld, D, X1, X2);
}

/** Upper triangle of C -= X' X. */
KS_HD void KS_T(ks_bt_downdate)(int n, int np, int ld, const KS_NUM *X, KS_NUM *C)
{
    if (n > KS_BT_OWN)
        KS_T(ks_lapack_syrk)(n, n, X, ld, C, ld);
    else
        KS_T(ks_bt_product)(1, np, ld, X, X, C);
}

/** C = - X' Y. */
KS_HD void KS_T(ks_bt_fill_in)(int n, int np, int ld, const KS_NUM *X, const KS_NUM *Y, KS_NUM *C)
{
    KS_T(ks_bt_zero)(np, ld, C);
    if (n > KS_BT_OWN)
        KS_T(ks_lapack_gemm)(1, n, n, n, KS_LIT(-1), X, ld, Y, ld, KS_LIT(0), C, ld);
    else
        KS_T(ks_bt_product)(0, np, ld, X, Y, C);
}
