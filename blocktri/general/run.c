/* run.c -- operations on whole vectors: chunks of blocks run in parallel, sums are added in their order. */
#include <math.h>
#include <string.h>
#include "general_plan.h"
#include "hd.h"

typedef struct task {
    ks_range_function function;
    const ks_gb_run *run;
    const double *x, *y;
    double *out;
    double alpha, beta;
    ks_gb_sweep sweep;
    int parity;
} task;

/* Blocks of chunk c. */
static int64_t first_of(const ks_general_plan *plan, int64_t c) { return c * plan->chunk; }
static int64_t end_of(const ks_general_plan *plan, int64_t c)
{
    const int64_t end = (c + 1) * plan->chunk;
    return end < plan->N ? end : plan->N;
}

static double *scratch_of(const ks_gb_run *run, int worker)
{
    return run->scratch + (size_t)worker * ks_gb_scratch(run->plan);
}

/* Every worker flushes denormal numbers as the calling thread does, so that results do not depend on
 * which thread computes them. */
static void flushing(void *arg, int64_t begin, int64_t end, int worker)
{
    const unsigned mode = ks_flush_begin();
    ((const task *)arg)->function(arg, begin, end, worker);
    ks_flush_end(mode);
}

static void in_parallel(task *t, ks_range_function function)
{
    t->function = function;
    ks_parallel_for(t->run->plan->context, t->run->plan->workers, t->run->plan->chunks, flushing,
                    t);
}

static double sum_of(const ks_gb_run *run)
{
    double sum = 0;
    for (int64_t c = 0; c < run->plan->chunks; ++c) sum += run->partial[c];
    return sum;
}

static void dot_chunks(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    const task *t = arg;
    const ks_general_plan *plan = t->run->plan;
    for (int64_t c = begin; c < end; ++c) {
        const int64_t at = first_of(plan, c) * plan->n, to = end_of(plan, c) * plan->n;
        t->run->partial[c] = plan->kernels->dot(to - at, t->x + at, t->y + at);
    }
}

double ks_gb_dot(const ks_gb_run *run, const double *x, const double *y)
{
    task t = { .run = run, .x = x, .y = y };
    in_parallel(&t, dot_chunks);
    return sum_of(run);
}

static void axpby_chunks(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    const task *t = arg;
    const ks_general_plan *plan = t->run->plan;
    const int64_t at = first_of(plan, begin) * plan->n, to = end_of(plan, end - 1) * plan->n;
    plan->kernels->axpby(to - at, t->alpha, t->x + at, t->beta, t->out + at);
}

void ks_gb_axpby(const ks_gb_run *run, double alpha, const double *x, double beta, double *y)
{
    task t = { .run = run, .x = x, .out = y, .alpha = alpha, .beta = beta };
    in_parallel(&t, axpby_chunks);
}

static void scale_chunks(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    const task *t = arg;
    const ks_general_plan *plan = t->run->plan;
    const int64_t to = end_of(plan, end - 1) * plan->n;
    for (int64_t i = first_of(plan, begin) * plan->n; i < to; ++i) t->out[i] *= t->alpha;
}

void ks_gb_scale(const ks_gb_run *run, double alpha, double *x)
{
    task t = { .run = run, .out = x, .alpha = alpha };
    in_parallel(&t, scale_chunks);
}

void ks_gb_zero(const ks_gb_run *run, double *x)
{
    memset(x, 0, (size_t)ks_gb_rows(run) * sizeof *x);
}

static void apply_chunks(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    const task *t = arg;
    const ks_general_plan *plan = t->run->plan;
    for (int64_t c = begin; c < end; ++c)
        t->run->partial[c] = plan->kernels->apply(&t->run->system, t->y, t->x, t->out,
                                                  first_of(plan, c), end_of(plan, c));
}

double ks_gb_apply(const ks_gb_run *run, const double *b, const double *x, double *y)
{
    task t = { .run = run, .x = x, .y = b, .out = y };
    in_parallel(&t, apply_chunks);
    return sum_of(run);
}

static void precondition_chunks(void *arg, int64_t begin, int64_t end, int worker)
{
    const task *t = arg;
    const ks_general_plan *plan = t->run->plan;
    plan->kernels->precondition(&t->run->system, t->x, t->out, first_of(plan, begin),
                                end_of(plan, end - 1), scratch_of(t->run, worker));
}

