/* traffic.h -- what the loads and stores of a warp come to on a device: sectors of 32 bytes of its memory, and the
 * passes in which 32 banks of 4 bytes serve shared memory. Both follow from addresses alone. Lanes that execute one
 * operation for the same time are taken for one request, as they are where a warp's lanes take the same way.
 *
 * The environment's KS_DRIVER_TRAFFIC is a file that gets a line of each kernel and each of its operations on memory:
 *
 *     kernel NAME launches N threads N warps N instructions N most N
 *     KERNEL from OPERATION, line N, to OPERATION, line N: operations N times N
 *     KERNEL OPERATION, line N: requests N, sectors N of N needed
 *     KERNEL OPERATION, line N: requests N, passes N of N needed
 *     KERNEL OPERATION, line N: requests N, local
 *
 * Instructions are those of all warps, and of the one that has most: of each the most that a lane executes. Operations that
 * stand one after another and are executed as often are one line. Needed are the sectors that as many bytes would fill, and
 * the passes of addresses that do not meet in a bank. */
#ifndef PTX_TRAFFIC_H
#define PTX_TRAFFIC_H

#include "program.h"

enum ptx_space { PTX_GENERIC, PTX_GLOBAL, PTX_SHARED };

/** An access by the thread that runs; of a place in shared memory `at` is its address there. */
void ptx_touched(const ptx_op *o, ptx_frame &f, uint64_t at, size_t bytes, ptx_space space);

/** The thread that runs has ended. */
void ptx_traffic_ends(ptx_thread &t);

#endif
