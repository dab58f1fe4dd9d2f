/* machine_serial.c -- one call to the operator for each part of a round. */
#include "machine.h"

static ks_status run(const ks_schedule *schedule, const ks_binding *binding)
{
    for (int64_t r = 0; r < schedule->rounds; ++r) {
        const ks_round *round = &schedule->round[r];
        for (int p = 0; p < round->parts; ++p)
            if (ks_run_lanes(binding, &round->part[p], 0, round->part[p].lanes, 0))
                return KS_ENOTPD;
    }
    return KS_OK;
}

const ks_machine ks_machine_serial = {"serial", run};
