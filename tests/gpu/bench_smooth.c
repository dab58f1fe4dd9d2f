/* bench_smooth.c -- filters and smoothers by scans on the first device, as lines of JSON: the device's own
 * work on arrays that are there, and the whole call with arrays of the host. Models vary at every step, but for
 * the cases `lti-...`.
 *
 *     bench_smooth [SECONDS [T [LEAST_NX [MOST_NX]]]]
 *
 * Every method with every size from LEAST_NX to MOST_NX states (2, 32), in double and single precision, 1e3 to 1e6
 * steps, in chunks to 1e7 and in mixed precision, too, none longer than T (1e7). What is asked for first comes
 * first: four states, chunks, the rest. A case takes at most a quarter of SECONDS (60), and none begins when they
 * are over; nor where memory does not do. Then two lines say so: `left_out`, and why. What a case takes is expected
 * of the one a tenth as long; one whose runs are long has few of them.
 *
 * `floor_ns` is what touching model and results once would take at the speed of a copy inside the device,
 * measured here first. Models in chunks are timed with rows that come in every way, `dev-loads`, `dev-pieces` and
 * `dev-bulk` beside `device`, which has them in the plan's; `dev-bulk-1` are windows of one step for teams, also where these
 * leave a multiprocessor fewer blocks. `dev-teams` are teams that keep all matrices in shared memory beside `device`, where
 * they have their columns in registers; bulk copies are for the former. `dev-together` are scans of stored elements, or of many aggregates of larger models,
 * in one cooperative launch each, beside `device`, one launch for each round; `dev-rounds` are fewer aggregates in one
 * for each round, beside `device`, which has them in one. `in-parts` or `at-once` is what `end-to-end` is not,
 * `one-copier` the same without other threads that bring rows to pinned memory.
 * Exit code 77 without a device, 1 where a series that was made on the device has another likelihood than the same
 * one from the host. */
#include <math.h>
#include <stdarg.h>
#include "smooth_series.h"

/* How results are called: of a model that varies at every step, and of one that does not. */
static const char *const device_name[] = { "device", "lti-device" };
static const char *const whole_name[] = { "end-to-end", "lti-whole" };
static const char *const fill_name[][3] = { { "dev-loads", "dev-pieces", "dev-bulk" },
                                            { "lti-loads", "lti-pieces", "lti-bulk" } };
static const char *const least_name[] = { "dev-bulk-1", "lti-bulk-1" };

/* Ways of a whole call: the plan's, the other one of parts, the plan's with one thread. */
enum { WAYS = 3 };

/* Seconds for repeats of the device's own work, and of whole calls; beyond LONG a run has none. */
static const double device_room = 0.1, whole_room = 0.5, too_long = 2;

/* The time that all cases have, the device, and what serves all of them. */
static struct {
    double begun, seconds, copy_bytes_per_ns, bytes_per_s;
    size_t memory;
    host_series host[2];
    ks_context *context; /* with all of the machine's threads */
    int begins, differs;
} all;

/* Seconds of a run of so many steps. */
typedef struct cost {
    double T, device, whole;
} cost;

static void leave_out(const job *j, const char *where, const char *why, ...)
{
    char text[160];
    va_list with;
    va_start(with, why);
    vsnprintf(text, sizeof text, why, with);
    va_end(with);
    print_head(j, where);
    printf("\"left_out\": \"%s\"}\n", text);
}

/* Whether there is no time for what takes so many seconds, and then the line that says so. */
static int no_time(const job *j, const char *where, double expected)
{
    const double left = all.begun + all.seconds - ks_seconds();
    if (!all.begins) return 0;
    if (left <= 0) leave_out(j, where, "time: all of %.3g s is spent", all.seconds);
    else if (expected > left) leave_out(j, where, "time: %.2g s expected, %.2g s are left", expected, left);
    else if (expected > all.seconds / 4)
        leave_out(j, where, "time: %.2g s expected, more than a quarter of %.3g s", expected, all.seconds);
    else return 0;
    return 1;
}

static void fail(const job *j, const char *where, const char *status)
{
    print_head(j, where);
    printf("\"status\": \"%s\"}\n", status);
}

static int count_of(double first_ns, double room, int most)
{
    const double fit = room * 1e9 / first_ns;
    return first_ns > too_long * 1e9 ? 0 : fit < 1 ? 1 : fit < most ? (int)fit : most;
}

