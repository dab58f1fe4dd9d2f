/* follow_rows_text.h -- copies between rows of several series and packs; see num_f64.h and tiled_follow_text.h. A pack
 * holds the same number of each series. For plain C on the CPU. */

/** A pack: one number of every follower. */
typedef KS_NUM KS_T(ks_each) __attribute__((vector_size(KS_PACK_LANES * sizeof(KS_NUM)), may_alias));

/** Transpose numbers of four rows from column c on to lanes l .. l + 3 of four packs, or back. */
KS_HD void KS_T(ks_transpose_in)(const KS_NUM *const *rows, int64_t c, int l, KS_T(ks_each) *at)
{
    KS_T(ks_quad) t[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) t[i] = KS_LOAD4(rows[l + i] + c);
    KS_TRANSPOSE4(t);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) KS_STORE4((KS_NUM *)&at[i] + l, t[i]);
}

KS_HD void KS_T(ks_transpose_out)(const KS_T(ks_each) *at, int count, int l, KS_NUM *const *rows, int64_t c)
{
    KS_T(ks_quad) t[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) t[i] = KS_LOAD4((const KS_NUM *)&at[i] + l);
    KS_TRANSPOSE4(t);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
        if (l + i < count) KS_STORE4(rows[l + i] + c, t[i]);
}

/** at[i] <- number i of every row, i < n. Rows beyond `count` repeat the first. */
KS_HD_COLD void KS_T(ks_rows_in)(int64_t n, int count, const KS_NUM **rows, KS_T(ks_each) *at)
{
    for (int l = count; l < KS_PACK_LANES; ++l) rows[l] = rows[0];
    for (int l = 0; l < KS_PACK_LANES; l += 4) {
        int64_t c = 0;
        for (; c + 4 <= n; c += 4) KS_T(ks_transpose_in)(rows, c, l, at + c);
        if (n >= 4 && c < n) KS_T(ks_transpose_in)(rows, n - 4, l, at + n - 4);
        for (; n < 4 && c < n; ++c)
            for (int i = 0; i < 4; ++i) ((KS_NUM *)&at[c])[l + i] = rows[l + i][c];
    }
}

/** Number i of each of `count` rows <- at[i], i < n. */
KS_HD_COLD void KS_T(ks_rows_out)(int64_t n, int count, const KS_T(ks_each) *at, KS_NUM *const *rows)
{
    for (int l = 0; l < count; l += 4) {
        int64_t c = 0;
        for (; c + 4 <= n; c += 4) KS_T(ks_transpose_out)(at + c, count, l, rows, c);
        if (n >= 4 && c < n) KS_T(ks_transpose_out)(at + n - 4, count, l, rows, n - 4);
        for (; n < 4 && c < n; ++c)
            for (int i = l; i < l + 4 && i < count; ++i) rows[i][c] = ((const KS_NUM *)&at[c])[i];
    }
}

/** Rows k0 .. k1 - 1, of n numbers, of d if data_is_d, else of y, to packs. All series have the same stride. */
KS_HD void KS_T(ks_follow_read)(int64_t n, int count, const ks_follower *f, int data_is_d, int64_t k0,
                                int64_t k1, KS_T(ks_each) *at)
{
    const KS_NUM *rows[KS_PACK_LANES];
    const int64_t stride = data_is_d ? f->series->d.stride : f->series->y.stride;
    const int together = stride == n * (int64_t)sizeof(KS_NUM);
    for (int64_t k = k0; k < k1; k += together ? k1 - k0 : 1, at += n) {
        for (int i = 0; i < count; ++i)
            rows[i] = (const KS_NUM *)ks_row(data_is_d ? f[i].series->d : f[i].series->y, k);
        KS_T(ks_rows_in)(together ? n * (k1 - k0) : n, count, rows, at);
    }
}

/** Rows k0 .. k1 - 1 of the followers' means to packs, and back. */
KS_HD void KS_T(ks_follow_means_in)(int64_t n, int count, const ks_follower *f, int64_t k0, int64_t k1,
                                    KS_T(ks_each) *at)
{
    const KS_NUM *rows[KS_PACK_LANES];
    const int together = f->mean.stride == n * (int64_t)sizeof(KS_NUM);
    for (int64_t k = k0; k < k1; k += together ? k1 - k0 : 1, at += n) {
        for (int i = 0; i < count; ++i) rows[i] = (const KS_NUM *)ks_slot_of(f[i].mean, k);
        KS_T(ks_rows_in)(together ? n * (k1 - k0) : n, count, rows, at);
    }
}

KS_HD void KS_T(ks_follow_means_out)(int64_t n, int count, const KS_T(ks_each) *at, int64_t k0, int64_t k1,
                                     const ks_follower *f)
{
    KS_NUM *rows[KS_PACK_LANES];
    const int together = f->mean.stride == n * (int64_t)sizeof(KS_NUM);
    if (!f->mean.base) return;
    for (int64_t k = k0; k < k1; k += together ? k1 - k0 : 1, at += n) {
        for (int i = 0; i < count; ++i) rows[i] = (KS_NUM *)ks_slot_of(f[i].mean, k);
        KS_T(ks_rows_out)(together ? n * (k1 - k0) : n, count, at, rows);
    }
}

/** Copy the covariances of steps k0 .. k1 - 1, nn numbers each, from the leader's contiguous rows to a follower's, if
 *  wanted. */
KS_HD_COLD void KS_T(ks_follow_covs)(int64_t nn, int64_t k0, int64_t k1, const ks_sink *covs,
                                     const ks_follower *f)
{
    const int together = f->cov.stride == nn * (int64_t)sizeof(KS_NUM);
    const int64_t n = together ? nn * (k1 - k0) : nn;
    if (!f->cov.base) return;
    for (int64_t k = k0; k < k1; k += together ? k1 - k0 : 1) {
        const KS_NUM *from = (const KS_NUM *)ks_slot_of(*covs, k);
        KS_NUM *to = (KS_NUM *)ks_slot_of(f->cov, k);
        int64_t i = 0;
        if (KS_T(ks_past_caches)(f->series)) {
            ks_stream_block(n * (int64_t)sizeof(KS_NUM), from, to);
            continue;
        }
        for (; i + 2 * KS_LANES <= n; i += 2 * KS_LANES) {
            KS_STOREV(to + i, KS_LOADV(from + i));
            KS_STOREV(to + i + KS_LANES, KS_LOADV(from + i + KS_LANES));
        }
        for (; i < n; ++i) to[i] = from[i];
    }
}

/** Prefetch rows k0 .. k1 - 1 of n numbers, which will be written, or read and written. */
KS_HD void KS_T(ks_follow_expect)(int64_t n, int64_t k0, int64_t k1, ks_sink rows)
{
    if (!rows.base || k1 <= k0) return;
    const char *at = (const char *)ks_slot_of(rows, k0);
    const int64_t bytes = (k1 - 1 - k0) * rows.stride + n * (int64_t)sizeof(KS_NUM);
    for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(at + i, 1);
}
