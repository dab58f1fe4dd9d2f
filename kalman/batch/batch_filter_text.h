/* batch_filter_text.h -- filter steps of a group of series; see batch.h and num_f64x4.h.
 *
 * A missing entry stays in its place as one without information: zero row of H, unit variance, observed as predicted.
 * It adds exact zeros, so the lane's result is the same as without it. */

/** The observation of a step, with missing entries in their places. Bits are lanes: `present[i]` those that have
 *  entry i, `fit` those without an infinite entry. */
typedef struct KS_T(ks_group_observation) {
    const KS_NUM *H, *R, *d, *y;
    const unsigned *present; /* NULL: all present */
    unsigned fit;
} KS_T(ks_group_observation);

KS_HD_COLD void KS_T(ks_observe_present)(const KS_T(ks_group_scratch) *w,
                                         KS_T(ks_group_observation) *o)
{
    const int nx = w->nx, ny = w->ny;
    unsigned *present = w->present;
    const KS_NUM zero = KS_LIT(0), one = KS_LIT(1);
    o->fit = KS_EVERY;
    for (int i = 0; i < ny; ++i) {
        const KS_MASK here = (KS_MASK)(o->y[i] == o->y[i]);
        const KS_MASK finite = (KS_MASK)(o->y[i] - o->y[i] == zero);
        present[i] = KS_BITS(here);
        o->fit &= ~KS_BITS(here & ~finite);
        for (int c = 0; c < nx; ++c)
            w->present_H[i * nx + c] = KS_SELECT(here, o->H[i * nx + c], zero);
        for (int j = 0; j < ny; ++j)
            w->present_R[i * ny + j] = KS_SELECT(here & (KS_MASK)(o->y[j] == o->y[j]),
                                                 o->R[i * ny + j], i == j ? one : zero);
        w->present_d[i] = KS_SELECT(here, o->d[i], zero);
        w->present_y[i] = KS_SELECT(here, o->y[i], zero);
    }
    o->H = w->present_H;
    o->R = w->present_R;
    o->d = w->present_d;
    o->y = w->present_y;
    o->present = present;
}

/** Put out the innovations of the lanes in `lanes`, see ks_write_innovation(). */
KS_HD_COLD void KS_T(ks_put_innovations)(int64_t k, unsigned lanes,
                                         const KS_T(ks_group_observation) *o,
                                         const KS_T(ks_group_scratch) *w,
                                         const ks_forward_sinks *to)
{
    const size_t apart = sizeof *to;
    const int nx = w->nx, ny = w->ny;
    KS_NUM *S = w->work, *HT = S + ny * ny, *G = HT + ny * nx;
    const KS_NUM nan = KS_LIT(NAN);
    KS_T(ks_transpose)(ny, nx, o->H, HT);
    KS_T(ks_mm)(ny, nx, nx, o->H, w->Pp, G);
    KS_T(ks_copy)(ny * ny, o->R, S);
    KS_T(ks_mm_add)(ny, nx, ny, G, HT, S);
    KS_T(ks_mirror)(ny, S);
    for (int i = 0; i < ny; ++i) {
        KS_NUM r = o->y[i] - o->d[i];
        for (int c = 0; c < nx; ++c) r = r - o->H[i * nx + c] * w->xp[c];
        w->Z[i] = r;
        w->v[i] = w->v[i] * KS_SQRT(w->inverse_d[i]);
    }
    for (int i = 0; o->present && i < ny; ++i)
        for (int l = 0; l < KS_LANES; ++l) {
            if (o->present[i] >> l & 1) continue;
            w->Z[i][l] = w->v[i][l] = nan[l];
            for (int j = 0; j < ny; ++j) S[i * ny + j][l] = S[j * ny + i][l] = nan[l];
        }
    KS_T(ks_put_rows)(ny, w->Z, &to->innovation, apart, k, lanes);
    KS_T(ks_put_rows)(ny, w->v, &to->innovation_std, apart, k, lanes);
    KS_T(ks_put_rows)(ny * ny, S, &to->innovation_cov, apart, k, lanes);
}

