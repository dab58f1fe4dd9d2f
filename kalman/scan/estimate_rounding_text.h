/* estimate_rounding_text.h -- the bounds by which scans are judged, and the round-off of estimates in standard
 * deviations. */
#ifndef KS_ESTIMATE_ROUNDING_TEXT_H
#define KS_ESTIMATE_ROUNDING_TEXT_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include "hd.h"
#include "roundoff.h"
#include "series.h"

/* Round-offs of a mean that are not counted as a difference. Steps that forget add up several of them. */
#define KS_ROUNDINGS 64.

/** By how many standard deviations round-off may move estimates. */
#define KS_MOVES_MOST 1e-7

/** A series is suspect if the two estimates at the end of a chunk disagree by more than this many standard
 *  deviations. */
#define KS_CHUNKS_SUSPECT(single) ((single) ? 0x1p-8 : 0x1p-30)

/** By how many standard deviations estimates of a suspect series may differ between two ways to compute them. Results
 *  in single precision bear more. */
#define KS_CHUNKS_DIFFER_MOST(single) ((single) ? 1e-2 : 7e-7)

/** By how many standard deviations round-off on the way back of a smoother in chunks may move estimates. */
#define KS_WAY_BACK_MOVES_MOST(single) ((single) ? 1e-2 : KS_MOVES_MOST)

/** A scan of filtering elements is suspect under any of three conditions. First: a filter step from the previous
 *  estimate disagrees with the scan by more than this, in standard deviations and in shares of covariances. Results in
 *  single precision bear more. */
#define KS_DISAGREES(single) ((single) ? 0x1p-17 : 0x1p-30)

/** Second: less than this share of a variance is left. The scan keeps covariances, which hold no more digits of it. */
#define KS_IS_LEFT(single) ((single) ? 0x1p-36 : 0x1p-26)

/** Third: round-off of the information from behind could move a smoothed estimate by this. */
#define KS_COULD_DO(single) ((single) ? 0x1p-20 : 0x1p-33)

/** Return 1 or -1, pseudo-random (SplitMix64 of Steele, Lea & Flood). */
KS_HD double ks_random_sign(uint64_t number)
{
    uint64_t z = number * 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z >> 63 ? 1 : -1;
}

/** Return the standard deviation of a variance that may be round-off, and so negative. */
KS_HD double ks_deviation(double variance) { return variance > 0 ? sqrt(variance) : 0; }

/** Put round-off with random signs into an estimate: `of_mean` of each entry of x, unless x is NULL, and `of_cov` of
 *  the standard deviations into C, a covariance or, if `root`, a square root. The results go to to_x and to_C, which
 *  may be x and C. Signs start after number `sign`; return the number of the last one. size: n numbers. */
KS_HD uint64_t ks_round_estimate(int n, int root, double of_mean, const double *x, double *to_x, double of_cov,
                                 const double *C, double *to_C, double *size, uint64_t sign)
{
    for (int i = 0; i < n; ++i) {
        double variance = root ? 0 : C[i * n + i];
        for (int j = 0; root && j < n; ++j) variance += C[i * n + j] * C[i * n + j];
        size[i] = ks_deviation(variance);
    }
    for (int i = 0; i < n; ++i) {
        if (x) to_x[i] = x[i] + ks_random_sign(++sign) * of_mean * fabs(x[i]);
        for (int j = 0; j < (root ? n : i + 1); ++j) {
            to_C[i * n + j] = C[i * n + j] + ks_random_sign(++sign) * of_cov * (size[i] * (root ? 1 : size[j]));
            if (!root) to_C[j * n + i] = to_C[i * n + j];
        }
    }
    return sign;
}

/** Return the sum of the absolute terms of (F x + u)_i. */
KS_HD double ks_prediction_size(int n, const double *F, const double *u, const double *x, int i)
{
    double size = fabs(u[i]);
    for (int c = 0; c < n; ++c) size += fabs(F[i * n + c] * x[c]);
    return size;
}

/** If step k moves by more than `most` standard deviations, set the tally's fault and *told. */
KS_HD void ks_tell_moved(ks_tally *tally, double *told, int64_t k, double moves, double most)
{
    if (moves <= most) return;
    tally->bad_step = k;
    tally->bad_row = 0;
    tally->bad_array = KS_ARRAY_ESTIMATE;
    tally->fault = KS_FAULT_ILL_CONDITIONED;
    *told = moves > 0 ? moves : (double)INFINITY;
}

/** Return whether the estimates (x, P) and (x2, P2) of n states disagree: by more than `most` standard deviations of
 *  the first plus 64 roundings, `unit` each, of its mean, or by that share of its covariances. Estimates that are not
 *  finite disagree. */
KS_HD int ks_estimates_disagree(int n, const double *x, const double *P, const double *x2, const double *P2, double most,
                                double unit)
{
    const double square = most * most;
    int agree = 1;
    for (int i = 0; i < n; ++i) {
        const double variance = P[i * n + i], rounding = KS_ROUNDINGS * unit * fabs(x[i]);
        const double off = fabs(x2[i] - x[i]) - rounding, own = off > 0 ? off : 0;
        agree &= own * own <= square * variance && off <= DBL_MAX;
        for (int j = 0; j <= i; ++j) {
            const double difference = P2[i * n + j] - P[i * n + j];
            agree &= difference * difference <= square * (variance * P[j * n + j]);
        }
    }
    return !agree;
}

