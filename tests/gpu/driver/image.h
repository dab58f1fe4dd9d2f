/* image.h -- what the machine code of a kernel says about it. */
#ifndef DRIVER_IMAGE_H
#define DRIVER_IMAGE_H

#include <stddef.h>

/** Of one kernel, as ptxas left it. */
struct image_kernel {
    int registers;          /* of a thread                                                         */
    int most_threads;       /* of a block, from __launch_bounds__; 0 where there are none          */
    size_t arguments;       /* bytes                                                               */
    size_t shared;          /* bytes of static shared memory                                       */
    size_t local;           /* bytes of a thread's own memory: its stack                           */
};

/** The machine code for this compute capability among what nvcc's -fatbin put together, or NULL. */
const unsigned char *image_code(const void *fatbin, int major, int minor);

/** What it says of the kernel of this name; false where there is none. */
bool image_find(const unsigned char *code, const char *name, image_kernel *out);

#endif
