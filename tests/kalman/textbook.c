/* textbook.c -- see textbook.h. */
#include "textbook.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "models.h"

typedef long double real;
enum { MOST = 48 };

/** C (m, n) = A (m, k) B (k, n); with `bt` B is given transposed, (n, k). Four sums go side by side: one alone would wait for
 *  itself. */
static void mul(int m, int k, int n, const real *A, const real *B, int bt, real *C)
{
    const int along = bt ? 1 : n, across = bt ? k : 1;
    for (int i = 0; i < m; ++i) {
        int j = 0;
        for (; j + 4 <= n; j += 4) {
            const real *a = A + i * k, *b = B + j * across;
            real s[4] = { 0 };
            for (int l = 0; l < k; ++l, b += along) {
                s[0] += a[l] * b[0];
                s[1] += a[l] * b[across];
                s[2] += a[l] * b[2 * across];
                s[3] += a[l] * b[3 * across];
            }
            memcpy(C + i * n + j, s, sizeof s);
        }
        for (; j < n; ++j) {
            real s = 0;
            for (int l = 0; l < k; ++l) s += A[i * k + l] * B[l * along + j * across];
            C[i * n + j] = s;
        }
    }
}

/** P (n, n) <- A P A' + G W G' with G (n, m), W (m, m); G NULL: the identity. */
static void propagate(int n, const real *A, real *P, int m, const real *G, const real *W)
{
    real T[MOST * MOST], X[MOST * MOST], GW[MOST * MOST];
    const real *Y = W;
    mul(n, n, n, A, P, 0, T);
    mul(n, n, n, T, A, 1, X);
    if (G) {
        mul(n, m, m, G, W, 0, T);
        mul(n, m, n, T, G, 1, GW);
        Y = GW;
    }
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j)
            P[i * n + j] = P[j * n + i] =
                (X[i * n + j] + X[j * n + i]) / 2 + (Y[i * n + j] + Y[j * n + i]) / 2;
}

/** Lower Cholesky factor of S (m, m) in place; the upper triangle is left. */
static void cholesky(int m, real *S)
{
    for (int j = 0; j < m; ++j)
        for (int i = j; i < m; ++i) {
            real s = S[i * m + j];
            for (int l = 0; l < j; ++l) s -= S[i * m + l] * S[j * m + l];
            S[i * m + j] = i == j ? sqrtl(s) : s / S[j * m + j];
        }
}

/** B (m, columns) <- L^-1 B. */
static void forward(int m, const real *L, int columns, real *B)
{
    for (int i = 0; i < m; ++i)
        for (int c = 0; c < columns; ++c) {
            real s = B[i * columns + c];
            for (int l = 0; l < i; ++l) s -= L[i * m + l] * B[l * columns + c];
            B[i * columns + c] = s / L[i * m + i];
        }
}

/** What the forward pass leaves to the backward one. */
typedef struct step {
    real *F, *xp, *Pp; /* F leads into the step */
    real *A;           /* I - K H               */
    real *r, *N;       /* H' S^-1 v, H' S^-1 H  */
} step;

/** Steps with matrices of n rows, which are all in one piece. */
static step *steps_new(int64_t T, int n, real **numbers)
{
    const size_t each = (size_t)(4 * n * n + 2 * n);
    step *steps = zeroed((size_t)T, sizeof *steps);
    real *at = *numbers = zeroed((size_t)T * each, sizeof *at);
    for (int64_t k = 0; k < T; ++k, at += each) {
        real *const matrices = at + 2 * n;
        steps[k] = (step){ .xp = at, .r = at + n, .F = matrices, .Pp = matrices + n * n,
                           .A = matrices + 2 * n * n, .N = matrices + 3 * n * n };
    }
    return steps;
}

static void load(const golden_input *in, int64_t b, int64_t k, int numbers, real *to)
{
    for (int i = 0; i < numbers; ++i) to[i] = in->f64 ? (real)model_block(in, b, k)[i] : 0;
}

