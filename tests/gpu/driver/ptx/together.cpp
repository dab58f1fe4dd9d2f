/* together.cpp -- operations of PTX that threads do together: barriers, shuffles, votes, products of the tensor
 * cores. */
#include "program.h"

namespace
{
/* A barrier may stand in the text twice for one of the source, so all have one name. */
const char *const barrier = "a barrier of the block";

const ptx_op *block_barrier(const ptx_op *o, ptx_frame &)
{
    (void)ks_emu_block_barrier(barrier, 0);
    return o + 1;
}
enum { COUNT, OR, AND };
template <int HOW> const ptx_op *block_vote(const ptx_op *o, ptx_frame &f)
{
    const bool p = ptx_get<uint8_t>(f, o->s[0]);
    const int n = ks_emu_block_barrier(barrier, HOW == AND ? !p : p);
    if (HOW == COUNT) ptx_set(f, o->d, (uint32_t)n);
    else ptx_set<uint8_t>(f, o->d, HOW == OR ? n > 0 : n == 0);
    return o + 1;
}

const ptx_op *warp_barrier(const ptx_op *o, ptx_frame &f)
{
    ks_emu_warp_sync(o->what, ptx_get<uint32_t>(f, o->s[0]));
    return o + 1;
}
template <int HOW> const ptx_op *warp_vote(const ptx_op *o, ptx_frame &f)
{
    const bool p = ptx_get<uint8_t>(f, o->s[0]);
    const unsigned votes = ks_emu_ballot(o->what, ptx_get<uint32_t>(f, o->s[1]), HOW == AND ? !p : p);
    if (HOW == COUNT) ptx_set(f, o->d, votes);
    else ptx_set<uint8_t>(f, o->d, HOW == OR ? votes != 0 : votes == 0);
    return o + 1;
}

/* ---- shuffles: each lane brings a word and the lane that it wants one of ---- */

struct shuffled {
    uint32_t word;
    int source;
    uint32_t result;
    const char *what;
};
void shuffle(void *const *operands, unsigned mask)
{
    for (int lane = 0; lane < 32; ++lane) {
        if (!(mask >> lane & 1)) continue;
        shuffled &to = *static_cast<shuffled *>(operands[lane]);
        if (mask >> to.source & 1) to.result = static_cast<shuffled *>(operands[to.source])->word;
        else to.result = 0xffffffffu;
    }
}
enum { IDX, UP, DOWN, BFLY };
template <int HOW> const ptx_op *warp_shuffle(const ptx_op *o, ptx_frame &f)
{
    const int lane = ks_emu_lane(), b = ptx_get<int>(f, o->s[1]) & 31, c = ptx_get<int>(f, o->s[2]);
    const int segment = c >> 8 & 31, clamp = c & 31, least = lane & segment, most = least | (clamp & ~segment);
    const int j = HOW == UP ? lane - b : HOW == DOWN ? lane + b : HOW == BFLY ? lane ^ b : least | (b & ~segment);
    const bool there = HOW == UP ? j >= most : j <= most;
    shuffled s = {ptx_get<uint32_t>(f, o->s[0]), there ? j : lane, 0, o->what};
    ks_emu_collective(o->what, ptx_get<uint32_t>(f, o->s[3]), shuffle, &s);
    ptx_set(f, o->d, s.result);
    if (o->more) ptx_set<uint8_t>(f, *static_cast<const uint32_t *>(o->more), there);
    return o + 1;
}

/* ---- products ---- */

struct product {
    int m, k;
    std::vector<uint32_t> d, a, b, c;
};
const ptx_op *warp_product(const ptx_op *o, ptx_frame &f)
{
    const product &p = *static_cast<const product *>(o->more);
    double a[8], b[4], c[4];
    for (size_t i = 0; i < p.a.size(); ++i) a[i] = ptx_get<double>(f, p.a[i]);
    for (size_t i = 0; i < p.b.size(); ++i) b[i] = ptx_get<double>(f, p.b[i]);
    for (size_t i = 0; i < p.c.size(); ++i) c[i] = ptx_get<double>(f, p.c[i]);
    ks_emu_mma(c, a, b, p.m, p.k);
    for (size_t i = 0; i < p.d.size(); ++i) ptx_set(f, p.d[i], c[i]);
    return o + 1;
}

const ptx_op *trap(const ptx_op *o, ptx_frame &) { abandon("a trap", o->what); }

bool shuffles(ptx_decoder &d, const ptx_statement &s, ptx_op *o)
{
    const std::string &how = s.words[2], &to = s.operands[0];
    o->run = how == "idx" ? warp_shuffle<IDX> : how == "up" ? warp_shuffle<UP>
             : how == "down" ? warp_shuffle<DOWN> : how == "bfly" ? warp_shuffle<BFLY> : nullptr;
    const size_t mark = to.find('|');
    o->d = d.reg(to.substr(0, mark));
    if (mark != std::string::npos) o->more = d.keep(d.reg(to.substr(mark + 1)));
    for (size_t i = 0; i < 4; ++i) o->s[i] = d.reg(s.operands[i + 1]);
    return o->run;
}

/* Of the lanes that are here with this one nothing is known. */
const ptx_op *active(const ptx_op *o, ptx_frame &f)
{
    ptx_set(f, o->d, 1u << self->number % 32);
    return o + 1;
}

bool multiplies(ptx_decoder &d, const ptx_statement &s, ptx_op *o)
{
    product p = {};
    if (sscanf(s.words[3].c_str(), "m%dn8k%d", &p.m, &p.k) != 2 || s.words[4] != "row" || s.words[5] != "col") return false;
    p.d = d.vector(s.operands[0]);
    p.a = d.vector(s.operands[1]);
    p.b = d.vector(s.operands[2]);
    p.c = d.vector(s.operands[3]);
    o->run = warp_product;
    o->more = d.keep(p);
    return p.a.size() == (size_t)(p.m * p.k / 32) && p.b.size() == (size_t)(p.k / 4) && p.c.size() == (size_t)(p.m / 4);
}

bool votes(ptx_decoder &d, const ptx_statement &s, ptx_op *o, bool of_block)
{
    const std::string &how = s.words[2];
    const bool all = how == "and" || how == "all", any = how == "or" || how == "any";
    if (of_block) o->run = all ? block_vote<AND> : any ? block_vote<OR> : how == "popc" ? block_vote<COUNT> : nullptr;
    else o->run = all ? warp_vote<AND> : any ? warp_vote<OR> : how == "ballot" ? warp_vote<COUNT> : nullptr;
    o->d = d.reg(s.operands[0]);
    o->s[0] = d.reg(s.operands[of_block ? 2 : 1]);
    o->s[1] = d.reg(s.operands[of_block ? 1 : 2]);
    return o->run && (!of_block || s.operands[1] == "0");
}
} // namespace

bool ptx_together(ptx_decoder &d, const ptx_statement &s, ptx_op *o)
{
    const std::string &op = s.words[0];
    bool known = true;
    if (s.name == "bar.warp.sync") {
        o->run = warp_barrier;
        o->s[0] = d.reg(s.operands[0]);
    } else if (s.name == "bar.sync" || s.name == "barrier.sync") {
        o->run = block_barrier;
        known = s.operands.size() == 1 && s.operands[0] == "0";
    } else if (s.name == "activemask.b32") {
        o->run = active;
        o->d = d.reg(s.operands[0]);
    } else if (op == "bar") known = s.words[1] == "red" && votes(d, s, o, true);
    else if (op == "vote") known = votes(d, s, o, false);
    else if (op == "shfl") known = shuffles(d, s, o);
    else if (op == "mma") known = multiplies(d, s, o);
    else if (op == "trap") o->run = trap;
    else return false;
    if (!known || !o->run) throw "line " + std::to_string(s.line) + ": " + s.name + " is not known";
    return true;
}
