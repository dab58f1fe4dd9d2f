/* array_again_text.h -- steps of a constant model in the array form that repeat earlier ones, as those of an ARMA model
 * do in the end; see memo_text.h, num_f64.h. For scalar numbers.
 *
 * Observations without noise may determine the state completely, as a series determines the state of its ARMA model.
 * The root then shrinks by a factor at every step, without end, because the array form keeps the digits of the smallest
 * rows, too. No two steps would be the same. So once the root is below one round-off of what disturbances add to the
 * state, it is set to zero: this is less than the mean can show. It is not set to zero if it could grow again: an
 * exactly known state stays known if the closed loop A = (I - K H) F forgets. All this depends on a step and its root
 * only. */

/** The largest factor by which a power of A may enlarge the remaining root. */
#define KS_KNOWN_GROWTH 8192
/** Most times that the power is squared: a model that remembers more steps is left alone. */
#define KS_KNOWN_DOUBLINGS 12

/** reach (nx): the standard deviation of disturbances in each state when they first reach it, directly or by way of
 *  other states, as they reach the lagged values of a seasonal model. It is taken from the first F^j Q½ with a non-zero
 *  entry in the state's row; 0 if there is none. W: 2 nx² numbers. */
KS_HD_COLD void KS_T(ks_disturbances_reach)(int nx, const KS_NUM *F, const KS_NUM *Q_root, KS_NUM *reach, KS_NUM *W)
{
    KS_NUM *V = W, *next = V + nx * nx;
    KS_T(ks_copy)(nx * nx, Q_root, V);
    KS_T(ks_zero)(nx, reach);
    for (int j = 0; j < nx; ++j) {
        int all = 1;
        for (int i = 0; i < nx; ++i) {
            KS_NUM variance = KS_LIT(0);
            if (KS_GT(reach[i], KS_LIT(0))) continue;
            for (int c = 0; c < nx; ++c) variance = variance + V[i * nx + c] * V[i * nx + c];
            reach[i] = KS_SQRT(variance);
            all &= KS_GT(reach[i], KS_LIT(0));
        }
        if (all) return;
        KS_T(ks_mm_few)(nx, nx, nx, F, V, next);
        KS_T(ks_copy)(nx * nx, next, V);
    }
}

/** B (nx, nx) <- the closed loop with the gain G = Pp Hᵀ Se⁻ᵀ (nx, m), with states in units of sd (nx). W: nx² + m nx
 *  numbers. */
KS_HD_COLD void KS_T(ks_closed_loop)(int nx, int m, const KS_NUM *F, const KS_NUM *H, const KS_NUM *G, const KS_NUM *Se,
                                     const KS_NUM *sd, KS_NUM *B, KS_NUM *W)
{
    KS_NUM *A = W, *Y = A + nx * nx;
    KS_T(ks_mm)(m, nx, nx, H, F, Y);
    for (int i = 0; i < m; ++i)
        for (int c = 0; c < nx; ++c) {
            for (int l = 0; l < i; ++l) Y[i * nx + c] = Y[i * nx + c] - Se[i * m + l] * Y[l * nx + c];
            Y[i * nx + c] = Y[i * nx + c] / Se[i * m + i];
        }
    KS_T(ks_mm)(nx, m, nx, G, Y, A);
    for (int i = 0; i < nx; ++i)
        for (int c = 0; c < nx; ++c)
            B[i * nx + c] = KS_GT(sd[i], KS_LIT(0)) ? (F[i * nx + c] - A[i * nx + c]) * (sd[c] / sd[i]) : KS_LIT(0);
}

/** Whether powers of the closed loop vanish. W: 3 nx² + m nx numbers. */
KS_HD_COLD int KS_T(ks_forgets)(int nx, int m, const KS_NUM *F, const KS_NUM *H, const KS_NUM *G, const KS_NUM *Se,
                                const KS_NUM *sd, KS_NUM *W)
{
    KS_NUM *B = W, *next = B + nx * nx;
    KS_T(ks_closed_loop)(nx, m, F, H, G, Se, sd, B, next);
    for (int t = 0; t < KS_KNOWN_DOUBLINGS; ++t) {
        KS_NUM norm = KS_LIT(0);
        for (int i = 0; i < nx * nx; ++i) norm = norm + B[i] * B[i];
        if (!KS_GT(KS_LIT(KS_KNOWN_GROWTH) * KS_LIT(KS_KNOWN_GROWTH), norm)) return 0;
        if (KS_GT(KS_LIT(0.25), norm)) return 1;
        KS_T(ks_mm)(nx, nx, nx, B, B, next);
        KS_T(ks_copy)(nx * nx, next, B);
    }
    return 0;
}

/** Whether the state after step k, all entries of which are observed, counts as known exactly. It does if every
 *  standard deviation of its root S is below one round-off of the predicted one, or of that with which disturbances
 *  reach the state. Q_root: root of the constant Q. reach (nx) is computed on first use; reach[0] is negative until
 *  then. W: 3 nx² + m nx + nx numbers. */
