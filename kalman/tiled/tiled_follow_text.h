/* tiled_follow_text.h -- means of series whose covariances another series has already made; see num_f64.h and
 * tiled_range_text.h. F, Q, H, R and the covariance before the steps are the same, and no entry is missing. For plain C
 * on the CPU.
 *
 * The operations on a mean are those of a step from the memo (memo_text.h), so that a series has the same bits whether
 * it follows or runs alone. Each sum here is one of quad_step_text.h, row_step_text.h or tiled_step_text.h. A vector
 * holds one number of every series here, and neighbouring numbers of one series there. The padding of rows is zero
 * there, and is left out here where it changes nothing. */

/** Whether all numbers are finite. */
KS_HD int KS_T(ks_all_finite)(int64_t count, const KS_NUM *y)
{
    KS_T(ks_lanes) sums[2] = { { 0 } };
    KS_NUM sum = KS_LIT(0);
    int64_t i = 0;
    for (; i + 2 * KS_LANES <= count; i += 2 * KS_LANES)
        for (int v = 0; v < 2; ++v) sums[v] += KS_LIT(0) * KS_LOADV(y + i + v * KS_LANES);
    sums[0] += sums[1];
    for (int v = 0; v < KS_LANES; ++v) sum = sum + sums[0][v];
    for (; i < count; ++i) sum = sum + KS_LIT(0) * y[i];
    return sum == KS_LIT(0);
}

/** Arrays of a step that all followers share. */
typedef struct KS_T(ks_lead) {
    const KS_NUM *F, *H, *u;
    KS_T(ks_tiled_slot) gain;
} KS_T(ks_lead);

/** y (rows, a literal up to 4) = y0 + A x, with the operations of ks_combine_rows(). Entry (i, l) of A is at
 *  i * ai + l * al. y0 NULL: zeros. */
KS_HD void KS_T(ks_pack_combine_few)(int rows, int k, const KS_NUM *A, int ai, int al, const KS_T(ks_each) *x,
                                     const KS_T(ks_each) *y0, KS_T(ks_each) *y)
{
    KS_T(ks_each) even[4], odd[4];
    int l = 0;
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
        even[r] = y0 ? y0[r] : (KS_T(ks_each)){ 0 };
        odd[r] = (KS_T(ks_each)){ 0 };
    }
    for (; l + 2 <= k; l += 2) {
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
            even[r] = even[r] + A[r * ai + l * al] * x[l];
            odd[r] = odd[r] + A[r * ai + (l + 1) * al] * x[l + 1];
        }
    }
    if (l < k) {
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) even[r] = even[r] + A[r * ai + l * al] * x[l];
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) y[r] = even[r] + odd[r];
}

KS_HD void KS_T(ks_pack_combine)(int n, int k, const KS_NUM *A, int ai, int al, const KS_T(ks_each) *x,
                                 const KS_T(ks_each) *y0, KS_T(ks_each) *y)
{
    int i = 0;
#define KS_ROWS_OF(rows)                                                                    \
    KS_T(ks_pack_combine_few)(rows, k, A + i * ai, ai, al, x, y0 ? y0 + i : NULL, y + i)
    for (; i + 4 <= n; i += 4) KS_ROWS_OF(4);
    switch (n % 4) {
    case 3: KS_ROWS_OF(3); break;
    case 2: KS_ROWS_OF(2); break;
    case 1: KS_ROWS_OF(1); break;
    default: break;
    }
#undef KS_ROWS_OF
}

/** v -= h xp of one entry, with the operations of ks_quad_dot() or ks_row_dot(). h (nx): its row of H. */
KS_HD void KS_T(ks_pack_minus_dot)(ks_shape shape, int nx, const KS_NUM *h, const KS_T(ks_each) *xp,
                                   KS_T(ks_each) *v)
{
    KS_T(ks_each) p[4];
    /* nx of rows is a literal: a compiler may round a product that two cases share before them. */
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        if (shape == KS_SHAPE_QUAD) {
            p[i] = h[i] * xp[i];
            KS_APART(p[i]);
        } else if (i + 4 < nx) {
            p[i] = h[i + 4] * xp[i + 4];
            KS_APART(p[i]);
            p[i] = h[i] * xp[i] + p[i];
        } else if (i < nx) {
            p[i] = h[i] * xp[i] + (KS_T(ks_each)){ 0 };
        } else {
            p[i] = (KS_T(ks_each)){ 0 };
        }
    }
    *v = *v - ((p[0] + p[2]) + (p[1] + p[3]));
}

