/* test_resident.c -- filters and smoothers on arrays that are in the device's memory: the bits of a run
 * from the host, rows with gaps, failures that the data show. */
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
#include "session.h"
#include "textbook.h"

static const method_case rts = { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_BLELLOCH, 1, 0 };
static const method_case chunked = { KS_JOB_SMOOTH, KS_METHOD_SCAN_RTS, KS_SCAN_CHUNKED, 1, 0 };
static const method_case two_filter = { KS_JOB_SMOOTH, KS_METHOD_SCAN_TWO_FILTER, KS_SCAN_LADNER_FISCHER, 1, 0 };
static const method_case chunked_filter = { KS_JOB_FILTER, KS_METHOD_SCAN, KS_SCAN_CHUNKED, 1, 0 };
enum { FILTERED = KS_OUT_LOGLIK | KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV | KS_OUT_FILTERED_VAR,
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

/** Model, data and results on the device: the bits of a run from the host, twice, and failures as well. */
static void check_resident(const method_case *m, ks_precision precision, int nx, int64_t gap,
                           unsigned flags, int second_device, int seed)
{
    enum { T = 43, NY = 2 };
    golden *g = model_random((model_spec){ 990, T, 1, nx, NY, (ks_prior)(gap > 0), flags });
    const unsigned outputs = (FILTERED | (m->job == KS_JOB_SMOOTH ? (unsigned)SMOOTHED : 0u)) &
                             ~(unsigned)(KS_OUT_LOGLIK);
    ks_smooth_options o = options_of(m, precision, outputs | KS_OUT_LOGLIK);
    const int64_t nn = (int64_t)nx * nx;
    const size_t mean = precision == KS_F32 ? sizeof(float) : sizeof(double);
    const size_t cov = precision == KS_F64 ? sizeof(double) : sizeof(float);
    golden_buffers *host = run_well(g, m, precision, 1, o.outputs, NULL);
    golden_buffers *got = golden_buffers_new(T, 1, nx, NY, precision, o.outputs);
    ks_smooth_plan *plan;
    use_seed(seed);
    o.second_device = second_device;
    OK(ks_smooth_plan_create(&plan, NULL, T, 1, nx, NY, &o));
    resident r = { plan, mean, T, gap, { NULL }, 0 };
    const ks_model from = golden_model(g, precision);
    ks_model model = from;
    model.F = view_of(&r, from.F, nn);
    model.Q = view_of(&r, from.Q, nn);
    model.u = view_of(&r, from.u, nx);
    model.H = view_of(&r, from.H, NY * nx);
    model.R = view_of(&r, from.R, NY * NY);
    model.d = view_of(&r, from.d, NY);
    model.m0 = view_of(&r, from.m0, nx);
    model.P0 = view_of(&r, from.P0, nn);
    const ks_view y = view_of(&r, golden_y(g, precision), NY);
    const ks_outputs *h = golden_outputs(got);
    const struct { const ks_out *host; size_t at, number; int64_t block; } all[] = {
        { &h->filtered_mean, offsetof(ks_outputs, filtered_mean), mean, nx },
        { &h->filtered_cov, offsetof(ks_outputs, filtered_cov), cov, nn },
        { &h->filtered_var, offsetof(ks_outputs, filtered_var), cov, nx },
        { &h->smoothed_mean, offsetof(ks_outputs, smoothed_mean), mean, nx },
        { &h->smoothed_cov, offsetof(ks_outputs, smoothed_cov), cov, nn },
        { &h->smoothed_var, offsetof(ks_outputs, smoothed_var), cov, nx },
        { &h->lag_one_cov, offsetof(ks_outputs, lag_one_cov), cov, nn },
    };
    ks_outputs to = KS_OUTPUTS_INIT;
    for (int i = 0; i < 7; ++i)
        *(ks_out *)(void *)((char *)&to + all[i].at) = out_of(&r, *all[i].host, all[i].number, all[i].block, T);
    void *loglik;
    OK(ks_smooth_cuda_alloc(plan, &loglik, sizeof(double)));
    to.loglik = (ks_out){ loglik, 1, 1 };
    for (int again = 0; again < 2; ++again) {
        ks_info info = KS_INFO_INIT;
        OK(ks_smooth_cuda_enqueue(plan, &model, y, &to, NULL));
        OK(ks_smooth_cuda_wait(plan, &info, NULL));
        assert_true(info.status == KS_OK && info.backend == KS_BACKEND_CUDA && info.elements >= T);
        for (int i = 0; i < 7; ++i)
            back(&r, *(ks_out *)(void *)((char *)&to + all[i].at), *all[i].host, all[i].number,
                 all[i].block, T);
        OK(ks_smooth_cuda_download(plan, h->loglik.data, loglik, sizeof(double)));
        if (gap == 0) assert_int_equal(first_different(host, got, o.outputs), 0);
        textbook_smooth(g);
        assert_true(golden_compare(golden_widen(got), &g->expected, o.outputs,
                                   golden_norm_of(g, precision)).error <=
                    (precision == KS_F64 ? 1e-9 : 5e-3));
    }
    const double infinite = (double)INFINITY;
    const float narrow = (float)infinite;
    OK(ks_smooth_cuda_upload(plan, (char *)(uintptr_t)y.data + (size_t)(17 * (NY + gap) + 1) * r.number,
                             precision == KS_F32 ? (const void *)&narrow : (const void *)&infinite,
                             r.number));
    ks_info info = KS_INFO_INIT;
    OK(ks_smooth_cuda_enqueue(plan, &model, y, &to, NULL));
    assert_int_equal(ks_smooth_cuda_wait(plan, &info, NULL), KS_EMODEL);
    assert_true(info.status == KS_EMODEL && info.step == 17 && info.row == 1);
    for (int i = 0; i < r.count; ++i) ks_smooth_cuda_free(plan, r.owned[i]);
    ks_smooth_cuda_free(plan, loglik);
    ks_smooth_plan_destroy(plan);
    check_clean();
    golden_buffers_free(host);
    golden_buffers_free(got);
    golden_free(g);
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
    for (int seed = 1; seed <= 6; ++seed)
        for (int64_t gap = 0; gap < 6; gap += 5) {
            const int second = seed % 3 == 2 ? 0 : another_device();
            check_resident(&two_filter, (ks_precision)(seed % 2), 4, gap, VARIES_ALL, second, seed);
            check_resident(&two_filter, (ks_precision)(seed % 2), 3, gap, MISSING, second, seed);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_on_the_device),
        cmocka_unit_test(arrays_for_two_devices),
    };
    if (no_device()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
