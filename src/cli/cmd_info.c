/* `kalscan info`: how a file is understood. */
#include <stdio.h>
#include "command.h"
#include "file_kind.h"
#include "h5.h"
#include "help.h"
#include "info.h"
#include "options.h"
#include "words.h"

enum { Y = 1, MODEL, MODEL_FILE, PRIOR, DIFFUSE, TRANSITION, LAYOUT, JSON, QUIET };

static const ks_option options[] = {
    {Y, "y", "PATH", "dataset of the observations, instead of /y", 0},
    {MODEL, "model", "GROUP", "group of the model, instead of /model", 0},
    {MODEL_FILE, "model-file", "FILE", "file with the model, default the input file", 0},
    {PRIOR, "prior", "x0|x1", "instead of the attribute of the model", 0},
    {DIFFUSE, "diffuse", NULL, "as smooth and filter take it: P0_inf = I, without m0 and P0", 0},
    {TRANSITION, "transition", "into|out-of", "instead of the attribute of the model", 0},
    {LAYOUT, "layout", "c|fortran", "instead of the attribute of the model", 0},
    {JSON, "json", NULL, "one JSON object", 0},
    {QUIET, "quiet", NULL, "accepted, without effect", 0},
    {0}};

static void print_help(void)
{
    printf("usage: kalscan info FILE.h5 [options]\n\n"
           "Print what kalscan reads from a model with data, a block-tridiagonal system or an output:\n"
           "sizes, conventions, missing entries, problems. The exit code is 3 if there are problems.\n\n"
           "Options\n");
    ks_options_print(options);
    ks_options_print(ks_common_options);
    ks_help_model();
    ks_help_exit_codes();
}

/* Refuse a convention that this kind of file does not have. */
static ks_exit check_given(const ks_input_places *places, ks_file_kind kind, ks_failure *failure)
{
    const char *option = places->prior >= 0 ? "prior" : places->transition >= 0 ? "transition" : NULL;
    if (places->diffuse) option = "diffuse";
    if (kind == KS_FILE_OUTPUT && !option && places->layout >= 0) option = "layout";
    if ((kind != KS_FILE_SYSTEM && kind != KS_FILE_OUTPUT) || !option) return KS_EXIT_DONE;
    return ks_fail(failure, KS_EXIT_USAGE, "%s: --%s goes with models%s, and this is %s", places->file, option,
                   option[0] == 'l' ? " and systems" : "",
                   kind == KS_FILE_SYSTEM ? "a block-tridiagonal system" : "an output of kalscan");
}

typedef struct asked {
    ks_input_places places;
    bool json;
    bool as_model;   /* an option says that it is a model */
} asked;

static ks_exit read_option(void *settings, int id, const char *value, ks_failure *failure)
{
    asked *a = settings;
    ks_input_places *places = &a->places;
    a->as_model = a->as_model || id == Y || id == MODEL || id == MODEL_FILE;
    switch (id) {
    case KS_OPTION_WORD: return ks_take_word("file", &places->file, value, failure);
    case Y: places->y = value; break;
    case MODEL: places->model = value; break;
    case MODEL_FILE: places->model_file = value; break;
    case PRIOR: return ks_read_prior(value, &places->prior, failure);
    case DIFFUSE: places->diffuse = true; break;
    case TRANSITION: return ks_read_transition(value, &places->transition, failure);
    case LAYOUT: return ks_read_layout(value, &places->layout, failure);
    case JSON: a->json = true; break;
    default: break;
    }
    return KS_EXIT_DONE;
}

ks_exit ks_command_info(const ks_call *call, ks_failure *failure)
{
    ks_option_reader reader = {.argc = call->argc, .argv = call->argv, .command = "kalscan info",
                               .help = print_help, .tables = {options}};
    asked a = {.places = KS_INPUT_PLACES_INIT};
    bool served;
    if (ks_options_read(&reader, read_option, &a, &served, failure) || served) return failure->code;
    if (!a.places.file)
        return ks_fail(failure, KS_EXIT_USAGE, "no file; usage: kalscan info FILE.h5");
    const hid_t file = ks_h5_open(a.places.file, failure);
    if (file < 0) return failure->code;
    /* A file that the options call observations or a model is one, whatever else it contains. */
    const ks_file_kind kind = a.as_model ? KS_FILE_MODEL : ks_file_kind_of(file);
    if (check_given(&a.places, kind, failure) == KS_EXIT_DONE && kind == KS_FILE_OUTPUT)
        ks_info_output(file, a.places.file, a.json, failure);
    ks_h5_release(file);
    if (failure->code || kind == KS_FILE_OUTPUT) return failure->code;
    return kind == KS_FILE_SYSTEM ? ks_info_system(a.places.file, a.places.layout, a.json, failure)
                                  : ks_info_model(&a.places, a.json, failure);
}
