/* two_ended_tiled_in_text.h -- ranges of steps of the information filter from the right, by hand-shaped kernels; see
 * num_f64.h and two_ended_tiled_range_text.h. For plain C on the CPU. */

/** J <- `from` plus the information of the observation o. With tiles only the upper triangle; below it are zeros. */
KS_HD void KS_T(ks_ends_join)(ks_shape shape, int nx, int n, const KS_T(ks_ends_channels) *o,
                              const KS_NUM *from, KS_NUM *J)
{
    const KS_NUM *more = o->information;
    if (shape == KS_SHAPE_TILES) {
        for (int i = 0; i < nx; ++i)
            for (int at = i * n + KS_T(ks_upper_from)(i); at < (i + 1) * n; at += KS_LANES)
                KS_STOREV(J + at, o->m ? KS_LOADV(from + at) + KS_LOADV(more + at) : KS_LOADV(from + at));
        return;
    }
    for (int i = 0; i < nx * n; i += shape == KS_SHAPE_QUAD ? 4 : KS_LANES) {
        if (shape == KS_SHAPE_QUAD)
            KS_STORE4(J + i, o->m ? KS_LOAD4(from + i) + KS_LOAD4(more + i) : KS_LOAD4(from + i));
        else
            KS_STOREV(J + i, o->m ? KS_LOADV(from + i) + KS_LOADV(more + i) : KS_LOADV(from + i));
    }
}

/** J with both triangles. Tiles keep only the upper one. */
KS_HD const KS_NUM *KS_T(ks_ends_whole)(ks_shape shape, int nx, int n, const KS_NUM *J, KS_NUM *whole)
{
    if (shape != KS_SHAPE_TILES) return J;
    for (int i = 0; i < nx; ++i)
        for (int at = i * n + KS_T(ks_upper_from)(i); at < (i + 1) * n; at += KS_LANES)
            KS_STOREV(whole + at, KS_LOADV(J + at));
    KS_T(ks_mirror_upper)(nx, 1, whole, n);
    return whole;
}

/** Add the observation o to eta. v becomes L⁻¹ v. */
KS_HD void KS_T(ks_ends_inform)(ks_shape shape, int n, const KS_T(ks_ends_channels) *o, KS_NUM *eta,
                                KS_NUM *v)
{
    if (o->m == 0) return;
    KS_T(ks_whiten)(o->m, o->LT, KS_T(ks_ends_few)(shape, o->m), v);
    if (shape != KS_SHAPE_QUAD) {
        KS_T(ks_combine_rows)(1, o->m, n, o->Z, v, eta, eta);
        return;
    }
    KS_T(ks_quad) sum = KS_LOAD4(eta);
    for (int a = 0; a < o->m; ++a) sum = sum + v[a] * KS_LOAD4(o->Z + 4 * a);
    KS_STORE4(eta, sum);
}

/** Add the determinants of K's factors. Products of four pivots are far from the end of the range. */
KS_HD void KS_T(ks_gather_factors)(int nx, const KS_NUM *pivot, ks_evidence *e)
{
    int i = 0;
    for (; i + 4 <= nx; i += 4)
        ks_gather_determinant(e, ((double)pivot[i] * (double)pivot[i + 1]) *
                                     ((double)pivot[i + 2] * (double)pivot[i + 3]));
    for (; i < nx; ++i) ks_gather_determinant(e, (double)pivot[i]);
}

/** What a memo of the way in holds behind the key J: Jn, A, the factors of K, their D, and the diagonals that the
 *  bounds are made of. */
typedef struct KS_T(ks_ends_slot) {
    KS_NUM *Jn, *A, *LT, *inverse_d, *pivot, *shown;
} KS_T(ks_ends_slot);

KS_HD KS_T(ks_ends_slot) KS_T(ks_ends_slot_of)(int n, KS_NUM *slot)
{
    KS_T(ks_ends_slot) at;
    at.Jn = slot + n * n;
    at.A = at.Jn + n * n;
    at.LT = at.A + n * n;
    at.inverse_d = at.LT + n * n;
    at.pivot = at.inverse_d + n;
    at.shown = at.pivot + n;
    return at;
}

KS_HD void KS_T(ks_ends_record)(int nx, int n, const KS_NUM *Jn, const KS_NUM *A,
                                const KS_T(ks_ends_blocks) *w, KS_T(ks_memo) *memo, KS_NUM *slot)
{
    const KS_T(ks_ends_slot) to = KS_T(ks_ends_slot_of)(n, slot);
    KS_T(ks_copy)(nx * n, Jn, to.Jn);
    KS_T(ks_copy)(nx * n, A, to.A);
    KS_T(ks_copy)(nx * n, w->LT, to.LT);
    KS_T(ks_copy)(nx, w->inverse_d, to.inverse_d);
    KS_T(ks_copy)(nx, w->pivot, to.pivot);
    KS_T(ks_copy)(nx, w->shown, to.shown);
    const int at = memo->next;
    KS_T(ks_memo_keep)(memo);
    memo->looked[at] = (unsigned char)w->passage;
}

