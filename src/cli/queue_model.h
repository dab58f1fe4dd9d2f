/* queue_model.h -- the M/M/n+k queue of a cloud whose servers are turned on and off with its load, and its stationary
 * distribution (HBISA, the hybrid blocked iterative solving algorithm, Sec. 5.1). docs/general.md says how eq. 8 is
 * read and how eq. 9 is made regular. */
#ifndef KS_CLI_QUEUE_MODEL_H
#define KS_CLI_QUEUE_MODEL_H

#include <stdint.h>
#include "kalscan/general.h"
#include "failure.h"

/** Block j - 1 holds the states with j servers on and i = (j - 1) k .. (j + 1) k tasks pending. State i is row i - (j -
 *  1) k of n = 2 k + 1. */
typedef struct ks_queue {
    int64_t servers;           /**< N                            */
    int capacity;              /**< k, tasks that a server takes */
    double lambda, mu, eta, nu; /**< rates of arrival, service, turning on, turning off; > 0 */
} ks_queue;

/** Return the number of rows of a block. */
int ks_queue_order(const ks_queue *queue);

/** The system whose solution is the distribution over that of one state: A = -Q' with the row of
 *  that state replaced by one of the identity, b the same column of it. */
typedef struct ks_queue_system {
    int64_t fixed_block;       /**< the fixed state, with value 1 */
    int fixed_row;
    double *D_dia, *b;         /**< (N, 3, n), (N, n)                                            */
    ks_general_triples L, U;
    int64_t *indices;          /**< of the triples                                               */
    double *values;
} ks_queue_system;

void ks_queue_free(ks_queue_system *system);

/** The solution. */
typedef struct ks_queue_solution {
    double *pi;                /**< (N, n), sums to 1; owned                                     */
    ks_general_method method;
    ks_general_report report;
    double residual;           /**< largest |pi P - pi|, P = I + Q / (largest rate out) */
    int64_t block;             /**< the most probable state, the first of equal ones    */
    int row;
    double probability, tasks, servers;  /**< of that state; mean number of tasks pending and servers on */
} ks_queue_solution;

/** Solve pi = pi P. `system` returns the system that was solved, to be written. */
ks_exit ks_queue_solve(const ks_queue *queue, int threads, ks_queue_system *system,
                       ks_queue_solution *solution, ks_failure *failure);

#endif
