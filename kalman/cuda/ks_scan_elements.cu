// ks_scan_elements.cu -- the operators of filtering and smoothing elements on a device, for the rounds of any scan. A
// thread does what a lane does on the CPU, by the same text.
#include <float.h>
#include "gpu/kernel.h"
#include "hd.h"
#include "chunk_kernels.h"
#include "kalscan/scan.cuh"
#include "scan_elements.h"
#include "staged_round.h"

#include "num_f64.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "element_text.h"
#include "information_text.h"
#include "num_end.h"

// A thread's scratch: in local memory for N states, a slice of the launch's scratch for N = 0.
template <int N> struct scratch {
    double numbers[18 * N * N + 12 * N];
    __device__ scratch(int, double *) {}
    __device__ int nx() const { return N; }
    __device__ double *work() { return numbers; }
};
template <> struct scratch<0> {
    const int n;
    double *const slice;
    __device__ scratch(int nx, double *memory)
        : n(nx), slice(memory + ks_grid_thread() * ks_scan_elements_scratch(nx))
    {
    }
    __device__ int nx() const { return n; }
    __device__ double *spare() { return slice; }
    __device__ double *work() { return slice + ks_filter_element_size(n); }
};

// Room for an element of the thread's own. It stays in registers as long as no pointer to it reaches a function that is
// not inlined.
template <int N> struct room {
    double element[2 * N * N + 3 * N];
    __device__ room(const scratch<N> &) {}
};
template <> struct room<0> {
    double *const element;
    __device__ room(const scratch<0> &of) : element(of.slice) {}
};

// dst = lhs (+) rhs with everything in registers. Returns false if the ordinary form fails; dst is unchanged then.
template <int N> KS_DEVICE bool combine_ordinary(double *dst, const double *lhs, const double *rhs)
{
    enum { ETA = N * N + N + N * (N + 1) / 2 };
    double Y[N * N], X[N * N], J[N * N], shift[N], eta[N], W[4 * N * N + N];
    if (!ks_join_ordinary_f64(N, lhs, rhs + ETA, rhs + ETA + N, Y, X, shift, eta, J, W)) return false;
    ks_joined_f64(N, dst, lhs, rhs, Y, X, shift, eta, J, W);
    return true;
}

// dst = lhs (+) rhs in either form, in memory. It is a separate function, because its arguments must be in memory for
// all callers.
KS_DEVICE_COLD void combine_anyhow(int nx, double *dst, const double *lhs, const double *rhs, double *work)
{
    ks_filter_combine_f64(nx, dst, lhs, rhs, work);
}

template <int N> struct filter_operator : scratch<N> {
    typedef double element;
    typedef ::room<N> room;
    using scratch<N>::scratch;
    __device__ int64_t size() const { return ks_filter_element_size(this->nx()); }
    __device__ void copy(const double *from, double *to) const { ks_scan_copy(size(), from, to); }
    __device__ void combine(double *dst, const double *lhs, const double *rhs)
    {
        if (combine_ordinary<N>(dst, lhs, rhs)) return;
        double *const made = this->work();
        combine_anyhow(N, made, lhs, rhs, made + size());
        copy(made, dst);
    }
    __device__ void neutral(double *dst) { ks_filter_neutral_f64(this->nx(), dst); }
};

template <> inline __device__ void filter_operator<0>::combine(double *dst, const double *lhs, const double *rhs)
{
    combine_anyhow(nx(), dst, lhs, rhs, work());
}

template <int N> struct smooth_operator : scratch<N> {
    typedef double element;
    using scratch<N>::scratch;
    __device__ int64_t size() const { return ks_smooth_element_size(this->nx()); }
    __device__ void copy(const double *from, double *to) const { ks_scan_copy(size(), from, to); }
    __device__ void combine(double *dst, const double *lhs, const double *rhs)
    {
        double own[4 * N * N + N];
        ks_smooth_combine_f64(N, dst, lhs, rhs, own);
    }
    __device__ void neutral(double *dst) { ks_smooth_neutral_f64(this->nx(), dst); }
};

template <> inline __device__ void smooth_operator<0>::combine(double *dst, const double *lhs, const double *rhs)
{
    ks_smooth_combine_f64(nx(), dst, lhs, rhs, work());
}

// Run a round, or all of them. Elements of literal sizes pass through shared memory (run_staged).
template <class Op> KS_DEVICE void run_round(const ks_scan_elements_args &args, double *)
{
    Op op(args.nx, args.scratch);
    ks_scan_share<Op, ks_scan_lane<Op>>(op, args.task, ks_grid_thread(), ks_grid_threads(),
                                        [] { ks_grid_sync(); });
}
template <class Op> KS_DEVICE void run_staged(const ks_scan_elements_args &args, double *shared)
{
    Op op(args.nx, args.scratch);
    share_staged(op, args.task, shared);
}

