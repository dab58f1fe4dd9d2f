/* two_ended_tiled_out_text.h -- ranges of steps of the way back out to the right, by hand-shaped kernels; see num_f64.h
 * and two_ended_tiled_range_text.h. For plain C on the CPU. */

/** The slot of a step with the rows A and K and the covariance P, or -1. */
KS_HD int KS_T(ks_ends_find)(int nn, int half, KS_T(ks_memo) *memo, const KS_NUM *A,
                             const KS_NUM *K, const KS_NUM *P, KS_NUM *pair)
{
    const int next = memo->last < 0 ? -1 : memo->follower[memo->last];
    if (next >= 0) { /* P is known to equal the key of this slot */
        const KS_NUM *slot = memo->base + (int64_t)next * memo->size;
        if (memcmp(slot, A, (size_t)nn * sizeof *A) == 0 &&
            memcmp(slot + nn, K, (size_t)half * sizeof *K) == 0)
            return memo->last = next;
    }
    if (KS_T(ks_memo_looks)(memo, P)) {
        KS_T(ks_copy)(nn, A, pair);
        KS_T(ks_copy)(half, K, pair + nn);
    }
    return KS_T(ks_memo_find)(memo, pair, P);
}

/** ks_information_enough(), with rows of P n apart. */
KS_HD int KS_T(ks_ends_enough)(int quad, int nx, int n, const KS_NUM *bound, const KS_NUM *x, const KS_NUM *P)
{
    if (quad) {
        const KS_T(ks_quad) limit = KS_LOAD4(bound), p = { P[0], P[5], P[10], P[15] };
        const KS_T(ks_quad) mean = KS_LOAD4(x), weighed = limit * mean;
        const KS_NUM sum = KS_T(ks_quad_dot)(&limit, &p);
        const KS_NUM weight = KS_T(ks_quad_dot)(&weighed, &mean);
        /* These sums are in another order, so half of the limits leaves room for round-off. */
        if (KS_GT(KS_LIT(KS_GROWTH / 2), sum) &&
            KS_GT(KS_LIT(KS_GROWTH / 2) * KS_LIT(KS_GROWTH / 2), sum * weight))
            return 1;
    }
    return KS_T(ks_information_enough)(nx, bound, x, P, n + 1);
}

/** The sum of squares that a step adds to the quadratic form at the smoothed x. For the packed factors of K see
 *  ks_ends_noise(). */
KS_HD double KS_T(ks_ends_squares)(ks_shape shape, int nx, const KS_T(ks_ends_channels) *o,
                                   const KS_NUM *x, const KS_NUM *packed, const KS_T(ks_ends_blocks) *w, KS_NUM *v)
{
    double squares = w->passage == KS_BY_ROOT ? KS_T(ks_ends_noise)(nx, packed, w->eps)
                                              : KS_T(ks_ends_disturbance)(nx, KS_T(ks_ends_rows)(shape, nx), w);
    if (shape == KS_SHAPE_QUAD) {
        const KS_T(ks_quad) mean = KS_LOAD4(x);
        for (int a = 0; a < o->m; ++a) {
            const KS_T(ks_quad) h = KS_LOAD4(o->H + 4 * a);
            v[a] = v[a] - KS_T(ks_quad_dot)(&h, &mean);
        }
    } else {
        for (int a = 0; a < o->m; ++a) {
            const KS_NUM *h = o->H + a * nx;
            KS_NUM even = v[a], odd = KS_LIT(0);
            int c = 0;
            for (; c + 2 <= nx; c += 2) {
                even = even - h[c] * x[c];
                odd = odd - h[c + 1] * x[c + 1];
            }
            if (c < nx) even = even - h[c] * x[c];
            v[a] = even + odd;
        }
    }
    KS_T(ks_whiten)(o->m, o->LT, KS_T(ks_ends_few)(shape, o->m), v);
    for (int i = 0; i < o->m; ++i) squares += (double)(v[i] * v[i] * o->inverse_r[i]);
    return squares;
}

/** See ks_two_ended_kernels.outward, for a `state` in the ordinary form; shape is a literal. Returns the first step not
 *  taken, or -1 if the information was not good enough. */
