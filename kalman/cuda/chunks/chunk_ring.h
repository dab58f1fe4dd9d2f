/* chunk_ring.h -- rows on their way to the threads of small models, or teams of larger ones, through shared memory.
 *
 * A thread that takes the steps of its chunk one after another (ks_chunks_ring.cu) reads rows that lie behind
 * one another, `size` rows from those of its neighbours; a team with a chunk (ks_chunks_team_ring.cu) has to wait
 * for the rows of each step. A ring has room for `stages` windows of `window` steps of each thread or team; while
 * the steps of one are taken, the rows of the next ones travel. Rows that do not vary are copied once for the
 * block. A window begins with its first row where it consists of pieces of 16, 8 or 4 bytes of which a warp brings one
 * with each of its threads. Elsewhere rows stand in it as they stand to multiples of 16 bytes in the device's
 * memory, so that whole pieces of 16 bytes travel wherever rows begin. */
#ifndef KS_CHUNK_RING_H
#define KS_CHUNK_RING_H

#include <stdint.h>

/** Who brings rows: each thread or team loads them where it needs them; a warp brings its threads' 16 bytes with each
 *  of them, neighbours beside one another; the copy engine brings the window of each team and array. */
typedef enum ks_fill { KS_FILL_NONE, KS_FILL_PIECES, KS_FILL_BULK } ks_fill;

/* Filtered estimates are the smoothers', what is observed is not the RTS smoother's. */
enum { KS_RING_F, KS_RING_Q, KS_RING_U, KS_RING_H, KS_RING_R, KS_RING_D, KS_RING_Y, KS_RING_MEAN, KS_RING_COV,
       KS_RING_ARRAYS };

/** Most stages, of teams' rings, and most steps of a window: the least size of a chunk. */
enum { KS_RING_STAGES = 4, KS_RING_WINDOW = 8 };

/** Rows of one array: of F, Q and u that which leads into a step, the smoothers' out of it, and what is observed then;
 *  all zero where the array is none of the pass. */
typedef struct ks_ring_rows {
    const char *base;               /* of step 0, whether or not it is there                      */
    const char *low, *high;         /* what is there; low is aligned to 16 bytes                  */
    int64_t stride;                 /* bytes from row to row; 0: one row for all steps            */
    int bytes;                      /* of a row, a multiple of 4                                  */
    int at;                         /* bytes: in a stage, or where stride is 0 in the block       */
    int unit;                       /* bytes of a piece: 16, or what all windows of the array are made of */
    int lanes, piece;               /* log2 of the threads that bring one window; bits of where their pieces are in it */
    int apart;                      /* bytes from a chunk's rows to the next one's                */
    int next, slots;                /* bytes from a piece that a thread brings to its next one, and between their places */
} ks_ring_rows;

/** Estimates on their way back, which the warp stores as it brings rows: 16 bytes with each of its threads. Until then
 *  they stand in their thread's slot. */
typedef struct ks_ring_results {
    char *base;                     /* of step 0, whether or not it is there; NULL: threads store */
    int bytes;                      /* of one, a multiple of 16: also from one step to the next   */
    int at;                         /* in a slot                                                  */
    int lanes, piece, apart, next, slots; /* as of rows                                           */
} ks_ring_results;

enum { KS_RING_TO_MEAN, KS_RING_TO_COV, KS_RING_RESULTS };

typedef struct ks_ring {
    ks_fill fill;
    int window, stages;             /* steps, a power of two; at least 2                          */
    int slot, stage;                /* bytes of a thread or team, an odd multiple of 16; of one stage */
    int slots;                      /* where the first one's begins: behind barriers and rows     */
    int bytes;                      /* of the block's shared memory, behind the teams' own        */
    int64_t from, to;               /* steps of which rows of all arrays are there                */
    unsigned varies, whole, fine;   /* bits of arrays: those that do; those whose windows begin and end with pieces, no
                                       more than a warp brings at once; of these, those with pieces of 8 or 4 bytes */
    int reuses;                     /* results stand where the step's u and F were, not at `at`   */
    ks_ring_rows rows[KS_RING_ARRAYS];
    ks_ring_results results[KS_RING_RESULTS];
} ks_ring;

#endif
