/* The methods of `kalscan solve`. */
#include "solve.h"
#include "solve_cholesky.h"

#define CHOLESKY(name, order, summary)                                                          \
    {name, summary, order, true, ks_cholesky_plan, ks_cholesky_run, ks_cholesky_release}

const ks_solver ks_solvers[] = {
    CHOLESKY("auto", KS_BLOCKTRI_AUTO, "the Cholesky order that suits size and threads"),
    CHOLESKY("sequential", KS_BLOCKTRI_SEQUENTIAL, "Cholesky, first to last block"),
    CHOLESKY("twisted", KS_BLOCKTRI_TWISTED, "Cholesky, both ends to the middle on two threads"),
    CHOLESKY("partition", KS_BLOCKTRI_PARTITION, "Cholesky, segments at once, then what joins them"),
    CHOLESKY("nested-dissection", KS_BLOCKTRI_NESTED_DISSECTION,
             "Cholesky, every other block, then every other of those left"),
    CHOLESKY("recursive-schur", KS_BLOCKTRI_RECURSIVE_SCHUR,
             "Cholesky, segments between separators, then the separators likewise"),
};
const int ks_solver_count = sizeof ks_solvers / sizeof *ks_solvers;
