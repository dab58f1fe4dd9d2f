/* queue_model.c -- rates, matrix and stationary distribution of the M/M/n+k queue. */
#include "queue_model.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "memory.h"

int ks_queue_order(const ks_queue *queue) { return 2 * queue->capacity + 1; }

/** Rates out of state (i tasks, j servers), eq. 8, without those that would leave the states. */
typedef struct rates_out {
    double arrival, service, opening, closing;
} rates_out;

static rates_out rates_of(const ks_queue *q, int64_t i, int64_t j)
{
    const int64_t k = q->capacity, full = j * k, low = full - k;
    rates_out rates = {0, 0, 0, 0};
    if (i <= full) rates.arrival = q->lambda;
    rates.service = i > full ? (double)k * q->mu : i < j ? q->mu : (double)(i / k) * q->mu;
    /* The state below would belong to fewer servers, or have fewer than no tasks. */
    if (i == low) rates.service = 0;
    if (i > full && j < q->servers) rates.opening = (double)((i - full + k - 1) / k) * q->eta;
    if (i < full && j > 1) rates.closing = (double)((full - i) / k) * q->nu;
    return rates;
}

static double sum_of(rates_out r) { return r.arrival + r.service + r.opening + r.closing; }

static void add(ks_general_triples *t, int64_t *const lists[3], double *values, int64_t block,
                int64_t row, int64_t col, double value)
{
    lists[0][t->count] = block;
    lists[1][t->count] = row;
    lists[2][t->count] = col;
    values[t->count++] = value;
}

/* Allocate for the largest number of entries: k of turning on and one of turning off for each pair of blocks. */
static ks_exit allocate(const ks_queue *q, ks_queue_system *s, ks_failure *failure)
{
    const size_t N = (size_t)q->servers, n = (size_t)ks_queue_order(q);
    const size_t entries = ks_size_product(N, (size_t)q->capacity + 1);
    const size_t rows = ks_size_product(N, n);
    s->D_dia = ks_memory_zeroed(ks_size_product(rows, 3 * sizeof(double)), "the system", failure);
    if (!failure->code)
        s->b = ks_memory_zeroed(ks_size_product(rows, sizeof(double)), "the system", failure);
    if (!failure->code)
        s->indices = ks_memory_raw(ks_size_product(entries, 6 * sizeof(int64_t)), "the system",
                                   failure);
    if (!failure->code)
        s->values = ks_memory_raw(ks_size_product(entries, 2 * sizeof(double)), "the system",
                                  failure);
    return failure->code;
}

static ks_exit build(const ks_queue *q, int64_t fixed_block, int fixed_row, ks_queue_system *s, ks_failure *failure)
{
    const int64_t N = q->servers, k = q->capacity, n = ks_queue_order(q), entries = N * (k + 1);
    *s = (ks_queue_system){.fixed_block = fixed_block, .fixed_row = fixed_row};
    if (allocate(q, s, failure)) return failure->code;
    int64_t *const lower[3] = {s->indices, s->indices + entries, s->indices + 2 * entries};
    int64_t *const upper[3] = {s->indices + 3 * entries, s->indices + 4 * entries,
                               s->indices + 5 * entries};
    double *const upper_values = s->values + entries;
    s->L = (ks_general_triples){0, lower[0], lower[1], lower[2], s->values};
    s->U = (ks_general_triples){0, upper[0], upper[1], upper[2], upper_values};
    for (int64_t block = 0; block < N; ++block) {
        double *below = s->D_dia + block * 3 * n, *main = below + n, *above = main + n;
        for (int64_t r = 0; r < n; ++r) {
            /* Column r: what leaves this state, and where to. */
            const rates_out rates = rates_of(q, block * k + r, block + 1);
            main[r] = sum_of(rates);
            if (r + 1 < n) below[r + 1] = -rates.arrival;
            if (r > 0) above[r - 1] = -rates.service;
            if (rates.opening > 0 && !(block + 1 == fixed_block && r - k == fixed_row))
                add(&s->L, lower, s->values, block, r - k, r, -rates.opening);
            if (rates.closing > 0 && !(block - 1 == fixed_block && r + k == fixed_row))
                add(&s->U, upper, upper_values, block - 1, r + k, r, -rates.closing);
        }
        if (block == fixed_block) {
            below[fixed_row] = above[fixed_row] = 0;
            main[fixed_row] = 1;
        }
    }
    s->b[fixed_block * n + fixed_row] = 1;
    return KS_EXIT_DONE;
}

void ks_queue_free(ks_queue_system *s)
{
    free(s->D_dia);
    free(s->b);
    free(s->indices);
    free(s->values);
    *s = (ks_queue_system){0};
}

