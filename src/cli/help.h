/* help.h -- texts that several commands print. */
#ifndef KS_CLI_HELP_H
#define KS_CLI_HELP_H

/** The model's equations and conventions, on stdout. */
void ks_help_model(void);

/** The exit codes, on stdout. */
void ks_help_exit_codes(void);

/** The sentence about the log-likelihood that --help prints and outputs carry. */
extern const char *const ks_loglik_convention;

/** The two lines of the model. */
extern const char *const ks_model_equations;

/** "kalscan 0.1.0" on stdout. */
void ks_print_version(void);

#endif
