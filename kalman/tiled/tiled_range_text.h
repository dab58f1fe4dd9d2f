/* tiled_range_text.h -- what ranges of ordinary steps by the kernels of tiled_step_text.h share: memory, padded and
 * transposed blocks, outputs; see num_f64.h. For plain C on the CPU.
 *
 * A range runs as long as the ordinary form has enough digits. The first step for which it has not is left to the
 * ranges of filter_range_text.h and smooth_range_text.h, which continue from the state and give it back. Blocks that do
 * not vary are padded and transposed once. Of those that do, only what must be transposed, or would be read past its
 * end, is copied. */
#include "literal.h"
#include "place.h"

/* Numbers of states that are compiled as literals, except quads. An includer may define fewer. */
#ifndef KS_WITH_TILES
#define KS_LITERAL_TILES 1
#define KS_WITH_TILES(nx, CALL) switch (nx) { KS_CASES(CALL, 6, 8, 12) default: CALL(nx); break; }
/* The same where rows of up to eight states have their own steps (row_step_text.h). Beside lengths of rows alone that are
 * literals, 13 states take .79 and .75 of the time in the smoother and the filter, 16 .86 and .84; in single precision
 * 16 take .68 and .72. */
#define KS_WITH_WIDE_TILES(nx, CALL) switch (nx) { KS_CASES(CALL, 12, 13, 16) default: CALL(nx); break; }
#else
#define KS_LITERAL_TILES 0 /* not all of these sizes */
#define KS_WITH_WIDE_TILES KS_WITH_TILES
#endif

/** Which steps a range takes: those of tiled_step_text.h, quad_step_text.h or row_step_text.h. */
typedef enum ks_shape { KS_SHAPE_TILES, KS_SHAPE_QUAD, KS_SHAPE_ROWS } ks_shape;

/** Blocks of more states are not prefetched: they would evict those in use from the caches. */
#define KS_MOST_EXPECTED 256

/** Lanes of a pack: series that follow side by side (tiled_follow_text.h). */
#define KS_PACK_LANES (KS_LANES > 4 ? KS_LANES : 4)

/** Numbers of the gains of four smoother steps (gains_ahead_text.h). */
#define KS_GAINS_NUMBERS(n) (4 * (3 * (int64_t)(n) * (n) + (n)) + 4 * (64 + 8))

/** Numbers kept for each of the 16 patterns of up to four entries: H, H padded, R and the limits of the entries
 *  present. */
#define KS_PATTERN_NUMBERS (2 * 4 * 8 + 4 * 4 + 4)

/** Memory of a range. */
typedef struct KS_T(ks_tiled_memory) {
    KS_T(ks_tiled) step;
    KS_NUM *FT, *Q, *u, *HT, *R;        /* padded blocks of the model          */
    KS_NUM *limit, *some_limit;         /* see ks_noise_limit()                */
    KS_NUM *some_HT, *some_R, *compact; /* of the entries present              */
    KS_NUM *patterns;                   /* (16) KS_PATTERN_NUMBERS, up to eight states and four entries */
    KS_NUM *x, *xn, *P, *Pn, *ET, *D, *kept, *next, *filtered;
    KS_NUM *gains;                      /* of four smoother steps, up to eight states */
    KS_NUM *follow;                     /* for followers                       */
    KS_NUM *memo;
    KS_NUM *before;                     /* covariance and mean that lead into each of two steps, see exact_step_text.h */
    KS_NUM *no_limit;                   /* infinity, in place of `limit`       */
    KS_NUM *work;                       /* for outputs that are seldom wanted  */
} KS_T(ks_tiled_memory);