/* Solve once by a direct method. The caller must judge KS_ENOTCONVERGED. */
static ks_status solve_by(const ks_queue *q, ks_context *context, const ks_queue_system *s,
                          ks_general_method method, ks_queue_solution *solution)
{
    const int n = ks_queue_order(q);
    ks_general_source source = KS_GENERAL_SOURCE_INIT;
    ks_general_options options = KS_GENERAL_OPTIONS_INIT;
    ks_general_packed *packed;
    ks_general_plan *plan = NULL;
    void *factor = NULL, *work = NULL;
    source.D_dia = s->D_dia;
    source.L_triples = s->L;
    source.U_triples = s->U;
    options.method = method;
    ks_status status = ks_general_pack(&packed, context, q->servers, n, &source);
    if (status != KS_OK) return status;
    const ks_general_matrix *matrix = ks_general_packed_matrix(packed);
    status = ks_general_plan_create(&plan, context, q->servers, n, matrix, &options);
    if (status == KS_OK) {
        ks_failure unused = {0};
        factor = ks_memory_raw(ks_general_factor_bytes(plan), "the factor", &unused);
        work = ks_memory_raw(ks_general_workspace_bytes(plan), "the workspace", &unused);
        solution->method = ks_general_plan_method(plan);
        status = factor && work ? KS_OK : KS_ENOMEM;
    }
    if (status == KS_OK)
        status = ks_general_factorize(plan, matrix, factor, work, &solution->report);
    if (status == KS_OK)
        status = ks_general_solve(plan, matrix, factor, 1, (ks_const_blocks){s->b, n},
                                  (ks_blocks){solution->pi, n}, work, &solution->report);
    free(factor);
    free(work);
    ks_general_plan_destroy(plan);
    ks_general_packed_destroy(packed);
    return status;
}

/* Find the most probable state of the solution, the first of those that differ by round-off only: with integers for
 * rates, neighbouring states are often equally likely. */
static void find_mode(const ks_queue *q, ks_queue_solution *s)
{
    const int64_t n = ks_queue_order(q);
    int64_t best = 0;
    for (int64_t i = 1; i < q->servers * n; ++i)
        if (s->pi[i] > s->pi[best] * (1 + 1e-12)) best = i;
    s->block = best / n;
    s->row = (int)(best % n);
    s->probability = s->pi[best];
}

/* Flows between consecutive numbers of pending tasks, or of servers. */
typedef struct levels {
    double *up, *down;         /* out of each level to the next one, and to the one before */
    double *factor;
} levels;

static int64_t level_of(const ks_queue *q, int64_t state, bool of_servers)
{
    const int64_t n = ks_queue_order(q);
    return of_servers ? state / n : state / n * q->capacity + state % n;
}

/* Tasks and servers change by one at a time, so the flow from each level to the next equals the flow back. Elimination
 * finds the shares of the states within a level accurately. But if some rates are much smaller than others, the levels
 * themselves have an error of the condition of the whole system. So scale the levels until their flows balance
 * (aggregation; Koury, McAllister & Stewart, "Iterative methods for computing stationary distributions of nearly
 * completely decomposable Markov chains", 1984). Where flows are almost zero they determine no ratio. */
static void balance_levels(const ks_queue *q, const levels *l, int64_t count, bool of_servers, int64_t likely,
                           double *pi)
{
    const int64_t n = ks_queue_order(q), top = level_of(q, likely, of_servers);
    const double least = 1e-280 * q->lambda * pi[likely];
    for (int64_t i = 0; i < count; ++i) l->up[i] = l->down[i] = 0;
    for (int64_t state = 0; state < q->servers * n; ++state) {
        const rates_out rates = rates_of(q, state / n * q->capacity + state % n, state / n + 1);
        const int64_t level = level_of(q, state, of_servers);
        l->up[level] += pi[state] * (of_servers ? rates.opening : rates.arrival);
        l->down[level] += pi[state] * (of_servers ? rates.closing : rates.service);
    }
    l->factor[top] = 1;
    for (int64_t i = top; i + 1 < count; ++i) {
        const bool tells = l->up[i] > least && l->down[i + 1] > least;
        l->factor[i + 1] = l->factor[i] * (tells ? l->up[i] / l->down[i + 1] : 1);
    }
    for (int64_t i = top; i > 0; --i) {
        const bool tells = l->up[i - 1] > least && l->down[i] > least;
        l->factor[i - 1] = l->factor[i] * (tells ? l->down[i] / l->up[i - 1] : 1);
    }
    for (int64_t state = 0; state < q->servers * n; ++state) pi[state] *= l->factor[level_of(q, state, of_servers)];
}

