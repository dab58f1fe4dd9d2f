/* cuda_plan.c -- plans on a device: sizes, kernels, memory. */
#include <string.h>
#include "cuda_plan.h"
#include "pool.h"

/* The kernels number blocks, and pieces of work on them, with ints. */
static const int64_t MOST_BLOCKS = INT64_C(1) << 31;
enum { MOST_ORDER = 1 << 15 };

static int by_schur(const ks_blocktri_cuda_options *o) { return o->order == KS_BLOCKTRI_RECURSIVE_SCHUR; }

const char *ks_blocktri_cuda_plan_invalid(int64_t N, int n, const ks_blocktri_cuda_options *options)
{
    const ks_blocktri_cuda_options defaults = KS_BLOCKTRI_CUDA_OPTIONS_INIT;
    const ks_blocktri_cuda_options *o = options ? options : &defaults;
    const int schur = by_schur(o);
    if (N < 1) return "N";
    if (n < 1) return "n";
    if (o->size != sizeof *o) return "size";
    if (o->precision != KS_F64 && o->precision != KS_F32) return "precision";
    if (!schur && o->order != KS_BLOCKTRI_AUTO && o->order != KS_BLOCKTRI_NESTED_DISSECTION &&
        o->order != KS_BLOCKTRI_PARTITION)
        return "order";
    if (o->device < 0) return "device";
    if (o->systems < 1 || (schur && o->systems != 1)) return "systems";
    if ((o->inverse != 0 && o->inverse != 1) || (schur && o->inverse)) return "inverse";
    if ((o->refine != 0 && o->refine != 1) || (o->refine && (schur || o->precision != KS_F32))) return "refine";
    if (o->together < -1) return "together";
    if ((o->atomic != 0 && o->atomic != 1) || (o->atomic && (schur || o->together > 0))) return "atomic";
    if (o->order == KS_BLOCKTRI_PARTITION && o->segments != 0 && o->segments < 2) return "segments";
    if (schur && o->separator_spacing != 0 && (o->separator_spacing < 2 || o->separator_spacing > 1 << 20))
        return "separator_spacing";
    return schur && o->crossover != 0 && o->crossover < 2 ? "crossover" : NULL;
}

/* Whether blocks are worked on in tiles; and the order that they are padded to. */
static int blocked(int n, const ks_blocktri_cuda_options *o)
{
    return o->inverse || o->refine || o->atomic || o->order == KS_BLOCKTRI_PARTITION || !ks_bt_padded(n);
}

static int padded_order(int n, const ks_blocktri_cuda_options *o)
{
    return blocked(n, o) ? ks_bt_padded_tiles(n) : ks_bt_padded(n);
}

/* Return the bytes of the factor, or 0 if there are too many blocks or tiles. The rest of a plan is small. */
static size_t factor_bytes(int64_t N, int n, const ks_blocktri_cuda_options *o)
{
    if (n > MOST_ORDER) return 0;
    if (o->order == KS_BLOCKTRI_PARTITION && N > 2 && !ks_bt_segments(N, o->segments)) return 0;
    if (by_schur(o)) return N > MOST_BLOCKS / 2 ? 0 : ks_bt_schur_bytes(N, n, o);
    const size_t P = (size_t)padded_order(n, o), number = o->precision == KS_F64 ? 8 : 4;
    const int64_t tiles = blocked(n, o) ? ks_bt_tiles((int)P) : 1;
    if (N > MOST_BLOCKS / o->systems / (2 * tiles * tiles)) return 0;
    return (size_t)N * (size_t)o->systems * 3 * P * P * number;
}

static size_t scale_bytes(int64_t N, int n, const ks_blocktri_cuda_options *o)
{
    return o->refine ? (size_t)N * (size_t)o->systems * (size_t)n * sizeof(double) : 0;
}

size_t ks_bt_inverse_bytes(int64_t N, int n, const ks_blocktri_cuda_options *o)
{
    const size_t P = (size_t)padded_order(n, o), number = o->precision == KS_F64 ? 8 : 4;
    if (by_schur(o) || !blocked(n, o) || !factor_bytes(N, n, o)) return 0;
    return (3 * (size_t)N + 3 * (((size_t)N + 1) / 2)) * (size_t)o->systems * P * P * number;
}

static size_t rounds_bytes(int64_t N, int n, const ks_blocktri_cuda_options *o)
{
    return !by_schur(o) && blocked(n, o) ? ks_bt_rounds_bytes(N) : 0;
}

static size_t sums_bytes(int systems) { return (size_t)systems * KS_BT_SUMS * sizeof(double); }

size_t ks_blocktri_cuda_bytes(int64_t N, int n, const ks_blocktri_cuda_options *options)
{
    const ks_blocktri_cuda_options defaults = KS_BLOCKTRI_CUDA_OPTIONS_INIT;
    if (!options) options = &defaults;
    if (ks_blocktri_cuda_plan_invalid(N, n, options)) return SIZE_MAX;
    const size_t factor = factor_bytes(N, n, options), systems = (size_t)options->systems;
    return factor ? factor + sums_bytes(options->systems) + scale_bytes(N, n, options) +
                        rounds_bytes(N, n, options) +
                        (options->refine ? sizeof(ks_bt_refine_state) : 0) +
                        systems * (sizeof(double) + sizeof(unsigned long long))
                  : SIZE_MAX;
}

