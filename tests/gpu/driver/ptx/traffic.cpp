/* traffic.cpp -- see traffic.h. */
#include "traffic.h"

#include <algorithm>
#include <set>
#include <stdio.h>
#include <stdlib.h>

const bool ptx_traffic = getenv("KS_DRIVER_TRAFFIC");

namespace
{
enum { LANES = 32, SECTOR = 32, BANKS = 32, WORD = 4, SPACES = 3 };

struct totals {
    ptx_space space;
    long requests, moved, needed;
};
struct executed {
    std::string what;
    long times;
};
struct kernel {
    long threads = 0, warps = 0, instructions = 0, most = 0;
    std::set<uint32_t> launches;
    std::map<std::string, totals> operations;
    std::map<const ptx_op *, executed> times; /* of all warps, in the order of the program */
};

struct lane {
    uint32_t number, bytes;
    uint64_t at;
};
/* What the lanes of a warp have touched by one operation, the first time, the second, ... */
struct warp {
    size_t ended = 0;
    std::unordered_map<const ptx_op *, uint32_t> executed;
    std::map<const ptx_op *, std::vector<std::vector<lane>>> touched;
    std::map<const ptx_op *, ptx_space> spaces;
};

class report
{
  public:
    std::map<std::string, kernel> kernels;
    std::map<std::pair<uint32_t, uint32_t>, warp> warps; /* of the launch under way, by block and number */
    uint32_t launch = 0;

    ~report()
    {
        FILE *const file = ptx_traffic ? fopen(getenv("KS_DRIVER_TRAFFIC"), "w") : nullptr;
        if (!file) return;
        for (const auto &k : kernels) {
            fprintf(file, "kernel %s launches %zu threads %ld warps %ld instructions %ld most %ld\n", k.first.c_str(),
                    k.second.launches.size(), k.second.threads, k.second.warps, k.second.instructions, k.second.most);
            for (auto o = k.second.times.begin(); o != k.second.times.end();) {
                const executed &first = o->second, *last = &first;
                long operations = 0;
                for (; o != k.second.times.end() && o->second.times == first.times; last = &o++->second) ++operations;
                fprintf(file, "%s from %s, to %s: operations %ld times %ld\n", k.first.c_str(), first.what.c_str(),
                        last->what.c_str(), operations, first.times);
            }
            for (const auto &o : k.second.operations) {
                const totals &t = o.second;
                fprintf(file, "%s %s: requests %ld, ", k.first.c_str(), o.first.c_str(), t.requests);
                if (t.space == PTX_GENERIC) fprintf(file, "local\n");
                else fprintf(file, "%s %ld of %ld needed\n", t.space == PTX_SHARED ? "passes" : "sectors", t.moved, t.needed);
            }
        }
        (void)fclose(file);
    }
};
report all_traffic;

long up(size_t bytes, size_t unit) { return (long)((bytes + unit - 1) / unit); }

void count_sectors(const std::vector<lane> &lanes, totals &t)
{
    std::set<uint64_t> sectors;
    std::set<std::pair<uint64_t, uint32_t>> places;
    for (const lane &l : lanes) {
        for (uint64_t s = l.at / SECTOR; s <= (l.at + l.bytes - 1) / SECTOR; ++s) sectors.insert(s);
        places.insert({l.at, l.bytes});
    }
    size_t bytes = 0;
    for (const auto &p : places) bytes += p.second;
    t.moved += (long)sectors.size();
    t.needed += up(bytes, SECTOR);
}

/* Words of 8 bytes are served to half a warp at once, of 16 to a quarter. */
void count_passes(const std::vector<lane> &lanes, totals &t)
{
    const size_t bytes = lanes[0].bytes, together = LANES * WORD / std::max<size_t>(WORD, bytes);
    for (size_t from = 0; from < LANES; from += together) {
        std::set<uint64_t> words;
        for (const lane &l : lanes)
            for (uint64_t b = 0; b < bytes && l.number / together == from / together; b += WORD)
                words.insert((l.at + b) / WORD);
        long of_bank[BANKS] = {0}, most = 0;
        for (uint64_t w : words) most = std::max(most, ++of_bank[w % BANKS]);
        t.moved += most;
        t.needed += up(words.size(), BANKS);
    }
}

void count(kernel &k, warp &w)
{
    long instructions = 0;
    for (const auto &op : w.executed) instructions += op.second;
    ++k.warps;
    for (const auto &op : w.executed)
        k.times.emplace(op.first, executed{op.first->what, 0}).first->second.times += op.second;
    k.instructions += instructions;
    k.most = std::max(k.most, instructions);
    for (const auto &op : w.touched) {
        const ptx_space space = w.spaces[op.first];
        totals &t = k.operations.emplace(op.first->what, totals{space, 0, 0, 0}).first->second;
        for (const std::vector<lane> &lanes : op.second) {
            ++t.requests;
            if (space == PTX_GLOBAL) count_sectors(lanes, t);
            if (space == PTX_SHARED) count_passes(lanes, t);
        }
    }
}
} // namespace

void ptx_touched(const ptx_op *o, ptx_frame &f, uint64_t at, size_t bytes, ptx_space space)
{
    if (all_traffic.launch != running->number) all_traffic.warps.clear();
    all_traffic.launch = running->number;
    if (space == PTX_GENERIC && ptx_on_device(*f.t, reinterpret_cast<const void *>((uintptr_t)at), bytes)) space = PTX_GLOBAL;
    const char *const p = reinterpret_cast<const char *>((uintptr_t)at);
    if (space == PTX_GENERIC && in_shared_memory(p, bytes)) {
        space = PTX_SHARED;
        const bool own = p >= f.t->shared && p < f.t->shared + f.t->shared_bytes;
        at = (uint64_t)(p - (own ? f.t->shared : f.t->dynamic));
    }
    warp &w = all_traffic.warps[{self->home->number, (uint32_t)self->number / LANES}];
    std::vector<std::vector<lane>> &times = w.touched[o];
    const uint32_t time = f.t->executed[o] - 1;
    if (times.size() <= time) times.resize(time + 1);
    times[time].push_back({(uint32_t)self->number % LANES, (uint32_t)bytes, at});
    w.spaces[o] = space;
}

void ptx_traffic_ends(ptx_thread &t)
{
    kernel &k = all_traffic.kernels[running->kernel.name];
    ++k.threads;
    k.launches.insert(running->number);
    const std::pair<uint32_t, uint32_t> key = {self->home->number, (uint32_t)self->number / LANES};
    const size_t first = key.second * LANES, all = self->home->threads.size();
    warp &w = all_traffic.warps[key];
    for (const auto &op : t.executed) w.executed[op.first] = std::max(w.executed[op.first], op.second);
    if (++w.ended < std::min<size_t>(LANES, all - first)) return;
    count(k, w);
    all_traffic.warps.erase(key);
}
