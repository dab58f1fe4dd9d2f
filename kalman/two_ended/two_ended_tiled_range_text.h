/* two_ended_tiled_range_text.h -- what ranges of steps of the two-ended smoother's right half share, with the kernels
 * of two_ended_tiled_text.h, two_ended_quad_text.h and two_ended_row_text.h; see num_f64.h, two_ended_tiled_in_text.h
 * and two_ended_tiled_out_text.h. For plain C on the CPU.
 *
 * These ranges take ordinary steps only. A step whose covariance needs the array form is left to the ranges of
 * two_ended_range_text.h. Blocks that do not vary are padded, transposed and factored once. If none varies, steps that
 * repeat earlier ones are looked up (memo_text.h). */
#include "place.h"

/** Memory of a range. */
typedef struct KS_T(ks_ends_memory) {
    KS_T(ks_ends_blocks) step;
    KS_T(ks_ends_channels) all, some;      /* all entries; the entries present */
    KS_T(ks_ends_channels) pattern[16];    /* by pattern of entries present, m = -1 until made: ks_ends_few_present() */
    KS_NUM *compact, *v, *F, *u;
    KS_NUM *whole;                         /* J, mirrored                */
    KS_NUM *J, *Jn, *eta, *A, *x, *P, *Pn, *lag, *LT, *inverse_d;
    KS_NUM *pair, *mark, *memo;            /* A and K side by side; see ks_memo */
    KS_NUM before, after;                  /* see ks_precision_scale()       */
    KS_T(ks_roots) roots;                  /* if Q varies                */
    int64_t first, last;                   /* steps of the range         */
    int root, factors, inverse, has_inverse, through; /* what is valid for the current step: see ks_ends_transition() */
    void *plain;                           /* of two_ended_range_text.h  */
} KS_T(ks_ends_memory);

/** The distance of rows, and of those of the factor of R. */
KS_HD int KS_T(ks_ends_rows)(ks_shape shape, int nx)
{
    return shape == KS_SHAPE_QUAD ? 4 : shape == KS_SHAPE_ROWS ? 8 : KS_T(ks_padded)(nx);
}

KS_HD int KS_T(ks_ends_few)(ks_shape shape, int m)
{
    return shape == KS_SHAPE_TILES ? KS_T(ks_padded)(m) : 4;
}

/** Numbers of memory for the memos: the larger of both directions. */
KS_HD int64_t KS_T(ks_ends_memo_scratch)(int64_t n)
{
    /* Key and results. */
    return KS_T(ks_memo_slots)((int)n) * (6 * n * n + 3 * n);
}

/** Lay out the memory. Returns the numbers that it takes; NULL only measures. */
KS_HD int64_t KS_T(ks_ends_place)(int nx, int ny, void *memory, KS_T(ks_ends_memory) *w)
{
    const int64_t n = KS_T(ks_padded)(nx), m = KS_T(ks_padded)(ny), nn = n * n;
    KS_NUM *base = (KS_NUM *)memory;
    KS_NUM **const square[] = { &w->F, &w->step.FT, &w->step.G, &w->step.GT, &w->step.X,
                                &w->step.E, &w->step.S, &w->step.Z, &w->step.LT, &w->step.PhiT,
                                &w->step.V, &w->step.W, &w->step.zero, &w->all.information,
                                &w->some.information, &w->J, &w->Jn, &w->A, &w->P, &w->Pn, &w->lag,
                                &w->LT, &w->step.unit, &w->step.inverse, &w->step.through,
                                &w->step.C, &w->step.noise_LT, &w->step.lower, &w->step.scaled,
                                &w->whole };
    KS_NUM **const row[] = { &w->u, &w->step.B, &w->step.t, &w->step.inverse_d, &w->step.pivot,
                             &w->step.shown, &w->step.eps, &w->step.noise_d, &w->step.noise_pivot,
                             &w->step.noise, &w->eta, &w->x, &w->inverse_d };
    const int few = nx <= 8 && ny <= 4;
    int64_t at = 0;
    for (size_t i = 0; i < sizeof square / sizeof square[0]; ++i) KS_PLACE(*square[i], nn);
    for (size_t i = 0; i < sizeof row / sizeof row[0]; ++i) KS_PLACE(*row[i], n);
    KS_PLACE(w->roots.G, 4 * nn);
    KS_PLACE(w->roots.GT, 4 * nn);
    for (int i = 0; i < (few ? 18 : 2); ++i) {
        KS_T(ks_ends_channels) *o = i == 0 ? &w->all : i == 1 ? &w->some : &w->pattern[i - 2];
        o->own_H = NULL;
        if (i > 1) {
            KS_PLACE(o->information, nn);
            KS_PLACE(o->own_H, m * n);
        }
        KS_PLACE(o->N, m * n);
        KS_PLACE(o->Z, m * n);
        KS_PLACE(o->LT, m * m);
        KS_PLACE(o->S, m * m);
        KS_PLACE(o->inverse_r, m);
        KS_PLACE(o->pivot, m);
        o->m = -1;
    }
    KS_PLACE(w->compact, m * n + m * m + 2 * m);
    KS_PLACE(w->v, m);
    KS_PLACE(w->pair, 2 * nn);
    KS_PLACE(w->mark, 3 * nn);
    KS_PLACE(w->memo, KS_T(ks_ends_memo_scratch)(n));
    at = (at + 7) / 8 * 8;
    w->plain = base ? base + at : NULL;
    KS_T(ks_ends_scratch) unused;
    return at + KS_T(ks_ends_lay_out)(nx, ny, NULL, &unused);
}

