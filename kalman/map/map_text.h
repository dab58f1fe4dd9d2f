/* map_text.h -- Hessian, right-hand side and residuals of the MAP problem, step by step; see map.h and num_f64.h. For
 * scalar numbers.
 *
 *     A[k, k]     = Q[k]⁻¹ + F[k+1]ᵀ Q[k+1]⁻¹ F[k+1] + H[k]ᵀ R[k]⁻¹ H[k]
 *     A[k, k - 1] = -Q[k]⁻¹ F[k]
 *     b[k]        = Q[k]⁻¹ u[k] - F[k+1]ᵀ Q[k+1]⁻¹ u[k+1] + H[k]ᵀ R[k]⁻¹ (y[k] - d[k])
 *
 * over the entries present. The covariance P and mean m of x[0] before its observation take the place of Q[0] and u[0].
 *
 * Accuracy. A factorization is that of A + dA with |dA_ij| <= c eps sqrt(A_ii A_jj), c a small multiple of nx, and so
 * is the assembly. To first order S changes by S dA S; entry (i, i) changes by at most c eps times (S diag(A) S)_ii.
 * The share of that in S_ii is called the loss here,
 *
 *     loss_i = sum over j of A_jj S_ij² / S_ii.
 *
 * It is the largest A_jj S_jj (variance over the variance if all else were known), times the number of steps over which
 * states stay correlated. It is estimated by z = S diag(A)^½ s with random signs s, since z_i² / S_ii has loss_i as its
 * mean. A_ii S_ii bounds it from below. */

/** L⁻¹ and the inverse of the covariance that LD factors. W: n * n numbers. */
KS_HD void KS_T(ks_map_invert)(int n, KS_T(ks_map_terms) *t, KS_NUM *W)
{
    KS_T(ks_map_unfactor)(n, t->LD, t->inverse_d, t->root, t->precision, W);
}

/** Make the terms of Q[k], k >= 1. */
KS_HD int KS_T(ks_map_noise)(int n, const ks_series *s, int64_t k, const ks_map_system *a,
                             KS_T(ks_map_memory) *w, ks_tally *tally)
{
    KS_T(ks_map_terms) *t = &w->transition;
    if (t->known & KS_MAP_CONSTANT_Q) return 0;
    const KS_NUM *Q = (const KS_NUM *)ks_row(s->Q, k - s->shift);
    const int bad = KS_T(ks_map_factor)(n, a->pivot, Q, t->LD, t->inverse_d);
    if (bad >= 0) return KS_T(ks_step_fault)(k, bad, KS_ARRAY_Q, KS_FAULT_NOT_POSITIVE, tally);
    KS_T(ks_map_invert)(n, t, w->work);
    t->known |= a->constant & KS_MAP_CONSTANT_Q;
    return 0;
}

/** Make the terms of the transition into step k >= 1. */
KS_HD int KS_T(ks_map_transition)(int n, const ks_series *s, int64_t k, const ks_map_system *a,
                                  KS_T(ks_map_memory) *w, ks_tally *tally)
{
    KS_T(ks_map_terms) *t = &w->transition;
    if (t->known & KS_MAP_CONSTANT_TRANSITION) return 0;
    if (KS_T(ks_map_noise)(n, s, k, a, w, tally)) return -1;
    KS_T(ks_map_couple)(n, t->LD, t->inverse_d, t->root, (const KS_NUM *)ks_row(s->F, k - s->shift),
                        w->work, w->work + n * n, t->carried, t->coupling);
    t->known |= a->constant & KS_MAP_CONSTANT_TRANSITION;
    return 0;
}

/** Make the prior of x[0] as terms of a transition without a previous state; its mean goes to w->mean. Under prior x0
 *  its covariance F P0 Fᵀ + Q is triangularised from square roots, so that a vague P0 does not drown the part of Q. */
KS_HD_COLD int KS_T(ks_map_prior)(const ks_series *s, const ks_map_system *a,
                                  KS_T(ks_map_memory) *w, ks_tally *tally)
{
    const int n = s->nx;
    KS_T(ks_map_terms) *t = &w->prior;
    KS_NUM *S = w->work, *Sp = S + n * n, *W = Sp + n * n;
    if (s->prior_x1) {
        KS_T(ks_copy)(n, (const KS_NUM *)s->m0, w->mean);
        const int bad = KS_T(ks_map_factor)(n, a->pivot, (const KS_NUM *)s->P0, t->LD,
                                            t->inverse_d);
        if (bad >= 0)
            return KS_T(ks_step_fault)(0, bad, KS_ARRAY_P0, KS_FAULT_NOT_POSITIVE, tally);
        KS_T(ks_map_invert)(n, t, S);
        return 0;
    }
    const KS_NUM *F = (const KS_NUM *)ks_row(s->F, 0), *Q = (const KS_NUM *)ks_row(s->Q, 0);
    KS_T(ks_covariance_factor)(n, (const KS_NUM *)s->P0, S, W);
    KS_T(ks_array_predict)(n, F, Q, (const KS_NUM *)ks_row(s->u, 0), (const KS_NUM *)s->m0, S,
                           w->mean, Sp, NULL, NULL, W);
    const int bad = KS_T(ks_map_factor_root)(n, a->pivot, Sp, t->LD, t->inverse_d);
    if (bad >= 0)
        return KS_T(ks_step_fault)(0, bad, KS_ARRAY_PRIOR_COV, KS_FAULT_NOT_POSITIVE, tally);
    KS_T(ks_map_invert)(n, t, S);
    return 0;
}

