/* explain.h -- messages for the user about what the library reports. */
#ifndef KS_CLI_EXPLAIN_H
#define KS_CLI_EXPLAIN_H

#include "kalscan/smooth.h"
#include "failure.h"
#include "model_file.h"
#include "settings.h"

/** Fail because a plan could not be created. */
ks_exit ks_explain_plan(ks_status status, const ks_settings *settings, size_t device_bytes,
                        ks_failure *failure);

/** Note on stderr that --backend auto found no device to run the plan on. */
void ks_note_backend(const ks_smooth_plan *plan, ks_job job);

/** Note on stderr that --backend auto ran on the CPU what might have run on a device. */
void ks_note_tried(const ks_smooth_plan *plan, const ks_settings *settings, const ks_info *info);

/** Note on stderr that --scan was given but the method that auto begins with has no scan, or another one. */
void ks_note_scan(const ks_info *begins, const ks_settings *settings);

/** Whether a method computes each step whatever --steady-state says. */
bool ks_computes_each_step(ks_method method, ks_scan_algorithm scan, bool device);

/** Note on stderr that --steady-state asks for what the plan or the model cannot use. */
void ks_note_steady_state(const ks_smooth_plan *plan, const ks_settings *settings, const ks_input *input);

/** Fail because a run failed. Names the step, the series if there are several, and the matrix. If digits were lost,
 *  suggests what may help. */
ks_exit ks_explain_run(ks_status status, const ks_info *info, const ks_input *input, ks_precision precision,
                       ks_failure *failure);

/** Print "ladner-fischer", "sengupta:100", or "none" for a method without a scan. */
void ks_scan_text(ks_method method, ks_scan_algorithm scan, int64_t threshold, char text[64]);

/** Return "twisted", ..., or "none" for a method that eliminates nothing. */
const char *ks_order_text(const ks_info *info);

#endif
