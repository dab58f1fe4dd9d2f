/* absorb_text.h -- the element of a range of steps, made by ordinary filter or smoother steps; see element_text.h and
 * num_f64.h.
 *
 * The steps run over the range, block by block, as if the state next to it were exactly 0: the state before the range
 * for the filter, the state after it for the smoother. The gains that these steps store tell how the results depend on
 * that state. The filtering element needs the sensitivities of the filter, the smoothing element the product of the
 * gains.
 *
 * For scalar numbers; part of kernels_text.h. */

/** Bytes of gains of a block. The gains are read again at once, so they should still be in cache. */
#define KS_ABSORB_BYTES 32768

/** Return the steps of a block whose gains take `numbers` numbers a step: 2 to 32. */
KS_HD int KS_T(ks_absorb_block)(int64_t numbers)
{
    const int64_t steps = KS_ABSORB_BYTES / (numbers * (int64_t)sizeof(KS_NUM));
    return steps > 32 ? 32 : steps < 2 ? 2 : (int)steps;
}

/** Return the numbers of a step's gains. */
KS_HD int64_t KS_T(ks_absorb_gains)(int nx, int ny)
{
    const int64_t filter = ks_gain_numbers(nx, ny), smoother = (int64_t)nx * nx;
    return filter > smoother ? filter : smoother;
}

/** Memory in which an element is made. */
typedef struct KS_T(ks_absorb_memory) {
    KS_NUM *x, *C;                  /* estimate after the range     */
    KS_NUM *A, *eta, *J;            /* its sensitivities            */
    KS_NUM *mean, *xp, *v, *V;      /* of one step                  */
    KS_NUM *gains;                  /* of one block                 */
    void *work;                     /* of the steps                 */
} KS_T(ks_absorb_memory);

/** Lay out *w in `memory`. Return its size in numbers, without w->work; with memory NULL, only that. */
KS_HD int64_t KS_T(ks_absorb_place)(int nx, int ny, void *memory, KS_T(ks_absorb_memory) *w)
{
    const int64_t n = nx, m = ny, gains = KS_T(ks_absorb_gains)(nx, ny);
    const int64_t size[] = { n, n * n, n * n, n, n * n, n, n, m, n * n + 2 * m * n,
                             gains * KS_T(ks_absorb_block)(gains) };
    KS_NUM **const place[] = { &w->x, &w->C, &w->A, &w->eta, &w->J, &w->mean, &w->xp, &w->v, &w->V,
                               &w->gains };
    KS_NUM *base = (KS_NUM *)memory;
    int64_t at = 0;
    for (int i = 0; i < (int)(sizeof size / sizeof size[0]); ++i) {
        *place[i] = base ? base + at : NULL;
        at += size[i];
    }
    at = (at + 7) / 8 * 8; /* aligns the scratch of the steps as `memory` is */
    w->work = base ? base + at : NULL;
    return at;
}

/** Take w->mean, A, eta and J from step k - 1 to step k, whose gains are `gain`. */
KS_HD void KS_T(ks_absorb_step)(int nx, int ny, const ks_series *s, int64_t k, const KS_NUM *gain,
                                const KS_T(ks_absorb_memory) *w)
{
    const KS_NUM *F = (const KS_NUM *)ks_row(s->F, k - s->shift), *H = (const KS_NUM *)ks_row(s->H, k);
    const KS_NUM *u = (const KS_NUM *)ks_row(s->u, k - s->shift), *d = (const KS_NUM *)ks_row(s->d, k);
    const KS_NUM *y = (const KS_NUM *)ks_row(s->y, k);
    const KS_NUM *Z = gain, *L = Z + ny * nx, *inverse_d = L + ny * ny;
    KS_T(ks_copy)(nx, u, w->xp);
    KS_T(ks_mv_add)(nx, nx, F, w->mean, w->xp);
    for (int i = 0; i < ny; ++i) w->v[i] = y[i] - d[i];
    KS_T(ks_mv_sub)(ny, nx, H, w->xp, w->v);
    for (int i = 0; i < ny; ++i)
        if (!(y[i] == y[i])) w->v[i] = KS_LIT(0); /* missing: no weight, but must be finite */
    KS_T(ks_ldl_forward)(ny, 1, L, w->v);
    KS_T(ks_copy)(nx, w->xp, w->mean);
    KS_T(ks_mtv_add)(ny, nx, Z, w->v, w->mean);
    KS_T(ks_carry_sensitivity)(nx, ny, F, H, L, inverse_d, Z, w->v, w->A, w->eta, w->J, w->V);
}

