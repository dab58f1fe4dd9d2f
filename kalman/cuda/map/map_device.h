/* map_device.h -- the MAP route on a device: what a plan keeps there for it, and what its driver does.
 *
 * Up to KS_MAP_SEGMENTS states the system is never put together: segments of it are solved by the
 * kernels of map_kernels.h. Beyond that, or where the plan's order is nested dissection, its blocks are
 * made on the device and given to <kalscan/blocktri_cuda.h>. */
#ifndef KS_MAP_DEVICE_H
#define KS_MAP_DEVICE_H

#include "gpu/gpu.h"
#include "kalscan/blocktri_cuda.h"
#include "map_kernels.h"
#include "smooth_plan.h"

/** The most states that segments are for. */
enum { KS_MAP_SEGMENTS = 16 };

/** What a run brings back beside its status. */
typedef struct ks_map_report {
    ks_map_found found;
    unsigned long long lost;
} ks_map_report;

typedef struct ks_map_device {
    int nested;
    int team, teams;               /* threads of a team, teams of a block                        */
    int64_t blocks;                /* of the grid at most where teams' memory is the launch's, else 0 */
    const ks_gpu_kernel *kernel[KS_MAP_KERNELS], *start;
    int alone;                     /* one thread takes a piece of the long kernels               */
    int threads;                   /* of a block of such threads                                 */
    ks_map_args args;              /* what all launches have                                     */
    ks_map_level level[KS_MAP_LEVELS];
    int levels;
    int64_t size, pieces;          /* steps of a piece of work, and pieces                       */
    double *x, *S, *lag;           /* results where they are not made in their place, or NULL    */
    ks_blocktri_cuda_plan *nest;
    void *nest_work;
    ks_map_report *report;         /* pinned memory of the host                                  */
    ks_scan_arrays resident;       /* of the last run on arrays of the device                    */
    double *resident_loglik;
} ks_map_device;

struct ks_scan_device;
typedef struct ks_device_layout ks_device_layout;

/** Whether a kernel is one of those whose pieces one thread takes. */
static inline int ks_map_alone(const ks_map_device *map, int kernel)
{
    return map->alone && (kernel == KS_MAP_REDUCE || kernel == KS_MAP_RERUN || kernel == KS_MAP_REVIEW);
}

/** Whether a plan's order is one that a device has. */
int ks_map_device_takes(const ks_smooth_options *options, int nx);
ks_blocktri_order ks_map_device_order(const ks_smooth_options *options, int nx);

/** Whether a thread by itself takes each segment, or a team of threads does: up to four states with one or two
 *  entries, no more than states, there are kernels for both. Up to three states plans begin with threads. To
 *  compare: results are as good, in other bits.
 *  Errors: KS_EUNAVAILABLE (there are kernels for teams alone), KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_map_device_alone(struct ks_scan_device *d, const ks_smooth_plan *plan, int alone);

/** The MAP route's part of a plan's memory and kernels. */
void ks_map_device_lay_out(ks_device_layout *l, const ks_smooth_plan *plan);
KS_MUST_CHECK ks_status ks_map_device_find(struct ks_scan_device *d, const ks_smooth_plan *plan);
void ks_map_device_destroy(struct ks_scan_device *d);

/** All that is tried first, into the stream, for the arrays of d->a. */
KS_MUST_CHECK ks_status ks_map_device_enqueue(struct ks_scan_device *d);

/** Wait for it, judge it, and where it may not stand go on until the results do or are refused, which
 *  the run's info then says. Returns what the device says. */
KS_MUST_CHECK ks_status ks_map_device_finish(struct ks_scan_device *d, ks_plan_run *run, int64_t b);

#endif
