/* check.c -- checks of models: finite numbers, covariances that are symmetric and not indefinite. */
#include <math.h>
#include "kalscan/smooth.h"
#include "lapack.h"
#include "reach.h"
#include "smooth_plan.h"

static double entry(ks_precision precision, const void *data, int64_t i)
{
    return precision == KS_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

/** Whether all pivots are positive, so that the matrix is certainly not indefinite. A (n, n) is destroyed. */
static int factors(int n, double *A)
{
    for (int j = 0; j < n; ++j) {
        double *a = A + (size_t)j * (size_t)n;
        if (!(a[j] > 0)) return 0;
        for (int i = j + 1; i < n; ++i) {
            double *b = A + (size_t)i * (size_t)n;
            const double l = b[j] / a[j];
            for (int k = j + 1; k <= i; ++k) b[k] -= l * A[(size_t)k * (size_t)n + (size_t)j];
        }
    }
    return 1;
}

static int diagonal(int n, ks_precision precision, const void *block, double *least)
{
    *least = 0;
    for (int i = 0; i < n; ++i) {
        const double d = entry(precision, block, (int64_t)i * n + i);
        if (i == 0 || d < *least) *least = d;
        for (int j = 0; j < i; ++j)
            if (entry(precision, block, (int64_t)i * n + j) != 0) return 0;
    }
    return 1;
}

typedef struct covariance_limits { double asymmetry, indefinite; } covariance_limits;

/** Check one covariance; `scratch` holds n * n + ks_eigenvalue_scratch(n) doubles. */
static ks_fault check_covariance(ks_precision precision, int n, const void *block,
                                 covariance_limits limits, double *scratch, ks_info *info)
{
    double largest = 0, worst = -1, trace = 0, least = 0;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            const double a = entry(precision, block, (int64_t)i * n + j);
            info->row = i;
            info->column = j;
            if (!isfinite(a)) return KS_FAULT_NOT_FINITE;
            if (fabs(a) > largest) largest = fabs(a);
        }
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < i; ++j) {
            const double gap = fabs(entry(precision, block, (int64_t)i * n + j) -
                                    entry(precision, block, (int64_t)j * n + i));
            if (gap <= worst) continue;
            worst = gap;
            info->row = i;
            info->column = j;
        }
    if (worst > limits.asymmetry * largest) {
        info->value = worst;
        return KS_FAULT_ASYMMETRIC;
    }
    info->row = info->column = -1;
    for (int i = 0; i < n; ++i) trace += entry(precision, block, (int64_t)i * n + i);
    if (!diagonal(n, precision, block, &least)) {
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j)
                scratch[(size_t)i * (size_t)n + (size_t)j] =
                    (entry(precision, block, (int64_t)i * n + j) +
                     entry(precision, block, (int64_t)j * n + i)) / 2;
        double *copy = scratch;
        if (factors(n, copy)) return KS_FAULT_NONE;
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j)
                scratch[(size_t)i * (size_t)n + (size_t)j] =
                    (entry(precision, block, (int64_t)i * n + j) +
                     entry(precision, block, (int64_t)j * n + i)) / 2;
        if (ks_smallest_eigenvalue(n, scratch, scratch + (size_t)n * (size_t)n, &least))
            return KS_FAULT_NOT_FINITE;
    }
    if (!(least < -limits.indefinite * (trace > 0 ? trace : 0))) return KS_FAULT_NONE;
    info->value = least;
    return KS_FAULT_INDEFINITE;
}

static size_t covariance_scratch(int n)
{
    return ((size_t)n * (size_t)n + ks_eigenvalue_scratch(n)) * sizeof(double);
}

static ks_status report(ks_info *info, ks_array array, ks_fault fault, int64_t series,
                        int64_t step)
{
    info->array = array;
    info->fault = fault;
    info->series = series;
    info->step = step;
    info->status = KS_EMODEL;
    return KS_EMODEL;
}

