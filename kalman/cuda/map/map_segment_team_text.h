/* map_segment_team_text.h -- device code: segments of the MAP problem, with a team of threads for each; see
 * map_segment_text.h, map_team_text.h and map_kernels.h. */

KS_DEVICE KS_T(ks_map_bench) KS_T(map_carve_bench)(int n, KS_NUM **room)
{
    KS_T(ks_map_bench) w;
    w.M = KS_T(map_take)(room, n * n);
    w.X = KS_T(map_take)(room, n * n);
    w.Y = KS_T(map_take)(room, n * n);
    w.W = KS_T(map_take)(room, n * n);
    w.inverse_d = KS_T(map_take)(room, n);
    w.r = KS_T(map_take)(room, n);
    w.t = KS_T(map_take)(room, n);
    return w;
}

KS_DEVICE KS_T(ks_map_range) KS_T(map_carve_range)(int n, KS_NUM **room)
{
    return KS_T(ks_map_range_at)(n, KS_T(map_take)(room, ks_map_range_numbers(n)));
}

/** Record step k if its block is not positive definite. */
KS_DEVICE void KS_T(map_lost)(const ks_map_args &g, bool good, int64_t k)
{
    if (!good && ks_team_lane() == 0) atomicMin(g.lost, (unsigned long long)k);
}

/** Return the last step of range i - 1 of a level whose ranges have g.size steps. */
KS_DEVICE int64_t KS_T(map_border)(const ks_map_args &g, int64_t i)
{
    const int64_t T = g.m.a.series.steps;
    return (i * g.size < T ? i * g.size : T) - 1;
}

/** Return range i of a level; and the numbers of what comes before or after a range. */
KS_DEVICE KS_NUM *KS_T(map_range_of)(const ks_map_level &level, int n, int64_t i)
{
    return level.ranges + i * ks_map_range_numbers(n);
}

KS_DEVICE int64_t KS_T(map_side_numbers)(int n) { return (int64_t)n * n + n; }

/** Eliminate the steps of a segment except for the last. Returns false on a fault. far: ks_map_far_numbers()
 *  numbers. */
KS_DEVICE bool KS_T(map_reduce)(const ks_map_args &g, int64_t segment, KS_NUM *room, KS_NUM *far,
                                ks_tally *tally)
{
    const ks_series &s = g.m.a.series;
    const int n = KS_STATES(s.nx);
    const int64_t first = segment * g.size, end = KS_T(map_end)(g, segment);
    const KS_T(map_step) t = KS_T(map_carve_step)(n, KS_ENTRIES(s.ny), &room, KS_REST(room, far));
    const KS_T(ks_map_range) all = KS_T(map_carve_range)(n, KS_REST(room, far));
    const KS_T(ks_map_bench) w = KS_T(map_carve_bench)(n, &room);
    for (int64_t k = first; k < end; ++k) {
        if (!KS_T(map_whole_step)(g, k, t, tally)) return false;
        if (k == first) {
            KS_T(ks_copy)((int)ks_map_range_numbers(n), t.range.a, all.a);
            continue;
        }
        KS_T(map_lost)(g, KS_T(ks_map_meet_at)(n, all.b, t.range.a, all.q, t.range.p, &w), k - 1);
        KS_T(ks_map_pass_over)(n, segment > 0, &t.range, &all, &w);
    }
    KS_T(ks_copy)((int)ks_map_range_numbers(n), all.a, KS_T(map_range_of)(g.here, n, segment));
    return true;
}

/** Combine the ranges of a group to one of the level above. */
KS_DEVICE void KS_T(map_combine)(const ks_map_args &g, int64_t group, KS_NUM *room)
{
    const int n = KS_STATES(g.m.a.series.nx), numbers = (int)ks_map_range_numbers(n);
    const int64_t first = group * KS_MAP_GROUP, last = first + KS_MAP_GROUP;
    const int64_t end = last < g.here.count ? last : g.here.count;
    const KS_T(ks_map_range) all = KS_T(map_carve_range)(n, &room), next = KS_T(map_carve_range)(n, &room);
    const KS_T(ks_map_bench) w = KS_T(map_carve_bench)(n, &room);
    KS_T(ks_copy)(numbers, KS_T(map_range_of)(g.here, n, first), all.a);
    for (int64_t i = first + 1; i < end; ++i) {
        KS_T(ks_copy)(numbers, KS_T(map_range_of)(g.here, n, i), next.a);
        KS_T(map_lost)(g, KS_T(ks_map_meet_at)(n, all.b, next.a, all.q, next.p, &w), KS_T(map_border)(g, i));
        KS_T(ks_map_pass_over)(n, group > 0, &next, &all, &w);
    }
    KS_T(ks_copy)(numbers, all.a, KS_T(map_range_of)(g.above, n, group));
}

