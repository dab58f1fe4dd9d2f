#include "count_settings.h"

#include <stdio.h>
#include <string.h>
#include "options.h"

/* Take the next word of a comma-separated list. *rest is NULL after the last one. */
static void next_word(const char **rest, char word[64])
{
    const char *comma = strchr(*rest, ',');
    const size_t length = comma ? (size_t)(comma - *rest) : strlen(*rest);
    snprintf(word, 64, "%.*s", length < 64 ? (int)length : 63, *rest);
    *rest = comma ? comma + 1 : NULL;
}

ks_exit ks_read_counts(const char *option, const char *text, int64_t low, int64_t high, int most,
                       int64_t *values, int *count, ks_failure *failure)
{
    char word[64];
    *count = 0;
    while (text) {
        next_word(&text, word);
        if (*count == most)
            return ks_fail(failure, KS_EXIT_USAGE, "%s: more than %d values", option, most);
        if (ks_parse_integer(option, word, low, high, &values[*count], failure)) return failure->code;
        ++*count;
    }
    return KS_EXIT_DONE;
}

static bool named(const ks_count_settings *settings, ks_counted_method method)
{
    for (int m = 0; m < settings->methods; ++m)
        if (settings->method[m] == method) return true;
    return false;
}

ks_exit ks_read_counted_methods(ks_count_settings *settings, const char *text, ks_failure *failure)
{
    const char *names[KS_COUNTED_METHODS + 2] = {NULL};
    static const char *const later[] = {"two-ended", NULL};
    char word[64];
    for (int i = 0; i < KS_COUNTED_METHODS; ++i)
        names[i] = ks_counted_method_name((ks_counted_method)i);
    names[KS_COUNTED_METHODS] = "all";
    settings->methods = 0;
    while (text) {
        int index = 0;
        next_word(&text, word);
        if (ks_parse_word("--method", word, names, later, &index, failure)) return failure->code;
        const int first = index == KS_COUNTED_METHODS ? 0 : index;
        const int last = index == KS_COUNTED_METHODS ? KS_COUNTED_WHOLE - 1 : index;
        for (int i = first; i <= last; ++i) {
            if (named(settings, (ks_counted_method)i))
                return ks_fail(failure, KS_EXIT_USAGE, "--method: %s is named twice", names[i]);
            settings->method[settings->methods++] = (ks_counted_method)i;
        }
    }
    return KS_EXIT_DONE;
}

static ks_exit add_scan(ks_count_settings *settings, ks_scan_algorithm algorithm,
                        int64_t threshold, ks_failure *failure)
{
    if (settings->scans == KS_MOST_SCANS)
        return ks_fail(failure, KS_EXIT_USAGE, "--scan: more than %d scans", KS_MOST_SCANS);
    const ks_scan_choice choice = {algorithm, threshold};
    settings->scan[settings->scans++] = choice;
    return KS_EXIT_DONE;
}

/* Add every algorithm, Sengupta's with both thresholds of the paper. */
static ks_exit add_all(ks_count_settings *settings, ks_failure *failure)
{
    for (int i = 0; i < KS_SCAN_ALGORITHMS; ++i) {
        const ks_scan_algorithm algorithm = (ks_scan_algorithm)i;
        if (add_scan(settings, algorithm, 1, failure)) return failure->code;
        if (algorithm == KS_SCAN_SENGUPTA && add_scan(settings, algorithm, 15000, failure))
            return failure->code;
    }
    return KS_EXIT_DONE;
}

static ks_exit read_scan(ks_count_settings *settings, char *word, ks_failure *failure)
{
    const char *names[KS_SCAN_ALGORITHMS + 2] = {NULL};
    char *colon = strchr(word, ':');
    int64_t threshold = 1;
    int index = 0;
    for (int i = 0; i < KS_SCAN_ALGORITHMS; ++i) names[i] = ks_scan_name((ks_scan_algorithm)i);
    names[KS_SCAN_ALGORITHMS] = "all";
    if (colon) *colon = '\0';
    if (ks_parse_word("--scan", word, names, NULL, &index, failure)) return failure->code;
    if (colon && (index == KS_SCAN_ALGORITHMS || index != (int)KS_SCAN_SENGUPTA))
        return ks_fail(failure, KS_EXIT_USAGE, "--scan: only sengupta takes a number, not %s",
                       word);
    if (colon && ks_parse_integer("--scan sengupta", colon + 1, 1, (int64_t)1 << 52, &threshold,
                                  failure))
        return failure->code;
    if (index == KS_SCAN_ALGORITHMS) return add_all(settings, failure);
    return add_scan(settings, (ks_scan_algorithm)index, threshold, failure);
}

ks_exit ks_read_scan_choices(ks_count_settings *settings, const char *text, ks_failure *failure)
{
    char word[64];
    settings->scans = 0;
    while (text) {
        next_word(&text, word);
        if (read_scan(settings, word, failure)) return failure->code;
    }
    return KS_EXIT_DONE;
}

