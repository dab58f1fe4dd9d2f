/* kalscan/scan.cuh -- scans over any associative operator on a CUDA device. For sources that nvcc compiles.
 *
 * The elements and the operator are C++ types of the caller. Every algorithm, length and direction of <kalscan/scan.h>
 * runs, and the results are the same bits as on the CPU if combine() computes the same there.
 *
 * Calls, in this order:
 *
 *     ks_scan_plan_create()      plans a length and an algorithm, on the host
 *     ks_scan_plan_spare()       elements of spare memory, which the caller allocates on the device
 *     ks_scan_enqueue()          puts a scan into a stream; any number of times
 *     ks_scan_plan_destroy()     after the stream has been waited for
 *
 * Example: composition of affine maps x -> a x + b. See examples/own_operator.cu.
 *
 *     struct affine { double a, b; };
 *     struct affine_operator : ks_scan_element<affine> {
 *         __device__ void combine(affine *dst, const affine *lhs, const affine *rhs) const
 *         {
 *             const affine both = {rhs->a * lhs->a, rhs->a * lhs->b + rhs->b};
 *             *dst = both;
 *         }
 *         __device__ void neutral(affine *dst) const { dst->a = 1, dst->b = 0; }
 *     };
 *
 *     cudaError_t scan(const ks_scan_plan *plan, affine *elements, cudaStream_t stream)   // elements: on the device
 *     {
 *         void *spare = nullptr;
 *         cudaError_t error = cudaMalloc(&spare, ks_scan_plan_spare(plan) * sizeof(affine));
 *         if (error == cudaSuccess) error = ks_scan_enqueue(plan, affine_operator(), elements, spare, stream);
 *         if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
 *         cudaFree(spare);
 *         return error;
 *     }
 *
 * Operators: a class with these members, as device code.
 *
 *     combine(dst, lhs, rhs)   *dst = *lhs (+) *rhs, lhs earlier in time; dst may be the element lhs or rhs
 *     neutral(dst)             *dst = e with e (+) a = a = a (+) e; called for KS_SCAN_BLELLOCH only
 *
 * Each thread has its own copy of the operator and calls it for one lane after another. Members may be parameters, or
 * scratch of the thread. To report a failure, write it through a pointer among the members.
 *
 * An element of a C++ type: derive from ks_scan_element, as above. An element of several numbers, as many as are known
 * at run time only: define what ks_scan_element has, that is
 *
 *     element          the type of the numbers
 *     size()           numbers from one element to the next
 *     spare()          room for one element
 *     copy(from, to)   copies one element
 *
 * Teams: all threads of a block, or of a part of it, may do one lane together. They call ks_scan_share() with the
 * number of their team instead of the thread's, and the members of the operator synchronize them. */
#ifndef KALSCAN_SCAN_CUH
#define KALSCAN_SCAN_CUH

#include "kalscan/scan_rounds.h"
#ifdef __CUDACC__
#  include <cooperative_groups.h>
#endif

/** Base class of an operator on elements of the C++ type T, which can be copied byte by byte. */
template <class T> struct ks_scan_element {
    typedef T element;
    T room; /**< memory of spare() */
    __device__ int64_t size() const { return 1; }
    __device__ T *spare() { return &room; }
    __device__ void copy(const T *from, T *to) const { *to = *from; }
};

/** Return the element in the first slot of a lane. */
template <class Op>
static __device__ typename Op::element *ks_scan_at(const Op &op, void *const *buffer,
                                                   const ks_slots &slots, int64_t lane)
{
    return static_cast<typename Op::element *>(buffer[slots.buffer]) +
           ks_slot(&slots, lane, 0) * op.size();
}

/** Copy an element of `size` numbers: for copy() of an operator. */
template <class T> static __device__ void ks_scan_copy(int64_t size, const T *from, T *to)
{
    for (int64_t i = 0; i < size; ++i) to[i] = from[i];
}

/** Run one lane of a part that combines, copies, makes neutral elements or sweeps down. */
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

/** Run one lane of a part that absorbs steps. The operator has, as ks_operator does,
 *
 *     void absorb(element *dst, int64_t first, int64_t count); */
