// ks_bt_refine.cu -- iterative refinement: the residual of a system in double precision, and the correction by a factor
// in single precision. blocktri/refine.c has the method.
#include "gpu/kernel.h"
#include "ks_bt_refine.h"
#include "scale_text.h"

template <class T, class Blocks> KS_DEVICE T *ks_bt_at_block(const Blocks &blocks, int64_t system, int64_t k)
{
    return (T *)blocks.data + system * blocks.system + k * blocks.stride;
}

// Whether a launch has nothing to do: a graph has kernels for more steps than a refinement may take.
KS_DEVICE bool ks_bt_refine_idle(const ks_bt_refine_args &args) { return args.state->phase != args.phase; }

// If a diagonal element is not positive and finite, its scale is 1; the factorization then reports it.
KS_KERNEL_BOUNDS(ks_bt_refine_scale, ks_bt_refine_args, KS_BT_THREADS, 8)
{
    const int64_t n = args.n, all = (int64_t)args.systems * args.N * n;
    for (int64_t at = ks_grid_thread(); at < all; at += ks_grid_threads()) {
        const int64_t block = at / n, i = at % n;
        const double d = ks_bt_at_block<const double>(args.D, block / args.N, block % args.N)[i * (n + 1)];
        args.scale[at] = d > 0 && d < (double)INFINITY ? ks_bt_scale_of(d) : 1;
    }
}

// x <- 0, r <- b, and reset the state.
KS_KERNEL_BOUNDS(ks_bt_refine_start, ks_bt_refine_args, KS_BT_THREADS, 8)
{
    if (ks_grid_thread() == 0) *args.state = {(double)INFINITY, (double)INFINITY, 0, KS_BT_GOING};
    const int64_t size = (int64_t)args.n * args.nrhs, all = args.systems * args.N * size;
    for (int64_t at = ks_grid_thread(); at < all; at += ks_grid_threads()) {
        const int64_t block = at / size, system = block / args.N, k = block % args.N;
        ks_bt_at_block<double>(args.x, system, k)[at % size] = 0;
        args.residual[at] = ks_bt_at_block<const double>(args.b, system, k)[at % size];
    }
}

// What a thread block computes of a product: 32 rows of block k, 8 columns.
struct ks_bt_refine_place {
    int system, k, row, column;
};
KS_DEVICE ks_bt_refine_place ks_bt_refine_here(const ks_bt_refine_args &args)
{
    const int tiles = (args.n + KS_BT_REFINE_TILE - 1) / KS_BT_REFINE_TILE;
    const int chunks = (args.nrhs + KS_BT_REFINE_COLUMNS - 1) / KS_BT_REFINE_COLUMNS;
    const int number = (int)blockIdx.x / chunks / tiles;
    return {number / args.N, number % args.N, (int)blockIdx.x / chunks % tiles * KS_BT_REFINE_TILE,
            (int)blockIdx.x % chunks * KS_BT_REFINE_COLUMNS};
}

enum { ROW = KS_BT_REFINE_TILE + 1 }; // leading dimension of a tile in shared memory

// Load a 32 x 32 tile of a block: as it is, transposed, or on the diagonal of a symmetric block, of which the lower
// triangle is read. Neighbouring threads read contiguous numbers.
enum ks_bt_form { AS_IT_IS, TRANSPOSED, SYMMETRIC };
KS_DEVICE void ks_bt_refine_tile(double *tile, const double *block, int n, int row, int column,
                                 ks_bt_form form)
{
    for (int e = (int)threadIdx.x; e < KS_BT_REFINE_TILE * KS_BT_REFINE_TILE; e += KS_BT_THREADS) {
        const int a = e / KS_BT_REFINE_TILE, b = e % KS_BT_REFINE_TILE;
        const int r = form == TRANSPOSED ? column + a : row + a, c = form == TRANSPOSED ? row + b : column + b;
        if (form == SYMMETRIC && b > a) continue;
        const double value = r < n && c < n ? block[(int64_t)r * n + c] : 0;
        if (form != TRANSPOSED) tile[a * ROW + b] = value;
        if (form != AS_IT_IS) tile[b * ROW + a] = value;
    }
}

