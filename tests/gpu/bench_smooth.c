/* bench_smooth.c -- filters and smoothers by scans on the first device, as lines of JSON: the device's own
 * work on arrays that are there, and the whole call with arrays of the host. Models vary at every step, but for
 * the cases `lti-...`.
 * `floor_ns` is what touching model and results once would take at the speed of a copy inside the device,
 * measured here first. Models in chunks are timed with rows that come in every way, `dev-pieces` and `dev-bulk`
 * beside `device`, whose threads load them; `dev-bulk-1` are windows of one step for teams, also where these
 * leave a multiprocessor fewer blocks. `dev-together` are scans of stored elements in one cooperative launch each,
 * beside `device`, one launch for each round. After the seconds of its first argument (60) no other
 * case begins; the second one bounds T. Exit code 77 without a device. */
#include "smooth_job.h"

/* How results are called: of a model that varies at every step, and of one that does not. */
static const char *const device_name[] = { "device", "lti-device" };
static const char *const whole_name[] = { "end-to-end", "lti-whole" };
static const char *const fill_name[][3] = { { "device", "dev-pieces", "dev-bulk" },
                                            { "lti-device", "lti-pieces", "lti-bulk" } };

static const char *const least_name[] = { "dev-bulk-1", "lti-bulk-1" };

/* The model's first rows, at every step. */
static void hold(arrays *a, const job *j)
{
    ks_view *const views[] = { &a->model.F, &a->model.Q, &a->model.u, &a->model.H, &a->model.R, &a->model.d };
    for (int i = 0; i < 6; ++i) {
        const double number = j->precision == KS_F32 ? sizeof(float) : sizeof(double);
        a->bytes -= (double)(j->T - 1) * (double)views[i]->step_stride * number;
        views[i]->step_stride = 0;
    }
}

/* The device's own work with rows that come in another way, see chunk_ring.h: for threads both ways, for teams bulk
 * copies, as there is room beside as many blocks as without, and windows of one step whatever that costs. */
static ks_status time_fills(const job *j, const ks_smooth_plan *plan, const arrays *a, void *work,
                            ks_gpu_event *const event[2], double floor_ns, int held)
{
    static const char *const names[] = { "loads", "pieces", "bulk" };
    ks_scan_device *d = plan->device;
    double ns[REPEATS];
    ks_status status = KS_OK;
    if (!d->fast_absorb) return KS_OK;
    for (int way = 0; way < 2 && status == KS_OK; ++way) {
        const ks_fill fill = d->team || way ? KS_FILL_BULK : KS_FILL_PIECES;
        ks_ring ring;
        char more[160];
        d->ring_window = d->team && way;
        status = ks_chunks_fill(d, plan, fill);
        if (status == KS_OK) status = ks_smooth_run(plan, &a->model, a->y, &a->outputs, work, NULL);
        for (int i = 0; i < REPEATS && status == KS_OK; ++i) status = again(d, plan, event, &ns[i]);
        ks_chunks_ring(d, 0, d->beside_absorb, &ring);
        snprintf(more, sizeof more, ", \"rows\": \"%s\", \"window\": %d, \"stages\": %d, \"ring_bytes\": %d",
                 names[ring.fill], ring.window, ring.stages, ring.bytes);
        if (status == KS_OK)
            print(j, d->team && way ? least_name[held] : fill_name[held][fill], ns, REPEATS, floor_ns, more);
    }
    d->ring_window = 0;
    const ks_status back = ks_chunks_fill(d, plan, KS_FILL_NONE);
    return status != KS_OK ? status : back;
}

/* The same with scans of stored elements in one cooperative launch each. */
static ks_status time_together(const job *j, const ks_smooth_plan *plan, const arrays *a, void *work,
                               ks_gpu_event *const event[2], double floor_ns)
{
    ks_scan_device *d = plan->device;
    double ns[REPEATS];
    if (d->reruns) return KS_OK;
    ks_status status = ks_scan_device_together(d, plan, 1);
    if (status == KS_OK) status = ks_smooth_run(plan, &a->model, a->y, &a->outputs, work, NULL);
    for (int i = 0; i < REPEATS && status == KS_OK; ++i) status = again(d, plan, event, &ns[i]);
    if (status == KS_OK) print(j, "dev-together", ns, REPEATS, floor_ns, "");
    const ks_status back = ks_scan_device_together(d, plan, 0);
    return status != KS_OK ? status : back;
}

