/* map_chain_text.h -- the MAP system of one series from its first step to its last and back,
 * assembled and eliminated in one pass, solved, inverted and reviewed in the other; see map_text.h and
 * num_f64.h. For scalar numbers. Nothing but the results is kept between the passes.
 *
 * With C = F[k+1]ᵀ Q[k+1]⁻¹, M the block of step k less what the steps before it take from it, and z
 * its right-hand side, forward
 *
 *     P = M⁻¹,   G = P C,   M' = A[k+1, k+1] - Cᵀ G,   z' = b[k+1] + Cᵀ P z,
 *
 * P being the covariance of x[k] given x[k+1] and all that is observed, and backward
 *
 *     x[k] = P z + G x[k+1],   S[k, k] = P + G S[k+1, k+1] Gᵀ,   S[k, k+1] = G S[k+1, k+1].
 *
 * The loss of map_text.h is bounded here rather than estimated. With t = trace(A[k, k] S[k, k]) the
 * squared canonical correlation of x[k] and x[k+1] is at most 1 - 1 / t, since P⁻¹ <= A[k, k]; those
 * of steps further apart multiply, and the sum over all steps is at most 2 t² with the largest t. */

/** A pivot alone to the evidence. */
KS_HD void KS_T(ks_map_gather)(ks_evidence *e, KS_NUM pivot)
{
    e->product *= (double)pivot;
    if (!(e->product > 1e-120 && e->product < 1e120)) {
        e->logs += log(e->product);
        e->product = 1;
    }
}

/** The inverse of the symmetric positive definite M (n, n) in place, by sweeping one row after the
 *  other; its pivots go to the evidence. Returns -1, or the row whose pivot is not positive. */
KS_HD int KS_T(ks_map_sweep)(int n, KS_NUM *M, ks_evidence *e)
{
    int bad = -1;
    for (int k = 0; k < n; ++k) {
        const KS_NUM pivot = M[k * n + k], inverse = KS_LIT(1) / pivot;
        if (!KS_GT(pivot, KS_LIT(0)) && bad < 0) bad = k;
        KS_T(ks_map_gather)(e, pivot);
        for (int j = 0; j < n; ++j) M[k * n + j] = M[k * n + j] * inverse;
        M[k * n + k] = inverse;
        for (int i = 0; i < n; ++i) {
            if (i == k) continue;
            const KS_NUM a = M[i * n + k];
            M[i * n + k] = KS_LIT(0);
            for (int j = 0; j < n; ++j) M[i * n + j] = M[i * n + j] - a * M[k * n + j];
        }
    }
    return bad;
}

/** Eliminate step k: P and z to the places of the results. Returns -1 or the failing row. */
KS_HD int KS_T(ks_map_eliminate)(int n, int64_t k, const ks_map_system *a, KS_T(ks_map_chain) *c,
                                 ks_evidence *e)
{
    const int bad = KS_T(ks_map_sweep)(n, c->M, e);
    KS_T(ks_copy)(n * n, c->M, (KS_NUM *)ks_slot_of(a->S, k));
    KS_T(ks_copy)(n, c->z, (KS_NUM *)ks_slot_of(a->x, k));
    return bad;
}

/** Forward: with the rows of step k step k - 1 is complete; it is eliminated, and step k begun. The
 *  last step is eliminated at once. */
