// hbisa.cu -- block Jacobi and red-black sweeps (HBISA eq. 6 and 7) until they converge, in one
// cooperative launch: each thread block keeps a range of diagonal blocks, a barrier of the grid ends
// a sweep, and every thread decides for itself, from the same numbers, whether it was the last.
#include <string.h>
#include "gpu/kernel.h"
#include "hd.h"
#include "num_f64.h"
#include "general/tridiagonal_text.h"
#include "general/hbisa.h"

// What a thread block reads in every sweep, its first row being row 0.
struct hbisa_part {
    const double *factor, *dia, *b, *value;
    const int32_t *start, *col;
    int32_t base;   // of the entries: start[0] as stored
};

KS_DEVICE void hbisa_copy(double *to, const double *from, int64_t count)
{
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) to[i] = from[i];
}

KS_DEVICE void hbisa_copy(int32_t *to, const int32_t *from, int64_t count)
{
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) to[i] = from[i];
}

KS_DEVICE hbisa_part hbisa_take(const ks_hbisa_args &args, int64_t first, int64_t rows, double *room)
{
    const int64_t row = first * args.n, numbers = (2 * args.levels + 1) * rows;
    const int32_t base = args.start[row], entries = args.start[row + rows] - base;
    hbisa_part part = { args.factor + (2 * args.levels + 1) * row, args.dia + 3 * row, args.b + row,
                        args.value + base, args.start + row, args.col + base, base };
    if (!args.resident) return part;
    double *dia = room + numbers, *b = dia + 3 * rows, *value = b + rows;
    int32_t *start = reinterpret_cast<int32_t *>(value + entries), *col = start + rows + 1;
    hbisa_copy(room, part.factor, numbers);
    hbisa_copy(dia, part.dia, 3 * rows);
    hbisa_copy(b, part.b, rows);
    hbisa_copy(value, part.value, entries);
    hbisa_copy(start, part.start, rows + 1);
    hbisa_copy(col, part.col, entries);
    __syncthreads();
    hbisa_part own = { room, dia, b, value, start, col, base };
    return own;
}

// The sum, or where `largest` the largest, of a number of each thread, in every thread. NaN wins.
KS_DEVICE double hbisa_reduce(double *shared, double value, bool largest)
{
    shared[threadIdx.x] = value;
    __syncthreads();
    for (unsigned count = blockDim.x; count > 1;) {
        const unsigned half = (count + 1) / 2;
        if (threadIdx.x + half < count) {
            const double a = shared[threadIdx.x], b = shared[threadIdx.x + half];
            shared[threadIdx.x] = !largest ? a + b : b <= a ? a : b != b || a <= b ? b : a;
        }
        __syncthreads();
        count = half;
    }
    const double all = shared[0];
    __syncthreads();
    return all;
}

// Row i of a block: D dx, which is the residual before the sweep.
KS_DEVICE double hbisa_residual(int n, const double *dia, int i, const double *dx)
{
    double r = dia[n + i] * dx[i];
    if (i > 0) r += dia[i] * dx[i - 1];
    if (i + 1 < n) r += dia[2 * n + i] * dx[i + 1];
    return r;
}

