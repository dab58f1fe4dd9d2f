/* stand_in_cudss.c -- what stands for cuDSS beside the emulated device, whose memory is the host's: the calls
 * that bench_cudss makes, by a banded Cholesky factorization. It refuses, with a line on stderr, whatever
 * the library would misunderstand: arguments in another order, rows that are not sorted or leave the
 * triangle that they are said to be, phases in a wrong order, handles that are none.
 *
 * The environment's STAND_IN_MAJOR is the version that it gives; STAND_IN_INFO what it says of factors. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* Statuses, and numbers of enumerations, as the library's documentation has them. */
enum { SUCCESS, NOT_INITIALIZED, ALLOC_FAILED, INVALID_VALUE, NOT_SUPPORTED, EXECUTION_FAILED };
enum { R_64F = 1, R_32I = 10, R_64I = 24, SPD = 3, LOWER = 1, UPPER = 2 };
enum { REORDERING = 1, SYMBOLIC = 2, FACTORIZATION = 4, REFACTORIZATION = 8, SOLVE = 0x3f0 };
enum { HANDLE = 0x48, CONFIG = 0x43, DATA = 0x44, SPARSE = 0x53, DENSE = 0x4e };

typedef struct object {
    int kind;
    int64_t rows, entries, width;  /* width: of the band, with the diagonal    */
    const int64_t *start;
    const int32_t *column;
    const double *value;
    double *numbers;               /* of a dense matrix; of data: the factor's band */
    int triangle, analysed, factored;
    int stream_set;
} object;

int cudssGetProperty(int what, int *value);
int cudssCreate(void **out);
int cudssDestroy(void *handle);
int cudssSetStream(void *handle, void *stream);
int cudssConfigCreate(void **out);
int cudssConfigDestroy(void *config);
int cudssDataCreate(void *handle, void **out);
int cudssDataDestroy(void *handle, void *data);
int cudssMatrixCreateCsr(void **out, int64_t rows, int64_t columns, int64_t entries, const void *begin,
                         const void *end, const void *column, const void *value, int offset_type,
                         int index_type, int value_type, int kind, int triangle, int base);
int cudssMatrixCreateDn(void **out, int64_t rows, int64_t columns, int64_t ld, const void *values, int type,
                        int layout);
int cudssMatrixDestroy(void *matrix);
int cudssExecute(void *handle, int phase, void *config, void *data, void *matrix, void *x, void *b);
int cudssDataGet(void *handle, void *data, int what, void *value, size_t bytes, size_t *written);

static int refuse(const char *why)
{
    fprintf(stderr, "stand-in: %s\n", why);
    return INVALID_VALUE;
}

static int is(const void *any, int kind) { return any && ((const object *)any)->kind == kind; }

static int new_object(void **out, int kind)
{
    object *o = calloc(1, sizeof *o);
    if (!o) return ALLOC_FAILED;
    o->kind = kind;
    *out = o;
    return SUCCESS;
}

static int end_object(void *any, int kind)
{
    if (!is(any, kind)) return refuse("the end of what is none");
    object *o = any;
    if (kind == DATA) free(o->numbers);
    o->kind = 0;
    free(o);
    return SUCCESS;
}

EXPORT int cudssGetProperty(int what, int *value)
{
    const char *major = getenv("STAND_IN_MAJOR");
    if (what < 0 || what > 2) return refuse("a property that is none");
    *value = what == 0 ? (major ? atoi(major) : 1) : 0;
    return SUCCESS;
}

EXPORT int cudssCreate(void **out) { return new_object(out, HANDLE); }
EXPORT int cudssDestroy(void *handle) { return end_object(handle, HANDLE); }
EXPORT int cudssConfigCreate(void **out) { return new_object(out, CONFIG); }
EXPORT int cudssConfigDestroy(void *config) { return end_object(config, CONFIG); }

EXPORT int cudssSetStream(void *handle, void *stream)
{
    if (!is(handle, HANDLE) || !stream) return refuse("no handle, or no stream");
    ((object *)handle)->stream_set = 1;
    return SUCCESS;
}

EXPORT int cudssDataCreate(void *handle, void **out)
{
    return is(handle, HANDLE) ? new_object(out, DATA) : refuse("data without a handle");
}

EXPORT int cudssDataDestroy(void *handle, void *data)
{
    return is(handle, HANDLE) ? end_object(data, DATA) : refuse("data without a handle");
}

/* Rows that begin where the last ends, columns ascending inside of the triangle, diagonals that are there. */
static int check_rows(object *m)
{
    if (m->start[0] != 0 || m->start[m->rows] != m->entries) return refuse("rows that miss entries");
    for (int64_t r = 0; r < m->rows; ++r) {
        int64_t last = -1;
        int diagonal = 0;
        for (int64_t e = m->start[r]; e < m->start[r + 1]; ++e) {
            const int64_t c = m->column[e], apart = m->triangle == LOWER ? r - c : c - r;
            if (c <= last || c >= m->rows) return refuse("columns that do not ascend");
            if (apart < 0) return refuse("an entry outside of its triangle");
            if (apart + 1 > m->width) m->width = apart + 1;
            diagonal |= c == r;
            last = c;
        }
        if (!diagonal) return refuse("a row without a diagonal");
    }
    return SUCCESS;
}

