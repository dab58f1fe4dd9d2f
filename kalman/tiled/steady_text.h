/* steady_text.h -- the steady state of a constant model; see num_f64.h and tiled_range_text.h. For plain C on the CPU.
 *
 * The covariances of a constant model with complete observations converge. If they reach a short cycle to the bit,
 * memo_text.h finds it. In most models they do not: round-off changes their last bits for ever. A step that changes a
 * covariance by round-off only adds no information. So the covariance is held, and is a fixed point to the bit from
 * then on, if that is proven to be harmless.
 *
 * Let A be the closed loop: (I - K H) F of the filter, E of the smoother. A change D of a covariance becomes A D Aᵀ one
 * step later. If the covariance is held at P, and a step from P changes it by D, then P differs from the limit of the
 * recursion by
 *
 *     D + A D Aᵀ + A² D A²ᵀ + ... <= f (S + A S Aᵀ + A² S A²ᵀ + ...) = f X.
 *
 * S > 0 is diagonal: the diagonal of what a step subtracts from, whose round-off D is. f is the Frobenius norm of D
 * with rows and columns divided by the square roots of S. X is summed by doubling. P is held if f X is at most
 * KS_STEADY_MOST of each variance, which excludes models that forget slowly.
 *
 * This is checked every KS_LOOK steps. Once a step changes the covariance by round-off only, the covariance must not
 * come back within the next eight steps; if it does, the memo serves the cycle. The decision depends only on the step
 * and the covariances, not on where a range of steps begins. It starts again after a missing entry and, on the way
 * back, if the filtered covariance changes. */

/** Steps after the first check in which a cycle may show. */
#define KS_STEADY_CYCLE 8

/** Whether a memo pays for a range of steps. A held covariance repeats from the range's second step on. */
KS_HD int KS_T(ks_steady_pays)(const ks_series *s, const ks_state *state, int64_t steps)
{
    return KS_T(ks_memo_pays)(s, state->steady.stage == KS_STEADY_HELD && steps > 2 ? INT64_MAX : steps);
}

/** Whether a step of a constant model is to be checked. found: its covariances come from the memo. may: they may be
 *  held. */
KS_HD int KS_T(ks_steady_asks)(int found, int may, ks_steady *s)
{
    if (found && s->stage == KS_STEADY_UNKNOWN) s->stage = KS_STEADY_REPEATS;
    if (!found && s->stage == KS_STEADY_REPEATS) s->stage = KS_STEADY_UNKNOWN;
    return may && (!found || s->stage == KS_STEADY_ASKED);
}

/** Whether the covariance that this step starts from must be copied, to be compared with the one that the step makes.
 *  phase: steps since the last check, of which there is one in KS_LOOK steps. */
KS_HD int KS_T(ks_steady_watches)(const ks_steady *s, int phase)
{
    return s->stage == KS_STEADY_HELD || (s->stage != KS_STEADY_ASKED && phase == 0) ||
           (s->stage == KS_STEADY_ASKED && phase == KS_STEADY_CYCLE);
}

/** A hash of the bits of a covariance, rows n apart. */
KS_HD_COLD uint64_t KS_T(ks_steady_mark)(int nx, int n, const KS_NUM *P)
{
    uint64_t mark = 0;
    for (int i = 0; i < nx; ++i)
        for (int j = i; j < nx; ++j) {
            const double entry = (double)P[i * n + j] + 0.0; /* -0 becomes +0 */
            uint64_t bits;
            memcpy(&bits, &entry, sizeof bits);
            mark = (mark ^ bits) * 0x9e3779b97f4a7c15u;
            mark ^= mark >> 29;
        }
    return mark;
}

/** The norm f of the change of a covariance in a step, with the diagonal of S; -1 if an entry changed by more than
 *  round-off. All rows are n apart. */
KS_HD_COLD double KS_T(ks_steady_moved)(int nx, int n, const KS_NUM *from, const KS_NUM *to, const KS_NUM *S)
{
    const double most = KS_STEADY_MOVES * KS_EPS * KS_STEADY_MOVES * KS_EPS;
    double sum = 0;
    for (int i = 0; i < nx; ++i)
        for (int j = i; j < nx; ++j) {
            const double moved = (double)to[i * n + j] - (double)from[i * n + j];
            if (moved == 0) continue;
            /* Two divisions: a product of variances may be out of range. */
            const double share = (moved / (double)S[i * n + i]) * (moved / (double)S[j * n + j]);
            if (!(share <= most)) return -1;
            sum += (i == j ? 1 : 2) * share;
        }
    return sqrt(sum);
}

/** Whether P may be held, by the sum X over the closed loop whose transpose is B, rows padded. S and P have rows n
 *  apart. All others are scratch with rows and columns padded, and `old` holds one row. */
KS_HD_COLD int KS_T(ks_steady_holds)(int nx, int n, double moved, const KS_NUM *S, const KS_NUM *P, KS_NUM *B, KS_NUM *next,
                                     KS_NUM *X, KS_NUM *T, KS_NUM *old)
{
    const int np = KS_T(ks_padded)(nx);
    for (int i = 0; i < np * np; ++i) X[i] = KS_LIT(0);
    for (int i = 0; i < nx; ++i) X[i * np + i] = S[i * n + i];
    for (int t = 0; t < KS_STEADY_DOUBLINGS; ++t) {
        for (int i = 0; i < nx; ++i) old[i] = X[i * np + i];
        KS_T(ks_tiles)(0, 0, nx, nx, np, X, np, 1, B, np, T, np, T, np);
        KS_T(ks_tiles)(1, 1, nx, nx, np, B, 1, np, T, np, X, np, X, np);
        KS_T(ks_mirror_upper)(nx, 1, X, np);
        int grows = 0;
        for (int i = 0; i < nx; ++i) {
            /* A quarter more for the terms left out of the sum. */
            if (!(1.25 * moved * (double)X[i * np + i] <= KS_STEADY_MOST * (double)P[i * n + i])) return 0;
            grows |= !(X[i * np + i] <= KS_LIT(1.125) * old[i]);
        }
        if (!grows) return 1;
        KS_T(ks_tiles)(0, 0, nx, nx, np, B, np, 1, B, np, next, np, next, np);
        KS_NUM *swap = B;
        B = next, next = swap;
    }
    return 0;
}

