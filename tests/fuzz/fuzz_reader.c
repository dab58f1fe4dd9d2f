/* libFuzzer target of the file readers: nearly right HDF5 files, made from the fuzzer's bytes, are
 * opened, loaded and, where nothing is wrong with them, smoothed or solved. Beyond what the sanitizers see,
 * a refusal must have a message, and a success finite results. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <kalscan/blocktri.h>
#include <kalscan/general.h>
#include <kalscan/smooth.h>
#include "h5.h"
#include "make_file.h"
#include "model_file.h"
#include "system_file.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char file_name[64];

#define MUST(condition) ((condition) ? (void)0 : broken(#condition, __LINE__))

static void broken(const char *what, int line)
{
    fprintf(stderr, "fuzz_reader.c:%d: does not hold: %s\n", line, what);
    unlink(file_name);
    abort();
}

static void remove_file(void) { unlink(file_name); }

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    ks_failure failure = {0};
    MUST(ks_h5_start(&failure) == KS_EXIT_DONE);
    /* HDF5 keeps what each file takes of it, instead of pages that are new to every run. */
    MUST(H5set_free_list_limits(-1, -1, -1, -1, -1, -1) >= 0);
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(file_name, sizeof file_name, "%s/kalscan-fuzz-%ld.h5", folder, (long)getpid());
    atexit(remove_file);
    return 0;
}

/* Every number that a run without error wrote is finite. */
static void smooth(const ks_input *input)
{
    const size_t T = (size_t)input->T, B = (size_t)input->B, nx = (size_t)input->nx;
    const int64_t n = input->nx, n2 = n * n;
    ks_model model = KS_MODEL_INIT;
    ks_view y;
    ks_input_views(input, &model, &y);
    ks_smooth_options options = KS_SMOOTH_OPTIONS_INIT;
    options.method = KS_METHOD_SEQUENTIAL;
    options.precision = KS_F64;
    ks_smooth_plan *plan = NULL;
    if (ks_smooth_plan_create(&plan, NULL, input->T, input->B, input->nx, input->ny, &options))
        return;
    const size_t means = B * T * nx, bytes = ks_smooth_workspace_bytes(plan);
    double *mean = malloc(means * sizeof *mean), *cov = malloc(means * nx * sizeof *cov);
    double *loglik = malloc(B * sizeof *loglik);
    void *work = aligned_alloc(64, (bytes + 63) / 64 * 64);
    MUST(mean && cov && loglik && work);
    ks_outputs outputs = KS_OUTPUTS_INIT;
    outputs.smoothed_mean = (ks_out){mean, n, n * input->T};
    outputs.smoothed_cov = (ks_out){cov, n2, n2 * input->T};
    outputs.loglik = (ks_out){loglik, 0, 1};
    ks_info info = KS_INFO_INIT;
    if (ks_smooth_run(plan, &model, y, &outputs, work, &info) == KS_OK) {
        for (size_t i = 0; i < means; ++i) MUST(isfinite(mean[i]));
        for (size_t i = 0; i < means * nx; ++i) MUST(isfinite(cov[i]));
        for (size_t i = 0; i < B; ++i) MUST(isfinite(loglik[i]));
    } else {
        MUST(info.status != KS_OK);
    }
    free(work);
    free(loglik);
    free(cov);
    free(mean);
    ks_smooth_plan_destroy(plan);
}

static void check_problems(const ks_problems *problems)
{
    for (int i = 0; i < problems->count && i < KS_PROBLEMS_KEPT; ++i)
        MUST(problems->text[i][0] != '\0');
}

/* What can be factored can be solved. */
static void solve(const ks_system *system)
{
    const int64_t block = (int64_t)system->n * system->n, side = (int64_t)system->n * system->nrhs;
    double *D = system->arrays[KS_SYSTEM_D].data, *L = system->arrays[KS_SYSTEM_L].data;
    ks_blocktri_plan *plan = NULL;
    MUST(ks_blocktri_plan_create(&plan, NULL, system->N, system->n, NULL) == KS_OK);
    double *x = malloc((size_t)(system->N * side) * sizeof *x);
    void *work = aligned_alloc(64, (ks_blocktri_workspace_bytes(plan) + 63) / 64 * 64);
    MUST(x && work);
    const ks_blocktri_matrix matrix = {{D, block}, {L, block}};
    const ks_blocktri_factor factor = {{D, block}, {L, block}, NULL};
    const ks_const_blocks b = {system->arrays[KS_SYSTEM_B].data, side};
    const ks_blocks to = {x, side};
    double logdet;
    if (ks_blocktri_factorize(plan, &matrix, &factor, work, NULL) == KS_OK) {
        MUST(ks_blocktri_solve(plan, &factor, system->nrhs, b, to, work) == KS_OK);
        MUST(ks_blocktri_logdet(plan, &factor, &logdet) == KS_OK && isfinite(logdet));
    }
    free(work);
    free(x);
    ks_blocktri_plan_destroy(plan);
}

