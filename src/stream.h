/* stream.h -- rows that are contiguous in memory and not read again soon, written past the caches. A write through a
 * cache first reads the line into it, so the line crosses to memory and back. Only whole lines are written past the
 * caches. If two rows share a line, the part of one row waits for the part of the other. For plain C on the CPU. */
#ifndef KS_STREAM_H
#define KS_STREAM_H

#include <stdint.h>
#include <string.h>
#include "hd.h"

enum {
    KS_STREAM_LINE = 64,   /* bytes */
    KS_STREAM_LEAST = 512, /* bytes of a row: in shorter ones partial lines take too long */
    KS_STREAM_PAYS = 3 << 22 /* bytes of all rows: fewer may still be in a cache when they are read */
};

typedef long long ks_stream_vector __attribute__((vector_size(KS_VECTOR_BYTES), may_alias));
typedef long long ks_stream_vector_at __attribute__((vector_size(KS_VECTOR_BYTES), aligned(1), may_alias));

typedef struct ks_stream {
    char *line;  /* the line that a part waits for, or NULL                        */
    int64_t cut; /* how many of its bytes, from the first, belong to the lower row */
    int upper;   /* which part waits: of the lower or of the upper row             */
    _Alignas(KS_STREAM_LINE) char room[3 * KS_STREAM_LINE]; /* the part is in the middle; copies overrun it */
} ks_stream;

/** Write one line. */
KS_HD void ks_stream_line(char *to, const char *from)
{
#pragma GCC unroll 4
    for (int i = 0; i < KS_STREAM_LINE; i += KS_VECTOR_BYTES) {
        const ks_stream_vector v = *(const ks_stream_vector_at *)(const void *)(from + i);
        KS_WRITE_PAST((ks_stream_vector *)(void *)(to + i), v);
    }
}

/** Write the part that waits, if any. */
KS_HD_COLD void ks_stream_flush(ks_stream *s)
{
    const char *line = s->room + KS_STREAM_LINE;
    const int64_t cut = s->cut;
    if (!s->line) return;
    if (s->upper) memcpy(s->line + cut, line + cut, (size_t)(KS_STREAM_LINE - cut));
    else memcpy(s->line, line, (size_t)cut);
    s->line = NULL;
}

/** Add part of a line: its first `cut` bytes, which are the last of a row that ends at `end`, or (upper) the bytes
 *  after them, the first of a row that begins at `start`. */
KS_HD void ks_stream_part(ks_stream *s, char *line, int64_t cut, int upper, const char *start, const char *end)
{
    char *const room = s->room + cut + (upper ? KS_STREAM_LINE : 0);
    const char *from = upper ? start : end - KS_STREAM_LINE;
    if (cut == 0) return;
    if (s->line && (s->line != line || s->upper == upper)) ks_stream_flush(s);
    for (int i = 0; i < KS_STREAM_LINE; i += KS_VECTOR_BYTES)
        *(ks_stream_vector_at *)(void *)(room + i) = *(const ks_stream_vector_at *)(const void *)(from + i);
    if (s->line) {
        ks_stream_line(line, s->room + KS_STREAM_LINE);
        s->line = NULL;
        return;
    }
    s->line = line;
    s->cut = cut;
    s->upper = upper;
}

/** Begin: no part waits. */
KS_HD void ks_stream_start(ks_stream *s) { s->line = NULL; }

/** Write a row of `bytes` bytes, two lines or more, to its place. Rows come in ascending order in memory or, with
 *  `down`, in descending order. A row that does not follow the last one is written correctly, only more slowly. */
KS_HD void ks_stream_row(ks_stream *s, int down, int64_t bytes, const void *row, void *to)
{
    const char *from = (const char *)row;
    char *const start = (char *)to, *const end = start + bytes;
    const int64_t low = (int64_t)((uintptr_t)start % KS_STREAM_LINE);
    const int64_t high = (int64_t)((uintptr_t)end % KS_STREAM_LINE);
    if (down) ks_stream_part(s, end - high, high, 0, NULL, from + bytes);
    else ks_stream_part(s, start - low, low, 1, from, NULL);
    from += low ? KS_STREAM_LINE - low : 0;
    for (char *line = start + (low ? KS_STREAM_LINE - low : 0); line < end - high; line += KS_STREAM_LINE) {
        ks_stream_line(line, from);
        from += KS_STREAM_LINE;
    }
    if (down) ks_stream_part(s, start - low, low, 1, (const char *)row, NULL);
    else ks_stream_part(s, end - high, high, 0, NULL, (const char *)row + bytes);
}

/** As ks_stream_row(), in one shared copy. If `bytes` is a constant, ks_stream_row() is faster. */
KS_HD_COLD void ks_stream_row_any(ks_stream *s, int down, int64_t bytes, const void *row, void *to)
{
    ks_stream_row(s, down, bytes, row, to);
}

/** Write several contiguous rows at once. Hardly any partial line remains, so none waits. Call KS_FENCE_PAST() after
 *  the last block. */
KS_HD void ks_stream_block(int64_t bytes, const void *rows, void *to)
{
    const char *from = (const char *)rows;
    char *const start = (char *)to, *const end = start + bytes;
    const int64_t low = (int64_t)(-(uintptr_t)start % KS_STREAM_LINE), head = low < bytes ? low : bytes;
    char *line = start + head;
    memcpy(start, from, (size_t)head);
    for (; end - line >= KS_STREAM_LINE; line += KS_STREAM_LINE) ks_stream_line(line, from + (line - start));
    memcpy(line, from + (line - start), (size_t)(end - line));
}

/** Finish after the last row. */
KS_HD void ks_stream_end(ks_stream *s)
{
    ks_stream_flush(s);
    KS_FENCE_PAST();
}

#endif
