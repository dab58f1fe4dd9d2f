/* plain_text.h -- the kernels of chains.h in plain loops, for any number type; see src/num_f64.h.
 *
 * This is the reference with which tests compare the vector kernels (panel_text.h and the files that use
 * it), and what `kalscan count` counts. The mathematics and its order are the same: R' R factors with R
 * upper triangular, couplings X = R'^-1 A[block, neighbour], reciprocals of the diagonal. Nothing else is
 * computed: only one triangle of symmetric blocks, no padding, no zeros of R^-1. Panels of scratch are
 * (n, n) and contiguous. */

#include "chain_text.h"

KS_HD void KS_T(ks_bt_plain_copy)(int n, const KS_NUM *from, KS_NUM *to)
{
    for (int i = 0; i < n * n; ++i) to[i] = from[i];
}

/** Copy a symmetric block, given by its lower triangle, to both triangles. */
KS_HD void KS_T(ks_bt_plain_symmetric)(int n, const KS_NUM *lower, KS_NUM *to)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) to[i * n + j] = to[j * n + i] = lower[i * n + j];
}

/** Copy the coupling of block k with the next one to X, with rows those of block k. It is stored as A[upper, lower]. */
KS_HD void KS_T(ks_bt_plain_load_ahead)(const ks_bt_chain *c, int64_t k, KS_NUM *X)
{
    const int n = c->n;
    const KS_NUM *block =
        (const KS_NUM *)c->edge_in + KS_T(ks_bt_ahead)(c, k) * c->edge_in_stride;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) X[i * n + j] = c->step > 0 ? block[j * n + i] : block[i * n + j];
}

/** Row i of X <- R'^-1 X. The rows above are done already. */
KS_HD void KS_T(ks_bt_plain_row)(int n, int i, const KS_NUM *R, KS_NUM inverse, KS_NUM *X)
{
    for (int l = 0; l < i; ++l)
        for (int j = 0; j < n; ++j) X[i * n + j] = X[i * n + j] - R[l * n + i] * X[l * n + j];
    for (int j = 0; j < n; ++j) X[i * n + j] = X[i * n + j] * inverse;
}

/** potrf and trsm: R, with R' R = D, replaces D's upper triangle, and X <- R'^-1 X for up to two couplings (NULL:
 *  none). Return -1, or the row of the first pivot that is not positive and finite. */
KS_HD int KS_T(ks_bt_plain_eliminate)(int n, KS_NUM *D, KS_NUM *X1, KS_NUM *X2)
{
    for (int i = 0; i < n; ++i) {
        for (int l = 0; l < i; ++l)
            for (int j = i; j < n; ++j) D[i * n + j] = D[i * n + j] - D[l * n + i] * D[l * n + j];
        const KS_NUM pivot = D[i * n + i];
        if (!KS_GT(pivot, KS_LIT(0)) || !KS_GT(KS_LIT(INFINITY), pivot)) return i;
        const KS_NUM inverse = KS_LIT(1) / KS_SQRT(pivot);
        for (int j = i; j < n; ++j) D[i * n + j] = D[i * n + j] * inverse;
        if (X1) KS_T(ks_bt_plain_row)(n, i, D, inverse, X1);
        if (X2) KS_T(ks_bt_plain_row)(n, i, D, inverse, X2);
    }
    return -1;
}

/** syrk: upper triangle of C -= X' X. */
KS_HD void KS_T(ks_bt_plain_downdate)(int n, const KS_NUM *X, KS_NUM *C)
{
    for (int l = 0; l < n; ++l)
        for (int i = 0; i < n; ++i)
            for (int j = i; j < n; ++j) C[i * n + j] = C[i * n + j] - X[l * n + i] * X[l * n + j];
}

/** gemm: C (n, m) -= X' Y, Y (n, m). */
KS_HD void KS_T(ks_bt_plain_subtract_transposed)(int n, int m, const KS_NUM *X, const KS_NUM *Y,
                                                 KS_NUM *C)
{
    for (int l = 0; l < n; ++l)
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < m; ++j) C[i * m + j] = C[i * m + j] - X[l * n + i] * Y[l * m + j];
}

/** gemm: C (n, m) -= X Y, Y (n, m). */
KS_HD void KS_T(ks_bt_plain_subtract)(int n, int m, const KS_NUM *X, const KS_NUM *Y, KS_NUM *C)
{
    for (int i = 0; i < n; ++i)
        for (int l = 0; l < n; ++l)
            for (int j = 0; j < m; ++j) C[i * m + j] = C[i * m + j] - X[i * n + l] * Y[l * m + j];
}

KS_HD void KS_T(ks_bt_plain_zero)(int n, KS_NUM *C)
{
    for (int i = 0; i < n * n; ++i) C[i] = KS_LIT(0);
}

