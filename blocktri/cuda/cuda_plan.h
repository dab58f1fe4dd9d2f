/* cuda_plan.h -- the plan of a block-tridiagonal system on a device. */
#ifndef KS_BLOCKTRI_CUDA_PLAN_H
#define KS_BLOCKTRI_CUDA_PLAN_H

#include "cuda_rounds.h"
#include "cuda_schur.h"
#include "gpu/gpu.h"
#include "kalscan/blocktri_cuda.h"
#include "ks_bt_blocked.h"
#include "ks_bt_refine.h"

/** Kinds of work; each has a graph. */
typedef enum ks_bt_work_kind {
    KS_BT_FACTORIZE, KS_BT_SOLVE, KS_BT_FACTOR_SOLVE, KS_BT_INVERSE, KS_BT_REFINE_START,
    KS_BT_REFINE_STEP, KS_BT_WORK_KINDS
} ks_bt_work_kind;

/** The arguments of a call, for which a graph is captured. */
typedef struct ks_bt_call {
    ks_bt_in D, L, b;
    ks_bt_out x;
    int nrhs;
    ks_bt_out S, lag;            /* blocks of the inverse */
    void *work;
    double tolerance;            /* of a refinement, and its most steps */
    int most;
    const int32_t *idle;         /* see ks_bt_blocked_args */
} ks_bt_call;

/** A graph, which is launched again for the same arguments. KS_BT_GRAPHS of each kind are kept: right-hand sides may
 *  lie in two places in turns. */
enum { KS_BT_GRAPHS = 2 };
typedef struct ks_bt_recorded {
    ks_gpu_graph *graph;
    ks_bt_call call;
} ks_bt_recorded;

typedef struct ks_bt_device_kernels {
    const ks_gpu_kernel *factor, *carry;
    const ks_gpu_kernel *forward[2], *backward[2]; /* for one right-hand side, for KS_BT_COLUMNS */
    const ks_gpu_kernel *logdet, *logdet_end;
} ks_bt_device_kernels;

/** Kernels for large blocks; 0: few right-hand sides at once, 1: many. */
typedef struct ks_bt_blocked_kernels {
    const ks_gpu_kernel *begin, *column, *clear, *push, *last;
    const ks_gpu_kernel *collect[2], *forward[2], *give[2], *backward[2];
    const ks_gpu_kernel *gain, *cross, *middle, *deliver;
} ks_bt_blocked_kernels;

/** Kernels of refinement. */
typedef struct ks_bt_refine_kernels {
    const ks_gpu_kernel *scale, *start, *residual, *shares, *squares, *norms, *units, *narrow, *add, *judge;
} ks_bt_refine_kernels;

struct ks_blocktri_cuda_plan {
    ks_context *context;
    ks_gpu *gpu;
    int borrowed;                /* gpu belongs to another plan, which outlives this one */
    ks_gpu_stream *stream;
    int N, n, systems, padded;
    size_t number;               /* bytes of a number */
    int levels;                  /* until one block is left */
    int tail;                    /* from this level on one thread block does all of a system */
    int factored;
    void *factor;                /* (systems, N, 3, padded, padded) */
    unsigned long long *failure; /* (systems), on the device; next, its copy on the host */
    unsigned long long *failure_host;
    double *sums, *logdet, *logdet_host;
    int blocked;                 /* in tiles (ks_bt_blocked.h), else in lanes (ks_bt_level.h) */
    ks_bt_device_kernels kernels;
    ks_bt_blocked_kernels tiled;
    ks_bt_rounds rounds, on_device; /* of large blocks, on the host and on the device */
    int atomic;                  /* terms are pushed; see ks_bt_blocked_args */
    int segments;                /* of a partition; 0: another order */
    int together;                /* from this round on one launch does all */
    int grid;                    /* most thread blocks of such a launch */
    ks_gpu_stream *side;         /* of the rounds that may run beside others, or NULL */
    ks_gpu_event *forked, *joined;
    int refine;                  /* the matrix is in double, the factor of S A S in single */
    double *scale;               /* (systems, N, n): S; NULL without refinement */
    ks_bt_refine_state *state, *state_host; /* of a refinement */
    ks_bt_refine_kernels refinement;
    int by_schur;                /* the order is recursive-schur; `schur` has its data */
    ks_bt_schur *schur;
    ks_bt_recorded recorded[KS_BT_WORK_KINDS][KS_BT_GRAPHS]; /* of each kind the last used one first */
};

/** Return the order that blocks of order n are padded to if lanes work on them, 0 beyond 32. */
static inline int ks_bt_padded(int n) { return n <= 4 ? 4 : n <= 8 ? 8 : n <= 16 ? 16 : n <= 32 ? 32 : 0; }

