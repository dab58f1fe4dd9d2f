/* Explaining a block-tridiagonal system. */
#include <stdio.h>
#include "info.h"
#include "system_file.h"

static const char *const meanings[KS_SYSTEM_ARRAYS] = {
    "diagonal blocks A[i, i]", "sub-diagonal blocks A[i + 1, i]",
    "super-diagonal blocks A[i, i + 1]", "right-hand sides",
    "diagonal blocks, tridiagonal: the diagonals below, at and above"};
static const char *const triple_meanings[2][4] = {
    {"which block A[i + 1, i]", "its row", "its column", "its value"},
    {"which block A[i, i + 1]", "its row", "its column", "its value"}};

static bool is_symmetric(const ks_system *system)
{
    return !ks_system_has_upper(system);
}

static void note_layout(const ks_system *system, ks_notes *list)
{
    if (system->layout == KS_LAYOUT_FORTRAN) return;
    for (int i = 0; i < KS_SYSTEM_ARRAYS; ++i)
        if (system->arrays[i].dataset.id >= 0 && system->arrays[i].dataset.matlab) {
            ks_note_add(list, "%s was written by MATLAB (attribute MATLAB_class), read with layout "
                        "c%s: if blocks come last there, layout must be \"fortran\"",
                        system->arrays[i].dataset.path,
                        system->layout_stated ? " as stated" : "");
            return;
        }
}

static void print_text(const ks_system *system, const ks_notes *list)
{
    printf("%s: block-tridiagonal system", system->name);
    if (system->N >= 0) printf(", N = %lld blocks, n = %d", (long long)system->N, system->n);
    if (system->nrhs >= 0) printf(", nrhs = %d", system->nrhs);
    printf("\n\nSystem\n");
    if (is_symmetric(system))
        printf("  symmetric: A[i, i + 1] = L[i]'; of D the lower triangles are read\n");
    else
        printf("  general: A[i, i + 1] = U[i]\n");
    printf("  layout %s: %s\n\nDatasets\n", ks_layout_name((int)system->layout),
           system->layout == KS_LAYOUT_C ? "matrices as h5py shows them"
                                         : "every matrix slice arrives transposed");
    for (int i = 0; i < KS_SYSTEM_ARRAYS; ++i)
        if (system->arrays[i].dataset.id >= 0)
            ks_info_print_dataset(&system->arrays[i].dataset, meanings[i]);
    for (int i = 0; i < 8; ++i)
        if (system->triples[i / 4].datasets[i % 4].id >= 0)
            ks_info_print_dataset(&system->triples[i / 4].datasets[i % 4],
                                  triple_meanings[i / 4][i % 4]);
    ks_info_print_findings(list, &system->problems);
}

static void print_json(const ks_system *system, const ks_notes *list)
{
    ks_json json = {0};
    ks_json_open(&json, NULL, '{');
    ks_json_text(&json, "file", system->name);
    ks_json_text(&json, "kind", "system");
    ks_info_json_size(&json, "N", system->N);
    ks_info_json_size(&json, "n", system->n);
    ks_info_json_size(&json, "nrhs", system->nrhs);
    ks_json_boolean(&json, "symmetric", is_symmetric(system));
    ks_json_text(&json, "layout", ks_layout_name((int)system->layout));
    ks_json_open(&json, "datasets", '[');
    for (int i = 0; i < KS_SYSTEM_ARRAYS; ++i)
        if (system->arrays[i].dataset.id >= 0)
            ks_info_json_dataset(&json, &system->arrays[i].dataset, meanings[i]);
    for (int i = 0; i < 8; ++i)
        if (system->triples[i / 4].datasets[i % 4].id >= 0)
            ks_info_json_dataset(&json, &system->triples[i / 4].datasets[i % 4],
                                 triple_meanings[i / 4][i % 4]);
    ks_json_close(&json, ']');
    ks_info_json_findings(&json, list, &system->problems);
    ks_json_close(&json, '}');
    ks_json_end();
}

ks_exit ks_info_system(const char *file, int layout, bool json, ks_failure *failure)
{
    ks_system *system;
    if (ks_system_open(&system, file, layout, failure)) return failure->code;
    ks_notes *list = &system->notes;
    if (system->problems.count == 0)
        ks_system_load(system, KS_F64, is_symmetric(system), NULL, NULL, failure);
    if (!failure->code) {
        note_layout(system, list);
        if (system->problems.count == 0) ks_system_note_upper(system);
        if (json) print_json(system, list);
        else print_text(system, list);
        if (system->problems.count > 0)
            ks_fail(failure, KS_EXIT_CONTENT, "%s: %d problem%s found", file,
                    system->problems.count, system->problems.count == 1 ? "" : "s");
    }
    ks_system_close(system);
    return failure->code;
}
