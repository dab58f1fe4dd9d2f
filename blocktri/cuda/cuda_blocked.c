/* cuda_blocked.c -- launches of the rounds for large blocks; see ks_bt_blocked.h for their arguments. */
#include <stdio.h>
#include <string.h>
#include "cuda_plan.h"
#include "pool.h"

/* Up to so many right-hand sides are done a few at once. */
enum { FEW = 2 * KS_BT_NARROW };

/* Costs of a node of a graph and of a barrier of the grid in microseconds: figures known of other devices of the kind.
 * bench_gpu_machine measures them. */
static const double LAUNCH = 2, BARRIER = 1;

static ks_status find(ks_blocktri_cuda_plan *plan, const ks_gpu_kernel **kernel, const char *module,
                      const char *name, const char *suffix)
{
    char full[64];
    snprintf(full, sizeof full, "ks_bt_%s_%s", name, suffix);
    return ks_gpu_find(plan->gpu, kernel, module, full);
}

ks_status ks_bt_blocked_find(ks_blocktri_cuda_plan *plan)
{
    static const char factor[] = "ks_bt_blocked", solve[] = "ks_bt_blocked_solve";
    static const char inverse[] = "ks_bt_blocked_inverse";
    ks_bt_blocked_kernels *k = &plan->tiled;
    const char *const suffix = plan->number == sizeof(double) ? "f64" : "f32";
    const char *const outside = plan->refine ? "mixed" : suffix; /* kernels that read or write the caller's numbers */
    char sided[2][16];
    snprintf(sided[0], sizeof sided[0], "narrow_%s", suffix);
    snprintf(sided[1], sizeof sided[1], "wide_%s", suffix);
    ks_status status = find(plan, &k->begin, factor, "begin", outside);
    if (!status) status = find(plan, &k->column, factor, "column", outside);
    if (!status) status = find(plan, &k->clear, factor, "clear", suffix);
    if (!status) status = find(plan, &k->push, factor, "push", suffix);
    if (!status) status = find(plan, &k->last, "ks_bt_blocked_last", "last", outside);
    for (int i = 0; i < 2; ++i) {
        if (!status) status = find(plan, &k->collect[i], solve, "collect", sided[i]);
        if (!status) status = find(plan, &k->forward[i], solve, "forward", sided[i]);
        if (!status) status = find(plan, &k->give[i], solve, "give", sided[i]);
        if (!status) status = find(plan, &k->backward[i], solve, "backward", sided[i]);
    }
    if (!status) status = find(plan, &k->gain, inverse, "gain", suffix);
    if (!status) status = find(plan, &k->cross, inverse, "cross", suffix);
    if (!status) status = find(plan, &k->middle, inverse, "middle", suffix);
    if (!status) status = find(plan, &k->deliver, inverse, "deliver", outside);
    return status;
}

/* ---- the order, and which of its rounds one launch does ---- */

/* Return the most thread blocks for which a part of the factorization of round q has work. */
static int64_t widest(const ks_blocktri_cuda_plan *plan, int q)
{
    const int tiles = ks_bt_tiles(plan->padded);
    const ks_bt_round *now = &plan->rounds.round[q];
    const int64_t begin = ks_bt_begin_work(now, now - (q > 0), tiles, plan->systems);
    const int64_t column = ks_bt_column_work(now, 0, tiles, plan->systems);
    return begin > column ? begin : column;
}

/* Choose the first of the last rounds that one launch does. If all parts of these rounds fit the thread blocks that run
 * at once, one launch takes the same time, with barriers instead of launches between the parts. */
static int choose_together(const ks_blocktri_cuda_plan *plan, int asked)
{
    const ks_bt_rounds *r = &plan->rounds;
    const int parts = 1 + ks_bt_tiles(plan->padded);
    if (plan->grid < 1 || plan->atomic) return r->count;
    if (asked >= 0) return r->count - asked > r->joined ? r->count - asked : r->joined;
    int q = r->count;
    while (q > r->joined && widest(plan, q - 1) <= plan->grid) --q;
    const double all = (double)(r->count - q) * parts;
    return LAUNCH + BARRIER * all < LAUNCH * all ? q : r->count;
}

