/* words.h -- options that take one of a few words, for several commands. Usage failures list the words. */
#ifndef KS_CLI_WORDS_H
#define KS_CLI_WORDS_H

#include "kalscan/smooth.h"
#include "failure.h"

/** Read a word as a value of ks_prior, ks_transition or ks_layout. */
ks_exit ks_read_prior(const char *text, int *prior, ks_failure *failure);
ks_exit ks_read_transition(const char *text, int *transition, ks_failure *failure);
ks_exit ks_read_layout(const char *text, int *layout, ks_failure *failure);

ks_exit ks_read_backend(const char *text, ks_backend *backend, ks_failure *failure);
ks_exit ks_read_precision(const char *text, ks_precision *precision, ks_failure *failure);
ks_exit ks_read_steady_state(const char *text, ks_steady_state *word, ks_failure *failure);

/** Return "f64", "f32" or "mixed"; NULL for an unknown value. */
const char *ks_precision_text(ks_precision precision);

#endif
