/* map_chain_text.h -- the MAP system of one series in one pass inwards from both ends and one back out,
 * assembled and eliminated in the one, solved, inverted and reviewed in the other; see map_text.h and
 * num_f64.h. For scalar numbers. Nothing but the results is kept between the passes.
 *
 * With C = F[k+1]ᵀ Q[k+1]⁻¹ = -A[k, k+1], M the block of step k less what the steps eliminated before
 * it take from it, and z its right-hand side, a step that is eliminated upwards leaves
 *
 *     P = M⁻¹,   G = P C,   M' = A[k+1, k+1] - Cᵀ G,   z' = b[k+1] + Cᵀ P z,
 *
 * P being the covariance of x[k] given x[k+1] and the steps eliminated before, and once x[k+1] stands
 *
 *     x[k] = P z + G x[k+1],   S[k, k] = P + G S[k+1, k+1] Gᵀ,   S[k+1, k] = S[k+1, k+1] Gᵀ.
 *
 * Downwards it is the same with the coupling of step k - 1, N = Q[k]⁻¹ F[k], in place of C. The steps up
 * to the middle are eliminated upwards, those above it downwards, and both lanes meet there; where the
 * middle is the last step there is no lower lane. The rows of step k are read at k alone.
 *
 * The loss of map_text.h is bounded here rather than estimated. With t = trace(A[k, k] S[k, k]) the
 * squared canonical correlation of x[k] and x[k+1] is at most 1 - 1 / t, since P⁻¹ <= A[k, k]; those
 * of steps further apart multiply, and the sum over all steps is at most 2 t² with the largest t. */

/** The terms of the transition into step k, or of the prior, in rows as the operations want them. */
KS_HD const KS_T(ks_map_link) *KS_T(ks_map_link_of)(int n, const ks_series *s, int64_t k,
                                                    const ks_map_system *a,
                                                    KS_T(ks_map_memory) *w, ks_tally *tally)
{
    const int ld = KS_T(ks_map_ld)(n);
    KS_T(ks_map_link) *l = k == 0 ? &w->prior_link : &w->link;
    const KS_T(ks_map_terms) *t = k == 0 ? &w->prior : &w->transition;
    const unsigned all = KS_MAP_CONSTANT_TRANSITION | KS_MAP_CONSTANT_INPUT;
    if ((l->known & all) == all) return l;
    if (k == 0 ? KS_T(ks_map_prior)(s, a, w, tally) : KS_T(ks_map_noise)(n, s, k, a, w, tally))
        return (const KS_T(ks_map_link) *)0;
    if (!(l->known & KS_MAP_CONSTANT_Q)) {
        KS_T(ks_map_load)(n, n, ld, t->precision, l->precision);
        KS_T(ks_map_load)(n, n, ld, t->root, l->root);
        KS_T(ks_map_turn)(n, n, n, ld, t->root, l->turned_root);
        KS_T(ks_map_load)(1, n, ld, t->inverse_d, l->inverse_d);
        ks_evidence e = ks_evidence_start();
        for (int i = 0; i < n; ++i) KS_T(ks_map_gather)(&e, t->LD[i * n + i]);
        l->logs = e.logs + log(e.product);
        l->LD = t->LD;
    }
    if (k > 0 && !(l->known & KS_MAP_CONSTANT_TRANSITION)) {
        const KS_NUM *F = (const KS_NUM *)ks_row(s->F, k - s->shift);
        KS_T(ks_map_load)(n, n, ld, F, l->F);
        KS_T(ks_map_turn)(n, n, n, ld, F, l->turned_F);
        KS_T(ks_map_whiten)(n, ld, l->LD, l->F, l->white);
        for (int i = 0; i < n; ++i)
            for (int c = 0; c < ld; ++c) l->N[i * ld + c] = l->inverse_d[i] * l->white[i * ld + c];
        KS_T(ks_map_turned_times)(n, ld, l->white, l->N, l->carried);
        KS_T(ks_map_unwhiten)(n, ld, l->LD, l->N);
        KS_T(ks_map_turn)(n, n, ld, ld, l->N, l->C);
    }
    const KS_NUM *u = k == 0 ? w->mean : (const KS_NUM *)ks_row(s->u, k - s->shift);
    KS_T(ks_map_load)(1, n, ld, u, l->u);
    KS_T(ks_map_rows)(n, ld, l->precision, l->u, w->chain.zero, l->pu);
    if (k > 0) KS_T(ks_map_rows)(n, ld, l->N, l->u, w->chain.zero, l->cu);
    if (k > 0) l->known = a->constant;
    return l;
}

