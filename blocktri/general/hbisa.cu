// hbisa.cu -- block Jacobi and red-black sweeps (HBISA eq. 6 and 7) over blocks of any size, until they converge, in
// one cooperative launch. Each thread block has a range of diagonal blocks, and solves as many of them at once as it
// has threads for their rows.
#include "general/hbisa_group.cuh"

template <bool RESIDENT> struct hbisa_tiles {
    const ks_hbisa_args &args;
    const ks_hbisa_range &range;
    hbisa_beside beside;
    const double *factor, *dia, *b; // of the blocks that are solved
    double *tile;
    int64_t row;                    // the row of x at which block 0 of the range begins

    // Return b - (L + U) x of a row of the matrix.
    KS_DEVICE_MEMBER double right_side(int r, const double *in) const
    {
        double y = b[r];
        for (int32_t e = beside.start[r]; e < beside.start[r + 1]; ++e)
            y = ks_add_product(y, -beside.value[e], in[beside.col[e]]);
        return y;
    }

    // Solve every `colours`-th block from `from` on, `count` of them, at most as many as the tile is wide.
    template <bool LAST>
    KS_DEVICE_MEMBER void solve(const hbisa_phase &phase, int from, int count, hbisa_look *look) const
    {
        const int n = args.n, rows = count * n, each = (2 * args.levels + 1) * n;
        // Either a thread has one row, or there is one block.
        const int mine = args.width > 1 ? (int)threadIdx.x / n : 0, block = from + mine * args.colours;
        const int solved = block - range.solved, first = mine * n;
        const bool own = block >= range.own && block < range.own_end;
        double *now = tile, *next = tile + args.width * n;
        for (int r = (int)threadIdx.x; r < rows; r += (int)blockDim.x)
            now[r] = right_side(solved * n + r - first, phase.in);
        __syncthreads();
        for (int level = 0; level < args.levels; ++level) {
            for (int r = (int)threadIdx.x; r < rows; r += (int)blockDim.x) {
                const double *alpha = factor + (int64_t)solved * each + n + 2 * level * n;
                ks_pcr_row_f64(n, (int64_t)1 << level, r - first, alpha, alpha + n, now + first, next + first);
            }
            __syncthreads();
            hbisa_swap(now, next);
        }
        for (int r = (int)threadIdx.x; r < rows; r += (int)blockDim.x) {
            const int i = r - first;
            const int64_t at = row + (int64_t)block * n + i;
            const double x = ks_product(factor[(int64_t)solved * each + i], now[r]);
            phase.out[at] = x;
            if (!LAST) continue;
            const double step = x - phase.before[at];
            next[r] = step;
            if (!own) continue;
            look->most = hbisa_larger(look->most, fabs(step));
            if (RESIDENT) phase.published[(range.first + block) * n + i] = x;
        }
        __syncthreads();
        if (LAST && !args.by_change && phase.colour == 0) {
            const double *const D = dia + (int64_t)solved * 3 * n;
            for (int r = (int)threadIdx.x; r < rows && own; r += (int)blockDim.x) {
                const int i = r - first;
                const double e =
                    hbisa_residual(n, D, i, i > 0 ? next[r - 1] : 0, next[r], i + 1 < n ? next[r + 1] : 0);
                look->square = ks_add_product(look->square, e, e);
            }
            __syncthreads();
        }
    }

    template <bool LAST> KS_DEVICE_MEMBER void sweep(const hbisa_phase &phase, hbisa_look *look) const
    {
        const int begin = range.own - phase.spread, end = range.own_end + phase.spread;
        const int to = end < range.blocks ? end : range.blocks, step = args.colours;
        int from = begin > 0 ? begin : 0;
        if (step == 2 && (range.first + from) % 2 != phase.colour) ++from;
        for (int left = (to - from + step - 1) / step; left > 0; left -= args.width, from += args.width * step)
            solve<LAST>(phase, from, left < args.width ? left : args.width, look);
    }
};

template <bool RESIDENT> KS_DEVICE void hbisa_by_tiles(const ks_hbisa_args &args, double *shared)
{
    const ks_hbisa_range &range = hbisa_range_of(args, shared);
    const int64_t first = hbisa_first_row(args, range), rows = (int64_t)(range.solved_end - range.solved) * args.n;
    const int64_t numbers = 2 * args.levels + 1;
    const ks_hbisa_layout layout = hbisa_layout_of(args, range, args.width * args.n);
    double *const tile = hbisa_at<double>(shared, layout.tile), *const local = hbisa_at<double>(shared, layout.x);
    const double *factor = args.factor + numbers * first, *dia = args.dia + 3 * first, *b = args.b + first;
    hbisa_beside beside = { args.start + first, args.col, args.value };
    if (RESIDENT) {
        double *const kept = hbisa_at<double>(shared, layout.factor);
        double *const kept_dia = hbisa_at<double>(shared, layout.dia);
        double *const kept_b = hbisa_at<double>(shared, layout.b);
        hbisa_copy(kept, factor, numbers * rows);
        hbisa_copy(kept_dia, dia, 3 * rows);
        hbisa_copy(kept_b, b, rows);
        factor = kept;
        dia = kept_dia;
        b = kept_b;
        beside = hbisa_keep_beside(args, range, layout, shared);
    }
    const int64_t row = RESIDENT ? 0 : range.first * args.n;
    const hbisa_tiles<RESIDENT> tiles = { args, range, beside, factor, dia, b, tile, row };
    hbisa_iterate<RESIDENT>(args, range, tiles, shared + layout.reduction / sizeof(double), local);
}

KS_KERNEL_BOUNDS(ks_hbisa_f64, ks_hbisa_args, KS_HBISA_TILE_THREADS, 1)
{
    KS_DYNAMIC_SHARED(double, shared);
    if (args.form == KS_HBISA_RESIDENT) hbisa_by_tiles<true>(args, shared);
    else hbisa_by_tiles<false>(args, shared);
}
