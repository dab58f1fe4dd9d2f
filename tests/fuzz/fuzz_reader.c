/* libFuzzer target of the file reader: nearly right HDF5 files, made from the fuzzer's bytes, are
 * opened, loaded and, where nothing is wrong with them, smoothed. Beyond what the sanitizers see,
 * a refusal must have a message, and a success finite results. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <kalscan/smooth.h>
#include "h5.h"
#include "make_file.h"
#include "model_file.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    decisions d = {data, data + size};
    const ks_precision precision = take_rarely(&d, 60) ? KS_F32 : KS_F64;
    if (make_file(file_name, &d)) return 0;

    ks_input_places places = KS_INPUT_PLACES_INIT;
    places.file = file_name;
    ks_input *input = NULL;
    ks_failure failure = {0};
    ks_exit code = ks_input_open(&input, &places, &failure);
    MUST((code == KS_EXIT_DONE) == (input != NULL));
    if (input) {
        check_problems(&input->problems);
        if (!input->problems.count && ks_input_bytes(input, precision) < (size_t)1 << 26) {
            code = ks_input_load(input, precision, NULL, NULL, &failure);
            check_problems(&input->problems);
            if (code == KS_EXIT_DONE && !input->problems.count && precision == KS_F64)
                smooth(input);
        }
    }
    MUST(code == failure.code);
    MUST(code == KS_EXIT_DONE || failure.text[0] != '\0');
    ks_input_close(input);
    return 0;
}
