/* coming.h -- rows that the next step reads or writes, asked for a few lines at a time while this one computes.
 * Asked for at once, more of them than a processor fetches at a time, they would hold the step up. */
#ifndef KS_COMING_H
#define KS_COMING_H

#include <stdint.h>
#include "hd.h"

enum { KS_LINE_BYTES = 64, KS_MOST_COMING = 12 };

typedef struct ks_coming {
    struct {
        const char *at;
        int64_t lines;
        int write;
    } row[KS_MOST_COMING];
    int rows, now;     /* how many, and which is being asked for */
    int64_t lines;     /* of all                                 */
    int64_t at_a_time; /* lines                                  */
} ks_coming;

/** There are `bytes` at `at` to be read, or written where `write` is set. */
KS_HD void ks_coming_add(ks_coming *c, const void *at, int64_t bytes, int write)
{
    const int64_t lines = (bytes + KS_LINE_BYTES - 1) / KS_LINE_BYTES;
    if (c->rows == KS_MOST_COMING) return;
    c->row[c->rows].at = (const char *)at;
    c->row[c->rows].lines = lines;
    c->row[c->rows].write = write;
    c->rows += 1;
    c->lines += lines;
}

/** All rows are known; ks_come() will be called about `calls` times. */
KS_HD void ks_coming_spread(ks_coming *c, int64_t calls)
{
    c->at_a_time = (c->lines + calls - 1) / calls;
}

/** Ask for the next of them, at most `lines`. */
KS_HD void ks_come(ks_coming *c, int64_t lines)
{
    while (lines > 0 && c->now < c->rows) {
        const char *at = c->row[c->now].at;
        const int64_t there = c->row[c->now].lines, some = there < lines ? there : lines;
        if (c->row[c->now].write)
            for (int64_t i = 0; i < some; ++i) __builtin_prefetch(at + i * KS_LINE_BYTES, 1);
        else
            for (int64_t i = 0; i < some; ++i) __builtin_prefetch(at + i * KS_LINE_BYTES);
        c->row[c->now].at = at + some * KS_LINE_BYTES;
        c->row[c->now].lines = there - some;
        lines -= some;
        if (some == there) c->now += 1;
    }
}

/** What is left of them at once, and none from then on. */
KS_HD void ks_coming_end(ks_coming *c)
{
    ks_come(c, c->lines);
    c->rows = c->now = 0;
    c->lines = 0;
}

#endif
