/* eliminate_text.h -- products and elimination of panels; see panel_text.h.
 *
 * All products consist of one tile: four or eight rows by up to three vectors of C - X' Y are in
 * registers while the loop runs over the rows of X and Y. Tiles are grouped in strips of columns, so
 * that a strip of Y stays in the first-level cache while the loop runs over the rows of C. Rows are
 * grouped in bands and depths in slices, so that data that are read again are still in the second-level
 * cache. */

/* Most vectors of a tile: as many as fit the registers beside its operands. */
#define KS_BT_STRIP (KS_VECTOR_BYTES >= 32 ? 3 : 1)
/* Rows of a product's tile: eight with 32 registers. A band begins at a multiple of them. */
#define KS_BT_ROWS (KS_VECTOR_BYTES > 32 ? 8 : 4)
/* Rows of a band, depth of a slice. */
#define KS_BT_BAND 32
#define KS_BT_SLICE 256

/* Orders of blocks for which data are prefetched. For smaller ones the hardware prefetcher is enough,
 * larger ones would evict the panels from the second-level cache. */
#define KS_BT_ASK_FROM 5
#define KS_BT_ASK_TO 160
/* Cache lines of each array that a tile prefetches: in total as many as a block has, or a few more.
 * Where tiles are larger there are fewer, so each prefetches more. */
#define KS_BT_ASK_LINES (KS_VECTOR_BYTES > 32 ? 6 : 3)

/** Memory that the next blocks of a lane will read and write. It is prefetched to the second-level
 *  cache, tile by tile, during the computation of this block. */
typedef struct KS_T(ks_bt_ahead_of) {
    const KS_NUM *D_in, *L_in, *D_out, *L_out;
    int n, row, at; /* prefetched: the rows before `row`, and of that the columns before `at` */
} KS_T(ks_bt_ahead_of);

KS_HD void KS_T(ks_bt_ask)(KS_T(ks_bt_ahead_of) *a)
{
    const int line = (int)(64 / sizeof(KS_NUM));
    if (!a) return;
    for (int i = 0; i < KS_BT_ASK_LINES && a->row < a->n; ++i) {
        const int at = a->row * a->n + a->at;
        __builtin_prefetch(a->L_in + at, 0, 2);
        __builtin_prefetch(a->L_out + at, 0, 2);
        if (a->at <= a->row) __builtin_prefetch(a->D_in + at, 0, 2);
        if (a->at + line > a->row) __builtin_prefetch(a->D_out + at, 0, 2);
        a->at += line;
        if (a->at >= a->n) {
            a->at = 0;
            ++a->row;
        }
    }
}

/** Vectors of the next strip. Four vectors are split as 2 + 2, not 3 + 1: in a tile of one vector the latency
 *  of each operation is exposed. */
KS_HD int KS_T(ks_bt_next_strip)(int columns)
{
    const int vectors = columns / KS_BT_WIDTH;
    if (KS_BT_STRIP == 1) return 1;
    return vectors == 4 ? 2 : vectors > 3 ? 3 : vectors;
}

/** Load `rows` rows by `vectors` vectors of C to c; both are literals. Strides: `row` of rows, `vector` of vectors. */
KS_HD void KS_T(ks_bt_tile_load)(int rows, int vectors, const KS_NUM *C, int row, int vector, KS_T(ks_bt_wide) c[8][3])
{
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) c[r][v] = KS_BT_LOAD(C + r * row + v * vector);
}

/** Store c to C. */
KS_HD void KS_T(ks_bt_tile_store)(int rows, int vectors, KS_T(ks_bt_wide) c[8][3], KS_NUM *C, int row, int vector)
{
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) KS_BT_STORE(C + r * row + v * vector, c[r][v]);
}

/** c -= x y: x is a column of numbers with stride `apart`, y a row of vectors with stride `vector`. */
KS_HD void KS_T(ks_bt_tile_less)(int rows, int vectors, const KS_NUM *x, int apart, const KS_NUM *y, int vector,
                                 KS_T(ks_bt_wide) c[8][3])
{
    KS_T(ks_bt_wide) b[3];
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) b[v] = KS_BT_LOAD(y + v * vector);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
        const KS_NUM a = x[r * apart];
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) c[r][v] = c[r][v] - a * b[v];
    }
}

/** c = `rows` rows by `vectors` vectors of C - X' Y, for k rows of X and Y. X, Y and C point to the first
 *  column. The rows of the tile are columns of one slab of X. */
