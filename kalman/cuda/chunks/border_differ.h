/* border_differ.h -- device code: the difference between two estimates that should agree, see chunk_judge.h. One thread
 * compares all states, or each thread of a team compares some of them. */
#ifndef KS_BORDER_DIFFER_H
#define KS_BORDER_DIFFER_H

#include <float.h>
#include "chunk_kernels.h"
#include "estimate_rounding_text.h"
#include "gpu/kernel.h"

/* The estimates (x, P) and (x2, P2) of n states. Mean i may be off by roundings of a number as large as size[i]. A
 * variance no larger than the round-off of taken[i] belongs to a state that is known exactly. */
struct ks_border_pair {
    int n;
    const double *x, *P, *x2, *P2;
    double *size, *taken, *sd; /* n numbers each; sd is scratch */
};

/* The unit round-off of means and of covariances, and whether steps have means in single precision. */
struct ks_border_scale {
    double mean, cov;
    int single;
};

// Mark the smoothing pass of the first chunk as suspect. Several threads may do so at once; all store the same value.
KS_DEVICE void ks_border_suspect(const ks_chunk_arrays &c)
{
    ks_relaxed_store(c.hard_absorb, static_cast<unsigned char>(KS_SUSPECT));
}

KS_DEVICE ks_border_scale ks_border_scale_of(const ks_scan_arrays *a)
{
    const ks_border_scale scale = {ks_unit_roundoff(a->single), ks_unit_roundoff(a->single_cov), a->single};
    return scale;
}

KS_DEVICE double ks_border_least(const ks_border_pair &b, const ks_border_scale &scale, int i)
{
    return KS_ROUNDINGS * scale.cov * b.taken[i];
}

/* The standard deviation of state i, to b.sd. */
KS_DEVICE void ks_border_deviation(const ks_border_pair &b, const ks_border_scale &scale, int i)
{
    const double least = ks_border_least(b, scale, i), own = b.P[i * b.n + i] > least ? b.P[i * b.n + i] : least;
    b.sd[i] = ks_deviation(own > DBL_MIN ? own : DBL_MIN);
}

/* The largest size[i] in standard deviations, of means in single precision; it counts for every state. Needs
 * ks_border_deviation() of all states. */
KS_DEVICE double ks_border_common(const ks_border_pair &b, const ks_border_scale &scale)
{
    double common = 0;
    for (int i = 0; i < b.n; ++i)
        if (scale.single && b.P[i * b.n + i] > ks_border_least(b, scale, i) && b.size[i] > common * b.sd[i])
            common = b.size[i] / b.sd[i];
    return common;
}

/* The largest of `worst`, the difference of the means of state i in standard deviations of (x, P), and the differences
 * of its covariances with states 0 .. i relative to the product of the standard deviations. */
KS_DEVICE double ks_border_differs(const ks_border_pair &b, const ks_border_scale &scale, double common, int i,
                                   double worst)
{
    const double most_size = b.size[i] > common * b.sd[i] ? b.size[i] : common * b.sd[i];
    const double off = fabs(b.x2[i] - b.x[i]) - KS_ROUNDINGS * scale.mean * most_size;
    if (!(off <= worst * b.sd[i])) worst = off / b.sd[i];
    for (int j = 0; j <= i; ++j) {
        const double difference = fabs(b.P2[i * b.n + j] - b.P[i * b.n + j]);
        if (!(difference <= worst * (b.sd[i] * b.sd[j]))) worst = difference / (b.sd[i] * b.sd[j]);
    }
    return worst;
}

/* The largest difference over all states, by one thread. A result that is not >= 0 is NaN. */
KS_DEVICE double ks_border_states_differ(const ks_border_pair &b, const ks_border_scale &scale)
{
    double worst = 0;
    for (int i = 0; i < b.n; ++i) ks_border_deviation(b, scale, i);
    const double common = ks_border_common(b, scale);
    for (int i = 0; i < b.n; ++i) {
        worst = ks_border_differs(b, scale, common, i, worst);
        if (!(worst >= 0)) return worst;
    }
    return worst;
}

/* Factor P = L D L' (n, n): the inverse of the unit lower triangle L goes to `inverse`, and D to D. Where the states
 * before a state determine it to the precision of P, its column of L is that of the identity. */
KS_DEVICE void ks_border_whiten(const ks_border_pair &b, const ks_border_scale &scale, double *inverse, double *D)
{
    const int n = b.n;
    for (int j = 0; j < n; ++j) {
        double left = b.P[j * n + j];
        for (int k = 0; k < j; ++k) left -= inverse[j * n + k] * inverse[j * n + k] * D[k];
        D[j] = left;
        const bool counts = left > ks_border_least(b, scale, j);
        for (int i = j + 1; i < n; ++i) {
            double s = b.P[i * n + j];
            for (int k = 0; k < j; ++k) s -= inverse[i * n + k] * inverse[j * n + k] * D[k];
            inverse[i * n + j] = counts ? s / left : 0;
        }
        inverse[j * n + j] = 1;
    }
    /* In place: of row i, columns before c already belong to the inverse, those from c on still to L. */
    for (int i = 1; i < n; ++i)
        for (int c = 0; c < i; ++c) {
            double s = inverse[i * n + c];
            for (int l = c + 1; l < i; ++l) s += inverse[i * n + l] * inverse[l * n + c];
            inverse[i * n + c] = -s;
        }
}

