// ks_bt_solve.cu -- a level of the triangular solves with a stored factor.
//
// P lanes work on a block and a few right-hand sides, a row for each lane. Forward, each block of a level subtracts the
// terms of the neighbours that the previous level eliminated, and the blocks that are eliminated are solved. Backward,
// the eliminated blocks subtract the terms of their neighbours and are solved.
#include "lanes.cuh"

// Load C right-hand sides of row `lane` of a block, from the chunk's first on; zero beyond nrhs and n.
template <class T, int P, int C, class Blocks>
KS_DEVICE void ks_bt_load_x(const ks_bt_lanes<T, P> &g, const ks_bt_level_args &args,
                            const Blocks &blocks, const ks_bt_task &t, int k, T (&v)[C])
{
    const T *const from = ks_bt_block<const T>(blocks, t.system, k) + (int64_t)g.lane * args.nrhs;
    const int first = t.chunk * C;
#pragma unroll
    for (int c = 0; c < C; ++c)
        v[c] = g.lane < args.n && first + c < args.nrhs ? from[first + c] : T(0);
}

template <class T, int P, int C>
KS_DEVICE void ks_bt_store_x(const ks_bt_lanes<T, P> &g, const ks_bt_level_args &args,
                             const ks_bt_task &t, const T (&v)[C])
{
    T *const to = ks_bt_block<T>(args.x, t.system, t.k) + (int64_t)g.lane * args.nrhs;
    const int first = t.chunk * C;
#pragma unroll
    for (int c = 0; c < C; ++c)
        if (g.lane < args.n && first + c < args.nrhs) to[first + c] = v[c];
}

// v <- v - W x(k), with the W of an eliminated block k.
template <class T, int P, int C>
KS_DEVICE void ks_bt_take(const ks_bt_lanes<T, P> &g, const ks_bt_level_args &args,
                          const ks_bt_task &t, int k, int which, T (&v)[C])
{
    const T *const W = ks_bt_array<T, P>(args, t.system, k, which);
    T y[C];
    ks_bt_load_x<T, P, C>(g, args, args.x, t, k, y);
#pragma unroll
    for (int p = 0; p < P; ++p) {
        const T w = W[p * P + g.lane];
#pragma unroll
        for (int c = 0; c < C; ++c) v[c] -= w * ks_bt_from<T, P>(g, y[c], p);
    }
}

template <class T, int P, int C>
KS_DEVICE void ks_bt_forward_block(const ks_bt_lanes<T, P> &g, const ks_bt_level_args &args,
                                   const ks_bt_task &t)
{
    T v[C];
    if (t.level > 1) ks_bt_load_x<T, P, C>(g, args, args.x, t, t.k, v);
    else ks_bt_load_x<T, P, C>(g, args, args.b, t, t.k, v);
    if (t.level > 0) {
        const int half = t.reach / 2;
        ks_bt_take<T, P, C>(g, args, t, t.k - half, 2, v);
        if (t.k + half < args.N) ks_bt_take<T, P, C>(g, args, t, t.k + half, 1, v);
    }
    if (t.eliminated) {
        const T *const L = ks_bt_array<T, P>(args, t.system, t.k, 0);
        const T inverse = L[g.lane * P + g.lane];
#pragma unroll
        for (int p = 0; p < P; ++p) {
            const T l = g.lane > p ? L[p * P + g.lane] : T(0);
#pragma unroll
            for (int c = 0; c < C; ++c) {
                const T y = ks_bt_from<T, P>(g, v[c] * inverse, p);
                v[c] = g.lane == p ? y : v[c] - l * y;
            }
        }
    }
    ks_bt_store_x<T, P, C>(g, args, t, v);
}

// Copy an array that is stored by columns to shared memory, where a lane then reads column `lane`. `lower`: entries
// above the diagonal are not read.
template <class T, int P>
KS_DEVICE void ks_bt_transpose(const ks_bt_lanes<T, P> &g, const T *from, bool lower)
{
    ks_bt_sync(g); // the previous array has been read
#pragma unroll
    for (int p = 0; p < P; ++p)
        g.tile[0][p * (P + 1) + g.lane] = !lower || g.lane >= p ? from[p * P + g.lane] : T(0);
    ks_bt_sync(g);
}

