/* tiled_filter_range_text.h -- ranges of filter steps by the kernels of tiled_step_text.h; see num_f64.h
 * and tiled_range_text.h. For plain C on the CPU. */
#include "literal.h"

/** Write predictions and innovations of step k to the outputs that are wanted. */
KS_HD_SAME void KS_T(ks_tiled_write_more)(const ks_series *s, int n, int64_t k,
                                          const KS_NUM *predicted, const KS_NUM *inverse_d,
                                          const KS_T(ks_tiled_memory) *w,
                                          const ks_forward_sinks *to)
{
    const int nx = s->nx;
    KS_NUM *Pp = w->work, *white = Pp + n * n, *work = white + KS_T(ks_padded)(s->ny);
    KS_T(ks_copy)(nx * n, predicted, w->D);
    KS_T(ks_mirror_upper)(nx, 1, w->D, n);
    KS_T(ks_unpad)(nx, n, w->D, Pp);
    KS_T(ks_write_predicted)(nx, k, KS_FORM_ORDINARY, w->step.xp, Pp, to, work);
    int entry = 0;
    const KS_T(ks_observation) o = KS_T(ks_observe)(s, k, w->compact, &entry);
    for (int i = 0; i < o.m; ++i) white[i] = w->step.v[i] * KS_SQRT(inverse_d[i]);
    if (to->innovation.base || to->innovation_cov.base || to->innovation_std.base)
        KS_T(ks_write_innovation)(s, k, w->step.xp, Pp, &o, white, NULL, to, work);
}

/** One filter step: x <- the posterior's mean, out <- its covariance. out may be P. Returns false if the ordinary form
 *  is not good enough; x and P are unchanged then. */
KS_HD KS_MASK KS_T(ks_tiled_filter)(int nx, int n, int m, const KS_T(ks_blocks) *b, KS_NUM *x,
                                    const KS_NUM *P, KS_NUM *out, const KS_T(ks_tiled) *w)
{
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
    KS_T(ks_tiled_predict)(nx, n, b, P, w);
    KS_T(ks_tiled_predict_mean)(nx, n, m, b, x, w);
    if (m > 0) good = KS_T(ks_tiled_innovation)(nx, n, m, b, w);
    if (!KS_ALL(good)) return good;
    KS_T(ks_tiled_posterior_mean)(n, m, w->LT, w->Z, w, x);
    KS_T(ks_tiled_posterior)(nx, n, m, w, out);
    return good;
}

/* The same with three tiles of rows and one to six entries as literals, in functions of their own. Without literals,
 * half of the instructions of such small factors would be loops and addresses. With wider vectors, for twelve states
 * only. */
#define KS_TWELVE_FILTER(m)                                                                 \
    KS_HD_COLD KS_MASK KS_T(ks_twelve_filter_##m)(int nx, const KS_T(ks_blocks) *b,         \
                                                  KS_NUM *x, const KS_NUM *P, KS_NUM *out,  \
                                                  const KS_T(ks_tiled) *w)                  \
    {                                                                                       \
        const int states = KS_LANES <= 4 ? nx : 12;                                         \
        return KS_T(ks_tiled_filter)(states, KS_T(ks_padded)(12), m, b, x, P, out, w);      \
    }
KS_TWELVE_FILTER(1)
KS_TWELVE_FILTER(2)
KS_TWELVE_FILTER(3)
KS_TWELVE_FILTER(4)
KS_TWELVE_FILTER(5)
KS_TWELVE_FILTER(6)
#undef KS_TWELVE_FILTER