template <class Op>
static __device__ void ks_scan_absorb_lane(Op &op, void *const *buffer, const ks_part &part,
                                           int64_t lane)
{
    op.absorb(ks_scan_at(op, buffer, part.dst, lane), ks_slot(&part.lhs, lane, 0), part.chain);
}

/** Run one lane of a part that re-runs steps. The operator has, as ks_operator does,
 *
 *     void rerun(const element *carry, int64_t first, int64_t count);   // carry may be NULL */
template <class Op>
static __device__ void ks_scan_rerun_lane(Op &op, void *const *buffer, const ks_part &part,
                                          int64_t lane)
{
    const typename Op::element *carry = NULL;
    if (part.lhs.buffer != KS_NO_BUFFER) carry = ks_scan_at(op, buffer, part.lhs, lane);
    op.rerun(carry, ks_slot(&part.rhs, lane, 0), part.chain);
}

/** Run the share of thread `thread`, of `threads`, in a round: the lanes thread, thread + threads, ..., numbered
 *  through the parts. Lane is one of the three functions above. A team of threads passes its own number and that of
 *  teams. */
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

/** Run the share of a thread, or team, in a task: in its round, or in all of its rounds with a call of `barrier`
 *  between two of them. `barrier` waits for every thread of the grid. */
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
/** Kernel of one round. */
template <class Op>
static __global__ void ks_scan_round_kernel(const __grid_constant__ ks_scan_task task, Op op)
{
    ks_scan_share<Op, ks_scan_lane<Op>>(op, task.round, task.buffer,
                                        (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
                                        (int64_t)gridDim.x * blockDim.x);
}

/** Kernel of all rounds, for a cooperative launch. */
template <class Op>
static __global__ void ks_scan_rounds_kernel(const __grid_constant__ ks_scan_task task, Op op)
{
    ks_scan_share<Op, ks_scan_lane<Op>>(op, task, (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
                                        (int64_t)gridDim.x * blockDim.x,
                                        [] { cooperative_groups::this_grid().sync(); });
}

/** Return the number of lanes of a round. */
static inline int64_t ks_scan_lanes(const ks_round &round)
{
    int64_t lanes = 0;
    for (int p = 0; p < round.parts; ++p) lanes += round.part[p].lanes;
    return lanes;
}

/** Put a scan into a stream, one launch for each round.
 *
 *  `elements` are as many as were planned and are scanned in place. `spare` has room for ks_scan_plan_spare() elements;
 *  NULL is allowed if that is 0. Both are device memory. Nothing is waited for or allocated. Any number of scans may
 *  run one plan at the same time, each with its own elements and spare memory. A stream that is being captured takes
 *  the launches into its graph. `op`, in which ks_scan_element keeps one element, has at most 3 KB.
 *
 *  Return CUDA's error of the launches. */
template <class Op>
static cudaError_t ks_scan_enqueue(const ks_scan_plan *plan, const Op &op, void *elements,
                                   void *spare, cudaStream_t stream)
{
    const int64_t threads = 128;
    int64_t rounds;
    ks_scan_task task = ks_scan_task();
    Op own = op;
    void *args[] = {&task, &own};
    const ks_round *round = ks_scan_plan_rounds(plan, &rounds);
    task.buffer[KS_ELEMENTS] = elements;
    task.buffer[KS_WORK] = spare;
    for (int64_t r = 0; r < rounds; ++r) {
        task.round = round[r];
        int64_t blocks = (ks_scan_lanes(task.round) + threads - 1) / threads;
        if (blocks > INT32_MAX) blocks = INT32_MAX;
        /* Not <<<>>>, whose errors cudaGetLastError() tells along with those that the caller has left there. */
        const cudaError_t error = cudaLaunchKernel(reinterpret_cast<const void *>(ks_scan_round_kernel<Op>),
                                                   dim3((unsigned)blocks), dim3((unsigned)threads), args, 0, stream);
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}

/** Put a scan into a stream in one cooperative launch, with a barrier of the grid between rounds. The results are the
 *  same bits as those of ks_scan_enqueue(). `rounds` is a copy of ks_scan_plan_rounds() in device memory. The device
 *  must support cooperative launches. The rest is as for ks_scan_enqueue(). */
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
