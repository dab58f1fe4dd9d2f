/* memo_text.h -- covariance steps that have been taken before are not taken again; see num_f64.h.
 *
 * Where F, Q, H and R are constant, the covariances of a step depend on those of the step before
 * it alone. For many models the recursion reaches a fixed point or a short cycle to the bit; then
 * the gains of an earlier step with the same input serve again, and only the mean is computed. The
 * operations on the mean are those of the ordinary step, so the results are the same bits. A row
 * with missing entries is computed in full and changes nothing here.
 *
 * Until something repeats, this costs one comparison a step and a copy in every eight: one input
 * (the mark) is kept and compared with the next eight, or with as many of them as there are slots, then
 * replaced. When the mark comes back after p steps, the next p steps are recorded. For scalar numbers. */

#define KS_MEMO_SLOTS 8

/* What a covariance may be held by that does not repeat to the bit (tiled/steady_text.h, array_steady_text.h). */
/** The most that a step in steady state moves an entry, in round-offs of what it is subtracted from. */
#define KS_STEADY_MOVES 32
/** The most by which a covariance may be held off, relative to the variances. */
#define KS_STEADY_MOST (sizeof(KS_NUM) == 8 ? 0x1p-36 : 0x1p-13)
/** Doublings of the sum at most: a model that remembers more steps is not held. */
#define KS_STEADY_DOUBLINGS 12

/** Recorded covariance steps: for each its key, the bits that went in, and its results. A key is
 *  what comes from outside (ka numbers) and what the step before has left (kb). */
typedef struct KS_T(ks_memo) {
    int slots, used, next; /* slots is 0 where nothing is remembered           */
    int ka, kb, size;      /* numbers of a key's parts and of a slot           */
    int since;             /* steps since the mark was set                     */
    int record;            /* steps that are still to be recorded              */
    int last;              /* the slot that the step before came from, or -1   */
    int follower[KS_MEMO_SLOTS]; /* the slot that came after a slot, or -1     */
    unsigned char looked[KS_MEMO_SLOTS]; /* for the user of a slot: 0 at first */
    KS_NUM *base, *mark;
    KS_NUM *FT, *HT;       /* transposes, made once                            */
} KS_T(ks_memo);

/* An includer that takes steps one by one defines KS_WITHOUT_MEMO and needs no memory for this. */
KS_HD int KS_T(ks_memo_slots)(int nx)
{
#ifdef KS_WITHOUT_MEMO
    return 0 * nx;
#else
    return nx <= 16 ? KS_MEMO_SLOTS : 2;
#endif
}

/** Numbers of memory for slots of so many numbers each. */
KS_HD int64_t KS_T(ks_memo_numbers)(int nx, int ny, int64_t slot)
{
    const int64_t n = nx;
    return KS_T(ks_memo_slots)(nx) * slot + 3 * n * n + n * ny;
}

/** The same for ordinary steps in either direction. */
KS_HD int64_t KS_T(ks_memo_scratch)(int nx, int ny)
{
    const int64_t n = nx, m = ny;
    const int64_t forward = 3 * n * n + m * n + m * m + 2 * m, backward = 4 * n * n;
    return KS_T(ks_memo_numbers)(nx, ny, forward > backward ? forward : backward);
}

/** The same for steps in the array form (array_again_text.h, array_back_again_text.h). */
KS_HD int64_t KS_T(ks_array_memo_scratch)(int nx, int ny)
{
    const int64_t n = nx, m = ny;
    const int64_t forward = 5 * n * n + m * n + m * m + 2 * n + 1, backward = 7 * n * n + 1;
    return KS_T(ks_memo_slots)(nx) ? KS_T(ks_memo_numbers)(nx, ny, forward > backward ? forward : backward) : 0;
}

/** Whether the covariance steps of a series depend on nothing but the covariance, and repetitions are to be looked
 *  for, of which there are enough steps. */
KS_HD int KS_T(ks_memo_pays)(const ks_series *s, int64_t steps)
{
    return steps > 16 && s->steady_state != KS_STEADY_STATE_COMPUTE && !s->F.stride && !s->Q.stride && !s->H.stride &&
           !s->R.stride;
}

/** Nothing is remembered: what was held is not what a step comes to. */
KS_HD void KS_T(ks_memo_forget)(KS_T(ks_memo) *memo)
{
    memo->used = memo->next = memo->record = 0;
    memo->since = KS_MEMO_SLOTS;
    memo->last = -1;
    for (int i = 0; i < KS_MEMO_SLOTS; ++i) memo->follower[i] = -1;
}

KS_HD KS_T(ks_memo) KS_T(ks_memo_start)(int nx, int ny, int pays, int ka, int kb, int results,
                                        KS_NUM *memory)
{
    KS_T(ks_memo) memo;
    memo.slots = pays ? KS_T(ks_memo_slots)(nx) : 0;
    KS_T(ks_memo_forget)(&memo);
    memo.ka = ka;
    memo.kb = kb;
    memo.size = ka + kb + results;
    memo.FT = memory;
    memo.HT = memory + nx * nx;
    memo.mark = memo.HT + nx * ny;
    memo.base = memo.mark + 2 * nx * nx;
    return memo;
}

KS_HD int KS_T(ks_memo_same)(int n, const KS_NUM *a, const KS_NUM *b)
{
    int differ = 0;
    for (int j = 0; j < n; ++j) differ |= !(a[j] == b[j]);
    return !differ;
}

