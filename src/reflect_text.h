/* reflect_text.h -- reflections of the rows of a matrix, for array_text.h, which includes it for
 * its own number and for the wider one of its sums: KS_REFLECTED is the number, KS_R(name) a name
 * with its suffix, KS_REFLECTED_SQRT its root. M (rows, columns) is stored as lq_rows.h says: entry
 * (r, c) at c * ks_lq_apart(rows) + r, zero in the rows behind. */

/* As many rows as a vector register holds. */
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

/** Reflect KS_LQ_ROWS rows of columns p .. columns - 1, of which the first stands at x, by V and beta. */
KS_HD void KS_R(ks_reflect_some)(int columns, int p, int apart, int negative, const KS_REFLECTED *V,
                                 KS_REFLECTED beta, KS_REFLECTED *x)
{
    enum { KS_R(vectors) = KS_LQ_ROWS * sizeof(KS_REFLECTED) / sizeof(KS_R(ks_rows)) };
    const int step = KS_LQ_ROWS / KS_R(vectors);
    KS_R(ks_rows) dot[KS_R(vectors)];
    KS_REFLECTED *at = x;
    for (int v = 0; v < KS_R(vectors); ++v) dot[v] = *(KS_R(ks_rows_at) *)(void *)(at + v * step) * V[p];
    for (int c = p + 1; c < columns; ++c) {
        at += apart;
        for (int v = 0; v < KS_R(vectors); ++v)
            dot[v] = dot[v] + *(KS_R(ks_rows_at) *)(void *)(at + v * step) * V[c];
    }
    for (int v = 0; v < KS_R(vectors); ++v) dot[v] = dot[v] * beta;
    at = x;
    for (int c = p; c < columns; ++c) {
        for (int v = 0; v < KS_R(vectors); ++v) {
            KS_R(ks_rows_at) *const entry = (KS_R(ks_rows_at) *)(void *)(at + v * step);
            *entry = *entry - dot[v] * V[c];
        }
        at += apart;
    }
    for (int v = 0; v < KS_R(vectors) && !negative; ++v) {
        KS_R(ks_rows_at) *const entry = (KS_R(ks_rows_at) *)(void *)(x + v * step);
        *entry = -*entry;
    }
}

/** M (rows, columns) <- 0. */
KS_HD void KS_R(ks_lq_clear)(int rows, int columns, KS_REFLECTED *M)
{
    for (int i = 0; i < columns * ks_lq_apart(rows); ++i) M[i] = (KS_REFLECTED)0;
}

/** Reflect row p of M (rows, columns) onto its entry p, for all rows from p on; entries right of p in
 *  that row become exactly zero, as they are in the rows before. M[p, p] ends non-negative. V
 *  (columns) is the reflection's vector from p on. Returns the column that has changed places with p:
 *  the one with the largest entry, so that columns of different sizes keep their digits (Powell & Reid,
 *  "On applying Householder transformations to linear least squares problems", 1969). */
KS_HD int KS_R(ks_reflect_row)(int rows, int columns, int p, KS_REFLECTED *M, KS_REFLECTED *V)
{
    const int apart = ks_lq_apart(rows);
    KS_REFLECTED scale = (KS_REFLECTED)0, sum = (KS_REFLECTED)0;
    int most = p;
    for (int c = p; c < columns; ++c) {
        V[c] = M[c * apart + p];
        const KS_REFLECTED a = KS_GT(V[c], (KS_REFLECTED)0) ? V[c] : -V[c];
        const int larger = KS_GT(a, scale);
        scale = larger ? a : scale;
        most = larger ? c : most;
    }
    if (!KS_GT(scale, (KS_REFLECTED)0)) return p;
    if (most != p) {
        const KS_REFLECTED largest = V[most];
        V[most] = V[p];
        V[p] = largest;
        for (int r = p / KS_LQ_ROWS * KS_LQ_ROWS; r < apart; ++r) {
            const KS_REFLECTED x = M[most * apart + r];
            M[most * apart + r] = M[p * apart + r];
            M[p * apart + r] = x;
        }
    }
    for (int c = p; c < columns; ++c) V[c] = V[c] / scale;
    for (int c = p; c < columns; ++c) sum = sum + V[c] * V[c];
    const KS_REFLECTED norm = KS_REFLECTED_SQRT(sum);
    /* v = x + sign(x_p) |x| e_p has no cancellation; the row ends at -sign(x_p) |x|. */
    const int negative = KS_GT((KS_REFLECTED)0, V[p]);
    V[p] = negative ? V[p] - norm : V[p] + norm;
    const KS_REFLECTED beta = (KS_REFLECTED)1 / (norm * (negative ? -V[p] : V[p]));
    /* Of the rows before that share a vector with row p + 1 all is zero here, and stays so. */
    for (int r = (p + 1) / KS_LQ_ROWS * KS_LQ_ROWS; r < rows; r += KS_LQ_ROWS)
        KS_R(ks_reflect_some)(columns, p, apart, negative, V, beta, M + p * apart + r);
    M[p * apart + p] = norm * scale;
    for (int c = p + 1; c < columns; ++c) M[c * apart + p] = (KS_REFLECTED)0;
    return most;
}

/** The first rows of M (rows, columns) <- [L 0], L lower triangular with a non-negative diagonal;
 * the others are reflected with them. V: columns. */
KS_HD_COLD void KS_R(ks_lq_first)(int first, int rows, int columns, KS_REFLECTED *M,
                                  KS_REFLECTED *V)
{
    for (int r = 0; r < first && r < columns; ++r)
        (void)KS_R(ks_reflect_row)(rows, columns, r, M, V);
}

/** The same of all rows. */
KS_HD void KS_R(ks_lq)(int rows, int columns, KS_REFLECTED *M, KS_REFLECTED *V)
{
    KS_R(ks_lq_first)(rows, rows, columns, M, V);
}
