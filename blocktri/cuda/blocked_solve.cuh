// blocked_solve.cuh -- a round of the triangular solves with a stored factor of large blocks.
//
// Forward, every block of a round subtracts the terms of the neighbours that the previous round eliminated (collect).
// The blocks that are eliminated are solved tile by tile (forward). Backward, the eliminated blocks subtract the terms
// of their neighbours (give) and are solved from the last tile to the first (backward). A thread block does C
// right-hand sides. With unit vectors as right-hand sides the solutions are the columns of L^-1. `number` is a piece of
// work for a thread block, as in blocked_factor.cuh.
#ifndef KS_BT_BLOCKED_SOLVE_CUH
#define KS_BT_BLOCKED_SOLVE_CUH

#include "triangle.cuh"

// Up to C right-hand sides of a thread block, from `first` on.
struct ks_bt_chunk {
    int first, count;
};

template <int C> KS_DEVICE ks_bt_chunk ks_bt_chunk_of(const ks_bt_blocked_args &args, int number)
{
    return {number * C, args.nrhs - number * C};
}

// Rows k .. k + 15 of them, as the second operand of a product.
template <class T>
KS_DEVICE ks_bt_operand<T> ks_bt_rows_of(const ks_bt_blocked_args &args, const T *x,
                                         const ks_bt_chunk &chunk, int k)
{
    return {x + (int64_t)k * args.nrhs + chunk.first, args.nrhs, chunk.count, args.n - k};
}

// Tile i of C right-hand sides minus the sums, to `to` in shared memory, with zeros beyond the order, or in a caller's
// array.
template <class T, int C>
KS_DEVICE void ks_bt_less(const ks_bt_blocked_args &args, ks_bt_sum<T, C> &sum, const T *from, int i,
                          const ks_bt_chunk &chunk, T *to, bool shared)
{
    const T *const base = from + (int64_t)i * KS_BT_TILE * args.nrhs + chunk.first;
    const int rows = args.n - i * KS_BT_TILE;
    sum.each([&](int r, int c, T value) {
        const bool there = r < rows && c < chunk.count;
        const T result = there ? base[(int64_t)r * args.nrhs + c] - value : T(0);
        if (shared) to[r * C + c] = result;
        else if (there) to[(int64_t)r * args.nrhs + c] = result;
    });
}

// Whether a launch has nothing to do.
KS_DEVICE bool ks_bt_idle(const ks_bt_blocked_args &args) { return args.idle && *args.idle; }

// Return the number of chunks of right-hand sides.
template <int C> KS_DEVICE int ks_bt_chunks(const ks_bt_blocked_args &args)
{
    return (args.nrhs + C - 1) / C;
}

// x(k) <- x(k) - W y for both neighbours that the previous round eliminated; a tile of rows.
template <class T, int C>
KS_DEVICE void ks_bt_collect(const ks_bt_blocked_args &args, const ks_bt_round &now, T *shared, int number)
{
    const int P = args.padded, tiles = (P + KS_BT_TILE - 1) / KS_BT_TILE, each = P / KS_BT_STEP;
    const int i = number % tiles, chunks = ks_bt_chunks<C>(args);
    const ks_bt_chunk chunk = ks_bt_chunk_of<C>(args, number / tiles % chunks);
    const ks_bt_at at = ks_bt_node_at(args, now, 0, now.touched, number / tiles / chunks);
    const int system = at.system, k = at.node.k;
    const int before = at.node.from_before, behind = at.node.from_behind;
    const int skipped = before < 0 ? each : 0, end = behind < 0 ? each : 2 * each;
    const T *const W0 = ks_bt_part<T>(args, args.factor, system, before, 2);
    const T *const W1 = ks_bt_part<T>(args, args.factor, system, behind, 1);
    const T *const y0 = ks_bt_block<const T>(args.x, system, before);
    const T *const y1 = ks_bt_block<const T>(args.x, system, behind);
    ks_bt_sum<T, C> sum;
    ks_bt_product<false, true, false>(
        sum, shared, end - skipped, [&](int step, ks_bt_operand<T> &A, ks_bt_operand<T> &B) {
            const bool second = step + skipped >= each;
            const int s = (second ? step + skipped - each : step) * KS_BT_STEP;
            A = {(second ? W1 : W0) + (int64_t)i * KS_BT_TILE * P + s, P, P - i * KS_BT_TILE,
                 KS_BT_STEP};
            B = ks_bt_rows_of<T>(args, second ? y1 : y0, chunk, s);
        });
    const T *const from = at.node.fresh ? ks_bt_block<const T>(args.b, system, k)
                                        : ks_bt_block<const T>(args.x, system, k);
    T *const to = ks_bt_block<T>(args.x, system, k) + (int64_t)i * KS_BT_TILE * args.nrhs + chunk.first;
    ks_bt_less<T, C>(args, sum, from, i, chunk, to, false);
}

