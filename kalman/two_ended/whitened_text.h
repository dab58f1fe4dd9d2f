/* whitened_text.h -- smoother steps, backward, in the coordinates that the filter's roots whiten; see num_f64.h. For
 * scalar numbers.
 *
 * With the root S of a filtered covariance, x = filtered mean + S zeta. Given the observations so far, zeta has unit
 * covariance. The reflections of the array filter's step into k + 1 (array_step_text.h) are an orthogonal Theta with
 *
 *     (zeta[k], noise) = Theta (epsilon[k+1], zeta[k+1], rest).
 *
 * The whitened innovation epsilon is known, and no later observation tells anything about the rest. So a step back
 * multiplies what is known of zeta[k+1] by a part of an orthogonal matrix. No round-off grows and nothing is inverted,
 * however singular F, Q, R and P0 are. The error is one round-off of the filtered standard deviations.
 *
 * Theta is made again from what the filter has kept, by the same text with the same bits: zeta has a meaning only with
 * the root that it belongs to. The roots that a step is made of determine all of it except the means. So steps of a
 * constant model that repeat earlier ones are looked up (memo_text.h). Source: Park & Kailath, "New square-root
 * smoothing algorithms", IEEE Trans. Automatic Control 41, 1996. */
#include "place.h"

/** Pointers into scratch. */
typedef struct KS_T(ks_whitened_scratch) {
    KS_NUM *compact;
    KS_NUM *x, *S, *xp, *Sp, *xn, *Sn, *Se, *e; /* the step before, its prediction, the step      */
    KS_NUM *across, *through;                   /* Theta of the prediction and of the observation */
    KS_NUM *A, *Q_root, *from, *memo, *work;
} KS_T(ks_whitened_scratch);

/** A remembered step. The key is S[k] and the root of zeta[k + 1]. root: of zeta[k]. C, P: smoothed root and
 *  covariance. Se: root of the innovation covariance. through, across, counts: Theta. Se and Theta are for means. */
typedef struct KS_T(ks_whitened_slot) {
    KS_NUM *root, *C, *P, *Se, *through, *across, *counts;
} KS_T(ks_whitened_slot);

/** Set the pointers of a slot whose results begin at `base`. Returns their numbers; with base NULL only that. */
KS_HD int KS_T(ks_whitened_slot_at)(int nx, int ny, KS_NUM *base, KS_T(ks_whitened_slot) *slot)
{
    const int nn = nx * nx, m = ny;
    int at = 0;
    KS_PLACE(slot->root, nn);
    KS_PLACE(slot->C, nn);
    KS_PLACE(slot->P, nn);
    KS_PLACE(slot->Se, m * m);
    KS_PLACE(slot->through, (int)KS_T(ks_rotation_numbers)(m, nx + m));
    KS_PLACE(slot->across, (int)KS_T(ks_rotation_numbers)(nx, 2 * nx));
    KS_PLACE(slot->counts, 4);
    return at;
}

KS_HD KS_T(ks_memo) KS_T(ks_whitened_memo)(int nx, int ny, int pays, KS_NUM *memory)
{
    KS_T(ks_whitened_slot) slot;
    return KS_T(ks_memo_start)(nx, ny, pays, nx * nx, nx * nx, KS_T(ks_whitened_slot_at)(nx, ny, NULL, &slot), memory);
}

/** Lay out the scratch. Returns the numbers that it takes; NULL only measures. */
KS_HD int64_t KS_T(ks_whitened_lay_out)(int nx, int ny, KS_NUM *memory, KS_T(ks_whitened_scratch) *w)
{
    const int64_t n = nx, m = ny, nn = n * n;
    const int64_t across = KS_T(ks_rotation_numbers)(nx, 2 * nx), through = KS_T(ks_rotation_numbers)(ny, nx + ny);
    KS_T(ks_whitened_slot) unused;
    const int64_t slot = 2 * nn + KS_T(ks_whitened_slot_at)(nx, ny, NULL, &unused); /* with its key */
    const int64_t size[] = { m * n + m * m + 2 * m, n, nn, n, nn, n, nn, m * m, m,
                             across, through, nn, nn + 1, nn,
                             KS_T(ks_memo_numbers)(nx, ny, slot),
                             KS_T(ks_step_scratch)(nx, ny) +
                                 (int64_t)ks_lq_apart(2 * nx + 1) * (2 * n + m) /* ks_whitened_retreat() */ };
    KS_NUM **const place[] = { &w->compact, &w->x, &w->S, &w->xp, &w->Sp, &w->xn, &w->Sn, &w->Se, &w->e,
                               &w->across, &w->through, &w->A, &w->Q_root, &w->from, &w->memo, &w->work };
    int64_t at = 0;
    for (int i = 0; i < (int)(sizeof size / sizeof size[0]); ++i) {
        *place[i] = memory ? memory + at : NULL;
        at += size[i];
    }
    return at;
}

