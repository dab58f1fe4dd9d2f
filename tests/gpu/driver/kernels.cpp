/* kernels.cpp -- modules, their functions, what a launch may have, and launches. */
#include <deque>

#include "driver.h"
#include "image.h"
#include "ptx/ptx.h"

enum { WARP = 32 };
/* Of a multiprocessor of compute capability 9.0: registers, and how they are handed out to a warp. */
enum { REGISTERS = 65536, REGISTER_UNIT = 256, SCHEDULERS = 4, MOST_BLOCKS = 32 };
enum { KILOBYTE = 1024, SHARED_UNASKED = 48 * KILOBYTE, SHARED_OF_SYSTEM = KILOBYTE };

struct CUfunc_st {
    CUmod_st *module;
    image_kernel needs;
    const ks_emu_kernel *host;
    const ks_gpu_kernel *kernel;
    size_t dynamic; /* bytes of dynamic shared memory that a launch may have */
};
struct CUmod_st {
    CUctx_st *context;
    const unsigned char *code;
    std::deque<CUfunc_st> functions;
};

const ks_emu_kernel *host_kernel(const char *name)
{
    const ks_emu_kernel *k = ks_emu_kernels();
    while (k && strcmp(k->name, name) != 0) k = k->next;
    return k;
}

static size_t volume(unsigned x, unsigned y, unsigned z) { return (size_t)x * y * z; }

/* How many blocks of a function run side by side in a multiprocessor. */
static int side_by_side(const CUfunc_st &f, size_t threads, size_t dynamic)
{
    if (!threads || threads > (size_t)gpu()->attributes.block_threads || dynamic > f.dynamic) return 0;
    const size_t warps = (threads + WARP - 1) / WARP;
    const size_t unit = ((size_t)f.needs.registers * WARP + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    const size_t by_registers = REGISTERS / SCHEDULERS / unit * SCHEDULERS / warps;
    const size_t by_threads = (size_t)gpu()->attributes.threads / (warps * WARP);
    const size_t by_memory = (gpu()->attributes.block_shared + SHARED_OF_SYSTEM) /
                             (f.needs.shared + dynamic + SHARED_OF_SYSTEM);
    size_t least = MOST_BLOCKS;
    for (size_t n : {by_registers, by_threads, by_memory}) least = n < least ? n : least;
    return (int)least;
}

static CUresult launch(CUfunction f, const ks_gpu_shape &shape, CUstream s, void **arguments)
{
    const size_t threads = volume(shape.block[0], shape.block[1], shape.block[2]);
    const size_t blocks = volume(shape.grid[0], shape.grid[1], shape.grid[2]);
    if (f->module->context != current() || foreign(s))
        return all.complain(CUDA_ERROR_INVALID_HANDLE, std::string(f->host->name) + ": launched in another context");
    if (shape.shared > f->dynamic || !threads || !blocks)
        return all.complain(CUDA_ERROR_INVALID_VALUE, std::string(f->host->name) + ": a launch of no such size");
    if (f->needs.most_threads && threads > (size_t)f->needs.most_threads)
        return all.complain(CUDA_ERROR_INVALID_VALUE, std::string(f->host->name) + ": more threads than its bounds");
    const int each = side_by_side(*f, threads, shape.shared);
    if (!each)
        return all.complain(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, std::string(f->host->name) + ": too many resources");
    if (shape.cooperative && blocks > (size_t)each * (size_t)gpu()->attributes.multiprocessors)
        return all.complain(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, std::string(f->host->name) + ": too many blocks");
    return result_of(table().launch(gpu(), f->kernel, &shape, arguments[0], f->host->args_bytes, stream_of(s)));
}

EXPORT CUresult cuModuleLoadData(CUmodule *out, const void *image)
{
    ENTER(cuModuleLoadData, true);
    const ks_gpu_attributes &a = gpu()->attributes;
    const unsigned char *const code = image_code(image, ks_emulated.old ? 7 : a.major, a.minor);
    if (!code) return CUDA_ERROR_NO_BINARY_FOR_GPU;
    *out = new CUmod_st{current(), code, {}};
    ++all.modules;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleUnload(CUmodule module)
{
    ENTER(cuModuleUnload, true);
    if (module->context != current()) return all.complain(CUDA_ERROR_INVALID_HANDLE, "a module of another context");
    run_all(of(gpu()));
    --all.modules;
    delete module;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name)
{
    ENTER(cuModuleGetFunction, true);
    CUfunc_st f = {module, {}, host_kernel(name), nullptr, 0};
    if (module->context != current()) return all.complain(CUDA_ERROR_INVALID_HANDLE, "a module of another context");
    if (!image_find(module->code, name, &f.needs)) return CUDA_ERROR_NOT_FOUND;
    if (!f.host) return all.complain(CUDA_ERROR_NOT_FOUND, std::string(name) + ": not compiled for the host");
    if (f.host->args_bytes != f.needs.arguments)
        return all.complain(CUDA_ERROR_INVALID_IMAGE, std::string(name) + ": its arguments have another size here");
    const ks_status status = table().kernel(gpu(), &f.kernel, f.host->module, name);
    if (status) return result_of(status);
    std::string error;
    const ks_emu_kernel *const compiled = ptx_kernel(*f.host, &error);
    if (!error.empty()) return all.complain(CUDA_ERROR_INVALID_IMAGE, std::string(name) + ": " + error);
    if (compiled) {
        of(gpu()).kernels.push_back({compiled});
        f.kernel = &of(gpu()).kernels.back();
    }
    f.dynamic = f.needs.shared < SHARED_UNASKED ? SHARED_UNASKED - f.needs.shared : 0;
    if (f.needs.local > gpu()->local) gpu()->local = f.needs.local;
    module->functions.push_back(f);
    *out = &module->functions.back();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncLoad(CUfunction f);
EXPORT CUresult cuFuncLoad(CUfunction f)
{
    ENTER(cuFuncLoad, true);
    return f->module->context == current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

EXPORT CUresult cuFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction f)
{
    ENTER(cuFuncGetAttribute, true);
    switch (which) {
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)f->needs.shared; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)f->needs.local; break;
    default: return all.complain(CUDA_ERROR_INVALID_VALUE, "cuFuncGetAttribute: one that it does not know");
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute which, int value)
{
    ENTER(cuFuncSetAttribute, true);
    const size_t most = gpu()->attributes.block_shared - f->needs.shared;
    if (which != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 || (size_t)value > most)
        return all.complain(CUDA_ERROR_INVALID_VALUE, std::string(f->host->name) + ": more shared memory than there is");
    f->dynamic = (size_t)value;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int threads, size_t dynamic)
{
    ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor, true);
    *blocks = threads > 0 ? side_by_side(*f, (size_t)threads, dynamic) : 0;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                               unsigned block_y, unsigned block_z, unsigned dynamic, CUstream s, void **arguments,
                               void **more)
{
    ENTER(cuLaunchKernel, true);
    const ks_gpu_shape shape = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic, 0};
    return more ? CUDA_ERROR_INVALID_VALUE : launch(f, shape, s, arguments);
}

EXPORT CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic,
                                          CUstream s, void **arguments)
{
    ENTER(cuLaunchCooperativeKernel, true);
    const ks_gpu_shape shape = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic, 1};
    return launch(f, shape, s, arguments);
}
