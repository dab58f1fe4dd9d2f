/* cuda_rounds.c -- rounds of nested dissection, and of a partition with cheap ends. */
#include "cuda_rounds.h"
#include <assert.h>
#include <limits.h>
#include "pool.h"

enum {
    SEGMENTS = 10,    /* default number */
    MOST_ROUNDS = 1 << 15,
    END = 19, INNER = 7 /* weights of a segment's length, from the cost of its blocks */
};

/* Return the blocks before the end of segment s, without separators: one for each segment, and a share of the rest by
 * weight. */
static int64_t before_end_of(int64_t N, int segments, int s)
{
    const int64_t rest = N - (2 * (int64_t)segments - 1), all = 2 * END + (int64_t)INNER * (segments - 2);
    const int64_t part = s + 1 == segments ? all : END + (int64_t)INNER * s;
    return s + 1 + rest / all * part + rest % all * part / all;
}

static int64_t length_of(int64_t N, int segments, int s)
{
    return before_end_of(N, segments, s) - (s > 0 ? before_end_of(N, segments, s - 1) : 0);
}

/* Return the rounds of segments first .. end - 1: the length of the longest. */
static int64_t longest(int64_t N, int segments, int first, int end)
{
    int64_t most = 0;
    for (int s = first; s < end; ++s) {
        const int64_t length = length_of(N, segments, s);
        most = length > most ? length : most;
    }
    return most;
}

static int64_t longest_end(int64_t N, int segments)
{
    const int64_t left = length_of(N, segments, 0), right = length_of(N, segments, segments - 1);
    return left > right ? left : right;
}

static int fits(int64_t N, int segments)
{
    const int64_t side = longest_end(N, segments), inner = longest(N, segments, 1, segments - 1);
    return side + inner + segments / 2 + 1 <= MOST_ROUNDS;
}

int ks_bt_segments(int64_t N, int64_t asked)
{
    const int64_t most = (N + 1) / 2, wanted = asked > 0 ? asked : SEGMENTS;
    int64_t segments = wanted < most ? wanted : most;
    if (segments < 2) return 0;
    for (; segments <= MOST_ROUNDS; segments *= 2) {
        if (fits(N, (int)segments)) return (int)segments;
        if (asked > 0) return 0;
    }
    return 0;
}

/* Choose the round that eliminates each block: both ends, the segments between them, then separators from both ends. */
static void partition(ks_bt_rounds *r, int N, int segments)
{
    const int separators = segments - 1, middle = separators / 2;
    r->side = (int)longest_end(N, segments);
    r->joined = r->side + (int)longest(N, segments, 1, segments - 1);
    r->count = r->joined + middle + 1;
    int k = 0;
    for (int s = 0; s < segments; ++s) {
        const int length = (int)length_of(N, segments, s);
        for (int i = 0; i < length; ++i, ++k)
            r->round_of[k] = s == 0 ? i : s == separators ? length - 1 - i : r->side + i;
        if (s < separators)
            r->round_of[k++] = r->joined + (s <= middle ? s : separators - 1 - s);
    }
}

static void nested(ks_bt_rounds *r, int N)
{
    r->side = r->joined = r->count = 0;
    while (N >> r->count > 0) ++r->count;
    for (int k = 0; k < N; ++k) {
        int level = 0;
        while (!((k + 1) >> level & 1)) ++level;
        r->round_of[k] = level;
    }
}

/* What is left of the chain, and what its blocks have to subtract. */
typedef struct chain {
    int32_t *before, *behind;           /* neighbours, -1 for none */
    int32_t *from_before, *from_behind; /* eliminated ones whose products are still to be subtracted */
    int32_t *touched;                   /* whether anything has been subtracted */
    int32_t *sorted;                    /* blocks by round, then by number */
} chain;

enum { CHAIN_ARRAYS = 6 };

static chain chain_of(int32_t *memory, int N)
{
    const size_t n = (size_t)N;
    const chain c = { memory,         memory + n,     memory + 2 * n,
                      memory + 3 * n, memory + 4 * n, memory + 5 * n };
    for (int k = 0; k < N; ++k) {
        c.before[k] = k - 1;
        c.behind[k] = k + 1 < N ? k + 1 : -1;
        c.from_before[k] = c.from_behind[k] = -1;
        c.touched[k] = 0;
    }
    return c;
}

/* Sort the blocks by round, and set where the blocks of each round begin and how many there are. */
static void sort(ks_bt_rounds *r, int N, int32_t *sorted)
{
    for (int q = 0; q < r->count; ++q) r->round[q].eliminated = 0;
    for (int k = 0; k < N; ++k) ++r->round[r->round_of[k]].eliminated;
    int at = 0;
    for (int q = 0; q < r->count; ++q) {
        r->round[q].first = at;
        at += r->round[q].eliminated;
        r->round[q].eliminated = 0;
    }
    for (int k = 0; k < N; ++k) {
        ks_bt_round *const to = &r->round[r->round_of[k]];
        sorted[to->first + to->eliminated++] = k;
    }
}

