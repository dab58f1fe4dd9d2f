/* csr.h -- a triangle of a symmetric block-tridiagonal matrix in compressed sparse rows. */
#ifndef GPU_CSR_H
#define GPU_CSR_H

#include <stdint.h>
#include <stdlib.h>

/** Rows of a sparse matrix: entries of row r are start[r] .. start[r + 1] - 1, columns ascending. */
typedef struct csr {
    int64_t rows, entries;
    int64_t *start;            /* (rows + 1) */
    int32_t *column;
    double *value;
} csr;

static inline void csr_free(csr *m)
{
    free(m->start);
    free(m->column);
    free(m->value);
}

static inline void csr_add(csr *m, int64_t column, double value)
{
    m->column[m->entries] = (int32_t)column;
    m->value[m->entries++] = value;
}

/* Add row r of block row k. Lower triangle: L[k - 1], then D[k] up to the diagonal. Upper triangle: D[k] from the
 * diagonal on, read from its lower triangle, then L[k]'. */
static inline void csr_row(csr *m, int64_t N, int n, const double *D, const double *L, int64_t k, int r,
                           int upper)
{
    const int64_t block = (int64_t)n * n, first = k * n;
    for (int c = 0; !upper && k > 0 && c < n; ++c)
        csr_add(m, first - n + c, L[(k - 1) * block + (int64_t)r * n + c]);
    for (int c = upper ? r : 0; c < (upper ? n : r + 1); ++c)
        csr_add(m, first + c, D[k * block + (int64_t)(upper ? c : r) * n + (upper ? r : c)]);
    for (int c = 0; upper && k + 1 < N && c < n; ++c)
        csr_add(m, first + n + c, L[k * block + (int64_t)c * n + r]);
}

/** Make the lower or the upper triangle of the matrix of N dense, row-major blocks D and N - 1 blocks L[k] = A[k + 1,
 *  k]. Of D the lower triangles are read. Zeros inside blocks are stored. csr_free() frees it. Returns 0, or 1 if
 *  memory is exhausted or the row numbers exceed 32 bits. */
static inline int csr_make(csr *m, int64_t N, int n, const double *D, const double *L, int upper)
{
    const int64_t block = (int64_t)n * n;
    const size_t entries = (size_t)(N * (block + n) / 2 + (N - 1) * block);
    m->rows = N * n;
    m->entries = 0;
    m->start = malloc((size_t)(m->rows + 1) * sizeof *m->start);
    m->column = malloc(entries * sizeof *m->column);
    m->value = malloc(entries * sizeof *m->value);
    if (!m->start || !m->column || !m->value || m->rows > INT32_MAX) {
        csr_free(m);
        return 1;
    }
    for (int64_t row = 0; row < m->rows; ++row) {
        m->start[row] = m->entries;
        csr_row(m, N, n, D, L, row / n, (int)(row % n), upper);
    }
    m->start[m->rows] = m->entries;
    return 0;
}

#endif
