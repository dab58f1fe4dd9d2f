/* range_text.h -- what ranges of steps share: observations without their missing entries, scratch, and the rule that
 * chooses the form of each step; see num_f64.h. For scalar numbers.
 *
 * Every series starts in the array form. It goes to the ordinary form after a step whose posterior is well conditioned
 * and whose observation is at most KS_GROWTH / 4 times sharper than the prediction (ks_leave_array()). It returns to
 * the array form as soon as an ordinary step reports that its result is not good enough, or if a periodic check
 * (KS_IS_LOOKED_AT()) finds the posterior ill-conditioned. */

#include "literal_entries.h"

/** The observed entries of a step: H (m, nx), R (m, m), d and y (m). */
typedef struct KS_T(ks_observation) {
    const KS_NUM *H, *R, *d, *y;
    int m;
} KS_T(ks_observation);

/** Compact the entries that are present into W. *o holds all ny entries on entry; see ks_observe(). */
KS_HD_SAME void KS_T(ks_observe_present)(int nx, int ny, KS_NUM *W, KS_T(ks_observation) *o, int *entry)
{
    const KS_NUM *y = o->y, *H = o->H, *R = o->R, *d = o->d;
    int present = 0, finite = 1;
    for (int i = 0; i < ny; ++i) {
        present += y[i] == y[i];
        if (!(y[i] == y[i]) || y[i] - y[i] == KS_LIT(0)) continue;
        *entry = i;
        finite = 0;
    }
    o->m = finite ? present : -1;
    if (!finite) return;
    KS_NUM *Hc = W, *Rc = W + ny * nx, *dc = Rc + ny * ny, *yc = dc + ny;
    int m = 0;
    for (int i = 0; i < ny; ++i) {
        if (!(y[i] == y[i])) continue;
        KS_T(ks_copy)(nx, H + i * nx, Hc + m * nx);
        int n = 0;
        for (int j = 0; j < ny; ++j)
            if (y[j] == y[j]) Rc[m * present + n++] = R[i * ny + j];
        dc[m] = d[i];
        yc[m++] = y[i];
    }
    o->H = Hc;
    o->R = Rc;
    o->d = dc;
    o->y = yc;
}

/** The observation of step k: the caller's arrays if no entry is missing, else compacted into W. m is -1 if an entry is
 *  infinite, and *entry is its index then. */
KS_HD KS_T(ks_observation) KS_T(ks_observe)(const ks_series *s, int64_t k, KS_NUM *W, int *entry)
{
    KS_T(ks_observation) o;
    o.H = (const KS_NUM *)ks_row(s->H, k);
    o.R = (const KS_NUM *)ks_row(s->R, k);
    o.d = (const KS_NUM *)ks_row(s->d, k);
    o.y = (const KS_NUM *)ks_row(s->y, k);
    o.m = s->ny;
    int finite = 1;
    for (int i = 0; i < s->ny; ++i) finite &= o.y[i] - o.y[i] == KS_LIT(0);
    if (finite) return o;
    KS_T(ks_observation) some = o;
    KS_T(ks_observe_present)(s->nx, s->ny, W, &some, entry);
    return some;
}

/** Copy the filtered covariance of step k to its place if it was not stored because it equals an earlier one
 *  (KS_KEPT_BEFORE). *at caches the step that has it; -1 at first. Returns whether it was copied. */
KS_HD int KS_T(ks_bring_kept)(int nx, int64_t k, const ks_forward_sinks *kept, int64_t *at)
{
    const int64_t first = kept->form_first;
    if (kept->form[k - first] != KS_KEPT_BEFORE) return 0;
    if (*at < 0 || *at >= k)
        for (*at = k - 1; kept->form[*at - first] == KS_KEPT_BEFORE;) *at -= 1;
    KS_T(ks_copy)(nx * nx, (const KS_NUM *)ks_slot_of(kept->kept_C, *at), (KS_NUM *)ks_slot_of(kept->kept_C, k));
    kept->form[k - first] = (unsigned char)KS_FORM_ORDINARY;
    return 1;
}

