#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "help.h"

/* The tables of the reader, and the one of common options. */
enum { TABLES = sizeof((ks_option_reader){0}).tables / sizeof(const ks_option *) + 1 };

const ks_option ks_common_options[] = {
    {KS_OPTION_HELP, "help", NULL, "this text", 'h'},
    {KS_OPTION_VERSION, "version", NULL, "the version", 0},
    {0}};

static const ks_option *table(const ks_option_reader *reader, int t)
{
    return t == TABLES - 1 ? ks_common_options : reader->tables[t];
}

/* Append to a text of KS_FAILURE_TEXT bytes. */
static void append(char *text, const char *separator, const char *word)
{
    const size_t used = strlen(text);
    snprintf(text + used, KS_FAILURE_TEXT - used, "%s%s", used ? separator : "", word);
}

static void known_options(const ks_option_reader *reader, char *text)
{
    text[0] = '\0';
    for (int t = 0; t < TABLES; ++t)
        for (const ks_option *o = table(reader, t); o && o->name; ++o) {
            append(text, ", ", "--");
            append(text, "", o->name);
        }
}

static const ks_option *find_in(const ks_option *o, const char *name, size_t length)
{
    for (; o && o->name; ++o)
        if (strlen(o->name) == length && memcmp(o->name, name, length) == 0) return o;
    return NULL;
}

static const ks_option *find_long(const ks_option_reader *reader, const char *name, size_t length)
{
    const ks_option *found = NULL;
    for (int t = 0; t < TABLES && !found; ++t) found = find_in(table(reader, t), name, length);
    return found;
}

static const ks_option *find_letter(const ks_option_reader *reader, char letter)
{
    for (int t = 0; t < TABLES; ++t)
        for (const ks_option *o = table(reader, t); o && o->name; ++o)
            if (o->letter == letter) return o;
    return NULL;
}

/* Return the number of letters to insert, delete or replace to get from a word to the name of an option (Levenshtein
 * distance). The word may be of any length. For a name of more than LONGEST letters, return more than MISTAKES. */
enum { MISTAKES = 2, LONGEST = 32 };
static int mistakes(const char *word, size_t length, const char *name)
{
    int row[LONGEST + 1];
    const size_t end = strlen(name);
    if (end > LONGEST) return MISTAKES + 1;
    for (size_t j = 0; j <= end; ++j) row[j] = (int)j;
    for (size_t i = 1; i <= length; ++i) {
        int corner = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= end; ++j) {
            const int above = row[j], changed = corner + (word[i - 1] != name[j - 1]);
            const int shifted = 1 + (above < row[j - 1] ? above : row[j - 1]);
            row[j] = changed < shifted ? changed : shifted;
            corner = above;
        }
    }
    return row[end];
}

/* Return the option that was probably meant: the only one that begins with the word, or the nearest with at most one
 * mistake in three letters; NULL: none. */
static const char *meant(const ks_option_reader *reader, const char *word)
{
    const size_t length = strcspn(word, "=");
    const char *nearest = NULL, *longer = NULL;
    int least = 1 + (int)(length < 3 * MISTAKES ? length / 3 : MISTAKES), begin = 0;
    if (length < 3) return NULL;
    for (int t = 0; t < TABLES; ++t)
        for (const ks_option *o = table(reader, t); o && o->name; ++o) {
            const int count = mistakes(word, length, o->name);
            if (count < least) {
                least = count;
                nearest = o->name;
            }
            if (strncmp(word, o->name, length) == 0) {
                longer = o->name;
                ++begin;
            }
        }
    return begin == 1 ? longer : nearest;
}

static int unknown(const ks_option_reader *reader, const char *word, ks_failure *failure)
{
    char known[KS_FAILURE_TEXT];
    if (word[1] == '-' && find_in(reader->others, word + 2, strcspn(word + 2, "="))) {
        ks_fail(failure, KS_EXIT_USAGE, "unknown option '%.100s' of %s; %s has it", word, reader->command,
                reader->other_command);
        return KS_OPTION_ERROR;
    }
    const char *other = word[1] == '-' ? meant(reader, word + 2) : NULL;
    if (other) {
        ks_fail(failure, KS_EXIT_USAGE, "unknown option '%.100s' of %s; is --%s meant?", word, reader->command, other);
        return KS_OPTION_ERROR;
    }
    known_options(reader, known);
    ks_fail(failure, KS_EXIT_USAGE, "unknown option '%.100s' of %s; it knows %s", word,
            reader->command, known);
    return KS_OPTION_ERROR;
}

/* Take an option. inline_value: the text after `=` or after the letter, or NULL. */
static int take(ks_option_reader *reader, const ks_option *option, const char *inline_value,
                const char **value, ks_failure *failure)
{
    *value = NULL;
    if (!option->argument) {
        if (!inline_value) return option->id;
        ks_fail(failure, KS_EXIT_USAGE, "option --%s takes no value", option->name);
        return KS_OPTION_ERROR;
    }
    if (inline_value)
        *value = inline_value;
    else if (reader->next < reader->argc)
        *value = reader->argv[reader->next++];
    if (!*value || !**value) {
        ks_fail(failure, KS_EXIT_USAGE, "option --%s needs a value: %s", option->name,
                option->argument);
        return KS_OPTION_ERROR;
    }
    return option->id;
}

