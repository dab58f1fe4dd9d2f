/* What stands above the diagonals of a symmetric system. It is not read, but its author may have meant it. */
#include <math.h>
#include <stdio.h>
#include "system_file.h"
#include "values.h"

/* What an entry above the diagonal is, beside the one across. */
typedef enum upper { FITTING, OTHER, NOT_FINITE } upper;

/* Zero is what a file without upper triangles has there, and the round-off of single precision is none of its author's. */
static upper kind_of(double value, double across, double size)
{
    if (!isfinite(value)) return NOT_FINITE;
    return value == 0 || fabs(value - across) <= 1e-6 * size ? FITTING : OTHER;
}

static double value_at(const ks_system *system, int64_t at)
{
    const void *data = system->arrays[KS_SYSTEM_D].data;
    return system->precision == KS_F32 ? (double)((const float *)data)[at] : ((const double *)data)[at];
}

static void note(ks_system *system, upper kind, int64_t at)
{
    const ks_system_array *D = &system->arrays[KS_SYSTEM_D];
    const bool turned = system->layout == KS_LAYOUT_FORTRAN;
    const int64_t n = system->n, r = at / n % n, c = at % n;
    char block[32] = "";
    if (D->fit.step_axis >= 0) snprintf(block, sizeof block, "%lld, ", (long long)(at / n / n));
    ks_note_add(&system->notes, "%s[%s%lld, %lld] is %s%snot the entry across the diagonal, which is read in its place: "
                "the system counts as symmetric, since it has no /U", D->dataset.path, block,
                (long long)(turned ? c : r), (long long)(turned ? r : c),
                kind == NOT_FINITE ? ks_not_finite_text(system->precision, D->data, at) : "",
                kind == NOT_FINITE ? ", " : "");
}

void ks_system_note_upper(ks_system *system)
{
    const ks_system_array *D = &system->arrays[KS_SYSTEM_D];
    const int64_t n = system->n, rows = D->data && !ks_system_has_upper(system) ? D->blocks * n : 0;
    bool told[] = {true, false, false};
    for (int64_t row = 0; row < rows; ++row)
        for (int64_t block = row / n * n * n, r = row % n, c = r + 1; c < n; ++c) {
            const int64_t at = block + r * n + c;
            const double value = value_at(system, at), across = value_at(system, block + c * n + r);
            if (value - across == 0) continue; /* nearly all: no more is looked at */
            const double size = fabs(value_at(system, block + r * (n + 1))) + fabs(value_at(system, block + c * (n + 1)));
            const upper kind = kind_of(value, across, size);
            if (!told[kind]) note(system, kind, at);
            told[kind] = true;
        }
}
