/* methods.c -- the phases of each method, as the drivers in kalman/ run them: sequential.c,
 * scan_filter.c, scan_smooth.c and, for chunks that are re-run, scan_chunks.c, rts_chunks.c and
 * two_filter_chunks.c. */
#include <string.h>
#include "blocktri_cost.h"
#include "count.h"
#include "machine_count.h"
#include "plan.h"

static const char *const names[KS_COUNTED_METHODS] = {
    "filter", "scan-rts", "scan-two-filter", "sequential-filter", "sequential",
    "blocktri", "blocktri-assemble", "blocktri-factor", "blocktri-solve", "blocktri-inverse"};

const char *ks_counted_method_name(ks_counted_method method)
{
    return (int)method >= 0 && (int)method < KS_COUNTED_METHODS ? names[method] : NULL;
}

int ks_counted_method_scans(ks_counted_method method)
{
    return method == KS_COUNT_FILTER || method == KS_COUNT_SCAN_RTS ||
           method == KS_COUNT_SCAN_TWO_FILTER;
}

int ks_counted_method_orders(ks_counted_method method)
{
    return method == KS_COUNT_BLOCKTRI || method == KS_COUNT_FACTOR || method == KS_COUNT_SOLVE ||
           method == KS_COUNT_INVERSE;
}

/** A case that is being counted. */
typedef struct counting {
    const ks_unit_costs *unit;
    const ks_count_case *what;
    ks_scan_plan *forward, *reverse, *suffixes;
    int64_t combine_flops;
} counting;

/** Whether the scans re-run chunks instead of storing an element for each step. Two devices do not, as each would have
 *  the aggregates of only those chunks that it has reduced itself. */
static int reruns(const ks_count_case *what) { return what->scan == KS_SCAN_CHUNKED && !what->two_devices; }

/** Count a parallel step over all time steps, of which the first and the last may differ. */
static ks_status each_step(const counting *c, ks_count *count, ks_flops first, ks_flops others,
                           ks_flops last)
{
    const int64_t T = c->what->T;
    /* For T = 1 the only step counts as the first: no phase has both a special first and a special last step. */
    const ks_lane_class list[3] = {{1, first}, {T > 1 ? T - 2 : 0, others}, {T > 1 ? 1 : 0, last}};
    return ks_count_step(count, list, 3, c->what->threads);
}

static int absorb_filter(void *user, int64_t first, int64_t steps, ks_flops *flops)
{
    const ks_unit_costs *unit = ((const counting *)user)->unit;
    return ks_flops_add(flops, first == 0 ? unit->filter_step : unit->filter_absorb, steps);
}

/** The filter's re-run of a chunk. Reading the carry or the prior is a copy, which costs nothing. */
static int rerun_filter(void *user, int64_t first, int64_t steps, ks_flops *flops)
{
    (void)first;
    return ks_flops_add(flops, ((const counting *)user)->unit->filter_step, steps);
}

static ks_status scan(counting *c, ks_count *count, const ks_schedule *schedule,
                      const ks_operation_costs *costs)
{
    const int64_t before = count->combines;
    const ks_status status = ks_count_schedule(count, schedule, costs, c->what->threads);
    /* Steps that a chunk absorbs count as combines, but have a cost of their own. */
    const int64_t absorbed = schedule->length[KS_STEPS] ? c->what->T - schedule->length[KS_ELEMENTS] : 0;
    /* This cannot overflow: it is part of the work, which has not. */
    if (status == KS_OK)
        c->combine_flops +=
            (count->combines - before - absorbed) * ks_flops_total(costs->combine);
    return status;
}

static ks_status scan_filter_elements(counting *c, ks_count *count, const ks_schedule *schedule)
{
    const ks_operation_costs costs = {c->unit->filter_combine, c->unit->filter_neutral, c,
                                      absorb_filter, rerun_filter};
    return scan(c, count, schedule, &costs);
}

static ks_status scan_smooth_elements(counting *c, ks_count *count, const ks_schedule *schedule)
{
    const ks_operation_costs costs = {c->unit->smooth_combine, c->unit->smooth_neutral, c,
                                      NULL, NULL};
    return scan(c, count, schedule, &costs);
}

/** SF Alg. 5: elements, forward scan, estimates; and for the log-likelihood a filter step from each estimate
 *  to the next. Chunks that are re-run make estimates and log-likelihood in one pass. */
