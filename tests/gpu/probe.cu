// probe.cu -- kernels that try out each word of gpu/kernel.h, on any device.
#include "gpu/kernel.h"
#include "probe.h"

// The sum of x by a tree in shared memory; blockDim.x is a power of two.
KS_KERNEL(probe_sum, probe_sum_args)
{
    KS_DYNAMIC_SHARED(double, part);
    double sum = 0;
    for (int64_t i = ks_grid_thread(); i < args.n; i += ks_grid_threads()) sum += args.x[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) args.sums[blockIdx.x] = part[0];
}

// What a launch costs.
KS_KERNEL(probe_nothing, probe_sum_args) { (void)args; }

// Sums with all before: by shuffles in each warp, then over the warps' totals; whole warps.
KS_KERNEL(probe_scan, probe_scan_args)
{
    KS_SHARED(int64_t, totals, 32);
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    int64_t sum = args.x[ks_grid_thread()];
    for (int step = 1; step < 32; step *= 2) {
        const int64_t other = __shfl_up_sync(0xffffffffu, sum, step);
        if (lane >= step) sum += other;
    }
    if (lane == 31) totals[warp] = sum;
    __syncthreads();
    for (int w = 0; w < warp; ++w) sum += totals[w];
    args.sums[ks_grid_thread()] = sum;
}

// y[i] = x[i - 1] + x[i + 1] on a ring, and back, with barriers of the grid between the rounds.
KS_KERNEL(probe_spread, probe_spread_args)
{
    double *from = args.x, *to = args.y;
    for (int round = 0; round < args.rounds; ++round) {
        for (int64_t i = ks_grid_thread(); i < args.n; i += ks_grid_threads())
            to[i] = from[(i + args.n - 1) % args.n] + from[(i + 1) % args.n];
        double *const swap = from;
        from = to;
        to = swap;
        ks_grid_sync();
    }
}

// C <- A B + C with one warp; fragments as gpu/kernel_mma.h has them.
KS_KERNEL(probe_product, probe_product_args)
{
    const int g = (int)threadIdx.x / 4, t = (int)threadIdx.x % 4, tall = args.m / 8;
    double a[8], b[4], c[4];
    for (int i = 0; i < tall * args.k / 4; ++i)
        a[i] = args.a[(g + 8 * (i % tall)) * args.k + t + 4 * (i / tall)];
    for (int i = 0; i < args.k / 4; ++i) b[i] = args.b[(t + 4 * i) * 8 + g];
    for (int i = 0; i < 2 * tall; ++i) c[i] = args.c[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2];
    if (args.m == 8) ks_mma_8x8x4(c, a[0], b[0]);
    else if (args.k == 4) ks_mma_16x8x4(c, a, b);
    else if (args.k == 8) ks_mma_16x8x8(c, a, b);
    else ks_mma_16x8x16(c, a, b);
    for (int i = 0; i < 2 * tall; ++i) args.c[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2] = c[i];
}

// Tiles through two stages of shared memory, the next on its way while one is used.
KS_KERNEL(probe_stage, probe_stage_args)
{
    KS_DYNAMIC_SHARED(double, stage);
    const int64_t n = blockDim.x, first = (int64_t)blockIdx.x * args.tiles * n;
    ks_async_copy(stage + threadIdx.x, args.x + first + threadIdx.x, 8);
    ks_async_commit();
    for (int64_t tile = 0; tile < args.tiles; ++tile) {
        if (tile + 1 < args.tiles)
            ks_async_copy(stage + (tile + 1) % 2 * n + threadIdx.x,
                          args.x + first + (tile + 1) * n + threadIdx.x, 8);
        ks_async_commit();
        ks_async_wait(1);
        __syncthreads();
        args.y[first + tile * n + threadIdx.x] = stage[tile % 2 * n + n - 1 - threadIdx.x];
        __syncthreads();
    }
}

// Rows of each thread through its stages of shared memory, later ones on their way while one is used; a
// barrier for each stage of a warp.
KS_KERNEL(probe_bulk, probe_bulk_args)
{
    KS_SHARED(ks_bulk_barrier, all, 32 * 4);
    KS_DYNAMIC_SHARED(double, stage);
    const int n = 6, room = 8, stages = args.stages;
    ks_bulk_barrier *const barriers = all + (int)threadIdx.x / 32 * stages;
    double *const own = stage + (int)threadIdx.x * stages * room;
    const double *const from = args.x + ks_grid_thread() * args.rows * n;
    double sum[6] = {0};
    if (threadIdx.x % 32 == 0)
        for (int s = 0; s < stages; ++s) ks_bulk_init(barriers + s, 32);
    __syncthreads();
    for (int64_t row = 0; row < args.rows + stages - 1; ++row) {
        const int64_t used = row - (stages - 1);
        if (row < args.rows) {
            ks_bulk_barrier *const barrier = barriers + row % stages;
            ks_bulk_copy(own + row % stages * room, from + row * n, n * 8, barrier);
            ks_bulk_arrive(barrier, n * 8);
        }
        if (used < 0) continue;
        ks_bulk_wait(barriers + used % stages, (unsigned)(used / stages % 2));
        for (int i = 0; i < n; ++i) sum[i] += own[used % stages * room + i];
        __syncwarp();
    }
    for (int i = 0; i < n; ++i) args.y[ks_grid_thread() * n + i] = sum[i];
}

// One warp: votes, shuffles in whole and in parts, barriers that count, atomics.
KS_KERNEL(probe_warp, probe_warp_args)
{
    const unsigned all = 0xffffffffu;
    const int lane = (int)threadIdx.x;
    const double value = 100 + lane;
    const unsigned odd = __ballot_sync(all, lane % 2);
    const unsigned few = __any_sync(all, lane == 7), every = __all_sync(all, lane < 31);
    const unsigned low = lane < 16 ? __ballot_sync(0xffffu, lane > 3) : 0;
    __syncwarp();
    args.values[lane] = __shfl_sync(all, value, 5);
    args.values[32 + lane] = __shfl_up_sync(all, value, 3, 8);
    args.values[64 + lane] = __shfl_down_sync(all, value, 3, 8);
    args.values[96 + lane] = __shfl_xor_sync(all, value, 9);
    const int count = __syncthreads_count(lane < 11);
    const int any = __syncthreads_or(lane == 3), none = __syncthreads_and(lane != 3);
    atomicAdd(&args.counters[0], lane);
    atomicMin(&args.counters[1], -lane);
    atomicMax(&args.counters[2], lane);
    atomicCAS(&args.counters[3], 0, lane + 1);
    if (lane) return;
    args.bits[0] = odd;
    args.bits[1] = few;
    args.bits[2] = every;
    args.bits[3] = low;
    args.bits[4] = (unsigned)count;
    args.bits[5] = any != 0;
    args.bits[6] = none != 0;
    args.bits[7] = (unsigned)(__popc(odd) + __ffs(4) + __clz(1));
}
