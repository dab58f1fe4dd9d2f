/* Opening an input: files, conventions, and the sizes that follow from the observations. */
#include "model_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "file_kind.h"
#include "h5.h"
#include "memory.h"
#include "model_parts.h"
#include "sources.h"

const ks_dataset *ks_input_of_matlab(const ks_input *input)
{
    for (int i = 0; i < KS_INPUT_ARRAYS; ++i) {
        const ks_dataset *dataset = &input->arrays[i].dataset;
        if (dataset->id >= 0 && dataset->matlab) return dataset;
    }
    return input->y_dataset.id >= 0 && input->y_dataset.matlab ? &input->y_dataset : NULL;
}

const char *ks_prior_name(int prior)
{
    return prior == KS_PRIOR_X0 ? "x0" : prior == KS_PRIOR_X1 ? "x1" : NULL;
}

const char *ks_transition_name(int transition)
{
    return transition == KS_INTO ? "into" : transition == KS_OUT_OF ? "out-of" : NULL;
}

static const char *model_file_name(const ks_input *input)
{
    return input->places.model_file ? input->places.model_file : input->places.file;
}

/* Read one of two words from an attribute of the model group. `override` takes precedence. */
static int convention(ks_input *input, hid_t group, const char *attribute, int override,
                      const char *(*name)(int), bool *stated)
{
    const ks_convention what = {model_file_name(input), input->places.model, attribute, name,
                                override};
    return ks_convention_read(&what, group, stated, &input->problems);
}

static ks_exit read_conventions(ks_input *input, bool *found, ks_failure *failure)
{
    *found = false;
    const char *path = input->places.model;
    bool stated;
    char link[KS_FAILURE_TEXT / 2]; /* or a name in another case */
    if (ks_h5_broken_link(input->model_file, path, link, sizeof link)) {
        ks_problem_add(&input->problems, "%s: group %s is not there: on its path is %s, which cannot be "
                       "opened", model_file_name(input), path, link);
        return KS_EXIT_DONE;
    }
    if (strspn(path, "/") != strlen(path) && !ks_h5_exists(input->model_file, path)) {
        ks_h5_other_letters(input->model_file, path, link, sizeof link);
        const bool at_root = !link[0] && ks_h5_exists(input->model_file, "/F");
        ks_problem_add(&input->problems, "%s: group %s is missing; it holds the model (elsewhere: --model, "
                       "--model-file)%s", model_file_name(input), path,
                       at_root ? "; F is at the root: --model /" : link);
        return KS_EXIT_DONE;
    }
    if (ks_h5_object_type(input->model_file, path) != H5O_TYPE_GROUP) {
        ks_problem_add(&input->problems, "%s: %s is not a group; expected the group of the model",
                       model_file_name(input), path);
        return KS_EXIT_DONE;
    }
    const hid_t group = H5Gopen2(input->model_file, path, H5P_DEFAULT);
    if (group < 0)
        return ks_fail_h5(failure, KS_EXIT_FILE, "%s: cannot open group %s",
                          model_file_name(input), path);
    *found = true;
    const ks_input_places *places = &input->places;
    input->prior = convention(input, group, "prior", places->prior, ks_prior_name, &stated) == 0
                       ? KS_PRIOR_X0 : KS_PRIOR_X1;
    input->transition = convention(input, group, "transition", places->transition,
                                   ks_transition_name, &stated) == 0 ? KS_INTO : KS_OUT_OF;
    input->layout = convention(input, group, "layout", places->layout, ks_layout_name,
                               &input->layout_stated) == 0 ? KS_LAYOUT_C : KS_LAYOUT_FORTRAN;
    ks_model_note_unread(input, group);
    ks_h5_release(group);
    return KS_EXIT_DONE;
}

/* Set B, T and ny from the shape of y, and the axes for reading it. */
static void sizes_of_observations(ks_input *input)
{
    const ks_dataset *y = &input->y_dataset;
    ks_fit *fit = &input->y_fit;
    char shape[256];
    ks_shape_text(y->dims, y->rank, shape, sizeof shape);
    if (y->rank > 3) {
        ks_problem_add(&input->problems,
                       "%s: %s has shape %s, expected (T, ny), (T,) or (B, T, ny)", y->file,
                       y->path, shape);
        return;
    }
    input->batched = y->rank == 3;
    fit->series_axis = y->rank == 3 ? 0 : -1;
    fit->step_axis = y->rank - (y->rank >= 2 ? 2 : 1);
    input->B = fit->series = y->rank == 3 ? y->dims[0] : 1;
    input->T = fit->steps = y->rank >= 1 ? y->dims[fit->step_axis] : 1;
    const int64_t ny = y->rank >= 2 ? y->dims[y->rank - 1] : 1;
    if (input->T == 0 || input->B == 0 || ny == 0) {
        ks_problem_add(&input->problems, "%s: %s has shape %s: %s = 0, expected at least one",
                       y->file, y->path, shape,
                       input->T == 0 ? "T" : input->B == 0 ? "B" : "ny");
        input->T = input->B = -1;
    } else if (ny > KS_BLOCK_MAX) {
        ks_problem_add(&input->problems,
                       "%s: %s has shape %s: ny = %lld, expected at most %d (time comes first: "
                       "(T, ny))", y->file, y->path, shape, (long long)ny, KS_BLOCK_MAX);
    } else {
        input->ny = (int)ny;
    }
}

