// column_blas.cu -- batched operations on column-major matrices, as the manuals of cuBLAS and cuSOLVER define them,
// a thread for each matrix or column.
#include "gpu/kernel.h"
#include "column_blas.h"

// op(X)(i, j) of a matrix with `ld` between its columns.
template <class T> KS_DEVICE T entry(const T *X, int ld, int op, int i, int j)
{
    return op == OP_N ? X[(int64_t)j * ld + i] : X[(int64_t)i * ld + j];
}

template <class T> KS_DEVICE void gemm(const column_blas_args &args)
{
    const int64_t columns = (int64_t)args.n * args.count;
    for (int64_t at = ks_grid_thread(); at < columns; at += ks_grid_threads()) {
        const int64_t matrix = at / args.n;
        const int j = (int)(at % args.n);
        const T *const A = static_cast<const T *>(args.A) + matrix * args.a_stride;
        const T *const B = static_cast<const T *>(args.B) + matrix * args.b_stride;
        T *const c = static_cast<T *>(args.C) + matrix * args.c_stride + (int64_t)j * args.ldc;
        for (int i = 0; i < args.m; ++i) {
            T sum = 0;
            for (int k = 0; k < args.k; ++k) sum += entry(A, args.lda, args.op_a, i, k) * entry(B, args.ldb, args.op_b, k, j);
            c[i] = T(args.alpha) * sum + (args.beta != 0 ? T(args.beta) * c[i] : T(0)); // beta = 0 does not read
        }
    }
}

// A vector x, whose entries are `apart`, becomes S^-1 x of the triangle S = op(A): `upper` is what S then is.
template <class T> KS_DEVICE void solve(const T *A, int lda, int op, bool upper, T *x, int64_t apart, int n)
{
    for (int s = 0; s < n; ++s) {
        const int i = upper ? n - 1 - s : s;
        for (int t = 0; t < s; ++t) {
            const int j = upper ? n - 1 - t : t;
            x[i * apart] -= entry(A, lda, op, i, j) * x[j * apart];
        }
        x[i * apart] /= entry(A, lda, op, i, i);
    }
}

// B <- alpha op(A)^-1 B or, from the right, alpha B op(A)^-1, whose rows x are x^T = op(A)^-T b^T.
template <class T> KS_DEVICE void trsm(const column_blas_args &args)
{
    const bool left = args.side == SIDE_LEFT;
    const int vectors = left ? args.n : args.m, size = left ? args.m : args.n;
    const int op = left ? args.op_a : 1 - args.op_a;
    for (int64_t at = ks_grid_thread(); at < (int64_t)vectors * args.count; at += ks_grid_threads()) {
        const int64_t matrix = at / vectors, v = at % vectors;
        const T *const A = static_cast<const T *>(args.As[matrix]);
        T *const x = static_cast<T *>(args.Bs[matrix]) + (left ? v * args.ldb : v);
        const int64_t apart = left ? 1 : args.ldb;
        for (int i = 0; i < size; ++i) x[i * apart] *= T(args.alpha);
        solve(A, args.lda, op, (args.fill == FILL_UPPER) == (op == OP_N), x, apart, size);
    }
}

// The triangle of A that is named becomes its factor: R of R^T R, or L of L L^T.
template <class T> KS_DEVICE void potrf(const column_blas_args &args)
{
    for (int64_t m = ks_grid_thread(); m < args.count; m += ks_grid_threads()) {
        T *const A = static_cast<T *>(args.Bs[m]);
        const int64_t ld = args.lda, row = args.fill == FILL_UPPER ? ld : 1, column = args.fill == FILL_UPPER ? 1 : ld;
        args.info[m] = 0; // A(i, j), i >= j, of the lower triangle is at i row + j column
        for (int j = 0; j < args.n && args.info[m] == 0; ++j) {
            T pivot = A[j * row + j * column];
            for (int k = 0; k < j; ++k) pivot -= A[j * row + k * column] * A[j * row + k * column];
            if (!(pivot > 0)) args.info[m] = j + 1;
            const T root = sqrt(pivot);
            A[j * row + j * column] = root;
            for (int i = j + 1; i < args.n; ++i) {
                T sum = A[i * row + j * column];
                for (int k = 0; k < j; ++k) sum -= A[i * row + k * column] * A[j * row + k * column];
                A[i * row + j * column] = sum / root;
            }
        }
    }
}

KS_KERNEL(column_gemm_f64, column_blas_args) { gemm<double>(args); }
KS_KERNEL(column_gemm_f32, column_blas_args) { gemm<float>(args); }
KS_KERNEL(column_trsm_f64, column_blas_args) { trsm<double>(args); }
KS_KERNEL(column_trsm_f32, column_blas_args) { trsm<float>(args); }
KS_KERNEL(column_potrf_f64, column_blas_args) { potrf<double>(args); }
KS_KERNEL(column_potrf_f32, column_blas_args) { potrf<float>(args); }
