/* device.h -- an emulated device: streams are queues of operations, graphs are lists of them. */
#ifndef EMULATED_DEVICE_H
#define EMULATED_DEVICE_H

#include <deque>
#include <memory>
#include "launch.h"

struct ks_gpu_kernel {
    const ks_emu_kernel *kernel;
};

struct ks_gpu_event {
    long recorded, happened; /* the number of a record, 0: none */
    ks_gpu_stream *stream;   /* of the last record */
    ks_gpu_graph *graph;     /* that the record went into, or NULL */
    size_t length;           /* of that graph then */
    double time;
};

enum kind { COPY_IN, COPY_OUT, COPY, FILL, LAUNCH, RECORD, WAIT };

struct device;

struct operation {
    kind what;
    device *other; /* that a copy goes to, or NULL */
    void *to;
    const void *from;
    size_t bytes;
    int byte;
    const ks_emu_kernel *kernel;
    ks_gpu_shape shape;
    std::vector<char> args;
    ks_gpu_event *event;
    long number;
};

struct ks_gpu_graph {
    std::vector<operation> operations;
};

struct ks_gpu_stream {
    device *owner;
    bool at_once; /* runs what is put into it; else when somebody waits */
    std::deque<operation> queue;
    ks_gpu_graph *graph;   /* that it is recorded into */
    ks_gpu_stream *origin; /* whose capture it joined */
    size_t last,
        joined; /* lengths of the graph: after its last operation, and what was waited for */
};

struct device {
    ks_gpu gpu;
    ks_context *context;
    random_source random{0};
    uint64_t seed;
    long streams_made;
    size_t used;
    long records;
    ks_status failed; /* stays, as it does with CUDA */
    std::vector<std::unique_ptr<guarded>> memory;
    std::vector<ks_gpu_stream *> streams;
    std::deque<ks_gpu_kernel> kernels;
    fibre_stock stock;
};

inline device &of(ks_gpu *gpu) { return *reinterpret_cast<device *>(gpu); }

/** Note the first fault for the test to read, and return the status. */
ks_status fault(device &d, ks_status status, const char *text);

/** Whether `bytes` from `p` on lie in one allocation of the device. */
bool on_device(const device &d, const void *p, size_t bytes);

/** An operation on memory. */
operation plain(kind what, void *to, const void *from, size_t bytes);

/** Put an operation into a stream, or into the graph that it is captured into. */
ks_status put(device &d, ks_gpu_stream *s, const operation &o);

/** Run what is in a stream: all of it, or until `until` has happened for the `number`th time. */
void run_stream(device &d, ks_gpu_stream *s, const ks_gpu_event *until, long number);
void run_all(device &d);

#endif
