/* bench.h -- `kalscan bench`: what is timed, and what came out. All of it is in memory; nothing but
 * the computation lies between two looks at the clock. */
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

/** Which arrays of the model vary. */
typedef enum ks_bench_model {
    KS_BENCH_CONSTANT,  /**< none: covariances come to a steady state                            */
    KS_BENCH_FRESH,     /**< F, with equal blocks: each step is computed                         */
    KS_BENCH_VARYING    /**< F, Q, H and R, a block for each step                                */
} ks_bench_model;

typedef struct ks_bench_settings {
    ks_bench_job job;
    int nx, ny;
    int64_t T, B;                       /**< T 0: by size; B 0: one series, not batched          */
    int64_t N;                          /**< 0: N n = 262144                                     */
    int n, nrhs;
    bool queue;                         /**< solve: the cloud queue's system, not a random one   */
    double tolerance;                   /**< of iterations                                       */
    int64_t segments[KS_BENCH_LIST];    /**< solve: of method partition; 0: the library's choice */
    int together[KS_BENCH_LIST];        /**< solve: rounds in one launch, on a device; -1: likewise */
    int segment_counts, togethers;
    ks_bench_model model;
    bool arma;                          /**< an ARMA model in companion form, observed without noise */
    bool own;                           /**< each series of a batch has a model of its own       */
    ks_steady_state steady_state;       /**< of a constant one                                   */
    bool steady_given, scan_given;
    double missing;                     /**< fraction of the entries                             */
    int64_t seed;
    ks_method method[KS_METHODS];
    const ks_solver *solver[KS_BENCH_LIST];
    ks_scan_choice scan[KS_MOST_SCANS];
    ks_blocktri_order order[KS_BLOCKTRI_ORDERS];  /**< of the smoother's method blocktri         */
    int64_t threads[KS_BENCH_LIST];
    int precision[KS_BENCH_LIST];       /**< a ks_precision; of solve 2 is mixed, too            */
    int methods, scans, orders, thread_counts, precisions;
    int repeats;
    ks_backend backend;
    int device;
    bool every;                         /**< all methods that suit what else is asked for        */
    bool machine, json, csv, quiet;
} ks_bench_settings;

/** Add the method of this name; of "all" it is noted that they are asked for. Usage failure: no such method. */
ks_exit ks_bench_take_method(ks_bench_settings *settings, const char *name, ks_failure *failure);
/** Add those of "all" that are not in the list yet, when everything else is known. */
ks_exit ks_bench_take_all(ks_bench_settings *settings, ks_failure *failure);

/** Nanoseconds of one run, over the repeats. */
typedef struct ks_bench_time {
    double median, min, max;
} ks_bench_time;

/** Sorts the samples. */
ks_bench_time ks_bench_time_of(double *samples, int count);

/** What the machine does at most, with all of `threads` at work. */
typedef struct ks_bench_machine {
    ks_bench_time dgemm_time, triad_time;
    double dgemm;  /**< operations per ns                                                        */
    double triad;  /**< bytes per ns                                                             */
} ks_bench_machine;

/** One timed thing. */
typedef struct ks_bench_result {
    const char *method, *precision;
    const char *backend;      /**< NULL: the CPU                                                 */
    char scan[64];
    const char *order;        /**< of blocktri, else NULL                                        */
    int64_t segments;         /**< of a partition, else 0                                        */
    int together;             /**< rounds in one launch on a device                              */
    int threads;
    int64_t T;                /**< steps, or blocks                                              */
    ks_bench_time time;       /**< of all of it                                                  */
    double flops, bytes;      /**< of all of it: counted for the sequential method; negative: not
                                   counted. Bytes that have to be read and written at least      */
    ks_bench_time factor, solve;
    double factor_flops, factor_bytes, solve_flops, solve_bytes;
    double relative_residual, backward_error;
    bool general;             /**< a method for general systems                                  */
    int64_t iterations;       /**< of those; 0: direct                                           */
    double iteration_bytes;   /**< that one of them has to move at least                         */
    int64_t workspace;        /**< bytes                                                         */
    int64_t ordinary_steps, array_steps;
    const ks_bench_machine *machine;  /**< NULL: not measured                                    */
} ks_bench_result;