KS_HD void KS_T(ks_bt_tile)(int rows, int vectors, int k, int slab, const KS_NUM *X,
                            const KS_NUM *Y, const KS_NUM *C, KS_T(ks_bt_wide) c[8][3])
{
    KS_T(ks_bt_tile_load)(rows, vectors, C, KS_BT_WIDTH, slab, c);
#pragma GCC unroll 2
    for (int l = 0; l < k; ++l)
        KS_T(ks_bt_tile_less)(rows, vectors, X + l * KS_BT_WIDTH, 1, Y + l * KS_BT_WIDTH, slab, c);
}

/** One tile of C -= X' Y at row i. */
KS_HD void KS_T(ks_bt_product_tile)(int rows, int vectors, int i, int k, int slab, const KS_NUM *X,
                                    const KS_NUM *Y, KS_NUM *C, KS_T(ks_bt_ahead_of) *ahead)
{
    KS_T(ks_bt_wide) c[8][3];
    KS_T(ks_bt_ask)(ahead);
    KS_T(ks_bt_tile)(rows, vectors, k, slab, X + KS_T(ks_bt_at)(slab, 0, i), Y, C + i * KS_BT_WIDTH,
                     c);
    KS_T(ks_bt_tile_store)(rows, vectors, c, C + i * KS_BT_WIDTH, KS_BT_WIDTH, slab);
}

/** One strip of C -= X' Y: `rows` rows, a multiple of four, from row i of C on. */
KS_HD void KS_T(ks_bt_product_strip)(int vectors, int i, int rows, int k, int slab,
                                     const KS_NUM *X, const KS_NUM *Y, KS_NUM *C,
                                     KS_T(ks_bt_ahead_of) *ahead)
{
    const int end = i + rows;
    for (; KS_BT_ROWS > 4 && i + KS_BT_ROWS <= end; i += KS_BT_ROWS)
        KS_T(ks_bt_product_tile)(KS_BT_ROWS, vectors, i, k, slab, X, Y, C, ahead);
    for (; i < end; i += 4)
        KS_T(ks_bt_product_tile)(4, vectors, i, k, slab, X, Y, C, ahead);
}

/** `rows` rows from i and `columns` columns from j on of C -= X' Y of depth k. `upper`: i = j, and only the
 *  upper triangle is needed. */
KS_HD void KS_T(ks_bt_product)(int upper, int i, int rows, int j, int columns, int k, int slab,
                               const KS_NUM *X, const KS_NUM *Y, KS_NUM *C,
                               KS_T(ks_bt_ahead_of) *ahead)
{
    int vectors;
    for (int done = 0; done < columns; done += vectors * KS_BT_WIDTH) {
        vectors = KS_T(ks_bt_next_strip)(columns - done);
        const int to = done + vectors * KS_BT_WIDTH, m = upper && to < rows ? to : rows;
        const int at = KS_T(ks_bt_at)(slab, 0, j + done);
        switch (vectors) {
        case 3: KS_T(ks_bt_product_strip)(3, i, m, k, slab, X, Y + at, C + at, ahead); break;
        case 2: KS_T(ks_bt_product_strip)(2, i, m, k, slab, X, Y + at, C + at, ahead); break;
        default: KS_T(ks_bt_product_strip)(1, i, m, k, slab, X, Y + at, C + at, ahead); break;
        }
    }
}

KS_HD_COLD void KS_T(ks_bt_product_shared)(int upper, int i, int rows, int j, int columns, int k,
                                           int slab, const KS_NUM *X, const KS_NUM *Y, KS_NUM *C,
                                           KS_T(ks_bt_ahead_of) *ahead)
{
    KS_T(ks_bt_product)(upper, i, rows, j, columns, k, slab, X, Y, C, ahead);
}

/** Panel C -= X' Y, by bands and slices. */
KS_HD void KS_T(ks_bt_product_large)(int upper, int np, int columns, int slab, const KS_NUM *X,
                                     const KS_NUM *Y, KS_NUM *C, KS_T(ks_bt_ahead_of) *ahead)
{
    for (int l = 0; l < np; l += KS_BT_SLICE) {
        const int k = np - l < KS_BT_SLICE ? np - l : KS_BT_SLICE, at = l * KS_BT_WIDTH;
        for (int i = 0; i < np; i += KS_BT_BAND) {
            const int rows = np - i < KS_BT_BAND ? np - i : KS_BT_BAND, j = upper ? i : 0;
            KS_T(ks_bt_product_shared)(upper, i, rows, j, columns - j, k, slab, X + at, Y + at, C,
                                       ahead);
        }
    }
}

