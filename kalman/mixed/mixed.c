/* mixed.c -- covariances and gains of KS_MIXED by twins in single precision, and the means that follow; see mixed.h. */
#include "mixed.h"
#include "blocks.h"

#include <math.h>
#include <string.h>

enum { POOL_BYTES = 1 << 17, LEAST_STEPS = 8, MOST_STEPS = 1024 };

/* Return the floats of a row of gains, in whichever direction has more. */
static int64_t gain_numbers(int64_t nx, int64_t ny)
{
    const int64_t filter = ks_gain_numbers((int)nx, (int)ny), smooth = nx * nx;
    return filter > smooth ? filter : smooth;
}

/* Return the floats of a lane's pool: so few that they stay in a near cache and take little memory next to the outputs,
 * but enough for some steps. */
static int64_t pool_numbers(const ks_smooth_plan *plan, int lanes, int64_t least)
{
    const int64_t nx = plan->nx, ny = plan->ny;
    const int64_t longest = 2 * nx * nx + ny * nx + ny * ny + ny + gain_numbers(nx, ny);
    const int64_t share = POOL_BYTES / (int64_t)sizeof(float) / lanes / longest;
    const int64_t part = plan->T / 64;
    const int64_t steps = share < part ? share : part;
    return (steps < least ? least : steps) * longest;
}

void ks_mixed_carve(ks_carver *carver, const ks_smooth_plan *plan, int lanes, int64_t least,
                    ks_mixed *mixed)
{
    const size_t nx = (size_t)plan->nx, ny = (size_t)plan->ny, most = nx > ny ? nx : ny;
    memset(mixed, 0, sizeof *mixed);
    mixed->means = ks_means_of(plan->options.tier);
    mixed->pool = pool_numbers(plan, lanes, least < LEAST_STEPS ? LEAST_STEPS : least);
    mixed->zeros = ks_carve(carver, most, sizeof(float));
    mixed->work = ks_carve(carver, ks_means_work(nx, ny), sizeof(double));
    for (int l = 0; l < lanes; ++l) {
        ks_mixed_lane *lane = &mixed->lane[l];
        lane->mean = ks_carve(carver, nx, sizeof(float));
        lane->kept = ks_carve(carver, nx, sizeof(float));
        lane->before = ks_carve(carver, nx, sizeof(float));
        lane->after = ks_carve(carver, nx, sizeof(float));
        lane->behind = ks_carve(carver, nx, sizeof(double));
        lane->prior = ks_carve(carver, nx * nx, sizeof(float));
        /* One row of each constant array, and blocks of the others. */
        lane->pool = ks_carve(carver,
                              2 * nx * nx + ny * nx + ny * ny + (size_t)mixed->pool,
                              sizeof(float));
    }
}

/** Round `count` rows of a caller's array, from row `first` on, to floats. */
static void narrow_rows(const ks_smooth_plan *plan, int64_t numbers, ks_rows from, int64_t first,
                        int64_t count, float *to)
{
    if (from.stride == numbers * (int64_t)sizeof(double)) {
        plan->kernels->narrow(numbers * count, ks_row(from, first), to);
        return;
    }
    for (int64_t i = 0; i < count; ++i)
        plan->kernels->narrow(numbers, ks_row(from, first + i), to + i * numbers);
}

static ks_rows rows_of(const ks_series *s, int array)
{
    return array == KS_TWIN_F ? s->F : array == KS_TWIN_Q ? s->Q : array == KS_TWIN_H ? s->H : s->R;
}

/** Set which arrays of lane l's model have rows of their own. Return the floats that a step takes in them. */
static int64_t lay_out(ks_mixed *mixed, int l, const ks_smooth_plan *plan)
{
    const int nx = plan->nx, ny = plan->ny;
    const int numbers[KS_TWIN_ARRAYS] = { nx * nx, nx * nx, ny * nx, ny * ny };
    ks_mixed_lane *lane = &mixed->lane[l];
    int64_t floats = ny + gain_numbers(nx, ny);
    for (int a = 0; a < KS_TWIN_ARRAYS; ++a) {
        ks_twin_array *array = &lane->array[a];
        const ks_rows rows = rows_of(&lane->series, a);
        array->numbers = numbers[a];
        array->varies = rows.stride != 0;
        array->own = l == 0 || rows.base != rows_of(&mixed->lane[0].series, a).base;
        if (array->own && array->varies) floats += numbers[a];
    }
    return floats;
}

