/* columns_text.h -- substitution with several right-hand sides at once; see solve_text.h.
 *
 * Columns of right-hand sides are processed in strips of up to three vectors, rows in tiles that stay
 * in registers while the loop runs over the rows of a strip. A block is read once for all strips, by
 * bands of rows that stay in the caches. Remaining columns, fewer than a vector, are copied to scratch
 * and padded with zeros. */

/* Rows of a band. */
#define KS_BT_COLUMN_BAND 32
/* Rows of a tile: enough sums to hide their latency, and no more than fit the registers. */
#define KS_BT_TILE_ROWS(vectors) ((vectors) == 1 || KS_VECTOR_BYTES > 32 ? 8 : 4)

/** Memory that a lane reads after this block. Its lines are prefetched while tiles are computed. */
typedef struct KS_T(ks_bt_columns_ahead) {
    const KS_NUM *at, *end;
    int lines; /* that a tile prefetches */
} KS_T(ks_bt_columns_ahead);

KS_HD void KS_T(ks_bt_columns_ask)(KS_T(ks_bt_columns_ahead) *a)
{
    for (int i = 0; i < a->lines && a->at < a->end; ++i, a->at += 64 / sizeof(KS_NUM))
        __builtin_prefetch(a->at, 0, 2);
}

/** c = `rows` rows by `vectors` vectors of C - A B; rows and vectors are literals. Entry (i, l) of A is at
 *  i * ai + l * al. */
KS_HD void KS_T(ks_bt_columns_tile)(int rows, int vectors, int k, const KS_NUM *A, int ai, int al,
                                    const KS_NUM *B, const KS_NUM *C, int ld,
                                    KS_T(ks_bt_wide) c[8][3])
{
    KS_T(ks_bt_tile_load)(rows, vectors, C, ld, KS_BT_WIDTH, c);
    for (int l = 0; l < k; ++l)
        KS_T(ks_bt_tile_less)(rows, vectors, A + l * al, ai, B + l * ld, KS_BT_WIDTH, c);
}

/** m rows of a strip C -= A B of depth k. */
KS_HD void KS_T(ks_bt_columns_product)(int vectors, int m, int k, const KS_NUM *A, int ai, int al,
                                       const KS_NUM *B, KS_NUM *C, int ld,
                                       KS_T(ks_bt_columns_ahead) *ahead)
{
    KS_T(ks_bt_wide) c[8][3];
    int i = 0;
    for (; i + KS_BT_TILE_ROWS(vectors) <= m; i += KS_BT_TILE_ROWS(vectors)) {
        KS_T(ks_bt_columns_ask)(ahead);
        KS_T(ks_bt_columns_tile)(KS_BT_TILE_ROWS(vectors), vectors, k, A + i * ai, ai, al, B,
                                 C + i * ld, ld, c);
        KS_T(ks_bt_tile_store)(KS_BT_TILE_ROWS(vectors), vectors, c, C + i * ld, ld, KS_BT_WIDTH);
    }
    if (KS_BT_TILE_ROWS(vectors) > 4 && i + 4 <= m) {
        KS_T(ks_bt_columns_tile)(4, vectors, k, A + i * ai, ai, al, B, C + i * ld, ld, c);
        KS_T(ks_bt_tile_store)(4, vectors, c, C + i * ld, ld, KS_BT_WIDTH);
        i += 4;
    }
    for (; i < m; ++i) {
        KS_T(ks_bt_columns_tile)(1, vectors, k, A + i * ai, ai, al, B, C + i * ld, ld, c);
        KS_T(ks_bt_tile_store)(1, vectors, c, C + i * ld, ld, KS_BT_WIDTH);
    }
}

/** x <- R'^-1 x for the rows p .. p + rows - 1 of a strip: subtract the products of the rows from `top` on, then
 *  multiply by the inverse of their triangle. */
KS_HD void KS_T(ks_bt_columns_lower_rows)(int rows, int vectors, int n, int top, int p,
                                          const KS_NUM *R, KS_NUM *x, int ld,
                                          KS_T(ks_bt_columns_ahead) *ahead)
{
    KS_T(ks_bt_columns_ask)(ahead);
    KS_T(ks_bt_wide) c[8][3];
    const KS_NUM *U = R + p * n + p;
    KS_T(ks_bt_columns_tile)(rows, vectors, p - top, R + top * n + p, 1, n, x + top * ld,
                             x + p * ld, ld, c);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
        const KS_NUM inverse = KS_LIT(1) / U[r * n + r];
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) {
#pragma GCC unroll 4
            for (int s = 0; s < r; ++s) c[r][v] = c[r][v] - U[s * n + r] * c[s][v];
            c[r][v] = c[r][v] * inverse;
        }
    }
    KS_T(ks_bt_tile_store)(rows, vectors, c, x + p * ld, ld, KS_BT_WIDTH);
}

