#include "results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memory.h"

/* The shape of one step, or of one series for an array without steps. */
typedef enum shape { ONE, STATE, STATES, OBS, OBSERVATIONS } shape;

typedef struct result_kind {
    unsigned bit;
    size_t member;
    const char *path, *long_name;
    shape shape;
    bool steps, wide, transposed; /* wide: f64 in every precision */
} result_kind;

#define MEMBER(name) offsetof(ks_result_places, outputs.name)
static const result_kind kinds[] = {
    {KS_OUT_LOGLIK, MEMBER(loglik), "loglik", "log-likelihood log p(y)", ONE, false, true, false},
    {KS_OUT_LOGLIK_TERMS, MEMBER(loglik_terms), "loglik_terms",
     "log p(y[k] | y[0..k-1]), the terms of the log-likelihood", ONE, true, true, false},
    {KS_OUT_SMOOTHED_MEAN, MEMBER(smoothed_mean), "smoothed/mean", "smoothed mean E(x[k] | y)",
     STATE, true, false, false},
    {KS_OUT_SMOOTHED_COV, MEMBER(smoothed_cov), "smoothed/cov", "smoothed covariance Cov(x[k] | y)",
     STATES, true, false, false},
    {KS_OUT_SMOOTHED_VAR, MEMBER(smoothed_var), "smoothed/cov_diag",
     "smoothed variances, the diagonal of Cov(x[k] | y)", STATE, true, false, false},
    {KS_OUT_LAG_ONE_COV, MEMBER(lag_one_cov), "smoothed/lag_one_cov",
     "lag-one covariance Cov(x[k], x[k-1] | y)", STATES, true, false, true},
    {KS_OUT_PRIOR_MEAN, MEMBER(prior_mean), "smoothed/prior_mean",
     "smoothed mean of the prior state E(x[-1] | y)", STATE, false, false, false},
    {KS_OUT_PRIOR_COV, MEMBER(prior_cov), "smoothed/prior_cov",
     "smoothed covariance of the prior state Cov(x[-1] | y)", STATES, false, false, false},
    {KS_OUT_FILTERED_MEAN, MEMBER(filtered_mean), "filtered/mean",
     "filtered mean E(x[k] | y[0..k])", STATE, true, false, false},
    {KS_OUT_FILTERED_COV, MEMBER(filtered_cov), "filtered/cov",
     "filtered covariance Cov(x[k] | y[0..k])", STATES, true, false, false},
    {KS_OUT_FILTERED_VAR, MEMBER(filtered_var), "filtered/cov_diag",
     "filtered variances, the diagonal of Cov(x[k] | y[0..k])", STATE, true, false, false},
    {KS_OUT_PREDICTED_MEAN, MEMBER(predicted_mean), "predicted/mean",
     "predicted mean E(x[k] | y[0..k-1])", STATE, true, false, false},
    {KS_OUT_PREDICTED_COV, MEMBER(predicted_cov), "predicted/cov",
     "predicted covariance Cov(x[k] | y[0..k-1])", STATES, true, false, false},
    {KS_OUT_PREDICTED_VAR, MEMBER(predicted_var), "predicted/cov_diag",
     "predicted variances, the diagonal of Cov(x[k] | y[0..k-1])", STATE, true, false, false},
    {KS_OUT_INNOVATION, MEMBER(innovation), "innovations/residual",
     "innovation y[k] - d[k] - H[k] E(x[k] | y[0..k-1])", OBS, true, false, false},
    {KS_OUT_INNOVATION_COV, MEMBER(innovation_cov), "innovations/cov",
     "innovation covariance S[k]", OBSERVATIONS, true, false, false},
    {KS_OUT_INNOVATION_STD, MEMBER(innovation_std), "innovations/standardized",
     "innovation multiplied by L^-1, S[k] = L L'", OBS, true, false, false},
};

/* The arrays of the signal, with their names for smoothed and for filtered estimates. --cov decides which of them are
 * made. */