/** Filter step k, from w->x, w->S of the step before to w->xn, w->Sn, with epsilon in w->e and Theta in across and
 *  through. Returns the number of entries present, or -1 with the fault in the tally. */
KS_HD_COLD int KS_T(ks_whitened_step)(const ks_series *s, int64_t k, const KS_T(ks_whitened_scratch) *w,
                                      KS_T(ks_rotation) *across, KS_T(ks_rotation) *through,
                                      ks_tally *tally)
{
    const int nx = s->nx;
    int entry = 0;
    const KS_T(ks_observation) o = KS_T(ks_observe)(s, k, w->compact, &entry);
    if (o.m < 0) return KS_T(ks_step_fault)(k, entry, KS_ARRAY_Y, KS_FAULT_NOT_FINITE, tally);
    if (k == 0 && s->prior_x1) {
        KS_T(ks_copy)(nx, w->x, w->xp);
        KS_T(ks_copy)(nx * nx, w->S, w->Sp);
    } else {
        const int64_t row = k - s->shift;
        KS_T(ks_array_predict)(nx, (const KS_NUM *)ks_row(s->F, row), (const KS_NUM *)ks_row(s->Q, row),
                               (const KS_NUM *)ks_row(s->u, row), w->x, w->S, w->xp, w->Sp, across,
                               s->Q.stride ? NULL : w->Q_root, w->work);
    }
    const int bad = KS_T(ks_array_update)(nx, o.m, o.H, o.R, o.d, o.y, w->xp, w->Sp, w->xn, w->Sn, w->Se,
                                          w->e, NULL, through, w->work);
    if (bad >= 0)
        return KS_T(ks_step_fault)(k, bad, KS_ARRAY_INNOVATION_COV, KS_FAULT_NOT_POSITIVE, tally);
    if (!KS_T(ks_finite_in_form)(nx, KS_FORM_ARRAY, w->xn, w->Sn))
        return KS_T(ks_step_fault)(k, 0, KS_ARRAY_ESTIMATE, KS_FAULT_NOT_FINITE, tally);
    return o.m;
}

/** The smoothed mean x of a step, from its filtered mean fx and the root S of its filtered covariance. */
KS_HD_SAME void KS_T(ks_whitened_mean)(int nx, const KS_NUM *fx, const KS_NUM *S, const ks_whitened *whitened, KS_NUM *x)
{
    KS_T(ks_copy)(nx, fx, x);
    KS_T(ks_mv_add)(nx, nx, S, (const KS_NUM *)whitened->mean, x);
}

/** The same with the smoothed root C. */
KS_HD void KS_T(ks_whitened_estimate)(int nx, const KS_NUM *fx, const KS_NUM *S, const ks_whitened *whitened,
                                      KS_NUM *x, KS_NUM *C)
{
    KS_T(ks_whitened_mean)(nx, fx, S, whitened, x);
    KS_T(ks_mm_root)(nx, nx, nx, S, (const KS_NUM *)whitened->root, C);
}

/** Whether some standard deviation loses half of its digits to round-off of the filter's root S, because what follows
 *  tells so much more than what came before. C is the smoothed root. */
KS_HD int KS_T(ks_whitened_vague)(int nx, const KS_NUM *S, const KS_NUM *C)
{
    for (int i = 0; i < nx; ++i) {
        KS_NUM filtered = KS_LIT(0), smoothed = KS_LIT(0);
        for (int c = 0; c < nx; ++c) {
            filtered = filtered + S[i * nx + c] * S[i * nx + c];
            smoothed = smoothed + C[i * nx + c] * C[i * nx + c];
        }
        if (KS_GT(KS_LIT(KS_EPS) * filtered, smoothed)) return 1;
    }
    return 0;
}

