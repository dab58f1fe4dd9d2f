/* scan_steps_text.h -- one step of each phase of the scan methods, for a worker of the CPU or a thread of a device. The
 * includer defines KS_IN_DOUBLE(w, name): the function `name` of ks_kernels in double. Faults go to w->tally. SF Alg. 5
 * to 7. */
#include <float.h>
#include <string.h>
#include "estimate_rounding_text.h"
#include "scan_steps.h"

enum { KS_ROW_F, KS_ROW_Q, KS_ROW_U, KS_ROW_H, KS_ROW_R, KS_ROW_D, KS_ROW_Y, KS_ROW_M0, KS_ROW_P0,
       KS_ROWS };

/** Return the numbers in a row of the model or the data. */
KS_HD int64_t ks_row_numbers(int64_t nx, int64_t ny, int row)
{
    switch (row) {
    case KS_ROW_F: case KS_ROW_Q: case KS_ROW_P0: return nx * nx;
    case KS_ROW_H: return ny * nx;
    case KS_ROW_R: return ny * ny;
    case KS_ROW_D: case KS_ROW_Y: return ny;
    default: return nx;
    }
}

/** Return the numbers of a result of one step. */
KS_HD int64_t ks_output_numbers(int64_t nx, int64_t ny, int output)
{
    switch (output) {
    case KS_STEP_PREDICTED_MEAN: return nx;
    case KS_STEP_PREDICTED_COV: case KS_STEP_LAG_ONE_COV: return nx * nx;
    case KS_STEP_INNOVATION_COV: return ny * ny;
    default: return ny;
    }
}

/** Carve the workspace of a worker whose arithmetic takes `scratch` bytes. */
KS_HD void ks_carve_scan_worker(ks_carver *carver, int nx, int ny, int single, size_t scratch,
                                ks_scan_worker *w)
{
    const size_t n = (size_t)nx;
    memset(w, 0, sizeof *w);
    w->scratch = ks_carve(carver, 1, scratch);
    w->state.mean = ks_carve(carver, n, sizeof(double));
    w->state.cov = ks_carve(carver, n * n, sizeof(double));
    w->results.mean = ks_carve(carver, n, sizeof(double));
    w->results.cov = ks_carve(carver, n * n, sizeof(double));
    for (int i = 0; i < KS_STEP_OUTPUTS; ++i)
        w->outputs[i] =
            (double *)ks_carve(carver, (size_t)ks_output_numbers(nx, ny, i), sizeof(double));
    for (int i = 0; single && i < KS_ROWS; ++i)
        w->rows[i] = (double *)ks_carve(carver, (size_t)ks_row_numbers(nx, ny, i), sizeof(double));
    w->tally = ks_tally_start();
}

/** Widen row k into w->rows[i]. A row that never changes is widened once for each series. */
KS_HD ks_rows ks_widen_row(const ks_scan_arrays *a, ks_scan_worker *w, int i, ks_rows from,
                           int64_t k, int first_time)
{
    const ks_rows rows = { (const char *)w->rows[i], 0 };
    if (from.base && (from.stride || first_time)) {
        const float *row = (const float *)ks_row(from, k);
        const int64_t numbers = ks_row_numbers(a->series.nx, a->series.ny, i);
        for (int64_t j = 0; j < numbers; ++j) w->rows[i][j] = (double)row[j];
    }
    return rows;
}

/** Return a series in double of which row k may be read: of F, Q, u, H, R, d, y, and the prior. It is valid until the
 *  worker's next call. */