/* The device's own work as a graph, as plans run it: `ns` of some runs. */
static ks_status time_graph(ks_scan_device *d, const ks_smooth_plan *plan, ks_gpu_event *const event[2], double *ns,
                            int *count)
{
    KS_TRY(ks_gpu_capture_begin(d->gpu, d->stream));
    const ks_status status = ks_scan_device_enqueue(d, plan, KS_RUN_WHOLE);
    KS_TRY(ks_gpu_capture_end(d->gpu, &d->part[KS_RUN_WHOLE], d->stream));
    KS_TRY(status);
    KS_TRY(again(d, plan, event, 1, ns));
    const int more = count_of(ns[0], device_room, REPEATS), times = back_to_back(ns[0]);
    *count = more ? more : 1;
    for (int i = 0; i < more; ++i) KS_TRY(again(d, plan, event, times, &ns[i]));
    return ks_scan_device_report(d, d->stream);
}

/* The device's own work with rows that come in the way that the plan has not chosen, see chunk_ring.h; of teams bulk copies
 * as there is room beside as many blocks as without, and windows of one step whatever that costs. */
static ks_status time_fills(const job *j, const ks_smooth_plan *plan, ks_gpu_event *const event[2],
                            double floor_ns, int held)
{
    static const char *const names[] = { "loads", "pieces", "bulk" };
    ks_scan_device *d = plan->device;
    const ks_fill chosen = d->fill;
    const int teams = d->team.lanes > 0;
    double ns[REPEATS];
    ks_status status = KS_OK;
    if (!d->fast_absorb) return KS_OK;
    if (d->by_columns) {
        int count = 0;
        KS_TRY(ks_chunks_by_columns(d, plan, 0));
        KS_TRY(time_graph(d, plan, event, ns, &count));
        print(j, held ? "lti-teams" : "dev-teams", ns, count, floor_ns, "");
    }
    for (int way = 0; way < 2 && status == KS_OK; ++way) {
        const ks_fill fill = teams ? KS_FILL_BULK : (ks_fill)way;
        ks_ring ring;
        char more[160];
        int count = 0;
        if (fill == chosen) continue;
        d->ring_window = teams && way;
        status = ks_chunks_fill(d, plan, fill);
        if (status == KS_OK) status = time_graph(d, plan, event, ns, &count);
        ks_chunks_ring(d, KS_PASS_ABSORB, d->beside_absorb, &ring);
        snprintf(more, sizeof more, ", \"rows\": \"%s\", \"window\": %d, \"stages\": %d, \"ring_bytes\": %d",
                 names[ring.fill], ring.window, ring.stages, ring.bytes);
        if (status == KS_OK) print(j, teams && way ? least_name[held] : fill_name[held][fill], ns, count, floor_ns, more);
    }
    d->ring_window = 0;
    const ks_status columns = ks_chunks_by_columns(d, plan, 1), back = ks_chunks_fill(d, plan, chosen);
    return status != KS_OK ? status : columns != KS_OK ? columns : back;
}

/* The same with scans in one cooperative launch each, or, where they are, in one launch for each round. */
static ks_status time_together(const job *j, const ks_smooth_plan *plan, ks_gpu_event *const event[2],
                               double floor_ns)
{
    ks_scan_device *d = plan->device;
    double ns[REPEATS];
    int count = 0;
    const int usual = d->forward_rounds != NULL;
    if (d->reruns && !d->borders) return KS_OK;
    ks_status status = ks_scan_device_together(d, plan, !usual);
    if (status == KS_OK) status = time_graph(d, plan, event, ns, &count);
    if (status == KS_OK) print(j, usual ? "dev-rounds" : "dev-together", ns, count, floor_ns, "");
    const ks_status back = ks_scan_device_together(d, plan, usual);
    return status != KS_OK ? status : back;
}

/* The device's own work in every way, on a series that is made there. */
static ks_status time_device(const job *j, const ks_smooth_plan *plan, int held, cost *c, double *loglik)
{
    ks_scan_device *d = plan->device;
    ks_gpu_event *event[2] = { NULL };
    double ns[REPEATS];
    int count = 0;
    const double floor_ns = touched(j, held) / all.copy_bytes_per_ns;
    ks_status status = device_make(d, j, held);
    for (int i = 0; i < 2 && status == KS_OK; ++i) status = ks_gpu_event_create(d->gpu, &event[i]);
    if (status == KS_OK) status = time_graph(d, plan, event, ns, &count);
    if (status == KS_OK) {
        *loglik = d->report->loglik;
        print(j, device_name[held], ns, count, floor_ns, "");
        c->device = ns[count / 2] * 1e-9;
        ks_scan_device_forget(d);
        const double expected = c->device * ((double)j->T < 1e5 ? 4 : 8);
        if (ks_seconds() + expected < all.begun + all.seconds || !all.begins) {
            status = time_fills(j, plan, event, floor_ns, held);
            if (status == KS_OK && !held) status = time_together(j, plan, event, floor_ns);
        }
    }
    for (int i = 0; i < 2; ++i)
        if (event[i]) ks_gpu_event_destroy(d->gpu, event[i]);
    return status;
}