/** What step k observes, beside the terms of its transition. NULL on a fault. */
KS_HD const KS_T(ks_map_sight) *KS_T(ks_map_see)(int n, const ks_series *s, int64_t k,
                                                 const KS_T(ks_map_link) *l,
                                                 const ks_map_system *a, KS_T(ks_map_memory) *w,
                                                 KS_T(ks_observation) *o, ks_tally *tally)
{
    const int ld = KS_T(ks_map_ld)(n), lm = KS_T(ks_map_ld)(s->ny);
    KS_T(ks_map_sight) *t = KS_T(ks_map_look)(n, s, k, a, w, o, tally);
    if (!t || o->m == 0) return t;
    const int m = o->m;
    if (m < s->ny || !(t->seen & KS_MAP_CONSTANT_OBSERVATION)) {
        KS_T(ks_map_load)(n, n, ld, t->information, t->J);
        KS_T(ks_map_load)(m, n, ld, t->scaled, t->K);
        for (int i = m - 1; i >= 0; --i) /* R⁻¹ H = L⁻ᵀ D⁻¹ L⁻¹ H */
            for (int j = i + 1; j < m; ++j) {
                const KS_NUM x = t->LD[j * m + i];
                for (int c = 0; c < ld; ++c)
                    t->K[i * ld + c] = t->K[i * ld + c] - x * t->K[j * ld + c];
            }
        for (int c = 0; c < n; ++c)
            for (int i = 0; i < lm; ++i)
                t->turned_H[c * lm + i] = i < m ? o->H[i * n + c] : KS_LIT(0);
        KS_NUM *root = w->work;
        for (int i = 0; i < m * m; ++i) root[i] = i % (m + 1) == 0 ? KS_LIT(1) : KS_LIT(0);
        KS_T(ks_ldl_forward)(m, m, t->LD, root);
        for (int i = 0; i < lm; ++i) {
            t->weights[i] = i < m ? t->inverse_d[i] : KS_LIT(0);
            for (int j = 0; j < m; ++j)
                t->turned_root[j * lm + i] = i < m ? root[i * m + j] : KS_LIT(0);
        }
        ks_evidence e = ks_evidence_start();
        for (int i = 0; i < m; ++i) KS_T(ks_map_gather)(&e, t->LD[i * m + i]);
        t->logs = e.logs + log(e.product);
        t->seen = m == s->ny ? a->constant & KS_MAP_CONSTANT_OBSERVATION : 0;
        t->own_of = 0;
    }
    /* The sum serves again where both parts do; 1 + k tells step 0, whose precision is the prior's. */
    const int same = k > 0 && m == s->ny && (a->constant & KS_MAP_CONSTANT_OBSERVATION) &&
                     (a->constant & KS_MAP_CONSTANT_Q);
    if (!same || !t->own_of) KS_T(ks_map_sum)(n, ld, l->precision, t->J, t->own);
    t->own_of = same;
    return t;
}

/** The block and the right-hand side that step k has of its own: what leads into it and what is
 *  observed. The block is returned, the right-hand side goes to c->b. NULL on a fault. */
