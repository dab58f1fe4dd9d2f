/* cases.c -- see cases.h. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cases.h"

#define CASE(algorithm, threshold, chunks) \
    {sizeof(ks_scan_options), algorithm, KS_FORWARD, threshold, chunks, 0}

const ks_scan_options cases[] = {
    CASE(KS_SCAN_HILLIS_STEELE, 1, 0), CASE(KS_SCAN_BLELLOCH, 1, 0),
    CASE(KS_SCAN_LADNER_FISCHER, 1, 0), CASE(KS_SCAN_SENGUPTA, 1, 0),
    CASE(KS_SCAN_SENGUPTA, 2, 0),       CASE(KS_SCAN_SENGUPTA, 7, 0),
    CASE(KS_SCAN_SENGUPTA, 16, 0),      CASE(KS_SCAN_SENGUPTA, 1000, 0),
    CASE(KS_SCAN_CHUNKED, 1, 0),        CASE(KS_SCAN_CHUNKED, 1, 1),
    CASE(KS_SCAN_CHUNKED, 1, 2),        CASE(KS_SCAN_CHUNKED, 1, 3),
    CASE(KS_SCAN_CHUNKED, 1, 17),       CASE(KS_SCAN_CHUNKED, 1, 1000000),
};
const int case_count = sizeof cases / sizeof cases[0];

const int64_t long_lengths[] = {1000, 1023, 1024, 1025, 4095, 4097, 65535, 65536, 100003};
const int long_length_count = sizeof long_lengths / sizeof long_lengths[0];

void *aligned_block(size_t bytes)
{
    void *block = NULL;
    assert_int_equal(posix_memalign(&block, 64, bytes ? bytes : 1), 0);
    return block;
}

static int interval_combine(void *user, void *scratch, const ks_combine_job *job)
{
    interval_user *counts = user;
    (void)scratch;
    atomic_fetch_add(&counts->calls, 1);
    atomic_fetch_add(&counts->combines, job->lanes * job->chain);
    for (int64_t l = 0; l < job->lanes; ++l)
        for (int64_t c = 0; c < job->chain; ++c) {
            interval lhs, rhs;
            memcpy(&lhs, job->lhs + l * job->lhs_lane + c * job->lhs_chain, sizeof lhs);
            memcpy(&rhs, job->rhs + l * job->rhs_lane + c * job->rhs_chain, sizeof rhs);
            const int left_empty = lhs.lo == lhs.hi, right_empty = rhs.lo == rhs.hi;
            if (!left_empty && !right_empty && lhs.hi != rhs.lo) return -1;
            const interval both = {left_empty ? rhs.lo : lhs.lo, right_empty ? lhs.hi : rhs.hi};
            memcpy(job->dst + l * job->dst_lane + c * job->dst_chain, &both, sizeof both);
        }
    return 0;
}

static int interval_neutral(void *user, void *dst)
{
    const interval empty = {0, 0};
    (void)user;
    memcpy(dst, &empty, sizeof empty);
    return 0;
}

ks_operator interval_operator(interval_user *user)
{
    ks_operator op = {sizeof op, sizeof(interval), 0, user, interval_combine, interval_neutral,
                      NULL, NULL};
    atomic_store(&user->combines, 0);
    atomic_store(&user->calls, 0);
    return op;
}

#define PRIME UINT64_C(2147483647)

matrix matrix_product(const matrix *a, const matrix *b)
{
    matrix p;
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
            p.m[2 * i + j] = (uint32_t)(((uint64_t)a->m[2 * i] * b->m[j] +
                                         (uint64_t)a->m[2 * i + 1] * b->m[2 + j]) % PRIME);
    return p;
}

matrix matrix_at(int64_t k)
{
    matrix a;
    uint64_t x = (uint64_t)k * UINT64_C(0x9e3779b97f4a7c15) + 12345;
    for (int i = 0; i < 4; ++i) {
        x ^= x >> 29;
        x *= UINT64_C(0xbf58476d1ce4e5b9);
        a.m[i] = (uint32_t)((x >> 17) % PRIME);
    }
    return a;
}

void matrix_reference(matrix *result, int64_t length, ks_direction direction)
{
    for (int64_t i = 0; i < length; ++i) {
        const int64_t k = direction == KS_FORWARD ? i : length - 1 - i;
        const matrix a = matrix_at(k);
        if (i == 0) result[k] = a;
        else if (direction == KS_FORWARD) result[k] = matrix_product(&result[k - 1], &a);
        else result[k] = matrix_product(&a, &result[k + 1]);
    }
}

/* The product goes through scratch, all of which is rewritten. */
#define SCRATCH_MATRICES 5

static int matrix_combine(void *user, void *scratch, const ks_combine_job *job)
{
    matrix *product = scratch;
    (void)user;
    if ((uintptr_t)scratch % 64 != 0) return -1;
    for (int64_t l = 0; l < job->lanes; ++l)
        for (int64_t c = 0; c < job->chain; ++c) {
            matrix lhs, rhs;
            memcpy(&lhs, job->lhs + l * job->lhs_lane + c * job->lhs_chain, sizeof lhs);
            memcpy(&rhs, job->rhs + l * job->rhs_lane + c * job->rhs_chain, sizeof rhs);
            for (int i = 0; i < SCRATCH_MATRICES; ++i) product[i] = matrix_product(&lhs, &rhs);
            memcpy(job->dst + l * job->dst_lane + c * job->dst_chain,
                   &product[(l + c) % SCRATCH_MATRICES], sizeof(matrix));
        }
    return 0;
}

static int matrix_neutral(void *user, void *dst)
{
    const matrix one = {{1, 0, 0, 1}};
    (void)user;
    memcpy(dst, &one, sizeof one);
    return 0;
}

ks_operator matrix_operator(void)
{
    ks_operator op = {sizeof op, sizeof(matrix), SCRATCH_MATRICES * sizeof(matrix), NULL,
                      matrix_combine, matrix_neutral, NULL, NULL};
    return op;
}

affine affine_at(int64_t k)
{
    const double t = (double)k;
    const affine a = {0.9 + 0.2 * sin(t), cos(3 * t)};
    return a;
}

static int affine_combine(void *user, void *scratch, const ks_combine_job *job)
{
    (void)user;
    (void)scratch;
    for (int64_t l = 0; l < job->lanes; ++l)
        for (int64_t c = 0; c < job->chain; ++c) {
            affine lhs, rhs;
            memcpy(&lhs, job->lhs + l * job->lhs_lane + c * job->lhs_chain, sizeof lhs);
            memcpy(&rhs, job->rhs + l * job->rhs_lane + c * job->rhs_chain, sizeof rhs);
            const affine both = {rhs.a * lhs.a, rhs.a * lhs.b + rhs.b};
            memcpy(job->dst + l * job->dst_lane + c * job->dst_chain, &both, sizeof both);
        }
    return 0;
}

static int affine_neutral(void *user, void *dst)
{
    const affine one = {1, 0};
    (void)user;
    memcpy(dst, &one, sizeof one);
    return 0;
}

ks_operator affine_operator(void)
{
    ks_operator op = {sizeof op, sizeof(affine), 0, NULL, affine_combine, affine_neutral, NULL,
                      NULL};
    return op;
}
