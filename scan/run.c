/* run.c -- running a plan: workspace, operator, machine. */
#include "carve.h"
#include "plan.h"
#include "pool.h"

/* Lanes of one call of the operator: enough to make the call cheap, and to fill a vector. */
#define BATCH_BYTES 32768
#define MOST_BATCH  16
#define VECTOR      4

static int uses(const ks_schedule *schedule, ks_part_kind kind)
{
    for (int64_t r = 0; r < schedule->rounds; ++r)
        for (int p = 0; p < schedule->round[r].parts; ++p)
            if (schedule->round[r].part[p].kind == kind) return 1;
    return 0;
}

static int64_t most_lanes(const ks_schedule *schedule)
{
    int64_t most = 1;
    for (int64_t r = 0; r < schedule->rounds; ++r) {
        const int64_t lanes = ks_round_lanes(&schedule->round[r]);
        if (lanes > most) most = lanes;
    }
    return most;
}

static int valid(const ks_scan_plan *plan, const ks_operator *op)
{
    if (!plan || !op || op->size != sizeof *op || op->element_bytes == 0 || !op->combine) return 0;
    if (!op->absorb != !op->rerun) return 0;
    return op->neutral || !uses(ks_scan_plan_schedule(plan, op), KS_PART_NEUTRAL);
}

/* Byte offsets inside a buffer must fit ptrdiff_t. */
static int addressable(const ks_schedule *schedule, size_t element_bytes)
{
    const int64_t most = element_bytes > PTRDIFF_MAX ? 0 : PTRDIFF_MAX / (int64_t)element_bytes;
    return schedule->length[KS_ELEMENTS] <= most && schedule->length[KS_WORK] <= most;
}

static void carve(ks_carver *carver, const ks_schedule *schedule, ks_binding *binding)
{
    const ks_operator *op = binding->op;
    binding->buffer[KS_WORK] =
        ks_carve(carver, (size_t)schedule->length[KS_WORK], op->element_bytes);
    for (int w = 0; w < binding->workers; ++w) {
        const size_t before = carver->used;
        char *temporary = ks_carve(carver, (size_t)binding->temporaries, op->element_bytes);
        char *scratch = ks_carve(carver, 1, op->scratch_bytes);
        if (w == 0) {
            binding->temporary = temporary;
            binding->scratch = scratch;
            binding->slice = carver->used - before;
        }
    }
}

static ks_binding bind(const ks_scan_plan *plan, const ks_schedule *schedule,
                       const ks_operator *op, void *elements)
{
    ks_binding binding = {0};
    binding.op = op;
    binding.context = plan->context;
    binding.workers = ks_workers(plan->context, plan->threads, most_lanes(schedule));
    binding.buffer[KS_ELEMENTS] = elements;
    if (uses(schedule, KS_PART_DOWN_SWEEP)) {
        const size_t batch = BATCH_BYTES / op->element_bytes;
        binding.temporaries = batch < VECTOR ? 1 : batch > MOST_BATCH ? MOST_BATCH : (int64_t)batch / VECTOR * VECTOR;
    }
    return binding;
}

size_t ks_scan_workspace_bytes(const ks_scan_plan *plan, const ks_operator *op)
{
    if (!valid(plan, op)) return SIZE_MAX;
    const ks_schedule *schedule = ks_scan_plan_schedule(plan, op);
    if (!addressable(schedule, op->element_bytes)) return SIZE_MAX;
    ks_binding binding = bind(plan, schedule, op, NULL);
    ks_carver measure = ks_carver_at(NULL);
    carve(&measure, schedule, &binding);
    return ks_carved_bytes(&measure);
}

ks_status ks_scan_run_on(const ks_machine *machine, const ks_scan_plan *plan,
                         const ks_operator *op, void *elements, void *work)
{
    const size_t bytes = ks_scan_workspace_bytes(plan, op);
    if (bytes == SIZE_MAX || !elements || (bytes != 0 && !work)) return KS_EINVAL;
    if ((uintptr_t)work % KS_CARVE_ALIGNMENT != 0) return KS_EINVAL;
    const ks_schedule *schedule = ks_scan_plan_schedule(plan, op);
    ks_binding binding = bind(plan, schedule, op, elements);
    ks_carver place = ks_carver_at(work);
    carve(&place, schedule, &binding);
    if (!machine) machine = binding.workers > 1 ? &ks_machine_threads : &ks_machine_serial;
    const ks_status status = machine->run(schedule, &binding);
    ks_carve_end(&place);
    return status;
}

ks_status ks_scan_run(const ks_scan_plan *plan, const ks_operator *op, void *elements, void *work)
{
    return ks_scan_run_on(NULL, plan, op, elements, work);
}
