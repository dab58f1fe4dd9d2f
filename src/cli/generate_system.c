/* The block-tridiagonal systems of `kalscan generate`, written in slabs of blocks. */
#include <stdio.h>
#include <stdlib.h>
#include "generate.h"
#include "h5.h"
#include "json.h"
#include "memory.h"
#include "progress.h"
#include "random_system.h"
#include "target.h"

enum { D, L, B, ARRAYS };

typedef struct maker {
    const ks_generate_settings *settings;
    ks_output_file *out;
    ks_output_array arrays[ARRAYS];
    hid_t ids[ARRAYS];
    double *buffers[ARRAYS];   /* of slab_blocks blocks */
    int64_t slab_blocks;
    double *scratch;
    ks_progress progress;
} maker;

static void describe(maker *m)
{
    const ks_system_recipe *recipe = &m->settings->system;
    const int64_t N = recipe->N, n = recipe->n, nrhs = recipe->nrhs;
    const ks_output_array arrays[ARRAYS] = {
        {.path = "D", .long_name = "diagonal blocks A[i, i]", .rank = 3, .dims = {N, n, n}},
        {.path = "L", .long_name = "sub-diagonal blocks A[i + 1, i]", .rank = 3,
         .dims = {N - 1, n, n}},
        {.path = "b", .long_name = "right-hand sides", .rank = nrhs > 0 ? 3 : 2,
         .dims = {N, n, nrhs}}};
    for (int i = 0; i < ARRAYS; ++i) m->arrays[i] = arrays[i];
}

/* Check the free space before the file is begun, so that the disk is not filled in vain. */
static ks_exit check_room(const maker *m, ks_failure *failure)
{
    size_t bytes = 0;
    for (int i = 0; i < ARRAYS; ++i)
        bytes = ks_size_sum(bytes, ks_output_disk_bytes(&m->arrays[i]));
    if (m->settings->compress > 0) return KS_EXIT_DONE;
    return ks_target_room(m->settings->output, bytes, failure);
}

static ks_exit begin(maker *m, ks_failure *failure)
{
    const ks_system_recipe *recipe = &m->settings->system;
    const int64_t N = recipe->N, n = recipe->n, nrhs = recipe->nrhs;
    const size_t widest = (size_t)(n > nrhs ? n : nrhs) * (size_t)n * sizeof(double);
    m->slab_blocks = (int64_t)((4u << 20) / widest) + 1;
    if (m->slab_blocks > N) m->slab_blocks = N;
    for (int i = 0; i < ARRAYS; ++i) {
        if (ks_output_begin(m->out, &m->arrays[i], &m->ids[i], failure)) return failure->code;
        m->buffers[i] = ks_memory_raw(ks_size_product((size_t)m->slab_blocks, widest),
                                      "the system", failure);
        if (!m->buffers[i]) return failure->code;
    }
    m->scratch = ks_memory_raw((size_t)(2 * n * n) * sizeof(double), "the system", failure);
    if (!m->scratch) return failure->code;
    if (ks_output_text(m->out, "/", "layout", "c", failure)) return failure->code;
    return ks_generate_attributes(m->settings, m->out, failure);
}

static ks_exit write_slab(maker *m, int64_t first, int64_t count, ks_failure *failure)
{
    const ks_system_recipe *recipe = &m->settings->system;
    const int64_t n = recipe->n, side = n * (recipe->nrhs > 0 ? recipe->nrhs : 1);
    for (int64_t k = 0; k < count; ++k)
        ks_random_block(m->settings->recipe.seed, first + k, recipe->n, (int)(side / n),
                        m->buffers[D] + k * n * n, m->buffers[L] + k * n * n,
                        m->buffers[B] + k * side, m->scratch);
    for (int i = 0; i < ARRAYS && !failure->code; ++i) {
        const int64_t left = m->arrays[i].dims[0] - first;
        const ks_slab slab = {0, 1, first, left < count ? left : count};
        if (slab.step_count > 0)
            ks_output_slab(m->out, &m->arrays[i], m->ids[i], &slab, m->buffers[i], failure);
    }
    return failure->code;
}

static ks_exit write_all(maker *m, ks_failure *failure)
{
    const int64_t N = m->settings->system.N;
    if (begin(m, failure)) return failure->code;
    for (int64_t first = 0; first < N && !failure->code; first += m->slab_blocks) {
        const int64_t left = N - first;
        write_slab(m, first, left < m->slab_blocks ? left : m->slab_blocks, failure);
        ks_progress_set(&m->progress, (double)first / (double)N);
    }
    for (int i = 0; i < ARRAYS && !failure->code; ++i)
        ks_output_end(m->out, &m->arrays[i], m->ids[i], failure);
    return failure->code;
}

static void print_summary(const ks_generate_settings *settings, double seconds)
{
    const ks_system_recipe *recipe = &settings->system;
    const int nrhs = recipe->nrhs > 0 ? recipe->nrhs : 1;
    if (settings->json) {
        ks_json json = {0};
        ks_json_open(&json, NULL, '{');
        ks_json_text(&json, "kind", settings->kind_name);
        ks_json_text(&json, "output", settings->output);
        ks_json_integer(&json, "N", recipe->N);
        ks_json_integer(&json, "n", recipe->n);
        ks_json_integer(&json, "nrhs", nrhs);
        ks_json_integer(&json, "seed", settings->recipe.seed);
        ks_json_number(&json, "seconds", seconds);
        ks_json_close(&json, '}');
        ks_json_end();
    } else if (!settings->quiet) {
        printf("%s: %s, N = %lld blocks, n = %d, nrhs = %d, seed %lld, %.3g s\n", settings->output,
               settings->kind_name, (long long)recipe->N, recipe->n, nrhs,
               (long long)settings->recipe.seed, seconds);
    }
}

ks_exit ks_generate_system(const ks_generate_settings *settings, ks_failure *failure)
{
    const double start = ks_seconds();
    maker m = {.settings = settings, .ids = {-1, -1, -1}};
    describe(&m);
    if (check_room(&m, failure)) return failure->code;
    ks_progress_start(&m.progress, settings->quiet);
    ks_progress_phase(&m.progress, "write");
    if (ks_output_create(&m.out, settings->output, settings->force, settings->compress, failure))
        return failure->code;
    write_all(&m, failure);
    for (int i = 0; i < ARRAYS; ++i) free(m.buffers[i]);
    free(m.scratch);
    ks_progress_clear(&m.progress);
    if (failure->code) ks_output_discard(m.out);
    else if (ks_output_commit(m.out, failure) == KS_EXIT_DONE)
        print_summary(settings, ks_seconds() - start);
    return failure->code;
}
