/* map_rows_text.h -- the model of a step for map_chain_text.h. map_text.h has the same for systems that are solved at
 * length; see also num_f64.h. For scalar numbers. What is constant in the model is computed once. */

/** Add pivots that were gathered separately. */
KS_HD void KS_T(ks_map_gather_all)(ks_evidence *e, const ks_evidence *pivots)
{
    e->logs += pivots->logs;
    ks_gather_determinant(e, pivots->product);
}

/** Make the prior of x[0] in place of a transition. */
KS_HD_COLD int KS_T(ks_map_prior_rows)(const ks_series *s, const ks_map_system *a,
                                       KS_T(ks_map_memory) *w, ks_tally *tally)
{
    const int n = s->nx, ld = KS_T(ks_map_ld)(n);
    const KS_T(ks_map_terms) *t = &w->prior;
    KS_T(ks_map_link) *l = &w->prior_link;
    if (KS_T(ks_map_prior)(s, a, w, tally)) return -1;
    KS_T(ks_map_load)(n, n, ld, t->precision, l->precision);
    KS_T(ks_map_load)(n, n, ld, t->root, l->root);
    KS_T(ks_map_transpose)(n, n, n, ld, t->root, l->transposed_root);
    KS_T(ks_map_load)(1, n, ld, t->inverse_d, l->inverse_d);
    KS_T(ks_map_load)(1, n, ld, w->mean, l->u);
    KS_T(ks_map_rows)(n, ld, l->precision, l->u, w->chain.zero, l->pu);
    l->pivots = ks_evidence_start();
    for (int i = 0; i < n; ++i) KS_T(ks_map_gather)(&l->pivots, t->LD[i * n + i]);
    return 0;
}

/** Make Q⁻¹ and its root. Return -1, or the row of Q that is not positive. */
KS_HD int KS_T(ks_map_noise_rows)(int n, int wanted, const KS_NUM *Q, double pivot,
                                  KS_T(ks_map_link) *l)
{
    const int ld = KS_T(ks_map_ld)(n);
    l->pivots = ks_evidence_start();
    const int bad = KS_T(ks_map_root)(n, ld, pivot, Q, l->LD, l->inverse_d, l->root, l->Q_rows,
                                      wanted & KS_MAP_INWARDS ? &l->pivots : (ks_evidence *)0);
    if (bad >= 0) return bad;
    KS_T(ks_map_weighted)(n, ld, l->inverse_d, l->root, l->scratch);
    KS_T(ks_map_transposed_times)(n, ld, l->root, l->scratch, l->precision);
    if (wanted & KS_MAP_OUTWARDS) KS_T(ks_map_transpose)(n, n, ld, ld, l->root, l->transposed_root);
    return -1;
}

/** Make what depends on F, given Q⁻¹. */
KS_HD void KS_T(ks_map_transition_rows)(int n, int wanted, int stays, const KS_NUM *F,
                                        KS_T(ks_map_link) *l)
{
    const int ld = KS_T(ks_map_ld)(n);
    KS_NUM *white = l->scratch;
    l->F = KS_T(ks_map_rows_of)(n, n, ld, stays, F, l->F_rows);
    KS_T(ks_map_whiten)(n, ld, l->LD, l->F, white);
    KS_T(ks_map_weighted)(n, ld, l->inverse_d, white, l->N);
    KS_T(ks_map_transposed_times)(n, ld, white, l->N, l->carried);
    KS_T(ks_map_unwhiten)(n, ld, l->LD, l->N);
    if (wanted & KS_MAP_UPWARDS) KS_T(ks_map_transpose)(n, n, ld, ld, l->N, l->C);
    if (wanted & KS_MAP_OUTWARDS) KS_T(ks_map_transpose)(n, n, ld, ld, l->F, l->transposed_F);
}

