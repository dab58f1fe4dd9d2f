/* factor_text.h -- factorization along a lane; see chains.h. */

#include "chain_text.h"

/** The coupling of block k with the next as a panel whose rows are those of block k. */
KS_HD void KS_T(ks_bt_load_ahead)(const ks_bt_chain *c, int n, int slab, int64_t k, KS_NUM *P)
{
    const KS_NUM *block =
        (const KS_NUM *)c->edge_in + KS_T(ks_bt_ahead)(c, k) * c->edge_in_stride;
    /* Couplings are stored as A[upper, lower]. */
    if (c->step > 0)
        KS_T(ks_bt_load_transposed)(n, slab, block, P);
    else
        KS_T(ks_bt_load)(n, slab, block, P);
}

/** Find what to prefetch while block k is eliminated: the place of its factor, the next coupling, and the
 *  diagonal block after the next one, which is read before the next block is eliminated. */
KS_HD void KS_T(ks_bt_look_ahead)(const ks_bt_chain *c, int n, int64_t k,
                                  KS_T(ks_bt_ahead_of) *ahead)
{
    const KS_T(ks_bt_ahead_of) nothing = { 0, 0, 0, 0, 0, 0, 0 };
    *ahead = nothing;
    if (n < KS_BT_ASK_FROM || n > KS_BT_ASK_TO || k + 2 >= c->count) return;
    ahead->n = n;
    ahead->D_in = (const KS_NUM *)c->D_in + KS_T(ks_bt_block_at)(c, k + 2) * c->D_in_stride;
    ahead->L_in = (const KS_NUM *)c->edge_in + KS_T(ks_bt_ahead)(c, k + 1) * c->edge_in_stride;
    ahead->D_out = (const KS_NUM *)c->D + KS_T(ks_bt_block_at)(c, k) * c->D_stride;
    ahead->L_out = (const KS_NUM *)c->edge + KS_T(ks_bt_ahead)(c, k) * c->edge_stride;
}

/** Factor a lane without an anchor. A wide panel holds the current block and its coupling. Then the next
 *  block replaces the block beside the coupling. */
KS_HD ks_bt_failure KS_T(ks_bt_factor_plain)(int n, const ks_bt_chain *c)
{
    const int np = (n + 3) / 4 * 4, columns = KS_T(ks_bt_columns)(n);
    const int slab = KS_T(ks_bt_slab)(np), beside = columns / KS_BT_WIDTH * slab;
    const KS_NUM *D_in = (const KS_NUM *)c->D_in;
    KS_NUM *D_out = (KS_NUM *)c->D, *edge = (KS_NUM *)c->edge;
    KS_NUM *P = KS_T(ks_bt_panel_at)(c, 0), *X = P + beside;
    KS_T(ks_bt_ahead_of) ahead;
    ks_bt_failure failure = { -1, -1 };
    KS_T(ks_bt_load_symmetric)(n, slab, D_in + KS_T(ks_bt_block_at)(c, 0) * c->D_in_stride, P);
    for (int64_t k = 0; k < c->count; ++k) {
        const int64_t block = KS_T(ks_bt_block_at)(c, k);
        const int inner = k + 1 < c->count, coupled = inner || c->target >= 0;
        if (coupled) KS_T(ks_bt_load_ahead)(c, n, slab, k, X);
        KS_T(ks_bt_look_ahead)(c, n, k, &ahead);
        const int bad = KS_T(ks_bt_eliminate)(n, np, coupled, slab, P, &ahead);
        if (bad >= 0) {
            failure.block = block;
            failure.pivot = bad;
            return failure;
        }
        KS_T(ks_bt_store_upper)(n, slab, P, D_out + block * c->D_stride);
        if (inner) {
            KS_T(ks_bt_load_symmetric)(n, slab, D_in + KS_T(ks_bt_block_at)(c, k + 1) * c->D_in_stride, P);
            KS_T(ks_bt_downdate)(n, np, slab, X, P, &ahead);
        }
        if (coupled)
            KS_T(ks_bt_store)(n, slab, X, edge + KS_T(ks_bt_ahead)(c, k) * c->edge_stride);
    }
    return failure;
}

/** Factor a lane with an anchor, with which each block is coupled, too. A wide panel holds the block, its
 *  coupling with the anchor, and that with the next block. */