/* Some whole calls: `ns`, and how many. */
static ks_status time_calls(const ks_smooth_plan *plan, const ks_model *model, ks_view y, const ks_outputs *outputs,
                            double *ns, int *count)
{
    void *work = NULL;
    ks_status status = KS_OK;
    if (posix_memalign(&work, 64, ks_smooth_workspace_bytes(plan) + 64) != 0) return KS_ENOMEM;
    for (int i = -1, more = 1; i < more && status == KS_OK; ++i) {
        const double start = ks_seconds();
        status = ks_smooth_run(plan, model, y, outputs, work, NULL);
        ns[i < 0 ? 0 : i] = (ks_seconds() - start) * 1e9;
        if (i < 0) more = count_of(ns[0], whole_room, REPEATS / 3);
        *count = i < 0 ? 1 : i + 1;
    }
    free(work);
    return status;
}

static void print_whole(const job *j, const char *where, const ks_scan_device *d, double *ns, int count, int held)
{
    char more[64];
    snprintf(more, sizeof more, ", \"parts\": %lld, \"copiers\": %d", (long long)ks_scan_device_parts(d),
             d->stage.workers);
    print(j, where, ns, count, touched(j, held) / all.copy_bytes_per_ns, more);
}

/* Whole calls with arrays of the host, which are made before, as plans run them; series in chunks also the other way,
 * at once or in parts that travel beside what is computed, and with rows copied by one thread alone. */
static ks_status time_whole(const job *j, const ks_smooth_plan *plan, int held, cost *c, double loglik[WAYS])
{
    host_series *const host = &all.host[j->precision == KS_F32];
    ks_scan_device *const d = plan->device;
    const double bytes = host_bytes(host, j), begun = ks_seconds();
    const int copiers = d->stage.workers;
    const int64_t parts = ks_scan_device_parts(d);
    const char *const where[WAYS] = { whole_name[held], parts > 1 ? "at-once" : "in-parts", "one-copier" };
    ks_model model;
    ks_view y;
    ks_outputs outputs;
    double ns[REPEATS];
    int count = 0;
    KS_TRY(host_make(host, j));
    if (bytes > 1e8) all.bytes_per_s = bytes / (ks_seconds() - begun);
    for (int way = 0; way < WAYS; ++way) {
        KS_TRY(ks_scan_device_travel(d, way == 1 && parts == 1 ? 8 : way == 1 ? 1 : (int)parts));
        d->stage.workers = way == 2 ? 1 : copiers;
        loglik[way] = loglik[0];
        if (way == 1 && (d->part_chunks || ks_scan_device_parts(d) == parts)) continue;
        if (way == 2 && copiers == 1) continue;
        if (way > 0 && (held || !d->reruns || no_time(j, where[way], 2 * c->whole))) continue;
        host_views(host, j, held, &loglik[way], &model, &y, &outputs);
        KS_TRY(time_calls(plan, &model, y, &outputs, ns, &count));
        print_whole(j, where[way], d, ns, count, held);
        if (way == 0) c->whole = ns[count / 2] * 1e-9;
    }
    return KS_OK;
}

/* Both, as far as there are memory and time; `c` is what a shorter series took, and then this one. */
static void time_plan(const job *j, const ks_smooth_plan *plan, int held, cost *c)
{
    const char *const where = device_name[held], *const whole = whole_name[held];
    const host_series *const host = &all.host[j->precision == KS_F32], *const other = &all.host[j->precision != KS_F32];
    const double longer = c->T > 0 ? (double)j->T / c->T : 0;
    const double make = host_bytes(host, j), others = other->nx == j->nx ? other->bytes : 0;
    double logliks[1 + WAYS] = { 0 };
    int there[2] = { 0, 0 };
    ks_status status = KS_OK;
    c->device *= longer;
    c->whole *= longer;
    c->T = (double)j->T;
    if (plan->device->part_chunks) {
        leave_out(j, where, "memory of the device: the series goes there in parts");
    } else if (!no_time(j, where, 2 * c->device)) {
        status = time_device(j, plan, held, c, &logliks[0]);
        if (status != KS_OK) fail(j, where, ks_status_name(status));
        there[0] = status == KS_OK;
    }
    if (make + others > host_room()) {
        leave_out(j, whole, "memory of the host: %.3g GB for two precisions", (make + others) * 1e-9);
    } else if (!no_time(j, whole, 2 * c->whole + make / all.bytes_per_s)) {
        status = time_whole(j, plan, held, c, logliks + 1);
        if (status != KS_OK) fail(j, whole, ks_status_name(status));
        there[1] = status == KS_OK;
    }
    all.begins = 1;
    int differ = there[0] && logliks[0] != logliks[1];
    for (int way = 1; way < WAYS; ++way) differ = differ || logliks[1 + way] != logliks[1];
    if (!there[1] || !differ) return;
    fail(j, whole, "another likelihood");
    all.differs = 1;
}