// v <- v - W' x(k), with the W of this block and its neighbour k.
template <class T, int P, int C>
KS_DEVICE void ks_bt_give(const ks_bt_lanes<T, P> &g, const ks_bt_level_args &args,
                          const ks_bt_task &t, int k, int which, T (&v)[C])
{
    T x[C];
    ks_bt_load_x<T, P, C>(g, args, args.x, t, k, x);
    ks_bt_transpose<T, P>(g, ks_bt_array<T, P>(args, t.system, t.k, which), false);
#pragma unroll
    for (int r = 0; r < P; ++r) {
        const T w = g.tile[0][g.lane * (P + 1) + r];
#pragma unroll
        for (int c = 0; c < C; ++c) v[c] -= w * ks_bt_from<T, P>(g, x[c], r);
    }
}

template <class T, int P, int C>
KS_DEVICE void ks_bt_backward_block(const ks_bt_lanes<T, P> &g, const ks_bt_level_args &args,
                                    const ks_bt_task &t)
{
    T v[C];
    ks_bt_load_x<T, P, C>(g, args, args.x, t, t.k, v);
    if (t.k >= t.reach) ks_bt_give<T, P, C>(g, args, t, t.k - t.reach, 1, v);
    if (t.k + t.reach < args.N) ks_bt_give<T, P, C>(g, args, t, t.k + t.reach, 2, v);
    ks_bt_transpose<T, P>(g, ks_bt_array<T, P>(args, t.system, t.k, 0), true);
    const T *const L = g.tile[0] + g.lane * (P + 1); // column `lane`
    const T inverse = L[g.lane];
#pragma unroll
    for (int p = P - 1; p >= 0; --p) {
        const T l = g.lane < p ? L[p] : T(0);
#pragma unroll
        for (int c = 0; c < C; ++c) {
            const T x = ks_bt_from<T, P>(g, v[c] * inverse, p);
            v[c] = g.lane == p ? x : v[c] - l * x;
        }
    }
    ks_bt_store_x<T, P, C>(g, args, t, v);
}

#define FORWARD(name, T, P, C, blocks)                                                       \
    KS_KERNEL_BOUNDS(name, ks_bt_level_args, KS_BT_THREADS, blocks)                          \
    {                                                                                        \
        const ks_bt_lanes<T, P> g = ks_bt_lanes_here<T, P, false>();                         \
        ks_bt_walk<P>(args, true, false, (unsigned)(args.nrhs + C - 1) / C,                  \
                      [&](const ks_bt_task &t) { ks_bt_forward_block<T, P, C>(g, args, t); }); \
    }
#define BACKWARD(name, T, P, C, blocks)                                                      \
    KS_KERNEL_BOUNDS(name, ks_bt_level_args, KS_BT_THREADS, blocks)                          \
    {                                                                                        \
        const ks_bt_lanes<T, P> g = ks_bt_lanes_here<T, P, false>();                         \
        ks_bt_walk<P>(args, false, true, (unsigned)(args.nrhs + C - 1) / C,                  \
                      [&](const ks_bt_task &t) { ks_bt_backward_block<T, P, C>(g, args, t); }); \
    }

