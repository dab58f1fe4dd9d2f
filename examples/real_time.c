/* Filter each observation as it arrives, with a plan of one step that runs again and again.
 *
 * A car on a straight road, x = (position, speed), is pushed at random. Its position is measured once a
 * second with an error of 2 m; now and then a measurement is lost. At the end the whole record is
 * filtered in one run, which gives the same estimates. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <kalscan/smooth.h>

enum { T = 120, NX = 2 };

/* Simulates the sensor; NaN if the measurement is lost. */
static double measure(int k)
{
    return k % 17 == 5 ? nan("") : 0.05 * k * k + 2.0 * sin(12.9898 * k);
}

/* Make a plan that filters `steps` steps, and its workspace. Both are NULL on failure. */
static ks_smooth_plan *make_plan(int64_t steps, void **work)
{
    ks_smooth_options options = KS_SMOOTH_OPTIONS_INIT;
    ks_smooth_plan *plan = NULL;
    options.job = KS_JOB_FILTER;
    options.outputs = KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV | KS_OUT_LOGLIK;
    const ks_status status = ks_smooth_plan_create(&plan, NULL, steps, 1, NX, 1, &options);
    if (status != KS_OK) fprintf(stderr, "planning: %s\n", ks_strerror(status));
    *work = plan ? aligned_alloc(64, ks_smooth_workspace_bytes(plan)) : NULL;
    return plan;
}

int main(void)
{
    static double y[T], means[T][NX], covs[T][NX][NX];
    const double F[NX][NX] = {{1, 1}, {0, 1}}, Q[NX][NX] = {{0.003, 0.005}, {0.005, 0.01}}, H[NX] = {1, 0}, R = 4;
    /* mean[0], cov[0]: the estimate before the first observation. Each run reads one of the two and writes the other. */
    double mean[2][NX] = {{0, 0}}, cov[2][NX][NX] = {{{100, 0}, {0, 25}}}, term, sum = 0, loglik = 0;
    const double m0[NX] = {0, 0}, P0[NX][NX] = {{100, 0}, {0, 25}};
    void *work, *whole_work;
    ks_smooth_plan *step = make_plan(1, &work), *whole = make_plan(T, &whole_work);
    ks_status status = work && whole_work ? KS_OK : KS_ENOMEM;

    ks_model model = KS_MODEL_INIT;
    model.F.data = F;
    model.Q.data = Q;
    model.H.data = H;
    model.R.data = &R;
    ks_outputs outputs = KS_OUTPUTS_INIT;
    outputs.loglik.data = &term;
    for (int k = 0; k < T && status == KS_OK; ++k) {
        const int old = k % 2, new = 1 - old;
        y[k] = measure(k);
        model.m0.data = mean[old];
        model.P0.data = cov[old];
        outputs.filtered_mean.data = mean[new];
        outputs.filtered_cov.data = cov[new];
        status = ks_smooth_run(step, &model, (ks_view){&y[k], 0, 0}, &outputs, work, NULL);
        sum += term;
        if (k % 20 == 5 && status == KS_OK)
            printf("%3d s  measured %6.1f  at %6.1f +- %3.1f m  %5.2f m/s\n", k, y[k], mean[new][0],
                   sqrt(cov[new][0][0]), mean[new][1]);
    }

    model.m0.data = m0;
    model.P0.data = P0;
    outputs.loglik.data = &loglik;
    outputs.filtered_mean = (ks_out){means, NX, 0};
    outputs.filtered_cov = (ks_out){covs, NX * NX, 0};
    if (status == KS_OK) status = ks_smooth_run(whole, &model, (ks_view){y, 1, 0}, &outputs, whole_work, NULL);
    const double gap = fabs(mean[T % 2][0] - means[T - 1][0]) + fabs(sum - loglik);
    if (status == KS_OK) printf("log-likelihood %.6f; step by step and at once differ by %.0e\n", sum, gap);
    else fprintf(stderr, "filtering: %s\n", ks_strerror(status));
    free(work);
    free(whole_work);
    ks_smooth_plan_destroy(step);
    ks_smooth_plan_destroy(whole);
    return status == KS_OK && gap < 1e-9 ? EXIT_SUCCESS : EXIT_FAILURE;
}
