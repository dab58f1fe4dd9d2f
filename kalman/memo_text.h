/* memo_text.h -- memos of covariance steps: a step that repeats an earlier one is looked up; see num_f64.h.
 *
 * If F, Q, H and R are constant, the covariances of a step depend only on those of the step before. In many models the
 * recursion reaches a fixed point or a short cycle to the bit. The gains of an earlier step with the same input then
 * serve again, and only the mean is computed. Its operations are those of the ordinary step, so the results are the
 * same bits. A step with missing entries is computed in full and changes nothing in the memo.
 *
 * Until something repeats, this costs one comparison a step and one copy in about eight steps. One input, the mark, is
 * kept and compared with the next eight inputs, or with as many as there are slots; then it is replaced. If the mark
 * comes back after p steps, the next p steps are recorded. For scalar numbers. */

#define KS_MEMO_SLOTS 8

/* Limits for holding a covariance that does not repeat to the bit (tiled/steady_text.h, array_steady_text.h). */
/** The most by which a step in steady state changes an entry, in round-offs of what it is subtracted from. */
#define KS_STEADY_MOVES 32
/** The largest error of a variance that holding may cause, as a share of the variance. */
#define KS_STEADY_MOST (sizeof(KS_NUM) == 8 ? 0x1p-36 : 0x1p-13)
/** Most doublings of the sum: the covariance of a model that remembers more steps is not held. */
#define KS_STEADY_DOUBLINGS 12

/** Recorded covariance steps. A slot holds the key, which is the bits of the step's input, and the step's results. A
 *  key has ka numbers from outside the recursion and kb numbers that the step before has left. */
typedef struct KS_T(ks_memo) {
    int slots, used, next; /* slots is 0 if nothing is recorded                */
    int ka, kb, size;      /* numbers of a key's parts and of a slot           */
    int since;             /* steps since the mark was set                     */
    int record;            /* steps that are still to be recorded              */
    int last;              /* slot that served the step before, or -1          */
    int follower[KS_MEMO_SLOTS]; /* the slot that came after a slot, or -1     */
    unsigned char looked[KS_MEMO_SLOTS]; /* for the user of a slot: 0 at first */
    KS_NUM *base, *mark;
    KS_NUM *FT, *HT;       /* transposes, made once                            */
} KS_T(ks_memo);

/* An includer that takes single steps defines KS_WITHOUT_MEMO and needs no memory for memos. */
KS_HD int KS_T(ks_memo_slots)(int nx)
{
#ifdef KS_WITHOUT_MEMO
    return 0 * nx;
#else
    return nx <= 16 ? KS_MEMO_SLOTS : 2;
#endif
}

/** Numbers of memory of a memo whose slots have `slot` numbers. */
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

/** Whether a memo pays: covariance steps depend on nothing but the covariance, repetitions are to be looked up, and
 *  there are enough steps. */
KS_HD int KS_T(ks_memo_pays)(const ks_series *s, int64_t steps)
{
    return steps > 16 && s->steady_state != KS_STEADY_STATE_COMPUTE && !s->F.stride && !s->Q.stride && !s->H.stride &&
           !s->R.stride;
}

/** Empty the memo. A slot made by ks_memo_hold() is not the result of a step and must not outlive holding. */
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

/** Whether a few of n numbers are equal. Of two covariances that differ slightly this is false most of the time. */
KS_HD int KS_T(ks_memo_alike)(int n, const KS_NUM *a, const KS_NUM *b)
{
    return a[0] == b[0] && a[n / 3] == b[n / 3] && a[n / 2] == b[n / 2] && a[n - 1] == b[n - 1];
}

/** Search all slots in use for the key a (ka), b (kb). Returns the slot, or -1. */
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

/** The same, faster if the step before came from a slot, memo->last. If that slot has a follower, its b is known to be
 *  equal, and only a is compared. */
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

/** Whether ks_memo_find() or ks_memo_miss() would read a. */
KS_HD int KS_T(ks_memo_looks)(const KS_T(ks_memo) *memo, const KS_NUM *b)
{
    return memo->used > 0 || memo->record > 0 || memo->since >= KS_MEMO_SLOTS ||
           KS_T(ks_memo_alike)(memo->kb, memo->mark + memo->ka, b);
}

/** The part of ks_memo_miss() that compares the whole key or writes. */
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
        /* The slot loses its old key even if this step is not recorded in the end. */
        memo->used = memo->next;
        for (int i = 0; i < KS_MEMO_SLOTS; ++i) memo->follower[i] = -1;
    }
    KS_T(ks_copy)(ka, a, slot);
    KS_T(ks_copy)(kb, b, slot + ka);
    return slot;
}

/** Note that a step with key a, b is about to be computed. Returns the slot that is to receive its results, with the
 *  key written, or NULL if the step is not recorded. The slot counts once ks_memo_keep() is called. */
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

/** The slot for a step that returns its input, key a and b, from now on. All other slots are dropped. */
KS_HD KS_NUM *KS_T(ks_memo_hold)(KS_T(ks_memo) *memo, const KS_NUM *a, const KS_NUM *b)
{
    KS_T(ks_copy)(memo->ka, a, memo->base);
    KS_T(ks_copy)(memo->kb, b, memo->base + memo->ka);
    KS_T(ks_memo_forget)(memo);
    memo->last = memo->follower[0] = 0;
    memo->record = 1;
    return memo->base;
}

/** The slot of ks_memo_miss() or ks_memo_hold() has its results. */
KS_HD void KS_T(ks_memo_keep)(KS_T(ks_memo) *memo)
{
    memo->record -= 1;
    memo->looked[memo->next] = 0;
    memo->next += 1;
    if (memo->next > memo->used) memo->used = memo->next;
    if (memo->next == memo->slots) memo->next = 0;
}