KS_HD const ks_series *ks_wide_series(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    if (!a->single) return &a->series;
    const ks_series *s = &a->series;
    const int first_time = w->wide.nx == 0;
    const int transition = k > 0 || !s->prior_x1;
    const ks_rows m0 = { (const char *)s->m0, 0 }, P0 = { (const char *)s->P0, 0 };
    const ks_rows none = { NULL, 0 };
    ks_series *wide = &w->wide;
    /* Under prior x1 no transition leads into step 0. */
    const int fresh = first_time || (transition && w->no_transition);
    wide->F = ks_widen_row(a, w, KS_ROW_F, transition ? s->F : none, k - s->shift, fresh);
    wide->Q = ks_widen_row(a, w, KS_ROW_Q, transition ? s->Q : none, k - s->shift, fresh);
    wide->u = ks_widen_row(a, w, KS_ROW_U, transition ? s->u : none, k - s->shift, fresh);
    wide->H = ks_widen_row(a, w, KS_ROW_H, s->H, k, first_time);
    wide->R = ks_widen_row(a, w, KS_ROW_R, s->R, k, first_time);
    wide->d = ks_widen_row(a, w, KS_ROW_D, s->d, k, first_time);
    wide->y = ks_widen_row(a, w, KS_ROW_Y, s->y, k, first_time);
    wide->m0 = ks_widen_row(a, w, KS_ROW_M0, m0, 0, first_time).base;
    wide->P0 = ks_widen_row(a, w, KS_ROW_P0, P0, 0, first_time).base;
    w->no_transition = !transition && (first_time || w->no_transition);
    wide->nx = s->nx;
    wide->ny = s->ny;
    wide->prior_x1 = s->prior_x1;
    wide->steps = s->steps;
    return wide;
}

/** Return estimates in double as rows, one for each step. */
KS_HD ks_sink ks_wide_mean(const ks_scan_arrays *a, ks_estimates estimates)
{
    const ks_sink sink = { (char *)estimates.mean, a->series.nx * (int64_t)sizeof(double), 0 };
    return sink;
}

KS_HD ks_sink ks_wide_cov(const ks_scan_arrays *a, ks_estimates estimates)
{
    const int64_t n = a->series.nx;
    const ks_sink sink = { (char *)estimates.cov, n * n * (int64_t)sizeof(double), 0 };
    return sink;
}

KS_HD ks_sink ks_element_sink(const ks_scan_arrays *a, size_t element_bytes)
{
    const ks_sink sink = { (char *)a->elements, (int64_t)element_bytes, 0 };
    return sink;
}

/** Return 1 if the estimate of step k is finite in the plan's precision; else 0, with the fault in w->tally. */
KS_HD int ks_fits(const ks_scan_arrays *a, ks_scan_worker *w, ks_estimates estimates, int64_t k)
{
    const int nx = a->series.nx;
    const double *x = (const double *)estimates.mean + k * nx;
    const double *P = (const double *)estimates.cov + k * nx * nx;
    const double largest = a->single ? (double)FLT_MAX : DBL_MAX;
    const double largest_cov = a->single_cov ? (double)FLT_MAX : DBL_MAX;
    int fits = KS_IN_DOUBLE(w, not_finite)(nx, k, k + 1, ks_wide_mean(a, estimates),
                                           ks_wide_cov(a, estimates)) < 0;
    /* What is finite in double may overflow in the plan's precision. */
    for (int i = 0; i < nx; ++i)
        fits = fits && fabs(x[i]) <= largest && fabs(P[i * nx + i]) <= largest_cov;
    if (fits) return 1;
    w->tally.bad_step = k;
    w->tally.bad_array = KS_ARRAY_ESTIMATE;
    w->tally.fault = KS_FAULT_NOT_FINITE;
    return 0;
}

/** Write every stride-th of `from` to row k of an output of `numbers` numbers, as float if `single`. Does nothing if
 *  the output is not wanted. */
KS_HD void ks_put_every(int single, ks_sink to, int64_t k, int64_t numbers, const double *from,
                        int64_t stride)
{
    if (!to.base) return;
    void *row = ks_slot_of(to, k);
    for (int64_t i = 0; i < numbers; ++i)
        if (single)
            ((float *)row)[i] = (float)from[i * stride];
        else
            ((double *)row)[i] = from[i * stride];
}

/** Write a mean or an innovation. */
KS_HD void ks_put(const ks_scan_arrays *a, ks_sink to, int64_t k, int64_t numbers,
                  const double *from)
{
    ks_put_every(a->single, to, k, numbers, from, 1);
}

/** Write an (n, n) covariance of any kind. */
KS_HD void ks_put_square(const ks_scan_arrays *a, ks_sink to, int64_t k, int64_t n, const double *from)
{
    ks_put_every(a->single_cov, to, k, n * n, from, 1);
}

