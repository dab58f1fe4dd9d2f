/* bench.h -- `kalscan bench`: what is timed, and the results. All data is in memory, and nothing but the computation
 * runs between the two readings of the clock. */
#ifndef KS_CLI_BENCH_H
#define KS_CLI_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include "kalscan/smooth.h"
#include "count_settings.h"
#include "failure.h"
#include "solve.h"

enum { KS_BENCH_REPEATS = 1001, KS_BENCH_LIST = 16 };

typedef enum ks_bench_job { KS_BENCH_SMOOTH, KS_BENCH_FILTER, KS_BENCH_SOLVE } ks_bench_job;

/** Which arrays of the model vary with the step. */
typedef enum ks_bench_model {
    KS_BENCH_CONSTANT,  /**< none: covariances reach a steady state      */
    KS_BENCH_FRESH,     /**< F, with equal blocks: each step is computed */
    KS_BENCH_VARYING    /**< F, Q, H and R: a block for each step        */
} ks_bench_model;

typedef struct ks_bench_settings {
    ks_bench_job job;
    int nx, ny;
    int64_t T, B;                       /**< T 0: by size; B 0: one series, not batched */
    int64_t N;                          /**< blocks; 0: N n = 262144                    */
    int n, nrhs;
    bool queue;                         /**< solve: the system of the cloud queue, not a random one           */
    double tolerance;                   /**< of iterative methods                                             */
    int64_t segments[KS_BENCH_LIST];    /**< solve: of method partition; 0: the library chooses               */
    int together[KS_BENCH_LIST];        /**< solve: rounds in one launch on a device; -1: the library chooses */
    int segment_counts, togethers;
    ks_bench_model model;
    bool arma;                          /**< an ARMA model in companion form, observed without noise */
    bool own;                           /**< each series of a batch has its own model                */
    ks_steady_state steady_state;       /**< for a constant model                                    */
    bool steady_given, scan_given;
    double missing;                     /**< fraction of the entries */
    int64_t seed;
    ks_method method[KS_METHODS];
    const ks_solver *solver[KS_BENCH_LIST];
    ks_scan_choice scan[KS_MOST_SCANS];
    ks_blocktri_order order[KS_BLOCKTRI_ORDERS];  /**< of the smoother's method blocktri         */
    int64_t threads[KS_BENCH_LIST];
    int precision[KS_BENCH_LIST];       /**< a ks_precision; for solve, 2 is mixed */
    int methods, scans, orders, thread_counts, precisions;
    int repeats;
    ks_backend backend;
    int device;
    bool every;                         /**< all methods that suit the other options */
    bool machine, json, csv, quiet;
} ks_bench_settings;

/** Add the method of this name, or note that "all" are requested. Usage failure: no such method. */
ks_exit ks_bench_take_method(ks_bench_settings *settings, const char *name, ks_failure *failure);
/** Add the methods of "all" that are not in the list yet. Call it when all other options are known. */
ks_exit ks_bench_take_all(ks_bench_settings *settings, ks_failure *failure);

/** Nanoseconds of one run, over all repeats. */
typedef struct ks_bench_time {
    double median, min, max;
} ks_bench_time;

/** Compute the times from the samples, which are sorted in place. */
ks_bench_time ks_bench_time_of(double *samples, int count);

/** The limits of the machine, with `threads` threads at work. */
typedef struct ks_bench_machine {
    ks_bench_time dgemm_time, triad_time;
    double dgemm;  /**< operations per ns */
    double triad;  /**< bytes per ns      */
} ks_bench_machine;

/** One timed case. */
typedef struct ks_bench_result {
    const char *method, *precision;
    const char *backend;      /**< NULL: the CPU                                                 */
    char scan[64];
    const char *order;        /**< of blocktri, else NULL           */
    int64_t segments;         /**< of a partition, else 0           */
    int together;             /**< rounds in one launch on a device */
    int threads;
    int64_t T;                /**< steps, or blocks */
    ks_bench_time time;       /**< of the whole run */
    double flops, bytes;      /**< of the whole run, counted for the sequential method; negative: not
                               *   counted. bytes: least number of bytes to read and write */
    ks_bench_time factor, solve;
    double factor_flops, factor_bytes, solve_flops, solve_bytes;
    double relative_residual, backward_error;
    bool general;             /**< a method for general systems                   */
    int64_t iterations;       /**< of an iterative method; 0: direct              */
    double iteration_bytes;   /**< least number of bytes that one iteration moves */
    int64_t workspace;        /**< bytes                                          */
    int64_t ordinary_steps, array_steps;
    const ks_bench_machine *machine;  /**< NULL: not measured                                    */
} ks_bench_result;