/* Determine the thread blocks of cooperative launches; 0 if the device has none. */
static ks_status measure_grid(ks_blocktri_cuda_plan *plan)
{
    const ks_gpu_attributes *a = &plan->gpu->attributes;
    int each = 0;
    const ks_status status =
        a->cooperative ? ks_gpu_resident(plan->gpu, &each, plan->tiled.last, KS_BT_THREADS,
                                         KS_BT_LAST_ELEMENTS * plan->number)
                       : KS_OK;
    plan->grid = each * a->multiprocessors;
    return status;
}

ks_status ks_bt_blocked_create(ks_blocktri_cuda_plan *plan, const ks_blocktri_cuda_options *o)
{
    const size_t bytes = ks_bt_rounds_bytes(plan->N);
    void *const host = ks_allocate(plan->context, bytes);
    if (!host) return KS_ENOMEM;
    memset(host, 0, bytes);
    plan->rounds.round = host;
    plan->segments = o->order == KS_BLOCKTRI_PARTITION ? ks_bt_segments(plan->N, o->segments) : 0;
    ks_status status = ks_bt_rounds_make(&plan->rounds, plan->context, plan->N, plan->segments, host);
    void *device = NULL;
    if (!status) status = ks_gpu_alloc(plan->gpu, &device, bytes);
    plan->on_device.round = device;
    if (!status) {
        plan->on_device.node = (ks_bt_node *)(plan->on_device.round + plan->N);
        plan->on_device.round_of = (int32_t *)(plan->on_device.node + 3 * (size_t)plan->N);
        status = ks_gpu_copy_in(plan->gpu, device, host, bytes, plan->stream);
        const ks_status waited = ks_gpu_stream_sync(plan->gpu, plan->stream);
        if (!status) status = waited;
    }
    if (!status) status = measure_grid(plan);
    if (!status) plan->together = choose_together(plan, o->together);
    if (!status && plan->rounds.joined > 0) {
        status = ks_gpu_stream_create(plan->gpu, &plan->side);
        if (!status) status = ks_gpu_event_create(plan->gpu, &plan->forked);
        if (!status) status = ks_gpu_event_create(plan->gpu, &plan->joined);
    }
    return status;
}

void ks_bt_blocked_destroy(ks_blocktri_cuda_plan *plan)
{
    ks_gpu_event_destroy(plan->gpu, plan->joined);
    ks_gpu_event_destroy(plan->gpu, plan->forked);
    ks_gpu_stream_destroy(plan->gpu, plan->side);
    ks_gpu_free(plan->gpu, plan->on_device.round);
    ks_release(plan->context, plan->rounds.round);
}

/* ---- launches ---- */

/* A call that is being enqueued. */
typedef struct job {
    const ks_blocktri_cuda_plan *plan;
    ks_bt_blocked_args args;
    int factors, solves;         /* what is done */
    int many;                    /* whether many right-hand sides are done at once */
    int64_t tiles, chunks;
    ks_gpu_stream *stream;
    ks_status status;            /* of what has been enqueued so far */
} job;

/* Launch `blocks` thread blocks with `elements` elements of shared memory. */
static void put(job *j, const ks_gpu_kernel *kernel, int64_t blocks, int elements)
{
    const ks_gpu_shape shape = { { (unsigned)blocks }, { KS_BT_THREADS },
                                 (size_t)elements * j->plan->number, 0 };
    if (blocks > 0 && !j->status)
        j->status = ks_gpu_launch(j->plan->gpu, kernel, &shape, &j->args, sizeof j->args, j->stream);
}

/* Make round q the current one. */
static void turn_to(job *j, int q)
{
    const ks_bt_round *now = &j->plan->rounds.round[q];
    j->args.now = *now;
    j->args.past = now[q > 0 ? -1 : 0];
}

static int64_t eliminated(const job *j) { return (int64_t)j->args.now.eliminated * j->plan->systems; }