EXPORT int cudssMatrixCreateCsr(void **out, int64_t rows, int64_t columns, int64_t entries, const void *begin,
                                const void *end, const void *column, const void *value, int offset_type,
                                int index_type, int value_type, int kind, int triangle, int base)
{
    if (rows < 1 || columns != rows || entries < rows || !begin || end || !column || !value)
        return refuse("sizes or arrays of a sparse matrix");
    if (offset_type != R_64I || index_type != R_32I || value_type != R_64F) return refuse("types of data");
    if (kind != SPD || (triangle != LOWER && triangle != UPPER) || base != 0) return refuse("kind of matrix");
    const int status = new_object(out, SPARSE);
    if (status) return status;
    object *m = *out;
    m->rows = rows;
    m->entries = entries;
    m->start = begin;
    m->column = column;
    m->value = value;
    m->triangle = triangle;
    return check_rows(m);
}

EXPORT int cudssMatrixCreateDn(void **out, int64_t rows, int64_t columns, int64_t ld, const void *values,
                               int type, int layout)
{
    if (rows < 1 || columns != 1 || ld != rows || !values || type != R_64F || layout != 0)
        return refuse("a dense matrix that is no column");
    const int status = new_object(out, DENSE);
    if (status) return status;
    object *m = *out;
    m->rows = rows;
    m->numbers = (double *)(uintptr_t)values;
    return SUCCESS;
}

EXPORT int cudssMatrixDestroy(void *matrix)
{
    return end_object(matrix, is(matrix, SPARSE) ? SPARSE : DENSE);
}

/* Element (r, c) of the lower band. */
static double *at(const object *data, int64_t r, int64_t c) { return data->numbers + r * data->width + r - c; }

static int64_t first_of(const object *data, int64_t r) { return r >= data->width ? r - data->width + 1 : 0; }

static int factor(object *data, const object *m)
{
    memset(data->numbers, 0, (size_t)(m->rows * m->width) * sizeof *data->numbers);
    for (int64_t r = 0; r < m->rows; ++r)
        for (int64_t e = m->start[r]; e < m->start[r + 1]; ++e) {
            const int64_t c = m->column[e];
            *at(data, r > c ? r : c, r > c ? c : r) = m->value[e];
        }
    for (int64_t r = 0; r < m->rows; ++r)
        for (int64_t c = first_of(data, r); c <= r; ++c) {
            double sum = *at(data, r, c);
            for (int64_t p = first_of(data, r); p < c; ++p)
                if (p >= first_of(data, c)) sum -= *at(data, r, p) * *at(data, c, p);
            *at(data, r, c) = r == c ? sqrt(sum) : sum / *at(data, c, c);
        }
    return SUCCESS;
}

static void solve(const object *data, int64_t rows, const double *b, double *x)
{
    for (int64_t r = 0; r < rows; ++r) {
        double sum = b[r];
        for (int64_t c = first_of(data, r); c < r; ++c) sum -= *at(data, r, c) * x[c];
        x[r] = sum / *at(data, r, r);
    }
    for (int64_t r = rows - 1; r >= 0; --r) {
        double sum = x[r];
        for (int64_t c = r + 1; c < rows && c - r < data->width; ++c) sum -= *at(data, c, r) * x[c];
        x[r] = sum / *at(data, r, r);
    }
}

EXPORT int cudssExecute(void *handle, int phase, void *config, void *data, void *matrix, void *x, void *b)
{
    if (!is(handle, HANDLE) || !is(config, CONFIG) || !is(data, DATA)) return refuse("handles in another order");
    if (!is(matrix, SPARSE) || !is(x, DENSE) || !is(b, DENSE) || x == b) return refuse("matrices in another order");
    if (!((object *)handle)->stream_set) return refuse("no stream");
    object *d = data;
    const object *m = matrix;
    switch (phase) {
    case REORDERING | SYMBOLIC:
        d->width = m->width;
        d->rows = m->rows;
        d->numbers = malloc((size_t)(m->rows * m->width) * sizeof *d->numbers);
        d->analysed = d->numbers != NULL;
        return d->analysed ? SUCCESS : ALLOC_FAILED;
    case FACTORIZATION:
    case REFACTORIZATION:
        if (!d->analysed || (phase == REFACTORIZATION && !d->factored)) return refuse("phases in another order");
        d->factored = 1;
        return factor(d, m);
    case SOLVE:
        if (!d->factored) return refuse("a solution without a factor");
        solve(d, m->rows, ((const object *)b)->numbers, ((object *)x)->numbers);
        return SUCCESS;
    default: return refuse("a phase that is none");
    }
}

EXPORT int cudssDataGet(void *handle, void *data, int what, void *value, size_t bytes, size_t *written)
{
    const char *info = getenv("STAND_IN_INFO");
    const object *d = data;
    if (!is(handle, HANDLE) || !is(data, DATA) || !d->factored) return refuse("data that are not there");
    const int64_t entries = d->rows * d->width;
    const int said = info ? atoi(info) : 0;
    if (what == 0 && bytes == sizeof said) memcpy(value, &said, bytes);
    else if (what == 1 && bytes == sizeof entries) memcpy(value, &entries, bytes);
    else return refuse("data of another size");
    *written = bytes;
    return SUCCESS;
}
