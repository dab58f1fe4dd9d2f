// plain_blas.cu -- batched operations as the textbook has them, a thread for each matrix, row or entry: what
// stands in for NVIDIA's libraries on the emulated device.
#include "gpu/kernel.h"
#include "plain_blas.h"

template <class T> KS_DEVICE void potrf(const plain_blas_args &args)
{
    const int n = args.n;
    for (int64_t i = ks_grid_thread(); i < args.count; i += ks_grid_threads()) {
        T *const A = static_cast<T *>(args.X[i]);
        args.info[i] = 0;
        for (int p = 0; p < n && args.info[i] == 0; ++p) {
            for (int r = p; r < n; ++r)
                for (int q = 0; q < p; ++q) A[r * n + p] -= A[r * n + q] * A[p * n + q];
            if (!(A[p * n + p] > 0)) args.info[i] = p + 1;
            A[p * n + p] = sqrt(A[p * n + p]);
            for (int r = p + 1; r < n; ++r) A[r * n + p] /= A[p * n + p];
        }
    }
}

// One vector each: a row for X L^-T, a column for the others.
template <class T> KS_DEVICE void trsm(const plain_blas_args &args)
{
    const int n = args.n, m = args.m;
    for (int64_t at = ks_grid_thread(); at < (int64_t)args.count * m; at += ks_grid_threads()) {
        const T *const L = static_cast<const T *>(args.L[at / m]);
        const bool rows = args.kind == KS_TRSM_ROWS;
        T *const x = static_cast<T *>(args.X[at / m]) + at % m * (rows ? n : 1);
        const int apart = rows ? 1 : m;
        for (int s = 0; s < n; ++s) {
            const int p = args.kind == KS_TRSM_BACKWARD ? n - 1 - s : s;
            for (int t = 0; t < s; ++t) {
                const int q = args.kind == KS_TRSM_BACKWARD ? n - 1 - t : t;
                x[p * apart] -= (args.kind == KS_TRSM_BACKWARD ? L[q * n + p] : L[p * n + q]) * x[q * apart];
            }
            x[p * apart] /= L[p * n + p];
        }
    }
}

template <class T> KS_DEVICE void multiply(const plain_blas_args &args)
{
    const ks_gpu_gemm &g = args.product;
    const int64_t each = (int64_t)g.m * g.n;
    for (int64_t at = ks_grid_thread(); at < each * g.count; at += ks_grid_threads()) {
        const int64_t matrix = at / each, i = at % each / g.n, j = at % g.n;
        const T *const A = static_cast<const T *>(g.A) + matrix * g.a_stride;
        const T *const B = static_cast<const T *>(g.B) + matrix * g.b_stride;
        T *const C = static_cast<T *>(g.C) + matrix * g.c_stride + i * g.n + j;
        T sum = 0;
        for (int k = 0; k < g.k; ++k)
            sum += (g.a_transposed ? A[k * g.m + i] : A[i * g.k + k]) *
                   (g.b_transposed ? B[j * g.k + k] : B[k * g.n + j]);
        *C = (g.fresh ? T(0) : *C) + T(g.alpha) * sum;
    }
}

KS_KERNEL(plain_potrf_f64, plain_blas_args) { potrf<double>(args); }
KS_KERNEL(plain_potrf_f32, plain_blas_args) { potrf<float>(args); }
KS_KERNEL(plain_trsm_f64, plain_blas_args) { trsm<double>(args); }
KS_KERNEL(plain_trsm_f32, plain_blas_args) { trsm<float>(args); }
KS_KERNEL(plain_multiply_f64, plain_blas_args) { multiply<double>(args); }
KS_KERNEL(plain_multiply_f32, plain_blas_args) { multiply<float>(args); }
