// triangle.cuh -- diagonal tiles: their Cholesky factors with inverses of 32 x 32 triangles, and solves with them.
//
// A factored tile in shared memory is
//
//     | I1  . |
//     | M   I2|
//
// I1 and I2 are the inverses of the triangles along the diagonal, M is the block below. A solve is three products.
// Inverses of at most 32 rows keep the loss of accuracy to their own condition numbers.
#ifndef KS_BT_TRIANGLE_CUH
#define KS_BT_TRIANGLE_CUH

#include "product.cuh"

// Columns of a triangle that a lane has in registers at once.
enum { KS_BT_COLUMNS_AT_ONCE = 8 };

// r[j] -= sum over q < first of x(q) L(first + j, q): the terms left of 8 columns of a lane's row, whose elements x(q)
// are at x[q * ld]. L is stored by columns.
template <class T>
KS_DEVICE void ks_bt_look_left(const T *columns, int first, const T *x, int ld,
                               T (&r)[KS_BT_COLUMNS_AT_ONCE])
{
    constexpr int V = ks_bt_pack<T>::size;
#pragma unroll 4
    for (int q = 0; q < first; ++q) {
        const T own = x[q * ld];
#pragma unroll
        for (int j = 0; j < KS_BT_COLUMNS_AT_ONCE; j += V) {
            const ks_bt_pack<T> c = ks_bt_read(columns + q * KS_BT_HALF + first + j);
#pragma unroll
            for (int e = 0; e < V; ++e) r[j + e] -= own * c.v[e];
        }
    }
}

// Multiply a lane's row by L^-T, in place at row[q * ld]. L has reciprocals on its diagonal.
template <class T> KS_DEVICE void ks_bt_substitute(const T *columns, T *row, int ld)
{
    constexpr int B = KS_BT_COLUMNS_AT_ONCE;
#pragma unroll 1
    for (int first = 0; first < KS_BT_HALF; first += B) {
        T r[B];
#pragma unroll
        for (int j = 0; j < B; ++j) r[j] = row[(first + j) * ld];
        ks_bt_look_left<T>(columns, first, row, ld, r);
#pragma unroll
        for (int p = 0; p < B; ++p) {
            const T *const column = columns + (first + p) * KS_BT_HALF + first;
            r[p] *= column[p];
#pragma unroll
            for (int j = p + 1; j < B; ++j) r[j] -= r[p] * column[j];
            row[(first + p) * ld] = r[p];
        }
    }
}

// Factor the 32 x 32 triangle at S with one warp. The factor goes to `columns`, stored by columns, with reciprocals on
// its diagonal. Returns the first row whose pivot is not positive and finite, or 32.
template <class T> KS_DEVICE int ks_bt_cholesky(const T *S, T *columns)
{
    constexpr int B = KS_BT_COLUMNS_AT_ONCE;
    const int lane = ks_thread_anew() % 32;
#pragma unroll 1
    for (int first = 0; first < KS_BT_HALF; first += B) {
        T r[B];
#pragma unroll
        for (int j = 0; j < B; ++j) r[j] = first + j <= lane ? S[lane * KS_BT_LD + first + j] : T(0);
        ks_bt_look_left<T>(columns, first, columns + lane, KS_BT_HALF, r);
#pragma unroll
        for (int p = 0; p < B; ++p) {
            T *const column = columns + (first + p) * KS_BT_HALF;
            const T inverse = ks_bt_rsqrt(__shfl_sync(0xffffffffu, r[p], first + p));
            const T l = r[p] * inverse;
            column[lane] = lane == first + p ? inverse : l;
            __syncwarp();
#pragma unroll
            for (int j = p + 1; j < B; ++j) r[j] -= l * column[first + j];
        }
    }
    // A pivot is positive and finite if the reciprocal of its root is.
    const T own = columns[lane * (KS_BT_HALF + 1)];
    const unsigned bad = __ballot_sync(0xffffffffu, !(own > T(0) && own < T(INFINITY)));
    return bad ? __ffs((int)bad) - 1 : KS_BT_HALF;
}

