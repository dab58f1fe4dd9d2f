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
    E(GRID_BARRIER)         /* a barrier of the grid in an ordinary launch                */

enum faulty {
#define FAULTY_ENUM(name) FAULTY_##name,
    FAULTY_LIST(FAULTY_ENUM)
#undef FAULTY_ENUM
    FAULTY_COUNT
};

typedef struct faulty_args {
    const double *x;
    double *y;
} faulty_args;

#endif