KS_HD KS_MASK KS_T(ks_tiled_filter_any)(int nx, int n, int m, const KS_T(ks_blocks) *b, KS_NUM *x,
                                        const KS_NUM *P, KS_NUM *out, const KS_T(ks_tiled) *w)
{
    if (KS_THREE_TILES(n) || (KS_KNOWN(nx) && nx == 12)) {
        switch (m) {
        case 1: return KS_T(ks_twelve_filter_1)(nx, b, x, P, out, w);
        case 2: return KS_T(ks_twelve_filter_2)(nx, b, x, P, out, w);
        case 3: return KS_T(ks_twelve_filter_3)(nx, b, x, P, out, w);
        case 4: return KS_T(ks_twelve_filter_4)(nx, b, x, P, out, w);
        case 5: return KS_T(ks_twelve_filter_5)(nx, b, x, P, out, w);
        case 6: return KS_T(ks_twelve_filter_6)(nx, b, x, P, out, w);
        default: break;
        }
    }
    return KS_T(ks_tiled_filter)(nx, n, m, b, x, P, out, w);
}

/** The same for a quad. Only the upper triangle of P is kept; the full covariance goes to `out`. */
KS_HD_COLD KS_MASK KS_T(ks_quad_filter_any)(int m, const KS_T(ks_blocks) *b, KS_NUM *x, KS_NUM *P,
                                            KS_NUM *out, const KS_T(ks_tiled) *w)
{
    switch (m) {
    case 0: return KS_T(ks_quad_filter)(0, b, x, P, out, w);
    case 1: return KS_T(ks_quad_filter)(1, b, x, P, out, w);
    case 2: return KS_T(ks_quad_filter)(2, b, x, P, out, w);
    case 3: return KS_T(ks_quad_filter)(3, b, x, P, out, w);
    default: return KS_T(ks_quad_filter)(4, b, x, P, out, w);
    }
}

/** Whether no pivot of the covariance P is lost in round-off. */
KS_HD KS_MASK KS_T(ks_tiled_conditioned)(int nx, int n, const KS_NUM *P,
                                         const KS_T(ks_tiled_memory) *w)
{
    KS_T(ks_copy)(nx * n, P, w->D);
    return KS_T(ks_tiled_pivots)(nx, 1 / KS_GROWTH, n, w->D, w->step.W, w->step.pivot, w->step.inverse_d);
}

/** ks_tell_lost() for the covariance P, padded, that leads into step k. */
KS_HD_COLD void KS_T(ks_tiled_tell_lost)(int nx, int n, int64_t k, const KS_NUM *P, ks_digits *digits,
                                         const KS_T(ks_tiled_memory) *w)
{
    KS_T(ks_unpad)(nx, n, P, w->work);
    KS_T(ks_tell_lost)(nx, k, w->work, digits, w->work + nx * nx);
}

/** The mean of a filter step whose covariances are in a slot: first prediction and innovation, then the posterior. */
#define KS_WITH_FEW(shape, m, FEW, MANY)                                                    \
    switch ((shape) == KS_SHAPE_TILES ? 0 : (m)) { KS_CASES(FEW, 1, 2, 3, 4) default: MANY; break; }
KS_HD void KS_T(ks_tiled_again_predict)(ks_shape shape, int nx, int n, int m,
                                        const KS_T(ks_blocks) *b, const KS_NUM *x,
                                        const KS_T(ks_tiled) *w)
{
#define KS_FEW(m)                                                                           \
    if (shape == KS_SHAPE_QUAD) KS_T(ks_quad_predict_mean)(m, b, x, w);                     \
    else KS_T(ks_row_predict_mean)(nx, m, b, x, w)
    KS_WITH_FEW(shape, m, KS_FEW, KS_T(ks_tiled_predict_mean)(nx, n, m, b, x, w))
#undef KS_FEW
}

KS_HD void KS_T(ks_tiled_again_posterior)(ks_shape shape, int n, int m,
                                          const KS_T(ks_tiled_slot) *slot, KS_NUM *x,
                                          const KS_T(ks_tiled) *w)
{
#define KS_FEW(m)                                                                           \
    if (shape == KS_SHAPE_QUAD) KS_T(ks_quad_posterior_mean)(m, slot->LT, slot->Z, w, x);   \
    else KS_T(ks_row_posterior_mean)(n, m, slot->LT, slot->Z, w, x)
    KS_WITH_FEW(shape, m, KS_FEW, KS_T(ks_tiled_posterior_mean)(n, m, slot->LT, slot->Z, w, x))
#undef KS_FEW
}
#undef KS_WITH_FEW

