/* tridiagonal_text.h -- direct solvers of one tridiagonal block; see src/num_f64.h.
 *
 * A block has format DIA: row r is a[r] x[r - 1] + b[r] x[r] + c[r] x[r + 1] with a = values,
 * b = values + n, c = values + 2 n. a[0] and c[n - 1] are not used. Each solver has a factor function,
 * which computes coefficients of the block once, and a solve function, which works in place on a
 * right-hand side. Factor functions return -1, or the row whose pivot is zero or not finite.
 *
 * Cyclic reduction and parallel cyclic reduction consist of phases of independent rows. A phase is what
 * a thread block does between two barriers. */

/** Whether a number can be divided by. */
KS_HD int KS_T(ks_tri_usable)(KS_NUM pivot)
{
    const KS_NUM size = pivot < KS_LIT(0) ? -pivot : pivot;
    return size > KS_LIT(0) && size <= KS_LIT(KS_LARGEST);
}

KS_HD KS_NUM KS_T(ks_tri_abs)(KS_NUM x) { return x < KS_LIT(0) ? -x : x; }

/* ---- Elimination without interchanges (Thomas): f = m | 1 / u | c / u, 3 n numbers. ---- */

/** *growth: the largest element of |L| |U| divided by the largest one of |D|. The backward error of the
 *  solve is *growth times round-off. */
KS_HD int KS_T(ks_thomas_factor)(int n, const KS_NUM *KS_RESTRICT dia, KS_NUM *KS_RESTRICT f,
                                 KS_NUM *growth)
{
    KS_NUM *m = f, *inverse = f + n, *above = f + 2 * (int64_t)n;
    const KS_NUM *a = dia, *b = dia + n, *c = dia + 2 * (int64_t)n;
    KS_NUM largest = KS_LIT(0), most = KS_LIT(0);
    for (int r = 0; r < n; ++r) {
        const KS_NUM left = r > 0 ? a[r] : KS_LIT(0), right = r + 1 < n ? c[r] : KS_LIT(0);
        m[r] = r > 0 ? left * inverse[r - 1] : KS_LIT(0);
        const KS_NUM taken = r > 0 ? m[r] * c[r - 1] : KS_LIT(0), u = b[r] - taken;
        const KS_NUM reached = KS_T(ks_tri_abs)(taken) + KS_T(ks_tri_abs)(u);
        if (!KS_T(ks_tri_usable)(u)) return r;
        inverse[r] = KS_LIT(1) / u;
        above[r] = right * inverse[r];
        if (!KS_T(ks_tri_usable)(inverse[r]) || !(KS_T(ks_tri_abs)(above[r]) <= KS_LIT(KS_LARGEST)))
            return r;
        if (reached > most) most = reached;
        if (KS_T(ks_tri_abs)(left) > largest) largest = KS_T(ks_tri_abs)(left);
        if (KS_T(ks_tri_abs)(b[r]) > largest) largest = KS_T(ks_tri_abs)(b[r]);
        if (KS_T(ks_tri_abs)(right) > largest) largest = KS_T(ks_tri_abs)(right);
    }
    *growth = most / largest;
    return -1;
}

/** The dependent chains have one multiplication and one subtraction per row; all divisions are done in
 *  the factor function. Every product is in one sum only, so that contraction gives the same bits
 *  wherever this is inlined, also in ks_thomas_solve_4(). */
KS_HD void KS_T(ks_thomas_solve)(int n, const KS_NUM *KS_RESTRICT f, KS_NUM *KS_RESTRICT x)
{
    const KS_NUM *m = f, *inverse = f + n, *above = f + 2 * (int64_t)n;
    KS_NUM y = x[0];
    x[0] = y * inverse[0];
    for (int r = 1; r < n; ++r) {
        y = x[r] - m[r] * y;
        x[r] = y * inverse[r];
    }
    y = x[n - 1];
    for (int r = n - 2; r >= 0; --r) {
        y = x[r] - above[r] * y;
        x[r] = y;
    }
}

/** Solve four blocks at the same time, x[l] with factor f[l]: one chain waits for its last row, four
 *  keep the processor busy. */