/** Return the transition into step k, or the prior. NULL on a fault. */
KS_HD const KS_T(ks_map_link) *KS_T(ks_map_link_of)(int n, int wanted, const ks_series *s,
                                                    int64_t k, const ks_map_system *a,
                                                    KS_T(ks_map_memory) *w, ks_tally *tally)
{
    const int ld = KS_T(ks_map_ld)(n), all = KS_MAP_INWARDS | KS_MAP_UPWARDS | KS_MAP_OUTWARDS;
    const unsigned every = KS_MAP_CONSTANT_TRANSITION | KS_MAP_CONSTANT_INPUT;
    KS_T(ks_map_link) *l = &w->link;
    if (k == 0)
        return KS_T(ks_map_prior_rows)(s, a, w, tally) ? (const KS_T(ks_map_link) *)0
                                                       : &w->prior_link;
    if ((l->known & every) == every) return l;
    if (!(l->known & KS_MAP_CONSTANT_Q)) {
        const KS_NUM *Q = (const KS_NUM *)ks_row(s->Q, k - s->shift);
        const int stays = a->constant & KS_MAP_CONSTANT_Q;
        const int now = stays ? all : wanted;
        const int bad = n > KS_MAP_FEW
                            ? KS_T(ks_map_noise_panels)(n, now, Q, a->pivot, l, &w->room)
                            : KS_T(ks_map_noise_rows)(n, now, Q, a->pivot, l);
        if (bad >= 0) {
            (void)KS_T(ks_step_fault)(k, bad, KS_ARRAY_Q, KS_FAULT_NOT_POSITIVE, tally);
            return (const KS_T(ks_map_link) *)0;
        }
    }
    if (!(l->known & KS_MAP_CONSTANT_TRANSITION)) {
        const KS_NUM *F = (const KS_NUM *)ks_row(s->F, k - s->shift);
        const int once = a->constant & KS_MAP_CONSTANT_TRANSITION, now = once ? all : wanted;
        if (n > KS_MAP_FEW)
            KS_T(ks_map_transition_panels)(n, now, !once, F, l, &w->room);
        else
            KS_T(ks_map_transition_rows)(n, now, !once, F, l);
    }
    KS_T(ks_map_load)(1, n, ld, (const KS_NUM *)ks_row(s->u, k - s->shift), l->u);
    if (wanted & KS_MAP_INWARDS) {
        KS_T(ks_map_rows)(n, ld, l->precision, l->u, w->chain.zero, l->pu);
        if (n > KS_MAP_FEW)
            KS_T(ks_map_panel_times)(n, w->room.N, l->u, w->chain.zero, l->cu);
        else
            KS_T(ks_map_rows)(n, ld, l->N, l->u, w->chain.zero, l->cu);
    }
    l->known = a->constant;
    return l;
}

/** Make what depends on R and H of m entries. Return -1, or the row of R that is not positive. */
KS_HD int KS_T(ks_map_channels)(int m, int n, int stay, double pivot, const KS_NUM *H,
                                const KS_NUM *R, KS_T(ks_map_entries) *t)
{
    const int ld = KS_T(ks_map_ld)(n);
    t->H = KS_T(ks_map_rows_of)(m, n, ld, stay, H, t->H_rows);
    const int bad = KS_T(ks_map_factor)(m, pivot, R, t->LD, t->inverse_d);
    if (bad >= 0) return bad;
    t->pivots = ks_evidence_start();
    for (int i = 0; i < m; ++i) KS_T(ks_map_gather)(&t->pivots, t->LD[i * m + i]);
    KS_T(ks_map_whiten)(m, ld, t->LD, t->H, t->white);
    KS_T(ks_map_weighted)(m, ld, t->inverse_d, t->white, t->scaled);
    KS_T(ks_copy)(m * ld, t->scaled, t->K);
    KS_T(ks_map_unwhiten)(m, ld, t->LD, t->K);
    return -1;
}

