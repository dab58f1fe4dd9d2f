/* solve.h -- `kalscan solve`: what was asked, the methods, and one run. A method is an entry of the
 * table in solve_methods.c and the functions behind it. */
#ifndef KS_CLI_SOLVE_H
#define KS_CLI_SOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include "kalscan/blocktri.h"
#include "kalscan/general.h"
#include "command.h"
#include "failure.h"
#include "progress.h"
#include "system_file.h"

typedef struct ks_solve ks_solve;

/** A method. All of them find x; `cholesky` says what more there is. The first, `auto`, is a
 *  Cholesky method where the system is symmetric and dense, and otherwise one for general systems. */
typedef struct ks_solver {
    const char *name, *summary;
    int value;      /**< its own affair: the order of a Cholesky method                          */
    bool cholesky;  /**< takes symmetric positive definite systems only; has log-determinant,    */
                    /**< blocks of the inverse, refinement                                       */
    /** Sizes are known, nothing is read: plan, set run->method and the bytes. */
    ks_exit (*plan)(ks_solve *run, ks_failure *failure);
    /** The system is read and will not be solved: settle what only its numbers say. NULL: nothing. */
    ks_exit (*settle)(ks_solve *run, ks_failure *failure);
    /** The system is read: fill run->x and what else is asked for. */
    ks_exit (*run)(ks_solve *run, ks_failure *failure);
    /** Free run->state; called once, also after a failure. */
    void (*release)(ks_solve *run);
} ks_solver;

/** The methods, `auto` first. */
extern const ks_solver ks_solvers[];
extern const int ks_solver_count;

/** `auto` for general systems. */
extern const ks_solver ks_general_auto;

typedef struct ks_solve_settings {
    const char *file, *output;   /**< output NULL only with dry_run                              */
    const ks_solver *solver;
    int layout;                  /**< overrides the attribute; -1: does not                      */
    ks_precision precision;      /**< of the factor                                              */
    bool refine;                 /**< the solution is refined to double                          */
    const char *refine_option;   /**< the one that said so                                       */
    bool inverse_blocks, force, quiet, json, dry_run;
    int threads;                 /**< 0: all                                                     */
    int compress;
    int64_t segments;            /**< of method partition; 0: as many as the library finds right */
    ks_general_options general;  /**< of the methods for general systems                         */
    unsigned iterates;           /**< those that were given on the command line, one bit for each */
} ks_solve_settings;

struct ks_solve {
    const ks_solve_settings *settings;
    const ks_call *call;
    const ks_solver *solver;     /**< the one asked for, or what `auto` stands for               */
    ks_system *system;
    ks_context *context;
    void *state;                 /**< of the method                                              */
    const char *method;          /**< the one that runs: never "auto"                            */
    ks_backend backend;          /**< where it runs: never KS_BACKEND_AUTO                       */
    ks_precision data_precision; /**< of the system in memory, of x and of the inverse's blocks  */
    void *x;                     /**< (N, n, nrhs); owned                                        */
    bool has_logdet;
    double logdet;
    const void *S_diag, *S_lag;  /**< blocks of the inverse; the method's                        */
    int64_t segments;            /**< of a partition, else 0                                     */
    int threads;                 /**< that the plan takes; 0: the plan is made of the numbers    */
    int steps;                   /**< of refinement                                              */
    ks_general_report report;    /**< of a method for general systems                            */
    ks_blocktri_norms norms;
    double relative_residual;    /**< over all right-hand sides, of general methods the worst    */
    double backward_error;       /**< the same                                                   */
    size_t system_bytes, factor_bytes, result_bytes, work_bytes;
    double read_seconds, factor_seconds, solve_seconds, inverse_seconds, write_seconds;
    ks_progress progress;
    double written;              /**< bytes, for the progress bar                                */
};

/** "f64", "f32", or "mixed" where a single-precision factor is refined. */
const char *ks_solve_precision_name(const ks_solve_settings *settings);

/** ||A x - b|| / ||b||; 0 where the residual is. */
double ks_relative_residual(const ks_blocktri_norms *norms);

/** ||A x - b|| / (||A|| ||x|| + ||b||); 0 where the residual is. */
double ks_backward_error(const ks_blocktri_norms *norms);

/** Bytes of the output, before compression; SIZE_MAX where a size_t is too narrow. */
size_t ks_solve_disk_bytes(const ks_solve *run);

/** The results as an HDF5 file. */
ks_exit ks_solve_write(ks_solve *run, ks_failure *failure);

/** The summary on stdout, as text or JSON; of a dry run what it found. */
void ks_solve_summary(const ks_solve *run);

#endif
