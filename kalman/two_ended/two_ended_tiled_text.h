/* two_ended_tiled_text.h -- the steps of two_ended_text.h, shaped by hand for vector registers; see num_f64.h and
 * tile_text.h. The plain text is their reference, with the same equations and the same tests of whether the ordinary
 * form has enough digits. For plain C on the CPU.
 *
 * Matrices are padded (tile_text.h), rows n apart. Covariances and information are made from their upper triangles.
 * Covariances are mirrored; information is mirrored only where it is multiplied. The factors of K are its unit
 * Lᵀ and 1 / D. */

/** Padded memory of the steps. Rows of a quad are four apart. */
typedef struct KS_T(ks_ends_blocks) {
    const KS_NUM *F, *u;               /* transition, Q = G Gᵀ                             */
    KS_NUM *FT, *G, *GT;
    KS_NUM *X, *E, *S, *Z, *B, *t;     /* J F, J G, L⁻¹ Gᵀ J F, scratch, L⁻¹ Gᵀ t, eta - J u */
    KS_NUM *LT, *inverse_d, *pivot;    /* factors of K                                     */
    KS_NUM *shown;                     /* diagonal of Fᵀ J F, or of C                      */
    KS_NUM *inverse, *through, *C;     /* Q⁻¹, -Q⁻¹ F, Fᵀ Q⁻¹ F                            */
    KS_NUM *noise_LT, *noise_d, *noise_pivot; /* factors of Q                              */
    KS_NUM *PhiT, *V, *W, *eps, *zero, *unit; /* way out; 0, I                             */
    KS_NUM *lower, *scaled;            /* L⁻¹ and D⁻¹ of it, zeros above the diagonal      */
    KS_NUM *noise;                     /* the disturbance of a step with the inverse       */
    ks_passage passage;                /* of the current step                              */
    int drifts;                        /* whether u is not zero                            */
    ks_prefetch *prefetch;                 /* or NULL                                          */
} KS_T(ks_ends_blocks);

/** An observation, whitened as by ks_whiten_observation(). */
typedef struct KS_T(ks_ends_channels) {
    const KS_NUM *H;          /* rows nx apart                                      */
    KS_NUM *own_H;            /* memory for H, or NULL                              */
    int m;
    KS_NUM *N, *Z;            /* L⁻¹ H and D⁻¹ of it, padded rows                   */
    KS_NUM *LT, *S;           /* factors of R, (m, m_padded)                        */
    KS_NUM *inverse_r, *pivot;
    KS_NUM *information;      /* Nᵀ Z                                               */
} KS_T(ks_ends_channels);

/** Rows at .. at + rows - 1 of G, `columns` of them, <- L⁻¹ G0 with the unit LT, and the same rows of Z <- D⁻¹ G. */
KS_HD void KS_T(ks_panel_forward)(int rows, int at, int columns, int n, const KS_NUM *LT,
                                  const KS_NUM *inverse_d, const KS_NUM *G0, KS_NUM *G, KS_NUM *Z)
{
    if (at > 0)
        KS_T(ks_tiles)(0, -1, rows, at, columns, LT + at, 1, n, G, n, G0 + at * n, n, G + at * n, n);
    const KS_NUM *from = at > 0 ? G : G0;
    KS_T(ks_lanes) row[4];
    for (int c = 0; c < columns; c += KS_LANES) {
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
            row[r] = KS_LOADV(from + (at + r) * n + c);
#pragma GCC unroll 4
            for (int j = 0; j < r; ++j) row[r] = row[r] - LT[(at + j) * n + at + r] * row[j];
            KS_STOREV(G + (at + r) * n + c, row[r]);
            KS_STOREV(Z + (at + r) * n + c, row[r] * inverse_d[at + r]);
        }
    }
}

/** G (nx, n) <- L⁻¹ G0 and Z <- D⁻¹ G, with LT and 1 / D as ks_tiled_ldl() leaves them. G0 may be G. lower: G0 is lower
 *  triangular; the zeros of G and Z are not written and must be there already. */
