/* blocktri_plan.h -- the members of a plan, and functions that its runs share. */
#ifndef KS_BLOCKTRI_PLAN_H
#define KS_BLOCKTRI_PLAN_H

#include "carve.h"
#include "chains.h"
#include "orders.h"
#include "pool.h"

struct ks_blocktri_plan {
    ks_context *context;
    int64_t N;
    int n, ld;
    int workers;
    ks_blocktri_options options; /* final values: defaults are filled in */
    const ks_bt_kernels *kernels;
    const ks_bt_kernels *narrow; /* for few right-hand sides: vectors no wider than AVX2's */
    size_t fill, workspace, inverse_workspace;
    ks_bt_schedule schedule;
};

/** The parts of the workspace of a run. */
typedef struct ks_bt_work {
    void *panels;
    ks_bt_failure *failure; /* for each worker: the failure with the lowest block of its lanes */
    void *S_edges;          /* the inverse at the couplings of levels 1, 2, ...; for the inverse only */
} ks_bt_work;

void ks_bt_carve(ks_carver *carver, const ks_blocktri_plan *plan, int inverse, ks_bt_work *work);

/** Elements of a block. */
static inline int64_t ks_bt_size(const ks_blocktri_plan *plan)
{
    return (int64_t)plan->n * plan->n;
}

/** Address of an element. */
static inline void *ks_bt_at(const ks_blocktri_plan *plan, void *base, int64_t element)
{
    return base ? (char *)base + (size_t)element * plan->kernels->number : base;
}

/** Panels of one worker. */
void *ks_bt_scratch(const ks_blocktri_plan *plan, const ks_bt_work *work, int worker);

/** The chain of lane `number` of level `l` of a factor: sizes, positions, D, edge, fill, bridge. Its
 *  inputs D_in and edge_in are the factor's own storage. */
ks_bt_chain ks_bt_chain_of(const ks_blocktri_plan *plan, const ks_blocktri_factor *factor, int l,
                           int64_t number);

/** Couplings of level l: the factor's blocks in level 0, fill above. */
ks_blocks ks_bt_edges(const ks_blocktri_plan *plan, const ks_blocktri_factor *factor, int l);

/** Whether storage for a factor is complete and its strides do not overlap blocks. */
int ks_bt_valid_factor(const ks_blocktri_plan *plan, const ks_blocktri_factor *factor);

/** Whether output blocks of `size` elements of `number` bytes are not NULL, not misaligned, and do not overlap. */
int ks_bt_valid_blocks(ks_blocks blocks, size_t number, int64_t count, int64_t size);

/** Whether input blocks are not NULL, not misaligned, and have a stride of 0, or one without overlap. */
int ks_bt_valid_input(ks_const_blocks blocks, size_t number, int64_t count, int64_t size);

/** Whether the workspace is not NULL and is aligned. */
static inline int ks_bt_valid_work(const void *work)
{
    return work && (uintptr_t)work % KS_CARVE_ALIGNMENT == 0;
}

#endif
