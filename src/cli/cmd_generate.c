/* `kalscan generate`: options. The file is made in generate_file.c. */
#include <stdio.h>
#include <string.h>
#include "command.h"
#include "file_name.h"
#include "generate.h"
#include "gnuplot.h"
#include "help.h"
#include "options.h"
#include "target.h"

enum {
    OUTPUT = 1, STEPS, SERIES, NX, NY, SEED, MISSING, DT, NOISE_Q, NOISE_R, BLOCKS, ORDER, NRHS,
    COMPRESS, FORCE, QUIET, JSON, SERVERS, CAPACITY, LAMBDA, MU, ETA, NU, PLOT,
    THREADS
};

static const ks_option options[] = {
    {OUTPUT, "output", "FILE", "output file", 'o'},
    {STEPS, "T", "N", "steps, default 1000; rotation 100", 0},
    {SERIES, "B", "N", "series; y and what varies have a leading axis for them", 0},
    {NX, "nx", "N", "states, at most 4096, default 4; rotation 256, local-level has 1", 0},
    {NY, "ny", "N", "entries of y, at most 4096, default 2; rotation 4 nx, constant-velocity nx / 2", 0},
    {SEED, "seed", "N", "default 1; a seed gives the same numbers on every machine", 0},
    {MISSING, "missing", "FRACTION", "share of missing entries, at most 0.95, half of them in outages of 10 to 99 steps", 0},
    {DT, "dt", "SECONDS", "time between steps, default 1; rotation 0.1", 0},
    {NOISE_Q, "q", "VALUE", "intensity or variance of the process noise, default 1; rotation 0.01", 0},
    {NOISE_R, "r", "VALUE", "variance of the observation noise, default 1; rotation 0.1", 0},
    {BLOCKS, "N", "N", "blocktri: blocks, default 1000", 0},
    {ORDER, "n", "N", "blocktri: rows of a block, default 16", 0},
    {NRHS, "nrhs", "N", "blocktri: right-hand sides; default one, stored as (N, n)", 0},
    {SERVERS, "servers", "N", "queue: servers, default 100", 0},
    {CAPACITY, "capacity", "N", "queue: tasks per server, default 16", 0},
    {LAMBDA, "lambda", "RATE", "queue: arrivals, default servers x mu / 2", 0},
    {MU, "mu", "RATE", "queue: service, default 1", 0},
    {ETA, "eta", "RATE", "queue: turning a server on, default 1", 0},
    {NU, "nu", "RATE", "queue: turning a server off, default 1", 0},
    {PLOT, "plot", "FILE.svg", "queue: draw the distribution, as .svg or .png; needs gnuplot", 0},
    {THREADS, "threads", "N", "queue: worker threads; 0 (default): one for each processor", 0},
    {COMPRESS, "compress", "LEVEL", "level of deflate with shuffle, 0 (default) to 9", 0},
    {FORCE, "force", NULL, "replace an existing output", 0},
    {JSON, "json", NULL, "summary as one JSON object", 0},
    {QUIET, "quiet", NULL, "no summary, no progress bar", 0},
    {0}};

static const char *const kinds[] = {"random", "constant-velocity", "local-level", "rotation",
                                    "blocktri", "queue", NULL};

static void print_help(void)
{
    printf("usage: kalscan generate KIND -o FILE.h5 [options]\n\n"
           "Make an input file: a model with simulated data, or a system to solve.\n\n"
           "Kinds\n"
           "  random             F = 0.99 x an orthogonal matrix, Q = Xi Xi', R = Xi Xi', and normal\n"
           "                     H, u, d, all new in each step (Sarkka and Garcia-Fernandez,\n"
           "                     Sec. VI-A)\n"
           "  constant-velocity  nx / 2 axes with position and velocity, positions observed; --dt,\n"
           "                     --q (white acceleration), --r\n"
           "  local-level        a random walk observed with noise; --q, --r\n"
           "  rotation           damped rotations in nx / 2 planes, 0.2 to 1.4 turns per unit of\n"
           "                     time, in many channels: Q dense, R diagonal, first state known\n"
           "                     (Jin, Montoison and Shin, Sec. 4.3); --dt, --q, --r\n"
           "  blocktri           a symmetric positive definite block-tridiagonal system for\n"
           "                     `kalscan solve`, well conditioned; --N, --n, --nrhs\n"
           "  queue              the stationary equation of an M/M/n+k queue as a general system,\n"
           "                     and its solution; --servers, --capacity, --lambda, --mu, --eta,\n"
           "                     --nu, --plot\n\n"
           "Options\n");
    ks_options_print(options);
    ks_options_print(ks_common_options);
    printf("Numbers may be written as 1e6.\n");
    ks_help_model();
    ks_help_exit_codes();
}

static ks_exit read_rate(const char *option, const char *text, double *value, ks_failure *failure)
{
    return ks_parse_number(option, text, 1e-12, 1e12, value, failure);
}

/* The settings read so far, and which options were given. */
typedef struct asked {
    ks_generate_settings settings;
    const char *kind;
    uint64_t given;    /* one bit for each option */
} asked;

