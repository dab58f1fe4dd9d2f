/* gradient_text.h -- one step back of the gradient; see num_f64.h. For scalar numbers.
 *
 * Let L(x, P) be log p of the observations from some step on, as a function of the mean and covariance of the estimate
 * that they follow. Then r = dL/dx, and dL/dP = (r r' - N) / 2. With the innovation v of covariance S and the gain K =
 * Pp H' S^-1 an observation gives
 *
 *     e = S^-1 v - K' r,            D = S^-1 + K' N K,
 *     r <- r + H' e,                N <- H' S^-1 H + (I - K H)' N (I - K H),
 *     dL/dd = e,                    dL/dR = (e e' - D) / 2,       dL/dH = e xs' - D H Pp + K' N Pp,
 *
 * xs = xp + Pp r being the smoothed mean, and a transition from the filtered x, P
 *
 *     dL/du = r,                    dL/dQ = (r r' - N) / 2,       dL/dF = r (x + P F' r)' - N F P,
 *     r <- F' r,                    N <- F' N F.
 *
 * N is made of sums of positive semidefinite terms.
 *
 * Directions of a diffuse prior are columns beside the mean: what a unit of each of them adds to all means. They have
 * innovations -H xp, and an r and e of their own. With a basis in which what y tells of them has the covariance I, the
 * derivatives by Q, R, H, F and P0 are those above plus the products r r', e e', e xs' and r (x + P F' r)' of each
 * column: expectations of the derivatives given the directions (de Jong, "The diffuse Kalman filter", Annals of
 * Statistics 19, 1991). */

/** Pointers into scratch. What a step of a constant model computes from covariances alone stays there, with what it was
 *  computed from, for the next step: both covariances often are the same again. */
typedef struct KS_T(ks_gradient_scratch) {
    KS_NUM *compact;                     /* an observation without its missing entries              */
    KS_NUM *HT, *G, *KT, *K, *KN, *SH;   /* G = H Pp, KN = Kᵀ N, SH = S⁻¹ H                         */
    KS_NUM *by_H;                        /* Kᵀ N Pp - D H Pp                                        */
    KS_NUM *S, *inverse, *D;             /* factors of S, S⁻¹                                       */
    KS_NUM *inverse_d, *w, *e;
    KS_NUM *A, *B, *by_F;                /* I - K H, Hᵀ S⁻¹ H, N F P                                */
    KS_NUM *observed, *moved;            /* N before an observation, and before a transition        */
    KS_NUM *of_Pp, *of_N, *of_P, *of_Np; /* the covariances and N that all this is made of          */
    KS_NUM *W, *x, *z;
} KS_T(ks_gradient_scratch);

/** What of it may serve again. */
typedef struct KS_T(ks_gradient_known) { int gain, observed, moved; } KS_T(ks_gradient_known);

KS_HD KS_T(ks_gradient_scratch) KS_T(ks_gradient_lay_out)(int nx, int ny, KS_NUM *at)
{
    KS_T(ks_gradient_scratch) w;
    w.compact = at, at += ny * nx + ny * ny + 2 * ny;
    KS_NUM **const panels[] = { &w.HT, &w.G, &w.KT, &w.K, &w.KN, &w.SH, &w.by_H };
    for (int i = 0; i < 7; ++i) *panels[i] = at, at += nx * ny;
    KS_NUM **const small[] = { &w.S, &w.inverse, &w.D };
    for (int i = 0; i < 3; ++i) *small[i] = at, at += ny * ny;
    KS_NUM **const squares[] = { &w.A, &w.B, &w.by_F, &w.observed, &w.moved, &w.of_Pp, &w.of_N, &w.of_P, &w.of_Np, &w.W };
    for (int i = 0; i < 10; ++i) *squares[i] = at, at += nx * nx;
    KS_NUM **const rows[] = { &w.inverse_d, &w.w, &w.e };
    for (int i = 0; i < 3; ++i) *rows[i] = at, at += ny;
    w.x = at, at += nx;
    w.z = at;
    return w;
}