KS_HD const KS_NUM *KS_T(ks_map_own)(int n, const ks_series *s, int64_t k, const ks_map_system *a,
                                     const KS_T(ks_map_link) *l, KS_T(ks_map_memory) *w,
                                     ks_map_review *r, ks_tally *tally)
{
    const int ld = KS_T(ks_map_ld)(n);
    KS_T(ks_observation) o;
    KS_T(ks_map_chain) *c = &w->chain;
    const KS_T(ks_map_sight) *seen = KS_T(ks_map_see)(n, s, k, l, a, w, &o, tally);
    if (!seen) return (const KS_NUM *)0;
    tally->missing += s->ny - o.m;
    r->evidence.logs += l->logs;
    if (o.m == 0) {
        KS_T(ks_copy)(ld, l->pu, c->b);
        return l->precision;
    }
    r->evidence.logs += seen->logs;
    for (int i = 0; i < o.m; ++i) w->v[i] = o.y[i] - o.d[i];
    KS_T(ks_map_rows)(o.m, ld, seen->K, w->v, l->pu, c->b);
    return seen->own;
}

/** Eliminate step k, whose block is A + B (B NULL: A) and whose right-hand side is c->z, in the direction
 *  of the coupling C: P and z to the places of the results, P C to c->G, P z to c->p. */
KS_HD void KS_T(ks_map_eliminate)(int n, int64_t k, const KS_NUM *A, const KS_NUM *B,
                                  const KS_NUM *C, const ks_map_system *a, KS_T(ks_map_chain) *c,
                                  ks_map_review *r)
{
    const int ld = KS_T(ks_map_ld)(n);
    if (KS_T(ks_map_inverse)(n, ld, A, B, c->P, &r->evidence) >= 0) r->lost_step = k;
    KS_T(ks_map_store)(n, n, ld, c->P, (KS_NUM *)ks_slot_of(a->S, k));
    KS_T(ks_map_store)(1, n, ld, c->z, (KS_NUM *)ks_slot_of(a->x, k));
    KS_T(ks_map_times)(n, ld, c->P, C, c->G);
    KS_T(ks_map_rows)(n, ld, c->P, c->z, c->zero, c->p);
}

/** Upwards: with the rows of step k step k - 1 is complete; it is eliminated, and step k begun. */
KS_HD int KS_T(ks_map_ascend)(int n, const ks_series *s, int64_t k, const ks_map_system *a,
                              KS_T(ks_map_memory) *w, ks_map_review *r, ks_tally *tally)
{
    const int ld = KS_T(ks_map_ld)(n);
    KS_T(ks_map_chain) *c = &w->chain;
    const KS_T(ks_map_link) *l = KS_T(ks_map_link_of)(n, s, k, a, w, tally);
    if (!l) return -1;
    const KS_NUM *own = KS_T(ks_map_own)(n, s, k, a, l, w, r, tally);
    if (!own) return -1;
    if (k == 0) {
        KS_T(ks_copy)(n * ld, own, c->M);
        KS_T(ks_copy)(ld, c->b, c->z);
        return 0;
    }
    for (int i = 0; i < ld; ++i) c->z[i] = c->z[i] - l->cu[i];
    KS_T(ks_map_eliminate)(n, k - 1, c->M, l->carried, l->C, a, c, r);
    KS_T(ks_map_less_turned)(n, ld, l->C, c->G, own, c->M);
    KS_T(ks_map_rows)(n, ld, l->C, c->p, c->b, c->z);
    return 0;
}

/** Downwards, k >= 1: step k is complete; it is eliminated, and step k - 1 begun. */
KS_HD int KS_T(ks_map_descend)(int n, const ks_series *s, int64_t k, const ks_map_system *a,
                               KS_T(ks_map_memory) *w, ks_map_review *r, ks_tally *tally)
{
    const int ld = KS_T(ks_map_ld)(n);
    KS_T(ks_map_chain) *c = &w->chain;
    const KS_T(ks_map_link) *l = KS_T(ks_map_link_of)(n, s, k, a, w, tally);
    if (!l) return -1;
    const KS_NUM *own = KS_T(ks_map_own)(n, s, k, a, l, w, r, tally);
    if (!own) return -1;
    const int first = k == s->steps - 1;
    for (int i = 0; i < ld; ++i) c->z[i] = first ? c->b[i] : c->z[i] + c->b[i];
    KS_T(ks_map_eliminate)(n, k, own, first ? (const KS_NUM *)0 : c->M, l->N, a, c, r);
    KS_T(ks_map_less_turned)(n, ld, l->N, c->G, l->carried, c->M);
    KS_T(ks_map_rows)(n, ld, l->N, c->p, c->zero, c->z);
    for (int i = 0; i < ld; ++i) c->z[i] = c->z[i] - l->cu[i];
    return 0;
}

