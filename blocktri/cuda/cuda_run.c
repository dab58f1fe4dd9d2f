/* cuda_run.c -- calls of a plan on a device: check arguments, capture graphs, copy results back. */
#include <limits.h>
#include <string.h>
#include "cuda_plan.h"
#include "reach.h"

/* Larger strides would overflow when an address is computed. */
static int reasonable(int64_t stride, int64_t count)
{
    return stride >= 0 && stride <= INT64_MAX / 32 / (count > 0 ? count : 1);
}

/* Bytes of a number of matrices and right-hand sides. */
static size_t given(const ks_blocktri_cuda_plan *plan) { return plan->refine ? sizeof(double) : plan->number; }

/* Whether `count` blocks of `size` elements in each system may be read. */
static int valid_input(const ks_blocktri_cuda_plan *plan, const ks_cuda_const_blocks *blocks,
                       int64_t count, int64_t size)
{
    if (count == 0) return 1;
    return blocks->data && ks_is_aligned(blocks->data, given(plan)) &&
           (plan->systems == 1 || reasonable(blocks->system_stride, plan->systems)) &&
           (count == 1 ||
            (reasonable(blocks->stride, count) && (blocks->stride == 0 || blocks->stride >= size)));
}

/* Whether they may be written: no two overlap. Either each system lies before the next one, or blocks k of all systems
 * lie before blocks k + 1. */
static int valid_output(const ks_blocktri_cuda_plan *plan, const ks_cuda_blocks *blocks, size_t number, int64_t count,
                        int64_t size)
{
    const int64_t inner = blocks->stride, outer = blocks->system_stride;
    const int64_t systems = plan->systems;
    if (!blocks->data || !ks_is_aligned(blocks->data, number)) return 0;
    if (count > 1 && (!reasonable(inner, count) || inner < size)) return 0;
    if (systems == 1) return 1;
    if (!reasonable(outer, systems) || outer < size) return 0;
    return count == 1 || outer >= (count - 1) * inner + size || inner >= (systems - 1) * outer + size;
}

static ks_bt_out output(const ks_blocktri_cuda_plan *plan, const ks_cuda_blocks *blocks)
{
    const ks_bt_out out = { blocks->data, blocks->stride, plan->systems > 1 ? blocks->system_stride : 0 };
    return out;
}

static ks_bt_in input(const ks_blocktri_cuda_plan *plan, const ks_cuda_const_blocks *blocks)
{
    const ks_bt_in in = { blocks->data, blocks->stride, plan->systems > 1 ? blocks->system_stride : 0 };
    return in;
}

/* Whether the kernels can number the pieces of work with ints. */
static int countable(const ks_blocktri_cuda_plan *plan, int nrhs)
{
    const int64_t blocks = (int64_t)plan->N * plan->systems;
    const int64_t chunks = ((int64_t)nrhs + KS_BT_COLUMNS - 1) / KS_BT_COLUMNS;
    return chunks * (plan->blocked ? ks_bt_tiles(plan->padded) : 1) <= INT_MAX / 2 / blocks;
}

ks_status ks_bt_check_sides(const ks_blocktri_cuda_plan *plan, int nrhs, const ks_cuda_const_blocks *b,
                            const ks_cuda_blocks *x, ks_bt_call *call)
{
    const int64_t size = (int64_t)plan->n * nrhs;
    if (nrhs < 1 || !valid_input(plan, b, plan->N, size) || !valid_output(plan, x, given(plan), plan->N, size) ||
        (b->data == x->data && ((plan->N > 1 && b->stride != x->stride) ||
                                (plan->systems > 1 && b->system_stride != x->system_stride))))
        return KS_EINVAL;
    if (!countable(plan, nrhs)) return KS_ENOMEM;
    call->nrhs = nrhs;
    call->b = input(plan, b);
    call->x = output(plan, x);
    return KS_OK;
}

ks_status ks_bt_check_matrix(const ks_blocktri_cuda_plan *plan, const ks_cuda_const_blocks *D,
                             const ks_cuda_const_blocks *L, ks_bt_call *call)
{
    const int64_t size = (int64_t)plan->n * plan->n;
    if (!valid_input(plan, D, plan->N, size) || !valid_input(plan, L, plan->N - 1, size))
        return KS_EINVAL;
    call->D = input(plan, D);
    call->L = input(plan, L);
    return KS_OK;
}

static int same_in(const ks_bt_in *a, const ks_bt_in *b)
{
    return a->data == b->data && a->stride == b->stride && a->system == b->system;
}

static int same_out(const ks_bt_out *a, const ks_bt_out *b)
{
    return a->data == b->data && a->stride == b->stride && a->system == b->system;
}

static int same(const ks_bt_call *a, const ks_bt_call *b)
{
    return same_in(&a->D, &b->D) && same_in(&a->L, &b->L) && same_in(&a->b, &b->b) &&
           same_out(&a->x, &b->x) && same_out(&a->S, &b->S) && same_out(&a->lag, &b->lag) &&
           a->nrhs == b->nrhs && a->work == b->work && a->idle == b->idle && a->most == b->most &&
           !(a->tolerance < b->tolerance || a->tolerance > b->tolerance);
}