/** to (n, n) += r rᵀ / 2, and -= N / 2: symmetric to the bit. */
KS_HD void KS_T(ks_add_square)(int n, const KS_NUM *r, KS_NUM *to)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) to[i * n + j] += KS_LIT(0.5) * (r[i] * r[j]);
}
KS_HD void KS_T(ks_subtract_half)(int n, const KS_NUM *N, KS_NUM *to)
{
    for (int i = 0; i < n * n; ++i) to[i] -= KS_LIT(0.5) * N[i];
}

/** Where derivatives by an array go in row k; NULL: nowhere. */
KS_HD KS_NUM *KS_T(ks_derivative_row)(const ks_gradient_rows *g, int array, int64_t k)
{
    return g->to[array].base ? (KS_NUM *)ks_slot_of(g->to[array], k) : NULL;
}

/** y (m) <- Aᵀ x with A (n, m). */
KS_HD void KS_T(ks_transposed_times)(int n, int m, const KS_NUM *A, const KS_NUM *x, KS_NUM *y)
{
    KS_T(ks_zero)(m, y);
    KS_T(ks_mtv_add)(n, m, A, x, y);
}

/** Add the shares of D and N in the derivatives by R and H of step k. */
KS_HD void KS_T(ks_add_observed)(int n, int m, const ks_gradient_rows *g, int64_t k, const KS_T(ks_gradient_scratch) *w)
{
    const int ny = g->series->ny;
    const KS_NUM *y = (const KS_NUM *)ks_row(g->series->y, k);
    KS_NUM *by_R = KS_T(ks_derivative_row)(g, KS_BY_R, k), *by_H = KS_T(ks_derivative_row)(g, KS_BY_H, k);
    for (int i = 0, a = 0; i < ny; ++i) {
        if (!(y[i] == y[i])) continue;
        for (int j = 0, b = 0; by_R && j < ny; ++j) {
            if (!(y[j] == y[j])) continue;
            by_R[i * ny + j] -= KS_LIT(0.5) * w->D[a * m + b];
            b += 1;
        }
        for (int c = 0; by_H && c < n; ++c) by_H[i * n + c] += w->by_H[a * n + c];
        a += 1;
    }
}

/** Take r of the mean, or of a column, over the observation of step k: from its innovation in w->w and its prediction
 *  xp. Add its shares in the derivatives by R, H and, of the mean, d. */
KS_HD void KS_T(ks_back_over_innovation)(int n, int m, const ks_gradient_rows *g, int64_t k, int mean, const KS_NUM *H,
                                         const KS_NUM *xp, KS_NUM *r, const KS_T(ks_gradient_scratch) *w)
{
    const int ny = g->series->ny;
    const KS_NUM *y = (const KS_NUM *)ks_row(g->series->y, k);
    KS_NUM *by_d = mean ? KS_T(ks_derivative_row)(g, KS_BY_D, k) : NULL;
    KS_NUM *by_R = KS_T(ks_derivative_row)(g, KS_BY_R, k), *by_H = KS_T(ks_derivative_row)(g, KS_BY_H, k);
    KS_T(ks_transposed_times)(n, m, w->K, r, w->e);
    for (int i = 0; i < m; ++i) w->e[i] = -w->e[i];
    KS_T(ks_mtv_add)(m, m, w->inverse, w->w, w->e);
    KS_T(ks_mtv_add)(m, n, H, w->e, r);
    if (by_H) {
        KS_T(ks_copy)(n, xp, w->x);
        KS_T(ks_mtv_add)(n, n, (const KS_NUM *)ks_slot_of(g->predicted_cov, k), r, w->x);
    }
    for (int i = 0, a = 0; i < ny; ++i) {
        if (!(y[i] == y[i])) continue;
        if (by_d) by_d[i] += w->e[a];
        for (int j = 0, b = 0; by_R && j < ny; ++j) {
            if (!(y[j] == y[j])) continue;
            by_R[i * ny + j] += KS_LIT(0.5) * (w->e[a] * w->e[b]);
            b += 1;
        }
        for (int c = 0; by_H && c < n; ++c) by_H[i * n + c] += w->e[a] * w->x[c];
        a += 1;
    }
}

