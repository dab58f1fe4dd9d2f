/* tiled_smooth_range_text.h -- ranges of smoother steps, backward, by the kernels of tiled_step_text.h;
 * see num_f64.h and tiled_range_text.h. For plain C on the CPU. */

/** Write Cov(x[k], x[k-1] | y) = Ps Eᵀ to row k. */
KS_HD_COLD void KS_T(ks_tiled_write_lag)(const ks_series *s, int n, int64_t k,
                                         const KS_NUM *Ps, const KS_NUM *ET, const KS_T(ks_tiled_memory) *w,
                                         ks_sink to)
{
    const int nx = s->nx;
    if (n == nx) {
        KS_T(ks_mm)(nx, nx, nx, Ps, ET, (KS_NUM *)ks_slot_of(to, k));
        return;
    }
    KS_T(ks_tiles)(0, 0, nx, nx, n, Ps, n, 1, ET, n, w->step.W, n, w->step.W, n);
    KS_T(ks_unpad)(nx, n, w->step.W, (KS_NUM *)ks_slot_of(to, k));
}

/** ks_memo_same() in whole vectors. Compilers compare one by one if the number is a small literal. */
KS_HD int KS_T(ks_tiled_same)(int numbers, const KS_NUM *a, const KS_NUM *b)
{
    KS_T(ks_masks) other = { 0 };
    int differ = 0;
    for (int i = 0; i < numbers; i += KS_LANES) other |= (KS_T(ks_masks))(KS_LOADV(a + i) != KS_LOADV(b + i));
#pragma GCC unroll 16
    for (int i = 0; i < KS_LANES; ++i) differ |= other[i] != 0;
    return !differ;
}

/** Smoother steps k - 1, k - 2 and so on whose covariances come from the memo, one after the other, with no outputs but
 *  mean and cov; k0 < k. The results are those of ks_tiled_smooth_steps(), with less work.
 *
 *  xs, padded, is the mean on entry and return; xn is scratch. *same: the filtered covariance of step k - 1 is that of
 *  step k. Returns the last step taken, k if none; *later is its smoothed covariance. *finite becomes false if the next
 *  step's mean is not finite. */
KS_HD int64_t KS_T(ks_tiled_smooth_repeat)(ks_shape shape, int nx, int n, const ks_series *s,
                                           int64_t k, int64_t k0, const KS_T(ks_blocks) *b, KS_T(ks_memo) *memo,
                                           const KS_T(ks_tiled_memory) *w,
                                           const ks_forward_sinks *kept, ks_sink mean, ks_sink cov,
                                           KS_NUM *xs, KS_NUM *xn, int *same, const KS_NUM **later, int *finite)
{
    const int quad = shape == KS_SHAPE_QUAD, ahead = 2 * KS_T(ks_steps_ahead)(shape);
    KS_T(ks_tiled) step = w->step;
    KS_NUM *from = xs, *to = xn;
    /* Nothing else points to these copies, so the vectors of a quad can stay in registers. */
    KS_NUM own[2][4];
    if (quad) {
        from = own[0];
        step.v = own[1];
        KS_T(ks_copy)(4, xs, from);
    }
    KS_T(ks_stream) stream;
    KS_T(ks_stream_begin)(shape, nx, s, KS_STREAM_LEAST, cov, &stream);
    for (; k > k0; --k) {
        const int at = memo->follower[memo->last];
        const unsigned char form = kept->form[k - 1 - kept->form_first];
        if (at < 0 || (form != (unsigned char)KS_FORM_ORDINARY && !(*same && form == KS_KEPT_BEFORE))) break;
        const KS_NUM *slot = memo->base + (int64_t)at * memo->size;
        /* Rows that are read are prefetched by the processor. */
        if (cov.base && *same && !stream.pays && k - ahead > k0)
            KS_T(ks_tiled_expect)(NULL, nx * nx, (const KS_NUM *)ks_slot_of(cov, k - 1 - ahead));
        const KS_NUM *x = (const KS_NUM *)ks_slot_of(kept->kept_mean, k - 1);
        const KS_NUM *P = (const KS_NUM *)ks_slot_of(kept->kept_C, k - 1);
        if (*same) {
            P = memo->base + (int64_t)memo->last * memo->size;
        } else if (n != nx) {
            if (shape == KS_SHAPE_ROWS) KS_T(ks_rows_pad)(nx, nx, P, w->kept);
            else KS_T(ks_pad_square)(nx, n, P, w->kept);
            P = w->kept;
        }
        if (P != slot && !KS_T(ks_tiled_same)(nx * n, slot, P)) break;
        const KS_NUM *ET = slot + 2 * n * n, *smoothed = ET + n * n;
        if (quad) {
            KS_T(ks_quad_smooth_mean)(b, x, ET, from, &step);
        } else {
            if (n != nx) {
                KS_T(ks_copy)(nx, x, w->filtered);
                x = w->filtered;
            }
            KS_T(ks_tiled_smooth_mean)(nx, n, b, x, from, ET, to, &step);
            KS_NUM *swap = from;
            from = to, to = swap;
        }
        KS_NUM sum = KS_LIT(0);
        for (int i = 0; i < nx; ++i) sum = sum + KS_LIT(0) * from[i];
        *finite = sum == KS_LIT(0);
        if (!*finite) break;
        if (stream.pays && *same) {
            KS_T(ks_stream_put)(1, nx, n, smoothed, at == memo->last, w->kept, cov, k - 1, &stream);
        } else if (cov.base) {
            /* This row has just been read, so it is in a near cache. */
            KS_T(ks_unpad)(nx, n, smoothed, (KS_NUM *)ks_slot_of(cov, k - 1));
            stream.packed = NULL;
        }
        memo->last = at;
        *later = smoothed;
        *same = form == KS_KEPT_BEFORE;
        if (mean.base) KS_T(ks_copy)(nx, from, (KS_NUM *)ks_slot_of(mean, k - 1));
    }
    if (stream.pays) ks_stream_end(&stream.lines);
    if (from != xs) KS_T(ks_copy)(quad ? 4 : n, from, xs);
    return k;
}