/** The same for x <- R^-1 x. The rows after these are done already. */
KS_HD void KS_T(ks_bt_columns_upper_rows)(int rows, int vectors, int n, int p, const KS_NUM *R,
                                          KS_NUM *x, int ld, KS_T(ks_bt_columns_ahead) *ahead)
{
    KS_T(ks_bt_columns_ask)(ahead);
    KS_T(ks_bt_wide) c[8][3];
    const KS_NUM *U = R + p * n + p;
    KS_T(ks_bt_columns_tile)(rows, vectors, n - p - rows, U + rows, n, 1, x + (p + rows) * ld,
                             x + p * ld, ld, c);
#pragma GCC unroll 4
    for (int r = rows - 1; r >= 0; --r) {
        const KS_NUM inverse = KS_LIT(1) / U[r * n + r];
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) {
#pragma GCC unroll 4
            for (int s = rows - 1; s > r; --s) c[r][v] = c[r][v] - U[r * n + s] * c[s][v];
            c[r][v] = c[r][v] * inverse;
        }
    }
    KS_T(ks_bt_tile_store)(rows, vectors, c, x + p * ld, ld, KS_BT_WIDTH);
}

/** The operations on a strip, by one band of a block. */
typedef enum KS_T(ks_bt_columns_job) {
    KS_T(KS_BT_LOWER),     /* x <- R'^-1 x                   */
    KS_T(KS_BT_UPPER),     /* x <- R^-1 x                    */
    KS_T(KS_BT_PRODUCT_T), /* y -= X' x                      */
    KS_T(KS_BT_PRODUCT)    /* y -= X x                       */
} KS_T(ks_bt_columns_job);

/** Do a job with rows begin .. end - 1 of A in one strip. The jobs that solve do not use y. */
KS_HD void KS_T(ks_bt_columns_strip)(int vectors, KS_T(ks_bt_columns_job) job, int n, int begin,
                                     int end, const KS_NUM *A, KS_NUM *x, int ldx, KS_NUM *y,
                                     KS_T(ks_bt_columns_ahead) *ahead)
{
    int p;
    switch (job) {
    case KS_T(KS_BT_LOWER):
        for (p = begin; p + 4 <= end; p += 4)
            KS_T(ks_bt_columns_lower_rows)(4, vectors, n, begin, p, A, x, ldx, ahead);
        for (; p < end; ++p)
            KS_T(ks_bt_columns_lower_rows)(1, vectors, n, begin, p, A, x, ldx, ahead);
        KS_T(ks_bt_columns_product)(vectors, n - end, end - begin, A + begin * n + end, 1, n,
                                    x + begin * ldx, x + end * ldx, ldx, ahead);
        break;
    case KS_T(KS_BT_UPPER):
        for (p = end - 1; p >= begin + (end - begin) / 4 * 4; --p)
            KS_T(ks_bt_columns_upper_rows)(1, vectors, n, p, A, x, ldx, ahead);
        for (p -= 3; p >= begin; p -= 4)
            KS_T(ks_bt_columns_upper_rows)(4, vectors, n, p, A, x, ldx, ahead);
        break;
    case KS_T(KS_BT_PRODUCT_T):
        KS_T(ks_bt_columns_product)(vectors, n, end - begin, A + begin * n, 1, n, x + begin * ldx,
                                    y, ldx, ahead);
        break;
    case KS_T(KS_BT_PRODUCT):
        KS_T(ks_bt_columns_product)(vectors, end - begin, n, A + begin * n, n, 1, x,
                                    y + begin * ldx, ldx, ahead);
        break;
    }
}

/** Do a job with one band in `columns` columns of x and y, which have leading dimension ld. */
KS_HD void KS_T(ks_bt_columns_band)(KS_T(ks_bt_columns_job) job, int n, int begin, int end,
                                    int columns, const KS_NUM *A, KS_NUM *x, KS_NUM *y, int ld,
                                    KS_T(ks_bt_columns_ahead) *ahead)
{
    int j = 0;
    for (; j + 3 * KS_BT_WIDTH <= columns; j += 3 * KS_BT_WIDTH)
        KS_T(ks_bt_columns_strip)(3, job, n, begin, end, A, x + j, ld, y + j, ahead);
    if (j + 2 * KS_BT_WIDTH <= columns)
        KS_T(ks_bt_columns_strip)(2, job, n, begin, end, A, x + j, ld, y + j, ahead);
    else if (j + KS_BT_WIDTH <= columns)
        KS_T(ks_bt_columns_strip)(1, job, n, begin, end, A, x + j, ld, y + j, ahead);
}

