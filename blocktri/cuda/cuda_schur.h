/* cuda_schur.h -- recursive Schur complements by batched calls of dense libraries (JMS, Alg. 4 and 7; see
 * kalscan/order.h).
 *
 * Every m-th block of a level is a separator; the m - 1 blocks between two of them are a segment, and the
 * blocks behind the last separator, r of them, another one. All segments are eliminated side by side,
 * one block of each at a time, and what is left of the separators is the next level. The last level is a
 * segment alone. Of a segment's solution with its couplings only what is not zero is computed: W, the
 * coupling of each block with the next one, and Y = L^-1 (what couples it with the separator before). */
#ifndef KS_BT_CUDA_SCHUR_H
#define KS_BT_CUDA_SCHUR_H

#include "gpu/blas.h"
#include "gpu/gpu.h"
#include "ks_bt_schur.h"

enum { KS_BT_SCHUR_LEVELS = 32, KS_BT_SCHUR_KINDS = 3 };

typedef struct ks_bt_schur_level {
    int count;              /* blocks                                                            */
    int separators, tail;   /* P and r: segments, the last of which is r blocks long             */
    int stride;             /* from block to block, in blocks of the matrix: the first one has   */
                            /* the number stride - 1                                             */
    void *L, *Y;            /* (count, n, n): couplings with the next block, becoming W; Y       */
    int first;              /* of this level's pointers, which stand in the order of elimination */
} ks_bt_schur_level;

typedef struct ks_bt_schur {
    ks_gpu_blas *blas;
    int levels, spacing;
    ks_bt_schur_level level[KS_BT_SCHUR_LEVELS];
    void *memory;           /* D, then L and Y of each level                                     */
    void **of_D, **of_L, **of_Y, **of_x; /* (N) pointers each, on the device                     */
    int *blocks;            /* (N): of what block they are                                       */
    int *info, *info_host;  /* (N): of its factorization                                         */
    int *order;             /* (N): blocks, on the host                                          */
    const ks_gpu_kernel *take, *bring, *logdet;
    int uncapturable;       /* the libraries' calls have not let themselves be captured          */
    int done[KS_BT_SCHUR_KINDS]; /* of each kind of call, one more than the most right-hand sides so far */
} ks_bt_schur;

#endif