KS_HD void KS_T(ks_tiled_again)(ks_shape shape, int nx, int n, int m, const KS_T(ks_blocks) *b,
                                const KS_T(ks_tiled_slot) *slot, KS_NUM *x,
                                const KS_T(ks_tiled) *w)
{
    KS_T(ks_tiled_again_predict)(shape, nx, n, m, b, x, w);
    KS_T(ks_tiled_again_posterior)(shape, n, m, slot, x, w);
}

/** Write the gain of step k; see ks_gain_numbers(). */
KS_HD void KS_T(ks_tiled_write_gain)(ks_shape shape, int n, int m, int ny, const ks_series *s, int64_t k,
                                     const KS_T(ks_tiled_slot) *made, ks_sink to)
{
    const int ld = shape == KS_SHAPE_TILES ? KS_T(ks_padded)(m) : 4;
    KS_NUM *gain = (KS_NUM *)ks_slot_of(to, k), *L = gain + 4 * m, *inverse_d = L + m * m;
    if (shape != KS_SHAPE_QUAD || m != ny) {
        KS_T(ks_write_gain)(s, k, m, made->Z, n, made->LT, 1, ld, made->pivot, 1, made->inverse_d, to);
        return;
    }
#pragma GCC unroll 4
    for (int a = 0; a < ny; ++a) {
        KS_STORE4(gain + 4 * a, KS_LOAD4(made->Z + 4 * a));
#pragma GCC unroll 4
        for (int c = 0; c < a; ++c) L[a * ny + c] = made->LT[4 * c + a];
        L[a * ny + a] = made->pivot[a];
        inverse_d[a] = made->inverse_d[a];
    }
}

/** Write what a step makes besides its estimate: outputs that are seldom wanted and, if `gains` is not NULL, what
 *  followers need. looks: w->xn holds the variances before the step. */
KS_HD_SAME void KS_T(ks_tiled_write_rest)(const ks_series *s, int n, int64_t k, int m,
                                          const KS_NUM *P,
                                          const KS_T(ks_tiled_slot) *made,
                                          const KS_T(ks_tiled_memory) *w, int looks,
                                          const ks_forward_sinks *to, const ks_sink *gains)
{
    const int nx = s->nx;
    if (gains) {
        const KS_T(ks_tiled_slot) gain =
            KS_T(ks_tiled_gain_of)(n, m, (KS_NUM *)ks_slot_of(*gains, k));
        KS_T(ks_copy)(m * n, made->Z, gain.Z);
        KS_T(ks_copy)(m * KS_T(ks_padded)(m), made->LT, gain.LT);
        KS_T(ks_copy)(m, made->pivot, gain.pivot);
        KS_T(ks_copy)(m, made->inverse_d, gain.inverse_d);
        if (looks) KS_T(ks_shrunk)(nx, n, w->xn, made->Pp, gain.shrunk);
    }
    if (to->predicted_mean.base || to->predicted_cov.base || to->predicted_var.base ||
        to->innovation.base || to->innovation_cov.base || to->innovation_std.base)
        KS_T(ks_tiled_write_more)(s, n, k, made->Pp, made->inverse_d, w, to);
    if (to->loglik_terms.base) {
        ks_evidence term = ks_evidence_start();
        for (int i = 0; i < m; ++i)
            ks_gather_pivot(&term, (double)made->pivot[i],
                            (double)(w->step.v[i] * w->step.v[i] * made->inverse_d[i]));
        *(double *)ks_slot_of(to->loglik_terms, k) = ks_evidence_loglik(&term);
    }
    KS_T(ks_tiled_write)(nx, n, k, w->x, P, to->filtered_mean, to->filtered_cov, to->filtered_var);
    if (to->kept_mean.base) {
        const ks_sink none = { NULL, 0, 0 };
        KS_T(ks_tiled_write)(nx, n, k, w->x, P, to->kept_mean, to->kept_C, none);
    }
}

