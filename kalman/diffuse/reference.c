/* reference.c -- the distribution that stands for a flat prior of delta until it is divided out.
 *
 * Dividing loses digits where the reference is much narrower than what the observations tell, since I - C is small
 * then, and filtering where it is far off. So the first steps are filtered a few times, and each time the reference
 * becomes what they told the time before, twice as wide. It has no correlations: it is nowhere much narrower than what
 * is told, whose own correlations may be singular, as of sums that are observed without noise. Nor is it narrower than
 * the distance by which its centre moved, which ends as round-off, nor so narrow that a singular R makes innovation
 * covariances singular: where a combination of entries without noise tells a direction, nothing else would stop it. */
#include <string.h>
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

/* A reference that the filter has taken: centre and width (d). `too_narrow`: it has refused a narrower one since. */
typedef struct taken_reference {
    double *centre, *width;
    int any, too_narrow;
} taken_reference;

static void remember(const ks_start *start, taken_reference *taken)
{
    ks_copy_f64(start->d, start->centre, taken->centre);
    ks_copy_f64(start->d, start->width, taken->width);
    taken->any = 1;
}

/* Innovation covariances are singular to round-off: widen the reference, half of the way to the one taken before. */
static void widen(ks_start *start, taken_reference *taken)
{
    taken->too_narrow = taken->any;
    for (int c = 0; c < start->d; ++c) {
        const double now = start->width[c];
        start->width[c] = !taken->any ? now * 0x1p20 : now < taken->width[c] ? sqrt(now) * sqrt(taken->width[c]) : now;
    }
}

ks_status ks_start_refer(ks_start *start, ks_start_filter *filter, int64_t end, ks_info *info)
{
    const size_t d = (size_t)start->d, numbers = 2 * d * d + 7 * d;
    double loglik, *work = ks_allocate(start->plan->context, numbers * sizeof *work);
    if (!work) return KS_ENOMEM;
    taken_reference taken = { work + 2 * d * d + 5 * d, work + 2 * d * d + 6 * d, 0, 0 };
    ks_status status = KS_OK;
    int good = end < 1;
    const ks_info told = *info;
    for (int pass = 0; !good && pass < PASSES; ++pass) {
        status = ks_start_sweep(filter, end, NULL, NULL, &loglik, info);
        if (status == KS_ENOTPD) {
            widen(start, &taken);
            continue;
        }
        /* Without digits in I - C the next reference is wider all the same. */
        if (status != KS_OK && status != KS_EREFUSED) break;
        remember(start, &taken);
        good = renew(start, filter, work);
        for (size_t c = 0; taken.too_narrow && c < d; ++c) start->width[c] = fmax(start->width[c], taken.width[c]);
        status = KS_OK;
    }
    if (status == KS_ENOTPD && taken.any) {
        ks_copy_f64(start->d, taken.centre, start->centre);
        ks_copy_f64(start->d, taken.width, start->width);
        status = KS_OK;
    }
    if (status == KS_OK) *info = told;
    ks_release(start->plan->context, work);
    return status;
}

/* Ratio of what the reference leaves open of an entry to its noise from which on later steps are to choose the
 * reference. */
#define FAR 0x1p20
/* Share of a reference's width below which what later steps tell, value and width, has lost some 1e-6 to its round-off. */
#define LOST 0x1p-33

/* Whether an entry of step k tells far more than the reference leaves open: its directions are columns of X (n, d), and
 * the observation adds noise of variance R and, of the last transition, Q. */
static int tells_more(const ks_start *start, int64_t k, const double *X, double *Q, double *R)
{
    const int n = start->n, m = start->m, d = start->d;
    double *H = start->look, *y = start->move;
    int more = 0;
    ks_start_read(start, start->series.y, k, 1, m, y, m);
    ks_start_read(start, start->series.H, k, m, n, H, n);
    ks_start_read(start, start->series.R, k, m, m, R, m);
    if (!ks_start_stays(start, k)) ks_start_read(start, start->series.Q, k - start->series.shift, n, n, Q, n);
    for (int i = 0; i < m; ++i) {
        const double *h = H + i * n;
        double noise = R[i * (m + 1)], open = 0;
        if (isnan(y[i])) continue;
        for (int j = 0; j < n; ++j) noise += h[j] * ks_dot(n, Q + j * n, h);
        for (int c = 0; c < d; ++c) {
            double sum = 0;
            for (int j = 0; j < n; ++j) sum += h[j] * X[j * d + c];
            open += sum * sum;
        }
        more |= open > FAR * noise;
    }
    return more;
}

