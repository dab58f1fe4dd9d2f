/* team_array_text.h -- device code: square roots and orthogonal triangularisation of array_text.h by a team of threads,
 * like team_smallmat_text.h. Each thread does rows of its own. Every thread computes pivots and norms itself. */

/** ks_covariance_factor() by a team. W: n * n + n numbers. */
KS_DEVICE void KS_T(ks_team_covariance_factor)(int n, const KS_NUM *A, KS_NUM *S, KS_NUM *W)
{
    KS_NUM *const R = W, *const used = W + n * n;
    KS_NUM trace = KS_LIT(0);
    ks_team_sync();
    KS_TEAM_EACH(i, n * n) {
        R[i] = A[i];
        S[i] = KS_LIT(0);
    }
    KS_TEAM_EACH(i, n) used[i] = KS_LIT(0);
    for (int c = 0; c < n; ++c) {
        int p = -1;
        KS_NUM best = KS_LIT(4 * n * KS_EPS);
        ks_team_sync();
        for (int i = 0; i < n; ++i) {
            if (KS_GT(used[i], KS_LIT(0)) || !KS_GT(A[i * n + i], KS_LIT(0))) continue;
            const KS_NUM share = R[i * n + i] / A[i * n + i];
            if (KS_GT(share, best)) {
                best = share;
                p = i;
            }
        }
        if (p < 0) break;
        const KS_NUM root = KS_SQRT(R[p * n + p]);
        ks_team_sync();
        KS_TEAM_EACH(i, n) {
            if (i == p) {
                S[i * n + c] = root;
                used[i] = KS_LIT(1);
            } else if (!KS_GT(used[i], KS_LIT(0))) {
                S[i * n + c] = (i > p ? R[i * n + p] : R[p * n + i]) / root;
            }
        }
        ks_team_sync();
        KS_TEAM_EACH(i, n)
            for (int j = 0; j <= i && !KS_GT(used[i], KS_LIT(0)); ++j)
                if (!KS_GT(used[j], KS_LIT(0)))
                    R[i * n + j] = R[i * n + j] - S[i * n + c] * S[j * n + c];
    }
    for (int i = 0; i < n; ++i) trace = trace + A[i * n + i];
    ks_team_sync();
    for (int i = 0; i < n; ++i) {
        const KS_NUM a = A[i * n + i];
        if (KS_GT(KS_LIT(1), a - a) && !KS_GT(KS_LIT(-1e-4) * trace, a)) continue;
        KS_TEAM_EACH(c, n) S[c * n + c] = KS_LIT(NAN);
    }
    ks_team_sync();
}

/** ks_lq() by a team: M (rows, columns) <- [L 0]. V: `columns` numbers. */
KS_DEVICE void KS_T(ks_team_lq)(int rows, int columns, KS_NUM *M, KS_NUM *V)
{
    for (int p = 0; p < rows && p < columns; ++p) {
        KS_NUM *const m = M + (int64_t)p * columns;
        KS_NUM scale = KS_LIT(0), sum = KS_LIT(0);
        ks_team_sync();
        for (int c = p; c < columns; ++c) {
            const KS_NUM a = KS_GT(m[c], KS_LIT(0)) ? m[c] : -m[c];
            if (KS_GT(a, scale)) scale = a;
        }
        if (!KS_GT(scale, KS_LIT(0))) continue;
        for (int c = p; c < columns; ++c) sum = sum + (m[c] / scale) * (m[c] / scale);
        const KS_NUM norm = KS_SQRT(sum), head = m[p] / scale;
        const bool negative = KS_GT(KS_LIT(0), head);
        const KS_NUM first = negative ? head - norm : head + norm;
        const KS_NUM beta = KS_LIT(1) / (norm * (negative ? -first : first));
        KS_TEAM_EACH(c, columns - p) V[p + c] = c > 0 ? m[p + c] / scale : first;
        ks_team_sync();
        KS_TEAM_EACH(below, rows - p - 1) {
            KS_NUM *const x = M + (int64_t)(p + 1 + below) * columns;
            KS_NUM dot = KS_LIT(0);
            for (int c = p; c < columns; ++c) dot = dot + x[c] * V[c];
            dot = dot * beta;
            for (int c = p; c < columns; ++c) x[c] = x[c] - dot * V[c];
            if (!negative) x[p] = -x[p];
        }
        KS_TEAM_EACH(c, columns - p) m[p + c] = c > 0 ? KS_LIT(0) : norm * scale;
    }
    ks_team_sync();
}