static void store(golden *g, ks_output output, int64_t b, int64_t k, int numbers, const real *from)
{
    const int i = output == 0 ? 0 : __builtin_ctz(output);
    const int scalar = output == KS_OUT_LOGLIK || output == KS_OUT_PRIOR_MEAN ||
                       output == KS_OUT_PRIOR_COV;
    const int64_t steps = scalar ? 1 : g->T;
    double **array = &g->expected.array[i];
    if (!*array) *array = zeroed((size_t)(g->B * steps * numbers), sizeof **array);
    for (int j = 0; j < numbers; ++j) (*array)[(b * steps + k) * numbers + j] = (double)from[j];
}

static void store_cov(golden *g, ks_output full, ks_output diagonal, int64_t b, int64_t k,
                      const real *P)
{
    real d[MOST];
    for (int i = 0; i < g->nx; ++i) d[i] = P[i * g->nx + i];
    store(g, full, b, k, g->nx * g->nx, P);
    store(g, diagonal, b, k, g->nx, d);
}

/** The entries present at step k: their indices, number returned. */
static int present(const golden *g, int64_t b, int64_t k, int *index)
{
    const double *y = model_block(&g->y, b, k);
    int m = 0;
    for (int i = 0; i < g->ny; ++i)
        if (!isnan(y[i])) index[m++] = i;
    return m;
}

static void store_innovation(golden *g, int64_t b, int64_t k, int m, const int *index,
                             const real *v, const real *S, const real *w)
{
    const int ny = g->ny;
    real full[MOST], cov[MOST * MOST], white[MOST];
    for (int i = 0; i < ny; ++i) full[i] = white[i] = (real)NAN;
    for (int i = 0; i < ny * ny; ++i) cov[i] = (real)NAN;
    for (int i = 0; i < m; ++i) {
        full[index[i]] = v[i];
        white[index[i]] = w[i];
        for (int j = 0; j < m; ++j) cov[index[i] * ny + index[j]] = S[i * m + j];
    }
    store(g, KS_OUT_INNOVATION, b, k, ny, full);
    store(g, KS_OUT_INNOVATION_COV, b, k, ny * ny, cov);
    store(g, KS_OUT_INNOVATION_STD, b, k, ny, white);
}

