/* map_links_text.h -- the transition of a step with more than KS_MAP_FEW states, as the panels that map_wide_text.h
 * takes. See map_rows_text.h for fewer states, and num_f64.h. For scalar numbers.
 *
 * With Q = Rᵀ R and Z = R⁻ᵀ, lower triangular, Q⁻¹ = Zᵀ Z: only a triangle is inverted. */

/** Make Q⁻¹ and its root Z, for which D is I. Return -1, or the row of Q that is not positive. */
KS_HD int KS_T(ks_map_noise_panels)(int n, int wanted, const KS_NUM *Q, double pivot,
                                    KS_T(ks_map_link) *l, KS_T(ks_map_room) *room)
{
    const int ld = KS_T(ks_map_ld)(n), block = KS_T(ks_map_block)(n);
    KS_T(ks_map_load)(n, n, ld, Q, l->Q_rows);
    KS_T(ks_map_to_panel)(n, ld, 1, l->Q_rows, room->sum);
    l->pivots = ks_evidence_start();
    int bad = KS_T(ks_map_cholesky)(n, 0, room->sum, (const KS_NUM *)0, &l->pivots);
    KS_T(ks_map_store_root)(n, room->sum, l->LD);
    for (int i = 0; i < n; ++i) {
        const KS_NUM left = l->LD[i * n + i] * l->LD[i * n + i];
        if (!KS_GT(left, KS_LIT(pivot) * Q[i * n + i]) && bad < 0) bad = i;
        l->inverse_d[i] = KS_LIT(1);
    }
    if (bad >= 0) {
        const int first = KS_T(ks_map_factor)(n, pivot, Q, l->LD, l->inverse_d);
        return first >= 0 ? first : bad;
    }
    KS_T(ks_map_invert_root)(n, 1, room->sum);
    KS_T(ks_copy)(block, room->sum + block, room->Z);
    KS_T(ks_map_transpose_panel)(n, room->Z, room->transposed_Z);
    KS_T(ks_map_from_panel)(n, ld, room->Z, l->root);
    KS_T(ks_map_clear_upper)(n, room->product);
    KS_T(ks_map_less_square)(n, room->Z, room->product);
    KS_T(ks_map_minus_rows)(n, ld, room->product, l->precision);
    if (wanted & KS_MAP_OUTWARDS) KS_T(ks_map_transpose)(n, n, ld, ld, l->root, l->transposed_root);
    return -1;
}

/** Make what depends on F, given Q⁻¹. */
KS_HD void KS_T(ks_map_transition_panels)(int n, int wanted, int stays, const KS_NUM *F,
                                          KS_T(ks_map_link) *l, KS_T(ks_map_room) *room)
{
    const int ld = KS_T(ks_map_ld)(n), block = KS_T(ks_map_block)(n);
    KS_NUM *panel = room->pair, *white = room->pair + block; /* F, -Z F */
    l->F = KS_T(ks_map_rows_of)(n, n, ld, stays, F, l->F_rows);
    KS_T(ks_map_to_panel)(n, ld, 0, l->F, panel);
    KS_T(ks_map_clear)(n, white);
    KS_T(ks_map_less_upper_times)(n, room->transposed_Z, panel, white);
    KS_T(ks_map_clear)(n, room->N);
    KS_T(ks_map_less_lower_times)(n, room->Z, white, room->N);
    KS_T(ks_map_clear_upper)(n, room->product);
    KS_T(ks_map_less_gram)(n, white, room->product);
    KS_T(ks_map_minus_rows)(n, ld, room->product, l->carried);
    KS_T(ks_map_to_panel)(n, ld, 0, l->carried, room->carried);
    if (wanted & KS_MAP_UPWARDS) KS_T(ks_map_transpose_panel)(n, room->N, room->C);
    if (wanted & KS_MAP_OUTWARDS) KS_T(ks_map_transpose)(n, n, ld, ld, l->F, l->transposed_F);
}
