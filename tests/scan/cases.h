/* cases.h -- the planners, lengths, elements and operators that the scan tests share. */
#ifndef CASES_H
#define CASES_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include "kalscan/scan.h"

/** Every planner with the parameters worth trying; threads 0. */
extern const ks_scan_options cases[];
extern const int case_count;

extern const int64_t long_lengths[];
extern const int long_length_count;

/** 64-byte aligned memory, or the test fails; free() it. */
void *aligned_block(size_t bytes);

/** Half-open interval of indices; lo == hi is the neutral element. */
typedef struct interval {
    int64_t lo, hi;
} interval;

/** Counts combines; fails where operands are not neighbours in this order. */
typedef struct interval_user {
    atomic_llong combines, calls;
} interval_user;

ks_operator interval_operator(interval_user *user);

/** 2x2 matrices of integers modulo 2^31 - 1: exact, and products do not commute. */
typedef struct matrix {
    uint32_t m[4];
} matrix;

matrix matrix_product(const matrix *a, const matrix *b);

/** The k-th of a fixed sequence of matrices. */
matrix matrix_at(int64_t k);

/** result[k] of the scan of matrix_at(0) .. matrix_at(length - 1), by a plain loop. */
void matrix_reference(matrix *result, int64_t length, ks_direction direction);

/** Uses its scratch, so that scratch shared by two threads shows. user: not used. */
ks_operator matrix_operator(void);

/** x -> a x + b in floating point: results depend on the bracketing. */
typedef struct affine {
    double a, b;
} affine;

affine affine_at(int64_t k);
ks_operator affine_operator(void);

#endif
