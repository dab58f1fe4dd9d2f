/* map_wide_text.h -- the steps of map_chain_text.h with more than KS_MAP_FEW states: blocks are factored, not inverted;
 * see num_f64.h. For scalar numbers.
 *
 * With M = Rᵀ R, W = R⁻ᵀ C and y = R⁻ᵀ z an eliminated step leaves
 *
 *     M' = A[k+1, k+1] - Wᵀ W,   z' = b[k+1] + Wᵀ y,
 *
 * and R and y are kept in its place. On the way back the steps that were eliminated from the other end are eliminated
 * again from this one. That takes W'ᵀ W' from a step's block, where the first elimination took Wᵀ W:
 *
 *     S[k, k]⁻¹ = Rᵀ R - W'ᵀ W',   x[k] = R⁻¹ (y + R⁻ᵀ C x[k+1]),   S[k+1, k] = R'⁻¹ W' S[k, k].
 *
 * That is 6 n³ operations a step, where S[k, k] = R⁻¹ (I + W S[k+1, k+1] Wᵀ) R⁻ᵀ would take 8 n³. The means are
 * substituted, since their residuals must cancel from step to step. */

/** Return where the results of step k go, to prefetch them. NULL beyond the ends of the series, for blocks that the
 *  processor prefetches by itself, and for blocks that would drive the panels out of the caches. */
KS_HD const KS_NUM *KS_T(ks_map_soon)(int n, int64_t steps, int64_t k, const ks_map_system *a)
{
    return n >= 12 && n <= 160 && k >= 0 && k < steps ? (const KS_NUM *)ks_slot_of(a->S, k)
                                                      : (const KS_NUM *)0;
}

/** Factor the block c->M + beside (first: beside alone) and its coupling C, in the pair. Return -1, or the row that is
 *  not positive. */
KS_HD int KS_T(ks_map_factor_pair)(int n, int first, const KS_NUM *beside, const KS_NUM *C,
                                   const KS_NUM *soon, KS_T(ks_map_memory) *w, ks_evidence *e)
{
    const int block = KS_T(ks_map_block)(n);
    KS_NUM *pair = w->room.pair;
    if (first)
        KS_T(ks_map_panel_copy)(n, beside, pair);
    else
        KS_T(ks_map_panel_sum)(n, w->chain.M, beside, pair);
    KS_T(ks_map_panel_copy)(n, C, pair + block);
    return KS_T(ks_map_cholesky)(n, 1, pair, soon, e);
}

/** ks_map_take_out() with R and W in place of P and G. */
KS_HD int KS_T(ks_map_take_out_wide)(int n, int first, const KS_NUM *beside, const KS_NUM *next, const KS_NUM *C,
                                     const KS_NUM *soon, KS_T(ks_map_memory) *w, ks_evidence *pivots)
{
    KS_T(ks_map_chain) *c = &w->chain;
    const int bad = KS_T(ks_map_factor_pair)(n, first, beside, C, soon, w, pivots);
    c->P = w->room.pair;
    c->G = w->room.pair + KS_T(ks_map_block)(n);
    KS_T(ks_map_panel_copy)(n, next, c->M_room);
    KS_T(ks_map_less_gram)(n, c->G, c->M_room);
    return bad;
}

/** S, in rows, <- the inverse of the sum. The factor and the factor's inverse are left in its place. Pivots go to the
 *  evidence, unless it is NULL. Return -1, or the row that is not positive. */
KS_HD int KS_T(ks_map_invert_sum)(int n, KS_T(ks_map_room) *room, KS_NUM *S, ks_evidence *e)
{
    const int bad = KS_T(ks_map_cholesky)(n, 0, room->sum, (const KS_NUM *)0, e);
    KS_T(ks_map_invert_root)(n, 1, room->sum);
    KS_T(ks_map_clear_upper)(n, room->product);
    KS_T(ks_map_less_square)(n, room->sum + KS_T(ks_map_block)(n), room->product);
    KS_T(ks_map_minus_rows)(n, KS_T(ks_map_ld)(n), room->product, S);
    return bad;
}

/** X <- the cross-covariance of the step whose factor is the pair and the step whose covariance is S. */
KS_HD_COLD void KS_T(ks_map_lag_wide)(int n, const KS_NUM *S, KS_T(ks_map_room) *room, KS_NUM *X)
{
    const int ld = KS_T(ks_map_ld)(n), block = KS_T(ks_map_block)(n);
    KS_NUM *W = room->pair + block, *inverse = room->pair + 2 * block;
    KS_T(ks_map_invert_root)(n, 2, room->pair);
    KS_T(ks_map_panel_product)(n, W, inverse, room->product);
    KS_T(ks_map_to_panel)(n, ld, 0, S, room->sum);
    KS_T(ks_map_panel_product)(n, room->product, room->sum, room->pair);
    KS_T(ks_map_from_panel)(n, ld, room->pair, X);
}

/** Compute S_next (in the place given), M and, if `lag`, X of ks_map_substitute_wide() for a step that repeats no
 *  earlier one. Return -1, or a row that is not positive. */