KS_HD_SAME KS_T(ks_ends_memory) KS_T(ks_ends_begin)(ks_shape shape, int nx, int ny, int64_t k0, int64_t k1, void *memory)
{
    KS_T(ks_ends_memory) w;
    (void)KS_T(ks_ends_place)(nx, ny, memory, &w);
    w.step.prefetch = NULL;
    /* The padding of rows must be finite and must not change. */
    for (KS_NUM *p = (KS_NUM *)memory; p < w.memo; ++p) *p = KS_LIT(0);
    for (int i = 0, n = KS_T(ks_ends_rows)(shape, nx); i < nx; ++i) w.step.unit[i * n + i] = KS_LIT(1);
    w.step.passage = KS_BY_ROOT;
    w.first = k0;
    w.last = k1 - 1;
    w.roots.from = INT64_MIN / 2;
    return w;
}

/** Make a root of the noise into step k if it is not valid. If Q is not a covariance, its root is NaN. */
KS_HD void KS_T(ks_ends_root)(ks_shape shape, int nx, int n, int out, const ks_series *s, int64_t k,
                             KS_T(ks_ends_memory) *memory)
{
    KS_T(ks_ends_blocks) *w = &memory->step;
    const KS_NUM *Q = (const KS_NUM *)ks_row(s->Q, k - s->shift);
    if (memory->root) return;
    memory->root = 1;
    if (shape != KS_SHAPE_TILES && s->Q.stride) {
        KS_T(ks_roots) *four = &memory->roots;
        if (k < four->from || k > four->from + 3)
            KS_T(ks_next_roots)(nx, out, s, k, memory->first, memory->last, four);
        w->G = four->G + (k - four->from) * n * n;
        w->GT = four->GT + (k - four->from) * n * n;
        if (four->good[k - four->from]) return;
    }
    KS_T(ks_tiled_root)(nx, n, Q, w);
    KS_NUM trace = KS_LIT(0);
    int doubt = 0;
    for (int i = 0; i < nx; ++i) trace = trace + Q[i * nx + i];
    for (int i = 0; i < nx; ++i)
        doubt |= !KS_GT(KS_LIT(1), Q[i * nx + i] - Q[i * nx + i]) |
                 KS_GT(KS_LIT(-1e-4) * trace, Q[i * nx + i]);
    if (doubt)
        for (int i = 0; i < nx; ++i) w->G[i * n + i] = w->GT[i * n + i] = KS_LIT(NAN);
}

/** Make the factors of the noise into step k if they are not valid. */
KS_HD void KS_T(ks_ends_factors)(ks_shape shape, int nx, int n, const ks_series *s, int64_t k,
                                 KS_T(ks_ends_memory) *memory)
{
    if (memory->factors) return;
    KS_T(ks_ends_factor)(shape, nx, n, (const KS_NUM *)ks_row(s->Q, k - s->shift), &memory->step);
    memory->factors = 1;
}

/** Make the inverse of the noise into step k if it is not valid. Returns whether Q is well positive definite. */
KS_HD int KS_T(ks_ends_inverse)(ks_shape shape, int nx, int n, const ks_series *s, int64_t k,
                                KS_T(ks_ends_memory) *memory)
{
    if (memory->inverse) return memory->has_inverse;
    memory->inverse = 1;
    return memory->has_inverse =
               KS_ALL(KS_T(ks_ends_invert)(shape, nx, n, (const KS_NUM *)ks_row(s->Q, k - s->shift), &memory->step));
}

/** Set the blocks of the transition into step k, except those made from Q, which are made when needed. fresh: blocks
 *  that do not vary must be set, too. */
