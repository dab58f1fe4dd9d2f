/* array_step_text.h -- one filter or smoother step in the square-root array form; see num_f64.h.
 *
 * Nothing is subtracted: covariances are carried as S with P = S Sᵀ and updated by rotations, so
 * vague priors, exact measurements, stiff models and singular Q, R, P0 keep their digits. About
 * three times the work of the ordinary form. Source: Kailath, Sayed & Hassibi, "Linear Estimation",
 * ch. 12; the backward step is the array form of Park & Kailath's square-root RTS smoother.
 * Scratch W: ks_step_scratch() numbers. */

/** Rows of M (nx, columns) <- [I 0]. */
KS_HD void KS_T(ks_unit_rows)(int nx, int columns, KS_NUM *M)
{
    for (int i = 0; i < nx * columns; ++i) M[i] = KS_LIT(0);
    for (int i = 0; i < nx; ++i) M[i * columns + i] = KS_LIT(1);
}

/** xp = F x + u, Sp Spᵀ = F S Sᵀ Fᵀ + Q; Sp is lower triangular. [F S  Q½] Theta = [Sp 0]: the first nx rows of
 *  Theta to theta (nx, 2 nx), where that is not NULL. */
KS_HD_COLD void KS_T(ks_array_predict)(int nx, const KS_NUM *F, const KS_NUM *Q, const KS_NUM *u,
                                       const KS_NUM *x, const KS_NUM *S, KS_NUM *xp, KS_NUM *Sp,
                                       KS_NUM *theta, KS_NUM *W)
{
    const int columns = 2 * nx, rows = theta ? 2 * nx : nx;
    KS_NUM *M = W, *FS = M + rows * columns, *root = FS + nx * nx, *V = root + nx * nx;
    KS_T(ks_mm)(nx, nx, nx, F, S, FS);
    KS_T(ks_covariance_factor)(nx, Q, root, V);
    for (int i = 0; i < nx; ++i) {
        KS_T(ks_copy)(nx, FS + i * nx, M + i * columns);
        KS_T(ks_copy)(nx, root + i * nx, M + i * columns + nx);
    }
    if (theta) KS_T(ks_unit_rows)(nx, columns, M + nx * columns);
    KS_T(ks_lq_first)(nx, rows, columns, M, V);
    if (theta) KS_T(ks_copy)(nx * columns, M + nx * columns, theta);
    for (int i = 0; i < nx; ++i) KS_T(ks_copy)(nx, M + i * columns, Sp + i * nx);
    KS_T(ks_copy)(nx, u, xp);
    KS_T(ks_mv_add)(nx, nx, F, x, xp);
}

/** The update with m entries: x and S (lower triangular) from xp and Sp, the square root Se (m, m)
 *  of the innovation covariance and the whitened innovation e (m) = Se⁻¹ (y - d - H xp). Returns
 *  -1, or the entry whose innovation variance given the entries before it is zero up to round-off.
 *  gain (nx, m), where not NULL, receives Pp Hᵀ Se⁻ᵀ; theta (nx, m + nx), where not NULL, the rows of Sp of the
 *  Theta in [H Sp  R½; Sp 0] Theta = [Se 0; . S]. */
