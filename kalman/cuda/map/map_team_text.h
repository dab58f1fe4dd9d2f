/* map_team_text.h -- device code: a step of the MAP problem by a team of threads, in memory that the team shares; see
 * map_text.h, map_terms_text.h, num_f64.h and team.h. Rows are converted to double as they are read. A missing entry
 * keeps its place and carries no information.
 *
 * KS_STATES(nx) and KS_ENTRIES(ny) are the sizes, literal where a single thread does a segment (map_alone.h).
 * KS_REST(room, far) is where ranges and results are: in `room`, or in `far` if a single thread has too few registers
 * for them. */
#ifdef KS_ALONE_STATES
#  if KS_ALONE_STATES > 3
#    define KS_REST(room, far) (&(far))
#  endif
#  define KS_STATES(nx) ((void)(nx), KS_ALONE_STATES)
#  define KS_ENTRIES(ny) ((void)(ny), KS_ALONE_ENTRIES)
#else
#  define KS_STATES(nx) (nx)
#  define KS_ENTRIES(ny) (ny)
#endif
#ifndef KS_REST
#  define KS_REST(room, far) ((void)(far), &(room))
#endif

KS_DEVICE KS_NUM *KS_T(map_take)(KS_NUM **room, int64_t numbers)
{
    KS_NUM *const taken = *room;
    *room += numbers;
    return taken;
}

/** The matrices of a step. root, G, scaled and GH are scratch. */
struct KS_T(map_step) {
    KS_NUM *root, *G, *scaled, *GH, *sH;
    KS_NUM *F, *LD, *inverse_d, *H, *LR, *inverse_r, *R; /* L D Lᵀ of Q and R */
    KS_NUM *u, *d, *y, *there;
    KS_T(ks_map_range) range;                            /* the information of the step */
};

/** Carve a step from `room`, and its range from `rest`. */
KS_DEVICE KS_T(map_step) KS_T(map_carve_step)(int n, int m, KS_NUM **room, KS_NUM **rest)
{
    KS_T(map_step) t;
    t.root = KS_T(map_take)(room, n * n);
    t.G = KS_T(map_take)(room, n * n);
    t.scaled = KS_T(map_take)(room, n * n);
    t.GH = KS_T(map_take)(room, m * n);
    t.sH = KS_T(map_take)(room, m * n);
    t.F = KS_T(map_take)(room, n * n);
    t.LD = KS_T(map_take)(room, n * n);
    t.inverse_d = KS_T(map_take)(room, n);
    t.H = KS_T(map_take)(room, m * n);
    t.LR = KS_T(map_take)(room, m * m);
    t.R = KS_T(map_take)(room, m * m);
    t.inverse_r = KS_T(map_take)(room, m);
    t.u = KS_T(map_take)(room, n);
    t.d = KS_T(map_take)(room, m);
    t.y = KS_T(map_take)(room, m);
    t.there = KS_T(map_take)(room, m);
    t.range = KS_T(ks_map_range_at)(n, KS_T(map_take)(rest, ks_map_range_numbers(n)));
    return t;
}

/** Return number i of a row in the precision of the series. */
KS_DEVICE KS_NUM KS_T(map_entry)(bool single, const void *row, int i)
{
    return single ? (KS_NUM) static_cast<const float *>(row)[i] : static_cast<const KS_NUM *>(row)[i];
}

KS_DEVICE void KS_T(map_load)(bool single, int numbers, const void *row, KS_NUM *to)
{
    KS_TEAM_EACH(i, numbers) to[i] = KS_T(map_entry)(single, row, i);
}

KS_DEVICE void KS_T(map_put)(bool single, int numbers, const KS_NUM *from, ks_sink to, int64_t k)
{
    if (!to.base) return;
    void *const row = ks_slot_of(to, k);
    KS_TEAM_EACH(i, numbers) {
        if (single) static_cast<float *>(row)[i] = (float)from[i];
        else static_cast<KS_NUM *>(row)[i] = from[i];
    }
}

#include "map_common_text.h"