/** Panel C -= X' Y; `upper`: only its upper triangle. */
KS_HD void KS_T(ks_bt_multiply_panels)(int upper, int n, int np, int slab, const KS_NUM *X,
                                       const KS_NUM *Y, KS_NUM *C, KS_T(ks_bt_ahead_of) *ahead)
{
    const int columns = KS_T(ks_bt_columns)(n);
    if (__builtin_constant_p(n) && n <= KS_BT_BAND)
        KS_T(ks_bt_product)(upper, 0, np, 0, columns, np, slab, X, Y, C, ahead);
    else if (n <= KS_BT_BAND)
        KS_T(ks_bt_product_shared)(upper, 0, np, 0, columns, np, slab, X, Y, C, ahead);
    else
        KS_T(ks_bt_product_large)(upper, np, columns, slab, X, Y, C, ahead);
}

/** Upper triangle of the panel C -= X' X. */
KS_HD void KS_T(ks_bt_downdate)(int n, int np, int slab, const KS_NUM *X, KS_NUM *C,
                                KS_T(ks_bt_ahead_of) *ahead)
{
    KS_T(ks_bt_multiply_panels)(1, n, np, slab, X, X, C, ahead);
}

/** Panel C = - X' Y. */
KS_HD void KS_T(ks_bt_fill_in)(int n, int np, int slab, const KS_NUM *X, const KS_NUM *Y,
                               KS_NUM *C, KS_T(ks_bt_ahead_of) *ahead)
{
    for (int i = 0; i < KS_T(ks_bt_columns)(n) / KS_BT_WIDTH * slab; ++i) C[i] = KS_LIT(0);
    KS_T(ks_bt_multiply_panels)(0, n, np, slab, X, Y, C, ahead);
}

/** Subtract from s, four rows of the columns p .. p + 3, the products of the rows begin .. end - 1. */
KS_HD void KS_T(ks_bt_corner_sums)(int begin, int end, int p, int slab, const KS_NUM *P,
                                   KS_T(ks_bt_quad) s[4])
{
    const KS_NUM *D = P + KS_T(ks_bt_at)(slab, 0, p);
    for (int l = begin; l < end; ++l) {
        const KS_T(ks_bt_quad) x = KS_BT_QUAD(D + l * KS_BT_WIDTH);
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) s[r] = s[r] - D[l * KS_BT_WIDTH + r] * x;
    }
}

/** s = rows p .. p + 3 of the diagonal block at the columns p .. p + 3. */
KS_HD void KS_T(ks_bt_corner_load)(int p, int slab, const KS_NUM *P, KS_T(ks_bt_quad) s[4])
{
    const KS_NUM *D = P + KS_T(ks_bt_at)(slab, p, p);
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) s[r] = KS_BT_QUAD(D + r * KS_BT_WIDTH);
}

/** The 4 x 4 Cholesky factor u (row stride 4) of the upper triangle of s, with the reciprocals of its diagonal.
 *  From row `live` on, a literal, they are those of the identity. Return -1, or the first pivot that is not
 *  positive or not below a quarter of the largest number. The reciprocal of a larger pivot would be denormal,
 *  which counts as zero here.
 *
 *  Internally this is L D L': its chain of dependent operations has a division for each pivot but no square
 *  root. The four roots are taken at the end, independently of each other. */
KS_HD int KS_T(ks_bt_corner)(int live, const KS_T(ks_bt_quad) s[4], KS_NUM *u, KS_NUM *inverse)
{
    KS_NUM a[4][4], d[4];
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r)
#pragma GCC unroll 4
        for (int q = r; q < 4; ++q) a[r][q] = s[r][q];
#pragma GCC unroll 4
    for (int r = 0; r < live; ++r) {
        d[r] = KS_LIT(1) / a[r][r];
#pragma GCC unroll 4
        for (int i = r + 1; i < live; ++i) {
            const KS_NUM multiplier = a[r][i] * d[r];
#pragma GCC unroll 4
            for (int q = i; q < live; ++q) a[i][q] = a[i][q] - multiplier * a[r][q];
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
        const KS_NUM root = r < live ? KS_SQRT(a[r][r]) : KS_LIT(1);
        inverse[r] = r < live ? KS_LIT(1) / root : KS_LIT(1);
        u[4 * r + r] = root;
#pragma GCC unroll 4
        for (int q = r + 1; q < 4; ++q) u[4 * r + q] = a[r][q] * inverse[r];
    }
#pragma GCC unroll 4
    for (int r = 0; r < live; ++r)
        if (!(a[r][r] > KS_LIT(0) && a[r][r] < KS_LIT(KS_LARGEST / 4))) return r;
    return -1;
}

