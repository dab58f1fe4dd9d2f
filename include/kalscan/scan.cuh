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
 * ks_scan_enqueue_together() has one launch for all rounds instead of one for each.
 *
 * combine: *dst = *lhs (+) *rhs, lhs earlier in time, dst the same element as either of them or as
 * none; neutral, of which Blelloch's algorithm alone makes use, with e (+) a = a = a (+) e. Each
 * thread has an operator of its own, a copy of the one that is given, and calls it for one lane after
 * the other: members are parameters, or its scratch. Whoever has failures to report writes them
 * through a pointer among the members.
 *
 * Elements that are no C++ type but a number of them, as many as the run time says, come from an
 * operator that defines itself what ks_scan_element has: the type `element`, size(), which is how many
 * of it lie between one element and the next, spare(), room for one element, and copy(from, to) of one.
 * Such an operator may have all threads of a block, or of a part of it, do one lane together: they call
 * ks_scan_share() with the number of their team, and its members keep them in step.
 *
 * Include it from a source that nvcc compiles. */
#ifndef KALSCAN_SCAN_CUH
#define KALSCAN_SCAN_CUH

#include "kalscan/scan_rounds.h"
#ifdef __CUDACC__
#  include <cooperative_groups.h>
#endif

/** Elements of a C++ type: the base class of an operator on them. */
template <class T> struct ks_scan_element {
    typedef T element;
    T room; /**< for spare() */
    __device__ int64_t size() const { return 1; }
    __device__ T *spare() { return &room; }
    __device__ void copy(const T *from, T *to) const { *to = *from; }
};

/** The element in the slot of a lane, its first one along a chain. */
template <class Op>
static __device__ typename Op::element *ks_scan_at(const Op &op, void *const *buffer,
                                                   const ks_slots &slots, int64_t lane)
{
    return static_cast<typename Op::element *>(buffer[slots.buffer]) +
           ks_slot(&slots, lane, 0) * op.size();
}

/** copy() of an operator whose elements are `size` numbers. */
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
        op.copy(lhs, dst);
        return;
    }
    T *rhs = ks_scan_at(op, buffer, part.rhs, lane);
    if (part.kind == KS_PART_DOWN_SWEEP) {
        /* One operand is the destination; the other one receives the old destination. */
        const bool right = dst == lhs;
        T *const other = right ? rhs : lhs, *const old = op.spare();
        op.copy(other, old);
        op.copy(dst, other);
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

/** What a thread, or a team of them, of number `thread` among `threads` does of a round: the lanes thread, thread +
 *  threads, ... numbered through the parts, by one of the three functions above. */
template <class Op, void (*Lane)(Op &, void *const *, const ks_part &, int64_t)>
static __device__ void ks_scan_share(Op &op, const ks_round &round, void *const *buffer,
                                     int64_t thread, int64_t threads)
{
    int64_t lane = thread;
    for (int p = 0; p < round.parts; ++p) {
        const ks_part &part = round.part[p];
        for (; lane < part.lanes; lane += threads) Lane(op, buffer, part, lane);
        lane -= part.lanes;
    }
}

/** The same of a task: its round, or all of them with a call of `barrier`, which waits for every
 *  thread of the grid, between any two. */
template <class Op, void (*Lane)(Op &, void *const *, const ks_part &, int64_t), class Barrier>
static __device__ void ks_scan_share(Op &op, const ks_scan_task &task, int64_t thread,
                                     int64_t threads, Barrier barrier)
{
    const ks_round *const round = task.rounds ? task.rounds : &task.round;
    for (int64_t r = 0; r == 0 || r < task.count; ++r) {
        if (r > 0) barrier();
        ks_scan_share<Op, Lane>(op, round[r], task.buffer, thread, threads);
    }
}

#ifdef __CUDACC__
/** The kernel of a round. */
template <class Op>
static __global__ void ks_scan_round_kernel(const __grid_constant__ ks_scan_task task, Op op)
{
    ks_scan_share<Op, ks_scan_lane<Op>>(op, task.round, task.buffer,
                                        (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
                                        (int64_t)gridDim.x * blockDim.x);
}

/** The kernel of all rounds. */
template <class Op>
static __global__ void ks_scan_rounds_kernel(const __grid_constant__ ks_scan_task task, Op op)
{
    ks_scan_share<Op, ks_scan_lane<Op>>(op, task, (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
                                        (int64_t)gridDim.x * blockDim.x,
                                        [] { cooperative_groups::this_grid().sync(); });
}

/** Lanes of a round. */
static inline int64_t ks_scan_lanes(const ks_round &round)
{
    int64_t lanes = 0;
    for (int p = 0; p < round.parts; ++p) lanes += round.part[p].lanes;
    return lanes;
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
    task.rounds = NULL;
    task.count = 0;
    for (int64_t r = 0; r < rounds; ++r) {
        task.round = round[r];
        int64_t blocks = (ks_scan_lanes(task.round) + threads - 1) / threads;
        if (blocks > INT32_MAX) blocks = INT32_MAX;
        ks_scan_round_kernel<<<(unsigned)blocks, (unsigned)threads, 0, stream>>>(task, op);
        const cudaError_t error = cudaGetLastError();
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}

/** The same in one cooperative launch, with a barrier of the grid between rounds, combining in the same
 *  order, so that results are the same bits. `rounds` is device memory with a copy of the
 *  ks_scan_plan_rounds() of the plan. */
template <class Op>
static cudaError_t ks_scan_enqueue_together(const ks_scan_plan *plan, const Op &op, void *elements,
                                            void *spare, const ks_round *rounds, cudaStream_t stream)
{
    const int threads = 128;
    int64_t lanes = 1;
    int device = 0, multiprocessors = 0, resident = 0;
    ks_scan_task task = ks_scan_task();
    const ks_round *round = ks_scan_plan_rounds(plan, &task.count);
    if (!task.count) return cudaSuccess;
    for (int64_t r = 0; r < task.count; ++r)
        if (ks_scan_lanes(round[r]) > lanes) lanes = ks_scan_lanes(round[r]);
    task.buffer[KS_ELEMENTS] = elements;
    task.buffer[KS_WORK] = spare;
    task.rounds = rounds;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess)
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, ks_scan_rounds_kernel<Op>,
                                                              threads, 0);
    if (error != cudaSuccess) return error;
    const int64_t most = (int64_t)resident * multiprocessors, wanted = (lanes + threads - 1) / threads;
    Op own = op;
    void *args[] = {&task, &own};
    return cudaLaunchCooperativeKernel(reinterpret_cast<const void *>(ks_scan_rounds_kernel<Op>),
                                       dim3((unsigned)(wanted < most ? wanted : most)),
                                       dim3((unsigned)threads), args, 0, stream);
}
#endif

#endif
