/* gradient.c -- the gradient of the log-likelihood: its arguments, its outputs, and the series on their workers.
 *
 * Sums over series are made from those of each, in their order, so that they do not depend on the number of threads. */
#include "kalscan/gradient.h"

#include <math.h>
#include <string.h>
#include "diffuse/start.h"
#include "gradient_series.h"

typedef struct worker_memory {
    ks_gradient_memory series;
    ks_tally total;
    int64_t failed;                    /* the series that failed, or -1 */
} worker_memory;

typedef struct gradient_run {
    ks_plan_run run;
    const ks_gradient *gradient;
    worker_memory *memory;
    double *sums[KS_BY_ARRAYS];        /* (B) blocks, where the sum over all steps of all series is wanted */
    double *loglik;                    /* (B) */
    int64_t shift;                     /* row k - shift of F, Q, u leads into step k */
    ks_start *starts;                  /* (B), of a diffuse prior; NULL: the prior is finite */
} gradient_run;

static int64_t numbers_of(const ks_smooth_plan *plan, int array)
{
    const int64_t nx = plan->nx, ny = plan->ny;
    switch (array) {
    case KS_BY_F: case KS_BY_Q: case KS_BY_P0: return nx * nx;
    case KS_BY_H: return ny * nx;
    case KS_BY_R: return ny * ny;
    case KS_BY_D: return ny;
    default: return nx;
    }
}

static ks_out output_of(const ks_gradient *g, int array)
{
    const ks_out all[KS_BY_ARRAYS] = { g->F, g->Q, g->u, g->H, g->R, g->d, g->m0, g->P0 };
    ks_out out = all[array];
    if (array == KS_BY_M0 || array == KS_BY_P0) out.step_stride = 0;
    return out;
}

/** Whether an output is a sum over several series, and differs with the step. */
static int adds_rows(const ks_smooth_plan *plan, ks_out out)
{
    return out.data && plan->B > 1 && plan->T > 1 && !out.series_stride && out.step_stride;
}

static int workers_of(const ks_smooth_plan *plan, const ks_gradient *gradient)
{
    for (int a = 0; gradient && a < KS_BY_ARRAYS; ++a)
        if (adds_rows(plan, output_of(gradient, a))) return 1;
    return ks_workers(plan->context, plan->options.threads, plan->B);
}

static void carve(ks_carver *carver, const ks_smooth_plan *plan, gradient_run *g)
{
    const size_t nx = (size_t)plan->nx, ny = (size_t)plan->ny;
    const int workers = workers_of(plan, NULL);
    g->run.zeros = ks_carve(carver, nx * nx > ny ? nx * nx : ny, sizeof(double));
    g->loglik = ks_carve(carver, (size_t)plan->B, sizeof(double));
    for (int a = 0; a < KS_BY_ARRAYS; ++a)
        g->sums[a] = ks_carve(carver, (size_t)plan->B, (size_t)numbers_of(plan, a) * sizeof(double));
    g->memory = ks_carve(carver, (size_t)workers, sizeof(worker_memory));
    worker_memory unused;
    for (int w = 0; w < workers; ++w) {
        worker_memory *m = carver->base ? &g->memory[w] : &unused;
        ks_gradient_memory_carve(carver, plan, &m->series);
        m->total = ks_tally_start();
        m->failed = -1;
    }
}

size_t ks_gradient_workspace_bytes(const ks_smooth_plan *plan)
{
    gradient_run unused = { 0 };
    ks_carver measure = ks_carver_at(NULL);
    if (!plan) return 0;
    carve(&measure, plan, &unused);
    return ks_carved_bytes(&measure);
}

/** Whether an output can be written: blocks of `block` doubles, for all steps and series, or sums over them. */
static int can_add(ks_out out, int64_t block, int64_t steps, int64_t series)
{
    if (!out.step_stride) steps = 1;
    if (!out.series_stride) series = 1;
    return ks_writable(out, sizeof(double), block, steps, series);
}

