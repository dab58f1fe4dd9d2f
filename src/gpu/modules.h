/* modules.h -- the device code linked into the library. scripts/cuda/embed writes the list. */
#ifndef KS_GPU_MODULES_H
#define KS_GPU_MODULES_H

/** The device code of one source file. */
typedef struct ks_gpu_module {
    const char *name;   /**< name of the source file, without .cu                 */
    const void *fatbin; /**< machine code and PTX, as cuModuleLoadData() takes it */
} ks_gpu_module;

extern const ks_gpu_module ks_gpu_modules[]; /**< ends with a NULL name                          */

#endif
