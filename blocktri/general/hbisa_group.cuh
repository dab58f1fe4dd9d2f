// hbisa_group.cuh -- common to the kernels of block iterations: ranges of blocks and their halos, groups of sweeps, and
// what thread blocks exchange between two groups.
#ifndef KS_GENERAL_HBISA_GROUP_CUH
#define KS_GENERAL_HBISA_GROUP_CUH

#include "gpu/kernel.h"
#include "hd.h"
#include "num_f64.h"
#include "general/tridiagonal_text.h"
#include "general/hbisa.h"

// Return the range of this thread block. It is at the beginning of shared memory, because registers are needed for
// rows.
KS_DEVICE const ks_hbisa_range &hbisa_range_of(const ks_hbisa_args &args, double *shared)
{
    ks_hbisa_range *const range = reinterpret_cast<ks_hbisa_range *>(shared);
    if (threadIdx.x == 0) {
        const int64_t begin = args.N * blockIdx.x / gridDim.x, end = args.N * (blockIdx.x + 1) / gridDim.x;
        const int64_t halo = ks_hbisa_halo(args.form, args.colours, args.sweeps);
        const int64_t reach = ks_hbisa_reach(args.form, args.colours, args.sweeps);
        const int64_t first = begin > halo ? begin - halo : 0, last = end + halo < args.N ? end + halo : args.N;
        range->first = first;
        range->blocks = (int32_t)(last - first);
        range->solved = (int32_t)((begin > reach ? begin - reach : 0) - first);
        range->solved_end = (int32_t)((end + reach < args.N ? end + reach : args.N) - first);
        range->own = (int32_t)(begin - first);
        range->own_end = (int32_t)(end - first);
    }
    __syncthreads();
    return *range;
}

// A sweep of one colour.
struct hbisa_phase {
    int colour;           // of the blocks; Jacobi has one colour
    int spread;           // blocks beyond its own that are solved
    const double *in;     // x of neighbours
    const double *before; // x before the sweep
    double *out;
    double *published;    // x of the whole system; own blocks are stored there in the last sweep of a group
};

// Computed in the last sweep of a group: the largest change, and |b - A x|^2 before the sweep.
struct hbisa_look {
    double most, square;
};

// Return row i of D dx, which is the residual before the sweep. dia: of the block.
KS_DEVICE double hbisa_residual(int n, const double *dia, int i, double below, double own, double above)
{
    double r = ks_product(dia[n + i], own);
    if (i > 0) r = ks_add_product(r, dia[i], below);
    if (i + 1 < n) r = ks_add_product(r, dia[2 * n + i], above);
    return r;
}

// Return the larger one. NaN is larger than all numbers.
KS_DEVICE double hbisa_larger(double a, double b) { return b <= a ? a : b != b || a <= b ? b : a; }

// Combine over all lanes of a warp. Every lane gets the result.
KS_DEVICE hbisa_look hbisa_of_warp(hbisa_look look)
{
    for (int away = 16; away > 0; away /= 2) {
        look.most = hbisa_larger(look.most, __shfl_xor_sync(0xffffffffu, look.most, away));
        look.square += __shfl_xor_sync(0xffffffffu, look.square, away);
    }
    return look;
}

// Combine over the threads of this block into `partial`, before a barrier of the grid. The order of the sum depends on
// the number of threads alone.
KS_DEVICE void hbisa_tell(double *shared, hbisa_look look, double *partial)
{
    const unsigned warps = blockDim.x / 32, lane = threadIdx.x % 32;
    look = hbisa_of_warp(look);
    if (lane == 0) {
        shared[threadIdx.x / 16] = look.most;
        shared[threadIdx.x / 16 + 1] = look.square;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        look.most = lane < warps ? shared[2 * lane] : 0;
        look.square = lane < warps ? shared[2 * lane + 1] : 0;
        look = hbisa_of_warp(look);
        if (lane == 0) {
            partial[2 * blockIdx.x] = look.most;
            partial[2 * blockIdx.x + 1] = look.square;
        }
    }
}

// Combine what all thread blocks stored, after that barrier. Every thread can read the result after the next barrier of
// the block.
KS_DEVICE void hbisa_gather(double *shared, const double *partial)
{
    if (threadIdx.x >= 32) return;
    hbisa_look all = { 0, 0 };
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < gridDim.x; i += 32) {
        all.most = hbisa_larger(all.most, partial[2 * i]);
        all.square += partial[2 * i + 1];
    }
    all = hbisa_of_warp(all);
    if (threadIdx.x == 0) {
        shared[2 * KS_HBISA_WARPS] = all.most;
        shared[2 * KS_HBISA_WARPS + 1] = all.square;
    }
}

KS_DEVICE void hbisa_barrier(void)
{
    if (gridDim.x > 1) ks_grid_sync();
    else __syncthreads();
}

KS_DEVICE void hbisa_swap(double *&a, double *&b)
{
    double *const other = a;
    a = b;
    b = other;
}

// Copy x of blocks `from` to `to` - 1 of the range from the published x.
KS_DEVICE void hbisa_bring(const ks_hbisa_args &args, const ks_hbisa_range &range, double *x, const double *published,
                           int from, int to)
{
    published += range.first * args.n;
#pragma unroll 1
    for (int r = from * args.n + ks_thread_anew(); r < to * args.n; r += (int)blockDim.x) x[r] = published[r];
}

