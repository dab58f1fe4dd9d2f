/* general_tier.c -- the kernel table of one instruction-set tier. Compiled once for each, with the
 * tier's flags and KS_TABLE, the name of the table. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "hd.h"
#include "kernels.h"
#include "num_f64.h"
#include "block_text.h"
#include "tridiagonal_text.h"

static void subtract(int n, const ks_general_block *A, const double *x, double *y)
{
    switch (A->format) {
    case KS_BLOCK_DENSE: ks_rows_subtract_f64(n, A->values, x, y); break;
    case KS_BLOCK_DIA: ks_dia_subtract_f64(n, A->values, x, y); break;
    case KS_BLOCK_COO: ks_coo_subtract_f64(A->count, A->values, A->rows, A->cols, x, y); break;
    case KS_BLOCK_CSR: ks_csr_subtract_f64(n, A->values, A->rows, A->cols, x, y); break;
    }
}

static double squares(int n, const ks_general_block *A)
{
    const int64_t m = n;
    switch (A->format) {
    case KS_BLOCK_DENSE: return ks_long_dot_f64(m * m, A->values, A->values);
    case KS_BLOCK_DIA:
        return ks_long_dot_f64(m - 1, A->values + 1, A->values + 1) +
               ks_long_dot_f64(m, A->values + m, A->values + m) +
               ks_long_dot_f64(m - 1, A->values + 2 * m, A->values + 2 * m);
    case KS_BLOCK_COO: return ks_long_dot_f64(A->count, A->values, A->values);
    case KS_BLOCK_CSR: return ks_long_dot_f64(A->rows[n], A->values, A->values);
    }
    return 0;
}

/* x <- D[j]^-1 x */
static inline void solve_block(const ks_gb_system *s, int64_t j, double *x, double *scratch)
{
    const int n = s->n;
    const double *f = s->factor + s->offset[j];
    switch (s->kind[j]) {
    case KS_GB_THOMAS: ks_thomas_solve_f64(n, f, x); break;
    case KS_GB_TRI_LU: ks_tri_lu_solve_f64(n, f, (const int *)(f + 4 * (int64_t)n), x); break;
    case KS_GB_CR: ks_cr_solve_f64(n, f, x); break;
    case KS_GB_PCR: ks_pcr_solve_f64(n, f, x, scratch); break;
    default: ks_dense_solve_f64(n, f, (const int *)(f + (int64_t)n * n), x); break;
    }
}

/* Independent blocks that are solved at the same time. */
enum { ABREAST = KS_GB_ABREAST };

/* x[l] <- D[j[l]]^-1 x[l] for `count` blocks; scratch: n. Fewer than four Thomas solves are padded
 * with zeros: four at the same time take hardly longer than one. */
static void solve_blocks(const ks_gb_system *s, int count, const int64_t *j, double *const *x,
                         double *scratch)
{
    const double *f[ABREAST];
    double *y[ABREAST];
    int thomas = count > 1;
    for (int l = 0; l < count; ++l) {
        f[l] = s->factor + s->offset[j[l]];
        y[l] = x[l];
        thomas = thomas && s->kind[j[l]] == KS_GB_THOMAS;
    }
    if (!thomas) {
        for (int l = 0; l < count; ++l) solve_block(s, j[l], x[l], scratch);
        return;
    }
    if (count < ABREAST) memset(scratch, 0, (size_t)s->n * sizeof *scratch);
    for (int l = count; l < ABREAST; ++l) {
        f[l] = f[0];
        y[l] = scratch;
    }
    ks_thomas_solve_4_f64(s->n, f, y);
}

/* y = b - L x - U x of block j. */
static inline void right_hand_side(const ks_gb_sweep *g, int64_t j, double *y)
{
    const ks_gb_system *s = g->system;
    const int64_t n = s->n;
    const double *x = g->x + j * n;
    if (g->b)
        memcpy(y, g->b + j * n, (size_t)n * sizeof *y);
    else
        memset(y, 0, (size_t)n * sizeof *y);
    if (j > 0) subtract(s->n, &s->L[j - 1], x - n, y);
    if (j + 1 < s->N) subtract(s->n, &s->U[j], x + n, y);
}

/* out = x + omega (y - x) in block j. Return the larger of the largest change and `most`. */
static inline double relax(const ks_gb_sweep *g, int64_t j, const double *y, double most)
{
    const int64_t n = g->system->n;
    const double *x = g->x + j * n;
    double *out = g->out + j * n;
    if (g->omega == 1) {
        for (int64_t r = 0; r < n; ++r) {
            const double size = fabs(y[r] - x[r]);
            out[r] = y[r];
            most = size > most ? size : most;
        }
        return most;
    }
    for (int64_t r = 0; r < n; ++r) {
        const double step = g->omega * (y[r] - x[r]), size = fabs(step);
        out[r] = x[r] + step;
        most = size > most ? size : most;
    }
    return most;
}

