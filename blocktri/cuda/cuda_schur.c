/* cuda_schur.c -- recursive Schur complements on a device: batched calls, which one graph contains. */
#include "cuda_plan.h"

/* A step of a level, and where its matrices are. */
typedef struct step {
    const ks_blocktri_cuda_plan *plan;
    const ks_bt_schur *s;
    const ks_bt_schur_level *level;
    int j, at;          /* at: its first pointer */
    int active, going;  /* segments with a block here; those of them with a next one */
    int64_t size;       /* of a block */
} step;

static void *element(const step *t, void *base, int64_t block, int64_t size)
{
    return (char *)base + (size_t)(block * size) * t->plan->number;
}

/* Return block `own` of the level in D. */
static void *in_D(const step *t, int64_t own)
{
    return element(t, t->s->memory, (own + 1) * t->level->stride - 1, t->size);
}

static ks_gpu_gemm product(const step *t, int m, int count, double alpha)
{
    const int n = t->plan->n;
    const ks_gpu_gemm g = { 0, 0, n, m, n, alpha, 0, NULL, NULL, NULL, 0, 0, 0, count };
    return g;
}

static ks_status multiply(const step *t, const ks_gpu_gemm *g)
{
    return g->count > 0 ? ks_gpu_multiply(t->s->blas, g, t->plan->stream) : KS_OK;
}

static ks_status divide(const step *t, ks_gpu_trsm_kind kind, int m, void **what, int first, int count)
{
    return count > 0 ? ks_gpu_trsm(t->s->blas, kind, t->plan->n, m, t->s->of_D + t->at + first,
                                   what + t->at + first, count, t->plan->stream)
                     : KS_OK;
}

/* Return Y of block j of segment i. For the first block it is the coupling of the separator before. */
static void *in_Y(const step *t, int i, int j)
{
    const int64_t own = (int64_t)i * t->s->spacing + j;
    return element(t, t->level->Y, j == 0 ? own - 1 : own, t->size);
}

/* L L' = D; Y <- L^-1 Y; W <- A L^-T. Then update the next block, the separator before, and the coupling of both. */
static ks_status eliminate(const step *t)
{
    const int n = t->plan->n;
    const int64_t m = t->s->spacing, apart = m * t->size, apart_D = apart * t->level->stride;
    ks_status status = ks_gpu_potrf(t->s->blas, n, t->s->of_D + t->at, t->s->info + t->at, t->active,
                                    t->plan->stream);
    if (!status) status = divide(t, KS_TRSM_FORWARD, n, t->s->of_Y, 1, t->active - 1);
    if (!status) status = divide(t, KS_TRSM_ROWS, n, t->s->of_L, 0, t->going);
    ks_gpu_gemm g = product(t, n, t->going, -1);
    g.b_transposed = 1;
    g.A = g.B = element(t, t->level->L, t->j, t->size);
    g.C = in_D(t, t->j + 1);
    g.a_stride = g.b_stride = apart;
    g.c_stride = apart_D;
    if (!status) status = multiply(t, &g);
    if (t->active < 2) return status;
    g = product(t, n, t->active - 1, -1);
    g.a_transposed = 1;
    g.A = g.B = in_Y(t, 1, t->j);
    g.C = in_D(t, m - 1);
    g.a_stride = g.b_stride = apart;
    g.c_stride = apart_D;
    if (!status) status = multiply(t, &g);
    /* A separator follows the last block. Its coupling with the separator before belongs to the next level, and is
     * needed there both as L and as Y. */
    const int last = t->j + 1 == m - 1;
    g = product(t, n, t->going - 1, -1);
    g.fresh = 1;
    g.A = element(t, t->level->L, m + t->j, t->size);
    g.B = in_Y(t, 1, t->j);
    g.a_stride = g.b_stride = apart;
    g.c_stride = last ? t->size : apart;
    for (int copy = 0; copy < (last ? 2 : 1) && !status; ++copy) {
        g.C = !last ? in_Y(t, 1, t->j + 1) : copy ? t->level[1].Y : t->level[1].L;
        status = multiply(t, &g);
    }
    return status;
}

/* Call work() for every step of every level, forward or backward. */
static ks_status walk(const ks_blocktri_cuda_plan *plan, int down, const ks_bt_call *call,
                      ks_status (*work)(const step *, const ks_bt_call *))
{
    const ks_bt_schur *s = plan->schur;
    ks_status status = KS_OK;
    for (int i = 0; i < s->levels && !status; ++i) {
        const ks_bt_schur_level *level = &s->level[down ? s->levels - 1 - i : i];
        const int steps = ks_bt_schur_steps(s, level);
        int at = level->first;
        for (int j = 0; down && j < steps; ++j) at += ks_bt_schur_active(s, level, j);
        for (int k = 0; k < steps && !status; ++k) {
            const int j = down ? steps - 1 - k : k, active = ks_bt_schur_active(s, level, j);
            const int going = active - (j + 1 == level->tail);
            if (down) at -= active;
            const step t = { plan, s, level, j, at, active, going, (int64_t)plan->n * plan->n };
            status = work(&t, call);
            if (!down) at += active;
        }
    }
    return status;
}

static ks_status eliminate_step(const step *t, const ks_bt_call *call)
{
    (void)call;
    return eliminate(t);
}

static void *in_x(const step *t, const ks_bt_call *call, int64_t own)
{
    return element(t, call->x.data, (own + 1) * t->level->stride - 1, call->x.stride);
}

