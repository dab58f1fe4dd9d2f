/* pack.c -- compact storage: choose a format for each block, and sort triples into their blocks. */
#include <limits.h>
#include <string.h>
#include "carve.h"
#include "kalscan/general.h"
#include "pool.h"
#include "reach.h"

struct ks_general_packed {
    ks_context *context;
    void *memory;          /* blocks, numbers and indices */
    ks_general_matrix matrix;
    size_t bytes;
};

/* One entry of an off-diagonal block. */
typedef struct entry {
    int64_t block;
    int32_t row, col;
    double value;
} entry;

/* L or U: entries, sorted by block, row, column; or dense blocks. */
typedef struct side {
    ks_const_blocks dense;
    int transposed;        /* of the dense blocks              */
    entry *entries;        /* NULL if blocks are dense         */
    int64_t count;
} side;

typedef struct packing {
    ks_context *context;
    int64_t N;
    int n;
    const ks_general_source *source;
    side lower, upper;
    entry *buffers[2];
    int64_t *counts;
} packing;

typedef int64_t (*key_of)(const entry *e);
static int64_t block_of(const entry *e) { return e->block; }
static int64_t row_of(const entry *e) { return e->row; }
static int64_t col_of(const entry *e) { return e->col; }

/* A stable sort: entries at the same position keep their order, so that their sum has the same bits. */
static void counting_sort(const entry *from, entry *to, int64_t count, key_of key, int64_t keys,
                          int64_t *counts)
{
    memset(counts, 0, (size_t)(keys + 1) * sizeof *counts);
    for (int64_t e = 0; e < count; ++e) ++counts[key(&from[e]) + 1];
    for (int64_t k = 0; k < keys; ++k) counts[k + 1] += counts[k];
    for (int64_t e = 0; e < count; ++e) to[counts[key(&from[e])]++] = from[e];
}

/* Convert triples to sorted entries without duplicates and zeros; `transposed`: with rows and columns exchanged. */
static void sort_side(packing *p, const ks_general_triples *t, int transposed, side *out)
{
    entry *a = out->entries, *b = p->buffers[0];
    const int64_t keys = p->N > p->n ? p->N : p->n;
    for (int64_t e = 0; e < t->count; ++e) {
        a[e].block = t->block[e];
        a[e].row = (int32_t)(transposed ? t->col[e] : t->row[e]);
        a[e].col = (int32_t)(transposed ? t->row[e] : t->col[e]);
        a[e].value = t->value[e];
    }
    counting_sort(a, b, t->count, col_of, keys, p->counts);
    counting_sort(b, a, t->count, row_of, keys, p->counts);
    counting_sort(a, b, t->count, block_of, keys, p->counts);
    out->count = 0;
    for (int64_t e = 0; e < t->count;) {
        entry sum = b[e++];
        while (e < t->count && b[e].block == sum.block && b[e].row == sum.row &&
               b[e].col == sum.col)
            sum.value += b[e++].value;
        if (sum.value != 0) a[out->count++] = sum;
    }
}

static double dense_at(const side *s, int n, int64_t block, int row, int col)
{
    const double *data = (const double *)s->dense.data + block * s->dense.stride;
    return s->transposed ? data[(int64_t)col * n + row] : data[(int64_t)row * n + col];
}

/* An element of a diagonal block. If the matrix is symmetric, only the lower triangle is read. */
static double diagonal_at(const packing *p, int64_t block, int row, int col)
{
    const double *data = (const double *)p->source->D.data + block * p->source->D.stride;
    if (p->source->symmetric && col > row) return data[(int64_t)col * p->n + row];
    return data[(int64_t)row * p->n + col];
}

static int is_tridiagonal(const packing *p, int64_t block)
{
    for (int r = 0; r < p->n; ++r)
        for (int c = 0; c < p->n; ++c)
            if (c - r > 1 || r - c > 1)
                if (diagonal_at(p, block, r, c) != 0) return 0;
    return 1;
}

