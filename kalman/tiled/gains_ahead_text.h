/* gains_ahead_text.h -- smoothing gains of four steps at once, for the steps of quad_step_text.h and row_step_text.h;
 * see num_f64.h. For plain C on the CPU.
 *
 * A gain depends only on the filter's estimates. Its pivots are a chain of reciprocals, each of which waits for the one
 * before. The chains of four steps side by side take as long as one. */

/** Gains of steps first - 3 .. first, and everything else that does not depend on the step behind. Slot i holds step
 *  first - i. */
typedef struct KS_T(ks_gains) {
    KS_NUM *P, *Pp, *ET; /* (4, n, n): filtered covariance if padded, upper triangle of the predicted one, gain */
    KS_NUM *xp;          /* (4, n)                                                           */
    KS_NUM *LT, *inverse; /* unit Lᵀ (8, 8, 4) and 1 / D (8, 4) of the predicted covariances */
    int64_t first, last; /* steps that are valid; none if last > first                       */
    int good[4];
} KS_T(ks_gains);

/** An empty ks_gains in memory of KS_GAINS_NUMBERS numbers. */
KS_HD KS_T(ks_gains) KS_T(ks_gains_in)(int n, KS_NUM *memory)
{
    KS_T(ks_gains) g = { .first = -1, .last = 0 };
    g.P = memory;
    g.Pp = g.P + 4 * n * n;
    g.ET = g.Pp + 4 * n * n;
    g.xp = g.ET + 4 * n * n;
    g.LT = g.xp + 4 * n;
    g.inverse = g.LT + 4 * 64;
    return g;
}

/** L D Lᵀ of the predicted covariances of `there` steps, as ks_pivots() does for each. nx is a literal of up to 8. */
KS_HD void KS_T(ks_gains_factor)(int nx, int n, int there, KS_T(ks_gains) *g)
{
    const KS_NUM *Pp[4];
    for (int l = 0; l < 4; ++l) Pp[l] = g->Pp + (l < there ? l : 0) * n * n;
    const KS_T(ks_quad) none = { 0 };
    KS_T(ks_quad) u[8][8], inverse[8];
    KS_T(ks_four_uppers)(nx, n, Pp, u);
    __typeof__(none > none) good = none == none;
    KS_FOUR_PIVOTS(nx, 1 / KS_GROWTH, u, inverse, good);
#pragma GCC unroll 8
    for (int r = 0; r < nx; ++r) {
        KS_STORE4(g->inverse + 4 * r, inverse[r]);
#pragma GCC unroll 8
        for (int c = r + 1; c < nx; ++c) KS_STORE4(g->LT + 4 * (8 * r + c), u[r][c] * inverse[r]);
    }
    for (int i = 0; i < there; ++i) g->good[i] = good[i] != 0;
}

/** The filtered covariance of step k - 1; its padded copy in the slot if rows are padded. */
KS_HD const KS_NUM *KS_T(ks_gains_filtered)(int nx, int n, int64_t slot, int64_t k, const ks_forward_sinks *kept,
                                            const KS_T(ks_gains) *g)
{
    return n != nx ? g->P + slot * n * n : (const KS_NUM *)ks_slot_of(kept->kept_C, k - 1);
}

/** Make the gains of step k and of up to three before it, down to k0 + 1, as long as the filter's estimates are in the
 *  ordinary form; that of step k - 1 is. Blocks of b and w that vary with the step are left at those of
 *  the last one. */
KS_HD void KS_T(ks_gains_make)(ks_shape shape, int nx, int n, const ks_series *s, int64_t k, int64_t k0,
                               const ks_forward_sinks *kept, const KS_T(ks_tiled_memory) *w, KS_T(ks_blocks) *b,
                               KS_T(ks_gains) *g)
{
    const int moves = s->F.stride || s->Q.stride || s->u.stride;
    int there = 0;
    for (; there < 4 && k - there > k0; ++there) {
        const int64_t at = k - there;
        if (kept->form[at - 1 - kept->form_first] != (unsigned char)KS_FORM_ORDINARY) break;
        const KS_NUM *x = (const KS_NUM *)ks_slot_of(kept->kept_mean, at - 1);
        const KS_NUM *P = KS_T(ks_gains_filtered)(nx, n, there, at, kept, g);
        KS_NUM *ET = g->ET + there * n * n, *Pp = g->Pp + there * n * n, *xp = g->xp + there * n;
        if (n != nx)
            KS_T(ks_rows_pad)(nx, nx, (const KS_NUM *)ks_slot_of(kept->kept_C, at - 1), g->P + there * n * n);
        if (moves) KS_T(ks_tiled_transition)(shape, nx, n, s, at, 0, w, b);
        if (shape == KS_SHAPE_QUAD) KS_T(ks_quad_gain)(b, x, P, ET, Pp, xp);
        else KS_T(ks_row_gain)(nx, b, x, P, ET, Pp, xp);
    }
    KS_T(ks_gains_factor)(nx, n, there, g);
    for (int i = 0; i < there; ++i) {
        KS_NUM *ET = g->ET + i * n * n;
        if (shape == KS_SHAPE_QUAD) KS_T(ks_quad_gain_solve)(g->LT + i, g->inverse + i, ET);
        else KS_T(ks_row_gain_solve)(nx, g->LT + i, g->inverse + i, ET);
    }
    g->first = k;
    g->last = k - there + 1;
}
