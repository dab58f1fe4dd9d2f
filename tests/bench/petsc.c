/* petsc.c -- see petsc.h. One process; PETSc's sequential matrices. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <petscksp.h>
#include "petsc.h"
#include "cli/seconds.h"

static void must(PetscErrorCode code, int line)
{
    if (code == 0) return;
    fprintf(stderr, "petsc.c:%d: PETSc fails with %d\n", line, (int)code);
    exit(1);
}
#define MUST(call) must(call, __LINE__)

void peers_begin(void) { MUST(PetscInitializeNoArguments()); }
void peers_end(void) { MUST(PetscFinalize()); }

/* A tridiagonal block has no fill, so that its incomplete LU is exact. */
static KSP make(Mat A, int peer, int blocks, double tolerance)
{
    KSP solver;
    PC preconditioner;
    MUST(KSPCreate(PETSC_COMM_SELF, &solver));
    MUST(KSPSetOperators(solver, A, A));
    MUST(KSPSetType(solver, peer == PEER_GMRES_ILU ? KSPGMRES : KSPBCGS));
    MUST(KSPGetPC(solver, &preconditioner));
    MUST(PCSetType(preconditioner, peer == PEER_BCGS_NONE     ? PCNONE
                                   : peer == PEER_BCGS_BLOCKS ? PCBJACOBI
                                                              : PCILU));
    if (peer == PEER_BCGS_BLOCKS)
        MUST(PCBJacobiSetTotalBlocks(preconditioner, blocks, NULL));
    MUST(KSPSetPCSide(solver, PC_RIGHT));
    MUST(KSPSetNormType(solver, KSP_NORM_UNPRECONDITIONED));
    MUST(KSPSetInitialGuessNonzero(solver, PETSC_TRUE));
    MUST(KSPSetTolerances(solver, tolerance, 1e-300, 1e10, 3000));
    return solver;
}

void peers_measure(int order, int blocks, const int *start, const int *col, const double *value,
                   const double *b, double tolerance, peer_result result[PEERS])
{
    Mat A;
    Vec right, x;
    MUST(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, order, order, (int *)(size_t)start,
                                   (int *)(size_t)col, (double *)(size_t)value, &A));
    MUST(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, order, b, &right));
    MUST(VecDuplicate(right, &x));
    for (int peer = 0; peer < PEERS; ++peer) {
        const double begin = ks_seconds();
        result[peer] = (peer_result){-1, HUGE_VAL};
        for (int r = 0; r < 30 && (r == 0 || ks_seconds() - begin < 0.5); ++r) {
            KSPConvergedReason reason;
            PetscInt iterations;
            MUST(VecCopy(right, x));
            const double from = ks_seconds();
            KSP solver = make(A, peer, blocks, tolerance);
            MUST(KSPSolve(solver, right, x));
            result[peer].milliseconds = fmin(result[peer].milliseconds, 1e3 * (ks_seconds() - from));
            MUST(KSPGetConvergedReason(solver, &reason));
            MUST(KSPGetIterationNumber(solver, &iterations));
            if (reason > 0) result[peer].iterations = (int)iterations;
            MUST(KSPDestroy(&solver));
        }
    }
    MUST(VecDestroy(&x));
    MUST(VecDestroy(&right));
    MUST(MatDestroy(&A));
}
