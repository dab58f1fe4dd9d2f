/* faulty.h -- kernels with one mistake each, for the emulated device to find. */
#ifndef FAULTY_H
#define FAULTY_H

/** What is wrong with the kernel of the same place in the list: FAULTY_NONE is right. */
#define FAULTY_LIST(E)                                                                      \
    E(NONE)                 /* y[i] = sum over the block of x, by a tree in shared memory */ \
    E(MISSING_BARRIER)      /* one level of the tree begins before the last has ended     */ \
    E(WRONG_INDEX)          /* a sum that is added at the wrong place                     */ \
    E(PAST_SHARED)          /* one element past a shared array is written                 */ \
    E(PAST_GLOBAL)          /* one element past an allocation is written                  */ \
    E(EARLY_END)            /* half of the threads end before a barrier                   */ \
    E(SKIPPED_BARRIER)      /* half of the threads go past one barrier to the next        */ \
    E(TWO_BARRIERS)         /* two halves of the block wait at different barriers         */ \
    E(LANE_MISSING)         /* a shuffle names a lane that never comes                    */ \
    E(NOT_WRITTEN)          /* shared memory is read that nothing wrote                   */ \
    E(NO_ASYNC_WAIT)        /* a copy is used before it was waited for                    */ \
    E(TOO_MUCH_SHARED)      /* more shared memory than a block has                        */ \
    E(GRID_BARRIER)         /* a barrier of the grid in an ordinary launch                */ \
    E(NOT_ALIGNED)          /* two numbers are loaded at once where none such begin       */ \
    E(GRID)                 /* sums over the blocks of a grid, and nothing wrong with them */ \
    E(GRID_OWN)             /* the same with a barrier that counts the blocks             */ \
    E(GRID_MISSING)         /* no barrier of the grid before two levels of the tree       */ \
    E(GRID_BLOCK)           /* one of the block alone                                     */ \
    E(GRID_EARLY)           /* one that lets go when a block is missing                   */ \
    E(GRID_SOME)            /* half of the blocks do not come to one                      */ \
    E(GRID_THREAD)          /* one thread of each block comes for all                     */ \
    E(GRID_TWO_PLACES)      /* two halves of the grid wait at different barriers          */ \
    E(BULK)                 /* bulk copies, and nothing wrong with them                   */ \
    E(BULK_EARLY)           /* what they bring is read before it was waited for           */ \
    E(BULK_TWICE)           /* two copies go to one place                                 */ \
    E(BULK_NO_WAIT)         /* nobody waits for them                                      */ \
    E(BULK_BYTES)           /* more bytes are expected than copies bring                  */ \
    E(BULK_FROM)            /* one copy comes from where no 16 bytes begin                */ \
    E(BULK_TO)              /* one copy goes to where no 16 bytes begin                   */ \
    E(BULK_LENGTH)          /* one copy ends where no 16 bytes end                        */ \
    E(BULK_PAST)            /* one copy leaves the shared array                           */ \
    E(BULK_PHASE)           /* the phase before is waited for                             */ \
    E(BULK_NEXT_PHASE)      /* a phase is waited for that nobody arrives at               */ \
    E(BULK_THREADS)         /* more threads arrive than the barrier is for                */ \
    E(BULK_NO_BARRIER)      /* copies come to a barrier that nobody has made              */

enum faulty {
#define FAULTY_ENUM(name) FAULTY_##name,
    FAULTY_LIST(FAULTY_ENUM)
#undef FAULTY_ENUM
    FAULTY_COUNT
};

typedef struct faulty_args {
    const double *x;
    double *y;
    unsigned *come; /* blocks, 0 */
} faulty_args;

#endif
