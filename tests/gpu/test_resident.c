/* test_resident.c -- filters and smoothers on arrays that are in the device's memory: the bits of a run
 * from the host, rows with gaps, streams and graphs of the caller's, failures that the data show. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "kalscan/smooth_cuda.h"
#include "models.h"
#include "run_case.h"
#include "scan_device.h"
#include "session.h"
#include "textbook.h"

static const method_case rts = { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_BLELLOCH, 1, 0 };
static const method_case chunked = { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_CHUNKED, 1, 0 };
static const method_case two_filter = { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_LADNER_FISCHER, 1, 0 };
static const method_case chunked_filter = { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_CHUNKED, 1, 0 };
enum { FILTERED = KS_OUT_LOGLIK | KS_OUT_LOGLIK_TERMS | KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV |
                  KS_OUT_FILTERED_VAR,
       SMOOTHED = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_SMOOTHED_VAR |
                  KS_OUT_LAG_ONE_COV };

/** Arrays of the host in the device's memory, rows `gap` numbers further apart; `number` is the model's. */
typedef struct resident {
    const ks_smooth_plan *plan;
    size_t number;
    int64_t T, gap;
    void *owned[32];
    int count;
} resident;

static void *on_device(resident *r, const void *host, size_t number, int64_t block, int64_t rows)
{
    const size_t bytes = (size_t)((block + r->gap) * rows) * number;
    char *wide = zeroed((size_t)((block + r->gap) * rows), number);
    void *device;
    for (int64_t k = 0; host && k < rows; ++k)
        memcpy(wide + (size_t)(k * (block + r->gap)) * number,
               (const char *)host + (size_t)(k * block) * number, (size_t)block * number);
    OK(ks_smooth_cuda_alloc(r->plan, &device, bytes));
    OK(ks_smooth_cuda_upload(r->plan, device, wide, bytes));
    free(wide);
    return r->owned[r->count++] = device;
}

static ks_view view_of(resident *r, ks_view host, int64_t block)
{
    const ks_view none = { NULL, 0, 0 };
    if (!host.data) return none;
    const ks_view view = { on_device(r, host.data, r->number, block, host.step_stride ? r->T : 1),
                           host.step_stride ? block + r->gap : 0, 0 };
    return view;
}

static ks_out out_of(resident *r, ks_out host, size_t number, int64_t block, int64_t rows)
{
    const ks_out none = { NULL, 0, 0 };
    if (!host.data) return none;
    const ks_out out = { on_device(r, NULL, number, block, rows), block + r->gap, 0 };
    return out;
}

/** What the device wrote to where a run of the host writes. */
static void back(const resident *r, ks_out device, ks_out host, size_t number, int64_t block, int64_t rows)
{
    if (!host.data) return;
    const size_t bytes = (size_t)((block + r->gap) * rows) * number;
    char *wide = zeroed(1, bytes);
    OK(ks_smooth_cuda_download(r->plan, wide, device.data, bytes));
    for (int64_t k = 0; k < rows; ++k)
        memcpy((char *)host.data + (size_t)(k * block) * number,
               wide + (size_t)(k * (block + r->gap)) * number, (size_t)block * number);
    free(wide);
}

/** A run with everything on the device, and what it has to come to. */
typedef struct job {
    golden *g;
    ks_precision precision;
    unsigned outputs;
    golden_buffers *host, *got;     /* what a run from the host makes, and this one                   */
    ks_smooth_options options;
    ks_smooth_plan *plan;
    resident r;
    ks_model model;
    ks_view y;
    ks_outputs to;
    char *late_y;                   /* y as it lies on the device                                     */
    size_t y_bytes;
} job;

enum { T = 43, NY = 2 };

static size_t mean_number(const job *j) { return j->precision == KS_F32 ? sizeof(float) : sizeof(double); }
static size_t cov_number(const job *j) { return j->precision == KS_F64 ? sizeof(double) : sizeof(float); }

/** The run from the host. The device is closed again. */
static job planned(const method_case *m, ks_precision precision, int nx, int64_t gap, unsigned flags,
                   int second_device)
{
    job j;
    memset(&j, 0, sizeof j);
    j.g = model_random((model_spec){ 990, T, 1, nx, NY, (ks_prior)(gap > 0), flags });
    j.precision = precision;
    j.outputs = FILTERED | (m->job == KS_JOB_SMOOTH ? (unsigned)SMOOTHED : 0u);
    j.options = options_of(m, precision, j.outputs);
    j.host = run_well(j.g, m, precision, 1, j.outputs, NULL);
    j.got = golden_buffers_new(T, 1, nx, NY, precision, j.outputs);
    j.options.second_device = second_device;
    j.r.gap = gap;
    textbook_smooth(j.g);
    return j;
}

