/* published.h -- figures in print, made by make_published.py; see published.md.
 *
 * Constant models with prior x1. The figure of a log-likelihood is the sum of the terms from step
 * `skip` on, less `constants` times log(2 pi) / 2. */
#ifndef PUBLISHED_H
#define PUBLISHED_H

#include <math.h>
#include "kalscan/smooth.h"

#define PUBLISHED_NAN ((double)NAN)

/* One number of an output: entry `entry` of its block at a step. */
typedef struct published_value {
    ks_output output;
    int64_t step;
    int entry;
    double value, bound; /* the difference allowed: of its digits, or of its approximation */
} published_value;

typedef struct published_case {
    const char *name;
    int64_t T;
    int nx, ny;
    const double *y; /* (T, ny), NaN where missing */
    double F[4], Q[4], H[4], R[4], m0[2], P0[4];
    double loglik, loglik_bound; /* NaN where none is published */
    int skip, constants, count;
    published_value values[20];
} published_case;

static const double published_y_nile_P1_1e6[] = {
    1120.0, 1160.0, 963.0, 1210.0, 1160.0, 1160.0, 813.0, 1230.0, 1370.0, 1140.0, 995.0, 935.0,
    1110.0, 994.0, 1020.0, 960.0, 1180.0, 799.0, 958.0, 1140.0, 1100.0, 1210.0, 1150.0, 1250.0,
    1260.0, 1220.0, 1030.0, 1100.0, 774.0, 840.0, 874.0, 694.0, 940.0, 833.0, 701.0, 916.0,
    692.0, 1020.0, 1050.0, 969.0, 831.0, 726.0, 456.0, 824.0, 702.0, 1120.0, 1100.0, 832.0,
    764.0, 821.0, 768.0, 845.0, 864.0, 862.0, 698.0, 845.0, 744.0, 796.0, 1040.0, 759.0, 781.0,
    865.0, 845.0, 944.0, 984.0, 897.0, 822.0, 1010.0, 771.0, 676.0, 649.0, 846.0, 812.0, 742.0,
    801.0, 1040.0, 860.0, 874.0, 848.0, 890.0, 744.0, 749.0, 838.0, 1050.0, 918.0, 986.0, 797.0,
    923.0, 975.0, 815.0, 1020.0, 906.0, 901.0, 1170.0, 912.0, 746.0, 919.0, 718.0, 714.0, 740.0
};
static const double published_y_nile_diffuse[] = {
    PUBLISHED_NAN, 1160.0, 963.0, 1210.0, 1160.0, 1160.0, 813.0, 1230.0, 1370.0, 1140.0, 995.0,
    935.0, 1110.0, 994.0, 1020.0, 960.0, 1180.0, 799.0, 958.0, 1140.0, 1100.0, 1210.0, 1150.0,
    1250.0, 1260.0, 1220.0, 1030.0, 1100.0, 774.0, 840.0, 874.0, 694.0, 940.0, 833.0, 701.0,
    916.0, 692.0, 1020.0, 1050.0, 969.0, 831.0, 726.0, 456.0, 824.0, 702.0, 1120.0, 1100.0,
    832.0, 764.0, 821.0, 768.0, 845.0, 864.0, 862.0, 698.0, 845.0, 744.0, 796.0, 1040.0, 759.0,
    781.0, 865.0, 845.0, 944.0, 984.0, 897.0, 822.0, 1010.0, 771.0, 676.0, 649.0, 846.0, 812.0,
    742.0, 801.0, 1040.0, 860.0, 874.0, 848.0, 890.0, 744.0, 749.0, 838.0, 1050.0, 918.0, 986.0,
    797.0, 923.0, 975.0, 815.0, 1020.0, 906.0, 901.0, 1170.0, 912.0, 746.0, 919.0, 718.0, 714.0,
    740.0, PUBLISHED_NAN
};
static const double published_y_nile_diffuse_all_constants[] = {
    PUBLISHED_NAN, 1160.0, 963.0, 1210.0, 1160.0, 1160.0, 813.0, 1230.0, 1370.0, 1140.0, 995.0,
    935.0, 1110.0, 994.0, 1020.0, 960.0, 1180.0, 799.0, 958.0, 1140.0, 1100.0, 1210.0, 1150.0,
    1250.0, 1260.0, 1220.0, 1030.0, 1100.0, 774.0, 840.0, 874.0, 694.0, 940.0, 833.0, 701.0,
    916.0, 692.0, 1020.0, 1050.0, 969.0, 831.0, 726.0, 456.0, 824.0, 702.0, 1120.0, 1100.0,
    832.0, 764.0, 821.0, 768.0, 845.0, 864.0, 862.0, 698.0, 845.0, 744.0, 796.0, 1040.0, 759.0,
    781.0, 865.0, 845.0, 944.0, 984.0, 897.0, 822.0, 1010.0, 771.0, 676.0, 649.0, 846.0, 812.0,
    742.0, 801.0, 1040.0, 860.0, 874.0, 848.0, 890.0, 744.0, 749.0, 838.0, 1050.0, 918.0, 986.0,
    797.0, 923.0, 975.0, 815.0, 1020.0, 906.0, 901.0, 1170.0, 912.0, 746.0, 919.0, 718.0, 714.0,
    740.0
};
static const double published_y_nile_gaps_diffuse[] = {
    PUBLISHED_NAN, 1160.0, 963.0, 1210.0, 1160.0, 1160.0, 813.0, 1230.0, 1370.0, 1140.0, 995.0,
    935.0, 1110.0, 994.0, 1020.0, 960.0, 1180.0, 799.0, 958.0, 1140.0, PUBLISHED_NAN,
    PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN,
    PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN,
    PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN,
    PUBLISHED_NAN, 831.0, 726.0, 456.0, 824.0, 702.0, 1120.0, 1100.0, 832.0, 764.0, 821.0,
    768.0, 845.0, 864.0, 862.0, 698.0, 845.0, 744.0, 796.0, 1040.0, 759.0, PUBLISHED_NAN,
    PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN,
    PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN,
    PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN, PUBLISHED_NAN,
    PUBLISHED_NAN, 744.0, 749.0, 838.0, 1050.0, 918.0, 986.0, 797.0, 923.0, 975.0, 815.0,
    1020.0, 906.0, 901.0, 1170.0, 912.0, 746.0, 919.0, 718.0, 714.0, 740.0
};
static const double published_y_unemployment_level[] = {
    PUBLISHED_NAN, 5.1, 5.3, 5.6, 5.2, 5.2, 5.6, 6.3, 6.8, 7.0, 6.8, 6.2, 5.6, 5.5, 5.6, 5.5,
    5.8, 5.7, 5.5, 5.6, 5.5, 5.2, 5.0, 5.0, 4.9, 4.7, 4.4, 4.1, 3.9, 3.8, 3.8, 3.7, 3.8, 3.8,
    3.8, 3.9, 3.7, 3.5, 3.5, 3.4, 3.4, 3.4, 3.6, 3.6, 4.2, 4.8, 5.2, 5.8, 5.9, 5.9, 6.0, 6.0,
    5.8, 5.7, 5.6, 5.3, 5.0, 4.9, 4.8, 4.8, 5.1, 5.2, 5.6, 6.6, 8.2, 8.9, 8.5, 8.3, 7.7, 7.6,
    7.7, 7.8, 7.5, 7.1, 6.9, 6.6, 6.3, 6.0, 6.0, 5.9, 5.9, 5.7, 5.9, 5.9, 6.3, 7.3, 7.7, 7.4,
    7.4, 7.4, 7.4, 8.2, 8.8, 9.4, 9.9, 10.7, 10.4, 10.1, 9.4, 8.5, 7.9, 7.5, 7.4, 7.3, 7.3, 7.3,
    7.2, 7.0, 7.0, 7.2, 7.0, 6.8, 6.6, 6.3, 6.0, 5.9, 5.7, 5.5, 5.5, 5.3, 5.2, 5.2, 5.3, 5.4,
    5.3, 5.3, 5.7, 6.1, 6.6, 6.8, 6.9, 7.1, 7.4, 7.6, 7.6, 7.4, 7.2, 7.1, 6.8, 6.6, 6.6, 6.2,
    6.0, 5.6, 5.5, 5.7, 5.7, 5.6, 5.5, 5.5, 5.3, 5.3, 5.2, 5.0, 4.9, 4.7, 4.6, 4.4, 4.5, 4.4,
    4.3, 4.3, 4.2, 4.1, 4.0, 3.9, 4.0, 3.9, 4.2, 4.4, 4.8, 5.5, 5.7, 5.8, 5.7, 5.8, 5.9, 6.2,
    6.1, 5.8, 5.7, 5.6, 5.4, 5.4, 5.3, 5.1, 5.0, 4.9, 4.7, 4.7, 4.7, 4.4, 4.5, 4.5, 4.7, 4.8,
    4.9, 5.4, 6.0, 6.9, 8.1, 9.2, 9.6
};
static const double published_y_unemployment_trend[] = {
    5.3, 5.6, 5.2, 5.2, 5.6, 6.3, 6.8, 7.0, 6.8, 6.2, 5.6, 5.5, 5.6, 5.5, 5.8, 5.7, 5.5, 5.6,
    5.5, 5.2, 5.0, 5.0, 4.9, 4.7, 4.4, 4.1, 3.9, 3.8, 3.8, 3.7, 3.8, 3.8, 3.8, 3.9, 3.7, 3.5,
    3.5, 3.4, 3.4, 3.4, 3.6, 3.6, 4.2, 4.8, 5.2, 5.8, 5.9, 5.9, 6.0, 6.0, 5.8, 5.7, 5.6, 5.3,
    5.0, 4.9, 4.8, 4.8, 5.1, 5.2, 5.6, 6.6, 8.2, 8.9, 8.5, 8.3, 7.7, 7.6, 7.7, 7.8, 7.5, 7.1,
    6.9, 6.6, 6.3, 6.0, 6.0, 5.9, 5.9, 5.7, 5.9, 5.9, 6.3, 7.3, 7.7, 7.4, 7.4, 7.4, 7.4, 8.2,
    8.8, 9.4, 9.9, 10.7, 10.4, 10.1, 9.4, 8.5, 7.9, 7.5, 7.4, 7.3, 7.3, 7.3, 7.2, 7.0, 7.0, 7.2,
    7.0, 6.8, 6.6, 6.3, 6.0, 5.9, 5.7, 5.5, 5.5, 5.3, 5.2, 5.2, 5.3, 5.4, 5.3, 5.3, 5.7, 6.1,
    6.6, 6.8, 6.9, 7.1, 7.4, 7.6, 7.6, 7.4, 7.2, 7.1, 6.8, 6.6, 6.6, 6.2, 6.0, 5.6, 5.5, 5.7,
    5.7, 5.6, 5.5, 5.5, 5.3, 5.3, 5.2, 5.0, 4.9, 4.7, 4.6, 4.4, 4.5, 4.4, 4.3, 4.3, 4.2, 4.1,
    4.0, 3.9, 4.0, 3.9, 4.2, 4.4, 4.8, 5.5, 5.7, 5.8, 5.7, 5.8, 5.9, 6.2, 6.1, 5.8, 5.7, 5.6,
    5.4, 5.4, 5.3, 5.1, 5.0, 4.9, 4.7, 4.7, 4.7, 4.4, 4.5, 4.5, 4.7, 4.8, 4.9, 5.4, 6.0, 6.9,
    8.1, 9.2, 9.6
};
static const double published_y_koopman_level[] = {
    3.0, PUBLISHED_NAN
};
static const double published_y_koopman_trend[] = {
    3.0, 5.0, PUBLISHED_NAN
};
static const double published_y_koopman_trend_second_missing[] = {
    3.0, PUBLISHED_NAN, 4.0, PUBLISHED_NAN
};
static const double published_y_koopman_common_level[] = {
    3.0, 5.0, PUBLISHED_NAN, PUBLISHED_NAN
};