// A tile of elements, indexed in the order of the scan. Each thread has `each` of them, 1 or 2. In shared memory the
// first elements of all threads lie `apart` numbers from one another, and the second ones `second` numbers behind them,
// so that neighbouring threads have no bank conflicts.
struct tile_of_elements {
    double *elements;
    int apart, second, count, each;
    bool reverse;

    __device__ double *element(int at) const
    {
        const int halves = each - 1;
        return elements + ((int64_t)(at >> halves) * apart + (at & halves) * second);
    }
};

// A tile in shared memory, or in its place in an array.
KS_DEVICE tile_of_elements tile_in(double *shared, int apart, int second, int count, int each, bool reverse)
{
    const tile_of_elements tile = {shared, apart, second, count, each, reverse};
    return tile;
}
KS_DEVICE tile_of_elements tile_in_place(double *elements, int size, int count, bool reverse)
{
    const tile_of_elements tile = {reverse ? elements + (int64_t)(count - 1) * size : elements, reverse ? -size : size, 0,
                                   count, 1, reverse};
    return tile;
}

// Replace element `at` by its product with element `before`, in the threads with `takes`. All threads read before any
// writes.
template <class Op> KS_DEVICE void join(Op &op, const tile_of_elements &tile, bool takes, int at, int before)
{
    typename Op::room product(op);
    if (takes) {
        const double *const own = tile.element(at), *const other = tile.element(before);
        op.combine(product.element, tile.reverse ? own : other, tile.reverse ? other : own);
    }
    __syncthreads();
    if (takes) op.copy(product.element, tile.element(at));
    __syncthreads();
}

// Scan in doubling steps over each thread's last element. If a thread has two, its first is joined to its second before
// the steps, and afterwards the first takes the result of the previous thread's second one.
template <class Op> KS_DEVICE void scan_tile(Op &op, const tile_of_elements &tile)
{
    const int lane = (int)threadIdx.x, each = tile.each, at = lane * each + each - 1, lanes = tile.count / each;
#pragma unroll 1
    for (int step = each > 1 ? 0 : 1; step < lanes || each > 1; step = step ? 2 * step : 1) {
        const bool first = step == 0, last = !first && step >= lanes;
        const int to = last ? at - 1 : at, before = first || last ? to - 1 : at - step * each;
        join(op, tile, to < tile.count && before >= 0, to, before);
        if (last) break;
    }
}

// Call move(number of the tile, number of the array) for the first `size` numbers of each element. Each warp takes one
// element after the other, and neighbouring threads take neighbouring numbers.
template <class Number, class Move>
KS_DEVICE void move_tile(const tile_of_elements &tile, int size, Number *array, Move move)
{
    const int warps = (int)blockDim.x / KS_WARP, warp = (int)threadIdx.x / KS_WARP, first = (int)threadIdx.x % KS_WARP;
    Number *there = array + (warp * size + first);
    int at = tile.reverse ? tile.count - 1 - warp : warp;
#pragma unroll 4
    for (int left = tile.count - warp; left > 0; left -= warps) {
        double *const element = tile.element(at) + first;
#pragma unroll
        for (int number = 0; number < size; number += KS_WARP)
            if (number + first < size) move(element + number, there + number);
        there += warps * size;
        at += tile.reverse ? -warps : warps;
    }
}

KS_DEVICE void bring_tile(const tile_of_elements &tile, int size, const double *from)
{
    move_tile(tile, size, from, [](double *at, const double *there) { ks_async_copy(at, there, sizeof *at); });
}
KS_DEVICE void take_tile(const tile_of_elements &tile, int size, double *to)
{
    move_tile(tile, size, to, [](const double *at, double *there) { *there = *at; });
}