/** Put out log p(y[k] | y[0..k-1]) of the lanes in `lanes`. */
KS_HD_COLD void KS_T(ks_put_terms)(int64_t k, unsigned lanes,
                                   const KS_T(ks_group_observation) *o,
                                   const KS_T(ks_group_scratch) *w, const ks_forward_sinks *to)
{
    const int ny = w->ny;
    for (int l = 0; l < KS_LANES; ++l) {
        if (!(lanes >> l & 1)) continue;
        ks_evidence term = ks_evidence_start();
        for (int i = 0; i < ny; ++i)
            if (!o->present || o->present[i] >> l & 1)
                ks_gather_pivot(&term, (double)w->S[i * ny + i][l], (double)w->square[i][l]);
        *(double *)ks_slot_of(to[l].loglik_terms, k) = ks_evidence_loglik(&term);
    }
}

/** The inputs of a group. */
typedef struct KS_T(ks_group_inputs) {
    KS_T(ks_stream) F, Q, u, H, R, d, y;
} KS_T(ks_group_inputs);

KS_HD_COLD void KS_T(ks_group_inputs_start)(const ks_series *s,
                                            const KS_T(ks_group_scratch) *w,
                                            KS_T(ks_group_inputs) *in)
{
    const int nx = s->nx, ny = s->ny;
    KS_T(ks_stream_start)(nx * nx, &s->F, w->F, &in->F);
    KS_T(ks_stream_start)(nx * nx, &s->Q, w->Q, &in->Q);
    KS_T(ks_stream_start)(nx, &s->u, w->u, &in->u);
    KS_T(ks_stream_start)(ny * nx, &s->H, w->H, &in->H);
    KS_T(ks_stream_start)(ny * ny, &s->R, w->R, &in->R);
    KS_T(ks_stream_start)(ny, &s->d, w->d, &in->d);
    KS_T(ks_stream_start)(ny, &s->y, w->y, &in->y);
}

/** Load the lanes that are in the ordinary form into the packs x, P. Return these lanes. Other lanes become zero, and
 *  so do the estimates of the `steps` steps after these: arithmetic and tests always run on all lanes, also where a
 *  lane has taken a step alone. */
KS_HD_COLD unsigned KS_T(ks_group_enter)(const ks_group *g, int64_t steps, KS_NUM *x, KS_NUM *P)
{
    const int nx = g->series[0].nx;
    unsigned packed = 0;
    for (int64_t i = 0; i < (steps + 1) * nx; ++i) x[i] = KS_LIT(0);
    for (int64_t i = 0; i < (steps + 1) * nx * nx; ++i) P[i] = KS_LIT(0);
    for (int l = 0; l < g->alive; ++l) {
        if (g->state[l].form != KS_FORM_ORDINARY) continue;
        KS_T(ks_give_lane)(nx, l, (const KS_ONE *)g->state[l].x, x);
        KS_T(ks_give_lane)(nx * nx, l, (const KS_ONE *)g->state[l].C, P);
        packed |= 1u << l;
    }
    return packed;
}

/** Store the lanes in `packed` in their own states. */
KS_HD_COLD void KS_T(ks_group_leave)(ks_group *g, unsigned packed, const KS_NUM *x,
                                     const KS_NUM *P)
{
    const int nx = g->series[0].nx;
    for (int l = 0; l < g->alive; ++l) {
        if (!(packed >> l & 1)) continue;
        KS_T(ks_take_lane)(nx, l, x, (KS_ONE *)g->state[l].x);
        KS_T(ks_take_lane)(nx * nx, l, P, (KS_ONE *)g->state[l].C);
        g->state[l].form = KS_FORM_ORDINARY;
    }
}

/** Take step k of the living lanes that are not in `done`, one by one. For lanes in *packed the estimate before the
 *  step is in w->x, w->P; the new one goes to w->next_x, next_P. Return whether one of them had lost its digits
 *  before. */