/** Return the terms of what step k observes; the m entries go to *o. NULL on a fault. */
KS_HD KS_T(ks_map_sight) *KS_T(ks_map_look)(int n, const ks_series *s, int64_t k,
                                            const ks_map_system *a, KS_T(ks_map_memory) *w,
                                            KS_T(ks_observation) *o, ks_tally *tally)
{
    int entry = 0;
    *o = KS_T(ks_observe)(s, k, w->compact, &entry);
    const int m = o->m;
    if (m < 0) {
        (void)KS_T(ks_step_fault)(k, entry, KS_ARRAY_Y, KS_FAULT_NOT_FINITE, tally);
        return (KS_T(ks_map_sight) *)0;
    }
    KS_T(ks_map_sight) *t = m == s->ny ? &w->all : &w->some;
    if (m == s->ny && (t->known & KS_MAP_CONSTANT_OBSERVATION)) return t;
    const int bad = KS_T(ks_map_factor)(m, a->pivot, o->R, t->LD, t->inverse_d);
    if (bad >= 0) {
        const KS_NUM *y = (const KS_NUM *)ks_row(s->y, k);
        int row = 0; /* row of y of the bad-th entry present */
        for (int present = 0; row < s->ny - 1; ++row) {
            if (y[row] == y[row] && present == bad) break;
            present += y[row] == y[row];
        }
        (void)KS_T(ks_step_fault)(k, row, KS_ARRAY_R, KS_FAULT_NOT_POSITIVE, tally);
        return (KS_T(ks_map_sight) *)0;
    }
    KS_T(ks_map_zero)(n * n, t->information);
    KS_T(ks_map_inform)(m, n, t->LD, t->inverse_d, o->H, w->work, t->scaled, t->information);
    t->known = m == s->ny ? a->constant : 0;
    return t;
}

/** Make the probes of a step whose diagonal block is complete. */
KS_HD void KS_T(ks_map_probe)(int n, int64_t k, const ks_map_system *a)
{
    const KS_NUM *D = (const KS_NUM *)ks_slot_of(a->D, k);
    KS_NUM *z = (KS_NUM *)ks_slot_of(a->z, k);
    for (int i = 0; i < n; ++i) {
        const KS_NUM size = KS_SQRT(D[i * n + i]);
        for (int p = 0; p < a->probes; ++p)
            z[i * a->probes + p] = size * KS_T(ks_map_sign)((k * n + i) * a->probes + p);
    }
}

KS_HD int KS_T(ks_map_assemble)(int n, const ks_series *s, int64_t k, int own, int before,
                                const ks_map_system *a, KS_T(ks_map_memory) *w, ks_tally *tally)
{
    const KS_T(ks_map_terms) *t = k == 0 ? &w->prior : &w->transition;
    if (k == 0 ? KS_T(ks_map_prior)(s, a, w, tally)
               : KS_T(ks_map_transition)(n, s, k, a, w, tally))
        return -1;
    const KS_NUM *u = k == 0 ? w->mean : (const KS_NUM *)ks_row(s->u, k - s->shift);
    if (before) {
        KS_NUM *D = (KS_NUM *)ks_slot_of(a->D, k - 1);
        for (int i = 0; i < n * n; ++i) D[i] = D[i] + t->carried[i];
        KS_T(ks_copy)(n * n, t->coupling, (KS_NUM *)ks_slot_of(a->L, k - 1));
        KS_T(ks_mtv_add)(n, n, t->coupling, u, (KS_NUM *)ks_slot_of(a->x, k - 1));
        KS_T(ks_map_probe)(n, k - 1, a);
    }
    if (!own) return 0;
    KS_T(ks_observation) o;
    const KS_T(ks_map_sight) *seen = KS_T(ks_map_look)(n, s, k, a, w, &o, tally);
    if (!seen) return -1;
    KS_NUM *D = (KS_NUM *)ks_slot_of(a->D, k), *b = (KS_NUM *)ks_slot_of(a->x, k);
    for (int i = 0; i < n; ++i) b[i] = KS_LIT(0);
    KS_T(ks_mtv_add)(n, n, t->precision, u, b);
    for (int i = 0; i < n * n; ++i)
        D[i] = o.m > 0 ? t->precision[i] + seen->information[i] : t->precision[i];
    for (int i = 0; i < o.m; ++i) w->v[i] = o.y[i] - o.d[i];
    KS_T(ks_ldl_forward)(o.m, 1, seen->LD, w->v);
    KS_T(ks_mtv_add)(o.m, n, seen->scaled, w->v, b);
    if (k == s->steps - 1) KS_T(ks_map_probe)(n, k, a);
    tally->missing += s->ny - o.m;
    return 0;
}