void ks_count_scan_text(const ks_count_case *what, char text[64])
{
    if (!ks_counted_method_scans(what->method))
        snprintf(text, 64, "none");
    else if (what->scan == KS_SCAN_SENGUPTA)
        snprintf(text, 64, "%s:%lld", ks_scan_name(what->scan), (long long)what->threshold);
    else
        snprintf(text, 64, "%s", ks_scan_name(what->scan));
}

static ks_exit add_order(ks_count_settings *settings, const ks_bt_choice *choice,
                         ks_failure *failure)
{
    if (settings->orders == KS_MOST_ORDERS)
        return ks_fail(failure, KS_EXIT_USAGE, "--order: more than %d orders", KS_MOST_ORDERS);
    settings->order[settings->orders++] = *choice;
    return KS_EXIT_DONE;
}

/* Read partition:SEGMENTS or recursive-schur:SPACING:CROSSOVER. `colon` is NULL or points to the first colon. */
static ks_exit read_order_numbers(ks_bt_choice *choice, const char *name, char *colon,
                                  ks_failure *failure)
{
    int64_t *const number[] = {
        choice->order == KS_BLOCKTRI_PARTITION ? &choice->segments : &choice->spacing,
        &choice->crossover};
    const int most = choice->order == KS_BLOCKTRI_PARTITION         ? 1
                     : choice->order == KS_BLOCKTRI_RECURSIVE_SCHUR ? 2
                                                                    : 0;
    char option[80];
    snprintf(option, sizeof option, "--order %s", name);
    for (int i = 0; colon; ++i) {
        if (i == most)
            return ks_fail(failure, KS_EXIT_USAGE, "--order: %s takes %s", name,
                           most == 0   ? "no number"
                           : most == 1 ? "one number, its segments"
                                       : "two numbers, spacing and crossover");
        char *next = strchr(colon + 1, ':');
        if (next) *next = '\0';
        if (ks_parse_integer(option, colon + 1, 2, (int64_t)1 << 40, number[i], failure))
            return failure->code;
        colon = next;
    }
    return KS_EXIT_DONE;
}

static ks_exit read_order(ks_count_settings *settings, char *word, ks_failure *failure)
{
    /* Without auto, whose choice depends on the machine. */
    const char *names[KS_BLOCKTRI_ORDERS + 1] = {NULL};
    char *colon = strchr(word, ':');
    int index = 0;
    for (int i = 1; i < KS_BLOCKTRI_ORDERS; ++i)
        names[i - 1] = ks_blocktri_order_name((ks_blocktri_order)i);
    names[KS_BLOCKTRI_ORDERS - 1] = "all";
    if (colon) *colon = '\0';
    if (ks_parse_word("--order", word, names, NULL, &index, failure)) return failure->code;
    const bool all = index == KS_BLOCKTRI_ORDERS - 1;
    for (int i = all ? 1 : index + 1; i <= (all ? KS_BLOCKTRI_ORDERS - 1 : index + 1); ++i) {
        ks_bt_choice choice = {(ks_blocktri_order)i, 0, 0, 0};
        if (all && colon)
            return ks_fail(failure, KS_EXIT_USAGE, "--order: all takes no number");
        if (read_order_numbers(&choice, word, colon, failure)) return failure->code;
        if (add_order(settings, &choice, failure)) return failure->code;
    }
    return KS_EXIT_DONE;
}

ks_exit ks_read_order_choices(ks_count_settings *settings, const char *text, ks_failure *failure)
{
    char word[64];
    settings->orders = 0;
    while (text) {
        next_word(&text, word);
        if (read_order(settings, word, failure)) return failure->code;
    }
    return KS_EXIT_DONE;
}

int ks_count_variants(const ks_count_settings *settings, ks_counted_method method)
{
    return ks_counted_method_scans(method)    ? settings->scans
           : ks_counted_method_orders(method) ? settings->orders
                                              : 1;
}

void ks_count_order_text(const ks_count_case *what, char text[64])
{
    const ks_bt_choice *b = &what->blocks;
    if (!ks_counted_method_orders(what->method)) {
        snprintf(text, 64, "none");
        return;
    }
    int length = snprintf(text, 64, "%s", ks_blocktri_order_name(b->order));
    const int64_t numbers[] = {b->segments, b->spacing, b->crossover};
    for (int i = 0; i < 3; ++i)
        if (numbers[i])
            length += snprintf(text + length, 64 - (size_t)length, ":%lld", (long long)numbers[i]);
}

void ks_count_variant_text(const ks_count_case *what, char text[64])
{
    if (ks_counted_method_orders(what->method)) ks_count_order_text(what, text);
    else ks_count_scan_text(what, text);
}
