// product.cuh -- the product of two tiles by a thread block: 64 rows, C columns, 16 terms per step.
//
// Steps pass through a ring of stages in shared memory, filled by asynchronous copies. In double precision the tensor
// cores compute the sums; in single precision each thread does rows and columns of its own.
#ifndef KS_BT_PRODUCT_CUH
#define KS_BT_PRODUCT_CUH

#include "lanes.cuh"
#include "ks_bt_blocked.h"

// An operand in one step: element (r, k) is at data[r * ld + k] or, if stored by columns, at data[k * ld + r]. It is
// zero from row `rows` and from term `depth` on.
template <class T> struct ks_bt_operand {
    const T *data;
    int64_t ld;
    int rows, depth;
};

template <int R, bool COLUMNS> KS_DEVICE int ks_bt_place(int r, int k)
{
    return COLUMNS ? k * (R + 4) + r : r * (KS_BT_STEP + 4) + k;
}

// Copy thread `thread`'s part of R rows of a step. WIDE: 16 bytes at once; limits and addresses are multiples of that.
template <class T, int R, bool COLUMNS, bool WIDE>
KS_DEVICE void ks_bt_bring(int thread, T *to, const ks_bt_operand<T> &from)
{
    constexpr int V = WIDE ? 16 / (int)sizeof(T) : 1;
    constexpr int inner = (COLUMNS ? R : KS_BT_STEP) / V, outer = COLUMNS ? KS_BT_STEP : R;
    constexpr int apart = KS_BT_THREADS / inner; // a thread's copies differ in one index only
    const int v = thread % inner * V, first = thread / inner;
    const T *at = from.data + (int64_t)first * from.ld + v;
    const int64_t next = apart * from.ld;
    const int end = (COLUMNS ? v < from.rows : v < from.depth) ? (COLUMNS ? from.depth : from.rows) : 0;
    to += ks_bt_place<R, COLUMNS>(COLUMNS ? v : first, COLUMNS ? first : v);
#pragma unroll
    for (int o = 0; o < outer; o += apart) {
        if (outer % apart != 0 && o + first >= outer) break;
        if (o + first < end) {
            ks_async_copy(to, at, V * (int)sizeof(T));
        } else {
#pragma unroll
            for (int e = 0; e < V; ++e) to[e] = T(0);
        }
        at += next;
        to += COLUMNS ? apart * (R + 4) : apart * (KS_BT_STEP + 4);
    }
}

// Sums of 64 rows and C columns, spread over the threads of a block.
template <class T, int C> struct ks_bt_sum;

// A warp computes 32 x 32 of the sums, or 16 x 8.
template <int C> struct ks_bt_sum<double, C> {
    static constexpr int M = C == KS_BT_TILE ? 2 : 1, K = C == KS_BT_TILE ? 4 : 1;
    double c[M][K][4];
    int thread;

    __device__ __forceinline__ ks_bt_sum()
    {
        thread = ks_thread_anew();
        clear();
    }
    // The first row and the first column of the warp.
    __device__ __forceinline__ int row() const { return C == KS_BT_TILE ? thread / 64 * 32 : thread / 32 * 16; }
    __device__ __forceinline__ int column() const { return C == KS_BT_TILE ? thread / 32 % 2 * 32 : 0; }
    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < M * K * 4; ++i) c[i / (K * 4)][i / 4 % K][i % 4] = 0;
    }
    __device__ __forceinline__ void negate()
    {
        each([](int, int, double &value) { value = -value; });
    }
    template <bool A_COLUMNS, bool B_COLUMNS>
    __device__ __forceinline__ void add(const double *A, const double *B)
    {
        const int g = thread % 32 / 4, t = thread % 4;
        double a[M][8];
#pragma unroll
        for (int m = 0; m < M; ++m)
#pragma unroll
            for (int i = 0; i < 8; ++i)
                a[m][i] = A[ks_bt_place<KS_BT_TILE, A_COLUMNS>(row() + 16 * m + g + 8 * (i % 2),
                                                               t + 4 * (i / 2))];
#pragma unroll
        for (int k = 0; k < K; ++k) {
            double b[4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                b[i] = B[ks_bt_place<C, B_COLUMNS>(column() + 8 * k + g, t + 4 * i)];
#pragma unroll
            for (int m = 0; m < M; ++m) ks_mma_16x8x16(c[m][k], a[m], b);
        }
    }
    // Call f(row, column, sum) for this thread's sums.
    template <class F> __device__ __forceinline__ void each(const F &f)
    {
        const int g = thread % 32 / 4, t = thread % 4;
#pragma unroll
        for (int m = 0; m < M; ++m)
#pragma unroll
            for (int k = 0; k < K; ++k)
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    f(row() + 16 * m + g + 8 * (i / 2), column() + 8 * k + 2 * t + i % 2, c[m][k][i]);
    }
};

