/* team_meet_kernels.h -- device code: the backward pass of the two-filter smoother over chunks of larger models, a team
 * of threads for each, in double with rows in double or single precision. Included after team_kernels.h. */
#include "num_team_f64.h"
#include "element_ordinary_text.h"
#include "information_ordinary_text.h"
#include "team_meet_text.h"
#include "num_team_end.h"

BACK(meet_f64, team_meet_team_f64<double>, elements)
BACK(meet_f32, team_meet_team_f64<float>, elements)
