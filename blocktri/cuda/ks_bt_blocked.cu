// ks_bt_blocked.cu -- a level of the Cholesky factorization by nested dissection, for large blocks.
//
// ks_bt_begin: what the last level left for the blocks of this one is subtracted (by who needs it, so
// nothing is added up by several), the couplings that it made are formed, and the first tile on the
// diagonal of the blocks to eliminate is factored. Then ks_bt_column for each column of tiles, looking
// left: the tiles below the diagonal and those of both couplings. Whoever has the tile next to the
// diagonal goes on to factor the next one on it, which needs nothing but its own row.
#include "triangle.cuh"

// A tile of the matrix as the caller gave it, of numbers S, in T, with rows and columns scaled.
template <class T, class S> struct ks_bt_given {
    const S *data;
    int row, column, n;   // strides, order
    bool diagonal;        // of a diagonal block: nothing above the diagonal is read, identity beyond n
    const double *left, *right;

    __device__ __forceinline__ T at(int r, int c) const
    {
        if (r >= n || c >= n || (diagonal && c > r)) return T(diagonal && r == c);
        const S value = data[r * row + c * column];
        return left ? T(left[r] * (double)value * right[c]) : T(value);
    }
};

template <class S>
KS_DEVICE const double *ks_bt_scale(const ks_bt_blocked_args &args, int system, int k)
{
    return args.scale ? args.scale + ((int64_t)system * args.N + k) * args.n : nullptr;
}

template <class T, class S>
KS_DEVICE ks_bt_given<T, S> ks_bt_given_diagonal(const ks_bt_blocked_args &args, int system, int k)
{
    const double *const scale = ks_bt_scale<S>(args, system, k);
    return {ks_bt_block<const S>(args.D, system, k), args.n, 1, args.n, true, scale, scale};
}

// The coupling of block k with the one before (side 1) or behind, rows of the neighbour.
template <class T, class S>
KS_DEVICE ks_bt_given<T, S> ks_bt_given_coupling(const ks_bt_blocked_args &args, int system, int k,
                                                 int side)
{
    const int n = args.n, neighbour = side == 1 ? k - 1 : k + 1;
    return {ks_bt_block<const S>(args.L, system, side == 1 ? k - 1 : k), side == 1 ? 1 : n,
            side == 1 ? n : 1, n, false, ks_bt_scale<S>(args, system, neighbour),
            ks_bt_scale<S>(args, system, k)};
}

// Tile (i, j) <- what was there less the sums, into shared memory; `given` where that is the matrix.
template <class T, class S>
KS_DEVICE void ks_bt_subtract(ks_bt_sum<T, KS_BT_TILE> &sum, T *tile, int i, int j, int P,
                              bool fresh, const ks_bt_given<T, S> &given, const T *kept)
{
    const T *const base = kept + ((int64_t)i * P + j) * KS_BT_TILE;
    const int rows = P - i * KS_BT_TILE, columns = P - j * KS_BT_TILE, apart = (i - j) * KS_BT_TILE;
    const bool turned = fresh && given.row == 1; // neighbours read what stands side by side
    sum.each([&](int r, int c, T value) { tile[r * KS_BT_LD + c] = -value; });
    __syncthreads();
#pragma unroll 4
    for (int at = (int)threadIdx.x; at < KS_BT_TILE * KS_BT_TILE; at += KS_BT_THREADS) {
        const int r = turned ? at % KS_BT_TILE : at / KS_BT_TILE;
        const int c = turned ? at / KS_BT_TILE : at % KS_BT_TILE;
        if (r < rows && c < columns && (!given.diagonal || c <= r + apart))
            tile[r * KS_BT_LD + c] +=
                fresh ? given.at(i * KS_BT_TILE + r, j * KS_BT_TILE + c) : base[r * P + c];
    }
    __syncthreads();
}

// Tile i on the diagonal of block k, in shared memory at V, is factored and kept.
template <class T>
KS_DEVICE void ks_bt_finish_tile(const ks_bt_blocked_args &args, const ks_bt_at &at, T *V, T *columns,
                                 T *L, int i)
{
    const int P = args.padded, left = P - i * KS_BT_TILE;
    // Beyond the order a unit matrix, so that all tiles are whole.
    for (int r = left + (int)threadIdx.x; r < KS_BT_TILE; r += KS_BT_THREADS)
        V[r * KS_BT_LD + r] = T(1);
    __syncthreads();
    const int failed = ks_bt_factor_tile<T>(V, columns);
    if (threadIdx.x == 0 && failed < KS_BT_TILE)
        atomicMin(args.failure + at.system,
                  KS_BT_FAILURE_KEY(args.level, at.k, i * KS_BT_TILE + failed));
    ks_bt_put_tile<T>(L + (int64_t)i * KS_BT_TILE * (P + 1), V, P, left, left);
}