/* Balance twice each: balancing one moves the other only by the error within its levels. */
static ks_exit balance(const ks_queue *q, ks_queue_solution *s, ks_failure *failure)
{
    const int64_t tasks = (q->servers + 1) * q->capacity + 1, likely = s->block * ks_queue_order(q) + s->row;
    double *memory = ks_memory_raw(ks_size_product((size_t)tasks, 3 * sizeof *memory), "the distribution", failure);
    if (!memory) return failure->code;
    const levels l = {memory, memory + tasks, memory + 2 * tasks};
    for (int pass = 0; pass < 4; ++pass) {
        const bool of_servers = pass % 2 == 1;
        balance_levels(q, &l, of_servers ? q->servers : tasks, of_servers, likely, s->pi);
    }
    free(memory);
    return KS_EXIT_DONE;
}

/* Return the first state whose probability is below zero by more than round-off, or -1. */
static int64_t negative_state(const ks_queue *q, const ks_queue_solution *s)
{
    for (int64_t i = 0; i < q->servers * ks_queue_order(q); ++i)
        if (!(s->pi[i] > -1e-10 * s->probability)) return i;
    return -1;
}

static ks_exit normalise(const ks_queue *q, ks_queue_solution *s, ks_failure *failure)
{
    const int64_t n = ks_queue_order(q);
    const int64_t bad = negative_state(q, s);
    double sum = 0;
    if (bad >= 0)
        return ks_fail(failure, KS_EXIT_NUMERICAL, "the probability of %lld tasks on %lld "
                       "servers comes out as %.3g", (long long)(bad / n * q->capacity + bad % n),
                       (long long)(bad / n + 1), s->pi[bad] / s->probability);
    for (int64_t i = 0; i < q->servers * n; ++i)
        if (s->pi[i] < 0) s->pi[i] = 0;
    if (balance(q, s, failure)) return failure->code;
    find_mode(q, s);
    for (int64_t i = 0; i < q->servers * n; ++i) sum += s->pi[i];
    s->tasks = s->servers = 0;
    s->probability /= sum;
    for (int64_t i = 0; i < q->servers * n; ++i) {
        s->pi[i] /= sum;
        s->tasks += s->pi[i] * (double)(i / n * q->capacity + i % n);
        s->servers += s->pi[i] * (double)(i / n + 1);
    }
    return KS_EXIT_DONE;
}

/* Compute max |pi P - pi| from the rates themselves, not from the solved system. */
static double residual_of(const ks_queue *q, const double *pi, ks_failure *failure)
{
    const int64_t N = q->servers, k = q->capacity, n = ks_queue_order(q);
    double fastest = 0, most = 0;
    double *flow = ks_memory_zeroed((size_t)(N * n) * sizeof *flow, "the residual", failure);
    if (!flow) return 0;
    for (int64_t at = 0; at < N * n; ++at) {
        const int64_t block = at / n, r = at % n;
        const rates_out rates = rates_of(q, block * k + r, block + 1);
        fastest = fmax(fastest, sum_of(rates));
        flow[at] -= pi[at] * sum_of(rates);
        if (rates.arrival > 0) flow[at + 1] += pi[at] * rates.arrival;
        if (rates.service > 0) flow[at - 1] += pi[at] * rates.service;
        if (rates.opening > 0) flow[at + n - k] += pi[at] * rates.opening;
        if (rates.closing > 0) flow[at - n + k] += pi[at] * rates.closing;
    }
    for (int64_t at = 0; at < N * n; ++at) most = fmax(most, fabs(flow[at]));
    free(flow);
    return most / fastest;
}

/* Find the likeliest row within the states of j servers, as if they were seldom left: a birth and death process from
 * its lowest state. Sets the flows out of the block, `up` and `down`. */
static int within_block(const ks_queue *q, int64_t j, double *up, double *down)
{
    const int64_t low = (j - 1) * q->capacity;
    double p = 1, most = 1, sum = 1;
    int best = 0;
    rates_out rates = rates_of(q, low, j);
    *up = 0;
    *down = rates.closing;
    for (int r = 1; r < ks_queue_order(q); ++r) {
        const double arrival = rates.arrival;
        rates = rates_of(q, low + r, j);
        const double leaving = rates.service + rates.opening;
        if (leaving > 0) {
            p *= arrival / leaving;
        } else {   /* no transition leads back: the states below do not recur */
            p = 1;
            most = sum = *up = *down = 0;
        }
        sum += p;
        *up += p * rates.opening;
        if (p > most) {
            most = p;
            best = r;
        }
        if (sum > 1e200) {
            p /= sum;
            most /= sum;
            *up /= sum;
            *down /= sum;
            sum = 1;
        }
    }
    *up /= sum;
    *down /= sum;
    return best;
}

