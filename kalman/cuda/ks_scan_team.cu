// ks_scan_team.cu -- the operators of elements of larger models on a device, for the rounds of any scan. A team of
// threads does what a lane does on the CPU, by the same text. Where the ordinary form fails, one of its threads
// continues alone.
#include "chunk_kernels.h"
#include "gpu/kernel.h"
#include "hd.h"
#include "kalscan/scan.cuh"
#include "scan_elements.h"
#include "team.h"

#include "num_f64.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "element_text.h"
#include "information_text.h"
#include "num_end.h"

#include "num_team_f64.h"
#include "team_smallmat_text.h"
#include "step_text.h"
#include "element_ordinary_text.h"
#include "information_ordinary_text.h"
#include "num_team_end.h"

// Common to both operators: `room`, memory that the team shares, and `slice`, device memory for an element and the
// scratch of a thread that works alone.
struct team_elements {
    typedef double element;
    const int n;
    double *const room, *const slice;
    KS_DEVICE_MEMBER team_elements(int nx, const ks_team_memory &memory, char *shared, double *scratch)
        : n(nx), room(reinterpret_cast<double *>(ks_team_room(memory, shared))),
          slice(scratch + ks_team_number() * ks_scan_elements_scratch(nx))
    {
    }
    KS_DEVICE_MEMBER double *spare() { return slice; }
    KS_DEVICE_MEMBER double *alone() { return slice + ks_filter_element_size(n); }
};

struct team_filter_operator : team_elements {
    using team_elements::team_elements;
    KS_DEVICE_MEMBER int64_t size() const { return ks_filter_element_size(n); }
    KS_DEVICE_MEMBER void copy(const double *from, double *to) const { ks_copy_team_f64((int)size(), from, to); }
    KS_DEVICE_MEMBER void combine(double *dst, const double *lhs, const double *rhs)
    {
        const int nn = n * n, half = n * (n + 1) / 2;
        const double *const eta_j = rhs + nn + n + half;
        double *const J = room, *const Y = J + nn, *const X = Y + nn, *const shift = X + nn;
        double *const eta = shift + n, *const more = eta + n;
        if (!ks_join_ordinary_team_f64(n, lhs, eta_j, eta_j + n, Y, X, shift, eta, J, more)) {
            if (ks_team_lane() == 0) ks_join_array_f64(n, lhs, eta_j, eta_j + n, Y, X, shift, eta, J, alone());
            ks_team_sync();
        }
        ks_joined_team_f64(n, dst, lhs, rhs, Y, X, shift, eta, J, more);
    }
    KS_DEVICE_MEMBER void neutral(double *dst)
    {
        ks_zero_team_f64((int)size(), dst);
        ks_identity_team_f64(n, dst);
    }
};

struct team_smooth_operator : team_elements {
    using team_elements::team_elements;
    KS_DEVICE_MEMBER int64_t size() const { return ks_smooth_element_size(n); }
    KS_DEVICE_MEMBER void copy(const double *from, double *to) const { ks_copy_team_f64((int)size(), from, to); }
    KS_DEVICE_MEMBER void combine(double *dst, const double *lhs, const double *rhs)
    {
        ks_smooth_combine_team_f64(n, dst, lhs, rhs, room);
    }
    KS_DEVICE_MEMBER void neutral(double *dst)
    {
        ks_zero_team_f64((int)size(), dst);
        ks_identity_team_f64(n, dst);
    }
};

template <class Op> KS_DEVICE void run_round(const ks_scan_elements_args &args, char *shared)
{
    Op op(args.nx, args.team, shared, args.scratch);
    ks_scan_share<Op, ks_scan_lane<Op>>(op, args.task, ks_team_number(), ks_team_count(), [] { ks_grid_sync(); });
}

// Compute the estimates at the border before element i, or the information there.
KS_DEVICE void fold_border(team_filter_operator &op, const ks_fold_args &args, int64_t i)
{
    const int n = op.n, nn = n * n, half = n * (n + 1) / 2;
    const double *const before = args.tiles.forward + (i - 1) * op.size();
    double *const x = args.before + i * (n + nn), *const P = x + n;
    ks_copy_team_f64(n, before + nn, x);
    ks_unpack_team_f64(n, before + nn + n, P);
    if (!args.tiles.reverse) return;
    const double *const eta = args.tiles.reverse + i * op.size() + nn + n + half, *const J = eta + n;
    double *const xs = args.last + (i - 1) * (n + nn), *const Ps = xs + n;
    if (args.information) {
        ks_copy_team_f64(n, eta, xs);
        ks_unpack_team_f64(n, J, Ps);
        return;
    }
    double *const U = op.room, *const v = U + nn, *const W = v + n;
    ks_unpack_team_f64(n, J, W);
    ks_copy_team_f64(n, eta, v);
    ks_mtv_sub_team_f64(n, n, W, x, v);
    ks_semidefinite_factor_team_f64(n, P, U);
    if (ks_meet_ordinary_team_f64(n, x, U, v, J, xs, Ps, W)) return;
    if (ks_team_lane() == 0) ks_two_filter_f64(n, x, P, eta, J, xs, Ps, op.alone());
    ks_team_sync();
}

KS_KERNEL_BOUNDS(ks_filter_scan_team, ks_scan_elements_args, KS_MOST_TEAM, 1)
{
    KS_DYNAMIC_SHARED(char, shared);
    run_round<team_filter_operator>(args, shared);
}

KS_KERNEL_BOUNDS(ks_smooth_scan_team, ks_scan_elements_args, KS_MOST_TEAM, 1)
{
    KS_DYNAMIC_SHARED(char, shared);
    run_round<team_smooth_operator>(args, shared);
}

KS_KERNEL_BOUNDS(ks_filter_fold_team, ks_fold_args, KS_MOST_TEAM, 1)
{
    KS_DYNAMIC_SHARED(char, shared);
    team_filter_operator op(args.tiles.nx, args.team, shared, args.tiles.scratch);
    for (int64_t i = 1 + ks_team_number(); i < args.tiles.count; i += ks_team_count()) fold_border(op, args, i);
}
