/* two_ended_range_text.h -- ranges of steps of the two-ended smoother's right half; see num_f64.h. For scalar numbers.
 *
 * Round-off of J acts as a false observation of weight KS_EPS J_ii. It changes the smoothed covariance by KS_EPS J_ii
 * P_ii, relative, and the mean by KS_EPS J_ii x_i sd_i standard deviations. Both are known on the way out. The ordinary
 * form of the information was not good enough if the first exceeds KS_GROWTH round-offs, or if the second does and
 * exceeds the round-off that a mean in this precision has anyway. The series is then done again in the array form. */

/** A mean of size x has a round-off of KS_EPS x. This many times as much is accepted, in double about as much as the
 *  steps of a filter add up to in a long gap. */
#define KS_MEAN_SLACK (sizeof(KS_NUM) == 8 ? 16 : 4)

/** Pointers into scratch. */
typedef struct KS_T(ks_ends_scratch) {
    KS_NUM *compact, *S, *inverse_r, *N, *Z, *v;             /* observation, whitened */
    KS_NUM *G, *J, *eta, *LD, *inverse_d, *seen, *shown; /* transition           */
    KS_NUM *QLD, *Qd, *pivot, *inverse, *B, *C;              /* if Q has an inverse  */
    KS_NUM *unit, *none;                                     /* I and 0              */
    KS_NUM *x, *P, *Phi, *V, *lag, *eps, *work;              /* way out               */
    KS_WIDE *last;                                           /* data, array form      */
} KS_T(ks_ends_scratch);

/** Lay out the scratch. Returns the numbers that it takes; NULL only measures. */
KS_HD int64_t KS_T(ks_ends_lay_out)(int nx, int ny, KS_NUM *memory, KS_T(ks_ends_scratch) *w)
{
    const int64_t n = nx, m = ny, nn = n * n;
    /* First, so that it is aligned for the wider number. */
    const int64_t wide = (2 * n + m) * (int64_t)(sizeof(KS_WIDE) / sizeof(KS_NUM));
    w->last = (KS_WIDE *)(void *)memory;
    const int64_t size[] = { m * n + m * m + 2 * m, m * m, m, m * n, m * n, m,
                             nn, nn, n, nn, n, n, n,
                             nn, n, n, nn, nn, nn, nn, nn,
                             n, nn, nn, nn, nn, n,
                             8 * nn + 16 * n + (n + 2) * (n + m) + (KS_LQ_ROWS - 1) * (3 * n + m) + 2 };
    KS_NUM **const place[] = { &w->compact, &w->S, &w->inverse_r, &w->N, &w->Z, &w->v,
                               &w->G, &w->J, &w->eta, &w->LD, &w->inverse_d, &w->seen,
                               &w->shown, &w->QLD, &w->Qd, &w->pivot, &w->inverse, &w->B, &w->C,
                               &w->unit, &w->none, &w->x, &w->P, &w->Phi, &w->V, &w->lag, &w->eps,
                               &w->work };
    int64_t at = wide;
    for (int i = 0; i < (int)(sizeof size / sizeof size[0]); ++i) {
        *place[i] = memory ? memory + at : NULL;
        at += size[i];
    }
    return at;
}

/** What scratch holds that is valid for every step: the whitened observation, the root of Q, its inverse, whether it
 *  has one, and its products with F. */
typedef struct KS_T(ks_ends_known) {
    int observation, root, inverse, has_inverse, through;
} KS_T(ks_ends_known);

/** Whiten the observation of step k in scratch; out: without w->N. w->v is unchanged. If R is singular or
 *  ill-conditioned over the entries present, or an entry is infinite, m is -1 and the tally has the fault. If R is
 *  ill-conditioned, w->inverse_r[0] is the relative error of the information. */