/** Return what step k observes. Its transition is l. NULL on a fault. */
KS_HD const KS_T(ks_map_entries) *KS_T(ks_map_entries_of)(int n, const ks_series *s, int64_t k,
                                                          const KS_T(ks_map_link) *l,
                                                          const ks_map_system *a,
                                                          KS_T(ks_map_memory) *w,
                                                          KS_T(ks_observation) *o,
                                                          ks_tally *tally)
{
    const int ld = KS_T(ks_map_ld)(n);
    int entry = 0, bad = -1;
    *o = KS_T(ks_observe)(s, k, w->compact, &entry);
    if (o->m < 0) {
        (void)KS_T(ks_step_fault)(k, entry, KS_ARRAY_Y, KS_FAULT_NOT_FINITE, tally);
        return (const KS_T(ks_map_entries) *)0;
    }
    const int complete = o->m == s->ny;
    const int constant = complete && (a->constant & KS_MAP_CONSTANT_OBSERVATION) != 0;
    KS_T(ks_map_entries) *t = complete ? &w->every : &w->present;
    if (o->m == 0) return t;
    if (!t->known) {
#define CALL(m) bad = KS_T(ks_map_channels)(m, n, !constant, a->pivot, o->H, o->R, t)
        KS_WITH_LITERAL_ENTRIES(n, o->m, CALL)
#undef CALL
        if (bad >= 0) {
            (void)KS_T(ks_step_fault)(k, bad, KS_ARRAY_R, KS_FAULT_NOT_POSITIVE, tally);
            return (const KS_T(ks_map_entries) *)0;
        }
        t->known = constant;
        t->own_known = 0;
    }
    /* In step 0 the prior's precision takes the place of Q⁻¹. */
    const int same = constant && k > 0 && (a->constant & KS_MAP_CONSTANT_Q) != 0;
    if (!same || !t->own_known)
        KS_T(ks_map_symmetric)(n, o->m, ld, t->white, t->scaled, l->precision, t->own);
    t->own_known = same;
    return t;
}

/** Return the block of step k without the next transition, with m entries observed: rows, or a panel. */
KS_HD const KS_NUM *KS_T(ks_map_own_block)(int n, int m, const KS_T(ks_map_link) *l,
                                           const KS_T(ks_map_entries) *t,
                                           KS_T(ks_map_memory) *w)
{
    const KS_NUM *rows = m > 0 ? t->own : l->precision;
    const int again = rows == w->every.own && w->every.own_known;
    KS_T(ks_map_room) *room = &w->room;
    if (n <= KS_MAP_FEW) return rows;
    if (again && room->own_known) return room->own;
    room->own_known |= again;
    KS_NUM *panel = again ? room->own : room->own_once;
    KS_T(ks_map_to_panel)(n, KS_T(ks_map_ld)(n), 1, rows, panel);
    return panel;
}

/** Return the block of step k from the transition into it and its observation; put the right-hand side of these into
 *  c->b. *complete says whether every entry is present. NULL on a fault. */
KS_HD const KS_NUM *KS_T(ks_map_own)(int n, const ks_series *s, int64_t k, const ks_map_system *a,
                                     const KS_T(ks_map_link) *l, KS_T(ks_map_memory) *w,
                                     int *complete, ks_map_review *r, ks_tally *tally)
{
    const int ld = KS_T(ks_map_ld)(n);
    KS_T(ks_observation) o;
    KS_T(ks_map_chain) *c = &w->chain;
    const KS_T(ks_map_entries) *t = KS_T(ks_map_entries_of)(n, s, k, l, a, w, &o, tally);
    if (!t) return (const KS_NUM *)0;
    *complete = o.m == s->ny;
    tally->missing += s->ny - o.m;
    KS_T(ks_map_gather_all)(&r->evidence, &l->pivots);
    if (o.m == 0) {
        KS_T(ks_copy)(ld, l->pu, c->b);
    } else {
        KS_T(ks_map_gather_all)(&r->evidence, &t->pivots);
        for (int i = 0; i < o.m; ++i) w->v[i] = o.y[i] - o.d[i];
        KS_T(ks_map_rows)(o.m, ld, t->K, w->v, l->pu, c->b);
    }
    return KS_T(ks_map_own_block)(n, o.m, l, t, w);
}
