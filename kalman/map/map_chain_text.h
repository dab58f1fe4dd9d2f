/* map_chain_text.h -- the MAP system of one series in one pass inwards from both ends and one back out. The first pass
 * assembles and eliminates; the second solves, inverts and reviews. See map_text.h and num_f64.h. For scalar numbers.
 * Between the passes only the results' own memory is used.
 *
 * Let C = F[k+1]ᵀ Q[k+1]⁻¹ = -A[k, k+1]. Let M be the block of step k after the elimination of the steps before it, and
 * z its right-hand side. Eliminating step k upwards leaves
 *
 *     P = M⁻¹,   G = P C,   M' = A[k+1, k+1] - Cᵀ G,   z' = b[k+1] + Gᵀ z,
 *
 * where P is the covariance of x[k] given x[k+1] and the steps eliminated before. Once x[k+1] is known,
 *
 *     x[k] = P z + G x[k+1],   S[k, k] = P + G S[k+1, k+1] Gᵀ,   S[k+1, k] = S[k+1, k+1] Gᵀ.
 *
 * Downwards it is the same with the coupling of step k - 1, N = Q[k]⁻¹ F[k], in place of C. Steps up to the middle are
 * eliminated upwards, those above it downwards, and both lanes meet there. If the middle is the last step there is no
 * lane downwards. Rows of step k are read at k only.
 *
 * The loss of map_text.h is bounded here, not estimated. With t = trace(A[k, k] S[k, k]) the squared canonical
 * correlation of x[k] and x[k+1] is at most 1 - 1 / t, since P⁻¹ <= A[k, k]. Those of steps further apart multiply. If
 * the steps of i and j have a correlation of at most ρ,
 *
 *     A_jj S_ij² / S_ii <= ρ² A_jj S_jj,
 *
 * and the sum of ρ² over all steps is at most 2 t - 1 with the largest t. So the loss is at most 2 t τ with the largest
 * τ, the sum of A_ii S_ii over the entries of a step. t alone is no bound: τ is the loss where the entries of one block
 * nearly cancel, while a step by itself has t = n whatever its condition. */

/** P, G and M' of a step whose block is c->M + beside (first: beside alone); see ks_map_eliminate(). Return -1, or the
 *  row that is not positive. */
KS_HD int KS_T(ks_map_take_out)(int n, int first, const KS_NUM *beside, const KS_NUM *next, const KS_NUM *C,
                                KS_T(ks_map_chain) *c, ks_evidence *pivots)
{
    const int ld = KS_T(ks_map_ld)(n);
    c->P = c->P_room;
    c->G = c->G_room;
    const int bad = KS_T(ks_map_inverse)(n, ld, beside, first ? (const KS_NUM *)0 : c->M, c->P_room, pivots);
    KS_T(ks_map_times)(n, ld, c->P, C, c->G_room);
    KS_T(ks_map_less_transposed)(n, ld, C, c->G, next, c->M_room);
    return bad;
}

/** Eliminate step k in the direction of the coupling C. Its block is c->M + beside (first: beside alone), its
 *  right-hand side c->z. P and P z go to the places of the results; with more than KS_MAP_FEW states R and y do. c->M
 *  becomes the block of the following step: `next`, minus what the elimination takes from it. constant: beside and next
 *  are the same whenever this is set. soon: see ks_map_soon(). */
