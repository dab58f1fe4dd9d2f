// racy.cu -- kernels in which threads meet at one place, with and without what orders them; for the emulated
// device alone.
#include "gpu/kernel.h"
#include "racy.h"

template <int what> KS_DEVICE void racy_shared(const racy_args &args)
{
    KS_SHARED(double, part, 64);
    const int i = (int)threadIdx.x, neighbour = what == RACY_LANES_HALF ? i ^ 16 : i ^ 1;
    const bool copies = what == RACY_COPIED || what == RACY_COPIED_ALONE;
    if (copies) {
        ks_async_copy(part + i, args.x + i, 8);
        ks_async_commit();
        ks_async_wait(0);
    } else {
        part[i] = args.x[i];
    }
    if (what == RACY_BARRIER) __syncthreads();
    if (what == RACY_LANES || what == RACY_LANES_AGAIN || what == RACY_WARPS || what == RACY_COPIED) __syncwarp();
    if (what == RACY_LANES_HALF) __syncwarp(i % 32 < 16 ? 0xffffu : 0xffff0000u);
    double sum = what == RACY_LANES_SHUFFLE || what == RACY_COPIED_ALONE ? __shfl_sync(0xffffffffu, part[i], 3) : 0;
    const bool far = what == RACY_BARRIER || what == RACY_NO_BARRIER || what == RACY_WARPS;
    sum += part[far ? i ^ 32 : neighbour];
    if (what == RACY_LANES_AGAIN) part[i] = sum;
    args.y[(int)blockIdx.x * 64 + i] = sum;
}

template <int what> KS_DEVICE void racy_bulk(const racy_args &args)
{
    KS_SHARED(ks_bulk_barrier, barrier, 1);
    KS_SHARED(double, written, 1);
    KS_DYNAMIC_SHARED(double, part);
    const int i = (int)threadIdx.x;
    part[i] = args.x[i];
    if (i == 0) ks_bulk_init(barrier, 1);
    __syncthreads();
    const double sum = part[i ^ 1];
    ks_bulk_fence();
    if (what != RACY_BULK_SOON) __syncthreads();
    if (i == 0) {
        if (what != RACY_BULK_LATE) written[0] = 1;
        ks_bulk_copy(part, args.x, 64 * sizeof(double), barrier);
        ks_bulk_arrive(barrier, 64 * sizeof(double));
        if (what == RACY_BULK_LATE) written[0] = 1;
    }
    ks_bulk_wait(barrier, 0);
    args.y[i] = sum + part[i] + written[0];
}

template <int what> KS_DEVICE void racy_bytes(const racy_args &args)
{
    unsigned char *const to = reinterpret_cast<unsigned char *>(args.y);
    if (what == RACY_BYTES) to[threadIdx.x] = 1;
    else if (what == RACY_BYTE) to[0] = 1;
    else ks_relaxed_store(to, static_cast<unsigned char>(1));
}

template <int what> KS_DEVICE void racy_global(const racy_args &args)
{
    const int i = (int)threadIdx.x, block = (int)blockIdx.x;
    if (what == RACY_PLAIN || (what == RACY_MIXED && block == 1)) args.y[i] += args.x[i];
    else if (what == RACY_ATOMIC || what == RACY_MIXED) atomicAdd(args.y + i, args.x[i]);
    else args.y[block * 64 + i] = args.x[i];
    if (what == RACY_GRID) ks_grid_sync();
    if (what >= RACY_BLOCKS && block > 0) args.y[128 + i] = args.y[(block - 1) * 64 + i];
}

#define RACY_KERNEL(name, races)                                                 \
    KS_KERNEL(racy_##name, racy_args)                                            \
    {                                                                            \
        if (RACY_##name < RACY_BULK) racy_shared<RACY_##name>(args);             \
        else if (RACY_##name < RACY_BYTES) racy_bulk<RACY_##name>(args);         \
        else if (RACY_##name < RACY_ATOMIC) racy_bytes<RACY_##name>(args);       \
        else racy_global<RACY_##name>(args);                                     \
    }
RACY_LIST(RACY_KERNEL)