/** The gain of an observation and what else depends on Pp alone. Returns false if S is not positive definite. */
KS_HD int KS_T(ks_gradient_gain)(int n, int m, const KS_T(ks_observation) *o, const KS_NUM *Pp,
                                 const KS_T(ks_gradient_scratch) *w)
{
    KS_T(ks_innovation_cov)(n, m, o->H, o->R, Pp, w->G, w->S, w->HT);
    if (!KS_ALL(KS_T(ks_ldl)(m, 0, w->S, w->inverse_d))) return 0;
    KS_T(ks_identity)(m, w->inverse);
    KS_T(ks_ldl_forward)(m, m, w->S, w->inverse);
    KS_T(ks_ldl_backward)(m, m, w->S, w->inverse_d, w->inverse);
    KS_T(ks_copy)(m * n, w->G, w->KT);
    KS_T(ks_ldl_forward)(m, n, w->S, w->KT);
    KS_T(ks_ldl_backward)(m, n, w->S, w->inverse_d, w->KT);
    KS_T(ks_transpose)(m, n, w->KT, w->K);
    KS_T(ks_identity)(n, w->A);
    KS_T(ks_panel_sub)(n, m, n, w->K, m, 1, o->H, w->A);
    KS_T(ks_mm)(m, m, n, w->inverse, o->H, w->SH);
    KS_T(ks_mm)(n, m, n, w->HT, w->SH, w->B);
    return 1;
}

/** N before an observation, and its shares in the derivatives by R and, if wanted, H. */
KS_HD void KS_T(ks_gradient_observed)(int n, int m, int by_H, const KS_NUM *Pp, const KS_NUM *N,
                                      const KS_T(ks_gradient_scratch) *w)
{
    KS_T(ks_mm)(m, n, n, w->KT, N, w->KN);
    KS_T(ks_copy)(m * m, w->inverse, w->D);
    KS_T(ks_mm_add)(m, n, m, w->KN, w->K, w->D);
    KS_T(ks_mirror)(m, w->D);
    if (by_H) {
        KS_T(ks_mm)(m, n, n, w->KN, Pp, w->by_H);
        KS_T(ks_panel_sub)(m, m, n, w->D, m, 1, w->G, w->by_H);
    }
    KS_T(ks_mm)(n, n, n, N, w->A, w->W);
    KS_T(ks_copy)(n * n, w->B, w->observed);
    KS_T(ks_mtm_add)(n, n, n, w->A, w->W, w->observed);
    KS_T(ks_mirror)(n, w->observed);
}

/** The gain of step k in scratch, unless it is there. Returns false if S is not positive definite. */
KS_HD int KS_T(ks_gradient_has_gain)(int n, int m, const ks_gradient_rows *g, int64_t k, const KS_T(ks_observation) *o,
                                     const KS_T(ks_gradient_scratch) *w, KS_T(ks_gradient_known) *known)
{
    const ks_series *s = g->series;
    const int constant = m == s->ny && !s->H.stride && !s->R.stride;
    const KS_NUM *Pp = (const KS_NUM *)ks_slot_of(g->predicted_cov, k);
    if (constant && known->gain && KS_T(ks_memo_same)(n * n, Pp, w->of_Pp)) return 1;
    known->observed = known->gain = 0;
    if (!KS_T(ks_gradient_gain)(n, m, o, Pp, w)) return 0;
    if (constant) KS_T(ks_copy)(n * n, Pp, w->of_Pp);
    known->gain = constant;
    return 1;
}

/** v (m) <- minus H x, the innovation of a column. */
KS_HD void KS_T(ks_column_innovation)(int n, int m, const KS_NUM *HT, const KS_NUM *x, KS_NUM *v)
{
    KS_T(ks_transposed_times)(n, m, HT, x, v);
    for (int i = 0; i < m; ++i) v[i] = -v[i];
}

