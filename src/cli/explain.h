/* explain.h -- what the library reports, in words for the user. */
#ifndef KS_CLI_EXPLAIN_H
#define KS_CLI_EXPLAIN_H

#include "kalscan/smooth.h"
#include "failure.h"
#include "model_file.h"
#include "settings.h"

/** Planning failed. */
ks_exit ks_explain_plan(ks_status status, const ks_settings *settings, size_t device_bytes,
                        ks_failure *failure);

/** Where --backend auto has found no device to run a plan on: one line about it on stderr. */
void ks_note_backend(const ks_smooth_plan *plan, ks_job job);

/** Where --backend auto might have run on a device what it has run on the CPU: one line about it on stderr. */
void ks_note_tried(const ks_smooth_plan *plan, const ks_settings *settings, const ks_info *info);

/** Where --scan was given and the method that auto begins with has none or another: one line about it on stderr. */
void ks_note_scan(const ks_info *begins, const ks_settings *settings);

/** Whether a method computes each step whatever the word for the steady state. */
bool ks_computes_each_step(ks_method method, ks_scan_algorithm scan, bool device);

/** Where --steady-state asks for what the plan, or the model, has no use for: one line about it on stderr. */
void ks_note_steady_state(const ks_smooth_plan *plan, const ks_settings *settings, const ks_input *input);

/** A run failed: names the step, the series where there are several, and the matrix; and what may do where that is for lack of
 *  digits. */
ks_exit ks_explain_run(ks_status status, const ks_info *info, const ks_input *input, ks_precision precision,
                       ks_failure *failure);

/** "ladner-fischer", "sengupta:100", or "none" for methods without a scan. */
void ks_scan_text(ks_method method, ks_scan_algorithm scan, int64_t threshold, char text[64]);

/** "twisted", or "none" for methods that eliminate nothing. */
const char *ks_order_text(const ks_info *info);

#endif
