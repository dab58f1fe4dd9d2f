/* coming.h -- rows that the next step reads or writes, asked for a few lines at a time while this one computes.
 * Asked for at once, more of them than a processor fetches at a time, they would hold the step up. */
#ifndef KS_COMING_H
#define KS_COMING_H

#include <stddef.h>
#include <stdint.h>
#include "hd.h"

enum { KS_LINE_BYTES = 64, KS_MOST_COMING = 12 };

typedef struct ks_coming {
    struct {
        const char *at;
        int64_t lines;
    } row[KS_MOST_COMING];
    int rows, now;     /* how many, and which is being asked for */
    int64_t lines;     /* of all                                 */
    int64_t at_a_time; /* of a tile                              */
} ks_coming;

/** There are `bytes` at `at` that are going to be read or written. */
KS_HD void ks_coming_add(ks_coming *c, const void *at, int64_t bytes)
{
    const int64_t lines = (bytes + KS_LINE_BYTES - 1) / KS_LINE_BYTES;
    if (c->rows == KS_MOST_COMING) return;
    c->row[c->rows].at = (const char *)at;
    c->row[c->rows].lines = lines;
    c->rows += 1;
    c->lines += lines;
}

/** All rows are known, and about so many tiles will ask for some of their lines. */
KS_HD void ks_coming_spread(ks_coming *c, int64_t tiles)
{
    c->at_a_time = (c->lines + tiles - 1) / tiles;
}

/** So many lines at `at`. */
typedef struct ks_lines {
    const char *at;
    int64_t count;
} ks_lines;

/** The next lines to ask for, at most `most`; none where coming is NULL. */
KS_HD ks_lines ks_coming_take(ks_coming *c, int64_t most)
{
    ks_lines lines = { NULL, 0 };
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

/** What is left of them at once, and none from then on. */
KS_HD void ks_coming_end(ks_coming *c)
{
    for (; c->now < c->rows; ++c->now)
        for (int64_t i = 0; i < c->row[c->now].lines; ++i)
            __builtin_prefetch(c->row[c->now].at + i * KS_LINE_BYTES);
    c->rows = c->now = 0;
    c->lines = 0;
}

#endif