KS_HD void KS_T(ks_bt_plain_swap)(KS_NUM **a, KS_NUM **b)
{
    KS_NUM *c = *a;
    *a = *b;
    *b = c;
}

/** Copy for separators that are neighbours: their coupling goes to the next level unchanged, or the inverse at
 *  it comes from there. */
KS_HD void KS_T(ks_bt_plain_bridge)(const ks_bt_chain *c, const KS_NUM *from, KS_NUM *to)
{
    if (c->anchor >= 0 && c->target >= 0) KS_T(ks_bt_plain_copy)(c->n, from, to);
}

static ks_bt_failure KS_T(ks_bt_plain_factor)(const ks_bt_chain *c)
{
    const int n = c->n, anchored = c->anchor >= 0;
    const KS_NUM *D_in = (const KS_NUM *)c->D_in, *edge_in = (const KS_NUM *)c->edge_in;
    KS_NUM *D_out = (KS_NUM *)c->D, *edge = (KS_NUM *)c->edge;
    KS_NUM *D = KS_T(ks_bt_panel_at)(c, 0), *X = KS_T(ks_bt_panel_at)(c, 1);
    KS_NUM *Y = KS_T(ks_bt_panel_at)(c, 2), *Y_next = KS_T(ks_bt_panel_at)(c, 3);
    KS_NUM *A = KS_T(ks_bt_panel_at)(c, 4);
    ks_bt_failure failure = {-1, -1};
    if (c->count == 0) {
        KS_T(ks_bt_plain_bridge)(c, edge_in + (c->first - 1) * c->edge_in_stride,
                                 (KS_NUM *)c->bridge);
        return failure;
    }
    if (anchored) {
        KS_T(ks_bt_plain_copy)(n, edge_in + (c->first - 1) * c->edge_in_stride, Y);
        KS_T(ks_bt_plain_symmetric)(n, D_out + c->anchor * c->D_stride, A);
    }
    KS_T(ks_bt_plain_symmetric)(n, D_in + KS_T(ks_bt_block_at)(c, 0) * c->D_in_stride, D);
    for (int64_t k = 0; k < c->count; ++k) {
        const int64_t block = KS_T(ks_bt_block_at)(c, k);
        const int inner = k + 1 < c->count, coupled = inner || c->target >= 0;
        if (coupled) KS_T(ks_bt_plain_load_ahead)(c, k, X);
        failure.pivot = KS_T(ks_bt_plain_eliminate)(n, D, coupled ? X : (KS_NUM *)0,
                                                    anchored ? Y : (KS_NUM *)0);
        if (failure.pivot >= 0) {
            failure.block = block;
            return failure;
        }
        KS_T(ks_bt_plain_copy)(n, D, D_out + block * c->D_stride);
        if (coupled)
            KS_T(ks_bt_plain_copy)(n, X, edge + KS_T(ks_bt_ahead)(c, k) * c->edge_stride);
        if (anchored) {
            KS_T(ks_bt_plain_copy)(n, Y, KS_T(ks_bt_behind)(c, k));
            KS_T(ks_bt_plain_downdate)(n, Y, A);
        }
        if (anchored && coupled) {
            KS_T(ks_bt_plain_zero)(n, Y_next);
            KS_T(ks_bt_plain_subtract_transposed)(n, n, X, Y, Y_next);
            KS_T(ks_bt_plain_swap)(&Y, &Y_next);
        }
        if (inner) {
            const int64_t next = KS_T(ks_bt_block_at)(c, k + 1);
            KS_T(ks_bt_plain_symmetric)(n, D_in + next * c->D_in_stride, D);
            KS_T(ks_bt_plain_downdate)(n, X, D);
        }
    }
    for (int i = 0; anchored && i < n; ++i)
        for (int j = 0; j <= i; ++j) D_out[c->anchor * c->D_stride + i * n + j] = A[j * n + i];
    KS_T(ks_bt_plain_bridge)(c, Y, (KS_NUM *)c->bridge);
    return failure;
}

static void KS_T(ks_bt_plain_gather)(int n, const void *X, void *D, void *scratch)
{
    KS_NUM *P = (KS_NUM *)scratch, *to = (KS_NUM *)D;
    KS_T(ks_bt_plain_symmetric)(n, to, P);
    KS_T(ks_bt_plain_downdate)(n, (const KS_NUM *)X, P);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) to[i * n + j] = P[j * n + i];
}

