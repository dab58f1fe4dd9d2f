/* smooth_run.c -- running plans: checks the arguments, calls the driver, reports the outcome. */
#include <math.h>
#include <string.h>
#include "hd.h"
#include "reach.h"
#include "scan_device.h"
#include "smooth_plan.h"

int ks_readable(ks_view view, size_t number, int64_t block, int64_t steps, int64_t series, int optional)
{
    if (!view.data) return optional;
    if (!ks_is_aligned(view.data, number)) return 0;
    if (steps > 1 && view.step_stride != 0 && view.step_stride < block) return 0;
    if (!ks_within_reach(steps, view.step_stride, series, view.series_stride, block)) return 0;
    return series == 1 || view.series_stride == 0 || view.series_stride >= block;
}

int ks_writable(ks_out out, size_t number, int64_t block, int64_t steps, int64_t series)
{
    if (!ks_is_aligned(out.data, number)) return 0;
    if (steps > 1 && out.step_stride < block) return 0;
    if (series > 1 && out.series_stride < block) return 0;
    return ks_within_reach(steps, out.step_stride, series, out.series_stride, block);
}

/* An input and the part of it that a run reads. */
typedef struct expected_input {
    ks_array array;
    ks_view view;
    int64_t block, steps;
    int optional;
} expected_input;

/** Only the model tells the prior: under KS_PRIOR_X1 there is no x[-1] to smooth. */
static int has_prior_to_smooth(const ks_smooth_plan *plan, const ks_model *m, ks_array *array)
{
    if (m->prior == KS_PRIOR_X0 || !ks_makes_any(plan, KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV)) return 1;
    *array = ks_makes_any(plan, KS_OUT_PRIOR_MEAN) ? KS_ARRAY_M0 : KS_ARRAY_P0;
    return 0;
}

/** The number of rows of F, Q and u if they vary. */
static int64_t transitions_of(const ks_smooth_plan *plan, const ks_model *m)
{
    return m->transition == KS_OUT_OF && plan->T > 1 ? plan->T - 1 : plan->T;
}

/** Set strides that are ignored to 0. */
static void without_idle_stride(ks_view *view, int64_t rows) { if (!view->data || rows == 1) view->step_stride = 0; }

ks_model ks_plain_model(const ks_smooth_plan *plan, const ks_model *model)
{
    ks_model m = *model;
    const int64_t rows = transitions_of(plan, model);
    without_idle_stride(&m.F, rows);
    without_idle_stride(&m.Q, rows);
    without_idle_stride(&m.u, rows);
    without_idle_stride(&m.H, plan->T);
    without_idle_stride(&m.R, plan->T);
    without_idle_stride(&m.d, plan->T);
    return m;
}

int ks_valid_model(const ks_smooth_plan *plan, const ks_model *m, ks_array *array)
{
    const int64_t nx = plan->nx, ny = plan->ny, T = plan->T, B = plan->B;
    if (!m || m->size != sizeof *m) return 0;
    if ((m->prior != KS_PRIOR_X0 && m->prior != KS_PRIOR_X1) ||
        (m->transition != KS_INTO && m->transition != KS_OUT_OF))
        return 0;
    /* With T = 1 and the prior on x[0] there is no transition. */
    const int still = m->prior == KS_PRIOR_X1 && T == 1;
    const int64_t transitions = transitions_of(plan, m);
    const expected_input all[] = {
        { KS_ARRAY_F, m->F, nx * nx, transitions, still }, { KS_ARRAY_Q, m->Q, nx * nx, transitions, still },
        { KS_ARRAY_U, m->u, nx, transitions, 1 },          { KS_ARRAY_H, m->H, ny * nx, T, 0 },
        { KS_ARRAY_R, m->R, ny * ny, T, 0 },               { KS_ARRAY_D, m->d, ny, T, 1 },
        { KS_ARRAY_M0, m->m0, nx, 1, 0 },                  { KS_ARRAY_P0, m->P0, nx * nx, 1, 0 },
    };
    /* No row of a transition out of a state leads from x[-1] to x[0]. */
    for (int i = 0; i < 3 && m->transition == KS_OUT_OF && m->prior != KS_PRIOR_X1; ++i) {
        if (!all[i].view.data || transitions == 1 || !all[i].view.step_stride) continue;
        *array = all[i].array;
        return 0;
    }
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        const expected_input *e = &all[i];
        if (ks_readable(e->view, plan->mean_bytes, e->block, e->steps, B, e->optional)) continue;
        *array = e->array;
        return 0;
    }
    return has_prior_to_smooth(plan, m, array);
}

