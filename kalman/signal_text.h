/* signal_text.h -- mean and covariance of H x + d; see num_f64.h. Covariances in memory are KS_GAIN, the arithmetic is
 * in KS_NUM. For plain C on the CPU. */

/** Write numbers that are `stride` apart to a row of covariances. Returns whether all are finite in its precision. */
KS_HD int KS_T(ks_signal_put)(int64_t numbers, int64_t stride, const KS_NUM *KS_RESTRICT from, KS_GAIN *KS_RESTRICT to)
{
    KS_GAIN sum = 0;
    for (int64_t i = 0; i < numbers; ++i) {
        to[i] = (KS_GAIN)from[i * stride];
        sum = sum + (to[i] - to[i]);
    }
    return sum == 0;
}

/** Write H x + d to its row. Returns whether it is finite. */
KS_HD int KS_T(ks_signal_mean)(const ks_signal_rows *rows, int64_t k)
{
    const int nx = rows->nx, ny = rows->ny;
    KS_NUM *to = (KS_NUM *)ks_slot_of(rows->to_mean, k), sum = KS_LIT(0);
    if (rows->d.base) KS_T(ks_copy)(ny, (const KS_NUM *)ks_row(rows->d, k), to);
    else KS_T(ks_zero)(ny, to);
    KS_T(ks_mv_add)(ny, nx, (const KS_NUM *)ks_row(rows->H, k), (const KS_NUM *)ks_row(rows->mean, k), to);
    for (int i = 0; i < ny; ++i) sum = sum + (to[i] - to[i]);
    return sum == KS_LIT(0);
}

/** Replace negative variances on the diagonal of A (n, n) by 0: they are round-off. */
KS_HD void KS_T(ks_signal_clamp)(int n, KS_NUM *A)
{
    for (int i = 0; i < n; ++i) A[i * n + i] = KS_SELECT(KS_GT(KS_LIT(0), A[i * n + i]), KS_LIT(0), A[i * n + i]);
}

/** C (ny, ny) = H P H' with Ht = H'. P may have a negative eigenvalue of the size of its round-off, and so may C. With
 *  a root of P, C would be a sum of squares. But if P is nearly singular, the root drops what P still says about other
 *  combinations of the states, so that digits would be lost to save a sign. W: ny * nx numbers. */
KS_HD void KS_T(ks_signal_cov)(int nx, int ny, const KS_NUM *H, const KS_NUM *Ht, const KS_NUM *P, KS_NUM *W, KS_NUM *C)
{
    KS_T(ks_mm)(ny, nx, nx, H, P, W);
    KS_T(ks_mm)(ny, nx, ny, W, Ht, C);
    KS_T(ks_mirror)(ny, C);
    KS_T(ks_signal_clamp)(ny, C);
}

/** Write C = H P H' in all forms that are asked for. This adds the diagonal of R to C if observed variances are.
 *  Returns whether all are finite. */
KS_HD int KS_T(ks_signal_variances)(const ks_signal_rows *rows, int64_t k, KS_NUM *C)
{
    const int ny = rows->ny, diagonal = ny + 1;
    int good = 1;
    if (rows->to_cov.base)
        good &= KS_T(ks_signal_put)((int64_t)ny * ny, 1, C, (KS_GAIN *)ks_slot_of(rows->to_cov, k));
    if (rows->to_var.base) good &= KS_T(ks_signal_put)(ny, diagonal, C, (KS_GAIN *)ks_slot_of(rows->to_var, k));
    if (rows->to_observed_var.base) {
        const KS_NUM *R = (const KS_NUM *)ks_row(rows->R, k);
        for (int i = 0; i < ny; ++i) C[i * diagonal] = C[i * diagonal] + R[i * diagonal];
        KS_T(ks_signal_clamp)(ny, C);
        good &= KS_T(ks_signal_put)(ny, diagonal, C, (KS_GAIN *)ks_slot_of(rows->to_observed_var, k));
    }
    return good;
}

KS_HD_COLD int64_t KS_T(signal_steps)(const ks_signal_rows *rows, int64_t k0, int64_t k1, void *work)
{
    const int nx = rows->nx, ny = rows->ny, wide = sizeof(KS_GAIN) == sizeof(KS_NUM);
    KS_NUM *Ht = (KS_NUM *)work, *W = Ht + ny * nx, *C = W + ny * nx, *own_P = C + ny * ny;
    const KS_NUM *turned = NULL;
    for (int64_t k = k0; k < k1; ++k) {
        const KS_NUM *H = (const KS_NUM *)ks_row(rows->H, k);
        if (rows->to_mean.base && !KS_T(ks_signal_mean)(rows, k)) return k;
        if (!rows->cov.base) continue;
        const void *P = ks_row(rows->cov, k);
        if (!wide) {
            for (int i = 0; i < nx * nx; ++i) own_P[i] = (KS_NUM)((const KS_GAIN *)P)[i];
            P = own_P;
        }
        if (H != turned) KS_T(ks_transpose)(ny, nx, H, Ht);
        turned = H;
        KS_T(ks_signal_cov)(nx, ny, H, Ht, (const KS_NUM *)P, W, C);
        if (!KS_T(ks_signal_variances)(rows, k, C)) return k;
    }
    return -1;
}
