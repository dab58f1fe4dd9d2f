// blocked_factor.cuh -- a round of the Cholesky factorization of large blocks.
//
// A round is ks_bt_begin and then ks_bt_column for each column of tiles. ks_bt_begin subtracts what the previous round
// left for the blocks of this one. The block that needs a term subtracts it, so no sum has several writers. It also
// forms the couplings that the previous round made, and factors the first diagonal tile of the blocks to eliminate.
// ks_bt_column is left-looking: it computes the tiles below the diagonal and those of both couplings. The thread block
// with the tile next to the diagonal then factors the next diagonal tile, which needs only its own row.
//
// With args.atomic, terms are pushed instead. ks_bt_clear sets the sums to zero before all rounds. ks_bt_begin factors
// the first tile only. After the columns ks_bt_push subtracts from the neighbours, atomically, and forms their
// coupling.
//
// Each function does the piece of work `number`, which is the work of one thread block. Pieces may be spread over a
// launch, or over the thread blocks of a launch that continues with the next round.
#ifndef KS_BT_BLOCKED_FACTOR_CUH
#define KS_BT_BLOCKED_FACTOR_CUH

#include "triangle.cuh"

// A tile of the matrix that the caller gave, of numbers S, converted to T, with rows and columns scaled.
template <class T, class S> struct ks_bt_given {
    const S *data;
    int row, column, n;   // strides, order
    bool diagonal;        // of a diagonal block: entries above the diagonal are not read; identity beyond n
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

// The coupling of block k with the one before (side 1) or behind (side 2), in rows of the neighbour.
template <class T, class S>
KS_DEVICE ks_bt_given<T, S> ks_bt_given_coupling(const ks_bt_blocked_args &args, int system, int k,
                                                 int side)
{
    const int n = args.n, neighbour = side == 1 ? k - 1 : k + 1;
    return {ks_bt_block<const S>(args.L, system, side == 1 ? k - 1 : k), side == 1 ? 1 : n,
            side == 1 ? n : 1, n, false, ks_bt_scale<S>(args, system, neighbour),
            ks_bt_scale<S>(args, system, k)};
}

// What a tile is subtracted from: the matrix, what has been stored, or, with atomic sums, both.
enum ks_bt_source { KS_BT_GIVEN, KS_BT_KEPT, KS_BT_BOTH };

// Tile (i, j) <- the source minus the sums, into shared memory.
template <class T, class S>
KS_DEVICE void ks_bt_subtract(ks_bt_sum<T, KS_BT_TILE> &sum, T *tile, int i, int j, int P,
                              ks_bt_source from, const ks_bt_given<T, S> &given, const T *kept)
{
    const T *const base = kept + ((int64_t)i * P + j) * KS_BT_TILE;
    const int rows = P - i * KS_BT_TILE, columns = P - j * KS_BT_TILE, apart = (i - j) * KS_BT_TILE;
    const bool turned = from == KS_BT_GIVEN && given.row == 1; // so that neighbouring threads read contiguous numbers
    sum.each([&](int r, int c, T value) { tile[r * KS_BT_LD + c] = -value; });
    __syncthreads();
#pragma unroll 4
    for (int at = ks_thread_anew(); at < KS_BT_TILE * KS_BT_TILE; at += KS_BT_THREADS) {
        const int r = turned ? at % KS_BT_TILE : at / KS_BT_TILE;
        const int c = turned ? at / KS_BT_TILE : at % KS_BT_TILE;
        if (r >= rows || c >= columns || (given.diagonal && c > r + apart)) continue;
        T value = from == KS_BT_KEPT ? T(0) : given.at(i * KS_BT_TILE + r, j * KS_BT_TILE + c);
        if (from != KS_BT_GIVEN) value += base[r * P + c];
        tile[r * KS_BT_LD + c] += value;
    }
    __syncthreads();
}

// Factor and store diagonal tile i of block k, which is in shared memory at V.
template <class T>
KS_DEVICE void ks_bt_finish_tile(const ks_bt_blocked_args &args, int round, const ks_bt_at &at, T *V,
                                 T *columns, T *L, int i)
{
    const int P = args.padded, left = P - i * KS_BT_TILE;
    // Identity beyond the order, so that all tiles are whole.
    for (int r = left + ks_thread_anew(); r < KS_BT_TILE; r += KS_BT_THREADS)
        V[r * KS_BT_LD + r] = T(1);
    __syncthreads();
    const int failed = ks_bt_factor_tile<T>(V, columns);
    if (threadIdx.x == 0 && failed < KS_BT_TILE)
        atomicMin(args.failure + at.system,
                  KS_BT_FAILURE_KEY(round, at.node.k, i * KS_BT_TILE + failed));
    ks_bt_put_tile<T>(L + (int64_t)i * KS_BT_TILE * (P + 1), V, P, left, left);
}

// Subtract from a tile of a block of this round what the previous round has eliminated.
template <class T, class S>
KS_DEVICE void ks_bt_absorb_tile(const ks_bt_blocked_args &args, int round, T *shared, const ks_bt_at &at,
                                 bool eliminated, int i, int j)
{
    const int P = args.padded, each = P / KS_BT_STEP;
    T *const L = ks_bt_part<T>(args, args.factor, at.system, at.node.k, 0);
    const T *const before = ks_bt_part<T>(args, args.factor, at.system, at.node.from_before, 2);
    const T *const behind = ks_bt_part<T>(args, args.factor, at.system, at.node.from_behind, 1);
    const int skipped = at.node.from_before < 0 || args.atomic ? each : 0;
    const int end = at.node.from_behind < 0 || args.atomic ? each : 2 * each;
    ks_bt_sum<T, KS_BT_TILE> sum;
    ks_bt_product<false, false, true>(
        sum, shared, end - skipped, [&](int step, ks_bt_operand<T> &A, ks_bt_operand<T> &B) {
            const int s = step + skipped;
            const T *const W = s < each ? before + s * KS_BT_STEP : behind + (s - each) * KS_BT_STEP;
            A = {W + (int64_t)i * KS_BT_TILE * P, P, P - i * KS_BT_TILE, KS_BT_STEP};
            B = {W + (int64_t)j * KS_BT_TILE * P, P, P - j * KS_BT_TILE, KS_BT_STEP};
        });
    const bool bare = at.node.from_before < 0 && at.node.from_behind < 0;
    ks_bt_subtract<T, S>(sum, shared, i, j, P,
                         args.atomic && !bare ? KS_BT_BOTH : at.node.fresh ? KS_BT_GIVEN : KS_BT_KEPT,
                         ks_bt_given_diagonal<T, S>(args, at.system, at.node.k), L);
    if (eliminated && i == 0) {
        ks_bt_finish_tile<T>(args, round, at, shared, shared + KS_BT_TILE * KS_BT_LD, L, 0);
    } else {
        ks_bt_put_tile<T>(L + ((int64_t)i * P + j) * KS_BT_TILE, shared, P, P - i * KS_BT_TILE,
                          P - j * KS_BT_TILE);
    }
}

// A tile of the coupling between the neighbours of `at`, which was eliminated a round ago: minus a product of both W.
// It is stored with the neighbour that is eliminated first, in rows of the other.
template <class T>
KS_DEVICE void ks_bt_fill_tile(const ks_bt_blocked_args &args, T *shared, const ks_bt_at &at, int i,
                               int j)
{
    const int P = args.padded, k = at.node.k, before = at.node.before, behind = at.node.behind;
    if (before < 0 || behind < 0) return;
    const bool to_before = at.node.to_before;
    const T *const rows = ks_bt_part<T>(args, args.factor, at.system, k, to_before ? 2 : 1);
    const T *const columns = ks_bt_part<T>(args, args.factor, at.system, k, to_before ? 1 : 2);
    T *const to = to_before ? ks_bt_part<T>(args, args.factor, at.system, before, 2)
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

// Clear a lower tile of the sums of a block. Blocks of bare rounds have no sums.
template <class T> KS_DEVICE void ks_bt_clear(const ks_bt_blocked_args &args, int number)
{
    const int P = args.padded, all = args.N * args.systems, k = number % all % args.N;
    if (args.rounds[args.round_of[k]].bare) return;
    int i, j;
    ks_bt_lower_tile(number / all, i, j);
    T *const base =
        ks_bt_part<T>(args, args.factor, number % all / args.N, k, 0) + ((int64_t)i * P + j) * KS_BT_TILE;
    const int rows = P - i * KS_BT_TILE, columns = P - j * KS_BT_TILE;
#pragma unroll 4
    for (int at = (int)threadIdx.x; at < KS_BT_TILE * KS_BT_TILE; at += KS_BT_THREADS)
        if (at / KS_BT_TILE < rows && at % KS_BT_TILE < columns)
            base[(int64_t)(at / KS_BT_TILE) * P + at % KS_BT_TILE] = T(0);
}

// Subtract a tile of W W' from the sums of a neighbour.
template <class T>
KS_DEVICE void ks_bt_push_tile(const ks_bt_blocked_args &args, T *shared, const ks_bt_at &at, int side, int i,
                               int j)
{
    const int P = args.padded, neighbour = side == 1 ? at.node.before : at.node.behind;
    if (neighbour < 0) return;
    const T *const W = ks_bt_part<T>(args, args.factor, at.system, at.node.k, side);
    T *const base =
        ks_bt_part<T>(args, args.factor, at.system, neighbour, 0) + ((int64_t)i * P + j) * KS_BT_TILE;
    const int height = P - i * KS_BT_TILE, width = P - j * KS_BT_TILE, apart = (i - j) * KS_BT_TILE;
    ks_bt_sum<T, KS_BT_TILE> sum;
    ks_bt_product<false, false, true>(
        sum, shared, P / KS_BT_STEP, [&](int step, ks_bt_operand<T> &A, ks_bt_operand<T> &B) {
            A = {W + (int64_t)i * KS_BT_TILE * P + step * KS_BT_STEP, P, height, KS_BT_STEP};
            B = {W + (int64_t)j * KS_BT_TILE * P + step * KS_BT_STEP, P, width, KS_BT_STEP};
        });
    sum.each([&](int r, int c, T value) {
        if (r < height && c < width && c <= r + apart) atomicAdd(base + r * P + c, -value);
    });
}

// Push what the blocks eliminated in this round leave: to each neighbour, and between both.
template <class T>
KS_DEVICE void ks_bt_push(const ks_bt_blocked_args &args, const ks_bt_round &now, T *shared, int number)
{
    const int tiles = (args.padded + KS_BT_TILE - 1) / KS_BT_TILE, lower = tiles * (tiles + 1) / 2;
    const int all = now.eliminated * args.systems, piece = number / all;
    const ks_bt_at at = ks_bt_eliminated_at(args, now, number % all);
    if (piece < 2 * lower) {
        int i, j;
        ks_bt_lower_tile(piece % lower, i, j);
        ks_bt_push_tile<T>(args, shared, at, 1 + piece / lower, i, j);
    } else {
        ks_bt_fill_tile<T>(args, shared, at, (piece - 2 * lower) / tiles, (piece - 2 * lower) % tiles);
    }
}

// First the tiles of this round, of which those to factor come first, then the couplings of the previous round.
template <class T, class S>
KS_DEVICE void ks_bt_begin(const ks_bt_blocked_args &args, const ks_bt_round &now, const ks_bt_round &past,
                           T *shared, int number)
{
    const int tiles = (args.padded + KS_BT_TILE - 1) / KS_BT_TILE;
    const int alone = now.eliminated * args.systems;
    if (number < alone) {
        ks_bt_absorb_tile<T, S>(args, now.number, shared, ks_bt_eliminated_at(args, now, number), true,
                                0, 0);
        return;
    }
    number -= alone;
    const int survivors = (now.touched - now.eliminated) * args.systems;
    const int lower = tiles * (tiles + 1) / 2, rest = alone * (lower - 1);
    if (number < rest + survivors * lower) {
        const bool own = number < rest;
        if (!own) number -= rest;
        const int first = own ? 0 : now.eliminated, count = own ? now.eliminated : now.touched - first;
        const int all = count * args.systems;
        int i, j;
        ks_bt_lower_tile(number / all + (own ? 1 : 0), i, j);
        ks_bt_absorb_tile<T, S>(args, now.number, shared,
                                ks_bt_node_at(args, now, first, count, number % all), own, i, j);
        return;
    }
    number -= rest + survivors * lower;
    const int last = past.eliminated * args.systems, tile = number / last;
    ks_bt_fill_tile<T>(args, shared, ks_bt_eliminated_at(args, past, number % last), tile / tiles,
                       tile % tiles);
}

// Column p of the blocks to eliminate: tile row i of L itself (side 0) or of a coupling.
template <class T, class S>
KS_DEVICE void ks_bt_column(const ks_bt_blocked_args &args, const ks_bt_round &now, int p, T *shared,
                            int number)
{
    const int P = args.padded, tiles = (P + KS_BT_TILE - 1) / KS_BT_TILE;
    const int all = now.eliminated * args.systems, own = tiles - 1 - p;
    const ks_bt_at at = ks_bt_eliminated_at(args, now, number % all);
    number /= all;
    const int k = at.node.k, side = number < own ? 0 : number < own + tiles ? 1 : 2;
    const int i = side == 0 ? p + 1 + number : number - own - (side - 1) * tiles;
    const int neighbour = side == 1 ? at.node.before : at.node.behind;
    if (side > 0 && neighbour < 0) return;
    T *const L = ks_bt_part<T>(args, args.factor, at.system, k, 0);
    T *const X = ks_bt_part<T>(args, args.factor, at.system, k, side);
    T *const V = shared, *const M = shared + KS_BT_TILE * KS_BT_LD;
    T *const row = X + (int64_t)i * KS_BT_TILE * P;
    const bool given_still = side == 0 ? now.bare : neighbour == (side == 1 ? k - 1 : k + 1);
    const ks_bt_source from = given_still ? KS_BT_GIVEN : side == 0 && args.atomic ? KS_BT_BOTH : KS_BT_KEPT;
    // Column p of this row; then, next to the diagonal, the diagonal tile, whose last term is the tile that this thread
    // block has just written.
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
        const ks_bt_given<T, S> given = side == 0 ? ks_bt_given_diagonal<T, S>(args, at.system, k)
                                                  : ks_bt_given_coupling<T, S>(args, at.system, k, side);
        ks_bt_subtract<T, S>(sum, V, i, j, P, from, given, X);
        if (j == p) {
            ks_async_wait(0);
            __syncthreads();
            ks_bt_divide_rows<T>(V, M);
            __syncthreads();
            ks_bt_put_tile<T>(row + p * KS_BT_TILE, V, P, rows, width);
        } else {
            ks_bt_finish_tile<T>(args, now.number, at, V, M, L, i);
        }
    }
}

#endif