/** Point into the pool for blocks of mixed->length steps. Constant arrays are rounded at once. */
static void place(ks_mixed *mixed, int l, const ks_smooth_plan *plan)
{
    ks_mixed_lane *lane = &mixed->lane[l];
    float *at = lane->pool;
    for (int a = 0; a < KS_TWIN_ARRAYS; ++a) {
        ks_twin_array *array = &lane->array[a];
        const ks_rows rows = rows_of(&lane->series, a);
        if (!array->own) {
            array->rows = mixed->lane[0].array[a].rows;
            continue;
        }
        array->rows = at;
        at += array->numbers * (array->varies ? mixed->length : 1);
        /* There may be no transition at all. */
        if (!array->varies && rows.base) narrow_rows(plan, array->numbers, rows, 0, 1, array->rows);
    }
    lane->y = at;
    lane->gains = at + mixed->length * plan->ny;
}

void ks_mixed_start(const ks_plan_run *run, ks_mixed *mixed, ks_group *g, int lanes)
{
    const ks_smooth_plan *plan = run->plan;
    const size_t nx = (size_t)plan->nx, ny = (size_t)plan->ny;
    int64_t longest = 1;
    memset(mixed->zeros, 0, (nx > ny ? nx : ny) * sizeof(float));
    for (int l = 0; l < lanes; ++l) {
        mixed->lane[l].series = g->series[l];
        const int64_t numbers = lay_out(mixed, l, plan);
        if (numbers > longest) longest = numbers;
    }
    mixed->length = mixed->pool / longest;
    if (mixed->length > MOST_STEPS) mixed->length = MOST_STEPS;
    for (int l = 0; l < lanes; ++l) {
        const ks_rows zeros = { (const char *)mixed->zeros, 0 };
        ks_mixed_lane *lane = &mixed->lane[l];
        ks_series *twin = &g->series[l];
        place(mixed, l, plan);
        lane->x = g->state[l].x;
        memcpy(lane->x, lane->series.m0, nx * sizeof(double));
        memset(lane->mean, 0, nx * sizeof(float));
        memset(lane->kept, 0, nx * sizeof(float));
        plan->kernels->narrow((int64_t)(nx * nx), lane->series.P0, lane->prior);
        twin->u = twin->d = zeros;
        twin->m0 = mixed->zeros;
        twin->P0 = lane->prior;
        g->state[l].x = lane->mean;
    }
}

ks_rows ks_twin_rows(const float *rows, int64_t numbers, int64_t first)
{
    const int64_t stride = numbers * (int64_t)sizeof(float);
    const ks_rows r = { (const char *)((uintptr_t)rows - (uintptr_t)(first * stride)), stride };
    return r;
}

static void bring_array(const ks_smooth_plan *plan, const ks_mixed_lane *lane, int a, int64_t first,
                        int64_t count, ks_rows *to)
{
    const ks_twin_array *array = &lane->array[a];
    if (!array->varies) {
        to->base = (const char *)array->rows;
        to->stride = 0;
        return;
    }
    if (array->own)
        narrow_rows(plan, array->numbers, rows_of(&lane->series, a), first, count, array->rows);
    *to = ks_twin_rows(array->rows, array->numbers, first);
}

/** Give the twins the transitions into steps k0 .. k1 - 1. */
static void bring_transitions(const ks_smooth_plan *plan, const ks_mixed *mixed, ks_group *g, int lanes,
                              int64_t k0, int64_t k1)
{
    for (int l = 0; l < lanes; ++l) {
        ks_series *twin = &g->series[l];
        const int64_t from = k0 == 0 && twin->prior_x1 ? 1 : k0;
        const int64_t count = k1 > from ? k1 - from : 0;
        bring_array(plan, &mixed->lane[l], KS_TWIN_F, from - twin->shift, count, &twin->F);
        bring_array(plan, &mixed->lane[l], KS_TWIN_Q, from - twin->shift, count, &twin->Q);
    }
}

