/* estimate_rounding_text.h -- round-off of estimates in standard deviations: what scans are judged by. */
#ifndef KS_ESTIMATE_ROUNDING_TEXT_H
#define KS_ESTIMATE_ROUNDING_TEXT_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include "hd.h"
#include "roundoff.h"
#include "series.h"

/* How many times the rounding of a number as large as a mean does not count: steps that forget sum up some of them. */
#define KS_ROUNDINGS 64.

/** What estimates may move by, in standard deviations. */
#define KS_MOVES_MOST 1e-7

/** By how many standard deviations ends of chunks disagree that are suspect. */
#define KS_CHUNKS_SUSPECT(single) ((single) ? 0x1p-8 : 0x1p-30)

/** What estimates may differ by, in standard deviations, where chunks of steps meet; results in single precision bear
 *  more. */
#define KS_CHUNKS_DIFFER_MOST(single) ((single) ? 1e-2 : 7e-7)

/** The same for what round-off on the way back of a smoother in chunks may move them by. */
#define KS_WAY_BACK_MOVES_MOST(single) ((single) ? 1e-2 : KS_MOVES_MOST)

/** A scan of filtering elements is suspect where a step of the filter from the estimate of the step before disagrees with
 *  it by more than this, in standard deviations and in shares of covariances; in single precision results bear more. */
#define KS_DISAGREES(single) ((single) ? 0x1p-17 : 0x1p-30)

/** and where less than this is left of a variance: the scan, which has covariances, holds it no better, */
#define KS_IS_LEFT(single) ((single) ? 0x1p-36 : 0x1p-26)

/** and where round-off of the information from behind could do this to a smoothed estimate. */
#define KS_COULD_DO(single) ((single) ? 0x1p-20 : 0x1p-33)

/** 1 or -1, as good as random (Steele, Lea & Flood's SplitMix64). */
KS_HD double ks_random_sign(uint64_t number)
{
    uint64_t z = number * 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z >> 63 ? 1 : -1;
}

/** A standard deviation from a variance that may be round-off. */
KS_HD double ks_deviation(double variance) { return variance > 0 ? sqrt(variance) : 0; }

/** Round-off of random signs into an estimate, in its place or elsewhere: `of_mean` of each entry of x, unless x is NULL, and
 *  `of_cov` of standard deviations into C, a covariance or where `root` its square root. Signs begin behind number `sign`;
 *  the last one is returned. size: n numbers. */
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

/** The size of the terms of F x + u, entry i. */
KS_HD double ks_prediction_size(int n, const double *F, const double *u, const double *x, int i)
{
    double size = fabs(u[i]);
    for (int c = 0; c < n; ++c) size += fabs(F[i * n + c] * x[c]);
    return size;
}

/** A fault of step k, which `moves` by more than `most` standard deviations, *told of which it is to be. */
KS_HD void ks_tell_moved(ks_tally *tally, double *told, int64_t k, double moves, double most)
{
    if (moves <= most) return;
    tally->bad_step = k;
    tally->bad_row = 0;
    tally->bad_array = KS_ARRAY_ESTIMATE;
    tally->fault = KS_FAULT_ILL_CONDITIONED;
    *told = moves > 0 ? moves : (double)INFINITY;
}

/** Whether two estimates (x, P) and (x2, P2) of n states disagree by more than `most` standard deviations of the first
 *  and 64 roundings, `unit` each, of its mean, or by as large a share of its covariances. Not finite: they do. */
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

/** Whether of a variance of P (n, n) the states before leave less than `least`: so much of its digits is gone in some
 *  combination of states. W: n² numbers. */
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

/** By how many standard deviations (moved_x, moved_P) is off (x, P), or its covariance by so large a share, more than
 *  roundings of the mean. Variances that are round-off of `before` (n, n), the covariance that they have been taken
 *  from, are those of what is known exactly. Not finite where numbers are none. sd: n numbers of scratch. */
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

/** The larger of two of these, no number where one of them is none. */
KS_HD double ks_larger_move(double a, double b) { return a <= b ? b : b >= 0 ? a : b; }

/** A step of a filter: what it predicts, what it comes to, and its term of the log-likelihood. */
typedef struct ks_filtered_step_of {
    const double *predicted_mean, *mean, *cov;
    double *predicted_cov;
    double term;
} ks_filtered_step_of;

/** By how much another filter's step b differs from a, whose estimate has been a root where `root` says so, in standard
 *  deviations or shares. Of a.predicted_cov variances are lost. sd: n numbers of scratch. */
KS_HD double ks_filters_differ(int n, int root, const ks_filtered_step_of *a, const ks_filtered_step_of *b, double *sd)
{
    const double rounding = KS_ROUNDINGS * ks_unit_roundoff(0);
    const double of_term = fabs(b->term - a->term) / (fabs(a->term) > 1 ? fabs(a->term) : 1);
    const double of_prediction = ks_estimate_moves(n, a->predicted_mean, a->predicted_cov, a->predicted_cov,
                                                   b->predicted_mean, b->predicted_cov, sd);
    /* A root has the round-off of standard deviations: of what is more than that all digits are there. */
    for (int i = 0; root && i < n; ++i) {
        double *variance = a->predicted_cov + i * (n + 1);
        if (a->cov[i * (n + 1)] > rounding * rounding * *variance) *variance = 0;
    }
    const double of_estimate = ks_estimate_moves(n, a->mean, a->cov, a->predicted_cov, b->mean, b->cov, sd);
    return ks_larger_move(ks_larger_move(of_term, of_prediction), of_estimate);
}

/** Whether round-off of the information J (packed) that comes from behind could move an estimate of n states to which it
 *  has led from x, as (smoothed, P): by a share DBL_EPSILON sqrt(J_ii J_jj) of each entry, and by as much of what it
 *  pulls x to. */
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