KS_HD KS_T(ks_observation) KS_T(ks_observe_white)(int nx, int out, const ks_series *s, int64_t k,
                                                  const KS_T(ks_ends_scratch) *w,
                                                  KS_T(ks_ends_known) *known, ks_tally *tally)
{
    int entry = 0;
    KS_T(ks_observation) o = KS_T(ks_observe)(s, k, w->compact, &entry);
    if (o.m < 0) {
        (void)KS_T(ks_step_fault)(k, entry, KS_ARRAY_Y, KS_FAULT_NOT_FINITE, tally);
        return o;
    }
    if (o.m == s->ny && known->observation) return o;
    int good = 1;
#define CALL(m) good = KS_ALL(KS_T(ks_whiten_observation)(nx, m, o.H, o.R, w->S, w->inverse_r, out ? NULL : w->N))
    KS_WITH_LITERAL_ENTRIES(nx, o.m, CALL)
#undef CALL
    known->observation = o.m == s->ny && !s->H.stride && !s->R.stride;
    if (good) return o;
    int row = 0;
    while (row + 1 < o.m && KS_GT(w->S[row * o.m + row], KS_LIT(KS_R_PIVOT) * o.R[row * o.m + row]))
        ++row;
    const double share = (double)w->S[row * o.m + row] / (double)o.R[row * o.m + row];
    const int positive = share > KS_R_ROUNDING(o.m);
    (void)KS_T(ks_step_fault)(k, row, KS_ARRAY_R, positive ? KS_FAULT_ILL_CONDITIONED : KS_FAULT_NOT_POSITIVE, tally);
    if (positive) w->inverse_r[0] = KS_LIT(KS_EPS / share);
    o.m = -1;
    return o;
}

/** w->v <- L⁻¹ (y - d), or L⁻¹ (y - d - H x) if x is not NULL. */
KS_HD void KS_T(ks_residual)(int nx, const KS_T(ks_observation) *o, const KS_NUM *x,
                             const KS_T(ks_ends_scratch) *w)
{
#define CALL(m)                                                                             \
    for (int i = 0; i < (m); ++i) {                                                         \
        KS_NUM r = o->y[i] - o->d[i];                                                       \
        for (int c = 0; x && c < nx; ++c) r = r - o->H[i * nx + c] * x[c];                  \
        w->v[i] = r;                                                                        \
    }                                                                                       \
    KS_T(ks_ldl_forward)(m, 1, w->S, w->v)
    KS_WITH_LITERAL_ENTRIES(nx, o->m, CALL)
#undef CALL
}

/** w->G <- a root of the noise into step k: lower triangular, or for the array form made with pivoting. */
KS_HD void KS_T(ks_noise_root)(int nx, const ks_series *s, int64_t k, ks_form form,
                               const KS_T(ks_ends_scratch) *w, KS_T(ks_ends_known) *known)
{
    if (known->root) return;
    const KS_NUM *Q = (const KS_NUM *)ks_row(s->Q, k - s->shift);
    if (form == KS_FORM_ARRAY) {
        KS_T(ks_covariance_factor)(nx, Q, w->G, w->work);
    } else {
        KS_T(ks_semidefinite_factor)(nx, Q, w->G);
    }
    if (form == KS_FORM_ORDINARY) KS_T(ks_doubt_covariance)(nx, Q, w->G);
    known->root = !s->Q.stride;
}

/** The factors of the noise into step k and its inverse. Returns whether Q is well positive definite. */
KS_HD int KS_T(ks_noise_inverse)(int nx, const ks_series *s, int64_t k, const KS_T(ks_ends_scratch) *w,
                                 KS_T(ks_ends_known) *known)
{
    if (known->inverse) return known->has_inverse;
    const KS_NUM *Q = (const KS_NUM *)ks_row(s->Q, k - s->shift);
    known->has_inverse = KS_ALL(
        KS_T(ks_invert_noise)(nx, Q, w->QLD, w->Qd, w->pivot, w->inverse, w->work, w->work + nx * nx));
    known->inverse = !s->Q.stride;
    return known->has_inverse;
}

/** The noise into step k, whose inverse is valid, with B and C. */
KS_HD KS_T(ks_noise) KS_T(ks_noise_of)(int nx, const ks_series *s, int64_t k, const KS_T(ks_ends_scratch) *w,
                                       KS_T(ks_ends_known) *known)
{
    if (!known->through)
        KS_T(ks_noise_through)(nx, (const KS_NUM *)ks_row(s->F, k - s->shift), w->inverse, w->B, w->C);
    known->through = !s->Q.stride && !s->F.stride;
    const KS_T(ks_noise) noise = { w->inverse, w->B, w->C, w->pivot };
    return noise;
}

/* Square of the size of an observation, in standard deviations of its noise, from which round-off of the smoothed mean
 * makes residuals wrong by a hundredth of the noise; in single precision, by as much as the noise. */
#define KS_LARGE ((sizeof(KS_NUM) == 8 ? 1e-4 : 1) / (KS_EPS * KS_EPS))