FORWARD(ks_bt_forward_1_4_f64, double, 4, 1, 8)
FORWARD(ks_bt_forward_1_8_f64, double, 8, 1, 8)
FORWARD(ks_bt_forward_1_16_f64, double, 16, 1, 5)
FORWARD(ks_bt_forward_1_32_f64, double, 32, 1, 2)
FORWARD(ks_bt_forward_4_4_f64, double, 4, 4, 8)
FORWARD(ks_bt_forward_4_8_f64, double, 8, 4, 6)
FORWARD(ks_bt_forward_4_16_f64, double, 16, 4, 4)
FORWARD(ks_bt_forward_4_32_f64, double, 32, 4, 2)
FORWARD(ks_bt_forward_1_4_f32, float, 4, 1, 8)
FORWARD(ks_bt_forward_1_8_f32, float, 8, 1, 8)
FORWARD(ks_bt_forward_1_16_f32, float, 16, 1, 5)
FORWARD(ks_bt_forward_1_32_f32, float, 32, 1, 3)
FORWARD(ks_bt_forward_4_4_f32, float, 4, 4, 8)
FORWARD(ks_bt_forward_4_8_f32, float, 8, 4, 6)
FORWARD(ks_bt_forward_4_16_f32, float, 16, 4, 5)
FORWARD(ks_bt_forward_4_32_f32, float, 32, 4, 2)
BACKWARD(ks_bt_backward_1_4_f64, double, 4, 1, 8)
BACKWARD(ks_bt_backward_1_8_f64, double, 8, 1, 8)
BACKWARD(ks_bt_backward_1_16_f64, double, 16, 1, 5)
BACKWARD(ks_bt_backward_1_32_f64, double, 32, 1, 4)
BACKWARD(ks_bt_backward_4_4_f64, double, 4, 4, 8)
BACKWARD(ks_bt_backward_4_8_f64, double, 8, 4, 8)
BACKWARD(ks_bt_backward_4_16_f64, double, 16, 4, 5)
BACKWARD(ks_bt_backward_4_32_f64, double, 32, 4, 4)
BACKWARD(ks_bt_backward_1_4_f32, float, 4, 1, 8)
BACKWARD(ks_bt_backward_1_8_f32, float, 8, 1, 8)
BACKWARD(ks_bt_backward_1_16_f32, float, 16, 1, 8)
BACKWARD(ks_bt_backward_1_32_f32, float, 32, 1, 5)
BACKWARD(ks_bt_backward_4_4_f32, float, 4, 4, 8)
BACKWARD(ks_bt_backward_4_8_f32, float, 8, 4, 8)
BACKWARD(ks_bt_backward_4_16_f32, float, 16, 4, 6)
BACKWARD(ks_bt_backward_4_32_f32, float, 32, 4, 5)

// Sum the logarithms of the pivots: KS_BT_SUMS thread blocks for each system. The order of summation depends on N and n
// alone.
template <class T> KS_DEVICE void ks_bt_logdet(const ks_bt_logdet_args &args)
{
    KS_SHARED(double, part, KS_BT_THREADS);
    const int64_t P = args.padded, sums = (int64_t)args.systems * KS_BT_SUMS;
    for (int64_t at = blockIdx.x; at < sums; at += gridDim.x) {
        const int64_t first = at / KS_BT_SUMS * args.N;
        double sum = 0;
        for (int64_t i = at % KS_BT_SUMS * KS_BT_THREADS + threadIdx.x; i < (int64_t)args.N * args.n;
             i += KS_BT_SUMS * KS_BT_THREADS) {
            const int64_t number = first + i / args.n, p = i % args.n;
            sum -= 2 * log((double)static_cast<const T *>(args.factor)[number * 3 * P * P + p * (P + 1)]);
            if (args.scale) sum -= 2 * log(args.scale[number * args.n + p]);
        }
        part[threadIdx.x] = sum;
        __syncthreads();
        for (unsigned half = KS_BT_THREADS / 2; half > 0; half /= 2) {
            if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
            __syncthreads();
        }
        if (threadIdx.x == 0) args.sums[at] = part[0];
    }
}

KS_KERNEL_BOUNDS(ks_bt_logdet_f64, ks_bt_logdet_args, KS_BT_THREADS, 8) { ks_bt_logdet<double>(args); }
KS_KERNEL_BOUNDS(ks_bt_logdet_f32, ks_bt_logdet_args, KS_BT_THREADS, 8) { ks_bt_logdet<float>(args); }

KS_KERNEL_BOUNDS(ks_bt_logdet_end, ks_bt_logdet_args, KS_BT_THREADS, 8)
{
    for (int64_t system = ks_grid_thread(); system < args.systems; system += ks_grid_threads()) {
        double sum = 0;
        for (int i = 0; i < KS_BT_SUMS; ++i) sum += args.sums[system * KS_BT_SUMS + i];
        args.out[system] = sum;
    }
}
