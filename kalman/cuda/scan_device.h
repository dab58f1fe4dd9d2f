/* scan_device.h -- the scan methods and the MAP route on a device: what a plan keeps there.
 *
 * A plan has one set of memory and one stream on its device, so runs of one plan take turns. The work of a run is
 * captured into a graph. The graph is captured again when a run has different arrays or strides. */
#ifndef KS_SCAN_DEVICE_H
#define KS_SCAN_DEVICE_H

#include "gpu/stage.h"
#include "machine_cuda.h"
#include "chunk_kernels.h"
#include "map_device.h"
#include "smooth_plan.h"
#include "lock.h"

/** What a run copies back first. */
typedef struct ks_scan_report {
    ks_scan_status status;
    double loglik;
} ks_scan_report;

/* Most blocks of device memory of a plan: arrays of the model, data and results, twice, and intermediate arrays. */
enum { KS_DEVICE_BLOCKS = 80 };

/* Parts of a run. KS_RUN_WHOLE is all of it. Where two devices share a run, the first one does KS_RUN_ASCENT (the
 * forward scan) and KS_RUN_EVIDENCE, the other one meanwhile does KS_RUN_DESCENT (the reverse scan), and then the first
 * one does KS_RUN_MEETING. KS_RUN_FILTER_ROUNDING and KS_RUN_ROUNDING repeat the forward and the reverse scan with
 * added round-off. */
typedef enum ks_run_part {
    KS_RUN_WHOLE, KS_RUN_ASCENT, KS_RUN_EVIDENCE, KS_RUN_MEETING, KS_RUN_DESCENT, KS_RUN_FILTER_ROUNDING,
    KS_RUN_ROUNDING, KS_RUN_PARTS
} ks_run_part;

typedef struct ks_scan_device {
    ks_lock lock;
    ks_context *context;
    ks_gpu *gpu;
    ks_gpu_stream *stream;
    ks_gpu_stage stage;
    ks_gpu_graph *part[KS_RUN_PARTS]; /* graphs, NULL until captured */
    ks_scan_arrays captured;        /* the arrays that they were captured with */
    struct ks_scan_device *other;   /* the device of the reverse scan, or NULL */
    int shared;                     /* whether `gpu` belongs to another ks_scan_device */
    ks_gpu_event *done;             /* the other device waits for it */
    ks_gpu_event *begun, *carried;  /* before arrays go to the other device, and after */
    const ks_gpu_kernel *ordinary[KS_PHASES]; /* kernels for the ordinary steps of a phase, or NULL */
    size_t ordinary_shared[KS_PHASES]; /* bytes of dynamic shared memory of their blocks */
    unsigned char *hard;            /* of each step: whether they have left it */
    const ks_gpu_kernel *phase[KS_PHASES], *sum, *pack, *filter_scan, *smooth_scan;
    const ks_round *forward_rounds, *reverse_rounds; /* in device memory, where one launch does all rounds; or NULL */
    const ks_gpu_kernel *absorb, *tiles_scan, *fold, *rerun, *judge, *border;
    const ks_gpu_kernel *fast_absorb, *fast_filter, *fast_smooth, *fast_border; /* or NULL */
    const ks_gpu_kernel *wide_absorb, *wide_filter; /* what these leave of the filter, in double, or NULL */
    ks_fill fill;                   /* how rows come to threads or teams                  */
    int ring_window, ring_stages;   /* their ring's, whatever else has room beside it; 0: as there is room */
    const ks_gpu_kernel *ring_absorb, *ring_filter, *ring_smooth; /* with one, or NULL     */
    int64_t absorb_shared;          /* bytes of a block that kernels of threads which absorb have themselves  */
    int beside_absorb, beside_filter, beside_smooth; /* blocks that a multiprocessor has room for without */
    int by_columns, without_columns; /* whether teams hold matrices by columns; whether they are not to */
    ks_team_shape team, team_back;  /* of chunks, forward, and the smoothers'; none: a thread with its registers */
    ks_team_shape join;             /* of lanes that combine elements; none: a thread each */
    ks_team_shape team_border;      /* at the borders between chunks; none: a thread each  */
    char *team_memory;              /* of those that have it in the device's              */
    int reruns;                     /* chunks of steps, rather than elements of all        */
    ks_chunk_arrays chunks;         /* their arrays; `a` is below                          */
    int64_t part_chunks;            /* of a part that is on the device at once; 0: all    */
    int64_t beside_chunks;          /* where all are: of a part that travels while others are computed; 0: all */
    ks_scan_arrays half[2];         /* then two parts' model, data and results in turns,  */
    ks_gpu_event *there[2], *free[2]; /* when they are there, when they have been used    */
    ks_gpu_stream *beside;          /* and what they travel in, as arrays do that go from */
                                    /* this device to the other one                       */
    ks_tiles_args tiles;            /* how the chunks' aggregates are scanned by threads,  */
    ks_scan_plan *borders;          /* and by teams, or NULL: prefixes, and beside them suffixes */
    ks_round *border_rounds;        /* theirs, on the device                               */
    size_t element;                 /* bytes of an aggregate                               */
    ks_scan_arrays a;               /* on the device, rows behind one another              */
    void *block[KS_DEVICE_BLOCKS];  /* of the device's memory                              */
    int blocks;
    size_t bytes;                   /* bytes of all of them */
    void *spare;                    /* elements that the scans need beside those of the steps */
    char *scratch;                  /* of threads whose local scratch is too small */
    int64_t slice, threads;         /* bytes for each thread, and number of threads */
    size_t arithmetic;              /* bytes of a slice for the arithmetic in double */
    size_t own_arithmetic;          /* and in the plan's precision */
    double *sums;                   /* of log-likelihood terms */
    ks_scan_status *status;         /* two: the status, and its value before a run */
    ks_scan_report *report;         /* in pinned host memory */
    ks_map_device map;              /* of the MAP route, which has no scans */
} ks_scan_device;

