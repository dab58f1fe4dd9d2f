/* The methods of `kalscan solve`. */
#include "solve.h"
#include "solve_cholesky.h"
#include "solve_general.h"

#define CHOLESKY(name, order, summary)                                                          \
    {name, summary, order, true, ks_cholesky_plan, NULL, ks_cholesky_run, ks_cholesky_release}

#define GENERAL(name, method, summary)                                                          \
    {name, summary, method, false, ks_general_prepare, ks_general_settle, ks_general_run, ks_general_release}

const ks_solver ks_general_auto = GENERAL("auto", KS_GENERAL_AUTO, NULL);

const ks_solver ks_solvers[] = {
    CHOLESKY("auto", KS_BLOCKTRI_AUTO, "Cholesky in the order that suits size and threads; with /U or\n"
             "                           compact blocks the method that is fastest in short trials, and\n"
             "                           banded-lu where that fails"),
    CHOLESKY("sequential", KS_BLOCKTRI_SEQUENTIAL, "Cholesky, first to last block"),
    CHOLESKY("twisted", KS_BLOCKTRI_TWISTED, "Cholesky, both ends to the middle on two threads"),
    CHOLESKY("partition", KS_BLOCKTRI_PARTITION, "Cholesky, segments at once, then what separates them"),
    CHOLESKY("nested-dissection", KS_BLOCKTRI_NESTED_DISSECTION,
             "Cholesky, every other block, then every other one left: the\n"
             "                           multi-stage permutation"),
    CHOLESKY("recursive-schur", KS_BLOCKTRI_RECURSIVE_SCHUR,
             "Cholesky, segments between separators, then the separators likewise"),
    GENERAL("block-jacobi", KS_BLOCK_JACOBI, "block iteration, all diagonal blocks at once"),
    GENERAL("block-gauss-seidel", KS_BLOCK_GAUSS_SEIDEL, "block iteration, one block after another"),
    GENERAL("red-black", KS_RED_BLACK, "block iteration, even blocks at once, then odd ones"),
    GENERAL("bicgstab", KS_BICGSTAB, "Krylov method, preconditioned by the diagonal blocks"),
    GENERAL("gmres", KS_GMRES, "Krylov method, preconditioned likewise, restarted"),
    GENERAL("cg", KS_CG, "Krylov method, preconditioned likewise, for symmetric positive\n"
            "                           definite systems"),
    GENERAL("block-lu", KS_BLOCK_LU, "direct, first to last block, pivots within blocks"),
    GENERAL("low-rank-lu", KS_LOW_RANK_LU, "direct, diagonal blocks with corrections of low rank"),
    GENERAL("block-cyclic-reduction", KS_BLOCK_CYCLIC_REDUCTION,
            "direct, every other block, then every other one left"),
    GENERAL("banded-lu", KS_BANDED_LU, "direct, the whole matrix as a band, pivots across blocks"),
};
const int ks_solver_count = sizeof ks_solvers / sizeof *ks_solvers;