KS_HD void KS_T(ks_tiled_forward)(int lower, int nx, int n, const KS_NUM *LT, const KS_NUM *inverse_d,
                                  const KS_NUM *G0, KS_NUM *G, KS_NUM *Z)
{
    int at = 0;
#define KS_COLUMNS (lower ? KS_T(ks_padded)(at + 4) : n)
    for (; at + 4 <= nx; at += 4)
        KS_T(ks_panel_forward)(4, at, KS_COLUMNS, n, LT, inverse_d, G0, G, Z);
    switch (nx % 4) {
    case 3: KS_T(ks_panel_forward)(3, at, KS_COLUMNS, n, LT, inverse_d, G0, G, Z); break;
    case 2: KS_T(ks_panel_forward)(2, at, KS_COLUMNS, n, LT, inverse_d, G0, G, Z); break;
    case 1: KS_T(ks_panel_forward)(1, at, KS_COLUMNS, n, LT, inverse_d, G0, G, Z); break;
    default: break;
    }
#undef KS_COLUMNS
}

/** Whiten the observation of m entries with H (m, nx) and R (m, m). out: only the factors of R. Returns true if R is
 *  positive definite. */
KS_HD_COLD KS_MASK KS_T(ks_tiled_whiten)(int out, int nx, int n, int m, const KS_NUM *H, const KS_NUM *R,
                                         const KS_NUM *zero, KS_T(ks_ends_channels) *o)
{
    const int mp = KS_T(ks_padded)(m);
    o->H = H;
    o->m = m;
    if (m == 0) return KS_GT(KS_LIT(1), KS_LIT(0));
    KS_T(ks_pad)(m, m, R, m, o->S, mp);
    if (out) return KS_T(ks_tiled_ldl)(NULL, m, KS_R_PIVOT, mp, o->S, o->LT, 0, o->N, o->N, o->Z, o->pivot, o->inverse_r);
    KS_T(ks_pad)(m, nx, H, nx, o->N, n);
    const KS_MASK good =
        KS_T(ks_tiled_ldl)(NULL, m, KS_R_PIVOT, mp, o->S, o->LT, n, o->N, o->N, o->Z, o->pivot, o->inverse_r);
    KS_T(ks_tiles)(1, 1, nx, m, n, o->N, 1, n, o->Z, n, zero, n, o->information, n);
    KS_T(ks_mirror_upper)(nx, 1, o->information, n);
    return good;
}

/** GT, G <- a root of Q (nx, nx), lower triangular. For a positive definite Q it is made by tiles. */
KS_HD_COLD void KS_T(ks_tiled_root)(int nx, int n, const KS_NUM *Q, const KS_T(ks_ends_blocks) *w)
{
    KS_NUM *S = w->X, *LT = w->E;
    KS_T(ks_pad)(nx, nx, Q, nx, S, n);
    if (n % KS_LANES == 0 &&
        KS_ALL(KS_T(ks_tiled_ldl)(NULL, nx, 2 * nx * KS_EPS, n, S, LT, 0, w->S, w->S, w->Z, w->pivot,
                                  w->inverse_d))) {
        for (int i = 0; i < nx; ++i) {
            const KS_NUM scale = KS_SQRT(w->pivot[i]);
            const int first = i / KS_LANES * KS_LANES;
            const KS_T(ks_lanes) none = { 0 };
            KS_NUM *row = w->GT + i * n;
            for (int c = 0; c < first; c += KS_LANES) KS_STOREV(row + c, none);
            for (int c = first; c < n; c += KS_LANES) KS_STOREV(row + c, KS_LOADV(LT + i * n + c) * scale);
            for (int c = first; c < i; ++c) row[c] = KS_LIT(0);
            row[i] = scale;
        }
        KS_T(ks_transpose_rows)(nx, nx, w->GT, n, w->G, n);
        return;
    }
    KS_T(ks_semidefinite_factor)(nx, Q, S);
    KS_T(ks_pad)(nx, nx, S, nx, w->G, n);
    for (int i = 0; i < nx; ++i)
        for (int c = 0; c < nx; ++c) w->GT[c * n + i] = w->G[i * n + c];
}

/** C (nx, n) = A G with G lower triangular. In larger blocks zeros are left out, some columns at a time. */
KS_HD void KS_T(ks_tiles_with_root)(ks_prefetch *prefetch, int nx, int n, const KS_NUM *A, const KS_NUM *G,
                                    KS_NUM *C)
{
    const int step = nx <= 16 ? n : 3 * KS_LANES;
    for (int c = 0; c < n && c < nx; c += step)
        KS_T(ks_tiles_meanwhile)(prefetch, 0, 0, nx, nx - c, n - c < step ? n - c : step, A + c, n, 1, G + c * n + c, n,
                       C + c, n, C + c, n);
}