/** After a step from the memo: the slot that followed the last time, if one did, else -1. */
KS_HD int KS_T(ks_ends_next)(KS_T(ks_memo) *memo)
{
    if (memo->last < 0 || memo->follower[memo->last] < 0) return -1;
    return memo->last = memo->follower[memo->last];
}

/** ks_retreat_step() without the means. The passage goes to w->step.passage. */
KS_HD KS_MASK KS_T(ks_ends_retreat)(ks_shape shape, int nx, int n, const ks_series *s, int64_t k,
                                    const KS_NUM *J, KS_NUM *Jn, KS_NUM *A, KS_T(ks_ends_memory) *w)
{
    KS_T(ks_ends_blocks) *step = &w->step;
    const KS_NUM *Q = (const KS_NUM *)ks_row(s->Q, k - s->shift);
    const int inverse = KS_INVERSE_PAYS(nx, s) && KS_T(ks_ends_inverse)(shape, nx, n, s, k, w);
    if (inverse && KS_T(ks_precision_keeps)(nx, w->before, step->inverse, n + 1, J, n + 1)) {
        if (!w->through) KS_T(ks_ends_through)(shape, nx, n, step);
        w->through = 1;
        step->passage = KS_BY_PRECISION;
        const KS_MASK good = KS_T(ks_ends_retreat_by)(shape, KS_BY_PRECISION, nx, n, step, J, Jn, A);
        if (KS_ALL(good) && KS_T(ks_precision_keeps)(nx, w->after, step->C, n + 1, Jn, n + 1)) return good;
    }
    J = KS_T(ks_ends_whole)(shape, nx, n, J, w->whole);
    step->passage = KS_BY_ROOT;
    if (inverse && KS_GT(KS_LIT(KS_GROWTH), KS_T(ks_tiled_trace)(nx, n, J, Q))) step->passage = KS_BY_INVERSE;
    else KS_T(ks_ends_root)(shape, nx, n, 0, s, k, w);
    return KS_T(ks_ends_retreat_by)(shape, step->passage, nx, n, step, J, Jn, A);
}

/** Copy the information that a range starts from to w->Jn and w->eta. */
KS_HD_SAME void KS_T(ks_ends_inform_enter)(int nx, int n, const ks_information *information,
                                           const KS_T(ks_ends_memory) *w)
{
    KS_T(ks_pad)(nx, nx, (const KS_NUM *)information->J, nx, w->Jn, n);
    KS_T(ks_copy)(nx, (const KS_NUM *)information->eta, w->eta);
}

/** Copy what a range ends with, J of its last step and w->eta, to `information`. */
KS_HD_SAME void KS_T(ks_ends_inform_leave)(ks_shape shape, int nx, int n, const KS_NUM *J,
                                           const KS_T(ks_ends_memory) *w, ks_information *information)
{
    KS_T(ks_copy)(nx, w->eta, (KS_NUM *)information->eta);
    KS_T(ks_unpad)(nx, n, KS_T(ks_ends_whole)(shape, nx, n, J, w->whole), (KS_NUM *)information->J);
}

/** See ks_two_ended_kernels.inform; shape is a literal. Returns the first step not taken, going down: k0 - 1 if all are
 *  taken. Returns -1 if the ordinary form is not good enough; k0 >= 1. */
