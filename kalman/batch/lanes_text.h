/* lanes_text.h -- move numbers between arrays of several lanes and packs; see num_f64x4.h.
 *
 * In memory the numbers of one lane are contiguous; a pack has the same number of all lanes. Whole vectors are read and
 * written, and transposed in registers. */

#define KS_EVERY ((1u << KS_LANES) - 1)

/* A vector of consecutive numbers of one lane, at any address. */
typedef KS_NUM KS_T(ks_line) __attribute__((aligned(sizeof(KS_ONE)), may_alias));

/** `v[i]` <- number i of every lane, i < n. */
KS_HD_COLD void KS_T(ks_gather)(int n, const char *const *from, KS_NUM *v)
{
    for (int i = 0; n < KS_LANES && i < n; ++i) {
        KS_NUM t = KS_LIT(0);
        for (int l = 0; l < KS_LANES; ++l) t[l] = ((const KS_ONE *)(const void *)from[l])[i];
        v[i] = t;
    }
    /* The last block may read some numbers again. */
    for (int i = 0; n >= KS_LANES && i < n; i += KS_LANES) {
        const int at = i + KS_LANES <= n ? i : n - KS_LANES;
        const KS_ONE *rows[KS_LANES];
        for (int l = 0; l < KS_LANES; ++l) rows[l] = (const KS_ONE *)(const void *)from[l] + at;
        KS_TRANSPOSE(rows, v + at);
    }
}

/** Number i of every lane in `lanes` <- `v[i]`, i < n. */
KS_HD_COLD void KS_T(ks_scatter)(int n, const KS_NUM *v, unsigned lanes, char *const *to)
{
    for (int i = 0; n < KS_LANES && i < n; ++i)
        for (int l = 0; l < KS_LANES; ++l)
            if (lanes >> l & 1) ((KS_ONE *)(void *)to[l])[i] = ((const KS_ONE *)&v[i])[l];
    for (int i = 0; n >= KS_LANES && i < n; i += KS_LANES) {
        const int at = i + KS_LANES <= n ? i : n - KS_LANES;
        const KS_ONE *rows[KS_LANES];
        KS_NUM t[KS_LANES];
        for (int l = 0; l < KS_LANES; ++l) rows[l] = (const KS_ONE *)(const void *)&v[at + l];
        KS_TRANSPOSE(rows, t);
        for (int l = 0; l < KS_LANES; ++l)
            if (lanes >> l & 1)
                *(KS_T(ks_line) *)(void *)(to[l] + at * (int)sizeof(KS_ONE)) = t[l];
    }
}

/** Move lane l of n packs to contiguous numbers, and back. */
KS_HD_COLD void KS_T(ks_take_lane)(int n, int l, const KS_NUM *v, KS_ONE *to)
{
    for (int i = 0; i < n; ++i) to[i] = v[i][l];
}

KS_HD_COLD void KS_T(ks_give_lane)(int n, int l, const KS_ONE *from, KS_NUM *v)
{
    for (int i = 0; i < n; ++i) v[i][l] = from[i];
}