/** Note the whitened entries v (m) of step k that are too large relative to their variances D, `apart` numbers from one
 *  another. */
KS_HD void KS_T(ks_look_large)(int m, int64_t k, const KS_NUM *v, const KS_NUM *D, int apart,
                               ks_information *information)
{
    for (int i = 0; i < m; ++i) {
        if (!KS_GT(v[i] * v[i], KS_LIT(KS_LARGE) * D[i * apart])) continue;
        information->large_step = k;
        information->large_row = i;
    }
}

/** bound (nx) <- the larger of itself and the numbers of `from`, `apart` from one another. */
KS_HD void KS_T(ks_raise)(int nx, const KS_NUM *KS_RESTRICT from, int apart, KS_NUM *KS_RESTRICT bound)
{
    for (int i = 0; i < nx; ++i) bound[i] = KS_GT(from[i * apart], bound[i]) ? from[i * apart] : bound[i];
}

/** bound (nx) <- the larger of itself and the diagonal of Fᵀ diag(J) F. These are the products that Fᵀ J F is the sum
 *  of; if they cancel, its round-off is theirs. */
KS_HD void KS_T(ks_raise_products)(int nx, const KS_NUM *KS_RESTRICT F, const KS_NUM *KS_RESTRICT J,
                                   KS_NUM *KS_RESTRICT bound)
{
    for (int i = 0; i < nx; ++i) {
        KS_NUM sum = KS_LIT(0);
        for (int l = 0; l < nx; ++l) sum = sum + F[l * nx + i] * F[l * nx + i] * J[l];
        bound[i] = KS_GT(sum, bound[i]) ? sum : bound[i];
    }
}

/** Raise the bound of the block of steps around k by the diagonal of J, entries `apart`, and by `shown`, the diagonal
 *  of Fᵀ J F. If F is constant, the products are bounded for the whole block at once, when its lowest step,
 *  the last one to come, is taken. */
KS_HD void KS_T(ks_raise_bound)(int nx, const ks_series *s, int64_t k, const KS_NUM *J, int apart, const KS_NUM *shown,
                                const ks_right_rows *to)
{
    const int64_t at = k - to->first;
    KS_NUM *bound = (KS_NUM *)ks_slot_of(to->bound, at / KS_BOUND_STEPS);
    const int fresh = k == to->last || at % KS_BOUND_STEPS == KS_BOUND_STEPS - 1;
    if (fresh)
        for (int i = 0; i < 2 * nx; ++i) bound[i] = KS_LIT(0);
    KS_T(ks_raise)(nx, J, apart, bound);
    KS_T(ks_raise)(nx, shown, 1, bound + nx);
    if (s->F.stride || at % KS_BOUND_STEPS == 0)
        KS_T(ks_raise_products)(nx, (const KS_NUM *)ks_row(s->F, k - s->shift), bound, bound + nx);
}

/** Whether round-off of an information whose diagonal is within `bound` leaves the smoothed estimate x, P unchanged. */
KS_HD int KS_T(ks_information_enough)(int nx, const KS_NUM *bound, const KS_NUM *x,
                                      const KS_NUM *P, int stride)
{
    KS_NUM worst = KS_LIT(0), weight = KS_LIT(0), sum = KS_LIT(0);
    for (int i = 0; i < nx; ++i) {
        sum = sum + bound[i] * P[i * stride];
        weight = weight + bound[i] * x[i] * x[i];
    }
    /* The sum is at least the largest share, so if it passes nothing else needs to be checked. */
    if (KS_GT(KS_LIT(KS_GROWTH), sum) &&
        KS_GT(KS_LIT(KS_GROWTH) * KS_LIT(KS_GROWTH), sum * weight))
        return 1;
    for (int i = 0; i < nx; ++i) {
        const KS_NUM share = bound[i] * P[i * stride];
        worst = KS_GT(share, worst) ? share : worst;
    }
    if (KS_GT(worst, KS_LIT(KS_GROWTH))) return 0;
    const KS_NUM moved = worst * weight; /* squared, as is everything below */
    if (!KS_GT(moved, KS_LIT(KS_GROWTH) * KS_LIT(KS_GROWTH))) return 1;
    for (int i = 0; i < nx; ++i)
        if (KS_GT(KS_LIT(KS_MEAN_SLACK * KS_MEAN_SLACK) * x[i] * x[i], moved * P[i * stride]))
            return 1;
    return 0;
}