/** Take the sensitivities through steps k0 .. k1 - 1, whose gains are in w->gains. */
KS_HD void KS_T(ks_absorb_steps)(int nx, const ks_series *s, int64_t k0, int64_t k1,
                                 const KS_T(ks_absorb_memory) *w)
{
    const int64_t numbers = ks_gain_numbers(nx, s->ny);
    for (int64_t k = k0; k < k1; ++k) {
#define CALL(m) KS_T(ks_absorb_step)(nx, m, s, k, w->gains + (k - k0) * numbers, w)
        KS_WITH_LITERAL_ENTRIES(nx, s->ny, CALL)
#undef CALL
    }
}

#define KS_ABSORB_STEPS(name, states)                                                       \
    KS_HD_COLD void KS_T(absorb_steps_##name)(const ks_series *s, int64_t k0, int64_t k1,   \
                                              const KS_T(ks_absorb_memory) *w)              \
    {                                                                                       \
        KS_T(ks_absorb_steps)(states, s, k0, k1, w);                                        \
    }
KS_EACH_LITERAL(KS_ABSORB_STEPS)
#undef KS_ABSORB_STEPS

/** E <- E_k E for k = k1 - 1 down to k0. w->gains holds E_kᵀ. */
KS_HD void KS_T(ks_absorb_back)(int nx, int64_t k0, int64_t k1, const KS_T(ks_absorb_memory) *w)
{
    const int nn = nx * nx;
    for (int64_t k = k1 - 1; k >= k0; --k) {
        for (int i = 0; i < nn; ++i) w->V[i] = KS_LIT(0);
        KS_T(ks_mtm_add)(nx, nx, nx, w->gains + (k - k0) * nn, w->A, w->V);
        KS_T(ks_copy)(nn, w->V, w->A);
    }
}

/** Set x, C, A, eta and J to those of no steps: the state next to the range is exactly 0, so x = 0 and C = 0, and its
 *  derivative by itself is A = I. */
KS_HD void KS_T(ks_absorb_begin)(int nx, const KS_T(ks_absorb_memory) *w)
{
    for (int i = 0; i < nx; ++i) w->x[i] = w->eta[i] = KS_LIT(0);
    for (int i = 0; i < nx * nx; ++i) w->C[i] = w->A[i] = w->J[i] = KS_LIT(0);
    for (int i = 0; i < nx; ++i) w->A[i * nx + i] = KS_LIT(1);
}

/** See ks_kernels.filter_absorb. `filter` runs the steps. */
KS_HD_COLD int KS_T(ks_absorb_filter)(int (*filter)(const ks_series *, int64_t, int64_t, ks_state *,
                                                 const ks_forward_sinks *, void *, ks_tally *),
                                   const ks_series *s, int64_t k0, int64_t k1, int fresh, KS_NUM *e,
                                   void *memory, ks_tally *tally)
{
    const int nx = s->nx, half = nx * (nx + 1) / 2, block = KS_T(ks_absorb_block)(KS_T(ks_absorb_gains)(nx, s->ny));
    KS_T(ks_absorb_memory) w;
    (void)KS_T(ks_absorb_place)(nx, s->ny, memory, &w);
    KS_NUM *b = e + nx * nx, *eta = b + nx + half;
    if (fresh) {
        KS_T(ks_absorb_begin)(nx, &w);
    } else {
        KS_T(ks_copy)(nx * nx, e, w.A);
        KS_T(ks_copy)(nx, b, w.x);
        KS_T(ks_unpack)(nx, b + nx, w.C);
        KS_T(ks_copy)(nx, eta, w.eta);
        KS_T(ks_unpack)(nx, eta + nx, w.J);
    }
    ks_state state = { w.x, w.C, KS_FORM_ORDINARY, KS_NOT_STEADY };
    KS_T(ks_copy)(nx, w.x, w.mean);
    ks_forward_sinks to;
    memset(&to, 0, sizeof to);
    for (int64_t k = k0, end; k < k1; k = end) {
        end = k1 - k < block ? k1 : k + block;
        ks_tally own = ks_tally_start();
        to.gain.base = (char *)w.gains;
        to.gain.stride = ks_gain_numbers(nx, s->ny) * (int64_t)sizeof(KS_NUM);
        to.gain.first = k;
        if (filter(s, k, end, &state, &to, w.work, &own))
            return KS_T(ks_step_fault)(own.bad_step, own.bad_row,
                                       own.bad_array == KS_ARRAY_INNOVATION_COV ? KS_ARRAY_ELEMENT_COV
                                                                                : own.bad_array,
                                       own.fault, tally);
#define CALL(nx) KS_T(absorb_steps_##nx)(s, k, end, &w)
        KS_WITH_LITERAL_DOUBLE(nx, CALL)
#undef CALL
    }
    KS_T(table_square)(nx, &state, w.work);
    KS_T(ks_filter_store)(nx, w.A, w.x, w.C, w.eta, w.J, e);
    tally->elements += k1 - k0;
    return 0;
}

