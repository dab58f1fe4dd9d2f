/* generate.h -- making an input file slab by slab. */
#ifndef KS_CLI_GENERATE_H
#define KS_CLI_GENERATE_H

#include <stdbool.h>
#include "failure.h"
#include "output_file.h"
#include "queue_model.h"
#include "simulate.h"

/** Sizes of a block-tridiagonal system. */
typedef struct ks_system_recipe {
    int64_t N;
    int n, nrhs;             /**< nrhs 0: one, b has no axis of right-hand sides                 */
} ks_system_recipe;

typedef struct ks_generate_settings {
    ks_recipe recipe;        /**< of a model; its seed also that of a system                     */
    ks_system_recipe system;
    ks_queue queue;          /**< lambda 0: half of what all servers can do                      */
    const char *kind_name, *output, *line;
    const char *plot;        /**< of a queue: NULL, or the figure to draw                        */
    int threads;             /**< of a queue: 0 all                                              */
    bool force, quiet, json;
    int compress;
} ks_generate_settings;

/** Simulate and write; prints the summary. */
ks_exit ks_generate_file(const ks_generate_settings *settings, ks_failure *failure);

/** A block-tridiagonal system; prints the summary. */
ks_exit ks_generate_system(const ks_generate_settings *settings, ks_failure *failure);

/** The stationary equation of a queue, with its solution; prints the summary. */
ks_exit ks_generate_queue(const ks_generate_settings *settings, ks_failure *failure);

/** Attributes that every generated file has. */
ks_exit ks_generate_attributes(const ks_generate_settings *settings, ks_output_file *out,
                               ks_failure *failure);

#endif