/** Results that have a row for each step. */
enum { PLACES = 8 };

/** Where they stand on the host, and on the device. */
static void places_of(const job *j, const ks_out *host[PLACES], ks_out *device[PLACES], size_t number[PLACES],
                      int64_t block[PLACES])
{
    const ks_outputs *h = golden_outputs(j->got);
    ks_outputs *to = (ks_outputs *)(uintptr_t)&j->to;
    const int64_t n = j->g->nx, nn = n * n;
    const size_t mean = mean_number(j), cov = cov_number(j);
    const struct { const ks_out *host; ks_out *device; size_t number; int64_t block; } all[PLACES] = {
        { &h->filtered_mean, &to->filtered_mean, mean, n },
        { &h->filtered_cov, &to->filtered_cov, cov, nn },
        { &h->filtered_var, &to->filtered_var, cov, n },
        { &h->smoothed_mean, &to->smoothed_mean, mean, n },
        { &h->smoothed_cov, &to->smoothed_cov, cov, nn },
        { &h->smoothed_var, &to->smoothed_var, cov, n },
        { &h->lag_one_cov, &to->lag_one_cov, cov, nn },
        { &h->loglik_terms, &to->loglik_terms, sizeof(double), 1 },
    };
    for (int i = 0; i < PLACES; ++i) {
        host[i] = all[i].host;
        device[i] = all[i].device;
        number[i] = all[i].number;
        block[i] = all[i].block;
    }
}

/** Plan it, and take model, data and room for results to the device. */
static void settle(job *j)
{
    const int nx = j->g->nx;
    const int64_t nn = (int64_t)nx * nx;
    const ks_out *host[PLACES];
    ks_out *device[PLACES];
    size_t number[PLACES];
    int64_t block[PLACES];
    OK(ks_smooth_plan_create(&j->plan, NULL, T, 1, nx, NY, &j->options));
    resident *const r = &j->r;
    r->plan = j->plan;
    r->number = mean_number(j);
    r->T = T;
    const ks_model from = golden_model(j->g, j->precision);
    j->model = from;
    j->model.F = view_of(r, from.F, nn);
    j->model.Q = view_of(r, from.Q, nn);
    j->model.u = view_of(r, from.u, nx);
    j->model.H = view_of(r, from.H, NY * nx);
    j->model.R = view_of(r, from.R, NY * NY);
    j->model.d = view_of(r, from.d, NY);
    j->model.m0 = view_of(r, from.m0, nx);
    j->model.P0 = view_of(r, from.P0, nn);
    j->y = view_of(r, golden_y(j->g, j->precision), NY);
    j->y_bytes = (size_t)((NY + r->gap) * T) * r->number;
    j->late_y = zeroed(1, j->y_bytes);
    OK(ks_smooth_cuda_download(j->plan, j->late_y, j->y.data, j->y_bytes));
    const ks_outputs none = KS_OUTPUTS_INIT;
    j->to = none;
    places_of(j, host, device, number, block);
    for (int i = 0; i < PLACES; ++i) *device[i] = out_of(r, *host[i], number[i], block[i], T);
    OK(ks_smooth_cuda_alloc(j->plan, &j->to.loglik.data, sizeof(double)));
    j->to.loglik.series_stride = j->to.loglik.step_stride = 1;
    r->owned[r->count++] = j->to.loglik.data;
}

static void leave(job *j)
{
    for (int i = 0; i < j->r.count; ++i) ks_smooth_cuda_free(j->plan, j->r.owned[i]);
    ks_smooth_plan_destroy(j->plan);
    free(j->late_y);
}

static void forget(job *j)
{
    golden_buffers_free(j->host);
    golden_buffers_free(j->got);
    golden_free(j->g);
}

