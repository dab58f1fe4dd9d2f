/* reflect_text.h -- reflections of the rows of a matrix, for array_text.h, which includes it for
 * its own number and for the wider one of its sums: KS_REFLECTED is the number, KS_R(name) a name
 * with its suffix, KS_REFLECTED_SQRT its root. */

/** Reflect row `row` of M (rows, columns) onto its entry `p`, for all rows from `row` on; entries
 *  right of p in that row become exactly zero. M[row, p] ends non-negative. V holds columns
 *  numbers. Returns the column that has changed places with p: the one with the largest entry, so
 * that columns of different sizes keep their digits (Powell & Reid, "On applying Householder
 * transformations to linear least squares problems", 1969). */
KS_HD int KS_R(ks_reflect_row)(int rows, int columns, int row, int p, KS_REFLECTED *M,
                               KS_REFLECTED *V)
{
    KS_REFLECTED *m = M + (int64_t)row * columns;
    KS_REFLECTED scale = (KS_REFLECTED)0, sum = (KS_REFLECTED)0;
    int most = p;
    for (int c = p; c < columns; ++c) {
        const KS_REFLECTED a = KS_GT(m[c], (KS_REFLECTED)0) ? m[c] : -m[c];
        if (!KS_GT(a, scale)) continue;
        scale = a;
        most = c;
    }
    if (!KS_GT(scale, (KS_REFLECTED)0)) return p;
    for (int r = row; most != p && r < rows; ++r) {
        KS_REFLECTED *x = M + (int64_t)r * columns;
        const KS_REFLECTED larger = x[most];
        x[most] = x[p];
        x[p] = larger;
    }
    for (int c = p; c < columns; ++c) {
        V[c] = m[c] / scale;
        sum = sum + V[c] * V[c];
    }
    const KS_REFLECTED norm = KS_REFLECTED_SQRT(sum);
    /* v = x + sign(x_p) |x| e_p has no cancellation; the row ends at -sign(x_p) |x|. */
    const int negative = KS_GT((KS_REFLECTED)0, V[p]);
    V[p] = negative ? V[p] - norm : V[p] + norm;
    const KS_REFLECTED beta = (KS_REFLECTED)1 / (norm * (negative ? -V[p] : V[p]));
    for (int r = row + 1; r < rows; ++r) {
        KS_REFLECTED *x = M + (int64_t)r * columns;
        KS_REFLECTED dot = (KS_REFLECTED)0;
        for (int c = p; c < columns; ++c) dot = dot + x[c] * V[c];
        dot = dot * beta;
        for (int c = p; c < columns; ++c) x[c] = x[c] - dot * V[c];
        if (!negative) x[p] = -x[p];
    }
    m[p] = norm * scale;
    for (int c = p + 1; c < columns; ++c) m[c] = (KS_REFLECTED)0;
    return most;
}

/** The first rows of M (rows, columns) <- [L 0], L lower triangular with a non-negative diagonal;
 * the others are reflected with them. V: columns. */
KS_HD_COLD void KS_R(ks_lq_first)(int first, int rows, int columns, KS_REFLECTED *M,
                                  KS_REFLECTED *V)
{
    for (int r = 0; r < first && r < columns; ++r)
        (void)KS_R(ks_reflect_row)(rows, columns, r, r, M, V);
}

/** The same of all rows. */
KS_HD void KS_R(ks_lq)(int rows, int columns, KS_REFLECTED *M, KS_REFLECTED *V)
{
    KS_R(ks_lq_first)(rows, rows, columns, M, V);
}