KS_HD_COLD int KS_T(ks_filter_alone)(ks_group *g, int64_t k, unsigned done, unsigned *packed,
                                      const KS_T(ks_group_scratch) *w, const ks_forward_sinks *to,
                                      ks_tally *tally, KS_T(ks_pack_tally) *sums)
{
    const unsigned alone = ~done & ((1u << g->alive) - 1);
    int lost = 0;
    KS_T(ks_group_leave)(g, *packed & alone, w->x, w->P);
    for (int l = 0; l < g->alive; ++l) {
        if (!(alone >> l & 1)) continue;
        KS_T(ks_to_tally)(l, w->ny, sums, &tally[l]);
        const int failed = g->kernels->filter(&g->series[l], k, k + 1, &g->state[l], &to[l],
                                              g->scratch, &tally[l]);
        KS_T(ks_from_tally)(l, &tally[l], sums);
        lost |= tally[l].digits.lost >= 0 && !tally[l].digits.watched;
        *packed &= ~(1u << l);
        if (failed) {
            g->alive = l;
        } else if (g->state[l].form == KS_FORM_ORDINARY) {
            const int nx = g->series[l].nx;
            KS_T(ks_give_lane)(nx, l, (const KS_ONE *)g->state[l].x, w->next_x);
            KS_T(ks_give_lane)(nx * nx, l, (const KS_ONE *)g->state[l].C, w->next_P);
            *packed |= 1u << l;
        }
    }
    return lost;
}

/** Put out the gains of the lanes in `lanes`, see ks_gain_numbers(). */
KS_HD_COLD void KS_T(ks_put_gains)(int64_t k, unsigned lanes, const KS_T(ks_group_scratch) *w,
                                   const ks_forward_sinks *to)
{
    const int nx = w->nx, ny = w->ny;
    KS_T(ks_copy)(ny * nx, w->Z, w->work);
    KS_T(ks_copy)(ny * ny, w->S, w->work + ny * nx);
    KS_T(ks_copy)(ny, w->inverse_d, w->work + ny * nx + ny * ny);
    KS_T(ks_put_rows)((int)ks_gain_numbers(nx, ny), w->work, &to->gain, sizeof *to, k, lanes);
}

/** Put out the rarely wanted outputs of step k for the lanes in `lanes`. */
KS_HD_COLD void KS_T(ks_put_more)(int64_t k, unsigned lanes,
                                  const KS_T(ks_group_observation) *o,
                                  const KS_T(ks_group_scratch) *w, const ks_forward_sinks *to)
{
    const size_t apart = sizeof *to;
    const int nx = w->nx, nn = nx * nx;
    if (to->loglik_terms.base) KS_T(ks_put_terms)(k, lanes, o, w, to);
    KS_T(ks_mirror)(nx, w->Pp);
    KS_T(ks_put_rows)(nx, w->xp, &to->predicted_mean, apart, k, lanes);
    KS_T(ks_put_rows)(nn, w->Pp, &to->predicted_cov, apart, k, lanes);
    KS_T(ks_put_diagonal)(nx, w->Pp, &to->predicted_var, apart, k, lanes, w->work);
    KS_T(ks_put_diagonal)(nx, w->next_P, &to->filtered_var, apart, k, lanes, w->work);
    if (to->gain.base) KS_T(ks_put_gains)(k, lanes, w, to);
    if (to->innovation.base || to->innovation_cov.base || to->innovation_std.base)
        KS_T(ks_put_innovations)(k, lanes, o, w, to);
}

/** Put out the estimates of steps k0 .. k1 - 1 for the lanes that have taken them together. */
KS_HD_COLD void KS_T(ks_put_filtered)(int64_t k0, int64_t k1, const KS_T(ks_group_scratch) *w,
                                      const ks_forward_sinks *to)
{
    const size_t apart = sizeof *to;
    const int nx = w->nx, nn = nx * nx;
    const KS_NUM *means = w->means + nx, *covs = w->covs + nn;
    KS_T(ks_put_steps)(nx, means, &to->filtered_mean, apart, k0, k1, w->done);
    KS_T(ks_put_steps)(nn, covs, &to->filtered_cov, apart, k0, k1, w->done);
    if (!to->kept_mean.base) return;
    KS_T(ks_put_steps)(nx, means, &to->kept_mean, apart, k0, k1, w->done);
    KS_T(ks_put_steps)(nn, covs, &to->kept_C, apart, k0, k1, w->done);
    for (int64_t k = k0; k < k1; ++k)
        for (int l = 0; l < KS_LANES; ++l)
            if (w->done[k - k0] >> l & 1)
                to[l].form[k - to[l].form_first] = KS_FORM_ORDINARY;
}

