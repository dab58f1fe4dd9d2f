/* options.h -- parsing of command lines: `--name value`, `--name=value`, `-o value`, words, and `--`. */
#ifndef KS_CLI_OPTIONS_H
#define KS_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include "failure.h"

/** One option. A table of options ends with name NULL. */
typedef struct ks_option {
    int id;                /**< what ks_options_read() hands on: positive, distinct in a command */
    const char *name;      /**< without the dashes                                               */
    const char *argument;  /**< what it takes, as --help shows it; NULL: nothing                 */
    const char *help;
    char letter;           /**< short form; 0: none */
} ks_option;

enum { KS_OPTION_END = 0, KS_OPTION_WORD = -1, KS_OPTION_ERROR = -2, KS_OPTION_HELP = -3, KS_OPTION_VERSION = -4 };

/** --help and --version, which every command has in addition to its tables. */
extern const ks_option ks_common_options[];

/** State of the parser. Set the members before `next` and leave the rest zero. */
typedef struct ks_option_reader {
    int argc;
    char **argv;              /**< after the name of the command    */
    const char *command;      /**< "kalscan smooth", for messages   */
    void (*help)(void);       /**< prints the --help of the command */
    const ks_option *tables[3];
    const ks_option *others;  /**< options of a command that is easily confused with this one, or NULL */
    const char *other_command;
    int next;
    bool only_words;          /**< after `--`                                                    */
} ks_option_reader;

/** Whatever is done with an option, or with a word where id is KS_OPTION_WORD. */
typedef ks_exit (*ks_option_taker)(void *settings, int id, const char *value, ks_failure *failure);

/** Pass all remaining options and words to `take`, until it fails. The first --help or --version is served instead;
 *  *served says that the command has nothing else to do. */
ks_exit ks_options_read(ks_option_reader *reader, ks_option_taker take, void *settings, bool *served,
                        ks_failure *failure);

/** Print the lines of --help on stdout. */
void ks_options_print(const ks_option *table);

/** Read an integer within limits, which may be written as 1e6. Otherwise a usage failure that names `option`, such as
 *  "--T". */
ks_exit ks_parse_integer(const char *option, const char *text, int64_t low, int64_t high,
                         int64_t *value, ks_failure *failure);
/** As ks_parse_integer(), for an int. */
ks_exit ks_parse_int(const char *option, const char *text, int low, int high, int *value, ks_failure *failure);

/** Take the only word of a command; `what` names it in messages. *word is NULL until then. */
ks_exit ks_take_word(const char *what, const char **word, const char *value, ks_failure *failure);

/** Read a finite number within limits. */
ks_exit ks_parse_number(const char *option, const char *text, double low, double high,
                        double *value, ks_failure *failure);

/** Find the index of a word in a list that ends with NULL. `later` (may be NULL) lists words that this version does not
 *  have yet. */
ks_exit ks_parse_word(const char *option, const char *text, const char *const *words,
                      const char *const *later, int *index, ks_failure *failure);

#endif
