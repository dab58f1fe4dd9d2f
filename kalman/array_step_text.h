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

/** The smoothing gain from the square root S of a filtered covariance: ET (nx, nx) = Eᵀ and the
 *  square root L (nx, 2 nx) of Cov(x[k] | x[k+1], y[0..k]). Components of the prediction that the
 *  components before them determine carry no information: their rows of ET are zero, which makes
 *  a singular predicted covariance as good as any other. W: 6 nx² + 4 nx numbers. */
KS_HD_COLD void KS_T(ks_array_gain)(int nx, const KS_NUM *F, const KS_NUM *Q, const KS_NUM *S,
                                    KS_NUM *ET, KS_NUM *L, KS_NUM *W)
{
    const int columns = 2 * nx;
    KS_NUM *M = W, *FS = M + 2 * nx * columns, *root = FS + nx * nx, *V = ET;
    KS_NUM *T = root + nx * nx; /* 2 nx: reflection; its tail is reused for the pivot columns */
    KS_NUM *column_of = T + columns;
    KS_T(ks_mm)(nx, nx, nx, F, S, FS);
    /* L is large enough to be the factor's scratch and is written last. */
    KS_T(ks_covariance_factor)(nx, Q, root, L);
    for (int i = 0; i < nx; ++i) {
        KS_T(ks_copy)(nx, FS + i * nx, M + i * columns);
        KS_T(ks_copy)(nx, root + i * nx, M + i * columns + nx);
        KS_T(ks_copy)(nx, S + i * nx, M + (nx + i) * columns);
        for (int c = nx; c < columns; ++c) M[(nx + i) * columns + c] = KS_LIT(0);
    }
    /* A row keeps what a few roundings of its norm leave through all reflections; under a vague prior all that is known
     * of a component may be a tail not much larger. */
    int rank = 0;
    for (int i = 0; i < nx; ++i) {
        const KS_NUM variance = KS_GT(Q[i * nx + i], KS_LIT(0)) ? Q[i * nx + i] : KS_LIT(0);
        const KS_NUM bound = KS_T(ks_row_bound)(nx, F + i * nx, S) + KS_SQRT(variance);
        KS_NUM tail = KS_LIT(0);
        for (int c = rank; c < columns; ++c)
            tail = tail + M[i * columns + c] * M[i * columns + c];
        if (KS_GT(KS_SQRT(tail), KS_LIT(3 * KS_EPS) * bound)) {
            (void)KS_T(ks_reflect_row)(2 * nx, columns, i, rank, M, T);
            column_of[i] = KS_LIT(1);
            ++rank;
        } else {
            column_of[i] = KS_LIT(0);
        }
    }
    /* E Phi = lower left block, column by column of the independent components, from the last. */
    int c = rank;
    for (int i = nx - 1; i >= 0; --i) {
        if (!KS_GT(column_of[i], KS_LIT(0))) {
            for (int r = 0; r < nx; ++r) V[i * nx + r] = KS_LIT(0);
            continue;
        }
        --c;
        for (int r = 0; r < nx; ++r) {
            KS_NUM s = M[(nx + r) * columns + c];
            for (int j = i + 1; j < nx; ++j) s = s - V[j * nx + r] * M[j * columns + c];
            V[i * nx + r] = s / M[i * columns + c];
        }
    }
    for (int r = 0; r < nx; ++r)
        for (int j = 0; j < columns; ++j)
            L[r * columns + j] = j < columns - rank ? M[(nx + r) * columns + rank + j] : KS_LIT(0);
}

/** One backward step: from filtered x, S of step k and smoothed xs, Ss of step k + 1 to smoothed
 *  xn, Sn (lower triangular) of step k; ET for the lag-one covariance. */
KS_HD_COLD void KS_T(ks_array_back)(int nx, const KS_NUM *F, const KS_NUM *Q, const KS_NUM *u,
                                    const KS_NUM *x, const KS_NUM *S, const KS_NUM *xs,
                                    const KS_NUM *Ss, KS_NUM *xn, KS_NUM *Sn, KS_NUM *ET,
                                    KS_NUM *W)
{
    const int columns = 3 * nx;
    KS_NUM *L = W, *M = L + 2 * nx * nx, *V = M + nx * columns, *t = V + columns;
    KS_T(ks_array_gain)(nx, F, Q, S, ET, L, M);
    for (int i = 0; i < nx; ++i) {
        KS_NUM s = xs[i] - u[i];
        for (int c = 0; c < nx; ++c) s = s - F[i * nx + c] * x[c];
        t[i] = s;
    }
    /* [L  E Ss] -> [Sn 0] */
    for (int i = 0; i < nx; ++i) {
        KS_NUM *row = M + i * columns;
        KS_T(ks_copy)(2 * nx, L + 2 * i * nx, row);
        for (int c = 0; c < nx; ++c) row[2 * nx + c] = KS_LIT(0);
        for (int l = 0; l < nx; ++l)
            for (int c = 0; c < nx; ++c)
                row[2 * nx + c] = row[2 * nx + c] + ET[l * nx + i] * Ss[l * nx + c];
    }
    KS_T(ks_lq)(nx, columns, M, V);
    KS_T(ks_copy)(nx, x, xn);
    KS_T(ks_mtv_add)(nx, nx, ET, t, xn);
    for (int i = 0; i < nx; ++i) KS_T(ks_copy)(nx, M + i * columns, Sn + i * nx);
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