/** See ks_kernels.smooth_absorb. `smooth` runs the steps. */
KS_HD_COLD int KS_T(ks_absorb_smooth)(int (*smooth)(const ks_series *, int64_t, int64_t, ks_state *,
                                                 const ks_forward_sinks *, const ks_backward_sinks *,
                                                 void *, ks_tally *),
                                   const ks_series *s, int64_t k0, int64_t k1, int fresh,
                                   const ks_forward_sinks *kept, KS_NUM *e, void *memory,
                                   ks_tally *tally)
{
    const int nx = s->nx, block = KS_T(ks_absorb_block)(KS_T(ks_absorb_gains)(nx, s->ny));
    KS_T(ks_absorb_memory) w;
    (void)KS_T(ks_absorb_place)(nx, s->ny, memory, &w);
    KS_NUM *g = e + nx * nx;
    KS_T(ks_absorb_begin)(nx, &w);
    if (!fresh) {
        KS_T(ks_copy)(nx * nx, e, w.A);
        KS_T(ks_copy)(nx, g, w.x);
        KS_T(ks_unpack)(nx, g + nx, w.C);
    }
    ks_state state = { w.x, w.C, KS_FORM_ORDINARY, KS_NOT_STEADY };
    ks_backward_sinks to;
    memset(&to, 0, sizeof to);
    for (int64_t k = k1, from; k > k0; k = from) {
        from = k - k0 < block ? k0 : k - block;
        ks_tally own = ks_tally_start();
        to.gain.base = (char *)w.gains;
        to.gain.stride = (int64_t)nx * nx * (int64_t)sizeof(KS_NUM);
        to.gain.first = from;
        if (smooth(s, from, k, &state, kept, &to, w.work, &own))
            return KS_T(ks_step_fault)(own.bad_step, own.bad_row, own.bad_array, own.fault, tally);
        int64_t last = k;
        if (k == s->steps) { /* the last step depends on no later one */
            for (int i = 0; i < nx * nx; ++i) w.A[i] = KS_LIT(0);
            last = k - 1;
        }
#define CALL(nx) KS_T(ks_absorb_back)(nx, from, last, &w)
        KS_WITH_LITERAL_DOUBLE(nx, CALL)
#undef CALL
    }
    KS_T(table_square)(nx, &state, w.work);
    KS_T(ks_copy)(nx * nx, w.A, e);
    KS_T(ks_copy)(nx, w.x, g);
    KS_T(ks_pack)(nx, w.C, g + nx);
    tally->elements += k1 - k0;
    return 0;
}

/** Return the bytes of scratch. `steps` is the part of the filter and smoother steps. */
KS_HD_COLD size_t KS_T(absorb_bytes)(int nx, int ny, size_t steps)
{
    KS_T(ks_absorb_memory) unused;
    return (size_t)KS_T(ks_absorb_place)(nx, ny, NULL, &unused) * sizeof(KS_NUM) + steps;
}