/** xp = F x + u, v <- v - H xp. */
KS_HD void KS_T(ks_pack_predict)(ks_shape shape, int nx, int m, const KS_T(ks_lead) *b,
                                 const KS_T(ks_each) *u, const KS_T(ks_each) *x, KS_T(ks_each) *xp,
                                 KS_T(ks_each) *v)
{
    if (shape == KS_SHAPE_QUAD) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
            const KS_NUM *f = b->F + 4 * i;
            xp[i] = (u[i] + x[0] * f[0] + x[1] * f[1]) + (x[2] * f[2] + x[3] * f[3]);
        }
    } else {
        KS_T(ks_pack_combine)(nx, nx, b->F, nx, 1, x, u, xp);
    }
    if (shape != KS_SHAPE_TILES) {
        for (int a = 0; a < m; ++a) KS_T(ks_pack_minus_dot)(shape, nx, b->H + a * nx, xp, &v[a]);
        return;
    }
    for (int a = 0; a < m; a += 4) {
        const int some = m - a < 4 ? m - a : 4;
        KS_T(ks_each) Hx[4];
        KS_T(ks_pack_combine)(some, nx, b->H + a * nx, nx, 1, xp, NULL, Hx);
        for (int i = 0; i < some; ++i) v[a + i] = v[a + i] - Hx[i];
    }
}

/** v <- L⁻¹ v, x = xp + Zᵀ v. Rows of Z and LT are n and ld apart. */
KS_HD void KS_T(ks_pack_posterior)(ks_shape shape, int nx, int n, int m, int ld, const KS_T(ks_lead) *b,
                                   const KS_T(ks_each) *xp, KS_T(ks_each) *v, KS_T(ks_each) *x)
{
    const KS_NUM *Z = b->gain.Z, *LT = b->gain.LT;
    for (int a = 1; a < m; ++a) {
        KS_T(ks_each) s = v[a];
        for (int c = 0; c < a; ++c) s = s - LT[c * ld + a] * v[c];
        v[a] = s;
    }
    if (shape == KS_SHAPE_TILES) {
        KS_T(ks_pack_combine)(nx, m, Z, 1, n, v, xp, x);
        return;
    }
    for (int i = 0; i < nx; ++i) {
        KS_T(ks_each) s = xp[i];
        for (int a = 0; a < m; ++a) s = s + v[a] * Z[a * n + i];
        x[i] = s;
    }
}

/** xn = x + E (xs - F x - u), with x filtered and xs smoothed. xp and v are scratch (nx). xn may be x. */
KS_HD void KS_T(ks_pack_smooth)(ks_shape shape, int nx, int n, const KS_T(ks_lead) *b, const KS_NUM *ET,
                                const KS_T(ks_each) *u, const KS_T(ks_each) *x, const KS_T(ks_each) *xs,
                                KS_T(ks_each) *xp, KS_T(ks_each) *v, KS_T(ks_each) *xn)
{
    if (shape != KS_SHAPE_QUAD) {
        KS_T(ks_pack_combine)(nx, nx, b->F, nx, 1, x, u, xp);
        for (int i = 0; i < nx; ++i) v[i] = xs[i] - xp[i];
        KS_T(ks_pack_combine)(nx, nx, ET, 1, n, v, x, xn);
        return;
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        const KS_NUM *f = b->F + 4 * i;
        v[i] = xs[i] - (u[i] + ((x[0] * f[0] + x[1] * f[1]) + (x[2] * f[2] + x[3] * f[3])));
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
        xn[i] = x[i] + ((v[0] * ET[i] + v[1] * ET[4 + i]) + (v[2] * ET[8 + i] + v[3] * ET[12 + i]));
}

/** The evidence of followers side by side, four to a vector; see ks_evidence. */
typedef double KS_T(ks_doubles) __attribute__((vector_size(4 * sizeof(double))));
enum { KS_T(ks_fours) = KS_PACK_LANES / 4 };
typedef struct KS_T(ks_follow_evidence) {
    KS_T(ks_doubles) quadratic[KS_T(ks_fours)], product[KS_T(ks_fours)], logs[KS_T(ks_fours)];
} KS_T(ks_follow_evidence);

KS_HD void KS_T(ks_follow_evidence_in)(int count, const ks_follower *f, KS_T(ks_follow_evidence) *e)
{
    for (int i = 0; i < KS_PACK_LANES; ++i) {
        const ks_evidence *from = &f[i < count ? i : 0].evidence;
        e->quadratic[i / 4][i % 4] = from->quadratic;
        e->product[i / 4][i % 4] = from->product;
        e->logs[i / 4][i % 4] = from->logs;
    }
}

KS_HD void KS_T(ks_follow_evidence_out)(int count, int64_t entries, const KS_T(ks_follow_evidence) *e,
                                        ks_follower *f)
{
    for (int i = 0; i < count; ++i) {
        f[i].evidence.quadratic = e->quadratic[i / 4][i % 4];
        f[i].evidence.product = e->product[i / 4][i % 4];
        f[i].evidence.logs = e->logs[i / 4][i % 4];
        f[i].evidence.entries += entries;
    }
}

/** Whether all four products are in the middle of the range. */
KS_HD int KS_T(ks_follow_within)(const KS_T(ks_doubles) *at)
{
    const KS_T(ks_doubles) p = *at;
#if KS_VECTOR_BYTES >= 32
    return __builtin_ia32_movmskpd256((KS_T(ks_doubles))((p > 1e-120) & (p < 1e120))) == 15;
#else
    int within = 1;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) within &= (p[i] > 1e-120) & (p[i] < 1e120);
    return within;
#endif
}