/** Both lanes have come to step k, NULL: no lower one; its mean and covariance, for both to go on. */
KS_HD void KS_T(ks_map_meet)(int n, int64_t k, const ks_map_system *a, KS_T(ks_map_memory) *up,
                             KS_T(ks_map_memory) *down, ks_map_review *r)
{
    const int ld = KS_T(ks_map_ld)(n);
    KS_T(ks_map_chain) *c = &up->chain;
    const KS_NUM *beside = down ? down->chain.M : (const KS_NUM *)0;
    for (int i = 0; down && i < ld; ++i) c->z[i] = c->z[i] + down->chain.z[i];
    if (KS_T(ks_map_inverse)(n, ld, c->M, beside, c->S, &r->evidence) >= 0) r->lost_step = k;
    KS_T(ks_map_mirror)(n, ld, c->S);
    KS_T(ks_map_rows)(n, ld, c->S, c->z, c->zero, c->x);
    KS_T(ks_map_store)(n, n, ld, c->S, (KS_NUM *)ks_slot_of(a->S, k));
    KS_T(ks_map_store)(1, n, ld, c->x, (KS_NUM *)ks_slot_of(a->x, k));
    if (!down) return;
    KS_T(ks_copy)(n * ld, c->S, down->chain.S);
    KS_T(ks_copy)(ld, c->x, down->chain.x);
}

/** From c->S and c->x, the results of a step, to those of its neighbour k, which was eliminated towards
 *  it with the coupling C, in c->S_next and c->x_next; to c->X the neighbours' covariance S Gᵀ. */
KS_HD void KS_T(ks_map_substitute)(int n, int64_t k, const KS_NUM *C, const ks_map_system *a,
                                   KS_T(ks_map_chain) *c)
{
    const int ld = KS_T(ks_map_ld)(n);
    KS_NUM *P = (KS_NUM *)ks_slot_of(a->S, k), *z = (KS_NUM *)ks_slot_of(a->x, k);
    KS_T(ks_map_load)(n, n, ld, P, c->P);
    KS_T(ks_map_load)(1, n, ld, z, c->z);
    KS_T(ks_map_turned_times)(n, ld, C, c->P, c->G); /* Gᵀ */
    KS_T(ks_map_times)(n, ld, c->S, c->G, c->X);
    KS_T(ks_map_rows)(n, ld, c->P, c->z, c->zero, c->p);
    KS_T(ks_map_rows)(n, ld, c->G, c->x, c->p, c->x_next);
    KS_T(ks_map_symmetric)(n, ld, c->G, c->X, c->P, c->S_next);
    KS_T(ks_map_store)(n, n, ld, c->S_next, P);
    KS_T(ks_map_store)(1, n, ld, c->x_next, z);
}

/** Go on from the neighbour. */
KS_HD void KS_T(ks_map_go_on)(KS_T(ks_map_chain) *c)
{
    KS_NUM *S = c->S, *x = c->x;
    c->S = c->S_next;
    c->x = c->x_next;
    c->S_next = S;
    c->x_next = x;
}

/** Residual of the transition into step k, or of the prior, with x[k] and x[k-1]: its quadratic form to
 *  the evidence, Q⁻¹ times it to c->q, and Fᵀ times that to c->pull. */
