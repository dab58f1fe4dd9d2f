/* Explaining an input. */
#include "info.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "help.h"
#include "json.h"

/* Note time stamps that do not advance evenly although F, Q and u are the same at each step. */
static void note_time(const ks_input *input, ks_notes *list)
{
    const double *t = input->t;
    double shortest = HUGE_VAL, longest = -HUGE_VAL;
    if (!t || input->T < 2) return;
    for (int64_t k = 1; k < input->T; ++k) {
        const double step = t[k] - t[k - 1];
        if (!(step > 0.0)) {
            const int none = isnan(t[k - 1]) || isnan(t[k]);
            ks_note_add(list, none ? "/t is not a number at step %lld" : "/t does not increase, in double precision, at step "
                        "%lld", (long long)(none && isnan(t[k - 1]) ? k - 1 : k));
            return;
        }
        if (step < shortest) shortest = step;
        if (step > longest) longest = step;
    }
    /* For nanoseconds since 1970, adjacent doubles are 256 apart. */
    const double rounding = 4 * DBL_EPSILON * fmax(fabs(t[0]), fabs(t[input->T - 1]));
    if (longest - shortest > 1e-4 * longest + rounding && !input->arrays[KS_INPUT_F].fit.per_step)
        ks_note_add(list, "/t is irregular (steps from %g to %g) but F is constant: the computation "
                 "takes every step alike", shortest, longest);
}

static void note_layout(const ks_input *input, ks_notes *list)
{
    const ks_dataset *dataset = ks_input_of_matlab(input);
    if (dataset && input->layout != KS_LAYOUT_FORTRAN)
        ks_note_add(list, "%s was written by MATLAB (attribute MATLAB_class), read with layout c%s: "
                    "if time comes last there, layout must be \"fortran\"", dataset->path,
                    input->layout_stated ? " as stated" : "");
}

static void meaning_text(const ks_input_array *array, char *text, size_t size)
{
    const char *diagonal = array->diagonal ? "diagonal of the matrix, " : "";
    const char *series = array->fit.per_series ? "per series" : "";
    const char *step = array->fit.per_step ? "per step" : "";
    if (array->misfit) snprintf(text, size, "%sdoes not fit", diagonal);
    /* The sizes to compare it with, from y or F, are not known. */
    else if (array->steps == 0) snprintf(text, size, "%snot checked", diagonal);
    else if (array->fit.per_series || array->fit.per_step)
        snprintf(text, size, "%s%s%s%s", diagonal, series, series[0] && step[0] ? " and " : "",
                 step);
    else
        snprintf(text, size, "%sconstant", diagonal);
}

/* Whether this is an array that is zero because the model has none. */
static bool is_zero(const ks_input *input, int i)
{
    const ks_input_array *array = &input->arrays[i];
    const bool finite = (i == KS_INPUT_M0 || i == KS_INPUT_P0) && ks_input_is_diffuse(input);
    return !array->dataset.found && array->name && (i == KS_INPUT_U || i == KS_INPUT_D || finite);
}

static bool has_datasets(const ks_input *input)
{
    bool any = input->y_dataset.id >= 0 || input->t_dataset.id >= 0;
    for (int i = 0; i < KS_INPUT_ARRAYS; ++i) any |= input->arrays[i].dataset.id >= 0 || is_zero(input, i);
    return any;
}

static void print_datasets(const ks_input *input)
{
    if (!has_datasets(input)) return;
    printf("\nDatasets\n");
    if (input->y_dataset.id >= 0) ks_info_print_dataset(&input->y_dataset, "observations");
    for (int i = 0; i < KS_INPUT_ARRAYS; ++i) {
        const ks_input_array *array = &input->arrays[i];
        char meaning[96];
        meaning_text(array, meaning, sizeof meaning);
        if (array->dataset.id >= 0) ks_info_print_dataset(&array->dataset, meaning);
        else if (is_zero(input, i))
            printf("  %-16s %-20s %-8s zero\n", array->dataset.path, "absent", "");
    }
    if (input->t_dataset.id >= 0) ks_info_print_dataset(&input->t_dataset, "time stamps");
}

