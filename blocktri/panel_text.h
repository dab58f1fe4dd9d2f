/* panel_text.h -- copies of blocks to panels and back; see src/num_f64.h.
 *
 * A panel is an (n, n) block in scratch. It consists of slabs of KS_BT_WIDTH columns, `slab` elements
 * apart, each row-major, so that a product X' Y reads memory without gaps. Rows are padded to a
 * multiple of four and columns to one of KS_BT_WIDTH, so that no kernel has a remainder. The padding is
 * zero, except for ones on the diagonal of a diagonal block. A diagonal block and its couplings are
 * side by side in one wide panel while they are eliminated. Cholesky factors are upper triangular, R' R:
 * vectors run along rows, and every product of the elimination is X' Y of two panels. */

/* Blocks of the inverse beyond this order are multiplied by BLAS. */
#define KS_BT_BLAS 128
/* At least four doubles: without AVX such a vector takes two registers. */
#define KS_BT_BYTES (KS_VECTOR_BYTES > 32 ? KS_VECTOR_BYTES : 32)
#define KS_BT_WIDTH ((int)(KS_BT_BYTES / sizeof(KS_NUM)))
typedef KS_NUM KS_T(ks_bt_wide) __attribute__((vector_size(KS_BT_BYTES)));
typedef KS_NUM KS_T(ks_bt_wide_at)
    __attribute__((vector_size(KS_BT_BYTES), aligned(sizeof(KS_NUM)), may_alias));
typedef KS_NUM KS_T(ks_bt_quad) __attribute__((vector_size(4 * sizeof(KS_NUM))));
typedef KS_NUM KS_T(ks_bt_quad_at)
    __attribute__((vector_size(4 * sizeof(KS_NUM)), aligned(sizeof(KS_NUM)), may_alias));
#define KS_BT_LOAD(p) ((KS_T(ks_bt_wide)) * (const KS_T(ks_bt_wide_at) *)(const void *)(p))
#define KS_BT_STORE(p, v) (*(KS_T(ks_bt_wide_at) *)(void *)(p) = (KS_T(ks_bt_wide_at))(v))
#define KS_BT_QUAD(p) ((KS_T(ks_bt_quad)) * (const KS_T(ks_bt_quad_at) *)(const void *)(p))
#define KS_BT_PUT_QUAD(p, v) (*(KS_T(ks_bt_quad_at) *)(void *)(p) = (KS_T(ks_bt_quad_at))(v))

/** t = a', four by four. */
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

/** Columns of a panel with an (n, n) block. */
KS_HD int KS_T(ks_bt_columns)(int n) { return (n + KS_BT_WIDTH - 1) / KS_BT_WIDTH * KS_BT_WIDTH; }

/** Elements from slab to slab of a panel with np rows. It is not a multiple of 512 bytes. So the same rows of
 *  different slabs neither compete for the same cache sets, nor have the same low bits of their addresses, for
 *  which a load would wait for an unrelated store. */
KS_HD int KS_T(ks_bt_slab)(int np)
{
    const int slab = np * KS_BT_WIDTH;
    return slab * (int)sizeof(KS_NUM) % 512 ? slab : slab + 4 * KS_BT_WIDTH;
}

/** Index in a panel of row i, column j. */
KS_HD int KS_T(ks_bt_at)(int slab, int i, int j)
{
    const unsigned column = (unsigned)j, width = (unsigned)KS_BT_WIDTH;
    return (int)(column / width) * slab + i * (int)width + (int)(column % width);
}

/* Copies process four columns at a time. At the end of a row `rest` numbers remain, a literal below four; they are
 * copied together with the padding behind them. If the order of blocks is a literal, copies are inlined. Otherwise the
 * four variants of a copy, one for each rest, are shared functions. */

/** Copy a block of fewer than four rows to a panel, number by number. turned: its transpose. lower: only the upper
 *  triangle of that, with ones on the padded diagonal. */
