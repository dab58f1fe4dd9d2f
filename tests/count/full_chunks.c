/* full_chunks.c -- the ways back of the smoothers in chunks, a chunk for each lane. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "full_chunks.h"

static int64_t first_of_chunk(const full *f, int64_t chunk)
{
    return chunk < f->chunks ? chunk * ((f->what->T + f->chunks - 1) / f->chunks) : f->what->T;
}

/* Information from behind a chunk, about what the filter kept of its last step. */
static double *information_behind(full *f, int64_t chunk)
{
    const int64_t n = f->series.nx, numbers = n + n * (n + 1) / 2;
    const size_t bytes = f->kernels.filter_element_bytes(f->series.nx);
    const ks_forward_sinks kept = full_kept(f);
    double *behind = full_spare_element(f);
    memset(behind, 0, (size_t)numbers * sizeof(double));
    if (chunk + 1 < f->chunks) {
        const double *next = (const double *)(const void *)((char *)f->suffixes + (size_t)(chunk + 2) * bytes);
        memcpy(behind, next - numbers, (size_t)numbers * sizeof(double));
        f->kernels.information_about((int)n, ks_slot_of(kept.kept_mean, first_of_chunk(f, chunk + 1) - 1), behind);
    }
    return behind;
}

/* Steps of the two-filter smoother, of a chunk. */
static void meet(full *f, int64_t chunk, int64_t k0, int64_t k1, const ks_state *before)
{
    const ks_backward_sinks nowhere = {0};
    const ks_forward_sinks kept = full_kept(f);
    double *behind = information_behind(f, chunk), *x = f->carry, *C = x + f->series.nx;
    ks_state state = {x, C, KS_FORM_ORDINARY, KS_NOT_STEADY};
    ks_tally tally = {0};
    assert_int_equal(f->kernels.two_filter_back(&f->series, k0, k1, before, behind, &state, &kept, &nowhere,
                                                f->scratch, &tally), 0);
}

void full_chunk_end(full *f, int64_t chunk)
{
    const int64_t end = first_of_chunk(f, chunk + 1);
    meet(f, chunk, end - 1, end, NULL);
}

/* The steps of a chunk, into the last one of the chunk before; what they begin from does not change what they cost. */
void full_chunk_smoothed(full *f, int64_t chunk)
{
    const int64_t first = first_of_chunk(f, chunk), end = first_of_chunk(f, chunk + 1), last = chunk + 1 == f->chunks;
    const int64_t n = f->series.nx, k1 = last ? end : end - 1;
    const ks_backward_sinks nowhere = {0};
    const ks_forward_sinks kept = full_kept(f);
    ks_state state = {f->carry, f->carry + n, KS_FORM_ORDINARY, KS_NOT_STEADY};
    ks_tally tally = {0};
    memcpy(state.x, ks_slot_of(kept.kept_mean, k1 - last), (size_t)n * sizeof(double));
    memcpy(state.C, ks_slot_of(kept.kept_C, k1 - last), (size_t)(n * n) * sizeof(double));
    assert_int_equal(f->kernels.smooth(&f->series, chunk > 0 ? first - 1 : 0, k1, &state, &kept, &nowhere, f->scratch,
                                       &tally), 0);
}

/* The steps of a chunk, from the suffix behind it. */
void full_chunk_back(full *f, int64_t chunk)
{
    const int64_t first = first_of_chunk(f, chunk);
    const ks_forward_sinks kept = full_kept(f);
    ks_state before = {NULL, NULL, KS_FORM_ORDINARY, KS_NOT_STEADY};
    if (first > 0) {
        before.x = ks_slot_of(kept.kept_mean, first - 1);
        before.C = ks_slot_of(kept.kept_C, first - 1);
    }
    meet(f, chunk, first, first_of_chunk(f, chunk + 1), first > 0 ? &before : NULL);
}
