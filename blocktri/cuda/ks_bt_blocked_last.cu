// ks_bt_blocked_last.cu -- the last rounds of large blocks in one cooperative launch: a factorization, a solve, or
// both, by the functions that separate launches use.
//
// A barrier of the grid takes the place of the end of a launch. In a factorization with right-hand sides, the forward
// solve for the blocks of a round runs beside the beginning of the next round. Subtracting its terms runs beside the
// first column of tiles. Neither depends on the other.
#include "blocked_factor.cuh"
#include "blocked_solve.cuh"

// Call work(number) for each of `count` pieces of work, spread over the grid. A thread block synchronises between two
// pieces, which use the same shared memory.
template <class Work> KS_DEVICE void ks_bt_spread(int count, const Work &work)
{
    if (count == 0) return;
#pragma unroll 1
    for (int number = (int)blockIdx.x; number < count; number += (int)gridDim.x) {
        work(number);
        __syncthreads();
    }
    ks_grid_sync();
}

template <class T, class S> KS_DEVICE void ks_bt_last_up(const ks_bt_blocked_args &args, T *shared)
{
    const int tiles = (args.padded + KS_BT_TILE - 1) / KS_BT_TILE, systems = args.systems;
    const int chunks = ks_bt_chunks<KS_BT_NARROW>(args), columns = args.factors ? tiles : 1;
#pragma unroll 1
    for (int q = args.begin; q <= args.end; ++q) {
        const bool more = q < args.end;
        const ks_bt_round &now = args.rounds[more ? q : q - 1], &past = args.rounds[q > 0 ? q - 1 : 0];
        const int forward = args.solves && q > args.begin ? past.eliminated * systems * chunks : 0;
        const int begin = args.factors && more ? (int)ks_bt_begin_work(&now, &past, tiles, systems) : 0;
        ks_bt_spread(forward + begin, [&](int number) {
            if (number < forward)
                ks_bt_forward<T, KS_BT_NARROW>(args, past, shared, number);
            else
                ks_bt_begin<T, S>(args, now, past, shared, number - forward);
        });
#pragma unroll 1
        for (int p = 0; p < columns && more; ++p) {
            const int column = args.factors ? (int)ks_bt_column_work(&now, p, tiles, systems) : 0;
            const int collect =
                args.solves && p == 0 ? (int)ks_bt_collect_work(&now, chunks, tiles, systems) : 0;
            ks_bt_spread(column + collect, [&](int number) {
                if (number < column)
                    ks_bt_column<T, S>(args, now, p, shared, number);
                else
                    ks_bt_collect<T, KS_BT_NARROW>(args, now, shared, number - column);
            });
        }
    }
}

template <class T> KS_DEVICE void ks_bt_last_down(const ks_bt_blocked_args &args, T *shared)
{
    const int tiles = (args.padded + KS_BT_TILE - 1) / KS_BT_TILE;
    const int chunks = ks_bt_chunks<KS_BT_NARROW>(args);
#pragma unroll 1
    for (int q = args.end - 1; q >= args.begin; --q) {
        const ks_bt_round &now = args.rounds[q];
        const int work = now.eliminated * args.systems * chunks;
        if (!now.last)
            ks_bt_spread(work * tiles, [&](int number) {
                ks_bt_give<T, KS_BT_NARROW>(args, now, shared, number);
            });
        ks_bt_spread(work, [&](int number) {
            ks_bt_backward<T, KS_BT_NARROW>(args, now, shared, number);
        });
    }
}

#define LAST(suffix, T, S, blocks)                                                        \
    KS_KERNEL_BOUNDS(ks_bt_last_##suffix, ks_bt_blocked_args, KS_BT_THREADS, blocks)      \
    {                                                                                     \
        KS_DYNAMIC_SHARED(T, shared);                                                     \
        if (ks_bt_idle(args)) return;                                                     \
        ks_bt_last_up<T, S>(args, shared);                                                \
        if (args.solves) ks_bt_last_down<T>(args, shared);                                \
    }

LAST(f64, double, double, 2)
LAST(f32, float, float, 3)
LAST(mixed, float, double, 3)