/** Sum `mine` over the threads of the team. Every thread gets the sum. W: a number for each thread. */
KS_DEVICE KS_NUM KS_T(map_team_sum)(KS_NUM mine, KS_NUM *W)
{
    KS_NUM sum = KS_LIT(0);
    ks_team_sync();
    W[ks_team_lane()] = mine;
    ks_team_sync();
    for (int i = 0; i < ks_team_lanes(); ++i) sum = sum + W[i];
    ks_team_sync();
    return sum;
}

KS_DEVICE bool KS_T(map_fault)(int64_t k, int row, ks_array array, ks_fault fault, ks_tally *tally)
{
    tally->bad_step = k;
    tally->bad_row = row;
    tally->bad_array = array;
    tally->fault = fault;
    return false;
}

#ifndef KS_ALONE_STATES
/** Compute the prior of x[0] to m.prior; see ks_map_prior(). W: the numbers of a step and 4 nx² more. Returns false on
 *  a fault. */
KS_DEVICE bool KS_T(map_prior)(const ks_map_arrays &m, KS_NUM *W, ks_tally *tally)
{
    const ks_series &s = m.a.series;
    const bool single = m.a.single;
    const int n = KS_STATES(s.nx), nn = n * n;
    KS_NUM *const LD = m.prior, *const precision = LD + nn, *const inverse_d = precision + nn;
    KS_NUM *const mean = inverse_d + n;
    KS_NUM *const A = W, *const S = A + nn, *const M = S + nn, *const V = M + 2 * nn, *const B = V + nn + 2 * n;
    ks_team_sync();
    KS_T(map_load)(single, nn, s.P0, A);
    KS_T(map_load)(single, n, s.m0, V);
    ks_team_sync();
    if (s.prior_x1) {
        const int bad = KS_T(ks_map_factor)(n, m.pivot, A, LD, inverse_d);
        if (bad >= 0) return KS_T(map_fault)(0, bad, KS_ARRAY_P0, KS_FAULT_NOT_POSITIVE, tally);
        KS_T(ks_copy)(n, V, mean);
    } else {
        KS_T(map_load)(single, n, ks_row(s.u, 0), mean);
        KS_T(map_load)(single, nn, ks_row(s.F, 0), B);
        KS_T(ks_transpose)(n, n, B, M);
        KS_T(ks_mtv_add)(n, n, M, V, mean);
        KS_T(ks_team_covariance_factor)(n, A, S, V);
        KS_T(ks_mm)(n, n, n, B, S, A);
        KS_TEAM_EACH(i, nn) M[i / n * 2 * n + i % n] = A[i];
        KS_T(map_load)(single, nn, ks_row(s.Q, 0), B);
        KS_T(ks_team_covariance_factor)(n, B, S, V);
        KS_TEAM_EACH(i, nn) M[i / n * 2 * n + n + i % n] = S[i];
        KS_T(ks_team_lq)(n, 2 * n, M, V);
        KS_TEAM_EACH(i, nn) S[i] = M[i / n * 2 * n + i % n];
        ks_team_sync();
        const int bad = KS_T(ks_map_factor_root)(n, m.pivot, S, LD, inverse_d);
        if (bad >= 0)
            return KS_T(map_fault)(0, bad, KS_ARRAY_PRIOR_COV, KS_FAULT_NOT_POSITIVE, tally);
    }
    KS_T(ks_map_unfactor)(n, LD, inverse_d, A, precision, S);
    return true;
}
#endif

/** Compute L D Lᵀ of Q and the terms a, c and b of the transition into step k, whose F is in t.F. Returns -1, or the
 *  row of Q that fails. */
KS_DEVICE int KS_T(map_transition_terms)(const ks_map_arrays &m, int64_t k, const KS_T(map_step) &t)
{
    const ks_series &s = m.a.series;
    const int n = KS_STATES(s.nx);
    KS_T(map_load)(m.a.single, n * n, ks_row(s.Q, k - s.shift), t.root);
    const int bad = KS_T(ks_map_factor)(n, m.pivot, t.root, t.LD, t.inverse_d);
    if (bad >= 0) return bad;
    ks_team_sync();
    KS_T(ks_map_unfactor)(n, t.LD, t.inverse_d, t.root, t.range.b, t.G);
    KS_T(ks_map_couple)(n, t.LD, t.inverse_d, t.root, t.F, t.G, t.scaled, t.range.a, t.range.c);
    return -1;
}