/** Update x, P with the observation of step k; returns log p(y[k] | before). */
static real update(golden *g, int64_t b, int64_t k, step *s, real *x, real *P)
{
    const int nx = g->nx, ny = g->ny;
    int index[MOST];
    const int m = present(g, b, k, index);
    real H[MOST * MOST], R[MOST * MOST], S[MOST * MOST], L[MOST * MOST], v[MOST], w[MOST];
    real PH[MOST * MOST], SiH[MOST * MOST], Siv[MOST], K[MOST * MOST];
    for (int i = 0; i < m; ++i) {
        v[i] = (real)model_block(&g->y, b, k)[index[i]];
        if (g->d.f64) v[i] -= (real)model_block(&g->d, b, k)[index[i]];
        for (int c = 0; c < nx; ++c) {
            H[i * nx + c] = (real)model_block(&g->H, b, k)[index[i] * nx + c];
            v[i] -= H[i * nx + c] * x[c];
        }
        for (int j = 0; j < m; ++j)
            R[i * m + j] = (real)model_block(&g->R, b, k)[index[i] * ny + index[j]];
    }
    mul(nx, nx, m, P, H, 1, PH);
    mul(m, nx, m, H, PH, 0, S);
    for (int i = 0; i < m * m; ++i) S[i] += R[i];
    memcpy(L, S, (size_t)(m * m) * sizeof *L);
    cholesky(m, L);
    memcpy(w, v, (size_t)m * sizeof *w);
    forward(m, L, 1, w);
    store_innovation(g, b, k, m, index, v, S, w);
    /* Z = L^-1 H, so H' S^-1 H = Z' Z, H' S^-1 v = Z' w and K = P Z' L^-1. */
    memcpy(SiH, H, (size_t)(m * nx) * sizeof *SiH);
    forward(m, L, nx, SiH);
    real logdet = 0, quadratic = 0;
    for (int i = 0; i < m; ++i) {
        logdet += 2 * logl(L[i * m + i]);
        quadratic += w[i] * w[i];
    }
    for (int i = 0; i < nx; ++i) {
        s->r[i] = 0;
        for (int l = 0; l < m; ++l) s->r[i] += SiH[l * nx + i] * w[l];
        for (int j = 0; j < nx; ++j) {
            s->N[i * nx + j] = 0;
            for (int l = 0; l < m; ++l) s->N[i * nx + j] += SiH[l * nx + i] * SiH[l * nx + j];
        }
    }
    for (int i = 0; i < nx; ++i) { /* row i of K solves K_i L L' = PH_i */
        for (int j = 0; j < m; ++j) Siv[j] = PH[i * m + j];
        forward(m, L, 1, Siv);
        for (int j = m - 1; j >= 0; --j) {
            real sum = Siv[j];
            for (int l = j + 1; l < m; ++l) sum -= L[l * m + j] * K[i * m + l];
            K[i * m + j] = sum / L[j * m + j];
        }
    }
    mul(nx, m, nx, K, H, 0, s->A);
    for (int i = 0; i < nx; ++i)
        for (int j = 0; j < nx; ++j) s->A[i * nx + j] = (i == j ? 1 : 0) - s->A[i * nx + j];
    for (int i = 0; i < nx; ++i)
        for (int l = 0; l < m; ++l) x[i] += K[i * m + l] * v[l];
    propagate(nx, s->A, P, m, K, R);
    return -(m * logl(2 * acosl(-1)) + logdet + quadratic) / 2;
}

static real filter(golden *g, int64_t b, step *steps)
{
    const int nx = g->nx;
    real x[MOST], P[MOST * MOST], Q[MOST * MOST], u[MOST], loglik = 0;
    load(&g->m0, b, 0, nx, x);
    load(&g->P0, b, 0, nx * nx, P);
    for (int64_t k = 0; k < g->T; ++k) {
        step *s = &steps[k];
        if (k > 0 || g->prior == KS_PRIOR_X0) {
            load(&g->F, b, k, nx * nx, s->F);
            load(&g->Q, b, k, nx * nx, Q);
            load(&g->u, b, k, nx, u);
            mul(nx, nx, 1, s->F, x, 0, s->xp);
            for (int i = 0; i < nx; ++i) x[i] = s->xp[i] + u[i];
            propagate(nx, s->F, P, nx, NULL, Q);
        }
        memcpy(s->xp, x, (size_t)nx * sizeof *x);
        memcpy(s->Pp, P, (size_t)(nx * nx) * sizeof *P);
        store(g, KS_OUT_PREDICTED_MEAN, b, k, nx, x);
        store_cov(g, KS_OUT_PREDICTED_COV, KS_OUT_PREDICTED_VAR, b, k, P);
        const real term = update(g, b, k, s, x, P);
        loglik += term;
        store(g, KS_OUT_LOGLIK_TERMS, b, k, 1, &term);
        store(g, KS_OUT_FILTERED_MEAN, b, k, nx, x);
        store_cov(g, KS_OUT_FILTERED_COV, KS_OUT_FILTERED_VAR, b, k, P);
    }
    return loglik;
}

/** xs = x + P r, Ps = P - P N P. */
static void smooth_from(int n, const real *x, const real *P, const real *r, const real *N,
                        real *xs, real *Ps)
{
    real T[MOST * MOST], X[MOST * MOST];
    mul(n, n, 1, P, r, 0, xs);
    mul(n, n, n, P, N, 0, T);
    mul(n, n, n, T, P, 0, X);
    for (int i = 0; i < n; ++i) xs[i] += x[i];
    for (int i = 0; i < n * n; ++i)
        Ps[i] = P[i] - (X[i] + X[i % n * n + i / n]) / 2;
}

