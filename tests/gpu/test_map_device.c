/* test_map_device.c -- the MAP route on a device: sizes at which its segments are combined over several levels,
 * teams of every size, blocks for nested dissection, arrays that are in the device's memory, and what its
 * memory is said to be. What it refuses and agrees with, the CPU's tests show on a device too. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "kalscan/smooth_cuda.h"
#include "map_case.h"
#include "models.h"
#include "run_case.h"
#include "scan_device.h"
#include "seed_run.h"
#include "textbook.h"

/* One segment, and so many that there are two and three levels; both kinds of team of a warp; teams of a
 * block, and, with 41 states, such whose memory is the launch's. */
static const size_case cases[] = {
    { 1, 1, 2, 1, KS_PRIOR_X1, 0, KS_BLOCKTRI_AUTO },
    { 8, 2, 1, 3, KS_PRIOR_X0, MISSING, KS_BLOCKTRI_AUTO },
    { 9, 1, 3, 1, KS_PRIOR_X0, VARIES_ALL, KS_BLOCKTRI_PARTITION },
    { 19, 1, 3, 2, KS_PRIOR_X1, VARIES_ALL | MISSING, KS_BLOCKTRI_AUTO },
    { 150, 1, 3, 3, KS_PRIOR_X0, MISSING, KS_BLOCKTRI_AUTO },
    { 17, 1, 1, 1, KS_PRIOR_X1, VARIES_ALL, KS_BLOCKTRI_AUTO },
    { 65, 1, 2, 2, KS_PRIOR_X1, VARIES_ALL | MISSING, KS_BLOCKTRI_AUTO },
    { 545, 1, 2, 1, KS_PRIOR_X0, HAS_OFFSETS | MISSING, KS_BLOCKTRI_AUTO },
    { 30, 1, 11, 4, KS_PRIOR_X0, VARIES_ALL, KS_BLOCKTRI_AUTO },
    { 18, 1, 5, 12, KS_PRIOR_X1, MISSING, KS_BLOCKTRI_AUTO },
    { 5, 1, 3, 2, KS_PRIOR_X1, VARIES_ALL | MISSING, KS_BLOCKTRI_NESTED_DISSECTION },
    { 1, 1, 2, 1, KS_PRIOR_X0, 0, KS_BLOCKTRI_NESTED_DISSECTION },
    { 4, 1, 18, 3, KS_PRIOR_X0, VARIES_ALL, KS_BLOCKTRI_AUTO },
    { 3, 1, 17, 2, KS_PRIOR_X1, MISSING, KS_BLOCKTRI_AUTO },
};
enum { CASES = sizeof cases / sizeof cases[0] };

static golden_buffers *run_with(const golden *g, const ks_model *model, const ks_smooth_options *o, int seed)
{
    ks_smooth_plan *plan;
    use_seed(seed);
    golden_buffers *b = golden_buffers_new(g->T, g->B, g->nx, g->ny, o->precision, o->outputs);
    OK(ks_smooth_plan_create(&plan, NULL, g->T, g->B, g->nx, g->ny, o));
    void *work = workspace(plan);
    ks_info info = KS_INFO_INIT;
    OK(ks_smooth_run(plan, model, golden_y(g, o->precision), golden_outputs(b), work, &info));
    assert_true(info.backend == KS_BACKEND_CUDA && info.method == KS_METHOD_BLOCKTRI);
    assert_int_equal(info.order, ks_smooth_plan_order(plan));
    free(work);
    ks_smooth_plan_destroy(plan);
    check_clean();
    return b;
}

static golden_buffers *run_map(const golden *g, const ks_smooth_options *o, int seed)
{
    const ks_model model = golden_model(g, o->precision);
    return run_with(g, &model, o, seed);
}

