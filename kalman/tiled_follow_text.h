/* tiled_follow_text.h -- means of series whose covariances another series has already made: same F, Q,
 * H and R, same covariance before the steps, no entry missing in them; see num_f64.h and
 * tiled_range_text.h. For plain C on the CPU.
 *
 * A mean takes the very operations that it takes where a step is remembered (memo_text.h), so a series
 * comes to the same bits whether it follows or goes alone. Of one series each step waits for the one
 * before; several of them side by side fill that time. */

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

/** What a follower has of its own: its mean, the next one, prediction and innovation. */
typedef struct KS_T(ks_own) {
    KS_NUM *x, *xn;
    KS_T(ks_tiled) step;
} KS_T(ks_own);

KS_HD KS_T(ks_own) KS_T(ks_own_of)(int nx, int n, int ny, int i, const ks_follower *f,
                                   const KS_T(ks_tiled_memory) *w)
{
    const int most = n > KS_T(ks_padded)(ny) ? n : KS_T(ks_padded)(ny);
    KS_NUM *at = w->follow + i * (3 * n + most);
    KS_T(ks_own) own;
    own.step = w->step;
    own.x = at;
    own.xn = at + n;
    own.step.xp = at + 2 * n;
    own.step.v = at + 3 * n;
    KS_T(ks_copy)(nx, (const KS_NUM *)f[i].x, own.x);
    return own;
}

/** The series as their transition and channels are read: blocks of the covariances alone stand still. */
KS_HD ks_series KS_T(ks_follow_series)(const ks_follower *f)
{
    ks_series s = *f->series;
    s.Q.stride = s.R.stride = 0;
    return s;
}

/** The covariance of step k from the leader's rows to a follower's, where it is wanted. The lines that
 *  the next step writes, k + ahead, are fetched in the meantime. */
KS_HD void KS_T(ks_follow_cov)(int nn, int64_t k, int ahead, const ks_sink *covs, const ks_follower *f)
{
    if (!f->cov.base) return;
    const KS_NUM *from = (const KS_NUM *)ks_slot_of(*covs, k);
    KS_NUM *to = (KS_NUM *)ks_slot_of(f->cov, k);
    const char *next = (const char *)to + ahead * f->cov.stride;
    for (int i = 0; i < nn * (int)sizeof(KS_NUM); i += 64) __builtin_prefetch(next + i, 1);
    int i = 0;
    for (; i + KS_LANES <= nn; i += KS_LANES) KS_STOREV(to + i, KS_LOADV(from + i));
    for (; i < nn; ++i) to[i] = from[i];
}

/** The mean of a follower after its steps. */
KS_HD void KS_T(ks_follow_end)(int nx, const KS_NUM *x, ks_follower *f)
{
    KS_NUM sum = KS_LIT(0);
    for (int c = 0; c < nx; ++c) sum = sum + KS_LIT(0) * x[c];
    KS_T(ks_copy)(nx, x, (KS_NUM *)f->x);
    f->finite = sum == KS_LIT(0) && isfinite(f->evidence.quadratic);
}

/* What is rounded here is not fused into what is added to it; see ks_add_rounded(). */
#if KS_VECTOR_BYTES >= 32
#  define KS_APART(v) __asm__("" : "+x"(v))
#else
#  define KS_APART(v)                                                                       \
    do {                                                                                    \
        for (int i_ = 0; i_ < KS_FOLLOWERS; ++i_) {                                         \
            const volatile double rounded_ = (v)[i_];                                       \
            (v)[i_] = rounded_;                                                             \
        }                                                                                   \
    } while (0)
#endif

typedef double KS_T(ks_doubles) __attribute__((vector_size(KS_FOLLOWERS * sizeof(double))));

/** The evidence of followers side by side, each as in ks_evidence. */
typedef struct KS_T(ks_follow_evidence) {
    KS_T(ks_doubles) quadratic, product, logs;
} KS_T(ks_follow_evidence);

/** What ks_gather_factor() does, with the same bits, for entry a of every follower. */
KS_HD void KS_T(ks_follow_gather)(int a, const KS_T(ks_tiled_slot) *gain, const KS_T(ks_own) *own,
                                  KS_T(ks_follow_evidence) *e)
{
    const KS_T(ks_quad) v = { own[0].step.v[a], own[1].step.v[a], own[2].step.v[a],
                              own[3].step.v[a] };
    KS_T(ks_doubles) term = __builtin_convertvector(v * v * gain->inverse_d[a], KS_T(ks_doubles));
    KS_APART(term);
    e->quadratic += term;
    e->product *= (double)gain->pivot[a];
    int within = 1;
#pragma GCC unroll 4
    for (int i = 0; i < KS_FOLLOWERS; ++i)
        within &= (e->product[i] > 1e-120) & (e->product[i] < 1e120);
    if (within) return;
    for (int i = 0; i < KS_FOLLOWERS; ++i)
        if (!(e->product[i] > 1e-120 && e->product[i] < 1e120)) {
            e->logs[i] += log(e->product[i]);
            e->product[i] = 1;
        }
}

/** Filter steps k0 .. k1 - 1, k0 >= 1, of `count` followers, at most KS_FOLLOWERS; shape is a literal, ny
 *  is the series'. */