/** Set `to` to zeros where y (count) is finite, and to y where it is missing or infinite. */
static void bring_y(int64_t count, const double *y, float *to)
{
    for (int64_t i = 0; i < count; ++i) to[i] = y[i] - y[i] == 0 ? 0.0F : (float)y[i];
}

/** Give the twins the observations of steps k0 .. k1 - 1. */
static void bring_observations(const ks_smooth_plan *plan, const ks_mixed *mixed, ks_group *g,
                               int lanes, int64_t k0, int64_t k1)
{
    const int64_t ny = plan->ny;
    for (int l = 0; l < lanes; ++l) {
        const ks_mixed_lane *lane = &mixed->lane[l];
        ks_series *twin = &g->series[l];
        bring_array(plan, lane, KS_TWIN_H, k0, k1 - k0, &twin->H);
        bring_array(plan, lane, KS_TWIN_R, k0, k1 - k0, &twin->R);
        for (int64_t k = k0; k < k1; ++k)
            bring_y(ny, ks_row(lane->series.y, k), lane->y + (k - k0) * ny);
        twin->y = ks_twin_rows(lane->y, ny, k0);
    }
}

void ks_mixed_fail(ks_group *g, int l, int64_t k, ks_tally *tally)
{
    tally[l].bad_step = k;
    tally[l].bad_row = 0;
    tally[l].bad_array = KS_ARRAY_ESTIMATE;
    tally[l].fault = KS_FAULT_NOT_FINITE;
    g->alive = l;
}

static ks_sink gains_of(const ks_mixed_lane *lane, int64_t numbers, int64_t first)
{
    const ks_sink gains = { (char *)lane->gains, numbers * (int64_t)sizeof(float), first };
    return gains;
}

static ks_mean_lane lane_of(const ks_mixed_lane *lane, int64_t numbers, int64_t first)
{
    return ks_mean_lane_of(&lane->series, lane->x, gains_of(lane, numbers, first));
}

/** Compute the means of steps k0 .. k1 - 1 of the first `lanes` lanes. A lane that has failed goes as far as its
 *  covariances do. */
static void filter_means(const ks_smooth_plan *plan, ks_mixed *mixed, ks_group *g, int lanes,
                         int64_t k0, int64_t k1, const ks_forward_sinks *to, ks_tally *tally)
{
    const unsigned more = KS_OUT_PREDICTED_MEAN | KS_OUT_INNOVATION | KS_OUT_INNOVATION_STD;
    const int64_t numbers = ks_gain_numbers(plan->nx, plan->ny);
    ks_mean_lane all[KS_LANES_MOST];
    for (int l = 0; l < lanes; ++l) {
        all[l] = lane_of(&mixed->lane[l], numbers, k0);
        all[l].to = &to[l];
        all[l].more = ks_makes_any(plan, more);
        all[l].end = l < g->alive ? k1 : tally[l].bad_step;
        all[l].evidence = mixed->lane[l].evidence;
    }
    mixed->means->filter(lanes, all, k0, k1, mixed->work);
    for (int l = 0; l < lanes; ++l) {
        mixed->lane[l].evidence = tally[l].evidence = all[l].evidence;
        if (all[l].failed < 0) continue;
        ks_mixed_fail(g, l, all[l].failed, tally);
        break;
    }
}

