/* tile_text.h -- products and transposes of matrices whose rows are padded to whole vectors; see num_f64.h. For plain C
 * on the CPU, on top of gemm_text.h.
 *
 * A tile of C stays in registers while k runs. The vectors are GCC's vector types, so the same text serves every
 * instruction set. The leading dimension of B and C is a multiple of the vector. The padding at the end of a row may be
 * read and written, and its values mean nothing. */

#include "prefetch.h"
#include "stream.h"

typedef KS_NUM KS_T(ks_lanes) __attribute__((vector_size(KS_VECTOR_BYTES)));
typedef KS_NUM KS_T(ks_lanes_at) __attribute__((vector_size(KS_VECTOR_BYTES),
                                                 aligned(sizeof(KS_NUM)), may_alias));
#define KS_LANES ((int)(KS_VECTOR_BYTES / sizeof(KS_NUM)))
#define KS_LOADV(p) ((KS_T(ks_lanes)) * (const KS_T(ks_lanes_at) *)(const void *)(p))
#define KS_STOREV(p, v) (*(KS_T(ks_lanes_at) *)(void *)(p) = (KS_T(ks_lanes_at))(v))

/** Return a - x y, computed in a vector, so that it is fused exactly where products of vectors are. Compilers may
 *  vectorize sums of scalars and then round the product in one place and fuse it in another. */
typedef KS_NUM KS_T(ks_least) __attribute__((vector_size(16)));
KS_HD KS_NUM KS_T(ks_less)(KS_NUM a, KS_NUM x, KS_NUM y)
{
    const KS_T(ks_least) less = (KS_T(ks_least)){ a } - (KS_T(ks_least)){ x } * (KS_T(ks_least)){ y };
    return less[0];
}

/* Keep v from being fused into the sum it is added to; see ks_add_rounded(). Without AVX the value passes through
 * memory, since v may be wider than a register. */
#if KS_VECTOR_BYTES >= 32
#  define KS_APART(v) __asm__("" : "+x"(v))
#else
#  define KS_APART(v) __asm__("" : "+m"(v))
#endif

/** Return the number of rows of the smallest padded matrix that holds n. */
KS_HD int KS_T(ks_padded)(int n)
{
    const int unit = KS_LANES > 4 ? KS_LANES : 4;
    return (n + unit - 1) / unit * unit;
}

/* Whether ks_tile() has a pointer to every third row of A, to which addresses add ai once or twice. Left alone, compilers
 * keep a pointer for each of eight rows, most of them on the stack, and load it for each product. */
#define KS_BY_THREES(ai) (KS_VECTOR_BYTES > 32 && !__builtin_constant_p(ai))

/** `rows` rows by `vectors` vectors of C = C0 + sign A B; these three are literals. sign 0: C = A B. A's entry (i, l)
 *  is A[i * ai + l * al]. C may be C0. Prefetches lines of the queue as it goes. */
KS_HD void KS_T(ks_tile)(ks_prefetch *prefetch, int rows, int vectors, int sign, int k, const KS_NUM *A, int ai,
                         int al, const KS_NUM *B, int ldb, const KS_NUM *C0, int ldc0, KS_NUM *C, int ldc)
{
    const ks_prefetch_lines lines = ks_prefetch_take(prefetch, k);
    KS_T(ks_lanes) c[8][3];
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v)
            c[r][v] = sign ? KS_LOADV(C0 + r * ldc0 + v * KS_LANES) : (KS_T(ks_lanes)){ 0 };
    const int64_t apart = ai;
    const KS_NUM *from[3] = { A, A + (rows > 3 ? 3 : 0) * apart, A + (rows > 6 ? 6 : 0) * apart };
    for (int l = 0; l < k; ++l) {
        if (l < lines.count) __builtin_prefetch(lines.at + l * KS_LINE_BYTES);
        KS_T(ks_lanes) b[3];
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) b[v] = KS_LOADV(B + l * ldb + v * KS_LANES);
        if (KS_BY_THREES(ai)) {
            __asm__("" : "+r"(from[0]));
            if (rows > 3) __asm__("" : "+r"(from[1]));
            if (rows > 6) __asm__("" : "+r"(from[2]));
        }
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) {
            const KS_NUM a = KS_BY_THREES(ai) ? from[r / 3][r % 3 * apart] : A[r * ai + l * al];
#pragma GCC unroll 3
            for (int v = 0; v < vectors; ++v)
                c[r][v] = sign < 0 ? c[r][v] - a * b[v] : c[r][v] + a * b[v];
        }
        from[0] += al;
        from[1] += al;
        from[2] += al;
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) KS_STOREV(C + r * ldc + v * KS_LANES, c[r][v]);
}