void ks_gb_precondition(const ks_gb_run *run, const double *r, double *z)
{
    task t = { .run = run, .x = r, .out = z };
    in_parallel(&t, precondition_chunks);
}

static void sweep_chunks(void *arg, int64_t begin, int64_t end, int worker)
{
    const task *t = arg;
    const ks_general_plan *plan = t->run->plan;
    for (int64_t c = begin; c < end; ++c) {
        int64_t from = first_of(plan, c);
        if (t->parity >= 0) from += (from ^ t->parity) & 1;
        t->run->partial[c] = plan->kernels->sweep(&t->sweep, from, end_of(plan, c),
                                                  scratch_of(t->run, worker));
    }
}

double ks_gb_sweep_all(const ks_gb_run *run, const double *b, const double *x, double *out,
                       double omega, int parity)
{
    task t = { .run = run, .parity = parity };
    t.sweep = (ks_gb_sweep){ &run->system, b, x, out, omega, parity < 0 ? 1 : 2 };
    in_parallel(&t, sweep_chunks);
    double most = 0;
    for (int64_t c = 0; c < run->plan->chunks; ++c)
        if (run->partial[c] > most) most = run->partial[c];
    return most;
}

/* Ordered sweeps as a pipeline. Each group of sweeps follows the group before at a distance, so that the
 * groups of a round are independent. Rounds are long enough to outweigh a barrier. */
typedef struct pipeline {
    task task;
    int count;
    int64_t length, round;
    double *change;
} pipeline;

enum { ROWS_OF_A_ROUND = 4096, DISTANCE = 2 * KS_GB_ABREAST };

/* The number of steps that a group has taken when a round begins. */
static int64_t taken(const pipeline *p, int64_t group, int64_t round, int64_t most)
{
    const int64_t steps = (round - group) * p->length - group * DISTANCE;
    return steps < 0 ? 0 : steps > most ? most : steps;
}

static void run_groups(void *arg, int64_t begin, int64_t end, int worker)
{
    const pipeline *p = arg;
    const ks_general_plan *plan = p->task.run->plan;
    for (int64_t group = begin; group < end; ++group) {
        const int first = (int)group * KS_GB_ABREAST, left = p->count - first;
        const int lanes = left < KS_GB_ABREAST ? left : KS_GB_ABREAST;
        const int64_t most = plan->N + 2 * (lanes - 1);
        plan->kernels->follow(&p->task.sweep, lanes, taken(p, group, p->round, most),
                              taken(p, group, p->round + 1, most), p->change + first,
                              scratch_of(p->task.run, worker));
    }
}

void ks_gb_sweep_ordered(const ks_gb_run *run, const double *b, double *x, double omega, int count,
                         double *change)
{
    const ks_general_plan *plan = run->plan;
    const int64_t groups = (count + KS_GB_ABREAST - 1) / KS_GB_ABREAST;
    const int workers = plan->workers < groups ? plan->workers : (int)groups;
    pipeline p = { .task = { .run = run, .function = run_groups }, .count = count,
                   .change = change };
    p.task.sweep = (ks_gb_sweep){ &run->system, b, x, x, omega, 1 };
    /* On one thread, run one group after the other from end to end. */
    p.length = workers == 1 ? plan->N + DISTANCE : ROWS_OF_A_ROUND / plan->n + 1;
    for (int i = 0; i < count; ++i) change[i] = 0;
    const int64_t last = plan->N + DISTANCE + (groups - 1) * (p.length + DISTANCE);
    for (p.round = 0; p.round * p.length < last; ++p.round)
        ks_parallel_for(plan->context, workers, groups, flushing, &p);
}

/* Whether a square is in 1e-200 .. 1e200. Then squares of numbers 1e50 times smaller have all their digits, too. */
static int ordinary(double square) { return square > 1e-200 && square < 1e200; }

static double largest_of(int64_t count, const double *x, double largest)
{
    for (int64_t i = 0; i < count; ++i)
        if (!(fabs(x[i]) <= largest)) largest = fabs(x[i]);
    return largest;
}

static double scaled_squares(int64_t count, const double *x, int exponent)
{
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
        const double v = ldexp(x[i], -exponent);
        sum += v * v;
    }
    return sum;
}

static int exponent_of(double largest)
{
    int exponent = 0;
    if (isfinite(largest)) (void)frexp(largest, &exponent);
    return exponent;
}

