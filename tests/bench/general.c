/* general.c -- the paper's cases of the cloud queue: iterations and milliseconds of the methods for
 * general systems at a tolerance of 1e-7, beside UMFPACK and KLU where SuiteSparse was found and
 * PETSc's Krylov methods where that was. Prints the tables of docs/general.md.
 * usage: bench_general [THREADS [SERVERS CAPACITY]...] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kalscan/general.h"
#include "memory.h"
#include "queue_model.h"
#include "cli/seconds.h"
#ifdef HAVE_SUITESPARSE
#include <suitesparse/klu.h>
#include <suitesparse/umfpack.h>
#endif
#ifdef HAVE_PETSC
#include "petsc.h"
#endif

/* Names "Cloud<k>-<N>"; the text of the paper names the first six, its table of them is lost. */
static const int cases[][2] = {{16, 500}, {16, 800}, {16, 1000}, {16, 2000}, {32, 1000},
                               {64, 500}, {32, 500}, {32, 800},  {32, 2000}, {64, 800}};

static void *memory_of(size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 64, bytes ? bytes : 64) != 0) exit(1);
    memset(memory, 0, bytes);
    return memory;
}

typedef struct measured {
    ks_status status;
    ks_general_report report;
    double factor, solve; /* ms */
    ks_general_method method;
} measured;

static measured measure(ks_context *context, const ks_queue *q, const ks_general_matrix *matrix,
                        const ks_queue_system *s, ks_general_method method)
{
    const int n = ks_queue_order(q);
    ks_general_options options = KS_GENERAL_OPTIONS_INIT;
    ks_general_plan *plan;
    measured m = {KS_OK, KS_GENERAL_REPORT_INIT, HUGE_VAL, HUGE_VAL, method};
    options.method = method;
    options.tolerance = 1e-7;
    options.any_matrix = 1;
    options.sample = (ks_const_blocks){s->b, n};
    m.status = ks_general_plan_create(&plan, context, q->servers, n, matrix, &options);
    if (m.status != KS_OK) return m;
    m.method = ks_general_plan_method(plan);
    void *factor = memory_of(ks_general_factor_bytes(plan));
    void *work = memory_of(ks_general_workspace_bytes(plan));
    double *x = memory_of((size_t)q->servers * (size_t)n * sizeof *x);
    const double begin = ks_seconds();
    for (int r = 0; r < 30 && (r == 0 || ks_seconds() - begin < 0.5); ++r) {
        const double start = ks_seconds();
        m.status = ks_general_factorize(plan, matrix, factor, work, &m.report);
        const double middle = ks_seconds();
        if (m.status != KS_OK) break;
        m.status = ks_general_solve(plan, matrix, factor, 1, (ks_const_blocks){s->b, n},
                                    (ks_blocks){x, n}, work, &m.report);
        const double end = ks_seconds();
        m.factor = fmin(m.factor, 1e3 * (middle - start));
        m.solve = fmin(m.solve, 1e3 * (end - middle));
    }
    free(x);
    free(factor);
    free(work);
    ks_general_plan_destroy(plan);
    return m;
}

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

/* The same by rows. */
static columns transposed(const columns *A)
{
    const int count = A->start[A->order];
    columns t = {A->order, memory_of(((size_t)A->order + 2) * sizeof(int)),
                 memory_of((size_t)count * sizeof(int)), memory_of((size_t)count * sizeof(double))};
    for (int e = 0; e < count; ++e) ++t.start[A->row[e] + 2];
    for (int r = 0; r < A->order; ++r) t.start[r + 2] += t.start[r + 1];
    for (int c = 0; c < A->order; ++c)
        for (int e = A->start[c]; e < A->start[c + 1]; ++e) {
            const int at = t.start[A->row[e] + 1]++;
            t.row[at] = c;
            t.value[at] = A->value[e];
        }
    return t;
}

static void free_columns(columns *A)
{
    free(A->start);
    free(A->row);
    free(A->value);
}