KS_HD int KS_T(ks_is_known)(int nx, const ks_series *s, int64_t k, const KS_NUM *G, const KS_NUM *Se, const KS_NUM *Sp,
                            const KS_NUM *S, const KS_NUM *Q_root, KS_NUM *reach, KS_NUM *W)
{
    const int m = s->ny;
    const KS_NUM *R = (const KS_NUM *)ks_row(s->R, k), *F = (const KS_NUM *)ks_row(s->F, k - s->shift);
    KS_NUM *sd = W, *work = sd + nx;
    int noise = 0, left = 0;
    for (int i = 0; i < m * m; ++i) noise |= !(R[i] == KS_LIT(0));
    if (noise) return 0;
    if (KS_GT(KS_LIT(0), reach[0])) KS_T(ks_disturbances_reach)(nx, F, Q_root, reach, work);
    for (int i = 0; i < nx; ++i) {
        KS_NUM variance = KS_LIT(0), predicted = KS_LIT(0);
        int some = 0;
        for (int c = 0; c < nx; ++c) {
            some |= !(S[i * nx + c] == KS_LIT(0));
            variance = variance + S[i * nx + c] * S[i * nx + c];
            predicted = predicted + Sp[i * nx + c] * Sp[i * nx + c];
        }
        const KS_NUM reached = reach[i] * reach[i];
        if (KS_GT(reached, predicted)) predicted = reached;
        /* Written so that it fails if the squares underflow. */
        if (some && !KS_GT(KS_LIT(KS_EPS) * KS_LIT(KS_EPS) * predicted, variance)) return 0;
        sd[i] = KS_SQRT(predicted);
        left |= some;
    }
    return left && KS_T(ks_forgets)(nx, m, F, (const KS_NUM *)ks_row(s->H, k), G, Se, sd, work);
}

/** A remembered filter step. The key is the root of the step before. KT: the gain K by columns. Se: the root of the
 *  innovation covariance. Sp, Pp: root and covariance of the prediction. S, P: those of the posterior. weight,
 *  variance: see ks_sharp_weights(). leaves_rounding: ks_leaves_rounding() of the prediction, or -1 while it and the
 *  weights are not computed. */
typedef struct KS_T(ks_array_slot) {
    KS_NUM *key, *KT, *Se, *Sp, *S, *Pp, *P, *weight, *variance, *leaves_rounding;
} KS_T(ks_array_slot);

KS_HD KS_T(ks_array_slot) KS_T(ks_array_slot_of)(int nx, int ny, KS_NUM *slot)
{
    const int nn = nx * nx;
    KS_T(ks_array_slot) at;
    at.key = slot;
    at.KT = slot + nn;
    at.Se = at.KT + ny * nx;
    at.Sp = at.Se + ny * ny;
    at.S = at.Sp + nn;
    at.Pp = at.S + nn;
    at.P = at.Pp + nn;
    at.weight = at.P + nn;
    at.variance = at.weight + nx;
    at.leaves_rounding = at.variance + nx;
    return at;
}

KS_HD KS_T(ks_memo) KS_T(ks_array_memo)(int nx, const ks_series *s, int64_t steps, const KS_T(ks_scratch) *w)
{
    const int nn = nx * nx, m = s->ny;
    return KS_T(ks_memo_start)(nx, m, KS_T(ks_memo_pays)(s, steps), 0, nn, m * nx + m * m + 4 * nn + 2 * nx + 1,
                               w->array_memo);
}

/** Whether step k may be looked up or recorded: a step in the array form that observes all entries. */
KS_HD int KS_T(ks_array_memorable)(const KS_T(ks_memo) *memo, const ks_series *s, int64_t k, int m, const ks_state *state,
                                   const ks_forward_sinks *to)
{
    return memo->slots && m == s->ny && state->form == KS_FORM_ARRAY && !to->gain.base && !(k == 0 && s->prior_x1);
}

/** Record the results of a step in the slot that already holds its key. The gain is in w->G. */
KS_HD_COLD void KS_T(ks_remember_array)(int nx, int m, KS_T(ks_memo) *memo, KS_NUM *slot, const KS_T(ks_scratch) *w,
                                        const ks_state *state)
{
    const KS_T(ks_array_slot) at = KS_T(ks_array_slot_of)(nx, m, slot);
    const KS_NUM *S = (const KS_NUM *)state->C;
    KS_T(ks_memo_keep)(memo);
    KS_T(ks_transpose)(nx, m, w->G, at.KT);
    KS_T(ks_copy)(m * m, w->S, at.Se);
    KS_T(ks_copy)(nx * nx, w->Pp, at.Sp);
    KS_T(ks_copy)(nx * nx, S, at.S);
    at.leaves_rounding[0] = KS_LIT(-1);
    KS_T(ks_cov_of_root)(nx, w->Pp, at.Pp, w->work);
    KS_T(ks_cov_of_root)(nx, S, at.P, w->work);
}

/** Step k with the covariances of a slot: predicted mean to w->xp, whitened innovation to w->v,
 *  posterior to `state`. */
KS_HD void KS_T(ks_array_again)(int nx, const ks_series *s, int64_t k, const KS_T(ks_observation) *o,
                                const KS_T(ks_array_slot) *slot, ks_state *state, const KS_T(ks_scratch) *w)
{
    const int64_t row = k - s->shift;
    KS_NUM *x = (KS_NUM *)state->x;
    KS_T(ks_array_move)(nx, (const KS_NUM *)ks_row(s->F, row), (const KS_NUM *)ks_row(s->u, row), x, w->xp);
    KS_T(ks_array_whiten)(nx, o->m, o->H, o->d, o->y, w->xp, slot->Se, w->v);
    KS_T(ks_array_correct)(nx, o->m, slot->KT, nx, w->v, w->xp, x);
    KS_T(ks_copy)(nx * nx, slot->S, (KS_NUM *)state->C);
}