/** The id of the next option with its value (NULL where it takes none), KS_OPTION_WORD with a
 *  word, KS_OPTION_END, or KS_OPTION_ERROR with a usage failure. */
static int next_option(ks_option_reader *reader, const char **value, ks_failure *failure)
{
    if (reader->next >= reader->argc) return KS_OPTION_END;
    const char *word = reader->argv[reader->next++];
    if (!reader->only_words && strcmp(word, "--") == 0) {
        reader->only_words = true;
        return next_option(reader, value, failure);
    }
    if (word[0] == '\0') {
        ks_fail(failure, KS_EXIT_USAGE, "an argument is empty: is a variable not set?");
        return KS_OPTION_ERROR;
    }
    if (reader->only_words || word[0] != '-' || word[1] == '\0') {
        *value = word;
        return KS_OPTION_WORD;
    }
    if (word[1] == '-') {
        const char *name = word + 2, *equals = strchr(name, '=');
        const size_t length = equals ? (size_t)(equals - name) : strlen(name);
        const ks_option *option = find_long(reader, name, length);
        if (!option) return unknown(reader, word, failure);
        return take(reader, option, equals ? equals + 1 : NULL, value, failure);
    }
    const ks_option *option = find_letter(reader, word[1]);
    if (!option) return unknown(reader, word, failure);
    if (option->argument && word[2] == '=') {
        ks_fail(failure, KS_EXIT_USAGE, "'%.100s': a value stands behind -%c alone, or behind --%s=", word,
                option->letter, option->name);
        return KS_OPTION_ERROR;
    }
    return take(reader, option, word[2] ? word + 2 : NULL, value, failure);
}

void ks_options_print(const ks_option *o)
{
    for (; o->name; ++o) {
        char left[64], letter[8] = "";
        if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, o->name, o->argument ? " " : "",
                 o->argument ? o->argument : "");
        if (strlen(left) <= 24)
            printf("  %-24s %s\n", left, o->help);
        else
            printf("  %s\n  %-24s %s\n", left, "", o->help);
    }
}

ks_exit ks_options_read(ks_option_reader *reader, ks_option_taker take_one, void *settings, bool *served,
                        ks_failure *failure)
{
    const char *value = NULL;
    int id;
    *served = false;
    while ((id = next_option(reader, &value, failure)) != KS_OPTION_END) {
        if (id == KS_OPTION_ERROR) return failure->code;
        *served = id == KS_OPTION_HELP || id == KS_OPTION_VERSION;
        if (id == KS_OPTION_HELP) reader->help();
        if (id == KS_OPTION_VERSION) ks_print_version();
        if (*served || take_one(settings, id, value, failure)) return failure->code;
    }
    return KS_EXIT_DONE;
}

static bool parse(const char *text, double *value)
{
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*value);
}

ks_exit ks_parse_integer(const char *option, const char *text, int64_t low, int64_t high,
                         int64_t *value, ks_failure *failure)
{
    double number;
    /* Doubles are exact for integers up to 2^53, beyond every limit used here. */
    if (!parse(text, &number) || number < (double)low || number > (double)high ||
        floor(number) < number)
        return ks_fail(failure, KS_EXIT_USAGE,
                       "%s: '%.100s' is not a whole number from %lld to %lld", option, text,
                       (long long)low, (long long)high);
    *value = (int64_t)number;
    return KS_EXIT_DONE;
}

ks_exit ks_parse_int(const char *option, const char *text, int low, int high, int *value, ks_failure *failure)
{
    int64_t number = 0;
    if (ks_parse_integer(option, text, low, high, &number, failure) == KS_EXIT_DONE) *value = (int)number;
    return failure->code;
}

ks_exit ks_take_word(const char *what, const char **word, const char *value, ks_failure *failure)
{
    if (*word) return ks_fail(failure, KS_EXIT_USAGE, "one %s only, but got '%s' and '%s'", what, *word, value);
    *word = value;
    return KS_EXIT_DONE;
}

ks_exit ks_parse_number(const char *option, const char *text, double low, double high,
                        double *value, ks_failure *failure)
{
    if (!parse(text, value) || *value < low || *value > high)
        return ks_fail(failure, KS_EXIT_USAGE, "%s: '%.100s' is not a number from %g to %g",
                       option, text, low, high);
    return KS_EXIT_DONE;
}

ks_exit ks_parse_word(const char *option, const char *text, const char *const *words,
                      const char *const *later, int *index, ks_failure *failure)
{
    char known[KS_FAILURE_TEXT] = "";
    for (int i = 0; words[i]; ++i) {
        if (strcmp(text, words[i]) == 0) {
            *index = i;
            return KS_EXIT_DONE;
        }
        append(known, ", ", words[i]);
    }
    for (; later && *later; ++later)
        if (strcmp(text, *later) == 0)
            return ks_fail(failure, KS_EXIT_USAGE,
                           "%s: '%s' is not in this version; it has %s", option, text, known);
    return ks_fail(failure, KS_EXIT_USAGE, "%s: unknown '%.100s'; this version has %s", option,
                   text, known);
}