KS_HD_COLD int KS_T(ks_bt_corner_shared)(const KS_T(ks_bt_quad) s[4], KS_NUM *u, KS_NUM *inverse)
{
    return KS_T(ks_bt_corner)(4, s, u, inverse);
}

/** Rows p .. p + 3 of a strip that begins at column j: subtract the products of the rows top .. p - 1, then
 *  multiply by U'^-1. U is at u with row stride ldu. */
KS_HD void KS_T(ks_bt_row_strip)(int vectors, int top, int p, int j, int slab, KS_NUM *P,
                                 const KS_NUM *u, int ldu, const KS_NUM *inverse,
                                 KS_T(ks_bt_ahead_of) *ahead)
{
    KS_T(ks_bt_ask)(ahead);
    KS_T(ks_bt_wide) c[8][3];
    KS_NUM *Y = P + KS_T(ks_bt_at)(slab, 0, j);
    KS_T(ks_bt_tile)(4, vectors, p - top, slab, P + KS_T(ks_bt_at)(slab, top, p),
                     Y + top * KS_BT_WIDTH, Y + p * KS_BT_WIDTH, c);
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) {
#pragma GCC unroll 4
            for (int s = 0; s < r; ++s) c[r][v] = c[r][v] - u[s * ldu + r] * c[s][v];
            c[r][v] = c[r][v] * inverse[r];
        }
    KS_T(ks_bt_tile_store)(4, vectors, c, Y + p * KS_BT_WIDTH, KS_BT_WIDTH, slab);
}

/** The next strip of row_strip() in the columns j .. end - 1. Return the column where it ends. */
KS_HD int KS_T(ks_bt_row_step)(int top, int p, int j, int end, int slab, KS_NUM *P, const KS_NUM *u,
                               const KS_NUM *inverse, KS_T(ks_bt_ahead_of) *ahead)
{
    const int vectors = KS_T(ks_bt_next_strip)(end - j);
    switch (vectors) {
    case 3: KS_T(ks_bt_row_strip)(3, top, p, j, slab, P, u, 4, inverse, ahead); break;
    case 2: KS_T(ks_bt_row_strip)(2, top, p, j, slab, P, u, 4, inverse, ahead); break;
    default: KS_T(ks_bt_row_strip)(1, top, p, j, slab, P, u, 4, inverse, ahead); break;
    }
    return j + vectors * KS_BT_WIDTH;
}

/** Eliminate rows begin .. end - 1 of the wide panel P in the columns before `columns`: subtract the products of
 *  the rows from `top` on, then replace the diagonal block by its Cholesky factor R and the rest by R'^-1 times
 *  it. The reciprocals of the diagonal go to inverse. Return -1 or the failing row.
 *
 *  The corner of the next four rows is started as soon as its columns are complete, so that its divisions and
 *  roots overlap with the remaining strips. live, a literal: how many of the last four rows belong to the block;
 *  1 to 3 only if not `shared`. */
KS_HD int KS_T(ks_bt_eliminate_rows)(int shared, int live, int top, int begin, int end, int columns,
                                     int slab, KS_NUM *P, KS_NUM *inverse,
                                     KS_T(ks_bt_ahead_of) *ahead)
{
    KS_NUM u[2][16];
    KS_T(ks_bt_quad) s[4];
    KS_T(ks_bt_corner_load)(begin, slab, P, s);
    KS_T(ks_bt_corner_sums)(top, begin, begin, slab, P, s);
    int bad = shared             ? KS_T(ks_bt_corner_shared)(s, u[0], inverse)
              : end - begin == 4 ? KS_T(ks_bt_corner)(live, s, u[0], inverse)
                                 : KS_T(ks_bt_corner)(4, s, u[0], inverse);
    for (int p = begin; p < end; p += 4) {
        KS_NUM *own = u[(p - begin) / 4 % 2], *next = u[((p - begin) / 4 + 1) % 2];
        KS_NUM *reciprocals = inverse + p - begin;
        int j = (p + 4) / KS_BT_WIDTH * KS_BT_WIDTH;
        if (bad >= 0) return p + bad;
        if (j < columns)
            j = KS_T(ks_bt_row_step)(top, p, j, columns, slab, P, own, reciprocals, ahead);
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r)
            KS_BT_PUT_QUAD(P + KS_T(ks_bt_at)(slab, p + r, p), KS_BT_QUAD(own + 4 * r));
        if (p + 4 < end) {
            KS_T(ks_bt_corner_load)(p + 4, slab, P, s);
            KS_T(ks_bt_corner_sums)(top, p + 4, p + 4, slab, P, s);
            bad = shared                    ? KS_T(ks_bt_corner_shared)(s, next, reciprocals + 4)
                  : live < 4 && p + 8 == end ? KS_T(ks_bt_corner)(live, s, next, reciprocals + 4)
                                            : KS_T(ks_bt_corner)(4, s, next, reciprocals + 4);
        }
        while (j < columns)
            j = KS_T(ks_bt_row_step)(top, p, j, columns, slab, P, own, reciprocals, ahead);
    }
    return -1;
}

