/* scan_device_ring.c -- the ring that rows go through on their way to threads, or to teams of them.
 *
 * By Little's law 4.8 TB/s at 0.7 to 1 us are 26 to 37 KB under way in each of 132 multiprocessors. Two stages
 * have one window of every thread under way: 106 KB where 256 threads take 416 bytes a step (4 states and 2
 * entries in double), so that there is no need for a third. What room is left makes windows longer. */
#include <string.h>
#include "scan_device.h"

/* Shared memory that the driver keeps of each block, and that a multiprocessor has more than a block. */
enum { KEPT = 1024, STAGES = 2 };

static int rounded(int64_t bytes) { return (int)((bytes + 15) / 16 * 16); }

/** Rows from `k0` to `k1` of an array whose row 0 leads into step `shift`, `ahead` steps ahead of those that
 *  are taken. */
static ks_ring_rows rows_of(ks_rows from, int64_t bytes, int64_t shift, int64_t ahead, int64_t k0, int64_t k1)
{
    const int64_t first = k0 > shift ? k0 - shift : 0;
    ks_ring_rows r;
    memset(&r, 0, sizeof r);
    r.base = from.base + (ahead - shift) * from.stride;
    r.stride = from.stride;
    r.bytes = (int)bytes;
    r.low = from.base + first * from.stride;
    r.high = from.base + (k1 - shift) * from.stride;
    return r;
}

static ks_ring_rows kept(ks_sink from, int64_t k0, int64_t k1)
{
    const ks_rows rows = { from.base - from.first * from.stride, from.stride };
    return rows_of(rows, from.stride, 0, 0, k0, k1);
}

static void take_rows(const ks_scan_device *d, int back, ks_ring *ring)
{
    const ks_series *s = &d->a.series;
    const int64_t number = d->a.single ? (int64_t)sizeof(float) : (int64_t)sizeof(double);
    const int64_t n = s->nx * number, m = s->ny * number, last = d->chunks.chunks * d->chunks.size;
    const int64_t k0 = d->chunks.begin * d->chunks.size, k1 = last < s->steps ? last : s->steps;
    ring->rows[KS_RING_F] = rows_of(s->F, s->nx * n, s->shift, back, k0, k1);
    ring->rows[KS_RING_Q] = rows_of(s->Q, s->nx * n, s->shift, back, k0, k1);
    ring->rows[KS_RING_U] = rows_of(s->u, n, s->shift, back, k0, k1);
    if (back) {
        ring->rows[KS_RING_MEAN] = kept(d->chunks.kept_mean, k0, k1);
        ring->rows[KS_RING_COV] = kept(d->chunks.kept_C, k0, k1);
        if (!d->chunks.two_filter) return;
    }
    ring->rows[KS_RING_H] = rows_of(s->H, s->ny * n, 0, back, k0, k1);
    ring->rows[KS_RING_R] = rows_of(s->R, s->ny * m, 0, back, k0, k1);
    ring->rows[KS_RING_D] = rows_of(s->d, m, 0, back, k0, k1);
    ring->rows[KS_RING_Y] = rows_of(s->y, m, 0, back, k0, k1);
}

/** Whether any row varies, and those that do stand close together from multiples of 16 bytes on. */
static int fits_rows(const ks_ring *ring, int64_t size)
{
    int varies = 0;
    for (int i = 0; i < KS_RING_ARRAYS; ++i) {
        const ks_ring_rows *r = &ring->rows[i];
        if (r->stride == 0) continue;
        varies = 1;
        if (r->stride != r->bytes || (uintptr_t)r->low % 16 != 0 || size * r->stride % 16 != 0) return 0;
    }
    return varies;
}

/** How far inside of a piece of 16 bytes a window may begin. */
static int64_t most_ahead(const ks_ring_rows *r, int window)
{
    const int64_t bytes = window * r->stride, base = (int64_t)((uintptr_t)r->base % 16);
    const int64_t even = bytes % 16 ? bytes & -bytes : 16; /* windows are a multiple of it apart */
    return base % even + 16 - even;
}

/** Lay out a block's memory: barriers of its warps or teams, rows that do not vary, slots of threads or teams. */
static void lay_out(ks_ring *ring, int window, int stages, int barriers, int slots)
{
    int at = rounded(barriers * stages * 8), stage = 0;
    ring->window = window;
    ring->stages = stages;
    for (int i = 0; i < KS_RING_ARRAYS; ++i) {
        ks_ring_rows *const r = &ring->rows[i];
        int *const end = r->stride ? &stage : &at;
        const int bytes = r->stride ? rounded(window * r->stride + most_ahead(r, window)) : rounded(r->bytes);
        r->at = *end;
        *end += bytes;
        for (r->lanes = 0; r->lanes < 5 && 16 << r->lanes < bytes; ++r->lanes) continue;
    }
    ring->stage = stage;
    ring->slots = at;
    /* Threads read 16 bytes each from as many banks as there are. */
    ring->slot = (stages * stage / 16 | 1) * 16;
    ring->bytes = ring->slots + slots * ring->slot;
}

void ks_chunks_ring(const ks_scan_device *d, int back, int blocks, ks_ring *ring)
{
    const ks_gpu_attributes *gpu = &d->gpu->attributes;
    const ks_team_shape *const team = back ? &d->team_back : &d->team;
    const int64_t chunks = d->chunks.chunks - d->chunks.begin, own = (int64_t)ks_team_shared(team);
    /* A slot for each chunk of a block, and what the launch has blocks for. */
    const int slots = team->lanes ? team->teams : KS_SCAN_THREADS, barriers = team->lanes ? slots : slots / 32;
    const int64_t wanted = (chunks + slots - 1) / slots;
    const int64_t launched = team->blocks && team->blocks < wanted ? team->blocks : wanted;
    /* No more blocks are side by side than there are. */
    const int64_t all = (launched + gpu->multiprocessors - 1) / gpu->multiprocessors;
    const int64_t beside = all < blocks ? all : blocks;
    const int64_t most = ((int64_t)gpu->block_shared + KEPT) / (beside > 0 ? beside : 1) - KEPT - own;
    const int64_t room = d->ring_window ? (int64_t)gpu->block_shared - own : most;
    memset(ring, 0, sizeof *ring);
    if (d->fill == KS_FILL_NONE || (team->lanes && d->fill == KS_FILL_PIECES)) return;
    take_rows(d, back, ring);
    const int fits = fits_rows(ring, d->chunks.size);
    int window = d->ring_window ? d->ring_window : KS_RING_WINDOW;
    lay_out(ring, window, d->ring_stages ? d->ring_stages : STAGES, barriers, slots);
    while (window > 1 && ring->bytes > room) lay_out(ring, window /= 2, ring->stages, barriers, slots);
    if (fits && ring->bytes <= room) ring->fill = d->fill;
    else ring->bytes = 0;
}
