/* scan_rounding.c -- whether the parallel RTS smoother from stored elements has multiplied round-off beyond what the
 * estimates bear, by scan_rounding_text.h; in chunks: chunks_rounding.c. */
#include <math.h>
#include "scan_method.h"

int ks_scan_is_suspect(const ks_scan_method *m)
{
    int sharp = 0;
    for (int w = 0; w < m->plan->workers; ++w) sharp |= m->worker[w].tally.sharp >= 0;
    for (int64_t c = 0; c < m->chunks; ++c) sharp |= m->chunk_tally[c].sharp >= 0;
    return sharp;
}

void ks_scan_blame(ks_scan_method *m)
{
    int blamed = 0;
    for (int w = 0; w < m->plan->workers; ++w) blamed |= ks_blame_rounding(&m->worker[w].tally);
    for (int64_t c = 0; c < m->chunks; ++c) blamed |= ks_blame_rounding(&m->chunk_tally[c]);
    if (blamed) m->run->info->value = (double)INFINITY;
}

int ks_scan_rounding(ks_scan_method *m)
{
    const int64_t T = m->plan->T, rounds = m->run->info->rounds;
    const long long combines = atomic_load(&m->combines);
    const ks_operator op = ks_smooth_operator(m);
    m->again = 1;
    int rc = ks_scan_phase(m, 0, T, ks_rounded_step);
    if (!rc) rc = ks_scan_elements(m, m->plan->reverse, &op);
    atomic_store(&m->combines, combines);
    m->run->info->rounds = rounds;
    if (!rc) rc = ks_scan_phase(m, 0, T, ks_moved_step);
    m->again = 0;
    for (int w = 0; w < m->plan->workers; ++w)
        if (m->worker[w].moves > m->run->info->value) m->run->info->value = m->worker[w].moves;
    return rc;
}
