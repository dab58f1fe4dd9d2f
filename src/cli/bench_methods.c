/* The methods that are timed: --method. */
#include "bench.h"
#include "options.h"

static ks_exit add_method(ks_bench_settings *s, int index, ks_failure *failure)
{
    const bool solve = s->job == KS_BENCH_SOLVE;
    if (s->methods >= (solve ? (int)KS_BENCH_LIST : KS_METHODS))
        return ks_fail(failure, KS_EXIT_USAGE, "--method: too many");
    if (solve) s->solver[s->methods++] = &ks_solvers[index];
    else s->method[s->methods++] = (ks_method)index;
    return KS_EXIT_DONE;
}

ks_exit ks_bench_take_method(ks_bench_settings *s, const char *name, ks_failure *failure)
{
    const char *names[KS_BENCH_LIST + 2] = {NULL};
    int index = 0, count = 0;
    const bool solve = s->job == KS_BENCH_SOLVE;
    const int known = solve ? ks_solver_count : KS_METHODS;
    for (; count < known && count < KS_BENCH_LIST; ++count)
        names[count] = solve ? ks_solvers[count].name : ks_method_name((ks_method)count);
    names[count] = "all";
    if (ks_parse_word("--method", name, names, NULL, &index, failure)) return failure->code;
    if (index < count) return add_method(s, index, failure);
    s->every = true;
    return KS_EXIT_DONE;
}

/* Whether --method all includes a method. A device has no sequential methods. */
static bool suits(const ks_bench_settings *s, int index)
{
    const bool cuda = s->backend == KS_BACKEND_CUDA;
    if (s->job == KS_BENCH_SOLVE) {
        const ks_solver *solver = &ks_solvers[index];
        const bool in_order = solver->value == KS_BLOCKTRI_SEQUENTIAL || solver->value == KS_BLOCKTRI_TWISTED;
        return index > 0 && solver->cholesky != s->queue && !(cuda && in_order) &&
               (solver->cholesky || solver->value != KS_CG);
    }
    switch ((ks_method)index) {
    case KS_METHOD_SEQUENTIAL: return !cuda;
    case KS_METHOD_TWO_ENDED: return !cuda && s->job == KS_BENCH_SMOOTH;
    case KS_METHOD_SCAN: return s->job == KS_BENCH_FILTER;
    case KS_METHOD_SCAN_RTS:
    case KS_METHOD_SCAN_TWO_FILTER:
    case KS_METHOD_BLOCKTRI: return s->job == KS_BENCH_SMOOTH;
    case KS_METHOD_AUTO:
    default: return false;
    }
}

ks_exit ks_bench_take_all(ks_bench_settings *s, ks_failure *failure)
{
    const bool solve = s->job == KS_BENCH_SOLVE;
    for (int i = 0; i < (solve ? ks_solver_count : KS_METHODS) && !failure->code; ++i) {
        bool listed = false;
        for (int m = 0; m < s->methods; ++m)
            listed |= solve ? s->solver[m] == &ks_solvers[i] : s->method[m] == (ks_method)i;
        if (suits(s, i) && !listed) add_method(s, i, failure);
    }
    return failure->code;
}