static ks_status count_filter(counting *c, ks_count *count)
{
    const ks_unit_costs *unit = c->unit;
    if (reruns(c->what)) return scan_filter_elements(c, count, &c->forward->outside);
    ks_status status =
        each_step(c, count, unit->first_element, unit->filter_element, unit->filter_element);
    if (status == KS_OK) status = scan_filter_elements(c, count, &c->forward->inside);
    if (status == KS_OK)
        status = each_step(c, count, unit->filter_extract, unit->filter_extract,
                           unit->filter_extract);
    if (status == KS_OK && c->what->loglik)
        status = each_step(c, count, unit->filter_step, unit->filter_step, unit->filter_step);
    return status;
}

/** `steps` steps of the RTS smoother. `last`: the first of them is the last step of the series. */
static int go_back(const counting *c, int64_t steps, int last, ks_flops *flops)
{
    return ks_flops_add(flops, c->unit->smooth_step, steps - last) ||
           (last && ks_flops_add(flops, c->unit->smooth_step_last, 1));
}

/** SF Alg. 6 in chunks, after the filter: the reverse scan of the aggregates, the smoothed estimates at the ends of
 *  chunks, and every chunk back from its end to the end of the chunk before. */
static ks_status count_rts_chunks(counting *c, ks_count *count)
{
    const int64_t T = c->what->T, chunks = ks_scan_plan_stats(c->forward).chunks;
    const int64_t size = (T + chunks - 1) / chunks, between = chunks > 2 ? chunks - 2 : 0, several = chunks > 1;
    ks_lane_class ends = {chunks - 1, c->unit->information_about};
    ks_lane_class list[3] = {{1, {0, 0, 0, 0}}, {between, {0, 0, 0, 0}}, {several, {0, 0, 0, 0}}};
    ks_status status = scan_filter_elements(c, count, &c->suffixes->inside);
    if (status != KS_OK) return status;
    if (ks_flops_add(&ends.each, c->unit->two_filter_back_first, 1) ||
        go_back(c, several ? size - 1 : T, !several, &list[0].each) ||
        (between && go_back(c, size, 0, &list[1].each)) ||
        (several && go_back(c, T - (chunks - 1) * size + 1, 1, &list[2].each)))
        return KS_ENOMEM;
    if (several) status = ks_count_step(count, &ends, 1, c->what->threads);
    return status == KS_OK ? ks_count_step(count, list, 3, c->what->threads) : status;
}

/** SF Alg. 6 from the filter's estimates: elements, reverse scan, estimates. */
static ks_status count_rts(counting *c, ks_count *count)
{
    const ks_unit_costs *unit = c->unit;
    if (reruns(c->what)) return count_rts_chunks(c, count);
    ks_status status = each_step(
        c, count, c->what->T > 1 ? unit->smooth_element : unit->smooth_element_last,
        unit->smooth_element, unit->smooth_element_last);
    if (status == KS_OK) status = scan_smooth_elements(c, count, &c->reverse->inside);
    if (status == KS_OK)
        status = each_step(c, count, unit->smooth_extract, unit->smooth_extract,
                           unit->smooth_extract);
    return status;
}

/** SF Alg. 7, the reverse half: elements, with a neutral one in place of the first, and the scan. */
static ks_status count_reverse_filter(counting *c, ks_count *count)
{
    const ks_unit_costs *unit = c->unit;
    const ks_status status =
        each_step(c, count, unit->filter_neutral, unit->filter_element, unit->filter_element);
    return status == KS_OK ? scan_filter_elements(c, count, &c->reverse->inside) : status;
}

static ks_status count_combination(counting *c, ks_count *count)
{
    const ks_unit_costs *unit = c->unit;
    return each_step(c, count, c->what->T > 1 ? unit->two_filter : unit->two_filter_last,
                     unit->two_filter, unit->two_filter_last);
}