static void print_conventions(const ks_input *input)
{
    printf("\nModel\n%s", ks_model_equations);
    printf("  prior %s: N(m0, P0) is that of %s\n", ks_prior_name((int)input->prior),
           input->prior == KS_PRIOR_X0
               ? "x[-1], the state before the first transition"
               : "x[0]; F[0], Q[0], u[0] are neither read nor checked");
    if (ks_input_is_diffuse(input))
        printf("  diffuse: the prior covariance is P0 + kappa P0_inf, kappa -> infinity\n");
    printf("  transition %s: row k of F, Q, u %s\n", ks_transition_name((int)input->transition),
           input->transition == KS_INTO ? "leads into step k" : "carries x[k] to x[k+1]");
    printf("  layout %s: %s\n", ks_layout_name((int)input->layout),
           input->layout == KS_LAYOUT_C ? "matrices as h5py shows them"
                                        : "every matrix slice arrives transposed");
}

static void print_missing(const ks_input *input)
{
    const ks_missing *missing = &input->missing;
    char series[48] = "";
    printf("\nMissing\n  %lld of %lld entries; %lld of %lld steps have no entry",
           (long long)missing->entries, (long long)(input->B * input->T * input->ny),
           (long long)missing->empty_rows, (long long)(input->B * input->T));
    if (input->batched)
        snprintf(series, sizeof series, " of series %lld", (long long)missing->gap_series);
    if (missing->longest_gap > 0)
        printf("; longest gap: %lld step%s from step %lld%s", (long long)missing->longest_gap,
               missing->longest_gap == 1 ? "" : "s",
               (long long)missing->gap_step, series);
    putchar('\n');
}

static void print_text(const ks_input *input, const ks_notes *list)
{
    printf("%s: input file", input->places.file);
    if (input->batched && input->B >= 0) printf(", B = %lld", (long long)input->B);
    if (input->T >= 0) printf(", T = %lld", (long long)input->T);
    if (input->nx >= 0) printf(", nx = %d", input->nx);
    if (input->ny >= 0) printf(", ny = %d", input->ny);
    putchar('\n');
    print_conventions(input);
    print_datasets(input);
    if (input->y && input->problems.count == 0) print_missing(input);
    ks_info_print_findings(list, &input->problems);
}

static void json_datasets(ks_json *json, const ks_input *input)
{
    ks_json_open(json, "datasets", '[');
    if (input->y_dataset.id >= 0) ks_info_json_dataset(json, &input->y_dataset, "observations");
    for (int i = 0; i < KS_INPUT_ARRAYS; ++i) {
        char meaning[96];
        if (input->arrays[i].dataset.id < 0) continue;
        meaning_text(&input->arrays[i], meaning, sizeof meaning);
        ks_info_json_dataset(json, &input->arrays[i].dataset, meaning);
    }
    if (input->t_dataset.id >= 0) ks_info_json_dataset(json, &input->t_dataset, "time stamps");
    ks_json_close(json, ']');
}

static void print_json(const ks_input *input, const ks_notes *list)
{
    ks_json json = {0};
    ks_json_open(&json, NULL, '{');
    ks_json_text(&json, "file", input->places.file);
    ks_json_text(&json, "kind", "input");
    ks_info_json_size(&json, "T", input->T);
    ks_info_json_size(&json, "B", input->B);
    ks_info_json_size(&json, "nx", input->nx);
    ks_info_json_size(&json, "ny", input->ny);
    ks_json_text(&json, "prior", ks_prior_name((int)input->prior));
    ks_json_boolean(&json, "diffuse", ks_input_is_diffuse(input));
    ks_json_text(&json, "transition", ks_transition_name((int)input->transition));
    ks_json_text(&json, "layout", ks_layout_name((int)input->layout));
    json_datasets(&json, input);
    if (input->y && input->problems.count == 0) {
        ks_json_integer(&json, "missing", input->missing.entries);
        ks_json_integer(&json, "empty_steps", input->missing.empty_rows);
        ks_json_integer(&json, "longest_gap", input->missing.longest_gap);
    }
    ks_info_json_findings(&json, list, &input->problems);
    ks_json_close(&json, '}');
    ks_json_end();
}

ks_exit ks_info_model(const ks_input_places *places, bool json, ks_failure *failure)
{
    ks_input *input;
    if (ks_input_open(&input, places, failure)) return failure->code;
    ks_notes *list = &input->notes;
    if (input->problems.count == 0) ks_input_load(input, KS_F64, NULL, NULL, failure);
    if (!failure->code) {
        note_layout(input, list);
        note_time(input, list);
        if (json) print_json(input, list);
        else print_text(input, list);
        if (input->problems.count > 0)
            ks_fail(failure, KS_EXIT_CONTENT, "%s: %d problem%s found", places->file,
                    input->problems.count, input->problems.count == 1 ? "" : "s");
    }
    ks_input_close(input);
    return failure->code;
}