static void run(const job *j, int held, cost *c)
{
    const char *const where = device_name[held], *const whole = whole_name[held];
    ks_smooth_options o = KS_SMOOTH_OPTIONS_INIT;
    ks_smooth_plan *plan;
    o.job = j->job;
    o.method = j->method;
    o.scan = j->scan;
    o.precision = j->precision;
    o.backend = KS_BACKEND_CUDA;
    o.outputs = KS_OUT_LOGLIK | (j->job == KS_JOB_SMOOTH
                                     ? KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV
                                     : KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV);
    const double bytes = (double)ks_smooth_device_bytes(j->T, 1, j->nx, j->ny, &o);
    ks_status status = KS_ENOMEM;
    if (bytes <= (double)all.memory) {
        if (no_time(j, where, 0)) {
            (void)no_time(j, whole, 0);
            return;
        }
        status = ks_smooth_plan_create(&plan, all.context, j->T, 1, j->nx, j->ny, &o);
    }
    if (status == KS_OK) {
        time_plan(j, plan, held, c);
        ks_smooth_plan_destroy(plan);
    } else if (status == KS_ENOMEM) {
        leave_out(j, where, "memory of the device: %.3g GB and more", bytes * 1e-9);
        leave_out(j, whole, "memory of the device: %.3g GB and more", bytes * 1e-9);
    } else {
        fail(j, where, ks_status_name(status));
    }
}

typedef struct method {
    ks_job job;
    ks_method method;
    ks_scan_algorithm scan;
} method;

/* A method with a size, from short series to long ones, `lti` also with a model that does not vary. */
static void run_lengths(const method *m, const int size[2], double longest, int lti)
{
    const int chunked = m->scan == KS_SCAN_CHUNKED;
    const double most = longest < (chunked ? 1e7 : 1e6) ? longest : chunked ? 1e7 : 1e6;
    cost costs[3] = { { 0, 0, 0 } };
    for (double T = most < 1e3 ? most : 1e3; T <= most; T *= 10)
        for (int p = 0; p < (chunked && m->method != KS_METHOD_SCAN_TWO_FILTER ? 3 : 2); ++p) {
            const job j = { m->job, m->method, m->scan, (ks_precision)p, (int64_t)T, size[0], size[1] };
            run(&j, 0, &costs[p]);
            cost held = costs[p];
            if (T == 1e6 && lti && chunked) run(&j, 1, &held);
        }
}

int main(int argc, char **argv)
{
    static const method methods[] = {
        { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_CHUNKED },
        { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_CHUNKED },
        { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_CHUNKED },
        { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_LADNER_FISCHER },
        { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_BLELLOCH },
        { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_SENGUPTA },
        { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_HILLIS_STEELE },
        { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_LADNER_FISCHER },
        { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_LADNER_FISCHER },
    };
    static const int sizes[][2] = { { 4, 2 }, { 2, 1 }, { 6, 3 }, { 8, 4 }, { 16, 8 }, { 32, 16 } };
    const double longest = argc > 2 ? atof(argv[2]) : 1e7;
    const int least_nx = argc > 3 ? atoi(argv[3]) : 2, most_nx = argc > 4 ? atoi(argv[4]) : 32;
    ks_gpu *gpu;
    all.begun = ks_seconds();
    all.seconds = argc > 1 ? atof(argv[1]) : 60;
    all.bytes_per_s = 1e9;
    const ks_status opened = ks_gpu_open(&gpu, NULL, 0);
    if (opened != KS_OK) {
        puts(opened == KS_ENODEV ? "no device" : ks_strerror(opened));
        return opened == KS_ENODEV ? 77 : 1;
    }
    ks_context_options threads = KS_CONTEXT_OPTIONS_INIT;
    threads.threads = 0;
    if (ks_context_create(&all.context, &threads) != KS_OK) return 1;
    all.copy_bytes_per_ns = copy_speed(gpu);
    all.memory = gpu->attributes.memory;
    for (int tier = 0; tier < 3; ++tier)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s)
            for (size_t m = 0; m < sizeof methods / sizeof methods[0]; ++m)
                if (tier == (s == 0 ? 0 : methods[m].scan == KS_SCAN_CHUNKED ? 1 : 2) &&
                    sizes[s][0] >= least_nx && sizes[s][0] <= most_nx)
                    run_lengths(&methods[m], sizes[s], longest, s < 3);
    /* Open so far, so that the device's context is not made anew for every plan. */
    ks_gpu_close(gpu);
    for (int i = 0; i < 2; ++i) host_free(&all.host[i]);
    ks_context_destroy(all.context);
    return all.differs;
}
