/* factor_text.h -- factoring and solving along a lane; see chains.h. */

KS_HD int64_t KS_T(ks_bt_block_at)(const ks_bt_chain *c, int64_t k)
{
    const int64_t at = c->offset + (c->first + k * c->step) * c->stride;
    return at < c->last ? at : c->last;
}

/** Index of the coupling of the k-th block with the one eliminated after it. */
KS_HD int64_t KS_T(ks_bt_ahead)(const ks_bt_chain *c, int64_t k)
{
    const int64_t at = c->first + k * c->step;
    return c->step > 0 ? at : at - 1;
}

/** Coupling of the k-th block with its anchor: where it is kept. */
KS_HD KS_NUM *KS_T(ks_bt_behind)(const ks_bt_chain *c, int64_t k)
{
    const int64_t size = (int64_t)c->n * c->n;
    return k > 0 ? (KS_NUM *)c->fill + (k - 1) * size
                 : (KS_NUM *)c->edge + (c->first - 1) * c->edge_stride;
}

KS_HD KS_NUM *KS_T(ks_bt_panel_at)(const ks_bt_chain *c, int number)
{
    return (KS_NUM *)c->scratch + (size_t)number * ks_bt_panel(c->n, c->ld);
}

/** The coupling of block k with the next as a panel whose rows are those of block k. */
KS_HD void KS_T(ks_bt_load_ahead)(const ks_bt_chain *c, int n, int np, int ld, int64_t k,
                                  KS_NUM *P)
{
    const KS_NUM *block =
        (const KS_NUM *)c->edge_in + KS_T(ks_bt_ahead)(c, k) * c->edge_in_stride;
    /* Couplings are stored as A[upper, lower]. */
    if (c->step > 0)
        KS_T(ks_bt_load_transposed)(n, np, ld, block, P);
    else
        KS_T(ks_bt_load)(n, np, ld, block, P);
}

/** Lane without an anchor. */
KS_HD ks_bt_failure KS_T(ks_bt_factor_plain)(int n, int np, int ld, const ks_bt_chain *c)
{
    const KS_NUM *D_in = (const KS_NUM *)c->D_in;
    KS_NUM *D_out = (KS_NUM *)c->D, *edge = (KS_NUM *)c->edge;
    KS_NUM *D = KS_T(ks_bt_panel_at)(c, 0), *next = KS_T(ks_bt_panel_at)(c, 1);
    KS_NUM *X = KS_T(ks_bt_panel_at)(c, 2);
    ks_bt_failure failure = { -1, -1 };
    KS_T(ks_bt_load_symmetric)(n, np, ld, D_in + KS_T(ks_bt_block_at)(c, 0) * c->D_in_stride, D);
    for (int64_t k = 0; k < c->count; ++k) {
        const int64_t block = KS_T(ks_bt_block_at)(c, k);
        const int inner = k + 1 < c->count, coupled = inner || c->target >= 0;
        if (coupled) KS_T(ks_bt_load_ahead)(c, n, np, ld, k, X);
        const int bad = KS_T(ks_bt_eliminate_any)(n, np, ld, D, coupled ? X : (KS_NUM *)0,
                                                  (KS_NUM *)0);
        if (bad >= 0) {
            failure.block = block;
            failure.pivot = bad;
            return failure;
        }
        KS_T(ks_bt_store)(n, ld, D, D_out + block * c->D_stride);
        if (coupled)
            KS_T(ks_bt_store)(n, ld, X, edge + KS_T(ks_bt_ahead)(c, k) * c->edge_stride);
        if (inner) {
            KS_T(ks_bt_load_symmetric)(
                n, np, ld, D_in + KS_T(ks_bt_block_at)(c, k + 1) * c->D_in_stride, next);
            KS_T(ks_bt_downdate)(n, np, ld, X, next);
            KS_NUM *swap = D;
            D = next;
            next = swap;
        }
    }
    return failure;
}

