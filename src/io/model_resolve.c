/* Which datasets make up the model, and how their shapes are interpreted. */
#include "model_parts.h"

#include <stdio.h>
#include <string.h>
#include "h5.h"
#include "memory.h"
#include "unwritten.h"

/* Properties of the arrays, in the order of ks_input_name. */
typedef struct array_kind {
    const char *name;
    const char *axes[2];   /* of the block; the second NULL for vectors */
    bool optional, covariance, steps, transition;
} array_kind;

static const array_kind kinds[KS_INPUT_ARRAYS] = {
    {"F", {"nx", "nx"}, false, false, true, true},
    {"Q", {"nx", "nx"}, false, true, true, true},
    {"u", {"nx", NULL}, true, false, true, true},
    {"H", {"ny", "nx"}, false, false, true, false},
    {"R", {"ny", "ny"}, false, true, true, false},
    {"d", {"ny", NULL}, true, false, true, false},
    {"m0", {"nx", NULL}, false, false, false, false},
    {"P0", {"nx", "nx"}, false, true, false, false},
    {"P0_inf", {"nx", "nx"}, true, true, false, false},
};

bool ks_input_is_covariance(ks_input_name name) { return kinds[name].covariance; }

/* With an infinite part of the prior, the finite part may be absent: zero. */
static bool may_be_absent(const ks_input *input, ks_input_name name)
{
    const bool finite = name == KS_INPUT_M0 || name == KS_INPUT_P0;
    return kinds[name].optional || (finite && ks_input_is_diffuse(input));
}

static const char *group_separator(const ks_input *input)
{
    const size_t length = strlen(input->places.model);
    return length > 0 && input->places.model[length - 1] == '/' ? "" : "/";
}

/* Find the dataset NAME or, for covariances, NAME_diag. */
static ks_exit find_array(ks_input *input, ks_input_name name, ks_failure *failure)
{
    ks_input_array *array = &input->arrays[name];
    const array_kind *kind = &kinds[name];
    const char *file = input->places.model_file ? input->places.model_file : input->places.file;
    char path[KS_PATH_MOST + 8], diagonal_path[sizeof path + 8];
    ks_dataset diagonal = {.id = -1};
    array->name = kind->name;
    snprintf(path, sizeof path, "%s%s%s", input->places.model, group_separator(input), kind->name);
    snprintf(diagonal_path, sizeof diagonal_path, "%s_diag", path);
    if (ks_dataset_open(&array->dataset, input->model_file, file, path, &input->problems, failure))
        return failure->code;
    if (kind->covariance &&
        ks_dataset_open(&diagonal, input->model_file, file, diagonal_path, &input->problems,
                        failure))
        return failure->code;
    if (array->dataset.found && diagonal.found) {
        ks_problem_add(&input->problems, "%s: both %s and %s are there, expected one of them", file,
                       path, diagonal_path);
        ks_dataset_close(&diagonal);
    } else if (diagonal.found) {
        array->dataset = diagonal;
        array->diagonal = true;
    } else if (!array->dataset.found && !may_be_absent(input, name)) {
        char letters[KS_FAILURE_TEXT / 2];
        ks_h5_other_letters(input->model_file, path, letters, sizeof letters);
        if (kind->covariance && !letters[0])
            ks_h5_other_letters(input->model_file, diagonal_path, letters, sizeof letters);
        ks_problem_add(&input->problems, "%s: dataset %s is missing%s%s", file, path,
                       kind->covariance ? ", and so is its _diag form" : "", letters);
    }
    ks_unwritten_note(&array->dataset, &input->notes);
    return KS_EXIT_DONE;
}

/* Whether the program that wrote the dataset may have ordered its axes the other way. */
static bool in_fortran(const ks_input *input, const ks_dataset *dataset)
{
    return dataset->matlab || input->layout == KS_LAYOUT_FORTRAN;
}

/* The state dimension is that of F. */
static void state_dimension(ks_input *input)
{
    ks_input_array *array = &input->arrays[KS_INPUT_F];
    const ks_dataset *F = &array->dataset;
    if (F->id < 0) return;
    char shape[256];
    ks_shape_text(F->dims, F->rank, shape, sizeof shape);
    const bool single = F->rank == 0 || (F->rank == 1 && F->dims[0] == 1);
    const int64_t rows = single ? 1 : F->rank < 2 ? -1 : F->dims[F->rank - 2];
    const int64_t columns = single ? 1 : F->rank < 2 ? -2 : F->dims[F->rank - 1];
    const bool time_last = F->rank == 3 && F->dims[0] == F->dims[1];
    if (rows == 0 || columns == 0)
        ks_problem_add(&input->problems, "%s: %s has shape %s: nx = 0, expected at least one state",
                       F->file, F->path, shape);
    else if (rows != columns)
        ks_problem_add(&input->problems,
                       "%s: %s has shape %s, expected (nx, nx), (T, nx, nx) or (B, T, nx, nx)%s%s",
                       F->file, F->path, shape,
                       time_last ? "; here time seems to come last, it comes first" : "",
                       time_last && in_fortran(input, F) ? " (last in MATLAB and Julia)" : "");
    else if (rows > KS_BLOCK_MAX)
        ks_problem_add(&input->problems, "%s: %s has shape %s: nx = %lld, expected at most %d",
                       F->file, F->path, shape, (long long)rows, KS_BLOCK_MAX);
    else
        input->nx = (int)rows;
    array->misfit = input->nx < 0;
}

