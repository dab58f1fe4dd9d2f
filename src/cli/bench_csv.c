/* Results as comma-separated values. The columns have the names of the members of the JSON objects. */
#include <stdio.h>
#include "bench.h"

void ks_bench_csv_head(const ks_bench_settings *settings)
{
    if (settings->job == KS_BENCH_SOLVE)
        printf("job,method,backend,precision,threads,N,n,nrhs,system,segments,factor_ms,solve_ms,repeats,median_ns,"
               "min_ns,max_ns,relative_residual,backward_error,iterations,workspace_bytes\n");
    else
        printf("job,method,scan,order,backend,precision,threads,T,B,nx,ny,model,own_models,missing,ns_per_step,repeats,median_ns,"
               "min_ns,max_ns,ordinary_steps,array_steps,workspace_bytes\n");
}

static void print_times(const ks_bench_settings *settings, const ks_bench_time *time)
{
    printf(",%d,%.15g,%.15g,%.15g", settings->repeats, time->median, time->min, time->max);
}

void ks_bench_csv_row(const ks_bench_settings *s, const ks_bench_result *r)
{
    const int64_t B = s->B > 0 ? s->B : 1;
    const char *backend = r->backend ? r->backend : "cpu";
    if (s->job == KS_BENCH_SOLVE) {
        printf("%s,%s,%s,%s,%d,%lld,%d,%d,%s,%lld,%.15g,%.15g", ks_bench_job_name(s), r->method, backend, r->precision,
               r->threads, (long long)r->T, s->n, s->nrhs, s->queue ? "queue" : "random", (long long)r->segments,
               1e-6 * r->factor.median, 1e-6 * r->solve.median);
        print_times(s, &r->time);
        printf(",%.15g,%.15g,%lld", r->relative_residual, r->backward_error, (long long)r->iterations);
    } else {
        printf("%s,%s,%s,%s,%s,%s,%d,%lld,%lld,%d,%d,%s,%d,%.15g,%.15g", ks_bench_job_name(s), r->method, r->scan,
               r->order ? r->order : "none", backend, r->precision, r->threads, (long long)r->T, (long long)B, s->nx,
               s->ny, ks_bench_model_name(s), (int)s->own, s->missing, r->time.median / ((double)r->T * (double)B));
        print_times(s, &r->time);
        printf(",%lld,%lld", (long long)r->ordinary_steps, (long long)r->array_steps);
    }
    printf(",%lld\n", (long long)r->workspace);
}
