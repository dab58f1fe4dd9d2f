/* diffuse.c -- a run whose prior is infinite in some directions: the first steps apart, the others as the plan says. */
#include "kalscan/diffuse.h"
#include "start.h"
#include "dense.h"

typedef struct diffuse_run {
    const ks_smooth_plan *plan;
    const ks_outputs *outputs;
    ks_model model;
    ks_view y;
    ks_info *info;
    ks_start *starts;          /* (B) */
    int64_t steps;             /* at the beginning, run apart */
    int64_t missing;           /* entries of y in them */
    double *loglik;            /* (B) of them */
    /* Estimates of the state at the last of these steps, as prior of the others and as they smooth it. */
    void *mean, *cov, *smoothed_mean, *smoothed_cov;
    /* The same from a wider covariance, of series that are not settled; see smooth.c. */
    void *wide_cov, *wide_smoothed_mean, *wide_smoothed_cov;
    int wide;                  /* there is such a run */
    unsigned char *settled;    /* (B) */
    double *numbers;           /* of numbers_for() */
    void *zeros;
} diffuse_run;

/* Three estimates and a covariance in double, or what widen() takes. */
static size_t numbers_for(size_t n) { return 3 * n * (n + 1) + n * n + ks_whiten_scratch((int)n); }

static void carve(ks_carver *carver, diffuse_run *r)
{
    const size_t B = (size_t)r->plan->B, n = (size_t)r->plan->nx, m = (size_t)r->plan->ny;
    const size_t wide = r->plan->mean_bytes, narrow = r->plan->kernels->number_bytes;
    r->starts = ks_carve(carver, B, sizeof *r->starts);
    r->loglik = ks_carve(carver, B, sizeof *r->loglik);
    r->mean = ks_carve(carver, B * n, wide);
    r->cov = ks_carve(carver, B * n * n, wide);
    r->smoothed_mean = ks_carve(carver, B * n, wide);
    r->smoothed_cov = ks_carve(carver, B * n * n, narrow);
    r->wide_cov = ks_carve(carver, B * n * n, wide);
    r->wide_smoothed_mean = ks_carve(carver, B * n, wide);
    r->wide_smoothed_cov = ks_carve(carver, B * n * n, narrow);
    r->settled = ks_carve(carver, B, sizeof *r->settled);
    r->numbers = ks_carve(carver, numbers_for(n), sizeof *r->numbers);
    r->zeros = ks_carve(carver, n * n > m ? n * n : m, sizeof(double));
}

static int smooths(const diffuse_run *r)
{
    return ks_makes_any(r->plan, KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_SMOOTHED_VAR | KS_OUT_LAG_ONE_COV |
                                     KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV);
}

static int filters(const diffuse_run *r)
{
    return ks_makes_any(r->plan, KS_OUT_LOGLIK_TERMS | KS_OUT_PREDICTED_MEAN | KS_OUT_PREDICTED_COV |
                                     KS_OUT_PREDICTED_VAR | KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV |
                                     KS_OUT_FILTERED_VAR | KS_OUT_INNOVATION | KS_OUT_INNOVATION_COV |
                                     KS_OUT_INNOVATION_STD);
}

static ks_status fail(diffuse_run *r, ks_status status, ks_array array, ks_fault fault, int64_t series, int row)
{
    r->info->array = array;
    r->info->fault = fault;
    r->info->series = series;
    r->info->row = row;
    return r->info->status = status;
}

/* The state in which most of what is not told is left, at last or, if no state is, at first. */
static int state_not_told(ks_unknown *unknown, const ks_start *start)
{
    int most = 0;
    double largest = 0;
    if (!ks_unknown_left(unknown))
        for (int c = 0; c < unknown->q; ++c)
            for (int i = 0; i < unknown->n; ++i)
                unknown->X[c * unknown->n + i] =
                    ks_dot(unknown->d, start->A + i * unknown->d, unknown->U + c * unknown->d);
    for (int i = 0; i < unknown->n; ++i) {
        double left = 0;
        for (int c = 0; c < unknown->q; ++c) left = hypot(left, unknown->X[c * unknown->n + i]);
        if (left <= largest) continue;
        largest = left;
        most = i;
    }
    return most;
}