/** Count a step of the lanes in `lanes`, and their missing entries. */
KS_HD_COLD void KS_T(ks_pack_count)(unsigned lanes, const KS_T(ks_group_observation) *o,
                                    const KS_T(ks_group_scratch) *w, KS_T(ks_pack_tally) *sums)
{
    for (int l = 0; l < KS_LANES; ++l) {
        if (!(lanes >> l & 1)) continue;
        sums->steps[l] += 1;
        for (int i = 0; o->present && i < w->ny; ++i)
            sums->missing[l] += !(o->present[i] >> l & 1);
    }
}

/** Return the lanes whose covariance has no pivot lost in round-off, see ks_well_conditioned(). */
KS_HD_COLD unsigned KS_T(ks_pack_conditioned)(const KS_T(ks_group_scratch) *w)
{
    const int nx = w->nx;
    KS_T(ks_copy)(nx * nx, w->P, w->work);
    return KS_BITS(KS_T(ks_ldl)(nx, 1 / KS_GROWTH, w->work, w->work + nx * nx));
}

/** ks_sharp() of each lane. A lane with a sharp step takes it alone, which reports it in the tally. */
KS_HD KS_MASK KS_T(ks_pack_sharp)(int nx, const KS_T(ks_group_scratch) *w)
{
    KS_MASK sharp = KS_GT(KS_LIT(0), KS_LIT(1));
    for (int i = 0; i < nx; ++i)
        sharp = sharp | (KS_GT(w->P[i * nx + i], w->Pp[i * nx + i]) &
                         KS_GT(KS_LIT(KS_EPS) * (w->xp[i] * w->xp[i]), w->Pp[i * nx + i]));
    return sharp;
}

/** Take step k of the lanes in `packed` together. Return the lanes for which that succeeded. */
KS_HD unsigned KS_T(ks_filter_together)(int nx, int64_t k, int64_t shift, unsigned packed,
                                        const KS_T(ks_group_inputs) *in,
                                        const KS_T(ks_group_scratch) *w,
                                        const ks_forward_sinks *to, int more, int looks, int looked,
                                        KS_T(ks_pack_tally) *sums)
{
    const int ny = w->ny;
    KS_T(ks_group_observation) o;
    o.H = KS_T(ks_stream_row)(&in->H, k);
    o.R = KS_T(ks_stream_row)(&in->R, k);
    o.d = KS_T(ks_stream_row)(&in->d, k);
    o.y = KS_T(ks_stream_row)(&in->y, k);
    o.present = NULL;
    o.fit = KS_EVERY;
    KS_NUM odd = KS_LIT(0);
    for (int i = 0; i < ny; ++i) odd = odd + (o.y[i] - o.y[i]);
    if (KS_BITS((KS_MASK)(odd == KS_LIT(0))) != KS_EVERY) KS_T(ks_observe_present)(w, &o);
    if (looked) o.fit &= KS_T(ks_pack_conditioned)(w);
    KS_T(ks_predict)(nx, KS_T(ks_stream_row)(&in->F, k - shift),
                     KS_T(ks_stream_row)(&in->Q, k - shift),
                     KS_T(ks_stream_row)(&in->u, k - shift), w->x, w->P, w->xp, w->Pp, w->work);
    KS_MASK good;
    const KS_NUM times = in->R.stride || o.present ? KS_T(ks_noise_times)(ny, o.R, ny, w->work) : w->times[0];
#define CALL(m)                                                                             \
    good = KS_T(ks_innovation)(nx, m, o.H, o.R, times, o.d, o.y, w->xp, w->Pp, w->G, w->S,  \
                               w->inverse_d, w->v, w->work);                                \
    KS_T(ks_posterior)(nx, m, w->G, w->inverse_d, w->v, w->xp, w->Pp, w->next_x, w->next_P, w->Z)
    KS_WITH_LITERAL_ENTRIES(nx, ny, CALL)
#undef CALL
    KS_NUM zero = KS_LIT(0);
    for (int i = 0; i < nx; ++i)
        zero = zero + (w->next_x[i] - w->next_x[i]) +
               (w->next_P[i * nx + i] - w->next_P[i * nx + i]);
    good = good & (KS_MASK)(zero == KS_LIT(0));
    if (looks) good = good & ~KS_T(ks_pack_sharp)(nx, w);
    const unsigned lanes =
        KS_T(ks_pack_gather)(ny, good, KS_BITS(good) & o.fit & packed, w, &sums->evidence);
    if (lanes == KS_EVERY && !o.present)
        sums->whole += 1;
    else
        KS_T(ks_pack_count)(lanes, &o, w, sums);
    if (lanes && more) KS_T(ks_put_more)(k, lanes, &o, w, to);
    return lanes;
}