/* All that is measured of a case. */
enum { JACOBI, GAUSS_SEIDEL, RED_BLACK, CG, BICGSTAB, GMRES, LU, LOW_RANK, AUTO, METHODS };
static const ks_general_method methods[METHODS] = {
    KS_BLOCK_JACOBI, KS_BLOCK_GAUSS_SEIDEL, KS_RED_BLACK, KS_CG,
    KS_BICGSTAB,     KS_GMRES,              KS_BLOCK_LU,  KS_LOW_RANK_LU, KS_GENERAL_AUTO};

typedef struct case_result {
    ks_queue queue;
    measured of[METHODS];
    double umfpack, klu; /* ms: analysis, factor and solution together */
#ifdef HAVE_PETSC
    peer_result peer[PEERS];
#endif
} case_result;

#ifdef HAVE_SUITESPARSE
static void measure_suitesparse(case_result *result, const columns *A, const double *b)
{
    double *x = memory_of((size_t)A->order * sizeof *x);
    for (int r = 0; r < 3; ++r) {
        void *symbolic = NULL, *numeric = NULL;
        double start = ks_seconds();
        if (umfpack_di_symbolic(A->order, A->order, A->start, A->row, A->value, &symbolic, NULL,
                                NULL) == UMFPACK_OK &&
            umfpack_di_numeric(A->start, A->row, A->value, symbolic, &numeric, NULL, NULL) ==
                UMFPACK_OK &&
            umfpack_di_solve(UMFPACK_A, A->start, A->row, A->value, x, b, numeric, NULL, NULL) ==
                UMFPACK_OK)
            result->umfpack = fmin(result->umfpack, 1e3 * (ks_seconds() - start));
        umfpack_di_free_symbolic(&symbolic);
        umfpack_di_free_numeric(&numeric);
        klu_common common;
        klu_defaults(&common);
        memcpy(x, b, (size_t)A->order * sizeof *x);
        start = ks_seconds();
        klu_symbolic *analysed = klu_analyze(A->order, A->start, A->row, &common);
        klu_numeric *factored =
            analysed ? klu_factor(A->start, A->row, A->value, analysed, &common) : NULL;
        if (factored && klu_solve(analysed, factored, A->order, 1, x, &common))
            result->klu = fmin(result->klu, 1e3 * (ks_seconds() - start));
        klu_free_numeric(&factored, &common);
        klu_free_symbolic(&analysed, &common);
    }
    free(x);
}
#endif

static void run_case(ks_context *context, int capacity, int servers, case_result *result)
{
    const ks_queue q = {servers, capacity, servers / 2.0, 1, 1, 1};
    ks_queue_system system;
    ks_queue_solution solution;
    ks_failure failure = {0};
    ks_general_source source = KS_GENERAL_SOURCE_INIT;
    ks_general_packed *packed;
    *result = (case_result){.queue = q, .umfpack = HUGE_VAL, .klu = HUGE_VAL};
    if (ks_queue_solve(&q, 1, &system, &solution, &failure)) {
        fprintf(stderr, "Cloud%d-%d: %s\n", capacity, servers, failure.text);
        exit(1);
    }
    source.D_dia = system.D_dia;
    source.L_triples = system.L;
    source.U_triples = system.U;
    if (ks_general_pack(&packed, context, servers, ks_queue_order(&q), &source) != KS_OK) exit(1);
    const ks_general_matrix *matrix = ks_general_packed_matrix(packed);
    for (int i = 0; i < METHODS; ++i)
        result->of[i] = measure(context, &q, matrix, &system, methods[i]);
    columns A = gather(&q, matrix), rows = transposed(&A);
#ifdef HAVE_SUITESPARSE
    measure_suitesparse(result, &A, system.b);
#endif
#ifdef HAVE_PETSC
    peers_measure(A.order, servers, rows.start, rows.row, rows.value, system.b, 1e-7,
                  result->peer);
#endif
    free_columns(&A);
    free_columns(&rows);
    ks_general_packed_destroy(packed);
    ks_queue_free(&system);
    free(solution.pi);
}

static void print_name(const case_result *r)
{
    printf("| Cloud%d-%lld |", r->queue.capacity, (long long)r->queue.servers);
}