/** The rows of a band in one strip of the columns after those that eliminate_rows() has done. */
KS_HD void KS_T(ks_bt_band_strip)(int vectors, int top, int begin, int end, int j, int slab,
                                  KS_NUM *P, const KS_NUM *inverse, KS_T(ks_bt_ahead_of) *ahead)
{
    for (int p = begin; p < end; p += 4)
        KS_T(ks_bt_row_strip)(vectors, top, p, j, slab, P, P + KS_T(ks_bt_at)(slab, p, p),
                              KS_BT_WIDTH, inverse + p - begin, ahead);
}

/** eliminate() for large panels, by bands of rows. */
KS_HD_COLD int KS_T(ks_bt_eliminate_large)(int np, int columns, int slab, KS_NUM *P,
                                           KS_T(ks_bt_ahead_of) *ahead)
{
    KS_NUM inverse[KS_BT_BAND];
    for (int i = 0; i < np; i += KS_BT_BAND) {
        const int end = np - i < KS_BT_BAND ? np : i + KS_BT_BAND;
        const int top = i / KS_BT_SLICE * KS_BT_SLICE;
        for (int l = 0; l < top; l += KS_BT_SLICE)
            KS_T(ks_bt_product_shared)(0, i, end - i, i, columns - i, KS_BT_SLICE, slab,
                                       P + l * KS_BT_WIDTH, P + l * KS_BT_WIDTH, P, ahead);
        const int corner = (end + KS_BT_WIDTH - 1) / KS_BT_WIDTH * KS_BT_WIDTH;
        const int bad = KS_T(ks_bt_eliminate_rows)(1, 4, top, i, end, corner, slab, P, inverse, ahead);
        if (bad >= 0) return bad;
        int vectors;
        for (int j = corner; j < columns; j += vectors * KS_BT_WIDTH) {
            vectors = KS_T(ks_bt_next_strip)(columns - j);
            switch (vectors) {
            case 3: KS_T(ks_bt_band_strip)(3, top, i, end, j, slab, P, inverse, ahead); break;
            case 2: KS_T(ks_bt_band_strip)(2, top, i, end, j, slab, P, inverse, ahead); break;
            default: KS_T(ks_bt_band_strip)(1, top, i, end, j, slab, P, inverse, ahead); break;
            }
        }
    }
    return -1;
}

KS_HD_COLD int KS_T(ks_bt_eliminate_middle)(int np, int columns, int slab, KS_NUM *P,
                                            KS_T(ks_bt_ahead_of) *ahead)
{
    KS_NUM inverse[KS_BT_BAND];
    return KS_T(ks_bt_eliminate_rows)(1, 4, 0, 0, np, columns, slab, P, inverse, ahead);
}

/** Eliminate the diagonal block of a wide panel with `couplings` couplings beside it: replace the block by its
 *  Cholesky factor R, and the couplings by R'^-1 times them. Return -1 or the failing row. */
KS_HD int KS_T(ks_bt_eliminate)(int n, int np, int couplings, int slab, KS_NUM *P,
                                KS_T(ks_bt_ahead_of) *ahead)
{
    KS_NUM inverse[KS_BT_BAND];
    const int columns = (1 + couplings) * KS_T(ks_bt_columns)(n);
    if (__builtin_constant_p(n) && n <= KS_BT_BAND)
        return KS_T(ks_bt_eliminate_rows)(0, n - np + 4, 0, 0, np, columns, slab, P, inverse, ahead);
    return n <= KS_BT_BAND ? KS_T(ks_bt_eliminate_middle)(np, columns, slab, P, ahead)
                           : KS_T(ks_bt_eliminate_large)(np, columns, slab, P, ahead);
}