KS_HD void KS_T(ks_ends_transition)(ks_shape shape, int nx, int n, const ks_series *s, int64_t k,
                                    int fresh, int out, KS_T(ks_ends_memory) *memory)
{
    KS_T(ks_ends_blocks) *w = &memory->step;
    if (fresh || s->Q.stride) memory->root = memory->factors = memory->inverse = 0;
    if (fresh || s->F.stride || s->Q.stride) memory->through = 0;
    if (fresh || s->F.stride) {
        const KS_NUM *F = (const KS_NUM *)ks_row(s->F, k - s->shift);
        w->F = F;
        if (out && shape == KS_SHAPE_ROWS) {
            KS_T(ks_rows_transpose)(nx, F, w->FT);
        } else if (out) {
            KS_T(ks_transpose_rows)(nx, nx, F, nx, w->FT, n);
        } else if (n != nx) {
            if (shape == KS_SHAPE_ROWS) KS_T(ks_rows_pad)(nx, nx, F, memory->F);
            else KS_T(ks_pad)(nx, nx, F, nx, memory->F, n);
            w->F = memory->F;
        }
    }
    if (fresh || s->u.stride) {
        w->u = (const KS_NUM *)ks_row(s->u, k - s->shift);
        if (n != nx) {
            KS_T(ks_copy)(nx, w->u, memory->u);
            w->u = memory->u;
        }
        w->drifts = 0;
        for (int i = 0; i < nx; ++i) w->drifts |= w->u[i] != KS_LIT(0);
    }
}

/** The same for any number of states, with all blocks, at the beginning of a range. The steps in between have their own
 *  copies. */
KS_HD_SAME void KS_T(ks_ends_transition_any)(int nx, int n, const ks_series *s, int64_t k, int out,
                                             KS_T(ks_ends_memory) *memory)
{
    KS_T(ks_ends_transition)(KS_SHAPE_TILES, nx, n, s, k, 1, out, memory);
}

/** Whiten the observed entries of a step to `o`. out: only the factors of R. Returns false if R is not positive
 *  definite. */
KS_HD_COLD KS_MASK KS_T(ks_ends_whiten)(ks_shape shape, int out, int nx, int n, int m, const KS_NUM *H,
                                        const KS_NUM *R, const KS_NUM *zero,
                                        KS_T(ks_ends_channels) *o)
{
    if (shape == KS_SHAPE_TILES) return KS_T(ks_tiled_whiten)(out, nx, n, m, H, R, zero, o);
    if (out) return KS_T(ks_few_factors_any)(m, H, R, o);
    if (shape == KS_SHAPE_ROWS) return KS_T(ks_row_whiten_any)(nx, m, H, R, o);
    switch (m) {
    case 0: return KS_T(ks_quad_whiten)(0, H, R, o);
    case 1: return KS_T(ks_quad_whiten)(1, H, R, o);
    case 2: return KS_T(ks_quad_whiten)(2, H, R, o);
    case 3: return KS_T(ks_quad_whiten)(3, H, R, o);
    default: return KS_T(ks_quad_whiten)(4, H, R, o);
    }
}

/** The same for a step with missing entries. v <- y - d of the entries present. Returns their number, or -1 if the
 *  plain range must report what is wrong. */
KS_HD_COLD int KS_T(ks_ends_present)(ks_shape shape, int out, const ks_series *s, int64_t k,
                                     KS_T(ks_ends_memory) *w)
{
    int entry = 0;
    const KS_T(ks_observation) o = KS_T(ks_observe)(s, k, w->compact, &entry);
    if (o.m < 0) return -1;
    for (int i = 0; i < o.m; ++i) w->v[i] = o.y[i] - o.d[i];
    return KS_ALL(KS_T(ks_ends_whiten)(shape, out, s->nx, KS_T(ks_ends_rows)(shape, s->nx), o.m, o.H, o.R,
                                       w->step.zero, &w->some)) ? o.m : -1;
}

/** The same for up to four entries whose H and R do not vary. What is made of these is kept for each pattern of
 *  entries. */
KS_HD_COLD KS_T(ks_ends_channels) *KS_T(ks_ends_few_present)(ks_shape shape, int out, const ks_series *s, int64_t k,
                                                             KS_T(ks_ends_memory) *w)
{
    const int nx = s->nx, ny = s->ny;
    const KS_NUM *y = (const KS_NUM *)ks_row(s->y, k), *d = (const KS_NUM *)ks_row(s->d, k);
    int m = 0, entry = 0;
    unsigned pattern = 0;
    for (int i = 0; i < ny; ++i) {
        if (!(y[i] == y[i])) continue;
        if (!(y[i] - y[i] == KS_LIT(0))) return NULL;
        pattern |= 1u << i;
        w->v[m++] = y[i] - d[i];
    }
    KS_T(ks_ends_channels) *o = &w->pattern[pattern];
    if (o->m >= 0) return o;
    const KS_T(ks_observation) seen = KS_T(ks_observe)(s, k, w->compact, &entry);
    KS_T(ks_copy)(m * nx, seen.H, o->own_H);
    if (KS_ALL(KS_T(ks_ends_whiten)(shape, out, nx, KS_T(ks_ends_rows)(shape, nx), m, o->own_H, seen.R, w->step.zero, o)))
        return o;
    o->m = -1;
    return NULL;
}

