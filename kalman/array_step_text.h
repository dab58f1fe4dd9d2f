/* array_step_text.h -- one filter or smoother step in the square-root array form; see num_f64.h.
 *
 * Nothing is subtracted. Covariances are carried as roots S with P = S Sᵀ and updated by reflections. So digits are
 * kept under vague priors, exact observations, stiff models and singular Q, R and P0. A step takes four to thirteen
 * times as long as in the ordinary form (docs/numerics.md). Source: Kailath, Sayed & Hassibi, "Linear Estimation",
 * ch. 12; the backward step is the array form of Park & Kailath's square-root RTS smoother.
 *
 * Scratch W: ks_step_scratch() numbers. */

/** The orthogonal Theta of a step, as reflections (reflect_text.h): columns + 2 numbers each, one after the other in V.
 *  `ends` are the ends of the rows reflected. place[c] is the position of column c after sorting. */
typedef struct KS_T(ks_rotation) {
    KS_NUM *V, *ends, *place;
    int count, columns;
} KS_T(ks_rotation);

/** Numbers of a ks_rotation with `first` reflections of `columns` columns. */
KS_HD int64_t KS_T(ks_rotation_numbers)(int first, int columns)
{
    return (int64_t)first * (columns + 3) + columns;
}

KS_HD KS_T(ks_rotation) KS_T(ks_rotation_at)(int first, int columns, KS_NUM *memory)
{
    KS_T(ks_rotation) theta;
    theta.V = memory;
    theta.ends = theta.V + first * (columns + 2);
    theta.place = theta.ends + first;
    theta.count = 0;
    theta.columns = columns;
    return theta;
}

/** Reduce the first rows of T (rows, columns) to [L 0] by ks_lq_first(), after sorting the columns by ks_lq_sort().
 *  Returns where the result is, T or M. Theta goes to `theta` if that is not NULL. W: 2 columns + first + 2 numbers. */
KS_HD KS_NUM *KS_T(ks_lq_sorted)(int first, int rows, int columns, KS_NUM *T, KS_NUM *M, KS_T(ks_rotation) *theta,
                                 KS_NUM *W)
{
    KS_T(ks_rotation) own;
    own.V = W;
    own.ends = W + columns + 2;
    own.place = own.ends + first;
    KS_T(ks_rotation) *const to = theta ? theta : &own;
    KS_NUM *const sorted = KS_T(ks_lq_sort)(first, rows, columns, T, M, to->place, to->ends, to->V);
    to->count = KS_T(ks_lq_first)(first, rows, columns, to->ends, sorted, to->V, theta != NULL);
    to->columns = columns;
    return sorted;
}

/* What a step does to means. It gives the same bits whether the covariances are computed or come from a memo. */

/** xp = F x + u. */
KS_HD_SAME void KS_T(ks_array_move)(int nx, const KS_NUM *F, const KS_NUM *u, const KS_NUM *x, KS_NUM *xp)
{
    KS_T(ks_copy)(nx, u, xp);
    KS_T(ks_mv_add)(nx, nx, F, x, xp);
}

/** The whitened innovation e (m) = Se⁻¹ (y - d - H xp). */
KS_HD_SAME void KS_T(ks_array_whiten)(int nx, int m, const KS_NUM *H, const KS_NUM *d, const KS_NUM *y, const KS_NUM *xp,
                                      const KS_NUM *Se, KS_NUM *e)
{
    for (int i = 0; i < m; ++i) {
        KS_NUM s = y[i] - d[i];
        for (int c = 0; c < nx; ++c) s = s - H[i * nx + c] * xp[c];
        for (int c = 0; c < i; ++c) s = s - Se[i * m + c] * e[c];
        e[i] = s / Se[i * m + i];
    }
}

/** x = xp + K e. Column c of the gain K (nx, m) is at KT + c * apart. */
KS_HD_SAME void KS_T(ks_array_correct)(int nx, int m, const KS_NUM *KT, int apart, const KS_NUM *e, const KS_NUM *xp,
                                       KS_NUM *x)
{
    KS_T(ks_copy)(nx, xp, x);
    for (int c = 0; c < m; ++c)
        for (int i = 0; i < nx; ++i) x[i] = x[i] + KT[c * apart + i] * e[c];
}