KS_HD void KS_T(ks_map_shift)(int n, int64_t k, const KS_T(ks_map_link) *l, const KS_NUM *x,
                              const KS_NUM *before, KS_T(ks_map_chain) *c, ks_map_review *r)
{
    const int ld = KS_T(ks_map_ld)(n);
    KS_NUM *q = c->q, *white = c->white;
    for (int i = 0; i < ld; ++i) q[i] = x[i] - l->u[i];
    if (k > 0) KS_T(ks_map_less_rows)(n, ld, l->turned_F, before, q, q);
    KS_T(ks_map_rows)(n, ld, l->turned_root, q, c->zero, white);
    KS_T(ks_map_scaled)(ld, l->inverse_d, white, q);
    r->evidence.quadratic += (double)KS_T(ks_map_dot)(ld, white, q);
    KS_T(ks_copy)(ld, q, white);
    KS_T(ks_map_rows)(n, ld, l->root, white, c->zero, q);
    if (k > 0) KS_T(ks_map_rows)(n, ld, l->F, q, c->zero, c->pull);
}

/** Residuals of step k with its mean x and covariance S, c->q being that of its transition: what step k
 *  has of its own of the gradient to c->slope, and of the trace to c->share. */
KS_HD int KS_T(ks_map_judge_own)(int n, const ks_series *s, int64_t k, const ks_map_system *a,
                                 const KS_T(ks_map_link) *l, const KS_NUM *x, const KS_NUM *S,
                                 KS_T(ks_map_memory) *w, ks_map_review *r, ks_tally *tally)
{
    const int ld = KS_T(ks_map_ld)(n), lm = KS_T(ks_map_ld)(s->ny);
    KS_T(ks_observation) o;
    KS_T(ks_map_chain) *c = &w->chain;
    const KS_T(ks_map_sight) *seen = KS_T(ks_map_see)(n, s, k, l, a, w, &o, tally);
    if (!seen) return -1;
    if (o.m == 0) {
        KS_T(ks_copy)(ld, c->q, c->slope);
        c->share = (double)KS_T(ks_map_dot)(n * ld, l->precision, S);
        return 0;
    }
    KS_NUM *v = w->v, *white = v + lm, *weighted = white + lm;
    KS_T(ks_map_rows)(n, lm, seen->turned_H, x, c->zero, white);
    for (int i = 0; i < o.m; ++i) v[i] = (o.y[i] - o.d[i]) - white[i];
    KS_T(ks_map_rows)(o.m, lm, seen->turned_root, v, c->zero, white);
    KS_T(ks_map_scaled)(lm, seen->weights, white, weighted);
    r->evidence.quadratic += (double)KS_T(ks_map_dot)(lm, white, weighted);
    KS_T(ks_map_less_rows)(o.m, ld, seen->K, v, c->q, c->slope);
    c->share = (double)KS_T(ks_map_dot)(n * ld, seen->own, S);
    return 0;
}

/** Judge a step with mean x and covariance S by all of its gradient, slope - pull, and of its trace. */
KS_HD void KS_T(ks_map_weigh)(int n, const ks_map_system *a, const KS_NUM *slope,
                              const KS_NUM *pull, double trace, const KS_NUM *x, const KS_NUM *S,
                              int64_t k, ks_map_review *r)
{
    const int ld = KS_T(ks_map_ld)(n);
    double steepness = 0;
    int finite = 1;
    for (int i = 0; i < n; ++i) {
        const double g = (double)(slope[i] - pull[i]), variance = (double)S[i * ld + i];
        steepness += g * g * variance;
        finite &= (fabs((double)x[i]) <= a->largest) & (variance <= a->largest);
    }
    if (!finite) r->bad_step = k;
    KS_T(ks_map_largest)(trace, &r->loss);
    KS_T(ks_map_largest)(steepness, &r->gradient);
}

/** Back down: from the results of step k those of step k - 1, and the judgement of step k; that of the
 *  middle waits for ks_map_join(). */