/** v (m) <- y - d - H x, that of the mean. */
KS_HD void KS_T(ks_mean_innovation)(int n, const KS_T(ks_observation) *o, const KS_NUM *HT, const KS_NUM *x, KS_NUM *v)
{
    KS_T(ks_transposed_times)(n, o->m, HT, x, v);
    for (int i = 0; i < o->m; ++i) v[i] = o->y[i] - o->d[i] - v[i];
}

/** From the filtered estimate of step k to its prediction. Returns false if S is not positive definite. */
KS_HD int KS_T(ks_back_over_entries)(int n, int m, const ks_gradient_rows *g, int64_t k, const KS_T(ks_observation) *o,
                                     ks_gradient_state *state, const KS_T(ks_gradient_scratch) *w,
                                     KS_T(ks_gradient_known) *known)
{
    KS_NUM *N = state->N;
    const KS_NUM *xp = (const KS_NUM *)ks_slot_of(g->predicted_mean, k);
    const KS_NUM *Pp = (const KS_NUM *)ks_slot_of(g->predicted_cov, k);
    if (!KS_T(ks_gradient_has_gain)(n, m, g, k, o, w, known)) return 0;
    const int constant = known->gain;
    if (!(known->observed && KS_T(ks_memo_same)(n * n, N, w->of_N))) {
        KS_T(ks_gradient_observed)(n, m, g->to[KS_BY_H].base != NULL, Pp, N, w);
        if (constant) KS_T(ks_copy)(n * n, N, w->of_N);
        known->observed = constant;
    }
    KS_T(ks_copy)(n * n, w->observed, N);
    KS_T(ks_add_observed)(n, m, g, k, w);
    KS_T(ks_mean_innovation)(n, o, w->HT, xp, w->w);
    KS_T(ks_back_over_innovation)(n, m, g, k, 1, o->H, xp, state->r, w);
    for (int c = 0; c < g->columns; ++c) {
        const KS_NUM *x = (const KS_NUM *)ks_slot_of(g->predicted_columns, k) + c * n;
        KS_T(ks_column_innovation)(n, m, w->HT, x, w->w);
        KS_T(ks_back_over_innovation)(n, m, g, k, 0, o->H, x, state->columns + c * n, w);
    }
    return 1;
}

KS_HD int KS_T(ks_back_over_observation)(int n, const ks_gradient_rows *g, int64_t k, const KS_T(ks_observation) *o,
                                         ks_gradient_state *state, const KS_T(ks_gradient_scratch) *w,
                                         KS_T(ks_gradient_known) *known)
{
    int good = 1;
#define CALL(m) good = KS_T(ks_back_over_entries)(n, m, g, k, o, state, w, known)
    KS_WITH_LITERAL_ENTRIES(n, o->m, CALL)
#undef CALL
    return good;
}

/** Take r of the mean, or of a column, over the transition into step k from x, P. Add its shares in the derivatives by
 *  Q, F and, of the mean, u. */
KS_HD void KS_T(ks_back_over_move)(int n, const ks_gradient_rows *g, int64_t k, int mean, const KS_NUM *x, const KS_NUM *P,
                                   KS_NUM *r, const KS_T(ks_gradient_scratch) *w)
{
    const int64_t row = k - g->series->shift;
    KS_NUM *by_u = mean ? KS_T(ks_derivative_row)(g, KS_BY_U, row) : NULL;
    KS_NUM *by_Q = KS_T(ks_derivative_row)(g, KS_BY_Q, row), *by_F = KS_T(ks_derivative_row)(g, KS_BY_F, row);
    for (int i = 0; by_u && i < n; ++i) by_u[i] += r[i];
    if (by_Q) KS_T(ks_add_square)(n, r, by_Q);
    KS_T(ks_transposed_times)(n, n, (const KS_NUM *)ks_row(g->series->F, row), r, w->x);
    if (by_F) {
        KS_T(ks_copy)(n, x, w->z);
        KS_T(ks_mtv_add)(n, n, P, w->x, w->z);
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) by_F[i * n + j] += r[i] * w->z[j];
    }
    KS_T(ks_copy)(n, w->x, r);
}

