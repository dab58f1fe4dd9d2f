/* device.h -- an emulated device. Streams are queues of operations. Graphs are operations that depend on others of the
 * same graph. */
#ifndef EMULATED_DEVICE_H
#define EMULATED_DEVICE_H

#include <deque>
#include <memory>
#include "launch.h"

struct ks_gpu_kernel {
    const ks_emu_kernel *kernel;
};

/** One recording of an event. Operations that wait for it share ownership, so it outlives the event. */
struct record {
    ks_gpu_stream *stream;
    bool happened;
    ks_status status; /* of its device at that time */
    double time;
};

enum kind { COPY_IN, COPY_OUT, COPY, FILL, LAUNCH, RECORD, WAIT, GRAPH };

struct device;
struct graph_run;

struct operation {
    kind what;
    device *other; /* the destination of a copy, or NULL */
    void *to;
    const void *from;
    size_t bytes;
    int byte;
    uint64_t sum; /* checksum of data copied from the host, when the copy was enqueued */
    const ks_emu_kernel *kernel;
    ks_gpu_shape shape;
    std::vector<char> args;
    std::shared_ptr<record> event;
    std::shared_ptr<graph_run> graph;
};

struct node {
    operation what;
    std::vector<size_t> after; /* operations of the graph that must come before */
    long line;                 /* number of the stream that it was captured from */
};

/** A launched graph. */
struct graph_run {
    std::vector<node> nodes;
    std::vector<char> done;
    size_t first, left; /* the first that is not done; how many are not */
    ks_gpu_stream *stream;
    std::shared_ptr<graph_run> before; /* a graph does not run concurrently with itself */
};

struct ks_gpu_graph {
    std::vector<node> nodes;
    std::shared_ptr<graph_run> launched; /* last launch */
};

/** A capture, from its begin to its end. */
struct capture {
    std::unique_ptr<ks_gpu_graph> graph; /* NULL: it has ended */
    ks_gpu_stream *origin;
};

struct ks_gpu_event {
    std::shared_ptr<record> last;      /* or NULL */
    std::shared_ptr<capture> recorded; /* the capture that contains the last record, or NULL */
    std::vector<size_t> after;         /* operations of its graph that it stands for */
};

struct ks_gpu_stream {
    device *owner;
    long number; /* in the order in which streams were created */
    std::deque<operation> queue;
    std::shared_ptr<capture> joined; /* the capture that it takes part in, or NULL */
    std::vector<size_t> after;       /* operations of its graph that come before the next one */
};

struct device {
    ks_gpu gpu;
    ks_context *context;
    random_source random{0};
    size_t used;
    size_t local; /* memory taken for threads by the launches so far */
    ks_status failed; /* sticky, as with CUDA */
    std::vector<std::unique_ptr<guarded>> memory;
    std::vector<ks_gpu_stream *> streams;
    std::deque<ks_gpu_kernel> kernels;
};

inline device &of(ks_gpu *gpu) { return *reinterpret_cast<device *>(gpu); }

/** Record the first fault for the test to read, and return the status. */
ks_status fault(device &d, ks_status status, const char *text);

/** Whether `bytes` bytes from `p` on lie in one allocation of the device. */
bool on_device(const device &d, const void *p, size_t bytes);

/** Return the list of all kernels that were linked in. */
const ks_emu_kernel *ks_emu_kernels();

/** Make an operation on memory. */
operation plain(kind what, void *to, const void *from, size_t bytes);

/** Add an operation to a stream, or to the graph that the stream is captured into. */
ks_status put(device &d, ks_gpu_stream *s, operation o);

/** Execute an operation. */
void run(device &d, operation &o);

/* The scheduler; see schedule.cpp. */
void schedule_device(device &d, uint64_t seed); /**< from now on its streams take part */
void schedule_no_more(device &d);
long schedule_stream(void); /**< return a number for a new stream */

/** Called after an operation was added to a stream. */
void run_ahead(void);

/** Run the operations of a stream, or of all streams of a device: all of them, or until a record has happened. */
void run_stream(ks_gpu_stream *s);
void run_until(const record &r);
void run_all(device &d);

#endif