KS_HD int64_t KS_T(ks_tiled_lay_out)(int nx, int ny, void *memory, KS_T(ks_tiled_memory) *w)
{
    const int64_t n = KS_T(ks_padded)(nx), m = KS_T(ks_padded)(ny), most = n > m ? n : m;
    KS_NUM *base = (KS_NUM *)memory;
    int64_t at = 0;
    KS_PLACE(w->step.xp, n);
    KS_PLACE(w->step.Pp, n * n);
    KS_PLACE(w->step.W, n * n);
    KS_PLACE(w->step.G, m * n);
    KS_PLACE(w->step.Z, m * n);
    KS_PLACE(w->step.S, m * m);
    KS_PLACE(w->step.LT, m * m);
    KS_PLACE(w->step.inverse_d, most);
    KS_PLACE(w->step.pivot, most);
    KS_PLACE(w->step.v, most);
    KS_PLACE(w->FT, n * n);
    KS_PLACE(w->Q, n * n);
    KS_PLACE(w->u, n);
    KS_PLACE(w->HT, n * m);
    KS_PLACE(w->R, m * m);
    KS_PLACE(w->some_HT, n * m);
    KS_PLACE(w->some_R, m * m);
    KS_PLACE(w->compact, m * n + m * m + 2 * m);
    KS_PLACE(w->patterns, nx > 8 || ny > 4 ? 0 : 16 * KS_PATTERN_NUMBERS);
    KS_PLACE(w->limit, m);
    KS_PLACE(w->some_limit, m);
    KS_PLACE(w->x, n);
    KS_PLACE(w->xn, n);
    KS_PLACE(w->P, n * n);
    KS_PLACE(w->Pn, n * n);
    KS_PLACE(w->ET, n * n);
    KS_PLACE(w->D, n * n);
    KS_PLACE(w->kept, n * n);
    KS_PLACE(w->next, n * n);
    KS_PLACE(w->filtered, n);
    KS_PLACE(w->gains, n > 8 ? 0 : KS_GAINS_NUMBERS(n));
    KS_PLACE(w->memo, KS_T(ks_memo_scratch)((int)n, (int)m));
    KS_PLACE(w->before, 2 * (n * n + n));
    KS_PLACE(w->no_limit, m);
    KS_PLACE(w->work, n * n + 2 * n * n + 2 * n * m + 2 * m * m + n + m);
    KS_PLACE(w->follow, KS_PACK_LANES * (3 * n + most + KS_FOLLOW_STEPS * (n + 2 * m)) + 64);
    return at;
}

/** Copy the estimate that a range starts from to x and P, rows n apart. */
KS_HD_SAME void KS_T(ks_tiled_enter)(int nx, int n, const ks_state *state, KS_NUM *x, KS_NUM *P)
{
    KS_T(ks_copy)(nx, (const KS_NUM *)state->x, x);
    KS_T(ks_pad)(nx, nx, (const KS_NUM *)state->C, nx, P, n);
}

/** Lay out the memory of a range and copy the estimate `state` to x and P. The padding of rows must be finite and must
 *  not change from step to step; it stays zero. */
KS_HD_SAME KS_T(ks_tiled_memory) KS_T(ks_tiled_begin)(int nx, int n, int ny, const ks_state *state, void *memory)
{
    KS_T(ks_tiled_memory) w;
    (void)KS_T(ks_tiled_lay_out)(nx, ny, memory, &w);
    w.step.prefetch = NULL;
    if (n != nx)
        for (KS_NUM *p = (KS_NUM *)memory; p < w.memo; ++p) *p = KS_LIT(0);
    KS_T(ks_tiled_enter)(nx, n, state, w.x, w.P);
    return w;
}

/** A lane of a comparison of vectors: all bits set, or none. */
typedef __typeof__(__builtin_choose_expr(sizeof(KS_NUM) == 8, (int64_t)0, (int32_t)0)) KS_T(ks_lane_mask);
typedef KS_T(ks_lane_mask) KS_T(ks_masks) __attribute__((vector_size(KS_VECTOR_BYTES)));

/** Copy A (nx, nx) out of padded rows. */
KS_HD void KS_T(ks_unpad)(int nx, int n, const KS_NUM *A, KS_NUM *to)
{
    if (n == nx) {
#pragma GCC unroll 6
        for (int i = 0; i < nx * nx; i += KS_LANES) KS_STOREV(to + i, KS_LOADV(A + i));
        return;
    }
    /* Vectors of all rows but the last may overrun into the next row, which is written afterwards. */
    for (int i = 0; n <= 2 * nx && i < nx - 1; ++i)
        for (int c = 0; c < n; c += KS_LANES) KS_STOREV(to + i * nx + c, KS_LOADV(A + i * n + c));
    for (int i = n <= 2 * nx ? nx - 1 : 0; i < nx; ++i)
        for (int c = 0; c < nx; ++c) to[i * nx + c] = A[i * n + c];
}

/** Copy the estimate that a range ends with, P with rows n apart, to `state`. */
KS_HD_SAME void KS_T(ks_tiled_leave)(int nx, int n, const KS_NUM *x, const KS_NUM *P, ks_state *state)
{
    KS_T(ks_copy)(nx, x, (KS_NUM *)state->x);
    KS_T(ks_unpad)(nx, n, P, (KS_NUM *)state->C);
}

