/* Writing the results of `kalscan solve` to a file. */
#include <stdlib.h>
#include <string.h>
#include "help.h"
#include "memory.h"
#include "output_file.h"
#include "provenance.h"
#include "solve.h"
#include "values.h"

static void write_progress(void *user, double bytes)
{
    ks_solve *run = user;
    const double inverse = run->S_diag ? (double)run->system_bytes : 0.0;
    run->written += bytes;
    ks_progress_set(&run->progress, run->written / ((double)run->result_bytes + inverse + 1.0));
}

/* x has the axes of b. */
static ks_output_array describe_x(const ks_solve *run)
{
    const ks_system_array *b = &run->system->arrays[KS_SYSTEM_B];
    const bool c = run->system->layout == KS_LAYOUT_C;
    const int lead = b->fit.step_axis + 1;
    ks_output_array array = {.path = "x", .long_name = "solution of A x = b",
                             .precision = run->data_precision, .rank = b->dataset.rank,
                             .step_axis = b->fit.step_axis, .named = true};
    for (int axis = 0; axis < array.rank; ++axis) array.dims[axis] = b->dataset.dims[axis];
    if (lead) array.axes[0] = KS_AXIS_BLOCK;
    if (array.rank - lead == 1) {
        array.axes[lead] = KS_AXIS_ROW;
    } else {
        array.axes[lead] = c ? KS_AXIS_ROW : KS_AXIS_RHS;
        array.axes[lead + 1] = c ? KS_AXIS_RHS : KS_AXIS_ROW;
    }
    return array;
}

static ks_output_array describe_blocks(const ks_solve *run, const char *path, const char *name,
                                       ks_axis axis, int64_t count)
{
    const int64_t n = run->system->n;
    return (ks_output_array){.path = path, .long_name = name, .precision = run->data_precision,
                             .rank = 3, .dims = {count, n, n}, .step_axis = 0, .named = true,
                             .axes = {axis, KS_AXIS_ROW, KS_AXIS_ROW_2}};
}

static ks_output_array describe_diagonal(const ks_solve *run)
{
    return describe_blocks(run, "S_diag", "diagonal blocks (i, i) of the inverse of A", KS_AXIS_BLOCK,
                           run->system->N);
}

static ks_output_array describe_lag(const ks_solve *run)
{
    return describe_blocks(run, "S_lag", "sub-diagonal blocks (i + 1, i) of the inverse of A",
                           KS_AXIS_COUPLING, run->system->N - 1);
}

size_t ks_solve_disk_bytes(const ks_solve *run)
{
    const ks_output_array x = describe_x(run), diagonal = describe_diagonal(run),
                          lag = describe_lag(run);
    const size_t solution = ks_output_disk_bytes(&x);
    if (!run->settings->inverse_blocks) return solution;
    return ks_size_sum(solution, ks_size_sum(ks_output_disk_bytes(&diagonal),
                                             ks_output_disk_bytes(&lag)));
}

static ks_exit write_axes(const ks_solve *run, ks_output_file *out, ks_failure *failure)
{
    const ks_system *system = run->system;
    const struct { ks_axis axis; int64_t length; bool used; } axes[] = {
        {KS_AXIS_BLOCK, system->N, true},
        {KS_AXIS_ROW, system->n, true},
        {KS_AXIS_RHS, system->nrhs, true},
        {KS_AXIS_ROW_2, system->n, run->S_diag != NULL},
        {KS_AXIS_COUPLING, system->N - 1, run->S_diag != NULL},
    };
    for (size_t i = 0; i < sizeof axes / sizeof *axes; ++i)
        if (axes[i].used && ks_output_axis(out, axes[i].axis, axes[i].length, failure))
            return failure->code;
    return KS_EXIT_DONE;
}