/* Enqueue a call in a stream. */
static ks_status put(const ks_blocktri_cuda_plan *plan, ks_bt_work_kind kind, const ks_bt_call *call,
                     ks_gpu_stream *stream)
{
    ks_blocktri_cuda_plan here = *plan;
    here.stream = stream;
    return plan->refine ? ks_bt_refine_enqueue(&here, kind, call) : ks_bt_enqueue(&here, kind, call);
}

/* Capture a graph of a call, in place of that graph of its kind which was not used for longest. */
static ks_status record(ks_blocktri_cuda_plan *plan, ks_bt_work_kind kind, const ks_bt_call *call)
{
    ks_bt_recorded *recorded = &plan->recorded[kind][KS_BT_GRAPHS - 1];
    ks_gpu_graph *graph = NULL;
    ks_gpu_graph_destroy(plan->gpu, recorded->graph);
    recorded->graph = NULL;
    ks_status status = ks_gpu_capture_begin(plan->gpu, plan->stream);
    if (status) return status;
    const ks_status inside = put(plan, kind, call, plan->stream);
    status = ks_gpu_capture_end(plan->gpu, &graph, plan->stream);
    if (inside) {
        if (!status) ks_gpu_graph_destroy(plan->gpu, graph);
        return inside;
    }
    if (status) return status;
    recorded->graph = graph;
    recorded->call = *call;
    return KS_OK;
}

/* Make the graph of a call the first of its kind. Returns NULL if there is none. */
static ks_gpu_graph *recorded_of(ks_blocktri_cuda_plan *plan, ks_bt_work_kind kind, const ks_bt_call *call)
{
    ks_bt_recorded *const first = plan->recorded[kind];
    for (int g = 0; g < KS_BT_GRAPHS; ++g) {
        if (!first[g].graph || !same(&first[g].call, call)) continue;
        const ks_bt_recorded found = first[g];
        memmove(first + 1, first, (size_t)g * sizeof *first);
        first[0] = found;
        return found.graph;
    }
    return NULL;
}

static ks_gpu_stream *stream_of(const ks_blocktri_cuda_plan *plan, void *stream)
{
    return stream ? (ks_gpu_stream *)stream : plan->stream;
}

ks_status ks_bt_perform(ks_blocktri_cuda_plan *plan, ks_bt_work_kind kind, const ks_bt_call *call,
                        void *stream)
{
    ks_gpu_stream *const where = stream_of(plan, stream);
    int direct = plan->schur && ks_bt_schur_direct(plan->schur, kind, call);
    ks_gpu_graph *graph = direct ? NULL : recorded_of(plan, kind, call);
    ks_status status = KS_OK;
    if (!direct && !graph) {
        status = record(plan, kind, call);
        graph = recorded_of(plan, kind, call);
    }
    if (status && plan->schur) direct = plan->schur->uncapturable = 1;
    if (direct) status = put(plan, kind, call, where);
    else if (!status) status = ks_gpu_graph_launch(plan->gpu, graph, where);
    if (!status) plan->factored = 1;
    return status;
}

ks_status ks_blocktri_cuda_factorize(ks_blocktri_cuda_plan *plan, ks_cuda_const_blocks D,
                                     ks_cuda_const_blocks L, void *stream)
{
    ks_bt_call call = { 0 };
    if (!plan || ks_bt_check_matrix(plan, &D, &L, &call)) return KS_EINVAL;
    return ks_bt_perform(plan, KS_BT_FACTORIZE, &call, stream);
}

ks_status ks_blocktri_cuda_solve(ks_blocktri_cuda_plan *plan, int nrhs, ks_cuda_const_blocks b,
                                 ks_cuda_blocks x, void *stream)
{
    ks_bt_call call = { 0 };
    if (!plan || !plan->factored || plan->refine) return KS_EINVAL;
    const ks_status status = ks_bt_check_sides(plan, nrhs, &b, &x, &call);
    return status ? status : ks_bt_perform(plan, KS_BT_SOLVE, &call, stream);
}

ks_status ks_blocktri_cuda_factor_solve(ks_blocktri_cuda_plan *plan, ks_cuda_const_blocks D,
                                        ks_cuda_const_blocks L, int nrhs, ks_cuda_const_blocks b,
                                        ks_cuda_blocks x, void *stream)
{
    ks_bt_call call = { 0 };
    if (!plan || plan->refine || ks_bt_check_matrix(plan, &D, &L, &call)) return KS_EINVAL;
    const ks_status status = ks_bt_check_sides(plan, nrhs, &b, &x, &call);
    return status ? status : ks_bt_perform(plan, KS_BT_FACTOR_SOLVE, &call, stream);
}

size_t ks_blocktri_cuda_inverse_bytes(const ks_blocktri_cuda_plan *plan)
{
    if (!plan || !plan->blocked) return 0;
    const size_t block = (size_t)plan->padded * (size_t)plan->padded * plan->number;
    const size_t blocks = 3 * (size_t)plan->N + 3 * (((size_t)plan->N + 1) / 2);
    return blocks * (size_t)plan->systems * block;
}