// Run groups of sweeps by solver.sweep<last>(phase, look) until they converge. LOCAL: `local` is twice the x of the
// range, in shared memory. Otherwise x stays in device memory and a group is one sweep. The published x alternates
// between y and x, so that a thread block may continue while its neighbour still reads what was published before the
// last barrier.
template <bool LOCAL, class Solver>
KS_DEVICE void hbisa_iterate(const ks_hbisa_args &args, const ks_hbisa_range &range, const Solver &solver,
                             double *shared, double *local)
{
    double *old = LOCAL ? local : args.x, *fresh = LOCAL ? local + range.blocks * args.n : args.y;
    if (LOCAL) hbisa_bring(args, range, old, args.x, 0, range.blocks);
    __syncthreads();
    int iterations = 0, newest = 0;
    for (;;) {
        const int left = args.max_iterations - iterations, sweeps = left < args.sweeps ? left : args.sweeps;
        iterations += sweeps;
        newest = 1 - newest;
        double *const published = newest ? args.y : args.x;
        int after = sweeps * args.colours;
        hbisa_phase phase = { 0, 0, old, old, fresh, published };
        while (after > args.colours) {
            for (phase.colour = 0; phase.colour < args.colours; ++phase.colour) {
                phase.spread = --after;
                phase.in = phase.colour ? fresh : old;
                phase.before = old;
                phase.out = fresh;
                solver.template sweep<false>(phase, NULL);
                __syncthreads();
            }
            hbisa_swap(old, fresh);
        }
        hbisa_look look = { 0, 0 };
        for (phase.colour = 0; phase.colour < args.colours; ++phase.colour) {
            --after;
            phase.spread = LOCAL ? after : 0;
            phase.in = phase.colour ? fresh : old;
            phase.before = old;
            phase.out = fresh;
            solver.template sweep<true>(phase, &look);
            if (after > 0 && LOCAL) __syncthreads();
            else if (after > 0) hbisa_barrier();
        }
        hbisa_swap(old, fresh);
        double *const partial = args.partial + newest * 2 * (int64_t)gridDim.x;
        hbisa_tell(shared, look, partial);
        hbisa_barrier();
        if (LOCAL) {
            hbisa_bring(args, range, old, published, 0, range.own);
            hbisa_bring(args, range, old, published, range.own_end, range.blocks);
        }
        hbisa_gather(shared, partial);
        __syncthreads();
        const double change = shared[2 * KS_HBISA_WARPS], square = shared[2 * KS_HBISA_WARPS + 1];
        const bool converged = (args.by_change ? change : square) <= args.tolerance;
        if (!converged && iterations < args.max_iterations && change <= 1e300) continue;
        if (ks_grid_thread() == 0) {
            const ks_hbisa_report told = { iterations, converged, newest, change, square };
            *args.report = told;
        }
        return;
    }
}

// ---- Data in shared memory. ----

KS_DEVICE void hbisa_copy(double *to, const double *from, int64_t count)
{
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) to[i] = from[i];
}

// Copy numbers of rows or entries, counted from `zero`.
KS_DEVICE void hbisa_copy(int32_t *to, const int32_t *from, int64_t count, int32_t zero)
{
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) to[i] = from[i] - zero;
}

// Rows of L + U of the blocks that are solved: row r has entries start[r] .. start[r + 1] - 1 of col and value. Columns
// are rows of x.
struct hbisa_beside {
    const int32_t *start, *col;
    const double *value;
};

KS_DEVICE int64_t hbisa_first_row(const ks_hbisa_args &args, const ks_hbisa_range &range)
{
    return (range.first + range.solved) * args.n;
}

KS_DEVICE ks_hbisa_layout hbisa_layout_of(const ks_hbisa_args &args, const ks_hbisa_range &range, int tile)
{
    const int rows = (range.solved_end - range.solved) * args.n;
    const int32_t *start = args.start + hbisa_first_row(args, range);
    return ks_hbisa_lay(args.form, args.levels, args.beyond, (size_t)tile, (size_t)range.blocks * (size_t)args.n,
                        (size_t)rows, (size_t)(start[rows] - start[0]));
}

template <class T> KS_DEVICE T *hbisa_at(double *shared, size_t bytes)
{
    return reinterpret_cast<T *>(reinterpret_cast<unsigned char *>(shared) + bytes);
}

// Copy these rows to shared memory. Columns then count from the first row of the range's x.
KS_DEVICE hbisa_beside hbisa_keep_beside(const ks_hbisa_args &args, const ks_hbisa_range &range,
                                         const ks_hbisa_layout &layout, double *shared)
{
    const int rows = (range.solved_end - range.solved) * args.n;
    const int32_t *from = args.start + hbisa_first_row(args, range);
    const int32_t zero = from[0], entries = from[rows] - zero;
    double *const value = hbisa_at<double>(shared, layout.value);
    int32_t *const start = hbisa_at<int32_t>(shared, layout.start), *const col = hbisa_at<int32_t>(shared, layout.col);
    hbisa_copy(value, args.value + zero, entries);
    hbisa_copy(start, from, rows + 1, zero);
    hbisa_copy(col, args.col + zero, entries, (int32_t)(range.first * args.n));
    hbisa_beside kept = { start, col, value };
    return kept;
}

#endif
