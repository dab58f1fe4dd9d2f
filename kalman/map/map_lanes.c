/* map_lanes.c -- the MAP route in one pass inwards and one outwards. One lane goes from the first step to the last and
 * back, or two go from either end to the middle and back, in parallel on two threads. */
#include "hd.h"
#include "map_method.h"

typedef int (*range_function)(const ks_series *s, int64_t k0, int64_t k1, const ks_map_system *a,
                              void *memory, ks_map_review *r, ks_tally *tally);

typedef struct lanes_run {
    ks_map_method *m;
    ks_map_review review[2];
    int outwards, rc[2];
} lanes_run;

/** Take steps k0 .. k1 - 1 of a lane, in blocks between calls of the progress function. Sums go to *r and *tally. */
static int run_blocks(const lanes_run *run, int lane, int falling, range_function take, int64_t k0,
                      int64_t k1, ks_map_review *r, ks_tally *tally)
{
    ks_map_method *m = run->m;
    /* Rows of single precision are widened one by one. */
    const int64_t block = m->plan->options.precision == KS_F64 ? KS_BLOCK : 1;
    ks_scan_worker *rows = &m->rows.worker[lane];
    int64_t told = 0;
    for (int64_t done = 0; done < k1 - k0;) {
        const int64_t count = k1 - k0 - done < block ? k1 - k0 - done : block;
        const int64_t from = falling ? k1 - done - count : k0 + done;
        const ks_series *s = ks_wide_series(&m->rows.a, rows, from);
        if (take(s, from, from + count, &m->system, m->worker[lane].memory, r, tally)) return -1;
        done += count;
        if (done - told < KS_BLOCK && done < k1 - k0) continue;
        if (ks_run_progress(m->run, done - told)) return -1;
        told = done;
    }
    return 0;
}

static int run_range(lanes_run *run, int lane, int falling, range_function take, int64_t k0,
                     int64_t k1)
{
    /* Each step writes to these. Local copies keep those of two threads out of one cache line. */
    ks_map_review review = run->review[lane];
    ks_tally tally = run->m->worker[lane].tally;
    const int rc = run_blocks(run, lane, falling, take, k0, k1, &review, &tally);
    run->review[lane] = review;
    run->m->worker[lane].tally = tally;
    return rc;
}

static void run_lanes(void *arg, int64_t begin, int64_t end, int worker)
{
    lanes_run *run = arg;
    const ks_map_kernels *kernels = run->m->kernels;
    const int64_t middle = run->m->system.middle, T = run->m->plan->T;
    (void)worker;
    const unsigned mode = ks_flush_begin();
    for (int64_t lane = begin; lane < end; ++lane)
        if (atomic_load(&run->m->run->canceled))
            run->rc[lane] = -1;
        else if (lane == 0)
            run->rc[0] = run_range(run, 0, run->outwards,
                                   run->outwards ? kernels->back_down : kernels->ascend, 0,
                                   middle + 1);
        else
            run->rc[1] = run_range(run, 1, !run->outwards,
                                   run->outwards ? kernels->back_up : kernels->descend,
                                   middle + 1, T);
    ks_flush_end(mode);
}

/** Add the reviews of both lanes. */
static ks_map_review sum_of(const ks_map_review r[2])
{
    ks_map_review all = r[0];
    all.evidence.quadratic += r[1].evidence.quadratic;
    all.evidence.logs += r[1].evidence.logs + log(r[1].evidence.product);
    if (r[1].loss > all.loss) all.loss = r[1].loss;
    if (r[1].inflation > all.inflation) all.inflation = r[1].inflation;
    if (!(r[1].gradient <= all.gradient)) all.gradient = r[1].gradient;
    if (all.lost_step < 0) all.lost_step = r[1].lost_step;
    if (all.bad_step < 0) all.bad_step = r[1].bad_step;
    return all;
}

int ks_map_run_lanes(ks_map_method *m, ks_map_review *all)
{
    const ks_smooth_plan *plan = m->plan;
    const int lanes = ks_map_lanes(plan), two = m->system.middle + 1 < plan->T;
    lanes_run run = { m, { ks_map_nothing_found(), ks_map_nothing_found() }, 0, { 0, 0 } };
    void *up = m->worker[0].memory, *down = two ? m->worker[1].memory : NULL;
    const int workers = plan->workers < lanes ? plan->workers : lanes;
    for (run.outwards = 0; run.outwards < 2; ++run.outwards) {
        ks_parallel_for(plan->context, workers, lanes, run_lanes, &run);
        if (run.rc[0] || run.rc[1]) return -1;
        const unsigned mode = ks_flush_begin();
        if (run.outwards)
            m->kernels->join(plan->nx, m->system.middle, &m->system, up, down, &run.review[0]);
        else
            m->kernels->meet(plan->nx, m->system.middle, &m->system, up, down, &run.review[0]);
        ks_flush_end(mode);
    }
    *all = sum_of(run.review);
    return 0;
}