/** Steps first .. first + steps - 1 of the two-filter smoother in one chunk. */
static int meet_filters(const counting *c, int64_t first, int64_t steps, ks_flops *flops)
{
    const ks_unit_costs *unit = c->unit;
    const int64_t T = c->what->T;
    const int from_start = first == 0, to_end = first + steps == T, between = (int)(T > 1);
    return (!to_end && ks_flops_add(flops, unit->information_about, 1)) ||
           (!between && ks_flops_add(flops, unit->two_filter_back_only, 1)) ||
           (between && from_start && ks_flops_add(flops, unit->two_filter_back_first, 1)) ||
           (between && to_end && ks_flops_add(flops, unit->two_filter_back_last, 1)) ||
           (between && ks_flops_add(flops, unit->two_filter_back, steps - from_start - to_end));
}

/** SF Alg. 7 in chunks, after the filter: the reverse scan of the aggregates, and every chunk back. */
static ks_status count_two_filter_chunks(counting *c, ks_count *count)
{
    const int64_t T = c->what->T, chunks = ks_scan_plan_stats(c->forward).chunks;
    const int64_t size = (T + chunks - 1) / chunks;
    ks_lane_class list[3] = {{1, {0, 0, 0, 0}}, {chunks > 2 ? chunks - 2 : 0, {0, 0, 0, 0}},
                             {chunks > 1 ? 1 : 0, {0, 0, 0, 0}}};
    const ks_status status = scan_filter_elements(c, count, &c->suffixes->inside);
    if (status != KS_OK) return status;
    if (meet_filters(c, 0, chunks > 1 ? size : T, &list[0].each) ||
        (chunks > 2 && meet_filters(c, size, size, &list[1].each)) ||
        (chunks > 1 && meet_filters(c, (chunks - 1) * size, T - (chunks - 1) * size, &list[2].each)))
        return KS_ENOMEM;
    return ks_count_step(count, list, 3, c->what->threads);
}

/** Join the counts of two devices that run at the same time: the work of both, the time and steps of the slower one. */
static int join(ks_count *count, const ks_count *other)
{
    if (other->time > count->time) count->time = other->time;
    if (other->critical > count->critical) count->critical = other->critical;
    if (other->span > count->span) count->span = other->span;
    return ks_flops_add(&count->work, other->work, 1) ||
           __builtin_add_overflow(count->combines, other->combines, &count->combines);
}

/** SF Alg. 7. */
static ks_status count_two_filter(counting *c, ks_count *count)
{
    ks_count second;
    memset(&second, 0, sizeof second);
    ks_status status = count_filter(c, count);
    if (status == KS_OK && reruns(c->what)) return count_two_filter_chunks(c, count);
    if (status == KS_OK)
        status = count_reverse_filter(c, c->what->two_devices ? &second : count);
    if (status == KS_OK && c->what->two_devices && join(count, &second)) status = KS_ENOMEM;
    return status == KS_OK ? count_combination(c, count) : status;
}

/** `steps` steps one after the other. */
static ks_status in_turn(ks_count *count, ks_flops each, int64_t steps)
{
    ks_flops flops = {0, 0, 0, 0};
    if (ks_flops_add(&flops, each, steps) || ks_flops_add(&count->work, flops, 1))
        return KS_ENOMEM;
    count->time = count->critical = ks_flops_total(count->work);
    count->span += steps;
    return KS_OK;
}

static ks_status count_sequential(const counting *c, ks_count *count)
{
    const int64_t T = c->what->T;
    ks_status status = in_turn(count, c->unit->filter_step, T);
    if (c->what->method == KS_COUNT_SEQUENTIAL_FILTER || status != KS_OK) return status;
    status = in_turn(count, c->unit->smooth_step_last, 1);
    return status == KS_OK ? in_turn(count, c->unit->smooth_step, T - 1) : status;
}

/** The storage of elements with the additional memory of the scans, and of the estimates that are outputs. Smoothing
 *  elements take the place of the filtering elements; aggregates of the reverse scan need a place of their own. The
 *  filter's estimates are kept for the smoother, except in chunks that are re-run, where the smoothed ones replace
 *  them. */
