/* scan_rounding.c -- test whether scans of stored elements multiply round-off beyond what the estimates bear
 * (scan_rounding_text.h, filter_rounding_text.h). For chunks see chunks_rounding.c. */
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
    int64_t first = INT64_MAX;
    int first_blamed = 0;
    for (int64_t i = 0; i < m->plan->workers + m->chunks; ++i) {
        ks_tally *tally = i < m->plan->workers ? &m->worker[i].tally : &m->chunk_tally[i - m->plan->workers];
        const int blamed = ks_blame_rounding(tally);
        if (tally->bad_step < 0 || tally->bad_step >= first) continue;
        first = tally->bad_step;
        first_blamed = blamed;
    }
    if (first_blamed) m->run->info->value = (double)INFINITY;
}

int ks_scan_is_doubtful(ks_scan_method *m)
{
    int doubts = atomic_load(&m->doubtful);
    for (int w = 0; w < m->plan->workers; ++w) doubts |= m->worker[w].doubts;
    return doubts;
}

int ks_scan_refuse(ks_scan_method *m, int64_t k, double value)
{
    ks_tally *tally = &m->worker[0].tally;
    tally->bad_step = k;
    tally->bad_row = 0;
    tally->bad_array = KS_ARRAY_ESTIMATE;
    tally->fault = KS_FAULT_ILL_CONDITIONED;
    m->run->info->value = value >= 0 ? value : (double)INFINITY;
    return -1;
}

/** Scan elements with round-off and see how far the results move. Nothing of it is counted. The first step that moves
 *  too far is reported, whichever worker found it. */
static int ask(ks_scan_method *m, ks_scan_phase_function rounded, const ks_scan_plan *scan, const ks_operator *op,
               ks_scan_phase_function moved)
{
    const int64_t T = m->plan->T, rounds = m->run->info->rounds;
    const long long combines = atomic_load(&m->combines);
    m->again = 1;
    int rc = ks_scan_phase(m, 0, T, rounded);
    if (!rc) rc = ks_scan_elements(m, scan, op);
    atomic_store(&m->combines, combines);
    m->run->info->rounds = rounds;
    if (!rc) rc = ks_scan_phase(m, 0, T, moved);
    m->again = 0;
    const ks_scan_worker *first = NULL;
    for (int w = 0; w < m->plan->workers; ++w) {
        const ks_scan_worker *own = &m->worker[w];
        if (own->tally.bad_step >= 0 && (!first || own->tally.bad_step < first->tally.bad_step)) first = own;
    }
    if (first && first->tally.fault == KS_FAULT_ILL_CONDITIONED) m->run->info->value = first->moves;
    return rc;
}

int ks_scan_rounding(ks_scan_method *m)
{
    const ks_operator op = ks_smooth_operator(m);
    return ask(m, ks_rounded_step, m->plan->reverse, &op, ks_moved_step);
}

int ks_filter_rounding(ks_scan_method *m)
{
    const ks_operator op = ks_filter_operator(m);
    return ask(m, ks_rounded_filter_step, m->plan->forward, &op, ks_moved_filter_step);
}

int ks_two_filter_rounding(ks_scan_method *m)
{
    const ks_operator op = ks_filter_operator(m);
    return ask(m, ks_rounded_filter_step, m->plan->reverse, &op, ks_moved_two_filter_step);
}