KS_HD_COLD int KS_T(ks_array_update)(int nx, int m, const KS_NUM *H, const KS_NUM *R,
                                     const KS_NUM *d, const KS_NUM *y, const KS_NUM *xp,
                                     const KS_NUM *Sp, KS_NUM *x, KS_NUM *S, KS_NUM *Se, KS_NUM *e,
                                     KS_NUM *gain, KS_NUM *theta, KS_NUM *W)
{
    const int columns = nx + m, rows = theta ? columns + nx : columns;
    KS_NUM *M = W, *HS = M + rows * columns, *root = HS + m * nx, *V = root + m * m;
    KS_T(ks_mm)(m, nx, nx, H, Sp, HS);
    KS_T(ks_covariance_factor)(m, R, root, V);
    for (int i = 0; i < m; ++i) {
        KS_T(ks_copy)(nx, HS + i * nx, M + i * columns);
        KS_T(ks_copy)(m, root + i * m, M + i * columns + nx);
    }
    for (int i = 0; i < nx; ++i) {
        KS_T(ks_copy)(nx, Sp + i * nx, M + (m + i) * columns);
        for (int c = nx; c < columns; ++c) M[(m + i) * columns + c] = KS_LIT(0);
    }
    if (theta) KS_T(ks_unit_rows)(nx, columns, M + columns * columns);
    KS_T(ks_lq_first)(columns, rows, columns, M, V);
    if (theta) KS_T(ks_copy)(nx * columns, M + columns * columns, theta);
    for (int i = 0; i < m; ++i) {
        const KS_NUM variance = KS_GT(R[i * m + i], KS_LIT(0)) ? R[i * m + i] : KS_LIT(0);
        const KS_NUM bound = KS_T(ks_row_bound)(nx, H + i * nx, Sp) + KS_SQRT(variance);
        if (!KS_GT(M[i * columns + i], KS_LIT(4 * (nx + m) * KS_EPS) * bound)) return i;
        KS_T(ks_copy)(m, M + i * columns, Se + i * m);
        KS_NUM s = y[i] - d[i];
        for (int c = 0; c < nx; ++c) s = s - H[i * nx + c] * xp[c];
        for (int c = 0; c < i; ++c) s = s - Se[i * m + c] * e[c];
        e[i] = s / Se[i * m + i];
    }
    for (int i = 0; i < nx; ++i) {
        const KS_NUM *row = M + (m + i) * columns;
        KS_NUM s = xp[i];
        for (int c = 0; c < m; ++c) s = s + row[c] * e[c];
        x[i] = s;
        KS_T(ks_copy)(nx, row + m, S + i * nx);
        if (gain) KS_T(ks_copy)(m, row, gain + i * m);
    }
    return -1;
}

/* A step back adds to the filtered estimate what x[k+1] - F x[k] - u is in the components of the
 * prediction, each divided by what the components before it leave of its standard deviation, its
 * tail. Of a component that these determine the tail is nothing but round-off, and so is what it
 * divides. It is told from one that is merely known well beside its own variance, as all are under
 * a vague prior, by what it divides: the smoothed estimate behind, the root of which has lost what
 * is below its own round-off. A tail above that is divided by to good effect, however small a share
 * of the prediction it is. That it is known so well, the prediction is rotated in KS_WIDE, where
 * its round-off is that of S. And the component that stands out most goes first, as in a
 * rank-revealing factorization: one that is nearly determined must not come before those that would
 * have shown it to be. Means do not take part: covariances are the same whatever has been observed.
 */

/** M (2 nx, 2 nx) <- [F S  Q½; S 0], bound (nx) the norms of the first nx rows before anything
 * cancels in them. root and W are scratch for nx² and nx² + nx numbers. */
KS_HD_COLD void KS_T(ks_gain_rows)(int nx, const KS_NUM *F, const KS_NUM *Q, const KS_NUM *S,
                                   KS_WIDE *M, KS_WIDE *bound, KS_WIDE *norm, KS_NUM *root,
                                   KS_NUM *W)
{
    const int columns = 2 * nx;
    KS_T(ks_covariance_factor)(nx, Q, root, W);
    for (int l = 0; l < nx; ++l) {
        KS_WIDE sum = (KS_WIDE)0;
        for (int c = 0; c < nx; ++c) {
            const KS_WIDE s = (KS_WIDE)S[l * nx + c];
            M[(nx + l) * columns + c] = s;
            M[(nx + l) * columns + nx + c] = (KS_WIDE)0;
            sum = sum + s * s;
        }
        norm[l] = KS_WIDE_SQRT(sum);
    }
    for (int i = 0; i < nx; ++i) {
        KS_WIDE *row = M + i * columns, sum = (KS_WIDE)0;
        for (int c = 0; c < nx; ++c) {
            row[c] = (KS_WIDE)0;
            row[nx + c] = (KS_WIDE)root[i * nx + c];
            sum = sum + row[nx + c] * row[nx + c];
        }
        bound[i] = KS_WIDE_SQRT(sum);
        for (int l = 0; l < nx; ++l) {
            const KS_WIDE f = (KS_WIDE)F[i * nx + l];
            for (int c = 0; c < nx; ++c) row[c] = row[c] + f * (KS_WIDE)S[l * nx + c];
            bound[i] = bound[i] + (KS_GT(f, (KS_WIDE)0) ? f : -f) * norm[l];
        }
    }
}

/** Of rows c .. nx - 1 of M (., 2 nx) the one whose tail, from column c on, is most times its doubt
 * (nx), or -1 where none is above it. */
