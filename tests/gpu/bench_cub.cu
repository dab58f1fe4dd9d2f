// bench_cub.cu -- CUB's DeviceScan beside this library's own scans, on the same filtering elements in
// single and double precision: lines of JSON. What both find is compared with a chain of combines on the
// host. The first argument bounds the length. Exit code 77 without a device, 1 where something is wrong.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cub/device/device_scan.cuh>
#include <kalscan/scan.cuh>
#include "hd.h"

#include "num_f64.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "element_text.h"
#include "num_end.h"

#include "num_f32.h"
#include "smallmat_text.h"
#include "array_text.h"
#include "step_text.h"
#include "array_step_text.h"
#include "element_text.h"
#include "num_end.h"

enum { NX = 4, NY = 2, SIZE = NX * NX + 2 * NX + NX * (NX + 1), SCRATCH = 18 * NX * NX + 12 * NX,
       DISTINCT = 4096, REPEATS = 9 };

template <class T> struct element {
    T number[SIZE];
};

__host__ __device__ static void combine(double *dst, const double *lhs, const double *rhs)
{
    double scratch[SCRATCH];
    ks_filter_combine_f64(NX, dst, lhs, rhs, scratch);
}
__host__ __device__ static void combine(float *dst, const float *lhs, const float *rhs)
{
    float scratch[SCRATCH];
    ks_filter_combine_f32(NX, dst, lhs, rhs, scratch);
}

// The operator as CUB takes it, and as <kalscan/scan.cuh> does.
template <class T> struct by_value {
    __host__ __device__ element<T> operator()(const element<T> &lhs, const element<T> &rhs) const
    {
        element<T> both;
        combine(both.number, lhs.number, rhs.number);
        return both;
    }
};
template <class T> struct in_place : ks_scan_element<element<T>> {
    __device__ void combine(element<T> *dst, const element<T> *lhs, const element<T> *rhs) const
    {
        ::combine(dst->number, lhs->number, rhs->number);
    }
    __device__ void neutral(element<T> *dst) const
    {
        for (int i = 0; i < SIZE; ++i) dst->number[i] = i < NX * NX && i % (NX + 1) == 0;
    }
};

static int failed;

static bool good(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return true;
    std::printf("{\"what\": \"%s\", \"status\": \"%s\"}\n", what, cudaGetErrorString(error));
    failed = 1;
    return false;
}

// Elements of steps of a stable model whose arrays all vary, DISTINCT of them and then again.
template <class T> static std::vector<element<T>> make(size_t count)
{
    std::vector<element<T>> all(count);
    double scratch[SCRATCH + 64 * NX * NY], e[SIZE];
    for (size_t k = 0; k < count; ++k) {
        if (k >= DISTINCT) {
            all[k] = all[k % DISTINCT];
            continue;
        }
        double F[NX * NX], Q[NX * NX], u[NX], H[NY * NX], R[NY * NY], d[NY], y[NY];
        for (int i = 0; i < NX * NX; ++i) {
            F[i] = i % (NX + 1) == 0 ? 0.9 : 0.03 * (double)((k + (size_t)i) % 7) - 0.09;
            Q[i] = i % (NX + 1) == 0 ? 0.1 + 0.01 * (double)(k % 5) : 0;
        }
        for (int i = 0; i < NX; ++i) u[i] = 0.1 * (double)((k + (size_t)i) % 3);
        for (int i = 0; i < NY * NX; ++i) H[i] = i % (NX + 1) == 0 ? 1 : 0.1 * (double)((k + (size_t)i) % 4);
        for (int i = 0; i < NY * NY; ++i) R[i] = i % (NY + 1) == 0 ? 0.5 + 0.1 * (double)(k % 3) : 0;
        for (int i = 0; i < NY; ++i) {
            d[i] = 0;
            y[i] = std::sin(0.1 * (double)k + i);
        }
        (void)ks_filter_element_f64(NX, NY, F, Q, u, H, R, d, y, e, scratch);
        for (int i = 0; i < SIZE; ++i) all[k].number[i] = (T)e[i];
    }
    return all;
}

static void print(const char *method, const char *scan, bool single, size_t T, std::vector<double> &ns)
{
    std::sort(ns.begin(), ns.end());
    std::printf("{\"job\": \"scan\", \"method\": \"%s\", \"scan\": \"%s\", \"backend\": \"cuda\", "
                "\"precision\": \"%s\", \"threads\": 1, \"T\": %zu, \"nx\": %d, \"ny\": %d, \"where\": "
                "\"device\", \"repeats\": %zu, \"median_ns\": %.0f, \"min_ns\": %.0f, \"max_ns\": %.0f, "
                "\"ns_per_step\": %.4g}\n",
                method, scan, single ? "f32" : "f64", T, NX, NY, ns.size(), ns[ns.size() / 2], ns.front(),
                ns.back(), ns[ns.size() / 2] / (double)T);
    std::fflush(stdout);
}

