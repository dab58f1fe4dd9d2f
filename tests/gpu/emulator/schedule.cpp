/* schedule.cpp -- which piece of work emulated devices do next.
 *
 * A piece is the operation at the head of a stream, or of a graph that has come there one whose predecessors are
 * done. Those that are ready may run in any order, when something is put into a stream or not before the host
 * waits; the seed says in which:
 *
 *     0          late: what somebody waits for, and what that waits for, no more
 *     1          at once, in the order of the calls
 *     2, 3, 6, 7 hasty streams run whatever they can, the others late. 2 and 3, 6 and 7 have them the other way
 *                round, and together they put every two of four streams both ways
 *     4, 5       at random, in moods from lazy to hasty
 *     8, ...     the same again, hasty streams drawn at random
 *
 * Of two pieces whose order nothing says, one or the other comes first under some of these, as far as the host
 * lets it (with priorities, as in Burckhardt, Kothari, Musuvathi, Nagarakatte, "A randomized scheduler with
 * probabilistic guarantees of finding bugs", 2010). */
#include <algorithm>

#include "device.h"
#include "emulator.h"

namespace
{
struct piece {
    ks_gpu_stream *stream;
    long at;     /* the operation of a graph; -1: the head of the stream itself */
    long number; /* of the stream that it was put into */
};

struct world {
    std::vector<device *> devices;
    long streams;
    uint64_t seed;
    random_source random{0};
    size_t mood;
} all;

enum { LATE = 0, AT_ONCE = 1 };

bool at_random() { return all.seed % 8 == 4 || all.seed % 8 == 5; }
bool hasty(long number)
{
    const uint64_t kind = all.seed % 8, pair = all.seed / 4;
    if (kind == LATE || at_random()) return false;
    if (kind == AT_ONCE) return true;
    const uint64_t bit = pair < 2 ? (uint64_t)number >> pair & 1
                                  : random_source(pair * 64 + (uint64_t)number).below(2);
    return bit == all.seed % 2;
}

bool comes_after(const std::vector<size_t> &before, const std::vector<char> &done)
{
    return std::all_of(before.begin(), before.end(), [&](size_t i) { return done[i]; });
}

/* What is ready of a stream. */
void add_pieces(ks_gpu_stream *s, std::vector<piece> &pieces)
{
    if (s->queue.empty()) return;
    const operation &o = s->queue.front();
    if (o.what == WAIT && !o.event->happened) return;
    if (o.what != GRAPH || !o.graph->left) {
        pieces.push_back({s, -1, s->number});
        return;
    }
    const graph_run &g = *o.graph;
    if (g.before && g.before->left) return;
    for (size_t i = g.first; i < g.nodes.size(); ++i)
        if (!g.done[i] && comes_after(g.nodes[i].after, g.done))
            pieces.push_back({s, (long)i, g.nodes[i].line});
}

std::vector<piece> ready()
{
    std::vector<piece> pieces;
    for (device *d : all.devices)
        for (ks_gpu_stream *s : d->streams) add_pieces(s, pieces);
    return pieces;
}

void do_piece(const piece &p)
{
    if (p.at < 0) {
        operation o = std::move(p.stream->queue.front());
        p.stream->queue.pop_front();
        --ks_emulated.pending;
        run(*p.stream->owner, o);
        return;
    }
    graph_run &g = *p.stream->queue.front().graph;
    run(*p.stream->owner, g.nodes[(size_t)p.at].what);
    g.done[(size_t)p.at] = 1;
    --g.left;
    while (g.first < g.nodes.size() && g.done[g.first]) ++g.first;
    if (g.left) return;
    g.before.reset();
    p.stream->queue.pop_front();
    --ks_emulated.pending;
}

/* One of those that are ready; false where none is. */
bool do_any()
{
    const std::vector<piece> pieces = ready();
    if (!pieces.empty()) do_piece(pieces[all.random.below(pieces.size())]);
    return !pieces.empty();
}

bool do_hasty()
{
    for (const piece &p : ready())
        if (hasty(p.number)) {
            do_piece(p);
            return true;
        }
    return false;
}

/* A piece of this stream, or one that it cannot go on without. */
void do_needed(ks_gpu_stream *s)
{
    const operation &o = s->queue.front();
    std::vector<piece> pieces;
    add_pieces(s, pieces);
    if (!pieces.empty()) do_piece(all.seed % 8 == LATE ? pieces.back() : pieces.front());
    else if (o.what == WAIT) do_needed(o.event->stream);
    else do_needed(o.graph->before->stream);
}

/* The host waits. */
template <class Done> void wait_for(ks_gpu_stream *s, Done done)
{
    while (!done()) {
        if (at_random()) (void)do_any();
        else if (!do_hasty()) do_needed(s);
    }
}
} // namespace

void schedule_device(device &d, uint64_t seed)
{
    if (all.devices.empty()) {
        all.streams = 0;
        all.seed = seed;
        all.random = random_source(seed);
        all.mood = 0;
    }
    all.devices.push_back(&d);
}

void schedule_no_more(device &d)
{
    all.devices.erase(std::find(all.devices.begin(), all.devices.end(), &d));
}

long schedule_stream() { return all.streams++; }

void run_ahead()
{
    if (!at_random()) {
        while (do_hasty()) continue;
        return;
    }
    if (all.random.below(8) == 0) all.mood = all.random.below(4);
    if (all.mood == 1) (void)do_any();
    else if (all.mood == 2)
        while (all.random.below(4) && do_any()) continue;
    else if (all.mood == 3)
        while (do_any()) continue;
}

void run_stream(ks_gpu_stream *s)
{
    wait_for(s, [=] { return s->queue.empty(); });
}

void run_until(const record &r)
{
    wait_for(r.stream, [&] { return r.happened; });
}

void run_all(device &d)
{
    for (ks_gpu_stream *s : d.streams) run_stream(s);
}
