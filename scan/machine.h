/* machine.h -- the interface between schedules and what executes them.
 *
 * A machine runs the rounds of a schedule one after the other. It knows no algorithms, directions or operators: the
 * schedule says which slots take part, the operator says what happens to them, and the binding says where the slots
 * are. All machines give the same bits. */
#ifndef KS_MACHINE_H
#define KS_MACHINE_H

#include <stddef.h>
#include "schedule.h"

/** What one run of a schedule works on. All memory belongs to the caller. */
typedef struct ks_binding {
    const ks_operator *op;
    ks_context *context;    /**< whose pool to use, or NULL                                */
    int workers;            /**< at least 1                                                */
    char *buffer[2];        /**< first bytes of KS_ELEMENTS and KS_WORK                    */
    char *temporary;        /**< worker w: `temporaries` elements at temporary + w * slice */
    char *scratch;          /**< worker w: the operator's scratch at scratch + w * slice   */
    size_t slice;
    int64_t temporaries;    /**< at least 1 if the schedule has down-sweeps */
} ks_binding;

typedef struct ks_machine {
    const char *name;
    /** Returns KS_ENOTPD if the operator reported a failure. Lanes that had begun may still have run. */
    ks_status (*run)(const ks_schedule *schedule, const ks_binding *binding);
} ks_machine;

/** Runs everything on the calling thread, as worker 0. */
extern const ks_machine ks_machine_serial;

/** Cuts the lanes of each round into one contiguous range for each worker. */
extern const ks_machine ks_machine_threads;

/** For CPU machines: run lanes begin .. end - 1 of a part as `worker`. Returns non-zero if the operator reported a
 *  failure. */
int ks_run_lanes(const ks_binding *binding, const ks_part *part, int64_t begin, int64_t end,
                 int worker);

#endif
