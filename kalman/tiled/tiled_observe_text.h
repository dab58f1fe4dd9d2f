/* tiled_observe_text.h -- what a filter step by the kernels of tiled_step_text.h observes: all entries, or those that are
 * present, and what their noise lets pass; see num_f64.h and tiled_range_text.h. For plain C on the CPU. */

/** Whether every entry of y (ny) is finite. */
KS_HD int KS_T(ks_tiled_complete)(int ny, const KS_NUM *y)
{
    KS_NUM sum = KS_LIT(0);
    for (int i = 0; i < ny; ++i) sum = sum + (y[i] - y[i]);
    return sum == KS_LIT(0);
}

/** ks_noise_limit() of the m entries of b. */
KS_HD void KS_T(ks_tiled_limit)(ks_shape shape, int m, const KS_T(ks_blocks) *b, const KS_T(ks_tiled_memory) *w,
                                KS_NUM *limit)
{
    const int mp = KS_T(ks_padded)(m);
    if (shape != KS_SHAPE_TILES || m <= 4) {
        KS_T(ks_noise_limit)(m, b->R, b->ldr, limit, w->work);
        return;
    }
    KS_NUM *LD = w->work, *LT = LD + m * mp, *pivot = LT + m * mp, *inverse_d = pivot + mp;
    KS_T(ks_copy)(m * mp, b->R, LD);
    const KS_MASK good = KS_T(ks_tiled_ldl)(NULL, m, 1 / KS_GROWTH, mp, LD, LT, 0, LD, LD, LD, pivot, inverse_d);
    KS_T(ks_limit_of_pivots)(m, b->R, mp, pivot, 1, good, limit);
}

/** The observation of step k but for y and d. fresh: blocks that do not vary are not there yet. */
KS_HD void KS_T(ks_tiled_channels)(ks_shape shape, int nx, int ny, const ks_series *s, int64_t k, int fresh,
                                   const KS_T(ks_tiled_memory) *w, KS_T(ks_blocks) *b)
{
    const int mp = KS_T(ks_padded)(ny); /* quads and rows read entries where they lie */
    if (fresh || s->H.stride) {
        b->H = (const KS_NUM *)ks_row(s->H, k);
        b->HT = w->HT;
        if (shape == KS_SHAPE_ROWS)
            KS_T(ks_rows_pad)(ny, nx, b->H, w->HT);
        else if (shape == KS_SHAPE_TILES)
            KS_T(ks_transpose_rows)(ny, nx, b->H, nx, w->HT, mp);
    }
    if (fresh || s->R.stride) {
        b->R = (const KS_NUM *)ks_row(s->R, k);
        b->ldr = ny;
        if (mp != ny && shape == KS_SHAPE_TILES) {
            KS_T(ks_pad)(ny, ny, b->R, ny, w->R, mp);
            b->R = w->R;
            b->ldr = mp;
        }
        KS_T(ks_tiled_limit)(shape, ny, b, w, w->limit);
        b->limit = w->limit;
    }
}

/** The same for a step with missing entries, with y and d; returns how many are present, or -1 where
 *  one is infinite. */
KS_HD_COLD int KS_T(ks_tiled_present)(const ks_series *s, int64_t k, ks_shape shape,
                                      const KS_T(ks_tiled_memory) *w, KS_T(ks_blocks) *b,
                                      int *entry)
{
    const KS_T(ks_observation) o = KS_T(ks_observe)(s, k, w->compact, entry);
    if (o.m < 0) return -1;
    b->H = o.H;
    b->R = o.R;
    b->ldr = o.m;
    b->d = o.d;
    b->y = o.y;
    b->limit = w->some_limit;
    if (shape != KS_SHAPE_TILES) KS_T(ks_tiled_limit)(shape, o.m, b, w, w->some_limit);
    if (shape == KS_SHAPE_QUAD) return o.m;
    b->HT = w->some_HT;
    if (shape == KS_SHAPE_ROWS) {
        const int n = KS_T(ks_padded)(s->nx);
        for (int i = 0; i < o.m; ++i)
            for (int c = 0; c < n; ++c)
                w->some_HT[n * i + c] = c < s->nx ? o.H[i * s->nx + c] : KS_LIT(0);
        return o.m;
    }
    b->R = w->some_R;
    b->ldr = KS_T(ks_padded)(o.m);
    KS_T(ks_transpose_rows)(o.m, s->nx, o.H, s->nx, w->some_HT, b->ldr);
    KS_T(ks_pad)(o.m, o.m, o.R, o.m, w->some_R, b->ldr);
    KS_T(ks_tiled_limit)(shape, o.m, b, w, w->some_limit);
    return o.m;
}
