// ks_bt_factor.cu -- a level of the Cholesky factorization by nested dissection, in one kernel.
//
// P lanes work on a block. They subtract what the eliminations of the previous level left for it, two products W W'.
// The block that needs a term subtracts it, so no sum has several writers. If the block is eliminated, the lanes factor
// it, solve for both couplings in the same sweep over the columns, and compute the coupling of its neighbours. A lane
// holds its rows of D and of both couplings in registers. Columns pass through shared memory, and one read serves all
// three. A right-hand side is one more number of each lane.
#include "lanes.cuh"

// D <- D - W W', b <- b - W y, with W in tile `which`; y is this lane's number.
template <class T, int P, bool CARRY>
KS_DEVICE void ks_bt_absorb(const ks_bt_lanes<T, P> &g, int which, T y, T (&D)[P], T &b)
{
    constexpr int V = ks_bt_pack<T>::size;
    const T *const W = g.tile[which];
    for (int p = 0; p < P; ++p) {
        const T own = W[p * P + g.lane];
#pragma unroll
        for (int j = 0; j < P; j += V) {
            const ks_bt_pack<T> w = ks_bt_read(W + p * P + j);
#pragma unroll
            for (int e = 0; e < V; ++e) D[j + e] -= own * w.v[e];
        }
        if (CARRY) b -= own * ks_bt_from<T, P>(g, y, p);
    }
}

// Copy a (P, P) array to a tile, asynchronously.
template <class T, int P> KS_DEVICE void ks_bt_fetch(const ks_bt_lanes<T, P> &g, int which, const T *from)
{
    constexpr int V = ks_bt_pack<T>::size;
    for (int i = g.lane * V; i < P * P; i += P * V) ks_async_copy(g.tile[which] + i, from + i, 16);
}

// Load the block at this level: row `lane` of D in its lower triangle, and the right-hand side.
template <class T, int P, bool CARRY>
KS_DEVICE void ks_bt_gather(const ks_bt_lanes<T, P> &g, const ks_bt_level_args &args,
                            const ks_bt_task &t, T (&D)[P], T &b)
{
    const int n = args.n;
    b = T(0);
    if (CARRY && g.lane < n)
        b = t.level > 1 ? ks_bt_block<T>(args.x, t.system, t.k)[g.lane]
                        : ks_bt_block<const T>(args.b, t.system, t.k)[g.lane];
    if (t.level > 1) {
        const T *const kept = ks_bt_array<T, P>(args, t.system, t.k, 0);
#pragma unroll
        for (int p = 0; p < P; ++p) D[p] = p <= g.lane ? kept[p * P + g.lane] : T(0);
    } else {
        ks_bt_load_rows<T, P>(g, ks_bt_block<const T>(args.D, t.system, t.k), n, true, D);
#pragma unroll
        for (int p = 0; p < P; ++p)
            if (p == g.lane && p >= n) D[p] = T(1);
    }
    if (t.level == 0) return;
    // All lanes have read tile 0 before it is filled again.
    const int before = t.k - t.reach / 2, behind = t.k + t.reach / 2;
    const bool both = behind < args.N;
    ks_bt_fetch<T, P>(g, 0, ks_bt_array<T, P>(args, t.system, before, 2));
    ks_async_commit();
    if (both) ks_bt_fetch<T, P>(g, 1, ks_bt_array<T, P>(args, t.system, behind, 1));
    ks_async_commit();
    T y0 = T(0), y1 = T(0);
    if (CARRY && g.lane < n) {
        y0 = ks_bt_block<T>(args.x, t.system, before)[g.lane];
        if (both) y1 = ks_bt_block<T>(args.x, t.system, behind)[g.lane];
    }
    ks_async_wait(1);
    ks_bt_sync(g);
    ks_bt_absorb<T, P, CARRY>(g, 0, y0, D, b);
    ks_async_wait(0);
    ks_bt_sync(g);
    if (both) ks_bt_absorb<T, P, CARRY>(g, 1, y1, D, b);
    ks_bt_sync(g);
}

