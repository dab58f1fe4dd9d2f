/* petsc.h -- Krylov methods of PETSc beside ours. */
#ifndef BENCH_PETSC_H
#define BENCH_PETSC_H

enum { PEER_BCGS_NONE, PEER_BCGS_BLOCKS, PEER_BCGS_ILU, PEER_GMRES_ILU, PEERS };

typedef struct peer_result {
    int iterations;       /* -1: did not converge */
    double milliseconds;  /* setting up and solution, best of several */
} peer_result;

/** Once, before and after all else. */
void peers_begin(void);
void peers_end(void);

/** A x = b by each peer to |b - A x| <= `tolerance` |b| in at most 3000 iterations: BiCGSTAB without
 *  a preconditioner, and preconditioned by `blocks` diagonal blocks, solved exactly; BiCGSTAB and
 *  GMRES(30) by incomplete LU of the whole. They start from b: from zero PETSc's BiCGSTAB breaks down
 *  in its second step, where b has one entry, in a row of the identity. (Ours then takes another
 *  shadow residual.)
 *  start (order + 1), col and value are A by rows, the columns of a row ascending. */
void peers_measure(int order, int blocks, const int *start, const int *col, const double *value,
                   const double *b, double tolerance, peer_result result[PEERS]);

#endif
