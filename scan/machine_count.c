/* machine_count.c -- counts of schedules, by classes of lanes or by executing every lane. */
#include <stdlib.h>
#include "machine_count.h"

static int add(int64_t *sum, int64_t value) { return __builtin_add_overflow(*sum, value, sum); }

/** *sum += a * b. */
static int add_product(int64_t *sum, int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) || add(sum, product);
}

/** Count the operations of thread t. Lanes are dealt to the threads in turn. Of each class the thread has one lane for
 *  each complete turn, and one more if it is among the threads that the remaining lanes go to. */
static int thread_flops(const ks_lane_class *c, int classes, int64_t threads, int64_t t,
                        int64_t *flops)
{
    int64_t first = 0; /* thread of the class's first lane */
    *flops = 0;
    for (int i = 0; i < classes; ++i) {
        const int64_t left = c[i].lanes % threads;
        const int64_t distance = t >= first ? t - first : t - first + threads;
        if (add_product(flops, c[i].lanes / threads + (distance < left), ks_flops_total(c[i].each)))
            return -1;
        first = first < threads - left ? first + left : first - (threads - left);
    }
    return 0;
}

ks_status ks_count_step(ks_count *count, const ks_lane_class *lane_class, int classes,
                        int64_t threads)
{
    int64_t first = 0, busiest = 0, critical = 0;
    if (threads < 1 || classes < 0) return KS_EINVAL;
    /* Beyond complete turns, a class adds to the threads of one arc of a circle. The sum over all arcs is largest at
     * the start of one of them, so only these threads are looked at. */
    for (int i = 0; i < classes; ++i) {
        int64_t flops;
        const int64_t each = ks_flops_total(lane_class[i].each);
        const int64_t left = lane_class[i].lanes % threads;
        if (lane_class[i].lanes < 0) return KS_EINVAL;
        if (ks_flops_add(&count->work, lane_class[i].each, lane_class[i].lanes)) return KS_ENOMEM;
        if (thread_flops(lane_class, classes, threads, first, &flops)) return KS_ENOMEM;
        if (flops > busiest) busiest = flops;
        if (lane_class[i].lanes > 0 && each > critical) critical = each;
        first = first < threads - left ? first + left : first - (threads - left);
    }
    if (add(&count->time, busiest) || add(&count->critical, critical) || add(&count->span, 1))
        return KS_ENOMEM;
    return KS_OK;
}

/** The classes of a round that have been found so far. */
typedef struct class_list {
    ks_lane_class item[KS_LANE_CLASSES];
    int count;
} class_list;

static int same(ks_flops a, ks_flops b)
{
    return a.adds == b.adds && a.multiplies == b.multiplies && a.divisions == b.divisions &&
           a.square_roots == b.square_roots;
}

static ks_status append(class_list *list, int64_t lanes, ks_flops each)
{
    if (list->count > 0 && same(list->item[list->count - 1].each, each)) {
        list->item[list->count - 1].lanes += lanes;
        return KS_OK;
    }
    if (list->count == KS_LANE_CLASSES) return KS_EINVAL;
    list->item[list->count].lanes = lanes;
    list->item[list->count++].each = each;
    return KS_OK;
}

static ks_status append_chunks(class_list *list, const ks_part *part,
                               const ks_operation_costs *costs)
{
    const int absorb = part->kind == KS_PART_ABSORB;
    int (*const cost)(void *, int64_t, int64_t, ks_flops *) = absorb ? costs->absorb : costs->rerun;
    if (!cost) return KS_EINVAL;
    for (int64_t l = 0; l < part->lanes; ++l) {
        const int64_t first = ks_slot(absorb ? &part->lhs : &part->rhs, l, 0);
        ks_flops flops = {0, 0, 0, 0};
        if (cost(costs->user, first, part->chain, &flops)) return KS_ENOMEM;
        const ks_status status = append(list, 1, flops);
        if (status != KS_OK) return status;
    }
    return KS_OK;
}

static ks_status append_part(class_list *list, const ks_part *part, const ks_operation_costs *costs)
{
    ks_flops flops = {0, 0, 0, 0};
    switch (part->kind) {
    case KS_PART_COMBINE:
    case KS_PART_DOWN_SWEEP:
        if (ks_flops_add(&flops, costs->combine, part->chain)) return KS_ENOMEM;
        break;
    case KS_PART_COPY: break;
    case KS_PART_NEUTRAL: flops = costs->neutral; break;
    case KS_PART_ABSORB:
    case KS_PART_RERUN: return append_chunks(list, part, costs);
    }
    return append(list, part->lanes, flops);
}

/** Count the combines of a part. Combines by which an operator absorbs its steps are included. */
static int add_combines(ks_count *count, const ks_part *part)
{
    switch (part->kind) {
    case KS_PART_COMBINE:
    case KS_PART_DOWN_SWEEP: return add_product(&count->combines, part->lanes, part->chain);
    case KS_PART_ABSORB: return add_product(&count->combines, part->lanes, part->chain - 1);
    default: return 0;
    }
}

ks_status ks_count_schedule(ks_count *count, const ks_schedule *schedule,
                            const ks_operation_costs *costs, int64_t threads)
{
    for (int64_t r = 0; r < schedule->rounds; ++r) {
        const ks_round *round = &schedule->round[r];
        class_list list;
        ks_status status = KS_OK;
        list.count = 0;
        for (int p = 0; p < round->parts && status == KS_OK; ++p) {
            if (add_combines(count, &round->part[p])) return KS_ENOMEM;
            status = append_part(&list, &round->part[p], costs);
        }
        if (status == KS_OK) status = ks_count_step(count, list.item, list.count, threads);
        if (status != KS_OK) return status;
    }
    return KS_OK;
}

/** Execute one round. `own` holds a zero for each thread. */
static ks_status execute_round(ks_count *count, const ks_round *round, const ks_binding *binding,
                               ks_flops (*take)(void), int64_t threads, int64_t *own)
{
    int64_t lane = 0, busiest = 0, critical = 0;
    (void)take();
    for (int p = 0; p < round->parts; ++p) {
        const ks_part *part = &round->part[p];
        if (add_combines(count, part)) return KS_ENOMEM;
        for (int64_t l = 0; l < part->lanes; ++l, ++lane) {
            if (ks_run_lanes(binding, part, l, l + 1, 0)) return KS_ENOTPD;
            const ks_flops flops = take();
            const int64_t each = ks_flops_total(flops);
            if (ks_flops_add(&count->work, flops, 1) || add(&own[lane % threads], each))
                return KS_ENOMEM;
            if (own[lane % threads] > busiest) busiest = own[lane % threads];
            if (each > critical) critical = each;
        }
    }
    if (add(&count->time, busiest) || add(&count->critical, critical) || add(&count->span, 1))
        return KS_ENOMEM;
    return KS_OK;
}

ks_status ks_count_execute(ks_count *count, const ks_schedule *schedule, const ks_binding *binding,
                           ks_flops (*take)(void), int64_t threads)
{
    ks_status status = KS_OK;
    if (threads < 1) return KS_EINVAL;
    for (int64_t r = 0; r < schedule->rounds && status == KS_OK; ++r) {
        const int64_t lanes = ks_round_lanes(&schedule->round[r]);
        int64_t *own = calloc((size_t)(threads < lanes ? threads : lanes), sizeof *own);
        if (!own) return KS_ENOMEM;
        status = execute_round(count, &schedule->round[r], binding, take, threads, own);
        free(own);
    }
    return status;
}