/* y <- L^-1 x; then subtract W y from the next block and Y' y from the separator before. */
static ks_status forward_step(const step *t, const ks_bt_call *call)
{
    const int nrhs = call->nrhs;
    const int64_t m = t->s->spacing, apart = m * t->size, apart_x = m * t->level->stride * call->x.stride;
    ks_status status = divide(t, KS_TRSM_FORWARD, nrhs, t->s->of_x, 0, t->active);
    ks_gpu_gemm g = product(t, nrhs, t->going, -1);
    g.A = element(t, t->level->L, t->j, t->size);
    g.B = in_x(t, call, t->j);
    g.C = in_x(t, call, t->j + 1);
    g.a_stride = apart;
    g.b_stride = g.c_stride = apart_x;
    if (!status) status = multiply(t, &g);
    if (t->active < 2) return status;
    g.count = t->active - 1;
    g.a_transposed = 1;
    g.A = in_Y(t, 1, t->j);
    g.B = in_x(t, call, m + t->j);
    g.C = in_x(t, call, m - 1);
    return status ? status : multiply(t, &g);
}

/* y <- y - W' x of the next block - Y x of the separator before; x <- L^-T y. */
static ks_status backward_step(const step *t, const ks_bt_call *call)
{
    const int nrhs = call->nrhs;
    const int64_t m = t->s->spacing, apart = m * t->size, apart_x = m * t->level->stride * call->x.stride;
    ks_gpu_gemm g = product(t, nrhs, t->going, -1);
    g.a_transposed = 1;
    g.A = element(t, t->level->L, t->j, t->size);
    g.B = in_x(t, call, t->j + 1);
    g.C = in_x(t, call, t->j);
    g.a_stride = apart;
    g.b_stride = g.c_stride = apart_x;
    ks_status status = multiply(t, &g);
    if (t->active > 1) {
        g.count = t->active - 1;
        g.a_transposed = 0;
        g.A = in_Y(t, 1, t->j);
        g.B = in_x(t, call, m - 1);
        g.C = in_x(t, call, m + t->j);
        if (!status) status = multiply(t, &g);
    }
    return status ? status : divide(t, KS_TRSM_BACKWARD, nrhs, t->s->of_x, 0, t->active);
}

static ks_bt_schur_args args_of(const ks_blocktri_cuda_plan *plan, const ks_bt_call *call)
{
    const ks_bt_schur *s = plan->schur;
    const ks_bt_schur_args args = { plan->N, plan->n, call->nrhs, call->D, call->L, call->b, call->x,
                                    s->memory, s->level[0].L, s->level[0].Y, s->blocks, s->of_x,
                                    plan->sums, plan->logdet };
    return args;
}

static ks_status launch(const ks_blocktri_cuda_plan *plan, const ks_gpu_kernel *kernel, unsigned blocks,
                        const ks_bt_schur_args *args, ks_gpu_stream *stream)
{
    const ks_gpu_shape shape = { { blocks }, { KS_BT_THREADS }, 0, 0 };
    return ks_gpu_launch(plan->gpu, kernel, &shape, args, sizeof *args, stream);
}

ks_status ks_bt_schur_enqueue(const ks_blocktri_cuda_plan *plan, ks_bt_work_kind kind,
                              const ks_bt_call *call)
{
    enum { BLOCKS = 2048 }; /* most thread blocks of a copy */
    const int64_t numbers = (int64_t)plan->N * plan->n * plan->n / KS_BT_THREADS + 1;
    const unsigned blocks = numbers < BLOCKS ? (unsigned)numbers : BLOCKS;
    const ks_bt_schur_args args = args_of(plan, call);
    ks_status status = KS_OK;
    if (kind != KS_BT_SOLVE) {
        status = launch(plan, plan->schur->take, blocks, &args, plan->stream);
        if (!status) status = walk(plan, 0, call, eliminate_step);
    }
    if (kind == KS_BT_FACTORIZE || status) return status;
    status = launch(plan, plan->schur->bring, blocks, &args, plan->stream);
    if (!status) status = walk(plan, 0, call, forward_step);
    return status ? status : walk(plan, 1, call, backward_step);
}

int ks_bt_schur_direct(ks_bt_schur *s, ks_bt_work_kind kind, const ks_bt_call *call)
{
    const int first = call->nrhs >= s->done[kind];
    if (first) s->done[kind] = call->nrhs + 1;
    return first || s->uncapturable;
}

ks_status ks_bt_schur_enqueue_logdet(const ks_blocktri_cuda_plan *plan, ks_gpu_stream *stream)
{
    const ks_bt_call none = { 0 };
    const ks_bt_schur_args args = args_of(plan, &none);
    return launch(plan, plan->schur->logdet, KS_BT_SUMS, &args, stream);
}

/* Report the lowest failed block of the first level with one, from s->info_host. KS_OK if there is none. */
ks_status ks_bt_schur_judge(const ks_blocktri_cuda_plan *plan, ks_blocktri_cuda_info *info)
{
    const ks_bt_schur *s = plan->schur;
    for (int l = 0; l < s->levels; ++l) {
        const int end = l + 1 < s->levels ? s->level[l + 1].first : plan->N;
        int found = -1;
        for (int at = s->level[l].first; at < end; ++at)
            if (s->info_host[at] != 0 && (found < 0 || s->order[at] < s->order[found])) found = at;
        if (found < 0) continue;
        info->system = 0;
        info->block = s->order[found];
        info->pivot = s->info_host[found] - 1;
        return KS_ENOTPD;
    }
    return KS_OK;
}