/** Whether the arguments are valid. If not, *array names the input at fault, if it is one. */
static int valid(const ks_smooth_plan *plan, const ks_model *model, ks_view P0_inf, ks_view y, const ks_gradient *g,
                 ks_array *array)
{
    int wanted = 0;
    if (!g || g->size != sizeof *g || plan->options.precision == KS_F32) return 0;
    if (!ks_valid_model(plan, model, array)) return 0;
    if (!ks_readable(y, plan->mean_bytes, plan->ny, plan->T, plan->B, 0)) {
        *array = KS_ARRAY_Y;
        return 0;
    }
    if (!ks_readable(P0_inf, plan->mean_bytes, (int64_t)plan->nx * plan->nx, 1, plan->B, 1)) {
        *array = KS_ARRAY_P0;
        return 0;
    }
    for (int a = 0; a < KS_BY_ARRAYS; ++a) {
        const ks_out out = output_of(g, a);
        if (!out.data) continue;
        if (!can_add(out, numbers_of(plan, a), plan->T, plan->B)) return 0;
        wanted = 1;
    }
    const ks_out loglik = { g->loglik.data, 0, g->loglik.series_stride };
    return wanted && (!loglik.data || can_add(loglik, 1, 1, plan->B));
}

/** Whether the sum over all steps and several series is wanted of an array. */
static int adds_series(const ks_smooth_plan *plan, ks_out out)
{
    return out.data && plan->B > 1 && !out.series_stride && !adds_rows(plan, out);
}

/** Rows of an output: of those of a transition there is one less if it leads out of a step. */
static int64_t rows_of(const gradient_run *g, int array)
{
    return array <= KS_BY_U ? g->run.plan->T - g->shift : g->run.plan->T;
}

/** How much later the step is that a row of F, Q and u leads into: rows of derivatives are numbered as the model says
 *  also if those of the model do not vary. */
static int64_t shift_of(const gradient_run *g)
{
    const ks_model *m = g->run.model;
    const int64_t strides = m->F.step_stride | m->Q.step_stride | m->u.step_stride | g->gradient->F.step_stride |
                            g->gradient->Q.step_stride | g->gradient->u.step_stride;
    return m->transition == KS_OUT_OF && m->prior == KS_PRIOR_X1 && g->run.plan->T > 1 && strides != 0;
}

/** Where the derivatives of series b go. */
static ks_sink sink_of(const gradient_run *g, int array, int64_t b)
{
    const ks_smooth_plan *plan = g->run.plan;
    const ks_out out = output_of(g->gradient, array);
    ks_sink sink = ks_sink_at(out, b, sizeof(double));
    if (adds_series(plan, out)) {
        sink.base = (char *)(g->sums[array] + b * numbers_of(plan, array));
        sink.stride = 0;
    }
    return sink;
}

/** Set them to zero. Rows that several series share are, before the first. */
static void clear(const gradient_run *g, int64_t b, const ks_sink *to)
{
    for (int a = 0; a < KS_BY_ARRAYS; ++a) {
        if (!to[a].base || (b > 0 && adds_rows(g->run.plan, output_of(g->gradient, a)))) continue;
        const int64_t rows = to[a].stride ? rows_of(g, a) : 1;
        const size_t bytes = (size_t)numbers_of(g->run.plan, a) * sizeof(double);
        for (int64_t k = 0; k < rows; ++k) memset(ks_slot_of(to[a], k), 0, bytes);
    }
}

/** The log-likelihood and the derivatives of series b. */
static int run_series(gradient_run *g, worker_memory *m, int64_t b, ks_tally *tally)
{
    const ks_start *start = g->starts ? &g->starts[b] : NULL;
    ks_series s;
    ks_sink to[KS_BY_ARRAYS];
    ks_series_of(&g->run, b, &s);
    s.shift = g->shift;
    for (int a = 0; a < KS_BY_ARRAYS; ++a) to[a] = sink_of(g, a, b);
    clear(g, b, to);
    const ks_directions none = { 0, NULL, NULL, NULL };
    const ks_directions told = start ? (ks_directions){ start->d, start->A, start->centre, start->width } : none;
    return ks_gradient_series(&g->run, &m->series, &s, &told, to, &g->loglik[b], tally);
}

static void run_range(void *arg, int64_t begin, int64_t end, int worker)
{
    gradient_run *g = arg;
    worker_memory *m = &g->memory[worker];
    for (int64_t b = begin; b < end && m->failed < 0; ++b) {
        ks_tally tally = ks_tally_start();
        const int rc = run_series(g, m, b, &tally);
        m->total.ordinary += tally.ordinary;
        m->total.array += tally.array;
        m->total.missing += tally.missing;
        if (!rc) continue;
        m->failed = b;
        m->total.bad_step = tally.bad_step;
        m->total.bad_row = tally.bad_row;
        m->total.bad_array = tally.bad_array;
        m->total.fault = tally.fault;
    }
}