/** C (nx, n) = Gᵀ B with G lower triangular; `upper`: only the upper triangle of C. In larger blocks zeros are left
 *  out, a few rows at a time. */
KS_HD void KS_T(ks_tiles_of_root)(ks_prefetch *prefetch, int upper, int nx, int n, const KS_NUM *G, const KS_NUM *B,
                                  const KS_NUM *zero, KS_NUM *C)
{
    const int step = nx <= 16 ? nx : 8;
    int i = 0;
    do { /* a literal nx of at most 16 leaves no loop */
        const int rows = nx - i < step ? nx - i : step;
        const KS_NUM *g = G + i * n + i, *b = B + i * n;
        if (upper) {
            const int c = i / KS_LANES * KS_LANES; /* vectors of C before it are below the diagonal */
            KS_T(ks_tiles_meanwhile)(prefetch, 1, 1, rows, nx - i, n - c, g, 1, n, b + c, n, zero, n, C + i * n + c, n);
        } else {
            KS_T(ks_tiles_meanwhile)(prefetch, 0, 0, rows, nx - i, n, g, 1, n, b, n, C + i * n, n, C + i * n, n);
        }
        i += step;
    } while (nx > 16 && i < nx);
}

/** ks_retreat() without the means: from J (full, its observation included) to Jn (upper triangle) and A. */
KS_HD KS_MASK KS_T(ks_tiled_retreat)(int nx, int n, const KS_T(ks_ends_blocks) *w, const KS_NUM *J,
                                     KS_NUM *Jn, KS_NUM *A)
{
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
    KS_NUM *K = Jn;
    KS_T(ks_tiles_with_root)(w->prefetch, nx, n, J, w->G, w->E);
    KS_T(ks_tiles_of_root)(w->prefetch, 1, nx, n, w->G, w->E, w->zero, K);
    for (int i = 0; i < nx; ++i) {
        K[i * n + i] = K[i * n + i] + KS_LIT(1);
        good = good & KS_GT(KS_LIT(1 + KS_GROWTH), K[i * n + i]);
    }
    KS_T(ks_tiles_meanwhile)(w->prefetch, 0, 0, nx, nx, n, J, n, 1, w->F, n, w->X, n, w->X, n);
    KS_T(ks_tiles_of_root)(w->prefetch, 0, nx, n, w->G, w->X, w->zero, w->S);
    good = good &
           KS_T(ks_tiled_ldl)(w->prefetch, nx, 0, n, K, w->LT, n, w->S, w->S, A, w->pivot, w->inverse_d);
    KS_T(ks_tiles_meanwhile)(w->prefetch, 1, 1, nx, nx, n, w->F, 1, n, w->X, n, w->zero, n, Jn, n);
    for (int i = 0; i < nx; ++i) w->shown[i] = Jn[i * n + i];
    KS_T(ks_tiles_meanwhile)(w->prefetch, 1, -1, nx, nx, n, w->S, 1, n, A, n, Jn, n, Jn, n);
    return good;
}

/** The means of the same step, eta in place: from x[k], its observation included, to x[k-1]. Returns b. With
 *  t = eta - J u, b = D⁻¹ L⁻¹ Gᵀ t, and eta of x[k-1] is Fᵀ t - Aᵀ L⁻¹ Gᵀ t. For G and F with the inverse of Q see
 *  two_ended_inverse_text.h. J is read only if u is not zero. */
KS_HD void KS_T(ks_tiled_retreat_mean)(int nx, int n, const KS_T(ks_ends_blocks) *w,
                                       const KS_NUM *J, const KS_NUM *A, const KS_NUM *LT,
                                       const KS_NUM *inverse_d, KS_NUM *eta, KS_NUM *b)
{
    if (w->drifts) {
        for (int i = 0; i < nx; ++i) w->eps[i] = -w->u[i];
        KS_T(ks_combine_rows)(1, nx, n, J, w->eps, eta, w->t);
    } else {
        KS_T(ks_copy)(nx, eta, w->t);
    }
    if (w->passage == KS_BY_ROOT) KS_T(ks_combine_rows)(1, nx, n, w->G, w->t, w->zero, w->B);
    else KS_T(ks_copy)(nx, w->t, w->B);
    if (w->passage != KS_BY_PRECISION) KS_T(ks_combine_rows)(1, nx, n, w->F, w->t, w->zero, w->X);
    if (nx > 8) KS_T(ks_whiten_columns)(nx, n, LT, w->E, w->B);
    else KS_T(ks_whiten)(nx, LT, n, w->B);
    KS_T(ks_combine_rows)(-1, nx, n, A, w->B, w->passage == KS_BY_PRECISION ? w->zero : w->X, eta);
    for (int i = 0; i < nx; ++i) b[i] = w->B[i] * inverse_d[i];
}

