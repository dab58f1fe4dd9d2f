/* names.c -- the names of methods, solvers of blocks and ends of iterations on the command line. */
#include <stddef.h>
#include "kalscan/general.h"

const char *ks_general_method_name(ks_general_method method)
{
    switch (method) {
    case KS_GENERAL_AUTO: return "auto";
    case KS_BLOCK_JACOBI: return "block-jacobi";
    case KS_BLOCK_GAUSS_SEIDEL: return "block-gauss-seidel";
    case KS_RED_BLACK: return "red-black";
    case KS_BICGSTAB: return "bicgstab";
    case KS_GMRES: return "gmres";
    case KS_CG: return "cg";
    case KS_BLOCK_LU: return "block-lu";
    case KS_BLOCK_CYCLIC_REDUCTION: return "block-cyclic-reduction";
    case KS_LOW_RANK_LU: return "low-rank-lu";
    case KS_BANDED_LU: return "banded-lu";
    }
    return NULL;
}

const char *ks_block_solver_name(ks_block_solver solver)
{
    switch (solver) {
    case KS_BLOCK_SOLVER_AUTO: return "auto";
    case KS_BLOCK_SOLVER_THOMAS: return "thomas";
    case KS_BLOCK_SOLVER_LU: return "lu";
    case KS_BLOCK_SOLVER_CYCLIC_REDUCTION: return "cyclic-reduction";
    case KS_BLOCK_SOLVER_PARALLEL_CYCLIC_REDUCTION: return "parallel-cyclic-reduction";
    }
    return NULL;
}

const char *ks_general_end_name(ks_general_end end)
{
    switch (end) {
    case KS_END_NONE: return "not iterated";
    case KS_END_CONVERGED: return "converged";
    case KS_END_MAX_ITERATIONS: return "reached the most iterations";
    case KS_END_DIVERGED: return "diverged";
    case KS_END_STAGNATED: return "stagnated";
    case KS_END_BREAKDOWN: return "broke down";
    }
    return NULL;
}