// Load row `lane` of the coupling with the block before (side 1) or behind (side 2); zero if there is none.
template <class T, int P>
KS_DEVICE void ks_bt_coupling(const ks_bt_lanes<T, P> &g, const ks_bt_level_args &args,
                              const ks_bt_task &t, int side, bool there, T (&A)[P])
{
    if (!there) {
#pragma unroll
        for (int p = 0; p < P; ++p) A[p] = T(0);
    } else if (t.level > 0) {
        ks_bt_load_columns<T, P>(g, ks_bt_array<T, P>(args, t.system, t.k, side), P, A);
    } else if (side == 1) {
        ks_bt_load_columns<T, P>(g, ks_bt_block<const T>(args.L, t.system, t.k - 1), args.n, A);
    } else {
        ks_bt_load_rows<T, P>(g, ks_bt_block<const T>(args.L, t.system, t.k), args.n, false, A);
    }
}

// L L' = D, b <- L^-1 b, A L^-T to tile 0 and B L^-T to tile 1, column by column. WHOLE: see ks_bt_sync().
template <class T, int P, bool CARRY, bool WHOLE>
KS_DEVICE int ks_bt_sweep(const ks_bt_lanes<T, P> &g, T (&D)[P], T (&A)[P], T (&B)[P], T &b, T *L)
{
    constexpr int V = ks_bt_pack<T>::size;
    int failed = P;
#pragma unroll
    for (int p = 0; p < P; ++p) {
        const T pivot = ks_bt_from<T, P, WHOLE>(g, D[p], p);
        if (!(pivot > T(0) && pivot < T(INFINITY)) && failed == P) failed = p;
        const T inverse = ks_bt_rsqrt(pivot), l = D[p] * inverse;
        T *const column = g.column + p % 2 * P;
        column[g.lane] = l;
        if (g.lane >= p) L[p * P + g.lane] = g.lane == p ? inverse : l;
        A[p] *= inverse;
        B[p] *= inverse;
        g.tile[0][p * P + g.lane] = A[p];
        g.tile[1][p * P + g.lane] = B[p];
        if (CARRY) {
            const T y = ks_bt_from<T, P, WHOLE>(g, b, p) * inverse;
            if (g.lane == p) b = y;
            if (g.lane > p) b -= l * y;
        }
        ks_bt_sync<T, P, WHOLE>(g);
#pragma unroll
        for (int j = (p + 1) / V * V; j < P; j += V) {
            const ks_bt_pack<T> c = ks_bt_read(column + j);
#pragma unroll
            for (int e = 0; e < V; ++e)
                if (j + e > p) {
                    D[j + e] -= l * c.v[e];
                    A[j + e] -= A[p] * c.v[e];
                    B[j + e] -= B[p] * c.v[e];
                }
        }
    }
    return failed;
}

template <class T, int P>
KS_DEVICE void ks_bt_store(const ks_bt_lanes<T, P> &g, int which, T *to)
{
    for (int i = g.lane; i < P * P; i += P) to[i] = g.tile[which][i];
}

// The coupling that the elimination leaves between the neighbours: -A B' of tiles 0 and 1.
template <class T, int P> KS_DEVICE void ks_bt_fill(const ks_bt_lanes<T, P> &g, T *to)
{
    constexpr int V = ks_bt_pack<T>::size;
    T F[P];
#pragma unroll
    for (int j = 0; j < P; ++j) F[j] = T(0);
    for (int p = 0; p < P; ++p) {
        const T own = g.tile[0][p * P + g.lane];
#pragma unroll
        for (int j = 0; j < P; j += V) {
            const ks_bt_pack<T> w = ks_bt_read(g.tile[1] + p * P + j);
#pragma unroll
            for (int e = 0; e < V; ++e) F[j + e] -= own * w.v[e];
        }
    }
#pragma unroll
    for (int j = 0; j < P; ++j) to[j * P + g.lane] = F[j];
}

