/* emulator.cpp -- the table of gpu.h on the host. */
#include "emulator.h"

#include <new>
#include <stdio.h>
#include <stdlib.h>

#include "device.h"

ks_emulator ks_emulated = KS_EMULATOR_INIT;

namespace
{
ks_emu_kernel *all_kernels;

struct from_environment {
    static long number(const char *name, long otherwise)
    {
        const char *const text = getenv(name);
        return text ? strtol(text, nullptr, 10) : otherwise;
    }
    from_environment()
    {
        ks_emulated.seed = (uint64_t)number("KS_EMULATED_SEED", (long)ks_emulated.seed);
        ks_emulated.lose_at = number("KS_EMULATED_LOSE_AT", 0);
        ks_emulated.old = (int)number("KS_EMULATED_OLD", 0);
        ks_emulated.memory = (size_t)number("KS_EMULATED_MEMORY", (long)ks_emulated.memory);
        ks_emulated.block_shared = (size_t)number("KS_EMULATED_SHARED", (long)ks_emulated.block_shared);
        ks_emulated.multiprocessors = (int)number("KS_EMULATED_MULTIPROCESSORS", ks_emulated.multiprocessors);
        ks_emulated.fail_at = number("KS_EMULATED_FAIL_AT", 0);
    }
} environment;

/* Whether the next allocation is the one that is to fail. */
bool refused() { return ++ks_emulated.calls == ks_emulated.fail_at; }

bool touches_device(const device &d, const void *p) { return on_device(d, p, 0); }

/* Captures that this thread has begun and not ended: with CU_STREAM_CAPTURE_MODE_THREAD_LOCAL they forbid it what
 * the order of a stream says nothing of. */
thread_local int captures;
thread_local bool spoilt; /* there will be no graph of them */

ks_status unless_captured(device &d, const char *text)
{
    if (captures) spoilt = true;
    return captures ? fault(d, KS_EDEVICE, text) : KS_OK;
}

void close_device(ks_gpu *gpu)
{
    device *d = &of(gpu);
    if (!d->memory.empty() || !d->streams.empty())
        (void)fault(*d, KS_EINVAL, "a device is closed before what was made with it");
    --ks_emulated.live;
    schedule_no_more(*d);
    delete d;
}

ks_status alloc(ks_gpu *gpu, void **out, size_t bytes)
{
    device &d = of(gpu);
    *out = nullptr;
    if (!bytes) return KS_OK;
    if (unless_captured(d, "memory is allocated during a capture")) return KS_EDEVICE;
    if (refused() || bytes > d.gpu.attributes.memory - d.used) return KS_ENOMEM;
    auto m = std::make_unique<guarded>(bytes);
    if (!m->data()) return KS_ENOMEM;
    m->open(false);
    *out = m->data();
    d.used += bytes;
    ++ks_emulated.live;
    d.memory.push_back(std::move(m));
    return KS_OK;
}

ks_status room(ks_gpu *gpu, size_t *bytes)
{
    *bytes = gpu->attributes.memory - of(gpu).used;
    return KS_OK;
}

void free_memory(ks_gpu *gpu, void *memory)
{
    device &d = of(gpu);
    (void)unless_captured(d, "memory is freed during a capture");
    run_all(d); /* as cudaFree() waits for the device */
    for (auto &m : d.memory) {
        if (m->data() != memory) continue;
        d.used -= m->bytes();
        --ks_emulated.live;
        m = std::move(d.memory.back());
        d.memory.pop_back();
        return;
    }
    (void)fault(d, KS_EINVAL, "memory is freed that is not the device's");
}

ks_status host_alloc(ks_gpu *gpu, void **out, size_t bytes)
{
    *out = nullptr;
    if (unless_captured(of(gpu), "pinned memory is allocated during a capture")) return KS_EDEVICE;
    if (!refused()) *out = malloc(bytes ? bytes : 1);
    if (!*out) return KS_ENOMEM;
    memset(*out, 0xff, bytes);
    ++ks_emulated.live;
    return KS_OK;
}

void host_free(ks_gpu *gpu, void *memory)
{
    (void)unless_captured(of(gpu), "pinned memory is freed during a capture");
    run_all(of(gpu));
    --ks_emulated.live;
    free(memory);
}

ks_status stream_create(ks_gpu *gpu, ks_gpu_stream **out)
{
    *out = refused() ? nullptr : new (std::nothrow) ks_gpu_stream();
    if (!*out) return KS_ENOMEM;
    (*out)->owner = &of(gpu);
    (*out)->number = schedule_stream();
    of(gpu).streams.push_back(*out);
    ++ks_emulated.live;
    return KS_OK;
}

void stream_destroy(ks_gpu *gpu, ks_gpu_stream *stream)
{
    device &d = of(gpu);
    run_stream(stream);
    for (ks_gpu_stream *&s : d.streams)
        if (s == stream) {
            s = d.streams.back();
            d.streams.pop_back();
            break;
        }
    --ks_emulated.live;
    delete stream;
}

ks_status stream_sync(ks_gpu *gpu, ks_gpu_stream *stream)
{
    device &d = of(gpu);
    ++ks_emulated.waits;
    if (stream->joined) return fault(d, KS_EDEVICE, "a stream is waited for while it is captured");
    run_stream(stream);
    return d.failed;
}

ks_status event_create(ks_gpu *gpu, ks_gpu_event **out)
{
    (void)gpu;
    *out = refused() ? nullptr : new (std::nothrow) ks_gpu_event();
    if (!*out) return KS_ENOMEM;
    ++ks_emulated.live;
    return KS_OK;
}

void event_destroy(ks_gpu *gpu, ks_gpu_event *event)
{
    (void)gpu;
    --ks_emulated.live;
    delete event;
}

ks_status event_record(ks_gpu *gpu, ks_gpu_event *event, ks_gpu_stream *stream)
{
    device &d = of(gpu);
    event->recorded = stream->joined;
    event->after = stream->after;
    if (stream->joined) return d.failed;
    event->last = std::make_shared<record>();
    event->last->stream = stream;
    operation o = plain(RECORD, nullptr, nullptr, 0);
    o.event = event->last;
    return put(d, stream, o);
}

ks_status event_wait(ks_gpu *gpu, ks_gpu_event *event, ks_gpu_stream *stream)
{
    device &d = of(gpu);
    if (event->recorded) { /* joins the capture, or is joined */
        if (!event->recorded->graph)
            return fault(d, KS_EDEVICE, "an event of a capture that has ended is waited for");
        if (stream->joined && stream->joined != event->recorded)
            return fault(d, KS_EDEVICE, "a stream joins two captures");
        if (stream->owner != event->recorded->origin->owner)
            return fault(d, KS_EDEVICE, "a stream of another device joins a capture");
        stream->joined = event->recorded;
        stream->after.insert(stream->after.end(), event->after.begin(), event->after.end());
        return d.failed;
    }
    if (stream->joined)
        return fault(d, KS_EDEVICE, "a captured stream waits for what is not captured");
    if (!event->last) return d.failed;
    operation o = plain(WAIT, nullptr, nullptr, 0);
    o.event = event->last;
    return put(d, stream, o);
}

ks_status event_sync(ks_gpu *gpu, ks_gpu_event *event)
{
    device &d = of(gpu);
    ++ks_emulated.waits;
    if (event->recorded) return fault(d, KS_EDEVICE, "an event of a capture is waited for");
    if (event->last) run_until(*event->last);
    return d.failed;
}

ks_status event_elapsed(ks_gpu *gpu, double *milliseconds, ks_gpu_event *begin, ks_gpu_event *end)
{
    if (!begin->last || !begin->last->happened || !end->last || !end->last->happened)
        return fault(of(gpu), KS_EINVAL, "the time of an event that has not happened");
    *milliseconds = 1e3 * (end->last->time - begin->last->time);
    return KS_OK;
}

ks_status copy_in(ks_gpu *gpu, void *to, const void *from, size_t bytes, ks_gpu_stream *stream)
{
    device &d = of(gpu);
    if (!on_device(d, to, bytes) || touches_device(d, from))
        return fault(d, KS_EINVAL,
                     "a copy into the device goes past an allocation, or from none of the host");
    return put(d, stream, plain(COPY_IN, to, from, bytes));
}

ks_status copy_out(ks_gpu *gpu, void *to, const void *from, size_t bytes, ks_gpu_stream *stream)
{
    device &d = of(gpu);
    if (!on_device(d, from, bytes) || touches_device(d, to))
        return fault(
            d, KS_EINVAL,
            "a copy out of the device comes from past an allocation, or goes to none of the host");
    return put(d, stream, plain(COPY_OUT, to, from, bytes));
}

ks_status copy(ks_gpu *gpu, void *to, const void *from, size_t bytes, ks_gpu_stream *stream)
{
    device &d = of(gpu);
    if (!on_device(d, from, bytes) || !on_device(d, to, bytes))
        return fault(d, KS_EINVAL, "a copy inside the device goes past an allocation");
    return put(d, stream, plain(COPY, to, from, bytes));
}

ks_status copy_across(ks_gpu *gpu, ks_gpu *to_gpu, void *to, const void *from, size_t bytes,
                      ks_gpu_stream *stream)
{
    device &d = of(gpu), &other = of(to_gpu);
    if (!on_device(d, from, bytes) || !on_device(other, to, bytes))
        return fault(d, KS_EINVAL, "a copy between devices goes past an allocation");
    if (stream->owner != &d)
        return fault(d, KS_EINVAL, "a copy between devices in a stream of the wrong one");
    operation o = plain(COPY, to, from, bytes);
    o.other = &other == &d ? nullptr : &other;
    return put(d, stream, o);
}

void join(ks_gpu *, ks_gpu *) {} /* all memory is the host's */

ks_status fill(ks_gpu *gpu, void *to, int byte, size_t bytes, ks_gpu_stream *stream)
{
    device &d = of(gpu);
    if (!on_device(d, to, bytes)) return fault(d, KS_EINVAL, "a fill goes past an allocation");
    operation o = plain(FILL, to, nullptr, bytes);
    o.byte = byte;
    return put(d, stream, o);
}

ks_status find_kernel(ks_gpu *gpu, const ks_gpu_kernel **out, const char *module, const char *name)
{
    device &d = of(gpu);
    *out = nullptr;
    if (ks_emulated.old) return KS_EUNAVAILABLE;
    if (unless_captured(d, "a kernel is looked up during a capture")) return KS_EDEVICE;
    for (const ks_emu_kernel *k = all_kernels; k; k = k->next)
        if (!strcmp(k->module, module) && !strcmp(k->name, name)) {
            d.kernels.push_back({k});
            gpu->local = ks_emulated.local;
            *out = &d.kernels.back();
            return KS_OK;
        }
    return KS_EUNAVAILABLE;
}

ks_status resident(ks_gpu *gpu, int *blocks, const ks_gpu_kernel *kernel, int threads,
                   size_t shared)
{
    (void)kernel;
    const size_t limit = gpu->attributes.block_shared;
    *blocks = 0;
    if (threads < 1 || threads > gpu->attributes.block_threads || shared > limit) return KS_OK;
    const int by_threads = gpu->attributes.threads / threads, by_memory = (int)((limit + 1024) / (shared + 1024));
    *blocks = by_threads < by_memory ? by_threads : by_memory;
    if (*blocks > 32) *blocks = 32;
    return KS_OK;
}

size_t volume_of(const unsigned (&d)[3])
{
    size_t v = 1;
    for (unsigned n : d) v *= n ? n : 1;
    return v;
}

ks_status launch_kernel(ks_gpu *gpu, const ks_gpu_kernel *kernel, const ks_gpu_shape *shape,
                        const void *args, size_t args_bytes, ks_gpu_stream *stream)
{
    device &d = of(gpu);
    const ks_emu_kernel &k = *kernel->kernel;
    if (stream && stream->owner != &d) return fault(d, KS_EINVAL, "a stream of another device");
    if (stream->joined && ks_emulated.uncapturable && !strcmp(k.module, ks_emulated.uncapturable)) {
        spoilt = true;
        return KS_EDEVICE;
    }
    const size_t threads = volume_of(shape->block), blocks = volume_of(shape->grid);
    if (args_bytes != k.args_bytes) return fault(d, KS_EINVAL, "arguments of the wrong structure");
    if (threads > (size_t)gpu->attributes.block_threads || !shape->grid[0] || !shape->block[0] ||
        shape->grid[1] > 65535 || shape->grid[2] > 65535 || shape->grid[0] > 0x7fffffffu)
        return fault(d, KS_EINVAL, "a launch of a size that the device does not have");
    if (k.most_threads && threads > (size_t)k.most_threads)
        return fault(d, KS_EINVAL, "more threads than the kernel's bound");
    if (shape->shared > gpu->attributes.block_shared)
        return fault(d, KS_EINVAL, "more dynamic shared memory than a block has");
    int each = 0;
    (void)resident(gpu, &each, kernel, (int)threads, shape->shared);
    if (shape->cooperative && blocks > (size_t)each * (size_t)gpu->attributes.multiprocessors)
        return fault(d, KS_EINVAL, "a cooperative launch of more blocks than run at once");
    const size_t local = ks_gpu_local_bytes(gpu), more = local > d.local ? local - d.local : 0;
    if (more > gpu->attributes.memory - d.used) return KS_ENOMEM;
    d.used += more;
    d.local += more;
    operation o = plain(LAUNCH, nullptr, nullptr, 0);
    o.kernel = &k;
    o.shape = *shape;
    o.args.assign(static_cast<const char *>(args), static_cast<const char *>(args) + args_bytes);
    return put(d, stream, o);
}

ks_status capture_begin(ks_gpu *gpu, ks_gpu_stream *stream)
{
    device &d = of(gpu);
    if (stream->joined) return fault(d, KS_EDEVICE, "a stream is captured twice");
    stream->joined = std::make_shared<capture>();
    stream->joined->graph = std::make_unique<ks_gpu_graph>();
    stream->joined->origin = stream;
    stream->after.clear();
    ++captures;
    return KS_OK;
}

/* Whether all operations come before what the stream would do next. */
bool all_joined(const ks_gpu_graph &graph, const ks_gpu_stream &stream)
{
    std::vector<char> found(graph.nodes.size(), 0);
    for (size_t i : stream.after) found[i] = 1;
    for (size_t i = found.size(); i-- > 0;)
        for (size_t before : graph.nodes[i].after)
            if (found[i]) found[before] = 1;
    for (char one : found)
        if (!one) return false;
    return true;
}

ks_status capture_end(ks_gpu *gpu, ks_gpu_graph **out, ks_gpu_stream *stream)
{
    device &d = of(gpu);
    *out = nullptr;
    const std::shared_ptr<capture> ended = stream->joined;
    if (!ended || ended->origin != stream)
        return fault(d, KS_EDEVICE, "the end of a capture that was not begun");
    const bool good = !spoilt;
    if (--captures == 0) spoilt = false;
    std::unique_ptr<ks_gpu_graph> graph = std::move(ended->graph);
    const bool whole = all_joined(*graph, *stream);
    for (ks_gpu_stream *s : d.streams)
        if (s->joined == ended) {
            s->joined.reset();
            s->after.clear();
        }
    if (!whole) return fault(d, KS_EDEVICE, "a stream of a capture was not joined");
    if (!good) return KS_EDEVICE;
    if (refused()) return KS_ENOMEM;
    ++ks_emulated.live;
    *out = graph.release();
    return KS_OK;
}

ks_status graph_launch(ks_gpu *gpu, ks_gpu_graph *graph, ks_gpu_stream *stream)
{
    if (stream->joined)
        return unless_captured(of(gpu), "a graph is launched into a stream that is captured");
    auto launched = std::make_shared<graph_run>();
    launched->nodes = graph->nodes;
    launched->done.assign(graph->nodes.size(), 0);
    launched->left = graph->nodes.size();
    launched->stream = stream;
    launched->before = graph->launched;
    if (launched->before && !launched->before->left) launched->before.reset();
    graph->launched = launched;
    operation o = plain(GRAPH, nullptr, nullptr, 0);
    o.graph = launched;
    return put(of(gpu), stream, o);
}

void graph_destroy(ks_gpu *gpu, ks_gpu_graph *graph)
{
    (void)unless_captured(of(gpu), "a graph is destroyed during a capture");
    --ks_emulated.live;
    delete graph;
}

const ks_gpu_table table = {
    close_device,  alloc,          free_memory, host_alloc,    host_free,
    stream_create, stream_destroy, stream_sync, event_create,  event_destroy,
    event_record,  event_wait,     event_sync,  event_elapsed, copy_in,
    copy_out,      copy,           copy_across, join,          fill,
    find_kernel,   resident,       launch_kernel, capture_begin, capture_end,
    graph_launch,  graph_destroy,  room};
} // namespace