KS_HD int64_t KS_T(ks_tiled_inform_steps)(ks_shape shape, int nx, const ks_series *s, int64_t k0,
                                          int64_t k1, ks_information *information,
                                          const ks_right_rows *to, void *memory, ks_tally *tally)
{
    const int quad = shape == KS_SHAPE_QUAD, rows = shape == KS_SHAPE_ROWS;
    const int n = KS_T(ks_ends_rows)(shape, nx), ny = s->ny, home = n == nx;
    const int moves = s->F.stride || s->Q.stride || s->u.stride, ahead = KS_T(ks_steps_ahead)(shape);
    ks_prefetch next = { .rows = 0 }, *const prefetch = KS_QUEUES(shape, nx) ? &next : NULL;
    KS_T(ks_ends_memory) w = KS_T(ks_ends_begin)(shape, nx, ny, k0, k1, memory);
    w.step.prefetch = prefetch;
    w.before = KS_T(ks_precision_scale)(KS_PRECISION_BEFORE, to->size);
    w.after = KS_T(ks_precision_scale)(KS_PRECISION_AFTER, to->size);
    KS_T(ks_memo) memo = KS_T(ks_ends_memo)(n, s, k1 - k0, 0, nx * n, 3 * n * n + 3 * n + (n - nx) * n,
                                             &w);
    const KS_T(ks_ends_slot) fresh_made = { w.Jn,        NULL,         w.step.LT, w.step.inverse_d,
                                            w.step.pivot, w.step.shown };
    const KS_NUM *before = w.Jn; /* information about the state of step k, without the step's observation */
    ks_evidence evidence = tally->evidence;
    /* Numbers of tiles of a step by the root, the inverse and the precision; the next step is likely to pass as the
     * last. */
    const int64_t square = KS_T(ks_tiles_of)(nx, KS_T(ks_padded)(nx)), panels = (nx + 3) / 4 * 3;
    const int64_t tiles[] = { 3 * square + panels, 2 * square + panels, square / 2 + panels };
    int fresh = 1;
    int64_t k = k1 - 1, missing = 0;
    KS_T(ks_ends_inform_enter)(nx, n, information, &w);
    KS_T(ks_ends_transition_any)(nx, n, s, k, 0, &w);
    for (; k >= k0; --k) {
        KS_T(ks_ends_expect)(prefetch, nx, s, k - ahead, k - ahead >= k0, to, tiles[w.step.passage]);
        if (moves) KS_T(ks_ends_transition)(shape, nx, n, s, k, 0, 0, &w);
        /* Early, because this does not depend on the step before. */
        if (!KS_INVERSE_PAYS(nx, s)) KS_T(ks_ends_root)(shape, nx, n, 0, s, k, &w);
        const KS_T(ks_ends_channels) *o =
            KS_T(ks_ends_observe)(shape, 0, nx, n, ny, s, k, &fresh, &w);
        if (!o) break;
        KS_T(ks_ends_slot) made = fresh_made;
        const KS_NUM *J = w.J;
        KS_NUM *A = home ? (KS_NUM *)ks_slot_of(to->A, k) : w.A;
        KS_NUM *record = NULL;
        int at = -1;
        if (o != &w.all) memo.last = -1;
        else if (memo.slots) at = KS_T(ks_ends_next)(&memo);
        if (at < 0) {
            KS_T(ks_ends_join)(shape, nx, n, o, before, w.J);
            if (memo.slots && o == &w.all) {
                at = KS_T(ks_memo_find)(&memo, NULL, w.J);
                if (at < 0) record = KS_T(ks_memo_miss)(&memo, NULL, w.J);
            }
        }
        if (at >= 0) {
            KS_NUM *slot = memo.base + (int64_t)at * memo.size;
            made = KS_T(ks_ends_slot_of)(n, slot);
            J = slot;
            w.step.passage = (ks_passage)memo.looked[at];
            KS_T(ks_copy)(nx * n, made.A, A);
        } else {
            if (!KS_ALL(KS_T(ks_ends_retreat)(shape, nx, n, s, k, J, w.Jn, A, &w))) return -1;
            if (record) KS_T(ks_ends_record)(nx, n, w.Jn, A, &w.step, &memo, record);
        }
        *(unsigned char *)ks_slot_of(to->passage, k) = (unsigned char)w.step.passage;
        KS_T(ks_store_factors)(nx, n, made.LT, made.inverse_d, (KS_NUM *)ks_slot_of(to->K, k));
        KS_T(ks_ends_inform)(shape, n, o, w.eta, w.v);
        KS_T(ks_look_large)(o->m, k, w.v, o->pivot, 1, information);
        KS_NUM *b = (KS_NUM *)ks_slot_of(to->b, k);
        if (quad)
            KS_T(ks_quad_retreat_mean)(&w.step, J, A, made.LT, made.inverse_d, w.eta, b);
        else if (rows)
            KS_T(ks_row_retreat_mean_any)(nx, &w.step, J, A, made.LT, made.inverse_d, w.eta, b);
        else
            KS_T(ks_tiled_retreat_mean)(nx, n, &w.step,
                                        w.step.drifts ? KS_T(ks_ends_whole)(shape, nx, n, J, w.whole) : NULL, A,
                                        made.LT, made.inverse_d, w.eta, b);
        KS_T(ks_raise_bound)(nx, s, k, J, n + 1, made.shown, to);
        if (!home) KS_T(ks_unpad)(nx, n, A, (KS_NUM *)ks_slot_of(to->A, k));
        before = made.Jn;
        missing += ny - o->m;
        evidence.entries += o->m;
        for (int i = 0; i < o->m; ++i) ks_gather_determinant(&evidence, (double)o->pivot[i]);
        KS_T(ks_gather_factors)(nx, made.pivot, &evidence);
        if (!KS_T(ks_tiled_finite)(nx, n, w.eta, before)) {
            (void)KS_T(ks_step_fault)(k, 0, KS_ARRAY_ESTIMATE, KS_FAULT_NOT_FINITE, tally);
            break;
        }
    }
    tally->evidence = evidence;
    tally->missing += missing;
    tally->ordinary += k1 - 1 - k;
    KS_T(ks_ends_inform_leave)(shape, nx, n, before, &w, information);
    return k;
}