KS_HD void KS_T(ks_map_eliminate)(int n, int64_t k, int first, int constant, const KS_NUM *beside,
                                  const KS_NUM *next, const KS_NUM *C, const KS_NUM *soon, const ks_map_system *a,
                                  KS_T(ks_map_memory) *w, ks_map_review *r)
{
    const int ld = KS_T(ks_map_ld)(n), block = KS_T(ks_map_block)(n);
    KS_T(ks_map_chain) *c = &w->chain;
    KS_T(ks_memo) *memo = &c->memo;
    const int may = constant && !first && memo->slots > 0;
    const int at = may ? KS_T(ks_memo_find)(memo, (const KS_NUM *)0, c->M) : -1;
    ks_evidence pivots = ks_evidence_start();
    if (at >= 0) {
        KS_T(ks_map_recall)(memo, at, block, &c->P, &c->G, &c->M);
        pivots = c->pivots[at];
    } else {
        KS_NUM *slot = may ? KS_T(ks_memo_miss)(memo, (const KS_NUM *)0, c->M) : (KS_NUM *)0;
        const int place = memo->next;
        if (!may) memo->last = -1;
        if ((n > KS_MAP_FEW ? KS_T(ks_map_take_out_wide)(n, first, beside, next, C, soon, w, &pivots)
                            : KS_T(ks_map_take_out)(n, first, beside, next, C, c, &pivots)) >= 0)
            r->lost_step = k;
        c->M = c->M_room;
        if (slot) {
            c->pivots[place] = pivots;
            KS_T(ks_map_record)(memo, slot, block, c->P, c->G, c->M);
        }
    }
    KS_T(ks_map_gather_all)(&r->evidence, &pivots);
    KS_NUM *S = (KS_NUM *)ks_slot_of(a->S, k);
    if (n > KS_MAP_FEW) {
        KS_T(ks_copy)(ld, c->z, c->p);
        KS_T(ks_map_root_forward)(n, c->P, c->p);
        KS_T(ks_map_store_root)(n, c->P, S);
    } else {
        KS_T(ks_map_store)(n, n, ld, c->P, S);
        KS_T(ks_map_rows)(n, ld, c->P, c->z, c->zero, c->p);
    }
    KS_T(ks_map_store)(1, n, ld, c->p, (KS_NUM *)ks_slot_of(a->x, k));
}

/** Eliminate step k. Upwards, `own` is the block of step k + 1; downwards, that of step k. c->z becomes the right-hand
 *  side of the following step, whose own part is b. */
KS_HD void KS_T(ks_map_pass_on)(int n, int64_t steps, int64_t k, int up, int first, int constant,
                                const KS_T(ks_map_link) *l, const KS_NUM *own, const KS_NUM *b,
                                const ks_map_system *a, KS_T(ks_map_memory) *w, ks_map_review *r)
{
    const int wide = n > KS_MAP_FEW;
    KS_T(ks_map_chain) *c = &w->chain;
    const KS_NUM *carried = wide ? w->room.carried : l->carried;
    const KS_NUM *C = up ? (wide ? w->room.C : l->C) : (wide ? w->room.N : l->N);
    const KS_NUM *soon = wide ? KS_T(ks_map_soon)(n, steps, up ? k + 1 : k - 1, a) : (const KS_NUM *)0;
    KS_T(ks_map_eliminate)(n, k, first, constant, up ? carried : own, up ? own : carried, C, soon, a, w, r);
    if (wide) {
        KS_T(ks_map_panel_times)(n, c->G, c->p, b, c->z);
    } else {
        /* G = P C with z, not C with P z: a step then waits for one product instead of two. */
        KS_NUM *z = c->p;
        KS_T(ks_map_rows)(n, KS_T(ks_map_ld)(n), c->G, c->z, b, z);
        c->p = c->z;
        c->z = z;
    }
}

/** Upwards: the rows of step k complete step k - 1. Eliminate it and begin step k. */
KS_HD int KS_T(ks_map_ascend)(int n, const ks_series *s, int64_t k, const ks_map_system *a,
                              KS_T(ks_map_memory) *w, ks_map_review *r, ks_tally *tally)
{
    const int ld = KS_T(ks_map_ld)(n);
    int complete = 0;
    KS_T(ks_map_chain) *c = &w->chain;
    const KS_T(ks_map_link) *l =
        KS_T(ks_map_link_of)(n, KS_MAP_INWARDS | KS_MAP_UPWARDS, s, k, a, w, tally);
    if (!l) return -1;
    const KS_NUM *own = KS_T(ks_map_own)(n, s, k, a, l, w, &complete, r, tally);
    if (!own) return -1;
    if (k == 0) {
        KS_T(ks_map_remember)(n, s, a, 0, 1, c);
        KS_T(ks_copy)(KS_T(ks_map_block)(n), own, c->M_room);
        c->M = c->M_room;
        KS_T(ks_copy)(ld, c->b, c->z);
        return 0;
    }
    KS_T(ks_map_minus)(ld, c->z, l->cu, c->z);
    KS_T(ks_map_pass_on)(n, s->steps, k - 1, 1, 0, complete, l, own, c->b, a, w, r);
    return 0;
}

