/* prefetch.h -- a queue of software prefetches. It holds the cache lines of the rows that the next step reads or
 * writes. They are prefetched a few at a time between the tiles of the current step: all at once would exceed the
 * processor's line-fill buffers and stall the step. */
#ifndef KS_PREFETCH_H
#define KS_PREFETCH_H

#include <stddef.h>
#include <stdint.h>
#include "hd.h"

enum { KS_LINE_BYTES = 64, KS_PREFETCH_ROWS = 12 };

typedef struct ks_prefetch {
    struct {
        const char *at;
        int64_t lines;
    } row[KS_PREFETCH_ROWS];
    int rows, now;     /* number of rows, and the one being prefetched */
    int64_t lines;     /* of all rows                                  */
    int64_t at_a_time; /* most lines for one tile                      */
} ks_prefetch;

/** Queue the lines of `bytes` bytes at `at`, which will be read or written. A full queue ignores them. */
KS_HD void ks_prefetch_add(ks_prefetch *c, const void *at, int64_t bytes)
{
    const int64_t lines = (bytes + KS_LINE_BYTES - 1) / KS_LINE_BYTES;
    if (c->rows == KS_PREFETCH_ROWS) return;
    c->row[c->rows].at = (const char *)at;
    c->row[c->rows].lines = lines;
    c->rows += 1;
    c->lines += lines;
}

/** Call this when all rows are queued: spread their lines evenly over about `tiles` tiles. */
KS_HD void ks_prefetch_spread(ks_prefetch *c, int64_t tiles)
{
    c->at_a_time = (c->lines + tiles - 1) / tiles;
}

/** `count` lines from `at` on. */
typedef struct ks_prefetch_lines {
    const char *at;
    int64_t count;
} ks_prefetch_lines;

/** Take the next lines to prefetch, at most `most`; none if the queue is NULL. */
KS_HD ks_prefetch_lines ks_prefetch_take(ks_prefetch *c, int64_t most)
{
    ks_prefetch_lines lines = { NULL, 0 };
    if (!c || c->now == c->rows) return lines;
    const int64_t there = c->row[c->now].lines;
    if (most > c->at_a_time) most = c->at_a_time;
    lines.at = c->row[c->now].at;
    lines.count = there < most ? there : most;
    c->row[c->now].at += lines.count * KS_LINE_BYTES;
    c->row[c->now].lines -= lines.count;
    if (lines.count == there) c->now += 1;
    return lines;
}

/** Prefetch all lines that are left, and empty the queue. */
KS_HD void ks_prefetch_flush(ks_prefetch *c)
{
    for (; c->now < c->rows; ++c->now)
        for (int64_t i = 0; i < c->row[c->now].lines; ++i)
            __builtin_prefetch(c->row[c->now].at + i * KS_LINE_BYTES);
    c->rows = c->now = 0;
    c->lines = 0;
}

#endif
