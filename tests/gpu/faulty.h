/* faulty.h -- kernels with one mistake each, which the emulated device must find. */
#ifndef FAULTY_H
#define FAULTY_H

/** The mistake of each kernel. FAULTY_NONE is correct. */
#define FAULTY_LIST(E)                                                                      \
    E(NONE)                 /* y[i] = sum over the block of x, by a tree in shared memory */ \
    E(MISSING_BARRIER)      /* a level of the tree begins before the last has ended       */ \
    E(WRONG_INDEX)          /* a sum is added at the wrong index                          */ \
    E(PAST_SHARED)          /* writes one element past a shared array                     */ \
    E(PAST_GLOBAL)          /* writes one element past an allocation                      */ \
    E(EARLY_END)            /* half of the threads return before a barrier                */ \
    E(SKIPPED_BARRIER)      /* half of the threads skip a barrier                         */ \
    E(TWO_BARRIERS)         /* two halves of the block wait at different barriers         */ \
    E(LANE_MISSING)         /* a shuffle names a lane that never arrives                  */ \
    E(NOT_WRITTEN)          /* reads shared memory that was never written                 */ \
    E(NO_ASYNC_WAIT)        /* uses a copy before waiting for it                          */ \
    E(TOO_MUCH_SHARED)      /* more shared memory than a block has                        */ \
    E(GRID_BARRIER)         /* a barrier of the grid in an ordinary launch                */ \
    E(NOT_ALIGNED)          /* a two-number load from an unaligned address                */ \
    E(GRID)                 /* correct: sums over the blocks of a grid                    */ \
    E(GRID_OWN)             /* the same with a barrier that counts the blocks             */ \
    E(GRID_MISSING)         /* no barrier of the grid between two levels of the tree      */ \
    E(GRID_BLOCK)           /* a barrier of the block instead                             */ \
    E(GRID_EARLY)           /* a barrier that releases when one block is missing          */ \
    E(GRID_SOME)            /* half of the blocks skip a barrier                          */ \
    E(GRID_THREAD)          /* one thread of each block arrives for all                   */ \
    E(GRID_TWO_PLACES)      /* two halves of the grid wait at different barriers          */ \
    E(BULK)                 /* correct: bulk copies                                       */ \
    E(BULK_EARLY)           /* reads their data before waiting                            */ \
    E(BULK_TWICE)           /* two copies to one place                                    */ \
    E(BULK_NO_WAIT)         /* no thread waits for them                                   */ \
    E(BULK_BYTES)           /* expects more bytes than the copies bring                   */ \
    E(BULK_FROM)            /* a copy from an address that is not 16-byte aligned         */ \
    E(BULK_TO)              /* a copy to an address that is not 16-byte aligned           */ \
    E(BULK_LENGTH)          /* a copy whose length is no multiple of 16                   */ \
    E(BULK_PAST)            /* a copy beyond the shared array                             */ \
    E(BULK_PHASE)           /* waits for the previous phase                               */ \
    E(BULK_NEXT_PHASE)      /* waits for a phase at which no thread arrives               */ \
    E(BULK_THREADS)         /* more threads arrive than the barrier is for                */ \
    E(BULK_NO_BARRIER)      /* copies to a barrier that was not initialised              */

enum faulty {
#define FAULTY_ENUM(name) FAULTY_##name,
    FAULTY_LIST(FAULTY_ENUM)
#undef FAULTY_ENUM
    FAULTY_COUNT
};

typedef struct faulty_args {
    const double *x;
    double *y;
    unsigned *come; /* counter of blocks, initially 0 */
} faulty_args;

#endif
