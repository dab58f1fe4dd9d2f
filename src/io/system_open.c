/* Opening a system: its datasets, their shapes, and the sizes that follow from them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "file_kind.h"
#include "h5.h"
#include "memory.h"
#include "model_parts.h"
#include "sources.h"
#include "system_file.h"
#include "unwritten.h"

static const char *const paths[KS_SYSTEM_ARRAYS] = {"/D", "/L", "/U", "/b", "/D_dia"};

bool ks_system_has_upper(const ks_system *system)
{
    return system->arrays[KS_SYSTEM_U].dataset.found || system->triples[1].found;
}

bool ks_system_is_compact(const ks_system *system)
{
    return system->arrays[KS_SYSTEM_D_DIA].dataset.found || system->triples[0].found ||
           system->triples[1].found;
}

static void wrong_shape(ks_system *system, ks_system_name name, const char *expected)
{
    const ks_dataset *dataset = &system->arrays[name].dataset;
    char shape[256];
    ks_shape_text(dataset->dims, dataset->rank, shape, sizeof shape);
    ks_problem_add(&system->problems, "%s: %s has shape %s, expected %s", dataset->file,
                   dataset->path, shape, expected);
}

/* Set N and n from the shape of D. MATLAB drops a last axis of length 1, so a single block may lack the axis of
 * blocks. */
static void sizes_of_diagonal(ks_system *system)
{
    ks_system_array *D = &system->arrays[KS_SYSTEM_D];
    const ks_dataset *dataset = &D->dataset;
    const int lead = dataset->rank - 2;
    if (lead < 0 || lead > 1 || dataset->dims[lead] != dataset->dims[lead + 1]) {
        wrong_shape(system, KS_SYSTEM_D, "(N, n, n)");
        return;
    }
    const int64_t N = lead ? dataset->dims[0] : 1, n = dataset->dims[lead];
    if (N == 0 || n == 0) {
        wrong_shape(system, KS_SYSTEM_D, N == 0 ? "(N, n, n) with at least one block"
                                                : "(N, n, n) with at least one row");
        return;
    }
    if (n > KS_BLOCK_MAX) {
        char expected[80];
        snprintf(expected, sizeof expected, "(N, n, n) with n of at most %d", KS_BLOCK_MAX);
        wrong_shape(system, KS_SYSTEM_D, expected);
        return;
    }
    system->N = N;
    system->n = (int)n;
    D->fit.step_axis = lead ? 0 : -1;
    D->blocks = N;
    D->rows = D->columns = (int)n;
}

/* Set N and n from the shape of D_dia, whose slices are transposed in the fortran layout. */
static void sizes_of_tridiagonal(ks_system *system)
{
    ks_system_array *D = &system->arrays[KS_SYSTEM_D_DIA];
    const ks_dataset *dataset = &D->dataset;
    const bool c = system->layout == KS_LAYOUT_C;
    const int lead = dataset->rank - 2, three = c ? lead : lead + 1, row = c ? lead + 1 : lead;
    if (lead < 0 || lead > 1 || dataset->dims[three] != 3 || dataset->dims[row] < 1 ||
        dataset->dims[row] > INT32_MAX / 8 || (lead && dataset->dims[0] < 1)) {
        wrong_shape(system, KS_SYSTEM_D_DIA, c ? "(N, 3, n)" : "(N, n, 3), layout fortran");
        return;
    }
    system->N = lead ? dataset->dims[0] : 1;
    system->n = (int)dataset->dims[row];
    D->fit.step_axis = lead ? 0 : -1;
    D->blocks = system->N;
    D->rows = 3;
    D->columns = system->n;
}

static void fit_coupling(ks_system *system, ks_system_name name)
{
    ks_system_array *array = &system->arrays[name];
    const ks_dataset *dataset = &array->dataset;
    const int64_t N = system->N, n = system->n;
    const int lead = dataset->rank - 2;
    const bool blocks = lead == 1 && dataset->dims[0] == N - 1;
    const bool single = lead == 0 && N == 2;
    if ((!blocks && !single) || dataset->dims[lead] != n || dataset->dims[lead + 1] != n) {
        char expected[120];
        snprintf(expected, sizeof expected, "(N - 1, n, n) = (%lld, %lld, %lld)",
                 (long long)(N - 1), (long long)n, (long long)n);
        wrong_shape(system, name, expected);
        return;
    }
    array->fit.step_axis = blocks ? 0 : -1;
    array->blocks = N - 1;
    array->rows = array->columns = (int)n;
}