// Factor the tile S, of which the lower triangle is given, in place. `columns` holds 32 x 32 elements. Thread 0 gets
// the first row that fails, or 64.
template <class T> KS_DEVICE int ks_bt_factor_tile(T *S, T *columns)
{
    const int thread = ks_thread_anew(), warp = thread / 32, lane = thread % 32;
    int failed = KS_BT_TILE;
    for (int h = 0; h < KS_BT_TILE; h += KS_BT_HALF) {
        T *const own = S + h * KS_BT_LD + h;
        if (warp == 0) {
            const int row = ks_bt_cholesky<T>(own, columns);
            if (row < KS_BT_HALF && failed == KS_BT_TILE) failed = h + row;
        }
        __syncthreads();
        // One warp solves for the rows of the unit matrix, another one for the rows below.
        if (warp == 1 && h == 0)
            ks_bt_substitute<T>(columns, S + (KS_BT_HALF + lane) * KS_BT_LD, 1);
        if (warp == 2) {
            for (int p = 0; p < KS_BT_HALF; ++p) own[p * KS_BT_LD + lane] = T(p == lane);
            ks_bt_substitute<T>(columns, own + lane, KS_BT_LD);
        }
        __syncthreads();
        for (int i = thread; h == 0 && i < KS_BT_HALF * KS_BT_HALF; i += KS_BT_THREADS) {
            const T *const left = S + (KS_BT_HALF + i / KS_BT_HALF) * KS_BT_LD;
            const T *const right = S + (KS_BT_HALF + i % KS_BT_HALF) * KS_BT_LD;
            T sum = T(0);
            for (int p = 0; p < KS_BT_HALF; ++p) sum += left[p] * right[p];
            S[(KS_BT_HALF + i / KS_BT_HALF) * KS_BT_LD + KS_BT_HALF + i % KS_BT_HALF] -= sum;
        }
        __syncthreads();
    }
    return failed;
}

// 16 rows and 32 columns of a product of tiles in shared memory, by one warp.
template <class T> struct ks_bt_strip;

template <> struct ks_bt_strip<double> {
    double c[4][4];
    // A B' over 32 terms.
    __device__ __forceinline__ void multiply(const double *A, const double *B)
    {
        const int lane = ks_thread_anew() % 32, g = lane / 4, t = lane % 4;
#pragma unroll
        for (int i = 0; i < 16; ++i) c[i / 4][i % 4] = 0;
#pragma unroll
        for (int s = 0; s < KS_BT_HALF; s += 16) {
            double a[8], b[4];
#pragma unroll
            for (int i = 0; i < 8; ++i) a[i] = A[(g + 8 * (i % 2)) * KS_BT_LD + s + t + 4 * (i / 2)];
#pragma unroll
            for (int k = 0; k < 4; ++k) {
#pragma unroll
                for (int i = 0; i < 4; ++i) b[i] = B[(8 * k + g) * KS_BT_LD + s + t + 4 * i];
                ks_mma_16x8x16(c[k], a, b);
            }
        }
    }
    template <class F> __device__ __forceinline__ void each(const F &f) const
    {
        const int lane = ks_thread_anew() % 32, g = lane / 4, t = lane % 4;
#pragma unroll
        for (int k = 0; k < 4; ++k)
#pragma unroll
            for (int i = 0; i < 4; ++i) f(g + 8 * (i / 2), 8 * k + 2 * t + i % 2, c[k][i]);
    }
};

