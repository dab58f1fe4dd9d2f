/* exact_step_text.h -- ordinary steps whose observation is exact, or sharper than the ordinary form otherwise allows;
 * see num_f64.h and tiled_range_text.h. For plain C on the CPU.
 *
 * Such a step subtracts all that is known of a combination of states. Its posterior is singular except for round-off of
 * the prediction, and that is its error. If noise enters every combination again before the next observation, the error
 * is only round-off of the next prediction, too. It is forgotten like all round-off of the ordinary form. An example is
 * a trend and a season observed without noise. So such a step is accepted if
 *
 *     no pivot of its own prediction or of the next one is below KS_EXACT_LEAST of its variance, or below 1 / KS_GROWTH
 *     of the terms that its row of F P Fᵀ is the sum of, and
 *     the step leaves at least KS_EXACT_LEAVES of every variance.
 *
 * The next step makes the next prediction. Until then the estimate before the step is kept. A step that is not accepted
 * is left to the array form, with that estimate. At the end of a range the next prediction is made ahead, so that
 * acceptance does not depend on where a range ends. After the last step of a series there is none. */

/* Pivots of quads are only checked where their rows are whole vectors. */
#define KS_QUADS_EXACT (KS_LANES <= 4)

/** What a range keeps of its exact steps. */
typedef struct KS_T(ks_exact) {
    int may;      /* exact steps are allowed                                              */
    int taken;    /* there has been one                                                   */
    int due;      /* the step before is exact, and its next prediction is not checked yet */
    int refused;  /* the present step fails because of that prediction                    */
    int64_t at[2]; /* the steps that the kept estimates lead into, -1: none              */
    int64_t missing[2], sharp[2];
    ks_evidence evidence[2];
} KS_T(ks_exact);

KS_HD KS_T(ks_exact) KS_T(ks_exact_begin)(int may, int m, const KS_T(ks_tiled_memory) *w)
{
    const KS_T(ks_exact) e = { .may = may, .at = { -1, -1 } };
    for (int i = 0; may && i < m; ++i) w->no_limit[i] = KS_LIT(INFINITY);
    return e;
}

/** Keep what leads into step k: the mean in w->x, P, and the sums over the steps before it. */
KS_HD_COLD void KS_T(ks_exact_keep)(int nx, int n, int64_t k, const KS_NUM *P, const ks_evidence *evidence,
                                    int64_t missing, int64_t sharp, const KS_T(ks_tiled_memory) *w, KS_T(ks_exact) *e)
{
    const int i = (int)(k & 1);
    KS_NUM *to = w->before + i * (n * n + n);
    KS_T(ks_copy)(nx * n, P, to);
    KS_T(ks_copy)(nx, w->x, to + n * n);
    e->evidence[i] = *evidence;
    e->missing[i] = missing;
    e->sharp[i] = sharp;
    e->at[i] = k;
}

/** Go back to before step k or, if the step before it is the one refused, to before that one. Returns the step; w->x is
 *  the mean and *P the covariance that lead into it. */
KS_HD_COLD int64_t KS_T(ks_exact_back)(int nx, int n, int64_t k, KS_NUM **P, ks_evidence *evidence, int64_t *missing,
                                       int64_t *sharp, const KS_T(ks_tiled_memory) *w, const KS_T(ks_exact) *e)
{
    const int earlier = e->refused && e->at[(k - 1) & 1] == k - 1, i = (int)((k - earlier) & 1);
    if (e->at[i] != k - earlier) return k; /* nothing has been overwritten */
    KS_NUM *kept = w->before + i * (n * n + n);
    KS_T(ks_copy)(nx, kept + n * n, w->x);
    *P = kept;
    *evidence = e->evidence[i];
    *missing = e->missing[i];
    *sharp = e->sharp[i];
    return k - earlier;
}

/** Whether no pivot of the prediction Pp = F P Fᵀ + Q, whose upper triangle is read, is too small for an exact step. */
KS_HD_COLD int KS_T(ks_exact_predicted)(int nx, int n, const KS_NUM *F, const KS_NUM *P, const KS_NUM *Pp,
                                        const KS_T(ks_tiled_memory) *w)
{
    KS_NUM *pivot = w->work, *inverse_d = pivot + n;
    KS_T(ks_copy)(nx * n, Pp, w->D);
    return KS_ALL(KS_T(ks_tiled_pivots)(nx, KS_EXACT_LEAST, n, w->D, w->step.W, pivot, inverse_d)) &&
           KS_T(ks_pivots_stand)(nx, 1 / KS_GROWTH, F, P, n, pivot, inverse_d);
}