static const published_case published_cases[] = {
    /* Nile, sigma2_eps 15099, sigma2_eta 1469.1 (Durbin & Koopman 2012, ch. 2); P1 = 1e6, all
       terms */
    { .name = "nile_P1_1e6", .T = 100, .nx = 1, .ny = 1,
      .y = published_y_nile_P1_1e6,
      .F = { 1.0 },
      .Q = { 1469.1 },
      .H = { 1.0 },
      .R = { 15099.0 },
      .m0 = { 0.0 },
      .P0 = { 1000000.0 },
      .loglik = -640.989753, .loglik_bound = 1e-06,
      .skip = 0, .constants = 0, .count = 0,
    },
    /* Nile, sigma2_eps 15099, sigma2_eta 1469.1 (Durbin & Koopman 2012, ch. 2); P1 = 1e6 as in
       statsmodels' default, -632.538 */
    { .name = "nile_P1_1e6_first_term_dropped", .T = 100, .nx = 1, .ny = 1,
      .y = published_y_nile_P1_1e6,
      .F = { 1.0 },
      .Q = { 1469.1 },
      .H = { 1.0 },
      .R = { 15099.0 },
      .m0 = { 0.0 },
      .P0 = { 1000000.0 },
      .loglik = -632.537695, .loglik_bound = 1e-06,
      .skip = 1, .constants = 0, .count = 0,
    },
    /* Nile, sigma2_eps 15099, sigma2_eta 1469.1 (Durbin & Koopman 2012, ch. 2); P1 = 1e7, all
       terms */
    { .name = "nile_P1_1e7", .T = 100, .nx = 1, .ny = 1,
      .y = published_y_nile_P1_1e6,
      .F = { 1.0 },
      .Q = { 1469.1 },
      .H = { 1.0 },
      .R = { 15099.0 },
      .m0 = { 0.0 },
      .P0 = { 10000000.0 },
      .loglik = -641.585578, .loglik_bound = 1e-06,
      .skip = 0, .constants = 0, .count = 0,
    },
    /* Nile, sigma2_eps 15099, sigma2_eta 1469.1 (Durbin & Koopman 2012, ch. 2); exactly
       diffuse, 99 constants, KFAS's rule */
    { .name = "nile_diffuse", .T = 101, .nx = 1, .ny = 1,
      .y = published_y_nile_diffuse,
      .F = { 1.0 },
      .Q = { 1469.1 },
      .H = { 1.0 },
      .R = { 15099.0 },
      .m0 = { 1120.0 },
      .P0 = { 15099.0 },
      .loglik = -632.545625, .loglik_bound = 1e-06,
      .skip = 0, .constants = 0, .count = 17,
      .values = {
          { KS_OUT_FILTERED_MEAN, 0, 0, 1120, 1e-06 },
          { KS_OUT_FILTERED_COV, 0, 0, 15099, 1e-06 },
          { KS_OUT_FILTERED_MEAN, 1, 0, 1140.92784, 1e-06 },
          { KS_OUT_FILTERED_COV, 1, 0, 7899.736379, 1e-06 },
          { KS_OUT_FILTERED_MEAN, 99, 0, 798.370293, 1e-06 },
          { KS_OUT_FILTERED_COV, 99, 0, 4032.157942, 1e-06 },
          { KS_OUT_SMOOTHED_MEAN, 0, 0, 1111.668319, 1e-06 },
          { KS_OUT_SMOOTHED_COV, 0, 0, 4032.157942, 1e-06 },
          { KS_OUT_SMOOTHED_MEAN, 1, 0, 1110.857665, 1e-06 },
          { KS_OUT_SMOOTHED_COV, 1, 0, 3242.930073, 1e-06 },
          { KS_OUT_SMOOTHED_MEAN, 42, 0, 799.453269, 1e-06 },
          { KS_OUT_SMOOTHED_COV, 42, 0, 2326.75687, 1e-06 },
          { KS_OUT_SMOOTHED_MEAN, 49, 0, 834.763259, 1e-06 },
          { KS_OUT_SMOOTHED_COV, 49, 0, 2326.75687, 1e-06 },
          { KS_OUT_PREDICTED_MEAN, 100, 0, 798.370293, 1e-06 },
          { KS_OUT_PREDICTED_COV, 100, 0, 5501.257942, 1e-06 },
          { KS_OUT_INNOVATION_STD, 42, 0, -2.789193, 1e-06 },
      },
    },
    /* Nile, sigma2_eps 15099, sigma2_eta 1469.1 (Durbin & Koopman 2012, ch. 2); exactly
       diffuse, 100 constants, statespacer's -6.334646 per step */
    { .name = "nile_diffuse_all_constants", .T = 100, .nx = 1, .ny = 1,
      .y = published_y_nile_diffuse_all_constants,
      .F = { 1.0 },
      .Q = { 1469.1 },
      .H = { 1.0 },
      .R = { 15099.0 },
      .m0 = { 1120.0 },
      .P0 = { 15099.0 },
      .loglik = -633.464564, .loglik_bound = 1e-06,
      .skip = 0, .constants = 1, .count = 0,
    },
    /* Nile, sigma2_eps 15099, sigma2_eta 1469.1 (Durbin & Koopman 2012, ch. 2); years 21-40 and
       61-80 missing, exactly diffuse, 59 constants */
    { .name = "nile_gaps_diffuse", .T = 100, .nx = 1, .ny = 1,
      .y = published_y_nile_gaps_diffuse,
      .F = { 1.0 },
      .Q = { 1469.1 },
      .H = { 1.0 },
      .R = { 15099.0 },
      .m0 = { 1120.0 },
      .P0 = { 15099.0 },
      .loglik = -380.587063, .loglik_bound = 1e-06,
      .skip = 0, .constants = 0, .count = 4,
      .values = {
          { KS_OUT_SMOOTHED_MEAN, 29, 0, 903.421103, 1e-06 },
          { KS_OUT_SMOOTHED_COV, 29, 0, 9715.005902, 1e-06 },
          { KS_OUT_SMOOTHED_MEAN, 69, 0, 837.177324, 1e-06 },
          { KS_OUT_SMOOTHED_COV, 69, 0, 9715.005549, 1e-06 },
      },
    },
    /* Nile, sigma2_eps 15099, sigma2_eta 1469.1 (Durbin & Koopman 2012, ch. 2); the same, 60
       constants */
    { .name = "nile_gaps_diffuse_all_constants", .T = 100, .nx = 1, .ny = 1,
      .y = published_y_nile_gaps_diffuse,
      .F = { 1.0 },
      .Q = { 1469.1 },
      .H = { 1.0 },
      .R = { 15099.0 },
      .m0 = { 1120.0 },
      .P0 = { 15099.0 },
      .loglik = -381.506001, .loglik_bound = 1e-06,
      .skip = 0, .constants = 1, .count = 0,
    },
    /* US unemployment 1959-2009, KFAS results in statsmodels' tests; diffuse, no constants */
    { .name = "unemployment_level", .T = 203, .nx = 1, .ny = 1,
      .y = published_y_unemployment_level,
      .F = { 1.0 },
      .Q = { 0.1182078808 },
      .H = { 1.0 },
      .R = { 4.256647886e-06 },
      .m0 = { 5.8 },
      .P0 = { 4.256647886e-06 },
      .loglik = -70.97242557, .loglik_bound = 1e-08,
      .skip = 0, .constants = 0, .count = 0,
    },
    /* US unemployment 1959-2009, KFAS results in statsmodels' tests; diffuse, no constants */
    { .name = "unemployment_random_walk", .T = 203, .nx = 1, .ny = 1,
      .y = published_y_unemployment_level,
      .F = { 1.0 },
      .Q = { 0.1182174646 },
      .H = { 1.0 },
      .R = { 0.0 },
      .m0 = { 5.8 },
      .P0 = { 0.0 },
      .loglik = -70.96771641, .loglik_bound = 1e-08,
      .skip = 0, .constants = 0, .count = 0,
    },
    /* US unemployment 1959-2009, KFAS results in statsmodels' tests; diffuse, no constants */
    { .name = "unemployment_trend", .T = 201, .nx = 2, .ny = 1,
      .y = published_y_unemployment_trend,
      .F = { 1.0, 1.0, 0.0, 1.0 },
      .Q = { 0.01008704925, 0.0, 0.0, 0.0609176081 },
      .H = { 1.0, 0.0 },
      .R = { 1.339852549e-06 },
      .m0 = { 4.3999999999999995, -0.7000000000000002 },
      .P0 = { 0.081098405862745, 0.07100867690764699, 0.07100867690764699, 0.131924945155098 },
      .loglik = -31.15640107, .loglik_bound = 1e-08,
      .skip = 0, .constants = 0, .count = 0,
    },
    /* US unemployment 1959-2009, KFAS results in statsmodels' tests; diffuse, no constants */
    { .name = "unemployment_smooth_trend", .T = 201, .nx = 2, .ny = 1,
      .y = published_y_unemployment_trend,
      .F = { 1.0, 1.0, 0.0, 1.0 },
      .Q = { 0.0, 0.0, 0.0, 0.0753064234 },
      .H = { 1.0, 0.0 },
      .R = { 0.0008824099119 },
      .m0 = { 4.3999999999999995, -0.7000000000000002 },
      .P0 = { 0.0797184729595, 0.0779536531357, 0.0779536531357, 0.1523776666238 },
      .loglik = -31.92261408, .loglik_bound = 1e-08,
      .skip = 0, .constants = 0, .count = 0,
    },
    /* Koopman (1997), closed form of the diffuse start; P0 = 1e8 I */
    { .name = "koopman_level", .T = 2, .nx = 1, .ny = 1,
      .y = published_y_koopman_level,
      .F = { 1.0 },
      .Q = { 1.0 },
      .H = { 1.0 },
      .R = { 2.0 },
      .m0 = { 0.0 },
      .P0 = { 100000000.0 },
      .loglik = PUBLISHED_NAN, .loglik_bound = 0,
      .skip = 0, .constants = 0, .count = 2,
      .values = {
          { KS_OUT_PREDICTED_MEAN, 1, 0, 3.0, 1e-05 },
          { KS_OUT_PREDICTED_COV, 1, 0, 3.0, 1e-05 },
      },
    },
    /* Koopman (1997), closed form of the diffuse start; P0 = 1e8 I */
    { .name = "koopman_trend", .T = 3, .nx = 2, .ny = 1,
      .y = published_y_koopman_trend,
      .F = { 1.0, 1.0, 0.0, 1.0 },
      .Q = { 1.0, 0.0, 0.0, 0.5 },
      .H = { 1.0, 0.0 },
      .R = { 2.0 },
      .m0 = { 0.0, 0.0 },
      .P0 = { 100000000.0, 0.0, 0.0, 100000000.0 },
      .loglik = PUBLISHED_NAN, .loglik_bound = 0,
      .skip = 0, .constants = 0, .count = 6,
      .values = {
          { KS_OUT_PREDICTED_MEAN, 2, 0, 7.0, 1e-05 },
          { KS_OUT_PREDICTED_MEAN, 2, 1, 2.0, 1e-05 },
          { KS_OUT_PREDICTED_COV, 2, 0, 12.5, 1e-05 },
          { KS_OUT_PREDICTED_COV, 2, 1, 7.5, 1e-05 },
          { KS_OUT_PREDICTED_COV, 2, 2, 7.5, 1e-05 },
          { KS_OUT_PREDICTED_COV, 2, 3, 6.0, 1e-05 },
      },
    },
    /* Koopman (1997), closed form of the diffuse start; P0 = 1e8 I */
    { .name = "koopman_trend_second_missing", .T = 4, .nx = 2, .ny = 1,
      .y = published_y_koopman_trend_second_missing,
      .F = { 1.0, 1.0, 0.0, 1.0 },
      .Q = { 1.0, 0.0, 0.0, 0.5 },
      .H = { 1.0, 0.0 },
      .R = { 2.0 },
      .m0 = { 0.0, 0.0 },
      .P0 = { 100000000.0, 0.0, 0.0, 100000000.0 },
      .loglik = PUBLISHED_NAN, .loglik_bound = 0,
      .skip = 0, .constants = 0, .count = 6,
      .values = {
          { KS_OUT_PREDICTED_MEAN, 3, 0, 4.5, 1e-05 },
          { KS_OUT_PREDICTED_MEAN, 3, 1, 0.5, 1e-05 },
          { KS_OUT_PREDICTED_COV, 3, 0, 7.125, 1e-05 },
          { KS_OUT_PREDICTED_COV, 3, 1, 3.125, 1e-05 },
          { KS_OUT_PREDICTED_COV, 3, 2, 3.125, 1e-05 },
          { KS_OUT_PREDICTED_COV, 3, 3, 2.625, 1e-05 },
      },
    },
    /* Koopman (1997), closed form of the diffuse start; P0 = 1e8 I */
    { .name = "koopman_common_level", .T = 2, .nx = 2, .ny = 2,
      .y = published_y_koopman_common_level,
      .F = { 1.0, 0.0, 0.0, 1.0 },
      .Q = { 1.5, 0.0, 0.0, 0.0 },
      .H = { 1.0, 0.0, 0.5, 1.0 },
      .R = { 1.0, 0.0, 0.0, 1.0 },
      .m0 = { 0.0, 0.0 },
      .P0 = { 100000000.0, 0.0, 0.0, 100000000.0 },
      .loglik = PUBLISHED_NAN, .loglik_bound = 0,
      .skip = 0, .constants = 0, .count = 6,
      .values = {
          { KS_OUT_PREDICTED_MEAN, 1, 0, 3.0, 1e-05 },
          { KS_OUT_PREDICTED_MEAN, 1, 1, 3.5, 1e-05 },
          { KS_OUT_PREDICTED_COV, 1, 0, 2.5, 1e-05 },
          { KS_OUT_PREDICTED_COV, 1, 1, -0.5, 1e-05 },
          { KS_OUT_PREDICTED_COV, 1, 2, -0.5, 1e-05 },
          { KS_OUT_PREDICTED_COV, 1, 3, 1.25, 1e-05 },
      },
    },
};

#define PUBLISHED_COUNT (sizeof published_cases / sizeof *published_cases)

#endif
