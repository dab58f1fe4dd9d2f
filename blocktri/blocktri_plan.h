/* blocktri_plan.h -- what a plan holds, and what its runs share. */
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
    ks_blocktri_options options; /* final values, no zeros that mean a default */
    const ks_bt_kernels *kernels;
    const ks_bt_kernels *narrow; /* those of one block row: vectors no wider than AVX2's */
    size_t fill, workspace, inverse_workspace;
    ks_bt_schedule schedule;
};

/** Workspace, carved: panels for each worker, and what the inverse needs between levels. */
typedef struct ks_bt_work {
    void *panels;
    ks_bt_failure *failure; /* of each worker's lanes, the lowest */
    void *S_edges;          /* inverse at the couplings of levels 1, 2, ...; inverse only */
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

/** The chain of lane `number` of level `l` on a factor: sizes, positions, D, edge, fill, bridge.
 *  What it reads (D_in, edge_in) is the factor's own storage. */
ks_bt_chain ks_bt_chain_of(const ks_blocktri_plan *plan, const ks_blocktri_factor *factor, int l,
                           int64_t number);

/** Couplings of level l: the factor's blocks in level 0, fill above. */
ks_blocks ks_bt_edges(const ks_blocktri_plan *plan, const ks_blocktri_factor *factor, int l);

/** Whether storage for a factor is complete and its strides do not overlap blocks. */
int ks_bt_valid_factor(const ks_blocktri_plan *plan, const ks_blocktri_factor *factor);

/** Whether blocks of `size` elements that are written are there and do not overlap. */
int ks_bt_valid_blocks(ks_blocks blocks, int64_t count, int64_t size);

/** Whether blocks that are read are there: a stride of 0, or one that does not overlap. */
int ks_bt_valid_input(ks_const_blocks blocks, int64_t count, int64_t size);

/** Whether workspace is there and aligned. */
static inline int ks_bt_valid_work(const void *work)
{
    return work && (uintptr_t)work % KS_CARVE_ALIGNMENT == 0;
}

#endif