/* *other: y is missing and the file is of another kind, so that the model need not be reported as missing, too. */
static ks_exit open_observations(ks_input *input, bool *other, ks_failure *failure)
{
    const char *file = input->places.file;
    *other = false;
    if (ks_dataset_open(&input->y_dataset, input->file, file, input->places.y, &input->problems,
                        failure))
        return failure->code;
    if (!input->y_dataset.found) {
        const char *hint = ks_file_kind_hint(input->file, KS_FILE_MODEL);
        char letters[KS_FAILURE_TEXT / 2] = "";
        *other = *hint != '\0';
        if (!*other) ks_h5_other_letters(input->file, input->places.y, letters, sizeof letters);
        ks_problem_add(&input->problems, "%s: dataset %s is missing; %s%s", file, input->places.y,
                       *other ? hint : "it holds the observations, (T, ny) (elsewhere: --y)", letters);
    }
    if (input->y_dataset.id >= 0) {
        sizes_of_observations(input);
        ks_observations_note_unread(input);
    }
    return KS_EXIT_DONE;
}

static ks_exit open_time_stamps(ks_input *input, ks_failure *failure)
{
    ks_dataset *t = &input->t_dataset;
    if (ks_dataset_open(t, input->file, input->places.file, "/t", &input->problems, failure))
        return failure->code;
    if (t->id < 0 || input->T < 0) return KS_EXIT_DONE;
    const bool column = t->rank == 2 && (t->dims[0] == 1 || t->dims[1] == 1);
    if (ks_dataset_elements(t) != input->T || (t->rank > 1 && !column)) {
        char shape[256];
        ks_shape_text(t->dims, t->rank, shape, sizeof shape);
        ks_problem_add(&input->problems, "%s: /t has shape %s, expected (T,) = (%lld,)", t->file,
                       shape, (long long)input->T);
    }
    return KS_EXIT_DONE;
}

static ks_exit open_parts(ks_input *input, ks_failure *failure)
{
    input->file = ks_h5_open(input->places.file, failure);
    if (input->file < 0) return failure->code;
    input->model_file = input->file;
    if (input->places.model_file) {
        input->model_file = ks_h5_open(input->places.model_file, failure);
        if (input->model_file < 0) return failure->code;
    }
    bool other, model_found;
    if (open_observations(input, &other, failure)) return failure->code;
    if (other) return KS_EXIT_DONE;
    if (read_conventions(input, &model_found, failure)) return failure->code;
    if (open_time_stamps(input, failure)) return failure->code;
    return model_found ? ks_model_resolve(input, failure) : KS_EXIT_DONE;
}

static ks_exit check_path(const ks_input_places *places, const char *path, const char *what, ks_failure *failure)
{
    const size_t length = strlen(path);
    if (length <= KS_PATH_MOST) return KS_EXIT_DONE;
    return ks_fail(failure, KS_EXIT_USAGE, "%s: the path of the %s has %zu characters, at most %d are taken",
                   places->file, what, length, KS_PATH_MOST);
}

ks_exit ks_input_open(ks_input **out, const ks_input_places *places, ks_failure *failure)
{
    *out = NULL;
    if (check_path(places, places->y, "observations", failure) || check_path(places, places->model, "model", failure))
        return failure->code;
    ks_input *input = ks_memory_zeroed(sizeof *input, "the description of the input", failure);
    if (!input) return failure->code;
    input->places = *places;
    input->file = input->model_file = -1;
    input->T = input->B = input->nx = input->ny = -1;
    input->y_dataset.id = input->t_dataset.id = -1;
    for (int i = 0; i < KS_INPUT_ARRAYS; ++i) input->arrays[i].dataset.id = -1;
    if (open_parts(input, failure)) {
        ks_input_close(input);
        return failure->code;
    }
    *out = input;
    return KS_EXIT_DONE;
}

ks_exit ks_input_extend(ks_input *input, int64_t steps, ks_failure *failure)
{
    int64_t numbers;
    for (int i = 0; i < KS_INPUT_ARRAYS; ++i) {
        ks_input_array *array = &input->arrays[i];
        if (array->dataset.id < 0) continue;
        if (array->fit.per_step)
            return ks_fail(failure, KS_EXIT_USAGE, "--forecast: %s: %s varies with the step, and has no rows for steps "
                           "ahead; append rows to it, and as many of NaN to %s", array->dataset.file,
                           array->dataset.path, input->y_dataset.path);
        /* With a single step and prior x1 no row of the transition has been needed so far. */
        array->row_count = 1;
    }
    /* Allow 16-byte numbers, as for datasets. */
    if (__builtin_add_overflow(input->T, steps, &numbers) ||
        __builtin_mul_overflow(numbers, input->B * input->ny, &numbers) || numbers > INT64_MAX / 16)
        return ks_fail(failure, KS_EXIT_USAGE, "--forecast: %lld steps are too many", (long long)steps);
    input->T += steps;
    input->ahead = steps;
    return KS_EXIT_DONE;
}

ks_exit ks_input_spare(const ks_input *input, const char *output, ks_failure *failure)
{
    ks_sources_spare(&input->y_dataset, output, failure);
    ks_sources_spare(&input->t_dataset, output, failure);
    for (int i = 0; i < KS_INPUT_ARRAYS; ++i)
        ks_sources_spare(&input->arrays[i].dataset, output, failure);
    return failure->code;
}

void ks_input_close(ks_input *input)
{
    if (!input) return;
    for (int i = 0; i < KS_INPUT_ARRAYS; ++i) {
        ks_dataset_close(&input->arrays[i].dataset);
        free(input->arrays[i].data);
    }
    ks_dataset_close(&input->y_dataset);
    ks_dataset_close(&input->t_dataset);
    free(input->y);
    free(input->t);
    if (input->model_file != input->file) ks_h5_release(input->model_file);
    ks_h5_release(input->file);
    free(input);
}
