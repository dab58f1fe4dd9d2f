/* two_ended_run.c -- series smoothed from both ends: both halves of a series side by side or, if there are enough
 * series, whole series on each worker. */
#include <math.h>
#include "two_ended_lane.h"

/** Whether each worker does both halves of its series: there are enough series to occupy all workers. */
static int whole_series(const ks_smooth_plan *plan)
{
    return plan->workers == 1 || plan->B >= 2 * (int64_t)plan->workers;
}

static int lanes_of(const ks_smooth_plan *plan)
{
    return whole_series(plan) ? plan->workers : (plan->workers + 1) / 2;
}

size_t ks_two_ended_workspace(const ks_smooth_plan *plan)
{
    ks_carver carver = ks_carver_at(NULL);
    ks_lane unused;
    (void)ks_carve(&carver, (size_t)lanes_of(plan), sizeof(ks_lane));
    for (int i = 0; i < lanes_of(plan); ++i) ks_lane_carve(&carver, plan, &unused);
    return ks_carved_bytes(&carver);
}

/** Whether a series must be done again because digits were lost on the way out: first without steps by the precision,
 *  if there may have been some, then with the information in the array form. */
static int again(ks_lane *l)
{
    if (l->left_rc < 0 || l->right_rc <= 0) return 0;
    if (l->inverts && isfinite(l->size)) l->size = (double)INFINITY;
    else l->form = KS_FORM_ARRAY;
    return 1;
}

typedef struct halves {
    ks_lane *lanes;
    void (*half)(ks_lane *l, int right);
} halves;

static void run_halves(void *arg, int64_t begin, int64_t end, int worker)
{
    halves *all = arg;
    (void)worker;
    for (int64_t i = begin; i < end; ++i) all->half(&all->lanes[i / 2], (int)(i % 2));
}

void ks_lanes_both(ks_plan_run *run, ks_lane *lanes, int count, void (*half)(ks_lane *l, int right))
{
    halves all = { lanes, half };
    ks_parallel_for(run->plan->context, run->plan->workers, 2 * (int64_t)count, run_halves, &all);
}

typedef struct batch {
    ks_plan_run *run;
    ks_lane *lanes;
} batch;

/** Run series one by one; each worker has a lane of its own. */
static void run_whole(void *arg, int64_t begin, int64_t end, int worker)
{
    batch *all = arg;
    ks_lane *l = &all->lanes[worker];
    for (int64_t b = begin; b < end; ++b) {
        ks_lane_open(l, b);
        do {
            ks_lane_in(l, 0);
            ks_lane_in(l, 1);
            if (l->left_rc || l->right_rc) break;
            ks_lane_meet(l);
            ks_lane_out(l, 0);
            ks_lane_out(l, 1);
        } while (again(l));
        if (ks_lane_close(l)) return;
    }
}

/** Run series b .. b + lanes - 1 with their halves side by side. Returns 0, or -1 if one failed. */
static int run_together(batch *all, int64_t b, int lanes)
{
    int failed = 0;
    for (int i = 0; i < lanes; ++i) ks_lane_open(&all->lanes[i], b + i);
    for (int more = 1; more;) {
        more = 0;
        ks_lanes_both(all->run, all->lanes, lanes, ks_lane_in);
        for (int i = 0; i < lanes; ++i) {
            ks_lane *l = &all->lanes[i];
            if (l->left_rc || l->right_rc) failed = 1;
            else ks_lane_meet(l);
        }
        if (failed) break;
        ks_lanes_both(all->run, all->lanes, lanes, ks_lane_out);
        for (int i = 0; i < lanes; ++i) more |= again(&all->lanes[i]);
    }
    for (int i = 0; i < lanes; ++i) failed |= ks_lane_close(&all->lanes[i]) != 0;
    return failed ? -1 : 0;
}

void ks_two_ended_run(ks_plan_run *run, void *work)
{
    const ks_smooth_plan *plan = run->plan;
    ks_carver carver = ks_carver_at(work);
    const int lanes = lanes_of(plan);
    batch all = { run, NULL };
    all.lanes = ks_carve(&carver, (size_t)lanes, sizeof(ks_lane));
    for (int i = 0; i < lanes; ++i) {
        ks_lane_carve(&carver, plan, &all.lanes[i]);
        all.lanes[i].run = run;
        all.lanes[i].total = ks_tally_start();
        all.lanes[i].failed = -1;
    }
    /* ks_lane_meet() smooths the step in the middle, which does not count. */
    run->total = (2 * plan->T - 1) * plan->B / plan->workers;
    run->info->threads = plan->workers;
    if (whole_series(plan))
        ks_parallel_for(plan->context, plan->workers, plan->B, run_whole, &all);
    else
        for (int64_t b = 0; b < plan->B; b += lanes)
            if (run_together(&all, b, plan->B - b < lanes ? (int)(plan->B - b) : lanes)) break;
    for (int i = 0; i < lanes; ++i) {
        const ks_lane *l = &all.lanes[i];
        ks_run_add(run, l->failed, &l->total);
        if (run->info->fault == KS_FAULT_ILL_CONDITIONED && run->info->series == l->failed)
            run->info->value = l->error;
    }
    ks_carve_end(&carver);
}