/** The observation of step k, whitened. out: only the factors of R. Returns NULL if the plain range must report what is
 *  wrong. w->v <- y - d of the entries present. */
KS_HD const KS_T(ks_ends_channels) *KS_T(ks_ends_observe)(ks_shape shape, int out, int nx, int n, int ny,
                                                          const ks_series *s, int64_t k, int *fresh,
                                                          KS_T(ks_ends_memory) *w)
{
    const KS_NUM *y = (const KS_NUM *)ks_row(s->y, k), *d = (const KS_NUM *)ks_row(s->d, k);
    KS_NUM sum = KS_LIT(0);
    for (int i = 0; i < ny; ++i) {
        sum = sum + (y[i] - y[i]);
        w->v[i] = y[i] - d[i];
    }
    if (!(sum == KS_LIT(0))) {
        if (shape != KS_SHAPE_TILES && !s->H.stride && !s->R.stride)
            return KS_T(ks_ends_few_present)(shape, out, s, k, w);
        return KS_T(ks_ends_present)(shape, out, s, k, w) < 0 ? NULL : &w->some;
    }
    w->all.H = (const KS_NUM *)ks_row(s->H, k);
    if (*fresh || s->R.stride || (!out && s->H.stride)) {
        if (!KS_ALL(KS_T(ks_ends_whiten)(shape, out, nx, n, ny, w->all.H, (const KS_NUM *)ks_row(s->R, k),
                                         w->step.zero, &w->all)))
            return NULL;
        *fresh = 0;
    }
    return &w->all;
}

/** Copy the last `count` numbers of a row of nx. Whole vectors overrun into the next row, which is written afterwards.
 *  There is a next row unless the rest is shorter than a vector. */
KS_HD void KS_T(ks_copy_tail)(int nx, int count, const KS_NUM *from, KS_NUM *to)
{
    if (nx > 8 && count >= KS_LANES)
        for (int c = 0; c < count; c += KS_LANES) KS_STOREV(to + c, KS_LOADV(from + c));
    else
        for (int c = 0; c < count; ++c) to[c] = from[c];
}

/** Pack the factors of K for the way out: row by row 1 / D and the rest of the row of Lᵀ. */
KS_HD void KS_T(ks_store_factors)(int nx, int n, const KS_NUM *LT, const KS_NUM *inverse_d,
                                  KS_NUM *packed)
{
    for (int i = 0; i < nx; ++i) {
        *packed++ = inverse_d[i];
        KS_T(ks_copy_tail)(nx, nx - i - 1, LT + i * n + i + 1, packed);
        packed += nx - i - 1;
    }
}

KS_HD void KS_T(ks_load_factors)(int nx, int n, const KS_NUM *packed, KS_NUM *LT, KS_NUM *inverse_d)
{
    for (int i = 0; i < nx; ++i) {
        inverse_d[i] = *packed++;
        KS_T(ks_copy_tail)(nx, nx - i - 1, packed, LT + i * n + i + 1);
        packed += nx - i - 1;
    }
}

/** Prefetch the rows of step k, if `there`, while the next `tiles` tiles are made. */
KS_HD void KS_T(ks_ends_expect)(ks_prefetch *prefetch, int nx, const ks_series *s, int64_t k, int there,
                                const ks_right_rows *rows, int64_t tiles)
{
    if (prefetch) ks_prefetch_flush(prefetch);
    if (!there) return;
    KS_T(ks_tiled_expect)(prefetch, nx * nx, (const KS_NUM *)ks_slot_of(rows->A, k));
    KS_T(ks_tiled_expect)(prefetch, nx * (nx + 1) / 2, (const KS_NUM *)ks_slot_of(rows->K, k));
    KS_T(ks_expect_step)(prefetch, nx, s, k, 1);
    if (prefetch) ks_prefetch_spread(prefetch, tiles);
}

/** A memo of steps with keys of ka + kb numbers and so many results. */
KS_HD KS_T(ks_memo) KS_T(ks_ends_memo)(int n, const ks_series *s, int64_t steps, int ka, int kb,
                                       int results, const KS_T(ks_ends_memory) *w)
{
    KS_T(ks_memo) memo =
        KS_T(ks_memo_start)(n, 0, KS_T(ks_memo_pays)(s, steps), ka, kb, results, w->memo);
    memo.mark = w->mark;
    memo.base = w->memo;
    return memo;
}
