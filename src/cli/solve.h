/* solve.h -- `kalscan solve`: its settings, the methods, and one run. A method is an entry of the table in
 * solve_methods.c with the functions behind it. */
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

/** A method. All methods compute x; Cholesky methods can compute more. The first one, `auto`, stands for a Cholesky
 *  method if the system is symmetric and dense. Otherwise it stands for `auto` of the methods for general systems. */
typedef struct ks_solver {
    const char *name, *summary;
    int value;      /**< for the method's own use: the order of a Cholesky method             */
    bool cholesky;  /**< takes only symmetric positive definite systems; has log-determinant, */
                    /**< blocks of the inverse, refinement                                    */
    /** Called when sizes are known and nothing has been read: create the plan, set run->method and the bytes. */
    ks_exit (*plan)(ks_solve *run, ks_failure *failure);
    /** Called instead of run() when the system has been read but will not be solved: decide what depends on its
     *  numbers. May be NULL. */
    ks_exit (*settle)(ks_solve *run, ks_failure *failure);
    /** Called when the system has been read: compute run->x and what else was requested. */
    ks_exit (*run)(ks_solve *run, ks_failure *failure);
    /** Free run->state. Called once, also after a failure. */
    void (*release)(ks_solve *run);
} ks_solver;

/** The methods, `auto` first. */
extern const ks_solver ks_solvers[];
extern const int ks_solver_count;

/** `auto` of the methods for general systems. */
extern const ks_solver ks_general_auto;

typedef struct ks_solve_settings {
    const char *file, *output;   /**< output is NULL only with dry_run */
    const ks_solver *solver;
    int layout;                  /**< overrides the attribute; -1: does not */
    ks_precision precision;      /**< of the factor                         */
    bool refine;                 /**< the solution is refined to double     */
    const char *refine_option;   /**< the option that requested it          */
    bool inverse_blocks, force, quiet, json, dry_run;
    int threads;                 /**< 0: all                                                     */
    int compress;
    int64_t segments;            /**< of method partition; 0: the library chooses         */
    ks_general_options general;  /**< of the methods for general systems                  */
    unsigned iterates;           /**< which of their options were given, one bit for each */
} ks_solve_settings;

struct ks_solve {
    const ks_solve_settings *settings;
    const ks_call *call;
    const ks_solver *solver;     /**< the method requested, or what `auto` stands for */
    ks_system *system;
    ks_context *context;
    void *state;                 /**< of the method                                             */
    const char *method;          /**< name of the method that runs, never "auto"                */
    ks_backend backend;          /**< where it runs, never KS_BACKEND_AUTO                      */
    ks_precision data_precision; /**< of the system in memory, of x and of the inverse's blocks */
    void *x;                     /**< (N, n, nrhs); owned                                       */
    bool has_logdet;
    double logdet;
    const void *S_diag, *S_lag;  /**< blocks of the inverse; owned by the method                          */
    int64_t segments;            /**< of a partition, else 0                                              */
    int threads;                 /**< threads of the plan; 0: the plan is made when the numbers are known */
    int steps;                   /**< of refinement                                                       */
    ks_general_report report;    /**< of a method for general systems                                     */
    ks_blocktri_norms norms;
    double relative_residual;    /**< over all right-hand sides; for general methods of the worst one */
    double backward_error;       /**< likewise                                                        */
    size_t system_bytes, factor_bytes, result_bytes, work_bytes;
    double read_seconds, factor_seconds, solve_seconds, inverse_seconds, write_seconds;
    ks_progress progress;
    double written;              /**< bytes, for the progress bar                                */
};

/** Return "f64", "f32", or "mixed" if a single-precision factor is refined. */
const char *ks_solve_precision_name(const ks_solve_settings *settings);

/** Return ||A x - b|| / ||b||; 0 if the residual is 0. */
double ks_relative_residual(const ks_blocktri_norms *norms);

/** Return ||A x - b|| / (||A|| ||x|| + ||b||); 0 if the residual is 0. */
double ks_backward_error(const ks_blocktri_norms *norms);

/** Return the bytes of all parts of the run; SIZE_MAX if size_t overflows. */
size_t ks_solve_bytes(const ks_solve *run);

/** Fail (KS_EXIT_RESOURCES) if they do not fit in memory. */
ks_exit ks_solve_check_memory(const ks_solve *run, ks_failure *failure);

/** Return the bytes of the output, before compression; SIZE_MAX if size_t overflows. */
size_t ks_solve_disk_bytes(const ks_solve *run);

/** Write the results to an HDF5 file. */
ks_exit ks_solve_write(ks_solve *run, ks_failure *failure);

/** Print the summary on stdout, as text or JSON. For a dry run it describes the plan. */
void ks_solve_summary(const ks_solve *run);

#endif