/** Compute a, c and p of t.range, and the terms of b and q, of the transition into step k, or of the prior at step 0.
 *  Returns false on a fault. */
KS_DEVICE bool KS_T(map_transition)(const ks_map_arrays &m, int64_t k, const KS_T(map_step) &t,
                                    ks_tally *tally)
{
    const ks_series &s = m.a.series;
    const bool single = m.a.single;
    const int n = KS_STATES(s.nx), nn = n * n;
    const KS_T(ks_map_range) &r = t.range;
    ks_team_sync();
    if (k == 0) {
        KS_TEAM_EACH(i, nn) {
            t.LD[i] = m.prior[i];
            r.b[i] = m.prior[nn + i];
            r.a[i] = r.c[i] = KS_LIT(0);
        }
        KS_TEAM_EACH(i, n) {
            t.inverse_d[i] = m.prior[2 * nn + i];
            t.u[i] = m.prior[2 * nn + n + i];
        }
    } else {
        KS_T(map_load)(single, nn, ks_row(s.F, k - s.shift), t.F);
        KS_T(map_load)(single, n, ks_row(s.u, k - s.shift), t.u);
        if (KS_T(map_shares)(m, KS_COMMON_TRANSITION)) {
            KS_T(map_take_transition)(m, t);
        } else {
            const int bad = KS_T(map_transition_terms)(m, k, t);
            if (bad >= 0) return KS_T(map_fault)(k, bad, KS_ARRAY_Q, KS_FAULT_NOT_POSITIVE, tally);
        }
    }
    KS_T(ks_map_zero)(n, r.q);
    KS_T(ks_map_zero)(n, r.p);
    KS_T(ks_mtv_add)(n, n, r.b, t.u, r.q);
    KS_T(ks_mtv_add)(n, n, r.c, t.u, r.p);
    return true;
}

/** Whether A (m, m) is diagonal. Only teams that are a block check; smaller teams gain little and get false. */
KS_DEVICE bool KS_T(map_diagonal)(int m, const KS_NUM *A)
{
    if (ks_team_lanes() > 32) {
        int beside = 0;
        KS_TEAM_EACH(i, m * m) beside |= i % (m + 1) != 0 && A[i] != KS_LIT(0);
        return !__syncthreads_or(beside);
    }
    return false;
}

/** ks_map_factor() of a diagonal R. */
KS_DEVICE int KS_T(map_factor_diagonal)(int m, const KS_NUM *R, KS_NUM *LR, KS_NUM *inverse_r)
{
    KS_TEAM_EACH(i, m) {
        LR[i * m + i] = R[i * m + i];
        inverse_r[i] = KS_LIT(1) / R[i * m + i];
    }
    ks_team_sync();
    for (int i = 0; i < m; ++i)
        if (!KS_GT(R[i * m + i], KS_LIT(0)) || !KS_GT(KS_LIT(KS_LARGEST), R[i * m + i])) return i;
    return -1;
}

/** Compute L D Lᵀ of t.R and D⁻¹ L⁻¹ H, and add the term of the observation by t.H to b. Returns -1, or the row of R
 *  that fails. */
KS_DEVICE int KS_T(map_observation_terms)(const ks_map_arrays &m, const KS_T(map_step) &t, bool *diagonal)
{
    const int n = KS_STATES(m.a.series.nx), ny = KS_ENTRIES(m.a.series.ny);
    *diagonal = KS_T(map_diagonal)(ny, t.R);
    const int bad = *diagonal ? KS_T(map_factor_diagonal)(ny, t.R, t.LR, t.inverse_r)
                              : KS_T(ks_map_factor)(ny, m.pivot, t.R, t.LR, t.inverse_r);
    if (bad >= 0) return bad;
    if (*diagonal) {
        KS_T(ks_scale_rows)(ny, n, t.H, t.inverse_r, t.sH);
        KS_T(ks_mtm_add)(n, ny, n, t.H, t.sH, t.range.b);
    } else {
        KS_T(ks_map_inform)(ny, n, t.LR, t.inverse_r, t.H, t.GH, t.sH, t.range.b);
    }
    return -1;
}