/* How the axes of b may be interpreted: (N, n), (N, n, nrhs) or, in the fortran layout, (N, nrhs, n). A single block
 * may lack its axis. */
static bool fit_sides(const ks_system *system, ks_layout layout, int *lead, int64_t *nrhs)
{
    const ks_dataset *b = &system->arrays[KS_SYSTEM_B].dataset;
    const int64_t N = system->N, n = system->n;
    const int row = layout == KS_LAYOUT_C ? 0 : 1;
    *nrhs = 1;
    *lead = 1;
    if (b->rank == 2 && b->dims[0] == N && b->dims[1] == n) return true;
    if (b->rank == 3 && b->dims[0] == N) {
        *nrhs = b->dims[2 - row];
        return b->dims[1 + row] == n;
    }
    *lead = 0;
    if (N != 1 || b->rank < 1 || b->rank > 2) return false;
    if (b->rank == 1) return b->dims[0] == n;
    *nrhs = b->dims[1 - row];
    return b->dims[row] == n;
}

static void fit_right_hand_sides(ks_system *system)
{
    ks_system_array *b = &system->arrays[KS_SYSTEM_B];
    int lead;
    int64_t nrhs;
    const bool fits = fit_sides(system, system->layout, &lead, &nrhs);
    if (!fits || nrhs < 1 || nrhs > INT32_MAX / system->n) {
        const bool c = system->layout == KS_LAYOUT_C;
        const bool other = !fits && fit_sides(system, c ? KS_LAYOUT_FORTRAN : KS_LAYOUT_C, &lead,
                                              &nrhs);
        char expected[200];
        snprintf(expected, sizeof expected,
                 "(N, n) = (%lld, %d), or %s with at least one right-hand side (layout %s%s%s)",
                 (long long)system->N, system->n, c ? "(N, n, nrhs)" : "(N, nrhs, n)",
                 ks_layout_name((int)system->layout), other ? "; it would fit layout " : "",
                 other ? ks_layout_name(c ? 1 : 0) : "");
        wrong_shape(system, KS_SYSTEM_B, expected);
        return;
    }
    system->nrhs = (int)nrhs;
    b->fit.step_axis = lead ? 0 : -1;
    b->blocks = system->N;
    b->rows = system->n;
    b->columns = (int)nrhs;
}

/* Open L or U. A group holds triples. */
static ks_exit open_array(ks_system *system, int i, ks_failure *failure)
{
    ks_system_array *array = &system->arrays[i];
    if (i == KS_SYSTEM_L || i == KS_SYSTEM_U) {
        const int side = i == KS_SYSTEM_U;
        if (ks_system_open_triples(system, side, failure)) return failure->code;
        if (system->triples[side].found) return KS_EXIT_DONE;
    }
    return ks_dataset_open(&array->dataset, system->file, system->name, paths[i],
                           &system->problems, failure);
}

/* *other: D is missing and the file is of another kind, so that nothing else need be reported as missing. */
static ks_exit open_diagonal(ks_system *system, bool *other, ks_failure *failure)
{
    *other = false;
    ks_system_array *dense = &system->arrays[KS_SYSTEM_D];
    ks_system_array *dia = &system->arrays[KS_SYSTEM_D_DIA];
    if (open_array(system, KS_SYSTEM_D, failure) || open_array(system, KS_SYSTEM_D_DIA, failure))
        return failure->code;
    if (dense->dataset.found && dia->dataset.found) {
        ks_problem_add(&system->problems, "%s: has both /D and /D_dia, which stands for it",
                       system->name);
        return KS_EXIT_DONE;
    }
    if (dense->dataset.id >= 0) sizes_of_diagonal(system);
    if (dia->dataset.id >= 0) sizes_of_tridiagonal(system);
    if (!dense->dataset.found && !dia->dataset.found) {
        const char *hint = ks_file_kind_hint(system->file, KS_FILE_SYSTEM);
        char letters[64] = "";
        *other = *hint != '\0';
        if (!*other) ks_h5_other_letters(system->file, paths[KS_SYSTEM_D], letters, sizeof letters);
        if (!*other && !letters[0]) ks_h5_other_letters(system->file, paths[KS_SYSTEM_D_DIA], letters, sizeof letters);
        ks_problem_add(&system->problems, "%s: dataset /D is missing; %s%s", system->name,
                       *other ? hint : "it holds the diagonal blocks, (N, n, n)", letters);
    }
    return KS_EXIT_DONE;
}