/* The last step that a reference looks at, after `end` that are needed. */
static int64_t last_of(const ks_start *start, int64_t end)
{
    return start->plan->T - end < KS_START_MORE ? start->plan->T : end + KS_START_MORE;
}

/* Whether one of the steps after the first `end` tells so much more, which those of a constant model do not. Returns -1
 * if there is no memory. */
static int later_tell_more(const ks_start *start, int64_t end)
{
    const int64_t last = last_of(start, end);
    const int n = start->n, m = start->m, d = start->d;
    if (!start->series.F.stride && !start->series.H.stride && !start->series.R.stride) return 0;
    const size_t numbers = (size_t)(2 * n * n + 2 * n * d + m * m);
    double *F = ks_allocate(start->plan->context, numbers * sizeof *F);
    if (!F) return -1;
    double *Q = F + n * n, *X = Q + n * n, *moved = X + n * d, *R = moved + n * d;
    int more = 0;
    memset(Q, 0, (size_t)(n * n) * sizeof *Q);
    for (int i = 0; i < n * d; ++i) X[i] = start->A[i] * start->width[i % d];
    for (int64_t k = 0; k < last && !more; ++k) {
        ks_start_transition(start, k, F);
        for (int i = 0; i < n; ++i)
            for (int c = 0; c < d; ++c) {
                double sum = 0;
                for (int j = 0; j < n; ++j) sum += F[i * n + j] * X[j * d + c];
                moved[i * d + c] = sum;
            }
        memcpy(X, moved, (size_t)(n * d) * sizeof *X);
        if (k >= end) more = tells_more(start, k, X, Q, R);
    }
    ks_release(start->plan->context, F);
    return more;
}

/* Choose centre and width by all steps that a reference looks at, from nothing. The filter is one of these. */
static ks_status refer_to_all(ks_start *start, ks_start_filter *filter, int64_t end, ks_info *info)
{
    const int64_t last = last_of(start, end);
    for (int c = 0; c < start->d; ++c) {
        start->centre[c] = 0;
        start->width[c] = 1;
    }
    const ks_status status = ks_start_filter_make(filter, start, last);
    return status == KS_OK ? ks_start_refer(start, filter, last, info) : status;
}

ks_status ks_start_refer_later(ks_start *start, ks_start_filter *filter, int64_t end, ks_info *info)
{
    const int more = later_tell_more(start, end);
    if (more <= 0) return more < 0 ? KS_ENOMEM : KS_OK;
    ks_start_filter_free(filter);
    return refer_to_all(start, filter, end, info);
}

ks_status ks_start_keeps_later(const ks_start *start, int64_t end, ks_info *info)
{
    /* Directions that grow only seem to be told so much more by later steps, so the widths decide. */
    const int more = later_tell_more(start, end);
    if (more <= 0) return more < 0 ? KS_ENOMEM : KS_OK;
    ks_start other = *start;
    ks_start_filter filter = { 0 };
    other.centre = ks_allocate(start->plan->context, 2 * (size_t)start->d * sizeof(double));
    if (!other.centre) return KS_ENOMEM;
    other.width = other.centre + start->d;
    ks_status status = refer_to_all(&other, &filter, end, info);
    for (int c = 0; status == KS_OK && c < start->d; ++c)
        if (fmax(other.width[c], fabs(other.centre[c])) < LOST * start->width[c]) status = KS_EREFUSED;
    ks_start_filter_free(&filter);
    ks_release(start->plan->context, other.centre);
    return status;
}
