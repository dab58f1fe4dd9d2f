/* tiled_observe_text.h -- the observation of a filter step by the kernels of tiled_step_text.h: all entries, or those
 * that are present, and the limits of their innovation variances; see num_f64.h and tiled_range_text.h. For plain C on
 * the CPU. */

/** Whether every entry of y (ny) is finite. */
KS_HD int KS_T(ks_tiled_complete)(int ny, const KS_NUM *y)
{
    KS_NUM sum = KS_LIT(0);
    for (int i = 0; i < ny; ++i) sum = sum + (y[i] - y[i]);
    return sum == KS_LIT(0);
}

/** limit (m) <- ks_noise_limit() of the m > 4 entries of b. */
KS_HD_COLD void KS_T(ks_tiled_limit_of_many)(int m, const KS_T(ks_blocks) *b, const KS_T(ks_tiled_memory) *w, KS_NUM *limit)
{
    const int mp = KS_T(ks_padded)(m);
    KS_NUM *LD = w->work, *LT = LD + m * mp, *pivot = LT + m * mp, *inverse_d = pivot + mp;
    KS_T(ks_copy)(m * mp, b->R, LD);
    const KS_MASK good = KS_T(ks_tiled_ldl)(NULL, m, 1 / KS_GROWTH, mp, LD, LT, 0, LD, LD, LD, pivot, inverse_d);
    KS_T(ks_noise_limit)(m, b->R, mp, KS_T(ks_times_of_pivots)(m, b->R, mp, pivot, 1, good), limit);
}

/** The same for any number of entries. */
KS_HD void KS_T(ks_tiled_limit)(ks_shape shape, int m, const KS_T(ks_blocks) *b, const KS_T(ks_tiled_memory) *w,
                                KS_NUM *limit)
{
    if (shape != KS_SHAPE_TILES || m <= 4)
        KS_T(ks_noise_limit)(m, b->R, b->ldr, KS_T(ks_noise_times)(m, b->R, b->ldr, w->work), limit);
    else
        KS_T(ks_tiled_limit_of_many)(m, b, w, limit);
}

/** Set the blocks of step k's observation, except y and d. fresh: those that do not vary must be set, too. */
KS_HD void KS_T(ks_tiled_channels)(ks_shape shape, int nx, int ny, const ks_series *s, int64_t k, int fresh,
                                   const KS_T(ks_tiled_memory) *w, KS_T(ks_blocks) *b)
{
    const int mp = KS_T(ks_padded)(ny); /* quads and rows read H and R in place */
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

/** The same for any number of states, with all blocks, at the beginning of a range. */
KS_HD_SAME void KS_T(ks_tiled_channels_any)(ks_shape shape, int nx, int ny, const ks_series *s, int64_t k,
                                            const KS_T(ks_tiled_memory) *w, KS_T(ks_blocks) *b)
{
    KS_T(ks_tiled_channels)(shape, nx, ny, s, k, 1, w, b);
}

/** The same for up to four entries, some of which are missing, with y and d. Returns the number of entries present, or
 *  -1 if one is infinite. If H and R do not vary, what is made of them is kept for each pattern of entries. known: a
 *  bit for each pattern that has been made. */
KS_HD_COLD int KS_T(ks_few_present)(const ks_series *s, int64_t k, ks_shape shape, const KS_T(ks_tiled_memory) *w,
                                    unsigned *known, KS_T(ks_blocks) *b, int *entry)
{
    const int nx = s->nx, ny = s->ny, n = KS_T(ks_padded)(nx);
    const KS_NUM *y = (const KS_NUM *)ks_row(s->y, k), *d = (const KS_NUM *)ks_row(s->d, k);
    KS_NUM *y_present = w->compact, *d_present = y_present + 4;
    int present[4], m = 0;
    unsigned pattern = 0;
    for (int i = 0; i < ny; ++i) {
        if (!(y[i] == y[i])) continue;
        if (!(y[i] - y[i] == KS_LIT(0))) {
            *entry = i;
            return -1;
        }
        pattern |= 1u << i;
        y_present[m] = y[i];
        d_present[m] = d[i];
        present[m++] = i;
    }
    KS_NUM *H = w->patterns + pattern * KS_PATTERN_NUMBERS, *padded = H + 4 * 8, *R = padded + 4 * 8, *limit = R + 4 * 4;
    b->y = y_present;
    b->d = d_present;
    b->H = H;
    b->HT = padded;
    b->R = R;
    b->ldr = m;
    b->limit = limit;
    if (!s->H.stride && !s->R.stride && (*known >> pattern & 1u)) return m;
    const KS_NUM *all_H = (const KS_NUM *)ks_row(s->H, k), *all_R = (const KS_NUM *)ks_row(s->R, k);
    for (int i = 0; i < m; ++i) {
        KS_T(ks_copy)(nx, all_H + present[i] * nx, H + i * nx);
        for (int j = 0; j < m; ++j) R[i * m + j] = all_R[present[i] * ny + present[j]];
        for (int c = 0; c < n && shape == KS_SHAPE_ROWS; ++c) padded[n * i + c] = c < nx ? H[i * nx + c] : KS_LIT(0);
    }
    KS_T(ks_tiled_limit)(shape, m, b, w, limit);
    *known |= 1u << pattern;
    return m;
}

/** The same for any number of entries. */
KS_HD_COLD int KS_T(ks_tiled_present)(const ks_series *s, int64_t k, const KS_T(ks_tiled_memory) *w,
                                      KS_T(ks_blocks) *b, int *entry)
{
    const KS_T(ks_observation) o = KS_T(ks_observe)(s, k, w->compact, entry);
    if (o.m < 0) return -1;
    b->H = o.H;
    b->HT = w->some_HT;
    b->R = w->some_R;
    b->ldr = KS_T(ks_padded)(o.m);
    b->d = o.d;
    b->y = o.y;
    b->limit = w->some_limit;
    KS_T(ks_transpose_rows)(o.m, s->nx, o.H, s->nx, w->some_HT, b->ldr);
    KS_T(ks_pad)(o.m, o.m, o.R, o.m, w->some_R, b->ldr);
    KS_T(ks_tiled_limit)(KS_SHAPE_TILES, o.m, b, w, w->some_limit);
    return o.m;
}