/** xp = F x + u, Sp Spᵀ = F S Sᵀ Fᵀ + Q with Sp lower triangular, from [F S  Q½] Theta = [Sp 0]. Q½ has no columns of
 *  zeros. theta: NULL, or room for nx reflections of 2 nx columns.
 *
 *  kept: NULL, or nx² + 1 numbers for the Q½ of a Q that steps have in common, and the number of its columns behind it.
 *  That number is negative until Q½ is made.
 *
 *  Sp is triangular because a triangle has exact zeros for what is known exactly. Other roots would have round-off
 *  there, and steps of the RTS smoother could not tell it from standard deviations. */
KS_HD_SAME void KS_T(ks_array_predict)(int nx, const KS_NUM *F, const KS_NUM *Q, const KS_NUM *u,
                                       const KS_NUM *x, const KS_NUM *S, KS_NUM *xp, KS_NUM *Sp,
                                       KS_T(ks_rotation) *theta, KS_NUM *kept, KS_NUM *W)
{
    const int apart = ks_lq_apart(nx);
    KS_NUM *M = W, *T = M + 2 * nx * apart, *FS = T + 2 * nx * apart, *own = FS + nx * nx, *V = own + nx * nx;
    KS_T(ks_array_move)(nx, F, u, x, xp);
    KS_T(ks_mm_few)(nx, nx, nx, F, S, FS);
    KS_NUM *root = kept ? kept : own;
    const int made = kept && !KS_GT(KS_LIT(0), kept[nx * nx]);
    const int rank = made ? (int)(double)kept[nx * nx] : KS_T(ks_covariance_factor)(nx, Q, root, V);
    const int columns = nx + rank;
    if (kept) kept[nx * nx] = (KS_NUM)rank;
    KS_T(ks_lq_clear)(nx, columns, T);
    KS_T(ks_lq_put)(nx, nx, FS, apart, T);
    for (int i = 0; i < nx; ++i)
        for (int c = 0; c < rank; ++c) T[(nx + c) * apart + i] = root[i * nx + c];
    M = KS_T(ks_lq_sorted)(nx, nx, columns, T, M, theta, V);
    KS_T(ks_lq_take)(nx, nx, apart, M, Sp, nx);
}

/** Whether some of m entries are observed without noise. */
KS_HD int KS_T(ks_observes_exactly)(int m, const KS_NUM *R)
{
    int exact = 0;
    for (int i = 0; i < m; ++i) exact |= R[i * m + i] == KS_LIT(0);
    return exact;
}

/** The update with m entries: x and S (nx, nx) from xp and the root Sp (nx, nx). Also returns the root Se (m, m) of the
 *  innovation covariance and the whitened innovation e (m) = Se⁻¹ (y - d - H xp). It is
 *  [H Sp  R½; Sp 0] Theta = [Se 0; . S], where R½ has no columns of zeros.
 *
 *  gain: NULL, or (nx, m), receives Pp Hᵀ Se⁻ᵀ. theta: NULL, or room for m reflections of nx + m columns. Returns -1,
 *  or the entry whose innovation variance given the entries before it is zero up to round-off. */
