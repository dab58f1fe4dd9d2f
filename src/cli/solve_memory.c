/* The memory of a run of `kalscan solve`. */
#include "memory.h"
#include "solve.h"

size_t ks_solve_bytes(const ks_solve *run)
{
    return ks_size_sum(ks_size_sum(run->system_bytes, run->factor_bytes),
                       ks_size_sum(run->result_bytes, run->work_bytes));
}

ks_exit ks_solve_check_memory(const ks_solve *run, ks_failure *failure)
{
    return ks_memory_check(ks_solve_bytes(run), "the computation (--dry-run tells its parts)", failure);
}