KS_HD void KS_T(ks_thomas_solve_4)(int n, const KS_NUM *const *f, KS_NUM *const *x)
{
    const KS_NUM *f0 = f[0], *f1 = f[1], *f2 = f[2], *f3 = f[3];
    KS_NUM *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
    KS_NUM y0 = x0[0], y1 = x1[0], y2 = x2[0], y3 = x3[0];
    const int64_t inverse = n, above = 2 * (int64_t)n;
    x0[0] = y0 * f0[inverse];
    x1[0] = y1 * f1[inverse];
    x2[0] = y2 * f2[inverse];
    x3[0] = y3 * f3[inverse];
    for (int r = 1; r < n; ++r) {
        y0 = x0[r] - f0[r] * y0;
        y1 = x1[r] - f1[r] * y1;
        y2 = x2[r] - f2[r] * y2;
        y3 = x3[r] - f3[r] * y3;
        x0[r] = y0 * f0[inverse + r];
        x1[r] = y1 * f1[inverse + r];
        x2[r] = y2 * f2[inverse + r];
        x3[r] = y3 * f3[inverse + r];
    }
    y0 = x0[n - 1];
    y1 = x1[n - 1];
    y2 = x2[n - 1];
    y3 = x3[n - 1];
    for (int r = n - 2; r >= 0; --r) {
        y0 = x0[r] - f0[above + r] * y0;
        y1 = x1[r] - f1[above + r] * y1;
        y2 = x2[r] - f2[above + r] * y2;
        y3 = x3[r] - f3[above + r] * y3;
        x0[r] = y0;
        x1[r] = y1;
        x2[r] = y2;
        x3[r] = y3;
    }
}

/* ---- Pivoted LU of LAPACK's gttrf: dl | 1 / d | du | du2 | interchanges as int. ---- */

KS_HD void KS_T(ks_tri_lu_solve)(int n, const KS_NUM *KS_RESTRICT f, const int *KS_RESTRICT pivot,
                                 KS_NUM *KS_RESTRICT x)
{
    const KS_NUM *dl = f, *inverse = f + n, *du = f + 2 * (int64_t)n, *du2 = f + 3 * (int64_t)n;
    for (int r = 0; r + 1 < n; ++r) {
        const int swapped = pivot[r] != r + 1; /* LAPACK counts from 1 */
        const KS_NUM top = swapped ? x[r + 1] : x[r], rest = swapped ? x[r] : x[r + 1];
        x[r] = top;
        x[r + 1] = rest - dl[r] * top;
    }
    x[n - 1] *= inverse[n - 1];
    if (n > 1) x[n - 2] = (x[n - 2] - du[n - 2] * x[n - 1]) * inverse[n - 2];
    for (int r = n - 3; r >= 0; --r)
        x[r] = (x[r] - du[r] * x[r + 1] - du2[r] * x[r + 2]) * inverse[r];
}

/* ---- Cyclic reduction (Hockney). ----
 * The level of stride s has the rows s - 1, 2 s - 1, 3 s - 1, ... Every second of them, row
 * (2 p + 2) s - 1, remains: multiples of its two neighbours are subtracted from it. The others are
 * solved in the backward phase. f = 1 / b | a / b | c / b of each row at the level where it is
 * eliminated | alpha | gamma of the remaining rows, in order of level and p: 5 n numbers. `scratch`: 3 n. */

/** Forward phase of the level with stride s: lane p of n / (2 s). */
KS_HD void KS_T(ks_cr_forward)(int n, int64_t s, int64_t p, const KS_NUM *alpha,
                               const KS_NUM *gamma, KS_NUM *x)
{
    const int64_t i = (2 * p + 2) * s - 1;
    KS_NUM value = x[i] - alpha[p] * x[i - s];
    if (i + s < n) value -= gamma[p] * x[i + s];
    x[i] = value;
}

/** Backward phase of the level with stride s: lane p of (n / s + 1) / 2. */
KS_HD void KS_T(ks_cr_backward)(int n, int64_t s, int64_t p, const KS_NUM *f, KS_NUM *x)
{
    const int64_t i = (2 * p + 1) * s - 1;
    const KS_NUM *inverse = f, *below = f + n, *above = f + 2 * (int64_t)n;
    KS_NUM value = inverse[i] * x[i];
    if (i - s >= 0) value -= below[i] * x[i - s];
    if (i + s < n) value -= above[i] * x[i + s];
    x[i] = value;
}

KS_HD int KS_T(ks_cr_factor)(int n, const KS_NUM *KS_RESTRICT dia, KS_NUM *KS_RESTRICT f,
                             KS_NUM *KS_RESTRICT scratch)
{
    KS_NUM *a = scratch, *b = scratch + n, *c = scratch + 2 * (int64_t)n;
    KS_NUM *alpha = f + 3 * (int64_t)n, *gamma = f + 4 * (int64_t)n;
    for (int64_t i = 0; i < 3 * (int64_t)n; ++i) scratch[i] = dia[i];
    a[0] = c[n - 1] = KS_LIT(0);
    for (int64_t s = 1; s <= n; s *= 2) {
        for (int64_t i = s - 1; i < n; i += 2 * s) {
            if (!KS_T(ks_tri_usable)(b[i]) || !KS_T(ks_tri_usable)(KS_LIT(1) / b[i]))
                return (int)i;
            f[i] = KS_LIT(1) / b[i];
            f[n + i] = a[i] * f[i];
            f[2 * (int64_t)n + i] = c[i] * f[i];
        }
        for (int64_t i = 2 * s - 1; i < n; i += 2 * s, ++alpha, ++gamma) {
            const int64_t lower = i - s, upper = i + s;
            *alpha = a[i] * f[lower];
            *gamma = upper < n ? c[i] * f[upper] : KS_LIT(0);
            b[i] -= *alpha * c[lower] + (upper < n ? *gamma * a[upper] : KS_LIT(0));
            a[i] = -*alpha * a[lower];
            c[i] = upper < n ? -*gamma * c[upper] : KS_LIT(0);
        }
    }
    return -1;
}

