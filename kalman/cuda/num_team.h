/* num_team.h -- the macros that num_team_f64.h, num_team_f32.h and num_team_mixed.h change. num_team_end.h restores
 * them. */
#pragma push_macro("KS_HD")
#pragma push_macro("KS_RESTRICT")
#undef KS_HD
#undef KS_RESTRICT
#define KS_HD KS_DEVICE
#define KS_RESTRICT
#pragma push_macro("KS_EACH")
#undef KS_EACH
#define KS_EACH KS_TEAM_EACH