/** See ks_whitened_kernels.meet. The data z = Uᵀ x + noise are data of zeta: z - Uᵀ fx = (Sᵀ U)ᵀ zeta + noise. */
KS_HD_COLD void KS_T(ks_whitened_meet)(int nx, const ks_state *filtered, const ks_information *information,
                                       ks_whitened *whitened, ks_state *state, void *memory)
{
    const KS_NUM *x = (const KS_NUM *)filtered->x, *S = (const KS_NUM *)filtered->C;
    const KS_NUM *U = (const KS_NUM *)information->J, *z = (const KS_NUM *)information->eta;
    KS_NUM *mean = (KS_NUM *)whitened->mean, *root = (KS_NUM *)whitened->root;
    KS_NUM *W = (KS_NUM *)memory, *left = W + nx * nx, *pivot = left + nx, *q = pivot + nx, *work = q + nx;
    for (int i = 0; i < nx * nx; ++i) W[i] = KS_LIT(0);
    KS_T(ks_mtm_add)(nx, nx, nx, S, U, W);
    KS_T(ks_copy)(nx, z, left);
    KS_T(ks_mtv_sub)(nx, nx, U, x, left);
    for (int i = 0; i < nx; ++i) mean[i] = KS_LIT(0);
    KS_T(ks_identity)(nx, root);
    KS_T(ks_array_meet)(nx, W, left, mean, root, pivot, q, work);
    KS_T(ks_whitened_estimate)(nx, x, S, whitened, (KS_NUM *)state->x, (KS_NUM *)state->C);
    state->form = KS_FORM_ARRAY;
}

/** Apply Theta's reflections to M (rows, columns) in reverse order, and move the first nx columns back to where they
 *  were before sorting. W: nx columns of M. */
KS_HD_SAME void KS_T(ks_rotate_back)(const KS_T(ks_rotation) *theta, int nx, int rows, KS_NUM *M, KS_NUM *W)
{
    const int apart = ks_lq_apart(rows);
    KS_T(ks_lq_back)(theta->count, rows, theta->columns, theta->ends, theta->V, M);
    for (int c = 0; c < nx; ++c) {
        const int from = (int)(double)theta->place[c];
        if (from != c) KS_T(ks_lq_move)(apart, M + from * apart, W + c * apart);
    }
    for (int c = 0; c < nx; ++c)
        if ((int)(double)theta->place[c] != c) KS_T(ks_lq_move)(apart, W + c * apart, M + c * apart);
}

/** From what is known of zeta[k + 1] to what is known of zeta[k], whose x and S are in w. `later` is the smoothed root
 *  of step k + 1. Theta is left in across and through. */
KS_HD int KS_T(ks_whitened_retreat)(const ks_series *s, int64_t k, ks_whitened *whitened, const KS_NUM *later,
                                    ks_sink lag_one, const KS_T(ks_whitened_scratch) *w,
                                    KS_T(ks_rotation) *across, KS_T(ks_rotation) *through, ks_tally *tally)
{
    const int nx = s->nx;
    KS_NUM *mean = (KS_NUM *)whitened->mean, *root = (KS_NUM *)whitened->root;
    const int m = KS_T(ks_whitened_step)(s, k + 1, w, across, through, tally);
    if (m < 0) return -1;
    /* Rows of M: nx rows of the root of zeta, its mean, and the rest, which later observations do not tell of. */
    const int rest = across->columns - nx, rows = nx + 1 + rest, apart = ks_lq_apart(rows);
    const int columns = through->columns > across->columns ? through->columns : across->columns;
    const int known = through->columns - m;
    KS_NUM *M = w->work, *more = M + apart * columns;
    KS_T(ks_lq_clear)(rows, columns, M);
    for (int c = 0; c < m; ++c) M[c * apart + nx] = w->e[c];
    for (int c = 0; c < known; ++c) {
        KS_T(ks_copy)(nx, root + c * nx, M + (m + c) * apart);
        M[(m + c) * apart + nx] = mean[c];
    }
    KS_T(ks_rotate_back)(through, nx, rows, M, more);
    for (int c = nx; c < columns; ++c) KS_T(ks_zero)(apart, M + c * apart);
    for (int c = 0; c < rest; ++c) M[(nx + c) * apart + nx + 1 + c] = KS_LIT(1);
    KS_T(ks_rotate_back)(across, nx, rows, M, more);
    if (lag_one.base) { /* later (B root)ᵀ S[k]ᵀ, B the part of Theta for zeta[k + 1] */
        for (int i = 0; i < nx; ++i)
            for (int j = 0; j < nx; ++j) {
                KS_NUM entry = KS_LIT(0);
                for (int c = 0; c < nx; ++c) entry = entry + w->S[i * nx + c] * M[c * apart + j];
                w->A[j * nx + i] = entry;
            }
        KS_T(ks_mm)(nx, nx, nx, later, w->A, (KS_NUM *)ks_slot_of(lag_one, k + 1));
    }
    /* Theta's rows have entries from the first component on, so those of zeta are short from the last component on. */
    for (int c = 0; c < nx; ++c) {
        mean[c] = M[c * apart + nx];
        KS_T(ks_copy)(nx, M + c * apart, root + (rest ? nx - 1 - c : c) * nx);
    }
    if (!rest) return 0;
    const int tight = ks_lq_apart(nx); /* zeta in the rows, the last component first */
    KS_T(ks_lq_clear)(nx, nx + rest, more);
    KS_T(ks_lq_put)(nx, nx, root, tight, more);
    for (int i = 0; i < nx; ++i)
        for (int c = 0; c < rest; ++c) more[(nx + c) * tight + nx - 1 - i] = M[i * apart + nx + 1 + c];
    const KS_NUM *sorted = KS_T(ks_lq_sorted)(nx, nx, nx + rest, more, M, NULL, more + (nx + rest) * tight);
    KS_T(ks_lq_take)(nx, nx, tight, sorted, root + (nx - 1) * nx, -nx);
    return 0;
}