/** Write a state's covariance and its diagonal. */
KS_HD void ks_put_cov(const ks_scan_arrays *a, ks_sink full, ks_sink diagonal, int64_t k,
                      const double *cov)
{
    const int64_t n = a->series.nx;
    ks_put_square(a, full, k, n, cov);
    ks_put_every(a->single_cov, diagonal, k, n, cov, n + 1);
}

KS_HD ks_state ks_own_state(const ks_scan_worker *w)
{
    ks_state state = { w->state.mean, w->state.cov, KS_FORM_ORDINARY, KS_NOT_STEADY };
    return state;
}

/** The first element is the filter's own first step. */
KS_HD int ks_first_element(const ks_scan_arrays *a, ks_scan_worker *w, void *element)
{
    const ks_series *s = ks_wide_series(a, w, 0);
    ks_forward_sinks nowhere;
    memset(&nowhere, 0, sizeof nowhere);
    ks_state state = ks_own_state(w);
    ks_tally tally = ks_tally_start();
    KS_IN_DOUBLE(w, start)(s, &state, w->scratch);
    if (KS_IN_DOUBLE(w, filter)(s, 0, 1, &state, &nowhere, w->scratch, &tally)) {
        w->tally = tally;
        return -1;
    }
    KS_IN_DOUBLE(w, square)(s->nx, &state, w->scratch);
    KS_IN_DOUBLE(w, filter_element_first)(s->nx, state.x, state.C, element);
    w->tally.elements += 1;
    return 0;
}

/** Make the element of step k, k = 0 included, in `element`. Return 0, or -1 with the fault in w->tally. */
KS_HD int ks_make_filter_element(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k,
                                 void *element)
{
    const ks_sink to = { (char *)element, 0, k };
    if (k == 0) return ks_first_element(a, w, element);
    return KS_IN_DOUBLE(w, filter_elements)(ks_wide_series(a, w, k), k, k + 1, to, w->scratch,
                                            &w->tally);
}

/* The phases. Each takes the number of a step. Elements of both kinds are in a->elements. */

/** Make filtering elements. */
KS_HD void ks_elements_step(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    const ks_sink to = ks_element_sink(a, KS_IN_DOUBLE(w, filter_element_bytes)(a->series.nx));
    (void)ks_make_filter_element(a, w, k, ks_slot_of(to, k));
}

/** Read filtered estimates from scanned elements. */
KS_HD void ks_filtered_step(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    const int nx = a->series.nx;
    const ks_sink from = ks_element_sink(a, KS_IN_DOUBLE(w, filter_element_bytes)(nx));
    const ks_sink mean = ks_wide_mean(a, a->filtered), cov = ks_wide_cov(a, a->filtered);
    KS_IN_DOUBLE(w, filter_extract)(nx, k, k + 1, from, mean, cov);
    if (!ks_fits(a, w, a->filtered, k)) return;
    ks_put(a, a->to.filtered_mean, k, nx, (const double *)ks_slot_of(mean, k));
    ks_put_cov(a, a->to.filtered_cov, a->to.filtered_var, k, (const double *)ks_slot_of(cov, k));
}

KS_HD ks_sink ks_row_for(double *memory, ks_sink wanted)
{
    const ks_sink row = { (char *)memory, 0, 0 }, none = { NULL, 0, 0 };
    return wanted.base ? row : none;
}

/** Compare the scan's estimate of step k with the filter's from the previous estimate, `state`. */
KS_HD void ks_look_at_step(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k, ks_state *state)
{
    const int n = a->series.nx;
    const double *x = (const double *)a->filtered.mean + k * n, *P = (const double *)a->filtered.cov + k * n * n;
    KS_IN_DOUBLE(w, square)(n, state, w->scratch);
    w->doubts |= ks_estimates_disagree(n, x, P, (const double *)state->x, (const double *)state->C, KS_DISAGREES(a->single),
                                       ks_unit_roundoff(0)) ||
                 ks_covariance_is_sharp(n, P, KS_IS_LEFT(a->single), w->outputs[KS_STEP_LAG_ONE_COV]);
}