/** Return whether some variance of P (n, n), given the states before it, is less than the share `least` of the whole:
 *  that many digits are lost in some combination of states. W: n² numbers. */
KS_HD int ks_covariance_is_sharp(int n, const double *P, double least, double *W)
{
    int sharp = 0;
    for (int i = 0; i < n; ++i) {
        double left = P[i * n + i];
        for (int j = 0; j < i; ++j) {
            double s = P[i * n + j];
            for (int l = 0; l < j; ++l) s -= W[i * n + l] * W[j * n + l] * W[l * n + l];
            W[i * n + j] = W[j * n + j] > 0 ? s / W[j * n + j] : 0;
            left -= W[i * n + j] * W[i * n + j] * W[j * n + j];
        }
        W[i * n + i] = left;
        sharp |= !(left >= least * P[i * n + i]);
    }
    return sharp;
}

/** Return by how many standard deviations (moved_x, moved_P) differs from (x, P) beyond roundings of the mean, or by
 *  what share its covariances do. `before` (n, n) is the covariance from which P was subtracted; a variance within its
 *  round-off belongs to a state that is known exactly, and counts as that round-off. Not finite if a number is not.
 *  sd: n numbers of scratch. */
KS_HD double ks_estimate_moves(int n, const double *x, const double *P, const double *before, const double *moved_x,
                               const double *moved_P, double *sd)
{
    double worst = 0;
    for (int i = 0; i < n; ++i) {
        const double least = KS_ROUNDINGS * ks_unit_roundoff(0) * before[i * n + i];
        sd[i] = ks_deviation(P[i * n + i] > least ? P[i * n + i] : least);
        const double off = fabs(moved_x[i] - x[i]) - KS_ROUNDINGS * ks_unit_roundoff(0) * fabs(x[i]);
        if (!(off <= worst * sd[i])) worst = off / sd[i];
        for (int j = 0; j <= i; ++j) {
            const double difference = fabs(moved_P[i * n + j] - P[i * n + j]);
            if (!(difference <= worst * (sd[i] * sd[j]))) worst = difference / (sd[i] * sd[j]);
        }
        if (!(worst >= 0)) return worst;
    }
    return worst;
}

/** Return the larger of two results of ks_estimate_moves(), NaN if one of them is. */
KS_HD double ks_larger_move(double a, double b) { return a <= b ? b : b >= 0 ? a : b; }

/** A step of a filter: its prediction, its result, and its term of the log-likelihood. */
typedef struct ks_filtered_step_of {
    const double *predicted_mean, *mean, *cov;
    double *predicted_cov;
    double term;
} ks_filtered_step_of;

/** Return by how much step b of another filter differs from step a, in standard deviations or shares. `root` says that
 *  a's estimate is kept as a root. Overwrites variances of a->predicted_cov. sd: n numbers of scratch. */
KS_HD double ks_filters_differ(int n, int root, const ks_filtered_step_of *a, const ks_filtered_step_of *b, double *sd)
{
    const double rounding = KS_ROUNDINGS * ks_unit_roundoff(0);
    const double of_term = fabs(b->term - a->term) / (fabs(a->term) > 1 ? fabs(a->term) : 1);
    const double of_prediction = ks_estimate_moves(n, a->predicted_mean, a->predicted_cov, a->predicted_cov,
                                                   b->predicted_mean, b->predicted_cov, sd);
    /* The round-off of a root is relative to standard deviations, not variances. A variance above it has all its
     * digits. */
    for (int i = 0; root && i < n; ++i) {
        double *variance = a->predicted_cov + i * (n + 1);
        if (a->cov[i * (n + 1)] > rounding * rounding * *variance) *variance = 0;
    }
    const double of_estimate = ks_estimate_moves(n, a->mean, a->cov, a->predicted_cov, b->mean, b->cov, sd);
    return ks_larger_move(ks_larger_move(of_term, of_prediction), of_estimate);
}

/** Return whether round-off of the information J (packed) from behind could move the smoothed estimate (smoothed, P) of
 *  n states by more than `most`. x is the filtered mean. The round-off is a share of sqrt(J_ii J_jj) of each entry, and
 *  the same share of what the information pulls x to. */
KS_HD int ks_information_could_do(int n, const double *J, const double *x, const double *smoothed, const double *P,
                                  double most)
{
    double told = 0, pull = 0;
    for (int i = 0; i < n; ++i) {
        const double own = J[i * (i + 1) / 2 + i];
        const double size = fabs(x[i]) > fabs(smoothed[i]) ? fabs(x[i]) : fabs(smoothed[i]);
        told += own * P[i * n + i];
        pull += own * (size * size);
    }
    const double bound = most / ks_unit_roundoff(0);
    return !(told <= bound && told * n * pull <= bound * bound);
}

#endif