/* The format with the fewest bytes: dense 8 n^2, COO 16 per entry, CSR 12 per entry and 4 (n + 1). */
static ks_block_format smallest_format(int n, int64_t entries)
{
    const int64_t m = n, coo = 16 * entries, csr = 12 * entries + 4 * (m + 1);
    if (entries > INT32_MAX || 8 * m * m <= (coo < csr ? coo : csr)) return KS_BLOCK_DENSE;
    return coo <= csr ? KS_BLOCK_COO : KS_BLOCK_CSR;
}

/* The numbers and the indices of all blocks, one block after the other. Both are NULL while sizes are measured. */
typedef struct pool {
    double *values;
    int32_t *indices;
    size_t value_count, index_count;
} pool;

/* The part of a pool that belongs to one block. */
typedef struct storage {
    double *values;
    int32_t *rows, *cols;
} storage;

static int32_t *take_indices(pool *from, size_t count)
{
    int32_t *indices = from->indices ? from->indices + from->index_count : NULL;
    from->index_count += count;
    return indices;
}

static storage take(pool *from, int n, ks_block_format format, int64_t entries)
{
    const size_t m = (size_t)n;
    const size_t values = format == KS_BLOCK_DENSE ? m * m
                        : format == KS_BLOCK_DIA   ? 3 * m
                                                   : (size_t)entries;
    storage s = { from->values ? from->values + from->value_count : NULL, NULL, NULL };
    from->value_count += values;
    if (format == KS_BLOCK_COO || format == KS_BLOCK_CSR) {
        s.rows = take_indices(from, format == KS_BLOCK_COO ? (size_t)entries : m + 1);
        s.cols = take_indices(from, (size_t)entries);
    }
    return s;
}

static void pack_diagonal(pool *from, const packing *p, int64_t j, ks_general_block *block)
{
    const int64_t n = p->n;
    const ks_block_format format =
        p->source->D_dia || is_tridiagonal(p, j) ? KS_BLOCK_DIA : KS_BLOCK_DENSE;
    const storage s = take(from, p->n, format, 0);
    if (!s.values) return;
    *block = (ks_general_block){ format, 0, s.values, NULL, NULL };
    if (p->source->D_dia) {
        memcpy(s.values, p->source->D_dia + j * 3 * n, (size_t)(3 * n) * sizeof(double));
        if (p->source->symmetric)
            memcpy(s.values + 2 * n, s.values + 1, (size_t)(n - 1) * sizeof(double));
        s.values[0] = s.values[3 * n - 1] = 0;
    } else if (format == KS_BLOCK_DIA) {
        for (int r = 0; r < n; ++r)
            for (int d = -1; d <= 1; ++d)
                s.values[(d + 1) * n + r] =
                    r + d < 0 || r + d >= n ? 0 : diagonal_at(p, j, r, r + d);
    } else {
        for (int r = 0; r < n; ++r)
            for (int c = 0; c < n; ++c) s.values[r * n + c] = diagonal_at(p, j, r, c);
    }
}

static void fill_from_dense(const packing *p, const side *from, int64_t j, ks_block_format format,
                            const storage *s)
{
    int32_t e = 0;
    for (int r = 0; r < p->n; ++r) {
        if (format == KS_BLOCK_CSR) s->rows[r] = e;
        for (int c = 0; c < p->n; ++c) {
            const double value = dense_at(from, p->n, j, r, c);
            if (format == KS_BLOCK_DENSE) {
                s->values[(int64_t)r * p->n + c] = value;
            } else if (value != 0) {
                if (format == KS_BLOCK_COO) s->rows[e] = r;
                s->cols[e] = c;
                s->values[e++] = value;
            }
        }
    }
    if (format == KS_BLOCK_CSR) s->rows[p->n] = e;
}

static void fill_from_entries(const packing *p, const entry *from, int64_t count,
                              ks_block_format format, const storage *s)
{
    if (format == KS_BLOCK_DENSE)
        memset(s->values, 0, (size_t)p->n * (size_t)p->n * sizeof(double));
    if (format == KS_BLOCK_CSR) memset(s->rows, 0, ((size_t)p->n + 1) * sizeof(int32_t));
    for (int64_t e = 0; e < count; ++e) {
        if (format == KS_BLOCK_DENSE) {
            s->values[(int64_t)from[e].row * p->n + from[e].col] = from[e].value;
            continue;
        }
        s->values[e] = from[e].value;
        s->cols[e] = from[e].col;
        if (format == KS_BLOCK_COO) s->rows[e] = from[e].row;
        else ++s->rows[from[e].row + 1];
    }
    if (format == KS_BLOCK_CSR)
        for (int r = 0; r < p->n; ++r) s->rows[r + 1] += s->rows[r];
}

