/* general.c -- the paper's cases of the cloud queue: iterations and milliseconds of the methods for
 * general systems at a tolerance of 1e-7, beside UMFPACK and KLU where SuiteSparse was found; and
 * the time of an iteration against that of moving its bytes. Prints tables in Markdown.
 * usage: bench_general [THREADS [SERVERS CAPACITY]...] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "kalscan/general.h"
#include "memory.h"
#include "queue_model.h"
#ifdef HAVE_SUITESPARSE
#include <suitesparse/klu.h>
#include <suitesparse/umfpack.h>
#endif

/* Names "Cloud<k>-<N>"; the text of the paper names the first six, its table of them is lost. */
static const int cases[][2] = {{16, 500}, {16, 800}, {16, 1000}, {16, 2000}, {32, 1000},
                               {64, 500}, {32, 500}, {32, 800},  {32, 2000}, {64, 800}};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *memory_of(size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 64, bytes ? bytes : 64) != 0) exit(1);
    memset(memory, 0, bytes);
    return memory;
}

/* Bytes by nanosecond of a triad in memory, best of several. */
static double triad(void)
{
    const size_t count = (size_t)5 << 20;
    double *a = memory_of(8 * count), *b = memory_of(8 * count), *c = memory_of(8 * count);
    double best = HUGE_VAL;
    for (int r = 0; r < 8; ++r) {
        const double start = now();
        for (size_t i = 0; i < count; ++i) a[i] = b[i] + 1.5 * c[i];
        const double seconds = now() - start;
        if (seconds < best) best = seconds;
        b[(size_t)r] = a[(size_t)r / 2];
    }
    free(a);
    free(b);
    free(c);
    return (double)(24 * count) / best * 1e-9;
}

typedef struct measured {
    ks_status status;
    ks_general_report report;
    double factor, solve, ratio; /* ms, ms, and an iteration over its bytes at triad speed */
    ks_general_method method;
} measured;

static measured measure(ks_context *context, const ks_queue *q, const ks_general_matrix *matrix,
                        const ks_queue_system *s, ks_general_method method, double speed)
{
    const int n = ks_queue_order(q);
    ks_general_options options = KS_GENERAL_OPTIONS_INIT;
    ks_general_plan *plan;
    measured m = {KS_OK, KS_GENERAL_REPORT_INIT, HUGE_VAL, HUGE_VAL, 0, method};
    options.method = method;
    options.tolerance = 1e-7;
    options.any_matrix = 1;
    m.status = ks_general_plan_create(&plan, context, q->servers, n, matrix, &options);
    if (m.status != KS_OK) return m;
    m.method = ks_general_plan_method(plan);
    void *factor = memory_of(ks_general_factor_bytes(plan));
    void *work = memory_of(ks_general_workspace_bytes(plan));
    double *x = memory_of((size_t)q->servers * (size_t)n * sizeof *x);
    const double begin = now();
    for (int r = 0; r < 30 && (r == 0 || now() - begin < 0.5); ++r) {
        const double start = now();
        m.status = ks_general_factorize(plan, matrix, factor, work, &m.report);
        const double middle = now();
        if (m.status != KS_OK) break;
        m.status = ks_general_solve(plan, matrix, factor, 1, (ks_const_blocks){s->b, n},
                                    (ks_blocks){x, n}, work, &m.report);
        const double end = now();
        m.factor = fmin(m.factor, 1e3 * (middle - start));
        m.solve = fmin(m.solve, 1e3 * (end - middle));
    }
    const size_t bytes = ks_general_iteration_bytes(plan, matrix);
    if (bytes > 0 && m.report.iterations > 0)
        m.ratio = m.solve * 1e6 / (double)m.report.iterations / ((double)bytes / speed);
    free(x);
    free(factor);
    free(work);
    ks_general_plan_destroy(plan);
    return m;
}

static void print_cell(const measured *m)
{
    if (m->status != KS_OK) printf(" no (%s) |", ks_general_end_name(m->report.end));
    else if (m->report.iterations > 0)
        printf(" %lld; %.2f |", (long long)m->report.iterations, m->factor + m->solve);
    else printf(" %.2f |", m->factor + m->solve);
}

#ifdef HAVE_SUITESPARSE
/* The whole matrix by columns. */
typedef struct columns {
    int order, *start, *row;
    double *value;
} columns;

static columns gather(const ks_queue *q, const ks_general_matrix *m)
{
    const int n = ks_queue_order(q), N = (int)q->servers;
    columns c = {N * n, memory_of(((size_t)N * (size_t)n + 1) * sizeof(int)), NULL, NULL};
    double *dense = memory_of(3 * (size_t)n * (size_t)n * sizeof *dense);
    for (int pass = 0; pass < 2; ++pass) {
        int count = 0;
        for (int j = 0; j < N; ++j) {
            double *above = dense, *main = dense + n * n, *below = dense + 2 * n * n;
            if (j > 0) ks_general_block_unpack(n, &m->U[j - 1], above);
            ks_general_block_unpack(n, &m->D[j], main);
            if (j + 1 < N) ks_general_block_unpack(n, &m->L[j], below);
            for (int col = 0; col < n; ++col) {
                c.start[j * n + col] = count;
                for (int part = j > 0 ? 0 : 1; part < (j + 1 < N ? 3 : 2); ++part)
                    for (int r = 0; r < n; ++r) {
                        const double value = dense[(part * n + r) * n + col];
                        if (value == 0) continue;
                        if (pass) {
                            c.row[count] = (j + part - 1) * n + r;
                            c.value[count] = value;
                        }
                        ++count;
                    }
            }
        }
        c.start[c.order] = count;
        if (pass == 0) {
            c.row = memory_of((size_t)count * sizeof *c.row);
            c.value = memory_of((size_t)count * sizeof *c.value);
        }
    }
    free(dense);
    return c;
}