KS_HD void KS_T(ks_bt_load_few)(int turned, int lower, int n, int slab, const KS_NUM *KS_RESTRICT block,
                                KS_NUM *KS_RESTRICT P)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < (lower ? i + 1 : n); ++j)
            P[turned ? KS_T(ks_bt_at)(slab, j, i) : KS_T(ks_bt_at)(slab, i, j)] = block[i * n + j];
    for (int i = 0; i < 4; ++i)
        for (int j = i < n ? n : 0; j < KS_BT_WIDTH; ++j) P[KS_T(ks_bt_at)(slab, i, j)] = KS_LIT(lower && i == j);
}

/** *q <- `numbers` numbers, a literal up to four, then zeros. */
KS_HD void KS_T(ks_bt_take)(int numbers, const KS_NUM *from, KS_T(ks_bt_quad) *q)
{
    const KS_T(ks_bt_quad) zero = { 0 };
    *q = numbers == 4 ? KS_BT_QUAD(from) : zero;
#pragma GCC unroll 3
    for (int c = 0; numbers < 4 && c < numbers; ++c) (*q)[c] = from[c];
}

/** Set columns from .. columns - 1 of `rows` rows from i on to zero; `from` is a multiple of four. */
KS_HD void KS_T(ks_bt_clear_columns)(int rows, int i, int from, int columns, int slab, KS_NUM *P)
{
    const KS_T(ks_bt_quad) zero = { 0 };
    for (int j = from; j < columns; j += 4)
        for (int r = 0; r < rows; ++r) KS_BT_PUT_QUAD(P + KS_T(ks_bt_at)(slab, i + r, j), zero);
}

/** Copy a tile of `rows` rows by `numbers` columns of a block, transposed, to a panel, padded with zeros to four by
 *  four. rows and numbers are literals; the row stride of the block is ld. */
KS_HD void KS_T(ks_bt_turn)(int rows, int numbers, int ld, const KS_NUM *KS_RESTRICT from, KS_NUM *KS_RESTRICT to)
{
    KS_T(ks_bt_quad) a[4] = { { 0 } }, t[4];
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) KS_T(ks_bt_take)(numbers, from + r * ld, &a[r]);
    KS_T(ks_bt_transpose_4)(a, t);
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) KS_BT_PUT_QUAD(to + r * KS_BT_WIDTH, t[r]);
}

/** Fill the upper triangle of a panel from the lower triangle of a symmetric block. Entries of the panel below
 *  the diagonal have no meaning. */
KS_HD void KS_T(ks_bt_load_lower)(int rest, int n, int slab, const KS_NUM *KS_RESTRICT block, KS_NUM *KS_RESTRICT P)
{
    const int whole = n - rest, columns = KS_T(ks_bt_columns)(n), np = (n + 3) / 4 * 4;
    if (whole == 0) {
        KS_T(ks_bt_load_few)(1, 1, n, slab, block, P);
        return;
    }
    for (int i = 0; i < whole; i += 4)
        for (int j = 0; j <= i; j += 4)
            KS_T(ks_bt_turn)(4, 4, n, block + i * n + j, P + KS_T(ks_bt_at)(slab, j, i));
    if (rest > 0) {
        for (int j = 0; j < whole; j += 4)
            KS_T(ks_bt_turn)(rest, 4, n, block + whole * n + j, P + KS_T(ks_bt_at)(slab, j, whole));
        KS_T(ks_bt_turn)(rest, rest, n, block + whole * n + whole, P + KS_T(ks_bt_at)(slab, whole, whole));
#pragma GCC unroll 4
        for (int i = rest; i < 4; ++i) P[KS_T(ks_bt_at)(slab, whole + i, whole + i)] = KS_LIT(1);
    }
    KS_T(ks_bt_clear_columns)(np, 0, np, columns, slab, P);
}