KS_HD int KS_T(ks_least_determined)(int nx, int c, const KS_WIDE *M, const KS_WIDE *doubt)
{
    int most = -1;
    KS_WIDE best = (KS_WIDE)1;
    for (int i = c; i < nx; ++i) {
        KS_WIDE tail = (KS_WIDE)0;
        for (int j = c; j < 2 * nx; ++j) tail = tail + M[i * 2 * nx + j] * M[i * 2 * nx + j];
        tail = KS_WIDE_SQRT(tail);
        if (!KS_GT(tail, best * doubt[i])) continue;
        best = tail / doubt[i];
        most = i;
    }
    return most;
}

KS_HD void KS_T(ks_exchange)(int n, KS_WIDE *a, KS_WIDE *b)
{
    for (int i = 0; i < n; ++i) {
        const KS_WIDE x = a[i];
        a[i] = b[i];
        b[i] = x;
    }
}

/** As ks_array_gain(), with what tails must stand out of in rounding (nx), or NULL. W: 4 nx² + 5 nx
 * wide numbers. */
KS_HD_COLD void KS_T(ks_array_gain_wide)(int nx, const KS_NUM *F, const KS_NUM *Q, const KS_NUM *S,
                                         const KS_WIDE *rounding, KS_WIDE *ET, KS_WIDE *L,
                                         KS_WIDE *W)
{
    const int columns = 2 * nx;
    KS_WIDE *M = W, *V = M + 2 * nx * columns, *doubt = V + columns, *from = doubt + nx;
    /* ET and L are written last. */
    KS_T(ks_gain_rows)(nx, F, Q, S, M, doubt, V, (KS_NUM *)(void *)ET, (KS_NUM *)(void *)L);
    /* What has no variance in the number's range counts as known exactly, here as in the root
     * behind. */
    const KS_WIDE least = (KS_WIDE)2 / KS_WIDE_SQRT((KS_WIDE)KS_LARGEST);
    for (int i = 0; i < nx; ++i)
        doubt[i] = least + (rounding ? rounding[i] + (KS_WIDE)(2 * KS_WIDE_EPS) * doubt[i]
                                     : (KS_WIDE)(8 * nx * KS_EPS) * doubt[i]);
    int rank = 0;
    for (; rank < nx; ++rank) {
        const int i = KS_T(ks_least_determined)(nx, rank, M, doubt);
        if (i < 0) break;
        from[rank] = (KS_WIDE)i;
        if (i > rank) {
            KS_T(ks_exchange)(columns, M + i * columns, M + rank * columns);
            KS_T(ks_exchange)(1, doubt + i, doubt + rank);
        }
        (void)KS_T(ks_reflect_row_wide)(2 * nx, columns, rank, rank, M, V);
    }
    /* E Phi = lower left block, column by column, from the last. */
    for (int c = nx - 1; c >= 0; --c)
        for (int r = 0; r < nx; ++r) {
            KS_WIDE s = c < rank ? M[(nx + r) * columns + c] : (KS_WIDE)0;
            for (int j = c + 1; j < rank; ++j) s = s - ET[j * nx + r] * M[j * columns + c];
            ET[c * nx + r] = c < rank ? s / M[c * columns + c] : s;
        }
    for (int c = rank - 1; c >= 0; --c) {
        int i = c;
        while (KS_GT(from[c], (KS_WIDE)(i + 0.5))) ++i;
        if (i > c) KS_T(ks_exchange)(nx, ET + i * nx, ET + c * nx);
    }
    for (int r = 0; r < nx; ++r)
        for (int j = 0; j < columns; ++j)
            L[r * columns + j] = j < columns - rank ? M[(nx + r) * columns + rank + j] : (KS_WIDE)0;
}

/** The smoothing gain from the square root S of a filtered covariance: ET (nx, nx) = Eᵀ and the
 *  square root L (nx, 2 nx) of Cov(x[k] | x[k+1], y[0..k]). Components of the prediction that
 * others determine carry no information: their rows of ET are zero, which makes a singular
 * predicted covariance as good as any other. The smoothed estimate behind is not known here: tails
 * must stand out of what nx sums round of the prediction itself. W: ks_step_scratch() numbers. */