/* Find how many first steps tell the state of series b, or as much of it as ever is told (*all: 0). */
static ks_status find_told(diffuse_run *r, int64_t b, int64_t *told, int *all)
{
    const ks_start *start = &r->starts[b];
    ks_unknown unknown;
    ks_carver memory;
    if (!ks_unknown_make(&unknown, start, &memory)) return r->info->status = KS_ENOMEM;
    *told = ks_unknown_steps(&unknown, start, all);
    ks_status status = KS_OK;
    /* A smoother's estimates of all steps are to be finite, also of directions that a transition has ended. */
    if (smooths(r) && unknown.q > 0)
        status = fail(r, KS_EREFUSED, KS_ARRAY_P0, KS_FAULT_NOT_FINITE, b, state_not_told(&unknown, start));
    ks_start_release(r->plan->context, &memory);
    return status;
}

/* Make the start of series b with its reference, and lengthen the run's first steps by what it takes. */
static ks_status prepare(diffuse_run *r, const ks_plan_run *run, ks_view P0_inf, int64_t b)
{
    ks_start *start = &r->starts[b];
    ks_start_filter filter = { 0 };
    int all = 1;
    int64_t told = 0, steps = r->plan->T;
    ks_status status = ks_start_make(start, run, P0_inf, b);
    if (status != KS_OK || start->d == 0) return r->info->status = status;
    status = find_told(r, b, &told, &all);
    if (status == KS_OK && told > 0) {
        status = ks_start_filter_make(&filter, start, told);
        if (status == KS_OK) status = ks_start_refer(start, &filter, told, r->info);
        /* What the filter itself puts out is to keep its digits from the first steps on. */
        if (status == KS_OK && filters(r)) status = ks_start_keeps_later(start, told, r->info);
        else if (status == KS_OK) status = ks_start_refer_later(start, &filter, told, r->info);
        if (status == KS_EREFUSED) fail(r, status, KS_ARRAY_P0, KS_FAULT_ILL_CONDITIONED, b, -1);
        if (status == KS_OK && all) status = ks_start_settle(&filter, told, &steps, r->info);
        ks_start_filter_free(&filter);
    }
    if (steps > r->steps) r->steps = steps;
    return r->info->status = status;
}

static void put_numbers(void *to, size_t bytes, int64_t at, int64_t count, const double *from)
{
    const ks_sink sink = { (char *)to + (size_t)at * bytes, 0, 0 };
    ks_start_put(sink, 0, bytes, count, from);
}

static void take_numbers(const ks_start *start, const void *from, size_t bytes, int64_t at, int count, double *to)
{
    ks_start reader = *start;
    const ks_rows rows = { (const char *)from + (size_t)at * bytes, 0 };
    reader.bytes = bytes;
    ks_start_read(&reader, rows, 0, 1, count, to, count);
}

/* Whether the later steps of series b can start from P without losing digits, and what they start from if not:
 * n diag(P) or more. Variances that contracting states leave may be too small for numbers of the covariances. */
static void widen(diffuse_run *r, int64_t b, const double *P)
{
    const int n = r->plan->nx, size = n * n;
    const double least = r->plan->kernels->number_bytes == sizeof(double) ? 0x1p-900 : 0x1p-100;
    double *W = r->numbers, *scratch = W + size;
    r->settled[b] = (unsigned char)ks_start_settled(n, P, W, scratch);
    memset(W, 0, (size_t)size * sizeof *W);
    for (int i = 0; i < n; ++i)
        if (P[i * n + i] > 0) W[i * n + i] = fmax(n * P[i * n + i], least);
    put_numbers(r->wide_cov, r->plan->mean_bytes, b * size, size, W);
}

