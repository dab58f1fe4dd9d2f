/* solve_text.h -- substitution along a lane, log-determinant, residual; see chains.h. Blocks of right-hand
 * sides are (n, m) and contiguous; factors have row stride n. */
#include "literal.h"

/* When substitution prefetches the next block: from this order on, up to these bytes of a row with one right-hand side
 * and with several. The limits are measured. For longer rows the hardware prefetcher is enough. */
#define KS_BT_SOLVE_ASK_FROM 5
#define KS_BT_SOLVE_ASK_1 256
#define KS_BT_SOLVE_ASK_M 1024

/** Prefetch n elements of four rows of the block that is `ahead` elements from this one; 0: none. */
KS_HD void KS_T(ks_bt_ask_4)(int n, int ld, int64_t ahead, const KS_NUM *A)
{
    if (ahead == 0) return;
    for (int r = 0; r < 4; ++r)
        for (int j = 0; j < n; j += (int)(64 / sizeof(KS_NUM)))
            __builtin_prefetch(A + ahead + r * ld + j, 0, 3);
}

/** y[j] -= z[0] A[j] + z[1] A[ld + j] + z[2] A[2 ld + j] + z[3] A[3 ld + j] over j < n: four rows of A, read once. */
KS_HD void KS_T(ks_bt_axpy_4)(int n, int ld, int64_t ahead, const KS_NUM *KS_RESTRICT A,
                              const KS_NUM *z, KS_NUM *KS_RESTRICT y)
{
    int j = 0;
    KS_T(ks_bt_ask_4)(n, ld, ahead, A);
    for (; j + KS_BT_WIDTH <= n; j += KS_BT_WIDTH) {
        KS_T(ks_bt_wide) c = KS_BT_LOAD(y + j);
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) c = c - z[r] * KS_BT_LOAD(A + r * ld + j);
        KS_BT_STORE(y + j, c);
    }
    for (; j < n; ++j)
        y[j] = y[j] - z[0] * A[j] - z[1] * A[ld + j] - z[2] * A[2 * ld + j] - z[3] * A[3 * ld + j];
}

/** s[r] -= sum of A[r ld + j] x[j] over j < n, for four rows of A. */
KS_HD void KS_T(ks_bt_dot_4)(int n, int ld, int64_t ahead, const KS_NUM *A, const KS_NUM *x,
                             KS_NUM s[4])
{
    int j = 0;
    KS_T(ks_bt_ask_4)(n, ld, ahead, A);
    if (n >= KS_BT_WIDTH) {
        KS_T(ks_bt_wide) c[4];
        KS_T(ks_bt_quad) q[4], t[4];
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) c[r] = KS_BT_LOAD(A + r * ld) * KS_BT_LOAD(x);
        for (j = KS_BT_WIDTH; j + KS_BT_WIDTH <= n; j += KS_BT_WIDTH) {
            const KS_T(ks_bt_wide) y = KS_BT_LOAD(x + j);
#pragma GCC unroll 4
            for (int r = 0; r < 4; ++r) c[r] = c[r] + KS_BT_LOAD(A + r * ld + j) * y;
        }
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) {
            KS_NUM lanes[KS_BT_WIDTH];
            KS_BT_STORE(lanes, c[r]);
            q[r] = KS_BT_QUAD(lanes);
#pragma GCC unroll 4
            for (int l = 4; l < KS_BT_WIDTH; l += 4) q[r] = q[r] + KS_BT_QUAD(lanes + l);
        }
        KS_T(ks_bt_transpose_4)(q, t);
        KS_BT_PUT_QUAD(s, KS_BT_QUAD(s) - ((t[0] + t[1]) + (t[2] + t[3])));
    }
    for (; j < n; ++j)
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) s[r] = s[r] - A[r * ld + j] * x[j];
}

/** x (n) <- R'^-1 x, four rows at a time. The reciprocals are computed first, so that the dependent chain has one
 *  operation for each unknown. */
KS_HD void KS_T(ks_bt_lower_solve_1)(int n, int64_t ahead, const KS_NUM *KS_RESTRICT R,
                                     KS_NUM *KS_RESTRICT x)
{
    int p = 0;
    for (; p + 4 <= n; p += 4) {
        const KS_NUM *U = R + p * n + p;
        KS_NUM z[4], inverse[4];
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) inverse[r] = KS_LIT(1) / U[r * n + r];
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) {
            z[r] = x[p + r] * inverse[r];
#pragma GCC unroll 4
            for (int s = 0; s < r; ++s) z[r] = z[r] - U[s * n + r] * inverse[r] * z[s];
        }
        const KS_T(ks_bt_quad) all = { z[0], z[1], z[2], z[3] };
        KS_BT_PUT_QUAD(x + p, all);
        KS_T(ks_bt_axpy_4)(n - p - 4, n, ahead, U + 4, z, x + p + 4);
    }
    for (; p < n; ++p) {
        x[p] = x[p] / R[p * n + p];
        for (int i = p + 1; i < n; ++i) x[i] = x[i] - R[p * n + i] * x[p];
    }
}

