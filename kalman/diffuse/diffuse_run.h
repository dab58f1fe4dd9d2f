/* diffuse_run.h -- one run whose prior is infinite in some directions: what it is given, the starts of its series, and
 * what its first and its later steps tell each other. */
#ifndef KS_DIFFUSE_RUN_H
#define KS_DIFFUSE_RUN_H

#include "kalscan/signal.h"
#include "start.h"

/** Set plan, model, y, info and what is to be written before ks_diffuse_open(). */
typedef struct ks_diffuse {
    const ks_smooth_plan *plan;
    const ks_outputs *outputs;         /* of a run    */
    const ks_signal_outputs *signal;   /* of a signal */
    ks_model model;
    ks_view y;
    ks_info *info;
    ks_start *starts;          /* (B) */
    int64_t steps;             /* at the beginning, run apart */
    int64_t missing;           /* entries of y in them */
    double *loglik;            /* (B) of them */
    /* Estimates of the state at the last of these steps, as prior of the others and as they smooth it. */
    void *mean, *cov, *smoothed_mean, *smoothed_cov;
    /* The same from a wider covariance, of series that are not settled; see smooth.c. */
    void *wide_cov, *wide_smoothed_mean, *wide_smoothed_cov;
    int wide;                  /* there is such a run */
    unsigned char *settled;    /* (B) */
    double *numbers;           /* of ks_diffuse_numbers() */
    void *zeros;
    ks_carver memory;
} ks_diffuse;


/** Numbers of `numbers`: three estimates and a covariance in double, or what a covariance is judged with. */
size_t ks_diffuse_numbers(size_t nx);

/** Make room. An absent m0 or P0 becomes zero. KS_ENOMEM if there is none. ks_diffuse_close() follows, also then. */
ks_status ks_diffuse_open(ks_diffuse *r);
void ks_diffuse_close(ks_diffuse *r);

/** Whether P0_inf can be read; else info tells. */
int ks_diffuse_directed(const ks_diffuse *r, ks_view P0_inf);

/** Prepare the starts of all series and find how many first steps they take. The model is a valid one without strides
 *  that are ignored. If all goes well info is as before afterwards. */
ks_status ks_diffuse_prepare(ks_diffuse *r, ks_view P0_inf);

/** Whether the plan makes smoothed outputs. */
int ks_diffuse_smooths(const ks_diffuse *r);

/** Do a part for each series in turn. A failure is of that series. */
ks_status ks_diffuse_each(ks_diffuse *r, ks_status (*part)(ks_diffuse *, int64_t));

/** Step k and those behind it of an array whose numbers have so many bytes. */
ks_view ks_later_view(ks_view view, int64_t k, size_t bytes);
ks_out ks_later_out(ks_out out, int64_t k, size_t bytes);

/** The model of the later steps, with the state before them as x[-1]: that of all steps if there are no first ones. */
ks_model ks_later_model(const ks_diffuse *r);

/** Plan the later steps by the sequential method, with precision, threads and tier of the run's plan. */
ks_status ks_later_plan(const ks_diffuse *r, unsigned outputs, ks_smooth_plan **later);

#endif
