// ks_bt_blocked_solve.cu -- a round of the triangular solves: a launch for each of its parts.
#include "blocked_solve.cuh"

#define SOLVE(suffix, T, C, blocks)                                                            \
    KS_KERNEL_BOUNDS(ks_bt_collect_##suffix, ks_bt_blocked_args, KS_BT_THREADS, blocks)        \
    {                                                                                          \
        KS_DYNAMIC_SHARED(T, shared);                                                          \
        if (ks_bt_idle(args)) return;                                                          \
        ks_bt_collect<T, C>(args, args.now, shared, (int)blockIdx.x);                          \
    }                                                                                          \
    KS_KERNEL_BOUNDS(ks_bt_forward_##suffix, ks_bt_blocked_args, KS_BT_THREADS, blocks)        \
    {                                                                                          \
        KS_DYNAMIC_SHARED(T, shared);                                                          \
        if (ks_bt_idle(args)) return;                                                          \
        ks_bt_forward<T, C>(args, args.now, shared, (int)blockIdx.x);                          \
    }                                                                                          \
    KS_KERNEL_BOUNDS(ks_bt_give_##suffix, ks_bt_blocked_args, KS_BT_THREADS, blocks)           \
    {                                                                                          \
        KS_DYNAMIC_SHARED(T, shared);                                                          \
        if (ks_bt_idle(args)) return;                                                          \
        ks_bt_give<T, C>(args, args.now, shared, (int)blockIdx.x);                             \
    }                                                                                          \
    KS_KERNEL_BOUNDS(ks_bt_backward_##suffix, ks_bt_blocked_args, KS_BT_THREADS, blocks)       \
    {                                                                                          \
        KS_DYNAMIC_SHARED(T, shared);                                                          \
        if (ks_bt_idle(args)) return;                                                          \
        ks_bt_backward<T, C>(args, args.now, shared, (int)blockIdx.x);                         \
    }

SOLVE(narrow_f64, double, KS_BT_NARROW, 3)
SOLVE(wide_f64, double, KS_BT_WIDE, 2)
SOLVE(narrow_f32, float, KS_BT_NARROW, 4)
SOLVE(wide_f32, float, KS_BT_WIDE, 3)