// Scan tiles in shared memory, or in their place.
template <class Op, bool SHARED> KS_DEVICE void scan_tiles(const ks_tiles_args &args, double *shared)
{
    Op op(args.nx, args.scratch);
    const int64_t size = op.size(), tiles = (args.count + args.tile - 1) / args.tile;
    const int ways = args.reverse ? 2 : 1, apart = (int)ks_tile_apart(op.nx()), second = (int)(args.tile / args.each) * apart;
    for (int64_t unit = blockIdx.x; unit < ways * tiles; unit += gridDim.x) {
        const bool reverse = unit >= tiles;
        const int64_t tile = reverse ? unit - tiles : unit, first = tile * args.tile, left = args.count - first;
        const int count = (int)(left < args.tile ? left : args.tile);
        double *const elements = (reverse ? args.reverse : args.forward) + first * size;
        double *const totals = reverse ? args.reverse_totals : args.forward_totals;
        const double *const from = args.from ? args.from + first * size : elements;
        const tile_of_elements own = SHARED ? tile_in(shared, apart, second, count, (int)args.each, reverse)
                                            : tile_in_place(elements, (int)size, count, reverse);
        /* Issue all copies before waiting for any. */
        if (SHARED) bring_tile(own, (int)size, from);
        ks_async_commit();
        ks_async_wait(0);
        __syncthreads();
        scan_tile(op, own);
        if (SHARED) take_tile(own, (int)size, elements);
        if (totals && threadIdx.x == 0) op.copy(own.element(count - 1), totals + tile * size);
        __syncthreads();
    }
}

// lhs (+) rhs; if one of them is absent, the other one.
template <class Op> KS_DEVICE void product_of(Op &op, const double *lhs, const double *rhs, double *product)
{
    if (lhs && rhs) op.combine(product, lhs, rhs);
    else op.copy(lhs ? lhs : rhs, product);
}

// Compute smoothed xs, Ps from filtered x, P and the information of later observations, in registers. Returns false if
// the ordinary form fails.
template <int N>
KS_DEVICE bool two_filter_ordinary(const double *x, const double *P, const double *eta, const double *J, double *xs, double *Ps)
{
    double U[N * N], v[N], mean[N], cov[N * N], W[3 * N * N + N];
    ks_copy_f64(N, eta, v);
    ks_centre_f64(N, x, J, v);
    ks_semidefinite_factor_f64(N, P, U);
    if (!ks_meet_ordinary_f64(N, x, U, v, J, mean, cov, W)) return false;
    ks_copy_f64(N, mean, xs);
    ks_copy_f64(N * N, cov, Ps);
    return true;
}

// two_filter_ordinary() in either form, in memory; see combine_anyhow().
KS_DEVICE_COLD void two_filter_anyhow(int nx, const double *x, const double *P, const double *eta, const double *J, double *xs,
                                      double *Ps, double *work)
{
    ks_two_filter_f64(nx, x, P, eta, J, xs, Ps, work);
}

// Compute xs, Ps in either form from x and P in memory and element e, which holds the information of later
// observations.
template <int N>
KS_DEVICE void two_filter(filter_operator<N> &op, const double *x, const double *P, const double *e, double *xs, double *Ps)
{
    enum { ETA = N * N + N + N * (N + 1) / 2, INFORMATION = N + N * (N + 1) / 2 };
    if (two_filter_ordinary<N>(x, P, e + ETA, e + ETA + N, xs, Ps)) return;
    double *const told = op.work();
    ks_copy_f64(INFORMATION, e + ETA, told);
    two_filter_anyhow(N, x, P, told, told + N, xs, Ps, told + INFORMATION);
}
template <>
inline __device__ void two_filter(filter_operator<0> &op, const double *x, const double *P, const double *e, double *xs, double *Ps)
{
    const int n = op.nx(), eta = n * n + n + n * (n + 1) / 2;
    two_filter_anyhow(n, x, P, e + eta, e + eta + n, xs, Ps, op.work());
}

// Elements or estimates of the borders that a block does together. `forward` holds the elements before them, then the
// filtered estimates; `reverse` the elements behind them, then the smoothed estimates or the information.
struct borders {
    double *forward, *reverse;
};

// Compute the estimates at the border before element i.
template <class Op> KS_DEVICE void fold_border(Op &op, const ks_fold_args &args, int64_t i, const borders &elements, const borders &to)
{
    const ks_tiles_args &t = args.tiles;
    const int n = op.nx(), nn = n * n, half = n * (n + 1) / 2;
    const int64_t size = op.size(), left = (i - 1) / t.tile, right = i / t.tile + 1;
    double *const x = to.forward, *const P = x + n;
    typename Op::room product(op);
    const double *const e = product.element, *const totals = left > 0 ? t.forward_totals + (left - 1) * size : NULL;
    product_of(op, totals, elements.forward, product.element);
    ks_copy_f64(n, e + nn, x);
    ks_unpack_f64(n, e + nn + n, P);
    if (!t.reverse) return;
    const double *const behind = right * t.tile < t.count ? t.reverse_totals + right * size : NULL;
    product_of(op, elements.reverse, behind, product.element);
    double *const xs = to.reverse;
    if (args.information) {
        ks_copy_f64(n, e + nn + n + half, xs);
        ks_unpack_f64(n, e + nn + 2 * n + half, xs + n);
        return;
    }
    two_filter(op, x, P, e, xs, xs + n);
}