/* Guess a likely state: the probabilities of the blocks follow from the flows between neighbours. */
static void guess(const ks_queue *q, int64_t *block, int *row)
{
    double up, down, before, logarithm = 0, most = 0;
    *block = 0;
    *row = within_block(q, 1, &before, &down);
    for (int64_t j = 2; j <= q->servers; ++j) {
        const int best = within_block(q, j, &up, &down);
        logarithm += log(before) - log(down);
        before = up;
        if (logarithm > most) {
            most = logarithm;
            *block = j - 1;
            *row = best;
        }
    }
}

/* Guess the likely state as if servers followed the tasks at once. */
static void guess_by_load(const ks_queue *q, int64_t *block, int *row)
{
    const double load = ceil(q->lambda / q->mu);
    *block = load < (double)q->servers ? (int64_t)fmax(load, 1) - 1 : q->servers - 1;
    *row = q->capacity;
}

/* Solve by elimination. If some rates are much smaller than others, an iteration may end with a small residual and
 * still be far from the distribution. Elimination of dense blocks subtracts less. */
static ks_status eliminate(const ks_queue *q, ks_context *context, const ks_queue_system *system, ks_queue_solution *s)
{
    const ks_status status = solve_by(q, context, system, KS_LOW_RANK_LU, s);
    if (status == KS_OK) {
        find_mode(q, s);
        if (negative_state(q, s) < 0) return KS_OK;
    } else if (status != KS_ENOTCONVERGED && status != KS_ESINGULAR) {
        return status;
    }
    return solve_by(q, context, system, KS_BLOCK_LU, s);
}

/* Solutions are multiples of the probability of the fixed state. It must be a likely one, or the system is singular up
 * to round-off. If another state turns out to be more than a million times as likely, fix that one instead; also if it
 * is more likely and round-off has left some state well below zero. */
static ks_exit solve(const ks_queue *q, ks_context *context, ks_queue_system *system,
                     ks_queue_solution *s, ks_failure *failure)
{
    int64_t block;
    int row;
    guess(q, &block, &row);
    for (int attempt = 0; attempt < 4; ++attempt) {
        ks_queue_free(system);
        if (build(q, block, row, system, failure)) return failure->code;
        const ks_status status = eliminate(q, context, system, s);
        if (attempt == 0 && (status == KS_ENOTCONVERGED || status == KS_ESINGULAR)) {
            guess_by_load(q, &block, &row);
            continue;
        }
        if (status == KS_ESINGULAR)
            return ks_fail(failure, KS_EXIT_NUMERICAL, "cannot solve the stationary equation: "
                           "block %lld has no pivot for its row %d (method %s)",
                           (long long)s->report.block, s->report.pivot,
                           ks_general_method_name(s->method));
        if (status != KS_OK)
            return ks_fail(failure, status == KS_ENOMEM ? KS_EXIT_RESOURCES : KS_EXIT_NUMERICAL,
                           "cannot solve the stationary equation: %s", ks_strerror(status));
        find_mode(q, s);
        const bool likeliest = s->block == block && s->row == row;
        if (s->probability <= 1e6 && (likeliest || negative_state(q, s) < 0)) return normalise(q, s, failure);
        block = s->block;
        row = s->row;
    }
    return ks_fail(failure, KS_EXIT_NUMERICAL, "cannot solve the stationary equation: its "
                   "probabilities differ by too many orders of magnitude");
}

ks_exit ks_queue_solve(const ks_queue *q, int threads, ks_queue_system *system,
                       ks_queue_solution *s, ks_failure *failure)
{
    const size_t rows = ks_size_product((size_t)q->servers, (size_t)ks_queue_order(q));
    ks_context_options options = KS_CONTEXT_OPTIONS_INIT;
    ks_context *context;
    *system = (ks_queue_system){0};
    *s = (ks_queue_solution){.report = KS_GENERAL_REPORT_INIT};
    options.threads = threads;
    s->pi = ks_memory_raw(ks_size_product(rows, sizeof(double)), "the distribution", failure);
    if (!s->pi) return failure->code;
    if (ks_context_create(&context, &options) != KS_OK)
        return ks_fail(failure, KS_EXIT_RESOURCES,
                       "out of memory: the system gives no more threads");
    solve(q, context, system, s, failure);
    ks_context_destroy(context);
    if (!failure->code) s->residual = residual_of(q, s->pi, failure);
    return failure->code;
}