/** x (n) <- R^-1 x. */
KS_HD void KS_T(ks_bt_upper_solve_1)(int n, int64_t ahead, const KS_NUM *KS_RESTRICT R,
                                     KS_NUM *KS_RESTRICT x)
{
    const int whole = n / 4 * 4;
    for (int p = n - 1; p >= whole; --p) {
        for (int j = p + 1; j < n; ++j) x[p] = x[p] - R[p * n + j] * x[j];
        x[p] = x[p] / R[p * n + p];
    }
    for (int p = whole - 4; p >= 0; p -= 4) {
        const KS_NUM *U = R + p * n + p;
        KS_NUM z[4], inverse[4];
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) inverse[r] = KS_LIT(1) / U[r * n + r];
        KS_BT_PUT_QUAD(z, KS_BT_QUAD(x + p));
        KS_T(ks_bt_dot_4)(n - p - 4, n, ahead, U + 4, x + p + 4, z);
#pragma GCC unroll 4
        for (int r = 3; r >= 0; --r) {
            z[r] = z[r] * inverse[r];
#pragma GCC unroll 4
            for (int s = 3; s > r; --s) z[r] = z[r] - U[r * n + s] * inverse[r] * z[s];
        }
        const KS_T(ks_bt_quad) all = { z[0], z[1], z[2], z[3] };
        KS_BT_PUT_QUAD(x + p, all);
    }
}

/** y (n) -= X' x. */
KS_HD void KS_T(ks_bt_subtract_transposed_1)(int n, int64_t ahead,
                                             const KS_NUM *KS_RESTRICT X,
                                             const KS_NUM *KS_RESTRICT x, KS_NUM *KS_RESTRICT y)
{
    int l = 0;
    for (; l + 4 <= n; l += 4) KS_T(ks_bt_axpy_4)(n, n, ahead, X + l * n, x + l, y);
    for (; l < n; ++l)
        for (int j = 0; j < n; ++j) y[j] = y[j] - x[l] * X[l * n + j];
}

/** y (n) -= X x. */
KS_HD void KS_T(ks_bt_subtract_1)(int n, int64_t ahead, const KS_NUM *KS_RESTRICT X,
                                  const KS_NUM *KS_RESTRICT x, KS_NUM *KS_RESTRICT y)
{
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        KS_NUM s[4];
        KS_BT_PUT_QUAD(s, KS_BT_QUAD(y + i));
        KS_T(ks_bt_dot_4)(n, n, ahead, X + i * n, x, s);
        KS_BT_PUT_QUAD(y + i, KS_BT_QUAD(s));
    }
    for (; i < n; ++i)
        for (int j = 0; j < n; ++j) y[i] = y[i] - X[i * n + j] * x[j];
}

/** y (n, m) -= X' x. scratch is not used if m = 1; also in the functions below. */
KS_HD void KS_T(ks_bt_subtract_transposed)(int n, int m, int64_t ahead, const KS_NUM *X, KS_NUM *x,
                                           KS_NUM *y, KS_NUM *scratch)
{
    if (m == 1)
        KS_T(ks_bt_subtract_transposed_1)(n, ahead, X, x, y);
    else
        KS_T(ks_bt_strips)(KS_T(KS_BT_PRODUCT_T), n, m, ahead, X, x, y, scratch);
}

/** y (n, m) -= X x. */
KS_HD void KS_T(ks_bt_subtract)(int n, int m, int64_t ahead, const KS_NUM *X, KS_NUM *x, KS_NUM *y,
                                KS_NUM *scratch)
{
    if (m == 1)
        KS_T(ks_bt_subtract_1)(n, ahead, X, x, y);
    else
        KS_T(ks_bt_strips)(KS_T(KS_BT_PRODUCT), n, m, ahead, X, x, y, scratch);
}

/** x (n, m) <- R'^-1 x. */
KS_HD void KS_T(ks_bt_lower_solve)(int n, int m, int64_t ahead, const KS_NUM *R, KS_NUM *x,
                                   KS_NUM *scratch)
{
    if (m == 1)
        KS_T(ks_bt_lower_solve_1)(n, ahead, R, x);
    else
        KS_T(ks_bt_strips)(KS_T(KS_BT_LOWER), n, m, ahead, R, x, (KS_NUM *)0, scratch);
}

