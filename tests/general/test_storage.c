/* Formats are the smallest, blocks survive packing, triples of any order and number make the
 * same matrix, and those that lie outside are refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "general_system.h"

enum { N = 7, n = 9, BLOCK = n * n };

static void blocks_survive(void **state)
{
    (void)state;
    for (int kind = 0; kind < GS_KINDS; ++kind) {
        general_system s = general_system_make((gs_kind)kind, N, n, 1, -1, 3);
        ks_general_packed *packed = general_system_pack(&s, NULL);
        const ks_general_matrix *m = ks_general_packed_matrix(packed);
        double dense[BLOCK];
        for (int j = 0; j < N; ++j) {
            const int tridiagonal = kind == GS_TRIDIAGONAL || (kind == GS_MIXED && j % 3 != 1);
            assert_int_equal(m->D[j].format, tridiagonal ? KS_BLOCK_DIA : KS_BLOCK_DENSE);
            ks_general_block_unpack(n, &m->D[j], dense);
            assert_memory_equal(dense, s.D + j * BLOCK, sizeof dense);
            if (j + 1 == N) continue;
            ks_general_block_unpack(n, &m->L[j], dense);
            assert_memory_equal(dense, s.L + j * BLOCK, sizeof dense);
            ks_general_block_unpack(n, &m->U[j], dense);
            assert_memory_equal(dense, s.U + j * BLOCK, sizeof dense);
        }
        ks_general_packed_destroy(packed);
        general_system_free(&s);
    }
}

/* Blocks of z entries in n = 9: COO up to 10, where 16 z <= 12 z + 40; dense where 12 z + 40 is 648
 * or more, from 51. */
static void formats_are_the_smallest(void **state)
{
    (void)state;
    const struct { int entries; ks_block_format format; } cases[] = {
        { 0, KS_BLOCK_COO },  { 1, KS_BLOCK_COO },  { 10, KS_BLOCK_COO }, { 11, KS_BLOCK_CSR },
        { 50, KS_BLOCK_CSR }, { 51, KS_BLOCK_DENSE }, { BLOCK, KS_BLOCK_DENSE },
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        general_system s = general_system_empty(2, n, 1);
        for (int r = 0; r < 2 * n; ++r) s.D[r / n * BLOCK + r % n * (n + 1)] = 1;
        for (int e = 0; e < cases[c].entries; ++e) s.L[e * 41 % BLOCK] = 1 + e;
        ks_general_packed *packed = general_system_pack(&s, NULL);
        const ks_general_block *L = ks_general_packed_matrix(packed)->L;
        assert_int_equal(L->format, cases[c].format);
        if (L->format != KS_BLOCK_DENSE) assert_int_equal(L->count, cases[c].entries);
        ks_general_packed_destroy(packed);
        general_system_free(&s);
    }
}

/* Every entry of L as two triples that add up, in a scrambled order, and zeros between them. */
static void triples_make_the_same_matrix(void **state)
{
    (void)state;
    general_system s = general_system_make(GS_MIXED, N, n, 1, -1, 4);
    enum { COUNT = 3 * (N - 1) * BLOCK };
    int64_t block[COUNT], row[COUNT], col[COUNT];
    double value[COUNT];
    ks_general_source source = KS_GENERAL_SOURCE_INIT;
    source.D = (ks_const_blocks){ s.D, BLOCK };
    source.U = (ks_const_blocks){ s.U, BLOCK };
    for (int64_t i = 0; i < COUNT; ++i) {
        const int64_t e = i * 1009 % COUNT, at = e / 3; /* 1009 is prime to COUNT */
        block[i] = at / BLOCK;
        row[i] = at / n % n;
        col[i] = at % n;
        value[i] = e % 3 == 0 ? 0.25 * s.L[at] : e % 3 == 1 ? 0.75 * s.L[at] : 0;
    }
    source.L_triples = (ks_general_triples){ COUNT, block, row, col, value };
    ks_general_packed *packed, *plain = general_system_pack(&s, NULL);
    assert_int_equal(ks_general_pack(&packed, NULL, N, n, &source), KS_OK);
    const ks_general_matrix *m = ks_general_packed_matrix(packed);
    const ks_general_matrix *expected = ks_general_packed_matrix(plain);
    double dense[BLOCK];
    for (int j = 0; j + 1 < N; ++j) {
        assert_int_equal(m->L[j].format, expected->L[j].format);
        ks_general_block_unpack(n, &m->L[j], dense);
        for (int i = 0; i < BLOCK; ++i)
            assert_true(fabs(dense[i] - s.L[j * BLOCK + i]) <= 1e-15 * fabs(dense[i]));
        if (m->L[j].format == KS_BLOCK_COO)
            for (int e = 1; e < m->L[j].count; ++e)
                assert_true(m->L[j].rows[e - 1] * n + m->L[j].cols[e - 1] <
                            m->L[j].rows[e] * n + m->L[j].cols[e]);
    }
    assert_int_equal(ks_general_packed_bytes(packed), ks_general_packed_bytes(plain));
    ks_general_packed_destroy(packed);
    ks_general_packed_destroy(plain);
    general_system_free(&s);
}