KS_HD_SAME int KS_T(ks_array_update)(int nx, int m, const KS_NUM *H, const KS_NUM *R,
                                     const KS_NUM *d, const KS_NUM *y, const KS_NUM *xp,
                                     const KS_NUM *Sp, KS_NUM *x, KS_NUM *S, KS_NUM *Se, KS_NUM *e,
                                     KS_NUM *gain, KS_T(ks_rotation) *theta, KS_NUM *W)
{
    const int rows = nx + m, apart = ks_lq_apart(rows);
    KS_NUM *M = W, *T = M + rows * apart, *HS = T + rows * apart, *root = HS + m * nx, *V = root + m * m;
    KS_T(ks_mm_few)(m, nx, nx, H, Sp, HS);
    const int some = nx + KS_T(ks_covariance_factor)(m, R, root, V), columns = some > m ? some : m;
    KS_T(ks_lq_clear)(rows, columns, T);
    KS_T(ks_lq_put)(m, nx, HS, apart, T);
    KS_T(ks_lq_put)(nx, nx, Sp, apart, T + m);
    for (int i = 0; i < m; ++i)
        for (int c = nx; c < some; ++c) T[c * apart + i] = root[i * m + c - nx];
    M = KS_T(ks_lq_sorted)(m, rows, columns, T, M, theta, V);
    for (int i = 0; i < m; ++i) {
        const KS_NUM variance = KS_GT(R[i * m + i], KS_LIT(0)) ? R[i * m + i] : KS_LIT(0);
        const KS_NUM bound = KS_T(ks_row_bound)(nx, H + i * nx, Sp) + KS_SQRT(variance);
        if (!KS_GT(M[i * apart + i], KS_LIT(4 * (nx + m) * KS_EPS) * bound)) return i;
        for (int c = 0; c < m; ++c) Se[i * m + c] = M[c * apart + i];
    }
    KS_T(ks_array_whiten)(nx, m, H, d, y, xp, Se, e);
    KS_T(ks_array_correct)(nx, m, M + m, apart, e, xp, x);
    KS_T(ks_zero)(nx * nx, S);
    KS_T(ks_lq_take)(nx, columns - m, apart, M + m * apart + m, S, nx);
    if (gain) KS_T(ks_lq_take)(nx, m, apart, M + m, gain, m);
    return -1;
}

/* A step back adds to the filtered estimate what x[k+1] - F x[k] - u is in the components of the prediction. Each is
 * divided by its tail: the part of its standard deviation that the components before it leave. If these determine the
 * component, the tail is nothing but round-off, and so is what it divides.
 *
 * Such a tail must be told from one that is merely small relative to its own variance, as all are under a vague prior.
 * What it divides tells: the root of the smoothed estimate behind has lost what is below its own round-off. A tail
 * above that is a valid divisor, however small a share of the prediction it is.
 *
 * To know tails so well, the prediction is rotated in KS_WIDE, where its round-off is that of S only. The component
 * that stands out most goes first, as in a rank-revealing factorization: a nearly determined one must not come before
 * those that would have shown it to be so. Means do not take part, so that covariances do not depend on the
 * observations. */

/** M (2 nx, columns) <- [F S  Q½; S 0], with Q½ without columns of zeros. bound (nx) <- upper bounds of the norms of
 *  the first nx rows, without cancellation. Returns the number of columns, 2 nx at most. norm (nx), root (nx²) and W
 *  (nx² + nx) are scratch. */
KS_HD_COLD int KS_T(ks_gain_rows)(int nx, const KS_NUM *F, const KS_NUM *Q, const KS_NUM *S,
                                  KS_WIDE *M, KS_WIDE *bound, KS_WIDE *norm, KS_NUM *root,
                                  KS_NUM *W)
{
    const int columns = nx + KS_T(ks_covariance_factor)(nx, Q, root, W), apart = ks_lq_apart(2 * nx);
    KS_T(ks_lq_clear_wide)(2 * nx, columns, M);
    for (int l = 0; l < nx; ++l) {
        KS_WIDE sum = (KS_WIDE)0;
        for (int c = 0; c < nx; ++c) {
            const KS_WIDE s = (KS_WIDE)S[l * nx + c];
            M[c * apart + nx + l] = s;
            sum = sum + s * s;
        }
        norm[l] = KS_WIDE_SQRT(sum);
    }
    for (int i = 0; i < nx; ++i) {
        KS_WIDE sum = (KS_WIDE)0;
        for (int c = nx; c < columns; ++c) {
            const KS_WIDE s = (KS_WIDE)root[i * nx + c - nx];
            M[c * apart + i] = s;
            sum = sum + s * s;
        }
        bound[i] = KS_WIDE_SQRT(sum);
        for (int l = 0; l < nx; ++l) {
            const KS_WIDE f = (KS_WIDE)F[i * nx + l];
            bound[i] = bound[i] + (KS_GT(f, (KS_WIDE)0) ? f : -f) * norm[l];
        }
    }
    KS_NUM *FT = W;
    KS_T(ks_transpose)(nx, nx, F, FT);
    for (int c = 0; c < nx; ++c)
        for (int l = 0; l < nx; ++l) {
            const KS_WIDE s = (KS_WIDE)S[l * nx + c];
            for (int i = 0; i < nx; ++i) M[c * apart + i] = M[c * apart + i] + (KS_WIDE)FT[l * nx + i] * s;
        }
    return columns;
}