/** From what comes before and after a group, or from nothing at the top level, compute what comes before and after each
 *  of its ranges. */
KS_DEVICE void KS_T(map_spread)(const ks_map_args &g, int64_t group, KS_NUM *room)
{
    const int n = KS_STATES(g.m.a.series.nx), numbers = (int)ks_map_range_numbers(n);
    const int64_t first = group * KS_MAP_GROUP, last = first + KS_MAP_GROUP;
    const int64_t end = last < g.here.count ? last : g.here.count, side = KS_T(map_side_numbers)(n);
    const KS_T(ks_map_range) all = KS_T(map_carve_range)(n, &room), next = KS_T(map_carve_range)(n, &room);
    const KS_T(ks_map_bench) w = KS_T(map_carve_bench)(n, &room);
    const bool inside = g.above.count > 0;
    if (inside && group > 0) {
        KS_T(ks_copy)(n * n, g.above.before + group * side, all.b);
        KS_T(ks_copy)(n, g.above.before + group * side + n * n, all.q);
    }
    for (int64_t i = first; i < end; ++i) {
        if (i > 0) {
            KS_T(ks_copy)(n * n, all.b, g.here.before + i * side);
            KS_T(ks_copy)(n, all.q, g.here.before + i * side + n * n);
        }
        if (i == end - 1) break;
        KS_T(ks_copy)(numbers, KS_T(map_range_of)(g.here, n, i), next.a);
        if (i == 0) {
            KS_T(ks_copy)(n * n, next.b, all.b);
            KS_T(ks_copy)(n, next.q, all.q);
            continue;
        }
        KS_T(map_lost)(g, KS_T(ks_map_meet_at)(n, all.b, next.a, all.q, next.p, &w), KS_T(map_border)(g, i));
        KS_T(ks_map_pass_over)(n, 0, &next, &all, &w);
    }
    if (inside) {
        KS_T(ks_copy)(n * n, g.above.after + group * side, all.a);
        KS_T(ks_copy)(n, g.above.after + group * side + n * n, all.p);
    } else {
        KS_T(ks_map_zero)(n * n, all.a);
        KS_T(ks_map_zero)(n, all.p);
    }
    for (int64_t i = end - 1; i >= first; --i) {
        KS_T(ks_copy)(n * n, all.a, g.here.after + i * side);
        KS_T(ks_copy)(n, all.p, g.here.after + i * side + n * n);
        if (i == first) break;
        KS_T(ks_copy)(numbers, KS_T(map_range_of)(g.here, n, i), next.a);
        KS_T(map_lost)(g, KS_T(ks_map_pass_back)(n, &next, all.a, all.p, &w), KS_T(map_border)(g, i + 1));
    }
}

/** Return this thread's terms of log det of the matrix that w->M factors. */
KS_DEVICE double KS_T(map_log_pivots)(int n, const KS_T(ks_map_bench) &w)
{
    double sum = 0;
    KS_TEAM_EACH(i, n) sum += log((double)w.M[i * n + i]);
    return sum;
}

/** Load a factor of the forward pass. It is stored where the results of the step will be. */
KS_DEVICE void KS_T(map_factor_again)(const ks_map_arrays &m, int64_t k, const KS_T(ks_map_bench) &w)
{
    const int n = KS_STATES(m.a.series.nx);
    ks_team_sync();
    KS_T(map_load)(false, n * n, ks_slot_of(m.S, k), w.M);
    KS_T(map_load)(false, n, ks_slot_of(m.x, k), w.r);
    ks_team_sync();
    KS_TEAM_EACH(i, n) w.inverse_d[i] = KS_LIT(1) / w.M[i * n + i];
    ks_team_sync();
}

/** Store the covariance of step k + 1 with step k, of which w.W is the negative transpose. */
KS_DEVICE void KS_T(map_put_lag)(const ks_map_arrays &m, int64_t k, const KS_T(ks_map_bench) &w)
{
    const int n = KS_STATES(m.a.series.nx);
    if (!m.lag.base) return;
    KS_NUM *const to = static_cast<KS_NUM *>(ks_slot_of(m.lag, k + 1));
    KS_TEAM_EACH(i, n * n) to[i] = -w.W[i % n * n + i / n];
    ks_team_sync();
}

KS_DEVICE void KS_T(map_put_result)(const ks_map_arrays &m, int64_t k, const KS_NUM *S, const KS_NUM *x)
{
    const int n = KS_STATES(m.a.series.nx);
    KS_T(map_put)(false, n * n, S, m.S, k);
    KS_T(map_put)(false, n, x, m.x, k);
}

