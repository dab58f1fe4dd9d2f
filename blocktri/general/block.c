/* block.c -- single blocks: dense copies, checks of the caller's blocks. */
#include <string.h>
#include "general_plan.h"
#include "reach.h"

void ks_gb_place(int n, const ks_general_block *block, int64_t down, int64_t right, double *out)
{
    const int64_t m = n;
    if (block->format == KS_BLOCK_DENSE) {
        for (int64_t r = 0; r < m; ++r)
            for (int64_t c = 0; c < m; ++c) out[r * down + c * right] = block->values[r * m + c];
    } else if (block->format == KS_BLOCK_DIA) {
        for (int64_t r = 0; r < m; ++r)
            for (int64_t d = -1; d <= 1; ++d)
                if (r + d >= 0 && r + d < m)
                    out[r * down + (r + d) * right] = block->values[(d + 1) * m + r];
    } else if (block->format == KS_BLOCK_COO) {
        for (int32_t e = 0; e < block->count; ++e)
            out[block->rows[e] * down + block->cols[e] * right] = block->values[e];
    } else {
        for (int64_t r = 0; r < m; ++r)
            for (int32_t e = block->rows[r]; e < block->rows[r + 1]; ++e)
                out[r * down + block->cols[e] * right] = block->values[e];
    }
}

static void unpack(int n, const ks_general_block *block, int64_t down, int64_t right, double *out)
{
    if (block->format != KS_BLOCK_DENSE) memset(out, 0, (size_t)n * (size_t)n * sizeof *out);
    ks_gb_place(n, block, down, right, out);
}

void ks_general_block_unpack(int n, const ks_general_block *block, double *dense)
{
    unpack(n, block, n, 1, dense);
}

void ks_gb_columns(int n, const ks_general_block *block, double *columns)
{
    unpack(n, block, 1, n, columns);
}

static int is_sparse(const ks_general_block *b) { return b->format == KS_BLOCK_COO || b->format == KS_BLOCK_CSR; }

/* Whether the arrays of the block's format are not NULL, nor misaligned. */
static int is_there(const ks_general_block *b)
{
    if (!ks_is_aligned(b->values, sizeof *b->values) || !ks_is_aligned(b->cols, sizeof *b->cols) ||
        !ks_is_aligned(b->rows, sizeof *b->rows))
        return 0;
    if (!is_sparse(b)) return b->values != NULL;
    if (b->count > 0 && (!b->values || !b->cols)) return 0;
    return b->rows || (b->format == KS_BLOCK_COO && b->count == 0);
}

static int valid_indices(int n, const ks_general_block *b)
{
    /* The starts of rows tell how many column indices there are; with a wrong count the loop would read beyond them. */
    if (b->format == KS_BLOCK_CSR) {
        if (b->rows[0] != 0) return 0;
        for (int r = 0; r < n; ++r)
            if (b->rows[r] > b->rows[r + 1]) return 0;
        if (b->rows[n] != b->count) return 0;
    }
    for (int32_t e = 0; e < b->count; ++e)
        if (b->cols[e] < 0 || b->cols[e] >= n) return 0;
    for (int32_t e = 0; e < b->count && b->format == KS_BLOCK_COO; ++e)
        if (b->rows[e] < 0 || b->rows[e] >= n) return 0;
    return 1;
}

static int valid_block(int n, const ks_general_block *b, int diagonal)
{
    switch (b->format) {
    case KS_BLOCK_DENSE: return is_there(b);
    case KS_BLOCK_DIA: return diagonal && is_there(b);
    case KS_BLOCK_COO:
    case KS_BLOCK_CSR: return !diagonal && b->count >= 0 && is_there(b) && valid_indices(n, b);
    }
    return 0;
}

/* Encode format and count in one number. */
static int64_t shape_of(const ks_general_block *b) { return (is_sparse(b) ? 4 * (int64_t)b->count : 0) + b->format; }

void ks_gb_shapes(int64_t N, const ks_general_matrix *matrix, int64_t *shapes)
{
    for (int64_t j = 0; j < 3 * N - 2; ++j) shapes[j] = shape_of(ks_gb_block(N, matrix, j));
}

int ks_gb_fits(int64_t N, const ks_general_matrix *matrix, const int64_t *shapes)
{
    if (!matrix || !matrix->D || (N > 1 && (!matrix->L || !matrix->U))) return 0;
    for (int64_t j = 0; j < 3 * N - 2; ++j) {
        const ks_general_block *b = ks_gb_block(N, matrix, j);
        if ((int)b->format < 0 || b->format > KS_BLOCK_CSR || shape_of(b) != shapes[j] || !is_there(b)) return 0;
    }
    return 1;
}

int ks_gb_valid_matrix(int64_t N, int n, const ks_general_matrix *matrix)
{
    if (!matrix || !matrix->D || (N > 1 && (!matrix->L || !matrix->U))) return 0;
    for (int64_t j = 0; j < N; ++j)
        if (!valid_block(n, &matrix->D[j], 1)) return 0;
    for (int64_t j = 0; j + 1 < N; ++j)
        if (!valid_block(n, &matrix->L[j], 0) || !valid_block(n, &matrix->U[j], 0)) return 0;
    return 1;
}
