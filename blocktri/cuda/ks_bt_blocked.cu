// ks_bt_blocked.cu -- a round of the Cholesky factorization of large blocks: a launch for its beginning and one for
// each column of tiles. With args.atomic there is a launch that clears the sums before all rounds, and one that pushes
// at the end of each round.
#include "blocked_factor.cuh"

#define FACTOR(suffix, T, S, blocks)                                                       \
    KS_KERNEL_BOUNDS(ks_bt_begin_##suffix, ks_bt_blocked_args, KS_BT_THREADS, blocks)      \
    {                                                                                      \
        KS_DYNAMIC_SHARED(T, shared);                                                      \
        ks_bt_begin<T, S>(args, args.now, args.past, shared, (int)blockIdx.x);             \
    }                                                                                      \
    KS_KERNEL_BOUNDS(ks_bt_column_##suffix, ks_bt_blocked_args, KS_BT_THREADS, blocks)     \
    {                                                                                      \
        KS_DYNAMIC_SHARED(T, shared);                                                      \
        ks_bt_column<T, S>(args, args.now, args.column, shared, (int)blockIdx.x);          \
    }

#define PUSH(suffix, T, blocks)                                                            \
    KS_KERNEL_BOUNDS(ks_bt_clear_##suffix, ks_bt_blocked_args, KS_BT_THREADS, 8)           \
    {                                                                                      \
        ks_bt_clear<T>(args, (int)blockIdx.x);                                             \
    }                                                                                      \
    KS_KERNEL_BOUNDS(ks_bt_push_##suffix, ks_bt_blocked_args, KS_BT_THREADS, blocks)       \
    {                                                                                      \
        KS_DYNAMIC_SHARED(T, shared);                                                      \
        ks_bt_push<T>(args, args.now, shared, (int)blockIdx.x);                            \
    }

PUSH(f64, double, 3)
PUSH(f32, float, 3)
FACTOR(f64, double, double, 3)
FACTOR(f32, float, float, 3)
FACTOR(mixed, float, double, 3)