/** Pack the factors of K for the way out: for each column of the unit L, 1 / D and what is below the diagonal. */
KS_HD void KS_T(ks_pack_factors)(int nx, const KS_NUM *LD, const KS_NUM *inverse_d, KS_NUM *packed)
{
    for (int i = 0; i < nx; ++i) {
        *packed++ = inverse_d[i];
        for (int j = i + 1; j < nx; ++j) *packed++ = LD[j * nx + i];
    }
}

KS_HD void KS_T(ks_unpack_factors)(int nx, const KS_NUM *packed, KS_NUM *LD, KS_NUM *inverse_d)
{
    for (int i = 0; i < nx; ++i) {
        inverse_d[i] = *packed++;
        for (int j = i + 1; j < nx; ++j) LD[j * nx + i] = *packed++;
    }
}

/** The transition into step k of an information in the ordinary form, in the shortest way that keeps its digits. A, b
 *  and the factors of K are returned; w->J and w->eta receive the information that remains. Returns false if the
 *  ordinary form is not good enough. */
KS_HD int KS_T(ks_retreat_step)(int nx, const ks_series *s, int64_t k, const ks_information *information,
                                const KS_T(ks_ends_scratch) *w, KS_T(ks_ends_known) *known, const ks_right_rows *to)
{
    const KS_NUM *F = (const KS_NUM *)ks_row(s->F, k - s->shift), *u = (const KS_NUM *)ks_row(s->u, k - s->shift);
    const KS_NUM *Q = (const KS_NUM *)ks_row(s->Q, k - s->shift);
    const KS_NUM *J = (const KS_NUM *)information->J, *eta = (const KS_NUM *)information->eta;
    KS_NUM *A = (KS_NUM *)ks_slot_of(to->A, k), *b = (KS_NUM *)ks_slot_of(to->b, k);
    unsigned char *passage = (unsigned char *)ks_slot_of(to->passage, k);
    const int inverse = KS_INVERSE_PAYS(nx, s) && KS_T(ks_noise_inverse)(nx, s, k, w, known);
    if (inverse &&
        KS_T(ks_precision_keeps)(nx, KS_T(ks_precision_scale)(KS_PRECISION_BEFORE, to->size), w->inverse, nx + 1, J, nx + 1)) {
        const KS_T(ks_noise) noise = KS_T(ks_noise_of)(nx, s, k, w, known);
        *passage = KS_BY_PRECISION;
        const int good = KS_ALL(KS_T(ks_retreat_inverse)(nx, KS_BY_PRECISION, F, &noise, u, J, eta, w->J, w->eta, A, b,
                                                         w->LD, w->inverse_d, w->shown, w->work));
        if (good && KS_T(ks_precision_keeps)(nx, KS_T(ks_precision_scale)(KS_PRECISION_AFTER, to->size), w->shown, 1, w->J,
                                             nx + 1))
            return 1;
    }
    if (inverse && KS_ALL(KS_T(ks_inverse_keeps)(nx, J, Q))) {
        const KS_T(ks_noise) noise = { w->inverse, NULL, NULL, w->pivot };
        *passage = KS_BY_INVERSE;
        return KS_ALL(KS_T(ks_retreat_inverse)(nx, KS_BY_INVERSE, F, &noise, u, J, eta, w->J, w->eta, A, b, w->LD,
                                               w->inverse_d, w->shown, w->work));
    }
    *passage = KS_BY_ROOT;
    KS_T(ks_noise_root)(nx, s, k, KS_FORM_ORDINARY, w, known);
    return KS_ALL(KS_T(ks_retreat)(nx, F, w->G, u, J, eta, w->J, w->eta, A, b, w->LD, w->inverse_d, w->shown, w->work));
}

/** Add the information of step k's observation, then take the transition. D of K is left on the diagonal of w->LD,
 *  times the pivots of Q if K is made with its inverse. */