ks_status ks_covariance_symmetrize(ks_precision precision, int n, int64_t count, void *blocks,
                                   double asymmetry, double indefinite, ks_info *info)
{
    ks_info mine = KS_INFO_INIT;
    if (info && info->size != sizeof *info) return KS_EINVAL;
    if (info) *info = mine;
    ks_info *told = info ? info : &mine;
    if (n < 1 || count < 0 || (count > 0 && !blocks) || (precision != KS_F64 && precision != KS_F32) ||
        !(asymmetry >= 0) || !(indefinite >= 0))
        return told->status = KS_EINVAL;
    if (count == 0) return KS_OK;
    const int64_t size = (int64_t)n * n;
    if (!ks_within_reach(count, size, 1, 0, size)) return told->status = KS_EINVAL;
    double *scratch = ks_allocate(NULL, covariance_scratch(n));
    if (!scratch) return told->status = KS_ENOMEM;
    const covariance_limits limits = { asymmetry, indefinite };
    const size_t bytes = precision == KS_F64 ? sizeof(double) : sizeof(float);
    ks_status status = KS_OK;
    for (int64_t b = 0; b < count && status == KS_OK; ++b) {
        char *block = (char *)blocks + (size_t)b * (size_t)n * (size_t)n * bytes;
        const ks_fault fault = check_covariance(precision, n, block, limits, scratch, told);
        if (fault != KS_FAULT_NONE) {
            status = report(told, KS_ARRAY_NONE, fault, -1, b);
            break;
        }
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < i; ++j) {
                const int64_t ij = (int64_t)i * n + j, ji = (int64_t)j * n + i;
                if (precision == KS_F64) {
                    double *a = (double *)(void *)block;
                    a[ij] = a[ji] = a[ij] / 2 + a[ji] / 2;
                } else {
                    float *a = (float *)(void *)block;
                    a[ij] = a[ji] = a[ij] / 2 + a[ji] / 2;
                }
            }
    }
    ks_release(NULL, scratch);
    return status;
}

typedef struct model_part {
    ks_array array;
    const ks_view *view;
    int rows, columns;
    int covariance, transition, steps;
} model_part;

/** Check one array of a model, in every series and step that a run reads. */
static ks_status check_part(const ks_smooth_plan *plan, const ks_model *model,
                            const model_part *p, covariance_limits limits, double *scratch,
                            ks_info *info)
{
    const ks_precision precision = plan->options.precision == KS_F32 ? KS_F32 : KS_F64;
    const int64_t bytes = (int64_t)plan->mean_bytes;
    const int64_t series = p->view->series_stride ? plan->B : 1;
    const int64_t steps = p->steps && p->view->step_stride ? plan->T : 1;
    const int shift = p->transition && steps > 1 && model->transition == KS_OUT_OF;
    if (!p->view->data) return KS_OK;
    for (int64_t b = 0; b < series; ++b)
        for (int64_t k = 0; k < steps; ++k) {
            /* Under KS_PRIOR_X1 no transition leads into step 0. */
            if (p->transition && k == 0 && model->prior == KS_PRIOR_X1 && steps > 1) continue;
            if (p->transition && plan->T == 1 && model->prior == KS_PRIOR_X1) continue;
            const char *block = (const char *)p->view->data +
                                (b * p->view->series_stride + (k - shift) * p->view->step_stride) *
                                    bytes;
            ks_fault fault = KS_FAULT_NONE;
            if (p->covariance) {
                fault = check_covariance(precision, p->rows, block, limits, scratch, info);
            } else {
                for (int i = 0; i < p->rows * p->columns && fault == KS_FAULT_NONE; ++i)
                    if (!isfinite(entry(precision, block, i))) {
                        fault = KS_FAULT_NOT_FINITE;
                        info->row = i / p->columns;
                        info->column = i % p->columns;
                    }
            }
            if (fault != KS_FAULT_NONE) return report(info, p->array, fault, b, k);
        }
    return KS_OK;
}

ks_status ks_model_check(const ks_smooth_plan *plan, const ks_model *model, double asymmetry,
                         double indefinite, ks_info *info)
{
    ks_info mine = KS_INFO_INIT;
    if (info && info->size != sizeof *info) return KS_EINVAL;
    if (info) *info = mine;
    ks_info *told = info ? info : &mine;
    if (!plan || !(asymmetry >= 0) || !(indefinite >= 0) || !ks_valid_model(plan, model, &told->array))
        return told->status = KS_EINVAL;
    const int nx = plan->nx, ny = plan->ny;
    const ks_model plain = ks_plain_model(plan, model);
    model = &plain;
    const model_part parts[] = {
        { KS_ARRAY_F, &model->F, nx, nx, 0, 1, 1 },  { KS_ARRAY_Q, &model->Q, nx, nx, 1, 1, 1 },
        { KS_ARRAY_U, &model->u, nx, 1, 0, 1, 1 },   { KS_ARRAY_H, &model->H, ny, nx, 0, 0, 1 },
        { KS_ARRAY_R, &model->R, ny, ny, 1, 0, 1 },  { KS_ARRAY_D, &model->d, ny, 1, 0, 0, 1 },
        { KS_ARRAY_M0, &model->m0, nx, 1, 0, 0, 0 }, { KS_ARRAY_P0, &model->P0, nx, nx, 1, 0, 0 },
    };
    const covariance_limits limits = { asymmetry, indefinite };
    double *scratch = ks_allocate(plan->context, covariance_scratch(nx > ny ? nx : ny));
    if (!scratch) return told->status = KS_ENOMEM;
    ks_status status = KS_OK;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && status == KS_OK; ++i)
        status = check_part(plan, model, &parts[i], limits, scratch, told);
    ks_release(plan->context, scratch);
    return status;
}