static void symmetric_sources_need_no_upper_blocks(void **state)
{
    (void)state;
    general_system s = general_system_make(GS_MIXED, N, n, 1, -1, 5);
    ks_general_source source = KS_GENERAL_SOURCE_INIT;
    source.D = (ks_const_blocks){ s.D, BLOCK };
    source.L = (ks_const_blocks){ s.L, BLOCK };
    source.symmetric = 1;
    /* Upper triangles are not read. */
    for (int j = 0; j < N; ++j)
        for (int r = 0; r < n; ++r)
            for (int c = r + 1; c < n; ++c) s.D[j * BLOCK + r * n + c] = nan("");
    ks_general_packed *packed;
    assert_int_equal(ks_general_pack(&packed, NULL, N, n, &source), KS_OK);
    const ks_general_matrix *m = ks_general_packed_matrix(packed);
    double D[BLOCK], U[BLOCK];
    for (int j = 0; j < N; ++j) {
        ks_general_block_unpack(n, &m->D[j], D);
        if (j + 1 < N) ks_general_block_unpack(n, &m->U[j], U);
        for (int r = 0; r < n; ++r)
            for (int c = 0; c < n; ++c) {
                const double lower = s.D[j * BLOCK + (r > c ? r * n + c : c * n + r)];
                assert_true(D[r * n + c] == lower);
                if (j + 1 < N) assert_true(U[r * n + c] == s.L[j * BLOCK + c * n + r]);
            }
    }
    ks_general_packed_destroy(packed);
    general_system_free(&s);
}

static void hostile_triples_are_refused(void **state)
{
    (void)state;
    const double D[3 * 2 * 2] = { 0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0 };
    const struct { int64_t count, block, row, col; ks_status status; } cases[] = {
        { 1, 0, 1, 1, KS_OK },          { 1, 1, 0, 0, KS_EINVAL },
        { 1, -1, 0, 0, KS_EINVAL },     { 1, 0, 2, 0, KS_EINVAL },
        { 1, 0, -1, 0, KS_EINVAL },     { 1, 0, 0, 2, KS_EINVAL },
        { 1, 0, 0, INT64_MIN, KS_EINVAL }, { 1, 0, (int64_t)1 << 32, 0, KS_EINVAL },
        { -1, 0, 0, 0, KS_EINVAL },     { 1, INT64_MAX, 0, 0, KS_EINVAL },
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const double value = 1;
        const ks_general_triples one = { cases[c].count, &cases[c].block, &cases[c].row,
                                         &cases[c].col, &value };
        ks_general_source source = KS_GENERAL_SOURCE_INIT;
        ks_general_packed *packed;
        source.D_dia = D;
        source.U_triples = one;
        assert_int_equal(ks_general_pack(&packed, NULL, 2, 2, &source), cases[c].status);
        assert_int_equal(packed != NULL, cases[c].status == KS_OK);
        ks_general_packed_destroy(packed);
        source.L_triples = one;
        source.symmetric = 1;
        assert_int_equal(ks_general_pack(&packed, NULL, 2, 2, &source), cases[c].status);
        ks_general_packed_destroy(packed);
    }
    ks_general_source source = KS_GENERAL_SOURCE_INIT;
    ks_general_packed *packed;
    source.D_dia = D;
    source.L_triples.count = 1; /* without arrays */
    assert_int_equal(ks_general_pack(&packed, NULL, 2, 2, &source), KS_EINVAL);
    /* Where there are no couplings, triples are not read. */
    assert_int_equal(ks_general_pack(&packed, NULL, 1, 2, &source), KS_OK);
    ks_general_packed_destroy(packed);
}

static void sizes_that_overflow_are_told(void **state)
{
    (void)state;
    const double D[3] = { 1, 1, 1 };
    ks_general_source source = KS_GENERAL_SOURCE_INIT;
    ks_general_packed *packed;
    source.D = (ks_const_blocks){ D, 0 };
    source.L = source.U = source.D;
    assert_int_equal(ks_general_pack(&packed, NULL, INT64_MAX, 1, &source), KS_ENOMEM);
    assert_int_equal(ks_general_pack(&packed, NULL, 2, INT32_MAX, &source), KS_ENOMEM);
    ks_general_source compact = KS_GENERAL_SOURCE_INIT;
    compact.D_dia = D;
    assert_int_equal(ks_general_pack(&packed, NULL, 1, 1 << 28, &compact), KS_ENOMEM);
    assert_int_equal(ks_general_pack(&packed, NULL, 0, 1, &source), KS_EINVAL);
    assert_int_equal(ks_general_pack(&packed, NULL, 1, 0, &source), KS_EINVAL);
    assert_null(packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_survive),
        cmocka_unit_test(formats_are_the_smallest),
        cmocka_unit_test(triples_make_the_same_matrix),
        cmocka_unit_test(symmetric_sources_need_no_upper_blocks),
        cmocka_unit_test(hostile_triples_are_refused),
        cmocka_unit_test(sizes_that_overflow_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