static ks_exit open_arrays(ks_system *system, ks_failure *failure)
{
    static const struct { ks_system_name name; const char *holds; } others[] = {
        {KS_SYSTEM_L, "the sub-diagonal blocks, (N - 1, n, n)"},
        {KS_SYSTEM_U, NULL},
        {KS_SYSTEM_B, "the right-hand sides, (N, n) or (N, n, nrhs)"}};
    bool other;
    if (open_diagonal(system, &other, failure)) return failure->code;
    if (other) return KS_EXIT_DONE;
    for (size_t k = 0; k < sizeof others / sizeof *others; ++k) {
        const int i = (int)others[k].name;
        ks_system_array *array = &system->arrays[i];
        if (open_array(system, i, failure)) return failure->code;
        const bool triples = i != KS_SYSTEM_B && system->triples[i == KS_SYSTEM_U].found;
        if (!array->dataset.found && !triples && others[k].holds &&
            !(i == KS_SYSTEM_L && system->N == 1)) {
            char letters[64];
            ks_h5_other_letters(system->file, paths[i], letters, sizeof letters);
            ks_problem_add(&system->problems, "%s: dataset %s is missing; it holds %s%s", system->name, paths[i],
                           others[k].holds, letters);
        }
        if (array->dataset.id < 0 || system->N < 0) continue;
        if (i == KS_SYSTEM_B) fit_right_hand_sides(system);
        else fit_coupling(system, others[k].name);
    }
    return KS_EXIT_DONE;
}

static ks_exit open_parts(ks_system *system, int layout, ks_failure *failure)
{
    const ks_convention convention = {system->name, "the file", "layout", ks_layout_name, layout};
    system->file = ks_h5_open(system->name, failure);
    if (system->file < 0) return failure->code;
    const hid_t root = H5Gopen2(system->file, "/", H5P_DEFAULT);
    if (root < 0)
        return ks_fail_h5(failure, KS_EXIT_FILE, "%s: cannot open its root group", system->name);
    system->layout = ks_convention_read(&convention, root, &system->layout_stated,
                                        &system->problems) == 0 ? KS_LAYOUT_C : KS_LAYOUT_FORTRAN;
    ks_h5_release(root);
    if (open_arrays(system, failure)) return failure->code;
    ks_system_note_unread(system);
    for (int i = 0; i < KS_SYSTEM_ARRAYS; ++i) ks_unwritten_note(&system->arrays[i].dataset, &system->notes);
    for (int i = 0; i < 8; ++i)
        ks_unwritten_note(&system->triples[i / 4].datasets[i % 4], &system->notes);
    return KS_EXIT_DONE;
}

ks_exit ks_system_open(ks_system **out, const char *file, int layout, ks_failure *failure)
{
    *out = NULL;
    ks_system *system = ks_memory_zeroed(sizeof *system, "the description of the system", failure);
    if (!system) return failure->code;
    system->name = file;
    system->file = -1;
    system->N = system->n = system->nrhs = -1;
    for (int i = 0; i < KS_SYSTEM_ARRAYS; ++i) {
        system->arrays[i].dataset.id = -1;
        system->arrays[i].fit.series_axis = system->arrays[i].fit.step_axis = -1;
    }
    for (int i = 0; i < 4; ++i)
        system->triples[0].datasets[i].id = system->triples[1].datasets[i].id = -1;
    if (open_parts(system, layout, failure)) {
        ks_system_close(system);
        return failure->code;
    }
    *out = system;
    return KS_EXIT_DONE;
}

ks_exit ks_system_spare(const ks_system *system, const char *output, ks_failure *failure)
{
    for (int i = 0; i < KS_SYSTEM_ARRAYS; ++i)
        ks_sources_spare(&system->arrays[i].dataset, output, failure);
    for (int i = 0; i < 4; ++i) {
        ks_sources_spare(&system->triples[0].datasets[i], output, failure);
        ks_sources_spare(&system->triples[1].datasets[i], output, failure);
    }
    return failure->code;
}

void ks_system_close(ks_system *system)
{
    if (!system) return;
    for (int i = 0; i < KS_SYSTEM_ARRAYS; ++i) {
        ks_dataset_close(&system->arrays[i].dataset);
        free(system->arrays[i].data);
    }
    ks_system_free_triples(&system->triples[0]);
    ks_system_free_triples(&system->triples[1]);
    ks_h5_release(system->file);
    free(system);
}