static void KS_T(ks_bt_plain_forward)(const ks_bt_chain *c)
{
    const int n = c->n, m = c->m;
    const KS_NUM *edge = (const KS_NUM *)c->edge;
    KS_NUM *x = (KS_NUM *)c->x;
    for (int64_t k = 0; k < c->count; ++k) {
        const int64_t block = KS_T(ks_bt_block_at)(c, k);
        const KS_NUM *R = (const KS_NUM *)c->D + block * c->D_stride;
        KS_NUM *own = x + block * c->x_stride;
        for (int i = 0; i < n; ++i) {
            const KS_NUM inverse = KS_LIT(1) / R[i * n + i];
            for (int l = 0; l < i; ++l)
                for (int j = 0; j < m; ++j)
                    own[i * m + j] = own[i * m + j] - R[l * n + i] * own[l * m + j];
            for (int j = 0; j < m; ++j) own[i * m + j] = own[i * m + j] * inverse;
        }
        if (k + 1 < c->count)
            KS_T(ks_bt_plain_subtract_transposed)(
                n, m, edge + KS_T(ks_bt_ahead)(c, k) * c->edge_stride, own,
                x + KS_T(ks_bt_block_at)(c, k + 1) * c->x_stride);
        if (c->anchor >= 0)
            KS_T(ks_bt_plain_subtract_transposed)(n, m, KS_T(ks_bt_behind)(c, k), own,
                                                  x + c->anchor * c->x_stride);
    }
}

static void KS_T(ks_bt_plain_gather_x)(int n, int m, const void *X, void *from, void *to,
                                       void *scratch)
{
    (void)scratch;
    KS_T(ks_bt_plain_subtract_transposed)(n, m, (const KS_NUM *)X, (const KS_NUM *)from,
                                          (KS_NUM *)to);
}

static void KS_T(ks_bt_plain_backward)(const ks_bt_chain *c)
{
    const int n = c->n, m = c->m;
    const KS_NUM *edge = (const KS_NUM *)c->edge;
    KS_NUM *x = (KS_NUM *)c->x;
    for (int64_t k = c->count - 1; k >= 0; --k) {
        const int64_t block = KS_T(ks_bt_block_at)(c, k);
        const int64_t ahead = k + 1 < c->count ? KS_T(ks_bt_block_at)(c, k + 1) : c->target;
        const KS_NUM *R = (const KS_NUM *)c->D + block * c->D_stride;
        KS_NUM *own = x + block * c->x_stride;
        if (ahead >= 0)
            KS_T(ks_bt_plain_subtract)(n, m,
                                       edge + KS_T(ks_bt_ahead)(c, k) * c->edge_stride,
                                       x + ahead * c->x_stride, own);
        if (c->anchor >= 0)
            KS_T(ks_bt_plain_subtract)(n, m, KS_T(ks_bt_behind)(c, k),
                                       x + c->anchor * c->x_stride, own);
        for (int i = n - 1; i >= 0; --i) {
            const KS_NUM inverse = KS_LIT(1) / R[i * n + i];
            for (int l = i + 1; l < n; ++l)
                for (int j = 0; j < m; ++j)
                    own[i * m + j] = own[i * m + j] - R[i * n + l] * own[l * m + j];
            for (int j = 0; j < m; ++j) own[i * m + j] = own[i * m + j] * inverse;
        }
    }
}

/** Z = R^-1, upper triangular. */
KS_HD void KS_T(ks_bt_plain_triangle_inverse)(int n, const KS_NUM *R, KS_NUM *Z)
{
    KS_T(ks_bt_plain_zero)(n, Z);
    for (int i = n - 1; i >= 0; --i) {
        const KS_NUM inverse = KS_LIT(1) / R[i * n + i];
        for (int l = i + 1; l < n; ++l)
            for (int j = l; j < n; ++j) Z[i * n + j] = Z[i * n + j] - R[i * n + l] * Z[l * n + j];
        for (int j = i + 1; j < n; ++j) Z[i * n + j] = Z[i * n + j] * inverse;
        Z[i * n + i] = inverse;
    }
}

/** X <- R^-1 X. The diagonal of Z has the reciprocals of R's diagonal. */
KS_HD void KS_T(ks_bt_plain_multipliers)(int n, const KS_NUM *R, const KS_NUM *Z, KS_NUM *X)
{
    for (int i = n - 1; i >= 0; --i) {
        for (int l = i + 1; l < n; ++l)
            for (int j = 0; j < n; ++j) X[i * n + j] = X[i * n + j] - R[i * n + l] * X[l * n + j];
        for (int j = 0; j < n; ++j) X[i * n + j] = X[i * n + j] * Z[i * n + i];
    }
}

/** Lower triangle of S (n, n) += A B', or -= if `subtract`. triangular: A and B are upper triangular. */
KS_HD void KS_T(ks_bt_plain_outer)(int n, int subtract, int triangular, const KS_NUM *A,
                                   const KS_NUM *B, KS_NUM *S)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) {
            KS_NUM s = S[i * n + j];
            for (int l = triangular ? i : 0; l < n; ++l)
                s = subtract ? s - A[i * n + l] * B[j * n + l] : s + A[i * n + l] * B[j * n + l];
            S[i * n + j] = s;
        }
}

