/* count_settings.h -- the settings of `count`, and its results. */
#ifndef KS_CLI_COUNT_SETTINGS_H
#define KS_CLI_COUNT_SETTINGS_H

#include <stdbool.h>
#include "command.h"
#include "count.h"

enum { KS_MOST_T = 1000, KS_MOST_THREADS = 100, KS_MOST_SCANS = 32, KS_MOST_ORDERS = 32 };

/** A scan as named on the command line. */
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

/** A counted case. With --calibrate it also has seconds. */
typedef struct ks_count_row {
    ks_count_case what;
    ks_count_result result;
    double predicted, measured;
} ks_count_row;

/** Read a comma-separated list. Messages of usage failures list the known words. */
ks_exit ks_read_counts(const char *option, const char *text, int64_t low, int64_t high, int most,
                       int64_t *values, int *count, ks_failure *failure);
ks_exit ks_read_counted_methods(ks_count_settings *settings, const char *text,
                                ks_failure *failure);
ks_exit ks_read_scan_choices(ks_count_settings *settings, const char *text, ks_failure *failure);

ks_exit ks_read_order_choices(ks_count_settings *settings, const char *text, ks_failure *failure);

/** Return the number of scans or orders that a method is counted with: 1 if it has neither. */
int ks_count_variants(const ks_count_settings *settings, ks_counted_method method);

/** Print "sengupta:15000", or "none" for a method without a scan. */
void ks_count_scan_text(const ks_count_case *what, char text[64]);

/** Print "partition:16", or "none" for a method without an order. */
void ks_count_order_text(const ks_count_case *what, char text[64]);

/** Print the scan or the order, whichever the method has. */
void ks_count_variant_text(const ks_count_case *what, char text[64]);

/** Draw the figure settings->plot from the rows: time against T, or bars. Returns KS_EXIT_RESOURCES if gnuplot is not
 *  installed. */
ks_exit ks_count_plot(const ks_count_settings *settings, const ks_count_row *rows, int64_t count,
                      ks_failure *failure);

/** Fill in `predicted` and `measured` of all rows by running the library on this machine. */
ks_exit ks_count_calibrate(const ks_count_settings *settings, const ks_unit_costs *costs,
                           ks_count_row *rows, int64_t count, ks_failure *failure);

#endif
