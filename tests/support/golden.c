/* golden.c -- reading golden cases. */
#include "golden.h"

#include "golden_kinds.h"

#include <dirent.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A dataset as doubles; its rank and sizes in dims. NULL when it is absent or cannot be read. */
static double *read_dataset(hid_t file, const char *path, int *rank, hsize_t dims[4])
{
    if (H5Lexists(file, path, H5P_DEFAULT) <= 0) return NULL;
    double *data = NULL;
    hid_t set = H5Dopen2(file, path, H5P_DEFAULT), space = H5Dget_space(set);
    *rank = H5Sget_simple_extent_ndims(space);
    if (*rank >= 0 && *rank <= 4) {
        H5Sget_simple_extent_dims(space, dims, NULL);
        hssize_t n = H5Sget_simple_extent_npoints(space);
        data = malloc((size_t)n * sizeof *data);
        if (data && H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) {
            free(data);
            data = NULL;
        }
    }
    H5Sclose(space);
    H5Dclose(set);
    return data;
}

static float *narrowed(const double *a, size_t n)
{
    float *f = malloc(n * sizeof *f);
    for (size_t i = 0; f && i < n; i++) f[i] = (float)a[i];
    return f;
}

/* Read an input whose block has `block` dimensions. The rank decides what varies; an axis of
 * length 1 before the block is one that does not. has_steps is false for the prior. */
static bool read_input(hid_t file, const char *path, int block, bool has_steps, bool required,
                       golden_input *in)
{
    int rank = 0;
    hsize_t dims[4] = {1, 1, 1, 1};
    in->f64 = read_dataset(file, path, &rank, dims);
    if (!in->f64) return !required;
    int lead = rank - block;
    if (lead < 0 || lead > (has_steps ? 2 : 1)) return false;
    int64_t size = 1, steps = 1, series = 1;
    for (int i = lead; i < rank; i++) size *= (int64_t)dims[i];
    if (lead > 0 && has_steps) steps = (int64_t)dims[lead - 1];
    if (lead == 2 || (lead == 1 && !has_steps)) series = (int64_t)dims[0];
    in->step_stride = steps > 1 ? size : 0;
    in->series_stride = series > 1 ? steps * size : 0;
    in->f32 = narrowed(in->f64, (size_t)(series * steps * size));
    return in->f32 != NULL;
}

static double read_number(hid_t at, const char *name)
{
    double value = 0;
    hid_t attribute = H5Aopen(at, name, H5P_DEFAULT);
    H5Aread(attribute, H5T_NATIVE_DOUBLE, &value);
    H5Aclose(attribute);
    return value;
}

static void read_text(hid_t at, const char *name, char *out, size_t size)
{
    hid_t attribute = H5Aopen(at, name, H5P_DEFAULT), type = H5Aget_type(attribute);
    out[0] = '\0';
    if (H5Tis_variable_str(type) > 0) {
        char *text = NULL;
        if (H5Aread(attribute, type, &text) >= 0 && text) snprintf(out, size, "%s", text);
        H5free_memory(text);
    }
    H5Tclose(type);
    H5Aclose(attribute);
}

static void read_attributes(hid_t file, golden *g)
{
    char prior[8];
    hid_t model = H5Gopen2(file, "model", H5P_DEFAULT);
    hid_t expected = H5Gopen2(file, "expected", H5P_DEFAULT);
    read_text(model, "prior", prior, sizeof prior);
    g->prior = strcmp(prior, "x1") == 0 ? KS_PRIOR_X1 : KS_PRIOR_X0;
    read_text(expected, "condition", g->condition, sizeof g->condition);
    g->scan_takes = read_number(expected, "scan_takes") > 0;
    g->f32_exact = read_number(expected, "f32_exact") > 0;
    g->per_state = read_number(expected, "floor_per_state") > 0;
    g->element_pivot = read_number(expected, "element_pivot");
    g->sensitivity = read_number(expected, "sensitivity");
    H5Gclose(expected);
    H5Gclose(model);
}

static bool read_inputs(hid_t file, golden *g)
{
    return read_input(file, "/y", 1, true, true, &g->y) &&
           read_input(file, "/model/F", 2, true, true, &g->F) &&
           read_input(file, "/model/Q", 2, true, true, &g->Q) &&
           read_input(file, "/model/H", 2, true, true, &g->H) &&
           read_input(file, "/model/R", 2, true, true, &g->R) &&
           read_input(file, "/model/u", 1, true, false, &g->u) &&
           read_input(file, "/model/d", 1, true, false, &g->d) &&
           read_input(file, "/model/m0", 1, false, true, &g->m0) &&
           read_input(file, "/model/P0", 2, false, true, &g->P0);
}

/* The sizes: from /y, whose last axis is ny, and from the expected means. */
static bool read_sizes(hid_t file, golden *g)
{
    int rank = 0;
    hsize_t dims[4];
    free(read_dataset(file, "/y", &rank, dims));
    if (rank < 2) return false;
    g->ny = (int)dims[rank - 1];
    g->T = (int64_t)dims[rank - 2];
    g->B = rank == 3 ? (int64_t)dims[0] : 1;
    free(read_dataset(file, "/expected/smoothed_mean", &rank, dims));
    g->nx = (int)dims[rank - 1];
    return true;
}