static ks_exit read_option(void *read, int id, const char *value, ks_failure *failure)
{
    asked *a = read;
    ks_generate_settings *settings = &a->settings;
    ks_recipe *recipe = &settings->recipe;
    const int64_t most = (int64_t)1 << 40;
    if (id == KS_OPTION_WORD) return ks_take_word("kind", &a->kind, value, failure);
    a->given |= (uint64_t)1 << id;
    switch (id) {
    case OUTPUT: settings->output = value; break;
    case STEPS: return ks_parse_integer("--T", value, 1, most, &recipe->T, failure);
    case SERIES:
        recipe->batched = true;
        return ks_parse_integer("--B", value, 1, most, &recipe->B, failure);
    case NX: return ks_parse_int("--nx", value, 1, 4096, &recipe->nx, failure);
    case NY: return ks_parse_int("--ny", value, 1, 4096, &recipe->ny, failure);
    case SEED:
        return ks_parse_integer("--seed", value, 0, (int64_t)1 << 52, &recipe->seed, failure);
    case MISSING: return ks_parse_number("--missing", value, 0.0, 0.95, &recipe->missing, failure);
    case DT: return ks_parse_number("--dt", value, 1e-12, 1e12, &recipe->dt, failure);
    case NOISE_Q: return ks_parse_number("--q", value, 0.0, 1e100, &recipe->q, failure);
    case BLOCKS: return ks_parse_integer("--N", value, 1, most, &settings->system.N, failure);
    case ORDER: return ks_parse_int("--n", value, 1, 4096, &settings->system.n, failure);
    case NRHS: return ks_parse_int("--nrhs", value, 1, 65536, &settings->system.nrhs, failure);
    case NOISE_R: return ks_parse_number("--r", value, 0.0, 1e100, &recipe->r, failure);
    case COMPRESS: return ks_parse_int("--compress", value, 0, 9, &settings->compress, failure);
    case SERVERS:
        return ks_parse_integer("--servers", value, 1, (int64_t)1 << 32, &settings->queue.servers,
                                failure);
    case CAPACITY: return ks_parse_int("--capacity", value, 1, 100000, &settings->queue.capacity, failure);
    case LAMBDA: return read_rate("--lambda", value, &settings->queue.lambda, failure);
    case MU: return read_rate("--mu", value, &settings->queue.mu, failure);
    case ETA: return read_rate("--eta", value, &settings->queue.eta, failure);
    case NU: return read_rate("--nu", value, &settings->queue.nu, failure);
    case PLOT: settings->plot = value; break;
    case THREADS: return ks_parse_int("--threads", value, 0, 4096, &settings->threads, failure);
    case FORCE: settings->force = true; break;
    case QUIET: settings->quiet = true; break;
    default: settings->json = true; break;
    }
    return KS_EXIT_DONE;
}

static void set_default(double *value, double standard)
{
    if (*value < 0.0) *value = standard;
}

/* Set sizes and parameters that were not given (0 or negative) to the defaults of the kind. */
static ks_exit complete(ks_recipe *recipe, ks_failure *failure)
{
    const bool turns = recipe->kind == KS_KIND_ROTATION;
    if (recipe->T == 0) recipe->T = turns ? 100 : 1000;
    set_default(&recipe->dt, turns ? 0.1 : 1.0);
    set_default(&recipe->q, turns ? 0.01 : 1.0);
    set_default(&recipe->r, turns ? 0.1 : 1.0);
    if (recipe->kind == KS_KIND_LOCAL_LEVEL) {
        if (recipe->nx > 1 || recipe->ny > 1)
            return ks_fail(failure, KS_EXIT_USAGE, "local-level has nx = 1 and ny = 1");
        recipe->nx = recipe->ny = 1;
        return KS_EXIT_DONE;
    }
    if (recipe->nx == 0) recipe->nx = turns ? 256 : 4;
    if (recipe->kind == KS_KIND_RANDOM) {
        if (recipe->ny == 0) recipe->ny = 2;
        return KS_EXIT_DONE;
    }
    if (recipe->nx % 2 != 0)
        return ks_fail(failure, KS_EXIT_USAGE, "%s needs an even nx, got %d",
                       turns ? "rotation" : "constant-velocity", recipe->nx);
    if (turns) {
        if (recipe->ny == 0) recipe->ny = recipe->nx <= 1024 ? 4 * recipe->nx : 4096;
        return KS_EXIT_DONE;
    }
    if (recipe->ny != 0 && recipe->ny != recipe->nx / 2)
        return ks_fail(failure, KS_EXIT_USAGE, "constant-velocity observes nx / 2 = %d positions, "
                       "not ny = %d", recipe->nx / 2, recipe->ny);
    recipe->ny = recipe->nx / 2;
    return KS_EXIT_DONE;
}

static bool was_given(uint64_t given, int id) { return (given >> id & 1u) != 0; }

/* Which kinds an option applies to, one bit for each place in the list. Options that are not listed apply to all
 * kinds. */
enum { RANDOM = 1, VELOCITY = 2, LEVEL = 4, ROTATION = 8, SYSTEM = 16, QUEUE = 32,
       MODEL = RANDOM | VELOCITY | LEVEL | ROTATION };