static int64_t axis_length(const ks_input *input, const char *axis)
{
    return strcmp(axis, "nx") == 0 ? input->nx : input->ny;
}

/* The shape that the file should hold. In the fortran layout the axes of the block are swapped. */
static ks_want want_of(const ks_input *input, ks_input_name name, ks_layout layout)
{
    const array_kind *kind = &kinds[name];
    const bool matrix = kind->axes[1] && !input->arrays[name].diagonal;
    const int first = matrix && layout == KS_LAYOUT_FORTRAN ? 1 : 0;
    ks_want want = {.block_rank = matrix ? 2 : 1, .T = input->T, .B = input->B,
                    .steps = kind->steps,
                    .short_rows = kind->transition && input->transition == KS_OUT_OF};
    want.names[0] = kind->axes[first];
    want.block[0] = axis_length(input, want.names[0]);
    if (matrix) {
        want.names[1] = kind->axes[1 - first];
        want.block[1] = axis_length(input, want.names[1]);
    }
    return want;
}

/* Whether the array has T - 1 rows: too few for one per step, but right for the transitions between steps. */
static bool fits_out_of(const ks_input *input, ks_input_name name)
{
    const ks_dataset *dataset = &input->arrays[name].dataset;
    ks_want want = want_of(input, name, input->layout);
    ks_fit fit;
    if (!kinds[name].transition || want.short_rows) return false;
    want.short_rows = true;
    return ks_shape_fit(dataset->dims, dataset->rank, &want, &fit);
}

/* The shape wanted of an array if y is transposed, (ny, T). */
static bool want_of_turned(const ks_input *input, const ks_want *want, ks_want *turned)
{
    const ks_dataset *y = &input->y_dataset;
    if (y->rank != 2 || y->dims[1] < 2) return false;
    *turned = *want;
    turned->T = y->dims[1];
    for (int i = 0; i < want->block_rank; ++i)
        if (strcmp(want->names[i], "ny") == 0) turned->block[i] = y->dims[0];
    return true;
}

/* Whether the shape fits once axes of length 1 are added to the block. Indexing in numpy drops such axes. */
static bool fits_with_ones(const ks_dataset *dataset, const ks_want *want)
{
    int64_t whole[KS_RANK_MAX];
    int longer = 0;
    ks_fit fit;
    for (int i = 0; i < want->block_rank; ++i) longer += want->block[i] != 1;
    const int lead = dataset->rank - longer;
    if (longer == want->block_rank || lead < 0 || lead > 2) return false;
    for (int i = 0; i < lead; ++i) whole[i] = dataset->dims[i];
    for (int i = 0, next = lead; i < want->block_rank; ++i)
        whole[lead + i] = want->block[i] == 1 ? 1 : dataset->dims[next++];
    return ks_shape_fit(whole, lead + want->block_rank, want, &fit);
}

/* Whether a covariance holds only a diagonal, under the name of the full matrix. */
static bool fits_as_diagonal(const ks_dataset *dataset, ks_want want, ks_input_name name)
{
    ks_fit fit;
    want.block_rank = 1;
    return kinds[name].covariance && ks_shape_fit(dataset->dims, dataset->rank, &want, &fit);
}

/* Report what does not fit, and what would. */
static void tell_misfit(ks_input *input, ks_input_name name, const ks_want *want)
{
    const ks_dataset *dataset = &input->arrays[name].dataset;
    char shape[256], expected[256], hint[256] = "";
    ks_shape_text(dataset->dims, dataset->rank, shape, sizeof shape);
    ks_want_text(want, expected, sizeof expected);
    const ks_layout other = input->layout == KS_LAYOUT_C ? KS_LAYOUT_FORTRAN : KS_LAYOUT_C;
    const ks_want swapped = want_of(input, name, other);
    int64_t reversed[KS_RANK_MAX];
    for (int i = 0; i < dataset->rank; ++i) reversed[i] = dataset->dims[dataset->rank - 1 - i];
    ks_fit fit;
    ks_want turned;
    if (ks_shape_fit(dataset->dims, dataset->rank, &swapped, &fit))
        snprintf(hint, sizeof hint, "; the shape fits layout = \"%s\" (now \"%s\", see --layout)",
                 ks_layout_name((int)other), ks_layout_name((int)input->layout));
    else if (fits_with_ones(dataset, want))
        snprintf(hint, sizeof hint, "; axes of length 1 are not left out");
    else if (!input->arrays[name].diagonal && fits_as_diagonal(dataset, *want, name))
        snprintf(hint, sizeof hint, "; a diagonal is %s_diag", kinds[name].name);
    else if (want_of_turned(input, want, &turned) &&
             ks_shape_fit(dataset->dims, dataset->rank, &turned, &fit))
        snprintf(hint, sizeof hint, "; it would fit if the axes of %.120s were swapped: time comes first%s",
                 input->y_dataset.path, in_fortran(input, &input->y_dataset) ? " (last in MATLAB and Julia)" : "");
    else if (ks_shape_fit(reversed, dataset->rank, want, &fit))
        snprintf(hint, sizeof hint, "; the axes seem to be reversed, time comes first");
    else if (fits_out_of(input, name))
        snprintf(hint, sizeof hint, "; transition = \"out-of\" with prior = \"x1\" has T-1 rows: row k "
                 "carries x[k] to x[k+1]");
    else if (dataset->matlab && input->layout == KS_LAYOUT_C)
        snprintf(hint, sizeof hint, "; it was written by MATLAB (attribute MATLAB_class): "
                 "layout = \"fortran\" or --layout fortran may be right");
    ks_problem_add(&input->problems, "%s: %s has shape %s, expected %s%s", dataset->file,
                   dataset->path, shape, expected, hint);
}