// Unit vectors, from column `first` on, minus the sums.
template <class T, int C>
KS_DEVICE void ks_bt_unit_less(ks_bt_sum<T, C> &sum, int i, int first, T *to)
{
    sum.each([&](int r, int c, T value) {
        to[r * C + c] = T(i * KS_BT_TILE + r == first + c) - value;
    });
}

// The rows of tile i from shared memory to x.
template <class T, int C>
KS_DEVICE void ks_bt_put_rows(const ks_bt_blocked_args &args, int i, const ks_bt_chunk &chunk, const T *V, T *x)
{
    T *const to = x + (int64_t)i * KS_BT_TILE * args.nrhs + chunk.first;
    for (int e = ks_thread_anew(); e < KS_BT_TILE * C; e += KS_BT_THREADS)
        if (e / C < args.n - i * KS_BT_TILE && e % C < chunk.count)
            to[(int64_t)(e / C) * args.nrhs + e % C] = V[e];
}

// y <- L^-1 x for a block that is eliminated, tiles one after the other; the product that a tile begins
// with waits for the one before. The columns of L^-1 have zeros before their first tile, which are not
// written.
template <class T, int C>
KS_DEVICE void ks_bt_forward(const ks_bt_blocked_args &args, const ks_bt_round &now, T *shared, int number)
{
    T *const M = shared + KS_BT_PIPELINE(C), *const V = shared;
    const int P = args.padded, tiles = (P + KS_BT_TILE - 1) / KS_BT_TILE;
    const int chunks = ks_bt_chunks<C>(args);
    const ks_bt_at at = ks_bt_eliminated_at(args, now, number / chunks);
    const ks_bt_chunk chunk = ks_bt_chunk_of<C>(args, number % chunks);
    const T *const L = ks_bt_part<T>(args, args.factor, at.system, at.node.k, 0);
    const int begin = args.identity ? chunk.first / KS_BT_TILE : 0;
    T *const x = args.identity ? ks_bt_work<T>(args, now, number / chunks, 0)
                               : ks_bt_block<T>(args.x, at.system, at.node.k);
    const T *const b =
        now.bare && !args.identity ? ks_bt_block<const T>(args.b, at.system, at.node.k) : x;
#pragma unroll 1
    for (int i = begin; i < tiles; ++i) {
        const T *const row = L + (int64_t)i * KS_BT_TILE * P;
        const int rows = P - i * KS_BT_TILE;
        ks_bt_sum<T, C> sum;
        ks_bt_bring_tile<T>(M, row + i * KS_BT_TILE, P, rows, rows);
        ks_bt_product<false, true, false>(
            sum, shared, (i - begin) * (KS_BT_TILE / KS_BT_STEP),
            [&](int step, ks_bt_operand<T> &A, ks_bt_operand<T> &B) {
                const int s = begin * KS_BT_TILE + step * KS_BT_STEP;
                A = {row + s, P, rows, KS_BT_STEP};
                B = ks_bt_rows_of<T>(args, x, chunk, s);
            });
        if (args.identity) ks_bt_unit_less<T, C>(sum, i, chunk.first, V);
        else ks_bt_less<T, C>(args, sum, b, i, chunk, V, true);
        __syncthreads();
        ks_bt_solve_tile<T, C>(V, M);
        ks_bt_put_rows<T, C>(args, i, chunk, V, x);
    }
}