/** ks_gather_factor(), with the same bits, for entry a of every follower. v (m) is whitened. */
KS_HD void KS_T(ks_follow_gather)(int a, const KS_T(ks_tiled_slot) *gain, const KS_T(ks_each) *v,
                                  KS_T(ks_follow_evidence) *e)
{
#pragma GCC unroll 4
    for (int q = 0; q < KS_T(ks_fours); ++q) {
        const KS_T(ks_quad) w = KS_LOAD4((const KS_NUM *)&v[a] + 4 * q);
        KS_T(ks_doubles) term = __builtin_convertvector(w * w * gain->inverse_d[a], KS_T(ks_doubles));
        KS_APART(term);
        e->quadratic[q] += term;
        const KS_T(ks_doubles) before = e->product[q];
        const double pivot = (double)gain->pivot[a];
        e->product[q] = before * pivot;
        if (KS_T(ks_follow_within)(&e->product[q])) continue;
        for (int i = 0; i < 4; ++i)
            if (!(e->product[q][i] > 1e-120 && e->product[q][i] < 1e120)) {
                e->logs[q][i] += ks_log_of_product(e->product[q][i], before[i], pivot);
                e->product[q][i] = 1;
            }
    }
}

/** Mark the followers whose prediction xp is sharp, given ks_shrunk(). */
KS_HD_COLD void KS_T(ks_follow_sharp)(int nx, int count, const KS_NUM *shrunk, const KS_T(ks_each) *xp, ks_follower *f)
{
    for (int i = 0; i < nx; ++i) {
        if (shrunk[i] == (KS_NUM)INFINITY) continue;
        const KS_T(ks_each) least = KS_LIT(KS_EPS) * (xp[i] * xp[i]);
        for (int l = 0; l < count; ++l) f[l].sharp |= least[l] > shrunk[i];
    }
}

/** Packs of a range: the mean, its prediction, u, the innovation, d and y of several steps, and means
 *  of several steps. */
typedef struct KS_T(ks_follow_memory) {
    KS_T(ks_each) *x, *xp, *u, *v, *d, *y, *means;
} KS_T(ks_follow_memory);

KS_HD KS_T(ks_follow_memory) KS_T(ks_follow_lay_out)(int nx, int ny, KS_NUM *memory)
{
    const int most = nx > ny ? nx : ny;
    KS_T(ks_follow_memory) w;
    w.x = (KS_T(ks_each) *)(((uintptr_t)memory + 63) / 64 * 64);
    w.xp = w.x + nx;
    w.u = w.xp + nx;
    w.v = w.u + nx;
    w.d = w.v + most;
    w.y = w.d + KS_FOLLOW_STEPS * ny;
    w.means = w.y + KS_FOLLOW_STEPS * ny;
    return w;
}

