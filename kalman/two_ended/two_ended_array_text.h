/* two_ended_array_text.h -- the steps of two_ended_text.h in the square-root array form; see num_f64.h.
 *
 * The information is carried as data, z = Uᵀ x + noise of unit covariance: J = U Uᵀ, eta = U z. Nothing is subtracted.
 * Observations are placed beside U, the disturbance is eliminated, and reflections from the right reduce the result.
 * This is the square-root information filter (Dyer & McReynolds, 1969; Bierman, "Factorization Methods for Discrete
 * Sequential Estimation", ch. V), written for transitions whose Q and F may be singular. For scalar numbers. */

/** Reflect M (rows, columns), stored as in lq_rows.h, to lower triangular form, and with it `last`, a row of data. Data
 *  are as large as the state in standard deviations, so they are in the wide number to keep their digits. V:
 *  columns + 2 numbers. */
KS_HD_COLD void KS_T(ks_lq_carry)(int rows, int columns, KS_NUM *M, KS_WIDE *last, KS_NUM *V)
{
    for (int r = 0; r < rows && r < columns; ++r) {
        KS_WIDE dot = (KS_WIDE)0, norm = (KS_WIDE)0;
        KS_T(ks_reflect_row)(rows, columns, r, M, V);
        if (!KS_GT(V[columns], KS_LIT(0))) continue; /* nothing was reflected */
        const int most = (int)(double)V[columns + 1];
        const KS_WIDE larger = last[most];
        last[most] = last[r];
        last[r] = larger;
        for (int c = r; c < columns; ++c) {
            dot = dot + last[c] * (KS_WIDE)V[c];
            norm = norm + (KS_WIDE)V[c] * (KS_WIDE)V[c];
        }
        dot = (dot + dot) / norm;
        for (int c = r; c < columns; ++c) last[c] = last[c] - dot * (KS_WIDE)V[c];
        if (KS_GT(V[r], KS_LIT(0))) last[r] = -last[r];
    }
}

/** Add the whitened observation of ks_whiten_observation() to U (nx, nx) and z (nx). U is lower triangular on return. W
 *  holds (ks_lq_apart(nx) + 1) (nx + m) + 2 numbers, `last` nx + m. */
KS_HD_COLD void KS_T(ks_array_inform)(int nx, int m, const KS_NUM *N, const KS_NUM *inverse_d,
                                      const KS_NUM *v, KS_NUM *U, KS_NUM *z, KS_NUM *W,
                                      KS_WIDE *last)
{
    const int columns = nx + m, apart = ks_lq_apart(nx);
    KS_NUM *M = W;
    KS_T(ks_lq_clear)(nx, columns, M);
    KS_T(ks_lq_put)(nx, nx, U, apart, M);
    for (int i = 0; i < nx; ++i) last[i] = (KS_WIDE)z[i];
    for (int l = 0; l < m; ++l) {
        const KS_NUM scale = KS_SQRT(inverse_d[l]);
        for (int i = 0; i < nx; ++i) M[(nx + l) * apart + i] = N[l * nx + i] * scale;
        last[nx + l] = (KS_WIDE)v[l] * (KS_WIDE)scale;
    }
    KS_T(ks_lq_carry)(nx, columns, M, last, M + apart * columns);
    KS_T(ks_lq_take)(nx, nx, apart, M, U, nx);
    for (int i = 0; i < nx; ++i) z[i] = (KS_NUM)last[i];
}

/** ks_retreat() in the array form, U and z in place. [I GᵀU; 0 U; 0 z - Uᵀu] is reflected to [K½ 0; . U~; . z~]. The
 *  data z~ are U~ᵀ F x[k-1] + noise. W: (ks_lq_apart(2 nx) + 1) 2 nx + 2 numbers, `last` 2 nx. */
