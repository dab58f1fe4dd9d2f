/* scan_device.h -- the scan methods, and the MAP route, on a device: what a plan keeps there.
 *
 * A plan has one set of memory and one stream on its device, so runs of one plan take turns. What the
 * device does is captured into a graph, which is made again when a run comes with arrays that vary
 * where they did not before. */
#ifndef KS_SCAN_DEVICE_H
#define KS_SCAN_DEVICE_H

#include "gpu/stage.h"
#include "machine_cuda.h"
#include "chunk_kernels.h"
#include "map_device.h"
#include "smooth_plan.h"
#include "lock.h"

/** What a run brings back first. */
typedef struct ks_scan_report {
    ks_scan_status status;
    double loglik;
} ks_scan_report;

/* The model's and the data's arrays and their results, twice, and what lies between. */
enum { KS_DEVICE_BLOCKS = 80 };

/* What a run is made of: all of it, or where two devices share it the forward scan, the evidence beside
 * the reverse scan on the other one, and what comes when both are there; or the forward scan, or the reverse one, once
 * more, with round-off. */
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
    ks_gpu_graph *part[KS_RUN_PARTS]; /* graphs, NULL where not made yet               */
    ks_scan_arrays captured;        /* with what they were captured                       */
    struct ks_scan_device *other;   /* the reverse scan's, or NULL                        */
    int shared;                     /* whether `gpu` belongs to another one of these      */
    ks_gpu_event *done;             /* with what the other one waits for                  */
    ks_gpu_event *begun, *carried;  /* arrays that go there are whole, and have gone       */
    const ks_gpu_kernel *ordinary[KS_PHASES]; /* what takes the ordinary steps of a phase first, or NULL */
    size_t ordinary_shared[KS_PHASES]; /* bytes that their blocks share                   */
    unsigned char *hard;            /* the steps that this has left                       */
    const ks_gpu_kernel *phase[KS_PHASES], *sum, *pack, *filter_scan, *smooth_scan;
    const ks_round *forward_rounds, *reverse_rounds; /* on the device, where one launch does all, or NULL */
    const ks_gpu_kernel *absorb, *tiles_scan, *fold, *rerun, *judge, *border;
    const ks_gpu_kernel *fast_absorb, *fast_filter, *fast_smooth, *fast_border; /* or NULL */
    const ks_gpu_kernel *wide_absorb, *wide_filter; /* what these leave of the filter, in double, or NULL */
    ks_fill fill;                   /* how rows come to threads or teams                  */
    int ring_window, ring_stages;   /* their ring's, whatever else has room beside it; 0: as there is room */
    const ks_gpu_kernel *ring_absorb, *ring_filter, *ring_smooth; /* with one, or NULL     */
    int64_t absorb_shared;          /* bytes of a block that kernels of threads which absorb have themselves  */
    int beside_absorb, beside_filter, beside_smooth; /* blocks that a multiprocessor has room for without */
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
    size_t bytes;                   /* of all of them                                      */
    void *spare;                    /* elements that the scans keep beside the steps'      */
    char *scratch;                  /* of threads that have none of their own              */
    int64_t slice, threads;         /* bytes for each of them, and their number            */
    size_t arithmetic;              /* bytes of a slice for the arithmetic in double, and  */
    size_t own_arithmetic;          /* in the plan's precision                             */
    double *sums;                   /* of log-likelihood terms                             */
    ks_scan_status *status;         /* and behind it what it is before a run               */
    ks_scan_report *report;         /* pinned memory of the host                           */
    ks_map_device map;              /* of the MAP route, which has no scans                */
} ks_scan_device;

/** A layout in the making: where memory runs out the rest is only counted. */
struct ks_device_layout {
    ks_scan_device *d;
    ks_status status;
};

/** Memory of the device for `count` things of so many bytes, or NULL. */
void *ks_device_take(ks_device_layout *l, int64_t count, size_t bytes);

/** Threads of a block whose teams are smaller. */
enum { KS_TEAM_BLOCK = 128 };

/** Most states that the operators of elements have kernels with literal sizes for. */
enum { KS_SCAN_LITERAL = 4 };

/** Take all that one device's share of a plan needs: the whole run's, or as the `second` one of two the reverse scan's.
 *  l->d->part_chunks says how much of a series is there at once. */