/** Judge step k, whose gradient and diagonal are complete. */
KS_HD void KS_T(ks_map_judge)(int n, int64_t k, const ks_map_system *a,
                              const KS_T(ks_map_memory) *w, ks_map_review *r)
{
    const KS_NUM *S = (const KS_NUM *)ks_slot_of(a->S, k), *x = (const KS_NUM *)ks_slot_of(a->x, k);
    KS_NUM *z = (KS_NUM *)ks_slot_of(a->z, k);
    double loss = 0, steepness = 0;
    int finite = 1;
    for (int i = 0; i < n; ++i) {
        const double variance = (double)S[i * n + i], mean = (double)x[i];
        double square = 0;
        for (int p = 0; p < a->probes; ++p)
            square += (double)z[i * a->probes + p] * (double)z[i * a->probes + p] / a->probes;
        const double own = (double)w->diagonal[i] * variance, probed = square / variance;
        KS_T(ks_map_largest)(own, &loss);
        KS_T(ks_map_largest)(probed, &loss);
        double turned = 0;
        for (int j = 0; j < n; ++j) turned += (double)S[i * n + j] * (double)w->gradient[j];
        steepness += (double)w->gradient[i] * turned;
        finite = finite && fabs(mean) <= a->largest && variance <= a->largest;
    }
    KS_T(ks_copy)(n, w->gradient, z);
    if (loss > r->loss) {
        r->loss = loss;
        r->lost_step = k;
    }
    KS_T(ks_map_largest)(steepness, &r->gradient);
    if (!finite && r->bad_step < 0) r->bad_step = k;
}

KS_HD int KS_T(ks_map_review)(int n, const ks_series *s, int64_t k, int own, int before,
                              const ks_map_system *a, KS_T(ks_map_memory) *w, ks_map_review *r,
                              ks_tally *tally)
{
    const KS_T(ks_map_terms) *t = k == 0 ? &w->prior : &w->transition;
    if (k == 0 ? KS_T(ks_map_prior)(s, a, w, tally)
               : KS_T(ks_map_transition)(n, s, k, a, w, tally))
        return -1;
    const KS_NUM *x = (const KS_NUM *)ks_slot_of(a->x, k);
    const KS_NUM *F = k == 0 ? (const KS_NUM *)0 : (const KS_NUM *)ks_row(s->F, k - s->shift);
    const KS_NUM *u = k == 0 ? w->mean : (const KS_NUM *)ks_row(s->u, k - s->shift);
    KS_NUM *q = w->v;
    for (int i = 0; i < n; ++i) q[i] = x[i] - u[i];
    if (k > 0) {
        const KS_NUM *last = (const KS_NUM *)ks_slot_of(a->x, k - 1);
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) q[i] = q[i] - F[i * n + j] * last[j];
    }
    KS_T(ks_ldl_forward)(n, 1, t->LD, q);
    if (own)
        for (int i = 0; i < n; ++i)
            ks_gather_pivot(&r->evidence, (double)t->LD[i * n + i],
                            (double)(q[i] * q[i] * t->inverse_d[i]));
    KS_T(ks_ldl_backward)(n, 1, t->LD, t->inverse_d, q);
    if (before) {
        KS_T(ks_mtv_sub)(n, n, F, q, w->gradient);
        for (int i = 0; i < n; ++i) w->diagonal[i] = w->diagonal[i] + t->carried[i * n + i];
        KS_T(ks_map_judge)(n, k - 1, a, w, r);
    }
    if (!own) return 0;
    KS_T(ks_observation) o;
    const KS_T(ks_map_sight) *seen = KS_T(ks_map_look)(n, s, k, a, w, &o, tally);
    if (!seen) return -1;
    KS_NUM *v = w->v + (n > s->ny ? n : s->ny);
    for (int i = 0; i < o.m; ++i) {
        v[i] = o.y[i] - o.d[i];
        for (int j = 0; j < n; ++j) v[i] = v[i] - o.H[i * n + j] * x[j];
    }
    KS_T(ks_ldl_forward)(o.m, 1, seen->LD, v);
    for (int i = 0; i < o.m; ++i)
        ks_gather_pivot(&r->evidence, (double)seen->LD[i * o.m + i],
                        (double)(v[i] * v[i] * seen->inverse_d[i]));
    for (int i = 0; i < n; ++i) {
        const KS_NUM information = o.m > 0 ? seen->information[i * n + i] : KS_LIT(0);
        w->gradient[i] = q[i];
        w->diagonal[i] = t->precision[i * n + i] + information;
    }
    KS_T(ks_mtv_sub)(o.m, n, seen->scaled, v, w->gradient);
    if (k == s->steps - 1) KS_T(ks_map_judge)(n, k, a, w, r);
    return 0;
}
