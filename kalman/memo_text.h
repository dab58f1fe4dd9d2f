/* memo_text.h -- covariance steps that have been taken before are not taken again; see num_f64.h.
 *
 * Where F, Q, H and R are constant, the covariances of a step depend on those of the step before
 * it alone. For many models the recursion reaches a fixed point or a short cycle to the bit; then
 * the gains of a recent step with the same input serve again, and only the mean is computed. The
 * operations on the mean are those of the ordinary step, so the results are the same bits. A row
 * with missing entries is computed in full and changes nothing here. For scalar numbers. */

/** The last KS_T(ks_memo_slots) different covariance steps: for each its key, the bits that went
 *  in, and its results. slots is 0 where nothing is remembered. */
typedef struct KS_T(ks_memo) {
    int slots, used, next;
    int key, size;       /* numbers of a key and of a slot, key included */
    KS_NUM *base;
    KS_NUM *FT, *HT;     /* transposes, made once                        */
} KS_T(ks_memo);

KS_HD int KS_T(ks_memo_slots)(int nx) { return nx <= 16 ? 8 : 2; }

/** Numbers of memory for either direction. */
KS_HD int64_t KS_T(ks_memo_scratch)(int nx, int ny)
{
    const int64_t n = nx, m = ny;
    const int64_t forward = 3 * n * n + m * n + m * m + m, backward = 4 * n * n;
    const int64_t most = forward > backward ? forward : backward;
    return KS_T(ks_memo_slots)(nx) * most + n * n + m * n;
}

/** Whether the covariance steps of a series depend on nothing but the covariance, and there are
 *  enough of them to look for repetitions. */
KS_HD int KS_T(ks_memo_pays)(const ks_series *s, int64_t steps)
{
    return steps > 16 && !s->F.stride && !s->Q.stride && !s->H.stride && !s->R.stride;
}

KS_HD KS_T(ks_memo) KS_T(ks_memo_start)(int nx, int ny, int pays, int key, int results,
                                        KS_NUM *memory)
{
    KS_T(ks_memo) memo;
    memo.slots = pays ? KS_T(ks_memo_slots)(nx) : 0;
    memo.used = memo.next = 0;
    memo.key = key;
    memo.size = key + results;
    memo.FT = memory;
    memo.HT = memory + nx * nx;
    memo.base = memo.HT + nx * ny;
    return memo;
}

/** The slot whose key is a (na) followed by b (nb), newest first, or NULL. */
KS_HD KS_NUM *KS_T(ks_memo_find)(const KS_T(ks_memo) *memo, int na, const KS_NUM *a, int nb,
                                 const KS_NUM *b)
{
    for (int i = 0; i < memo->used; ++i) {
        const int at = (memo->next + memo->slots - 1 - i) % memo->slots;
        KS_NUM *slot = memo->base + (int64_t)at * memo->size;
        if (!(slot[0] == a[0])) continue;
        int differ = 0;
        for (int j = 0; j < na; ++j) differ |= !(slot[j] == a[j]);
        for (int j = 0; j < nb; ++j) differ |= !(slot[na + j] == b[j]);
        if (!differ) return slot;
    }
    return NULL;
}

/** The slot that the next step will take, for its key. */
KS_HD KS_NUM *KS_T(ks_memo_peek)(KS_T(ks_memo) *memo)
{
    memo->used = memo->used < memo->slots ? memo->used : memo->slots - 1;
    return memo->base + (int64_t)memo->next * memo->size;
}

/** The slot whose key has been written takes its results; the oldest is given up. */
KS_HD KS_NUM *KS_T(ks_memo_next)(KS_T(ks_memo) *memo)
{
    KS_NUM *slot = memo->base + (int64_t)memo->next * memo->size;
    memo->next = (memo->next + 1) % memo->slots;
    if (memo->used < memo->slots) memo->used += 1;
    return slot;
}