// r = b - A x.
KS_KERNEL_BOUNDS(ks_bt_refine_residual, ks_bt_refine_args, KS_BT_THREADS, 8)
{
    KS_SHARED(double, tile, KS_BT_REFINE_TILE * ROW);
    KS_SHARED(double, x, KS_BT_REFINE_TILE * KS_BT_REFINE_COLUMNS);
    if (ks_bt_refine_idle(args)) return;
    const ks_bt_refine_place p = ks_bt_refine_here(args);
    const int n = args.n, m = args.nrhs, thread = (int)threadIdx.x, row = thread / 4, q = thread % 4;
    double sum[2] = {0, 0};
    // The diagonal block, then the one before it, then the one behind.
    for (int part = 0; part < 3; ++part) {
        const int other = part == 0 ? p.k : part == 1 ? p.k - 1 : p.k + 1;
        if (other < 0 || other >= args.N) continue;
        const double *const block =
            part == 0 ? ks_bt_at_block<const double>(args.D, p.system, p.k)
                      : ks_bt_at_block<const double>(args.L, p.system, part == 1 ? other : p.k);
        const double *const from = ks_bt_at_block<const double>(args.x, p.system, other);
        for (int j = 0; j < n; j += KS_BT_REFINE_TILE) {
            const ks_bt_form form = part == 0 ? j < p.row ? AS_IT_IS : j > p.row ? TRANSPOSED : SYMMETRIC
                                              : part == 1 ? AS_IT_IS : TRANSPOSED;
            ks_bt_refine_tile(tile, block, n, p.row, j, form);
            for (int e = thread; e < KS_BT_REFINE_TILE * KS_BT_REFINE_COLUMNS; e += KS_BT_THREADS) {
                const int i = j + e / KS_BT_REFINE_COLUMNS, c = p.column + e % KS_BT_REFINE_COLUMNS;
                x[e] = i < n && c < m ? from[(int64_t)i * m + c] : 0;
            }
            __syncthreads();
#pragma unroll 8
            for (int i = 0; i < KS_BT_REFINE_TILE; ++i) {
                sum[0] += tile[row * ROW + i] * x[i * KS_BT_REFINE_COLUMNS + q];
                sum[1] += tile[row * ROW + i] * x[i * KS_BT_REFINE_COLUMNS + q + 4];
            }
            __syncthreads();
        }
    }
    const double *const b = ks_bt_at_block<const double>(args.b, p.system, p.k);
    double *const r = args.residual + ((int64_t)p.system * args.N + p.k) * n * m;
    for (int half = 0; half < 2; ++half) {
        const int c = p.column + q + 4 * half;
        const int64_t at = (int64_t)(p.row + row) * m + c;
        if (p.row + row < n && c < m) r[at] = b[at] - sum[half];
    }
}

// Return the sum, or the largest, of the values of a thread block's threads. The order of additions is fixed.
KS_DEVICE double ks_bt_block_sum(double *part, double value, bool largest)
{
    part[threadIdx.x] = value;
    __syncthreads();
    for (unsigned half = KS_BT_THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            const double other = part[threadIdx.x + half];
            if (!largest) part[threadIdx.x] += other;
            else if (other > part[threadIdx.x]) part[threadIdx.x] = other;
        }
        __syncthreads();
    }
    const double result = part[0];
    __syncthreads();
    return result;
}