KS_HD void KS_T(ks_cr_solve)(int n, const KS_NUM *KS_RESTRICT f, KS_NUM *KS_RESTRICT x)
{
    const KS_NUM *alpha = f + 3 * (int64_t)n, *gamma = f + 4 * (int64_t)n;
    int64_t s = 1;
    for (; 2 * s <= n; s *= 2) {
        const int64_t lanes = n / (2 * s);
        for (int64_t p = 0; p < lanes; ++p) KS_T(ks_cr_forward)(n, s, p, alpha, gamma, x);
        alpha += lanes;
        gamma += lanes;
    }
    for (; s >= 1; s /= 2)
        for (int64_t p = 0; p < (n / s + 1) / 2; ++p) KS_T(ks_cr_backward)(n, s, p, f, x);
}

/* ---- Parallel cyclic reduction: every row is reduced at every level; there is no backward phase. ----
 * f = 1 / b after the last level | alpha | gamma of level 0 | alpha | gamma of level 1 ...:
 * (2 levels + 1) n numbers. `scratch`: 6 n for the factor, n for the solve. */

/** Subtract coefficient * neighbour from a row's value. */
KS_HD KS_NUM KS_T(ks_pcr_subtract)(KS_NUM value, KS_NUM coefficient, KS_NUM neighbour)
{
    return ks_add_product(value, -coefficient, neighbour);
}

/** Phase of the level with stride s: lane i of n, from x to y. */
KS_HD void KS_T(ks_pcr_row)(int n, int64_t s, int64_t i, const KS_NUM *alpha, const KS_NUM *gamma,
                            const KS_NUM *x, KS_NUM *y)
{
    KS_NUM value = x[i];
    if (i - s >= 0) value = KS_T(ks_pcr_subtract)(value, alpha[i], x[i - s]);
    if (i + s < n) value = KS_T(ks_pcr_subtract)(value, gamma[i], x[i + s]);
    y[i] = value;
}

KS_HD int KS_T(ks_pcr_factor)(int n, const KS_NUM *KS_RESTRICT dia, KS_NUM *KS_RESTRICT f,
                              KS_NUM *KS_RESTRICT scratch)
{
    const int64_t N = n;
    KS_NUM *a = scratch, *b = scratch + N, *c = scratch + 2 * N, *next = scratch + 3 * N;
    KS_NUM *alpha = f + N;
    for (int64_t i = 0; i < 3 * N; ++i) scratch[i] = dia[i];
    a[0] = c[N - 1] = KS_LIT(0);
    for (int64_t s = 1; s < N; s *= 2, alpha += 2 * N) {
        KS_NUM *gamma = alpha + N;
        for (int64_t i = 0; i < N; ++i)
            if (!KS_T(ks_tri_usable)(b[i])) return (int)i;
        for (int64_t i = 0; i < N; ++i) {
            const int64_t lower = i - s, upper = i + s;
            const int has_lower = lower >= 0, has_upper = upper < N;
            alpha[i] = has_lower ? a[i] / b[lower] : KS_LIT(0);
            gamma[i] = has_upper ? c[i] / b[upper] : KS_LIT(0);
            next[i] = has_lower ? -alpha[i] * a[lower] : KS_LIT(0);
            next[N + i] = b[i] - (has_lower ? alpha[i] * c[lower] : KS_LIT(0)) -
                          (has_upper ? gamma[i] * a[upper] : KS_LIT(0));
            next[2 * N + i] = has_upper ? -gamma[i] * c[upper] : KS_LIT(0);
        }
        for (int64_t i = 0; i < 3 * N; ++i) scratch[i] = next[i];
    }
    for (int64_t i = 0; i < N; ++i) {
        if (!KS_T(ks_tri_usable)(b[i]) || !KS_T(ks_tri_usable)(KS_LIT(1) / b[i])) return (int)i;
        f[i] = KS_LIT(1) / b[i];
    }
    return -1;
}

KS_HD void KS_T(ks_pcr_solve)(int n, const KS_NUM *KS_RESTRICT f, KS_NUM *x, KS_NUM *scratch)
{
    const KS_NUM *alpha = f + n;
    KS_NUM *from = x, *to = scratch;
    for (int64_t s = 1; s < n; s *= 2, alpha += 2 * (int64_t)n) {
        for (int64_t i = 0; i < n; ++i) KS_T(ks_pcr_row)(n, s, i, alpha, alpha + n, from, to);
        KS_NUM *other = from;
        from = to;
        to = other;
    }
    for (int64_t i = 0; i < n; ++i) x[i] = f[i] * from[i];
}