static void print_iterations(const case_result *r)
{
    const int n = ks_queue_order(&r->queue);
    print_name(r);
    printf(" %lld | %d | %.4f |", (long long)(n * r->queue.servers), n,
           r->of[JACOBI].report.spectral_radius);
    for (int i = 0; i < LU; ++i)
        if (r->of[i].status == KS_OK) printf(" %lld |", (long long)r->of[i].report.iterations);
        else printf(" no |");
#ifdef HAVE_PETSC
    for (int i = 0; i < PEERS; ++i)
        if (r->peer[i].iterations >= 0) printf(" %d |", r->peer[i].iterations);
        else printf(" no |");
#endif
    printf("\n");
}

static void print_times(const case_result *r)
{
    print_name(r);
    for (int i = 0; i < METHODS; ++i) {
        if (i == CG) continue;
        if (r->of[i].status == KS_OK) printf(" %.3g", r->of[i].factor + r->of[i].solve);
        else printf(" no");
        if (i == AUTO) printf(" (%s)", ks_general_method_name(r->of[i].method));
        printf(" |");
    }
#ifdef HAVE_SUITESPARSE
    printf(" %.3g | %.3g |", r->umfpack, r->klu);
#endif
#ifdef HAVE_PETSC
    for (int i = 0; i < PEERS; ++i)
        if (r->peer[i].iterations >= 0) printf(" %.3g |", r->peer[i].milliseconds);
        else printf(" no |");
#endif
    printf("\n");
}

#ifdef HAVE_PETSC
static const char peer_names[] = " PETSc BCGS, alone | with blocks | with ILU(0) | PETSc GMRES(30), ILU(0) |";
enum { PEER_COLUMNS = PEERS };
#else
static const char peer_names[] = "";
enum { PEER_COLUMNS = 0 };
#endif
#ifdef HAVE_SUITESPARSE
static const char direct_names[] = " UMFPACK | KLU |";
enum { DIRECT_COLUMNS = 2 };
#else
static const char direct_names[] = "";
enum { DIRECT_COLUMNS = 0 };
#endif

static void rule(int count)
{
    printf("|");
    for (int i = 0; i < count; ++i) printf("---|");
    printf("\n");
}

int main(int argc, char **argv)
{
    static case_result results[64];
    ks_context_options options = KS_CONTEXT_OPTIONS_INIT;
    ks_context *context;
    int count = (int)(sizeof cases / sizeof *cases);
    options.threads = argc > 1 ? atoi(argv[1]) : 1;
    if (ks_context_create(&context, &options) != KS_OK) return 1;
#ifdef HAVE_PETSC
    peers_begin();
#endif
    if (argc > 3) {
        count = (argc - 2) / 2 < 64 ? (argc - 2) / 2 : 64;
        for (int i = 0; i < count; ++i)
            run_case(context, atoi(argv[2 * i + 3]), atoi(argv[2 * i + 2]), &results[i]);
    } else {
        for (int i = 0; i < count; ++i) run_case(context, cases[i][0], cases[i][1], &results[i]);
    }
    printf("Iterations to a relative residual of 1e-7, %d thread%s\n\n"
           "| case | rows | rows of a block | spectral radius | HBISA: block-jacobi | "
           "block-gauss-seidel | red-black | CG | BiCGSTAB | GMRES(30) |%s\n",
           ks_context_threads(context), ks_context_threads(context) == 1 ? "" : "s", peer_names);
    rule(10 + PEER_COLUMNS);
    for (int i = 0; i < count; ++i) print_iterations(&results[i]);
    printf("\nMilliseconds\n\n| case | block-jacobi | block-gauss-seidel | red-black | BiCGSTAB | "
           "GMRES(30) | block-lu | low-rank-lu | auto |%s%s\n", direct_names, peer_names);
    rule(9 + DIRECT_COLUMNS + PEER_COLUMNS);
    for (int i = 0; i < count; ++i) print_times(&results[i]);
#ifdef HAVE_PETSC
    peers_end();
#endif
    ks_context_destroy(context);
    return 0;
}
