/* mean_pack_text.h -- the lanes of mean_text.h: KS_LANES series with one model, one row of gains and no missing
 * entries; see num_f64x4.h. */

typedef struct KS_T(ks_mean_lanes) {
    ks_mean_lane *lane;  /* the first */
    int count;           /* lanes beyond repeat the first and put out nothing */
    KS_NUM quadratic, product, logs;
    int64_t entries;
} KS_T(ks_mean_lanes);

typedef double KS_T(ks_mean_line) __attribute__((vector_size(sizeof(KS_NUM)),
                                                 aligned(sizeof(double)), may_alias));

/** Packs (n) <- rows of the lanes. */
KS_HD void KS_T(ks_mean_transpose_in)(int n, const double *const *from, KS_NUM *x)
{
    int i = 0;
    for (; i + KS_LANES <= n; i += KS_LANES) {
        const double *rows[KS_LANES];
        for (int l = 0; l < KS_LANES; ++l) rows[l] = from[l] + i;
        KS_TRANSPOSE(rows, x + i);
    }
    for (; i < n; ++i)
        for (int l = 0; l < KS_LANES; ++l) x[i][l] = from[l][i];
}

/** Rows of the lanes <- packs (n). */
KS_HD void KS_T(ks_mean_transpose_out)(int n, const KS_NUM *x, int count, double *const *to)
{
    int i = 0;
    for (; i + KS_LANES <= n; i += KS_LANES) {
        const double *rows[KS_LANES];
        KS_NUM t[KS_LANES];
        for (int l = 0; l < KS_LANES; ++l) rows[l] = (const double *)&x[i + l];
        KS_TRANSPOSE(rows, t);
        for (int l = 0; l < count; ++l)
            *(KS_T(ks_mean_line) *)(void *)(to[l] + i) = t[l];
    }
    for (; i < n; ++i)
        for (int l = 0; l < count; ++l) to[l][i] = x[i][l];
}

KS_HD void KS_T(ks_mean_read)(int nx, const KS_T(ks_mean_lanes) *lanes, const ks_mean_lane *kept,
                              int64_t k, KS_NUM *x)
{
    const double *from[KS_LANES];
    for (int l = 0; l < KS_LANES; ++l) {
        const ks_mean_lane *lane = &lanes->lane[l < lanes->count ? l : 0];
        from[l] = (const double *)(kept ? ks_slot_of(lane->kept, k) : lane->x);
    }
    KS_T(ks_mean_transpose_in)(nx, from, x);
}

KS_HD void KS_T(ks_mean_leave)(int nx, const KS_T(ks_mean_lanes) *lanes, const KS_NUM *x)
{
    double *to[KS_LANES];
    for (int l = 0; l < lanes->count; ++l) to[l] = (double *)lanes->lane[l].x;
    KS_T(ks_mean_transpose_out)(nx, x, lanes->count, to);
}

KS_HD void KS_T(ks_mean_observe)(int m, int64_t k, const KS_T(ks_mean_lanes) *lanes, KS_NUM *r)
{
    for (int l = 0; l < KS_LANES; ++l) {
        const ks_series *s = lanes->lane[l < lanes->count ? l : 0].series;
        const double *y = (const double *)ks_row(s->y, k), *d = (const double *)ks_row(s->d, k);
        for (int a = 0; a < m; ++a) r[a][l] = y[a] - d[a];
    }
}

KS_HD KS_NUM KS_T(ks_mean_present)(KS_NUM r) { return r; }

/* Keeps a rounded product from being fused with what is added to it; see ks_add_rounded(). */
#define KS_MEAN_APART(v) __asm__("" : "+x"(v))

KS_HD void KS_T(ks_mean_gather)(int nx, int m, int64_t k, const KS_GAIN *gain, const KS_NUM *r,
                                const KS_NUM *v, const KS_NUM *xp, KS_T(ks_mean_lanes) *lanes)
{
    const KS_GAIN *L = gain + m * nx, *inverse_d = L + m * m;
    (void)k;
    (void)r;
    (void)xp;
    for (int a = 0; a < m; ++a) {
        KS_NUM term = v[a] * v[a] * (double)inverse_d[a];
        KS_MEAN_APART(term);
        lanes->quadratic = lanes->quadratic + term;
        const KS_NUM before = lanes->product;
        const double pivot = (double)L[a * m + a];
        lanes->product = before * pivot;
        if (KS_DOUBLES_WITHIN(lanes->product, 1e-120, 1e120) == (1u << KS_LANES) - 1) continue;
        for (int l = 0; l < KS_LANES; ++l)
            if (!(lanes->product[l] > 1e-120 && lanes->product[l] < 1e120)) {
                lanes->logs[l] += ks_log_of_product(lanes->product[l], before[l], pivot);
                lanes->product[l] = 1;
            }
    }
    lanes->entries += m;
}
#undef KS_MEAN_APART

/** A lane that fails goes on, since the others do. */
KS_HD int KS_T(ks_mean_write)(int nx, int filter, int64_t k, const KS_T(ks_mean_lanes) *lanes,
                              const KS_NUM *x)
{
    const int count = lanes->count;
    KS_NUM sum = lanes->quadratic - lanes->quadratic;
    double *to[KS_LANES];
    for (int i = 0; i < nx; ++i) sum = sum + 0.0 * x[i];
    if (KS_BITS((KS_MASK)(sum == KS_LIT(0))) != (1u << KS_LANES) - 1)
        for (int l = 0; l < count; ++l)
            if (!(sum[l] == 0) && lanes->lane[l].failed < 0) lanes->lane[l].failed = k;
    if (!filter) {
        for (int l = 0; l < count; ++l) to[l] = (double *)ks_slot_of(lanes->lane[l].smoothed, k);
        if (lanes->lane->smoothed.base) KS_T(ks_mean_transpose_out)(nx, x, count, to);
        return 1;
    }
    const ks_sink *first = lanes->lane->to->kept_mean.base ? &lanes->lane->to->kept_mean
                                                           : &lanes->lane->to->filtered_mean;
    if (!first->base) return 1;
    for (int l = 0; l < count; ++l) {
        const ks_forward_sinks *sinks = lanes->lane[l].to;
        to[l] = (double *)ks_slot_of(sinks->kept_mean.base ? sinks->kept_mean : sinks->filtered_mean,
                                     k);
    }
    KS_T(ks_mean_transpose_out)(nx, x, count, to);
    return 1;
}

/** Load the evidence of the lanes; ks_mean_exit() stores it. */
KS_HD void KS_T(ks_mean_enter)(ks_mean_lane *lane, int count, KS_T(ks_mean_lanes) *lanes)
{
    lanes->lane = lane;
    lanes->count = count;
    lanes->entries = 0;
    for (int l = 0; l < KS_LANES; ++l) {
        const ks_evidence *e = &lane[l < count ? l : 0].evidence;
        lanes->quadratic[l] = e->quadratic;
        lanes->product[l] = e->product;
        lanes->logs[l] = e->logs;
    }
}

KS_HD void KS_T(ks_mean_exit)(const KS_T(ks_mean_lanes) *lanes)
{
    for (int l = 0; l < lanes->count; ++l) {
        ks_evidence *e = &lanes->lane[l].evidence;
        e->quadratic = lanes->quadratic[l];
        e->product = lanes->product[l];
        e->logs = lanes->logs[l];
        e->entries += lanes->entries;
    }
}