static void smooth_means(const ks_smooth_plan *plan, ks_mixed *mixed, ks_group *g, int lanes,
                         int64_t k0, int64_t k1, const ks_forward_sinks *kept,
                         const ks_backward_sinks *to, ks_tally *tally)
{
    const int64_t numbers = (int64_t)plan->nx * plan->nx;
    ks_mean_lane all[KS_LANES_MOST];
    for (int l = 0; l < lanes; ++l) {
        all[l] = lane_of(&mixed->lane[l], numbers, k0);
        all[l].kept = kept[l].kept_mean;
        all[l].smoothed = to[l].smoothed_mean;
        all[l].end = l < g->alive ? k0 : tally[l].bad_step + 1;
    }
    mixed->means->smooth(lanes, all, k0, k1, mixed->work);
    for (int l = 0; l < lanes; ++l)
        if (all[l].failed >= 0) {
            ks_mixed_fail(g, l, all[l].failed, tally);
            break;
        }
}

/** Return how many lanes have steps whose means are to be computed: the living ones, and the one that has just
 *  failed. */
static int lanes_left(const ks_group *g, int before)
{
    return g->alive < before ? g->alive + 1 : before;
}

void ks_mixed_bring(const ks_smooth_plan *plan, const ks_mixed *mixed, ks_group *g, int64_t t0,
                    int64_t t1, int64_t k0, int64_t k1)
{
    bring_transitions(plan, mixed, g, 1, t0, t1);
    bring_observations(plan, mixed, g, 1, k0, k1);
}

static void variances(int nx, const ks_state *state, float *to)
{
    const float *C = state->C;
    for (int i = 0; i < nx; ++i) {
        to[i] = state->form == KS_FORM_ORDINARY ? C[i * nx + i] : 0;
        for (int c = 0; c < nx && state->form == KS_FORM_ARRAY; ++c) to[i] += C[i * nx + c] * C[i * nx + c];
    }
}

int ks_mixed_is_sharp(double x, double before, double after) { return after < before && after < x * x * 0x1p-82; }

/** Test the means after step k, the last of several blocks (ks_look_length()), for sharp predictions. */
static void watch(const ks_smooth_plan *plan, const ks_mixed *mixed, const ks_group *g, int lanes, int64_t k,
                  ks_tally *tally)
{
    for (int l = 0; l < lanes; ++l) {
        const ks_mixed_lane *lane = &mixed->lane[l];
        variances(plan->nx, &g->state[l], lane->after);
        for (int i = 0; i < plan->nx; ++i)
            if (ks_mixed_is_sharp(lane->x[i], (double)lane->before[i], (double)lane->after[i])) tally[l].sharp = k;
    }
}

void ks_mixed_filter(const ks_smooth_plan *plan, ks_mixed *mixed, ks_group *g,
                     const ks_pack_kernels *packs, int64_t k0, int64_t k1,
                     const ks_forward_sinks *to, ks_tally *tally)
{
    const ks_sink none = { NULL, 0, 0 };
    const int lanes = packs ? packs->width : 1;
    const int64_t length = ks_look_length(plan);
    ks_forward_sinks twin[KS_LANES_MOST];
    int64_t end;
    for (int64_t k = k0; k < k1 && g->alive; k = end) {
        const int before = g->alive;
        const int64_t look = to[0].watched ? ks_block_end(length, plan->T, k) : k1, last = look < k1 ? look : k1;
        end = last - k < mixed->length ? last : k + mixed->length;
        bring_transitions(plan, mixed, g, lanes, k, end);
        bring_observations(plan, mixed, g, lanes, k, end);
        for (int l = 0; l < lanes; ++l) {
            const ks_sink zero = { (char *)mixed->lane[l].kept, 0, 0 };
            twin[l] = to[l];
            twin[l].predicted_mean = twin[l].filtered_mean = none;
            twin[l].innovation = twin[l].innovation_std = twin[l].loglik_terms = none;
            mixed->lane[l].evidence = tally[l].evidence;
            if (to[l].kept_mean.base) twin[l].kept_mean = zero;
            twin[l].gain = gains_of(&mixed->lane[l], ks_gain_numbers(plan->nx, plan->ny), k);
            if (to[l].watched && ks_block_starts(length, k)) variances(plan->nx, &g->state[l], mixed->lane[l].before);
        }
        if (packs)
            packs->filter(g, k, end, twin, tally);
        else if (plan->kernels->filter(g->series, k, end, g->state, twin, g->scratch, tally))
            g->alive = 0;
        filter_means(plan, mixed, g, lanes_left(g, before), k, end, to, tally);
        if (end == look && to[0].watched) watch(plan, mixed, g, g->alive, end - 1, tally);
    }
}

