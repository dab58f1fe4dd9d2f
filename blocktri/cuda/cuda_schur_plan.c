/* cuda_schur_plan.c -- levels, memory and pointers of recursive Schur complements. */
#include <string.h>
#include "cuda_plan.h"
#include "pool.h"

/* Lay out the levels. Returns the blocks of all levels. */
static int64_t lay_out(ks_bt_schur *s, int64_t N, int64_t spacing, int64_t crossover)
{
    int64_t all = 0, stride = 1, count = N, first = 0;
    s->spacing = (int)spacing;
    s->levels = 0;
    for (;;) {
        ks_bt_schur_level *level = &s->level[s->levels++];
        const int64_t separators = count > crossover && count > spacing ? count / spacing : 0;
        level->count = (int)count;
        level->separators = (int)separators;
        level->tail = (int)(count - separators * spacing);
        level->stride = (int)stride;
        level->first = (int)first;
        all += count;
        first += count - separators;
        if (separators == 0) return all;
        count = separators;
        stride *= spacing;
    }
}

static int64_t spacing_of(const ks_blocktri_cuda_options *o)
{
    return o->separator_spacing ? o->separator_spacing : 8;
}

static int64_t crossover_of(const ks_blocktri_cuda_options *o)
{
    return o->crossover ? o->crossover : 32;
}

/* Return the blocks (n, n) that a plan stores: D, and L and Y of all levels. */
static size_t blocks_of(int64_t N, const ks_blocktri_cuda_options *o)
{
    ks_bt_schur unused;
    return (size_t)(N + 2 * lay_out(&unused, N, spacing_of(o), crossover_of(o)));
}

size_t ks_bt_schur_bytes(int64_t N, int n, const ks_blocktri_cuda_options *o)
{
    const size_t number = o->precision == KS_F64 ? 8 : 4, each = (size_t)n * (size_t)n * number;
    return blocks_of(N, o) * each + (size_t)N * (4 * sizeof(void *) + 2 * sizeof(int));
}

/* The blocks of a level that step j eliminates: one of each segment that is long enough. */
int ks_bt_schur_active(const ks_bt_schur *s, const ks_bt_schur_level *level, int j)
{
    return (j < s->spacing - 1 ? level->separators : 0) + (j < level->tail);
}

int ks_bt_schur_steps(const ks_bt_schur *s, const ks_bt_schur_level *level)
{
    return level->separators > 0 ? s->spacing - 1 : level->tail;
}

/* Make the lists on the host, ordered by level, step and segment, and copy them to the device. */
static ks_status write_lists(ks_blocktri_cuda_plan *plan, void **lists[3])
{
    ks_bt_schur *s = plan->schur;
    const size_t each = (size_t)plan->n * (size_t)plan->n * plan->number;
    int at = 0;
    for (int l = 0; l < s->levels; ++l) {
        const ks_bt_schur_level *level = &s->level[l];
        for (int j = 0; j < ks_bt_schur_steps(s, level); ++j)
            for (int i = 0; i < ks_bt_schur_active(s, level, j); ++i, ++at) {
                const int64_t own = (int64_t)i * s->spacing + j;
                const int64_t block = (own + 1) * level->stride - 1;
                s->order[at] = (int)block;
                lists[0][at] = (char *)s->memory + (size_t)block * each;
                lists[1][at] = (char *)level->L + (size_t)own * each;
                /* The first block of a segment uses the matrix's coupling with the separator before. */
                lists[2][at] = (char *)level->Y + (size_t)(j == 0 ? (own ? own - 1 : 0) : own) * each;
            }
    }
    const size_t bytes = (size_t)plan->N * sizeof(void *);
    void **const to[3] = { s->of_D, s->of_L, s->of_Y };
    ks_status status = ks_gpu_copy_in(plan->gpu, s->blocks, s->order, (size_t)plan->N * sizeof(int),
                                      plan->stream);
    for (int i = 0; i < 3 && !status; ++i)
        status = ks_gpu_copy_in(plan->gpu, to[i], lists[i], bytes, plan->stream);
    const ks_status waited = ks_gpu_stream_sync(plan->gpu, plan->stream);
    return status ? status : waited;
}

