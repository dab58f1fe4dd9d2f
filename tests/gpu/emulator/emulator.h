/* emulator.h -- the device that tests open in place of a real one.
 *
 * Kernels run on the host, from the sources that nvcc compiles. Operations of streams and of graphs run in an order
 * that the seed chooses among those that events and waits permit (schedule.cpp): late, at once, some streams before
 * others, at random. This reveals a driver that does not wait, or streams that do not wait for each other. Fresh device
 * memory holds NaN. */
#ifndef EMULATOR_H
#define EMULATOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a barrier of the grid does. KS_BARRIER_RIGHT is correct. The others are mistakes that a test must notice: do
 *  nothing, wait for the thread's own block only, release all when one block is missing, let blocks with odd numbers
 *  pass. */
typedef enum ks_emulated_barrier {
    KS_BARRIER_RIGHT, KS_BARRIER_NONE, KS_BARRIER_OF_BLOCK, KS_BARRIER_EARLY, KS_BARRIER_OF_SOME, KS_BARRIERS
} ks_emulated_barrier;

/** Settings of ks_gpu_open() from now on, and what was observed. Not thread-safe. If a program such as the command
 *  leaves it alone, seed, lose_at, old, memory, multiprocessors and fail_at are read from the environment variables
 *  KS_EMULATED_SEED, ..._LOSE_AT, ..._OLD, ..._MEMORY, ..._MULTIPROCESSORS and ..._FAIL_AT. */
typedef struct ks_emulator {
    uint64_t seed;        /**< of the order of blocks, threads and streams */
    int devices;          /**< how many there are */
    int multiprocessors;
    size_t memory;        /**< bytes of each device */
    size_t block_shared;  /**< bytes of a block */
    size_t local;         /**< bytes of local memory of a thread of each kernel; the first launch takes them for 2048
                               threads of each multiprocessor, if there is room */
    long fail_at;         /**< number of the allocation that fails, from 1; 0: none */
    long calls;           /**< allocations so far: memory, streams, events, graphs */
    long live;            /**< those not released; an open device counts */
    long launches;        /**< kernels that ran */
    const char *watch;    /**< prefix of names of kernels to count, or NULL */
    long watched;         /**< those of them that ran */
    long waits;           /**< calls that waited for a stream or an event */
    long pending;         /**< operations in streams that have not run */
    long pieces;          /**< operations, and nodes of graphs, that have run */
    long lose_at;         /**< number of the operation or node, from 1, at which its device is lost */
    const char *uncapturable; /**< a module whose kernels cannot be captured, or NULL */
    int old;              /**< non-zero: devices are older than any kernel was compiled for */
    ks_emulated_barrier grid_barrier;
    char report[400];     /**< the first fault of a kernel or of the driver code, or "" */
} ks_emulator;

#define KS_EMULATOR_INIT \
    { 1, 2, 4, (size_t)1 << 30, 227 * 1024, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0, 0, NULL, 0, KS_BARRIER_RIGHT, "" }

extern ks_emulator ks_emulated;

#ifdef __cplusplus
}
#endif
#endif
