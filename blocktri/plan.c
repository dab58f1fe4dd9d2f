/* plan.c -- making plans: check options, choose the order, compute the storage. */
#include <limits.h>
#include "blocktri_plan.h"
#include "cpu.h"

enum { DEFAULT_SEGMENTS = 4, DEFAULT_SPACING = 8, DEFAULT_CROSSOVER = 32 };

/* Most workers for which two lanes without fill are faster than more lanes with fill: segments of
 * equal cost give a speed-up of 1 + 7/19 (workers - 1), which exceeds 2.5 from six workers on. */
enum { TWISTED_WORKERS = 5 };

/* Microseconds to factor one block of order n of a long lane, measured on one core (Skylake,
 * 2.4 GHz, AVX2, f64). On other machines and tiers only the limit of WORTH_THREADS moves. */
static const struct {
    int n;
    double us;
} measured[] = {
    { 1, 0.05 }, { 4, 0.05 }, { 8, 0.22 }, { 16, 0.9 }, { 32, 4.6 }, { 64, 26 }, { 128, 172 },
    { 256, 1350 },
};
enum { MEASURED = sizeof measured / sizeof measured[0] };

/* Least microseconds of a factorization for which threads are worth while. Starting a second thread
 * and waiting for it measured 35 microseconds, which half of the time must clearly exceed. */
static const double WORTH_THREADS = 100;

static double block_us(int n)
{
    int i = 1;
    while (i < MEASURED - 1 && measured[i].n < n) ++i;
    const double low = measured[i - 1].n, high = measured[i].n;
    const double beyond = (double)n / high;
    if (beyond > 1) return measured[i].us * beyond * beyond * beyond;
    return measured[i - 1].us +
           (measured[i].us - measured[i - 1].us) * ((double)n - low) / (high - low);
}

/* Return options with defaults filled in and sizes limited to what is meaningful for N. */
static ks_blocktri_options settle(const ks_context *context, int64_t N, int n,
                                  const ks_blocktri_options *given)
{
    ks_blocktri_options o = *given;
    const int workers = ks_workers(context, o.threads, N);
    if (o.order == KS_BLOCKTRI_AUTO) {
        if (workers == 1 || N < 4 || (double)N * block_us(n) < WORTH_THREADS) {
            o.order = KS_BLOCKTRI_SEQUENTIAL;
        } else if (workers <= TWISTED_WORKERS) {
            o.order = KS_BLOCKTRI_TWISTED;
        } else {
            o.order = KS_BLOCKTRI_PARTITION;
            if (o.segments == 0) o.segments = workers;
        }
    }
    if (o.segments == 0) o.segments = DEFAULT_SEGMENTS;
    if (o.separator_spacing == 0) o.separator_spacing = DEFAULT_SPACING;
    if (o.crossover == 0) o.crossover = DEFAULT_CROSSOVER;
    const int64_t most = N > 2 ? N : 2;
    if (o.separator_spacing > most) o.separator_spacing = most;
    return o;
}

void ks_bt_carve(ks_carver *carver, const ks_blocktri_plan *plan, int inverse, ks_bt_work *work)
{
    const size_t number = plan->kernels->number, workers = (size_t)plan->workers;
    const size_t worker = KS_BT_PANELS * ks_bt_panel(plan->n, plan->ld) * number;
    work->panels = ks_carve(carver, workers, worker);
    work->failure = ks_carve(carver, workers, sizeof *work->failure);
    work->S_edges = NULL;
    if (inverse)
        work->S_edges = ks_carve(carver, (size_t)plan->schedule.edge_blocks,
                                 (size_t)ks_bt_size(plan) * number);
}

static size_t measure(const ks_blocktri_plan *plan, int inverse)
{
    ks_carver carver = ks_carver_at(NULL);
    ks_bt_work unused;
    ks_bt_carve(&carver, plan, inverse, &unused);
    return ks_carved_bytes(&carver);
}

/* Whether every computed size stays far below the limits of int and ptrdiff_t. */
static int addressable(int64_t N, int n)
{
    if (n > 16384) return 0;
    const int64_t block = (int64_t)n * n * (int64_t)sizeof(double);
    return N <= PTRDIFF_MAX / 8 / block;
}

