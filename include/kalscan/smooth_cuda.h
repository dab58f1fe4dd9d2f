/* kalscan/smooth_cuda.h -- filters and smoothers on arrays that are in a CUDA device's memory.
 *
 * A plan with KS_BACKEND_CUDA (<kalscan/smooth.h>) for one series is put into a stream; nothing is copied
 * or allocated, nothing is waited for, and any number of plans may be under way side by side.
 *
 *     ks_smooth_plan_create(&plan, context, T, 1, nx, ny, &options);
 *     ks_smooth_cuda_enqueue(plan, &model, y, &outputs, stream);     // all pointers are the device's
 *     ks_smooth_cuda_wait(plan, &info, stream);                      // when the results are needed
 *
 * stream is a CUstream or cudaStream_t of the device's primary context; NULL means the plan's own.
 * A plan for two devices (ks_smooth_options.second_device) takes and leaves everything in the memory of the
 * first one, and stream is one of that: model and data are copied to the second one, device to device, beside
 * what the first one does, and its scan comes back as for arrays of the host. Streams wait for each other by
 * events, nothing waits on the host, and the results are the bits of one device.
 * A plan has one set of memory: calls on it are made by one thread at a time, and in one stream or in
 * several that wait for each other. */
#ifndef KALSCAN_SMOOTH_CUDA_H
#define KALSCAN_SMOOTH_CUDA_H

#include "kalscan/smooth.h"

KS_BEGIN_DECLS

/** Put a run into the stream. Model, y and outputs are as ks_smooth_run() has them, with strides in
 *  elements, in the device's memory and untouched until the stream has done with them; absent u and d
 *  are zero. Rows aligned to 16 bytes and close together are read fastest. A stream that is being
 *  captured takes the run into its graph, that of a plan for two devices not.
 *  Errors: KS_EINVAL (also a plan for several series, on the CPU, or whose series the device has no room for
 *  at once), KS_EDEVICE. What only the data show, ks_smooth_cuda_wait() says. */
KS_API KS_MUST_CHECK ks_status ks_smooth_cuda_enqueue(const ks_smooth_plan *plan,
                                                      const ks_model *model, ks_view y,
                                                      const ks_outputs *outputs, void *stream);

/** Wait for the stream and say how the plan's last run went, as ks_smooth_run() does. info may be
 *  NULL. Where one pass cannot vouch for the results of KS_METHOD_BLOCKTRI or KS_METHOD_SCAN_RTS, this goes
 *  on with them, in the arrays of the last run and in this stream, and they stand when it has returned; with
 *  nested dissection its stream cannot be captured.
 *  Errors: KS_EINVAL (also of KS_METHOD_BLOCKTRI before any run), KS_ENOTPD, KS_EREFUSED, KS_EMODEL,
 *  KS_ENONFINITE, KS_EDEVICE. */
KS_API KS_MUST_CHECK ks_status ks_smooth_cuda_wait(const ks_smooth_plan *plan, ks_info *info,
                                                   void *stream);

/** Memory of the plan's device and copies to and from it, for callers without another way to them.
 *  Memory is given back before the plan is destroyed. Copies wait.
 *  Errors: KS_EINVAL, KS_ENOMEM, KS_EDEVICE. */
KS_API KS_MUST_CHECK ks_status ks_smooth_cuda_alloc(const ks_smooth_plan *plan, void **out,
                                                    size_t bytes);
/** Give back what ks_smooth_cuda_alloc() gave for the same plan. memory NULL is allowed; with plan NULL
 *  nothing is done. */
KS_API void ks_smooth_cuda_free(const ks_smooth_plan *plan, void *memory);
KS_API KS_MUST_CHECK ks_status ks_smooth_cuda_upload(const ks_smooth_plan *plan, void *device,
                                                     const void *host, size_t bytes);
KS_API KS_MUST_CHECK ks_status ks_smooth_cuda_download(const ks_smooth_plan *plan, void *host,
                                                       const void *device, size_t bytes);

KS_END_DECLS
#endif