/** From the prediction of step k to the estimate x, P, columns X, that it was made of. */
KS_HD void KS_T(ks_back_over_transition)(int n, const ks_gradient_rows *g, int64_t k, const KS_NUM *x, const KS_NUM *P,
                                         const KS_NUM *X, ks_gradient_state *state, const KS_T(ks_gradient_scratch) *w,
                                         KS_T(ks_gradient_known) *known)
{
    const ks_series *s = g->series;
    const int64_t row = k - s->shift;
    const KS_NUM *F = (const KS_NUM *)ks_row(s->F, row);
    KS_NUM *by_Q = KS_T(ks_derivative_row)(g, KS_BY_Q, row), *by_F = KS_T(ks_derivative_row)(g, KS_BY_F, row);
    KS_NUM *N = state->N;
    if (by_Q) KS_T(ks_subtract_half)(n, N, by_Q);
    if (!(known->moved && KS_T(ks_memo_same)(n * n, N, w->of_Np) && KS_T(ks_memo_same)(n * n, P, w->of_P))) {
        KS_T(ks_mm)(n, n, n, N, F, w->W);
        if (by_F) KS_T(ks_mm)(n, n, n, w->W, P, w->by_F);
        KS_T(ks_zero)(n * n, w->moved);
        KS_T(ks_mtm_add)(n, n, n, F, w->W, w->moved);
        KS_T(ks_mirror)(n, w->moved);
        known->moved = !s->F.stride;
        if (known->moved) KS_T(ks_copy)(n * n, N, w->of_Np);
        if (known->moved) KS_T(ks_copy)(n * n, P, w->of_P);
    }
    for (int i = 0; by_F && i < n * n; ++i) by_F[i] -= w->by_F[i];
    KS_T(ks_copy)(n * n, w->moved, N);
    KS_T(ks_back_over_move)(n, g, k, 1, x, P, state->r, w);
    for (int c = 0; c < g->columns; ++c)
        KS_T(ks_back_over_move)(n, g, k, 0, X + c * n, P, state->columns + c * n, w);
}

/** See ks_gradient_kernels.back. */
KS_HD int KS_T(ks_gradient_back)(int n, const ks_gradient_rows *g, int64_t k0, int64_t k1, ks_gradient_state *state,
                                 KS_NUM *memory, ks_tally *tally)
{
    const ks_series *s = g->series;
    const KS_T(ks_gradient_scratch) w = KS_T(ks_gradient_lay_out)(n, s->ny, memory);
    KS_T(ks_gradient_known) known = { 0, 0, 0 };
    for (int64_t k = k1 - 1; k >= k0; --k) {
        int entry = 0;
        const KS_T(ks_observation) o = KS_T(ks_observe)(s, k, w.compact, &entry);
        if (o.m < 0) return KS_T(ks_step_fault)(k, entry, KS_ARRAY_Y, KS_FAULT_NOT_FINITE, tally);
        if (o.m > 0 && !KS_T(ks_back_over_observation)(n, g, k, &o, state, &w, &known))
            return KS_T(ks_step_fault)(k, 0, KS_ARRAY_INNOVATION_COV, KS_FAULT_NOT_POSITIVE, tally);
        if (k > 0 || !s->prior_x1) {
            const int before = k == k0;
            const KS_NUM *x = before ? g->mean_before : (const KS_NUM *)ks_slot_of(g->filtered_mean, k - 1);
            const KS_NUM *P = before ? g->cov_before : (const KS_NUM *)ks_slot_of(g->filtered_cov, k - 1);
            const KS_NUM *X = before || !g->columns ? g->columns_before
                                                    : (const KS_NUM *)ks_slot_of(g->filtered_columns, k - 1);
            KS_T(ks_back_over_transition)(n, g, k, x, P, X, state, &w, &known);
        }
        KS_NUM sum = KS_LIT(0); /* stays zero unless a number is infinite or not a number */
        for (int i = 0; i < n; ++i) sum += KS_LIT(0) * state->r[i] + KS_LIT(0) * state->N[i * n + i];
        if (!(sum == KS_LIT(0))) return KS_T(ks_step_fault)(k, 0, KS_ARRAY_ESTIMATE, KS_FAULT_NOT_FINITE, tally);
    }
    if (k0 > 0) return 0;
    KS_NUM *by_m0 = KS_T(ks_derivative_row)(g, KS_BY_M0, 0), *by_P0 = KS_T(ks_derivative_row)(g, KS_BY_P0, 0);
    for (int i = 0; by_m0 && i < n; ++i) by_m0[i] += state->r[i];
    if (!by_P0) return 0;
    KS_T(ks_subtract_half)(n, state->N, by_P0);
    KS_T(ks_add_square)(n, state->r, by_P0);
    for (int c = 0; c < g->columns; ++c) KS_T(ks_add_square)(n, state->columns + c * n, by_P0);
    return 0;
}