/** The squared length of eps = L⁻ᵀ `white` (nx), by the packed factors of K. With more than eight numbers `white` is
 *  overwritten by eps. */
KS_HD double KS_T(ks_ends_noise)(int nx, const KS_NUM *packed, KS_NUM *white)
{
    const KS_NUM *row = packed + nx * (nx + 1) / 2; /* 1 / D and the rest of a row of Lᵀ */
    KS_NUM few[8], *eps = nx > 8 ? white : few;
    double squares = 0;
#pragma GCC unroll 8
    for (int i = nx - 1; i >= 0; --i) {
        row -= nx - i;
        KS_NUM s = white[i];
        int j = nx - 1;
        if (j - i >= 8) { /* independent sums, to hide the latency of additions */
            KS_T(ks_quad) even = { 0 }, odd = { 0 };
            for (; j - i >= 8; j -= 8) {
                even = even + KS_LOAD4(row + j - i - 3) * KS_LOAD4(eps + j - 3);
                odd = odd + KS_LOAD4(row + j - i - 7) * KS_LOAD4(eps + j - 7);
            }
            even = even + odd;
            s = s - ((even[0] + even[2]) + (even[1] + even[3]));
        }
#pragma GCC unroll 8
        for (; j > i; --j) s = KS_T(ks_less)(s, row[j - i], eps[j]);
        eps[i] = s;
        squares += (double)s * (double)s;
    }
    return squares;
}

/** ks_advance_mean() with x in place. Lᵀ eps is returned and, of a step with the inverse of Q, the disturbance
 *  w->noise. Rows of A are lda apart; V is (nx, n). */
KS_HD void KS_T(ks_tiled_advance_mean)(int nx, int n, const KS_T(ks_ends_blocks) *w,
                                       const KS_NUM *V, const KS_NUM *A, int lda, const KS_NUM *b,
                                       KS_NUM *x)
{
    for (int i = 0; i < nx; ++i) {
        KS_NUM even = b[i], odd = KS_LIT(0);
        int j = 0;
        if (!KS_KNOWN(nx) && nx > 12) {
            KS_T(ks_quad) sum[2] = { { 0 } };
            for (; j + 8 <= nx; j += 8) {
                sum[0] = sum[0] + KS_LOAD4(A + i * lda + j) * KS_LOAD4(x + j);
                sum[1] = sum[1] + KS_LOAD4(A + i * lda + j + 4) * KS_LOAD4(x + j + 4);
            }
            sum[0] = sum[0] + sum[1];
            even = even - (sum[0][0] + sum[0][2]);
            odd = odd - (sum[0][1] + sum[0][3]);
        }
        for (; j + 2 <= nx; j += 2) {
            even = even - A[i * lda + j] * x[j];
            odd = odd - A[i * lda + j + 1] * x[j + 1];
        }
        if (j < nx) even = even - A[i * lda + j] * x[j];
        w->eps[i] = even + odd;
    }
    KS_T(ks_combine_rows)(1, nx, n, w->FT, x, w->u, w->t);
    switch (w->passage) {
    case KS_BY_ROOT: KS_T(ks_combine_rows)(1, nx, n, V, w->eps, w->t, x); break;
    case KS_BY_INVERSE:
        KS_T(ks_combine_rows)(1, nx, n, V, w->eps, w->zero, w->noise);
        for (int i = 0; i < nx; ++i) x[i] = w->t[i] + w->noise[i];
        break;
    default:
        KS_T(ks_combine_rows)(1, nx, n, V, w->eps, w->u, x);
        for (int i = 0; i < nx; ++i) w->noise[i] = x[i] - w->t[i];
        break;
    }
}