/** Do a job with block A in `columns` columns, which are whole vectors, band by band. */
KS_HD_COLD void KS_T(ks_bt_columns_block)(KS_T(ks_bt_columns_job) job, int n, int columns,
                                          int64_t next, const KS_NUM *A, KS_NUM *x, KS_NUM *y,
                                          int ld)
{
    const int tiles = (n + 7) / 8 * ((columns + 3 * KS_BT_WIDTH - 1) / (3 * KS_BT_WIDTH));
    const int lines = (n * n * (int)sizeof(KS_NUM) / 64 + tiles - 1) / tiles;
    KS_T(ks_bt_columns_ahead) ahead = { A + next, A + next + (next ? n * n : 0), lines };
    const int bands = (n + KS_BT_COLUMN_BAND - 1) / KS_BT_COLUMN_BAND;
    for (int i = 0; i < bands; ++i) {
        const int begin = (job == KS_T(KS_BT_UPPER) ? bands - 1 - i : i) * KS_BT_COLUMN_BAND;
        const int end = n - begin < KS_BT_COLUMN_BAND ? n : begin + KS_BT_COLUMN_BAND;
        switch (job) {
        case KS_T(KS_BT_LOWER):
            KS_T(ks_bt_columns_band)(KS_T(KS_BT_LOWER), n, begin, end, columns, A, x, y, ld,
                                     &ahead);
            break;
        case KS_T(KS_BT_UPPER):
            KS_T(ks_bt_columns_band)(KS_T(KS_BT_UPPER), n, begin, end, columns, A, x, y, ld,
                                     &ahead);
            break;
        case KS_T(KS_BT_PRODUCT_T):
            KS_T(ks_bt_columns_band)(KS_T(KS_BT_PRODUCT_T), n, begin, end, columns, A, x, y, ld,
                                     &ahead);
            break;
        case KS_T(KS_BT_PRODUCT):
            KS_T(ks_bt_columns_band)(KS_T(KS_BT_PRODUCT), n, begin, end, columns, A, x, y, ld,
                                     &ahead);
            break;
        }
    }
}

/** Copy `columns` columns, fewer than a vector and a literal, to rows of one vector each, or back. */
KS_HD void KS_T(ks_bt_columns_move)(int back, int n, int columns, KS_NUM *x, int ld, KS_NUM *rows)
{
    for (int i = 0; i < n; ++i) {
        KS_NUM *row = rows + i * KS_BT_WIDTH;
        for (int j = 0; j < columns; ++j) {
            if (back)
                x[i * ld + j] = row[j];
            else
                row[j] = x[i * ld + j];
        }
        for (int j = columns; !back && j < KS_BT_WIDTH; ++j) row[j] = KS_LIT(0);
    }
}

KS_HD_COLD void KS_T(ks_bt_columns_moved)(int back, int n, int columns, KS_NUM *x, int ld,
                                          KS_NUM *rows)
{
    switch (columns) {
    case 1: KS_T(ks_bt_columns_move)(back, n, 1, x, ld, rows); break;
    case 2: KS_T(ks_bt_columns_move)(back, n, 2, x, ld, rows); break;
    case 3: KS_T(ks_bt_columns_move)(back, n, 3, x, ld, rows); break;
    case 4: KS_T(ks_bt_columns_move)(back, n, 4, x, ld, rows); break;
    default: KS_T(ks_bt_columns_move)(back, n, columns, x, ld, rows); break;
    }
}

/** Do a job with blocks x and y of right-hand sides (n, m); y is NULL for jobs that solve. The lane's next block is
 *  `next` elements from A; 0: do not prefetch it. scratch: two panels. */
KS_HD void KS_T(ks_bt_strips)(KS_T(ks_bt_columns_job) job, int n, int m, int64_t next,
                              const KS_NUM *A, KS_NUM *x, KS_NUM *y, KS_NUM *scratch)
{
    const int whole = m / KS_BT_WIDTH * KS_BT_WIDTH;
    KS_NUM *X = scratch, *Y = scratch + n * KS_BT_WIDTH;
    if (whole > 0) KS_T(ks_bt_columns_block)(job, n, whole, next, A, x, y ? y : x, m);
    if (whole == m) return;
    KS_T(ks_bt_columns_moved)(0, n, m - whole, x + whole, m, X);
    if (y) KS_T(ks_bt_columns_moved)(0, n, m - whole, y + whole, m, Y);
    KS_T(ks_bt_columns_block)(job, n, KS_BT_WIDTH, whole ? 0 : next, A, X, y ? Y : X, KS_BT_WIDTH);
    KS_T(ks_bt_columns_moved)(1, n, m - whole, (y ? y : x) + whole, m, y ? Y : X);
}
