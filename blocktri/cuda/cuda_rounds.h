/* cuda_rounds.h -- the order in which large blocks are eliminated on a device, as data. */
#ifndef KS_BLOCKTRI_CUDA_ROUNDS_H
#define KS_BLOCKTRI_CUDA_ROUNDS_H

#include <stddef.h>
#include "kalscan/context.h"
#include "kalscan/status.h"
#include "ks_bt_blocked.h"

/** Rounds 0 .. side - 1 and side .. joined - 1 are independent of each other and may run at once. The other rounds come
 *  after both. Each of the two groups begins with a bare round. side = joined = 0: all rounds run one after the
 *  other. */
typedef struct ks_bt_rounds {
    int count, side, joined;
    int64_t nodes;
    ks_bt_round *round;
    ks_bt_node *node;
    int32_t *round_of; /**< (N) */
} ks_bt_rounds;

/** Return the number of segments of a chain of N blocks. asked: the number wanted; 0: a default, doubled until the
 *  rounds can be numbered. At most so many that each segment has a block and a separator lies between any two. Returns
 *  0 if there are too few blocks or too many rounds. */
int ks_bt_segments(int64_t N, int64_t asked);

/** Return the most bytes that the rounds of N blocks take; the same on the host and on a device. */
size_t ks_bt_rounds_bytes(int64_t N);

/** Make the rounds in `memory` of ks_bt_rounds_bytes(), aligned to 8 bytes.
 *
 *  segments 0: nested dissection; round l eliminates every other block that is left.
 *
 *  Otherwise a partition with cheap ends: separators cut the chain into segments. The two segments at the ends are
 *  eliminated from the outside inwards, one block per round. Their blocks have one neighbour each and cost 7/3 n^3
 *  operations. Beside them the other segments are eliminated from left to right, one block of each per round, for 19/3
 *  n^3 operations each. Then the separators are eliminated from both ends of what is left. The segments at the ends are
 *  19/7 as long, so that all segments have the same number of operations.
 *  Errors: KS_ENOMEM. */
ks_status ks_bt_rounds_make(ks_bt_rounds *out, ks_context *context, int N, int segments, void *memory);

/** Return the operations of a factorization in n^3: 1/3 to factor a block; for each neighbour 1 for a triangular solve
 *  and 1 for a symmetric product; for two neighbours 2 for the product of both. */
double ks_bt_rounds_operations(const ks_bt_rounds *rounds);

#endif