/** Copy block (n, n) with row stride n to a panel. */
KS_HD void KS_T(ks_bt_load_by_rows)(int rest, int n, int slab, const KS_NUM *KS_RESTRICT block, KS_NUM *KS_RESTRICT P)
{
    const int whole = n - rest, columns = KS_T(ks_bt_columns)(n), np = (n + 3) / 4 * 4;
    if (whole == 0) {
        KS_T(ks_bt_load_few)(0, 0, n, slab, block, P);
        return;
    }
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < whole; j += 4)
            KS_BT_PUT_QUAD(P + KS_T(ks_bt_at)(slab, i, j), KS_BT_QUAD(block + i * n + j));
        if (rest > 0) {
            KS_T(ks_bt_quad) q;
            KS_T(ks_bt_take)(rest, block + i * n + whole, &q);
            KS_BT_PUT_QUAD(P + KS_T(ks_bt_at)(slab, i, whole), q);
        }
    }
    KS_T(ks_bt_clear_columns)(n, 0, np, columns, slab, P);
    KS_T(ks_bt_clear_columns)(np - n, n, 0, columns, slab, P);
}

KS_HD void KS_T(ks_bt_load_columns)(int rest, int n, int slab, const KS_NUM *KS_RESTRICT block, KS_NUM *KS_RESTRICT P)
{
    const int whole = n - rest, columns = KS_T(ks_bt_columns)(n), np = (n + 3) / 4 * 4;
    if (whole == 0) {
        KS_T(ks_bt_load_few)(1, 0, n, slab, block, P);
        return;
    }
    for (int j = 0; j < whole; j += 4) {
        for (int i = 0; i < whole; i += 4)
            KS_T(ks_bt_turn)(4, 4, n, block + j * n + i, P + KS_T(ks_bt_at)(slab, i, j));
        if (rest > 0) KS_T(ks_bt_turn)(4, rest, n, block + j * n + whole, P + KS_T(ks_bt_at)(slab, whole, j));
    }
    if (rest > 0) {
        for (int i = 0; i < whole; i += 4)
            KS_T(ks_bt_turn)(rest, 4, n, block + whole * n + i, P + KS_T(ks_bt_at)(slab, i, whole));
        KS_T(ks_bt_turn)(rest, rest, n, block + whole * n + whole, P + KS_T(ks_bt_at)(slab, whole, whole));
    }
    KS_T(ks_bt_clear_columns)(np, 0, np, columns, slab, P);
}

#define KS_BT_LOADED(name)                                                                  \
    KS_HD_COLD void KS_T(name##_shared)(int n, int slab, const KS_NUM *block, KS_NUM *P)    \
    {                                                                                       \
        switch (n % 4) {                                                                    \
        case 0: KS_T(name)(0, n, slab, block, P); break;                                    \
        case 1: KS_T(name)(1, n, slab, block, P); break;                                    \
        case 2: KS_T(name)(2, n, slab, block, P); break;                                    \
        default: KS_T(name)(3, n, slab, block, P); break;                                   \
        }                                                                                   \
    }
KS_BT_LOADED(ks_bt_load_lower)
KS_BT_LOADED(ks_bt_load_by_rows)
KS_BT_LOADED(ks_bt_load_columns)
#undef KS_BT_LOADED

KS_HD void KS_T(ks_bt_load_symmetric)(int n, int slab, const KS_NUM *block, KS_NUM *P)
{
    if (__builtin_constant_p(n))
        KS_T(ks_bt_load_lower)(n % 4, n, slab, block, P);
    else
        KS_T(ks_bt_load_lower_shared)(n, slab, block, P);
}

KS_HD void KS_T(ks_bt_load)(int n, int slab, const KS_NUM *block, KS_NUM *P)
{
    if (__builtin_constant_p(n))
        KS_T(ks_bt_load_by_rows)(n % 4, n, slab, block, P);
    else
        KS_T(ks_bt_load_by_rows_shared)(n, slab, block, P);
}

/** Copy the transpose of a block to a panel. */
KS_HD void KS_T(ks_bt_load_transposed)(int n, int slab, const KS_NUM *block, KS_NUM *P)
{
    if (__builtin_constant_p(n))
        KS_T(ks_bt_load_columns)(n % 4, n, slab, block, P);
    else
        KS_T(ks_bt_load_columns_shared)(n, slab, block, P);
}

/** Rows that are stored together: eight, slab by slab, if the row of a slab is a cache line. */
#define KS_BT_STORED (KS_BT_BYTES == 64 ? 8 : 1)

/** Store `rows` rows of a panel from column j on, which is the first of a slab. */
KS_HD void KS_T(ks_bt_store_group)(int rest, int rows, int j, int n, int slab, const KS_NUM *KS_RESTRICT from,
                                   KS_NUM *KS_RESTRICT to)
{
    from += j / KS_BT_WIDTH * slab;
    for (; j + KS_BT_WIDTH <= n; j += KS_BT_WIDTH, from += slab)
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r)
            KS_BT_STORE(to + r * n + j, KS_BT_LOAD(from + r * KS_BT_WIDTH));
    for (; KS_BT_WIDTH > 4 && j + 4 <= n; j += 4, from += 4)
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r)
            KS_BT_PUT_QUAD(to + r * n + j, KS_BT_QUAD(from + r * KS_BT_WIDTH));
