/* cuda_schur.h -- recursive Schur complements by batched calls of dense libraries (JMS, Alg. 4 and 7; see
 * kalscan/order.h).
 *
 * Every m-th block of a level is a separator. The m - 1 blocks between two separators are a segment, and so are the r
 * blocks behind the last separator. All segments are eliminated at once, one block of each at a time. The separators
 * that remain are the next level. The last level is a single segment. Of a segment's solution with its couplings only
 * the non-zero blocks are computed: W, the coupling of each block with the next one, and Y = L^-1 (coupling of the
 * block with the separator before the segment). */
#ifndef KS_BT_CUDA_SCHUR_H
#define KS_BT_CUDA_SCHUR_H

#include "gpu/blas.h"
#include "gpu/gpu.h"
#include "ks_bt_schur.h"

enum { KS_BT_SCHUR_LEVELS = 32, KS_BT_SCHUR_KINDS = 3 };

typedef struct ks_bt_schur_level {
    int count;              /* blocks */
    int separators, tail;   /* P and r: segments, the last of which has r blocks */
    int stride;             /* from block to block, in blocks of the matrix; the first is number stride - 1 */
    void *L, *Y;            /* (count, n, n): couplings with the next block, then W; Y */
    int first;              /* of this level's pointers, in the order of elimination */
} ks_bt_schur_level;

typedef struct ks_bt_schur {
    ks_gpu_blas *blas;
    int levels, spacing;
    ks_bt_schur_level level[KS_BT_SCHUR_LEVELS];
    void *memory;           /* D, then L and Y of each level */
    void **of_D, **of_L, **of_Y, **of_x; /* (N) pointers each, on the device */
    int *blocks;            /* (N): the block that each pointer belongs to */
    int *info, *info_host;  /* (N): result of its factorization */
    int *order;             /* (N): blocks, on the host */
    const ks_gpu_kernel *take, *bring, *logdet;
    int uncapturable;       /* a capture of the libraries' calls has failed */
    int done[KS_BT_SCHUR_KINDS]; /* of each kind of call: 1 + the most right-hand sides so far */
} ks_bt_schur;

#endif
