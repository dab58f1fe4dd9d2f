/* chunk_information.c -- the information of the steps after a chunk about the state at its end, for both smoothers in
 * chunks. It comes from a reverse scan of the filter's aggregates. */
#include <string.h>
#include "scan_chunks.h"

size_t ks_information_numbers(const ks_smooth_plan *plan)
{
    const size_t n = (size_t)plan->nx;
    return n + n * (n + 1) / 2;
}

void ks_chunk_information_carve(ks_carver *carver, ks_scan_method *m)
{
    const ks_smooth_plan *plan = m->plan;
    const size_t n = (size_t)plan->nx, chunks = (size_t)m->chunks;
    m->suffixes = ks_carve(carver, chunks, plan->aggregates->filter_element_bytes(plan->nx));
    m->met.mean = ks_carve(carver, chunks * n, sizeof(double));
    m->met.cov = ks_carve(carver, chunks * n * n, sizeof(double));
}

int ks_scan_suffixes(ks_scan_method *m)
{
    ks_operator op = ks_filter_operator(m);
    op.absorb = NULL;
    op.rerun = NULL;
    m->run->info->rounds += ks_scan_plan_stats(m->plan->suffixes).rounds;
    const ks_status status = ks_scan_run(m->plan->suffixes, &op, m->suffixes, m->scan_memory);
    if (status != KS_OK) m->run->info->status = status;
    return status == KS_OK ? 0 : -1;
}

void ks_chunk_behind(const ks_scan_method *m, int64_t chunk, const double *x, double *behind)
{
    const ks_smooth_plan *plan = m->plan;
    const size_t numbers = ks_information_numbers(plan), bytes = plan->aggregates->filter_element_bytes(plan->nx);
    if (chunk + 1 == m->chunks) {
        memset(behind, 0, numbers * sizeof(double));
        return;
    }
    const char *next_end = m->suffixes + (size_t)(chunk + 2) * bytes;
    memcpy(behind, next_end - numbers * sizeof(double), numbers * sizeof(double));
    plan->aggregates->information_about(plan->nx, x, behind);
}
