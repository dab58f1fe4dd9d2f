// ks_bt_blocked_inverse.cu -- blocks of the inverse from a stored factor of large blocks, round by round from the last
// one to the first.
//
// For an eliminated block j with neighbours a and b, the inverse S, the factor W and L, and G = W L^-1 (Takahashi's
// recurrence by blocks):
//
//     S_aj = -(S_aa G_a + S_ab G_b)    S_bj = -(S_ba G_a + S_bb G_b)
//     S_jj = L^-T L^-1 - G_a' S_aj - G_b' S_bj
//
// S_ab is known, since a is a neighbour of b in a later round, or b of a. L^-1 comes from blocked_solve.cuh.
#include "product.cuh"

// The work of this thread block: a tile of one of the two couplings (side 1 or 2) of a block.
struct ks_bt_coupling_tile {
    ks_bt_at at;
    int who, side, i, j;  // who: the block's number among those that the round eliminates
    bool there;           // whether the block has that neighbour
};
KS_DEVICE ks_bt_coupling_tile ks_bt_coupling_tile_here(const ks_bt_blocked_args &args)
{
    const int tiles = (args.padded + KS_BT_TILE - 1) / KS_BT_TILE, number = (int)blockIdx.x;
    ks_bt_coupling_tile t;
    t.i = number % tiles;
    t.j = number / tiles % tiles;
    t.side = 1 + number / tiles / tiles % 2;
    t.who = number / tiles / tiles / 2;
    t.at = ks_bt_eliminated_at(args, args.now, t.who);
    t.there = (t.side == 1 ? t.at.node.before : t.at.node.behind) >= 0;
    return t;
}

// Rows of tile row i of a row-major array, 16 columns from k on; or columns of tile column i, 16 rows from k on.
template <class T> KS_DEVICE ks_bt_operand<T> ks_bt_by_rows(const T *M, int P, int i, int k)
{
    return {M + (int64_t)i * KS_BT_TILE * P + k, P, P - i * KS_BT_TILE, KS_BT_STEP};
}
template <class T> KS_DEVICE ks_bt_operand<T> ks_bt_by_columns(const T *M, int P, int i, int k)
{
    return {M + (int64_t)k * P + i * KS_BT_TILE, P, P - i * KS_BT_TILE, KS_BT_STEP};
}

template <class T>
KS_DEVICE void ks_bt_keep(ks_bt_sum<T, KS_BT_TILE> &sum, T *to, int P, int i, int j, T sign)
{
    T *const base = to + ((int64_t)i * P + j) * KS_BT_TILE;
    const int rows = P - i * KS_BT_TILE, columns = P - j * KS_BT_TILE;
    sum.each([&](int r, int c, T value) {
        if (r < rows && c < columns) base[r * P + c] = sign * value;
    });
}

// G = W L^-1. In tile column j, L^-1 is zero above tile j.
template <class T> KS_DEVICE void ks_bt_gain(const ks_bt_blocked_args &args)
{
    KS_DYNAMIC_SHARED(T, shared);
    const ks_bt_coupling_tile t = ks_bt_coupling_tile_here(args);
    if (!t.there) return;
    const int P = args.padded, first = t.j * KS_BT_TILE;
    const T *const W = ks_bt_part<T>(args, args.factor, t.at.system, t.at.node.k, t.side);
    const T *const inverse = ks_bt_work<T>(args, args.now, t.who, 0);
    ks_bt_sum<T, KS_BT_TILE> sum;
    ks_bt_product<false, true, true>(
        sum, shared, (P - first) / KS_BT_STEP, [&](int step, ks_bt_operand<T> &A, ks_bt_operand<T> &B) {
            A = ks_bt_by_rows(W, P, t.i, first + step * KS_BT_STEP);
            B = ks_bt_by_columns(inverse, P, t.j, first + step * KS_BT_STEP);
        });
    ks_bt_keep<T>(sum, ks_bt_work<T>(args, args.now, t.who, t.side), P, t.i, t.j, T(1));
}

