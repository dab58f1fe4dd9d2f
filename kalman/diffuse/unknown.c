/* unknown.c -- which directions of an infinite prior the observations tell: those of Durbin & Koopman's P_inf, kept as
 * a root of it. No variance has a part in it. A direction is X = U whole, so what is small beside the terms of that sum
 * is round-off, whatever other directions are like. */
#include "start.h"
#include "dense.h"

void ks_unknown_carve(ks_carver *carver, const ks_start *start, ks_unknown *unknown)
{
    const size_t n = (size_t)start->n, d = (size_t)start->d, one = sizeof(double);
    unknown->U = ks_carve(carver, d * d, one);
    unknown->terms = ks_carve(carver, d * d, one);
    unknown->X = ks_carve(carver, d * n, one);
    unknown->whole = ks_carve(carver, d * n, one);
    unknown->size = ks_carve(carver, d * n, one);
    unknown->all = ks_carve(carver, n, one);
    unknown->moved = ks_carve(carver, n, one);
    unknown->shares = ks_carve(carver, d, one);
}

int ks_unknown_make(ks_unknown *unknown, const ks_start *start, ks_carver *memory)
{
    ks_carver measure = ks_carver_at(NULL);
    ks_unknown_carve(&measure, start, unknown);
    if (!ks_start_allocate(start->plan->context, &measure, memory)) return 0;
    ks_unknown_carve(memory, start, unknown);
    return 1;
}

/* Find the sizes, and clear what is round-off: left where it is, it would make variances infinite. */
static void measure(ks_unknown *unknown)
{
    const int n = unknown->n, d = unknown->d;
    ks_zero_f64(n, unknown->all);
    for (int i = 0; i < d * n; ++i) unknown->all[i % n] += fabs(unknown->whole[i]);
    for (int c = 0; c < unknown->q; ++c) {
        double *size = unknown->size + c * n, *X = unknown->X + c * n;
        ks_zero_f64(n, size);
        for (int e = 0; e < d; ++e) {
            const double share = unknown->terms[c * d + e];
            for (int i = 0; share > 0 && i < n; ++i) size[i] += share * fabs(unknown->whole[e * n + i]);
        }
        for (int i = 0; i < n; ++i)
            if (fabs(X[i]) <= unknown->tiny * size[i]) X[i] = 0;
    }
}

void ks_unknown_start(ks_unknown *unknown, const ks_start *start)
{
    const int n = start->n, d = start->d;
    unknown->n = n;
    unknown->d = unknown->q = d;
    unknown->tiny = start->tiny;
    unknown->grain = start->grain;
    ks_identity_f64(d, unknown->U);
    ks_identity_f64(d, unknown->terms);
    ks_transpose_f64(n, d, start->A, unknown->X);
    ks_copy_f64(d * n, unknown->X, unknown->whole);
    measure(unknown);
}

/* A sum of states with coefficients h for a direction that is `row` in the state, whose terms are of the sizes `size`.
 * It is zero where its terms cancel, or where it is round-off of h beside what all directions make of the sum: three
 * steps of a cycle of six are -I, whose other entries are some 1e-17, and a step of one of four has the cosine of a
 * right angle, 6e-17. Left where they are, they would be directions with nothing larger beside them from then on. */
static double sum_of(const ks_unknown *unknown, const double *h, const double *row, const double *size)
{
    double sum = 0, terms = 0, all = 0;
    for (int i = 0; i < unknown->n; ++i) {
        sum += h[i] * row[i];
        terms += fabs(h[i]) * fabs(size[i]);
        all += fabs(h[i]) * unknown->all[i];
    }
    return fabs(sum) > unknown->tiny * terms && fabs(sum) > unknown->grain * all ? sum : 0;
}

/* Clear what is round-off in F (n, n) in whatever units the states are: products along a way back to the same state do
 * not depend on these. An entry on the diagonal is compared with ways over another state, such as the cosine of a right
 * angle with the sines; one beside it, if there is a way back, with those that stay, such as the sine of a straight angle
 * with the cosines. */
static void clear_grain(int n, double grain, double *F)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            double *const to = F + i * n + j, *const back = F + j * n + i;
            const double beside = sqrt(fabs(*to)) * sqrt(fabs(*back));
            const double stay = sqrt(fabs(F[i * n + i])) * sqrt(fabs(F[j * n + j]));
            if (i == j || *back == 0) continue;
            if (fabs(F[i * n + i]) <= grain * beside) F[i * n + i] = 0;
            if (beside <= grain * stay && fabs(*to) <= grain * stay) *to = 0;
        }
}

static void move_row(ks_unknown *unknown, const double *F, double *row)
{
    const int n = unknown->n;
    for (int i = 0; i < n; ++i) unknown->moved[i] = sum_of(unknown, F + i * n, row, row);
    ks_copy_f64(n, unknown->moved, row);
}