static ks_status storage(const counting *c, ks_count_result *result)
{
    const ks_count_case *what = c->what;
    const int64_t n = c->unit->nx, number = (int64_t)sizeof(double);
    const int64_t filter_bytes = c->unit->filter_element_bytes;
    const int64_t smooth_bytes = c->unit->smooth_element_bytes;
    const int scans = ks_counted_method_scans(what->method);
    const int both = what->method == KS_COUNT_SCAN_RTS || what->method == KS_COUNT_SCAN_TWO_FILTER;
    const int64_t estimates = both && !reruns(what) ? 2 : 1;
    int64_t elements = 0, beside = 0, beside_bytes = 0, more, bytes;
    if (scans) {
        const ks_schedule *f = reruns(what) ? &c->forward->outside : &c->forward->inside;
        elements = f->length[KS_ELEMENTS];
        beside = f->length[KS_WORK];
        if (c->suffixes) beside += elements + c->suffixes->inside.length[KS_WORK];
        if (__builtin_mul_overflow(beside, filter_bytes, &beside_bytes)) return KS_ENOMEM;
    }
    if (what->method == KS_COUNT_SCAN_RTS && !reruns(what)) {
        if (__builtin_mul_overflow(c->reverse->inside.length[KS_WORK], smooth_bytes, &more)) return KS_ENOMEM;
        if (more > beside_bytes) beside_bytes = more;
    }
    if (__builtin_mul_overflow(elements, filter_bytes, &bytes) ||
        __builtin_add_overflow(bytes, beside_bytes, &bytes) ||
        __builtin_mul_overflow(bytes, what->two_devices ? 2 : 1, &bytes) ||
        __builtin_mul_overflow(what->T, estimates * (n + n * n) * number, &more) ||
        __builtin_add_overflow(bytes, more, &result->storage_bytes))
        return KS_ENOMEM;
    result->storage_elements = (elements + beside) * (what->two_devices ? 2 : 1);
    return KS_OK;
}

static ks_status make_plans(counting *c)
{
    ks_scan_options options = KS_SCAN_OPTIONS_INIT;
    if (!ks_counted_method_scans(c->what->method)) return KS_OK;
    options.algorithm = c->what->scan;
    options.threshold = c->what->threshold;
    ks_status status = ks_scan_plan_create(&c->forward, NULL, c->what->T, &options);
    options.direction = KS_REVERSE;
    if (status == KS_OK) status = ks_scan_plan_create(&c->reverse, NULL, c->what->T, &options);
    if (status != KS_OK || c->what->method == KS_COUNT_FILTER || !reruns(c->what)) return status;
    options.algorithm = KS_SCAN_LADNER_FISCHER;
    return ks_scan_plan_create(&c->suffixes, NULL, ks_scan_plan_stats(c->forward).chunks, &options);
}

static ks_status count_any(counting *c, ks_count *count)
{
    ks_status status;
    switch (c->what->method) {
    case KS_COUNT_FILTER: return count_filter(c, count);
    case KS_COUNT_SCAN_RTS:
        status = count_filter(c, count);
        return status == KS_OK ? count_rts(c, count) : status;
    case KS_COUNT_SCAN_TWO_FILTER: return count_two_filter(c, count);
    case KS_COUNT_SEQUENTIAL_FILTER:
    case KS_COUNT_SEQUENTIAL: return count_sequential(c, count);
    default: return KS_EINVAL;
    }
}

ks_status ks_count_method(ks_count_result *result, const ks_unit_costs *costs,
                          const ks_count_case *what)
{
    counting c = {costs, what, NULL, NULL, NULL, 0};
    ks_count count;
    memset(result, 0, sizeof *result);
    memset(&count, 0, sizeof count);
    if (!ks_counted_method_name(what->method) || what->T < 1 || what->threads < 1) return KS_EINVAL;
    if (what->two_devices && what->method != KS_COUNT_SCAN_TWO_FILTER) return KS_EINVAL;
    ks_status status = make_plans(&c);
    if (status == KS_OK && what->method >= KS_COUNT_BLOCKTRI) {
        status = ks_count_blocks(&count, result, costs, what);
    } else {
        if (status == KS_OK) status = count_any(&c, &count);
        if (status == KS_OK) status = storage(&c, result);
    }
    ks_scan_plan_destroy(c.forward);
    ks_scan_plan_destroy(c.reverse);
    ks_scan_plan_destroy(c.suffixes);
    if (status != KS_OK) return status; /* the counts may have overflowed 64 bits */
    result->work = count.work;
    result->work_flops = ks_flops_total(count.work);
    result->time_flops = count.time;
    result->span_flops = count.critical;
    result->span_steps = count.span;
    result->combines = count.combines;
    result->combine_flops = c.combine_flops;
    return KS_OK;
}