/** Take the columns X over the observation of step k, and add what it tells of them. */
KS_HD int KS_T(ks_columns_observe)(int n, const ks_gradient_rows *g, int64_t k, const KS_T(ks_observation) *o, KS_NUM *X,
                                   ks_gradient_told *told, const KS_T(ks_gradient_scratch) *w,
                                   KS_T(ks_gradient_known) *known)
{
    const int m = o->m, d = g->columns;
    const KS_NUM *xp = (const KS_NUM *)ks_slot_of(g->predicted_mean, k);
    if (!KS_T(ks_gradient_has_gain)(n, m, g, k, o, w, known)) return 0;
    KS_T(ks_mean_innovation)(n, o, w->HT, xp, w->e);
    for (int c = 0; c < d; ++c) {
        KS_NUM *x = X + c * n, *v = told->v + c * g->series->ny;
        KS_T(ks_column_innovation)(n, m, w->HT, x, v);
        KS_T(ks_mtv_add)(m, n, w->KT, v, x);
        if (!told->J) continue;
        for (int i = 0; i < m; ++i) {
            KS_NUM sum = KS_LIT(0); /* S⁻¹ v */
            for (int j = 0; j < m; ++j) sum += w->inverse[i * m + j] * v[j];
            told->b[c] += sum * w->e[i];
            for (int b = 0; b <= c; ++b) told->J[c * d + b] += sum * told->v[b * g->series->ny + i];
        }
    }
    return 1;
}

/** See ks_gradient_kernels.forward. */
KS_HD int KS_T(ks_gradient_forward)(int n, const ks_gradient_rows *g, int64_t k0, int64_t k1, KS_NUM *X,
                                    ks_gradient_told *told, KS_NUM *memory, ks_tally *tally)
{
    const ks_series *s = g->series;
    const KS_T(ks_gradient_scratch) w = KS_T(ks_gradient_lay_out)(n, s->ny, memory);
    KS_T(ks_gradient_known) known = { 0, 0, 0 };
    const int numbers = n * g->columns;
    for (int64_t k = k0; k < k1; ++k) {
        int entry = 0;
        const KS_T(ks_observation) o = KS_T(ks_observe)(s, k, w.compact, &entry);
        if (o.m < 0) return KS_T(ks_step_fault)(k, entry, KS_ARRAY_Y, KS_FAULT_NOT_FINITE, tally);
        if (k > 0 || !s->prior_x1) {
            KS_T(ks_transpose)(n, n, (const KS_NUM *)ks_row(s->F, k - s->shift), w.W);
            for (int c = 0; c < g->columns; ++c) {
                KS_T(ks_transposed_times)(n, n, w.W, X + c * n, w.x);
                KS_T(ks_copy)(n, w.x, X + c * n);
            }
        }
        if (g->predicted_columns.base) KS_T(ks_copy)(numbers, X, (KS_NUM *)ks_slot_of(g->predicted_columns, k));
        if (o.m > 0 && !KS_T(ks_columns_observe)(n, g, k, &o, X, told, &w, &known))
            return KS_T(ks_step_fault)(k, 0, KS_ARRAY_INNOVATION_COV, KS_FAULT_NOT_POSITIVE, tally);
        if (g->filtered_columns.base) KS_T(ks_copy)(numbers, X, (KS_NUM *)ks_slot_of(g->filtered_columns, k));
    }
    return 0;
}