// The place of the elements, and of the estimates, of the border before element i in device memory.
KS_DEVICE borders elements_at(const ks_tiles_args &t, int64_t size, int64_t i)
{
    const borders at = {t.forward + (i - 1) * size, t.reverse + i * size};
    return at;
}
KS_DEVICE borders estimates_at(const ks_fold_args &args, int64_t i)
{
    const int64_t all = args.tiles.nx + (int64_t)args.tiles.nx * args.tiles.nx;
    const borders at = {args.before + i * all, args.last + (i - 1) * all};
    return at;
}

// Each thread reads and writes them in their place.
template <class Op> KS_DEVICE void fold_in_place(const ks_fold_args &args)
{
    Op op(args.tiles.nx, args.tiles.scratch);
    for (int64_t i = 1 + ks_grid_thread(); i < args.tiles.count; i += ks_grid_threads())
        fold_border(op, args, i, elements_at(args.tiles, op.size(), i), estimates_at(args, i));
}

// Through shared memory: neighbouring threads move neighbouring numbers.
template <class Op> KS_DEVICE void fold_in_shared(const ks_fold_args &args, double *shared)
{
    Op op(args.tiles.nx, args.tiles.scratch);
    const ks_tiles_args &t = args.tiles;
    const int n = op.nx(), size = (int)op.size(), all = n + n * n, apart = (int)ks_tile_apart(n), threads = (int)blockDim.x;
    for (int64_t first = 1 + (int64_t)blockIdx.x * threads; first < t.count; first += ks_grid_threads()) {
        const int count = t.count - first < threads ? (int)(t.count - first) : threads;
        const borders from = elements_at(t, size, first), to = estimates_at(args, first);
        const tile_of_elements forward = tile_in(shared, apart, 0, count, 1, false);
        const tile_of_elements reverse = tile_in(shared + threads * apart, apart, 0, count, 1, false);
        bring_tile(forward, size, from.forward);
        if (t.reverse) bring_tile(reverse, size, from.reverse);
        ks_async_commit();
        ks_async_wait(0);
        __syncthreads();
        if ((int)threadIdx.x < count) {
            const borders own = {forward.element((int)threadIdx.x), reverse.element((int)threadIdx.x)};
            fold_border(op, args, first + threadIdx.x, own, own);
        }
        __syncthreads();
        take_tile(forward, all, to.forward);
        if (t.reverse) take_tile(reverse, all, to.reverse);
        __syncthreads();
    }
}

template <int N> KS_DEVICE void fold(const ks_fold_args &args, double *shared)
{
    fold_in_shared<filter_operator<N>>(args, shared);
}
template <> inline __device__ void fold<0>(const ks_fold_args &args, double *)
{
    fold_in_place<filter_operator<0>>(args);
}

#define KERNELS(name, N, run)                                                                       \
    KS_KERNEL_BOUNDS(ks_filter_scan_##name, ks_scan_elements_args, 128, 1)                          \
    {                                                                                               \
        KS_DYNAMIC_SHARED(double, shared);                                                          \
        run<filter_operator<N>>(args, shared);                                                      \
    }                                                                                               \
    KS_KERNEL_BOUNDS(ks_smooth_scan_##name, ks_scan_elements_args, 128, 1)                          \
    {                                                                                               \
        KS_DYNAMIC_SHARED(double, shared);                                                          \
        run<smooth_operator<N>>(args, shared);                                                      \
    }                                                                                               \
    KS_KERNEL_BOUNDS(ks_filter_tiles_##name, ks_tiles_args, KS_MOST_TILE, 1)                        \
    {                                                                                               \
        KS_DYNAMIC_SHARED(double, shared);                                                          \
        scan_tiles<filter_operator<N>, (N > 0)>(args, shared);                                      \
    }                                                                                               \
    KS_KERNEL_BOUNDS(ks_filter_fold_##name, ks_fold_args, KS_SCAN_THREADS, 1)                       \
    {                                                                                               \
        KS_DYNAMIC_SHARED(double, shared);                                                          \
        fold<N>(args, shared);                                                                      \
    }

KERNELS(1, 1, run_staged)
KERNELS(2, 2, run_staged)
KERNELS(3, 3, run_staged)
KERNELS(4, 4, run_staged)
KERNELS(any, 0, run_round)
