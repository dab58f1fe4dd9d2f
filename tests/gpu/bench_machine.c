/* bench_machine.c -- what the first device costs whatever it computes, as lines of JSON: copies inside it
 * and to and from the host, a launch, a node of a graph, a barrier of the whole grid. The smallest of the
 * repeats counts. The first argument bounds the bytes of a copy; 0: what the device is, and no more. Exit code 77
 * without a device, 1 where one of these fails; the others are measured all the same. */
#include <stdio.h>
#include <stdlib.h>
#include "gpu/gpu.h"
#include "probe.h"
#include "cli/seconds.h"

enum { REPEATS = 7, LAUNCHES = 256, BARRIERS = 512, BARRIER_THREADS = 256 };

typedef struct machine {
    ks_gpu *gpu;
    ks_gpu_stream *stream;
    ks_gpu_event *begin, *end;
    size_t bytes; /* of a copy */
    const ks_gpu_kernel *nothing, *spread;
} machine;

/* Nanoseconds of the device between two events around `put`, the least of the repeats. */
static ks_status timed(const machine *m, ks_status (*put)(const machine *, void *), void *what, double *ns)
{
    ks_status status = KS_OK;
    *ns = 0;
    for (int i = 0; i <= REPEATS && status == KS_OK; ++i) {
        double ms = 0;
        status = ks_gpu_event_record(m->gpu, m->begin, m->stream);
        if (status == KS_OK) status = put(m, what);
        if (status == KS_OK) status = ks_gpu_event_record(m->gpu, m->end, m->stream);
        if (status == KS_OK) status = ks_gpu_stream_sync(m->gpu, m->stream);
        if (status == KS_OK) status = ks_gpu_event_elapsed(m->gpu, &ms, m->begin, m->end);
        /* The first one is to warm up. */
        if (i == 1 || (i > 1 && ms * 1e6 < *ns)) *ns = ms * 1e6;
    }
    return status;
}

typedef struct transfer {
    void *host, *device, *other;
    int way; /* 0: in, 1: out, 2: inside */
} transfer;

static ks_status put_copy(const machine *m, void *what)
{
    const transfer *t = what;
    if (t->way == 0) return ks_gpu_copy_in(m->gpu, t->device, t->host, m->bytes, m->stream);
    if (t->way == 1) return ks_gpu_copy_out(m->gpu, t->host, t->device, m->bytes, m->stream);
    return ks_gpu_copy(m->gpu, t->other, t->device, m->bytes, m->stream);
}

static ks_status copies(const machine *m)
{
    static const char *const names[] = { "copy into the device", "copy out of the device",
                                         "copy inside the device" };
    transfer t = { NULL, NULL, NULL, 0 };
    ks_status status = ks_gpu_host_alloc(m->gpu, &t.host, m->bytes);
    if (status == KS_OK) status = ks_gpu_alloc(m->gpu, &t.device, m->bytes);
    if (status == KS_OK) status = ks_gpu_alloc(m->gpu, &t.other, m->bytes);
    if (status == KS_OK) status = ks_gpu_fill(m->gpu, t.device, 1, m->bytes, m->stream);
    for (; t.way < 3 && status == KS_OK; ++t.way) {
        double ns;
        status = timed(m, put_copy, &t, &ns);
        /* What is copied inside is read and written. */
        const double moved = (double)m->bytes * (t.way == 2 ? 2 : 1);
        if (status == KS_OK)
            printf("{\"what\": \"%s\", \"bytes\": %zu, \"ns\": %.0f, \"gb_per_s\": %.2f}\n",
                   names[t.way], m->bytes, ns, ns > 0 ? moved / ns : 0.0);
    }
    ks_gpu_free(m->gpu, t.other);
    ks_gpu_free(m->gpu, t.device);
    ks_gpu_host_free(m->gpu, t.host);
    return status;
}

static ks_status put_launches(const machine *m, void *what)
{
    const int count = *(const int *)what;
    const probe_sum_args none = { 0, NULL, NULL };
    const ks_gpu_shape shape = { { 1 }, { 32 }, 0, 0 };
    ks_status status = KS_OK;
    for (int i = 0; i < count && status == KS_OK; ++i)
        status = ks_gpu_launch(m->gpu, m->nothing, &shape, &none, sizeof none, m->stream);
    return status;
}

static ks_status launches(const machine *m)
{
    int count = LAUNCHES, one = 1;
    double ns, least = 0;
    ks_status status = timed(m, put_launches, &count, &ns);
    if (status == KS_OK)
        printf("{\"what\": \"launch after launch\", \"count\": %d, \"ns\": %.0f}\n", count, ns / count);
    for (int i = 0; i < REPEATS && status == KS_OK; ++i) {
        const double start = ks_seconds();
        status = put_launches(m, &one);
        if (status == KS_OK) status = ks_gpu_stream_sync(m->gpu, m->stream);
        const double passed = (ks_seconds() - start) * 1e9;
        if (i == 0 || passed < least) least = passed;
    }
    if (status == KS_OK) printf("{\"what\": \"launch and wait\", \"ns\": %.0f}\n", least);
    return status;
}

static ks_status put_graph(const machine *m, void *what)
{
    return ks_gpu_graph_launch(m->gpu, what, m->stream);
}