/** Every size gives the slow reference's results, and the same bits in whatever order threads run. */
static void sizes_and_seeds(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; ++c)
        for (int p = 0; p < 2; ++p) {
            const size_case *s = &cases[c];
            const method_case m = map_by((ks_blocktri_order)s->order);
            golden *g = model_random((model_spec){ 1200 + (uint64_t)c, s->T, s->B, s->nx, s->ny,
                                                   s->prior, s->flags });
            unsigned outputs = outputs_there(g, &m);
            if (c % 3 == 2) outputs &= ~(unsigned)KS_OUT_SMOOTHED_COV;
            if (c % 3 == 1) outputs &= ~(unsigned)(KS_OUT_SMOOTHED_MEAN | KS_OUT_LAG_ONE_COV);
            const ks_smooth_options o = options_of(&m, (ks_precision)p, outputs);
            textbook_smooth(g);
            golden_buffers *first = run_map(g, &o, 1);
            const double error = golden_compare(golden_widen(first), &g->expected, outputs,
                                                golden_norm_of(g, (ks_precision)p)).error;
            if (!(error <= golden_ordinary_bound(GOLDEN_MAP, (ks_precision)p)))
                fail_msg("case %d, precision %d: off by %.3g", c, p, error);
            for (int seed = 2; seed <= (s->T > 100 || s->nx > 8 ? 2 - p : 3); ++seed) {
                golden_buffers *b = run_map(g, &o, seed);
                assert_int_equal(first_different(first, b, outputs), 0);
                golden_buffers_free(b);
            }
            golden_buffers_free(first);
            golden_free(g);
        }
}

/** A view of the same row, of so many doubles, at each of T steps as if they were others. */
static void repeat(ks_view *view, int64_t T, int64_t numbers)
{
    double *const rows = malloc((size_t)(T * numbers) * sizeof *rows);
    assert_non_null(rows);
    for (int64_t k = 0; k < T; ++k) memcpy(rows + k * numbers, view->data, (size_t)numbers * sizeof *rows);
    view->data = rows;
    view->step_stride = numbers;
}

/** What steps of a constant model share is what each would make by itself: a model whose rows are given
 *  step by step has the same results, all of them or only the transition's or the observation's. Where a
 *  thread is alone the shared terms come from a team, which may round otherwise, and nvcc may contract
 *  products and sums of one kernel otherwise than of the next. */
static void shared_terms(void **state)
{
    (void)state;
    static const size_case all[] = {
        { 21, 1, 2, 1, KS_PRIOR_X0, 0, KS_BLOCKTRI_AUTO },    { 70, 1, 3, 2, KS_PRIOR_X1, MISSING, KS_BLOCKTRI_AUTO },
        { 33, 1, 5, 2, KS_PRIOR_X0, MISSING, KS_BLOCKTRI_AUTO }, { 12, 1, 11, 3, KS_PRIOR_X1, 0, KS_BLOCKTRI_AUTO },
        { 5, 1, 18, 2, KS_PRIOR_X1, MISSING, KS_BLOCKTRI_AUTO }, { 6, 1, 18, 4, KS_PRIOR_X0, 0, KS_BLOCKTRI_AUTO },
        { 1, 1, 5, 1, KS_PRIOR_X0, 0, KS_BLOCKTRI_AUTO },
    };
    for (size_t c = 0; c < sizeof all / sizeof all[0]; ++c) {
        const size_case *s = &all[c];
        const method_case m = map_by((ks_blocktri_order)s->order);
        golden *g = model_random((model_spec){ 1300 + c, s->T, 1, s->nx, s->ny, s->prior, s->flags });
        /* Every other R is diagonal, which teams of a block make use of. */
        for (int i = 0; c % 2 == 1 && i < s->ny * s->ny; ++i)
            if (i % (s->ny + 1) != 0) g->R.f64[i] = 0;
        const ks_smooth_options o = options_of(&m, KS_F64, outputs_there(g, &m));
        golden_buffers *shared = run_map(g, &o, 1);
        const int64_t n = s->nx, ny = s->ny;
        for (int which = 1; which < 4; ++which) {
            ks_model model = golden_model(g, KS_F64);
            ks_view *const views[] = { &model.F, &model.Q, &model.H, &model.R };
            const int64_t numbers[] = { n * n, n * n, ny * n, ny * ny };
            for (int i = 0; i < 4; ++i)
                if (which & (i < 2 ? 1 : 2)) repeat(views[i], s->T, numbers[i]);
            golden_buffers *own = run_with(g, &model, &o, 2);
#ifdef EMULATED
            if (s->nx > 3) assert_int_equal(first_different(shared, own, o.outputs), 0);
#endif
            const double error = golden_compare(golden_widen(own), golden_widen(shared), o.outputs,
                                                golden_norm_of(g, KS_F64)).error;
            if (!(error <= 1e-12)) fail_msg("case %d, rows %d: off by %.3g", (int)c, which, error);
            golden_buffers_free(own);
            for (int i = 0; i < 4; ++i)
                if (which & (i < 2 ? 1 : 2)) free((void *)(uintptr_t)views[i]->data);
        }
        golden_buffers_free(shared);
        golden_free(g);
    }
}

