/* queue.cpp -- what waits in the streams of an emulated device, and what it does when it runs. */
#include <stdio.h>
#include <time.h>

#include "device.h"
#include "emulator.h"

enum { LOST = 719 }; /* CUDA_ERROR_LAUNCH_FAILED */

static double now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

ks_status fault(device &d, ks_status status, const char *text)
{
    if (!ks_emulated.report[0]) snprintf(ks_emulated.report, sizeof ks_emulated.report, "%s", text);
    d.gpu.code = -1;
    return status;
}

bool on_device(const device &d, const void *p, size_t bytes)
{
    for (auto &m : d.memory)
        if (m->holds(p, bytes)) return true;
    return false;
}

/* Of bytes, to see whether they have changed (Fowler, Noll, Vo: FNV-1a, on words). */
static uint64_t sum_of(const void *p, size_t bytes)
{
    const char *const from = static_cast<const char *>(p);
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = 0;
        memcpy(&word, from + i, bytes - i < 8 ? bytes - i : 8);
        sum = (sum ^ word) * 0x100000001b3u;
    }
    return sum;
}

static ks_status perform(device &d, operation &o)
{
    switch (o.what) {
    case COPY_IN:
        if (o.sum && o.sum != sum_of(o.from, o.bytes))
            return fault(d, KS_EDEVICE, "what is copied from the host changes before the copy has run");
        memcpy(o.to, o.from, o.bytes);
        break;
    case COPY_OUT:
    case COPY:
        memcpy(o.to, o.from, o.bytes);
        break;
    case FILL:
        memset(o.to, o.byte, o.bytes);
        break;
    case LAUNCH: {
        ++ks_emulated.launches;
        if (ks_emulated.watch && !strncmp(o.kernel->name, ks_emulated.watch, strlen(ks_emulated.watch)))
            ++ks_emulated.watched;
        const std::string text = run_launch(*o.kernel, o.shape, o.args.data(),
                                            d.gpu.attributes.block_shared, d.random);
        if (!text.empty()) return fault(d, KS_EDEVICE, text.c_str());
        break;
    }
    case RECORD:
        o.event->time = now();
        break;
    case WAIT:
        if (o.event->status) return o.event->status;
        break;
    case GRAPH:
        break;
    }
    for (auto &m : (o.other ? *o.other : d).memory)
        if (!m->intact())
            return fault(d, KS_EDEVICE,
                         (std::string(o.kernel ? o.kernel->name : "a copy") +
                          ": written outside of an allocation of the device")
                             .c_str());
    return KS_OK;
}

static void open_memory(const device *d, bool yes)
{
    if (!d) return;
    for (auto &m : d->memory) m->open(yes);
}

/* A sanitizer lets the program touch device memory meanwhile, and only then. */
void run(device &d, operation &o)
{
    if (!d.failed && ++ks_emulated.pieces == ks_emulated.lose_at) {
        d.failed = KS_EDEVICE;
        d.gpu.code = LOST;
    }
    if (!d.failed) {
        open_memory(&d, true);
        open_memory(o.other, true);
        d.failed = perform(d, o);
        open_memory(&d, false);
        open_memory(o.other, false);
    }
    if (o.what != RECORD) return;
    o.event->happened = true;
    o.event->status = d.failed;
}

ks_status put(device &d, ks_gpu_stream *s, operation o)
{
    if (!s) return fault(d, KS_EINVAL, "no stream");
    if (s->joined) {
        std::vector<node> &nodes = s->joined->graph->nodes;
        nodes.push_back({std::move(o), s->after, s->number});
        s->after.assign(1, nodes.size() - 1);
        return KS_OK;
    }
    /* A graph copies what is there when it runs. */
    if (o.what == COPY_IN) o.sum = sum_of(o.from, o.bytes);
    s->queue.push_back(std::move(o));
    ++ks_emulated.pending;
    run_ahead();
    return d.failed;
}

operation plain(kind what, void *to, const void *from, size_t bytes)
{
    operation o = operation();
    o.what = what;
    o.to = to;
    o.from = from;
    o.bytes = bytes;
    return o;
}
