/* map_refusal.c -- see map_refusal.h. */
#include "map_refusal.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { MOST = 32 };

typedef struct block { ks_precision precision; const void *at; } block;

static block row_of(ks_view view, ks_precision precision, int64_t series, int64_t step)
{
    const int64_t bytes = precision == KS_F64 ? (int64_t)sizeof(double) : (int64_t)sizeof(float);
    const int64_t offset = series * view.series_stride + step * view.step_stride;
    return (block){ precision, (const char *)view.data + offset * bytes };
}

static long double entry(block b, int i)
{
    return b.precision == KS_F64 ? (long double)((const double *)b.at)[i]
                                 : (long double)((const float *)b.at)[i];
}

/** The first row at which the share of a variance that the components before it leave is no more
 *  than `least`, -1 where there is none. */
static int first_singular_row(int n, long double A[MOST][MOST], long double least)
{
    long double whole[MOST];
    for (int i = 0; i < n; ++i) whole[i] = A[i][i];
    for (int p = 0; p < n; ++p) {
        const long double share = whole[p] > 0 ? A[p][p] / whole[p] : 0;
        if (share > least / 10 && share < least * 10)
            fail_msg("a pivot of %Lg is too near %Lg to tell", share, least);
        if (!(share > least)) return p;
        for (int i = p + 1; i < n; ++i)
            for (int j = p + 1; j < n; ++j) A[i][j] -= A[i][p] * A[p][j] / A[p][p];
    }
    return -1;
}

static int singular_prior(const ks_model *m, int64_t b, int n, ks_precision precision,
                          long double least)
{
    long double P[MOST][MOST], FP[MOST][MOST] = { { 0 } };
    const block P0 = row_of(m->P0, precision, b, 0);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) P[i][j] = entry(P0, i * n + j);
    if (m->prior == KS_PRIOR_X1) return first_singular_row(n, P, least);
    const block F = row_of(m->F, precision, b, 0), Q = row_of(m->Q, precision, b, 0);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            for (int l = 0; l < n; ++l) FP[i][j] += entry(F, i * n + l) * P[l][j];
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            P[i][j] = entry(Q, i * n + j);
            for (int l = 0; l < n; ++l) P[i][j] += FP[i][l] * entry(F, j * n + l);
        }
    return first_singular_row(n, P, least);
}

/** In the entry of y, not of those present. */
static int singular_noise(block R, block y, int ny, long double least)
{
    long double A[MOST][MOST];
    int m = 0, row[MOST];
    for (int i = 0; i < ny; ++i)
        if (!isnan(entry(y, i))) row[m++] = i;
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < m; ++j) A[i][j] = entry(R, row[i] * ny + row[j]);
    const int bad = first_singular_row(m, A, least);
    return bad < 0 ? -1 : row[bad];
}

map_refusal map_refusal_of(const ks_model *m, ks_view y, int64_t T, int64_t B, int nx, int ny,
                           ks_precision precision)
{
    const long double epsilon = precision == KS_F64 ? 0x1p-53L : 0x1p-24L;
    const long double least = 4 * (nx > ny ? nx : ny) * epsilon;
    for (int64_t b = 0; b < B; ++b)
        for (int64_t k = 0; k < T; ++k) {
            int row;
            if (k == 0) {
                row = singular_prior(m, b, nx, precision, least);
                if (row >= 0)
                    return (map_refusal){ m->prior == KS_PRIOR_X1 ? KS_ARRAY_P0
                                                                  : KS_ARRAY_PRIOR_COV,
                                          b, 0, row };
            } else {
                long double Q[MOST][MOST];
                const block given = row_of(m->Q, precision, b, k);
                for (int i = 0; i < nx; ++i)
                    for (int j = 0; j < nx; ++j) Q[i][j] = entry(given, i * nx + j);
                row = first_singular_row(nx, Q, least);
                if (row >= 0) return (map_refusal){ KS_ARRAY_Q, b, k, row };
            }
            row = singular_noise(row_of(m->R, precision, b, k), row_of(y, precision, b, k), ny,
                                 least);
            if (row >= 0) return (map_refusal){ KS_ARRAY_R, b, k, row };
        }
    return (map_refusal){ KS_ARRAY_NONE, -1, -1, -1 };
}

map_refusal golden_refusal(const golden *g, ks_precision precision)
{
    const ks_model model = golden_model(g, precision);
    return map_refusal_of(&model, golden_y(g, precision), g->T, g->B, g->nx, g->ny, precision);
}

bool is_refused(ks_status status, const ks_info *info, map_refusal expected)
{
    return status == KS_EREFUSED && info->status == KS_EREFUSED &&
           info->array == expected.array && info->fault == KS_FAULT_NOT_POSITIVE &&
           info->series == expected.series && info->step == expected.step &&
           info->row == expected.row && info->suggestion == KS_METHOD_SEQUENTIAL;
}
