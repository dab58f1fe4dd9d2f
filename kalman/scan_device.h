/* scan_device.h -- the scan methods on a device: what a plan keeps there.
 *
 * A plan has one set of memory and one stream on its device, so runs of one plan take turns. What the
 * device does is captured into a graph, which is made again when a run comes with arrays that vary
 * where they did not before. */
#ifndef KS_SCAN_DEVICE_H
#define KS_SCAN_DEVICE_H

#include "gpu/stage.h"
#include "machine_cuda.h"
#include "chunk_kernels.h"
#include "smooth_plan.h"
#include "turn.h"

#define KS_PHASE_NUMBER(name) KS_PHASE_##name,
typedef enum ks_scan_phase_number { KS_SCAN_PHASES(KS_PHASE_NUMBER) KS_PHASES } ks_scan_phase_number;

/** What a run brings back first. */
typedef struct ks_scan_report {
    ks_scan_status status;
    double loglik;
} ks_scan_report;

/* The model's and the data's arrays, their results, and what lies between. */
enum { KS_DEVICE_BLOCKS = 48 };

typedef struct ks_scan_device {
    ks_turn turn;
    ks_context *context;
    ks_gpu *gpu;
    ks_gpu_stream *stream;
    ks_gpu_stage stage;
    ks_gpu_graph *graph;
    ks_scan_arrays captured;        /* with what it was captured                          */
    const ks_gpu_kernel *phase[KS_PHASES], *sum, *filter_scan, *smooth_scan;
    const ks_gpu_kernel *absorb, *tiles_scan, *fold, *rerun, *border;
    const ks_gpu_kernel *fast_absorb, *fast_filter, *fast_smooth; /* or NULL               */
    int reruns;                     /* chunks of steps, rather than elements of all        */
    ks_chunk_arrays chunks;         /* their arrays; `a` is below                          */
    ks_tiles_args tiles;
    size_t element;                 /* bytes of an aggregate                               */
    ks_scan_arrays a;               /* on the device, rows behind one another              */
    void *block[KS_DEVICE_BLOCKS];  /* of the device's memory                              */
    int blocks;
    size_t bytes;                   /* of all of them                                      */
    void *spare;                    /* elements that the scans keep beside the steps'      */
    char *scratch;                  /* of threads that have none of their own              */
    int64_t slice, threads;         /* bytes for each of them, and their number            */
    size_t arithmetic;              /* bytes of a slice for the arithmetic in double, and  */
    size_t own_arithmetic;          /* in the plan's precision                             */
    double *sums;                   /* of log-likelihood terms                             */
    ks_scan_status *status;
    ks_scan_report *report;         /* pinned memory of the host                           */
} ks_scan_device;

/** Make what a plan needs on its device.
 *  Errors: KS_ENODEV, KS_EUNAVAILABLE, KS_ENOMEM, KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_scan_device_create(ks_scan_device **out, const ks_smooth_plan *plan);
/** The bytes of device memory that this takes. */
size_t ks_scan_device_bytes(const ks_smooth_plan *plan);
void ks_scan_device_destroy(ks_scan_device *d);

/** Reduce, scan and re-run into the stream. */
KS_MUST_CHECK ks_status ks_chunks_enqueue(ks_scan_device *d);
/** What that counts for, in info. */
void ks_chunks_count(const ks_scan_device *d, int64_t T, ks_info *info);

/** All that the device does of a run, into the stream. */
KS_MUST_CHECK ks_status ks_scan_device_enqueue(ks_scan_device *d, const ks_smooth_plan *plan);
/** Wait for a stream and for what the last run in it says of itself. */
KS_MUST_CHECK ks_status ks_scan_device_report(ks_scan_device *d, ks_gpu_stream *stream);
/** Add that, of series b, to the run's info. Non-zero where the run has failed. */
int ks_scan_device_tell(const ks_scan_device *d, ks_run *run, int64_t b);

/** Run a plan on its device. */
void ks_scan_device_run(ks_run *run);

#endif