/** S_jK = - U_t S_tK - U_a S_aK. A term is left out if its U is NULL. */
KS_HD void KS_T(ks_bt_plain_row_of_inverse)(int n, const KS_NUM *U_t, const KS_NUM *S_tK,
                                            const KS_NUM *U_a, const KS_NUM *S_aK, KS_NUM *S_jK)
{
    KS_T(ks_bt_plain_zero)(n, S_jK);
    if (U_t) KS_T(ks_bt_plain_subtract)(n, n, U_t, S_tK, S_jK);
    if (U_a) KS_T(ks_bt_plain_subtract)(n, n, U_a, S_aK, S_jK);
}

KS_HD void KS_T(ks_bt_plain_put_transposed)(int n, int transposed, const KS_NUM *from, KS_NUM *to)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) to[i * n + j] = transposed ? from[j * n + i] : from[i * n + j];
}

/** See inverse_text.h for the equations. */
static void KS_T(ks_bt_plain_inverse)(const ks_bt_chain *c)
{
    const int n = c->n, anchored = c->anchor >= 0;
    const KS_NUM *edge = (const KS_NUM *)c->edge, *S_bridge = (const KS_NUM *)c->S_bridge;
    KS_NUM *S = (KS_NUM *)c->S, *S_edge = (KS_NUM *)c->S_edge, *p[10];
    for (int i = 0; i < 10; ++i) p[i] = KS_T(ks_bt_panel_at)(c, i);
    KS_NUM *Z = p[0], *U_t = p[1], *U_a = p[2], *S_tt = p[3], *S_aa = p[4], *S_ta = p[5];
    KS_NUM *S_at = p[6], *S_jt = p[7], *S_ja = p[8], *S_jj = p[9];
    KS_NUM *before = S_edge && anchored ? S_edge + (c->first - 1) * c->S_edge_stride : (KS_NUM *)0;
    if (c->count == 0) {
        if (before) KS_T(ks_bt_plain_bridge)(c, S_bridge, before);
        return;
    }
    if (c->target >= 0) KS_T(ks_bt_plain_copy)(n, S + c->target * c->S_stride, S_tt);
    if (anchored) KS_T(ks_bt_plain_copy)(n, S + c->anchor * c->S_stride, S_aa);
    KS_T(ks_bt_plain_bridge)(c, S_bridge, S_ta);
    for (int64_t k = c->count - 1; k >= 0; --k) {
        const int64_t block = KS_T(ks_bt_block_at)(c, k);
        const int64_t ahead = KS_T(ks_bt_ahead)(c, k);
        const int coupled = k + 1 < c->count || c->target >= 0;
        const KS_NUM *R = (const KS_NUM *)c->D + block * c->D_stride;
        KS_T(ks_bt_plain_triangle_inverse)(n, R, Z);
        KS_T(ks_bt_plain_zero)(n, S_jj);
        KS_T(ks_bt_plain_outer)(n, 0, 1, Z, Z, S_jj);
        if (coupled) {
            KS_T(ks_bt_plain_copy)(n, edge + ahead * c->edge_stride, U_t);
            KS_T(ks_bt_plain_multipliers)(n, R, Z, U_t);
        }
        if (anchored) {
            KS_T(ks_bt_plain_copy)(n, KS_T(ks_bt_behind)(c, k), U_a);
            KS_T(ks_bt_plain_multipliers)(n, R, Z, U_a);
        }
        if (coupled && anchored) KS_T(ks_bt_plain_put_transposed)(n, 1, S_ta, S_at);
        if (coupled) {
            KS_T(ks_bt_plain_row_of_inverse)(n, U_t, S_tt, anchored ? U_a : (KS_NUM *)0, S_at,
                                             S_jt);
            KS_T(ks_bt_plain_outer)(n, 1, 0, S_jt, U_t, S_jj);
        }
        if (anchored) {
            KS_T(ks_bt_plain_row_of_inverse)(n, coupled ? U_t : (KS_NUM *)0, S_ta, U_a, S_aa, S_ja);
            KS_T(ks_bt_plain_outer)(n, 1, 0, S_ja, U_a, S_jj);
        }
        KS_T(ks_bt_plain_symmetric)(n, S_jj, S + block * c->S_stride);
        if (coupled && S_edge)
            KS_T(ks_bt_plain_put_transposed)(n, c->step > 0, S_jt, S_edge + ahead * c->S_edge_stride);
        if (k == 0 && before) KS_T(ks_bt_plain_copy)(n, S_ja, before);
        /* This block is the one ahead of the block before it. */
        KS_T(ks_bt_plain_copy)(n, S + block * c->S_stride, S_tt);
        KS_T(ks_bt_plain_swap)(&S_ta, &S_ja);
    }
}