/** Lane with an anchor: each block is coupled with it, too. */
KS_HD ks_bt_failure KS_T(ks_bt_factor_anchored)(int n, int np, int ld, const ks_bt_chain *c)
{
    const KS_NUM *D_in = (const KS_NUM *)c->D_in;
    KS_NUM *D_out = (KS_NUM *)c->D, *edge = (KS_NUM *)c->edge;
    KS_NUM *anchor_block = D_out + c->anchor * c->D_stride;
    KS_NUM *panel[6];
    ks_bt_failure failure = { -1, -1 };
    for (int i = 0; i < 6; ++i) panel[i] = KS_T(ks_bt_panel_at)(c, i);
    KS_NUM *D = panel[0], *X = panel[1], *Y = panel[2], *Y_next = panel[3], *A = panel[4];
    const KS_NUM *behind = (const KS_NUM *)c->edge_in + (c->first - 1) * c->edge_in_stride;
    KS_T(ks_bt_load)(n, np, ld, behind, Y);
    KS_T(ks_bt_load_symmetric)(n, np, ld, anchor_block, A);
    KS_T(ks_bt_load_symmetric)(n, np, ld, D_in + KS_T(ks_bt_block_at)(c, 0) * c->D_in_stride, D);
    for (int64_t k = 0; k < c->count; ++k) {
        const int64_t block = KS_T(ks_bt_block_at)(c, k);
        const int inner = k + 1 < c->count, coupled = inner || c->target >= 0;
        if (coupled) KS_T(ks_bt_load_ahead)(c, n, np, ld, k, X);
        const int bad =
            KS_T(ks_bt_eliminate_any)(n, np, ld, D, Y, coupled ? X : (KS_NUM *)0);
        if (bad >= 0) {
            failure.block = block;
            failure.pivot = bad;
            return failure;
        }
        KS_T(ks_bt_store)(n, ld, D, D_out + block * c->D_stride);
        KS_T(ks_bt_store)(n, ld, Y, KS_T(ks_bt_behind)(c, k));
        KS_T(ks_bt_downdate)(n, np, ld, Y, A);
        if (!coupled) break;
        KS_T(ks_bt_store)(n, ld, X, edge + KS_T(ks_bt_ahead)(c, k) * c->edge_stride);
        KS_T(ks_bt_fill_in)(n, np, ld, X, Y, Y_next);
        KS_NUM *swap = Y;
        Y = Y_next;
        Y_next = swap;
        if (inner) {
            KS_T(ks_bt_load_symmetric)(
                n, np, ld, D_in + KS_T(ks_bt_block_at)(c, k + 1) * c->D_in_stride, D);
            KS_T(ks_bt_downdate)(n, np, ld, X, D);
        }
    }
    KS_T(ks_bt_store_lower)(n, ld, A, anchor_block);
    if (c->target >= 0) KS_T(ks_bt_store)(n, ld, Y, (KS_NUM *)c->bridge);
    return failure;
}

static ks_bt_failure KS_T(ks_bt_factor)(const ks_bt_chain *c)
{
    const ks_bt_failure none = { -1, -1 };
    const int n = c->n, np = (n + 3) / 4 * 4;
    if (c->count == 0) {
        /* Separators that are neighbours: their coupling is the next level's as it is. */
        if (c->anchor >= 0 && c->target >= 0) {
            const KS_NUM *from = (const KS_NUM *)c->edge_in + (c->first - 1) * c->edge_in_stride;
            for (int i = 0; i < n * n; ++i) ((KS_NUM *)c->bridge)[i] = from[i];
        }
        return none;
    }
    if (c->anchor < 0) {
        switch (n) {
        case 4: return KS_T(ks_bt_factor_plain)(4, 4, KS_BT_WIDTH, c);
        case 8: return KS_T(ks_bt_factor_plain)(8, 8, 8, c);
        case 16: return KS_T(ks_bt_factor_plain)(16, 16, 16, c);
        default: return KS_T(ks_bt_factor_plain)(n, np, c->ld, c);
        }
    }
    switch (n) {
    case 4: return KS_T(ks_bt_factor_anchored)(4, 4, KS_BT_WIDTH, c);
    default: return KS_T(ks_bt_factor_anchored)(n, np, c->ld, c);
    }
}

static void KS_T(ks_bt_gather)(int n, int ld, const void *X, void *D, void *scratch)
{
    const int np = (n + 3) / 4 * 4;
    KS_NUM *P = (KS_NUM *)scratch, *Y = P + ks_bt_panel(n, ld);
    KS_T(ks_bt_load_symmetric)(n, np, ld, (const KS_NUM *)D, P);
    KS_T(ks_bt_load)(n, np, ld, (const KS_NUM *)X, Y);
    KS_T(ks_bt_downdate)(n, np, ld, Y, P);
    KS_T(ks_bt_store_lower)(n, ld, P, (KS_NUM *)D);
}