static int came_upon_sharp(int lanes, const ks_forward_sinks *kept, const ks_tally *tally)
{
    int sharp = 0;
    for (int l = 0; l < lanes; ++l) sharp |= kept[l].watched && tally[l].sharp >= 0;
    return sharp;
}

void ks_mixed_smooth(const ks_smooth_plan *plan, ks_mixed *mixed, ks_group *g,
                     const ks_pack_kernels *packs, int64_t k0, int64_t k1,
                     const ks_forward_sinks *kept, const ks_backward_sinks *to, ks_tally *tally)
{
    const ks_sink none = { NULL, 0, 0 };
    const int lanes = packs ? packs->width : 1;
    ks_forward_sinks twin_kept[KS_LANES_MOST];
    ks_backward_sinks twin[KS_LANES_MOST];
    int64_t k;
    for (int64_t end = k1; end > k0 && g->alive; end = k) {
        const int before = g->alive;
        k = end - k0 < mixed->length ? k0 : end - mixed->length;
        bring_transitions(plan, mixed, g, lanes, k + 1, end < plan->T ? end + 1 : plan->T);
        for (int l = 0; l < lanes; ++l) {
            const ks_sink zero = { (char *)mixed->lane[l].kept, 0, 0 };
            twin_kept[l] = kept[l];
            twin_kept[l].kept_mean = zero;
            twin[l] = to[l];
            twin[l].smoothed_mean = none;
            twin[l].gain = gains_of(&mixed->lane[l], (int64_t)plan->nx * plan->nx, k);
        }
        if (packs)
            packs->smooth(g, k, end, twin_kept, twin, tally);
        else if (plan->kernels->smooth(g->series, k, end, g->state, twin_kept, twin, g->scratch,
                                       tally))
            g->alive = 0;
        if (came_upon_sharp(before, kept, tally)) {
            g->alive = 0;
            return;
        }
        smooth_means(plan, mixed, g, lanes_left(g, before), k, end, kept, to, tally);
    }
}

/** The twin smooths what is left of the mean of step 0 after subtracting its prediction from the prior. Rounding that
 *  difference costs no more than the rounding of the gain. */
void ks_mixed_prior(ks_plan_run *run, ks_mixed *mixed, ks_group *g, int l, int64_t b, ks_tally *tally)
{
    const ks_smooth_plan *plan = run->plan;
    const int nx = plan->nx;
    const ks_sink lag_one = ks_sink_of(run, run->outputs->lag_one_cov, b);
    const ks_sink cov = ks_sink_of(run, run->outputs->prior_cov, b);
    ks_mixed_lane *lane = &mixed->lane[l];
    const ks_series *s = &lane->series;
    float *twin = g->state[l].x;
    if (s->prior_x1 ||
        !ks_makes_any(plan, KS_OUT_LAG_ONE_COV | KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV)) {
        if (lag_one.base) memset(lag_one.base, 0, (size_t)nx * (size_t)nx * sizeof(float));
        return;
    }
    const double *F = ks_row(s->F, -s->shift), *u = ks_row(s->u, -s->shift), *m0 = s->m0;
    bring_transitions(plan, mixed, g, 1 + l, 0, 1);
    for (int i = 0; i < nx; ++i) {
        double left = lane->x[i] - u[i];
        for (int c = 0; c < nx; ++c) left -= F[i * nx + c] * m0[c];
        twin[i] = (float)left;
    }
    const ks_sink moved = { (char *)twin, 0, 0 };
    plan->kernels->smooth_prior(&g->series[l], &g->state[l], lag_one, moved, cov, g->scratch, tally);
    double *mean = (double *)(void *)ks_mean_out_of(run, run->outputs->prior_mean, b).base;
    for (int i = 0; mean && i < nx; ++i) mean[i] = m0[i] + (double)twin[i];
}
