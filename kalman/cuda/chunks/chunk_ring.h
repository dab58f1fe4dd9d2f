/* chunk_ring.h -- a ring buffer in shared memory, through which rows reach threads or, for larger models, teams.
 *
 * A thread that takes the steps of its chunk in order (ks_chunks_ring.cu) reads consecutive rows, `size` rows apart
 * from those of its neighbours. A team with a chunk (ks_chunks_team_ring.cu) has to wait for the rows of each step. A
 * ring has room for `stages` windows of `window` steps for each thread or team. While the steps of one window are
 * taken, the rows of the next windows are copied. Rows that do not vary are copied once for the block.
 *
 * A window that consists of pieces of 16, 8 or 4 bytes, at most one for each thread of a warp, begins with its first
 * row. Other windows keep the offset of their rows from multiples of 16 bytes in the device's memory, so that whole
 * pieces of 16 bytes are copied wherever rows begin. */
#ifndef KS_CHUNK_RING_H
#define KS_CHUNK_RING_H

#include <stdint.h>

/** Who copies rows. NONE: each thread or team loads them where it needs them. PIECES: the threads of a warp copy
 *  windows for each other in pieces of up to 16 bytes, neighbouring threads neighbouring pieces. BULK: the copy engine
 *  copies a window for each team and array. */
typedef enum ks_fill { KS_FILL_NONE, KS_FILL_PIECES, KS_FILL_BULK } ks_fill;

/* Arrays of rows. MEAN and COV are filtered estimates, for smoothers only. The RTS smoother reads no H, R, d and y. */
enum { KS_RING_F, KS_RING_Q, KS_RING_U, KS_RING_H, KS_RING_R, KS_RING_D, KS_RING_Y, KS_RING_MEAN, KS_RING_COV,
       KS_RING_ARRAYS };

/** Most stages of a team's ring, and most steps of a window, which is the least size of a chunk. */
enum { KS_RING_STAGES = 4, KS_RING_WINDOW = 8 };

/** Rows of one array. For step k of a filter, F, Q and u are those of the transition into k. For a smoother they are
 *  those out of k, and H, R, d and y are those of step k + 1. All members are zero if the pass does not read the
 *  array. */
typedef struct ks_ring_rows {
    const char *base;               /* row of step 0, even if that is not in memory               */
    const char *low, *high;         /* bounds of the rows in memory; low is aligned to 16 bytes   */
    int64_t stride;                 /* bytes from row to row; 0: one row for all steps            */
    int bytes;                      /* of a row, a multiple of 4                                  */
    int at;                         /* offset in bytes: in a stage, or if stride is 0 in the block's memory */
    int unit;                       /* bytes of a piece: 16, or 8 or 4 where windows consist of those */
    int lanes, piece;               /* log2 of the threads that copy one window; mask of the offsets of their pieces */
    int apart;                      /* bytes from the rows of a chunk to those of the next chunk  */
    int next, slots;                /* bytes from a piece of a thread to its next piece: in the source, in the ring */
} ks_ring_rows;

/** Estimates that the warp stores the way it copies rows, 16 bytes with each of its threads. Until then they are in
 *  their thread's slot. */
typedef struct ks_ring_results {
    char *base;                     /* of step 0, even if that is not in memory; NULL: threads store by themselves */
    int bytes;                      /* of one, a multiple of 16; also the stride between steps    */
    int at;                         /* offset in a slot                                           */
    int lanes, piece, apart, next, slots; /* as of rows                                           */
} ks_ring_results;

enum { KS_RING_TO_MEAN, KS_RING_TO_COV, KS_RING_RESULTS };

typedef struct ks_ring {
    ks_fill fill;
    int window, stages;             /* steps of a window, a power of two; stages, at least 2      */
    int slot, stage;                /* bytes for a thread or team, an odd multiple of 16; bytes of one stage */
    int slots;                      /* offset of the first slot: behind barriers and constant rows */
    int bytes;                      /* of the block's shared memory, behind the teams' own        */
    int64_t from, to;               /* steps for which the rows of all arrays are in memory       */
    unsigned varies, whole, fine;   /* bits of arrays: that vary; whose windows consist of pieces, no more than a warp
                                       copies at once; of these, those with pieces of 8 or 4 bytes */
    int reuses;                     /* results are in the place of the step's u and F, not at `at` */
    ks_ring_rows rows[KS_RING_ARRAYS];
    ks_ring_results results[KS_RING_RESULTS];
} ks_ring;

#endif