ks_status ks_blocktri_cuda_inverse_blocks(ks_blocktri_cuda_plan *plan, ks_cuda_blocks diagonal,
                                          ks_cuda_blocks lag, void *work, void *stream)
{
    ks_bt_call call = { 0 };
    if (!plan || !plan->factored || !work || (uintptr_t)work % 16) return KS_EINVAL;
    if (!plan->blocked) return KS_EUNAVAILABLE;
    const int64_t size = (int64_t)plan->n * plan->n;
    if (!valid_output(plan, &diagonal, plan->number, plan->N, size) ||
        (lag.data && plan->N > 1 && !valid_output(plan, &lag, plan->number, plan->N - 1, size)))
        return KS_EINVAL;
    call.S = output(plan, &diagonal);
    if (lag.data && plan->N > 1) call.lag = output(plan, &lag);
    call.work = work;
    return ks_bt_perform(plan, KS_BT_INVERSE, &call, stream);
}

/* Report the lowest system that failed, if any. */
static ks_status judge(const ks_blocktri_cuda_plan *plan, ks_blocktri_cuda_info *info)
{
    for (int s = 0; s < plan->systems; ++s) {
        const unsigned long long key = plan->failure_host[s];
        if (key == ~0ull) continue;
        info->system = s;
        info->block = KS_BT_FAILURE_BLOCK(key);
        info->pivot = KS_BT_FAILURE_PIVOT(key);
        return KS_ENOTPD;
    }
    return KS_OK;
}

ks_status ks_blocktri_cuda_wait(ks_blocktri_cuda_plan *plan, ks_blocktri_cuda_info *info,
                                void *stream)
{
    ks_blocktri_cuda_info said = KS_BLOCKTRI_CUDA_INFO_INIT;
    if (info && info->size != sizeof *info) return KS_EINVAL;
    if (info) *info = said;
    if (!plan) return info ? info->status = KS_EINVAL : KS_EINVAL;
    ks_gpu_stream *const where = stream_of(plan, stream);
    ks_status status = KS_OK;
    if (plan->factored && plan->schur)
        status = ks_gpu_copy_out(plan->gpu, plan->schur->info_host, plan->schur->info,
                                 (size_t)plan->N * sizeof(int), where);
    else if (plan->factored)
        status = ks_gpu_copy_out(plan->gpu, plan->failure_host, plan->failure,
                                 (size_t)plan->systems * sizeof *plan->failure, where);
    const ks_status waited = ks_gpu_stream_sync(plan->gpu, where);
    if (!status) status = waited;
    if (!status && plan->factored) status = plan->schur ? ks_bt_schur_judge(plan, &said) : judge(plan, &said);
    said.status = status;
    if (info) *info = said;
    return status;
}

ks_status ks_blocktri_cuda_logdet(ks_blocktri_cuda_plan *plan, double *logdet, void *stream)
{
    if (!plan || !logdet || !plan->factored) return KS_EINVAL;
    ks_gpu_stream *const where = stream_of(plan, stream);
    const size_t bytes = (size_t)plan->systems * sizeof *logdet;
    ks_status status = ks_bt_enqueue_logdet(plan, where);
    if (!status)
        status = ks_gpu_copy_out(plan->gpu, plan->logdet_host, plan->logdet, bytes, where);
    const ks_status waited = ks_gpu_stream_sync(plan->gpu, where);
    if (!status) status = waited;
    if (!status) memcpy(logdet, plan->logdet_host, bytes);
    return status;
}

ks_status ks_blocktri_cuda_alloc(ks_blocktri_cuda_plan *plan, void **out, size_t bytes)
{
    if (!out) return KS_EINVAL;
    *out = NULL;
    return plan ? ks_gpu_alloc(plan->gpu, out, bytes) : KS_EINVAL;
}

void ks_blocktri_cuda_free(ks_blocktri_cuda_plan *plan, void *memory)
{
    if (plan) ks_gpu_free(plan->gpu, memory);
}

ks_status ks_blocktri_cuda_upload(ks_blocktri_cuda_plan *plan, void *device, const void *host,
                                  size_t bytes)
{
    if (!plan || (bytes && (!device || !host))) return KS_EINVAL;
    const ks_status status = ks_gpu_copy_in(plan->gpu, device, host, bytes, plan->stream);
    const ks_status waited = ks_gpu_stream_sync(plan->gpu, plan->stream);
    return status ? status : waited;
}

ks_status ks_blocktri_cuda_download(ks_blocktri_cuda_plan *plan, void *host, const void *device,
                                    size_t bytes)
{
    if (!plan || (bytes && (!device || !host))) return KS_EINVAL;
    const ks_status status = ks_gpu_copy_out(plan->gpu, host, device, bytes, plan->stream);
    const ks_status waited = ks_gpu_stream_sync(plan->gpu, plan->stream);
    return status ? status : waited;
}