KS_HD int KS_T(ks_map_back_down)(int n, const ks_series *s, int64_t k, const ks_map_system *a,
                                 KS_T(ks_map_memory) *w, ks_map_review *r, ks_tally *tally)
{
    const int ld = KS_T(ks_map_ld)(n);
    KS_T(ks_map_chain) *c = &w->chain;
    const KS_T(ks_map_link) *l = KS_T(ks_map_link_of)(n, s, k, a, w, tally);
    if (!l) return -1;
    if (k > 0) {
        KS_T(ks_map_substitute)(n, k - 1, l->C, a, c);
        if (a->lag.base) KS_T(ks_map_store)(n, n, ld, c->X, (KS_NUM *)ks_slot_of(a->lag, k));
    }
    KS_NUM *pull = c->pull;
    c->pull = c->pull_next;
    c->pull_next = pull; /* that of the step above */
    const double share = c->share_next;
    KS_T(ks_map_shift)(n, k, l, c->x, c->x_next, c, r);
    if (KS_T(ks_map_judge_own)(n, s, k, a, l, c->x, c->S, w, r, tally)) return -1;
    if (k < a->middle) {
        KS_T(ks_map_weigh)(n, a, c->slope, c->pull_next, c->share + share, c->x, c->S, k, r);
    } else {
        KS_T(ks_copy)(ld, c->slope, c->middle_slope);
        c->middle_share = c->share;
        KS_T(ks_copy)(ld, c->x, c->middle_x);
        KS_T(ks_copy)(n * ld, c->S, c->middle_S);
    }
    if (k == 0) return 0;
    c->share_next = (double)KS_T(ks_map_dot)(n * ld, l->carried, c->S_next);
    KS_T(ks_map_go_on)(c);
    return 0;
}

/** Back up: from the results of step k - 1 those of step k, and the judgement of step k - 1; that of the
 *  middle waits for ks_map_join(), that of the last step does not wait. */
KS_HD int KS_T(ks_map_back_up)(int n, const ks_series *s, int64_t k, const ks_map_system *a,
                               KS_T(ks_map_memory) *w, ks_map_review *r, ks_tally *tally)
{
    const int ld = KS_T(ks_map_ld)(n);
    KS_T(ks_map_chain) *c = &w->chain;
    const KS_T(ks_map_link) *l = KS_T(ks_map_link_of)(n, s, k, a, w, tally);
    if (!l) return -1;
    KS_T(ks_map_substitute)(n, k, l->N, a, c);
    if (a->lag.base) KS_T(ks_map_store_turned)(n, ld, c->X, (KS_NUM *)ks_slot_of(a->lag, k));
    KS_T(ks_map_shift)(n, k, l, c->x_next, c->x, c, r);
    const double carried = (double)KS_T(ks_map_dot)(n * ld, l->carried, c->S);
    if (k == a->middle + 1) {
        KS_T(ks_copy)(ld, c->pull, c->middle_slope);
        c->middle_share = carried;
    } else {
        KS_T(ks_map_weigh)(n, a, c->slope, c->pull, c->share + carried, c->x, c->S, k - 1, r);
    }
    if (KS_T(ks_map_judge_own)(n, s, k, a, l, c->x_next, c->S_next, w, r, tally)) return -1;
    KS_T(ks_map_go_on)(c);
    if (k == s->steps - 1)
        KS_T(ks_map_weigh)(n, a, c->slope, c->zero, c->share, c->x, c->S, k, r);
    return 0;
}

/** Both lanes are back, `down` NULL: there was none; the judgement of the middle. */
KS_HD void KS_T(ks_map_join)(int n, int64_t k, const ks_map_system *a,
                             const KS_T(ks_map_memory) *up, const KS_T(ks_map_memory) *down,
                             ks_map_review *r)
{
    const KS_T(ks_map_chain) *c = &up->chain;
    KS_T(ks_map_weigh)(n, a, c->middle_slope, down ? down->chain.middle_slope : c->zero,
                       c->middle_share + (down ? down->chain.middle_share : 0), c->middle_x,
                       c->middle_S, k, r);
}