static int solve_elements(const job *j)
{
    return j->many ? KS_BT_SOLVE_ELEMENTS(KS_BT_WIDE) : KS_BT_SOLVE_ELEMENTS(KS_BT_NARROW);
}

/* Enqueue round q of a factorization, and of the forward solve. */
static void up(job *j, int q)
{
    const ks_bt_blocked_kernels *k = &j->plan->tiled;
    const int tiles = (int)j->tiles, systems = j->plan->systems;
    ks_bt_blocked_args *args = &j->args;
    turn_to(j, q);
    if (j->factors) {
        put(j, k->begin,
            args->atomic ? eliminated(j) : ks_bt_begin_work(&args->now, &args->past, tiles, systems),
            KS_BT_FACTOR_ELEMENTS);
        for (args->column = 0; args->column < tiles; ++args->column)
            put(j, k->column, ks_bt_column_work(&args->now, args->column, tiles, systems),
                KS_BT_FACTOR_ELEMENTS);
        if (args->atomic)
            put(j, k->push, ks_bt_push_work(&args->now, tiles, systems), KS_BT_PIPELINE(KS_BT_TILE));
    }
    if (j->solves) {
        put(j, k->collect[j->many], ks_bt_collect_work(&args->now, (int)j->chunks, tiles, systems),
            solve_elements(j));
        put(j, k->forward[j->many], eliminated(j) * j->chunks, solve_elements(j));
    }
}

/* Enqueue round q of the backward solve. */
static void down(job *j, int q)
{
    const ks_bt_blocked_kernels *k = &j->plan->tiled;
    turn_to(j, q);
    const int64_t work = eliminated(j) * j->chunks;
    if (!j->args.now.last) put(j, k->give[j->many], work * j->tiles, solve_elements(j));
    put(j, k->backward[j->many], work, solve_elements(j));
}

/* Enqueue rounds begin .. end - 1, upwards or downwards. */
static void sweep(job *j, int begin, int end, int downwards)
{
    for (int i = begin; i < end; ++i) (downwards ? down : up)(j, downwards ? begin + end - 1 - i : i);
}

/* Enqueue the rounds that may run at once, in two streams. */
static void apart(job *j, int downwards)
{
    const ks_blocktri_cuda_plan *plan = j->plan;
    if (!plan->rounds.joined) return;
    job beside = *j;
    beside.stream = plan->side;
    if (!j->status) j->status = ks_gpu_event_record(plan->gpu, plan->forked, j->stream);
    if (!j->status) j->status = ks_gpu_event_wait(plan->gpu, plan->forked, plan->side);
    beside.status = j->status;
    sweep(&beside, 0, plan->rounds.side, downwards);
    sweep(j, plan->rounds.side, plan->rounds.joined, downwards);
    /* Join the side stream whatever has failed, so that the capture can end. */
    const ks_status recorded = ks_gpu_event_record(plan->gpu, plan->joined, plan->side);
    const ks_status joined = recorded ? recorded : ks_gpu_event_wait(plan->gpu, plan->joined, j->stream);
    if (!j->status) j->status = beside.status ? beside.status : joined;
}

/* Enqueue the last rounds in one launch, with at most one thread block for each piece of work. */
static void last(job *j, int factors, int solves)
{
    const ks_blocktri_cuda_plan *plan = j->plan;
    int64_t most = 1;
    for (int q = plan->together; q < plan->rounds.count; ++q) {
        const int64_t factor = widest(plan, q);
        const int64_t solve = plan->rounds.round[q].touched * plan->systems * j->chunks * j->tiles;
        if (factors && factor > most) most = factor;
        if (solves && solve > most) most = solve;
    }
    j->args.begin = plan->together;
    j->args.end = plan->rounds.count;
    j->args.factors = factors;
    j->args.solves = solves;
    const ks_gpu_shape shape = { { (unsigned)(most < plan->grid ? most : plan->grid) }, { KS_BT_THREADS },
                                 KS_BT_LAST_ELEMENTS * plan->number, 1 };
    if (!j->status)
        j->status = ks_gpu_launch(plan->gpu, plan->tiled.last, &shape, &j->args, sizeof j->args, j->stream);
}