double ks_gb_length(const ks_gb_run *run, const double *x)
{
    const double square = ks_gb_dot(run, x, x);
    if (ordinary(square)) return sqrt(square);
    const int exponent = exponent_of(largest_of(ks_gb_rows(run), x, 0));
    return ldexp(sqrt(scaled_squares(ks_gb_rows(run), x, exponent)), exponent);
}

void ks_gb_bring_to_one(ks_gb_run *run)
{
    const double square = ks_gb_dot(run, run->b, run->b);
    run->exponent = 0;
    run->norm_b = sqrt(square);
    if (ordinary(square)) return;
    run->exponent = exponent_of(largest_of(ks_gb_rows(run), run->b, 0));
    for (int64_t i = 0; i < ks_gb_rows(run); ++i) run->b[i] = ldexp(run->b[i], -run->exponent);
    run->norm_b = sqrt(ks_gb_dot(run, run->b, run->b));
}

/* Find the numbers of a block. Return the number of contiguous pieces. */
static int pieces_of(int n, const ks_general_block *A, const double *at[3], int64_t count[3])
{
    const int64_t m = n;
    at[0] = A->values;
    switch (A->format) {
    case KS_BLOCK_DENSE: count[0] = m * m; return 1;
    case KS_BLOCK_COO: count[0] = A->count; return 1;
    case KS_BLOCK_CSR: count[0] = A->rows[n]; return 1;
    case KS_BLOCK_DIA: break;
    }
    at[0] = A->values + 1;
    at[1] = A->values + m;
    at[2] = A->values + 2 * m;
    count[0] = count[2] = m - 1;
    count[1] = m;
    return 3;
}

/* Block j of the 3 N - 2 blocks of the matrix. */
static const ks_general_block *block_of(const ks_gb_system *s, int64_t j)
{
    return j < s->N ? &s->D[j] : j < 2 * s->N - 1 ? &s->L[j - s->N] : &s->U[j - (2 * s->N - 1)];
}

double ks_gb_norm(const ks_gb_run *run)
{
    const ks_gb_system *s = &run->system;
    const double *at[3];
    int64_t count[3];
    double sum = 0, largest = 0;
    for (int64_t j = 0; j < s->N; ++j) sum += run->plan->kernels->squares(s->n, &s->D[j]);
    for (int64_t j = 0; j + 1 < s->N; ++j)
        sum += run->plan->kernels->squares(s->n, &s->L[j]) +
               run->plan->kernels->squares(s->n, &s->U[j]);
    if (ordinary(sum)) return sqrt(sum);
    for (int64_t j = 0; j < 3 * s->N - 2; ++j)
        for (int i = pieces_of(s->n, block_of(s, j), at, count) - 1; i >= 0; --i)
            largest = largest_of(count[i], at[i], largest);
    const int exponent = exponent_of(largest);
    sum = 0;
    for (int64_t j = 0; j < 3 * s->N - 2; ++j)
        for (int i = pieces_of(s->n, block_of(s, j), at, count) - 1; i >= 0; --i)
            sum += scaled_squares(count[i], at[i], exponent);
    return ldexp(sqrt(sum), exponent);
}

/* The finaliser of splitmix64 (Steele, Lea & Flood), used as a hash of the index. */
static uint64_t hashed(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void ks_gb_pattern(const ks_gb_run *run, uint64_t seed, double *x)
{
    for (int64_t i = 0; i < ks_gb_rows(run); ++i)
        x[i] = (double)(hashed((seed + 1) * 0x9e3779b97f4a7c15u + (uint64_t)i) >> 11) * 0x1p-52;
}

ks_general_end ks_gb_judge(ks_gb_monitor *m, int64_t patience, int64_t iteration, double measure)
{
    /* Below this, round-off may make the residual grow again from the best one. */
    const int grown = measure > 0x1p-40;
    if (!isfinite(measure)) return KS_END_DIVERGED;
    if (!m->seen || measure < 0.999 * m->best) {
        m->best = measure;
        m->best_at = iteration;
    }
    m->seen = 1;
    if (iteration - m->best_at > patience && grown && measure > 1e3 * m->best) return KS_END_DIVERGED;
    if (iteration - m->best_at <= 2 * patience) return KS_END_NONE;
    return grown && measure > 2 * m->best ? KS_END_DIVERGED : KS_END_STAGNATED;
}
