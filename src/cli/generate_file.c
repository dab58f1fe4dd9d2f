/* The file of `kalscan generate`, written in slabs of steps, so that its length is not limited by memory. */
#include "generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "h5.h"
#include "json.h"
#include "memory.h"
#include "output_file.h"
#include "progress.h"
#include "target.h"

enum { SLAB_STEPS = 4096, Y = KS_PARTS, ARRAYS = KS_PARTS + 1 };

typedef struct writer {
    const ks_generate_settings *settings;
    ks_output_file *out;
    ks_output_array arrays[ARRAYS];
    hid_t ids[ARRAYS];
    double *buffers[ARRAYS];   /* of SLAB_STEPS blocks, for arrays that vary with the step */
    int64_t block[ARRAYS];
    ks_progress progress;
} writer;

static const char *const paths[ARRAYS] = {"model/F", "model/Q", "model/u", "model/H", "model/R",
                                          "model/d", "model/m0", "model/P0", "y"};

static bool is_written(const ks_recipe *recipe, int array)
{
    return recipe->kind == KS_KIND_RANDOM || (array != KS_PART_U && array != KS_PART_D);
}

static bool has_steps(const ks_recipe *recipe, int array)
{
    return array == Y ||
           (recipe->kind == KS_KIND_RANDOM && array != KS_PART_M0 && array != KS_PART_P0);
}

/* In random models each series has its own model. A constant model is shared. */
static bool has_series(const ks_recipe *recipe, int array)
{
    return recipe->batched && (array == Y || recipe->kind == KS_KIND_RANDOM);
}

static void describe(writer *w, int index)
{
    const ks_recipe *recipe = &w->settings->recipe;
    ks_output_array *array = &w->arrays[index];
    const int64_t nx = recipe->nx, ny = recipe->ny;
    const bool diagonal = index == KS_PART_R && ks_recipe_R_is_diagonal(recipe);
    array->path = diagonal ? "model/R_diag" : paths[index];
    array->precision = KS_F64;
    array->step_axis = -1;
    if (has_series(recipe, index)) array->dims[array->rank++] = recipe->B;
    if (has_steps(recipe, index)) {
        array->step_axis = array->rank;
        array->dims[array->rank++] = recipe->T;
    }
    switch (index) {
    case KS_PART_U:
    case KS_PART_M0: array->dims[array->rank++] = nx; break;
    case KS_PART_D:
    case Y: array->dims[array->rank++] = ny; break;
    case KS_PART_R:
        array->dims[array->rank++] = ny;
        if (!diagonal) array->dims[array->rank++] = ny;
        break;
    default:
        array->dims[array->rank++] = index == KS_PART_H ? ny : nx;
        array->dims[array->rank++] = nx;
        break;
    }
    w->block[index] = index == Y ? ny : ks_part_elements(recipe, (ks_part)index);
}

/* Check the free space before the file is begun, so that the disk is not filled in vain. */
static ks_exit check_room(writer *w, ks_failure *failure)
{
    size_t bytes = 0;
    for (int i = 0; i < ARRAYS; ++i) {
        if (!is_written(&w->settings->recipe, i)) continue;
        describe(w, i);
        bytes = ks_size_sum(bytes, ks_output_disk_bytes(&w->arrays[i]));
    }
    if (w->settings->compress > 0) return KS_EXIT_DONE;
    return ks_target_room(w->settings->output, bytes, failure);
}

static ks_exit begin_arrays(writer *w, ks_failure *failure)
{
    const ks_recipe *recipe = &w->settings->recipe;
    for (int i = 0; i < ARRAYS; ++i) {
        if (!is_written(recipe, i)) continue;
        if (ks_output_begin(w->out, &w->arrays[i], &w->ids[i], failure)) return failure->code;
        if (!has_steps(recipe, i)) continue;
        w->buffers[i] = ks_memory_raw(
            ks_size_product(SLAB_STEPS * sizeof(double), (size_t)w->block[i]),
            "the simulated model", failure);
        if (!w->buffers[i]) return failure->code;
    }
    return KS_EXIT_DONE;
}

/* Write the arrays without steps, once for all series or once for each. Arrays of rank 1 and 2 have no series axis. */
static ks_exit write_constants(writer *w, const ks_simulation *simulation, int64_t series,
                               ks_failure *failure)
{
    const ks_recipe *recipe = &w->settings->recipe;
    for (int i = 0; i < KS_PARTS; ++i) {
        if (!is_written(recipe, i) || has_steps(recipe, i)) continue;
        if (series > 0 && !has_series(recipe, i)) continue;
        ks_output_array array = w->arrays[i];
        ks_slab slab = {0, 1, series, 1};
        /* The only leading axis of this array is that of the series: walk along it as if along steps. */
        array.step_axis = has_series(recipe, i) ? 0 : -1;
        if (ks_output_slab(w->out, &array, w->ids[i], &slab, simulation->part[i], failure))
            return failure->code;
    }
    return KS_EXIT_DONE;
}

static ks_exit write_slab(writer *w, int64_t series, int64_t first, int64_t count,
                          ks_failure *failure)
{
    const ks_slab slab = {series, 1, first, count};
    for (int i = 0; i < ARRAYS; ++i)
        if (w->buffers[i] &&
            ks_output_slab(w->out, &w->arrays[i], w->ids[i], &slab, w->buffers[i], failure))
            return failure->code;
    return KS_EXIT_DONE;
}