KS_HD_COLD void KS_T(ks_array_gain)(int nx, const KS_NUM *F, const KS_NUM *Q, const KS_NUM *S,
                                    KS_NUM *ET, KS_NUM *L, KS_NUM *W)
{
    KS_WIDE *gain = KS_T(ks_wide_scratch)(W), *root = gain + nx * nx;
    KS_T(ks_array_gain_wide)(nx, F, Q, S, NULL, gain, root, root + 2 * nx * nx);
    for (int i = 0; i < nx * nx; ++i) ET[i] = (KS_NUM)gain[i];
    for (int i = 0; i < 2 * nx * nx; ++i) L[i] = (KS_NUM)root[i];
}

/** What round-off leaves uncertain of the components of a root S (nx, nx): a row comes out of its
 * reflections with an error of some units in the last place of its norm. */
KS_HD void KS_T(ks_root_rounding)(int nx, const KS_NUM *S, KS_WIDE *rounding)
{
    for (int i = 0; i < nx; ++i) {
        KS_WIDE variance = (KS_WIDE)0;
        for (int c = 0; c < nx; ++c)
            variance = variance + (KS_WIDE)S[i * nx + c] * (KS_WIDE)S[i * nx + c];
        rounding[i] = (KS_WIDE)(16 * KS_EPS) * KS_WIDE_SQRT(variance);
    }
}

/** One backward step: from filtered x, S of step k and smoothed xs, Ss of step k + 1 to smoothed
 *  xn, Sn (lower triangular) of step k; ET for the lag-one covariance. */
KS_HD_COLD void KS_T(ks_array_back)(int nx, const KS_NUM *F, const KS_NUM *Q, const KS_NUM *u,
                                    const KS_NUM *x, const KS_NUM *S, const KS_NUM *xs,
                                    const KS_NUM *Ss, KS_NUM *xn, KS_NUM *Sn, KS_NUM *ET,
                                    KS_NUM *W)
{
    const int columns = 3 * nx;
    KS_WIDE *gain = KS_T(ks_wide_scratch)(W), *L = gain + nx * nx, *t = L + 2 * nx * nx,
            *rounding = t + nx;
    KS_WIDE *M = rounding + nx, *V = M + nx * columns;
    KS_T(ks_root_rounding)(nx, Ss, rounding);
    KS_T(ks_array_gain_wide)(nx, F, Q, S, rounding, gain, L, M);
    for (int i = 0; i < nx; ++i) {
        t[i] = (KS_WIDE)xs[i] - (KS_WIDE)u[i];
        for (int c = 0; c < nx; ++c) t[i] = t[i] - (KS_WIDE)F[i * nx + c] * (KS_WIDE)x[c];
    }
    /* [L  E Ss] -> [Sn 0] */
    for (int i = 0; i < nx; ++i) {
        KS_WIDE *row = M + i * columns, mean = (KS_WIDE)x[i];
        for (int c = 0; c < 2 * nx; ++c) row[c] = L[2 * i * nx + c];
        for (int c = 0; c < nx; ++c) row[2 * nx + c] = (KS_WIDE)0;
        for (int l = 0; l < nx; ++l) {
            const KS_WIDE e = gain[l * nx + i];
            for (int c = 0; c < nx; ++c)
                row[2 * nx + c] = row[2 * nx + c] + e * (KS_WIDE)Ss[l * nx + c];
            mean = mean + e * t[l];
        }
        xn[i] = (KS_NUM)mean;
    }
    KS_T(ks_lq_wide)(nx, columns, M, V);
    for (int i = 0; i < nx; ++i)
        for (int c = 0; c < nx; ++c) {
            Sn[i * nx + c] = (KS_NUM)M[i * columns + c];
            ET[i * nx + c] = (KS_NUM)gain[i * nx + c];
        }
}

/** True where no diagonal entry of the lower triangular S has fallen below the round-off that the
 *  ordinary form would make of it: S may be squared without losing what it knows. */
KS_HD int KS_T(ks_array_ordinary)(int nx, const KS_NUM *S)
{
    for (int i = 0; i < nx; ++i) {
        KS_NUM norm = KS_LIT(0);
        for (int c = 0; c <= i; ++c) norm = norm + S[i * nx + c] * S[i * nx + c];
        if (!KS_GT(KS_LIT(KS_GROWTH) * (S[i * nx + i] * S[i * nx + i]), norm)) return 0;
    }
    return 1;
}