/** Write what is a sum over series, and the log-likelihoods. */
static void put_sums(const gradient_run *g)
{
    const ks_smooth_plan *plan = g->run.plan;
    for (int a = 0; a < KS_BY_ARRAYS; ++a) {
        const ks_out out = output_of(g->gradient, a);
        const int64_t numbers = numbers_of(plan, a);
        if (!adds_series(plan, out)) continue;
        for (int64_t i = 0; i < numbers; ++i) {
            double sum = 0;
            for (int64_t b = 0; b < plan->B; ++b) sum += g->sums[a][b * numbers + i];
            ((double *)out.data)[i] = sum;
        }
    }
    const ks_out to = g->gradient->loglik;
    double *loglik = to.data;
    if (!loglik) return;
    for (int64_t b = 0; b < plan->B; ++b)
        loglik[b * to.series_stride] = (to.series_stride || b == 0 ? 0 : loglik[0]) + g->loglik[b];
}

/** Whether (series, step) comes before what info has. */
static int comes_before(const ks_info *info, int64_t series, int64_t step)
{
    return info->status == KS_OK || series < info->series || (series == info->series && step < info->step);
}

/** Derivatives may not be finite although what is carried on is. Of a sum, series or step is -1. */
static void check_finite(gradient_run *g)
{
    ks_info *info = g->run.info;
    const ks_smooth_plan *plan = g->run.plan;
    for (int a = 0; a < KS_BY_ARRAYS; ++a) {
        const ks_out out = output_of(g->gradient, a);
        const int64_t series = out.series_stride ? plan->B : 1, numbers = numbers_of(plan, a);
        const int64_t rows = out.step_stride ? rows_of(g, a) : 1;
        for (int64_t b = 0; out.data && b < series; ++b)
            for (int64_t k = 0; k < rows; ++k) {
                const double *row = (const double *)out.data + b * out.series_stride + k * out.step_stride;
                const int64_t at = out.series_stride ? b : -1, step = out.step_stride ? k : -1;
                double sum = 0;
                for (int64_t i = 0; i < numbers; ++i) sum += 0 * row[i];
                if (sum == 0 || !comes_before(info, at, step)) continue;
                info->status = KS_ENONFINITE;
                info->array = KS_ARRAY_ESTIMATE;
                info->fault = KS_FAULT_NOT_FINITE;
                info->series = at;
                info->step = step;
            }
    }
}

/** Find after how many steps the observations of a series have told all directions of its prior. Refuses a series that
 *  never does. */
static ks_status find_told(gradient_run *g, const ks_start *start, int64_t *told)
{
    ks_info *info = g->run.info;
    ks_unknown unknown;
    ks_carver memory;
    int all;
    if (!ks_unknown_make(&unknown, start, &memory)) return KS_ENOMEM;
    *told = ks_unknown_steps(&unknown, start, &all);
    /* A direction that a transition has ended before it was told is not told. */
    all = unknown.q == 0;
    ks_start_release(start->plan->context, &memory);
    if (all) return KS_OK;
    info->array = KS_ARRAY_P0;
    info->fault = KS_FAULT_NOT_FINITE;
    return KS_EREFUSED;
}

/** Find the directions of the prior of series b, with a reference that suits what y tells of them. */
static ks_status make_start(gradient_run *g, ks_view P0_inf, int64_t b)
{
    ks_start *start = &g->starts[b];
    ks_start_filter filter = { 0 };
    int64_t told = 0;
    ks_status status = ks_start_make(start, &g->run, P0_inf, b);
    if (status != KS_OK || start->d == 0) return status;
    status = find_told(g, start, &told);
    if (status != KS_OK) return status;
    /* Some steps more than needed: the first may tell next to nothing of a direction. */
    const int64_t T = g->run.plan->T, end = T - told < KS_START_MORE ? T : told + KS_START_MORE;
    status = ks_start_filter_make(&filter, start, end);
    if (status == KS_OK) status = ks_start_refer(start, &filter, end, g->run.info);
    ks_start_filter_free(&filter);
    return status;
}