/** Add the observation of step k to b and q of t.range. Returns the number of entries present, or -1 on a fault.
 *  *diagonal: R is known to be diagonal; then L is the identity, and only the diagonal of t.LR is set. */
KS_DEVICE int KS_T(map_observation)(const ks_map_arrays &m, int64_t k, const KS_T(map_step) &t,
                                    ks_tally *tally, bool *diagonal)
{
    const ks_series &s = m.a.series;
    const bool single = m.a.single;
    const int n = KS_STATES(s.nx), ny = KS_ENTRIES(s.ny);
    int infinite = -1, missing = 0;
    ks_team_sync();
    KS_T(map_load)(single, ny, ks_row(s.y, k), t.y);
    KS_T(map_load)(single, ny, ks_row(s.d, k), t.d);
    ks_team_sync();
    for (int i = 0; i < ny; ++i) {
        missing += !(t.y[i] == t.y[i]);
        if (t.y[i] == t.y[i] && !(t.y[i] - t.y[i] == KS_LIT(0))) infinite = i;
    }
    if (infinite >= 0) {
        (void)KS_T(map_fault)(k, infinite, KS_ARRAY_Y, KS_FAULT_NOT_FINITE, tally);
        return -1;
    }
    tally->missing += missing;
    KS_TEAM_EACH(i, ny) t.there[i] = KS_LIT(t.y[i] == t.y[i]);
    ks_team_sync();
    KS_TEAM_EACH(i, ny * n)
        t.H[i] = t.there[i / n] != KS_LIT(0) ? KS_T(map_entry)(single, ks_row(s.H, k), i) : KS_LIT(0);
    KS_TEAM_EACH(i, ny * ny)
        t.R[i] = t.there[i / ny] != KS_LIT(0) && t.there[i % ny] != KS_LIT(0)
                     ? KS_T(map_entry)(single, ks_row(s.R, k), i)
                     : KS_LIT(i % (ny + 1) == 0);
    KS_TEAM_EACH(i, ny)
        t.y[i] = t.there[i] != KS_LIT(0) ? t.y[i] - t.d[i] : KS_LIT(0);
    if (missing == ny) {
        ks_team_sync();
        return 0;
    }
    ks_team_sync();
    if (k > 0 && missing == 0 && KS_T(map_shares)(m, KS_COMMON_OBSERVATION)) {
        *diagonal = KS_T(map_take_observation)(m, t);
    } else {
        const int bad = KS_T(map_observation_terms)(m, t, diagonal);
        if (bad >= 0) {
            (void)KS_T(map_fault)(k, bad, KS_ARRAY_R, KS_FAULT_NOT_POSITIVE, tally);
            return -1;
        }
    }
    KS_T(ks_copy)(ny, t.y, t.d);
    if (!*diagonal) KS_T(ks_ldl_forward)(ny, 1, t.LR, t.d);
    KS_T(ks_mtv_add)(ny, n, t.sH, t.d, t.range.q);
    return ny - missing;
}

#ifndef KS_ALONE_STATES
/** Store the terms that are the same at all steps in m.shared. If the model varies or a covariance fails, every step
 *  computes its own terms, and reports the fault. room: the numbers of a step. */
