/* two_ended_roots_text.h -- roots of a Q that varies with the step, of four steps side by side: a root is a chain of
 * reciprocals, each of which waits for the one before; four chains take as long as one. See num_f64.h, four_steps_text.h
 * and two_ended_quad_text.h, two_ended_row_text.h, for whose steps they are. For plain C on the CPU. */

/** Steps whose roots are made together, and what is kept of them. */
typedef struct KS_T(ks_roots) {
    KS_NUM *G, *GT;     /* of the four, rows as those of one, matrices one after the other */
    int64_t from;       /* the lowest of the four, or so low that none is */
    int good[4];        /* whether Q was positive definite, else there is none */
} KS_T(ks_roots);

/** The roots of Q[0] .. Q[3] (nx, nx): of the way in G, of the way out Gᵀ. nx a literal of 4 to 8, rows n apart. */
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
            if (out ? b + 4 <= i : b > i) continue; /* zero, and there */
#pragma GCC unroll 4
            for (int l = 0; l < 4; ++l)
                t[l] = b + l >= nx || (out ? b + l < i : b + l > i) ? none : out ? u[i][b + l] : u[b + l][i];
            KS_T(ks_four_apart)(i * n + b, n * n, t, out ? to->GT : to->G);
        }
}

/* In functions of their own, for the sizes at run time. */
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

/** Those of step k and of the three that come next in steps first .. last, downward on the way in. */
KS_HD_COLD void KS_T(ks_next_roots)(int nx, int out, const ks_series *s, int64_t k, int64_t first, int64_t last,
                                    KS_T(ks_roots) *to)
{
    const KS_NUM *Q[4];
    to->from = out ? k : k - 3;
    for (int l = 0; l < 4; ++l) { /* what is not there is another step */
        const int64_t at = to->from + l < first ? first : to->from + l > last ? last : to->from + l;
        Q[l] = (const KS_NUM *)ks_row(s->Q, at - s->shift);
    }
#define CALL(nx) KS_T(ks_four_roots_##nx)(out, Q, to)
    if (nx == 4) CALL(4);
    else KS_ROW_SIZE(nx, CALL)
#undef CALL
}