KS_HD int KS_T(ks_map_spread_wide)(int n, int first, int lag, const KS_NUM *beside,
                                   const KS_NUM *next, const KS_NUM *C, const KS_NUM *soon,
                                   KS_NUM *S_next, KS_T(ks_map_memory) *w)
{
    const int block = KS_T(ks_map_block)(n);
    KS_T(ks_map_chain) *c = &w->chain;
    KS_T(ks_map_room) *room = &w->room;
    KS_NUM *sum = room->sum;
    const int bad = KS_T(ks_map_factor_pair)(n, first, beside, C, soon, w, (ks_evidence *)0);
    KS_T(ks_map_clear_upper)(n, sum);
    KS_T(ks_map_less_gram)(n, room->pair + block, sum);
    KS_T(ks_map_panel_sum)(n, next, sum, c->M_room);
    KS_T(ks_map_plus_square)(n, room->root, room->minus, sum);
    const int worse = KS_T(ks_map_invert_sum)(n, room, S_next, (ks_evidence *)0);
    if (lag) KS_T(ks_map_lag_wide)(n, S_next, room, c->X_room);
    c->M = c->M_room;
    c->X = c->X_room;
    c->S_next = S_next;
    return bad >= 0 ? bad : worse;
}

/** From c->S and c->x, the results of a step with the block c->M + beside (first: beside alone), make those of its
 *  neighbour k, which was eliminated towards it: c->S_next and c->x_next. c->M becomes what is left of `next` for k,
 *  c->X the cross-covariance of the step and k. C is the coupling of the step with k, Cᵀ that of k with the step. */
KS_HD void KS_T(ks_map_substitute_wide)(int n, int64_t k, int first, int constant,
                                        const KS_NUM *beside, const KS_NUM *next, const KS_NUM *C,
                                        const KS_NUM *soon, const ks_map_system *a,
                                        KS_T(ks_map_memory) *w, ks_map_review *r)
{
    const int ld = KS_T(ks_map_ld)(n), block = KS_T(ks_map_block)(n);
    KS_T(ks_map_chain) *c = &w->chain;
    KS_T(ks_map_room) *room = &w->room;
    KS_T(ks_memo) *memo = &c->memo;
    KS_NUM *S = (KS_NUM *)ks_slot_of(a->S, k), *y = (KS_NUM *)ks_slot_of(a->x, k);
    KS_T(ks_map_load_root)(n, S, room->root, room->minus);
    const int may = constant && !first && memo->slots > 0;
    const int at = may ? KS_T(ks_memo_find)(memo, room->root, c->M) : -1;
    if (at >= 0) {
        KS_T(ks_map_recall)(memo, at, block, &c->S_next, &c->X, &c->M);
    } else {
        /* A slot may be overwritten while S is still needed. */
        if (c->recalled) {
            KS_T(ks_copy)(n * ld, c->S, c->S_room[0]);
            c->S = c->S_room[0];
        }
        KS_NUM *slot = may ? KS_T(ks_memo_miss)(memo, room->root, c->M) : (KS_NUM *)0;
        KS_NUM *spare = c->S == c->S_room[0] ? c->S_room[1] : c->S_room[0];
        if (!may) memo->last = -1;
        if (KS_T(ks_map_spread_wide)(n, first, a->lag.base != 0, beside, next, C, soon,
                                     slot || n != ld ? spare : S, w) >= 0)
            r->lost_step = k;
        if (slot) KS_T(ks_map_record)(memo, slot, block, c->S_next, c->X, c->M);
    }
    KS_T(ks_map_panel_times)(n, C, c->x, c->zero, c->x_next);
    KS_T(ks_map_root_forward)(n, room->root, c->x_next);
    for (int i = 0; i < n; ++i) c->x_next[i] = c->x_next[i] + y[i];
    KS_T(ks_map_root_backward)(n, room->root, c->x_next);
    if (c->S_next != S) KS_T(ks_map_store)(n, n, ld, c->S_next, S);
    KS_T(ks_map_store)(1, n, ld, c->x_next, y);
    c->recalled = at >= 0;
}

/** Mean and covariance of ks_map_meet(). Each lane goes on with what the other one has left. */
KS_HD void KS_T(ks_map_meet_wide)(int n, int64_t k, KS_T(ks_map_memory) *up,
                                  KS_T(ks_map_memory) *down, ks_map_review *r)
{
    const int ld = KS_T(ks_map_ld)(n), block = KS_T(ks_map_block)(n);
    KS_T(ks_map_chain) *c = &up->chain;
    KS_T(ks_map_room) *room = &up->room;
    KS_T(ks_copy)(block, c->M, room->pair);
    KS_T(ks_copy)(block, c->M, room->sum);
    if (down) {
        KS_T(ks_map_panel_sum)(n, c->M, down->chain.M, room->sum);
        KS_T(ks_copy)(block, down->chain.M, c->M_room);
        KS_T(ks_copy)(block, room->pair, down->chain.M_room);
        c->M = c->M_room;
        down->chain.M = down->chain.M_room;
    }
    if (KS_T(ks_map_invert_sum)(n, room, c->S_room[0], &r->evidence) >= 0) r->lost_step = k;
    KS_T(ks_copy)(ld, c->z, c->x);
    KS_T(ks_map_root_forward)(n, room->sum, c->x);
    KS_T(ks_map_root_backward)(n, room->sum, c->x);
    c->recalled = 0;
    if (down) down->chain.recalled = 0;
}
