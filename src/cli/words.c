#include "words.h"

#include <stddef.h>
#include "model_file.h"
#include "options.h"

/* Find the index of a word among those that `name` returns for 0, 1, ...; it returns NULL after the last one. */
static ks_exit read_named(const char *option, const char *text, const char *(*name)(int),
                          int *value, ks_failure *failure)
{
    const char *names[8] = {NULL};
    for (int i = 0; i < 7 && name(i); ++i) names[i] = name(i);
    return ks_parse_word(option, text, names, NULL, value, failure);
}

ks_exit ks_read_prior(const char *text, int *prior, ks_failure *failure)
{
    return read_named("--prior", text, ks_prior_name, prior, failure);
}

ks_exit ks_read_transition(const char *text, int *transition, ks_failure *failure)
{
    return read_named("--transition", text, ks_transition_name, transition, failure);
}

ks_exit ks_read_layout(const char *text, int *layout, ks_failure *failure)
{
    return read_named("--layout", text, ks_layout_name, layout, failure);
}

ks_exit ks_read_backend(const char *text, ks_backend *backend, ks_failure *failure)
{
    static const ks_backend values[] = {KS_BACKEND_AUTO, KS_BACKEND_CPU, KS_BACKEND_CUDA};
    const char *const names[] = {ks_backend_name(values[0]), ks_backend_name(values[1]),
                                 ks_backend_name(values[2]), NULL};
    int index = 0;
    if (ks_parse_word("--backend", text, names, NULL, &index, failure) == KS_EXIT_DONE)
        *backend = values[index];
    return failure->code;
}

const char *ks_precision_text(ks_precision precision)
{
    static const char *const names[] = {[KS_F64] = "f64", [KS_F32] = "f32", [KS_MIXED] = "mixed"};
    return (size_t)precision < sizeof names / sizeof *names ? names[precision] : NULL;
}

static const char *precision_name(int precision)
{
    return ks_precision_text((ks_precision)precision);
}

ks_exit ks_read_precision(const char *text, ks_precision *precision, ks_failure *failure)
{
    int index = 0;
    if (read_named("--precision", text, precision_name, &index, failure) == KS_EXIT_DONE)
        *precision = (ks_precision)index;
    return failure->code;
}

static const char *steady_state_name(int word)
{
    return ks_steady_state_name((ks_steady_state)word);
}

ks_exit ks_read_steady_state(const char *text, ks_steady_state *word, ks_failure *failure)
{
    int index = 0;
    if (read_named("--steady-state", text, steady_state_name, &index, failure) == KS_EXIT_DONE)
        *word = (ks_steady_state)index;
    return failure->code;
}