/** Record a fault in the tally. Returns -1. */
KS_HD_COLD int KS_T(ks_step_fault)(int64_t k, int row, ks_array array, ks_fault fault,
                                   ks_tally *tally)
{
    tally->bad_step = k;
    tally->bad_row = row;
    tally->bad_array = array;
    tally->fault = fault;
    return -1;
}

/** Numbers made once for all steps of a constant model; 0 if steps are taken one by one. */
KS_HD int64_t KS_T(ks_constant_scratch)(int nx)
{
    return KS_T(ks_memo_slots)(nx) ? 2 * (int64_t)nx * nx + nx + 1 : 0;
}

/** Scratch of the functions below, in numbers. */
KS_HD int64_t KS_T(ks_range_scratch)(int nx, int ny)
{
    const int64_t n = nx, m = ny;
    return KS_T(ks_step_scratch)(nx, ny) + m * n + m * m + 2 * m     /* compacted observation */
           + 1                                                     /* ks_noise_times()      */
           + 3 * n * n + 3 * n                                     /* prediction, gain, mean */
           + KS_T(ks_array_memo_scratch)(nx, ny) + KS_T(ks_constant_scratch)(nx)
           + 2 * (m * n + m * m + 2 * m);                          /* whitened innovation    */
}

/** Pointers into the scratch of one step. */
typedef struct KS_T(ks_scratch) {
    KS_NUM *compact, *xp, *Pp, *xn, *Pn, *ET, *G, *S, *inverse_d, *v, *Z, *memo, *work;
    KS_NUM *array_memo;
    KS_NUM *Q_root, *reach, *held; /* constant model: see ks_array_predict(), ks_is_known(), ks_hold_root() */
    KS_NUM *times; /* ks_noise_times() of a constant R */
} KS_T(ks_scratch);

KS_HD KS_T(ks_scratch) KS_T(ks_lay_out)(int nx, int ny, void *memory)
{
    KS_T(ks_scratch) w;
    KS_NUM *at = (KS_NUM *)memory;
    w.xp = at;               at += nx;
    w.Pp = at;               at += nx * nx;
    w.xn = at;               at += nx;
    w.Pn = at;               at += nx * nx;
    w.ET = at;               at += nx * nx;
    w.G = at;                at += ny * nx;
    w.S = at;                at += ny * ny;
    w.inverse_d = at;        at += ny;
    w.v = at;                at += ny;
    w.Z = at;                at += ny * nx;
    w.compact = at;          at += ny * nx + ny * ny + 2 * ny;
    w.times = at;            at += 1;
    w.memo = at;             at += KS_T(ks_memo_scratch)(nx, ny);
    w.array_memo = at;       at += KS_T(ks_array_memo_scratch)(nx, ny);
    w.Q_root = at;
    w.reach = at + nx * nx + 1;
    w.held = w.reach + nx;
    at += KS_T(ks_constant_scratch)(nx);
    w.work = at;
    return w;
}

/** P = S Sᵀ, symmetric to the bit and with the same bits in every caller. W: nx² numbers. */
KS_HD_SAME void KS_T(ks_cov_of_root)(int nx, const KS_NUM *S, KS_NUM *P, KS_NUM *W)
{
    KS_T(ks_transpose)(nx, nx, S, W);
    KS_T(ks_mm_root)(nx, nx, nx, S, W, P);
    KS_T(ks_mirror)(nx, P);
}

/** Write C, which is in `form`, as a covariance to `full` and its diagonal to `diagonal`. */
KS_HD void KS_T(ks_write_cov)(int nx, ks_form form, const KS_NUM *C, ks_sink full, ks_sink diagonal,
                              int64_t k, KS_NUM *W)
{
    if (!full.base && !diagonal.base) return;
    const KS_NUM *P = C;
    if (form == KS_FORM_ARRAY) {
        KS_T(ks_cov_of_root)(nx, C, W, W + nx * nx);
        P = W;
    }
    if (full.base) KS_T(ks_copy)(nx * nx, P, (KS_NUM *)ks_slot_of(full, k));
    if (diagonal.base) {
        KS_NUM *to = (KS_NUM *)ks_slot_of(diagonal, k);
        for (int i = 0; i < nx; ++i) to[i] = P[i * nx + i];
    }
}

