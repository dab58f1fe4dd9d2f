/* bench_hbisa.c -- microseconds that one iteration takes on the first device, as lines of JSON: what
 * 1024 sweeps in one launch take more than 24. Systems of N blocks of n rows, tridiagonal with a
 * diagonal block on either side, not symmetric; exit code 77 without a device. "hbisa" is the shape that is
 * chosen, "hbisa-group" the same with other numbers of sweeps from one barrier of the grid to the next. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "general/device.h"
#include "cli/seconds.h"

static void *memory_of(size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 64, bytes + 64) != 0) exit(1);
    return memory;
}

static ks_general_packed *make(int64_t N, int n)
{
    const size_t rows = (size_t)N * (size_t)n;
    double *D = memory_of(24 * rows), *below = memory_of(8 * rows), *above = memory_of(8 * rows);
    int64_t *block = memory_of(8 * rows), *row = memory_of(8 * rows);
    ks_general_source source = KS_GENERAL_SOURCE_INIT;
    ks_general_packed *packed;
    for (int64_t j = 0; j < N; ++j)
        for (int r = 0; r < n; ++r) {
            D[(3 * j + 1) * n + r] = 4;
            D[3 * j * n + r] = r > 0 ? -1 : 0;
            D[(3 * j + 2) * n + r] = r + 1 < n ? -1 : 0;
            below[j * n + r] = -1.1;
            above[j * n + r] = -0.9;
            block[j * n + r] = j;
            row[j * n + r] = r;
        }
    source.D_dia = D;
    source.L_triples = (ks_general_triples){ (N - 1) * n, block, row, row, below };
    source.U_triples = (ks_general_triples){ (N - 1) * n, block, row, row, above };
    if (ks_general_pack(&packed, NULL, N, n, &source) != KS_OK) exit(1);
    free(D);
    free(below);
    free(above);
    free(block);
    free(row);
    return packed;
}

/* Seconds of so many sweeps, the best of several; they do not converge. In the shape that is asked for or NULL, and in
 * *taken the one that it is; negative where it does not fit. */
static double seconds(ks_gpu *gpu, int64_t N, int n, const ks_general_matrix *matrix,
                      ks_general_method method, int64_t sweeps, const ks_hbisa_shape *asked, ks_hbisa_shape *taken)
{
    const size_t bytes = 8 * (size_t)N * (size_t)n;
    ks_general_options options = KS_GENERAL_OPTIONS_INIT;
    ks_general_plan *plan;
    ks_gb_device *device;
    options.method = method;
    options.block_solver = KS_BLOCK_SOLVER_PARALLEL_CYCLIC_REDUCTION;
    options.tolerance = 1e-300;
    options.max_iterations = sweeps;
    if (ks_general_plan_create(&plan, NULL, N, n, matrix, &options) != KS_OK) exit(1);
    void *factor = memory_of(ks_general_factor_bytes(plan));
    void *work = memory_of(ks_general_workspace_bytes(plan));
    double *b = memory_of(bytes), *x = memory_of(bytes), best = HUGE_VAL;
    for (int64_t i = 0; i < N * n; ++i) b[i] = 1;
    ks_general_report report = KS_GENERAL_REPORT_INIT;
    if (ks_general_factorize(plan, matrix, factor, work, NULL) != KS_OK) exit(1);
    const ks_status status = ks_gb_device_create(&device, gpu, plan, matrix, factor, asked);
    if (status != KS_OK && !(asked && status == KS_EREFUSED)) exit(1);
    if (device) *taken = *ks_gb_device_shape(device);
    for (int r = 0; device && r < 20; ++r) {
        const double start = ks_seconds();
        if (ks_gb_device_solve(device, b, 0, x, &report) != KS_ENOTCONVERGED) exit(1);
        best = fmin(best, ks_seconds() - start);
        if (report.iterations != sweeps) exit(1);
    }
    ks_gb_device_destroy(device);
    free(b);
    free(x);
    free(factor);
    free(work);
    ks_general_plan_destroy(plan);
    return best < HUGE_VAL ? best : -1;
}

/* A line of one shape, or none where it does not fit. */
static void time_shape(ks_gpu *gpu, const char *bench, int64_t N, int n, const ks_general_matrix *matrix,
                       ks_general_method method, const ks_hbisa_shape *asked, ks_hbisa_shape *taken)
{
    static const char *const forms[KS_HBISA_FORMS] = { "lanes", "rows", "resident", "streamed" };
    /* Fewer than after which the iterates of the smaller problems stand still, where runs end. */
    enum { FEW = 24, MANY = 524 };
    const double few = seconds(gpu, N, n, matrix, method, FEW, asked, taken);
    const double many = few < 0 ? few : seconds(gpu, N, n, matrix, method, MANY, asked, taken);
    if (many < 0) return;
    printf("{\"bench\": \"%s\", \"method\": \"%s\", \"N\": %lld, \"n\": %d, \"form\": \"%s\", "
           "\"blocks\": %d, \"group\": %d, \"expected_cycles\": %.0f, \"us_per_iteration\": %.4g, "
           "\"us_of_24\": %.4g}\n",
           bench, ks_general_method_name(method), (long long)N, n, forms[taken->form], taken->grid, taken->sweeps,
           taken->cycles, (many - few) * 1e6 / (MANY - FEW), few * 1e6);
    fflush(stdout);
}

int main(void)
{
    static const ks_general_method methods[] = { KS_BLOCK_JACOBI, KS_RED_BLACK };
    static const int sizes[][2] = { { 2000, 16 }, { 1000, 32 }, { 500, 64 }, { 2000, 33 } };
    ks_gpu *gpu;
    const ks_status status = ks_gpu_open(&gpu, NULL, 0);
    if (status == KS_ENODEV) return 77;
    if (status != KS_OK) return 1;
    for (int s = 0; s < 4; ++s) {
        const int64_t N = sizes[s][0];
        const int n = sizes[s][1];
        ks_general_packed *packed = make(N, n);
        for (int m = 0; m < 2; ++m) {
            const ks_general_matrix *matrix = ks_general_packed_matrix(packed);
            ks_hbisa_shape chosen = { .sweeps = 1 };
            time_shape(gpu, "hbisa", N, n, matrix, methods[m], NULL, &chosen);
            for (int group = 1; group <= 32; group *= 2) {
                ks_hbisa_shape other = chosen, taken = chosen;
                other.sweeps = group;
                time_shape(gpu, "hbisa-group", N, n, matrix, methods[m], &other, &taken);
            }
        }
        ks_general_packed_destroy(packed);
    }
    ks_gpu_close(gpu);
    return 0;
}