// x(k) <- x(k) - W' x for both neighbours of an eliminated block; a tile of rows.
template <class T, int C>
KS_DEVICE void ks_bt_give(const ks_bt_blocked_args &args, const ks_bt_round &now, T *shared, int number)
{
    const int P = args.padded, tiles = (P + KS_BT_TILE - 1) / KS_BT_TILE, each = P / KS_BT_STEP;
    const int chunks = ks_bt_chunks<C>(args), i = number % tiles;
    const ks_bt_at at = ks_bt_eliminated_at(args, now, number / tiles / chunks);
    const ks_bt_chunk chunk = ks_bt_chunk_of<C>(args, number / tiles % chunks);
    const int before = at.node.before, behind = at.node.behind;
    const T *const W0 = ks_bt_part<T>(args, args.factor, at.system, at.node.k, 1);
    const T *const W1 = ks_bt_part<T>(args, args.factor, at.system, at.node.k, 2);
    const T *const x0 = ks_bt_block<const T>(args.x, at.system, before);
    const T *const x1 = ks_bt_block<const T>(args.x, at.system, behind);
    const int skipped = before < 0 ? each : 0, end = behind < 0 ? each : 2 * each;
    ks_bt_sum<T, C> sum;
    ks_bt_product<true, true, false>(
        sum, shared, end - skipped, [&](int step, ks_bt_operand<T> &A, ks_bt_operand<T> &B) {
            const bool second = step + skipped >= each;
            const int s = (second ? step + skipped - each : step) * KS_BT_STEP;
            A = {(second ? W1 : W0) + (int64_t)s * P + i * KS_BT_TILE, P, P - i * KS_BT_TILE,
                 KS_BT_STEP};
            B = ks_bt_rows_of<T>(args, second ? x1 : x0, chunk, s);
        });
    T *const x = ks_bt_block<T>(args.x, at.system, at.node.k);
    ks_bt_less<T, C>(args, sum, x, i, chunk,
                     x + (int64_t)i * KS_BT_TILE * args.nrhs + chunk.first, false);
}

// x <- L^-T x for an eliminated block, from its last tile to its first.
template <class T, int C>
KS_DEVICE void ks_bt_backward(const ks_bt_blocked_args &args, const ks_bt_round &now, T *shared,
                              int number)
{
    T *const M = shared + KS_BT_PIPELINE(C), *const V = shared;
    const int P = args.padded, tiles = (P + KS_BT_TILE - 1) / KS_BT_TILE;
    const int chunks = ks_bt_chunks<C>(args);
    const ks_bt_at at = ks_bt_eliminated_at(args, now, number / chunks);
    const ks_bt_chunk chunk = ks_bt_chunk_of<C>(args, number % chunks);
    const T *const L = ks_bt_part<T>(args, args.factor, at.system, at.node.k, 0);
    T *const x = ks_bt_block<T>(args.x, at.system, at.node.k);
#pragma unroll 1
    for (int i = tiles - 1; i >= 0; --i) {
        const int rows = P - i * KS_BT_TILE, below = (i + 1) * KS_BT_TILE;
        ks_bt_sum<T, C> sum;
        ks_bt_bring_tile<T>(M, L + (int64_t)i * KS_BT_TILE * (P + 1), P, rows, rows);
        ks_bt_product<true, true, false>(
            sum, shared, i + 1 < tiles ? (P - below) / KS_BT_STEP : 0,
            [&](int step, ks_bt_operand<T> &A, ks_bt_operand<T> &B) {
                const int s = below + step * KS_BT_STEP;
                A = {L + (int64_t)s * P + i * KS_BT_TILE, P, rows, KS_BT_STEP};
                B = ks_bt_rows_of<T>(args, x, chunk, s);
            });
        ks_bt_less<T, C>(args, sum, x, i, chunk, V, true);
        __syncthreads();
        ks_bt_solve_tile_back<T, C>(V, M);
        ks_bt_put_rows<T, C>(args, i, chunk, V, x);
    }
}

#endif
