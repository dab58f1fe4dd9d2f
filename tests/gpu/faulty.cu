// faulty.cu -- a block's sum, right once and with one mistake each; for the emulated device alone.
#include "gpu/kernel.h"
#include "faulty.h"

template <int wrong> KS_DEVICE void faulty_sum(const faulty_args &args)
{
    KS_SHARED(double, part, 64);
    const unsigned i = threadIdx.x, n = blockDim.x;
    double big = 0;
    if (wrong == FAULTY_NO_ASYNC_WAIT) {
        ks_async_copy(part + i, args.x + i, 8);
        ks_async_commit();
    } else if (wrong != FAULTY_NOT_WRITTEN || i != 9) {
        part[i] = args.x[i];
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

#define FAULTY_KERNEL(name) \
    KS_KERNEL(faulty_##name, faulty_args) { faulty_sum<FAULTY_##name>(args); }
FAULTY_LIST(FAULTY_KERNEL)