/* Analysis, factor and solution together, ms. */
static void measure_suitesparse(const ks_queue *q, const ks_general_matrix *m,
                                const ks_queue_system *s)
{
    columns A = gather(q, m);
    double *x = memory_of((size_t)A.order * sizeof *x), umfpack = HUGE_VAL, klu = HUGE_VAL;
    for (int r = 0; r < 3; ++r) {
        void *symbolic = NULL, *numeric = NULL;
        double start = now();
        if (umfpack_di_symbolic(A.order, A.order, A.start, A.row, A.value, &symbolic, NULL, NULL) ==
                UMFPACK_OK &&
            umfpack_di_numeric(A.start, A.row, A.value, symbolic, &numeric, NULL, NULL) ==
                UMFPACK_OK &&
            umfpack_di_solve(UMFPACK_A, A.start, A.row, A.value, x, s->b, numeric, NULL, NULL) ==
                UMFPACK_OK)
            umfpack = fmin(umfpack, 1e3 * (now() - start));
        umfpack_di_free_symbolic(&symbolic);
        umfpack_di_free_numeric(&numeric);
        klu_common common;
        klu_defaults(&common);
        memcpy(x, s->b, (size_t)A.order * sizeof *x);
        start = now();
        klu_symbolic *analysed = klu_analyze(A.order, A.start, A.row, &common);
        klu_numeric *factored =
            analysed ? klu_factor(A.start, A.row, A.value, analysed, &common) : NULL;
        if (factored && klu_solve(analysed, factored, A.order, 1, x, &common))
            klu = fmin(klu, 1e3 * (now() - start));
        klu_free_numeric(&factored, &common);
        klu_free_symbolic(&analysed, &common);
    }
    printf(" %.2f | %.2f |", umfpack, klu);
    free(x);
    free(A.start);
    free(A.row);
    free(A.value);
}
#endif

static void run_case(ks_context *context, int capacity, int servers, double speed)
{
    static const ks_general_method methods[] = {
        KS_BLOCK_JACOBI, KS_BLOCK_GAUSS_SEIDEL, KS_RED_BLACK, KS_CG, KS_BICGSTAB, KS_GMRES,
        KS_BLOCK_LU, KS_GENERAL_AUTO};
    const ks_queue q = {servers, capacity, servers / 2.0, 1, 1, 1};
    ks_queue_system system;
    ks_queue_solution solution;
    ks_failure failure = {0};
    ks_general_source source = KS_GENERAL_SOURCE_INIT;
    ks_general_packed *packed;
    if (ks_queue_solve(&q, 1, &system, &solution, &failure)) {
        printf("| Cloud%d-%d | %s |\n", capacity, servers, failure.text);
        return;
    }
    source.D_dia = system.D_dia;
    source.L_triples = system.L;
    source.U_triples = system.U;
    if (ks_general_pack(&packed, context, servers, ks_queue_order(&q), &source) != KS_OK) exit(1);
    const ks_general_matrix *matrix = ks_general_packed_matrix(packed);
    printf("| Cloud%d-%d |", capacity, servers);
    double ratios[3] = {0, 0, 0}, radius = -1;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; ++i) {
        const measured m = measure(context, &q, matrix, &system, methods[i], speed);
        if (i < 3) ratios[i] = m.ratio;
        if (i == 0) radius = m.report.spectral_radius;
        if (methods[i] == KS_GENERAL_AUTO) printf(" %s |", ks_general_method_name(m.method));
        else print_cell(&m);
        fflush(stdout);
    }
#ifdef HAVE_SUITESPARSE
    measure_suitesparse(&q, matrix, &system);
#endif
    printf(" %.4f | %.2f, %.2f, %.2f |\n", radius, ratios[0], ratios[1], ratios[2]);
    fflush(stdout);
    ks_general_packed_destroy(packed);
    ks_queue_free(&system);
    free(solution.pi);
}

int main(int argc, char **argv)
{
    ks_context_options options = KS_CONTEXT_OPTIONS_INIT;
    ks_context *context;
    options.threads = argc > 1 ? atoi(argv[1]) : 1;
    if (ks_context_create(&context, &options) != KS_OK) return 1;
    const double speed = triad();
    printf("iterations; ms, tolerance 1e-7, %d thread(s), triad %.1f GB/s on one\n\n"
           "| case | block-jacobi | block-gauss-seidel | red-black | cg | bicgstab | gmres | block-lu "
           "| auto |"
#ifdef HAVE_SUITESPARSE
           " UMFPACK | KLU |"
#endif
           " spectral radius | iteration / triad |\n", ks_context_threads(context), speed);
    if (argc > 3)
        for (int i = 2; i + 1 < argc; i += 2) run_case(context, atoi(argv[i + 1]), atoi(argv[i]), speed);
    else
        for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
            run_case(context, cases[i][0], cases[i][1], speed);
    ks_context_destroy(context);
    return 0;
}