// A thread computes every 16th row and every eighth column.
template <int C> struct ks_bt_sum<float, C> {
    static constexpr int M = KS_BT_TILE / 16, K = C / 8;
    float c[M][K];
    int thread;

    __device__ __forceinline__ ks_bt_sum()
    {
        thread = ks_thread_anew();
        clear();
    }
    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < M * K; ++i) c[i / K][i % K] = 0;
    }
    __device__ __forceinline__ void negate()
    {
        each([](int, int, float &value) { value = -value; });
    }
    template <bool A_COLUMNS, bool B_COLUMNS>
    __device__ __forceinline__ void add(const float *A, const float *B)
    {
#pragma unroll 4
        for (int s = 0; s < KS_BT_STEP; ++s) {
            float a[M], b[K];
#pragma unroll
            for (int m = 0; m < M; ++m) a[m] = A[ks_bt_place<KS_BT_TILE, A_COLUMNS>(thread / 8 + 16 * m, s)];
#pragma unroll
            for (int k = 0; k < K; ++k) b[k] = B[ks_bt_place<C, B_COLUMNS>(thread % 8 + 8 * k, s)];
#pragma unroll
            for (int m = 0; m < M; ++m)
#pragma unroll
                for (int k = 0; k < K; ++k) c[m][k] += a[m] * b[k];
        }
    }
    template <class F> __device__ __forceinline__ void each(const F &f)
    {
#pragma unroll
        for (int m = 0; m < M; ++m)
#pragma unroll
            for (int k = 0; k < K; ++k) f(thread / 8 + 16 * m, thread % 8 + 8 * k, c[m][k]);
    }
};

// sum += A B' over `steps` steps; source(step, A, B) sets the operands of a step. `shared` holds KS_BT_PIPELINE(C)
// elements, and the thread block synchronises before and after their use. A is copied 16 bytes at once, and so is B if
// WIDE.
template <bool A_COLUMNS, bool B_COLUMNS, bool WIDE, class T, int C, class Source>
KS_DEVICE void ks_bt_product(ks_bt_sum<T, C> &sum, T *shared, int steps, const Source &source)
{
    constexpr int part = KS_BT_PART(KS_BT_TILE), stage = part + KS_BT_PART(C);
    const auto bring = [&](int step) {
        if (step < steps) {
            ks_bt_operand<T> A, B;
            source(step, A, B);
            T *const to = shared + step % KS_BT_STAGES * stage;
            ks_bt_bring<T, KS_BT_TILE, A_COLUMNS, true>(sum.thread, to, A);
            ks_bt_bring<T, C, B_COLUMNS, WIDE>(sum.thread, to + part, B);
        }
        ks_async_commit();
    };
    __syncthreads();
#pragma unroll 1
    for (int step = 0; step < KS_BT_STAGES - 1; ++step) bring(step);
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        ks_async_wait(KS_BT_STAGES - 2);
        __syncthreads();
        bring(step + KS_BT_STAGES - 1);
        const T *const at = shared + step % KS_BT_STAGES * stage;
        sum.template add<A_COLUMNS, B_COLUMNS>(at, at + part);
    }
    ks_async_wait(0);
    __syncthreads();
}

// Copy a tile, at most 64 x 64, of a row-major array to shared memory, asynchronously: the caller waits. `rows` and
// `columns` are the limits of the array from the tile on, multiples of 16; the tile is zero beyond them.
template <class T> KS_DEVICE void ks_bt_bring_tile(T *to, const T *from, int ld, int rows, int columns)
{
    constexpr int V = 16 / (int)sizeof(T), inner = KS_BT_TILE / V;
#pragma unroll 2
    for (int i = ks_thread_anew(); i < inner * KS_BT_TILE; i += KS_BT_THREADS) {
        const int r = i / inner, c = i % inner * V;
        if (r < rows && c < columns) {
            ks_async_copy(to + r * KS_BT_LD + c, from + (int64_t)r * ld + c, 16);
        } else {
#pragma unroll
            for (int e = 0; e < V; ++e) to[r * KS_BT_LD + c + e] = T(0);
        }
    }
}

// Store a tile.
template <class T> KS_DEVICE void ks_bt_put_tile(T *to, const T *from, int ld, int rows, int columns)
{
#pragma unroll 4
    for (int i = ks_thread_anew(); i < KS_BT_TILE * KS_BT_TILE; i += KS_BT_THREADS) {
        const int r = i / KS_BT_TILE, c = i % KS_BT_TILE;
        if (r < rows && c < columns) to[(int64_t)r * ld + c] = from[r * KS_BT_LD + c];
    }
}

// Return array `which` of block k in the factor, or in an array with the same layout.
template <class T>
KS_DEVICE T *ks_bt_part(const ks_bt_blocked_args &args, void *base, int system, int k, int which)
{
    const int64_t number = (int64_t)system * args.N + k;
    return static_cast<T *>(base) + (number * 3 + which) * args.padded * args.padded;
}

// Row i and column j of a lower tile, numbered by rows: (0, 0), (1, 0), (1, 1), (2, 0), ...
KS_DEVICE void ks_bt_lower_tile(int number, int &i, int &j)
{
    i = 0;
    while ((i + 1) * (i + 2) / 2 <= number) ++i;
    j = number - i * (i + 1) / 2;
}

// A node of a round in one system. Nodes are numbered system by system.
struct ks_bt_at {
    int system;
    ks_bt_node node;
};
KS_DEVICE ks_bt_at ks_bt_node_at(const ks_bt_blocked_args &args, const ks_bt_round &round, int first,
                                 int count, int number)
{
    return {number / count, args.nodes[round.first + first + number % count]};
}
KS_DEVICE ks_bt_at ks_bt_eliminated_at(const ks_bt_blocked_args &args, const ks_bt_round &round,
                                       int number)
{
    return ks_bt_node_at(args, round, 0, round.eliminated, number);
}

// Return what a round of the inverse stores for its block number `who`. 0: L^-1, 1 and 2: W L^-1.
template <class T>
KS_DEVICE T *ks_bt_work(const ks_bt_blocked_args &args, const ks_bt_round &round, int who, int which)
{
    const int64_t each = (args.N + 1) / 2, number = who / round.eliminated * each + who % round.eliminated;
    return static_cast<T *>(args.work) + (number * 3 + which) * args.padded * args.padded;
}

#endif