/* The residual of state i in its regression on the states before it: the difference of the means in it to *mean, its
 * size to *size, and the square root of the variance that it is made of to *root. */
KS_DEVICE void ks_border_combines(const ks_border_pair &b, const double *inverse, int i, double *mean, double *size,
                                  double *root)
{
    *mean = *size = *root = 0;
    for (int c = 0; c <= i; ++c) {
        const double share = inverse[i * b.n + c];
        *mean += share * (b.x2[c] - b.x[c]);
        *size += fabs(share) * b.size[c];
        *root += fabs(share) * ks_deviation(b.taken[c]);
    }
}

/* The largest difference over the residuals of each state in its regression on the states before it. A residual may be
 * known far better than its state. Residuals are compared like estimates of which the first is zero with covariance D.
 * A difference of `most` must exceed the round-off of the terms of a residual. Not for results in single precision,
 * where the round-off of steps may be larger. W: n^2 + 2 n numbers. */
KS_DEVICE double ks_border_combinations_differ(const ks_border_pair &b, const ks_border_scale &scale, double most, double *W)
{
    const int n = b.n;
    double *const inverse = W, *const D = inverse + n * n, *const row = D + n;
    double worst = 0;
    ks_border_whiten(b, scale, inverse, D);
    for (int i = 0; i < n; ++i) {
        double mean, size, root;
        ks_border_combines(b, inverse, i, &mean, &size, &root);
        for (int c = 0; c < n; ++c) {
            row[c] = 0;
            for (int l = 0; l <= i; ++l) {
                const int at = l > c ? l * n + c : c * n + l;
                row[c] += inverse[i * n + l] * (b.P2[at] - b.P[at]);
            }
        }
        const double least = KS_ROUNDINGS * scale.cov * (root * root / most), own = D[i] > least ? D[i] : least;
        b.sd[i] = ks_deviation(own > DBL_MIN ? own : DBL_MIN);
        const double off = fabs(mean) - KS_ROUNDINGS * scale.mean * size;
        if (!(off <= worst * b.sd[i])) worst = off / b.sd[i];
        for (int j = 0; j <= i; ++j) {
            double difference = 0;
            for (int c = 0; c <= j; ++c) difference += row[c] * inverse[j * n + c];
            difference = fabs(difference);
            if (!(difference <= worst * (b.sd[i] * b.sd[j]))) worst = difference / (b.sd[i] * b.sd[j]);
        }
        if (!(worst >= 0)) return worst;
    }
    return worst;
}

/* The largest difference over all states and, in double, their residuals: in standard deviations of the first estimate,
 * or relative of covariances. By one thread. W: n^2 + 2 n numbers. */
KS_DEVICE double ks_border_differ(const ks_border_pair &b, const ks_scan_arrays &a, double *W)
{
    const ks_border_scale scale = ks_border_scale_of(&a);
    const double states = ks_border_states_differ(b, scale);
    if (a.single_cov || !(states <= KS_CHUNKS_DIFFER_MOST(0))) return states;
    const double combinations = ks_border_combinations_differ(b, scale, KS_CHUNKS_DIFFER_MOST(0), W);
    return combinations <= states ? states : combinations;
}

/* Set b.size and b.taken of state i for the prediction F x + u from covariance P. */
KS_DEVICE void ks_border_predicts(const ks_border_pair &b, const double *F, const double *Q, const double *u,
                                  const double *x, const double *P, int i)
{
    double root = 0;
    for (int j = 0; j < b.n; ++j) root += fabs(F[i * b.n + j]) * ks_deviation(P[j * b.n + j]);
    b.size[i] = ks_prediction_size(b.n, F, u, x, i);
    b.taken[i] = root * root + Q[i * b.n + i];
}

/* Set b.size and b.taken of state i for an estimate made from the filtered x, P and the mean `other`. */
KS_DEVICE void ks_border_leads(const ks_border_pair &b, const double *x, const double *P, const double *other, int i)
{
    b.size[i] = fabs(x[i]) > fabs(other[i]) ? fabs(x[i]) : fabs(other[i]);
    b.taken[i] = P[i * b.n + i];
}

/* Whether state i of a prediction is known so well relative to its size that a smoothing step from it multiplies
 * round-off. */
KS_DEVICE bool ks_border_is_sharp(const double *x, const double *P, const ks_border_scale &scale, int n, int i)
{
    return !(scale.mean * (x[i] * x[i]) <= P[i * n + i]);
}

/* The least share of a predicted variance that may remain after regression on the states before. */
KS_DEVICE double ks_border_least_left(const ks_scan_arrays *a) { return a->single_cov ? 0x1p-12 : 0x1p-26; }

/* The same for the covariance in double that a chunk begins from, if it is to have the digits that results need. */
KS_DEVICE double ks_begin_least_left(const ks_scan_arrays *a) { return KS_IS_LEFT(a->single_cov); }

#endif
