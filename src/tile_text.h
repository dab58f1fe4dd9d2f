/* tile_text.h -- products of matrices whose rows are padded to whole vectors, tile by tile, and
 * their transposes; see num_f64.h. For plain C on the CPU.
 *
 * A tile of C stays in registers while k runs. Vectors are GCC's, so the same text serves every
 * instruction set. Rows of B and C are padded: their leading dimension is a multiple of the vector
 * and what stands between a row's end and it may be read and written, but means nothing. Stands on gemm_text.h. */

#include "prefetch.h"
#include "stream.h"

typedef KS_NUM KS_T(ks_lanes) __attribute__((vector_size(KS_VECTOR_BYTES)));
typedef KS_NUM KS_T(ks_lanes_at) __attribute__((vector_size(KS_VECTOR_BYTES),
                                                 aligned(sizeof(KS_NUM)), may_alias));
#define KS_LANES ((int)(KS_VECTOR_BYTES / sizeof(KS_NUM)))
#define KS_LOADV(p) ((KS_T(ks_lanes)) * (const KS_T(ks_lanes_at) *)(const void *)(p))
#define KS_STOREV(p, v) (*(KS_T(ks_lanes_at) *)(void *)(p) = (KS_T(ks_lanes_at))(v))

/** a - x y in a vector: fused where the products of vectors are. Sums of plain numbers a compiler may cut
 *  into vectors of products that it rounds, in one place and not in another. */
typedef KS_NUM KS_T(ks_least) __attribute__((vector_size(16)));
KS_HD KS_NUM KS_T(ks_less)(KS_NUM a, KS_NUM x, KS_NUM y)
{
    const KS_T(ks_least) less = (KS_T(ks_least)){ a } - (KS_T(ks_least)){ x } * (KS_T(ks_least)){ y };
    return less[0];
}

/* What is rounded here is not fused into what is added to it; see ks_add_rounded(). No wider than a vector, or in memory. */
#if KS_VECTOR_BYTES >= 32
#  define KS_APART(v) __asm__("" : "+x"(v))
#else
#  define KS_APART(v) __asm__("" : "+m"(v))
#endif

/** Rows of the smallest padded matrix that holds n. */
KS_HD int KS_T(ks_padded)(int n)
{
    const int unit = KS_LANES > 4 ? KS_LANES : 4;
    return (n + unit - 1) / unit * unit;
}

/** `rows` rows by `vectors` vectors of C = C0 + sign A B, all three literals; sign 0: C = A B. A's
 *  entry (i, l) stands at i * ai + l * al. C may be C0. Meanwhile lines of the queue are prefetched. */
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
    for (int l = 0; l < k; ++l) {
        if (l < lines.count) __builtin_prefetch(lines.at + l * KS_LINE_BYTES);
        KS_T(ks_lanes) b[3];
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) b[v] = KS_LOADV(B + l * ldb + v * KS_LANES);
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) {
            const KS_NUM a = A[r * ai + l * al];
#pragma GCC unroll 3
            for (int v = 0; v < vectors; ++v)
                c[r][v] = sign < 0 ? c[r][v] - a * b[v] : c[r][v] + a * b[v];
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) KS_STOREV(C + r * ldc + v * KS_LANES, c[r][v]);
}

/** Four rows by two vectors and `bottom` rows (1 to 4) below them of the second vector alone, literals: the
 *  end of an upper triangle. Else as ks_tile(). */
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

/** `rows` rows of C, n columns from column `from` on, both multiples of the vector. */
KS_HD void KS_T(ks_tile_row)(ks_prefetch *prefetch, int rows, int sign, int from, int n, int k, const KS_NUM *A, int ai,
                             int al, const KS_NUM *B, int ldb, const KS_NUM *C0, int ldc0,
                             KS_NUM *C, int ldc)
{
    int j = from;
    for (; j + 3 * KS_LANES <= n; j += 3 * KS_LANES)
        KS_T(ks_tile)(prefetch, rows, 3, sign, k, A, ai, al, B + j, ldb, C0 + j, ldc0, C + j, ldc);
    if (j + 2 * KS_LANES <= n)
        KS_T(ks_tile)(prefetch, rows, 2, sign, k, A, ai, al, B + j, ldb, C0 + j, ldc0, C + j, ldc);
    else if (j + KS_LANES <= n)
        KS_T(ks_tile)(prefetch, rows, 1, sign, k, A, ai, al, B + j, ldb, C0 + j, ldc0, C + j, ldc);
}

/* Rows of a tile: three vectors of each are as many sums as the registers hold beside the operands. */
#define KS_TILE_ROWS (KS_VECTOR_BYTES > 32 ? 8 : 4)

/** C (m, n) = C0 + sign A B with B (k, n); n is a multiple of the vector. upper: vectors of C that
 *  lie below its diagonal are left alone. Literal: upper, sign, and what else is to be unrolled. */
KS_HD void KS_T(ks_tiles_in_place)(ks_prefetch *prefetch, int upper, int sign, int m, int k, int n, const KS_NUM *A,
                                   int ai, int al, const KS_NUM *B, int ldb, const KS_NUM *C0,
                                   int ldc0, KS_NUM *C, int ldc)
{
    /* One vector or two to a row: enough sums must run side by side to hide their latency. */
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
    if (KS_TILE_ROWS > 4)
        for (; i + 8 <= m; i += 8) KS_ROWS_OF(8);
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
    switch (m - i) {
    case 3: KS_ROWS_OF(3); break;
    case 2: KS_ROWS_OF(2); break;
    case 1: KS_ROWS_OF(1); break;
    default: break;
    }
#undef KS_ROWS_OF
}

/* In functions of their own: for n at run time and for twelve, whose tiles fill the registers, so that
 * nothing else may want any. */
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

/** The same, in place where m and n are literals and in one shared copy where not; that one prefetches
 *  lines of the queue meanwhile. */
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

/** `vectors` of y = y0 + sign Aᵀ x, both literals, with rows of A lda apart; y0 NULL: zeros. */
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

/** y (n) = y0 + sign Aᵀ x with padded A (k, n), three vectors at a time: the sums of one alone would be waited
 *  for. sign is 1 or -1, a literal; y0 NULL: zeros; y may be y0. */
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

/** Symmetric to the bit: the strict lower triangle of t (4, 4) <- its upper. */
#define KS_MIRROR4(t)                                                                       \
    do {                                                                                    \
        KS_T(ks_quad) m_[4] = { t[0], t[1], t[2], t[3] };                                   \
        KS_TRANSPOSE4(m_);                                                                  \
        t[1] = KS_MIX(t[1], m_[1], 4, 1, 2, 3);                                             \
        t[2] = KS_MIX(t[2], m_[2], 4, 5, 2, 3);                                             \
        t[3] = KS_MIX(t[3], m_[3], 4, 5, 6, 3);                                             \
    } while (0)

/** The strict lower triangle of the padded A (n, n) <- its upper: symmetric to the bit, or, where
 *  `exactly` is 0, up to the rounding within 4 x 4 blocks on the diagonal. A has ld rows and columns,
 *  a multiple of four. */
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

/** The column from which on row i of an upper triangle stands in whole vectors. */
KS_HD int KS_T(ks_upper_from)(int i) { return i / KS_LANES * KS_LANES; }

/** Padded B <- A (m, n), rows lda and ldb apart; nothing behind the last row of A is read. */
KS_HD void KS_T(ks_pad)(int m, int n, const KS_NUM *A, int lda, KS_NUM *B, int ldb)
{
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) B[i * ldb + j] = A[i * lda + j];
}
