/* map_memo_text.h -- steps of the MAP route that repeat earlier ones; see memo_text.h and num_f64.h. */

/** Start the memo of one direction, if steps may repeat. Keys have `ka` and `kb` blocks, results three. */
KS_HD void KS_T(ks_map_remember)(int n, const ks_series *s, const ks_map_system *a, int ka, int kb,
                                 KS_T(ks_map_chain) *c)
{
    const int block = KS_T(ks_map_block)(n);
    const unsigned same = KS_MAP_CONSTANT_TRANSITION | KS_MAP_CONSTANT_OBSERVATION;
    const int pays = (a->constant & same) == same && s->steps > 16 &&
                     s->steady_state != KS_STEADY_STATE_COMPUTE;
    c->memo = KS_T(ks_memo_start)(KS_T(ks_map_ld)(n), 0, pays, ka * block, kb * block,
                                  3 * block, c->remembered);
    c->memo.mark = c->remembered;
    c->memo.base = c->memo.mark + 2 * KS_T(ks_map_block_room)(n);
}

/** Return the three results of a slot. */
KS_HD void KS_T(ks_map_recall)(const KS_T(ks_memo) *memo, int at, int block, const KS_NUM **first,
                               const KS_NUM **second, const KS_NUM **third)
{
    const KS_NUM *slot = memo->base + (int64_t)at * memo->size + memo->ka + memo->kb;
    *first = slot;
    *second = slot + block;
    *third = slot + 2 * block;
}

/** Record results in a slot of ks_memo_miss(). */
KS_HD void KS_T(ks_map_record)(KS_T(ks_memo) *memo, KS_NUM *slot, int block, const KS_NUM *first,
                               const KS_NUM *second, const KS_NUM *third)
{
    slot += memo->ka + memo->kb;
    KS_T(ks_copy)(block, first, slot);
    KS_T(ks_copy)(block, second, slot + block);
    KS_T(ks_copy)(block, third, slot + 2 * block);
    KS_T(ks_memo_keep)(memo);
}
