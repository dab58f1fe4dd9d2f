/* reflect_text.h -- Householder reflections of the rows of a matrix. array_text.h includes it twice: for its own number
 * and for the wider one of its sums.
 *
 * KS_REFLECTED is the number, KS_R(name) adds the number's suffix to a name, KS_REFLECTED_SQRT is the square root. M
 * (rows, columns) is stored as lq_rows.h says: entry (r, c) at c * ks_lq_apart(rows) + r, with zeros below the last
 * row. */

/* A vector of rows: as many as a register holds, KS_LQ_ROWS at most. */
#ifdef __cplusplus
typedef KS_REFLECTED KS_R(ks_rows), KS_R(ks_rows_at);
#else
#    define KS_ROWS_BYTES                                                                          \
        (KS_LQ_ROWS * sizeof(KS_REFLECTED) < KS_VECTOR_BYTES ? KS_LQ_ROWS * sizeof(KS_REFLECTED)   \
                                                             : KS_VECTOR_BYTES)
typedef KS_REFLECTED KS_R(ks_rows) __attribute__((vector_size(KS_ROWS_BYTES)));
typedef KS_REFLECTED KS_R(ks_rows_at)
    __attribute__((vector_size(KS_ROWS_BYTES), aligned(sizeof(KS_REFLECTED)), may_alias));
#    undef KS_ROWS_BYTES
#endif

/* A stored reflection has columns + 2 numbers: the Householder vector, whose entries from p on belong to row p; the
 * factor beta, which is 0 for no reflection; and the column that is exchanged with column p first. */

/** Reflect KS_LQ_ROWS rows in columns p .. columns - 1 by V and beta, then multiply column p by `sign`. x points to
 *  column p of the first of these rows. */
KS_HD void KS_R(ks_reflect_some)(int columns, int p, int apart, const KS_REFLECTED *V, KS_REFLECTED beta,
                                 KS_REFLECTED sign, KS_REFLECTED *x)
{
    enum { KS_R(vectors) = KS_LQ_ROWS * sizeof(KS_REFLECTED) / sizeof(KS_R(ks_rows)) };
    const int step = KS_LQ_ROWS / KS_R(vectors);
    KS_R(ks_rows) dot[KS_R(vectors)], odd[KS_R(vectors)]; /* two independent sums, to hide latency */
    KS_REFLECTED *at = x;
    for (int v = 0; v < KS_R(vectors); ++v) {
        dot[v] = *(KS_R(ks_rows_at) *)(void *)(at + v * step) * V[p];
        odd[v] = dot[v] - dot[v];
    }
    int c = p + 1;
    for (; c + 2 <= columns; c += 2) {
        KS_REFLECTED *const next = at + apart;
        at = next + apart;
        for (int v = 0; v < KS_R(vectors); ++v) {
            odd[v] = odd[v] + *(KS_R(ks_rows_at) *)(void *)(next + v * step) * V[c];
            dot[v] = dot[v] + *(KS_R(ks_rows_at) *)(void *)(at + v * step) * V[c + 1];
        }
    }
    for (int v = 0; v < KS_R(vectors) && c < columns; ++v)
        odd[v] = odd[v] + *(KS_R(ks_rows_at) *)(void *)(at + apart + v * step) * V[c];
    for (int v = 0; v < KS_R(vectors); ++v) {
        KS_R(ks_rows_at) *const entry = (KS_R(ks_rows_at) *)(void *)(x + v * step);
        dot[v] = (dot[v] + odd[v]) * beta;
        *entry = (*entry - dot[v] * V[p]) * sign;
    }
    at = x;
    for (c = p + 1; c < columns; ++c) {
        at += apart;
        for (int v = 0; v < KS_R(vectors); ++v) {
            KS_R(ks_rows_at) *const entry = (KS_R(ks_rows_at) *)(void *)(at + v * step);
            *entry = *entry - dot[v] * V[c];
        }
    }
}

/** M (rows, columns) <- 0. */
KS_HD void KS_R(ks_lq_clear)(int rows, int columns, KS_REFLECTED *M)
{
    for (int i = 0; i < columns * ks_lq_apart(rows); ++i) M[i] = (KS_REFLECTED)0;
}

/** Change the sign of column p of M in rows `from` and below. */
KS_HD void KS_R(ks_reflect_sign)(int from, int apart, int p, KS_REFLECTED *M)
{
    for (int r = from; r < apart; ++r) M[p * apart + r] = -M[p * apart + r];
}

/** Exchange columns p and `other` of M in rows `from` and below. */
KS_HD void KS_R(ks_reflect_exchange)(int from, int apart, int p, int other, KS_REFLECTED *M)
{
    for (int r = from; r < apart && p != other; ++r) {
        const KS_REFLECTED x = M[other * apart + r];
        M[other * apart + r] = M[p * apart + r];
        M[p * apart + r] = x;
    }
}