// A tile of a block that is left at this level: the last level's eliminations are subtracted.
template <class T, class S>
KS_DEVICE void ks_bt_absorb_tile(const ks_bt_blocked_args &args, T *shared, const ks_bt_at &at,
                                 bool eliminated, int i, int j)
{
    const int P = args.padded, half = at.reach / 2, each = P / KS_BT_STEP;
    T *const L = ks_bt_part<T>(args, args.factor, at.system, at.k, 0);
    ks_bt_sum<T, KS_BT_TILE> sum;
    if (half > 0) {
        const T *const before = ks_bt_part<T>(args, args.factor, at.system, at.k - half, 2);
        const T *const behind = ks_bt_part<T>(args, args.factor, at.system, at.k + half, 1);
        const int steps = at.k + half < args.N ? 2 * each : each;
        ks_bt_product<false, false, true>(
            sum, shared, steps, [&](int step, ks_bt_operand<T> &A, ks_bt_operand<T> &B) {
                const T *const W = step < each ? before + step * KS_BT_STEP
                                               : behind + (step - each) * KS_BT_STEP;
                A = {W + (int64_t)i * KS_BT_TILE * P, P, P - i * KS_BT_TILE, KS_BT_STEP};
                B = {W + (int64_t)j * KS_BT_TILE * P, P, P - j * KS_BT_TILE, KS_BT_STEP};
            });
    }
    ks_bt_subtract<T, S>(sum, shared, i, j, P, args.level <= 1,
                         ks_bt_given_diagonal<T, S>(args, at.system, at.k), L);
    if (eliminated && i == 0) {
        ks_bt_finish_tile<T>(args, at, shared, shared + KS_BT_TILE * KS_BT_LD, L, 0);
    } else {
        ks_bt_put_tile<T>(L + ((int64_t)i * P + j) * KS_BT_TILE, shared, P, P - i * KS_BT_TILE,
                          P - j * KS_BT_TILE);
    }
}

// A tile of the coupling that the elimination of `at`, a level ago, leaves between its neighbours:
// minus a product of both W. It goes to the one that is eliminated next, rows of the other.
template <class T>
KS_DEVICE void ks_bt_fill_tile(const ks_bt_blocked_args &args, T *shared, const ks_bt_at &at, int i,
                               int j)
{
    const int P = args.padded, before = at.k - at.reach, behind = at.k + at.reach;
    if (before < 0 || behind >= args.N) return;
    const bool before_next = ((before + 1) / (2 * at.reach)) % 2 == 1;
    const T *const rows = ks_bt_part<T>(args, args.factor, at.system, at.k, before_next ? 2 : 1);
    const T *const columns = ks_bt_part<T>(args, args.factor, at.system, at.k, before_next ? 1 : 2);
    T *const to = before_next ? ks_bt_part<T>(args, args.factor, at.system, before, 2)
                              : ks_bt_part<T>(args, args.factor, at.system, behind, 1);
    ks_bt_sum<T, KS_BT_TILE> sum;
    ks_bt_product<false, false, true>(
        sum, shared, P / KS_BT_STEP, [&](int step, ks_bt_operand<T> &A, ks_bt_operand<T> &B) {
            A = {rows + (int64_t)i * KS_BT_TILE * P + step * KS_BT_STEP, P, P - i * KS_BT_TILE,
                 KS_BT_STEP};
            B = {columns + (int64_t)j * KS_BT_TILE * P + step * KS_BT_STEP, P, P - j * KS_BT_TILE,
                 KS_BT_STEP};
        });
    T *const base = to + ((int64_t)i * P + j) * KS_BT_TILE;
    const int height = P - i * KS_BT_TILE, width = P - j * KS_BT_TILE;
    sum.each([&](int r, int c, T value) {
        if (r < height && c < width) base[r * P + c] = -value;
    });
}