/** Load the means before the steps. */
KS_HD void KS_T(ks_follow_start)(int nx, int count, const ks_follower *f, KS_T(ks_each) *x)
{
    const KS_NUM *rows[KS_PACK_LANES];
    for (int i = 0; i < count; ++i) rows[i] = (const KS_NUM *)f[i].x;
    KS_T(ks_rows_in)(nx, count, rows, x);
}

/** Store the means after the steps. */
KS_HD void KS_T(ks_follow_end)(int nx, int count, const KS_T(ks_each) *x, ks_follower *f)
{
    KS_T(ks_each) sum = { 0 };
    KS_NUM *rows[KS_PACK_LANES] = { NULL };
    for (int i = 0; i < count; ++i) rows[i] = (KS_NUM *)f[i].x;
    KS_T(ks_rows_out)(nx, count, x, rows);
    for (int c = 0; c < nx; ++c) sum = sum + KS_LIT(0) * x[c];
    for (int i = 0; i < count; ++i)
        f[i].finite = sum[i] == KS_LIT(0) && isfinite(f[i].evidence.quadratic);
}

/** Set the transition into step k. fresh: u must be set even if it does not vary. */
KS_HD void KS_T(ks_follow_transition)(int nx, const ks_series *s, int64_t k, int fresh, KS_T(ks_lead) *b,
                                      KS_T(ks_each) *u)
{
    b->F = (const KS_NUM *)ks_row(s->F, k - s->shift);
    if (!fresh && !s->u.stride) return;
    b->u = (const KS_NUM *)ks_row(s->u, k - s->shift);
    for (int i = 0; i < nx; ++i) u[i] = b->u[i] - (KS_T(ks_each)){ 0 };
}

/** Prefetch the means of steps k0 .. k1 - 1, or the covariance of step k, if they are wanted and written through the
 *  caches. */
KS_HD void KS_T(ks_follow_expect_means)(int nx, int count, const ks_follower *f, int64_t k0, int64_t k1)
{
    for (int i = 0; i < count; ++i) KS_T(ks_follow_expect)(nx, k0, k1, f[i].mean);
}

KS_HD void KS_T(ks_follow_expect_cov)(int nx, int count, const ks_follower *f, int64_t k)
{
    if (KS_T(ks_past_caches)(f->series)) return;
    for (int i = 0; i < count; ++i) KS_T(ks_follow_expect)(nx * nx, k, k + 1, f[i].cov);
}

/** Filter steps k0 .. k1 - 1, k0 >= 1, of `count` followers, at most KS_PACK_LANES. shape is a literal, ny that of the
 *  series. */