static void pack_side(pool *into, const packing *p, const side *from, ks_general_block *blocks)
{
    const entry *e = from->entries;
    for (int64_t j = 0; j + 1 < p->N; ++j) {
        int64_t count = 0;
        if (from->entries) {
            while (e + count < from->entries + from->count && e[count].block == j) ++count;
        } else {
            for (int r = 0; r < p->n; ++r)
                for (int c = 0; c < p->n; ++c) count += dense_at(from, p->n, j, r, c) != 0;
        }
        const ks_block_format format = smallest_format(p->n, count);
        const storage s = take(into, p->n, format, count);
        if (blocks) {
            blocks[j] = (ks_general_block){ format,
                                            format == KS_BLOCK_DENSE ? 0 : (int32_t)count,
                                            s.values, s.rows, s.cols };
            if (from->entries) fill_from_entries(p, e, count, format, &s);
            else fill_from_dense(p, from, j, format, &s);
        }
        if (from->entries) e += count;
    }
}

/* Pack all blocks. With `measured` NULL this only finds the sizes; otherwise it carves the memory and fills it. */
static pool pack_all(ks_carver *carver, const packing *p, const pool *measured,
                     ks_general_matrix *matrix)
{
    const size_t most = (size_t)p->N;
    pool to = { NULL, NULL, 0, 0 };
    ks_general_block *D = NULL, *L = NULL, *U = NULL;
    if (measured) {
        D = ks_carve(carver, most, sizeof *D);
        L = ks_carve(carver, most - 1, sizeof *L);
        U = ks_carve(carver, most - 1, sizeof *U);
        to.values = ks_carve(carver, measured->value_count, sizeof *to.values);
        to.indices = ks_carve(carver, measured->index_count, sizeof *to.indices);
        *matrix = (ks_general_matrix){ D, L, U };
        if (!to.values) return to;
    }
    for (int64_t j = 0; j < p->N; ++j) pack_diagonal(&to, p, j, D ? &D[j] : NULL);
    pack_side(&to, p, &p->lower, L);
    pack_side(&to, p, &p->upper, U);
    return to;
}

static int valid_triples(const ks_general_triples *t, int64_t N, int n)
{
    if (t->count < 0 || (t->count > 0 && (!t->block || !t->row || !t->col || !t->value)))
        return 0;
    for (int64_t e = 0; e < t->count; ++e)
        if (t->block[e] < 0 || t->block[e] >= N - 1 || t->row[e] < 0 || t->row[e] >= n ||
            t->col[e] < 0 || t->col[e] >= n)
            return 0;
    return 1;
}

/* Dense blocks or triples, not both. */
static int valid_side(const void *dense, const ks_general_triples *triples, int64_t N, int n)
{
    return dense ? triples->count == 0 : valid_triples(triples, N, n);
}

static int valid_source(const ks_general_source *s, int64_t N, int n)
{
    if (!s || s->size != sizeof *s || (!s->D.data && !s->D_dia) || (s->D.data && s->D_dia))
        return 0;
    return N == 1 || (valid_side(s->L.data, &s->L_triples, N, n) &&
                      (s->symmetric || valid_side(s->U.data, &s->U_triples, N, n)));
}

/* Whether the blocks can be addressed: three of each, and their indices. */
static int addressable(int64_t N, int n, const ks_general_source *s)
{
    if (n >= 1 << 28) return 0; /* 8 n n must not overflow */
    const int64_t m = n, block = s->D_dia ? 16 * m : 8 * m * m, most = PTRDIFF_MAX / 64;
    return block <= most && N <= most / block;
}

static int valid_stride(ks_const_blocks blocks, int64_t count, int64_t size)
{
    return !blocks.data || count < 2 ||
           ((blocks.stride == 0 || blocks.stride >= size) && ks_within_reach(count, blocks.stride, 1, 0, size));
}