/** Of rows c .. nx - 1 of M (2 nx, columns), the one whose tail, from column c on, is the largest multiple of its doubt
 *  (nx). -1 if no tail exceeds its doubt. tail: nx numbers. */
KS_HD int KS_T(ks_least_determined)(int nx, int columns, int c, const KS_WIDE *M, const KS_WIDE *doubt, KS_WIDE *tail)
{
    const int apart = ks_lq_apart(2 * nx);
    int most = -1;
    KS_WIDE best = (KS_WIDE)1;
    for (int i = c; i < nx; ++i) tail[i] = (KS_WIDE)0;
    for (int j = c; j < columns; ++j)
        for (int i = c; i < nx; ++i) tail[i] = tail[i] + M[j * apart + i] * M[j * apart + i];
    for (int i = c; i < nx; ++i) {
        const KS_WIDE left = KS_WIDE_SQRT(tail[i]);
        if (!KS_GT(left, best * doubt[i])) continue;
        best = left / doubt[i];
        most = i;
    }
    return most;
}

/** As ks_array_gain(). Tails must exceed `rounding` (nx); NULL: see there. LT (2 nx, nx) = Lᵀ. Returns its number of
 *  rows; only these are filled, the others are zero. *blurred, unless it is NULL, becomes 1 if a component counts whose
 *  tail is below round-off of S, a share `noise` of its rows. W: 2 nx ks_lq_apart(2 nx) + 4 nx + 2 wide numbers. */
KS_HD_COLD int KS_T(ks_array_gain_wide)(int nx, const KS_NUM *F, const KS_NUM *Q, const KS_NUM *S,
                                        const KS_WIDE *rounding, KS_WIDE noise, KS_WIDE *ET, KS_WIDE *LT,
                                        KS_WIDE *W, int *blurred)
{
    const int apart = ks_lq_apart(2 * nx);
    KS_WIDE *M = W, *V = M + 2 * nx * apart, *doubt = V + 2 * nx + 2, *from = doubt + nx;
    /* ET and LT are written last, so that they can serve as scratch here. */
    KS_WIDE *bound = LT;
    const int columns = KS_T(ks_gain_rows)(nx, F, Q, S, M, doubt, V, (KS_NUM *)(void *)ET, (KS_NUM *)(void *)LT);
    /* A standard deviation whose square underflows counts as zero, here as in the root behind. */
    const KS_WIDE least = (KS_WIDE)2 / KS_WIDE_SQRT((KS_WIDE)KS_LARGEST);
    for (int i = 0; i < nx; ++i) {
        bound[i] = doubt[i];
        doubt[i] = least + (rounding ? rounding[i] + (KS_WIDE)(8 * nx * KS_WIDE_EPS) * bound[i]
                                     : (KS_WIDE)(8 * nx * KS_EPS) * bound[i]);
    }
    int rank = 0;
    for (; rank < nx; ++rank) {
        const int i = KS_T(ks_least_determined)(nx, columns, rank, M, doubt, V);
        if (i < 0) break;
        if (blurred && !KS_GT(KS_WIDE_SQRT(V[i]), noise * bound[i])) *blurred = 1;
        from[rank] = (KS_WIDE)i;
        for (int c = 0; i > rank && c < columns; ++c) {
            const KS_WIDE entry = M[c * apart + i];
            M[c * apart + i] = M[c * apart + rank];
            M[c * apart + rank] = entry;
        }
        const KS_WIDE taken = doubt[i];
        doubt[i] = doubt[rank];
        doubt[rank] = taken;
        bound[i] = bound[rank]; /* that of a component before is not asked for any more */
        KS_T(ks_reflect_row_wide)(2 * nx, columns, rank, M, V);
    }
    /* Solve E Phi = the lower left block, column by column, from the last. */
    for (int c = nx - 1; c >= 0; --c) {
        KS_WIDE *E = ET + c * nx;
        for (int r = 0; r < nx; ++r) E[r] = c < rank ? M[c * apart + nx + r] : (KS_WIDE)0;
        for (int j = c + 1; j < rank; ++j)
            for (int r = 0; r < nx; ++r) E[r] = E[r] - ET[j * nx + r] * M[c * apart + j];
        for (int r = 0; c < rank && r < nx; ++r) E[r] = E[r] / M[c * apart + c];
    }
    for (int c = rank - 1; c >= 0; --c) {
        int i = c;
        while (KS_GT(from[c], (KS_WIDE)(i + 0.5))) ++i;
        for (int r = 0; i > c && r < nx; ++r) {
            const KS_WIDE entry = ET[i * nx + r];
            ET[i * nx + r] = ET[c * nx + r];
            ET[c * nx + r] = entry;
        }
    }
    for (int j = 0; j < columns - rank; ++j)
        for (int r = 0; r < nx; ++r) LT[j * nx + r] = M[(rank + j) * apart + nx + r];
    return columns - rank;
}

