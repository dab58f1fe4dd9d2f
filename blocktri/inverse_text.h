/* inverse_text.h -- blocks of the inverse along a lane, from its far end back; see chains.h.
 *
 * A block j has at most two neighbours when it is eliminated, K = {t, a}: the one ahead and the
 * anchor. With U = A_jj^-1 A_jK = R^-1 X from its elimination, and S_KK, the inverse at these
 * neighbours, which are eliminated later,
 *     S_jK = -U S_KK    and    S_jj = R^-1 R'^-1 - S_jK U'. */

/* Panels in this file are row-major with row stride ld. */

/** Copy block (n, n) to a panel, padded with zeros. */
KS_HD void KS_T(ks_bt_load_rows)(int n, int np, int ld, const KS_NUM *KS_RESTRICT block,
                                 KS_NUM *KS_RESTRICT P)
{
    for (int i = 0; i < np; ++i) {
        for (int j = 0; i < n && j < n; ++j) P[i * ld + j] = block[i * n + j];
        for (int j = i < n ? n : 0; j < ld; ++j) P[i * ld + j] = KS_LIT(0);
    }
}

KS_HD void KS_T(ks_bt_store_rows)(int n, int ld, const KS_NUM *KS_RESTRICT P,
                                  KS_NUM *KS_RESTRICT block)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) block[i * n + j] = P[i * ld + j];
}

KS_HD void KS_T(ks_bt_zero)(int np, int ld, KS_NUM *P)
{
    for (int i = 0; i < np * ld; ++i) P[i] = KS_LIT(0);
}

KS_HD void KS_T(ks_bt_transpose)(int np, int ld, const KS_NUM *KS_RESTRICT P,
                                 KS_NUM *KS_RESTRICT Q)
{
    for (int i = 0; i < np; ++i) {
        for (int j = 0; j < np; ++j) Q[i * ld + j] = P[j * ld + i];
        for (int j = np; j < ld; ++j) Q[i * ld + j] = KS_LIT(0);
    }
}

/** C (n, n) += A B, or -= if `subtract`; all are panels. */
KS_HD void KS_T(ks_bt_multiply)(int subtract, int n, int np, int ld, const KS_NUM *A,
                                const KS_NUM *B, KS_NUM *C)
{
    if (n > KS_BT_BLAS)
        KS_T(ks_lapack_gemm)(0, n, n, n, KS_LIT(subtract ? -1 : 1), A, ld, B, ld, KS_LIT(1), C, ld);
    else if (subtract)
        KS_T(ks_gemm_sub)(np, np, ld, A, ld, 1, B, C);
    else
        KS_T(ks_gemm_add)(np, np, ld, A, ld, 1, B, C);
}

/** P <- R^-1 P; both are panels. */
KS_HD void KS_T(ks_bt_multipliers)(int n, int np, int ld, const KS_NUM *R, KS_NUM *P)
{
    if (n > KS_BT_BLAS) {
        KS_T(ks_lapack_trsm)(0, n, n, R, ld, P, ld);
        return;
    }
    for (int p = np - 4; p >= 0; p -= 4) {
        KS_T(ks_gemm_sub)(4, np - 4 - p, ld, R + p * ld + p + 4, ld, 1, P + (p + 4) * ld,
                          P + p * ld);
        for (int i = p + 3; i >= p; --i) {
            const KS_NUM inverse = KS_LIT(1) / R[i * ld + i];
            for (int l = i + 1; l < p + 4; ++l) {
                const KS_NUM r = R[i * ld + l];
                for (int j = 0; j < ld; ++j) P[i * ld + j] = P[i * ld + j] - r * P[l * ld + j];
            }
            for (int j = 0; j < ld; ++j) P[i * ld + j] = P[i * ld + j] * inverse;
        }
    }
}

typedef struct KS_T(ks_bt_inverse_panels) {
    KS_NUM *R, *Z, *T;         /* factor, R^-1, a transposed panel                    */
    KS_NUM *U_t, *U_a;         /* multipliers                                         */
    KS_NUM *S_tt, *S_aa;       /* inverse at the neighbours                           */
    KS_NUM *S_ta, *S_at;       /* between them                                        */
    KS_NUM *S_jt, *S_ja, *S_jj;
} KS_T(ks_bt_inverse_panels);

