/* generate.h -- making an input file slab by slab. */
#ifndef KS_CLI_GENERATE_H
#define KS_CLI_GENERATE_H

#include <stdbool.h>
#include "failure.h"
#include "simulate.h"

typedef struct ks_generate_settings {
    ks_recipe recipe;
    const char *kind_name, *output, *line;
    bool force, quiet, json;
    int compress;
} ks_generate_settings;

/** Simulate and write; prints the summary. */
ks_exit ks_generate_file(const ks_generate_settings *settings, ks_failure *failure);

#endif