/** Copy A (nx, nx) to padded rows of B, n other than nx. Nothing beyond A is read, and the padding of B is or stays
 *  zero. */
KS_HD void KS_T(ks_pad_square)(int nx, int n, const KS_NUM *A, KS_NUM *B)
{
    /* The last vector read from a row includes numbers of the next row, which are masked. */
    const int whole = KS_LANES < 4 ? nx / KS_LANES * KS_LANES : n - KS_LANES;
    KS_T(ks_masks) own = { 0 };
#pragma GCC unroll 16
    for (int l = 0; l < KS_LANES; ++l) own[l] = -(KS_T(ks_lane_mask))(whole + l < nx);
    for (int i = 0; n <= 2 * nx && i < nx - 1; ++i) {
        for (int c = 0; c < whole; c += KS_LANES) KS_STOREV(B + i * n + c, KS_LOADV(A + i * nx + c));
        if (whole < nx)
            KS_STOREV(B + i * n + whole, (KS_T(ks_lanes))((KS_T(ks_masks))KS_LOADV(A + i * nx + whole) & own));
    }
    for (int i = n <= 2 * nx ? nx - 1 : 0; i < nx; ++i)
        for (int c = 0; c < nx; ++c) B[i * n + c] = A[i * nx + c];
}

/** Whether covariances should bypass the caches where possible: those of all series together exceed them. */
KS_HD int KS_T(ks_past_caches)(const ks_series *s)
{
    return s->all_steps >= KS_STREAM_PAYS / (s->nx * s->nx * (int64_t)sizeof(KS_NUM));
}

/** Covariances of steps that repeat, on their way past the caches; see stream.h. */
typedef struct KS_T(ks_stream) {
    ks_stream lines;
    const KS_NUM *packed; /* the last one, with rows nx apart, or NULL       */
    int pays;             /* 0: they are written like all others            */
} KS_T(ks_stream);

/** Initialize s. least: least size of a row in bytes for which this pays. */
KS_HD void KS_T(ks_stream_begin)(ks_shape shape, int nx, const ks_series *series, int64_t least, ks_sink cov,
                                 KS_T(ks_stream) *s)
{
    const int64_t bytes = nx * nx * (int64_t)sizeof(KS_NUM);
    ks_stream_start(&s->lines);
    s->packed = NULL;
    s->pays = shape != KS_SHAPE_QUAD && cov.base && cov.stride == bytes && bytes >= least &&
              KS_T(ks_past_caches)(series);
}

/** Write P, rows n apart, to row k. Rows come in ascending or, with `down`, descending order. again: P is the same as
 *  in the last call. room (nx, nx) holds the packed P and must persist between calls. */
KS_HD void KS_T(ks_stream_put)(int down, int nx, int n, const KS_NUM *P, int again, KS_NUM *room, ks_sink cov,
                               int64_t k, KS_T(ks_stream) *s)
{
    if (!again || !s->packed) {
        if (n != nx) KS_T(ks_unpad)(nx, n, P, room);
        s->packed = n != nx ? room : P;
    }
    const int64_t bytes = nx * nx * (int64_t)sizeof(KS_NUM);
    if (KS_KNOWN(nx)) ks_stream_row(&s->lines, down, bytes, s->packed, ks_slot_of(cov, k));
    else ks_stream_row_any(&s->lines, down, bytes, s->packed, ks_slot_of(cov, k));
}

/** How many steps ahead a row is prefetched. Small steps take less time than memory does; rows of many states would
 *  evict each other from the nearest cache. */
KS_HD int KS_T(ks_steps_ahead)(ks_shape shape) { return shape == KS_SHAPE_TILES ? 1 : 8; }

/** Prefetch `numbers` numbers that will be written, or read and written: at once or, with a queue, between tiles. */
KS_HD void KS_T(ks_tiled_expect)(ks_prefetch *prefetch, int numbers, const KS_NUM *to)
{
    if (prefetch) {
        ks_prefetch_add(prefetch, to, numbers * (int64_t)sizeof(KS_NUM));
        return;
    }
#pragma GCC unroll 6
    for (int i = 0; i < numbers; i += 64 / (int)sizeof(KS_NUM)) __builtin_prefetch(to + i, 1);
}

/** Whether prefetches are queued. It pays in long steps only; those of a smoother and of both ends must be longer than
 *  a filter's. */