/** Return the order that they are padded to if they are worked on in tiles. */
static inline int ks_bt_padded_tiles(int n) { return (n + KS_BT_STEP - 1) / KS_BT_STEP * KS_BT_STEP; }

/** Return the tiles in a row. */
static inline int ks_bt_tiles(int padded) { return (padded + KS_BT_TILE - 1) / KS_BT_TILE; }

/** Find the kernels for large blocks. */
ks_status ks_bt_blocked_find(ks_blocktri_cuda_plan *plan);

/** Create the order of large blocks, on the host and on the device, and what its launches need. ks_bt_blocked_destroy()
 *  frees them, also after a failure. */
ks_status ks_bt_blocked_create(ks_blocktri_cuda_plan *plan, const ks_blocktri_cuda_options *o);
void ks_bt_blocked_destroy(ks_blocktri_cuda_plan *plan);

/** Enqueue a call on large blocks in the plan's stream. */
ks_status ks_bt_blocked_enqueue(const ks_blocktri_cuda_plan *plan, ks_bt_work_kind kind,
                                const ks_bt_call *call);

/** Enqueue a call in the plan's stream. */
ks_status ks_bt_enqueue(const ks_blocktri_cuda_plan *plan, ks_bt_work_kind kind,
                        const ks_bt_call *call);

/** Find the kernels of refinement. */
ks_status ks_bt_refine_find(ks_blocktri_cuda_plan *plan);

/** Enqueue the scaling of the matrix and a factorization, or a part of a refinement, in the plan's stream. */
ks_status ks_bt_refine_enqueue(const ks_blocktri_cuda_plan *plan, ks_bt_work_kind kind,
                               const ks_bt_call *call);

/** Launch the graph of a call, which is captured if its arguments are not those of one of the last KS_BT_GRAPHS calls
 *  of its kind. They have been checked. */
ks_status ks_bt_perform(ks_blocktri_cuda_plan *plan, ks_bt_work_kind kind, const ks_bt_call *call,
                        void *stream);

/** Check the matrix, or the right-hand sides, of a call and store them in it. Errors: KS_EINVAL, and KS_ENOMEM for too
 *  many right-hand sides. */
ks_status ks_bt_check_matrix(const ks_blocktri_cuda_plan *plan, const ks_cuda_const_blocks *D,
                             const ks_cuda_const_blocks *L, ks_bt_call *call);
ks_status ks_bt_check_sides(const ks_blocktri_cuda_plan *plan, int nrhs, const ks_cuda_const_blocks *b,
                            const ks_cuda_blocks *x, ks_bt_call *call);

/** Recursive Schur complements: bytes of device memory; create and destroy (also after a failure); enqueue a call;
 *  enqueue the sums of a log-determinant. ks_bt_schur_judge() reports the block that failed, from schur->info_host. */
size_t ks_bt_schur_bytes(int64_t N, int n, const ks_blocktri_cuda_options *o);
ks_status ks_bt_schur_create(ks_blocktri_cuda_plan *plan, const ks_blocktri_cuda_options *o);
void ks_bt_schur_destroy(ks_blocktri_cuda_plan *plan);
ks_status ks_bt_schur_enqueue(const ks_blocktri_cuda_plan *plan, ks_bt_work_kind kind,
                              const ks_bt_call *call);
ks_status ks_bt_schur_enqueue_logdet(const ks_blocktri_cuda_plan *plan, ks_gpu_stream *stream);
/** Whether a call is enqueued without a graph. The first call of its kind with so many right-hand sides is, because the
 *  libraries may then allocate memory and load code, which no capture allows. So are all calls if the libraries cannot
 *  be captured. */
int ks_bt_schur_direct(ks_bt_schur *s, ks_bt_work_kind kind, const ks_bt_call *call);
ks_status ks_bt_schur_judge(const ks_blocktri_cuda_plan *plan, ks_blocktri_cuda_info *info);

/** Return the steps of a level, and how many of its blocks step j eliminates. */
int ks_bt_schur_steps(const ks_bt_schur *s, const ks_bt_schur_level *level);
int ks_bt_schur_active(const ks_bt_schur *s, const ks_bt_schur_level *level, int j);

/** Return what ks_blocktri_cuda_inverse_bytes() will say of a plan; 0 if it would overflow. */
size_t ks_bt_inverse_bytes(int64_t N, int n, const ks_blocktri_cuda_options *o);

/** ks_blocktri_cuda_plan_create() on a device that is already open, or, if gpu is NULL, on options->device. */
ks_status ks_bt_plan_create(ks_blocktri_cuda_plan **out, ks_context *context, ks_gpu *gpu, int64_t N,
                            int n, const ks_blocktri_cuda_options *options);

/** Enqueue the log-determinants in a stream. */
ks_status ks_bt_enqueue_logdet(const ks_blocktri_cuda_plan *plan, ks_gpu_stream *stream);

#endif