const ks_emu_kernel *ks_emu_kernels() { return all_kernels; }

ks_emu_kernel::ks_emu_kernel(const char *module_, const char *name_, void (*run_)(const void *),
                             size_t bytes, int threads)
    : module(module_), name(name_), run(run_), args_bytes(bytes), most_threads(threads),
      next(all_kernels)
{
    all_kernels = this;
}

int ks_gpu_absent(int number) { return number >= ks_emulated.devices; }

ks_status ks_gpu_open(ks_gpu **out, ks_context *context, int number)
{
    if (!out || number < 0) return KS_EINVAL;
    *out = nullptr;
    if (number >= ks_emulated.devices) return KS_ENODEV;
    device *d = refused() ? nullptr : new (std::nothrow) device();
    if (!d) return KS_ENOMEM;
    ++ks_emulated.live;
    d->context = context;
    d->random = random_source(ks_emulated.seed);
    schedule_device(*d, ks_emulated.seed);
    ks_gpu_attributes &a = d->gpu.attributes;
    snprintf(a.name, sizeof a.name, "emulated device %d", number);
    a.major = 9;
    a.multiprocessors = ks_emulated.multiprocessors;
    a.block_threads = 1024;
    a.threads = 2048;
    a.cooperative = 1;
    a.block_shared = ks_emulated.block_shared;
    a.memory = ks_emulated.memory;
    a.l2 = (size_t)1 << 20;
    d->gpu.table = &table;
    *out = &d->gpu;
    return KS_OK;
}
