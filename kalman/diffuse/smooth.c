/* smooth.c -- the smoother of the first steps.
 *
 * What the later steps tell of the state at the last of them is known from their own smoothing, and is given to z as
 * observations of that state: if x is N(a, P) without and N(b, V) with them, and L L' = P, then the eigenvectors of
 * L^-1 V L^-T with the values e are combinations that these tell each with the noise e / (1 - e).
 *
 * Where P is nearly singular, round-off of V, divided by P's smallest eigenvalue, looks like something that is told.
 * What the later steps tell does not depend on where they start. So they are then run from n diag(P) >= P, too. There
 * round-off of V is round-off of e, a share 1 / e of what they tell, and nothing beside P^-1 where they tell little. */
#include "start.h"
#include "dense.h"
#include "lapack.h"

typedef struct smoother {
    ks_start *start;
    int64_t steps, all; /* without and with the step of those observations */
    int entries;
    ks_smooth_plan *plan;
    ks_start_arrays in;
    double *mean, *cov, *lag, *prior_mean, *prior_cov;
    double *told;        /* numbers of combinations_of(), for those observations                */
    double *K, *inverse; /* (d, d), (d): factor of I - Cov(eta), which is the same at every step */
    double *g;           /* (d): (I - Cov(eta))^-1 E(eta) */
    double *corrected;   /* (n) and (n, n) */
    double *held;        /* (d, n) twice */
    void *work;
    ks_carver memory;
} smoother;

static void carve(ks_carver *carver, smoother *s)
{
    const size_t steps = (size_t)s->all, N = (size_t)s->start->N, n = (size_t)s->start->n, d = (size_t)s->start->d;
    const size_t one = sizeof(double);
    ks_start_arrays_carve(carver, &s->in, s->all, s->start->N, s->entries);
    s->mean = ks_carve(carver, steps * N, one);
    s->cov = ks_carve(carver, steps * N * N, one);
    s->lag = ks_carve(carver, steps * N * N, one);
    s->prior_mean = ks_carve(carver, N, one);
    s->prior_cov = ks_carve(carver, N * N, one);
    s->told = ks_carve(carver, 4 * n * n + 3 * n + ks_whiten_scratch((int)n), one);
    s->K = ks_carve(carver, d * d, one);
    s->inverse = ks_carve(carver, d, one);
    s->g = ks_carve(carver, d, one);
    s->corrected = ks_carve(carver, n * n + n, one);
    s->held = ks_carve(carver, 2 * n * d, one);
    s->work = ks_carve(carver, ks_smooth_workspace_bytes(s->plan), 1);
}

static ks_status make(smoother *s)
{
    ks_smooth_options o = KS_SMOOTH_OPTIONS_INIT;
    ks_context *context = s->start->plan->context;
    o.method = KS_METHOD_SEQUENTIAL;
    o.outputs = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV;
    o.threads = 1;
    o.tier = s->start->plan->options.tier;
    const ks_status status = ks_smooth_plan_create(&s->plan, context, s->all, 1, s->start->N, s->entries, &o);
    if (status != KS_OK) return status;
    ks_carver measure = ks_carver_at(NULL);
    carve(&measure, s);
    if (!ks_start_allocate(context, &measure, &s->memory)) return KS_ENOMEM;
    carve(&s->memory, s);
    return KS_OK;
}

/* The numbers in s->told. */
typedef struct combinations {
    double *W, *E, *half, *H, *values, *gap, *white, *scratch;
} combinations;

static combinations combinations_of(const smoother *s)
{
    const int n = s->start->n;
    combinations c = { .W = s->told };
    c.E = c.W + n * n;
    c.half = c.E + n * n;
    c.H = c.half + n * n;
    c.values = c.H + n * n;
    c.gap = c.values + n;
    c.white = c.gap + n;
    c.scratch = c.white + n;
    return c;
}

/* Rows of H become the combinations that a run of the later steps tells, and `values` their e, the smallest first.
 * *least: of ks_whiten(). */
static int combine(const smoother *s, const ks_start_later *later, double *least)
{
    const combinations c = combinations_of(s);
    const int n = s->start->n;
    if (ks_whiten(n, later->prior_cov, c.W, least, c.scratch) != 0) return -1;
    ks_mm_f64(n, n, n, c.W, later->cov, c.half);
    ks_mmt(n, n, n, c.half, c.W, c.E);
    /* What has no variance has no noise to tell. */
    for (int i = 0; i < n; ++i)
        if (ks_dot(n, c.W + i * n, c.W + i * n) == 0) c.E[i * n + i] = 1;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < i; ++j) c.E[i * n + j] = c.E[j * n + i] = 0.5 * (c.E[i * n + j] + c.E[j * n + i]);
    if (ks_lapack_syev_f64(n, c.E, c.values, c.scratch) != 0) return -1;
    ks_mm_f64(n, n, n, c.E, c.W, c.H);
    return 0;
}