/** x (n, m) <- R^-1 x. */
KS_HD void KS_T(ks_bt_upper_solve)(int n, int m, int64_t ahead, const KS_NUM *R, KS_NUM *x,
                                   KS_NUM *scratch)
{
    if (m == 1)
        KS_T(ks_bt_upper_solve_1)(n, ahead, R, x);
    else
        KS_T(ks_bt_strips)(KS_T(KS_BT_UPPER), n, m, ahead, R, x, (KS_NUM *)0, scratch);
}

/** Elements from block k of a lane, or its coupling, to the next one in the direction of the pass (1 or -1); 0 if
 *  there is none, or blocks of this order are not prefetched. */
KS_HD int64_t KS_T(ks_bt_step_ahead)(const ks_bt_chain *c, int n, int m, int64_t k, int pass, int64_t stride)
{
    const int64_t next = k + pass;
    const int most = (m == 1 ? KS_BT_SOLVE_ASK_1 : KS_BT_SOLVE_ASK_M) / (int)sizeof(KS_NUM);
    if (n < KS_BT_SOLVE_ASK_FROM || n > most) return 0;
    if (next < 0 || next + 1 >= c->count) return 0;
    return pass * c->step * stride;
}

KS_HD void KS_T(ks_bt_forward_body)(int n, int m, const ks_bt_chain *c)
{
    const KS_NUM *D = (const KS_NUM *)c->D, *edge = (const KS_NUM *)c->edge;
    KS_NUM *x = (KS_NUM *)c->x, *scratch = (KS_NUM *)c->scratch;
    for (int64_t k = 0; k < c->count; ++k) {
        const int64_t block = KS_T(ks_bt_block_at)(c, k);
        KS_NUM *own = x + block * c->x_stride;
        const int64_t D_ahead = KS_T(ks_bt_step_ahead)(c, n, m, k, 1, c->stride * c->D_stride);
        const int64_t edge_ahead = KS_T(ks_bt_step_ahead)(c, n, m, k, 1, c->edge_stride);
        KS_T(ks_bt_lower_solve)(n, m, D_ahead, D + block * c->D_stride, own, scratch);
        if (k + 1 < c->count)
            KS_T(ks_bt_subtract_transposed)(n, m, edge_ahead,
                                            edge + KS_T(ks_bt_ahead)(c, k) * c->edge_stride, own,
                                            x + KS_T(ks_bt_block_at)(c, k + 1) * c->x_stride, scratch);
        if (c->anchor >= 0)
            KS_T(ks_bt_subtract_transposed)(n, m, 0, KS_T(ks_bt_behind)(c, k), own,
                                            x + c->anchor * c->x_stride, scratch);
    }
}

KS_HD void KS_T(ks_bt_backward_body)(int n, int m, const ks_bt_chain *c)
{
    const KS_NUM *D = (const KS_NUM *)c->D, *edge = (const KS_NUM *)c->edge;
    KS_NUM *x = (KS_NUM *)c->x, *scratch = (KS_NUM *)c->scratch;
    for (int64_t k = c->count - 1; k >= 0; --k) {
        const int64_t block = KS_T(ks_bt_block_at)(c, k);
        const int64_t ahead = k + 1 < c->count ? KS_T(ks_bt_block_at)(c, k + 1) : c->target;
        KS_NUM *own = x + block * c->x_stride;
        const int64_t D_ahead = KS_T(ks_bt_step_ahead)(c, n, m, k, -1, c->stride * c->D_stride);
        const int64_t edge_ahead = KS_T(ks_bt_step_ahead)(c, n, m, k, -1, c->edge_stride);
        if (ahead >= 0)
            KS_T(ks_bt_subtract)(n, m, edge_ahead, edge + KS_T(ks_bt_ahead)(c, k) * c->edge_stride,
                                 x + ahead * c->x_stride, own, scratch);
        if (c->anchor >= 0)
            KS_T(ks_bt_subtract)(n, m, 0, KS_T(ks_bt_behind)(c, k), x + c->anchor * c->x_stride,
                                 own, scratch);
        KS_T(ks_bt_upper_solve)(n, m, D_ahead, D + block * c->D_stride, own, scratch);
    }
}

/* Call with the order as a literal up to 16, for one right-hand side. */
#define KS_BT_WITH_ORDER(n, CALL)                                                           \
    switch (n) {                                                                            \
    KS_CASES(CALL, 1, 2, 3, 4, 5, 6, 7, 8)                                                  \
    KS_CASES(CALL, 9, 10, 11, 12, 13, 14, 15, 16)                                           \
    default: CALL(n); break;                                                                \
    }