// Squares of S A S, summed up over a share of the entries of block k of D, and of L. Entries off the diagonal count
// twice.
KS_KERNEL_BOUNDS(ks_bt_refine_shares_of, ks_bt_refine_args, KS_BT_THREADS, 8)
{
    KS_SHARED(double, part, KS_BT_THREADS);
    const int n = args.n;
    const unsigned shares = (unsigned)ks_bt_refine_shares(n);
    const int64_t block = blockIdx.x / shares, system = block / args.N, k = block % args.N;
    const int64_t size = (int64_t)n * n, first = blockIdx.x % shares * (int64_t)KS_BT_REFINE_SHARE;
    const int64_t left = size - first;
    const int count = left < KS_BT_REFINE_SHARE ? (int)left : KS_BT_REFINE_SHARE;
    const bool more = k + 1 < args.N;
    const double *const D = ks_bt_at_block<const double>(args.D, system, k) + first;
    const double *const L = more ? ks_bt_at_block<const double>(args.L, system, k) + first : D;
    const double *const scale = args.scale + block * n, *const next = more ? scale + n : scale;
    const int row = (int)(first / n), column = (int)(first % n);
    double sum = 0;
#pragma unroll 4
    for (int e = (int)threadIdx.x; e < count; e += KS_BT_THREADS) {
        const int at = column + e, i = row + at / n, j = at % n;
        const double d = j <= i ? D[e] * scale[i] * scale[j] : 0, l = more ? L[e] * next[i] * scale[j] : 0;
        sum += (j < i ? 2 : 1) * d * d + 2 * l * l;
    }
    sum = ks_bt_block_sum(part, sum, false);
    if (threadIdx.x == 0) args.shares[blockIdx.x] = sum;
}

// The sums of a system's shares, in KS_BT_SUMS parts.
KS_KERNEL_BOUNDS(ks_bt_refine_squares, ks_bt_refine_args, KS_BT_THREADS, 8)
{
    KS_SHARED(double, part, KS_BT_THREADS);
    const int64_t count = args.N * ks_bt_refine_shares(args.n);
    const double *const from = args.shares + blockIdx.x / KS_BT_SUMS * count;
    double sum = 0;
    for (int64_t at = blockIdx.x % KS_BT_SUMS * KS_BT_THREADS + threadIdx.x; at < count;
         at += KS_BT_SUMS * KS_BT_THREADS)
        sum += from[at];
    sum = ks_bt_block_sum(part, sum, false);
    if (threadIdx.x == 0) args.squares[blockIdx.x] = sum;
}

// Norms of every column of S r, S^-1 x and S b.
KS_KERNEL_BOUNDS(ks_bt_refine_norms, ks_bt_refine_args, KS_BT_THREADS, 8)
{
    KS_SHARED(double, part, KS_BT_THREADS);
    if (ks_bt_refine_idle(args)) return;
    const int64_t n = args.n, m = args.nrhs;
    const int64_t number = blockIdx.x / KS_BT_SUMS, system = number / m, column = number % m;
    double sum[KS_BT_NORMS] = {0, 0, 0, 0};
    for (int64_t at = blockIdx.x % KS_BT_SUMS * KS_BT_THREADS + threadIdx.x; at < args.N * n;
         at += KS_BT_SUMS * KS_BT_THREADS) {
        const int64_t k = at / n, i = at % n * m + column, row = system * args.N * n + at;
        const double scale = args.scale[row];
        const double r = fabs(scale * args.residual[row * m + column]);
        const double x = ks_bt_inverse_scale(scale) * ks_bt_at_block<const double>(args.x, system, k)[i];
        const double b = scale * ks_bt_at_block<const double>(args.b, system, k)[i];
        sum[KS_BT_OF_RESIDUAL] += r * r;
        sum[KS_BT_OF_SOLUTION] += x * x;
        sum[KS_BT_OF_RIGHT_HAND_SIDE] += b * b;
        if (r > sum[KS_BT_LARGEST]) sum[KS_BT_LARGEST] = r;
    }
    for (int what = 0; what < KS_BT_NORMS; ++what) {
        const double all = ks_bt_block_sum(part, sum[what], what == KS_BT_LARGEST);
        if (threadIdx.x == 0) args.norms[(int64_t)blockIdx.x * KS_BT_NORMS + what] = all;
    }
}

// Return one of a column's norms.
KS_DEVICE double ks_bt_refine_norm(const ks_bt_refine_args &args, int64_t number, int what)
{
    double all = 0;
#pragma unroll 1
    for (int i = 0; i < KS_BT_SUMS; ++i) {
        const double value = args.norms[(number * KS_BT_SUMS + i) * KS_BT_NORMS + what];
        if (what != KS_BT_LARGEST) all += value;
        else if (value > all) all = value;
    }
    return all;
}

