/* kalscan/scan.cuh -- scans on a CUDA device, of elements and an operator of your own.
 *
 * The rounds of a plan (<kalscan/scan_rounds.h>) are data, so the device runs each of them by one
 * kernel that knows nothing of algorithms; every algorithm, length and direction goes through it.
 * An operator is a class with device code:
 *
 *     struct affine { double a, b; };                            // x -> a x + b
 *     struct affine_operator : ks_scan_element<affine> {
 *         __device__ void combine(affine *dst, const affine *lhs, const affine *rhs) const
 *         {
 *             const affine both = {rhs->a * lhs->a, rhs->a * lhs->b + rhs->b};
 *             *dst = both;
 *         }
 *         __device__ void neutral(affine *dst) const { dst->a = 1, dst->b = 0; }
 *     };
 *
 *     ks_scan_plan *plan;                                        // on the host
 *     ks_scan_plan_create(&plan, NULL, length, &options);
 *     cudaMalloc(&spare, ks_scan_plan_spare(plan) * sizeof(affine));
 *     ks_scan_enqueue(plan, affine_operator(), elements, spare, stream);
 *
 * combine: *dst = *lhs (+) *rhs, lhs earlier in time, dst the same element as either of them or as
 * none; neutral, of which Blelloch's algorithm alone makes use, with e (+) a = a = a (+) e. Each
 * thread has an operator of its own, a copy of the one that is given, and calls it for one lane after
 * the other: members are parameters, or its scratch. Whoever has failures to report writes them
 * through a pointer among the members.
 *
 * Elements that are no C++ type but a number of them, as many as the run time says, come from an
 * operator that defines itself what ks_scan_element has: the type `element`, size(), which is how many
 * of it lie between one element and the next, and spare(), room for one element.
 *
 * Include it from a source that nvcc compiles. */
#ifndef KALSCAN_SCAN_CUH
#define KALSCAN_SCAN_CUH

#include "kalscan/scan_rounds.h"

/** Elements of a C++ type: the base class of an operator on them. */
template <class T> struct ks_scan_element {
    typedef T element;
    T room; /**< for spare() */
    __device__ int64_t size() const { return 1; }
    __device__ T *spare() { return &room; }
};

/** The element in the slot of a lane, its first one along a chain. */
template <class Op>
static __device__ typename Op::element *ks_scan_at(const Op &op, void *const *buffer,
                                                   const ks_slots &slots, int64_t lane)
{
    return static_cast<typename Op::element *>(buffer[slots.buffer]) +
           ks_slot(&slots, lane, 0) * op.size();
}

template <class T> static __device__ void ks_scan_copy(int64_t size, const T *from, T *to)
{
    for (int64_t i = 0; i < size; ++i) to[i] = from[i];
}

/** One lane of a part that combines, copies, makes neutral elements or sweeps down. */
template <class Op>
static __device__ void ks_scan_lane(Op &op, void *const *buffer, const ks_part &part, int64_t lane)
{
    typedef typename Op::element T;
    const int64_t size = op.size();
    T *dst = ks_scan_at(op, buffer, part.dst, lane);
    if (part.kind == KS_PART_NEUTRAL) {
        op.neutral(dst);
        return;
    }
    T *lhs = ks_scan_at(op, buffer, part.lhs, lane);
    if (part.kind == KS_PART_COPY) {
        ks_scan_copy(size, lhs, dst);
        return;
    }
    T *rhs = ks_scan_at(op, buffer, part.rhs, lane);
    if (part.kind == KS_PART_DOWN_SWEEP) {
        /* One operand is the destination; the other one receives the old destination. */
        const bool right = dst == lhs;
        T *const other = right ? rhs : lhs, *const old = op.spare();
        ks_scan_copy(size, other, old);
        ks_scan_copy(size, dst, other);
        if (right)
            rhs = old;
        else
            lhs = old;
    }
    for (int64_t c = 0; c < part.chain; ++c)
        op.combine(dst + c * part.dst.chain * size, lhs + c * part.lhs.chain * size,
                   rhs + c * part.rhs.chain * size);
}

/** One lane of a part that absorbs or re-runs steps, for operators that have, as ks_operator does,
 *
 *     void absorb(element *dst, int64_t first, int64_t count);
 *     void rerun(const element *carry, int64_t first, int64_t count);   // carry may be NULL */
template <class Op>
static __device__ void ks_scan_absorb_lane(Op &op, void *const *buffer, const ks_part &part,
                                           int64_t lane)
{
    op.absorb(ks_scan_at(op, buffer, part.dst, lane), ks_slot(&part.lhs, lane, 0), part.chain);
}

template <class Op>
static __device__ void ks_scan_rerun_lane(Op &op, void *const *buffer, const ks_part &part,
                                          int64_t lane)
{
    const typename Op::element *carry = NULL;
    if (part.lhs.buffer != KS_NO_BUFFER) carry = ks_scan_at(op, buffer, part.lhs, lane);
    op.rerun(carry, ks_slot(&part.rhs, lane, 0), part.chain);
}

/** What a thread of number `thread` among `threads` does of a round: the lanes thread, thread +
 *  threads, ... numbered through the parts, by one of the three functions above. */
template <class Op, void (*Lane)(Op &, void *const *, const ks_part &, int64_t)>
static __device__ void ks_scan_share(Op &op, const ks_scan_task &task, int64_t thread,
                                     int64_t threads)
{
    int64_t lane = thread;
    for (int p = 0; p < task.round.parts; ++p) {
        const ks_part &part = task.round.part[p];
        for (; lane < part.lanes; lane += threads) Lane(op, task.buffer, part, lane);
        lane -= part.lanes;
    }
}

#ifdef __CUDACC__
/** The kernel of a round. */
template <class Op>
static __global__ void ks_scan_round_kernel(const __grid_constant__ ks_scan_task task, Op op)
{
    ks_scan_share<Op, ks_scan_lane<Op>>(op, task, (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
                                        (int64_t)gridDim.x * blockDim.x);
}

/** Put the rounds of a plan into a stream, one launch for each; a stream that is being captured
 *  takes them into its graph. `elements` and `spare`, which has room for ks_scan_plan_spare()
 *  elements, are memory of the device. Nothing is waited for or allocated, and any number of scans
 *  may run one plan. Elements with their operator are at most 3 KB. Returns CUDA's error. */
template <class Op>
static cudaError_t ks_scan_enqueue(const ks_scan_plan *plan, const Op &op, void *elements,
                                   void *spare, cudaStream_t stream)
{
    const int64_t threads = 128;
    int64_t rounds;
    ks_scan_task task;
    const ks_round *round = ks_scan_plan_rounds(plan, &rounds);
    task.buffer[KS_ELEMENTS] = elements;
    task.buffer[KS_WORK] = spare;
    for (int64_t r = 0; r < rounds; ++r) {
        int64_t lanes = 0;
        task.round = round[r];
        for (int p = 0; p < task.round.parts; ++p) lanes += task.round.part[p].lanes;
        int64_t blocks = (lanes + threads - 1) / threads;
        if (blocks > INT32_MAX) blocks = INT32_MAX;
        ks_scan_round_kernel<<<(unsigned)blocks, (unsigned)threads, 0, stream>>>(task, op);
        const cudaError_t error = cudaGetLastError();
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}
#endif

#endif