/** Downwards, k >= 1: step k is complete. Eliminate it and begin step k - 1. */
KS_HD int KS_T(ks_map_descend)(int n, const ks_series *s, int64_t k, const ks_map_system *a,
                               KS_T(ks_map_memory) *w, ks_map_review *r, ks_tally *tally)
{
    const int ld = KS_T(ks_map_ld)(n);
    int complete = 0;
    KS_T(ks_map_chain) *c = &w->chain;
    const KS_T(ks_map_link) *l = KS_T(ks_map_link_of)(n, KS_MAP_INWARDS, s, k, a, w, tally);
    if (!l) return -1;
    const KS_NUM *own = KS_T(ks_map_own)(n, s, k, a, l, w, &complete, r, tally);
    if (!own) return -1;
    const int first = k == s->steps - 1;
    if (first) KS_T(ks_map_remember)(n, s, a, 0, 1, c);
    KS_T(ks_map_sum)(1, ld, first ? c->zero : c->z, c->b, c->z);
    KS_T(ks_map_pass_on)(n, s->steps, k, 0, first, complete, l, own, c->zero, a, w, r);
    KS_T(ks_map_minus)(ld, c->z, l->cu, c->z);
    return 0;
}

/** Make mean and covariance of step k, at which both lanes have arrived, for both to go on. `down` is NULL if there is
 *  one lane. */
KS_HD void KS_T(ks_map_meet)(int n, int64_t k, const ks_map_system *a, KS_T(ks_map_memory) *up,
                             KS_T(ks_map_memory) *down, ks_map_review *r)
{
    const int ld = KS_T(ks_map_ld)(n);
    KS_T(ks_map_chain) *c = &up->chain;
    const KS_NUM *beside = down ? down->chain.M : (const KS_NUM *)0;
    KS_NUM *S = c->S_room[0];
    for (int i = 0; down && i < ld; ++i) c->z[i] = c->z[i] + down->chain.z[i];
    if (n > KS_MAP_FEW) {
        KS_T(ks_map_meet_wide)(n, k, up, down, r);
    } else {
        if (KS_T(ks_map_inverse)(n, ld, c->M, beside, S, &r->evidence) >= 0) r->lost_step = k;
        KS_T(ks_map_mirror)(n, ld, S);
        KS_T(ks_map_rows)(n, ld, S, c->z, c->zero, c->x);
    }
    KS_T(ks_map_store)(n, n, ld, S, (KS_NUM *)ks_slot_of(a->S, k));
    KS_T(ks_map_store)(1, n, ld, c->x, (KS_NUM *)ks_slot_of(a->x, k));
    c->S = S;
    if (!down) return;
    KS_T(ks_copy)(n * ld, S, down->chain.S_room[0]);
    KS_T(ks_copy)(ld, c->x, down->chain.x);
    down->chain.S = down->chain.S_room[0];
}

/** Compute G, X and S_next of ks_map_substitute() for a step that repeats no earlier one. */
KS_HD void KS_T(ks_map_spread)(int n, int falling, const KS_NUM *N, KS_T(ks_map_chain) *c)
{
    const int ld = KS_T(ks_map_ld)(n);
    KS_NUM *S_next = c->S == c->S_room[0] ? c->S_room[1] : c->S_room[0];
    if (falling)
        KS_T(ks_map_times)(n, ld, N, c->P, c->G_room);
    else
        KS_T(ks_map_transposed_times)(n, ld, N, c->P, c->G_room);
    KS_T(ks_map_times)(n, ld, c->S, c->G_room, c->X_room);
    KS_T(ks_map_symmetric)(n, n, ld, c->G_room, c->X_room, c->P, S_next);
    c->G = c->G_room;
    c->X = c->X_room;
    c->S_next = S_next;
}

/** From c->S and c->x, the results of a step, make those of its neighbour k, which was eliminated towards it: c->S_next
 *  and c->x_next. Also set c->X to their cross-covariance S Gᵀ and c->G to Gᵀ. falling, a literal: the neighbour is the
 *  previous step and its coupling was Nᵀ; otherwise N. */
