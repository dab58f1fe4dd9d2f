// ks_scan_elements.cu -- the operators of filtering and smoothing elements on a device, for the rounds
// of any scan: one thread does what one lane does on the CPU, by the same text.
#include <float.h>
#include "gpu/kernel.h"
#include "hd.h"
#include "kalscan/scan.cuh"
#include "scan_elements.h"

#include "num_f64.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "element_text.h"
#include "num_end.h"

// The thread's scratch: for N states its own, for N = 0 a slice of what the launch brings.
template <int N> struct scratch {
    double numbers[18 * N * N + 12 * N], room[2 * N * N + 3 * N];
    __device__ explicit scratch(const ks_scan_elements_args &) {}
    __device__ int nx() const { return N; }
    __device__ double *work() { return numbers; }
    __device__ double *spare() { return room; }
};
template <> struct scratch<0> {
    const int n;
    double *const slice;
    __device__ explicit scratch(const ks_scan_elements_args &args)
        : n(args.nx), slice(args.scratch + ks_grid_thread() * ks_scan_elements_scratch(args.nx))
    {
    }
    __device__ int nx() const { return n; }
    __device__ double *spare() { return slice; }
    __device__ double *work() { return slice + ks_filter_element_size_f64(n); }
};

template <int N> struct filter_operator : scratch<N> {
    typedef double element;
    using scratch<N>::scratch;
    __device__ int64_t size() const { return ks_filter_element_size_f64(this->nx()); }
    __device__ void combine(double *dst, const double *lhs, const double *rhs)
    {
        ks_filter_combine_f64(this->nx(), dst, lhs, rhs, this->work());
    }
    __device__ void neutral(double *dst) { ks_filter_neutral_f64(this->nx(), dst); }
};

template <int N> struct smooth_operator : scratch<N> {
    typedef double element;
    using scratch<N>::scratch;
    __device__ int64_t size() const { return ks_smooth_element_size_f64(this->nx()); }
    __device__ void combine(double *dst, const double *lhs, const double *rhs)
    {
        ks_smooth_combine_f64(this->nx(), dst, lhs, rhs, this->work());
    }
    __device__ void neutral(double *dst) { ks_smooth_neutral_f64(this->nx(), dst); }
};

template <class Op> KS_DEVICE void run_round(const ks_scan_elements_args &args)
{
    Op op(args);
    ks_scan_share<Op, ks_scan_lane<Op>>(op, args.task, ks_grid_thread(), ks_grid_threads());
}

#define KERNELS(name, N)                                                                            \
    KS_KERNEL_BOUNDS(ks_filter_scan_##name, ks_scan_elements_args, 128, 1)                          \
    {                                                                                               \
        run_round<filter_operator<N>>(args);                                                        \
    }                                                                                               \
    KS_KERNEL_BOUNDS(ks_smooth_scan_##name, ks_scan_elements_args, 128, 1)                          \
    {                                                                                               \
        run_round<smooth_operator<N>>(args);                                                        \
    }

KERNELS(1, 1)
KERNELS(2, 2)
KERNELS(3, 3)
KERNELS(4, 4)
KERNELS(any, 0)