/* Filter the first steps of series b, and keep the state at the last of them. */
static ks_status filter_start(diffuse_run *r, int64_t b)
{
    const ks_start *start = &r->starts[b];
    const int64_t n = r->plan->nx;
    const size_t wide = r->plan->mean_bytes;
    ks_start_filter filter = { 0 };
    ks_status status = ks_start_filter_make(&filter, start, r->steps);
    if (status == KS_OK) status = ks_start_write(&filter, r->outputs, r->steps, &r->loglik[b], r->info);
    if (status == KS_OK) {
        put_numbers(r->mean, wide, b * n, n, filter.limit.mean);
        put_numbers(r->cov, wide, b * n * n, n * n, filter.limit.cov);
        widen(r, b, filter.limit.cov);
    }
    r->missing += filter.missing;
    ks_start_filter_free(&filter);
    return r->info->status = status;
}

static ks_view later_view(ks_view view, int64_t k, size_t bytes)
{
    if (view.data && view.step_stride)
        view.data = (const char *)view.data + (uint64_t)k * (uint64_t)view.step_stride * bytes;
    return view;
}

static ks_out later_out(ks_out out, int64_t k, size_t bytes)
{
    if (out.data) out.data = (char *)out.data + (uint64_t)k * (uint64_t)out.step_stride * bytes;
    return out;
}

/* The model from step `steps` on, with the state before it as x[-1]. */
static ks_model later_model(const diffuse_run *r)
{
    const size_t wide = r->plan->mean_bytes, n = (size_t)r->plan->nx;
    const int64_t k = r->steps, into = r->model.transition == KS_OUT_OF ? k - 1 : k;
    ks_model model = r->model;
    if (k == 0) return model;
    model.F = later_view(model.F, into, wide);
    model.Q = later_view(model.Q, into, wide);
    model.u = later_view(model.u, into, wide);
    model.H = later_view(model.H, k, wide);
    model.R = later_view(model.R, k, wide);
    model.d = later_view(model.d, k, wide);
    model.transition = KS_INTO;
    model.prior = KS_PRIOR_X0;
    model.m0 = ks_blocks_in(r->mean, n);
    model.P0 = ks_blocks_in(r->cov, n * n);
    return model;
}

static ks_outputs later_outputs(const diffuse_run *r)
{
    const size_t wide = r->plan->mean_bytes, narrow = r->plan->kernels->number_bytes, n = (size_t)r->plan->nx;
    const int64_t k = r->steps;
    ks_outputs o = *r->outputs;
    if (k == 0) return o;
    ks_out *const means[] = { &o.predicted_mean, &o.filtered_mean, &o.smoothed_mean, &o.innovation, &o.innovation_std };
    ks_out *const covs[] = { &o.predicted_cov, &o.predicted_var, &o.filtered_cov, &o.filtered_var, &o.smoothed_cov,
                             &o.smoothed_var, &o.lag_one_cov, &o.innovation_cov };
    for (size_t i = 0; i < sizeof means / sizeof *means; ++i) *means[i] = later_out(*means[i], k, wide);
    for (size_t i = 0; i < sizeof covs / sizeof *covs; ++i) *covs[i] = later_out(*covs[i], k, narrow);
    o.loglik_terms = later_out(o.loglik_terms, k, sizeof(double));
    o.prior_mean = smooths(r) ? ks_blocks_out(r->smoothed_mean, n) : (ks_out){ NULL, 0, 0 };
    o.prior_cov = smooths(r) ? ks_blocks_out(r->smoothed_cov, n * n) : (ks_out){ NULL, 0, 0 };
    return o;
}

/* Run the steps that follow by the plan's method. */
static ks_status run_later(diffuse_run *r)
{
    const ks_smooth_plan *plan = r->plan;
    ks_smooth_options options = plan->options;
    ks_smooth_plan *later = NULL;
    if (r->steps > 0 && smooths(r)) options.outputs |= KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV;
    ks_status status =
        ks_smooth_plan_create(&later, plan->context, plan->T - r->steps, plan->B, plan->nx, plan->ny, &options);
    if (status != KS_OK) return r->info->status = status;
    void *work = ks_allocate(plan->context, ks_smooth_workspace_bytes(later));
    if (work) {
        const ks_model model = later_model(r);
        const ks_outputs outputs = later_outputs(r);
        status = ks_smooth_run(later, &model, later_view(r->y, r->steps, plan->mean_bytes), &outputs, work, r->info);
        if (r->info->step >= 0) r->info->step += r->steps;
        r->info->missing += r->missing;
    } else status = r->info->status = KS_ENOMEM;
    ks_release(plan->context, work);
    ks_smooth_plan_destroy(later);
    return status;
}