/** Filter steps from k on whose covariances come from the memo, one after the other, with no outputs but mean and cov.
 *  The results are those of ks_tiled_filter_steps(), with less work. Returns the first step not taken; *P is the
 *  covariance then. *finite becomes false if that step's estimate is not finite. */
KS_HD int64_t KS_T(ks_tiled_repeat)(ks_shape shape, int nx, int n, int ny, const ks_series *s,
                                    int64_t k, int64_t k1, const KS_T(ks_blocks) *all,
                                    KS_T(ks_memo) *memo, const KS_T(ks_tiled_memory) *w,
                                    ks_sink mean, ks_sink cov, const ks_forward_sinks *to,
                                    ks_evidence *evidence, KS_NUM **P, int *finite)
{
    const int ahead = KS_T(ks_steps_ahead)(shape);
    KS_T(ks_blocks) b = *all;
    KS_T(ks_tiled) step = w->step;
    KS_NUM *x = w->x, *last = NULL;
    /* Nothing else points to these copies, so the vectors of a quad can stay in registers. */
    KS_NUM own[3][4];
    if (shape == KS_SHAPE_QUAD) {
        x = own[0];
        step.xp = own[1];
        step.v = own[2];
        KS_T(ks_copy)(4, w->x, x);
    }
    ks_evidence e = *evidence;
    KS_T(ks_stream) stream;
    /* Kept covariances are read again soon, so they do not bypass the caches. */
    const ks_sink none = { NULL, 0, 0 }, final = to->kept_C.base ? none : cov;
    KS_T(ks_stream_begin)(shape, nx, s, n == nx ? KS_STREAM_LEAST : KS_STREAM_LEAST * 3 / 2, final, &stream);
    for (; k < k1; ++k) {
        const int at = memo->follower[memo->last];
        if (at < 0 || (k % KS_LOOK == KS_LOOK - 1 && !memo->looked[at])) break;
        b.y = (const KS_NUM *)ks_row(s->y, k);
        b.d = (const KS_NUM *)ks_row(s->d, k);
        if (!KS_T(ks_tiled_complete)(ny, b.y)) break;
        const KS_T(ks_tiled_slot) made =
            KS_T(ks_tiled_slot_of)(n, ny, memo->base + (int64_t)at * memo->size);
        /* again: the covariance is the same as after the step before. */
        const int again = at == memo->last, silent = to->sparse && again, past = stream.pays && (again || n == nx);
        if (cov.base && !silent && !past && k + ahead < k1)
            KS_T(ks_tiled_expect)(NULL, nx * nx, (KS_NUM *)ks_slot_of(cov, k + ahead));
        KS_T(ks_tiled_again)(shape, nx, n, ny, &b, &made, x, &step);
        memo->last = at;
        last = made.P;
        for (int i = 0; i < ny; ++i)
            ks_gather_pivot(&e, (double)made.pivot[i],
                            (double)(step.v[i] * step.v[i] * made.inverse_d[i]));
        KS_NUM sum = KS_LIT(0);
        for (int i = 0; i < nx; ++i) sum = sum + KS_LIT(0) * x[i];
        *finite = (double)sum + 0 * e.quadratic == 0;
        if (!*finite) break;
        if (past) {
            KS_T(ks_stream_put)(0, nx, n, last, again, w->Pn, cov, k, &stream);
        } else if (cov.base && !silent) {
            KS_T(ks_unpad)(nx, n, last, (KS_NUM *)ks_slot_of(cov, k));
            stream.packed = NULL;
        }
        if (mean.base) KS_T(ks_copy)(nx, x, (KS_NUM *)ks_slot_of(mean, k));
        if (to->kept_mean.base)
            to->form[k - to->form_first] = (unsigned char)(silent ? KS_KEPT_BEFORE : KS_FORM_ORDINARY);
    }
    if (stream.pays) ks_stream_end(&stream.lines);
    if (shape == KS_SHAPE_QUAD) KS_T(ks_copy)(4, x, w->x);
    *evidence = e;
    if (last) {
        KS_T(ks_copy)(nx * n, last, w->Pn);
        *P = w->Pn;
    }
    return k;
}

