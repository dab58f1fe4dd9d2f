/* map_device.h -- the MAP route on a device: what a plan keeps there, and the functions of its driver.
 *
 * Up to KS_MAP_SEGMENTS states the system is not assembled: the kernels of map_kernels.h solve segments of it. With
 * more states, or if the plan's order is nested dissection, its blocks are assembled on the device and passed to
 * <kalscan/blocktri_cuda.h>. */
#ifndef KS_MAP_DEVICE_H
#define KS_MAP_DEVICE_H

#include "gpu/gpu.h"
#include "kalscan/blocktri_cuda.h"
#include "map_kernels.h"
#include "smooth_plan.h"

/** Most states that are solved by segments. */
enum { KS_MAP_SEGMENTS = 16 };

/** What a run copies back beside its status. */
typedef struct ks_map_report {
    ks_map_found found;
    unsigned long long lost;
} ks_map_report;

typedef struct ks_map_device {
    int nested;
    int team, teams;               /* threads of a team, teams of a block */
    int64_t blocks;                /* most blocks of a grid if teams have device memory, else 0 */
    const ks_gpu_kernel *kernel[KS_MAP_KERNELS], *start;
    int alone;                     /* whether one thread does a piece of the long kernels */
    int threads;                   /* of a block of such threads */
    ks_map_args args;              /* common to all launches */
    ks_map_level level[KS_MAP_LEVELS];
    int levels;
    int64_t size, pieces;          /* steps of a piece of work, and pieces */
    double *x, *S, *lag;           /* results that are not computed in the outputs, or NULL */
    ks_blocktri_cuda_plan *nest;
    void *nest_work;
    ks_map_report *report;         /* in pinned host memory */
    ks_scan_arrays resident;       /* of the last run on arrays of the device */
    double *resident_loglik;
} ks_map_device;

struct ks_scan_device;
typedef struct ks_device_layout ks_device_layout;

/** Whether a thread, not a team, does each piece of this kernel. */
static inline int ks_map_alone(const ks_map_device *map, int kernel)
{
    return map->alone && (kernel == KS_MAP_REDUCE || kernel == KS_MAP_RERUN || kernel == KS_MAP_REVIEW);
}

/** Whether a device has the plan's order; and that order, with KS_BLOCKTRI_AUTO resolved. */
int ks_map_device_takes(const ks_smooth_options *options, int nx);
ks_blocktri_order ks_map_device_order(const ks_smooth_options *options, int nx);

/** Choose whether a single thread or a team of threads does each segment. There are kernels for both up to four states
 *  with one or two entries, no more than states; such plans begin with threads. The results are equally accurate, but
 *  not the same bits.
 *  Errors: KS_EUNAVAILABLE (there are kernels for teams only), KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_map_device_alone(struct ks_scan_device *d, const ks_smooth_plan *plan, int alone);

/** Allocate the memory and find the kernels of the MAP route of a plan. */
void ks_map_device_lay_out(ks_device_layout *l, const ks_smooth_plan *plan);
KS_MUST_CHECK ks_status ks_map_device_find(struct ks_scan_device *d, const ks_smooth_plan *plan);
void ks_map_device_destroy(struct ks_scan_device *d);

/** Enqueue everything that is tried first, for the arrays of d->a. */
KS_MUST_CHECK ks_status ks_map_device_enqueue(struct ks_scan_device *d);

/** Wait for it and judge it. If the results may not be good enough, refine or refuse them. A refusal is in the run's
 *  info; the return value is the device's status. */
KS_MUST_CHECK ks_status ks_map_device_finish(struct ks_scan_device *d, ks_plan_run *run, int64_t b);

#endif