KS_HD_COLD void KS_T(ks_array_retreat)(int nx, const KS_NUM *F, const KS_NUM *G, const KS_NUM *u,
                                       KS_NUM *U, KS_NUM *z, KS_NUM *A, KS_NUM *b, KS_NUM *LD,
                                       KS_NUM *inverse_d, KS_NUM *W, KS_WIDE *last)
{
    const int columns = 2 * nx, nn = nx * nx, apart = ks_lq_apart(2 * nx);
    KS_NUM *M = W, *low = M + nx;
    KS_T(ks_lq_clear)(2 * nx, columns, M);
    for (int i = 0; i < nn; ++i) A[i] = KS_LIT(0);
    KS_T(ks_mtm_add)(nx, nx, nx, G, U, A);
    for (int i = 0; i < nx; ++i) {
        last[i] = (KS_WIDE)0;
        last[nx + i] = (KS_WIDE)z[i];
        for (int l = 0; l < nx; ++l)
            last[nx + i] = last[nx + i] - (KS_WIDE)U[l * nx + i] * (KS_WIDE)u[l];
    }
    for (int i = 0; i < nx; ++i) M[i * apart + i] = KS_LIT(1);
    KS_T(ks_lq_put)(nx, nx, A, apart, M + nx * apart);
    KS_T(ks_lq_put)(nx, nx, U, apart, low + nx * apart);
    KS_T(ks_lq_carry)(2 * nx, columns, M, last, M + columns * apart);
    for (int i = 0; i < nx; ++i) { /* L D Lᵀ = K½ K½ᵀ */
        for (int c = 0; c < nx; ++c)
            LD[i * nx + c] = c < i ? M[c * apart + i] / M[c * apart + c] : KS_LIT(0);
        LD[i * nx + i] = M[i * apart + i] * M[i * apart + i];
        inverse_d[i] = KS_LIT(1) / LD[i * nx + i];
    }
    for (int i = 0; i < nn; ++i) A[i] = U[i] = KS_LIT(0);
    for (int i = 0; i < nx; ++i) { /* A <- D^-½ Bᵀ F, B the block below K½: Bᵀ = K½⁻¹ Gᵀ J */
        for (int l = 0; l < nx; ++l)
            for (int c = 0; c < nx; ++c)
                A[i * nx + c] = A[i * nx + c] + low[i * apart + l] * F[l * nx + c];
        for (int c = 0; c < nx; ++c) A[i * nx + c] = A[i * nx + c] / M[i * apart + i];
        b[i] = (KS_NUM)(last[i] / (KS_WIDE)M[i * apart + i]);
    }
    for (int i = 0; i < nx; ++i) /* U = Fᵀ U~ */
        for (int l = 0; l < nx; ++l)
            for (int c = 0; c < nx; ++c)
                U[i * nx + c] = U[i * nx + c] + F[l * nx + i] * low[(nx + c) * apart + l];
    for (int i = 0; i < nx; ++i) z[i] = (KS_NUM)last[nx + i];
}

/** ks_advance_cov() in the array form: Sn (nx, nx), lower triangular, from S; lag as there. W holds
 *  (ks_lq_apart(nx) + 1) 2 nx + 2 numbers. */
KS_HD_COLD void KS_T(ks_array_advance)(int nx, const KS_NUM *Phi, const KS_NUM *V,
                                       const KS_NUM *inverse_d, const KS_NUM *S, KS_NUM *Sn,
                                       KS_NUM *lag, KS_NUM *W)
{
    const int columns = 2 * nx, apart = ks_lq_apart(nx);
    KS_T(ks_mm)(nx, nx, nx, Phi, S, Sn);
    KS_T(ks_lq_clear)(nx, columns, W);
    KS_T(ks_lq_put)(nx, nx, Sn, apart, W);
    for (int i = 0; i < nx; ++i) {
        for (int c = 0; c < nx; ++c)
            W[(nx + c) * apart + i] = V[c * nx + i] * KS_SQRT(inverse_d[c]);
        for (int j = 0; j < nx; ++j) { /* Phi S Sᵀ */
            KS_NUM s = KS_LIT(0);
            for (int c = 0; c < nx; ++c) s = s + Sn[i * nx + c] * S[j * nx + c];
            lag[i * nx + j] = s;
        }
    }
    KS_T(ks_lq)(nx, columns, W, W + columns * apart);
    KS_T(ks_lq_take)(nx, nx, apart, W, Sn, nx);
}

/** Turn J, eta into data z = Uᵀ x + noise, in place. `bound` (nx) bounds the numbers that the diagonal of J was made
 *  of.
 *
 *  Where only round-off is left of J, eta still tells something of a mean: it is as large as the root of J, and half of
 *  the digits would be lost with it. So the pivot there is set to the size of the round-off.
 *  W: 2 nx² + 2 nx numbers. */