KS_HD int KS_T(ks_inform_step)(int nx, const ks_series *s, int64_t k,
                               const KS_T(ks_observation) *o, ks_information *information,
                               const KS_T(ks_ends_scratch) *w, KS_T(ks_ends_known) *known, const ks_right_rows *to)
{
    KS_NUM *J = (KS_NUM *)information->J, *eta = (KS_NUM *)information->eta;
    KS_NUM *K = (KS_NUM *)ks_slot_of(to->K, k);
    if (information->form == KS_FORM_ARRAY) {
        const KS_NUM *F = (const KS_NUM *)ks_row(s->F, k - s->shift);
        const KS_NUM *u = (const KS_NUM *)ks_row(s->u, k - s->shift);
        KS_NUM *A = (KS_NUM *)ks_slot_of(to->A, k), *b = (KS_NUM *)ks_slot_of(to->b, k);
        KS_T(ks_noise_root)(nx, s, k, KS_FORM_ARRAY, w, known);
        if (o->m > 0)
            KS_T(ks_array_inform)(nx, o->m, w->N, w->inverse_r, w->v, J, eta, w->work,
                                  w->last);
        KS_T(ks_array_retreat)(nx, F, w->G, u, J, eta, A, b, w->LD, w->inverse_d, w->work,
                               w->last);
        KS_T(ks_pack_factors)(nx, w->LD, w->inverse_d, K);
        if (to->passage.base) *(unsigned char *)ks_slot_of(to->passage, k) = KS_BY_ROOT;
        return 1;
    }
#define CALL(m) KS_T(ks_inform)(nx, m, w->N, w->inverse_r, w->v, J, eta, w->Z)
    KS_WITH_LITERAL_ENTRIES(nx, o->m, CALL)
#undef CALL
    for (int i = 0; i < nx; ++i) w->seen[i] = J[i * nx + i];
    const int good = KS_T(ks_retreat_step)(nx, s, k, information, w, known, to);
    KS_T(ks_raise_bound)(nx, s, k, w->seen, 1, w->shown, to);
    KS_T(ks_copy)(nx * nx, w->J, J);
    KS_T(ks_copy)(nx, w->eta, eta);
    KS_T(ks_pack_factors)(nx, w->LD, w->inverse_d, K);
    return good;
}

/** See ks_two_ended_kernels.inform. */
KS_HD int KS_T(ks_inform_steps)(int nx, const ks_series *s, int64_t k0, int64_t k1,
                                ks_information *information, const ks_right_rows *to,
                                void *memory, ks_tally *tally)
{
    KS_T(ks_ends_scratch) w;
    KS_T(ks_ends_known) known = { 0, 0, 0, 0, 0 };
    (void)KS_T(ks_ends_lay_out)(nx, s->ny, (KS_NUM *)memory, &w);
    for (int64_t k = k1 - 1; k >= k0; --k) {
        const KS_T(ks_observation) o = KS_T(ks_observe_white)(nx, 0, s, k, &w, &known, tally);
        if (o.m < 0) return -1;
        KS_T(ks_residual)(nx, &o, NULL, &w);
        tally->missing += s->ny - o.m;
        KS_T(ks_look_large)(o.m, k, w.v, w.S, o.m + 1, information);
        for (int i = 0; i < o.m; ++i)
            ks_gather_determinant(&tally->evidence, (double)w.S[i * o.m + i]);
        tally->evidence.entries += o.m;
        if (!KS_T(ks_inform_step)(nx, s, k, &o, information, &w, &known, to)) return 1;
        if (information->form == KS_FORM_ORDINARY)
            tally->ordinary += 1;
        else
            tally->array += 1;
        if (!KS_T(ks_finite_in_form)(nx, information->form, (const KS_NUM *)information->eta,
                                     (const KS_NUM *)information->J))
            return KS_T(ks_step_fault)(k, 0, KS_ARRAY_ESTIMATE, KS_FAULT_NOT_FINITE, tally);
        for (int i = 0; i < nx; ++i)
            ks_gather_determinant(&tally->evidence, (double)w.LD[i * nx + i]);
    }
    return 0;
}