/** A layout in progress. Once memory has run out, the rest is only counted. */
struct ks_device_layout {
    ks_scan_device *d;
    ks_status status;
};

/** Allocate device memory for `count` items of `bytes` bytes each, or return NULL. */
void *ks_device_take(ks_device_layout *l, int64_t count, size_t bytes);

/** Threads of a block that holds several teams. */
enum { KS_TEAM_BLOCK = 128 };

/** Most states for which the operators of elements have kernels with literal sizes. */
enum { KS_SCAN_LITERAL = 4 };

/** How a series is cut into chunks. */
typedef struct ks_chunk_cut {
    int64_t size, chunks; /* steps of a chunk, but for the last one; number of chunks          */
    int64_t tile;         /* aggregates that threads scan in one block, where threads join them */
} ks_chunk_cut;

/** Cut a series of T steps, by its length and number of states alone. */
ks_chunk_cut ks_cut_into_chunks(int64_t T, int nx);

/** Allocate everything that one device's share of a plan needs: the whole run, or with `second` the reverse scan of two
 *  devices. l->d->part_chunks says how much of a series is on the device at once. */
void ks_scan_device_lay_out(ks_device_layout *l, const ks_smooth_plan *plan, int second);
/** Return the chunks of a part to try next, after parts of `chunks` chunks (0: all) did not fit. Returns `chunks`
 *  itself if parts cannot be smaller. */
int64_t ks_scan_device_fewer_chunks(const ks_scan_device *d, int64_t chunks);

/** Whether there are kernels for the ordinary steps of the plan's model. */
int ks_scan_device_has_ordinary(const ks_smooth_plan *plan);

/** Create what a plan needs on its device.
 *  Errors: KS_ENODEV, KS_EUNAVAILABLE, KS_ENOMEM, KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_scan_device_create(ks_scan_device **out, const ks_smooth_plan *plan);
/** Return the least bytes of device memory that a plan needs. For two devices: the larger of their shares; their sum if
 *  both are the same device. */
size_t ks_scan_device_bytes(const ks_smooth_plan *plan);
void ks_scan_device_destroy(ks_scan_device *d);

/** Choose and find the kernels that do most chunks of a plan with these sizes and outputs: a thread per chunk with
 *  everything in registers, or teams of threads. There may be none. */