typedef struct expected_output {
    ks_output bit;
    ks_out out;
    size_t number;
    int64_t block, steps;
} expected_output;

/** Whether exactly the outputs that the plan makes have a place. */
static int valid_outputs(const ks_smooth_plan *plan, const ks_outputs *o)
{
    if (!o || o->size != sizeof *o) return 0;
    const int64_t nx = plan->nx, ny = plan->ny, T = plan->T;
    const size_t wide = plan->mean_bytes, narrow = plan->kernels->number_bytes;
    const expected_output all[] = {
        { KS_OUT_LOGLIK, o->loglik, sizeof(double), 1, 1 },
        { KS_OUT_LOGLIK_TERMS, o->loglik_terms, sizeof(double), 1, T },
        { KS_OUT_PREDICTED_MEAN, o->predicted_mean, wide, nx, T },
        { KS_OUT_PREDICTED_COV, o->predicted_cov, narrow, nx * nx, T },
        { KS_OUT_PREDICTED_VAR, o->predicted_var, narrow, nx, T },
        { KS_OUT_FILTERED_MEAN, o->filtered_mean, wide, nx, T },
        { KS_OUT_FILTERED_COV, o->filtered_cov, narrow, nx * nx, T },
        { KS_OUT_FILTERED_VAR, o->filtered_var, narrow, nx, T },
        { KS_OUT_SMOOTHED_MEAN, o->smoothed_mean, wide, nx, T },
        { KS_OUT_SMOOTHED_COV, o->smoothed_cov, narrow, nx * nx, T },
        { KS_OUT_SMOOTHED_VAR, o->smoothed_var, narrow, nx, T },
        { KS_OUT_LAG_ONE_COV, o->lag_one_cov, narrow, nx * nx, T },
        { KS_OUT_PRIOR_MEAN, o->prior_mean, wide, nx, 1 },
        { KS_OUT_PRIOR_COV, o->prior_cov, narrow, nx * nx, 1 },
        { KS_OUT_INNOVATION, o->innovation, wide, ny, T },
        { KS_OUT_INNOVATION_COV, o->innovation_cov, narrow, ny * ny, T },
        { KS_OUT_INNOVATION_STD, o->innovation_std, wide, ny, T },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        const expected_output *e = &all[i];
        if (!ks_makes_any(plan, e->bit) != !e->out.data) return 0;
        if (e->out.data && !ks_writable(e->out, e->number, e->block, e->steps, plan->B)) return 0;
    }
    return 1;
}

int ks_valid_run(const ks_smooth_plan *plan, const ks_model *model, ks_view y,
                 const ks_outputs *outputs, ks_array *array)
{
    if (!ks_valid_model(plan, model, array)) return 0;
    if (!ks_readable(y, plan->mean_bytes, plan->ny, plan->T, plan->B, 0)) {
        *array = KS_ARRAY_Y;
        return 0;
    }
    return valid_outputs(plan, outputs);
}

void ks_run_add(ks_plan_run *run, int64_t series, const ks_tally *tally)
{
    ks_info *info = run->info;
    info->ordinary_steps += tally->ordinary;
    info->array_steps += tally->array;
    info->missing += tally->missing;
    info->elements += tally->elements;
    if (tally->bad_step < 0) return;
    if (info->step >= 0 && (info->series < series ||
                            (info->series == series && info->step <= tally->bad_step)))
        return;
    info->series = series;
    info->step = tally->bad_step;
    info->row = tally->bad_row;
    info->column = -1;
    info->array = tally->bad_array;
    info->fault = tally->fault;
    info->suggestion = KS_METHOD_AUTO;
    switch (tally->bad_array) {
    case KS_ARRAY_Y: info->status = KS_EMODEL; break;
    case KS_ARRAY_ELEMENT_COV:
    case KS_ARRAY_PRIOR_COV:
    case KS_ARRAY_P0:
    case KS_ARRAY_Q:
    case KS_ARRAY_R:
    case KS_ARRAY_HESSIAN:
        info->status = KS_EREFUSED;
        info->suggestion = KS_METHOD_SEQUENTIAL;
        break;
    case KS_ARRAY_ESTIMATE:
        info->status = tally->fault == KS_FAULT_ILL_CONDITIONED ? KS_EREFUSED : KS_ENONFINITE;
        if (info->status == KS_EREFUSED) info->suggestion = KS_METHOD_SEQUENTIAL;
        break;
    default: info->status = KS_ENOTPD; break;
    }
}

