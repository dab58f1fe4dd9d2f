/* costs.c -- which smoother `auto` takes: the measured costs that it goes by.
 *
 * Measured through the plans in double precision, nanoseconds per step, means and covariances
 * stored; T = 20000 up to six states with a constant model, 300 at 48 states, 4000
 * elsewhere; AVX2, two cores at 2.5 GHz. Constant models / models that vary with the step:
 *
 *     nx, ny                       1, 1   2, 1    3, 2     4, 2     5, 2     6, 3
 *     sequential                  43/66 59/108  86/199   68/169  210/825  167/529
 *     two-ended, 1 thread         53/76 82/133 137/243   94/235 275/1142  230/723
 *     two-ended, 2 threads        33/45  45/73  83/134   53/144  152/665  132/408
 *
 *     nx, ny                             8, 4      12, 6      16, 8     24, 12       48, 24
 *     sequential                       623/735 1429/2127 3983/4987  9.3k/11.5k     55k/65k
 *     two-ended, 1 thread             721/1145 1840/3038 4995/6817 11.6k/15.4k     70k/84k
 *     two-ended, 2 threads             441/655 1091/1820 3032/4013   7.0k/9.0k     41k/49k
 *
 * With 10% of the entries missing, sequential and two-ended on two threads: (4, 2) 174 and 118,
 * (6, 3) 451 and 312. The scans do 5 to 15 times the work of the sequential smoother and are not
 * among the choices. */
#include "smooth_plan.h"

/* Steps below which waking a second thread costs more than it saves. */
enum { LEAST_STEPS = 1000 };

/** Time of two-ended on two threads in that of sequential on one, the worse of both kinds of model,
 *  for as many states as `nx` and fewer. */
typedef struct cost { int nx; double two_ended; } cost;

static const cost costs[] = { { 2, 0.77 }, { 3, 0.97 }, { 15, 0.89 }, { 1 << 20, 0.81 } };

/** How often `at_once` series run side by side until B of them are done. */
static int64_t rounds(int64_t B, int64_t at_once) { return (B + at_once - 1) / at_once; }

ks_method ks_cheapest_smoother(int64_t T, int64_t B, int nx, int threads)
{
    if (threads < 2 || T < LEAST_STEPS) return KS_METHOD_SEQUENTIAL;
    int i = 0;
    while (nx > costs[i].nx) ++i;
    const double sequential = (double)rounds(B, threads);
    const double two_ended = (double)rounds(B, threads / 2) * costs[i].two_ended;
    return two_ended < sequential ? KS_METHOD_TWO_ENDED : KS_METHOD_SEQUENTIAL;
}
