// lanes.cuh -- P lanes that hold the rows of one block: where they are, how they load and store.
#ifndef KS_BT_LANES_CUH
#define KS_BT_LANES_CUH

#include "gpu/kernel.h"
#include "ks_bt_level.h"

// 16 bytes of shared memory, read at once.
template <class T> struct alignas(16) ks_bt_pack {
    static constexpr int size = 16 / (int)sizeof(T);
    T v[16 / sizeof(T)];
};
template <class T> KS_DEVICE ks_bt_pack<T> ks_bt_read(const T *shared)
{
    return *reinterpret_cast<const ks_bt_pack<T> *>(shared);
}

KS_DEVICE double ks_bt_rsqrt(double x) { return rsqrt(x); }
KS_DEVICE float ks_bt_rsqrt(float x) { return rsqrtf(x); }

// The lanes of one block and their shared memory. tile[1] and column exist in factorizations only.
template <class T, int P> struct ks_bt_lanes {
    int lane;      // of P
    unsigned mask; // of the warp's lanes
    T *tile[2];    // (P, P + 1), (P, P)
    T *column;     // (2, P)
};

template <class T, int P, bool FACTOR> KS_DEVICE ks_bt_lanes<T, P> ks_bt_lanes_here(void)
{
    KS_DYNAMIC_SHARED(unsigned char, shared);
    const int thread = (int)threadIdx.x, first = thread % 32 / P * P;
    const size_t bytes = KS_BT_SHARED(P, sizeof(T), FACTOR);
    T *const own = reinterpret_cast<T *>(shared + (size_t)(thread / P) * bytes);
    ks_bt_lanes<T, P> g;
    g.lane = thread % P;
    g.mask = (0xffffffffu >> (32 - P)) << first;
    g.tile[1] = own;
    g.column = own + P * P;
    g.tile[0] = own + (FACTOR ? P * (P + 2) : 0);
    return g;
}

// Barrier of the lanes. A whole warp needs no mask; WHOLE: the other lanes of the warp come along.
template <class T, int P, bool WHOLE = P == 32> KS_DEVICE void ks_bt_sync(const ks_bt_lanes<T, P> &g)
{
    if (WHOLE) __syncwarp();
    else ks_lanes_sync(g.mask);
}

template <class T, int P, bool WHOLE = P == 32>
KS_DEVICE T ks_bt_from(const ks_bt_lanes<T, P> &g, T value, int lane)
{
    return __shfl_sync(WHOLE ? 0xffffffffu : g.mask, value, lane, P);
}

// A block of a level in one system, and the distance of its neighbours. The driver keeps all numbers of blocks and of
// pieces of work below 2^31.
struct ks_bt_task {
    int system, k, reach; // reach: 2^level
    int level, chunk;     // chunk: of the right-hand sides
    bool eliminated;
};

KS_DEVICE ks_bt_task ks_bt_task_of(int N, int level, int system, int number, int chunk)
{
    const int blocks = N >> level, eliminated = (blocks + 1) / 2;
    ks_bt_task t;
    t.system = system;
    t.level = level;
    t.chunk = chunk;
    t.reach = 1 << level;
    t.eliminated = number < eliminated;
    const int position = t.eliminated ? 2 * number : 2 * (number - eliminated) + 1;
    t.k = (position + 1) * t.reach - 1;
    return t;
}

// Return the blocks of a level that have work: also those that remain, once there is something to subtract.
KS_DEVICE int ks_bt_tasks(int N, int level, bool survivors)
{
    const int blocks = N >> level;
    return survivors && level > 0 ? blocks : (blocks + 1) / 2;
}

// Call work(task) for every block of the levels. `down`: from the last level to the first.
template <int P, class Work>
KS_DEVICE void ks_bt_walk(const ks_bt_level_args &args, bool survivors, bool down, unsigned chunks,
                          Work work)
{
    const unsigned groups = KS_BT_THREADS / P, group = threadIdx.x / P;
    const bool alone = args.end - args.begin == 1;
    for (int step = args.begin; step < args.end; ++step) {
        const int level = down ? args.begin + args.end - 1 - step : step;
        const unsigned tasks = (unsigned)ks_bt_tasks(args.N, level, survivors);
        const unsigned first = blockIdx.x * (alone ? groups : tasks);
        const unsigned end = alone ? tasks * (unsigned)args.systems * chunks : first + tasks;
        for (unsigned at = first + group; at < end; at += alone ? end : groups) {
            const unsigned who = at / tasks;
            work(ks_bt_task_of(args.N, level, (int)(who / chunks), (int)(at % tasks),
                               (int)(who % chunks)));
        }
        __syncthreads();
    }
}

// Return array `which` of block k. 0: L, 1: W of the block before, 2: W of the block behind.
template <class T, int P>
KS_DEVICE T *ks_bt_array(const ks_bt_level_args &args, int system, int k, int which)
{
    const int64_t number = (int64_t)system * args.N + k;
    return static_cast<T *>(args.factor) + (number * 3 + which) * (P * P);
}

template <class T, class Blocks>
KS_DEVICE T *ks_bt_block(const Blocks &blocks, int system, int k)
{
    return (T *)blocks.data + system * blocks.system + k * blocks.stride;
}

// row[p] = M[lane, p] of a row-major (n, n) matrix, zero beyond it. The matrix passes through shared memory, so that
// lanes read contiguous numbers. `lower`: entries above the diagonal are not read.
template <class T, int P>
KS_DEVICE void ks_bt_load_rows(const ks_bt_lanes<T, P> &g, const T *M, int n, bool lower, T (&row)[P])
{
    T *const tile = g.tile[0];
#pragma unroll
    for (int i = 0; i < P; ++i)
        tile[i * (P + 1) + g.lane] =
            i < n && g.lane < n && (!lower || g.lane <= i) ? M[i * n + g.lane] : T(0);
    ks_bt_sync(g);
#pragma unroll
    for (int p = 0; p < P; ++p) row[p] = tile[g.lane * (P + 1) + p];
    ks_bt_sync(g);
}

// row[p] = M[p, lane] of a row-major (n, n) matrix, zero beyond it.
template <class T, int P>
KS_DEVICE void ks_bt_load_columns(const ks_bt_lanes<T, P> &g, const T *M, int n, T (&row)[P])
{
#pragma unroll
    for (int p = 0; p < P; ++p) row[p] = p < n && g.lane < n ? M[p * n + g.lane] : T(0);
}

#endif