/** A method of smooth or filter, with its scan or order. */
typedef struct ks_bench_way {
    ks_method method;
    ks_scan_choice scan;
    ks_blocktri_order order;
} ks_bench_way;

/** A method of solve, with its parameters as in ks_bench_settings. */
typedef struct ks_bench_elimination {
    const ks_solver *solver;
    int64_t segments;
    int together;
} ks_bench_elimination;

/** Time one method. If a run fails, this fails. */
ks_exit ks_bench_smooth(const ks_bench_settings *settings, const ks_bench_way *way, int threads,
                        ks_precision precision, ks_bench_result *result, ks_failure *failure);
ks_exit ks_bench_solve(const ks_bench_settings *settings, const ks_bench_elimination *way, int threads,
                       int precision, ks_bench_result *result, ks_failure *failure);
/** As ks_bench_solve(), on a CUDA device. */
ks_exit ks_bench_solve_device(const ks_bench_settings *settings, const ks_bench_elimination *way,
                              int precision, ks_bench_result *result, ks_failure *failure);
/** Print a note that a method ran on the CPU, if --backend left the choice open. */
void ks_bench_note_cpu(const ks_bench_settings *settings, const char *method);
/** Return the number of blocks of the timed system. */
int64_t ks_bench_blocks(const ks_bench_settings *settings);
/** Fill a random symmetric positive definite system: D, L (N, n, n), b (N, n, nrhs). */
ks_exit ks_bench_fill(ks_precision precision, int64_t N, int order, int nrhs, int64_t seed, void *to_D,
                      void *to_L, void *to_b, ks_failure *failure);
/** Count what the sequential order needs: the operations and bytes of a result. */
void ks_bench_count_solve(int64_t blocks, int order, int columns, ks_precision of_data,
                          ks_precision of_factor, ks_bench_result *result);
/** As ks_bench_solve(), by a method for general systems. */
ks_exit ks_bench_general(const ks_bench_settings *settings, const ks_solver *solver, int threads,
                         ks_bench_result *result, ks_failure *failure);

/** Time a matrix product that fits the caches and a triad that does not, on `threads` threads at once. f32: in single
 *  precision. */
ks_exit ks_bench_measure(ks_bench_machine *machine, int threads, bool f32, int repeats,
                         ks_failure *failure);

/** A model with observations, in one block of memory. */
typedef struct ks_bench_problem {
    ks_model model;
    ks_view y;
    double bytes;             /**< least number of bytes that a run reads, per series */
    void *memory;
} ks_bench_problem;

ks_exit ks_bench_problem_make(ks_bench_problem *problem, const ks_bench_settings *settings,
                              ks_precision precision, ks_failure *failure);

/** Return the steps of a run if --T is not given. */
int64_t ks_bench_steps(const ks_bench_settings *settings);

/** Return "smooth", ... and "constant", "constant-repeat", "arma-fresh", ... */
const char *ks_bench_job_name(const ks_bench_settings *settings);
const char *ks_bench_model_name(const ks_bench_settings *settings);

/** Print lines of comma-separated values. */
void ks_bench_csv_head(const ks_bench_settings *settings);
void ks_bench_csv_row(const ks_bench_settings *settings, const ks_bench_result *result);

/** Print a result. The first result begins the list or table on stdout, ks_bench_end() ends it; if nothing succeeded
 *  there is none. The limits of the machine are printed before the table. */
void ks_bench_show(const ks_bench_settings *settings, const ks_bench_result *result);
void ks_bench_show_machine(const ks_bench_settings *settings, const ks_bench_machine *machine,
                           int threads, const char *precision);
void ks_bench_end(const ks_bench_settings *settings, bool failed);

#endif