static golden *slow_level(int64_t T, double q);

/** What is refused as ill-conditioned is told the error that the CPU tells, which has the same probes. */
static void same_loss(void **state)
{
    (void)state;
    for (int i = 0; i < 3; ++i) {
        const method_case m = map_by(i == 1 ? KS_BLOCKTRI_NESTED_DISSECTION : KS_BLOCKTRI_AUTO);
        golden *g = slow_level(i == 2 ? 260 : 12, i == 2 ? 1e-13 : 1e-11);
        const ks_model model = golden_model(g, KS_F64);
        double error[2];
        for (int cpu = 0; cpu < 2; ++cpu) {
            ks_smooth_options o = options_of(&m, KS_F64, outputs_made(&m));
            golden_buffers *b = NULL;
            ks_info info = KS_INFO_INIT;
            if (cpu) o.backend = KS_BACKEND_CPU;
            assert_int_equal(run_model(g, &model, golden_y(g, KS_F64), &o, 1, &b, &info), KS_EREFUSED);
            assert_int_equal(info.fault, KS_FAULT_ILL_CONDITIONED);
            error[cpu] = info.value;
            golden_buffers_free(b);
        }
        assert_true(error[0] > 1e-6 && fabs(error[0] / error[1] - 1) < 1e-3);
        golden_free(g);
    }
}

/** What a plan takes, and what it is when its back end may be chosen. */
static void choices(void **state)
{
    (void)state;
    ks_smooth_options o = KS_SMOOTH_OPTIONS_INIT;
    ks_smooth_plan *plan;
    o.method = KS_METHOD_BLOCKTRI;
    use_seed(1);
    static const struct { ks_blocktri_order order; int nx; ks_status status; ks_blocktri_order made; } all[] = {
        { KS_BLOCKTRI_AUTO, 16, KS_OK, KS_BLOCKTRI_PARTITION },
        { KS_BLOCKTRI_AUTO, 17, KS_OK, KS_BLOCKTRI_NESTED_DISSECTION },
        { KS_BLOCKTRI_NESTED_DISSECTION, 2, KS_OK, KS_BLOCKTRI_NESTED_DISSECTION },
        { KS_BLOCKTRI_PARTITION, 17, KS_EINVAL, KS_BLOCKTRI_AUTO },
        { KS_BLOCKTRI_SEQUENTIAL, 2, KS_EINVAL, KS_BLOCKTRI_AUTO },
        { KS_BLOCKTRI_RECURSIVE_SCHUR, 17, KS_EINVAL, KS_BLOCKTRI_AUTO },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        o.order = all[i].order;
        o.backend = KS_BACKEND_CUDA;
        assert_int_equal(ks_smooth_plan_create(&plan, NULL, 20, 1, all[i].nx, 2, &o), all[i].status);
        const size_t bytes = ks_smooth_device_bytes(20, 1, all[i].nx, 2, &o);
        assert_true(all[i].status == KS_OK ? bytes > 0 && bytes < SIZE_MAX : bytes == SIZE_MAX);
        if (plan) assert_int_equal(ks_smooth_plan_order(plan), all[i].made);
        ks_smooth_plan_destroy(plan);
        o.backend = KS_BACKEND_AUTO;
        OK(ks_smooth_plan_create(&plan, NULL, 20, 1, all[i].nx, 2, &o));
        assert_int_equal(ks_smooth_plan_backend(plan),
                         all[i].status == KS_OK ? KS_BACKEND_CUDA : KS_BACKEND_CPU);
        assert_int_equal(ks_smooth_plan_declined(plan), all[i].status);
        ks_smooth_plan_destroy(plan);
    }
    check_clean();
}

