/* border_differ.h -- device code: by how much two estimates differ that should be the same, see chunk_judge.h. A thread
 * asks this of all states, the threads of a team each of some. */
#ifndef KS_BORDER_DIFFER_H
#define KS_BORDER_DIFFER_H

#include <float.h>
#include "chunk_kernels.h"
#include "estimate_rounding_text.h"
#include "gpu/kernel.h"

/* The estimates (x, P) and (x2, P2) of n states. A mean may be off by roundings of a number as large as size[i];
 * variances that are round-off of taken[i] are those of what is known exactly. */
struct ks_border_pair {
    int n;
    const double *x, *P, *x2, *P2;
    double *size, *taken, *sd; /* n numbers each; sd is scratch */
};

/* The rounding of a number of means and of covariances, and whether steps have means in single precision. */
struct ks_border_scale {
    double mean, cov;
    int single;
};

// The first chunk's way back is to be asked, say those who find it so, none of them knowing of the others.
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

/* When that of all states is there: the size that counts for every one, in standard deviations. */
KS_DEVICE double ks_border_common(const ks_border_pair &b, const ks_border_scale &scale)
{
    double common = 0;
    for (int i = 0; i < b.n; ++i)
        if (scale.single && b.P[i * b.n + i] > ks_border_least(b, scale, i) && b.size[i] > common * b.sd[i])
            common = b.size[i] / b.sd[i];
    return common;
}

/* By how many standard deviations of (x, P) the mean of state i is off, or by how large a share its covariances with
 * the states up to it, if that is more than `worst`. */
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

/* Of all states, a thread. */
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

/* The inverse of the unit triangle L of P = L D L' (n, n), to `inverse`, and D; a state that those before it determine, as
 * far as P has digits, stands for itself. */
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
    /* In its place: of row i what is left of column c is the inverse's, what is right of it still L's. */
    for (int i = 1; i < n; ++i)
        for (int c = 0; c < i; ++c) {
            double s = inverse[i * n + c];
            for (int l = c + 1; l < i; ++l) s += inverse[i * n + l] * inverse[l * n + c];
            inverse[i * n + c] = -s;
        }
}

/* What state i is more than its regression on those before it, of the difference of the means and of what they bear. */
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

/* The same of what each state is more than its regression on the states before it, which may be known far better than the
 * state, as if of estimates of which the first is zero with the covariance D. What `most` would take for a difference there
 * must be more than the rounding of what it is made of. Not for results in single precision, whose steps' own round-off may be
 * more. W: n^2 + 2 n numbers. */
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

/* By how many standard deviations of the first the mean of the second is off, or its covariance by so large a share: a
 * thread, of all states and of their combinations. W: n^2 + 2 n numbers. */
KS_DEVICE double ks_border_differ(const ks_border_pair &b, const ks_scan_arrays &a, double *W)
{
    const ks_border_scale scale = ks_border_scale_of(&a);
    const double states = ks_border_states_differ(b, scale);
    if (a.single_cov || !(states <= KS_CHUNKS_DIFFER_MOST(0))) return states;
    const double combinations = ks_border_combinations_differ(b, scale, KS_CHUNKS_DIFFER_MOST(0), W);
    return combinations <= states ? states : combinations;
}

/* What the prediction F x + u of a covariance P bears in state i, to b.size and b.taken. */
KS_DEVICE void ks_border_predicts(const ks_border_pair &b, const double *F, const double *Q, const double *u,
                                  const double *x, const double *P, int i)
{
    double root = 0;
    for (int j = 0; j < b.n; ++j) root += fabs(F[i * b.n + j]) * ks_deviation(P[j * b.n + j]);
    b.size[i] = ks_prediction_size(b.n, F, u, x, i);
    b.taken[i] = root * root + Q[i * b.n + i];
}

/* What an estimate of state i bears that a filtered x, P and another mean have led to. */
KS_DEVICE void ks_border_leads(const ks_border_pair &b, const double *x, const double *P, const double *other, int i)
{
    b.size[i] = fabs(x[i]) > fabs(other[i]) ? fabs(x[i]) : fabs(other[i]);
    b.taken[i] = P[i * b.n + i];
}

/* Whether a prediction is known so well beside its size that a way back from it multiplies round-off, state i. */
KS_DEVICE bool ks_border_is_sharp(const double *x, const double *P, const ks_border_scale &scale, int n, int i)
{
    return !(scale.mean * (x[i] * x[i]) <= P[i * n + i]);
}

/* What of a predicted variance the states before must leave. */
KS_DEVICE double ks_border_least_left(const ks_scan_arrays *a) { return a->single_cov ? 0x1p-12 : 0x1p-26; }

/* and of one in double that a chunk begins from, if that is to have the digits that results bear. */
KS_DEVICE double ks_begin_least_left(const ks_scan_arrays *a) { return KS_IS_LEFT(a->single_cov); }

#endif