/** The end of an upper triangle: four rows by two vectors, and below them `bottom` rows (1 to 4, a literal) of the
 *  second vector only. Otherwise as ks_tile(). */
KS_HD void KS_T(ks_tile_corner)(int bottom, int sign, int k, const KS_NUM *A, int ai, int al,
                                const KS_NUM *B, int ldb, const KS_NUM *C0, int ldc0, KS_NUM *C,
                                int ldc)
{
    KS_T(ks_lanes) c[8][2];
#pragma GCC unroll 8
    for (int r = 0; r < 4 + bottom; ++r)
#pragma GCC unroll 2
        for (int v = r / 4; v < 2; ++v)
            c[r][v] = sign ? KS_LOADV(C0 + r * ldc0 + v * KS_LANES) : (KS_T(ks_lanes)){ 0 };
    for (int l = 0; l < k; ++l) {
        const KS_T(ks_lanes) b[2] = { KS_LOADV(B + l * ldb), KS_LOADV(B + l * ldb + KS_LANES) };
#pragma GCC unroll 8
        for (int r = 0; r < 4 + bottom; ++r) {
            const KS_NUM a = A[r * ai + l * al];
#pragma GCC unroll 2
            for (int v = r / 4; v < 2; ++v)
                c[r][v] = sign < 0 ? c[r][v] - a * b[v] : c[r][v] + a * b[v];
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < 4 + bottom; ++r)
#pragma GCC unroll 2
        for (int v = r / 4; v < 2; ++v) KS_STOREV(C + r * ldc + v * KS_LANES, c[r][v]);
}

/* Rows of a tile. With three vectors each, the sums and the operands just fit in the registers. */
#define KS_TILE_ROWS (KS_VECTOR_BYTES > 32 ? 8 : 4)

/** `rows` rows of C, n columns from column `from` on. n and `from` are multiples of the vector. */
KS_HD void KS_T(ks_tile_row)(ks_prefetch *prefetch, int rows, int sign, int from, int n, int k, const KS_NUM *A, int ai,
                             int al, const KS_NUM *B, int ldb, const KS_NUM *C0, int ldc0,
                             KS_NUM *C, int ldc)
{
    int j = from;
#define KS_VECTORS(vectors)                                                                 \
    KS_T(ks_tile)(prefetch, rows, vectors, sign, k, A, ai, al, B + j, ldb, C0 + j, ldc0, C + j, ldc)
    /* The last four are two and two: of three and one, the one would wait for its sums. In rows of four vectors this
     * took 1.02 to 1.05 of the time, in longer ones .95 to 1. */
    const int pairs = KS_TILE_ROWS <= 4 && n > 4 * KS_LANES;
    for (; j + 3 * KS_LANES <= n && !(pairs && j + 4 * KS_LANES == n); j += 3 * KS_LANES) KS_VECTORS(3);
    if (pairs && j + 4 * KS_LANES == n) {
        KS_VECTORS(2);
        j += 2 * KS_LANES;
    }
    if (j + 2 * KS_LANES <= n) KS_VECTORS(2);
    else if (j + KS_LANES <= n) KS_VECTORS(1);
#undef KS_VECTORS
}

/** C (m, n) = C0 + sign A B with B (k, n); n is a multiple of the vector. upper: vectors of C entirely below its
 *  diagonal are left alone. `upper`, `sign` and sizes that are to be unrolled are literals. */
KS_HD void KS_T(ks_tiles_in_place)(ks_prefetch *prefetch, int upper, int sign, int m, int k, int n, const KS_NUM *A,
                                   int ai, int al, const KS_NUM *B, int ldb, const KS_NUM *C0,
                                   int ldc0, KS_NUM *C, int ldc)
{
    /* One or two vectors to a row: take enough rows for independent sums to hide the latency. */
    if (__builtin_constant_p(m) && m <= 8 && n == KS_LANES) {
        KS_T(ks_tile)(NULL, m, 1, sign, k, A, ai, al, B, ldb, C0, ldc0, C, ldc);
        return;
    }
    if (m == 6 && n == 2 * KS_LANES && !upper) {
        KS_T(ks_tile)(NULL, 6, 2, sign, k, A, ai, al, B, ldb, C0, ldc0, C, ldc);
        return;
    }
    if (m == 6 && n == 3 * KS_LANES && !upper) {
        KS_T(ks_tile)(NULL, 3, 3, sign, k, A, ai, al, B, ldb, C0, ldc0, C, ldc);
        KS_T(ks_tile)(NULL, 3, 3, sign, k, A + 3 * ai, ai, al, B, ldb, C0 + 3 * ldc0, ldc0, C + 3 * ldc, ldc);
        return;
    }
    int i = 0;
#define KS_ROWS_OF(rows)                                                                    \
    KS_T(ks_tile_row)(prefetch, rows, sign, upper ? i / KS_LANES * KS_LANES : 0, n, k, A + i * ai, ai, al, B, \
                      ldb, C0 + i * ldc0, ldc0, C + i * ldc, ldc)
    if (KS_TILE_ROWS > 4) {
        for (; i + 8 <= m; i += 8) KS_ROWS_OF(8);
        /* One tile, not two: with fewer sums each waits for its own. */
        switch (m % 8) {
        case 7: KS_ROWS_OF(7); return;
        case 6: KS_ROWS_OF(6); return;
        case 5: KS_ROWS_OF(5); return;
        default: break;
        }
    }
    for (; i + 4 <= m; i += 4) {
        if (upper && KS_LANES == 4 && n - i == 2 * KS_LANES && m - i > 4) {
#define KS_CORNER(bottom)                                                                   \
    KS_T(ks_tile_corner)(bottom, sign, k, A + i * ai, ai, al, B + i, ldb, C0 + i * ldc0 + i, ldc0,   \
                         C + i * ldc + i, ldc)
            switch (m - i) {
            case 5: KS_CORNER(1); break;
            case 6: KS_CORNER(2); break;
            case 7: KS_CORNER(3); break;
            default: KS_CORNER(4); break;
            }
#undef KS_CORNER
            return;
        }
        KS_ROWS_OF(4);
    }
    /* Not m - i: of a literal m, compilers see at once which copy there is. */
    switch (m % 4) {
    case 3: KS_ROWS_OF(3); break;
    case 2: KS_ROWS_OF(2); break;
    case 1: KS_ROWS_OF(1); break;
    default: break;
    }
#undef KS_ROWS_OF
}

/* In functions of their own: for sizes known at run time, and for twelve columns, whose tiles leave no register for
 * values of the caller. */
#define KS_SHARED_TILES(name, upper, sign)                                                  \
    KS_HD_COLD void KS_T(name)(ks_prefetch *prefetch, int m, int k, int n, const KS_NUM *A, int ai, int al, \
                               const KS_NUM *B, int ldb, const KS_NUM *C0, int ldc0, KS_NUM *C, \
                               int ldc)                                                     \
    {                                                                                       \
        if (prefetch)                                                                         \
            KS_T(ks_tiles_in_place)(prefetch, upper, sign, m, k, n, A, ai, al, B, ldb, C0, ldc0, C, ldc); \
        else                                                                                \
            KS_T(ks_tiles_in_place)(NULL, upper, sign, m, k, n, A, ai, al, B, ldb, C0, ldc0, C, ldc); \
    }                                                                                       \
    KS_HD_COLD void KS_T(name##_12)(int m, int k, const KS_NUM *A, int ai, int al,          \
                                    const KS_NUM *B, int ldb, const KS_NUM *C0, int ldc0,   \
                                    KS_NUM *C, int ldc)                                     \
    {                                                                                       \
        KS_T(ks_tiles_in_place)(NULL, upper, sign, m, k, 12, A, ai, al, B, ldb, C0, ldc0, C, ldc); \
    }
KS_SHARED_TILES(ks_tiles_product, 0, 0)
KS_SHARED_TILES(ks_tiles_minus, 0, -1)
KS_SHARED_TILES(ks_tiles_upper_plus, 1, 1)
KS_SHARED_TILES(ks_tiles_upper_minus, 1, -1)
#undef KS_SHARED_TILES

/** As ks_tiles_in_place(): inlined if m and n are literals, else by one shared copy, which prefetches lines of the
 *  queue as it goes. */
KS_HD void KS_T(ks_tiles_meanwhile)(ks_prefetch *prefetch, int upper, int sign, int m, int k, int n, const KS_NUM *A,
                                    int ai, int al, const KS_NUM *B, int ldb, const KS_NUM *C0, int ldc0,
                                    KS_NUM *C, int ldc)
{
    const int twelve = KS_LANES == 4 && __builtin_constant_p(n) && n == 12 && m >= 6;
    if (!twelve && __builtin_constant_p(m) && __builtin_constant_p(n)) {
        KS_T(ks_tiles_in_place)(NULL, upper, sign, m, k, n, A, ai, al, B, ldb, C0, ldc0, C, ldc);
        return;
    }
#define KS_SHARED_TILES(name)                                                               \
    do {                                                                                    \
        if (twelve) KS_T(name##_12)(m, k, A, ai, al, B, ldb, C0, ldc0, C, ldc);             \
        else KS_T(name)(prefetch, m, k, n, A, ai, al, B, ldb, C0, ldc0, C, ldc);              \
    } while (0)
    if (sign == 0) KS_SHARED_TILES(ks_tiles_product);
    else if (sign > 0) KS_SHARED_TILES(ks_tiles_upper_plus);
    else if (upper) KS_SHARED_TILES(ks_tiles_upper_minus);
    else KS_SHARED_TILES(ks_tiles_minus);
#undef KS_SHARED_TILES
}

KS_HD void KS_T(ks_tiles)(int upper, int sign, int m, int k, int n, const KS_NUM *A, int ai, int al,
                          const KS_NUM *B, int ldb, const KS_NUM *C0, int ldc0, KS_NUM *C, int ldc)
{
    KS_T(ks_tiles_meanwhile)(NULL, upper, sign, m, k, n, A, ai, al, B, ldb, C0, ldc0, C, ldc);
}

/** `vectors` vectors of y = y0 + sign Aᵀ x; these two are literals. Rows of A are lda apart. y0 NULL: zeros. */
KS_HD void KS_T(ks_combine_vectors)(int vectors, int sign, int k, int lda, const KS_NUM *A,
                                    const KS_NUM *x, const KS_NUM *y0, KS_NUM *y)
{
    KS_T(ks_lanes) even[3], odd[3];
#define KS_MORE(sum, l)                                                                     \
    _Pragma("GCC unroll 3")                                                                 \
    for (int v = 0; v < vectors; ++v) {                                                     \
        const KS_T(ks_lanes) a = KS_LOADV(A + (l) * lda + v * KS_LANES);                    \
        sum[v] = sign < 0 ? sum[v] - x[l] * a : sum[v] + x[l] * a;                          \
    }
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) {
        even[v] = y0 ? KS_LOADV(y0 + v * KS_LANES) : (KS_T(ks_lanes)){ 0 };
        odd[v] = (KS_T(ks_lanes)){ 0 };
    }
    int l = 0;
    for (; l + 2 <= k; l += 2) {
        KS_MORE(even, l)
        KS_MORE(odd, l + 1)
    }
    if (l < k) {
        KS_MORE(even, l)
    }
#undef KS_MORE
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) KS_STOREV(y + v * KS_LANES, even[v] + odd[v]);
}