/** Update *s after a step from `from` to `to`, `phase` steps after the last check. watched: `from` is valid. Returns 1
 *  if the covariance is held, 0 if not, -1 if ks_steady_holds() must decide, with *moved. */
KS_HD int KS_T(ks_steady_after)(int nx, int n, int phase, int watched, const KS_NUM *from, const KS_NUM *to,
                                const KS_NUM *S, ks_steady *s, double *moved)
{
    if (s->stage == KS_STEADY_ASKED && phase > 0 && phase <= KS_STEADY_CYCLE &&
        KS_T(ks_steady_mark)(nx, n, to) == s->mark) {
        s->stage = KS_STEADY_REPEATS;
        return 0;
    }
    if (!watched) return 0;
    *moved = KS_T(ks_steady_moved)(nx, n, from, to, S);
    if (*moved < 0) {
        s->stage = KS_STEADY_UNKNOWN;
        return 0;
    }
    if (s->stage == KS_STEADY_HELD) return 1;
    if (s->stage == KS_STEADY_ASKED) return -1;
    if (s->stage == KS_STEADY_REFUSED) return 0;
    s->stage = KS_STEADY_ASKED;
    s->mark = KS_T(ks_steady_mark)(nx, n, to);
    return 0;
}

/** Whether the posterior `to` of a step is to be held at w->kept, which the step started from; see ks_steady_after().
 *  The step has the prediction Pp, D⁻¹ L⁻¹ H Pp in Z, and Lᵀ. */
KS_HD_COLD int KS_T(ks_filter_steady)(ks_shape shape, int nx, int n, int m, const KS_T(ks_blocks) *b, int phase,
                                      int watched, const KS_NUM *to, const KS_NUM *Pp, const KS_NUM *Z,
                                      const KS_NUM *LT, const KS_T(ks_tiled_memory) *w, ks_steady *s)
{
    const int np = KS_T(ks_padded)(nx), ld = shape == KS_SHAPE_TILES ? KS_T(ks_padded)(m) : 4;
    double moved = 0;
    const int holds = KS_T(ks_steady_after)(nx, n, phase, watched, w->kept, to, Pp, s, &moved);
    if (holds >= 0) return holds;
    /* A = F - Zᵀ L⁻¹ H F */
    KS_NUM *A = w->work + np * np, *Y = w->step.G, *B = w->ET;
    for (int i = 0; i < np * np; ++i) A[i] = B[i] = KS_LIT(0);
    KS_T(ks_pad)(nx, nx, b->F, nx, A, np);
    KS_T(ks_tiles)(0, 0, m, nx, np, b->H, nx, 1, A, np, Y, np, Y, np);
    for (int i = 1; i < m; ++i)
        for (int j = 0; j < i; ++j)
            for (int c = 0; c < np; ++c) Y[i * np + c] = Y[i * np + c] - LT[j * ld + i] * Y[j * np + c];
    KS_T(ks_tiles)(0, -1, nx, m, np, Z, 1, n, Y, np, A, np, A, np);
    KS_T(ks_transpose_rows)(nx, nx, A, np, B, np);
    s->stage = KS_T(ks_steady_holds)(nx, n, moved, Pp, w->kept, B, w->D, w->next, w->work, w->work + 3 * np * np)
                   ? KS_STEADY_HELD
                   : KS_STEADY_REFUSED;
    return s->stage == KS_STEADY_HELD;
}

/** The same of the smoothed covariance `to`, made from w->next by a step with the gain Eᵀ and the filtered covariance
 *  P. Rows are n apart. */
KS_HD_COLD int KS_T(ks_smooth_steady)(int nx, int n, int phase, int watched, const KS_NUM *to, const KS_NUM *ET,
                                      const KS_NUM *P, const KS_T(ks_tiled_memory) *w, ks_steady *s)
{
    const int np = KS_T(ks_padded)(nx);
    double moved = 0;
    if (s->stage != KS_STEADY_ASKED && !watched) return 0;
    const uint64_t given = KS_T(ks_steady_mark)(nx, n, P);
    if ((s->stage == KS_STEADY_ASKED || s->stage == KS_STEADY_HELD) && given != s->given) {
        s->stage = KS_STEADY_UNKNOWN;
        return 0;
    }
    s->given = given;
    const int holds = KS_T(ks_steady_after)(nx, n, phase, watched, w->next, to, P, s, &moved);
    if (holds >= 0) return holds;
    KS_NUM *B = w->work, *next = B + np * np, *T = next + np * np;
    for (int i = 0; i < np * np; ++i) B[i] = KS_LIT(0);
    for (int i = 0; i < nx; ++i) KS_T(ks_copy)(nx, ET + i * n, B + i * np);
    s->stage = KS_T(ks_steady_holds)(nx, n, moved, P, w->next, B, next, w->D, T, T + np * np) ? KS_STEADY_HELD
                                                                                             : KS_STEADY_REFUSED;
    return s->stage == KS_STEADY_HELD;
}