/** See ks_two_ended_kernels.meet. */
KS_HD_COLD void KS_T(ks_meet_states)(int nx, int64_t k, ks_state *state,
                                     ks_information *information, const ks_right_rows *from,
                                     const ks_backward_sinks *to, void *memory, ks_evidence *evidence)
{
    const KS_NUM *bound = (const KS_NUM *)ks_slot_of(from->bound, (k + 1 - from->first) / KS_BOUND_STEPS);
    KS_NUM *pivot = (KS_NUM *)memory, *q = pivot + nx, *work = q + nx;
    KS_NUM *J = (KS_NUM *)information->J, *eta = (KS_NUM *)information->eta;
    if (state->form == KS_FORM_ORDINARY) KS_T(ks_to_array)(nx, state, work);
    if (information->form == KS_FORM_ORDINARY) KS_T(ks_to_data)(nx, bound + nx, J, eta, work);
    information->form = KS_FORM_ARRAY;
    KS_T(ks_array_meet)(nx, J, eta, (KS_NUM *)state->x, (KS_NUM *)state->C, pivot, q, work);
    KS_T(ks_leave_array)(nx, 0, NULL, NULL, state, work);
    for (int i = 0; i < nx; ++i)
        ks_gather_factor(evidence, (double)pivot[i], (double)(q[i] * q[i]));
    if (to->smoothed_mean.base)
        KS_T(ks_copy)(nx, (const KS_NUM *)state->x, (KS_NUM *)ks_slot_of(to->smoothed_mean, k));
    KS_T(ks_write_cov)(nx, state->form, (const KS_NUM *)state->C, to->smoothed_cov,
                       to->smoothed_var, k, work);
}

/** From the smoothed `state` of step k - 1 to that of step k, in the form that it needs. w->lag <- the covariance of
 *  both. */
KS_HD void KS_T(ks_outward_step)(int nx, const ks_series *s, int64_t k, ks_form form, ks_state *state,
                                 const ks_right_rows *from, const KS_T(ks_ends_scratch) *w,
                                 KS_T(ks_ends_known) *known, ks_tally *tally)
{
    const ks_passage passage = (ks_passage) * (const unsigned char *)ks_slot_of(from->passage, k);
    if (passage == KS_BY_ROOT) KS_T(ks_noise_root)(nx, s, k, form, w, known);
    else (void)KS_T(ks_noise_inverse)(nx, s, k, w, known);
    const KS_NUM *F = (const KS_NUM *)ks_row(s->F, k - s->shift);
    const KS_NUM *u = (const KS_NUM *)ks_row(s->u, k - s->shift);
    const KS_NUM *A = (const KS_NUM *)ks_slot_of(from->A, k);
    const KS_NUM *b = (const KS_NUM *)ks_slot_of(from->b, k);
    KS_NUM *x = (KS_NUM *)state->x, *C = (KS_NUM *)state->C;
    const KS_NUM *K = (const KS_NUM *)ks_slot_of(from->K, k);
    KS_T(ks_unpack_factors)(nx, K, w->LD, w->inverse_d);
    const KS_NUM *kept = passage == KS_BY_PRECISION ? w->none : F, *G = passage == KS_BY_ROOT ? w->G : w->unit;
    KS_T(ks_advance_gain)(nx, kept, G, A, w->LD, w->Phi, w->V);
    KS_T(ks_advance_mean)(nx, kept, w->V, w->LD, u, A, b, x, w->x, w->eps);
    if (passage != KS_BY_ROOT)
        KS_T(ks_whiten_noise)(nx, passage == KS_BY_PRECISION ? F : NULL, x, w->QLD, w->Qd, w->eps);
    if (state->form == KS_FORM_ARRAY ||
        !KS_ALL(KS_T(ks_advance_cov)(nx, w->Phi, w->V, w->inverse_d, C, w->P, w->lag, w->work))) {
        if (state->form == KS_FORM_ORDINARY) KS_T(ks_to_array)(nx, state, w->work);
        KS_T(ks_array_advance)(nx, w->Phi, w->V, w->inverse_d, C, w->P, w->lag, w->work);
        tally->array += 1;
    } else {
        tally->ordinary += 1;
    }
    KS_T(ks_copy)(nx, w->x, x);
    KS_T(ks_copy)(nx * nx, w->P, C);
    if (state->form == KS_FORM_ARRAY) KS_T(ks_leave_array)(nx, 0, NULL, NULL, state, w->work);
}

/** Whether the information that led to step k in the ordinary form was good enough for `state`: that of step k if
 *  `after`, else that of step k - 1, which is judged by the bound of Fᵀ J F. */
