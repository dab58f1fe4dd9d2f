/* help.h -- texts that several commands print. */
#ifndef KS_CLI_HELP_H
#define KS_CLI_HELP_H

/** Print the model's equations and conventions on stdout. */
void ks_help_model(void);

/** Print the exit codes on stdout. */
void ks_help_exit_codes(void);

/** The sentence about the log-likelihood in --help and in outputs. */
extern const char *const ks_loglik_convention;
/** The same with a diffuse prior. */
extern const char *const ks_diffuse_loglik_convention;

/** The two equations of the model. */
extern const char *const ks_model_equations;

/** Print "kalscan 0.1.0" on stdout. */
void ks_print_version(void);

#endif
