/* Smooth as observations arrive, with a fixed lag: each state is estimated once LAG observations behind it are known.
 *
 * A plan of LAG + 1 steps runs on the window that ends with the newest observation. Its first smoothed estimate is the
 * one to put out, and its first filtered estimate, of observations up to that step alone, is the prior of the next
 * window: nothing is approximated. The car and its sensor are those of real_time.c. At the end the whole record is
 * smoothed in one run, and the last window, which has seen all of it, too, must agree. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <kalscan/smooth.h>

enum { T = 120, LAG = 5, WINDOW = LAG + 1, NX = 2 };

/* Estimates of a run, one row for each of its steps. */
typedef struct estimates {
    double mean[T][NX], var[T][NX];                    /* smoothed */
    double filtered_mean[T][NX], filtered_cov[T][NX][NX];
} estimates;

/* Simulates the sensor; NaN if the measurement is lost. */
static double measure(int k)
{
    return k % 17 == 5 ? nan("") : 0.05 * k * k + 2.0 * sin(12.9898 * k);
}

/* Make a plan that smooths `steps` steps, and its workspace. Both are NULL on failure. */
static ks_smooth_plan *make_plan(int64_t steps, void **work)
{
    ks_smooth_options options = KS_SMOOTH_OPTIONS_INIT;
    ks_smooth_plan *plan = NULL;
    options.outputs = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_VAR | KS_OUT_FILTERED_MEAN | KS_OUT_FILTERED_COV;
    const ks_status status = ks_smooth_plan_create(&plan, NULL, steps, 1, NX, 1, &options);
    if (status != KS_OK) fprintf(stderr, "planning: %s\n", ks_strerror(status));
    *work = plan ? aligned_alloc(64, ks_smooth_workspace_bytes(plan)) : NULL;
    return plan;
}

static ks_outputs outputs_to(estimates *e)
{
    ks_outputs outputs = KS_OUTPUTS_INIT;
    outputs.smoothed_mean = (ks_out){e->mean, NX, 0};
    outputs.smoothed_var = (ks_out){e->var, NX, 0};
    outputs.filtered_mean = (ks_out){e->filtered_mean, NX, 0};
    outputs.filtered_cov = (ks_out){e->filtered_cov, NX * NX, 0};
    return outputs;
}

int main(void)
{
    static double y[T];
    static estimates window, record;
    const double F[NX][NX] = {{1, 1}, {0, 1}}, Q[NX][NX] = {{0.003, 0.005}, {0.005, 0.01}}, H[NX] = {1, 0}, R = 4;
    const double m0[NX] = {0, 0}, P0[NX][NX] = {{100, 0}, {0, 25}};
    double mean[NX], cov[NX][NX]; /* of the state before the window */
    void *work, *whole_work;
    ks_smooth_plan *plan = make_plan(WINDOW, &work), *whole = make_plan(T, &whole_work);
    ks_status status = work && whole_work ? KS_OK : KS_ENOMEM;

    ks_model model = KS_MODEL_INIT;
    model.F.data = F;
    model.Q.data = Q;
    model.H.data = H;
    model.R.data = &R;
    model.m0.data = mean;
    model.P0.data = cov;
    memcpy(mean, m0, sizeof mean);
    memcpy(cov, P0, sizeof cov);
    const ks_outputs outputs = outputs_to(&window), whole_outputs = outputs_to(&record);
    for (int k = 0; k < T && status == KS_OK; ++k) {
        y[k] = measure(k);
        const int first = k - LAG; /* the step that now has its estimate */
        if (first < 0) continue;
        status = ks_smooth_run(plan, &model, (ks_view){&y[first], 1, 0}, &outputs, work, NULL);
        memcpy(mean, window.filtered_mean[0], sizeof mean);
        memcpy(cov, window.filtered_cov[0], sizeof cov);
        if (first % 20 == 15 && status == KS_OK)
            printf("%3d s  at %6.1f +- %3.1f m when measured, %6.1f +- %3.1f m after %d s\n", first, mean[0],
                   sqrt(cov[0][0]), window.mean[0][0], sqrt(window.var[0][0]), LAG);
    }

    model.m0.data = m0;
    model.P0.data = P0;
    if (status == KS_OK) status = ks_smooth_run(whole, &model, (ks_view){y, 1, 0}, &whole_outputs, whole_work, NULL);
    double gap = 0;
    for (int i = 0; i < WINDOW; ++i) {
        const int k = T - WINDOW + i;
        gap = fmax(gap, fabs(window.mean[i][0] - record.mean[k][0]) + fabs(window.var[i][0] - record.var[k][0]));
    }
    if (status == KS_OK) printf("the last window and the whole record differ by %.0e\n", gap);
    else fprintf(stderr, "smoothing: %s\n", ks_strerror(status));
    free(work);
    free(whole_work);
    ks_smooth_plan_destroy(plan);
    ks_smooth_plan_destroy(whole);
    return status == KS_OK && gap < 1e-9 ? EXIT_SUCCESS : EXIT_FAILURE;
}