void ks_chunks_teams(ks_scan_device *d, const ks_smooth_plan *plan);
KS_MUST_CHECK ks_status ks_chunks_find_fast(ks_scan_device *d, const ks_smooth_plan *plan);

/** Say whether teams may hold matrices by columns in registers where there are kernels for that (at first they may), or
 *  must keep all in shared memory. Sets how rows come to what it was at first. Not during a run. */
KS_MUST_CHECK ks_status ks_chunks_by_columns(ks_scan_device *d, const ks_smooth_plan *plan, int wanted);
/** Set how rows reach threads or teams, where the kernels can. Not during a run. Teams do not take pieces. Nothing
 *  changes where chunks have only the kernels for any model. */
KS_MUST_CHECK ks_status ks_chunks_fill(ks_scan_device *d, const ks_smooth_plan *plan, ks_fill fill);
/** Return the bytes of shared memory that the teams of a block may have together. For a plan without a device it is
 *  that of compute capability 8.0 and 9.0. */
int64_t ks_team_room(const ks_scan_device *d);
/** Choose teams for models of nx states. Each needs `bytes` bytes, mostly of numbers of `number` bytes; there are
 *  `things` pieces of work. */
ks_team_shape ks_team_shape_for(const ks_scan_device *d, int nx, int64_t bytes, int64_t number, int64_t things);
/** Return the shared memory of a block of teams without a ring, in bytes. */
size_t ks_team_shared(const ks_team_shape *team);
/** Return the most blocks of kernels whose teams also have scratch. There is scratch for d->threads teams. */
int64_t ks_team_most_blocks(const ks_scan_device *d, const ks_team_shape *team);
/** Return what a kernel is told of teams. */
ks_team_memory ks_team_memory_of(const ks_scan_device *d, const ks_team_shape *team);
/** Passes over the steps of chunks. */
typedef enum ks_pass { KS_PASS_ABSORB, KS_PASS_FILTER, KS_PASS_BACK } ks_pass;
/** Choose the ring of the kernels of a pass. `blocks` are the resident blocks per multiprocessor without a ring. The
 *  fill is KS_FILL_NONE where a ring does not fit beside that many blocks, where no row varies, or where rows are not
 *  aligned. */
void ks_chunks_ring(const ks_scan_device *d, ks_pass pass, int blocks, ks_ring *ring);

/** Enqueue reduce, scan and re-run, or one of them, for the chunks of d->chunks. */
KS_MUST_CHECK ks_status ks_chunks_enqueue(ks_scan_device *d);
KS_MUST_CHECK ks_status ks_chunks_reduce(ks_scan_device *d);
KS_MUST_CHECK ks_status ks_chunks_scan(ks_scan_device *d);
KS_MUST_CHECK ks_status ks_chunks_rerun(ks_scan_device *d);
/** Add the rounds and combines of that to info. */
void ks_chunks_count(const ks_scan_device *d, int64_t T, ks_info *info);

/** Enqueue a part of a run on the device. */
KS_MUST_CHECK ks_status ks_scan_device_enqueue(ks_scan_device *d, const ks_smooth_plan *plan,
                                               ks_run_part part);
/** Enqueue a scan of stored elements by a schedule. `rounds` are its rounds in device memory where one launch does all,
 *  else NULL. */
KS_MUST_CHECK ks_status ks_scan_device_scan(ks_scan_device *d, const ks_schedule *schedule, const ks_gpu_kernel *kernel,
                                            const ks_round *rounds, void *elements, void *spare);
/** Enqueue: reset the status to no fault; sum `count` terms of the log-likelihood. */
KS_MUST_CHECK ks_status ks_scan_device_begin(ks_scan_device *d);
KS_MUST_CHECK ks_status ks_scan_device_sum(ks_scan_device *d, int64_t count);

/** Choose whether each scan of stored elements, and the scan of chunks' aggregates by teams, is one cooperative launch
 *  or one launch per round. Not during a run. One launch needs device memory for the rounds. By default up to 2048
 *  aggregates are scanned in one launch if the device can, and stored elements round by round.
 *  Errors: KS_ENOMEM, KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_scan_device_together(ks_scan_device *d, const ks_smooth_plan *plan, int together);
/** Discard the graphs of runs. */
void ks_scan_device_forget(ks_scan_device *d);