static double *diagonals(const double *cov, int64_t blocks, int n)
{
    double *var = malloc((size_t)(blocks * n) * sizeof *var);
    for (int64_t b = 0; var && b < blocks; b++)
        for (int i = 0; i < n; i++) var[b * n + i] = cov[(b * n + i) * n + i];
    return var;
}

static bool read_expected(hid_t file, golden *g)
{
    golden_results *e = &g->expected;
    *e = (golden_results){.T = g->T, .B = g->B, .nx = g->nx, .ny = g->ny};
    for (int i = 0; i < GOLDEN_OUTPUTS; i++) {
        char path[64];
        int rank = 0;
        hsize_t dims[4] = {1, 1, 1, 1};
        snprintf(path, sizeof path, "/expected/%s", golden_kinds[i].name);
        e->array[i] = read_dataset(file, path, &rank, dims);
        int64_t n = 1;
        for (int r = 0; r < rank; r++) n *= (int64_t)dims[r];
        if (e->array[i] && n != golden_entries(&golden_kinds[i], g->T, g->B, g->nx, g->ny))
            return false;
    }
    static const ks_output pairs[3][2] = {{KS_OUT_PREDICTED_VAR, KS_OUT_PREDICTED_COV},
                                          {KS_OUT_FILTERED_VAR, KS_OUT_FILTERED_COV},
                                          {KS_OUT_SMOOTHED_VAR, KS_OUT_SMOOTHED_COV}};
    for (int p = 0; p < 3; p++) {
        const double *cov = e->array[golden_index(pairs[p][1])];
        if (!cov) return false;
        e->array[golden_index(pairs[p][0])] = diagonals(cov, g->B * g->T, g->nx);
    }
    return true;
}

static void name_from_path(const char *path, char *name, size_t size)
{
    const char *base = strrchr(path, '/');
    snprintf(name, size, "%s", base ? base + 1 : path);
    char *dot = strrchr(name, '.');
    if (dot) *dot = '\0';
}

golden *golden_load(const char *path)
{
    golden *g = calloc(1, sizeof *g);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    bool ok = g && file >= 0;
    if (ok) {
        name_from_path(path, g->name, sizeof g->name);
        read_attributes(file, g);
        ok = read_sizes(file, g) && read_inputs(file, g) && read_expected(file, g);
    }
    if (file >= 0) H5Fclose(file);
    if (!ok) {
        fprintf(stderr, "golden_load: cannot read %s\n", path);
        golden_free(g);
        return NULL;
    }
    return g;
}

static void free_input(golden_input *in)
{
    free(in->f64);
    free(in->f32);
}

void golden_free(golden *g)
{
    if (!g) return;
    golden_input *inputs[] = {&g->y, &g->F, &g->Q, &g->H, &g->R, &g->u, &g->d, &g->m0, &g->P0};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) free_input(inputs[i]);
    for (int i = 0; i < GOLDEN_OUTPUTS; i++) free(g->expected.array[i]);
    free(g);
}

static ks_view view_of(const golden_input *in, ks_precision precision)
{
    ks_view view = {NULL, in->step_stride, in->series_stride};
    view.data = precision == KS_F32 ? (const void *)in->f32 : (const void *)in->f64;
    return view;
}

ks_view golden_y(const golden *g, ks_precision precision) { return view_of(&g->y, precision); }

ks_model golden_model(const golden *g, ks_precision precision)
{
    ks_model m = KS_MODEL_INIT;
    m.F = view_of(&g->F, precision);
    m.Q = view_of(&g->Q, precision);
    m.u = view_of(&g->u, precision);
    m.H = view_of(&g->H, precision);
    m.R = view_of(&g->R, precision);
    m.d = view_of(&g->d, precision);
    m.m0 = view_of(&g->m0, precision);
    m.P0 = view_of(&g->P0, precision);
    m.prior = g->prior;
    return m;
}

static int is_case(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return n > 3 && strcmp(entry->d_name + n - 3, ".h5") == 0;
}

char **golden_list(const char *folder, size_t *count)
{
    struct dirent **found = NULL;
    int n = scandir(folder, &found, is_case, alphasort);
    char **paths = calloc(n > 0 ? (size_t)n : 1, sizeof *paths);
    *count = 0;
    for (int i = 0; i < n; i++) {
        size_t size = strlen(folder) + strlen(found[i]->d_name) + 2;
        if (paths && (paths[*count] = malloc(size)))
            snprintf(paths[(*count)++], size, "%s/%s", folder, found[i]->d_name);
        free(found[i]);
    }
    free(found);
    return paths;
}

void golden_free_list(char **paths, size_t count)
{
    for (size_t i = 0; i < count; i++) free(paths[i]);
    free(paths);
}