void ks_scan_device_lay_out(ks_device_layout *l, const ks_smooth_plan *plan, int second);
/** Chunks of a part after so many of them, 0: all, did not fit; the same where there are no fewer. */
int64_t ks_scan_device_fewer_chunks(const ks_scan_device *d, int64_t chunks);

/** Whether there are kernels for the ordinary steps of such a model. */
int ks_scan_device_has_ordinary(const ks_smooth_plan *plan);

/** Make what a plan needs on its device.
 *  Errors: KS_ENODEV, KS_EUNAVAILABLE, KS_ENOMEM, KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_scan_device_create(ks_scan_device **out, const ks_smooth_plan *plan);
/** The bytes of device memory that this takes. */
size_t ks_scan_device_bytes(const ks_smooth_plan *plan);
void ks_scan_device_destroy(ks_scan_device *d);

/** Whether chunks of a plan with these sizes and outputs have kernels that do most of them, and which:
 *  with a chunk to a thread that keeps all in registers, or with teams of threads. */
void ks_chunks_teams(ks_scan_device *d, const ks_smooth_plan *plan);
KS_MUST_CHECK ks_status ks_chunks_find_fast(ks_scan_device *d, const ks_smooth_plan *plan);

/** Let rows come in this way from now on, where they can; not while a run is under way. Pieces do not come to
 *  teams, and nothing changes where chunks have kernels for any model. */
KS_MUST_CHECK ks_status ks_chunks_fill(ks_scan_device *d, const ks_smooth_plan *plan, ks_fill fill);
/** Shared memory that teams of a block may have between them, bytes: of a plan that has no device yet what one of compute
 *  capability 8.0 or 9.0 has. */
int64_t ks_team_room(const ks_scan_device *d);
/** Teams for models of so many states, with so many bytes for each, most of them numbers of `number` bytes, to do so many
 *  things. */
ks_team_shape ks_team_shape_for(const ks_scan_device *d, int nx, int64_t bytes, int64_t number, int64_t things);
/** Shared memory of a block of teams without a ring. */
size_t ks_team_shared(const ks_team_shape *team);
/** Most blocks of them for kernels whose teams have scratch beside that, as threads have it. */
int64_t ks_team_most_blocks(const ks_scan_device *d, const ks_team_shape *team);
/** What a kernel is told of teams. */
ks_team_memory ks_team_memory_of(const ks_scan_device *d, const ks_team_shape *team);
/** Passes over the steps of chunks. */
typedef enum ks_pass { KS_PASS_ABSORB, KS_PASS_FILTER, KS_PASS_BACK } ks_pass;
/** The ring of the kernels of a pass, beside which a multiprocessor has room for so many
 *  blocks without one. Its fill is KS_FILL_NONE where these blocks do not have room for it, where no row varies,
 *  or where rows are not aligned. */
void ks_chunks_ring(const ks_scan_device *d, ks_pass pass, int blocks, ks_ring *ring);

/** Reduce, scan and re-run into the stream, or one of these: the chunks of d->chunks alone. */
KS_MUST_CHECK ks_status ks_chunks_enqueue(ks_scan_device *d);
KS_MUST_CHECK ks_status ks_chunks_reduce(ks_scan_device *d);
KS_MUST_CHECK ks_status ks_chunks_scan(ks_scan_device *d);
KS_MUST_CHECK ks_status ks_chunks_rerun(ks_scan_device *d);
/** What that counts for, in info. */
void ks_chunks_count(const ks_scan_device *d, int64_t T, ks_info *info);

/** All that the device does of a run, or a part of it, into the stream. */
KS_MUST_CHECK ks_status ks_scan_device_enqueue(ks_scan_device *d, const ks_smooth_plan *plan,
                                               ks_run_part part);
/** Scan stored elements by a schedule, with the rounds on the device where one launch does all. */
KS_MUST_CHECK ks_status ks_scan_device_scan(ks_scan_device *d, const ks_schedule *schedule, const ks_gpu_kernel *kernel,
                                            const ks_round *rounds, void *elements, void *spare);
/** No fault so far; the sum of so many terms of the log-likelihood: into the stream. */
KS_MUST_CHECK ks_status ks_scan_device_begin(ks_scan_device *d);
KS_MUST_CHECK ks_status ks_scan_device_sum(ks_scan_device *d, int64_t count);