/* What the reader lets through can be packed; a solution is finite, and as good as it is said to be. */
static void solve_general(const ks_system *system, ks_general_method method)
{
    const ks_system_array *arrays = system->arrays;
    const ks_system_triples *L = &system->triples[0], *U = &system->triples[1];
    const int64_t block = (int64_t)system->n * system->n, side = (int64_t)system->n * system->nrhs;
    ks_general_source source = KS_GENERAL_SOURCE_INIT;
    ks_general_packed *packed = NULL;
    ks_general_plan *plan = NULL;
    if (arrays[KS_SYSTEM_D_DIA].data) source.D_dia = arrays[KS_SYSTEM_D_DIA].data;
    else source.D = (ks_const_blocks){arrays[KS_SYSTEM_D].data, block};
    source.L = (ks_const_blocks){arrays[KS_SYSTEM_L].data, block};
    source.U = (ks_const_blocks){arrays[KS_SYSTEM_U].data, block};
    source.L_triples = (ks_general_triples){L->count, L->block, L->row, L->col, L->value};
    source.U_triples = (ks_general_triples){U->count, U->block, U->row, U->col, U->value};
    source.symmetric = !ks_system_has_upper(system);
    MUST(ks_general_pack(&packed, NULL, system->N, system->n, &source) == KS_OK);
    const ks_general_matrix *matrix = ks_general_packed_matrix(packed);
    ks_general_options options = KS_GENERAL_OPTIONS_INIT;
    options.method = method;
    options.max_iterations = 60;
    options.any_matrix = 1;
    MUST(ks_general_plan_create(&plan, NULL, system->N, system->n, matrix, &options) == KS_OK);
    double *x = malloc((size_t)(system->N * side) * sizeof *x);
    void *factor = aligned_alloc(64, (ks_general_factor_bytes(plan) + 64) / 64 * 64);
    void *work = aligned_alloc(64, (ks_general_workspace_bytes(plan) + 64) / 64 * 64);
    MUST(x && factor && work);
    ks_general_report report = KS_GENERAL_REPORT_INIT;
    const ks_const_blocks b = {arrays[KS_SYSTEM_B].data, side};
    if (ks_general_factorize(plan, matrix, factor, work, &report) == KS_OK &&
        ks_general_solve(plan, matrix, factor, system->nrhs, b, (ks_blocks){x, side}, work,
                         &report) == KS_OK) {
        for (int64_t i = 0; i < system->N * side; ++i) MUST(isfinite(x[i]));
        if (report.end == KS_END_CONVERGED)
            MUST(report.relative_residual <= options.tolerance);
    } else {
        MUST(report.status != KS_OK && report.status != KS_EINVAL);
    }
    free(work);
    free(factor);
    free(x);
    ks_general_plan_destroy(plan);
    ks_general_packed_destroy(packed);
}

static ks_exit read_system(ks_precision precision, decisions *d, ks_failure *failure)
{
    ks_system *system = NULL;
    if (make_system(file_name, d)) return KS_EXIT_DONE;
    ks_exit code = ks_system_open(&system, file_name, -1, failure);
    MUST((code == KS_EXIT_DONE) == (system != NULL));
    if (system) {
        check_problems(&system->problems);
        if (!system->problems.count && ks_system_bytes(system, precision) < (size_t)1 << 26) {
            const bool general = ks_system_has_upper(system) || ks_system_is_compact(system);
            code = ks_system_load(system, precision, !general, NULL, NULL, failure);
            check_problems(&system->problems);
            if (code == KS_EXIT_DONE && !system->problems.count && precision == KS_F64) {
                if (general) solve_general(system, (ks_general_method)take(d, KS_GENERAL_METHODS));
                else solve(system);
            }
        }
    }
    ks_system_close(system);
    return code;
}

static ks_exit read_model(ks_precision precision, decisions *d, ks_failure *failure)
{
    ks_input_places places = KS_INPUT_PLACES_INIT;
    places.file = file_name;
    ks_input *input = NULL;
    if (make_file(file_name, d)) return KS_EXIT_DONE;
    ks_exit code = ks_input_open(&input, &places, failure);
    MUST((code == KS_EXIT_DONE) == (input != NULL));
    if (input) {
        check_problems(&input->problems);
        if (!input->problems.count && ks_input_bytes(input, precision) < (size_t)1 << 26) {
            code = ks_input_load(input, precision, NULL, NULL, failure);
            check_problems(&input->problems);
            if (code == KS_EXIT_DONE && !input->problems.count && precision == KS_F64)
                smooth(input);
        }
    }
    ks_input_close(input);
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    decisions d = {data, data + size};
    ks_failure failure = {0};
    const bool system = take_rarely(&d, 80) != 0;
    const ks_precision precision = take_rarely(&d, 60) ? KS_F32 : KS_F64;
    const ks_exit code = system ? read_system(precision, &d, &failure)
                                : read_model(precision, &d, &failure);
    MUST(code == failure.code);
    MUST(code == KS_EXIT_DONE || failure.text[0] != '\0');
    return 0;
}