// WHOLES: a copy of the sweep is for whole warps.
template <class T, int P, bool CARRY, bool WHOLES>
KS_DEVICE void ks_bt_factor_block(const ks_bt_lanes<T, P> &g, const ks_bt_level_args &args,
                                  const ks_bt_task &t)
{
    T D[P], A[P], B[P], b;
    T *const L = ks_bt_array<T, P>(args, t.system, t.k, 0);
    ks_bt_gather<T, P, CARRY>(g, args, t, D, b);
    if (t.eliminated) {
        const int before = t.k - t.reach, behind = t.k + t.reach;
        const bool has_before = before >= 0, has_behind = behind < args.N;
        // The neighbour that is eliminated next stores the new coupling. Its columns are the columns of that block, so
        // the lanes are the rows of the other neighbour, which must be A.
        const bool before_next = has_before && ((before + 1) / (2 * t.reach)) % 2 == 1;
        const int side = before_next ? 2 : 1; // of A; B is the other
        ks_bt_coupling<T, P>(g, args, t, side, before_next ? has_behind : has_before, A);
        ks_bt_coupling<T, P>(g, args, t, 3 - side, before_next ? has_before : has_behind, B);
        const int failed = P == 32 || (WHOLES && ks_whole_warp()) ? ks_bt_sweep<T, P, CARRY, true>(g, D, A, B, b, L)
                                                                    : ks_bt_sweep<T, P, CARRY, false>(g, D, A, B, b, L);
        if (failed < P && g.lane == 0)
            atomicMin(args.failure + t.system, KS_BT_FAILURE_KEY(t.level, t.k, failed));
        ks_bt_store<T, P>(g, 0, L + side * (P * P));
        ks_bt_store<T, P>(g, 1, L + (3 - side) * (P * P));
        if (has_before && has_behind)
            ks_bt_fill<T, P>(g, before_next ? ks_bt_array<T, P>(args, t.system, before, 2)
                                            : ks_bt_array<T, P>(args, t.system, behind, 1));
        ks_bt_sync(g);
    } else {
#pragma unroll
        for (int p = 0; p < P; ++p)
            if (p <= g.lane) L[p * P + g.lane] = D[p];
    }
    if (CARRY && g.lane < args.n) ks_bt_block<T>(args.x, t.system, t.k)[g.lane] = b;
}

// Where a second copy of the sweep would spill, there is none.
#define FACTOR(name, T, P, carry, blocks, wholes)                                                          \
    KS_KERNEL_BOUNDS(name, ks_bt_level_args, KS_BT_THREADS, blocks)                                        \
    {                                                                                                      \
        const ks_bt_lanes<T, P> g = ks_bt_lanes_here<T, P, true>();                                        \
        ks_bt_walk<P>(args, true, false, 1,                                                                \
                      [&](const ks_bt_task &t) { ks_bt_factor_block<T, P, carry, wholes>(g, args, t); }); \
    }

FACTOR(ks_bt_factor_4_f64, double, 4, false, 7, true)
FACTOR(ks_bt_factor_8_f64, double, 8, false, 5, true)
FACTOR(ks_bt_factor_16_f64, double, 16, false, 2, true)
FACTOR(ks_bt_factor_32_f64, double, 32, false, 2, true)
FACTOR(ks_bt_factor_4_f32, float, 4, false, 7, true)
FACTOR(ks_bt_factor_8_f32, float, 8, false, 6, true)
FACTOR(ks_bt_factor_16_f32, float, 16, false, 3, false)
FACTOR(ks_bt_factor_32_f32, float, 32, false, 3, true)
FACTOR(ks_bt_carry_4_f64, double, 4, true, 7, true)
FACTOR(ks_bt_carry_8_f64, double, 8, true, 4, false)
FACTOR(ks_bt_carry_16_f64, double, 16, true, 2, true)
FACTOR(ks_bt_carry_32_f64, double, 32, true, 2, true)
FACTOR(ks_bt_carry_4_f32, float, 4, true, 7, true)
FACTOR(ks_bt_carry_8_f32, float, 8, true, 6, true)
FACTOR(ks_bt_carry_16_f32, float, 16, true, 3, true)
FACTOR(ks_bt_carry_32_f32, float, 32, true, 3, true)