/* For quads a function of its own: inlined, the loop around it would run out of registers. */
KS_HD_COLD int64_t KS_T(ks_quad_smooth_repeat)(int64_t k, int64_t k0, const KS_T(ks_blocks) *b,
                                               KS_T(ks_memo) *memo,
                                               const KS_T(ks_tiled_memory) *w,
                                               const ks_forward_sinks *kept, ks_sink mean,
                                               ks_sink cov, KS_NUM *xs, int *same, const KS_NUM **later,
                                               int *finite)
{
    return KS_T(ks_tiled_smooth_repeat)(KS_SHAPE_QUAD, 4, 4, NULL, k, k0, b, memo, w, kept, mean, cov, xs,
                                        NULL, same, later, finite);
}

/** Smoother steps k1 - 1 down to k0, k1 < T, as long as the ordinary form has enough digits; see ks_smooth_steps().
 *  shape is a literal, rows are padded to n. gains: receives, for followers, ET of the step from k + 1 to k in row k;
 *  or NULL. Returns the last step taken, k0 if all are, k1 if none is; or -1 with the fault in the tally. */
KS_HD int64_t KS_T(ks_tiled_smooth_steps)(ks_shape shape, int nx, int n, const ks_series *s, int64_t k0,
                                          int64_t k1, ks_state *state, const ks_forward_sinks *kept,
                                          const ks_backward_sinks *to, const ks_sink *gains,
                                          void *memory, ks_tally *tally)
{
    const int quad = shape == KS_SHAPE_QUAD, four = shape != KS_SHAPE_TILES;
    const int ahead = KS_T(ks_steps_ahead)(shape);
    const int moves = s->F.stride || s->Q.stride || s->u.stride, lag = to->lag_one_cov.base != NULL;
    const int rest = lag || gains || to->gain.base || to->smoothed_var.base;
    ks_prefetch next = { .rows = 0 }, *const prefetch = KS_QUEUES(shape, nx) && !KS_THREE_TILES(n) ? &next : NULL;
    KS_T(ks_tiled_memory) w = KS_T(ks_tiled_begin)(nx, n, s->ny, state, memory);
    w.step.prefetch = prefetch;
    const ks_sink mean = to->smoothed_mean, cov = to->smoothed_cov;
    KS_T(ks_blocks) b = { 0 };
    KS_NUM *xs = w.x, *xn = w.xn, *Ps = w.P, *Pn = w.Pn;
    /* Key: the filtered and the smoothed covariance that go in. Results: Eᵀ and the smoothed covariance. */
    KS_T(ks_memo) memo = KS_T(ks_memo_start)(n, 0, KS_T(ks_steady_pays)(s, state, k1 - k0), n * n, n * n,
                                             2 * n * n, w.memo);
    const KS_NUM *later = Ps; /* the full smoothed covariance of step k */
    const int constant = KS_T(ks_memo_pays)(s, INT64_MAX), may = s->steady_state == KS_STEADY_STATE_HOLD;
    ks_steady steady = state->steady;
    int same = 0;         /* the filtered covariance of step k - 1 is that of step k */
    int64_t brought = -1; /* see ks_bring_kept() */
    KS_T(ks_gains) ready = KS_T(ks_gains_in)(n, w.gains);
    int64_t k = k1;
    KS_T(ks_tiled_transition_any)(nx, n, s, k, 1, &w, &b);
    for (; k > k0; --k) {
        if (memo.last >= 0 && !moves && !rest && steady.stage >= KS_STEADY_REPEATS) {
            int finite = 1;
            const int64_t from = k;
            k = quad ? KS_T(ks_quad_smooth_repeat)(k, k0, &b, &memo, &w, kept, mean, cov, xs, &same, &later,
                                                   &finite)
                     : KS_T(ks_tiled_smooth_repeat)(shape, nx, n, s, k, k0, &b, &memo, &w, kept, mean, cov,
                                                    xs, xn, &same, &later, &finite);
            if (!finite)
                return KS_T(ks_step_fault)(k - 1, 0, KS_ARRAY_ESTIMATE, KS_FAULT_NOT_FINITE, tally);
            if (k < from) {
                KS_T(ks_copy)(nx * n, later, Ps);
                later = Ps;
            }
            if (k == k0) break;
        }
        same = KS_T(ks_bring_kept)(nx, k - 1, kept, &brought);
        if (kept->form[k - 1 - kept->form_first] != (unsigned char)KS_FORM_ORDINARY) break;
        const KS_NUM *x = (const KS_NUM *)ks_slot_of(kept->kept_mean, k - 1);
        const KS_NUM *P = (const KS_NUM *)ks_slot_of(kept->kept_C, k - 1);
        if (prefetch) ks_prefetch_flush(prefetch);
        if (k - ahead > k0)
            KS_T(ks_tiled_expect)(prefetch, nx * nx, (const KS_NUM *)ks_slot_of(kept->kept_C, k - 1 - ahead));
        if (n != nx) {
            KS_T(ks_copy)(nx, x, w.filtered);
            x = w.filtered;
            /* Gains made ahead have padded copies of their own. The memo compares this one. */
            if (shape == KS_SHAPE_TILES || memo.slots) {
                if (shape == KS_SHAPE_ROWS)
                    KS_T(ks_rows_pad)(nx, nx, P, w.kept);
                else
                    KS_T(ks_pad_square)(nx, n, P, w.kept);
                P = w.kept;
            }
        }
        if (moves) {
            KS_T(ks_expect_step)(prefetch, nx, s, k - ahead, 0);
            if (!four || memo.slots) KS_T(ks_tiled_transition)(shape, nx, n, s, k, 0, &w, &b);
        }
        if (prefetch) ks_prefetch_spread(prefetch, KS_T(ks_tiles_of)(3 * nx, n));
        KS_NUM *smoothed = quad && cov.base ? (KS_NUM *)ks_slot_of(cov, k - 1) : Pn;
        KS_NUM *ET = w.ET;
        const int at = memo.slots ? KS_T(ks_memo_find)(&memo, P, later) : -1;
        const int phase = (int)((KS_STEADY_CYCLE + KS_LOOK - k % KS_LOOK) % KS_LOOK);
        const int held = steady.stage == KS_STEADY_HELD, asks = constant && KS_T(ks_steady_asks)(at >= 0, may, &steady);
        const int watched = asks && KS_T(ks_steady_watches)(&steady, phase);
        if (lag || watched) KS_T(ks_copy)(nx * n, later, w.next);
        if (quad && watched) KS_T(ks_copy)(16, P, w.kept); /* the smoothed covariance may overwrite P */
        if (at >= 0) {
            ET = memo.base + (int64_t)at * memo.size + 2 * n * n;
            if (quad) {
                KS_T(ks_quad_smooth_mean)(&b, x, ET, xs, &w.step);
                KS_T(ks_copy)(16, ET + 16, Ps);
            } else {
                KS_T(ks_tiled_smooth_mean)(nx, n, &b, x, xs, ET, xn, &w.step);
            }
            KS_T(ks_copy)(nx * n, ET + n * n, smoothed);
        } else {
            KS_NUM *record = memo.slots ? KS_T(ks_memo_miss)(&memo, P, later) : NULL;
            KS_MASK good;
            if (four) {
                if (k > ready.first || k < ready.last)
                    KS_T(ks_gains_make)(shape, nx, n, s, k, k0, kept, &w, &b, &ready);
                const int64_t slot = ready.first - k;
                const KS_NUM *Pp = ready.Pp + slot * n * n, *xp = ready.xp + slot * n;
                if (!ready.good[slot]) break;
                P = KS_T(ks_gains_filtered)(nx, n, slot, k, kept, &ready);
                ET = ready.ET + slot * n * n;
                good = quad ? KS_T(ks_quad_smooth)(x, P, ET, Pp, xp, xs, Ps, smoothed, &w.step)
                            : KS_T(ks_row_smooth)(nx, x, P, ET, Pp, xp, xs, Ps, xn, Pn, w.D, &w.step);
            } else {
                good = KS_T(ks_tiled_gain)(nx, n, &b, P, n, Ps, ET, w.D, &w.step);
                KS_T(ks_tiled_smooth_mean)(nx, n, &b, x, xs, ET, xn, &w.step);
                good = good & KS_T(ks_tiled_smooth_cov)(nx, n, P, n, ET, w.D, Pn, &w.step);
            }
            if (!KS_ALL(good)) break;
            if (record) {
                KS_T(ks_copy)(nx * n, ET, record + 2 * n * n);
                KS_T(ks_copy)(nx * n, smoothed, record + 3 * n * n);
                KS_T(ks_memo_keep)(&memo);
            }
        }
        const KS_NUM *filtered = quad ? w.kept : P;
        if (asks && KS_T(ks_smooth_steady)(nx, n, phase, watched, smoothed, ET, filtered, &w, &steady)) {
            KS_T(ks_copy)(nx * n, w.next, smoothed);
            if (quad) KS_T(ks_copy)(16, w.next, Ps);
            if (memo.slots) {
                KS_NUM *slot = KS_T(ks_memo_hold)(&memo, filtered, w.next) + 2 * n * n;
                if (slot != ET) KS_T(ks_copy)(nx * n, ET, slot);
                KS_T(ks_copy)(nx * n, w.next, slot + n * n);
                KS_T(ks_memo_keep)(&memo);
            }
        }
        if (held && steady.stage != KS_STEADY_HELD) KS_T(ks_memo_forget)(&memo);
        if (!quad) {
            KS_NUM *swap = xs;
            xs = xn, xn = swap;
            swap = Ps;
            Ps = Pn, Pn = swap;
        }
        later = smoothed;
        if (lag) KS_T(ks_tiled_write_lag)(s, n, k, w.next, ET, &w, to->lag_one_cov);
        if (!KS_T(ks_tiled_finite)(nx, n, xs, smoothed))
            return KS_T(ks_step_fault)(k - 1, 0, KS_ARRAY_ESTIMATE, KS_FAULT_NOT_FINITE, tally);
        if (gains) KS_T(ks_copy)(nx * n, ET, (KS_NUM *)ks_slot_of(*gains, k - 1));
        if (to->gain.base) KS_T(ks_unpad)(nx, n, ET, (KS_NUM *)ks_slot_of(to->gain, k - 1));
        if (mean.base) KS_T(ks_copy)(nx, xs, (KS_NUM *)ks_slot_of(mean, k - 1));
        if (cov.base && !quad) KS_T(ks_unpad)(nx, n, smoothed, (KS_NUM *)ks_slot_of(cov, k - 1));
        if (to->smoothed_var.base)
            for (int i = 0; i < nx; ++i)
                ((KS_NUM *)ks_slot_of(to->smoothed_var, k - 1))[i] = smoothed[i * n + i];
    }
    tally->ordinary += k1 - k;
    KS_T(ks_tiled_leave)(nx, n, xs, later, state);
    state->steady = steady;
    return k;
}