/* The last step: no transition, and observations of what the later steps tell, by the run that loses less of it. */
static int observe_later(smoother *s, const double *before, const ks_start_later *later, const ks_start_later *wider)
{
    const combinations told = combinations_of(s);
    const int n = s->start->n, N = s->start->N, m = s->entries;
    const size_t at = (size_t)s->steps;
    double *to_H = s->in.H + at * (size_t)m * (size_t)N, *to_R = s->in.R + at * (size_t)m * (size_t)m;
    double *to_y = s->in.y + at * (size_t)m;
    double condition, wide;
    const ks_start_later *from = later;
    if (combine(s, later, &condition) != 0) return -1;
    if (wider) {
        if (combine(s, wider, &wide) == 0 && told.values[0] > condition) from = wider;
        else if (combine(s, later, &condition) != 0) return -1;
    }
    for (int i = 0; i < n; ++i) told.gap[i] = from->mean[i] - before[i];
    /* Below these there is round-off of 1 - e, and of a mean. A mean moves by the root of 1 - e, so more is seen of it. */
    const double least = s->start->plan->kernels->number_bytes == sizeof(double) ? 0x1p-44 : 0x1p-18;
    const double moved = s->start->plan->mean_bytes == sizeof(double) ? 0x1p-50 : 0x1p-21;
    for (int c = 0; c < n; ++c) {
        const double *h = told.H + c * n, e = told.values[c] > 0 ? told.values[c] : 0;
        const double gap = ks_dot(n, h, told.gap);
        double size = 0;
        for (int i = 0; i < n; ++i) size += fabs(h[i] * before[i]) + fabs(h[i] * from->mean[i]);
        if (!(1 - e > least) && !(fabs(gap) > moved * size)) continue;
        const double share = fmax(1 - e, least);
        ks_copy_f64(n, h, to_H + c * N);
        to_R[c * m + c] = e / share;
        to_y[c] = gap / share + ks_dot(n, h, before);
    }
    return 0;
}

static int fill(smoother *s, const double *before, const ks_start_later *later, const ks_start_later *wider)
{
    ks_start_prior(s->start, &s->in);
    for (int64_t k = 0; k < s->steps; ++k) ks_start_place(s->start, k, k, &s->in);
    if (!later) return 0;
    ks_start_stay(s->steps, &s->in);
    return observe_later(s, before, later, wider);
}

static ks_status run(smoother *s, ks_info *info)
{
    const size_t N = (size_t)s->start->N;
    const ks_model model = ks_start_model(&s->in);
    ks_outputs o = KS_OUTPUTS_INIT;
    o.smoothed_mean = ks_blocks_out(s->mean, N);
    o.smoothed_cov = ks_blocks_out(s->cov, N * N);
    o.lag_one_cov = ks_blocks_out(s->lag, N * N);
    o.prior_mean = ks_blocks_out(s->prior_mean, N);
    o.prior_cov = ks_blocks_out(s->prior_cov, N * N);
    return ks_smooth_run(s->plan, &model, ks_start_observations(&s->in), &o, s->work, info);
}

/* Cov(x, eta) of an estimate of z, as (d, n), after L^-1 where L D L' = I - Cov(eta). */
static void hold(const smoother *s, const double *cov, double *held)
{
    const int n = s->start->n, d = s->start->d, N = s->start->N;
    for (int c = 0; c < d; ++c)
        for (int i = 0; i < n; ++i) held[c * n + i] = cov[i * N + n + c];
    ks_ldl_forward_f64(d, n, s->K, held);
}

/* The factor that leaves the reference, by what all steps together tell of eta. */
static int leave_reference(smoother *s)
{
    const int n = s->start->n, d = s->start->d, N = s->start->N;
    const double *mean = s->mean + (size_t)(s->all - 1) * (size_t)N;
    const double *cov = s->cov + (size_t)(s->all - 1) * (size_t)N * (size_t)N;
    for (int c = 0; c < d; ++c)
        for (int e = 0; e < d; ++e) s->K[c * d + e] = (c == e) - cov[(n + c) * N + n + e];
    if (!ks_ldl_f64(d, 0, s->K, s->inverse)) return -1;
    ks_copy_f64(d, mean + n, s->g);
    ks_ldl_forward_f64(d, 1, s->K, s->g);
    return 0;
}

/* corrected <- the flat prior's mean (n) and covariance (n, n) of an estimate of z; held as hold() makes it. */
static void correct(smoother *s, const double *mean, const double *cov, const double *held)
{
    const int n = s->start->n, d = s->start->d, N = s->start->N;
    double *to_cov = s->corrected + n;
    ks_copy_f64(n, mean, s->corrected);
    for (int i = 0; i < n; ++i) ks_copy_f64(n, cov + i * N, to_cov + i * n);
    for (int c = 0; c < d; ++c)
        for (int i = 0; i < n; ++i) {
            const double share = held[c * n + i] * s->inverse[c];
            s->corrected[i] += share * s->g[c];
            for (int j = 0; j <= i; ++j) to_cov[i * n + j] += share * held[c * n + j];
        }
    ks_mirror_f64(n, to_cov);
}