static ks_status graphs(const machine *m)
{
    int count = LAUNCHES;
    ks_gpu_graph *graph = NULL;
    double ns;
    ks_status status = ks_gpu_capture_begin(m->gpu, m->stream);
    if (status != KS_OK) return status;
    status = put_launches(m, &count);
    const ks_status ended = ks_gpu_capture_end(m->gpu, &graph, m->stream);
    if (status == KS_OK) status = ended;
    if (status == KS_OK) status = timed(m, put_graph, graph, &ns);
    if (status == KS_OK)
        printf("{\"what\": \"node of a graph\", \"count\": %d, \"ns\": %.0f}\n", count, ns / count);
    ks_gpu_graph_destroy(m->gpu, graph);
    return status;
}

typedef struct barrier_test {
    probe_spread_args args;
    int blocks;
} barrier_test;

static ks_status put_barriers(const machine *m, void *what)
{
    const barrier_test *t = what;
    const ks_gpu_shape shape = { { (unsigned)t->blocks }, { BARRIER_THREADS }, 0, 1 };
    return ks_gpu_launch(m->gpu, m->spread, &shape, &t->args, sizeof t->args, m->stream);
}

/* What a round more costs: its barrier, and one number for each thread. */
static ks_status barriers(const machine *m)
{
    int each = 0;
    barrier_test t = { { 0, BARRIERS, NULL, NULL }, m->gpu->attributes.multiprocessors };
    void *x = NULL, *y = NULL;
    double many, few;
    ks_status status = ks_gpu_resident(m->gpu, &each, m->spread, BARRIER_THREADS, 0);
    if (status == KS_OK && each < 1) status = KS_EUNAVAILABLE;
    t.args.n = (int64_t)t.blocks * BARRIER_THREADS;
    const size_t bytes = (size_t)t.args.n * sizeof(double);
    if (status == KS_OK) status = ks_gpu_alloc(m->gpu, &x, bytes);
    if (status == KS_OK) status = ks_gpu_alloc(m->gpu, &y, bytes);
    if (status == KS_OK) status = ks_gpu_fill(m->gpu, x, 0, bytes, m->stream);
    if (status == KS_OK) status = ks_gpu_fill(m->gpu, y, 0, bytes, m->stream);
    t.args.x = x;
    t.args.y = y;
    if (m->gpu->attributes.multiprocessors < 16) t.args.rounds = 16; /* no device to measure */
    const int rounds = t.args.rounds;
    if (status == KS_OK) status = timed(m, put_barriers, &t, &many);
    t.args.rounds = 1;
    if (status == KS_OK) status = timed(m, put_barriers, &t, &few);
    if (status == KS_OK)
        printf("{\"what\": \"barrier of the grid\", \"blocks\": %d, \"ns\": %.0f}\n", t.blocks,
               (many - few) / (rounds - 1));
    ks_gpu_free(m->gpu, x);
    ks_gpu_free(m->gpu, y);
    return status;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        ks_status (*run)(const machine *);
    } all[] = { { "copies", copies }, { "launches", launches }, { "graphs", graphs },
                { "barriers", barriers } };
    machine m = { 0 };
    int failed = 0;
    const ks_status opened = ks_gpu_open(&m.gpu, NULL, 0);
    if (opened != KS_OK) {
        puts(opened == KS_ENODEV ? "no device" : ks_strerror(opened));
        return opened == KS_ENODEV ? 77 : 1;
    }
    m.bytes = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : (size_t)1 << 30;
    if (m.bytes > m.gpu->attributes.memory / 8) m.bytes = m.gpu->attributes.memory / 8;
    printf("{\"what\": \"device\", \"name\": \"%s\", \"capability\": \"%d.%d\", \"multiprocessors\": %d, "
           "\"memory\": %zu, \"l2\": %zu, \"block_shared\": %zu}\n", m.gpu->attributes.name,
           m.gpu->attributes.major, m.gpu->attributes.minor, m.gpu->attributes.multiprocessors,
           m.gpu->attributes.memory, m.gpu->attributes.l2, m.gpu->attributes.block_shared);
    if (m.bytes == 0) {
        ks_gpu_close(m.gpu);
        return 0;
    }
    ks_status status = ks_gpu_stream_create(m.gpu, &m.stream);
    if (status == KS_OK) status = ks_gpu_event_create(m.gpu, &m.begin);
    if (status == KS_OK) status = ks_gpu_event_create(m.gpu, &m.end);
    if (status == KS_OK) status = ks_gpu_find(m.gpu, &m.nothing, "probe", "probe_nothing");
    if (status == KS_OK) status = ks_gpu_find(m.gpu, &m.spread, "probe", "probe_spread");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        const ks_status one = status == KS_OK ? all[i].run(&m) : status;
        if (one == KS_OK) continue;
        failed = 1;
        printf("{\"what\": \"%s\", \"status\": \"%s\", \"code\": %d}\n", all[i].name,
               ks_status_name(one), m.gpu->code);
    }
    if (m.end) ks_gpu_event_destroy(m.gpu, m.end);
    if (m.begin) ks_gpu_event_destroy(m.gpu, m.begin);
    ks_gpu_stream_destroy(m.gpu, m.stream);
    ks_gpu_close(m.gpu);
    return failed;
}
