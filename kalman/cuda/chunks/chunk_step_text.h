/* chunk_step_text.h -- steps of chunks on a device in the ordinary form: means in KS_NUM, the model's number,
 * covariances and gains in KS_GAIN, which may be narrower; see num_f64.h. Rounding a gain makes the estimate
 * slightly less than optimal, whatever the size of the state. Rounding a mean loses a share of the state
 * itself. */

/** Rows of a step of nx states and m entries. If KS_GAIN is KS_NUM, narrow_F may be F and narrow_H may be H. */
typedef struct KS_T(ks_chunk_rows) {
    KS_NUM *F, *u, *H, *d, *y;
    KS_GAIN *narrow_F, *Q, *narrow_H, *R;
} KS_T(ks_chunk_rows);

/** What a filter step leaves: the whitened innovation v (m) with its factors S (m, m) and inverse_d (m), as
 *  ks_innovation() has them, and Z (m, nx) = D⁻¹ G. The rest is scratch. */
typedef struct KS_T(ks_chunk_work) {
    KS_NUM *xp, *v;                 /* nx, m                         */
    KS_GAIN *S, *inverse_d, *Z;
    KS_GAIN *Pp, *G, *W;            /* nx², m nx, max(2 nx², m nx)   */
} KS_T(ks_chunk_work);

/** One filter step: x, P are the estimate of the step before in, and the filtered one of this step out. Return whether
 *  the ordinary form is accurate enough. times: ks_noise_times_in() of R. */
KS_HD KS_MASK KS_T(ks_chunk_filter)(int nx, int m, const KS_T(ks_chunk_rows) *r, KS_GAIN times, KS_NUM *x, KS_GAIN *P,
                                    const KS_T(ks_chunk_work) *w)
{
    KS_G(ks_predict_cov)(nx, r->narrow_F, r->Q, P, w->Pp, w->W);
    KS_G(ks_innovation_cov)(nx, m, r->narrow_H, r->R, w->Pp, w->G, w->S, w->W);
    const KS_MASK good = KS_G(ks_whiten_gain)(nx, m, r->R, times, w->G, w->S, w->inverse_d);
    KS_G(ks_scale_rows)(m, nx, w->G, w->inverse_d, w->Z);
    KS_G(ks_posterior_cov)(nx, m, w->G, w->Z, w->Pp, P);
    KS_T(ks_mean_predict)(nx, r->F, r->u, x, w->xp);
    KS_T(ks_mean_less)(m, r->y, r->d, w->v);
    KS_T(ks_mean_times)(m, nx, -1, r->H, w->xp, w->v);
    KS_T(ks_gain_forward)(m, 1, w->S, w->v);
    KS_T(ks_mean_update)(nx, m, w->Z, w->v, w->xp, x);
    return good;
}

/** One smoother step to the step with the filtered fx, fP. x, P are the smoothed estimate of the next step; r are
 *  the rows that lead into that. x becomes the mean of this step, Pn its covariance; P is left as it is. ET is
 *  returned for the lag-one covariance. Scratch: Pp (nx²), W (2 nx² + nx numbers) and t (nx). Return whether the
 *  ordinary form is accurate enough. */
KS_HD KS_MASK KS_T(ks_chunk_smooth)(int nx, const KS_T(ks_chunk_rows) *r, const KS_NUM *fx,
                                    const KS_GAIN *fP, KS_NUM *x, const KS_GAIN *P, KS_GAIN *Pn,
                                    KS_GAIN *ET, KS_GAIN *Pp, KS_GAIN *W, KS_NUM *t)
{
    const KS_MASK gains = KS_G(ks_smoothing_gain)(nx, r->narrow_F, r->Q, fP, ET, Pp, W);
    KS_T(ks_mean_back)(nx, r->F, r->u, fx, ET, x, t);
    return gains & KS_G(ks_smooth_cov)(nx, fP, P, ET, Pp, Pn, W);
}
