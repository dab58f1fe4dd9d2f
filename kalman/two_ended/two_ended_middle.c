/* two_ended_middle.c -- the step at which the halves of a series meet, so that both take about the same time.
 *
 * Time of a step of the right half, as a multiple of the left's:
 *
 *     Q constant                                        0.8 to 1.5, by processor; least for larger blocks
 *     Q constant, three, five, seven or eight states    1.8: no hand-shaped kernels or no literals there
 *     Q varies with the step                            1.7 to 2, less for larger blocks
 *     covariances come to repeat                        3 to 4: the left half repeats more of them */
#include <math.h>
#include <string.h>
#include "two_ended_lane.h"

/* From LEAST_REPEATED to MOST_REPEATED states steps are expected to repeat. Up to MOST_BOTH, both ends on two threads
 * are faster than one thread that looks steps up; above, they are slower. LOOKED_AT: number of rows sampled. */
enum { LEAST_REPEATED = 2, MOST_BOTH = 4, MOST_REPEATED = 7, LOOKED_AT = 16 };

/** Steps of the right half if no step is expected to repeat; the second function if Q is constant and
 *  may be inverted. */
static int64_t right_steps(const ks_smooth_plan *plan)
{
    return plan->nx > 12 ? plan->T * 3 / 8 : plan->T / 3;
}

static int64_t right_steps_of_inverse(const ks_smooth_plan *plan)
{
    if (plan->kernels->number_bytes < sizeof(double) || plan->nx == 1) return right_steps(plan);
    if (plan->nx == 3 || plan->nx == 5 || plan->nx == 7 || plan->nx == 8) return plan->T * 4 / 11;
    return plan->nx <= 12 ? plan->T * 2 / 5 : plan->T / 2;
}

int64_t ks_left_steps_least(const ks_smooth_plan *plan) { return plan->T - right_steps_of_inverse(plan); }

int64_t ks_left_steps_most(const ks_smooth_plan *plan)
{
    return plan->T - plan->T / (plan->nx <= 4 ? 5 : 4);
}

/** The step of the i-th sampled row. */
static int64_t looked_at(const ks_series *s, int64_t i)
{
    return (2 * i + 1) * s->steps / (2 * LOOKED_AT);
}

static double number_of(const ks_smooth_plan *plan, const void *row, int64_t i)
{
    return plan->kernels->number_bytes == sizeof(double) ? ((const double *)row)[i] : (double)((const float *)row)[i];
}

/** Whether no entry is missing in the sampled rows of y. */
static int whole_rows(const ks_smooth_plan *plan, const ks_series *s)
{
    for (int64_t i = 0; i < LOOKED_AT; ++i)
        for (int j = 0; j < s->ny; ++j)
            if (isnan(number_of(plan, ks_row(s->y, looked_at(s, i)), j))) return 0;
    return 1;
}

double ks_size_of_observations(const ks_smooth_plan *plan, const ks_series *s)
{
    double most = 0;
    for (int64_t i = 0; i < LOOKED_AT; ++i) {
        const int64_t k = looked_at(s, i);
        double sum = 0;
        for (int64_t j = 0; j < s->ny; ++j) {
            const double v = number_of(plan, ks_row(s->y, k), j) - number_of(plan, ks_row(s->d, k), j);
            const double r = number_of(plan, ks_row(s->R, k), j * (s->ny + 1));
            if (isfinite(v) && r > 0) sum += v * v / r;
        }
        if (sum > most) most = sum;
    }
    return most;
}

int64_t ks_left_steps_of(const ks_plan_run *run, const ks_series *s)
{
    const ks_smooth_plan *plan = run->plan;
    if (s->Q.stride) return plan->T - right_steps(plan);
    if (plan->nx >= LEAST_REPEATED && plan->nx <= MOST_REPEATED && ks_steps_may_repeat(plan, run->model) && whole_rows(plan, s))
        return ks_left_steps_most(plan);
    return plan->T - right_steps_of_inverse(plan);
}

int ks_alone_where_repeated(const ks_lane *l)
{
    return l->run->plan->nx > MOST_BOTH && ks_steps_may_repeat(l->run->plan, l->run->model);
}

int ks_may_repeat_early(const ks_lane *l)
{
    return ks_alone_where_repeated(l) && whole_rows(l->run->plan, &l->series);
}

int ks_left_repeats(const ks_lane *l, int64_t end)
{
    enum { BEFORE = 64, PERIODS = 8 };
    const ks_smooth_plan *plan = l->run->plan;
    const ks_sink kept = ks_left_rows(l, 0).kept_C;
    const size_t bytes = (size_t)plan->nx * (size_t)plan->nx * plan->kernels->number_bytes;
    int repeated = 0;
    if (end < BEFORE + PERIODS) return 0;
    for (int64_t k = end - BEFORE; k < end; ++k)
        for (int p = 1; p <= PERIODS; ++p)
            if (!memcmp(ks_slot_of(kept, k), ks_slot_of(kept, k - p), bytes)) {
                repeated += 1;
                break;
            }
    return 2 * repeated > BEFORE;
}