/** Wait for the run and look at its results: the bits of the run from the host. */
static void check_results(job *j, ks_gpu_stream *where)
{
    const ks_out *host[PLACES];
    ks_out *device[PLACES];
    size_t number[PLACES];
    int64_t block[PLACES];
    ks_info info = KS_INFO_INIT;
    OK(ks_smooth_cuda_wait(j->plan, &info, where));
    assert_true(info.status == KS_OK && info.backend == KS_BACKEND_CUDA && info.elements >= T && info.threads == 1);
    places_of(j, host, device, number, block);
    for (int i = 0; i < PLACES; ++i) back(&j->r, *device[i], *host[i], number[i], block[i], T);
    OK(ks_smooth_cuda_download(j->plan, golden_outputs(j->got)->loglik.data, j->to.loglik.data, sizeof(double)));
    if (j->r.gap == 0) assert_int_equal(first_different(j->host, j->got, j->outputs), 0);
    assert_true(golden_compare(golden_widen(j->got), &j->g->expected, j->outputs & ~(unsigned)KS_OUT_LOGLIK,
                               golden_norm_of(j->g, j->precision)).error <=
                golden_ordinary_bound(GOLDEN_ELEMENTS, j->precision));
}

/** y is lost, and comes again in the caller's stream only, to be there when the run needs it. */
static void enqueue_late(job *j, ks_gpu_stream *where)
{
    char *const lost = zeroed(1, j->y_bytes);
    memset(lost, 0xff, j->y_bytes);
    OK(ks_smooth_cuda_upload(j->plan, (void *)(uintptr_t)j->y.data, lost, j->y_bytes));
    free(lost);
#ifdef EMULATED
    const long waits = ks_emulated.waits, calls = ks_emulated.calls;
#endif
    OK(ks_gpu_copy_in(j->plan->device->gpu, (void *)(uintptr_t)j->y.data, j->late_y, j->y_bytes, where));
    OK(ks_smooth_cuda_enqueue(j->plan, &j->model, j->y, &j->to, where));
#ifdef EMULATED
    /* Nothing is waited for, nothing allocated. */
    assert_int_equal(ks_emulated.waits, waits);
    assert_int_equal(ks_emulated.calls, calls);
#endif
}

/** Model, data and results on the device: the bits of a run from the host, in the plan's stream and in one of
 *  the caller's, and failures as well. */
static void check_resident(const method_case *m, ks_precision precision, int nx, int64_t gap,
                           unsigned flags, int second_device, int seed)
{
    job j = planned(m, precision, nx, gap, flags, second_device);
    ks_gpu_stream *own;
    use_seed(seed);
    settle(&j);
    OK(ks_gpu_stream_create(j.plan->device->gpu, &own));
    OK(ks_smooth_cuda_enqueue(j.plan, &j.model, j.y, &j.to, NULL));
    check_results(&j, NULL);
    enqueue_late(&j, own);
    check_results(&j, own);
    check_idle();
    const double infinite = (double)INFINITY;
    const float narrow = (float)infinite;
    OK(ks_smooth_cuda_upload(j.plan, (char *)(uintptr_t)j.y.data + (size_t)(17 * (NY + gap) + 1) * j.r.number,
                             precision == KS_F32 ? (const void *)&narrow : (const void *)&infinite,
                             j.r.number));
    ks_info info = KS_INFO_INIT;
    OK(ks_smooth_cuda_enqueue(j.plan, &j.model, j.y, &j.to, NULL));
    assert_int_equal(ks_smooth_cuda_wait(j.plan, &info, NULL), KS_EMODEL);
    assert_true(info.status == KS_EMODEL && info.step == 17 && info.row == 1);
    ks_gpu_stream_destroy(j.plan->device->gpu, own);
    leave(&j);
    check_clean();
    forget(&j);
}

static void arrays_on_the_device(void **state)
{
    (void)state;
    const method_case *const methods[] = { &chunked, &chunked_filter, &rts };
    for (int i = 0; i < 3; ++i)
        for (int p = 0; p < 2 + takes_mixed(methods[i]); ++p)
            for (int64_t gap = 0; gap < 6; gap += 5) {
                check_resident(methods[i], (ks_precision)p, 4, gap, VARIES_ALL, -1, 4);
                check_resident(methods[i], (ks_precision)p, 3, gap, MISSING, -1, 3);
            }
    ks_smooth_options o = options_of(&chunked, KS_F64, KS_OUT_LOGLIK);
    const ks_model model = KS_MODEL_INIT;
    const ks_view y = { NULL, 0, 0 };
    const ks_outputs to = KS_OUTPUTS_INIT;
    ks_smooth_plan *plan;
    use_seed(1);
    OK(ks_smooth_plan_create(&plan, NULL, 5, 2, 2, 1, &o));
    assert_int_equal(ks_smooth_cuda_enqueue(plan, &model, y, &to, NULL), KS_EINVAL);
    assert_int_equal(ks_smooth_cuda_enqueue(NULL, &model, y, &to, NULL), KS_EINVAL);
    assert_int_equal(ks_smooth_cuda_wait(NULL, NULL, NULL), KS_EINVAL);
    ks_smooth_plan_destroy(plan);
    check_clean();
}