static int valid_strides(const ks_general_source *s, int64_t N, int n)
{
    const int64_t size = (int64_t)n * n;
    return valid_stride(s->D, N, size) && valid_stride(s->L, N - 1, size) &&
           (s->symmetric || valid_stride(s->U, N - 1, size));
}

/* Allocate the entries of both sides and a buffer, and sort the triples. */
static ks_status sort_triples(packing *p)
{
    const ks_general_source *s = p->source;
    const ks_general_triples *lower = &s->L_triples;
    const ks_general_triples *upper = s->symmetric ? lower : &s->U_triples;
    side *const sides[2] = { &p->lower, &p->upper };
    int64_t most = 0;
    p->lower.dense = s->L;
    p->upper.dense = s->symmetric ? s->L : s->U;
    p->upper.transposed = s->symmetric;
    if (p->N == 1) return KS_OK;
    for (int i = 0; i < 2; ++i) {
        const ks_general_triples *t = i ? upper : lower;
        if (sides[i]->dense.data) continue;
        if ((uint64_t)t->count > PTRDIFF_MAX / sizeof(entry)) return KS_ENOMEM;
        sides[i]->entries = ks_allocate(p->context, (size_t)t->count * sizeof(entry));
        if (!sides[i]->entries) return KS_ENOMEM;
        most = t->count > most ? t->count : most;
    }
    if (!p->lower.entries && !p->upper.entries) return KS_OK;
    p->buffers[0] = ks_allocate(p->context, (size_t)most * sizeof(entry));
    p->counts = ks_allocate(p->context,
                            ((size_t)(p->N > p->n ? p->N : p->n) + 1) * sizeof *p->counts);
    if (!p->buffers[0] || !p->counts) return KS_ENOMEM;
    if (p->lower.entries) sort_side(p, lower, 0, &p->lower);
    if (p->upper.entries) sort_side(p, upper, s->symmetric, &p->upper);
    return KS_OK;
}

ks_status ks_general_pack(ks_general_packed **out, ks_context *context, int64_t N, int n,
                          const ks_general_source *source)
{
    if (!out) return KS_EINVAL;
    *out = NULL;
    if (N < 1 || n < 1 || !valid_source(source, N, n)) return KS_EINVAL;
    if (!addressable(N, n, source)) return KS_ENOMEM;
    if (!valid_strides(source, N, n)) return KS_EINVAL;
    packing p = { context, N, n, source, { { NULL, 0 }, 0, NULL, 0 }, { { NULL, 0 }, 0, NULL, 0 },
                  { NULL, NULL }, NULL };
    ks_general_packed *packed = NULL;
    ks_status status = sort_triples(&p);
    if (status == KS_OK) {
        ks_carver carver = ks_carver_at(NULL);
        ks_general_matrix unused;
        const pool sizes = pack_all(&carver, &p, NULL, &unused);
        pack_all(&carver, &p, &sizes, &unused);
        const size_t bytes = ks_carved_bytes(&carver);
        packed = bytes > PTRDIFF_MAX ? NULL : ks_allocate(context, sizeof *packed);
        void *memory = packed ? ks_allocate(context, bytes) : NULL;
        if (memory) {
            *packed = (ks_general_packed){ context, memory, { NULL, NULL, NULL }, bytes };
            carver = ks_carver_at(memory);
            pack_all(&carver, &p, &sizes, &packed->matrix);
        } else {
            ks_release(context, packed);
            packed = NULL;
            status = KS_ENOMEM;
        }
    }
    ks_release(context, p.lower.entries);
    ks_release(context, p.upper.entries);
    ks_release(context, p.buffers[0]);
    ks_release(context, p.counts);
    *out = packed;
    return status;
}

const ks_general_matrix *ks_general_packed_matrix(const ks_general_packed *packed)
{
    return packed ? &packed->matrix : NULL;
}

size_t ks_general_packed_bytes(const ks_general_packed *packed) { return packed ? packed->bytes : 0; }

void ks_general_packed_destroy(ks_general_packed *packed)
{
    if (!packed) return;
    ks_carver carver = { packed->memory, packed->bytes, 0 };
    ks_carve_end(&carver); /* before the memory is released */
    ks_release(packed->context, packed->memory);
    ks_release(packed->context, packed);
}
