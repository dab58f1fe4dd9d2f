/* mean_text.h -- means of filter and smoother steps whose covariances and gains are given in a narrower number type,
 * KS_GAIN; see num_f64.h, ks_gain_numbers() and means.h. For double, with one series, and for packs of double, with
 * several series of one model. The results have the same bits in both.
 *
 * mean_one_text.h and mean_pack_text.h read and write the lanes. */

/** Take step k of the filter in all lanes: x <- the filtered mean. W: 2 nx + 2 ny numbers. */
KS_HD void KS_T(ks_mean_filter_step)(int nx, int m, int64_t k, KS_T(ks_mean_lanes) *lanes, KS_NUM *x,
                                     KS_NUM *W)
{
    const ks_mean_lane *lane = lanes->lane;
    const ks_series *s = lane->series;
    const KS_GAIN *gain = (const KS_GAIN *)ks_slot_of(lane->gain, k), *L = gain + m * nx;
    KS_NUM *r = W, *v = r + m, *xp = v + m;
    if (k == 0 && s->prior_x1) {
        for (int i = 0; i < nx; ++i) xp[i] = x[i];
    } else {
        KS_T(ks_mean_predict)(nx, (const double *)ks_row(s->F, k - s->shift),
                              (const double *)ks_row(s->u, k - s->shift), x, xp);
    }
    KS_T(ks_mean_observe)(m, k, lanes, r);
    KS_T(ks_mean_times)(m, nx, -1, (const double *)ks_row(s->H, k), xp, r);
    for (int a = 0; a < m; ++a) v[a] = KS_T(ks_mean_present)(r[a]);
    KS_T(ks_gain_forward)(m, 1, L, v);
    KS_T(ks_mean_update)(nx, m, gain, v, xp, x);
    KS_T(ks_mean_gather)(nx, m, k, gain, r, v, xp, lanes);
}

/** Take steps k0 .. k1 - 1 of the filter. */
KS_HD void KS_T(ks_mean_filter_steps)(int nx, int ny, KS_T(ks_mean_lanes) *lanes, int64_t k0,
                                      int64_t k1, KS_NUM *W)
{
    KS_NUM *x = W;
    KS_T(ks_mean_read)(nx, lanes, NULL, 0, x);
    for (int64_t k = k0; k < k1; ++k) {
#define CALL(m) KS_T(ks_mean_filter_step)(nx, m, k, lanes, x, W + nx)
        KS_WITH_LITERAL_ENTRIES(nx, ny, CALL)
#undef CALL
        if (!KS_T(ks_mean_write)(nx, 1, k, lanes, x)) break;
    }
    KS_T(ks_mean_leave)(nx, lanes, x);
}

/** Take steps k1 - 1 .. k0 of the smoother. */
KS_HD void KS_T(ks_mean_smooth_steps)(int nx, KS_T(ks_mean_lanes) *lanes, int64_t k0, int64_t k1,
                                      KS_NUM *W)
{
    const ks_mean_lane *lane = lanes->lane;
    const ks_series *s = lane->series;
    KS_NUM *x = W, *filtered = x + nx, *moved = filtered + nx;
    KS_T(ks_mean_read)(nx, lanes, NULL, 0, x);
    for (int64_t k = k1 - 1; k >= k0; --k) {
        KS_T(ks_mean_read)(nx, lanes, lane, k, filtered);
        if (k < s->steps - 1)
            KS_T(ks_mean_back)(nx, (const double *)ks_row(s->F, k + 1 - s->shift),
                               (const double *)ks_row(s->u, k + 1 - s->shift), filtered,
                               (const KS_GAIN *)ks_slot_of(lane->gain, k), x, moved);
        else
            for (int i = 0; i < nx; ++i) x[i] = filtered[i];
        if (!KS_T(ks_mean_write)(nx, 0, k, lanes, x)) break;
    }
    KS_T(ks_mean_leave)(nx, lanes, x);
}
