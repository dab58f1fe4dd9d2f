/* simulate.h -- models to generate data with, and the data. */
#ifndef KS_CLI_SIMULATE_H
#define KS_CLI_SIMULATE_H

#include <stdbool.h>
#include <stdint.h>
#include "failure.h"
#include "random_numbers.h"

typedef enum ks_kind {
    KS_KIND_RANDOM, KS_KIND_CONSTANT_VELOCITY, KS_KIND_LOCAL_LEVEL, KS_KIND_ROTATION
} ks_kind;

typedef struct ks_recipe {
    ks_kind kind;
    int64_t T, B;
    bool batched;         /**< y has an axis of series */
    int nx, ny;
    int64_t seed;
    double missing;       /**< expected fraction of missing entries */
    double dt, q, r;      /**< time step, intensity of the process noise, variance of the observations */
} ks_recipe;

/** The arrays of a model, as in files. */
typedef enum ks_part {
    KS_PART_F, KS_PART_Q, KS_PART_U, KS_PART_H, KS_PART_R, KS_PART_D, KS_PART_M0, KS_PART_P0,
    KS_PARTS
} ks_part;

/** The state of one simulated series. */
typedef struct ks_simulation {
    const ks_recipe *recipe;
    ks_random random;
    double *part[KS_PARTS];   /**< of the current step; point into `memory`                      */
    double *root_Q, *root_R, *root_P0;  /**< A with A A' = the covariance                        */
    double *x, *next_x, *noise;
    double *memory;
    int64_t gap;              /**< steps until the current outage ends */
} ks_simulation;

/** Whether R is stored as its diagonal, (ny). */
bool ks_recipe_R_is_diagonal(const ks_recipe *recipe);

/** Return the number of elements of a part. */
int64_t ks_part_elements(const ks_recipe *recipe, ks_part part);

/** Begin series number `series`: make m0, P0 and, for a constant kind, the model, and draw x[-1]. */
ks_exit ks_simulation_start(ks_simulation *simulation, const ks_recipe *recipe, int64_t series,
                            ks_failure *failure);

/** Simulate one step: make a new model if the kind has one for each step, then x and y (NaN: missing). */
void ks_simulation_step(ks_simulation *simulation, double *y);

void ks_simulation_end(ks_simulation *simulation);

#endif