static void KS_T(ks_bt_forward)(const ks_bt_chain *c)
{
    const int n = c->n;
    if (c->m > 1) {
        KS_T(ks_bt_forward_body)(n, c->m, c);
        return;
    }
#define CALL(n) KS_T(ks_bt_forward_body)(n, 1, c)
    KS_BT_WITH_ORDER(n, CALL)
#undef CALL
}

static void KS_T(ks_bt_backward)(const ks_bt_chain *c)
{
    const int n = c->n;
    if (c->m > 1) {
        KS_T(ks_bt_backward_body)(n, c->m, c);
        return;
    }
#define CALL(n) KS_T(ks_bt_backward_body)(n, 1, c)
    KS_BT_WITH_ORDER(n, CALL)
#undef CALL
}
#undef KS_BT_WITH_ORDER

static void KS_T(ks_bt_gather_x)(int n, int m, const void *X, void *from, void *to, void *scratch)
{
    KS_T(ks_bt_subtract_transposed)(n, m, 0, (const KS_NUM *)X, (KS_NUM *)from, (KS_NUM *)to,
                                    (KS_NUM *)scratch);
}

static double KS_T(ks_bt_logdet)(int n, int64_t count, const void *D, int64_t stride)
{
    /* Multiply the diagonals as mantissa and exponent: a logarithm for each would cost more than the
     * factorization of small blocks. */
    double mantissa = 1;
    int64_t exponent = 0;
    for (int64_t k = 0; k < count; ++k)
        for (int i = 0; i < n; ++i) {
            int e;
            const KS_NUM pivot = ((const KS_NUM *)D)[k * stride + (int64_t)i * n + i];
            mantissa = frexp(mantissa * (double)pivot, &e);
            exponent += e;
        }
    return 2 * (log(mantissa) + (double)exponent * 0.69314718055994530942);
}

KS_HD double KS_T(ks_bt_square)(double factor, double number)
{
    return factor * number * (factor * number);
}

/** Add the squares in row i of one row of blocks to the sums: of factors[0] times A x - b, factors[1] times x,
 *  factors[2] times b and factors[3] times A, in double. A factor that makes the residual smaller is applied to x and b,
 *  since products may overflow, too. */
KS_HD void KS_T(ks_bt_residual_row)(int n, int m, const KS_NUM *lower, const KS_NUM *D,
                                    const KS_NUM *upper, const KS_NUM *const x[3], const KS_NUM *b,
                                    int i, const double *factors, double *sums)
{
    const double into = factors[0] < 1 ? factors[0] : 1, after = factors[0] < 1 ? 1 : factors[0];
    for (int j = 0; j < m; ++j) {
        double r = -into * (double)b[i * m + j];
        sums[2] += KS_T(ks_bt_square)(factors[2], (double)b[i * m + j]);
        sums[1] += KS_T(ks_bt_square)(factors[1], (double)x[1][i * m + j]);
        for (int l = 0; l < n; ++l) {
            if (lower) r += (double)lower[i * n + l] * (into * (double)x[0][l * m + j]);
            r += (double)(l <= i ? D[i * n + l] : D[l * n + i]) * (into * (double)x[1][l * m + j]);
            if (upper) r += (double)upper[l * n + i] * (into * (double)x[2][l * m + j]);
        }
        sums[0] += KS_T(ks_bt_square)(after, r);
    }
    for (int l = 0; l < n; ++l) {
        const double d = (double)(l <= i ? D[i * n + l] : D[l * n + i]);
        sums[3] += KS_T(ks_bt_square)(factors[3], d);
        if (lower) sums[3] += 2 * KS_T(ks_bt_square)(factors[3], (double)lower[i * n + l]);
    }
}

static void KS_T(ks_bt_residual)(int n, int m, int64_t N, const ks_blocktri_matrix *A,
                                 ks_const_blocks x, ks_const_blocks b, const double *factors, double *sums)
{
    const KS_NUM *D = (const KS_NUM *)A->D.data, *L = (const KS_NUM *)A->L.data;
    const KS_NUM *X = (const KS_NUM *)x.data, *B = (const KS_NUM *)b.data;
    for (int64_t k = 0; k < N; ++k) {
        const KS_NUM *lower = k > 0 ? L + (k - 1) * A->L.stride : (const KS_NUM *)0;
        const KS_NUM *upper = k + 1 < N ? L + k * A->L.stride : (const KS_NUM *)0;
        const KS_NUM *const near[3] = { lower ? X + (k - 1) * x.stride : (const KS_NUM *)0,
                                        X + k * x.stride,
                                        upper ? X + (k + 1) * x.stride : (const KS_NUM *)0 };
        for (int i = 0; i < n; ++i)
            KS_T(ks_bt_residual_row)(n, m, lower, D + k * A->D.stride, upper, near,
                                     B + k * b.stride, i, factors, sums);
    }
}
