/* ptx.h -- kernels as nvcc compiled them, run on the emulated device in the place of their sources compiled for the
 * host. The environment's KS_DRIVER_PTX is a folder with MODULE.ptx for each module. */
#ifndef PTX_H
#define PTX_H

#include <string>

#include "emulated_kernel.h"

/** The same kernel of that folder; NULL where none is named. Where it is not there or not understood, `error` says
 *  what. */
const ks_emu_kernel *ptx_kernel(const ks_emu_kernel &host, std::string *error);

#endif
