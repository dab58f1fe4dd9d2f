/* ordinary_slots.h -- device code: the slots of a warp in the kernels of ks_scan_ordinary.cu. A lane has a step, and
 * its slot holds parts of elements, as the device's memory has them, or estimates, for models of n <= N states. The
 * includer provides the texts of small matrices and of rows in double. */
#ifndef KS_ORDINARY_SLOTS_H
#define KS_ORDINARY_SLOTS_H

#include "scan_phases.h"
#include "warp_rows.h"

/** Copy between padded arrays of N states and packed ones of n: put_square() a matrix, put_first() and take_first() the
 *  first `count` numbers of a list, which may be a packed triangle. */
template <int N> KS_DEVICE void put_square(int n, const double *from, double *to)
{
    if (n == N) {
        ks_copy_f64(N * N, from, to);
        return;
    }
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j)
            if (i < n && j < n) to[i * n + j] = from[i * N + j];
}

template <int COUNT> KS_DEVICE void put_first(int count, const double *from, double *to)
{
    for (int i = 0; i < COUNT; ++i)
        if (i < count) to[i] = from[i];
}

template <int COUNT> KS_DEVICE void take_first(int count, const double *from, double *to)
{
    for (int i = 0; i < COUNT; ++i) to[i] = i < count ? from[i] : 0;
}

/** Copy a matrix of n states to a padded one, whose other diagonal entries are 1, as in covariances of padding. */
template <int N> KS_DEVICE void take_square(int n, const double *from, double *to)
{
    if (n == N) ks_copy_f64(N * N, from, to);
    else fast_matrix_f64<N, N>(n, n, from, 1, to);
}

/** The steps of a warp, from `first` to `end` - 1, and its slots. */
struct warp_steps {
    warp_slots slots;
    int64_t first, end;

    KS_DEVICE_MEMBER int64_t step() const { return first + slots.thread; }
    /** The lanes whose step k + by is one of `from` .. `end` - 1, as bits. */
    KS_DEVICE_MEMBER unsigned lanes(int by, int64_t from) const
    {
        return first_lanes(end - by - first) & ~first_lanes(from - by - first);
    }
};

/** Copy numbers from, from + 1, ... of row k + by of an array into the slots at `at`: `size` numbers in double, at most
 *  MOST. Rows are `apart` numbers apart. */
template <int MOST>
KS_DEVICE void bring_part(const warp_steps &w, int by, const void *array, int64_t apart, int from, int size, int at)
{
    const warp_rows<const double> rows = {static_cast<const double *>(array) + (w.first + by) * apart + from, apart, size};
    bring_rows(w.slots, at, rows, MOST, w.lanes(by, 0));
}

/** Copy rows out of the slots of these lanes. */
template <int MOST, class Number>
KS_DEVICE void take_as(const warp_steps &w, int at, int size, const ks_sink &to, unsigned lanes)
{
    const warp_rows<Number> rows = {static_cast<Number *>(ks_slot_of(to, w.first)), to.stride / (int64_t)sizeof(Number), size};
    take_rows(w.slots, at, rows, MOST, lanes);
}

/** take_as() for an output, which is float if `single`. Does nothing if the output is not wanted. */
template <int MOST>
KS_DEVICE void take_output(int single, const warp_steps &w, int at, int size, const ks_sink &to, unsigned lanes)
{
    if (!to.base) return;
    if (single) take_as<MOST, float>(w, at, size, to, lanes);
    else take_as<MOST, double>(w, at, size, to, lanes);
}

/** Copy elements of `size` numbers out of the slots. */
template <int MOST> KS_DEVICE void take_elements(const ks_scan_arrays &a, const warp_steps &w, int64_t size, unsigned lanes)
{
    const ks_sink to = {static_cast<char *>(a.elements), size * (int64_t)sizeof(double), 0};
    take_as<MOST, double>(w, 0, (int)size, to, lanes);
}

/** Layout of an estimate in a slot: mean, covariance, and the variances again as an output of their own. Each has its
 *  padded size. */
template <int N> struct slot_of_estimate { enum { MEAN = 0, COV = N, VAR = COV + N * N, SIZE = VAR + N, BROUGHT = VAR }; };

template <int N> KS_DEVICE void put_estimate(int n, const double *x, const double *P, int var, double *slot)
{
    typedef slot_of_estimate<N> at;
    put_first<N>(n, x, slot + at::MEAN);
    put_square<N>(n, P, slot + at::COV);
    for (int i = 0; i < N && var; ++i) slot[at::VAR + i] = P[i * N + i];
}

template <int N> KS_DEVICE void estimate_of(int n, const double *slot, double *x, double *P)
{
    take_first<N>(n, slot + slot_of_estimate<N>::MEAN, x);
    take_square<N>(n, slot + slot_of_estimate<N>::COV, P);
}

/** Load the estimates of steps k + by. */
template <int N> KS_DEVICE void bring_estimates(const ks_scan_arrays &a, const warp_steps &w, int by, const ks_estimates &from)
{
    typedef slot_of_estimate<N> at;
    const int n = a.series.nx;
    bring_part<N>(w, by, from.mean, n, 0, n, at::MEAN);
    bring_part<N * N>(w, by, from.cov, n * n, 0, n * n, at::COV);
}

template <int N>
KS_DEVICE void take_estimates(const ks_scan_arrays &a, const warp_steps &w, int at, const ks_sink &mean, const ks_sink &cov,
                              const ks_sink &var, unsigned lanes)
{
    typedef slot_of_estimate<N> in;
    const int n = a.series.nx;
    take_output<N>(a.single, w, at + in::MEAN, n, mean, lanes);
    take_output<N * N>(a.single_cov, w, at + in::COV, n * n, cov, lanes);
    take_output<N>(a.single_cov, w, at + in::VAR, n, var, lanes);
}

/** Store estimates in `to`, where later phases read them, and in the outputs. */
template <int N>
KS_DEVICE void keep_estimates(const ks_scan_arrays &a, const warp_steps &w, const ks_estimates &to, const ks_sink &mean,
                              const ks_sink &cov, const ks_sink &var, unsigned lanes)
{
    typedef slot_of_estimate<N> in;
    const int n = a.series.nx;
    const ks_sink means = {static_cast<char *>(to.mean), n * (int64_t)sizeof(double), 0};
    const ks_sink covs = {static_cast<char *>(to.cov), n * means.stride, 0};
    take_as<N, double>(w, in::MEAN, n, means, lanes);
    take_as<N * N, double>(w, in::COV, n * n, covs, lanes);
    take_estimates<N>(a, w, 0, mean, cov, var, lanes);
}

#endif
