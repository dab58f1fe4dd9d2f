/* own_operator.c -- a scan with an operator of your own: linear recurrences in parallel.
 *
 * The exponentially weighted mean of irregularly timed readings y at times t is
 *
 *     x[k] = a[k] x[k-1] + (1 - a[k]) y[k],    a[k] = exp(-(t[k] - t[k-1]) / tau),
 *
 * In a loop each step has to wait for the one before. But each step is an affine map, and composing
 * maps is associative (not commutative). So the scan of the maps gives every x[k] at once. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <kalscan/scan.h>

typedef struct map {
    double a, b; /* x -> a x + b */
} map;

/* dst = first lhs, then rhs. dst may be the same element as lhs or rhs. */
static int compose(void *user, void *scratch, const ks_combine_job *job)
{
    (void)user;
    (void)scratch;
    for (int64_t l = 0; l < job->lanes; ++l)
        for (int64_t c = 0; c < job->chain; ++c) {
            const map f = *(const map *)(const void *)(job->lhs + l * job->lhs_lane +
                                                       c * job->lhs_chain);
            const map g = *(const map *)(const void *)(job->rhs + l * job->rhs_lane +
                                                       c * job->rhs_chain);
            map *both = (map *)(void *)(job->dst + l * job->dst_lane + c * job->dst_chain);
            both->a = g.a * f.a;
            both->b = g.a * f.b + g.b;
        }
    return 0;
}

int main(void)
{
    enum { T = 100000 };
    const double tau = 30;
    ks_context_options resources = KS_CONTEXT_OPTIONS_INIT;
    resources.threads = 0; /* all processors; the result does not depend on it */
    ks_context *context = NULL;
    ks_scan_plan *plan = NULL;
    ks_operator op = {sizeof op, sizeof(map), 0, NULL, compose, NULL, NULL, NULL};
    ks_scan_options how = KS_SCAN_OPTIONS_INIT;
    how.algorithm = KS_SCAN_CHUNKED;

    ks_status status = ks_context_create(&context, &resources);
    if (status == KS_OK) status = ks_scan_plan_create(&plan, context, T, &how);
    const size_t bytes = plan ? ks_scan_workspace_bytes(plan, &op) : 0;
    map *maps = malloc(T * sizeof *maps);
    void *work = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    double loop = 0, worst = 0;
    if (status == KS_OK && maps && work) {
        for (int k = 0; k < T; ++k) {
            const double gap = 1 + (k * 7919 % 13), reading = sin(k * 1e-3) + (k % 10) / 10.0;
            const double a = k ? exp(-gap / tau) : 0;
            maps[k] = (map){a, (1 - a) * reading};
        }
        double *x = malloc(T * sizeof *x); /* the plain loop, for comparison */
        for (int k = 0; x && k < T; ++k) x[k] = loop = maps[k].a * loop + maps[k].b;
        status = ks_scan_run(plan, &op, maps, work); /* maps[k].b is now x[k] */
        for (int k = 0; x && k < T; ++k) worst = fmax(worst, fabs(maps[k].b - x[k]));
        printf("%d readings, weighted mean at the end %.6f, loop and scan differ by %.1e\n", T,
               maps[T - 1].b, worst);
        if (!x) status = KS_ENOMEM;
        free(x);
    }
    if (status != KS_OK) fprintf(stderr, "own_operator: %s\n", ks_strerror(status));
    const int good = status == KS_OK && maps && work && worst < 1e-12;
    free(work);
    free(maps);
    ks_scan_plan_destroy(plan);
    ks_context_destroy(context);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