/** Whether a few of n numbers are the same: of two covariances that are nearly so, most often not. */
KS_HD int KS_T(ks_memo_alike)(int n, const KS_NUM *a, const KS_NUM *b)
{
    return a[0] == b[0] && a[n / 3] == b[n / 3] && a[n / 2] == b[n / 2] && a[n - 1] == b[n - 1];
}

/** The slot whose key is a (ka) and b (kb), of all that are in use, or -1. */
KS_HD_SAME int KS_T(ks_memo_search)(KS_T(ks_memo) *memo, const KS_NUM *a, const KS_NUM *b)
{
    const int ka = memo->ka, kb = memo->kb, last = memo->last;
    for (int at = 0; at < memo->used; ++at) {
        const KS_NUM *slot = memo->base + (int64_t)at * memo->size;
        if (!KS_T(ks_memo_alike)(kb, slot + ka, b) || !KS_T(ks_memo_same)(kb, slot + ka, b) ||
            !KS_T(ks_memo_same)(ka, slot, a))
            continue;
        if (last >= 0) memo->follower[last] = at;
        return memo->last = at;
    }
    memo->last = -1;
    return -1;
}

/** The same. Where the step before came from a slot, too, memo->last says which, and b need not be compared with what
 *  followed it last time. */
KS_HD int KS_T(ks_memo_find)(KS_T(ks_memo) *memo, const KS_NUM *a, const KS_NUM *b)
{
    const int ka = memo->ka, last = memo->last;
    if (memo->used == 0) return -1;
    if (last >= 0 && memo->follower[last] >= 0) {
        const int at = memo->follower[last];
        if (ka == 0 || KS_T(ks_memo_same)(ka, memo->base + (int64_t)at * memo->size, a))
            return memo->last = at;
    }
    return KS_T(ks_memo_search)(memo, a, b);
}

/** Whether find or miss will look at what comes from outside beside b. */
KS_HD int KS_T(ks_memo_looks)(const KS_T(ks_memo) *memo, const KS_NUM *b)
{
    return memo->used > 0 || memo->record > 0 || memo->since >= KS_MEMO_SLOTS ||
           KS_T(ks_memo_alike)(memo->kb, memo->mark + memo->ka, b);
}

/** A step with key a and b, of which more is to be looked at or written than ks_memo_miss() does. */
KS_HD_SAME KS_NUM *KS_T(ks_memo_take)(KS_T(ks_memo) *memo, const KS_NUM *a, const KS_NUM *b)
{
    const int ka = memo->ka, kb = memo->kb;
    if (memo->record == 0) {
        if (memo->since < KS_MEMO_SLOTS) {
            memo->since += 1;
            if (KS_T(ks_memo_same)(kb, memo->mark + ka, b) && KS_T(ks_memo_same)(ka, memo->mark, a)) {
                memo->record = memo->since;
                memo->since = KS_MEMO_SLOTS;
            }
        } else {
            KS_T(ks_copy)(ka, a, memo->mark);
            KS_T(ks_copy)(kb, b, memo->mark + ka);
            memo->since = 0;
        }
        if (memo->record == 0) return NULL;
    }
    KS_NUM *slot = memo->base + (int64_t)memo->next * memo->size;
    if (memo->used == memo->slots) {
        /* The slot's old key is gone whatever becomes of this step. */
        memo->used = memo->next;
        for (int i = 0; i < KS_MEMO_SLOTS; ++i) memo->follower[i] = -1;
    }
    KS_T(ks_copy)(ka, a, slot);
    KS_T(ks_copy)(kb, b, slot + ka);
    return slot;
}

/** A step that is in no slot, with key a and b, is about to be taken: the slot that is to receive its
 *  results, key already there, or NULL. It counts when ks_memo_keep() says that all is there. */
KS_HD KS_NUM *KS_T(ks_memo_miss)(KS_T(ks_memo) *memo, const KS_NUM *a, const KS_NUM *b)
{
    memo->last = -1;
    if (memo->record == 0 && memo->since < KS_MEMO_SLOTS &&
        (memo->since >= memo->slots || !KS_T(ks_memo_alike)(memo->kb, memo->mark + memo->ka, b))) {
        memo->since += 1;
        return NULL;
    }
    return KS_T(ks_memo_take)(memo, a, b);
}

/** The slot for a step that from now on comes to what goes in, key a and b: nothing else is remembered. */
KS_HD KS_NUM *KS_T(ks_memo_hold)(KS_T(ks_memo) *memo, const KS_NUM *a, const KS_NUM *b)
{
    KS_T(ks_copy)(memo->ka, a, memo->base);
    KS_T(ks_copy)(memo->kb, b, memo->base + memo->ka);
    KS_T(ks_memo_forget)(memo);
    memo->last = memo->follower[0] = 0;
    memo->record = 1;
    return memo->base;
}

/** The slot of ks_memo_miss() has its results. */
KS_HD void KS_T(ks_memo_keep)(KS_T(ks_memo) *memo)
{
    memo->record -= 1;
    memo->looked[memo->next] = 0;
    memo->next += 1;
    if (memo->next > memo->used) memo->used = memo->next;
    if (memo->next == memo->slots) memo->next = 0;
}
