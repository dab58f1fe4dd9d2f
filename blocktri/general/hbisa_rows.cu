// hbisa_rows.cu -- block Jacobi and red-black sweeps (HBISA eq. 6 and 7) with a thread for each row, until they
// converge, in one cooperative launch. A row's part of the matrix and its factor stays in the thread's registers from
// the first sweep to the last. At each level of the reduction the rows of a block exchange numbers by shuffles or, if
// the block lies across warps, through shared memory.
#include "general/hbisa_group.cuh"

template <int LEVELS, int HELD> struct hbisa_row {
    double inverse, b, alpha[LEVELS], gamma[LEVELS], value[HELD];
    int col[HELD]; // rows of x
    int entries;            // of the row; the first HELD are in registers
    int at, i, above;       // row of x, row of its block, and rows after it in the block
    int distance, colour;   // of the block; distance from the own blocks
    int nearest[2];         // least distance of all blocks of the warp, of either colour
};

// Return the block of a thread, numbered among those that are solved. With red-black even blocks come first, so that
// few warps have both colours.
KS_DEVICE int hbisa_block_of(int slot, int count, int64_t first, int colours)
{
    if (colours == 1) return slot;
    const int odd_first = (int)(first % 2), evens = (count + 1 - odd_first) / 2;
    return slot < evens ? odd_first + 2 * slot : 1 - odd_first + 2 * (slot - evens);
}

template <int LEVELS, int HELD>
KS_DEVICE hbisa_row<LEVELS, HELD> hbisa_take(const ks_hbisa_args &args, const ks_hbisa_range &range)
{
    hbisa_row<LEVELS, HELD> row;
    const int n = args.n, count = range.solved_end - range.solved, slot = (int)threadIdx.x / args.width;
    const int lane = (int)threadIdx.x % args.width, first = (int)range.first * n;
    const bool used = lane < n && slot < count;
    const int block =
        range.solved + (used ? hbisa_block_of(slot, count, range.first + range.solved, args.colours) : 0);
    row.i = used ? lane : 0;
    row.above = used ? n - 1 - row.i : 0;
    row.at = block * n + row.i;
    row.distance = block < range.own ? range.own - block : block < range.own_end ? 0 : block - range.own_end + 1;
    row.colour = args.colours == 2 ? (int)((range.first + block) % 2) : 0;
    const double *factor = args.factor + (int64_t)(2 * args.levels + 1) * (first + block * n) + row.i;
    row.inverse = factor[0];
    row.b = args.b[first + row.at];
    for (int level = 0; level < LEVELS; ++level) {
        row.alpha[level] = level < args.levels ? factor[(2 * level + 1) * n] : 0;
        row.gamma[level] = level < args.levels ? factor[(2 * level + 2) * n] : 0;
    }
    const int32_t start = args.start[first + row.at];
    row.entries = args.start[first + row.at + 1] - start;
    // A thread without a row has zeros, which its neighbours in the warp may read.
    if (!used) {
        row.distance = INT32_MAX;
        row.entries = 0;
        row.inverse = row.b = 0;
        for (int level = 0; level < LEVELS; ++level) row.alpha[level] = row.gamma[level] = 0;
    }
    for (int e = 0; e < HELD; ++e) {
        row.value[e] = e < row.entries ? args.value[start + e] : 0;
        row.col[e] = e < row.entries ? args.col[start + e] - first : 0;
    }
    for (int c = 0; c < 2; ++c) {
        int least = c == row.colour ? row.distance : INT32_MAX;
        for (int away = 16; away > 0; away /= 2) {
            const int other = __shfl_xor_sync(0xffffffffu, least, away);
            least = other < least ? other : least;
        }
        row.nearest[c] = least;
    }
    return row;
}