/* Run the later steps once more, from n diag(P), for what they tell of the state before them. A model that the
 * sequential method fails for has no such run. */
static ks_status run_wide(diffuse_run *r)
{
    const ks_smooth_plan *plan = r->plan;
    const size_t n = (size_t)plan->nx;
    ks_smooth_options options = KS_SMOOTH_OPTIONS_INIT;
    ks_smooth_plan *wide = NULL;
    ks_info info = KS_INFO_INIT;
    options.method = KS_METHOD_SEQUENTIAL;
    options.outputs = KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV;
    options.precision = plan->options.precision;
    options.threads = plan->options.threads;
    options.tier = plan->options.tier;
    ks_status status =
        ks_smooth_plan_create(&wide, plan->context, plan->T - r->steps, plan->B, plan->nx, plan->ny, &options);
    void *work = status == KS_OK ? ks_allocate(plan->context, ks_smooth_workspace_bytes(wide)) : NULL;
    if (work) {
        ks_model model = later_model(r);
        ks_outputs outputs = KS_OUTPUTS_INIT;
        model.P0 = ks_blocks_in(r->wide_cov, n * n);
        outputs.prior_mean = ks_blocks_out(r->wide_smoothed_mean, n);
        outputs.prior_cov = ks_blocks_out(r->wide_smoothed_cov, n * n);
        status = ks_smooth_run(wide, &model, later_view(r->y, r->steps, plan->mean_bytes), &outputs, work, &info);
        r->wide = status == KS_OK;
    } else status = KS_ENOMEM;
    ks_release(plan->context, work);
    ks_smooth_plan_destroy(wide);
    if (status != KS_ENOMEM && status != KS_ECANCELED) return KS_OK;
    return r->info->status = status;
}

static int all_settled(const diffuse_run *r)
{
    int all = 1;
    for (int64_t b = 0; b < r->plan->B; ++b) all &= r->settled[b];
    return all;
}

/* An estimate of series b before the later steps, in double: a mean and, behind it, a covariance. */
static void take_estimate(const diffuse_run *r, int64_t b, const void *mean, const void *cov, size_t bytes, double *to)
{
    const int n = r->plan->nx, size = n * n;
    take_numbers(&r->starts[b], mean, r->plan->mean_bytes, (int64_t)b * n, n, to);
    take_numbers(&r->starts[b], cov, bytes, (int64_t)b * size, size, to + n);
}

static ks_status smooth_start(diffuse_run *r, int64_t b)
{
    const ks_smooth_plan *plan = r->plan;
    const int n = plan->nx, size = n * n;
    const size_t wide = plan->mean_bytes, narrow = plan->kernels->number_bytes;
    ks_start *start = &r->starts[b];
    double *before = r->numbers, *mean = before + n + size, *wide_mean = mean + n + size;
    double *wide_cov = wide_mean + n + size;
    if (r->steps == plan->T) return ks_start_smooth(start, r->outputs, r->steps, NULL, NULL, NULL, r->info);
    take_estimate(r, b, r->mean, r->cov, wide, before);
    take_estimate(r, b, r->smoothed_mean, r->smoothed_cov, narrow, mean);
    const ks_start_later later = { before + n, mean, mean + n };
    if (!r->wide || r->settled[b]) return ks_start_smooth(start, r->outputs, r->steps, before, &later, NULL, r->info);
    take_estimate(r, b, r->wide_smoothed_mean, r->wide_smoothed_cov, narrow, wide_mean);
    take_numbers(start, r->wide_cov, wide, (int64_t)b * size, size, wide_cov);
    const ks_start_later wider = { wide_cov, wide_mean, wide_mean + n };
    return ks_start_smooth(start, r->outputs, r->steps, before, &later, &wider, r->info);
}

