#include "simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "memory.h"

bool ks_recipe_R_is_diagonal(const ks_recipe *recipe) { return recipe->kind == KS_KIND_ROTATION; }

int64_t ks_part_elements(const ks_recipe *recipe, ks_part part)
{
    const int64_t nx = recipe->nx, ny = recipe->ny;
    switch (part) {
    case KS_PART_H: return ny * nx;
    case KS_PART_R: return ks_recipe_R_is_diagonal(recipe) ? ny : ny * ny;
    case KS_PART_U:
    case KS_PART_M0: return nx;
    case KS_PART_D: return ny;
    default: return nx * nx;
    }
}

/* c = a a', n x n. */
static void square(int n, const double *a, double *c)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) {
            double sum = 0.0;
            for (int k = 0; k < n; ++k) sum += a[i * n + k] * a[j * n + k];
            c[i * n + j] = c[j * n + i] = sum;
        }
}

/* y += a x, a is m x n. */
static void add_product(int m, int n, const double *a, const double *x, double *y)
{
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) y[i] += a[i * n + j] * x[j];
}

/* Replace the columns of a (n x n) by orthonormal ones: the Q factor of a = Q R, where R has a positive diagonal.
 * Applying Gram-Schmidt twice makes them orthogonal to working precision. */
static void orthonormalize(int n, double *a)
{
    for (int j = 0; j < n; ++j) {
        for (int pass = 0; pass < 2; ++pass)
            for (int k = 0; k < j; ++k) {
                double dot = 0.0;
                for (int i = 0; i < n; ++i) dot += a[i * n + k] * a[i * n + j];
                for (int i = 0; i < n; ++i) a[i * n + j] -= dot * a[i * n + k];
            }
        double norm = 0.0;
        for (int i = 0; i < n; ++i) norm += a[i * n + j] * a[i * n + j];
        norm = sqrt(norm);
        for (int i = 0; i < n; ++i) a[i * n + j] /= norm;
    }
}

/* A step of the model of Sarkka & Garcia-Fernandez, "On the performance of prefix-sum parallel Kalman filters and
 * smoothers on GPUs", Sec. VI-A: standard normal entries, F replaced by 0.99 times its orthogonal factor, covariances
 * Xi Xi'. */
static void random_step(ks_simulation *s)
{
    const int nx = s->recipe->nx, ny = s->recipe->ny;
    double *F = s->part[KS_PART_F];
    ks_random_normals(&s->random, (int64_t)nx * nx, F);
    orthonormalize(nx, F);
    for (int i = 0; i < nx * nx; ++i) F[i] *= 0.99;
    ks_random_normals(&s->random, (int64_t)nx * nx, s->root_Q);
    square(nx, s->root_Q, s->part[KS_PART_Q]);
    ks_random_normals(&s->random, nx, s->part[KS_PART_U]);
    ks_random_normals(&s->random, (int64_t)ny * nx, s->part[KS_PART_H]);
    ks_random_normals(&s->random, (int64_t)ny * ny, s->root_R);
    square(ny, s->root_R, s->part[KS_PART_R]);
    ks_random_normals(&s->random, ny, s->part[KS_PART_D]);
}

static void random_prior(ks_simulation *s)
{
    const int nx = s->recipe->nx;
    ks_random_normals(&s->random, nx, s->part[KS_PART_M0]);
    ks_random_normals(&s->random, (int64_t)nx * nx, s->root_P0);
    square(nx, s->root_P0, s->part[KS_PART_P0]);
}

/* Position and velocity along each axis, driven by white acceleration of intensity q: Q = q [dt^3/3 dt^2/2; dt^2/2 dt]
 * per axis, whose lower triangular root has a closed form. */
static void constant_velocity(ks_simulation *s)
{
    const ks_recipe *recipe = s->recipe;
    const int n = recipe->nx;
    const double dt = recipe->dt;
    for (int i = 0; i < n; i += 2) {
        double *F = s->part[KS_PART_F] + i * n + i, *A = s->root_Q + i * n + i;
        F[0] = F[n + 1] = 1.0;
        F[1] = dt;
        A[0] = dt * sqrt(recipe->q * dt / 3.0);
        A[n] = 0.5 * sqrt(3.0 * recipe->q * dt);
        A[n + 1] = 0.5 * sqrt(recipe->q * dt);
        s->part[KS_PART_H][(i / 2) * n + i] = 1.0;
        s->root_P0[i * n + i] = 10.0;
        s->root_P0[(i + 1) * n + i + 1] = 1.0;
    }
}

static void local_level(ks_simulation *s)
{
    s->part[KS_PART_F][0] = s->part[KS_PART_H][0] = s->root_P0[0] = 1.0;
    s->root_Q[0] = sqrt(s->recipe->q);
}

/* Damped oscillations observed by many noisy channels, after the neural population dynamics of Jin, Montoison & Shin,
 * "Harnessing batched BLAS/LAPACK kernels on GPUs for parallel solutions of block tridiagonal systems", Sec. 4.3. F has
 * damped rotations in nx / 2 planes. H is tall with independent normal entries of variance 1 / ny (singular values near
 * one). Q is dense, R is diagonal and larger. The state before the first transition is known. All series share one
 * model, which has its own random stream. */