/** Read the inputs of steps k0 .. k1 - 1 that vary. */
KS_HD_COLD void KS_T(ks_group_read)(int64_t k0, int64_t k1, int64_t shift, KS_T(ks_group_inputs) *in)
{
    KS_T(ks_stream) *moves[3] = { &in->F, &in->Q, &in->u }, *sees[4] = { &in->H, &in->R, &in->d, &in->y };
    /* Step 0 is never taken together, and under prior x1 no row leads into it. */
    const int64_t from = k0 > 0 ? k0 : 1;
    for (int i = 0; i < 3; ++i)
        if (moves[i]->stride && from < k1) KS_T(ks_stream_read)(moves[i], from - shift, k1 - shift, 1);
    for (int i = 0; i < 4; ++i)
        if (sees[i]->stride) KS_T(ks_stream_read)(sees[i], k0, k1, 1);
}

/** Take steps k0 .. k1 - 1, at most as many as are read and written at once. watched: lanes take them alone. Return the
 *  first step before which a lane of the range from `first` on has lost digits, or -1. */
KS_HD int64_t KS_T(ks_group_filter_some)(int nx, ks_group *g, int64_t first, int64_t k0, int64_t k1, int watched, unsigned *packed,
                                      const KS_T(ks_group_inputs) *in, KS_T(ks_group_scratch) *w, int more,
                                      const ks_forward_sinks *to, ks_tally *tally,
                                      KS_T(ks_pack_tally) *sums)
{
    for (int64_t k = k0; k < k1 && g->alive; ++k) {
        const unsigned living = (1u << g->alive) - 1;
        unsigned done = 0;
        w->x = w->means + (k - k0) * nx;
        w->P = w->covs + (k - k0) * nx * nx;
        w->next_x = w->x + nx;
        w->next_P = w->P + nx * nx;
        /* The first step is never in the ordinary form, and may have no transition. */
        if ((*packed & living) != 0 && k > 0 && !watched)
            done = KS_T(ks_filter_together)(nx, k, g->series[0].shift, *packed & living, in, w, to,
                                            more, ks_looks_sharp(to, &g->series[0], k),
                                            KS_IS_LOOKED_AT(k), sums);
        w->done[k - k0] = done;
        if (done != living && KS_T(ks_filter_alone)(g, k, done, packed, w, to, tally, sums) && k > first) return k;
    }
    return -1;
}

/** Take steps k0 .. k1 - 1. watched: every lane takes them alone. Return the first step before which a lane has lost
 *  digits, k1 if one has at the end, or -1. */