/* Which rows of the file are read into which steps. Under prior x1, F, Q and u of step 0 are neither read nor checked,
 * and the last row of "out-of" leads to no step. */
static void place_rows(const ks_input *input, ks_input_array *array, const array_kind *kind)
{
    const ks_fit *fit = &array->fit;
    const bool first_unread = kind->transition && input->prior == KS_PRIOR_X1;
    array->steps = fit->per_step ? input->T : 1;
    array->series = fit->per_series ? input->B : 1;
    array->first_row = 0;
    array->row_count = 1;
    array->shift = 0;
    if (!fit->per_step) {
        if (first_unread && input->T == 1) array->row_count = 0;
    } else if (kind->transition && input->transition == KS_OUT_OF) {
        array->shift = 1;
        array->row_count = input->T - 1;
    } else {
        array->first_row = first_unread ? 1 : 0;
        array->row_count = input->T - array->first_row;
    }
}

static void fit_array(ks_input *input, ks_input_name name)
{
    ks_input_array *array = &input->arrays[name];
    const array_kind *kind = &kinds[name];
    const bool needs_ny = strcmp(kind->axes[0], "ny") == 0;
    if (array->dataset.id < 0 || input->nx < 0 || input->T < 0 || (needs_ny && input->ny < 0))
        return;
    array->rows = (int)axis_length(input, kind->axes[0]);
    array->columns = kind->axes[1] ? (int)axis_length(input, kind->axes[1]) : 1;
    const ks_want want = want_of(input, name, input->layout);
    if (!ks_shape_fit(array->dataset.dims, array->dataset.rank, &want, &array->fit)) {
        array->misfit = true;
        tell_misfit(input, name, &want);
        return;
    }
    if (array->fit.per_step && kind->transition && input->transition == KS_OUT_OF &&
        input->prior == KS_PRIOR_X0) {
        array->misfit = true;
        ks_problem_add(&input->problems,
                       "%s: %s varies with the step, and transition = \"out-of\" does not go with "
                       "prior = \"x0\" then (no row leads into the first step); expected "
                       "prior = \"x1\" or transition = \"into\"", array->dataset.file,
                       array->dataset.path);
        return;
    }
    place_rows(input, array, kind);
}

ks_exit ks_model_resolve(ks_input *input, ks_failure *failure)
{
    const bool told = input->places.diffuse;
    input->arrays[KS_INPUT_P0_INF].name = kinds[KS_INPUT_P0_INF].name;
    if (!told && find_array(input, KS_INPUT_P0_INF, failure)) return failure->code;
    for (int name = 0; name < (told ? KS_INPUT_M0 : KS_INPUT_P0_INF); ++name)
        if (find_array(input, (ks_input_name)name, failure)) return failure->code;
    state_dimension(input);
    for (int name = 0; name < KS_INPUT_ARRAYS; ++name) fit_array(input, (ks_input_name)name);
    return KS_EXIT_DONE;
}

bool ks_input_is_diffuse(const ks_input *input)
{
    return input->places.diffuse || input->arrays[KS_INPUT_P0_INF].dataset.found;
}

static size_t blocks_bytes(int64_t series, int64_t steps, int64_t block, ks_precision precision)
{
    return ks_size_product(ks_size_product((size_t)series, (size_t)steps),
                           ks_size_product((size_t)block, ks_precision_bytes(precision)));
}

size_t ks_input_bytes(const ks_input *input, ks_precision precision)
{
    size_t bytes = blocks_bytes(input->B, input->T, input->ny, precision);
    for (int i = 0; i < KS_INPUT_ARRAYS; ++i) {
        const ks_input_array *array = &input->arrays[i];
        if (array->dataset.id < 0) continue;
        bytes = ks_size_sum(bytes, blocks_bytes(array->series, array->steps,
                                                (int64_t)array->rows * array->columns, precision));
    }
    if (input->places.diffuse)
        bytes = ks_size_sum(bytes, blocks_bytes(1, 1, (int64_t)input->nx * input->nx, precision));
    if (input->t_dataset.id >= 0)
        bytes = ks_size_sum(bytes, ks_size_product((size_t)input->T, sizeof(double)));
    return bytes;
}