KS_HD void KS_T(ks_follow_filter_steps)(ks_shape shape, int nx, int ny, int count, ks_follower *f,
                                        int64_t k0, int64_t k1, ks_sink gains, const ks_sink *covs,
                                        void *memory)
{
    const int quad = shape == KS_SHAPE_QUAD, n = quad ? 4 : KS_T(ks_padded)(nx);
    const ks_series s = KS_T(ks_follow_series)(f);
    const int moves = s.F.stride || s.u.stride, turns = s.H.stride != 0;
    const KS_T(ks_tiled_memory) w = KS_T(ks_tiled_begin)(nx, n, ny, memory);
    KS_T(ks_own) own[KS_FOLLOWERS];
    KS_T(ks_blocks) b = { 0 };
    KS_T(ks_follow_evidence) e;
    for (int i = 0; i < KS_FOLLOWERS; ++i) {
        const int at = i < count ? i : 0;
        own[i] = KS_T(ks_own_of)(nx, n, ny, at, f, &w);
        e.quadratic[i] = f[at].evidence.quadratic;
        e.product[i] = f[at].evidence.product;
        e.logs[i] = f[at].evidence.logs;
    }
    KS_T(ks_tiled_transition)(shape, nx, n, &s, k0, 1, &w, &b);
    KS_T(ks_tiled_channels)(shape, nx, ny, &s, k0, 1, &w, &b);
    for (int64_t k = k0; k < k1; ++k) {
        const KS_T(ks_tiled_slot) gain = KS_T(ks_tiled_gain_of)(n, ny, (KS_NUM *)ks_slot_of(gains, k));
        if (moves) KS_T(ks_tiled_transition)(shape, nx, n, &s, k, 0, &w, &b);
        if (turns) KS_T(ks_tiled_channels)(shape, nx, ny, &s, k, 0, &w, &b);
        for (int i = 0; i < count; ++i) {
            b.y = (const KS_NUM *)ks_row(f[i].series->y, k);
            b.d = (const KS_NUM *)ks_row(f[i].series->d, k);
            KS_T(ks_tiled_again_predict)(shape, nx, n, ny, &b, own[i].x, &own[i].step);
        }
        for (int i = 0; i < count; ++i)
            KS_T(ks_tiled_again_posterior)(shape, n, ny, &gain, own[i].x, &own[i].step);
        for (int a = 0; a < ny; ++a) KS_T(ks_follow_gather)(a, &gain, own, &e);
        for (int i = 0; i < count; ++i) {
            KS_T(ks_follow_cov)(nx * nx, k, k + 1 < k1, covs, &f[i]);
            if (f[i].mean.base) KS_T(ks_copy)(nx, own[i].x, (KS_NUM *)ks_slot_of(f[i].mean, k));
        }
    }
    for (int i = 0; i < count; ++i) {
        f[i].evidence.quadratic = e.quadratic[i];
        f[i].evidence.product = e.product[i];
        f[i].evidence.logs = e.logs[i];
        f[i].evidence.entries += (k1 - k0) * ny;
        KS_T(ks_follow_end)(nx, own[i].x, &f[i]);
    }
}

/** Smoother steps k1 - 1 .. k0, k1 < T, likewise; what the filter has kept of the means stands where the
 *  smoothed ones go. */
KS_HD void KS_T(ks_follow_smooth_steps)(ks_shape shape, int nx, int count, ks_follower *f, int64_t k0,
                                        int64_t k1, ks_sink gains, const ks_sink *covs,
                                        void *memory)
{
    const int quad = shape == KS_SHAPE_QUAD, n = quad ? 4 : KS_T(ks_padded)(nx);
    const ks_series s = KS_T(ks_follow_series)(f);
    const int moves = s.F.stride || s.u.stride;
    const KS_T(ks_tiled_memory) w = KS_T(ks_tiled_begin)(nx, n, s.ny, memory);
    KS_T(ks_own) own[KS_FOLLOWERS];
    KS_T(ks_blocks) b = { 0 };
    for (int i = 0; i < count; ++i) own[i] = KS_T(ks_own_of)(nx, n, s.ny, i, f, &w);
    KS_T(ks_tiled_transition)(shape, nx, n, &s, k1, 1, &w, &b);
    for (int64_t k = k1; k > k0; --k) {
        const KS_NUM *ET = (const KS_NUM *)ks_slot_of(gains, k - 1);
        if (moves) KS_T(ks_tiled_transition)(shape, nx, n, &s, k, 0, &w, &b);
        for (int i = 0; i < count; ++i) {
            KS_NUM *kept = (KS_NUM *)ks_slot_of(f[i].mean, k - 1);
            if (quad) {
                KS_T(ks_quad_smooth_mean)(&b, kept, ET, own[i].x, &own[i].step);
            } else {
                const KS_NUM *x = kept;
                if (n != nx) {
                    KS_T(ks_copy)(nx, kept, w.filtered);
                    x = w.filtered;
                }
                KS_T(ks_tiled_smooth_mean)(nx, n, &b, x, own[i].x, ET, own[i].xn, &own[i].step);
                KS_T(ks_copy)(n, own[i].xn, own[i].x);
            }
            KS_T(ks_follow_cov)(nx * nx, k - 1, -(k - 1 > k0), covs, &f[i]);
            KS_T(ks_copy)(nx, own[i].x, kept);
        }
    }
    for (int i = 0; i < count; ++i) {
        KS_T(ks_follow_end)(nx, own[i].x, &f[i]);
    }
}
