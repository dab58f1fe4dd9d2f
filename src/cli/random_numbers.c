#include "random_numbers.h"

#include <math.h>

/* splitmix64, which the authors of xoshiro recommend to fill its state. */
static uint64_t split(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void ks_random_start(ks_random *random, uint64_t seed, uint64_t stream)
{
    uint64_t state = seed;
    uint64_t mixed = split(&state) ^ (stream * 0xd1342543de82ef95u);
    for (int i = 0; i < 4; ++i) random->state[i] = split(&mixed);
    random->has_spare = false;
}

static uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

static uint64_t next(ks_random *random)
{
    uint64_t *s = random->state;
    const uint64_t result = rotate(s[1] * 5u, 7) * 9u, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

double ks_random_uniform(ks_random *random) { return (double)(next(random) >> 11) * 0x1p-53; }

/* Return log(x) for normal x > 0: log(m 2^e) = e log 2 + 2 atanh((m - 1) / (m + 1)). The last bit of the C library's
 * log differs between systems. */
static double portable_log(double x)
{
    int exponent;
    double m = frexp(x, &exponent);
    if (m < 0.70710678118654752) {
        m *= 2.0;
        --exponent;
    }
    const double s = (m - 1.0) / (m + 1.0), s2 = s * s;
    double sum = 0.0;
    for (int k = 23; k >= 1; k -= 2) sum = sum * s2 + 1.0 / (double)k;
    return (double)exponent * 0.69314718055994531 + 2.0 * s * sum;
}

/** Standard normal, by Marsaglia's polar method. */
static double normal(ks_random *random)
{
    double a, b, norm;
    if (random->has_spare) {
        random->has_spare = false;
        return random->spare;
    }
    do {
        a = 2.0 * ks_random_uniform(random) - 1.0;
        b = 2.0 * ks_random_uniform(random) - 1.0;
        norm = a * a + b * b;
    } while (norm >= 1.0 || norm < 0x1p-100);
    const double scale = sqrt(-2.0 * portable_log(norm) / norm);
    random->spare = b * scale;
    random->has_spare = true;
    return a * scale;
}

void ks_random_normals(ks_random *random, int64_t count, double *values)
{
    for (int64_t i = 0; i < count; ++i) values[i] = normal(random);
}