KS_HD void KS_T(ks_map_substitute)(int n, int64_t k, int falling, const KS_NUM *N,
                                   const ks_map_system *a, KS_T(ks_map_chain) *c)
{
    const int ld = KS_T(ks_map_ld)(n), block = n * ld;
    KS_T(ks_memo) *memo = &c->memo;
    KS_NUM *P = (KS_NUM *)ks_slot_of(a->S, k), *Pz = (KS_NUM *)ks_slot_of(a->x, k);
    c->P = KS_T(ks_map_rows_of)(n, n, ld, 1, P, c->P_room);
    KS_T(ks_map_load)(1, n, ld, Pz, c->p);
    const int at = memo->slots > 0 ? KS_T(ks_memo_find)(memo, c->P, c->S) : -1;
    if (at >= 0) {
        KS_T(ks_map_recall)(memo, at, block, &c->G, &c->X, &c->S_next);
    } else {
        /* A slot may be overwritten while S is still needed. */
        if (c->S != c->S_room[0] && c->S != c->S_room[1]) {
            KS_T(ks_copy)(block, c->S, c->S_room[0]);
            c->S = c->S_room[0];
        }
        KS_NUM *slot = memo->slots > 0 ? KS_T(ks_memo_miss)(memo, c->P, c->S) : (KS_NUM *)0;
        KS_T(ks_map_spread)(n, falling, N, c);
        if (slot) KS_T(ks_map_record)(memo, slot, block, c->G, c->X, c->S_next);
    }
    KS_T(ks_map_rows)(n, ld, c->G, c->x, c->p, c->x_next);
    KS_T(ks_map_store)(n, n, ld, c->S_next, P);
    KS_T(ks_map_store)(1, n, ld, c->x_next, Pz);
}

/** Make the neighbour the current step. */
KS_HD void KS_T(ks_map_go_on)(KS_T(ks_map_chain) *c)
{
    KS_NUM *x = c->x;
    c->S = c->S_next;
    c->x = c->x_next;
    c->x_next = x;
}

/** Residual of the transition into step k, or of the prior, at x[k] and x[k-1]. Its quadratic form goes to the
 *  evidence, Q⁻¹ times it to c->q, and Fᵀ times that to c->pull. */
KS_HD void KS_T(ks_map_shift)(int n, int64_t k, const KS_T(ks_map_link) *l, const KS_NUM *x,
                              const KS_NUM *before, KS_T(ks_map_chain) *c, ks_map_review *r)
{
    const int ld = KS_T(ks_map_ld)(n);
    KS_NUM *q = c->q, *white = c->white;
    KS_T(ks_map_minus)(ld, x, l->u, q);
    if (k > 0) KS_T(ks_map_less_rows)(n, ld, l->transposed_F, before, q, q);
    KS_T(ks_map_rows)(n, ld, l->transposed_root, q, c->zero, white);
    KS_T(ks_map_scaled)(ld, l->inverse_d, white, q);
    r->evidence.quadratic += (double)KS_T(ks_map_dot)(ld, white, q);
    KS_T(ks_copy)(ld, q, white);
    KS_T(ks_map_rows)(n, ld, l->root, white, c->zero, q);
    if (k > 0) KS_T(ks_map_rows)(n, ld, l->F, q, c->zero, c->pull);
}

/** Residual of the m entries that a step with mean x observes. Its quadratic form goes to the evidence; c->slope
 *  becomes c->q with its gradient added. v holds 2 m numbers. */
KS_HD void KS_T(ks_map_miss)(int m, int n, const KS_T(ks_map_entries) *t,
                             const KS_T(ks_observation) *o, const KS_NUM *x, KS_NUM *v,
                             KS_T(ks_map_chain) *c, ks_map_review *r)
{
    const int ld = KS_T(ks_map_ld)(n);
    KS_NUM *white = v + m;
    for (int i = 0; i < m; ++i)
        white[i] = v[i] = (o->y[i] - o->d[i]) - KS_T(ks_map_dot)(ld, t->H + i * ld, x);
    KS_T(ks_ldl_forward)(m, 1, t->LD, white);
    KS_NUM sum = KS_LIT(0);
    for (int i = 0; i < m; ++i) sum = sum + white[i] * white[i] * t->inverse_d[i];
    r->evidence.quadratic += (double)sum;
    KS_T(ks_map_less_rows)(m, ld, t->K, v, c->q, c->slope);
}

/** The traces of A, a part of a step's block in rows, with the step's covariance S. */
KS_HD ks_map_share KS_T(ks_map_share_of)(int n, const KS_NUM *A, const KS_NUM *S)
{
    const int ld = KS_T(ks_map_ld)(n);
    KS_NUM sum = KS_LIT(0);
    ks_map_share share;
    for (int i = 0; i < n; ++i) sum = sum + A[i * ld + i] * S[i * ld + i];
    share.trace = (double)KS_T(ks_map_dot)(n * ld, A, S);
    share.inflation = (double)sum;
    return share;
}

