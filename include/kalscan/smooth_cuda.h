/* kalscan/smooth_cuda.h -- filters and smoothers on arrays that are in a CUDA device's memory.
 *
 * A plan with KS_BACKEND_CUDA (<kalscan/smooth.h>) for one series is put into a stream. No device memory is allocated,
 * nothing is copied to or from the host, and nothing is waited for. Any number of plans may be under way side by side.
 *
 * Calls, in this order:
 *
 *     ks_smooth_plan_create()         with KS_BACKEND_CUDA and B = 1
 *     ks_smooth_cuda_enqueue()        puts a run into a stream; any number of times
 *     ks_smooth_cuda_wait()           waits for the results, and tells how the last run went
 *     ks_smooth_plan_destroy()
 *
 * Example: run a plan; all pointers in the structures are the device's.
 *
 *     ks_status run(const ks_smooth_plan *plan, const ks_model *model, ks_view y, const ks_outputs *outputs)
 *     {
 *         const ks_status status = ks_smooth_cuda_enqueue(plan, model, y, outputs, NULL);
 *         const ks_status waited = ks_smooth_cuda_wait(plan, NULL, NULL);
 *         return status != KS_OK ? status : waited;
 *     }
 *
 * Streams: `stream` is a CUstream or cudaStream_t of the device's primary context. NULL means the plan's own, which does
 * not wait for CUDA's default stream: to follow what was put into that, pass cudaStreamLegacy or cudaStreamPerThread.
 *
 * Threads: a plan has one set of memory. One thread at a time makes calls on it, in one stream or in several that wait
 * for each other.
 *
 * Two devices (ks_smooth_options.second_device): all arrays are in the memory of the first device, and `stream` is one
 * of that. Model and data are copied from device to device while the first one computes, and results come back. Streams
 * wait for each other by events. The results are the same bits as on one device. */
#ifndef KALSCAN_SMOOTH_CUDA_H
#define KALSCAN_SMOOTH_CUDA_H

#include "kalscan/smooth.h"

KS_BEGIN_DECLS

/** Put a run into a stream. Model, y and outputs are as for ks_smooth_run(), with strides in elements, but in the
 *  device's memory; they stay untouched until the stream has done the run. Absent u and d are zero. Rows that are
 *  aligned to 16 bytes and lie side by side are read fastest. A stream that is being captured takes the run into its
 *  graph, except with two devices and with KS_METHOD_BLOCKTRI in nested dissection.
 *
 *  What only the data show is reported by ks_smooth_cuda_wait().
 *
 *  Errors:
 *  - KS_EINVAL: an argument is NULL or does not fit the plan; or the plan is of the CPU, has several series, or has a
 *    series that does not fit the device at once.
 *  - KS_ENOMEM: out of memory.
 *  - KS_EDEVICE: the device failed. */
KS_API KS_MUST_CHECK ks_status ks_smooth_cuda_enqueue(const ks_smooth_plan *plan,
                                                      const ks_model *model, ks_view y,
                                                      const ks_outputs *outputs, void *stream);

/** Wait for the stream and tell how the plan's last run went, as ks_smooth_run() does. info may be NULL.
 *
 *  KS_METHOD_BLOCKTRI and scans may need further passes, of which only this call knows. It makes them on the arrays of
 *  the last run, in this stream, and the results are valid when it has returned.
 *
 *  Errors:
 *  - KS_EINVAL: plan is NULL or of the CPU, info->size is wrong, or nothing has been run with KS_METHOD_BLOCKTRI.
 *  - KS_ENOTPD, KS_EREFUSED, KS_EMODEL, KS_ENONFINITE: as for ks_smooth_run().
 *  - KS_ENOMEM: out of memory.
 *  - KS_EDEVICE: the device failed. */
KS_API KS_MUST_CHECK ks_status ks_smooth_cuda_wait(const ks_smooth_plan *plan, ks_info *info,
                                                   void *stream);

/** Allocate memory of the plan's device, for callers without another way to do so. On success *out is the caller's;
 *  free it with ks_smooth_cuda_free() before the plan is destroyed. On failure, and for 0 bytes, *out is NULL.
 *
 *  Errors:
 *  - KS_EINVAL: plan is NULL or of the CPU, or out is NULL.
 *  - KS_ENOMEM: out of memory.
 *  - KS_EDEVICE: the device failed. */
KS_API KS_MUST_CHECK ks_status ks_smooth_cuda_alloc(const ks_smooth_plan *plan, void **out,
                                                    size_t bytes);

/** Free memory that ks_smooth_cuda_alloc() returned for the same plan. NULL is allowed for either. */
KS_API void ks_smooth_cuda_free(const ks_smooth_plan *plan, void *memory);

/** Copy bytes from the host to the device, in the plan's own stream, and wait.
 *
 *  Errors:
 *  - KS_EINVAL: plan is NULL or of the CPU, or an array is NULL and bytes is not 0.
 *  - KS_EDEVICE: the device failed. */
KS_API KS_MUST_CHECK ks_status ks_smooth_cuda_upload(const ks_smooth_plan *plan, void *device,
                                                     const void *host, size_t bytes);

/** Copy bytes from the device to the host, in the plan's own stream, and wait. Errors as of ks_smooth_cuda_upload(). */
KS_API KS_MUST_CHECK ks_status ks_smooth_cuda_download(const ks_smooth_plan *plan, void *host,
                                                       const void *device, size_t bytes);

KS_END_DECLS
#endif