/** A method of smooth or filter, with the scan or order that it takes. */
typedef struct ks_bench_way {
    ks_method method;
    ks_scan_choice scan;
    ks_blocktri_order order;
} ks_bench_way;

/** A method of solve, with what else is asked of it: as in ks_bench_settings. */
typedef struct ks_bench_elimination {
    const ks_solver *solver;
    int64_t segments;
    int together;
} ks_bench_elimination;

/** Time one method; a run that fails, fails. */
ks_exit ks_bench_smooth(const ks_bench_settings *settings, const ks_bench_way *way, int threads,
                        ks_precision precision, ks_bench_result *result, ks_failure *failure);
ks_exit ks_bench_solve(const ks_bench_settings *settings, const ks_bench_elimination *way, int threads,
                       int precision, ks_bench_result *result, ks_failure *failure);
/** The same on a CUDA device. */
ks_exit ks_bench_solve_device(const ks_bench_settings *settings, const ks_bench_elimination *way,
                              int precision, ks_bench_result *result, ks_failure *failure);
/** Who leaves it open where to run is told when it was not a device. */
void ks_bench_note_cpu(const ks_bench_settings *settings, const char *method);
/** Blocks of the system that is timed. */
int64_t ks_bench_blocks(const ks_bench_settings *settings);
/** A random symmetric positive definite system: D, L (N, n, n), b (N, n, nrhs). */
ks_exit ks_bench_fill(ks_precision precision, int64_t N, int order, int nrhs, int64_t seed, void *to_D,
                      void *to_L, void *to_b, ks_failure *failure);
/** What the sequential order needs: operations and bytes of a result. */
void ks_bench_count_solve(int64_t blocks, int order, int columns, ks_precision of_data,
                          ks_precision of_factor, ks_bench_result *result);
/** The same by a method for general systems. */
ks_exit ks_bench_general(const ks_bench_settings *settings, const ks_solver *solver, int threads,
                         ks_bench_result *result, ks_failure *failure);

/** A matrix product that fits the caches and a triad that does not, on `threads` at once. f32: in
 *  single precision. */
ks_exit ks_bench_measure(ks_bench_machine *machine, int threads, bool f32, int repeats,
                         ks_failure *failure);

/** A model with observations, all in one piece of memory. */
typedef struct ks_bench_problem {
    ks_model model;
    ks_view y;
    double bytes;             /**< that a run has to read at least, of one series                */
    void *memory;
} ks_bench_problem;

ks_exit ks_bench_problem_make(ks_bench_problem *problem, const ks_bench_settings *settings,
                              ks_precision precision, ks_failure *failure);

/** Steps of a run where none are stated. */
int64_t ks_bench_steps(const ks_bench_settings *settings);

/** "smooth", ... and "constant", "constant-repeat", "arma-fresh", ... */
const char *ks_bench_job_name(const ks_bench_settings *settings);
const char *ks_bench_model_name(const ks_bench_settings *settings);

/** Lines of comma-separated values. */
void ks_bench_csv_head(const ks_bench_settings *settings);
void ks_bench_csv_row(const ks_bench_settings *settings, const ks_bench_result *result);

/** Add to the list or table on stdout, which begins with the first of its lines, and end it. What failed before there
 *  was any leaves none. What the machine does is told before the table begins. */
void ks_bench_show(const ks_bench_settings *settings, const ks_bench_result *result);
void ks_bench_show_machine(const ks_bench_settings *settings, const ks_bench_machine *machine,
                           int threads, const char *precision);
void ks_bench_end(const ks_bench_settings *settings, bool failed);

#endif