/* Enqueue a factorization, a solve, or both. */
static void run(job *j)
{
    const ks_blocktri_cuda_plan *plan = j->plan;
    const int joined = plan->rounds.joined, count = plan->rounds.count, together = plan->together;
    /* Many right-hand sides have kernels of their own, which the last launch does not include. */
    const int solved = j->solves && !j->many && together < count;
    if (j->factors && !j->status)
        j->status = ks_gpu_fill(plan->gpu, plan->failure, 0xff,
                                (size_t)plan->systems * sizeof *plan->failure, j->stream);
    if (j->factors && plan->atomic)
        put(j, plan->tiled.clear, (int64_t)plan->N * plan->systems * (j->tiles * (j->tiles + 1) / 2), 0);
    apart(j, 0);
    sweep(j, joined, together, 0);
    if (together < count && (j->factors || solved)) last(j, j->factors, solved);
    if (!j->solves) return;
    if (!solved) {
        j->factors = 0;
        sweep(j, together, count, 0);
        sweep(j, together, count, 1);
    }
    sweep(j, joined, together, 1);
    apart(j, 1);
}

static void invert(job *j)
{
    const ks_bt_blocked_kernels *k = &j->plan->tiled;
    const int64_t lower = j->tiles * (j->tiles + 1) / 2, all = j->tiles * j->tiles;
    const int64_t kinds = j->args.lag.data ? 2 : 1, N = j->plan->N, systems = j->plan->systems;
    const int elements = KS_BT_PIPELINE(KS_BT_TILE), n = j->args.n;
    for (int q = j->plan->rounds.count - 1; q >= 0; --q) {
        turn_to(j, q);
        const int64_t couplings = j->args.now.last ? 0 : 2 * all * eliminated(j);
        j->args.identity = 1;
        j->args.n = j->args.nrhs = j->plan->padded;
        put(j, k->forward[1], eliminated(j) * j->tiles, KS_BT_SOLVE_ELEMENTS(KS_BT_WIDE));
        j->args.identity = j->args.nrhs = 0;
        j->args.n = n;
        put(j, k->gain, couplings, elements);
        put(j, k->cross, couplings, elements);
        put(j, k->middle, eliminated(j) * lower, elements);
    }
    put(j, k->deliver, N * systems * kinds * all, elements);
}

ks_status ks_bt_blocked_enqueue(const ks_blocktri_cuda_plan *plan, ks_bt_work_kind kind,
                                const ks_bt_call *call)
{
    const size_t block = (size_t)plan->padded * (size_t)plan->padded * plan->number;
    job j = { .plan = plan, .stream = plan->stream };
    ks_bt_blocked_args *args = &j.args;
    args->N = plan->N;
    args->systems = plan->systems;
    args->n = plan->n;
    args->padded = plan->padded;
    args->nodes = plan->on_device.node;
    args->rounds = plan->on_device.round;
    args->round_of = plan->on_device.round_of;
    args->nrhs = call->nrhs;
    args->D = call->D;
    args->L = call->L;
    args->scale = plan->scale;
    args->factor = plan->factor;
    args->b = call->b;
    args->x = call->x;
    args->failure = plan->failure;
    args->idle = call->idle;
    args->atomic = plan->atomic;
    j.factors = kind != KS_BT_SOLVE;
    j.solves = kind != KS_BT_FACTORIZE;
    j.many = call->nrhs > FEW;
    j.tiles = ks_bt_tiles(plan->padded);
    const int columns = j.many ? KS_BT_WIDE : KS_BT_NARROW;
    j.chunks = (call->nrhs + columns - 1) / columns;
    if (kind == KS_BT_INVERSE) {
        args->inverse = call->work;
        args->work = (char *)call->work + (size_t)plan->systems * (size_t)plan->N * 3 * block;
        args->S = call->S;
        args->lag = call->lag;
        invert(&j);
    } else {
        run(&j);
    }
    return j.status;
}
