#include "settings.h"

#include <stdio.h>
#include <string.h>
#include "help.h"
#include "options.h"
#include "words.h"

enum {
    OUTPUT = 1, FORECAST, SIGNAL, METHOD, ORDER, SCAN, COV, FILTERED, LAG_ONE, INNOVATIONS, PREDICTED, Y, MODEL,
    MODEL_FILE, PRIOR, TRANSITION, LAYOUT, BACKEND, DEVICE, THREADS, PRECISION, STEADY_STATE, FORCE, QUIET, JSON,
    DRY_RUN, COMPRESS, DIFFUSE, GRADIENT
};

static const ks_option smooth_options[] = {
    {OUTPUT, "output", "FILE", "output file", 'o'},
    {METHOD, "method", "NAME", "auto (default), sequential, two-ended, scan-rts,\n"
     "                           scan-two-filter or blocktri", 0},
    {ORDER, "order", "NAME", "elimination order of method blocktri, see below", 0},
    {FILTERED, "filtered", NULL, "also write filtered/mean and filtered/cov", 0},
    {LAG_ONE, "lag-one", NULL, "also write Cov(x[k], x[k-1] | y) and, with prior x0, smoothed x[-1]", 0},
    {0}};

static const ks_option filter_options[] = {
    {OUTPUT, "output", "FILE", "output file", 'o'},
    {METHOD, "method", "NAME", "auto (default), sequential or scan", 0},
    {INNOVATIONS, "innovations", NULL, "also write innovations, their covariances and standardized form", 0},
    {PREDICTED, "predicted", NULL, "also write predicted/mean and predicted/cov", 0},
    {GRADIENT, "gradient", NULL, "also write gradient/F, gradient/Q and so on: derivatives of the\n"
     "                           log-likelihood by every number of the model's datasets", 0},
    {0}};

static const ks_option shared_options[] = {
    {SCAN, "scan", "NAME[:N]", "schedule of a scan method, see below; N of sengupta, default 1", 0},
    {COV, "cov", "PART", "covariances of the estimates: full (default), diag or none", 0},
    {SIGNAL, "signal", NULL, "also write signal/mean, cov and observed_var: the signal H x + d,\n"
     "                           and the variances of observations of it, in gaps and forecasts", 0},
    {FORECAST, "forecast", "N", "add N steps after the last observation; needs a constant model", 0},
    {Y, "y", "PATH", "dataset of the observations, instead of /y", 0},
    {MODEL, "model", "GROUP", "group of the model, instead of /model", 0},
    {MODEL_FILE, "model-file", "FILE", "file with the model, default the input file", 0},
    {PRIOR, "prior", "x0|x1", "instead of the attribute of the model; x0 without either", 0},
    {DIFFUSE, "diffuse", NULL, "nothing is known of the state at first: P0_inf = I, and m0, P0 are\n"
     "                           not read, see below", 0},
    {TRANSITION, "transition", "into|out-of", "instead of the attribute of the model; into without either", 0},
    {LAYOUT, "layout", "c|fortran", "instead of the attribute of the model; c without either", 0},
    {BACKEND, "backend", "NAME", "cpu (default); cuda; or auto: a device, if there is one, for a named\n"
     "                           method that it has, and for long series whose model varies; else\n"
     "                           the CPU", 0},
    {DEVICE, "device", "N[,M]", "number of the CUDA device, default 0; M: of the device for the\n"
     "                           reverse scan of scan-two-filter", 0},
    {THREADS, "threads", "N", "worker threads; 0 (default): one for each processor", 0},
    {PRECISION, "precision", "f64|f32|mixed", "of arithmetic and estimates, default f64; mixed: means in f64,\n"
     "                           covariances in f32, with method sequential, or on a device with\n"
     "                           scan-rts (filter: scan) and --scan chunked", 0},
    {STEADY_STATE, "steady-state", "WORD", "for a constant model, hold (default): keep covariances that change\n"
     "                           by round-off only; repeat: look up steps that recur to the bit;\n"
     "                           compute: take every step, as devices and other scans than chunked\n"
     "                           always do", 0},
    {COMPRESS, "compress", "LEVEL", "level of deflate with shuffle, 0 (default) to 9", 0},
    {FORCE, "force", NULL, "replace an existing output", 0},
    {DRY_RUN, "dry-run", NULL, "check the input, estimate the memory, write nothing", 0},
    {JSON, "json", NULL, "summary as one JSON object", 0},
    {QUIET, "quiet", NULL, "no summary, no notes, no progress bar", 0},
    {0}};

static const char *const smooth_methods[] = {"auto", "sequential", "two-ended", "scan-rts",
                                             "scan-two-filter", "blocktri", NULL};