// Powers of two that scale each column of S r to about one.
KS_KERNEL_BOUNDS(ks_bt_refine_units, ks_bt_refine_args, KS_BT_THREADS, 8)
{
    if (ks_bt_refine_idle(args)) return;
    for (int64_t at = ks_grid_thread(); at < (int64_t)args.systems * args.nrhs; at += ks_grid_threads()) {
        const double largest = ks_bt_refine_norm(args, at, KS_BT_LARGEST);
        int exponent = 0;
        if (largest < (double)INFINITY) (void)frexp(largest, &exponent);
        args.unit[at] = ldexp(1.0, exponent);
    }
}

// correction <- S r in units, rounded.
KS_KERNEL_BOUNDS(ks_bt_refine_narrow, ks_bt_refine_args, KS_BT_THREADS, 8)
{
    if (ks_bt_refine_idle(args)) return;
    const int64_t m = args.nrhs, rows = (int64_t)args.N * args.n, all = args.systems * rows * m;
    for (int64_t at = ks_grid_thread(); at < all; at += ks_grid_threads()) {
        const double unit = args.unit[at / m / rows * m + at % m];
        args.correction[at] = (float)(args.scale[at / m] * args.residual[at] / unit);
    }
}

// x <- x + S correction, or the reverse of the last addition.
KS_KERNEL_BOUNDS(ks_bt_refine_add, ks_bt_refine_args, KS_BT_THREADS, 8)
{
    if (ks_bt_refine_idle(args)) return;
    const double sign = args.phase == KS_BT_BACK ? -1 : 1;
    const int64_t m = args.nrhs, n = args.n, rows = args.N * n, all = args.systems * rows * m;
    for (int64_t at = ks_grid_thread(); at < all; at += ks_grid_threads()) {
        const int64_t block = at / (n * m);
        const double unit = sign * args.unit[at / m / rows * m + at % m];
        ks_bt_at_block<double>(args.x, block / args.N, block % args.N)[at % (n * m)] +=
            args.scale[at / m] * unit * (double)args.correction[at];
    }
}

// Decide what follows from the residual of the last step; <kalscan/blocktri_refine.h> has the rule.
KS_DEVICE void ks_bt_refine_decide(const ks_bt_refine_args &args, double now)
{
    ks_bt_refine_state *const s = args.state;
    s->residual = now;
    if (args.phase == KS_BT_BACK) {
        s->phase = KS_BT_DONE;
    } else if (s->steps > 0 && !(now <= s->previous)) {
        --s->steps;
        s->phase = KS_BT_BACK;
    } else if (now > args.tolerance && s->steps < args.most && now <= 0.5 * s->previous) {
        s->previous = now;
        ++s->steps;
    } else {
        s->phase = KS_BT_DONE;
    }
}

// Compute the largest |S r| / (|S A S| |S^-1 x| + |S b|) over systems and columns, and decide whether to continue.
KS_KERNEL_BOUNDS(ks_bt_refine_judge, ks_bt_refine_args, KS_BT_THREADS, 8)
{
    KS_SHARED(double, part, KS_BT_THREADS);
    if (ks_bt_refine_idle(args)) return;
    double worst = 0;
    bool finite = true;
    for (int64_t at = threadIdx.x; at < (int64_t)args.systems * args.nrhs; at += KS_BT_THREADS) {
        double matrix = 0;
#pragma unroll 4
        for (int i = 0; i < KS_BT_SUMS; ++i) matrix += args.squares[at / args.nrhs * KS_BT_SUMS + i];
        const double r = ks_bt_refine_norm(args, at, KS_BT_OF_RESIDUAL);
        const double x = ks_bt_refine_norm(args, at, KS_BT_OF_SOLUTION);
        const double b = ks_bt_refine_norm(args, at, KS_BT_OF_RIGHT_HAND_SIDE);
        const double relative = r > 0 ? sqrt(r) / (sqrt(matrix) * sqrt(x) + sqrt(b)) : r;
        if (!(relative < (double)INFINITY) || !(x < (double)INFINITY)) finite = false;
        else if (relative > worst) worst = relative;
    }
    const int failed = __syncthreads_or(!finite);
    worst = ks_bt_block_sum(part, worst, true);
    if (threadIdx.x == 0) ks_bt_refine_decide(args, failed ? (double)NAN : worst);
}