/** The smoothing gain from the root S of a filtered covariance: ET (nx, nx) = Eᵀ, and the root L (nx, 2 nx) of
 *  Cov(x[k] | x[k+1], y[0..k]). Components of the prediction that others determine carry no information. Their rows of
 *  ET are zero, so that a predicted covariance may be singular.
 *
 *  Ps NULL: tails must exceed round-off of sums of nx terms of the prediction itself. If S was kept in single
 *  precision, zeros have become round-off; Ps is then the smoothed covariance behind, and tails must exceed its
 *  round-off in single precision. W: ks_step_scratch() numbers. */
KS_HD_COLD void KS_T(ks_array_gain)(int nx, const KS_NUM *F, const KS_NUM *Q, const KS_NUM *S, const KS_NUM *Ps,
                                    KS_NUM *ET, KS_NUM *L, KS_NUM *W)
{
    KS_WIDE *gain = KS_T(ks_wide_scratch)(W), *root = gain + nx * nx, *rounding = root + 2 * nx * nx;
    for (int i = 0; Ps && i < nx; ++i) {
        const KS_WIDE variance = (KS_WIDE)Ps[i * nx + i], zero = (KS_WIDE)0;
        rounding[i] = (KS_WIDE)0x1p-20 * KS_WIDE_SQRT(KS_GT(variance, zero) ? variance : zero);
    }
    const int columns = KS_T(ks_array_gain_wide)(nx, F, Q, S, Ps ? rounding : NULL, (KS_WIDE)0, gain, root,
                                                 rounding + nx, NULL);
    for (int i = 0; i < nx * nx; ++i) ET[i] = (KS_NUM)gain[i];
    for (int r = 0; r < nx; ++r)
        for (int j = 0; j < 2 * nx; ++j) L[r * 2 * nx + j] = j < columns ? (KS_NUM)root[j * nx + r] : KS_LIT(0);
}

/** k + 4 rounded up to 4 times a power of two, for ks_root_drift(). Within such an interval all steps count the same,
 *  so that memos can serve them. */
KS_HD int64_t KS_T(ks_drift_steps)(int64_t k)
{
    int64_t steps = 4;
    while (steps < k + 4) steps *= 2;
    return steps;
}

/** A bound of the error of a filtered root's rows after k steps, as a share of their norm. eps: round-off of the
 *  numbers in which roots are kept. Where nothing disturbs a combination of states and no transition lets it decay, the
 *  round-off of every step stays. At most half of the digits. */
KS_HD KS_WIDE KS_T(ks_root_drift)(int64_t k, double eps)
{
    const KS_WIDE most = KS_WIDE_SQRT((KS_WIDE)eps);
    const KS_WIDE drift = (KS_WIDE)(2 * eps * (double)(KS_T(ks_drift_steps)(k) - 4));
    return KS_GT(drift, most) ? most : drift;
}

/** rounding (nx) <- the uncertainty of the rows of a root S (nx, nx) through round-off. Reflections leave an error of
 *  some units in the last place of the row's norm, to which ks_root_drift() is added. */
KS_HD void KS_T(ks_root_rounding)(int nx, const KS_NUM *S, int64_t k, double eps, KS_WIDE *rounding)
{
    const KS_WIDE share = (KS_WIDE)(16 * eps) + KS_T(ks_root_drift)(k, eps);
    for (int i = 0; i < nx; ++i) {
        KS_WIDE variance = (KS_WIDE)0;
        for (int c = 0; c < nx; ++c)
            variance = variance + (KS_WIDE)S[i * nx + c] * (KS_WIDE)S[i * nx + c];
        rounding[i] = share * KS_WIDE_SQRT(variance);
    }
}