// Tiles of this level first, those that are to be factored before all, then the last level's couplings.
template <class T, class S> KS_DEVICE void ks_bt_begin(const ks_bt_blocked_args &args)
{
    KS_DYNAMIC_SHARED(T, shared);
    const int tiles = (args.padded + KS_BT_TILE - 1) / KS_BT_TILE, level = args.level;
    const int left = args.N >> level, eliminated = ks_bt_eliminated(args, level);
    const int alone = eliminated * args.systems;
    int number = (int)blockIdx.x;
    if (number < alone) {
        ks_bt_absorb_tile<T, S>(args, shared, ks_bt_eliminated_at(args, level, number), true, 0, 0);
        return;
    }
    number -= alone;
    const int survivors = (left - eliminated) * args.systems;
    const int lower = tiles * (tiles + 1) / 2, rest = alone * (lower - 1);
    if (number < rest + survivors * lower) {
        const bool own = number < rest;
        if (!own) number -= rest;
        const int each = own ? eliminated : left - eliminated, all = each * args.systems;
        const int who = number % all, reach = 1 << level;
        const ks_bt_at at = {who / each, (2 * (who % each) + (own ? 1 : 2)) * reach - 1, reach};
        int i, j;
        ks_bt_lower_tile(number / all + (own ? 1 : 0), i, j);
        ks_bt_absorb_tile<T, S>(args, shared, at, own, i, j);
        return;
    }
    number -= rest + survivors * lower;
    const int last = ks_bt_eliminated(args, level - 1) * args.systems, tile = number / last;
    ks_bt_fill_tile<T>(args, shared, ks_bt_eliminated_at(args, level - 1, number % last),
                       tile / tiles, tile % tiles);
}

// Column args.column of the blocks to eliminate: row i of L itself (side 0) or of a coupling.
template <class T, class S> KS_DEVICE void ks_bt_column(const ks_bt_blocked_args &args)
{
    KS_DYNAMIC_SHARED(T, shared);
    const int P = args.padded, tiles = (P + KS_BT_TILE - 1) / KS_BT_TILE, p = args.column;
    const int all = ks_bt_eliminated(args, args.level) * args.systems;
    const int own = tiles - 1 - p, number = (int)blockIdx.x / all;
    const ks_bt_at at = ks_bt_eliminated_at(args, args.level, (int)blockIdx.x % all);
    const int side = number < own ? 0 : number < own + tiles ? 1 : 2;
    const int i = side == 0 ? p + 1 + number : number - own - (side - 1) * tiles;
    if ((side == 1 && at.k < at.reach) || (side == 2 && at.k + at.reach >= args.N)) return;
    T *const L = ks_bt_part<T>(args, args.factor, at.system, at.k, 0);
    T *const X = ks_bt_part<T>(args, args.factor, at.system, at.k, side);
    T *const V = shared, *const M = shared + KS_BT_TILE * KS_BT_LD;
    T *const row = X + (int64_t)i * KS_BT_TILE * P;
    const ks_bt_given<T, S> given =
        side == 0 ? ks_bt_given_diagonal<T, S>(args, at.system, at.k)
                  : ks_bt_given_coupling<T, S>(args, at.system, at.k, side);
    // Column p of this row; then, next to the diagonal, the tile on it, of which what this thread
    // block has just written is the last part.
    const int last = side == 0 && number == 0 ? p + 1 : p;
#pragma unroll 1
    for (int j = p; j <= last; ++j) {
        const T *const above = L + (int64_t)j * KS_BT_TILE * P;
        ks_bt_sum<T, KS_BT_TILE> sum;
        ks_bt_product<false, false, true>(
            sum, shared, j * (KS_BT_TILE / KS_BT_STEP),
            [&](int step, ks_bt_operand<T> &A, ks_bt_operand<T> &B) {
                A = {row + step * KS_BT_STEP, P, P - i * KS_BT_TILE, KS_BT_STEP};
                B = {above + step * KS_BT_STEP, P, P - j * KS_BT_TILE, KS_BT_STEP};
            });
        const int rows = P - i * KS_BT_TILE, width = P - p * KS_BT_TILE;
        if (j == p) ks_bt_bring_tile<T>(M, above + p * KS_BT_TILE, P, width, width);
        ks_async_commit();
        ks_bt_subtract<T, S>(sum, V, i, j, P, args.level == 0, given, X);
        if (j == p) {
            ks_async_wait(0);
            __syncthreads();
            ks_bt_divide_rows<T>(V, M);
            __syncthreads();
            ks_bt_put_tile<T>(row + p * KS_BT_TILE, V, P, rows, width);
        } else {
            ks_bt_finish_tile<T>(args, at, V, M, L, i);
        }
    }
}

#define FACTOR(suffix, T, S, blocks)                                                       \
    KS_KERNEL_BOUNDS(ks_bt_begin_##suffix, ks_bt_blocked_args, KS_BT_THREADS, blocks)      \
    {                                                                                      \
        ks_bt_begin<T, S>(args);                                                           \
    }                                                                                      \
    KS_KERNEL_BOUNDS(ks_bt_column_##suffix, ks_bt_blocked_args, KS_BT_THREADS, blocks)     \
    {                                                                                      \
        ks_bt_column<T, S>(args);                                                          \
    }

FACTOR(f64, double, double, 3)
FACTOR(f32, float, float, 3)
FACTOR(mixed, float, double, 3)