/* Add what the first steps contribute, which is all there is where no steps follow. */
static void add_loglik(const diffuse_run *r)
{
    const ks_out to = r->outputs->loglik;
    for (int64_t b = 0; to.data && r->steps > 0 && b < r->plan->B; ++b) {
        double *loglik = (double *)to.data + b * to.series_stride;
        *loglik = (r->steps < r->plan->T ? *loglik : 0) + r->loglik[b];
    }
}

/* For each series in turn. A failure is of that series. */
static ks_status each(diffuse_run *r, ks_status (*part)(diffuse_run *, int64_t))
{
    for (int64_t b = 0; b < r->plan->B; ++b)
        if (part(r, b) != KS_OK) {
            r->info->series = b;
            return r->info->status;
        }
    return KS_OK;
}

/* A filter and smoother of the first steps tell method and form as they have it: those of the others count. */
static ks_status run_parts(diffuse_run *r)
{
    const ks_info told = *r->info;
    if (r->steps > 0 && each(r, filter_start) != KS_OK) return r->info->status;
    *r->info = told;
    if (r->steps < r->plan->T) {
        if (run_later(r) != KS_OK) return r->info->status;
    } else {
        r->info->method = KS_METHOD_SEQUENTIAL;
        r->info->missing = r->missing;
        r->info->threads = 1;
    }
    const ks_info later = *r->info;
    add_loglik(r);
    if (r->steps == 0 || !smooths(r)) return KS_OK;
    if (r->steps < r->plan->T && !all_settled(r) && run_wide(r) != KS_OK) return r->info->status;
    if (each(r, smooth_start) != KS_OK) return r->info->status;
    *r->info = later;
    return KS_OK;
}

static ks_status run_all(diffuse_run *r, ks_view P0_inf)
{
    ks_plan_run run = { .plan = r->plan, .model = &r->model, .y = r->y, .outputs = r->outputs, .zeros = r->zeros };
    const ks_info told = *r->info;
    for (int64_t b = 0; b < r->plan->B; ++b)
        if (prepare(r, &run, P0_inf, b) != KS_OK) {
            r->info->series = b;
            return r->info->status;
        }
    *r->info = told;
    return run_parts(r);
}

ks_status ks_diffuse_run(const ks_smooth_plan *plan, const ks_model *model, ks_view P0_inf, ks_view y,
                         const ks_outputs *outputs, int64_t *steps, ks_info *info)
{
    ks_info mine = KS_INFO_INIT;
    if (info && info->size != sizeof *info) return KS_EINVAL;
    if (info) *info = mine;
    if (steps) *steps = 0;
    ks_info *told = info ? info : &mine;
    if (!plan || !model || model->size != sizeof *model) return told->status = KS_EINVAL;
    diffuse_run r = { .plan = plan, .outputs = outputs, .model = *model, .y = y, .info = told };
    ks_carver measure = ks_carver_at(NULL);
    carve(&measure, &r);
    ks_carver memory;
    if (!ks_start_allocate(plan->context, &measure, &memory)) return told->status = KS_ENOMEM;
    carve(&memory, &r);
    memset(r.starts, 0, (size_t)plan->B * sizeof *r.starts);
    memset(r.zeros, 0, (size_t)(plan->nx * plan->nx > plan->ny ? plan->nx * plan->nx : plan->ny) * sizeof(double));
    if (!r.model.m0.data) r.model.m0 = (ks_view){ r.zeros, 0, 0 };
    if (!r.model.P0.data) r.model.P0 = (ks_view){ r.zeros, 0, 0 };
    ks_status status = KS_EINVAL;
    told->method = plan->method;
    told->backend = ks_smooth_plan_backend(plan);
    if (ks_valid_run(plan, &r.model, y, outputs, &told->array)) {
        r.model = ks_plain_model(plan, &r.model);
        if (ks_readable(P0_inf, plan->mean_bytes, (int64_t)plan->nx * plan->nx, 1, plan->B, 0))
            status = run_all(&r, P0_inf);
        else told->array = KS_ARRAY_P0;
    }
    if (steps && status == KS_OK) *steps = r.steps;
    for (int64_t b = 0; b < plan->B; ++b) ks_start_free(&r.starts[b]);
    ks_start_release(plan->context, &memory);
    return told->status = status;
}