/** S_jt, S_ja and S_jj of one block from the panels of its neighbours. */
KS_HD void KS_T(ks_bt_inverse_block)(int n, int np, int ld, int coupled, int anchored,
                                     KS_T(ks_bt_inverse_panels) *p)
{
    const int both = coupled && anchored;
    for (int i = 0; i < np * ld; ++i) p->Z[i] = KS_LIT(0);
    for (int i = 0; i < np; ++i) p->Z[i * ld + i] = KS_LIT(1);
    KS_T(ks_bt_multipliers)(n, np, ld, p->R, p->Z);
    KS_T(ks_bt_zero)(np, ld, p->S_jj);
    KS_T(ks_bt_transpose)(np, ld, p->Z, p->T);
    KS_T(ks_bt_multiply)(0, n, np, ld, p->Z, p->T, p->S_jj);
    if (coupled) KS_T(ks_bt_multipliers)(n, np, ld, p->R, p->U_t);
    if (anchored) KS_T(ks_bt_multipliers)(n, np, ld, p->R, p->U_a);
    if (both) KS_T(ks_bt_transpose)(np, ld, p->S_ta, p->S_at);
    if (coupled) {
        KS_T(ks_bt_zero)(np, ld, p->S_jt);
        KS_T(ks_bt_multiply)(1, n, np, ld, p->U_t, p->S_tt, p->S_jt);
        if (both) KS_T(ks_bt_multiply)(1, n, np, ld, p->U_a, p->S_at, p->S_jt);
        KS_T(ks_bt_transpose)(np, ld, p->U_t, p->T);
        KS_T(ks_bt_multiply)(1, n, np, ld, p->S_jt, p->T, p->S_jj);
    }
    if (anchored) {
        KS_T(ks_bt_zero)(np, ld, p->S_ja);
        KS_T(ks_bt_multiply)(1, n, np, ld, p->U_a, p->S_aa, p->S_ja);
        if (both) KS_T(ks_bt_multiply)(1, n, np, ld, p->U_t, p->S_ta, p->S_ja);
        KS_T(ks_bt_transpose)(np, ld, p->U_a, p->T);
        KS_T(ks_bt_multiply)(1, n, np, ld, p->S_ja, p->T, p->S_jj);
    }
}

KS_HD void KS_T(ks_bt_inverse_store)(const ks_bt_chain *c, int n, int ld, int64_t k, int coupled,
                                     int anchored, const KS_T(ks_bt_inverse_panels) *p)
{
    KS_NUM *own = (KS_NUM *)c->S + KS_T(ks_bt_block_at)(c, k) * c->S_stride;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) own[i * n + j] = own[j * n + i] = p->S_jj[i * ld + j];
    if (!c->S_edge) return;
    if (coupled) {
        KS_NUM *edge = (KS_NUM *)c->S_edge + KS_T(ks_bt_ahead)(c, k) * c->S_edge_stride;
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j)
                edge[i * n + j] = c->step > 0 ? p->S_jt[j * ld + i] : p->S_jt[i * ld + j];
    }
    if (anchored && k == 0)
        KS_T(ks_bt_store_rows)(n, ld, p->S_ja,
                               (KS_NUM *)c->S_edge + (c->first - 1) * c->S_edge_stride);
}

KS_HD void KS_T(ks_bt_swap)(KS_NUM **a, KS_NUM **b)
{
    KS_NUM *c = *a;
    *a = *b;
    *b = c;
}

static void KS_T(ks_bt_inverse)(const ks_bt_chain *c)
{
    const int n = c->n, ld = c->ld, np = (n + 3) / 4 * 4, anchored = c->anchor >= 0;
    const KS_NUM *S = (const KS_NUM *)c->S, *edge = (const KS_NUM *)c->edge;
    if (c->count == 0) {
        if (anchored && c->target >= 0 && c->S_edge) {
            KS_NUM *to = (KS_NUM *)c->S_edge + (c->first - 1) * c->S_edge_stride;
            for (int i = 0; i < n * n; ++i) to[i] = ((const KS_NUM *)c->S_bridge)[i];
        }
        return;
    }
    KS_NUM *panel[12];
    for (int i = 0; i < 12; ++i) panel[i] = KS_T(ks_bt_panel_at)(c, i);
    KS_T(ks_bt_inverse_panels) p = { panel[0], panel[1], panel[2], panel[3], panel[4],  panel[5],
                                     panel[6], panel[7], panel[8], panel[9], panel[10], panel[11] };
    if (c->target >= 0) KS_T(ks_bt_load_rows)(n, np, ld, S + c->target * c->S_stride, p.S_tt);
    if (anchored) KS_T(ks_bt_load_rows)(n, np, ld, S + c->anchor * c->S_stride, p.S_aa);
    if (anchored && c->target >= 0)
        KS_T(ks_bt_load_rows)(n, np, ld, (const KS_NUM *)c->S_bridge, p.S_ta);
    for (int64_t k = c->count - 1; k >= 0; --k) {
        const int64_t block = KS_T(ks_bt_block_at)(c, k);
        const int coupled = k + 1 < c->count || c->target >= 0;
        KS_T(ks_bt_load_rows)(n, np, ld, (const KS_NUM *)c->D + block * c->D_stride, p.R);
        for (int i = n; i < np; ++i) p.R[i * ld + i] = KS_LIT(1);
        if (coupled)
            KS_T(ks_bt_load_rows)(n, np, ld, edge + KS_T(ks_bt_ahead)(c, k) * c->edge_stride,
                                  p.U_t);
        if (anchored) KS_T(ks_bt_load_rows)(n, np, ld, KS_T(ks_bt_behind)(c, k), p.U_a);
        KS_T(ks_bt_inverse_block)(n, np, ld, coupled, anchored, &p);
        KS_T(ks_bt_inverse_store)(c, n, ld, k, coupled, anchored, &p);
        /* This block is the one ahead of the block before it. */
        KS_T(ks_bt_load_rows)(n, np, ld, S + block * c->S_stride, p.S_tt);
        if (anchored) KS_T(ks_bt_swap)(&p.S_ta, &p.S_ja);
    }
}
