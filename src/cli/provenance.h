/* provenance.h -- attributes that record the origin of an output. */
#ifndef KS_CLI_PROVENANCE_H
#define KS_CLI_PROVENANCE_H

#include <stddef.h>

/** Print one line of `history`, as netCDF tools write it: time and command line. */
void ks_history_text(const char *line, char *text, size_t size);

#endif