/** A function that enqueues a part of a run, directly or by a graph. */
typedef ks_status ks_part_maker(ks_scan_device *d, const ks_smooth_plan *plan, ks_run_part part);
/** Do what follows the forward scan on `d`, while `o`, which has model and data, scans in reverse. d->done has been
 *  recorded after the forward scan. The suffixes are copied over the prefixes, which are no longer needed then. */
KS_MUST_CHECK ks_status ks_scan_device_join(ks_scan_device *d, ks_scan_device *o,
                                            const ks_smooth_plan *plan, ks_part_maker *make);

/** Which rows of a series to copy: KS_ROWS_SHARED those that all series share, KS_ROWS_STEADY those that all steps
 *  share. KS_ROWS_IN_PLACE: d->a holds all steps, not only those that are copied. */
enum { KS_ROWS_SHARED = 1, KS_ROWS_STEADY = 2, KS_ROWS_IN_PLACE = 4 };

/** Copy the rows of steps k0 .. k1 - 1 of series b into d->a, and of the other rows those that `which` names. */
KS_MUST_CHECK ks_status ks_scan_device_upload(ks_scan_device *d, const ks_plan_run *run, int64_t b,
                                              int64_t k0, int64_t k1, unsigned which);
/** Copy model and data from where d->a.series has them in d's memory to o's own arrays, in a stream beside d->stream.
 *  The copies begin after what is in d->stream at the call and end before what is enqueued in o->stream later. */
KS_MUST_CHECK ks_status ks_scan_device_across(ks_scan_device *d, ks_scan_device *o,
                                              const ks_smooth_plan *plan);
/** Copy the results of these steps out of `a`, with those of the prior if k0 is 0, and wait for them. */
KS_MUST_CHECK ks_status ks_scan_device_download(ks_scan_device *d, const ks_scan_arrays *a,
                                                const ks_plan_run *run, int64_t b, int64_t k0, int64_t k1);

/** Least chunks of a part; and open the streams and events that parts need. */
enum { KS_LEAST_PART = 128 };
KS_MUST_CHECK ks_status ks_parts_open(ks_scan_device *d);
/** Run a plan whose series is on the device a part at a time; see scan_device_parts.c. */
KS_MUST_CHECK ks_status ks_parts_run(ks_scan_device *d, ks_plan_run *run, int64_t b);
/** Run a plan whose series fits, but is copied in parts while others are computed. */
KS_MUST_CHECK ks_status ks_parts_run_beside(ks_scan_device *d, ks_plan_run *run, int64_t b);

/** Let a series from the host that fits travel in at most `parts` parts beside the computation, or at once (1). Not
 *  during a run. Nothing changes where scans store the elements of all steps or where the series does not fit. Parts
 *  have at least KS_LEAST_PART chunks.
 *  Errors: KS_ENOMEM, KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_scan_device_travel(ks_scan_device *d, int parts);
/** Return the parts that it travels in. */
int64_t ks_scan_device_parts(const ks_scan_device *d);

/** Whether the last run's report says that its scan may have lost digits: the forward scan for KS_RUN_FILTER_ROUNDING,
 *  the reverse one for KS_RUN_ROUNDING. If so, that part is enqueued next, in this order, and a report of it. */
int ks_scan_device_is_suspect(const ks_scan_device *d, const ks_smooth_plan *plan, ks_run_part part);

/** Wait for a stream, and copy back the status and the log-likelihood of its last run. */
KS_MUST_CHECK ks_status ks_scan_device_report(ks_scan_device *d, ks_gpu_stream *stream);
/** Add the report, for series b, to the run's info. Returns non-zero if the run has failed. */
int ks_scan_device_tell(const ks_scan_device *d, ks_plan_run *run, int64_t b);

#define KS_TRY(call)                                                                           \
    do {                                                                                    \
        const ks_status tried = (call);                                                     \
        if (tried != KS_OK) return tried;                                                   \
    } while (0)

/** Run a plan on its device. */
void ks_scan_device_run(ks_plan_run *run);

#endif