// S_aj or S_bj.
template <class T> KS_DEVICE void ks_bt_cross(const ks_bt_blocked_args &args)
{
    KS_DYNAMIC_SHARED(T, shared);
    const ks_bt_coupling_tile t = ks_bt_coupling_tile_here(args);
    if (!t.there) return;
    const int P = args.padded, each = P / KS_BT_STEP, system = t.at.system;
    const int before = t.at.node.before, behind = t.at.node.behind;
    T *const to = ks_bt_part<T>(args, args.inverse, system, t.at.node.k, t.side);
    ks_bt_sum<T, KS_BT_TILE> sum;
    const T *const own = ks_bt_part<T>(args, args.inverse, system, t.side == 1 ? before : behind, 0);
    const T *const G = ks_bt_work<T>(args, args.now, t.who, t.side);
    ks_bt_product<false, true, true>(
        sum, shared, each, [&](int step, ks_bt_operand<T> &A, ks_bt_operand<T> &B) {
            A = ks_bt_by_rows(own, P, t.i, step * KS_BT_STEP);
            B = ks_bt_by_columns(G, P, t.j, step * KS_BT_STEP);
        });
    if (before >= 0 && behind >= 0) {
        // The neighbour that is eliminated first holds S_ab, in rows of the other.
        const bool to_before = t.at.node.to_before;
        const T *const both = ks_bt_part<T>(args, args.inverse, system, to_before ? before : behind,
                                            to_before ? 2 : 1);
        const T *const other = ks_bt_work<T>(args, args.now, t.who, 3 - t.side);
        if ((t.side == 2) == to_before)
            ks_bt_product<false, true, true>(
                sum, shared, each, [&](int step, ks_bt_operand<T> &A, ks_bt_operand<T> &B) {
                    A = ks_bt_by_rows(both, P, t.i, step * KS_BT_STEP);
                    B = ks_bt_by_columns(other, P, t.j, step * KS_BT_STEP);
                });
        else
            ks_bt_product<true, true, true>(
                sum, shared, each, [&](int step, ks_bt_operand<T> &A, ks_bt_operand<T> &B) {
                    A = ks_bt_by_columns(both, P, t.i, step * KS_BT_STEP);
                    B = ks_bt_by_columns(other, P, t.j, step * KS_BT_STEP);
                });
    }
    ks_bt_keep<T>(sum, to, P, t.i, t.j, T(-1));
}

// S_jj: tiles of the lower triangle, mirrored.
template <class T> KS_DEVICE void ks_bt_middle(const ks_bt_blocked_args &args)
{
    KS_DYNAMIC_SHARED(T, shared);
    const int P = args.padded, tiles = (P + KS_BT_TILE - 1) / KS_BT_TILE, each = P / KS_BT_STEP;
    const int lower = tiles * (tiles + 1) / 2, number = (int)blockIdx.x % lower;
    const int who = (int)blockIdx.x / lower;
    const ks_bt_at at = ks_bt_eliminated_at(args, args.now, who);
    int i, j;
    ks_bt_lower_tile(number, i, j);
    const int skipped = at.node.before < 0 ? each : 0, end = at.node.behind < 0 ? each : 2 * each;
    const T *const G1 = ks_bt_work<T>(args, args.now, who, 1);
    const T *const G2 = ks_bt_work<T>(args, args.now, who, 2);
    const T *const S1 = ks_bt_part<T>(args, args.inverse, at.system, at.node.k, 1);
    const T *const S2 = ks_bt_part<T>(args, args.inverse, at.system, at.node.k, 2);
    const T *const inverse = ks_bt_work<T>(args, args.now, who, 0);
    ks_bt_sum<T, KS_BT_TILE> sum;
    // The first pass sums the terms to subtract. After negating them, the second pass adds L^-T L^-1, whose terms begin
    // at tile i.
    const int first = end - skipped, squares = (P - i * KS_BT_TILE) / KS_BT_STEP;
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
        ks_bt_product<true, true, true>(
            sum, shared, pass ? squares : first,
            [&](int step, ks_bt_operand<T> &A, ks_bt_operand<T> &B) {
                const bool second = step + skipped >= each;
                const int s = pass ? i * KS_BT_TILE + step * KS_BT_STEP
                                   : (second ? step + skipped - each : step) * KS_BT_STEP;
                A = ks_bt_by_columns(pass ? inverse : second ? G2 : G1, P, i, s);
                B = ks_bt_by_columns(pass ? inverse : second ? S2 : S1, P, j, s);
            });
        if (pass == 0) sum.negate();
    }
    T *const S = ks_bt_part<T>(args, args.inverse, at.system, at.node.k, 0);
    const int rows = P - i * KS_BT_TILE, columns = P - j * KS_BT_TILE;
    sum.each([&](int r, int c, T value) {
        if (r >= rows || c >= columns || (i == j && c > r)) return;
        S[(int64_t)(i * KS_BT_TILE + r) * P + j * KS_BT_TILE + c] = value;
        S[(int64_t)(j * KS_BT_TILE + c) * P + i * KS_BT_TILE + r] = value;
    });
}