static const struct { int option, kinds; } belongs[] = {
    {STEPS, MODEL}, {SERIES, MODEL}, {NX, MODEL}, {NY, MODEL}, {MISSING, MODEL}, {DT, VELOCITY | ROTATION},
    {NOISE_Q, MODEL & ~RANDOM}, {NOISE_R, MODEL & ~RANDOM}, {SEED, MODEL | SYSTEM}, {BLOCKS, SYSTEM}, {ORDER, SYSTEM},
    {NRHS, SYSTEM}, {SERVERS, QUEUE}, {CAPACITY, QUEUE}, {LAMBDA, QUEUE}, {MU, QUEUE},
    {ETA, QUEUE}, {NU, QUEUE}, {PLOT, QUEUE}, {THREADS, QUEUE}};

static const char *name_of(int option)
{
    for (const ks_option *o = options; o->name; ++o)
        if (o->id == option) return o->name;
    return "";
}

/* Print the kinds whose bits are set: "local-level and rotation". */
static void kinds_text(int set, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; kinds[i] && used < size; ++i) {
        if (!(set >> i & 1)) continue;
        const bool last = set >> i == 1;
        used += (size_t)snprintf(text + used, size - used, "%s%s", used == 0 ? "" : last ? " and " : ", ", kinds[i]);
    }
}

static ks_exit check_given(const ks_generate_settings *settings, int kind, uint64_t given,
                           ks_failure *failure)
{
    char takers[160];
    for (size_t i = 0; i < sizeof belongs / sizeof *belongs; ++i) {
        if (!was_given(given, belongs[i].option) || (belongs[i].kinds & kind)) continue;
        kinds_text(belongs[i].kinds, takers, sizeof takers);
        return ks_fail(failure, KS_EXIT_USAGE, "--%s goes with %s, not with %s", name_of(belongs[i].option), takers,
                       settings->kind_name);
    }
    return KS_EXIT_DONE;
}

static ks_exit complete_queue(ks_generate_settings *settings, ks_failure *failure)
{
    ks_queue *q = &settings->queue;
    const char *const inputs[] = {NULL};
    if (q->lambda == 0) q->lambda = (double)q->servers * q->mu / 2;
    if (!settings->plot) return KS_EXIT_DONE;
    const size_t length = strlen(settings->plot);
    if (length < 5 || (strcmp(settings->plot + length - 4, ".svg") != 0 &&
                       strcmp(settings->plot + length - 4, ".png") != 0))
        return ks_fail(failure, KS_EXIT_USAGE, "--plot draws .svg or .png, not '%s'",
                       settings->plot);
    if (ks_same_file(settings->plot, settings->output))
        return ks_fail(failure, KS_EXIT_USAGE, "--plot: %s is the output already; choose another name",
                       settings->plot);
    return ks_target_check(settings->plot, settings->force, inputs, failure);
}

static ks_exit run(ks_generate_settings *settings, const char *kind, uint64_t given,
                   ks_failure *failure)
{
    const char *const inputs[] = {NULL};
    int index = 0;
    if (!kind)
        return ks_fail(failure, KS_EXIT_USAGE,
                       "no kind; usage: kalscan generate KIND -o FILE.h5, see --help");
    if (ks_parse_word("KIND", kind, kinds, NULL, &index, failure)) return failure->code;
    settings->recipe.kind = (ks_kind)index;
    settings->kind_name = kinds[index];
    if (!settings->output)
        return ks_fail(failure, KS_EXIT_USAGE,
                       "no output; usage: kalscan generate KIND -o FILE.h5");
    const int kind_bit = 1 << index;
    if (check_given(settings, kind_bit, given, failure) ||
        ((kind_bit & MODEL) && complete(&settings->recipe, failure)) ||
        (kind_bit == QUEUE && complete_queue(settings, failure)) ||
        ks_target_check(settings->output, settings->force, inputs, failure) ||
        (settings->plot && ks_figure_check(failure)))
        return failure->code;
    if (kind_bit == SYSTEM) return ks_generate_system(settings, failure);
    return kind_bit == QUEUE ? ks_generate_queue(settings, failure)
                          : ks_generate_file(settings, failure);
}

ks_exit ks_command_generate(const ks_call *call, ks_failure *failure)
{
    ks_option_reader reader = {.argc = call->argc, .argv = call->argv, .command = "kalscan generate",
                               .help = print_help, .tables = {options}};
    asked a = {.settings = {.line = call->line}};
    ks_generate_settings *settings = &a.settings;
    bool served;
    settings->recipe.B = settings->recipe.seed = 1;
    settings->recipe.dt = settings->recipe.q = settings->recipe.r = -1.0;
    settings->system.N = 1000;
    settings->system.n = 16;
    settings->queue = (ks_queue){.servers = 100, .capacity = 16, .mu = 1, .eta = 1, .nu = 1};
    if (ks_options_read(&reader, read_option, &a, &served, failure) || served) return failure->code;
    return run(settings, a.kind, a.given, failure);
}