KS_HD int64_t KS_T(ks_tiled_outward_steps)(ks_shape shape, int nx, const ks_series *s, int64_t k0,
                                           int64_t k1, ks_state *state, const ks_right_rows *from,
                                           const ks_backward_sinks *to, void *memory,
                                           ks_tally *tally)
{
    const int quad = shape == KS_SHAPE_QUAD, rows = shape == KS_SHAPE_ROWS;
    const int n = KS_T(ks_ends_rows)(shape, nx), ny = s->ny, half = nx * (nx + 1) / 2;
    const int moves = s->F.stride || s->Q.stride || s->u.stride, ahead = KS_T(ks_steps_ahead)(shape);
    ks_prefetch later = { .rows = 0 }, *const prefetch = KS_QUEUES(shape, nx) ? &later : NULL;
    KS_T(ks_ends_memory) w = KS_T(ks_ends_begin)(shape, nx, ny, k0, k1, memory);
    w.step.prefetch = prefetch;
    const int nn = nx * nx, lag = to->lag_one_cov.base != NULL;
    KS_T(ks_memo) memo = KS_T(ks_ends_memo)(n, s, k1 - k0, nn + half, nx * n, 3 * nx * n, &w);
    const KS_NUM *P = w.P;
    const int64_t tiles = 2 * KS_T(ks_tiles_of)(nx, KS_T(ks_padded)(nx));
    double quadratic = tally->evidence.quadratic;
    int fresh = 1;
    int64_t k = k0;
    KS_T(ks_tiled_enter)(nx, n, state, w.x, w.P);
    KS_T(ks_ends_transition_any)(nx, n, s, k, 1, &w);
    for (; k < k1; ++k) {
        const KS_NUM *bound =
            (const KS_NUM *)ks_slot_of(from->bound, (k - from->first) / KS_BOUND_STEPS);
        const KS_NUM *A = (const KS_NUM *)ks_slot_of(from->A, k);
        const KS_NUM *K = (const KS_NUM *)ks_slot_of(from->K, k);
        const KS_NUM *b = (const KS_NUM *)ks_slot_of(from->b, k);
        KS_T(ks_ends_expect)(prefetch, nx, s, k + ahead, k + ahead < k1, from, tiles);
        if (!KS_T(ks_ends_enough)(quad, nx, n, bound + nx, w.x, P)) return -1;
        if (moves) KS_T(ks_ends_transition)(shape, nx, n, s, k, 0, 1, &w);
        w.step.passage = (ks_passage) * (const unsigned char *)ks_slot_of(from->passage, k);
        if (w.step.passage == KS_BY_ROOT) KS_T(ks_ends_root)(shape, nx, n, 1, s, k, &w);
        else KS_T(ks_ends_factors)(shape, nx, n, s, k, &w);
        const KS_T(ks_ends_channels) *o =
            KS_T(ks_ends_observe)(shape, 1, nx, n, ny, s, k, &fresh, &w);
        if (!o) break;
        KS_NUM *record = NULL, *Pn = P == w.P ? w.Pn : w.P;
        const KS_NUM *next = Pn, *both = w.lag;
        const KS_NUM *V = shape == KS_SHAPE_TILES && w.step.passage != KS_BY_ROOT ? w.step.lower : w.step.V;
        int at = -1;
        if (memo.slots) {
            at = KS_T(ks_ends_find)(nn, half, &memo, A, K, P, w.pair);
            if (at < 0) record = KS_T(ks_memo_miss)(&memo, w.pair, P);
        }
        if (at >= 0) {
            next = memo.base + (int64_t)at * memo.size + nn + half + nx * n;
            both = next + nx * n;
            V = both + nx * n;
        } else {
            if (!quad) KS_T(ks_load_factors)(nx, n, K, w.LT, w.inverse_d);
            const KS_MASK good =
                quad   ? KS_T(ks_quad_advance)(&w.step, A, K, P, Pn, w.lag)
                : rows ? KS_T(ks_row_advance_any)(nx, &w.step, A, w.LT, w.inverse_d, P, Pn, w.lag)
                       : KS_T(ks_tiled_advance)(nx, n, &w.step, A, nx, w.LT, w.inverse_d, P, Pn, w.lag);
            if (!KS_ALL(good)) break;
            if (record) {
                KS_NUM *slot = record + nn + half + nx * n;
                KS_T(ks_copy)(nx * n, Pn, slot);
                KS_T(ks_copy)(nx * n, w.lag, slot + nx * n);
                KS_T(ks_copy)(nx * n, V, slot + 2 * nx * n);
                KS_T(ks_memo_keep)(&memo);
            }
        }
        if (quad) KS_T(ks_quad_advance_mean)(&w.step, V, A, b, w.x);
        else if (rows) KS_T(ks_row_advance_mean_any)(nx, &w.step, V, A, b, w.x);
        else KS_T(ks_tiled_advance_mean)(nx, n, &w.step, V, A, nx, b, w.x);
        P = next;
        if (!KS_T(ks_tiled_finite)(nx, n, w.x, P)) {
            (void)KS_T(ks_step_fault)(k, 0, KS_ARRAY_ESTIMATE, KS_FAULT_NOT_FINITE, tally);
            break;
        }
        if (!KS_T(ks_ends_enough)(quad, nx, n, bound, w.x, P)) return -1;
        quadratic += KS_T(ks_ends_squares)(shape, nx, o, w.x, K, &w.step, w.v);
        KS_T(ks_tiled_write)(nx, n, k, w.x, P, to->smoothed_mean, to->smoothed_cov,
                             to->smoothed_var);
        if (lag) KS_T(ks_unpad)(nx, n, both, (KS_NUM *)ks_slot_of(to->lag_one_cov, k));
    }
    tally->evidence.quadratic = quadratic;
    tally->ordinary += k - k0;
    KS_T(ks_tiled_leave)(nx, n, w.x, P, state);
    return k;
}