/** The sum of squares of n numbers. */
KS_HD KS_NUM KS_T(ks_sum_of_squares)(int n, const KS_NUM *a)
{
    KS_NUM sum[4]; /* independent sums, to hide the latency of additions */
    for (int l = 0; l < 4; ++l) sum[l] = KS_LIT(0);
    int i = 0;
    for (; i + 4 <= n; i += 4)
        for (int l = 0; l < 4; ++l) sum[l] = sum[l] + a[i + l] * a[i + l];
    for (; i < n; ++i) sum[0] = sum[0] + a[i] * a[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/** Whether every entry of x and every variance is finite. */
KS_HD int KS_T(ks_finite)(int nx, const KS_NUM *x, const KS_NUM *C)
{
    KS_NUM sum = KS_LIT(0);
    for (int i = 0; i < nx; ++i) sum = sum + (x[i] - x[i]) + (C[i * nx + i] - C[i * nx + i]);
    return sum == KS_LIT(0);
}

/** The same for an estimate in `form`. The covariance must be finite, not only its root. */
KS_HD int KS_T(ks_finite_in_form)(int nx, ks_form form, const KS_NUM *x, const KS_NUM *C)
{
    if (form == KS_FORM_ORDINARY) return KS_T(ks_finite)(nx, x, C);
    const KS_NUM all = KS_T(ks_sum_of_squares)(nx * nx, C);
    return KS_T(ks_finite)(nx, x, C) && all - all == KS_LIT(0);
}

/** Whether no pivot of the covariance P (nx, nx) is lost in round-off. W: nx * nx + nx. */
KS_HD int KS_T(ks_well_conditioned)(int nx, const KS_NUM *P, KS_NUM *W)
{
    KS_T(ks_copy)(nx * nx, P, W);
    return KS_ALL(KS_T(ks_ldl)(nx, 1 / KS_GROWTH, W, W + nx * nx));
}

/** Set digits->lost to k if the ordinary covariance P (nx, nx) that leads into step k has too few digits left
 *  (KS_LEAST_LEFT), unless it is rightly singular. W: nx * nx + nx. */
KS_HD_COLD void KS_T(ks_tell_lost)(int nx, int64_t k, const KS_NUM *P, ks_digits *digits, KS_NUM *W)
{
    if (digits->singular || digits->lost >= 0) return;
    KS_T(ks_copy)(nx * nx, P, W);
    if (!KS_ALL(KS_T(ks_ldl)(nx, KS_LEAST_LEFT(sizeof(KS_NUM)), W, W + nx * nx))) digits->lost = k;
}

/** The prediction of step k from `state`, the estimate of the step before, in its form. kept: see ks_array_predict();
 *  NULL if Q varies. */
KS_HD void KS_T(ks_step_predict)(int nx, const ks_series *s, int64_t k, const ks_state *state,
                                 KS_NUM *xp, KS_NUM *Cp, KS_NUM *kept, KS_NUM *W)
{
    const KS_NUM *x = (const KS_NUM *)state->x, *C = (const KS_NUM *)state->C;
    if (k == 0 && s->prior_x1) {
        KS_T(ks_copy)(nx, x, xp);
        KS_T(ks_copy)(nx * nx, C, Cp);
        return;
    }
    const KS_NUM *F = (const KS_NUM *)ks_row(s->F, k - s->shift);
    const KS_NUM *Q = (const KS_NUM *)ks_row(s->Q, k - s->shift);
    const KS_NUM *u = (const KS_NUM *)ks_row(s->u, k - s->shift);
    if (state->form == KS_FORM_ORDINARY)
        KS_T(ks_predict)(nx, F, Q, u, x, C, xp, Cp, W);
    else
        KS_T(ks_array_predict)(nx, F, Q, u, x, C, xp, Cp, NULL, kept, W);
}

/* Half of the digits: the square root of a round-off. */
#define KS_ROOT_EPS (sizeof(KS_NUM) == 8 ? 1.0536712127723509e-8 : 2.44140625e-4)

/* A step back multiplies the difference between smoothed estimate and prediction by P Fᵀ Pp⁻¹. Round-off of either, in
 * standard deviations of the prediction, stays in all steps before. Under a transition without noise that contracts,
 * these deviations shrink relative to the mean, or to those of other states. The prediction is sharp once half of the
 * digits are gone. The backward pass then uses the filter's own reflections, which multiply nothing
 * (two_ended/whitened_text.h). */

/** Whether the prediction xp, Pp (rows ldp apart) from P (rows ld apart) is sharp, in the ordinary form, whose pivots
 *  are at least 1 / KS_GROWTH. It is if some variance is below round-off of the squared mean and the transition made it
 *  smaller, so that observations are not the reason. Only diagonals are read: with ld = 0, P is the diagonal itself. */
KS_HD int KS_T(ks_sharp)(int nx, const KS_NUM *xp, const KS_NUM *Pp, int ldp, const KS_NUM *P, int ld)
{
    int shrinks = 0;
    for (int i = 0; i < nx; ++i) shrinks |= KS_GT(P[i * ld + i], Pp[i * ldp + i]);
    if (!shrinks) return 0;
    for (int i = 0; i < nx; ++i)
        if (KS_GT(P[i * ld + i], Pp[i * ldp + i]) &&
            KS_GT(KS_LIT(KS_EPS) * (xp[i] * xp[i]), Pp[i * ldp + i]))
            return 1;
    return 0;
}

/** Whether the prediction from the ordinary covariance P is sharp because a pivot has lost half of the digits of its
 *  variance, or `times` as much (ks_sharp_times()). W: 4 nx² + nx numbers. */
KS_HD_COLD int KS_T(ks_sharp_ordinary)(int nx, const KS_NUM *F, const KS_NUM *Q, const KS_NUM *P, double times,
                                       KS_NUM *W)
{
    KS_NUM *Pp = W, *inverse_d = W + nx * nx;
    KS_T(ks_predict_cov)(nx, F, Q, P, Pp, inverse_d + nx);
    return !KS_ALL(KS_T(ks_ldl)(nx, KS_ROOT_EPS / times, Pp, inverse_d));
}

/** How a lower triangular root Sp of a covariance multiplies round-off of the states: weight (nx) <- sums of squares of
 *  the columns of Sp⁻¹, variance (nx) <- those of the rows of Sp. Pivots that are nothing but round-off are left out.
 *  W: nx² numbers. */
KS_HD_COLD void KS_T(ks_sharp_weights)(int nx, const KS_NUM *Sp, KS_NUM *weight, KS_NUM *variance, KS_NUM *W)
{
    KS_T(ks_zero)(nx, weight);
    for (int i = 0; i < nx; ++i) {
        KS_NUM *row = W + i * nx, norm = KS_LIT(0);
        const KS_NUM pivot = Sp[i * nx + i];
        for (int c = 0; c < nx; ++c) row[c] = KS_LIT(0);
        for (int c = 0; c <= i; ++c) norm = norm + Sp[i * nx + c] * Sp[i * nx + c];
        variance[i] = norm;
        if (!KS_GT(pivot * pivot, KS_LIT(64 * nx * nx * KS_EPS * KS_EPS) * norm)) continue;
        row[i] = KS_LIT(1) / pivot;
        for (int c = 0; c < i; ++c) {
            for (int l = c; l < i; ++l) row[c] = row[c] - Sp[i * nx + l] * W[l * nx + c];
            row[c] = row[c] * row[i];
        }
        for (int c = 0; c <= i; ++c) weight[c] = weight[c] + row[c] * row[c];
    }
}

/** ks_sharp() in the array form. Round-off of mean and root is multiplied by the norm of Sp⁻¹ with its columns
 *  multiplied by the standard deviations, or by the means where these are larger. times: ks_sharp_times(). */
KS_HD int KS_T(ks_sharp_root)(int nx, const KS_NUM *xp, const KS_NUM *weight, const KS_NUM *variance, double times)
{
    KS_NUM sum = KS_LIT(0);
    for (int i = 0; i < nx; ++i)
        sum = sum + weight[i] * (KS_GT(xp[i] * xp[i], variance[i]) ? xp[i] * xp[i] : variance[i]);
    return KS_GT(sum, KS_LIT(times * times / KS_EPS));
}

/* A state that is known exactly has a row of zeros in a root, if nothing was cancelled to get it. If something was, the
 * row is round-off: for a state that is a sum of observed ones, or for one of several entries that have disturbances in
 * common. A step of the RTS smoother would take this for a standard deviation and divide by it. */

/** Whether a non-zero row of the root S (nx, nx) is no more than round-off of the rows it was made of: rows of `from`
 *  combined by F or, if F is NULL, its own row of `from`. eps: round-off of the numbers in which roots are kept. */
KS_HD_COLD int KS_T(ks_leaves_rounding)(int nx, double eps, const KS_NUM *F, const KS_NUM *from, const KS_NUM *S)
{
    const KS_NUM part = KS_LIT((16 + nx) * eps), all = part * part * KS_T(ks_sum_of_squares)(nx * nx, from);
    /* An upper bound for all rows. */
    const KS_NUM most = F ? all * KS_T(ks_sum_of_squares)(nx * nx, F) : all;
    for (int i = 0; i < nx; ++i) {
        const KS_NUM *row = S + i * nx;
        KS_NUM before = KS_LIT(0);
        int c = 0, some = 0;
        for (; c < nx && !KS_GT(row[c] * row[c], most); ++c) some |= !(row[c] == KS_LIT(0));
        if (c < nx || !some) continue;
        for (int l = 0; l < nx; ++l) {
            const KS_NUM f = F ? F[i * nx + l] : l == i ? KS_LIT(1) : KS_LIT(0);
            if (f == KS_LIT(0)) continue;
            before = before + (KS_GT(f, KS_LIT(0)) ? f : -f) * KS_SQRT(KS_T(ks_sum_of_squares)(nx, from + l * nx));
        }
        const KS_NUM bound = part * before;
        if (KS_GT(bound * bound, KS_T(ks_sum_of_squares)(nx, row))) return 1;
    }
    return 0;
}

/** Turn the estimate of the step before into the array form. */
KS_HD_COLD void KS_T(ks_to_array)(int nx, ks_state *state, KS_NUM *W)
{
    KS_NUM *C = (KS_NUM *)state->C;
    KS_T(ks_copy)(nx * nx, C, W);
    (void)KS_T(ks_pivoted_factor)(nx, W, C, W + nx * nx);
    state->form = KS_FORM_ARRAY;
}

/** After an array step, whose posterior is in `state`: return to the ordinary form if nothing is lost. The posterior
 *  must be well conditioned and the observation not too sharp. */
KS_HD_COLD void KS_T(ks_leave_array)(int nx, int m, const KS_NUM *R, const KS_NUM *Se,
                                     ks_state *state, KS_NUM *W)
{
    KS_NUM *S = (KS_NUM *)state->C;
    const KS_NUM times = KS_T(ks_noise_times)(m, R, m, W);
    for (int i = 0; i < m; ++i) {
        KS_NUM variance = KS_LIT(0);
        for (int c = 0; c <= i; ++c) variance = variance + Se[i * m + c] * Se[i * m + c];
        if (!KS_GT(times * R[i * m + i], KS_LIT(4) * variance)) return;
    }
    KS_T(ks_square)(nx, nx, nx, S, W);
    if (!KS_T(ks_well_conditioned)(nx, W, W + nx * nx)) return;
    KS_T(ks_copy)(nx * nx, W, S);
    state->form = KS_FORM_ORDINARY;
}

/** The least pivot of the predictions before and after an exact step, as a share of the variance. A step back divides
 *  by the pivots, one after the other. */
#define KS_EXACT_LEAST (1.0 / 256)
/** The least part of each predicted variance that the step leaves. The way back may lose a factor KS_GROWTH of it. */
#define KS_EXACT_LEAVES (KS_GROWTH < 4096 ? 1 / KS_GROWTH : 1.0 / 4096)

/** Whether every pivot of F P Fᵀ + Q exceeds `ratio` times the largest value that its row of F P Fᵀ could have without
 *  cancellation. A smaller pivot is round-off. Rows of P are ld apart, `pivot` holds the pivots. W: nx numbers. */
KS_HD int KS_T(ks_pivots_stand)(int nx, double ratio, const KS_NUM *F, const KS_NUM *P, int ld, const KS_NUM *pivot, KS_NUM *W)
{
    int stand = 1;
    for (int i = 0; i < nx; ++i) W[i] = KS_SQRT(P[i * ld + i]);
    for (int i = 0; i < nx; ++i) {
        KS_NUM sum = KS_LIT(0);
        for (int j = 0; j < nx; ++j) {
            const KS_NUM f = F[i * nx + j];
            sum = sum + (KS_GT(f, KS_LIT(0)) ? f : -f) * W[j];
        }
        stand &= KS_GT(pivot[i], KS_LIT(ratio) * (sum * sum));
    }
    return stand;
}

/** ks_leave_array() after step k if exact steps may follow in the ordinary form (tiled/exact_step_text.h). Their
 *  conditions must hold with a margin of 4. Sp: the lower triangular root of the step's prediction. Returns whether the
 *  state is in the ordinary form. */
KS_HD_COLD int KS_T(ks_leave_array_exact)(int nx, const ks_series *s, int64_t k, const KS_NUM *Sp, ks_state *state,
                                           KS_NUM *W)
{
    KS_NUM *S = (KS_NUM *)state->C, *P = W, *Pp = P + nx * nx, *inverse_d = Pp + nx * nx;
    if (k + 1 >= s->steps) return 0;
    const KS_NUM *F = (const KS_NUM *)ks_row(s->F, k + 1 - s->shift), *Q = (const KS_NUM *)ks_row(s->Q, k + 1 - s->shift);
    for (int i = 0; i < nx; ++i) {
        const KS_NUM *row = Sp + i * nx;
        const KS_NUM pivot = row[i] * row[i], variance = KS_T(ks_sum_of_squares)(i + 1, row);
        if (!KS_GT(pivot, KS_LIT(4 * KS_EXACT_LEAST) * variance) ||
            !KS_GT(KS_T(ks_sum_of_squares)(nx, S + i * nx), KS_LIT(4 * KS_EXACT_LEAVES) * variance))
            return 0;
    }
    KS_T(ks_square)(nx, nx, nx, S, P);
    KS_T(ks_predict_cov)(nx, F, Q, P, Pp, inverse_d);
    if (!KS_ALL(KS_T(ks_ldl)(nx, 4 * KS_EXACT_LEAST, Pp, inverse_d))) return 0;
    for (int i = 0; i < nx; ++i) inverse_d[i] = Pp[i * nx + i];
    if (!KS_T(ks_pivots_stand)(nx, 4 / KS_GROWTH, F, P, nx, inverse_d, inverse_d + nx)) return 0;
    KS_T(ks_copy)(nx * nx, P, S);
    state->form = KS_FORM_ORDINARY;
    return 1;
}

/** Set `state` to the prior, which leads into step 0. */
KS_HD_COLD void KS_T(ks_start)(const ks_series *s, ks_state *state, void *work)
{
    KS_T(ks_copy)(s->nx, (const KS_NUM *)s->m0, (KS_NUM *)state->x);
    KS_T(ks_covariance_factor)(s->nx, (const KS_NUM *)s->P0, (KS_NUM *)state->C, (KS_NUM *)work);
    state->form = KS_FORM_ARRAY;
}

