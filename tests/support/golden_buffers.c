/* golden_buffers.c -- the outputs of a run, and what is known of each output. */
#include "golden_kinds.h"

#include <stdlib.h>
#include <string.h>

#define KIND(name, block, has_steps, is_double)                                                    \
    {                                                                                              \
#        name, block, has_steps, is_double, offsetof(ks_outputs, name)                             \
    }

const golden_kind golden_kinds[GOLDEN_OUTPUTS] = {
    KIND(loglik, GOLDEN_SCALAR, false, true),        KIND(loglik_terms, GOLDEN_SCALAR, true, true),
    KIND(predicted_mean, GOLDEN_NX, true, false),    KIND(predicted_cov, GOLDEN_NX_NX, true, false),
    KIND(filtered_mean, GOLDEN_NX, true, false),     KIND(filtered_cov, GOLDEN_NX_NX, true, false),
    KIND(smoothed_mean, GOLDEN_NX, true, false),     KIND(smoothed_cov, GOLDEN_NX_NX, true, false),
    KIND(lag_one_cov, GOLDEN_NX_NX, true, false),    KIND(prior_mean, GOLDEN_NX, false, false),
    KIND(prior_cov, GOLDEN_NX_NX, false, false),     KIND(innovation, GOLDEN_NY, true, false),
    KIND(innovation_cov, GOLDEN_NY_NY, true, false), KIND(innovation_std, GOLDEN_NY, true, false),
    KIND(predicted_var, GOLDEN_NX, true, false),     KIND(filtered_var, GOLDEN_NX, true, false),
    KIND(smoothed_var, GOLDEN_NX, true, false),
};

int golden_index(ks_output output)
{
    int i = 0;
    while (i < GOLDEN_OUTPUTS - 1 && (1 << i) != (int)output) i++;
    return i;
}

const char *golden_output_name(ks_output output) { return golden_kinds[golden_index(output)].name; }

int64_t golden_block_size(golden_block block, int nx, int ny)
{
    switch (block) {
    case GOLDEN_NX:
        return nx;
    case GOLDEN_NX_NX:
        return (int64_t)nx * nx;
    case GOLDEN_NY:
        return ny;
    case GOLDEN_NY_NY:
        return (int64_t)ny * ny;
    case GOLDEN_SCALAR:
        break;
    }
    return 1;
}

int64_t golden_entries(const golden_kind *kind, int64_t T, int64_t B, int nx, int ny)
{
    return B * (kind->has_steps ? T : 1) * golden_block_size(kind->block, nx, ny);
}

struct golden_buffers {
    ks_precision precision;
    ks_outputs outputs;
    void *raw[GOLDEN_OUTPUTS];
    size_t bytes[GOLDEN_OUTPUTS];
    golden_results wide;
};

static bool is_float(const golden_buffers *b, int i)
{
    const golden_kind *kind = &golden_kinds[i];
    const unsigned variances = KS_OUT_PREDICTED_VAR | KS_OUT_FILTERED_VAR | KS_OUT_SMOOTHED_VAR;
    if (b->precision == KS_F64 || kind->is_double) return false;
    return b->precision == KS_F32 || kind->block == GOLDEN_NX_NX || kind->block == GOLDEN_NY_NY ||
           (variances >> i & 1u);
}

static bool add_output(golden_buffers *b, int i)
{
    const golden_kind *kind = &golden_kinds[i];
    golden_results *w = &b->wide;
    int64_t n = golden_entries(kind, w->T, w->B, w->nx, w->ny);
    int64_t block = golden_block_size(kind->block, w->nx, w->ny);
    b->bytes[i] = (size_t)n * (is_float(b, i) ? sizeof(float) : sizeof(double));
    b->raw[i] = malloc(b->bytes[i]);
    w->array[i] = malloc((size_t)n * sizeof(double));
    if (!b->raw[i] || !w->array[i]) return false;
    memset(b->raw[i], 0xff, b->bytes[i]); /* a NaN in both precisions */
    ks_out out = {b->raw[i], kind->has_steps ? block : 0, kind->has_steps ? w->T * block : block};
    memcpy((char *)&b->outputs + kind->field, &out, sizeof out);
    return true;
}

golden_buffers *golden_buffers_new(int64_t T, int64_t B, int nx, int ny, ks_precision precision,
                                   unsigned outputs)
{
    golden_buffers *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    const ks_outputs none = KS_OUTPUTS_INIT;
    b->precision = precision;
    b->outputs = none;
    b->wide.T = T;
    b->wide.B = B;
    b->wide.nx = nx;
    b->wide.ny = ny;
    for (int i = 0; i < GOLDEN_OUTPUTS; i++) {
        if ((outputs & (1u << i)) && !add_output(b, i)) {
            golden_buffers_free(b);
            return NULL;
        }
    }
    return b;
}

void golden_buffers_free(golden_buffers *b)
{
    if (!b) return;
    for (int i = 0; i < GOLDEN_OUTPUTS; i++) {
        free(b->raw[i]);
        free(b->wide.array[i]);
    }
    free(b);
}

const ks_outputs *golden_outputs(const golden_buffers *b) { return &b->outputs; }

const void *golden_bytes(const golden_buffers *b, ks_output output, size_t *bytes)
{
    int i = golden_index(output);
    *bytes = b->bytes[i];
    return b->raw[i];
}

size_t golden_number_bytes(const golden_buffers *b, ks_output output)
{
    return is_float(b, golden_index(output)) ? sizeof(float) : sizeof(double);
}

const golden_results *golden_widen(golden_buffers *b)
{
    for (int i = 0; i < GOLDEN_OUTPUTS; i++) {
        if (!b->raw[i]) continue;
        if (!is_float(b, i)) {
            memcpy(b->wide.array[i], b->raw[i], b->bytes[i]);
            continue;
        }
        const float *narrow = b->raw[i];
        for (size_t k = 0; k < b->bytes[i] / sizeof *narrow; k++)
            b->wide.array[i][k] = (double)narrow[k];
    }
    return &b->wide;
}
