/* gradient_case.c -- models in memory with the gradient of their log-likelihood. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "gradient_case.h"

ks_out *output_of(ks_gradient *o, int a)
{
    ks_out *const all[ARRAYS] = { &o->F, &o->Q, &o->u, &o->H, &o->R, &o->d, &o->m0, &o->P0 };
    return all[a];
}

problem problem_of(golden *g, ks_transition transition)
{
    const int64_t n = g->nx, m = g->ny;
    golden_input *const arrays[ARRAYS] = { &g->F, &g->Q, &g->u, &g->H, &g->R, &g->d, &g->m0, &g->P0 };
    const int64_t block[ARRAYS] = { n * n, n * n, n, m * n, m * m, m, n, n * n };
    problem p = { .g = g, .model = golden_model(g, KS_F64), .options = KS_SMOOTH_OPTIONS_INIT };
    p.model.transition = transition;
    memcpy(p.array, arrays, sizeof arrays);
    memcpy(p.block, block, sizeof block);
    for (int a = 0; a < ARRAYS; ++a) {
        const golden_input *in = p.array[a];
        p.rows[a] = a >= BY_M0 || !in->step_stride ? 1 : g->T;
        p.series[a] = in->series_stride ? g->B : 1;
        if (in->f64) p.by[a] = zeroed((size_t)(p.rows[a] * p.series[a] * p.block[a]), sizeof(double));
    }
    return p;
}

void problem_drop(problem *p)
{
    for (int a = 0; a < ARRAYS; ++a) free(p->by[a]);
    golden_free(p->g);
}

ks_status run_gradient(const problem *p, const ks_gradient *o, int threads, ks_info *info)
{
    const golden *g = p->g;
    ks_smooth_plan *plan = NULL;
    ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
    ks_context *context = NULL;
    resources.threads = threads;
    if (p->memory) resources.allocator = *p->memory;
    ks_status status = ks_context_create(&context, &resources);
    if (status == KS_OK) status = ks_smooth_plan_create(&plan, context, g->T, g->B, g->nx, g->ny, &p->options);
    if (status == KS_OK) {
        void *work = zeroed_work(ks_gradient_workspace_bytes(plan));
        status = ks_gradient_run(plan, &p->model, p->P0_inf, golden_y(g, KS_F64), o, work, info);
        free(work);
    }
    ks_smooth_plan_destroy(plan);
    ks_context_destroy(context);
    return status;
}

/** An output with the strides of `rows` rows and of all series, or sums over them. */
static ks_out shaped(double *data, int64_t rows, int64_t series, int64_t block)
{
    return (ks_out){ data, rows > 1 ? block : 0, series > 1 ? rows * block : 0 };
}

void differentiate(problem *p, int threads)
{
    ks_gradient o = KS_GRADIENT_INIT;
    for (int a = 0; a < ARRAYS; ++a) *output_of(&o, a) = shaped(p->by[a], p->rows[a], p->series[a], p->block[a]);
    o.loglik = (ks_out){ &p->loglik, 0, 0 };
    assert_int_equal(run_gradient(p, &o, threads, NULL), KS_OK);
}
