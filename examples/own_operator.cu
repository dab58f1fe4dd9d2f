// own_operator.cu -- a scan on a CUDA device with an operator of your own: a bank account.
//
// Every month an account is multiplied by an interest factor and receives a payment, x -> a x + b.
// Composing such maps is associative, so one scan gives the balance of every month from any start.
// Build: nvcc own_operator.cu $(pkg-config --cflags --libs kalscan)
#include <cstdio>
#include <vector>
#include <kalscan/scan.cuh>

struct affine {
    double a, b;
};

struct affine_operator : ks_scan_element<affine> {
    __device__ void combine(affine *dst, const affine *lhs, const affine *rhs) const
    {
        const affine both = {rhs->a * lhs->a, rhs->a * lhs->b + rhs->b};
        *dst = both;
    }
    __device__ void neutral(affine *dst) const { dst->a = 1, dst->b = 0; }
};

int main()
{
    const int64_t months = 1200;
    const size_t bytes = (size_t)months * sizeof(affine);
    std::vector<affine> account((size_t)months);
    for (affine &month : account) month.a = 1.002, month.b = 50;

    ks_scan_plan *plan = nullptr;
    void *elements = nullptr, *spare = nullptr;
    const size_t kept = ks_scan_plan_create(&plan, nullptr, months, nullptr) == KS_OK
                            ? (size_t)ks_scan_plan_spare(plan) * sizeof(affine) : 0;
    if (!plan || cudaMalloc(&elements, bytes) || cudaMalloc(&spare, kept)) {
        std::fputs("no memory or no device\n", stderr);
        return 5;
    }
    cudaMemcpy(elements, account.data(), bytes, cudaMemcpyHostToDevice);
    cudaError_t error = ks_scan_enqueue(plan, affine_operator(), elements, spare, cudaStreamPerThread);
    if (error == cudaSuccess) error = cudaStreamSynchronize(cudaStreamPerThread);
    if (error == cudaSuccess)
        error = cudaMemcpy(account.data(), elements, bytes, cudaMemcpyDeviceToHost);
    if (error == cudaSuccess)
        std::printf("from 100, after %d months: %.2f\n", (int)months,
                    account.back().a * 100 + account.back().b);
    else std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    cudaFree(elements);
    cudaFree(spare);
    ks_scan_plan_destroy(plan);
    return error == cudaSuccess ? 0 : 5;
}
