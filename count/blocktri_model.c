/* blocktri_model.c -- the papers' formulas. Not a count: see blocktri_cost.c. */
#include "blocktri_model.h"

/* Thirds of n^3. */
enum {
    POTRF = 1, TRSM = 3, SYRK = 3, GEMM = 6,
    PLAIN = POTRF + TRSM + SYRK,                         /* a block of a lane without fill       */
    FILLED = POTRF + 2 * TRSM + GEMM + 2 * SYRK,         /* a block of a lane with fill          */
    LEFT = SYRK                                          /* an update left by the stage before   */
};

/* The library's defaults. */
enum { SPACING = 8, CROSSOVER = 32 };

/** Most blocks for which no product of blocks and costs overflows 64 bits. */
static const int64_t MOST = (int64_t)1 << 56;

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t turns(int64_t columns, int64_t P)
{
    return columns / P + (columns % P != 0);
}

/** Elimination of N blocks one after the other, each with `left` cost of updates from the stage before. */
static int64_t in_turn(int64_t N, int64_t left) { return N * (PLAIN + left) - (TRSM + SYRK); }

void ks_bt_model_segments(int64_t N, int64_t P, double *first, double *other)
{
    *other = (double)PLAIN * (double)(N - (P - 1)) / (double)(FILLED + (P - 1) * PLAIN);
    *first = *other * FILLED / PLAIN;
}

double ks_bt_model_partition_limit(int64_t P)
{
    return 1 + (double)PLAIN / FILLED * (double)(P - 1);
}

/** The parallel phase, with `other` blocks in all segments but the first. The update of a pivot by the last
 *  coupling of its segment is part of the sequential phase. */
static int64_t segments_time(int64_t N, int64_t segments, int64_t other, int64_t P)
{
    const int64_t first = N - (segments - 1) * (other + 1);
    const int64_t each = FILLED * other - SYRK;
    if (first < 1 || other < 1) return INT64_MAX;
    const int64_t own = PLAIN * first - SYRK + (turns(segments, P) - 1) * each;
    return larger(own, turns(segments - 1, P) * each);
}

static int64_t partition_time(int64_t N, int64_t segments, int64_t P)
{
    double first, other;
    if (segments > (N + 1) / 2) segments = (N + 1) / 2;
    if (segments < 2) return in_turn(N, 0);
    ks_bt_model_segments(N, segments, &first, &other);
    /* Round down or up, whichever gives the lower maximum, with one thread per segment as in the
     * paper, whatever P is. */
    const int64_t down = larger((int64_t)other, 1);
    const int64_t chosen = segments_time(N, segments, down + 1, segments) <
                                   segments_time(N, segments, down, segments)
                               ? down + 1
                               : down;
    return segments_time(N, segments, chosen, P) + in_turn(segments - 1, LEFT);
}

static int64_t twisted_time(int64_t N, int64_t P)
{
    const int64_t above = N / 2, below = N - N / 2 - 1;
    const int64_t upper = above > 0 ? PLAIN * above - SYRK : 0;
    const int64_t lower = below > 0 ? PLAIN * below - SYRK : 0;
    return (P > 1 ? larger(upper, lower) : upper + lower) +
           LEFT * ((above > 0) + (below > 0)) + POTRF;
}

static int64_t dissection_time(int64_t N, int64_t P)
{
    int64_t time = 0, left = 0;
    for (int64_t m = N; m > 1; m /= 2) {
        time += turns(m - m / 2, P) * (FILLED - SYRK + 2 * left);
        left = LEFT;
    }
    return time + left + POTRF;
}

/** One stage of `segments` lanes, each with `blocks` blocks and a separator. */
static int64_t stage_time(int64_t segments, int64_t blocks, int64_t left, int64_t P)
{
    return turns(segments, P) * (FILLED * blocks - SYRK + left * (blocks + 1));
}

static int64_t schur_time(int64_t N, int64_t spacing, int64_t crossover, int64_t P)
{
    int64_t time = 0, left = 0, m = N;
    while (m > crossover) {
        const int64_t segments = (m - 2) / spacing + 1;
        time += stage_time(segments, spacing - 1, left, P);
        left = LEFT;
        m = segments + 1;
    }
    return time + in_turn(m, left);
}

int64_t ks_bt_model_time(const ks_bt_choice *choice, int64_t N, int64_t P)
{
    int64_t spacing = choice->spacing ? choice->spacing : SPACING;
    const int64_t segments = choice->segments ? choice->segments : P > 2 ? P : 2;
    if (N < 1 || P < 1 || N > MOST) return 0;
    if (spacing > larger(N, 2)) spacing = larger(N, 2);
    switch (choice->order) {
    case KS_BLOCKTRI_SEQUENTIAL: return in_turn(N, 0);
    case KS_BLOCKTRI_TWISTED: return twisted_time(N, P);
    case KS_BLOCKTRI_PARTITION: return partition_time(N, segments, P);
    case KS_BLOCKTRI_NESTED_DISSECTION: return dissection_time(N, P);
    case KS_BLOCKTRI_RECURSIVE_SCHUR:
        return schur_time(N, spacing, choice->crossover ? choice->crossover : CROSSOVER, P);
    default: return 0;
    }
}

int64_t ks_bt_model_crossover(int64_t spacing, int64_t P)
{
    const int64_t far = 1000 * spacing;
    int64_t most = far;
    while (most > 2) {
        const int64_t segments = (most - 2) / spacing + 1;
        const int64_t stage = stage_time(segments, spacing - 1, 0, P) + in_turn(segments + 1, LEFT);
        if (in_turn(most, 0) <= stage) break;
        --most;
    }
    return most == far ? INT64_MAX : most;
}