/** The closed loop of a step, A (nx, nx) in zeta[k] = A zeta[k + 1] + ..., from its Theta, with all m entries present.
 *  W: as M in ks_whitened_retreat(). */
KS_HD_COLD void KS_T(ks_whitened_loop)(int nx, int m, const KS_T(ks_rotation) *across, const KS_T(ks_rotation) *through,
                                       KS_NUM *A, KS_NUM *W)
{
    const int apart = ks_lq_apart(nx), columns = through->columns > across->columns ? through->columns : across->columns;
    KS_NUM *M = W, *more = M + apart * columns;
    KS_T(ks_lq_clear)(nx, columns, M);
    for (int c = m; c < through->columns; ++c) M[c * apart + c - m] = KS_LIT(1);
    KS_T(ks_rotate_back)(through, nx, nx, M, more);
    for (int c = nx; c < columns; ++c) KS_T(ks_zero)(apart, M + c * apart);
    KS_T(ks_rotate_back)(across, nx, nx, M, more);
    for (int c = 0; c < nx; ++c) KS_T(ks_copy)(nx, M + c * apart, A + c * nx);
}

/** Replace the root of zeta after a step back by the root before it, `from`, if that is held. The filter's root S is
 *  the same on both sides of the step. */
KS_HD void KS_T(ks_hold_whitened)(int nx, int m, int64_t k, const KS_NUM *from, const KS_T(ks_rotation) *across,
                                  const KS_T(ks_rotation) *through, const KS_T(ks_whitened_scratch) *w,
                                  ks_whitened *whitened)
{
    KS_NUM *root = (KS_NUM *)whitened->root, *one = w->xn;
    if (!whitened->held && k % KS_LOOK != KS_LOOK - 1) return;
    for (int i = 0; i < nx; ++i) one[i] = KS_LIT(1);
    const double moved = KS_T(ks_root_moved)(nx, from, root, one);
    if (moved >= 0 && !whitened->held) {
        KS_T(ks_whitened_loop)(nx, m, across, through, w->A, w->work);
        KS_T(ks_mm_root)(nx, nx, nx, w->S, from, w->Sn);
        whitened->held = KS_T(ks_root_holds)(nx, moved, w->S, w->Sn, w->A, w->work);
    } else if (moved < 0) {
        whitened->held = 0;
    }
    if (whitened->held) KS_T(ks_copy)(nx * nx, from, root);
}