KS_HD int KS_T(ks_judge)(int nx, int64_t k, int after, const ks_state *state,
                         const ks_right_rows *from, KS_NUM *W)
{
    const KS_NUM *bound =
        (const KS_NUM *)ks_slot_of(from->bound, (k - from->first) / KS_BOUND_STEPS);
    const KS_NUM *x = (const KS_NUM *)state->x, *C = (const KS_NUM *)state->C;
    if (!after) bound += nx;
    if (state->form == KS_FORM_ORDINARY)
        return KS_T(ks_information_enough)(nx, bound, x, C, nx + 1);
    for (int i = 0; i < nx; ++i) {
        W[i] = KS_LIT(0);
        for (int c = 0; c < nx; ++c) W[i] = W[i] + C[i * nx + c] * C[i * nx + c];
    }
    return KS_T(ks_information_enough)(nx, bound, x, W, 1);
}

/** See ks_two_ended_kernels.outward. */
KS_HD int KS_T(ks_outward_steps)(int nx, const ks_series *s, int64_t k0, int64_t k1, ks_form form,
                                 ks_state *state, const ks_right_rows *from,
                                 const ks_backward_sinks *to, void *memory, ks_tally *tally)
{
    KS_T(ks_ends_scratch) w;
    KS_T(ks_ends_known) known = { 0, 0, 0, 0, 0 };
    KS_NUM *x = (KS_NUM *)state->x, *C = (KS_NUM *)state->C;
    const int judged = form == KS_FORM_ORDINARY;
    (void)KS_T(ks_ends_lay_out)(nx, s->ny, (KS_NUM *)memory, &w);
    for (int i = 0; i < nx * nx; ++i) w.unit[i] = w.none[i] = KS_LIT(0);
    for (int i = 0; i < nx; ++i) w.unit[i * nx + i] = KS_LIT(1);
    for (int64_t k = k0; k < k1; ++k) {
        if (judged && !KS_T(ks_judge)(nx, k, 0, state, from, w.work)) return 1;
        KS_T(ks_outward_step)(nx, s, k, form, state, from, &w, &known, tally);
        if (!KS_T(ks_finite_in_form)(nx, state->form, x, C))
            return KS_T(ks_step_fault)(k, 0, KS_ARRAY_ESTIMATE, KS_FAULT_NOT_FINITE, tally);
        if (judged && !KS_T(ks_judge)(nx, k, 1, state, from, w.work)) return 1;
        const KS_T(ks_observation) o = KS_T(ks_observe_white)(nx, 1, s, k, &w, &known, tally);
        if (o.m < 0) return -1;
        KS_T(ks_residual)(nx, &o, x, &w);
        double squares = 0;
        for (int i = 0; i < nx; ++i) squares += (double)w.eps[i] * (double)w.eps[i];
        for (int i = 0; i < o.m; ++i) squares += (double)(w.v[i] * w.v[i] * w.inverse_r[i]);
        tally->evidence.quadratic += squares;
        if (to->smoothed_mean.base)
            KS_T(ks_copy)(nx, x, (KS_NUM *)ks_slot_of(to->smoothed_mean, k));
        KS_T(ks_write_cov)(nx, state->form, C, to->smoothed_cov, to->smoothed_var, k, w.work);
        if (to->lag_one_cov.base)
            KS_T(ks_copy)(nx * nx, w.lag, (KS_NUM *)ks_slot_of(to->lag_one_cov, k));
    }
    return 0;
}

/** See ks_two_ended_kernels.inverts. */
KS_HD_COLD int KS_T(ks_inverts)(const ks_series *s, void *memory)
{
    KS_T(ks_ends_scratch) w;
    KS_T(ks_ends_known) known = { 0, 0, 0, 0, 0 };
    (void)KS_T(ks_ends_lay_out)(s->nx, s->ny, (KS_NUM *)memory, &w);
    return s->steps > 1 && !s->Q.stride && KS_INVERSE_PAYS(s->nx, s) && KS_T(ks_noise_inverse)(s->nx, s, s->shift, &w, &known);
}

/** See ks_two_ended_kernels.first_refused. */
KS_HD_COLD double KS_T(ks_first_refused)(const ks_series *s, int64_t k0, int64_t k1, void *memory,
                                         ks_tally *tally)
{
    KS_T(ks_ends_scratch) w;
    KS_T(ks_ends_known) known = { 0, 0, 0, 0, 0 };
    (void)KS_T(ks_ends_lay_out)(s->nx, s->ny, (KS_NUM *)memory, &w);
    for (int64_t k = k0; k < k1; ++k)
        if (KS_T(ks_observe_white)(s->nx, 1, s, k, &w, &known, tally).m < 0) return (double)w.inverse_r[0];
    return 0;
}
