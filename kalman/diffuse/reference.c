/* reference.c -- the distribution that stands for a flat prior of delta until it is divided out.
 *
 * Dividing loses digits where the reference is much narrower than what the observations tell, since I - C is small
 * then, and filtering where it is far off. So the first steps are filtered a few times, and each time the reference
 * becomes what they told the time before, twice as wide. It has no correlations: it is nowhere much narrower than what
 * is told, whose own correlations may be singular, as of sums that are observed without noise. Nor is it narrower than
 * the distance by which its centre moved, which ends as round-off. */
#include "start.h"
#include "dense.h"

enum { PASSES = 6 };

/* cov (r, r) <- Cov(G eta) (I - C)^-1 and mean (r) <- (I - C)^-1 E(G eta): the flat prior's. Returns -1 where no digits
 * are left. */
static int told_by(const ks_limit *limit, double *cov, double *mean, double *LD, double *inverse)
{
    const int r = limit->known;
    for (int i = 0; i < r * r; ++i) LD[i] = (i % (r + 1) == 0) - limit->told_cov[i];
    if (!ks_ldl_f64(r, 0x1p-48, LD, inverse)) return -1;
    ks_copy_f64(r * r, limit->told_cov, cov);
    ks_ldl_forward_f64(r, r, LD, cov);
    ks_ldl_backward_f64(r, r, LD, inverse, cov);
    ks_copy_f64(r, limit->told_mean, mean);
    ks_ldl_forward_f64(r, 1, LD, mean);
    ks_ldl_backward_f64(r, 1, LD, inverse, mean);
    return 0;
}

/* The width after `before`, for what was told with this variance, `moved` from the centre. */
static double next_width(double before, double variance, double moved)
{
    const double next = fmax(2 * sqrt(fmax(variance, 0)), fabs(moved) / 4);
    if (next == 0) return before;
    return fmin(fmax(next, 0x1p-30 * before), 0x1p30 * before);
}

/* The next centre and width. Returns whether these suited. */
static int renew(ks_start *start, const ks_start_filter *f, double *work)
{
    const ks_limit *limit = &f->limit;
    const int d = start->d, r = limit->known, q = d - r;
    double *cov = work, *LD = cov + r * r, *mean = LD + r * r, *inverse = mean + r, *beta = inverse + r;
    double *step = beta + r, *row = step + r;
    const double *told = f->unknown.U + q * d;
    int good = 1;
    if (told_by(limit, cov, mean, LD, inverse) != 0) {
        for (int c = 0; c < d; ++c) start->width[c] *= 0x1p20;
        return 0;
    }
    for (int i = 0; i < r; ++i) {
        step[i] = ks_dot(i + 1, limit->R + i * r, mean);
        beta[i] = ks_dot(d, told + i * d, start->centre) + step[i];
        good &= fabs(mean[i]) < 8;
    }
    /* delta = M' beta and so M' R, by G eta; what is not told keeps its width. */
    for (int c = 0; c < d; ++c) {
        double variance = 0, open = 0, centre = 0, moved = 0;
        for (int i = 0; i < r; ++i) {
            centre += told[i * d + c] * beta[i];
            moved += told[i * d + c] * step[i];
        }
        for (int j = 0; j < r; ++j) {
            row[j] = 0;
            for (int i = j; i < r; ++i) row[j] += told[i * d + c] * limit->R[i * r + j];
        }
        for (int j = 0; j < r; ++j) variance += row[j] * ks_dot(r, cov + j * r, row);
        for (int i = 0; i < q; ++i) open = hypot(open, f->unknown.U[i * d + c]);
        const double before = start->width[c], next = next_width(before, variance, moved);
        start->centre[c] = centre;
        start->width[c] = open > start->tiny ? fmax(next, before) : next;
        good &= next < 16 * before && next > before / 16;
    }
    return good;
}

ks_status ks_start_refer(ks_start *start, ks_start_filter *filter, int64_t end, ks_info *info)
{
    const size_t d = (size_t)start->d, numbers = 2 * d * d + 5 * d;
    double loglik, *work = ks_allocate(start->plan->context, numbers * sizeof *work);
    ks_status status = work ? KS_OK : KS_ENOMEM;
    int good = end < 1;
    for (int pass = 0; status == KS_OK && !good && pass < PASSES; ++pass) {
        status = ks_start_sweep(filter, end, NULL, NULL, &loglik, info);
        /* Without digits in I - C the next reference is wider all the same. */
        if (status == KS_EREFUSED) status = KS_OK;
        if (status == KS_OK) good = renew(start, filter, work);
    }
    ks_release(start->plan->context, work);
    return status;
}
