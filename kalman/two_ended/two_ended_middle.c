/* two_ended_middle.c -- where the halves of a series meet: that both are through at about the same time.
 *
 * A step of the right takes up to twice the time of one of the left, of larger blocks 1.7 times. Where
 * covariances come to repeat, which the left looks up and the right does not, it is three times. */
#include "two_ended_lane.h"

enum { LEAST_REPEATED = 3, LOOKED_AT = 16 };

int64_t ks_left_steps_least(const ks_smooth_plan *plan)
{
    return plan->nx > 12 ? plan->T - plan->T / 8 * 3 : plan->T - plan->T / 3;
}

int64_t ks_left_steps_most(const ks_smooth_plan *plan)
{
    return plan->nx < LEAST_REPEATED || plan->nx > KS_MOST_REPEATED ? ks_left_steps_least(plan)
                                                                    : plan->T - plan->T / 4;
}

int ks_model_varies(const ks_model *m)
{
    return m->F.step_stride || m->Q.step_stride || m->H.step_stride || m->R.step_stride;
}

/** Whether no entry is missing in some rows of y, spread over the series. */
static int whole_rows(const ks_smooth_plan *plan, const ks_series *s)
{
    for (int64_t i = 0; i < LOOKED_AT; ++i) {
        const void *y = ks_row(s->y, (2 * i + 1) * s->steps / (2 * LOOKED_AT));
        for (int j = 0; j < s->ny; ++j)
            if (plan->kernels->number_bytes == sizeof(double) ? isnan(((const double *)y)[j])
                                                              : isnan(((const float *)y)[j]))
                return 0;
    }
    return 1;
}

int64_t ks_left_steps_of(const ks_run *run, const ks_series *s)
{
    return ks_model_varies(run->model) || !whole_rows(run->plan, s) ? ks_left_steps_least(run->plan)
                                                                    : ks_left_steps_most(run->plan);
}