KS_HD ks_bt_failure KS_T(ks_bt_factor_anchored)(int n, const ks_bt_chain *c)
{
    const int np = (n + 3) / 4 * 4, columns = KS_T(ks_bt_columns)(n);
    const int slab = KS_T(ks_bt_slab)(np), beside = columns / KS_BT_WIDTH * slab;
    const KS_NUM *D_in = (const KS_NUM *)c->D_in;
    KS_NUM *D_out = (KS_NUM *)c->D, *edge = (KS_NUM *)c->edge;
    KS_NUM *anchor_block = D_out + c->anchor * c->D_stride;
    KS_NUM *P = KS_T(ks_bt_panel_at)(c, 0), *next = P + 3 * beside;
    KS_NUM *A = next + 3 * beside;
    KS_T(ks_bt_ahead_of) ahead;
    ks_bt_failure failure = { -1, -1 };
    const KS_NUM *behind = (const KS_NUM *)c->edge_in + (c->first - 1) * c->edge_in_stride;
    KS_T(ks_bt_load)(n, slab, behind, P + beside);
    KS_T(ks_bt_load_symmetric)(n, slab, anchor_block, A);
    KS_T(ks_bt_load_symmetric)(n, slab, D_in + KS_T(ks_bt_block_at)(c, 0) * c->D_in_stride, P);
    for (int64_t k = 0; k < c->count; ++k) {
        const int64_t block = KS_T(ks_bt_block_at)(c, k);
        const int inner = k + 1 < c->count, coupled = inner || c->target >= 0;
        KS_NUM *Y = P + beside, *X = P + 2 * beside;
        if (coupled) KS_T(ks_bt_load_ahead)(c, n, slab, k, X);
        KS_T(ks_bt_look_ahead)(c, n, k, &ahead);
        const int bad = KS_T(ks_bt_eliminate)(n, np, 1 + coupled, slab, P, &ahead);
        if (bad >= 0) {
            failure.block = block;
            failure.pivot = bad;
            return failure;
        }
        KS_T(ks_bt_store_upper)(n, slab, P, D_out + block * c->D_stride);
        KS_T(ks_bt_store)(n, slab, Y, KS_T(ks_bt_behind)(c, k));
        KS_T(ks_bt_downdate)(n, np, slab, Y, A, &ahead);
        if (!coupled) break;
        KS_T(ks_bt_store)(n, slab, X, edge + KS_T(ks_bt_ahead)(c, k) * c->edge_stride);
        KS_T(ks_bt_fill_in)(n, np, slab, X, Y, next + beside, &ahead);
        if (inner) {
            KS_T(ks_bt_load_symmetric)(n, slab, D_in + KS_T(ks_bt_block_at)(c, k + 1) * c->D_in_stride, next);
            KS_T(ks_bt_downdate)(n, np, slab, X, next, &ahead);
        }
        KS_NUM *swap = P;
        P = next;
        next = swap;
    }
    KS_T(ks_bt_store_lower)(n, slab, A, anchor_block);
    if (c->target >= 0) KS_T(ks_bt_store)(n, slab, P + beside, (KS_NUM *)c->bridge);
    return failure;
}

static ks_bt_failure KS_T(ks_bt_factor)(const ks_bt_chain *c)
{
    const ks_bt_failure none = { -1, -1 };
    const int n = c->n;
    if (c->count == 0) {
        /* The two separators are neighbours: their coupling goes to the next level unchanged. */
        if (c->anchor >= 0 && c->target >= 0) {
            const KS_NUM *from = (const KS_NUM *)c->edge_in + (c->first - 1) * c->edge_in_stride;
            for (int i = 0; i < n * n; ++i) ((KS_NUM *)c->bridge)[i] = from[i];
        }
        return none;
    }
    if (c->anchor < 0) {
        switch (n) {
        case 1: return KS_T(ks_bt_factor_plain)(1, c);
        case 2: return KS_T(ks_bt_factor_plain)(2, c);
        case 3: return KS_T(ks_bt_factor_plain)(3, c);
        case 4: return KS_T(ks_bt_factor_plain)(4, c);
        case 5: return KS_T(ks_bt_factor_plain)(5, c);
        case 6: return KS_T(ks_bt_factor_plain)(6, c);
        case 7: return KS_T(ks_bt_factor_plain)(7, c);
        case 8: return KS_T(ks_bt_factor_plain)(8, c);
        case 12: return KS_T(ks_bt_factor_plain)(12, c);
        case 16: return KS_T(ks_bt_factor_plain)(16, c);
        default: return KS_T(ks_bt_factor_plain)(n, c);
        }
    }
    switch (n) {
    case 4: return KS_T(ks_bt_factor_anchored)(4, c);
    default: return KS_T(ks_bt_factor_anchored)(n, c);
    }
}

static void KS_T(ks_bt_gather)(int n, const void *X, void *D, void *scratch)
{
    const int np = (n + 3) / 4 * 4, slab = KS_T(ks_bt_slab)(np);
    KS_NUM *P = (KS_NUM *)scratch, *Y = P + KS_T(ks_bt_columns)(n) / KS_BT_WIDTH * slab;
    KS_T(ks_bt_load_symmetric)(n, slab, (const KS_NUM *)D, P);
    KS_T(ks_bt_load)(n, slab, (const KS_NUM *)X, Y);
    KS_T(ks_bt_downdate)(n, np, slab, Y, P, (KS_T(ks_bt_ahead_of) *)0);
    KS_T(ks_bt_store_lower)(n, slab, P, (KS_NUM *)D);
}