KS_HD int KS_T(ks_map_chain_forward)(int n, const ks_series *s, int64_t k, const ks_map_system *a,
                                     KS_T(ks_map_memory) *w, ks_map_review *r, ks_tally *tally)
{
    const KS_T(ks_map_terms) *t = k == 0 ? &w->prior : &w->transition;
    KS_T(ks_map_chain) *c = &w->chain;
    KS_T(ks_observation) o;
    if (k == 0 ? KS_T(ks_map_prior)(s, a, w, tally)
               : KS_T(ks_map_transition)(n, s, k, a, w, tally))
        return -1;
    const KS_NUM *u = k == 0 ? w->mean : (const KS_NUM *)ks_row(s->u, k - s->shift);
    if (k > 0) {
        for (int i = 0; i < n * n; ++i) c->M[i] = c->M[i] + t->carried[i];
        KS_T(ks_mtv_add)(n, n, t->coupling, u, c->z);
        if (KS_T(ks_map_eliminate)(n, k - 1, a, c, &r->evidence) >= 0) r->lost_step = k - 1;
        KS_T(ks_mm)(n, n, n, c->M, t->gain, c->G);
        for (int i = 0; i < n; ++i) c->p[i] = KS_LIT(0);
        KS_T(ks_mtv_add)(n, n, c->M, c->z, c->p);
        KS_T(ks_copy)(n * n, t->precision, c->M);
        KS_T(ks_mtm_sub)(n, n, n, t->gain, c->G, c->M);
    } else {
        KS_T(ks_copy)(n * n, t->precision, c->M);
    }
    for (int i = 0; i < n; ++i) c->z[i] = KS_LIT(0);
    KS_T(ks_mtv_add)(n, n, t->precision, u, c->z);
    if (k > 0) KS_T(ks_mtv_add)(n, n, t->gain, c->p, c->z);
    for (int i = 0; i < n; ++i) KS_T(ks_map_gather)(&r->evidence, t->LD[i * n + i]);
    const KS_T(ks_map_sight) *seen = KS_T(ks_map_look)(n, s, k, a, w, &o, tally);
    if (!seen) return -1;
    tally->missing += s->ny - o.m;
    if (o.m > 0) {
        for (int i = 0; i < n * n; ++i) c->M[i] = c->M[i] + seen->information[i];
        for (int i = 0; i < o.m; ++i) w->v[i] = o.y[i] - o.d[i];
        KS_T(ks_ldl_forward)(o.m, 1, seen->LD, w->v);
        KS_T(ks_mtv_add)(o.m, n, seen->scaled, w->v, c->z);
        for (int i = 0; i < o.m; ++i) KS_T(ks_map_gather)(&r->evidence, seen->LD[i * o.m + i]);
    }
    if (k < s->steps - 1) return 0;
    /* The last step has none to wait for. */
    KS_NUM *x = (KS_NUM *)ks_slot_of(a->x, k), *S = (KS_NUM *)ks_slot_of(a->S, k);
    if (KS_T(ks_map_eliminate)(n, k, a, c, &r->evidence) >= 0) r->lost_step = k;
    for (int i = 0; i < n; ++i) x[i] = KS_LIT(0);
    KS_T(ks_mtv_add)(n, n, c->M, c->z, x);
    KS_T(ks_mirror)(n, S);
    return 0;
}

/** trace(A B) of symmetric matrices. */
KS_HD KS_NUM KS_T(ks_map_trace)(int n, const KS_NUM *A, const KS_NUM *B)
{
    KS_NUM sum = KS_LIT(0);
    for (int i = 0; i < n * n; ++i) sum = sum + A[i] * B[i];
    return sum;
}

/** From step k, whose results stand, to those of step k - 1, and the lag-one covariance of both. */
KS_HD void KS_T(ks_map_substitute)(int n, int64_t k, const ks_map_system *a,
                                   const KS_T(ks_map_terms) *t, KS_T(ks_map_chain) *c)
{
    const KS_NUM *x = (const KS_NUM *)ks_slot_of(a->x, k), *S = (const KS_NUM *)ks_slot_of(a->S, k);
    KS_NUM *to_x = (KS_NUM *)ks_slot_of(a->x, k - 1), *P = (KS_NUM *)ks_slot_of(a->S, k - 1);
    KS_NUM *GT = c->M; /* Gᵀ = Cᵀ P: products run along rows of it */
    for (int i = 0; i < n * n; ++i) GT[i] = KS_LIT(0);
    KS_T(ks_mtm_add)(n, n, n, t->gain, P, GT);
    KS_T(ks_mm)(n, n, n, S, GT, c->X); /* S Gᵀ = S[k, k - 1] */
    for (int i = 0; i < n; ++i) c->p[i] = KS_LIT(0);
    KS_T(ks_mtv_add)(n, n, P, to_x, c->p);
    KS_T(ks_mtv_add)(n, n, GT, x, c->p);
    KS_T(ks_copy)(n, c->p, to_x);
    KS_T(ks_mtm_add)(n, n, n, GT, c->X, P);
    KS_T(ks_mirror)(n, P);
    if (a->lag.base) KS_T(ks_copy)(n * n, c->X, (KS_NUM *)ks_slot_of(a->lag, k));
}

