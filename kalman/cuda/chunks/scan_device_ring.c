/* scan_device_ring.c -- lay out the ring through which rows reach threads or teams.
 *
 * By Little's law, 4.8 TB/s at a latency of 0.7 to 1 us takes 26 to 37 KB in flight in each of 132 multiprocessors. Two
 * stages have one window of every thread in flight: 93 KB if 224 threads take 416 bytes a step (4 states and 2 entries
 * in double). So there is no need for a third stage. Remaining room is used for longer windows. */
#include <stdint.h>
#include <string.h>
#include "scan_device.h"

/* KEPT: bytes of shared memory that the driver reserves for each block. A multiprocessor has that much more than the
 * largest block. UNIT: a block has a multiple of so many. */
enum { KEPT = 1024, UNIT = 128, STAGES = 2 };

/* Most bytes from a chunk to the next one, so that the offsets between 32 of them fit an int. */
static const int64_t MOST_APART = INT32_MAX / 64;

/* Most bytes of a window that a warp copies at once, in pieces of 16. */
enum { MOST_WHOLE = 512 };

static int rounded(int64_t bytes) { return (int)((bytes + 15) / 16 * 16); }

/** log2 of the threads that copy so many bytes, `unit` bytes each; at most 5. */
static int lanes_of(int bytes, int unit)
{
    int lanes = 0;
    while (lanes < 5 && unit << lanes < bytes) ++lanes;
    return lanes;
}

/** Rows of steps k0 .. k1 - 1 of an array whose row 0 belongs to step `shift`. A pass at step k reads the row of step
 *  k + ahead. */
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

