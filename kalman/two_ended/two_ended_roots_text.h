/* two_ended_roots_text.h -- roots of a Q that varies with the step, of four steps side by side; see num_f64.h and
 * four_steps_text.h. They are for the steps of two_ended_quad_text.h and two_ended_row_text.h. A root is a chain of
 * reciprocals, each of which waits for the one before. Four chains side by side take as long as one. For plain C on the
 * CPU. */

/** Roots of four consecutive steps, which are made together. */
typedef struct KS_T(ks_roots) {
    KS_NUM *G, *GT;     /* the four matrices one after the other; rows are as far apart as in one step */
    int64_t from;       /* the lowest of the four steps; far below 0: none are valid */
    int good[4];        /* whether Q is positive definite; else there is no root */
} KS_T(ks_roots);

/** The roots of Q[0] .. Q[3] (nx, nx): G for the way in, Gᵀ (`out`) for the way out. nx is a literal of 4 to 8, rows
 *  are n apart. */
KS_HD void KS_T(ks_four_roots)(int nx, int n, int out, const KS_NUM *const Q[4], KS_T(ks_roots) *to)
{
    KS_T(ks_quad) u[8][8], inverse[8];
    const KS_T(ks_quad) none = { 0 };
    KS_T(ks_four_uppers)(nx, nx, Q, u);
    __typeof__(u[0][0] > none) good = none == none;
    KS_FOUR_PIVOTS(nx, 2 * nx * KS_EPS, u, inverse, good);
#pragma GCC unroll 8
    for (int i = 0; i < nx; ++i) {
        KS_T(ks_quad) root;
#pragma GCC unroll 4
        for (int l = 0; l < 4; ++l) root[l] = KS_SQRT(u[i][i][l]);
        const KS_T(ks_quad) scale = root * inverse[i];
#pragma GCC unroll 8
        for (int c = i; c < nx; ++c) u[i][c] = u[i][c] * scale;
    }
#pragma GCC unroll 4
    for (int l = 0; l < 4; ++l) to->good[l] = good[l] != 0;
#pragma GCC unroll 8
    for (int i = 0; i < nx; ++i)
#pragma GCC unroll 2
        for (int b = 0; b < nx; b += 4) {
            KS_T(ks_quad) t[4];
            if (out ? b + 4 <= i : b > i) continue; /* zeros, which are there already */
#pragma GCC unroll 4
            for (int l = 0; l < 4; ++l)
                t[l] = b + l >= nx || (out ? b + l < i : b + l > i) ? none : out ? u[i][b + l] : u[b + l][i];
            KS_T(ks_four_apart)(i * n + b, n * n, t, out ? to->GT : to->G);
        }
}

/* In functions of their own, which are dispatched by size. */
#define KS_FOUR_ROOTS(nx, n)                                                                \
    KS_HD_COLD void KS_T(ks_four_roots_##nx)(int out, const KS_NUM *const Q[4], KS_T(ks_roots) *to) \
    {                                                                                       \
        if (out) KS_T(ks_four_roots)(nx, n, 1, Q, to);                                      \
        else KS_T(ks_four_roots)(nx, n, 0, Q, to);                                          \
    }
KS_FOUR_ROOTS(4, 4)
KS_FOUR_ROOTS(5, 8)
KS_FOUR_ROOTS(6, 8)
KS_FOUR_ROOTS(7, 8)
KS_FOUR_ROOTS(8, 8)
#undef KS_FOUR_ROOTS

/** Make the roots of step k and of the three steps that follow it in the order of the pass, all within
 *  first .. last. */
KS_HD_COLD void KS_T(ks_next_roots)(int nx, int out, const ks_series *s, int64_t k, int64_t first, int64_t last,
                                    KS_T(ks_roots) *to)
{
    const KS_NUM *Q[4];
    to->from = out ? k : k - 3;
    for (int l = 0; l < 4; ++l) { /* beyond the range: repeat its first or last step */
        const int64_t at = to->from + l < first ? first : to->from + l > last ? last : to->from + l;
        Q[l] = (const KS_NUM *)ks_row(s->Q, at - s->shift);
    }
#define CALL(nx) KS_T(ks_four_roots_##nx)(out, Q, to)
    if (nx == 4) CALL(4);
    else KS_ROW_SIZE(nx, CALL)
#undef CALL
}