ks_status ks_blocktri_cuda_room(size_t *bytes, int device)
{
    ks_gpu *gpu = NULL;
    if (!bytes) return KS_EINVAL;
    *bytes = 0;
    ks_status status = ks_gpu_open(&gpu, NULL, device);
    if (!status) status = ks_gpu_room(gpu, bytes);
    ks_gpu_close(gpu);
    return status;
}

size_t ks_blocktri_cuda_work_bytes(int64_t N, int n, int nrhs, const ks_blocktri_cuda_options *options)
{
    const ks_blocktri_cuda_options defaults = KS_BLOCKTRI_CUDA_OPTIONS_INIT;
    if (!options) options = &defaults;
    if (nrhs < 1 || ks_blocktri_cuda_bytes(N, n, options) == SIZE_MAX) return SIZE_MAX;
    /* Only these members are read. */
    const ks_blocktri_cuda_plan plan = { .N = (int)N, .n = n, .systems = options->systems,
                                         .refine = options->refine };
    const size_t refined = ks_blocktri_cuda_refine_bytes(&plan, nrhs);
    const size_t inverse = options->inverse ? ks_bt_inverse_bytes(N, n, options) : 0;
    return refined > inverse ? refined : inverse;
}

/* Names in ks_bt_factor.cu and ks_bt_solve.cu for each padded order and number type. */
typedef struct names {
    int padded;
    size_t number;
    const char *factor, *carry, *forward[2], *backward[2], *logdet;
} names;