/** Return the sum of the squares of V[p] .. V[columns - 1]. */
KS_HD KS_REFLECTED KS_R(ks_reflect_square)(int p, int columns, const KS_REFLECTED *V)
{
    KS_REFLECTED sum[4];
    for (int i = 0; i < 4; ++i) sum[i] = (KS_REFLECTED)0;
    for (; p + 4 <= columns; p += 4)
        for (int i = 0; i < 4; ++i) sum[i] = sum[i] + V[p + i] * V[p + i];
    for (; p < columns; ++p) sum[0] = sum[0] + V[p] * V[p];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/** Reflect row p of M (rows, columns) onto its entry p, and apply the reflection to all rows from p on. The entries to
 *  the right of p in row p become exactly zero; in earlier rows they are zero already. M[p, p] becomes non-negative. V
 *  (columns + 2) receives the reflection.
 *
 *  Column p is first exchanged with the column that has the largest entry in row p, so that columns of different sizes
 *  keep their digits (Powell & Reid, "On applying Householder transformations to linear least squares problems",
 *  1969). */
KS_HD void KS_R(ks_reflect_row)(int rows, int columns, int p, KS_REFLECTED *M, KS_REFLECTED *V)
{
    const int apart = ks_lq_apart(rows);
    KS_REFLECTED scale = (KS_REFLECTED)0;
    int most = p;
    for (int c = p; c < columns; ++c) {
        V[c] = M[c * apart + p];
        const KS_REFLECTED a = KS_GT(V[c], (KS_REFLECTED)0) ? V[c] : -V[c];
        const int larger = KS_GT(a, scale);
        scale = larger ? a : scale;
        most = larger ? c : most;
    }
    V[columns] = (KS_REFLECTED)0;
    V[columns + 1] = (KS_REFLECTED)most;
    if (!KS_GT(scale, (KS_REFLECTED)0)) return;
    /* Whole groups of KS_LQ_ROWS rows are processed. Rows before p in the first group are zero in these columns and
     * stay so. */
    const int from = p / KS_LQ_ROWS * KS_LQ_ROWS;
    const KS_REFLECTED largest = V[most];
    V[most] = V[p];
    V[p] = largest;
    KS_R(ks_reflect_exchange)(from, apart, p, most, M);
    for (int c = p; c < columns; ++c) V[c] = V[c] / scale;
    const KS_REFLECTED norm = KS_REFLECTED_SQRT(KS_R(ks_reflect_square)(p, columns, V));
    /* v = x + sign(x_p) |x| e_p has no cancellation; the row ends at -sign(x_p) |x|. */
    const int negative = KS_GT((KS_REFLECTED)0, V[p]);
    const KS_REFLECTED same = negative ? -norm : norm, sign = negative ? (KS_REFLECTED)1 : (KS_REFLECTED)-1;
    V[p] = V[p] + same;
    const KS_REFLECTED beta = (KS_REFLECTED)1 / (same * V[p]);
    V[columns] = beta;
    for (int r = (p + 1) / KS_LQ_ROWS * KS_LQ_ROWS; r < rows; r += KS_LQ_ROWS)
        KS_R(ks_reflect_some)(columns, p, apart, V, beta, sign, M + p * apart + r);
    M[p * apart + p] = norm * scale;
    for (int c = p + 1; c < columns; ++c) M[c * apart + p] = (KS_REFLECTED)0;
}

/** Reduce the first `first` rows of M (rows, columns) to [L 0], L lower triangular with a non-negative diagonal, and
 *  reflect the other rows with them. Returns the number of reflections.
 *
 *  V: columns + 2 numbers, or that many for each reflection if they are to be `kept`. ends: for each of the first rows,
 *  how many leading columns may have entries there, no fewer than in the row before; the reflection of a row leaves
 *  other columns alone. NULL: all columns. */
KS_HD_SAME int KS_R(ks_lq_first)(int first, int rows, int columns, const KS_REFLECTED *ends, KS_REFLECTED *M,
                                 KS_REFLECTED *V, int kept)
{
    const int count = first < columns ? first : columns;
    for (int p = 0; p < count; ++p)
        KS_R(ks_reflect_row)(rows, ends ? (int)(double)ends[p] : columns, p, M, V + (kept ? p * (columns + 2) : 0));
    return count;
}

/** ks_lq_first() for all rows, without keeping the reflections. */
KS_HD void KS_R(ks_lq)(int rows, int columns, KS_REFLECTED *M, KS_REFLECTED *V)
{
    (void)KS_R(ks_lq_first)(rows, rows, columns, (const KS_REFLECTED *)0, M, V, 0);
}

/** M (rows, columns) <- M Thetaᵀ. Theta is the product of `count` reflections that ks_lq_first() kept in V, with the
 *  same `ends`. */
KS_HD_SAME void KS_R(ks_lq_back)(int count, int rows, int columns, const KS_REFLECTED *ends, const KS_REFLECTED *V,
                                 KS_REFLECTED *M)
{
    const int apart = ks_lq_apart(rows);
    for (int p = count - 1; p >= 0; --p) {
        const KS_REFLECTED *v = V + p * (columns + 2);
        const int end = (int)(double)ends[p];
        if (!KS_GT(v[end], (KS_REFLECTED)0)) continue;
        if (KS_GT(v[p], (KS_REFLECTED)0)) KS_R(ks_reflect_sign)(0, apart, p, M);
        for (int r = 0; r < rows; r += KS_LQ_ROWS)
            KS_R(ks_reflect_some)(end, p, apart, v, v[end], (KS_REFLECTED)1, M + p * apart + r);
        KS_R(ks_reflect_exchange)(0, apart, p, (int)(double)v[end + 1], M);
    }
}
