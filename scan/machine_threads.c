/* machine_threads.c -- each round is a parallel loop over its lanes. */
#include <stdatomic.h>

#include "machine.h"
#include "pool.h"

typedef struct round_task {
    const ks_binding *binding;
    const ks_round *round;
    atomic_int failed;
} round_task;

/* Lanes are numbered across the parts of the round. */
static void run_range(void *arg, int64_t begin, int64_t end, int worker)
{
    round_task *task = arg;
    for (int p = 0; p < task->round->parts && begin < end; ++p) {
        const ks_part *part = &task->round->part[p];
        if (begin < part->lanes) {
            const int64_t stop = end < part->lanes ? end : part->lanes;
            if (ks_run_lanes(task->binding, part, begin, stop, worker)) {
                atomic_store(&task->failed, 1);
                return;
            }
            begin = stop;
        }
        begin -= part->lanes;
        end -= part->lanes;
    }
}

static ks_status run(const ks_schedule *schedule, const ks_binding *binding)
{
    round_task task = {binding, NULL, 0};
    for (int64_t r = 0; r < schedule->rounds; ++r) {
        task.round = &schedule->round[r];
        const int64_t lanes = ks_round_lanes(task.round);
        const int workers = ks_workers(binding->context, binding->workers, lanes);
        ks_parallel_for(binding->context, workers, lanes, run_range, &task);
        if (atomic_load(&task.failed)) return KS_ENOTPD;
    }
    return KS_OK;
}

const ks_machine ks_machine_threads = {"threads", run};