/* For quads a function for each ny: inlined, the loop around it would run out of registers. */
#define KS_QUAD_REPEAT(ny)                                                                  \
    KS_HD_COLD int64_t KS_T(ks_quad_repeat_##ny)(                                           \
        const ks_series *s, int64_t k, int64_t k1, const KS_T(ks_blocks) *all,              \
        KS_T(ks_memo) *memo, const KS_T(ks_tiled_memory) *w, ks_sink mean, ks_sink cov,     \
        const ks_forward_sinks *to, ks_evidence *evidence, KS_NUM **P, int *finite)         \
    {                                                                                       \
        return KS_T(ks_tiled_repeat)(KS_SHAPE_QUAD, 4, 4, ny, s, k, k1, all, memo, w, mean, \
                                     cov, to, evidence, P, finite);                         \
    }
KS_QUAD_REPEAT(1)
KS_QUAD_REPEAT(2)
KS_QUAD_REPEAT(3)
KS_QUAD_REPEAT(4)
#undef KS_QUAD_REPEAT

/** Filter steps k0 .. k1 - 1, as long as the ordinary form has enough digits. shape is a literal. ny is s->ny, for
 *  quads a literal. Rows are padded to n. gains: for followers, or NULL. Returns the first step not taken, or -1 with
 *  the fault in the tally. */
