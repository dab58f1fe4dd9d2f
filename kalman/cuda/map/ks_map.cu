// ks_map.cu -- the MAP route on a device; see map_kernels.h.
#include <math.h>
#include "map_kernels.h"
#include "hd.h"
#include "scan_report.h"
#include "team.h"

// The texts below also write memory outside of these functions, so each function begins with a barrier.
#define KS_TEAM_BEFORE() ks_team_sync()
#include "num_team_f64.h"
#include "team_smallmat_text.h"
#include "team_array_text.h"
#include "map_factor_text.h"
#include "map_terms_text.h"
#include "map_segment_text.h"
#include "map_team_text.h"
#include "map_review_team_text.h"
#include "map_segment_team_text.h"

// Return the team's memory, in device memory or in shared memory.
KS_DEVICE double *room_of(const ks_map_args &args, char *shared)
{
    char *const room = args.memory ? args.memory + ks_team_number() * args.slice
                                   : shared + threadIdx.y * args.slice;
    return reinterpret_cast<double *>(room);
}

// One thread of each team reports.
KS_DEVICE void report(const ks_tally &tally, const ks_map_args &args)
{
    if (ks_team_lane() == 0) ks_report(tally, args.status, args.phase);
}

// Define a kernel whose teams do pieces of work, each with `room` and `tally`. A team stops after a fault.
#define TEAMS(name, what)                                                                           \
    KS_KERNEL_BOUNDS(ks_map_##name, ks_map_args, KS_MAP_MOST_TEAM, 1)                               \
    {                                                                                               \
        KS_DYNAMIC_SHARED(char, shared);                                                            \
        double *const room = room_of(args, shared);                                                 \
        ks_tally tally = ks_tally_start();                                                          \
        if (ks_failed_before(args.status, args.phase)) return;                                      \
        for (int64_t piece = ks_team_number(); piece < args.count; piece += ks_team_count()) {      \
            what;                                                                                   \
            if (tally.bad_step >= 0) break;                                                         \
            ks_team_sync();                                                                         \
        }                                                                                           \
        report(tally, args);                                                                        \
    }

TEAMS(prior, if (map_prior_team_f64(args.m, room, &tally)) map_share_team_f64(args.m, room))
TEAMS(assemble, map_assemble_team_f64(args, piece, room, &tally))
TEAMS(reduce, map_reduce_team_f64(args, piece, room, nullptr, &tally); if (args.side) tally.missing = 0)
TEAMS(combine, map_combine_team_f64(args, piece, room))
TEAMS(spread, map_spread_team_f64(args, piece, room))
TEAMS(rerun, map_rerun_team_f64(args, piece, room, nullptr))
TEAMS(review, map_review_team_f64(args, piece, room, nullptr, &tally); tally.missing = 0)

// Make probes of the diagonal, which is complete by then; see map_text.h.
KS_KERNEL_BOUNDS(ks_map_probe, ks_map_args, KS_MAP_THREADS, 1)
{
    const ks_map_arrays &m = args.m;
    const int64_t n = m.a.series.nx, entries = m.a.series.steps * n;
    for (int64_t i = ks_grid_thread(); i < entries * m.probes; i += ks_grid_threads()) {
        const int64_t entry = i / m.probes, p = i % m.probes;
        m.z[entry / n * m.z_step + entry % n * m.z_entry + p * m.z_probe] =
            sqrt(m.diagonal[entry]) * ks_map_sign_team_f64(i);
    }
}

// Subtract the correction, which is in `gradient`, from the solution.
KS_KERNEL_BOUNDS(ks_map_correct, ks_map_args, KS_MAP_THREADS, 1)
{
    const int64_t n = args.m.a.series.nx, numbers = args.m.a.series.steps * n;
    for (int64_t i = ks_grid_thread(); i < numbers; i += ks_grid_threads())
        static_cast<double *>(ks_slot_of(args.m.x, i / n))[i % n] -= args.m.gradient[i];
}

KS_DEVICE void join(const ks_map_found &one, ks_map_found *all)
{
    all->quadratic += one.quadratic;
    all->logs += one.logs;
    if (one.loss > all->loss || (one.loss == all->loss && one.lost_step < all->lost_step)) {
        all->loss = one.loss;
        all->lost_step = one.lost_step;
    }
    ks_map_largest_team_f64(one.inflation, &all->inflation);
    ks_map_largest_team_f64(one.gradient, &all->gradient);
    if (one.bad_step >= 0 && (all->bad_step < 0 || one.bad_step < all->bad_step))
        all->bad_step = one.bad_step;
}

// Reduce what all pieces found to found[count], and compute the log-likelihood. The order of additions depends on the
// numbers of pieces and segments alone.
KS_KERNEL_BOUNDS(ks_map_total, ks_map_args, KS_MAP_TOTAL_THREADS, 1)
{
    KS_SHARED(ks_map_found, found, KS_MAP_TOTAL_THREADS);
    KS_SHARED(double, logs, KS_MAP_TOTAL_THREADS);
    ks_map_found all;
    double sum = 0;
    map_nothing_found_team_f64(&all);
    for (int64_t i = threadIdx.x; i < args.count; i += KS_MAP_TOTAL_THREADS) join(args.found[i], &all);
    for (int64_t i = threadIdx.x; i < args.segments; i += KS_MAP_TOTAL_THREADS) sum += args.logs[i];
    found[threadIdx.x] = all;
    logs[threadIdx.x] = sum;
    for (unsigned half = KS_MAP_TOTAL_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x >= half) continue;
        join(found[threadIdx.x + half], &found[threadIdx.x]);
        logs[threadIdx.x] += logs[threadIdx.x + half];
    }
    if (threadIdx.x > 0) return;
    const ks_series &s = args.m.a.series;
    const double entries = (double)(s.steps * s.ny - (int64_t)args.status->missing);
    const double logdet = args.logdet ? *args.logdet : logs[0];
    args.found[args.count] = found[0];
    *args.loglik = -0.5 * (entries * 1.8378770664093454836 + found[0].logs + found[0].quadratic + logdet);
}
#include "num_team_end.h"
