/* random_numbers.h -- a small generator whose numbers are the same on every machine: it uses integers, the four
 * operations and square roots only. Not for cryptography. */
#ifndef KS_CLI_RANDOM_NUMBERS_H
#define KS_CLI_RANDOM_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

/** State of xoshiro256** (Blackman & Vigna), and the second normal number of the last pair. */
typedef struct ks_random {
    uint64_t state[4];
    bool has_spare;
    double spare;
} ks_random;

/** Start a stream of a seed. The streams of one seed are independent. */
void ks_random_start(ks_random *random, uint64_t seed, uint64_t stream);

/** Return a uniform number in [0, 1), a multiple of 2^-53. */
double ks_random_uniform(ks_random *random);

/** `count` standard normal numbers. */
void ks_random_normals(ks_random *random, int64_t count, double *values);

#endif