KS_HD int64_t KS_T(ks_tiled_filter_steps)(ks_shape shape, int nx, int n, int ny, const ks_series *s,
                                          int64_t k0, int64_t k1, ks_state *state,
                                          const ks_forward_sinks *to, const ks_sink *gains,
                                          void *memory, ks_tally *tally)
{
    const int quad = shape == KS_SHAPE_QUAD, mp = KS_T(ks_padded)(ny);
#define KS_LD(m) (shape == KS_SHAPE_TILES ? KS_T(ks_padded)(m) : 4) /* of the factors of an innovation */
    /* No queue for nine to eleven states, which is known at compile time. */
    const int queues = KS_QUEUES_FROM(12, shape, nx) && (KS_KNOWN(nx) || !KS_THREE_TILES(n));
    ks_prefetch later = { .rows = 0 }, *const prefetch = queues ? &later : NULL;
    KS_T(ks_tiled_memory) w = KS_T(ks_tiled_begin)(nx, n, ny, state, memory);
    w.step.prefetch = prefetch;
    /* What the backward pass needs is written straight to its place; if there is none, the filtered estimate is. Where
     * rows need no padding, the covariance is made in place. */
    const int keeps = to->kept_mean.base != NULL;
    const ks_sink mean = keeps ? to->kept_mean : to->filtered_mean;
    const ks_sink cov = keeps ? to->kept_C : to->filtered_cov;
    const int home = cov.base && n == nx;
    const int rest = (keeps && (to->filtered_mean.base || to->filtered_cov.base)) ||
                     to->filtered_var.base || to->predicted_mean.base || to->predicted_cov.base ||
                     to->predicted_var.base || to->innovation.base || to->innovation_cov.base ||
                     to->innovation_std.base || to->loglik_terms.base || gains;
    const int moves = s->F.stride || s->Q.stride || s->u.stride;
    const int turns = s->H.stride || s->R.stride, ahead = KS_T(ks_steps_ahead)(shape);
    KS_T(ks_blocks) all = { 0 }, some;
    KS_NUM *P = w.P;
    KS_T(ks_memo) memo = KS_T(ks_memo_start)(n, mp, KS_T(ks_steady_pays)(s, state, k1 - k0), 0, n * n,
                                             2 * n * n + ny * (n + mp + 2), w.memo);
    const KS_T(ks_tiled_slot) fresh = { 0, w.step.Pp, w.step.Z, w.step.LT, w.step.pivot,
                                        w.step.inverse_d, NULL };
    ks_evidence evidence = tally->evidence;
    ks_digits *const digits = &tally->digits;
    const int constant = KS_T(ks_memo_pays)(s, INT64_MAX), may = s->steady_state == KS_STEADY_STATE_HOLD;
    ks_steady steady = state->steady;
    KS_T(ks_exact) exact = KS_T(ks_exact_begin)((!quad || KS_QUADS_EXACT) && ks_takes_exact(to), ny, &w);
    int carried = 1; /* a quad's w.P is the posterior of the step before */
    unsigned known = 0; /* see ks_few_present() */
    int64_t k = k0, missing = 0;
    KS_T(ks_tiled_transition_any)(nx, n, s, k, 1, &w, &all);
    KS_T(ks_tiled_channels_any)(shape, nx, ny, s, k, &w, &all);
    for (; k < k1; ++k) {
        if (memo.last >= 0 && !moves && !rest && !to->gain.base && steady.stage >= KS_STEADY_REPEATS &&
            (!exact.taken || KS_T(ks_exact_all_looked)(&memo))) {
            int finite = 1;
            const int64_t from = k;
#define KS_REPEAT(name, ...)                                                                \
    k = KS_T(name)(__VA_ARGS__ s, k, k1, &all, &memo, &w, mean, cov, to, &evidence, &P, &finite)
            if (quad && ny == 1) KS_REPEAT(ks_quad_repeat_1, );
            else if (quad && ny == 2) KS_REPEAT(ks_quad_repeat_2, );
            else if (quad && ny == 3) KS_REPEAT(ks_quad_repeat_3, );
            else if (quad) KS_REPEAT(ks_quad_repeat_4, );
            else KS_REPEAT(ks_tiled_repeat, shape, nx, n, ny, );
#undef KS_REPEAT
            if (!finite) {
                tally->evidence = evidence;
                return KS_T(ks_step_fault)(k, 0, KS_ARRAY_ESTIMATE, KS_FAULT_NOT_FINITE, tally);
            }
            if (k > from) carried = 0;
            if (k > from && exact.taken) {
                const KS_T(ks_tiled_slot) left = KS_T(ks_tiled_slot_of)(n, ny, memo.base + (int64_t)memo.last * memo.size);
                KS_T(ks_exact_resume)(ny, KS_LD(ny), all.limit, &left, &exact);
            }
            if (k == k1) break;
        }
        KS_NUM *next = home ? (KS_NUM *)ks_slot_of(cov, k) : w.Pn;
        const KS_T(ks_blocks) *b = &all;
        int m = ny, at = -1;
        if (prefetch) ks_prefetch_flush(prefetch);
        if (cov.base && k + ahead < k1)
            KS_T(ks_tiled_expect)(prefetch, nx * nx, (KS_NUM *)ks_slot_of(cov, k + ahead));
        if (moves || turns) KS_T(ks_expect_step)(prefetch, nx, s, k + ahead, 1);
        if (prefetch) ks_prefetch_spread(prefetch, KS_T(ks_tiles_of)(5 * nx / 2 + m, n));
        if (moves) KS_T(ks_tiled_transition)(shape, nx, n, s, k, 0, &w, &all);
        if (turns) KS_T(ks_tiled_channels)(shape, nx, ny, s, k, 0, &w, &all);
        all.y = (const KS_NUM *)ks_row(s->y, k);
        all.d = (const KS_NUM *)ks_row(s->d, k);
        const int complete = KS_T(ks_tiled_complete)(ny, all.y);
        if (!complete) {
            int entry = 0;
            some = all;
            b = &some;
            m = shape == KS_SHAPE_TILES ? KS_T(ks_tiled_present)(s, k, &w, &some, &entry)
                                        : KS_T(ks_few_present)(s, k, shape, &w, &known, &some, &entry);
            if (m < 0) {
                tally->evidence = evidence;
                return KS_T(ks_step_fault)(k, entry, KS_ARRAY_Y, KS_FAULT_NOT_FINITE, tally);
            }
        }
        if (memo.slots && complete) at = KS_T(ks_memo_find)(&memo, NULL, P);
        const int phase = (int)((k + 1) % KS_LOOK), held = steady.stage == KS_STEADY_HELD;
        const int asks = constant && complete && KS_T(ks_steady_asks)(at >= 0, may, &steady);
        const int watched = asks && KS_T(ks_steady_watches)(&steady, phase);
        if (watched) KS_T(ks_copy)(nx * n, P, w.kept);
        if (KS_IS_LOOKED_AT(k) && !exact.due && !(at >= 0 && (memo.looked[at] & KS_LOOKED_KEY))) {
            if (!KS_ALL(quad ? KS_T(ks_quad_conditioned)(P)
                             : KS_T(ks_tiled_conditioned)(nx, n, P, &w))) {
                KS_T(ks_tiled_tell_lost)(nx, n, k, P, digits, &w);
                if (!exact.may || ks_has_lost(digits)) break;
                exact.due = 1; /* the prediction decides */
            } else {
                digits->singular = 0;
            }
            if (at >= 0) memo.looked[at] |= KS_LOOKED_KEY;
        }
        KS_T(ks_tiled_slot) made = fresh;
        /* The posterior may overwrite the covariance that it is made from. */
        const int looks = (at < 0 || gains) && ks_looks_sharp(to, s, k);
        for (int i = 0; looks && i < nx; ++i) w.xn[i] = P[i * n + i];
        if (at >= 0) {
            made = KS_T(ks_tiled_slot_of)(n, ny, memo.base + (int64_t)at * memo.size);
            if (exact.taken || exact.due) {
                if (!KS_T(ks_exact_again)(nx, n, ny, KS_LD(ny), b, &made, P, &memo.looked[at], &w, &exact)) {
                    k = KS_T(ks_exact_back)(nx, n, k, &P, &evidence, &missing, &tally->sharp, &w, &exact);
                    break;
                }
                KS_T(ks_exact_keep)(nx, n, k, P, &evidence, missing, tally->sharp, &w, &exact);
            }
            for (int i = 0; i < nx * n; i += KS_LANES) KS_STOREV(next + i, KS_LOADV(made.P + i));
            KS_T(ks_tiled_again)(shape, nx, n, ny, b, &made, w.x, &w.step);
            carried = 0;
        } else {
            if (quad && !carried) KS_T(ks_copy)(16, P, w.P);
            carried = 1;
            KS_NUM *record = NULL;
            KS_MASK good;
            if (memo.slots) {
                memo.last = -1;
                if (complete) record = KS_T(ks_memo_miss)(&memo, NULL, P);
            }
            KS_T(ks_blocks) unlimited;
            int seen = 0;
            for (int exactly = exact.due;; exactly = 1) {
                if (exactly) {
                    KS_T(ks_tiled_tell_lost)(nx, n, k, P, digits, &w);
                    good = KS_GT(KS_LIT(0), KS_LIT(1));
                    if (ks_has_lost(digits)) break;
                    KS_T(ks_exact_keep)(nx, n, k, P, &evidence, missing, tally->sharp, &w, &exact);
                    unlimited = *b;
                    unlimited.limit = w.no_limit;
                }
                const KS_T(ks_blocks) *with = exactly ? &unlimited : b;
                if (shape == KS_SHAPE_ROWS)
                    good = KS_T(ks_row_filter_any)(nx, m, with, w.x, P, next, &w.step);
                else if (!quad)
                    good = KS_T(ks_tiled_filter_any)(nx, n, m, with, w.x, P, next, &w.step);
                else if (complete)
                    good = KS_T(ks_quad_filter)(ny, with, w.x, w.P, next, &w.step);
                else
                    good = KS_T(ks_quad_filter_any)(m, with, w.x, w.P, next, &w.step);
                seen = exactly && KS_ALL(good);
                if (seen && !KS_T(ks_exact_stands)(nx, n, m, KS_LD(m), k, b, &made, next, &w, &exact))
                    good = KS_GT(KS_LIT(0), KS_LIT(1));
                if (KS_ALL(good) || exactly || !exact.may) break;
            }
            if (!KS_ALL(good)) {
                /* Whatever this step fails for, its prediction decides whether the step before is accepted. */
                if (exact.due && !seen) exact.refused = !KS_T(ks_exact_next)(nx, n, b, P, &w);
                if (exact.may) k = KS_T(ks_exact_back)(nx, n, k, &P, &evidence, &missing, &tally->sharp, &w, &exact);
                break;
            }
            if (looks && KS_T(ks_sharp)(nx, w.step.xp, w.step.Pp, n, w.xn, 0)) tally->sharp = k;
            if (record) KS_T(ks_tiled_record)(nx, n, ny, next, &w.step, &memo, record);
        }
        if (exact.due) digits->singular = 1;
        if (!complete)
            steady.stage = KS_STEADY_UNKNOWN;
        else if (asks && KS_T(ks_filter_steady)(shape, nx, n, ny, b, phase, watched, next, made.Pp, made.Z, made.LT, &w,
                                                &steady)) {
            KS_T(ks_copy)(nx * n, w.kept, next);
            carried = 0;
            if (memo.slots) KS_T(ks_tiled_hold)(nx, n, ny, next, &made, &w.step, &memo);
        }
        if (held && steady.stage != KS_STEADY_HELD) KS_T(ks_memo_forget)(&memo);
        P = next;
        missing += ny - m;
        for (int i = 0; i < m; ++i)
            ks_gather_pivot(&evidence, (double)made.pivot[i],
                            (double)(w.step.v[i] * w.step.v[i] * made.inverse_d[i]));
        if (!KS_T(ks_tiled_finite)(nx, n, w.x, P) || !isfinite(evidence.quadratic)) {
            tally->evidence = evidence;
            return KS_T(ks_step_fault)(k, 0, KS_ARRAY_ESTIMATE, KS_FAULT_NOT_FINITE, tally);
        }
        if (mean.base) KS_T(ks_copy)(nx, w.x, (KS_NUM *)ks_slot_of(mean, k));
        if (cov.base && !home) KS_T(ks_unpad)(nx, n, P, (KS_NUM *)ks_slot_of(cov, k));
        if (keeps) to->form[k - to->form_first] = (unsigned char)KS_FORM_ORDINARY;
        if (to->gain.base) KS_T(ks_tiled_write_gain)(shape, n, m, ny, s, k, &made, to->gain);
        if (rest) KS_T(ks_tiled_write_rest)(s, n, k, m, P, &made, &w, looks, to, gains);
    }
    if (k == k1 && exact.due && k < s->steps) {
        KS_T(ks_tiled_transition_any)(nx, n, s, k, 0, &w, &all);
        exact.refused = !KS_T(ks_exact_next)(nx, n, &all, P, &w);
        if (exact.refused) k = KS_T(ks_exact_back)(nx, n, k, &P, &evidence, &missing, &tally->sharp, &w, &exact);
    }
#undef KS_LD
    tally->evidence = evidence;
    tally->missing += missing;
    tally->ordinary += k - k0;
    KS_T(ks_tiled_leave)(nx, n, w.x, P, state);
    state->steady = steady;
    return k;
}