static void take_rows(const ks_scan_device *d, ks_pass pass, ks_ring *ring)
{
    const int back = pass == KS_PASS_BACK;
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

/** Set which arrays vary. Return whether any does, and all that do are contiguous with chunks aligned to 16 bytes. */
static int fits_rows(ks_ring *ring, int64_t size)
{
    for (int i = 0; i < KS_RING_ARRAYS; ++i) {
        const ks_ring_rows *r = &ring->rows[i];
        if (r->stride == 0) continue;
        ring->varies |= 1u << i;
        if (r->stride != r->bytes || size > MOST_APART || (uintptr_t)r->low % 16 != 0 || size * r->stride % 16 != 0)
            return 0;
    }
    return ring->varies != 0;
}

/** Set the results that the warp stores, if all of them consist of whole aligned pieces. */
static void take_results(const ks_scan_device *d, ks_pass pass, ks_ring *ring)
{
    const int64_t n = d->a.series.nx, mean = n * (d->a.single ? 4 : 8), cov = n * n * (d->a.single_cov ? 4 : 8);
    const int64_t bytes[KS_RING_RESULTS] = { mean, cov };
    const ks_chunk_arrays *const c = &d->chunks;
    ks_sink to[KS_RING_RESULTS] = { d->a.to.filtered_mean, d->a.to.filtered_cov };
    if (pass == KS_PASS_ABSORB) return;
    if (c->smooths) to[KS_RING_TO_MEAN] = c->kept_mean, to[KS_RING_TO_COV] = c->kept_C;
    if (pass == KS_PASS_BACK)
        to[KS_RING_TO_MEAN] = d->a.back.smoothed_mean, to[KS_RING_TO_COV] = d->a.back.smoothed_cov;
    for (int i = 0; i < KS_RING_RESULTS; ++i)
        if (!to[i].base || to[i].stride != bytes[i] || bytes[i] % 16 != 0 || (uintptr_t)to[i].base % 16 != 0 ||
            bytes[i] > MOST_WHOLE || c->size * bytes[i] > MOST_APART)
            return;
    for (int i = 0; i < KS_RING_RESULTS; ++i) {
        ks_ring_results *const r = &ring->results[i];
        r->base = to[i].base - to[i].first * to[i].stride;
        r->bytes = (int)bytes[i];
        r->apart = (int)(c->size * bytes[i]);
        r->lanes = lanes_of(r->bytes, 16);
        r->piece = (16 << r->lanes) - 16;
        r->next = (32 >> r->lanes) * r->apart;
    }
}

/** Set the range of steps for which the rows of all arrays that vary are in memory. */
static void find_steps(ks_ring *ring)
{
    ring->from = INT64_MIN;
    ring->to = INT64_MAX;
    for (int i = 0; i < KS_RING_ARRAYS; ++i) {
        const ks_ring_rows *r = &ring->rows[i];
        if (r->stride == 0) continue;
        const int64_t from = (r->low - r->base) / r->stride, to = (r->high - r->base) / r->stride;
        if (from > ring->from) ring->from = from;
        if (to < ring->to) ring->to = to;
    }
}

/** The size of the largest pieces that windows of a row consist of: 16, 8 or 4 bytes. 0 if a warp cannot copy a window
 *  at once in such pieces. Chunks are a multiple of 16 bytes apart. */
static int unit_of(const ks_ring_rows *r, int window)
{
    const int64_t bytes = window * r->stride;
    int unit = 16;
    while (unit > 4 && ((uintptr_t)r->base | (uintptr_t)bytes) % (unsigned)unit != 0) unit /= 2;
    return bytes <= 32 * unit ? unit : 0;
}

/** Whether, for some array, a warp cannot copy a window at once although it could copy a window of one step. */
static int too_wide(const ks_ring *ring)
{
    for (int i = 0; i < KS_RING_ARRAYS; ++i) {
        const ks_ring_rows *const r = &ring->rows[i];
        if (r->stride <= MOST_WHOLE && ring->window * r->stride > MOST_WHOLE) return 1;
        if (unit_of(r, 1) && !unit_of(r, ring->window)) return 1;
    }
    return 0;
}

/** The largest offset in a piece of 16 bytes at which a window may begin. */
static int64_t most_ahead(const ks_ring_rows *r, int window)
{
    const int64_t bytes = window * r->stride, base = (int64_t)((uintptr_t)r->base % 16);
    const int64_t even = bytes % 16 ? bytes & -bytes : 16; /* the distance of windows is a multiple of this */
    return base % even + 16 - even;
}

/** Whether results fit in the places of u and F. */
static int fits_there(const ks_ring *ring)
{
    static const int place[KS_RING_RESULTS] = { KS_RING_U, KS_RING_F };
    for (int i = 0; i < KS_RING_RESULTS; ++i) {
        const ks_ring_rows *const r = &ring->rows[place[i]];
        if (!(ring->whole >> place[i] & 1) || r->stride % 16 != 0 || r->bytes < ring->results[i].bytes) return 0;
    }
    return 1;
}

/** Lay out a block's memory: barriers of its teams, rows that do not vary, slots of threads or teams. */
static void lay_out(ks_ring *ring, int64_t size, int window, int stages, int barriers, int slots)
{
    int at = rounded(barriers * stages * 8), stage = 0;
    ring->window = window;
    ring->stages = stages;
    ring->whole = ring->fine = 0;
    for (int i = 0; i < KS_RING_ARRAYS; ++i) {
        ks_ring_rows *const r = &ring->rows[i];
        int *const end = r->stride ? &stage : &at;
        r->apart = size * r->stride > MOST_APART ? 0 : (int)(size * r->stride);
        const int whole = barriers || !r->apart ? 0 : unit_of(r, window);
        const int64_t window_bytes = window * r->stride + (whole ? 0 : most_ahead(r, window));
        r->at = *end;
        *end += rounded(r->stride ? window_bytes : r->bytes);
        r->unit = whole ? whole : 16;
        r->lanes = lanes_of((int)window_bytes, r->unit);
        r->piece = (r->unit << r->lanes) - r->unit;
        r->next = (32 >> r->lanes) * r->apart;
        if (whole) ring->whole |= 1u << i;
        if (whole && whole < 16) ring->fine |= 1u << i;
    }
    ring->stage = stage;
    ring->slots = at;
    int slot = stages * stage;
    ring->reuses = fits_there(ring);
    for (int i = 0; i < KS_RING_RESULTS && !ring->reuses; ++i) {
        ring->results[i].at = slot;
        slot += ring->results[i].bytes;
    }
    /* An odd multiple of 16 bytes: threads that read 16 bytes each use all banks. */
    ring->slot = (slot / 16 | 1) * 16;
    for (int i = 0; i < KS_RING_ARRAYS; ++i) ring->rows[i].slots = (32 >> ring->rows[i].lanes) * ring->slot;
    for (int i = 0; i < KS_RING_RESULTS; ++i) ring->results[i].slots = (32 >> ring->results[i].lanes) * ring->slot;
    ring->bytes = ring->slots + slots * ring->slot;
}

void ks_chunks_ring(const ks_scan_device *d, ks_pass pass, int blocks, ks_ring *ring)
{
    const ks_gpu_attributes *gpu = &d->gpu->attributes;
    const ks_team_shape *const team = pass == KS_PASS_BACK ? &d->team_back : &d->team;
    /* All chunks, not only those of a part: the kernels with a ring and those without round alike only as far as the
     * compiler contracts alike, and a series is to have the same bits whole and in parts. */
    const int64_t chunks = d->tiles.count;
    const int64_t sums = pass == KS_PASS_ABSORB && !team->lanes ? d->absorb_shared : 0;
    const int64_t own = (int64_t)ks_team_shared(team) + sums;
    /* Slots: the chunks of a block. The launch has a block for each `slots` chunks, or fewer blocks of teams. */
    const int slots = team->lanes ? team->teams : KS_CHUNK_THREADS, barriers = team->lanes ? slots : 0;
    const int64_t wanted = (chunks + slots - 1) / slots;
    const int64_t launched = team->blocks && team->blocks < wanted ? team->blocks : wanted;
    /* Blocks that share a multiprocessor: no more than a launch of all chunks has for each. */
    const int64_t all = (launched + gpu->multiprocessors - 1) / gpu->multiprocessors;
    const int64_t beside = all < blocks ? all : blocks;
    const int64_t share = ((int64_t)gpu->block_shared + KEPT) / (beside > 0 ? beside : 1) - KEPT;
    const int64_t most = share / UNIT * UNIT - own;
    const int64_t room = d->ring_window ? (int64_t)gpu->block_shared - own : most;
    memset(ring, 0, sizeof *ring);
    if (d->fill != (team->lanes ? KS_FILL_BULK : KS_FILL_PIECES)) return;
    take_rows(d, pass, ring);
    find_steps(ring);
    if (!team->lanes) take_results(d, pass, ring);
    const int fits = fits_rows(ring, d->chunks.size);
    const int stages = team->lanes && d->ring_stages ? d->ring_stages : STAGES;
    int window = d->ring_window ? d->ring_window : KS_RING_WINDOW;
    lay_out(ring, d->chunks.size, window, stages, barriers, slots);
    while (window > 1 && (ring->bytes > room || (!team->lanes && !d->ring_window && too_wide(ring))))
        lay_out(ring, d->chunks.size, window /= 2, stages, barriers, slots);
    if (ring->bytes > room) {
        memset(ring->results, 0, sizeof ring->results);
        lay_out(ring, d->chunks.size, window, stages, barriers, slots);
    }
    if (fits && ring->bytes <= room) ring->fill = d->fill;
    else ring->bytes = 0;
}
