#include "diffuse_case.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

ks_status diffuse_run(diffuse_case *c)
{
    const golden *g = c->g;
    const size_t numbers = (size_t)(g->nx * g->nx);
    ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
    ks_context *context = NULL;
    ks_smooth_plan *plan = NULL;
    float *narrow = zeroed(numbers, sizeof *narrow);
    const ks_info empty = KS_INFO_INIT;
    for (size_t i = 0; i < numbers; ++i) narrow[i] = (float)c->P0_inf[i];
    c->info = empty;
    c->steps = -1;
    if (!c->outputs) c->outputs = outputs_there(g, c->m);
    const ks_smooth_options options = options_of(c->m, c->precision, c->outputs);
    const ks_model model = golden_model(g, c->precision);
    resources.threads = c->threads ? c->threads : 1;
    if (c->memory) resources.allocator = *c->memory;
    c->buffers = golden_buffers_new(g->T, g->B, g->nx, g->ny, c->precision, c->outputs);
    assert_non_null(c->buffers);
    ks_status status = ks_context_create(&context, &resources);
    if (status == KS_OK) status = ks_smooth_plan_create(&plan, context, g->T, g->B, g->nx, g->ny, &options);
    if (status == KS_OK) {
        const ks_view P0_inf = { c->precision == KS_F32 ? (const void *)narrow : c->P0_inf, 0, 0 };
        status = ks_diffuse_run(plan, &model, P0_inf, golden_y(g, c->precision), golden_outputs(c->buffers), &c->steps,
                                &c->info);
        assert_int_equal(status, c->info.status);
    }
    ks_smooth_plan_destroy(plan);
    ks_context_destroy(context);
    free(narrow);
    return status;
}

void diffuse_well(diffuse_case *c)
{
    const ks_status status = diffuse_run(c);
    if (status == KS_OK) return;
    print_error("%s in precision %d: %s, %s at step %lld\n", method_case_name(c->m), (int)c->precision,
                ks_status_name(status), ks_array_name(c->info.array), (long long)c->info.step);
    golden_buffers_free(c->buffers);
    fail();
}

/* Numbers of a block, and whether the output has steps. */
static int64_t block_of(const golden_results *r, ks_output output, int *steps)
{
    const int64_t nx = r->nx, ny = r->ny;
    *steps = output != KS_OUT_LOGLIK && output != KS_OUT_PRIOR_MEAN && output != KS_OUT_PRIOR_COV;
    switch (output) {
    case KS_OUT_LOGLIK:
    case KS_OUT_LOGLIK_TERMS: return 1;
    case KS_OUT_INNOVATION:
    case KS_OUT_INNOVATION_STD: return ny;
    case KS_OUT_INNOVATION_COV: return ny * ny;
    case KS_OUT_PREDICTED_COV:
    case KS_OUT_FILTERED_COV:
    case KS_OUT_SMOOTHED_COV:
    case KS_OUT_LAG_ONE_COV:
    case KS_OUT_PRIOR_COV: return nx * nx;
    default: return nx;
    }
}

double *results_block(const golden_results *r, ks_output output, int64_t b, int64_t k)
{
    int steps;
    const int64_t block = block_of(r, output, &steps);
    return r->array[__builtin_ctz(output)] + ((steps ? b * r->T : b) + k) * block;
}

golden_results *results_new(int64_t T, int64_t B, int nx, int ny, unsigned outputs)
{
    golden_results *r = zeroed(1, sizeof *r);
    r->T = T;
    r->B = B;
    r->nx = nx;
    r->ny = ny;
    for (int i = 0; i < GOLDEN_OUTPUTS; ++i) {
        int steps;
        const int64_t block = block_of(r, (ks_output)(1u << i), &steps);
        if (outputs >> i & 1) r->array[i] = zeroed((size_t)(B * (steps ? T : 1) * block), sizeof(double));
    }
    return r;
}

void results_free(golden_results *r)
{
    for (int i = 0; r && i < GOLDEN_OUTPUTS; ++i) free(r->array[i]);
    free(r);
}

void results_copy(golden_results *to, int64_t b, int64_t k0, const golden_results *from, int64_t from_b,
                  ks_output output, int64_t count)
{
    int steps;
    const int64_t block = block_of(to, output, &steps);
    memcpy(results_block(to, output, b, k0), results_block(from, output, from_b, 0),
           (size_t)(count * block) * sizeof(double));
}
