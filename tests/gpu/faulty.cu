// faulty.cu -- a block's sum, right once and with one mistake each; for the emulated device alone.
#include "gpu/kernel.h"
#include "faulty.h"

// part[i] = x[i] by bulk copies, of four numbers each by one thread in four.
template <int wrong> KS_DEVICE double faulty_bulk(const faulty_args &args, double *part)
{
    KS_SHARED(ks_bulk_barrier, barrier, 1);
    const unsigned i = threadIdx.x, n = blockDim.x, last = i == n - 4;
    double early = 0;
    if (i == 0 && wrong != FAULTY_BULK_NO_BARRIER)
        ks_bulk_init(barrier, wrong == FAULTY_BULK_THREADS ? n - 1 : n);
    __syncthreads();
    unsigned bytes = 0;
    if (i % 4 == 0) {
        bytes = 32;
        if (wrong == FAULTY_BULK_TWICE) {
            ks_bulk_copy(part + i, args.x + (i + 4) % n, bytes, barrier);
            bytes = 64;
        }
        ks_bulk_copy(part + i + (wrong == FAULTY_BULK_TO && last) + (wrong == FAULTY_BULK_PAST && last ? 2 : 0),
                     args.x + i - (wrong == FAULTY_BULK_FROM && last),
                     wrong == FAULTY_BULK_LENGTH && last ? 24 : 32, barrier);
    }
    ks_bulk_arrive(barrier, wrong == FAULTY_BULK_BYTES ? bytes + 16 : bytes);
    if (wrong == FAULTY_BULK_THREADS) __syncthreads();
    if (wrong == FAULTY_BULK_EARLY && i % 4 == 0) early = part[i] - args.x[i];
    if (wrong != FAULTY_BULK_NO_WAIT) ks_bulk_wait(barrier, wrong == FAULTY_BULK_PHASE);
    if (wrong == FAULTY_BULK_NEXT_PHASE) ks_bulk_wait(barrier, 1);
    return early;
}

template <int wrong> KS_DEVICE void faulty_sum(const faulty_args &args)
{
    KS_SHARED(double, part, 64);
    const unsigned i = threadIdx.x, n = blockDim.x;
    double big = 0;
    if (wrong == FAULTY_NO_ASYNC_WAIT) {
        ks_async_copy(part + i, args.x + i, 8);
        ks_async_commit();
    } else if (wrong >= FAULTY_BULK) {
        big = faulty_bulk<wrong>(args, part);
    } else if (wrong == FAULTY_NOT_ALIGNED) {
        memcpy(&part[i], ks_aligned(args.x + i, 16), sizeof *part);
    } else if (wrong != FAULTY_NOT_WRITTEN || i != 9) {
        memcpy(&part[i], ks_aligned(args.x + i, 8), sizeof *part);
    }
    if (wrong == FAULTY_TOO_MUCH_SHARED) {
        KS_SHARED(double, more, 64 * 1024);
        more[i] = 1;
        big = more[i] - 1;
    }
    if (wrong == FAULTY_PAST_SHARED && i == n - 1) part[n] = 1;
    if (wrong == FAULTY_PAST_GLOBAL && i == n - 1) args.y[n] = 1;
    if (wrong == FAULTY_EARLY_END && i % 2) return;
    if (wrong == FAULTY_SKIPPED_BARRIER) {
        if (i % 2) __syncthreads();
    } else if (wrong == FAULTY_TWO_BARRIERS) {
        if (i % 2) __syncthreads();
        else
            __syncthreads();
    } else {
        __syncthreads();
    }
    if (wrong == FAULTY_GRID_BARRIER) ks_grid_sync();
    for (unsigned half = n / 2; half > 0; half /= 2) {
        if (i < half) part[i] += part[i + half - (wrong == FAULTY_WRONG_INDEX && half > 1 ? 1 : 0)];
        if (wrong != FAULTY_MISSING_BARRIER || half != 8) __syncthreads();
    }
    double sum = part[0] + big;
    if (wrong == FAULTY_LANE_MISSING && i != 40) sum = __shfl_sync(0xffffffffu, sum, 0);
    args.y[i] = sum;
}

// A barrier of the grid, for the `round`th time, that lets go when all blocks have come but so many.
KS_DEVICE void faulty_barrier(const faulty_args &args, unsigned round, unsigned missing)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(args.come, 1u);
        while (atomicAdd(args.come, 0u) < round * gridDim.x - missing) __nanosleep(20);
        __threadfence();
    }
    __syncthreads();
}

// A barrier before a block reads what another one has written.
template <int wrong> KS_DEVICE void faulty_level(const faulty_args &args, unsigned round)
{
    const bool own = wrong == FAULTY_GRID_OWN || wrong == FAULTY_GRID_EARLY;
    const bool comes = wrong == FAULTY_GRID_SOME || wrong == FAULTY_GRID_TWO_PLACES ? blockIdx.x % 2 == 0
                       : wrong == FAULTY_GRID_THREAD                                ? threadIdx.x == 0
                                                                                    : true;
    if (wrong == FAULTY_GRID_BLOCK) __syncthreads();
    else if (own) faulty_barrier(args, round, wrong == FAULTY_GRID_EARLY);
    else if (comes && wrong != FAULTY_GRID_MISSING) ks_grid_sync();
    else if (wrong == FAULTY_GRID_TWO_PLACES)
        ks_grid_sync();
}

// The same sum by a tree in the device's memory, over the threads of a grid.
template <int wrong> KS_DEVICE void faulty_grid(const faulty_args &args)
{
    const unsigned i = (unsigned)ks_grid_thread(), n = (unsigned)ks_grid_threads();
    args.y[i] = args.x[i];
    faulty_level<wrong>(args, 1);
    for (unsigned half = n / 2; half > 0; half /= 2) {
        if (i < half) args.y[i] += args.y[i + half];
        if (half == n / 2) faulty_level<wrong>(args, 2);
        else
            ks_grid_sync();
    }
    const double sum = args.y[0];
    ks_grid_sync();
    args.y[i] = sum;
}

#define FAULTY_KERNEL(name)                                                        \
    KS_KERNEL(faulty_##name, faulty_args)                                          \
    {                                                                              \
        if (FAULTY_##name >= FAULTY_GRID && FAULTY_##name < FAULTY_BULK)           \
            faulty_grid<FAULTY_##name>(args);                                      \
        else                                                                       \
            faulty_sum<FAULTY_##name>(args);                                       \
    }
FAULTY_LIST(FAULTY_KERNEL)
