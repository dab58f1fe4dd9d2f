/* hbisa.h -- arguments of the kernel that iterates on general systems with tridiagonal diagonal
 * blocks; shared by hbisa.cu and its driver, device.c. */
#ifndef KS_GENERAL_HBISA_H
#define KS_GENERAL_HBISA_H

#include <stdint.h>

/** What the kernel tells: written by one thread when it ends. */
typedef struct ks_hbisa_report {
    int64_t iterations;
    int32_t converged;
    double change;    /**< the largest in the last iteration                                     */
    double square;    /**< |b - A x|^2 of the x before the last iteration; stop by residual      */
} ks_hbisa_report;

typedef struct ks_hbisa_args {
    int64_t N;
    int32_t n;
    int32_t levels;            /**< of parallel cyclic reduction                                 */
    int32_t colours;           /**< 1: block Jacobi, from x to y and back; 2: red-black, in x    */
    int32_t by_change;         /**< stop by the largest change, otherwise by the residual        */
    int32_t resident;          /**< matrix and factor are kept in shared memory                  */
    int32_t width;             /**< diagonal blocks that a thread block solves at a time         */
    int64_t max_iterations;
    double tolerance;          /**< of the change, or of |b - A x|^2                             */
    const double *factor;      /**< (N, 2 levels + 1, n): 1 / b | alpha | gamma of each level    */
    const double *dia;         /**< (N, 3, n)                                                    */
    const int32_t *start;      /**< N n + 1: rows of L + U                                       */
    const int32_t *col;        /**< rows of x                                                    */
    const double *value;
    const double *b;
    double *x, *y;             /**< x: the start; after an odd number of Jacobi sweeps y is newer */
    unsigned long long *change; /**< 3 numbers, zero: bits of largest changes                    */
    double *partial;           /**< 2 gridDim.x: sums of squares                                 */
    ks_hbisa_report *report;
} ks_hbisa_args;

/** Bytes of dynamic shared memory beside resident data: two rows of a tile and a number a thread. */
#define KS_HBISA_SHARED(width, n, threads) \
    (8 * (2 * (size_t)(width) * (size_t)(n) + (size_t)(threads)))
/** And of resident data, for so many rows with so many entries beside the diagonal. */
#define KS_HBISA_RESIDENT(levels, rows, entries)                                          \
    (8 * ((size_t)(rows) * (size_t)(2 * (levels) + 5) + (size_t)(entries)) +              \
     4 * ((size_t)(rows) + 1 + (size_t)(entries)) + 8)

#endif