template <int LEVELS, int HELD, bool IN_WARP> struct hbisa_rows {
    const ks_hbisa_args &args;
    const ks_hbisa_range &range;
    const hbisa_beside &beside; // of rows that have more than HELD entries
    const double *dia;
    double *tile;               // two numbers for each thread; IN_WARP: none
    hbisa_row<LEVELS, HELD> row;

    // Return b - (L + U) x of the row, over `count` of its entries: all or none.
    KS_DEVICE_MEMBER double right_side(int count, const double *in) const
    {
        double y = row.b, x[HELD];
#pragma unroll
        for (int e = 0; e < HELD; ++e) x[e] = e < count ? in[row.col[e]] : 0;
#pragma unroll
        for (int e = 0; e < HELD; ++e) y = ks_add_product(y, -row.value[e], x[e]);
        if (count <= HELD) return y;
        const int32_t *const start = beside.start + (row.at - range.solved * args.n);
#pragma unroll 1
        for (int e = start[0] + HELD; e < start[1]; ++e) y = ks_add_product(y, -beside.value[e], in[beside.col[e]]);
        return y;
    }

    // Get the numbers of the rows `s` below and above in the block. Where there is no such row its coefficient is zero,
    // and the number is zero or the row's own. In shared memory the halves of the tile alternate, so that one barrier
    // suffices.
    KS_DEVICE_MEMBER void exchange(bool busy, int turn, int s, double y, double *below, double *above) const
    {
        if (IN_WARP) {
            *below = __shfl_up_sync(0xffffffffu, y, (unsigned)s, args.width);
            *above = __shfl_down_sync(0xffffffffu, y, (unsigned)s, args.width);
        } else {
            double *const own = tile + turn % 2 * (int)blockDim.x + ks_thread_anew();
            if (busy) *own = y;
            __syncthreads();
            *below = busy && row.i >= s ? own[-s] : 0;
            *above = busy && row.above >= s ? own[s] : 0;
        }
    }

    template <bool LAST> KS_DEVICE_MEMBER void sweep(const hbisa_phase &phase, hbisa_look *look) const
    {
        const bool busy = (phase.colour ? row.nearest[1] : row.nearest[0]) <= phase.spread;
        const bool mine = row.distance <= phase.spread && row.colour == phase.colour;
        if (IN_WARP && !busy) return;
        double y = right_side(mine ? row.entries : 0, phase.in), below, above;
#pragma unroll
        for (int level = 0; level < LEVELS; ++level) {
            if (level >= args.levels) break;
            exchange(busy, level, 1 << level, y, &below, &above);
            y = ks_pcr_subtract_f64(ks_pcr_subtract_f64(y, row.alpha[level], below), row.gamma[level], above);
        }
        y = ks_product(row.inverse, y);
        if (mine) phase.out[row.at] = y;
        if (!LAST) return;
        const double step = mine ? y - phase.before[row.at] : 0;
        if (mine && row.distance == 0) {
            look->most = hbisa_larger(look->most, fabs(step));
            phase.published[range.first * args.n + row.at] = y;
        }
        if (args.by_change || phase.colour != 0) return;
        exchange(busy, args.levels, 1, step, &below, &above);
        if (!mine || row.distance != 0) return;
        const double *const block = dia + 3 * (row.at - row.i - range.solved * args.n);
        const double e = hbisa_residual(args.n, block, row.i, below, step, above);
        look->square = ks_add_product(look->square, e, e);
    }
};

template <int LEVELS, int HELD, bool IN_WARP> KS_DEVICE void hbisa_by_rows(const ks_hbisa_args &args, double *shared)
{
    const ks_hbisa_range &range = hbisa_range_of(args, shared);
    const ks_hbisa_layout layout = hbisa_layout_of(args, range, (int)blockDim.x);
    double *const dia = hbisa_at<double>(shared, layout.dia), *const local = hbisa_at<double>(shared, layout.x);
    hbisa_beside *const beside = hbisa_at<hbisa_beside>(shared, layout.beside);
    hbisa_copy(dia, args.dia + 3 * hbisa_first_row(args, range), 3 * (range.solved_end - range.solved) * args.n);
    if (args.beyond) {
        const hbisa_beside kept = hbisa_keep_beside(args, range, layout, shared);
        if (threadIdx.x == 0) *beside = kept;
    }
    const hbisa_rows<LEVELS, HELD, IN_WARP> rows = { args, range, *beside, dia, hbisa_at<double>(shared, layout.tile),
                                               hbisa_take<LEVELS, HELD>(args, range) };
    hbisa_iterate<true>(args, range, rows, shared + layout.reduction / sizeof(double), local);
}

KS_KERNEL_BOUNDS(ks_hbisa_lanes_f64, ks_hbisa_args, KS_HBISA_LANE_THREADS, 1)
{
    KS_DYNAMIC_SHARED(double, shared);
    hbisa_by_rows<KS_HBISA_LANE_LEVELS, KS_HBISA_LANE_ENTRIES, true>(args, shared);
}

KS_KERNEL_BOUNDS(ks_hbisa_rows_f64, ks_hbisa_args, KS_HBISA_ROW_THREADS, 1)
{
    KS_DYNAMIC_SHARED(double, shared);
    hbisa_by_rows<KS_HBISA_ROW_LEVELS, KS_HBISA_ROW_ENTRIES, false>(args, shared);
}