static const ks_method smooth_method_values[] = {KS_METHOD_AUTO, KS_METHOD_SEQUENTIAL,
                                                 KS_METHOD_TWO_ENDED, KS_METHOD_SCAN_RTS,
                                                 KS_METHOD_SCAN_TWO_FILTER, KS_METHOD_BLOCKTRI};
static const char *const filter_methods[] = {"auto", "sequential", "scan", NULL};
static const ks_method filter_method_values[] = {KS_METHOD_AUTO, KS_METHOD_SEQUENTIAL,
                                                 KS_METHOD_SCAN};

static void print_help(ks_job job)
{
    if (job == KS_JOB_SMOOTH)
        printf("usage: kalscan smooth IN.h5 -o OUT.h5 [options]\n\n"
               "Smoothing: means and covariances of each state given all of y.\n\n");
    else
        printf("usage: kalscan filter IN.h5 -o OUT.h5 [options]\n\n"
               "Filtering: means and covariances of each state given y up to its step.\n"
               "Without -o only the log-likelihood is computed and printed.\n\n");
    printf("Options\n");
    ks_options_print(job == KS_JOB_SMOOTH ? smooth_options : filter_options);
    ks_options_print(shared_options);
    ks_options_print(ks_common_options);
    printf("\nScans: chunked (default), hillis-steele, blelloch, ladner-fischer (default with two\n"
           "devices), sengupta[:N]\n");
    if (job == KS_JOB_SMOOTH)
        printf("Orders: auto (default), sequential, twisted, partition, nested-dissection,\n"
               "recursive-schur\n");
    printf("Numbers may be written as 1e6.\n");
    ks_help_model();
    printf("\nLog-likelihood\n  %s\n  With P0_inf: %s\n", ks_loglik_convention, ks_diffuse_loglik_convention);
    ks_help_exit_codes();
}

static void print_smooth_help(void) { print_help(KS_JOB_SMOOTH); }
static void print_filter_help(void) { print_help(KS_JOB_FILTER); }

static ks_exit read_scan(ks_settings *settings, const char *text, ks_failure *failure)
{
    const char *names[KS_SCAN_ALGORITHMS + 1] = {NULL};
    char name[64];
    int index;
    const char *colon = strchr(text, ':');
    const size_t length = colon ? (size_t)(colon - text) : strlen(text);
    snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : 63, text);
    for (int i = 0; i < KS_SCAN_ALGORITHMS; ++i) names[i] = ks_scan_name((ks_scan_algorithm)i);
    if (ks_parse_word("--scan", name, names, NULL, &index, failure)) return failure->code;
    settings->scan = (ks_scan_algorithm)index;
    settings->scan_given = true;
    if (!colon) return KS_EXIT_DONE;
    if (settings->scan != KS_SCAN_SENGUPTA)
        return ks_fail(failure, KS_EXIT_USAGE, "--scan: only sengupta takes a number, not %s",
                       name);
    return ks_parse_integer("--scan sengupta", colon + 1, 1, (int64_t)1 << 52,
                            &settings->scan_threshold, failure);
}

static ks_exit read_method(ks_settings *settings, const char *text, ks_failure *failure)
{
    int index;
    const bool smooth = settings->job == KS_JOB_SMOOTH;
    if (ks_parse_word("--method", text, smooth ? smooth_methods : filter_methods,
                      NULL, &index, failure))
        return failure->code;
    settings->method = smooth ? smooth_method_values[index] : filter_method_values[index];
    return KS_EXIT_DONE;
}

static ks_exit read_order(ks_settings *settings, const char *text, ks_failure *failure)
{
    const char *names[KS_BLOCKTRI_ORDERS + 1] = {NULL};
    int index;
    for (int i = 0; i < KS_BLOCKTRI_ORDERS; ++i)
        names[i] = ks_blocktri_order_name((ks_blocktri_order)i);
    if (ks_parse_word("--order", text, names, NULL, &index, failure)) return failure->code;
    settings->order = (ks_blocktri_order)index;
    settings->order_given = true;
    return KS_EXIT_DONE;
}

/* Read one device, or two separated by a comma. */
static ks_exit read_devices(ks_settings *settings, const char *value, ks_failure *failure)
{
    char first[16];
    const char *comma = strchr(value, ',');
    const size_t length = comma ? (size_t)(comma - value) : 0;
    settings->device_given = true;
    if (!comma) return ks_parse_int("--device", value, 0, 1023, &settings->device, failure);
    if (length >= sizeof first)
        return ks_fail(failure, KS_EXIT_USAGE, "--device: '%s' is no list of two devices", value);
    memcpy(first, value, length);
    first[length] = '\0';
    if (ks_parse_int("--device", first, 0, 1023, &settings->device, failure)) return failure->code;
    return ks_parse_int("--device", comma + 1, 0, 1023, &settings->second_device, failure);
}