// Sweep over blocks of one colour; raises the largest change, and adds squares of the residual.
KS_DEVICE void hbisa_sweep(const ks_hbisa_args &args, const hbisa_part &part, int64_t first,
                           int64_t blocks, int colour, const double *in, double *out, double *tile,
                           double *most, double *square)
{
    const int n = args.n, most_rows = args.width * n, each = (2 * args.levels + 1) * n;
    for (int64_t done = 0; done < blocks; done += args.width) {
        const int64_t left = blocks - done;
        const int rows = (left < args.width ? (int)left : args.width) * n;
        double *from = tile, *to = tile + most_rows;
        for (int r = (int)threadIdx.x; r < rows; r += (int)blockDim.x) {
            const int64_t row = done * n + r;
            if (args.colours == 2 && (first + done + r / n) % 2 != colour) continue;
            double y = part.b[row];
            for (int32_t e = part.start[row] - part.base; e < part.start[row + 1] - part.base; ++e)
                y -= part.value[e] * in[part.col[e]];
            from[r] = y;
        }
        __syncthreads();
        for (int level = 0; level < args.levels; ++level) {
            for (int r = (int)threadIdx.x; r < rows; r += (int)blockDim.x) {
                const int own = r / n, i = r % n;
                if (args.colours == 2 && (first + done + own) % 2 != colour) continue;
                const double *alpha = part.factor + (done + own) * each + n + 2 * level * n;
                ks_pcr_row_f64(n, (int64_t)1 << level, i, alpha, alpha + n, from + own * n,
                               to + own * n);
            }
            __syncthreads();
            double *const other = from;
            from = to;
            to = other;
        }
        for (int r = (int)threadIdx.x; r < rows; r += (int)blockDim.x) {
            const int own = r / n, i = r % n;
            if (args.colours == 2 && (first + done + own) % 2 != colour) continue;
            const int64_t row = (first + done) * n + r;
            const double x = part.factor[(done + own) * each + i] * from[r], step = x - in[row];
            to[r] = step;
            out[row] = x;
            const double size = fabs(step);
            if (!(size <= *most)) *most = size;
        }
        __syncthreads();
        for (int r = (int)threadIdx.x; r < rows && !args.by_change && colour == 0;
             r += (int)blockDim.x) {
            const int own = r / n;
            if (args.colours == 2 && (first + done + own) % 2 != colour) continue;
            const double e =
                hbisa_residual(n, part.dia + (done + own) * 3 * n, r % n, to + own * n);
            *square += e * e;
        }
        __syncthreads();
    }
}

KS_KERNEL(ks_hbisa_f64, ks_hbisa_args)
{
    KS_DYNAMIC_SHARED(double, tile);
    const int64_t first = args.N * blockIdx.x / gridDim.x;
    const int64_t blocks = args.N * (blockIdx.x + 1) / gridDim.x - first;
    double *shared = tile + 2 * args.width * args.n;
    const hbisa_part part = hbisa_take(args, first, blocks * args.n, shared + blockDim.x);
    int64_t iteration = 0;
    bool converged = false, go_on = true;
    double largest = 0, sum = 0;
    while (go_on) {
        ++iteration;
        // Of three slots one is written, one may still be read, one is made ready.
        unsigned long long *slot = args.change + iteration % 3;
        if (ks_grid_thread() == 0) args.change[(iteration + 1) % 3] = 0;
        double *in = args.x, *out = args.x, most = 0, square = 0;
        if (args.colours == 1 && iteration % 2 == 0) in = args.y;
        if (args.colours == 1 && iteration % 2 == 1) out = args.y;
        hbisa_sweep(args, part, first, blocks, 0, in, out, tile, &most, &square);
        if (args.colours == 2) {
            ks_grid_sync();
            hbisa_sweep(args, part, first, blocks, 1, in, out, tile, &most, &square);
        }
        most = hbisa_reduce(shared, most, true);
        if (!args.by_change) square = hbisa_reduce(shared, square, false);
        double *partial = args.partial + iteration % 2 * gridDim.x;
        if (threadIdx.x == 0) {
            // Numbers that are not negative are ordered as their bits are; NaN is the largest.
            unsigned long long bits;
            memcpy(&bits, &most, sizeof bits);
            atomicMax(slot, bits);
            partial[blockIdx.x] = square;
        }
        ks_grid_sync();
        const unsigned long long bits = *slot;
        memcpy(&largest, &bits, sizeof largest);
        if (!args.by_change) {
            double mine = 0;
            for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) mine += partial[i];
            sum = hbisa_reduce(shared, mine, false);
        }
        converged = args.by_change ? largest <= args.tolerance : sum <= args.tolerance;
        go_on = !converged && iteration < args.max_iterations && largest <= 1e300;
    }
    if (ks_grid_thread() == 0) {
        args.report->iterations = iteration;
        args.report->converged = converged;
        args.report->change = largest;
        args.report->square = sum;
    }
}
