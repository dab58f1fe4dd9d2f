/* golden_kinds.h -- the outputs and their shapes, for the files of golden.h only. */
#ifndef GOLDEN_KINDS_H
#define GOLDEN_KINDS_H

#include "golden.h"

/* How the blocks of an output depend on the sizes. */
typedef enum golden_block {
    GOLDEN_SCALAR,
    GOLDEN_NX,
    GOLDEN_NX_NX,
    GOLDEN_NY,
    GOLDEN_NY_NY
} golden_block;

typedef struct golden_kind {
    const char *name;
    golden_block block;
    bool has_steps;
    bool is_double; /* in either precision */
    size_t field;   /* offset of its ks_out in ks_outputs */
} golden_kind;

/* In the order of the bits of ks_output. */
extern const golden_kind golden_kinds[GOLDEN_OUTPUTS];

/* The index of an output in golden_kinds and in golden_results. */
int golden_index(ks_output output);

/* Numbers in one block, and in a whole output. */
int64_t golden_block_size(golden_block block, int nx, int ny);
int64_t golden_entries(const golden_kind *kind, int64_t T, int64_t B, int nx, int ny);

#endif