/** y (n) = y0 + sign Aᵀ x with padded A (k, n), three vectors at a time to hide the latency of the sums. sign is a
 *  literal, 1 or -1. y0 NULL: zeros. y may be y0. */
KS_HD void KS_T(ks_combine_rows)(int sign, int k, int n, const KS_NUM *A, const KS_NUM *x,
                                 const KS_NUM *y0, KS_NUM *y)
{
    int c = 0;
#define KS_VECTORS(vectors)                                                                 \
    KS_T(ks_combine_vectors)(vectors, sign, k, n, A + c, x, y0 ? y0 + c : (const KS_NUM *)0, y + c)
    for (; c + 3 * KS_LANES <= n; c += 3 * KS_LANES) KS_VECTORS(3);
    if (c + 2 * KS_LANES <= n) KS_VECTORS(2);
    else if (c < n) KS_VECTORS(1);
#undef KS_VECTORS
}

/** Copy the strict upper triangle of t (4, 4) to the lower one: t is then symmetric to the bit. */
#define KS_MIRROR4(t)                                                                       \
    do {                                                                                    \
        KS_T(ks_quad) m_[4] = { t[0], t[1], t[2], t[3] };                                   \
        KS_TRANSPOSE4(m_);                                                                  \
        t[1] = KS_MIX(t[1], m_[1], 4, 1, 2, 3);                                             \
        t[2] = KS_MIX(t[2], m_[2], 4, 5, 2, 3);                                             \
        t[3] = KS_MIX(t[3], m_[3], 4, 5, 6, 3);                                             \
    } while (0)