int ks_run_progress(ks_plan_run *run, int64_t steps)
{
    const ks_smooth_options *o = &run->plan->options;
    if (atomic_load(&run->given_up)) return 1;
    if (!o->progress) return 0;
    if (ks_this_thread() != run->caller) return atomic_load(&run->canceled);
    run->done += steps;
    const int64_t done = run->done < run->total ? run->done : run->total;
    /* The caller's function must run in the caller's mode for denormal numbers. */
    const unsigned mode = ks_flush_mode();
    ks_flush_end(run->mode);
    const int stop = o->progress(o->progress_user, done, run->total);
    ks_flush_end(mode);
    if (stop) atomic_store(&run->canceled, 1);
    return atomic_load(&run->canceled);
}

void ks_check_loglik(ks_plan_run *run)
{
    const ks_out *loglik = &run->outputs->loglik;
    ks_info *info = run->info;
    for (int64_t s = 0; loglik->data && info->status == KS_OK && s < run->plan->B; ++s) {
        const double value = ((const double *)loglik->data)[s * loglik->series_stride];
        if (isfinite(value)) continue;
        info->status = KS_ENONFINITE;
        info->array = KS_ARRAY_LOGLIK;
        info->fault = KS_FAULT_NOT_FINITE;
        info->series = s;
        info->step = run->plan->T - 1;
    }
}

ks_status ks_smooth_run(const ks_smooth_plan *plan, const ks_model *model, ks_view y,
                        const ks_outputs *outputs, void *work, ks_info *info)
{
    ks_info mine = KS_INFO_INIT;
    if (info && info->size != sizeof *info) return KS_EINVAL;
    if (info) *info = mine;
    else info = &mine;
    if (!plan || !work || (uintptr_t)work % KS_CARVE_ALIGNMENT != 0) return info->status = KS_EINVAL;
    ks_plan_run run = { 0 };
    run.plan = plan;
    run.y = y;
    run.outputs = outputs;
    run.info = info;
    run.info->method = plan->method;
    run.info->backend = ks_smooth_plan_backend(plan);
    run.caller = ks_this_thread();
    run.mode = ks_flush_mode();
    atomic_init(&run.canceled, 0);
    if (!ks_valid_run(plan, model, y, outputs, &run.info->array)) {
        run.info->status = KS_EINVAL;
        return KS_EINVAL;
    }
    const ks_model plain = ks_plain_model(plan, model);
    run.model = &plain;
    const int most = plan->nx > plan->ny ? plan->nx : plan->ny;
    const size_t zeros = ((size_t)most * sizeof(double) + KS_CARVE_ALIGNMENT - 1) /
                         KS_CARVE_ALIGNMENT * KS_CARVE_ALIGNMENT;
    run.zeros = work;
    memset(run.zeros, 0, zeros);
    void *rest = (char *)work + zeros;
    if (plan->device)
        ks_scan_device_run(&run);
    else if (plan->automatic)
        ks_automatic_run(&run, rest);
    else if (plan->method == KS_METHOD_SEQUENTIAL)
        ks_sequential_run(&run, rest);
    else if (plan->method == KS_METHOD_TWO_ENDED)
        ks_two_ended_run(&run, rest);
    else if (plan->method == KS_METHOD_BLOCKTRI)
        ks_map_run(&run, rest);
    else
        ks_scan_method_run(&run, rest);
    if (run.info->status == KS_OK && atomic_load(&run.canceled)) run.info->status = KS_ECANCELED;
    ks_check_loglik(&run);
    if (run.info->fault != KS_FAULT_ILL_CONDITIONED) run.info->value = 0;
    return run.info->status;
}
