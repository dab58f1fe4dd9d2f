/* emulator.h -- the device that tests open where the library opens a real one.
 *
 * Kernels run on the host, from the sources that nvcc compiles. What is put into a stream, and what a graph
 * does side by side, runs in an order that the seed chooses among those that events and waits leave open
 * (schedule.cpp): late, at once, some streams before others, at random. So a driver that forgets to wait, or
 * streams that forget to wait for each other, are found out; fresh memory of the device holds NaN. */
#ifndef EMULATOR_H
#define EMULATOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a barrier of the grid does: what it is for, or for a test that has to notice it nothing, wait for the thread's
 *  own block alone, let all go on as soon as one block alone is missing, or be passed by blocks of odd numbers. */
typedef enum ks_emulated_barrier {
    KS_BARRIER_RIGHT, KS_BARRIER_NONE, KS_BARRIER_OF_BLOCK, KS_BARRIER_EARLY, KS_BARRIER_OF_SOME, KS_BARRIERS
} ks_emulated_barrier;

/** What ks_gpu_open() gives from now on, and what was seen. Not for several threads at once. A program that
 *  leaves it alone, the command say, has seed, lose_at, old, memory, multiprocessors and fail_at from the
 *  environment's KS_EMULATED_SEED, ..._LOSE_AT, ..._OLD, ..._MEMORY, ..._MULTIPROCESSORS and ..._FAIL_AT. */
typedef struct ks_emulator {
    uint64_t seed;        /**< of the order of blocks and threads, and of when a stream runs     */
    int devices;          /**< how many there are                                                */
    int multiprocessors;
    size_t memory;        /**< of each device, bytes                                             */
    size_t block_shared;  /**< of a block, bytes                                                 */
    size_t local;         /**< bytes beside its registers that a thread of each kernel has: the first launch takes
                               them for 2048 threads of each multiprocessor, where there is room */
    long fail_at;         /**< the number of the allocation that fails, from 1; 0: none          */
    long calls;           /**< allocations so far: memory, streams, events, graphs               */
    long live;            /**< of them, not released; an open device counts                      */
    long launches;        /**< kernels that ran                                                  */
    const char *watch;    /**< or NULL: how names of kernels begin                               */
    long watched;         /**< those of them that ran                                            */
    long waits;           /**< calls that waited for a stream or an event                        */
    long pending;         /**< what is in streams and has not run                                */
    long pieces;          /**< what has run of all streams                                       */
    long lose_at;         /**< the number of the piece, from 1, with which its device is lost    */
    const char *uncapturable; /**< or NULL: a module whose kernels cannot be captured            */
    int old;              /**< non-zero: devices are older than any kernel was compiled for      */
    ks_emulated_barrier grid_barrier;
    char report[400];     /**< the first fault of a kernel or of the driver code; "" where none  */
} ks_emulator;

#define KS_EMULATOR_INIT \
    { 1, 2, 4, (size_t)1 << 30, 227 * 1024, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0, 0, NULL, 0, KS_BARRIER_RIGHT, "" }

extern ks_emulator ks_emulated;

#ifdef __cplusplus
}
#endif
#endif
