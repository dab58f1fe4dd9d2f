/* cuda_plan.h -- what a plan on a device holds. */
#ifndef KS_BLOCKTRI_CUDA_PLAN_H
#define KS_BLOCKTRI_CUDA_PLAN_H

#include "gpu/gpu.h"
#include "kalscan/blocktri_cuda.h"
#include "ks_bt_level.h"

/** What one graph does. */
typedef enum ks_bt_work_kind { KS_BT_FACTORIZE, KS_BT_SOLVE, KS_BT_FACTOR_SOLVE } ks_bt_work_kind;

/** A call's arguments, as a graph was made for them. */
typedef struct ks_bt_call {
    ks_bt_in D, L, b;
    ks_bt_out x;
    int nrhs;
} ks_bt_call;

/** A graph that is launched again as long as the arguments stay. */
typedef struct ks_bt_recorded {
    ks_gpu_graph *graph;
    ks_bt_call call;
} ks_bt_recorded;

typedef struct ks_bt_device_kernels {
    const ks_gpu_kernel *factor, *carry;
    const ks_gpu_kernel *forward[2], *backward[2]; /* of one right-hand side, of KS_BT_COLUMNS */
    const ks_gpu_kernel *logdet, *logdet_end;
} ks_bt_device_kernels;

struct ks_blocktri_cuda_plan {
    ks_context *context;
    ks_gpu *gpu;
    ks_gpu_stream *stream;
    int N, n, systems, padded;
    size_t number;               /* bytes of one                                                */
    int levels;                  /* until one block is left                                     */
    int tail;                    /* from here on, one block of the grid does all of a system    */
    int factored;
    void *factor;                /* (systems, N, 3, padded, padded)                             */
    unsigned long long *failure; /* (systems), on the device; next, its copy on the host        */
    unsigned long long *failure_host;
    double *sums, *logdet, *logdet_host;
    ks_bt_device_kernels kernels;
    ks_bt_recorded recorded[3];
};

/** The order that blocks of order n are padded to, 0 where there is no kernel. */
static inline int ks_bt_padded(int n) { return n <= 4 ? 4 : n <= 8 ? 8 : n <= 16 ? 16 : n <= 32 ? 32 : 0; }

/** Put the kernels of a call into the plan's stream. */
ks_status ks_bt_enqueue(const ks_blocktri_cuda_plan *plan, ks_bt_work_kind kind,
                        const ks_bt_call *call);

/** Put the log-determinants into a stream. */
ks_status ks_bt_enqueue_logdet(const ks_blocktri_cuda_plan *plan, ks_gpu_stream *stream);

#endif
