/* team_meet_kernels.h -- device code: the two-filter smoother's way back over chunks of larger models, a team of
 * threads for each, in double with rows of either number. Included behind team_kernels.h. */
#include "num_team_f64.h"
#include "element_ordinary_text.h"
#include "information_ordinary_text.h"
#include "team_meet_text.h"
#include "num_team_end.h"

BACK(meet_f64, team_meet_team_f64<double>, elements)
BACK(meet_f32, team_meet_team_f64<float>, elements)
