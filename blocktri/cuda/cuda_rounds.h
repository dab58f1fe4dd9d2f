/* cuda_rounds.h -- the order in which large blocks are eliminated on a device, as data. */
#ifndef KS_BLOCKTRI_CUDA_ROUNDS_H
#define KS_BLOCKTRI_CUDA_ROUNDS_H

#include <stddef.h>
#include "kalscan/context.h"
#include "kalscan/status.h"
#include "ks_bt_blocked.h"

/** Rounds 0 .. side - 1 and side .. joined - 1 know nothing of each other, so that they may run at once;
 *  the rest comes after both. Each begins with a bare round. side = joined = 0: one after the other. */
typedef struct ks_bt_rounds {
    int count, side, joined;
    int64_t nodes;
    ks_bt_round *round;
    ks_bt_node *node;
    int32_t *round_of; /**< (N) */
} ks_bt_rounds;

/** How many segments a chain of N blocks is cut into where `asked` are asked for (0: a default, and twice
 *  as many as long as there are more rounds than can be numbered): at most so many that each has a block,
 *  and a separator lies between any two; 0 where that takes more blocks than there are, or more rounds
 *  than can be numbered. */
int ks_bt_segments(int64_t N, int64_t asked);

/** Bytes that the rounds of N blocks take at most, the same on the host and on a device. */
size_t ks_bt_rounds_bytes(int64_t N);

/** The rounds, in `memory` of ks_bt_rounds_bytes(), aligned to 8 bytes.
 *
 *  segments 0: nested dissection; round l eliminates every other block that is left.
 *
 *  Otherwise a partition with cheap ends: separators cut the chain into segments. Both segments at the
 *  ends are eliminated from outside inwards, their blocks with one neighbour each for 7/3 n^3 operations,
 *  one a round; the others, beside them, from left to right for 19/3 n^3, one of each segment a round; and
 *  then the separators from both ends of what is left. Segments at the ends are 19/7 as long, so that each
 *  has the same number of operations.
 *  Errors: KS_ENOMEM. */
ks_status ks_bt_rounds_make(ks_bt_rounds *out, ks_context *context, int N, int segments, void *memory);

/** Operations of a factorization in n^3: 1/3 for a block to factor, then for each neighbour a triangular
 *  solution and a symmetric product, 1 each, and for two of them the product of both, 2. */
double ks_bt_rounds_operations(const ks_bt_rounds *rounds);

#endif
