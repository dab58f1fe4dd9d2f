/* bench_cudss.c -- cuDSS on the systems of bench_blocktri, on the first device.
 *
 * Usage: bench_cudss [SECONDS [lower|upper [N n]...]]
 * The library is the one that the environment's KALSCAN_CUDSS names, otherwise the loader's. Writes one line
 * of JSON for each size: milliseconds of the analysis, which is done once and for the greatest part on the
 * host, by the clock; of factorization, refactorization and solve with one right-hand side, by events of
 * the stream, the least and the median of the repeats; entries of the matrix's triangle and of the factor;
 * the relative residual and how far the solution is from that of the CPU. Sizes are those of
 * bench_blocktri, the smallest first, as far as SECONDS (300) go, or those that are named. 77: no device, or no library. */
#include "bench_system.h"
#include "csr.h"
#include "cudss.h"
#include "gpu/gpu.h"
#include "cli/seconds.h"

static void must(int failed, const char *what)
{
    if (!failed) return;
    fprintf(stderr, "cuDSS: %s: status %d\n", what, failed);
    exit(1);
}

/* Device, library, and what the library makes of a system. */
typedef struct session {
    ks_gpu *gpu;
    ks_gpu_stream *stream;
    ks_gpu_event *start, *stop;
    cudss calls;
    void *handle, *config, *data, *matrix, *b, *x;
    void *memory[5];           /* of the device: where rows begin, columns, values, b, x */
} session;

static void *uploaded(session *s, int place, const void *host, int64_t count, size_t each)
{
    TRY(ks_gpu_alloc(s->gpu, &s->memory[place], (size_t)count * each));
    if (host) TRY(ks_gpu_copy_in(s->gpu, s->memory[place], host, (size_t)count * each, s->stream));
    return s->memory[place];
}

/* The system on the device, and the library's view of it. */
static void take(session *s, const csr *m, const double *b, int upper)
{
    const cudss *c = &s->calls;
    const int64_t rows = m->rows;
    const void *start = uploaded(s, 0, m->start, rows + 1, sizeof *m->start);
    const void *column = uploaded(s, 1, m->column, m->entries, sizeof *m->column);
    const void *value = uploaded(s, 2, m->value, m->entries, sizeof *m->value);
    const void *right = uploaded(s, 3, b, rows, sizeof *b), *x = uploaded(s, 4, NULL, rows, sizeof *b);
    TRY(ks_gpu_stream_sync(s->gpu, s->stream));
    must(c->cudssMatrixCreateCsr(&s->matrix, rows, rows, m->entries, start, NULL, column, value, CUDSS_I64,
                                 CUDSS_I32, CUDSS_F64, CUDSS_POSITIVE_DEFINITE,
                                 upper ? CUDSS_UPPER : CUDSS_LOWER, CUDSS_BASE_ZERO), "matrix");
    must(c->cudssMatrixCreateDn(&s->b, rows, 1, rows, right, CUDSS_F64, CUDSS_COLUMNS), "right-hand side");
    must(c->cudssMatrixCreateDn(&s->x, rows, 1, rows, x, CUDSS_F64, CUDSS_COLUMNS), "solution");
    must(c->cudssConfigCreate(&s->config), "settings");
    must(c->cudssDataCreate(s->handle, &s->data), "data");
}

static void give_back(session *s)
{
    const cudss *c = &s->calls;
    must(c->cudssDataDestroy(s->handle, s->data), "end of data");
    must(c->cudssConfigDestroy(s->config), "end of settings");
    void *const matrices[] = { s->matrix, s->b, s->x };
    for (int i = 0; i < 3; ++i) must(c->cudssMatrixDestroy(matrices[i]), "end of a matrix");
    for (int i = 0; i < 5; ++i) ks_gpu_free(s->gpu, s->memory[i]);
}

static void execute(session *s, int phase, const char *what)
{
    must(s->calls.cudssExecute(s->handle, phase, s->config, s->data, s->matrix, s->x, s->b), what);
}

static times measure(session *s, int phase, const char *what)
{
    double t[REPEATS];
    for (int i = -WARM; i < REPEATS; ++i) {
        TRY(ks_gpu_event_record(s->gpu, s->start, s->stream));
        execute(s, phase, what);
        TRY(ks_gpu_event_record(s->gpu, s->stop, s->stream));
        TRY(ks_gpu_stream_sync(s->gpu, s->stream));
        if (i >= 0) TRY(ks_gpu_event_elapsed(s->gpu, &t[i], s->start, s->stop));
    }
    return times_of(t);
}