#define KS_QUEUES_FROM(least, shape, nx) ((shape) == KS_SHAPE_TILES && (nx) >= (least))
#define KS_QUEUES(shape, nx) (KS_QUEUES_FROM(13, shape, nx) && !KS_KNOWN(nx))

/** Number of tiles of a product with so many rows and n columns. */
KS_HD int KS_T(ks_tiles_of)(int rows, int n)
{
    return rows / KS_TILE_ROWS * ((n + 3 * KS_LANES - 1) / (3 * KS_LANES));
}

/** Prefetch row k of a block of the model, which will be read. */
KS_HD void KS_T(ks_expect_row)(ks_prefetch *prefetch, ks_rows rows, int64_t k, int numbers)
{
    if (!rows.stride) return;
    const KS_NUM *row = (const KS_NUM *)ks_row(rows, k);
    if (prefetch) {
        ks_prefetch_add(prefetch, row, numbers * (int64_t)sizeof(KS_NUM));
        return;
    }
    for (int i = 0; i < numbers; i += 64 / (int)sizeof(KS_NUM)) __builtin_prefetch(row + i);
}

/** Prefetch the transition into step k and, if `observed`, its observation. The processor prefetches consecutive rows
 *  by itself, but not across pages. */
KS_HD void KS_T(ks_expect_step)(ks_prefetch *prefetch, int nx, const ks_series *s, int64_t k, int observed)
{
    const int ny = s->ny;
    if (nx > KS_MOST_EXPECTED || k < 1 || k >= s->steps) return;
    KS_T(ks_expect_row)(prefetch, s->F, k - s->shift, nx * nx);
    KS_T(ks_expect_row)(prefetch, s->Q, k - s->shift, nx * nx);
    KS_T(ks_expect_row)(prefetch, s->u, k - s->shift, nx);
    if (!observed) return;
    KS_T(ks_expect_row)(prefetch, s->H, k, ny * nx);
    KS_T(ks_expect_row)(prefetch, s->R, k, ny * ny);
    KS_T(ks_expect_row)(prefetch, s->y, k, ny);
    KS_T(ks_expect_row)(prefetch, s->d, k, ny);
}

/** row <- the n numbers at A, then zeros up to eight. n is a literal, up to 3 or 5 to 8. */
KS_HD void KS_T(ks_row_load)(int n, const KS_NUM *A, KS_T(ks_quad) row[2])
{
    const KS_T(ks_quad) none = { 0 };
    if (n < 4) {
        row[0] = (KS_T(ks_quad)){ A[0], n > 1 ? A[1] : KS_LIT(0), n > 2 ? A[2] : KS_LIT(0), KS_LIT(0) };
        row[1] = none;
        return;
    }
    /* The last four numbers of the row, so that nothing behind it is read. */
    const KS_T(ks_quad) last = KS_LOAD4(A + n - 4);
    row[0] = KS_LOAD4(A);
    row[1] = n == 8   ? last
             : n == 7 ? KS_MIX(last, none, 1, 2, 3, 4)
             : n == 6 ? KS_MIX(last, none, 2, 3, 4, 5)
                      : KS_MIX(last, none, 3, 4, 5, 6);
}

typedef KS_NUM KS_T(ks_eight) __attribute__((vector_size(8 * sizeof(KS_NUM))));
typedef KS_NUM KS_T(ks_eight_at) __attribute__((vector_size(8 * sizeof(KS_NUM)), aligned(sizeof(KS_NUM)), may_alias));

/** Store a row of n = 4 or 8 numbers. No vector is written in two parts: a load that follows at once would wait for
 *  both. */
KS_HD void KS_T(ks_row_store)(int n, const KS_T(ks_quad) row[2], KS_NUM *to)
{
    if (n == 8 && KS_LANES == 8) {
        *(KS_T(ks_eight_at) *)(void *)to = KS_MIX(row[0], row[1], 0, 1, 2, 3, 4, 5, 6, 7);
        return;
    }
    KS_STORE4(to, row[0]);
    if (n > 4) KS_STORE4(to + 4, row[1]);
}

/** B <- A (m, n). Rows of A are n apart, rows of B ks_padded(n), padded by zeros. */
KS_HD void KS_T(ks_rows_pad)(int m, int n, const KS_NUM *A, KS_NUM *B)
{
    const int padded = KS_T(ks_padded)(n);
#pragma GCC unroll 8
    for (int i = 0; i < m; ++i) {
        KS_T(ks_quad) row[2];
        KS_T(ks_row_load)(n, A + n * i, row);
        KS_T(ks_row_store)(padded, row, B + padded * i);
    }
}