/** Copy the strict upper triangle of the padded A (n, n) to the lower one. A is then symmetric to the bit or, if
 *  `exactly` is 0, up to rounding within the 4 x 4 blocks on the diagonal. A has ld rows and columns, a multiple of
 *  four. */
KS_HD void KS_T(ks_mirror_upper)(int n, int exactly, KS_NUM *A, int ld)
{
    for (int i = 0; i < n; i += 4) {
        KS_T(ks_quad) t[4];
        if (exactly) {
#pragma GCC unroll 4
            for (int a = 0; a < 4; ++a) t[a] = KS_LOAD4(A + (i + a) * ld + i);
            KS_MIRROR4(t);
#pragma GCC unroll 4
            for (int a = 1; a < 4; ++a) KS_STORE4(A + (i + a) * ld + i, t[a]);
        }
        for (int j = i + 4; j < n; j += 4) {
#pragma GCC unroll 4
            for (int a = 0; a < 4; ++a) t[a] = KS_LOAD4(A + (i + a) * ld + j);
            KS_TRANSPOSE4(t);
#pragma GCC unroll 4
            for (int a = 0; a < 4; ++a) KS_STORE4(A + (j + a) * ld + i, t[a]);
        }
    }
}

/** Return the first column of row i that is stored of an upper triangle in whole vectors. */
KS_HD int KS_T(ks_upper_from)(int i) { return i / KS_LANES * KS_LANES; }

/** Padded B <- A (m, n), with rows lda and ldb apart. Reads nothing beyond the last row of A. */
KS_HD void KS_T(ks_pad)(int m, int n, const KS_NUM *A, int lda, KS_NUM *B, int ldb)
{
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) B[i * ldb + j] = A[i * lda + j];
}