/** A step for the mean only, with the Theta of a slot, for a row without missing entries. */
KS_HD void KS_T(ks_whitened_again)(const ks_series *s, int64_t k, ks_whitened *whitened,
                                   const KS_T(ks_whitened_slot) *slot, const KS_T(ks_whitened_scratch) *w)
{
    const int nx = s->nx, m = s->ny, apart = ks_lq_apart(1);
    KS_T(ks_rotation) through = KS_T(ks_rotation_at)(m, nx + m, slot->through);
    KS_T(ks_rotation) across = KS_T(ks_rotation_at)(nx, 2 * nx, slot->across);
    through.count = (int)(double)slot->counts[0];
    through.columns = (int)(double)slot->counts[1];
    across.count = (int)(double)slot->counts[2];
    across.columns = (int)(double)slot->counts[3];
    const int columns = through.columns > across.columns ? through.columns : across.columns;
    const int64_t row = k + 1 - s->shift;
    KS_NUM *mean = (KS_NUM *)whitened->mean, *M = w->work, *more = M + apart * columns;
    KS_T(ks_array_move)(nx, (const KS_NUM *)ks_row(s->F, row), (const KS_NUM *)ks_row(s->u, row), w->x, w->xp);
    KS_T(ks_array_whiten)(nx, m, (const KS_NUM *)ks_row(s->H, k + 1), (const KS_NUM *)ks_row(s->d, k + 1),
                          (const KS_NUM *)ks_row(s->y, k + 1), w->xp, slot->Se, w->e);
    KS_T(ks_lq_clear)(1, columns, M);
    for (int c = 0; c < m; ++c) M[c * apart] = w->e[c];
    for (int c = m; c < through.columns; ++c) M[c * apart] = mean[c - m];
    KS_T(ks_rotate_back)(&through, nx, 1, M, more);
    for (int c = nx; c < columns; ++c) KS_T(ks_zero)(apart, M + c * apart);
    KS_T(ks_rotate_back)(&across, nx, 1, M, more);
    for (int c = 0; c < nx; ++c) mean[c] = M[c * apart];
    KS_T(ks_copy)(nx * nx, slot->root, (KS_NUM *)whitened->root);
}

/** Copy the numbers of a Theta to another one with room for as many rows and columns. */
KS_HD void KS_T(ks_rotation_copy)(int nx, const KS_T(ks_rotation) *theta, const KS_T(ks_rotation) *to)
{
    KS_T(ks_copy)(theta->count * (theta->columns + 2), theta->V, to->V);
    KS_T(ks_copy)(theta->count, theta->ends, to->ends);
    KS_T(ks_copy)(nx, theta->place, to->place);
}

/** Record the results of a step. */
KS_HD_COLD void KS_T(ks_whitened_remember)(int nx, int ny, const KS_NUM *root, const KS_T(ks_rotation) *across,
                                           const KS_T(ks_rotation) *through, const KS_T(ks_whitened_scratch) *w,
                                           KS_T(ks_memo) *memo, const KS_T(ks_whitened_slot) *slot)
{
    const int nn = nx * nx;
    KS_T(ks_memo_keep)(memo);
    KS_T(ks_copy)(nn, root, slot->root);
    KS_T(ks_copy)(nn, w->Sn, slot->C);
    KS_T(ks_cov_of_root)(nx, w->Sn, slot->P, w->work);
    KS_T(ks_copy)(ny * ny, w->Se, slot->Se);
    const KS_T(ks_rotation) to_through = KS_T(ks_rotation_at)(ny, nx + ny, slot->through);
    const KS_T(ks_rotation) to_across = KS_T(ks_rotation_at)(nx, 2 * nx, slot->across);
    KS_T(ks_rotation_copy)(nx, through, &to_through);
    KS_T(ks_rotation_copy)(nx, across, &to_across);
    slot->counts[0] = (KS_NUM)through->count;
    slot->counts[1] = (KS_NUM)through->columns;
    slot->counts[2] = (KS_NUM)across->count;
    slot->counts[3] = (KS_NUM)across->columns;
}