static ks_exit write_series(writer *w, int64_t series, ks_failure *failure)
{
    const ks_recipe *recipe = &w->settings->recipe;
    ks_simulation simulation;
    if (ks_simulation_start(&simulation, recipe, series, failure)) return failure->code;
    write_constants(w, &simulation, series, failure);
    for (int64_t first = 0; first < recipe->T && !failure->code; first += SLAB_STEPS) {
        const int64_t left = recipe->T - first, count = left < SLAB_STEPS ? left : SLAB_STEPS;
        for (int64_t k = 0; k < count; ++k) {
            ks_simulation_step(&simulation, w->buffers[Y] + k * recipe->ny);
            for (int i = 0; i < KS_PARTS; ++i)
                if (w->buffers[i])
                    memcpy(w->buffers[i] + k * w->block[i], simulation.part[i],
                           (size_t)w->block[i] * sizeof(double));
        }
        write_slab(w, series, first, count, failure);
        ks_progress_set(&w->progress, ((double)series + (double)first / (double)recipe->T) /
                                          (double)recipe->B);
    }
    ks_simulation_end(&simulation);
    return failure->code;
}

/* Write the time stamps k dt, for kinds that have a time step. */
static ks_exit write_times(writer *w, ks_failure *failure)
{
    const ks_recipe *recipe = &w->settings->recipe;
    const ks_output_array array = {.path = "t", .precision = KS_F64, .rank = 1,
                                   .dims = {recipe->T}, .step_axis = 0};
    double t[SLAB_STEPS];
    hid_t id;
    if (recipe->kind != KS_KIND_CONSTANT_VELOCITY && recipe->kind != KS_KIND_ROTATION)
        return KS_EXIT_DONE;
    if (ks_output_begin(w->out, &array, &id, failure)) return failure->code;
    for (int64_t first = 0; first < recipe->T && !failure->code; first += SLAB_STEPS) {
        const int64_t left = recipe->T - first;
        const ks_slab slab = {0, 1, first, left < SLAB_STEPS ? left : SLAB_STEPS};
        for (int64_t k = 0; k < slab.step_count; ++k) t[k] = (double)(first + k) * recipe->dt;
        ks_output_slab(w->out, &array, id, &slab, t, failure);
    }
    ks_output_end(w->out, &array, id, failure);
    if (failure->code || ks_output_text(w->out, "t", "units", "s", failure)) return failure->code;
    return ks_output_text(w->out, "t", "long_name", "time", failure);
}

ks_exit ks_generate_attributes(const ks_generate_settings *settings, ks_output_file *out,
                               ks_failure *failure)
{
    const struct { const char *name, *value; } texts[] = {
        {"program", "kalscan"},
        {"version", ks_version()},
        {"command_line", settings->line},
        {"kind", settings->kind_name},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
        if (ks_output_text(out, "/", texts[i].name, texts[i].value, failure)) return failure->code;
    return ks_output_integer(out, "/", "seed", settings->recipe.seed, failure);
}

static ks_exit write_conventions(writer *w, ks_failure *failure)
{
    if (ks_output_text(w->out, "model", "prior", "x0", failure) ||
        ks_output_text(w->out, "model", "transition", "into", failure))
        return failure->code;
    return ks_output_text(w->out, "model", "layout", "c", failure);
}

static void print_summary(const ks_generate_settings *settings, double seconds)
{
    const ks_recipe *recipe = &settings->recipe;
    if (settings->json) {
        ks_json json = {0};
        ks_json_open(&json, NULL, '{');
        ks_json_text(&json, "kind", settings->kind_name);
        ks_json_text(&json, "output", settings->output);
        ks_json_integer(&json, "T", recipe->T);
        ks_json_integer(&json, "B", recipe->B);
        ks_json_integer(&json, "nx", recipe->nx);
        ks_json_integer(&json, "ny", recipe->ny);
        ks_json_integer(&json, "seed", recipe->seed);
        ks_json_number(&json, "seconds", seconds);
        ks_json_close(&json, '}');
        ks_json_end();
    } else if (!settings->quiet) {
        printf("%s: %s, ", settings->output, settings->kind_name);
        if (recipe->batched) printf("B = %lld, ", (long long)recipe->B);
        printf("T = %lld, nx = %d, ny = %d, seed %lld, %.3g s\n", (long long)recipe->T, recipe->nx,
               recipe->ny, (long long)recipe->seed, seconds);
    }
}

static ks_exit write_all(writer *w, ks_failure *failure)
{
    if (begin_arrays(w, failure) || write_times(w, failure) || write_conventions(w, failure) ||
        ks_generate_attributes(w->settings, w->out, failure))
        return failure->code;
    for (int64_t s = 0; s < w->settings->recipe.B; ++s)
        if (write_series(w, s, failure)) return failure->code;
    for (int i = 0; i < ARRAYS; ++i)
        if (ks_output_end(w->out, &w->arrays[i], w->ids[i], failure)) return failure->code;
    return KS_EXIT_DONE;
}

ks_exit ks_generate_file(const ks_generate_settings *settings, ks_failure *failure)
{
    const double start = ks_seconds();
    writer w = {.settings = settings};
    for (int i = 0; i < ARRAYS; ++i) w.ids[i] = -1;
    if (check_room(&w, failure)) return failure->code;
    ks_progress_start(&w.progress, settings->quiet);
    ks_progress_phase(&w.progress, "write");
    if (ks_output_create(&w.out, settings->output, settings->force, settings->compress, failure))
        return failure->code;
    write_all(&w, failure);
    for (int i = 0; i < ARRAYS; ++i) free(w.buffers[i]);
    ks_progress_clear(&w.progress);
    if (failure->code) ks_output_discard(w.out);
    else if (ks_output_commit(w.out, failure) == KS_EXIT_DONE)
        print_summary(settings, ks_seconds() - start);
    return failure->code;
}
