/* racy.h -- kernels in which threads meet at one place, for the watched emulated device; see emulator/races.h. */
#ifndef RACY_H
#define RACY_H

/** What each kernel does, and whether that is a race. */
#define RACY_LIST(E)                                                                               \
    E(BARRIER, 0)         /* a thread reads what one of another warp wrote, behind a barrier   */  \
    E(NO_BARRIER, 1)      /* without                                                           */  \
    E(LANES, 0)           /* a lane reads what its neighbour wrote, behind __syncwarp()        */  \
    E(LANES_SHUFFLE, 1)   /* behind a shuffle, which orders no memory                          */  \
    E(LANES_HALF, 1)      /* behind a __syncwarp() of either half of the warp by itself        */  \
    E(LANES_AGAIN, 1)     /* and then its neighbour writes again                               */  \
    E(WARPS, 1)           /* a thread reads what another warp wrote, behind __syncwarp()       */  \
    E(COPIED, 0)          /* a lane reads what its neighbour copied, waited for, and synced    */  \
    E(COPIED_ALONE, 1)    /* each has waited, but they have not synced                         */  \
    E(BULK, 0)            /* a bulk copy comes where all have read, and synced                 */  \
    E(BULK_SOON, 1)       /* and not synced                                                    */  \
    E(BULK_TOLD, 0)       /* all read what the one that arrived wrote before, having waited     */  \
    E(BULK_LATE, 1)       /* what it wrote behind its arrival                                   */  \
    E(BYTES, 0)           /* each thread writes a byte of its own                              */  \
    E(BYTE, 1)            /* all write the same to one byte                                    */  \
    E(BYTE_RELAXED, 0)    /* as what others may write meanwhile                                */  \
    E(ATOMIC, 0)          /* all blocks add to a number by atomic sums                         */  \
    E(PLAIN, 1)           /* by plain ones                                                     */  \
    E(MIXED, 1)           /* one block by plain ones                                           */  \
    E(BLOCKS, 1)          /* a block reads what the one before it wrote                        */  \
    E(GRID, 0)            /* behind a barrier of the grid                                      */

enum racy {
#define RACY_ENUM(name, races) RACY_##name,
    RACY_LIST(RACY_ENUM)
#undef RACY_ENUM
    RACY_COUNT
};

typedef struct racy_args {
    const double *x; /* (64) */
    double *y;       /* (64) of each block */
} racy_args;

#endif