KS_DEVICE void KS_T(map_share)(const ks_map_arrays &m, KS_NUM *room)
{
    const ks_series &s = m.a.series;
    const int n = KS_STATES(s.nx), ny = KS_ENTRIES(s.ny);
    const KS_T(map_step) t = KS_T(map_carve_step)(n, ny, &room, &room);
    bool transition = s.steps > 1 && !s.F.stride && !s.Q.stride, diagonal = false;
    ks_team_sync();
    if (transition) {
        KS_T(map_load)(m.a.single, n * n, ks_row(s.F, 1 - s.shift), t.F);
        transition = KS_T(map_transition_terms)(m, 1, t) < 0;
    }
    if (transition) KS_T(map_keep_transition)(m, t);
    bool observation = transition && !s.H.stride && !s.R.stride;
    if (observation) {
        KS_T(map_load)(m.a.single, ny * n, ks_row(s.H, 0), t.H);
        KS_T(map_load)(m.a.single, ny * ny, ks_row(s.R, 0), t.R);
        ks_team_sync();
        observation = KS_T(map_observation_terms)(m, t, &diagonal) < 0;
    }
    if (observation) KS_T(map_keep_observation)(m, t);
    if (ks_team_lane() == 0) {
        m.shared[KS_COMMON_TRANSITION] = KS_LIT(transition);
        m.shared[KS_COMMON_OBSERVATION] = KS_LIT(observation);
        m.shared[KS_COMMON_DIAGONAL] = KS_LIT(diagonal);
    }
}
#endif

/** Replace the right-hand sides of the model by those of g.side, if given. */
KS_DEVICE void KS_T(map_side)(const ks_map_args &g, int64_t k, const KS_T(map_step) &t)
{
    if (!g.side) return;
    ks_team_sync();
    const int n = KS_STATES(g.m.a.series.nx);
    KS_TEAM_EACH(i, n) {
        t.range.q[i] = g.side[k * n + i];
        t.range.p[i] = KS_LIT(0);
    }
    ks_team_sync();
}

/** Compute the range of step k. Returns false on a fault. */
KS_DEVICE bool KS_T(map_whole_step)(const ks_map_args &g, int64_t k, const KS_T(map_step) &t,
                                    ks_tally *tally)
{
    bool diagonal = false;
    if (!KS_T(map_transition)(g.m, k, t, tally) ||
        KS_T(map_observation)(g.m, k, t, tally, &diagonal) < 0)
        return false;
    KS_T(map_side)(g, k, t);
    return true;
}

/** Return the end of the steps of a piece of work. */
KS_DEVICE int64_t KS_T(map_end)(const ks_map_args &g, int64_t piece)
{
    const int64_t end = (piece + 1) * g.size, T = g.m.a.series.steps;
    return end < T ? end : T;
}

/** Assemble the blocks and right-hand sides of a piece's steps for a solver. Returns false on a fault. */
KS_DEVICE bool KS_T(map_assemble)(const ks_map_args &g, int64_t piece, KS_NUM *room, ks_tally *tally)
{
    const ks_map_arrays &m = g.m;
    const int64_t T = m.a.series.steps, first = piece * g.size, end = KS_T(map_end)(g, piece);
    const int n = KS_STATES(m.a.series.nx);
    const KS_T(map_step) t = KS_T(map_carve_step)(n, KS_ENTRIES(m.a.series.ny), &room, &room);
    bool diagonal = false;
    for (int64_t k = first; k <= end && k < T; ++k) {
        if (!KS_T(map_transition)(m, k, t, tally)) return false;
        if (k > first) {
            KS_NUM *const D = static_cast<KS_NUM *>(ks_slot_of(m.D, k - 1));
            KS_NUM *const L = static_cast<KS_NUM *>(ks_slot_of(m.L, k - 1));
            KS_NUM *const x = static_cast<KS_NUM *>(ks_slot_of(m.x, k - 1));
            KS_TEAM_EACH(i, n * n) {
                D[i] = D[i] + t.range.a[i];
                L[i] = t.range.c[i];
                if (i % (n + 1) == 0) m.diagonal[(k - 1) * n + i / n] = D[i];
            }
            KS_TEAM_EACH(i, n) x[i] = x[i] + t.range.p[i];
        }
        if (k == end) break;
        if (KS_T(map_observation)(m, k, t, tally, &diagonal) < 0) return false;
        KS_NUM *const D = static_cast<KS_NUM *>(ks_slot_of(m.D, k));
        KS_NUM *const x = static_cast<KS_NUM *>(ks_slot_of(m.x, k));
        KS_TEAM_EACH(i, n * n) {
            D[i] = t.range.b[i];
            if (i % (n + 1) == 0) m.diagonal[k * n + i / n] = D[i];
        }
        KS_TEAM_EACH(i, n) x[i] = t.range.q[i];
    }
    return true;
}