KS_HD void KS_T(ks_follow_filter_steps)(ks_shape shape, int nx, int ny, int count, ks_follower *f,
                                        int64_t k0, int64_t k1, ks_sink gains, const ks_sink *covs,
                                        void *memory)
{
    const int n = shape == KS_SHAPE_QUAD ? 4 : KS_T(ks_padded)(nx);
    const int ld = shape == KS_SHAPE_TILES ? KS_T(ks_padded)(ny) : 4;
    const ks_series s = *f->series;
    KS_T(ks_tiled_memory) all;
    (void)KS_T(ks_tiled_lay_out)(nx, ny, memory, &all);
    const KS_T(ks_follow_memory) w = KS_T(ks_follow_lay_out)(nx, ny, all.follow);
    KS_T(ks_follow_evidence) e;
    KS_T(ks_lead) b;
    for (int i = 0; i < count; ++i) f[i].sharp = 0;
    KS_T(ks_follow_start)(nx, count, f, w.x);
    KS_T(ks_follow_evidence_in)(count, f, &e);
    if (!s.d.stride) KS_T(ks_follow_read)(ny, count, f, 1, k0, k0 + 1, w.d);
    for (int64_t k = k0; k < k1;) {
        const int64_t end = k1 - k < KS_FOLLOW_STEPS ? k1 : k + KS_FOLLOW_STEPS;
        KS_T(ks_each) *y = w.y, *mean = w.means;
        KS_T(ks_follow_read)(ny, count, f, 0, k, end, y);
        if (s.d.stride) KS_T(ks_follow_read)(ny, count, f, 1, k, end, w.d);
        const KS_T(ks_each) *d = w.d;
        const KS_T(ks_each) *x = w.x;
        for (int i = 0; i < count; ++i) KS_T(ks_follow_covs)(nx * nx, k, end, covs, &f[i]);
        KS_T(ks_follow_expect_means)(nx, count, f, end, k1 - end < KS_FOLLOW_STEPS ? k1 : end + KS_FOLLOW_STEPS);
        for (int64_t j = k; j < end; ++j) {
            b.gain = KS_T(ks_tiled_gain_of)(n, ny, (KS_NUM *)ks_slot_of(gains, j));
            b.H = (const KS_NUM *)ks_row(s.H, j);
            KS_T(ks_follow_transition)(nx, &s, j, j == k0, &b, w.u);
            if (j + KS_FOLLOW_STEPS < k1) KS_T(ks_follow_expect_cov)(nx, count, f, j + KS_FOLLOW_STEPS);
            for (int a = 0; a < ny; ++a) w.v[a] = y[a] - d[a];
            KS_T(ks_pack_predict)(shape, nx, ny, &b, w.u, x, w.xp, w.v);
            if (f->watched && ks_is_look(&s, j))
                KS_T(ks_follow_sharp)(nx, count, b.gain.shrunk, w.xp, f);
            KS_T(ks_pack_posterior)(shape, nx, n, ny, ld, &b, w.xp, w.v, mean);
            for (int a = 0; a < ny; ++a) KS_T(ks_follow_gather)(a, &b.gain, w.v, &e);
            x = mean;
            mean += nx;
            y += ny;
            if (s.d.stride) d += ny;
        }
        for (int i = 0; i < nx; ++i) w.x[i] = x[i];
        KS_T(ks_follow_means_out)(nx, count, w.means, k, end, f);
        k = end;
    }
    KS_FENCE_PAST();
    KS_T(ks_follow_evidence_out)(count, (k1 - k0) * ny, &e, f);
    KS_T(ks_follow_end)(nx, count, w.x, f);
}

/** Smoother steps k1 - 1 .. k0, k1 < T, likewise. The filter's means are read from where the smoothed ones go. */
KS_HD void KS_T(ks_follow_smooth_steps)(ks_shape shape, int nx, int count, ks_follower *f, int64_t k0,
                                        int64_t k1, ks_sink gains, const ks_sink *covs,
                                        void *memory)
{
    const int n = shape == KS_SHAPE_QUAD ? 4 : KS_T(ks_padded)(nx);
    const ks_series s = *f->series;
    KS_T(ks_tiled_memory) all;
    (void)KS_T(ks_tiled_lay_out)(nx, s.ny, memory, &all);
    const KS_T(ks_follow_memory) w = KS_T(ks_follow_lay_out)(nx, s.ny, all.follow);
    KS_T(ks_lead) b;
    KS_T(ks_follow_start)(nx, count, f, w.x);
    for (int64_t end = k1; end > k0;) {
        const int64_t start = end - k0 < KS_FOLLOW_STEPS ? k0 : end - KS_FOLLOW_STEPS;
        const KS_T(ks_each) *xs = w.x;
        KS_T(ks_follow_means_in)(nx, count, f, start, end, w.means);
        for (int i = 0; i < count; ++i) KS_T(ks_follow_covs)(nx * nx, start, end, covs, &f[i]);
        KS_T(ks_follow_expect_means)(nx, count, f, start - k0 < KS_FOLLOW_STEPS ? k0 : start - KS_FOLLOW_STEPS, start);
        for (int64_t k = end; k > start; --k) {
            KS_T(ks_each) *x = w.means + (k - 1 - start) * nx;
            KS_T(ks_follow_transition)(nx, &s, k, k == k1, &b, w.u);
            if (k - 1 - KS_FOLLOW_STEPS >= k0)
                KS_T(ks_follow_expect_cov)(nx, count, f, k - 1 - KS_FOLLOW_STEPS);
            KS_T(ks_pack_smooth)(shape, nx, n, &b, (const KS_NUM *)ks_slot_of(gains, k - 1), w.u, x, xs,
                                 w.xp, w.v, x);
            xs = x;
        }
        for (int i = 0; i < nx; ++i) w.x[i] = xs[i];
        KS_T(ks_follow_means_out)(nx, count, w.means, start, end, f);
        end = start;
    }
    KS_FENCE_PAST();
    KS_T(ks_follow_end)(nx, count, w.x, f);
}