/** Device memory with the rows of a view, or for those of an output. */
static void *on_device(const ks_smooth_plan *plan, const void *host, size_t bytes)
{
    void *device = NULL;
    OK(ks_smooth_cuda_alloc(plan, &device, bytes));
    if (host) OK(ks_smooth_cuda_upload(plan, device, host, bytes));
    return device;
}

/** A level that moves little, which one pass cannot vouch for: waiting for it goes on until it can be. */
static golden *slow_level(int64_t T, double q)
{
    golden *g = model_random((model_spec){ 1131, T, 1, 1, 1, KS_PRIOR_X0, 0 });
    g->F.f64[0] = g->H.f64[0] = g->R.f64[0] = g->P0.f64[0] = 1;
    g->Q.f64[0] = q;
    model_round(g);
    return g;
}

/** Model, data and results on the device: the bits of a run from the host, in a stream of the caller's. */
static void check_resident(const golden *g, int order, ks_status expected, int seed)
{
    enum { VIEWS = 8, OUTPUTS = 3 };
    const method_case m = map_by((ks_blocktri_order)order);
    const unsigned made = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_COV | KS_OUT_LAG_ONE_COV | KS_OUT_LOGLIK;
    const ks_smooth_options o = options_of(&m, KS_F64, made);
    const int64_t n = g->nx, m_ = g->ny, T = g->T;
    golden_buffers *host = NULL;
    ks_info info = KS_INFO_INIT;
    const ks_model from = golden_model(g, KS_F64);
    assert_int_equal(run_model(g, &from, golden_y(g, KS_F64), &o, 1, &host, &info), expected);
    const int64_t step = info.step;
    ks_smooth_plan *plan;
    ks_gpu_stream *own;
    use_seed(seed);
    OK(ks_smooth_plan_create(&plan, NULL, T, 1, g->nx, g->ny, &o));
    OK(ks_gpu_stream_create(plan->device->gpu, &own));
    ks_model model = from;
    ks_view y = golden_y(g, KS_F64), *const views[VIEWS] = { &model.F, &model.Q, &model.H, &model.R,
                                                             &model.m0, &model.P0, &y, &model.u };
    const int64_t numbers[VIEWS] = { n * n, n * n, m_ * n, m_ * m_, n, n * n, m_, n };
    for (int i = 0; i < VIEWS; ++i)
        if (views[i]->data)
            views[i]->data = on_device(plan, views[i]->data, (size_t)(numbers[i] * (views[i]->step_stride ? T : 1)) *
                                                                 sizeof(double));
    model.d.data = NULL;
    ks_outputs to = KS_OUTPUTS_INIT;
    const ks_outputs *h = golden_outputs(host);
    golden_buffers *got = golden_buffers_new(T, 1, g->nx, g->ny, KS_F64, made);
    ks_out *const outs[OUTPUTS] = { &to.smoothed_mean, &to.smoothed_cov, &to.lag_one_cov };
    const ks_out *const like[OUTPUTS] = { &h->smoothed_mean, &h->smoothed_cov, &h->lag_one_cov };
    const int64_t block[OUTPUTS] = { n, n * n, n * n };
    for (int i = 0; i < OUTPUTS; ++i) {
        *outs[i] = *like[i];
        outs[i]->data = on_device(plan, NULL, (size_t)(T * block[i]) * sizeof(double));
    }
    to.loglik = h->loglik;
    to.loglik.data = on_device(plan, NULL, sizeof(double));
    assert_int_equal(ks_smooth_cuda_wait(plan, &info, NULL), KS_EINVAL);
    OK(ks_smooth_cuda_enqueue(plan, &model, y, &to, own));
    assert_int_equal(ks_smooth_cuda_wait(plan, &info, own), expected);
    check_idle();
    assert_int_equal(info.step, step);
    const ks_outputs *into = golden_outputs(got);
    const ks_out *const back[OUTPUTS] = { &into->smoothed_mean, &into->smoothed_cov, &into->lag_one_cov };
    for (int i = 0; i < OUTPUTS; ++i)
        OK(ks_smooth_cuda_download(plan, back[i]->data, outs[i]->data, (size_t)(T * block[i]) * sizeof(double)));
    OK(ks_smooth_cuda_download(plan, into->loglik.data, to.loglik.data, sizeof(double)));
    if (expected == KS_OK) assert_int_equal(first_different(host, got, made), 0);
    for (int i = 0; i < VIEWS; ++i) ks_smooth_cuda_free(plan, (void *)(uintptr_t)views[i]->data);
    for (int i = 0; i < OUTPUTS; ++i) ks_smooth_cuda_free(plan, outs[i]->data);
    ks_smooth_cuda_free(plan, to.loglik.data);
    ks_gpu_stream_destroy(plan->device->gpu, own);
    ks_smooth_plan_destroy(plan);
    check_clean();
    golden_buffers_free(host);
    golden_buffers_free(got);
}