/** Cov(x[k+1], x[k] | y) = (P A' F' (I - N+ P+))' with P of step k, the rest of the step after. */
static void lag_one(int n, const real *P, const real *AF, const real *N, const real *Pp, real *to)
{
    real T[MOST * MOST], X[MOST * MOST];
    mul(n, n, n, N, Pp, 0, T);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) T[i * n + j] = (i == j ? 1 : 0) - T[i * n + j];
    mul(n, n, n, P, AF, 1, X); /* AF = F A */
    real Y[MOST * MOST];
    mul(n, n, n, X, T, 0, Y);
    for (int i = 0; i < n * n; ++i) to[i % n * n + i / n] = Y[i];
}

static void smooth(golden *g, int64_t b, step *steps)
{
    const int n = g->nx;
    real r[MOST] = { 0 }, N[MOST * MOST] = { 0 }, xs[MOST], Ps[MOST * MOST], lag[MOST * MOST];
    real m0[MOST], P0[MOST * MOST], I[MOST * MOST] = { 0 };
    for (int i = 0; i < n; ++i) I[i * n + i] = 1;
    load(&g->m0, b, 0, n, m0);
    load(&g->P0, b, 0, n * n, P0);
    for (int64_t k = g->T - 1; k >= -1; --k) {
        if (k < 0 && g->prior == KS_PRIOR_X1) break;
        const real *x = k >= 0 ? steps[k].xp : m0, *P = k >= 0 ? steps[k].Pp : P0;
        const real *A = k >= 0 ? steps[k].A : I;
        if (k + 1 < g->T) { /* through the transition into step k + 1 */
            real FA[MOST * MOST], T[MOST * MOST], X[MOST * MOST], FAt[MOST * MOST], rn[MOST];
            mul(n, n, n, steps[k + 1].F, A, 0, FA);
            lag_one(n, P, FA, N, steps[k + 1].Pp, lag);
            store(g, KS_OUT_LAG_ONE_COV, b, k + 1, n * n, lag);
            for (int i = 0; i < n * n; ++i) FAt[i % n * n + i / n] = FA[i];
            mul(n, n, 1, FAt, r, 0, rn);
            mul(n, n, n, FAt, N, 0, T);
            mul(n, n, n, T, FA, 0, X);
            memcpy(r, rn, (size_t)n * sizeof *r);
            memcpy(N, X, (size_t)(n * n) * sizeof *N);
        }
        for (int i = 0; k >= 0 && i < n; ++i) r[i] += steps[k].r[i];
        for (int i = 0; k >= 0 && i < n * n; ++i) N[i] += steps[k].N[i];
        smooth_from(n, x, P, r, N, xs, Ps);
        if (k < 0) {
            store(g, KS_OUT_PRIOR_MEAN, b, 0, n, xs);
            store(g, KS_OUT_PRIOR_COV, b, 0, n * n, Ps);
        } else {
            store(g, KS_OUT_SMOOTHED_MEAN, b, k, n, xs);
            store_cov(g, KS_OUT_SMOOTHED_COV, KS_OUT_SMOOTHED_VAR, b, k, Ps);
        }
    }
    if (g->prior == KS_PRIOR_X1) {
        memset(lag, 0, sizeof lag);
        store(g, KS_OUT_LAG_ONE_COV, b, 0, n * n, lag);
    }
}

void textbook_smooth(golden *g)
{
    assert(g->nx <= MOST && g->ny <= MOST);
    real *numbers = NULL;
    step *steps = steps_new(g->T, g->nx, &numbers);
    for (int64_t b = 0; b < g->B; ++b) {
        const real loglik = filter(g, b, steps);
        store(g, KS_OUT_LOGLIK, b, 0, 1, &loglik);
        smooth(g, b, steps);
    }
    free(numbers);
    free(steps);
}