/* Write blocks in the layout of the input. With layout c `values` are written as they are. */
static ks_exit write_turned(ks_solve *run, ks_output_file *out, const ks_output_array *array,
                            int rows, int columns, const void *values, ks_failure *failure)
{
    const int64_t blocks = array->step_axis < 0 ? 1 : array->dims[0];
    const size_t number = ks_precision_bytes(array->precision);
    const size_t block = (size_t)rows * (size_t)columns * number;
    if (run->system->layout == KS_LAYOUT_C || rows == 1 || columns == 1 || blocks == 0)
        return ks_output_write(out, array, values, write_progress, run, failure);
    char *turned = malloc((size_t)blocks * block);
    if (!turned) return ks_fail(failure, KS_EXIT_RESOURCES, "out of memory: turning %s",
                                array->path);
    /* In memory a block is (rows, columns), in a file of layout fortran (columns, rows). */
    ks_transpose_blocks(number, columns, rows, blocks, values, turned);
    ks_output_write(out, array, turned, write_progress, run, failure);
    free(turned);
    return failure->code;
}

static ks_exit write_arrays(ks_solve *run, ks_output_file *out, ks_failure *failure)
{
    const ks_system *system = run->system;
    const ks_output_array x = describe_x(run);
    if (write_axes(run, out, failure) ||
        write_turned(run, out, &x, system->n, system->nrhs, run->x, failure))
        return failure->code;
    if (run->has_logdet) {
        const ks_output_array logdet = {.path = "logdet", .long_name = "log det A",
                                        .precision = KS_F64, .step_axis = -1};
        if (ks_output_write(out, &logdet, &run->logdet, NULL, NULL, failure)) return failure->code;
    }
    if (!run->S_diag) return KS_EXIT_DONE;
    const ks_output_array diagonal = describe_diagonal(run), lag = describe_lag(run);
    if (ks_output_write(out, &diagonal, run->S_diag, write_progress, run, failure))
        return failure->code;
    return write_turned(run, out, &lag, system->n, system->n, run->S_lag, failure);
}

static ks_exit write_attributes(const ks_solve *run, ks_output_file *out, ks_failure *failure)
{
    char history[4096];
    ks_history_text(run->call->line, history, sizeof history);
    const struct { const char *name, *value; } texts[] = {
        {"title", "Solution of a block-tridiagonal system"},
        {"history", history},
        {"program", "kalscan"},
        {"version", ks_version()},
        {"command_line", run->call->line},
        {"input", run->settings->file},
        {"job", "solve"},
        {"layout", ks_layout_name((int)run->system->layout)},
        {"method", run->method},
        {"backend", ks_backend_name(run->backend)},
        {"precision", ks_solve_precision_name(run->settings)},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
        if (ks_output_text(out, "/", texts[i].name, texts[i].value, failure)) return failure->code;
    if (ks_output_integer(out, "/", "threads", run->threads, failure) ||
        ks_output_number(out, "/", "residual", run->norms.residual, failure) ||
        ks_output_number(out, "/", "relative_residual", run->relative_residual, failure) ||
        ks_output_number(out, "/", "backward_error", run->backward_error, failure))
        return failure->code;
    if (!run->solver->cholesky && ks_output_integer(out, "/", "iterations", run->report.iterations, failure))
        return failure->code;
    if (run->segments > 0 && ks_output_integer(out, "/", "segments", run->segments, failure)) return failure->code;
    if (!run->settings->refine) return KS_EXIT_DONE;
    return ks_output_integer(out, "/", "refinement_steps", run->steps, failure);
}

ks_exit ks_solve_write(ks_solve *run, ks_failure *failure)
{
    const ks_solve_settings *settings = run->settings;
    const double start = ks_seconds();
    ks_output_file *out;
    ks_progress_phase(&run->progress, "write");
    if (ks_output_create(&out, settings->output, settings->force, settings->compress, failure))
        return failure->code;
    if (write_attributes(run, out, failure) || write_arrays(run, out, failure))
        ks_output_discard(out);
    else
        ks_output_commit(out, failure);
    run->write_seconds = ks_seconds() - start;
    return failure->code;
}