static ks_status make_lists(ks_blocktri_cuda_plan *plan)
{
    const size_t N = (size_t)plan->N;
    void **lists[3] = { NULL, NULL, NULL };
    plan->schur->order = ks_allocate(plan->context, N * sizeof(int));
    ks_status status = plan->schur->order ? KS_OK : KS_ENOMEM;
    for (int i = 0; i < 3; ++i) {
        lists[i] = ks_allocate(plan->context, N * sizeof(void *));
        if (!lists[i]) status = KS_ENOMEM;
    }
    if (!status) status = write_lists(plan, lists);
    for (int i = 0; i < 3; ++i) ks_release(plan->context, lists[i]);
    return status;
}

static ks_status device_memory(ks_blocktri_cuda_plan *plan, size_t blocks)
{
    ks_bt_schur *s = plan->schur;
    const size_t N = (size_t)plan->N, each = (size_t)plan->n * (size_t)plan->n * plan->number;
    void *memory = NULL;
    ks_status status = ks_gpu_alloc(plan->gpu, &s->memory, blocks * each);
    void ***const lists[] = { &s->of_D, &s->of_L, &s->of_Y, &s->of_x };
    for (int i = 0; i < 4 && !status; ++i) {
        status = ks_gpu_alloc(plan->gpu, &memory, N * sizeof(void *));
        if (!status) *lists[i] = memory;
    }
    int **const numbers[] = { &s->blocks, &s->info };
    for (int i = 0; i < 2 && !status; ++i) {
        status = ks_gpu_alloc(plan->gpu, &memory, N * sizeof(int));
        if (!status) *numbers[i] = memory;
    }
    if (!status) status = ks_gpu_host_alloc(plan->gpu, &memory, N * sizeof(int));
    if (status) return status;
    s->info_host = memory;
    char *at = (char *)s->memory + N * each;
    for (int l = 0; l < s->levels; ++l) {
        s->level[l].L = at;
        s->level[l].Y = at + (size_t)s->level[l].count * each;
        at += 2 * (size_t)s->level[l].count * each;
    }
    return KS_OK;
}

ks_status ks_bt_schur_create(ks_blocktri_cuda_plan *plan, const ks_blocktri_cuda_options *o)
{
    static const char module[] = "ks_bt_schur";
    const int wide = plan->number == sizeof(double);
    ks_bt_schur *s = ks_allocate(plan->context, sizeof *s);
    if (!s) return KS_ENOMEM;
    memset(s, 0, sizeof *s);
    plan->schur = s;
    (void)lay_out(s, plan->N, spacing_of(o), crossover_of(o));
    ks_status status = ks_gpu_blas_open(&s->blas, plan->gpu, plan->context, (int)plan->number);
    if (!status)
        status = ks_gpu_find(plan->gpu, &s->take, module,
                             wide ? "ks_bt_schur_take_f64" : "ks_bt_schur_take_f32");
    if (!status)
        status = ks_gpu_find(plan->gpu, &s->bring, module,
                             wide ? "ks_bt_schur_bring_f64" : "ks_bt_schur_bring_f32");
    if (!status)
        status = ks_gpu_find(plan->gpu, &s->logdet, module,
                             wide ? "ks_bt_schur_logdet_f64" : "ks_bt_schur_logdet_f32");
    if (!status) status = device_memory(plan, blocks_of(plan->N, o));
    return status ? status : make_lists(plan);
}

void ks_bt_schur_destroy(ks_blocktri_cuda_plan *plan)
{
    ks_bt_schur *s = plan->schur;
    if (!s) return;
    void *const taken[] = { s->memory, s->of_D, s->of_L, s->of_Y, s->of_x, s->blocks, s->info };
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; ++i) ks_gpu_free(plan->gpu, taken[i]);
    ks_gpu_host_free(plan->gpu, s->info_host);
    ks_gpu_blas_close(s->blas);
    ks_release(plan->context, s->order);
    ks_release(plan->context, s);
}
