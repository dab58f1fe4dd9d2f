/* limit.c -- from an estimate with the reference to that with the flat prior: the limit for kappa -> infinity.
 *
 * Let beta = M delta be what is told of delta, with the rows M of U, and alpha = N delta what is not. Where the
 * reference is a priori N(0, I) for eta, it is so for G eta, with M diag(width) = R G, and the observations tell
 * nothing else. With C = Cov(G eta) and g = E(G eta) given the observations, dividing by that density multiplies the
 * posterior by exp(|G eta|^2 / 2). This leaves
 *
 *     E(x)   += Cov(x, G eta) (I - C)^-1 g
 *     Cov(x) += Cov(x, G eta) (I - C)^-1 Cov(G eta, x)
 *     loglik += -1/2 log det(I - C) + 1/2 g' (I - C)^-1 g + log det R
 *
 * Nothing is subtracted but in I - C. A priori alpha is N(0, kappa I), independent of beta, and it is x that moves with
 * it by the rows of X: limits of means are those at alpha = 0, finite parts of covariances those of x - X' alpha. */
#include "start.h"
#include "dense.h"

/* Least pivot of I - C, beside the diagonal entry it comes from and beside 1, that has digits left. */
#define LEAST_LEFT 0x1p-33

void ks_limit_carve(ks_carver *carver, const ks_start *start, ks_limit *limit)
{
    const size_t n = (size_t)start->n, d = (size_t)start->d, one = sizeof(double);
    limit->mean = ks_carve(carver, n, one);
    limit->cov = ks_carve(carver, n * n, one);
    limit->told_mean = ks_carve(carver, d, one);
    limit->told_cov = ks_carve(carver, d * d, one);
    limit->G = ks_carve(carver, d * d, one);
    limit->R = ks_carve(carver, d * d, one);
    limit->held = ks_carve(carver, n * d, one);
    limit->rest = ks_carve(carver, d * d + d, one);
    limit->scratch = ks_carve(carver, 3 * n * d + 2 * d * d + d + n, one);
}

/* M diag(width) = R G by Gram-Schmidt, twice for each row. */
static void told_rows(ks_limit *limit, const ks_start *start, const ks_unknown *unknown)
{
    const int d = start->d, r = d - unknown->q;
    for (int i = 0; i < r; ++i)
        for (int c = 0; c < d; ++c) limit->G[i * d + c] = unknown->U[(unknown->q + i) * d + c] * start->width[c];
    memset(limit->R, 0, (size_t)r * (size_t)r * sizeof *limit->R);
    for (int i = 0; i < r; ++i) {
        double *g = limit->G + i * d, *R = limit->R + i * r;
        for (int twice = 0; twice < 2; ++twice)
            for (int j = 0; j < i; ++j) {
                const double share = ks_dot(d, g, limit->G + j * d);
                R[j] += share;
                for (int c = 0; c < d; ++c) g[c] -= share * limit->G[j * d + c];
            }
        R[i] = sqrt(ks_dot(d, g, g));
        for (int c = 0; c < d; ++c) g[c] /= R[i];
    }
}

/* x <- x - X' alpha in mean, cov and held = Cov(x, eta), of which (n, d) numbers are used. C = Cov(eta) (d, d). */
static void leave_untold(ks_limit *limit, const ks_start *start, const ks_unknown *unknown, const double *eta,
                         const double *C, double *held)
{
    const int n = start->n, d = start->d, q = unknown->q;
    double *wide = limit->scratch, *E = wide + d * d, *before = E + n * d;
    for (int c = 0; c < q; ++c) {
        for (int e = 0; e < d; ++e) wide[c * d + e] = unknown->U[c * d + e] * start->width[e];
        const double alpha = ks_dot(d, unknown->U + c * d, start->centre) + ks_dot(d, wide + c * d, eta);
        for (int i = 0; i < n; ++i) limit->mean[i] -= unknown->X[c * n + i] * alpha;
    }
    memset(E, 0, (size_t)n * (size_t)d * sizeof *E);
    ks_mtm_add_f64(n, q, d, unknown->X, wide, E);
    ks_copy_f64(n * d, held, before);
    for (int i = 0; i < n; ++i)
        for (int c = 0; c < d; ++c) held[i * d + c] -= ks_dot(d, E + i * d, C + c * d);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j)
            limit->cov[i * n + j] -= ks_dot(d, E + i * d, before + j * d) + ks_dot(d, held + i * d, E + j * d);
}

