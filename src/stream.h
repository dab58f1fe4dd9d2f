/* stream.h -- rows that lie side by side in memory and are not read again soon, written past the caches: a
 * line that is written through a cache is read into it before, so it crosses to memory and back. Only whole
 * lines go this way; of a line that two rows share the part of one waits for that of the other.
 * For plain C on the CPU. */
#ifndef KS_STREAM_H
#define KS_STREAM_H

#include <stdint.h>
#include <string.h>
#include "hd.h"

enum {
    KS_STREAM_LINE = 64,   /* bytes */
    KS_STREAM_LEAST = 512, /* bytes of a row: of shorter ones parts of lines take too long */
    KS_STREAM_PAYS = 3 << 22 /* bytes of all rows: fewer may still be in a cache at the end, and read from it */
};

typedef long long ks_stream_vector __attribute__((vector_size(KS_VECTOR_BYTES), may_alias));
typedef long long ks_stream_vector_at __attribute__((vector_size(KS_VECTOR_BYTES), aligned(1), may_alias));

typedef struct ks_stream {
    char *line;  /* where the line belongs of which a part waits, or NULL     */
    int64_t cut; /* so many of its bytes, the first, are of the lower row     */
    int upper;   /* which part waits: the lower row's or the upper row's      */
    _Alignas(KS_STREAM_LINE) char room[3 * KS_STREAM_LINE]; /* it stands in the middle; parts run over */
} ks_stream;

/** One line. */
KS_HD void ks_stream_line(char *to, const char *from)
{
#pragma GCC unroll 4
    for (int i = 0; i < KS_STREAM_LINE; i += KS_VECTOR_BYTES) {
        const ks_stream_vector v = *(const ks_stream_vector_at *)(const void *)(from + i);
        KS_WRITE_PAST((ks_stream_vector *)(void *)(to + i), v);
    }
}

/** What waits is written, and waits no more. */
KS_HD_COLD void ks_stream_flush(ks_stream *s)
{
    const char *line = s->room + KS_STREAM_LINE;
    const int64_t cut = s->cut;
    if (!s->line) return;
    if (s->upper) memcpy(s->line + cut, line + cut, (size_t)(KS_STREAM_LINE - cut));
    else memcpy(s->line, line, (size_t)cut);
    s->line = NULL;
}

/** The first `cut` bytes of a line, or those behind them: a row's last before end, or its first from start. */
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

/** Nothing waits yet. */
KS_HD void ks_stream_start(ks_stream *s) { s->line = NULL; }

/** A row of `bytes`, two lines or more, to its place. Rows come upward in memory or, with down, downward;
 *  one that does not follow the last one is as good, only slower. */
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

/** The same of any number of bytes: where the compiler knows them it is quicker in place. */
KS_HD_COLD void ks_stream_row_any(ks_stream *s, int down, int64_t bytes, const void *row, void *to)
{
    ks_stream_row(s, down, bytes, row, to);
}

/** Several rows, one behind the other, so that hardly a line is left over: none waits. KS_FENCE_PAST() belongs
 *  after the last of them. */
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

/** After the last row. */
KS_HD void ks_stream_end(ks_stream *s)
{
    ks_stream_flush(s);
    KS_FENCE_PAST();
}

#endif
