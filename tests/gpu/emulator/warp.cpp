/* warp.cpp -- what the lanes of a warp do together: shuffles, votes, __syncwarp(), products of the tensor cores. */
#include "block.h"
#include "product.h"
#include "races.h"

int ks_emu_lane(void) { return self->number % 32; }

void ks_emu_collective(const char *site, unsigned mask, void (*resolve)(void *const *, unsigned),
                       void *operand)
{
    thread *const me = self;
    block &b = *me->home;
    const size_t first = (size_t)(me->number / 32 * 32);
    const size_t lanes = b.threads.size() - first < 32 ? b.threads.size() - first : 32;
    if (lanes < 32) mask &= (1u << lanes) - 1;
    if (!(mask >> (me->number % 32) & 1)) abandon("a lane outside of the mask", site);
    me->mask = mask;
    me->resolve = resolve;
    me->operand = operand;
    me->now = AT_WARP;
    uint32_t &waiting = b.at_warp[first / 32];
    waiting |= 1u << (me->number % 32);
    bool all = (waiting & mask) == mask;
    if (!all) {
        wait_in(AT_WARP, site);
        return;
    }
    void *operands[32] = {nullptr};
    for (size_t i = 0; i < lanes && all; ++i) {
        const thread &t = b.threads[first + i];
        if (!(mask >> i & 1)) continue;
        all = t.mask == mask && t.resolve == resolve;
        operands[i] = t.operand;
    }
    if (!all) {
        wait_in(AT_WARP, site);
        return;
    }
    resolve(operands, mask);
    waiting &= ~mask;
    for (size_t i = 0; i < lanes; ++i)
        if (mask >> i & 1 && first + i != (size_t)me->number) wake(b.threads[first + i]);
    yield();
}

/* Every lane knows what any of them has known; nobody asks where races are not watched. */
static void resolve_sync(void *const *operands, unsigned mask)
{
    if (!races_watched) return;
    uint32_t known[32] = {0};
    for (int lane = 0; lane < 32; ++lane)
        for (int of = 0; mask >> lane & 1 && of < 32; ++of) {
            const uint32_t clock = static_cast<thread *>(operands[lane])->clock[of];
            if (clock > known[of]) known[of] = clock;
        }
    for (int lane = 0; lane < 32; ++lane) {
        if (!(mask >> lane & 1)) continue;
        thread &t = *static_cast<thread *>(operands[lane]);
        memcpy(t.clock, known, sizeof known);
        ++t.clock[lane];
    }
}

void ks_emu_warp_sync(const char *site, unsigned mask) { ks_emu_collective(site, mask, resolve_sync, self); }

struct ballot {
    int predicate;
    unsigned result;
};

static void resolve_ballot(void *const *operands, unsigned mask)
{
    unsigned result = 0;
    for (int i = 0; i < 32; ++i)
        if (mask >> i & 1 && static_cast<ballot *>(operands[i])->predicate) result |= 1u << i;
    for (int i = 0; i < 32; ++i)
        if (mask >> i & 1) static_cast<ballot *>(operands[i])->result = result;
}

unsigned ks_emu_ballot(const char *site, unsigned mask, int predicate)
{
    ballot b = {predicate, 0};
    ks_emu_collective(site, mask, resolve_ballot, &b);
    return b.result;
}

struct product {
    double *c;
    const double *a, *b;
    int m, k;
};

/* gpu/kernel_mma.h says which lane holds what. */
static void resolve_product(void *const *operands, unsigned mask)
{
    (void)mask;
    double a[16][16], b[16][8], c[16][8];
    const product &any = *static_cast<product *>(operands[0]);
    for (int lane = 0; lane < 32; ++lane) {
        const product &p = *static_cast<product *>(operands[lane]);
        const int g = lane / 4, t = lane % 4, tall = any.m / 8;
        for (int i = 0; i < tall * any.k / 4; ++i)
            a[g + 8 * (i % tall)][t + 4 * (i / tall)] = p.a[i];
        for (int i = 0; i < any.k / 4; ++i) b[t + 4 * i][g] = p.b[i];
        for (int i = 0; i < any.m / 4; ++i) c[g + 8 * (i / 2)][2 * t + i % 2] = p.c[i];
    }
    ks_emu_product_here()(c[0], a[0], b[0], any.m, any.k);
    for (int lane = 0; lane < 32; ++lane) {
        const product &p = *static_cast<product *>(operands[lane]);
        for (int i = 0; i < any.m / 4; ++i) p.c[i] = c[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2];
    }
}

void ks_emu_mma(double *c, const double *a, const double *b, int m, int k)
{
    product p = {c, a, b, m, k};
    if (self->home->threads.size() % 32) abandon("a product by a warp that is not whole", nullptr);
    ks_emu_collective("a product of the tensor cores", 0xffffffffu, resolve_product, &p);
}
