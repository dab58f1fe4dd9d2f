/* generate.h -- generating an input file, slab by slab. */
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
    int n, nrhs;             /**< nrhs 0: one, and b has no axis of right-hand sides */
} ks_system_recipe;

typedef struct ks_generate_settings {
    ks_recipe recipe;        /**< of a model; its seed also serves a system */
    ks_system_recipe system;
    ks_queue queue;          /**< lambda 0: half of what all servers can do */
    const char *kind_name, *output, *line;
    const char *plot;        /**< of a queue: the figure to draw, or NULL */
    int threads;             /**< of a queue; 0: all                      */
    bool force, quiet, json;
    int compress;
} ks_generate_settings;

/** Simulate a model, write it and print the summary. */
ks_exit ks_generate_file(const ks_generate_settings *settings, ks_failure *failure);

/** Write a block-tridiagonal system and print the summary. */
ks_exit ks_generate_system(const ks_generate_settings *settings, ks_failure *failure);

/** Write the stationary equation of a queue with its solution, and print the summary. */
ks_exit ks_generate_queue(const ks_generate_settings *settings, ks_failure *failure);

/** Write the attributes that every generated file has. */
ks_exit ks_generate_attributes(const ks_generate_settings *settings, ks_output_file *out,
                               ks_failure *failure);

#endif
