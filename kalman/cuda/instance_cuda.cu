// instance_cuda.cu -- the arithmetic texts as CUDA device code with literal sizes.
//
// A thread does what a lane of a scan or a step is on the CPU. Elements and estimates are in global memory, scratch is
// in local memory. Every build that has nvcc compiles these instances, and so checks the texts.
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include "hd.h"

#include "num_f64.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "element_text.h"
#include "num_end.h"

#include "num_f32.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "element_text.h"
#include "num_end.h"

// Enough scratch for any function of element_text.h at (nx, ny).
#define SCRATCH(nx, ny)                                                                     \
    (23 * (nx) * (nx) + 6 * (ny) * (nx) + 3 * (ny) * (ny) + 2 * ((nx) + (ny)) * ((nx) + (ny)) + \
     16 * ((nx) + (ny)))

#define INSTANCE(suffix, number, nx, ny)                                                    \
    extern "C" __global__ void ks_cuda_combine_##nx##_##suffix(                             \
        int64_t lanes, number *elements, const int64_t *dst, const int64_t *lhs,            \
        const int64_t *rhs)                                                                 \
    {                                                                                       \
        number scratch[SCRATCH(nx, ny)];                                                    \
        const int64_t size = ks_filter_element_size(nx);                                    \
        const int64_t stride = (int64_t)gridDim.x * blockDim.x;                             \
        for (int64_t l = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; l < lanes; l += stride) \
            ks_filter_combine_##suffix(nx, elements + dst[l] * size, elements + lhs[l] * size, \
                                       elements + rhs[l] * size, scratch);                  \
    }                                                                                       \
    extern "C" __global__ void ks_cuda_smooth_combine_##nx##_##suffix(                      \
        int64_t lanes, number *elements, const int64_t *dst, const int64_t *lhs,            \
        const int64_t *rhs)                                                                 \
    {                                                                                       \
        number scratch[SCRATCH(nx, ny)];                                                    \
        const int64_t size = ks_smooth_element_size(nx);                                    \
        const int64_t stride = (int64_t)gridDim.x * blockDim.x;                             \
        for (int64_t l = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; l < lanes; l += stride) \
            ks_smooth_combine_##suffix(nx, elements + dst[l] * size, elements + lhs[l] * size, \
                                       elements + rhs[l] * size, scratch);                  \
    }                                                                                       \
    extern "C" __global__ void ks_cuda_elements_##nx##_##ny##_##suffix(                     \
        int64_t steps, const number *F, const number *Q, const number *u, const number *H,  \
        const number *R, const number *d, const number *y, number *elements, int *array_form) \
    {                                                                                       \
        number scratch[SCRATCH(nx, ny)];                                                    \
        const int64_t size = ks_filter_element_size(nx);                                    \
        const int64_t stride = (int64_t)gridDim.x * blockDim.x;                             \
        for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < steps; k += stride) \
            array_form[k] = !ks_filter_element_##suffix(                                    \
                nx, ny, F + k * nx * nx, Q + k * nx * nx, u + k * nx, H + k * ny * nx,      \
                R + k * ny * ny, d + k * ny, y + k * ny, elements + k * size, scratch);     \
    }

INSTANCE(f64, double, 4, 2)
INSTANCE(f32, float, 4, 2)