/** Means and joint covariance of x[0] .. x[T-1], (T nx) and (T nx, T nx). */
static void joint_states(const golden *g, int64_t b, real *mean, real *cov)
{
    const int n = g->nx;
    const int64_t all = g->T * n;
    real F[MOST * MOST], Q[MOST * MOST], u[MOST], x[MOST], P[MOST * MOST];
    load(&g->m0, b, 0, n, x);
    load(&g->P0, b, 0, n * n, P);
    for (int64_t k = 0; k < g->T; ++k) {
        if (k > 0 || g->prior == KS_PRIOR_X0) {
            load(&g->F, b, k, n * n, F);
            load(&g->Q, b, k, n * n, Q);
            load(&g->u, b, k, n, u);
            real next[MOST];
            mul(n, n, 1, F, x, 0, next);
            for (int i = 0; i < n; ++i) x[i] = next[i] + u[i];
            propagate(n, F, P, n, NULL, Q);
        }
        for (int i = 0; i < n; ++i) {
            mean[k * n + i] = x[i];
            /* Cov(x[k], x[j]) = F[k] Cov(x[k-1], x[j]) */
            for (int64_t j = 0; j < k * n; ++j) {
                real s = 0;
                for (int l = 0; l < n; ++l) s += F[i * n + l] * cov[((k - 1) * n + l) * all + j];
                cov[(k * n + i) * all + j] = cov[j * all + k * n + i] = s;
            }
            for (int j = 0; j < n; ++j) cov[(k * n + i) * all + k * n + j] = P[i * n + j];
        }
    }
}

double textbook_joint_loglik(const golden *g, int64_t b)
{
    const int nx = g->nx, ny = g->ny;
    const int64_t all = g->T * nx, most = g->T * ny;
    real *mean = zeroed((size_t)all, sizeof *mean);
    real *cov = zeroed((size_t)(all * all), sizeof *cov);
    real *S = zeroed((size_t)(most * most), sizeof *S), *v = zeroed((size_t)most, sizeof *v);
    int64_t *at = zeroed((size_t)most, sizeof *at);
    joint_states(g, b, mean, cov);
    int m = 0;
    for (int64_t k = 0; k < g->T; ++k) {
        int index[MOST];
        const int here = present(g, b, k, index);
        for (int i = 0; i < here; ++i) at[m++] = k * ny + index[i];
    }
    for (int i = 0; i < m; ++i) {
        const int64_t ki = at[i] / ny, ri = at[i] % ny;
        const double *H = model_block(&g->H, b, ki) + ri * nx;
        v[i] = (real)model_block(&g->y, b, ki)[ri];
        if (g->d.f64) v[i] -= (real)model_block(&g->d, b, ki)[ri];
        for (int c = 0; c < nx; ++c) v[i] -= (real)H[c] * mean[ki * nx + c];
        for (int j = 0; j < m; ++j) {
            const int64_t kj = at[j] / ny, rj = at[j] % ny;
            const double *G = model_block(&g->H, b, kj) + rj * nx;
            real s = ki == kj ? (real)model_block(&g->R, b, ki)[ri * ny + rj] : 0;
            for (int c = 0; c < nx; ++c)
                for (int e = 0; e < nx; ++e)
                    s += (real)H[c] * cov[(ki * nx + c) * all + kj * nx + e] * (real)G[e];
            S[i * m + j] = s;
        }
    }
    cholesky(m, S);
    forward(m, S, 1, v);
    real loglik = -m * logl(2 * acosl(-1)) / 2;
    for (int i = 0; i < m; ++i) loglik -= logl(S[i * m + i]) + v[i] * v[i] / 2;
    free(at);
    free(v);
    free(S);
    free(cov);
    free(mean);
    return (double)loglik;
}