KS_HD_COLD void KS_T(ks_to_data)(int nx, const KS_NUM *bound, KS_NUM *J, KS_NUM *eta, KS_NUM *W)
{
    KS_NUM *A = W, *z = A + nx * nx, *work = z + nx, *order = work + nx * nx;
    KS_T(ks_copy)(nx * nx, J, A);
    int rank = KS_T(ks_pivoted_factor_of)(nx, A, bound, J, work);
    for (int p = 0; p < nx; ++p) {
        if (KS_GT(order[p], KS_LIT(0)) || !KS_GT(A[p * nx + p], KS_LIT(0))) continue;
        J[p * nx + rank] = KS_SQRT(KS_LIT(4 * nx * KS_EPS)) * KS_SQRT(A[p * nx + p]); /* the product could underflow */
        rank += 1;
        order[p] = KS_LIT(rank);
    }
    for (int c = 0; c < nx; ++c) z[c] = KS_LIT(0);
    for (int c = 0; c < rank; ++c) {
        int p = 0;
        while (!KS_GT(order[p], KS_LIT(c + 0.5)) || KS_GT(order[p], KS_LIT(c + 1.5))) ++p;
        KS_NUM s = eta[p];
        for (int j = 0; j < c; ++j) s = s - J[p * nx + j] * z[j];
        z[c] = s / J[p * nx + c];
    }
    KS_T(ks_copy)(nx, z, eta);
}

/** Combine the two filters where they meet: x (nx) and S (nx, nx), P = S Sᵀ, of the filter from the left, with the data
 *  U, z of the information filter from the right; x and S in place. pivot (nx) <- the pivots of I + Uᵀ P U. q (nx) <- a
 *  vector with q'q = lambda' P lambda, where lambda = eta - J x at the smoothed x. W: (ks_lq_apart(2 nx) + 2) 2 nx + 2
 *  numbers. */
KS_HD_COLD void KS_T(ks_array_meet)(int nx, const KS_NUM *U, const KS_NUM *z, KS_NUM *x, KS_NUM *S,
                              KS_NUM *pivot, KS_NUM *q, KS_NUM *W)
{
    const int columns = 2 * nx, apart = ks_lq_apart(2 * nx);
    KS_NUM *M = W, *low = M + nx, *V = M + columns * apart;
    KS_NUM *e = V + columns + 2, *r = e + nx;
    for (int i = 0; i < nx; ++i) pivot[i] = q[i] = KS_LIT(0);
    KS_T(ks_lq_clear)(2 * nx, columns, M);
    for (int i = 0; i < nx; ++i) M[i * apart + i] = KS_LIT(1);
    for (int c = 0; c < nx; ++c)
        for (int l = 0; l < nx; ++l)
            for (int i = 0; i < nx; ++i)
                M[(nx + c) * apart + i] = M[(nx + c) * apart + i] + U[l * nx + i] * S[l * nx + c];
    KS_T(ks_lq_put)(nx, nx, S, apart, low + nx * apart);
    /* q = (Uᵀ S)ᵀ r needs Uᵀ S after r is known. It is kept in S, whose contents are in M. */
    KS_T(ks_lq_take)(nx, nx, apart, M + nx * apart, S, nx);
    KS_T(ks_lq)(2 * nx, columns, M, V);
    for (int i = 0; i < nx; ++i) {
        KS_NUM s = z[i];
        for (int l = 0; l < nx; ++l) s = s - U[l * nx + i] * x[l];
        for (int j = 0; j < i; ++j) s = s - M[j * apart + i] * e[j];
        e[i] = s / M[i * apart + i];
        pivot[i] = M[i * apart + i] * M[i * apart + i];
    }
    for (int i = nx - 1; i >= 0; --i) { /* r = z - Uᵀ x at the smoothed x */
        KS_NUM s = e[i];
        for (int j = i + 1; j < nx; ++j) s = s - M[i * apart + j] * r[j];
        r[i] = s / M[i * apart + i];
    }
    KS_T(ks_mtv_add)(nx, nx, S, r, q);
    for (int c = 0; c < nx; ++c)
        for (int i = 0; i < nx; ++i) x[i] = x[i] + low[c * apart + i] * e[c];
    KS_T(ks_lq_take)(nx, nx, apart, low + nx * apart, S, nx);
}