#define NAMES(P, suffix, number)                                                                  \
    {                                                                                             \
        P, sizeof(number), "ks_bt_factor_" #P "_" #suffix, "ks_bt_carry_" #P "_" #suffix,         \
            { "ks_bt_forward_1_" #P "_" #suffix, "ks_bt_forward_4_" #P "_" #suffix },             \
            { "ks_bt_backward_1_" #P "_" #suffix, "ks_bt_backward_4_" #P "_" #suffix },           \
            "ks_bt_logdet_" #suffix                                                               \
    }
static const names table[] = {
    NAMES(4, f64, double), NAMES(8, f64, double), NAMES(16, f64, double), NAMES(32, f64, double),
    NAMES(4, f32, float),  NAMES(8, f32, float),  NAMES(16, f32, float),  NAMES(32, f32, float),
};

static ks_status find_all(ks_blocktri_cuda_plan *plan)
{
    static const char in_factor[] = "ks_bt_factor", in_solve[] = "ks_bt_solve";
    ks_bt_device_kernels *k = &plan->kernels;
    ks_gpu *gpu = plan->gpu;
    const names *called = table;
    if (plan->blocked) {
        ks_status found = ks_bt_blocked_find(plan);
        if (!found && plan->refine) found = ks_bt_refine_find(plan);
        if (found) return found;
    }
    const int own = !plan->blocked && !plan->by_schur;
    while ((called->padded != plan->padded && own) || called->number != plan->number) ++called;
    ks_status status = KS_OK;
    if (own) status = ks_gpu_find(gpu, &k->factor, in_factor, called->factor);
    if (own && !status) status = ks_gpu_find(gpu, &k->carry, in_factor, called->carry);
    for (int i = 0; i < 2 && own; ++i) {
        if (!status) status = ks_gpu_find(gpu, &k->forward[i], in_solve, called->forward[i]);
        if (!status) status = ks_gpu_find(gpu, &k->backward[i], in_solve, called->backward[i]);
    }
    if (!status) status = ks_gpu_find(gpu, &k->logdet, in_solve, called->logdet);
    if (!status) status = ks_gpu_find(gpu, &k->logdet_end, in_solve, "ks_bt_logdet_end");
    return status;
}

static ks_status device_memory(ks_blocktri_cuda_plan *plan, size_t factor, size_t scale)
{
    ks_gpu *gpu = plan->gpu;
    const size_t systems = (size_t)plan->systems;
    void *memory = NULL;
    ks_status status = ks_gpu_alloc(gpu, &plan->factor, factor);
    if (!status) status = ks_gpu_alloc(gpu, &memory, systems * sizeof *plan->failure);
    if (!status) plan->failure = memory;
    if (!status) status = ks_gpu_alloc(gpu, &memory, sums_bytes(plan->systems));
    if (!status) plan->sums = memory;
    if (!status) status = ks_gpu_alloc(gpu, &memory, systems * sizeof *plan->logdet);
    if (!status) plan->logdet = memory;
    if (!status) status = ks_gpu_host_alloc(gpu, &memory, systems * sizeof *plan->failure_host);
    if (!status) plan->failure_host = memory;
    if (!status) status = ks_gpu_host_alloc(gpu, &memory, systems * sizeof *plan->logdet_host);
    if (!status) plan->logdet_host = memory;
    memory = NULL;
    if (!status) status = ks_gpu_alloc(gpu, &memory, scale);
    if (!status) plan->scale = memory;
    if (!status && plan->refine) status = ks_gpu_alloc(gpu, &memory, sizeof *plan->state);
    if (!status && plan->refine) plan->state = memory;
    if (!status && plan->refine)
        status = ks_gpu_host_alloc(gpu, &memory, sizeof *plan->state_host);
    if (!status && plan->refine) plan->state_host = memory;
    if (!status) status = ks_gpu_stream_create(gpu, &plan->stream);
    return status;
}

static void lay_out(ks_blocktri_cuda_plan *plan)
{
    plan->levels = 1;
    while (plan->N >> plan->levels > 0) ++plan->levels;
    /* The tail begins where the lanes of one thread block do a level at once. */
    plan->tail = 0;
    while (plan->N >> plan->tail > KS_BT_THREADS / plan->padded) ++plan->tail;
}

ks_status ks_blocktri_cuda_plan_create(ks_blocktri_cuda_plan **out, ks_context *context, int64_t N,
                                       int n, const ks_blocktri_cuda_options *options)
{
    return ks_bt_plan_create(out, context, NULL, N, n, options);
}

ks_status ks_bt_plan_create(ks_blocktri_cuda_plan **out, ks_context *context, ks_gpu *gpu, int64_t N,
                            int n, const ks_blocktri_cuda_options *options)
{
    const ks_blocktri_cuda_options defaults = KS_BLOCKTRI_CUDA_OPTIONS_INIT;
    if (!out) return KS_EINVAL;
    *out = NULL;
    if (!options) options = &defaults;
    if (ks_blocktri_cuda_plan_invalid(N, n, options)) return KS_EINVAL;
    const size_t factor = factor_bytes(N, n, options);
    if (!factor) return KS_ENOMEM;

    ks_blocktri_cuda_plan *plan = ks_allocate(context, sizeof *plan);
    if (!plan) return KS_ENOMEM;
    memset(plan, 0, sizeof *plan);
    plan->context = context;
    plan->N = (int)N;
    plan->n = n;
    plan->systems = options->systems;
    plan->by_schur = by_schur(options);
    plan->blocked = !plan->by_schur && blocked(n, options);
    plan->refine = options->refine;
    plan->atomic = options->atomic;
    plan->padded = padded_order(n, options);
    plan->number = options->precision == KS_F64 ? sizeof(double) : sizeof(float);
    lay_out(plan);
    plan->gpu = gpu;
    plan->borrowed = gpu != NULL;
    ks_status status = gpu ? KS_OK : ks_gpu_open(&plan->gpu, context, options->device);
    if (!status) status = find_all(plan);
    if (!status) status = device_memory(plan, by_schur(options) ? 0 : factor, scale_bytes(N, n, options));
    if (!status && plan->blocked) status = ks_bt_blocked_create(plan, options);
    if (!status && by_schur(options)) status = ks_bt_schur_create(plan, options);
    if (status) {
        ks_blocktri_cuda_plan_destroy(plan);
        return status;
    }
    *out = plan;
    return KS_OK;
}

int ks_blocktri_cuda_plan_segments(const ks_blocktri_cuda_plan *plan) { return plan ? plan->segments : 0; }

int ks_blocktri_cuda_plan_together(const ks_blocktri_cuda_plan *plan)
{
    return plan && plan->blocked ? plan->rounds.count - plan->together : 0;
}

void ks_blocktri_cuda_plan_destroy(ks_blocktri_cuda_plan *plan)
{
    if (!plan) return;
    ks_gpu *gpu = plan->gpu;
    if (gpu) {
        for (int i = 0; i < KS_BT_WORK_KINDS; ++i)
            for (int g = 0; g < KS_BT_GRAPHS; ++g) ks_gpu_graph_destroy(gpu, plan->recorded[i][g].graph);
        /* cuBLAS and cuSOLVER hold the stream, and work in progress uses their memory. */
        if (plan->stream && ks_gpu_stream_sync(gpu, plan->stream) != KS_OK) (void)0;
        ks_bt_schur_destroy(plan);
        ks_gpu_stream_destroy(gpu, plan->stream);
        ks_bt_blocked_destroy(plan);
        ks_gpu_host_free(gpu, plan->state_host);
        ks_gpu_free(gpu, plan->state);
        ks_gpu_free(gpu, plan->scale);
        ks_gpu_host_free(gpu, plan->logdet_host);
        ks_gpu_host_free(gpu, plan->failure_host);
        ks_gpu_free(gpu, plan->logdet);
        ks_gpu_free(gpu, plan->sums);
        ks_gpu_free(gpu, plan->failure);
        ks_gpu_free(gpu, plan->factor);
    }
    if (!plan->borrowed) ks_gpu_close(gpu);
    ks_release(plan->context, plan);
}