template <> struct ks_bt_strip<float> {
    float c[16];
    __device__ __forceinline__ void multiply(const float *A, const float *B)
    {
        const int lane = ks_thread_anew() % 32;
#pragma unroll
        for (int i = 0; i < 16; ++i) c[i] = 0;
#pragma unroll 2
        for (int s = 0; s < KS_BT_HALF; s += 4) {
            const ks_bt_pack<float> b = ks_bt_read(B + lane * KS_BT_LD + s);
#pragma unroll
            for (int i = 0; i < 16; ++i) {
                const ks_bt_pack<float> a = ks_bt_read(A + i * KS_BT_LD + s);
#pragma unroll
                for (int e = 0; e < 4; ++e) c[i] += a.v[e] * b.v[e];
            }
        }
    }
    template <class F> __device__ __forceinline__ void each(const F &f) const
    {
        const int lane = ks_thread_anew() % 32;
#pragma unroll
        for (int i = 0; i < 16; ++i) f(i, lane, c[i]);
    }
};

// V <- V L^-T for the factor L of a tile. A warp does 16 rows; no other warp accesses them.
template <class T> KS_DEVICE void ks_bt_divide_rows(T *V, const T *L)
{
    T *const own = V + ks_thread_anew() / 32 * 16 * KS_BT_LD;
    T *const right = own + KS_BT_HALF;
    const T *const below = L + KS_BT_HALF * KS_BT_LD;
    ks_bt_strip<T> s;
    s.multiply(own, L);
    __syncwarp();
    s.each([&](int r, int c, T value) { own[r * KS_BT_LD + c] = value; });
    __syncwarp();
    s.multiply(own, below);
    s.each([&](int r, int c, T value) { right[r * KS_BT_LD + c] -= value; });
    __syncwarp();
    s.multiply(right, below + KS_BT_HALF);
    __syncwarp();
    s.each([&](int r, int c, T value) { right[r * KS_BT_LD + c] = value; });
}

// 32 rows of C columns: to <- M from, or to <- to - M from. M(r, k) is element (r, k), or (k, r) if TRANSPOSED, of a
// part of a tile. The thread block synchronises at the end.
template <bool TRANSPOSED, bool SUBTRACT, class T, int C>
KS_DEVICE void ks_bt_apply(T *to, const T *M, const T *from)
{
    constexpr int rows = KS_BT_THREADS / C, mine = KS_BT_HALF / rows;
    const int thread = ks_thread_anew(), column = thread % C, first = thread / C;
    T sum[mine];
#pragma unroll
    for (int i = 0; i < mine; ++i) sum[i] = T(0);
#pragma unroll 4
    for (int k = 0; k < KS_BT_HALF; ++k) {
        const T x = from[k * C + column];
#pragma unroll
        for (int i = 0; i < mine; ++i) {
            const int r = first + i * rows;
            sum[i] += (TRANSPOSED ? M[k * KS_BT_LD + r] : M[r * KS_BT_LD + k]) * x;
        }
    }
    if (!SUBTRACT) __syncthreads();
#pragma unroll
    for (int i = 0; i < mine; ++i) {
        T *const at = to + (first + i * rows) * C + column;
        *at = SUBTRACT ? *at - sum[i] : sum[i];
    }
    __syncthreads();
}

// V <- L^-1 V for the factor L of a tile. V has 64 rows of C columns, stored by rows.
template <class T, int C> KS_DEVICE void ks_bt_solve_tile(T *V, const T *L)
{
    T *const lower = V + KS_BT_HALF * C;
    const T *const below = L + KS_BT_HALF * KS_BT_LD;
    ks_bt_apply<false, false, T, C>(V, L, V);
    ks_bt_apply<false, true, T, C>(lower, below, V);
    ks_bt_apply<false, false, T, C>(lower, below + KS_BT_HALF, lower);
}

// V <- L^-T V.
template <class T, int C> KS_DEVICE void ks_bt_solve_tile_back(T *V, const T *L)
{
    T *const lower = V + KS_BT_HALF * C;
    const T *const below = L + KS_BT_HALF * KS_BT_LD;
    ks_bt_apply<true, false, T, C>(lower, below + KS_BT_HALF, lower);
    ks_bt_apply<true, true, T, C>(V, below, lower);
    ks_bt_apply<true, false, T, C>(V, L, V);
}

#endif