/** The sum of two parts. */
KS_HD ks_map_share KS_T(ks_map_shares)(ks_map_share a, ks_map_share b)
{
    a.trace += b.trace;
    a.inflation += b.inflation;
    return a;
}

/** Residuals of step k with mean x and covariance S, after ks_map_shift(): c->slope and c->share become the step's own
 *  parts of gradient and traces. */
KS_HD void KS_T(ks_map_judge_own)(int n, const KS_T(ks_map_link) *l,
                                  const KS_T(ks_map_entries) *t, const KS_T(ks_observation) *o,
                                  const KS_NUM *x, const KS_NUM *S, KS_T(ks_map_memory) *w,
                                  ks_map_review *r)
{
    const int ld = KS_T(ks_map_ld)(n);
    KS_T(ks_map_chain) *c = &w->chain;
    if (o->m == 0) {
        KS_T(ks_copy)(ld, c->q, c->slope);
        c->share = KS_T(ks_map_share_of)(n, l->precision, S);
        return;
    }
#define CALL(m) KS_T(ks_map_miss)(m, n, t, o, x, w->v, c, r)
    KS_WITH_LITERAL_ENTRIES(n, o->m, CALL)
#undef CALL
    c->share = KS_T(ks_map_share_of)(n, t->own, S);
}

/** Judge a step with mean x and covariance S by its whole gradient, slope - pull, and its whole traces. */
KS_HD void KS_T(ks_map_weigh)(int n, const ks_map_system *a, const KS_NUM *slope,
                              const KS_NUM *pull, ks_map_share share, const KS_NUM *x, const KS_NUM *S,
                              int64_t k, KS_T(ks_map_chain) *c, ks_map_review *r)
{
    const int ld = KS_T(ks_map_ld)(n);
    double steepness = 0;
    int finite = 1;
    KS_NUM *g = c->white, *turned = c->p;
    for (int i = 0; i < n; ++i) {
        const double variance = (double)S[i * ld + i];
        g[i] = slope[i] - pull[i];
        steepness += (double)g[i] * (double)g[i] * variance;
        finite &= (fabs((double)x[i]) <= a->largest) & (variance <= a->largest);
    }
    /* With few states n times the sum of squares, which is at least gᵀ S g, is tight enough. */
    steepness = n * steepness;
    if (n > KS_MAP_FEW) {
        KS_T(ks_map_rows)(n, ld, S, g, c->zero, turned);
        steepness = (double)KS_T(ks_map_dot)(ld, g, turned);
    }
    if (!finite) r->bad_step = k;
    KS_T(ks_map_largest)(KS_T(ks_map_trace_known)(n, share.trace), &r->loss);
    KS_T(ks_map_largest)(share.inflation, &r->inflation);
    KS_T(ks_map_largest)(steepness, &r->gradient);
}

/** Back down: make the results of step k - 1 from those of step k, and judge step k. ks_map_join() judges the
 *  middle. */
KS_HD int KS_T(ks_map_back_down)(int n, const ks_series *s, int64_t k, const ks_map_system *a,
                                 KS_T(ks_map_memory) *w, ks_map_review *r, ks_tally *tally)
{
    const int ld = KS_T(ks_map_ld)(n);
    KS_T(ks_map_chain) *c = &w->chain;
    const KS_T(ks_map_link) *l = KS_T(ks_map_link_of)(n, KS_MAP_OUTWARDS, s, k, a, w, tally);
    if (!l) return -1;
    KS_T(ks_observation) o;
    const KS_T(ks_map_entries) *t = KS_T(ks_map_entries_of)(n, s, k, l, a, w, &o, tally);
    if (!t) return -1;
    if (k == a->middle) KS_T(ks_map_remember)(n, s, a, 1, 1, c);
    if (k > 0) {
        if (n > KS_MAP_FEW)
            KS_T(ks_map_substitute_wide)(n, k - 1, k == s->steps - 1, o.m == s->ny,
                                         KS_T(ks_map_own_block)(n, o.m, l, t, w),
                                         w->room.carried, w->room.N,
                                         KS_T(ks_map_soon)(n, s->steps, k - 2, a), a, w, r);
        else
            KS_T(ks_map_substitute)(n, k - 1, 1, l->N, a, c);
        if (a->lag.base) KS_T(ks_map_store)(n, n, ld, c->X, (KS_NUM *)ks_slot_of(a->lag, k));
    }
    KS_NUM *pull = c->pull;
    c->pull = c->pull_next;
    c->pull_next = pull; /* that of the step above */
    const ks_map_share share = c->share_next;
    KS_T(ks_map_shift)(n, k, l, c->x, c->x_next, c, r);
    KS_T(ks_map_judge_own)(n, l, t, &o, c->x, c->S, w, r);
    if (k < a->middle) {
        KS_T(ks_map_weigh)(n, a, c->slope, c->pull_next, KS_T(ks_map_shares)(c->share, share), c->x,
                            c->S, k, c, r);
    } else {
        KS_T(ks_copy)(ld, c->slope, c->middle_slope);
        c->middle_share = c->share;
        KS_T(ks_copy)(ld, c->x, c->middle_x);
        KS_T(ks_copy)(n * ld, c->S, c->middle_S);
    }
    if (k == 0) return 0;
    c->share_next = KS_T(ks_map_share_of)(n, l->carried, c->S_next);
    KS_T(ks_map_go_on)(c);
    return 0;
}

