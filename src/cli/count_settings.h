/* count_settings.h -- what `count` was asked to count, and what it found. */
#ifndef KS_CLI_COUNT_SETTINGS_H
#define KS_CLI_COUNT_SETTINGS_H

#include <stdbool.h>
#include "command.h"
#include "count.h"

enum { KS_MOST_T = 1000, KS_MOST_THREADS = 100, KS_MOST_SCANS = 32, KS_MOST_ORDERS = 32 };

/** A scan as the command line names it. */
typedef struct ks_scan_choice {
    ks_scan_algorithm algorithm;
    int64_t threshold;
} ks_scan_choice;

typedef struct ks_count_settings {
    int64_t T[KS_MOST_T], threads[KS_MOST_THREADS];
    ks_counted_method method[KS_COUNTED_METHODS];
    ks_scan_choice scan[KS_MOST_SCANS];
    ks_bt_choice order[KS_MOST_ORDERS];
    int steps, thread_counts, methods, scans, orders; /**< lengths of these lists                */
    int nx, ny;
    bool two_devices, loglik, calibrate;
    bool json, csv, quiet;
    const char *plot;                         /**< NULL: no figure                               */
    bool bars, force;
} ks_count_settings;

/** A counted case; of --calibrate also seconds. */
typedef struct ks_count_row {
    ks_count_case what;
    ks_count_result result;
    double predicted, measured;
} ks_count_row;

/** Read a comma-separated list. Usage failures name what is known. */
ks_exit ks_read_counts(const char *option, const char *text, int64_t low, int64_t high, int most,
                       int64_t *values, int *count, ks_failure *failure);
ks_exit ks_read_counted_methods(ks_count_settings *settings, const char *text,
                                ks_failure *failure);
ks_exit ks_read_scan_choices(ks_count_settings *settings, const char *text, ks_failure *failure);

ks_exit ks_read_order_choices(ks_count_settings *settings, const char *text, ks_failure *failure);

/** How many scans or orders a method is counted with: 1 where it has neither. */
int ks_count_variants(const ks_count_settings *settings, ks_counted_method method);

/** "sengupta:15000", "none" for a method without a scan. */
void ks_count_scan_text(const ks_count_case *what, char text[64]);

/** "partition:16", "none" for a method without an order. */
void ks_count_order_text(const ks_count_case *what, char text[64]);

/** Whichever of the two the method has. */
void ks_count_variant_text(const ks_count_case *what, char text[64]);

/** Draw the figure settings->plot from the rows: time against T, or bars. KS_EXIT_RESOURCES where
 *  gnuplot is not there. */
ks_exit ks_count_plot(const ks_count_settings *settings, const ks_count_row *rows, int64_t count,
                      ks_failure *failure);

/** Fill `predicted` and `measured` of all rows by running the library on this machine. */
ks_exit ks_count_calibrate(const ks_count_settings *settings, const ks_unit_costs *costs,
                           ks_count_row *rows, int64_t count, ks_failure *failure);

#endif
