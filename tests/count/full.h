/* full.h -- the methods counted the slow way: every lane of every phase is executed with counting
 * arithmetic, and charged to the thread that it belongs to. */
#ifndef FULL_H
#define FULL_H

#include "count.h"
#include "count_kernels.h"

/** A series with a model of its own for each step, and memory for all that is made of it. */
typedef struct full {
    ks_kernels kernels;
    ks_series series;
    int64_t longest, chunks;
    double *model, *elements, *suffixes, *mean, *cov, *smoothed_mean, *smoothed_cov;
    double *carry;          /* what a worker needs to absorb and re-run chunks */
    unsigned char *form;
    void *scratch, *absorb;
    ks_scan_plan *scan;
    const ks_count_case *what;
} full;

/** Room for series of up to `longest` steps; the test fails where there is none. */
void full_open(full *f, int64_t longest, int nx, int ny);
void full_close(full *f);

/** Execute a case with T <= longest. combine_flops and storage stay zero. */
void full_count(full *f, ks_count_result *result, const ks_count_case *what);

/** The model and the observations, for the library; they have `longest` steps. */
void full_model(const full *f, ks_model *model, ks_view *y);

#endif
