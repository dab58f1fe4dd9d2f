/* one_run.c -- filters and smoothers on the first device a case at a time: for a profiler, which looks at a single run, and to
 * compare ways that plans do not choose.
 *
 *     one_run filter|smooth METHOD SCAN f64|f32|mixed T NX NY [RUNS [loads|pieces|bulk|teams [WINDOW]]]
 *
 * METHOD and SCAN as in the command's options. The model varies at every step and is made on the device, see smooth_series.h.
 * One run without a graph, or the median of RUNS times ten by a graph, in microseconds. The last arguments are who brings the
 * rows of chunks, see chunk_ring.h, and how many steps at once where that is not what there is room for. Exit code 77
 * without a device, 2 where an argument is none of these. */
#include "smooth_series.h"

static int number_of(const char *name, const char *(*name_of)(int), int count)
{
    for (int i = 0; i < count; ++i)
        if (!strcmp(name, name_of(i))) return i;
    fprintf(stderr, "one_run: %s is not known\n", name);
    exit(2);
}

static const char *job_name(int i) { return i == KS_JOB_FILTER ? "filter" : "smooth"; }
static const char *method_name(int i) { return ks_method_name((ks_method)i); }
static const char *scan_name(int i) { return ks_scan_name((ks_scan_algorithm)i); }
static const char *number_name(int i) { return i == KS_F64 ? "f64" : i == KS_F32 ? "f32" : "mixed"; }
/* `teams`: as rows come to these, which keep all matrices in shared memory. */
enum { TEAMS = 3, FILLS };
static const char *fill_name(int i)
{
    static const char *const names[FILLS] = { "loads", "pieces", "bulk", "teams" };
    return names[i];
}

static int show(const job *j, ks_status status, const char *what, double us)
{
    printf("%s %s %s %s T = %lld (%d, %d): ", job_name((int)j->job), ks_method_name(j->method), ks_scan_name(j->scan),
           precision_name(j), (long long)j->T, j->nx, j->ny);
    if (status != KS_OK) printf("%s\n", ks_strerror(status));
    else if (us > 0) printf("%s %.1f us\n", what, us);
    else puts(what);
    return status != KS_OK;
}

static ks_status timed(ks_scan_device *d, const ks_smooth_plan *plan, int runs, double *us)
{
    ks_gpu_event *event[2] = { NULL };
    double ns[1000];
    ks_status status = KS_OK;
    for (int i = 0; i < 2 && status == KS_OK; ++i) status = ks_gpu_event_create(d->gpu, &event[i]);
    if (status == KS_OK) status = ks_gpu_capture_begin(d->gpu, d->stream);
    if (status == KS_OK) {
        status = ks_scan_device_enqueue(d, plan, KS_RUN_WHOLE);
        const ks_status ended = ks_gpu_capture_end(d->gpu, &d->part[KS_RUN_WHOLE], d->stream);
        if (status == KS_OK) status = ended;
    }
    for (int i = 0; i < runs && status == KS_OK; ++i) status = again(d, plan, event, 10, &ns[i]);
    qsort(ns, (size_t)runs, sizeof *ns, by_value);
    *us = ns[runs / 2] * 1e-3;
    for (int i = 0; i < 2; ++i)
        if (event[i]) ks_gpu_event_destroy(d->gpu, event[i]);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 8) {
        fputs("usage: one_run filter|smooth METHOD SCAN f64|f32|mixed T NX NY [RUNS [loads|pieces|bulk|teams [WINDOW]]]\n", stderr);
        return 2;
    }
    const job j = { (ks_job)number_of(argv[1], job_name, 2), (ks_method)number_of(argv[2], method_name, KS_METHOD_BLOCKTRI + 1),
                    (ks_scan_algorithm)number_of(argv[3], scan_name, KS_SCAN_CHUNKED + 1),
                    (ks_precision)number_of(argv[4], number_name, 3), (int64_t)atof(argv[5]), atoi(argv[6]), atoi(argv[7]) };
    int runs = argc > 8 ? atoi(argv[8]) : 1;
    runs = runs > 1000 ? 1000 : runs;
    const int fill = argc > 9 ? number_of(argv[9], fill_name, FILLS) : -1;
    ks_smooth_options o = KS_SMOOTH_OPTIONS_INIT;
    ks_smooth_plan *plan;
    o.job = j.job;
    o.method = j.method;
    o.scan = j.scan;
    o.precision = j.precision;
    o.backend = KS_BACKEND_CUDA;
    o.outputs = KS_OUT_LOGLIK | (j.job == KS_JOB_SMOOTH ? KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV
                                                        : KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV);
    ks_status status = ks_smooth_plan_create(&plan, NULL, j.T, 1, j.nx, j.ny, &o);
    if (status == KS_ENODEV) return 77;
    if (status != KS_OK) return show(&j, status, "", 0);
    ks_scan_device *d = plan->device;
    double us = 0;
    status = device_make(d, &j, 0);
    d->ring_window = argc > 10 ? atoi(argv[10]) : 0;
    if (status == KS_OK && (fill == TEAMS || fill == KS_FILL_BULK)) status = ks_chunks_by_columns(d, plan, 0);
    if (status == KS_OK && fill >= 0 && fill < TEAMS) status = ks_chunks_fill(d, plan, (ks_fill)fill);
    if (status == KS_OK && runs > 1) status = timed(d, plan, runs, &us);
    else if (status == KS_OK) status = ks_scan_device_enqueue(d, plan, KS_RUN_WHOLE);
    if (status == KS_OK) status = ks_scan_device_report(d, d->stream);
    const int failed = show(&j, status, runs > 1 ? fill >= 0 ? fill_name(fill) : "as planned" : "run", us);
    ks_smooth_plan_destroy(plan);
    return failed;
}