/** Make predictions, innovations and log-likelihood terms by one filter step from each filtered estimate to the next.
 *  The updated estimate is only compared. */
KS_HD void ks_evidence_step(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    const int64_t n = a->series.nx, ny = a->series.ny;
    const ks_forward_sinks *out = &a->to;
    const ks_sink predicted_cov = out->predicted_cov.base ? out->predicted_cov : out->predicted_var;
    ks_forward_sinks to;
    memset(&to, 0, sizeof to);
    to.predicted_mean = ks_row_for(w->outputs[KS_STEP_PREDICTED_MEAN], out->predicted_mean);
    to.predicted_cov = ks_row_for(w->outputs[KS_STEP_PREDICTED_COV], predicted_cov);
    to.innovation = ks_row_for(w->outputs[KS_STEP_INNOVATION], out->innovation);
    to.innovation_cov = ks_row_for(w->outputs[KS_STEP_INNOVATION_COV], out->innovation_cov);
    to.innovation_std = ks_row_for(w->outputs[KS_STEP_INNOVATION_STD], out->innovation_std);
    to.loglik_terms.base = (char *)a->loglik_terms;
    to.loglik_terms.stride = sizeof(double);
    const ks_series *s = ks_wide_series(a, w, k);
    ks_state state = ks_own_state(w);
    if (k == 0) {
        KS_IN_DOUBLE(w, start)(s, &state, w->scratch);
    } else {
        memcpy(state.x, (double *)a->filtered.mean + (k - 1) * n, (size_t)n * sizeof(double));
        memcpy(state.C, (double *)a->filtered.cov + (k - 1) * n * n,
               (size_t)(n * n) * sizeof(double));
    }
    if (KS_IN_DOUBLE(w, filter)(s, k, k + 1, &state, &to, w->scratch, &w->tally)) return;
    ks_look_at_step(a, w, k, &state);
    ks_put(a, out->predicted_mean, k, n, w->outputs[KS_STEP_PREDICTED_MEAN]);
    if (to.predicted_cov.base)
        ks_put_cov(a, out->predicted_cov, out->predicted_var, k, w->outputs[KS_STEP_PREDICTED_COV]);
    ks_put(a, out->innovation, k, ny, w->outputs[KS_STEP_INNOVATION]);
    ks_put_square(a, out->innovation_cov, k, ny, w->outputs[KS_STEP_INNOVATION_COV]);
    ks_put(a, out->innovation_std, k, ny, w->outputs[KS_STEP_INNOVATION_STD]);
    if (out->loglik_terms.base)
        *(double *)ks_slot_of(out->loglik_terms, k) = a->loglik_terms[k];
}

/** Make smoothing elements. */
KS_HD void ks_smoothing_step(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    const ks_sink to = ks_element_sink(a, KS_IN_DOUBLE(w, smooth_element_bytes)(a->series.nx));
    const int64_t next = k + 1 < a->series.steps ? k + 1 : k;
    KS_IN_DOUBLE(w, smooth_elements)(ks_wide_series(a, w, next), k, k + 1,
                                     ks_wide_mean(a, a->filtered), ks_wide_cov(a, a->filtered), to,
                                     w->scratch, &w->tally);
}

KS_HD void ks_put_smoothed(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    const ks_sink mean = ks_wide_mean(a, a->smoothed), cov = ks_wide_cov(a, a->smoothed);
    if (!ks_fits(a, w, a->smoothed, k)) return;
    ks_put(a, a->back.smoothed_mean, k, a->series.nx, (const double *)ks_slot_of(mean, k));
    ks_put_cov(a, a->back.smoothed_cov, a->back.smoothed_var, k,
               (const double *)ks_slot_of(cov, k));
}

/** Read smoothed estimates from scanned smoothing elements. */
KS_HD void ks_smoothed_step(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    const int nx = a->series.nx;
    const ks_sink from = ks_element_sink(a, KS_IN_DOUBLE(w, smooth_element_bytes)(nx));
    KS_IN_DOUBLE(w, smooth_extract)(nx, k, k + 1, from, ks_wide_mean(a, a->smoothed),
                                    ks_wide_cov(a, a->smoothed));
    ks_put_smoothed(a, w, k);
}