#pragma GCC unroll 4
    for (int c = 0; c < rest; ++c)
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) to[r * n + j + c] = from[r * KS_BT_WIDTH + c];
}

KS_HD void KS_T(ks_bt_store_by_rows)(int rest, int upper, int n, int slab, const KS_NUM *KS_RESTRICT P,
                                  KS_NUM *KS_RESTRICT block)
{
    int i = 0;
    for (; i + KS_BT_STORED <= n; i += KS_BT_STORED)
        KS_T(ks_bt_store_group)(rest, KS_BT_STORED, upper ? i / KS_BT_WIDTH * KS_BT_WIDTH : 0, n, slab,
                                P + i * KS_BT_WIDTH, block + i * n);
    for (; i < n; ++i)
        KS_T(ks_bt_store_group)(rest, 1, upper ? i / KS_BT_WIDTH * KS_BT_WIDTH : 0, n, slab,
                                P + i * KS_BT_WIDTH, block + i * n);
}

KS_HD_COLD void KS_T(ks_bt_store_by_rows_shared)(int upper, int n, int slab, const KS_NUM *P, KS_NUM *block)
{
    switch (n % 4) {
    case 0: KS_T(ks_bt_store_by_rows)(0, upper, n, slab, P, block); break;
    case 1: KS_T(ks_bt_store_by_rows)(1, upper, n, slab, P, block); break;
    case 2: KS_T(ks_bt_store_by_rows)(2, upper, n, slab, P, block); break;
    default: KS_T(ks_bt_store_by_rows)(3, upper, n, slab, P, block); break;
    }
}

/** Store a panel. upper, a literal: only the upper triangle, and some entries below the diagonal. */
KS_HD void KS_T(ks_bt_store_part)(int upper, int n, int slab, const KS_NUM *P, KS_NUM *block)
{
    if (__builtin_constant_p(n))
        KS_T(ks_bt_store_by_rows)(n % 4, upper, n, slab, P, block);
    else
        KS_T(ks_bt_store_by_rows_shared)(upper, n, slab, P, block);
}

KS_HD void KS_T(ks_bt_store)(int n, int slab, const KS_NUM *P, KS_NUM *block)
{
    KS_T(ks_bt_store_part)(0, n, slab, P, block);
}

KS_HD void KS_T(ks_bt_store_upper)(int n, int slab, const KS_NUM *P, KS_NUM *block)
{
    KS_T(ks_bt_store_part)(1, n, slab, P, block);
}

/** Store the panel's upper triangle in the lower triangle of a block. The upper triangle of the block is not
 *  changed. */
KS_HD void KS_T(ks_bt_store_lower)(int n, int slab, const KS_NUM *KS_RESTRICT P,
                                   KS_NUM *KS_RESTRICT block)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) block[i * n + j] = P[KS_T(ks_bt_at)(slab, j, i)];
}
