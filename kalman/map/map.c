/* map.c -- the driver of the MAP route. It assembles the Hessian in the factor's storage, factors it in place in the
 * plan's order, solves, computes the blocks of the inverse, and reviews the solution before it is put out. In the
 * sequential and the twisted order it first tries all of this in one pass inwards and one back (map_lanes.c). Their
 * results are used if bounds show that they are accurate.
 *
 * Series follow one another; within one, the steps are spread over the workers. In double, means and covariances are
 * made in the caller's arrays. */
#include <string.h>
#include "hd.h"
#include "map_limits.h"
#include "map_method.h"

static int64_t chunks_of(const ks_smooth_plan *plan)
{
    return (plan->T + KS_MAP_CHUNK - 1) / KS_MAP_CHUNK;
}

static int probes_of(const ks_smooth_plan *plan)
{
    return plan->T <= KS_MAP_SHORT ? KS_MAP_PROBES : 1;
}

/** Return whether the caller's output can be used as working memory. */
static int in_place(const ks_smooth_plan *plan, ks_output output)
{
    return plan->options.precision == KS_F64 && ks_makes_all(plan, output);
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static void carve(ks_carver *carver, ks_map_method *m)
{
    const ks_smooth_plan *plan = m->plan;
    const size_t T = (size_t)plan->T, n = (size_t)plan->nx, block = n * n * sizeof(double);
    const int workers = ks_map_workers(plan);
    m->worker = ks_carve(carver, (size_t)workers, sizeof *m->worker);
    m->rows.worker = ks_carve(carver, (size_t)workers, sizeof *m->rows.worker);
    for (int w = 0; w < workers; ++w) {
        ks_scan_worker unused;
        void *memory = ks_carve(carver, 1, m->kernels->memory_bytes(plan->nx, plan->ny));
        if (m->worker) m->worker[w].memory = memory;
        ks_carve_worker(carver, plan, m->rows.worker ? &m->rows.worker[w] : &unused);
    }
    m->chunk = ks_carve(carver, (size_t)chunks_of(plan), sizeof *m->chunk);
    m->D.data = ks_carve(carver, T, block);
    m->L.data = ks_carve(carver, T - 1, block);
    m->fill = ks_carve(carver, 1, ks_blocktri_fill_bytes(plan->hessian));
    m->solver = ks_carve(carver, 1, larger(ks_blocktri_workspace_bytes(plan->hessian),
                                           ks_blocktri_inverse_workspace_bytes(plan->hessian)));
    m->z = ks_carve(carver, T * (size_t)probes_of(plan), n * sizeof(double));
    if (!in_place(plan, KS_OUT_SMOOTHED_MEAN)) m->own_x = ks_carve(carver, T, n * sizeof(double));
    if (!in_place(plan, KS_OUT_SMOOTHED_COV)) m->own_S = ks_carve(carver, T, block);
    if (ks_makes_any(plan, KS_OUT_LAG_ONE_COV) && !in_place(plan, KS_OUT_LAG_ONE_COV))
        m->own_lag = ks_carve(carver, T - 1, block);
}

/** Return the least nanoseconds of a step of a lane, measured on one core (Skylake, 2.5 GHz, AVX2). */
static double lane_ns(int n)
{
    return n > KS_MAP_FEW ? 0.3 * (double)n * n * n : 40 + 1.2 * (double)n * n * n;
}

/** Nanoseconds that two lanes must save for a second thread to pay: it is started and awaited twice. */
static const double WORTH_LANES = 70e3;

ks_status ks_map_plan(ks_smooth_plan *plan)
{
    ks_blocktri_options options = KS_BLOCKTRI_OPTIONS_INIT;
    options.order = plan->options.order;
    options.threads = plan->options.threads;
    options.tier = plan->options.tier;
    /* One pass each way is ten times as fast as the other orders, which take every phase by itself. */
    if (options.order == KS_BLOCKTRI_AUTO)
        options.order = plan->workers > 1 &&
                                (double)(plan->T / 2) * lane_ns(plan->nx) > WORTH_LANES
                            ? KS_BLOCKTRI_TWISTED
                            : KS_BLOCKTRI_SEQUENTIAL;
    return ks_blocktri_plan_create(&plan->hessian, plan->context, plan->T, plan->nx, &options);
}

size_t ks_map_workspace(const ks_smooth_plan *plan)
{
    ks_carver carver = ks_carver_at(NULL);
    ks_map_method m;
    memset(&m, 0, sizeof m);
    m.plan = plan;
    m.kernels = ks_map_kernels_of(plan->options.tier, plan->nx);
    carve(&carver, &m);
    return ks_carved_bytes(&carver);
}

static ks_sink sink_of(ks_blocks blocks)
{
    const ks_sink sink = { (char *)blocks.data, blocks.stride * (int64_t)sizeof(double), 0 };
    return sink;
}

/** Return blocks in `own` if it is not NULL, else in the output. A single step may have any stride. */
static ks_blocks blocks_of(const ks_smooth_plan *plan, double *own, ks_out out, int64_t b, int64_t size)
{
    const ks_blocks here = { own, size };
    if (own || !out.data) return here;
    return (ks_blocks){ (double *)out.data + b * out.series_stride, plan->T > 1 ? out.step_stride : size };
}

static void open_series(ks_map_method *m, int64_t b)
{
    const ks_smooth_plan *plan = m->plan;
    const ks_outputs *out = m->run->outputs;
    const int64_t n = plan->nx, size = n * n;
    ks_series_of(m->run, b, &m->rows.a.series);
    const ks_series *s = &m->rows.a.series;
    m->D.stride = m->L.stride = size;
    m->x = blocks_of(plan, m->own_x, out->smoothed_mean, b, n);
    m->S = blocks_of(plan, m->own_S, out->smoothed_cov, b, size);
    m->lag = blocks_of(plan, m->own_lag, out->lag_one_cov, b, size);
    /* Row 0 of the output is not a block of the system. */
    if (!m->own_lag && m->lag.data) m->lag.data = (double *)m->lag.data + m->lag.stride;
    const ks_blocks z = { m->z, n * probes_of(plan) };
    ks_map_system *a = &m->system;
    a->D = sink_of(m->D);
    a->L = sink_of(m->L);
    a->x = sink_of(m->x);
    a->z = sink_of(z);
    a->S = sink_of(m->S);
    a->lag = sink_of(m->lag);
    a->lag.first = 1;
    a->probes = probes_of(plan);
    a->constant = (s->Q.stride ? 0u : KS_MAP_CONSTANT_Q) |
                  (s->u.stride ? 0u : KS_MAP_CONSTANT_INPUT) |
                  (s->Q.stride || s->F.stride ? 0u : KS_MAP_CONSTANT_TRANSITION) |
                  (s->R.stride || s->H.stride ? 0u : KS_MAP_CONSTANT_OBSERVATION);
    a->pivot = 4 * (double)(n > plan->ny ? n : plan->ny) * ks_unit_roundoff(plan->options.precision != KS_F64);
    a->largest = plan->kernels->largest;
    a->middle = ks_map_lanes(plan) == 2 ? plan->T / 2 : plan->T - 1;
    for (int w = 0; w < ks_map_workers(plan); ++w) {
        m->worker[w].tally = ks_tally_start();
        m->kernels->open(plan->nx, plan->ny, m->worker[w].memory);
        memset(&m->rows.worker[w].wide, 0, sizeof m->rows.worker[w].wide);
    }
}

ks_map_review ks_map_nothing_found(void)
{
    const ks_map_review nothing = { ks_evidence_start(), 0, 0, 0, -1, -1 };
    return nothing;
}

static void run_chunk(ks_map_method *m, int worker, int64_t chunk)
{
    const int64_t k0 = chunk * KS_MAP_CHUNK;
    const int64_t k1 = k0 + KS_MAP_CHUNK < m->plan->T ? k0 + KS_MAP_CHUNK : m->plan->T;
    ks_map_worker *w = &m->worker[worker];
    if (m->reviewing) m->chunk[chunk] = ks_map_nothing_found();
    for (int64_t k = k0; k <= k1 && k < m->plan->T; ++k) {
        const ks_series *s = ks_wide_series(&m->rows.a, &m->rows.worker[worker], k);
        if (m->reviewing ? m->kernels->review(s, k, k < k1, k > k0, &m->system, w->memory,
                                              &m->chunk[chunk], &w->tally)
                         : m->kernels->assemble(s, k, k < k1, k > k0, &m->system, w->memory,
                                                &w->tally))
            return;
    }
}

static void run_chunks(void *arg, int64_t begin, int64_t end, int worker)
{
    ks_map_method *m = arg;
    for (int64_t c = begin; c < end; ++c) {
        const unsigned mode = ks_flush_begin();
        run_chunk(m, worker, c);
        ks_flush_end(mode);
        if (m->worker[worker].tally.bad_step >= 0) return;
        if (ks_run_progress(m->run, c + 1 == chunks_of(m->plan) ? m->plan->T - c * KS_MAP_CHUNK
                                                                : KS_MAP_CHUNK))
            return;
    }
}

/** Assemble or review all steps. Return 0, or -1 on a fault or when the run is canceled. */
static int pass(ks_map_method *m, int reviewing)
{
    m->reviewing = reviewing;
    ks_parallel_for(m->plan->context, m->plan->workers, chunks_of(m->plan), run_chunks, m);
    for (int w = 0; w < m->plan->workers; ++w)
        if (m->worker[w].tally.bad_step >= 0) return -1;
    return atomic_load(&m->run->canceled) ? -1 : 0;
}

static void correct(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    ks_map_method *m = arg;
    const int64_t T = m->plan->T, to = end * KS_MAP_CHUNK;
    m->kernels->correct(m->plan->nx, begin * KS_MAP_CHUNK, to < T ? to : T, &m->system);
}

static ks_map_review sum_of(const ks_map_method *m)
{
    ks_map_review all = m->chunk[0];
    for (int64_t c = 1; c < chunks_of(m->plan); ++c) {
        const ks_map_review *r = &m->chunk[c];
        ks_evidence *e = &all.evidence;
        e->quadratic += r->evidence.quadratic;
        e->logs += r->evidence.logs + log(r->evidence.product);
        if (r->loss > all.loss) {
            all.loss = r->loss;
            all.lost_step = r->lost_step;
        }
        if (!(r->gradient <= all.gradient)) all.gradient = r->gradient;
        if (all.bad_step < 0) all.bad_step = r->bad_step;
    }
    return all;
}

/** Report a fault of the system as a whole in the first worker's tally. Return -1. */
static int refuse(ks_map_method *m, ks_array array, ks_fault fault, int64_t step, int row)
{
    ks_tally *tally = &m->worker[0].tally;
    tally->bad_step = step;
    tally->bad_row = row;
    tally->bad_array = array;
    tally->fault = fault;
    return -1;
}

/** Factor, solve, and compute the blocks of the inverse. */
static int solve(ks_map_method *m, double *logdet)
{
    const ks_blocktri_plan *plan = m->plan->hessian;
    const ks_blocktri_factor factor = { m->D, m->L, m->fill };
    const ks_blocktri_matrix matrix = { { m->D.data, m->D.stride }, { m->L.data, m->L.stride } };
    const ks_const_blocks x = { m->x.data, m->x.stride };
    const ks_blocks z = { m->z, (int64_t)m->plan->nx * m->system.probes };
    const ks_const_blocks probes = { z.data, z.stride };
    ks_blocktri_info info = KS_BLOCKTRI_INFO_INIT;
    ks_status status = ks_blocktri_factorize(plan, &matrix, &factor, m->solver, &info);
    if (status == KS_ENOTPD)
        return refuse(m, KS_ARRAY_HESSIAN, KS_FAULT_NOT_POSITIVE, info.block, info.pivot);
    if (status == KS_OK) status = ks_blocktri_solve(plan, &factor, 1, x, m->x, m->solver);
    if (status == KS_OK)
        status = ks_blocktri_solve(plan, &factor, m->system.probes, probes, z, m->solver);
    if (status == KS_OK) status = ks_blocktri_logdet(plan, &factor, logdet);
    if (status == KS_OK) status = ks_blocktri_inverse_blocks(plan, &factor, m->S, m->lag, m->solver);
    if (status != KS_OK) m->run->info->status = status;
    return status == KS_OK ? 0 : -1;
}

/** Correct the means by the gradient at the solution, while it may still move them. */
static int refine(ks_map_method *m, ks_map_review *all)
{
    const ks_blocktri_factor factor = { m->D, m->L, m->fill };
    const ks_blocks z = { m->z, (int64_t)m->plan->nx * m->system.probes };
    const ks_const_blocks gradient = { z.data, z.stride };
    const ks_precision precision = m->plan->options.precision;
    const double loss = all->loss;
    for (int i = 0; i < KS_MAP_REFINEMENTS && ks_map_may_move(precision, loss, all->gradient); ++i) {
        const ks_status status =
            ks_blocktri_solve(m->plan->hessian, &factor, 1, gradient, z, m->solver);
        if (status != KS_OK) {
            m->run->info->status = status;
            return -1;
        }
        ks_parallel_for(m->plan->context, m->plan->workers, chunks_of(m->plan), correct, m);
        m->system.probes = 0; /* z holds gradients now */
        m->system.z.stride = z.stride * (int64_t)sizeof(double);
        if (pass(m, 1)) return -1;
        *all = sum_of(m);
    }
    return 0;
}

/** Return whether the results of ks_map_run_lanes() are accurate. It bounds the loss and the error of the means; if the
 *  bounds are too large, the system is solved at length. */
static int will_do(const ks_map_method *m, const ks_map_review *all)
{
    return all->lost_step < 0 && all->bad_step < 0 && isfinite(all->evidence.logs) &&
           ks_map_bounds_do(m->plan->options.precision, all->loss, all->inflation, all->gradient);
}

/** Assemble, factor, solve, invert, review and correct, each phase by itself. */
static int solve_at_length(ks_map_method *m, ks_map_review *all, double *logdet)
{
    if (pass(m, 0) || solve(m, logdet) || pass(m, 1)) return -1;
    *all = sum_of(m);
    const double error = all->loss * ks_unit_roundoff(0);
    if (error > ks_map_worst_error(m->plan->options.precision)) {
        m->run->info->value = error;
        return refuse(m, KS_ARRAY_HESSIAN, KS_FAULT_ILL_CONDITIONED, all->lost_step, -1);
    }
    if (refine(m, all)) return -1;
    if (all->bad_step >= 0)
        return refuse(m, KS_ARRAY_ESTIMATE, KS_FAULT_NOT_FINITE, all->bad_step, -1);
    return 0;
}

static int compute(ks_map_method *m, int64_t b)
{
    const ks_smooth_plan *plan = m->plan;
    ks_map_review all = ks_map_nothing_found();
    double logdet = 0;
    int done = 0;
    if (ks_map_lanes(plan) > 0) {
        const int rc = ks_map_run_lanes(m, &all);
        if (atomic_load(&m->run->canceled)) return -1;
        done = rc == 0 && will_do(m, &all);
        /* Faults are left to solve_at_length(), too, which finds the first step that has one. */
        if (!done) open_series(m, b);
        m->worker[0].tally.ordinary = done ? 2 * plan->T : 0;
    }
    if (!done && solve_at_length(m, &all, &logdet)) return -1;
    int64_t missing = 0;
    for (int w = 0; w < ks_map_workers(plan); ++w) missing += m->worker[w].tally.missing;
    all.evidence.entries = plan->T * plan->ny - missing;
    ks_map_put(m, b);
    ks_write_loglik(m->run, b, ks_evidence_loglik(&all.evidence) - 0.5 * logdet);
    return 0;
}

void ks_map_run(ks_plan_run *run, void *work)
{
    const ks_smooth_plan *plan = run->plan;
    ks_carver carver = ks_carver_at(work);
    ks_map_method m;
    memset(&m, 0, sizeof m);
    m.run = run;
    m.plan = m.rows.plan = plan;
    m.rows.run = run;
    m.rows.a.single = m.rows.a.single_cov = plan->options.precision == KS_F32;
    m.kernels = ks_map_kernels_of(plan->options.tier, plan->nx);
    carve(&carver, &m);
    run->info->threads = plan->workers;
    run->info->order = ks_blocktri_plan_order(plan->hessian);
    run->total = 2 * plan->T * plan->B / plan->workers;
    for (int64_t b = 0; b < plan->B; ++b) {
        open_series(&m, b);
        const int rc = compute(&m, b);
        for (int w = 0; w < ks_map_workers(plan); ++w) ks_run_add(run, b, &m.worker[w].tally);
        if (rc) break;
    }
    ks_carve_end(&carver);
}