void ks_unknown_move(ks_unknown *unknown, const ks_start *start, int64_t k)
{
    const int n = unknown->n;
    if (ks_start_stays(start, k) || !ks_unknown_left(unknown)) return;
    ks_start_transition(start, k, start->move);
    clear_grain(n, unknown->grain, start->move);
    for (int c = 0; c < unknown->q; ++c) move_row(unknown, start->move, unknown->X + c * n);
    for (int c = 0; c < unknown->d; ++c) move_row(unknown, start->move, unknown->whole + c * n);
    measure(unknown);
}

/* Rotate rows a and b of an array of `length` columns: row b takes (x, y) / hypot(x, y) of them. */
static void rotate(double *a, double *b, int length, double x, double y)
{
    const double size = hypot(x, y), s = x / size, c = y / size;
    for (int i = 0; i < length; ++i) {
        const double in_a = a[i], in_b = b[i];
        a[i] = c * in_a - s * in_b;
        b[i] = s * in_a + c * in_b;
    }
}

/* The same for sizes of terms, which do not cancel. */
static void rotate_terms(double *a, double *b, int length, double x, double y)
{
    const double size = hypot(x, y), s = fabs(x) / size, c = fabs(y) / size;
    for (int i = 0; i < length; ++i) {
        const double in_a = a[i], in_b = b[i];
        a[i] = fmin(c * in_a + s * in_b, 1);
        b[i] = fmin(s * in_a + c * in_b, 1);
    }
}

/* Shares of a sum of states with coefficients h in the directions that are not told, 0 where they are round-off. Returns
 * whether there are any. */
static int find_shares(const ks_unknown *unknown, const double *h)
{
    const int n = unknown->n;
    int any = 0;
    for (int c = 0; c < unknown->q; ++c) {
        unknown->shares[c] = sum_of(unknown, h, unknown->X + c * n, unknown->size + c * n);
        any |= unknown->shares[c] != 0;
    }
    return any;
}

int ks_unknown_reaches(const ks_unknown *unknown, const double *h) { return find_shares(unknown, h); }

double ks_unknown_entry(const ks_unknown *unknown, const double *a, const double *b, int apart)
{
    double sum = 0, size_a = 0, size_b = 0;
    for (int c = 0; c < unknown->q; ++c) {
        size_a = hypot(size_a, a[c * apart]);
        size_b = hypot(size_b, b[c * apart]);
    }
    if (size_a == 0 || size_b == 0) return 0;
    for (int c = 0; c < unknown->q; ++c) sum += a[c * apart] / size_a * (b[c * apart] / size_b);
    return fabs(sum) > unknown->tiny ? copysign((double)INFINITY, sum) : 0;
}

int ks_unknown_left(const ks_unknown *unknown)
{
    for (int i = 0; i < unknown->q * unknown->n; ++i)
        if (unknown->X[i] != 0) return 1;
    return 0;
}

void ks_unknown_tell(ks_unknown *unknown, const double *h)
{
    const int n = unknown->n, d = unknown->d, last = unknown->q - 1;
    double share;
    if (!find_shares(unknown, h)) return;
    /* Rotate the direction to the last of them. */
    share = unknown->shares[last];
    for (int c = 0; c < last; ++c) {
        const double other = unknown->shares[c];
        if (other == 0) continue;
        rotate(unknown->X + c * n, unknown->X + last * n, n, other, share);
        rotate(unknown->U + c * d, unknown->U + last * d, d, other, share);
        rotate_terms(unknown->terms + c * d, unknown->terms + last * d, d, other, share);
        share = hypot(share, other);
    }
    unknown->q = last;
    measure(unknown);
}

void ks_unknown_observe(ks_unknown *unknown, const ks_start *start, int64_t k)
{
    const int n = unknown->n, m = start->m;
    double *y = start->move;
    if (!ks_unknown_left(unknown)) return;
    ks_start_read(start, start->series.y, k, 1, m, y, m);
    ks_start_read(start, start->series.H, k, m, n, start->look, n);
    for (int i = 0; i < m && unknown->q > 0; ++i)
        if (!isnan(y[i])) ks_unknown_tell(unknown, start->look + i * n);
}

int64_t ks_unknown_steps(ks_unknown *unknown, const ks_start *start, int *all)
{
    int64_t last = 0;
    ks_unknown_start(unknown, start);
    for (int64_t k = 0; k < start->plan->T && ks_unknown_left(unknown); ++k) {
        const int before = unknown->q;
        ks_unknown_move(unknown, start, k);
        ks_unknown_observe(unknown, start, k);
        if (unknown->q < before || !ks_unknown_left(unknown)) last = k + 1;
    }
    *all = !ks_unknown_left(unknown);
    return last;
}