static ks_exit read_cov(ks_settings *settings, const char *text, ks_failure *failure)
{
    static const char *const parts[] = {"full", "diag", "none", NULL};
    int index = 0;
    settings->cov_given = true;
    if (ks_parse_word("--cov", text, parts, NULL, &index, failure) == KS_EXIT_DONE) settings->cov = (ks_cov)index;
    return failure->code;
}

static ks_exit read_option(void *read, int id, const char *value, ks_failure *failure)
{
    ks_settings *settings = read;
    switch (id) {
    case KS_OPTION_WORD: return ks_take_word("input", &settings->places.file, value, failure);
    case OUTPUT: settings->output = value; break;
    case METHOD: return read_method(settings, value, failure);
    case ORDER: return read_order(settings, value, failure);
    case SCAN: return read_scan(settings, value, failure);
    case FORECAST:
        return ks_parse_integer("--forecast", value, 1, (int64_t)1 << 40, &settings->forecast, failure);
    case SIGNAL: settings->signal = true; break;
    case FILTERED: settings->filtered = true; break;
    case LAG_ONE: settings->lag_one = true; break;
    case INNOVATIONS: settings->innovations = true; break;
    case PREDICTED: settings->predicted = true; break;
    case GRADIENT: settings->gradient = true; break;
    case Y: settings->places.y = value; break;
    case MODEL: settings->places.model = value; break;
    case MODEL_FILE: settings->places.model_file = value; break;
    case PRIOR: return ks_read_prior(value, &settings->places.prior, failure);
    case DIFFUSE: settings->places.diffuse = true; break;
    case TRANSITION: return ks_read_transition(value, &settings->places.transition, failure);
    case LAYOUT: return ks_read_layout(value, &settings->places.layout, failure);
    case BACKEND: return ks_read_backend(value, &settings->backend, failure);
    case DEVICE: return read_devices(settings, value, failure);
    case THREADS: return ks_parse_int("--threads", value, 0, 4096, &settings->threads, failure);
    case COMPRESS: return ks_parse_int("--compress", value, 0, 9, &settings->compress, failure);
    case PRECISION: return ks_read_precision(value, &settings->precision, failure);
    case STEADY_STATE:
        settings->steady_given = true;
        return ks_read_steady_state(value, &settings->steady_state, failure);
    case COV: return read_cov(settings, value, failure);
    case FORCE: settings->force = true; break;
    case QUIET: settings->quiet = true; break;
    case JSON: settings->json = true; break;
    default: settings->dry_run = true; break;
    }
    return KS_EXIT_DONE;
}

/* Only the sequential method and, on a device, the chunked scan have mixed precision. */
static ks_exit check_mixed(const ks_settings *settings, ks_failure *failure)
{
    const ks_method method = settings->method;
    const ks_method chunked = settings->job == KS_JOB_SMOOTH ? KS_METHOD_SCAN_RTS : KS_METHOD_SCAN;
    const bool has_chunks = method == chunked && settings->scan == KS_SCAN_CHUNKED;
    if (settings->backend == KS_BACKEND_CUDA) {
        if (has_chunks || (method == KS_METHOD_AUTO && settings->scan == KS_SCAN_CHUNKED))
            return KS_EXIT_DONE;
        return ks_fail(failure, KS_EXIT_USAGE,
                       "--precision mixed goes on a device with --method %s --scan chunked",
                       ks_method_name(chunked));
    }
    if (method == KS_METHOD_AUTO || method == KS_METHOD_SEQUENTIAL ||
        (has_chunks && settings->backend == KS_BACKEND_AUTO))
        return KS_EXIT_DONE;
    return ks_fail(failure, KS_EXIT_USAGE,
                   "--precision mixed goes with method sequential, not %s%s", ks_method_name(method),
                   settings->backend == KS_BACKEND_AUTO && method == chunked
                       ? "; on a device with --scan chunked" : "");
}