/* corrected + n <- the flat prior's Cov(x[k], x[k-1]), the held parts of both being given. */
static void correct_lag(smoother *s, const double *lag, const double *held, const double *held_before)
{
    const int n = s->start->n, d = s->start->d, N = s->start->N;
    double *to = s->corrected + n;
    for (int i = 0; i < n; ++i) ks_copy_f64(n, lag + i * N, to + i * n);
    for (int c = 0; c < d; ++c)
        for (int i = 0; i < n; ++i) {
            const double share = held[c * n + i] * s->inverse[c];
            for (int j = 0; j < n; ++j) to[i * n + j] += share * held_before[c * n + j];
        }
}

/* Write the estimates of the first steps. Returns the first that is not finite, or -1. */
static int64_t put(smoother *s, const ks_outputs *o)
{
    const ks_smooth_plan *plan = s->start->plan;
    const int n = s->start->n, N = s->start->N;
    const int64_t b = s->start->number;
    const size_t wide = plan->mean_bytes, narrow = plan->kernels->number_bytes, square = (size_t)N * (size_t)N;
    const ks_sink mean = ks_sink_at(o->smoothed_mean, b, wide), cov = ks_sink_at(o->smoothed_cov, b, narrow);
    const ks_sink var = ks_sink_at(o->smoothed_var, b, narrow), lag = ks_sink_at(o->lag_one_cov, b, narrow);
    double *held = s->held, *held_before = held + n * s->start->d;
    hold(s, s->prior_cov, held_before);
    correct(s, s->prior_mean, s->prior_cov, held_before);
    const int asked = o->prior_mean.data || o->prior_cov.data;
    if (asked && (!ks_start_holds(n, s->corrected, wide) || !ks_start_holds((int64_t)n * n, s->corrected + n, narrow)))
        return 0;
    ks_start_put(ks_sink_at(o->prior_mean, b, wide), 0, wide, n, s->corrected);
    ks_start_put(ks_sink_at(o->prior_cov, b, narrow), 0, narrow, (int64_t)n * n, s->corrected + n);
    for (int64_t k = 0; k < s->steps; ++k) {
        const size_t at = (size_t)k;
        hold(s, s->cov + at * square, held);
        correct(s, s->mean + at * (size_t)N, s->cov + at * square, held);
        if (!ks_start_holds(n, s->corrected, wide) || !ks_start_holds((int64_t)n * n, s->corrected + n, narrow)) return k;
        ks_start_put(mean, k, wide, n, s->corrected);
        ks_start_put(cov, k, narrow, (int64_t)n * n, s->corrected + n);
        for (int i = 0; i < n; ++i) s->corrected[i] = s->corrected[n + i * n + i];
        ks_start_put(var, k, narrow, n, s->corrected);
        correct_lag(s, s->lag + at * square, held, held_before);
        if (ks_start_stays(s->start, k)) memset(s->corrected + n, 0, (size_t)n * (size_t)n * sizeof(double));
        ks_start_put(lag, k, narrow, (int64_t)n * n, s->corrected + n);
        double *other = held;
        held = held_before;
        held_before = other;
    }
    return -1;
}

ks_status ks_start_smooth(ks_start *start, const ks_outputs *outputs, int64_t steps, const double *before,
                          const ks_start_later *later, const ks_start_later *wider, ks_info *info)
{
    const int most = start->n > start->m ? start->n : start->m;
    smoother s = { .start = start, .steps = steps, .all = later ? steps + 1 : steps };
    s.entries = later ? most : start->m;
    ks_status status = make(&s);
    if (status == KS_OK && fill(&s, before, later, wider) != 0) {
        info->array = KS_ARRAY_ESTIMATE;
        status = KS_ENONFINITE;
    }
    if (status == KS_OK) status = run(&s, info);
    if (status == KS_OK && leave_reference(&s) != 0) {
        info->array = KS_ARRAY_P0;
        info->fault = KS_FAULT_ILL_CONDITIONED;
        info->step = steps - 1;
        status = KS_EREFUSED;
    }
    const int64_t bad = status == KS_OK ? put(&s, outputs) : -1;
    if (bad >= 0) {
        info->array = KS_ARRAY_ESTIMATE;
        info->fault = KS_FAULT_NOT_FINITE;
        info->step = bad;
        status = KS_ENONFINITE;
    }
    if (info->step >= steps) info->step = steps - 1;
    ks_start_release(start->plan->context, &s.memory);
    ks_smooth_plan_destroy(s.plan);
    return info->status = status;
}