/* Whether round q may use what the round of an eliminated block has left. The two groups of rounds that run at once may
 * not use each other's results. */
static int known(const ks_bt_rounds *r, int q, int32_t eliminated)
{
    return eliminated >= 0 &&
           (q >= r->joined || (q >= r->side) == (r->round_of[eliminated] >= r->side));
}

/* Make a node of block k, which subtracts in round q what that round may use. */
static ks_bt_node take(const ks_bt_rounds *r, const chain *c, int q, int k)
{
    ks_bt_node node = { k, c->before[k], c->behind[k], -1, -1, !c->touched[k], 0 };
    if (known(r, q, c->from_before[k])) node.from_before = c->from_before[k];
    if (known(r, q, c->from_behind[k])) node.from_behind = c->from_behind[k];
    if (node.from_before >= 0) c->from_before[k] = -1;
    if (node.from_behind >= 0) c->from_behind[k] = -1;
    if (node.from_before >= 0 || node.from_behind >= 0) c->touched[k] = 1;
    node.to_before = node.before >= 0 && node.behind >= 0 &&
                     r->round_of[node.before] < r->round_of[node.behind];
    return node;
}

/* Add block k, which remains, as a node of round q if it has something to subtract there. The rounds of the ends do not
 * update separators: those of the inner segments may do so at the same time. */
static void go_on(ks_bt_rounds *r, const chain *c, int q, int k)
{
    if (k < 0 || r->round_of[k] <= q || (q < r->side && r->round_of[k] >= r->joined)) return;
    const ks_bt_node node = take(r, c, q, k);
    if (node.from_before < 0 && node.from_behind < 0) return;
    r->node[r->nodes++] = node;
    ++r->round[q].touched;
}

static void unlink(const chain *c, int k)
{
    const int before = c->before[k], behind = c->behind[k];
    if (before >= 0) {
        c->behind[before] = behind;
        c->from_behind[before] = k;
    }
    if (behind >= 0) {
        c->before[behind] = before;
        c->from_before[behind] = k;
    }
}

static void lay_out_round(ks_bt_rounds *r, const chain *c, int N, int q)
{
    ks_bt_round *const round = &r->round[q];
    const int32_t *const own = c->sorted + round->first, count = round->eliminated;
    const int64_t first = r->nodes;
    for (int i = 0; i < count; ++i) r->node[r->nodes++] = take(r, c, q, own[i]);
    round->number = q;
    round->touched = count;
    round->bare = r->node[first].from_before < 0 && r->node[first].from_behind < 0;
    round->last = q + 1 == r->count;
    for (int i = 0; i < count; ++i) {
        const ks_bt_node *const node = &r->node[first + i];
        assert(round->bare == (node->from_before < 0 && node->from_behind < 0));
        assert(!round->last || (node->before < 0 && node->behind < 0));
        (void)node;
    }
    if (!round->bare && q == r->joined)
        for (int k = 0; k < N; ++k) go_on(r, c, q, k);
    else if (!round->bare)
        for (int64_t i = round[-1].first; i < round[-1].first + round[-1].eliminated; ++i) {
            go_on(r, c, q, r->node[i].before);
            go_on(r, c, q, r->node[i].behind);
        }
    for (int i = 0; i < count; ++i) unlink(c, own[i]);
    round->first = (int32_t)first;
}

size_t ks_bt_rounds_bytes(int64_t N)
{
    return (size_t)N * (sizeof(ks_bt_round) + 3 * sizeof(ks_bt_node) + sizeof(int32_t));
}

ks_status ks_bt_rounds_make(ks_bt_rounds *out, ks_context *context, int N, int segments, void *memory)
{
    int32_t *const scratch = ks_allocate(context, CHAIN_ARRAYS * (size_t)N * sizeof *scratch);
    if (!scratch) return KS_ENOMEM;
    out->round = memory;
    out->node = (ks_bt_node *)(out->round + N);
    out->round_of = (int32_t *)(out->node + 3 * (size_t)N);
    out->nodes = 0;
    if (segments) partition(out, N, segments);
    else nested(out, N);
    const chain c = chain_of(scratch, N);
    sort(out, N, c.sorted);
    for (int q = 0; q < out->count; ++q) lay_out_round(out, &c, N, q);
    ks_release(context, scratch);
    return KS_OK;
}

double ks_bt_rounds_operations(const ks_bt_rounds *r)
{
    double sum = 0;
    for (int q = 0; q < r->count; ++q)
        for (int i = 0; i < r->round[q].eliminated; ++i) {
            const ks_bt_node *node = &r->node[r->round[q].first + i];
            const int neighbours = (node->before >= 0) + (node->behind >= 0);
            sum += 1.0 / 3 + (neighbours == 2 ? 6 : 2 * neighbours);
        }
    return sum;
}