// Mean and covariance of the last element against the chain's, relative to the largest of them.
template <class T>
static void compare(const char *what, const element<T> *device, const element<T> &expected, size_t count)
{
    element<T> last;
    if (!good(cudaMemcpy(&last, device + count - 1, sizeof last, cudaMemcpyDeviceToHost), what)) return;
    double off = 0, size = 0;
    for (int i = NX * NX; i < NX * NX + NX + NX * (NX + 1) / 2; ++i) {
        off = std::max(off, (double)std::fabs(last.number[i] - expected.number[i]));
        size = std::max(size, (double)std::fabs(expected.number[i]));
    }
    if (off <= (sizeof(T) == 4 ? 1e-3 : 1e-11) * size) return;
    std::printf("{\"what\": \"%s\", \"T\": %zu, \"status\": \"wrong by %.3g of %.3g\"}\n", what, count,
                off, size);
    failed = 1;
}

// `put` on fresh elements, between two events.
template <class T, class Put>
static bool timed(const char *what, const element<T> *from, element<T> *to, size_t count,
                  std::vector<double> &ns, Put put)
{
    cudaEvent_t begin = nullptr, end = nullptr;
    bool fine = good(cudaEventCreate(&begin), what) && good(cudaEventCreate(&end), what);
    for (int i = 0; i <= REPEATS && fine; ++i) {
        float ms = 0;
        fine = good(cudaMemcpyAsync(to, from, count * sizeof *to, cudaMemcpyDeviceToDevice,
                                    cudaStreamPerThread), what) &&
               good(cudaEventRecord(begin, cudaStreamPerThread), what) && good(put(), what) &&
               good(cudaEventRecord(end, cudaStreamPerThread), what) &&
               good(cudaStreamSynchronize(cudaStreamPerThread), what) &&
               good(cudaEventElapsedTime(&ms, begin, end), what);
        if (i > 0) ns.push_back(1e6 * (double)ms);
    }
    if (begin) cudaEventDestroy(begin);
    if (end) cudaEventDestroy(end);
    return fine;
}

template <class T> static void run_cub(const element<T> *from, element<T> *to, size_t count,
                                       const element<T> &expected)
{
    const char *const what = "CUB DeviceScan";
    size_t bytes = 0;
    void *room = nullptr;
    std::vector<double> ns;
    const by_value<T> op;
    const auto put = [&] {
        return cub::DeviceScan::InclusiveScan(room, bytes, from, to, op, (int)count, cudaStreamPerThread);
    };
    if (good(put(), what) && good(cudaMalloc(&room, bytes), what) &&
        timed(what, from, to, count, ns, put)) {
        compare(what, to, expected, count);
        print("cub-device-scan", "none", sizeof(T) == 4, count, ns);
    }
    cudaFree(room);
}

template <class T> static void run_own(ks_scan_algorithm scan, const element<T> *from, element<T> *to,
                                       size_t count, const element<T> &expected)
{
    ks_scan_options options = KS_SCAN_OPTIONS_INIT;
    ks_scan_plan *plan = nullptr;
    void *spare = nullptr;
    std::vector<double> ns;
    options.algorithm = scan;
    if (ks_scan_plan_create(&plan, nullptr, (int64_t)count, &options) == KS_OK &&
        good(cudaMalloc(&spare, (size_t)ks_scan_plan_spare(plan) * sizeof *to), ks_scan_name(scan)) &&
        timed(ks_scan_name(scan), from, to, count, ns, [&] {
            return ks_scan_enqueue(plan, in_place<T>(), to, spare, cudaStreamPerThread);
        })) {
        compare(ks_scan_name(scan), to, expected, count);
        print("kalscan", ks_scan_name(scan), sizeof(T) == 4, count, ns);
    }
    cudaFree(spare);
    ks_scan_plan_destroy(plan);
}

template <class T> static void run(size_t count)
{
    const std::vector<element<T>> all = make<T>(count);
    element<T> expected = all[0], *from = nullptr, *to = nullptr;
    const size_t bytes = count * sizeof *from;
    for (size_t k = 1; k < count; ++k) combine(expected.number, expected.number, all[k].number);
    if (good(cudaMalloc(&from, bytes), "memory") && good(cudaMalloc(&to, bytes), "memory") &&
        good(cudaMemcpy(from, all.data(), bytes, cudaMemcpyHostToDevice), "elements")) {
        run_cub(from, to, count, expected);
        for (const ks_scan_algorithm scan : {KS_SCAN_LADNER_FISCHER, KS_SCAN_BLELLOCH, KS_SCAN_SENGUPTA,
                                             KS_SCAN_HILLIS_STEELE})
            run_own(scan, from, to, count, expected);
    }
    cudaFree(to);
    cudaFree(from);
}

int main(int argc, char **argv)
{
    const double longest = argc > 1 ? std::atof(argv[1]) : 1e6;
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < 1) {
        std::puts("no device");
        return 77;
    }
    for (double T = 1e3; T <= longest; T *= 10) {
        run<float>((size_t)T);
        run<double>((size_t)T);
    }
    return failed;
}