/** The same of the prediction from P with the blocks b. */
KS_HD_SAME int KS_T(ks_exact_next)(int nx, int n, const KS_T(ks_blocks) *b, const KS_NUM *P, const KS_T(ks_tiled_memory) *w)
{
    KS_T(ks_tiled) step = w->step;
    step.prefetch = NULL;
    KS_T(ks_tiled_predict)(nx, n, b, P, &step);
    return KS_T(ks_exact_predicted)(nx, n, b->F, P, step.Pp, w);
}

/** Whether an innovation variance of m entries exceeds its limit. made: factors of their covariance, rows of Lᵀ ld
 *  apart. */
KS_HD int KS_T(ks_exact_observes)(int m, int ld, const KS_NUM *limit, const KS_T(ks_tiled_slot) *made)
{
    int exceeds = 0;
    for (int i = 0; i < m; ++i) {
        KS_NUM variance = made->pivot[i];
        for (int j = 0; j < i; ++j)
            variance = variance + made->LT[j * ld + i] * made->LT[j * ld + i] * made->pivot[j];
        exceeds |= !KS_GT(limit[i], variance);
    }
    return exceeds;
}

/** Whether step k, which was taken without the limits of b, is accepted as far as is known yet. It led from what is
 *  kept before it to the posterior P. */
KS_HD_COLD int KS_T(ks_exact_stands)(int nx, int n, int m, int ld, int64_t k, const KS_T(ks_blocks) *b,
                                     const KS_T(ks_tiled_slot) *made, const KS_NUM *P, const KS_T(ks_tiled_memory) *w,
                                     KS_T(ks_exact) *e)
{
    const KS_NUM *Pp = made->Pp, *from = w->before + (k & 1) * (n * n + n);
    const int exact = KS_T(ks_exact_observes)(m, ld, b->limit, made);
    e->refused = 0;
    if ((e->due || exact) && !KS_T(ks_exact_predicted)(nx, n, b->F, from, Pp, w)) {
        e->refused = e->due;
        return 0;
    }
    for (int i = 0; exact && i < nx; ++i)
        if (!KS_GT(P[i * n + i], KS_LIT(KS_EXACT_LEAVES) * Pp[i * n + i])) return 0;
    e->due = exact;
    e->taken |= exact;
    return 1;
}

/* Bits of `looked` of a memo's slot: the key has been checked, the prediction has been checked. */
enum { KS_LOOKED_KEY = 1, KS_LOOKED_PREDICTION = 2 };

/** ks_exact_stands() for a step from P that comes from the memo. */
KS_HD_COLD int KS_T(ks_exact_again)(int nx, int n, int m, int ld, const KS_T(ks_blocks) *b,
                                    const KS_T(ks_tiled_slot) *made, const KS_NUM *P, unsigned char *looked,
                                    const KS_T(ks_tiled_memory) *w, KS_T(ks_exact) *e)
{
    e->refused = 0;
    if (e->due && !(*looked & KS_LOOKED_PREDICTION)) {
        e->refused = !KS_T(ks_exact_predicted)(nx, n, b->F, P, made->Pp, w);
        if (e->refused) return 0;
        *looked |= KS_LOOKED_PREDICTION;
    }
    e->due = KS_T(ks_exact_observes)(m, ld, b->limit, made);
    return 1;
}

/** Whether the predictions of all steps in the memo have been checked. */
KS_HD int KS_T(ks_exact_all_looked)(const KS_T(ks_memo) *memo)
{
    int all = KS_LOOKED_PREDICTION;
    for (int at = 0; at < memo->used; ++at) all &= memo->looked[at];
    return all != 0;
}

/** Continue after steps from the memo, the last one from the slot `made`. The estimates before them were not kept. */
KS_HD void KS_T(ks_exact_resume)(int m, int ld, const KS_NUM *limit, const KS_T(ks_tiled_slot) *made, KS_T(ks_exact) *e)
{
    e->due = KS_T(ks_exact_observes)(m, ld, limit, made);
    e->at[0] = e->at[1] = -1;
}
