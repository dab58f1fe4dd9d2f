/* chain_text.h -- addresses of the blocks, couplings and panels of a lane; see chains.h. Included by factor_text.h and
 * plain_text.h. */

/** Index of the k-th block. */
KS_HD int64_t KS_T(ks_bt_block_at)(const ks_bt_chain *c, int64_t k)
{
    const int64_t at = c->offset + (c->first + k * c->step) * c->stride;
    return at < c->last ? at : c->last;
}

/** Index of the coupling of the k-th block with the one that is eliminated next. */
KS_HD int64_t KS_T(ks_bt_ahead)(const ks_bt_chain *c, int64_t k)
{
    const int64_t at = c->first + k * c->step;
    return c->step > 0 ? at : at - 1;
}

/** Address in the factor of the coupling of the k-th block with its anchor. */
KS_HD KS_NUM *KS_T(ks_bt_behind)(const ks_bt_chain *c, int64_t k)
{
    const int64_t size = (int64_t)c->n * c->n;
    return k > 0 ? (KS_NUM *)c->fill + (k - 1) * size
                 : (KS_NUM *)c->edge + (c->first - 1) * c->edge_stride;
}

/** Panel `number` of the scratch. */
KS_HD KS_NUM *KS_T(ks_bt_panel_at)(const ks_bt_chain *c, int number)
{
    return (KS_NUM *)c->scratch + (size_t)number * ks_bt_panel(c->n, c->ld);
}