/** Backward: with the rows of step k, whose mean and covariance stand, those of step k - 1, the
 *  residuals of transition and observation k, and the judgement of step k. */
KS_HD int KS_T(ks_map_chain_back)(int n, const ks_series *s, int64_t k, const ks_map_system *a,
                                  KS_T(ks_map_memory) *w, ks_map_review *r, ks_tally *tally)
{
    const KS_T(ks_map_terms) *t = k == 0 ? &w->prior : &w->transition;
    KS_T(ks_map_chain) *c = &w->chain;
    KS_T(ks_observation) o;
    if (k == 0 ? KS_T(ks_map_prior)(s, a, w, tally)
               : KS_T(ks_map_transition)(n, s, k, a, w, tally))
        return -1;
    const KS_NUM *x = (const KS_NUM *)ks_slot_of(a->x, k), *S = (const KS_NUM *)ks_slot_of(a->S, k);
    const KS_NUM *u = k == 0 ? w->mean : (const KS_NUM *)ks_row(s->u, k - s->shift);
    KS_NUM *q = w->v, *g = w->gradient;
    KS_NUM trace = KS_T(ks_map_trace)(n, t->precision, S), quadratic = KS_LIT(0);
    for (int i = 0; i < n; ++i) q[i] = x[i] - u[i];
    if (k > 0) {
        const KS_NUM *F = (const KS_NUM *)ks_row(s->F, k - s->shift);
        KS_T(ks_map_substitute)(n, k, a, t, c);
        const KS_NUM *last = (const KS_NUM *)ks_slot_of(a->x, k - 1);
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) q[i] = q[i] - F[i * n + j] * last[j];
    }
    KS_T(ks_ldl_forward)(n, 1, t->LD, q);
    for (int i = 0; i < n; ++i) quadratic = quadratic + q[i] * q[i] * t->inverse_d[i];
    KS_T(ks_ldl_backward)(n, 1, t->LD, t->inverse_d, q);
    for (int i = 0; i < n; ++i) g[i] = q[i];
    if (k + 1 < s->steps)
        for (int i = 0; i < n; ++i) g[i] = g[i] - c->pull[i];
    const KS_T(ks_map_sight) *seen = KS_T(ks_map_look)(n, s, k, a, w, &o, tally);
    if (!seen) return -1;
    if (o.m > 0) {
        KS_NUM *v = w->v + (n > s->ny ? n : s->ny);
        for (int i = 0; i < o.m; ++i) {
            v[i] = o.y[i] - o.d[i];
            for (int j = 0; j < n; ++j) v[i] = v[i] - o.H[i * n + j] * x[j];
        }
        KS_T(ks_ldl_forward)(o.m, 1, seen->LD, v);
        for (int i = 0; i < o.m; ++i) quadratic = quadratic + v[i] * v[i] * seen->inverse_d[i];
        KS_T(ks_mtv_sub)(o.m, n, seen->scaled, v, g);
        trace = trace + KS_T(ks_map_trace)(n, seen->information, S);
    }
    double steepness = 0;
    const double whole = (double)trace + (k + 1 < s->steps ? c->trace : 0);
    int finite = 1;
    for (int i = 0; i < n; ++i) {
        steepness += (double)g[i] * (double)g[i] * (double)S[i * n + i];
        finite = finite && fabs((double)x[i]) <= a->largest && (double)S[i * n + i] <= a->largest;
    }
    if (!finite) r->bad_step = k;
    KS_T(ks_map_largest)(whole, &r->loss);
    KS_T(ks_map_largest)(steepness, &r->gradient);
    r->evidence.quadratic += (double)quadratic;
    if (k == 0) return 0;
    for (int i = 0; i < n; ++i) c->pull[i] = KS_LIT(0);
    KS_T(ks_mtv_add)(n, n, (const KS_NUM *)ks_row(s->F, k - s->shift), q, c->pull);
    c->trace = (double)KS_T(ks_map_trace)(n, t->carried,
                                          (const KS_NUM *)ks_slot_of(a->S, k - 1));
    return 0;
}