/** The sum of squares of the disturbance w->noise, by the factors of Q. */
KS_HD double KS_T(ks_ends_disturbance)(int nx, int n, const KS_T(ks_ends_blocks) *w)
{
    double squares = 0;
    if (nx > 8) KS_T(ks_whiten_columns)(nx, n, w->noise_LT, w->t, w->noise);
    else KS_T(ks_whiten)(nx, w->noise_LT, n, w->noise);
    for (int i = 0; i < nx; ++i) squares += (double)(w->noise[i] * w->noise[i] * w->noise_d[i]);
    return squares;
}

/** Set w->lower = L⁻¹, w->scaled and PhiT, for a step with the inverse of Q. */
KS_HD void KS_T(ks_tiled_advance_inverse)(int nx, int n, const KS_T(ks_ends_blocks) *w, const KS_NUM *A, int lda,
                                          const KS_NUM *LT, const KS_NUM *inverse_d)
{
    const KS_NUM *FT = w->passage == KS_BY_PRECISION ? w->zero : w->FT;
    const int step = nx <= 16 ? n : 3 * KS_LANES;
    KS_T(ks_tiled_forward)(1, nx, n, LT, inverse_d, w->unit, w->lower, w->scaled);
    for (int c = 0; c < n && c < nx; c += step)
        KS_T(ks_tiles_meanwhile)(w->prefetch, 0, -1, nx, nx - c, n - c < step ? n - c : step, A + c * lda, 1, lda,
                                 w->lower + c * n + c, n, FT + c, n, w->PhiT + c, n);
}

/** ks_advance_gain() and ks_advance_cov(): from P (full) of x[k-1] to Pn (full). Returns lag, and L⁻¹ Gᵀ in w->V or,
 *  with the inverse of Q, in w->lower. */
KS_HD KS_MASK KS_T(ks_tiled_advance)(int nx, int n, const KS_T(ks_ends_blocks) *w, const KS_NUM *A,
                                     int lda, const KS_NUM *LT, const KS_NUM *inverse_d,
                                     const KS_NUM *P, KS_NUM *Pn, KS_NUM *lag)
{
    KS_MASK good = KS_GT(KS_LIT(1), KS_LIT(0));
    if (w->passage == KS_BY_ROOT) {
        KS_T(ks_tiled_forward)(0, nx, n, LT, inverse_d, w->GT, w->V, w->W);
        KS_T(ks_tiles_meanwhile)(w->prefetch, 0, -1, nx, nx, n, A, 1, lda, w->V, n, w->FT, n, w->PhiT, n);
        KS_T(ks_tiles_meanwhile)(w->prefetch, 1, 1, nx, nx, n, w->V, 1, n, w->W, n, w->zero, n, Pn, n);
    } else {
        KS_T(ks_tiled_advance_inverse)(nx, n, w, A, lda, LT, inverse_d);
        KS_T(ks_tiles_of_root)(w->prefetch, 1, nx, n, w->lower, w->scaled, w->zero, Pn);
    }
    KS_T(ks_tiles_meanwhile)(w->prefetch, 0, 0, nx, nx, n, w->PhiT, 1, n, P, n, lag, n, lag, n);
    KS_T(ks_tiles_meanwhile)(w->prefetch, 1, 1, nx, nx, n, lag, n, 1, w->PhiT, n, Pn, n, Pn, n);
    KS_T(ks_mirror_upper)(nx, 1, Pn, n);
    for (int c = 0; c < n; c += KS_LANES) {
        KS_T(ks_lanes) even = { 0 }, odd = { 0 };
        int j = 0;
        for (; j + 2 <= nx; j += 2) {
            const KS_T(ks_lanes) phi = KS_LOADV(w->PhiT + j * n + c), next = KS_LOADV(w->PhiT + (j + 1) * n + c);
            even = even + phi * phi * P[j * n + j];
            odd = odd + next * next * P[(j + 1) * n + j + 1];
        }
        if (j < nx) even = even + KS_LOADV(w->PhiT + j * n + c) * KS_LOADV(w->PhiT + j * n + c) * P[j * n + j];
        even = even + odd;
        for (int i = c; i < nx && i < c + KS_LANES; ++i) {
            const KS_MASK lost = KS_GT(even[i - c], KS_LIT(KS_GROWTH) * Pn[i * n + i]);
            good = good & !lost;
        }
    }
    return good;
}