/** Back up: make the results of step k from those of step k - 1, and judge step k - 1. ks_map_join() judges the middle;
 *  the last step is judged here, too. */
KS_HD int KS_T(ks_map_back_up)(int n, const ks_series *s, int64_t k, const ks_map_system *a,
                               KS_T(ks_map_memory) *w, ks_map_review *r, ks_tally *tally)
{
    const int ld = KS_T(ks_map_ld)(n);
    const int outwards = n > KS_MAP_FEW ? KS_MAP_OUTWARDS | KS_MAP_UPWARDS : KS_MAP_OUTWARDS;
    KS_T(ks_map_chain) *c = &w->chain;
    const KS_T(ks_map_link) *l = KS_T(ks_map_link_of)(n, outwards, s, k, a, w, tally);
    if (!l) return -1;
    KS_T(ks_observation) o;
    const KS_T(ks_map_entries) *t = KS_T(ks_map_entries_of)(n, s, k, l, a, w, &o, tally);
    if (!t) return -1;
    if (k == a->middle + 1) KS_T(ks_map_remember)(n, s, a, 1, 1, c);
    if (n > KS_MAP_FEW)
        KS_T(ks_map_substitute_wide)(n, k, 0, o.m == s->ny, w->room.carried,
                                     KS_T(ks_map_own_block)(n, o.m, l, t, w), w->room.C,
                                     KS_T(ks_map_soon)(n, s->steps, k + 1, a), a, w, r);
    else
        KS_T(ks_map_substitute)(n, k, 0, l->N, a, c);
    if (a->lag.base) KS_T(ks_map_store_transposed)(n, ld, c->X, (KS_NUM *)ks_slot_of(a->lag, k));
    KS_T(ks_map_shift)(n, k, l, c->x_next, c->x, c, r);
    const ks_map_share carried = KS_T(ks_map_share_of)(n, l->carried, c->S);
    if (k == a->middle + 1) {
        KS_T(ks_copy)(ld, c->pull, c->middle_slope);
        c->middle_share = carried;
    } else {
        KS_T(ks_map_weigh)(n, a, c->slope, c->pull, KS_T(ks_map_shares)(c->share, carried), c->x,
                            c->S, k - 1, c, r);
    }
    KS_T(ks_map_judge_own)(n, l, t, &o, c->x_next, c->S_next, w, r);
    KS_T(ks_map_go_on)(c);
    if (k == s->steps - 1)
        KS_T(ks_map_weigh)(n, a, c->slope, c->zero, c->share, c->x, c->S, k, c, r);
    return 0;
}

/** Judge the middle, after both lanes are back. `down` is NULL if there is one lane. */
KS_HD void KS_T(ks_map_join)(int n, int64_t k, const ks_map_system *a,
                             KS_T(ks_map_memory) *up, const KS_T(ks_map_memory) *down,
                             ks_map_review *r)
{
    KS_T(ks_map_chain) *c = &up->chain;
    const ks_map_share share =
        down ? KS_T(ks_map_shares)(c->middle_share, down->chain.middle_share) : c->middle_share;
    KS_T(ks_map_weigh)(n, a, c->middle_slope, down ? down->chain.middle_slope : c->zero, share,
                       c->middle_x, c->middle_S, k, c, r);
}