static ks_status make_starts(gradient_run *g, ks_view P0_inf)
{
    ks_status status = KS_OK;
    for (int64_t b = 0; status == KS_OK && b < g->run.plan->B; ++b) {
        status = make_start(g, P0_inf, b);
        if (status == KS_EREFUSED) g->run.info->series = b;
    }
    return status;
}

/** Run the series, after their arguments have been checked. */
static void run_all(gradient_run *g)
{
    const ks_smooth_plan *plan = g->run.plan;
    ks_info *info = g->run.info;
    const int workers = info->threads = workers_of(plan, g->gradient);
    g->run.total = 2 * plan->T * plan->B / workers;
    ks_parallel_for(plan->context, workers, plan->B, run_range, g);
    for (int w = 0; w < workers; ++w) ks_run_add(&g->run, g->memory[w].failed, &g->memory[w].total);
    if (info->array == KS_ARRAY_P0) {
        info->step = -1;
        info->suggestion = KS_METHOD_AUTO;
    }
    if (info->status == KS_OK && atomic_load(&g->run.canceled)) info->status = KS_ECANCELED;
    if (info->status == KS_OK) put_sums(g);
    ks_check_loglik(&g->run);
    if (info->status == KS_OK) check_finite(g);
}

static void run_diffuse(gradient_run *g, ks_view P0_inf)
{
    const ks_smooth_plan *plan = g->run.plan;
    const size_t B = (size_t)plan->B;
    ks_carver measure = ks_carver_at(NULL), memory;
    (void)ks_carve(&measure, B, sizeof *g->starts);
    if (!ks_start_allocate(plan->context, &measure, &memory)) {
        g->run.info->status = KS_ENOMEM;
        return;
    }
    g->starts = ks_carve(&memory, B, sizeof *g->starts);
    memset(g->starts, 0, B * sizeof *g->starts);
    g->run.info->status = make_starts(g, P0_inf);
    if (g->run.info->status == KS_OK) run_all(g);
    for (size_t b = 0; b < B; ++b) ks_start_free(&g->starts[b]);
    ks_start_release(plan->context, &memory);
}

ks_status ks_gradient_run(const ks_smooth_plan *plan, const ks_model *model, ks_view P0_inf, ks_view y,
                          const ks_gradient *gradient, void *work, ks_info *info)
{
    ks_info mine = KS_INFO_INIT;
    if (info && info->size != sizeof *info) return KS_EINVAL;
    if (info) *info = mine;
    else info = &mine;
    if (!plan || !model || !work || (uintptr_t)work % KS_CARVE_ALIGNMENT != 0) return info->status = KS_EINVAL;
    ks_outputs outputs = KS_OUTPUTS_INIT;
    ks_model whole = *model;
    ks_smooth_plan own = *plan; /* whose outputs do not matter */
    own.options.outputs = 0;
    plan = &own;
    gradient_run g = { .run = { .plan = plan, .model = &whole, .y = y, .outputs = &outputs, .info = info },
                       .gradient = gradient };
    ks_carver place = ks_carver_at(work);
    carve(&place, plan, &g);
    outputs.loglik = (ks_out){ g.loglik, 0, 1 };
    const size_t nx = (size_t)plan->nx, ny = (size_t)plan->ny;
    memset(g.run.zeros, 0, (nx * nx > ny ? nx * nx : ny) * sizeof(double));
    const ks_view nothing = { g.run.zeros, 0, 0 };
    if (P0_inf.data && !whole.m0.data) whole.m0 = nothing;
    if (P0_inf.data && !whole.P0.data) whole.P0 = nothing;
    info->method = KS_METHOD_SEQUENTIAL;
    info->backend = KS_BACKEND_CPU;
    g.run.caller = ks_this_thread();
    g.run.mode = ks_flush_mode();
    atomic_init(&g.run.canceled, 0);
    atomic_init(&g.run.given_up, 0);
    if (!valid(plan, &whole, P0_inf, y, gradient, &info->array)) {
        info->status = KS_EINVAL;
        ks_carve_end(&place);
        return KS_EINVAL;
    }
    whole = ks_plain_model(plan, &whole);
    g.shift = shift_of(&g);
    if (P0_inf.data) run_diffuse(&g, P0_inf);
    else run_all(&g);
    ks_carve_end(&place);
    return info->status;
}