typedef struct signal_kind {
    size_t member;
    const char *path, *smoothed_name, *filtered_name;
    shape shape;
    bool parts[3]; /* with KS_COV_FULL, KS_COV_DIAG, KS_COV_NONE */
} signal_kind;

#undef MEMBER
#define MEMBER(name) offsetof(ks_result_places, signal.name)
static const signal_kind signal_kinds[] = {
    {MEMBER(mean), "signal/mean", "mean of the signal E(H[k] x[k] + d[k] | y)",
     "mean of the signal E(H[k] x[k] + d[k] | y[0..k])", OBS, {true, true, true}},
    {MEMBER(cov), "signal/cov", "covariance of the signal Cov(H[k] x[k] | y)",
     "covariance of the signal Cov(H[k] x[k] | y[0..k])", OBSERVATIONS, {true, false, false}},
    {MEMBER(var), "signal/cov_diag", "variances of the signal, the diagonal of Cov(H[k] x[k] | y)",
     "variances of the signal, the diagonal of Cov(H[k] x[k] | y[0..k])", OBS, {false, true, false}},
    {MEMBER(observed_var), "signal/observed_var",
     "variances of an observation of the signal, the diagonal of Cov(H[k] x[k] | y) + R[k]",
     "variances of an observation of the signal, the diagonal of Cov(H[k] x[k] | y[0..k]) + R[k]", OBS,
     {true, true, false}},
};

/* The mean is always written, of the covariance the part that was requested. */
static unsigned estimate_bits(ks_cov part, unsigned mean, unsigned cov, unsigned var)
{
    return mean | (part == KS_COV_FULL ? cov : part == KS_COV_DIAG ? var : 0u);
}

static unsigned wanted(const ks_settings *settings, const ks_input *input)
{
    unsigned bits = KS_OUT_LOGLIK;
    if (!settings->output && !settings->dry_run) return bits;
    if (settings->job == KS_JOB_SMOOTH)
        bits |= estimate_bits(settings->cov, KS_OUT_SMOOTHED_MEAN, KS_OUT_SMOOTHED_COV,
                              KS_OUT_SMOOTHED_VAR);
    else
        bits |= KS_OUT_LOGLIK_TERMS;
    if (settings->job == KS_JOB_FILTER || settings->filtered)
        bits |= estimate_bits(settings->cov, KS_OUT_FILTERED_MEAN, KS_OUT_FILTERED_COV,
                              KS_OUT_FILTERED_VAR);
    if (settings->predicted)
        bits |= estimate_bits(settings->cov, KS_OUT_PREDICTED_MEAN, KS_OUT_PREDICTED_COV,
                              KS_OUT_PREDICTED_VAR);
    if (settings->innovations)
        bits |= KS_OUT_INNOVATION | KS_OUT_INNOVATION_COV | KS_OUT_INNOVATION_STD;
    if (settings->lag_one) {
        bits |= KS_OUT_LAG_ONE_COV;
        if (input->prior == KS_PRIOR_X0) bits |= KS_OUT_PRIOR_MEAN | KS_OUT_PRIOR_COV;
    }
    return bits;
}

/* The covariances that the signal is computed from. */
static unsigned states_of_signal(const ks_settings *settings)
{
    if (!settings->signal || settings->cov == KS_COV_NONE) return 0;
    return settings->job == KS_JOB_SMOOTH ? KS_OUT_SMOOTHED_COV : KS_OUT_FILTERED_COV;
}

static void add_axis(ks_output_array *array, ks_axis axis, int64_t length)
{
    array->axes[array->rank] = axis;
    array->dims[array->rank++] = length;
}

static bool is_covariance(unsigned bit)
{
    const unsigned covariances = KS_OUT_SMOOTHED_COV | KS_OUT_SMOOTHED_VAR | KS_OUT_LAG_ONE_COV |
                                 KS_OUT_PRIOR_COV | KS_OUT_FILTERED_COV | KS_OUT_FILTERED_VAR |
                                 KS_OUT_PREDICTED_COV | KS_OUT_PREDICTED_VAR |
                                 KS_OUT_INNOVATION_COV;
    return (bit & covariances) != 0;
}

