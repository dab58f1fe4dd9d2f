/* cuda_levels.c -- launches of the levels: wide ones spread over the device, the last few in one launch. */
#include "cuda_plan.h"

/* Launch a kernel for levels begin .. end - 1, with `chunks` groups of right-hand sides. */
static ks_status launch(const ks_blocktri_cuda_plan *plan, const ks_gpu_kernel *kernel, int factor,
                        const ks_bt_level_args *args, int survivors, int chunks)
{
    const int P = plan->padded, groups = KS_BT_THREADS / P;
    const size_t each = factor ? KS_BT_SHARED((size_t)P, plan->number, 1)
                               : KS_BT_SHARED((size_t)P, plan->number, 0);
    const int64_t left = plan->N >> args->begin;
    const int64_t tasks = survivors && args->begin > 0 ? left : (left + 1) / 2;
    const int64_t all = (int64_t)plan->systems * chunks;
    const int64_t blocks = args->end - args->begin > 1 ? all : (tasks * all + groups - 1) / groups;
    const ks_gpu_shape shape = { { (unsigned)blocks }, { KS_BT_THREADS }, each * (size_t)groups, 0 };
    return ks_gpu_launch(plan->gpu, kernel, &shape, args, sizeof *args, plan->stream);
}

/* Enqueue every level, upwards or downwards. The tail is one launch. */
static ks_status sweep(const ks_blocktri_cuda_plan *plan, const ks_gpu_kernel *kernel, int factor,
                       ks_bt_level_args args, int down, int chunks)
{
    ks_status status = KS_OK;
    for (int i = 0; i <= plan->tail && status == KS_OK; ++i) {
        args.begin = down ? plan->tail - i : i;
        args.end = args.begin == plan->tail ? plan->levels : args.begin + 1;
        status = launch(plan, kernel, factor, &args, !down, chunks);
    }
    return status;
}

ks_status ks_bt_enqueue(const ks_blocktri_cuda_plan *plan, ks_bt_work_kind kind,
                        const ks_bt_call *call)
{
    if (plan->schur) return ks_bt_schur_enqueue(plan, kind, call);
    if (plan->blocked) return ks_bt_blocked_enqueue(plan, kind, call);
    const ks_bt_device_kernels *k = &plan->kernels;
    const int carried = kind == KS_BT_FACTOR_SOLVE && call->nrhs == 1;
    const int several = call->nrhs > 1;
    const int chunks = several ? (call->nrhs + KS_BT_COLUMNS - 1) / KS_BT_COLUMNS : 1;
    const ks_bt_level_args args = { plan->N, plan->systems, plan->n, 0, 0, call->nrhs, call->D,
                                    call->L, plan->factor, call->b, call->x, plan->failure };
    ks_status status = KS_OK;
    if (kind != KS_BT_SOLVE) {
        status = ks_gpu_fill(plan->gpu, plan->failure, 0xff,
                             (size_t)plan->systems * sizeof *plan->failure, plan->stream);
        if (status == KS_OK) status = sweep(plan, carried ? k->carry : k->factor, 1, args, 0, 1);
    }
    if (status == KS_OK && kind != KS_BT_FACTORIZE && !carried)
        status = sweep(plan, k->forward[several], 0, args, 0, chunks);
    if (status == KS_OK && kind != KS_BT_FACTORIZE)
        status = sweep(plan, k->backward[several], 0, args, 1, chunks);
    return status;
}

/* Most systems whose logarithms are summed at once. Their thread blocks are more than a device runs at once, and fewer
 * than a grid may have. */
enum { SUMMED = 32 };

ks_status ks_bt_enqueue_logdet(const ks_blocktri_cuda_plan *plan, ks_gpu_stream *stream)
{
    const ks_bt_logdet_args args = { plan->N, plan->systems, plan->n, plan->padded, plan->factor,
                                     plan->scale, plan->sums, plan->logdet };
    const unsigned at_once = plan->systems < SUMMED ? (unsigned)plan->systems : SUMMED;
    const ks_gpu_shape wide = { { at_once * KS_BT_SUMS }, { KS_BT_THREADS }, 0, 0 };
    const ks_gpu_shape narrow = { { ((unsigned)plan->systems + KS_BT_THREADS - 1) / KS_BT_THREADS },
                                  { KS_BT_THREADS }, 0, 0 };
    ks_status status = plan->schur ? ks_bt_schur_enqueue_logdet(plan, stream)
                                   : ks_gpu_launch(plan->gpu, plan->kernels.logdet, &wide, &args,
                                                   sizeof args, stream);
    if (status == KS_OK)
        status = ks_gpu_launch(plan->gpu, plan->kernels.logdet_end, &narrow, &args, sizeof args,
                               stream);
    return status;
}