KS_HD int64_t KS_T(ks_group_filter_range)(int nx, ks_group *g, int64_t k0, int64_t k1, int watched,
                                          const ks_forward_sinks *to, ks_tally *tally)
{
    const ks_series *s = &g->series[0];
    const int ny = s->ny, lanes = g->alive;
    KS_T(ks_group_scratch) w = KS_T(ks_group_lay_out)(nx, ny, g->pack);
    KS_T(ks_group_inputs) in;
    KS_T(ks_pack_tally) sums;
    sums.whole = 0;
    const int more = to->loglik_terms.base || to->predicted_mean.base || to->predicted_cov.base ||
                     to->predicted_var.base || to->filtered_var.base || to->innovation.base ||
                     to->innovation_cov.base || to->innovation_std.base || to->gain.base;
    KS_T(ks_group_inputs_start)(s, &w, &in);
    if (!in.R.stride) w.times[0] = KS_T(ks_noise_times)(ny, KS_T(ks_stream_row)(&in.R, 0), ny, w.work);
    for (int l = 0; l < KS_LANES; ++l) KS_T(ks_from_tally)(l, &tally[l < lanes ? l : 0], &sums);
    unsigned packed = KS_T(ks_group_enter)(g, k1 - k0 < w.steps ? k1 - k0 : w.steps, w.means, w.covs);
    for (int64_t k = k0; k < k1 && g->alive; k += w.steps) {
        const int64_t end = k1 - k < w.steps ? k1 : k + w.steps;
        for (int i = 0; i < w.steps; ++i) w.done[i] = 0;
        KS_T(ks_group_read)(k, end, s->shift, &in);
        const int64_t lost =
            KS_T(ks_group_filter_some)(nx, g, k0, k, end, watched, &packed, &in, &w, more, to, tally, &sums);
        if (lost >= 0) return lost;
        KS_T(ks_put_filtered)(k, end, &w, to);
        KS_T(ks_copy)(nx, w.next_x, w.means);
        KS_T(ks_copy)(nx * nx, w.next_P, w.covs);
    }
    for (int l = 0; l < lanes; ++l) KS_T(ks_to_tally)(l, ny, &sums, &tally[l]);
    KS_T(ks_group_leave)(g, packed, w.means, w.covs);
    KS_T(ks_copy)(nx * nx, w.covs, w.work);
    unsigned left = KS_BITS(KS_T(ks_ldl)(nx, KS_LEAST_LEFT(sizeof(KS_ONE)), w.work, w.work + nx * nx));
    for (int l = 0; l < lanes; ++l) left |= (unsigned)(tally[l].digits.singular != 0) << l;
    return packed & ((1u << g->alive) - 1) & ~left ? k1 : -1;
}

/** Save the initial estimates of the lanes in w->begin, or restore them (back). */
KS_HD_COLD void KS_T(ks_group_keep)(int nx, const ks_group *g, const KS_T(ks_group_scratch) *w, int back)
{
    for (int l = 0; l < g->alive; ++l) {
        KS_ONE *x = (KS_ONE *)g->state[l].x, *C = (KS_ONE *)g->state[l].C;
        if (back) {
            KS_T(ks_take_lane)(nx, l, w->begin, x);
            KS_T(ks_take_lane)(nx * nx, l, w->begin + nx, C);
        } else {
            KS_T(ks_give_lane)(nx, l, x, w->begin);
            KS_T(ks_give_lane)(nx * nx, l, C, w->begin + nx);
        }
    }
}

/** Take steps k0 .. k1 - 1, see ks_pack_kernels. Where digits are lost, the steps up to there are repeated, watched
 *  (ks_digits). */
KS_HD void KS_T(ks_group_filter)(int nx, ks_group *g, int64_t k0, int64_t k1,
                                 const ks_forward_sinks *to, ks_tally *tally)
{
    const KS_T(ks_group_scratch) w = KS_T(ks_group_lay_out)(nx, g->series[0].ny, g->pack);
    const int lanes = g->alive;
    ks_state begin[KS_LANES];
    ks_tally before[KS_LANES];
    int64_t k = k0, end = k1;
    for (int watched = 0; k < k1 && g->alive;) {
        const int alive = g->alive;
        for (int l = 0; l < alive; ++l) {
            tally[l].digits.watched = watched;
            begin[l] = g->state[l];
            before[l] = tally[l];
        }
        KS_T(ks_group_keep)(nx, g, &w, 0);
        const int64_t lost = KS_T(ks_group_filter_range)(nx, g, k, end, watched, to, tally);
        if (watched || lost < 0) {
            k = end;
            end = k1;
            watched = 0;
            continue;
        }
        g->alive = alive;
        for (int l = 0; l < alive; ++l) {
            g->state[l] = begin[l];
            tally[l] = before[l];
        }
        KS_T(ks_group_keep)(nx, g, &w, 1);
        end = lost < k1 ? lost + 1 : k1;
        watched = 1;
    }
    for (int l = 0; l < lanes; ++l) tally[l].digits.watched = 0;
}
