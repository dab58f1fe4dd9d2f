/* lanes.c -- running some lanes of a part on the CPU, with as few calls of the operator as possible. */
#include <string.h>

#include "machine.h"

static char *element(const ks_binding *b, const ks_slots *s, int64_t lane)
{
    return b->buffer[s->buffer] + ks_slot(s, lane, 0) * (int64_t)b->op->element_bytes;
}

static ptrdiff_t stride(const ks_binding *b, int64_t slots)
{
    return (ptrdiff_t)(slots * (int64_t)b->op->element_bytes);
}

/* The worker's slice of a piece, or NULL if there is no such piece. */
static char *share(const ks_binding *b, char *piece, int worker)
{
    return piece ? piece + (size_t)worker * b->slice : NULL;
}

static ks_combine_job combine_job(const ks_binding *b, const ks_part *part, int64_t begin,
                                  int64_t end)
{
    ks_combine_job job;
    job.lanes = end - begin;
    job.chain = part->chain;
    job.dst = element(b, &part->dst, begin);
    job.lhs = element(b, &part->lhs, begin);
    job.rhs = element(b, &part->rhs, begin);
    job.dst_lane = stride(b, part->dst.lane);
    job.lhs_lane = stride(b, part->lhs.lane);
    job.rhs_lane = stride(b, part->rhs.lane);
    job.dst_chain = stride(b, part->dst.chain);
    job.lhs_chain = stride(b, part->lhs.chain);
    job.rhs_chain = stride(b, part->rhs.chain);
    return job;
}

static void copy(const ks_binding *b, const ks_part *part, int64_t begin, int64_t end)
{
    const size_t bytes = b->op->element_bytes;
    const int64_t step = part->dst.lane;
    if (step == part->lhs.lane && (step == 1 || step == -1)) { /* one block, perhaps mirrored */
        const int64_t lowest = step > 0 ? begin : end - 1;
        memcpy(element(b, &part->dst, lowest), element(b, &part->lhs, lowest),
               (size_t)(end - begin) * bytes);
        return;
    }
    for (int64_t l = begin; l < end; ++l)
        memcpy(element(b, &part->dst, l), element(b, &part->lhs, l), bytes);
}

/* One operand is the destination; the other operand receives the old value of the destination. The values of the other
 * operands are kept in the temporaries, a batch at a time. */
static int down_sweep(const ks_binding *b, const ks_part *part, int64_t begin, int64_t end,
                      int worker)
{
    const size_t bytes = b->op->element_bytes;
    char *temporary = share(b, b->temporary, worker), *scratch = share(b, b->scratch, worker);
    const int right = part->dst.base == part->lhs.base; /* the other operand is the right one */
    const ks_slots *other = right ? &part->rhs : &part->lhs;
    for (int64_t l = begin; l < end; l += b->temporaries) {
        const int64_t batch = end - l < b->temporaries ? end - l : b->temporaries;
        for (int64_t i = 0; i < batch; ++i) {
            memcpy(temporary + (size_t)i * bytes, element(b, other, l + i), bytes);
            memcpy(element(b, other, l + i), element(b, &part->dst, l + i), bytes);
        }
        ks_combine_job job = combine_job(b, part, l, l + batch);
        if (right) {
            job.rhs = temporary;
            job.rhs_lane = (ptrdiff_t)bytes;
        } else {
            job.lhs = temporary;
            job.lhs_lane = (ptrdiff_t)bytes;
        }
        if (b->op->combine(b->op->user, scratch, &job)) return -1;
    }
    return 0;
}

static int absorb(const ks_binding *b, const ks_part *part, int64_t begin, int64_t end,
                  void *scratch)
{
    for (int64_t l = begin; l < end; ++l)
        if (b->op->absorb(b->op->user, scratch, element(b, &part->dst, l),
                          ks_slot(&part->lhs, l, 0), part->chain))
            return -1;
    return 0;
}

static int rerun(const ks_binding *b, const ks_part *part, int64_t begin, int64_t end,
                 void *scratch)
{
    for (int64_t l = begin; l < end; ++l) {
        const void *carry = part->lhs.buffer == KS_NO_BUFFER ? NULL : element(b, &part->lhs, l);
        if (b->op->rerun(b->op->user, scratch, carry, ks_slot(&part->rhs, l, 0), part->chain))
            return -1;
    }
    return 0;
}

int ks_run_lanes(const ks_binding *binding, const ks_part *part, int64_t begin, int64_t end,
                 int worker)
{
    const ks_operator *op = binding->op;
    char *scratch = share(binding, binding->scratch, worker);
    switch (part->kind) {
    case KS_PART_COMBINE: {
        const ks_combine_job job = combine_job(binding, part, begin, end);
        return op->combine(op->user, scratch, &job);
    }
    case KS_PART_COPY: copy(binding, part, begin, end); return 0;
    case KS_PART_NEUTRAL:
        for (int64_t l = begin; l < end; ++l)
            if (op->neutral(op->user, element(binding, &part->dst, l))) return -1;
        return 0;
    case KS_PART_DOWN_SWEEP: return down_sweep(binding, part, begin, end, worker);
    case KS_PART_ABSORB: return absorb(binding, part, begin, end, scratch);
    case KS_PART_RERUN: return rerun(binding, part, begin, end, scratch);
    }
    return -1;
}