/* A filter without an output prints only the log-likelihood. Refuse options about the contents of an output. */
static ks_exit check_output(const ks_settings *settings, ks_failure *failure)
{
    const struct { bool given; const char *name; } of_outputs[] = {
        {settings->innovations, "innovations"}, {settings->predicted, "predicted"}, {settings->gradient, "gradient"},
        {settings->signal, "signal"},
        {settings->cov_given, "cov"}, {settings->compress > 0, "compress"}, {settings->forecast > 0, "forecast"},
        {settings->force, "force"}};
    if (settings->output || settings->dry_run) return KS_EXIT_DONE;
    if (settings->job == KS_JOB_SMOOTH)
        return ks_fail(failure, KS_EXIT_USAGE, "no output; usage: kalscan smooth IN.h5 -o OUT.h5, or --dry-run");
    for (size_t i = 0; i < sizeof of_outputs / sizeof *of_outputs; ++i)
        if (of_outputs[i].given)
            return ks_fail(failure, KS_EXIT_USAGE, "--%s goes with an output: -o OUT.h5, or --dry-run",
                           of_outputs[i].name);
    return KS_EXIT_DONE;
}

/* Check what depends on several options. */
static ks_exit check(const ks_settings *settings, ks_failure *failure)
{
    const char *command = settings->job == KS_JOB_SMOOTH ? "smooth" : "filter";
    if (!settings->places.file)
        return ks_fail(failure, KS_EXIT_USAGE, "no input; usage: kalscan %s IN.h5 -o OUT.h5",
                       command);
    if (check_output(settings, failure)) return failure->code;
    if (settings->gradient && settings->precision == KS_F32)
        return ks_fail(failure, KS_EXIT_USAGE, "--gradient is computed in double: --precision f64, or mixed");
    if (settings->order_given && settings->method != KS_METHOD_BLOCKTRI)
        return ks_fail(failure, KS_EXIT_USAGE, "--order goes with --method blocktri only");
    const bool no_scan = settings->method == KS_METHOD_SEQUENTIAL ||
                         settings->method == KS_METHOD_TWO_ENDED ||
                         settings->method == KS_METHOD_BLOCKTRI;
    const bool smooth = settings->job == KS_JOB_SMOOTH;
    if (settings->scan_given && no_scan)
        return ks_fail(failure, KS_EXIT_USAGE, "--scan: method %s has no scan; %s",
                       ks_method_name(settings->method),
                       smooth ? "scan-rts and scan-two-filter have one" : "scan has one");
    if (settings->precision == KS_MIXED && check_mixed(settings, failure)) return failure->code;
    if (settings->device_given && settings->backend == KS_BACKEND_CPU)
        return ks_fail(failure, KS_EXIT_USAGE, "--device goes with --backend cuda or auto only");
    if (settings->second_device >= 0 && settings->method != KS_METHOD_SCAN_TWO_FILTER)
        return ks_fail(failure, KS_EXIT_USAGE,
                       "--device: two of them go with --method scan-two-filter only");
    if (settings->backend == KS_BACKEND_CUDA && no_scan && settings->method != KS_METHOD_BLOCKTRI)
        return ks_fail(failure, KS_EXIT_USAGE,
                       "--backend cuda: method %s has no form for a device; %s",
                       ks_method_name(settings->method),
                       smooth ? "scan-rts, scan-two-filter and blocktri have one" : "scan has one");
    if (settings->backend == KS_BACKEND_CUDA && settings->order != KS_BLOCKTRI_AUTO &&
        settings->order != KS_BLOCKTRI_PARTITION && settings->order != KS_BLOCKTRI_NESTED_DISSECTION)
        return ks_fail(failure, KS_EXIT_USAGE,
                       "--backend cuda: order %s has no form for a device; partition and "
                       "nested-dissection have one", ks_blocktri_order_name(settings->order));
    return KS_EXIT_DONE;
}

ks_exit ks_settings_read(ks_settings *settings, ks_job job, const ks_call *call,
                         ks_failure *failure)
{
    const ks_input_places places = KS_INPUT_PLACES_INIT;
    const bool smooth = job == KS_JOB_SMOOTH;
    ks_option_reader reader = {.argc = call->argc, .argv = call->argv,
                               .command = smooth ? "kalscan smooth" : "kalscan filter",
                               .help = smooth ? print_smooth_help : print_filter_help,
                               .tables = {smooth ? smooth_options : filter_options,
                                          shared_options},
                               .others = smooth ? filter_options : smooth_options,
                               .other_command = smooth ? "kalscan filter" : "kalscan smooth"};
    memset(settings, 0, sizeof *settings);
    settings->job = job;
    settings->places = places;
    settings->method = KS_METHOD_AUTO;
    settings->scan = KS_SCAN_CHUNKED;
    settings->scan_threshold = 1;
    settings->second_device = -1;
    if (ks_options_read(&reader, read_option, settings, &settings->help_shown, failure) || settings->help_shown)
        return failure->code;
    /* The chunked scan stores no elements; two devices need them stored. */
    if (!settings->scan_given && settings->second_device >= 0) settings->scan = KS_SCAN_LADNER_FISCHER;
    return check(settings, failure);
}