/** Where a step back with scratch W leaves E by columns. */
KS_HD KS_WIDE *KS_T(ks_array_back_gain)(KS_NUM *W) { return KS_T(ks_wide_scratch)(W); }

/** xn = x + E (xs - F x - u) with E by columns; t: 2 nx numbers. */
KS_HD_SAME void KS_T(ks_array_back_mean)(int nx, const KS_NUM *F, const KS_NUM *u, const KS_NUM *x, const KS_NUM *xs,
                                         const KS_WIDE *E, KS_WIDE *t, KS_NUM *xn)
{
    KS_WIDE *sum = t + nx;
    for (int i = 0; i < nx; ++i) {
        t[i] = (KS_WIDE)xs[i] - (KS_WIDE)u[i];
        for (int c = 0; c < nx; ++c) t[i] = t[i] - (KS_WIDE)F[i * nx + c] * (KS_WIDE)x[c];
    }
    for (int i = 0; i < nx; ++i) sum[i] = (KS_WIDE)x[i];
    for (int l = 0; l < nx; ++l)
        for (int i = 0; i < nx; ++i) sum[i] = sum[i] + E[l * nx + i] * t[l];
    for (int i = 0; i < nx; ++i) xn[i] = (KS_NUM)sum[i];
}

/** One backward step: from filtered x, S of step k and smoothed xs, Ss of step k + 1 to smoothed xn, Sn (lower
 *  triangular) of step k. ET is returned for the lag-one covariance; the E that was used is at ks_array_back_gain().
 *  eps: round-off of the numbers in which S was kept. Returns whether the step has divided by a tail below that of S:
 *  what it told of may be known exactly. */
KS_HD_COLD int KS_T(ks_array_back)(int nx, int64_t k, double eps, const KS_NUM *F, const KS_NUM *Q, const KS_NUM *u,
                                   const KS_NUM *x, const KS_NUM *S, const KS_NUM *xs,
                                   const KS_NUM *Ss, KS_NUM *xn, KS_NUM *Sn, KS_NUM *ET,
                                   KS_NUM *W)
{
    const int apart = ks_lq_apart(nx);
    KS_WIDE *gain = KS_T(ks_wide_scratch)(W), *LT = gain + nx * nx, *rounding = LT + 2 * nx * nx;
    KS_WIDE *M = rounding + nx, *V = M + 3 * nx * apart; /* columns + 2 */
    KS_T(ks_root_rounding)(nx, Ss, k, eps, rounding);
    const KS_WIDE share = (KS_WIDE)(8 * nx * eps), drift = KS_T(ks_root_drift)(k, eps), most = (KS_WIDE)16 * share;
    const KS_WIDE noise = share + (KS_GT(drift, most) ? most : drift);
    int blurred = 0;
    const int given = KS_T(ks_array_gain_wide)(nx, F, Q, S, rounding, noise, gain, LT, M, &blurred), columns = given + nx;
    /* [L  E Ss] -> [Sn 0] */
    KS_T(ks_lq_clear_wide)(nx, columns, M);
    for (int c = 0; c < given; ++c)
        for (int i = 0; i < nx; ++i) M[c * apart + i] = LT[c * nx + i];
    for (int c = 0; c < nx; ++c)
        for (int l = 0; l < nx; ++l) {
            const KS_WIDE s = (KS_WIDE)Ss[l * nx + c];
            for (int i = 0; i < nx; ++i)
                M[(given + c) * apart + i] = M[(given + c) * apart + i] + gain[l * nx + i] * s;
        }
    KS_T(ks_array_back_mean)(nx, F, u, x, xs, gain, V, xn);
    KS_T(ks_lq_wide)(nx, columns, M, V);
    for (int i = 0; i < nx; ++i)
        for (int c = 0; c < nx; ++c) {
            Sn[i * nx + c] = (KS_NUM)M[c * apart + i];
            ET[i * nx + c] = (KS_NUM)gain[i * nx + c];
        }
    return blurred;
}
