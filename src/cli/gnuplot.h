/* gnuplot.h -- figures drawn by gnuplot: a script goes to it through a pipe. */
#ifndef KS_CLI_GNUPLOT_H
#define KS_CLI_GNUPLOT_H

#include <stdbool.h>
#include <stdio.h>
#include "failure.h"

/** A figure: `name`.svg or .png of this size, whose script `write` prints after the terminal and
 *  the common style are set. */
typedef struct ks_figure {
    const char *name;
    bool replace;
    int width, height;      /**< pixels                                                          */
    void (*write)(FILE *script, const void *user);
    const void *user;
} ks_figure;

/** Before anything is computed that would be drawn: KS_EXIT_RESOURCES where gnuplot is not there. */
ks_exit ks_figure_check(ks_failure *failure);

/** Draw it. KS_EXIT_RESOURCES where gnuplot is not there. */
ks_exit ks_figure_draw(const ks_figure *figure, ks_failure *failure);

#endif