static void rotation(ks_simulation *s)
{
    const int nx = s->recipe->nx, ny = s->recipe->ny;
    const double q = sqrt(s->recipe->q), entry = sqrt(1.0 / (double)ny), pi = 3.141592653589793;
    ks_random random;
    ks_random_start(&random, (uint64_t)s->recipe->seed, UINT64_MAX);
    for (int i = 0; i < nx; i += 2) {
        /* Cayley's form of a rotation by 2 atan(t): sines differ between libraries. */
        const double t = pi * s->recipe->dt * (0.2 + 1.3 * ks_random_uniform(&random));
        const double damping = 0.98 + 0.015 * ks_random_uniform(&random);
        double *F = s->part[KS_PART_F] + i * nx + i;
        F[0] = F[nx + 1] = damping * (1.0 - t * t) / (1.0 + t * t);
        F[nx] = damping * 2.0 * t / (1.0 + t * t);
        F[1] = -F[nx];
    }
    ks_random_normals(&random, (int64_t)nx * nx, s->root_Q);
    for (int i = 0; i < nx * nx; ++i) s->root_Q[i] *= 0.5 * q * sqrt(1.0 / (double)nx);
    for (int i = 0; i < nx; ++i) s->root_Q[i * nx + i] += q;
    ks_random_normals(&random, (int64_t)ny * nx, s->part[KS_PART_H]);
    for (int i = 0; i < ny * nx; ++i) s->part[KS_PART_H][i] *= entry;
    for (int i = 0; i < ny; ++i)
        s->part[KS_PART_R][i] = s->recipe->r * (1.0 + ks_random_uniform(&random));
    ks_random_normals(&random, nx, s->part[KS_PART_M0]);
}

static void constant_model(ks_simulation *s)
{
    const int nx = s->recipe->nx, ny = s->recipe->ny;
    if (s->recipe->kind == KS_KIND_LOCAL_LEVEL) local_level(s);
    else if (s->recipe->kind == KS_KIND_ROTATION) rotation(s);
    else constant_velocity(s);
    square(nx, s->root_Q, s->part[KS_PART_Q]);
    square(nx, s->root_P0, s->part[KS_PART_P0]);
    if (ks_recipe_R_is_diagonal(s->recipe)) {
        for (int i = 0; i < ny; ++i) s->root_R[i * ny + i] = sqrt(s->part[KS_PART_R][i]);
        return;
    }
    for (int i = 0; i < ny; ++i) s->root_R[i * ny + i] = sqrt(s->recipe->r);
    square(ny, s->root_R, s->part[KS_PART_R]);
}

ks_exit ks_simulation_start(ks_simulation *simulation, const ks_recipe *recipe, int64_t series,
                            ks_failure *failure)
{
    const int64_t nx = recipe->nx, ny = recipe->ny, widest = nx > ny ? nx : ny;
    int64_t total = 2 * nx * nx + ny * ny + 2 * nx + widest;
    memset(simulation, 0, sizeof *simulation);
    simulation->recipe = recipe;
    for (int p = 0; p < KS_PARTS; ++p) total += ks_part_elements(recipe, (ks_part)p);
    double *next = ks_memory_zeroed((size_t)total * sizeof *next, "the simulation", failure);
    if (!next) return failure->code;
    simulation->memory = next;
    for (int p = 0; p < KS_PARTS; ++p) {
        simulation->part[p] = next;
        next += ks_part_elements(recipe, (ks_part)p);
    }
    simulation->root_Q = next;
    simulation->root_P0 = simulation->root_Q + nx * nx;
    simulation->root_R = simulation->root_P0 + nx * nx;
    simulation->x = simulation->root_R + ny * ny;
    simulation->next_x = simulation->x + nx;
    simulation->noise = simulation->next_x + nx;
    ks_random_start(&simulation->random, (uint64_t)recipe->seed, (uint64_t)series);
    if (recipe->kind == KS_KIND_RANDOM) random_prior(simulation);
    else constant_model(simulation);
    ks_random_normals(&simulation->random, nx, simulation->noise);
    memcpy(simulation->x, simulation->part[KS_PART_M0], (size_t)nx * sizeof(double));
    add_product((int)nx, (int)nx, simulation->root_P0, simulation->noise, simulation->x);
    return KS_EXIT_DONE;
}

/* Remove entries: half of the missing ones singly, half in outages of 10 to 99 steps. */
static void remove_entries(ks_simulation *s, double *y)
{
    const double mean_gap = 54.5, half = 0.5 * s->recipe->missing;
    if (s->recipe->missing <= 0.0) return;
    if (s->gap == 0 && ks_random_uniform(&s->random) < half / (mean_gap * (1.0 - half)))
        s->gap = 10 + (int64_t)(90.0 * ks_random_uniform(&s->random));
    const bool outage = s->gap > 0;
    if (outage) --s->gap;
    for (int i = 0; i < s->recipe->ny; ++i)
        if (ks_random_uniform(&s->random) < half / (1.0 - half) || outage) y[i] = (double)NAN;
}

void ks_simulation_step(ks_simulation *s, double *y)
{
    const int nx = s->recipe->nx, ny = s->recipe->ny;
    if (s->recipe->kind == KS_KIND_RANDOM) random_step(s);
    memcpy(s->next_x, s->part[KS_PART_U], (size_t)nx * sizeof(double));
    add_product(nx, nx, s->part[KS_PART_F], s->x, s->next_x);
    ks_random_normals(&s->random, nx, s->noise);
    add_product(nx, nx, s->root_Q, s->noise, s->next_x);
    double *previous = s->x;
    s->x = s->next_x;
    s->next_x = previous;
    memcpy(y, s->part[KS_PART_D], (size_t)ny * sizeof(double));
    add_product(ny, nx, s->part[KS_PART_H], s->x, y);
    ks_random_normals(&s->random, ny, s->noise);
    add_product(ny, ny, s->root_R, s->noise, y);
    remove_entries(s, y);
}

void ks_simulation_end(ks_simulation *simulation)
{
    free(simulation->memory);
    simulation->memory = NULL;
}
