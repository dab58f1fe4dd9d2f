/* golden_bounds.c -- how far off results may be.
 *
 * Rounding every operation leaves what moving the input by a few units in the last place would: so
 * a bound is a case's sensitivity many times over, and never below a floor for what is rounded on
 * the way alone. Factors and floors are some ten times what any of these reaches over all cases:
 * gcc with -O3 and all tiers, gcc with -O1, clang with sanitizers, and the emulated device. */
#include "golden.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* What a bound is for. The means and log-likelihoods of KS_MIXED are in double, with gains that
 * are not; everything else of it is as in single precision. */
enum { F64 = 1, F32 = 2, MIXED = 4, MIXED_MEANS = 8 };
enum { STEPS = 1, ELEMENTS = 2, TWO_ENDED = 4, MAP = 8, ALL = 15 };

/* Nothing in the tests may be off by more than a twentieth of a standard deviation. */
static const double most_f32 = 0.05, most_means = 3e-3, most_f64 = 1e-8;

typedef struct rule {
    double floor, factor; /* in units in the last place; times the sensitivity */
} rule;

/* Steps and scans lose what the model's own sensitivity says. Where an inverse of Q and P0 is made
 * first, as two-ended and MAP do, they lose what its condition says; in single precision the MAP
 * route computes in double. */
static const rule rules_f64[] = { { 0x1p10, 50 }, { 0x1p10, 50 }, { 0x1p15, 1000 }, { 0x1p15, 1000 } };
static const rule rules_f32[] = { { 0x1p10, 20 }, { 0x1p10, 20 }, { 0x1p13, 20 }, { 0x1p10, 20 } };
static const rule means_rule = { 0x1p8, 10 };

/* An element holds covariances, not their square roots: with a vague prior the scans lose digits to
 * it, which of them depends on how the compiler rounds. */
static const rule vague_elements = { 0x1p10, 1e5 };

/* Cases to which no rule does justice. */
static const struct {
    const char *name;
    unsigned what, routes;
    double bound;
} named[] = {
    /* Elements, as above, of six states with a prior of 1e7, and of four of which sums are seen
     * alone: 1.2e-7 and 3.3e-8 are reached. */
    { "co2_start", F64, ELEMENTS, 1e-6 },
    { "vague_combinations", F64, ELEMENTS, 3e-7 },
    /* Elements of steps with next to no noise, or a gap of 1000 of them: what they say of the
     * state grows by powers of the steps between. 4.6e-8, 2.7e-10, 2.2e-10, 1.1e-10, 2.3e-10. */
    { "gap_of_1000", F64, ELEMENTS, 1e-7 },
    { "order_four_no_Q", F64, ELEMENTS, 3e-9 },
    { "order_four_small_Q", F64, ELEMENTS, 3e-9 },
    { "near_deterministic_ar", F64, ELEMENTS, 2e-9 },
    { "precise_beside_coarse", F64, ELEMENTS, 3e-9 },
    /* Variances of one step that are 1e7 or, of the noises 2^-26 and 64, 4e9 apart: 1.1e-10, 4.2e-12,
     * 1.2e-10, 4.7e-10; by MAP, which inverts the prior, 2.0e-9. */
    { "co2_start", F64, STEPS, 1e-9 },
    { "vague_sum_then_difference", F64, STEPS, 5e-11 },
    { "precise_beside_coarse", F64, STEPS, 1e-9 },
    { "precise_beside_coarse", F64, TWO_ENDED | MAP, 5e-9 },
    { "vague_sum_then_difference", F64, MAP, 1e-8 },
    /* 101 steps without noise, of which nothing is forgotten: 4.5e-11 and 2.4e-3. */
    { "order_four_no_Q", F64, STEPS, 5e-10 },
    { "order_four_no_Q", F32 | MIXED, ALL, 2.5e-2 },
    /* Sensitive to changes that no rounding makes, since what is observed exactly stays exact:
     * 2.0e-15, 1.2e-5; 4.3e-12, 3.1e-5. */
    { "companion_exact", F64, ALL, 1e-13 },
    { "companion_exact", F32 | MIXED | MIXED_MEANS, ALL, 2e-4 },
    { "R_zero_channel_not_for_scans", F64, ALL, 5e-11 },
    { "R_zero_channel_not_for_scans", F32 | MIXED | MIXED_MEANS, ALL, 4e-4 },
    /* No noise but two exact observations: rounding the input alone moves results by 6e-8 (3.2e-8
     * is reached) and, in single precision, by 32 standard deviations. Not for f32. */
    { "relaxation_exact_steps", F64, ALL, 1e-7 },
    { "relaxation_exact_steps", F32, ALL, (double)INFINITY },
    /* Gains in single precision of a vague start whose sum alone is seen: 2.4e-3. */
    { "vague_combinations", MIXED_MEANS, ALL, 2.5e-2 },
    /* The same: by how the compiler rounds, 4e-3 to 3.3e-2 of the smoothed mean. */
    { "co2_start", MIXED_MEANS, ALL, 5e-2 },
};

static unsigned what_of(ks_precision precision, bool means)
{
    return precision == KS_F64 ? F64 : precision == KS_F32 ? F32 : means ? MIXED_MEANS : MIXED;
}

double golden_bound(const golden *g, golden_route route, ks_precision precision, bool means)
{
    const unsigned what = what_of(precision, means);
    const double unit = what == F64 ? 0x1p-52 : 0x1p-23;
    rule r = what == F64 ? rules_f64[route] : what == MIXED_MEANS ? means_rule : rules_f32[route];
    double most = what == F64 ? most_f64 : what == MIXED_MEANS ? most_means : most_f32;
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (strcmp(g->name, named[i].name) == 0 && named[i].what & what && named[i].routes >> route & 1)
            return named[i].bound;
    if (what == F64 && route == GOLDEN_ELEMENTS && strcmp(g->condition, "vague") == 0)
        r = vague_elements;
    return fmin(fmax(r.floor * unit, r.factor * g->sensitivity * (unit / 0x1p-52)), most);
}

double golden_ordinary_bound(golden_route route, ks_precision precision)
{
    static const golden ordinary = { .condition = "ordinary" };
    return golden_bound(&ordinary, route, precision, false);
}

golden_verdict golden_judge(const golden_results *actual, const golden *g, unsigned outputs,
                            golden_route route, ks_precision precision, golden_norm norm)
{
    const unsigned in_double = KS_OUT_LOGLIK | KS_OUT_LOGLIK_TERMS | KS_OUT_PREDICTED_MEAN |
                               KS_OUT_FILTERED_MEAN | KS_OUT_SMOOTHED_MEAN | KS_OUT_PRIOR_MEAN |
                               KS_OUT_INNOVATION;
    const unsigned means = precision == KS_MIXED ? outputs & in_double : 0;
    golden_verdict v = { golden_compare(actual, &g->expected, outputs & ~means, norm),
                         golden_bound(g, route, precision, false), false };
    v.good = isfinite(v.worst.error) && v.worst.error <= v.bound;
    if (means && (v.good || outputs == means)) {
        v.worst = golden_compare(actual, &g->expected, means, norm);
        v.bound = golden_bound(g, route, precision, true);
        v.good = isfinite(v.worst.error) && v.worst.error <= v.bound;
    }
    return v;
}
