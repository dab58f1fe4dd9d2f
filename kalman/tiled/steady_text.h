/* steady_text.h -- the steady state of a constant model; see num_f64.h and tiled_range_text.h. For plain C on the CPU.
 *
 * The covariances of a constant model with complete observations converge. Where they come to a short cycle to the
 * bit, memo_text.h finds it; in most models they do not: their last bits are moved about by round-off for ever. A
 * step that moves a covariance by no more than round-off says nothing more, so the covariance is held as it is, a
 * fixed point to the bit from then on, if that is proven to be harmless.
 *
 * With A the closed loop, (I - K H) F of the filter and E of the smoother, a change D of a covariance is A D Aᵀ one
 * step later. Held at P, whose step moves it by D, the recursion stays away from its own limit by
 *
 *     D + A D Aᵀ + A² D A²ᵀ + ... <= f (S + A S Aᵀ + A² S A²ᵀ + ...) = f X,
 *
 * f being the Frobenius norm of D with its rows and columns divided by the roots of a diagonal S > 0. X is summed by
 * doubling, and P is held where f X is at most KS_STEADY_MOST of each variance: where the model forgets
 * slowly it is not. S is the diagonal of what a step subtracts from, whose round-off D is.
 *
 * It is asked every KS_LOOK steps. Once a step moves the covariance by round-off alone, the next eight must not
 * come back to it, else it is left to the cycle. All of this depends on the step and the covariances alone, not on
 * where a range of steps begins, and starts again after an entry that is missing, on the way back where the filtered
 * covariance is another. */

/** Steps after asking in which a cycle may show. */
#define KS_STEADY_CYCLE 8

/** Whether a range of steps remembers any: what is held is known from its second step on. */
KS_HD int KS_T(ks_steady_pays)(const ks_series *s, const ks_state *state, int64_t steps)
{
    return KS_T(ks_memo_pays)(s, state->steady.stage == KS_STEADY_HELD && steps > 2 ? INT64_MAX : steps);
}

/** Whether a step of a constant model is to be looked at; found: its covariances come from memory; may: they may be held. */
KS_HD int KS_T(ks_steady_asks)(int found, int may, ks_steady *s)
{
    if (found && s->stage == KS_STEADY_UNKNOWN) s->stage = KS_STEADY_REPEATS;
    if (!found && s->stage == KS_STEADY_REPEATS) s->stage = KS_STEADY_UNKNOWN;
    return may && (!found || s->stage == KS_STEADY_ASKED);
}

/** Whether the covariance that this step starts from must be copied, to be compared with the one that the step makes;
 *  phase: steps since the last one that was asked, of which there is one in KS_LOOK. */
KS_HD int KS_T(ks_steady_watches)(const ks_steady *s, int phase)
{
    return s->stage == KS_STEADY_HELD || (s->stage != KS_STEADY_ASKED && phase == 0) ||
           (s->stage == KS_STEADY_ASKED && phase == KS_STEADY_CYCLE);
}

/** A number that covariances with the same bits, rows n apart, have in common, and others hardly ever. */
KS_HD_COLD uint64_t KS_T(ks_steady_mark)(int nx, int n, const KS_NUM *P)
{
    uint64_t mark = 0;
    for (int i = 0; i < nx; ++i)
        for (int j = i; j < nx; ++j) {
            const double entry = (double)P[i * n + j] + 0.0; /* either zero */
            uint64_t bits;
            memcpy(&bits, &entry, sizeof bits);
            mark = (mark ^ bits) * 0x9e3779b97f4a7c15u;
            mark ^= mark >> 29;
        }
    return mark;
}

/** The norm f of what a step has moved of a covariance, with the diagonal of S; -1 where an entry moved by more than
 *  round-off. Rows of all stand n apart. */
KS_HD_COLD double KS_T(ks_steady_moved)(int nx, int n, const KS_NUM *from, const KS_NUM *to, const KS_NUM *S)
{
    const double most = KS_STEADY_MOVES * KS_EPS * KS_STEADY_MOVES * KS_EPS;
    double sum = 0;
    for (int i = 0; i < nx; ++i)
        for (int j = i; j < nx; ++j) {
            const double moved = (double)to[i * n + j] - (double)from[i * n + j];
            if (moved == 0) continue;
            /* Products of variances may be out of range. */
            const double share = (moved / (double)S[i * n + i]) * (moved / (double)S[j * n + j]);
            if (!(share <= most)) return -1;
            sum += (i == j ? 1 : 2) * share;
        }
    return sqrt(sum);
}

/** Whether P may be held: by the sum X over the closed loop whose transpose is B, rows padded. All but S and P, with rows n
 *  apart, are scratch with rows and columns padded, `old` as many numbers as a row. */
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
            /* With a quarter for what is not summed any more. */
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

/** What follows of a step from `from` to `to`, so many steps after the one that is asked; watched: `from` is there.
 *  Returns 1 where the covariance is held, -1 where ks_steady_holds() is to tell, with *moved. */
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

/** Whether the posterior `to` of a step with prediction Pp, L⁻¹ H Pp over D in Z, and Lᵀ is held at w->kept, which it comes
 *  from; see ks_steady_after(). */
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

/** The same of the smoothed covariance `to`, which comes from w->next by a step with the gain Eᵀ and the filtered
 *  covariance P, rows n apart. */
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