/** See ks_whitened_kernels.back. */
KS_HD_COLD int64_t KS_T(ks_whitened_back)(const ks_series *s, int64_t k0, int64_t k1, int64_t sharp,
                                          ks_whitened *whitened, ks_state *state, const ks_forward_sinks *kept,
                                          const ks_backward_sinks *to, void *memory, ks_tally *tally)
{
    const int nx = s->nx;
    KS_NUM *x = (KS_NUM *)state->x, *C = (KS_NUM *)state->C;
    KS_T(ks_whitened_scratch) w;
    (void)KS_T(ks_whitened_lay_out)(nx, s->ny, (KS_NUM *)memory, &w);
    w.Q_root[nx * nx] = KS_LIT(-1);
    KS_T(ks_rotation) across = KS_T(ks_rotation_at)(nx, 2 * nx, w.across);
    KS_T(ks_rotation) through = KS_T(ks_rotation_at)(s->ny, nx + s->ny, w.through);
    KS_T(ks_whitened_slot) slot = { 0 };
    KS_T(ks_memo) memo =
        KS_T(ks_whitened_memo)(nx, s->ny, KS_T(ks_memo_pays)(s, k1 - k0) && !to->lag_one_cov.base, w.memo);
    for (int64_t k = k1 - 1; k >= k0; --k) {
        const KS_NUM *root = (const KS_NUM *)whitened->root;
        int at = -1, entry = 0;
        KS_NUM *record = NULL;
        KS_T(ks_copy)(nx, (const KS_NUM *)ks_slot_of(kept->kept_mean, k), w.x);
        KS_T(ks_copy)(nx * nx, (const KS_NUM *)ks_slot_of(kept->kept_C, k), w.S);
        const int whole = KS_T(ks_memo_pays)(s, INT64_MAX) && k < s->steps - 1 &&
                          KS_T(ks_observe)(s, k + 1, w.compact, &entry).m == s->ny;
        const int may = whole && k >= 0 && s->steady_state == KS_STEADY_STATE_HOLD &&
                        memcmp(w.S, whitened->S, (size_t)(nx * nx) * sizeof(KS_NUM)) == 0;
        const int held = whitened->held;
        if (!may) whitened->held = 0;
        if (held && !may) KS_T(ks_memo_forget)(&memo);
        if (whole && memo.slots) {
            at = KS_T(ks_memo_find)(&memo, w.S, root);
            /* In a cycle of several steps, every KS_LOOK-th is computed, to see whether its root may be held. */
            if (at >= 0 && may && k % KS_LOOK == KS_LOOK - 1) {
                KS_NUM *const found = memo.base + (int64_t)at * memo.size;
                (void)KS_T(ks_whitened_slot_at)(nx, s->ny, found + 2 * nx * nx, &slot);
                if (memcmp(slot.root, root, (size_t)(nx * nx) * sizeof(KS_NUM)) != 0) {
                    at = -1;
                    memo.last = -1;
                }
            }
            record = at < 0 ? KS_T(ks_memo_miss)(&memo, w.S, root) : memo.base + (int64_t)at * memo.size;
            if (record) (void)KS_T(ks_whitened_slot_at)(nx, s->ny, record + 2 * nx * nx, &slot);
        } else {
            memo.last = -1;
        }
        if (at >= 0) {
            KS_T(ks_whitened_again)(s, k, whitened, &slot, &w);
            KS_T(ks_whitened_mean)(nx, w.x, w.S, whitened, w.xn);
            KS_T(ks_copy)(nx * nx, slot.C, w.Sn);
        } else {
            if (may) KS_T(ks_copy)(nx * nx, root, w.from);
            if (k < s->steps - 1 && KS_T(ks_whitened_retreat)(s, k, whitened, C, to->lag_one_cov, &w, &across, &through,
                                                              tally))
                return -2;
            if (may) KS_T(ks_hold_whitened)(nx, s->ny, k, w.from, &across, &through, &w, whitened);
            if (may && held != whitened->held) {
                KS_T(ks_memo_forget)(&memo);
                record = NULL;
            }
            KS_T(ks_whitened_estimate)(nx, w.x, w.S, whitened, w.xn, w.Sn);
            if (record) KS_T(ks_whitened_remember)(nx, s->ny, root, &across, &through, &w, &memo, &slot);
        }
        if (!KS_T(ks_finite_in_form)(nx, KS_FORM_ARRAY, w.xn, w.Sn)) {
            (void)KS_T(ks_step_fault)(k, 0, KS_ARRAY_ESTIMATE, KS_FAULT_NOT_FINITE, tally);
            return -2;
        }
        if (k < sharp - 1 && KS_T(ks_whitened_vague)(nx, w.S, w.Sn)) return k + 1;
        KS_T(ks_copy)(nx, w.xn, x);
        KS_T(ks_copy)(nx * nx, w.Sn, C);
        KS_T(ks_copy)(nx * nx, w.S, (KS_NUM *)whitened->S);
        state->form = KS_FORM_ARRAY;
        if (to->smoothed_mean.base) KS_T(ks_copy)(nx, x, (KS_NUM *)ks_slot_of(to->smoothed_mean, k));
        KS_T(ks_write_cov)(nx, at < 0 ? KS_FORM_ARRAY : KS_FORM_ORDINARY, at < 0 ? C : slot.P, to->smoothed_cov,
                           to->smoothed_var, k, w.work);
        tally->array += k >= 0; /* the prior is no step */
    }
    return k0;
}
