/* racy.h -- kernels in which threads access the same place, for the watched emulated device; see emulator/races.h. */
#ifndef RACY_H
#define RACY_H

/** What each kernel does, and whether that is a race. */
#define RACY_LIST(E)                                                                               \
    E(BARRIER, 0)         /* a thread reads what another warp wrote, after a barrier           */  \
    E(NO_BARRIER, 1)      /* without the barrier                                               */  \
    E(LANES, 0)           /* a lane reads what its neighbour wrote, after __syncwarp()         */  \
    E(LANES_SHUFFLE, 1)   /* after a shuffle, which orders no memory                           */  \
    E(LANES_HALF, 1)      /* after a __syncwarp() of each half of the warp                     */  \
    E(LANES_AGAIN, 1)     /* after __syncwarp(), then its neighbour writes again               */  \
    E(WARPS, 1)           /* a thread reads what another warp wrote, after __syncwarp()        */  \
    E(COPIED, 0)          /* a lane reads what its neighbour copied, waited for, synced        */  \
    E(COPIED_ALONE, 1)    /* each has waited, but they have not synced                         */  \
    E(BULK, 0)            /* a bulk copy to where all have read, and synced                    */  \
    E(BULK_SOON, 1)       /* and not synced                                                    */  \
    E(BULK_TOLD, 0)       /* after a wait, all read what the arriving one wrote before          */  \
    E(BULK_LATE, 1)       /* what it wrote after its arrival                                    */  \
    E(BYTES, 0)           /* each thread writes a byte of its own                              */  \
    E(BYTE, 1)            /* all write the same to one byte                                    */  \
    E(BYTE_RELAXED, 0)    /* by stores that allow concurrent writes                            */  \
    E(ATOMIC, 0)          /* all blocks add to a number by atomic sums                         */  \
    E(PLAIN, 1)           /* by plain sums                                                     */  \
    E(MIXED, 1)           /* one block by plain sums                                           */  \
    E(BLOCKS, 1)          /* a block reads what the previous one wrote                         */  \
    E(GRID, 0)            /* after a barrier of the grid                                     */

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