/** Make filtering elements for the reverse scan. Element 0 is in no suffix that is used, so it is the neutral one. */
KS_HD void ks_suffixes_step(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    if (k == 0)
        KS_IN_DOUBLE(w, filter_neutral)(a->series.nx, a->elements);
    else
        ks_elements_step(a, w, k);
}

/** Test whether the information by which the smoothed estimate of step k differs from the filtered one is accurate
 *  enough. */
KS_HD void ks_look_at_meeting(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k, ks_sink suffix)
{
    const int n = a->series.nx;
    const double *x = (const double *)a->filtered.mean + k * n, *smoothed = (const double *)a->smoothed.mean + k * n;
    if (k == a->series.steps - 1) return;
    const double *J = (const double *)ks_slot_of(suffix, k + 1) + n * n + 2 * n + n * (n + 1) / 2;
    w->doubts |= ks_information_could_do(n, J, x, smoothed, (const double *)a->smoothed.cov + k * n * n, KS_COULD_DO(a->single));
}

/** Make smoothed estimates from filtered ones and the filtering elements of the reverse scan. */
KS_HD void ks_two_filter_step(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    const ks_sink suffix = ks_element_sink(a, KS_IN_DOUBLE(w, filter_element_bytes)(a->series.nx));
    KS_IN_DOUBLE(w, two_filter)(ks_wide_series(a, w, k), k, k + 1, ks_wide_mean(a, a->filtered),
                                ks_wide_cov(a, a->filtered), suffix, ks_wide_mean(a, a->smoothed),
                                ks_wide_cov(a, a->smoothed), w->scratch);
    ks_look_at_meeting(a, w, k, suffix);
    ks_put_smoothed(a, w, k);
}

/** Make lag-one covariances. ks_smoothed_start() does step 0. */
KS_HD void ks_lag_one_step(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    const int64_t n = a->series.nx;
    const ks_sink row = { (char *)w->results.cov, 0, 0 };
    if (k == 0) return;
    KS_IN_DOUBLE(w, lag_one)(ks_wide_series(a, w, k), k, k + 1, ks_wide_cov(a, a->filtered),
                             ks_wide_cov(a, a->smoothed), row, w->scratch);
    ks_put_square(a, a->back.lag_one_cov, k, n, (const double *)w->results.cov);
}

/** Make row 0 of the lag-one covariances and the smoothed prior from the smoothed estimate of step 0. */
KS_HD void ks_smoothed_start(const ks_scan_arrays *a, ks_scan_worker *w, ks_estimates first)
{
    const int64_t n = a->series.nx;
    ks_state state = ks_own_state(w);
    memcpy(state.x, first.mean, (size_t)n * sizeof(double));
    memcpy(state.C, first.cov, (size_t)(n * n) * sizeof(double));
    memset(w->outputs[KS_STEP_LAG_ONE_COV], 0, (size_t)(n * n) * sizeof(double));
    if (!a->series.prior_x1) {
        const ks_sink lag = { (char *)w->outputs[KS_STEP_LAG_ONE_COV], 0, 0 };
        const ks_sink mean = { (char *)w->results.mean, 0, 0 };
        const ks_sink cov = { (char *)w->results.cov, 0, 0 };
        KS_IN_DOUBLE(w, smooth_prior)(ks_wide_series(a, w, 0), &state, lag, mean, cov, w->scratch,
                                      &w->tally);
        ks_put(a, a->prior_mean, 0, n, (const double *)w->results.mean);
        ks_put_square(a, a->prior_cov, 0, n, (const double *)w->results.cov);
    }
    ks_put_square(a, a->back.lag_one_cov, 0, n, w->outputs[KS_STEP_LAG_ONE_COV]);
}

/** The same as a phase, from the kept estimate of step 0. */
KS_HD void ks_start_step(const ks_scan_arrays *a, ks_scan_worker *w, int64_t k)
{
    (void)k;
    ks_smoothed_start(a, w, a->smoothed);
}
