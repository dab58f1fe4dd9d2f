/* device.h -- an emulated device: streams are queues of operations, graphs are operations that come after
 * others of theirs. */
#ifndef EMULATED_DEVICE_H
#define EMULATED_DEVICE_H

#include <deque>
#include <memory>
#include "launch.h"

struct ks_gpu_kernel {
    const ks_emu_kernel *kernel;
};

/** What an event is recorded for, once; whoever waits for it holds on to it, also when the event is gone. */
struct record {
    ks_gpu_stream *stream;
    bool happened;
    ks_status status; /* of its device then */
    double time;
};

enum kind { COPY_IN, COPY_OUT, COPY, FILL, LAUNCH, RECORD, WAIT, GRAPH };

struct device;
struct graph_run;

struct operation {
    kind what;
    device *other; /* that a copy goes to, or NULL */
    void *to;
    const void *from;
    size_t bytes;
    int byte;
    uint64_t sum; /* of what is copied from the host, when it was put into a stream */
    const ks_emu_kernel *kernel;
    ks_gpu_shape shape;
    std::vector<char> args;
    std::shared_ptr<record> event;
    std::shared_ptr<graph_run> graph;
};

struct node {
    operation what;
    std::vector<size_t> after; /* operations of the graph that come before */
    long line;                 /* number of the stream that it was captured from */
};

/** A launched graph. */
struct graph_run {
    std::vector<node> nodes;
    std::vector<char> done;
    size_t first, left; /* the first that is not done; how many are not */
    ks_gpu_stream *stream;
    std::shared_ptr<graph_run> before; /* a graph does not run beside itself */
};

struct ks_gpu_graph {
    std::vector<node> nodes;
    std::shared_ptr<graph_run> launched; /* last */
};

/** A capture, from its begin to its end. */
struct capture {
    std::unique_ptr<ks_gpu_graph> graph; /* NULL: it has ended */
    ks_gpu_stream *origin;
};

struct ks_gpu_event {
    std::shared_ptr<record> last;      /* or NULL */
    std::shared_ptr<capture> recorded; /* that the last record went into, or NULL */
    std::vector<size_t> after;         /* operations of its graph that it stands for */
};

struct ks_gpu_stream {
    device *owner;
    long number; /* of the streams that were made since there was a device */
    std::deque<operation> queue;
    std::shared_ptr<capture> joined; /* that it is recorded into, or NULL */
    std::vector<size_t> after;       /* operations of its graph that come before the next one */
};

struct device {
    ks_gpu gpu;
    ks_context *context;
    random_source random{0};
    size_t used;
    size_t local; /* of that for threads, by launches so far */
    ks_status failed; /* stays, as it does with CUDA */
    std::vector<std::unique_ptr<guarded>> memory;
    std::vector<ks_gpu_stream *> streams;
    std::deque<ks_gpu_kernel> kernels;
};

inline device &of(ks_gpu *gpu) { return *reinterpret_cast<device *>(gpu); }

/** Note the first fault for the test to read, and return the status. */
ks_status fault(device &d, ks_status status, const char *text);

/** Whether `bytes` from `p` on lie in one allocation of the device. */
bool on_device(const device &d, const void *p, size_t bytes);

/** All kernels that were linked in, a list. */
const ks_emu_kernel *ks_emu_kernels();

/** An operation on memory. */
operation plain(kind what, void *to, const void *from, size_t bytes);

/** Put an operation into a stream, or into the graph that it is captured into. */
ks_status put(device &d, ks_gpu_stream *s, operation o);

/** Do what an operation says. */
void run(device &d, operation &o);

/* What runs next, see schedule.cpp. */
void schedule_device(device &d, uint64_t seed); /**< from now on its streams take part */
void schedule_no_more(device &d);
long schedule_stream(void); /**< a number for a stream that is made */

/** Something was put into a stream. */
void run_ahead(void);

/** Run what is in a stream, or in all of a device's: all of it, or until a record has happened. */
void run_stream(ks_gpu_stream *s);
void run_until(const record &r);
void run_all(device &d);

#endif