/** B <- Aᵀ with A (n, n), rows n and ks_padded(n) apart. */
KS_HD void KS_T(ks_rows_transpose)(int n, const KS_NUM *A, KS_NUM *B)
{
    const int padded = KS_T(ks_padded)(n);
    KS_T(ks_quad) row[8][2] = { { { 0 } } };
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i) KS_T(ks_row_load)(n, A + n * i, row[i]);
#pragma GCC unroll 2
    for (int c = 0; c < (n + 3) / 4; ++c) {
        KS_T(ks_quad) to[4][2];
#pragma GCC unroll 2
        for (int r = 0; r < 2; ++r) {
            KS_T(ks_quad) t[4] = { row[4 * r][c], row[4 * r + 1][c], row[4 * r + 2][c], row[4 * r + 3][c] };
            KS_TRANSPOSE4(t);
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) to[i][r] = t[i];
        }
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i)
            if (4 * c + i < n) KS_T(ks_row_store)(padded, to[i], B + (4 * c + i) * padded);
    }
}

/** Set the blocks of the transition into step k. fresh: those that do not vary must be set, too. */
KS_HD void KS_T(ks_tiled_transition)(ks_shape shape, int nx, int n, const ks_series *s, int64_t k, int fresh,
                                     const KS_T(ks_tiled_memory) *w, KS_T(ks_blocks) *b)
{
    if (fresh || s->F.stride) {
        b->F = (const KS_NUM *)ks_row(s->F, k - s->shift);
        b->FT = w->FT;
        if (shape == KS_SHAPE_ROWS)
            KS_T(ks_rows_transpose)(nx, b->F, w->FT);
        else
            KS_T(ks_transpose_rows)(nx, nx, b->F, nx, w->FT, n);
    }
    if (fresh || s->Q.stride) {
        b->Q = (const KS_NUM *)ks_row(s->Q, k - s->shift);
        b->ldq = nx;
        if (n != nx) {
            if (shape == KS_SHAPE_ROWS)
                KS_T(ks_rows_pad)(nx, nx, b->Q, w->Q);
            else
                KS_T(ks_pad_square)(nx, n, b->Q, w->Q);
            b->Q = w->Q;
            b->ldq = n;
        }
    }
    if (fresh || s->u.stride) {
        KS_T(ks_copy)(nx, (const KS_NUM *)ks_row(s->u, k - s->shift), w->u);
        b->u = w->u;
    }
}

/** The same for any number of states, where a range begins or ends. The steps in between have their own copies. */
KS_HD_SAME void KS_T(ks_tiled_transition_any)(int nx, int n, const ks_series *s, int64_t k, int fresh,
                                              const KS_T(ks_tiled_memory) *w, KS_T(ks_blocks) *b)
{
    KS_T(ks_tiled_transition)(KS_SHAPE_TILES, nx, n, s, k, fresh, w, b);
}

KS_HD int KS_T(ks_tiled_finite)(int nx, int n, const KS_NUM *x, const KS_NUM *P)
{
    /* Independent sums. 0 times a finite number is 0. */
    KS_NUM sum[4] = { KS_LIT(0), KS_LIT(0), KS_LIT(0), KS_LIT(0) };
    for (int i = 0; i < nx; ++i) {
        sum[i % 2] = sum[i % 2] + KS_LIT(0) * x[i];
        sum[2 + i % 2] = sum[2 + i % 2] + KS_LIT(0) * P[i * n + i];
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]) == KS_LIT(0);
}

/** Write estimate and covariance (rows n apart) of step k to the outputs. */
KS_HD void KS_T(ks_tiled_write)(int nx, int n, int64_t k, const KS_NUM *x, const KS_NUM *P,
                                ks_sink mean, ks_sink cov, ks_sink var)
{
    if (mean.base) KS_T(ks_copy)(nx, x, (KS_NUM *)ks_slot_of(mean, k));
    if (cov.base && (const KS_NUM *)ks_slot_of(cov, k) != P)
        KS_T(ks_unpad)(nx, n, P, (KS_NUM *)ks_slot_of(cov, k));
    if (var.base)
        for (int i = 0; i < nx; ++i) ((KS_NUM *)ks_slot_of(var, k))[i] = P[i * n + i];
}
