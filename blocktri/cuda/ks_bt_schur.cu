// ks_bt_schur.cu -- what recursive Schur complements need beside dense libraries: copies of the caller's arrays,
// pointers to blocks of x, and the log-determinant.
#include "gpu/kernel.h"
#include "ks_bt_schur.h"

template <class T> KS_DEVICE void copy_blocks(T *to, const ks_bt_in &from, int64_t count, int64_t size)
{
    for (int64_t at = ks_grid_thread(); at < count * size; at += ks_grid_threads())
        to[at] = static_cast<const T *>(from.data)[at / size * from.stride + at % size];
}

// Copy the lower triangles of D. Above them are zeros, so that no NaN gets into a product.
template <class T> KS_DEVICE void take(const ks_bt_schur_args &args)
{
    const int64_t n = args.n, size = n * n;
    T *const D = static_cast<T *>(args.to_D);
    for (int64_t at = ks_grid_thread(); at < args.N * size; at += ks_grid_threads())
        D[at] = at % n <= at % size / n
                    ? static_cast<const T *>(args.D.data)[at / size * args.D.stride + at % size]
                    : T(0);
    copy_blocks<T>(static_cast<T *>(args.to_L), args.L, args.N - 1, size);
    copy_blocks<T>(static_cast<T *>(args.Y), args.L, args.N - 1, size);
}

template <class T> KS_DEVICE void bring(const ks_bt_schur_args &args)
{
    const int64_t size = (int64_t)args.n * args.nrhs;
    T *const x = static_cast<T *>(args.x.data);
    const T *const b = static_cast<const T *>(args.b.data);
    for (int64_t at = ks_grid_thread(); at < args.N * size; at += ks_grid_threads())
        x[at / size * args.x.stride + at % size] = b[at / size * args.b.stride + at % size];
    for (int64_t i = ks_grid_thread(); i < args.N; i += ks_grid_threads())
        args.pointers[i] = x + args.blocks[i] * args.x.stride;
}

// A share of the logarithms for each of KS_BT_SUMS thread blocks. ks_bt_logdet_end adds their sums.
template <class T> KS_DEVICE void logdet(const ks_bt_schur_args &args)
{
    KS_SHARED(double, part, KS_BT_THREADS);
    const int64_t n = args.n;
    double sum = 0;
    for (int64_t i = ks_grid_thread(); i < args.N * n; i += ks_grid_threads())
        sum += 2 * log((double)static_cast<const T *>(args.to_D)[i / n * n * n + i % n * (n + 1)]);
    part[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = KS_BT_THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) args.sums[blockIdx.x] = part[0];
}

#define SCHUR(suffix, T)                                                                              \
    KS_KERNEL_BOUNDS(ks_bt_schur_take_##suffix, ks_bt_schur_args, KS_BT_THREADS, 8) { take<T>(args); }  \
    KS_KERNEL_BOUNDS(ks_bt_schur_bring_##suffix, ks_bt_schur_args, KS_BT_THREADS, 8) { bring<T>(args); } \
    KS_KERNEL_BOUNDS(ks_bt_schur_logdet_##suffix, ks_bt_schur_args, KS_BT_THREADS, 8)                   \
    {                                                                                                 \
        logdet<T>(args);                                                                              \
    }

SCHUR(f64, double)
SCHUR(f32, float)
