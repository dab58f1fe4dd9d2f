/* Going on with banded LU. */
#include "solve_go_on.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ks_may_go_on(const ks_solve *run)
{
    return run->solver == &ks_general_auto && run->backend == KS_BACKEND_CPU &&
           run->system->N <= INT_MAX / run->system->n && strcmp(run->method, ks_general_method_name(KS_BANDED_LU)) != 0;
}

ks_exit ks_go_on(ks_solve *run, const char *reason, ks_failure *failure)
{
    int banded = 0;
    while (ks_solvers[banded].cholesky || ks_solvers[banded].value != KS_BANDED_LU) ++banded;
    if (!run->settings->quiet)
        fprintf(stderr, "kalscan: note: %s: method %s %s; auto goes on with %s, which is direct, with pivots across "
                "blocks\n", run->system->name, run->method, reason, ks_solvers[banded].name);
    run->solver->release(run);
    free(run->x);
    run->x = NULL;
    run->solver = &ks_solvers[banded];
    /* The time that was lost is told with that of the factor. */
    run->factor_seconds += run->solve_seconds;
    return run->solver->plan(run, failure) ? failure->code : run->solver->run(run, failure);
}
