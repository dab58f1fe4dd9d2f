/* tiled_slot_text.h -- what a filter step by the kernels of tiled_step_text.h leaves in a memo (memo_text.h), or for
 * followers; see num_f64.h and tiled_range_text.h. For plain C on the CPU. */

/** What a memo of filter steps holds behind the key: the posterior, Pp, Z, LT, D and 1 / D. */
typedef struct KS_T(ks_tiled_slot) {
    KS_NUM *P, *Pp, *Z, *LT, *pivot, *inverse_d;
    KS_NUM *shrunk; /* for followers: see ks_shrunk() */
} KS_T(ks_tiled_slot);

/** What means of followers need of a step (tiled_follow_text.h). */
KS_HD KS_T(ks_tiled_slot) KS_T(ks_tiled_gain_of)(int n, int m, KS_NUM *gain)
{
    KS_T(ks_tiled_slot) at;
    at.P = at.Pp = NULL;
    at.Z = gain;
    at.LT = at.Z + m * n;
    at.pivot = at.LT + m * KS_T(ks_padded)(m);
    at.inverse_d = at.pivot + m;
    at.shrunk = at.inverse_d + m;
    return at;
}

KS_HD KS_T(ks_tiled_slot) KS_T(ks_tiled_slot_of)(int n, int m, KS_NUM *slot)
{
    KS_T(ks_tiled_slot) at = KS_T(ks_tiled_gain_of)(n, m, slot + 3 * n * n);
    at.P = slot + n * n;
    at.Pp = at.P + n * n;
    at.shrunk = NULL;
    return at;
}

/** shrunk (nx) <- the variances of the prediction Pp that are less than `before`; infinity for the others. The
 *  prediction is sharp if round-off of a squared mean exceeds such a variance (ks_sharp()). */
KS_HD void KS_T(ks_shrunk)(int nx, int n, const KS_NUM *before, const KS_NUM *Pp, KS_NUM *shrunk)
{
    for (int i = 0; i < nx; ++i) shrunk[i] = before[i] > Pp[i * n + i] ? Pp[i * n + i] : (KS_NUM)INFINITY;
}

KS_HD void KS_T(ks_tiled_record)(int nx, int n, int m, const KS_NUM *P, const KS_T(ks_tiled) *w,
                                 KS_T(ks_memo) *memo, KS_NUM *slot)
{
    const KS_T(ks_tiled_slot) to = KS_T(ks_tiled_slot_of)(n, m, slot);
    KS_T(ks_copy)(nx * n, P, to.P);
    KS_T(ks_copy)(nx * n, w->Pp, to.Pp);
    KS_T(ks_copy)(m * n, w->Z, to.Z);
    KS_T(ks_copy)(m * KS_T(ks_padded)(m), w->LT, to.LT);
    KS_T(ks_copy)(m, w->pivot, to.pivot);
    KS_T(ks_copy)(m, w->inverse_d, to.inverse_d);
    KS_T(ks_memo_keep)(memo);
}

/** The same of a step that returns the posterior P that it starts from, from now on. */
KS_HD_COLD void KS_T(ks_tiled_hold)(int nx, int n, int m, const KS_NUM *P, KS_T(ks_tiled_slot) *made,
                                    const KS_T(ks_tiled) *w, KS_T(ks_memo) *memo)
{
    if (made->Z != w->Z) { /* it came from a slot */
        KS_T(ks_copy)(nx * n, made->Pp, w->Pp);
        KS_T(ks_copy)(m * n, made->Z, w->Z);
        KS_T(ks_copy)(m * KS_T(ks_padded)(m), made->LT, w->LT);
        KS_T(ks_copy)(m, made->pivot, w->pivot);
        KS_T(ks_copy)(m, made->inverse_d, w->inverse_d);
        made->Z = w->Z, made->Pp = w->Pp, made->LT = w->LT, made->pivot = w->pivot, made->inverse_d = w->inverse_d;
    }
    KS_T(ks_tiled_record)(nx, n, m, P, w, memo, KS_T(ks_memo_hold)(memo, NULL, P));
}