static int bench(session *s, int64_t N, int n, int upper)
{
    const cudss *c = &s->calls;
    arrays a = make(N, n);
    csr m;
    if (csr_make(&m, N, n, a.D, a.L, upper)) {
        free_arrays(&a);
        fprintf(stderr, "no memory for the rows of %lld blocks of order %d\n", (long long)N, n);
        return 1;
    }
    take(s, &m, a.b, upper);
    const double begun = ks_seconds();
    execute(s, CUDSS_ANALYSIS, "analysis");
    TRY(ks_gpu_stream_sync(s->gpu, s->stream));
    const double analysis = 1e3 * (ks_seconds() - begun);
    const times factor = measure(s, CUDSS_FACTORIZATION, "factorization");
    const times again = measure(s, CUDSS_REFACTORIZATION, "refactorization");
    const times solve = measure(s, CUDSS_SOLVE, "solve");
    int info = 0;
    int64_t entries = 0;
    size_t written;
    must(c->cudssDataGet(s->handle, s->data, CUDSS_INFO, &info, sizeof info, &written), "info");
    must(info, "the factorization's own status");
    must(c->cudssDataGet(s->handle, s->data, CUDSS_FACTOR_ENTRIES, &entries, sizeof entries, &written),
         "entries of the factor");
    TRY(ks_gpu_copy_out(s->gpu, a.x, s->memory[4], (size_t)m.rows * sizeof *a.x, s->stream));
    TRY(ks_gpu_stream_sync(s->gpu, s->stream));
    double residual, difference;
    solve_on_cpu(N, n, &a);
    judge(N, n, &a, &residual, &difference);
    printf("{\"job\": \"solve\", \"method\": \"cudss\", \"backend\": \"cuda\", \"version\": \"%d.%d\", "
           "\"precision\": \"f64\", \"triangle\": \"%s\", \"N\": %lld, \"n\": %d, \"repeats\": %d, "
           "\"analysis_ms\": %.5f, \"factor_ms\": %.5f, \"factor_min_ms\": %.5f, \"refactor_ms\": %.5f, "
           "\"refactor_min_ms\": %.5f, \"solve_ms\": %.5f, \"solve_min_ms\": %.5f, \"entries\": %lld, "
           "\"factor_entries\": %lld, \"residual\": %.3g, \"cpu_difference\": %.3g}\n",
           c->version[0], c->version[1], upper ? "upper" : "lower", (long long)N, n, REPEATS, analysis,
           factor.median, factor.least, again.median, again.least, solve.median, solve.least,
           (long long)m.entries, (long long)entries, residual, difference);
    fflush(stdout);
    give_back(s);
    csr_free(&m);
    free_arrays(&a);
    return residual < 1e-13 && difference < 1e-9 ? 0 : 1;
}

int main(int argc, char **argv)
{
    const double most = argc > 1 ? atof(argv[1]) : 300;
    const int upper = argc > 2 && !strcmp(argv[2], "upper"), named = argc > 3;
    session s = { .gpu = NULL };
    const double begun = ks_seconds();
    int failed = 0;
    if (cudss_open(&s.calls)) return 77;
    const ks_status status = ks_gpu_open(&s.gpu, NULL, 0);
    if (status == KS_ENODEV) {
        puts("no device");
        return 77;
    }
    TRY(status);
    TRY(ks_gpu_stream_create(s.gpu, &s.stream));
    TRY(ks_gpu_event_create(s.gpu, &s.start));
    TRY(ks_gpu_event_create(s.gpu, &s.stop));
    must(s.calls.cudssCreate(&s.handle), "handle");
    must(s.calls.cudssSetStream(s.handle, s.stream), "stream");
    int order[BENCH_SIZES];
    bench_order(order);
    for (int i = 0; i < (named ? (argc - 3) / 2 : BENCH_SIZES); ++i) {
        if (i > 0 && ks_seconds() - begun > most) break;
        failed |= bench(&s, named ? atoll(argv[3 + 2 * i]) : bench_sizes[order[i]].N,
                        named ? atoi(argv[4 + 2 * i]) : bench_sizes[order[i]].n, upper);
    }
    must(s.calls.cudssDestroy(s.handle), "end of the handle");
    ks_gpu_event_destroy(s.gpu, s.start);
    ks_gpu_event_destroy(s.gpu, s.stop);
    ks_gpu_stream_destroy(s.gpu, s.stream);
    ks_gpu_close(s.gpu);
    return failed;
}
