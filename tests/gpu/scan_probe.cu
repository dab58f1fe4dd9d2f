// scan_probe.cu -- operators that try out the device's scan machine.
#include "gpu/kernel.h"
#include "kalscan/scan.cuh"
#include "scan_probe.h"

struct matrix_operator : ks_scan_element<probe_matrix> {
    const scan_probe_args *args;

    __device__ static probe_matrix product(const probe_matrix &a, const probe_matrix &b)
    {
        probe_matrix p;
        for (int i = 0; i < 2; ++i)
            for (int j = 0; j < 2; ++j)
                p.m[2 * i + j] = (uint32_t)(((uint64_t)a.m[2 * i] * b.m[j] +
                                             (uint64_t)a.m[2 * i + 1] * b.m[2 + j]) % 2147483647u);
        return p;
    }
    __device__ void combine(probe_matrix *dst, const probe_matrix *lhs,
                            const probe_matrix *rhs) const
    {
        *dst = product(*lhs, *rhs);
    }
    __device__ void neutral(probe_matrix *dst) const
    {
        const probe_matrix one = {{1, 0, 0, 1}};
        *dst = one;
    }
    __device__ void absorb(probe_matrix *dst, int64_t first, int64_t count) const
    {
        *dst = args->step[first];
        for (int64_t k = first + 1; k < first + count; ++k) *dst = product(*dst, args->step[k]);
        for (int64_t k = first; k < first + count; ++k) args->absorbed[k] += 1;
    }
    __device__ void rerun(const probe_matrix *carry, int64_t first, int64_t count) const
    {
        const bool at_start = args->reverse ? first + count == args->length : first == 0;
        if (at_start != !carry) atomicAdd(args->mistakes, 1);
        probe_matrix running;
        neutral(&running);
        if (carry) running = *carry;
        for (int64_t i = 0; i < count; ++i) {
            const int64_t k = args->reverse ? first + count - 1 - i : first + i;
            running = args->reverse ? product(args->step[k], running)
                                    : product(running, args->step[k]);
            args->result[k] = running;
        }
    }
};

struct affine_operator : ks_scan_element<probe_affine> {
    __device__ void combine(probe_affine *dst, const probe_affine *lhs,
                            const probe_affine *rhs) const
    {
        const probe_affine both = {rhs->a * lhs->a, rhs->a * lhs->b + rhs->b};
        *dst = both;
    }
    __device__ void neutral(probe_affine *dst) const { dst->a = 1, dst->b = 0; }
};

struct sums_operator {
    typedef double element;
    int64_t n;
    double *room;
    __device__ int64_t size() const { return n; }
    __device__ double *spare() const { return room; }
    __device__ void copy(const double *from, double *to) const { ks_scan_copy(n, from, to); }
    __device__ void combine(double *dst, const double *lhs, const double *rhs) const
    {
        for (int64_t i = 0; i < n; ++i) dst[i] = lhs[i] + rhs[i];
    }
    __device__ void neutral(double *dst) const
    {
        for (int64_t i = 0; i < n; ++i) dst[i] = 0;
    }
};

#define MATRIX_KERNEL(name, lane)                                                           \
    KS_KERNEL(name, scan_probe_args)                                                        \
    {                                                                                       \
        matrix_operator op;                                                                 \
        op.args = &args;                                                                    \
        ks_scan_share<matrix_operator, lane<matrix_operator>>(                             \
            op, args.task, ks_grid_thread(), ks_grid_threads(), [] { ks_grid_sync(); });    \
    }

MATRIX_KERNEL(scan_matrix, ks_scan_lane)
MATRIX_KERNEL(scan_matrix_absorb, ks_scan_absorb_lane)
MATRIX_KERNEL(scan_matrix_rerun, ks_scan_rerun_lane)

KS_KERNEL(scan_affine, scan_probe_args)
{
    affine_operator op;
    ks_scan_share<affine_operator, ks_scan_lane<affine_operator>>(op, args.task, ks_grid_thread(),
                                                                  ks_grid_threads(), [] { ks_grid_sync(); });
}

KS_KERNEL(scan_sums, scan_sums_args)
{
    sums_operator op = {args.size, args.spare + ks_grid_thread() * args.size};
    ks_scan_share<sums_operator, ks_scan_lane<sums_operator>>(op, args.task, ks_grid_thread(),
                                                                  ks_grid_threads(), [] { ks_grid_sync(); });
}