/** Where the machine has one device, that one twice. */
static int another_device(void)
{
#ifdef EMULATED
    return 1;
#else
    return 0;
#endif
}

/** Model and data go from the first device to the second one, whatever their rows look like and in whichever
 *  order streams run: the bits of one device. */
static void arrays_for_two_devices(void **state)
{
    (void)state;
    for (int seed = 0; seed < ORDERS; ++seed)
        for (int64_t gap = 0; gap < 6; gap += 5) {
            const int second = seed % 3 == 2 ? 0 : another_device();
            check_resident(&two_filter, (ks_precision)(seed % 2), 4, gap, VARIES_ALL, second, seed);
            check_resident(&two_filter, (ks_precision)(seed % 2), 3, gap, MISSING, second, seed);
        }
}

/** Plans side by side, each in a stream of the caller's, waited for in another order than they came. */
static void plans_side_by_side(void **state)
{
    (void)state;
    enum { JOBS = 4 };
    const method_case *const methods[JOBS] = { &rts, &chunked, &two_filter, &chunked_filter };
    for (int seed = 0; seed < ORDERS; ++seed) {
        job j[JOBS];
        ks_gpu_stream *own[JOBS];
        for (int i = 0; i < JOBS; ++i)
            j[i] = planned(methods[i], (ks_precision)((seed + i) % 2), 3, 0, i % 2 ? MISSING : VARIES_ALL,
                           methods[i] == &two_filter ? another_device() : -1);
        use_seed(seed);
        for (int i = 0; i < JOBS; ++i) settle(&j[i]);
        for (int i = 0; i < JOBS; ++i) OK(ks_gpu_stream_create(j[i].plan->device->gpu, &own[i]));
        for (int i = 0; i < JOBS; ++i) enqueue_late(&j[i], own[i]);
        for (int i = JOBS - 1; i >= 0; --i) check_results(&j[i], own[i]);
        for (int i = 0; i < JOBS; ++i) {
            ks_gpu_stream_destroy(j[i].plan->device->gpu, own[i]);
            leave(&j[i]);
        }
        check_clean();
        for (int i = 0; i < JOBS; ++i) forget(&j[i]);
    }
}

/** A run goes into the graph of a stream that is being captured. */
static void runs_in_graphs(void **state)
{
    (void)state;
    const method_case *const methods[] = { &rts, &chunked, &chunked_filter, &two_filter };
    for (int i = 0; i < 4; ++i)
        for (int seed = 0; seed < ORDERS; ++seed) {
            job j = planned(methods[i], (ks_precision)(seed % 2), 3, 0, VARIES_ALL, -1);
            ks_gpu_stream *own;
            ks_gpu_graph *graph;
            use_seed(seed);
            settle(&j);
            ks_gpu *const gpu_of = j.plan->device->gpu;
            OK(ks_gpu_stream_create(gpu_of, &own));
            OK(ks_gpu_capture_begin(gpu_of, own));
            OK(ks_smooth_cuda_enqueue(j.plan, &j.model, j.y, &j.to, own));
            OK(ks_gpu_capture_end(gpu_of, &graph, own));
            for (int again = 0; again < 2; ++again) {
                OK(ks_gpu_fill(gpu_of, (void *)(uintptr_t)j.y.data, 0xff, j.y_bytes, own));
                OK(ks_gpu_copy_in(gpu_of, (void *)(uintptr_t)j.y.data, j.late_y, j.y_bytes, own));
                OK(ks_gpu_graph_launch(gpu_of, graph, own));
                check_results(&j, own);
            }
            ks_gpu_graph_destroy(gpu_of, graph);
            ks_gpu_stream_destroy(gpu_of, own);
            leave(&j);
            check_clean();
            forget(&j);
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_on_the_device),
        cmocka_unit_test(arrays_for_two_devices),
        cmocka_unit_test(plans_side_by_side),
        cmocka_unit_test(runs_in_graphs),
    };
    only_tests(argc, argv, tests);
    if (no_device()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