static void arrays_on_the_device(void **state)
{
    (void)state;
    golden *slow = slow_level(40, 0x1p-24), *lost = slow_level(40, 0x1p-50);
    for (int seed = 0; seed < ORDERS; ++seed) {
        const int i = seed % 2, order = i ? KS_BLOCKTRI_NESTED_DISSECTION : KS_BLOCKTRI_AUTO;
        golden *g = model_random((model_spec){ 1210, i ? 5 : 33, 1, 3, 2, (ks_prior)i, VARIES_F | MISSING });
        check_resident(g, order, KS_OK, seed);
        model_block(&g->R, 0, 0)[0] = -1;
        check_resident(g, order, KS_EREFUSED, seed);
        golden_free(g);
        check_resident(slow, KS_BLOCKTRI_AUTO, KS_OK, seed);
        check_resident(lost, KS_BLOCKTRI_AUTO, KS_EREFUSED, seed);
    }
    golden_free(slow);
    golden_free(lost);
}

#ifdef EMULATED
/** The device is as large as the plan says that it must be, and then one byte smaller. */
static void as_much_memory_as_told(void **state)
{
    (void)state;
    for (int i = 0; i < 8; ++i) {
        const method_case m = map_by(i / 2 % 2 ? KS_BLOCKTRI_NESTED_DISSECTION : KS_BLOCKTRI_AUTO);
        const ks_smooth_options o =
            options_of(&m, (ks_precision)(i % 2), i < 4 ? outputs_made(&m) : KS_OUT_SMOOTHED_VAR);
        const size_t bytes = ks_smooth_device_bytes(100, 1, 7, 2, &o);
        for (size_t less = 0; less < 2; ++less) {
            ks_smooth_plan *plan;
            use_seed(1);
            ks_emulated.memory = bytes - less;
            assert_int_equal(ks_smooth_plan_create(&plan, NULL, 100, 1, 7, 2, &o), less ? KS_ENOMEM : KS_OK);
            ks_smooth_plan_destroy(plan);
            check_clean();
        }
    }
    const method_case m = map_by(KS_BLOCKTRI_AUTO);
    ks_smooth_options o = options_of(&m, KS_F64, outputs_made(&m));
    /* The scan of other methods says nothing: no series goes to this one in parts. */
    const size_t long_series = ks_smooth_device_bytes(4000, 1, 3, 2, &o);
    o.scan = KS_SCAN_CHUNKED;
    assert_true(long_series > 0 && ks_smooth_device_bytes(4000, 1, 3, 2, &o) == long_series);
    assert_true(ks_smooth_device_bytes(INT64_C(1) << 55, 1, 4, 2, &o) == SIZE_MAX);
    assert_true(ks_smooth_device_bytes(INT64_C(1) << 40, 1, 20, 2, &o) == SIZE_MAX);
}

static void allocations_fail(void **state)
{
    (void)state;
    golden *g = model_random((model_spec){ 1240, 9, 1, 2, 1, KS_PRIOR_X0, 0 });
    for (int i = 0; i < 2; ++i) {
        const method_case m = map_by(i ? KS_BLOCKTRI_NESTED_DISSECTION : KS_BLOCKTRI_AUTO);
        each_allocation_fails(g, options_of(&m, KS_F32, outputs_made(&m)));
    }
    golden_free(g);
}
#endif

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_seeds), cmocka_unit_test(shared_terms), cmocka_unit_test(choices),
        cmocka_unit_test(same_loss), cmocka_unit_test(arrays_on_the_device),
#ifdef EMULATED
        cmocka_unit_test(as_much_memory_as_told), cmocka_unit_test(allocations_fail),
#endif
    };
    only_tests(argc, argv, tests);
    if (no_device()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
