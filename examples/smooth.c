/* Smooth a local level, a random walk observed with noise, with a gap of two years.
 *
 *     x[k] = x[k-1] + w[k],  w ~ N(0, 1469);     y[k] = x[k] + v[k],  v ~ N(0, 15099)
 *
 * The data are annual volumes of the Nile at Aswan from 1871, in 10^8 m^3; the variances are those
 * of Durbin & Koopman, "Time Series Analysis by State Space Methods", Sec. 2.2. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <kalscan/smooth.h>

enum { T = 12 };

int main(void)
{
    const double gone = nan("");
    const double y[T] = {1120, 1160, 963, 1210, 1160, gone, gone, 1230, 1370, 1140, 995, 935};
    const double one = 1.0, Q = 1469.0, R = 15099.0, m0 = 1000.0, P0 = 1e5;
    double mean[T], variance[T], loglik;

    /* A stride of 0: the same 1 x 1 block at every step. */
    ks_model model = KS_MODEL_INIT;
    model.F.data = model.H.data = &one;
    model.Q.data = &Q;
    model.R.data = &R;
    model.m0.data = &m0;
    model.P0.data = &P0;
    model.prior = KS_PRIOR_X1;

    ks_smooth_options options = KS_SMOOTH_OPTIONS_INIT;
    options.outputs = KS_OUT_SMOOTHED_MEAN | KS_OUT_SMOOTHED_VAR | KS_OUT_LOGLIK;
    ks_smooth_plan *plan;
    ks_status status = ks_smooth_plan_create(&plan, NULL, T, 1, 1, 1, &options);
    if (status != KS_OK) {
        fprintf(stderr, "planning: %s\n", ks_strerror(status));
        return 1;
    }

    ks_outputs outputs = KS_OUTPUTS_INIT;
    outputs.smoothed_mean = (ks_out){mean, 1, 0};
    outputs.smoothed_var = (ks_out){variance, 1, 0};
    outputs.loglik = (ks_out){&loglik, 0, 0};
    ks_info info = KS_INFO_INIT;
    void *work = aligned_alloc(64, ks_smooth_workspace_bytes(plan));
    status = work ? ks_smooth_run(plan, &model, (ks_view){y, 1, 0}, &outputs, work, &info)
                  : KS_ENOMEM;
    free(work);
    ks_smooth_plan_destroy(plan);
    if (status != KS_OK) {
        fprintf(stderr, "smoothing: %s", ks_strerror(status));
        if (info.array != KS_ARRAY_NONE) fprintf(stderr, ": %s", ks_array_name(info.array));
        if (info.step >= 0) fprintf(stderr, " at step %lld", (long long)info.step);
        fputc('\n', stderr);
        return 1;
    }

    for (int k = 0; k < T; ++k)
        printf("%d  y %6.0f  level %7.1f +- %5.1f\n", 1871 + k, y[k], mean[k], sqrt(variance[k]));
    printf("%s: log-likelihood %.3f, %lld entries missing\n", ks_method_name(info.method), loglik,
           (long long)info.missing);
    return 0;
}