static double sweep(const ks_gb_sweep *g, int64_t from, int64_t to, double *scratch)
{
    const int64_t n = g->system->n;
    double most = 0, *y[ABREAST];
    for (int l = 0; l < ABREAST; ++l) y[l] = scratch + l * n;
    for (int64_t first = from; first < to; first += ABREAST * g->step) {
        int64_t j[ABREAST];
        int count = 0;
        for (int64_t k = first; k < to && count < ABREAST; k += g->step) {
            right_hand_side(g, k, y[count]);
            j[count++] = k;
        }
        solve_blocks(g->system, count, j, y, scratch + ABREAST * n);
        for (int l = 0; l < count; ++l) most = relax(g, j[l], y[l], most);
    }
    return most;
}

static void follow(const ks_gb_sweep *g, int lanes, int64_t from, int64_t to, double *most,
                   double *scratch)
{
    const int64_t n = g->system->n, N = g->system->N;
    double *y[ABREAST];
    for (int l = 0; l < ABREAST; ++l) y[l] = scratch + l * n;
    for (int64_t t = from; t < to; ++t) {
        int64_t j[ABREAST] = {0};
        int lane[ABREAST], count = 0;
        for (int l = 0; l < lanes; ++l) {
            const int64_t block = t - 2 * l;
            if (block < 0 || block >= N) continue;
            right_hand_side(g, block, y[count]);
            lane[count] = l;
            j[count++] = block;
        }
        solve_blocks(g->system, count, j, y, scratch + ABREAST * n);
        for (int i = 0; i < count; ++i) most[lane[i]] = relax(g, j[i], y[i], most[lane[i]]);
    }
}

static double apply(const ks_gb_system *s, const double *b, const double *x, double *y,
                    int64_t from, int64_t to)
{
    const int64_t n = s->n, rows = (to - from) * n;
    if (b)
        memcpy(y + from * n, b + from * n, (size_t)rows * sizeof *y);
    else
        memset(y + from * n, 0, (size_t)rows * sizeof *y);
    for (int64_t j = from; j < to; ++j) {
        double *r = y + j * n;
        subtract(s->n, &s->D[j], x + j * n, r);
        if (j > 0) subtract(s->n, &s->L[j - 1], x + (j - 1) * n, r);
        if (j + 1 < s->N) subtract(s->n, &s->U[j], x + (j + 1) * n, r);
    }
    if (!b)
        for (int64_t r = from * n; r < to * n; ++r) y[r] = -y[r];
    return ks_long_dot_f64(rows, y + from * n, y + from * n);
}

static void precondition(const ks_gb_system *s, const double *r, double *z, int64_t from,
                         int64_t to, double *scratch)
{
    const int64_t n = s->n;
    if (z != r) memcpy(z + from * n, r + from * n, (size_t)((to - from) * n) * sizeof *z);
    for (int64_t first = from; first < to; first += ABREAST) {
        int64_t j[ABREAST];
        double *x[ABREAST];
        int count = 0;
        for (; count < ABREAST && first + count < to; ++count) {
            j[count] = first + count;
            x[count] = z + j[count] * n;
        }
        solve_blocks(s, count, j, x, scratch);
    }
}

static double dot(int64_t count, const double *x, const double *y)
{
    return ks_long_dot_f64(count, x, y);
}

static void axpby(int64_t count, double alpha, const double *x, double beta, double *y)
{
    ks_long_axpby_f64(count, alpha, x, beta, y);
}

static int factor_thomas(int n, const double *dia, double *f, double *growth)
{
    return ks_thomas_factor_f64(n, dia, f, growth);
}

static int factor_cr(int n, const double *dia, double *f, double *scratch)
{
    return ks_cr_factor_f64(n, dia, f, scratch);
}

static int factor_pcr(int n, const double *dia, double *f, double *scratch)
{
    return ks_pcr_factor_f64(n, dia, f, scratch);
}

static void dense_solve(int n, const double *lu, const int *pivots, double *x)
{
    ks_dense_solve_f64(n, lu, pivots, x);
}

static void columns(int n, const double *A, const double *x, double *y)
{
    ks_columns_subtract_f64(n, A, x, y);
}

const ks_gb_kernels KS_TABLE = { sweep,         follow,    apply,      precondition, dot,
                                 axpby,         factor_thomas, factor_cr, factor_pcr,
                                 dense_solve,   columns,   subtract,   squares };