/* In mixed precision, means and innovations are f64, and what has the unit of a covariance is f32. */
static ks_precision precision_of(ks_precision precision, bool wide, bool covariance)
{
    if (wide || precision == KS_F64) return KS_F64;
    return precision == KS_F32 || covariance ? KS_F32 : KS_F64;
}

/* Add an array of numbers of this precision. */
static ks_result *add_result(ks_results *results, const result_kind *kind, ks_precision precision,
                             const ks_input *input)
{
    ks_result *result = &results->items[results->count++];
    ks_output_array *array = &result->array;
    snprintf(result->path, sizeof result->path, "%s", kind->path);
    array->long_name = kind->long_name;
    array->precision = precision;
    array->named = true;
    array->step_axis = -1;
    if (input->batched) add_axis(array, KS_AXIS_SERIES, input->B);
    if (kind->steps) {
        array->step_axis = array->rank;
        add_axis(array, KS_AXIS_TIME, input->T);
    }
    const bool obs = kind->shape == OBS || kind->shape == OBSERVATIONS;
    if (kind->shape != ONE)
        add_axis(array, obs ? KS_AXIS_OBS : KS_AXIS_STATE, obs ? input->ny : input->nx);
    if (kind->shape == STATES) add_axis(array, KS_AXIS_STATE_2, input->nx);
    if (kind->shape == OBSERVATIONS) add_axis(array, KS_AXIS_OBS_2, input->ny);
    result->bytes = ks_output_array_bytes(array);
    result->member = kind->member;
    result->transposed = kind->transposed && input->layout == KS_LAYOUT_FORTRAN;
    return result;
}

static void add_signal(ks_results *results, const ks_settings *settings, const ks_input *input)
{
    for (size_t i = 0; i < sizeof signal_kinds / sizeof *signal_kinds; ++i) {
        const signal_kind *of = &signal_kinds[i];
        const bool covariance = of->member != MEMBER(mean);
        const result_kind kind = {0, of->member, of->path, results->smoothed ? of->smoothed_name : of->filtered_name,
                                  of->shape, true, false, false};
        if (of->parts[settings->cov])
            add_result(results, &kind, precision_of(settings->precision, false, covariance), input);
    }
}

void ks_results_plan(ks_results *results, const ks_settings *settings, const ks_input *input)
{
    memset(results, 0, sizeof *results);
    const unsigned written = wanted(settings, input);
    results->outputs = written | states_of_signal(settings);
    results->smoothed = settings->job == KS_JOB_SMOOTH;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        const result_kind *kind = &kinds[i];
        if (results->outputs & kind->bit)
            add_result(results, kind, precision_of(settings->precision, kind->wide, is_covariance(kind->bit)),
                       input)->hidden = !(written & kind->bit);
    }
    if (settings->signal) add_signal(results, settings, input);
}

int ks_results_written(const ks_results *results)
{
    int written = 0;
    for (int i = 0; i < results->count; ++i) written += !results->items[i].hidden;
    return written;
}

static size_t bytes_of(const ks_results *results, bool hidden)
{
    size_t bytes = 0;
    for (int i = 0; i < results->count; ++i)
        if (results->items[i].hidden == hidden) bytes = ks_size_sum(bytes, results->items[i].bytes);
    return bytes;
}

size_t ks_results_bytes(const ks_results *results) { return bytes_of(results, false); }

size_t ks_results_hidden_bytes(const ks_results *results) { return bytes_of(results, true); }

size_t ks_results_disk_bytes(const ks_results *results, const ks_input *input)
{
    const size_t axes = input->t_dataset.id >= 0 ? 2 : 1;
    size_t bytes = ks_size_product((size_t)input->T, axes * sizeof(double));
    for (int i = 0; i < results->count; ++i)
        if (!results->items[i].hidden) bytes = ks_size_sum(bytes, ks_output_disk_bytes(&results->items[i].array));
    return bytes;
}