/** The forward pass through a segment. What remains of its last step goes to all.b and all.q. Factors are stored where
 *  the results will be, and that of the step before the segment in `edge`. Returns this thread's terms of log det;
 *  *good is false on a fault. */
KS_DEVICE double KS_T(map_forward)(const ks_map_args &g, int64_t segment, const KS_T(map_step) &t,
                                   const KS_T(ks_map_range) &all, const KS_T(ks_map_bench) &w,
                                   KS_NUM *edge, bool *good)
{
    const ks_map_arrays &m = g.m;
    const int n = KS_STATES(m.a.series.nx);
    const int64_t first = segment * g.size, end = KS_T(map_end)(g, segment);
    const int64_t side = KS_T(map_side_numbers)(n);
    double logs = 0;
    ks_tally unused = ks_tally_start();
    if (segment > 0) {
        KS_T(ks_copy)(n * n, g.here.before + segment * side, all.b);
        KS_T(ks_copy)(n, g.here.before + segment * side + n * n, all.q);
    }
    for (int64_t k = first; k < end; ++k) {
        *good = KS_T(map_whole_step)(g, k, t, &unused);
        if (!*good) return 0;
        if (k == 0) {
            KS_T(ks_copy)(n * n, t.range.b, all.b);
            KS_T(ks_copy)(n, t.range.q, all.q);
            continue;
        }
        KS_T(map_lost)(g, KS_T(ks_map_meet_at)(n, all.b, t.range.a, all.q, t.range.p, &w), k - 1);
        logs += KS_T(map_log_pivots)(n, w);
        KS_TEAM_EACH(i, n * n) m.links[k * n * n + i] = t.range.c[i];
        if (k > first) KS_T(map_put_result)(m, k - 1, w.M, w.r);
        else KS_TEAM_EACH(i, n * n) edge[i] = w.M[i];
        KS_T(ks_map_pass_over)(n, 0, &t.range, &all, &w);
    }
    return logs;
}

/** Solve the steps of a segment from what comes before and after it. */
KS_DEVICE void KS_T(map_rerun)(const ks_map_args &g, int64_t segment, KS_NUM *room, KS_NUM *far)
{
    const ks_map_arrays &m = g.m;
    const int n = KS_STATES(m.a.series.nx), nn = n * n;
    const int64_t T = m.a.series.steps, first = segment * g.size, end = KS_T(map_end)(g, segment);
    const int64_t side = KS_T(map_side_numbers)(n);
    const KS_T(map_step) t = KS_T(map_carve_step)(n, KS_ENTRIES(m.a.series.ny), &room, KS_REST(room, far));
    const KS_T(ks_map_range) all = KS_T(map_carve_range)(n, KS_REST(room, far));
    const KS_T(ks_map_bench) w = KS_T(map_carve_bench)(n, &room);
    KS_NUM *const sums = KS_T(map_take)(&room, ks_team_lanes());
    KS_NUM *const edge = all.c; /* free: the left end is not computed here */
    KS_NUM *const S = t.F, *const x = t.u, *const C = t.LD;
    bool good = true;
    double logs = KS_T(map_forward)(g, segment, t, all, w, edge, &good);
    if (!good) return;
    KS_T(ks_copy)(nn, g.here.after + segment * side, all.a);
    KS_T(ks_copy)(n, g.here.after + segment * side + nn, all.p);
    KS_T(map_lost)(g, KS_T(ks_map_meet_at)(n, all.b, all.a, all.q, all.p, &w), end - 1);
    if (end == T) logs += KS_T(map_log_pivots)(n, w);
    KS_T(ks_map_solve_end)(n, &w, S, x);
    KS_T(map_put_result)(m, end - 1, S, x);
    for (int64_t k = end - 2; k >= first; --k) {
        KS_T(map_factor_again)(m, k, w);
        KS_T(map_load)(false, nn, m.links + (k + 1) * nn, C); /* written by this kernel: no constant load */
        KS_T(ks_map_gain)(n, C, S, &w);
        KS_T(map_put_lag)(m, k, w);
        KS_T(ks_map_step_back)(n, C, S, x, &w);
        KS_T(map_put_result)(m, k, S, x);
    }
    if (first > 0 && m.lag.base) {
        KS_T(ks_copy)(nn, edge, w.M);
        KS_TEAM_EACH(i, n) w.inverse_d[i] = KS_LIT(1) / w.M[i * n + i];
        KS_T(map_load)(false, nn, m.links + first * nn, C);
        KS_T(ks_map_gain)(n, C, S, &w);
        KS_T(map_put_lag)(m, first - 1, w);
    }
    logs = (double)KS_T(map_team_sum)((KS_NUM)logs, sums);
    if (ks_team_lane() == 0) g.logs[segment] = logs;
}