/* Divide by the reference's density of G eta. */
static int leave_reference(ks_limit *limit, const ks_start *start)
{
    const int n = start->n, r = limit->known, width = n + 1;
    double *K = limit->rest, *inverse = K + r * r, *B = limit->scratch;
    for (int i = 0; i < r; ++i)
        for (int j = 0; j < r; ++j) K[i * r + j] = (i == j) - limit->told_cov[i * r + j];
    for (int i = 0; i < r; ++i)
        if (!(K[i * r + i] > LEAST_LEFT)) return -1;
    if (!ks_ldl_f64(r, LEAST_LEFT, K, inverse)) return -1;
    for (int c = 0; c < r; ++c) {
        for (int i = 0; i < n; ++i) B[c * width + i] = limit->held[i * r + c];
        B[c * width + n] = limit->told_mean[c];
    }
    ks_ldl_forward_f64(r, width, K, B);
    for (int c = 0; c < r; ++c) {
        const double *b = B + c * width, g = b[n] * inverse[c];
        limit->evidence += 0.5 * (log(inverse[c]) + b[n] * g) + log(limit->R[c * r + c]);
        for (int i = 0; i < n; ++i) {
            const double left = b[i] * inverse[c];
            limit->mean[i] += b[i] * g;
            for (int j = 0; j <= i; ++j) limit->cov[i * n + j] += left * b[j];
        }
    }
    return 0;
}

int ks_limit_find(ks_limit *limit, const ks_start *start, const ks_unknown *unknown, const double *mean,
                  const double *cov)
{
    const int n = start->n, d = start->d, N = start->N, r = d - unknown->q;
    double *C = limit->rest, *held = limit->scratch + d * d + 2 * n * d, *rows = limit->scratch;
    limit->evidence = 0;
    limit->known = r;
    ks_copy_f64(n, mean, limit->mean);
    for (int i = 0; i < n; ++i) {
        ks_copy_f64(i + 1, cov + i * N, limit->cov + i * n);
        ks_copy_f64(d, cov + i * N + n, held + i * d);
    }
    for (int c = 0; c < d; ++c) ks_copy_f64(d, cov + (n + c) * N + n, C + c * d);
    if (unknown->q > 0) leave_untold(limit, start, unknown, mean + n, C, held);
    told_rows(limit, start, unknown);
    for (int c = 0; c < r; ++c) limit->told_mean[c] = ks_dot(d, limit->G + c * d, mean + n);
    ks_mmt(n, d, r, held, limit->G, limit->held);
    ks_mmt(d, d, r, C, limit->G, rows);
    ks_mm_f64(r, d, r, limit->G, rows, limit->told_cov);
    const int failed = leave_reference(limit, start);
    ks_mirror_f64(n, limit->cov);
    return failed;
}

int ks_limit_look(const ks_limit *limit, const ks_unknown *unknown, int m, const double *H, int apart, double *scratch,
                  double *cov)
{
    const int n = unknown->n, q = unknown->q;
    double *HP = scratch, *along = HP + m * n;
    int numbers = 1;
    for (int i = 0; i < m; ++i) {
        const double *h = H + i * apart;
        const int reaches = ks_unknown_reaches(unknown, h);
        for (int c = 0; c < q; ++c) along[i * q + c] = reaches ? ks_dot(n, h, unknown->X + c * n) : 0;
        for (int j = 0; j < n; ++j) HP[i * n + j] = ks_dot(n, h, limit->cov + j * n);
    }
    for (int i = 0; i < m; ++i)
        for (int j = 0; j <= i; ++j) {
            const double endless = ks_unknown_entry(unknown, along + i * q, along + j * q, 1);
            const double part = ks_dot(n, HP + i * n, H + j * apart);
            numbers &= fabs(part) <= DBL_MAX;
            cov[i * m + j] = cov[j * m + i] = endless != 0 ? endless : part;
        }
    return numbers;
}