const char *ks_blocktri_plan_invalid(int64_t N, int n, const ks_blocktri_options *options)
{
    const ks_blocktri_options defaults = KS_BLOCKTRI_OPTIONS_INIT;
    const ks_blocktri_options *o = options ? options : &defaults;
    if (N < 1) return "N";
    if (n < 1) return "n";
    if (o->size != sizeof *o) return "size";
    if (!ks_blocktri_order_name(o->order)) return "order";
    if (o->precision != KS_F64 && o->precision != KS_F32) return "precision";
    if (!ks_is_tier(o->tier)) return "tier";
    if (o->threads < 0) return "threads";
    if (o->segments != 0 && o->segments < 2) return "segments";
    if (o->separator_spacing != 0 && o->separator_spacing < 2) return "separator_spacing";
    return o->crossover != 0 && o->crossover < 2 ? "crossover" : NULL;
}

ks_status ks_blocktri_plan_create(ks_blocktri_plan **out, ks_context *context, int64_t N, int n,
                                  const ks_blocktri_options *options)
{
    const ks_blocktri_options defaults = KS_BLOCKTRI_OPTIONS_INIT;
    if (!out) return KS_EINVAL;
    *out = NULL;
    if (!options) options = &defaults;
    if (ks_blocktri_plan_invalid(N, n, options)) return KS_EINVAL;
    if (!addressable(N, n)) return KS_ENOMEM;
    const ks_bt_kernels *kernels = ks_bt_kernels_of(options->precision, options->tier, n);
    if (!kernels) return KS_EUNAVAILABLE;

    ks_blocktri_plan *plan = ks_allocate(context, sizeof *plan);
    if (!plan) return KS_ENOMEM;
    plan->context = context;
    plan->N = N;
    plan->n = n;
    plan->kernels = kernels;
    plan->narrow = ks_bt_kernels_of(options->precision, options->tier, 1);
    plan->ld = ks_bt_ld(kernels, n);
    plan->options = settle(context, N, n, options);
    ks_bt_schedule_make(&plan->schedule, N, plan->options.order, &plan->options);
    plan->workers = ks_workers(context, options->threads, plan->schedule.widest);
    plan->fill = (size_t)(plan->schedule.fill_blocks * ks_bt_size(plan)) * kernels->number;
    /* aligned_alloc() requires multiples of the alignment. */
    plan->fill = (plan->fill + KS_CARVE_ALIGNMENT - 1) / KS_CARVE_ALIGNMENT * KS_CARVE_ALIGNMENT;
    plan->workspace = measure(plan, 0);
    plan->inverse_workspace = measure(plan, 1);
    if (plan->inverse_workspace > PTRDIFF_MAX) {
        ks_blocktri_plan_destroy(plan);
        return KS_ENOMEM;
    }
    *out = plan;
    return KS_OK;
}

void ks_blocktri_plan_destroy(ks_blocktri_plan *plan)
{
    if (plan) ks_release(plan->context, plan);
}

ks_blocktri_order ks_blocktri_plan_order(const ks_blocktri_plan *plan)
{
    return plan ? plan->options.order : KS_BLOCKTRI_AUTO;
}

int64_t ks_blocktri_plan_segments(const ks_blocktri_plan *plan)
{
    int64_t segments = 0;
    if (!plan) return 0;
    for (int64_t q = 0; q < plan->schedule.level[0].lanes && q < 2; ++q)
        segments += ks_bt_lane_of(&plan->schedule.level[0], q).count > 0;
    if (plan->schedule.level[0].lanes > 2) return plan->schedule.level[0].lanes - 2 + segments;
    /* A single block may be a separator, with no lane beside it. */
    return segments > 0 ? segments : 1;
}

int ks_blocktri_plan_threads(const ks_blocktri_plan *plan) { return plan ? plan->workers : 1; }

size_t ks_blocktri_fill_bytes(const ks_blocktri_plan *plan) { return plan ? plan->fill : 0; }

size_t ks_blocktri_workspace_bytes(const ks_blocktri_plan *plan) { return plan ? plan->workspace : 0; }

size_t ks_blocktri_inverse_workspace_bytes(const ks_blocktri_plan *plan)
{
    return plan ? plan->inverse_workspace : 0;
}
