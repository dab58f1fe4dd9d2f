/* plan.c -- creating plans. */
#include "plan.h"
#include "planners.h"
#include "pool.h"

/* Keeps the planners' doubled distances within 64 bits. */
#define LONGEST (INT64_MAX / 4)

typedef struct plan_request {
    int64_t length;
    ks_scan_options options;
    ks_chunks chunks;
} plan_request;

static void schedule_inside(ks_schedule *schedule, const plan_request *request)
{
    const ks_array elements = {KS_ELEMENTS, 0, 1, request->length};
    schedule->length[KS_ELEMENTS] = request->length;
    schedule->length[KS_WORK] = 0;
    schedule->length[KS_STEPS] = 0;
    schedule->rounds = 0;
    switch (request->options.algorithm) {
    case KS_SCAN_HILLIS_STEELE: ks_plan_hillis_steele(schedule, &elements); break;
    case KS_SCAN_BLELLOCH: ks_plan_blelloch(schedule, &elements); break;
    case KS_SCAN_LADNER_FISCHER: ks_plan_ladner_fischer(schedule, &elements); break;
    case KS_SCAN_SENGUPTA:
        ks_plan_sengupta(schedule, &elements, request->options.threshold);
        break;
    case KS_SCAN_CHUNKED: ks_plan_chunked(schedule, &elements, request->chunks); break;
    }
    if (schedule->round && request->options.direction == KS_REVERSE) ks_schedule_reverse(schedule);
}

static void schedule_outside(ks_schedule *schedule, const plan_request *request)
{
    const ks_array aggregates = {KS_ELEMENTS, 0, 1, request->chunks.count};
    schedule->length[KS_ELEMENTS] = request->chunks.count;
    schedule->length[KS_WORK] = 0;
    schedule->length[KS_STEPS] = request->length;
    schedule->rounds = 0;
    if (request->options.algorithm != KS_SCAN_CHUNKED) return;
    ks_plan_chunked_outside(schedule, &aggregates, request->chunks);
    if (schedule->round && request->options.direction == KS_REVERSE) ks_schedule_reverse(schedule);
}

const char *ks_scan_plan_invalid(int64_t length, const ks_scan_options *options)
{
    static const ks_scan_options defaults = KS_SCAN_OPTIONS_INIT;
    const ks_scan_options *o = options ? options : &defaults;
    if (length < 1 || length > LONGEST) return "length";
    if (o->size != sizeof *o) return "size";
    if ((int)o->algorithm < 0 || (int)o->algorithm >= KS_SCAN_ALGORITHMS) return "algorithm";
    if (o->direction != KS_FORWARD && o->direction != KS_REVERSE) return "direction";
    if (o->threshold < (o->algorithm == KS_SCAN_SENGUPTA ? 1 : 0)) return "threshold";
    if (o->chunks < 0) return "chunks";
    return o->threads < 0 ? "threads" : NULL;
}

ks_status ks_scan_plan_create(ks_scan_plan **out, ks_context *context, int64_t length,
                              const ks_scan_options *options)
{
    static const ks_scan_options defaults = KS_SCAN_OPTIONS_INIT;
    if (!out) return KS_EINVAL;
    *out = NULL;
    if (!options) options = &defaults;
    if (ks_scan_plan_invalid(length, options)) return KS_EINVAL;

    plan_request request = {length, *options, {0, 0, 0}};
    if (options->algorithm == KS_SCAN_CHUNKED)
        request.chunks = ks_cut_chunks(length, options->chunks);

    /* The planners run twice; the first pass only counts the rounds. */
    ks_schedule inside = {{0}, 0, NULL}, outside = {{0}, 0, NULL};
    schedule_inside(&inside, &request);
    schedule_outside(&outside, &request);
    const size_t rounds = (size_t)(inside.rounds + outside.rounds);
    ks_scan_plan *plan = ks_allocate(context, sizeof *plan + rounds * sizeof(ks_round));
    if (!plan) return KS_ENOMEM;
    plan->context = context;
    plan->threads = options->threads;
    plan->algorithm = options->algorithm;
    plan->direction = options->direction;
    plan->inside.round = (ks_round *)(plan + 1);
    plan->outside.round = plan->inside.round + inside.rounds;
    schedule_inside(&plan->inside, &request);
    schedule_outside(&plan->outside, &request);
    plan->stats = ks_schedule_stats(&plan->inside);
    plan->stats.chunks = request.chunks.count;
    *out = plan;
    return KS_OK;
}

void ks_scan_plan_both_ways(ks_scan_plan *plan)
{
    ks_schedule_both_ways(&plan->inside);
    plan->stats = ks_schedule_stats(&plan->inside);
}

void ks_scan_plan_destroy(ks_scan_plan *plan)
{
    if (plan) ks_release(plan->context, plan);
}

ks_scan_stats ks_scan_plan_stats(const ks_scan_plan *plan)
{
    const ks_scan_stats nothing = {0, 0, 0, 0};
    return plan ? plan->stats : nothing;
}

const ks_schedule *ks_scan_plan_schedule(const ks_scan_plan *plan, const ks_operator *op)
{
    const int absorbs = plan->algorithm == KS_SCAN_CHUNKED && op->absorb && op->rerun;
    return absorbs ? &plan->outside : &plan->inside;
}

const ks_round *ks_scan_plan_rounds(const ks_scan_plan *plan, int64_t *count)
{
    *count = plan ? plan->inside.rounds : 0;
    return plan ? plan->inside.round : NULL;
}

int64_t ks_scan_plan_spare(const ks_scan_plan *plan)
{
    return plan ? plan->inside.length[KS_WORK] : 0;
}

const char *ks_scan_name(ks_scan_algorithm algorithm)
{
    switch (algorithm) {
    case KS_SCAN_HILLIS_STEELE: return "hillis-steele";
    case KS_SCAN_BLELLOCH: return "blelloch";
    case KS_SCAN_LADNER_FISCHER: return "ladner-fischer";
    case KS_SCAN_SENGUPTA: return "sengupta";
    case KS_SCAN_CHUNKED: return "chunked";
    }
    return NULL;
}