static ks_status time_plan(const job *j, const ks_smooth_plan *plan, const arrays *a,
                           double copy_bytes_per_ns, int held)
{
    ks_scan_device *d = plan->device;
    ks_gpu_event *event[2] = { NULL };
    double whole[REPEATS], device[REPEATS];
    const double floor_ns = a->bytes / copy_bytes_per_ns;
    void *work = NULL;
    if (posix_memalign(&work, 64, ks_smooth_workspace_bytes(plan) + 64) != 0) return KS_ENOMEM;
    ks_status status = ks_smooth_run(plan, &a->model, a->y, &a->outputs, work, NULL);
    for (int i = 0; i < 2 && status == KS_OK; ++i) status = ks_gpu_event_create(d->gpu, &event[i]);
    for (int i = 0; i < REPEATS && status == KS_OK; ++i) status = again(d, plan, event, &device[i]);
    for (int i = 0; i < REPEATS / 3 && status == KS_OK; ++i) {
        const double start = now();
        status = ks_smooth_run(plan, &a->model, a->y, &a->outputs, work, NULL);
        whole[i] = (now() - start) * 1e9;
    }
    if (status == KS_OK) {
        print(j, device_name[held], device, REPEATS, floor_ns, "");
        print(j, whole_name[held], whole, REPEATS / 3, floor_ns, "");
        status = time_fills(j, plan, a, work, event, floor_ns, held);
        if (status == KS_OK && !held) status = time_together(j, plan, a, work, event, floor_ns);
    }
    for (int i = 0; i < 2; ++i)
        if (event[i]) ks_gpu_event_destroy(d->gpu, event[i]);
    free(work);
    return status;
}

static void run(const job *j, double copy_bytes_per_ns, int held)
{
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
    ks_status status = ks_smooth_plan_create(&plan, NULL, j->T, 1, j->nx, j->ny, &o);
    if (status == KS_OK) {
        arrays a = make(j, o.outputs);
        if (held) hold(&a, j);
        status = time_plan(j, plan, &a, copy_bytes_per_ns, held);
        ks_smooth_plan_destroy(plan);
        for (int i = 0; i < a.count; ++i) free(a.owned[i]);
    }
    if (status != KS_OK)
        printf("{\"job\": \"%s\", \"method\": \"%s\", \"scan\": \"%s\", \"precision\": \"%s\", \"T\": %lld, "
               "\"nx\": %d, \"status\": \"%s\"}\n", j->job == KS_JOB_SMOOTH ? "smooth" : "filter",
               ks_method_name(j->method), ks_scan_name(j->scan), precision_name(j), (long long)j->T, j->nx,
               ks_status_name(status));
}

int main(int argc, char **argv)
{
    static const struct { ks_job job; ks_method method; ks_scan_algorithm scan; } methods[] = {
        { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_CHUNKED },
        { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_CHUNKED },
        { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_LADNER_FISCHER },
        { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_BLELLOCH },
        { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_SENGUPTA },
        { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_HILLIS_STEELE },
        { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_LADNER_FISCHER },
        { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_LADNER_FISCHER },
    };
    static const int sizes[][2] = { { 4, 2 }, { 2, 1 }, { 6, 3 }, { 8, 4 }, { 16, 8 }, { 32, 16 } };
    const double seconds = argc > 1 ? atof(argv[1]) : 60, begun = now();
    const double longest = argc > 2 ? atof(argv[2]) : 1e7;
    ks_gpu *gpu;
    if (ks_gpu_open(&gpu, NULL, 0) != KS_OK) {
        puts("no device");
        return 77;
    }
    const double speed = copy_speed(gpu);
    ks_gpu_close(gpu);
    int cases = 0;
    /* What is asked for first comes first: (4, 2) by all methods, then the other sizes in chunks. */
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s)
        for (size_t m = 0; m < sizeof methods / sizeof methods[0]; ++m)
            for (double T = 1e3; T <= longest && T <= (m < 2 && s == 0 ? 1e7 : 1e6); T *= 10)
                for (int p = 0; p < (methods[m].scan == KS_SCAN_CHUNKED ? 3 : 2); ++p) {
                    const job j = { methods[m].job, methods[m].method, methods[m].scan,
                                    (ks_precision)p, (int64_t)T, sizes[s][0], sizes[s][1] };
                    const double bytes = T * 8 * 4 * sizes[s][0] * sizes[s][0];
                    if (cases++ > 0 && now() - begun > seconds) return 0;
                    if (bytes < 4e9 && (s == 0 || m < 3)) run(&j, speed, 0);
                    if (T == 1e6 && s < 3 && m < 2) run(&j, speed, 1);
                }
    return 0;
}