ks_exit ks_results_allocate(ks_results *results, const ks_input *input, ks_result_places *places,
                            ks_failure *failure)
{
    const ks_result_places empty = {KS_OUTPUTS_INIT, KS_SIGNAL_OUTPUTS_INIT};
    *places = empty;
    for (int i = 0; i < results->count; ++i) {
        ks_result *result = &results->items[i];
        const int64_t steps = result->array.step_axis >= 0 ? input->T : 1;
        const size_t number = result->array.precision == KS_F32 ? sizeof(float) : sizeof(double);
        result->data = ks_memory_raw(result->bytes, result->path, failure);
        if (!result->data) return failure->code;
        const int64_t series = (int64_t)(result->bytes / number) / input->B;
        const ks_out view = {result->data, result->array.step_axis >= 0 ? series / steps : 0,
                             series};
        memcpy((char *)places + result->member, &view, sizeof view);
    }
    return KS_EXIT_DONE;
}

static ks_view view_of(ks_out out)
{
    const ks_view view = {out.data, out.step_stride, out.series_stride};
    return view;
}

void ks_results_states(const ks_results *results, const ks_result_places *places, ks_view *mean, ks_view *cov)
{
    const ks_outputs *outputs = &places->outputs;
    *mean = view_of(results->smoothed ? outputs->smoothed_mean : outputs->filtered_mean);
    *cov = view_of(results->smoothed ? outputs->smoothed_cov : outputs->filtered_cov);
}

/* Transpose square blocks in place. */
static void transpose(const ks_result *result, int n)
{
    const size_t number = result->array.precision == KS_F32 ? sizeof(float) : sizeof(double);
    const size_t row = (size_t)n * number, blocks = result->bytes / (row * (size_t)n);
    char *block = result->data;
    unsigned char held[sizeof(double)];
    for (size_t b = 0; b < blocks; ++b, block += row * (size_t)n)
        for (size_t i = 0; i < (size_t)n; ++i)
            for (size_t j = 0; j < i; ++j) {
                char *lower = block + i * row + j * number, *upper = block + j * row + i * number;
                memcpy(held, lower, number);
                memcpy(lower, upper, number);
                memcpy(upper, held, number);
            }
}

/* Write the axes that the arrays use. */
static ks_exit write_axes(const ks_results *results, const ks_input *input, ks_output_file *out,
                          ks_failure *failure)
{
    bool made[KS_AXES] = {false};
    made[KS_AXIS_TIME] = true;
    if (input->t ? ks_output_time(out, input->T, input->t, &input->t_dataset, failure)
                 : ks_output_axis(out, KS_AXIS_TIME, input->T, failure))
        return failure->code;
    for (int i = 0; i < results->count; ++i)
        for (int a = 0; !results->items[i].hidden && a < results->items[i].array.rank; ++a) {
            const ks_axis axis = results->items[i].array.axes[a];
            if (made[axis]) continue;
            made[axis] = true;
            if (ks_output_axis(out, axis, results->items[i].array.dims[a], failure))
                return failure->code;
        }
    return KS_EXIT_DONE;
}

ks_exit ks_results_write(ks_results *results, const ks_input *input, ks_output_file *out,
                         ks_output_progress progress, void *user, ks_failure *failure)
{
    if (write_axes(results, input, out, failure)) return failure->code;
    for (int i = 0; i < results->count; ++i) {
        ks_result *result = &results->items[i];
        if (result->hidden) continue;
        result->array.path = result->path;
        if (result->transposed) transpose(result, input->nx);
        if (ks_output_write(out, &result->array, result->data, progress, user, failure))
            return failure->code;
        /* The page cache holds the values now; a second copy would only take memory. */
        if (strcmp(result->path, "loglik") != 0) {
            free(result->data);
            result->data = NULL;
        }
    }
    return KS_EXIT_DONE;
}

const double *ks_results_loglik(const ks_results *results)
{
    return results->count > 0 ? results->items[0].data : NULL;
}

void ks_results_free(ks_results *results)
{
    for (int i = 0; i < results->count; ++i) free(results->items[i].data);
    results->count = 0;
}