/** Let each scan of stored elements, and that of chunks' aggregates by teams, be one cooperative launch from now on, or
 *  a launch for each round again; not while a run is under way. Takes memory of the device when it is asked for. A plan
 *  begins with aggregates together, where the device can, and stored elements round by round.
 *  Errors: KS_ENOMEM, KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_scan_device_together(ks_scan_device *d, const ks_smooth_plan *plan, int together);
/** Forget the graphs of runs. */
void ks_scan_device_forget(ks_scan_device *d);

/** Make a part of a run, at once or by a graph. */
typedef ks_status ks_part_maker(ks_scan_device *d, const ks_smooth_plan *plan, ks_run_part part);
/** What follows the forward scan on `d`, after which d->done has been recorded, where `o`, which has model and
 *  data, scans in reverse. The suffixes move into the place of the prefixes, of which the estimates have been
 *  taken. */
KS_MUST_CHECK ks_status ks_scan_device_join(ks_scan_device *d, ks_scan_device *o,
                                            const ks_smooth_plan *plan, ks_part_maker *make);

/** What of a series travels: what all series share, what all its steps do; and whether d->a is of all steps,
 *  not of those that travel alone. */
enum { KS_ROWS_SHARED = 1, KS_ROWS_STEADY = 2, KS_ROWS_IN_PLACE = 4 };

/** Rows of steps k0 .. k1 - 1 of series b into d->a, and `which` of the others. */
KS_MUST_CHECK ks_status ks_scan_device_upload(ks_scan_device *d, const ks_plan_run *run, int64_t b,
                                              int64_t k0, int64_t k1, unsigned which);
/** Model and data that are in d's memory, as d->a.series has them, to o's own, beside d->stream: not before
 *  what is in that now, and before what comes in o->stream. */
KS_MUST_CHECK ks_status ks_scan_device_across(ks_scan_device *d, ks_scan_device *o,
                                              const ks_smooth_plan *plan);
/** Results of these steps out of `a`, and of the prior with those of step 0; waits for them. */
KS_MUST_CHECK ks_status ks_scan_device_download(ks_scan_device *d, const ks_scan_arrays *a,
                                                const ks_plan_run *run, int64_t b, int64_t k0, int64_t k1);

/** Chunks of a part at least, and what parts travel in. */
enum { KS_LEAST_PART = 128 };
KS_MUST_CHECK ks_status ks_parts_open(ks_scan_device *d);
/** A run of a plan whose series is in the device's memory a part at a time, see scan_device_parts.c. */
KS_MUST_CHECK ks_status ks_parts_run(ks_scan_device *d, ks_plan_run *run, int64_t b);
/** The same of one that is there as a whole, but comes and goes in parts while others are computed. */
KS_MUST_CHECK ks_status ks_parts_run_beside(ks_scan_device *d, ks_plan_run *run, int64_t b);

/** Let a series from the host that the device has room for travel in at most so many parts from now on, beside what is
 *  computed, or at once (1); not while a run is under way. Nothing changes where scans keep elements of all steps, or
 *  where there is no room; parts are no shorter than those are at least.
 *  Errors: KS_ENOMEM, KS_EDEVICE. */
KS_MUST_CHECK ks_status ks_scan_device_travel(ks_scan_device *d, int parts);
/** The parts that it travels in. */
int64_t ks_scan_device_parts(const ks_scan_device *d);

/** Whether estimates that the last run has reported are those of a scan that may have lost digits, the forward one for
 *  KS_RUN_FILTER_ROUNDING, the reverse one for KS_RUN_ROUNDING: then that part, each in its turn, comes next in its
 *  stream, and a report of it. */
int ks_scan_device_is_suspect(const ks_scan_device *d, const ks_smooth_plan *plan, ks_run_part part);

/** Wait for a stream and for what the last run in it says of itself. */
KS_MUST_CHECK ks_status ks_scan_device_report(ks_scan_device *d, ks_gpu_stream *stream);
/** Add that, of series b, to the run's info. Non-zero where the run has failed. */
int ks_scan_device_tell(const ks_scan_device *d, ks_plan_run *run, int64_t b);

#define KS_TRY(call)                                                                           \
    do {                                                                                    \
        const ks_status tried = (call);                                                     \
        if (tried != KS_OK) return tried;                                                   \
    } while (0)

/** Run a plan on its device. */
void ks_scan_device_run(ks_plan_run *run);

#endif