// Store blocks (k, k) and (k + 1, k) for the caller, as numbers O. The scaling of the matrix is undone.
template <class T, class O> KS_DEVICE void ks_bt_deliver(const ks_bt_blocked_args &args)
{
    KS_DYNAMIC_SHARED(T, shared);
    const int P = args.padded, tiles = (P + KS_BT_TILE - 1) / KS_BT_TILE, n = args.n;
    const int tile = (int)blockIdx.x % (tiles * tiles), number = (int)blockIdx.x / (tiles * tiles);
    const int i = tile / tiles, j = tile % tiles, kinds = args.lag.data ? 2 : 1;
    const int k = number / kinds % args.N, system = number / kinds / args.N;
    const bool lag = number % kinds == 1;
    if (lag && k + 1 == args.N) return;
    // The neighbour that is eliminated first holds the block of both.
    const bool turned = lag && args.round_of[k + 1] < args.round_of[k];
    const T *const from =
        lag ? ks_bt_part<T>(args, args.inverse, system, turned ? k + 1 : k, turned ? 1 : 2)
            : ks_bt_part<T>(args, args.inverse, system, k, 0);
    const int a = turned ? j : i, b = turned ? i : j; // the tile in the stored block
    ks_bt_bring_tile<T>(shared, from + ((int64_t)a * P + b) * KS_BT_TILE, P, P - a * KS_BT_TILE,
                        P - b * KS_BT_TILE);
    ks_async_commit();
    ks_async_wait(0);
    __syncthreads();
    O *const to = lag ? ks_bt_block<O>(args.lag, system, k) : ks_bt_block<O>(args.S, system, k);
    const double *const right =
        args.scale ? args.scale + ((int64_t)system * args.N + k) * n : nullptr;
    const double *const left = right && lag ? right + n : right;
#pragma unroll 4
    for (int e = (int)threadIdx.x; e < KS_BT_TILE * KS_BT_TILE; e += KS_BT_THREADS) {
        const int r = e / KS_BT_TILE, c = e % KS_BT_TILE;
        const int row = i * KS_BT_TILE + r, column = j * KS_BT_TILE + c;
        if (row >= n || column >= n) continue;
        const T value = shared[turned ? c * KS_BT_LD + r : r * KS_BT_LD + c];
        to[(int64_t)row * n + column] =
            right ? O(left[row] * (double)value * right[column]) : O(value);
    }
}

#define INVERSE(suffix, T, blocks)                                                             \
    KS_KERNEL_BOUNDS(ks_bt_gain_##suffix, ks_bt_blocked_args, KS_BT_THREADS, blocks)           \
    {                                                                                          \
        ks_bt_gain<T>(args);                                                                   \
    }                                                                                          \
    KS_KERNEL_BOUNDS(ks_bt_cross_##suffix, ks_bt_blocked_args, KS_BT_THREADS, blocks)          \
    {                                                                                          \
        ks_bt_cross<T>(args);                                                                  \
    }                                                                                          \
    KS_KERNEL_BOUNDS(ks_bt_middle_##suffix, ks_bt_blocked_args, KS_BT_THREADS, blocks)         \
    {                                                                                          \
        ks_bt_middle<T>(args);                                                                 \
    }                                                                                          \
    KS_KERNEL_BOUNDS(ks_bt_deliver_##suffix, ks_bt_blocked_args, KS_BT_THREADS, blocks)        \
    {                                                                                          \
        ks_bt_deliver<T, T>(args);                                                             \
    }

INVERSE(f64, double, 3)
INVERSE(f32, float, 3)
KS_KERNEL_BOUNDS(ks_bt_deliver_mixed, ks_bt_blocked_args, KS_BT_THREADS, 3)
{
    ks_bt_deliver<float, double>(args);
}
