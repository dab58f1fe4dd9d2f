/* gnuplot.h -- figures drawn by gnuplot, which reads a script from a pipe. */
#ifndef KS_CLI_GNUPLOT_H
#define KS_CLI_GNUPLOT_H

#include <stdbool.h>
#include <stdio.h>
#include "failure.h"

/** A figure `name`.svg or `name`.png of this size. `write` prints its script, after the terminal and the common style
 *  have been set. */
typedef struct ks_figure {
    const char *name;
    bool replace;
    int width, height;      /**< pixels                                                          */
    void (*write)(FILE *script, const void *user);
    const void *user;
} ks_figure;

/** Check that gnuplot is installed, before anything is computed for a figure. Otherwise KS_EXIT_RESOURCES. */
ks_exit ks_figure_check(ks_failure *failure);

/** Draw a figure. Returns KS_EXIT_RESOURCES if gnuplot is not installed. */
ks_exit ks_figure_draw(const ks_figure *figure, ks_failure *failure);

#endif
