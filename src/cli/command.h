/* command.h -- the subcommands of kalscan. Each takes the arguments after its name, prints data and summaries on
 * stdout, and returns the exit code, with the message in `failure`. */
#ifndef KS_CLI_COMMAND_H
#define KS_CLI_COMMAND_H

#include "failure.h"

/** How the program was called. */
typedef struct ks_call {
    int argc;           /**< number of arguments of the subcommand */
    char **argv;
    const char *line;   /**< the whole command line, quoted for a shell */
} ks_call;

ks_exit ks_command_smooth(const ks_call *call, ks_failure *failure);
ks_exit ks_command_filter(const ks_call *call, ks_failure *failure);
ks_exit ks_command_solve(const ks_call *call, ks_failure *failure);
ks_exit ks_command_info(const ks_call *call, ks_failure *failure);
ks_exit ks_command_count(const ks_call *call, ks_failure *failure);
ks_exit ks_command_bench(const ks_call *call, ks_failure *failure);
ks_exit ks_command_generate(const ks_call *call, ks_failure *failure);

#endif
