/* decisions.h -- the fuzzer's bytes as a stream of decisions; zeros when they run out. */
#ifndef KS_FUZZ_DECISIONS_H
#define KS_FUZZ_DECISIONS_H

#include <stddef.h>
#include <stdint.h>

typedef struct decisions {
    const uint8_t *next, *end;
} decisions;

static inline unsigned take_byte(decisions *d) { return d->next < d->end ? *d->next++ : 0u; }

/** 0 .. choices - 1 */
static inline unsigned take(decisions *d, unsigned choices) { return take_byte(d) % choices; }

/** True for one of `times` byte values in 256: rare where the bytes are random. Zero is false. */
static inline int take_rarely(decisions *d, unsigned times) { return take_byte(d) > 255u - times; }

#endif
